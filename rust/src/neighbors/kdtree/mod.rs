//! Exact neighbours of narrow data: a median-split kd-tree (Friedman, Bentley & Finkel 1977) asked leaf by leaf.
//!
//! All points ask at once, so the points of one leaf walk the tree together: one traversal serves
//! [`LEAF`] queries, and every leaf they reach is scanned from cache. Coordinates of a leaf lie one
//! dimension after another, so a scan is a plain vector loop in any dimension. New points are sorted into
//! leaves by a tree of their own, and ask in the same way.
//!
//! Cost: O(n log n) to build; about O(n k log n) to search while the data are narrow.

mod ranks;

pub use ranks::{counted_share, ranks};

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ndarray::ArrayView2;
use rayon::prelude::*;
use zerocopy::FromZeros;

use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::neighbors::candidates::{Candidates, Collector, Crowd, NOBODY, Nearest, Within};
use crate::neighbors::{Found, Knn, Neighborhoods};
use crate::points::{Coordinate, Points, Values};

/// Points in a leaf, and queries in a batch.
const LEAF: usize = 16;

/// Lists of so many are sorted when they are full, not as they grow.
const CROWDED: usize = 40;

/// Nodes with fewer leaves are built by one thread.
const SEQUENTIAL_LEAVES: usize = 256;

/// The widest data for which the tree can be built.
pub const WIDEST: usize = 16;

const STAGE: &str = "neighbors";

/// A balanced tree over the points of one array.
///
/// Its shape follows from the number of leaves alone: of a node with `m` leaves the left child, which
/// is the next node, has `m.div_ceil(2)`. Only the boxes are stored.
struct KdTree<T> {
    dim: usize,
    n: usize,
    /// Leaf after leaf; within a leaf, dimension after dimension. The last leaf repeats its last point;
    /// scans stop before the copies.
    coordinates: Vec<T>,
    /// The point behind each place.
    ids: Vec<u32>,
    /// For each node the lowest, then the highest coordinates of its points.
    boxes: Vec<T>,
    /// For each node the lowest index of its points: among a million copies of one point, only the
    /// lowest are neighbours, and the rest of the tree need not be seen.
    lowest_ids: Vec<u32>,
    /// The highest, which says when all of them come before a tie.
    highest_ids: Vec<u32>,
}

/// Leaves whose neighbours lie in one list.
const ROWS_LEAVES: usize = 64;

/// The neighbours of some points, in the order of the tree.
#[derive(Default)]
struct Rows {
    /// Where the neighbours of each point end.
    ends: Vec<usize>,
    ids: Vec<u32>,
    distances: Vec<f64>,
}

/// Where a walk through the tree stands.
#[derive(Clone, Copy)]
struct Node {
    index: usize,
    first_leaf: usize,
    leaves: usize,
}

impl Node {
    fn left(self) -> Node {
        Node { index: self.index + 1, leaves: self.leaves.div_ceil(2), ..self }
    }

    fn right(self) -> Node {
        let left = self.left();
        Node {
            index: self.index + 2 * left.leaves,
            first_leaf: self.first_leaf + left.leaves,
            leaves: self.leaves - left.leaves,
        }
    }

    /// The node that is leaf `leaf`, below this one.
    fn leaf(self, leaf: usize) -> Node {
        let mut node = self;
        while node.leaves > 1 {
            let right = node.right();
            node = if leaf < right.first_leaf { node.left() } else { right };
        }
        node
    }
}

/// The `k` nearest others of every point; ties go to the lower index.
pub fn nearest(points: &Points, k: usize, monitor: &dyn Monitor) -> Result<Found> {
    match points.values() {
        Values::F32(view) => Inquiry::own(&KdTree::build(view, monitor)?).nearest(k, monitor),
        Values::F64(view) => Inquiry::own(&KdTree::build(view, monitor)?).nearest(k, monitor),
    }
}

/// The `k` nearest of `points` for every new point; ties go to the lower index.
pub fn query(points: &Points, new: &Points, k: usize, monitor: &dyn Monitor) -> Result<Found> {
    match points.values() {
        Values::F32(view) => query_of(&KdTree::build(view, monitor)?, new, k, monitor),
        Values::F64(view) => query_of(&KdTree::build(view, monitor)?, new, k, monitor),
    }
}

/// All others within `radius` of every point, nearest first.
pub fn within(points: &Points, radius: f64, monitor: &dyn Monitor) -> Result<Knn> {
    match points.values() {
        Values::F32(view) => within_of(view, radius, monitor),
        Values::F64(view) => within_of(view, radius, monitor),
    }
}

/// The share of all distances that a search for `k` neighbours would compute, from a few leaves of the
/// points themselves or of those that ask.
pub fn scanned_share(points: &Points, new: Option<&Points>, k: usize, monitor: &dyn Monitor) -> Result<f64> {
    match points.values() {
        Values::F32(view) => scanned_share_of(&KdTree::build(view, monitor)?, new, k, monitor),
        Values::F64(view) => scanned_share_of(&KdTree::build(view, monitor)?, new, k, monitor),
    }
}

fn query_of<T: Coordinate>(tree: &KdTree<T>, new: &Points, k: usize, monitor: &dyn Monitor) -> Result<Found> {
    match new.values() {
        Values::F32(view) => Inquiry::new(tree, &KdTree::build(view, monitor)?).nearest(k, monitor),
        Values::F64(view) => Inquiry::new(tree, &KdTree::build(view, monitor)?).nearest(k, monitor),
    }
}

fn scanned_share_of<T: Coordinate>(
    tree: &KdTree<T>,
    new: Option<&Points>,
    k: usize,
    monitor: &dyn Monitor,
) -> Result<f64> {
    match new.map(Points::values) {
        None => Inquiry::own(tree).scanned_share(k, monitor),
        Some(Values::F32(view)) => {
            Inquiry::new(tree, &KdTree::build(view, monitor)?).scanned_share(k, monitor)
        }
        Some(Values::F64(view)) => {
            Inquiry::new(tree, &KdTree::build(view, monitor)?).scanned_share(k, monitor)
        }
    }
}

/// Who asks whom. Points that are near each other ask together, so those who ask are in a tree as well.
struct Inquiry<'a, T, A> {
    tree: &'a KdTree<T>,
    asking: &'a KdTree<A>,
    /// Whether the points ask for each other: then none is its own neighbour.
    own: bool,
}

impl<'a, T: Coordinate> Inquiry<'a, T, T> {
    fn own(tree: &'a KdTree<T>) -> Self {
        Inquiry { tree, asking: tree, own: true }
    }
}

impl<'a, T: Coordinate, A: Coordinate> Inquiry<'a, T, A> {
    fn new(tree: &'a KdTree<T>, asking: &'a KdTree<A>) -> Self {
        Inquiry { tree, asking, own: false }
    }

    /// Fills the lists of the points of `leaf`. Points of the tree begin where they are, others at the root.
    fn ask<C: Collector>(&self, leaf: usize, batch: &mut Batch<C>) {
        self.asking.load(leaf, batch);
        for (list, &id) in batch.lists.iter_mut().zip(self.asking.ids_of(leaf)) {
            list.restart(if self.own { id } else { NOBODY });
        }
        if self.own {
            self.tree.descend(self.tree.root(), leaf, batch);
        } else {
            self.tree.visit_near(self.tree.root(), batch);
        }
    }

    fn nearest(&self, k: usize, monitor: &dyn Monitor) -> Result<Found> {
        if k < CROWDED { self.listed::<Candidates>(k, monitor) } else { self.listed::<Crowd>(k, monitor) }
    }

    fn listed<C: Nearest>(&self, k: usize, monitor: &dyn Monitor) -> Result<Found> {
        let asking = self.asking;
        // Leaves finish in tree order but results belong in point order: atomics let every thread
        // write to any row, and cost what plain stores cost.
        let total = asking.n.saturating_mul(k);
        let indices: Vec<AtomicU32> = zeros(total)?;
        let distances: Vec<AtomicU64> = zeros(total)?;
        let progress = Progress::new(STAGE, asking.n, monitor);
        (0..asking.leaves()).into_par_iter().try_for_each_init(
            || Batch::new(|| C::with_room(k)),
            |batch, leaf| {
                progress.advance(LEAF)?;
                self.ask(leaf, batch);
                for (list, &id) in batch.lists.iter_mut().zip(asking.ids_of(leaf)) {
                    let row = id as usize * k;
                    for (j, (d2, id)) in list.sorted().enumerate() {
                        indices[row + j].store(id, Ordering::Relaxed);
                        distances[row + j].store(d2.sqrt().to_bits(), Ordering::Relaxed);
                    }
                }
                Ok(())
            },
        )?;
        Ok(Found {
            k,
            indices: indices.into_iter().map(AtomicU32::into_inner).collect(),
            distances: distances.into_iter().map(|d| f64::from_bits(d.into_inner())).collect(),
        })
    }

    fn scanned_share(&self, k: usize, monitor: &dyn Monitor) -> Result<f64> {
        const SAMPLED_LEAVES: usize = 32;
        let leaves = self.asking.leaves();
        let step = leaves.div_ceil(SAMPLED_LEAVES).max(16.min(leaves)); // a look may cost a sixteenth of the search
        let mut batch = Batch::new(|| Candidates::new(k));
        let mut queries = 0;
        for leaf in (0..leaves).step_by(step) {
            monitor.check()?;
            self.ask(leaf, &mut batch);
            queries += self.asking.filled(leaf);
        }
        Ok(batch.scanned as f64 / (queries as f64 * self.tree.n as f64))
    }
}

fn within_of<T: Coordinate>(view: ArrayView2<T>, radius: f64, monitor: &dyn Monitor) -> Result<Knn> {
    let tree = KdTree::build(view, monitor)?;
    let inquiry = Inquiry::own(&tree);
    let progress = Progress::new(STAGE, tree.n, monitor);
    let leaves: Vec<usize> = (0..tree.leaves()).collect();
    let found: Vec<Rows> = leaves
        .par_chunks(ROWS_LEAVES)
        .map_init(
            || Batch::new(|| Within::of(u32::MAX, radius)),
            |batch, leaves| {
                let mut rows = Rows::default();
                for &leaf in leaves {
                    progress.advance(LEAF)?;
                    inquiry.ask(leaf, batch);
                    for list in batch.lists.iter_mut().take(tree.filled(leaf)) {
                        list.drain_into(&mut rows.distances, &mut rows.ids);
                        rows.ends.push(rows.ids.len());
                    }
                }
                Ok(rows)
            },
        )
        .collect::<Result<_>>()?;
    tree.in_point_order(&found, monitor)
}

/// Counts queries for the monitor.
struct Progress<'a> {
    stage: &'static str,
    done: AtomicU32,
    n: usize,
    monitor: &'a dyn Monitor,
}

impl<'a> Progress<'a> {
    fn new(stage: &'static str, n: usize, monitor: &'a dyn Monitor) -> Self {
        Progress { stage, done: AtomicU32::new(0), n, monitor }
    }

    fn advance(&self, queries: usize) -> Result<()> {
        self.monitor.check()?;
        let done = self.done.fetch_add(queries as u32, Ordering::Relaxed) as usize + queries;
        if done % (LEAF * 1024) < queries || done >= self.n {
            self.monitor.progress(self.stage, done.min(self.n), self.n);
        }
        Ok(())
    }
}

/// Memory that the system hands out page by page when it is first written: nothing to wait for here.
pub fn zeros<A: FromZeros>(len: usize) -> Result<Vec<A>> {
    A::new_vec_zeroed(len).map_err(|_| Error::OutOfMemory { bytes: len.saturating_mul(size_of::<A>()) })
}

/// The queries of one leaf and what they have found.
struct Batch<C> {
    /// Query after query, its coordinates.
    queries: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    lists: Vec<C>,
    count: usize,
    /// Distances computed so far.
    scanned: usize,
}

impl<C: Collector> Batch<C> {
    fn new(list: impl Fn() -> C) -> Self {
        Batch {
            queries: Vec::new(),
            low: Vec::new(),
            high: Vec::new(),
            lists: (0..LEAF).map(|_| list()).collect(),
            count: 0,
            scanned: 0,
        }
    }

    /// No query of the batch needs anything from here on, by (squared distance, index).
    fn reach(&self) -> (f64, u32) {
        let farther = |a: (f64, u32), b: (f64, u32)| if b > a { b } else { a };
        self.lists[..self.count].iter().fold((0.0, 0), |reach, list| farther(reach, list.reach()))
    }
}

impl<T: Coordinate> KdTree<T> {
    fn build(view: ArrayView2<T>, monitor: &dyn Monitor) -> Result<Self> {
        match view.ncols() {
            1 => Self::build_padded::<1>(view, monitor),
            2 => Self::build_padded::<2>(view, monitor),
            3 => Self::build_padded::<3>(view, monitor),
            4 => Self::build_padded::<4>(view, monitor),
            5..=6 => Self::build_padded::<6>(view, monitor),
            7..=8 => Self::build_padded::<8>(view, monitor),
            9..=12 => Self::build_padded::<12>(view, monitor),
            _ => Self::build_padded::<WIDEST>(view, monitor),
        }
    }

    /// Rows are padded with zeros to `D` so that they can be moved as values while they are sorted.
    fn build_padded<const D: usize>(view: ArrayView2<T>, monitor: &dyn Monitor) -> Result<Self> {
        let (n, dim) = view.dim();
        monitor.check()?;
        let mut items: Vec<Item<T, D>> = (0..n)
            .into_par_iter()
            .map(|i| {
                let mut at = [T::default(); D];
                for (a, &v) in at.iter_mut().zip(view.row(i)) {
                    *a = v;
                }
                Item { at, id: i as u32 }
            })
            .collect();
        let leaves = n.div_ceil(LEAF);
        let mut boxes = vec![T::default(); (2 * leaves - 1) * 2 * dim];
        arrange(&mut items, &mut boxes, dim, monitor)?;
        let ids: Vec<u32> = items.par_iter().map(|item| item.id).collect();
        let mut coordinates = vec![T::default(); leaves * LEAF * dim];
        let blocks = coordinates.par_chunks_mut(LEAF * dim).zip(items.par_chunks(LEAF));
        blocks.try_for_each(|(block, leaf)| {
            for axis in 0..dim {
                for lane in 0..LEAF {
                    block[axis * LEAF + lane] = leaf[lane.min(leaf.len() - 1)].at[axis];
                }
            }
            monitor.check()
        })?;
        let (lowest_ids, highest_ids) = (vec![0; 2 * leaves - 1], vec![0; 2 * leaves - 1]);
        let mut tree = KdTree { dim, n, coordinates, ids, boxes, lowest_ids, highest_ids };
        tree.find_extreme_ids(tree.root());
        Ok(tree)
    }

    fn find_extreme_ids(&mut self, node: Node) -> (u32, u32) {
        let extremes = if node.leaves == 1 {
            let ids = self.ids_of(node.first_leaf).iter().copied();
            ids.fold((u32::MAX, 0), |(lowest, highest), id| (lowest.min(id), highest.max(id)))
        } else {
            let (left, right) = (self.find_extreme_ids(node.left()), self.find_extreme_ids(node.right()));
            (left.0.min(right.0), left.1.max(right.1))
        };
        (self.lowest_ids[node.index], self.highest_ids[node.index]) = extremes;
        extremes
    }

    fn root(&self) -> Node {
        Node { index: 0, first_leaf: 0, leaves: self.leaves() }
    }

    /// Neighbours found in the order of the tree, put in the order of the points.
    fn in_point_order(&self, found: &[Rows], monitor: &dyn Monitor) -> Result<Knn> {
        let mut place = vec![0u32; self.n];
        self.ids.iter().enumerate().for_each(|(p, &i)| place[i as usize] = p as u32);
        let total = found.iter().map(|rows| rows.ids.len()).sum();
        let (mut indices, mut distances) = (Vec::with_capacity(total), Vec::with_capacity(total));
        let mut indptr = Vec::with_capacity(self.n + 1);
        indptr.push(0);
        for (i, &p) in place.iter().enumerate() {
            if i % 1024 == 0 {
                monitor.check()?;
            }
            let (rows, at) = (&found[p as usize / (ROWS_LEAVES * LEAF)], p as usize % (ROWS_LEAVES * LEAF));
            let row = if at == 0 { 0 } else { rows.ends[at - 1] }..rows.ends[at];
            indices.extend_from_slice(&rows.ids[row.clone()]);
            distances.extend_from_slice(&rows.distances[row]);
            indptr.push(indices.len() as i64);
        }
        Ok(Knn { neighborhoods: Neighborhoods::ragged(indptr, indices), distances })
    }

    fn leaves(&self) -> usize {
        self.n.div_ceil(LEAF)
    }

    /// How many points leaf `leaf` holds.
    fn filled(&self, leaf: usize) -> usize {
        LEAF.min(self.n - leaf * LEAF)
    }

    /// The points of `leaf`.
    fn ids_of(&self, leaf: usize) -> &[u32] {
        &self.ids[leaf * LEAF..][..self.filled(leaf)]
    }

    /// Makes the points of `leaf` the queries of `batch`.
    fn load<C>(&self, leaf: usize, batch: &mut Batch<C>) {
        let block = &self.coordinates[leaf * LEAF * self.dim..][..LEAF * self.dim];
        batch.count = self.filled(leaf);
        batch.queries.clear();
        for lane in 0..batch.count {
            batch.queries.extend((0..self.dim).map(|axis| -> f64 { block[axis * LEAF + lane].into() }));
        }
        let own_box = &self.boxes[self.root().leaf(leaf).index * 2 * self.dim..][..2 * self.dim];
        let (low, high) = own_box.split_at(self.dim);
        batch.low.clear();
        batch.low.extend(low.iter().map(|&v| -> f64 { v.into() }));
        batch.high.clear();
        batch.high.extend(high.iter().map(|&v| -> f64 { v.into() }));
    }

    /// Visits the leaf that the queries come from first, then what lies beside the way to it, nearest
    /// relatives first: lists are short of their final reach after a few leaves.
    fn descend<C: Collector>(&self, node: Node, leaf: usize, batch: &mut Batch<C>) {
        if node.leaves == 1 {
            self.scan(node, batch);
            return;
        }
        let (left, right) = (node.left(), node.right());
        if leaf < right.first_leaf {
            self.descend(left, leaf, batch);
            self.visit(right, batch);
        } else {
            self.descend(right, leaf, batch);
            self.visit(left, batch);
        }
    }

    /// Visits the part of the tree below `node` that any query can need.
    fn visit<C: Collector>(&self, node: Node, batch: &mut Batch<C>) {
        let gap = self.gap(node, &batch.low, &batch.high);
        if (gap, self.lowest_ids[node.index]) < batch.reach() {
            self.visit_near(node, batch);
        }
    }

    fn visit_near<C: Collector>(&self, node: Node, batch: &mut Batch<C>) {
        if node.leaves == 1 {
            self.scan(node, batch);
            return;
        }
        let (left, right) = (node.left(), node.right());
        let to_left = self.gap(left, &batch.low, &batch.high);
        let to_right = self.gap(right, &batch.low, &batch.high);
        let left_key = (to_left, self.lowest_ids[left.index]);
        let right_key = (to_right, self.lowest_ids[right.index]);
        let order = if right_key < left_key {
            [(right_key, right), (left_key, left)]
        } else {
            [(left_key, left), (right_key, right)]
        };
        for (key, child) in order {
            if key < batch.reach() {
                self.visit_near(child, batch);
            }
        }
    }

    /// Squared distance between a node's box and the box from `low` to `high`.
    ///
    /// Rounding is monotone and terms are added in the order in which distances add them, so no
    /// point in the box is ever computed to be nearer than this.
    #[inline]
    fn gap(&self, node: Node, low: &[f64], high: &[f64]) -> f64 {
        let dim = low.len();
        // by the length of `low`, so that the loop needs no checks
        let (box_low, box_high) = self.boxes[node.index * 2 * dim..][..2 * dim].split_at(dim);
        let mut gap = 0.0;
        for axis in 0..dim {
            let below: f64 = box_low[axis].into() - high[axis];
            let above: f64 = low[axis] - box_high[axis].into();
            let apart = below.max(above).max(0.0);
            gap += apart * apart;
        }
        gap
    }

    /// Offers the points of a leaf to every query that can need them.
    fn scan<C: Collector>(&self, node: Node, batch: &mut Batch<C>) {
        let (dim, leaf) = (self.dim, node.first_leaf);
        let block = &self.coordinates[leaf * LEAF * dim..][..LEAF * dim];
        let ids = self.ids_of(leaf);
        for (query, list) in batch.queries.chunks_exact(dim).zip(&mut batch.lists) {
            if (self.gap(node, query, query), self.lowest_ids[node.index]) >= list.reach() {
                continue;
            }
            batch.scanned += ids.len();
            let d2 = squared_distances(query, block);
            for (&d2, &id) in d2.iter().zip(ids) {
                if d2 <= list.bound() {
                    list.offer(d2, id);
                }
            }
        }
    }
}

/// From one query to the points of a leaf.
#[inline(always)]
fn squared_distances<T: Coordinate>(query: &[f64], block: &[T]) -> [f64; LEAF] {
    let mut d2 = [0.0; LEAF];
    for (&at, column) in query.iter().zip(block.as_chunks::<LEAF>().0) {
        for (sum, &v) in d2.iter_mut().zip(column) {
            let apart = at - v.into();
            *sum += apart * apart;
        }
    }
    d2
}

/// A point on its way to its leaf.
#[derive(Clone, Copy)]
struct Item<T, const D: usize> {
    at: [T; D],
    id: u32,
}

/// Sorts `items` into leaves and writes the boxes of the nodes, which are in preorder.
fn arrange<T: Coordinate, const D: usize>(
    items: &mut [Item<T, D>],
    boxes: &mut [T],
    dim: usize,
    monitor: &dyn Monitor,
) -> Result<()> {
    let (own_box, below) = boxes.split_at_mut(2 * dim);
    let widest = enclose(items, own_box, dim);
    let leaves = items.len().div_ceil(LEAF);
    if leaves == 1 {
        return Ok(());
    }
    let copies = own_box[widest] == own_box[dim + widest];
    let left_leaves = leaves.div_ceil(2);
    let middle = left_leaves * LEAF;
    items.select_nth_unstable_by(middle, |a, b| {
        // finite, so comparable; among copies of one point the lower indices go left, so that ties are decided
        // for whole nodes
        let order = a.at[widest].partial_cmp(&b.at[widest]).unwrap_or(std::cmp::Ordering::Equal);
        if copies { a.id.cmp(&b.id) } else { order }
    });
    let (left, right) = items.split_at_mut(middle);
    let (left_boxes, right_boxes) = below.split_at_mut((2 * left_leaves - 1) * 2 * dim);
    if leaves <= SEQUENTIAL_LEAVES {
        arrange(left, left_boxes, dim, monitor)?;
        return arrange(right, right_boxes, dim, monitor);
    }
    monitor.check()?;
    let (a, b) =
        rayon::join(|| arrange(left, left_boxes, dim, monitor), || arrange(right, right_boxes, dim, monitor));
    a.and(b)
}

/// Writes the box of `items` and says along which axis it is longest.
fn enclose<T: Coordinate, const D: usize>(items: &[Item<T, D>], own_box: &mut [T], dim: usize) -> usize {
    let (mut low, mut high) = (items[0].at, items[0].at);
    for item in items {
        for axis in 0..D {
            let v = item.at[axis];
            low[axis] = if v < low[axis] { v } else { low[axis] };
            high[axis] = if v > high[axis] { v } else { high[axis] };
        }
    }
    own_box[..dim].copy_from_slice(&low[..dim]);
    own_box[dim..].copy_from_slice(&high[..dim]);
    let length = |axis: usize| -> f64 { high[axis].into() - low[axis].into() };
    (1..dim).fold(0, |widest, axis| if length(axis) > length(widest) { axis } else { widest })
}
