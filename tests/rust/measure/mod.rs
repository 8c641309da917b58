//! Tests of measure.

mod agreement;
mod asim;
mod faithfulness;
mod geodesic;
mod overlap;
mod ranks;
mod shepard;
mod skeleton;
