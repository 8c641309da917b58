//! `unbend::embed::cut` for Python.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use unbend::Monitor;
use unbend::embed::cut::{self, Seam, Unroller};

use crate::align::Alignment;
use crate::array::{Graph, Matrix, points};
use crate::error::to_python;
use crate::run::{Progress, run, run_reporting};

type Indices<'py> = Bound<'py, PyArray1<u32>>;
type Flags<'py> = Bound<'py, PyArray1<bool>>;

/// Points laid down along shortest paths: flat, with how many were forced and the roots.
#[pyfunction]
#[pyo3(signature = (alignment, x, graph, tau, progress=None))]
pub fn unroll<'py>(
    py: Python<'py>,
    alignment: &Bound<'py, Alignment>,
    x: Matrix<'py>,
    graph: Graph<'py>,
    tau: f64,
    progress: Progress,
) -> PyResult<(Bound<'py, PyArray1<f64>>, usize, Indices<'py>)> {
    let (x, graph, alignment) = (x.values(), graph.neighborhoods()?, alignment.get());
    let unrolled = run_reporting(py, alignment.n_jobs, progress, |m: &dyn Monitor| {
        let x = points("X", x, m)?;
        let atlas = alignment.atlas(&x, &graph)?;
        Unroller::new(&alignment.connection, &atlas, m)?.unroll(tau, m)
    })?;
    Ok((unrolled.y.into_pyarray(py), unrolled.forced, unrolled.roots.into_pyarray(py)))
}

/// The picture with what lay on other parts of it laid down anew: flat, and how many points were taken up.
#[pyfunction]
pub fn relayout<'py>(
    py: Python<'py>,
    alignment: &Bound<'py, Alignment>,
    x: Matrix<'py>,
    graph: Graph<'py>,
    y: PyReadonlyArray1<'py, f64>,
    turns: PyReadonlyArray1<'py, f64>,
) -> PyResult<(Bound<'py, PyArray1<f64>>, usize)> {
    let (x, graph, alignment) = (x.values(), graph.neighborhoods()?, alignment.get());
    let (y, turns) = (y.as_slice()?, turns.as_slice()?);
    let (laid, taken) = run(py, alignment.n_jobs, |m: &dyn Monitor| {
        let x = points("X", x, m)?;
        let atlas = alignment.atlas(&x, &graph)?;
        Unroller::new(&alignment.connection, &atlas, m)?.relayout(y, turns, m)
    })?;
    Ok((laid.y.into_pyarray(py), taken))
}

/// The median distance to the farthest neighbour.
#[pyfunction]
pub fn spacing(py: Python<'_>, x: Matrix<'_>, graph: Graph<'_>, n_jobs: usize) -> PyResult<f64> {
    let (x, graph) = (x.values(), graph.neighborhoods()?);
    run(py, n_jobs, |m: &dyn Monitor| cut::spacing(&points("X", x, m)?, &graph, m))
}

/// For every neighbour of every point whether the picture tears the two apart.
#[pyfunction]
pub fn torn<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    y: Matrix<'py>,
    graph: Graph<'py>,
    spacing: f64,
    tau: f64,
    n_jobs: usize,
) -> PyResult<Flags<'py>> {
    let (x, y, graph) = (x.values(), y.values(), graph.neighborhoods()?);
    let torn = run(py, n_jobs, |m: &dyn Monitor| {
        cut::torn(&points("X", x, m)?, &points("Y", y, m)?, &graph, spacing, tau, m)
    })?;
    Ok(torn.into_pyarray(py))
}

/// For every neighbour of every point whether the two are among the pairs.
#[pyfunction]
pub fn marked<'py>(
    py: Python<'py>,
    graph: Graph<'py>,
    pairs: PyReadonlyArray1<'py, u32>,
) -> PyResult<Flags<'py>> {
    let (graph, pairs) = (graph.neighborhoods()?, pairs.as_slice()?);
    let marked = py.detach(|| cut::marked(&graph, pairs)).map_err(to_python)?;
    Ok(marked.into_pyarray(py))
}

/// The same without tears that part what hangs together, and without slivers.
#[pyfunction]
pub fn mend<'py>(
    py: Python<'py>,
    y: Matrix<'py>,
    graph: Graph<'py>,
    torn: PyReadonlyArray1<'py, bool>,
    least: usize,
    reach: f64,
) -> PyResult<Flags<'py>> {
    let (y, graph, mut torn) = (y.values(), graph.neighborhoods()?, torn.as_slice()?.to_vec());
    run(py, 1, |m: &dyn Monitor| cut::mend(&points("Y", y, m)?, &graph, &mut torn, least, reach))?;
    Ok(torn.into_pyarray(py))
}

/// The neighbourhoods without their torn members: row pointer and indices.
#[pyfunction]
pub fn restricted<'py>(
    py: Python<'py>,
    graph: Graph<'py>,
    torn: PyReadonlyArray1<'py, bool>,
) -> PyResult<(Bound<'py, PyArray1<i64>>, Indices<'py>)> {
    let (graph, torn) = (graph.neighborhoods()?, torn.as_slice()?);
    let kept = py.detach(|| cut::restricted(&graph, torn)).map_err(to_python)?;
    let (indptr, indices) = kept.into_parts();
    Ok((indptr.unwrap_or_default().into_pyarray(py), indices.into_pyarray(py)))
}

/// The seams as dicts.
#[pyfunction]
pub fn seams<'py>(
    py: Python<'py>,
    alignment: &Bound<'py, Alignment>,
    x: Matrix<'py>,
    graph: Graph<'py>,
    torn: PyReadonlyArray1<'py, bool>,
    y: PyReadonlyArray1<'py, f64>,
    turns: PyReadonlyArray1<'py, f64>,
    least: usize,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let (x, graph, alignment) = (x.values(), graph.neighborhoods()?, alignment.get());
    let (torn, y, turns) = (torn.as_slice()?, y.as_slice()?, turns.as_slice()?);
    let found = run(py, alignment.n_jobs, |m: &dyn Monitor| {
        cut::seams(&points("X", x, m)?, &alignment.connection, &graph, torn, y, turns, least, m)
    })?;
    found.into_iter().map(|seam| to_dict(py, seam)).collect()
}

/// How many loops and voids the data have; nothing where that cannot be told.
#[pyfunction]
pub fn shape(
    py: Python<'_>,
    x: Matrix<'_>,
    graph: Graph<'_>,
    d: usize,
    n_jobs: usize,
) -> PyResult<Option<(usize, usize)>> {
    let (x, graph) = (x.values(), graph.neighborhoods()?);
    let found = run(py, n_jobs, |m: &dyn Monitor| cut::shape(&points("X", x, m)?, &graph, d, m))?;
    Ok(found.map(|shape| (shape.loops, shape.voids)))
}

fn to_dict(py: Python<'_>, seam: Seam) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    let [points, partners] = seam.sides;
    dict.set_item("points", points.into_pyarray(py))?;
    dict.set_item("partners", partners.into_pyarray(py))?;
    dict.set_item("reversed", seam.reversed)?;
    dict.set_item("ends", seam.ends)?;
    dict.set_item("n_pairs", seam.n_pairs)?;
    Ok(dict)
}
