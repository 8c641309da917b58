//! The points in single precision, as the search compares them: all their coordinates, or their principal ones.

use branches::prefetch_read_data;
use ndarray::{Array2, ArrayView1};

use crate::points::{Points, Values};

/// Beyond this, entries in units of the typical spread are cut off, so that no sum of squares overflows.
const FAR: f64 = 1e15;

/// Points of which a typical one and a typical spread are found.
const TYPICAL: usize = 256;

/// Number of leading principal directions that separate points; more add little.
const TELLING: usize = 32;

/// Numbers in a line of memory.
const LINE: usize = 16;

/// The rows that are compared instead of the points.
pub struct Rows<'a> {
    source: Source<'a>,
    /// Number of points.
    pub len: usize,
    /// Number of compared coordinates.
    pub dim: usize,
    /// Number of leading coordinates that distinguish near points from far ones.
    pub telling: usize,
    /// The length here of a length of 1 in the points.
    pub scale: f64,
    /// True if all coordinates are compared.
    pub complete: bool,
}

enum Source<'a> {
    /// The points themselves, centered and scaled as they are read.
    Direct { points: Points<'a>, frame: Frame },
    /// Their coordinates along some directions.
    Projected(Array2<f32>),
}

/// The origin is a typical point, and the unit a typical spread, rounded to a power of two.
struct Frame {
    center: Vec<f64>,
    /// The center in single precision, for points in single precision: their differences lose nothing more.
    narrow_center: Vec<f32>,
    scale: f64,
}

/// Writes `entry(coordinate, center)` for each coordinate.
#[inline(always)]
fn enter<T: Copy>(row: ArrayView1<T>, center: &[T], out: &mut [f32], entry: impl Fn(T, T) -> f32) {
    match row.to_slice() {
        Some(row) => out.iter_mut().zip(row).zip(center).for_each(|((o, &v), &c)| *o = entry(v, c)),
        None => out.iter_mut().zip(row).zip(center).for_each(|((o, &v), &c)| *o = entry(v, c)),
    }
}

impl Frame {
    /// From medians over points spread evenly among all: a few far ones do not matter.
    fn of(points: &Points) -> Self {
        let (n, q) = (points.len(), points.dim());
        let taken = n.min(TYPICAL);
        let mut sample = Array2::zeros((taken, q));
        let mut row = vec![0.0; q];
        for (t, mut to) in sample.rows_mut().into_iter().enumerate() {
            points.copy_row(t * n / taken, &mut row);
            to.iter_mut().zip(&row).for_each(|(to, &v)| *to = v);
        }
        let mut column = vec![0.0; taken];
        let mut median = |values: &mut dyn Iterator<Item = f64>| -> f64 {
            column.iter_mut().zip(values).for_each(|(to, v)| *to = v);
            *column.select_nth_unstable_by(taken / 2, f64::total_cmp).1
        };
        let center: Vec<f64> = sample.columns().into_iter().map(|c| median(&mut c.iter().copied())).collect();
        let mut largest =
            |row: ArrayView1<f64>| row.iter().zip(&center).fold(0.0f64, |far, (v, c)| far.max((v - c).abs()));
        let spreads: Vec<f64> = sample.rows().into_iter().map(&mut largest).collect();
        let spread = median(&mut spreads.into_iter());
        // a power of two that the numbers' own precision holds
        let most = if matches!(points.values(), Values::F32(_)) { 120.0 } else { 500.0 };
        let scale = if spread > 0.0 { (-spread.log2().ceil()).clamp(-most, most).exp2() } else { 1.0 };
        let narrow_center = center.iter().map(|&c| c as f32).collect();
        Frame { center, narrow_center, scale }
    }
}

impl<'a> Rows<'a> {
    /// The points themselves.
    pub fn of(points: &Points<'a>) -> Self {
        let frame = Frame::of(points);
        let (len, dim, scale) = (points.len(), points.dim(), frame.scale);
        let source = Source::Direct { points: *points, frame };
        Rows { source, len, dim, telling: dim, scale, complete: true }
    }

    /// Coordinates along some directions, in place of the points.
    pub fn projected(self, values: Array2<f32>) -> Self {
        let dim = values.ncols();
        let source = Source::Projected(values);
        Rows { source, dim, telling: dim.min(TELLING), complete: false, ..self }
    }

    /// The length of row `i`.
    pub fn norm(&self, i: usize) -> f64 {
        let mut row = vec![0.0; self.dim];
        self.read(i, &mut row);
        row.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt()
    }

    /// Prefetches row `i`.
    #[inline(always)]
    pub fn soon(&self, i: usize) {
        match &self.source {
            Source::Direct { points, .. } => points.soon(i),
            Source::Projected(values) => {
                if let Some(row) = values.row(i).to_slice() {
                    row.iter().step_by(LINE).for_each(|v| prefetch_read_data::<_, 0>(v));
                }
            }
        }
    }

    /// Writes the foremost coordinates of point `i`, as many as there is room for.
    #[inline(always)]
    pub fn read(&self, i: usize, out: &mut [f32]) {
        match &self.source {
            Source::Direct { points, frame: Frame { center, narrow_center, scale } } => match points.values()
            {
                Values::F32(view) => enter(view.row(i), narrow_center, out, |v, c| {
                    ((v - c) * *scale as f32).clamp(-FAR as f32, FAR as f32)
                }),
                Values::F64(view) => {
                    enter(view.row(i), center, out, |v, c| ((v - c) * scale).clamp(-FAR, FAR) as f32)
                }
            },
            Source::Projected(values) => {
                if let Some(row) = values.row(i).to_slice() {
                    out.iter_mut().zip(row).for_each(|(to, &v)| *to = v);
                }
            }
        }
    }
}
