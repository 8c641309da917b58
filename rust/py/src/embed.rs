//! Geodesic distances, new points, and changes of finished embeddings: `unbend::embed` for Python.

use numpy::{PyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use rayon::ThreadPool;
use unbend::embed::{self, isomap};
use unbend::neighbors::paths::{self, Lengths};
use unbend::{Monitor, Result};

use crate::data::{Flat, Lists, Matrix, points};
use crate::export::{Array, Lend, Owned, functions, methods};
use crate::run::{Progress, pool, run, run_on};

functions! {
    /// Flat (places, errors) of the new points, each carried by its `k` listed points by a motion or an affine map.
    carry(
        source: Matrix, target: Matrix, new: Matrix, lists: Flat<u32>, k: usize, affine: bool
    ) -> (Array, Array) = |m| {
        let (source, target) = (points("source", source, m)?, points("target", target, m)?);
        let carry = if affine { embed::extend } else { embed::carry };
        let carried = carry(&source, &target, &points("new", new, m)?, lists, k, m)?;
        Ok((Owned(carried.placed), Owned(carried.errors)))
    };

    /// (the d x d matrix, flat, the number of steps).
    rectify(x: Matrix, y: Matrix, graph: Lists) -> (Array, usize) = |m| {
        let found = embed::rectify(&points("X", x, m)?, &points("Y", y, m)?, &graph, m)?;
        Ok((Owned(found.matrix), found.steps))
    };

    /// The mean distance of each point to its neighbors.
    spread(x: Matrix, graph: Lists) -> Array = |m| isomap::spread(&points("X", x, m)?, &graph, m).map(Owned);
}

/// The embedding, flat, with its components straightened and set next to each other.
#[pyfunction]
pub fn lay_out(py: Python<'_>, embedding: &Bound<'_, PyArray2<f64>>, labels: Flat<u32>) -> PyResult<Array> {
    let (d, labels) = (embedding.shape()[1], &*labels);
    let mut flat = embedding.extract::<Flat>()?.to_vec();
    run(py, 1, None, |_| embed::lay_out(&mut flat, d, labels).map(|()| Owned(flat)))
}

/// The undirected graph with the length of every edge.
#[pyclass(frozen, module = "unbend._core")]
pub struct Paths {
    lengths: Lengths,
    n_jobs: usize,
}

impl Paths {
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        progress: Progress,
        work: impl FnOnce(&Lengths, &dyn Monitor) -> Result<T> + Send,
    ) -> PyResult<T> {
        run(py, self.n_jobs, progress, |m| work(&self.lengths, m))
    }
}

methods! {
    Paths {
        #[new]
        fn new(
            py: Python<'_>, mut x: Matrix, mut graph: Lists, spread: Option<Flat>, n_jobs: usize
        ) -> PyResult<Self> {
            let (x, graph, spread) = (x.lend()?, graph.lend()?, spread.as_deref());
            let lengths = run(py, n_jobs, None, |m| {
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

        /// Between all members of a component.
        #[pyo3(signature = (members, progress=None))]
        fn triangle(&self, py: Python<'_>, members: Flat<u32>, progress: Progress) -> PyResult<Triangle> {
            let members = &*members;
            let triangle = self.run(py, progress, |lengths, m| isomap::Triangle::new(lengths, members, m))?;
            Ok(Triangle { triangle, pool: pool(self.n_jobs)? })
        }
    }

    /// From each source to all points, flat, in units.
    distances_from(sources: Flat<u32>) -> Array<f32> = |lengths, m| {
        isomap::distances_from(lengths, sources, m).map(Owned)
    };

    /// From each source to the points that it lists, flat; infinite beyond its limit.
    to_listed(sources: Flat<u32>, lists: Flat<u32>, limits: Flat) -> Array = |lengths, m| {
        paths::to_listed(lengths, sources, lists, limits, m).map(Owned)
    };

    /// From new points to all, flat, in units.
    distances_to_new(lists: Flat<u32>, lengths: Flat, k: usize) -> Array = |graph, m| {
        isomap::distances_to_new(graph, lists, lengths, k, m).map(Owned)
    };
}

/// The distances between all members of a component, and the threads that products run on.
#[pyclass(frozen, module = "unbend._core")]
pub struct Triangle {
    triangle: isomap::Triangle,
    pool: Option<ThreadPool>,
}

impl Triangle {
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        progress: Progress,
        work: impl FnOnce(&isomap::Triangle, &dyn Monitor) -> Result<T> + Send,
    ) -> PyResult<T> {
        run_on(py, self.pool.as_ref(), progress, |m| work(&self.triangle, m))
    }
}

methods! {
    Triangle {}

    /// sum over j of D(i, j)^2 v(j).
    squares_times(v: Flat) -> Array = |triangle, m| triangle.squares_times(v, m).map(Owned);

    /// The matrix of squares, flat.
    squares() -> Array = |triangle, _m| Ok(Owned(triangle.squares()));

    /// Over all pairs: count, sums of D, |y_i - y_j|, their squares, their products, and D^4.
    moments(y: Matrix) -> [f64; 7] = |triangle, m| triangle.moments(&points("Y", y, m)?, m);
}
