//! The smallest eigenvalues, with eigenvectors, of a positive semidefinite sparse matrix M with a known null space.
//!
//! They come from the space of a few inverses, (M + shift)^-1 on the complement of the null space. The shift is a
//! tiny share of |M|, because M may have more null vectors than are known: the alignment matrix of exactly flat data
//! has d. Rayleigh-Ritz with M itself then separates the eigenvectors and gives their residuals. Where the factor would
//! not fit, for data of many dimensions, the space is that of a polynomial of M, which is large for small eigenvalues
//! only (Zhou & Saad 2007).
//!
//! M y = lambda D y with a diagonal D is solved as D^-1/2 M D^-1/2. Cost: `Plan::products`, then about ten solves with
//! eight right-hand sides each.

mod block;
mod goal;
mod krylov;
mod null_space;
mod task;

pub use null_space::Null;

use ndarray::{Array2, Axis};
use rayon::prelude::*;

use self::null_space::Kernel;
use self::task::Task;
use super::factor::SIDES;
use super::{check_len, check_range};
use crate::csr::CsrView;
use crate::error::Result;
use crate::monitor::Monitor;

const DENSE: usize = 200; // Up to this many rows, a dense solver is as fast.

/// The eigenvectors wanted, and the memory allowed.
#[derive(Debug, Clone, Copy)]
pub struct EigenParams {
    /// Number of eigenvectors, not counting the known null space; at least 1.
    pub n_vectors: usize,
    /// Maximum number of bytes for the factorization. Above it, polynomials of the matrix are used.
    pub memory: usize,
    /// Seed of the start vectors. It changes only the last bits of the result.
    pub seed: u64,
}

impl Default for EigenParams {
    fn default() -> Self {
        EigenParams { n_vectors: 2, memory: usize::MAX, seed: 0 }
    }
}

/// The method that found the eigenvectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Solver {
    /// A dense solver.
    Dense,
    /// A Cholesky factor of the shifted matrix.
    Factor,
    /// Polynomials of the matrix.
    Polynomial,
}

/// The smallest eigenvalues outside the null space, and their vectors.
#[derive(Debug)]
pub struct Spectrum {
    /// One eigenvector per column, with y' D y = 1 and a positive largest entry.
    pub vectors: Array2<f64>,
    /// Eigenvalues in ascending order: one more than vectors, if there is one.
    pub values: Vec<f64>,
    /// |M y - lambda y| for each eigenvalue and its unit vector (D^1/2 y with degrees D).
    pub residuals: Vec<f64>,
    /// The largest sum of absolute entries in a row. No eigenvalue is larger.
    pub norm: f64,
    /// The method that was used.
    pub solver: Solver,
    /// Number of entries of the factor, made or not.
    pub factor_entries: usize,
    /// Maximum number of bytes that the factorization needs on one thread.
    pub factor_bytes: usize,
    /// Number added to the diagonal, as a share of the norm.
    pub shift: f64,
    /// Number of solves, or products with the matrix, with eight vectors each.
    pub steps: usize,
    /// True if all residuals are within the tolerance.
    pub converged: bool,
}

/// The smallest eigenvalues of a symmetric, positive semidefinite sparse matrix outside its known null space; with
/// `degrees` D, those of M y = lambda D y. Fails for any other matrix, or if labels, degrees or `n_vectors` do not fit.
pub fn smallest_eigenvectors(
    matrix: &CsrView<'_, f64>,
    null: Null<'_>,
    degrees: Option<&[f64]>,
    params: &EigenParams,
    monitor: &dyn Monitor,
) -> Result<Spectrum> {
    let n = matrix.len();
    check(n, null, degrees, params)?;
    let roots: Option<Vec<f64>> = degrees.map(|d| d.iter().map(|d| d.sqrt()).collect());
    let values = roots.as_deref().map(|roots| scaled(matrix, roots));
    let matrix = CsrView { values: values.as_deref().unwrap_or(matrix.values), ..*matrix };
    let kernel = Kernel::new(n, null, roots.as_deref());
    let free = n - kernel.dimension();
    let needed = "no more than there are dimensions outside the null space";
    check_range("n_vectors", params.n_vectors as f64, params.n_vectors <= free, needed)?;
    let task = Task {
        matrix,
        kernel,
        norm: matrix.norm(),
        wanted: params.n_vectors,
        asked: (params.n_vectors + 1).min(free),
        monitor,
    };
    task.check_symmetry(params.seed)?;
    let mut found =
        if n <= DENSE.max(2 * (params.n_vectors + SIDES)) { task.dense()? } else { task.sparse(params)? };
    if let Some(roots) = &roots {
        found.vectors.axis_iter_mut(Axis(0)).zip(roots).for_each(|(mut row, root)| row /= *root);
    }
    found.vectors.axis_iter_mut(Axis(1)).for_each(|mut column| {
        let largest = column.iter().fold(0.0, |l: f64, &v| if v.abs() > l.abs() { v } else { l });
        if largest < 0.0 {
            column.mapv_inplace(|v| -v);
        }
    });
    Ok(found)
}

fn check(n: usize, null: Null<'_>, degrees: Option<&[f64]>, params: &EigenParams) -> Result<()> {
    check_range("n_vectors", params.n_vectors as f64, params.n_vectors > 0, "at least 1")?;
    if let Null::Labels(labels) = null {
        check_len("labels", labels.len(), "matrix", n)?;
        let largest = labels.iter().find(|&&label| label as usize >= n);
        let needed = "labels are 0, 1, 2, ..., fewer than there are points";
        largest.map_or(Ok(()), |&label| check_range("label", label.into(), false, needed))?;
    }
    if let Some(degrees) = degrees {
        check_len("degrees", degrees.len(), "matrix", n)?;
        let wrong = degrees.iter().find(|d| !(**d > 0.0 && d.is_finite()));
        let needed = "every degree must be positive and finite";
        wrong.map_or(Ok(()), |&degree| check_range("degree", degree, false, needed))?;
    }
    Ok(())
}

fn scaled(matrix: &CsrView<'_, f64>, roots: &[f64]) -> Vec<f64> {
    let rows: Vec<Vec<f64>> = (0..matrix.len())
        .into_par_iter()
        .map(|i| matrix.row(i).map(|(j, v)| v / (roots[i] * roots[j])).collect())
        .collect();
    rows.concat()
}
