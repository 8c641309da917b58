//! The points in single precision, as the search compares them: all their coordinates, or their principal ones.

use branches::prefetch_read_data;
use ndarray::{Array2, ArrayView1};

use crate::points::{Points, Values};

/// Beyond this, entries in units of the typical spread are cut off, so that no sum of squares overflows.
const FAR: f64 = 1e15;

/// Points of which a typical one and a typical spread are found.
const TYPICAL: usize = 256;

/// Principal directions, foremost first, of which more tell little.
const TELLING: usize = 32;

/// Numbers in a line of memory.
const LINE: usize = 16;

/// What is compared in place of the points.
pub enum Rows<'a> {
    /// The points themselves, centred and scaled as they are read.
    Direct { points: Points<'a>, frame: Frame },
    /// Their coordinates along some directions, with the unit in which they are.
    Projected { values: Array2<f32>, scale: f64 },
}

/// Where single precision resolves most: a typical point is the origin, and a typical spread the unit, rounded to a
/// power of two.
pub struct Frame {
    wide: Units<f64>,
    /// For points in single precision: differences from a center that is so, too, lose nothing more.
    narrow: Units<f32>,
}

/// An origin and a unit.
struct Units<T> {
    center: Vec<T>,
    scale: T,
}

impl Units<f64> {
    #[inline(always)]
    fn enter(&self, row: ArrayView1<f64>, out: &mut [f32]) {
        let entry = |v: f64, c: f64| ((v - c) * self.scale).clamp(-FAR, FAR) as f32;
        match row.to_slice() {
            Some(row) => out.iter_mut().zip(row).zip(&self.center).for_each(|((o, &v), &c)| *o = entry(v, c)),
            None => out.iter_mut().zip(row).zip(&self.center).for_each(|((o, &v), &c)| *o = entry(v, c)),
        }
    }
}

impl Units<f32> {
    #[inline(always)]
    fn enter(&self, row: ArrayView1<f32>, out: &mut [f32]) {
        let entry = |v: f32, c: f32| ((v - c) * self.scale).clamp(-FAR as f32, FAR as f32);
        match row.to_slice() {
            Some(row) => out.iter_mut().zip(row).zip(&self.center).for_each(|((o, &v), &c)| *o = entry(v, c)),
            None => out.iter_mut().zip(row).zip(&self.center).for_each(|((o, &v), &c)| *o = entry(v, c)),
        }
    }
}

impl Frame {
    /// From medians over points spread evenly among all: a few far ones do not matter.
    pub fn of(points: &Points) -> Self {
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
        let narrow = center.iter().map(|&c| c as f32).collect();
        Frame { wide: Units { center, scale }, narrow: Units { center: narrow, scale: scale as f32 } }
    }
}

impl Rows<'_> {
    /// How many coordinates are compared.
    pub fn dim(&self) -> usize {
        match self {
            Rows::Direct { points, .. } => points.dim(),
            Rows::Projected { values, .. } => values.ncols(),
        }
    }

    /// How many of the foremost coordinates tell near points from far ones.
    pub fn telling(&self) -> usize {
        match self {
            Rows::Direct { points, .. } => points.dim(),
            Rows::Projected { values, .. } => values.ncols().min(TELLING),
        }
    }

    /// How many points.
    pub fn len(&self) -> usize {
        match self {
            Rows::Direct { points, .. } => points.len(),
            Rows::Projected { values, .. } => values.nrows(),
        }
    }

    /// A length of 1 in the points is one of this here.
    pub fn scale(&self) -> f64 {
        match self {
            Rows::Direct { frame, .. } => frame.wide.scale,
            Rows::Projected { scale, .. } => *scale,
        }
    }

    /// Whether these are all coordinates.
    pub fn complete(&self) -> bool {
        matches!(self, Rows::Direct { .. })
    }

    /// The length of row `i`.
    pub fn norm(&self, i: usize) -> f64 {
        let mut row = vec![0.0; self.dim()];
        self.read(i, &mut row);
        row.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt()
    }

    /// Row `i` will be read soon: a hint to memory.
    #[inline(always)]
    pub fn soon(&self, i: usize) {
        match self {
            Rows::Direct { points, .. } => points.soon(i),
            Rows::Projected { values, .. } => {
                if let Some(row) = values.row(i).to_slice() {
                    row.iter().step_by(LINE).for_each(|v| prefetch_read_data::<_, 0>(v));
                }
            }
        }
    }

    /// Writes the foremost coordinates of point `i`, as many as there is room for.
    #[inline(always)]
    pub fn read(&self, i: usize, out: &mut [f32]) {
        match self {
            Rows::Direct { points, frame } => match points.values() {
                Values::F32(view) => frame.narrow.enter(view.row(i), out),
                Values::F64(view) => frame.wide.enter(view.row(i), out),
            },
            Rows::Projected { values, .. } => {
                if let Some(row) = values.row(i).to_slice() {
                    out.iter_mut().zip(row).for_each(|(to, &v)| *to = v);
                }
            }
        }
    }
}
