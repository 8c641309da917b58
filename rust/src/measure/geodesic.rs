//! Distances in the embedding compared with geodesic distances on the neighborhood graph: residual variance (Tenenbaum
//! et al.; Zhang, Ren & Zhang, eq. 3), stress, and the uneven stretch at every point.
//!
//! One pass over sources (all points or a sample) finds the shortest paths from each, G_X(i, j), and compares them with
//! |y_i - y_j|. Pairs without a path are left out and counted.
//!
//! - Residual variance is 1 - rho^2, with Pearson's correlation rho over all pairs. It is 0 if neither side varies,
//!   and 1 if only one does.
//! - Stress is sqrt(sum (G - D)^2 / sum G^2), plain and after the factor for Y that minimizes it.
//! - The stretch of a point is the largest over the smallest D / G. It is at least 1, and 1 if all distances from
//!   the point keep their proportions or none can be measured. It is infinite if a distant point lies on it in Y, or
//!   if a copy of it does not.
//!
//! Standard errors leave out one source at a time (jackknife), times sqrt(1 - share of points that were sources).
//!
//! Cost: O(n (k + log n + d)) per source. Memory: the graph with lengths, and O(n) per thread.

use std::borrow::Cow;

use super::pairs::{Measured, Sums, Units, unit};
use crate::charts::check_lengths;
use crate::error::Result;
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;
use crate::neighbors::paths::{Lengths, Tree, distance, from_each};
use crate::points::Points;

use super::procrustes::check_centers;

const STAGE: &str = "geodesic";

/// Distances computed between two checks of the monitor.
const LOOK: usize = 4096;

/// The measures over all pairs, and the stretch of every source.
#[derive(Debug, Clone, PartialEq)]
pub struct Geodesic {
    /// 1 - rho^2; in [0, 1], 0 is perfect.
    pub residual_variance: Measured,
    /// At least 0, 0 is perfect.
    pub stress: Measured,
    /// In [0, 1], 0 is perfect.
    pub stress_scaled: Measured,
    /// The factor for Y that minimizes the stress.
    pub scale: Measured,
    /// Share of pairs without a path.
    pub unreachable: f64,
    /// Largest over smallest ratio of embedded to geodesic distance, for each source.
    pub stretch: Vec<f64>,
}

/// Compares geodesic distances with those in the embedding, from `sources` or from all points.
///
/// Fails if `x`, `y` and the graph have different numbers of points, or if a source does not exist.
pub fn geodesic(
    x: &Points,
    y: &Points,
    neighborhoods: &Neighborhoods,
    sources: Option<&[u32]>,
    monitor: &dyn Monitor,
) -> Result<Geodesic> {
    check_lengths(x, "X", neighborhoods)?;
    check_lengths(y, "Y", neighborhoods)?;
    check_centers(sources, x.len())?;
    let graph = Lengths::new(x, neighborhoods, monitor)?;
    let embedded = Embedded::new(y, graph.points());
    let units = Units { x: unit(std::iter::once(graph.longest())), y: embedded.unit };
    let sources = sources.map_or_else(|| (0..x.len() as u32).collect(), Cow::Borrowed);
    let seen = from_each(&graph, &sources, STAGE, monitor, Pairs::default, |pairs, tree| {
        pairs.collect(tree, &embedded, units, monitor);
        Seen { sums: Sums::of(&pairs.x, &pairs.y), stretch: pairs.stretch() }
    })?;
    Ok(summary(&seen, x.len(), units))
}

/// The values of one source.
struct Seen {
    sums: Sums,
    stretch: f64,
}

/// The embedding in its unit, row after row, in the order of the places in the graph.
struct Embedded {
    dim: usize,
    rows: Vec<f64>,
    unit: f64,
}

impl Embedded {
    fn new(y: &Points, points: &[u32]) -> Self {
        let dim = y.dim();
        let mut rows = vec![0.0; y.len() * dim];
        rows.chunks_exact_mut(dim).zip(points).for_each(|(row, &i)| y.copy_row(i as usize, row));
        let unit = unit(rows.iter().map(|v| v.abs()));
        rows.iter_mut().for_each(|v| *v /= unit);
        Embedded { dim, rows, unit }
    }

    fn row(&self, place: u32) -> &[f64] {
        &self.rows[place as usize * self.dim..][..self.dim]
    }
}

/// Both distances from one source to all that it reaches, in units.
#[derive(Default)]
struct Pairs {
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Pairs {
    /// Results after a stop are discarded.
    fn collect(&mut self, tree: &Tree, embedded: &Embedded, units: Units, monitor: &dyn Monitor) {
        self.x.clear();
        self.y.clear();
        let here = embedded.row(tree.order()[0]);
        for others in tree.order()[1..].chunks(LOOK).take_while(|_| !monitor.stop_requested()) {
            self.x.extend(others.iter().map(|&j| tree.distances()[j as usize] / units.x));
            self.y.extend(others.iter().map(|&j| distance(here, embedded.row(j))));
        }
    }

    fn stretch(&self) -> f64 {
        let (mut smallest, mut largest) = (f64::INFINITY, 0f64);
        for (&x, &y) in self.x.iter().zip(&self.y).filter(|&(&x, &y)| x > 0.0 || y > 0.0) {
            let ratio = y / x;
            (smallest, largest) = (smallest.min(ratio), largest.max(ratio));
        }
        match (smallest, largest) {
            (f64::INFINITY, 0.0) => 1.0,
            (0.0, _) | (_, f64::INFINITY) => f64::INFINITY,
            _ => largest / smallest,
        }
    }
}

fn summary(seen: &[Seen], n: usize, units: Units) -> Geodesic {
    let (all, without) = leave_one_out(seen);
    let share = seen.len() as f64 / n as f64;
    let measured = |number: &dyn Fn(&Sums) -> f64| {
        let value = number(&all);
        let units = without.iter().map(|one| pseudo(value, number(one), seen.len()));
        Measured::estimated(value, units.collect(), share)
    };
    let pairs = seen.len() as f64 * (n - 1) as f64;
    Geodesic {
        residual_variance: measured(&Sums::residual_variance),
        stress: measured(&|sums| sums.stress(units)),
        stress_scaled: measured(&Sums::stress_scaled),
        scale: measured(&|sums| sums.scale(units)),
        unreachable: if pairs > 0.0 { 1.0 - all.count / pairs } else { 0.0 },
        stretch: seen.iter().map(|seen| seen.stretch).collect(),
    }
}

/// The sums of all sources, and of all but one. The latter merge the sums before and after each: nothing cancels.
fn leave_one_out(seen: &[Seen]) -> (Sums, Vec<Sums>) {
    let mut after = vec![Sums::default(); seen.len() + 1];
    for (place, seen) in seen.iter().enumerate().rev() {
        after[place] = seen.sums.merged(&after[place + 1]);
    }
    let mut before = Sums::default();
    let mut without = Vec::with_capacity(seen.len());
    for (seen, after) in seen.iter().zip(&after[1..]) {
        without.push(before.merged(after));
        before = before.merged(&seen.sums);
    }
    (before, without)
}

/// Contribution of one source to a number that is known with and without it (Tukey's pseudovalue).
fn pseudo(value: f64, without: f64, count: usize) -> f64 {
    if value == without { value } else { value + (count - 1) as f64 * (value - without) }
}
