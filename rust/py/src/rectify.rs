//! `unbend::embed::rectify` for Python.

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use unbend::Monitor;
use unbend::embed;

use crate::array::{Graph, Matrix, points};
use crate::run::run;

/// (the d x d matrix, flat, the number of steps).
#[pyfunction]
pub fn rectify<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    y: Matrix<'py>,
    graph: Graph<'py>,
    n_jobs: usize,
) -> PyResult<(Bound<'py, PyArray1<f64>>, usize)> {
    let (x, y, graph) = (x.values(), y.values(), graph.neighborhoods()?);
    let found = run(py, n_jobs, |m: &dyn Monitor| {
        embed::rectify(&points("X", x, m)?, &points("Y", y, m)?, &graph, m)
    })?;
    Ok((found.matrix.into_pyarray(py), found.steps))
}
