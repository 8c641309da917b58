//! How faithful an embedding is.

mod group;
mod procrustes;

pub use procrustes::{
    Faithfulness, FaithfulnessParams, Means, PerPoint, PerPoints, faithfulness, faithfulness_into,
    lower_bound,
};
