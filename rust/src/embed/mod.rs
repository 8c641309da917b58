//! Embeddings that show every neighbourhood moved and rotated, not stretched, and what follows from one.

pub mod align;
mod assemble;
mod carry;
pub mod cut;
mod extend;
mod frontier;
mod greedy;
pub mod isomap;
mod layout;
mod multigrid;
mod rectify;
mod refine;

pub use assemble::{frames_of, place};
pub use carry::{Carried, carry};
pub use extend::extend;
pub use greedy::{Greedy, GreedyParams, Trace, greedy};
pub use layout::lay_out;
pub use multigrid::Multigrid;
pub use rectify::{Rectified, rectify};
pub use refine::{Frames, Objective, Refiner, centred};
