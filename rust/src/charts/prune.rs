//! Pruning: finds the edges of a neighborhood graph that are short circuits between distant parts of the surface.
//!
//! An edge is *doubtful* if its part off the tangents of its ends, or the angle between these tangents, is far above
//! the usual values of the same data: above the third quartile by [`DOUBTFUL`] times the distance of the quartiles. It
//! is
//! *wrong* above [`WRONG`] times that distance. Tangents are found from edges that are not doubtful, three times in
//! turn, so that outliers do not shape them. Then doubtful edges that join separate pieces are taken back, the least
//! doubtful first, and so are all edges whose ends a path of the kept edges joins that is not much longer.
//!
//! If noise hides the tangents, the quartiles are wide and nothing is pruned. Where no edge is doubtful, one round is
//! enough: the next would find the same tangents.
//!
//! Cost: O(n k (q d + d^3)) for the edges and O(n (k q^2 + q^3)) for the tangents. Memory: q d numbers per point.

use super::plane::{PlaneFit, quantile};
use super::tangent::{check_components, check_lengths};
use crate::error::Result;
use crate::linalg::{dot, long_dots, singular_values};
use crate::monitor::{Monitor, Silent};
use crate::neighbors::Neighborhoods;
use crate::neighbors::paths::{Lengths, Tree};
use crate::parallel::{fill_rows, map_blocks, vectorized};
use crate::points::Points;
use crate::union_find::{Joined, UnionFind};

const STAGE: &str = "pruning";

/// Data of this many columns are wide.
const WIDE: usize = 64;

/// Rounds of tangents and edges.
const ROUNDS: usize = 3;

/// An edge is doubtful, and wrong, above Q3 + these multiples of (Q3 - Q1).
const DOUBTFUL: f64 = 1.5;
const WRONG: f64 = 4.0;

/// Edges with a smaller part off the tangents, as a share of their length, are not doubtful, and not wrong.
const SMALL: f64 = 0.15;
const MODERATE: f64 = 0.3;

/// The same for the sine of the angle between the tangents, as multiples of the shares above.
const ANGLE: f64 = 2.0;

/// An edge is taken back if a path of kept edges between its ends is at most this many times as long.
const DETOUR: f64 = 3.0;

/// Short circuits of a graph.
#[derive(Debug, Clone, Default)]
pub struct Pruned {
    /// Flag for every neighbor of every point: true if the edge to it is dropped.
    pub dropped: Vec<bool>,
    /// Number of doubtful or wrong edges, those that were taken back included.
    pub n_doubtful: usize,
    /// Number of doubtful edges that were taken back because they join pieces.
    pub n_joining: usize,
    /// The median part of an edge off the tangents, as a share of its length: near 0 on a surface, near 1 in noise.
    pub off_tangent: f64,
    /// The median sine of the angle between the tangents of neighbors.
    pub angle: f64,
}

/// Finds the short circuits of a graph, for a surface of dimension `n_components`.
///
/// Fails if the graph belongs to other points, or if `n_components` is 0 or exceeds the dimension of the data.
pub fn prune(
    points: &Points,
    graph: &Neighborhoods,
    n_components: usize,
    monitor: &dyn Monitor,
) -> Result<Pruned> {
    check_components(n_components, points.dim())?;
    check_lengths(points, "X", graph)?;
    let mut doubts = Doubts::none(graph);
    let mut found = Pruned::default();
    for _ in 0..ROUNDS {
        let bases = tangents(points, graph, &doubts, n_components, monitor)?;
        let edges = Edges::measured(points, graph, &bases, n_components, monitor)?;
        doubts = edges.doubts();
        (found.off_tangent, found.angle) = (edges.median(0), edges.median(1));
        if doubts.doubtful.iter().all(|doubt| *doubt <= 1.0) {
            break;
        }
    }
    found.n_doubtful = doubts.doubtful.iter().filter(|doubt| **doubt > 1.0).count();
    found.dropped = doubts.doubtful.iter().map(|doubt| *doubt > 1.0).collect();
    found.n_joining = join(graph, &doubts, &mut found.dropped);
    restore(points, graph, &mut found.dropped, monitor)?;
    Ok(found)
}

/// Score of every edge: above 1 it is doubtful, or wrong.
struct Doubts {
    doubtful: Vec<f64>,
    wrong: Vec<f64>,
}

impl Doubts {
    fn none(graph: &Neighborhoods) -> Self {
        let zeros = vec![0.0; graph.indices().len()];
        Doubts { doubtful: zeros.clone(), wrong: zeros }
    }

    /// Writes the neighbors of `i` that are not doubtful, or the d + 1 least doubtful if these are more.
    fn trusted(&self, graph: &Neighborhoods, i: usize, d: usize, out: &mut Vec<u32>, sorted: &mut Vec<f64>) {
        let list = graph.of(i);
        let doubts = &self.doubtful[graph.start(i)..][..list.len()];
        sorted.clear();
        sorted.extend_from_slice(doubts);
        let at = d.min(list.len().saturating_sub(1));
        let limit = if list.is_empty() { 1.0 } else { *sorted.select_nth_unstable_by(at, f64::total_cmp).1 };
        out.clear();
        out.extend(list.iter().zip(doubts).filter(|(_, doubt)| **doubt <= limit.max(1.0)).map(|(&j, _)| j));
    }
}

fn tangents(
    points: &Points,
    graph: &Neighborhoods,
    doubts: &Doubts,
    d: usize,
    monitor: &dyn Monitor,
) -> Result<Vec<f64>> {
    let q = points.dim();
    let mut bases = vec![0.0; points.len() * q * d];
    let state = || (PlaneFit::default(), Vec::new(), Vec::new());
    fill_rows(&mut bases, q * d, STAGE, monitor, state, |(fit, trusted, sorted), i, basis| {
        doubts.trusted(graph, i, d, trusted, sorted);
        fit.trimmed(points, i, trusted, d, basis);
    })?;
    Ok(bases)
}

/// For every edge its largest part off the tangents of its ends, and the sine of the angle between these.
struct Edges(Vec<[f64; 2]>);

impl Edges {
    fn measured(
        points: &Points,
        graph: &Neighborhoods,
        bases: &[f64],
        d: usize,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let q = points.dim();
        let basis = |i: usize| &bases[i * q * d..][..q * d];
        let blocks = map_blocks(points.len(), STAGE, monitor, |block| {
            let (mut own, mut step, mut products) = (vec![0.0; q], vec![0.0; q], vec![0.0; d * d + d]);
            let mut edges = Vec::new();
            for i in block {
                points.copy_row(i, &mut own);
                for &j in graph.of(i) {
                    points.copy_row(j as usize, &mut step);
                    step.iter_mut().zip(&own).for_each(|(s, o)| *s -= o);
                    let bases = [basis(i), basis(j as usize)];
                    edges.push(vectorized(
                        #[inline(always)]
                        || {
                            let [off, other] = bases.map(|basis| off_tangent(&step, basis, &mut products));
                            [off.max(other), sine(bases, q, d, &mut products)]
                        },
                    ));
                }
            }
            edges
        })?;
        Ok(Edges(blocks.concat()))
    }

    fn quantile(&self, which: usize, share: f64) -> f64 {
        let mut values: Vec<f64> = self.0.iter().map(|edge| edge[which]).collect();
        quantile(&mut values, share)
    }

    fn median(&self, which: usize) -> f64 {
        self.quantile(which, 0.5)
    }

    fn doubts(&self) -> Doubts {
        let quartiles = [0, 1].map(|which| (self.quantile(which, 0.25), self.quantile(which, 0.75)));
        let against = |multiple: f64, least: f64| -> Vec<f64> {
            let limit = |which: usize, least: f64| {
                let (low, high) = quartiles[which];
                (high + multiple * (high - low)).max(least)
            };
            let limits = [limit(0, least), limit(1, ANGLE * least)];
            self.0.iter().map(|edge| (edge[0] / limits[0]).max(edge[1] / limits[1])).collect()
        };
        Doubts { doubtful: against(DOUBTFUL, SMALL), wrong: against(WRONG, MODERATE) }
    }
}

/// The share of a step's length that is off a tangent; 0 for a step of no length.
#[inline(always)]
fn off_tangent(step: &[f64], basis: &[f64], products: &mut [f64]) -> f64 {
    let length2 = dot(step, step);
    if length2 < f64::MIN_POSITIVE {
        return 0.0;
    }
    let along = &mut products[..basis.len() / step.len()];
    dots(step, basis, along);
    let along2: f64 = along.iter().map(|v| v * v).sum();
    (1.0 - along2 / length2).max(0.0).sqrt()
}

/// The sine of the largest angle between two tangents.
#[inline(always)]
fn sine([own, theirs]: [&[f64]; 2], q: usize, d: usize, products: &mut [f64]) -> f64 {
    let (matrix, cosines) = products.split_at_mut(d * d);
    for (their, out) in theirs.chunks_exact(q).zip(matrix.chunks_exact_mut(d)) {
        dots(their, own, out);
    }
    singular_values(matrix, d, d, cosines);
    let least = cosines.iter().copied().fold(1.0, f64::min);
    (1.0 - least * least).max(0.0).sqrt()
}

/// The products of `a` with some columns; those of wide data are worth more lanes.
#[inline(always)]
fn dots(a: &[f64], columns: &[f64], out: &mut [f64]) {
    if a.len() >= WIDE {
        return long_dots(a, columns, out);
    }
    out.iter_mut().zip(columns.chunks_exact(a.len())).for_each(|(out, column)| *out = dot(a, column));
}

/// Takes back doubtful edges that join separate pieces, and returns their number.
fn join(graph: &Neighborhoods, doubts: &Doubts, dropped: &mut [bool]) -> usize {
    let mut pieces = UnionFind::<()>::new(graph.len());
    let mut doubtful = Vec::new();
    for i in 0..graph.len() {
        for (&j, edge) in graph.of(i).iter().zip(graph.start(i)..) {
            if !dropped[edge] {
                pieces.join(i as u32, j, ());
            } else if doubts.wrong[edge] <= 1.0 {
                doubtful.push((doubts.doubtful[edge], edge, i as u32, j));
            }
        }
    }
    doubtful.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut count = 0;
    for (_, edge, i, j) in doubtful {
        if pieces.join(i, j, ()) == Joined::Merged {
            dropped[edge] = false;
            count += 1;
        }
    }
    count
}

/// Takes back edges between points that a path of kept edges joins which is not much longer.
fn restore(
    points: &Points,
    graph: &Neighborhoods,
    dropped: &mut [bool],
    monitor: &dyn Monitor,
) -> Result<()> {
    let kept = graph.restricted(dropped);
    let lengths = Lengths::new(points, &kept, &Silent(monitor))?;
    let places = lengths.places();
    let (dropped_edges, q) = (&*dropped, points.dim());
    let supported = map_blocks(graph.len(), STAGE, monitor, |block| {
        let (mut tree, mut own, mut row) = (Tree::default(), vec![0.0; q], vec![0.0; q]);
        let mut supported = Vec::new();
        for i in block {
            let edges = || graph.of(i).iter().zip(graph.start(i)..).filter(|(_, edge)| dropped_edges[*edge]);
            if edges().next().is_none() {
                continue;
            }
            points.copy_row(i, &mut own);
            let mut steps = Vec::new();
            for (&j, edge) in edges() {
                points.copy_row(j as usize, &mut row);
                steps.push((j, edge, crate::neighbors::paths::distance(&own, &row)));
            }
            let limit = DETOUR * steps.iter().map(|step| step.2).fold(0.0, f64::max);
            if tree.grow_within(&lengths, i, limit, monitor).is_err() {
                return supported; // results after a stop are discarded
            }
            let detour = |j: u32| tree.distances()[places[j as usize] as usize];
            let near = steps.iter().filter(|(j, _, length)| *length == 0.0 || detour(*j) <= DETOUR * length);
            supported.extend(near.map(|&(_, edge, _)| edge));
        }
        supported
    })?;
    monitor.check()?;
    supported.into_iter().flatten().for_each(|edge| dropped[edge] = false);
    Ok(())
}
