//! Holes of a picture in the plane: regions without points that the picture surrounds.
//!
//! The picture is drawn on a grid, every point as a disc wider than the gaps that chance leaves between points; what is
//! not covered and not reached from outside is a hole. Cost: O(n), and the cells of the box around the picture.

use super::STAGE;
use crate::error::Result;
use crate::monitor::{Monitor, Silent};
use crate::points::Points;

/// In spacings: the side of a cell, and the radius of a disc. Of points drawn at random the widest gap among a million
/// has a radius of about 1.2 spacings for 10 neighbours.
const CELL: f64 = 0.5;
const DISC: f64 = 1.5;

/// Points of the picture may lie so many cells beyond their disc from a hole and still be on its border.
const BORDER: f64 = 1.5;

/// A box of so many cells for each point is not drawn.
const WIDEST: usize = 256;

/// How many holes the picture `y` has in the plane whose border is mostly `rim`. None where the box is too wide.
pub fn holes(y: &Points, spacing: f64, rim: &[u32], monitor: &dyn Monitor) -> Result<Option<usize>> {
    let Some(mut grid) = Grid::around(y, spacing) else { return Ok(None) };
    grid.cover(y, monitor)?;
    grid.flood_outside();
    monitor.check()?;
    let count = grid.number_holes();
    Ok(Some(grid.bordered_by(y, rim, count)))
}

const EMPTY: u32 = 0;
const COVERED: u32 = u32::MAX;
const OUTSIDE: u32 = u32::MAX - 1;

struct Grid {
    low: [f64; 2],
    side: f64,
    spacing: f64,
    width: usize,
    height: usize,
    cells: Vec<u32>,
}

impl Grid {
    /// With a margin, so that the outside hangs together.
    fn around(y: &Points, spacing: f64) -> Option<Grid> {
        let (mut low, mut high, mut row) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2], [0.0; 2]);
        for i in 0..y.len() {
            y.copy_row(i, &mut row);
            for b in 0..2 {
                (low[b], high[b]) = (low[b].min(row[b]), high[b].max(row[b]));
            }
        }
        let (side, margin) = (CELL * spacing, (DISC + 2.0 * CELL) * spacing);
        let cells = |b: usize| ((high[b] - low[b] + 2.0 * margin) / side).ceil() + 1.0;
        let (width, height) = (cells(0), cells(1));
        if spacing <= 0.0 || width * height > (WIDEST * y.len() + (1 << 16)) as f64 {
            return None;
        }
        let (width, height) = (width as usize, height as usize);
        let low = [low[0] - margin, low[1] - margin];
        Some(Grid { low, side, spacing, width, height, cells: vec![EMPTY; width * height] })
    }

    /// Calls `f` with every cell whose middle is within `reach` of a place.
    fn near(&self, at: [f64; 2], reach: f64, mut f: impl FnMut(usize)) {
        let place = |b: usize| (at[b] - self.low[b]) / self.side - 0.5;
        let (x, y, r) = (place(0), place(1), reach / self.side);
        let rows = (y - r).ceil().max(0.0) as usize..=((y + r).floor() as usize).min(self.height - 1);
        for row in rows {
            let half = (r * r - (row as f64 - y).powi(2)).max(0.0).sqrt();
            let columns =
                (x - half).ceil().max(0.0) as usize..=((x + half).floor() as usize).min(self.width - 1);
            columns.for_each(|column| f(row * self.width + column));
        }
    }

    fn cover(&mut self, y: &Points, monitor: &dyn Monitor) -> Result<()> {
        let (mut row, mut covered) = ([0.0; 2], std::mem::take(&mut self.cells));
        for i in 0..y.len() {
            if i.is_multiple_of(4096) {
                Silent(monitor).check()?;
                monitor.progress(STAGE, i, y.len());
            }
            y.copy_row(i, &mut row);
            self.near(row, DISC * self.spacing, |cell| covered[cell] = COVERED);
        }
        self.cells = covered;
        Ok(())
    }

    fn flood_outside(&mut self) {
        self.flood(0, OUTSIDE);
    }

    fn number_holes(&mut self) -> usize {
        let mut count = 0;
        for cell in 0..self.cells.len() {
            if self.cells[cell] == EMPTY {
                count += 1;
                self.flood(cell, count);
            }
        }
        count as usize
    }

    /// Marks the empty cells that hang together with one.
    fn flood(&mut self, from: usize, mark: u32) {
        let mut stack = vec![from];
        self.cells[from] = mark;
        while let Some(cell) = stack.pop() {
            let (row, column) = (cell / self.width, cell % self.width);
            let beside = [
                (row > 0).then(|| cell - self.width),
                (row + 1 < self.height).then(|| cell + self.width),
                (column > 0).then(|| cell - 1),
                (column + 1 < self.width).then(|| cell + 1),
            ];
            for next in beside.into_iter().flatten() {
                if self.cells[next] == EMPTY {
                    self.cells[next] = mark;
                    stack.push(next);
                }
            }
        }
    }

    /// How many holes have more points of the rim beside them than others.
    fn bordered_by(&self, y: &Points, rim: &[u32], count: usize) -> usize {
        let (mut votes, mut row) = (vec![0i64; count + 1], [0.0; 2]);
        let mut seen: Vec<u32> = Vec::new();
        for i in 0..y.len() {
            y.copy_row(i, &mut row);
            seen.clear();
            self.near(row, (DISC + BORDER * CELL) * self.spacing, |cell| {
                let hole = self.cells[cell];
                if hole != EMPTY && hole < OUTSIDE && !seen.contains(&hole) {
                    seen.push(hole);
                }
            });
            let vote = if rim[i] > 0 { 2 } else { -1 };
            seen.iter().for_each(|&hole| votes[hole as usize] += vote);
        }
        votes.into_iter().filter(|&vote| vote > 0).count()
    }
}
