//! Loops over points that run on all threads, can be stopped, and give the same bits on any number of them.
//!
//! Values are computed for each point in parallel and written to the point's own place, and partial sums are collected
//! in order. Nothing is ever accumulated in the order in which threads finish.

use std::array::from_fn;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::error::Result;
use crate::monitor::Monitor;

/// Points handled between two looks at the monitor: about a millisecond of work.
const CHUNK: usize = 512;

/// Calls `f(state, i)` for every `i < n` and collects the values in order of `i`.
///
/// `state` is made once a chunk, so that `f` needs no allocation of its own.
pub fn map_points<S, T: Clone + Default + Send>(
    n: usize,
    stage: &'static str,
    monitor: &dyn Monitor,
    state: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, usize) -> T + Sync,
) -> Result<Vec<T>> {
    let done = AtomicUsize::new(0);
    // in parallel, because the first touch of fresh memory is what costs
    let mut values: Vec<T> = (0..n).into_par_iter().map(|_| T::default()).collect();
    values.par_chunks_mut(CHUNK).enumerate().try_for_each(|(c, chunk)| {
        monitor.check()?;
        let mut state = state();
        for (o, value) in chunk.iter_mut().enumerate() {
            *value = f(&mut state, c * CHUNK + o);
        }
        let before = done.fetch_add(chunk.len(), Ordering::Relaxed);
        monitor.progress(stage, before + chunk.len(), n);
        Ok(())
    })?;
    Ok(values)
}

/// Fills rows of `width` numbers that lie end to end in `values`: `f(state, i, row)` for each row `i`.
pub fn fill_rows<S>(
    values: &mut [f64],
    width: usize,
    stage: &'static str,
    monitor: &dyn Monitor,
    state: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, usize, &mut [f64]) + Sync,
) -> Result<()> {
    let n = values.len() / width;
    let done = AtomicUsize::new(0);
    values.par_chunks_mut(CHUNK * width).enumerate().try_for_each(|(c, chunk)| {
        monitor.check()?;
        let mut state = state();
        let rows = chunk.len() / width;
        for (o, row) in chunk.chunks_exact_mut(width).enumerate() {
            f(&mut state, c * CHUNK + o, row);
        }
        let before = done.fetch_add(rows, Ordering::Relaxed);
        monitor.progress(stage, before + rows, n);
        Ok(())
    })
}

/// Fills M lists of numbers that lie end to end in `values`: `f(start, chunk)` gets the same stretch of each, from
/// index `start` on. What it returns is collected in order.
pub fn fill_columns<T: Send, const M: usize>(
    values: &mut [f64],
    stage: &'static str,
    monitor: &dyn Monitor,
    f: impl Fn(usize, [&mut [f64]; M]) -> T + Sync,
) -> Result<Vec<T>> {
    let n = values.len() / M;
    let mut columns: Vec<_> = values.chunks_mut(n.max(1)).map(|column| column.chunks_mut(CHUNK)).collect();
    let chunks: Vec<[&mut [f64]; M]> =
        (0..n.div_ceil(CHUNK)).map(|_| from_fn(|m| columns[m].next().unwrap_or_default())).collect();
    let done = AtomicUsize::new(0);
    chunks
        .into_par_iter()
        .enumerate()
        .map(|(c, chunk)| {
            monitor.check()?;
            let len = chunk.first().map_or(0, |column| column.len());
            let result = f(c * CHUNK, chunk);
            let before = done.fetch_add(len, Ordering::Relaxed);
            monitor.progress(stage, before + len, n);
            Ok(result)
        })
        .collect()
}

/// Calls `f` for blocks of consecutive points that together are all points below `n`; the results are in order.
pub fn map_blocks<T: Send>(
    n: usize,
    stage: &'static str,
    monitor: &dyn Monitor,
    f: impl Fn(Range<usize>) -> T + Sync,
) -> Result<Vec<T>> {
    let done = AtomicUsize::new(0);
    (0..n.div_ceil(CHUNK))
        .into_par_iter()
        .map(|c| {
            monitor.check()?;
            let block = c * CHUNK..((c + 1) * CHUNK).min(n);
            let value = f(block.clone());
            let before = done.fetch_add(block.len(), Ordering::Relaxed);
            monitor.progress(stage, before + block.len(), n);
            Ok(value)
        })
        .collect()
}
