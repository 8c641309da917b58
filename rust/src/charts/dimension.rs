//! Local spectra: the variance of a neighborhood along each of its principal directions, at several scales.
//!
//! They show the dimension of the data (Fukunaga & Olsen 1971; Little, Maggioni & Rosasco 2017): variance along the
//! tangent grows with the scale, that of noise does not. Their tails are the lower bound of Lemma 1 (Goldberg & Ritov
//! 2009) for every dimension.
//! Cost: O(c s (K q^2 + q^3)) for c centers at s scales of up to K points if q < K, else O(c s K^2 q); and one search
//! for K neighbors of the centers.

use ndarray::Array2;

use super::local::Local;
use super::net::choose;
use super::tangent::{Tangent, check_components};
use crate::error::{Error, Result};
use crate::linalg::first;
use crate::monitor::{Monitor, Silent};
use crate::neighbors::{check_neighbors, query};
use crate::parallel::fill_rows;
use crate::points::Points;

const STAGE: &str = "spectra";

/// Maximum number of neighbors listed at a time: 200 MB with their distances.
const AT_ONCE: usize = 1 << 24;

/// The variances along the first `n_values` principal directions of the neighborhoods of `centers`, in descending
/// order, then the remaining variance: center after center, and for each scale after scale.
///
/// A scale is a number of neighbors; the point itself belongs to its neighborhood. Variance is the mean squared
/// distance from the mean of the neighborhood.
pub fn spectra(
    points: &Points,
    centers: &[u32],
    scales: &[usize],
    n_values: usize,
    monitor: &dyn Monitor,
) -> Result<Vec<f64>> {
    check_components(n_values, points.dim())?;
    let (n, most) = (points.len(), widest(scales)?);
    check_neighbors(most, n)?;
    if let Some(&center) = centers.iter().find(|&&c| c as usize >= n) {
        return Err(Error::no_point(center as usize, n));
    }
    let (width, block) = (scales.len() * (n_values + 1), AT_ONCE / (most + 1) + 1);
    let mut values = vec![0.0; centers.len() * width];
    let mut rows = Array2::default((0, 0));
    for (centers, values) in centers.chunks(block).zip(values.chunks_mut(block * width)) {
        let asking = choose(points, centers, &mut rows, monitor)?;
        let found = query(points, &asking, most + 1, Default::default(), &Silent(monitor))?;
        values.copy_from_slice(&spectra_of(points, &found.indices, most + 1, scales, n_values, monitor)?);
    }
    Ok(values)
}

/// [`spectra`] of known neighborhoods: `lists` has `size` points per center, nearest first.
pub fn spectra_of(
    points: &Points,
    lists: &[u32],
    size: usize,
    scales: &[usize],
    n_values: usize,
    monitor: &dyn Monitor,
) -> Result<Vec<f64>> {
    check_components(n_values, points.dim())?;
    let (n, most) = (points.len(), widest(scales)?);
    if size <= most || !lists.len().is_multiple_of(size) {
        return Err(Error::TooFewPoints { n_neighbors: most, n: size });
    }
    if let Some(at) = lists.iter().position(|&j| j as usize >= n) {
        return Err(Error::NeighborOutOfRange { point: at / size, neighbor: lists[at] as usize, n });
    }
    let width = scales.len() * (n_values + 1);
    let mut values = vec![0.0; lists.len() / size * width];
    let state = || (Local::default(), Tangent::default());
    fill_rows(&mut values, width, STAGE, monitor, state, |(local, tangent), c, row| {
        let list = &lists[c * size..][..size];
        for (&scale, row) in scales.iter().zip(row.chunks_exact_mut(n_values + 1)) {
            spectrum(points, &list[..scale + 1], local, tangent, row);
        }
    })?;
    Ok(values)
}

/// The largest scale, if all are.
fn widest(scales: &[usize]) -> Result<usize> {
    match scales.iter().copied().max() {
        Some(most) if !scales.contains(&0) => Ok(most),
        _ => Err(Error::NoNeighbors),
    }
}

/// Writes the largest variances of a neighborhood, and the rest.
fn spectrum(points: &Points, list: &[u32], local: &mut Local, tangent: &mut Tangent, row: &mut [f64]) {
    let d = row.len() - 1;
    local.load_reduced(points, list.iter().map(|&p| p as usize), d);
    tangent.fit(local, local.dim, d);
    let size = list.len() as f64;
    let spectrum = first(&mut tangent.spectrum, local.dim);
    row[..d].iter_mut().zip(spectrum).for_each(|(value, square)| *value = *square / size);
    row[d] = tangent.residual / size;
}
