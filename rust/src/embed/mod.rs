//! Embeddings that show every neighbourhood moved and rotated, not stretched.

mod frontier;
mod greedy;

pub use greedy::{Greedy, GreedyParams, Trace, greedy};
