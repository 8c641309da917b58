//! Points in the caller's memory: f32 or f64, with any strides, checked and never copied.

use branches::prefetch_read_data;
use ndarray::{ArrayView2, Axis};
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::monitor::Monitor;

/// Largest magnitude of a coordinate. Sums of squares of larger ones could overflow, so they are refused.
pub const MAX_MAGNITUDE: f64 = 1e150;

/// Rows checked between two checks of the monitor.
const CHUNK: usize = 4096;

/// The coordinates in their own type.
#[derive(Debug, Clone, Copy)]
pub enum Values<'a> {
    /// Single precision.
    F32(ArrayView2<'a, f32>),
    /// Double precision.
    F64(ArrayView2<'a, f64>),
}

macro_rules! values_from {
    ($($type:ty, $variant:ident);*) => {$(
        impl<'a> From<ArrayView2<'a, $type>> for Values<'a> {
            fn from(view: ArrayView2<'a, $type>) -> Self {
                Values::$variant(view)
            }
        }

        impl Coordinate for $type {}
    )*};
}

values_from!(f32, F32; f64, F64);

/// Evaluates an expression with the array in [`Values`], for either type.
macro_rules! with_view {
    ($values:expr, $view:ident => $result:expr) => {
        match $values {
            $crate::points::Values::F32($view) => $result,
            $crate::points::Values::F64($view) => $result,
        }
    };
}

pub(crate) use with_view;

/// `n` points of dimension `dim`, one per row. All coordinates are finite and at most [`MAX_MAGNITUDE`] in magnitude.
///
/// Single precision is widened where it is read, so that a large f32 array is never copied as f64.
#[derive(Debug, Clone, Copy)]
pub struct Points<'a> {
    values: Values<'a>,
}

impl<'a> Points<'a> {
    /// Borrows an array of points. Cost: one pass over it, in parallel.
    ///
    /// Fails if the array is empty, has more than `u32::MAX` rows, or holds an entry that is not finite or too large.
    /// `name` is what error messages call the array.
    pub fn new(name: &'static str, values: impl Into<Values<'a>>, monitor: &dyn Monitor) -> Result<Self> {
        let points = Points { values: values.into() };
        let (rows, columns) = points.shape();
        if rows == 0 || columns == 0 {
            return Err(Error::Empty { name, rows, columns });
        }
        let limit = u32::MAX as usize;
        if rows > limit {
            return Err(Error::TooManyPoints { n: rows, limit });
        }
        with_view!(points.values, view => check_entries(name, view, monitor))?;
        Ok(points)
    }

    /// Points that [`Points::new`] has checked before: their entries are not read again.
    pub fn trusted(values: impl Into<Values<'a>>) -> Self {
        Points { values: values.into() }
    }

    /// The entries in their own type.
    pub fn values(&self) -> Values<'a> {
        self.values
    }

    fn shape(&self) -> (usize, usize) {
        with_view!(self.values, view => view.dim())
    }

    /// Number of points, at least 1.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        self.shape().0
    }

    /// Number of coordinates of a point, at least 1.
    pub fn dim(&self) -> usize {
        self.shape().1
    }

    /// The same points with a shorter lifetime. Lifetimes in array views do not shorten by themselves.
    pub(crate) fn reborrow<'b>(self) -> Points<'b>
    where
        'a: 'b,
    {
        Points { values: with_view!(self.values, view => view.reborrow().into()) }
    }

    /// The points as arrays in place, if they are contiguous f64 of dimension `Q`.
    pub(crate) fn rows<const Q: usize>(&self) -> Option<&'a [[f64; Q]]> {
        match self.values {
            Values::F64(view) if self.dim() == Q => view.to_slice().map(|flat| flat.as_chunks().0),
            _ => None,
        }
    }

    /// Prefetches the first cache lines of point `i`.
    pub(crate) fn soon(&self, i: usize) {
        with_view!(&self.values, view => begin(view, i));
    }

    /// Writes the coordinates of point `i` to `out`, in double precision. `out` may be shorter than the row.
    #[inline(always)]
    pub fn copy_row(&self, i: usize, out: &mut [f64]) {
        with_view!(&self.values, view => copy_row(view, i, out));
    }
}

/// Points whose dimension `Q` is known at compile time, read one at a time.
pub(crate) trait Rows<const Q: usize>: Sync {
    /// The coordinates of point `i`, in double precision.
    fn at(&self, i: usize) -> [f64; Q];

    /// Prefetches point `i`, where that pays.
    fn soon(&self, _i: usize) {}
}

impl<const Q: usize> Rows<Q> for [[f64; Q]] {
    #[inline(always)]
    fn at(&self, i: usize) -> [f64; Q] {
        self[i]
    }

    #[inline(always)]
    fn soon(&self, i: usize) {
        let row = &self[i];
        prefetch_read_data::<_, 0>(row);
        if Q > 2 {
            prefetch_read_data::<_, 0>(&row[Q - 1]);
        }
    }
}

impl<const Q: usize> Rows<Q> for Points<'_> {
    #[inline(always)]
    fn at(&self, i: usize) -> [f64; Q] {
        let mut row = [0.0; Q];
        self.copy_row(i, &mut row);
        row
    }
}

/// The type of a coordinate: f32 or f64.
pub trait Coordinate: Copy + Default + PartialOrd + Send + Sync + Into<f64> + 'static {}

fn begin<T: Coordinate>(view: &ArrayView2<T>, i: usize) {
    const LINE: usize = 64;
    const LINES: usize = 6;
    if let Some(row) = view.index_axis(Axis(0), i).to_slice() {
        row.iter().step_by(LINE / size_of::<T>()).take(LINES).for_each(|v| prefetch_read_data::<_, 0>(v));
    }
}

#[inline(always)]
fn copy_row<T: Coordinate>(view: &ArrayView2<T>, i: usize, out: &mut [f64]) {
    let row = view.index_axis(Axis(0), i);
    match row.as_slice().and_then(|row| row.get(..out.len())) {
        // the length is that of `out`, which callers often know when they are compiled
        Some(row) => (0..out.len()).for_each(|a| out[a] = row[a].into()),
        None => out.iter_mut().zip(row).for_each(|(o, &v)| *o = v.into()),
    }
}

/// Finds the first bad entry in row order, whatever the threads do.
fn check_entries<T: Coordinate>(
    name: &'static str,
    view: ArrayView2<T>,
    monitor: &dyn Monitor,
) -> Result<()> {
    let chunks = view.nrows().div_ceil(CHUNK);
    let bad = (0..chunks).into_par_iter().find_map_first(|c| {
        if monitor.stop_requested() {
            return Some(Error::Interrupted);
        }
        (c * CHUNK..((c + 1) * CHUNK).min(view.nrows())).find_map(|row| bad_entry(name, &view, row))
    });
    bad.map_or(Ok(()), Err)
}

fn bad_entry<T: Coordinate>(name: &'static str, view: &ArrayView2<T>, row: usize) -> Option<Error> {
    let entries = view.index_axis(Axis(0), row);
    let fine = |v: T| -> bool {
        let v: f64 = v.into();
        v.abs() <= MAX_MAGNITUDE // false for NaN
    };
    let all_fine = match entries.as_slice() {
        Some(slice) => slice.iter().fold(true, |ok, &v| ok & fine(v)), // no early exit: vectorized
        None => entries.iter().all(|&v| fine(v)),
    };
    if all_fine {
        return None;
    }
    let column = entries.iter().position(|&v| !fine(v))?;
    let value: f64 = entries[column].into();
    Some(if value.is_finite() {
        Error::TooLarge { name, row, column, value, limit: MAX_MAGNITUDE }
    } else {
        Error::NotFinite { name, row, column, value }
    })
}
