//! The embedding from the frames (Goldberg & Ritov, section 4.2): the right-hand side of eq. 11, and a first guess.
//!
//! Cost: O(n k q d) each, once the charts are there.

use rayon::prelude::*;

use super::align::{Bases, Connection, MOST_COLUMNS, check_rotations};
use super::cut::check_entries;
use super::refine::{CHUNK, Refiner};
use super::{check_len, check_sometimes};
use crate::charts::{Atlas, Coordinates, members};
use crate::error::Result;
use crate::linalg::{dot, polar};
use crate::monitor::{Monitor, Silent};
use crate::neighbors::Neighborhoods;
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
        match (points.dim(), atlas.n_components()) {
            (3, 2) => self.right_hand_side_sized(points, atlas.neighborhoods(), frames, 3, 2, monitor),
            (q, d) => self.right_hand_side_sized(points, atlas.neighborhoods(), frames, q, d, monitor),
        }
    }

    /// The same in dimensions that are known when it is compiled, for what is usual.
    #[inline(always)]
    fn right_hand_side_sized(
        &self,
        points: &Points,
        graph: &Neighborhoods,
        frames: &[f64],
        q: usize,
        d: usize,
        monitor: &dyn Monitor,
    ) -> Result<Vec<f64>> {
        let (n, quiet) = (points.len(), Silent(monitor));
        let mut means = vec![0.0; n * q];
        let rows = || [[0.0; MOST_COLUMNS]; 2];
        fill_rows(&mut means, q, STAGE, &quiet, rows, |[own, row], i, mean| {
            let (own, row) = (&mut own[..q], &mut row[..q]);
            // relative to the point, so that a common offset costs no digits
            points.copy_row(i, own);
            for &p in graph.of(i) {
                points.copy_row(p as usize, row);
                (0..q).for_each(|a| mean[a] += row[a] - own[a]);
            }
            let count = self.size(graph, i).max(1) as f64;
            (0..q).for_each(|a| mean[a] = own[a] + mean[a] / count);
        })?;
        let mut right_hand_side = vec![0.0; n * d];
        fill_rows(
            &mut right_hand_side,
            d,
            STAGE,
            &quiet,
            || [0.0; MOST_COLUMNS],
            |own, p, out| {
                let own = &mut own[..q];
                points.copy_row(p, own);
                for i in self.holding(p) {
                    let (mean, weight) = (&means[i * q..][..q], self.weights()[i]);
                    let frame = &frames[i * q * d..][..q * d];
                    for b in 0..d {
                        let along: f64 = (0..q).map(|a| frame[b * q + a] * (own[a] - mean[a])).sum();
                        out[b] += weight * along;
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
    let along = connection.frames(rotations, monitor)?.zip(atlas.source().points("frames").ok());
    let steps = shortest_steps(connection.graph(), monitor)?;
    let walk = || Walk {
        atlas,
        rotations,
        along: along.as_ref().map(|(frames, points)| (frames.as_slice(), *points)),
        at: usize::MAX,
        own: Coordinates::default(),
        theirs: Coordinates::default(),
        from: vec![0.0; atlas.source().dim()],
        to: vec![0.0; atlas.source().dim()],
    };
    let mut changes = vec![0.0; steps.len() * d];
    fill_rows(&mut changes, d, STAGE, &Silent(monitor), walk, |walk, at, change| {
        walk.step(steps[at], change)
    })?;
    let mut y = vec![0.0; n * d];
    for (&(i, j), change) in steps.iter().zip(changes.chunks_exact(d)) {
        (0..d).for_each(|b| y[j as usize * d + b] = y[i as usize * d + b] + change[b]);
    }
    Ok(y)
}

/// The steps of a breadth-first walk from the first point of every component, in order.
fn shortest_steps(graph: &Neighborhoods, monitor: &dyn Monitor) -> Result<Vec<(u32, u32)>> {
    let mut steps: Vec<(u32, u32)> = Vec::with_capacity(graph.len());
    let mut reached = vec![false; graph.len()];
    let mut next = 0;
    for root in 0..graph.len() as u32 {
        let mut from = (!std::mem::replace(&mut reached[root as usize], true)).then_some(root);
        while let Some(i) = from {
            check_sometimes(next, monitor)?;
            for &j in graph.of(i as usize) {
                if !std::mem::replace(&mut reached[j as usize], true) {
                    steps.push((i, j));
                }
            }
            from = steps.get(next).map(|&(_, j)| j);
            next += usize::from(from.is_some());
        }
    }
    Ok(steps)
}

/// Finds steps from point to point; those from one point come one after the other.
struct Walk<'a, 'b, 'p> {
    atlas: &'a Atlas<'b, 'p>,
    rotations: &'a [f64],
    /// A_i for every point, and the data, if these are narrow: then charts are not read.
    along: Option<(&'a [f64], &'a Points<'p>)>,
    /// The point that steps begin at.
    at: usize,
    own: Coordinates,
    theirs: Coordinates,
    from: Vec<f64>,
    to: Vec<f64>,
}

impl Walk<'_, '_, '_> {
    /// Writes the step from `i` to `j`.
    fn step(&mut self, (i, j): (u32, u32), out: &mut [f64]) {
        let (i, j) = (i as usize, j as usize);
        let begins = std::mem::replace(&mut self.at, i) != i;
        let Some((frames, points)) = self.along else {
            if begins {
                self.atlas.read(i, &mut self.own);
            }
            return self.step_by_charts(i, j, out);
        };
        if begins {
            points.copy_row(i, &mut self.from);
        }
        let (q, d) = (points.dim(), out.len());
        points.copy_row(j, &mut self.to);
        self.to.iter_mut().zip(&self.from).for_each(|(to, from)| *to -= from);
        for b in 0..d {
            let [own, theirs] = [i, j].map(|of| &frames[(of * d + b) * q..][..q]);
            let axes = own.iter().zip(theirs).zip(&self.to);
            out[b] = 0.5 * axes.map(|((own, theirs), step)| (own + theirs) * step).sum::<f64>();
        }
    }

    /// The mean of both charts if each holds the other point.
    fn step_by_charts(&mut self, i: usize, j: usize, out: &mut [f64]) {
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
            out[b] = share * (there - back);
        }
    }
}
