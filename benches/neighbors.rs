//! How fast neighbors are found: `cargo bench --bench neighbors`.
//!
//! Under `cargo test --benches` criterion runs everything once, and the data are small.

use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput};
use ndarray::Array2;
use unbend::rng::{stream, uniform};
use unbend::synthetic::{SwissRoll, swiss_roll};
use unbend::{Points, Result, Search, Unmonitored, neighbors};

const K: usize = 12;

fn main() -> Result<()> {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    tree(&mut criterion)?;
    radius(&mut criterion)?;
    blocked(&mut criterion)?;
    between(&mut criterion)?;
    criterion.final_summary();
    Ok(())
}

fn tree(criterion: &mut Criterion) -> Result<()> {
    let mut group = criterion.benchmark_group("neighbors/tree");
    let x = roll(size(100_000, 2_000))?;
    nearest(&mut group, "swiss roll, f64", &Points::new("X", x.view(), &Unmonitored)?, Search::Tree);
    let single = x.mapv(|v| v as f32);
    nearest(&mut group, "swiss roll, f32", &Points::new("X", single.view(), &Unmonitored)?, Search::Tree);
    group.finish();
    Ok(())
}

fn blocked(criterion: &mut Criterion) -> Result<()> {
    let mut group = criterion.benchmark_group("neighbors/blocked");
    let n = size(10_000, 600);
    for q in [50, 256, 784] {
        let x = uniform_cube(n, q).mapv(|v| v as f32);
        let name = format!("uniform, {q}-d, f32");
        nearest(&mut group, &name, &Points::new("X", x.view(), &Unmonitored)?, Search::Blocked);
    }
    group.finish();
    Ok(())
}

/// Where either search can win: what `Auto` chooses compared with both. The surface is two-dimensional whatever q is.
fn between(criterion: &mut Criterion) -> Result<()> {
    let mut group = criterion.benchmark_group("neighbors/between");
    let n = size(10_000, 600);
    for q in [6, 10, 14] {
        for (data, x) in [("uniform", uniform_cube(n, q)), ("surface", surface(n, q))] {
            let x = Points::new("X", x.view(), &Unmonitored)?;
            for search in [Search::Tree, Search::Blocked, Search::Auto] {
                nearest(&mut group, &format!("{data}, {q}-d, {search:?}"), &x, search);
            }
        }
    }
    group.finish();
    Ok(())
}

/// With a radius that holds about `K` others: comparable with the search by number.
fn radius(criterion: &mut Criterion) -> Result<()> {
    let mut group = criterion.benchmark_group("neighbors/within");
    let x = roll(size(100_000, 2_000))?;
    let x = Points::new("X", x.view(), &Unmonitored)?;
    let knn = neighbors::nearest(&x, K, Search::Tree, &Unmonitored)?;
    let farthest = knn.distances.chunks_exact(K).map(|row| row[K - 1]);
    let radius = farthest.sum::<f64>() / x.len() as f64;
    group.throughput(Throughput::Elements(x.len() as u64));
    group.bench_function(BenchmarkId::new("swiss roll, f64", x.len()), |bencher| {
        bencher.iter(|| neighbors::within(&x, radius, Search::Tree, &Unmonitored));
    });
    group.finish();
    Ok(())
}

fn nearest(group: &mut BenchmarkGroup<WallTime>, name: &str, x: &Points, search: Search) {
    group.throughput(Throughput::Elements(x.len() as u64));
    group.bench_function(BenchmarkId::new(name, x.len()), |bencher| {
        bencher.iter(|| neighbors::nearest(x, K, search, &Unmonitored));
    });
}

fn roll(n: usize) -> Result<Array2<f64>> {
    Ok(swiss_roll(n, &SwissRoll::default(), 0, &Unmonitored)?.x)
}

fn uniform_cube(n: usize, q: usize) -> Array2<f64> {
    let mut rng = stream(0, "benches", 0);
    Array2::from_shape_simple_fn((n, q), || uniform(&mut rng))
}

/// Two parameters through waves of random direction and phase.
fn surface(n: usize, q: usize) -> Array2<f64> {
    let parameters = uniform_cube(n, 2);
    let mut rng = stream(0, "benches", 1);
    let waves = Array2::from_shape_simple_fn((3, q), || std::f64::consts::TAU * uniform(&mut rng));
    Array2::from_shape_fn((n, q), |(i, a)| {
        let turned = waves[[0, a]] * parameters[[i, 0]] + waves[[1, a]] * parameters[[i, 1]];
        (turned + waves[[2, a]]).cos()
    })
}

/// `full` under `cargo bench`, `quick` when criterion only tests that benchmarks run.
fn size(full: usize, quick: usize) -> usize {
    let given = |flag: &str| std::env::args().any(|argument| argument == flag);
    if given("--bench") && !given("--test") { full } else { quick }
}
