//! Charts of wide data from the products of the points of a neighbourhood: nothing of the size of the data is
//! decomposed.
//!
//! Directions shorter than 1e-8 of the longest drown in roundings here. That is no loss for a chart that is laid against
//! others; measures, which look for the smallest differences, go another way (see `local.rs`).

use pulp::{Arch, Simd, WithSimd};

use crate::linalg::{first, symmetric_eigen};
use crate::points::Points;

/// Rows are padded to a multiple of this.
const LANES: usize = 8;

/// Products computed side by side.
const SIDE: usize = 4;

/// Coordinates multiplied at a time; a multiple of `LANES`.
const STRETCH: usize = 256;

/// Reused from neighbourhood to neighbourhood.
#[derive(Debug, Default)]
pub struct Gram {
    /// The points about the first, one a row, padded with zeros.
    rows: Vec<f64>,
    row: Vec<f64>,
    products: Vec<f64>,
    values: Vec<f64>,
    scratch: Vec<f64>,
}

impl Gram {
    /// Writes the chart of the points `members` to `chart`, point after point. Cost: O(m^2 q + m^3) for m points.
    pub fn chart(
        &mut self,
        points: &Points,
        members: impl ExactSizeIterator<Item = usize>,
        d: usize,
        chart: &mut [f64],
    ) {
        let m = members.len();
        let width = self.load(points, members);
        Arch::new().dispatch(Multiply { gram: self, m, width });
        center(&mut self.products[..m * m], m);
        let values = first(&mut self.values, m);
        symmetric_eigen(&mut self.products[..m * m], m, values, &mut self.scratch);
        chart.fill(0.0);
        for j in 0..d.min(m) {
            let length = values[j].max(0.0).sqrt();
            (0..m).for_each(|p| chart[p * d + j] = length * self.products[j * m + p]);
        }
    }

    /// Returns the padded width of a row.
    fn load(&mut self, points: &Points, members: impl ExactSizeIterator<Item = usize>) -> usize {
        let q = points.dim();
        let (m, width) = (members.len(), q.next_multiple_of(LANES));
        self.rows.resize(m.next_multiple_of(SIDE) * width, 0.0);
        let own = first(&mut self.row, q);
        for (p, i) in members.enumerate() {
            let row = &mut self.rows[p * width..][..q];
            points.copy_row(i, row);
            if p == 0 {
                own.copy_from_slice(row);
            }
            row.iter_mut().zip(own.iter()).for_each(|(v, o)| *v -= o);
        }
        width
    }
}

struct Multiply<'a> {
    gram: &'a mut Gram,
    m: usize,
    width: usize,
}

impl WithSimd for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let (m, width) = (self.m, self.width);
        let rows = &self.gram.rows;
        let products = first(&mut self.gram.products, m * m);
        products.fill(0.0);
        // A stretch of all rows fits into the nearest cache.
        for start in (0..width).step_by(STRETCH) {
            let row = |a: usize| &rows[a * width + start..][..STRETCH.min(width - start)];
            for a in 0..m {
                for b in (0..=a).step_by(SIDE) {
                    let sums = products_of(row(a), [row(b), row(b + 1), row(b + 2), row(b + 3)]);
                    (b..=a.min(b + SIDE - 1)).zip(&sums).for_each(|(c, sum)| products[a * m + c] += sum);
                }
            }
        }
        (0..m).for_each(|a| (0..a).for_each(|c| products[c * m + a] = products[a * m + c]));
    }
}

/// The products of one row with `SIDE` others.
#[inline(always)]
fn products_of(a: &[f64], b: [&[f64]; SIDE]) -> [f64; SIDE] {
    let mut sums = [[0.0; LANES]; SIDE];
    let b = b.map(|row| row.as_chunks::<LANES>().0);
    for (t, a) in a.as_chunks::<LANES>().0.iter().enumerate() {
        for c in 0..SIDE {
            for lane in 0..LANES {
                sums[c][lane] += a[lane] * b[c][t][lane];
            }
        }
    }
    sums.map(|s| ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7])))
}

/// Products about the mean of the points instead of the first: rows and columns then add up to zero.
fn center(products: &mut [f64], m: usize) {
    let means: Vec<f64> = products.chunks_exact(m).map(|row| row.iter().sum::<f64>() / m as f64).collect();
    let mean = means.iter().sum::<f64>() / m as f64;
    for (a, row) in products.chunks_exact_mut(m).enumerate() {
        row.iter_mut().zip(&means).for_each(|(v, mean_b)| *v += mean - means[a] - mean_b);
    }
}
