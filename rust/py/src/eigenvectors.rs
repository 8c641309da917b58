//! `unbend::spectral::smallest_eigenvectors` for Python.

use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use unbend::Monitor;
use unbend::spectral::{self, EigenParams, Null, Solver, Sparse};

use crate::run::{Progress, run_reporting};

/// The smallest eigenvalues and their vectors of a matrix by its rows.
#[pyfunction]
#[pyo3(signature = (indptr, indices, data, n_vectors, constants, labels, degrees, memory, seed, n_jobs, progress=None))]
pub fn smallest_eigenvectors<'py>(
    py: Python<'py>,
    indptr: PyReadonlyArray1<'py, i64>,
    indices: PyReadonlyArray1<'py, u32>,
    data: PyReadonlyArray1<'py, f64>,
    n_vectors: usize,
    constants: bool,
    labels: Option<PyReadonlyArray1<'py, u32>>,
    degrees: Option<PyReadonlyArray1<'py, f64>>,
    memory: Option<usize>,
    seed: u64,
    n_jobs: usize,
    progress: Progress,
) -> PyResult<Bound<'py, PyDict>> {
    // a negative place is out of range as a huge one, too
    let indptr: Vec<usize> = indptr.as_slice()?.iter().map(|&p| p as usize).collect();
    let (indices, data) = (indices.as_slice()?, data.as_slice()?);
    let labels = labels.as_ref().map(|l| l.as_slice()).transpose()?;
    let degrees = degrees.as_ref().map(|d| d.as_slice()).transpose()?;
    let null = labels.map_or(if constants { Null::Constants } else { Null::Nothing }, Null::Labels);
    let params = EigenParams { n_vectors, memory: memory.unwrap_or(usize::MAX), seed };
    let found = run_reporting(py, n_jobs, progress, |m: &dyn Monitor| {
        spectral::smallest_eigenvectors(&Sparse::new(&indptr, indices, data)?, null, degrees, &params, m)
    })?;
    let solver = match found.solver {
        Solver::Dense => "dense",
        Solver::Factor => "factor",
        Solver::Polynomial => "polynomial",
    };
    let out = PyDict::new(py);
    out.set_item("vectors", found.vectors.into_pyarray(py))?;
    out.set_item("values", found.values.into_pyarray(py))?;
    out.set_item("residuals", found.residuals.into_pyarray(py))?;
    out.set_item("norm", found.norm)?;
    out.set_item("solver", solver)?;
    out.set_item("factor_entries", found.factor_entries)?;
    out.set_item("factor_bytes", found.factor_bytes)?;
    out.set_item("shift", found.shift)?;
    out.set_item("steps", found.steps)?;
    out.set_item("converged", found.converged)?;
    Ok(out)
}
