//! The one place that lets go of the interpreter and looks for Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use unbend::{Monitor, Result};

use crate::error::to_python;

/// How long a Ctrl-C can wait before it is seen.
const POLL: Duration = Duration::from_millis(20);

/// Passes a request to stop from the waiting thread to the workers.
struct Stop(AtomicBool);

impl Monitor for Stop {
    fn stop_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Runs `work` on `n_jobs` threads (0: all) while the calling thread waits without the interpreter,
/// waking only to ask Python for signals. A panic of the core becomes a `RuntimeError`.
pub fn run<T: Send>(
    py: Python<'_>,
    n_jobs: usize,
    work: impl FnOnce(&dyn Monitor) -> Result<T> + Send,
) -> PyResult<T> {
    let stop = Stop(AtomicBool::new(false));
    let pool = pool(n_jobs)?;
    let (signal, outcome) = py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, receiver) = sync_channel::<()>(1);
            let worker = scope.spawn(|| {
                let _finished = sender; // dropped when the work ends, however it ends
                match &pool {
                    Some(pool) => pool.install(|| work(&stop)),
                    None => work(&stop),
                }
            });
            let mut signal = Ok(());
            while receiver.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
                if signal.is_ok() {
                    signal = Python::attach(|py| py.check_signals());
                    stop.0.store(signal.is_err(), Ordering::Relaxed);
                }
            }
            (signal, worker.join())
        })
    });
    signal?;
    match outcome {
        Ok(result) => result.map_err(to_python),
        Err(_) => Err(PyRuntimeError::new_err("the core broke one of its own rules: please report this")),
    }
}

fn pool(n_jobs: usize) -> PyResult<Option<rayon::ThreadPool>> {
    if n_jobs == 0 {
        return Ok(None);
    }
    rayon::ThreadPoolBuilder::new()
        .num_threads(n_jobs)
        .build()
        .map(Some)
        .map_err(|error| PyRuntimeError::new_err(format!("cannot start {n_jobs} threads: {error}")))
}
