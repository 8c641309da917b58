//! Sums over pairs of distances, one in the data and one in the embedding, that lose no digits.
//!
//! A residual is never the difference of large sums: every part has its own mean and best factor, and parts are merged
//! by the differences of these (Chan, Golub & LeVeque). Lengths are divided by powers of two, which is exact, so that
//! squares neither overflow nor vanish.

use crate::error::Result;
use crate::monitor::Monitor;

/// Pairs summed between two checks of the monitor.
const BLOCK: usize = 1 << 16;

/// Correlations of distances whose relative spread is below this are those of rounding errors.
const SPREAD: f64 = 1e-14;

/// Powers of two near the largest lengths on both sides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Units {
    pub x: f64,
    pub y: f64,
}

/// The power of two at or below the largest of some lengths; 1 if all are 0.
pub(super) fn unit(lengths: impl Iterator<Item = f64>) -> f64 {
    let largest = lengths.fold(0.0, f64::max);
    if largest > 0.0 { largest.log2().floor().clamp(-511.0, 511.0).exp2() } else { 1.0 }
}

/// A number and its standard error.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measured {
    /// The number.
    pub value: f64,
    /// Its standard error: 0 if nothing was left out, infinite if the sample is too small to estimate it.
    pub standard_error: f64,
    /// One value per source or batch. Their mean estimates `value`, their spread its error. Subtract those of another
    /// embedding to get the error of a difference.
    pub units: Vec<f64>,
}

impl Measured {
    /// A number whose units were drawn independently, a `share` of all there are.
    pub(super) fn estimated(value: f64, units: Vec<f64>, share: f64) -> Self {
        Measured { value, standard_error: error_of_mean(&units, share), units }
    }
}

fn error_of_mean(units: &[f64], share: f64) -> f64 {
    let count = units.len() as f64;
    if share >= 1.0 {
        return 0.0;
    }
    if count < 2.0 {
        return f64::INFINITY;
    }
    let mean = units.iter().sum::<f64>() / count;
    let about: f64 = units.iter().map(|unit| (unit - mean) * (unit - mean)).sum();
    let error = (about / (count - 1.0) / count * (1.0 - share)).sqrt();
    if error.is_nan() { f64::INFINITY } else { error }
}

/// Sums over some pairs, in units.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sums {
    /// Number of pairs.
    pub count: f64,
    mean_x: f64,
    mean_y: f64,
    /// About the means.
    xx: f64,
    yy: f64,
    xy: f64,
    /// About 0.
    x2: f64,
    y2: f64,
    /// The factor for y with the smallest residual of x, and that residual.
    factor: f64,
    rest: f64,
}

impl Sums {
    /// The sums over these pairs, in two passes.
    pub fn of(x: &[f64], y: &[f64]) -> Self {
        let count = x.len() as f64;
        if x.is_empty() {
            return Sums::default();
        }
        let (mean_x, mean_y) = (x.iter().sum::<f64>() / count, y.iter().sum::<f64>() / count);
        let (x2, y2) = (norm2(x), norm2(y));
        let along: f64 = x.iter().zip(y).map(|(x, y)| x * y).sum();
        let factor = if y2 > 0.0 { along / y2 } else { 0.0 };
        let mut sums = Sums { count, mean_x, mean_y, x2, y2, factor, ..Sums::default() };
        for (&x, &y) in x.iter().zip(y) {
            let (dx, dy, rest) = (x - mean_x, y - mean_y, x - factor * y);
            sums.xx += dx * dx;
            sums.yy += dy * dy;
            sums.xy += dx * dy;
            sums.rest += rest * rest;
        }
        sums
    }

    /// The sums over many pairs, in blocks that are merged in order.
    pub fn of_all(x: &[f64], y: &[f64], monitor: &dyn Monitor) -> Result<Self> {
        let mut blocks = x.chunks(BLOCK).zip(y.chunks(BLOCK));
        blocks.try_fold(Sums::default(), |sums, (x, y)| {
            monitor.check()?;
            Ok(sums.merged(&Sums::of(x, y)))
        })
    }

    /// The sums over both sets of pairs.
    pub fn merged(&self, other: &Sums) -> Sums {
        if self.count == 0.0 || other.count == 0.0 {
            return if self.count == 0.0 { *other } else { *self };
        }
        let count = self.count + other.count;
        let (dx, dy) = (other.mean_x - self.mean_x, other.mean_y - self.mean_y);
        let (share, weight) = (other.count / count, self.count * other.count / count);
        let (factor, split) = joint_factor(self, other);
        Sums {
            count,
            mean_x: self.mean_x + dx * share,
            mean_y: self.mean_y + dy * share,
            xx: self.xx + other.xx + dx * dx * weight,
            yy: self.yy + other.yy + dy * dy * weight,
            xy: self.xy + other.xy + dx * dy * weight,
            x2: self.x2 + other.x2,
            y2: self.y2 + other.y2,
            factor,
            rest: self.rest + other.rest + split,
        }
    }

    /// The Pearson correlation, exactly 1 for copies; 1 if neither side varies, and 0 if only one does.
    pub fn correlation(&self) -> f64 {
        match (spreads(self.xx, self.mean_x, self.count), spreads(self.yy, self.mean_y, self.count)) {
            (false, false) => 1.0,
            (true, true) => (self.xy / (self.xx * self.yy).sqrt()).clamp(-1.0, 1.0),
            _ => 0.0,
        }
    }

    /// 1 - rho^2.
    pub fn residual_variance(&self) -> f64 {
        let rho = self.correlation();
        (1.0 - rho) * (1.0 + rho)
    }

    /// sqrt(sum (x - y)^2 / sum x^2), lengths taken out of their units; infinite where only the data coincide.
    pub fn stress(&self, units: Units) -> f64 {
        let apart = self.factor - units.y / units.x;
        self.share(self.rest.sqrt().hypot(self.y2.sqrt() * apart.abs()))
    }

    /// The same after the best factor for y: in [0, 1], or infinite where only the data coincide.
    pub fn stress_scaled(&self) -> f64 {
        let share = self.share(self.rest.sqrt());
        if share.is_finite() { share.min(1.0) } else { share }
    }

    /// The best factor for y, lengths taken out of their units; 0 where all of y coincide.
    pub fn scale(&self, units: Units) -> f64 {
        self.factor * (units.x / units.y)
    }

    fn share(&self, rest: f64) -> f64 {
        if self.x2 > 0.0 {
            rest / self.x2.sqrt()
        } else if self.y2 > 0.0 {
            f64::INFINITY
        } else {
            0.0
        }
    }
}

fn norm2(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum()
}

/// The best factor for both sets, and the increase of the residual compared with a factor for each.
fn joint_factor(a: &Sums, b: &Sums) -> (f64, f64) {
    let y2 = a.y2 + b.y2;
    if y2 == 0.0 {
        return (0.0, 0.0);
    }
    let (apart, share) = (b.factor - a.factor, b.y2 / y2);
    (a.factor + apart * share, apart * apart * a.y2 * share)
}

fn spreads(about_mean: f64, mean: f64, count: f64) -> bool {
    about_mean > SPREAD * SPREAD * mean * mean * count
}
