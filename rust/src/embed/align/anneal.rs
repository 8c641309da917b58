//! Alignment by simulated annealing (Goldberg & Ritov, section 4.3, after Siarry et al. 1997). Eq. 9 is minimized as if
//! it were the energy of a magnet whose spins are the frames.
//!
//! A move replaces the frame A_i = P_i O_i of one random point by P_i O. O is a random orthogonal matrix (Haar measure,
//! reflections included, Stewart 1980), or O_i rotated a little in the plane of two of its columns. f changes by
//! -2 tr((O - O_i)' sum_j c P_i'P_j O_j). A move that lowers f is accepted; one that raises it by delta is accepted
//! with probability exp(-delta / T).
//!
//! - The first T is (mean increase by random frames) / ln(1 / `acceptance`).
//! - A stage at one T ends after `accepted` accepted or `tried` tried moves per point. Then T is multiplied by
//!   `cooling`, or by a power of it outside the range of temperatures in which order forms: cooling too fast there
//!   leaves vortices and walls.
//! - The size of small rotations follows their acceptance rate.
//! - Annealing ends when hardly any random frame is accepted, or at `LOWEST` of the first T. Sweeps do the rest.
//! - As in the paper, points outside the largest cluster of aligned frames are annealed again while that helps: here
//!   outside the largest cluster of each component, because no edge aligns components.
//!
//! Unlike in the paper, whole clusters are rotated as well: by the R that maximizes tr(R' sum A_i'A_j) over the edges
//! that leave the cluster, so f cannot rise. Annealing alone cannot reflect a whole cluster.
//! With `alone`, there are neither sweeps nor rotations of clusters, and the last frames are returned, not the best.
//!
//! The sums sum_j c P_i'P_j O_j of all points are kept, and an accepted move changes those of the neighbors alone.
//!
//! Cost, whatever the dimension of the data: O(d^2) for a move of a small rotation, O(d^3) for that of a random frame,
//! and O(k d^3) if it is accepted; at most `tried` n moves per stage.

use super::{Aligned, Connection, SITES, STAGE, Scratch, multiply};
use crate::embed::{check_range, check_sometimes};
use crate::error::{Error, Result};
use crate::linalg::{dot, polar};
use crate::monitor::{Monitor, Silent};
use crate::parallel::fill_rows;
use crate::rng::{Stream, normal, stream, uniform};

const LOWEST: f64 = 1e-2; // The last temperature, as a share of the first.

/// Order forms while the share of random frames accepted is in `LIVELY`; outside, cooling is `HASTE` times faster.
/// Annealing ends below `FROZEN`.
const LIVELY: [f64; 2] = [0.05, 0.6];
const HASTE: i32 = 4;
const FROZEN: f64 = 1e-3;

/// Small rotations grow while more than the second share of them is accepted, and shrink below the first.
const TURNED: [f64; 2] = [0.3, 0.5];
const STEP_FACTOR: f64 = 1.5;

const SAMPLES: usize = 2000; // Number of moves tried to find the first temperature.

/// Maximum number of rounds of sweeps and rotations of clusters, and the share of f that a round must gain to go on.
const PASSES: usize = 20;
const GAIN: f64 = 1e-4;

const ORTHOGONAL: f64 = 1e-10; // Maximum deviation of O'O from the identity.
const PARTS: usize = 1000; // Number of steps of the progress report.

/// Cooling schedule, and when annealing ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AnnealParams {
    /// Seed of all random choices.
    pub seed: u64,
    /// The share of moves that raise f accepted at first. A higher share keeps less of the start.
    pub acceptance: f64,
    /// A stage ends after this number of accepted moves per point (N1 of Siarry et al.)
    pub accepted: usize,
    /// A stage also ends after this number of tried moves per point (N2 of Siarry et al.).
    pub tried: usize,
    /// The factor on the temperature from stage to stage.
    pub cooling: f64,
    /// The share of moves that draw a random frame; the others rotate the frame a little.
    pub anew: f64,
    /// The share of all points in the largest clusters of aligned frames that is enough.
    pub enough: f64,
    /// Maximum number of annealings.
    pub rounds: usize,
    /// Anneal as in the paper, without sweeps and rotations of clusters.
    pub alone: bool,
}

impl Default for AnnealParams {
    fn default() -> Self {
        let (acceptance, accepted, tried, cooling) = (0.5, 100, 500, 0.97);
        let (anew, enough, rounds) = (0.5, 0.99, 5);
        AnnealParams { seed: 0, acceptance, accepted, tried, cooling, anew, enough, rounds, alone: false }
    }
}

impl AnnealParams {
    /// Shares must be shares, and counts at least 1.
    pub fn check(&self) -> Result<()> {
        let open = |name, v: f64| check_range(name, v, v > 0.0 && v < 1.0, "it must be above 0 and below 1");
        let share =
            |name, v: f64| check_range(name, v, v > 0.0 && v <= 1.0, "it must be above 0 and at most 1");
        let count = |name, n: usize| check_range(name, n as f64, n > 0, "at least 1 is needed");
        open("acceptance", self.acceptance)?;
        count("accepted", self.accepted)?;
        count("tried", self.tried)?;
        open("cooling", self.cooling)?;
        share("anew", self.anew)?;
        share("enough", self.enough)?;
        count("rounds", self.rounds)
    }
}

/// Aligns frames, from `start` or from random ones. Returns the best frames found, so f is never above that of `start`;
/// with `alone`, the last ones.
pub fn anneal(
    connection: &Connection,
    start: Option<&[f64]>,
    params: &AnnealParams,
    monitor: &dyn Monitor,
) -> Result<Aligned> {
    params.check()?;
    connection.prepare(monitor)?;
    let quiet = Silent(monitor);
    let mut best = Best::of(connection, start, params, &quiet)?;
    let mut trace = vec![best.f];
    let mut sites: Vec<u32> =
        all_points(connection).filter(|&i| !connection.graph().of(i as usize).is_empty()).collect();
    for round in 0..params.rounds {
        let mut run = Run::new(connection, params, round, best.rotations.clone());
        run.cool(&sites, &mut trace, monitor)?;
        let improved = if params.alone {
            best = Best { f: connection.f(&run.rotations, &quiet)?, rotations: run.rotations };
            true
        } else {
            connection.settle(&mut run.rotations, &mut trace, &quiet)?;
            best.offer(connection, run.rotations, &quiet)?
        };
        sites = connection.outside_clusters(&best.rotations, &quiet)?;
        let enough = sites.len() as f64 <= (1.0 - params.enough) * connection.graph().len() as f64;
        if enough || (round > 0 && !improved) {
            break;
        }
    }
    monitor.progress(STAGE, PARTS, PARTS);
    connection.judge(best.rotations, trace, &quiet)
}

fn all_points(connection: &Connection) -> impl Iterator<Item = u32> {
    0..connection.graph().len() as u32
}

/// The frames of lowest f so far.
struct Best {
    rotations: Vec<f64>,
    f: f64,
}

impl Best {
    /// Frames to start from: the given ones, swept if that lowers f, or random ones.
    fn of(
        connection: &Connection,
        start: Option<&[f64]>,
        params: &AnnealParams,
        monitor: &dyn Monitor,
    ) -> Result<Best> {
        let Some(start) = start else {
            let rotations = random_frames(connection, params.seed, monitor)?;
            return Ok(Best { f: connection.f(&rotations, monitor)?, rotations });
        };
        connection.check_frames(start)?;
        let mut best = Best { f: connection.f(start, monitor)?, rotations: start.to_vec() };
        if params.alone {
            return Ok(best);
        }
        let mut swept = start.to_vec();
        connection.settle(&mut swept, &mut Vec::new(), monitor)?;
        best.offer(connection, swept, monitor)?;
        Ok(best)
    }

    /// Takes `rotations` if they are better, and returns whether they are.
    fn offer(&mut self, connection: &Connection, rotations: Vec<f64>, monitor: &dyn Monitor) -> Result<bool> {
        let f = connection.f(&rotations, monitor)?;
        let better = f < self.f;
        if better {
            *self = Best { rotations, f };
        }
        Ok(better)
    }
}

/// A frame for each point from Haar measure.
fn random_frames(connection: &Connection, seed: u64, monitor: &dyn Monitor) -> Result<Vec<f64>> {
    let d = connection.n_components();
    let mut rng = stream(seed, "frames", 0);
    let mut rotations = vec![0.0; connection.graph().len() * d * d];
    for chunk in rotations.chunks_mut(SITES * d * d) {
        monitor.check()?;
        chunk.chunks_exact_mut(d * d).for_each(|rotation| haar(&mut rng, d, rotation));
    }
    Ok(rotations)
}

/// Draws an orthogonal matrix from Haar measure: the Q of a normal matrix; in the plane, an angle and a reflection.
#[inline(always)]
fn haar(rng: &mut Stream, d: usize, out: &mut [f64]) {
    if d == 2 {
        let u = 2.0 * uniform(rng);
        let (s, c) = (std::f64::consts::TAU * u.fract()).sin_cos();
        let side = if u < 1.0 { 1.0 } else { -1.0 };
        out.copy_from_slice(&[c, s, -side * s, side * c]);
        return;
    }
    for j in 0..d {
        let (known, rest) = out.split_at_mut(j * d);
        orthonormal_column(rng, known, &mut rest[..d]);
    }
}

/// Fills `column` with a random direction orthogonal to the columns of `known`.
#[inline(always)]
fn orthonormal_column(rng: &mut Stream, known: &[f64], column: &mut [f64]) {
    let d = column.len();
    loop {
        column.iter_mut().for_each(|v| *v = normal(rng));
        let before = dot(column, column);
        for _ in 0..2 {
            for other in known.chunks_exact(d) {
                let along = dot(other, column);
                column.iter_mut().zip(other).for_each(|(v, o)| *v -= along * o);
            }
        }
        let left = dot(column, column);
        if left > 1e-12 * before {
            column.iter_mut().for_each(|v| *v /= left.sqrt());
            return;
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    accepted: usize,
    tried: usize,
}

impl Tally {
    fn rate(self) -> f64 {
        self.accepted as f64 / self.tried.max(1) as f64
    }
}

/// The moves of a stage: those to random frames, and small rotations.
#[derive(Debug, Clone, Copy, Default)]
struct Stage {
    anew: Tally,
    turned: Tally,
}

impl Stage {
    fn all(&self) -> Tally {
        let Stage { anew, turned } = self;
        Tally { accepted: anew.accepted + turned.accepted, tried: anew.tried + turned.tried }
    }
}

/// One annealing from hot to cold.
struct Run<'a> {
    connection: &'a Connection,
    params: &'a AnnealParams,
    round: usize,
    rng: Stream,
    rotations: Vec<f64>,
    temperature: f64,
    /// The standard angle of small rotations.
    step: f64,
    /// The frame of a move, and its difference to the present one.
    proposed: Vec<f64>,
    difference: Vec<f64>,
    /// sum_j c P_i'P_j O_j over the neighbors of every point, which O_i must fit.
    pulls: Vec<f64>,
}

impl<'a> Run<'a> {
    fn new(connection: &'a Connection, params: &'a AnnealParams, round: usize, rotations: Vec<f64>) -> Self {
        let size = connection.n_components() * connection.n_components();
        let rng = stream(params.seed, "anneal", round as u64);
        let (proposed, difference, pulls) = (vec![0.0; size], vec![0.0; size], vec![0.0; rotations.len()]);
        let (temperature, step) = (0.0, 1.0);
        Run { connection, params, round, rng, rotations, temperature, step, proposed, difference, pulls }
    }

    fn cool(&mut self, sites: &[u32], trace: &mut Vec<f64>, monitor: &dyn Monitor) -> Result<()> {
        if sites.is_empty() {
            return Ok(());
        }
        self.sum_pulls(monitor)?;
        let hottest = self.hottest(sites);
        self.temperature = hottest;
        while self.temperature > LOWEST * hottest {
            let stage = match self.connection.n_components() {
                1 => self.stage(sites, 1, monitor)?,
                2 => self.stage(sites, 2, monitor)?,
                3 => self.stage(sites, 3, monitor)?,
                d => self.stage(sites, d, monitor)?,
            };
            trace.push(self.connection.f(&self.rotations, &Silent(monitor))?);
            if stage.anew.rate() < FROZEN {
                break;
            }
            self.adapt(stage);
            self.report((hottest / self.temperature).ln() / -LOWEST.ln(), monitor);
            self.sum_pulls(monitor)?; // what rounding adds up to within a stage is forgotten
        }
        Ok(())
    }

    /// Sums the pulls of all points again. Cost: O(n k d^3).
    fn sum_pulls(&mut self, monitor: &dyn Monitor) -> Result<()> {
        let size = self.proposed.len();
        let (connection, rotations) = (self.connection, &self.rotations);
        fill_rows(&mut self.pulls, size, STAGE, &Silent(monitor), <()>::default, |(), i, pull| {
            connection.pull(i, rotations, pull);
        })
    }

    /// The temperature at which the chosen share of mean increases by random frames would be accepted.
    fn hottest(&mut self, sites: &[u32]) -> f64 {
        let d = self.connection.n_components();
        let (mut sum, mut count) = (0.0, 0);
        for _ in 0..SAMPLES {
            let i = pick(&mut self.rng, sites);
            self.propose_anew(i, d);
            let delta = self.change(i, d);
            if delta > 0.0 {
                (sum, count) = (sum + delta, count + 1);
            }
        }
        if count == 0 { 0.0 } else { sum / f64::from(count) / -self.params.acceptance.ln() }
    }

    /// Moves at one temperature.
    #[inline(always)]
    fn stage(&mut self, sites: &[u32], d: usize, monitor: &dyn Monitor) -> Result<Stage> {
        let most = |per_site: usize| per_site.saturating_mul(sites.len());
        let (accepted, tried) = (most(self.params.accepted), most(self.params.tried));
        // In one dimension there is no small rotation, so every move draws a random frame.
        let anew = if d == 1 { 1.0 } else { self.params.anew };
        let mut stage = Stage::default();
        loop {
            let all = stage.all();
            if all.accepted >= accepted || all.tried >= tried {
                return Ok(stage);
            }
            check_sometimes(all.tried, monitor)?;
            let i = pick(&mut self.rng, sites);
            let tally = if anew == 1.0 || uniform(&mut self.rng) < anew {
                self.propose_anew(i, d);
                &mut stage.anew
            } else {
                self.propose_rotation(i, d);
                &mut stage.turned
            };
            tally.tried += 1;
            tally.accepted += usize::from(self.decide(i, d));
        }
    }

    /// Draws a new frame for `i`; if only two exist, the other one.
    #[inline(always)]
    fn propose_anew(&mut self, i: usize, d: usize) {
        if d == 1 {
            self.proposed[0] = -self.rotations[i];
        } else {
            haar(&mut self.rng, d, &mut self.proposed[..d * d]);
        }
    }

    /// Rotates the frame of `i` a little in the plane of two of its columns; both directions are equally likely.
    #[inline(always)]
    fn propose_rotation(&mut self, i: usize, d: usize) {
        let (a, b) = plane(&mut self.rng, d);
        let (s, c) = (self.step * (2.0 * uniform(&mut self.rng) - 1.0)).sin_cos();
        let proposed = &mut self.proposed[..d * d];
        proposed.copy_from_slice(&self.rotations[i * d * d..][..d * d]);
        for row in 0..d {
            let (x, y) = (proposed[a * d + row], proposed[b * d + row]);
            (proposed[a * d + row], proposed[b * d + row]) = (c * x + s * y, c * y - s * x);
        }
    }

    #[inline(always)]
    fn change(&self, i: usize, d: usize) -> f64 {
        let (old, pull) = (&self.rotations[i * d * d..][..d * d], &self.pulls[i * d * d..][..d * d]);
        change(old, &self.proposed[..d * d], pull)
    }

    #[inline(always)]
    fn decide(&mut self, i: usize, d: usize) -> bool {
        let delta = self.change(i, d);
        let accept = delta <= 0.0 || -delta >= self.temperature * (1.0 - uniform(&mut self.rng)).ln();
        if accept {
            self.accept(i, d);
        }
        accept
    }

    /// Takes the proposed frame of `i`: the pulls at its neighbors change by c P_j'P_i times the difference.
    #[inline(always)]
    fn accept(&mut self, i: usize, d: usize) {
        let size = d * d;
        let (proposed, difference) = (&self.proposed[..size], &mut self.difference[..size]);
        let own = &mut self.rotations[i * size..][..size];
        (0..size).for_each(|ab| difference[ab] = proposed[ab] - own[ab]);
        own.copy_from_slice(proposed);
        for edge in self.connection.edges(i) {
            let pull = &mut self.pulls[self.connection.end(edge) * size..][..size];
            self.connection.add_transposed(edge, difference, d, pull);
        }
    }

    /// Cools, and chooses the size of small rotations for the next stage.
    fn adapt(&mut self, stage: Stage) {
        let [least, most] = LIVELY;
        let lively = (least..=most).contains(&stage.anew.rate());
        self.temperature *= self.params.cooling.powi(if lively { 1 } else { HASTE });
        let [few, many] = TURNED;
        if stage.turned.rate() > many {
            self.step = (self.step * STEP_FACTOR).min(std::f64::consts::PI);
        } else if stage.turned.rate() < few {
            self.step /= STEP_FACTOR;
        }
    }

    /// Every round counts as half of the remaining progress, because the number of rounds is unknown.
    fn report(&self, share: f64, monitor: &dyn Monitor) {
        let left = 0.5f64.powi(self.round as i32) * (1.0 - share.clamp(0.0, 1.0) / 2.0);
        let done = (PARTS as f64 * (1.0 - left)) as usize;
        monitor.progress(STAGE, done.clamp(1, PARTS - 1), PARTS);
    }
}

/// A random point, each with the same probability.
#[inline(always)]
fn pick(rng: &mut Stream, sites: &[u32]) -> usize {
    sites[(uniform(rng) * sites.len() as f64) as usize] as usize
}

/// Two different columns.
#[inline(always)]
fn plane(rng: &mut Stream, d: usize) -> (usize, usize) {
    if d == 2 {
        return (0, 1);
    }
    let a = (uniform(rng) * d as f64) as usize;
    let b = (uniform(rng) * (d - 1) as f64) as usize;
    (a, b + usize::from(b >= a))
}

impl Connection {
    /// Change of f of eq. 9 when the frame of `i` becomes P_i O: every edge at i is in the sums of both its ends.
    pub fn change(&self, i: usize, rotations: &[f64], rotation: &[f64]) -> f64 {
        let size = self.n_components * self.n_components;
        let mut pull = vec![0.0; size];
        self.pull(i, rotations, &mut pull);
        change(&rotations[i * size..][..size], rotation, &pull)
    }

    /// Adds c P_j'P_i `rotation` to `out`, for the edge from i to j.
    #[inline(always)]
    fn add_transposed(&self, edge: usize, rotation: &[f64], d: usize, out: &mut [f64]) {
        let (product, count) = (self.product(edge), f64::from(self.counts[edge]));
        for (out, rotation) in out.chunks_exact_mut(d).zip(rotation.chunks_exact(d)) {
            for (out, column) in out.iter_mut().zip(product.chunks_exact(d)) {
                *out += count * (0..d).map(|row| column[row] * rotation[row]).sum::<f64>();
            }
        }
    }

    fn check_frames(&self, rotations: &[f64]) -> Result<()> {
        self.check_rotations(rotations)?;
        let d = self.n_components;
        if let Some(at) = rotations.iter().position(|v| !v.is_finite()) {
            let (row, column, value) = (at / (d * d), at % (d * d), rotations[at]);
            return Err(Error::NotFinite { name: "start", row, column, value });
        }
        let worst =
            rotations.chunks_exact(d * d).map(|rotation| off_orthogonal(rotation, d)).fold(0.0, f64::max);
        let needed = "its frames must be orthogonal, no entry of O'O - 1 above 1e-10";
        check_range("start", worst, worst <= ORTHOGONAL, needed)
    }

    /// Sweeps, and rotations of whole clusters, until neither lowers f.
    fn settle(&self, rotations: &mut [f64], trace: &mut Vec<f64>, monitor: &dyn Monitor) -> Result<()> {
        for _ in 0..PASSES {
            let f = self.sweep(rotations, monitor)?.pop().unwrap_or(0.0);
            trace.push(f);
            if self.rotate_clusters(rotations, monitor)? <= GAIN * f {
                break;
            }
        }
        Ok(())
    }

    /// Rotates every cluster of aligned frames as a whole, the smallest first. Returns the decrease of f. Cost: O(n k
    /// d^3).
    fn rotate_clusters(&self, rotations: &mut [f64], monitor: &dyn Monitor) -> Result<f64> {
        let (labels, sizes) = self.clusters(rotations, monitor)?;
        let mut members: Vec<u32> = all_points(self).collect();
        members.sort_by_key(|&i| (sizes[labels[i as usize] as usize], labels[i as usize]));
        let (mut gain, mut scratch) = (0.0, Scratch::default());
        for cluster in members.chunk_by(|&i, &j| labels[i as usize] == labels[j as usize]) {
            monitor.check()?;
            gain += self.rotate_cluster(cluster, &labels, rotations, &mut scratch);
        }
        Ok(gain)
    }

    fn rotate_cluster(
        &self,
        members: &[u32],
        labels: &[u32],
        rotations: &mut [f64],
        scratch: &mut Scratch,
    ) -> f64 {
        let (d, size) = (self.n_components, self.n_components * self.n_components);
        let Scratch { carried, product: want, polar: rotation, spare, .. } = scratch;
        [&mut *carried, &mut *want, &mut *rotation].into_iter().for_each(|matrix| matrix.resize(size, 0.0));
        want.fill(0.0);
        for &i in members {
            for edge in self.edges(i as usize).filter(|&e| labels[self.end(e)] != labels[i as usize]) {
                multiply(self.product(edge), &rotations[self.end(edge) * size..][..size], d, carried);
                let (own, count) = (&rotations[i as usize * size..][..size], f64::from(self.counts[edge]));
                (0..size).for_each(|ab| want[ab] += count * inner(own, ab % d, carried, ab / d, d));
            }
        }
        let now: f64 = (0..d).map(|a| want[a * (d + 1)]).sum();
        let most = polar(want, d, d, rotation, spare);
        let gain = 2.0 * (most - now);
        if gain <= 1e-12 * most {
            return 0.0;
        }
        for &i in members {
            let own = &mut rotations[i as usize * size..][..size];
            multiply(own, rotation, d, carried);
            own.copy_from_slice(carried);
        }
        gain
    }

    /// The points outside the largest cluster of aligned frames of their component.
    fn outside_clusters(&self, rotations: &[f64], monitor: &dyn Monitor) -> Result<Vec<u32>> {
        let (labels, sizes) = self.clusters(rotations, monitor)?;
        let components = self.graph.components();
        let mut largest = vec![u32::MAX; self.graph.len()];
        for (&component, &label) in components.iter().zip(&labels) {
            let top = &mut largest[component as usize];
            if *top == u32::MAX || sizes[label as usize] > sizes[*top as usize] {
                *top = label;
            }
        }
        let outside = |i: &u32| labels[*i as usize] != largest[components[*i as usize] as usize];
        Ok(all_points(self).filter(outside).collect())
    }
}

/// Change of f when a frame with this pull is replaced.
#[inline(always)]
fn change(old: &[f64], new: &[f64], pull: &[f64]) -> f64 {
    -2.0 * (0..pull.len()).map(|ab| (new[ab] - old[ab]) * pull[ab]).sum::<f64>()
}

/// The product of column `a` of one d x d matrix and column `b` of another.
#[inline(always)]
fn inner(left: &[f64], a: usize, right: &[f64], b: usize, d: usize) -> f64 {
    (0..d).map(|row| left[a * d + row] * right[b * d + row]).sum()
}

/// The largest entry of O'O - 1.
fn off_orthogonal(rotation: &[f64], d: usize) -> f64 {
    let entry =
        |ab: usize| (inner(rotation, ab % d, rotation, ab / d, d) - f64::from(ab % d == ab / d)).abs();
    (0..d * d).map(entry).fold(0.0, f64::max)
}
