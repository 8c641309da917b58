//! Local projection: noisy points moved toward the surface that they lie near.
//!
//! [`projected`] moves each point to the mean of its projections on the planes of all neighborhoods that hold it.
//! [`settled`] moves some of many points each to the plane of its own, larger neighborhood.
//!
//! Noise of standard deviation s shrinks to about s sqrt(d / k). A neighborhood wider than the surface is curved pulls
//! points inwards, so k must not be larger than the noise needs.
//!
//! Cost: O(n (k q^2 + q^3)) or O(n k^2 q) if k < q. Memory: q (d + 1) numbers per point.

use super::plane::{PlaneFit, project};
use super::tangent::{check_components, check_lengths};
use crate::error::{Result, check_rows};
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;
use crate::parallel::fill_rows;
use crate::points::Points;

const STAGE: &str = "projection";

/// The coordinates of all points after a local projection, point after point.
///
/// Fails if the graph belongs to other points, or if `n_components` is 0 or exceeds the dimension of the data.
pub fn projected(
    points: &Points,
    graph: &Neighborhoods,
    n_components: usize,
    monitor: &dyn Monitor,
) -> Result<Vec<f64>> {
    let (n, q, d) = (points.len(), points.dim(), n_components);
    check_components(d, q)?;
    check_lengths(points, "X", graph)?;
    let mut planes = vec![0.0; n * q * (d + 1)];
    fill_rows(&mut planes, q * (d + 1), STAGE, monitor, PlaneFit::default, |fit, i, plane| {
        let (mean, basis) = plane.split_at_mut(q);
        fit.plane(points, i, graph.of(i), d, mean, basis);
    })?;
    let listed_by = graph.reversed();
    let mut moved = vec![0.0; n * q];
    let state = || vec![0.0; 2 * q];
    fill_rows(&mut moved, q, STAGE, monitor, state, |rows, i, sum| {
        let (own, row) = rows.split_at_mut(q);
        points.copy_row(i, own);
        let holding = listed_by.of(i);
        for c in std::iter::once(i).chain(holding.iter().map(|&c| c as usize)) {
            let (mean, basis) = planes[c * q * (d + 1)..][..q * (d + 1)].split_at(q);
            row.copy_from_slice(own);
            project(row, mean, basis);
            sum.iter_mut().zip(&*row).for_each(|(s, v)| *s += v);
        }
        sum.iter_mut().for_each(|s| *s /= (holding.len() + 1) as f64);
    })?;
    Ok(moved)
}

/// The coordinates of the points `rows`, each projected on the plane of itself and the `k` points in its list.
///
/// Fails if `lists` does not hold `k` points for every row, or if `n_components` is 0 or exceeds the dimension.
pub fn settled(
    points: &Points,
    rows: &[u32],
    lists: &[u32],
    k: usize,
    n_components: usize,
    monitor: &dyn Monitor,
) -> Result<Vec<f64>> {
    let (q, d) = (points.dim(), n_components);
    check_components(d, q)?;
    check_rows(("lists", lists.len()), ("rows", k * rows.len()))?;
    let mut moved = vec![0.0; rows.len() * q];
    let state = || (PlaneFit::default(), vec![0.0; q], vec![0.0; q * d]);
    fill_rows(&mut moved, q, STAGE, monitor, state, |(fit, mean, basis), r, row| {
        let i = rows[r] as usize;
        fit.plane(points, i, &lists[r * k..][..k], d, mean, basis);
        points.copy_row(i, row);
        project(row, mean, basis);
    })?;
    Ok(moved)
}
