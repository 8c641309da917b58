//! How faithful an embedding is.

mod asim;
mod group;
mod overlap;
mod procrustes;
mod ranks;

pub use asim::{AsimParams, Normalization, asim, asim_all};
pub use overlap::{OverlapParams, overlap};
pub use procrustes::{
    Faithfulness, FaithfulnessParams, Means, PerPoint, PerPoints, faithfulness, faithfulness_into,
    lower_bound,
};
pub use ranks::{Base, RankCurves, RankMeasure, RankParams, RankTables, coranking_matrix, rank_tables};
