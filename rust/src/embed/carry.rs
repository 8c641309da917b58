//! Points that were not there, carried along by the points around them.
//!
//! The greedy step of Goldberg & Ritov, section 4.1: the rotation that best takes the listed points to
//! their images (eq. 1) takes the new point as well. Nothing in it asks which of the two spaces is the
//! data and which the embedding, so the same step leads from the data to the embedding and back.
//!
//! Cost: O(k a b) for a new point with k listed, from dimension a to b, as long as the narrower of the
//! two has at most k dimensions.

use rayon::prelude::*;

use crate::charts::{Alignment, Local};
use crate::error::{Error, Result};
use crate::linalg::{column, dot, first};
use crate::monitor::Monitor;
use crate::parallel::map_blocks;
use crate::points::Points;

const STAGE: &str = "carry";

/// Where new points went.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Carried {
    /// Their places, point after point.
    pub placed: Vec<f64>,
    /// How far on root mean square the rotation of each leaves the listed points from their images.
    pub errors: Vec<f64>,
}

/// Carries every new point from the space of `source` into that of `target`.
///
/// Row i of both is one point. `lists` holds `k` of them for each new point, in general its nearest;
/// a new point that coincides with one of them goes where the first such one is. Where the listed
/// points leave a rotation undecided, one of the best is taken.
///
/// ```
/// use ndarray::array;
/// use unbend::{Points, Unmonitored, embed::carry};
/// let bent = array![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]];
/// let flat = array![[0.0], [1.0], [2.0]];
/// let new = array![[0.25, 0.0]];
/// let points = |name, x| Points::new(name, x, &Unmonitored);
/// let (bent, flat) = (points("source", bent.view())?, points("target", flat.view())?);
/// let carried = carry(&bent, &flat, &points("new", new.view())?, &[0, 1], 2, &Unmonitored)?;
/// assert_eq!((carried.placed, carried.errors), (vec![0.25], vec![0.0]));
/// # Ok::<(), unbend::Error>(())
/// ```
pub fn carry(
    source: &Points,
    target: &Points,
    new: &Points,
    lists: &[u32],
    k: usize,
    monitor: &dyn Monitor,
) -> Result<Carried> {
    check(source, target, new, lists, k)?;
    let blocks: Vec<Result<Carried>> = map_blocks(new.len(), STAGE, monitor, |block| {
        let mut step = Step::default();
        let mut carried = Carried::default();
        for i in block {
            monitor.check()?; // a block of wide points takes long
            let start = carried.placed.len();
            carried.placed.resize(start + target.dim(), 0.0);
            new.copy_row(i, first(&mut step.point, new.dim()));
            let error = step.take(source, target, &lists[i * k..][..k], &mut carried.placed[start..]);
            carried.errors.push(error);
        }
        Ok(carried)
    })?;
    Carried::joined(blocks, monitor)
}

impl Carried {
    /// All blocks, end to end.
    pub(super) fn joined(blocks: Vec<Result<Carried>>, monitor: &dyn Monitor) -> Result<Carried> {
        let mut all = Carried::default();
        for block in blocks {
            monitor.check()?;
            let block = block?;
            all.placed.extend(block.placed);
            all.errors.extend(block.errors);
        }
        Ok(all)
    }
}

pub(super) fn check(source: &Points, target: &Points, new: &Points, lists: &[u32], k: usize) -> Result<()> {
    if k == 0 {
        return Err(Error::NoNeighbors);
    }
    if new.dim() != source.dim() {
        let (left_dim, right_dim) = (new.dim(), source.dim());
        return Err(Error::DimensionMismatch { left: "new", left_dim, right: "source", right_dim });
    }
    check_rows("target", target.len(), "source", source.len())?;
    check_rows("lists", lists.len(), "new times n_neighbors", new.len().saturating_mul(k))?;
    let n = source.len();
    match lists.par_iter().position_first(|&j| j as usize >= n) {
        Some(at) => Err(Error::NeighborOutOfRange { point: at / k, neighbor: lists[at] as usize, n }),
        None => Ok(()),
    }
}

fn check_rows(left: &'static str, left_len: usize, right: &'static str, right_len: usize) -> Result<()> {
    if left_len == right_len {
        return Ok(());
    }
    Err(Error::LengthMismatch { left, left_len, right, right_len })
}

/// All that one point needs, reused by the next.
#[derive(Default)]
struct Step {
    /// The new point.
    point: Vec<f64>,
    source: Local,
    target: Local,
    alignment: Alignment,
    row: Vec<f64>,
    /// The new point about the mean of the listed ones, in the coordinates of `source`.
    offset: Vec<f64>,
    /// The same in the coordinates of `target`.
    image: Vec<f64>,
}

impl Step {
    /// Writes where the point goes, and returns the error.
    fn take(&mut self, source: &Points, target: &Points, list: &[u32], place: &mut [f64]) -> f64 {
        if let Some(same) = self.coincident(source, list) {
            target.copy_row(same, place);
            return 0.0;
        }
        let narrow = source.dim().min(target.dim());
        load(&mut self.source, source, list, narrow);
        load(&mut self.target, target, list, narrow);
        let residual = self.align();
        self.find_offset(source, list);
        self.rotate();
        self.put_down(target, list, place);
        (residual / list.len() as f64).sqrt()
    }

    /// The first listed point that the new one coincides with.
    fn coincident(&mut self, source: &Points, list: &[u32]) -> Option<usize> {
        let row = first(&mut self.row, source.dim());
        list.iter().map(|&j| j as usize).find(|&j| {
            source.copy_row(j, row);
            row.iter().eq(&self.point[..source.dim()])
        })
    }

    /// Whether the rotation leads into the narrower space, or one as wide.
    fn narrows(&self) -> bool {
        self.source.dim >= self.target.dim
    }

    /// Finds the rotation, and returns |X - Y A'|^2 with X in the wider space.
    fn align(&mut self) -> f64 {
        let (x, y) = if self.narrows() { (&self.source, &self.target) } else { (&self.target, &self.source) };
        self.alignment.fit(&x.x, x.dim, &y.x, y.dim, x.padded);
        self.alignment.residual(&x.x, x.dim, &y.x, y.dim, x.padded, 1.0)
    }

    /// Differences from the first listed point, whose own offset from the mean is known: a large common
    /// offset costs no digits.
    fn find_offset(&mut self, source: &Points, list: &[u32]) {
        let (row, local) = (first(&mut self.row, source.dim()), &self.source);
        source.copy_row(list[0] as usize, row);
        row.iter_mut().zip(&self.point).for_each(|(r, p)| *r = p - *r);
        let offset = first(&mut self.offset, local.dim);
        local.narrow(row, offset);
        (0..local.dim).for_each(|a| offset[a] += local.x[a * local.padded]);
    }

    fn rotate(&mut self) {
        let (from, to) = (self.source.dim, self.target.dim);
        let (offset, frame) = (&self.offset[..from], &self.alignment.frame);
        let image = first(&mut self.image, to);
        if from >= to {
            (0..to).for_each(|b| image[b] = dot(column(frame, from, b), offset));
            return;
        }
        image.fill(0.0);
        for (a, &along) in offset.iter().enumerate() {
            image.iter_mut().zip(column(frame, to, a)).for_each(|(i, f)| *i += along * f);
        }
    }

    /// From the mean of the images by way of the first of them.
    fn put_down(&mut self, target: &Points, list: &[u32], place: &mut [f64]) {
        let (image, local) = (first(&mut self.image, self.target.dim), &self.target);
        (0..local.dim).for_each(|b| image[b] -= local.x[b * local.padded]);
        local.widen(image, place);
        let row = first(&mut self.row, target.dim());
        target.copy_row(list[0] as usize, row);
        place.iter_mut().zip(row).for_each(|(p, r)| *p += *r);
    }
}

/// Loads listed points. The wider ones are reduced when that costs less, k^2 products of wide vectors,
/// than to make `narrow` wide columns orthogonal by rotations.
fn load(local: &mut Local, points: &Points, list: &[u32], narrow: usize) {
    let members = list.iter().map(|&j| j as usize);
    if points.dim() > narrow && 2 * narrow > list.len() {
        local.load_reduced(points, members, narrow);
    } else {
        local.load(points, members, points.dim());
    }
}
