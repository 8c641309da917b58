//! The alignment matrix: sum of S_i'W_i'W_i S_i over all neighborhoods, S_i choosing the points of the i-th.
//!
//! One thread sums each row, from the neighborhoods that hold its point in rising order: bit-for-bit reproducible, and
//! exactly symmetric. Cost: O(n k^2 r) for r vectors per neighborhood; a row has about 4 k to 6 k entries.

use rayon::prelude::*;

use super::weights::{Block, CHUNK, LocalWeights};
use crate::charts::members;
use crate::csr::Csr;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;

const STAGE: &str = "matrix";

/// One row while it is summed: the place of each column, and the columns that have one.
struct Row {
    /// For every column its place in `sums`; true only where `columns` says so, too.
    places: Vec<u32>,
    columns: Vec<u32>,
    sums: Vec<f64>,
    /// One row of one W_i'W_i.
    share: Vec<f64>,
}

impl Row {
    fn new(n: usize) -> Self {
        Row { places: vec![0; n], columns: vec![], sums: vec![], share: vec![] }
    }

    #[inline]
    fn add(&mut self, column: usize, value: f64) {
        let place = self.places[column] as usize;
        if self.columns.get(place) == Some(&(column as u32)) {
            self.sums[place] += value;
        } else {
            self.places[column] = self.columns.len() as u32;
            self.columns.push(column as u32);
            self.sums.push(value);
        }
    }

    /// Row `p` of W_i'W_i among its members.
    #[inline]
    fn add_members(&mut self, block: &Block, p: usize, members: impl Iterator<Item = usize>) {
        let mut share = std::mem::take(&mut self.share);
        share.resize(block.size, 0.0);
        block.row_of_product(p, &mut share);
        members.zip(&share).for_each(|(j, &v)| self.add(j, v));
        self.share = share;
    }

    /// Moves the sums to `rows`, in order of columns.
    fn finish(&mut self, rows: &mut Csr<f64>) {
        let start = rows.indices.len();
        rows.indices.extend_from_slice(&self.columns);
        rows.indices[start..].sort_unstable();
        rows.values
            .extend(rows.indices[start..].iter().map(|&j| self.sums[self.places[j as usize] as usize]));
        rows.end_row();
        self.columns.clear();
        self.sums.clear();
    }
}

impl LocalWeights {
    /// The alignment matrix M: y'M y is the sum of phi. Exactly symmetric, with rising columns. Fails if `graph` does
    /// not fit.
    pub fn matrix(&self, graph: &Neighborhoods, monitor: &dyn Monitor) -> Result<Csr<f64>> {
        self.check_graph(graph)?;
        let n = self.len();
        if n > i32::MAX as usize {
            return Err(Error::TooManyPoints { n, limit: i32::MAX as usize });
        }
        let reversed = graph.reversed();
        let done = std::sync::atomic::AtomicUsize::new(0);
        let chunks: Vec<Csr<f64>> = (0..n.div_ceil(CHUNK))
            .into_par_iter()
            .map_init(
                || Row::new(n),
                |row, c| {
                    monitor.check()?;
                    let (mut rows, end) = (Csr::default(), ((c + 1) * CHUNK).min(n));
                    for a in c * CHUNK..end {
                        for &i in reversed.of((a + 1).min(n - 1)) {
                            graph.soon(i as usize);
                            self.soon(graph, i as usize);
                        }
                        self.sum_row(graph, &reversed, a, row);
                        row.finish(&mut rows);
                    }
                    let count = end - c * CHUNK;
                    let before = done.fetch_add(count, std::sync::atomic::Ordering::Relaxed);
                    monitor.progress(STAGE, before + count, n);
                    Ok(rows)
                },
            )
            .collect::<Result<_>>()?;
        monitor.check()?;
        Ok(Csr::concatenated(chunks))
    }

    /// A + A' for LEM and DFM: minus the off-diagonal entries of the matrix. Fails for other weights.
    pub fn affinity(&self, graph: &Neighborhoods, monitor: &dyn Monitor) -> Result<Csr<f64>> {
        self.degrees(graph, false)?;
        let matrix = self.matrix(graph, monitor)?;
        let mut affinity = Csr::default();
        for i in 0..self.len() {
            let (columns, values) = matrix.row(i);
            let others = columns.iter().zip(values).filter(|(j, _)| **j as usize != i);
            others.for_each(|(&j, &value)| affinity.push(j, -value));
            affinity.end_row();
        }
        Ok(affinity)
    }

    /// Row `a` from the neighborhoods that hold point `a`, in order, so that entries (a, b) and (b, a) are equal.
    fn sum_row(&self, graph: &Neighborhoods, reversed: &Neighborhoods, a: usize, row: &mut Row) {
        let holders = reversed.of(a);
        let before = holders.partition_point(|&i| (i as usize) < a);
        holders[..before].iter().for_each(|&i| self.add_other(graph, i as usize, a, row));
        self.add_own(graph, a, row);
        holders[before..].iter().for_each(|&i| self.add_other(graph, i as usize, a, row));
    }

    fn add_own(&self, graph: &Neighborhoods, a: usize, row: &mut Row) {
        let block = self.block(graph, a);
        if !block.about_mean() {
            row.add(a, block.corner());
            graph.of(a).iter().enumerate().for_each(|(p, &j)| row.add(j as usize, block.border(p)));
        } else if self.include_self {
            row.add_members(&block, 0, members(graph, a, true));
        }
    }

    fn add_other(&self, graph: &Neighborhoods, i: usize, a: usize, row: &mut Row) {
        let block = self.block(graph, i);
        let Some(p) = graph.of(i).iter().position(|&j| j as usize == a) else { return };
        if self.form == super::weights::Form::Star {
            row.add(a, -block.border(p));
        } else {
            let own = usize::from(self.include_self);
            row.add_members(&block, p + own, members(graph, i, self.include_self));
        }
        if !block.about_mean() {
            row.add(i, block.border(p));
        }
    }
}
