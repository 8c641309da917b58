//! Frames of narrow data for plane embeddings: several neighborhoods of one size side by side.
//!
//! Each neighborhood leaves its frame and its mean, less than the images of its points would take. Each point then
//! collects its images from the neighborhoods that hold it.

use std::array::from_fn;

use rayon::prelude::*;

use super::{CHUNK, Frames, Pair, Refiner, STAGE, Workspace};
use crate::charts::{Abreast, Source, members};
use crate::error::Result;
use crate::linalg::factors::orthogonal_columns;
use crate::linalg::lanes::{FLAT, Lanes, SIZES, WIDTH, ZERO, dot};
use crate::monitor::{Monitor, Silent};
use crate::neighbors::Neighborhoods;
use crate::parallel::{fill_blocks_and, fill_rows, vectorized};
use crate::points::{Points, Rows};

/// w A of one neighborhood, column after column, and w A'm for its mean m relative to its own point.
#[derive(Debug, Clone, Copy)]
struct Placed<const Q: usize> {
    frame: [[f64; Q]; 2],
    mean: [f64; 2],
}

impl Refiner {
    /// The points, if they have `Q` dimensions and each point is in its own neighborhood, all of one size.
    fn narrow<'x, 'p, const Q: usize>(
        &self,
        x: Source<'x, 'p>,
        graph: &Neighborhoods,
    ) -> Option<&'x Points<'p>> {
        let Source::Points(points) = x else { return None };
        let is_plain = self.include_self && self.shapes.is_none() && graph.fixed_size().is_some();
        (points.dim() == Q && is_plain).then_some(points)
    }

    /// [`Refiner::frames`] of data in `Q` dimensions, if several neighborhoods can be handled at once.
    pub(super) fn frames_abreast<const Q: usize>(
        &self,
        x: Source,
        y: &Points,
        graph: &Neighborhoods,
        monitor: &dyn Monitor,
    ) -> Result<Option<Frames>> {
        let is_plain = self.n_components == 2 && self.scales.is_none();
        let Some(points) = self.narrow::<Q>(x, graph).filter(|_| is_plain) else { return Ok(None) };
        match (points.rows::<Q>(), y.rows::<2>()) {
            (Some(rows), Some(y_rows)) => self.frames_reading((points, rows), (y, y_rows), graph, monitor),
            _ => self.frames_reading::<Q>((points, points), (y, y), graph, monitor),
        }
        .map(Some)
    }

    /// The same, given how a point and its image are read.
    fn frames_reading<const Q: usize>(
        &self,
        (x, x_rows): (&Points, &(impl Rows<Q> + ?Sized)),
        (y, y_rows): (&Points, &(impl Rows<2> + ?Sized)),
        graph: &Neighborhoods,
        monitor: &dyn Monitor,
    ) -> Result<Frames> {
        let (n, size) = (graph.len(), graph.largest() + 1);
        let unset = Placed { frame: [[0.0; Q]; 2], mean: [0.0; 2] };
        let mut placed: Vec<Placed<Q>> = (0..n).into_par_iter().map(|_| unset).collect();
        let sums: Result<Vec<f64>> = placed
            .par_chunks_mut(CHUNK)
            .enumerate()
            .map(|(c, placed)| {
                monitor.check()?;
                let (mut group, mut objective) = (Group::default(), 0.0);
                let lists = listed(graph, c * CHUNK, placed.len());
                for (first, placed) in (c * CHUNK..).step_by(WIDTH).zip(placed.chunks_mut(WIDTH)) {
                    let own = &lists[(first - c * CHUNK) * size..];
                    let last = placed.len() - 1;
                    let weights = Lanes(from_fn(|lane| self.weights[first + lane.min(last)]));
                    let values = vectorized(
                        #[inline(always)]
                        || group.place(abreast(own, size, last), x_rows, y_rows, weights),
                    );
                    for (lane, (placed, value)) in placed.iter_mut().zip(values).enumerate() {
                        (*placed, objective) = match value {
                            Some(value) => (group.placed(lane), objective + value),
                            None => {
                                let (placed, value) = self.place_alone(x, y, graph, first + lane);
                                (placed, objective + value)
                            }
                        };
                    }
                }
                Ok(objective)
            })
            .collect();
        let objective = sums?.iter().sum::<f64>() / n as f64;
        Ok(Frames { right_hand_side: self.collect(&placed, x_rows, monitor)?, objective })
    }

    /// The same for one neighborhood, which may coincide or lie on a line.
    fn place_alone<const Q: usize>(
        &self,
        x: &Points,
        y: &Points,
        graph: &Neighborhoods,
        i: usize,
    ) -> (Placed<Q>, f64) {
        let mut pair = Pair { weight: self.weights[i], scale: 1.0, ..Pair::default() };
        pair.x.load(x, members(graph, i, true), Q);
        pair.y.load(y, members(graph, i, true), 2);
        let (mut workspace, mut images) = (Workspace::default(), vec![0.0; pair.x.size * 2]);
        let value = workspace.place(std::slice::from_ref(&pair), Q, 2, &mut images);
        let frame = from_fn(|b| from_fn(|a| pair.weight * workspace.frames[b * Q + a]));
        // The image of the own point about the mean is that of the mean about the own point, reversed.
        (Placed { frame, mean: from_fn(|b| -images[b]) }, value)
    }

    /// For every point the sum of w A'(x - m) over the neighborhoods that hold it, relative to their own points.
    fn collect<const Q: usize>(
        &self,
        placed: &[Placed<Q>],
        rows: &(impl Rows<Q> + ?Sized),
        monitor: &dyn Monitor,
    ) -> Result<Vec<f64>> {
        let mut right_hand_side = vec![0.0; placed.len() * 2];
        fill_rows(&mut right_hand_side, 2, STAGE, &Silent(monitor), <()>::default, |(), p, side| {
            let (own, mut sum) = (rows.at(p), placed[p].mean.map(|mean| -mean));
            for &i in self.reversed.of(p) {
                let (Placed { frame, mean }, from) = (&placed[i as usize], rows.at(i as usize));
                for b in 0..2 {
                    let along: f64 = (0..Q).map(|a| frame[b][a] * (own[a] - from[a])).sum();
                    sum[b] += along - mean[b];
                }
            }
            side.copy_from_slice(&sum);
        })?;
        Ok(right_hand_side)
    }

    /// |H X_i|^2 of every neighborhood, if several can be handled at once.
    pub(super) fn norms2_abreast<const Q: usize>(
        &self,
        x: Source,
        graph: &Neighborhoods,
        monitor: &dyn Monitor,
    ) -> Result<Option<Vec<f64>>> {
        let Some(points) = self.narrow::<Q>(x, graph) else { return Ok(None) };
        match points.rows::<Q>() {
            Some(rows) => norms2(rows, graph, monitor),
            None => norms2::<Q>(points, graph, monitor),
        }
        .map(Some)
    }
}

fn norms2<const Q: usize>(
    rows: &(impl Rows<Q> + ?Sized),
    graph: &Neighborhoods,
    monitor: &dyn Monitor,
) -> Result<Vec<f64>> {
    let (size, mut norms2) = (graph.largest() + 1, vec![0.0; graph.len()]);
    let mut nothing = vec![(); graph.len()];
    fill_blocks_and(&mut norms2, 1, &mut nothing, STAGE, monitor, |start, norms2, _| {
        let (lists, mut local) = (listed(graph, start, norms2.len()), Abreast::default());
        for (own, norms2) in lists.chunks(WIDTH * size).zip(norms2.chunks_mut(WIDTH)) {
            let sums = vectorized(
                #[inline(always)]
                || {
                    local.load(abreast(own, size, norms2.len() - 1), rows);
                    local.points.iter().fold(ZERO, |sum, x| sum + dot(x, x))
                },
            );
            norms2.copy_from_slice(&sums.0[..norms2.len()]);
        }
    })?;
    Ok(norms2)
}

/// The members of `count` neighborhoods, all at once, so that waits for memory overlap.
fn listed(graph: &Neighborhoods, start: usize, count: usize) -> Vec<u32> {
    let mut lists = Vec::with_capacity(count * (graph.largest() + 1));
    (start..start + count).for_each(|i| lists.extend(members(graph, i, true).map(|p| p as u32)));
    lists
}

/// The first lists of `size` members; those after the `last` repeat it.
#[inline(always)]
fn abreast(lists: &[u32], size: usize, last: usize) -> [&[u32]; WIDTH] {
    from_fn(|lane| &lists[lane.min(last) * size..][..size])
}

/// Neighborhoods of one size side by side, with their frames; reused.
struct Group<const Q: usize> {
    x: Abreast<Q>,
    y: Abreast<2>,
    frame: [[Lanes; Q]; 2],
    mean: [Lanes; 2],
}

impl<const Q: usize> Default for Group<Q> {
    fn default() -> Self {
        Group { x: Abreast::default(), y: Abreast::default(), frame: [[ZERO; Q]; 2], mean: [ZERO; 2] }
    }
}

impl<const Q: usize> Group<Q> {
    /// Finds w A and w A'm; returns w |H X - H Y A'|^2 of each, or `None` for a neighborhood to be placed alone.
    #[inline(always)]
    fn place(
        &mut self,
        lists: [&[u32]; WIDTH],
        x: &(impl Rows<Q> + ?Sized),
        y: &(impl Rows<2> + ?Sized),
        weights: Lanes,
    ) -> [Option<f64>; WIDTH] {
        self.x.load(lists, x);
        self.y.load(lists, y);
        let (mut product, mut x2, mut y2) = ([[ZERO; Q]; 2], ZERO, ZERO);
        for (x, y) in self.x.points.iter().zip(&self.y.points) {
            (0..2).for_each(|b| (0..Q).for_each(|a| product[b][a] += x[a] * y[b]));
            x2 += dot(x, x);
            y2 += dot(y, y);
        }
        let (frame, sum, independent) = orthogonal_columns(product);
        let mut residual = ZERO;
        for (x, y) in self.x.points.iter().zip(&self.y.points) {
            for a in 0..Q {
                let rest = x[a] - (frame[0][a] * y[0] + frame[1][a] * y[1]);
                residual += rest * rest;
            }
        }
        self.frame = frame.map(|column| column.map(|v| weights * v));
        self.mean = self.frame.map(|column| dot(&column, &self.x.means));
        let values = weights * residual;
        from_fn(|lane| {
            let of = |lanes: Lanes| lanes.0[lane];
            let usual = SIZES.contains(&of(x2)) && SIZES.contains(&of(y2)) && of(independent) > FLAT;
            (usual && of(sum) > FLAT * (of(x2) * of(y2)).sqrt()).then(|| of(values))
        })
    }

    /// The result of one lane.
    fn placed(&self, lane: usize) -> Placed<Q> {
        let of = |lanes: Lanes| lanes.0[lane];
        Placed { frame: self.frame.map(|column| column.map(of)), mean: self.mean.map(of) }
    }
}
