//! Diffusion maps (Coifman & Lafon 2006), as in Goldberg, Zakai, Kushnir & Ritov, section 2, eq. 1:
//! w_ij = k(x_i, x_ij) / (q(x_i) q(x_ij))^alpha with q(x_i) the sum of k over the neighbours of x_i.
//!
//! alpha = 0 is the Laplacian of the graph, 1 takes the density of the points out. The normalisation is symmetric: it does
//! not matter whether the graph is symmetrised before or after. Cost: O(n k q); k numbers a neighbourhood.

use super::lem::Kernel;
use super::weights::{Form, Layout, LocalWeights};
use crate::charts::check_lengths;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;
use crate::parallel::map_points;
use crate::points::Points;

/// What to know of DFM.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DfmParams {
    /// The exponent of the density, from 0 to 1.
    pub alpha: f64,
    /// The kernel.
    pub kernel: Kernel,
}

impl Default for DfmParams {
    fn default() -> Self {
        DfmParams { alpha: 1.0, kernel: Kernel::Heat(None) }
    }
}

impl DfmParams {
    fn check(&self) -> Result<()> {
        if (0.0..=1.0).contains(&self.alpha) {
            return Ok(());
        }
        Err(Error::OutOfRange { name: "alpha", value: self.alpha, needed: "it must be from 0 to 1" })
    }
}

/// W_i of DFM for every neighbourhood.
pub fn dfm(
    x: &Points,
    graph: &Neighborhoods,
    params: &DfmParams,
    monitor: &dyn Monitor,
) -> Result<LocalWeights> {
    params.check()?;
    check_lengths(x, "X", graph)?;
    let kernel = params.kernel.settle(x, graph, monitor)?;
    let rows = || (vec![0.0; x.dim()], vec![0.0; x.dim()]);
    let density = map_points(
        x.len(),
        "density",
        monitor,
        || (rows(), Vec::new()),
        |(rows, values), i| {
            values.resize(graph.of(i).len(), 0.0);
            kernel.fill(x, graph, i, rows, values);
            values.iter().sum::<f64>()
        },
    )?;
    let power = |i: usize| if density[i] > 0.0 { density[i].powf(params.alpha) } else { 1.0 };
    let how = ("DFM", Form::Star, false);
    LocalWeights::fill(how, graph, Layout::Fixed(1), monitor, rows, |rows, i, out| {
        kernel.fill(x, graph, i, rows, out);
        out.iter_mut().zip(graph.of(i)).for_each(|(w, &j)| *w /= power(i) * power(j as usize));
    })
}
