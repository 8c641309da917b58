//! All tests of the core in one binary: it links once.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::test_runner::{Config, RngSeed};

mod align;
mod anneal;
mod approximate;
mod asim;
mod assemble;
mod charts;
mod clouds;
mod cut;
mod dimension;
mod eigenvectors;
mod embed;
mod geodesic;
mod graph;
mod greedy;
mod isomap;
mod layout;
mod linalg;
mod measure;
mod monitor;
mod multigrid;
mod naive;
mod neighbors;
mod net;
mod overlap;
mod parallel;
mod paths;
mod points;
mod rankings;
mod ranks;
mod refine;
mod shapes;
mod shepard;
mod skeleton;
mod spectral;
mod synthetic;

/// As many cases, the same in every run.
fn cases(count: u32) -> Config {
    Config { cases: count, rng_seed: RngSeed::Fixed(0), failure_persistence: None, ..Config::default() }
}

/// Runs `f` in a pool of this many threads.
fn on_threads<T: Send>(threads: usize, f: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(f)
}
