//! Progress of a long computation, and how to stop it.
//!
//! The core uses no clock, terminal or interpreter. It calls [`Monitor::check`] every few milliseconds of work, from
//! any thread, and the caller's [`Monitor`] decides what happens.

use crate::error::{Error, Result};

/// Receives progress reports and can stop a computation. Several threads call it at once.
pub trait Monitor: Sync {
    /// Returns true if the computation must stop. It is called often, so it must be cheap. By default it never stops.
    fn stop_requested(&self) -> bool {
        false
    }

    /// Reports that `done` of `total` steps of `stage` are finished. By default reports are ignored.
    fn progress(&self, _stage: &'static str, _done: usize, _total: usize) {}

    /// Returns [`Error::Interrupted`] if a stop was requested.
    fn check(&self) -> Result<()> {
        if self.stop_requested() { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// A monitor that never stops a computation and ignores its reports.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unmonitored;

impl Monitor for Unmonitored {}

/// A monitor that passes on stop requests but no reports, for work that is not a stage of its own.
pub struct Silent<'m>(pub &'m dyn Monitor);

impl Monitor for Silent<'_> {
    fn stop_requested(&self) -> bool {
        self.0.stop_requested()
    }
}
