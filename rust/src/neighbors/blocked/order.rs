//! An order of the points in which near ones share blocks, so that blocks far apart need not be multiplied.
//!
//! Cost: O(n q log n).

use ndarray::ArrayView1;

use super::{BLOCK, Block, Frame, squared_distance};
use crate::error::Result;
use crate::monitor::Monitor;
use crate::points::Points;

/// Points that are around each other, at most: within a block, too, near ones follow each other.
const AROUND: usize = 64;

/// All points, halved recursively along the line between two points far apart.
pub fn arranged(points: &Points, monitor: &dyn Monitor) -> Result<Vec<u32>> {
    let mut order: Vec<u32> = (0..points.len() as u32).collect();
    arrange(points, &mut order, monitor)?;
    Ok(order)
}

fn arrange(points: &Points, ids: &mut [u32], monitor: &dyn Monitor) -> Result<()> {
    if ids.len() <= AROUND {
        return Ok(());
    }
    let blocks = ids.len().div_ceil(BLOCK);
    let q = points.dim();
    let (mut ends, mut row) = ([vec![0.0; q], vec![0.0; q]], vec![0.0; q]);
    let mut farthest = ids[0];
    for end in &mut ends {
        points.copy_row(farthest as usize, end);
        let mut most = -1.0;
        for (at, &id) in ids.iter().enumerate() {
            if at % BLOCK == 0 {
                monitor.check()?;
            }
            points.copy_row(id as usize, &mut row);
            let d2 = squared_distance(end, &row);
            (most, farthest) = if d2 > most { (d2, id) } else { (most, farthest) };
        }
    }
    points.copy_row(farthest as usize, &mut ends[0]);
    // scaled, so that no product overflows
    let largest = ends[0].iter().zip(&ends[1]).fold(f64::MIN_POSITIVE, |l, (a, b)| l.max((a - b).abs()));
    let line: Vec<f64> = ends[0].iter().zip(&ends[1]).map(|(a, b)| (a - b) / largest).collect();
    let mut along: Vec<(f64, u32)> = Vec::with_capacity(ids.len());
    for (at, &id) in ids.iter().enumerate() {
        if at % BLOCK == 0 {
            monitor.check()?;
        }
        points.copy_row(id as usize, &mut row);
        along.push((row.iter().zip(&ends[1]).zip(&line).map(|((v, o), l)| (v - o) * l).sum(), id));
    }
    let middle = if blocks > 1 { blocks.div_ceil(2) * BLOCK } else { ids.len() / 2 };
    along.select_nth_unstable_by(middle, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    ids.iter_mut().zip(&along).for_each(|(id, &(_, along))| *id = along);
    let (left, right) = ids.split_at_mut(middle);
    if blocks == 1 {
        arrange(points, left, monitor)?;
        return arrange(points, right, monitor);
    }
    let (left, right) = rayon::join(|| arrange(points, left, monitor), || arrange(points, right, monitor));
    left.and(right)
}

/// A ball that holds the points of a block, in the frame.
pub struct Ball {
    middle: Vec<f64>,
    radius: f64,
}

impl Ball {
    pub fn of(frame: &Frame, ids: &[u32]) -> Self {
        let block: Block<f64> = frame.block(&frame.points, ids.to_vec());
        let q = frame.points.dim();
        let mut middle = vec![0.0; q];
        for row in block.values.rows() {
            middle.iter_mut().zip(row).for_each(|(m, v)| *m += v / ids.len() as f64);
        }
        let apart =
            |row: ArrayView1<f64>| -> f64 { row.iter().zip(&middle).map(|(v, m)| (v - m) * (v - m)).sum() };
        let radius = block.values.rows().into_iter().map(apart).fold(0.0, f64::max).sqrt();
        Ball { middle, radius }
    }

    /// No point of one is nearer to one of the other than this.
    pub fn gap(&self, other: &Ball) -> f64 {
        let apart = self.middle.iter().zip(&other.middle).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
        // entries of the frame are at most 1: what rounding can add is far below this
        apart * (1.0 - 1e-9) - (self.radius + other.radius) * (1.0 + 1e-9) - 1e-12 * self.middle.len() as f64
    }
}
