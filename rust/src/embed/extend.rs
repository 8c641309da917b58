//! Points that were not there, in an embedding that stretches: the affine map that best takes the points around them to
//! their images.
//!
//! Outputs of LLE, LTSA and their kin are smooth, but no motions, so that [`carry`](super::carry), which turns and moves
//! only, is wrong for them. Here the chart of the listed points (Goldberg & Ritov, Lemma 1) is taken to their images by
//! least squares, as LTSA assumes that it can be (Zhang & Zha 2004). As with `carry`, nothing asks which of the two
//! spaces is the data.
//!
//! Cost: O(k a b + k a^2) for a new point with k listed, from dimension a, reduced to at most k, to b.

use super::carry::{Carried, check};
use crate::charts::{Local, Tangent};
use crate::error::Result;
use crate::linalg::{column, dot, first};
use crate::monitor::Monitor;
use crate::parallel::map_blocks;
use crate::points::Points;

const STAGE: &str = "extend";

/// A direction in which the listed points reach less far than this share of the longest tells nothing.
const THIN: f64 = 1e-10;

/// Takes every new point from the space of `source` into that of `target`, as [`carry`](super::carry) does, but by
/// affine maps. Errors are root mean squares of what is left of the images, in units of `target`.
///
/// ```
/// use ndarray::array;
/// use unbend::{Points, Unmonitored, embed::extend};
/// let data = array![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]];
/// let stretched = array![[0.0, 0.0], [9.0, 0.0], [0.0, 0.5]];
/// let new = array![[0.5, 0.5]];
/// let points = |name, x| Points::new(name, x, &Unmonitored);
/// let (data, stretched) = (points("source", data.view())?, points("target", stretched.view())?);
/// let found = extend(&data, &stretched, &points("new", new.view())?, &[0, 1, 2], 3, &Unmonitored)?;
/// assert!((found.placed[0] - 4.5).abs() < 1e-12 && (found.placed[1] - 0.25).abs() < 1e-12);
/// # Ok::<(), unbend::Error>(())
/// ```
pub fn extend(
    source: &Points,
    target: &Points,
    new: &Points,
    lists: &[u32],
    k: usize,
    monitor: &dyn Monitor,
) -> Result<Carried> {
    check(source, target, new, lists, k)?;
    let blocks: Vec<Result<Carried>> = map_blocks(new.len(), STAGE, monitor, |block| {
        let (mut step, mut found) = (Step::default(), Carried::default());
        for i in block {
            monitor.check()?;
            let start = found.placed.len();
            found.placed.resize(start + target.dim(), 0.0);
            new.copy_row(i, first(&mut step.point, new.dim()));
            let list = &lists[i * k..][..k];
            found.errors.push(step.take(source, target, list, &mut found.placed[start..]));
        }
        Ok(found)
    })?;
    Carried::joined(blocks, monitor)
}

/// All that one point needs, reused by the next.
#[derive(Default)]
struct Step {
    point: Vec<f64>,
    source: Local,
    target: Local,
    tangent: Tangent,
    row: Vec<f64>,
    /// The new point about the mean of the listed ones, in the coordinates of `source`.
    offset: Vec<f64>,
}

impl Step {
    /// Writes where the point goes, and returns the error.
    fn take(&mut self, source: &Points, target: &Points, list: &[u32], place: &mut [f64]) -> f64 {
        let members = || list.iter().map(|&j| j as usize);
        if let Some(same) = members().find(|&j| self.coincides(source, j)) {
            target.copy_row(same, place);
            return 0.0;
        }
        let d = source.dim().min(target.dim());
        self.source.load_reduced(source, members(), d);
        self.target.load(target, members(), target.dim());
        self.tangent.fit(&self.source, self.source.dim, d);
        self.find_offset(source, list[0] as usize);
        // The mean of the images, by way of the first of them.
        target.copy_row(list[0] as usize, place);
        (0..target.dim()).for_each(|b| place[b] -= self.target.x[b * self.target.padded]);
        for j in 0..d {
            self.add(j, place);
        }
        let left = &self.target.x;
        (dot(left, left) / list.len() as f64).sqrt()
    }

    fn coincides(&mut self, source: &Points, j: usize) -> bool {
        let row = first(&mut self.row, source.dim());
        source.copy_row(j, row);
        row.iter().eq(&self.point[..source.dim()])
    }

    /// Differences from the first listed point, whose own offset from the mean is known.
    fn find_offset(&mut self, source: &Points, nearest: usize) {
        let (row, local) = (first(&mut self.row, source.dim()), &self.source);
        source.copy_row(nearest, row);
        row.iter_mut().zip(&self.point).for_each(|(r, p)| *r = p - *r);
        let offset = first(&mut self.offset, local.dim);
        local.narrow(row, offset);
        (0..local.dim).for_each(|a| offset[a] += local.x[a * local.padded]);
    }

    /// Adds what direction `j` of the chart says of the place, and takes it off the images. Directions are orthogonal.
    fn add(&mut self, j: usize, place: &mut [f64]) {
        let (q, padded) = (self.source.dim, self.source.padded);
        let theta = column(&self.tangent.chart, padded, j);
        let length2 = dot(theta, theta);
        if length2 <= THIN * THIN * self.tangent.spectrum[0] || length2 == 0.0 {
            return;
        }
        let along = dot(column(&self.tangent.basis, q, j), &self.offset[..q]) / length2;
        for (b, place) in place.iter_mut().enumerate() {
            let images = &mut self.target.x[b * padded..][..padded];
            let product = dot(theta, images);
            *place += along * product;
            images.iter_mut().zip(theta).for_each(|(y, t)| *y -= product / length2 * t);
        }
    }
}
