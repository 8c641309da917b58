//! Nearly all of the k nearest others of every point: unbend compared with indexes of other Rust crates, in one run.
//!
//! ```sh
//! cargo run --release --manifest-path benches/indexes/Cargo.toml                # 100,000 points in 50, 20,000 in 784
//! cargo run --release --manifest-path benches/indexes/Cargo.toml -- 300000 50   # a number and a dimension of your own
//! ```
//!
//! Points lie on a surface of ten dimensions, with noise, in single precision; all searches go from these points to
//! the neighbors of all, on all threads. The others get the first of a list of settings, from quick to thorough,
//! with which their recall reaches the target, and are asked for one neighbor more if they list the point itself.

use std::error::Error;
use std::time::Instant;

use ann_search_rs::build_knn_graph_nndescent;
use ann_search_rs::prelude::{NNDescentKnnParams, Verbosity};
use hnsw_rs::prelude::{DistL2, Hnsw};
use ndarray::Array2;
use unbend::neighbors::approximate::Target;
use unbend::neighbors::{Method, find};
use unbend::{Points, Unmonitored};

const K: usize = 12;
const RECALL: f64 = 0.95;
const REPEATS: usize = 3;

/// Points of which all true neighbors are looked for.
const ASKED: usize = 500;

/// Dimensions of the surface.
const D: usize = 10;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// For every point, those found.
type Lists = Vec<Vec<usize>>;

fn main() -> Outcome<()> {
    let given = std::env::args().skip(1).map(|n| n.parse()).collect::<Result<Vec<usize>, _>>()?;
    let sizes: Vec<[usize; 2]> = match given[..] {
        [] => vec![[100_000, 50], [20_000, 784]],
        [n, q] => vec![[n, q]],
        _ => return Err("needs a number of points and a dimension".into()),
    };
    println!("{} threads, f32, k = {K}, recall {RECALL}\n", rayon::current_num_threads());
    println!(
        "| n | q | search | best, s | unbend / search | recall | settings |\n|--:|--:|---|--:|--:|--:|---|"
    );
    sizes.into_iter().try_for_each(|[n, q]| compare(&surface(n, q)))
}

fn compare(x: &Array2<f32>) -> Outcome<()> {
    let truth = Truth::of(x);
    let (own, found) = best(|| ours(x))?;
    let [n, q] = [x.nrows(), x.ncols()];
    println!("| {n} | {q} | unbend | {own:.3} | 1 | {:.4} | recall = {RECALL} |", truth.recall(&found));
    let candidates = [0, 2, 5, 10].map(|more| (format!("k = {}", K + more), move || descent(x, K + more)));
    report("ann-search-rs, NN-descent", own, &truth, candidates)?;
    let settings = [[6, 30], [8, 40], [12, 60], [16, 100], [24, 200]];
    let works = settings.map(|[m, ef]| (format!("M = {m}, ef = {ef}"), move || hnsw(x, m, ef)));
    report("hnsw_rs", own, &truth, works)
}

/// A line of the table for the first settings that reach the recall, or for the last.
fn report<F: Fn() -> Outcome<Lists>, const N: usize>(
    name: &str,
    own: f64,
    truth: &Truth,
    works: [(String, F); N],
) -> Outcome<()> {
    for (at, (settings, work)) in works.into_iter().enumerate() {
        let recall = truth.recall(&work()?);
        if recall < RECALL && at + 1 < N {
            continue;
        }
        let (seconds, _) = best(work)?;
        println!("| | | {name} | {seconds:.3} | {:.2} | {recall:.4} | {settings} |", own / seconds);
        break;
    }
    Ok(())
}

fn best(work: impl Fn() -> Outcome<Lists>) -> Outcome<(f64, Lists)> {
    let (mut seconds, mut found) = (f64::INFINITY, Lists::new());
    for _ in 0..REPEATS {
        let start = Instant::now();
        found = work()?;
        seconds = seconds.min(start.elapsed().as_secs_f64());
    }
    Ok((seconds, found))
}

fn ours(x: &Array2<f32>) -> Outcome<Lists> {
    let points = Points::new("X", x.view(), &Unmonitored)?;
    let target = Target { recall: RECALL, seed: 0 };
    let nearest = find(&points, K, Method::Approximate, &target, &Unmonitored)?;
    let neighborhoods = &nearest.knn.neighborhoods;
    Ok((0..x.nrows()).map(|i| neighborhoods.of(i).iter().map(|&j| j as usize).collect()).collect())
}

fn descent(x: &Array2<f32>, k: usize) -> Outcome<Lists> {
    let flat = x.as_slice().ok_or("rows must follow each other")?;
    let params = NNDescentKnnParams { k, ..NNDescentKnnParams::default() };
    let input = (flat, x.nrows(), x.ncols());
    let graph = build_knn_graph_nndescent::<f32>(input, "euclidean", Some(params), 0, Verbosity::Quiet)
        .map_err(|error| format!("{error:?}"))?;
    let lists = graph.indices.chunks_exact(graph.k).enumerate();
    Ok(lists.map(|(i, list)| others(i, list.iter().map(|&j| j as usize))).collect())
}

fn hnsw(x: &Array2<f32>, m: usize, ef: usize) -> Outcome<Lists> {
    let rows: Vec<Vec<f32>> = x.rows().into_iter().map(|row| row.to_vec()).collect();
    let index = Hnsw::<f32, DistL2>::new(m, rows.len(), 16, ef, DistL2 {});
    index.parallel_insert_slice(&rows.iter().enumerate().map(|(i, row)| (&row[..], i)).collect());
    let found = index.parallel_search(&rows, K + 1, ef);
    Ok(found.iter().enumerate().map(|(i, list)| others(i, list.iter().map(|other| other.d_id))).collect())
}

/// The first k that are not the point itself.
fn others(i: usize, list: impl Iterator<Item = usize>) -> Vec<usize> {
    list.filter(|&j| j != i).take(K).collect()
}

/// Of some points the squared distance of the last true neighbor.
struct Truth<'a> {
    x: &'a Array2<f32>,
    last: Vec<(usize, f64)>,
}

impl<'a> Truth<'a> {
    fn of(x: &'a Array2<f32>) -> Self {
        let step = x.nrows().div_ceil(ASKED);
        let last = (0..x.nrows()).step_by(step).map(|i| {
            let mut all: Vec<f64> = (0..x.nrows()).filter(|&j| j != i).map(|j| apart(x, i, j)).collect();
            (i, *all.select_nth_unstable_by(K - 1, f64::total_cmp).1)
        });
        Truth { x, last: last.collect() }
    }

    /// The share of true neighbors that were found.
    fn recall(&self, found: &Lists) -> f64 {
        let right =
            |&(i, last): &(usize, f64)| found[i].iter().filter(|&&j| apart(self.x, i, j) <= last).count();
        self.last.iter().map(right).sum::<usize>() as f64 / (K * self.last.len()) as f64
    }
}

fn apart(x: &Array2<f32>, i: usize, j: usize) -> f64 {
    x.row(i).iter().zip(x.row(j)).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum()
}

/// Waves along ten random parameters, with noise.
fn surface(n: usize, q: usize) -> Array2<f32> {
    let mut seed = 1u64;
    let mut uniform = || {
        // splitmix64
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
    let waves: Vec<[f64; D]> = (0..q).map(|_| std::array::from_fn(|_| normal())).collect();
    let phases: Vec<f64> = (0..q).map(|_| normal() * std::f64::consts::PI).collect();
    let mut x = Array2::zeros((n, q));
    for mut row in x.rows_mut() {
        let at: [f64; D] = std::array::from_fn(|_| (normal() / 4.0 + 0.5).clamp(0.0, 1.0));
        for (axis, v) in row.iter_mut().enumerate() {
            let along: f64 = at.iter().zip(&waves[axis]).map(|(a, w)| a * w).sum();
            *v = ((along * std::f64::consts::FRAC_PI_2 + phases[axis]).cos() + 0.05 * normal()) as f32;
        }
    }
    x
}
