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

use super::{BLOCK, Block, Frame, Precision, squared_distance};
use crate::error::Result;
use crate::monitor::Monitor;
use crate::neighbors::ranks::{Asked, STAGE, Thresholds, rank};
use crate::points::Points;

/// Up to this many thresholds, each is compared with each distance.
const FEW: usize = 0;

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

/// All points in an order in which near ones share blocks: halves along the line between two points far apart, again
/// and again.
fn arranged(points: &Points, monitor: &dyn Monitor) -> Result<Vec<u32>> {
    let mut order: Vec<u32> = (0..points.len() as u32).collect();
    arrange(points, &mut order, monitor)?;
    Ok(order)
}

fn arrange(points: &Points, ids: &mut [u32], monitor: &dyn Monitor) -> Result<()> {
    let blocks = ids.len().div_ceil(BLOCK);
    if blocks < 2 {
        return Ok(());
    }
    let q = points.dim();
    let (mut ends, mut row) = ([vec![0.0; q], vec![0.0; q]], vec![0.0; q]);
    let mut farthest = ids[0];
    for end in &mut ends {
        monitor.check()?;
        points.copy_row(farthest as usize, end);
        let mut most = -1.0;
        for &id in &*ids {
            points.copy_row(id as usize, &mut row);
            let d2 = squared_distance(end, &row);
            (most, farthest) = if d2 > most { (d2, id) } else { (most, farthest) };
        }
    }
    points.copy_row(farthest as usize, &mut ends[0]);
    // scaled, so that no product overflows
    let largest = ends[0].iter().zip(&ends[1]).fold(f64::MIN_POSITIVE, |l, (a, b)| l.max((a - b).abs()));
    let line: Vec<f64> = ends[0].iter().zip(&ends[1]).map(|(a, b)| (a - b) / largest).collect();
    monitor.check()?;
    let mut along: Vec<(f64, u32)> = ids
        .iter()
        .map(|&id| {
            points.copy_row(id as usize, &mut row);
            (row.iter().zip(&ends[1]).zip(&line).map(|((v, o), l)| (v - o) * l).sum(), id)
        })
        .collect();
    let middle = blocks.div_ceil(2) * BLOCK;
    along.select_nth_unstable_by(middle, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    ids.iter_mut().zip(&along).for_each(|(id, &(_, along))| *id = along);
    let (left, right) = ids.split_at_mut(middle);
    let (left, right) = rayon::join(|| arrange(points, left, monitor), || arrange(points, right, monitor));
    left.and(right)
}

/// A ball that holds the points of a block, in the frame.
struct Ball {
    middle: Vec<f64>,
    radius: f64,
}

impl Ball {
    fn of(frame: &Frame, ids: &[u32]) -> Self {
        let block: Block<f64> = frame.block(&frame.points, ids.to_vec());
        let q = frame.points.dim();
        let mut middle = vec![0.0; q];
        for row in block.values.rows() {
            middle.iter_mut().zip(row).for_each(|(m, v)| *m += v / ids.len() as f64);
        }
        let apart = |row: ndarray::ArrayView1<f64>| -> f64 {
            row.iter().zip(&middle).map(|(v, m)| (v - m) * (v - m)).sum()
        };
        let radius = block.values.rows().into_iter().map(apart).fold(0.0, f64::max).sqrt();
        Ball { middle, radius }
    }

    /// No point of one is nearer to one of the other than this.
    fn gap(&self, other: &Ball) -> f64 {
        let apart = self.middle.iter().zip(&other.middle).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
        // entries of the frame are at most 1: what rounding can add is far below this
        apart * (1.0 - 1e-9) - (self.radius + other.radius) * (1.0 + 1e-9) - 1e-12 * self.middle.len() as f64
    }
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
    least: Vec<f32>,
    most: Vec<f32>,
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
            least: vec![0.0; BLOCK],
            most: vec![0.0; BLOCK],
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
        let (rows, columns) = (left.block.ids.len(), self.right.ids.len());
        let others = std::mem::take(&mut self.right.ids);
        self.count_side(frame, left, &others, false);
        if let Some(right) = right {
            self.count_side(frame, right, &left.block.ids, true);
        }
        debug_assert!(rows <= BLOCK && columns <= BLOCK);
    }

    /// Counts the distances to `others` for each centre of `shelf`, a row or a column of the tile each.
    fn count_side(&mut self, frame: &Frame, shelf: &Shelf, others: &[u32], across: bool) {
        let centers = shelf.block.ids.len();
        self.counted.clear();
        self.counted.resize(shelf.k * BLOCK, 0);
        if shelf.k <= FEW {
            for first in (0..centers).step_by(LANES) {
                self.count_group(frame, shelf, first, LANES.min(centers - first), others, across);
            }
        } else {
            for i in 0..centers {
                self.load_strip(i, others.len(), across);
                self.search_strip(shelf, i, others.len());
                self.decide(frame, shelf, i, others);
            }
        }
        shelf.add(&self.counted);
    }

    /// Counts for some centres side by side.
    fn count_group(
        &mut self,
        frame: &Frame,
        shelf: &Shelf,
        first: usize,
        centers: usize,
        others: &[u32],
        across: bool,
    ) {
        let _ = (frame, shelf, first, centers, others, across);
    }

    fn load_strip(&mut self, i: usize, len: usize, across: bool) {
        for (j, v) in self.strip[..len].iter_mut().enumerate() {
            *v = if across { self.distances[[j, i]] } else { self.distances[[i, j]] };
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
            for (v, &other) in row.iter_mut().zip(self.columns) {
                *v += norm + other;
            }
        }
    }
}
