//! The normalised family (Goldberg, Zakai, Kushnir & Ritov, *The price of normalization*, section 2): what LLE, MLLE,
//! LTSA, HLLE, LEM and DFM know of every neighbourhood, the matrix they make of it, and its smallest eigenvectors.
//!
//! All minimise Phi(Y) = sum |W_i Y_i|^2 (eq. 2) over embeddings of unit covariance and differ in their W_i only.
//!
//! | file | what |
//! |---|---|
//! | `lle`, `mlle`, `ltsa`, `hlle`, `lem`, `dfm` | W_i, an algorithm each |
//! | `weights` | their common form, and Phi |
//! | `matrix` | the alignment matrix |
//! | `eigenvectors` | its smallest eigenvalues and their vectors, by what suits it |
//! | `sparse`, `order`, `factor` | a symmetric matrix in the caller's memory, nested dissection of its graph, its Cholesky factor |
//! | `block`, `krylov` | several vectors at once, and Krylov spaces of an operator on them |

mod block;
mod dfm;
mod eigenvectors;
mod factor;
mod hlle;
mod krylov;
mod lem;
mod lle;
mod ltsa;
mod matrix;
mod mlle;
mod order;
mod sparse;
mod weights;

pub use dfm::{DfmParams, dfm};
pub use eigenvectors::{EigenParams, Null, Solver, Spectrum, smallest_eigenvectors};
pub use factor::{Factor, Failure, Plan, Row, SIDES};
pub use hlle::{HlleParams, hlle};
pub use lem::{Kernel, lem};
pub use lle::{Barycenter, LleParams, lle};
pub use ltsa::{LtsaParams, ltsa};
pub use matrix::Csr;
pub use mlle::{MlleParams, mlle};
pub use order::{Dissection, Part, dissect};
pub use sparse::Sparse;
pub use weights::LocalWeights;
