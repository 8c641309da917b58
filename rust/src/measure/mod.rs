//! How faithful an embedding is.

mod asim;
mod geodesic;
mod group;
mod overlap;
mod pairs;
mod procrustes;
mod ranks;
mod shepard;
mod skeleton;

pub use asim::{AsimParams, Normalization, asim, asim_all};
pub use geodesic::{Geodesic, geodesic};
pub use overlap::{OverlapParams, overlap};
pub use pairs::Measured;
pub use procrustes::{
    Faithfulness, FaithfulnessParams, Means, PerPoint, PerPoints, faithfulness, faithfulness_into,
    lower_bound,
};
pub use ranks::{Base, RankCurves, RankMeasure, RankParams, RankTables, coranking_matrix, rank_tables};
pub use shepard::{Shepard, ShepardParams, shepard};
pub use skeleton::{Skeleton, SkeletonParams, skeleton};
