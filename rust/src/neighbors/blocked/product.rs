//! Products of all points of two blocks, in single precision.
//!
//! Points lie sixteen side by side, dimension after dimension. A few points of one block, each in all lanes of a
//! vector, are multiplied by two vectors of the other. Dimensions are taken in parts that fit the second-level cache.
//!
//! Cost: m n q multiplications for blocks of m and n points.

use pulp::{Arch, Simd, WithSimd};

use super::Frame;
use crate::parallel::vectorized;
use crate::points::Points;

/// Points side by side.
const LANES: usize = 16;

/// Vectors of the right block at once.
const PAIR: usize = 2;

/// Dimensions in one part.
const DEPTH: usize = 256;

/// Some points, ready to be multiplied.
#[derive(Default)]
pub struct Packed {
    pub ids: Vec<u32>,
    pub norms: Vec<f32>,
    dim: usize,
    /// Padded by old values, because the products of the padding are not read.
    values: Vec<f32>,
}

impl Packed {
    /// Takes the points `ids` of `points` in the coordinates of the frame.
    pub fn load(&mut self, frame: &Frame, points: &Points, ids: &[u32]) {
        let q = points.dim();
        self.dim = q;
        self.ids.clear();
        self.ids.extend_from_slice(ids);
        self.norms.clear();
        self.values.resize(ids.len().next_multiple_of(PAIR * LANES) * q, 0.0);
        let (mut row, mut side) = (vec![0.0; q], vec![0.0f32; LANES * q]);
        for (ids, group) in ids.chunks(LANES).zip(self.values.chunks_exact_mut(LANES * q)) {
            for (&id, out) in ids.iter().zip(side.chunks_exact_mut(q)) {
                points.copy_row(id as usize, &mut row);
                let norm = vectorized(
                    #[inline(always)]
                    || convert(frame, &row, out),
                );
                self.norms.push(norm);
            }
            vectorized(
                #[inline(always)]
                || transpose(&side, group, q),
            );
        }
    }

    /// Number of points with padding.
    fn room(&self) -> usize {
        self.ids.len().next_multiple_of(PAIR * LANES)
    }
}

/// A point in the coordinates of the frame; returns the square of its length.
#[inline(always)]
fn convert(frame: &Frame, row: &[f64], out: &mut [f32]) -> f32 {
    const SUMS: usize = 8;
    let mut sums = [0.0f64; SUMS];
    let values = row.chunks(SUMS).zip(frame.mean.chunks(SUMS)).zip(out.chunks_mut(SUMS));
    for ((row, mean), out) in values {
        for (s, ((v, m), o)) in row.iter().zip(mean).zip(out).enumerate() {
            *o = ((v - m) * frame.scale) as f32;
            sums[s] += f64::from(*o) * f64::from(*o);
        }
    }
    sums.iter().sum::<f64>() as f32
}

#[inline(always)]
fn transpose(side: &[f32], group: &mut [f32], q: usize) {
    for (axis, lanes) in group.chunks_exact_mut(LANES).enumerate() {
        for (lane, out) in lanes.iter_mut().enumerate() {
            *out = side[lane * q + axis];
        }
    }
}

/// Products, row after row of the left block.
#[derive(Default)]
pub struct Products {
    values: Vec<f32>,
    stride: usize,
    len: usize,
}

impl Products {
    pub fn multiply(&mut self, left: &Packed, right: &Packed) {
        (self.stride, self.len) = (right.room(), right.ids.len());
        self.values.resize(left.room() * self.stride, 0.0);
        Arch::new().dispatch(Multiply { left, right, products: self });
    }

    /// Products of one point of the left block with all of the right one.
    pub fn row(&self, i: usize) -> &[f32] {
        &self.values[i * self.stride..][..self.len]
    }
}

struct Multiply<'a> {
    left: &'a Packed,
    right: &'a Packed,
    products: &'a mut Products,
}

impl WithSimd for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // with sixteen lanes there are twice as many registers
        match S::F32_LANES {
            LANES => self.with_rows::<S, 8>(simd),
            _ => self.with_rows::<S, 4>(simd),
        }
    }
}

impl Multiply<'_> {
    #[inline(always)]
    fn with_rows<S: Simd, const R: usize>(self, simd: S) {
        let Multiply { left, right, products: Products { values, stride, .. } } = self;
        let q = left.dim;
        for from in (0..q.max(1)).step_by(DEPTH) {
            let part = from * LANES..(from + DEPTH).min(q) * LANES;
            for start in (0..left.ids.len()).step_by(R) {
                let rows = &left.values[start / LANES * LANES * q..][..LANES * q][part.clone()];
                for (pair, out) in (0..*stride).step_by(PAIR * S::F32_LANES).enumerate() {
                    let columns = columns::<S>(right, pair, part.clone());
                    let sums = sums::<S, R>(simd, rows, start % LANES, columns);
                    for (s, sums) in sums.iter().enumerate() {
                        let to = &mut values[(start + s) * *stride + out..][..PAIR * S::F32_LANES];
                        let to = S::as_mut_simd_f32s(to).0;
                        for (to, &sum) in to.iter_mut().zip(sums) {
                            *to = if from == 0 { sum } else { simd.add_f32s(*to, sum) };
                        }
                    }
                }
            }
        }
    }
}

/// A part of two vectors of points that follow each other, and how many vectors a dimension takes in them.
type Columns<'a, S> = ([&'a [<S as Simd>::f32s]; PAIR], usize);

#[inline(always)]
fn columns<S: Simd>(right: &Packed, pair: usize, part: std::ops::Range<usize>) -> Columns<'_, S> {
    let step = LANES / S::F32_LANES;
    let of = |vector: usize| {
        let group = &right.values[vector / step * LANES * right.dim..][..LANES * right.dim];
        &S::as_simd_f32s(&group[part.clone()]).0[(vector % step).min(part.len())..]
    };
    ([of(PAIR * pair), of(PAIR * pair + 1)], step)
}

/// Products of `R` points from `first` on with those in the columns.
#[inline(always)]
fn sums<S: Simd, const R: usize>(
    simd: S,
    rows: &[f32],
    first: usize,
    ([left, right], step): Columns<'_, S>,
) -> [[S::f32s; PAIR]; R] {
    let mut sums = [[simd.splat_f32s(0.0); PAIR]; R];
    for ((row, left), right) in rows.chunks_exact(LANES).zip(left.chunks(step)).zip(right.chunks(step)) {
        let Some(row) = row[first..].first_chunk::<R>() else { continue };
        for s in 0..R {
            let value = simd.splat_f32s(row[s]);
            sums[s][0] = simd.mul_add_e_f32s(value, left[0], sums[s][0]);
            sums[s][1] = simd.mul_add_e_f32s(value, right[0], sums[s][1]);
        }
    }
    sums
}
