//! Short circuits and noise: `unbend::charts` for Python.

use pyo3::prelude::*;
use unbend::charts;

use crate::data::{Flat, Lists, Matrix, points};
use crate::export::{Array, Owned, functions, record};

record! {
    /// What pruning found.
    Pruning of charts::Pruned {
        dropped: Array<bool>, n_doubtful: usize, n_joining: usize, off_tangent: f64, angle: f64,
    }
}

functions! {
    /// The short circuits of a graph.
    prune(x: Matrix, graph: Lists, n_components: usize) -> Pruning = |m| {
        charts::prune(&points("X", x, m)?, &graph, n_components, m).map(Pruning::from)
    };

    /// All points, moved towards the surface that they lie near.
    projected(x: Matrix, graph: Lists, n_components: usize) -> Array = |m| {
        charts::projected(&points("X", x, m)?, &graph, n_components, m).map(Owned)
    };

    /// Some points, each projected on the plane of its `k` listed points.
    settled(x: Matrix, rows: Flat<u32>, lists: Flat<u32>, k: usize, n_components: usize) -> Array = |m| {
        charts::settled(&points("X", x, m)?, rows, lists, k, n_components, m).map(Owned)
    };
}
