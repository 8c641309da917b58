//! The share of the true neighbors that were found, measured on a random sample of points.
//!
//! The k-th distance found for a point bounds its true neighbors, and distances along orthonormal directions are never
//! longer than those of the points: so few exact distances are needed. A neighbor counts if it is no farther than the
//! true k-th.
//!
//! Cost: O(m n p) for m points sampled and p coordinates compared.

use rand_chacha::rand_core::Rng;
use rayon::prelude::*;

use super::rows::Rows;
use super::tile::Tile;
use crate::error::Result;
use crate::monitor::Monitor;
use crate::neighbors::blocked::squared_distance;
use crate::points::Points;
use crate::rng::stream;

/// Sampled points that are compared together.
const TOGETHER: usize = 256;

/// Other points that are compared together.
const BLOCK: usize = 1024;

/// Squared distances that differ by a smaller share tie: they are rounded.
const TIE: f64 = 1e-12;

/// Error of distances in single precision, as a share of their size and of that of the coordinates.
const SHARE: f64 = 1e-4;
const ROUNDING: f64 = 1e-5;

/// Two samples of points drawn at random, which share none.
pub fn sample(n: usize, sizes: [usize; 2], seed: u64) -> [Vec<u32>; 2] {
    let mut rng = stream(seed, "recall", 0);
    let wanted = (sizes[0] + sizes[1]).min(n);
    let mut drawn = std::collections::BTreeSet::new();
    let mut points = Vec::with_capacity(wanted);
    while points.len() < wanted {
        let point = (rng.next_u64() % n as u64) as u32;
        if drawn.insert(point) {
            points.push(point);
        }
    }
    let second = points.split_off((wanted * sizes[0] / (sizes[0] + sizes[1])).max(1));
    [points, second]
}

/// The share of the nearest others of the points `asked` among those found, given their squared distances in order.
pub fn recall(
    points: &Points,
    rows: &Rows,
    asked: &[u32],
    found: &[Vec<f64>],
    monitor: &dyn Monitor,
) -> Result<f64> {
    let (mut right, mut all) = (0, 0);
    for (asked, found) in asked.chunks(TOGETHER).zip(found.chunks(TOGETHER)) {
        let near = within(points, rows, asked, found, monitor)?;
        for (found, near) in found.iter().zip(near) {
            all += found.len();
            right += right_ones(found, near);
        }
    }
    Ok(right as f64 / all.max(1) as f64)
}

/// Number of found points no farther than the last true neighbor; `near` has all squared distances up to the last
/// found.
fn right_ones(found: &[f64], mut near: Vec<f64>) -> usize {
    let k = found.len();
    if near.len() < k {
        return k; // nothing nearer has been missed
    }
    let truth = *near.select_nth_unstable_by(k - 1, f64::total_cmp).1;
    found.iter().filter(|&&d2| d2 <= truth * (1.0 + TIE)).count()
}

/// The squared distances of others from each point asked about, up to the last found.
fn within(
    points: &Points,
    rows: &Rows,
    asked: &[u32],
    found: &[Vec<f64>],
    monitor: &dyn Monitor,
) -> Result<Vec<Vec<f64>>> {
    let limit = |(&i, found): (&u32, &Vec<f64>)| {
        let last = found.last().map_or(0.0, |d2| d2.sqrt()) * rows.scale;
        let reach = last * (1.0 + SHARE) + ROUNDING * rows.norm(i as usize);
        // no point is nearer than distance 0
        if last > 0.0 { (reach * reach) as f32 } else { f32::NEG_INFINITY }
    };
    let limits: Vec<f32> = asked.iter().zip(found).map(limit).collect();
    let blocks: Vec<Vec<(usize, f64)>> = (0..points.len().div_ceil(BLOCK))
        .into_par_iter()
        .map_init(Tile::default, |tile, b| {
            monitor.check()?;
            let block = b * BLOCK..((b + 1) * BLOCK).min(points.len());
            let members: Vec<_> = asked
                .iter()
                .zip(&limits)
                .map(|(&i, &limit)| (i as usize, limit))
                .chain(block.clone().map(|i| (i, f32::NEG_INFINITY)))
                .collect();
            tile.load(rows, members.iter().copied());
            let (mut near, mut ends) = (Vec::new(), [vec![0.0; points.dim()], vec![0.0; points.dim()]]);
            tile.join(asked.len(), |i, j, d2, limits| {
                if j < asked.len() || d2 > limits[i] || members[i].0 == members[j].0 {
                    return;
                }
                points.copy_row(members[i].0, &mut ends[0]);
                points.copy_row(members[j].0, &mut ends[1]);
                near.push((i, squared_distance(&ends[0], &ends[1])));
            });
            Ok(near)
        })
        .collect::<Result<_>>()?;
    let mut lists = vec![Vec::new(); asked.len()];
    blocks.iter().flatten().for_each(|&(i, d2)| lists[i].push(d2));
    Ok(lists)
}
