//! Runs the core: this file alone releases the interpreter, checks for Ctrl-C, reports progress, and turns errors and
//! panics of the core into exceptions.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rayon::ThreadPool;
use unbend::{Error, Monitor, Result, Unmonitored};

create_exception!(_core, Stopped, PyRuntimeError, "A callback asked to stop before there was a result.");

/// Time between two checks for Ctrl-C, and between two reports of progress.
const POLL: Duration = Duration::from_millis(20);

/// A callable that takes (stage, done, total) and returns true to stop; or nothing.
pub type Progress = Option<Py<PyAny>>;

/// Passes a request to stop from the waiting thread to the workers, and their progress back.
struct Watch {
    stop: AtomicBool,
    latest: Mutex<Option<(&'static str, usize, usize)>>,
}

impl Monitor for Watch {
    fn stop_requested(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn progress(&self, stage: &'static str, done: usize, total: usize) {
        // If another thread holds the lock, its report is as new as this one.
        if let Ok(mut latest) = self.latest.try_lock() {
            let further = latest.is_none_or(|(known, before, _)| known != stage || before < done);
            if further {
                *latest = Some((stage, done, total));
            }
        }
    }
}

/// Runs `work` on `n_jobs` threads (0: all) and passes its progress on. The calling thread waits without the
/// interpreter and wakes only to check for signals. A panic of the core becomes a `RuntimeError`.
pub fn run<T: Send>(
    py: Python<'_>,
    n_jobs: usize,
    progress: Progress,
    work: impl FnOnce(&dyn Monitor) -> Result<T> + Send,
) -> PyResult<T> {
    run_on(py, pool(n_jobs)?.as_ref(), progress, work)
}

/// The same on threads that exist already.
pub fn run_on<T: Send>(
    py: Python<'_>,
    pool: Option<&ThreadPool>,
    progress: Progress,
    work: impl FnOnce(&dyn Monitor) -> Result<T> + Send,
) -> PyResult<T> {
    let watch = Watch { stop: AtomicBool::new(false), latest: Mutex::new(None) };
    let (interruption, outcome) = py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, receiver) = sync_channel::<()>(1);
            let worker = scope.spawn(|| {
                let _finished = sender; // dropped when the work ends, however it ends
                within(pool, || work(&watch))
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
    settled(outcome)
}

/// Runs work that ends within milliseconds: on the threads of a pool, without a check for signals.
pub fn run_briefly<T: Send>(
    py: Python<'_>,
    pool: Option<&ThreadPool>,
    work: impl FnOnce(&dyn Monitor) -> Result<T> + Send,
) -> PyResult<T> {
    let work = AssertUnwindSafe(|| within(pool, || work(&Unmonitored)));
    settled(py.detach(|| catch_unwind(work)))
}

fn within<T: Send>(pool: Option<&ThreadPool>, work: impl FnOnce() -> T + Send) -> T {
    match pool {
        Some(pool) => pool.install(work),
        None => work(),
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

/// Error that a panic becomes. It can occur if another thread writes to the data during a call.
const BROKEN: &str = "the core broke one of its own rules: another thread changed the data during the call, or this is \
                      a defect, please report it";

/// The result of work that may have panicked.
fn settled<T>(outcome: std::thread::Result<Result<T>>) -> PyResult<T> {
    match outcome {
        Ok(result) => result.map_err(to_python),
        Err(_) => Err(PyRuntimeError::new_err(BROKEN)),
    }
}

/// Bad input is a `ValueError` with the numbers in it; a stop is a `KeyboardInterrupt`.
pub fn to_python(error: Error) -> PyErr {
    match error {
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        Error::OutOfMemory { .. } => PyMemoryError::new_err(error.to_string()),
        bad_input => PyValueError::new_err(bad_input.to_string()),
    }
}

/// A pool of its own for any number of threads but 0, which stands for the pool of all.
pub fn pool(n_jobs: usize) -> PyResult<Option<ThreadPool>> {
    if n_jobs == 0 && !forked() {
        return Ok(None);
    }
    rayon::ThreadPoolBuilder::new()
        .num_threads(n_jobs)
        .build()
        .map(Some)
        .map_err(|error| PyRuntimeError::new_err(format!("cannot start {n_jobs} threads: {error}")))
}

/// True if this process was forked from the one that used the pool of all first. A fork has none of its threads, and
/// would wait for them forever.
fn forked() -> bool {
    static FIRST: OnceLock<u32> = OnceLock::new();
    *FIRST.get_or_init(std::process::id) != std::process::id()
}

/// The value of a cell, made on first use. Nothing is locked: if two threads make it at once, one result is kept.
pub fn made<T>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let value = make()?;
    Ok(cell.get_or_init(|| value))
}
