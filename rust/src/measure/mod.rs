//! Measures of how faithful an embedding is. None of them depends on how the embedding was made.
//!
//! ```
//! use ndarray::array;
//! use unbend::{Points, Unmonitored, measure, neighbors};
//! let x = array![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [1.0, 2.0, 0.0]];
//! let y = array![[0.0, 0.0], [0.0, 1.0], [-2.0, 0.0], [-2.0, 1.0]]; // x turned by 90 degrees
//! let (x, y) = (Points::new("X", x.view(), &Unmonitored)?, Points::new("Y", y.view(), &Unmonitored)?);
//! let graph = neighbors::nearest(&x, 3, Default::default(), &Unmonitored)?.neighborhoods;
//! let m = measure::faithfulness(&x, &y, &graph, Default::default(), &Unmonitored)?;
//! assert!(m.means.r_n < 1e-30 && m.means.lower_bound < 1e-30);
//! assert!(measure::asim(&x, &y, Default::default())? < 1e-30);
//! assert_eq!(measure::overlap(&y, &graph, Default::default(), &Unmonitored)?, [0.0; 4]);
//! assert!(measure::geodesic(&x, &y, &graph, None, &Unmonitored)?.stress.value < 1e-15);
//! assert_eq!(measure::shepard(&x, &y, Default::default(), &Unmonitored)?.spearman.value, 1.0);
//! let params = measure::RankParams { n_neighbors: 1, ..Default::default() };
//! assert_eq!(measure::rank_tables(&x, &y, params, &Unmonitored)?.in_x, [1; 4]);
//! # Ok::<(), unbend::Error>(())
//! ```

mod agreement;
mod asim;
mod geodesic;
mod group;
mod overlap;
mod pairs;
mod procrustes;
mod ranks;
mod shepard;
mod skeleton;

pub use agreement::{Agreement, AgreementParams, agreement};
pub use asim::{AsimParams, Normalization, asim, asim_all};
pub use geodesic::{Geodesic, geodesic};
pub use overlap::{OverlapParams, overlap};
pub use pairs::Measured;
pub use procrustes::{
    FAITHFULNESS_FIELDS, Faithfulness, FaithfulnessParams, Means, PerPoint, PerPoints, faithfulness,
    faithfulness_into, lower_bound, mean_lower_bound,
};
pub use ranks::{Base, RankCurves, RankMeasure, RankParams, RankTables, coranking_matrix, rank_tables};
pub use shepard::{Shepard, ShepardParams, shepard};
pub use skeleton::{Skeleton, SkeletonParams, skeleton};
