//! Local principal components (Goldberg & Ritov, Lemma 1): the tangent of a neighborhood.

use super::local::{Abreast, Local};
use crate::error::{Error, Result, check_rows};
use crate::linalg::lanes::{FLAT, Lanes, SIZES, WIDTH, ZERO, dot as lane_dot};
use crate::linalg::principal::principal;
use crate::linalg::{column, combine, distance2_to_combination, dot, first, orthogonalize, symmetric_eigen};
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;
use crate::parallel::map_blocks;
use crate::points::{Points, Rows};

/// P_i, Theta_i = H X_i P_i, and the residual of the neighborhood. Its memory is reused by the next neighborhood.
#[derive(Debug, Default, Clone)]
pub struct Tangent {
    /// The first d principal directions, one per column of length `dim`.
    pub basis: Vec<f64>,
    /// The chart Theta_i, coordinate after coordinate, padded like the points.
    pub chart: Vec<f64>,
    /// All squared singular values of H X_i, from the largest down.
    pub spectrum: Vec<f64>,
    /// |H X_i - H X_i P_i P_i'|^2, summed from the residuals: eigenvalues would lose what is below 1e-16 of |H X_i|^2.
    pub residual: f64,
    scatter: Vec<f64>,
    scratch: Vec<f64>,
}

impl Tangent {
    /// Finds the tangent of dimension `d` of points in `q` dimensions. Cost: O(m q^2 + q^3) for m points.
    #[inline(always)]
    pub fn fit(&mut self, local: &Local, q: usize, d: usize) {
        let (x, padded) = (&local.x[..q * local.padded], local.padded);
        let (scatter, spectrum) = (first(&mut self.scatter, q * q), first(&mut self.spectrum, q));
        for a in 0..q {
            for b in 0..=a {
                let product = dot(column(x, padded, a), column(x, padded, b));
                scatter[a * q + b] = product;
                scatter[b * q + a] = product;
            }
        }
        symmetric_eigen(scatter, q, spectrum, &mut self.scratch);
        spectrum.iter_mut().for_each(|v| *v = v.max(0.0));
        first(&mut self.basis, q * d).copy_from_slice(&scatter[..q * d]);
        self.project(x, padded, q, d);
    }

    #[inline(always)]
    fn project(&mut self, x: &[f64], padded: usize, q: usize, d: usize) {
        let chart = first(&mut self.chart, d * padded);
        let basis = &self.basis[..q * d];
        for j in 0..d {
            let theta = &mut chart[j * padded..(j + 1) * padded];
            combine(x, q, |a| basis[j * q + a], theta);
        }
        // Eigenvectors of the scatter leave columns correlated by 1e-16 of the longest: too much for a thin direction.
        let basis = &mut self.basis[..q * d];
        orthogonalize(chart, padded, d, basis);
        self.residual = 0.0;
        if d < q {
            for a in 0..q {
                let x = column(x, padded, a);
                self.residual += distance2_to_combination(x, chart, d, |j| basis[j * q + a]);
            }
        }
    }
}

/// Tangents of several neighborhoods of one size side by side, reused by the next.
#[derive(Debug, Default)]
pub(crate) struct TangentGroup<const Q: usize> {
    local: Abreast<Q>,
}

impl<const Q: usize> TangentGroup<Q> {
    /// For every list of points the tangent of dimension `d`, column after column, which takes the first entries, and
    /// the share of the variance outside; `None` for a neighborhood that must be fitted alone. The points of `next` are
    /// prefetched meanwhile.
    #[inline(always)]
    pub fn fit(
        &mut self,
        lists: [&[u32]; WIDTH],
        next: &[u32],
        points: &(impl Rows<Q> + ?Sized),
        d: usize,
    ) -> [Option<([[f64; Q]; Q], f64)>; WIDTH] {
        self.local.load(lists, points);
        let (mut scatter, mut next) = ([[ZERO; Q]; Q], next.chunks(WIDTH));
        for x in &self.local.points {
            next.next().unwrap_or_default().iter().for_each(|&i| points.soon(i as usize));
            for a in 0..Q {
                (0..=a).for_each(|b| scatter[a][b] += x[a] * x[b]);
            }
        }
        let norm2 = (1..Q).fold(scatter[0][0], |sum, a| sum + scatter[a][a]);
        let found = principal(scatter);
        let mut residual = ZERO;
        for x in &self.local.points {
            for direction in &found.directions[d..] {
                let rest = lane_dot(direction, x);
                residual += rest * rest;
            }
        }
        let share = residual / norm2;
        std::array::from_fn(|lane| {
            let of = |lanes: Lanes| lanes.0[lane];
            let (first, last) = (of(found.extents2[0]), of(found.extents2[d - 1]));
            let basis = || std::array::from_fn(|j| std::array::from_fn(|a| of(found.directions[j][a])));
            (SIZES.contains(&first) && last > FLAT * first).then(|| (basis(), of(share).min(1.0)))
        })
    }
}

/// The local principal components of every neighborhood.
#[derive(Debug, Clone, Default)]
pub struct Charts {
    /// Dimension of the data.
    pub dim: usize,
    /// Dimension of the charts.
    pub n_components: usize,
    /// P_i for each i: `dim` rows and `n_components` columns, row after row.
    pub bases: Vec<f64>,
    /// Theta_i for each i, point after point: i if it belongs to its neighborhood, then its neighbors.
    pub charts: Vec<f64>,
    /// The first `n_components` singular values of each H X_i.
    pub singular_values: Vec<f64>,
    /// The share of |H X_i|^2 outside the tangent; 0 where all points coincide.
    pub residual_fractions: Vec<f64>,
}

/// Local PCA of all neighborhoods, in parallel. The sign of each direction makes its largest entry positive.
///
/// Cost: O(n (m q^2 + q^3)) for neighborhoods of m points if q < m, else O(n m^2 q). Fails if `n_components` is 0 or
/// exceeds the dimension of the data, or if the graph does not have one neighborhood per point.
pub fn charts(
    points: &Points,
    neighborhoods: &Neighborhoods,
    n_components: usize,
    include_self: bool,
    monitor: &dyn Monitor,
) -> Result<Charts> {
    let (q, d) = (points.dim(), n_components);
    check_components(d, q)?;
    check_lengths(points, "X", neighborhoods)?;
    let blocks: Vec<Charts> = map_blocks(points.len(), "charts", monitor, |block| {
        let mut workspace = (Local::default(), Tangent::default());
        let mut charts = Charts::empty(q, d);
        for i in block {
            let (local, tangent) = &mut workspace;
            local.load_reduced(points, members(neighborhoods, i, include_self), d);
            tangent.fit(local, local.dim, d);
            charts.add(local, tangent);
        }
        charts
    })?;
    let mut all = Charts::empty(q, d);
    for block in blocks {
        monitor.check()?;
        all.append(block);
    }
    Ok(all)
}

impl Charts {
    fn empty(dim: usize, n_components: usize) -> Self {
        Charts { dim, n_components, ..Charts::default() }
    }

    fn append(&mut self, block: Charts) {
        self.bases.extend(block.bases);
        self.charts.extend(block.charts);
        self.singular_values.extend(block.singular_values);
        self.residual_fractions.extend(block.residual_fractions);
    }

    /// Adds one neighborhood.
    fn add(&mut self, local: &Local, tangent: &Tangent) {
        let (q, d) = (self.dim, self.n_components);
        let (basis_start, chart_start) = (self.bases.len(), self.charts.len());
        self.bases.resize(basis_start + q * d, 0.0);
        self.charts.resize(chart_start + local.size * d, 0.0);
        let mut direction = vec![0.0; q];
        for j in 0..d {
            local.widen(column(&tangent.basis, local.dim, j), &mut direction);
            let peak = direction.iter().fold(0.0f64, |peak, &v| if v.abs() > peak.abs() { v } else { peak });
            let sign = if peak < 0.0 { -1.0 } else { 1.0 };
            let theta = column(&tangent.chart, local.padded, j);
            (0..q).for_each(|row| self.bases[basis_start + row * d + j] = sign * direction[row]);
            (0..local.size).for_each(|p| self.charts[chart_start + p * d + j] = sign * theta[p]);
            // the length of the chart's column: more digits than the root of an eigenvalue has
            self.singular_values.push(dot(theta, theta).sqrt());
        }
        let fraction = if local.norm2 > 0.0 { tangent.residual / local.norm2 } else { 0.0 };
        self.residual_fractions.push(fraction);
    }
}

/// The points of neighborhood `i`: itself first unless left out, then its neighbors.
#[inline(always)]
pub(crate) fn members<'a>(
    neighborhoods: &'a Neighborhoods,
    i: usize,
    include_self: bool,
) -> impl ExactSizeIterator<Item = usize> + 'a {
    let (neighbors, own) = (neighborhoods.of(i), usize::from(include_self));
    (0..neighbors.len() + own).map(move |p| if p < own { i } else { neighbors[p - own] as usize })
}

pub(crate) fn check_components(n_components: usize, dim_in: usize) -> Result<()> {
    match n_components {
        0 => Err(Error::NoComponents),
        _ if n_components > dim_in => Err(Error::TooManyComponents { n_components, dim_in }),
        _ => Ok(()),
    }
}

pub(crate) fn check_lengths(
    points: &Points,
    name: &'static str,
    neighborhoods: &Neighborhoods,
) -> Result<()> {
    check_rows((name, points.len()), ("the neighborhood graph", neighborhoods.len()))
}
