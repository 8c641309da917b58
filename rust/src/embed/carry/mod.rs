//! New points, carried by the motion of the points around them.
//!
//! As in the greedy step of Goldberg & Ritov, section 4.1, the rotation that best takes the listed points to their
//! images (eq. 1) takes the new point as well. It leads from the data to the embedding, or back.
//!
//! Cost: O(k a b) for a new point with k listed, from dimension a to b, if the narrower of the two has at most k.

mod extend;

pub use extend::extend;

use super::{check_indices, check_len};
use crate::charts::{Alignment, Local};
use crate::error::{Error, Result};
use crate::linalg::{column, dot, first};
use crate::monitor::Monitor;
use crate::parallel::map_blocks;
use crate::points::Points;

/// Images of new points.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Carried {
    /// Coordinates, point after point.
    pub placed: Vec<f64>,
    /// Root mean square distance of the listed points from their images, after the rotation of each new point.
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
    let data = Data { source, target, new, lists, k };
    place_each(&data, "carry", monitor, |step: &mut Step<Motion>, list, place| {
        let narrow = source.dim().min(target.dim());
        load(&mut step.source, source, list, narrow);
        load(&mut step.target, target, list, narrow);
        let residual = step.align();
        step.find_offset(source, list);
        step.rotate();
        step.put_down(target, list, place);
        (residual / list.len() as f64).sqrt()
    })
}

/// New points, and the `k` points listed for each in `lists`.
struct Data<'a, 's, 't, 'n> {
    source: &'a Points<'s>,
    target: &'a Points<'t>,
    new: &'a Points<'n>,
    lists: &'a [u32],
    k: usize,
}

/// Places every new point: at the first listed point that coincides with it, or by `take`, which returns the error.
fn place_each<T: Default>(
    data: &Data,
    stage: &'static str,
    monitor: &dyn Monitor,
    take: impl Fn(&mut Step<T>, &[u32], &mut [f64]) -> f64 + Sync,
) -> Result<Carried> {
    let Data { source, target, new, lists, k } = *data;
    check(data)?;
    let blocks: Vec<Result<Carried>> = map_blocks(new.len(), stage, monitor, |block| {
        let (mut step, mut carried) = (Step::default(), Carried::default());
        for i in block {
            monitor.check()?; // a block of wide points takes long
            let start = carried.placed.len();
            carried.placed.resize(start + target.dim(), 0.0);
            new.copy_row(i, first(&mut step.point, new.dim()));
            let (list, place) = (&lists[i * k..][..k], &mut carried.placed[start..]);
            carried.errors.push(match step.coincident(source, list) {
                Some(same) => {
                    target.copy_row(same, place);
                    0.0
                }
                None => take(&mut step, list, place),
            });
        }
        Ok(carried)
    })?;
    let mut all = Carried::default();
    for block in blocks {
        monitor.check()?;
        let block = block?;
        all.placed.extend(block.placed);
        all.errors.extend(block.errors);
    }
    Ok(all)
}

fn check(data: &Data) -> Result<()> {
    let Data { source, target, new, lists, k } = *data;
    if k == 0 {
        return Err(Error::NoNeighbors);
    }
    if new.dim() != source.dim() {
        let (left_dim, right_dim) = (new.dim(), source.dim());
        return Err(Error::DimensionMismatch { left: "new", left_dim, right: "source", right_dim });
    }
    check_len("target", target.len(), "source", source.len())?;
    check_len("lists", lists.len(), "new times n_neighbors", new.len().saturating_mul(k))?;
    check_indices(lists, k, source.len())
}

/// Buffers of one point, reused by the next.
#[derive(Default)]
struct Step<T> {
    point: Vec<f64>,
    source: Local,
    target: Local,
    row: Vec<f64>,
    /// The new point about the mean of the listed ones, in the coordinates of `source`.
    offset: Vec<f64>,
    map: T,
}

impl<T> Step<T> {
    /// The first listed point that the new one coincides with.
    fn coincident(&mut self, source: &Points, list: &[u32]) -> Option<usize> {
        let row = first(&mut self.row, source.dim());
        list.iter().map(|&j| j as usize).find(|&j| {
            source.copy_row(j, row);
            row.iter().eq(&self.point[..source.dim()])
        })
    }

    /// Finds the offset by differences from the first listed point, so that a large common offset costs no digits.
    fn find_offset(&mut self, source: &Points, list: &[u32]) {
        let (row, local) = (first(&mut self.row, source.dim()), &self.source);
        source.copy_row(list[0] as usize, row);
        row.iter_mut().zip(&self.point).for_each(|(r, p)| *r = p - *r);
        let offset = first(&mut self.offset, local.dim);
        local.narrow(row, offset);
        (0..local.dim).for_each(|a| offset[a] += local.x[a * local.padded]);
    }
}

/// The rotation of a step, and the rotated offset, in the coordinates of `target`.
#[derive(Default)]
struct Motion {
    alignment: Alignment,
    image: Vec<f64>,
}

impl Step<Motion> {
    /// True if the rotation leads into the narrower space, or one of the same dimension.
    fn narrows(&self) -> bool {
        self.source.dim >= self.target.dim
    }

    /// Finds the rotation, and returns |X - Y A'|^2 with X in the wider space.
    fn align(&mut self) -> f64 {
        let (x, y) = if self.narrows() { (&self.source, &self.target) } else { (&self.target, &self.source) };
        self.map.alignment.fit(&x.x, x.dim, &y.x, y.dim, x.padded);
        self.map.alignment.residual(&x.x, x.dim, &y.x, y.dim, x.padded, 1.0)
    }

    fn rotate(&mut self) {
        let (from, to) = (self.source.dim, self.target.dim);
        let (offset, frame) = (&self.offset[..from], &self.map.alignment.frame);
        let image = first(&mut self.map.image, to);
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
        let (image, local) = (first(&mut self.map.image, self.target.dim), &self.target);
        (0..local.dim).for_each(|b| image[b] -= local.x[b * local.padded]);
        local.widen(image, place);
        let row = first(&mut self.row, target.dim());
        target.copy_row(list[0] as usize, row);
        place.iter_mut().zip(row).for_each(|(p, r)| *p += *r);
    }
}

/// Loads listed points. Wide ones are reduced if that costs less than rotating `narrow` wide columns.
fn load(local: &mut Local, points: &Points, list: &[u32], narrow: usize) {
    let members = list.iter().map(|&j| j as usize);
    if points.dim() > narrow && 2 * narrow > list.len() {
        local.load_reduced(points, members, narrow);
    } else {
        local.load(points, members, points.dim());
    }
}
