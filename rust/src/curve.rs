//! The order of points along a space-filling curve (Morton 1966): consecutive points are near each
//! other, so loops in this order find their neighbours in cache.

use rayon::prelude::*;

use crate::error::Result;
use crate::monitor::Monitor;
use crate::points::Points;

/// Coordinates that take part; more would leave too few bits for each.
const AXES: usize = 3;

/// Bits of each coordinate.
const BITS: u32 = 10;

/// Points handled between two looks at the monitor.
const CHUNK: usize = 8192;

/// All points, ordered along the curve through the box around them. Cost: O(n log n), in parallel.
pub fn along_curve(points: &Points, monitor: &dyn Monitor) -> Result<Vec<u32>> {
    let n = points.len();
    let (low, step) = grid(points, monitor)?;
    let mut keys = vec![0u64; n];
    keys.par_chunks_mut(CHUNK).enumerate().try_for_each_init(
        || vec![0.0; points.dim()],
        |row, (c, chunk)| {
            monitor.check()?;
            for (o, key) in chunk.iter_mut().enumerate() {
                let i = c * CHUNK + o;
                points.copy_row(i, row);
                *key = u64::from(cell(row, &low, &step)) << 32 | i as u64;
            }
            Ok(())
        },
    )?;
    keys.par_sort_unstable();
    monitor.check()?;
    Ok(keys.into_par_iter().map(|key| key as u32).collect())
}

type Axes = [f64; AXES];

/// The lowest corner of the box around the points, and the width of a cell.
fn grid(points: &Points, monitor: &dyn Monitor) -> Result<(Axes, Axes)> {
    let nowhere = ([f64::INFINITY; AXES], [f64::NEG_INFINITY; AXES]);
    let boxes: Vec<(Axes, Axes)> = (0..points.len().div_ceil(CHUNK))
        .into_par_iter()
        .map(|c| {
            monitor.check()?;
            let chunk = c * CHUNK..((c + 1) * CHUNK).min(points.len());
            let mut row = vec![0.0; points.dim()];
            Ok(chunk.fold(nowhere, |around, i| {
                points.copy_row(i, &mut row);
                enclose(around, &row, &row)
            }))
        })
        .collect::<Result<_>>()?;
    let (low, high) = boxes.iter().fold(nowhere, |around, (low, high)| enclose(around, low, high));
    let mut step = [0.0; AXES];
    (0..AXES).for_each(|axis| step[axis] = (high[axis] - low[axis]) / f64::from(1 << BITS));
    Ok((low, step))
}

/// The box around a box and another.
fn enclose(around: (Axes, Axes), low: &[f64], high: &[f64]) -> (Axes, Axes) {
    let (mut lowest, mut highest) = around;
    for axis in 0..AXES.min(low.len()) {
        lowest[axis] = lowest[axis].min(low[axis]);
        highest[axis] = highest[axis].max(high[axis]);
    }
    (lowest, highest)
}

/// The place of a point's cell on the curve: the bits of its coordinates in turn.
fn cell(row: &[f64], low: &Axes, step: &Axes) -> u32 {
    row.iter().take(AXES).enumerate().fold(0, |code, (axis, &v)| {
        let at = if step[axis] > 0.0 { ((v - low[axis]) / step[axis]) as u32 } else { 0 };
        code | spread(at.min((1 << BITS) - 1)) << axis
    })
}

/// The lowest ten bits, two zeros between each.
fn spread(bits: u32) -> u32 {
    let mut x = bits & 0x3ff;
    x = (x | x << 16) & 0x0300_00ff;
    x = (x | x << 8) & 0x0300_f00f;
    x = (x | x << 4) & 0x030c_30c3;
    (x | x << 2) & 0x0924_9249
}
