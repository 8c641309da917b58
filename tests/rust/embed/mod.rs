//! Tests of embed.

pub mod align;
mod anneal;
mod assemble;
mod carry;
mod cut;
mod greedy;
mod isomap;
mod layout;
mod multigrid;
mod refine;
