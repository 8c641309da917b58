//! The directions along which points lie most apart, and the points along them: subspace iteration on a sample
//! (Halko, Martinsson & Tropp 2011, algorithm 4.4).
//!
//! Cost: O(s q p) for each of a few steps with s points sampled and p directions, O(n q p) to project.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;

use super::rows::Rows;
use crate::error::Result;
use crate::linalg::{dot, symmetric_eigen};
use crate::monitor::Monitor;
use crate::parallel::vectorized;
use crate::rng::{normal, stream};

/// Points sampled.
const SAMPLE: usize = 4096;

/// Directions iterated beyond those wanted.
const SPARE: usize = 8;

const STEPS: usize = 2;

/// Points multiplied at once.
const BLOCK: usize = 256;

/// All points along their `p` principal directions, which are orthonormal: no two are farther apart than they were.
pub fn projected(rows: &Rows, p: usize, seed: u64, monitor: &dyn Monitor) -> Result<Array2<f32>> {
    let directions = directions(rows, p, seed, monitor)?;
    let mut projected = Array2::zeros((rows.len, p));
    let blocks: Vec<_> = projected.axis_chunks_iter_mut(Axis(0), BLOCK).enumerate().collect();
    blocks.into_par_iter().try_for_each(|(b, mut to)| {
        monitor.check()?;
        let block = gathered(rows, (0..to.nrows()).map(|o| b * BLOCK + o));
        general_mat_mul(1.0, &block, &directions, 0.0, &mut to);
        Ok(())
    })?;
    Ok(projected)
}

fn gathered(rows: &Rows, points: impl ExactSizeIterator<Item = usize>) -> Array2<f32> {
    let mut block = Array2::zeros((points.len(), rows.dim));
    for (mut row, point) in block.rows_mut().into_iter().zip(points) {
        if let Some(row) = row.as_slice_mut() {
            rows.read(point, row);
        }
    }
    block
}

/// Orthonormal columns, the foremost first.
fn directions(rows: &Rows, p: usize, seed: u64, monitor: &dyn Monitor) -> Result<Array2<f32>> {
    let (n, q) = (rows.len, rows.dim);
    let taken = n.min(SAMPLE);
    let mut sample = gathered(rows, (0..taken).map(|t| t * n / taken));
    let mean = sample.sum_axis(Axis(0)) / taken as f32;
    sample -= &mean;
    let width = (p + SPARE).min(q);
    let mut rng = stream(seed, "directions", 0);
    let mut basis = Array2::from_shape_simple_fn((q, width), || normal(&mut rng) as f32);
    for _ in 0..STEPS {
        monitor.check()?;
        basis = orthonormal(&product(sample.t(), product(sample.view(), basis.view()).view()), monitor)?;
    }
    let along = product(sample.view(), basis.view());
    let turn = foremost(&product(along.t(), along.view()), p);
    Ok(product(basis.view(), turn.view()))
}

/// The first `p` eigenvectors, as columns.
fn foremost(matrix: &Array2<f32>, p: usize) -> Array2<f32> {
    let m = matrix.nrows();
    let mut vectors: Vec<f64> = matrix.iter().map(|&v| f64::from(v)).collect();
    let mut values = vec![0.0; m];
    symmetric_eigen(&mut vectors, m, &mut values, &mut Vec::new());
    Array2::from_shape_fn((m, p), |(i, j)| vectors[j * m + i] as f32)
}

fn product(a: ArrayView2<f32>, b: ArrayView2<f32>) -> Array2<f32> {
    let mut c = Array2::zeros((a.nrows(), b.ncols()));
    let blocks: Vec<_> =
        c.axis_chunks_iter_mut(Axis(0), BLOCK).zip(a.axis_chunks_iter(Axis(0), BLOCK)).collect();
    blocks.into_par_iter().for_each(|(mut c, a)| general_mat_mul(1.0, &a, &b, 0.0, &mut c));
    c
}

/// An orthonormal basis of the columns, by Gram-Schmidt, twice; a column that depends on those before becomes 0.
fn orthonormal(columns: &Array2<f32>, monitor: &dyn Monitor) -> Result<Array2<f32>> {
    let mut done: Vec<Vec<f64>> = Vec::with_capacity(columns.ncols());
    for column in columns.columns() {
        monitor.check()?;
        let mut own: Vec<f64> = column.iter().map(|&v| f64::from(v)).collect();
        let before = dot(&own, &own).sqrt();
        vectorized(
            #[inline(always)]
            || {
                for other in done.iter().chain(&done) {
                    let along = dot(&own, other);
                    own.iter_mut().zip(other).for_each(|(a, b)| *a -= along * b);
                }
            },
        );
        let left = dot(&own, &own).sqrt();
        let unit = if left > 1e-6 * before { 1.0 / left } else { 0.0 };
        own.iter_mut().for_each(|v| *v *= unit);
        done.push(own);
    }
    Ok(Array2::from_shape_fn(columns.dim(), |(i, j)| done[j][i] as f32))
}
