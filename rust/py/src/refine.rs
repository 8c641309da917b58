//! `unbend::embed::{Refiner, Multigrid}` for Python.

use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use unbend::Monitor;
use unbend::embed::{self, Objective};

use crate::array::{Graph, Matrix, points};
use crate::error::to_python;
use crate::run::{pool, run};

type Flat<'py> = Bound<'py, PyArray1<f64>>;

/// A new array of `len` numbers that `fill` writes on the threads of a pool.
fn into_new<'py>(
    py: Python<'py>,
    pool: Option<&rayon::ThreadPool>,
    len: usize,
    fill: impl FnOnce(&mut [f64]) -> unbend::Result<()> + Send,
) -> PyResult<Flat<'py>> {
    let out = PyArray1::zeros(py, len, false);
    let mut writable = out.readwrite();
    let slice = writable.as_slice_mut()?;
    py.detach(|| match pool {
        Some(pool) => pool.install(|| fill(slice)),
        None => fill(slice),
    })
    .map_err(to_python)?;
    drop(writable);
    Ok(out)
}

/// What refinement knows of data and graph, and the threads that it runs on.
#[pyclass(frozen)]
pub struct Refiner {
    refiner: embed::Refiner,
    n_jobs: usize,
    pool: Option<Arc<rayon::ThreadPool>>,
}

impl Refiner {
    pub(crate) fn core(&self) -> &embed::Refiner {
        &self.refiner
    }
}

#[pymethods]
impl Refiner {
    #[new]
    fn new(
        py: Python<'_>,
        x: Matrix<'_>,
        graph: Graph<'_>,
        n_components: usize,
        objective: &str,
        n_jobs: usize,
    ) -> PyResult<Self> {
        let objective = match objective {
            "R" => Objective::R,
            "R_N" => Objective::RN,
            other => return Err(PyValueError::new_err(format!("objective = {other:?} is unknown"))),
        };
        let (x, graph) = (x.values(), graph.neighborhoods()?);
        let refiner = run(py, n_jobs, |m: &dyn Monitor| {
            embed::Refiner::new(&points("X", x, m)?, &graph, n_components, objective, m)
        })?;
        Ok(Refiner { refiner, n_jobs, pool: pool(n_jobs)?.map(Arc::new) })
    }

    /// The right-hand side of eq. 11 for the frames of `y`, flat, and the objective at `y`.
    fn frames<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'py>,
        graph: Graph<'py>,
        y: Matrix<'py>,
    ) -> PyResult<(Flat<'py>, f64)> {
        let (x, y, graph) = (x.values(), y.values(), graph.neighborhoods()?);
        let frames = run(py, self.n_jobs, |m: &dyn Monitor| {
            self.refiner.frames(&points("X", x, m)?, &points("Y", y, m)?, &graph, m)
        })?;
        Ok((frames.sides.into_pyarray(py), frames.objective))
    }

    /// (sum of w_i H_i) y, flat.
    fn apply<'py>(
        &self,
        py: Python<'py>,
        graph: Graph<'py>,
        y: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Flat<'py>> {
        let (y, graph) = (y.as_slice()?, graph.neighborhoods()?);
        into_new(py, self.pool.as_deref(), y.len(), |out| self.refiner.apply(&graph, y, out))
    }

    /// `y` of `d` columns, flat, less the mean of each.
    fn centred<'py>(&self, py: Python<'py>, y: PyReadonlyArray1<'py, f64>, d: usize) -> PyResult<Flat<'py>> {
        let y = y.as_slice()?;
        into_new(py, self.pool.as_deref(), y.len(), |out| embed::centred(y, d, out))
    }

    /// For every point the sum of the weights of the neighbourhoods that hold it.
    fn held<'py>(&self, py: Python<'py>) -> Flat<'py> {
        self.refiner.held().to_vec().into_pyarray(py)
    }

    /// The diagonal of sum of w_i H_i.
    fn diagonal<'py>(&self, py: Python<'py>, graph: Graph<'py>) -> PyResult<Flat<'py>> {
        Ok(self.refiner.diagonal(&graph.neighborhoods()?).into_pyarray(py))
    }

    /// An approximate inverse of sum of w_i H_i, on the same threads.
    fn multigrid(&self, py: Python<'_>, graph: Graph<'_>) -> PyResult<Multigrid> {
        let graph = graph.neighborhoods()?;
        let multigrid = run(py, self.n_jobs, |m: &dyn Monitor| self.refiner.multigrid(&graph, m))?;
        Ok(Multigrid { multigrid, pool: self.pool.clone() })
    }
}

/// An approximate inverse, and the threads that it runs on.
#[pyclass(frozen)]
pub struct Multigrid {
    multigrid: embed::Multigrid,
    pool: Option<Arc<rayon::ThreadPool>>,
}

#[pymethods]
impl Multigrid {
    /// One cycle for `y` of `d` columns, flat.
    fn cycle<'py>(&self, py: Python<'py>, y: PyReadonlyArray1<'py, f64>, d: usize) -> PyResult<Flat<'py>> {
        let y = y.as_slice()?;
        into_new(py, self.pool.as_deref(), y.len(), |out| self.multigrid.cycle(y, d, out))
    }

    /// How many unknowns each level has.
    fn sizes(&self) -> Vec<usize> {
        self.multigrid.sizes()
    }
}
