//! The normalized family (Goldberg, Zakai, Kushnir & Ritov, *The price of normalization*, section 2): the local weights
//! of LLE, MLLE, LTSA, HLLE, LEM and DFM, their alignment matrix, and its smallest eigenvectors.
//!
//! All minimize Phi(Y) = sum |W_i Y_i|^2 (eq. 2) over embeddings of unit covariance, and differ only in their W_i.
//!
//! | module | contents |
//! |---|---|
//! | `weights` | W_i of `lle`, `mlle`, `ltsa`, `hlle`, `lem` and `dfm` in one form, and Phi |
//! | `matrix` | the alignment matrix |
//! | `eigenvectors` | its smallest eigenvalues and their vectors |
//! | `factor` | Cholesky factor of a sparse matrix, in the order of a nested dissection |

mod eigenvectors;
mod factor;
mod matrix;
mod weights;

pub use eigenvectors::{EigenParams, Null, Solver, Spectrum, smallest_eigenvectors};
pub use factor::{Dissection, Factor, Failure, Part, Plan, Row, SIDES, dissect};
pub use weights::{
    Barycenter, DfmParams, HlleParams, Kernel, LleParams, LocalWeights, LtsaParams, MlleParams, dfm, hlle,
    lem, lle, ltsa, mlle,
};

use crate::error::{Error, Result};

fn check_len(left: &'static str, left_len: usize, right: &'static str, right_len: usize) -> Result<()> {
    if left_len == right_len {
        Ok(())
    } else {
        Err(Error::LengthMismatch { left, left_len, right, right_len })
    }
}

fn check_range(name: &'static str, value: f64, within: bool, needed: &'static str) -> Result<()> {
    if within { Ok(()) } else { Err(Error::OutOfRange { name, value, needed }) }
}
