//! Exact ranks of given points among the neighbors of others, without sorting all distances.
//!
//! The rank of j about i counts the others l of i with (d_il, l) <= (d_ij, j) by squared distance, then index: the
//! order of `nearest`, where ties go to the lower index. A few distances are thresholds, and all points are counted
//! below them: by boxes of the kd-tree, or in tiles of matrix products. If most points are listed, rows of
//! distances are sorted instead.
//!
//! Cost: as the search for neighbors, and for each threshold what lies near it (tree), or a compare for each
//! distance (products); O(n^2 log n) where rows are sorted. Memory: O(n k).

use rayon::prelude::*;

use super::blocked::squared_distance;
use super::{Search, blocked, kdtree};
use crate::error::{Error, Result, check_rows};
use crate::monitor::Monitor;
use crate::points::Points;

pub(super) const STAGE: &str = "ranks";

/// Rows are sorted when more than this share of all points is listed.
const SORTED_SHARE: f64 = 0.25;

/// The tree is faster while it scans less than this share of all points.
const WORTHWHILE_SHARE: f64 = 0.2;

/// The rank of each listed point among the neighbors of its center: 1 for the nearest, n - 1 for the farthest.
///
/// `listed` has `k` points per center; without `centers` all points are centers. Ties are broken by index. Fails if a
/// point does not exist or is its own center, or if the lengths do not match.
pub fn ranks(
    points: &Points,
    centers: Option<&[u32]>,
    listed: &[u32],
    k: usize,
    search: Search,
    monitor: &dyn Monitor,
) -> Result<Vec<u32>> {
    let asked = Asked { centers, listed, k };
    asked.check(points.len())?;
    if search == Search::Auto && k as f64 > SORTED_SHARE * points.len() as f64 {
        return sorted(points, &asked, monitor);
    }
    let use_tree = match super::prescribed(points, search)? {
        Some(choice) => choice,
        None => kdtree::counted_share(points, &asked, monitor)? < WORTHWHILE_SHARE,
    };
    if use_tree { kdtree::ranks(points, &asked, monitor) } else { blocked::ranks(points, &asked, monitor) }
}

/// The points whose ranks are wanted, and their centers.
pub(super) struct Asked<'a> {
    pub centers: Option<&'a [u32]>,
    pub listed: &'a [u32],
    pub k: usize,
}

impl Asked<'_> {
    fn check(&self, n: usize) -> Result<()> {
        if self.k == 0 {
            return Err(Error::NoNeighbors);
        }
        let needed = self.centers.map_or(n, <[u32]>::len) * self.k;
        check_rows(("the list of neighbors", self.listed.len()), ("as many for each center", needed))?;
        for place in 0..self.len() {
            let (center, listed) = (self.center(place), self.of(place));
            let point = center as usize;
            if let Some(&j) = std::iter::once(&center).chain(listed).find(|&&j| j as usize >= n) {
                return Err(Error::NeighborOutOfRange { point, neighbor: j as usize, n });
            }
            if listed.contains(&center) {
                return Err(Error::RepeatedNeighbor { point, neighbor: point });
            }
        }
        Ok(())
    }

    /// Number of centers.
    pub fn len(&self) -> usize {
        self.listed.len() / self.k
    }

    pub fn center(&self, place: usize) -> u32 {
        self.centers.map_or(place as u32, |centers| centers[place])
    }

    pub fn of(&self, place: usize) -> &[u32] {
        &self.listed[place * self.k..][..self.k]
    }
}

/// The thresholds of one center: (squared distance, index) of each point listed, nearest first.
#[derive(Debug, Default)]
pub(super) struct Thresholds {
    pub at: Vec<f64>,
    other: Vec<f64>,
    /// With the place in the list.
    pub sorted: Vec<(f64, u32, u32)>,
}

impl Thresholds {
    pub fn load(&mut self, points: &Points, center: u32, listed: impl Iterator<Item = u32>) {
        self.at.resize(points.dim(), 0.0);
        self.other.resize(points.dim(), 0.0);
        points.copy_row(center as usize, &mut self.at);
        self.sorted.clear();
        for (j, slot) in listed.zip(0..) {
            points.copy_row(j as usize, &mut self.other);
            self.sorted.push((squared_distance(&self.at, &self.other), j, slot));
        }
        self.sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    }
}

/// The rank that follows from how many points, the center among them, are below a threshold. The center itself is at
/// distance 0.
pub(super) fn rank(below: u32, threshold: (f64, u32), center: u32) -> u32 {
    below + 1 - u32::from((0.0, center) < threshold)
}

/// All distances of each center, sorted.
fn sorted(points: &Points, asked: &Asked, monitor: &dyn Monitor) -> Result<Vec<u32>> {
    let mut ranks = vec![0; asked.listed.len()];
    ranks.par_chunks_mut(asked.k).enumerate().try_for_each_init(
        RankRow::default,
        |row, (place, ranks)| {
            row.load(points, asked.center(place), monitor)?;
            for (rank, &j) in ranks.iter_mut().zip(asked.of(place)) {
                *rank = row.ranks[j as usize];
            }
            Ok(())
        },
    )?;
    Ok(ranks)
}

/// The ranks of all points about one; its own is 0.
#[derive(Debug, Default)]
pub struct RankRow {
    /// Rank of each point.
    pub ranks: Vec<u32>,
    others: Thresholds,
}

impl RankRow {
    /// Sorts all others of `center`.
    pub fn load(&mut self, points: &Points, center: u32, monitor: &dyn Monitor) -> Result<()> {
        monitor.check()?;
        let n = points.len() as u32;
        self.others.load(points, center, (0..center).chain(center + 1..n));
        self.ranks.resize(points.len(), 0);
        self.ranks[center as usize] = 0;
        for (&(_, j, _), rank) in self.others.sorted.iter().zip(1..) {
            self.ranks[j as usize] = rank;
        }
        Ok(())
    }
}
