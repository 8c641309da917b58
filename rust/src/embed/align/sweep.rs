//! Sweeps that rotate one frame after the other to the best fit of its neighbors (section 4.3 at temperature 0).

use branches::prefetch_read_data;
use pulp::{Arch, NullaryFnOnce, Simd, WithSimd};
use rayon::prelude::*;

use super::{Connection, STAGE};
use crate::embed::check_sometimes;
use crate::error::Result;
use crate::linalg::lanes::fill;
use crate::linalg::{dot, first, polars};
use crate::monitor::Monitor;

/// Sweeps end when one lowers f by less than the share `SETTLED` of it, or after `SWEEPS` sweeps.
const SETTLED: f64 = 1e-4;
const SWEEPS: usize = 200;

/// Sweeps also end when one lowers f by less than this share of its maximum, which is rounding on flat data.
const ROUNDING: f64 = 1e-14;

/// After `SLOW` sweeps, frames are rotated this share of the way beyond the best rotation (over-relaxation).
const SLOW: usize = 3;
const FURTHER: f64 = 0.9;

/// Frames that are tried to tell if a sweep would gain anything.
const MAX_PROMISING: usize = 1 << 17;

const SIDE: usize = 5; // Columns of a pull that are added up side by side.
const TOGETHER: usize = 128; // Frames rotated by one thread at a time.

impl Connection {
    /// Writes the pull at i to `out`: the sum over the terms of eq. 9 at i of P_i'P_j O_j, which O_i must fit.
    #[inline(always)]
    pub fn pull(&self, i: usize, rotations: &[f64], out: &mut [f64]) {
        match self.n_components {
            1 => self.pull_sized(i, rotations, 1, out),
            2 => self.pull_sized(i, rotations, 2, out),
            3 => self.pull_sized(i, rotations, 3, out),
            d => self.pull_sized(i, rotations, d, out),
        }
    }

    /// Prefetches the entries of the neighbors of `i`, `size` numbers each, which lie anywhere in memory.
    #[inline(always)]
    fn soon(&self, i: usize, kept: &[f64], size: usize) {
        const LINE: usize = 64 / size_of::<f64>();
        for &j in self.graph.of(i) {
            let numbers = &kept[j as usize * size..][..size];
            numbers.iter().step_by(LINE).for_each(|v| prefetch_read_data::<_, 0>(v));
        }
    }

    /// The same in a dimension that callers often know when they are compiled.
    #[inline(always)]
    pub(super) fn pull_sized(&self, i: usize, rotations: &[f64], d: usize, out: &mut [f64]) {
        if d > 3 {
            return Arch::new().dispatch(Pull { connection: self, i, rotations, out });
        }
        let (out, products) = (&mut out[..d * d], self.products());
        out.fill(0.0);
        for edge in self.edges(i) {
            let (rotation, count) =
                (&rotations[self.end(edge) * d * d..][..d * d], f64::from(self.counts[edge]));
            let product = &products[edge * d * d..][..d * d];
            for b in 0..d {
                for e in 0..d {
                    let share = count * rotation[b * d + e];
                    (0..d).for_each(|a| out[b * d + a] += product[e * d + a] * share);
                }
            }
        }
    }

    /// Rotates one frame after the other to O_i = polar(sum_j c P_i'P_j O_j), later beyond it where that is no worse,
    /// until f stops falling; returns f after each sweep. Frames of points that are not neighbors are rotated at the
    /// same time.
    pub fn sweep(&self, rotations: &mut [f64], monitor: &dyn Monitor) -> Result<Vec<f64>> {
        let mut f = self.f(rotations, monitor)?;
        let (mut trace, rounding) = (vec![f], ROUNDING * self.most);
        let (strangers, mut turned) = (self.strangers(monitor)?, Vec::new());
        let mut frames = self.frames(rotations, monitor)?;
        let mut settled = false;
        for done in 0..SWEEPS {
            monitor.progress(STAGE, done, SWEEPS);
            let (further, mut gain) = (done >= SLOW && !settled, 0.0);
            for some in &strangers {
                gain += self.turn(some, further, rotations, &mut frames, &mut turned, monitor)?;
            }
            f = (f - gain).max(0.0);
            trace.push(f);
            settled = gain <= rounding.max(SETTLED * f);
            if settled && !further {
                break; // the last sweep ends without over-relaxation
            }
        }
        Ok(trace)
    }

    /// Tells if a sweep would gain no more than the last one of a row does, from the best rotation of each frame alone.
    /// Reading the frames of narrow data in order costs less than the groups that a sweep needs.
    pub(super) fn is_settled(
        &self,
        f: f64,
        rotations: &[f64],
        frames: &[f64],
        monitor: &dyn Monitor,
    ) -> Result<bool> {
        Ok(self.promise(rotations, frames, monitor)? <= (ROUNDING * self.most).max(SETTLED * f))
    }

    /// The decrease of f by the best rotation of each frame while all others stay, summed over all frames; of many
    /// frames, an estimate from evenly spaced ones.
    fn promise(&self, rotations: &[f64], frames: &[f64], monitor: &dyn Monitor) -> Result<f64> {
        let size = self.n_components * self.n_components;
        let (arch, frames) = (Arch::new(), Some(frames));
        let step = self.graph.len().div_ceil(MAX_PROMISING).max(1);
        let points: Vec<u32> = (0..self.graph.len() as u32).step_by(step).collect();
        let gains: Result<Vec<f64>> = points
            .par_chunks(TOGETHER)
            .map_init(<(Workspace, Vec<f64>)>::default, |(workspace, turned), points| {
                monitor.check()?;
                let turned = first(turned, points.len() * (size + 1));
                let further = false;
                let turn = Turn { connection: self, points, further, rotations, frames, turned, workspace };
                arch.dispatch(turn);
                Ok(turned.iter().skip(size).step_by(size + 1).sum())
            })
            .collect();
        Ok(gains?.iter().sum::<f64>() * self.graph.len() as f64 / points.len().max(1) as f64)
    }

    /// Points with neighbors, in groups without any two neighbors: each goes into the first group with room for it.
    fn strangers(&self, monitor: &dyn Monitor) -> Result<Vec<Vec<u32>>> {
        let mut groups: Vec<Vec<u32>> = Vec::new();
        let mut group_of = vec![usize::MAX; self.graph.len()];
        let mut taken = Vec::new();
        for i in (0..self.graph.len()).filter(|&i| !self.graph.of(i).is_empty()) {
            check_sometimes(i, monitor)?;
            taken.clear();
            taken.resize(groups.len() + 1, false);
            for edge in self.edges(i) {
                if let Some(taken) = taken.get_mut(group_of[self.end(edge)]) {
                    *taken = true;
                }
            }
            let group = taken.iter().position(|&taken| !taken).unwrap_or(groups.len());
            if group == groups.len() {
                groups.push(Vec::new());
            }
            groups[group].push(i as u32);
            group_of[i] = group;
        }
        Ok(groups)
    }

    /// Rotates the frames of points that are not neighbors of each other; returns the decrease of f.
    fn turn(
        &self,
        points: &[u32],
        further: bool,
        rotations: &mut [f64],
        frames: &mut Option<Vec<f64>>,
        turned: &mut Vec<f64>,
        monitor: &dyn Monitor,
    ) -> Result<f64> {
        let size = self.n_components * self.n_components;
        let turned = first(turned, points.len() * (size + 1));
        let (arch, rotations_now, frames_now) = (Arch::new(), &*rotations, frames.as_deref());
        let batches = turned.par_chunks_mut(TOGETHER * (size + 1)).zip(points.par_chunks(TOGETHER));
        batches.try_for_each_init(Workspace::default, |workspace, (turned, points)| {
            monitor.check()?;
            arch.dispatch(Turn {
                connection: self,
                points,
                further,
                rotations: rotations_now,
                frames: frames_now,
                turned,
                workspace,
            });
            Ok(())
        })?;
        let mut gain = 0.0;
        for (&i, turned) in points.iter().zip(turned.chunks_exact(size + 1)) {
            rotations[i as usize * size..][..size].copy_from_slice(&turned[..size]);
            gain += turned[size];
            if let (Some(bases), Some(frames)) = (&self.bases, &mut *frames) {
                bases.turn(
                    i as usize,
                    &turned[..size],
                    &mut frames[i as usize * bases.size()..][..bases.size()],
                );
            }
        }
        Ok(gain)
    }
}

/// The pull at one point in more than three dimensions. Vectors may reach into the next column, which is not stored.
struct Pull<'a> {
    connection: &'a Connection,
    i: usize,
    rotations: &'a [f64],
    out: &'a mut [f64],
}

impl WithSimd for Pull<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let d = self.connection.n_components;
        for b in (0..d).step_by(SIDE) {
            for a in (0..d).step_by(S::F64_LANES) {
                let sums = self.block(simd, a, b);
                for (b, sum) in (b..d.min(b + SIDE)).zip(sums) {
                    let column = &mut self.out[b * d..][a..d.min(a + S::F64_LANES)];
                    simd.partial_store_f64s(column, sum);
                }
            }
        }
    }
}

impl Pull<'_> {
    /// The entries from row `a` on of the columns from `b` on.
    #[inline(always)]
    fn block<S: Simd>(&self, simd: S, a: usize, b: usize) -> [S::f64s; SIDE] {
        let Connection { n_components: d, counts, .. } = self.connection;
        let products = self.connection.products();
        let (size, mut sums) = (d * d, [simd.splat_f64s(0.0); SIDE]);
        let columns: [usize; SIDE] = fill(0, |c| (b + c).min(d - 1) * d);
        for edge in self.connection.edges(self.i) {
            let rotation = &self.rotations[self.connection.end(edge) * size..][..size];
            let (product, count) = (&products[edge * size + a..], simd.splat_f64s(f64::from(counts[edge])));
            for e in 0..*d {
                let part = &product[e * d..];
                let part = match S::as_simd_f64s(part).0.first() {
                    Some(&part) => part,
                    None => simd.partial_load_f64s(part),
                };
                let part = simd.mul_f64s(part, count); // exact: it is 1 or 2
                for c in 0..SIDE {
                    let share = simd.splat_f64s(rotation[columns[c] + e]);
                    sums[c] = simd.add_f64s(sums[c], simd.mul_f64s(part, share));
                }
            }
        }
        sums
    }
}

/// Best frames of some points for their neighbors, each followed by the decrease of f.
struct Turn<'a> {
    connection: &'a Connection,
    points: &'a [u32],
    further: bool,
    rotations: &'a [f64],
    /// A_i for every point, if data are narrow.
    frames: Option<&'a [f64]>,
    turned: &'a mut [f64],
    workspace: &'a mut Workspace,
}

/// The frames of some points, one after the other; reused.
#[derive(Default)]
struct Workspace {
    pulls: Vec<f64>,
    spare: Vec<f64>,
    frames: Vec<f64>,
    sums: Vec<f64>,
    scratch: Vec<f64>,
}

impl NullaryFnOnce for Turn<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        // known sizes take a third less time
        match self.connection.n_components {
            2 => self.with_size(2),
            3 => self.with_size(3),
            d => self.with_size(d),
        }
    }
}

impl Turn<'_> {
    #[inline(always)]
    fn with_size(self, d: usize) {
        let Turn { connection, points, further, rotations, frames: now, turned, workspace } = self;
        let Workspace { pulls, spare, frames, sums, scratch } = workspace;
        let (size, count) = (d * d, points.len());
        let (pulls, spare) = (first(pulls, count * size), first(spare, count * size));
        let (frames, sums) = (first(frames, count * size), first(sums, count));
        let own = |i: u32| &rotations[i as usize * size..][..size];
        for (at, (pull, &i)) in pulls.chunks_exact_mut(size).zip(points).enumerate() {
            let next = points.get(at + 1).map_or(i, |&next| next) as usize;
            if let (Some(bases), Some(now)) = (&connection.bases, now) {
                connection.soon(next, now, bases.size());
                bases.pull(connection, i as usize, now, pull);
            } else {
                connection.soon(next, rotations, size);
                connection.pull_sized(i as usize, rotations, d, pull);
            }
        }
        spare.copy_from_slice(pulls);
        polars(spare, d, d, frames, sums, scratch);
        for ((turned, frame), sum) in
            turned.chunks_exact_mut(size + 1).zip(frames.chunks_exact(size)).zip(&*sums)
        {
            turned[..size].copy_from_slice(frame);
            turned[size] = *sum;
        }
        if further {
            for ((beyond, best), &i) in
                spare.chunks_exact_mut(size).zip(frames.chunks_exact(size)).zip(points)
            {
                let ways = best.iter().zip(own(i));
                beyond.iter_mut().zip(ways).for_each(|(v, (to, from))| *v = to + FURTHER * (to - from));
            }
            polars(spare, d, d, frames, sums, scratch);
        }
        let each = frames.chunks_exact(size).zip(pulls.chunks_exact(size)).zip(points);
        for (turned, ((frame, pull), &i)) in turned.chunks_exact_mut(size + 1).zip(each) {
            let before = dot(own(i), pull);
            let beyond = if further { dot(frame, pull) } else { f64::NEG_INFINITY };
            if beyond >= before {
                turned[..size].copy_from_slice(frame);
                turned[size] = beyond;
            }
            turned[size] = 2.0 * (turned[size] - before).max(0.0);
        }
    }
}
