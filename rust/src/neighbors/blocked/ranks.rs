//! Ranks in wide data: tiles of single-precision products, counted below given distances.
//!
//! By the bound of rounding, a threshold has a band: distances computed below it are nearer, those above are not, and
//! those in it are decided by the exact distance and the index. Each pair of blocks serves both sides. Near points
//! share blocks, so that distant blocks need not be multiplied, and only thresholds within reach are compared.
//!
//! Cost: about n^2 q / 2 multiplications and 4 n^2 k compares, both in vectors; with more than [`FEW`] thresholds a
//! binary search for each distance instead of compares. Memory: O(n k) and two blocks for each thread.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, Axis, Slice};
use rayon::prelude::*;

use super::order::{Ball, arranged};
use super::{BLOCK, Block, Frame, Precision, squared_distance};
use crate::error::Result;
use crate::monitor::Monitor;
use crate::neighbors::ranks::{Asked, STAGE, Thresholds, rank};
use crate::parallel::{Progress, vectorized};
use crate::points::Points;

/// Up to this many thresholds, each is compared with each distance.
const FEW: usize = 64;

/// Distances compared at once: a line of memory.
const LANES: usize = 16;

/// Row after row of a tile; longer than a block, so that rows do not all begin in one place of the cache.
const STRIDE: usize = BLOCK + LANES;

/// Thresholds compared with a strip of distances in one pass.
const TOGETHER: usize = 4;

/// The rank of each point listed about its center.
pub fn ranks(points: &Points, asked: &Asked, monitor: &dyn Monitor) -> Result<Vec<u32>> {
    let frame = Frame::of(&points.reborrow(), None, monitor)?;
    let order = arranged(points, monitor)?;
    let own = asked.centers.is_none();
    let places: Vec<u32> = if own { order.clone() } else { (0..asked.len() as u32).collect() };
    let shelf = |places: &[u32]| {
        monitor.check()?;
        Ok(Shelf::new(&frame, asked, places))
    };
    let shelves: Vec<Shelf> = places.par_chunks(BLOCK).map(shelf).collect::<Result<_>>()?;
    let balls: Vec<Ball> = order.par_chunks(BLOCK).map(|ids| Ball::of(&frame, ids)).collect();
    let first = |a: usize| if own { a } else { 0 };
    let pairs: Vec<(usize, usize)> =
        (0..shelves.len()).flat_map(|a| (first(a)..balls.len()).map(move |b| (a, b))).collect();
    let progress = Progress::new(STAGE, pairs.len(), monitor);
    pairs.par_iter().try_for_each_init(Tile::default, |tile, &(a, b)| {
        monitor.check()?;
        let (left, right) = (&shelves[a], (own && a != b).then(|| &shelves[b]));
        let reach = right.map_or(left.reach, |right| right.reach.max(left.reach));
        if balls[b].gap(&left.ball) <= reach {
            tile.multiply(&frame, left, &order[b * BLOCK..((b + 1) * BLOCK).min(order.len())]);
            tile.count(&frame, left, right);
        }
        progress.add(1);
        Ok(())
    })?;
    let mut ranks = vec![0; asked.listed.len()];
    for shelf in shelves {
        monitor.check()?;
        shelf.write(asked, &mut ranks);
    }
    Ok(ranks)
}

/// The thresholds of the centers of a block, and the counts below them.
struct Shelf {
    k: usize,
    block: Block<f32>,
    /// Place of each center in the list of centers.
    places: Vec<u32>,
    ball: Ball,
    /// Beyond this distance in the frame no point counts.
    reach: f64,
    /// Below `low` a computed distance is below the threshold, from `high` on it is not. Threshold after threshold,
    /// nearest first; a lane for each center.
    low: Vec<f32>,
    high: Vec<f32>,
    /// Center after center.
    thresholds: Vec<(f64, u32, u32)>,
    below: Mutex<Vec<u32>>,
}

impl Shelf {
    fn new(frame: &Frame, asked: &Asked, places: &[u32]) -> Self {
        let k = asked.k;
        let centers: Vec<u32> = places.iter().map(|&place| asked.center(place as usize)).collect();
        let ball = Ball::of(frame, &centers);
        let block: Block<f32> = frame.block(&frame.points, centers);
        let (mut low, mut high) = (vec![f32::NEG_INFINITY; k * BLOCK], vec![f32::NEG_INFINITY; k * BLOCK]);
        let mut thresholds = Vec::with_capacity(places.len() * k);
        let (mut own, mut reach) = (Thresholds::default(), 0.0f64);
        for (i, &place) in places.iter().enumerate() {
            own.load(&frame.points, block.ids[i], asked.of(place as usize).iter().copied());
            let mut last = (f32::NEG_INFINITY, f32::NEG_INFINITY);
            for (s, &(d2, ..)) in own.sorted.iter().enumerate() {
                let band = band(frame, d2, block.norms[i].into());
                last = (last.0.max(band.0), last.1.max(band.1)); // in order, in spite of rounding
                (low[s * BLOCK + i], high[s * BLOCK + i]) = last;
                reach = reach.max(frame.scaled(d2).sqrt() * (1.0 + 1e-9));
            }
            thresholds.append(&mut own.sorted);
        }
        let below = Mutex::new(vec![0; k * BLOCK]);
        Shelf { k, block, places: places.to_vec(), ball, reach, low, high, thresholds, below }
    }

    fn add(&self, counted: &[u32]) {
        let mut below = self.below.lock().unwrap_or_else(PoisonError::into_inner);
        below.iter_mut().zip(counted).for_each(|(sum, more)| *sum += more);
    }

    fn write(self, asked: &Asked, ranks: &mut [u32]) {
        let below = self.below.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (i, (&place, thresholds)) in self.places.iter().zip(self.thresholds.chunks(self.k)).enumerate() {
            let row = &mut ranks[place as usize * asked.k..][..asked.k];
            for (s, &(d2, id, slot)) in thresholds.iter().enumerate() {
                row[slot as usize] = rank(below[s * BLOCK + i], (d2, id), self.block.ids[i]);
            }
        }
    }
}

/// The band of the squared distance `d2` to a point of squared norm `norm`.
///
/// A point at distance r has a norm of at most `norm.sqrt()` + r, so the bound of its error grows with r, slower than
/// r^2 where the lower end is positive.
fn band(frame: &Frame, d2: f64, norm: f64) -> (f32, f32) {
    let scaled = frame.scaled(d2);
    let reach = norm.sqrt() * (1.0 + 1e-6) + scaled.sqrt();
    let slack = 1.01 * f32::error(frame.points.dim(), norm + reach * reach);
    let (low, high) = (scaled * (1.0 - 1e-9) - slack, scaled * (1.0 + 1e-9) + slack);
    let low = if low > 0.0 { (low as f32).next_down() } else { f32::NEG_INFINITY };
    (low, (high as f32).next_up())
}

/// A distance that falls into the bands of thresholds from one to another.
struct Doubt {
    at: usize,
    from: usize,
    to: usize,
}

/// Squared distances between the points of two blocks, and the counts in them.
#[derive(Default)]
struct Tile {
    right: Block<f32>,
    distances: Array2<f32>,
    /// Center and threshold.
    suspects: Vec<(u32, u32)>,
    counted: Vec<u32>,
    strip: Vec<f32>,
    low: Vec<f32>,
    high: Vec<f32>,
    doubts: Vec<Doubt>,
    own: Vec<f64>,
    other: Vec<f64>,
}

impl Tile {
    fn multiply(&mut self, frame: &Frame, left: &Shelf, ids: &[u32]) {
        if self.strip.is_empty() {
            (self.distances, self.strip) = (Array2::zeros((BLOCK, STRIDE)), vec![0.0; BLOCK]);
        }
        self.right = frame.block(&frame.points, ids.to_vec());
        let (rows, columns) = (left.block.ids.len(), ids.len());
        let mut products = self.distances.view_mut();
        products.slice_axis_inplace(Axis(0), Slice::from(..rows));
        products.slice_axis_inplace(Axis(1), Slice::from(..columns));
        general_mat_mul(-2.0, &left.block.values, &self.right.values.t(), 0.0, &mut products);
        let flat = self.distances.as_slice_mut().unwrap_or_default();
        vectorized(
            #[inline(always)]
            || complete(flat, &left.block.norms, &self.right.norms),
        );
    }

    fn count(&mut self, frame: &Frame, left: &Shelf, right: Option<&Shelf>) {
        let others = std::mem::take(&mut self.right.ids);
        self.count_side(frame, left, &others, false);
        if let Some(right) = right {
            self.count_side(frame, right, &left.block.ids, true);
        }
    }

    /// Counts the distances to `others` for each center of `shelf`, a row or a column of the tile each.
    fn count_side(&mut self, frame: &Frame, shelf: &Shelf, others: &[u32], across: bool) {
        let centers = shelf.block.ids.len();
        self.counted.clear();
        self.counted.resize(shelf.k * BLOCK, 0);
        if shelf.k <= FEW {
            let flat = self.distances.as_slice().unwrap_or_default();
            let suspects = &mut self.suspects;
            suspects.clear();
            let (counted, len) = (&mut self.counted[..], others.len());
            let mut compare = Compare { flat, shelf, len, counted, suspects };
            vectorized(
                #[inline(always)]
                || compare.all(across),
            );
            self.search_suspects(frame, shelf, others, across);
        } else {
            for i in 0..centers {
                self.load_strip(i, others.len(), across);
                self.search_strip(shelf, i, others.len());
                self.decide(frame, shelf, i, others);
            }
        }
        shelf.add(&self.counted);
    }

    /// Finds the distances that fall into bands, where compares have shown that there are some.
    fn search_suspects(&mut self, frame: &Frame, shelf: &Shelf, others: &[u32], across: bool) {
        let suspects = std::mem::take(&mut self.suspects);
        for suspects in suspects.chunk_by(|a, b| a.0 == b.0) {
            let i = suspects[0].0 as usize;
            self.load_strip(i, others.len(), across);
            let band = |s: u32| (shelf.low[s as usize * BLOCK + i], shelf.high[s as usize * BLOCK + i]);
            // copies share their bands, so an exact distance serves all of them
            for same in suspects.chunk_by(|a, b| band(a.1) == band(b.1)) {
                let (from, to) = (same[0].1 as usize, same[same.len() - 1].1 as usize + 1);
                let (low, high) = band(same[0].1);
                for (c, chunk) in self.strip[..others.len()].chunks(LANES).enumerate() {
                    let within = |v: f32| (low <= v) & (v < high);
                    if chunk.iter().fold(false, |any, &v| any | within(v)) {
                        let inside = (c * LANES..).zip(chunk).filter(|&(_, &v)| within(v));
                        self.doubts.extend(inside.map(|(at, _)| Doubt { at, from, to }));
                    }
                }
            }
            self.decide(frame, shelf, i, others);
        }
        self.suspects = suspects;
    }

    fn load_strip(&mut self, i: usize, len: usize, across: bool) {
        let flat = self.distances.as_slice().unwrap_or_default();
        if across {
            self.strip[..len].iter_mut().zip(flat[i..].iter().step_by(STRIDE)).for_each(|(v, &d2)| *v = d2);
        } else {
            self.strip[..len].copy_from_slice(&flat[i * STRIDE..][..len]);
        }
    }

    /// A binary search for each distance.
    fn search_strip(&mut self, shelf: &Shelf, i: usize, len: usize) {
        let k = shelf.k;
        self.low.clear();
        self.low.extend((0..k).map(|s| shelf.low[s * BLOCK + i]));
        self.high.clear();
        self.high.extend((0..k).map(|s| shelf.high[s * BLOCK + i]));
        let farthest = self.high[k - 1];
        for (at, &v) in self.strip[..len].iter().enumerate() {
            if v >= farthest {
                continue;
            }
            let from = self.high.partition_point(|&high| high <= v);
            let to = from + self.low[from..].iter().take_while(|&&low| low <= v).count();
            if from < to {
                self.doubts.push(Doubt { at, from, to });
            }
            if to < k {
                self.counted[to * BLOCK + i] += 1;
            }
        }
        for s in 1..k {
            self.counted[s * BLOCK + i] += self.counted[(s - 1) * BLOCK + i];
        }
    }

    /// Decides the doubtful counts of center `i` by exact distances.
    fn decide(&mut self, frame: &Frame, shelf: &Shelf, i: usize, others: &[u32]) {
        if self.doubts.is_empty() {
            return;
        }
        let q = frame.points.dim();
        self.own.resize(q, 0.0);
        self.other.resize(q, 0.0);
        frame.points.copy_row(shelf.block.ids[i] as usize, &mut self.own);
        for Doubt { at, from, to } in self.doubts.drain(..) {
            let id = others[at];
            frame.points.copy_row(id as usize, &mut self.other);
            let d2 = squared_distance(&self.own, &self.other);
            for s in from..to {
                let (threshold, last, _) = shelf.thresholds[i * shelf.k + s];
                self.counted[s * BLOCK + i] += u32::from((d2, id) < (threshold, last));
            }
        }
    }
}

/// Makes squared distances of products.
#[inline(always)]
fn complete(flat: &mut [f32], rows: &[f32], columns: &[f32]) {
    for (row, &norm) in flat.chunks_exact_mut(STRIDE).zip(rows) {
        let (row, beyond) = row.split_at_mut(columns.len());
        for (v, &other) in row.iter_mut().zip(columns) {
            *v += norm + other;
        }
        beyond.fill(f32::INFINITY);
    }
}

/// Compares each distance with each threshold: how many are below, and for which thresholds some are in doubt.
struct Compare<'a> {
    flat: &'a [f32],
    shelf: &'a Shelf,
    /// Number of distances of each center.
    len: usize,
    counted: &'a mut [u32],
    suspects: &'a mut Vec<(u32, u32)>,
}

type Vector<T> = [T; LANES];

impl Compare<'_> {
    /// Centers are rows, or columns if `across`.
    #[inline(always)]
    fn all(&mut self, across: bool) {
        let centers = self.shelf.block.ids.len();
        if across {
            for first in (0..centers).step_by(LANES) {
                self.columns(first);
            }
        } else {
            for i in 0..centers {
                self.row(i);
            }
        }
    }

    /// Center `i`, whose distances are a row.
    #[inline(always)]
    fn row(&mut self, i: usize) {
        let (k, strip) = (self.shelf.k, &self.flat[i * STRIDE..][..self.len.next_multiple_of(LANES)]);
        let (least, most) = extremes(strip, LANES);
        let least = least.into_iter().fold(f32::INFINITY, f32::min);
        let most = most.into_iter().fold(f32::NEG_INFINITY, f32::max);
        let shelf = self.shelf;
        let (low, high) = (|s: usize| shelf.low[s * BLOCK + i], |s: usize| shelf.high[s * BLOCK + i]);
        let (mut from, mut to) = (0, k);
        while from < k && high(from) <= least {
            from += 1;
        }
        while from < to && most < low(to - 1) {
            to -= 1;
        }
        for s in to..k {
            self.counted[s * BLOCK + i] += self.len as u32;
        }
        let (counted, suspects) = (&mut self.counted, &mut self.suspects);
        let bands = |s: usize| ([low(s); LANES], [high(s); LANES]);
        compare_each(strip, LANES, from..to, bands, |s, below, within| {
            counted[s * BLOCK + i] += below.iter().sum::<u32>();
            if within.iter().sum::<u32>() > 0 {
                suspects.push((i as u32, s as u32));
            }
        });
    }

    /// Centers from `first` on, a column each.
    #[inline(always)]
    fn columns(&mut self, first: usize) {
        let (k, centers) = (self.shelf.k, LANES.min(self.shelf.block.ids.len() - first));
        let strip = &self.flat[first..first + (self.len - 1) * STRIDE + LANES];
        let (least, most) = extremes(strip, STRIDE);
        let at = |bands: &[f32], s: usize| -> Vector<f32> {
            let mut vector = [0.0; LANES];
            vector.copy_from_slice(&bands[s * BLOCK + first..][..LANES]);
            vector
        };
        let (mut from, mut to) = (0, k);
        while from < k && !any_less(&least, &at(&self.shelf.high, from)) {
            from += 1;
        }
        while from < to && !any_reaches(&most, &at(&self.shelf.low, to - 1)) {
            to -= 1;
        }
        for s in to..k {
            self.counted[s * BLOCK + first..][..centers].iter_mut().for_each(|c| *c += self.len as u32);
        }
        let begin = self.suspects.len();
        let (shelf, counted, suspects) = (self.shelf, &mut self.counted, &mut self.suspects);
        let bands = |s: usize| (at(&shelf.low, s), at(&shelf.high, s));
        compare_each(strip, STRIDE, from..to, bands, |s, below, within| {
            for l in 0..centers {
                counted[s * BLOCK + first + l] += below[l];
                if within[l] > 0 {
                    suspects.push(((first + l) as u32, s as u32));
                }
            }
        });
        self.suspects[begin..].sort_unstable();
    }
}

/// The least and the greatest in each lane of vectors `step` apart.
#[inline(always)]
fn extremes(strip: &[f32], step: usize) -> (Vector<f32>, Vector<f32>) {
    let (mut least, mut most) = ([f32::INFINITY; LANES], [f32::NEG_INFINITY; LANES]);
    for chunk in strip.chunks(step) {
        let Some(v) = chunk.first_chunk::<LANES>() else { continue };
        for l in 0..LANES {
            least[l] = if v[l] < least[l] { v[l] } else { least[l] };
            most[l] = if v[l] > most[l] { v[l] } else { most[l] };
        }
    }
    (least, most)
}

#[inline(always)]
fn any_less(a: &Vector<f32>, b: &Vector<f32>) -> bool {
    (0..LANES).fold(false, |any, l| any | (a[l] < b[l]))
}

#[inline(always)]
fn any_reaches(a: &Vector<f32>, b: &Vector<f32>) -> bool {
    (0..LANES).fold(false, |any, l| any | (a[l] >= b[l]))
}

/// Compares vectors `step` apart with the bands of some thresholds, and calls `f(threshold, below, within)`.
#[inline(always)]
fn compare_each(
    strip: &[f32],
    step: usize,
    thresholds: Range<usize>,
    bands: impl Fn(usize) -> (Vector<f32>, Vector<f32>),
    mut f: impl FnMut(usize, &Vector<u32>, &Vector<u32>),
) {
    let end = thresholds.end;
    for first in thresholds.step_by(TOGETHER) {
        let (mut low, mut high) = ([[0.0; LANES]; TOGETHER], [[0.0; LANES]; TOGETHER]);
        for g in 0..TOGETHER {
            (low[g], high[g]) = bands((first + g).min(end - 1));
        }
        let (below, within) = compare(strip, step, &low, &high);
        for s in first..end.min(first + TOGETHER) {
            f(s, &below[s - first], &within[s - first]);
        }
    }
}

/// In each lane of vectors `step` apart, how many are below each band, and how many within.
#[inline(always)]
fn compare(
    strip: &[f32],
    step: usize,
    low: &[Vector<f32>; TOGETHER],
    high: &[Vector<f32>; TOGETHER],
) -> ([Vector<u32>; TOGETHER], [Vector<u32>; TOGETHER]) {
    let (mut below, mut reached) = ([[0u32; LANES]; TOGETHER], [[0u32; LANES]; TOGETHER]);
    for chunk in strip.chunks(step) {
        let Some(v) = chunk.first_chunk::<LANES>() else { continue };
        for g in 0..TOGETHER {
            for l in 0..LANES {
                below[g][l] += u32::from(v[l] < low[g][l]);
                reached[g][l] += u32::from(v[l] < high[g][l]);
            }
        }
    }
    for g in 0..TOGETHER {
        for l in 0..LANES {
            reached[g][l] -= below[g][l];
        }
    }
    (below, reached)
}
