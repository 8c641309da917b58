//! The Procrustes statistic of two sets of points (Goldberg & Ritov, eq. 1 and before eq. 7).

use crate::linalg::{column, distance2_to_combination, dot, first, polar};

/// The best rotation of Y onto X. Its memory is reused.
///
/// Points are stored as in [`super::Local`]: centered, coordinate after coordinate, padded with zeros.
#[derive(Debug, Default, Clone)]
pub struct Alignment {
    /// A: q x d with orthonormal columns, column after column, such that X is about Y A'.
    pub frame: Vec<f64>,
    /// X'Y: q x d, column after column.
    pub product: Vec<f64>,
    /// The sum of the singular values of X'Y.
    pub singular_sum: f64,
    scratch: Vec<f64>,
    destroyed: Vec<f64>,
}

impl Alignment {
    /// Aligns `y` of dimension `d` with `x` of dimension `q`. Cost: O(m q d + q d^2) for m points.
    #[inline(always)]
    pub fn fit(&mut self, x: &[f64], q: usize, y: &[f64], d: usize, padded: usize) {
        let product = first(&mut self.product, q * d);
        across(x, q, y, d, padded, product);
        let destroyed = first(&mut self.destroyed, q * d);
        destroyed.copy_from_slice(product);
        let frame = first(&mut self.frame, q * d);
        self.singular_sum = polar(destroyed, q, d, frame, &mut self.scratch);
    }

    /// |X - scale Y A'|^2.
    #[inline(always)]
    pub fn residual(&self, x: &[f64], q: usize, y: &[f64], d: usize, padded: usize, scale: f64) -> f64 {
        residual(&self.frame[..q * d], x, q, y, d, padded, scale)
    }
}

/// X'Y, q x d, column after column.
#[inline(always)]
pub fn across(x: &[f64], q: usize, y: &[f64], d: usize, padded: usize, product: &mut [f64]) {
    for b in 0..d {
        for a in 0..q {
            product[b * q + a] = dot(column(x, padded, a), column(y, padded, b));
        }
    }
}

/// |X - scale Y A'|^2, the residual itself: |X|^2 + |Y|^2 - 2 sum(s) cancels below 1e-16 of |X|^2.
#[inline(always)]
pub fn residual(frame: &[f64], x: &[f64], q: usize, y: &[f64], d: usize, padded: usize, scale: f64) -> f64 {
    let mut residual = 0.0;
    for a in 0..q {
        let x = column(x, padded, a);
        residual += distance2_to_combination(x, y, d, |b| scale * frame[b * q + a]);
    }
    residual
}
