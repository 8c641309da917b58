//! The embedding from the frames (Goldberg & Ritov, section 4.2): the right-hand side of eq. 11, and a first guess.
//!
//! Cost: O(n k q d) each, once the charts are there.

use std::collections::VecDeque;

use rayon::prelude::*;

use super::align::{Bases, Connection, check_rotations};
use super::cut::check_entries;
use super::refine::{CHUNK, Refiner};
use super::{check_len, check_sometimes};
use crate::charts::{Atlas, Coordinates, members};
use crate::error::Result;
use crate::linalg::{dot, polar};
use crate::monitor::{Monitor, Silent};
use crate::parallel::fill_rows;
use crate::points::Points;

const STAGE: &str = "assembly";

impl Refiner {
    /// sum of w_i H_i X A_i for the frames A_i = P_i O_i, point after point: the right-hand side of eq. 11.
    pub fn right_hand_side(
        &self,
        atlas: &Atlas,
        rotations: &[f64],
        monitor: &dyn Monitor,
    ) -> Result<Vec<f64>> {
        let (graph, d) = (atlas.neighborhoods(), atlas.n_components());
        self.check_graph(graph)?;
        self.check_dim("the tangents", d)?;
        check_rotations(rotations, graph.len(), d)?;
        if let Some(bases) = Bases::of(atlas) {
            return self.right_hand_side_of_frames(atlas, &bases.frames(rotations, monitor)?, monitor);
        }
        let mut targets = vec![0.0; self.n_places(graph) * d];
        self.split(&mut targets, graph, d).into_par_iter().enumerate().try_for_each(|(c, mut chunk)| {
            monitor.check()?;
            let mut chart = Coordinates::default();
            let mut i = c * CHUNK;
            while !chunk.is_empty() {
                atlas.read(i, &mut chart);
                // A chart begins with its own point.
                let flat = &chart.flat[chart.flat.len() - self.size(graph, i) * d..];
                let rows;
                (rows, chunk) = std::mem::take(&mut chunk).split_at_mut(flat.len());
                rotate_about_mean(flat, &rotations[i * d * d..][..d * d], self.weights()[i], d, rows);
                i += 1;
            }
            Ok(())
        })?;
        Ok(self.gather(&targets, graph))
    }

    /// The same for narrow data: each point collects w_i A_i'(x_p - m_i) from the neighborhoods that hold it, where m_i is
    /// the mean of one.
    fn right_hand_side_of_frames(
        &self,
        atlas: &Atlas,
        frames: &[f64],
        monitor: &dyn Monitor,
    ) -> Result<Vec<f64>> {
        let points = atlas.source().points("frames")?;
        let (graph, d) = (atlas.neighborhoods(), atlas.n_components());
        let (n, q, quiet) = (points.len(), points.dim(), Silent(monitor));
        let mut means = vec![0.0; n * q];
        let rows = || [vec![0.0; q], vec![0.0; q]];
        fill_rows(&mut means, q, STAGE, &quiet, rows, |[own, row], i, mean| {
            // relative to the point, so that a common offset costs no digits
            points.copy_row(i, own);
            for &p in graph.of(i) {
                points.copy_row(p as usize, row);
                mean.iter_mut().zip(row.iter().zip(&*own)).for_each(|(mean, (v, o))| *mean += v - o);
            }
            let count = self.size(graph, i).max(1) as f64;
            mean.iter_mut().zip(&*own).for_each(|(mean, o)| *mean = o + *mean / count);
        })?;
        let mut right_hand_side = vec![0.0; n * d];
        fill_rows(
            &mut right_hand_side,
            d,
            STAGE,
            &quiet,
            || vec![0.0; q],
            |own, p, out| {
                points.copy_row(p, own);
                for i in self.holding(p) {
                    let (mean, weight) = (&means[i * q..][..q], self.weights()[i]);
                    for (out, axis) in out.iter_mut().zip(frames[i * q * d..][..q * d].chunks_exact(q)) {
                        let along: f64 = (0..q).map(|a| axis[a] * (own[a] - mean[a])).sum();
                        *out += weight * along;
                    }
                }
            },
        )?;
        Ok(right_hand_side)
    }
}

/// w H Theta O, point after point.
fn rotate_about_mean(chart: &[f64], rotation: &[f64], weight: f64, d: usize, rows: &mut [f64]) {
    let share = weight * d as f64 / chart.len() as f64;
    for (row, theta) in rows.chunks_exact_mut(d).zip(chart.chunks_exact(d)) {
        (0..d).for_each(|b| row[b] = weight * dot(&rotation[b * d..][..d], theta));
    }
    for b in 0..d {
        let mean: f64 =
            chart.chunks_exact(d).map(|theta| dot(&rotation[b * d..][..d], theta)).sum::<f64>() * share;
        rows.iter_mut().skip(b).step_by(d).for_each(|v| *v -= mean);
    }
}

/// The O_i of the frames that fit an embedding best, polar(Theta_i' H Y_i), without the neighbors that are `torn`.
pub fn frames_of(atlas: &Atlas, y: &[f64], torn: Option<&[bool]>, monitor: &dyn Monitor) -> Result<Vec<f64>> {
    let (graph, d) = (atlas.neighborhoods(), atlas.n_components());
    let n = graph.len();
    torn.map_or(Ok(()), |torn| check_entries(graph, torn))?;
    check_len("Y", y.len(), "the points, times d,", n * d)?;
    let mut rotations = vec![0.0; n * d * d];
    let state = || (Coordinates::default(), vec![0.0; d * d], vec![0.0; d], Vec::new());
    fill_rows(&mut rotations, d * d, "frames", monitor, state, |(chart, product, mean, spare), i, out| {
        atlas.read(i, chart);
        let whole = |at: usize| at == 0 || torn.is_none_or(|torn| !torn[graph.start(i) + at - 1]);
        let images = || {
            let rows = chart.flat.chunks_exact(d).zip(members(graph, i, true)).enumerate();
            rows.filter(|&(at, _)| whole(at)).map(|(_, (theta, p))| (theta, &y[p * d..][..d]))
        };
        let count = images().count() as f64;
        mean.fill(0.0);
        images().for_each(|(_, image)| (0..d).for_each(|b| mean[b] += image[b] / count));
        product.fill(0.0);
        for (theta, image) in images() {
            (0..d * d).for_each(|ab| product[ab] += theta[ab % d] * (image[ab / d] - mean[ab / d]));
        }
        polar(product, d, d, out, spare);
    })?;
    Ok(rotations)
}

/// Places points along shortest paths from the first of every component, in steps of (A_i + A_j)'(x_j - x_i) / 2.
/// Errors add up on the way; conjugate gradients for eq. 11 start here.
pub fn place(
    connection: &Connection,
    atlas: &Atlas,
    rotations: &[f64],
    monitor: &dyn Monitor,
) -> Result<Vec<f64>> {
    let (n, d) = (connection.graph().len(), connection.n_components());
    connection.check_rotations(rotations)?;
    let mut walk = Walk {
        atlas,
        rotations,
        along: connection.frames(rotations, monitor)?.zip(atlas.source().points("frames").ok()),
        y: vec![0.0; n * d],
        own: Coordinates::default(),
        theirs: Coordinates::default(),
        step: vec![0.0; atlas.source().dim()],
        from: vec![0.0; atlas.source().dim()],
    };
    let (mut reached, mut queue, mut steps) = (vec![false; n], VecDeque::new(), 0);
    for root in 0..n {
        if !std::mem::replace(&mut reached[root], true) {
            queue.push_back(root);
        }
        while let Some(i) = queue.pop_front() {
            steps += 1;
            check_sometimes(steps, monitor)?;
            let mut read = false;
            for &j in connection.graph().of(i) {
                if !std::mem::replace(&mut reached[j as usize], true) {
                    if !std::mem::replace(&mut read, true) {
                        walk.begin(i);
                    }
                    walk.step(i, j as usize);
                    queue.push_back(j as usize);
                }
            }
        }
    }
    Ok(walk.y)
}

struct Walk<'a, 'b, 'p> {
    atlas: &'a Atlas<'b, 'p>,
    rotations: &'a [f64],
    /// A_i for every point, and the data, if these are narrow: then charts are not read.
    along: Option<(Vec<f64>, &'a Points<'p>)>,
    y: Vec<f64>,
    own: Coordinates,
    theirs: Coordinates,
    from: Vec<f64>,
    step: Vec<f64>,
}

impl Walk<'_, '_, '_> {
    /// Steps from `i` come next.
    fn begin(&mut self, i: usize) {
        match self.along {
            Some((_, points)) => points.copy_row(i, &mut self.from),
            None => self.atlas.read(i, &mut self.own),
        }
    }

    /// Places `j` from `i`, with which steps began.
    fn step(&mut self, i: usize, j: usize) {
        let Some((frames, points)) = &self.along else { return self.step_by_charts(i, j) };
        let (q, d) = (points.dim(), self.atlas.n_components());
        points.copy_row(j, &mut self.step);
        self.step.iter_mut().zip(&self.from).for_each(|(to, from)| *to -= from);
        for b in 0..d {
            let [own, theirs] = [i, j].map(|of| &frames[(of * d + b) * q..][..q]);
            let axes = own.iter().zip(theirs).zip(&self.step);
            let along: f64 = axes.map(|((own, theirs), step)| (own + theirs) * step).sum();
            self.y[j * d + b] = self.y[i * d + b] + 0.5 * along;
        }
    }

    /// The mean of both charts if each holds the other point.
    fn step_by_charts(&mut self, i: usize, j: usize) {
        let d = self.atlas.n_components();
        let position = |of: usize, other: usize| {
            self.atlas.neighborhoods().of(of).iter().position(|&p| p as usize == other).map(|at| at + 1)
        };
        let (in_own, in_theirs) = (position(i, j), position(j, i));
        if in_theirs.is_some() {
            self.atlas.read(j, &mut self.theirs);
        }
        let share = if in_own.is_some() && in_theirs.is_some() { 0.5 } else { 1.0 };
        for b in 0..d {
            let along = |chart: &Coordinates, at: usize, of: usize| -> f64 {
                let rotation = &self.rotations[of * d * d + b * d..][..d];
                let (theta, origin) = (&chart.flat[at * d..][..d], &chart.flat[..d]);
                (0..d).map(|a| rotation[a] * (theta[a] - origin[a])).sum()
            };
            let there = in_own.map_or(0.0, |at| along(&self.own, at, i));
            let back = in_theirs.map_or(0.0, |at| along(&self.theirs, at, j));
            self.y[j * d + b] = self.y[i * d + b] + share * (there - back);
        }
    }
}
