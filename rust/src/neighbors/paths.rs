//! Shortest paths along the undirected neighbourhood graph, edges as long as their ends are apart.
//!
//! The graph geodesics G_X(i, j) of Tenenbaum et al. that Zhang, Ren & Zhang correlate with embedded distances (eq. 3)
//! and from whose paths they choose landmarks (section IV-B). Dijkstra's algorithm, one source to a thread.
//!
//! Cost: O(n (k + log n)) for each source. Memory: 12 bytes for each entry of the undirected graph (twice that while it is
//! made), and about 50 bytes a point for each thread.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::graph::Neighborhoods;
use crate::error::{Error, Result};
use crate::monitor::{Monitor, Silent};
use crate::parallel::map_blocks;
use crate::points::Points;

const STAGE: &str = "lengths";

/// Points settled between two looks at the monitor: less than a millisecond of work.
const LOOK: usize = 2048;

/// Stands for no point.
const NOBODY: u32 = u32::MAX;

/// The undirected neighbourhood graph with the length of every edge.
///
/// Points are renumbered breadth first, so that neighbours lie near each other in memory: with a million points that
/// halves the time of a path. What is said here and by a [`Tree`] is said of these places.
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
    /// Every edge that either end lists, as long as the ends are apart.
    pub fn new(x: &Points, neighborhoods: &Neighborhoods, monitor: &dyn Monitor) -> Result<Self> {
        if x.len() != neighborhoods.len() {
            let (left_len, right_len) = (x.len(), neighborhoods.len());
            return Err(Error::LengthMismatch {
                left: "X",
                left_len,
                right: "the neighbourhood graph",
                right_len,
            });
        }
        monitor.check()?;
        let graph = neighborhoods.symmetrized();
        let points = graph.breadth_first(monitor)?;
        let lengths = edge_lengths(x, &graph, &points, monitor)?;
        let longest = lengths.iter().copied().fold(0.0, f64::max);
        let (graph, places) = graph.renumbered(&points, monitor)?;
        Ok(Lengths { graph, lengths, longest, points, places })
    }

    /// The same graph with every edge divided by sqrt(spread(i) spread(j)), of conformal Isomap.
    pub fn conformal(mut self, spread: &[f64]) -> Result<Self> {
        if spread.len() != self.len() {
            return Err(Error::LengthMismatch {
                left: "spread",
                left_len: spread.len(),
                right: "the neighbourhood graph",
                right_len: self.len(),
            });
        }
        let of = |place: u32| spread[self.points[place as usize] as usize].sqrt();
        for place in 0..self.points.len() {
            let (start, here) = (self.graph.start(place), of(place as u32));
            for (length, &j) in self.lengths[start..].iter_mut().zip(self.graph.of(place)) {
                *length /= here * of(j);
            }
        }
        self.longest = self.lengths.iter().copied().fold(0.0, f64::max);
        Ok(self)
    }

    /// The graph seen from far: some `count` of its places, each with those nearer to it than to any other; edges lead from
    /// one to the other through the edge between their parts that makes the shortest way. Graphs of less than twice as
    /// many places stay what they are.
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
        let mut part = vec![NOBODY; n];
        kept.iter().zip(0..).for_each(|(&place, c)| part[place as usize] = c);
        for &place in tree.order() {
            if let Some(before) = tree.predecessor(place as usize) {
                part[place as usize] = part[before as usize];
            }
        }
        let mut edges = self.between_parts(&part, tree.distances());
        edges.par_sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2)));
        edges.dedup_by_key(|edge| (edge.0, edge.1));
        let mut indptr = vec![0i64; count + 1];
        edges.iter().for_each(|edge| indptr[edge.0 as usize + 1] += 1);
        (0..count).for_each(|c| indptr[c + 1] += indptr[c]);
        let lengths: Vec<f64> = edges.iter().map(|edge| edge.2).collect();
        let longest = lengths.iter().copied().fold(0.0, f64::max);
        let graph = Neighborhoods::ragged(indptr, edges.iter().map(|edge| edge.1).collect());
        let names: Vec<u32> = (0..count as u32).collect();
        Ok(Lengths { graph, lengths, longest, points: names.clone(), places: names })
    }

    /// For each edge from one part to another the two, and how long the way through it is.
    fn between_parts(&self, part: &[u32], inside: &[f64]) -> Vec<(u32, u32, f64)> {
        let mut edges = vec![];
        for i in (0..self.len()).filter(|&i| part[i] != NOBODY) {
            for (j, length) in self.beside(i) {
                let j = j as usize;
                if part[i] != part[j] {
                    edges.push((part[i], part[j], inside[i] + (length + inside[j])));
                }
            }
        }
        edges
    }

    /// How many points.
    #[allow(clippy::len_without_is_empty)] // a graph of no points has no use for the question
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

    /// The length of the longest edge, 0 if there are none.
    pub fn longest(&self) -> f64 {
        self.longest
    }

    /// The places beside a place, and how far they are.
    pub fn beside(&self, place: usize) -> impl Iterator<Item = (u32, f64)> {
        let beside = self.graph.of(place);
        let lengths = &self.lengths[self.graph.start(place)..][..beside.len()];
        beside.iter().copied().zip(lengths.iter().copied())
    }
}

/// Of the edges of each point, in the order in which points are given.
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

/// Between two points of the same dimension. Squares are summed in the order of the coordinates, so both directions
/// of an edge have the same bits.
pub(crate) fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// The shortest paths from one point to all that it reaches, and room for those from the next.
#[derive(Debug, Default)]
pub struct Tree {
    distances: Vec<f64>,
    predecessors: Vec<u32>,
    order: Vec<u32>,
    queue: Queue,
}

impl Tree {
    /// Grows from the point `source`, forgetting what was known.
    ///
    /// Places are settled nearest first, those waiting at the same distance in order. Of several shortest paths that
    /// one is kept whose last step comes from the point of lowest index among nearer ones; if there are none (copies
    /// of the source), from the first settled.
    pub fn grow(&mut self, graph: &Lengths, source: usize, monitor: &dyn Monitor) -> Result<()> {
        self.grow_within(graph, source, f64::INFINITY, monitor)
    }

    /// The same from somewhere beside the graph, from where it is so far to each of some points; infinitely far where
    /// there is no way.
    pub fn grow_from(&mut self, graph: &Lengths, starts: &[(u32, f64)], monitor: &dyn Monitor) -> Result<()> {
        self.clear(graph.len());
        let ways = || starts.iter().filter(|(_, far)| far.is_finite());
        let (near, far) = ways().fold((f64::INFINITY, 0.0), |(a, b), &(_, far)| (far.min(a), far.max(b)));
        self.queue.begin(graph.longest.max(far - near), near);
        for &(point, far) in ways() {
            let place = graph.places[point as usize];
            if far < self.distances[place as usize] {
                self.distances[place as usize] = far;
                self.queue.push(far, place);
            }
        }
        self.spread(graph, f64::INFINITY, monitor)
    }

    /// From one point more: what is nearer to it than to those before is so far from it now.
    pub fn join(&mut self, graph: &Lengths, source: usize, monitor: &dyn Monitor) -> Result<()> {
        self.begin(graph, source);
        self.spread(graph, f64::INFINITY, monitor)
    }

    /// Grows as far as `limit`; what is beyond is not reached.
    pub fn grow_within(
        &mut self,
        graph: &Lengths,
        source: usize,
        limit: f64,
        monitor: &dyn Monitor,
    ) -> Result<()> {
        self.clear(graph.len());
        self.begin(graph, source);
        self.spread(graph, limit, monitor)
    }

    fn begin(&mut self, graph: &Lengths, source: usize) {
        let place = graph.places[source];
        self.queue.begin(graph.longest, 0.0);
        self.distances[place as usize] = 0.0;
        self.predecessors[place as usize] = NOBODY;
        self.queue.push(0.0, place);
    }

    fn spread(&mut self, graph: &Lengths, limit: f64, monitor: &dyn Monitor) -> Result<()> {
        loop {
            // before anybody leaves the queue: what waits after a stop is forgotten by the next
            if self.order.len().is_multiple_of(LOOK) {
                monitor.check()?;
            }
            match self.queue.pop(&self.distances) {
                Some((distance, first)) if distance > limit => {
                    self.give_up(first, limit);
                    return Ok(());
                }
                // unless a shorter way was found since
                Some((distance, i)) if distance <= self.distances[i as usize] => {
                    self.settle(graph, i, distance)
                }
                Some(_) => {}
                None => return Ok(()),
            }
        }
    }

    /// Forgets what was seen but not reached.
    fn give_up(&mut self, first: u32, limit: f64) {
        for i in std::iter::once(first).chain(self.queue.drain()) {
            if self.distances[i as usize] > limit {
                self.distances[i as usize] = f64::INFINITY;
                self.predecessors[i as usize] = NOBODY;
            }
        }
    }

    /// The distance to every place; infinite where no path leads.
    pub fn distances(&self) -> &[f64] {
        &self.distances
    }

    /// From where the last step to a place comes; nowhere for the source and what is not reached.
    pub fn predecessor(&self, place: usize) -> Option<u32> {
        Some(self.predecessors[place]).filter(|&before| before != NOBODY)
    }

    /// The places that are reached, the source first, none before its predecessor.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Only what was reached has to be forgotten. A stop may have left points that wait.
    fn clear(&mut self, n: usize) {
        if self.distances.len() == n && self.queue.waiting == 0 {
            for &i in &self.order {
                self.distances[i as usize] = f64::INFINITY;
                self.predecessors[i as usize] = NOBODY;
            }
        } else {
            (self.distances, self.predecessors) = (vec![f64::INFINITY; n], vec![NOBODY; n]);
            self.queue = Queue::default();
        }
        self.order.clear();
    }

    fn settle(&mut self, graph: &Lengths, i: u32, distance: f64) {
        self.order.push(i);
        for (j, length) in graph.beside(i as usize) {
            let (through, known) = (distance + length, self.distances[j as usize]);
            if through < known {
                self.distances[j as usize] = through;
                self.predecessors[j as usize] = i;
                self.queue.push(through, j);
            } else if through == known && through > distance {
                let before = &mut self.predecessors[j as usize];
                // nobody is before a point where the paths begin
                if *before != NOBODY && graph.points[i as usize] < graph.points[*before as usize] {
                    *before = i;
                }
            }
        }
    }
}

/// Who waits, nearest first. A point that comes nearer is pushed again, and skipped when it is popped for the second
/// time.
///
/// Only the nearest lie in a heap, which is small for that; those farther lie unsorted in bins of equal width, and
/// most of those overtaken are dropped before they are ever sorted. No edge reaches beyond the last bin, so a ring of
/// bins is enough.
#[derive(Debug, Default)]
struct Queue {
    near: BinaryHeap<Reverse<Waiting>>,
    far: Vec<Vec<Waiting>>,
    /// Which bin is in the heap.
    current: u64,
    /// How many wait, near and far.
    waiting: usize,
    bins_per_length: f64,
}

/// The bits of a distance, which rise with it and are compared as a whole number, and who waits there.
type Waiting = (u64, u32);

impl Queue {
    const BINS: u64 = 64;

    /// For steps that are no longer than `longest`, the first of which begins as far as `near`.
    fn begin(&mut self, longest: f64, near: f64) {
        self.far.resize_with(Self::BINS as usize, Vec::new);
        // Less than there are, for distances are rounded. Without lengths there is one bin.
        let bins_per_length = (Self::BINS - 4) as f64 / longest;
        self.bins_per_length = if bins_per_length.is_finite() { bins_per_length } else { 0.0 };
        self.current = (near * self.bins_per_length) as u64;
    }

    fn push(&mut self, distance: f64, i: u32) {
        let (bin, waiting) = ((distance * self.bins_per_length) as u64, (distance.to_bits(), i));
        if bin <= self.current {
            self.near.push(Reverse(waiting));
        } else {
            self.far[(bin % Self::BINS) as usize].push(waiting);
        }
        self.waiting += 1;
    }

    /// Whoever waits, in no order.
    fn drain(&mut self) -> impl Iterator<Item = u32> + '_ {
        self.waiting = 0;
        let near = self.near.drain().map(|Reverse(waiting)| waiting);
        near.chain(self.far.iter_mut().flat_map(|bin| bin.drain(..))).map(|(_, i)| i)
    }

    fn pop(&mut self, known: &[f64]) -> Option<(f64, u32)> {
        loop {
            if let Some(Reverse((bits, i))) = self.near.pop() {
                self.waiting -= 1;
                return Some((f64::from_bits(bits), i));
            }
            if self.waiting == 0 {
                return None;
            }
            self.current += 1;
            let bin = &mut self.far[(self.current % Self::BINS) as usize];
            self.waiting -= bin.len();
            let nearest = bin.drain(..).filter(|&(bits, i)| known[i as usize].to_bits() == bits);
            self.near.extend(nearest.map(Reverse));
            self.waiting += self.near.len();
        }
    }
}

/// Calls `f(state, tree)` with the shortest paths from each of `sources`, and collects the values in order.
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

/// The same with paths no longer than `limit`.
pub fn from_each_within<S, T: Send>(
    graph: &Lengths,
    sources: &[u32],
    limit: f64,
    stage: &'static str,
    monitor: &dyn Monitor,
    state: impl Fn() -> S + Sync + Send,
    f: impl Fn(&mut S, &Tree) -> T + Sync + Send,
) -> Result<Vec<T>> {
    let (done, total) = (AtomicUsize::new(0), sources.len());
    let states = || (Tree::default(), state());
    sources
        .par_iter()
        .map_init(states, |(tree, state), &source| {
            tree.grow_within(graph, source as usize, limit, monitor)?;
            let value = f(state, tree);
            monitor.check()?;
            let before = done.fetch_add(1, Ordering::Relaxed);
            monitor.progress(stage, before + 1, total);
            Ok(value)
        })
        .collect()
}

/// Within this share of the limit nearly all is found, at a tenth of the cost.
const MOSTLY: f64 = 0.35;

/// How far it is from each of `sources` to the points that it lists, as many for each; infinite where no way is as short
/// as the source's limit.
pub fn to_listed(
    graph: &Lengths,
    sources: &[u32],
    lists: &[u32],
    limits: &[f64],
    monitor: &dyn Monitor,
) -> Result<Vec<f64>> {
    let k = lists.len().checked_div(sources.len()).unwrap_or(0);
    for (left, left_len, right_len) in
        [("limits", limits.len(), sources.len()), ("lists", lists.len(), k * sources.len())]
    {
        if left_len != right_len {
            return Err(Error::LengthMismatch { left, left_len, right: "sources", right_len });
        }
    }
    if let Some(&far) = sources.iter().chain(lists).find(|&&i| i as usize >= graph.len()) {
        return Err(Error::NeighborOutOfRange {
            point: far as usize,
            neighbor: far as usize,
            n: graph.len(),
        });
    }
    let mut rows = vec![0.0; lists.len()];
    rows.par_chunks_mut(k.max(1)).enumerate().try_for_each_init(Tree::default, |tree, (i, row)| {
        let list = &lists[i * k..][..k];
        for limit in [MOSTLY * limits[i], limits[i]] {
            tree.grow_within(graph, sources[i] as usize, limit, monitor)?;
            let to = |j: u32| tree.distances[graph.places[j as usize] as usize];
            row.iter_mut().zip(list).for_each(|(far, &j)| *far = to(j));
            if row.iter().all(|far| far.is_finite()) {
                break;
            }
        }
        Ok(())
    })?;
    Ok(rows)
}

/// Fills the rows of `rows`, one entry for each point: `grow(tree, i)` finds the paths of row i, `entry(distance)` is what
/// is written.
pub fn into_rows<T: Send>(
    graph: &Lengths,
    rows: &mut [T],
    stage: &'static str,
    monitor: &dyn Monitor,
    grow: impl Fn(&mut Tree, usize) -> Result<()> + Sync + Send,
    entry: impl Fn(f64) -> T + Sync + Send,
) -> Result<()> {
    let (done, total) = (AtomicUsize::new(0), rows.len() / graph.len());
    rows.par_chunks_mut(graph.len()).enumerate().try_for_each_init(Tree::default, |tree, (i, row)| {
        grow(tree, i)?;
        let places = graph.places.iter();
        row.iter_mut().zip(places).for_each(|(to, &place)| *to = entry(tree.distances[place as usize]));
        monitor.check()?;
        let before = done.fetch_add(1, Ordering::Relaxed);
        monitor.progress(stage, before + 1, total);
        Ok(())
    })
}
