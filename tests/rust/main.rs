//! All tests of the core in one binary: it links once.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::test_runner::{Config, RngSeed};

mod base;
mod charts;
mod defaults;
mod embed;
mod layout_of_source;
mod linalg;
mod measure;
mod neighbors;
mod spectral;
mod support;
mod synthetic;

use support::{clouds, naive, shapes};

/// As many cases, the same in every run.
fn cases(count: u32) -> Config {
    Config { cases: count, rng_seed: RngSeed::Fixed(0), failure_persistence: None, ..Config::default() }
}

/// Runs `f` in a pool of this many threads.
fn on_threads<T: Send>(threads: usize, f: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(f)
}
