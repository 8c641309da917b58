//! `unbend::charts` for Python.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use unbend::{Monitor, charts};

use crate::array::{Graph, Matrix, points};
use crate::run::{Progress, run, run_reporting};

type Flat<'py> = Bound<'py, PyArray1<f64>>;

/// Flat (bases, charts, singular values, residual fractions) of all neighbourhoods.
#[pyfunction]
#[pyo3(name = "charts", signature = (x, graph, n_components, include_self, n_jobs, progress=None))]
pub fn charts_py<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    graph: Graph<'py>,
    n_components: usize,
    include_self: bool,
    n_jobs: usize,
    progress: Progress,
) -> PyResult<(Flat<'py>, Flat<'py>, Flat<'py>, Flat<'py>)> {
    let (values, neighborhoods) = (x.values(), graph.neighborhoods()?);
    let c = run_reporting(py, n_jobs, progress, |m: &dyn Monitor| {
        charts::charts(&points("X", values, m)?, &neighborhoods, n_components, include_self, m)
    })?;
    let flat = |v: Vec<f64>| v.into_pyarray(py);
    Ok((flat(c.bases), flat(c.charts), flat(c.singular_values), flat(c.residual_fractions)))
}

/// Local variances of some points at some scales, and what is left of them; flat.
#[pyfunction]
#[pyo3(signature = (x, centers, scales, n_values, n_jobs, progress=None))]
pub fn spectra<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    centers: PyReadonlyArray1<'py, u32>,
    scales: Vec<usize>,
    n_values: usize,
    n_jobs: usize,
    progress: Progress,
) -> PyResult<Flat<'py>> {
    let (x, centers) = (x.values(), centers.as_slice()?);
    let found = run_reporting(py, n_jobs, progress, |m: &dyn Monitor| {
        charts::spectra(&points("X", x, m)?, centers, &scales, n_values, m)
    })?;
    Ok(found.into_pyarray(py))
}

/// The same of neighbourhoods that are known, flat, `size` points each.
#[pyfunction]
pub fn spectra_of<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    lists: PyReadonlyArray1<'py, u32>,
    size: usize,
    scales: Vec<usize>,
    n_values: usize,
    n_jobs: usize,
) -> PyResult<Flat<'py>> {
    let (x, lists) = (x.values(), lists.as_slice()?);
    let work = |m: &dyn Monitor| charts::spectra_of(&points("X", x, m)?, lists, size, &scales, n_values, m);
    Ok(run(py, n_jobs, work)?.into_pyarray(py))
}
