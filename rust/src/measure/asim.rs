//! The anisotropic scaling independent measure of Zhang, Ren & Zhang (NIEQA), section III: the distance of a
//! neighborhood of the embedding from the data when it may be moved, rotated, and scaled along each coordinate.
//!
//! ASIM(X_i, Y_i) = min over P'P = I, diagonal D, t of |X_i - Y_i D P' - 1t'|^2 / |H X_i|^2 (eq. 5, 7). With the best D
//! and t, the maximum over P of sum_j (p_j . m_j)^2 remains (eq. 14), where the m_j are the columns of
//! M = X_i' H Y_i diag(|columns of H Y_i|)^-1. The paper climbs by gradient steps on the Stiefel manifold. Here M is
//! reduced to its square R-factor first, because the sum is convex in P and so gains nothing outside the span of M. Two
//! columns, rotated by t, give A + B cos 2t + C sin 2t, with the maximum A + sqrt(B^2 + C^2). More columns are rotated
//! pair by pair in sweeps, from several fixed starts, because there are local maxima.
//!
//! With more than two columns, maxima that differ by less than about 1e-16 of |H X_i|^2 cannot be distinguished, and
//! values below that have no digits.
//!
//! Cost: O(m q d) for each neighborhood and, if d > 2, 8 climbs in sweeps of O(d^3). Memory: O(n).

use crate::charts::{Local, check_lengths, members};
use crate::error::Result;
use crate::linalg::{column, complete, distance2_to_combination, dot, orthogonal_factor, remove};
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;
use crate::parallel::map_points;
use crate::points::Points;
use crate::rng::{normal, stream};

use super::procrustes::{COLLAPSED, check_centers, check_pair};

const STAGE: &str = "asim";

/// Number of starts of the climb with more than two columns.
const STARTS: usize = 8;

/// Maximum number of sweeps of a climb. Most need far fewer; near ridges it is slow.
const SWEEPS: usize = 2000;

/// A climb ends if a sweep gains less than this share of the remaining error.
const SETTLED: f64 = 1e-14;

/// A sweep that gains less than this ends the climb.
const NOTHING: f64 = 1e-32;

/// If 1 - sum is below this, it has lost too many digits, and residuals are summed instead.
const CANCELS: f64 = 1e-4;

/// A column that keeps less than this share of its length outside the span of those before adds no direction.
const DEPENDENT: f64 = 1e-14;

/// The divisor of the squared error.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Normalization {
    /// |H X_i|^2, which does not depend on where the data lie.
    #[default]
    Centered,
    /// |X_i|^2 (eq. 7), which does.
    Paper,
}

/// The neighborhoods to measure, and the divisor of the error.
#[derive(Debug, Clone, Copy)]
pub struct AsimParams<'a> {
    /// True if a point belongs to its own neighborhood.
    pub include_self: bool,
    /// The divisor of the squared error.
    pub normalization: Normalization,
    /// The points whose neighborhoods are measured; all points if `None`.
    pub centers: Option<&'a [u32]>,
}

impl Default for AsimParams<'_> {
    fn default() -> Self {
        AsimParams { include_self: true, normalization: Normalization::Centered, centers: None }
    }
}

/// ASIM of two sets of points, row by row; in [0, 1], 0 is perfect.
///
/// If all of `x` coincide it is 0 if all of `y` do, and infinite otherwise. It does not change if `x` is rotated,
/// reflected, moved or scaled, or if each coordinate of `y` is moved or scaled.
pub fn asim(x: &Points, y: &Points, normalization: Normalization) -> Result<f64> {
    check_pair(x, y)?;
    Ok(Workspace::default().measure(x, y, || 0..x.len(), normalization))
}

/// ASIM of each neighborhood measured. The mean of the finite values is M_L (eq. 18).
pub fn asim_all(
    x: &Points,
    y: &Points,
    neighborhoods: &Neighborhoods,
    params: AsimParams,
    monitor: &dyn Monitor,
) -> Result<Vec<f64>> {
    check_pair(x, y)?;
    check_lengths(x, "X", neighborhoods)?;
    check_centers(params.centers, x.len())?;
    let n = params.centers.map_or(x.len(), <[u32]>::len);
    let values = map_points(n, STAGE, monitor, Workspace::default, |workspace, place| {
        // Many coordinates make a neighborhood slow; results after a stop are discarded.
        if y.dim() > 2 && monitor.stop_requested() {
            return 0.0;
        }
        let center = params.centers.map_or(place, |centers| centers[place] as usize);
        workspace.measure(x, y, || members(neighborhoods, center, params.include_self), params.normalization)
    })?;
    monitor.check()?;
    Ok(values)
}

/// Buffers of one neighborhood, reused by the next.
#[derive(Default)]
struct Workspace {
    /// H X_i, then divided by its norm.
    x: Local,
    /// H Y_i, then the columns that are not zero, of length 1, in front.
    y: Local,
    /// The m_j: q x rank.
    m: Vec<f64>,
    /// Orthonormal, spans them: q x rank.
    basis: Vec<f64>,
    /// The m_j in that basis: rank x rank.
    r: Vec<f64>,
    climb: Climb,
    starts: Starts,
    best: Climb,
    /// The best p_j in the coordinates of x: q x rank.
    frame: Vec<f64>,
    row: Vec<f64>,
}

impl Workspace {
    fn measure<I: ExactSizeIterator<Item = usize>>(
        &mut self,
        x: &Points,
        y: &Points,
        members: impl Fn() -> I,
        normalization: Normalization,
    ) -> f64 {
        self.x.load_reduced(x, members(), y.dim());
        self.y.load(y, members(), y.dim());
        let x2 = self.x.norm2;
        if x2 < COLLAPSED {
            return if self.y.norm2 < COLLAPSED { 0.0 } else { f64::INFINITY };
        }
        let share = self.centered();
        match normalization {
            Normalization::Centered => share,
            Normalization::Paper => share * (x2 / self.raw_norm2(x, members())).min(1.0),
        }
    }

    /// |X_i|^2.
    fn raw_norm2(&mut self, x: &Points, members: impl Iterator<Item = usize>) -> f64 {
        self.row.resize(x.dim(), 0.0);
        let mut norm2 = 0.0;
        for i in members {
            x.copy_row(i, &mut self.row);
            norm2 += dot(&self.row, &self.row);
        }
        norm2
    }

    fn centered(&mut self) -> f64 {
        let norm = self.x.norm2.sqrt();
        self.x.x.iter_mut().for_each(|v| *v /= norm);
        let rank = self.normalize_columns();
        self.project(rank);
        self.orthonormalize(rank);
        self.maximize(rank);
        let rest = 1.0 - self.best.sum();
        if rest < CANCELS { self.residual(rank) } else { rest }.min(1.0)
    }

    /// Moves the columns of H Y_i that are not zero to the front and to length 1; returns their number.
    fn normalize_columns(&mut self) -> usize {
        let padded = self.y.padded;
        let mut rank = 0;
        for j in 0..self.y.dim {
            let y = column(&self.y.x, padded, j);
            let norm2 = dot(y, y);
            if norm2 >= COLLAPSED {
                self.y.x.copy_within(j * padded..(j + 1) * padded, rank * padded);
                let norm = norm2.sqrt();
                self.y.x[rank * padded..][..padded].iter_mut().for_each(|v| *v /= norm);
                rank += 1;
            }
        }
        rank
    }

    /// M = X_i' H Y_i, of the columns normalized.
    fn project(&mut self, rank: usize) {
        let padded = self.x.padded;
        self.m.clear();
        for j in 0..rank {
            let y = column(&self.y.x, padded, j);
            self.m.extend((0..self.x.dim).map(|a| dot(column(&self.x.x, padded, a), y)));
        }
    }

    /// M = basis R by Gram-Schmidt, twice; where columns depend on those before, other directions complete the basis.
    fn orthonormalize(&mut self, rank: usize) {
        let (q, m, basis) = (self.x.dim, &self.m, &mut self.basis);
        basis.clear();
        basis.extend_from_slice(m);
        for j in 0..rank {
            let (known, rest) = basis.split_at_mut(j * q);
            let direction = &mut rest[..q];
            let length = dot(direction, direction).sqrt();
            for _ in 0..2 {
                known.chunks_exact(q).for_each(|axis| remove(axis, direction));
            }
            let left = dot(direction, direction).sqrt();
            // Squares of shorter columns have no digits.
            if left > DEPENDENT * length && left * left > COLLAPSED {
                direction.iter_mut().for_each(|v| *v /= left);
                known.chunks_exact(q).for_each(|axis| remove(axis, direction));
            } else {
                complete(basis, q, j);
            }
        }
        self.r.clear();
        for j in 0..rank {
            self.r.extend((0..rank).map(|k| dot(column(basis, q, k), column(m, q, j))));
        }
    }

    /// Leaves the best climb in `best`.
    fn maximize(&mut self, rank: usize) {
        self.starts.prepare(rank, &self.r);
        self.best.begin(&self.starts.frames[..rank * rank], &self.r, rank);
        self.best.run();
        let most = dot(&self.m, &self.m).min(1.0); // no frame can do better
        for start in self.starts.frames.chunks_exact((rank * rank).max(1)).skip(1) {
            if most - self.best.sum() <= f64::EPSILON {
                break;
            }
            self.climb.begin(start, &self.r, rank);
            self.climb.run();
            if self.climb.sum() > self.best.sum() {
                std::mem::swap(&mut self.climb, &mut self.best);
            }
        }
    }

    /// |X_i - Y_i D P'|^2 from the differences.
    fn residual(&mut self, rank: usize) -> f64 {
        let (q, padded) = (self.x.dim, self.x.padded);
        self.frame.clear();
        self.frame.resize(q * rank, 0.0);
        for (j, p) in self.frame.chunks_exact_mut(q).enumerate() {
            for (k, axis) in self.basis.chunks_exact(q).enumerate() {
                let weight = self.best.turn(j)[k];
                p.iter_mut().zip(axis).for_each(|(p, a)| *p += weight * a);
            }
        }
        let (frame, best) = (&self.frame, &self.best);
        let of_axis = |a: usize| {
            let x = column(&self.x.x, padded, a);
            let weight = |j: usize| best.along(j, j) * frame[j * q + a];
            distance2_to_combination(x, &self.y.x, rank, weight)
        };
        (0..q).map(of_axis).sum()
    }
}

/// Starts of the climbs: orthogonal matrices end to end, column after column.
#[derive(Default)]
struct Starts {
    rank: usize,
    frames: Vec<f64>,
    scratch: Vec<f64>,
    copy: Vec<f64>,
}

impl Starts {
    /// Up to two columns any start will do. Else the random frames, the same for all neighborhoods of this rank, are
    /// kept, and the second is the best rotation of these.
    fn prepare(&mut self, rank: usize, r: &[f64]) {
        if self.rank != rank || self.frames.is_empty() {
            self.rank = rank;
            self.frames.clear();
            self.frames.extend((0..rank * rank).map(|at| f64::from(at % (rank + 1) == 0)));
            let more = if rank > 2 { 1..STARTS } else { 1..1 };
            more.for_each(|index| self.add_random(index));
        }
        if rank > 2 {
            self.copy.clear();
            self.copy.extend_from_slice(r);
            let second = &mut self.frames[rank * rank..][..rank * rank];
            orthogonal_factor(&mut self.copy, rank, rank, second, &mut self.scratch);
        }
    }

    fn add_random(&mut self, index: usize) {
        let (rank, size) = (self.rank, self.rank * self.rank);
        let mut rng = stream(0, STAGE, index as u64);
        self.copy.clear();
        self.copy.extend((0..size).map(|_| normal(&mut rng)));
        self.frames.resize((index + 1) * size, 0.0);
        orthogonal_factor(&mut self.copy, rank, rank, &mut self.frames[index * size..], &mut self.scratch);
    }
}

/// An orthogonal matrix on its way to the maximum. For each p_i a row: its products with the columns of R, then its
/// own entries, so that both are rotated at once.
#[derive(Default)]
struct Climb {
    rank: usize,
    rows: Vec<f64>,
}

impl Climb {
    fn begin(&mut self, start: &[f64], r: &[f64], rank: usize) {
        self.rank = rank;
        self.rows.clear();
        for p in start.chunks_exact(rank.max(1)) {
            self.rows.extend(r.chunks_exact(rank).map(|column| dot(p, column)));
            self.rows.extend_from_slice(p);
        }
    }

    /// p_i . m_j.
    fn along(&self, i: usize, j: usize) -> f64 {
        self.rows[2 * i * self.rank + j]
    }

    /// p_i.
    fn turn(&self, i: usize) -> &[f64] {
        &self.rows[(2 * i + 1) * self.rank..][..self.rank]
    }

    /// Sum of (p_j . m_j)^2.
    fn sum(&self) -> f64 {
        (0..self.rank).map(|j| self.along(j, j).powi(2)).sum()
    }

    /// Sweeps until nothing is gained. A single pair needs one.
    fn run(&mut self) {
        for _ in 0..SWEEPS {
            let mut gained = 0.0;
            for i in 0..self.rank {
                for j in i + 1..self.rank {
                    gained += self.solve_pair(i, j);
                }
            }
            let left = (1.0 - self.sum()).max(0.0);
            if self.rank <= 2 || gained <= SETTLED * left + NOTHING {
                break;
            }
        }
    }

    /// Rotates p_i and p_j in their plane as is best for both; returns the increase of the sum.
    fn solve_pair(&mut self, i: usize, j: usize) -> f64 {
        let (a1, a2, b1, b2) = (self.along(i, i), self.along(j, i), self.along(i, j), self.along(j, j));
        let b = ((a1 - a2) * (a1 + a2) + (b2 - b1) * (b2 + b1)) / 2.0;
        let c = a1 * a2 - b1 * b2;
        let h = b.hypot(c);
        let gain = if b > 0.0 { c * (c / (h + b)) } else { h - b };
        if gain == 0.0 {
            return 0.0;
        }
        let (cos, sin) = half_angle(b, c, h);
        let width = 2 * self.rank;
        let (above, below) = self.rows.split_at_mut(j * width);
        for (x, y) in above[i * width..][..width].iter_mut().zip(&mut below[..width]) {
            (*x, *y) = (cos * *x + sin * *y, cos * *y - sin * *x);
        }
        gain
    }
}

/// Cosine and sine of half the angle of (b, c), whose length is `h`, without cancellation.
fn half_angle(b: f64, c: f64, h: f64) -> (f64, f64) {
    let larger = ((1.0 + b.abs() / h) / 2.0).sqrt();
    let smaller = c.abs() / h / (2.0 * larger);
    if b >= 0.0 { (larger, smaller.copysign(c)) } else { (smaller, larger.copysign(c)) }
}
