//! The measures of distances, `unbend::measure::{geodesic, shepard, skeleton}`, for Python.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use unbend::Monitor;
use unbend::measure::{self, Measured, ShepardParams, SkeletonParams};

use crate::array::{Graph, Matrix, points};
use crate::run::{Progress, run_reporting};

type Numbers<'py> = Bound<'py, PyDict>;
type List<'py, T> = Bound<'py, PyArray1<T>>;

/// Each number with its standard error and units, the share of pairs that no path joins, and the stretch of each source.
#[pyfunction]
#[pyo3(signature = (x, y, graph, sources, n_jobs, progress=None))]
pub fn geodesic<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    y: Matrix<'py>,
    graph: Graph<'py>,
    sources: Option<PyReadonlyArray1<'py, u32>>,
    n_jobs: usize,
    progress: Progress,
) -> PyResult<(Numbers<'py>, f64, List<'py, f64>)> {
    let (x, y, neighborhoods) = (x.values(), y.values(), graph.neighborhoods()?);
    let sources = sources.as_ref().map(|s| s.as_slice()).transpose()?;
    let work = |m: &dyn Monitor| {
        measure::geodesic(&points("X", x, m)?, &points("Y", y, m)?, &neighborhoods, sources, m)
    };
    let found = run_reporting(py, n_jobs, progress, work)?;
    let numbers = [
        ("residual_variance", found.residual_variance),
        ("stress", found.stress),
        ("stress_scaled", found.stress_scaled),
        ("scale", found.scale),
    ];
    Ok((to_dict(py, numbers)?, found.unreachable, found.stretch.into_pyarray(py)))
}

/// Each number with its standard error and units, and how many pairs were looked at.
#[pyfunction]
#[pyo3(signature = (x, y, n_pairs, seed, n_jobs, progress=None))]
pub fn shepard<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    y: Matrix<'py>,
    n_pairs: Option<usize>,
    seed: u64,
    n_jobs: usize,
    progress: Progress,
) -> PyResult<(Numbers<'py>, usize)> {
    let (x, y, params) = (x.values(), y.values(), ShepardParams { n_pairs, seed });
    let work = |m: &dyn Monitor| measure::shepard(&points("X", x, m)?, &points("Y", y, m)?, params, m);
    let found = run_reporting(py, n_jobs, progress, work)?;
    let numbers = [
        ("spearman", found.spearman),
        ("pearson", found.pearson),
        ("stress", found.stress),
        ("stress_scaled", found.stress_scaled),
        ("scale", found.scale),
    ];
    Ok((to_dict(py, numbers)?, found.n_pairs))
}

fn to_dict<'py, const N: usize>(py: Python<'py>, numbers: [(&str, Measured); N]) -> PyResult<Numbers<'py>> {
    let dict = PyDict::new(py);
    for (name, number) in numbers {
        dict.set_item(name, (number.value, number.standard_error, number.units.into_pyarray(py)))?;
    }
    Ok(dict)
}

/// Landmarks, the most important first, the importance of all points, and the distances between landmarks in a row.
#[pyfunction]
#[pyo3(signature = (x, graph, n_landmarks, sources, n_jobs, progress=None))]
pub fn skeleton<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    graph: Graph<'py>,
    n_landmarks: usize,
    sources: Option<PyReadonlyArray1<'py, u32>>,
    n_jobs: usize,
    progress: Progress,
) -> PyResult<(List<'py, u32>, List<'py, u64>, List<'py, f64>)> {
    let (x, neighborhoods) = (x.values(), graph.neighborhoods()?);
    let sources = sources.as_ref().map(|s| s.as_slice()).transpose()?;
    let params = SkeletonParams { n_landmarks, sources };
    let work = |m: &dyn Monitor| measure::skeleton(&points("X", x, m)?, &neighborhoods, params, m);
    let found = run_reporting(py, n_jobs, progress, work)?;
    let (landmarks, importance) = (found.landmarks.into_pyarray(py), found.importance.into_pyarray(py));
    Ok((landmarks, importance, found.distances.into_pyarray(py)))
}
