//! Cholesky factor of a sparse matrix by the multifrontal method (Duff & Reid 1983), on the tree of a nested
//! dissection.
//!
//! The unknowns of a part, its *pivots*, and those above that they are coupled with, its *boundary*, form a dense
//! *front*: the entries of the matrix, and the contributions of the fronts of both halves. Pivots are eliminated in
//! blocks, by products of dense matrices. The rest is the contribution to the front above. Halves run in parallel and
//! are added in order, so the factor is thread-count independent.
//!
//! Cost for n points of a surface: O(n^1.5) products, memory O(n log n). Both are known before: [`Plan`].

mod dissection;

mod dense;
mod plan;
mod solve;

pub use dissection::{Dissection, Part, dissect};
pub use plan::Plan;

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use self::dense::{eliminate, pass_on};
use self::plan::Shape;
use crate::csr::CsrView;
use crate::error::{Error, Result};
use crate::monitor::Monitor;

/// Number of right-hand sides that are solved at once.
pub const SIDES: usize = 8;

/// One row of all right-hand sides.
pub type Row = [f64; SIDES];

const FEW: usize = 2048; // Fronts and subtrees with fewer unknowns run on one thread.

/// Both results; in parallel if there are enough unknowns.
fn fork<A: Send, B: Send>(n: usize, a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    if n < FEW { (a(), b()) } else { rayon::join(a, b) }
}

/// L with P (M + shift) P' = L L', where P is the order of elimination.
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
    /// Places of its boundary in the front above.
    into: Vec<u32>,
    /// Its columns of L, row after row: those of pivots, then those of the boundary.
    lower: Vec<f64>,
    halves: Vec<Front>,
}

/// The reason why there is no factor.
#[derive(Debug)]
pub enum Failure {
    /// The matrix is not positive definite.
    NotPositive,
    /// The factorization was stopped, or there is not enough memory.
    Other(Error),
}

type Outcome<T> = std::result::Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Other(error)
    }
}

struct Task<'t> {
    matrix: &'t CsrView<'t, f64>,
    plan: &'t Plan,
    shift: f64,
    monitor: &'t dyn Monitor,
    done: AtomicUsize,
    all: usize,
}

impl Factor {
    /// Factors `matrix` with `shift` added to its diagonal, as `plan` says.
    pub fn new(matrix: &CsrView<'_, f64>, plan: &Plan, shift: f64, monitor: &dyn Monitor) -> Outcome<Factor> {
        let all = plan.products() as usize;
        let task = Task { matrix, plan, shift, monitor, done: AtomicUsize::new(0), all };
        let (root, _) = task.front(&plan.root, 0, &[])?;
        Ok(Factor { order: plan.order.clone(), root })
    }

    /// Replaces the right-hand sides by the solutions.
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
    /// The eliminated front of `shape`, and its contribution to its boundary. `above` has the places of the front
    /// above.
    fn front(&self, shape: &Shape, start: usize, above: &[u32]) -> Outcome<(Front, Vec<f64>)> {
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

    fn halves(&self, shape: &Shape, start: usize, places: &[u32]) -> Outcome<Vec<(Front, Vec<f64>)>> {
        let [left, right] = shape.halves.as_slice() else { return Ok(Vec::new()) };
        let make_left = || self.front(left, start, places);
        let make_right = || self.front(right, start + left.total, places);
        let (left, right) = fork(shape.total, make_left, make_right);
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

/// The places of `members` in `places`; both increase.
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

/// Adds the lower triangle of the contribution of a half.
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
