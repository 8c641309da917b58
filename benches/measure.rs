//! How fast embeddings are measured once the neighbors are known: `cargo bench --bench measure`.
//!
//! Under `cargo test --benches` criterion runs everything once, and the data are small.

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use ndarray::ArrayView2;
use unbend::measure::{FaithfulnessParams, faithfulness, lower_bound};
use unbend::synthetic::{RotatingBall, Sample, SwissRoll, rotating_ball, swiss_roll};
use unbend::{Points, Result, Search, Unmonitored, charts, neighbors};

const K: usize = 12;

fn main() -> Result<()> {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3))
        .configure_from_args();
    let roll = swiss_roll(size(100_000, 2_000), &SwissRoll::default(), 0, &Unmonitored)?;
    everything(&mut criterion, "swiss roll, 3-d", &roll)?;
    let images = rotating_ball(size(10_000, 400), &RotatingBall::default(), 0, &Unmonitored)?;
    everything(&mut criterion, &format!("rotating ball, {}-d", images.x.ncols()), &images)?;
    criterion.final_summary();
    Ok(())
}

/// The embedding is the true coordinates, and the search for neighbors is not timed.
fn everything(criterion: &mut Criterion, name: &str, Sample { x, coordinates }: &Sample) -> Result<()> {
    let (x, y) = (points(x.view())?, points(coordinates.view())?);
    let (n, d) = (x.len(), y.dim());
    let graph = neighbors::nearest(&x, K, Search::Auto, &Unmonitored)?.neighborhoods;
    let params = FaithfulnessParams::default();
    let mut group = criterion.benchmark_group("measure");
    group.throughput(Throughput::Elements(n as u64));
    group.bench_function(BenchmarkId::new(format!("faithfulness, {name}"), n), |bencher| {
        bencher.iter(|| faithfulness(&x, &y, &graph, params, &Unmonitored));
    });
    group.bench_function(BenchmarkId::new(format!("lower_bound, {name}"), n), |bencher| {
        bencher.iter(|| lower_bound(&x, d, &graph, params, &Unmonitored));
    });
    group.bench_function(BenchmarkId::new(format!("charts, {name}"), n), |bencher| {
        bencher.iter(|| charts::charts(&x, &graph, d, true, &Unmonitored));
    });
    group.finish();
    Ok(())
}

fn points(view: ArrayView2<f64>) -> Result<Points> {
    Points::new("X", view, &Unmonitored)
}

/// `full` under `cargo bench`, `quick` when criterion only tests that benchmarks run.
fn size(full: usize, quick: usize) -> usize {
    let given = |flag: &str| std::env::args().any(|argument| argument == flag);
    if given("--bench") && !given("--test") { full } else { quick }
}
