//! Ranks in narrow data: points counted below given distances, whole boxes at once.
//!
//! A box whose gap to the center is beyond a distance holds nothing below it; one whose farthest corner is below it
//! counts with all of its points. Rounding is monotone, so both are exact, and only leaves that a sphere cuts are
//! scanned. One walk serves all distances of a center.
//!
//! Cost: for each distance about as many leaves as its sphere cuts, O(m^(1 - 1/q)) for rank m.

use std::sync::atomic::{AtomicU32, Ordering};

use rayon::prelude::*;

use super::tree::{KdTree, Node, squared_distances};
use super::{LEAF, REPORTED};
use crate::error::Result;
use crate::monitor::Monitor;
use crate::neighbors::ranks::{Asked, STAGE, Thresholds, rank};
use crate::neighbors::zeros;
use crate::parallel::{Progress, vectorized};
use crate::points::{Coordinate, Points, with_view};

/// The rank of each point listed about its center.
pub fn ranks(points: &Points, asked: &Asked, monitor: &dyn Monitor) -> Result<Vec<u32>> {
    with_view!(points.values(), view => KdTree::build(view, monitor)?.ranks(points, asked, monitor))
}

/// The share of all points that a walk visits, from a few centers.
pub fn counted_share(points: &Points, asked: &Asked, monitor: &dyn Monitor) -> Result<f64> {
    with_view!(points.values(), view => KdTree::build(view, monitor)?.counted_share(points, asked, monitor))
}

type Lanes = [u64; LEAF];

/// A leaf that the spheres of thresholds from one to another cut.
struct Cut {
    leaf: u32,
    from: u32,
    to: u32,
}

/// The counts of one center.
#[derive(Default)]
struct Count {
    thresholds: Thresholds,
    /// The squared distances of the thresholds alone.
    d2: Vec<f64>,
    /// Points below each threshold from here on, in whole nodes; wraps around.
    onwards: Vec<u32>,
    cuts: Vec<Cut>,
    /// Points in cut leaves that are below each threshold, and those that are not above it.
    below: Vec<Lanes>,
    reached: Vec<Lanes>,
    /// True if nodes of copies were counted at the distance of a threshold: its own point may be among them.
    copies: bool,
    scanned: usize,
}

impl Count {
    fn begin(&mut self, points: &Points, center: u32, listed: &[u32]) {
        self.thresholds.load(points, center, listed.iter().copied());
        self.d2.clear();
        self.d2.extend(self.thresholds.sorted.iter().map(|threshold| threshold.0));
        self.onwards.clear();
        self.onwards.resize(listed.len() + 1, 0);
        self.cuts.clear();
        self.copies = false;
        for lanes in [&mut self.below, &mut self.reached] {
            lanes.clear();
            lanes.resize(listed.len(), [0; LEAF]);
        }
    }

    /// (place in the list, rank) for each threshold.
    fn ranks<T: Coordinate>(&self, tree: &KdTree<T>, center: u32) -> impl Iterator<Item = (usize, u32)> {
        let mut onwards = 0u32;
        self.thresholds.sorted.iter().enumerate().map(move |(s, &(d2, id, slot))| {
            onwards = onwards.wrapping_add(self.onwards[s]);
            let (below, reached): (u64, u64) = (self.below[s].iter().sum(), self.reached[s].iter().sum());
            // the point of the threshold itself is always at its distance
            let tied = if reached - below > u64::from(!self.copies) { tree.count_tied(s, self) } else { 0 };
            (slot as usize, rank(below as u32 + tied + onwards, (d2, id), center))
        })
    }
}

impl<T: Coordinate> KdTree<T> {
    fn ranks(&self, points: &Points, asked: &Asked, monitor: &dyn Monitor) -> Result<Vec<u32>> {
        let ranks: Vec<AtomicU32> = zeros(asked.listed.len())?;
        let progress = Progress::new(STAGE, asked.len(), monitor);
        // in the order of the tree, if all are centers: the next center visits the same nodes as the last one
        let order: Vec<u32> =
            if asked.centers.is_some() { (0..asked.len() as u32).collect() } else { self.ids.clone() };
        order.par_chunks(LEAF).try_for_each_init(Count::default, |count, chunk| {
            monitor.check()?;
            progress.add_rarely(chunk.len(), REPORTED);
            for &place in chunk {
                let (place, center) = (place as usize, asked.center(place as usize));
                count.begin(points, center, asked.of(place));
                self.count(count);
                for (slot, rank) in count.ranks(self, center) {
                    ranks[place * asked.k + slot].store(rank, Ordering::Relaxed);
                }
            }
            Ok(())
        })?;
        Ok(ranks.into_iter().map(AtomicU32::into_inner).collect())
    }

    fn counted_share(&self, points: &Points, asked: &Asked, monitor: &dyn Monitor) -> Result<f64> {
        const SAMPLED: usize = 64;
        let step = asked.len().div_ceil(SAMPLED).max(16.min(asked.len())); // costs at most a sixteenth of the search
        let mut count = Count::default();
        let mut queries = 0;
        for place in (0..asked.len()).step_by(step) {
            monitor.check()?;
            count.begin(points, asked.center(place), asked.of(place));
            self.count(&mut count);
            queries += 1;
        }
        Ok(count.scanned as f64 / (queries as f64 * self.n as f64))
    }

    /// Number of points below `node`.
    fn size(&self, node: Node) -> u32 {
        let begin = node.first_leaf * LEAF;
        (((node.first_leaf + node.leaves) * LEAF).min(self.n) - begin) as u32
    }

    fn count(&self, count: &mut Count) {
        let all = count.d2.len();
        match self.dim {
            1 => self.walk::<1>(self.root(), 0, all, count),
            2 => self.walk::<2>(self.root(), 0, all, count),
            3 => self.walk::<3>(self.root(), 0, all, count),
            _ => self.walk::<0>(self.root(), 0, all, count),
        }
        count.scanned += count.cuts.len() * LEAF;
        vectorized(
            #[inline(always)]
            || self.count_cuts(count),
        );
    }

    /// Counts the points of `node` below the thresholds from `from` to `to`; notes the leaves that must be scanned.
    /// `D` is the dimension if it is known when compiled, else 0.
    fn walk<const D: usize>(&self, node: Node, mut from: usize, mut to: usize, count: &mut Count) {
        let (gap, far) = self.span::<D>(node, &count.thresholds.at);
        while from < to && count.d2[from] < gap {
            from += 1;
        }
        let end = to;
        while from < to && far < count.d2[to - 1] {
            to -= 1;
        }
        if gap == far && from < to {
            (from, to) = self.count_ties(node, from, to, count);
        }
        if to < end {
            let size = self.size(node);
            count.onwards[to] = count.onwards[to].wrapping_add(size);
            count.onwards[end] = count.onwards[end].wrapping_sub(size);
        }
        if from == to {
            return;
        }
        if node.leaves == 1 {
            count.cuts.push(Cut { leaf: node.first_leaf as u32, from: from as u32, to: to as u32 });
        } else {
            self.walk::<D>(node.left(), from, to, count);
            self.walk::<D>(node.right(), from, to, count);
        }
    }

    /// All points of the node are as far as these thresholds. Which of them are neither before all of its points by
    /// their index nor after them.
    fn count_ties(&self, node: Node, from: usize, to: usize, count: &mut Count) -> (usize, usize) {
        count.copies = true;
        let tied = &count.thresholds.sorted[from..to];
        let before = tied.partition_point(|threshold| threshold.1 <= self.lowest_ids[node.index]);
        let until = tied.partition_point(|threshold| threshold.1 <= self.highest_ids[node.index]);
        (from + before, from + until)
    }

    /// Squared distances to the nearest and the farthest place of a node's box: no point in it is ever computed to be
    /// nearer or farther.
    #[inline(always)]
    fn span<const D: usize>(&self, node: Node, at: &[f64]) -> (f64, f64) {
        let dim = if D > 0 { D } else { at.len() };
        let (low, high) = self.boxes[node.index * 2 * dim..][..2 * dim].split_at(dim);
        let (mut gap, mut far) = (0.0, 0.0);
        for axis in 0..dim {
            let (after, before): (f64, f64) = (at[axis] - low[axis].into(), high[axis].into() - at[axis]);
            let (apart, across) = ((-after).max(-before).max(0.0), after.max(before));
            gap += apart * apart;
            far += across * across;
        }
        (gap, far)
    }

    /// Number of points in cut leaves at the distance of threshold `s` that come before it by their index.
    fn count_tied(&self, s: usize, count: &Count) -> u32 {
        let (threshold, last) = (count.d2[s], count.thresholds.sorted[s].1);
        let cut = |cut: &&Cut| (cut.from..cut.to).contains(&(s as u32));
        let tied = |cut: &Cut| {
            let d2 = self.distances(cut.leaf as usize, &count.thresholds.at);
            let ids = self.ids_of(cut.leaf as usize);
            d2.iter().zip(ids).filter(|&(&d2, &id)| d2 == threshold && id < last).count() as u32
        };
        count.cuts.iter().filter(cut).map(tied).sum()
    }

    /// To the points of a leaf; infinite where the last leaf has no points.
    #[inline(always)]
    fn distances(&self, leaf: usize, at: &[f64]) -> [f64; LEAF] {
        let block = &self.coordinates[leaf * LEAF * self.dim..][..LEAF * self.dim];
        let mut d2 = squared_distances(at, block);
        for lane in self.filled(leaf)..LEAF {
            d2[lane] = f64::INFINITY;
        }
        d2
    }

    /// Scans all leaves that are cut.
    #[inline(always)]
    fn count_cuts(&self, count: &mut Count) {
        let Count { thresholds, d2: limits, cuts, below, reached, .. } = count;
        for cut in 0..cuts.len() {
            let Cut { leaf, from, to } = cuts[cut];
            let d2 = self.distances(leaf as usize, &thresholds.at);
            for s in from as usize..to as usize {
                let (limit, below, reached) = (limits[s], &mut below[s], &mut reached[s]);
                for lane in 0..LEAF {
                    below[lane] += u64::from(d2[lane] < limit);
                    reached[lane] += u64::from(d2[lane] <= limit);
                }
            }
        }
    }
}
