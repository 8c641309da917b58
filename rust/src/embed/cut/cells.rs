//! Points in the cells of a grid, to find those near a place. Cost: O(3^d) cells for a query, for any n.

use std::collections::HashMap;

pub(super) const MAX_CELL_DIM: usize = 3; // The most dimensions in which points are sorted into cells.

/// A cell of the grid; coordinates beyond the dimension are 0.
type Cell = [i64; MAX_CELL_DIM];

const NO_POINT: u32 = u32::MAX; // The end of a list of points.

/// Points that were placed, by the cell that they lie in.
#[derive(Debug)]
pub(super) struct Cells {
    d: usize,
    side: f64,
    /// The last point of each cell, and of every point the one before it in its cell.
    last: HashMap<Cell, u32>,
    before: Vec<u32>,
}

impl Cells {
    pub(super) fn new(n: usize, d: usize, side: f64) -> Self {
        Cells { d, side, last: HashMap::new(), before: vec![NO_POINT; n] }
    }

    pub(super) fn clear(&mut self) {
        self.last.clear();
    }

    fn cell(&self, at: &[f64]) -> Cell {
        let mut cell = [0; MAX_CELL_DIM];
        cell.iter_mut().zip(at).for_each(|(c, v)| *c = (v / self.side).floor() as i64);
        cell
    }

    pub(super) fn insert(&mut self, i: u32, at: &[f64]) {
        let cell = self.cell(at);
        self.before[i as usize] = self.last.insert(cell, i).unwrap_or(NO_POINT);
    }

    /// Returns whether `f` holds for a point in the cell of a place or an adjacent one, which hold all within `side`.
    pub(super) fn any(&self, at: &[f64], mut f: impl FnMut(u32) -> bool) -> bool {
        let middle = self.cell(at);
        let mut cell = middle;
        (0..3usize.pow(self.d as u32)).any(|mut code| {
            for b in 0..self.d {
                cell[b] = middle[b].saturating_add((code % 3) as i64 - 1);
                code /= 3;
            }
            let mut next = self.last.get(&cell).copied().unwrap_or(NO_POINT);
            while next != NO_POINT {
                if f(next) {
                    return true;
                }
                next = self.before[next as usize];
            }
            false
        })
    }
}
