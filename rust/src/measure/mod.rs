//! How faithful an embedding is.

mod procrustes;
mod quad;

pub use procrustes::{Faithfulness, FaithfulnessParams, PerPoint, faithfulness, lower_bound};
