//! The one place that lets go of the interpreter, looks for Ctrl-C and reports progress.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use pyo3::create_exception;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use unbend::{Monitor, Result};

use crate::error::to_python;

create_exception!(_core, Stopped, PyRuntimeError, "A callback asked to stop before there was a result.");

/// How long a Ctrl-C can wait before it is seen, and how often progress is reported.
const POLL: Duration = Duration::from_millis(20);

/// A callable that takes (stage, done, total) and returns true to stop; or nothing.
pub type Progress = Option<Py<PyAny>>;

/// Passes a request to stop from the waiting thread to the workers, and how far they are back.
struct Watch {
    stop: AtomicBool,
    latest: Mutex<Option<(&'static str, usize, usize)>>,
}

impl Monitor for Watch {
    fn stop_requested(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn progress(&self, stage: &'static str, done: usize, total: usize) {
        // Whoever finds it taken has nothing newer to say.
        if let Ok(mut latest) = self.latest.try_lock() {
            let further = latest.is_none_or(|(known, before, _)| known != stage || before < done);
            if further {
                *latest = Some((stage, done, total));
            }
        }
    }
}

/// Runs `work` on `n_jobs` threads (0: all) while the calling thread waits without the interpreter,
/// waking only to ask Python for signals. A panic of the core becomes a `RuntimeError`.
pub fn run<T: Send>(
    py: Python<'_>,
    n_jobs: usize,
    work: impl FnOnce(&dyn Monitor) -> Result<T> + Send,
) -> PyResult<T> {
    run_reporting(py, n_jobs, None, work)
}

/// The same, with progress passed on.
pub fn run_reporting<T: Send>(
    py: Python<'_>,
    n_jobs: usize,
    progress: Progress,
    work: impl FnOnce(&dyn Monitor) -> Result<T> + Send,
) -> PyResult<T> {
    run_on(py, pool(n_jobs)?.as_ref(), progress, work)
}

/// The same on threads that wait already.
pub fn run_on<T: Send>(
    py: Python<'_>,
    pool: Option<&rayon::ThreadPool>,
    progress: Progress,
    work: impl FnOnce(&dyn Monitor) -> Result<T> + Send,
) -> PyResult<T> {
    let watch = Watch { stop: AtomicBool::new(false), latest: Mutex::new(None) };
    let (interruption, outcome) = py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, receiver) = sync_channel::<()>(1);
            let worker = scope.spawn(|| {
                let _finished = sender; // dropped when the work ends, however it ends
                match pool {
                    Some(pool) => pool.install(|| work(&watch)),
                    None => work(&watch),
                }
            });
            let mut interruption = Ok(());
            while receiver.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
                if interruption.is_ok() {
                    interruption = Python::attach(|py| look_up(py, &watch, &progress));
                    watch.stop.store(interruption.is_err(), Ordering::Relaxed);
                }
            }
            (interruption, worker.join())
        })
    });
    interruption?;
    match outcome {
        Ok(result) => result.map_err(to_python),
        Err(_) => Err(PyRuntimeError::new_err("the core broke one of its own rules: please report this")),
    }
}

/// Signals first, then the callback; an error of either stops the work.
fn look_up(py: Python<'_>, watch: &Watch, progress: &Progress) -> PyResult<()> {
    py.check_signals()?;
    let Some(progress) = progress else { return Ok(()) };
    let latest = watch.latest.lock().ok().and_then(|mut latest| latest.take());
    let Some((stage, done, total)) = latest else { return Ok(()) };
    match progress.bind(py).call1((stage, done, total))?.is_truthy()? {
        true => Err(Stopped::new_err(format!("stopped by the callback: {stage}, {done} of {total}"))),
        false => Ok(()),
    }
}

/// A pool of its own for any number of threads but 0, which stands for the pool of all.
pub fn pool(n_jobs: usize) -> PyResult<Option<rayon::ThreadPool>> {
    if n_jobs == 0 {
        return Ok(None);
    }
    rayon::ThreadPoolBuilder::new()
        .num_threads(n_jobs)
        .build()
        .map(Some)
        .map_err(|error| PyRuntimeError::new_err(format!("cannot start {n_jobs} threads: {error}")))
}
