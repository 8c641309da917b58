//! Embeds data from manifolds without stretching them, and measures how faithful any embedding is.
//!
//! An embedding is *faithful* if every neighborhood of the data appears in it moved and rotated, but not stretched
//! (Goldberg & Ritov 2009, *Local Procrustes for manifold embedding*).
//!
//! | room | contents |
//! |---|---|
//! | [`points`] | borrowed, checked arrays of points |
//! | [`neighbors`] | nearest neighbors, the neighborhood graph, shortest paths on it |
//! | [`charts`] | local PCA of every neighborhood |
//! | [`measure`] | measures of how faithful an embedding is |
//! | [`embed`] | Procrustes embeddings, refinement, cuts, Isomap, new points |
//! | [`spectral`] | local weights of LLE, MLLE, LTSA, HLLE, LEM and DFM, and their smallest eigenvectors |
//! | [`synthetic`] | data sets with true coordinates |
//! | [`linalg`] | small dense kernels |
//! | [`csr`], [`union_find`] | sparse rows and disjoint sets |
//! | [`monitor`], [`parallel`], [`rng`], [`error`] | progress and stopping, parallel loops, random streams, errors |
//!
//! Dependencies point one way: `linalg` and `neighbors`, then `charts`, then `measure`, then `embed`; `spectral` uses
//! `charts`, but neither `measure` nor `embed`. Results are bit-for-bit the same for any number of threads.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod base;
pub mod charts;
pub mod embed;
pub mod linalg;
pub mod measure;
pub mod neighbors;
pub mod spectral;
pub mod synthetic;

pub use base::{csr, error, monitor, parallel, points, rng, union_find};
pub use error::{Error, Result};
pub use monitor::{Monitor, Unmonitored};
pub use neighbors::{Found, Knn, Neighborhoods, Search};
pub use points::Points;
