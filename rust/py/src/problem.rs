//! The problem of a fit: points, graph, dimension, objective and threads, and values that are made from them on demand.

use std::sync::{Arc, OnceLock};

use numpy::{IntoPyArray, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use rayon::ThreadPool;
use unbend::charts::{self, Atlas, Source};
use unbend::embed::{Centering, Multigrid, Objective, Refiner, cut};
use unbend::measure::{self, FaithfulnessParams};
use unbend::monitor::Silent;
use unbend::{Error, Monitor, Neighborhoods, Result};

use crate::data::{Data, Flat, Graph, Matrix, NewGraph, points};
use crate::export::{Array, Lend, Name, Named, Output, Owned, methods};
use crate::measure::Means;
use crate::run::{Progress, made, pool, run_briefly, run_on};
use crate::tangents::Tangents;

/// Vectors of more numbers take long enough to look for signals meanwhile.
const BRIEF: usize = 1 << 18;

impl Named for Objective {
    const PARAMETER: &'static str = "objective";
    const NAMES: &'static [(&'static str, Self)] = &[("R", Self::R), ("R_N", Self::RN), ("R_C", Self::RC)];
}

/// Measures and frames of one embedding, without its coordinates.
#[pyclass(frozen, module = "unbend._core")]
pub struct Problem {
    #[pyo3(get)]
    points: Data,
    #[pyo3(get)]
    graph: Py<Graph>,
    #[pyo3(get)]
    n_components: usize,
    objective: Objective,
    include_self: bool,
    #[pyo3(get)]
    n_jobs: usize,
    /// The weight of each neighborhood, if they differ.
    weights: Option<Arc<[f64]>>,
    pool: Option<Arc<ThreadPool>>,
    cells: Cells,
}

/// Values that are made once, on first use.
#[derive(Default)]
struct Cells {
    refiner: OnceLock<Refiner>,
    multigrid: OnceLock<Multigrid>,
    centering: OnceLock<Centering>,
    spacing: OnceLock<f64>,
    shape: OnceLock<Option<(usize, usize)>>,
    lower_bound: OnceLock<f64>,
}

/// A problem during a call: its arrays in the types of the core.
#[derive(Clone, Copy)]
pub struct Task<'t, 'p> {
    pub x: Source<'t, 'p>,
    pub graph: &'t Neighborhoods<'t>,
    pub d: usize,
    pub monitor: &'t dyn Monitor,
    problem: &'t Problem,
}

impl<'t, 'p> Task<'t, 'p> {
    /// The points, for what cannot be done with distances alone.
    pub fn points(&self) -> Result<&'t unbend::Points<'p>> {
        self.x.points("a cut")
    }

    pub fn refiner(&self) -> Result<&'t Refiner> {
        let Task { x, graph, d, monitor, problem } = *self;
        made(&problem.cells.refiner, || {
            let monitor = &Silent(monitor);
            let refiner = Refiner::of(x, graph, d, problem.objective, problem.include_self, monitor)?;
            match self.weights() {
                Some(weights) => refiner.weighted(weights),
                None => Ok(refiner),
            }
        })
    }

    /// The weight of each neighborhood in means and in eq. 11, if they differ.
    fn weights(&self) -> Option<&'t [f64]> {
        self.problem.weights.as_deref()
    }

    /// The parameters of a measure of all neighborhoods.
    fn params(&self) -> FaithfulnessParams<'t> {
        FaithfulnessParams { include_self: self.include_self(), weights: self.weights(), centers: None }
    }

    /// The neighborhoods as refinement keeps them, if it has made them; else the data.
    fn neighborhoods(&self) -> Source<'t, 'p> {
        let shapes = self.problem.cells.refiner.get().and_then(Refiner::shapes);
        shapes.map_or(self.x, Source::from)
    }

    fn multigrid(&self) -> Result<&'t Multigrid> {
        made(&self.problem.cells.multigrid, || self.refiner()?.multigrid(self.graph, self.monitor))
    }

    fn centering(&self) -> Result<&'t Centering> {
        made(&self.problem.cells.centering, || Ok(Centering::new(self.graph.components())))
    }

    /// True if each point belongs to its own neighborhood.
    pub fn include_self(&self) -> bool {
        self.problem.include_self
    }

    fn spacing(&self) -> Result<f64> {
        made(&self.problem.cells.spacing, || cut::spacing(self.points()?, self.graph, self.monitor)).copied()
    }
}

methods! {
    Problem {
        #[new]
        #[pyo3(signature = (points, graph, n_components, objective, n_jobs, include_self=true, weights=None))]
        fn new(
            py: Python<'_>, points: Data, graph: Py<Graph>, n_components: usize, objective: Name<Objective>,
            n_jobs: usize, include_self: bool, weights: Option<Flat>,
        ) -> PyResult<Self> {
            let (objective, pool, cells) = (objective.0, pool(n_jobs)?.map(Arc::new), Cells::default());
            let weights = weights.map(|weights| Arc::from(&*weights));
            let problem =
                Problem { points, graph, n_components, objective, include_self, n_jobs, weights, pool, cells };
            problem.start(py, true, None, |task| Atlas::whole(task.x, task.graph, n_components).map(drop))?;
            Ok(problem)
        }

        /// The same problem on the graph without its torn members.
        fn sheet(&self, py: Python<'_>, torn: Flat<bool>) -> PyResult<Self> {
            let torn = &*torn;
            let graph = self.run(py, None, |task| cut::restricted(task.graph, torn))?;
            self.points.check_points("a cut")?;
            self.on(py, self.points.clone_ref(py), graph)
        }

        /// The same problem with its points breadth first along the graph, and the original index of each.
        /// `labels` are the components of the points.
        fn renumbered<'py>(
            &self, py: Python<'py>, labels: Flat<u32>,
        ) -> PyResult<(Bound<'py, PyArray1<u32>>, Problem)> {
            let labels = &*labels;
            let (order, graph, centering) = self.run(py, None, |task| {
                let order = task.graph.breadth_first(task.monitor)?;
                let (graph, _) = task.graph.renumbered(&order, task.monitor)?;
                if labels.len() != order.len() {
                    let (left, right) = ("labels", "the points");
                    return Err(Error::LengthMismatch { left, left_len: labels.len(), right, right_len: order.len() });
                }
                let centering = Centering::new(order.iter().map(|&i| labels[i as usize]).collect());
                Ok((order, graph, centering))
            })?;
            let weights = self.weights.as_ref().map(|w| order.iter().map(|&i| w[i as usize]).collect());
            let order = order.into_pyarray(py);
            let points = self.points.take(py, &order, &graph)?;
            let other = Problem { weights, ..self.on(py, points, graph)? };
            let _ = other.cells.centering.set(centering);
            Ok((order, other))
        }

        /// Tangents from `n_neighbors` points, or those of the graph; with `choose`, from as many as the noise needs.
        #[pyo3(signature = (n_neighbors, seed, progress=None, choose=false))]
        fn tangents(
            slf: &Bound<'_, Self>, n_neighbors: Option<usize>, seed: u64, progress: Progress, choose: bool,
        ) -> PyResult<Tangents> {
            let (n_neighbors, net) = slf.get().run(slf.py(), progress, |task| {
                let Task { x, graph, d, monitor, .. } = *task;
                let Source::Points(x) = x else { return Ok((None, None)) };
                let scale = if choose { charts::tangent_scale(x, graph, d, seed, monitor)? } else { n_neighbors };
                let usual = (graph.indices().len() as f64 / graph.len().max(1) as f64).round() as usize;
                let scale = scale.filter(|&k| k != usual);
                let net = scale.map(|k| charts::Net::new(x, d, k, seed, monitor)).transpose()?;
                Ok((scale, net))
            })?;
            Ok(Tangents::of(slf.clone().unbind(), n_neighbors, net))
        }

        /// The same problem with the scales of eq. 7 for embedding `y`.
        fn conformal(&self, py: Python<'_>, mut y: Matrix) -> PyResult<Self> {
            let y = y.lend()?;
            let refiner = self.run(py, None, |task| {
                task.refiner()?.conformal(task.x, &points("Y", y, task.monitor)?, task.graph, task.monitor)
            })?;
            let other = self.like(self.points.clone_ref(py), self.graph.clone_ref(py));
            let _ = other.cells.refiner.set(refiner);
            Ok(other)
        }

        /// (sum of w_i H_i) y.
        fn apply<'py>(&self, py: Python<'py>, y: Flat) -> PyResult<Vector<'py>> {
            let (y, ready) = (&*y, self.cells.refiner.get().is_some());
            self.vector(py, y.len(), ready, |task, out| task.refiner()?.apply(task.graph, y, out, task.monitor))
        }

        /// right_hand_side - (sum of w_i H_i) y, without its mean on every component, which is rounding.
        fn residual<'py>(&self, py: Python<'py>, right_hand_side: Flat, y: Flat) -> PyResult<Vector<'py>> {
            let (b, y) = (&*right_hand_side, &*y);
            let ready = self.cells.refiner.get().is_some() && self.cells.centering.get().is_some();
            self.vector(py, b.len(), ready, |task, out| {
                let mut residual = vec![0.0; out.len()];
                task.refiner()?.residual(task.graph, b, y, &mut residual, task.monitor)?;
                task.centering()?.apply(&residual, task.d, out)
            })
        }

        /// Approximately the inverse of sum of w_i H_i times `v`, without means on components.
        fn precondition<'py>(&self, py: Python<'py>, v: Flat) -> PyResult<Vector<'py>> {
            let (v, ready) = (&*v, self.cells.multigrid.get().is_some());
            self.vector(py, v.len(), ready, |task, out| {
                task.multigrid()?.cycle_centered(task.centering()?, v, task.d, out, task.monitor)
            })
        }

        /// Approximately the inverse of sum of w_i H_i times `v`.
        fn cycle<'py>(&self, py: Python<'py>, v: Flat) -> PyResult<Vector<'py>> {
            let (v, ready) = (&*v, self.cells.multigrid.get().is_some());
            self.vector(py, v.len(), ready, |task, out| task.multigrid()?.cycle(v, task.d, out, task.monitor))
        }
    }

    /// The number of neighbors from which tangents should be found, if it is not that of the graph.
    tangent_scale(seed: u64) -> Option<usize> = |task| {
        charts::tangent_scale(task.points()?, task.graph, task.d, seed, task.monitor)
    };

    /// The means of an embedding. The numbers of each neighborhood go to `per_point`, a row for each field.
    faithfulness(y: Matrix, per_point: Output) -> Means = |task| {
        let (y, x) = (points("Y", y, task.monitor)?, task.neighborhoods());
        Ok(measure::faithfulness_into(x, &y, task.graph, task.params(), per_point, task.monitor)?.into())
    };

    /// The mean of the lower bounds of all neighborhoods whose points do not coincide.
    lower_bound() -> f64 = |task| {
        let bound = || measure::mean_lower_bound(task.x, task.d, task.graph, task.params(), task.monitor);
        made(&task.problem.cells.lower_bound, bound).copied()
    };

    /// The right-hand side of eq. 11 for the frames of `y`, and the objective at `y`.
    frames(y: Matrix) -> (Array, f64) = |task| {
        let y = points("Y", y, task.monitor)?;
        let frames = task.refiner()?.frames(task.x, &y, task.graph, task.monitor)?;
        Ok((Owned(frames.right_hand_side), frames.objective))
    };

    /// `y` moved by `change` without its mean on every component, and the residual there.
    moved(right_hand_side: Flat, y: Flat, change: Flat) -> (Array, Array) = |task| {
        let (mut moved, mut residual) = (vec![0.0; y.len()], vec![0.0; y.len()]);
        task.centering()?.apply(change, task.d, &mut moved)?;
        moved.iter_mut().zip(y).for_each(|(moved, y)| *moved += y);
        task.refiner()?.residual(task.graph, right_hand_side, &moved, &mut residual, task.monitor)?;
        Ok((Owned(moved), Owned(residual)))
    };

    /// The diagonal of sum of w_i H_i, a number for each point.
    diagonal() -> Array = |task| Ok(Owned(task.refiner()?.diagonal(task.graph)));

    /// w_i for every neighborhood.
    weights() -> Array = |task| Ok(Owned(task.refiner()?.weights().to_vec()));

    /// For every point the sum of the weights of the neighborhoods that hold it.
    held() -> Array = |task| Ok(Owned(task.refiner()?.held().to_vec()));

    /// The median distance to the farthest neighbor.
    spacing() -> f64 = |task| task.spacing();

    /// Flag for every neighbor: true if `y` tears it off by more than `tau`. Slivers below `least` points do not count.
    torn(y: Matrix, tau: f64, least: usize, gap: f64) -> Array<bool> = |task| {
        let (y, spacing) = (points("Y", y, task.monitor)?, task.spacing()?);
        let mut torn = cut::torn(task.points()?, &y, task.graph, spacing, tau, task.monitor)?;
        cut::mend(&y, task.graph, &mut torn, least, gap * tau * spacing)?;
        Ok(Owned(torn))
    };

    /// The number of loops and voids of the data, if it can be found.
    shape() -> Option<(usize, usize)> = |task| {
        let find = || {
            let found = cut::shape(task.points()?, task.graph, task.d, task.monitor)?;
            Ok(found.map(|shape| (shape.loops, shape.voids)))
        };
        made(&task.problem.cells.shape, find).copied()
    };
}

/// A vector of Python that the core writes to.
type Vector<'py> = Bound<'py, PyArray1<f64>>;

impl Problem {
    /// The same problem on other data.
    fn on(&self, py: Python<'_>, points: Data, graph: Neighborhoods<'static>) -> PyResult<Self> {
        let graph = NewGraph(graph).into_pyobject(py)?.unbind();
        Ok(self.like(points, graph))
    }

    /// The same problem with nothing made of it yet.
    fn like(&self, points: Data, graph: Py<Graph>) -> Self {
        let Problem { n_components, objective, include_self, n_jobs, .. } = *self;
        let (weights, pool, cells) = (self.weights.clone(), self.pool.clone(), Cells::default());
        Problem { points, graph, n_components, objective, include_self, n_jobs, weights, pool, cells }
    }

    /// Runs `work` on the threads of the problem, watched.
    pub fn run<T: Send>(
        &self,
        py: Python<'_>,
        progress: Progress,
        work: impl FnOnce(&Task) -> Result<T> + Send,
    ) -> PyResult<T> {
        self.start(py, false, progress, work)
    }

    fn start<T: Send>(
        &self,
        py: Python<'_>,
        brief: bool,
        progress: Progress,
        work: impl FnOnce(&Task) -> Result<T> + Send,
    ) -> PyResult<T> {
        let (mut x, mut lists) = (self.points.borrowed(py)?, self.graph.get().lists(py)?);
        let (x, graph) = (x.lend()?, lists.lend()?);
        let work = |monitor: &dyn Monitor| {
            let held = x.checked(monitor)?;
            work(&Task { x: held.source(), graph: &graph, d: self.n_components, monitor, problem: self })
        };
        match brief {
            true => run_briefly(py, self.pool.as_deref(), work),
            false => run_on(py, self.pool.as_deref(), progress, work),
        }
    }

    /// A new vector of `len` numbers that `fill` writes; `ready` if nothing has to be made for it first.
    fn vector<'py>(
        &self,
        py: Python<'py>,
        len: usize,
        ready: bool,
        fill: impl FnOnce(&Task, &mut [f64]) -> Result<()> + Send,
    ) -> PyResult<Vector<'py>> {
        let out = PyArray1::zeros(py, len, false);
        let mut writable = out.readwrite();
        let slice = writable.as_slice_mut()?;
        self.start(py, ready && len <= BRIEF, None, |task| {
            let right_len = task.graph.len() * task.d;
            if len != right_len {
                let (left, right) = ("the vector", "the points, times n_components,");
                return Err(Error::LengthMismatch { left, left_len: len, right, right_len });
            }
            fill(task, slice)
        })?;
        drop(writable);
        Ok(out)
    }
}
