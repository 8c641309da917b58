//! How faithful an embedding is.

mod asim;
mod group;
mod overlap;
mod procrustes;

pub use asim::{AsimParams, Normalization, asim, asim_all};
pub use overlap::{OverlapParams, overlap};
pub use procrustes::{
    Faithfulness, FaithfulnessParams, Means, PerPoint, PerPoints, faithfulness, faithfulness_into,
    lower_bound,
};
