//! Hessian eigenmaps (Donoho & Grimes 2003), as in Goldberg, Zakai, Kushnir & Ritov, section 2: the rows of W_i are
//! the products of the first d left singular vectors of H X_i, made orthogonal by Gram-Schmidt to 1, to the vectors
//! and to each other.
//!
//! The authors' program also divides rows by their sums, which are 0 but for rounding; we do not. Products that add
//! nothing give rows of zeros: a neighborhood without extent costs nothing. Cost: that of the charts and O(n k d^4);
//! k d (d + 1) / 2 numbers per neighborhood.

use super::ltsa::{LtsaParams, directions};
use super::{Form, Layout, LocalWeights, check_sizes};
use crate::charts::{Local, Tangent, check_components, check_lengths, fit_tangent, members};
use crate::error::Result;
use crate::linalg::{dot, first};
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;
use crate::points::Points;

const NAME: &str = "HLLE";

/// A product that keeps less than this share of its length is a combination of those before it.
const DEPENDENT: f64 = 1e-10;

/// Parameters of HLLE. Without `include_self`, as in Donoho & Grimes and scikit-learn, a point that is not a
/// neighbor of any other has no weight, and an eigenvector of its own.
pub type HlleParams = LtsaParams;

/// W_i of HLLE for every neighborhood.
pub fn hlle(
    x: &Points,
    graph: &Neighborhoods,
    params: &HlleParams,
    monitor: &dyn Monitor,
) -> Result<LocalWeights> {
    let HlleParams { n_components: d, include_self } = *params;
    check_components(d, x.dim())?;
    check_lengths(x, "X", graph)?;
    let products = d * (d + 1) / 2;
    check_sizes(NAME, d, graph, 1 + d + products - usize::from(include_self))?;
    let state = || (Local::default(), Tangent::default(), Vec::new());
    let (how, layout) = ((NAME, Form::CenteredRows, include_self), Layout::Fixed(products));
    LocalWeights::fill(how, graph, layout, monitor, state, |(local, tangent, all), i, out| {
        fit_tangent(x, members(graph, i, include_self), d, local, tangent);
        let m = local.size;
        let all = first(all, (1 + d + products) * m);
        all.fill(0.0);
        all[..m].fill(1.0 / (m as f64).sqrt());
        directions(&tangent.chart, local, d, &mut all[m..]);
        hessian(all, m, d);
        out.copy_from_slice(&all[(1 + d) * m..]);
    })
}

/// Orthonormal rows from the products of `d` vectors of `m` numbers that follow 1; written behind them.
fn hessian(all: &mut [f64], m: usize, d: usize) {
    let mut at = 1 + d;
    for a in 1..=d {
        for b in a..=d {
            let (known, rest) = all.split_at_mut(at * m);
            let product = &mut rest[..m];
            (0..m).for_each(|p| product[p] = known[a * m + p] * known[b * m + p]);
            let length = dot(product, product).sqrt();
            for _ in 0..2 {
                for u in known.chunks_exact(m) {
                    let along = dot(u, product);
                    product.iter_mut().zip(u).for_each(|(v, u)| *v -= along * u);
                }
            }
            let left = dot(product, product).sqrt();
            let scale = if left > DEPENDENT * length { 1.0 / left } else { 0.0 };
            product.iter_mut().for_each(|v| *v *= scale);
            at += 1;
        }
    }
}
