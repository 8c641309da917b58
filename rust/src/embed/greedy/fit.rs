//! The Procrustes problem of one step: the chart of a neighborhood against its embedded points.

use crate::linalg::{Singular, dot, first, orthogonal_factor};

/// A rotation is undecided if the overlap's least squared extent is below this share of the neighborhood's.
const MIN_EXTENT_SHARE: f64 = 1e-3;

/// The Procrustes problem of one overlap: chart coordinates against embedded ones.
#[derive(Debug, Default)]
pub(super) struct Fit {
    /// Dimensions of the chart and of the embedding.
    c: usize,
    d: usize,
    /// Number of points in the overlap.
    pub size: usize,
    chart: Vec<f64>,
    image: Vec<f64>,
    chart_mean: Vec<f64>,
    image_mean: Vec<f64>,
    pub product: Vec<f64>,
    /// A: c x d, column after column.
    pub frame: Vec<f64>,
    /// |T|^2 of the whole neighborhood.
    pub whole2: f64,
    spare: Vec<f64>,
    values: Singular,
    scratch: Vec<f64>,
}

impl Fit {
    pub fn clear(&mut self, c: usize, d: usize, all: &[f64]) {
        (self.c, self.d, self.size) = (c, d, 0);
        self.spare.clear();
        self.spare.extend_from_slice(all);
        center(&mut self.spare, c, &mut self.chart_mean);
        self.whole2 = dot(&self.spare, &self.spare);
        self.chart.clear();
        self.image.clear();
    }

    pub fn add(&mut self, chart: &[f64], image: &[f64]) {
        self.size += 1;
        self.chart.extend_from_slice(chart);
        self.image.extend_from_slice(image);
    }

    /// Finds the frame.
    pub fn align(&mut self) {
        self.multiply();
        self.turn();
    }

    /// The same, with a little of `towards` added, which decides directions that the overlap leaves open.
    pub fn align_towards(&mut self, towards: impl Fn(usize, usize) -> f64) {
        self.multiply();
        let weight = if self.whole2 > 0.0 { MIN_EXTENT_SHARE * self.whole2 } else { 1.0 };
        for b in 0..self.d {
            for a in 0..self.c {
                self.product[b * self.c + a] += weight * towards(a, b);
            }
        }
        self.turn();
    }

    /// Z = T'Y about the means.
    pub fn multiply(&mut self) {
        let (c, d) = (self.c, self.d);
        center(&mut self.chart, c, &mut self.chart_mean);
        center(&mut self.image, d, &mut self.image_mean);
        let product = first(&mut self.product, c * d);
        product.fill(0.0);
        for (t, y) in self.chart.chunks_exact(c).zip(self.image.chunks_exact(d)) {
            for b in 0..d {
                (0..c).for_each(|a| product[b * c + a] += t[a] * y[b]);
            }
        }
    }

    pub fn turn(&mut self) {
        let (c, d) = (self.c, self.d);
        let spare = first(&mut self.spare, c * d);
        spare.copy_from_slice(&self.product[..c * d]);
        self.values = orthogonal_factor(spare, c, d, first(&mut self.frame, c * d), &mut self.scratch);
    }

    /// Returns whether a column of the product nearly depends on those before, so that it cannot decide the frame.
    pub fn is_thin(&mut self) -> bool {
        let (c, d) = (self.c, self.d);
        let columns = first(&mut self.spare, c * d);
        columns.copy_from_slice(&self.product[..c * d]);
        for j in 0..d {
            let (known, rest) = columns.split_at_mut(j * c);
            let column = &mut rest[..c];
            for unit in known.chunks_exact(c) {
                let along = dot(unit, column);
                column.iter_mut().zip(unit).for_each(|(v, u)| *v -= along * u);
            }
            let length = dot(column, column).sqrt();
            if length <= MIN_EXTENT_SHARE * self.whole2 {
                return true;
            }
            column.iter_mut().for_each(|v| *v /= length);
        }
        false
    }

    /// Returns whether the product decides the frame: it has rank d.
    pub fn is_decided(&self) -> bool {
        self.values.least > MIN_EXTENT_SHARE * self.whole2
    }

    /// Uncertainty of the fit at a point of the chart, in variances of an embedded point.
    pub fn leverage(&self, chart: &[f64]) -> f64 {
        let d2: f64 = chart.iter().zip(&self.chart_mean).map(|(a, b)| (a - b) * (a - b)).sum();
        let extent2 = dot(&self.chart, &self.chart);
        1.0 / self.size as f64 + if d2 > 0.0 { d2 / extent2 } else { 0.0 }
    }

    /// y = mean of Y + A'(t - mean of T).
    pub fn place(&self, chart: &[f64], image: &mut [f64]) {
        for (b, y) in image.iter_mut().enumerate() {
            let column = &self.frame[b * self.c..][..self.c];
            let turned: f64 = (0..self.c).map(|a| column[a] * (chart[a] - self.chart_mean[a])).sum();
            *y = self.image_mean[b] + turned;
        }
    }
}

/// Moves rows of `width` numbers to their mean, which is also written.
fn center(rows: &mut [f64], width: usize, mean: &mut Vec<f64>) {
    let count = (rows.len() / width).max(1) as f64;
    let mean = first(mean, width);
    mean.fill(0.0);
    for row in rows.chunks_exact(width) {
        mean.iter_mut().zip(row).for_each(|(m, v)| *m += v);
    }
    mean.iter_mut().for_each(|m| *m /= count);
    for row in rows.chunks_exact_mut(width) {
        row.iter_mut().zip(mean.iter()).for_each(|(v, m)| *v -= m);
    }
}
