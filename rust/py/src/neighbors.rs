//! `unbend::neighbors` and `unbend::charts` for Python.

use pyo3::prelude::*;
use unbend::neighbors::approximate::Target;
use unbend::neighbors::{self, Method};
use unbend::{Knn, Search, charts};

use crate::data::{Flat, Lists, Matrix, NewGraph, points};
use crate::export::{Array, Name, Named, Owned, functions, record};

impl Named for Search {
    const PARAMETER: &'static str = "method";
    const NAMES: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("tree", Self::Tree), ("blocked", Self::Blocked)];
}

impl Named for Method {
    const PARAMETER: &'static str = "method";
    const NAMES: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("exact", Self::Exact), ("approximate", Self::Approximate)];
}

fn parts(knn: Knn) -> (NewGraph, Array) {
    (NewGraph(knn.neighborhoods), Owned(knn.distances))
}

record! {
    /// Result of pruning.
    Pruning of charts::Pruned {
        dropped: Array<bool>, n_doubtful: usize, n_joining: usize, off_tangent: f64, angle: f64,
    }
}

functions! {
    /// The graph and distances of the `k` nearest neighbors.
    nearest(x: Matrix, k: usize, method: Name<Search>) -> (NewGraph, Array) = |m| {
        neighbors::nearest(&points("X", x, m)?, k, method, m).map(parts)
    };

    /// The same with the recall, which is None if the search was exact.
    find_nearest(
        x: Matrix, k: usize, method: Name<Method>, recall: f64, seed: u64
    ) -> (NewGraph, Array, Option<f64>) = |m| {
        let found = neighbors::find(&points("X", x, m)?, k, method, &Target { recall, seed }, m)?;
        let (graph, distances) = parts(found.knn);
        Ok((graph, distances, found.recall))
    };

    /// The graph and distances of all points, of which the first have those of `graph`, and the nearest old points
    /// of each new one; None if a search is as fast.
    grown(x: Matrix, graph: Lists, distances: Flat) -> Option<(NewGraph, Array, Array<u32>)> = |m| {
        let found = neighbors::grown(&points("X", x, m)?, &graph, distances, m)?;
        Ok(found.map(|grown| {
            let (graph, distances) = parts(grown.knn);
            (graph, distances, Owned(grown.among_old))
        }))
    };

    /// (indices, distances) of the `k` nearest rows of `x` for every new point.
    query(x: Matrix, new: Matrix, k: usize, method: Name<Search>) -> (Array<u32>, Array) = |m| {
        let found = neighbors::query(&points("X", x, m)?, &points("new", new, m)?, k, method, m)?;
        Ok((Owned(found.indices), Owned(found.distances)))
    };

    /// The graph and distances of all neighbors within `radius`.
    within(x: Matrix, radius: f64, method: Name<Search>) -> (NewGraph, Array) = |m| {
        neighbors::within(&points("X", x, m)?, radius, method, m).map(parts)
    };

    /// Flat (bases, charts, singular values, residual fractions) of all neighborhoods.
    #[pyo3(name = "charts")]
    charts_py(
        x: Matrix, graph: Lists, n_components: usize, include_self: bool
    ) -> (Array, Array, Array, Array) = |m| {
        let c = charts::charts(&points("X", x, m)?, &graph, n_components, include_self, m)?;
        Ok((Owned(c.bases), Owned(c.charts), Owned(c.singular_values), Owned(c.residual_fractions)))
    };

    /// Local variances of some points at some scales, and the remaining variance; flat.
    spectra(x: Matrix, centers: Flat<u32>, scales: Vec<usize>, n_values: usize) -> Array = |m| {
        charts::spectra(&points("X", x, m)?, centers, scales, n_values, m).map(Owned)
    };

    /// The same of known neighborhoods, flat, `size` points each.
    spectra_of(x: Matrix, lists: Flat<u32>, size: usize, scales: Vec<usize>, n_values: usize) -> Array = |m| {
        charts::spectra_of(&points("X", x, m)?, lists, size, scales, n_values, m).map(Owned)
    };

    /// The short circuits of a graph.
    prune(x: Matrix, graph: Lists, n_components: usize) -> Pruning = |m| {
        charts::prune(&points("X", x, m)?, &graph, n_components, m).map(Pruning::from)
    };

    /// All points, moved toward the surface that they lie near.
    projected(x: Matrix, graph: Lists, n_components: usize) -> Array = |m| {
        charts::projected(&points("X", x, m)?, &graph, n_components, m).map(Owned)
    };

    /// Some points, each projected on the plane of its `k` listed points.
    settled(x: Matrix, rows: Flat<u32>, lists: Flat<u32>, k: usize, n_components: usize) -> Array = |m| {
        charts::settled(&points("X", x, m)?, rows, lists, k, n_components, m).map(Owned)
    };
}
