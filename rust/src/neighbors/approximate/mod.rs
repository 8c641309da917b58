//! Approximate neighbors of wide and many data, with a measured recall.
//!
//! 1. Very wide points are compared along their principal directions (`principal.rs`).
//! 2. Random projection trees put near points into leaves; all points of a leaf are compared (`leaves.rs`).
//! 3. Neighbors of neighbors are compared until few lists change, or longer if the recall of a random sample of points
//!    is too low (`descent.rs`, `recall.rs`).
//! 4. The nearest of a list are compared again, by all coordinates in double precision.
//! 5. If the recall is still too low, all is repeated with longer lists and more directions. Another random sample then
//!    measures the recall that is reported.
//!
//! A list ends with the nearest of all points offered to it, so the result depends on data and seed alone. Kernels of
//! different processors may round distances differently.
//!
//! Cost: O(n q log n) for the trees, O(n q L) for leaves of L points, less for the rest. Memory: O(n K) for lists of K.

mod descent;
mod leaves;
mod lists;
mod principal;
mod recall;
mod reversed;
mod rows;
mod tile;

use rayon::prelude::*;

use self::descent::Descent;
use self::leaves::Leaves;
use self::lists::Lists;
use self::rows::Rows;
use super::blocked::squared_distance;
use super::candidates::by_distance;
use super::{Found, STAGE, Table, inverse};
use crate::error::{Result, check_range};
use crate::monitor::Monitor;
use crate::parallel::vectorized;
use crate::points::Points;

/// Numbers of sampled points: the first decides whether lists are long enough, the second measures the recall.
const ASKED: [usize; 2] = [128, 512];

/// Above this dimension, points are compared along principal directions.
pub const MAX_DIRECT_DIM: usize = 160;

/// Number of principal directions in the first attempt.
pub const PROJECTED_DIM: usize = 128;

/// Maximum number of searches, each with longer lists than the one before.
const ATTEMPTS: usize = 4;

/// Candidates beyond `k` that are compared again in double precision, if all coordinates were compared before.
const SPARE: usize = 2;

/// The recall of a sample must exceed the target by this share of 1 - target, because samples vary.
const SAFETY: f64 = 0.1;

/// Points that one thread refines at a time.
const CHUNK: usize = 256;

/// The goal of an approximate search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// Share of the true neighbors to find.
    pub recall: f64,
    /// Seed of all random choices.
    pub seed: u64,
}

impl Default for Target {
    fn default() -> Self {
        Target { recall: 0.98, seed: 0 }
    }
}

impl Target {
    /// Fails unless the recall is above 0 and at most 1.
    pub fn check(&self) -> Result<()> {
        let valid = self.recall > 0.0 && self.recall <= 1.0;
        check_range("recall", self.recall, valid, "it must be above 0 and at most 1")
    }

    /// The shares of entries that may still be new when rounds end: the next if the recall is too low.
    fn enough(&self) -> [f64; 3] {
        [1.0, 0.25, 0.0625].map(|part| (4.0 * (1.0 - self.recall) * part).clamp(0.001, 0.2))
    }

    /// Number of trees; measured, as the width of lists is.
    fn trees(&self) -> usize {
        if self.recall > 0.955 { leaves::TREES } else { leaves::TREES - 1 }
    }

    /// Candidates for each neighbor wanted: measured, so that the first attempt is the last on most data.
    fn width(&self, k: usize) -> usize {
        k + if self.recall > 0.985 {
            16
        } else if self.recall > 0.955 {
            8
        } else {
            4
        }
    }
}

/// The `k` nearest others that were found for every point, nearest first, and the share of the true ones among them.
pub fn nearest(points: &Points, k: usize, target: &Target, monitor: &dyn Monitor) -> Result<(Found, f64)> {
    target.check()?;
    let n = points.len();
    let [first, second] = recall::sample(n, ASKED, target.seed);
    let (mut width, mut directions) = (target.width(k), PROJECTED_DIM);
    let mut attempts = 0;
    loop {
        attempts += 1;
        let search = Search::of(points, k, width.min(n - 1), directions, target, monitor)?;
        let exhausted = attempts == ATTEMPTS || width >= n - 1;
        if search.descend(target, &first, monitor)? || exhausted {
            let asked = if second.is_empty() { &first } else { &second };
            let recall = search.recall(asked, monitor)?;
            return Ok((search.found(monitor)?, recall));
        }
        (width, directions) = (width + width / 2, 2 * directions);
    }
}

/// Lists of candidates for all points.
struct Search<'a> {
    points: Points<'a>,
    rows: Rows<'a>,
    leaves: Leaves,
    lists: Lists,
    k: usize,
}

impl<'a> Search<'a> {
    fn of(
        points: &Points<'a>,
        k: usize,
        width: usize,
        directions: usize,
        target: &Target,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let seed = target.seed;
        let mut rows = Rows::of(points);
        if points.dim() > MAX_DIRECT_DIM && directions < points.dim() {
            let values = principal::projected(&rows, directions, seed, monitor)?;
            rows = rows.projected(values);
        }
        let lists = Lists::new(points.len(), width);
        let leaves = Leaves::grow(&rows, &lists, target.trees(), seed, monitor)?;
        Ok(Search { points: *points, rows, leaves, lists, k })
    }

    /// Runs rounds until enough true neighbors of the sampled points are listed; returns whether they are.
    fn descend(&self, target: &Target, asked: &[u32], monitor: &dyn Monitor) -> Result<bool> {
        let mut descent = Descent::of(&self.lists);
        let mut reached = false;
        for enough in target.enough() {
            descent.go_on(self, enough, monitor)?;
            reached = self.recall(asked, monitor)? >= target.recall + SAFETY * (1.0 - target.recall);
            if reached {
                break;
            }
        }
        monitor.progress(STAGE, target.trees() + 1, target.trees() + 1);
        Ok(reached)
    }

    /// The best of the list of a place, by squared distance, then index.
    fn refine(&self, place: usize, desk: &mut Desk) {
        let compared = if self.rows.complete { self.k + SPARE } else { usize::MAX };
        self.lists.read(place, compared, &mut desk.listed);
        self.points.copy_row(self.leaves.point(place as u32), &mut desk.own);
        desk.best.clear();
        desk.listed.iter().for_each(|&other| self.points.soon(self.leaves.point(other)));
        vectorized(
            #[inline(always)]
            || self.compare(desk),
        );
        desk.best.sort_unstable_by(by_distance);
        desk.best.truncate(self.k);
    }

    /// Exact squared distances of those listed.
    #[inline(always)]
    fn compare(&self, Desk { listed, own, other, best }: &mut Desk) {
        for &place in listed.iter() {
            let id = self.leaves.point(place);
            self.points.copy_row(id, other);
            best.push((squared_distance(own, other), id as u32));
        }
    }

    fn recall(&self, asked: &[u32], monitor: &dyn Monitor) -> Result<f64> {
        let places = inverse(&self.leaves.order);
        let found = asked.par_iter().map_init(
            || Desk::new(self.points.dim()),
            |desk, &i| {
                self.refine(places[i as usize] as usize, desk);
                desk.best.iter().map(|&(d2, _)| d2).collect()
            },
        );
        let found: Vec<Vec<f64>> = found.collect();
        recall::recall(&self.points, &self.rows, asked, &found, monitor)
    }

    /// The best of every list. Places are in an order in which near points are near in memory.
    fn found(mut self, monitor: &dyn Monitor) -> Result<Found> {
        self.leaves.leaves = Vec::new(); // not needed any more
        let table = Table::new(self.points.len(), self.k)?;
        self.leaves.order.par_chunks(CHUNK).enumerate().try_for_each_init(
            || Desk::new(self.points.dim()),
            |desk, (chunk, points)| {
                monitor.check()?;
                for (place, &i) in (chunk * CHUNK..).zip(points) {
                    self.refine(place, desk);
                    table.write(i, desk.best.iter().copied());
                }
                Ok(())
            },
        )?;
        Ok(table.found())
    }
}

/// Buffers for refining a list, reused from point to point.
struct Desk {
    listed: Vec<u32>,
    own: Vec<f64>,
    other: Vec<f64>,
    best: Vec<(f64, u32)>,
}

impl Desk {
    fn new(dim: usize) -> Self {
        Desk { listed: Vec::new(), own: vec![0.0; dim], other: vec![0.0; dim], best: Vec::new() }
    }
}
