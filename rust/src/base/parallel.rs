//! Parallel loops over points that can be stopped, and whose results do not depend on the number of threads.
//!
//! Values are written to the place of their point, and partial sums are returned in the order of the points.

use std::array::from_fn;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use pulp::{Arch, NullaryFnOnce};
use rayon::prelude::*;

use crate::error::Result;
use crate::monitor::Monitor;

/// Points handled between two checks of the monitor: about a millisecond of work.
pub(crate) const CHUNK: usize = 512;

/// Calls `f`, compiled for the widest vectors of the processor. Mark the closure `#[inline(always)]`, and all that it
/// calls in loops: code that is not inlined is compiled for the narrowest.
///
/// A closure called as `FnOnce`, as pulp calls it, would go through a shim that is not inlined.
#[inline(always)]
pub(crate) fn vectorized<R>(f: impl FnMut() -> R) -> R {
    struct Vectorized<F>(F);

    impl<R, F: FnMut() -> R> NullaryFnOnce for Vectorized<F> {
        type Output = R;

        #[inline(always)]
        fn call(mut self) -> R {
            (self.0)()
        }
    }

    Arch::new().dispatch(Vectorized(f))
}

/// Reports to a monitor how many of the steps of a stage are done, from any thread.
pub(crate) struct Progress<'m> {
    stage: &'static str,
    done: AtomicUsize,
    total: usize,
    monitor: &'m dyn Monitor,
}

impl<'m> Progress<'m> {
    pub fn new(stage: &'static str, total: usize, monitor: &'m dyn Monitor) -> Self {
        Progress { stage, done: AtomicUsize::new(0), total, monitor }
    }

    /// Reports `steps` more.
    pub fn add(&self, steps: usize) {
        self.add_rarely(steps, 1);
    }

    /// Counts `steps` more, and reports when a multiple of `every` is reached and at the end.
    pub fn add_rarely(&self, steps: usize, every: usize) {
        let done = self.done.fetch_add(steps, Ordering::Relaxed) + steps;
        if done % every < steps || done >= self.total {
            self.monitor.progress(self.stage, done.min(self.total), self.total);
        }
    }
}

/// Calls `f(state, i)` for every `i < n` in parallel and returns the values in the order of `i`.
///
/// `state` is called once for each chunk of points, so that `f` can reuse buffers. Fails only if the monitor stops it.
pub fn map_points<S, T: Clone + Default + Send>(
    n: usize,
    stage: &'static str,
    monitor: &dyn Monitor,
    state: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, usize) -> T + Sync,
) -> Result<Vec<T>> {
    // in parallel, because the first touch of fresh memory is what costs
    let mut values: Vec<T> = (0..n).into_par_iter().map(|_| T::default()).collect();
    fill_rows(&mut values, 1, stage, monitor, state, |state, i, row| row[0] = f(state, i))?;
    Ok(values)
}

/// Fills the rows of `values`, `width` entries each, in parallel: `f(state, i, row)` writes row `i`.
///
/// `width` must be positive. Fails only if the monitor stops it.
pub fn fill_rows<S, T: Send>(
    values: &mut [T],
    width: usize,
    stage: &'static str,
    monitor: &dyn Monitor,
    state: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, usize, &mut [T]) + Sync,
) -> Result<()> {
    let progress = Progress::new(stage, values.len() / width, monitor);
    values.par_chunks_mut(CHUNK * width).enumerate().try_for_each(|(c, chunk)| {
        monitor.check()?;
        let mut state = state();
        for (i, row) in (c * CHUNK..).zip(chunk.chunks_exact_mut(width)) {
            f(&mut state, i, row);
        }
        progress.add(chunk.len() / width);
        Ok(())
    })
}

/// [`fill_rows`] of two arrays at once, of which the second has one value for each row of the first.
pub(crate) fn fill_rows_and<S, T: Send, U: Send>(
    values: &mut [T],
    width: usize,
    others: &mut [U],
    stage: &'static str,
    monitor: &dyn Monitor,
    state: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, usize, &mut [T], &mut U) + Sync,
) -> Result<()> {
    fill_blocks_and(values, width, others, stage, monitor, |start, rows, others| {
        let mut state = state();
        for ((i, row), other) in (start..).zip(rows.chunks_exact_mut(width)).zip(others) {
            f(&mut state, i, row, other);
        }
    })
}

/// The same for blocks of rows: `f(start, rows, others)` writes those from row `start` on.
pub(crate) fn fill_blocks_and<T: Send, U: Send>(
    values: &mut [T],
    width: usize,
    others: &mut [U],
    stage: &'static str,
    monitor: &dyn Monitor,
    f: impl Fn(usize, &mut [T], &mut [U]) + Sync,
) -> Result<()> {
    let progress = Progress::new(stage, others.len(), monitor);
    let chunks = values.par_chunks_mut(CHUNK * width).zip(others.par_chunks_mut(CHUNK));
    chunks.enumerate().try_for_each(|(c, (rows, others))| {
        monitor.check()?;
        f(c * CHUNK, rows, others);
        progress.add(others.len());
        Ok(())
    })
}

/// Fills `M` columns of equal length, which lie one after the other in `values`, in parallel.
///
/// `f(start, chunks)` writes the entries of all columns from row `start` on. Its return values are collected in order.
/// Fails only if the monitor stops it.
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
    let progress = Progress::new(stage, n, monitor);
    let fill = |(c, chunk): (usize, [&mut [f64]; M])| {
        monitor.check()?;
        let len = chunk.first().map_or(0, |column| column.len());
        let result = f(c * CHUNK, chunk);
        progress.add(len);
        Ok(result)
    };
    chunks.into_par_iter().enumerate().map(fill).collect()
}

/// Calls `f` in parallel for consecutive blocks of the points below `n` and returns the values in order.
///
/// Fails only if the monitor stops it.
pub fn map_blocks<T: Send>(
    n: usize,
    stage: &'static str,
    monitor: &dyn Monitor,
    f: impl Fn(Range<usize>) -> T + Sync,
) -> Result<Vec<T>> {
    let progress = Progress::new(stage, n, monitor);
    let map = |c: usize| {
        monitor.check()?;
        let block = c * CHUNK..((c + 1) * CHUNK).min(n);
        let value = f(block.clone());
        progress.add(block.len());
        Ok(value)
    };
    (0..n.div_ceil(CHUNK)).into_par_iter().map(map).collect()
}
