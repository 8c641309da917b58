//! How faithful an embedding is.

mod group;
mod overlap;
mod procrustes;

pub use overlap::{OverlapParams, overlap};
pub use procrustes::{
    Faithfulness, FaithfulnessParams, Means, PerPoint, PerPoints, faithfulness, faithfulness_into,
    lower_bound,
};
