//! How many moves annealing makes, how fast frames are aligned, and how fast orthogonal factors are found:
//! `cargo bench --bench align`.
//!
//! Under `cargo test --benches` criterion runs everything once, and the data are small.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput};
use ndarray::Array2;
use unbend::charts::Atlas;
use unbend::embed::align::{AnnealParams, Connection, anneal, tree};
use unbend::linalg::{orthogonal_factor, polar, polars};
use unbend::rng::{normal, stream};
use unbend::synthetic::{SwissRoll, hemisphere, swiss_roll};
use unbend::{Monitor, Points, Result, Search, Unmonitored, neighbors};

const K: usize = 12;

fn main() -> Result<()> {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3))
        .configure_from_args();
    let n = size(2_000, 200);
    let roll = swiss_roll(n, &SwissRoll::default(), 0, &Unmonitored)?.x;
    let bowl = hemisphere(n, 0.0, 0, &Unmonitored)?.x;
    for d in 1..=3 {
        moves(&mut criterion, &format!("swiss roll, d = {d}"), &roll, d)?;
    }
    moves(&mut criterion, "hemisphere, d = 2", &bowl, 2)?;
    along_tree(&mut criterion, "swiss roll, d = 2", &roll, 2)?;
    for d in [2, 3, 4, 6, 10] {
        factors(&mut criterion, d);
    }
    criterion.final_summary();
    Ok(())
}

/// Stages of as many moves each, from random frames: elements a second are moves tried a second.
fn moves(criterion: &mut Criterion, name: &str, x: &Array2<f64>, d: usize) -> Result<()> {
    let x = Points::new("X", x.view(), &Unmonitored)?;
    let graph = neighbors::nearest(&x, K, Search::Auto, &Unmonitored)?.neighborhoods;
    let connection = Connection::new(&Atlas::new(&x, &graph, None, d, &Unmonitored)?, &Unmonitored)?;
    let params =
        AnnealParams { accepted: usize::MAX, tried: 50, cooling: 0.8, rounds: 1, ..Default::default() };
    let stages = Stages::default();
    anneal(&connection, None, &params, &stages)?;
    let tried = stages.finished() * params.tried * x.len();
    let mut group = criterion.benchmark_group("align/anneal");
    group.throughput(Throughput::Elements(tried as u64));
    group.bench_function(BenchmarkId::new(name, x.len()), |bencher| {
        bencher.iter(|| anneal(&connection, None, &params, &Unmonitored));
    });
    group.finish();
    Ok(())
}

fn along_tree(criterion: &mut Criterion, name: &str, x: &Array2<f64>, d: usize) -> Result<()> {
    let x = Points::new("X", x.view(), &Unmonitored)?;
    let graph = neighbors::nearest(&x, K, Search::Auto, &Unmonitored)?.neighborhoods;
    let atlas = Atlas::new(&x, &graph, None, d, &Unmonitored)?;
    let connection = Connection::new(&atlas, &Unmonitored)?;
    let mut group = criterion.benchmark_group("align/tree");
    group.throughput(Throughput::Elements(x.len() as u64));
    group.bench_function(BenchmarkId::new(name, x.len()), |bencher| {
        bencher.iter(|| tree(&connection, &atlas, &Unmonitored));
    });
    group.finish();
    Ok(())
}

/// Orthogonal factors of random d x d matrices: by rotations, one at a time, and all together.
fn factors(criterion: &mut Criterion, d: usize) {
    let (count, size) = (size(1024, 16), d * d);
    let mut rng = stream(0, "matrices", d as u64);
    let matrices: Vec<f64> = (0..count * size).map(|_| normal(&mut rng)).collect();
    let (mut a, mut sums, mut scratch) = (vec![0.0; count * size], vec![0.0; count], vec![]);
    let mut group = criterion.benchmark_group("align/factors");
    group.throughput(Throughput::Elements(count as u64));
    type Find<'f> = &'f mut dyn FnMut(&mut [f64], &mut [f64], &mut Vec<f64>);
    let mut rotations = |z: &mut [f64], a: &mut [f64], scratch: &mut Vec<f64>| {
        let each = z.chunks_exact_mut(size).zip(a.chunks_exact_mut(size));
        each.for_each(|(z, a)| _ = orthogonal_factor(z, d, d, a, scratch));
    };
    let mut alone = |z: &mut [f64], a: &mut [f64], scratch: &mut Vec<f64>| {
        let each = z.chunks_exact_mut(size).zip(a.chunks_exact_mut(size));
        each.for_each(|(z, a)| _ = polar(z, d, d, a, scratch));
    };
    let mut together =
        |z: &mut [f64], a: &mut [f64], scratch: &mut Vec<f64>| polars(z, d, d, a, &mut sums, scratch);
    let ways: [(&str, Find); 3] =
        [("rotations", &mut rotations), ("alone", &mut alone), ("together", &mut together)];
    for (name, find) in ways {
        group.bench_function(BenchmarkId::new(name, d), |bencher| {
            bencher.iter_batched_ref(
                || matrices.clone(),
                |z| find(z, &mut a, &mut scratch),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

/// Annealing reports once after each stage but a frozen one, and once at its end.
#[derive(Default)]
struct Stages(AtomicUsize);

impl Stages {
    fn finished(self) -> usize {
        self.0.into_inner() - 1
    }
}

impl Monitor for Stages {
    fn progress(&self, _stage: &'static str, _done: usize, _total: usize) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// `full` under `cargo bench`, `quick` when criterion only tests that benchmarks run.
fn size(full: usize, quick: usize) -> usize {
    let given = |flag: &str| std::env::args().any(|argument| argument == flag);
    if given("--bench") && !given("--test") { full } else { quick }
}
