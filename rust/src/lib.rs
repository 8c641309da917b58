//! Flatten manifolds without stretching them, and measure how faithful any embedding is.
//!
//! A *faithful* embedding shows every neighbourhood of the data moved and rotated, not stretched
//! (Goldberg & Ritov 2009, *Local Procrustes for manifold embedding*).
//!
//! | room | what |
//! |---|---|
//! | [`points`] | borrowed, checked arrays |
//! | [`neighbors`] | who is near whom |
//! | [`charts`] | what a neighbourhood looks like |
//! | [`measure`] | how faithful an embedding is |
//! | [`embed`] | embeddings, and what follows from one |
//! | [`spectral`] | the local weights of LLE, MLLE, LTSA, HLLE, LEM and DFM, and the eigenvectors they embed by |
//! | [`synthetic`] | data with true coordinates |
//! | [`linalg`] | small dense kernels |
//! | [`monitor`], [`parallel`], [`rng`], [`error`] | how computations are watched, spread, seeded and refused |
//!
//! Dependencies point one way: `linalg` and `neighbors`, then `charts`, then `measure`, then `embed`; `spectral`
//! stands on `charts` alone. Results are the same bits for any number of threads.

pub mod charts;
pub mod embed;
pub mod error;
pub mod linalg;
pub mod measure;
pub mod monitor;
pub mod neighbors;
pub mod parallel;
pub mod points;
pub mod rng;
pub mod spectral;
pub mod synthetic;

pub use error::{Error, Result};
pub use monitor::{Monitor, Unmonitored};
pub use neighbors::{Found, Knn, Neighborhoods, Search};
pub use points::Points;
