//! Small dense kernels: an island that knows nothing of points, neighbours or Python.
//!
//! Matrices are flat slices, column after column. Loops take their sizes as arguments and are inlined,
//! so that a caller with constant sizes gets unrolled code from the same source. Nothing allocates
//! except the eigenvalues of matrices larger than 4 x 4.

mod cholesky;
mod columns;
mod determinant;
mod eigen;
pub mod lanes;
mod orthogonal;
mod polar;
mod singular;

pub use cholesky::solve_positive;
pub use columns::{column, combine, distance2_to_combination, dot, long_dot};
pub use determinant::determinant_sign;
pub use eigen::symmetric_eigen;
pub(crate) use orthogonal::complete;
pub use orthogonal::{Singular, orthogonal_factor};
pub use polar::{polar, polars};
pub(crate) use singular::orthogonalize;
pub use singular::singular_values;

/// The first `len` entries of a buffer that is reused, which grows when it must.
#[inline(always)]
pub fn first(buffer: &mut Vec<f64>, len: usize) -> &mut [f64] {
    if buffer.len() < len {
        buffer.resize(len, 0.0);
    }
    &mut buffer[..len]
}

/// Columns `i < j` of a matrix with `rows` rows, both to be written.
#[inline(always)]
fn two_columns(matrix: &mut [f64], rows: usize, i: usize, j: usize) -> (&mut [f64], &mut [f64]) {
    let (left, right) = matrix.split_at_mut(j * rows);
    (&mut left[i * rows..(i + 1) * rows], &mut right[..rows])
}

/// (x, y) <- (c x - s y, s x + c y), entry by entry.
#[inline(always)]
fn rotate(x: &mut [f64], y: &mut [f64], c: f64, s: f64) {
    for (x, y) in x.iter_mut().zip(y) {
        (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
    }
}

/// Length of (x, y). Entries here are scaled, so the guards of `hypot` are not needed, nor their cost.
#[inline(always)]
pub(crate) fn norm(x: f64, y: f64) -> f64 {
    (x * x + y * y).sqrt()
}

/// Cosine and sine of the smaller of the two rotations that make [[a, g], [g, b]] diagonal.
#[inline(always)]
fn jacobi_rotation(a: f64, g: f64, b: f64) -> (f64, f64) {
    let zeta = (b - a) / (2.0 * g);
    let t = zeta.signum() / (zeta.abs() + norm(zeta, 1.0));
    let c = 1.0 / norm(t, 1.0);
    (c, c * t)
}

/// The largest absolute entry.
#[inline(always)]
pub(crate) fn largest(matrix: &[f64]) -> f64 {
    matrix.iter().fold(0.0, |largest, v| v.abs().max(largest))
}
