//! What a neighbourhood looks like: its points about their mean, its tangent, and how well another
//! set of points lies on it.
//!
//! `measure` and `embed` both stand on it.

mod atlas;
mod dimension;
mod gram;
mod local;
mod net;
mod procrustes;
mod tangent;

pub(crate) use atlas::fit_tangent;
pub use atlas::{Atlas, AtlasCache, Coordinates, Tangents};
pub use dimension::{spectra, spectra_of};
pub use gram::Gram;
pub use local::{LANES, Local};
pub use net::{Mean, Net, tangent_scale};
pub use procrustes::Alignment;
pub(crate) use procrustes::{across, residual};
pub use tangent::{Charts, Tangent, charts};
pub(crate) use tangent::{check_components, check_lengths, members};
