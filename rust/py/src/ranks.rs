//! `unbend::measure` by ranks for Python.

use ndarray::Array2;
use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use unbend::measure::{self, RankMeasure, RankParams};

use crate::data::{Flat, Lists, Matrix, points};
use crate::export::{Owned, Table, functions};
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

    /// What `new` takes: it makes copies and pickles possible.
    fn __getnewargs__(&self) -> (usize, Table<u32>, Table<u32>, usize) {
        let t = &self.tables;
        (t.n, table(t.in_x.clone(), t.k), table(t.in_y.clone(), t.k), self.n_jobs)
    }

    /// The largest number of neighbors.
    #[getter]
    fn k(&self) -> usize {
        self.tables.k
    }

    /// For each measure (values, spreads over points, values at random) with 1 to k neighbors; the area and spread of
    /// `auc`.
    fn curves<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (n, k) = (self.tables.n, self.tables.k);
        let curves = run(py, self.n_jobs, None, |m| self.tables.curves(m))?;
        let dict = PyDict::new(py);
        for measure in RankMeasure::ALL {
            let null: Vec<f64> = (1..=k).map(|k| measure.null(n, k)).collect();
            let (values, spreads) = (Owned(curves.values(measure)), Owned(curves.spreads(measure)));
            dict.set_item(measure.name(), (values, spreads, Owned(null)))?;
        }
        dict.set_item("auc", curves.area())?;
        Ok(dict)
    }

    /// For each name the value of every measured point with `k` neighbors; `auc` has the same for every `k`.
    fn values<'py>(&self, py: Python<'py>, names: Vec<String>, k: usize) -> PyResult<Bound<'py, PyDict>> {
        let measures = names.iter().map(|name| measure_named(name)).collect::<PyResult<Vec<_>>>()?;
        let columns = run(py, self.n_jobs, None, |m| {
            let values = |measure: &Option<RankMeasure>| match *measure {
                Some(measure) => self.tables.values(measure, k, m),
                None => self.tables.areas(m),
            };
            measures.iter().map(values).collect::<unbend::Result<Vec<_>>>()
        })?;
        let dict = PyDict::new(py);
        for (name, column) in names.iter().zip(columns) {
            dict.set_item(name, Owned(column))?;
        }
        Ok(dict)
    }

    /// The k x k corner of the co-ranking matrix.
    fn coranking(&self) -> Table<u32> {
        table(self.tables.coranking(), self.tables.k)
    }
}

/// `None` stands for `auc`.
fn measure_named(name: &str) -> PyResult<Option<RankMeasure>> {
    match RankMeasure::ALL.into_iter().find(|measure| measure.name() == name) {
        None if name != "auc" => Err(PyValueError::new_err(format!("no measure is called '{name}'"))),
        measure => Ok(measure),
    }
}

functions! {
    /// Finds the ranks of the `k` nearest on either side. `graph` holds the exact nearest in X if they are known.
    rank_tables(
        x: Matrix, y: Matrix, k: usize, graph: Option<Lists>, centers: Option<Flat<u32>>
    ) -> RankTables = |m, n_jobs| {
        let params = RankParams { n_neighbors: k, centers, neighborhoods: graph.as_ref() };
        let tables = measure::rank_tables(&points("X", x, m)?, &points("Y", y, m)?, params, m)?;
        Ok(RankTables { tables, n_jobs })
    };

    /// The whole co-ranking matrix.
    coranking_matrix(x: Matrix, y: Matrix) -> Table<u32> = |m| {
        let (x, y) = (points("X", x, m)?, points("Y", y, m)?);
        Ok(table(measure::coranking_matrix(&x, &y, m)?, x.len() - 1))
    };
}
