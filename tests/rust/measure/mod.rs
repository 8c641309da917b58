//! Tests of measure.

mod asim;
mod faithfulness;
mod geodesic;
mod overlap;
mod ranks;
mod shepard;
mod skeleton;
