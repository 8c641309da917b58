//! How an embedding keeps who is near whom: measures by ranks among neighbours, all of them from two tables.
//!
//! Trustworthiness and continuity (Venna & Kaski 2001), Q_NX, R_NX and the area under it (Lee & Verleysen 2009; Lee et
//! al. 2013), the local continuity meta-criterion (Chen & Buja 2009), the agreement rate (Akkucuk & Carroll 2006: Q_NX;
//! corrected for chance: R_NX), mean relative rank errors (Lee & Verleysen 2007), the Rand index (France & Carroll
//! 2007).
//!
//! Needed are the ranks in X of the k nearest in Y, and the ranks in Y of the k nearest in X: `neighbors::ranks`, never
//! a matrix of all. At each k every measure is affine in one of five sums over the neighbours of a point, [`Base`], and
//! so are its mean, its spread over points, and what it is for an embedding at random.
//!
//! Cost: the neighbours and ranks on both sides, then O(m k) for all k at once, m points looked at. Memory: O(n k).

use std::sync::atomic::{AtomicU32, Ordering};

use rayon::prelude::*;

use super::procrustes::check_centers;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::neighbors::{Neighborhoods, RankRow, Search, nearest_to, ranks};
use crate::parallel::{map_blocks, map_points};
use crate::points::Points;

const STAGE: &str = "rank measures";

/// Up to how many neighbours, of which points, and the neighbours in X if they are known.
#[derive(Debug, Clone, Copy)]
pub struct RankParams<'a> {
    /// The largest neighbourhood measured.
    pub n_neighbors: usize,
    /// The points looked at; all if `None`.
    pub centers: Option<&'a [u32]>,
    /// The exact nearest of every point of X, at least `n_neighbors` each; found if `None`.
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
        if y.len() != n {
            return Err(Error::LengthMismatch { left: "Y", left_len: y.len(), right: "X", right_len: n });
        }
        if k == 0 {
            return Err(Error::NoNeighbors);
        }
        if n <= k {
            return Err(Error::TooFewPoints { n_neighbors: k, n });
        }
        if let Some(known) = self.neighborhoods {
            if known.len() != n {
                let (left, right) = ("the graph", "X");
                return Err(Error::LengthMismatch { left, left_len: known.len(), right, right_len: n });
            }
            if known.fixed_size().is_none_or(|size| size < k) {
                let needed = "the neighbourhoods given must list as many for every point";
                return Err(Error::OutOfRange { name: "n_neighbors", value: k as f64, needed });
            }
        }
        check_centers(self.centers, n)
    }

    /// The nearest in X, `n_neighbors` for each point looked at.
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

/// Ranks of the nearest on the other side, nearest first, `k` for each point looked at. Ranks count from 1.
#[derive(Debug, Clone, PartialEq)]
pub struct RankTables {
    /// How many points there are.
    pub n: usize,
    /// Nearest for each.
    pub k: usize,
    /// Ranks in X of the nearest in Y.
    pub in_x: Vec<u32>,
    /// Ranks in Y of the nearest in X.
    pub in_y: Vec<u32>,
}

/// The two tables from which all rank measures follow.
///
/// ```
/// use ndarray::array;
/// use unbend::measure::{RankParams, rank_tables};
/// use unbend::{Points, Unmonitored};
/// let (line, folded) = (array![[0.0], [1.0], [3.0], [7.0]], array![[0.0], [1.0], [3.0], [0.5]]);
/// let (x, y) = (Points::new("X", line.view(), &Unmonitored)?, Points::new("Y", folded.view(), &Unmonitored)?);
/// let tables = rank_tables(&x, &y, RankParams { n_neighbors: 1, ..Default::default() }, &Unmonitored)?;
/// assert_eq!(tables.in_x, [3, 3, 1, 3]);
/// assert_eq!(tables.in_y, [2, 2, 1, 3]);
/// # Ok::<(), unbend::Error>(())
/// ```
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
    /// Tables from elsewhere.
    pub fn new(n: usize, k: usize, in_x: Vec<u32>, in_y: Vec<u32>) -> Result<Self> {
        if k == 0 {
            return Err(Error::NoNeighbors);
        }
        if n <= k {
            return Err(Error::TooFewPoints { n_neighbors: k, n });
        }
        let (left_len, right_len) = (in_x.len(), in_y.len());
        if left_len != right_len || left_len == 0 || left_len % k != 0 {
            return Err(Error::LengthMismatch {
                left: "ranks in X",
                left_len,
                right: "ranks in Y",
                right_len,
            });
        }
        Ok(RankTables { n, k, in_x, in_y })
    }

    /// How many points are looked at.
    fn centers(&self) -> usize {
        self.in_x.len() / self.k
    }

    /// The corner of the co-ranking matrix, k x k, row after row: how many pairs have rank r + 1 in X and s + 1 in Y.
    pub fn coranking(&self) -> Vec<u32> {
        let mut counts = vec![0; self.k * self.k];
        for row in self.in_x.chunks(self.k) {
            for (s, &r) in row.iter().enumerate().filter(|&(_, &r)| r as usize <= self.k) {
                counts[(r as usize - 1) * self.k + s] += 1;
            }
        }
        counts
    }

    /// The five sums of every point at every k, summed over points.
    ///
    /// Cost: O(m k).
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

    /// The value of every point looked at with `k` neighbours; what their mean is over all is the measure.
    pub fn values(&self, measure: RankMeasure, k: usize, monitor: &dyn Monitor) -> Result<Vec<f64>> {
        check_k(k, self.k)?;
        let (offset, slope) = measure.affine(self.n, k);
        map_points(
            self.centers(),
            STAGE,
            monitor,
            || Sums::new(self.k),
            |sums, i| {
                sums.load(self, i);
                offset + slope * sums.of(measure.base(), k)
            },
        )
    }

    /// The area under R_NX of every point looked at.
    pub fn areas(&self, monitor: &dyn Monitor) -> Result<Vec<f64>> {
        let weights = Weights::new(self.n, self.k);
        map_points(
            self.centers(),
            STAGE,
            monitor,
            || Sums::new(self.k),
            |sums, i| {
                sums.load(self, i);
                weights.area(|k| sums.of(Base::Shared, k))
            },
        )
    }
}

fn check_k(k: usize, most: usize) -> Result<()> {
    if k == 0 {
        return Err(Error::NoNeighbors);
    }
    if k > most {
        let needed = "more neighbours than were looked at";
        return Err(Error::OutOfRange { name: "k", value: k as f64, needed });
    }
    Ok(())
}

/// What is summed over the k nearest of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// Over the nearest in Y with rank r > k in X: r - k.
    Intrusion,
    /// Over the nearest in X with rank r > k in Y: r - k.
    Extrusion,
    /// How many are among the k nearest on both sides.
    Shared,
    /// Over the nearest in Y, of rank s there and r in X: |r - s| / s.
    FalseShift,
    /// Over the nearest in X, of rank s there and r in Y: |r - s| / s.
    MissingShift,
}

impl Base {
    /// Its mean when the points of Y are relabelled at random: r is then any rank with the same probability.
    fn expected(self, n: usize, k: usize) -> f64 {
        let (n, k) = (n as f64, k as f64);
        match self {
            Base::Intrusion | Base::Extrusion => k * (n - 1.0 - k) * (n - k) / (2.0 * (n - 1.0)),
            Base::Shared => k * k / (n - 1.0),
            Base::FalseShift | Base::MissingShift => {
                let shift = |s: f64| (s * (s - 1.0) + (n - 1.0 - s) * (n - s)) / (2.0 * (n - 1.0));
                (1..=k as usize).map(|s| shift(s as f64) / s as f64).sum()
            }
        }
    }
}

/// The measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankMeasure {
    /// T: 1 where no stranger is among the nearest in Y; 0 at worst.
    Trustworthiness,
    /// C: 1 where no neighbour in X is lost; 0 at worst.
    Continuity,
    /// Q_NX, the share of neighbours kept; the agreement rate.
    QNx,
    /// R_NX, the same over chance: 0 at random, 1 where all are kept; the corrected agreement rate.
    RNx,
    /// LCMC: Q_NX less chance.
    Lcmc,
    /// Relative error of the ranks of the nearest in Y; 0 is perfect.
    MrreFalse,
    /// Relative error of the ranks of the nearest in X; 0 is perfect.
    MrreMissing,
    /// The share of others that are neighbours on both sides or on neither.
    RandIndex,
}

impl RankMeasure {
    /// All of them.
    pub const ALL: [RankMeasure; 8] = [
        RankMeasure::Trustworthiness,
        RankMeasure::Continuity,
        RankMeasure::QNx,
        RankMeasure::RNx,
        RankMeasure::Lcmc,
        RankMeasure::MrreFalse,
        RankMeasure::MrreMissing,
        RankMeasure::RandIndex,
    ];

    /// Its name in Python.
    pub fn name(self) -> &'static str {
        match self {
            RankMeasure::Trustworthiness => "trustworthiness",
            RankMeasure::Continuity => "continuity",
            RankMeasure::QNx => "q_nx",
            RankMeasure::RNx => "r_nx",
            RankMeasure::Lcmc => "lcmc",
            RankMeasure::MrreFalse => "mrre_false",
            RankMeasure::MrreMissing => "mrre_missing",
            RankMeasure::RandIndex => "rand_index",
        }
    }

    fn base(self) -> Base {
        match self {
            RankMeasure::Trustworthiness => Base::Intrusion,
            RankMeasure::Continuity => Base::Extrusion,
            RankMeasure::MrreFalse => Base::FalseShift,
            RankMeasure::MrreMissing => Base::MissingShift,
            _ => Base::Shared,
        }
    }

    /// The measure is the first plus the second times its base.
    fn affine(self, n: usize, k: usize) -> (f64, f64) {
        let (size, others) = (k as f64, (n - 1) as f64);
        let chance = size / others;
        match self {
            RankMeasure::Trustworthiness | RankMeasure::Continuity => (1.0, -inverse(worst_penalty(n, k))),
            RankMeasure::QNx => (0.0, 1.0 / size),
            // with k = n - 1 all are kept by any embedding: nothing is known beyond chance
            RankMeasure::RNx if k == n - 1 => (0.0, 0.0),
            RankMeasure::RNx => (-chance / (1.0 - chance), 1.0 / (size * (1.0 - chance))),
            RankMeasure::Lcmc => (-chance, 1.0 / size),
            RankMeasure::MrreFalse | RankMeasure::MrreMissing => (0.0, inverse(worst_shift(n, k))),
            RankMeasure::RandIndex => (1.0 - 2.0 * chance, 2.0 / others),
        }
    }

    /// What it is, in the mean, when the points of Y are relabelled at random.
    pub fn null(self, n: usize, k: usize) -> f64 {
        let (offset, slope) = self.affine(n, k);
        offset + slope * self.base().expected(n, k)
    }
}

/// 0 where nothing can go wrong.
fn inverse(worst: f64) -> f64 {
    if worst > 0.0 { 1.0 / worst } else { 0.0 }
}

/// The largest penalty of a point: of k strangers the ranks are at most n - 1, n - 2, ...; with k >= n / 2 there are no
/// more than n - 1 - k strangers (Venna 2007).
fn worst_penalty(n: usize, k: usize) -> f64 {
    let (n, k) = (n as f64, k as f64);
    if 2.0 * k < n { k * (2.0 * n - 3.0 * k - 1.0) / 2.0 } else { (n - k) * (n - k - 1.0) / 2.0 }
}

/// H_k for one point: the shifts when all ranks are reversed.
fn worst_shift(n: usize, k: usize) -> f64 {
    (1..=k).map(|s| (n as f64 - 2.0 * s as f64).abs() / s as f64).sum()
}

/// The sums of one point at every k.
struct Sums {
    intrusion: Vec<u64>,
    extrusion: Vec<u64>,
    shared: Vec<u64>,
    /// |r - s| at each rank s alone.
    shift_false: Vec<u64>,
    shift_missing: Vec<u64>,
    begun: Vec<u64>,
}

impl Sums {
    fn new(k: usize) -> Self {
        let zeros = || vec![0; k];
        Sums {
            intrusion: zeros(),
            extrusion: zeros(),
            shared: zeros(),
            shift_false: zeros(),
            shift_missing: zeros(),
            begun: vec![0; 2 * (k + 2)],
        }
    }

    fn load(&mut self, tables: &RankTables, i: usize) {
        let row = i * tables.k..(i + 1) * tables.k;
        penalties(&tables.in_x[row.clone()], &mut self.begun, &mut self.intrusion);
        penalties(&tables.in_y[row.clone()], &mut self.begun, &mut self.extrusion);
        shifts(&tables.in_x[row.clone()], &mut self.shift_false);
        shifts(&tables.in_y[row.clone()], &mut self.shift_missing);
        self.shared.fill(0);
        for (s, &r) in tables.in_x[row].iter().enumerate() {
            let both = s.max(r as usize - 1); // the least k, less 1, at which it is near on both sides
            if both < tables.k {
                self.shared[both] += 1;
            }
        }
        (1..tables.k).for_each(|s| self.shared[s] += self.shared[s - 1]);
    }

    fn of(&self, base: Base, k: usize) -> f64 {
        let sum = |shift: &[u64]| shift[..k].iter().zip(1..).map(|(&v, s)| v as f64 / f64::from(s)).sum();
        match base {
            Base::Intrusion => self.intrusion[k - 1] as f64,
            Base::Extrusion => self.extrusion[k - 1] as f64,
            Base::Shared => self.shared[k - 1] as f64,
            Base::FalseShift => sum(&self.shift_false),
            Base::MissingShift => sum(&self.shift_missing),
        }
    }
}

/// Sum of r - k over those of the first k ranks that exceed k, for every k. A rank r at place s counts from k = s to
/// r - 1.
fn penalties(ranks: &[u32], begun: &mut [u64], penalties: &mut [u64]) {
    let k = ranks.len();
    begun.fill(0);
    // how many count from each k on, and their ranks; sums wrap around
    let (counts, sums) = begun.split_at_mut(k + 2);
    for (s, &r) in (1..).zip(ranks).filter(|&(s, &r)| r > s) {
        let (begin, end) = (s as usize, (r as usize).min(k + 1));
        counts[begin] = counts[begin].wrapping_add(1);
        sums[begin] = sums[begin].wrapping_add(u64::from(r));
        counts[end] = counts[end].wrapping_sub(1);
        sums[end] = sums[end].wrapping_sub(u64::from(r));
    }
    let (mut count, mut sum) = (0u64, 0u64);
    for k in 1..=k {
        (count, sum) = (count.wrapping_add(counts[k]), sum.wrapping_add(sums[k]));
        penalties[k - 1] = sum - count * k as u64;
    }
}

fn shifts(ranks: &[u32], shifts: &mut [u64]) {
    shifts.iter_mut().zip((1..).zip(ranks)).for_each(|(shift, (s, &r))| *shift = u64::from(r.abs_diff(s)));
}

/// The sums of many points, and of their squares.
#[derive(Debug, Clone, PartialEq)]
struct Totals {
    /// Intrusion, extrusion and shared.
    whole: [Vec<(u64, u128)>; 3],
    /// Shifts at each rank alone, false and missing.
    shift: [Vec<u64>; 2],
    /// Squares of their weighted sums up to each k.
    shift_squared: [Vec<f64>; 2],
    /// Areas and their squares.
    area: (f64, f64),
}

impl Totals {
    fn new(k: usize) -> Self {
        let whole = || vec![(0, 0); k];
        Totals {
            whole: [whole(), whole(), whole()],
            shift: [vec![0; k], vec![0; k]],
            shift_squared: [vec![0.0; k], vec![0.0; k]],
            area: (0.0, 0.0),
        }
    }

    fn add(&mut self, point: &Sums, tables: &RankTables) {
        for (total, sums) in self.whole.iter_mut().zip([&point.intrusion, &point.extrusion, &point.shared]) {
            for (total, &sum) in total.iter_mut().zip(sums) {
                total.0 += sum;
                total.1 += u128::from(sum) * u128::from(sum);
            }
        }
        for (side, shifts) in [&point.shift_false, &point.shift_missing].into_iter().enumerate() {
            let mut weighted = 0.0;
            for (s, &shift) in shifts.iter().enumerate() {
                self.shift[side][s] += shift;
                weighted += shift as f64 / (s + 1) as f64;
                self.shift_squared[side][s] += weighted * weighted;
            }
        }
        let area = Weights::new(tables.n, tables.k).area(|k| point.of(Base::Shared, k));
        self.area = (self.area.0 + area, self.area.1 + area * area);
    }

    fn merge(&mut self, part: &Totals) {
        for (total, part) in self.whole.iter_mut().zip(&part.whole) {
            total.iter_mut().zip(part).for_each(|(t, p)| *t = (t.0 + p.0, t.1 + p.1));
        }
        for (total, part) in self.shift.iter_mut().zip(&part.shift) {
            total.iter_mut().zip(part).for_each(|(t, p)| *t += p);
        }
        for (total, part) in self.shift_squared.iter_mut().zip(&part.shift_squared) {
            total.iter_mut().zip(part).for_each(|(t, p)| *t += p);
        }
        self.area = (self.area.0 + part.area.0, self.area.1 + part.area.1);
    }

    /// Sum and sum of squares.
    fn of(&self, base: Base, k: usize) -> (f64, f64) {
        let whole = |which: usize| {
            let (sum, squares) = self.whole[which][k - 1];
            (sum as f64, squares as f64)
        };
        let shift = |side: usize| {
            let sum = self.shift[side][..k].iter().zip(1..).map(|(&v, s)| v as f64 / f64::from(s)).sum();
            (sum, self.shift_squared[side][k - 1])
        };
        match base {
            Base::Intrusion => whole(0),
            Base::Extrusion => whole(1),
            Base::Shared => whole(2),
            Base::FalseShift => shift(0),
            Base::MissingShift => shift(1),
        }
    }
}

/// Every measure with every number of neighbours up to k.
#[derive(Debug, Clone, PartialEq)]
pub struct RankCurves {
    /// How many points there are.
    pub n: usize,
    /// The largest neighbourhood.
    pub k: usize,
    /// How many points were looked at.
    pub centers: usize,
    totals: Totals,
}

impl RankCurves {
    /// The measure with 1, 2, ... neighbours.
    pub fn values(&self, measure: RankMeasure) -> Vec<f64> {
        let value = |k| {
            let (offset, slope) = measure.affine(self.n, k);
            offset + slope * (self.totals.of(measure.base(), k).0 / self.centers as f64)
        };
        (1..=self.k).map(value).collect()
    }

    /// The standard deviation over points, of the population estimated; 0 of a single point.
    pub fn spreads(&self, measure: RankMeasure) -> Vec<f64> {
        let spread = |k| measure.affine(self.n, k).1.abs() * self.spread(self.totals.of(measure.base(), k));
        (1..=self.k).map(spread).collect()
    }

    fn spread(&self, (sum, squares): (f64, f64)) -> f64 {
        let count = self.centers as f64;
        let off = squares - sum * (sum / count);
        if self.centers > 1 { (off.max(0.0) / (count - 1.0)).sqrt() } else { 0.0 }
    }

    /// The area under R_NX with weights 1/k, for k up to n - 2 at most, and its standard deviation over points. With
    /// k = n - 2 it is the published one (Lee et al. 2013).
    pub fn area(&self) -> (f64, f64) {
        let (sum, squares) = self.totals.area;
        (sum / self.centers as f64, self.spread((sum, squares)))
    }
}

/// Of R_NX in the area under it.
struct Weights {
    n: usize,
    k: usize,
}

impl Weights {
    fn new(n: usize, k: usize) -> Self {
        Weights { n, k: k.min(n.saturating_sub(2)) }
    }

    fn area(&self, shared: impl Fn(usize) -> f64) -> f64 {
        let (mut area, mut whole) = (0.0, 0.0);
        for k in 1..=self.k {
            let (offset, slope) = RankMeasure::RNx.affine(self.n, k);
            area += (offset + slope * shared(k)) / k as f64;
            whole += 1.0 / k as f64;
        }
        if whole > 0.0 { area / whole } else { 0.0 }
    }
}

/// The whole co-ranking matrix, (n - 1) x (n - 1), row after row: how many pairs have rank r + 1 in X and s + 1 in Y.
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
