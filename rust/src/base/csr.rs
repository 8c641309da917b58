//! Compressed sparse rows: the one type for sparse matrices and for lists of lists.

use rayon::prelude::*;

use crate::error::{Error, Result, check_rows};
use crate::monitor::Monitor;

/// Rows that one thread multiplies between two checks of the monitor.
const BLOCK_ROWS: usize = 1024;

/// A position in a row pointer: `i64` as in scipy, or `u32` where memory matters.
pub trait Offset: Copy + Default + Send + Sync {
    /// The position as an index.
    fn index(self) -> usize;

    /// The position of an index, which must fit.
    fn of(index: usize) -> Self;
}

macro_rules! offset {
    ($($type:ty),*) => {$(
        impl Offset for $type {
            #[inline(always)]
            fn index(self) -> usize {
                self as usize
            }

            #[inline(always)]
            fn of(index: usize) -> Self {
                index as $type
            }
        }
    )*};
}

offset!(i64, u32);

/// Sparse rows with values of type `T`; `Csr<()>` holds lists of numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Csr<T, P = i64> {
    /// Row `i` has the entries `indptr[i]..indptr[i + 1]`.
    pub indptr: Vec<P>,
    /// Column of every entry.
    pub indices: Vec<u32>,
    /// Value of every entry.
    pub values: Vec<T>,
}

/// Borrowed sparse rows.
#[derive(Debug, Clone, Copy)]
pub struct CsrView<'a, T, P = i64> {
    /// Row `i` has the entries `indptr[i]..indptr[i + 1]`.
    pub indptr: &'a [P],
    /// Column of every entry.
    pub indices: &'a [u32],
    /// Value of every entry.
    pub values: &'a [T],
}

impl<T, P: Offset> Default for Csr<T, P> {
    fn default() -> Self {
        Csr { indptr: vec![P::of(0)], indices: vec![], values: vec![] }
    }
}

impl<T: Copy, P: Offset> Csr<T, P> {
    /// Rows of the given sizes, to be written: columns are 0 and values are the default.
    pub fn with_sizes(sizes: impl Iterator<Item = usize>) -> Self
    where
        T: Default,
    {
        let indptr: Vec<P> = row_pointer(sizes);
        let total = indptr.last().map_or(0, |end| end.index());
        Csr { indptr, indices: vec![0; total], values: vec![T::default(); total] }
    }

    /// Number of rows.
    #[allow(clippy::len_without_is_empty)]
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.indptr.len() - 1
    }

    /// Appends an entry to the row that [`Self::end_row`] ends.
    #[inline(always)]
    pub fn push(&mut self, column: u32, value: T) {
        self.indices.push(column);
        self.values.push(value);
    }

    /// Ends a row. The next entry belongs to the next row.
    #[inline(always)]
    pub fn end_row(&mut self) {
        self.indptr.push(P::of(self.indices.len()));
    }

    /// Forgets all rows, and keeps their memory for others.
    pub fn clear(&mut self) {
        self.indptr.truncate(1);
        self.indices.clear();
        self.values.clear();
    }

    /// The same rows, borrowed.
    #[inline(always)]
    pub fn view(&self) -> CsrView<'_, T, P> {
        CsrView { indptr: &self.indptr, indices: &self.indices, values: &self.values }
    }

    /// Columns and values of row `i`.
    #[inline(always)]
    pub fn row(&self, i: usize) -> (&[u32], &[T]) {
        let range = self.indptr[i].index()..self.indptr[i + 1].index();
        (&self.indices[range.clone()], &self.values[range])
    }

    /// Puts several blocks of rows below each other. A block's memory is freed as soon as it is copied.
    pub fn concatenated(blocks: Vec<Self>) -> Self
    where
        T: Default + Send + Sync,
    {
        let sizes = blocks.iter().flat_map(|block| block.indptr.windows(2));
        let mut whole = Csr::with_sizes(sizes.map(|ends| ends[1].index() - ends[0].index()));
        let sizes = || blocks.iter().map(|block| block.indices.len());
        let indices = pieces(&mut whole.indices, sizes());
        let values = pieces(&mut whole.values, sizes());
        blocks.into_par_iter().zip(indices).zip(values).for_each(|((block, indices), values)| {
            indices.copy_from_slice(&block.indices);
            values.copy_from_slice(&block.values);
        });
        whole
    }
}

/// Cuts a list into pieces of these sizes, to be written by one thread each.
pub(crate) fn pieces<T>(mut list: &mut [T], sizes: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    sizes.map_while(|size| list.split_off_mut(..size)).collect()
}

impl<P: Offset> Csr<(), P> {
    /// Collects (row, column) pairs in `n` rows, in the order of the pairs. `rows` are the rows of these pairs.
    pub fn grouped(
        n: usize,
        rows: impl Iterator<Item = u32>,
        pairs: impl Iterator<Item = (u32, u32)>,
    ) -> Self {
        let mut sizes = vec![0usize; n];
        rows.for_each(|row| sizes[row as usize] += 1);
        let mut lists: Self = Csr::with_sizes(sizes.into_iter());
        let mut next: Vec<usize> = lists.indptr.iter().map(|start| start.index()).collect();
        let indices = &mut lists.indices;
        pairs.for_each(|(row, column)| {
            let place = &mut next[row as usize];
            indices[*place] = column;
            *place += 1;
        });
        lists
    }

    /// The columns of row `i`.
    #[inline(always)]
    pub fn list(&self, i: usize) -> &[u32] {
        &self.indices[self.indptr[i].index()..self.indptr[i + 1].index()]
    }
}

impl<'a> CsrView<'a, f64> {
    /// Checks that the three lists describe a square matrix with finite entries. Cost: one pass.
    pub fn new(indptr: &'a [i64], indices: &'a [u32], values: &'a [f64]) -> Result<Self> {
        let matrix = CsrView { indptr, indices, values };
        if indptr.len() < 2 {
            return Err(Error::Empty { name: "matrix", rows: 0, columns: 0 });
        }
        check_rows(("indices", indices.len()), ("data", values.len()))?;
        check_indptr(indptr, indices.len())?;
        let n = matrix.len();
        let bad = (0..n).into_par_iter().find_map_first(|i| {
            matrix.row(i).find_map(|(j, value)| {
                if j >= n {
                    return Some(Error::NeighborOutOfRange { point: i, neighbor: j, n });
                }
                let finite = value.is_finite();
                (!finite).then_some(Error::NotFinite { name: "matrix", row: i, column: j, value })
            })
        });
        bad.map_or(Ok(matrix), Err)
    }

    /// Number of rows, at least 1.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        self.indptr.len() - 1
    }

    /// The columns and values of row `i`.
    #[inline(always)]
    pub fn row(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + 'a {
        let range = self.indptr[i] as usize..self.indptr[i + 1] as usize;
        self.indices[range.clone()].iter().map(|&j| j as usize).zip(self.values[range].iter().copied())
    }

    /// The largest sum of absolute values in a row. No eigenvalue of the matrix is larger.
    pub fn norm(&self) -> f64 {
        let sums = (0..self.len()).into_par_iter().map(|i| self.row(i).map(|(_, v)| v.abs()).sum());
        sums.reduce(|| 0.0, f64::max)
    }

    /// The product with a matrix of `width` columns, given and returned row after row.
    pub fn product(&self, x: &[f64], width: usize, monitor: &dyn Monitor) -> Result<Vec<f64>> {
        let mut out = vec![0.0; x.len()];
        out.par_chunks_mut(BLOCK_ROWS * width).enumerate().try_for_each(|(b, rows)| {
            monitor.check()?;
            for (o, sum) in rows.chunks_exact_mut(width).enumerate() {
                for (j, v) in self.row(b * BLOCK_ROWS + o) {
                    for (s, x) in sum.iter_mut().zip(&x[j * width..(j + 1) * width]) {
                        *s += v * x;
                    }
                }
            }
            Ok(())
        })?;
        Ok(out)
    }
}

/// The row pointer of rows with the given sizes.
pub fn row_pointer<P: Offset>(sizes: impl Iterator<Item = usize>) -> Vec<P> {
    let mut end = 0;
    let ends = sizes.map(|size| {
        end += size;
        P::of(end)
    });
    std::iter::once(P::of(0)).chain(ends).collect()
}

/// Checks that a row pointer starts at 0, never falls, and ends at the number `len` of entries.
pub fn check_indptr(indptr: &[i64], len: usize) -> Result<()> {
    let entries = indptr.len();
    let (position, reason) = if entries < 2 {
        (0, format!("it has {entries} entries, at least 2 are needed"))
    } else if indptr[0] != 0 {
        (0, format!("it starts at {}, not 0", indptr[0]))
    } else if let Some(i) = (1..entries).find(|&i| indptr[i] < indptr[i - 1]) {
        (i, format!("it falls from {} to {}", indptr[i - 1], indptr[i]))
    } else if indptr[entries - 1] != len as i64 {
        (entries - 1, format!("it ends at {}, but there are {len} indices", indptr[entries - 1]))
    } else {
        return Ok(());
    };
    Err(Error::BadIndptr { position, reason })
}
