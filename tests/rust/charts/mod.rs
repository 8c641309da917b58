//! Tests of charts.

mod atlas;
mod clean;
mod dimension;
mod net;
mod patches;
