//! `unbend::embed` for Python.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use unbend::Monitor;
use unbend::charts::Atlas;
use unbend::embed::{self, Greedy, GreedyParams, Trace};

use crate::align::Net;
use crate::array::{Graph, Matrix, points};
use crate::error::to_python;
use crate::run::{Progress, run_reporting};

type Flat<'py> = Bound<'py, PyArray1<f64>>;

/// Flat (places, errors) of the new points, each carried by the `k` points listed for it: by their motion, or by
/// an affine map.
#[pyfunction]
#[pyo3(signature = (source, target, new, lists, k, affine, n_jobs, progress=None))]
pub fn carry<'py>(
    py: Python<'py>,
    source: Matrix<'py>,
    target: Matrix<'py>,
    new: Matrix<'py>,
    lists: PyReadonlyArray1<'py, u32>,
    k: usize,
    affine: bool,
    n_jobs: usize,
    progress: Progress,
) -> PyResult<(Flat<'py>, Flat<'py>)> {
    let (source, target, new, lists) = (source.values(), target.values(), new.values(), lists.as_slice()?);
    let carried = run_reporting(py, n_jobs, progress, |m: &dyn Monitor| {
        let (source, target) = (points("source", source, m)?, points("target", target, m)?);
        let new = points("new", new, m)?;
        match affine {
            true => embed::extend(&source, &target, &new, lists, k, m),
            false => embed::carry(&source, &target, &new, lists, k, m),
        }
    })?;
    Ok((carried.placed.into_pyarray(py), carried.errors.into_pyarray(py)))
}

/// A dict of the embedding, flat, and how it came about.
#[pyfunction]
#[pyo3(signature = (x, graph, net, n_components, tangent, n_init, start, seed, n_jobs, progress=None, names=None))]
pub fn greedy<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    graph: Graph<'py>,
    net: Option<Bound<'py, Net>>,
    n_components: usize,
    tangent: &str,
    n_init: usize,
    start: Option<usize>,
    seed: u64,
    n_jobs: usize,
    progress: Progress,
    names: Option<PyReadonlyArray1<'py, u32>>,
) -> PyResult<Bound<'py, PyDict>> {
    let names = names.as_ref().map(|n| n.as_slice()).transpose()?;
    let overlap = match tangent {
        "neighborhood" => false,
        "overlap" => true,
        other => return Err(PyValueError::new_err(format!("tangent = {other:?} is unknown"))),
    };
    let (x, graph) = (x.values(), graph.neighborhoods()?);
    let net = net.as_ref().map(|net| &net.get().0);
    let params = GreedyParams { n_init, start, seed, names };
    let found = run_reporting(py, n_jobs, progress, |m: &dyn Monitor| {
        let x = points("X", x, m)?;
        let atlas = match overlap {
            true => Atlas::whole(&x, &graph, n_components)?,
            false => Atlas::new(&x, &graph, net, n_components, m)?,
        };
        embed::greedy(&atlas, &params, m)
    })?;
    to_dict(py, found)
}

fn to_dict(py: Python<'_>, found: Greedy) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("embedding", found.embedding.into_pyarray(py))?;
    dict.set_item("labels", found.labels.into_pyarray(py))?;
    dict.set_item("r_n", found.r_n.into_pyarray(py))?;
    dict.set_item("kept", found.kept.into_pyarray(py))?;
    let traces: PyResult<Vec<_>> = found.traces.iter().map(|trace| trace_to_dict(py, trace)).collect();
    dict.set_item("traces", traces?)?;
    Ok(dict)
}

fn trace_to_dict<'py>(py: Python<'py>, trace: &Trace) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in [
        ("steps", trace.steps),
        ("overlap", trace.overlap),
        ("waits", trace.waits),
        ("forced", trace.forced),
        ("other_side", trace.other_side),
    ] {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

/// The embedding, flat, with its components straightened and set side by side.
#[pyfunction]
pub fn lay_out<'py>(
    py: Python<'py>,
    embedding: PyReadonlyArray2<'py, f64>,
    labels: PyReadonlyArray1<'py, u32>,
) -> PyResult<Flat<'py>> {
    let (d, labels) = (embedding.shape()[1], labels.as_slice()?);
    let mut embedding = embedding.as_slice()?.to_vec();
    py.detach(|| embed::lay_out(&mut embedding, d, labels)).map_err(to_python)?;
    Ok(embedding.into_pyarray(py))
}
