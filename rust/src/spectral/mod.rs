//! The eigenvectors that the normalised family embeds by (LLE, MLLE, LTSA, HLLE, Laplacian eigenmaps, diffusion maps).
//!
//! | file | what |
//! |---|---|
//! | `sparse` | a symmetric matrix in the caller's memory |
//! | `order` | nested dissection of its graph |
//! | `factor` | its Cholesky factor |
//! | `krylov` | block Krylov spaces of an operator |
//! | `bottom` | its smallest eigenvalues, by what suits it |

mod block;
mod bottom;
mod factor;
mod krylov;
mod order;
mod sparse;

pub use bottom::{Bottom, Null, Solver, Spectrum, bottom};
pub use factor::{Factor, Failure, Plan, Row, SIDES};
pub use order::{Dissection, Part, dissect};
pub use sparse::Sparse;
