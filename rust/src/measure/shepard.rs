//! Euclidean distances in the embedding compared with those in the data: a Shepard diagram in numbers.
//!
//! Over all pairs of points or a random sample, |x_i - x_j| is compared with |y_i - y_j|: Spearman's rank correlation
//! (ties share the mean of their ranks), Pearson's correlation, and stress sqrt(sum (dX - dY)^2 / sum dX^2), plain and
//! after the factor for Y that minimizes it (Kruskal's stress 1, with the data as disparities). A correlation is 1 if
//! neither side varies, and 0 if only one does. The standard errors of a sample are those of the mean of 32 batches.
//!
//! Cost: O(q + d + log N) for each of N pairs. Memory: 64 bytes per pair.

use std::ops::Range;

use rand_chacha::rand_core::Rng;
use rayon::prelude::*;

use super::pairs::{Measured, Sums, Units, unit};
use crate::error::{Error, Result, check_rows};
use crate::monitor::{Monitor, Silent};
use crate::neighbors::paths::distance;
use crate::parallel::map_blocks;
use crate::points::Points;
use crate::rng::stream;

const STAGE: &str = "shepard";

/// Number of batches of a sample, for its standard errors.
const BATCHES: usize = 32;

/// Fewer pairs give no standard errors.
const SMALLEST_SAMPLE: usize = BATCHES * BATCHES;

/// Maximum number of pairs, which must fit into 32 bits.
const LARGEST_SAMPLE: usize = u32::MAX as usize;

/// Values sorted between two checks of the monitor: about a millisecond of work.
const RUN: usize = 1 << 14;

/// The measures over pairs.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShepardParams {
    /// Number of random pairs; all pairs if `None` or if there are no more.
    pub n_pairs: Option<usize>,
    /// Seed of the sample.
    pub seed: u64,
}

impl ShepardParams {
    /// Number of pairs drawn from these points, `None` for all.
    fn drawn(&self, n: usize) -> Result<Option<usize>> {
        let all = n as u128 * (n as u128 - 1) / 2;
        let drawn = self.n_pairs.filter(|&drawn| (drawn as u128) < all);
        let looked_at = drawn.map_or(all, |drawn| drawn as u128);
        let refused = |needed| Err(Error::OutOfRange { name: "n_pairs", value: looked_at as f64, needed });
        match drawn {
            Some(few) if few < SMALLEST_SAMPLE => refused("a sample needs at least 1024"),
            _ if looked_at > LARGEST_SAMPLE as u128 => refused("at most 4294967295 can be measured"),
            _ => Ok(drawn),
        }
    }
}

/// Correlation and stress of the two distances.
#[derive(Debug, Clone, PartialEq)]
pub struct Shepard {
    /// In [-1, 1], 1 is perfect.
    pub spearman: Measured,
    /// In [-1, 1], 1 is perfect.
    pub pearson: Measured,
    /// At least 0, 0 is perfect.
    pub stress: Measured,
    /// In [0, 1], 0 is perfect.
    pub stress_scaled: Measured,
    /// The factor for Y that minimizes the stress.
    pub scale: Measured,
    /// Number of pairs measured.
    pub n_pairs: usize,
}

/// Compares Euclidean distances in the data with those in the embedding.
///
/// Fails if `x` and `y` have different numbers of points, or if there is no pair.
pub fn shepard(x: &Points, y: &Points, params: ShepardParams, monitor: &dyn Monitor) -> Result<Shepard> {
    check_rows(("X", x.len()), ("Y", y.len()))?;
    let drawn = params.drawn(x.len())?;
    let (mut dx, mut dy) = match drawn {
        Some(count) => some_pairs(x, y, count, params.seed, monitor)?,
        None => all_pairs(x, y, monitor)?,
    };
    let units = Units { x: to_unit(&mut dx), y: to_unit(&mut dy) };
    let all = Seen::of(&dx, &dy, monitor)?;
    let batches = if drawn.is_some() { in_batches(&dx, &dy, monitor)? } else { Vec::new() };
    // of all pairs there is no batch; those drawn are few of endlessly many
    let share = if drawn.is_some() { 0.0 } else { 1.0 };
    let measured = |number: &dyn Fn(&Seen) -> f64| {
        Measured::estimated(number(&all), batches.iter().map(number).collect(), share)
    };
    Ok(Shepard {
        spearman: measured(&|seen| seen.spearman),
        pearson: measured(&|seen| seen.sums.correlation()),
        stress: measured(&|seen| seen.sums.stress(units)),
        stress_scaled: measured(&|seen| seen.sums.stress_scaled()),
        scale: measured(&|seen| seen.sums.scale(units)),
        n_pairs: dx.len(),
    })
}

/// Distances of some pairs.
struct Seen {
    sums: Sums,
    spearman: f64,
}

impl Seen {
    fn of(dx: &[f64], dy: &[f64], monitor: &dyn Monitor) -> Result<Self> {
        let by_rank = Sums::of_all(&ranks(dx, monitor)?, &ranks(dy, monitor)?, monitor)?;
        Ok(Seen { sums: Sums::of_all(dx, dy, monitor)?, spearman: by_rank.correlation() })
    }
}

fn in_batches(dx: &[f64], dy: &[f64], monitor: &dyn Monitor) -> Result<Vec<Seen>> {
    let of_batch = |batch: usize| {
        let part = batch * dx.len() / BATCHES..(batch + 1) * dx.len() / BATCHES;
        Seen::of(&dx[part.clone()], &dy[part], monitor)
    };
    (0..BATCHES).into_par_iter().map(of_batch).collect()
}

/// Both distances of every pair, in order of the first and then of the second point.
fn all_pairs(x: &Points, y: &Points, monitor: &dyn Monitor) -> Result<(Vec<f64>, Vec<f64>)> {
    let from = |i: usize| {
        monitor.check()?;
        let mut rows = Rows::new(x.reborrow(), y.reborrow());
        rows.begin(i);
        Ok((i + 1..x.len()).map(|j| rows.to(j)).unzip())
    };
    let rows: Vec<(Vec<f64>, Vec<f64>)> = (0..x.len()).into_par_iter().map(from).collect::<Result<_>>()?;
    let (dx, dy): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    Ok((dx.concat(), dy.concat()))
}

/// Both distances of `count` pairs, each drawn from all with the same chance.
fn some_pairs(
    x: &Points,
    y: &Points,
    count: usize,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let n = x.len() as u64;
    let of_block = |block: Range<usize>| {
        let mut rng = stream(seed, STAGE, block.start as u64);
        let mut rows = Rows::new(x.reborrow(), y.reborrow());
        let mut below = |limit: u64| ((u128::from(rng.next_u64()) * u128::from(limit)) >> 64) as usize;
        let pair = |_| {
            let (i, other) = (below(n), below(n - 1));
            rows.begin(i);
            rows.to(other + usize::from(other >= i))
        };
        block.map(pair).unzip()
    };
    let blocks: Vec<(Vec<f64>, Vec<f64>)> = map_blocks(count, STAGE, &Silent(monitor), of_block)?;
    let (dx, dy): (Vec<_>, Vec<_>) = blocks.into_iter().unzip();
    Ok((dx.concat(), dy.concat()))
}

/// A point and another, in both spaces.
struct Rows<'a> {
    points: [Points<'a>; 2],
    from: [Vec<f64>; 2],
    to: [Vec<f64>; 2],
}

impl<'a> Rows<'a> {
    fn new(x: Points<'a>, y: Points<'a>) -> Self {
        let room = || [vec![0.0; x.dim()], vec![0.0; y.dim()]];
        Rows { points: [x, y], from: room(), to: room() }
    }

    fn begin(&mut self, i: usize) {
        self.points.iter().zip(&mut self.from).for_each(|(points, row)| points.copy_row(i, row));
    }

    fn to(&mut self, j: usize) -> (f64, f64) {
        self.points.iter().zip(&mut self.to).for_each(|(points, row)| points.copy_row(j, row));
        (distance(&self.from[0], &self.to[0]), distance(&self.from[1], &self.to[1]))
    }
}

/// Divides by a power of two near the largest, and returns it.
fn to_unit(distances: &mut [f64]) -> f64 {
    let unit = unit(distances.iter().copied());
    distances.iter_mut().for_each(|v| *v /= unit);
    unit
}

/// The rank of each value, from 1; equal values share the mean of theirs.
fn ranks(values: &[f64], monitor: &dyn Monitor) -> Result<Vec<f64>> {
    let sorted = sorted(values, monitor)?;
    let mut ranks = vec![0.0; values.len()];
    let mut begin = 0;
    for equal in sorted.chunk_by(|a, b| a.0 == b.0) {
        let mean = begin as f64 + (equal.len() as f64 + 1.0) / 2.0;
        equal.iter().for_each(|&(_, at)| ranks[at as usize] = mean);
        begin += equal.len();
    }
    Ok(ranks)
}

/// The bits of each value, which rise with it, and its position, in rising order. Runs are sorted, then merged two by
/// two, so that a stop takes effect soon.
fn sorted(values: &[f64], monitor: &dyn Monitor) -> Result<Vec<(u64, u32)>> {
    let mut keys: Vec<(u64, u32)> = values.iter().map(|v| v.to_bits()).zip(0..).collect();
    keys.par_chunks_mut(RUN).try_for_each(|run| {
        monitor.check()?;
        run.sort_unstable();
        Ok(())
    })?;
    let (mut merged, mut width) = (vec![(0, 0); if keys.len() > RUN { keys.len() } else { 0 }], RUN);
    while width < keys.len() {
        let pairs = keys.par_chunks(2 * width).zip(merged.par_chunks_mut(2 * width));
        pairs.try_for_each(|(pair, out)| merge(pair.split_at(width.min(pair.len())), out, monitor))?;
        std::mem::swap(&mut keys, &mut merged);
        width *= 2;
    }
    Ok(keys)
}

/// Two rising lists in one.
fn merge<T: Ord + Copy>((mut a, mut b): (&[T], &[T]), out: &mut [T], monitor: &dyn Monitor) -> Result<()> {
    for some in out.chunks_mut(RUN) {
        monitor.check()?;
        for place in some {
            let from =
                if b.first().is_none_or(|b| a.first().is_some_and(|a| a <= b)) { &mut a } else { &mut b };
            if let Some((first, rest)) = from.split_first() {
                (*place, *from) = (*first, rest);
            }
        }
    }
    Ok(())
}
