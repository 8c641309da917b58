//! Isomap's distances (Tenenbaum, de Silva & Langford 2000): products with their squares, or those from landmarks alone
//! (de Silva & Tenenbaum 2004).
//!
//! Distances are stored in single precision, in units of the longest edge, because memory limits n. Rounding changes
//! each by a share of 3e-8; all computations are in double precision.
//!
//! Conformal Isomap (de Silva & Tenenbaum 2003) divides every edge by sqrt(M(i) M(j)), where M(i) is the mean distance
//! from i to its neighbors.
//!
//! Cost: O(n (k + log n)) per source, O(n^2) per product. Memory: 2 n^2 bytes for all distances, 4 n per landmark.

use rayon::prelude::*;

use super::{check_indices, check_len, fold_distances};
use crate::error::{Error, Result};
use crate::monitor::{Monitor, Silent};
use crate::neighbors::Neighborhoods;
use crate::neighbors::paths::{Lengths, Tree, distance, from_each, into_rows};
use crate::parallel::map_blocks;
use crate::points::Points;

const PATHS: &str = "paths";
const SCALING: &str = "scaling";

const LANES: usize = 8; // Number of partial sums that run side by side.

/// M(i), the mean distance of each point to its neighbors; where it is 0, the least mean above 0.
pub fn spread(x: &Points, graph: &Neighborhoods, monitor: &dyn Monitor) -> Result<Vec<f64>> {
    let mut means = fold_distances(x, graph, PATHS, monitor, |sum, distance| sum + distance)?;
    means.iter_mut().enumerate().for_each(|(i, mean)| *mean /= graph.of(i).len().max(1) as f64);
    let least = means.iter().copied().filter(|&mean| mean > 0.0).fold(f64::INFINITY, f64::min);
    let instead = if least.is_finite() { least } else { 1.0 };
    means.iter_mut().filter(|mean| **mean == 0.0).for_each(|mean| *mean = instead);
    Ok(means)
}

/// The unit of all stored distances: the longest edge, or 1 if no edge has a length.
pub fn unit(graph: &Lengths) -> f64 {
    if graph.longest() > 0.0 { graph.longest() } else { 1.0 }
}

/// The distances from each of `sources` to all points, row after row; infinite where no path leads.
pub fn distances_from(graph: &Lengths, sources: &[u32], monitor: &dyn Monitor) -> Result<Vec<f32>> {
    check_indices(sources, 1, graph.len())?;
    let bytes = sources.len().saturating_mul(graph.len()).saturating_mul(size_of::<f32>());
    let mut rows: Vec<f32> = Vec::new();
    rows.try_reserve_exact(sources.len() * graph.len()).map_err(|_| Error::OutOfMemory { bytes })?;
    rows.resize(sources.len() * graph.len(), 0.0);
    let unit = unit(graph);
    let grow = |tree: &mut Tree, place: usize| tree.grow(graph, sources[place] as usize, monitor);
    into_rows(graph, &mut rows, PATHS, monitor, grow, |distance| (distance / unit) as f32)?;
    Ok(rows)
}

/// The distances from new points to all, row after row: each is joined to `k` points, at the distances in `lengths`.
pub fn distances_to_new(
    graph: &Lengths,
    lists: &[u32],
    lengths: &[f64],
    k: usize,
    monitor: &dyn Monitor,
) -> Result<Vec<f64>> {
    check_len("lists", lists.len(), "lengths", lengths.len())?;
    if k == 0 {
        return Err(Error::NoNeighbors);
    }
    let n = graph.len();
    check_indices(lists, k, n)?;
    let mut rows = vec![0.0; lists.len() / k * n];
    let unit = unit(graph);
    let grow = |tree: &mut Tree, new: usize| {
        let own = new * k..(new + 1) * k;
        let starts: Vec<_> = lists[own.clone()].iter().copied().zip(lengths[own].iter().copied()).collect();
        tree.grow_from(graph, &starts, monitor)
    };
    into_rows(graph, &mut rows, PATHS, monitor, grow, |distance| distance / unit)?;
    Ok(rows)
}

/// The distances between all points of one component, in units; each pair once.
#[derive(Debug)]
pub struct Triangle {
    /// Row i holds those to the points before i.
    rows: Vec<Vec<f32>>,
}

impl Triangle {
    /// Between `members`, which are in rising order.
    pub fn new(graph: &Lengths, members: &[u32], monitor: &dyn Monitor) -> Result<Self> {
        check_indices(members, 1, graph.len())?;
        let (unit, places) = (unit(graph), graph.places());
        let rows = from_each(graph, members, PATHS, monitor, <()>::default, |(), tree| {
            let source = graph.points()[tree.order()[0] as usize];
            let before = members.iter().take_while(|&&member| member < source);
            let to = |&member: &u32| (tree.distances()[places[member as usize] as usize] / unit) as f32;
            before.map(to).collect::<Vec<f32>>()
        })?;
        Ok(Triangle { rows })
    }

    /// Number of points.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// sum over j of D(i, j)^2 v(j), for every i. Every distance is read twice, and nothing is added up across threads.
    pub fn squares_times(&self, v: &[f64], monitor: &dyn Monitor) -> Result<Vec<f64>> {
        check_len("v", v.len(), "the distances", self.len())?;
        let parts = map_blocks(self.len(), SCALING, &Silent(monitor), |block| {
            let mut sums: Vec<f64> = self.rows[block.clone()].iter().map(|row| squares_dot(row, v)).collect();
            for (row, &v) in self.rows.iter().zip(v).skip(block.start + 1) {
                let below = &row[block.start..block.end.min(row.len())];
                sums.iter_mut().zip(below).for_each(|(sum, &d)| *sum += square(d) * v);
            }
            sums
        })?;
        Ok(parts.concat())
    }

    /// The whole matrix of squares, row after row: for few points.
    pub fn squares(&self) -> Vec<f64> {
        let n = self.len();
        let mut all = vec![0.0; n * n];
        for (i, row) in self.rows.iter().enumerate() {
            for (j, &d) in row.iter().enumerate() {
                (all[i * n + j], all[j * n + i]) = (square(d), square(d));
            }
        }
        all
    }

    /// Over all pairs: how many, and the sums of D, of |y_i - y_j|, of their squares, of their products and of D^4.
    pub fn moments(&self, y: &Points, monitor: &dyn Monitor) -> Result<[f64; 7]> {
        check_len("Y", y.len(), "the distances", self.len())?;
        let parts = map_blocks(self.len(), SCALING, &Silent(monitor), |block| {
            let (mut here, mut there) = (vec![0.0; y.dim()], vec![0.0; y.dim()]);
            let mut sums = [0.0; 7];
            for i in block {
                y.copy_row(i, &mut here);
                for (j, &d) in self.rows[i].iter().enumerate() {
                    y.copy_row(j, &mut there);
                    let (d, e) = (f64::from(d), distance(&here, &there));
                    let terms = [1.0, d, e, d * d, e * e, d * e, d * d * d * d];
                    sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
                }
            }
            sums
        })?;
        Ok(parts.into_iter().fold([0.0; 7], |sums, part| std::array::from_fn(|m| sums[m] + part[m])))
    }
}

impl Drop for Triangle {
    fn drop(&mut self) {
        // many rows were allocated on many threads; this frees them as fast
        std::mem::take(&mut self.rows).into_par_iter().for_each(drop);
    }
}

fn square(d: f32) -> f64 {
    f64::from(d) * f64::from(d)
}

/// sum of row(j)^2 v(j) over the row.
fn squares_dot(row: &[f32], v: &[f64]) -> f64 {
    let (full, rest) = row.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (d, v) in full.iter().zip(v.as_chunks::<LANES>().0) {
        (0..LANES).for_each(|l| sums[l] += square(d[l]) * v[l]);
    }
    let last: f64 = rest.iter().zip(&v[row.len() - rest.len()..]).map(|(&d, &v)| square(d) * v).sum();
    sums.iter().sum::<f64>() + last
}
