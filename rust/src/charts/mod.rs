//! What a neighbourhood looks like: its points about their mean, its tangent, and how well another
//! set of points lies on it.
//!
//! `measure` and `embed` both stand on it.

mod atlas;
mod gram;
mod local;
mod procrustes;
mod tangent;

pub use atlas::{Atlas, Coordinates, Tangents};
pub use gram::Gram;
pub use local::{LANES, Local};
pub use procrustes::Alignment;
pub use tangent::{Charts, Tangent, charts};
pub(crate) use tangent::{check_components, check_lengths, members};
