//! Sums of rank differences: of one point at every k, and of many points.

use std::array::from_fn;
use std::ops::AddAssign;

use super::{Base, RankMeasure, RankTables};

/// The first list of shifts.
const SHIFT: usize = Base::FalseShift as usize;

/// The sums of one point.
pub struct Sums {
    /// For each [`Base`] the sum at every k, or |r - s| at each rank s alone.
    lists: [Vec<u64>; 5],
    begun: Vec<u64>,
}

impl Sums {
    pub fn new(k: usize) -> Self {
        Sums { lists: from_fn(|_| vec![0; k]), begun: vec![0; 2 * (k + 2)] }
    }

    pub fn load(&mut self, tables: &RankTables, i: usize) {
        let row = i * tables.k..(i + 1) * tables.k;
        let sides = [&tables.in_x[row.clone()], &tables.in_y[row]];
        for (side, ranks) in sides.into_iter().enumerate() {
            penalties(ranks, &mut self.begun, &mut self.lists[side]);
            for (shift, (s, &r)) in self.lists[SHIFT + side].iter_mut().zip((1..).zip(ranks)) {
                *shift = u64::from(r.abs_diff(s));
            }
        }
        let shared = &mut self.lists[Base::Shared as usize];
        shared.fill(0);
        for (s, &r) in sides[0].iter().enumerate() {
            let both = s.max(r as usize - 1); // the least k, less 1, at which it is near on both sides
            if both < tables.k {
                shared[both] += 1;
            }
        }
        (1..tables.k).for_each(|s| shared[s] += shared[s - 1]);
    }

    pub fn of(&self, base: Base, k: usize) -> f64 {
        sum(&self.lists, base, k)
    }
}

fn sum(lists: &[Vec<u64>; 5], base: Base, k: usize) -> f64 {
    let list = &lists[base as usize][..k];
    if base.is_shift() {
        list.iter().zip(1..).map(|(&v, s)| v as f64 / f64::from(s)).sum()
    } else {
        list[k - 1] as f64
    }
}

/// Sum of r - k over those of the first k ranks that exceed k, for every k. A rank r at place s counts from k = s to
/// r - 1.
fn penalties(ranks: &[u32], begun: &mut [u64], penalties: &mut [u64]) {
    let k = ranks.len();
    begun.fill(0);
    // number of terms that count from each k on, and their ranks; sums wrap around
    let (counts, sums) = begun.split_at_mut(k + 2);
    for (s, &r) in (1..).zip(ranks).filter(|&(s, &r)| r > s) {
        let (begin, end) = (s as usize, (r as usize).min(k + 1));
        counts[begin] = counts[begin].wrapping_add(1);
        sums[begin] = sums[begin].wrapping_add(u64::from(r));
        counts[end] = counts[end].wrapping_sub(1);
        sums[end] = sums[end].wrapping_sub(u64::from(r));
    }
    let (mut count, mut sum) = (0u64, 0u64);
    for k in 1..=k {
        (count, sum) = (count.wrapping_add(counts[k]), sum.wrapping_add(sums[k]));
        penalties[k - 1] = sum - count * k as u64;
    }
}

/// The sums of many points, and of their squares.
#[derive(Debug, Clone, PartialEq)]
pub struct Totals {
    lists: [Vec<u64>; 5],
    /// Squares of intrusion, extrusion and shared.
    squares: [Vec<u128>; 3],
    /// Squares of the weighted sums of shifts up to each k, false and missing.
    shift_squares: [Vec<f64>; 2],
    /// Areas and their squares.
    pub area: (f64, f64),
}

impl Totals {
    pub fn new(k: usize) -> Self {
        Totals {
            lists: from_fn(|_| vec![0; k]),
            squares: from_fn(|_| vec![0; k]),
            shift_squares: from_fn(|_| vec![0.0; k]),
            area: (0.0, 0.0),
        }
    }

    pub fn add(&mut self, point: &Sums, tables: &RankTables) {
        add(&mut self.lists, &point.lists);
        for (squares, sums) in self.squares.iter_mut().zip(&point.lists) {
            squares.iter_mut().zip(sums).for_each(|(square, &v)| *square += u128::from(v) * u128::from(v));
        }
        for (squares, shifts) in self.shift_squares.iter_mut().zip(&point.lists[SHIFT..]) {
            let mut weighted = 0.0;
            for (s, (square, &shift)) in squares.iter_mut().zip(shifts).enumerate() {
                weighted += shift as f64 / (s + 1) as f64;
                *square += weighted * weighted;
            }
        }
        let area = Weights::new(tables.n, tables.k).area(|k| point.of(Base::Shared, k));
        self.area = (self.area.0 + area, self.area.1 + area * area);
    }

    pub fn merge(&mut self, part: &Totals) {
        add(&mut self.lists, &part.lists);
        add(&mut self.squares, &part.squares);
        add(&mut self.shift_squares, &part.shift_squares);
        self.area = (self.area.0 + part.area.0, self.area.1 + part.area.1);
    }

    /// Sum and sum of squares.
    pub fn of(&self, base: Base, k: usize) -> (f64, f64) {
        let list = base as usize;
        let square = if base.is_shift() {
            self.shift_squares[list - SHIFT][k - 1]
        } else {
            self.squares[list][k - 1] as f64
        };
        (sum(&self.lists, base, k), square)
    }
}

fn add<T: AddAssign + Copy>(totals: &mut [Vec<T>], parts: &[Vec<T>]) {
    for (total, part) in totals.iter_mut().zip(parts) {
        total.iter_mut().zip(part).for_each(|(total, &part)| *total += part);
    }
}

/// Weights of R_NX in the area under it.
pub struct Weights {
    n: usize,
    k: usize,
}

impl Weights {
    pub fn new(n: usize, k: usize) -> Self {
        Weights { n, k: k.min(n.saturating_sub(2)) }
    }

    pub fn area(&self, shared: impl Fn(usize) -> f64) -> f64 {
        let (mut area, mut whole) = (0.0, 0.0);
        for k in 1..=self.k {
            let (offset, slope) = RankMeasure::RNx.affine(self.n, k);
            area += (offset + slope * shared(k)) / k as f64;
            whole += 1.0 / k as f64;
        }
        if whole > 0.0 { area / whole } else { 0.0 }
    }
}
