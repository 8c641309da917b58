//! Approximate neighbours of wide and many data, with a measured share of the true ones among them.
//!
//! 1. Very wide points are compared along their principal directions (`principal.rs`).
//! 2. Random projection trees put near points into leaves, whose points all meet (`leaves.rs`).
//! 3. Neighbours of neighbours meet until few lists change (`descent.rs`), and until fewer do if too few true
//!    neighbours of some points drawn at random are listed yet: for those all others are looked at (`recall.rs`).
//! 4. The nearest of a list are compared again, by all coordinates in double precision.
//! 5. If that was not enough it is all done again with longer lists and more directions. Other points drawn at random
//!    then tell what came of it.
//!
//! Lists end as the least of what was ever offered, whatever the threads do, so the result depends on data and seed
//! alone; kernels of different processors may round distances differently.
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

use std::sync::{Mutex, PoisonError};

use pulp::{Arch, NullaryFnOnce};
use rayon::prelude::*;

use self::descent::Descent;
use self::leaves::Leaves;
use self::lists::Lists;
use self::rows::{Frame, Rows};
use super::Found;
use super::blocked::squared_distance;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::points::Points;

const STAGE: &str = "neighbors";

/// Points drawn to decide whether lists are long enough, and others to tell the recall.
const ASKED: [usize; 2] = [128, 512];

/// Wider data are compared along principal directions.
const WIDE: usize = 160;

/// Directions to begin with.
const DIRECTIONS: usize = 128;

/// Times that lists are made longer, at most.
const ATTEMPTS: usize = 4;

/// Candidates compared again, beyond those wanted, where all coordinates have been compared before.
const SPARE: usize = 2;

/// How far above the target the recall of a sample must be, as a share of what is missed: it is not that of all.
const SAFETY: f64 = 0.1;

/// Points refined by one thread at a time.
const CHUNK: usize = 256;

/// What an approximate search shall reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// The share of the true neighbours that shall be found.
    pub recall: f64,
    /// Of all that is drawn at random.
    pub seed: u64,
}

impl Default for Target {
    fn default() -> Self {
        Target { recall: 0.98, seed: 0 }
    }
}

impl Target {
    /// Refuses what is no share.
    pub fn check(&self) -> Result<()> {
        if self.recall > 0.0 && self.recall <= 1.0 {
            return Ok(());
        }
        let needed = "it must be above 0 and at most 1";
        Err(Error::OutOfRange { name: "recall", value: self.recall, needed })
    }

    /// The shares of entries that may still be new when rounds end: the next if the recall is too low.
    fn enough(&self) -> [f64; 3] {
        [1.0, 0.25, 0.0625].map(|part| (4.0 * (1.0 - self.recall) * part).clamp(0.001, 0.2))
    }

    /// How many trees, measured like the width of lists.
    fn trees(&self) -> usize {
        if self.recall > 0.955 { leaves::TREES } else { leaves::TREES - 1 }
    }

    /// Candidates for each neighbour wanted: measured, so that the first attempt is the last on most data.
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
    let (mut width, mut directions) = (target.width(k), DIRECTIONS);
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
        let mut rows = Rows::Direct { points: *points, frame: Frame::of(points) };
        if points.dim() > WIDE && directions < points.dim() {
            rows = Rows::Projected {
                scale: rows.scale(),
                values: principal::projected(&rows, directions, seed, monitor)?,
            };
        }
        let lists = Lists::new(points.len(), width);
        let leaves = Leaves::grow(&rows, &lists, target.trees(), seed, monitor)?;
        Ok(Search { points: *points, rows, leaves, lists, k })
    }

    /// Rounds until enough true neighbours of the points asked about are listed; returns whether that is so.
    fn descend(&self, target: &Target, asked: &[u32], monitor: &dyn Monitor) -> Result<bool> {
        let Search { rows, leaves, lists, .. } = self;
        let mut descent = Descent::of(lists);
        let mut reached = false;
        for enough in target.enough() {
            descent.go_on(rows, leaves, lists, enough, monitor)?;
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
        let compared = if self.rows.complete() { self.k + SPARE } else { usize::MAX };
        self.lists.read(place, compared, &mut desk.listed);
        self.points.copy_row(self.leaves.point(place as u32), &mut desk.own);
        desk.best.clear();
        desk.listed.iter().for_each(|&other| self.points.soon(self.leaves.point(other)));
        Arch::new().dispatch(Compare { search: self, desk });
        desk.best.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        desk.best.truncate(self.k);
    }

    fn recall(&self, asked: &[u32], monitor: &dyn Monitor) -> Result<f64> {
        let places = self.places();
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

    fn places(&self) -> Vec<u32> {
        let mut places = vec![0; self.points.len()];
        self.leaves.order().iter().enumerate().for_each(|(place, &i)| places[i as usize] = place as u32);
        places
    }

    /// The best of every list. Places are in an order in which near points are near in memory.
    fn found(mut self, monitor: &dyn Monitor) -> Result<Found> {
        self.leaves.close();
        let (n, k) = (self.points.len(), self.k);
        let (mut indices, mut distances) = (vec![0; n * k], vec![0.0; n * k]);
        let chunks = indices.chunks_mut(CHUNK * k).zip(distances.chunks_mut(CHUNK * k));
        let shelves: Vec<Mutex<(&mut [u32], &mut [f64])>> = chunks.map(Mutex::new).collect();
        self.leaves.order().par_chunks(CHUNK).enumerate().try_for_each_init(
            || Desk::new(self.points.dim()),
            |desk, (chunk, points)| {
                monitor.check()?;
                for (o, &i) in points.iter().enumerate() {
                    self.refine(chunk * CHUNK + o, desk);
                    let i = i as usize;
                    let mut shelf = shelves[i / CHUNK].lock().unwrap_or_else(PoisonError::into_inner);
                    for (s, &(d2, id)) in desk.best.iter().enumerate() {
                        let at = i % CHUNK * k + s;
                        (shelf.0[at], shelf.1[at]) = (id, d2.sqrt());
                    }
                }
                Ok(())
            },
        )?;
        drop(shelves);
        Ok(Found { k, indices, distances })
    }
}

/// Exact squared distances of those listed.
struct Compare<'a, 'b> {
    search: &'a Search<'b>,
    desk: &'a mut Desk,
}

impl NullaryFnOnce for Compare<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Compare { search: Search { points, leaves, .. }, desk: Desk { listed, own, other, best } } = self;
        for &place in listed.iter() {
            let id = leaves.point(place);
            points.copy_row(id, other);
            best.push((squared_distance(own, other), id as u32));
        }
    }
}

/// What refining a list needs, reused from point to point.
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
