//! Tests of neighbors.

mod approximate;
mod graph;
pub mod paths;
mod ranks;
mod search;
