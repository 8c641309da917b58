//! Procrustes embeddings, and what builds on an embedding: refinement, cuts, rectification, layout, new points, Isomap.

pub mod align;
mod assemble;
mod carry;
pub mod cut;
mod greedy;
pub mod isomap;
mod layout;
mod multigrid;
mod rectify;
mod refine;

pub use assemble::{frames_of, place};
pub use carry::{Carried, carry, extend};
pub use greedy::{Greedy, GreedyParams, Trace, carried_frames, greedy};
pub use layout::lay_out;
pub use multigrid::Multigrid;
pub use rectify::{Rectified, rectify};
pub use refine::{Centering, Frames, Objective, Refiner};

use rayon::prelude::*;

use crate::charts::check_lengths;
use crate::error::{Error, Result};
use crate::monitor::{Monitor, Silent};
use crate::neighbors::Neighborhoods;
use crate::neighbors::paths::distance;
use crate::parallel::map_points;
use crate::points::Points;

fn check_len(left: &'static str, left_len: usize, right: &'static str, right_len: usize) -> Result<()> {
    if left_len == right_len {
        Ok(())
    } else {
        Err(Error::LengthMismatch { left, left_len, right, right_len })
    }
}

fn check_range(name: &'static str, value: f64, within: bool, needed: &'static str) -> Result<()> {
    if within { Ok(()) } else { Err(Error::OutOfRange { name, value, needed }) }
}

/// Fails if an index, of which each point has `k`, is not below `n`.
fn check_indices(indices: &[u32], k: usize, n: usize) -> Result<()> {
    match indices.par_iter().position_first(|&i| i as usize >= n) {
        Some(at) => Err(Error::NeighborOutOfRange { point: at / k, neighbor: indices[at] as usize, n }),
        None => Ok(()),
    }
}

const LOOK: usize = 256; // Steps between two checks of the monitor.

/// Checks the monitor once in many steps.
#[inline]
fn check_sometimes(step: usize, monitor: &dyn Monitor) -> Result<()> {
    if step.is_multiple_of(LOOK) { monitor.check() } else { Ok(()) }
}

/// The place of the largest value, the first of several.
fn largest<T: PartialOrd>(values: &[T]) -> usize {
    (1..values.len()).fold(0, |top, i| if values[i] > values[top] { i } else { top })
}

/// The points of each component.
fn members(labels: &[u32]) -> Vec<Vec<u32>> {
    let mut members = vec![Vec::new(); labels.iter().max().map_or(0, |&last| last as usize + 1)];
    labels.iter().zip(0..).for_each(|(&label, i)| members[label as usize].push(i));
    members
}

/// The distances of each point to its neighbors, folded from 0 on.
fn fold_distances(
    x: &Points,
    graph: &Neighborhoods,
    stage: &'static str,
    monitor: &dyn Monitor,
    fold: impl Fn(f64, f64) -> f64 + Sync,
) -> Result<Vec<f64>> {
    check_lengths(x, "X", graph)?;
    let state = || (vec![0.0; x.dim()], vec![0.0; x.dim()]);
    map_points(x.len(), stage, &Silent(monitor), state, |(from, to), i| {
        x.copy_row(i, from);
        graph.of(i).iter().fold(0.0, |folded, &j| {
            x.copy_row(j as usize, to);
            fold(folded, distance(from, to))
        })
    })
}
