//! `unbend::measure` for Python.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;
use unbend::Monitor;
use unbend::measure::{self, Faithfulness, FaithfulnessParams, PerPoint};

use crate::array::{Graph, Matrix, points};
use crate::run::run;

/// A dict of the means, and under "per_point" a dict of flat arrays.
#[pyfunction]
#[pyo3(signature = (x, y, graph, include_self, centers, n_jobs))]
pub fn faithfulness<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    y: Matrix<'py>,
    graph: Graph<'py>,
    include_self: bool,
    centers: Option<PyReadonlyArray1<'py, u32>>,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let (x, y, neighborhoods) = (x.values(), y.values(), graph.neighborhoods()?);
    let centers = centers.as_ref().map(|c| c.as_slice()).transpose()?;
    let params = FaithfulnessParams { include_self, centers };
    let work = |m: &dyn Monitor| {
        measure::faithfulness(&points("X", x, m)?, &points("Y", y, m)?, &neighborhoods, params, m)
    };
    to_dict(py, run(py, n_jobs, work)?)
}

fn to_dict(py: Python<'_>, m: Faithfulness) -> PyResult<Bound<'_, PyDict>> {
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
    dict.set_item("per_point", per_point(py, &m.per_point)?)?;
    Ok(dict)
}

/// What one array holds of every neighbourhood.
type Field = fn(&PerPoint, &mut Vec<f64>);

/// Rows that fit into cache.
const BLOCK: usize = 8192;

fn per_point<'py>(py: Python<'py>, rows: &[PerPoint]) -> PyResult<Bound<'py, PyDict>> {
    let fields: [(&str, usize, Field); 7] = [
        ("r", 1, |p, out| out.push(p.r)),
        ("r_n", 1, |p, out| out.push(p.r_n)),
        ("r_c", 1, |p, out| out.push(p.r_c)),
        ("r_pca", 1, |p, out| out.push(p.r_pca)),
        ("bound", 1, |p, out| out.push(p.bound)),
        ("stretch", 2, |p, out| out.extend([p.stretch_max, p.stretch_min])),
        ("area", 1, |p, out| out.push(p.area)),
    ];
    let mut arrays = fields.map(|(_, width, _)| Vec::with_capacity(width * rows.len()));
    // Block by block, so that every array reads the rows from cache.
    py.detach(|| {
        for block in rows.chunks(BLOCK) {
            let fill = |(array, (_, _, field)): (&mut Vec<f64>, &(&str, usize, Field))| {
                block.iter().for_each(|row| field(row, array));
            };
            arrays.par_iter_mut().zip(&fields).for_each(fill);
        }
    });
    let dict = PyDict::new(py);
    for ((name, _, _), array) in fields.iter().zip(arrays) {
        dict.set_item(name, array.into_pyarray(py))?;
    }
    Ok(dict)
}

/// The bound of each neighbourhood measured.
#[pyfunction]
#[pyo3(signature = (x, n_components, graph, include_self, centers, n_jobs))]
pub fn lower_bound<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    n_components: usize,
    graph: Graph<'py>,
    include_self: bool,
    centers: Option<PyReadonlyArray1<'py, u32>>,
    n_jobs: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (x, neighborhoods) = (x.values(), graph.neighborhoods()?);
    let centers = centers.as_ref().map(|c| c.as_slice()).transpose()?;
    let params = FaithfulnessParams { include_self, centers };
    let work =
        |m: &dyn Monitor| measure::lower_bound(&points("X", x, m)?, n_components, &neighborhoods, params, m);
    Ok(run(py, n_jobs, work)?.into_pyarray(py))
}
