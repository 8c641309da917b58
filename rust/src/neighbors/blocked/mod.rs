//! Exact neighbours of wide data: blocked matrix products propose, exact distances decide.
//!
//! |x - y|^2 = |x|^2 + |y|^2 - 2 x.y turns the search into one large product, done in single precision
//! on centred data, each pair of blocks once for both sides, near ones first: what is then too far to matter is left
//! out. Every point keeps a few more candidates
//! than it needs; their distances are recomputed exactly. The rounding of the products is bounded, so
//! a point either has a proof that nothing else can be among its neighbours, or goes into a second
//! sweep in double precision that looks at everything the bound cannot exclude. The result is that of
//! the double loop, to the last bit. New points that ask for their neighbours are blocks of their own.
//!
//! Cost: about n^2 q / 2 multiplications, or m n q for m new points, O(n k) memory and two blocks for
//! each thread.

mod order;
mod product;
mod ranks;

pub use ranks::ranks;

use self::order::{Ball, arranged};
use self::product::{Packed, Products};

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, LinalgScalar};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::error::Result;
use crate::monitor::Monitor;
use crate::neighbors::candidates::{Candidates, Collector, NOBODY, Within};
use crate::neighbors::{Found, Knn, Neighborhoods};
use crate::points::{Coordinate, Points};

/// Points in a block: a tile of products fits the second-level cache.
const BLOCK: usize = 512;

/// Candidates kept beyond `k`.
const SPARE: usize = 8;

const STAGE: &str = "neighbors";

/// A type in which products are computed.
trait Precision: LinalgScalar + Coordinate {
    /// Half the distance from 1 to the next number.
    const UNIT: f64;

    /// The smallest number of full precision: what a product or a square below it may lose.
    const LEAST: f64;

    fn rounded(value: f64) -> Self;

    /// A bound of the error of a computed squared distance in dimension `dim`, where |x|^2 + |y|^2 is
    /// `norms`: dim roundings in the product, and a few more for the entries, the norms and the sums.
    fn error(dim: usize, norms: f64) -> f64 {
        let roundings = (dim + 16) as f64;
        1.1 * roundings * Self::UNIT * norms + 4.0 * roundings * Self::LEAST
    }
}

impl Precision for f32 {
    const UNIT: f64 = f32::EPSILON as f64 / 2.0;
    const LEAST: f64 = f32::MIN_POSITIVE as f64;

    fn rounded(value: f64) -> Self {
        value as f32
    }
}

impl Precision for f64 {
    const UNIT: f64 = f64::EPSILON / 2.0;
    const LEAST: f64 = f64::MIN_POSITIVE;

    fn rounded(value: f64) -> Self {
        value
    }
}

/// The `k` nearest others of every point; ties go to the lower index.
pub fn nearest(points: &Points, k: usize, monitor: &dyn Monitor) -> Result<Found> {
    search(&Frame::of(points, None, monitor)?, k, monitor)
}

/// The `k` nearest of `points` for every new point; ties go to the lower index.
pub fn query(points: &Points, new: &Points, k: usize, monitor: &dyn Monitor) -> Result<Found> {
    search(&Frame::of(&points.reborrow(), Some(&new.reborrow()), monitor)?, k, monitor)
}

fn search(frame: &Frame, k: usize, monitor: &dyn Monitor) -> Result<Found> {
    let n = frame.asking().len();
    let order = match frame.new {
        Some(_) => (0..n as u32).collect(),
        None => arranged(&frame.points, monitor)?,
    };
    let proposals = propose(frame, &order, k, monitor)?;
    let mut found: Vec<(Candidates, bool)> = proposals
        .into_par_iter()
        .zip(&order)
        .map(|(proposed, &i)| {
            monitor.check()?;
            Ok(frame.decide(i as usize, &proposed, k))
        })
        .collect::<Result<_>>()?;
    let mut places = vec![0; n];
    order.iter().enumerate().for_each(|(place, &i)| places[i as usize] = place);
    let open: Vec<u32> = (0..n as u32).filter(|&i| !found[places[i as usize]].1).collect();
    let lists = open
        .iter()
        .map(|&i| std::mem::replace(&mut found[places[i as usize]].0, Candidates::new(1)))
        .collect();
    for (&i, list) in open.iter().zip(recheck(frame, &open, lists, "neighbors in doubt", monitor)?) {
        found[places[i as usize]].0 = list;
    }
    let mut indices = Vec::with_capacity(n * k);
    let mut distances = Vec::with_capacity(n * k);
    for (d2, id) in places.iter().flat_map(|&place| found[place].0.sorted()) {
        indices.push(id);
        distances.push(d2.sqrt());
    }
    Ok(Found { k, indices, distances })
}

/// All others within `radius` of every point, nearest first.
pub fn within(points: &Points, radius: f64, monitor: &dyn Monitor) -> Result<Knn> {
    let frame = Frame::of(points, None, monitor)?;
    let all: Vec<u32> = (0..points.len() as u32).collect();
    let lists = all.iter().map(|&i| Within::of(i, radius)).collect();
    let lists = recheck(&frame, &all, lists, STAGE, monitor)?;
    let (mut indptr, mut indices, mut distances) = (vec![0], Vec::new(), Vec::new());
    for mut list in lists {
        list.drain_into(&mut distances, &mut indices);
        indptr.push(indices.len() as i64);
    }
    Ok(Knn { neighborhoods: Neighborhoods::ragged(indptr, indices), distances })
}

/// Coordinates in which products lose least: centred, and scaled so that no square overflows.
struct Frame<'a> {
    points: Points<'a>,
    /// Who asks for neighbours, if not the points for each other.
    new: Option<Points<'a>>,
    mean: Vec<f64>,
    /// A power of two, so that scaling is exact.
    scale: f64,
}

impl<'a> Frame<'a> {
    fn of(points: &Points<'a>, new: Option<&Points<'a>>, monitor: &dyn Monitor) -> Result<Self> {
        let (n, q) = (points.len(), points.dim());
        let mut mean = vec![0.0; q];
        let mut row = vec![0.0; q];
        for i in 0..n {
            if i % BLOCK == 0 {
                monitor.check()?;
            }
            points.copy_row(i, &mut row);
            mean.iter_mut().zip(&row).for_each(|(m, v)| *m += v / n as f64);
        }
        let mut largest = 0.0f64;
        for points in std::iter::once(points).chain(new) {
            for i in 0..points.len() {
                if i % BLOCK == 0 {
                    monitor.check()?;
                }
                points.copy_row(i, &mut row);
                largest = row.iter().zip(&mean).fold(largest, |l, (v, m)| l.max((v - m).abs()));
            }
        }
        let scale = if largest > 0.0 { (-largest.log2().ceil()).clamp(-1000.0, 1000.0).exp2() } else { 1.0 };
        Ok(Frame { points: *points, new: new.copied(), mean, scale })
    }

    fn asking(&self) -> &Points<'a> {
        self.new.as_ref().unwrap_or(&self.points)
    }

    /// Whom the point `id` of those that ask must not find.
    fn own(&self, id: u32) -> u32 {
        if self.new.is_some() { NOBODY } else { id }
    }

    /// How many there are to be found.
    fn others(&self) -> usize {
        self.points.len() - usize::from(self.new.is_none())
    }

    /// A squared distance in this frame, rounded up by what squares lose when they underflow.
    fn scaled(&self, d2: f64) -> f64 {
        (d2 + f64::MIN_POSITIVE * self.points.dim() as f64) * self.scale * self.scale
    }

    /// The points `ids` of `points` in this frame and this precision.
    fn block<T: Precision>(&self, points: &Points, ids: Vec<u32>) -> Block<T> {
        let q = self.points.dim();
        let mut row = vec![0.0; q];
        let mut values = Array2::from_elem((ids.len(), q), T::default());
        let mut norms = Vec::with_capacity(ids.len());
        for (&id, mut out) in ids.iter().zip(values.rows_mut()) {
            points.copy_row(id as usize, &mut row);
            let mut norm = 0.0;
            for ((o, v), m) in out.iter_mut().zip(&row).zip(&self.mean) {
                *o = T::rounded((v - m) * self.scale);
                let rounded: f64 = (*o).into();
                norm += rounded * rounded;
            }
            norms.push(T::rounded(norm));
        }
        Block { ids, values, norms }
    }

    /// The exact `k` nearest of the proposed candidates of point `i`, and whether they are proved to be
    /// the `k` nearest of all.
    fn decide(&self, i: usize, proposed: &Proposed, k: usize) -> (Candidates, bool) {
        let q = self.points.dim();
        let (mut own, mut other) = (vec![0.0; q], vec![0.0; q]);
        self.asking().copy_row(i, &mut own);
        let mut list = Candidates::new(k);
        list.restart(self.own(i as u32));
        for (_, id) in proposed.list.sorted().filter(|&(_, id)| id != NOBODY) {
            self.points.copy_row(id as usize, &mut other);
            list.offer(squared_distance(&own, &other), id);
        }
        // Everything left out was computed to be at least `farthest` away. A point much farther from
        // the centre than this one cannot be a neighbour anyway, so |y| is bounded too.
        let needed = self.scaled(list.bound());
        let farthest = proposed.list.bound();
        let reach = proposed.norm.sqrt() + needed.sqrt();
        let slack = f32::error(q, proposed.norm + reach * reach);
        let complete = proposed.list.room() == self.others(); // it kept all there are
        (list, complete || farthest - slack > needed * (1.0 + 1e-9))
    }
}

fn blocks(points: &Points) -> usize {
    points.len().div_ceil(BLOCK)
}

fn ids(points: &Points, block: usize) -> Vec<u32> {
    let start = block * BLOCK;
    (start as u32..(start + BLOCK).min(points.len()) as u32).collect()
}

/// Some points, ready to be multiplied.
struct Block<T> {
    ids: Vec<u32>,
    values: Array2<T>,
    norms: Vec<T>,
}

fn multiply<T: Precision>(left: &Block<T>, right: &Block<T>) -> Array2<T> {
    let mut products = Array2::from_elem((left.ids.len(), right.ids.len()), T::default());
    general_mat_mul(T::one(), &left.values, &right.values.t(), T::zero(), &mut products);
    products
}

/// The candidates of one point by computed distance, and its own squared norm.
struct Proposed {
    list: Candidates,
    norm: f64,
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

    /// Nothing beyond this squared distance can still enter.
    fn farthest(&self) -> f64 {
        self.proposed.iter().fold(0.0, |farthest, proposed| proposed.list.bound().max(farthest))
    }

    fn offer(&mut self, at: usize, computed: f32, id: u32) {
        let Proposed { list, norm } = &mut self.proposed[at];
        list.offer(f64::from(computed) + *norm, id);
        self.threshold[at] = (list.bound() - *norm) as f32;
    }
}

/// For every point that asks the `k` nearest by single-precision products, and a few more; in the order given.
fn propose(frame: &Frame, order: &[u32], k: usize, monitor: &dyn Monitor) -> Result<Vec<Proposed>> {
    let keep = (k + SPARE).min(frame.others());
    let own = frame.new.is_none();
    let shelves: Vec<Mutex<Shelf>> =
        order.par_chunks(BLOCK).map(|ids| Mutex::new(Shelf::new(frame, ids, keep))).collect();
    let asking = |a: usize| order[a * BLOCK..].iter().take(BLOCK).copied().collect::<Vec<u32>>();
    let asked = |b: usize| if own { asking(b) } else { ids(&frame.points, b) };
    let farthest = |shelf: usize| lock(&shelves[shelf]).farthest();
    let pairs = nearest_first(frame, order, monitor)?;
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
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
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            monitor.progress(STAGE, done, pairs.len());
        }
        Ok(())
    })?;
    Ok(shelves
        .into_iter()
        .flat_map(|shelf| shelf.into_inner().unwrap_or_else(PoisonError::into_inner).proposed)
        .collect())
}

/// Pairs of blocks with the gap between them. Points that ask for each other need every pair once, near ones first;
/// of blocks that ask for others no gap is known.
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
    columns: Option<&mut Shelf>,
) {
    Arch::new().dispatch(Offer { left, right, products, rows, columns });
}

/// Products looked at together.
const LANES: usize = 16;

struct Offer<'a> {
    left: &'a Packed,
    right: &'a Packed,
    products: &'a Products,
    rows: &'a mut Shelf,
    columns: Option<&'a mut Shelf>,
}

impl WithSimd for Offer<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Offer { left, right, products, rows, mut columns } = self;
        for i in 0..left.ids.len() {
            let (row, chunks) = (products.row(i), right.ids.len().div_ceil(LANES));
            // in its own block a point meets those around it first: once its threshold is low few others matter
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
    }
}

/// Which of at most [`LANES`] points with these norms and products come within their thresholds. No early exit: it
/// vectorises.
#[inline(always)]
fn near(products: &[f32], norm: impl Fn(usize) -> f32, threshold: impl Fn(usize) -> f32) -> Ones {
    let reaches = |o: usize| norm(o) - 2.0 * products[o] <= threshold(o);
    let which = |bits: u32, o: usize| bits | u32::from(reaches(o)) << o;
    if products.len() < LANES {
        return Ones((0..products.len()).fold(0, which));
    }
    // most have none: to see that is cheaper than to see which
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

/// Completes the lists of those that ask, the points `ids`, with everything that double-precision products cannot exclude.
fn recheck<C: Collector + Send>(
    frame: &Frame,
    asking: &[u32],
    lists: Vec<C>,
    stage: &'static str,
    monitor: &dyn Monitor,
) -> Result<Vec<C>> {
    let (all, mut lists) = (asking.len(), lists);
    let done = AtomicUsize::new(0);
    // Few points share a block when few are left, so that every thread has one.
    let size = asking.len().div_ceil(rayon::current_num_threads()).clamp(1, BLOCK / 4);
    asking.par_chunks(size).zip(lists.par_chunks_mut(size)).try_for_each(|(asking, lists)| {
        let left = frame.block::<f64>(frame.asking(), asking.to_vec());
        for b in 0..blocks(&frame.points) {
            monitor.check()?;
            let right = frame.block::<f64>(&frame.points, ids(&frame.points, b));
            let products = multiply(&left, &right);
            for (i, list) in lists.iter_mut().enumerate() {
                recheck_row(frame, &left, i, &right, &products, list);
            }
        }
        let done = done.fetch_add(asking.len(), Ordering::Relaxed) + asking.len();
        monitor.progress(stage, done, all);
        Ok(())
    })?;
    Ok(lists)
}

fn recheck_row<C: Collector>(
    frame: &Frame,
    left: &Block<f64>,
    i: usize,
    right: &Block<f64>,
    products: &Array2<f64>,
    list: &mut C,
) {
    let q = frame.points.dim();
    let (mut own, mut other) = (vec![0.0; q], vec![0.0; q]);
    frame.asking().copy_row(left.ids[i] as usize, &mut own);
    for (j, &id) in right.ids.iter().enumerate() {
        let norms = left.norms[i] + right.norms[j];
        let at_least = norms - 2.0 * products[[i, j]] - f64::error(q, norms);
        let (bound, last) = list.reach();
        // With many copies of one point the list soon holds nothing but zeros: only lower indices matter.
        if at_least > frame.scaled(bound) || (bound == 0.0 && id >= last) {
            continue;
        }
        frame.points.copy_row(id as usize, &mut other);
        list.offer(squared_distance(&own, &other), id);
    }
}

/// Squared distance, summed in the order in which the kd-tree sums it while data are narrow.
#[inline(always)]
pub fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    if a.len() <= crate::neighbors::kdtree::WIDEST {
        return a.iter().zip(b).fold(0.0, |sum, (x, y)| sum + (x - y) * (x - y));
    }
    let mut sums = [0.0; LANES];
    let ((a_chunks, a_rest), (b_chunks, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for lane in 0..LANES {
            sums[lane] += (a[lane] - b[lane]) * (a[lane] - b[lane]);
        }
    }
    let rest = a_rest.iter().zip(b_rest).fold(0.0, |sum, (x, y)| sum + (x - y) * (x - y));
    sums.iter().sum::<f64>() + rest
}
