//! Exact neighbors of wide data: candidates from blocked matrix products, chosen by exact distances.
//!
//! |x - y|^2 = |x|^2 + |y|^2 - 2 x.y makes the search one large product of centered data in single precision. Each pair
//! of blocks is multiplied once for both sides, near ones first, so that distant pairs can be skipped. Every point
//! keeps a few more candidates than it needs, and their distances are recomputed exactly. By the bound of rounding, a
//! point either has a proof that nothing else can be among its neighbors, or goes into a second sweep in double
//! precision over everything that the bound cannot exclude. The result is that of the double loop, bit for bit.
//!
//! Cost: about n^2 q / 2 multiplications, or m n q for m new points, O(n k) memory and two blocks for each thread.

mod frame;
mod order;
mod product;
mod proposals;
mod ranks;

pub use ranks::ranks;

use ndarray::Array2;
use rayon::prelude::*;

use self::frame::{Block, Frame, Precision, blocks, ids, multiply};
use self::order::arranged;
use self::proposals::{Proposed, propose};
use crate::error::Result;
use crate::monitor::Monitor;
use crate::neighbors::candidates::{Candidates, Collector, Nearest, Within};
use crate::neighbors::{Found, Knn, Neighborhoods, STAGE, inverse};
use crate::parallel::Progress;
use crate::points::Points;

/// Points in a block: a tile of products fits the second-level cache.
const BLOCK: usize = 512;

/// The `k` nearest of `points` for every new point, or for every point itself; ties go to the lower index.
pub fn search(points: &Points, new: Option<&Points>, k: usize, monitor: &dyn Monitor) -> Result<Found> {
    let (points, new) = (points.reborrow(), new.map(|new| new.reborrow()));
    let frame = &Frame::of(&points, new.as_ref(), monitor)?;
    let n = frame.asking().len();
    let order = match frame.new {
        Some(_) => (0..n as u32).collect(),
        None => arranged(&frame.points, monitor)?,
    };
    let proposals = propose(frame, &order, k, monitor)?;
    let decide = |(proposed, &i): (Proposed, &u32)| {
        monitor.check()?;
        Ok(frame.decide(i as usize, proposed, k))
    };
    let mut found: Vec<(Candidates, bool)> =
        proposals.into_par_iter().zip(&order).map(decide).collect::<Result<_>>()?;
    let places: Vec<usize> = inverse(&order).into_iter().map(|place| place as usize).collect();
    let open: Vec<u32> = (0..n as u32).filter(|&i| !found[places[i as usize]].1).collect();
    let mut list_of = |i: u32, list| std::mem::replace(&mut found[places[i as usize]].0, list);
    let lists = open.iter().map(|&i| list_of(i, Candidates::new(1))).collect();
    for (&i, list) in open.iter().zip(recheck(frame, &open, lists, "neighbors in doubt", monitor)?) {
        list_of(i, list);
    }
    let (mut indices, mut distances) = (Vec::with_capacity(n * k), Vec::with_capacity(n * k));
    for place in places {
        for (d2, id) in found[place].0.sorted() {
            indices.push(id);
            distances.push(d2.sqrt());
        }
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
        list.drain_into(&mut distances, &mut indices)?;
        indptr.push(indices.len() as i64);
    }
    Ok(Knn { neighborhoods: Neighborhoods::ragged(indptr, indices), distances })
}

/// Completes the lists of the query points `ids` with everything that double-precision products cannot exclude.
fn recheck<C: Collector + Send>(
    frame: &Frame,
    asking: &[u32],
    mut lists: Vec<C>,
    stage: &'static str,
    monitor: &dyn Monitor,
) -> Result<Vec<C>> {
    let progress = Progress::new(stage, asking.len(), monitor);
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
        progress.add(asking.len());
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
    if a.len() <= crate::neighbors::kdtree::MAX_TREE_DIM {
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
