//! Charts of wide data from the Gram matrix of a neighborhood. Nothing of the size of the data is decomposed.
//!
//! Directions shorter than 1e-8 of the longest (1e-4 in single precision) are lost to rounding. Alignment of charts
//! does not need them; measures do, so they use `local`.

use std::ops::{AddAssign, Mul, Sub};

use ndarray::ArrayView2;

use crate::linalg::{first, symmetric_eigen};
use crate::parallel::vectorized;
use crate::points::{Coordinate, Points, Values, with_view};

/// Rows are padded to a multiple of this length.
const LANES: usize = 16;

/// Products computed side by side.
const SIDE: usize = 4;

/// Coordinates multiplied at a time, a multiple of `LANES`. Longer sums are in double precision.
const STRETCH: usize = 256;

/// Buffers that are reused from neighborhood to neighborhood.
#[derive(Debug, Default)]
pub struct Gram {
    single: Rows<f32>,
    double: Rows<f64>,
    directions: Rows<f64>,
    /// The same for points in single precision.
    narrow: Rows<f32>,
    products: Vec<f64>,
    values: Vec<f64>,
    scratch: Vec<f64>,
}

impl Gram {
    /// Writes the chart of the points `members`, relative to one of them, point after point, and returns the share of
    /// their variance outside it. Cost: O(m^2 q + m^3) for m points.
    pub fn chart(
        &mut self,
        points: &Points,
        origin: usize,
        members: impl ExactSizeIterator<Item = usize>,
        d: usize,
        chart: &mut [f64],
    ) -> f64 {
        let m = members.len();
        let products = first(&mut self.products, m * m);
        match points.values() {
            Values::F32(view) => self.single.load(view, origin, members).square(products),
            Values::F64(view) => self.double.load(view, origin, members).square(products),
        }
        center(products, m);
        let norm2: f64 = products.iter().step_by(m + 1).sum();
        let values = first(&mut self.values, m);
        symmetric_eigen(products, m, values, &mut self.scratch);
        chart.fill(0.0);
        for j in 0..d.min(m) {
            let length = values[j].max(0.0).sqrt();
            (0..m).for_each(|p| chart[p * d + j] = length * products[j * m + p]);
        }
        let inside: f64 = values.iter().take(d).map(|value| value.max(0.0)).sum();
        if norm2 > 0.0 { (1.0 - inside / norm2).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Stores the directions that are combinations of the points `own` with `weights`. Cost: O(m q d) for m points.
    pub fn keep_directions(
        &mut self,
        points: &Points,
        origin: usize,
        own: impl ExactSizeIterator<Item = usize>,
        weights: &[f64],
    ) {
        let d = weights.len() / own.len();
        with_view!(points.values(), view => self.double.load(view, origin, own));
        self.directions.combine(&self.double, weights, d);
        if let Values::F32(_) = points.values() {
            self.narrow.round(&self.directions);
        }
    }

    /// Writes the points `others` relative to `origin` along the stored directions, row after row, in the precision of
    /// the points. Cost: O(m q d) for m points.
    pub fn along(
        &mut self,
        points: &Points,
        origin: usize,
        others: impl ExactSizeIterator<Item = usize>,
    ) -> &[f64] {
        let products = first(&mut self.products, others.len() * self.directions.count);
        match points.values() {
            Values::F32(view) => self.single.load(view, origin, others).times(&self.narrow, products),
            Values::F64(view) => self.double.load(view, origin, others).times(&self.directions, products),
        }
        products
    }
}

/// A coordinate that can be multiplied in lanes.
trait Factor: Coordinate + AddAssign + Mul<Output = Self> + Sub<Output = Self> {}

impl<T: Coordinate + AddAssign + Mul<Output = T> + Sub<Output = T>> Factor for T {}

/// Points about some point, one a row, padded with zeros; or directions.
#[derive(Debug, Default)]
struct Rows<T> {
    count: usize,
    width: usize,
    flat: Vec<T>,
}

impl<T: Factor> Rows<T> {
    fn load<U: Coordinate + Into<T>>(
        &mut self,
        view: ArrayView2<U>,
        origin: usize,
        members: impl ExactSizeIterator<Item = usize>,
    ) -> &Self {
        self.shape(members.len(), view.ncols().next_multiple_of(LANES));
        let own = view.row(origin);
        for (row, i) in self.flat.chunks_exact_mut(self.width).zip(members) {
            let point = view.row(i);
            let wide = |v: U| -> T { v.into() };
            let less = |(r, (&p, &o)): (&mut T, (&U, &U))| *r = wide(p) - wide(o);
            match (point.as_slice(), own.as_slice()) {
                (Some(point), Some(own)) => row.iter_mut().zip(point.iter().zip(own)).for_each(less),
                _ => row.iter_mut().zip(point.iter().zip(own)).for_each(less),
            }
        }
        self
    }

    fn shape(&mut self, count: usize, width: usize) {
        (self.count, self.width) = (count, width);
        self.flat.resize(count.next_multiple_of(SIDE) * width, T::default());
    }

    fn square(&self, products: &mut [f64]) {
        vectorized(
            #[inline(always)]
            || self.multiply(self, true, products),
        );
    }

    fn times(&self, other: &Self, products: &mut [f64]) {
        vectorized(
            #[inline(always)]
            || self.multiply(other, false, products),
        );
    }

    /// All products of these rows with those of `other`; for a square matrix, half of them are computed.
    #[inline(always)]
    fn multiply(&self, other: &Self, half: bool, products: &mut [f64]) {
        let (width, columns) = (self.width, other.count);
        products.fill(0.0);
        // A stretch of all rows fits into the nearest cache.
        for start in (0..width).step_by(STRETCH) {
            let stretch = STRETCH.min(width - start);
            for a in 0..self.count {
                let left = &self.flat[a * width + start..][..stretch];
                let end = if half { a + 1 } else { columns };
                for b in (0..end).step_by(SIDE) {
                    let right = |c: usize| &other.flat[(b + c) * width + start..][..stretch];
                    let sums = products_of(left, [right(0), right(1), right(2), right(3)]);
                    let out = &mut products[a * columns..][b..end.min(b + SIDE)];
                    out.iter_mut().zip(&sums).for_each(|(p, sum)| *p += sum);
                }
            }
        }
        if half {
            for a in 0..columns {
                (0..a).for_each(|c| products[c * columns + a] = products[a * columns + c]);
            }
        }
    }
}

impl Rows<f32> {
    /// Takes over `rows`, rounded.
    fn round(&mut self, rows: &Rows<f64>) {
        self.shape(rows.count, rows.width);
        self.flat.iter_mut().zip(&rows.flat).for_each(|(single, &double)| *single = double as f32);
    }
}

impl Rows<f64> {
    /// The `d` sums of `rows` with these `weights`.
    fn combine(&mut self, rows: &Self, weights: &[f64], d: usize) {
        self.shape(d, rows.width);
        vectorized(
            #[inline(always)]
            || self.add_up(rows, weights),
        );
    }

    #[inline(always)]
    fn add_up(&mut self, rows: &Self, weights: &[f64]) {
        let (d, width) = (self.count, self.width);
        for (a, sum) in self.flat.chunks_exact_mut(width).take(d).enumerate() {
            sum.fill(0.0);
            for (row, weights) in rows.flat.chunks_exact(width).zip(weights.chunks_exact(d)) {
                sum.iter_mut().zip(row).for_each(|(sum, v)| *sum += weights[a] * v);
            }
        }
    }
}

/// The products of one row with `SIDE` others.
#[inline(always)]
fn products_of<T: Factor>(a: &[T], b: [&[T]; SIDE]) -> [f64; SIDE] {
    let mut sums = [[T::default(); LANES]; SIDE];
    let b = b.map(|row| row.as_chunks::<LANES>().0);
    for (t, a) in a.as_chunks::<LANES>().0.iter().enumerate() {
        for c in 0..SIDE {
            for lane in 0..LANES {
                sums[c][lane] += a[lane] * b[c][t][lane];
            }
        }
    }
    sums.map(|lanes| lanes.iter().fold(0.0, |sum, &v| sum + v.into()))
}

/// Products relative to the mean of the points instead of the first: rows and columns then add up to zero.
fn center(products: &mut [f64], m: usize) {
    let means: Vec<f64> = products.chunks_exact(m).map(|row| row.iter().sum::<f64>() / m as f64).collect();
    let mean = means.iter().sum::<f64>() / m as f64;
    for (a, row) in products.chunks_exact_mut(m).enumerate() {
        row.iter_mut().zip(&means).for_each(|(v, mean_b)| *v += mean - means[a] - mean_b);
    }
}
