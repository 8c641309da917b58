//! The alignment matrix: sum of S_i'W_i'W_i S_i over all neighbourhoods, S_i choosing the points of the i-th.
//!
//! Rows are found in parallel, each by one thread from the neighbourhoods that hold its point, in rising order: the same
//! bits on any number of threads, and exactly symmetric. Cost: O(n k^2 r) for r vectors a neighbourhood; a row
//! has some 4 k to 6 k entries.

use rayon::prelude::*;

use super::weights::{Block, CHUNK, LocalWeights};
use crate::charts::members;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;

const STAGE: &str = "matrix";

/// A sparse matrix, compressed row after row, the indices of each row rising.
#[derive(Debug, Clone, PartialEq)]
pub struct Csr {
    /// Row `i` is `indptr[i]..indptr[i + 1]`.
    pub indptr: Vec<i64>,
    /// Columns; as sparse libraries number them.
    pub indices: Vec<i32>,
    /// Entries.
    pub data: Vec<f64>,
}

/// Some rows.
#[derive(Default)]
struct Rows {
    sizes: Vec<usize>,
    indices: Vec<i32>,
    data: Vec<f64>,
}

/// One row while it is summed: where each column has its place, and which columns have one.
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

    /// Moves what was summed to `rows`, in order of columns.
    fn finish(&mut self, rows: &mut Rows) {
        rows.sizes.push(self.columns.len());
        let start = rows.indices.len();
        rows.indices.extend(self.columns.iter().map(|&j| j as i32));
        rows.indices[start..].sort_unstable();
        rows.data.extend(rows.indices[start..].iter().map(|&j| self.sums[self.places[j as usize] as usize]));
        self.columns.clear();
        self.sums.clear();
    }
}

impl LocalWeights {
    /// The alignment matrix M: y'M y is the sum of phi.
    pub fn matrix(&self, graph: &Neighborhoods, monitor: &dyn Monitor) -> Result<Csr> {
        self.check_graph(graph)?;
        let n = self.len();
        if n > i32::MAX as usize {
            return Err(Error::TooManyPoints { n, limit: i32::MAX as usize });
        }
        let reversed = graph.reversed();
        let done = std::sync::atomic::AtomicUsize::new(0);
        let chunks: Vec<Rows> = (0..n.div_ceil(CHUNK))
            .into_par_iter()
            .map_init(
                || Row::new(n),
                |row, c| {
                    monitor.check()?;
                    let (mut rows, end) = (Rows::default(), ((c + 1) * CHUNK).min(n));
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
        Ok(concatenate(n, chunks))
    }

    /// A + A' for LEM and DFM, the weights of the undirected graph: minus the entries of the matrix off its diagonal.
    pub fn affinity(&self, graph: &Neighborhoods, monitor: &dyn Monitor) -> Result<Csr> {
        self.degrees(graph, false)?;
        let matrix = self.matrix(graph, monitor)?;
        let mut affinity = Csr { indptr: vec![0], indices: vec![], data: vec![] };
        for i in 0..self.len() {
            for at in matrix.indptr[i] as usize..matrix.indptr[i + 1] as usize {
                if matrix.indices[at] != i as i32 {
                    affinity.indices.push(matrix.indices[at]);
                    affinity.data.push(-matrix.data[at]);
                }
            }
            affinity.indptr.push(affinity.indices.len() as i64);
        }
        Ok(affinity)
    }

    /// Row `a` from the neighbourhoods that hold point `a`, its own in its turn: entries (a, b) and (b, a) are sums of
    /// the same numbers in the same order.
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

/// The rows of all chunks, end to end; each chunk is given back as soon as it is copied.
fn concatenate(n: usize, chunks: Vec<Rows>) -> Csr {
    let total = chunks.iter().map(|rows| rows.indices.len()).sum();
    let mut indptr = Vec::with_capacity(n + 1);
    indptr.push(0);
    let mut end = 0;
    for size in chunks.iter().flat_map(|rows| &rows.sizes) {
        end += *size as i64;
        indptr.push(end);
    }
    let (mut indices, mut data) = (vec![0; total], vec![0.0; total]);
    let (mut rest, mut rest_data) = (indices.as_mut_slice(), data.as_mut_slice());
    let mut pieces = Vec::with_capacity(chunks.len());
    for rows in chunks {
        let (own, own_data);
        (own, rest) = rest.split_at_mut(rows.indices.len());
        (own_data, rest_data) = rest_data.split_at_mut(rows.data.len());
        pieces.push((own, own_data, rows));
    }
    pieces.into_par_iter().for_each(|(indices, data, rows)| {
        indices.copy_from_slice(&rows.indices);
        data.copy_from_slice(&rows.data);
    });
    Csr { indptr, indices, data }
}
