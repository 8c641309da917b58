//! Frames A_i = P_i O_i of narrow data. There a frame is read faster than the products P_i'P_j of all neighbors, so eq. 9
//! is taken at its word: tr(A_i'A_j), and O_i' P_i' times the sum of the A_j.

use std::sync::Arc;

use rayon::prelude::*;

use super::{ALIGNED, Connection, STAGE};
use crate::charts::Atlas;
use crate::error::Result;
use crate::linalg::{norm, singular_values};
use crate::monitor::{Monitor, Silent};
use crate::parallel::{fill_rows, map_blocks};

/// Data of up to this many times as many columns as the embedding are narrow, in up to `MOST_COMPONENTS` dimensions.
const NARROW: usize = 4;
const MOST_COMPONENTS: usize = 3;
/// Columns that narrow data have at most.
pub(in crate::embed) const MOST_COLUMNS: usize = NARROW * MOST_COMPONENTS;
const MOST: usize = MOST_COLUMNS * MOST_COMPONENTS; // Entries of a frame.

/// P_i of every point, column after column.
#[derive(Debug, Clone)]
pub(in crate::embed) struct Bases {
    q: usize,
    d: usize,
    flat: Arc<Vec<f64>>,
}

impl Bases {
    /// Those of an atlas, if it has bases and its data are narrow.
    pub fn of(atlas: &Atlas) -> Option<Self> {
        let (q, d) = (atlas.source().dim(), atlas.n_components());
        let flat = atlas.bases().filter(|_| d <= MOST_COMPONENTS && q <= NARROW * d)?;
        Some(Bases { q, d, flat: Arc::clone(flat) })
    }

    /// Entries of a frame.
    pub fn size(&self) -> usize {
        self.q * self.d
    }

    #[inline(always)]
    fn of_point(&self, i: usize) -> &[f64] {
        &self.flat[i * self.size()..][..self.size()]
    }

    /// Writes P_i'P_j, column after column.
    #[inline(always)]
    pub fn product(&self, i: usize, j: usize, out: &mut [f64]) {
        let (own, theirs) = (self.of_point(i), self.of_point(j));
        match (self.q, self.d) {
            (3, 2) => multiply(own, theirs, 3, 2, out),
            (q, d) => multiply(own, theirs, q, d, out),
        }
    }

    /// A_i for every point, column after column.
    pub fn frames(&self, rotations: &[f64], monitor: &dyn Monitor) -> Result<Vec<f64>> {
        let mut frames = vec![0.0; self.flat.len()];
        fill_rows(&mut frames, self.size(), STAGE, &Silent(monitor), <()>::default, |(), i, frame| {
            self.turn(i, &rotations[i * self.d * self.d..], frame);
        })?;
        Ok(frames)
    }

    /// Writes A_i = P_i O_i.
    #[inline(always)]
    pub fn turn(&self, i: usize, rotation: &[f64], frame: &mut [f64]) {
        let (q, d, own) = (self.q, self.d, self.of_point(i));
        for (frame, turn) in frame.chunks_exact_mut(q).zip(rotation.chunks_exact(d)) {
            for (row, out) in frame.iter_mut().enumerate() {
                *out = turn.iter().enumerate().map(|(a, turn)| own[a * q + row] * turn).sum();
            }
        }
    }

    /// Writes P_i' times the sum over the terms of eq. 9 at i of A_j to `out`.
    #[inline(always)]
    pub fn pull(&self, connection: &Connection, i: usize, frames: &[f64], out: &mut [f64]) {
        match (self.q, self.d) {
            (3, 2) => self.pull_sized(connection, i, frames, 3, 2, out),
            (q, d) => self.pull_sized(connection, i, frames, q, d, out),
        }
    }

    #[inline(always)]
    fn pull_sized(
        &self,
        connection: &Connection,
        i: usize,
        frames: &[f64],
        q: usize,
        d: usize,
        out: &mut [f64],
    ) {
        let sum = &mut [0.0; MOST][..q * d];
        for edge in connection.edges(i) {
            let frame = &frames[connection.end(edge) * q * d..][..q * d];
            let count = f64::from(connection.counts[edge]);
            (0..q * d).for_each(|k| sum[k] += count * frame[k]);
        }
        multiply(&self.of_point(i)[..q * d], sum, q, d, out);
    }

    /// The sum of all tr(A_i'A_j), and, if `wanted`, the edges whose frames are not aligned, each once.
    pub fn agreement(
        &self,
        connection: &Connection,
        frames: &[f64],
        wanted: bool,
        monitor: &dyn Monitor,
    ) -> Result<(f64, Vec<(u32, u32)>)> {
        let blocks = map_blocks(connection.graph().len(), STAGE, &Silent(monitor), |block| {
            let (mut sum, mut open) = (0.0, Vec::new());
            for i in block {
                match (self.q, self.d) {
                    (3, 2) => self.agreement_at(connection, i, frames, 3, 2, wanted, &mut sum, &mut open),
                    (q, d) => self.agreement_at(connection, i, frames, q, d, wanted, &mut sum, &mut open),
                }
            }
            (sum, open)
        })?;
        let sum = blocks.iter().map(|(sum, _)| sum).sum();
        Ok((sum, blocks.into_par_iter().flat_map_iter(|(_, open)| open).collect()))
    }

    #[allow(clippy::too_many_arguments)] // the sizes are known when this is compiled
    #[inline(always)]
    fn agreement_at(
        &self,
        connection: &Connection,
        i: usize,
        frames: &[f64],
        q: usize,
        d: usize,
        wanted: bool,
        sum: &mut f64,
        open: &mut Vec<(u32, u32)>,
    ) {
        let own = &frames[i * q * d..][..q * d];
        for edge in connection.edges(i) {
            let j = connection.end(edge);
            let agreement = plain_dot(own, &frames[j * q * d..][..q * d]);
            *sum += f64::from(connection.counts[edge]) * agreement;
            // No rotation agrees better than with the trace d: most edges need no singular values.
            let doubtful = wanted && j > i && agreement < ALIGNED * d as f64;
            if doubtful && agreement < ALIGNED * self.best_agreement(i, j) {
                open.push((i as u32, j as u32));
            }
        }
    }

    /// The sum of the singular values of P_i'P_j.
    fn best_agreement(&self, i: usize, j: usize) -> f64 {
        let product = &mut [0.0; MOST_COMPONENTS * MOST_COMPONENTS][..self.d * self.d];
        self.product(i, j, product);
        if let [a, c, b, e] = *product {
            return f64::max(norm(a + e, c - b), norm(a - e, b + c));
        }
        let values = &mut [0.0; MOST_COMPONENTS][..self.d];
        singular_values(product, self.d, self.d, values);
        values.iter().sum()
    }
}

/// out = A'B for A and B of `q` rows and `d` columns.
#[inline(always)]
fn multiply(a: &[f64], b: &[f64], q: usize, d: usize, out: &mut [f64]) {
    for (out, b) in out.chunks_exact_mut(d).zip(b.chunks_exact(q)) {
        out.iter_mut().zip(a.chunks_exact(q)).for_each(|(out, a)| *out = plain_dot(a, b));
    }
}

/// The sum of products, in order.
#[inline(always)]
fn plain_dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |sum, (x, y)| sum + x * y)
}
