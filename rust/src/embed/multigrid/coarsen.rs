//! The next coarser level: aggregates of points, how points share in them, and the edges between them.

use rayon::prelude::*;

use super::BLOCK;
use super::rows::{Block, Rows};
use crate::embed::check_sometimes;
use crate::error::Result;
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;

/// An edge is strong for a point if it weighs at least this share of the point's strongest.
const STRONG: f32 = 0.25;

const SMOOTHING: f64 = 0.9; // Share of a point that is smoothed over the aggregates of its neighbors.

/// Aggregates that one point belongs to at most: points listed by thousands would make coarse matrices full.
const SHARES: usize = 8;

const FREE: u32 = u32::MAX;

/// Every point joined to its neighbors with its own weight; points that list each other are joined by both weights.
pub fn laplacian(
    graph: &Neighborhoods,
    reversed: &Neighborhoods,
    weight: impl Fn(usize) -> f64 + Sync,
    monitor: &dyn Monitor,
) -> Result<Rows> {
    Rows::build(graph.len(), monitor, Vec::new, |mutual: &mut Vec<bool>, i, block| {
        let (own, listed_by) = (weight(i), reversed.of(i));
        mutual.clear();
        mutual.resize(listed_by.len(), false);
        for &j in graph.of(i) {
            let at = listed_by.binary_search(&j);
            at.iter().for_each(|&at| mutual[at] = true);
            block.push(j, if at.is_ok() { own + weight(j as usize) } else { own } as f32);
        }
        let others = listed_by.iter().zip(mutual.iter()).filter(|(_, mutual)| !**mutual);
        others.for_each(|(&j, _)| block.push(j, weight(j as usize) as f32));
    })
}

/// The aggregate of every point with edges, and their number. First come points whose dependents are all free, then
/// free points join the aggregate or point that they depend on most. None has a single point.
pub fn aggregates(edges: &Rows, strongest: &[f32], monitor: &dyn Monitor) -> Result<(Vec<u32>, usize)> {
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

/// Free points that depend on an aggregate, each with the aggregate along its strongest edge.
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

/// Shares of aggregates in points, smoothed over strong neighbors. Rows sum to 1.
pub fn prolong(edges: &Rows, strongest: &[f32], labels: &[u32], monitor: &dyn Monitor) -> Result<Rows> {
    Rows::build(labels.len(), monitor, Vec::new, |shares: &mut Vec<(u32, f64)>, i, block| {
        if labels[i] == FREE {
            return;
        }
        shares.clear();
        let strong = || edges.entries(i).filter(|&(_, w)| w > 0.0 && w >= STRONG * strongest[i]);
        let total: f64 = strong().map(|(_, w)| f64::from(w)).sum();
        strong().for_each(|(j, w)| add(shares, labels[j], f64::from(w) * (SMOOTHING / total)));
        add(shares, labels[i], 1.0 - SMOOTHING);
        keep_largest(shares);
        let total: f64 = shares.iter().map(|(_, w)| w).sum();
        shares.iter().for_each(|&(label, share)| block.push(label, (share / total) as f32));
    })
}

/// Adds to the sum of a column, in a list so short that a search is fast.
#[inline(always)]
fn add(sums: &mut Vec<(u32, f64)>, column: u32, value: f64) {
    match sums.iter_mut().find(|(known, _)| *known == column) {
        Some((_, sum)) => *sum += value,
        None => sums.push((column, value)),
    }
}

/// The largest `SHARES` shares, in rising order of aggregates.
fn keep_largest(shares: &mut Vec<(u32, f64)>) {
    shares.sort_unstable_by_key(|&(label, _)| label);
    if shares.len() > SHARES {
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        shares.truncate(SHARES);
        shares.sort_unstable_by_key(|&(label, _)| label);
    }
}

/// Sums by column, of one row at a time.
struct Sums {
    /// Place of each column in `sums`, if it is in use.
    slots: Vec<u32>,
    sums: Vec<(u32, f64)>,
}

impl Sums {
    /// For `n` columns.
    fn new(n: usize) -> Self {
        Sums { slots: vec![FREE; n], sums: vec![] }
    }

    #[inline(always)]
    fn add(&mut self, column: u32, value: f64) {
        let slot = &mut self.slots[column as usize];
        if *slot == FREE {
            *slot = self.sums.len() as u32;
            self.sums.push((column, 0.0));
        }
        self.sums[*slot as usize].1 += value;
    }

    /// Appends the sums of columns that are `wanted`, and forgets all.
    fn take(&mut self, wanted: impl Fn(u32) -> bool, block: &mut Block) {
        self.sums.iter().for_each(|&(column, _)| self.slots[column as usize] = FREE);
        self.sums.sort_unstable_by_key(|&(column, _)| column);
        let found = self.sums.drain(..).filter(|&(column, _)| wanted(column));
        found.for_each(|(column, value)| block.push(column, value as f32));
    }
}

/// The edges of P' A P: off the diagonal it is a sum over edges in which nothing large cancels.
///
/// -A P comes first, whose rows are short: so edges are read once, not once for each aggregate of a point.
pub fn galerkin(
    edges: &Rows,
    prolongation: &Rows,
    restriction: &Rows,
    monitor: &dyn Monitor,
) -> Result<Rows> {
    let n: usize = restriction.blocks.iter().map(|block| block.len()).sum();
    let flows = flows(edges, prolongation, n, monitor)?;
    let full = Rows::build(
        n,
        monitor,
        || Sums::new(n),
        |sums, a, block| {
            for (i, share) in restriction.entries(a) {
                flows.entries(i).for_each(|(b, flow)| sums.add(b as u32, f64::from(share) * f64::from(flow)));
            }
            sums.take(|column| column != a as u32, block);
        },
    )?;
    drop(flows);
    mirrored(full, monitor)
}

/// -A P, where A is the Laplacian of the edges.
fn flows(edges: &Rows, prolongation: &Rows, n: usize, monitor: &dyn Monitor) -> Result<Rows> {
    let rows = edges.blocks.iter().map(|block| block.len()).sum();
    Rows::build(
        rows,
        monitor,
        || Sums::new(n),
        |sums, i, block| {
            let mut held = 0.0;
            for (j, w) in edges.entries(i) {
                held += f64::from(w);
                prolongation.entries(j).for_each(|(b, p)| sums.add(b as u32, f64::from(w) * f64::from(p)));
            }
            prolongation.entries(i).for_each(|(b, p)| sums.add(b as u32, -held * f64::from(p)));
            sums.take(|_| true, block);
        },
    )
}

/// The half above the diagonal in place of that below, which rounding made different.
fn mirrored(full: Rows, monitor: &dyn Monitor) -> Result<Rows> {
    let n = full.blocks.iter().map(|block| block.len()).sum();
    Rows::build(n, monitor, <()>::default, |(), a, block| {
        for (b, w) in full.entries(a) {
            let (columns, values) = full.row(b);
            let above = columns.binary_search(&(a as u32)).map_or(w, |at| values[at]);
            block.push(b as u32, if b < a { above } else { w });
        }
    })
}
