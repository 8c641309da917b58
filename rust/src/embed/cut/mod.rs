//! Cutting what cannot lie flat: a cylinder, a torus, a sphere, a Moebius strip, a scanned body.
//!
//! Points are laid down along shortest paths from a root, [`Terrain::unroll`]. Where the data close on themselves
//! neighbours end far apart: such a pair is [`torn`]. Neighbourhoods without their torn members, [`restricted`], are
//! those of a sheet, on which frames and eq. 11 are solved as on any other data; then pairs are judged anew, so that a
//! cut can heal or grow. What lies where along the cut say [`seams`]; what kind of surface it is follows from them, from
//! where the data end ([`rim`]), and from the holes of the sheet ([`holes`]).

mod cells;
mod holes;
mod rim;
mod seams;
mod torn;
mod unroll;

pub use holes::holes;
pub use rim::rim;
pub use seams::{Seam, Seams, seams};
pub use torn::{marked, mend, restricted, spacing, torn};
pub use unroll::{Terrain, Unrolled};

const STAGE: &str = "cut";
