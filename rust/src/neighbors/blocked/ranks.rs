//! Ranks in wide data: tiles of single-precision products, counted below given distances.
//!
//! A threshold has a band, by the bound of rounding: what is computed to be below it is nearer, what is computed to
//! be above it is not, and what falls into it is decided by the exact distance and the index. Each pair of blocks
//! serves both sides. Points are put in an order in which near ones share blocks, so that blocks far apart need not be
//! multiplied at all, and of the others only the thresholds within reach are compared.
//!
//! Cost: about n^2 q / 2 multiplications and 4 n^2 k compares, both in vectors; with more than [`FEW`] thresholds a
//! binary search for each distance instead of compares. Memory: O(n k) and two blocks for each thread.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, Axis, Slice};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::order::{Ball, arranged};
use super::{BLOCK, Block, Frame, Precision, squared_distance};
use crate::error::Result;
use crate::monitor::Monitor;
use crate::neighbors::ranks::{Asked, STAGE, Thresholds, rank};
use crate::points::Points;

/// Up to this many thresholds, each is compared with each distance.
const FEW: usize = 64;

/// Distances compared at once: a line of memory.
const LANES: usize = 16;

/// Row after row of a tile; longer than a block, so that rows do not all begin in one place of the cache.
const STRIDE: usize = BLOCK + LANES;

/// Thresholds compared with a strip of distances in one pass.
const TOGETHER: usize = 4;

/// The rank of each point listed about its centre.
pub fn ranks(points: &Points, asked: &Asked, monitor: &dyn Monitor) -> Result<Vec<u32>> {
    let frame = Frame::of(&points.reborrow(), None, monitor)?;
    let order = arranged(points, monitor)?;
    let own = asked.centers.is_none();
    let places: Vec<u32> = if own { order.clone() } else { (0..asked.len() as u32).collect() };
    let shelves = places
        .par_chunks(BLOCK)
        .map(|places| {
            monitor.check()?;
            Ok(Shelf::new(&frame, asked, places))
        })
        .collect::<Result<Vec<Shelf>>>()?;
    let balls: Vec<Ball> = order.par_chunks(BLOCK).map(|ids| Ball::of(&frame, ids)).collect();
    let first = |a: usize| if own { a } else { 0 };
    let pairs: Vec<(usize, usize)> =
        (0..shelves.len()).flat_map(|a| (first(a)..balls.len()).map(move |b| (a, b))).collect();
    let done = AtomicUsize::new(0);
    pairs.par_iter().try_for_each_init(Tile::default, |tile, &(a, b)| {
        monitor.check()?;
        let (left, right) = (&shelves[a], (own && a != b).then(|| &shelves[b]));
        let reach = right.map_or(left.reach, |right| right.reach.max(left.reach));
        if balls[b].gap(&left.ball) <= reach {
            tile.multiply(&frame, left, &order[b * BLOCK..((b + 1) * BLOCK).min(order.len())]);
            tile.count(&frame, left, right);
        }
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        monitor.progress(STAGE, done, pairs.len());
        Ok(())
    })?;
    let mut ranks = vec![0; asked.listed.len()];
    for shelf in shelves {
        monitor.check()?;
        shelf.write(asked, &mut ranks);
    }
    Ok(ranks)
}

/// The thresholds of the centres of a block, and what was counted below them.
struct Shelf {
    k: usize,
    block: Block<f32>,
    /// Where each centre stands among those asked for.
    places: Vec<u32>,
    ball: Ball,
    /// Beyond this distance in the frame no point counts.
    reach: f64,
    /// Below `low` a computed distance is below the threshold, from `high` on it is not. Threshold after threshold,
    /// nearest first; a lane for each centre.
    low: Vec<f32>,
    high: Vec<f32>,
    /// Centre after centre.
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
            own.load(&frame.points, block.ids[i], asked.of(place as usize));
            let mut last = (f32::NEG_INFINITY, f32::NEG_INFINITY);
            for (s, &(d2, ..)) in own.sorted.iter().enumerate() {
                let band = band(frame, d2, block.norms[i].into());
                last = (last.0.max(band.0), last.1.max(band.1)); // in order, whatever rounding does
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

/// Between these a computed distance may belong to either side of the squared distance `d2` to a point of squared norm
/// `norm`.
///
/// A point at distance r has a norm of at most `norm.sqrt()` + r, so its error has a bound that grows with r, slower
/// than r^2 does where the lower end is positive; below that nothing is sure to be nearer.
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

/// Squared distances between the points of two blocks, and what is counted in them.
struct Tile {
    right: Block<f32>,
    distances: Array2<f32>,
    /// Centre and threshold.
    suspects: Vec<(u32, u32)>,
    counted: Vec<u32>,
    strip: Vec<f32>,
    low: Vec<f32>,
    high: Vec<f32>,
    doubts: Vec<Doubt>,
    own: Vec<f64>,
    other: Vec<f64>,
}

impl Default for Tile {
    fn default() -> Self {
        Tile {
            right: Block { ids: Vec::new(), values: Array2::default((0, 0)), norms: Vec::new() },
            distances: Array2::zeros((BLOCK, STRIDE)),
            suspects: Vec::new(),
            counted: Vec::new(),
            strip: vec![0.0; BLOCK],
            low: Vec::new(),
            high: Vec::new(),
            doubts: Vec::new(),
            own: Vec::new(),
            other: Vec::new(),
        }
    }
}

impl Tile {
    fn multiply(&mut self, frame: &Frame, left: &Shelf, ids: &[u32]) {
        self.right = frame.block(&frame.points, ids.to_vec());
        let (rows, columns) = (left.block.ids.len(), ids.len());
        let mut products = self.distances.view_mut();
        products.slice_axis_inplace(Axis(0), Slice::from(..rows));
        products.slice_axis_inplace(Axis(1), Slice::from(..columns));
        general_mat_mul(-2.0, &left.block.values, &self.right.values.t(), 0.0, &mut products);
        Arch::new().dispatch(Complete {
            flat: self.distances.as_slice_mut().unwrap_or_default(),
            rows: &left.block.norms,
            columns: &self.right.norms,
        });
    }

    fn count(&mut self, frame: &Frame, left: &Shelf, right: Option<&Shelf>) {
        let others = std::mem::take(&mut self.right.ids);
        self.count_side(frame, left, &others, false);
        if let Some(right) = right {
            self.count_side(frame, right, &left.block.ids, true);
        }
    }

    /// Counts the distances to `others` for each centre of `shelf`, a row or a column of the tile each.
    fn count_side(&mut self, frame: &Frame, shelf: &Shelf, others: &[u32], across: bool) {
        let centers = shelf.block.ids.len();
        self.counted.clear();
        self.counted.resize(shelf.k * BLOCK, 0);
        if shelf.k <= FEW {
            let flat = self.distances.as_slice().unwrap_or_default();
            let suspects = &mut self.suspects;
            suspects.clear();
            let (counted, len) = (&mut self.counted[..], others.len());
            Arch::new().dispatch(Compare { flat, shelf, len, across, counted, suspects });
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

    /// Decides by exact distances what is in doubt for centre `i`.
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
struct Complete<'a> {
    flat: &'a mut [f32],
    rows: &'a [f32],
    columns: &'a [f32],
}

impl WithSimd for Complete<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (row, &norm) in self.flat.chunks_exact_mut(STRIDE).zip(self.rows) {
            let (row, beyond) = row.split_at_mut(self.columns.len());
            for (v, &other) in row.iter_mut().zip(self.columns) {
                *v += norm + other;
            }
            beyond.fill(f32::INFINITY);
        }
    }
}

/// Compares each distance with each threshold: how many are below, and for which thresholds some are in doubt.
struct Compare<'a> {
    flat: &'a [f32],
    shelf: &'a Shelf,
    /// How many distances for each centre.
    len: usize,
    across: bool,
    counted: &'a mut [u32],
    suspects: &'a mut Vec<(u32, u32)>,
}

type Vector<T> = [T; LANES];

impl WithSimd for Compare<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _: S) {
        let centers = self.shelf.block.ids.len();
        if self.across {
            for first in (0..centers).step_by(LANES) {
                self.columns(first);
            }
        } else {
            for i in 0..centers {
                self.row(i);
            }
        }
    }
}

impl Compare<'_> {
    /// Centre `i`, whose distances are a row.
    #[inline(always)]
    fn row(&mut self, i: usize) {
        let (k, strip) = (self.shelf.k, &self.flat[i * STRIDE..][..self.len.next_multiple_of(LANES)]);
        let (least, most) = extremes(strip, LANES);
        let least = least.into_iter().fold(f32::INFINITY, f32::min);
        let most = most.into_iter().fold(f32::NEG_INFINITY, f32::max);
        let (low, high) =
            (|s: usize| self.shelf.low[s * BLOCK + i], |s: usize| self.shelf.high[s * BLOCK + i]);
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
        for first in (from..to).step_by(TOGETHER) {
            let mut bands = ([[0.0; LANES]; TOGETHER], [[0.0; LANES]; TOGETHER]);
            for g in 0..TOGETHER {
                let s = (first + g).min(to - 1);
                (bands.0[g], bands.1[g]) = ([low(s); LANES], [high(s); LANES]);
            }
            let (below, within) = compare(strip, LANES, &bands.0, &bands.1);
            for s in first..to.min(first + TOGETHER) {
                self.counted[s * BLOCK + i] += below[s - first].iter().sum::<u32>();
                if within[s - first].iter().sum::<u32>() > 0 {
                    self.suspects.push((i as u32, s as u32));
                }
            }
        }
    }

    /// Centres from `first` on, a column each.
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
        for g in (from..to).step_by(TOGETHER) {
            let mut bands = ([[0.0; LANES]; TOGETHER], [[0.0; LANES]; TOGETHER]);
            for o in 0..TOGETHER {
                let s = (g + o).min(to - 1);
                (bands.0[o], bands.1[o]) = (at(&self.shelf.low, s), at(&self.shelf.high, s));
            }
            let (below, within) = compare(strip, STRIDE, &bands.0, &bands.1);
            for s in g..to.min(g + TOGETHER) {
                for l in 0..centers {
                    self.counted[s * BLOCK + first + l] += below[s - g][l];
                    if within[s - g][l] > 0 {
                        self.suspects.push(((first + l) as u32, s as u32));
                    }
                }
            }
        }
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
