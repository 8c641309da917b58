//! The points of one neighborhood, centered, in as few coordinates as they need.

use crate::linalg::lanes::{Lanes, WIDTH, ZERO, fill};
use crate::linalg::{complete, dot, first, largest, long_dot};
use crate::parallel::vectorized;
use crate::points::{Points, Rows};

/// Columns are padded with zeros to a multiple of this length, so that loops over a neighborhood run in whole vectors.
pub const LANES: usize = 4;

/// A row that keeps less than this share of its length outside the span of those before adds no direction.
const DEPENDENT: f64 = 1e-14;

/// A row that keeps less than this share of its length is orthogonalized twice (Daniel, Gragg, Kaufman & Stewart 1976).
const TWICE: f64 = 0.5;

/// H X_i, the centered points of one neighborhood. Its memory is reused by the next neighborhood.
///
/// If the data have more dimensions than the neighborhood has points, the points are expressed in an orthonormal basis
/// of their span, by Gram-Schmidt on the points: their Gram matrix would lose errors below 1e-8 of the neighborhood.
#[derive(Debug, Default, Clone)]
pub struct Local {
    /// Number of points.
    pub size: usize,
    /// Number of points, rounded up to a multiple of [`LANES`].
    pub padded: usize,
    /// Number of coordinates of a point.
    pub dim: usize,
    /// The centered points, coordinate after coordinate, padded with zeros.
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
    /// Loads the points `members`. `q` is their dimension, often known at compile time.
    #[inline(always)]
    pub fn load(&mut self, points: &Points, members: impl ExactSizeIterator<Item = usize>, q: usize) {
        self.gather(points, members, q);
        self.center();
    }

    /// Loads the points `members` relative to the point `origin`, divided by the largest coordinate difference, so that
    /// no square overflows or underflows. Uses at most as many coordinates as there are members.
    #[inline(always)]
    pub fn load_about(
        &mut self,
        points: &Points,
        origin: usize,
        members: impl ExactSizeIterator<Item = usize>,
        q: usize,
    ) {
        if members.len() < q {
            self.gather_rows(points, members);
            points.copy_row(origin, first(&mut self.row, q));
            return vectorized(
                #[inline(always)]
                || self.reduce_rows(0, false),
            );
        }
        self.gather(points, members, q);
        points.copy_row(origin, &mut self.row[..q]);
        for (a, column) in self.x.chunks_exact_mut(self.padded.max(1)).enumerate() {
            column[..self.size].iter_mut().for_each(|v| *v -= self.row[a]);
        }
        divide_by_largest(&mut self.x);
        self.norm2 = dot(&self.x, &self.x);
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
            column.iter_mut().rev().take(LANES).for_each(|v| *v = 0.0); // the padding
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
        if members.len().max(at_least) >= q || members.len() == 0 {
            return self.load(points, members, q);
        }
        self.gather_rows(points, members);
        vectorized(
            #[inline(always)]
            || self.reduce_rows(at_least, true),
        );
    }

    /// The points `members`, one after the other, as `raw`.
    #[inline(always)]
    fn gather_rows(&mut self, points: &Points, members: impl ExactSizeIterator<Item = usize>) {
        (self.size, self.dim) = (members.len(), points.dim());
        self.padded = self.size.next_multiple_of(LANES);
        self.raw.resize(self.size * self.dim, 0.0);
        members.zip(self.raw.chunks_exact_mut(self.dim)).for_each(|(i, row)| points.copy_row(i, row));
    }

    /// Loads `size` centered points from coordinates that were kept.
    pub fn copy_centered(&mut self, x: &[f64], size: usize, dim: usize) {
        (self.size, self.padded, self.dim) = (size, size.next_multiple_of(LANES), dim);
        self.basis.clear();
        self.x.clear();
        self.x.extend_from_slice(&x[..dim * self.padded]);
        self.norm2 = dot(&self.x, &self.x);
    }

    /// Leaves out the first point.
    pub fn drop_first(&mut self) {
        let (old, size) = (self.padded, self.size - 1);
        (self.size, self.padded) = (size, size.next_multiple_of(LANES));
        for a in 0..self.dim {
            self.x.copy_within(a * old + 1..a * old + 1 + size, a * self.padded);
            self.x[a * self.padded..][size..self.padded].fill(0.0);
        }
        self.x.truncate(self.dim * self.padded);
        self.center();
    }

    /// Sums relative to the first point, so that a large common offset costs no digits.
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

    /// Subtracts the point in `row` from all rows of `raw`.
    #[inline(always)]
    fn shift(&mut self) {
        let row = &self.row[..self.dim];
        for point in self.raw.chunks_exact_mut(self.dim) {
            point.iter_mut().zip(row).for_each(|(v, o)| *v -= o);
        }
    }

    /// Centers the rows of `raw`, relative to the first as in [`Local::center`].
    #[inline(always)]
    fn center_rows(&mut self) {
        first(&mut self.row, self.dim).copy_from_slice(&self.raw[..self.dim]);
        self.shift();
        let mean = &mut self.row[..self.dim];
        mean.fill(0.0);
        for point in self.raw.chunks_exact(self.dim) {
            mean.iter_mut().zip(point).for_each(|(mean, v)| *mean += v);
        }
        mean.iter_mut().for_each(|mean| *mean /= self.size as f64);
        self.shift();
    }

    /// The rows of `raw` in as few coordinates as hold them: about their mean, or about the point in `row`.
    #[inline(always)]
    fn reduce_rows(&mut self, at_least: usize, centered: bool) {
        if centered {
            self.center_rows();
        } else {
            self.shift();
            divide_by_largest(&mut self.raw);
        }
        self.norm2 = self.raw.chunks_exact(self.dim).map(|point| long_dot(point, point)).sum();
        self.reduce(at_least);
    }

    /// Gram-Schmidt on the rows of `raw`: the coordinates of each point are its products with the basis so far.
    #[inline(always)]
    fn reduce(&mut self, at_least: usize) {
        let (q, padded) = (self.dim, self.padded);
        let most = self.size.max(at_least);
        self.basis.clear();
        self.x.clear();
        self.x.resize(most * padded, 0.0);
        for p in 0..self.size {
            first(&mut self.row, q).copy_from_slice(&self.raw[p * q..][..q]);
            self.add_to_basis(most);
            (0..most).for_each(|a| self.x[a * padded + p] = self.coordinates[a]);
        }
        for known in self.basis.len() / q..at_least {
            self.basis.resize((known + 1) * q, 0.0);
            complete(&mut self.basis, q, known);
        }
        self.dim = self.basis.len() / q;
        self.x.truncate(self.dim * padded);
    }

    /// Finds the coordinates of the point in `row`, with a new direction if it has one.
    #[inline(always)]
    fn add_to_basis(&mut self, most: usize) {
        let row = &mut self.row[..self.dim];
        let (coordinates, along) = first(&mut self.coordinates, 2 * most).split_at_mut(most);
        coordinates.fill(0.0);
        let length = long_dot(row, row).sqrt();
        let mut rest = project(&self.basis, row, coordinates, along);
        if rest < TWICE * length {
            rest = project(&self.basis, row, coordinates, along);
        }
        if rest > DEPENDENT * length {
            let rank = self.basis.len() / row.len();
            coordinates[rank] = rest;
            self.basis.extend(row.iter().map(|v| v / rest));
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

    /// Expresses a vector in the coordinates used in those of the data.
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

/// Removes from `row` its part in the span of `basis`, adds its coordinates, and returns the remaining length. All
/// products come first, because they are independent.
#[inline(always)]
fn project(basis: &[f64], row: &mut [f64], coordinates: &mut [f64], along: &mut [f64]) -> f64 {
    let directions = || basis.chunks_exact(row.len());
    directions().zip(&mut *along).for_each(|(direction, along)| *along = long_dot(direction, row));
    for ((direction, along), coordinate) in basis.chunks_exact(row.len()).zip(along).zip(coordinates) {
        *coordinate += *along;
        row.iter_mut().zip(direction).for_each(|(r, b)| *r -= *along * b);
    }
    long_dot(row, row).sqrt()
}

fn divide_by_largest(values: &mut [f64]) {
    let scale = largest(values);
    if scale > 0.0 {
        values.iter_mut().for_each(|v| *v /= scale);
    }
}

/// Several neighborhoods of one size side by side, centered, reused by the next.
#[derive(Debug)]
pub(crate) struct Abreast<const Q: usize> {
    /// Point after point, each from all neighborhoods.
    pub points: Vec<[Lanes; Q]>,
    /// Means before the points were centered, relative to the first points.
    pub means: [Lanes; Q],
}

impl<const Q: usize> Default for Abreast<Q> {
    fn default() -> Self {
        Abreast { points: vec![], means: [ZERO; Q] }
    }
}

impl<const Q: usize> Abreast<Q> {
    /// Loads the points of all lists.
    #[inline(always)]
    pub fn load(&mut self, lists: [&[u32]; WIDTH], points: &(impl Rows<Q> + ?Sized)) {
        self.points.resize(lists[0].len(), [ZERO; Q]);
        for (p, lanes) in self.points.iter_mut().enumerate() {
            let rows: [[f64; Q]; WIDTH] = fill([0.0; Q], |lane| points.at(lists[lane][p] as usize));
            *lanes = fill(ZERO, |a| Lanes(fill(0.0, |lane| rows[lane][a])));
        }
        self.center();
    }

    /// Sums relative to the first point, as [`Local`] does.
    #[inline(always)]
    fn center(&mut self) {
        let Some(&origin) = self.points.first() else { return };
        let mut mean = [ZERO; Q];
        for point in &mut self.points {
            for a in 0..Q {
                point[a] = point[a] - origin[a];
                mean[a] += point[a];
            }
        }
        self.means = mean.map(|sum| sum / Lanes::splat(self.points.len() as f64));
        for point in &mut self.points {
            (0..Q).for_each(|a| point[a] = point[a] - self.means[a]);
        }
    }
}
