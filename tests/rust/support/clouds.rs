//! Clouds of points that are hard in one way each, and the views in which they can lie in memory.

use ndarray::{Array2, ArrayView2, Axis, ShapeBuilder, Slice};
use unbend::rng::{Stream, normal, stream, uniform};

/// What is hard about a cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cloud {
    Normal,
    /// Integers from 0 to 3: full of ties, with all distances exact.
    Grid,
    /// About five copies of every point.
    Duplicates,
    AllEqual,
    Collinear,
    /// One point 1e6 away.
    Outlier,
    /// One point so far away that from there all others look the same.
    FarOutlier,
    /// A spread of 1e-6 about 1e8.
    Offset,
    Tiny,
    Huge,
}

pub const CLOUDS: [Cloud; 10] = [
    Cloud::Normal,
    Cloud::Grid,
    Cloud::Duplicates,
    Cloud::AllEqual,
    Cloud::Collinear,
    Cloud::Outlier,
    Cloud::FarOutlier,
    Cloud::Offset,
    Cloud::Tiny,
    Cloud::Huge,
];

pub fn rng(seed: u64) -> Stream {
    stream(seed, "tests", 0)
}

/// A whole number below `below`.
pub fn pick(rng: &mut Stream, below: usize) -> usize {
    (uniform(rng) * below as f64) as usize
}

/// Independent normal entries.
pub fn gaussian(n: usize, q: usize, seed: u64) -> Array2<f64> {
    let mut rng = rng(seed);
    Array2::from_shape_simple_fn((n, q), || normal(&mut rng))
}

/// Every point `copies` times, dealt out so that copies do not follow each other.
pub fn repeated(distinct: &Array2<f64>, copies: usize) -> Array2<f64> {
    let n = distinct.nrows();
    Array2::from_shape_fn((n * copies, distinct.ncols()), |(i, a)| distinct[[i % n, a]])
}

/// `n` points of dimension `q`. The extreme ones are extreme for their type.
fn cloud(kind: Cloud, n: usize, q: usize, seed: u64, [tiny, huge, far]: [f64; 3]) -> Array2<f64> {
    let mut x = gaussian(n, q, seed);
    let mut rng = rng(seed + 1);
    match kind {
        Cloud::Normal => {}
        Cloud::Grid => x.mapv_inplace(|v| (v.abs() * 2.0).floor().min(3.0)),
        Cloud::Duplicates => {
            let distinct = n.div_ceil(5);
            for i in distinct..n {
                let copied = x.row(pick(&mut rng, distinct)).to_owned();
                x.row_mut(i).assign(&copied);
            }
        }
        Cloud::AllEqual => {
            let first = x.row(0).to_owned();
            x.rows_mut().into_iter().for_each(|mut row| row.assign(&first));
        }
        Cloud::Collinear => {
            let direction = x.row(0).to_owned();
            x.rows_mut().into_iter().for_each(|mut row| row.assign(&(&direction * normal(&mut rng))));
        }
        Cloud::Outlier => x.row_mut(n / 2).fill(1e6),
        Cloud::FarOutlier => x.row_mut(n / 2).fill(far),
        Cloud::Offset => x.mapv_inplace(|v| 1e8 + 1e-6 * v),
        Cloud::Tiny => x *= tiny,
        Cloud::Huge => x.mapv_inplace(|v| (v / 8.0).clamp(-1.0, 1.0) * huge),
    }
    x
}

pub fn double(kind: Cloud, n: usize, q: usize, seed: u64) -> Array2<f64> {
    cloud(kind, n, q, seed, [1e-140, 1e149, 1e100])
}

pub fn single(kind: Cloud, n: usize, q: usize, seed: u64) -> Array2<f32> {
    cloud(kind, n, q, seed, [1e-36, 1e37, 1e30]).mapv(|v| v as f32)
}

/// The same matrix column after column.
pub fn fortran<T: Copy>(x: &Array2<T>) -> Array2<T> {
    Array2::from_shape_fn(x.dim().f(), |at| x[at])
}

/// The same matrix inside a larger one: every second row and every third column of it.
pub fn spread_out<T: Copy>(x: &Array2<T>, filler: T) -> Array2<T> {
    let larger = (2 * x.nrows() - 1, 3 * x.ncols() - 1);
    let inside = |(i, a): (usize, usize)| i % 2 == 0 && a % 3 == 1;
    Array2::from_shape_fn(larger, |(i, a)| if inside((i, a)) { x[[i / 2, a / 3]] } else { filler })
}

pub fn spread_out_view<T>(larger: &Array2<T>) -> ArrayView2<'_, T> {
    let mut view = larger.view();
    view.slice_axis_inplace(Axis(0), Slice::new(0, None, 2));
    view.slice_axis_inplace(Axis(1), Slice::new(1, None, 3));
    view
}

/// The same matrix stored back to front, so that both strides of the view are negative.
pub fn reversed<T: Copy>(x: &Array2<T>) -> Array2<T> {
    let (n, q) = x.dim();
    Array2::from_shape_fn((n, q), |(i, a)| x[[n - 1 - i, q - 1 - a]])
}

pub fn reversed_view<T>(x: &Array2<T>) -> ArrayView2<'_, T> {
    let mut view = x.view();
    view.invert_axis(Axis(0));
    view.invert_axis(Axis(1));
    view
}

/// `q` x `d` with orthonormal columns: Gram-Schmidt, twice, on a random matrix.
pub fn orthonormal(q: usize, d: usize, seed: u64) -> Array2<f64> {
    let mut a = gaussian(q, d, seed);
    for _ in 0..2 {
        for j in 0..d {
            for i in 0..j {
                let along = a.column(i).dot(&a.column(j));
                let part = &a.column(i) * along;
                a.column_mut(j).zip_mut_with(&part, |v, p| *v -= p);
            }
            let length = a.column(j).dot(&a.column(j)).sqrt();
            a.column_mut(j).mapv_inplace(|v| v / length);
        }
    }
    a
}

/// Where each of `n` points goes.
pub fn permutation(n: usize, seed: u64) -> Vec<usize> {
    let mut rng = rng(seed);
    let mut order: Vec<usize> = (0..n).collect();
    (1..n).rev().for_each(|i| order.swap(i, pick(&mut rng, i + 1)));
    order
}
