//! The tangents of a problem: greedy embeddings, frames, and cuts.

use std::sync::OnceLock;

use ndarray::Array2;
use pyo3::prelude::*;
use unbend::Result;
use unbend::charts::{Atlas, AtlasCache, Net};
use unbend::embed::align::{self, AnnealParams, Connection};
use unbend::embed::cut::{self, Unroller};
use unbend::embed::{self, GreedyParams};

use crate::data::{Flat, Lists};
use crate::export::{Array, Lend, Name, Named, Owned, Table, methods, record};
use crate::problem::{Problem, Task};
use crate::run::{Progress, made, run};

/// Tangents from a net of points, or from the neighborhoods of the graph.
#[pyclass(frozen, module = "unbend._core")]
pub struct Tangents {
    problem: Py<Problem>,
    /// The number of neighbors that they are from, if those are not the neighborhoods of the graph.
    #[pyo3(get)]
    n_neighbors: Option<usize>,
    net: Option<Net>,
    charts: OnceLock<AtlasCache>,
    connection: OnceLock<Connection>,
}

/// Tangents during a call.
struct Aligner<'t, 'p> {
    task: &'t Task<'t, 'p>,
    tangents: &'t Tangents,
}

impl<'t, 'p> Aligner<'t, 'p> {
    fn atlas(&self) -> Result<Atlas<'t, 'p>> {
        let Task { x, graph, d, .. } = *self.task;
        let charts = made(&self.tangents.charts, || Ok(self.new_atlas()?.keep()))?;
        Atlas::lend(x, graph, d, charts)
    }

    fn new_atlas(&self) -> Result<Atlas<'t, 'p>> {
        let (Task { x, graph, d, monitor, .. }, net) = (*self.task, self.tangents.net.as_ref());
        match self.task.include_self() {
            true => Atlas::new(x, graph, net, d, monitor),
            false => Atlas::without_self(x.points("include_self = False")?, graph, net, d, monitor),
        }
    }

    fn connection(&self) -> Result<&'t Connection> {
        let reversed = || Ok(self.task.refiner()?.reversed());
        made(&self.tangents.connection, || {
            Connection::with_reversed(&self.atlas()?, reversed()?, self.task.monitor)
        })
    }
}

/// The charts that a greedy embedding is made of.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    Neighborhood,
    Overlap,
    /// The same as `Overlap`, each neighborhood at once.
    Paper,
}

impl Named for Source {
    const PARAMETER: &'static str = "tangent";
    const NAMES: &'static [(&'static str, Self)] =
        &[("neighborhood", Self::Neighborhood), ("overlap", Self::Overlap), ("paper", Self::Paper)];
}

record! {
    Trace of embed::Trace { steps: usize, overlap: usize, waits: usize, forced: usize, other_side: usize }
}

#[derive(IntoPyObject)]
struct Greedy {
    /// That of eq. 11 for frames carried along the steps, if it is wanted.
    right_hand_side: Option<Array>,
    embedding: Array,
    labels: Array<u32>,
    r_n: Array,
    kept: Array<u32>,
    traces: Vec<Trace>,
}

#[derive(IntoPyObject)]
struct Aligned {
    rotations: Array,
    f: f64,
    aligned: f64,
    loops: Table<u32>,
    trace: Vec<f64>,
}

impl From<align::Aligned> for Aligned {
    fn from(align::Aligned { rotations, f, aligned, open, trace }: align::Aligned) -> Self {
        Aligned { rotations: Owned(rotations), f, aligned, loops: pairs(open), trace }
    }
}

#[derive(IntoPyObject)]
struct Tree {
    rotations: Array,
    f: f64,
    aligned: f64,
    loops: Table<u32>,
    trace: Vec<f64>,
    one_sided: bool,
}

#[derive(IntoPyObject)]
struct Seam {
    points: Array<u32>,
    partners: Array<u32>,
    reversed: bool,
    ends: bool,
    n_pairs: usize,
}

impl From<cut::Seam> for Seam {
    fn from(cut::Seam { sides: [points, partners], reversed, ends, n_pairs }: cut::Seam) -> Self {
        Seam { points: Owned(points), partners: Owned(partners), reversed, ends, n_pairs }
    }
}

methods! {
    Tangents {}

    /// An embedding that aligns each neighborhood with those before it.
    greedy(
        tangent: Name<Source>, n_init: usize, start: Option<usize>, seed: u64, names: Option<Flat<u32>> = None;
        assemble: Option<(f64, f64)>
    ) -> Greedy = |aligner| {
        let Task { x, graph, d, monitor, .. } = *aligner.task;
        // Charts are not kept: they are used again only if the embedding is cut.
        let atlas = match tangent {
            Source::Overlap | Source::Paper => Atlas::whole(x, graph, d),
            Source::Neighborhood if aligner.tangents.charts.get().is_some() => aligner.atlas(),
            Source::Neighborhood => aligner.new_atlas(),
        }?;
        let params = GreedyParams { n_init, start, seed, names, at_once: tangent == Source::Paper };
        let found = embed::greedy(&atlas, &params, monitor)?;
        let right_hand_side = match assemble {
            Some(limits) if found.is_within(limits) => embed::carried_frames(&atlas, &found.parents, monitor)?
                .map(|rotations| aligner.task.refiner()?.right_hand_side(&atlas, &rotations, monitor))
                .transpose()?,
            _ => None,
        };
        Ok(Greedy {
            right_hand_side: right_hand_side.map(Owned),
            embedding: Owned(found.embedding),
            labels: Owned(found.labels),
            r_n: Owned(found.r_n),
            kept: Owned(found.kept),
            traces: found.traces.into_iter().map(Trace::from).collect(),
        })
    };

    /// Frames carried along the tree of greatest agreement.
    tree() -> Tree = |aligner| {
        let tree = align::tree(aligner.connection()?, &aligner.atlas()?, aligner.task.monitor)?;
        let Aligned { rotations, f, aligned, loops, trace } = tree.aligned.into();
        Ok(Tree { rotations, f, aligned, loops, trace, one_sided: tree.one_sided })
    };

    /// Frames from the rows of vectors of the connection matrix.
    round(vectors: Flat, sweep: bool) -> Aligned = |aligner| {
        let (connection, m) = (aligner.connection()?, aligner.task.monitor);
        connection.finish(align::round(connection, vectors, m)?, sweep, m).map(Aligned::from)
    };

    /// Frames settled by sweeps, if wanted.
    finish(rotations: Flat, sweep: bool) -> Aligned = |aligner| {
        aligner.connection()?.finish(rotations.to_vec(), sweep, aligner.task.monitor).map(Aligned::from)
    };

    /// Frames annealed from `start`, or from random ones.
    anneal(
        start: Option<Flat>, seed: u64; acceptance: Option<f64>, accepted: Option<usize>, tried: Option<usize>,
        cooling: Option<f64>, anew: Option<f64>, enough: Option<f64>, rounds: Option<usize>, alone: Option<bool>
    ) -> Aligned = |aligner| {
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
            alone: alone.unwrap_or(usual.alone),
        };
        align::anneal(aligner.connection()?, start, &params, aligner.task.monitor).map(Aligned::from)
    };

    /// The connection matrix: row pointer, indices and blocks, row after row.
    blocks() -> (Array<i64>, Array<u32>, Array) = |aligner| {
        let connection = aligner.connection()?;
        let (indptr, indices) = connection.graph().clone().into_parts();
        let blocks = align::blocks(connection, aligner.task.monitor)?;
        Ok((Owned(indptr.unwrap_or_default()), Owned(indices), Owned(blocks)))
    };

    /// The frames that fit an embedding best, on the whole graph or without torn pairs.
    frames_of(y: Flat, torn: Option<Flat<bool>> = None) -> Array = |aligner| {
        embed::frames_of(&aligner.atlas()?, y, torn, aligner.task.monitor).map(Owned)
    };

    /// The right-hand side of eq. 11, and where its solution starts.
    equation(rotations: Flat) -> (Array, Array) = |aligner| {
        let (task, atlas) = (aligner.task, aligner.atlas()?);
        let right_hand_side = task.refiner()?.right_hand_side(&atlas, rotations, task.monitor)?;
        let start = embed::place(aligner.connection()?, &atlas, rotations, task.monitor)?;
        Ok((Owned(right_hand_side), Owned(start)))
    };

    /// Points laid out along shortest paths, with the number of those that were forced, and the roots.
    unroll(tau: f64) -> (Array, usize, Array<u32>) = |aligner| {
        let (atlas, m) = (aligner.atlas()?, aligner.task.monitor);
        let unrolled = Unroller::new(aligner.connection()?, &atlas, m)?.unroll(tau, m)?;
        Ok((Owned(unrolled.y), unrolled.forced, Owned(unrolled.roots)))
    };

    /// The embedding with its overlapping parts laid out again, and the number of points that moved.
    relayout(y: Flat, rotations: Flat) -> (Array, usize) = |aligner| {
        let (atlas, m) = (aligner.atlas()?, aligner.task.monitor);
        let (laid, taken) = Unroller::new(aligner.connection()?, &atlas, m)?.relayout(y, rotations, m)?;
        Ok((Owned(laid.y), taken))
    };

    /// The seams of a cut, among the first `nearest` neighbors of each point.
    seams(torn: Flat<bool>, y: Flat, rotations: Flat, least: usize, nearest: usize) -> Vec<Seam> = |aligner| {
        let (Task { graph, monitor, .. }, connection) = (*aligner.task, aligner.connection()?);
        let x = aligner.task.points()?;
        let seams = match cut::nearer(graph, torn, nearest)? {
            Some((graph, torn)) => cut::seams(x, connection, &graph, &torn, y, rotations, least, monitor),
            None => cut::seams(x, connection, graph, torn, y, rotations, least, monitor),
        };
        Ok(seams?.into_iter().map(Seam::from).collect())
    };
}

impl Tangents {
    /// Those of a net, or those of the graph.
    pub fn of(problem: Py<Problem>, n_neighbors: Option<usize>, net: Option<Net>) -> Self {
        Tangents { problem, n_neighbors, net, charts: OnceLock::new(), connection: OnceLock::new() }
    }

    fn run<T: Send>(
        &self,
        py: Python<'_>,
        progress: Progress,
        work: impl FnOnce(&Aligner) -> Result<T> + Send,
    ) -> PyResult<T> {
        self.problem.get().run(py, progress, |task| work(&Aligner { task, tangents: self }))
    }
}

fn pairs(edges: Vec<(u32, u32)>) -> Table<u32> {
    let rows: Vec<[u32; 2]> = edges.into_iter().map(|(i, j)| [i, j]).collect();
    Owned(Array2::from(rows))
}

/// The rotations of separately embedded pieces, from `start` or along the least `weights`, and the edges left open.
#[pyfunction]
#[pyo3(signature = (graph, products, weights, n_components, start=None))]
pub fn align_pieces(
    py: Python<'_>,
    mut graph: Lists,
    products: Flat,
    weights: Flat,
    n_components: usize,
    start: Option<Flat>,
) -> PyResult<(Array, Table<u32>)> {
    let (graph, products, weights, start) = (graph.lend()?, products.to_vec(), &*weights, start.as_deref());
    run(py, 1, None, |m| {
        let connection = Connection::of_pieces(&graph, products, n_components)?;
        let aligned = match start {
            Some(start) => connection.finish(start.to_vec(), true, m)?,
            None => align::tree_of_pieces(&connection, weights, m)?,
        };
        Ok((Owned(aligned.rotations), pairs(aligned.open)))
    })
}
