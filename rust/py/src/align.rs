//! `unbend::charts::Net` and `unbend::embed::align` for Python.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use unbend::Monitor;
use unbend::charts::{self, Atlas, AtlasCache};
use unbend::embed::align::{self, Aligned, AnnealParams, Connection, Tree};
use unbend::embed::{frames_of, place};

use crate::array::{Graph, Matrix, points};
use crate::refine::Refiner;
use crate::run::{Progress, run, run_reporting};

type Flat<'py> = Bound<'py, PyArray1<f64>>;

/// Tangents from many points.
#[pyclass(frozen)]
pub struct Net(pub(crate) charts::Net);

#[pymethods]
impl Net {
    #[new]
    #[pyo3(signature = (x, n_components, k, seed, n_jobs, progress=None))]
    fn new(
        py: Python<'_>,
        x: Matrix<'_>,
        n_components: usize,
        k: usize,
        seed: u64,
        n_jobs: usize,
        progress: Progress,
    ) -> PyResult<Self> {
        let x = x.values();
        let work = |m: &dyn Monitor| charts::Net::new(&points("X", x, m)?, n_components, k, seed, m);
        Ok(Net(run_reporting(py, n_jobs, progress, work)?))
    }
}

/// From how many neighbours tangents should be found, if not from those of the graph.
#[pyfunction]
pub fn tangent_scale(
    py: Python<'_>,
    x: Matrix<'_>,
    graph: Graph<'_>,
    n_components: usize,
    seed: u64,
    n_jobs: usize,
) -> PyResult<Option<usize>> {
    let (x, graph) = (x.values(), graph.neighborhoods()?);
    run(py, n_jobs, |m: &dyn Monitor| {
        charts::tangent_scale(&points("X", x, m)?, &graph, n_components, seed, m)
    })
}

/// The tangents of data and graph, and how neighbouring ones are turned against each other.
#[pyclass(frozen)]
pub struct Alignment {
    kept: AtlasCache,
    pub(crate) connection: Connection,
    pub(crate) n_jobs: usize,
}

#[pymethods]
impl Alignment {
    #[new]
    #[pyo3(signature = (x, graph, net, n_components, n_jobs, progress=None))]
    fn new(
        py: Python<'_>,
        x: Matrix<'_>,
        graph: Graph<'_>,
        net: Option<Bound<'_, Net>>,
        n_components: usize,
        n_jobs: usize,
        progress: Progress,
    ) -> PyResult<Self> {
        let (x, graph) = (x.values(), graph.neighborhoods()?);
        let net = net.as_ref().map(|net| &net.get().0);
        let (kept, connection) = run_reporting(py, n_jobs, progress, |m: &dyn Monitor| {
            let x = points("X", x, m)?;
            let atlas = Atlas::new(&x, &graph, net, n_components, m)?;
            let connection = Connection::new(&atlas, m)?;
            Ok((atlas.keep(), connection))
        })?;
        Ok(Alignment { kept, connection, n_jobs })
    }

    /// Frames carried along the tree of greatest agreement.
    #[pyo3(signature = (x, graph, progress=None))]
    fn tree<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'py>,
        graph: Graph<'py>,
        progress: Progress,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (x, graph) = (x.values(), graph.neighborhoods()?);
        let Tree { aligned, one_sided, .. } = run_reporting(py, self.n_jobs, progress, |m: &dyn Monitor| {
            let x = points("X", x, m)?;
            align::tree(&self.connection, &self.atlas(&x, &graph)?, m)
        })?;
        let dict = to_dict(py, aligned)?;
        dict.set_item("one_sided", one_sided)?;
        Ok(dict)
    }

    /// Frames from the rows of vectors of the connection matrix, settled by sweeps; as they are without.
    #[pyo3(signature = (vectors, sweep, progress=None))]
    fn round<'py>(
        &self,
        py: Python<'py>,
        vectors: PyReadonlyArray1<'py, f64>,
        sweep: bool,
        progress: Progress,
    ) -> PyResult<Bound<'py, PyDict>> {
        let vectors = vectors.as_slice()?;
        let aligned = run_reporting(py, self.n_jobs, progress, |m: &dyn Monitor| {
            let turns = align::round(&self.connection, vectors, m)?;
            self.connection.finish(turns, sweep, m)
        })?;
        to_dict(py, aligned)
    }

    /// Frames settled by sweeps, if wanted.
    fn finish<'py>(
        &self,
        py: Python<'py>,
        turns: PyReadonlyArray1<'py, f64>,
        sweep: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let turns = turns.as_slice()?.to_vec();
        to_dict(py, run(py, self.n_jobs, |m: &dyn Monitor| self.connection.finish(turns, sweep, m))?)
    }

    /// Frames annealed from `start`, or from random ones.
    #[pyo3(signature = (start, seed, progress=None, *, acceptance=None, accepted=None, tried=None, cooling=None, anew=None,
        enough=None, rounds=None))]
    fn anneal<'py>(
        &self,
        py: Python<'py>,
        start: Option<PyReadonlyArray1<'py, f64>>,
        seed: u64,
        progress: Progress,
        acceptance: Option<f64>,
        accepted: Option<usize>,
        tried: Option<usize>,
        cooling: Option<f64>,
        anew: Option<f64>,
        enough: Option<f64>,
        rounds: Option<usize>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let start = start.as_ref().map(|start| start.as_slice()).transpose()?;
        let usual = AnnealParams::default();
        let params = AnnealParams {
            seed,
            acceptance: acceptance.unwrap_or(usual.acceptance),
            accepted: accepted.unwrap_or(usual.accepted),
            tried: tried.unwrap_or(usual.tried),
            cooling: cooling.unwrap_or(usual.cooling),
            anew: anew.unwrap_or(usual.anew),
            enough: enough.unwrap_or(usual.enough),
            rounds: rounds.unwrap_or(usual.rounds),
        };
        let work = |m: &dyn Monitor| align::anneal(&self.connection, start, &params, m);
        to_dict(py, run_reporting(py, self.n_jobs, progress, work)?)
    }

    /// The connection matrix: row pointer, indices and blocks, row after row.
    #[allow(clippy::type_complexity)] // three arrays
    fn blocks<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u32>>, Flat<'py>)> {
        let blocks = run(py, self.n_jobs, |m: &dyn Monitor| align::blocks(&self.connection, m))?;
        let (indptr, indices) = self.connection.graph().clone().into_parts();
        Ok((indptr.unwrap_or_default().into_pyarray(py), indices.into_pyarray(py), blocks.into_pyarray(py)))
    }

    /// Where points lie along shortest paths, flat.
    fn place<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'py>,
        graph: Graph<'py>,
        turns: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Flat<'py>> {
        let (x, graph, turns) = (x.values(), graph.neighborhoods()?, turns.as_slice()?);
        let placed = run(py, self.n_jobs, |m: &dyn Monitor| {
            let x = points("X", x, m)?;
            place(&self.connection, &self.atlas(&x, &graph)?, turns, m)
        })?;
        Ok(placed.into_pyarray(py))
    }

    /// The frames that fit an embedding best.
    fn frames_of<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'py>,
        graph: Graph<'py>,
        y: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Flat<'py>> {
        let (x, graph, y) = (x.values(), graph.neighborhoods()?, y.as_slice()?);
        let turns = run(py, self.n_jobs, |m: &dyn Monitor| {
            let x = points("X", x, m)?;
            frames_of(&self.atlas(&x, &graph)?, y, m)
        })?;
        Ok(turns.into_pyarray(py))
    }

    /// The edges whose frames are not aligned, end after end.
    fn open<'py>(
        &self,
        py: Python<'py>,
        turns: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let turns = turns.as_slice()?;
        let open = run(py, self.n_jobs, |m: &dyn Monitor| align::open_edges(&self.connection, turns, m))?;
        Ok(flat(open).into_pyarray(py))
    }

    /// The right-hand side of eq. 11, flat.
    fn sides<'py>(
        &self,
        py: Python<'py>,
        refiner: &Bound<'py, Refiner>,
        x: Matrix<'py>,
        graph: Graph<'py>,
        turns: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Flat<'py>> {
        let (x, graph, turns) = (x.values(), graph.neighborhoods()?, turns.as_slice()?);
        let refiner = refiner.get().core();
        let sides = run(py, self.n_jobs, |m: &dyn Monitor| {
            let x = points("X", x, m)?;
            refiner.sides(&self.atlas(&x, &graph)?, turns, m)
        })?;
        Ok(sides.into_pyarray(py))
    }
}

/// The turns of pieces that were embedded apart, and the edges they leave open. From `start`, or along the tree of the
/// least `weights`.
#[pyfunction]
#[pyo3(signature = (graph, products, weights, n_components, start=None))]
pub fn align_pieces<'py>(
    py: Python<'py>,
    graph: Graph<'py>,
    products: PyReadonlyArray1<'py, f64>,
    weights: PyReadonlyArray1<'py, f64>,
    n_components: usize,
    start: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<(Flat<'py>, Bound<'py, PyArray1<u32>>)> {
    let (graph, products, weights) = (graph.neighborhoods()?, products.as_slice()?, weights.as_slice()?);
    let start = start.as_ref().map(|start| start.as_slice()).transpose()?;
    let (turns, open) = run(py, 1, |m: &dyn Monitor| {
        let connection = Connection::of_pieces(&graph, products.to_vec(), n_components)?;
        let turns = match start {
            Some(start) => connection.finish(start.to_vec(), true, m)?.turns,
            None => align::tree_of_pieces(&connection, weights, m)?.turns,
        };
        let open = align::open_edges(&connection, &turns, m)?;
        Ok((turns, open))
    })?;
    Ok((turns.into_pyarray(py), flat(open).into_pyarray(py)))
}

impl Alignment {
    pub(crate) fn atlas<'a, 'p>(
        &'a self,
        x: &'a unbend::Points<'p>,
        graph: &'a unbend::Neighborhoods<'a>,
    ) -> unbend::Result<Atlas<'a, 'p>> {
        Atlas::lend(x, graph, self.connection.n_components(), &self.kept)
    }
}

fn flat(edges: Vec<(u32, u32)>) -> Vec<u32> {
    edges.into_iter().flat_map(|(i, j)| [i, j]).collect()
}

fn to_dict(py: Python<'_>, aligned: Aligned) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("turns", aligned.turns.into_pyarray(py))?;
    dict.set_item("f", aligned.f)?;
    dict.set_item("aligned", aligned.aligned)?;
    dict.set_item("trace", aligned.trace)?;
    Ok(dict)
}
