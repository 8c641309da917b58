//! Cholesky factors of a sparse matrix: the multifrontal method (Duff & Reid 1983) on the tree of a nested dissection.
//!
//! The unknowns of a part, its *pivots*, and those above that it is coupled with, its *boundary*, make a dense *front*:
//! the entries of the matrix, and what the fronts of both halves pass on. Pivots are eliminated by blocks, in products
//! of dense matrices, and what remains on the boundary is passed on.
//!
//! Halves run in parallel and are added in order, and large products are split by rows, whatever the number of threads:
//! the bits of the factor do not depend on it. The monitor is asked between blocks, so it can be stopped at any time.
//!
//! Cost for n points of a surface: O(n^1.5) products, memory O(n log n), both known exactly before: [`Plan`].

use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, Axis};
use pulp::Arch;
use rayon::prelude::*;

use super::order::{Part, dissect};
use super::sparse::Sparse;
use crate::error::{Error, Result};
use crate::monitor::Monitor;

/// How many right-hand sides are solved at once.
pub const SIDES: usize = 8;

/// One number of each right-hand side.
pub type Row = [f64; SIDES];

/// Pivots that are eliminated at once.
const BLOCK: usize = 48;

/// Rows of a front that one thread handles at once.
const ROWS: usize = 128;

/// The same, when they are only read.
const READ: usize = 512;

/// Fronts and subtrees below this size are not worth a second thread.
const FEW: usize = 2048;

/// What a factorisation holds and does, before it is done.
#[derive(Debug)]
pub struct Plan {
    /// Unknowns in the order of elimination.
    order: Vec<u32>,
    /// The place of every unknown in this order.
    place: Vec<u32>,
    root: Shape,
}

/// A front without numbers.
#[derive(Debug)]
struct Shape {
    pivots: usize,
    total: usize,
    boundary: Vec<u32>,
    halves: Vec<Shape>,
}

impl Plan {
    /// Finds the order and the places of all entries. Cost: O(entries log n).
    pub fn new(matrix: &Sparse<'_>, monitor: &dyn Monitor) -> Result<Plan> {
        let dissection = dissect(matrix.indptr, matrix.indices, monitor)?;
        let order = dissection.order;
        let mut place = vec![0; order.len()];
        for (p, &i) in order.iter().enumerate() {
            place[i as usize] = p as u32;
        }
        let root = Shaping { matrix, order: &order, place: &place, monitor }.shape(&dissection.root, 0)?;
        Ok(Plan { order, place, root })
    }

    /// How many numbers the factor holds, zeros of dense fronts among them.
    pub fn entries(&self) -> usize {
        self.root.sum(&|s| s.pivots * (s.pivots + s.boundary.len()))
    }

    /// How many multiplications the factorisation takes.
    pub fn products(&self) -> f64 {
        self.root.sum(&Shape::products)
    }

    /// The most numbers that are held at once, with what fronts pass on, if one thread makes all fronts.
    pub fn peak(&self) -> usize {
        self.root.peak().1
    }
}

impl Shape {
    fn sum<T: std::iter::Sum<T> + std::ops::Add<Output = T>>(&self, f: &impl Fn(&Shape) -> T) -> T {
        f(self) + self.halves.iter().map(|half| half.sum(f)).sum()
    }

    /// How many multiplications eliminate its pivots.
    fn products(&self) -> f64 {
        let (p, b) = (self.pivots as f64, self.boundary.len() as f64);
        p * (p * p / 6.0 + p * b / 2.0 + b * b / 2.0)
    }

    /// What is held when this is done, and the most on the way.
    fn peak(&self) -> (usize, usize) {
        let (p, b) = (self.pivots, self.boundary.len());
        let (mut held, mut most) = (0, 0);
        for half in &self.halves {
            let (keeps, needs) = half.peak();
            most = most.max(held + needs);
            held += keeps;
        }
        let passed: usize = self.halves.iter().map(|half| half.boundary.len().pow(2)).sum();
        let front = p * (p + b) + b * b;
        (held - passed + front, most.max(held + front))
    }
}

/// What all shapes are made from.
struct Shaping<'t> {
    matrix: &'t Sparse<'t>,
    order: &'t [u32],
    place: &'t [u32],
    monitor: &'t dyn Monitor,
}

impl Shaping<'_> {
    /// The front of `part`, whose subtree is eliminated from place `start` on.
    fn shape(&self, part: &Part, start: usize) -> Result<Shape> {
        self.monitor.check()?;
        let (pivots, total) = (part.len, part.total());
        let halves = match part.halves.as_slice() {
            [left, right] => {
                let make_left = || self.shape(left, start);
                let make_right = || self.shape(right, start + left.total());
                let (left, right) = fork(total, make_left, make_right);
                vec![left?, right?]
            }
            _ => Vec::new(),
        };
        let end = (start + total) as u32;
        let mut boundary: Vec<u32> = Vec::new();
        halves.iter().for_each(|half| boundary.extend(half.boundary.iter().filter(|&&q| q >= end)));
        for &i in &self.order[start + part.below..start + total] {
            let places = self.matrix.row(i as usize).map(|(j, _)| self.place[j]);
            boundary.extend(places.filter(|&q| q >= end));
        }
        boundary.sort_unstable();
        boundary.dedup();
        Ok(Shape { pivots, total, boundary, halves })
    }
}

/// Both results; in parallel if there are enough unknowns.
fn fork<A: Send, B: Send>(
    unknowns: usize,
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    if unknowns < FEW { (a(), b()) } else { rayon::join(a, b) }
}

/// L with P (M + shift) P' = L L', P the order of elimination.
#[derive(Debug)]
pub struct Factor {
    order: Vec<u32>,
    root: Front,
}

/// A dense piece of L.
#[derive(Debug)]
struct Front {
    pivots: usize,
    total: usize,
    /// Where its boundary lies in the front above.
    into: Vec<u32>,
    /// Its columns of L, row after row: those of pivots, then those of the boundary.
    lower: Vec<f64>,
    halves: Vec<Front>,
}

/// Why there is no factor.
#[derive(Debug)]
pub enum Failure {
    /// The matrix is not positive definite.
    NotPositive,
    /// It was stopped, or anything else.
    Other(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Other(error)
    }
}

/// What all fronts are made from.
struct Task<'t> {
    matrix: &'t Sparse<'t>,
    plan: &'t Plan,
    shift: f64,
    monitor: &'t dyn Monitor,
    done: AtomicUsize,
    all: usize,
}

impl Factor {
    /// Factors `matrix` with `shift` added to its diagonal.
    pub fn new(
        matrix: &Sparse<'_>,
        plan: &Plan,
        shift: f64,
        monitor: &dyn Monitor,
    ) -> std::result::Result<Factor, Failure> {
        let all = plan.products() as usize;
        let task = Task { matrix, plan, shift, monitor, done: AtomicUsize::new(0), all };
        let (root, _) = task.front(&plan.root, 0, &[])?;
        Ok(Factor { order: plan.order.clone(), root })
    }

    /// Overwrites the right-hand sides with the solutions.
    pub fn solve(&self, sides: &mut [Row], monitor: &dyn Monitor) -> Result<()> {
        let mut x: Vec<Row> = self.order.par_iter().map(|&i| sides[i as usize]).collect();
        self.root.forward(&mut x, monitor)?;
        self.root.backward(&mut x, &[], monitor)?;
        for (p, &i) in self.order.iter().enumerate() {
            sides[i as usize] = x[p];
        }
        Ok(())
    }
}

impl Task<'_> {
    /// The front of `shape`, eliminated, and what it passes on to its boundary. `above` are the places of the front
    /// above, pivots and boundary.
    fn front(
        &self,
        shape: &Shape,
        start: usize,
        above: &[u32],
    ) -> std::result::Result<(Front, Vec<f64>), Failure> {
        self.monitor.check()?;
        let (p, b) = (shape.pivots, shape.boundary.len());
        let first = start + shape.total - p;
        let places: Vec<u32> =
            (first..first + p).map(|q| q as u32).chain(shape.boundary.iter().copied()).collect();
        let halves = self.halves(shape, start, &places)?;
        let mut lower = zeros((p + b) * p)?;
        let mut rest = zeros(b * b)?;
        self.enter(&mut lower, &places, first, p);
        let mut kept = Vec::with_capacity(halves.len());
        for (half, passed) in halves {
            add_passed(&half.into, &passed, p, &mut lower, &mut rest);
            kept.push(half);
        }
        eliminate(&mut lower, p, self.monitor)?;
        pass_on(&lower[p * p..], p, &mut rest, self.monitor)?;
        let into = positions(&shape.boundary, above);
        let own = shape.products() as usize;
        let before = self.done.fetch_add(own, Ordering::Relaxed);
        self.monitor.progress("factor", (before + own).min(self.all), self.all);
        Ok((Front { pivots: p, total: shape.total, into, lower, halves: kept }, rest))
    }

    #[allow(clippy::type_complexity)]
    fn halves(
        &self,
        shape: &Shape,
        start: usize,
        places: &[u32],
    ) -> std::result::Result<Vec<(Front, Vec<f64>)>, Failure> {
        let [left, right] = shape.halves.as_slice() else { return Ok(Vec::new()) };
        let make_left = || self.front(left, start, places);
        let make_right = || self.front(right, start + left.total, places);
        let (left, right) =
            if shape.total < FEW { (make_left(), make_right()) } else { rayon::join(make_left, make_right) };
        Ok(vec![left?, right?])
    }

    /// The entries of the matrix in the columns of the pivots, which begin at place `first`.
    fn enter(&self, lower: &mut [f64], places: &[u32], first: usize, p: usize) {
        for c in 0..p {
            let i = self.plan.order[first + c] as usize;
            lower[c * p + c] += self.shift;
            for (j, value) in self.matrix.row(i) {
                let q = self.plan.place[j] as usize;
                if q < first + c {
                    continue;
                }
                let row = if q < first + p {
                    q - first
                } else {
                    p + places[p..].partition_point(|&place| (place as usize) < q)
                };
                lower[row * p + c] += value;
            }
        }
    }
}

/// Zeros, or an error if there is no memory for them. They are touched when they are first used, by all threads.
fn zeros(len: usize) -> Result<Vec<f64>> {
    Vec::<f64>::new()
        .try_reserve_exact(len)
        .map_err(|_| Error::OutOfMemory { bytes: size_of::<f64>() * len })?;
    Ok(vec![0.0; len])
}

/// Where `members` stand in `places`; both increase.
fn positions(members: &[u32], places: &[u32]) -> Vec<u32> {
    let mut at = 0;
    members
        .iter()
        .map(|&member| {
            at += places[at..].partition_point(|&place| place < member);
            at as u32
        })
        .collect()
}

/// Adds the lower triangle of what a half passes on.
fn add_passed(into: &[u32], passed: &[f64], p: usize, lower: &mut [f64], rest: &mut [f64]) {
    let b = into.len();
    let width = rest.len().isqrt();
    let pivots = into.partition_point(|&q| (q as usize) < p);
    for (r, &row) in into.iter().enumerate() {
        let row = row as usize;
        let entries = &passed[r * b..r * b + r + 1];
        let split = pivots.min(r + 1);
        for (&column, value) in into[..split].iter().zip(entries) {
            lower[row * p + column as usize] += value;
        }
        if row >= p {
            let target = &mut rest[(row - p) * width..(row - p + 1) * width];
            for (&column, value) in into[split..r + 1].iter().zip(&entries[split..]) {
                target[column as usize - p] += value;
            }
        }
    }
}

/// Cholesky of the first `p` rows of `lower`, whose rows have `p` entries, and the same elimination in all others.
fn eliminate(lower: &mut [f64], p: usize, monitor: &dyn Monitor) -> std::result::Result<(), Failure> {
    for k in (0..p).step_by(BLOCK) {
        let width = BLOCK.min(p - k);
        subtract_left(&mut lower[k * p..], p, k, width, monitor)?;
        let mut corner = block(lower, p, k, width);
        if !cholesky(&mut corner, width) {
            return Err(Failure::NotPositive);
        }
        for r in 0..width {
            lower[(k + r) * p + k..(k + r) * p + k + width]
                .copy_from_slice(&corner[r * width..(r + 1) * width]);
        }
        let inverse = inverse(&corner, width);
        divide(&mut lower[(k + width) * p..], p, k, &inverse, width, monitor)?;
    }
    Ok(())
}

/// The square block on the diagonal at `k`.
fn block(lower: &[f64], p: usize, k: usize, width: usize) -> Vec<f64> {
    (0..width).flat_map(|r| &lower[(k + r) * p + k..(k + r) * p + k + width]).copied().collect()
}

/// Columns k to k + width of `rows`, less what the columns before them explain. The first rows are the pivots'.
fn subtract_left(rows: &mut [f64], p: usize, k: usize, width: usize, monitor: &dyn Monitor) -> Result<()> {
    if k == 0 {
        return Ok(());
    }
    let pivots: Vec<f64> = (0..width).flat_map(|r| &rows[r * p..r * p + k]).copied().collect();
    let pivots = view(&pivots, width, k);
    rows.par_chunks_mut(ROWS * p).try_for_each(|chunk| {
        monitor.check()?;
        let (left, right) = view_mut(chunk, p).split_at(Axis(1), k);
        let (mut columns, _) = right.split_at(Axis(1), width);
        general_mat_mul(-1.0, &left, &pivots.t(), 1.0, &mut columns);
        Ok(())
    })
}

/// Columns k to k + width of `rows`, times the transpose of `inverse`.
fn divide(
    rows: &mut [f64],
    p: usize,
    k: usize,
    inverse: &[f64],
    width: usize,
    monitor: &dyn Monitor,
) -> Result<()> {
    let inverse = view(inverse, width, width);
    rows.par_chunks_mut(ROWS * p).try_for_each(|chunk| {
        monitor.check()?;
        let (_, right) = view_mut(chunk, p).split_at(Axis(1), k);
        let (mut columns, _) = right.split_at(Axis(1), width);
        let before = columns.to_owned();
        general_mat_mul(1.0, &before, &inverse.t(), 0.0, &mut columns);
        Ok(())
    })
}

/// The lower triangle of `rest`, less the product of `rows` with their transpose.
fn pass_on(rows: &[f64], p: usize, rest: &mut [f64], monitor: &dyn Monitor) -> Result<()> {
    let b = rest.len().isqrt();
    if b == 0 || p == 0 {
        return Ok(());
    }
    let rows = view(rows, b, p);
    rest.par_chunks_mut(ROWS * b).enumerate().try_for_each(|(c, chunk)| {
        monitor.check()?;
        let (from, to) = (c * ROWS, c * ROWS + chunk.len() / b);
        let (known, _) = rows.split_at(Axis(0), to);
        let (_, mine) = known.split_at(Axis(0), from);
        let (mut target, _) = view_mut(chunk, b).split_at(Axis(1), to);
        general_mat_mul(-1.0, &mine, &known.t(), 1.0, &mut target);
        Ok(())
    })
}

fn view(values: &[f64], rows: usize, columns: usize) -> ArrayView2<'_, f64> {
    ArrayView2::from_shape((rows, columns), values).unwrap_or_else(|_| ArrayView2::from(&[[0.0; 0]; 0]))
}

fn view_mut(values: &mut [f64], columns: usize) -> ArrayViewMut2<'_, f64> {
    let rows = values.len() / columns;
    ArrayViewMut2::from_shape((rows, columns), values)
        .unwrap_or_else(|_| ArrayViewMut2::from(&mut [[0.0; 0]; 0]))
}

/// Overwrites the lower triangle of a small matrix with its Cholesky factor; false if it is not positive definite.
fn cholesky(a: &mut [f64], n: usize) -> bool {
    for i in 0..n {
        let (above, row) = a.split_at_mut(i * n);
        for j in 0..i {
            let other = &above[j * n..j * n + j + 1];
            let sum: f64 = row[..j].iter().zip(other).map(|(x, y)| x * y).sum();
            row[j] = (row[j] - sum) / other[j];
        }
        let rest = row[i] - row[..i].iter().map(|x| x * x).sum::<f64>();
        // a NaN is not positive either
        if rest.is_nan() || rest <= 0.0 {
            return false;
        }
        row[i] = rest.sqrt();
        row[i + 1..n].fill(0.0);
    }
    true
}

/// The inverse of a small lower triangular matrix.
fn inverse(lower: &[f64], n: usize) -> Vec<f64> {
    let mut x = vec![0.0; n * n];
    for i in 0..n {
        let (above, row) = x.split_at_mut(i * n);
        for (k, other) in above.chunks_exact(n).enumerate() {
            let l = lower[i * n + k];
            row[..=k].iter_mut().zip(other).for_each(|(r, o)| *r -= l * o);
        }
        row[i] = 1.0;
        let scale = 1.0 / lower[i * n + i];
        row[..=i].iter_mut().for_each(|r| *r *= scale);
    }
    x
}

const NONE: Row = [0.0; SIDES];

impl Front {
    /// L^-1 x on its subtree, in place, and what follows for its boundary, to be subtracted there.
    fn forward(&self, x: &mut [Row], monitor: &dyn Monitor) -> Result<Vec<Row>> {
        monitor.check()?;
        let p = self.pivots;
        let (below, own) = x.split_at_mut(self.total - p);
        let mut passed = vec![NONE; self.into.len()];
        for (half, follows) in self.halves.iter().zip(self.forward_halves(below, monitor)?) {
            for (&q, follow) in half.into.iter().zip(&follows) {
                match (q as usize).checked_sub(p) {
                    None => add(&mut own[q as usize], -1.0, follow),
                    Some(q) => add(&mut passed[q], 1.0, follow),
                }
            }
        }
        let (pivots, boundary) = self.lower.split_at(p * p);
        Arch::new().dispatch(|| solve_lower(pivots, own));
        let own = &*own;
        passed.par_chunks_mut(READ).zip(boundary.par_chunks((READ * p).max(1))).for_each(|(rows, lower)| {
            Arch::new().dispatch(|| accumulate(lower, own, rows));
        });
        Ok(passed)
    }

    fn forward_halves(&self, below: &mut [Row], monitor: &dyn Monitor) -> Result<Vec<Vec<Row>>> {
        let [left, right] = self.halves.as_slice() else { return Ok(Vec::new()) };
        let (x_left, x_right) = below.split_at_mut(left.total);
        let (of_left, of_right) =
            fork(self.total, || left.forward(x_left, monitor), || right.forward(x_right, monitor));
        Ok(vec![of_left?, of_right?])
    }

    /// L'^-1 x on its subtree, in place; `above` are the solutions on its boundary.
    fn backward(&self, x: &mut [Row], above: &[Row], monitor: &dyn Monitor) -> Result<()> {
        monitor.check()?;
        let p = self.pivots;
        let (below, own) = x.split_at_mut(self.total - p);
        let (pivots, boundary) = self.lower.split_at(p * p);
        let sums: Vec<Vec<Row>> = above
            .par_chunks(READ)
            .zip(boundary.par_chunks((READ * p).max(1)))
            .map(|(above, lower)| Arch::new().dispatch(|| transposed(lower, above, p)))
            .collect();
        for sum in &sums {
            own.iter_mut().zip(sum).for_each(|(x, s)| add(x, -1.0, s));
        }
        Arch::new().dispatch(|| solve_upper(pivots, own));
        let own = &*own;
        let gather = |half: &Front| -> Vec<Row> {
            half.into
                .iter()
                .map(|&q| own.get(q as usize).copied().unwrap_or_else(|| above[q as usize - p]))
                .collect()
        };
        let [left, right] = self.halves.as_slice() else { return Ok(()) };
        let (x_left, x_right) = below.split_at_mut(left.total);
        let (of_left, of_right) = fork(
            self.total,
            || left.backward(x_left, &gather(left), monitor),
            || right.backward(x_right, &gather(right), monitor),
        );
        of_left.and(of_right)
    }
}

#[inline(always)]
fn add(to: &mut Row, factor: f64, row: &Row) {
    for l in 0..SIDES {
        to[l] += factor * row[l];
    }
}

/// x <- L^-1 x.
#[inline(always)]
fn solve_lower(lower: &[f64], x: &mut [Row]) {
    let p = x.len();
    for r in 0..p {
        let (before, rest) = x.split_at_mut(r);
        let row = &lower[r * p..r * p + r + 1];
        let mut sum = rest[0];
        for (l, x) in row.iter().zip(before.iter()) {
            add(&mut sum, -l, x);
        }
        rest[0] = sum.map(|s| s / row[r]);
    }
}

/// x <- L'^-1 x.
#[inline(always)]
fn solve_upper(lower: &[f64], x: &mut [Row]) {
    let p = x.len();
    for r in (0..p).rev() {
        let (before, rest) = x.split_at_mut(r);
        let row = &lower[r * p..r * p + r + 1];
        rest[0] = rest[0].map(|s| s / row[r]);
        let own = rest[0];
        for (l, x) in row.iter().zip(before.iter_mut()) {
            add(x, -l, &own);
        }
    }
}

/// rows += L x.
#[inline(always)]
fn accumulate(lower: &[f64], x: &[Row], rows: &mut [Row]) {
    if x.is_empty() {
        return;
    }
    for (row, lower) in rows.iter_mut().zip(lower.chunks_exact(x.len())) {
        let mut sum = *row;
        for (l, x) in lower.iter().zip(x) {
            add(&mut sum, *l, x);
        }
        *row = sum;
    }
}

/// L' x, of `p` rows.
#[inline(always)]
fn transposed(lower: &[f64], x: &[Row], p: usize) -> Vec<Row> {
    let mut sums = vec![NONE; p];
    if p == 0 {
        return sums;
    }
    for (x, lower) in x.iter().zip(lower.chunks_exact(p)) {
        for (l, sum) in lower.iter().zip(sums.iter_mut()) {
            add(sum, *l, x);
        }
    }
    sums
}
