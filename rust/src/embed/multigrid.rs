//! An approximate inverse of the matrix of eq. 11 in Goldberg & Ritov, sum of w_i H_i, for conjugate gradients: algebraic
//! multigrid by smoothed aggregation (Vanek, Mandel & Brezina 1996), the same work for waves of any length.
//!
//! It is not built on that matrix but on a Laplacian with an eighth of its entries: point i joined to each of its
//! neighbours with weight w_i. Both see the same waves. Of the neighbourhood of i alone, H_i <= star_i <= m_i H_i where
//! nothing is constant, so sum w_i H_i never exceeds the Laplacian, and one cycle never goes too far.
//!
//! A point joins an aggregate only along an edge that is strong *for that point*, however weak it may be for the other
//! end. Then what an aggregate cannot show is always seen by the smoother, whatever the weights.
//! Coarse matrices are Laplacians again: they are kept as weights of edges, and entries of rows are never summed to find
//! what should be zero, so constants on components stay exactly without effect, on every level. What has become a single
//! unknown needs nothing more, so there is no dense matrix to invert in the end, and no null space to look for.
//!
//! Cost: set-up and cycle O(n k), d columns at once; memory 16 bytes for each edge and some 45 for each point, together
//! 161 bytes for each point of a swiss roll with k = 12.

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;

/// Rows that one thread handles at once.
const BLOCK: usize = 512;

/// Below as many rows threads cost more than they give.
const FEW: usize = 4 * BLOCK;

/// An edge is strong for a point if it weighs at least this share of the point's strongest.
const STRONG: f32 = 0.25;

/// Damping of Jacobi steps. Gershgorin: below 1 every mode shrinks, and the cycle is positive.
const DAMPING: f64 = 0.9;

/// Share by which a point sees its neighbours' aggregates instead of its own.
const SMOOTHING: f64 = 0.9;

/// Aggregates that one point belongs to at most: points listed by thousands would make coarse matrices full.
const SHARES: usize = 8;

/// Weights are told apart down to this share of the largest: single precision ends not far below.
const LIGHTEST: f64 = 1e-30;

/// How much further than the shortest step of all those of coarse levels may be: sums of residuals are rounded at the
/// size of the largest, and what comes of that must not become a wave where weights are small. Long waves among weights
/// that are smaller still are left to conjugate gradients.
const RANGE: f32 = 1e12;

const FREE: u32 = u32::MAX;

/// One level of it for every length of waves.
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
    /// What a Jacobi step multiplies residuals with; 0 without edges.
    steps: Vec<f32>,
    /// Shares of aggregates in points: rows sum to 1. Nothing if no aggregate has a neighbour.
    prolongation: Rows,
    /// Its transpose.
    restriction: Rows,
}

/// A sparse matrix, in blocks of rows that were made by one thread each.
#[derive(Debug, Default)]
struct Rows {
    blocks: Vec<Block>,
}

#[derive(Debug, Default)]
struct Block {
    ends: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f32>,
}

impl Block {
    #[inline(always)]
    fn row(&self, o: usize) -> (&[u32], &[f32]) {
        let range = (if o == 0 { 0 } else { self.ends[o - 1] as usize })..self.ends[o] as usize;
        (&self.columns[range.clone()], &self.values[range])
    }

    fn push(&mut self, column: u32, value: f32) {
        self.columns.push(column);
        self.values.push(value);
    }

    fn end_row(&mut self) {
        self.ends.push(self.columns.len() as u32);
    }

    fn fitted(mut self) -> Self {
        self.columns.shrink_to_fit();
        self.values.shrink_to_fit();
        self
    }
}

impl Rows {
    /// `f(state, i, block)` appends row `i`; `state` is made once for each block.
    fn build<S>(
        n: usize,
        monitor: &dyn Monitor,
        state: impl Fn() -> S + Sync,
        f: impl Fn(&mut S, usize, &mut Block) + Sync,
    ) -> Result<Self> {
        let block = |c: usize| {
            monitor.check()?;
            let (mut block, mut state) = (Block::default(), state());
            for i in c * BLOCK..((c + 1) * BLOCK).min(n) {
                f(&mut state, i, &mut block);
                block.end_row();
            }
            Ok(block.fitted())
        };
        let blocks: Result<Vec<Block>> = (0..n.div_ceil(BLOCK)).into_par_iter().map(block).collect();
        Ok(Rows { blocks: blocks? })
    }

    #[inline(always)]
    fn row(&self, i: usize) -> (&[u32], &[f32]) {
        self.blocks[i / BLOCK].row(i % BLOCK)
    }

    #[inline(always)]
    fn entries(&self, i: usize) -> impl Iterator<Item = (usize, f32)> {
        let (columns, values) = self.row(i);
        columns.iter().zip(values).map(|(&j, &w)| (j as usize, w))
    }

    /// The transpose, with `n` rows; entries of rows are in rising order.
    fn transposed(&self, n: usize) -> Self {
        let mut sizes = vec![0u32; n];
        let all = self.blocks.iter().flat_map(|block| &block.columns);
        all.for_each(|&column| sizes[column as usize] += 1);
        let mut blocks: Vec<Block> = sizes.chunks(BLOCK).map(Block::sized).collect();
        let mut next: Vec<u32> = sizes.chunks(BLOCK).flat_map(starts).collect();
        let rows = self.blocks.iter().flat_map(|block| (0..block.ends.len()).map(|o| block.row(o)));
        for (i, (columns, values)) in rows.enumerate() {
            for (&column, &value) in columns.iter().zip(values) {
                let (block, at) = (&mut blocks[column as usize / BLOCK], next[column as usize] as usize);
                (block.columns[at], block.values[at]) = (i as u32, value);
                next[column as usize] += 1;
            }
        }
        Rows { blocks }
    }

    /// `f(i, columns, values, row)` for each row, with `row` in `out`.
    #[inline(always)]
    fn fill<T: Send>(&self, out: &mut [T], f: impl Fn(usize, &[u32], &[f32], &mut T) + Sync) {
        let one = |(c, (block, chunk)): (usize, (&Block, &mut [T]))| {
            for (o, value) in chunk.iter_mut().enumerate() {
                let (columns, values) = block.row(o);
                f(c * BLOCK + o, columns, values, value);
            }
        };
        match out.len() < FEW {
            true => self.blocks.iter().zip(out.chunks_mut(BLOCK)).enumerate().for_each(one),
            false => self.blocks.par_iter().zip(out.par_chunks_mut(BLOCK)).enumerate().for_each(one),
        }
    }
}

impl Block {
    /// Rows of these sizes, to be written.
    fn sized(sizes: &[u32]) -> Self {
        let ends: Vec<u32> = starts(sizes).zip(sizes).map(|(start, size)| start + size).collect();
        let total = ends.last().map_or(0, |&end| end as usize);
        Block { ends, columns: vec![0; total], values: vec![0.0; total] }
    }
}

/// Where each of the rows of one block begins.
fn starts(sizes: &[u32]) -> impl Iterator<Item = u32> {
    sizes.iter().scan(0, |next, &size| {
        let start = *next;
        *next += size;
        Some(start)
    })
}

impl Multigrid {
    /// For neighbourhoods that weigh `weights`, each positive.
    pub fn new(neighborhoods: &Neighborhoods, weights: &[f64], monitor: &dyn Monitor) -> Result<Self> {
        Self::with_reversed(neighborhoods, &neighborhoods.reversed(), weights, monitor)
    }

    /// The same, for a graph whose reversed lists are at hand.
    pub(super) fn with_reversed(
        neighborhoods: &Neighborhoods,
        reversed: &Neighborhoods,
        weights: &[f64],
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let n = neighborhoods.len();
        check_len("weights", weights.len(), n)?;
        let unit = weights.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let mut edges = laplacian(neighborhoods, reversed, |i| (weights[i] / unit).max(LIGHTEST), monitor)?;
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

    /// How many unknowns each level has.
    pub fn sizes(&self) -> Vec<usize> {
        self.levels.iter().map(|level| level.steps.len()).collect()
    }

    /// One cycle for `d` columns at once, point after point: `out` is approximately the inverse times `rhs`. Linear,
    /// symmetric, and positive on all that is not constant on components.
    pub fn cycle(&self, rhs: &[f64], d: usize, out: &mut [f64]) -> Result<()> {
        check_len("the right-hand side", rhs.len(), self.n * d)?;
        check_len("the place of the result", out.len(), self.n * d)?;
        match d {
            0 => {}
            1 => self.cycle_sized::<1>(rhs, out),
            2 => self.cycle_sized::<2>(rhs, out),
            3 => self.cycle_sized::<3>(rhs, out),
            4 => self.cycle_sized::<4>(rhs, out),
            8 => self.cycle_sized::<8>(rhs, out),
            _ => self.cycle_in_parts(rhs, d, out),
        }
        Ok(())
    }

    fn cycle_in_parts(&self, rhs: &[f64], d: usize, out: &mut [f64]) {
        let mut first = 0;
        while first < d {
            first += match d - first {
                1 => self.cycle_some::<1>(rhs, d, first, out),
                2 => self.cycle_some::<2>(rhs, d, first, out),
                3 => self.cycle_some::<3>(rhs, d, first, out),
                4..8 => self.cycle_some::<4>(rhs, d, first, out),
                _ => self.cycle_some::<8>(rhs, d, first, out),
            };
        }
    }

    /// Some columns from `first` on; returns how many.
    fn cycle_some<const D: usize>(&self, rhs: &[f64], d: usize, first: usize, out: &mut [f64]) -> usize {
        let part: Vec<f64> =
            rhs.chunks_exact(d).flat_map(|row| row[first..first + D].iter().copied()).collect();
        let mut found = vec![0.0; part.len()];
        self.cycle_sized::<D>(&part, &mut found);
        let rows = out.chunks_exact_mut(d).zip(found.chunks_exact(D));
        rows.for_each(|(row, found)| row[first..first + D].copy_from_slice(found));
        D
    }

    fn cycle_sized<const D: usize>(&self, rhs: &[f64], out: &mut [f64]) {
        let out = out.as_chunks_mut::<D>().0;
        self.descend(0, rhs.as_chunks::<D>().0, out);
        let unit = self.unit;
        out.par_iter_mut().with_min_len(BLOCK).for_each(|row| *row = row.map(|v| v / unit));
    }

    /// The V-cycle from level `l` down: one Jacobi step before and one after what is coarser.
    fn descend<const D: usize>(&self, l: usize, b: &[[f64; D]], out: &mut [[f64; D]]) {
        let level = &self.levels[l];
        let mut x = level.first_step(b);
        if l + 1 < self.levels.len() {
            level.edges.fill(out, |i, columns, values, r| *r = less(b[i], flow(&x, i, columns, values)));
            let mut coarse = vec![[0.0; D]; self.levels[l + 1].steps.len()];
            level
                .restriction
                .fill(&mut coarse, |_, columns, values, sum| *sum = combined(out, columns, values));
            let mut correction = vec![[0.0; D]; coarse.len()];
            self.descend(l + 1, &coarse, &mut correction);
            level.prolongation.fill(&mut x, |_, columns, values, x| {
                let change = combined(&correction, columns, values);
                (0..D).for_each(|b| x[b] += change[b]);
            });
        }
        level.edges.fill(out, |i, columns, values, moved| {
            let missing = less(b[i], flow(&x, i, columns, values));
            *moved = std::array::from_fn(|a| x[i][a] + f64::from(level.steps[i]) * missing[a]);
        });
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

fn check_len(left: &'static str, left_len: usize, right_len: usize) -> Result<()> {
    match left_len == right_len {
        true => Ok(()),
        false => Err(Error::LengthMismatch { left, left_len, right: "the neighbourhood graph", right_len }),
    }
}

/// Every point joined to its neighbours with its own weight; whoever list each other are joined by both.
fn laplacian(
    neighborhoods: &Neighborhoods,
    reversed: &Neighborhoods,
    weight: impl Fn(usize) -> f64 + Sync,
    monitor: &dyn Monitor,
) -> Result<Rows> {
    Rows::build(neighborhoods.len(), monitor, Vec::new, |mutual: &mut Vec<bool>, i, block| {
        let (own, listed_by) = (weight(i), reversed.of(i));
        mutual.clear();
        mutual.resize(listed_by.len(), false);
        for &j in neighborhoods.of(i) {
            let at = listed_by.binary_search(&j);
            at.iter().for_each(|&at| mutual[at] = true);
            block.push(j, if at.is_ok() { own + weight(j as usize) } else { own } as f32);
        }
        let others = listed_by.iter().zip(mutual.iter()).filter(|(_, mutual)| !**mutual);
        others.for_each(|(&j, _)| block.push(j, weight(j as usize) as f32));
    })
}

impl Level {
    /// The level of these edges, and the edges of the next, if there is one.
    fn new(edges: Rows, monitor: &dyn Monitor) -> Result<(Self, Option<Rows>)> {
        let n = edges.blocks.iter().map(|block| block.ends.len()).sum();
        let (mut steps, mut strongest) = (vec![0.0; n], vec![0.0; n]);
        edges.fill(&mut steps, |_, _, weights, step| *step = jacobi_step(weights));
        edges.fill(&mut strongest, |_, _, weights, most| *most = weights.iter().fold(0.0, |m, &w| w.max(m)));
        let (labels, n_coarse) = aggregates(&edges, &strongest, monitor)?;
        let prolongation = prolong(&edges, &strongest, &labels, monitor)?;
        drop((strongest, labels));
        let restriction = prolongation.transposed(n_coarse);
        let coarse = galerkin(&edges, &prolongation, &restriction, monitor)?;
        if coarse.blocks.iter().all(|block| block.columns.is_empty()) {
            return Ok((
                Level { edges, steps, prolongation: Rows::default(), restriction: Rows::default() },
                None,
            ));
        }
        Ok((Level { edges, steps, prolongation, restriction }, Some(coarse)))
    }

    /// A Jacobi step from zero.
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

/// The aggregate of every point with edges, and their number.
///
/// First whoever and whose dependents are all free; then every point left joins what it depends on most; what depends
/// on no aggregate becomes one, around the point that it depends on most. None has a single point.
fn aggregates(edges: &Rows, strongest: &[f32], monitor: &dyn Monitor) -> Result<(Vec<u32>, usize)> {
    let n = strongest.len();
    let depends = |j: usize, w: f32| w > 0.0 && w >= STRONG * strongest[j];
    let (mut labels, mut count) = (vec![FREE; n], 0);
    for i in 0..n {
        check_sometimes(i, monitor)?;
        let mut dependents = edges.entries(i).filter(|&(j, w)| depends(j, w)).peekable();
        if labels[i] == FREE && dependents.peek().is_some() && dependents.all(|(j, _)| labels[j] == FREE) {
            gather(edges, i, depends, &mut labels, count);
            count += 1;
        }
    }
    let joined = join(edges, strongest, &labels, monitor)?;
    joined.into_iter().for_each(|(i, label)| labels[i as usize] = label);
    for i in (0..n).filter(|&i| strongest[i] > 0.0) {
        check_sometimes(i, monitor)?;
        if labels[i] != FREE {
            continue;
        }
        let root = edges.entries(i).find(|&(_, w)| w == strongest[i]).map_or(i, |(j, _)| j);
        if labels[root] == FREE {
            gather(edges, root, depends, &mut labels, count);
            count += 1;
        }
        labels[i] = labels[root];
    }
    Ok((labels, count as usize))
}

/// An aggregate of `root` and its free dependents.
fn gather(edges: &Rows, root: usize, depends: impl Fn(usize, f32) -> bool, labels: &mut [u32], label: u32) {
    labels[root] = label;
    let dependents = edges.entries(root).filter(|&(j, w)| depends(j, w));
    for (j, _) in dependents {
        if labels[j] == FREE {
            labels[j] = label;
        }
    }
}

/// Free points beside aggregates that they depend on, with the one along the strongest edge.
fn join(edges: &Rows, strongest: &[f32], labels: &[u32], monitor: &dyn Monitor) -> Result<Vec<(u32, u32)>> {
    let best = |i: usize| {
        let strong = edges.entries(i).filter(|&(j, w)| w >= STRONG * strongest[i] && labels[j] != FREE);
        strong
            .reduce(|best, next| if next.1 > best.1 { next } else { best })
            .map(|(j, _)| (i as u32, labels[j]))
    };
    let block = |c: usize| {
        monitor.check()?;
        let free = (c * BLOCK..((c + 1) * BLOCK).min(labels.len()))
            .filter(|&i| labels[i] == FREE && strongest[i] > 0.0);
        Ok(free.filter_map(best).collect())
    };
    let blocks: Result<Vec<Vec<_>>> = (0..labels.len().div_ceil(BLOCK)).into_par_iter().map(block).collect();
    Ok(blocks?.concat())
}

fn check_sometimes(i: usize, monitor: &dyn Monitor) -> Result<()> {
    if i.is_multiple_of(16 * BLOCK) { monitor.check() } else { Ok(()) }
}

/// Every point belongs to the aggregates of its strong neighbours as well, by their weights: piecewise constant waves
/// made smooth. Rows sum to 1.
fn prolong(edges: &Rows, strongest: &[f32], labels: &[u32], monitor: &dyn Monitor) -> Result<Rows> {
    Rows::build(labels.len(), monitor, Vec::new, |shares: &mut Vec<(u32, f64)>, i, block| {
        if labels[i] == FREE {
            return;
        }
        shares.clear();
        let strong = edges.entries(i).filter(|&(_, w)| w > 0.0 && w >= STRONG * strongest[i]);
        shares.extend(strong.map(|(j, w)| (labels[j], f64::from(w))));
        let total: f64 = shares.iter().map(|(_, w)| w).sum();
        shares.iter_mut().for_each(|(_, w)| *w *= SMOOTHING / total);
        shares.push((labels[i], 1.0 - SMOOTHING));
        merge(shares);
        let total: f64 = shares.iter().map(|(_, w)| w).sum();
        shares.iter().for_each(|&(label, share)| block.push(label, (share / total) as f32));
    })
}

/// One share for each aggregate, the largest `SHARES` of them, in rising order of aggregates.
fn merge(shares: &mut Vec<(u32, f64)>) {
    shares.sort_by_key(|&(label, _)| label); // stable, so that sums have one order
    shares.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0.0 };
        same
    });
    if shares.len() > SHARES {
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        shares.truncate(SHARES);
        shares.sort_by_key(|&(label, _)| label);
    }
}

/// Sums by column, of one row at a time.
struct Sums {
    /// Of each column the place in `sums`, if it is in use.
    slots: Vec<u32>,
    sums: Vec<(u32, f64)>,
}

impl Sums {
    #[inline(always)]
    fn add(&mut self, column: u32, value: f64) {
        let slot = &mut self.slots[column as usize];
        if *slot == FREE {
            *slot = self.sums.len() as u32;
            self.sums.push((column, 0.0));
        }
        self.sums[*slot as usize].1 += value;
    }

    /// What was added, by column, but column `own`.
    fn take(&mut self, own: u32, block: &mut Block) {
        self.sums.iter().for_each(|&(column, _)| self.slots[column as usize] = FREE);
        self.sums.sort_unstable_by_key(|&(column, _)| column);
        let others = self.sums.drain(..).filter(|&(column, _)| column != own);
        others.for_each(|(column, value)| block.push(column, value as f32));
    }
}

/// The edges of P' A P: off the diagonal it is a sum over edges in which nothing large cancels.
fn galerkin(edges: &Rows, prolongation: &Rows, restriction: &Rows, monitor: &dyn Monitor) -> Result<Rows> {
    let n: usize = restriction.blocks.iter().map(|block| block.ends.len()).sum();
    let state = || Sums { slots: vec![FREE; n], sums: vec![] };
    let full = Rows::build(n, monitor, state, |sums, a, block| {
        for (i, share) in restriction.entries(a) {
            let mut held = 0.0;
            for (j, w) in edges.entries(i) {
                let flow = f64::from(share) * f64::from(w);
                held += flow;
                prolongation.entries(j).for_each(|(b, p)| sums.add(b as u32, flow * f64::from(p)));
            }
            prolongation.entries(i).for_each(|(b, p)| sums.add(b as u32, -held * f64::from(p)));
        }
        sums.take(a as u32, block);
    })?;
    mirrored(full, monitor)
}

/// The half above the diagonal in place of that below, which rounding made different.
fn mirrored(full: Rows, monitor: &dyn Monitor) -> Result<Rows> {
    let n = full.blocks.iter().map(|block| block.ends.len()).sum();
    Rows::build(
        n,
        monitor,
        || (),
        |(), a, block| {
            for (b, w) in full.entries(a) {
                let (columns, values) = full.row(b);
                let above = columns.binary_search(&(a as u32)).map_or(w, |at| values[at]);
                block.push(b as u32, if b < a { above } else { w });
            }
        },
    )
}
