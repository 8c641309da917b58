//! `unbend::spectral` for Python.

use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use unbend::Monitor;
use unbend::spectral::{
    self, Barycenter, Csr, DfmParams, HlleParams, Kernel, LleParams, LtsaParams, MlleParams,
};

use crate::array::{Graph, Matrix, points};
use crate::error::to_python;
use crate::run::{Progress, run, run_reporting};

type Flat<'py> = Bound<'py, PyArray1<f64>>;
type Sparse<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>, Flat<'py>);

/// W_i of every neighbourhood.
#[pyclass(frozen)]
pub struct LocalWeights {
    weights: spectral::LocalWeights,
    n_jobs: usize,
}

#[pymethods]
impl LocalWeights {
    #[staticmethod]
    #[pyo3(signature = (x, graph, kind, reg, n_components, n_jobs, progress=None))]
    fn lle(
        py: Python<'_>,
        x: Matrix<'_>,
        graph: Graph<'_>,
        kind: &str,
        reg: f64,
        n_components: Option<usize>,
        n_jobs: usize,
        progress: Progress,
    ) -> PyResult<Self> {
        let barycenter = match kind {
            "tikhonov" => Barycenter::Tikhonov,
            "ldr" => Barycenter::LeastNorm,
            "convex" => Barycenter::Convex,
            other => return Err(PyValueError::new_err(format!("weights = {other:?} is unknown"))),
        };
        let params = LleParams { barycenter, reg, n_components };
        Self::new(py, x, graph, n_jobs, progress, |x, graph, m| spectral::lle(x, graph, &params, m))
    }

    #[staticmethod]
    #[pyo3(signature = (x, graph, n_components, reg, n_jobs, progress=None))]
    fn mlle(
        py: Python<'_>,
        x: Matrix<'_>,
        graph: Graph<'_>,
        n_components: usize,
        reg: f64,
        n_jobs: usize,
        progress: Progress,
    ) -> PyResult<Self> {
        let params = MlleParams { n_components, reg };
        Self::new(py, x, graph, n_jobs, progress, |x, graph, m| spectral::mlle(x, graph, &params, m))
    }

    #[staticmethod]
    #[pyo3(signature = (x, graph, n_components, include_self, n_jobs, progress=None))]
    fn ltsa(
        py: Python<'_>,
        x: Matrix<'_>,
        graph: Graph<'_>,
        n_components: usize,
        include_self: bool,
        n_jobs: usize,
        progress: Progress,
    ) -> PyResult<Self> {
        let params = LtsaParams { n_components, include_self };
        Self::new(py, x, graph, n_jobs, progress, |x, graph, m| spectral::ltsa(x, graph, &params, m))
    }

    #[staticmethod]
    #[pyo3(signature = (x, graph, n_components, include_self, n_jobs, progress=None))]
    fn hlle(
        py: Python<'_>,
        x: Matrix<'_>,
        graph: Graph<'_>,
        n_components: usize,
        include_self: bool,
        n_jobs: usize,
        progress: Progress,
    ) -> PyResult<Self> {
        let params = HlleParams { n_components, include_self };
        Self::new(py, x, graph, n_jobs, progress, |x, graph, m| spectral::hlle(x, graph, &params, m))
    }

    #[staticmethod]
    #[pyo3(signature = (x, graph, kernel, eps, n_jobs, progress=None))]
    fn lem(
        py: Python<'_>,
        x: Matrix<'_>,
        graph: Graph<'_>,
        kernel: &str,
        eps: Option<f64>,
        n_jobs: usize,
        progress: Progress,
    ) -> PyResult<Self> {
        let kernel = kernel_of(kernel, eps)?;
        Self::new(py, x, graph, n_jobs, progress, |x, graph, m| spectral::lem(x, graph, kernel, m))
    }

    #[staticmethod]
    #[pyo3(signature = (x, graph, alpha, kernel, eps, n_jobs, progress=None))]
    fn dfm(
        py: Python<'_>,
        x: Matrix<'_>,
        graph: Graph<'_>,
        alpha: f64,
        kernel: &str,
        eps: Option<f64>,
        n_jobs: usize,
        progress: Progress,
    ) -> PyResult<Self> {
        let params = DfmParams { alpha, kernel: kernel_of(kernel, eps)? };
        Self::new(py, x, graph, n_jobs, progress, |x, graph, m| spectral::dfm(x, graph, &params, m))
    }

    /// The alignment matrix: row pointer, indices and entries.
    #[pyo3(signature = (graph, progress=None))]
    fn matrix<'py>(&self, py: Python<'py>, graph: Graph<'py>, progress: Progress) -> PyResult<Sparse<'py>> {
        let graph = graph.neighborhoods()?;
        let work = |m: &dyn Monitor| self.weights.matrix(&graph, m);
        Ok(sparse(py, run_reporting(py, self.n_jobs, progress, work)?))
    }

    /// The weights of the undirected graph, A + A'.
    fn affinity<'py>(&self, py: Python<'py>, graph: Graph<'py>) -> PyResult<Sparse<'py>> {
        let graph = graph.neighborhoods()?;
        Ok(sparse(py, run(py, self.n_jobs, |m: &dyn Monitor| self.weights.affinity(&graph, m))?))
    }

    /// |W_i Y_i|^2 of every neighbourhood.
    fn phi<'py>(&self, py: Python<'py>, graph: Graph<'py>, y: Matrix<'py>) -> PyResult<Flat<'py>> {
        let (y, graph) = (y.values(), graph.neighborhoods()?);
        let work = |m: &dyn Monitor| self.weights.phi(&graph, &points("Y", y, m)?, m);
        Ok(run(py, self.n_jobs, work)?.into_pyarray(py))
    }

    /// W_i of one neighbourhood, with columns for the point itself and its neighbours.
    fn row<'py>(&self, py: Python<'py>, graph: Graph<'py>, i: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let rows = self.weights.dense(&graph.neighborhoods()?, i).map_err(to_python)?;
        Ok(PyArray2::from_vec2(py, &rows)?)
    }

    /// The sums of the weights of each point's edges, for LEM and DFM.
    fn degrees<'py>(&self, py: Python<'py>, graph: Graph<'py>, symmetrized: bool) -> PyResult<Flat<'py>> {
        let degrees = self.weights.degrees(&graph.neighborhoods()?, symmetrized).map_err(to_python)?;
        Ok(degrees.into_pyarray(py))
    }
}

impl LocalWeights {
    fn new(
        py: Python<'_>,
        x: Matrix<'_>,
        graph: Graph<'_>,
        n_jobs: usize,
        progress: Progress,
        make: impl FnOnce(
            &unbend::Points,
            &unbend::Neighborhoods,
            &dyn Monitor,
        ) -> unbend::Result<spectral::LocalWeights>
        + Send,
    ) -> PyResult<Self> {
        let (x, graph) = (x.values(), graph.neighborhoods()?);
        let work = |m: &dyn Monitor| make(&points("X", x, m)?, &graph, m);
        Ok(LocalWeights { weights: run_reporting(py, n_jobs, progress, work)?, n_jobs })
    }
}

fn sparse(py: Python<'_>, matrix: Csr) -> Sparse<'_> {
    (matrix.indptr.into_pyarray(py), matrix.indices.into_pyarray(py), matrix.data.into_pyarray(py))
}

fn kernel_of(kernel: &str, eps: Option<f64>) -> PyResult<Kernel> {
    match kernel {
        "window" => Ok(Kernel::Window),
        "heat" => Ok(Kernel::Heat(eps)),
        other => Err(PyValueError::new_err(format!("kernel = {other:?} is unknown"))),
    }
}
