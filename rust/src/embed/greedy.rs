//! Greedy Procrustes, GP (Goldberg & Ritov, section 4.1): one neighbourhood after the other is laid against what is
//! already embedded.
//!
//! Cost: that of the charts, then O(n k (k + d^2)) for each start, whatever the dimension of the data.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};

use branches::prefetch_read_data;
use ndarray::ArrayView2;
use rayon::prelude::*;

use super::frontier::Frontier;
use crate::charts::{Atlas, Coordinates, Gram, Tangents, members};
use crate::error::{Error, Result};
use crate::linalg::{Singular, dot, first, orthogonal_factor};
use crate::measure;
use crate::monitor::{Monitor, Silent};
use crate::neighbors::Neighborhoods;
use crate::points::Points;
use crate::rng::{stream, uniform};

const STAGE: &str = "greedy";

/// An overlap whose least extent, squared, is below this share of the neighbourhood's leaves a reflection undecided.
const SOUND: f64 = 1e-3;

/// Points are embedded while the position that the overlap gives them is at most this uncertain: the variance of the
/// fit there, in variances of an embedded point.
///
/// Beyond about 1 an error that enters the frontier grows with every step; the tangents' share of the turn
/// keeps it down, and this bound keeps out the worst.
const LEVERAGE: f64 = 2.0;

/// The count of a point that is embedded.
const PLACED: u32 = u32::MAX;

/// How many charts are asked for a turn where tangents are not known.
const CHARTS_ASKED: usize = 1;

/// Steps between two reports.
const STEPS: usize = 256;

/// Where to begin, and how often.
#[derive(Debug, Clone, Copy)]
pub struct GreedyParams<'a> {
    /// How many starts; the one of lowest R_N is kept, component by component.
    pub n_init: usize,
    /// Where the first start begins; at random if `None`, as all others do.
    pub start: Option<usize>,
    /// Of the random starts.
    pub seed: u64,
    /// What points were called before they were renumbered, each number once: starts are drawn, and ties go, as if they
    /// still were. An order in which neighbours stand near each other would favour one side of the surface.
    pub names: Option<&'a [u32]>,
}

impl Default for GreedyParams<'_> {
    fn default() -> Self {
        GreedyParams { n_init: 1, start: None, seed: 0, names: None }
    }
}

impl GreedyParams<'_> {
    fn check(&self, n: usize) -> Result<()> {
        if self.n_init == 0 {
            return Err(Error::OutOfRange {
                name: "n_init",
                value: 0.0,
                needed: "at least 1 start is needed",
            });
        }
        if let Some(names) = self.names
            && names.len() != n
        {
            let (left, right) = ("names", "X");
            return Err(Error::LengthMismatch { left, left_len: names.len(), right, right_len: n });
        }
        let far = |names: &[u32]| names.iter().position(|&name| name as usize >= n);
        if let Some((names, point)) = self.names.and_then(|names| Some((names, far(names)?))) {
            return Err(Error::NeighborOutOfRange { point, neighbor: names[point] as usize, n });
        }
        match self.start {
            Some(start) if start >= n => Err(Error::OutOfRange {
                name: "start",
                value: start as f64,
                needed: "it must be the index of a point",
            }),
            _ => Ok(()),
        }
    }
}

/// What happened on the way, for diagnosis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Trace {
    /// Neighbourhoods that were laid against others.
    pub steps: usize,
    /// Embedded points they shared, all together.
    pub overlap: usize,
    /// Neighbourhoods put off because their overlap left a reflection undecided.
    pub waits: usize,
    /// Those for which nothing better ever came: turned by the tangent of a neighbour.
    pub forced: usize,
    /// Neighbourhoods of embedded points that reached points which do not list any embedded one.
    pub other_side: usize,
}

/// An embedding, each component about an origin of its own.
#[derive(Debug, Clone)]
pub struct Greedy {
    /// Point after point.
    pub embedding: Vec<f64>,
    /// The connected component of every point.
    pub labels: Vec<u32>,
    /// R_N of every start, if there were several.
    pub r_n: Vec<f64>,
    /// Which start each component is from.
    pub kept: Vec<u32>,
    /// Of each start.
    pub traces: Vec<Trace>,
}

/// Embeds the data of `atlas`.
///
/// ```
/// use ndarray::array;
/// use unbend::charts::Atlas;
/// use unbend::{Points, Unmonitored, embed, neighbors};
/// let bent = array![[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [2.0, 1.0], [2.0, 2.0]];
/// let x = Points::new("X", bent.view(), &Unmonitored)?;
/// let graph = neighbors::nearest(&x, 2, Default::default(), &Unmonitored)?.neighborhoods;
/// let atlas = Atlas::new(&x, &graph, None, 1, &Unmonitored)?;
/// let found = embed::greedy(&atlas, &Default::default(), &Unmonitored)?;
/// let length = (found.embedding[4] - found.embedding[0]).abs();
/// assert!(length > 3.0); // the corner is rounded off, the arms are laid out
/// # Ok::<(), unbend::Error>(())
/// ```
pub fn greedy(atlas: &Atlas, params: &GreedyParams, monitor: &dyn Monitor) -> Result<Greedy> {
    let n = atlas.points().len();
    params.check(n)?;
    let labels = atlas.neighborhoods().components();
    let mut reversed = atlas.neighborhoods().reversed();
    if let Some(names) = params.names {
        reversed.sort_rows_by_key(|i| names[i as usize]);
    }
    let starts = starts(&labels, params);
    let done = AtomicUsize::new(0);
    let grown: Result<Vec<(Vec<f64>, Trace)>> = starts
        .into_par_iter()
        .map(|firsts| Growth::new(atlas, &reversed, monitor, &done, params.n_init).grow(&firsts))
        .collect();
    let (embeddings, traces): (Vec<_>, Vec<_>) = grown?.into_iter().unzip();
    choose(atlas, embeddings, labels, traces, &Silent(monitor))
}

/// For each start the first point of every component.
fn starts(labels: &[u32], params: &GreedyParams) -> Vec<Vec<u32>> {
    let pieces = pieces(labels, params.names);
    let mut starts: Vec<Vec<u32>> = (0..params.n_init)
        .map(|s| {
            let mut rng = stream(params.seed, STAGE, s as u64);
            pieces.iter().map(|m| m[(uniform(&mut rng) * m.len() as f64) as usize]).collect()
        })
        .collect();
    if let Some(start) = params.start {
        let own = pieces.iter().position(|m| labels[m[0] as usize] == labels[start]);
        starts[0][own.unwrap_or(0)] = start as u32;
    }
    starts
}

/// The points of every component, in the order of their names, and components in that of their first.
fn pieces(labels: &[u32], names: Option<&[u32]>) -> Vec<Vec<u32>> {
    let mut order: Vec<u32> = (0..labels.len() as u32).collect();
    for (&name, place) in names.unwrap_or_default().iter().zip(0..) {
        order[name as usize] = place;
    }
    let components = labels.iter().max().map_or(0, |&last| last as usize + 1);
    let (mut known, mut found) = (vec![usize::MAX; components], Vec::new());
    for i in order {
        let own = &mut known[labels[i as usize] as usize];
        if *own == usize::MAX {
            *own = found.len();
            found.push(Vec::new());
        }
        found[*own].push(i);
    }
    found
}

/// Of every component the embedding of lowest R_N, of which neighbourhoods without extent are no part.
fn choose(
    atlas: &Atlas,
    mut embeddings: Vec<Vec<f64>>,
    labels: Vec<u32>,
    traces: Vec<Trace>,
    monitor: &dyn Monitor,
) -> Result<Greedy> {
    let d = atlas.n_components();
    let components = labels.iter().max().map_or(0, |&last| last as usize + 1);
    if embeddings.len() == 1 {
        let embedding = embeddings.swap_remove(0);
        return Ok(Greedy { embedding, labels, r_n: vec![], kept: vec![0; components], traces });
    }
    let mut r_n = Vec::new();
    let mut best = vec![(f64::INFINITY, 0); components];
    for (s, embedding) in (0..).zip(&embeddings) {
        let errors = errors(atlas, embedding, monitor)?;
        r_n.push(errors.means.r_n);
        for (best, mean) in best.iter_mut().zip(component_means(&errors, &labels, components)) {
            if mean < best.0 {
                *best = (mean, s);
            }
        }
    }
    let kept: Vec<u32> = best.into_iter().map(|(_, s)| s).collect();
    let mut embedding = vec![0.0; labels.len() * d];
    for (i, row) in embedding.chunks_exact_mut(d).enumerate() {
        row.copy_from_slice(&embeddings[kept[labels[i] as usize] as usize][i * d..][..d]);
    }
    Ok(Greedy { embedding, labels, r_n, kept, traces })
}

fn component_means(errors: &measure::Faithfulness, labels: &[u32], components: usize) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); components];
    for (p, &label) in errors.per_point.iter().zip(labels).filter(|(p, _)| !p.degenerate()) {
        let (sum, count) = &mut sums[label as usize];
        *sum += p.r_n;
        *count += 1.0;
    }
    sums.into_iter().map(|(sum, count)| if count > 0.0 { sum / count } else { f64::INFINITY }).collect()
}

fn errors(atlas: &Atlas, embedding: &[f64], monitor: &dyn Monitor) -> Result<measure::Faithfulness> {
    let d = atlas.n_components();
    // The length is n d by construction.
    let view = ArrayView2::from_shape((embedding.len() / d, d), embedding).map_err(|_| Error::Interrupted)?;
    let y = Points::new("the embedding", view, monitor)?;
    measure::faithfulness(atlas.points(), &y, atlas.neighborhoods(), Default::default(), monitor)
}

/// What to do with an overlap that leaves a reflection undecided.
#[derive(Clone, Copy, PartialEq)]
enum Undecided {
    Wait,
    /// Decide by the tangents.
    Force,
}

/// An embedding as it grows from one start.
struct Growth<'a, 'b, 'p> {
    atlas: &'a Atlas<'b, 'p>,
    reversed: &'a Neighborhoods<'a>,
    monitor: &'a dyn Monitor,
    /// Points embedded by all starts together, of so many.
    done: &'a AtomicUsize,
    total: usize,
    y: Vec<f64>,
    /// How many of its neighbours are embedded, for each point that is not; `PLACED` for those that are.
    counts: Vec<u32>,
    frontier: Frontier,
    /// Points whose neighbourhoods had to wait, in order.
    waiting: VecDeque<u32>,
    /// Embedded points whose own neighbourhood has not been looked through, in order.
    unseen: VecDeque<u32>,
    trace: Trace,
    coordinates: Coordinates,
    fit: Fit,
    /// The neighbourhood that embedded each point.
    placer: Vec<u32>,
    /// O_j for each neighbourhood that embedded points: chart to embedding, d x d.
    turns: Vec<f64>,
    carried: Vec<f64>,
    placers: Vec<(u32, f64)>,
    /// Points that the present step embeds.
    fresh: Vec<u32>,
    gram: Gram,
}

impl<'a, 'b, 'p> Growth<'a, 'b, 'p> {
    fn new(
        atlas: &'a Atlas<'b, 'p>,
        reversed: &'a Neighborhoods<'a>,
        monitor: &'a dyn Monitor,
        done: &'a AtomicUsize,
        n_init: usize,
    ) -> Self {
        let n = atlas.points().len();
        Growth {
            atlas,
            reversed,
            monitor,
            done,
            total: n * n_init,
            y: vec![0.0; n * atlas.n_components()],
            counts: vec![0; n],
            frontier: Frontier::default(),
            waiting: VecDeque::new(),
            unseen: VecDeque::new(),
            trace: Trace::default(),
            coordinates: Coordinates::default(),
            fit: Fit::default(),
            placer: vec![0; n],
            turns: vec![0.0; n * atlas.n_components() * atlas.n_components()],
            carried: vec![],
            placers: vec![],
            fresh: vec![],
            gram: Gram::default(),
        }
    }

    /// Embeds one component after the other.
    fn grow(mut self, firsts: &[u32]) -> Result<(Vec<f64>, Trace)> {
        for &start in firsts {
            self.place_first(start);
            while self.advance()? {}
            self.unseen.clear();
        }
        self.report();
        Ok((self.y, self.trace))
    }

    /// Y_i = X_i P_i.
    fn place_first(&mut self, start: u32) {
        let d = self.atlas.n_components();
        self.atlas.read(start as usize, &mut self.coordinates);
        if self.coordinates.dim != d {
            let mut basis = vec![0.0; self.atlas.points().dim() * d];
            self.atlas.tangent(start as usize, &mut basis);
            self.atlas.read_along(start as usize, &basis, &mut self.coordinates);
        }
        (0..d).for_each(|a| self.turns[start as usize * d * d + a * (d + 1)] = 1.0);
        for m in 0..self.size(start) {
            let p = self.member(start, m);
            let chart = &self.coordinates.flat[m * d..(m + 1) * d];
            self.y[p as usize * d..][..d].copy_from_slice(chart);
            self.placer[p as usize] = start;
            self.fresh.push(p);
        }
        self.mark_fresh();
    }

    /// Embeds one more neighbourhood; says whether there was one.
    fn advance(&mut self) -> Result<bool> {
        self.monitor.check()?; // a step in wide data takes long
        let counts = &self.counts;
        let current = |p: u32, count: u32| counts[p as usize] == count;
        // Whether the neighbourhood of a point has points that are not embedded.
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

    /// Member `m` of neighbourhood `j`, which begins with `j`.
    fn member(&self, j: u32, m: usize) -> u32 {
        if m == 0 { j } else { self.atlas.neighborhoods().of(j as usize)[m - 1] }
    }

    /// Lays the neighbourhood of `j` against its embedded points and embeds the others.
    fn lay(&mut self, j: u32, undecided: Undecided) {
        if !self.is_sound(j) {
            if undecided == Undecided::Wait {
                self.trace.waits += 1;
                self.waiting.push_back(j);
                return;
            }
            self.trace.forced += 1;
            self.force(j);
        }
        self.trace.steps += 1;
        self.trace.overlap += self.fit.size;
        self.place_rest(j, undecided);
        if self.trace.steps.is_multiple_of(STEPS) {
            self.report();
        }
    }

    fn report(&self) {
        self.monitor.progress(STAGE, self.done.load(Ordering::Relaxed), self.total);
    }

    /// Finds the frame of neighbourhood `j`, and says whether its overlap is enough for it. Most that are not are known by
    /// the number of their points.
    fn is_sound(&mut self, j: u32) -> bool {
        let all = members(self.atlas.neighborhoods(), j as usize, true);
        let too_few = || all.filter(|&p| self.is_placed(p)).count() <= self.atlas.n_components();
        if self.atlas.tangents() != Tangents::Known && too_few() {
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
            Tangents::Known => self.fit.leverage(&self.coordinates.flat[..self.coordinates.dim]) <= LEVERAGE,
            Tangents::Charted | Tangents::None => self.fit.is_decided(),
        }
    }

    /// Finds the frame of neighbourhood `j` where its overlap is not enough.
    fn force(&mut self, j: u32) {
        if self.atlas.tangents() != Tangents::Known {
            self.turn_like_a_neighbour(j); // known tangents have been asked already
        }
    }

    /// Adds to the overlap's product what the tangents say of the turn: the mean over the embedded members of the frame
    /// that embedded them, carried over to the tangent of `j`.
    ///
    /// The overlap alone lets errors of the frontier turn the next neighbourhood, which makes them larger: over hundreds of
    /// steps they grow without bound. A turn that is mostly the mean of those before it is stable.
    fn ask_tangents(&mut self, j: u32) {
        if self.atlas.tangents() == Tangents::None {
            return;
        }
        self.count_placers(j);
        let d = self.atlas.n_components();
        let weight = self.fit.whole2 / self.fit.size.max(1) as f64;
        let carried = first(&mut self.carried, d * d);
        for &(center, count) in &self.placers {
            let turn = &self.turns[center as usize * d * d..][..d * d];
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

    /// The neighbourhoods that embedded members of `j`, and how many each. Of charts only the nearest few are asked: it
    /// takes long, and the far ones share few points with `j`.
    fn count_placers(&mut self, j: u32) {
        let most = if self.atlas.tangents() == Tangents::Charted { CHARTS_ASKED } else { usize::MAX };
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

    /// Where the overlap leaves the turn open, the neighbourhood that embedded the first embedded member decides: its
    /// frame, carried over from its tangent to that of `j`. All of its points are embedded, so its frame is known.
    fn turn_like_a_neighbour(&mut self, j: u32) {
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
        (agreement, self.turns[parent as usize * size..][..size].to_vec())
    }

    /// The same where there are no charts, along tangents found for it.
    fn compare_tangents(&mut self, j: u32, parent: u32) -> (Vec<f64>, Vec<f64>) {
        let (q, d) = (self.atlas.points().dim(), self.atlas.n_components());
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

    /// Embeds `j` and what lies near the overlap. What does not is left to neighbourhoods that know more of it.
    fn place_rest(&mut self, j: u32, undecided: Undecided) {
        let (c, d) = (self.coordinates.dim, self.atlas.n_components());
        let all = undecided == Undecided::Force || self.atlas.tangents() != Tangents::Known;
        if c == d {
            self.turns[j as usize * d * d..][..d * d].copy_from_slice(&self.fit.frame[..d * d]);
        }
        let known = self.is_placed(j as usize);
        let mut left = false;
        for m in 0..self.size(j) {
            let p = self.member(j, m);
            let chart = &self.coordinates.flat[m * c..][..c];
            if self.is_placed(p as usize) {
                continue;
            }
            let near = all || self.fit.leverage(chart) <= LEVERAGE;
            left |= !near;
            if near {
                self.fit.place(chart, &mut self.y[p as usize * d..][..d]);
                self.placer[p as usize] = j;
                self.reversed.soon(p as usize);
                self.fresh.push(p);
            }
        }
        self.mark_fresh();
        if left && known {
            self.waiting.push_back(j); // nobody else need ever reach what it leaves
        }
    }

    fn is_placed(&self, p: usize) -> bool {
        self.counts[p] == PLACED
    }

    /// Point `p` is embedded: those that list it have one more embedded neighbour.
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

    /// Marks what the last step embedded, once all of it has been asked for from memory.
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

/// The Procrustes problem of one overlap: chart coordinates against embedded ones.
#[derive(Debug, Default)]
struct Fit {
    /// Dimensions of the chart and of the embedding.
    c: usize,
    d: usize,
    /// How many points overlap.
    size: usize,
    chart: Vec<f64>,
    image: Vec<f64>,
    chart_mean: Vec<f64>,
    image_mean: Vec<f64>,
    product: Vec<f64>,
    /// A: c x d, column after column.
    frame: Vec<f64>,
    /// |T|^2 of the whole neighbourhood.
    whole2: f64,
    spare: Vec<f64>,
    values: Singular,
    scratch: Vec<f64>,
}

impl Fit {
    fn clear(&mut self, c: usize, d: usize, all: &[f64]) {
        (self.c, self.d, self.size) = (c, d, 0);
        self.spare.clear();
        self.spare.extend_from_slice(all);
        center(&mut self.spare, c, &mut self.chart_mean);
        self.whole2 = dot(&self.spare, &self.spare);
        self.chart.clear();
        self.image.clear();
    }

    fn add(&mut self, chart: &[f64], image: &[f64]) {
        self.size += 1;
        self.chart.extend_from_slice(chart);
        self.image.extend_from_slice(image);
    }

    /// Finds the frame.
    fn align(&mut self) {
        self.multiply();
        self.turn();
    }

    /// The same, with a little of `towards` added, which decides what the overlap does not.
    fn align_towards(&mut self, towards: impl Fn(usize, usize) -> f64) {
        self.multiply();
        let weight = if self.whole2 > 0.0 { SOUND * self.whole2 } else { 1.0 };
        for b in 0..self.d {
            for a in 0..self.c {
                self.product[b * self.c + a] += weight * towards(a, b);
            }
        }
        self.turn();
    }

    /// Z = T'Y about the means.
    fn multiply(&mut self) {
        let (c, d) = (self.c, self.d);
        center(&mut self.chart, c, &mut self.chart_mean);
        center(&mut self.image, d, &mut self.image_mean);
        let product = first(&mut self.product, c * d);
        product.fill(0.0);
        for (t, y) in self.chart.chunks_exact(c).zip(self.image.chunks_exact(d)) {
            for b in 0..d {
                (0..c).for_each(|a| product[b * c + a] += t[a] * y[b]);
            }
        }
    }

    fn turn(&mut self) {
        let (c, d) = (self.c, self.d);
        let spare = first(&mut self.spare, c * d);
        spare.copy_from_slice(&self.product[..c * d]);
        self.values = orthogonal_factor(spare, c, d, first(&mut self.frame, c * d), &mut self.scratch);
    }

    /// Whether it is plain that the product does not decide the frame: a column is nearly a combination of those before.
    fn is_thin(&mut self) -> bool {
        let (c, d) = (self.c, self.d);
        let columns = first(&mut self.spare, c * d);
        columns.copy_from_slice(&self.product[..c * d]);
        for j in 0..d {
            let (known, rest) = columns.split_at_mut(j * c);
            let column = &mut rest[..c];
            for unit in known.chunks_exact(c) {
                let along = dot(unit, column);
                column.iter_mut().zip(unit).for_each(|(v, u)| *v -= along * u);
            }
            let length = dot(column, column).sqrt();
            if length <= SOUND * self.whole2 {
                return true;
            }
            column.iter_mut().for_each(|v| *v /= length);
        }
        false
    }

    /// Whether the product decides the frame: it has rank d.
    fn is_decided(&self) -> bool {
        self.values.least > SOUND * self.whole2
    }

    /// How uncertain the fit is at a point of the chart, in variances of an embedded point: of the mean, and of the turn.
    fn leverage(&self, chart: &[f64]) -> f64 {
        let d2: f64 = chart.iter().zip(&self.chart_mean).map(|(a, b)| (a - b) * (a - b)).sum();
        let extent2 = dot(&self.chart, &self.chart);
        1.0 / self.size as f64 + if d2 > 0.0 { d2 / extent2 } else { 0.0 }
    }

    /// y = mean of Y + A'(t - mean of T).
    fn place(&self, chart: &[f64], image: &mut [f64]) {
        for (b, y) in image.iter_mut().enumerate() {
            let column = &self.frame[b * self.c..][..self.c];
            let turned: f64 = (0..self.c).map(|a| column[a] * (chart[a] - self.chart_mean[a])).sum();
            *y = self.image_mean[b] + turned;
        }
    }
}

/// Moves rows of `width` numbers to their mean, which is also written.
fn center(rows: &mut [f64], width: usize, mean: &mut Vec<f64>) {
    let count = (rows.len() / width).max(1) as f64;
    let mean = first(mean, width);
    mean.fill(0.0);
    for row in rows.chunks_exact(width) {
        mean.iter_mut().zip(row).for_each(|(m, v)| *m += v);
    }
    mean.iter_mut().for_each(|m| *m /= count);
    for row in rows.chunks_exact_mut(width) {
        row.iter_mut().zip(mean.iter()).for_each(|(v, m)| *v -= m);
    }
}
