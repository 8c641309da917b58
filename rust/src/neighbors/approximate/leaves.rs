//! Leaves of near points in several random projection trees (Dasgupta & Freund 2008), which halve the points along the
//! line between two random ones. All points of a leaf are compared.
//!
//! Cost: O(n q log n) to grow a tree, O(n q L) for all pairs of leaves of L points.

use branches::prefetch_read_data;
use rand_chacha::rand_core::Rng;
use rayon::prelude::*;

use super::lists::Lists;
use super::rows::Rows;
use super::tile::{self, Tile};
use crate::error::Result;
use crate::monitor::Monitor;
use crate::neighbors::{STAGE, inverse};
use crate::parallel::vectorized;
use crate::rng::stream;

/// Maximum number of trees.
pub const TREES: usize = 6;

/// Maximum number of points in a leaf.
const LEAF: usize = 512;

/// Maximum number of leaves of a tree: their numbers have 16 bits.
const MOST: usize = 1 << 15;

/// Rows are prefetched this many points ahead.
const AHEAD: usize = 12;

/// Below this number of points, one thread splits alone.
const ALONE: usize = 1 << 14;

/// Several trees. Points are numbered by their place in the first: near ones are then near in memory, too.
pub struct Leaves {
    /// The points in order of their places.
    pub order: Vec<u32>,
    /// The leaf of each place in each tree; fewer trees than there is room for are repeated.
    pub leaves: Vec<[u16; TREES]>,
}

impl Leaves {
    /// Grows the trees, and enters points of one leaf into each other's lists.
    pub fn grow(rows: &Rows, lists: &Lists, trees: usize, seed: u64, monitor: &dyn Monitor) -> Result<Self> {
        let n = rows.len;
        let most = LEAF.max(4 * lists.width).max(n.div_ceil(MOST));
        let mut order: Vec<u32> = (0..n as u32).collect();
        split(rows, &mut order, most.min(tile::NEAR), seed, 0, monitor)?;
        let places = inverse(&order);
        let mut all = Leaves { order, leaves: vec![[0; TREES]; n] };
        for tree in 0..trees {
            let mut members = all.order.clone();
            if tree > 0 {
                split(rows, &mut members, most, seed, (tree as u64) << 32, monitor)?;
            }
            members.par_iter_mut().for_each(|i| *i = places[*i as usize]);
            let parts = parts(&members, most);
            all.join(rows, lists, &parts, monitor)?;
            (tree..TREES).step_by(trees).for_each(|room| all.number(&parts, room));
            monitor.progress(STAGE, tree + 1, trees + 1);
        }
        Ok(all)
    }

    fn join(&self, rows: &Rows, lists: &Lists, parts: &[&[u32]], monitor: &dyn Monitor) -> Result<()> {
        let point = |&place: &u32| (self.point(place), lists.limit(place));
        parts.par_iter().try_for_each_init(Tile::default, |tile, part| {
            monitor.check()?;
            part.iter().for_each(|&place| rows.soon(self.point(place)));
            tile.load(rows, part.iter().map(point));
            // only this thread has these lists: among equals the first to come may stay
            tile.join(part.len(), |i, j, d2, limits| {
                if d2 < limits[i] {
                    limits[i] = lists.offer_alone(part[i], d2, part[j]);
                }
                if d2 < limits[j] {
                    limits[j] = lists.offer_alone(part[j], d2, part[i]);
                }
            });
            Ok(())
        })
    }

    fn number(&mut self, parts: &[&[u32]], room: usize) {
        for (leaf, part) in parts.iter().enumerate() {
            part.iter().for_each(|&place| self.leaves[place as usize][room] = leaf as u16);
        }
    }

    /// The point at a place.
    #[inline(always)]
    pub fn point(&self, place: u32) -> usize {
        self.order[place as usize] as usize
    }

    /// Prefetches the leaves of a place.
    #[inline(always)]
    pub fn soon(&self, place: u32) {
        prefetch_read_data::<_, 0>(&self.leaves[place as usize]);
    }

    /// Returns whether two places are in one leaf of any tree.
    #[inline(always)]
    pub fn shared(&self, a: u32, b: u32) -> bool {
        let (a, b) = (&self.leaves[a as usize], &self.leaves[b as usize]);
        (0..TREES).fold(false, |any, tree| any | (a[tree] == b[tree]))
    }
}

/// Splits `ids` until no part holds more than `most`; near points end next to each other.
fn split(
    rows: &Rows,
    ids: &mut [u32],
    most: usize,
    seed: u64,
    node: u64,
    monitor: &dyn Monitor,
) -> Result<()> {
    if ids.len() <= most {
        return Ok(());
    }
    let mut rng = stream(seed, "leaves", node);
    let mut drawn = || {
        let mut row = vec![0.0; rows.telling];
        rows.read(ids[(rng.next_u64() % ids.len() as u64) as usize] as usize, &mut row);
        row
    };
    let line: Vec<f32> = drawn().iter().zip(drawn()).map(|(a, b)| a - b).collect();
    halve(rows, ids, &line, monitor)?;
    let all = ids.len();
    let (left, right) = ids.split_at_mut(all / 2);
    let mut left = || split(rows, left, most, seed, 2 * node + 1, monitor);
    let mut right = || split(rows, right, most, seed, 2 * node + 2, monitor);
    let (left, right) = if all < ALONE { (left(), right()) } else { rayon::join(left, right) };
    left.and(right)
}

/// Puts the half that is lower along a line first.
fn halve(rows: &Rows, ids: &mut [u32], line: &[f32], monitor: &dyn Monitor) -> Result<()> {
    let mut along = vec![(0.0, 0); ids.len()];
    let fill = |(ids, along): (&[u32], &mut [_])| {
        monitor.check()?;
        vectorized(
            #[inline(always)]
            || measure(rows, ids, line, along),
        );
        Ok(())
    };
    if ids.len() < ALONE {
        fill((ids, &mut along))?;
    } else {
        ids.par_chunks(ALONE / 4).zip(along.par_chunks_mut(ALONE / 4)).try_for_each(fill)?;
    }
    along.select_nth_unstable_by(ids.len() / 2, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    ids.iter_mut().zip(&along).for_each(|(id, &(_, along))| *id = along);
    Ok(())
}

/// Writes how far along a line each point is.
#[inline(always)]
fn measure(rows: &Rows, ids: &[u32], line: &[f32], along: &mut [(f32, u32)]) {
    let mut row = vec![0.0; line.len()];
    for (at, (&id, along)) in ids.iter().zip(along).enumerate() {
        if let Some(&later) = ids.get(at + AHEAD) {
            rows.soon(later as usize);
        }
        rows.read(id as usize, &mut row);
        *along = (dot(&row, line), id);
    }
}

/// The parts into which `split` has put them.
fn parts(ids: &[u32], most: usize) -> Vec<&[u32]> {
    if ids.len() <= most {
        return vec![ids];
    }
    let (left, right) = ids.split_at(ids.len() / 2);
    [parts(left, most), parts(right, most)].concat()
}

#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 16;
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for l in 0..LANES {
            sums[l] += a[l] * b[l];
        }
    }
    sums.iter().sum::<f32>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f32>()
}
