//! The k nearest others of every point: unbend compared with kiddo, in one run.
//!
//! ```sh
//! cargo run --release --manifest-path benches/kiddo/Cargo.toml            # 100,000 and 1,000,000 points
//! cargo run --release --manifest-path benches/kiddo/Cargo.toml -- 20000   # sizes of your own
//! ```
//!
//! Both build their tree and ask for all points on all threads. kiddo is asked for one neighbor more,
//! because it lists the point itself, which is then taken out.

use std::error::Error;
use std::num::NonZero;
use std::time::Instant;

use kiddo::{ImmutableKdTree, SquaredEuclidean};
use rayon::prelude::*;
use unbend::synthetic::{SwissRoll, grid, swiss_roll};
use unbend::{Points, Search, Unmonitored, neighbors};

const K: usize = 12;
const REPEATS: usize = 5;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let mut sizes = std::env::args().skip(1).map(|n| n.parse()).collect::<Result<Vec<usize>, _>>()?;
    if sizes.is_empty() {
        sizes = vec![100_000, 1_000_000];
    }
    println!("kiddo 6.3.0, {} threads, swiss roll (3-d, f64), k = {K}\n", rayon::current_num_threads());
    println!("| n | unbend, best ms | kiddo, best ms | unbend / kiddo | lists that differ |");
    println!("|--:|--:|--:|--:|--:|");
    for n in sizes {
        compare(n)?;
    }
    ties()
}

/// One warm-up, then the two in turn.
fn compare(n: usize) -> Outcome<()> {
    let x = swiss_roll(n, &SwissRoll::default(), 0, &Unmonitored)?.x;
    let rows = rows(x.iter().copied());
    let points = Points::new("X", x.view(), &Unmonitored)?;
    let (expected, found) = (ours(&points)?, theirs(&rows)?);
    let (mut our_best, mut their_best) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..REPEATS {
        our_best = our_best.min(milliseconds(|| ours(&points))?);
        their_best = their_best.min(milliseconds(|| theirs(&rows))?);
    }
    let differing = differing(&expected, &found);
    println!("| {n} | {our_best:.1} | {their_best:.1} | {:.2} | {differing} |", our_best / their_best);
    Ok(())
}

/// On a square grid most points have several neighbors at one distance, and the last of them compete.
fn ties() -> Outcome<()> {
    let flat = grid(100, 100, &Unmonitored)?.coordinates;
    let rows = rows(flat.rows().into_iter().flat_map(|row| [row[0], row[1], 0.0]));
    let points = Points::new("X", flat.view(), &Unmonitored)?;
    print!("\nGrid of 100 x 100, where distances tie: ");
    let expected = ours(&points)?;
    match theirs(&rows) {
        Ok(found) => println!("{} of {} lists differ", differing(&expected, &found), rows.len()),
        Err(error) => println!("kiddo cannot build its tree: {error}"),
    }
    Ok(())
}

fn ours(points: &Points) -> Outcome<Vec<u32>> {
    let knn = neighbors::nearest(points, K, Search::Tree, &Unmonitored)?;
    Ok(knn.neighborhoods.indices().to_vec())
}

fn theirs(rows: &[[f64; 3]]) -> Outcome<Vec<u32>> {
    let tree = ImmutableKdTree::<f64, 3>::new_from_slice(rows).map_err(|error| format!("{error:?}"))?;
    let count = NonZero::<usize>::MIN.saturating_add(K);
    let mut indices = vec![0; rows.len() * K];
    let mut distances = vec![0.0; rows.len() * K];
    let lists = indices.par_chunks_mut(K).zip(distances.par_chunks_mut(K));
    lists.zip(rows).enumerate().for_each(|(own, ((indices, distances), row))| {
        let found = tree.query(row).nearest_n::<SquaredEuclidean<f64>>(count).execute();
        let others = found.iter().filter(|neighbor| neighbor.item as usize != own);
        for ((index, distance), neighbor) in indices.iter_mut().zip(distances).zip(others) {
            (*index, *distance) = (neighbor.item, neighbor.distance.sqrt());
        }
    });
    Ok(indices)
}

fn rows(values: impl Iterator<Item = f64>) -> Vec<[f64; 3]> {
    let flat: Vec<f64> = values.collect();
    flat.as_chunks().0.to_vec()
}

fn differing(expected: &[u32], found: &[u32]) -> usize {
    expected.chunks(K).zip(found.chunks(K)).filter(|(a, b)| a != b).count()
}

fn milliseconds<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<f64> {
    let start = Instant::now();
    let result = work()?;
    let elapsed = start.elapsed().as_secs_f64() * 1e3;
    drop(result);
    Ok(elapsed)
}
