//! How faithful an embedding is.

mod group;
mod procrustes;

pub use procrustes::{Faithfulness, FaithfulnessParams, PerPoint, faithfulness, lower_bound};
