//! Embeddings that show every neighbourhood moved and rotated, not stretched.

mod frontier;
mod greedy;
mod refine;

pub use greedy::{Greedy, GreedyParams, Trace, greedy};
pub use refine::{Frames, Objective, Refiner};
