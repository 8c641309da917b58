//! One embedding as it grows from its start, neighborhood after neighborhood.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};

use branches::prefetch_read_data;

use super::fit::Fit;
use super::frontier::Frontier;
use super::{GreedyParams, STAGE, Trace};
use crate::charts::{Atlas, Coordinates, Gram, Tangents, members};
use crate::error::Result;
use crate::linalg::first;
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;

/// A point is embedded only if its position is at most this uncertain, in variances of an embedded point. Above about
/// 1, an error on the frontier can grow with every step.
const MAX_LEVERAGE: f64 = 2.0;

const PLACED: u32 = u32::MAX; // The neighbor count of a point that is embedded.

/// With charts instead of tangents, only this many earlier neighborhoods are compared, which is slow.
const CHARTS_COMPARED: usize = 1;

const STEPS_PER_REPORT: usize = 256; // Number of steps between two progress reports.

/// Policy for an overlap that leaves a reflection undecided.
#[derive(Clone, Copy, PartialEq)]
enum Undecided {
    Wait,
    /// Decide by the tangents.
    Force,
}

/// The embedding from one start.
pub(super) struct Grown {
    pub embedding: Vec<f64>,
    /// The neighborhood from which the frame of each point is carried; a start has itself.
    pub parents: Vec<u32>,
    pub trace: Trace,
}

/// An embedding as it grows from one start.
pub(super) struct Growth<'a, 'b, 'p> {
    atlas: &'a Atlas<'b, 'p>,
    reversed: &'a Neighborhoods<'a>,
    monitor: &'a dyn Monitor,
    /// Number of points that all starts together have embedded, of `total`.
    done: &'a AtomicUsize,
    total: usize,
    /// True if no neighborhood waits.
    at_once: bool,
    y: Vec<f64>,
    /// Number of embedded neighbors of each point that is not embedded; `PLACED` for points that are.
    counts: Vec<u32>,
    frontier: Frontier,
    /// Points whose neighborhoods had to wait, in order.
    waiting: VecDeque<u32>,
    /// Embedded points whose own neighborhood has not been examined, in order.
    unseen: VecDeque<u32>,
    trace: Trace,
    coordinates: Coordinates,
    fit: Fit,
    /// The neighborhood that embedded each point.
    placer: Vec<u32>,
    /// The same, but for the center of such a neighborhood the one that embedded most of its overlap.
    parents: Vec<u32>,
    /// O_j for each neighborhood that embedded points: chart to embedding, d x d.
    rotations: Vec<f64>,
    carried: Vec<f64>,
    placers: Vec<(u32, f64)>,
    /// Points that the present step embeds.
    fresh: Vec<u32>,
    gram: Gram,
}

impl<'a, 'b, 'p> Growth<'a, 'b, 'p> {
    pub fn new(
        atlas: &'a Atlas<'b, 'p>,
        reversed: &'a Neighborhoods<'a>,
        monitor: &'a dyn Monitor,
        done: &'a AtomicUsize,
        params: &GreedyParams,
    ) -> Self {
        let n = atlas.neighborhoods().len();
        Growth {
            atlas,
            reversed,
            monitor,
            done,
            total: n * params.n_init,
            at_once: params.at_once,
            y: vec![0.0; n * atlas.n_components()],
            counts: vec![0; n],
            frontier: Frontier::default(),
            waiting: VecDeque::new(),
            unseen: VecDeque::new(),
            trace: Trace::default(),
            coordinates: Coordinates::default(),
            fit: Fit::default(),
            placer: vec![0; n],
            parents: vec![0; n],
            rotations: vec![0.0; n * atlas.n_components() * atlas.n_components()],
            carried: vec![],
            placers: vec![],
            fresh: vec![],
            gram: Gram::default(),
        }
    }

    /// Embeds one component after the other.
    pub fn grow(mut self, firsts: &[u32]) -> Result<Grown> {
        for &start in firsts {
            self.place_first(start);
            while self.advance()? {}
            self.unseen.clear();
        }
        self.report();
        Ok(Grown { embedding: self.y, parents: self.parents, trace: self.trace })
    }

    /// Y_i = X_i P_i.
    fn place_first(&mut self, start: u32) {
        let d = self.atlas.n_components();
        self.atlas.read(start as usize, &mut self.coordinates);
        if self.coordinates.dim != d {
            let mut basis = vec![0.0; self.atlas.source().dim() * d];
            self.atlas.tangent(start as usize, &mut basis);
            self.atlas.read_along(start as usize, &basis, &mut self.coordinates);
        }
        (0..d).for_each(|a| self.rotations[start as usize * d * d + a * (d + 1)] = 1.0);
        for m in 0..self.size(start) {
            let p = self.member(start, m);
            let chart = &self.coordinates.flat[m * d..(m + 1) * d];
            self.y[p as usize * d..][..d].copy_from_slice(chart);
            self.placer[p as usize] = start;
            self.parents[p as usize] = start;
            self.fresh.push(p);
        }
        self.mark_fresh();
    }

    /// Embeds one more neighborhood; returns false if there is none.
    fn advance(&mut self) -> Result<bool> {
        self.monitor.check()?; // a step in wide data takes long
        let counts = &self.counts;
        let current = |p: u32, count: u32| counts[p as usize] == count;
        // Returns whether the neighborhood of a point has points that are not embedded.
        let graph = self.atlas.neighborhoods();
        let incomplete = |j: u32| members(graph, j as usize, true).any(|p| counts[p] != PLACED);
        if let Some(j) = self.frontier.pop(current) {
            self.lay(j, Undecided::Wait);
        } else if let Some(j) = next(&mut self.unseen, incomplete) {
            self.trace.other_side += 1;
            self.lay(j, Undecided::Wait);
        } else if let Some(j) = next(&mut self.waiting, incomplete) {
            self.lay(j, Undecided::Force);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn size(&self, j: u32) -> usize {
        self.atlas.neighborhoods().of(j as usize).len() + 1
    }

    fn member(&self, j: u32, m: usize) -> u32 {
        if m == 0 { j } else { self.atlas.neighborhoods().of(j as usize)[m - 1] }
    }

    /// Aligns the neighborhood of `j` with its embedded points and embeds the others.
    fn lay(&mut self, j: u32, undecided: Undecided) {
        if !self.is_sound(j) {
            if undecided == Undecided::Wait {
                self.trace.waits += 1;
                self.waiting.push_back(j);
                return;
            }
            self.trace.forced += 1;
            if self.atlas.tangents() != Tangents::Known {
                self.turn_like_a_neighbor(j); // known tangents were added already
            }
        }
        self.trace.steps += 1;
        self.trace.overlap += self.fit.size;
        self.place_rest(j, undecided);
        if self.trace.steps.is_multiple_of(STEPS_PER_REPORT) {
            self.report();
        }
    }

    fn report(&self) {
        self.monitor.progress(STAGE, self.done.load(Ordering::Relaxed), self.total);
    }

    /// Finds the frame of neighborhood `j`, and returns whether its overlap determines it.
    fn is_sound(&mut self, j: u32) -> bool {
        let all = members(self.atlas.neighborhoods(), j as usize, true);
        let too_few = || all.filter(|&p| self.is_placed(p)).count() <= self.atlas.n_components();
        if !self.at_once && self.atlas.tangents() != Tangents::Known && too_few() {
            return false;
        }
        self.atlas.read(j as usize, &mut self.coordinates);
        self.load_overlap(j);
        self.fit.multiply();
        self.ask_tangents(j);
        if self.atlas.tangents() == Tangents::Charted && self.fit.is_thin() {
            return false;
        }
        self.fit.turn();
        match self.atlas.tangents() {
            Tangents::Known => {
                self.fit.leverage(&self.coordinates.flat[..self.coordinates.dim]) <= MAX_LEVERAGE
            }
            Tangents::Charted | Tangents::None => self.at_once || self.fit.is_decided(),
        }
    }

    /// Adds the tangents' rotation to the overlap's product: the mean of the frames that embedded the overlap, carried
    /// to the tangent of `j`. The overlap alone would amplify errors of the frontier from step to step; this mean is
    /// stable.
    fn ask_tangents(&mut self, j: u32) {
        if self.atlas.tangents() == Tangents::None {
            return;
        }
        self.count_placers(j);
        let d = self.atlas.n_components();
        let weight = self.fit.whole2 / self.fit.size.max(1) as f64;
        let carried = first(&mut self.carried, d * d);
        for &(center, count) in &self.placers {
            let turn = &self.rotations[center as usize * d * d..][..d * d];
            self.atlas.agreement(j as usize, center as usize, carried);
            for (b, turn) in turn.chunks_exact(d).enumerate() {
                for (e, share) in turn.iter().enumerate() {
                    for a in 0..d {
                        self.fit.product[b * d + a] += count * weight * share * carried[e * d + a];
                    }
                }
            }
        }
    }

    /// The neighborhoods that embedded members of `j`, and how many each; only the nearest few if charts are compared.
    fn count_placers(&mut self, j: u32) {
        let most = if self.atlas.tangents() == Tangents::Charted { CHARTS_COMPARED } else { usize::MAX };
        self.placers.clear();
        let counts = &self.counts;
        for p in members(self.atlas.neighborhoods(), j as usize, true).filter(|&p| counts[p] == PLACED) {
            let (center, full) = (self.placer[p], self.placers.len() == most);
            match self.placers.iter_mut().find(|known| known.0 == center) {
                Some(known) => known.1 += 1.0,
                None if full => break,
                None => self.placers.push((center, 1.0)),
            }
        }
    }

    fn load_overlap(&mut self, j: u32) {
        let (c, d) = (self.coordinates.dim, self.atlas.n_components());
        self.fit.clear(c, d, &self.coordinates.flat);
        for (m, p) in members(self.atlas.neighborhoods(), j as usize, true).enumerate() {
            if self.is_placed(p) {
                self.fit.add(&self.coordinates.flat[m * c..][..c], &self.y[p * d..][..d]);
            }
        }
    }

    /// Decides an open rotation by the frame of the neighborhood that embedded the first embedded member of `j`.
    fn turn_like_a_neighbor(&mut self, j: u32) {
        let d = self.atlas.n_components();
        let first = members(self.atlas.neighborhoods(), j as usize, true).find(|&p| self.is_placed(p));
        let Some(parent) = first.map(|p| self.placer[p]) else { return };
        let (agreement, turn) = match self.atlas.tangents() {
            Tangents::None => self.compare_tangents(j, parent),
            Tangents::Known | Tangents::Charted => self.compare_charts(j, parent),
        };
        self.load_overlap(j);
        // (P_j' P_parent O_parent)(a, b)
        self.fit.align_towards(|a, b| (0..d).map(|e| agreement[e * d + a] * turn[b * d + e]).sum());
    }

    /// P_j'P_parent and O_parent for the charts that are kept; reads that of `j`.
    fn compare_charts(&mut self, j: u32, parent: u32) -> (Vec<f64>, Vec<f64>) {
        let size = self.atlas.n_components().pow(2);
        let mut agreement = vec![0.0; size];
        self.atlas.agreements_of_points(j as usize, &[parent], &mut self.gram, &mut agreement);
        self.atlas.read(j as usize, &mut self.coordinates);
        (agreement, self.rotations[parent as usize * size..][..size].to_vec())
    }

    /// The same without stored charts, along tangents found for it.
    fn compare_tangents(&mut self, j: u32, parent: u32) -> (Vec<f64>, Vec<f64>) {
        let (q, d) = (self.atlas.source().dim(), self.atlas.n_components());
        let (mut own, mut theirs) = (vec![0.0; q * d], vec![0.0; q * d]);
        self.atlas.tangent(parent as usize, &mut theirs);
        self.atlas.read_along(parent as usize, &theirs, &mut self.coordinates);
        self.load_overlap(parent);
        self.fit.align();
        let turn = self.fit.frame[..d * d].to_vec();
        self.atlas.tangent(j as usize, &mut own);
        self.atlas.read_along(j as usize, &own, &mut self.coordinates);
        let mut agreement = vec![0.0; d * d];
        self.atlas.compare_tangents(&own, &theirs, &mut agreement);
        (agreement, turn)
    }

    /// Embeds `j` and the points near the overlap. Others are left to neighborhoods with a better overlap.
    fn place_rest(&mut self, j: u32, undecided: Undecided) {
        let (c, d) = (self.coordinates.dim, self.atlas.n_components());
        let all = undecided == Undecided::Force || self.atlas.tangents() != Tangents::Known;
        if c == d {
            self.rotations[j as usize * d * d..][..d * d].copy_from_slice(&self.fit.frame[..d * d]);
        }
        let (known, parent) = (self.is_placed(j as usize), self.parent(j));
        let mut left = false;
        for m in 0..self.size(j) {
            let p = self.member(j, m);
            let chart = &self.coordinates.flat[m * c..][..c];
            if self.is_placed(p as usize) {
                continue;
            }
            let near = all || self.fit.leverage(chart) <= MAX_LEVERAGE;
            left |= !near;
            if near {
                self.fit.place(chart, &mut self.y[p as usize * d..][..d]);
                self.placer[p as usize] = j;
                self.parents[p as usize] = if p == j { parent } else { j };
                self.reversed.soon(p as usize);
                self.fresh.push(p);
            }
        }
        self.mark_fresh();
        if left && known {
            self.waiting.push_back(j); // perhaps no other point reaches the ones that it leaves
        }
    }

    /// The neighborhood that embedded most of the overlap that the present step used.
    fn parent(&self, j: u32) -> u32 {
        let most = self.placers.iter().reduce(|most, next| if next.1 > most.1 { next } else { most });
        most.map_or(j, |&(center, _)| center)
    }

    fn is_placed(&self, p: usize) -> bool {
        self.counts[p] == PLACED
    }

    /// Point `p` is embedded: those that list it have one more embedded neighbor.
    fn mark(&mut self, p: u32) {
        self.counts[p as usize] = PLACED;
        self.unseen.push_back(p);
        for &r in self.reversed.of(p as usize) {
            let count = &mut self.counts[r as usize];
            if *count != PLACED {
                *count += 1;
                self.frontier.push(r, *count);
            }
        }
    }

    /// Marks the points of the last step as embedded, after all of them were prefetched.
    fn mark_fresh(&mut self) {
        let fresh = std::mem::take(&mut self.fresh);
        let touched = fresh.iter().flat_map(|&p| self.reversed.of(p as usize));
        touched.for_each(|&r| prefetch_read_data::<_, 0>(&self.counts[r as usize]));
        fresh.iter().for_each(|&p| self.mark(p));
        self.done.fetch_add(fresh.len(), Ordering::Relaxed);
        self.fresh = fresh;
        self.fresh.clear();
    }
}

/// The next of a list that still matters.
fn next(list: &mut VecDeque<u32>, matters: impl Fn(u32) -> bool) -> Option<u32> {
    while let Some(j) = list.pop_front() {
        if matters(j) {
            return Some(j);
        }
    }
    None
}
