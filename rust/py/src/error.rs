//! Core errors as Python exceptions.

use pyo3::PyErr;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyValueError};
use unbend::Error;

/// Bad input is a `ValueError` with the numbers in it; a stop is a `KeyboardInterrupt`.
pub fn to_python(error: Error) -> PyErr {
    match error {
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        Error::OutOfMemory { .. } => PyMemoryError::new_err(error.to_string()),
        bad_input => PyValueError::new_err(bad_input.to_string()),
    }
}
