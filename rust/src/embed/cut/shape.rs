//! The number of loops and voids of the data, by which surfaces are distinguished.
//!
//! Landmarks are chosen farthest first along the graph, until every point is within r of one. Landmarks within a scale
//! s of each other are joined, and triangles and tetrahedra filled (the Vietoris-Rips complex). Chance and noise make
//! holes that are born late or filled soon, so only loops that last from s = 3 r to 3.4 r count, and voids from 3.3 r
//! to 4 r (Chazal & Oudot 2008). Counts are modulo two, so that one-sided surfaces have voids too. Loops shorter than
//! about ten r are not seen.
//!
//! Cost: O(n (k + log n)) for landmarks, on a thinned graph if n is large, and the reduction of a coboundary matrix
//! whose size depends on the number of landmarks alone.

use std::collections::HashMap;

use rayon::prelude::*;

use super::STAGE;
use crate::embed::{check_sometimes, largest};
use crate::error::Result;
use crate::monitor::{Monitor, Silent};
use crate::neighbors::Neighborhoods;
use crate::neighbors::paths::{Lengths, Tree, from_each_within};
use crate::points::Points;

/// Maximum number of landmarks, and of points per landmark: with fewer points, gaps between them look like holes.
const LANDMARKS: usize = 300;
const POINTS: usize = 10;

/// Minimum number of landmarks, and the number that shows whether a curve is closed.
const FEWEST: usize = 12;
const ON_CURVE: usize = 24;

const THINNED: usize = 10_000; // Number of points to which a graph of more than twice as many is thinned.

/// In units of r: scale by which a loop must be born, and up to which it must not be filled; the same for a void.
const LOOP: [f64; 2] = [3.0, 3.4];
const VOID: [f64; 2] = [3.3, 4.0];

/// Landmarks with more others around them, on average, fill a body of many dimensions instead of a surface.
const CROWDED: usize = 150;

/// Betti numbers modulo two of connected data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Independent loops.
    pub loops: usize,
    /// Independent voids: one for a closed surface.
    pub voids: usize,
}

/// Finds the shape of data of dimension `d`; None for too few points, several components or too many dimensions.
pub fn shape(x: &Points, graph: &Neighborhoods, d: usize, monitor: &dyn Monitor) -> Result<Option<Shape>> {
    let least = if d == 1 { ON_CURVE.min(x.len()) } else { 0 };
    let landmarks = LANDMARKS.min(x.len() / POINTS).max(least);
    if landmarks < FEWEST || graph.components().iter().any(|&label| label > 0) {
        return Ok(None);
    }
    let lengths = Lengths::new(x, graph, monitor)?.thinned(THINNED, monitor)?;
    let (landmarks, r) = farthest_first(&lengths, landmarks, monitor)?;
    let distances = between(&lengths, &landmarks, VOID[1] * r, monitor)?;
    persistent(&distances, landmarks.len(), LOOP.map(|s| s * r), VOID.map(|s| s * r), monitor)
}

/// Points far from each other along the graph, and how far the farthest of all points is from them.
fn farthest_first(lengths: &Lengths, count: usize, monitor: &dyn Monitor) -> Result<(Vec<u32>, f64)> {
    let farthest = |tree: &Tree| largest(tree.distances());
    let (mut tree, mut landmarks) = (Tree::default(), vec![]);
    tree.grow(lengths, 0, monitor)?;
    let first = farthest(&tree);
    tree.grow(lengths, lengths.points()[first] as usize, monitor)?;
    landmarks.push(lengths.points()[first]);
    while landmarks.len() < count {
        let next = lengths.points()[farthest(&tree)];
        tree.join(lengths, next as usize, monitor)?;
        landmarks.push(next);
    }
    let r = tree.distances()[farthest(&tree)];
    Ok((landmarks, r))
}

/// Distances along the graph, row after row; infinite beyond a limit.
fn between(lengths: &Lengths, landmarks: &[u32], limit: f64, monitor: &dyn Monitor) -> Result<Vec<f64>> {
    let row = |_: &mut (), tree: &Tree| -> Vec<f64> {
        let far = |&i: &u32| tree.distances()[lengths.places()[i as usize] as usize];
        landmarks.iter().map(far).collect()
    };
    Ok(from_each_within(lengths, landmarks, limit, STAGE, &Silent(monitor), || (), row)?.concat())
}

/// Counts loops and voids that are born by one scale and not filled at another; None if the complex is too large.
pub fn persistent(
    distances: &[f64],
    n: usize,
    of_loops: [f64; 2],
    of_voids: [f64; 2],
    monitor: &dyn Monitor,
) -> Result<Option<Shape>> {
    let limit = of_loops[1].max(of_voids[1]);
    let Some(complex) = Complex::new(distances, n, limit, monitor)? else { return Ok(None) };
    let mut cleared = vec![false; n];
    let mut lives = [vec![], vec![], vec![]];
    for (p, lives) in lives.iter_mut().enumerate() {
        (*lives, cleared) = complex.reduce(p, &cleared, monitor)?;
    }
    let lasting = |p: usize, [by, until]: [f64; 2]| {
        lives[p].iter().filter(|&&(born, filled)| born <= by && filled > until).count()
    };
    Ok(Some(Shape { loops: lasting(1, of_loops), voids: lasting(2, of_voids) }))
}

/// Corners in rising order, and the longest edge between them.
type Cell = (f64, Vec<u32>);

/// Born, and filled.
type Life = (f64, f64);

/// Vertices, edges, triangles and tetrahedra, each in the order in which they appear.
struct Complex {
    cells: [Vec<Cell>; 4],
}

impl Complex {
    fn new(distances: &[f64], n: usize, limit: f64, monitor: &dyn Monitor) -> Result<Option<Complex>> {
        let far = |i: u32, j: u32| {
            distances[i as usize * n + j as usize].max(distances[j as usize * n + i as usize])
        };
        let beyond = |i: u32| (i + 1..n as u32).filter(move |&j| far(i, j) <= limit);
        let after: Vec<Vec<u32>> = (0..n as u32).map(|i| beyond(i).collect()).collect();
        if after.iter().map(Vec::len).sum::<usize>() > CROWDED * n / 2 {
            return Ok(None);
        }
        let mut cells = [(0..n as u32).map(|i| (0.0, vec![i])).collect(), vec![], vec![], vec![]];
        for p in 1..4 {
            cells[p] = widened(&cells[p - 1], &after, far, monitor)?;
        }
        Ok(Some(Complex { cells }))
    }

    /// For every cell of dimension `p`, the cells that it is a side of.
    fn coboundary(&self, p: usize, monitor: &dyn Monitor) -> Result<Vec<Vec<u32>>> {
        let number: HashMap<&[u32], usize> =
            self.cells[p].iter().enumerate().map(|(at, (_, corners))| (&corners[..], at)).collect();
        let (mut coboundary, mut side) = (vec![vec![]; self.cells[p].len()], vec![]);
        for ((_, corners), at) in self.cells[p + 1].iter().zip(0u32..) {
            check_sometimes(at as usize, monitor)?;
            for left_out in 0..corners.len() {
                side.clear();
                side.extend(corners.iter().enumerate().filter(|(c, _)| *c != left_out).map(|(_, &i)| i));
                if let Some(&cell) = number.get(&side[..]) {
                    coboundary[cell].push(at);
                }
            }
        }
        Ok(coboundary)
    }

    /// The scales at which classes of dimension `p` are born and filled, and the cells that fill them, which begin
    /// none.
    fn reduce(&self, p: usize, cleared: &[bool], monitor: &dyn Monitor) -> Result<(Vec<Life>, Vec<bool>)> {
        let mut columns = self.coboundary(p, monitor)?;
        let (mut lives, mut fills) = (vec![], vec![false; self.cells[p + 1].len()]);
        let mut owner: HashMap<u32, usize> = HashMap::new();
        for at in (0..columns.len()).rev().filter(|&at| !cleared[at]) {
            check_sometimes(at, monitor)?;
            let mut column = std::mem::take(&mut columns[at]);
            while let Some(&other) = column.first().and_then(|lowest| owner.get(lowest)) {
                column = sum(&column, &columns[other]);
            }
            let mut filled = f64::INFINITY;
            if let Some(&lowest) = column.first() {
                fills[lowest as usize] = true;
                owner.insert(lowest, at);
                filled = self.cells[p + 1][lowest as usize].0;
            }
            lives.push((self.cells[p][at].0, filled));
            columns[at] = column;
        }
        Ok((lives, fills))
    }
}

/// Every cell with one corner more, which is near all others.
fn widened(
    cells: &[Cell],
    after: &[Vec<u32>],
    far: impl Fn(u32, u32) -> f64,
    monitor: &dyn Monitor,
) -> Result<Vec<Cell>> {
    let mut wider = vec![];
    for (at, (value, corners)) in cells.iter().enumerate() {
        check_sometimes(at, monitor)?;
        let (last, others) = (corners[corners.len() - 1], &corners[..corners.len() - 1]);
        let near = |&&j: &&u32| others.iter().all(|&i| after[i as usize].binary_search(&j).is_ok());
        for &j in after[last as usize].iter().filter(near) {
            let value = corners.iter().map(|&i| far(i, j)).fold(*value, f64::max);
            wider.push((value, [&corners[..], &[j]].concat()));
        }
    }
    wider.par_sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
    Ok(wider)
}

/// Entries that are in one of two rising lists, but not in both.
fn sum(a: &[u32], b: &[u32]) -> Vec<u32> {
    let (mut i, mut j, mut sum) = (0, 0, Vec::with_capacity(a.len() + b.len()));
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => (sum.push(a[i]), i += 1).1,
            std::cmp::Ordering::Greater => (sum.push(b[j]), j += 1).1,
            std::cmp::Ordering::Equal => (i, j) = (i + 1, j + 1),
        }
    }
    sum.extend_from_slice(&a[i..]);
    sum.extend_from_slice(&b[j..]);
    sum
}
