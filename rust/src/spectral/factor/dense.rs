//! Dense kernels of the factorization: blocks of pivots, and their Schur complement on the boundary.

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, Axis};
use rayon::prelude::*;

use super::{Failure, Outcome};
use crate::error::Result;
use crate::monitor::Monitor;

const BLOCK: usize = 48; // Pivots that are eliminated at once.
const ROWS: usize = 128; // Rows of a front that one thread handles at once.

/// Cholesky of the first `p` rows of `lower`, whose rows have `p` entries, and the same elimination in all others.
pub fn eliminate(lower: &mut [f64], p: usize, monitor: &dyn Monitor) -> Outcome<()> {
    for k in (0..p).step_by(BLOCK) {
        let width = BLOCK.min(p - k);
        subtract_left(&mut lower[k * p..], p, k, width, monitor)?;
        let mut corner = block(lower, p, k, width);
        if !cholesky(&mut corner, width) {
            return Err(Failure::NotPositive);
        }
        for r in 0..width {
            lower[(k + r) * p + k..(k + r) * p + k + width]
                .copy_from_slice(&corner[r * width..(r + 1) * width]);
        }
        let inverse = inverse(&corner, width);
        divide(&mut lower[(k + width) * p..], p, k, &inverse, width, monitor)?;
    }
    Ok(())
}

/// The square block on the diagonal at `k`.
fn block(lower: &[f64], p: usize, k: usize, width: usize) -> Vec<f64> {
    (0..width).flat_map(|r| &lower[(k + r) * p + k..(k + r) * p + k + width]).copied().collect()
}

/// Columns k to k + width of `rows`, less the part that the columns before them explain. The first rows are the
/// pivots'.
fn subtract_left(rows: &mut [f64], p: usize, k: usize, width: usize, monitor: &dyn Monitor) -> Result<()> {
    if k == 0 {
        return Ok(());
    }
    let pivots: Vec<f64> = (0..width).flat_map(|r| &rows[r * p..r * p + k]).copied().collect();
    let pivots = view(&pivots, width, k);
    rows.par_chunks_mut(ROWS * p).try_for_each(|chunk| {
        monitor.check()?;
        let (left, right) = view_mut(chunk, p).split_at(Axis(1), k);
        let (mut columns, _) = right.split_at(Axis(1), width);
        general_mat_mul(-1.0, &left, &pivots.t(), 1.0, &mut columns);
        Ok(())
    })
}

/// Columns k to k + width of `rows`, times the transpose of `inverse`.
fn divide(
    rows: &mut [f64],
    p: usize,
    k: usize,
    inverse: &[f64],
    width: usize,
    monitor: &dyn Monitor,
) -> Result<()> {
    let inverse = view(inverse, width, width);
    rows.par_chunks_mut(ROWS * p).try_for_each(|chunk| {
        monitor.check()?;
        let (_, right) = view_mut(chunk, p).split_at(Axis(1), k);
        let (mut columns, _) = right.split_at(Axis(1), width);
        let before = columns.to_owned();
        general_mat_mul(1.0, &before, &inverse.t(), 0.0, &mut columns);
        Ok(())
    })
}

/// The lower triangle of `rest`, less the product of `rows` with their transpose.
pub fn pass_on(rows: &[f64], p: usize, rest: &mut [f64], monitor: &dyn Monitor) -> Result<()> {
    let b = rest.len().isqrt();
    if b == 0 || p == 0 {
        return Ok(());
    }
    let rows = view(rows, b, p);
    rest.par_chunks_mut(ROWS * b).enumerate().try_for_each(|(c, chunk)| {
        monitor.check()?;
        let (from, to) = (c * ROWS, c * ROWS + chunk.len() / b);
        let (known, _) = rows.split_at(Axis(0), to);
        let (_, mine) = known.split_at(Axis(0), from);
        let (mut target, _) = view_mut(chunk, b).split_at(Axis(1), to);
        general_mat_mul(-1.0, &mine, &known.t(), 1.0, &mut target);
        Ok(())
    })
}

fn view(values: &[f64], rows: usize, columns: usize) -> ArrayView2<'_, f64> {
    ArrayView2::from_shape((rows, columns), values).unwrap_or_else(|_| ArrayView2::from(&[[0.0; 0]; 0]))
}

fn view_mut(values: &mut [f64], columns: usize) -> ArrayViewMut2<'_, f64> {
    let rows = values.len() / columns;
    ArrayViewMut2::from_shape((rows, columns), values)
        .unwrap_or_else(|_| ArrayViewMut2::from(&mut [[0.0; 0]; 0]))
}

/// Overwrites the lower triangle of a small matrix with its Cholesky factor; false if it is not positive definite.
fn cholesky(a: &mut [f64], n: usize) -> bool {
    for i in 0..n {
        let (above, row) = a.split_at_mut(i * n);
        for j in 0..i {
            let other = &above[j * n..j * n + j + 1];
            let sum: f64 = row[..j].iter().zip(other).map(|(x, y)| x * y).sum();
            row[j] = (row[j] - sum) / other[j];
        }
        let rest = row[i] - row[..i].iter().map(|x| x * x).sum::<f64>();
        // a NaN is not positive either
        if rest.is_nan() || rest <= 0.0 {
            return false;
        }
        row[i] = rest.sqrt();
        row[i + 1..n].fill(0.0);
    }
    true
}

fn inverse(lower: &[f64], n: usize) -> Vec<f64> {
    let mut x = vec![0.0; n * n];
    for i in 0..n {
        let (above, row) = x.split_at_mut(i * n);
        for (k, other) in above.chunks_exact(n).enumerate() {
            let l = lower[i * n + k];
            row[..=k].iter_mut().zip(other).for_each(|(r, o)| *r -= l * o);
        }
        row[i] = 1.0;
        let scale = 1.0 / lower[i * n + i];
        row[..=i].iter_mut().for_each(|r| *r *= scale);
    }
    x
}
