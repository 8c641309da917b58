//! Eight vectors side by side, and the few products of them that subspace methods need.
//!
//! Sums run over stretches of fixed size, which are added in order.

use pulp::Arch;
use rayon::prelude::*;

use crate::linalg::symmetric_eigen;
use crate::spectral::factor::{Row, SIDES};

const ROWS: usize = 2048; // Rows that one thread handles at once.

/// Squared lengths with a smaller share of a block than this are rounding, once nothing else can be done.
const RANK: f64 = 1e-14;

/// Lengths of rotated columns with a smaller share of a block than this are rounding.
const ROUNDING: f64 = 1e-14;

/// Columns are orthonormal after one division where no squared share is smaller than this.
const EVEN: f64 = 1e-4;

const PASSES: usize = 4; // Maximum number of times that a block is rotated and divided.

/// Vectors side by side, row after row.
pub type Block = Vec<Row>;

/// A product of two blocks, or the weights of a combination: row after row.
pub type Square = [Row; SIDES];

/// The matrix of zeros.
pub const ZERO: Square = [[0.0; SIDES]; SIDES];

/// a' b.
pub fn gram(a: &[Row], b: &[Row]) -> Square {
    let parts: Vec<Square> = a
        .par_chunks(ROWS)
        .zip(b.par_chunks(ROWS))
        .map(|(a, b)| Arch::new().dispatch(|| gram_of_rows(a, b)))
        .collect();
    parts.iter().fold(ZERO, |mut sum, part| {
        add_square(&mut sum, part);
        sum
    })
}

#[inline(always)]
fn gram_of_rows(a: &[Row], b: &[Row]) -> Square {
    let mut sum = ZERO;
    for (a, b) in a.iter().zip(b) {
        for i in 0..SIDES {
            for j in 0..SIDES {
                sum[i][j] += a[i] * b[j];
            }
        }
    }
    sum
}

/// to += from.
pub fn add_square(to: &mut Square, from: &Square) {
    to.iter_mut().flatten().zip(from.iter().flatten()).for_each(|(t, f)| *t += f);
}

/// to += factor * block * by.
pub fn add_product(to: &mut [Row], factor: f64, block: &[Row], by: &Square) {
    to.par_chunks_mut(ROWS).zip(block.par_chunks(ROWS)).for_each(|(to, block)| {
        Arch::new().dispatch(|| add_rows(to, factor, block, by));
    });
}

#[inline(always)]
fn add_rows(to: &mut [Row], factor: f64, block: &[Row], by: &Square) {
    for (to, row) in to.iter_mut().zip(block) {
        for i in 0..SIDES {
            let share = factor * row[i];
            for j in 0..SIDES {
                to[j] += share * by[i][j];
            }
        }
    }
}

/// The combinations of all columns of `blocks` with the columns of `by`, which lie one after another, from `first` on.
pub fn combine(blocks: &[Block], by: &[f64], first: usize) -> Block {
    let rows = blocks.len() * SIDES;
    let mut sum = vec![[0.0; SIDES]; blocks.first().map_or(0, Vec::len)];
    for (b, block) in blocks.iter().enumerate() {
        let mut square = ZERO;
        for i in 0..SIDES {
            for j in 0..SIDES {
                square[i][j] = by.get((first + j) * rows + b * SIDES + i).copied().unwrap_or(0.0);
            }
        }
        add_product(&mut sum, 1.0, block, &square);
    }
    sum
}

/// Removes from `block` its part in the span of `basis`; returns the coordinates of that part.
pub fn project(block: &mut [Row], basis: &[Block]) -> Vec<Square> {
    basis
        .iter()
        .map(|known| {
            let share = gram(known, block);
            add_product(block, -1.0, known, &share);
            share
        })
        .collect()
}

/// Makes the columns orthonormal; dependent ones become zero. A Gram matrix is blind to directions below 1e-8 of the
/// others, so the block is rotated to its principal directions and measured again, until all are found.
pub fn orthonormalize(block: &mut Block) {
    for pass in 0..PASSES {
        let mut product = gram(block, block);
        let least = if pass == 0 { 0.0 } else { ROUNDING };
        let scale: Row = std::array::from_fn(|i| {
            let length = product[i][i].sqrt();
            if length > least { length.recip() } else { 0.0 }
        });
        let live = scale.iter().filter(|&&s| s > 0.0).count();
        for i in 0..SIDES {
            for j in 0..SIDES {
                product[i][j] *= scale[i] * scale[j];
            }
        }
        let mut vectors: Vec<f64> = product.iter().flatten().copied().collect();
        let mut values = [0.0; SIDES];
        symmetric_eigen(&mut vectors, SIDES, &mut values, &mut Vec::new());
        let last = pass + 1 == PASSES || values[..live].iter().all(|&v| v > EVEN);
        let mut turn = ZERO;
        for j in (0..live).filter(|&j| !last || values[j] > RANK) {
            let divisor = if last { values[j].sqrt() } else { 1.0 };
            for i in 0..SIDES {
                turn[i][j] = scale[i] * vectors[j * SIDES + i] / divisor;
            }
        }
        let mut result = vec![[0.0; SIDES]; block.len()];
        add_product(&mut result, 1.0, block, &turn);
        *block = result;
        if last {
            return;
        }
    }
}
