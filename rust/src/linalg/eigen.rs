//! Eigenvalues and eigenvectors of small symmetric matrices.

use nalgebra::{DMatrix, SymmetricEigen};

use super::{first, jacobi_rotation, largest};

/// Up to this size, Jacobi's method is faster than reduction to a tridiagonal matrix.
const SMALL: usize = 4;

/// Maximum number of sweeps of Jacobi's method. It needs fewer than ten.
const SWEEPS: usize = 40;

/// An off-diagonal entry is negligible if its square is below this share of the product of the diagonal entries.
const NEGLIGIBLE: f64 = f64::EPSILON * f64::EPSILON;

/// Replaces a symmetric n x n matrix by its eigenvectors, one per column, and writes its eigenvalues to `values`, both
/// in descending order.
///
/// The entries must be finite. Cost: O(n^3).
#[inline(always)]
pub fn symmetric_eigen(matrix: &mut [f64], n: usize, values: &mut [f64], scratch: &mut Vec<f64>) {
    let scale = largest(matrix);
    if scale == 0.0 {
        matrix.iter_mut().enumerate().for_each(|(i, v)| *v = f64::from(i % (n + 1) == 0));
        values.fill(0.0);
        return;
    }
    matrix.iter_mut().for_each(|v| *v /= scale);
    if n <= SMALL || !tridiagonal(matrix, n, values) {
        jacobi(matrix, n, values, scratch);
    }
    values.iter_mut().for_each(|v| *v *= scale);
    sort_down(matrix, n, values);
}

/// Through nalgebra's tridiagonal QR; false, with `matrix` untouched, in the rare cases that it does not converge or
/// overflows, as it may where most of the matrix is rounding.
fn tridiagonal(matrix: &mut [f64], n: usize, values: &mut [f64]) -> bool {
    const ITERATIONS: usize = 10_000;
    let dense = DMatrix::from_column_slice(n, n, matrix);
    let Some(eigen) = SymmetricEigen::try_new(dense, f64::EPSILON, ITERATIONS) else { return false };
    if !eigen.eigenvalues.iter().chain(&eigen.eigenvectors).all(|v| v.is_finite()) {
        return false;
    }
    values.copy_from_slice(eigen.eigenvalues.as_slice());
    matrix.copy_from_slice(eigen.eigenvectors.as_slice());
    true
}

/// Cyclic Jacobi: every off-diagonal entry is rotated away in turn until all are negligible.
#[inline(always)]
fn jacobi(matrix: &mut [f64], n: usize, values: &mut [f64], scratch: &mut Vec<f64>) {
    let a = first(scratch, n * n);
    a.copy_from_slice(&matrix[..n * n]);
    matrix.iter_mut().enumerate().for_each(|(i, v)| *v = f64::from(i % (n + 1) == 0));
    for _ in 0..SWEEPS {
        let mut rotated = false;
        for i in 0..n {
            for j in i + 1..n {
                let (diagonal_i, off, diagonal_j) = (a[i * n + i], a[i * n + j], a[j * n + j]);
                if off * off <= NEGLIGIBLE * (diagonal_i * diagonal_j).abs() {
                    continue;
                }
                rotated = true;
                let (c, s) = jacobi_rotation(diagonal_i, off, diagonal_j);
                rotate_both_sides(a, n, i, j, c, s);
                for row in 0..n {
                    let (x, y) = (matrix[i * n + row], matrix[j * n + row]);
                    matrix[i * n + row] = c * x - s * y;
                    matrix[j * n + row] = s * x + c * y;
                }
            }
        }
        if !rotated {
            break;
        }
    }
    for i in 0..n {
        values[i] = a[i * n + i];
    }
}

/// a <- J' a J for the rotation J of rows and columns i and j.
#[inline(always)]
fn rotate_both_sides(a: &mut [f64], n: usize, i: usize, j: usize, c: f64, s: f64) {
    for other in 0..n {
        let (x, y) = (a[i * n + other], a[j * n + other]);
        a[i * n + other] = c * x - s * y;
        a[j * n + other] = s * x + c * y;
    }
    for other in 0..n {
        let (x, y) = (a[other * n + i], a[other * n + j]);
        a[other * n + i] = c * x - s * y;
        a[other * n + j] = s * x + c * y;
    }
    a[i * n + j] = 0.0;
    a[j * n + i] = 0.0;
}

/// Selection sort of the pairs: sizes are small, and nothing needs to be allocated.
#[inline(always)]
fn sort_down(vectors: &mut [f64], n: usize, values: &mut [f64]) {
    for i in 0..n {
        let top = (i + 1..n).fold(i, |top, j| if values[j] > values[top] { j } else { top });
        if top != i {
            values.swap(i, top);
            (0..n).for_each(|row| vectors.swap(i * n + row, top * n + row));
        }
    }
}
