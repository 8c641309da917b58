//! Tests of spectral.

mod eigenvectors;
mod weights;
