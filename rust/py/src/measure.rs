//! `unbend::measure` for Python.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadwriteArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use unbend::Monitor;
use unbend::measure::{self, AsimParams, FaithfulnessParams, Means, Normalization, OverlapParams};

use crate::array::{Graph, Matrix, points};
use crate::run::{Progress, run_reporting};

/// A dict of the means. The numbers of each neighbourhood go to `per_point`, a row for each field.
#[pyfunction]
#[pyo3(signature = (x, y, graph, include_self, centers, per_point, n_jobs, progress=None))]
pub fn faithfulness<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    y: Matrix<'py>,
    graph: Graph<'py>,
    include_self: bool,
    centers: Option<PyReadonlyArray1<'py, u32>>,
    mut per_point: PyReadwriteArray2<'py, f64>,
    n_jobs: usize,
    progress: Progress,
) -> PyResult<Bound<'py, PyDict>> {
    let (x, y, neighborhoods) = (x.values(), y.values(), graph.neighborhoods()?);
    let centers = centers.as_ref().map(|c| c.as_slice()).transpose()?;
    let (params, flat) = (FaithfulnessParams { include_self, centers }, per_point.as_slice_mut()?);
    let work = |m: &dyn Monitor| {
        measure::faithfulness_into(&points("X", x, m)?, &points("Y", y, m)?, &neighborhoods, params, flat, m)
    };
    to_dict(py, &run_reporting(py, n_jobs, progress, work)?)
}

fn to_dict<'py>(py: Python<'py>, m: &Means) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in [
        ("r", m.r),
        ("r_n", m.r_n),
        ("r_c", m.r_c),
        ("r_pca", m.r_pca),
        ("lower_bound", m.lower_bound),
        ("scale", m.scale),
        ("r_n_scaled", m.r_n_scaled),
    ] {
        dict.set_item(name, value)?;
    }
    dict.set_item("n_degenerate", m.n_degenerate)?;
    Ok(dict)
}

/// The bound of each neighbourhood measured.
#[pyfunction]
#[pyo3(signature = (x, n_components, graph, include_self, centers, n_jobs, progress=None))]
pub fn lower_bound<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    n_components: usize,
    graph: Graph<'py>,
    include_self: bool,
    centers: Option<PyReadonlyArray1<'py, u32>>,
    n_jobs: usize,
    progress: Progress,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (x, neighborhoods) = (x.values(), graph.neighborhoods()?);
    let centers = centers.as_ref().map(|c| c.as_slice()).transpose()?;
    let params = FaithfulnessParams { include_self, centers };
    let work =
        |m: &dyn Monitor| measure::lower_bound(&points("X", x, m)?, n_components, &neighborhoods, params, m);
    Ok(run_reporting(py, n_jobs, progress, work)?.into_pyarray(py))
}

/// For each point looked at, the share of its nearest embedded points that are distant in the graph.
#[pyfunction]
#[pyo3(signature = (y, graph, steps, centers, n_jobs, progress=None))]
pub fn overlap<'py>(
    py: Python<'py>,
    y: Matrix<'py>,
    graph: Graph<'py>,
    steps: usize,
    centers: Option<PyReadonlyArray1<'py, u32>>,
    n_jobs: usize,
    progress: Progress,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (y, neighborhoods) = (y.values(), graph.neighborhoods()?);
    let centers = centers.as_ref().map(|c| c.as_slice()).transpose()?;
    let params = OverlapParams { steps, centers };
    let work = |m: &dyn Monitor| measure::overlap(&points("Y", y, m)?, &neighborhoods, params, m);
    Ok(run_reporting(py, n_jobs, progress, work)?.into_pyarray(py))
}

fn normalization(name: &str) -> PyResult<Normalization> {
    match name {
        "centered" => Ok(Normalization::Centered),
        "paper" => Ok(Normalization::Paper),
        _ => Err(PyValueError::new_err(format!("normalization must be 'centered' or 'paper', got '{name}'"))),
    }
}

/// ASIM of two sets of points.
#[pyfunction]
#[pyo3(signature = (x, y, normalized, n_jobs, progress=None))]
pub fn asim<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    y: Matrix<'py>,
    normalized: &str,
    n_jobs: usize,
    progress: Progress,
) -> PyResult<f64> {
    let (x, y, by) = (x.values(), y.values(), normalization(normalized)?);
    let work = |m: &dyn Monitor| measure::asim(&points("X", x, m)?, &points("Y", y, m)?, by);
    run_reporting(py, n_jobs, progress, work)
}

/// ASIM of each neighbourhood measured.
#[pyfunction]
#[pyo3(signature = (x, y, graph, include_self, normalized, centers, n_jobs, progress=None))]
pub fn asim_all<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    y: Matrix<'py>,
    graph: Graph<'py>,
    include_self: bool,
    normalized: &str,
    centers: Option<PyReadonlyArray1<'py, u32>>,
    n_jobs: usize,
    progress: Progress,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (x, y, neighborhoods) = (x.values(), y.values(), graph.neighborhoods()?);
    let centers = centers.as_ref().map(|c| c.as_slice()).transpose()?;
    let params = AsimParams { include_self, normalization: normalization(normalized)?, centers };
    let work = |m: &dyn Monitor| {
        measure::asim_all(&points("X", x, m)?, &points("Y", y, m)?, &neighborhoods, params, m)
    };
    Ok(run_reporting(py, n_jobs, progress, work)?.into_pyarray(py))
}
