//! Loops over points that run on all threads, can be stopped, and give the same bits on any number of them.
//!
//! Values are computed for each point in parallel and written to the point's own place; sums run over
//! those places in order. Nothing is ever accumulated in the order in which threads finish.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::error::Result;
use crate::monitor::Monitor;

/// Points handled between two looks at the monitor: about a millisecond of work.
const CHUNK: usize = 512;

/// Calls `f(state, i)` for every `i < n` and collects the values in order of `i`.
///
/// `state` is made once a chunk, so that `f` needs no allocation of its own.
pub fn map_points<S, T: Send>(
    n: usize,
    stage: &'static str,
    monitor: &dyn Monitor,
    state: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, usize) -> T + Sync,
) -> Result<Vec<T>> {
    let done = AtomicUsize::new(0);
    let mut values: Vec<Option<T>> = Vec::new();
    values.resize_with(n, || None);
    values.par_chunks_mut(CHUNK).enumerate().try_for_each(|(c, chunk)| {
        monitor.check()?;
        let mut state = state();
        for (o, slot) in chunk.iter_mut().enumerate() {
            *slot = Some(f(&mut state, c * CHUNK + o));
        }
        let before = done.fetch_add(chunk.len(), Ordering::Relaxed);
        monitor.progress(stage, before + chunk.len(), n);
        Ok(())
    })?;
    Ok(values.into_iter().flatten().collect())
}

/// Sum in pairs: the same bits on any machine, error growing with log n instead of n.
pub fn sum(values: impl ExactSizeIterator<Item = f64> + Clone) -> f64 {
    const BLOCK: usize = 128;
    let n = values.len();
    if n <= BLOCK {
        return values.fold(0.0, |total, v| total + v);
    }
    let mut values = values;
    let mut partial: Vec<f64> = Vec::with_capacity(n.div_ceil(BLOCK));
    while values.len() > 0 {
        partial.push(values.by_ref().take(BLOCK).fold(0.0, |total, v| total + v));
    }
    sum(partial.iter().copied())
}

/// Mean of `values`; 0 for none.
pub fn mean(values: impl ExactSizeIterator<Item = f64> + Clone) -> f64 {
    let n = values.len();
    if n == 0 { 0.0 } else { sum(values) / n as f64 }
}
