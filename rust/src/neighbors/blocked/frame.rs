//! Points in the form that products need: centered, scaled, in blocks, in either precision.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, LinalgScalar};

use super::proposals::Proposed;
use super::{BLOCK, squared_distance};
use crate::error::Result;
use crate::monitor::Monitor;
use crate::neighbors::candidates::{Candidates, Collector, NO_POINT, Nearest};
use crate::points::{Coordinate, Points};

/// A type in which products are computed.
pub trait Precision: LinalgScalar + Coordinate {
    /// Half the distance from 1 to the next number.
    const UNIT: f64;

    /// The smallest number of full precision: what a product or a square below it may lose.
    const LEAST: f64;

    fn rounded(value: f64) -> Self;

    /// A bound of the error of a computed squared distance in dimension `dim`, where |x|^2 + |y|^2 is
    /// `norms`: dim roundings in the product, and a few more for the entries, the norms and the sums.
    fn error(dim: usize, norms: f64) -> f64 {
        let roundings = (dim + 16) as f64;
        1.1 * roundings * Self::UNIT * norms + 4.0 * roundings * Self::LEAST
    }
}

macro_rules! precision {
    ($($type:ident),*) => {$(
        impl Precision for $type {
            const UNIT: f64 = $type::EPSILON as f64 / 2.0;
            const LEAST: f64 = $type::MIN_POSITIVE as f64;

            fn rounded(value: f64) -> Self {
                value as $type
            }
        }
    )*};
}

precision!(f32, f64);

/// Coordinates in which products lose least: centered, and scaled so that no square overflows.
pub struct Frame<'a> {
    pub points: Points<'a>,
    /// The points to find neighbors of; `None` if the points are searched for each other.
    pub new: Option<Points<'a>>,
    pub mean: Vec<f64>,
    /// A power of two, so that scaling is exact.
    pub scale: f64,
}

impl<'a> Frame<'a> {
    pub fn of(points: &Points<'a>, new: Option<&Points<'a>>, monitor: &dyn Monitor) -> Result<Self> {
        let (n, q) = (points.len(), points.dim());
        let (mut mean, mut row) = (vec![0.0; q], vec![0.0; q]);
        let mut each = |points: &Points, f: &mut dyn FnMut(&[f64])| {
            for i in 0..points.len() {
                if i % BLOCK == 0 {
                    monitor.check()?;
                }
                points.copy_row(i, &mut row);
                f(&row);
            }
            Ok(())
        };
        each(points, &mut |row| mean.iter_mut().zip(row).for_each(|(m, v)| *m += v / n as f64))?;
        let mut largest = 0.0f64;
        for points in std::iter::once(points).chain(new) {
            each(points, &mut |row| {
                largest = row.iter().zip(&mean).fold(largest, |l, (v, m)| l.max((v - m).abs()));
            })?;
        }
        let scale = if largest > 0.0 { (-largest.log2().ceil()).clamp(-1000.0, 1000.0).exp2() } else { 1.0 };
        Ok(Frame { points: *points, new: new.copied(), mean, scale })
    }

    pub fn asking(&self) -> &Points<'a> {
        self.new.as_ref().unwrap_or(&self.points)
    }

    /// The point that query `id` must not find: itself.
    pub fn own(&self, id: u32) -> u32 {
        if self.new.is_some() { NO_POINT } else { id }
    }

    /// Number of points that can be found.
    pub fn others(&self) -> usize {
        self.points.len() - usize::from(self.new.is_none())
    }

    /// A squared distance in this frame, rounded up by what squares lose when they underflow.
    pub fn scaled(&self, d2: f64) -> f64 {
        (d2 + f64::MIN_POSITIVE * self.points.dim() as f64) * self.scale * self.scale
    }

    /// The points `ids` of `points` in this frame and this precision.
    pub fn block<T: Precision>(&self, points: &Points, ids: Vec<u32>) -> Block<T> {
        let q = self.points.dim();
        let mut row = vec![0.0; q];
        let mut values = Array2::from_elem((ids.len(), q), T::default());
        let mut norms = Vec::with_capacity(ids.len());
        for (&id, mut out) in ids.iter().zip(values.rows_mut()) {
            points.copy_row(id as usize, &mut row);
            let mut norm = 0.0;
            for ((o, v), m) in out.iter_mut().zip(&row).zip(&self.mean) {
                *o = T::rounded((v - m) * self.scale);
                let rounded: f64 = (*o).into();
                norm += rounded * rounded;
            }
            norms.push(T::rounded(norm));
        }
        Block { ids, values, norms }
    }

    /// The exact `k` nearest of the proposed candidates of point `i`, and whether they are proved to be
    /// the `k` nearest of all.
    pub fn decide(&self, i: usize, mut proposed: Proposed, k: usize) -> (Candidates, bool) {
        let q = self.points.dim();
        let (mut own, mut other) = (vec![0.0; q], vec![0.0; q]);
        self.asking().copy_row(i, &mut own);
        let mut list = Candidates::new(k);
        list.restart(self.own(i as u32));
        for (_, id) in proposed.list.sorted().filter(|&(_, id)| id != NO_POINT) {
            self.points.copy_row(id as usize, &mut other);
            list.offer(squared_distance(&own, &other), id);
        }
        // Everything left out was computed to be at least `farthest` away. A point much farther from
        // the center than this one cannot be a neighbor anyway, so |y| is bounded too.
        let needed = self.scaled(list.bound());
        let farthest = proposed.list.bound();
        let reach = proposed.norm.sqrt() + needed.sqrt();
        let slack = f32::error(q, proposed.norm + reach * reach);
        let complete = proposed.list.room() == self.others(); // it kept all there are
        (list, complete || farthest - slack > needed * (1.0 + 1e-9))
    }
}

pub fn blocks(points: &Points) -> usize {
    points.len().div_ceil(BLOCK)
}

pub fn ids(points: &Points, block: usize) -> Vec<u32> {
    let start = block * BLOCK;
    (start as u32..(start + BLOCK).min(points.len()) as u32).collect()
}

/// Some points, ready to be multiplied.
#[derive(Default)]
pub struct Block<T> {
    pub ids: Vec<u32>,
    pub values: Array2<T>,
    pub norms: Vec<T>,
}

pub fn multiply<T: Precision>(left: &Block<T>, right: &Block<T>) -> Array2<T> {
    let mut products = Array2::from_elem((left.ids.len(), right.ids.len()), T::default());
    general_mat_mul(T::one(), &left.values, &right.values.t(), T::zero(), &mut products);
    products
}
