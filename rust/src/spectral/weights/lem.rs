//! Laplacian eigenmaps (Belkin & Niyogi 2003), as in Goldberg, Zakai, Kushnir & Ritov, section 2: rows
//! w_j^1/2 (y_i - y_ij) with w = 1 or w = exp(-|x_i - x_ij|^2 / eps).
//!
//! The sum over all neighborhoods is the Laplacian of A + A', twice scikit-learn's, whose graph is (A + A') / 2; with
//! D of the same graph the generalized eigenvalues and vectors are the same. Cost: O(n k q); k numbers a neighborhood.

use super::{Form, Layout, LocalWeights, median};
use crate::charts::check_lengths;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;
use crate::parallel::map_points;
use crate::points::Points;

const LEAST: f64 = 1e-100; // Minimum value of the kernel, so that a long edge does not vanish from the graph.

/// A weight that depends on the distance of two neighbors.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Kernel {
    /// 1 for all neighbors.
    #[default]
    Window,
    /// exp(-|x - y|^2 / eps) for the width eps, by default the median squared distance to the last neighbor.
    Heat(Option<f64>),
}

impl Kernel {
    /// The same with a width.
    fn settle(self, x: &Points, graph: &Neighborhoods, monitor: &dyn Monitor) -> Result<Self> {
        match self {
            Kernel::Window => Ok(self),
            Kernel::Heat(None) => Ok(Kernel::Heat(Some(usual_width(x, graph, monitor)?))),
            Kernel::Heat(Some(eps)) if eps > 0.0 && eps.is_finite() => Ok(self),
            Kernel::Heat(Some(value)) => {
                Err(Error::OutOfRange { name: "eps", value, needed: "it must be finite and above 0" })
            }
        }
    }

    fn at(self, distance2: f64) -> f64 {
        match self {
            Kernel::Window => 1.0,
            Kernel::Heat(eps) => (-distance2 / eps.unwrap_or(1.0)).exp().max(LEAST),
        }
    }

    fn fill(
        self,
        x: &Points,
        graph: &Neighborhoods,
        i: usize,
        rows: &mut (Vec<f64>, Vec<f64>),
        out: &mut [f64],
    ) {
        if self == Kernel::Window {
            return out.fill(1.0);
        }
        let (own, row) = rows;
        x.copy_row(i, own);
        for (&j, w) in graph.of(i).iter().zip(out) {
            x.copy_row(j as usize, row);
            *w = self.at(own.iter().zip(row.iter()).map(|(a, b)| (a - b) * (a - b)).sum());
        }
    }
}

/// The median of the squared distances to last neighbors that are above 0; 1 if none is.
fn usual_width(x: &Points, graph: &Neighborhoods, monitor: &dyn Monitor) -> Result<f64> {
    let state = || (vec![0.0; x.dim()], vec![0.0; x.dim()]);
    let mut last2 = map_points(x.len(), "width", monitor, state, |(own, row), i| {
        let Some(&j) = graph.of(i).last() else { return 0.0 };
        x.copy_row(i, own);
        x.copy_row(j as usize, row);
        own.iter().zip(row).map(|(a, b)| (*a - *b) * (*a - *b)).sum::<f64>()
    })?;
    last2.retain(|value| *value > 0.0);
    Ok(median(last2).unwrap_or(1.0))
}

/// W_i of Laplacian eigenmaps for every neighborhood. Fails if the width of the kernel is not positive and finite.
pub fn lem(
    x: &Points,
    graph: &Neighborhoods,
    kernel: &Kernel,
    monitor: &dyn Monitor,
) -> Result<LocalWeights> {
    check_lengths(x, "X", graph)?;
    let kernel = kernel.settle(x, graph, monitor)?;
    let (how, state) = (("LEM", Form::Star, false), || (vec![0.0; x.dim()], vec![0.0; x.dim()]));
    LocalWeights::fill(how, graph, Layout::Fixed(1), monitor, state, |rows, i, out| {
        kernel.fill(x, graph, i, rows, out);
    })
}
