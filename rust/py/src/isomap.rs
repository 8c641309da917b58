//! `unbend::embed::isomap` for Python.

use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use unbend::Monitor;
use unbend::embed::isomap;
use unbend::neighbors::paths::{self, Lengths};

use crate::array::{Graph, Matrix, points};
use crate::run::{Progress, pool, run, run_on, run_reporting};

type List<'py, T> = Bound<'py, PyArray1<T>>;

/// How far the neighbours of each point are on average.
#[pyfunction]
pub fn spread<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    graph: Graph<'py>,
    n_jobs: usize,
) -> PyResult<List<'py, f64>> {
    let (x, graph) = (x.values(), graph.neighborhoods()?);
    let work = |m: &dyn Monitor| isomap::spread(&points("X", x, m)?, &graph, m);
    Ok(run(py, n_jobs, work)?.into_pyarray(py))
}

/// The undirected graph with the length of every edge.
#[pyclass(frozen)]
pub struct Paths {
    lengths: Lengths,
    n_jobs: usize,
}

#[pymethods]
impl Paths {
    #[new]
    fn new(
        py: Python<'_>,
        x: Matrix<'_>,
        graph: Graph<'_>,
        spread: Option<PyReadonlyArray1<'_, f64>>,
        n_jobs: usize,
    ) -> PyResult<Self> {
        let (x, graph) = (x.values(), graph.neighborhoods()?);
        let spread = spread.as_ref().map(|s| s.as_slice()).transpose()?;
        let lengths = run(py, n_jobs, |m: &dyn Monitor| {
            let lengths = Lengths::new(&points("X", x, m)?, &graph, m)?;
            match spread {
                Some(spread) => lengths.conformal(spread),
                None => Ok(lengths),
            }
        })?;
        Ok(Paths { lengths, n_jobs })
    }

    /// The unit of all distances.
    fn unit(&self) -> f64 {
        isomap::unit(&self.lengths)
    }

    /// From each source to all points, flat, in units.
    #[pyo3(signature = (sources, progress=None))]
    fn distances_from<'py>(
        &self,
        py: Python<'py>,
        sources: PyReadonlyArray1<'py, u32>,
        progress: Progress,
    ) -> PyResult<List<'py, f32>> {
        let sources = sources.as_slice()?;
        let work = |m: &dyn Monitor| isomap::distances_from(&self.lengths, sources, m);
        Ok(run_reporting(py, self.n_jobs, progress, work)?.into_pyarray(py))
    }

    /// From each source to the points that it lists, flat; infinite beyond its limit.
    fn to_listed<'py>(
        &self,
        py: Python<'py>,
        sources: PyReadonlyArray1<'py, u32>,
        lists: PyReadonlyArray1<'py, u32>,
        limits: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<List<'py, f64>> {
        let (sources, lists, limits) = (sources.as_slice()?, lists.as_slice()?, limits.as_slice()?);
        let work = |m: &dyn Monitor| paths::to_listed(&self.lengths, sources, lists, limits, m);
        Ok(run(py, self.n_jobs, work)?.into_pyarray(py))
    }

    /// From new points to all, flat, in units.
    fn distances_to_new<'py>(
        &self,
        py: Python<'py>,
        lists: PyReadonlyArray1<'py, u32>,
        lengths: PyReadonlyArray1<'py, f64>,
        k: usize,
    ) -> PyResult<List<'py, f64>> {
        let (lists, lengths) = (lists.as_slice()?, lengths.as_slice()?);
        let work = |m: &dyn Monitor| isomap::distances_to_new(&self.lengths, lists, lengths, k, m);
        Ok(run(py, self.n_jobs, work)?.into_pyarray(py))
    }

    /// Between all members of a component.
    #[pyo3(signature = (members, progress=None))]
    fn triangle(
        &self,
        py: Python<'_>,
        members: PyReadonlyArray1<'_, u32>,
        progress: Progress,
    ) -> PyResult<Triangle> {
        let members = members.as_slice()?;
        let work = |m: &dyn Monitor| isomap::Triangle::new(&self.lengths, members, m);
        let triangle = run_reporting(py, self.n_jobs, progress, work)?;
        Ok(Triangle { triangle, pool: pool(self.n_jobs)?.map(Arc::new) })
    }
}

/// The distances between all members of a component, and the threads that products run on.
#[pyclass(frozen)]
pub struct Triangle {
    triangle: isomap::Triangle,
    pool: Option<Arc<rayon::ThreadPool>>,
}

#[pymethods]
impl Triangle {
    /// sum over j of D(i, j)^2 v(j).
    fn squares_times<'py>(&self, py: Python<'py>, v: PyReadonlyArray1<'py, f64>) -> PyResult<List<'py, f64>> {
        let v = v.as_slice()?;
        let work = |m: &dyn Monitor| self.triangle.squares_times(v, m);
        Ok(run_on(py, self.pool.as_deref(), None, work)?.into_pyarray(py))
    }

    /// The matrix of squares, flat.
    fn squares<'py>(&self, py: Python<'py>) -> List<'py, f64> {
        self.triangle.squares().into_pyarray(py)
    }

    /// Over all pairs: count, sums of D, |y_i - y_j|, their squares, their products, and D^4.
    fn moments<'py>(&self, py: Python<'py>, y: Matrix<'py>) -> PyResult<[f64; 7]> {
        let y = y.values();
        let work = |m: &dyn Monitor| self.triangle.moments(&points("Y", y, m)?, m);
        run_on(py, self.pool.as_deref(), None, work)
    }
}
