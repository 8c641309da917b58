//! Tests of charts.

mod atlas;
mod dimension;
mod net;
