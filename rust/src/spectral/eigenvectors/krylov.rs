//! The largest eigenvalues of a symmetric operator from a block Krylov space (Golub & Underwood 1977), with full
//! orthogonalization: nothing is lost, and a few steps suffice where the operator is an inverse.

use super::block::{Block, Square, add_square, combine, gram, orthonormalize, project};
use crate::error::Result;
use crate::linalg::symmetric_eigen;
use crate::monitor::Monitor;
use crate::spectral::factor::SIDES;

/// A judge of values and their residuals.
type Enough<'k> = &'k dyn Fn(&[(f64, f64)]) -> bool;

/// Requirements of a space.
pub struct Krylov<'k> {
    /// The operator, in place. It must not leave the space that is searched.
    pub apply: &'k dyn Fn(&mut Block) -> Result<()>,
    /// Judges (value, residual) of the largest eigenvalues, in descending order.
    pub enough: Enough<'k>,
    /// Minimum number of vectors to return.
    pub keep: usize,
    /// Maximum number of applications of the operator.
    pub steps: usize,
}

/// Eigenvectors that were found.
pub struct Found {
    /// Orthonormal; from the largest value down.
    pub vectors: Vec<Block>,
    /// Their values and residuals, and those of the rest of the space.
    pub pairs: Vec<(f64, f64)>,
    /// Number of applications of the operator.
    pub steps: usize,
    /// True if the requirements are met.
    pub enough: bool,
}

impl Krylov<'_> {
    /// Runs from `start`.
    pub fn run(&self, start: Block, monitor: &dyn Monitor) -> Result<Found> {
        let mut basis = vec![start];
        orthonormalize(&mut basis[0]);
        orthonormalize(&mut basis[0]);
        let mut columns = Vec::new();
        loop {
            monitor.check()?;
            let mut next = basis[basis.len() - 1].clone();
            (self.apply)(&mut next)?;
            let mut shares = project(&mut next, &basis);
            for (share, correction) in shares.iter_mut().zip(project(&mut next, &basis)) {
                add_square(share, &correction);
            }
            columns.push(shares);
            let rest = gram(&next, &next);
            let (values, vectors) = ritz(&columns);
            let size = values.len();
            let pairs: Vec<(f64, f64)> = (0..size)
                .map(|c| (values[c], length(&rest, &vectors[(c + 1) * size - SIDES..(c + 1) * size])))
                .collect();
            let enough = (self.enough)(&pairs);
            monitor.progress("eigenvectors", basis.len().min(self.steps), self.steps);
            let blocks = self.keep.div_ceil(SIDES);
            if basis.len() >= blocks && (enough || basis.len() >= self.steps) {
                let vectors = (0..blocks).map(|b| combine(&basis, &vectors, b * SIDES)).collect();
                return Ok(Found { vectors, pairs, steps: basis.len(), enough });
            }
            orthonormalize(&mut next);
            project(&mut next, &basis);
            orthonormalize(&mut next);
            basis.push(next);
        }
    }
}

/// Eigenvalues and eigenvectors of the operator on the space, from the largest down.
fn ritz(columns: &[Vec<Square>]) -> (Vec<f64>, Vec<f64>) {
    let size = columns.len() * SIDES;
    let mut matrix = vec![0.0; size * size];
    for (j, column) in columns.iter().enumerate() {
        for (i, square) in column.iter().enumerate() {
            for r in 0..SIDES {
                for c in 0..SIDES {
                    let value = if i == j { 0.5 * (square[r][c] + square[c][r]) } else { square[r][c] };
                    matrix[(j * SIDES + c) * size + i * SIDES + r] = value;
                    matrix[(i * SIDES + r) * size + j * SIDES + c] = value;
                }
            }
        }
    }
    let mut values = vec![0.0; size];
    symmetric_eigen(&mut matrix, size, &mut values, &mut Vec::new());
    (values, matrix)
}

fn length(product: &Square, by: &[f64]) -> f64 {
    let mut sum = 0.0;
    for i in 0..SIDES {
        for j in 0..SIDES {
            sum += by[i] * product[i][j] * by[j];
        }
    }
    sum.max(0.0).sqrt()
}
