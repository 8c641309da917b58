//! An approximate inverse of the matrix of eq. 11 in Goldberg & Ritov, sum of w_i H_i, for conjugate gradients:
//! algebraic multigrid by smoothed aggregation (Vanek, Mandel & Brezina 1996).
//!
//! It is built on a Laplacian with an eighth of the entries: point i joined to each of its neighbors with weight w_i.
//! H_i <= star_i <= m_i H_i on the neighborhood of i, so sum w_i H_i never exceeds the Laplacian, and one cycle never
//! goes too far.
//!
//! A point joins an aggregate only along an edge that is strong *for that point*, so that the smoother reduces all
//! errors that an aggregate cannot represent. Coarse matrices are Laplacians again, stored as weights of edges, so
//! constants on components have exactly no effect on any level. A component that has become a single unknown needs no
//! solve.
//!
//! Cost: set-up and cycle O(n k), d columns at once. Memory: 16 bytes per edge and about 45 per point.

mod coarsen;
mod rows;

use rayon::prelude::*;

use self::coarsen::{aggregates, galerkin, laplacian, prolong};
use self::rows::Rows;
use super::{Centering, check_len};
use crate::error::Result;
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;

const GRAPH: &str = "the neighborhood graph";

const BLOCK: usize = 512; // Rows that one thread handles at once.
const FEW: usize = 4 * BLOCK; // With fewer rows, one thread is faster than several.

/// Damping of Jacobi steps. Gershgorin: below 1 every mode shrinks, and the cycle is positive.
const DAMPING: f64 = 0.9;

/// Weights below this share of the largest are raised to it, because single precision ends not far below.
const LIGHTEST: f64 = 1e-30;

/// Maximum ratio of coarse steps to the shortest fine step: rounding of large residuals must not become a wave where
/// weights are small. Long waves among smaller weights are left to conjugate gradients.
const RANGE: f32 = 1e12;

/// The levels of the multigrid, from fine to coarse.
#[derive(Debug)]
pub struct Multigrid {
    n: usize,
    /// The weight that is 1 on the levels.
    unit: f64,
    levels: Vec<Level>,
}

#[derive(Debug)]
struct Level {
    /// Weights of edges, in both directions.
    edges: Rows,
    /// Factors of residuals in a Jacobi step; 0 without edges.
    steps: Vec<f32>,
    /// Shares of aggregates in points: rows sum to 1. Nothing if no aggregate has a neighbor.
    prolongation: Rows,
    restriction: Rows,
}

impl Multigrid {
    /// For neighborhoods that weigh `weights`, each positive.
    pub fn new(graph: &Neighborhoods, weights: &[f64], monitor: &dyn Monitor) -> Result<Self> {
        Self::with_reversed(graph, &graph.reversed(), weights, monitor)
    }

    /// The same, for a graph whose reversed lists are given.
    pub(super) fn with_reversed(
        graph: &Neighborhoods,
        reversed: &Neighborhoods,
        weights: &[f64],
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let n = graph.len();
        check_len("weights", weights.len(), GRAPH, n)?;
        let unit = weights.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let mut edges = laplacian(graph, reversed, |i| (weights[i] / unit).max(LIGHTEST), monitor)?;
        let mut levels = vec![];
        loop {
            let (level, coarse) = Level::new(edges, monitor)?;
            levels.push(level);
            let Some(coarse) = coarse else { break };
            edges = coarse;
        }
        limit_steps(&mut levels);
        Ok(Multigrid { n, unit, levels })
    }

    /// Number of unknowns of each level.
    pub fn sizes(&self) -> Vec<usize> {
        self.levels.iter().map(|level| level.steps.len()).collect()
    }

    /// One cycle for `d` columns, point after point: `out` is about the inverse times `rhs`. Linear, symmetric and
    /// positive.
    pub fn cycle(&self, rhs: &[f64], d: usize, out: &mut [f64], monitor: &dyn Monitor) -> Result<()> {
        check_len("the right-hand side", rhs.len(), GRAPH, self.n * d)?;
        check_len("the place of the result", out.len(), GRAPH, self.n * d)?;
        match d {
            0 => Ok(()),
            1 => self.cycle_sized::<1>(rhs, out, monitor),
            2 => self.cycle_sized::<2>(rhs, out, monitor),
            3 => self.cycle_sized::<3>(rhs, out, monitor),
            4 => self.cycle_sized::<4>(rhs, out, monitor),
            5 => self.cycle_sized::<5>(rhs, out, monitor),
            6 => self.cycle_sized::<6>(rhs, out, monitor),
            8 => self.cycle_sized::<8>(rhs, out, monitor),
            10 => self.cycle_sized::<10>(rhs, out, monitor),
            _ => self.cycle_in_parts(rhs, d, out, monitor),
        }
    }

    /// The same between two centerings: the cycle adds constants on components only by rounding.
    pub fn cycle_centered(
        &self,
        centering: &Centering,
        rhs: &[f64],
        d: usize,
        out: &mut [f64],
        monitor: &dyn Monitor,
    ) -> Result<()> {
        let (mut centered, mut found) = (vec![0.0; rhs.len()], vec![0.0; rhs.len()]);
        centering.apply(rhs, d, &mut centered)?;
        self.cycle(&centered, d, &mut found, monitor)?;
        centering.apply(&found, d, out)
    }

    fn cycle_in_parts(&self, rhs: &[f64], d: usize, out: &mut [f64], monitor: &dyn Monitor) -> Result<()> {
        let mut first = 0;
        while first < d {
            first += match d - first {
                1 => self.cycle_some::<1>(rhs, d, first, out, monitor)?,
                2 => self.cycle_some::<2>(rhs, d, first, out, monitor)?,
                3 => self.cycle_some::<3>(rhs, d, first, out, monitor)?,
                4..8 => self.cycle_some::<4>(rhs, d, first, out, monitor)?,
                _ => self.cycle_some::<8>(rhs, d, first, out, monitor)?,
            };
        }
        Ok(())
    }

    /// Some columns from `first` on; returns how many.
    fn cycle_some<const D: usize>(
        &self,
        rhs: &[f64],
        d: usize,
        first: usize,
        out: &mut [f64],
        monitor: &dyn Monitor,
    ) -> Result<usize> {
        let part: Vec<f64> =
            rhs.chunks_exact(d).flat_map(|row| row[first..first + D].iter().copied()).collect();
        let mut found = vec![0.0; part.len()];
        self.cycle_sized::<D>(&part, &mut found, monitor)?;
        let rows = out.chunks_exact_mut(d).zip(found.chunks_exact(D));
        rows.for_each(|(row, found)| row[first..first + D].copy_from_slice(found));
        Ok(D)
    }

    fn cycle_sized<const D: usize>(&self, rhs: &[f64], out: &mut [f64], monitor: &dyn Monitor) -> Result<()> {
        let out = out.as_chunks_mut::<D>().0;
        self.descend(0, rhs.as_chunks::<D>().0, out, monitor)?;
        let unit = self.unit;
        out.par_iter_mut().with_min_len(BLOCK).for_each(|row| *row = row.map(|v| v / unit));
        Ok(())
    }

    /// The V-cycle from level `l` down: one Jacobi step before and one after the coarser levels.
    fn descend<const D: usize>(
        &self,
        l: usize,
        b: &[[f64; D]],
        out: &mut [[f64; D]],
        monitor: &dyn Monitor,
    ) -> Result<()> {
        let level = &self.levels[l];
        let mut x = level.first_step(b);
        monitor.check()?;
        if l + 1 < self.levels.len() {
            level.edges.fill(out, |i, columns, values, r| *r = less(b[i], flow(&x, i, columns, values)));
            monitor.check()?;
            let mut coarse = vec![[0.0; D]; self.levels[l + 1].steps.len()];
            level
                .restriction
                .fill(&mut coarse, |_, columns, values, sum| *sum = combined(out, columns, values));
            let mut correction = vec![[0.0; D]; coarse.len()];
            self.descend(l + 1, &coarse, &mut correction, monitor)?;
            level.prolongation.fill(&mut x, |_, columns, values, x| {
                let change = combined(&correction, columns, values);
                (0..D).for_each(|b| x[b] += change[b]);
            });
            monitor.check()?;
        }
        level.edges.fill(out, |i, columns, values, moved| {
            let missing = less(b[i], flow(&x, i, columns, values));
            *moved = std::array::from_fn(|a| x[i][a] + f64::from(level.steps[i]) * missing[a]);
        });
        Ok(())
    }
}

/// Entry `i` of the Laplacian times `x`: exactly zero where `x` is constant.
#[inline(always)]
fn flow<const D: usize>(x: &[[f64; D]], i: usize, columns: &[u32], values: &[f32]) -> [f64; D] {
    let (own, mut sum) = (x[i], [0.0; D]);
    for (&j, &w) in columns.iter().zip(values) {
        let (other, w) = (x[j as usize], f64::from(w));
        (0..D).for_each(|b| sum[b] += w * (own[b] - other[b]));
    }
    sum
}

#[inline(always)]
fn combined<const D: usize>(x: &[[f64; D]], columns: &[u32], values: &[f32]) -> [f64; D] {
    let mut sum = [0.0; D];
    for (&j, &w) in columns.iter().zip(values) {
        (0..D).for_each(|b| sum[b] += f64::from(w) * x[j as usize][b]);
    }
    sum
}

#[inline(always)]
fn less<const D: usize>(a: [f64; D], b: [f64; D]) -> [f64; D] {
    std::array::from_fn(|c| a[c] - b[c])
}

impl Level {
    /// The level of these edges, and the edges of the next, if there is one.
    fn new(edges: Rows, monitor: &dyn Monitor) -> Result<(Self, Option<Rows>)> {
        let n = edges.blocks.iter().map(|block| block.len()).sum();
        let (mut steps, mut strongest) = (vec![0.0; n], vec![0.0; n]);
        edges.fill(&mut steps, |_, _, weights, step| *step = jacobi_step(weights));
        edges.fill(&mut strongest, |_, _, weights, most| *most = weights.iter().fold(0.0, |m, &w| w.max(m)));
        let (labels, n_coarse) = aggregates(&edges, &strongest, monitor)?;
        let prolongation = prolong(&edges, &strongest, &labels, monitor)?;
        drop((strongest, labels));
        let restriction = prolongation.transposed(n_coarse);
        let coarse = galerkin(&edges, &prolongation, &restriction, monitor)?;
        if coarse.blocks.iter().all(|block| block.indices.is_empty()) {
            return Ok((
                Level { edges, steps, prolongation: Rows::default(), restriction: Rows::default() },
                None,
            ));
        }
        Ok((Level { edges, steps, prolongation, restriction }, Some(coarse)))
    }

    fn first_step<const D: usize>(&self, b: &[[f64; D]]) -> Vec<[f64; D]> {
        let step = |(b, &step): (&[f64; D], &f32)| b.map(|v| f64::from(step) * v);
        match b.len() < FEW {
            true => b.iter().zip(&self.steps).map(step).collect(),
            false => b.par_iter().zip(&self.steps).with_min_len(BLOCK).map(step).collect(),
        }
    }
}

fn limit_steps(levels: &mut [Level]) {
    let Some((finest, coarse)) = levels.split_first_mut() else { return };
    let positive = finest.steps.iter().copied().filter(|&step| step > 0.0);
    let longest = RANGE * positive.fold(f32::INFINITY, f32::min);
    let steps = coarse.iter_mut().flat_map(|level| &mut level.steps);
    steps.for_each(|step| *step = step.min(longest));
}

/// Damped so that Gershgorin's discs end below 2: coarse Laplacians have weights below zero.
fn jacobi_step(weights: &[f32]) -> f32 {
    let (sum, size) = weights.iter().fold((0.0, 0.0), |(sum, size), &w| {
        let w = f64::from(w);
        (sum + w, size + w.abs())
    });
    if size > 0.0 { (DAMPING / (0.5 * (f64::max(sum, 0.0) + size))) as f32 } else { 0.0 }
}
