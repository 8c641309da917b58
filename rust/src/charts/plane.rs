//! The plane of a neighborhood: its mean and its tangent, in the coordinates of the data.

use super::atlas::{fit_tangent, widen};
use super::local::Local;
use super::tangent::Tangent;
use crate::linalg::{column, dot, first};
use crate::points::Points;

/// A member whose distance to the plane exceeds this multiple of the median does not shape a trimmed plane.
const TRIMMED: f64 = 3.0;

/// The tangent of a larger neighborhood of wide data comes from about this many of its members: its mean averages the
/// noise, and near the mean a tilt of the plane moves a point little.
const SHAPING: usize = 96;

/// Fits planes to neighborhoods. Its memory is reused by the next neighborhood.
#[derive(Debug, Default, Clone)]
pub(crate) struct PlaneFit {
    local: Local,
    tangent: Tangent,
    members: Vec<u32>,
    distances: Vec<f64>,
    sorted: Vec<f64>,
    row: Vec<f64>,
}

impl PlaneFit {
    /// Writes the tangent of dimension `d` of point `i` and its `neighbors`, column after column.
    ///
    /// The tangent is found twice: the second time without neighbors far off the first plane, if d + 1 remain.
    pub fn trimmed(&mut self, points: &Points, i: usize, neighbors: &[u32], d: usize, basis: &mut [f64]) {
        self.fit(points, i, neighbors, d);
        self.measure(d);
        let most = TRIMMED * self.median() + f64::MIN_POSITIVE;
        self.members.clear();
        let near = neighbors.iter().zip(&self.distances[1..]).filter(|(_, far)| **far <= most);
        self.members.extend(near.map(|(&j, _)| j));
        if self.members.len() > d && self.members.len() < neighbors.len() {
            let members = std::mem::take(&mut self.members);
            self.fit(points, i, &members, d);
            self.members = members;
        }
        widen(&self.local, &self.tangent, d, basis);
    }

    /// Writes the mean of point `i` and its `neighbors`, and their tangent, column after column.
    pub fn plane(
        &mut self,
        points: &Points,
        i: usize,
        neighbors: &[u32],
        d: usize,
        mean: &mut [f64],
        basis: &mut [f64],
    ) {
        let step = if points.dim() > SHAPING { neighbors.len().div_ceil(SHAPING) } else { 1 };
        let mut shaping = std::mem::take(&mut self.members);
        shaping.clear();
        shaping.extend(neighbors.iter().step_by(step.max(1)));
        self.fit(points, i, &shaping, d);
        self.members = shaping;
        widen(&self.local, &self.tangent, d, basis);
        let row = first(&mut self.row, points.dim());
        points.copy_row(i, mean);
        let share = 1.0 / (neighbors.len() + 1) as f64;
        let own = mean.to_vec();
        for &j in neighbors {
            points.copy_row(j as usize, row);
            mean.iter_mut().zip(row.iter().zip(&own)).for_each(|(m, (r, o))| *m += share * (r - o));
        }
    }

    fn fit(&mut self, points: &Points, i: usize, neighbors: &[u32], d: usize) {
        let members = (0..neighbors.len() + 1).map(|p| if p == 0 { i } else { neighbors[p - 1] as usize });
        fit_tangent(points, members, d, &mut self.local, &mut self.tangent);
    }

    /// The distance of every member to the plane.
    fn measure(&mut self, d: usize) {
        let (local, chart) = (&self.local, &self.tangent.chart);
        self.distances.clear();
        self.distances.extend((0..local.size).map(|p| {
            let squares = |flat: &[f64], axes: usize| -> f64 {
                (0..axes).map(|a| column(flat, local.padded, a)[p].powi(2)).sum()
            };
            (squares(&local.x, local.dim) - squares(chart, d)).max(0.0).sqrt()
        }));
    }

    /// The median distance of the neighbors.
    fn median(&mut self) -> f64 {
        self.sorted.clear();
        self.sorted.extend_from_slice(&self.distances[1..]);
        quantile(&mut self.sorted, 0.5)
    }
}

/// Moves `point` to its projection on a plane.
pub(crate) fn project(point: &mut [f64], mean: &[f64], basis: &[f64]) {
    let q = point.len();
    point.iter_mut().zip(mean).for_each(|(v, m)| *v -= m);
    let mut placed = mean.to_vec();
    for axis in basis.chunks_exact(q) {
        let along = dot(axis, point);
        placed.iter_mut().zip(axis).for_each(|(v, a)| *v += along * a);
    }
    point.copy_from_slice(&placed);
}

/// The value below which `share` of the values lie; 0 if there are none. Reorders them.
pub(crate) fn quantile(values: &mut [f64], share: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let at = ((values.len() - 1) as f64 * share).round() as usize;
    *values.select_nth_unstable_by(at, f64::total_cmp).1
}
