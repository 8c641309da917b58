//! Refinement of any embedding (Goldberg & Ritov, section 4.4): frames from the embedding, then the embedding from the
//! frames.
//!
//! What is here are the two halves: the frames A_i with the right-hand side of eq. 11, and the product with its matrix,
//! sum of w_i H_i. Whoever solves the system decides how exactly: from the present embedding every step of conjugate
//! gradients lowers R(Y | A), and new frames lower it again. Cost of each: O(n k q d) and O(n k d).

use pulp::{Arch, NullaryFnOnce};
use rayon::prelude::*;

use super::Multigrid;
use crate::charts::{Local, across, check_components, check_lengths, members, residual};
use crate::error::{Error, Result};
use crate::linalg::{combine, first, polars};
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;
use crate::parallel::{fill_rows, map_points};
use crate::points::Points;

const STAGE: &str = "frames";

/// Neighbourhoods handled at once.
pub(super) const CHUNK: usize = 512;

/// Neighbourhoods of which frames are found at the same time.
const TOGETHER: usize = 8;

/// Below this a squared size is as good as none: sums of reciprocals could overflow.
const VANISHING: f64 = 1e-290;

/// What is minimised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Objective {
    /// The mean of G, eq. 3.
    R,
    /// The mean of G / |H X_i|^2, eq. 4.
    #[default]
    RN,
}

/// What refinement needs to know of data and graph: computed once.
#[derive(Debug)]
pub struct Refiner {
    n_components: usize,
    /// w_i: 1, or 1 / |H X_i|^2.
    weights: Vec<f64>,
    /// For every point the neighbourhoods that list it, without its own.
    reversed: Neighborhoods<'static>,
    /// The place of the point in each of them, in the list of all places: own point, neighbours, next neighbourhood.
    places: Vec<u32>,
    /// For every point the sum of w_i over the neighbourhoods that hold it.
    held: Vec<f64>,
    /// Neighbourhoods of wide data in as few coordinates as hold them.
    shapes: Option<Shapes>,
}

#[derive(Debug)]
struct Shapes {
    width: usize,
    /// For each: dimension, then coordinates as in [`Local`].
    flat: Vec<f64>,
}

/// The right-hand side of eq. 11, and how good the embedding was that the frames are from.
#[derive(Debug, Clone)]
pub struct Frames {
    /// sum of w_i H_i X A_i, point after point.
    pub sides: Vec<f64>,
    /// Mean of w_i G(X_i, Y_i).
    pub objective: f64,
}

impl Refiner {
    /// Cost: O(n k q), for wide data that of all charts.
    pub fn new(
        x: &Points,
        neighborhoods: &Neighborhoods,
        n_components: usize,
        objective: Objective,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        check_components(n_components, x.dim())?;
        check_lengths(x, "X", neighborhoods)?;
        let shapes = match x.dim() > neighborhoods.largest() + 1 {
            true => Some(Shapes::of(x, neighborhoods, n_components, monitor)?),
            false => None,
        };
        let (reversed, places) = reversed_places(neighborhoods)?;
        let mut refiner = Refiner { n_components, weights: vec![], reversed, places, held: vec![], shapes };
        refiner.weights = refiner.weigh(x, neighborhoods, objective, monitor)?;
        refiner.held = (0..x.len())
            .into_par_iter()
            .map(|p| {
                let others = refiner.reversed.of(p).iter().map(|&i| refiner.weights[i as usize]);
                refiner.weights[p] + others.sum::<f64>()
            })
            .collect();
        Ok(refiner)
    }

    fn weigh(
        &self,
        x: &Points,
        neighborhoods: &Neighborhoods,
        objective: Objective,
        monitor: &dyn Monitor,
    ) -> Result<Vec<f64>> {
        if objective == Objective::R {
            return Ok(vec![1.0; x.len()]);
        }
        let norms2 = map_points(x.len(), STAGE, monitor, Local::default, |local, i| {
            self.load(x, neighborhoods, i, local);
            local.norm2
        })?;
        // A neighbourhood that coincides has no size to divide by: it weighs as much as the usual one.
        let usual = usual(&norms2);
        let size = |norm2: f64| if norm2 > 1e-12 * usual { norm2 } else { usual };
        Ok(norms2.into_iter().map(|norm2| 1.0 / size(norm2)).collect())
    }

    #[inline(always)]
    fn load(&self, x: &Points, neighborhoods: &Neighborhoods, i: usize, local: &mut Local) {
        match (&self.shapes, x.dim()) {
            (Some(shapes), _) => shapes.read(i, neighborhoods.of(i).len() + 1, local),
            (None, 3) => local.load(x, members(neighborhoods, i, true), 3),
            (None, q) => local.load(x, members(neighborhoods, i, true), q),
        }
    }

    /// For every point the sum of weights of the neighbourhoods that hold it.
    pub fn held(&self) -> &[f64] {
        &self.held
    }

    /// The diagonal of sum w_i H_i.
    pub fn diagonal(&self, neighborhoods: &Neighborhoods) -> Vec<f64> {
        let share = |i: usize| self.weights[i] / (neighborhoods.of(i).len() + 1) as f64;
        (0..self.held.len())
            .into_par_iter()
            .map(|p| {
                self.held[p] - share(p) - self.reversed.of(p).iter().map(|&i| share(i as usize)).sum::<f64>()
            })
            .collect()
    }

    /// An approximate inverse of sum w_i H_i.
    pub fn multigrid(&self, neighborhoods: &Neighborhoods, monitor: &dyn Monitor) -> Result<Multigrid> {
        self.check_graph(neighborhoods)?;
        Multigrid::with_reversed(neighborhoods, &self.reversed, &self.weights, monitor)
    }

    /// The best frames of embedding `y`, put together.
    pub fn frames(
        &self,
        x: &Points,
        y: &Points,
        neighborhoods: &Neighborhoods,
        monitor: &dyn Monitor,
    ) -> Result<Frames> {
        let (n, d) = (x.len(), self.n_components);
        self.check_graph(neighborhoods)?;
        check_lengths(x, "X", neighborhoods)?;
        check_lengths(y, "Y", neighborhoods)?;
        if y.dim() != d {
            let (left, right) = ("Y", "the embedding that is refined");
            return Err(Error::DimensionMismatch { left, left_dim: y.dim(), right, right_dim: d });
        }
        let (mut targets, arch) = (vec![0.0; (neighborhoods.indices().len() + n) * d], Arch::new());
        let chunks = split(&mut targets, neighborhoods, d);
        let sums: Result<Vec<f64>> = chunks
            .into_par_iter()
            .enumerate()
            .map(|(c, chunk)| {
                monitor.check()?;
                Ok(arch.dispatch(LayOut { refiner: self, x, y, neighborhoods, start: c * CHUNK, out: chunk }))
            })
            .collect();
        let objective = sums?.iter().sum::<f64>() / n as f64;
        monitor.check()?;
        Ok(Frames { sides: self.gather(&targets, neighborhoods), objective })
    }

    /// Whether it can be the graph that `places` are about.
    pub(super) fn check_graph(&self, neighborhoods: &Neighborhoods) -> Result<()> {
        let (left, right) = ("the neighbourhood graph", "the graph that refinement knows");
        let pairs =
            [(neighborhoods.len(), self.held.len()), (neighborhoods.indices().len(), self.places.len())];
        match pairs.into_iter().find(|(left_len, right_len)| left_len != right_len) {
            Some((left_len, right_len)) => Err(Error::LengthMismatch { left, left_len, right, right_len }),
            None => Ok(()),
        }
    }

    /// Whether tangents have the dimension of what is refined.
    pub(super) fn check_components(&self, d: usize) -> Result<()> {
        if d == self.n_components {
            return Ok(());
        }
        let (left, right) = ("the tangents", "the embedding that is refined");
        Err(Error::DimensionMismatch { left, left_dim: d, right, right_dim: self.n_components })
    }

    /// For every point the sum of its targets, in its own neighbourhood and in those that list it.
    pub(super) fn gather(&self, targets: &[f64], neighborhoods: &Neighborhoods) -> Vec<f64> {
        let d = self.n_components;
        let mut sides = vec![0.0; self.held.len() * d];
        sides.par_chunks_mut(CHUNK * d).enumerate().for_each(|(c, chunk)| {
            for (o, side) in chunk.chunks_exact_mut(d).enumerate() {
                let p = c * CHUNK + o;
                side.copy_from_slice(&targets[first_place(neighborhoods, p) * d..][..d]);
                for &place in self.places_of(p) {
                    let target = &targets[place as usize * d..][..d];
                    side.iter_mut().zip(target).for_each(|(s, t)| *s += t);
                }
            }
        });
        sides
    }

    /// w_i for every neighbourhood.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    fn places_of(&self, p: usize) -> &[u32] {
        &self.places[self.reversed.start(p)..][..self.reversed.of(p).len()]
    }

    /// (sum of w_i H_i) Y for `y` of any number of columns, point after point, written to `out`.
    pub fn apply(&self, neighborhoods: &Neighborhoods, y: &[f64], out: &mut [f64]) -> Result<()> {
        self.check_graph(neighborhoods)?;
        let n = self.held.len();
        let d = y.len() / n;
        if y.len() != n * d || out.len() != y.len() || d == 0 {
            let (left, right) = ("Y", "the neighbourhood graph");
            return Err(Error::LengthMismatch { left, left_len: y.len(), right, right_len: n });
        }
        match d {
            1 => self.apply_sized::<1>(neighborhoods, y, out),
            2 => self.apply_sized::<2>(neighborhoods, y, out),
            3 => self.apply_sized::<3>(neighborhoods, y, out),
            4 => self.apply_sized::<4>(neighborhoods, y, out),
            5 => self.apply_sized::<5>(neighborhoods, y, out),
            6 => self.apply_sized::<6>(neighborhoods, y, out),
            8 => self.apply_sized::<8>(neighborhoods, y, out),
            10 => self.apply_sized::<10>(neighborhoods, y, out),
            _ => self.apply_columns(neighborhoods, y, d, out),
        }
        Ok(())
    }

    fn apply_sized<const D: usize>(&self, neighborhoods: &Neighborhoods, y: &[f64], out: &mut [f64]) {
        let (y, out) = (y.as_chunks::<D>().0, out.as_chunks_mut::<D>().0);
        let mut means = vec![[0.0; D]; y.len()];
        means.par_chunks_mut(CHUNK).enumerate().for_each(|(c, chunk)| {
            for (o, mean) in chunk.iter_mut().enumerate() {
                let i = c * CHUNK + o;
                let neighbors = neighborhoods.of(i);
                let mut sum = y[i];
                for &p in neighbors {
                    (0..D).for_each(|b| sum[b] += y[p as usize][b]);
                }
                *mean = sum.map(|v| v * (self.weights[i] / (neighbors.len() + 1) as f64));
            }
        });
        out.par_chunks_mut(CHUNK).enumerate().for_each(|(c, chunk)| {
            for (o, row) in chunk.iter_mut().enumerate() {
                let p = c * CHUNK + o;
                let mut sum = means[p];
                for &i in self.reversed.of(p) {
                    (0..D).for_each(|b| sum[b] += means[i as usize][b]);
                }
                (0..D).for_each(|b| row[b] = self.held[p] * y[p][b] - sum[b]);
            }
        });
    }

    fn apply_columns(&self, neighborhoods: &Neighborhoods, y: &[f64], d: usize, out: &mut [f64]) {
        let add = |sum: &mut [f64], row: &[f64]| sum.iter_mut().zip(row).for_each(|(sum, v)| *sum += v);
        let mut means = vec![0.0; y.len()];
        means.par_chunks_mut(d).enumerate().with_min_len(CHUNK).for_each(|(i, mean)| {
            members(neighborhoods, i, true).for_each(|p| add(mean, &y[p * d..]));
            let share = self.weights[i] / (neighborhoods.of(i).len() + 1) as f64;
            mean.iter_mut().for_each(|m| *m *= share);
        });
        out.par_chunks_mut(d).enumerate().with_min_len(CHUNK).for_each(|(p, row)| {
            row.copy_from_slice(&means[p * d..][..d]);
            self.reversed.of(p).iter().for_each(|&i| add(row, &means[i as usize * d..]));
            row.iter_mut().zip(&y[p * d..]).for_each(|(sum, v)| *sum = self.held[p] * v - *sum);
        });
    }
}

/// Rows that are summed side by side, so that it is done in vectors however few columns there are.
const ABREAST: usize = 8;

/// `y` of `d` columns, point after point, less the mean of each, written to `out`.
pub fn centred(y: &[f64], d: usize, out: &mut [f64]) -> Result<()> {
    if out.len() != y.len() || d == 0 || !y.len().is_multiple_of(d) {
        let (left, right) = ("Y", "its columns");
        return Err(Error::LengthMismatch { left, left_len: y.len(), right, right_len: d });
    }
    let (width, stretch) = (ABREAST * d, CHUNK * ABREAST * d);
    let sums: Vec<Vec<f64>> = y.par_chunks(stretch).map(|chunk| summed(chunk, width)).collect();
    let mut means = vec![0.0; d];
    for (place, sum) in sums.iter().flat_map(|sum| sum.iter().enumerate()) {
        means[place % d] += sum;
    }
    means.iter_mut().for_each(|mean| *mean /= (y.len() / d) as f64);
    let means = means.repeat(ABREAST);
    out.par_chunks_mut(stretch).zip(y.par_chunks(stretch)).for_each(|(out, y)| {
        for (out, y) in out.chunks_mut(width).zip(y.chunks(width)) {
            out.iter_mut().zip(y).zip(&means).for_each(|((out, v), mean)| *out = v - mean);
        }
    });
    Ok(())
}

/// The sum of all stretches of `width` numbers, the last of which may be shorter.
fn summed(chunk: &[f64], width: usize) -> Vec<f64> {
    let mut sum = vec![0.0; width];
    for part in chunk.chunks(width) {
        sum.iter_mut().zip(part).for_each(|(sum, v)| *sum += v);
    }
    sum
}

/// Writes w_i H X_i A_i of the neighbourhoods from `start` on to `out`; returns the sum of w_i G.
struct LayOut<'a, 'x, 'y> {
    refiner: &'a Refiner,
    x: &'a Points<'x>,
    y: &'a Points<'y>,
    neighborhoods: &'a Neighborhoods<'a>,
    start: usize,
    out: &'a mut [f64],
}

impl NullaryFnOnce for LayOut<'_, '_, '_> {
    type Output = f64;

    #[inline(always)]
    fn call(self) -> f64 {
        let LayOut { refiner, x, y, neighborhoods, start, mut out } = self;
        let (d, end) = (refiner.n_components, x.len().min(start + CHUNK));
        let (mut pairs, mut workspace, mut objective) =
            (<[Pair; TOGETHER]>::default(), Workspace::default(), 0.0);
        for start in (start..end).step_by(TOGETHER) {
            let pairs = &mut pairs[..TOGETHER.min(end - start)];
            for (i, pair) in (start..).zip(&mut *pairs) {
                pair.weight = refiner.weights[i];
                refiner.load(x, neighborhoods, i, &mut pair.x);
                match d {
                    2 => pair.y.load(y, members(neighborhoods, i, true), 2),
                    d => pair.y.load(y, members(neighborhoods, i, true), d),
                }
            }
            for pairs in pairs.chunk_by(|one, two| one.x.dim == two.x.dim) {
                let rows;
                (rows, out) = out.split_at_mut(pairs.iter().map(|pair| pair.x.size).sum::<usize>() * d);
                objective += match (pairs[0].x.dim, d) {
                    (3, 2) => workspace.place(pairs, 3, 2, rows),
                    (q, 2) => workspace.place(pairs, q, 2, rows),
                    (q, d) => workspace.place(pairs, q, d, rows),
                };
            }
        }
        objective
    }
}

/// A neighbourhood in the data and in the embedding.
#[derive(Default)]
struct Pair {
    x: Local,
    y: Local,
    weight: f64,
}

/// The frames of some neighbourhoods, found together; reused.
#[derive(Default)]
struct Workspace {
    products: Vec<f64>,
    frames: Vec<f64>,
    sums: Vec<f64>,
    turned: Vec<f64>,
    scratch: Vec<f64>,
}

impl Workspace {
    /// w H X A of every neighbourhood to `rows`, point after point; returns the sum of w G.
    #[inline(always)]
    fn place(&mut self, pairs: &[Pair], q: usize, d: usize, mut rows: &mut [f64]) -> f64 {
        let size = q * d;
        let (products, frames) =
            (first(&mut self.products, pairs.len() * size), first(&mut self.frames, pairs.len() * size));
        for (Pair { x, y, .. }, product) in pairs.iter().zip(products.chunks_exact_mut(size)) {
            across(&x.x, q, &y.x, d, x.padded, product);
        }
        polars(products, q, d, frames, first(&mut self.sums, pairs.len()), &mut self.scratch);
        let mut objective = 0.0;
        for (Pair { x, y, weight }, frame) in pairs.iter().zip(frames.chunks_exact(size)) {
            let (own, turned) =
                (rows.split_off_mut(..x.size * d).unwrap_or_default(), first(&mut self.turned, x.padded));
            for (b, axis) in frame.chunks_exact(q).enumerate() {
                combine(&x.x, q, |a| axis[a], turned);
                (0..x.size).for_each(|p| own[p * d + b] = weight * turned[p]);
            }
            objective += weight * residual(frame, &x.x, q, &y.x, d, x.padded, 1.0);
        }
        objective
    }
}

/// The median of sizes, which one point far away does not change as it would the mean.
fn usual(norms2: &[f64]) -> f64 {
    let mut real: Vec<f64> = norms2.iter().copied().filter(|&norm2| norm2 > VANISHING).collect();
    if real.is_empty() {
        return 1.0;
    }
    let middle = real.len() / 2;
    *real.select_nth_unstable_by(middle, f64::total_cmp).1
}

impl Shapes {
    fn of(x: &Points, neighborhoods: &Neighborhoods, d: usize, monitor: &dyn Monitor) -> Result<Self> {
        let most = neighborhoods.largest() + 1;
        let width = 1 + most.max(d) * most.next_multiple_of(crate::charts::LANES);
        let mut flat = vec![0.0; x.len() * width];
        fill_rows(&mut flat, width, "frames, shapes", monitor, Local::default, |local, i, row| {
            local.load_reduced(x, members(neighborhoods, i, true), d);
            row[0] = local.dim as f64;
            row[1..=local.dim * local.padded].copy_from_slice(&local.x[..local.dim * local.padded]);
        })?;
        Ok(Shapes { width, flat })
    }

    fn read(&self, i: usize, size: usize, local: &mut Local) {
        let row = &self.flat[i * self.width..][..self.width];
        local.copy_centred(&row[1..], size, row[0] as usize);
    }
}

/// The place of point `i` in its own neighbourhood, in the list of all places.
#[inline(always)]
fn first_place(neighborhoods: &Neighborhoods, i: usize) -> usize {
    neighborhoods.start(i) + i
}

/// The reversed graph, and the place of the point in each neighbourhood that lists it.
fn reversed_places(neighborhoods: &Neighborhoods) -> Result<(Neighborhoods<'static>, Vec<u32>)> {
    let n = neighborhoods.len();
    let total = neighborhoods.indices().len() + n;
    if total > u32::MAX as usize {
        return Err(Error::TooManyPoints { n: total, limit: u32::MAX as usize });
    }
    let reversed = neighborhoods.reversed();
    let mut next: Vec<usize> = (0..n).map(|p| reversed.start(p)).collect();
    let mut places = vec![0; neighborhoods.indices().len()];
    for i in 0..n {
        let own = first_place(neighborhoods, i);
        for (at, &p) in neighborhoods.of(i).iter().enumerate() {
            places[next[p as usize]] = (own + 1 + at) as u32;
            next[p as usize] += 1;
        }
    }
    Ok((reversed, places))
}

/// The places of every `CHUNK` neighbourhoods, to be written by one thread each.
pub(super) fn split<'t>(
    mut targets: &'t mut [f64],
    neighborhoods: &Neighborhoods,
    d: usize,
) -> Vec<&'t mut [f64]> {
    let n = neighborhoods.len();
    let end =
        |i: usize| if i < n { first_place(neighborhoods, i) } else { neighborhoods.indices().len() + n };
    let mut chunks = Vec::with_capacity(n.div_ceil(CHUNK));
    for start in (0..n).step_by(CHUNK) {
        let chunk;
        (chunk, targets) = targets.split_at_mut((end(start + CHUNK) - end(start)) * d);
        chunks.push(chunk);
    }
    chunks
}
