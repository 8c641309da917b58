//! Small dense kernels. They do not use points, neighbors or Python.
//!
//! Matrices are flat slices, column after column. Loops take sizes as arguments and are inlined: a caller with constant
//! sizes gets unrolled code. Only the eigenvalues of matrices larger than 4 x 4 allocate memory.
//!
//! ```
//! use unbend::linalg::{determinant_sign, orthogonal_factor, polar, solve_positive};
//! let (mut a, mut b) = ([4.0, 0.0, 2.0, 3.0], [8.0, 8.0]); // [[4, 2], [2, 3]]: the lower triangle, row after row
//! assert!(solve_positive(&mut a, &mut b));
//! assert!((b[0] - 1.0).abs() < 1e-12 && (b[1] - 2.0).abs() < 1e-12);
//! assert_eq!(determinant_sign(&mut [0.0, 2.0, 3.0, 0.0], 2), -1.0);
//! let mut z = vec![0.0, 2.0, 0.0, -3.0, 0.0, 0.0]; // columns (0, 2, 0) and (-3, 0, 0)
//! let (mut factor, mut scratch) = (vec![0.0; 6], vec![]);
//! assert!((polar(&mut z.clone(), 3, 2, &mut factor, &mut scratch) - 5.0).abs() < 1e-15);
//! let values = orthogonal_factor(&mut z, 3, 2, &mut factor, &mut scratch);
//! assert!((values.sum - 5.0).abs() < 1e-15 && (values.least - 2.0).abs() < 1e-15);
//! assert_eq!(factor, [0.0, 1.0, 0.0, -1.0, 0.0, 0.0]);
//! ```

mod cholesky;
mod columns;
mod determinant;
mod eigen;
pub(crate) mod factors;
pub mod lanes;
mod orthogonal;
mod polar;
pub(crate) mod principal;
mod singular;

pub use cholesky::solve_positive;
pub use columns::{column, combine, distance2_to_combination, dot, long_dot, long_dots};
pub use determinant::determinant_sign;
pub use eigen::symmetric_eigen;
pub use orthogonal::{Singular, orthogonal_factor};
pub(crate) use orthogonal::{complete, remove};
pub use polar::{polar, polars};
pub(crate) use singular::orthogonalize;
pub use singular::singular_values;

/// The first `len` entries of a reused buffer, which grows if it is too short.
#[inline(always)]
pub fn first(buffer: &mut Vec<f64>, len: usize) -> &mut [f64] {
    if buffer.len() < len {
        buffer.resize(len, 0.0);
    }
    &mut buffer[..len]
}

/// Columns `i < j` of a matrix with `rows` rows, both mutable.
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

/// Length of (x, y). Entries are scaled here, so `hypot`'s guards against overflow are not needed.
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
