//! Local geometry of neighborhoods: centered points, tangents by local PCA, and Procrustes alignment.
//!
//! Both `measure` and `embed` build on it.

mod atlas;
mod dimension;
mod gram;
mod local;
mod net;
mod patches;
mod plane;
mod procrustes;
mod project;
mod prune;
mod tangent;

pub(crate) use atlas::fit_tangent;
pub use atlas::{Atlas, AtlasCache, Coordinates, MAX_BASES_ENTRIES, MAX_DIM_WITH_BASES, Tangents};
pub use dimension::{spectra, spectra_of};
pub use gram::Gram;
pub(crate) use local::Abreast;
pub use local::{LANES, Local};
pub use net::{AVERAGED_TANGENTS, FULL_NET_NEIGHBORS, MAX_LISTED_NEIGHBORS, Mean, Net, tangent_scale};
pub(crate) use patches::Members;
pub use patches::{Measured, Patches, Source};
pub(crate) use plane::quantile;
pub use procrustes::Alignment;
pub(crate) use procrustes::{across, residual};
pub use project::{projected, settled};
pub use prune::{Pruned, prune};
pub use tangent::{Charts, Tangent, charts};
pub(crate) use tangent::{check_components, check_lengths, members};
