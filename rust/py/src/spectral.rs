//! `unbend::spectral` for Python.

use ndarray::Array2;
use pyo3::prelude::*;
use unbend::csr::{Csr, CsrView};
use unbend::spectral::{
    self, Barycenter, DfmParams, EigenParams, HlleParams, Kernel, LleParams, LtsaParams, MlleParams, Null,
    Solver, Spectrum,
};
use unbend::{Monitor, Neighborhoods, Result};

use crate::data::{Flat, Graph, Matrix, points};
use crate::export::{Array, Lend, Name, Named, Owned, Table, functions, methods, record};
use crate::run::{Progress, run};

/// Row pointer, indices and entries.
type Rows = (Array<i64>, Array<u32>, Array);

impl Named for Barycenter {
    const PARAMETER: &'static str = "weights";
    const NAMES: &'static [(&'static str, Self)] =
        &[("tikhonov", Self::Tikhonov), ("ldr", Self::LeastNorm), ("convex", Self::Convex)];
}

impl Named for Kernel {
    const PARAMETER: &'static str = "kernel";
    const NAMES: &'static [(&'static str, Self)] = &[("window", Self::Window), ("heat", Self::Heat(None))];
}

/// A kernel with the width `eps`.
fn with_width(kernel: Kernel, eps: Option<f64>) -> Kernel {
    if kernel == Kernel::Window { kernel } else { Kernel::Heat(eps) }
}

/// W_i of every neighborhood.
#[pyclass(frozen, module = "unbend._core")]
pub struct LocalWeights {
    weights: spectral::LocalWeights,
    graph: Py<Graph>,
    n_jobs: usize,
}

impl LocalWeights {
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        progress: Progress,
        work: impl FnOnce(&spectral::LocalWeights, &Neighborhoods, &dyn Monitor) -> Result<T> + Send,
    ) -> PyResult<T> {
        let mut lists = self.graph.get().lists(py)?;
        let graph = lists.lend()?;
        run(py, self.n_jobs, progress, |m| work(&self.weights, &graph, m))
    }
}

/// The class with a constructor for each algorithm: `name(parameters) => core parameters`.
macro_rules! constructors {
    ($($name:ident($($argument:ident: $kind:ty),*) => $params:expr;)*) => { methods! {
        LocalWeights {
            $(
                #[staticmethod]
                #[pyo3(signature = (x, graph, $($argument,)* n_jobs, progress=None))]
                fn $name(
                    py: Python<'_>,
                    mut x: Matrix,
                    graph: Py<Graph>,
                    $(mut $argument: $kind,)*
                    n_jobs: usize,
                    progress: Progress,
                ) -> PyResult<Self> {
                    $(let $argument = $argument.lend()?;)*
                    let (x, params, mut lists) = (x.lend()?, $params, graph.get().lists(py)?);
                    let neighborhoods = lists.lend()?;
                    let work = |m: &dyn Monitor| spectral::$name(&points("X", x, m)?, &neighborhoods, &params, m);
                    let weights = run(py, n_jobs, progress, work)?;
                    drop(lists);
                    Ok(LocalWeights { weights, graph, n_jobs })
                }
            )*
        }

        /// The alignment matrix.
        matrix() -> Rows = |weights, graph, m| weights.matrix(graph, m).map(rows);

        /// The weights of the undirected graph, A + A'.
        affinity() -> Rows = |weights, graph, m| weights.affinity(graph, m).map(rows);

        /// |W_i Y_i|^2 of every neighborhood.
        phi(y: Matrix) -> Array = |weights, graph, m| weights.phi(graph, &points("Y", y, m)?, m).map(Owned);

        /// W_i of one neighborhood, with columns for the point itself and its neighbors.
        row(i: usize) -> Table = |weights, graph, _m| {
            let rows = weights.dense(graph, i)?;
            let shape = (rows.len(), graph.of(i).len() + 1);
            Ok(Owned(Array2::from_shape_vec(shape, rows.concat()).unwrap_or_default()))
        };

        /// The sums of the weights of each point's edges, for LEM and DFM.
        degrees(symmetrized: bool) -> Array = |weights, graph, _m| weights.degrees(graph, symmetrized).map(Owned);
    } };
}

constructors! {
    lle(kind: Name<Barycenter>, reg: f64, n_components: Option<usize>) =>
        LleParams { barycenter: kind, reg, n_components };
    mlle(n_components: usize, reg: f64) => MlleParams { n_components, reg };
    ltsa(n_components: usize, include_self: bool) => LtsaParams { n_components, include_self };
    hlle(n_components: usize, include_self: bool) => HlleParams { n_components, include_self };
    lem(kernel: Name<Kernel>, eps: Option<f64>) => with_width(kernel, eps);
    dfm(alpha: f64, kernel: Name<Kernel>, eps: Option<f64>) => DfmParams { alpha, kernel: with_width(kernel, eps) };
}

fn rows(matrix: Csr<f64>) -> Rows {
    (Owned(matrix.indptr), Owned(matrix.indices), Owned(matrix.values))
}

record! {
    /// The smallest eigenvalues with their vectors, and how they were found.
    Eigenvectors of Spectrum {
        vectors: Table, values: Array, residuals: Array, norm: f64, solver: SolverName, factor_entries: usize,
        factor_bytes: usize, shift: f64, steps: usize, converged: bool,
    }
}

#[derive(IntoPyObject)]
#[pyo3(transparent)]
pub struct SolverName(&'static str);

impl From<Solver> for SolverName {
    fn from(solver: Solver) -> Self {
        SolverName(match solver {
            Solver::Dense => "dense",
            Solver::Factor => "factor",
            Solver::Polynomial => "polynomial",
        })
    }
}

functions! {
    /// The smallest eigenvalues and their vectors of a matrix by its rows.
    smallest_eigenvectors(
        indptr: Flat<i64>, indices: Flat<u32>, data: Flat, n_vectors: usize, constants: bool,
        labels: Option<Flat<u32>>, degrees: Option<Flat>, memory: Option<usize>, seed: u64
    ) -> Eigenvectors = |m| {
        let null = labels.map_or(if constants { Null::Constants } else { Null::Nothing }, Null::Labels);
        let params = EigenParams { n_vectors, memory: memory.unwrap_or(usize::MAX), seed };
        let matrix = CsrView::new(indptr, indices, data)?;
        spectral::smallest_eigenvectors(&matrix, null, degrees, &params, m).map(Eigenvectors::from)
    };
}
