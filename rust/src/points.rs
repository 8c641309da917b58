//! A borrowed, checked set of points: f32 or f64, any strides, never copied.

use branches::prefetch_read_data;
use ndarray::{ArrayView2, Axis};
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::monitor::Monitor;

/// The largest magnitude accepted: sums of squares of larger entries could overflow.
pub const LARGEST: f64 = 1e150;

/// Rows checked between two looks at the monitor.
const CHUNK: usize = 4096;

/// The entries, in the type they came in.
#[derive(Debug, Clone, Copy)]
pub enum Values<'a> {
    /// Single precision.
    F32(ArrayView2<'a, f32>),
    /// Double precision.
    F64(ArrayView2<'a, f64>),
}

impl<'a> From<ArrayView2<'a, f32>> for Values<'a> {
    fn from(view: ArrayView2<'a, f32>) -> Self {
        Values::F32(view)
    }
}

impl<'a> From<ArrayView2<'a, f64>> for Values<'a> {
    fn from(view: ArrayView2<'a, f64>) -> Self {
        Values::F64(view)
    }
}

/// `n` points of dimension `dim`, one a row, all entries finite.
///
/// Single precision is read as it is and widened where it is used, so a large f32 array is never
/// copied as f64. A row costs one predictable branch on the type.
#[derive(Debug, Clone, Copy)]
pub struct Points<'a> {
    values: Values<'a>,
}

impl<'a> Points<'a> {
    /// Checks that there is at least one entry and that all are finite. Cost: one pass, in parallel.
    ///
    /// ```
    /// use ndarray::array;
    /// use unbend::{Points, Unmonitored};
    /// let x = array![[0.0, 1.0], [2.0, f64::NAN]];
    /// let error = Points::new("X", x.view(), &Unmonitored).unwrap_err();
    /// assert_eq!(error.to_string(), "X holds NaN at row 1, column 1: every entry must be finite");
    /// ```
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
        match points.values {
            Values::F32(view) => check_entries(name, view, monitor)?,
            Values::F64(view) => check_entries(name, view, monitor)?,
        }
        Ok(points)
    }

    /// The entries in their own type.
    pub fn values(&self) -> Values<'a> {
        self.values
    }

    fn shape(&self) -> (usize, usize) {
        match self.values {
            Values::F32(view) => view.dim(),
            Values::F64(view) => view.dim(),
        }
    }

    /// How many points.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        self.shape().0
    }

    /// Their dimension.
    pub fn dim(&self) -> usize {
        self.shape().1
    }

    /// The same points for a shorter time, where two arrays must be borrowed for the same: lifetimes in
    /// views do not shorten by themselves.
    pub(crate) fn reborrow<'b>(self) -> Points<'b>
    where
        'a: 'b,
    {
        let values = match self.values {
            Values::F32(view) => Values::F32(view.reborrow()),
            Values::F64(view) => Values::F64(view.reborrow()),
        };
        Points { values }
    }

    /// The points as arrays where they lie, if they are contiguous f64 of dimension `Q`.
    pub(crate) fn rows<const Q: usize>(&self) -> Option<&'a [[f64; Q]]> {
        match self.values {
            Values::F64(view) if self.dim() == Q => view.to_slice().map(|flat| flat.as_chunks().0),
            _ => None,
        }
    }

    /// Point `i` will be read soon: a hint to memory for the beginning of a long row, the rest follows by itself.
    pub(crate) fn soon(&self, i: usize) {
        match &self.values {
            Values::F32(view) => begin(view, i),
            Values::F64(view) => begin(view, i),
        }
    }

    /// Writes point `i` into `out`, widened.
    #[inline(always)]
    pub fn copy_row(&self, i: usize, out: &mut [f64]) {
        match &self.values {
            Values::F32(view) => copy_row(view, i, out),
            Values::F64(view) => copy_row(view, i, out),
        }
    }
}

/// Points of a dimension `Q` known when compiled, read one at a time.
pub(crate) trait Rows<const Q: usize>: Sync {
    /// Point `i`, widened.
    fn at(&self, i: usize) -> [f64; Q];

    /// Point `i` will be read soon: a hint to memory, if it costs less than it gains.
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

/// A coordinate type.
pub trait Coordinate: Copy + Default + PartialOrd + Send + Sync + Into<f64> + 'static {}

impl Coordinate for f32 {}
impl Coordinate for f64 {}

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

/// The first bad entry in row order, whichever thread meets one first.
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
        let start = c * CHUNK;
        let end = (start + CHUNK).min(view.nrows());
        (start..end).find_map(|row| bad_entry(name, &view, row))
    });
    bad.map_or(Ok(()), Err)
}

fn bad_entry<T: Coordinate>(name: &'static str, view: &ArrayView2<T>, row: usize) -> Option<Error> {
    let entries = view.index_axis(Axis(0), row);
    let fine = |v: T| -> bool {
        let v: f64 = v.into();
        v.abs() <= LARGEST // false for NaN
    };
    let all_fine = match entries.as_slice() {
        Some(slice) => slice.iter().fold(true, |ok, &v| ok & fine(v)), // no early exit: vectorised
        None => entries.iter().all(|&v| fine(v)),
    };
    if all_fine {
        return None;
    }
    let (column, value) =
        entries.iter().enumerate().find(|&(_, &v)| !fine(v)).map(|(column, &v)| (column, v.into()))?;
    Some(if value.is_finite() {
        Error::TooLarge { name, row, column, value, limit: LARGEST }
    } else {
        Error::NotFinite { name, row, column, value }
    })
}
