//! `unbend::measure` by ranks for Python.

use std::collections::HashMap;

use ndarray::Array2;
use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use unbend::Monitor;
use unbend::measure::{self, RankCurves, RankMeasure, RankParams};

use crate::data::{Flat, Lists, Matrix, points};
use crate::export::{Array, Lend, Owned, Table, functions};
use crate::run::{run, to_python};

fn table(ranks: Vec<u32>, columns: usize) -> Table<u32> {
    let rows = ranks.len() / columns;
    Owned(Array2::from_shape_vec((rows, columns), ranks).unwrap_or_default())
}

/// The ranks in X of the nearest in Y, and the ranks in Y of the nearest in X, with a row for each measured point.
#[pyclass(frozen, module = "unbend._core")]
pub struct RankTables {
    tables: measure::RankTables,
    n_jobs: usize,
}

#[pymethods]
impl RankTables {
    /// Copies tables of `n` points, such as those of a pickle.
    #[new]
    fn new(
        n: usize,
        in_x: PyReadonlyArray2<'_, u32>,
        in_y: PyReadonlyArray2<'_, u32>,
        n_jobs: usize,
    ) -> PyResult<Self> {
        let k = in_x.as_array().ncols();
        let tables = measure::RankTables::new(n, k, in_x.as_slice()?.to_vec(), in_y.as_slice()?.to_vec());
        Ok(RankTables { tables: tables.map_err(to_python)?, n_jobs })
    }

    /// Arguments of `new`, for copies and pickles.
    fn __getnewargs__(&self) -> (usize, Table<u32>, Table<u32>, usize) {
        let t = &self.tables;
        (t.n, table(t.in_x.clone(), t.k), table(t.in_y.clone(), t.k), self.n_jobs)
    }

    /// The largest number of neighbors.
    #[getter]
    fn k(&self) -> usize {
        self.tables.k
    }

    /// For each name the value of every measured point with `k` neighbors; `auc` has the same for every `k`.
    fn values(&self, py: Python<'_>, names: Vec<Measured>, k: usize) -> PyResult<Columns> {
        run(py, self.n_jobs, None, |m| columns(&self.tables, &names, k, m))
    }

    /// The k x k corner of the co-ranking matrix.
    fn coranking(&self) -> Table<u32> {
        table(self.tables.coranking(), self.tables.k)
    }
}

/// A measure by its name; `None` stands for `auc`.
#[derive(Clone, Copy)]
pub struct Measured(Option<RankMeasure>);

impl Measured {
    fn name(self) -> &'static str {
        self.0.map_or("auc", RankMeasure::name)
    }
}

impl FromPyObject<'_, '_> for Measured {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let name: String = object.extract()?;
        match RankMeasure::ALL.into_iter().find(|measure| measure.name() == name) {
            None if name != "auc" => Err(PyValueError::new_err(format!("no measure is called '{name}'"))),
            measure => Ok(Measured(measure)),
        }
    }
}

impl Lend for Vec<Measured> {
    type Lent<'a> = &'a [Measured];

    fn lend(&mut self) -> PyResult<&[Measured]> {
        Ok(self)
    }
}

/// The values of measures at points, by their names.
type Columns = HashMap<&'static str, Array>;

fn columns(
    tables: &measure::RankTables,
    names: &[Measured],
    k: usize,
    m: &dyn Monitor,
) -> unbend::Result<Columns> {
    let column = |&named: &Measured| {
        let values = named.0.map_or_else(|| tables.areas(m), |measure| tables.values(measure, k, m))?;
        Ok((named.name(), Owned(values)))
    };
    names.iter().map(column).collect()
}

/// For each measure (values, spreads over points, values at random) with 1 to k neighbors.
type Curves = HashMap<&'static str, (Array, Array, Array)>;

fn curves_by_name(curves: &RankCurves, n: usize, k: usize) -> Curves {
    let entry = |measure: RankMeasure| {
        let null = (1..=k).map(|k| measure.null(n, k)).collect();
        (measure.name(), (Owned(curves.values(measure)), Owned(curves.spreads(measure)), Owned(null)))
    };
    RankMeasure::ALL.into_iter().map(entry).collect()
}

functions! {
    /// The ranks of the `k` nearest on either side, the curves of all measures, the area and spread of `auc`, and the
    /// values at points of the measures in `names`. `graph` holds the exact nearest in X if they are known.
    rank_tables(
        x: Matrix, y: Matrix, k: usize, graph: Option<Lists>, centers: Option<Flat<u32>>, names: Vec<Measured>
    ) -> (RankTables, Curves, (f64, f64), Columns) = |m, n_jobs| {
        let params = RankParams { n_neighbors: k, centers, neighborhoods: graph.as_ref() };
        let tables = measure::rank_tables(&points("X", x, m)?, &points("Y", y, m)?, params, m)?;
        let (curves, columns) = (tables.curves(m)?, columns(&tables, names, k, m)?);
        let by_name = curves_by_name(&curves, tables.n, k);
        Ok((RankTables { tables, n_jobs }, by_name, curves.area(), columns))
    };

    /// The whole co-ranking matrix.
    coranking_matrix(x: Matrix, y: Matrix) -> Table<u32> = |m| {
        let (x, y) = (points("X", x, m)?, points("Y", y, m)?);
        Ok(table(measure::coranking_matrix(&x, &y, m)?, x.len() - 1))
    };
}
