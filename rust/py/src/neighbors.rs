//! `unbend::neighbors` for Python.

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use unbend::neighbors::approximate::Target;
use unbend::neighbors::{Method, Nearest};
use unbend::{Found, Knn, Monitor, Neighborhoods, Search, neighbors};

use crate::array::{Graph, Matrix, points};
use crate::run::{Progress, run, run_reporting};

type Parts<'py> = (Option<Bound<'py, PyArray1<i64>>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f64>>);

/// An order of the points, and a graph between the places in it.
type Renumbered<'py> =
    (Bound<'py, PyArray1<u32>>, Option<Bound<'py, PyArray1<i64>>>, Bound<'py, PyArray1<u32>>);

/// Indices and distances.
type Answers<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f64>>);

/// Indices, distances, and the share of true neighbours among them where that is not all.
type Measured<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f64>>, Option<f64>);

fn parts(py: Python<'_>, knn: Knn) -> Parts<'_> {
    let (indptr, indices) = knn.neighborhoods.into_parts();
    (indptr.map(|p| p.into_pyarray(py)), indices.into_pyarray(py), knn.distances.into_pyarray(py))
}

fn search(name: &str) -> Search {
    match name {
        "tree" => Search::Tree,
        "blocked" => Search::Blocked,
        _ => Search::Auto,
    }
}

/// (None, indices, distances) of the `k` nearest others.
#[pyfunction]
#[pyo3(signature = (x, k, method, n_jobs, progress=None))]
pub fn nearest<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    k: usize,
    method: &str,
    n_jobs: usize,
    progress: Progress,
) -> PyResult<Parts<'py>> {
    let (values, search) = (x.values(), search(method));
    let work = |m: &dyn Monitor| neighbors::nearest(&points("X", values, m)?, k, search, m);
    Ok(parts(py, run_reporting(py, n_jobs, progress, work)?))
}

/// (indices, distances, recall) of the `k` nearest others; the recall is None if they are so for sure.
#[pyfunction]
#[pyo3(signature = (x, k, method, recall, seed, n_jobs, progress=None))]
pub fn find_nearest<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    k: usize,
    method: &str,
    recall: f64,
    seed: u64,
    n_jobs: usize,
    progress: Progress,
) -> PyResult<Measured<'py>> {
    let (values, target) = (x.values(), Target { recall, seed });
    let method = match method {
        "exact" => Method::Exact,
        "approximate" => Method::Approximate,
        _ => Method::Auto,
    };
    let work = |m: &dyn Monitor| neighbors::find(&points("X", values, m)?, k, method, &target, m);
    let Nearest { knn, recall } = run_reporting(py, n_jobs, progress, work)?;
    let (_, indices, distances) = parts(py, knn);
    Ok((indices, distances, recall))
}

/// (indices, distances) of the `k` nearest rows of `x` for every new point.
#[pyfunction]
#[pyo3(signature = (x, new, k, method, n_jobs, progress=None))]
pub fn query<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    new: Matrix<'py>,
    k: usize,
    method: &str,
    n_jobs: usize,
    progress: Progress,
) -> PyResult<Answers<'py>> {
    let (values, asking, search) = (x.values(), new.values(), search(method));
    let work = |m: &dyn Monitor| {
        neighbors::query(&points("X", values, m)?, &points("new", asking, m)?, k, search, m)
    };
    let Found { indices, distances, .. } = run_reporting(py, n_jobs, progress, work)?;
    Ok((indices.into_pyarray(py), distances.into_pyarray(py)))
}

/// (indptr, indices, distances) of all others within `radius`.
#[pyfunction]
#[pyo3(signature = (x, radius, method, n_jobs, progress=None))]
pub fn within<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    radius: f64,
    method: &str,
    n_jobs: usize,
    progress: Progress,
) -> PyResult<Parts<'py>> {
    let (values, search) = (x.values(), search(method));
    let work = |m: &dyn Monitor| neighbors::within(&points("X", values, m)?, radius, search, m);
    Ok(parts(py, run_reporting(py, n_jobs, progress, work)?))
}

/// Raises if the graph is not valid.
#[pyfunction]
pub fn check_graph(graph: Graph<'_>) -> PyResult<()> {
    graph.checked().map(drop)
}

/// (indptr, indices) of the reversed lists.
#[pyfunction]
pub fn reversed<'py>(py: Python<'py>, graph: Graph<'py>) -> PyResult<Lists<'py>> {
    let neighborhoods = graph.neighborhoods()?;
    Ok(lists(py, run(py, 0, |_| Ok(neighborhoods.reversed()))?))
}

/// (indptr, indices) of the undirected graph.
#[pyfunction]
pub fn symmetrized<'py>(py: Python<'py>, graph: Graph<'py>) -> PyResult<Lists<'py>> {
    let neighborhoods = graph.neighborhoods()?;
    Ok(lists(py, run(py, 0, |_| Ok(neighborhoods.symmetrized()))?))
}

/// An order in which neighbours stand near each other, and the graph between places in it: row pointer and indices.
#[pyfunction]
pub fn local_order<'py>(py: Python<'py>, graph: Graph<'py>, n_jobs: usize) -> PyResult<Renumbered<'py>> {
    let neighborhoods = graph.neighborhoods()?;
    let (order, graph) = run(py, n_jobs, |m: &dyn Monitor| {
        let order = neighborhoods.breadth_first(m)?;
        let (graph, _) = neighborhoods.renumbered(&order, m)?;
        Ok((order, graph))
    })?;
    let (indptr, indices) = graph.into_parts();
    Ok((order.into_pyarray(py), indptr.map(|p| p.into_pyarray(py)), indices.into_pyarray(py)))
}

/// The connected component of every point.
#[pyfunction]
pub fn components<'py>(py: Python<'py>, graph: Graph<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let neighborhoods = graph.neighborhoods()?;
    Ok(run(py, 0, |_| Ok(neighborhoods.components()))?.into_pyarray(py))
}

type Lists<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u32>>);

fn lists<'py>(py: Python<'py>, neighborhoods: Neighborhoods<'static>) -> Lists<'py> {
    let (indptr, indices) = neighborhoods.into_parts();
    (indptr.unwrap_or_default().into_pyarray(py), indices.into_pyarray(py))
}
