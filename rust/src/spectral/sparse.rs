//! A symmetric sparse matrix in the caller's memory.

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::monitor::Monitor;

/// Rows that one thread handles between two looks at the monitor.
const BLOCK: usize = 1024;

/// A symmetric matrix by its rows, both triangles stored.
#[derive(Debug, Clone, Copy)]
pub struct Sparse<'a> {
    /// Where rows begin and end in `indices` and `values`, n + 1 numbers.
    pub indptr: &'a [usize],
    /// The columns of entries.
    pub indices: &'a [u32],
    /// The entries.
    pub values: &'a [f64],
}

impl<'a> Sparse<'a> {
    /// Checks that the three lists describe a square matrix with finite entries. Cost: one pass.
    pub fn new(indptr: &'a [usize], indices: &'a [u32], values: &'a [f64]) -> Result<Self> {
        let matrix = Sparse { indptr, indices, values };
        let n = indptr.len().saturating_sub(1);
        if n == 0 {
            return Err(Error::Empty { name: "matrix", rows: 0, columns: 0 });
        }
        if indices.len() != values.len() {
            let (left_len, right_len) = (indices.len(), values.len());
            return Err(Error::LengthMismatch { left: "indices", left_len, right: "data", right_len });
        }
        let broken = indptr.windows(2).position(|pair| pair[0] > pair[1]);
        if let Some(position) = broken {
            return Err(Error::BadIndptr { position: position + 1, reason: "it decreases".into() });
        }
        if indptr[0] != 0 || indptr[n] != indices.len() {
            let reason =
                format!("it runs from {} to {}, not from 0 to {}", indptr[0], indptr[n], indices.len());
            return Err(Error::BadIndptr { position: n, reason });
        }
        matrix.check_entries(n)?;
        Ok(matrix)
    }

    fn check_entries(&self, n: usize) -> Result<()> {
        let bad = (0..n).into_par_iter().find_first(|&i| {
            let mut row = self.row(i);
            row.any(|(j, v)| j >= n || !v.is_finite())
        });
        let Some(i) = bad else { return Ok(()) };
        for (j, value) in self.row(i) {
            if j >= n {
                return Err(Error::NeighborOutOfRange { point: i, neighbor: j, n });
            }
            if !value.is_finite() {
                return Err(Error::NotFinite { name: "matrix", row: i, column: j, value });
            }
        }
        Ok(())
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.indptr.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The columns and entries of row `i`.
    pub fn row(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.indptr[i]..self.indptr[i + 1];
        self.indices[range.clone()].iter().map(|&j| j as usize).zip(self.values[range].iter().copied())
    }

    /// The largest sum of absolute entries in a row: no eigenvalue exceeds it.
    pub fn norm(&self) -> f64 {
        let sums = (0..self.len()).into_par_iter().map(|i| self.row(i).map(|(_, v)| v.abs()).sum());
        sums.reduce(|| 0.0, f64::max)
    }

    /// The product with `width` columns, whose rows lie end to end.
    pub fn product(&self, x: &[f64], width: usize, monitor: &dyn Monitor) -> Result<Vec<f64>> {
        let mut out = vec![0.0; x.len()];
        out.par_chunks_mut(BLOCK * width).enumerate().try_for_each(|(b, rows)| {
            monitor.check()?;
            for (o, sum) in rows.chunks_exact_mut(width).enumerate() {
                for (j, v) in self.row(b * BLOCK + o) {
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
