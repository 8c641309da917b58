//! Local tangent space alignment (Zhang & Zha 2004), as in Goldberg, Zakai, Kushnir & Ritov, section 2:
//! W_i = (I - P_i P_i') H, where P_i holds the first d left singular vectors of H X_i.
//!
//! Directions in which a neighborhood has no extent are not left out of the identity: points that coincide are to
//! coincide in the embedding, points on a line are to stay on one. Cost: that of the charts, O(n (k q^2 + q^3)) for
//! narrow data and O(n k^2 q) for wide; d (k + 1) numbers a neighborhood.

use super::{Form, Layout, LocalWeights, check_sizes};
use crate::charts::{Local, Tangent, check_components, check_lengths, fit_tangent, members};
use crate::error::Result;
use crate::linalg::{column, dot};
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;
use crate::points::Points;

const NAME: &str = "LTSA";

pub(super) const NO_EXTENT: f64 = 1e-13; // Directions shorter than this share of the longest are ignored.

/// Parameters of LTSA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LtsaParams {
    /// Dimension d of the tangents.
    pub n_components: usize,
    /// True if a point belongs to its own neighborhood, as in the paper. In scikit-learn it does not.
    pub include_self: bool,
}

impl Default for LtsaParams {
    fn default() -> Self {
        LtsaParams { n_components: 2, include_self: true }
    }
}

/// W_i of LTSA for every neighborhood.
///
/// Fails if `n_components` is 0 or exceeds the dimension of the data, or if all neighborhoods are too small.
pub fn ltsa(
    x: &Points,
    graph: &Neighborhoods,
    params: &LtsaParams,
    monitor: &dyn Monitor,
) -> Result<LocalWeights> {
    let LtsaParams { n_components: d, include_self } = *params;
    check_components(d, x.dim())?;
    check_lengths(x, "X", graph)?;
    if graph.largest() + usize::from(include_self) < d + 2 {
        check_sizes(NAME, d, graph, d + 2 - usize::from(include_self))?; // all W_i would be 0
    }
    let state = || (Local::default(), Tangent::default());
    let how = (NAME, Form::CenteredComplement, include_self);
    LocalWeights::fill(how, graph, Layout::Fixed(d), monitor, state, |(local, tangent), i, out| {
        fit_tangent(x, members(graph, i, include_self), d, local, tangent);
        directions(&tangent.chart, local, d, out);
    })
}

/// The first d left singular vectors of H X_i, each of `local.size` numbers; zeros for those that do not exist.
pub(super) fn directions(chart: &[f64], local: &Local, d: usize, out: &mut [f64]) {
    let length = |j: usize| dot(column(chart, local.padded, j), column(chart, local.padded, j)).sqrt();
    let longest = (0..d).map(length).fold(0.0, f64::max);
    for (j, out) in out.chunks_exact_mut(local.size.max(1)).take(d).enumerate() {
        let length = length(j);
        if length > NO_EXTENT * longest {
            out.iter_mut().zip(column(chart, local.padded, j)).for_each(|(o, t)| *o = t / length);
            // a thin direction holds roundings of the data as offsets
            let mean = out.iter().sum::<f64>() / local.size as f64;
            out.iter_mut().for_each(|o| *o -= mean);
        }
    }
}
