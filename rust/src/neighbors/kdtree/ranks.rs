//! Ranks in narrow data: points counted below given distances, whole boxes at once.
//!
//! A box whose gap to the centre is beyond a distance holds nothing below it; one whose farthest corner is below it
//! counts with all of its points. Rounding is monotone and terms are added in the order in which distances add them,
//! so neither is ever wrong, and only leaves that a sphere cuts are looked at. One walk serves all distances of a centre.
//!
//! Cost: for each distance about as many leaves as its sphere cuts, O(m^(1 - 1/q)) for rank m.

use std::sync::atomic::Ordering;

use rayon::prelude::*;

use super::{KdTree, LEAF, Node, Progress, squared_distances};
use crate::error::Result;
use crate::monitor::Monitor;
use crate::neighbors::ranks::{Asked, STAGE, Thresholds, filled, places, rank};
use crate::points::{Coordinate, Points, Values};

/// The rank of each point listed about its centre.
pub fn ranks(points: &Points, asked: &Asked, monitor: &dyn Monitor) -> Result<Vec<u32>> {
    match points.values() {
        Values::F32(view) => KdTree::build(view, monitor)?.ranks(points, asked, monitor),
        Values::F64(view) => KdTree::build(view, monitor)?.ranks(points, asked, monitor),
    }
}

/// The share of all points that a walk looks at, from a few centres.
pub fn counted_share(points: &Points, asked: &Asked, monitor: &dyn Monitor) -> Result<f64> {
    match points.values() {
        Values::F32(view) => KdTree::build(view, monitor)?.counted_share(points, asked, monitor),
        Values::F64(view) => KdTree::build(view, monitor)?.counted_share(points, asked, monitor),
    }
}

/// What one centre counts.
#[derive(Default)]
struct Count {
    thresholds: Thresholds,
    /// The squared distances of the thresholds alone.
    d2: Vec<f64>,
    /// Points below each threshold.
    below: Vec<u32>,
    /// Points below each threshold from here on; wraps around.
    onwards: Vec<u32>,
    scanned: usize,
}

impl Count {
    fn begin(&mut self, points: &Points, center: u32, listed: &[u32]) {
        self.thresholds.load(points, center, listed);
        self.d2.clear();
        self.d2.extend(self.thresholds.sorted.iter().map(|threshold| threshold.0));
        self.below.clear();
        self.below.resize(listed.len(), 0);
        self.onwards.clear();
        self.onwards.resize(listed.len() + 1, 0);
    }

    /// (place in the list, rank) for each threshold.
    fn ranks(&self, center: u32) -> impl Iterator<Item = (usize, u32)> {
        let thresholds = self.thresholds.sorted.iter();
        let mut onwards = 0u32;
        thresholds.zip(&self.below).zip(&self.onwards).map(move |((&(d2, id, slot), &below), &begun)| {
            onwards = onwards.wrapping_add(begun);
            (slot as usize, rank(below + onwards, (d2, id), center))
        })
    }
}

impl<T: Coordinate> KdTree<T> {
    fn ranks(&self, points: &Points, asked: &Asked, monitor: &dyn Monitor) -> Result<Vec<u32>> {
        let ranks = places(asked)?;
        let progress = Progress::new(STAGE, asked.len(), monitor);
        // in the order of the tree, if all ask: the next centre walks where the last one did
        let order: Vec<u32> =
            if asked.centers.is_some() { (0..asked.len() as u32).collect() } else { self.ids.clone() };
        order.par_chunks(LEAF).try_for_each_init(Count::default, |count, chunk| {
            progress.advance(chunk.len())?;
            for &place in chunk {
                let (place, center) = (place as usize, asked.center(place as usize));
                count.begin(points, center, asked.of(place));
                self.count(self.root(), 0, asked.k, count);
                for (slot, rank) in count.ranks(center) {
                    ranks[place * asked.k + slot].store(rank, Ordering::Relaxed);
                }
            }
            Ok(())
        })?;
        Ok(filled(ranks))
    }

    fn counted_share(&self, points: &Points, asked: &Asked, monitor: &dyn Monitor) -> Result<f64> {
        const SAMPLED: usize = 64;
        let step = asked.len().div_ceil(SAMPLED).max(16.min(asked.len())); // a look may cost a sixteenth
        let mut count = Count::default();
        let mut queries = 0;
        for place in (0..asked.len()).step_by(step) {
            monitor.check()?;
            count.begin(points, asked.center(place), asked.of(place));
            self.count(self.root(), 0, asked.k, &mut count);
            queries += 1;
        }
        Ok(count.scanned as f64 / (queries as f64 * self.n as f64))
    }

    /// How many points lie below `node`.
    fn size(&self, node: Node) -> u32 {
        let begin = node.first_leaf * LEAF;
        (((node.first_leaf + node.leaves) * LEAF).min(self.n) - begin) as u32
    }

    /// Counts the points of `node` below the thresholds from `from` to `to`.
    fn count(&self, node: Node, mut from: usize, mut to: usize, count: &mut Count) {
        let gap = self.gap(node, &count.thresholds.at, &count.thresholds.at);
        while from < to && count.d2[from] < gap {
            from += 1;
        }
        if from == to {
            return;
        }
        let (far, end) = (self.farthest(node, &count.thresholds.at), to);
        while from < to && far < count.d2[to - 1] {
            to -= 1;
        }
        if gap == far {
            to = self.count_ties(node, from, to, count);
        }
        if to < end {
            let size = self.size(node);
            count.onwards[to] = count.onwards[to].wrapping_add(size);
            count.onwards[end] = count.onwards[end].wrapping_sub(size);
        }
        if gap == far {
            while from < to && count.thresholds.sorted[from].1 <= self.lowest_ids[node.index] {
                from += 1;
            }
        }
        if from == to {
            return;
        }
        if node.leaves == 1 {
            self.count_leaf(node, from, to, count);
        } else {
            self.count(node.left(), from, to, count);
            self.count(node.right(), from, to, count);
        }
    }

    /// All points of the node are as far as these thresholds: from where on the index of every one is lower.
    fn count_ties(&self, node: Node, from: usize, mut to: usize, count: &Count) -> usize {
        while from < to && self.highest_ids[node.index] < count.thresholds.sorted[to - 1].1 {
            to -= 1;
        }
        to
    }

    /// Squared distance to the farthest corner of a node's box: no point in it is ever computed to be farther.
    #[inline]
    fn farthest(&self, node: Node, at: &[f64]) -> f64 {
        let dim = at.len();
        let (low, high) = self.boxes[node.index * 2 * dim..][..2 * dim].split_at(dim);
        let mut far = 0.0;
        for axis in 0..dim {
            let (below, above): (f64, f64) = (at[axis] - low[axis].into(), high[axis].into() - at[axis]);
            let apart = below.max(above);
            far += apart * apart;
        }
        far
    }

    fn count_leaf(&self, node: Node, from: usize, to: usize, count: &mut Count) {
        let (dim, leaf) = (self.dim, node.first_leaf);
        let block = &self.coordinates[leaf * LEAF * dim..][..LEAF * dim];
        let mut d2 = squared_distances(&count.thresholds.at, block);
        let ids = self.ids_of(leaf);
        d2[ids.len()..].fill(f64::INFINITY); // copies of the last point
        count.scanned += ids.len();
        for s in from..to {
            let threshold = count.d2[s];
            let (mut below, mut tied) = (0, 0);
            for d2 in d2 {
                below += u64::from(d2 < threshold);
                tied += u64::from(d2 == threshold);
            }
            count.below[s] += below as u32;
            if tied > 0 {
                let last = count.thresholds.sorted[s].1;
                let before = d2.iter().zip(ids).filter(|&(&d2, &id)| d2 == threshold && id < last);
                count.below[s] += before.count() as u32;
            }
        }
    }
}
