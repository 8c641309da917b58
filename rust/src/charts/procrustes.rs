//! The Procrustes statistic of two sets of points (Goldberg & Ritov, eq. 1 and before eq. 7).

use crate::linalg::{dot, orthogonal_factor};

/// The best rotation of Y onto X, and what it leaves; reused without allocating.
#[derive(Debug, Default, Clone)]
pub struct Alignment {
    /// A: q x d with orthonormal columns, column after column. X is about Y A'.
    pub frame: Vec<f64>,
    /// The sum of the singular values of X'Y.
    pub singular_sum: f64,
    /// G: |X - Y A'|^2.
    pub residual: f64,
    /// The scale c that leaves least: the sum of the singular values over |Y|^2.
    pub scale: f64,
    /// G_C: |X - c Y A'|^2.
    pub conformal_residual: f64,
    product: Vec<f64>,
    scratch: Vec<f64>,
}

impl Alignment {
    /// Aligns centred `y` (rows of length d) with centred `x` (rows of length q).
    ///
    /// G is the residual itself, never |X|^2 + |Y|^2 - 2 sum(s), which cancels below 1e-16 of |X|^2.
    /// Cost: O(m q d + q d^2) for m points.
    #[inline(always)]
    pub fn fit(&mut self, x: &[f64], q: usize, y: &[f64], d: usize) {
        self.product.clear();
        self.product.resize(q * d, 0.0);
        for (x, y) in x.chunks_exact(q).zip(y.chunks_exact(d)) {
            for b in 0..d {
                for a in 0..q {
                    self.product[b * q + a] += x[a] * y[b];
                }
            }
        }
        self.frame.resize(q * d, 0.0);
        self.singular_sum = orthogonal_factor(&mut self.product, q, d, &mut self.frame, &mut self.scratch);
        let norm2 = dot(y, y);
        self.scale = if norm2 > 0.0 { self.singular_sum / norm2 } else { 0.0 };
        self.measure(x, q, y, d);
    }

    #[inline(always)]
    fn measure(&mut self, x: &[f64], q: usize, y: &[f64], d: usize) {
        let (mut rigid, mut conformal) = (0.0, 0.0);
        let frame = &self.frame[..q * d];
        for (x, y) in x.chunks_exact(q).zip(y.chunks_exact(d)) {
            for a in 0..q {
                let placed = (0..d).fold(0.0, |sum, b| sum + y[b] * frame[b * q + a]);
                rigid += (x[a] - placed) * (x[a] - placed);
                conformal += (x[a] - self.scale * placed) * (x[a] - self.scale * placed);
            }
        }
        self.residual = rigid;
        self.conformal_residual = conformal;
    }
}
