//! Measures by ranks of how well an embedding preserves neighbors, all of them from two tables.
//!
//! Trustworthiness and continuity (Venna & Kaski 2001), Q_NX, R_NX and the area under it (Lee & Verleysen 2009; Lee et
//! al. 2013), the local continuity meta-criterion (Chen & Buja 2009), the agreement rate (Akkucuk & Carroll 2006: Q_NX;
//! corrected for chance: R_NX), mean relative rank errors (Lee & Verleysen 2007), the Rand index (France & Carroll
//! 2007).
//!
//! All follow from the ranks in X of the k nearest in Y, and the ranks in Y of the k nearest in X. At each k every
//! measure is affine in one of five sums over the neighbors of a point, [`Base`], and so are its mean, its spread over
//! points, and its value for a random embedding.
//!
//! Cost: the neighbors and ranks on both sides, then O(m k) for all k at once and m measured points. Memory: O(n k).

mod measures;
mod sums;

pub use measures::{Base, RankMeasure};

use std::sync::atomic::{AtomicU32, Ordering};

use rayon::prelude::*;

use self::sums::{Sums, Totals, Weights};
use super::procrustes::check_centers;
use crate::error::{Error, Result, check_range, check_rows};
use crate::monitor::Monitor;
use crate::neighbors::{Neighborhoods, RankRow, Search, check_neighbors, nearest_to, ranks};
use crate::parallel::{map_blocks, map_points};
use crate::points::Points;

const STAGE: &str = "rank measures";

/// The largest neighborhood, the points to measure, and known neighbors.
#[derive(Debug, Clone, Copy)]
pub struct RankParams<'a> {
    /// Size of the largest neighborhood.
    pub n_neighbors: usize,
    /// The points to measure; all points if `None`.
    pub centers: Option<&'a [u32]>,
    /// The exact nearest neighbors in X, at least `n_neighbors` per point; they are searched if `None`.
    pub neighborhoods: Option<&'a Neighborhoods<'a>>,
}

impl Default for RankParams<'_> {
    fn default() -> Self {
        RankParams { n_neighbors: 12, centers: None, neighborhoods: None }
    }
}

impl RankParams<'_> {
    fn check(&self, x: &Points, y: &Points) -> Result<()> {
        let (n, k) = (x.len(), self.n_neighbors);
        check_rows(("Y", y.len()), ("X", n))?;
        check_neighbors(k, n)?;
        if let Some(known) = self.neighborhoods {
            check_rows(("the graph", known.len()), ("X", n))?;
            let enough = known.fixed_size().is_some_and(|size| size >= k);
            let needed = "the neighborhoods given must list as many for every point";
            check_range("n_neighbors", k as f64, enough, needed)?;
        }
        check_centers(self.centers, n)
    }

    /// The nearest in X, `n_neighbors` for each measured point.
    fn nearest_in_x(&self, x: &Points, monitor: &dyn Monitor) -> Result<Vec<u32>> {
        let k = self.n_neighbors;
        let Some(known) = self.neighborhoods else {
            return nearest_to(x, self.centers, k, Search::Auto, monitor);
        };
        let of = |i: usize| &known.of(i)[..k];
        Ok(match self.centers {
            Some(centers) => centers.iter().flat_map(|&i| of(i as usize)).copied().collect(),
            None => (0..known.len()).flat_map(of).copied().collect(),
        })
    }
}

/// The ranks from which all rank measures follow, `k` for each point measured, nearest first. Ranks count from 1.
#[derive(Debug, Clone, PartialEq)]
pub struct RankTables {
    /// Number of points.
    pub n: usize,
    /// Number of neighbors per point.
    pub k: usize,
    /// Ranks in X of the nearest neighbors in Y.
    pub in_x: Vec<u32>,
    /// Ranks in Y of the nearest neighbors in X.
    pub in_y: Vec<u32>,
}

/// Finds the ranks in X of the nearest neighbors in Y, and the ranks in Y of the nearest neighbors in X.
///
/// Fails if `x` and `y` have different numbers of points, if these are not more than `n_neighbors`, or if a center does
/// not exist.
pub fn rank_tables(x: &Points, y: &Points, params: RankParams, monitor: &dyn Monitor) -> Result<RankTables> {
    params.check(x, y)?;
    let (k, centers) = (params.n_neighbors, params.centers);
    let near_y = nearest_to(y, centers, k, Search::Auto, monitor)?;
    let in_x = ranks(x, centers, &near_y, k, Search::Auto, monitor)?;
    drop(near_y);
    let near_x = params.nearest_in_x(x, monitor)?;
    let in_y = ranks(y, centers, &near_x, k, Search::Auto, monitor)?;
    Ok(RankTables { n: x.len(), k, in_x, in_y })
}

impl RankTables {
    /// Takes tables that were computed elsewhere. Fails if their lengths differ or are no multiple of `k`.
    pub fn new(n: usize, k: usize, in_x: Vec<u32>, in_y: Vec<u32>) -> Result<Self> {
        check_neighbors(k, n)?;
        let (left_len, right_len) = (in_x.len(), in_y.len());
        if left_len != right_len || left_len == 0 || left_len % k != 0 {
            let (left, right) = ("ranks in X", "ranks in Y");
            return Err(Error::LengthMismatch { left, left_len, right, right_len });
        }
        Ok(RankTables { n, k, in_x, in_y })
    }

    /// Number of measured points.
    fn centers(&self) -> usize {
        self.in_x.len() / self.k
    }

    /// The corner of the co-ranking matrix, k x k, row after row: entry (r, s) counts the pairs of rank r + 1 in X and
    /// s + 1 in Y.
    pub fn coranking(&self) -> Vec<u32> {
        let mut counts = vec![0; self.k * self.k];
        for row in self.in_x.chunks(self.k) {
            for (s, &r) in row.iter().enumerate().filter(|&(_, &r)| r as usize <= self.k) {
                counts[(r as usize - 1) * self.k + s] += 1;
            }
        }
        counts
    }

    /// Sums of all points for every number of neighbors up to k. Cost: O(m k) for m points.
    pub fn curves(&self, monitor: &dyn Monitor) -> Result<RankCurves> {
        let parts = map_blocks(self.centers(), STAGE, monitor, |block| {
            let (mut totals, mut point) = (Totals::new(self.k), Sums::new(self.k));
            for i in block {
                point.load(self, i);
                totals.add(&point, self);
            }
            totals
        })?;
        let mut totals = Totals::new(self.k);
        parts.iter().for_each(|part| totals.merge(part));
        Ok(RankCurves { n: self.n, k: self.k, centers: self.centers(), totals })
    }

    /// The value of each point measured, with `k` neighbors. Their mean over all points is the measure.
    pub fn values(&self, measure: RankMeasure, k: usize, monitor: &dyn Monitor) -> Result<Vec<f64>> {
        if k == 0 {
            return Err(Error::NoNeighbors);
        }
        check_range("k", k as f64, k <= self.k, "more neighbors than were measured")?;
        let (offset, slope) = measure.affine(self.n, k);
        self.map_sums(monitor, |sums| offset + slope * sums.of(measure.base(), k))
    }

    /// The area under R_NX of each point measured.
    pub fn areas(&self, monitor: &dyn Monitor) -> Result<Vec<f64>> {
        let weights = Weights::new(self.n, self.k);
        self.map_sums(monitor, |sums| weights.area(|k| sums.of(Base::Shared, k)))
    }

    fn map_sums(&self, monitor: &dyn Monitor, f: impl Fn(&Sums) -> f64 + Sync) -> Result<Vec<f64>> {
        let state = || Sums::new(self.k);
        map_points(self.centers(), STAGE, monitor, state, |sums, i| {
            sums.load(self, i);
            f(sums)
        })
    }
}

/// Every rank measure for every number of neighbors up to k.
#[derive(Debug, Clone, PartialEq)]
pub struct RankCurves {
    /// Number of points.
    pub n: usize,
    /// Size of the largest neighborhood.
    pub k: usize,
    /// Number of points measured.
    pub centers: usize,
    totals: Totals,
}

impl RankCurves {
    /// The measure with 1, 2, ..., k neighbors.
    pub fn values(&self, measure: RankMeasure) -> Vec<f64> {
        let value = |k| {
            let (offset, slope) = measure.affine(self.n, k);
            offset + slope * (self.totals.of(measure.base(), k).0 / self.centers as f64)
        };
        (1..=self.k).map(value).collect()
    }

    /// The standard deviation over points, estimated for the population; 0 for a single point.
    pub fn spreads(&self, measure: RankMeasure) -> Vec<f64> {
        let spread = |k| measure.affine(self.n, k).1.abs() * self.spread(self.totals.of(measure.base(), k));
        (1..=self.k).map(spread).collect()
    }

    fn spread(&self, (sum, squares): (f64, f64)) -> f64 {
        let count = self.centers as f64;
        let off = squares - sum * (sum / count);
        if self.centers > 1 { (off.max(0.0) / (count - 1.0)).sqrt() } else { 0.0 }
    }

    /// The area under R_NX with weights 1/k, for k up to n - 2, and its standard deviation over points. If k = n - 2 it
    /// is the published area (Lee et al. 2013).
    pub fn area(&self) -> (f64, f64) {
        let (sum, squares) = self.totals.area;
        (sum / self.centers as f64, self.spread((sum, squares)))
    }
}

/// The whole co-ranking matrix, (n - 1) x (n - 1), row after row: entry (r, s) counts the pairs of rank r + 1 in X and
/// s + 1 in Y.
///
/// Cost: O(n^2 (q + d + log n)). Memory: 4 n^2 bytes.
pub fn coranking_matrix(x: &Points, y: &Points, monitor: &dyn Monitor) -> Result<Vec<u32>> {
    let n = x.len();
    RankParams { n_neighbors: 1, ..RankParams::default() }.check(x, y)?;
    let counts: Vec<AtomicU32> = crate::neighbors::zeros((n - 1).saturating_mul(n - 1))?;
    (0..n as u32).into_par_iter().try_for_each_init(
        || (RankRow::default(), RankRow::default()),
        |(in_x, in_y), i| {
            in_x.load(x, i, monitor)?;
            in_y.load(y, i, monitor)?;
            for (&r, &s) in in_x.ranks.iter().zip(&in_y.ranks).filter(|&(&r, _)| r > 0) {
                counts[(r as usize - 1) * (n - 1) + s as usize - 1].fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        },
    )?;
    Ok(counts.into_iter().map(AtomicU32::into_inner).collect())
}
