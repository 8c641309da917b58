//! New points in an embedding that stretches, by the affine map that best takes the points around them to their images.
//!
//! Outputs of LLE, LTSA and similar algorithms are smooth but no motions, so [`carry`](super::carry()) is wrong for
//! them. Here the chart of the listed points (Goldberg & Ritov, Lemma 1) is taken to their images by least squares, as
//! in LTSA (Zhang & Zha 2004).
//!
//! Cost: O(k a b + k a^2) for a new point with k listed, from dimension a, reduced to at most k, to b.

use super::{Carried, Data, Step, place_each};
use crate::charts::Tangent;
use crate::error::Result;
use crate::linalg::{column, dot};
use crate::monitor::Monitor;
use crate::points::Points;

/// A direction in which the listed points extend less than this share of the longest is ignored.
const THIN: f64 = 1e-10;

/// Takes every new point from the space of `source` into that of `target`, as [`carry`](super::carry()) does, but by
/// affine maps. Errors are root mean squares of the residuals of the images, in units of `target`.
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
    let data = Data { source, target, new, lists, k };
    place_each(&data, "extend", monitor, |step: &mut Step<Tangent>, list, place| {
        let (members, d) = (|| list.iter().map(|&j| j as usize), source.dim().min(target.dim()));
        step.source.load_reduced(source, members(), d);
        step.target.load(target, members(), target.dim());
        step.map.fit(&step.source, step.source.dim, d);
        step.find_offset(source, list);
        // The mean of the images, by way of the first of them.
        target.copy_row(list[0] as usize, place);
        (0..target.dim()).for_each(|b| place[b] -= step.target.x[b * step.target.padded]);
        (0..d).for_each(|j| step.add(j, place));
        let left = &step.target.x;
        (dot(left, left) / list.len() as f64).sqrt()
    })
}

impl Step<Tangent> {
    /// Adds the part of the place along direction `j` of the chart, and removes it from the images.
    fn add(&mut self, j: usize, place: &mut [f64]) {
        let (q, padded) = (self.source.dim, self.source.padded);
        let theta = column(&self.map.chart, padded, j);
        let length2 = dot(theta, theta);
        if length2 <= THIN * THIN * self.map.spectrum[0] || length2 == 0.0 {
            return;
        }
        let along = dot(column(&self.map.basis, q, j), &self.offset[..q]) / length2;
        for (b, place) in place.iter_mut().enumerate() {
            let images = &mut self.target.x[b * padded..][..padded];
            let product = dot(theta, images);
            *place += along * product;
            images.iter_mut().zip(theta).for_each(|(y, t)| *y -= product / length2 * t);
        }
    }
}
