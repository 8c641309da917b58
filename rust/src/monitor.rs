//! How a long computation is watched and stopped from outside.
//!
//! The core knows no clock, terminal or interpreter. It calls [`Monitor::check`] every few
//! milliseconds of work, from any thread; whoever started the computation decides what that means.

use crate::error::{Error, Result};

/// Watches a computation. Calls come from several threads at once.
pub trait Monitor: Sync {
    /// Whether the computation should give up. Asked often, so it must be cheap.
    fn stop_requested(&self) -> bool {
        false
    }

    /// `done` of `total` pieces of `stage` are finished.
    fn progress(&self, _stage: &'static str, _done: usize, _total: usize) {}

    /// [`Error::Interrupted`] once a stop has been requested.
    fn check(&self) -> Result<()> {
        if self.stop_requested() { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// Never stops anything and reports nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unmonitored;

impl Monitor for Unmonitored {}

/// Passes on when to stop, but no reports: for what is not worth a stage of its own.
pub(crate) struct Silent<'m>(pub &'m dyn Monitor);

impl Monitor for Silent<'_> {
    fn stop_requested(&self) -> bool {
        self.0.stop_requested()
    }
}
