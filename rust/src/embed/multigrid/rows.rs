//! A sparse matrix in blocks of rows, each made by one thread.

use rayon::prelude::*;

use super::{BLOCK, FEW};
use crate::csr::Csr;
use crate::error::Result;
use crate::monitor::Monitor;

/// A sparse matrix, in blocks of rows that were made by one thread each.
#[derive(Debug, Default)]
pub struct Rows {
    pub blocks: Vec<Block>,
}

pub type Block = Csr<f32, u32>;

impl Rows {
    /// `f(state, i, block)` appends row `i`; `state` serves several blocks, and `f` leaves it as it was.
    pub fn build<S>(
        n: usize,
        monitor: &dyn Monitor,
        state: impl Fn() -> S + Sync,
        f: impl Fn(&mut S, usize, &mut Block) + Sync,
    ) -> Result<Self> {
        let block = |(block, state): &mut (Block, S), c: usize| {
            monitor.check()?;
            block.clear();
            for i in c * BLOCK..((c + 1) * BLOCK).min(n) {
                f(state, i, block);
                block.end_row();
            }
            Ok(block.clone()) // which takes no more memory than it needs
        };
        let blocks = (0..n.div_ceil(BLOCK)).into_par_iter();
        let blocks: Result<Vec<Block>> = blocks.map_init(|| (Block::default(), state()), block).collect();
        Ok(Rows { blocks: blocks? })
    }

    #[inline(always)]
    pub fn row(&self, i: usize) -> (&[u32], &[f32]) {
        self.blocks[i / BLOCK].row(i % BLOCK)
    }

    #[inline(always)]
    pub fn entries(&self, i: usize) -> impl Iterator<Item = (usize, f32)> {
        let (columns, values) = self.row(i);
        columns.iter().zip(values).map(|(&j, &w)| (j as usize, w))
    }

    /// The transpose, with `n` rows; entries of rows are in rising order.
    pub fn transposed(&self, n: usize) -> Self {
        let mut sizes = vec![0u32; n];
        let all = self.blocks.iter().flat_map(|block| &block.indices);
        all.for_each(|&column| sizes[column as usize] += 1);
        let mut blocks: Vec<Block> = sizes
            .chunks(BLOCK)
            .map(|sizes| Block::with_sizes(sizes.iter().map(|&size| size as usize)))
            .collect();
        // Each thread reads all entries and writes those of its own rows.
        let own = blocks.len().div_ceil(rayon::current_num_threads()).max(1);
        blocks.par_chunks_mut(own).enumerate().for_each(|(part, blocks)| {
            let start = part * own * BLOCK;
            let mut next: Vec<u32> =
                blocks.iter().flat_map(|block| &block.indptr[..block.len()]).copied().collect();
            let rows = self.blocks.iter().flat_map(|block| (0..block.len()).map(|o| block.row(o)));
            for (i, (columns, values)) in rows.enumerate() {
                for (&column, &value) in columns.iter().zip(values) {
                    let row = (column as usize).wrapping_sub(start);
                    if let Some(next) = next.get_mut(row) {
                        let (block, at) = (&mut blocks[row / BLOCK], *next as usize);
                        (block.indices[at], block.values[at]) = (i as u32, value);
                        *next += 1;
                    }
                }
            }
        });
        Rows { blocks }
    }

    /// `f(i, columns, values, row)` for each row, with `row` in `out`.
    #[inline(always)]
    pub fn fill<T: Send>(&self, out: &mut [T], f: impl Fn(usize, &[u32], &[f32], &mut T) + Sync) {
        let one = |(c, (block, chunk)): (usize, (&Block, &mut [T]))| {
            for (o, value) in chunk.iter_mut().enumerate() {
                let (columns, values) = block.row(o);
                f(c * BLOCK + o, columns, values, value);
            }
        };
        match out.len() < FEW {
            true => self.blocks.iter().zip(out.chunks_mut(BLOCK)).enumerate().for_each(one),
            false => self.blocks.par_iter().zip(out.par_chunks_mut(BLOCK)).enumerate().for_each(one),
        }
    }
}
