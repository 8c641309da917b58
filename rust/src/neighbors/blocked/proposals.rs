//! Candidates for every point, by products in single precision.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use super::BLOCK;
use super::frame::{Frame, blocks, ids};
use super::order::Ball;
use super::product::{Packed, Products};
use crate::error::Result;
use crate::monitor::Monitor;
use crate::neighbors::STAGE;
use crate::neighbors::candidates::{Candidates, Collector, Nearest};
use crate::parallel::{Progress, vectorized};

/// Candidates kept beyond `k`.
const SPARE: usize = 8;

/// The candidates of one point by computed distance, and its own squared norm.
pub struct Proposed {
    pub list: Candidates,
    pub norm: f64,
}

/// The proposals of a block, with what a product must reach to enter: for point `i`,
/// |y|^2 - 2 x.y must not exceed the farthest candidate less |x|^2.
struct Shelf {
    proposed: Vec<Proposed>,
    threshold: Vec<f32>,
}

impl Shelf {
    fn new(frame: &Frame, ids: &[u32], keep: usize) -> Self {
        let block = frame.block::<f32>(frame.asking(), ids.to_vec());
        let empty = |(&id, &norm): (&u32, &f32)| {
            let mut list = Candidates::new(keep);
            list.restart(frame.own(id));
            Proposed { list, norm: norm.into() }
        };
        let proposed: Vec<_> = block.ids.iter().zip(&block.norms).map(empty).collect();
        Shelf { threshold: vec![f32::MAX; proposed.len()], proposed }
    }

    /// Squared distance beyond which no point can still enter.
    fn farthest(&self) -> f64 {
        self.proposed.iter().fold(0.0, |farthest, proposed| proposed.list.bound().max(farthest))
    }

    fn offer(&mut self, at: usize, computed: f32, id: u32) {
        let Proposed { list, norm } = &mut self.proposed[at];
        list.offer(f64::from(computed) + *norm, id);
        self.threshold[at] = (list.bound() - *norm) as f32;
    }
}

/// For every query point the `k` nearest by single-precision products, and a few more; in the given order.
pub fn propose(frame: &Frame, order: &[u32], k: usize, monitor: &dyn Monitor) -> Result<Vec<Proposed>> {
    let keep = (k + SPARE).min(frame.others());
    let own = frame.new.is_none();
    let shelves: Vec<Mutex<Shelf>> =
        order.par_chunks(BLOCK).map(|ids| Mutex::new(Shelf::new(frame, ids, keep))).collect();
    let asking = |a: usize| order[a * BLOCK..].iter().take(BLOCK).copied().collect::<Vec<u32>>();
    let asked = |b: usize| if own { asking(b) } else { ids(&frame.points, b) };
    let farthest = |shelf: usize| lock(&shelves[shelf]).farthest();
    let pairs = nearest_first(frame, order, monitor)?;
    let (next, progress) = (AtomicUsize::new(0), Progress::new(STAGE, pairs.len(), monitor));
    // one after the other, whichever thread is free: lists are short of their final reach after the first
    (0..rayon::current_num_threads()).into_par_iter().try_for_each(|_| -> Result<()> {
        let (mut left, mut right, mut products) = (Packed::default(), Packed::default(), Products::default());
        let mut loaded = usize::MAX;
        while let Some(&(gap, a, b)) = pairs.get(next.fetch_add(1, Ordering::Relaxed)) {
            monitor.check()?;
            if gap == 0.0 || gap * gap <= farthest(a).max(farthest(b)) {
                if loaded != a {
                    left.load(frame, frame.asking(), &asking(a));
                    loaded = a;
                }
                if own && a == b {
                    products.multiply(&left, &left);
                    offer_tile(&left, &left, &products, &mut lock(&shelves[a]), None);
                } else {
                    right.load(frame, &frame.points, &asked(b));
                    products.multiply(&left, &right);
                    // always the lower block first: no two threads can wait for each other
                    let mut first = lock(&shelves[a]);
                    let mut second = own.then(|| lock(&shelves[b]));
                    offer_tile(&left, &right, &products, &mut first, second.as_deref_mut());
                }
            }
            progress.add(1);
        }
        Ok(())
    })?;
    Ok(shelves
        .into_iter()
        .flat_map(|shelf| shelf.into_inner().unwrap_or_else(PoisonError::into_inner).proposed)
        .collect())
}

/// Pairs of blocks with the gap between them. If the points are searched for each other, every pair comes once, near
/// ones first; otherwise no gap is known.
fn nearest_first(frame: &Frame, order: &[u32], monitor: &dyn Monitor) -> Result<Vec<(f64, usize, usize)>> {
    let asking = order.len().div_ceil(BLOCK);
    if frame.new.is_some() {
        let others = blocks(&frame.points);
        return Ok((0..asking).flat_map(|a| (0..others).map(move |b| (0.0, a, b))).collect());
    }
    let balls: Vec<Ball> = order.par_chunks(BLOCK).map(|ids| Ball::of(frame, ids)).collect();
    let gaps_of = |a: usize| {
        monitor.check()?;
        Ok((a..asking).map(|b| (balls[a].gap(&balls[b]).max(0.0), a, b)).collect::<Vec<_>>())
    };
    let gaps: Vec<Vec<(f64, usize, usize)>> =
        (0..asking).into_par_iter().map(gaps_of).collect::<Result<_>>()?;
    let mut pairs = gaps.concat();
    pairs.sort_unstable_by(|l, r| l.0.total_cmp(&r.0).then((l.1, l.2).cmp(&(r.1, r.2))));
    Ok(pairs)
}

fn lock(shelf: &Mutex<Shelf>) -> MutexGuard<'_, Shelf> {
    shelf.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Offers a tile of products to the points of its rows, and to those of its columns if they are others.
fn offer_tile(
    left: &Packed,
    right: &Packed,
    products: &Products,
    rows: &mut Shelf,
    mut columns: Option<&mut Shelf>,
) {
    vectorized(
        #[inline(always)]
        || {
            for i in 0..left.ids.len() {
                offer_row(i, left, right, products, rows, columns.as_deref_mut());
            }
        },
    );
}

/// Products compared together.
const LANES: usize = 16;

#[inline(always)]
fn offer_row(
    i: usize,
    left: &Packed,
    right: &Packed,
    products: &Products,
    rows: &mut Shelf,
    mut columns: Option<&mut Shelf>,
) {
    let (row, chunks) = (products.row(i), right.ids.len().div_ceil(LANES));
    // a point is compared with those around it first: once its threshold is low, few others are within it
    for turn in 0..chunks {
        let start = (i / LANES + turn) % chunks * LANES;
        let chunk = &row[start..(start + LANES).min(row.len())];
        let norms = &right.norms[start..start + chunk.len()];
        let own = rows.threshold[i];
        for o in near(chunk, |o| norms[o], |_| own) {
            let computed = norms[o] - 2.0 * chunk[o];
            if computed <= rows.threshold[i] {
                rows.offer(i, computed, right.ids[start + o]);
            }
        }
        let Some(columns) = columns.as_deref_mut() else { continue };
        let norm = left.norms[i];
        let thresholds = &columns.threshold[start..start + chunk.len()];
        for o in near(chunk, |_| norm, |o| thresholds[o]) {
            columns.offer(start + o, norm - 2.0 * chunk[o], left.ids[i]);
        }
    }
}

/// Bits of those of at most [`LANES`] points whose norms and products are within their thresholds. No early exit: it
/// vectorizes.
#[inline(always)]
fn near(products: &[f32], norm: impl Fn(usize) -> f32, threshold: impl Fn(usize) -> f32) -> Ones {
    let reaches = |o: usize| norm(o) - 2.0 * products[o] <= threshold(o);
    let which = |bits: u32, o: usize| bits | u32::from(reaches(o)) << o;
    if products.len() < LANES {
        return Ones((0..products.len()).fold(0, which));
    }
    // most have none: this test is cheaper than to find which
    let any = (0..LANES).fold(false, |any, o| any | reaches(o));
    Ones(if any { (0..LANES).fold(0, which) } else { 0 })
}

/// The places of a number's bits that are set.
struct Ones(u32);

impl Iterator for Ones {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let place = self.0.trailing_zeros();
        self.0 &= self.0.wrapping_sub(1);
        (place < u32::BITS).then_some(place as usize)
    }
}
