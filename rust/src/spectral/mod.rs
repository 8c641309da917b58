//! The normalised family (Goldberg, Zakai, Kushnir & Ritov, *The price of normalization*, section 2): what LLE, MLLE,
//! LTSA, HLLE, LEM and DFM know of every neighbourhood, and the matrix they make of it.
//!
//! All minimise Phi(Y) = sum |W_i Y_i|^2 (eq. 2) over embeddings of unit covariance and differ in their W_i only.

mod dfm;
mod hlle;
mod lem;
mod lle;
mod ltsa;
mod matrix;
mod mlle;
mod weights;

pub use dfm::{DfmParams, dfm};
pub use hlle::{HlleParams, hlle};
pub use lem::{Kernel, lem};
pub use lle::{Barycenter, LleParams, lle};
pub use ltsa::{LtsaParams, ltsa};
pub use matrix::Csr;
pub use mlle::{MlleParams, mlle};
pub use weights::LocalWeights;
