//! Test whether a space of inverses holds the wanted eigenvectors.

use std::cell::Cell;

use super::task::Task;
use crate::spectral::factor::SIDES;

const TOLERANCE: f64 = 1e-10; // A value of the inverse is accurate if its residual is below this share of it.

/// The same for the value after the last one wanted, of which only the distance matters.
const LOOSE: f64 = 1e-6;

const ROUNDING: f64 = 8.0 * f64::EPSILON; // Residuals below this share of |M| are rounding.

/// Residuals of the inverse above this share of a value are never accepted as rounding.
const MOST_NOISE: f64 = 1e-3;

const DWARFED: f64 = 1e6; // Values this many times larger than others have more rounding than those may have.
const STALLED: f64 = 0.3; // Residuals that keep more than this share in one step count as stalled.

/// Eigenvectors that a space of inverses must hold, besides those found before.
pub struct Goal {
    norm: f64,
    wanted: usize,
    pub asked: usize,
    before: Cell<f64>,
}

impl Goal {
    pub fn new(task: &Task<'_>, n_locked: usize) -> Self {
        let (wanted, asked) = (task.wanted.saturating_sub(n_locked), task.asked - n_locked);
        Goal { norm: task.norm, wanted, asked, before: Cell::new(f64::INFINITY) }
    }

    /// Returns whether residuals of the inverse are small, or as small as rounding allows and no longer falling.
    pub fn reached(&self, pairs: &[(f64, f64)]) -> bool {
        if pairs.len() < self.asked {
            return false;
        }
        // largest residual, as a multiple of its tolerance
        let excess = |floor: f64| {
            let shares = pairs[..self.asked].iter().enumerate().map(|(c, &(value, residual))| {
                let share = if c < self.wanted { TOLERANCE } else { LOOSE };
                residual / (value * share.max((floor * self.norm * value).min(MOST_NOISE)))
            });
            shares.fold(0.0, f64::max)
        };
        let worst = excess(0.0);
        let falls = worst < STALLED * self.before.replace(worst);
        worst <= 1.0 || (!falls && excess(ROUNDING) <= 1.0)
    }

    /// The number of values of one block that are found and so large that their rounding would drown the last; or 0.
    pub fn dwarfs(&self, pairs: &[(f64, f64)]) -> usize {
        if pairs.len() < self.asked {
            return 0;
        }
        let large = DWARFED * pairs[self.asked - 1].0.max(0.0);
        let many = pairs[..self.asked.min(SIDES)].iter().take_while(|&&(value, _)| value > large).count();
        let found = pairs[..many].iter().all(|&(value, residual)| residual <= TOLERANCE * value);
        if found { many } else { 0 }
    }
}
