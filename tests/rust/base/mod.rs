//! Tests of what every room stands on.

mod monitor;
mod parallel;
mod points;
mod union_find;
