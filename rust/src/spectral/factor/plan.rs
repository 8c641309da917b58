//! The size and cost of a factorization, known before it is done.

use super::dissection::{Part, dissect};
use super::fork;
use crate::csr::CsrView;
use crate::error::Result;
use crate::monitor::Monitor;

/// The order, size and cost of a factorization.
#[derive(Debug)]
pub struct Plan {
    /// Unknowns in the order of elimination.
    pub(super) order: Vec<u32>,
    /// The place of every unknown in this order.
    pub(super) place: Vec<u32>,
    pub(super) root: Shape,
}

/// A front without numbers.
#[derive(Debug)]
pub struct Shape {
    pub pivots: usize,
    pub total: usize,
    pub boundary: Vec<u32>,
    pub halves: Vec<Shape>,
}

impl Plan {
    /// Finds the order and the places of all entries. Cost: O(entries log n).
    pub fn new(matrix: &CsrView<'_, f64>, monitor: &dyn Monitor) -> Result<Plan> {
        let dissection = dissect(matrix.indptr, matrix.indices, monitor)?;
        let order = dissection.order;
        let mut place = vec![0; order.len()];
        for (p, &i) in order.iter().enumerate() {
            place[i as usize] = p as u32;
        }
        let root = Shaping { matrix, order: &order, place: &place, monitor }.shape(&dissection.root, 0)?;
        Ok(Plan { order, place, root })
    }

    /// Number of entries of the factor, including zeros in dense fronts.
    pub fn entries(&self) -> usize {
        self.root.sum(&|s| s.pivots * (s.pivots + s.boundary.len()))
    }

    /// Number of multiplications of the factorization.
    pub fn products(&self) -> f64 {
        self.root.sum(&Shape::products)
    }

    /// Maximum number of entries held at a time, if one thread makes all fronts.
    pub fn peak(&self) -> usize {
        self.root.peak().1
    }
}

impl Shape {
    fn sum<T: std::iter::Sum<T> + std::ops::Add<Output = T>>(&self, f: &impl Fn(&Shape) -> T) -> T {
        f(self) + self.halves.iter().map(|half| half.sum(f)).sum()
    }

    /// Number of multiplications that eliminate its pivots.
    pub fn products(&self) -> f64 {
        let (p, b) = (self.pivots as f64, self.boundary.len() as f64);
        p * (p * p / 6.0 + p * b / 2.0 + b * b / 2.0)
    }

    /// Number of entries held at the end of this subtree, and the maximum before.
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

struct Shaping<'t> {
    matrix: &'t CsrView<'t, f64>,
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
