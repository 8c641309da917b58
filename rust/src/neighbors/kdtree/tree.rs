//! The tree: how it is built, and how the queries of a leaf walk through it together.

use ndarray::ArrayView2;
use rayon::prelude::*;

use super::{LEAF, MAX_TREE_DIM};
use crate::error::Result;
use crate::monitor::Monitor;
use crate::neighbors::candidates::Collector;
use crate::points::Coordinate;

/// Nodes with fewer leaves are built by one thread.
const SEQUENTIAL_LEAVES: usize = 256;

/// A balanced tree over the points of one array.
///
/// Its shape follows from the number of leaves: the left child of a node of `m` leaves is the next node, and has
/// `m.div_ceil(2)`.
pub struct KdTree<T> {
    pub dim: usize,
    pub n: usize,
    /// Leaf after leaf; within a leaf, dimension after dimension. The last leaf is padded with its last point.
    pub coordinates: Vec<T>,
    /// The point behind each place.
    pub ids: Vec<u32>,
    /// For each node the lowest, then the highest coordinates of its points.
    pub boxes: Vec<T>,
    /// For each node the lowest index of its points: of many copies of one point, only the lowest are neighbors.
    pub lowest_ids: Vec<u32>,
    /// The highest: when all of them come before a tie.
    pub highest_ids: Vec<u32>,
}

/// Position of a walk through the tree.
#[derive(Clone, Copy)]
pub struct Node {
    pub index: usize,
    pub first_leaf: usize,
    pub leaves: usize,
}

impl Node {
    pub fn left(self) -> Node {
        Node { index: self.index + 1, leaves: self.leaves.div_ceil(2), ..self }
    }

    pub fn right(self) -> Node {
        let left = self.left();
        Node {
            index: self.index + 2 * left.leaves,
            first_leaf: self.first_leaf + left.leaves,
            leaves: self.leaves - left.leaves,
        }
    }

    /// The node that is leaf `leaf`, below this one.
    pub fn leaf(self, leaf: usize) -> Node {
        let mut node = self;
        while node.leaves > 1 {
            let right = node.right();
            node = if leaf < right.first_leaf { node.left() } else { right };
        }
        node
    }
}

/// The queries of one leaf and the points that they have found.
pub struct Batch<C> {
    /// Query after query, its coordinates.
    pub queries: Vec<f64>,
    pub low: Vec<f64>,
    pub high: Vec<f64>,
    pub lists: Vec<C>,
    pub count: usize,
    /// Distances computed so far.
    pub scanned: usize,
}

impl<C: Collector> Batch<C> {
    pub fn new(list: impl Fn() -> C) -> Self {
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
    pub fn reach(&self) -> (f64, u32) {
        let farther = |a: (f64, u32), b: (f64, u32)| if b > a { b } else { a };
        self.lists[..self.count].iter().fold((0.0, 0), |reach, list| farther(reach, list.reach()))
    }
}

impl<T: Coordinate> KdTree<T> {
    pub fn build(view: ArrayView2<T>, monitor: &dyn Monitor) -> Result<Self> {
        match view.ncols() {
            1 => Self::build_padded::<1>(view, monitor),
            2 => Self::build_padded::<2>(view, monitor),
            3 => Self::build_padded::<3>(view, monitor),
            4 => Self::build_padded::<4>(view, monitor),
            5..=6 => Self::build_padded::<6>(view, monitor),
            7..=8 => Self::build_padded::<8>(view, monitor),
            9..=12 => Self::build_padded::<12>(view, monitor),
            _ => Self::build_padded::<MAX_TREE_DIM>(view, monitor),
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

    pub fn root(&self) -> Node {
        Node { index: 0, first_leaf: 0, leaves: self.leaves() }
    }

    pub fn leaves(&self) -> usize {
        self.n.div_ceil(LEAF)
    }

    /// Number of points of leaf `leaf`.
    pub fn filled(&self, leaf: usize) -> usize {
        LEAF.min(self.n - leaf * LEAF)
    }

    /// The points of `leaf`.
    pub fn ids_of(&self, leaf: usize) -> &[u32] {
        &self.ids[leaf * LEAF..][..self.filled(leaf)]
    }

    /// Makes the points of `leaf` the queries of `batch`.
    pub fn load<C>(&self, leaf: usize, batch: &mut Batch<C>) {
        let block = &self.coordinates[leaf * LEAF * self.dim..][..LEAF * self.dim];
        batch.count = self.filled(leaf);
        batch.queries.clear();
        for lane in 0..batch.count {
            batch.queries.extend((0..self.dim).map(|axis| -> f64 { block[axis * LEAF + lane].into() }));
        }
        let own_box = &self.boxes[self.root().leaf(leaf).index * 2 * self.dim..][..2 * self.dim];
        let (low, high) = own_box.split_at(self.dim);
        for (to, from) in [(&mut batch.low, low), (&mut batch.high, high)] {
            to.clear();
            to.extend(from.iter().map(|&v| -> f64 { v.into() }));
        }
    }

    /// Visits the leaf of the queries first, then the rest, nearest relatives first.
    pub fn descend<C: Collector>(&self, node: Node, leaf: usize, batch: &mut Batch<C>) {
        if node.leaves == 1 {
            self.scan(node, batch);
            return;
        }
        let (left, right) = (node.left(), node.right());
        let (own, other) = if leaf < right.first_leaf { (left, right) } else { (right, left) };
        self.descend(own, leaf, batch);
        if self.key(other, batch) < batch.reach() {
            self.visit_near(other, batch);
        }
    }

    /// Visits the part of the tree below `node` that any query can need.
    pub fn visit_near<C: Collector>(&self, node: Node, batch: &mut Batch<C>) {
        if node.leaves == 1 {
            self.scan(node, batch);
            return;
        }
        let mut children = [node.left(), node.right()].map(|child| (self.key(child, batch), child));
        if children[1].0 < children[0].0 {
            children.swap(0, 1);
        }
        for (key, child) in children {
            if key < batch.reach() {
                self.visit_near(child, batch);
            }
        }
    }

    /// No query of the batch finds a point of `node` before this (squared distance, index).
    #[inline(always)]
    fn key<C>(&self, node: Node, batch: &Batch<C>) -> (f64, u32) {
        (self.gap(node, &batch.low, &batch.high), self.lowest_ids[node.index])
    }

    /// Squared distance between a node's box and the box from `low` to `high`. Rounding is monotone and terms are added
    /// in the order in which distances add them, so no point in the box is computed to be nearer.
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
pub fn squared_distances<T: Coordinate>(query: &[f64], block: &[T]) -> [f64; LEAF] {
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

/// Writes the box of `items` and returns its longest axis.
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
