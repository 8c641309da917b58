//! The linear map that makes an embedding as isometric as a linear map can: the least R_N (Goldberg & Ritov, eq. 4) of
//! Y B over all d x d matrices B. It undoes the scaling of axes by normalized outputs, but no collapse.
//!
//! With S_i = Y_i'HY_i and M_i = X_i'HY_i, both over |H X_i|^2, n R_N is the sum of 1 + tr(B'S_i B) - 2 |M_i B|, with
//! |.| the sum of singular values. As a function of C = BB' this is convex, so there is one minimum. (It is a
//! barycenter of the M_i'M_i in the metric of Bures and Wasserstein.) Best frames and best B in turn lead there: where
//! sum of S_i = I, the best B for the frames O_i is the sum of M_i'O_i. Only the polar factor P_i of M_i = A_i P_i is
//! stored.
//!
//! Cost: O(n k q d), then O(n d^3) for each of about ten steps. Memory: d^2 numbers per point.

use crate::charts::{Alignment, Local, check_components, check_lengths, members};
use crate::error::Result;
use crate::linalg::{column, dot, orthogonal_factor, symmetric_eigen};
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;
use crate::parallel::{fill_rows, map_blocks, map_points};
use crate::points::Points;

const STAGE: &str = "rectify";

const STEPS: usize = 1000; // Maximum number of steps of the search.
const SETTLED: f64 = 1e-12; // It ends as soon as a step changes the map by less than this share.

/// Directions in which the embedding has less than this share of its largest squared extent are ignored.
const FLAT: f64 = 1e-28;

/// A neighborhood smaller than this share of the largest is a single spot, which any map shows as it is.
const SPOT: f64 = 1e-100;

/// The best linear map.
#[derive(Debug, Clone, PartialEq)]
pub struct Rectified {
    /// d x d, symmetric: Y B is rotated as little as possible.
    pub matrix: Vec<f64>,
    /// Number of times that frames and map were found in turn.
    pub steps: usize,
}

/// Finds the map for embedding `y` of `x`.
///
/// ```
/// use ndarray::array;
/// use unbend::neighbors::{Search, nearest};
/// use unbend::{Points, Unmonitored, embed::rectify};
/// let x = array![[0.0, 0.0], [4.0, 0.0], [0.0, 1.0], [4.0, 1.0], [2.0, 3.0]];
/// let y = &x * &array![0.5, 10.0]; // axes that were scaled
/// let (x, y) = (Points::new("X", x.view(), &Unmonitored)?, Points::new("Y", y.view(), &Unmonitored)?);
/// let graph = nearest(&x, 3, Search::Auto, &Unmonitored)?.neighborhoods;
/// let matrix = rectify(&x, &y, &graph, &Unmonitored)?.matrix;
/// assert!((matrix[0] - 2.0).abs() < 1e-9 && (matrix[3] - 0.1).abs() < 1e-9 && matrix[1].abs() < 1e-9);
/// # Ok::<(), unbend::Error>(())
/// ```
pub fn rectify(x: &Points, y: &Points, graph: &Neighborhoods, monitor: &dyn Monitor) -> Result<Rectified> {
    check_components(y.dim(), x.dim())?;
    check_lengths(x, "X", graph)?;
    check_lengths(y, "Y", graph)?;
    let d = y.dim();
    let units = [largest(x, graph, monitor)?, largest(y, graph, monitor)?];
    if units.contains(&0.0) {
        return Ok(Rectified { matrix: vec![0.0; d * d], steps: 0 });
    }
    let factors = factors(x, y, units, graph, monitor)?;
    let total = sum(&factors, d, monitor, |factors, total| add(&factors[d * d..], total))?;
    let white = whitening(total, d);
    let (map, steps) = search(&factors, &white, d, monitor)?;
    let mut matrix = unturned(&multiply(&white, &map, d), d);
    matrix.iter_mut().for_each(|v| *v *= units[0] / units[1]);
    Ok(Rectified { matrix, steps })
}

fn largest(points: &Points, graph: &Neighborhoods, monitor: &dyn Monitor) -> Result<f64> {
    let norms2 = map_points(points.len(), STAGE, monitor, Local::default, |local, i| {
        local.load(points, members(graph, i, true), points.dim());
        local.norm2
    })?;
    Ok(norms2.into_iter().fold(0.0, f64::max).sqrt())
}

/// For each neighborhood P_i, then S_i, in units of the largest ones; zeros where the data coincide.
fn factors(
    x: &Points,
    y: &Points,
    [unit_x, unit_y]: [f64; 2],
    graph: &Neighborhoods,
    monitor: &dyn Monitor,
) -> Result<Vec<f64>> {
    let d = y.dim();
    let mut all = vec![0.0; x.len() * 2 * d * d];
    let state = || (Local::default(), Local::default(), Alignment::default());
    fill_rows(&mut all, 2 * d * d, STAGE, monitor, state, |(left, right, alignment), i, row| {
        left.load_reduced(x, members(graph, i, true), d);
        right.load(y, members(graph, i, true), d);
        let size = left.norm2.sqrt() / unit_x;
        if size <= SPOT {
            return;
        }
        left.x.iter_mut().for_each(|v| *v /= unit_x * size);
        right.x.iter_mut().for_each(|v| *v /= unit_y * size);
        alignment.fit(&left.x, left.dim, &right.x, d, left.padded);
        let (p, s) = row.split_at_mut(d * d);
        inner(&alignment.frame, &alignment.product, left.dim, d, p);
        inner(&right.x, &right.x, right.padded, d, s);
    })?;
    Ok(all)
}

/// a'b, for matrices of `d` columns.
fn inner(a: &[f64], b: &[f64], rows: usize, d: usize, out: &mut [f64]) {
    for j in 0..d {
        for i in 0..d {
            out[j * d + i] = dot(column(a, rows, i), column(b, rows, j));
        }
    }
}

fn add(term: &[f64], total: &mut [f64]) {
    total.iter_mut().zip(term).for_each(|(t, v)| *t += v);
}

/// The sum over all neighborhoods of what `term` adds to a d x d matrix.
fn sum(
    factors: &[f64],
    d: usize,
    monitor: &dyn Monitor,
    term: impl Fn(&[f64], &mut [f64]) + Sync,
) -> Result<Vec<f64>> {
    let width = 2 * d * d;
    let blocks = map_blocks(factors.len() / width, STAGE, monitor, |block| {
        let mut part = vec![0.0; d * d];
        block.for_each(|i| term(&factors[i * width..][..width], &mut part));
        part
    })?;
    let mut total = vec![0.0; d * d];
    blocks.iter().for_each(|part| add(part, &mut total));
    Ok(total)
}

/// L with L' S L = I on the directions that there are, and 0 on the others.
fn whitening(mut s: Vec<f64>, d: usize) -> Vec<f64> {
    let (mut values, mut scratch) = (vec![0.0; d], vec![]);
    symmetric_eigen(&mut s, d, &mut values, &mut scratch);
    for (axis, &value) in s.chunks_exact_mut(d).zip(&values) {
        let scale = if value > FLAT * values[0] { 1.0 / value.sqrt() } else { 0.0 };
        axis.iter_mut().for_each(|v| *v *= scale);
    }
    s
}

/// Best frames and best map in turn, in the coordinates in which sum of S_i = I.
fn search(factors: &[f64], white: &[f64], d: usize, monitor: &dyn Monitor) -> Result<(Vec<f64>, usize)> {
    let mut map: Vec<f64> = (0..d * d).map(|at| f64::from(at % (d + 1) == 0)).collect();
    for step in 1..=STEPS {
        let target = multiply(white, &map, d);
        let turned = sum(factors, d, monitor, |factors, total| pull(&factors[..d * d], &target, d, total))?;
        let next = multiply_transposed(white, &turned, d);
        let change = next.iter().zip(&map).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        let size = dot(&next, &next);
        map = next;
        if change <= SETTLED * SETTLED * size {
            return Ok((map, step));
        }
    }
    Ok((map, STEPS))
}

/// Adds P'O to `total` for the best frame O of the map `target`, the orthogonal factor of P B. (P is not quite
/// symmetric.)
fn pull(p: &[f64], target: &[f64], d: usize, total: &mut [f64]) {
    let mut image = multiply(p, target, d);
    let (mut frame, mut scratch) = (vec![0.0; d * d], vec![]);
    orthogonal_factor(&mut image, d, d, &mut frame, &mut scratch);
    add(&multiply_transposed(p, &frame, d), total);
}

/// The symmetric matrix with the same BB'.
fn unturned(b: &[f64], d: usize) -> Vec<f64> {
    let transposed: Vec<f64> = (0..d * d).map(|at| b[at % d * d + at / d]).collect();
    let (mut frame, mut scratch) = (vec![0.0; d * d], vec![]);
    orthogonal_factor(&mut transposed.clone(), d, d, &mut frame, &mut scratch);
    let turned = multiply(b, &frame, d);
    (0..d * d).map(|at| (turned[at] + turned[at % d * d + at / d]) / 2.0).collect()
}

fn multiply(a: &[f64], b: &[f64], d: usize) -> Vec<f64> {
    let mut out = vec![0.0; d * d];
    for (out, b) in out.chunks_exact_mut(d).zip(b.chunks_exact(d)) {
        for (a, &weight) in a.chunks_exact(d).zip(b) {
            out.iter_mut().zip(a).for_each(|(o, a)| *o += a * weight);
        }
    }
    out
}

/// a'b, all d x d.
fn multiply_transposed(a: &[f64], b: &[f64], d: usize) -> Vec<f64> {
    let mut out = vec![0.0; d * d];
    inner(a, b, d, d, &mut out);
    out
}
