//! Refinement of any embedding (Goldberg & Ritov, section 4.4): frames from the embedding, then the embedding from the
//! frames.
//!
//! This module has the frames A_i with the right-hand side of eq. 11, and the product with its matrix, sum of w_i H_i.
//! The caller solves the system: from the present embedding, every step of conjugate gradients lowers R(Y | A), and new
//! frames lower it again. Cost: O(n k q d) for frames, O(n k d) for the product.
//!
//! R_C (eq. 5 and 7) has a scale c_i for each neighborhood as well: |H X_i - c_i H Y_i A_i'|^2 is c_i^2 times
//! |H X_i / c_i - H Y_i A_i'|^2, so the system is that of charts divided by c_i, with weights multiplied by c_i^2.

mod abreast;

use std::sync::{Arc, OnceLock};

use pulp::{Arch, NullaryFnOnce};
use rayon::prelude::*;

use super::{Multigrid, check_len};
use crate::charts::{Local, Patches, Source, across, check_lengths, members, residual};
use crate::error::{Error, Result};
use crate::linalg::{combine, first, polars};
use crate::monitor::{Monitor, Silent};
use crate::neighbors::Neighborhoods;
use crate::parallel::{fill_rows, map_points};
use crate::points::Points;

const STAGE: &str = "frames";

pub(super) const CHUNK: usize = 512; // Neighborhoods handled at once.
const TOGETHER: usize = 8; // Number of neighborhoods whose frames are found at the same time.

/// A squared size below this counts as 0: sums of reciprocals could overflow.
const VANISHING: f64 = 1e-290;

/// The objective that is minimized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Objective {
    /// The mean of G, eq. 3.
    R,
    /// The mean of G / |H X_i|^2, eq. 4.
    #[default]
    RN,
    /// The mean of the least G / |H X_i|^2 over the scale of Y_i, eq. 5 and 7: see [`Refiner::conformal`].
    RC,
}

/// Values of data and graph that refinement needs, computed once.
#[derive(Debug)]
pub struct Refiner {
    n_components: usize,
    /// w_i: 1, or 1 / |H X_i|^2; with scales, c_i^2 times that.
    weights: Vec<f64>,
    /// c_i, if neighborhoods have scales of their own.
    scales: Option<Vec<f64>>,
    /// True if each point belongs to its own neighborhood.
    include_self: bool,
    /// For every point the neighborhoods that list it, without its own.
    reversed: Arc<Neighborhoods<'static>>,
    /// The place of the point in each of them, in the list of all places: own point if it belongs there, neighbors,
    /// next neighborhood.
    places: Arc<OnceLock<Vec<u32>>>,
    /// For every point the sum of w_i over the neighborhoods that hold it.
    held: Vec<f64>,
    /// Neighborhoods of wide data in as few coordinates as hold them.
    shapes: Option<Arc<Patches>>,
}

/// The right-hand side of eq. 11, and the objective of the embedding that the frames come from.
#[derive(Debug, Clone)]
pub struct Frames {
    /// sum of w_i H_i X A_i, point after point.
    pub right_hand_side: Vec<f64>,
    /// Mean of w_i G(X_i, Y_i).
    pub objective: f64,
}

impl Refiner {
    /// Cost: O(n k q), for wide data that of all charts.
    pub fn new<'x, 'p: 'x>(
        x: impl Into<Source<'x, 'p>>,
        graph: &Neighborhoods,
        n_components: usize,
        objective: Objective,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        Refiner::of(x.into(), graph, n_components, objective, true, monitor)
    }

    /// The same for neighborhoods that each point belongs to itself or, if not `include_self`, does not. A point that is
    /// then in no neighborhood has an empty row in the matrix of eq. 11.
    pub fn of<'x, 'p: 'x>(
        x: impl Into<Source<'x, 'p>>,
        graph: &Neighborhoods,
        n_components: usize,
        objective: Objective,
        include_self: bool,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let x = x.into();
        x.check(graph, n_components)?;
        let shapes = match x {
            Source::Points(points) if points.dim() > graph.largest() + 1 => {
                Some(Arc::new(Patches::of_points(points, graph, n_components, monitor)?))
            }
            _ => None,
        };
        check_places(graph)?;
        let (reversed, places) = (Arc::new(graph.reversed()), Arc::default());
        let (weights, scales, held) = (vec![], None, vec![]);
        let refiner = Refiner { n_components, weights, scales, include_self, reversed, places, held, shapes };
        let weights = refiner.weigh(x, graph, objective, monitor)?;
        Ok(refiner.with(weights, None))
    }

    /// The same with w_i times the weight of each point, which is above 0.
    pub fn weighted(&self, by: &[f64]) -> Result<Self> {
        check_len("weights", by.len(), "the neighborhood graph", self.weights.len())?;
        let weights = self.weights.iter().zip(by).map(|(own, by)| own * by).collect();
        Ok(self.with(weights, self.scales.clone()))
    }

    /// The same with the scales of eq. 7 for embedding `y`. Its objective at `y` is R_C, and that at other embeddings
    /// at least their R_C. A neighborhood that `y` shows in one place has no scale, and weighs nothing.
    pub fn conformal<'x, 'p: 'x>(
        &self,
        x: impl Into<Source<'x, 'p>>,
        y: &Points,
        graph: &Neighborhoods,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let x = x.into();
        self.check_graph(graph)?;
        x.check(graph, self.n_components)?;
        check_lengths(y, "Y", graph)?;
        self.check_dim("Y", y.dim())?;
        let d = self.n_components;
        let state = || (Pair::default(), Workspace::default());
        let scales = map_points(x.len(), STAGE, monitor, state, |(pair, workspace), i| {
            self.load(x, graph, i, &mut pair.x);
            pair.y.load(y, members(graph, i, self.include_self), d);
            workspace.scale(pair, d)
        })?;
        let size = |i: usize| self.scales.as_ref().map_or(1.0, |old| old[i]);
        let plain = |i: usize| self.weights[i] / size(i).powi(2);
        let weights = scales.iter().enumerate().map(|(i, &c)| plain(i) * c * c).collect();
        let scales = scales.into_iter().map(|c| if c > 0.0 { c } else { 1.0 }).collect();
        Ok(self.with(weights, Some(scales)))
    }

    /// The same with other weights and scales.
    fn with(&self, weights: Vec<f64>, scales: Option<Vec<f64>>) -> Self {
        let (reversed, places, shapes) =
            (Arc::clone(&self.reversed), Arc::clone(&self.places), self.shapes.clone());
        let held = (0..weights.len())
            .into_par_iter()
            .map(|p| {
                let own = if self.include_self { weights[p] } else { 0.0 };
                own + reversed.of(p).iter().map(|&i| weights[i as usize]).sum::<f64>()
            })
            .collect();
        let Refiner { n_components, include_self, .. } = *self;
        Refiner { n_components, weights, scales, include_self, reversed, places, held, shapes }
    }

    fn weigh(
        &self,
        x: Source,
        graph: &Neighborhoods,
        objective: Objective,
        monitor: &dyn Monitor,
    ) -> Result<Vec<f64>> {
        if objective == Objective::R {
            return Ok(vec![1.0; x.len()]);
        }
        let norms2 = self.norms2(x, graph, monitor)?;
        // A neighborhood that coincides has no size to divide by: it weighs as much as the usual one.
        let usual = usual(&norms2);
        let size = |norm2: f64| if norm2 > 1e-12 * usual { norm2 } else { usual };
        Ok(norms2.into_iter().map(|norm2| 1.0 / size(norm2)).collect())
    }

    /// |H X_i|^2 of every neighborhood.
    fn norms2(&self, x: Source, graph: &Neighborhoods, monitor: &dyn Monitor) -> Result<Vec<f64>> {
        let found = match x.dim() {
            2 => self.norms2_abreast::<2>(x, graph, monitor)?,
            3 => self.norms2_abreast::<3>(x, graph, monitor)?,
            _ => None,
        };
        found.map_or_else(
            || {
                map_points(x.len(), STAGE, monitor, Local::default, |local, i| {
                    self.load(x, graph, i, local);
                    local.norm2
                })
            },
            Ok,
        )
    }

    #[inline(always)]
    fn load(&self, x: Source, graph: &Neighborhoods, i: usize, local: &mut Local) {
        match (&self.shapes, x) {
            (Some(shapes), _) => shapes.read(i, self.include_self, local),
            (None, Source::Patches(patches)) => patches.read(i, self.include_self, local),
            (None, Source::Points(x)) if x.dim() == 3 => {
                local.load(x, members(graph, i, self.include_self), 3)
            }
            (None, Source::Points(x)) => local.load(x, members(graph, i, self.include_self), x.dim()),
        }
    }

    /// Neighborhoods of wide data in as few coordinates as hold them, which take the place of the points.
    pub fn shapes(&self) -> Option<&Patches> {
        self.shapes.as_deref()
    }

    /// Number of points of neighborhood `i`.
    #[inline(always)]
    pub(super) fn size(&self, graph: &Neighborhoods, i: usize) -> usize {
        graph.of(i).len() + usize::from(self.include_self)
    }

    /// The number of all places.
    pub(super) fn n_places(&self, graph: &Neighborhoods) -> usize {
        graph.indices().len() + if self.include_self { graph.len() } else { 0 }
    }

    /// For every point the sum of weights of the neighborhoods that hold it.
    pub fn held(&self) -> &[f64] {
        &self.held
    }

    /// The diagonal of sum w_i H_i.
    pub fn diagonal(&self, graph: &Neighborhoods) -> Vec<f64> {
        let share = |i: usize| self.weights[i] / self.size(graph, i).max(1) as f64;
        (0..self.held.len())
            .into_par_iter()
            .map(|p| {
                let own = if self.include_self { share(p) } else { 0.0 };
                self.held[p] - own - self.reversed.of(p).iter().map(|&i| share(i as usize)).sum::<f64>()
            })
            .collect()
    }

    /// An approximate inverse of sum w_i H_i.
    pub fn multigrid(&self, graph: &Neighborhoods, monitor: &dyn Monitor) -> Result<Multigrid> {
        self.check_graph(graph)?;
        Multigrid::with_reversed(graph, &self.reversed, &self.weights, monitor)
    }

    /// The best frames of embedding `y`, put together.
    pub fn frames<'x, 'p: 'x>(
        &self,
        x: impl Into<Source<'x, 'p>>,
        y: &Points,
        graph: &Neighborhoods,
        monitor: &dyn Monitor,
    ) -> Result<Frames> {
        let x = x.into();
        self.check_graph(graph)?;
        x.check(graph, self.n_components)?;
        check_lengths(y, "Y", graph)?;
        self.check_dim("Y", y.dim())?;
        let found = match x.dim() {
            2 => self.frames_abreast::<2>(x, y, graph, monitor)?,
            3 => self.frames_abreast::<3>(x, y, graph, monitor)?,
            _ => None,
        };
        found.map_or_else(|| self.frames_of_all(x, y, graph, monitor), Ok)
    }

    /// The same for neighborhoods of any size and dimension.
    fn frames_of_all(
        &self,
        x: Source,
        y: &Points,
        graph: &Neighborhoods,
        monitor: &dyn Monitor,
    ) -> Result<Frames> {
        let (n, d) = (x.len(), self.n_components);
        let (mut targets, arch) = (vec![0.0; self.n_places(graph) * d], Arch::new());
        let chunks = self.split(&mut targets, graph, d);
        let sums: Result<Vec<f64>> = chunks
            .into_par_iter()
            .enumerate()
            .map(|(c, chunk)| {
                monitor.check()?;
                Ok(arch.dispatch(LayOut { refiner: self, x, y, graph, start: c * CHUNK, out: chunk }))
            })
            .collect();
        let objective = sums?.iter().sum::<f64>() / n as f64;
        monitor.check()?;
        Ok(Frames { right_hand_side: self.gather(&targets, graph), objective })
    }

    /// For every point the neighborhoods that list it, in rising order.
    pub fn reversed(&self) -> &Neighborhoods<'static> {
        &self.reversed
    }

    /// Fails unless this can be the graph that `places` belong to.
    pub(super) fn check_graph(&self, graph: &Neighborhoods) -> Result<()> {
        let right = "the graph that refinement knows";
        check_len("the neighborhood graph", graph.len(), right, self.held.len())?;
        check_len("the neighborhood graph", graph.indices().len(), right, self.reversed.indices().len())
    }

    pub(super) fn check_dim(&self, left: &'static str, d: usize) -> Result<()> {
        if d == self.n_components {
            return Ok(());
        }
        let right = "the embedding that is refined";
        Err(Error::DimensionMismatch { left, left_dim: d, right, right_dim: self.n_components })
    }

    /// The places of every `CHUNK` neighborhoods, to be written by one thread each.
    pub(super) fn split<'t>(
        &self,
        mut targets: &'t mut [f64],
        graph: &Neighborhoods,
        d: usize,
    ) -> Vec<&'t mut [f64]> {
        let (n, places) = (graph.len(), self.n_places(graph));
        let end = |i: usize| if i < n { first_place(graph, i, self.include_self) } else { places };
        let mut chunks = Vec::with_capacity(n.div_ceil(CHUNK));
        for start in (0..n).step_by(CHUNK) {
            let chunk;
            (chunk, targets) = targets.split_at_mut((end(start + CHUNK) - end(start)) * d);
            chunks.push(chunk);
        }
        chunks
    }

    /// For every point the sum of its targets, in its own neighborhood and in those that list it.
    pub(super) fn gather(&self, targets: &[f64], graph: &Neighborhoods) -> Vec<f64> {
        let d = self.n_components;
        let mut right_hand_side = vec![0.0; self.held.len() * d];
        let places = self.places.get_or_init(|| reversed_places(graph, &self.reversed, self.include_self));
        right_hand_side.par_chunks_mut(CHUNK * d).enumerate().for_each(|(c, chunk)| {
            for (o, side) in chunk.chunks_exact_mut(d).enumerate() {
                let p = c * CHUNK + o;
                if self.include_self {
                    side.copy_from_slice(&targets[first_place(graph, p, true) * d..][..d]);
                }
                for &place in &places[self.reversed.start(p)..][..self.reversed.of(p).len()] {
                    let target = &targets[place as usize * d..][..d];
                    side.iter_mut().zip(target).for_each(|(s, t)| *s += t);
                }
            }
        });
        right_hand_side
    }

    /// The neighborhoods that hold a point, its own first if it belongs there.
    pub(super) fn holding(&self, p: usize) -> impl Iterator<Item = usize> {
        self.include_self.then_some(p).into_iter().chain(self.reversed.of(p).iter().map(|&i| i as usize))
    }

    /// w_i for every neighborhood.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// (sum of w_i H_i) Y for `y` of any number of columns, point after point, written to `out`.
    pub fn apply(
        &self,
        graph: &Neighborhoods,
        y: &[f64],
        out: &mut [f64],
        monitor: &dyn Monitor,
    ) -> Result<()> {
        self.check_graph(graph)?;
        let n = self.held.len();
        let d = y.len() / n;
        if y.len() != n * d || out.len() != y.len() || d == 0 {
            let (left, right) = ("Y", "the neighborhood graph");
            return Err(Error::LengthMismatch { left, left_len: y.len(), right, right_len: n });
        }
        match d {
            1 => self.apply_sized::<1>(graph, y, out, monitor),
            2 => self.apply_sized::<2>(graph, y, out, monitor),
            3 => self.apply_sized::<3>(graph, y, out, monitor),
            4 => self.apply_sized::<4>(graph, y, out, monitor),
            5 => self.apply_sized::<5>(graph, y, out, monitor),
            6 => self.apply_sized::<6>(graph, y, out, monitor),
            8 => self.apply_sized::<8>(graph, y, out, monitor),
            10 => self.apply_sized::<10>(graph, y, out, monitor),
            _ => self.apply_columns(graph, y, d, out, monitor),
        }
    }

    /// `right_hand_side` - (sum of w_i H_i) Y, written to `out`.
    pub fn residual(
        &self,
        graph: &Neighborhoods,
        right_hand_side: &[f64],
        y: &[f64],
        out: &mut [f64],
        monitor: &dyn Monitor,
    ) -> Result<()> {
        check_len("the right-hand side", right_hand_side.len(), "Y", y.len())?;
        self.apply(graph, y, out, monitor)?;
        let rows = out.par_chunks_mut(CHUNK).zip(right_hand_side.par_chunks(CHUNK));
        rows.for_each(|(out, b)| out.iter_mut().zip(b).for_each(|(out, b)| *out = b - *out));
        Ok(())
    }

    fn apply_sized<const D: usize>(
        &self,
        graph: &Neighborhoods,
        y: &[f64],
        out: &mut [f64],
        monitor: &dyn Monitor,
    ) -> Result<()> {
        let (y, out) = (y.as_chunks::<D>().0, out.as_chunks_mut::<D>().0);
        let mut means = vec![[0.0; D]; y.len()];
        means.par_chunks_mut(CHUNK).enumerate().try_for_each(|(c, chunk)| {
            monitor.check()?;
            for (o, mean) in chunk.iter_mut().enumerate() {
                let i = c * CHUNK + o;
                let neighbors = graph.of(i);
                let mut sum = if self.include_self { y[i] } else { [0.0; D] };
                for &p in neighbors {
                    (0..D).for_each(|b| sum[b] += y[p as usize][b]);
                }
                *mean = sum.map(|v| v * (self.weights[i] / self.size(graph, i).max(1) as f64));
            }
            Ok(())
        })?;
        out.par_chunks_mut(CHUNK).enumerate().try_for_each(|(c, chunk)| {
            monitor.check()?;
            for (o, row) in chunk.iter_mut().enumerate() {
                let p = c * CHUNK + o;
                let mut sum = if self.include_self { means[p] } else { [0.0; D] };
                for &i in self.reversed.of(p) {
                    (0..D).for_each(|b| sum[b] += means[i as usize][b]);
                }
                (0..D).for_each(|b| row[b] = self.held[p] * y[p][b] - sum[b]);
            }
            Ok(())
        })
    }

    fn apply_columns(
        &self,
        graph: &Neighborhoods,
        y: &[f64],
        d: usize,
        out: &mut [f64],
        monitor: &dyn Monitor,
    ) -> Result<()> {
        let add = |sum: &mut [f64], row: &[f64]| sum.iter_mut().zip(row).for_each(|(sum, v)| *sum += v);
        let mut means = vec![0.0; y.len()];
        fill_rows(&mut means, d, STAGE, &Silent(monitor), <()>::default, |(), i, mean| {
            members(graph, i, self.include_self).for_each(|p| add(mean, &y[p * d..]));
            let share = self.weights[i] / self.size(graph, i).max(1) as f64;
            mean.iter_mut().for_each(|m| *m *= share);
        })?;
        fill_rows(out, d, STAGE, &Silent(monitor), <()>::default, |(), p, row| {
            if self.include_self {
                row.copy_from_slice(&means[p * d..][..d]);
            }
            self.reversed.of(p).iter().for_each(|&i| add(row, &means[i as usize * d..]));
            row.iter_mut().zip(&y[p * d..]).for_each(|(sum, v)| *sum = self.held[p] * v - *sum);
        })
    }
}

/// Rows that are summed side by side, so that it is done in vectors however few columns there are.
const ABREAST: usize = 8;

/// Subtracts the mean on every component of a graph from vectors: sum of w_i H_i maps it to zero.
#[derive(Debug)]
pub struct Centering {
    /// The component of every point, if there are several.
    labels: Option<Vec<u32>>,
    /// Number of points of each component.
    sizes: Vec<f64>,
}

impl Centering {
    /// For components numbered from 0.
    pub fn new(labels: Vec<u32>) -> Self {
        let mut sizes = vec![0.0; labels.iter().max().map_or(0, |&last| last as usize + 1)];
        labels.iter().for_each(|&label| sizes[label as usize] += 1.0);
        Centering { labels: (sizes.len() > 1).then_some(labels), sizes }
    }

    /// Writes `y` of `d` columns, point after point, without the mean of each column on each component, to `out`.
    pub fn apply(&self, y: &[f64], d: usize, out: &mut [f64]) -> Result<()> {
        let n = self.sizes.iter().sum::<f64>() as usize;
        check_len("the vector", y.len(), "the points, times d,", n * d)?;
        check_len("the place of the result", out.len(), "the points, times d,", n * d)?;
        let Some(labels) = &self.labels else {
            centered(y, d, out);
            return Ok(());
        };
        let mut means = vec![0.0; self.sizes.len() * d];
        for (row, &label) in y.chunks_exact(d).zip(labels) {
            means[label as usize * d..][..d].iter_mut().zip(row).for_each(|(sum, v)| *sum += v);
        }
        for (mean, size) in means.chunks_exact_mut(d).zip(&self.sizes) {
            mean.iter_mut().for_each(|mean| *mean /= size);
        }
        for ((out, row), &label) in out.chunks_exact_mut(d).zip(y.chunks_exact(d)).zip(labels) {
            let mean = &means[label as usize * d..][..d];
            out.iter_mut().zip(row).zip(mean).for_each(|((out, v), mean)| *out = v - mean);
        }
        Ok(())
    }
}

/// `y` of `d` columns, point after point, less the mean of each, written to `out`.
fn centered(y: &[f64], d: usize, out: &mut [f64]) {
    if y.is_empty() {
        return;
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
}

/// The sum of all stretches of `width` numbers, the last of which may be shorter.
fn summed(chunk: &[f64], width: usize) -> Vec<f64> {
    let mut sum = vec![0.0; width];
    for part in chunk.chunks(width) {
        sum.iter_mut().zip(part).for_each(|(sum, v)| *sum += v);
    }
    sum
}

/// Writes w_i H X_i A_i of the neighborhoods from `start` on to `out`; returns the sum of w_i G.
struct LayOut<'a, 'x, 'y> {
    refiner: &'a Refiner,
    x: Source<'a, 'x>,
    y: &'a Points<'y>,
    graph: &'a Neighborhoods<'a>,
    start: usize,
    out: &'a mut [f64],
}

impl NullaryFnOnce for LayOut<'_, '_, '_> {
    type Output = f64;

    #[inline(always)]
    fn call(self) -> f64 {
        let LayOut { refiner, x, y, graph, start, mut out } = self;
        let (d, end) = (refiner.n_components, x.len().min(start + CHUNK));
        let (mut pairs, mut workspace, mut objective) =
            (<[Pair; TOGETHER]>::default(), Workspace::default(), 0.0);
        for start in (start..end).step_by(TOGETHER) {
            let pairs = &mut pairs[..TOGETHER.min(end - start)];
            for (i, pair) in (start..).zip(&mut *pairs) {
                pair.weight = refiner.weights[i];
                pair.scale = refiner.scales.as_ref().map_or(1.0, |scales| scales[i]);
                refiner.load(x, graph, i, &mut pair.x);
                match d {
                    2 => pair.y.load(y, members(graph, i, refiner.include_self), 2),
                    d => pair.y.load(y, members(graph, i, refiner.include_self), d),
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

/// A neighborhood in the data and in the embedding.
#[derive(Default)]
struct Pair {
    x: Local,
    y: Local,
    weight: f64,
    scale: f64,
}

/// The frames of some neighborhoods, found together; reused.
#[derive(Default)]
struct Workspace {
    products: Vec<f64>,
    frames: Vec<f64>,
    sums: Vec<f64>,
    turned: Vec<f64>,
    scratch: Vec<f64>,
}

impl Workspace {
    /// c of eq. 7, sum(s) / |H Y|^2; 0 where Y is in one place.
    fn scale(&mut self, Pair { x, y, .. }: &Pair, d: usize) -> f64 {
        let (q, padded) = (x.dim, x.padded);
        let product = first(&mut self.products, q * d);
        across(&x.x, q, &y.x, d, padded, product);
        let (frame, sum) = (first(&mut self.frames, q * d), first(&mut self.sums, 1));
        polars(product, q, d, frame, sum, &mut self.scratch);
        if y.norm2 > 0.0 { sum[0].max(0.0) / y.norm2 } else { 0.0 }
    }

    /// w H X A / c of every neighborhood to `rows`, point after point; returns the sum of w |H X / c - H Y A'|^2.
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
        for (Pair { x, y, weight, scale }, frame) in pairs.iter().zip(frames.chunks_exact(size)) {
            let (own, turned) =
                (rows.split_off_mut(..x.size * d).unwrap_or_default(), first(&mut self.turned, x.padded));
            for (b, axis) in frame.chunks_exact(q).enumerate() {
                combine(&x.x, q, |a| axis[a], turned);
                (0..x.size).for_each(|p| own[p * d + b] = weight / scale * turned[p]);
            }
            objective += weight / (scale * scale) * residual(frame, &x.x, q, &y.x, d, x.padded, *scale);
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

/// The first place of neighborhood `i` in the list of all places.
#[inline(always)]
fn first_place(graph: &Neighborhoods, i: usize, include_self: bool) -> usize {
    graph.start(i) + if include_self { i } else { 0 }
}

/// Fails if the list of all places is too long to be numbered.
fn check_places(graph: &Neighborhoods) -> Result<()> {
    match graph.indices().len() + graph.len() {
        n if n > u32::MAX as usize => Err(Error::TooManyPoints { n, limit: u32::MAX as usize }),
        _ => Ok(()),
    }
}

/// The place of every point in each neighborhood that lists it.
fn reversed_places(graph: &Neighborhoods, reversed: &Neighborhoods, include_self: bool) -> Vec<u32> {
    let n = graph.len();
    let mut next: Vec<usize> = (0..n).map(|p| reversed.start(p)).collect();
    let mut places = vec![0; graph.indices().len()];
    for i in 0..n {
        let first = first_place(graph, i, include_self) + usize::from(include_self);
        for (at, &p) in graph.of(i).iter().enumerate() {
            places[next[p as usize]] = (first + at) as u32;
            next[p as usize] += 1;
        }
    }
    places
}
