//! How the embedding shows distances along the neighbourhood graph: residual variance (Tenenbaum et al.; Zhang, Ren &
//! Zhang, eq. 3), stress, and by how much each point's distances are stretched unevenly.
//!
//! One pass over sources, all points or a sample: the shortest paths from each give G_X(i, j) for all that it reaches,
//! beside |y_i - y_j|. Pairs that no path joins are left out, and how many they are is said.
//!
//! - Residual variance 1 - rho^2, rho being Pearson's correlation over all pairs. Where neither side varies it is 0
//!   (one pair is shown without error), where only one does it is 1.
//! - Stress sqrt(sum (G - D)^2 / sum G^2), plain and after the one factor for Y that makes it least.
//! - Stretch of a point: the largest over the smallest D / G. At least 1, and 1 where all distances from it keep their
//!   proportions. Infinite where a point at some distance lies on it in Y, or a copy of it does not; 1 where it
//!   reaches nobody, or only copies of itself that coincide in Y as well.
//!
//! Standard errors leave out one source at a time (jackknife), times sqrt(1 - share of points that were sources).
//!
//! Cost: O(n (k + log n + d)) for each source. Memory: the graph with lengths, and O(n) for each thread.

use super::pairs::{Measured, Sums, Units, unit};
use crate::charts::check_lengths;
use crate::error::Result;
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;
use crate::neighbors::paths::{Lengths, Tree, distance, from_each};
use crate::points::Points;

use super::procrustes::check_centers;

const STAGE: &str = "geodesic";

/// Distances computed between two looks at the monitor.
const LOOK: usize = 4096;

/// The means over all pairs, and the stretch of every source.
#[derive(Debug, Clone, PartialEq)]
pub struct Geodesic {
    /// 1 - rho^2: in [0, 1], 0 is perfect.
    pub residual_variance: Measured,
    /// At least 0, 0 is perfect.
    pub stress: Measured,
    /// In [0, 1], 0 is perfect.
    pub stress_scaled: Measured,
    /// The factor for Y that makes the stress least.
    pub scale: Measured,
    /// The share of pairs that no path joins.
    pub unreachable: f64,
    /// Largest over smallest ratio of embedded distance to graph distance, for each source.
    pub stretch: Vec<f64>,
}

/// Compares distances along the graph with those in the embedding, from `sources` or from all points.
///
/// ```
/// use ndarray::Array2;
/// use unbend::measure::geodesic;
/// use unbend::{Points, Unmonitored, neighbors};
/// let arc = Array2::from_shape_fn((50, 2), |(i, a)| (i as f64 / 20.0 + a as f64 * 1.5).sin());
/// let line = Array2::from_shape_fn((50, 1), |(i, _)| i as f64);
/// let (x, y) = (Points::new("X", arc.view(), &Unmonitored)?, Points::new("Y", line.view(), &Unmonitored)?);
/// let graph = neighbors::nearest(&x, 2, Default::default(), &Unmonitored)?.neighborhoods;
/// let m = geodesic(&x, &y, &graph, None, &Unmonitored)?;
/// assert!(m.residual_variance.value < 0.01 && m.stress_scaled.value < 0.1 && m.stress.value > 1.0);
/// # Ok::<(), unbend::Error>(())
/// ```
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
    let all: Vec<u32> = if sources.is_none() { (0..x.len() as u32).collect() } else { Vec::new() };
    let sources = sources.unwrap_or(&all);
    let state = Pairs::default;
    let seen = from_each(&graph, sources, STAGE, monitor, state, |pairs, tree| {
        pairs.collect(tree, &embedded, units, monitor);
        Seen { sums: Sums::of(&pairs.x, &pairs.y), stretch: pairs.stretch() }
    })?;
    Ok(summary(&seen, x.len(), units))
}

/// What one source saw.
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
    /// What is collected after a stop is thrown away.
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
    let without = Without::each(seen);
    let share = seen.len() as f64 / n as f64;
    let measured = |number: &dyn Fn(&Sums) -> f64| {
        let value = number(&without.all);
        Measured::estimated(
            value,
            without.one.iter().map(|one| pseudo(value, number(one), seen.len())).collect(),
            share,
        )
    };
    let pairs = seen.len() as f64 * (n - 1) as f64;
    Geodesic {
        residual_variance: measured(&Sums::residual_variance),
        stress: measured(&|sums| sums.stress(units)),
        stress_scaled: measured(&Sums::stress_scaled),
        scale: measured(&|sums| sums.scale(units)),
        unreachable: if pairs > 0.0 { 1.0 - without.all.count() / pairs } else { 0.0 },
        stretch: seen.iter().map(|seen| seen.stretch).collect(),
    }
}

/// The sums of all sources, and of all but one.
///
/// Those before and those after each are merged: nothing is taken away again from a sum, so nothing cancels.
struct Without {
    all: Sums,
    one: Vec<Sums>,
}

impl Without {
    fn each(seen: &[Seen]) -> Self {
        let mut after = vec![Sums::default(); seen.len() + 1];
        for (place, seen) in seen.iter().enumerate().rev() {
            after[place] = seen.sums.merged(&after[place + 1]);
        }
        let mut before = Sums::default();
        let mut one = Vec::with_capacity(seen.len());
        for (place, seen) in seen.iter().enumerate() {
            one.push(before.merged(&after[place + 1]));
            before = before.merged(&seen.sums);
        }
        Without { all: before, one }
    }
}

/// What one source contributes to a number that is known with and without it (Tukey's pseudovalue).
fn pseudo(value: f64, without: f64, count: usize) -> f64 {
    if value == without { value } else { value + (count - 1) as f64 * (value - without) }
}
