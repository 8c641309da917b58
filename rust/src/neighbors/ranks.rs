//! Where given points stand among the neighbours of others: exact ranks without sorting all distances.
//!
//! The rank of j about i counts the others l of i with (d_il, l) <= (d_ij, j) by squared distance, then index: the
//! order of `nearest`, where ties go to the lower index. A few distances are thresholds, and all points are counted
//! below them: by boxes of the kd-tree, or in tiles of matrix products. Where most points are asked for, rows of
//! distances are sorted instead.
//!
//! Cost: as the search for neighbours, and for each threshold what lies near it (tree), or a compare for each
//! distance (products); O(n^2 log n) where rows are sorted. Memory: O(n k).

use std::ops::Range;
use std::sync::atomic::AtomicU32;

use rayon::prelude::*;

use super::blocked::squared_distance;
use super::{Search, blocked, kdtree};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::points::Points;

pub(super) const STAGE: &str = "ranks";

/// Rows are sorted when more than this share of all points is asked for.
const SORTED_SHARE: f64 = 0.25;

/// The rank of each of the points listed, `k` after `k` for each centre: 1 for the nearest other, n - 1 for the
/// farthest. All points are centres if there are no `centers`.
///
/// ```
/// use ndarray::array;
/// use unbend::{Points, Unmonitored, neighbors};
/// let line = array![[0.0], [1.0], [3.0]];
/// let points = Points::new("X", line.view(), &Unmonitored)?;
/// let ranks = neighbors::ranks(&points, None, &[2, 2, 0], 1, Default::default(), &Unmonitored)?;
/// assert_eq!(ranks, [2, 2, 2]);
/// # Ok::<(), unbend::Error>(())
/// ```
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
    if search == Search::Auto && asked.many(points.len()) {
        return sorted(points, &asked, monitor);
    }
    if use_tree(points, &asked, search, monitor)? {
        kdtree::ranks(points, &asked, monitor)
    } else {
        blocked::ranks(points, &asked, monitor)
    }
}

/// Whose ranks about whom are asked for.
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
        let (left_len, right_len) = (self.listed.len(), self.centers.map_or(n, <[u32]>::len) * self.k);
        if left_len != right_len {
            let (left, right) = ("the list of neighbours", "as many for each centre");
            return Err(Error::LengthMismatch { left, left_len, right, right_len });
        }
        let bad = |&place: &usize| {
            let i = self.center(place);
            i as usize >= n || self.of(place).iter().any(|&j| j as usize >= n || j == i)
        };
        match (0..self.len()).find(bad) {
            None => Ok(()),
            Some(place) => Err(self.error(place, n)),
        }
    }

    fn error(&self, place: usize, n: usize) -> Error {
        let point = self.center(place) as usize;
        let outside =
            std::iter::once(&self.center(place)).chain(self.of(place)).find(|&&j| j as usize >= n).copied();
        match outside {
            Some(neighbor) => Error::NeighborOutOfRange { point, neighbor: neighbor as usize, n },
            None => Error::RepeatedNeighbor { point, neighbor: point },
        }
    }

    /// How many centres.
    pub fn len(&self) -> usize {
        self.listed.len() / self.k
    }

    pub fn center(&self, place: usize) -> u32 {
        self.centers.map_or(place as u32, |centers| centers[place])
    }

    pub fn of(&self, place: usize) -> &[u32] {
        &self.listed[place * self.k..][..self.k]
    }

    fn many(&self, n: usize) -> bool {
        self.k as f64 > SORTED_SHARE * n as f64
    }
}

/// The thresholds of one centre: (squared distance, index) of each point listed, nearest first.
#[derive(Default)]
pub(super) struct Thresholds {
    pub at: Vec<f64>,
    other: Vec<f64>,
    /// With the place in the list.
    pub sorted: Vec<(f64, u32, u32)>,
}

impl Thresholds {
    pub fn load(&mut self, points: &Points, center: u32, listed: &[u32]) {
        self.at.resize(points.dim(), 0.0);
        self.other.resize(points.dim(), 0.0);
        points.copy_row(center as usize, &mut self.at);
        self.sorted.clear();
        for (slot, &j) in listed.iter().enumerate() {
            points.copy_row(j as usize, &mut self.other);
            self.sorted.push((squared_distance(&self.at, &self.other), j, slot as u32));
        }
        self.sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    }
}

/// The rank that follows from how many points, the centre among them, are below a threshold. The centre itself is at
/// distance 0.
pub(super) fn rank(below: u32, threshold: (f64, u32), center: u32) -> u32 {
    below + 1 - u32::from((0.0, center) < threshold)
}

/// A place for each rank, which any thread may write.
pub(super) fn places(asked: &Asked) -> Result<Vec<AtomicU32>> {
    kdtree::zeros(asked.listed.len())
}

pub(super) fn filled(places: Vec<AtomicU32>) -> Vec<u32> {
    places.into_iter().map(AtomicU32::into_inner).collect()
}

/// All distances of each centre, sorted.
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
    /// Of each point.
    pub ranks: Vec<u32>,
    at: Vec<f64>,
    other: Vec<f64>,
    order: Vec<(f64, u32)>,
}

impl RankRow {
    /// Sorts all others of `center`.
    pub fn load(&mut self, points: &Points, center: u32, monitor: &dyn Monitor) -> Result<()> {
        monitor.check()?;
        self.at.resize(points.dim(), 0.0);
        self.other.resize(points.dim(), 0.0);
        self.ranks.resize(points.len(), 0);
        points.copy_row(center as usize, &mut self.at);
        self.order.clear();
        for j in Self::others(center, points.len()) {
            points.copy_row(j as usize, &mut self.other);
            self.order.push((squared_distance(&self.at, &self.other), j));
        }
        monitor.check()?;
        self.order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        self.ranks[center as usize] = 0;
        for (&(_, j), rank) in self.order.iter().zip(1..) {
            self.ranks[j as usize] = rank;
        }
        Ok(())
    }

    fn others(center: u32, n: usize) -> std::iter::Chain<Range<u32>, Range<u32>> {
        (0..center).chain(center + 1..n as u32)
    }
}

/// The tree wins while its walks meet less than this share of all points.
const WORTHWHILE_SHARE: f64 = 0.2;

fn use_tree(points: &Points, asked: &Asked, search: Search, monitor: &dyn Monitor) -> Result<bool> {
    if let Some(choice) = super::prescribed(points, search)? {
        return Ok(choice);
    }
    Ok(kdtree::counted_share(points, asked, monitor)? < WORTHWHILE_SHARE)
}
