//! Cutting what cannot lie flat: a cylinder, a torus, a sphere, a Moebius strip, a scanned body.
//!
//! Points are laid down along shortest paths from a root, [`Unroller::unroll`]. Where the data close on themselves
//! neighbours end far apart: such a pair is [`torn`]. Neighbourhoods without their torn members, [`restricted`], are
//! those of a sheet, on which frames and eq. 11 are solved as on any other data; then pairs are judged anew, so that a
//! cut can heal or grow. What lies where along the cut say [`seams`]; what kind of surface it is tells its
//! [`shape`] from far.

mod cells;
mod seams;
mod shape;
mod torn;
mod unroll;

pub use seams::{Seam, seams};
pub use shape::{Shape, persistent, shape};
pub use torn::{marked, mend, restricted, spacing, torn};
pub use unroll::{Unrolled, Unroller};

const STAGE: &str = "cut";
