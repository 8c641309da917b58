//! The points of one neighbourhood, centred, in as few coordinates as hold them.

use crate::linalg::{complete, dot, largest};
use crate::points::Points;

/// Columns are padded with zeros to a multiple of this: centred points of zeros add nothing to any
/// sum, and loops over a neighbourhood run in whole vectors.
pub const LANES: usize = 4;

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
    /// `size`, padded.
    pub padded: usize,
    /// In how many coordinates.
    pub dim: usize,
    /// Coordinate after coordinate, the points about their mean, padded with zeros.
    pub x: Vec<f64>,
    /// |H X_i|^2.
    pub norm2: f64,
    /// The rows span the coordinates used, if these are not those of the data.
    basis: Vec<f64>,
    row: Vec<f64>,
    raw: Vec<f64>,
    coordinates: Vec<f64>,
}

impl Local {
    /// Loads the points `members` as they are; `q` is their dimension, often known to the compiler.
    #[inline(always)]
    pub fn load(&mut self, points: &Points, members: impl ExactSizeIterator<Item = usize>, q: usize) {
        self.gather(points, members, q);
        self.center();
    }

    /// Loads the points `members` about the point `origin`, not about their mean, divided by the largest coordinate
    /// of a difference: no square overflows or vanishes. In at most as many coordinates as there are members.
    #[inline(always)]
    pub fn load_about(
        &mut self,
        points: &Points,
        origin: usize,
        members: impl ExactSizeIterator<Item = usize>,
        q: usize,
    ) {
        self.gather(points, members, q);
        points.copy_row(origin, &mut self.row[..q]);
        for (a, column) in self.x.chunks_exact_mut(self.padded.max(1)).enumerate() {
            column[..self.size].iter_mut().for_each(|v| *v -= self.row[a]);
        }
        let scale = largest(&self.x);
        if scale > 0.0 {
            self.x.iter_mut().for_each(|v| *v /= scale);
        }
        self.norm2 = dot(&self.x, &self.x);
        if self.size < q {
            self.reduce(0);
        }
    }

    /// The points `members`, coordinate after coordinate, padded with zeros.
    #[inline(always)]
    fn gather(&mut self, points: &Points, members: impl ExactSizeIterator<Item = usize>, q: usize) {
        self.size = members.len();
        self.padded = self.size.next_multiple_of(LANES);
        self.dim = q;
        self.basis.clear();
        self.x.resize(q * self.padded, 0.0);
        self.row.resize(q, 0.0);
        let (row, padded) = (&mut self.row[..q], self.padded);
        for column in self.x.chunks_exact_mut(padded.max(1)) {
            column.iter_mut().rev().take(LANES).for_each(|v| *v = 0.0); // what the points do not overwrite
        }
        for (p, i) in members.enumerate() {
            points.copy_row(i, row);
            for a in 0..q {
                self.x[a * padded + p] = row[a];
            }
        }
    }

    /// Loads the points `members` in at most max(`at_least`, number of points) coordinates.
    pub fn load_reduced(
        &mut self,
        points: &Points,
        members: impl ExactSizeIterator<Item = usize>,
        at_least: usize,
    ) {
        let q = points.dim();
        self.load(points, members, q);
        if self.size.max(at_least) < q {
            self.reduce(at_least);
        }
    }

    /// Loads `size` centred points from coordinates that were kept.
    pub fn copy_centred(&mut self, x: &[f64], size: usize, dim: usize) {
        (self.size, self.padded, self.dim) = (size, size.next_multiple_of(LANES), dim);
        self.basis.clear();
        self.x.clear();
        self.x.extend_from_slice(&x[..dim * self.padded]);
        self.norm2 = dot(&self.x, &self.x);
    }

    /// Sums relative to the first point, so that a large common offset costs no digits and points that
    /// coincide do so exactly.
    #[inline(always)]
    fn center(&mut self) {
        self.norm2 = 0.0;
        if self.size == 0 {
            return;
        }
        for column in self.x.chunks_exact_mut(self.padded) {
            let column = &mut column[..self.size];
            let origin = column[0];
            column.iter_mut().for_each(|v| *v -= origin);
            let mean = column.iter().sum::<f64>() / self.size as f64;
            column.iter_mut().for_each(|v| *v -= mean);
            self.norm2 += dot(column, column);
        }
    }

    /// Modified Gram-Schmidt: the coordinates of each point are its products with the basis so far.
    fn reduce(&mut self, at_least: usize) {
        let (q, padded) = (self.dim, self.padded);
        let most = self.size.max(at_least);
        std::mem::swap(&mut self.raw, &mut self.x);
        self.x.clear();
        self.x.resize(most * padded, 0.0);
        self.coordinates.resize(most, 0.0);
        for p in 0..self.size {
            (0..q).for_each(|a| self.row[a] = self.raw[a * padded + p]);
            self.coordinates.fill(0.0);
            self.add_to_basis();
            (0..most).for_each(|a| self.x[a * padded + p] = self.coordinates[a]);
        }
        for known in self.basis.len() / q..at_least {
            self.basis.resize((known + 1) * q, 0.0);
            complete(&mut self.basis, q, known);
        }
        self.dim = self.basis.len() / q;
        self.x.truncate(self.dim * padded);
    }

    /// Writes the coordinates of the point in `row`, with a new direction if it has one.
    fn add_to_basis(&mut self) {
        let length = dot(&self.row, &self.row).sqrt();
        let mut rest = project(&self.basis, &mut self.row, &mut self.coordinates);
        if rest < TWICE * length {
            rest = project(&self.basis, &mut self.row, &mut self.coordinates);
        }
        if rest > DEPENDENT * length {
            let rank = self.basis.len() / self.row.len();
            self.coordinates[rank] = rest;
            self.basis.extend(self.row.iter().map(|v| v / rest));
        }
    }

    /// Expresses a vector of the data in the coordinates used, without its part outside their span.
    pub fn narrow(&self, wide: &[f64], narrow: &mut [f64]) {
        if self.basis.is_empty() {
            narrow.copy_from_slice(wide);
            return;
        }
        for (axis, coordinate) in self.basis.chunks_exact(wide.len()).zip(narrow) {
            *coordinate = dot(axis, wide);
        }
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
