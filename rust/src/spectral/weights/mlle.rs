//! Modified locally linear embedding (Zhang & Wang 2006), section 3: s_i weight vectors per neighborhood, the columns
//! of w(gamma) 1' (1 - alpha) + V H.
//!
//! V spans what is orthogonal to the r = k - s_i large directions U, and H takes V'1 to alpha 1. With v = (I - U U') 1,
//! of length alpha s_i^1/2, and u = v / |v|, W_i W_i' is I - U U' - u u' + b b' for b = u + (1 - alpha) s_i^1/2 w. So
//! r + 2 vectors are stored, not s_i.
//!
//! s_i is that of eq. 3.7 with its bound s_i <= k - d, and eta is the lower of the two middle terms if their number is
//! even; scikit-learn has no bound, and takes the mean of both. A neighborhood of lower rank than d has no d large
//! directions, so any others make up their number. Cost: O(n (k q^2 + q^3)) for narrow data, O(n k^2 (q + k)) for wide.

use super::lle::{INSIDE, check_reg, fit_all, load_differences};
use super::ltsa::NO_EXTENT;
use super::{Form, Layout, LocalWeights, check_sizes};
use crate::charts::{Local, Tangent, check_components, check_lengths};
use crate::error::Result;
use crate::linalg::{complete, dot};
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;
use crate::parallel::fill_rows;
use crate::points::Points;
use crate::spectral::check_range;

const NAME: &str = "MLLE";

/// Parameters of MLLE.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MlleParams {
    /// Dimension d of the embedding.
    pub n_components: usize,
    /// gamma of eq. 2.3.
    pub reg: f64,
}

impl Default for MlleParams {
    fn default() -> Self {
        MlleParams { n_components: 2, reg: 1e-3 }
    }
}

/// W_i of MLLE for every neighborhood.
pub fn mlle(
    x: &Points,
    graph: &Neighborhoods,
    params: &MlleParams,
    monitor: &dyn Monitor,
) -> Result<LocalWeights> {
    let MlleParams { n_components: d, reg } = *params;
    check_reg(reg)?;
    check_range("reg", reg, reg > 0.0, "it must be above 0: without it weights can be of any size")?;
    check_components(d, x.dim())?;
    check_lengths(x, "X", graph)?;
    check_sizes(NAME, d, graph, d)?;
    let width = x.dim().min(graph.largest());
    let spectra = spectra(x, graph, width, monitor)?;
    let eta = middle(spectra.chunks_exact(width).filter_map(|spectrum| ratio(spectrum, d)).collect());
    let mut places = Vec::with_capacity(graph.len() + 1);
    places.push(0);
    for (i, spectrum) in spectra.chunks_exact(width).enumerate() {
        let k = graph.of(i).len();
        places.push(places[i] + (large(spectrum, d, k, eta) + 2) * k);
    }
    drop(spectra);
    let state = || (Local::default(), Tangent::default());
    let how = (NAME, Form::ComplementAndRow, false);
    LocalWeights::fill(how, graph, Layout::Ragged(places), monitor, state, |(local, tangent), i, out| {
        load_differences(x, graph, i, local);
        write(local, tangent, reg, out);
    })
}

/// The eigenvalues of every Gram matrix from the largest down, zeros for those that are rounding.
fn spectra(x: &Points, graph: &Neighborhoods, width: usize, monitor: &dyn Monitor) -> Result<Vec<f64>> {
    let mut spectra = vec![0.0; graph.len() * width];
    let state = || (Local::default(), Tangent::default());
    fill_rows(&mut spectra, width, "spectra", monitor, state, |(local, tangent), i, spectrum| {
        load_differences(x, graph, i, local);
        if local.norm2 > 0.0 {
            fit_all(local, tangent);
            let charts = tangent.chart[..local.dim * local.padded].chunks_exact(local.padded);
            spectrum.iter_mut().zip(charts).for_each(|(value, t)| *value = dot(t, t));
            spectrum.sort_unstable_by(|a, b| b.total_cmp(a));
            let least = NO_EXTENT * NO_EXTENT * spectrum[0];
            spectrum.iter_mut().filter(|value| **value <= least).for_each(|value| *value = 0.0);
        }
    })?;
    Ok(spectra)
}

/// Ratio of small to large eigenvalues, of which `r` are large. `None` if all points coincide.
fn ratio(spectrum: &[f64], r: usize) -> Option<f64> {
    let (head, tail) = spectrum.split_at(r.min(spectrum.len()));
    let head = head.iter().sum::<f64>();
    (head > 0.0).then(|| tail.iter().rev().sum::<f64>() / head)
}

/// The middle of the values, the lower one of two; 0 if there are none.
fn middle(mut values: Vec<f64>) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let place = (values.len() - 1) / 2;
    *values.select_nth_unstable_by(place, f64::total_cmp).1
}

/// r = k - s_i of eq. 3.7: at least d, and otherwise at most the rank.
fn large(spectrum: &[f64], d: usize, k: usize, eta: f64) -> usize {
    let rank = spectrum.iter().filter(|value| **value > 0.0).count();
    let fits = |r: &usize| r >= &rank || ratio(spectrum, *r).is_some_and(|ratio| ratio < eta);
    (d..k).find(fits).unwrap_or(k - 1).min(rank.max(d))
}

/// U, u and b of one neighborhood.
fn write(local: &Local, tangent: &mut Tangent, reg: f64, out: &mut [f64]) {
    let k = local.size;
    let (span, b) = out.split_at_mut(out.len() - k);
    let (span, u) = span.split_at_mut(span.len() - k);
    let s = (k - span.len() / k) as f64;
    u.fill(1.0);
    b.fill(1.0);
    let mut filled = 0;
    if local.norm2 > 0.0 {
        fit_all(local, tangent);
        let charts = || tangent.chart[..local.dim * local.padded].chunks_exact(local.padded);
        let total = charts().map(|t| dot(t, t)).sum::<f64>();
        for t in charts() {
            let length2 = dot(t, t);
            if length2 <= NO_EXTENT * NO_EXTENT * total {
                continue;
            }
            // w(gamma), a multiple of (G + reg trace(G) I)^-1 1 without a cancellation
            let damped = t.iter().sum::<f64>() / (length2 + reg * total);
            b.iter_mut().zip(t).for_each(|(b, t)| *b -= damped * t);
            if filled < span.len() {
                let (known, axis) = span[..filled + k].split_at_mut(filled);
                axis.iter_mut().zip(t).for_each(|(a, t)| *a = t / length2.sqrt());
                reject(known, axis); // with a point far away, thin directions are orthogonal only to a few digits
                let length = dot(axis, axis).sqrt();
                axis.iter_mut().for_each(|a| *a /= length);
                filled += k;
            }
        }
    }
    (filled / k..span.len() / k).for_each(|j| complete(span, k, j));
    // twice, because little of 1 may remain
    reject(span, u);
    reject(span, u);
    let (sum, length) = (b.iter().sum::<f64>(), dot(u, u).sqrt());
    let alpha = length / s.sqrt();
    let inside = alpha <= INSIDE; // 1 is in the span of U: no direction is left for u
    let (share, unit) = if inside { (s.sqrt(), 0.0) } else { ((1.0 - alpha) * s.sqrt(), 1.0 / length) };
    u.iter_mut().for_each(|u| *u *= unit);
    b.iter_mut().zip(u).for_each(|(b, u)| *b = *u + share * *b / sum);
}

/// Removes from `v` its part in the span of orthonormal vectors.
fn reject(span: &[f64], v: &mut [f64]) {
    for axis in span.chunks_exact(v.len()) {
        let along = dot(axis, v);
        v.iter_mut().zip(axis).for_each(|(v, a)| *v -= along * a);
    }
}
