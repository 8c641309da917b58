//! Solving with the factor, eight right-hand sides at once.

use pulp::Arch;
use rayon::prelude::*;

use super::{Front, Row, SIDES, fork};
use crate::error::Result;
use crate::monitor::Monitor;

const READ: usize = 512; // The same, when they are only read.

const NONE: Row = [0.0; SIDES];

impl Front {
    /// L^-1 x on its subtree, in place; returns the terms to subtract on its boundary.
    pub fn forward(&self, x: &mut [Row], monitor: &dyn Monitor) -> Result<Vec<Row>> {
        monitor.check()?;
        let p = self.pivots;
        let (below, own) = x.split_at_mut(self.total - p);
        let mut passed = vec![NONE; self.into.len()];
        for (half, follows) in self.halves.iter().zip(self.forward_halves(below, monitor)?) {
            for (&q, follow) in half.into.iter().zip(&follows) {
                match (q as usize).checked_sub(p) {
                    None => add(&mut own[q as usize], -1.0, follow),
                    Some(q) => add(&mut passed[q], 1.0, follow),
                }
            }
        }
        let (pivots, boundary) = self.lower.split_at(p * p);
        Arch::new().dispatch(|| solve_lower(pivots, own));
        let own = &*own;
        passed.par_chunks_mut(READ).zip(boundary.par_chunks((READ * p).max(1))).for_each(|(rows, lower)| {
            Arch::new().dispatch(|| accumulate(lower, own, rows));
        });
        Ok(passed)
    }

    fn forward_halves(&self, below: &mut [Row], monitor: &dyn Monitor) -> Result<Vec<Vec<Row>>> {
        let [left, right] = self.halves.as_slice() else { return Ok(Vec::new()) };
        let (x_left, x_right) = below.split_at_mut(left.total);
        let (of_left, of_right) =
            fork(self.total, || left.forward(x_left, monitor), || right.forward(x_right, monitor));
        Ok(vec![of_left?, of_right?])
    }

    /// L'^-1 x on its subtree, in place; `above` are the solutions on its boundary.
    pub fn backward(&self, x: &mut [Row], above: &[Row], monitor: &dyn Monitor) -> Result<()> {
        monitor.check()?;
        let p = self.pivots;
        let (below, own) = x.split_at_mut(self.total - p);
        let (pivots, boundary) = self.lower.split_at(p * p);
        let sums: Vec<Vec<Row>> = above
            .par_chunks(READ)
            .zip(boundary.par_chunks((READ * p).max(1)))
            .map(|(above, lower)| Arch::new().dispatch(|| transposed(lower, above, p)))
            .collect();
        for sum in &sums {
            own.iter_mut().zip(sum).for_each(|(x, s)| add(x, -1.0, s));
        }
        Arch::new().dispatch(|| solve_upper(pivots, own));
        let own = &*own;
        let gather = |half: &Front| -> Vec<Row> {
            half.into
                .iter()
                .map(|&q| own.get(q as usize).copied().unwrap_or_else(|| above[q as usize - p]))
                .collect()
        };
        let [left, right] = self.halves.as_slice() else { return Ok(()) };
        let (x_left, x_right) = below.split_at_mut(left.total);
        let (of_left, of_right) = fork(
            self.total,
            || left.backward(x_left, &gather(left), monitor),
            || right.backward(x_right, &gather(right), monitor),
        );
        of_left.and(of_right)
    }
}

#[inline(always)]
fn add(to: &mut Row, factor: f64, row: &Row) {
    for l in 0..SIDES {
        to[l] += factor * row[l];
    }
}

/// x <- L^-1 x.
#[inline(always)]
fn solve_lower(lower: &[f64], x: &mut [Row]) {
    let p = x.len();
    for r in 0..p {
        let (before, rest) = x.split_at_mut(r);
        let row = &lower[r * p..r * p + r + 1];
        let mut sum = rest[0];
        for (l, x) in row.iter().zip(before.iter()) {
            add(&mut sum, -l, x);
        }
        rest[0] = sum.map(|s| s / row[r]);
    }
}

/// x <- L'^-1 x.
#[inline(always)]
fn solve_upper(lower: &[f64], x: &mut [Row]) {
    let p = x.len();
    for r in (0..p).rev() {
        let (before, rest) = x.split_at_mut(r);
        let row = &lower[r * p..r * p + r + 1];
        rest[0] = rest[0].map(|s| s / row[r]);
        let own = rest[0];
        for (l, x) in row.iter().zip(before.iter_mut()) {
            add(x, -l, &own);
        }
    }
}

/// rows += L x.
#[inline(always)]
fn accumulate(lower: &[f64], x: &[Row], rows: &mut [Row]) {
    if x.is_empty() {
        return;
    }
    for (row, lower) in rows.iter_mut().zip(lower.chunks_exact(x.len())) {
        let mut sum = *row;
        for (l, x) in lower.iter().zip(x) {
            add(&mut sum, *l, x);
        }
        *row = sum;
    }
}

/// L' x, of `p` rows.
#[inline(always)]
fn transposed(lower: &[f64], x: &[Row], p: usize) -> Vec<Row> {
    let mut sums = vec![NONE; p];
    if p == 0 {
        return sums;
    }
    for (x, lower) in x.iter().zip(lower.chunks_exact(p)) {
        for (l, sum) in lower.iter().zip(sums.iter_mut()) {
            add(sum, *l, x);
        }
    }
    sums
}
