//! Diffusion maps (Coifman & Lafon 2006), as in Goldberg, Zakai, Kushnir & Ritov, section 2, eq. 1:
//! w_ij = k(x_i, x_ij) / (q(x_i) q(x_ij))^alpha with q(x_i) the sum of k over the neighbors of x_i.
//!
//! alpha = 0 is the Laplacian of the graph, 1 takes the density of the points out. The normalization is symmetric: it
//! does not matter whether the graph is symmetrized before or after. Cost: O(n k q); k numbers a neighborhood.

use super::LocalWeights;
use super::lem::{Kernel, lem};
use crate::error::Result;
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;
use crate::points::Points;
use crate::spectral::check_range;

/// Parameters of diffusion maps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DfmParams {
    /// Exponent of the density, from 0 to 1.
    pub alpha: f64,
    /// The kernel.
    pub kernel: Kernel,
}

impl Default for DfmParams {
    fn default() -> Self {
        DfmParams { alpha: 1.0, kernel: Kernel::Heat(None) }
    }
}

/// W_i of diffusion maps for every neighborhood. Fails if `alpha` or the width of the kernel is out of range.
pub fn dfm(
    x: &Points,
    graph: &Neighborhoods,
    params: &DfmParams,
    monitor: &dyn Monitor,
) -> Result<LocalWeights> {
    let alpha = params.alpha;
    check_range("alpha", alpha, (0.0..=1.0).contains(&alpha), "it must be from 0 to 1")?;
    let mut weights = LocalWeights { name: "DFM", ..lem(x, graph, &params.kernel, monitor)? };
    let density = weights.degrees(graph, false)?;
    let powers: Vec<f64> = density.iter().map(|&q| if q > 0.0 { q.powf(alpha) } else { 1.0 }).collect();
    let mut flat = weights.flat.iter_mut();
    for i in 0..graph.len() {
        for (&j, w) in graph.of(i).iter().zip(&mut flat) {
            *w /= powers[i] * powers[j as usize];
        }
    }
    Ok(weights)
}
