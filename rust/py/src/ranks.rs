//! `unbend::measure` by ranks for Python.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use unbend::Monitor;
use unbend::measure::{self, RankMeasure, RankParams, RankTables};

use crate::array::{Graph, Matrix, points};
use crate::error::to_python;
use crate::run::{Progress, run, run_reporting};

type Table<'py> = Bound<'py, PyArray2<u32>>;

fn table(py: Python<'_>, ranks: Vec<u32>, columns: usize) -> PyResult<Table<'_>> {
    let rows = ranks.len() / columns;
    ranks.into_pyarray(py).reshape([rows, columns])
}

/// (ranks in X of the nearest in Y, ranks in Y of the nearest in X), a row for each point looked at.
#[pyfunction]
#[pyo3(signature = (x, y, k, graph, centers, n_jobs, progress=None))]
pub fn rank_tables<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    y: Matrix<'py>,
    k: usize,
    graph: Option<Graph<'py>>,
    centers: Option<numpy::PyReadonlyArray1<'py, u32>>,
    n_jobs: usize,
    progress: Progress,
) -> PyResult<(Table<'py>, Table<'py>)> {
    let (x, y) = (x.values(), y.values());
    let graph = graph.as_ref().map(Graph::neighborhoods).transpose()?;
    let centers = centers.as_ref().map(|c| c.as_slice()).transpose()?;
    let params = RankParams { n_neighbors: k, centers, neighborhoods: graph.as_ref() };
    let work = |m: &dyn Monitor| measure::rank_tables(&points("X", x, m)?, &points("Y", y, m)?, params, m);
    let RankTables { in_x, in_y, .. } = run_reporting(py, n_jobs, progress, work)?;
    Ok((table(py, in_x, k)?, table(py, in_y, k)?))
}

fn tables(n: usize, in_x: &PyReadonlyArray2<u32>, in_y: &PyReadonlyArray2<u32>) -> PyResult<RankTables> {
    let k = in_x.as_array().ncols();
    RankTables::new(n, k, in_x.as_slice()?.to_vec(), in_y.as_slice()?.to_vec()).map_err(to_python)
}

/// For each measure (values, spreads over points, values at random) with 1 to K neighbours; `auc` alike, without the
/// last.
#[pyfunction]
pub fn rank_curves<'py>(
    py: Python<'py>,
    n: usize,
    in_x: PyReadonlyArray2<'py, u32>,
    in_y: PyReadonlyArray2<'py, u32>,
) -> PyResult<Bound<'py, PyDict>> {
    let tables = tables(n, &in_x, &in_y)?;
    let curves = run(py, 0, |m| tables.curves(m))?;
    let dict = PyDict::new(py);
    for measure in RankMeasure::ALL {
        let null: Vec<f64> = (1..=tables.k).map(|k| measure.null(n, k)).collect();
        let [values, spreads, null] =
            [curves.values(measure), curves.spreads(measure), null].map(|v| v.into_pyarray(py));
        dict.set_item(measure.name(), (values, spreads, null))?;
    }
    dict.set_item("auc", curves.area())?;
    Ok(dict)
}

/// The value of every point looked at with `k` neighbours, or its `auc`.
#[pyfunction]
pub fn rank_values<'py>(
    py: Python<'py>,
    n: usize,
    in_x: PyReadonlyArray2<'py, u32>,
    in_y: PyReadonlyArray2<'py, u32>,
    name: &str,
    k: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let tables = tables(n, &in_x, &in_y)?;
    let values = match RankMeasure::ALL.into_iter().find(|measure| measure.name() == name) {
        Some(measure) => run(py, 0, |m| tables.values(measure, k, m))?,
        None if name == "auc" => run(py, 0, |m| tables.areas(m))?,
        None => return Err(PyValueError::new_err(format!("no measure is called '{name}'"))),
    };
    Ok(values.into_pyarray(py))
}

/// The corner of the co-ranking matrix that the tables hold.
#[pyfunction]
pub fn coranking_corner<'py>(
    py: Python<'py>,
    n: usize,
    in_x: PyReadonlyArray2<'py, u32>,
    in_y: PyReadonlyArray2<'py, u32>,
) -> PyResult<Table<'py>> {
    let tables = tables(n, &in_x, &in_y)?;
    table(py, tables.coranking(), tables.k)
}

/// The whole co-ranking matrix.
#[pyfunction]
pub fn coranking_matrix<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    y: Matrix<'py>,
    n_jobs: usize,
) -> PyResult<Table<'py>> {
    let (x, y) = (x.values(), y.values());
    let (counts, n) = run(py, n_jobs, |m| {
        let (x, y) = (points("X", x, m)?, points("Y", y, m)?);
        Ok((measure::coranking_matrix(&x, &y, m)?, x.len()))
    })?;
    table(py, counts, n - 1)
}
