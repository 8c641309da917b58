//! Cutting data that cannot lie flat: a cylinder, a torus, a sphere, a Moebius strip, a scanned body.
//!
//! [`Unroller::unroll`] lays points down along shortest paths from a root. Where the data close on themselves,
//! neighbors end far apart: such a pair is [`torn`]. Neighborhoods without torn members, [`restricted`], form a sheet
//! on which eq. 11 is solved; then pairs are judged again, so a cut can heal or grow. [`seams`] pairs the two sides of
//! a cut, and [`shape`] counts the loops and voids of the surface.

mod cells;
mod seams;
mod shape;
mod torn;
mod unroll;

pub use seams::{Seam, seams};
pub use shape::{Shape, persistent, shape};
pub(super) use torn::check_entries;
pub use torn::{marked, mend, nearer, restricted, spacing, torn};
pub use unroll::{MAX_ROOTS, Unrolled, Unroller};

const STAGE: &str = "cut";
