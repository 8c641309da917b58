//! Modules that every other room may use: errors, monitors, parallel loops, random streams, points and containers.
//!
//! The crate root re-exports them as `crate::error`, `crate::points` and so on.

pub mod csr;
pub mod error;
pub mod monitor;
pub mod parallel;
pub mod points;
pub mod rng;
pub mod union_find;
