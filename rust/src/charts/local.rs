//! The points of one neighbourhood, centred, in as few coordinates as hold them.

use crate::linalg::dot;
use crate::points::Points;

/// A row that keeps less than this share of its length outside the span of those before adds no direction.
const DEPENDENT: f64 = 1e-14;

/// A row that keeps less than this share is orthogonalised twice (Daniel, Gragg, Kaufman & Stewart 1976).
const TWICE: f64 = 0.5;

/// H X_i, reused from neighbourhood to neighbourhood without allocating.
///
/// When the data are wider than the neighbourhood has points, the points are expressed in an
/// orthonormal basis of their span: distances and angles are the same, and everything after costs as
/// if the data were that narrow. The basis comes from Gram-Schmidt on the points, not from their Gram
/// matrix, whose squared condition would drown errors below 1e-8 of the neighbourhood.
#[derive(Debug, Default, Clone)]
pub struct Local {
    /// How many points.
    pub size: usize,
    /// In how many coordinates.
    pub dim: usize,
    /// Point after point, its coordinates about the mean.
    pub x: Vec<f64>,
    /// |H X_i|^2.
    pub norm2: f64,
    /// The rows span the coordinates used, if these are not those of the data.
    basis: Vec<f64>,
    raw: Vec<f64>,
}

impl Local {
    /// Loads the points `members` as they are.
    #[inline(always)]
    pub fn load(&mut self, points: &Points, members: impl Iterator<Item = usize>, q: usize) {
        self.x.clear();
        self.size = 0;
        for i in members {
            let start = self.x.len();
            self.x.resize(start + q, 0.0);
            points.copy_row(i, &mut self.x[start..]);
            self.size += 1;
        }
        self.dim = q;
        self.basis.clear();
        self.center();
    }

    /// Loads the points `members` in at most max(`at_least`, number of points) coordinates.
    pub fn load_reduced(&mut self, points: &Points, members: impl Iterator<Item = usize>, at_least: usize) {
        let q = points.dim();
        self.load(points, members, q);
        let dim = self.size.max(at_least);
        if dim < q {
            self.reduce(dim);
        }
    }

    /// Sums relative to the first point, so that a large common offset costs no digits.
    #[inline(always)]
    fn center(&mut self) {
        let (m, q) = (self.size, self.dim);
        self.norm2 = 0.0;
        for axis in 0..q {
            let Some(&origin) = self.x.get(axis) else { return }; // no points
            let mut sum = 0.0;
            for p in 0..m {
                self.x[p * q + axis] -= origin;
                sum += self.x[p * q + axis];
            }
            let mean = sum / m as f64;
            for p in 0..m {
                self.x[p * q + axis] -= mean;
                self.norm2 += self.x[p * q + axis].powi(2);
            }
        }
    }

    /// Modified Gram-Schmidt: the coordinates of each point are its products with the basis so far.
    fn reduce(&mut self, dim: usize) {
        let (m, q) = (self.size, self.dim);
        std::mem::swap(&mut self.raw, &mut self.x);
        self.x.clear();
        self.x.resize(m * dim, 0.0);
        for p in 0..m {
            let row = &mut self.raw[p * q..(p + 1) * q];
            let coordinates = &mut self.x[p * dim..(p + 1) * dim];
            let length = dot(row, row).sqrt();
            let mut rest = project(&self.basis, row, coordinates);
            if rest < TWICE * length {
                rest = project(&self.basis, row, coordinates);
            }
            let rank = self.basis.len() / q;
            if rest > DEPENDENT * length && rank < dim {
                coordinates[rank] = rest;
                self.basis.extend(row.iter().map(|v| v / rest));
            }
        }
        self.dim = dim;
    }

    /// Expresses a vector of the coordinates used in those of the data.
    pub fn widen(&self, narrow: &[f64], wide: &mut [f64]) {
        if self.basis.is_empty() {
            wide.copy_from_slice(narrow);
            return;
        }
        wide.fill(0.0);
        for (axis, &weight) in self.basis.chunks_exact(wide.len()).zip(narrow) {
            wide.iter_mut().zip(axis).for_each(|(w, b)| *w += weight * b);
        }
    }
}

/// Takes the part of `row` in the span of `basis` out of it, adds its coordinates, and returns the length left.
fn project(basis: &[f64], row: &mut [f64], coordinates: &mut [f64]) -> f64 {
    for (direction, coordinate) in basis.chunks_exact(row.len()).zip(coordinates) {
        let along = dot(direction, row);
        *coordinate += along;
        row.iter_mut().zip(direction).for_each(|(r, b)| *r -= along * b);
    }
    dot(row, row).sqrt()
}
