//! Shortest paths on the undirected neighborhood graph, whose edges have the lengths of the steps between their ends.
//!
//! These are the graph geodesics G_X(i, j) of Tenenbaum et al., by Dijkstra's algorithm, one source per thread.
//!
//! Cost: O(n (k + log n)) per source. Memory: 12 bytes per entry of the undirected graph (twice that while it is made),
//! and about 50 bytes per point and thread.

mod tree;

pub use tree::Tree;

use std::ops::Range;

use rayon::prelude::*;

use crate::csr::Csr;
use crate::error::{Error, Result, check_rows};
use crate::monitor::{Monitor, Silent};
use crate::neighbors::Neighborhoods;
use crate::parallel::{Progress, map_blocks};
use crate::points::Points;

const STAGE: &str = "lengths";

/// Stands for no point.
const NO_POINT: u32 = u32::MAX;

/// The undirected neighborhood graph with the length of every edge.
///
/// Points are renumbered breadth first, which halves the time of a path among a million points. The number of a point
/// in this order is its *place*; this type and [`Tree`] use places unless they say otherwise.
#[derive(Debug, Clone)]
pub struct Lengths {
    graph: Neighborhoods<'static>,
    lengths: Vec<f64>,
    longest: f64,
    /// The point at each place.
    points: Vec<u32>,
    /// The place of each point.
    places: Vec<u32>,
}

impl Lengths {
    /// Makes the graph from points and their neighborhoods. Fails if their numbers differ.
    pub fn new(x: &Points, neighborhoods: &Neighborhoods, monitor: &dyn Monitor) -> Result<Self> {
        check_rows(("X", x.len()), ("the neighborhood graph", neighborhoods.len()))?;
        monitor.check()?;
        let graph = neighborhoods.symmetrized();
        let points = graph.breadth_first(monitor)?;
        let lengths = edge_lengths(x, &graph, &points, monitor)?;
        let longest = longest(&lengths);
        let (graph, places) = graph.renumbered(&points, monitor)?;
        Ok(Lengths { graph, lengths, longest, points, places })
    }

    /// Divides every edge by sqrt(spread(i) spread(j)), as conformal Isomap does. `spread` has one entry per point.
    pub fn conformal(mut self, spread: &[f64]) -> Result<Self> {
        check_rows(("spread", spread.len()), ("the neighborhood graph", self.len()))?;
        let of = |place: u32| spread[self.points[place as usize] as usize].sqrt();
        for place in 0..self.points.len() {
            let (start, here) = (self.graph.start(place), of(place as u32));
            for (length, &j) in self.lengths[start..].iter_mut().zip(self.graph.of(place)) {
                *length /= here * of(j);
            }
        }
        self.longest = longest(&self.lengths);
        Ok(self)
    }

    /// A coarser graph of `count` places, each with all places nearest to it. An edge is the shortest path through one
    /// edge between two such parts. Graphs of fewer than `2 * count` places are returned as they are.
    ///
    /// Cost: O(n (k + log n)).
    pub fn thinned(self, count: usize, monitor: &dyn Monitor) -> Result<Lengths> {
        if self.len() < 2 * count {
            return Ok(self);
        }
        let n = self.len();
        let kept: Vec<u32> = (0..count).map(|c| (c * n / count) as u32).collect();
        let mut tree = Tree::default();
        let starts: Vec<(u32, f64)> = kept.iter().map(|&place| (self.points[place as usize], 0.0)).collect();
        tree.grow_from(&self, &starts, monitor)?;
        let mut part = vec![NO_POINT; n];
        kept.iter().zip(0..).for_each(|(&place, c)| part[place as usize] = c);
        for &place in tree.order() {
            if let Some(before) = tree.predecessor(place as usize) {
                part[place as usize] = part[before as usize];
            }
        }
        let mut edges = self.between_parts(&part, tree.distances());
        edges.par_sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2)));
        edges.dedup_by_key(|edge| (edge.0, edge.1));
        let pairs = || edges.iter().map(|&(from, to, _)| (from, to));
        let lists = Csr::grouped(count, pairs().map(|(from, _)| from), pairs());
        let lengths: Vec<f64> = edges.iter().map(|edge| edge.2).collect();
        let longest = longest(&lengths);
        let graph = Neighborhoods::ragged(lists.indptr, lists.indices);
        let names: Vec<u32> = (0..count as u32).collect();
        Ok(Lengths { graph, lengths, longest, points: names.clone(), places: names })
    }

    /// For each edge between two parts, the parts and the length of the path through it.
    fn between_parts(&self, part: &[u32], inside: &[f64]) -> Vec<(u32, u32, f64)> {
        let edge = |i: usize, (j, length): (u32, f64)| {
            let j = j as usize;
            (part[i], part[j], inside[i] + (length + inside[j]))
        };
        let reached = (0..self.len()).filter(|&i| part[i] != NO_POINT);
        let edges = reached.flat_map(|i| self.adjacent(i).map(move |to| edge(i, to)));
        edges.filter(|edge| edge.0 != edge.1).collect()
    }

    /// Number of points.
    #[allow(clippy::len_without_is_empty)] // graphs have at least one point
    pub fn len(&self) -> usize {
        self.graph.len()
    }

    /// The point at each place.
    pub fn points(&self) -> &[u32] {
        &self.points
    }

    /// The place of each point.
    pub fn places(&self) -> &[u32] {
        &self.places
    }

    /// Length of the longest edge; 0 if there are no edges.
    pub fn longest(&self) -> f64 {
        self.longest
    }

    /// The neighbors of a place, with the lengths of the edges.
    pub fn adjacent(&self, place: usize) -> impl Iterator<Item = (u32, f64)> {
        let ends = self.graph.of(place);
        let lengths = &self.lengths[self.graph.start(place)..][..ends.len()];
        ends.iter().copied().zip(lengths.iter().copied())
    }
}

fn longest(lengths: &[f64]) -> f64 {
    lengths.iter().copied().fold(0.0, f64::max)
}

/// The edges of each point, in the given order of the points.
fn edge_lengths(
    x: &Points,
    graph: &Neighborhoods,
    points: &[u32],
    monitor: &dyn Monitor,
) -> Result<Vec<f64>> {
    let of_block = |block: Range<usize>| {
        let (mut from, mut to) = (vec![0.0; x.dim()], vec![0.0; x.dim()]);
        let mut lengths = Vec::new();
        for &i in &points[block] {
            x.copy_row(i as usize, &mut from);
            for &j in graph.of(i as usize) {
                x.copy_row(j as usize, &mut to);
                lengths.push(distance(&from, &to));
            }
        }
        lengths
    };
    Ok(map_blocks(points.len(), STAGE, &Silent(monitor), of_block)?.concat())
}

/// The Euclidean distance of two points.
pub(crate) fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// Calls `f(state, tree)` with the shortest paths from each source and returns the values in the order of the sources.
pub fn from_each<S, T: Send>(
    graph: &Lengths,
    sources: &[u32],
    stage: &'static str,
    monitor: &dyn Monitor,
    state: impl Fn() -> S + Sync + Send,
    f: impl Fn(&mut S, &Tree) -> T + Sync + Send,
) -> Result<Vec<T>> {
    from_each_within(graph, sources, f64::INFINITY, stage, monitor, state, f)
}

/// [`from_each`] with paths no longer than `limit`.
pub fn from_each_within<S, T: Send>(
    graph: &Lengths,
    sources: &[u32],
    limit: f64,
    stage: &'static str,
    monitor: &dyn Monitor,
    state: impl Fn() -> S + Sync + Send,
    f: impl Fn(&mut S, &Tree) -> T + Sync + Send,
) -> Result<Vec<T>> {
    let progress = Progress::new(stage, sources.len(), monitor);
    let states = || (Tree::default(), state());
    sources
        .par_iter()
        .map_init(states, |(tree, state), &source| {
            tree.grow_within(graph, source as usize, limit, monitor)?;
            let value = f(state, tree);
            monitor.check()?;
            progress.add(1);
            Ok(value)
        })
        .collect()
}

/// Share of the limit within which nearly all points are found, at a tenth of the cost.
const MOSTLY: f64 = 0.35;

/// The graph distance from each source to the points in its list; infinite beyond the source's limit.
///
/// `lists` has the same number of points per source, `limits` one entry per source. Fails if lengths do not match or a
/// point does not exist.
pub fn to_listed(
    graph: &Lengths,
    sources: &[u32],
    lists: &[u32],
    limits: &[f64],
    monitor: &dyn Monitor,
) -> Result<Vec<f64>> {
    let k = lists.len().checked_div(sources.len()).unwrap_or(0);
    check_rows(("limits", limits.len()), ("sources", sources.len()))?;
    check_rows(("lists", lists.len()), ("sources", k * sources.len()))?;
    if let Some(&far) = sources.iter().chain(lists).find(|&&i| i as usize >= graph.len()) {
        return Err(Error::no_point(far as usize, graph.len()));
    }
    let mut rows = vec![0.0; lists.len()];
    rows.par_chunks_mut(k.max(1)).enumerate().try_for_each_init(Tree::default, |tree, (i, row)| {
        let list = &lists[i * k..][..k];
        for limit in [MOSTLY * limits[i], limits[i]] {
            tree.grow_within(graph, sources[i] as usize, limit, monitor)?;
            let to = |j: u32| tree.distances()[graph.places[j as usize] as usize];
            row.iter_mut().zip(list).for_each(|(far, &j)| *far = to(j));
            if row.iter().all(|far| far.is_finite()) {
                break;
            }
        }
        Ok(())
    })?;
    Ok(rows)
}

/// Fills one row of `rows` per tree, one entry per point: `grow(tree, i)` finds the paths of row i, and `entry` turns a
/// distance into an entry.
pub fn into_rows<T: Send>(
    graph: &Lengths,
    rows: &mut [T],
    stage: &'static str,
    monitor: &dyn Monitor,
    grow: impl Fn(&mut Tree, usize) -> Result<()> + Sync + Send,
    entry: impl Fn(f64) -> T + Sync + Send,
) -> Result<()> {
    let progress = Progress::new(stage, rows.len() / graph.len(), monitor);
    rows.par_chunks_mut(graph.len()).enumerate().try_for_each_init(Tree::default, |tree, (i, row)| {
        grow(tree, i)?;
        let places = graph.places.iter();
        row.iter_mut().zip(places).for_each(|(to, &place)| *to = entry(tree.distances()[place as usize]));
        monitor.check()?;
        progress.add(1);
        Ok(())
    })
}
