//! Tangents that are robust to noise: found from larger neighborhoods at a net of points, then averaged everywhere.
//!
//! Noise of standard deviation s tilts the tangent of K points within radius r by about s / (r sqrt(K)).
//! [`tangent_scale`] finds the smallest K that gives steady tangents. [`Net`] finds tangents from K neighbors at n W /
//! K points, which costs as much as from W neighbors at all points, and averages the nearest projectors P P' elsewhere.
//! Cost: O(n W q^2), or O(n W K q) if the data have more than K dimensions; then O(n q (M d)^2) for means of M.

use ndarray::Array2;

use super::atlas::{fit_tangent, widen};
use super::local::Local;
use super::tangent::{Tangent, check_components, members};
use crate::error::{Error, Result, check_rows};
use crate::linalg::{column, dot, first, symmetric_eigen};
use crate::monitor::{Monitor, Silent};
use crate::neighbors::{Neighborhoods, check_neighbors, query};
use crate::parallel::{fill_rows, map_points};
use crate::points::Points;
use crate::rng::{stream, uniform};

const STAGE: &str = "tangents";

/// W: up to this many neighbors, tangents are found at every point; above it, at n W / K points.
pub const FULL_NET_NEIGHBORS: usize = 64;

/// M: number of tangents of the net that are averaged at every point.
pub const AVERAGED_TANGENTS: usize = 8;

/// Maximum number of neighbors of the net's points listed at a time: 200 MB with their distances.
pub const MAX_LISTED_NEIGHBORS: usize = 1 << 24;

/// Neighborhoods sampled to choose the scale; fewer if the data have more than `WIDE` dimensions.
const CENTERS: usize = 256;
const CENTERS_OF_WIDE: usize = 24;
const WIDE: usize = 16;

/// The largest scale tried has this many times the neighbors of the graph.
const LARGEST_SCALE: usize = 1024;
const LARGEST_SCALE_OF_WIDE: usize = 8;

/// The largest scale tried has at most one in this many of all points.
const LARGEST_SHARE: usize = 4;

/// A tangent is steady if the tangents of two halves of its points differ by at most this, in radians.
const STEADY: f64 = 0.035;

/// The data have dimension d at a scale if the variance along direction d + 1 is below this share of that along d.
const FLAT: f64 = 0.4;

/// Noise hid this at a smaller scale if the share has fallen by this factor since.
const FALLEN: f64 = 0.6;

/// If no scale is steady, the steadiest is used if its tilt is at most this.
const USABLE: f64 = 0.1;

/// Scales tried with one search for neighbors.
const SCALES_AT_ONCE: u32 = 3;

/// Tangents at a net of points, to be averaged at all others.
#[derive(Debug, Clone)]
pub struct Net {
    dim: usize,
    n_components: usize,
    /// P of every point of the net, column after column.
    bases: Vec<f64>,
    /// For every point the nearest of the net, nearest first.
    lists: Vec<u32>,
    per_point: usize,
}

/// Buffers that are reused from point to point.
#[derive(Debug, Default, Clone)]
pub struct Mean {
    columns: Vec<f64>,
    gram: Vec<f64>,
    values: Vec<f64>,
    scratch: Vec<f64>,
}

impl Net {
    /// Finds tangents from `k` neighbors at points that are chosen at random with `seed`.
    ///
    /// Fails if `n_components` is 0 or exceeds the dimension of the data, or if there are not more than `k` points.
    pub fn new(
        points: &Points,
        n_components: usize,
        k: usize,
        seed: u64,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let (n, q, d) = (points.len(), points.dim(), n_components);
        check_components(d, q)?;
        check_neighbors(k, n)?;
        let size = if k <= FULL_NET_NEIGHBORS {
            n
        } else {
            (n * FULL_NET_NEIGHBORS).div_ceil(k).max(AVERAGED_TANGENTS).min(n)
        };
        let chosen = draw(n, size, seed, "net");
        let mut rows = Array2::default((0, 0));
        let net = choose(points, &chosen, &mut rows, monitor)?;
        let mut bases = vec![0.0; size * q * d];
        let block = MAX_LISTED_NEIGHBORS / (k + 1) + 1;
        for (chosen, bases) in chosen.chunks(block).zip(bases.chunks_mut(block * q * d)) {
            fit(points, chosen, d, k, bases, monitor)?;
        }
        let per_point = AVERAGED_TANGENTS.min(size);
        let lists = query(&net, points, per_point, Default::default(), &Silent(monitor))?.indices;
        Ok(Net { dim: q, n_components, bases, lists, per_point })
    }

    pub(super) fn check(&self, points: &Points, n_components: usize) -> Result<()> {
        if (self.dim, self.n_components) != (points.dim(), n_components) {
            let (left, right) = ("the net", "tangents of X");
            let (left_dim, right_dim) = (self.dim * self.n_components, points.dim() * n_components);
            return Err(Error::DimensionMismatch { left, left_dim, right, right_dim });
        }
        check_rows(("X", points.len()), ("the net", self.lists.len() / self.per_point))
    }

    /// Writes P_i, column after column: the d main directions of the nearest tangents of the net.
    pub fn tangent(&self, i: usize, mean: &mut Mean, basis: &mut [f64]) {
        let (q, d) = (self.dim, self.n_components);
        let m = self.per_point * d;
        mean.columns.clear();
        for &c in &self.lists[i * self.per_point..][..self.per_point] {
            mean.columns.extend_from_slice(&self.bases[c as usize * q * d..][..q * d]);
        }
        if q <= m { mean.by_scatter(q, m, basis) } else { mean.by_gram(q, m, basis) }
    }
}

/// The tangents of `k` neighbors of each of some points.
fn fit(
    points: &Points,
    block: &[u32],
    d: usize,
    k: usize,
    bases: &mut [f64],
    monitor: &dyn Monitor,
) -> Result<()> {
    let mut rows = Array2::default((0, 0));
    let asking = choose(points, block, &mut rows, monitor)?;
    let wide = query(points, &asking, k + 1, Default::default(), &Silent(monitor))?;
    let state = || (Local::default(), Tangent::default());
    fill_rows(bases, points.dim() * d, STAGE, monitor, state, |(local, tangent), c, basis| {
        let list = &wide.indices[c * (k + 1)..][..k + 1];
        fit_tangent(points, list.iter().map(|&p| p as usize), d, local, tangent);
        widen(local, tangent, d, basis);
    })
}

impl Mean {
    /// The top eigenvectors of sum P P', which is q x q.
    fn by_scatter(&mut self, q: usize, m: usize, basis: &mut [f64]) {
        let scatter = first(&mut self.gram, q * q);
        scatter.fill(0.0);
        for c in 0..m {
            let axis = &self.columns[c * q..][..q];
            (0..q * q).for_each(|ab| scatter[ab] += axis[ab / q] * axis[ab % q]);
        }
        symmetric_eigen(scatter, q, first(&mut self.values, q), &mut self.scratch);
        basis.copy_from_slice(&scatter[..basis.len()]);
    }

    /// The same through the products of the columns, which are fewer than q.
    fn by_gram(&mut self, q: usize, m: usize, basis: &mut [f64]) {
        let gram = first(&mut self.gram, m * m);
        for a in 0..m {
            for b in 0..=a {
                let product = dot(column(&self.columns, q, a), column(&self.columns, q, b));
                (gram[a * m + b], gram[b * m + a]) = (product, product);
            }
        }
        symmetric_eigen(gram, m, first(&mut self.values, m), &mut self.scratch);
        basis.fill(0.0);
        for (axis, weights) in basis.chunks_exact_mut(q).zip(gram.chunks_exact(m)) {
            for (c, weight) in weights.iter().enumerate() {
                axis.iter_mut().zip(column(&self.columns, q, c)).for_each(|(v, u)| *v += weight * u);
            }
            let length = dot(axis, axis).sqrt(); // at least 1: the net's own columns have length 1
            axis.iter_mut().for_each(|v| *v /= length);
        }
    }
}

/// The number of neighbors from which tangents should be found, or `None` if those of the graph suffice or more would
/// not help.
///
/// Tries twice, four times, ... the neighbors of the graph. The result is the first steady scale, or else the steadiest
/// one before the surface bends. A scale is steady if the tangents of two halves of the points agree. If the share of
/// variance beyond the tangent falls with the scale, it is noise, not curvature or a further dimension.
pub fn tangent_scale(
    points: &Points,
    neighborhoods: &Neighborhoods,
    n_components: usize,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Option<usize>> {
    let (n, q, d) = (points.len(), points.dim(), n_components);
    check_components(d, q)?;
    let k = (neighborhoods.indices().len() / n).max(1);
    let wide = q > WIDE;
    let centers = draw(n, if wide { CENTERS_OF_WIDE } else { CENTERS }, seed, "scale");
    let monitor = &Silent(monitor);
    let own = |c: usize| members(neighborhoods, centers[c] as usize, true).collect();
    let base = Steadiness::of(points, d, centers.len(), own, monitor)?;
    let largest = (n / LARGEST_SHARE).min(k * if wide { LARGEST_SCALE_OF_WIDE } else { LARGEST_SCALE });
    if d == q || base.is_enough() || !base.beyond.is_finite() {
        return Ok(None);
    }
    let mut rows = Array2::default((0, 0));
    let asking = choose(points, &centers, &mut rows, monitor)?;
    let mut choice = Choice { base, best: None };
    let mut scale = 2 * k;
    while scale <= largest {
        let most = (scale << (SCALES_AT_ONCE - 1)).min(largest) + 1;
        let found = query(points, &asking, most, Default::default(), monitor)?;
        while scale < most {
            let list =
                |c: usize| found.indices[c * most..][..scale + 1].iter().map(|&p| p as usize).collect();
            if choice.is_made(scale, Steadiness::of(points, d, centers.len(), list, monitor)?) {
                return Ok(choice.scale());
            }
            scale *= 2;
        }
    }
    Ok(choice.scale())
}

/// The steadiest scale so far, going up.
struct Choice {
    /// Quality at the graph's own neighborhoods.
    base: Steadiness,
    best: Option<(usize, Steadiness)>,
}

impl Choice {
    /// Takes the next scale, and returns true if larger ones need not be examined.
    fn is_made(&mut self, scale: usize, found: Steadiness) -> bool {
        let worse = |best: &Steadiness| found.beyond > best.beyond || found.tilt2 > best.tilt2;
        if self.best.as_ref().is_some_and(|(_, best)| worse(best)) {
            return true;
        }
        let enough = found.is_enough();
        if found.beyond <= FLAT {
            self.best = Some((scale, found));
        }
        enough
    }

    fn scale(self) -> Option<usize> {
        let noise =
            |found: &Steadiness| found.beyond <= FALLEN * self.base.beyond && found.tilt2 <= USABLE * USABLE;
        self.best.filter(|(_, best)| noise(best)).map(|(scale, _)| scale)
    }
}

/// Quality of the tangents at a scale: medians over neighborhoods.
struct Steadiness {
    /// |P P' - Q Q'|^2 / 4 for the tangents P and Q of two halves: the variance of that of the whole.
    tilt2: f64,
    /// The variance in direction d + 1 as a share of that in direction d.
    beyond: f64,
}

impl Steadiness {
    fn of(
        points: &Points,
        d: usize,
        centers: usize,
        list: impl Fn(usize) -> Vec<usize> + Sync,
        monitor: &dyn Monitor,
    ) -> Result<Steadiness> {
        let state = || (Local::default(), Tangent::default(), vec![], vec![]);
        let pairs = map_points(centers, STAGE, monitor, state, |(local, tangent, left, right), c| {
            let list = list(c);
            let mut half = |offset: usize, basis: &mut Vec<f64>| {
                let half: Vec<usize> = list.iter().copied().skip(offset).step_by(2).collect();
                basis.resize(points.dim() * d, 0.0);
                fit_tangent(points, half.iter().copied(), d, local, tangent);
                widen(local, tangent, d, basis);
                half.len() > d
            };
            let enough = half(0, left) & half(1, right);
            fit_tangent(points, list.iter().copied(), d, local, tangent);
            let least = tangent.spectrum[d - 1];
            let next = if d < local.dim { tangent.spectrum[d] } else { 0.0 };
            let beyond = if least > 0.0 { next / least } else { f64::INFINITY };
            (if enough { tilt2(left, right, points.dim()) } else { f64::INFINITY }, beyond)
        })?;
        let (mut tilts, mut shares): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        Ok(Steadiness { tilt2: median(&mut tilts), beyond: median(&mut shares) })
    }

    fn is_enough(&self) -> bool {
        self.tilt2 <= STEADY * STEADY && self.beyond <= FLAT
    }
}

/// |P P' - Q Q'|^2 / 4 = sum of squared sines of the angles between two tangents / 2.
fn tilt2(left: &[f64], right: &[f64], q: usize) -> f64 {
    let product = |p: &[f64]| right.chunks_exact(q).map(|r| dot(p, r).powi(2)).sum::<f64>();
    left.chunks_exact(q).map(|p| (1.0 - product(p)).max(0.0)).sum::<f64>() / 2.0
}

fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// `size` of `n` points at random, in rising order.
fn draw(n: usize, size: usize, seed: u64, stage: &'static str) -> Vec<u32> {
    if size >= n {
        return (0..n as u32).collect();
    }
    let mut rng = stream(seed, stage, 0);
    let mut order: Vec<u32> = (0..n as u32).collect();
    for i in 0..size {
        let other = i + (uniform(&mut rng) * (n - i) as f64) as usize;
        order.swap(i, other);
    }
    order.truncate(size);
    order.sort_unstable();
    order
}

/// Some of the points: copied to `rows`, or borrowed if they are all.
pub(super) fn choose<'r>(
    points: &'r Points,
    chosen: &[u32],
    rows: &'r mut Array2<f64>,
    monitor: &dyn Monitor,
) -> Result<Points<'r>> {
    if chosen.len() == points.len() {
        return Ok(points.reborrow());
    }
    *rows = Array2::zeros((chosen.len(), points.dim()));
    for (mut row, &i) in rows.rows_mut().into_iter().zip(chosen) {
        if let Some(row) = row.as_slice_mut() {
            points.copy_row(i as usize, row);
        }
    }
    Points::new("the net", rows.view(), monitor)
}
