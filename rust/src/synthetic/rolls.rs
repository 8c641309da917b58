//! Sheets rolled up without stretching: the swiss roll and the S curve.
//!
//! The roll is the spiral t (cos t, sin t), 1.5 pi <= t <= 4.5 pi, times a height (ZRZ V.A; GR Fig. 1; PoN Fig. 6A).
//! Its flat shape is arc length times height, 89.4 x 21, so the coordinates are the arc length, not t.

use std::f64::consts::PI;

use crate::error::Result;
use crate::monitor::Monitor;
use crate::rng::uniform;

use super::{Draw, Sample, check_length, check_noise};

/// Angles at the two ends of the spiral.
const T: [f64; 2] = [1.5 * PI, 4.5 * PI];

/// Width of the sheet before stretching.
const HEIGHT: f64 = 21.0;

/// The shape of the swiss roll.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SwissRoll {
    /// Standard deviation of the normal noise in each of the three dimensions.
    pub noise: f64,
    /// Factor on the height 21: below 1 the sheet becomes a longer strip.
    pub stretch: f64,
    /// If true, leaves out the middle third of the length times the middle third of the height (MLLE 6).
    pub hole: bool,
}

impl Default for SwissRoll {
    fn default() -> Self {
        SwissRoll { noise: 0.0, stretch: 1.0, hole: false }
    }
}

impl SwissRoll {
    /// Fails unless the stretch is positive and the noise is at least 0, and both are finite.
    pub fn check(&self) -> Result<()> {
        check_noise(self.noise)?;
        check_length("stretch", self.stretch)
    }
}

/// Samples the swiss roll uniformly in area. True coordinates: arc length along the spiral, from 0, and height;
/// isometric.
pub fn swiss_roll(n: usize, roll: &SwissRoll, seed: u64, monitor: &dyn Monitor) -> Result<Sample> {
    roll.check()?;
    let draw = Draw::new(n, seed, "swiss_roll", monitor)?;
    let [start, end] = T.map(arc_length);
    let sheet = draw.parameters(|rng| {
        let [a, b] = on_square(|| uniform(rng), roll.hole);
        [angle_at(start + (end - start) * a), HEIGHT * roll.stretch * b]
    })?;
    rolled_up(&draw, &sheet, roll.noise)
}

/// Samples Wittman's swiss roll, uniformly in t and so denser inside (GR Fig. 1, PoN Fig. 6A).
///
/// True coordinates as in [`swiss_roll`].
pub fn swiss_roll_wittman(
    n: usize,
    noise: f64,
    stretch: f64,
    seed: u64,
    monitor: &dyn Monitor,
) -> Result<Sample> {
    SwissRoll { noise, stretch, hole: false }.check()?;
    let draw = Draw::new(n, seed, "swiss_roll_wittman", monitor)?;
    let sheet =
        draw.parameters(|rng| [T[0] * (1.0 + 2.0 * uniform(rng)), HEIGHT * stretch * uniform(rng)])?;
    rolled_up(&draw, &sheet, noise)
}

/// Samples two arcs joined to an S of width 2, uniformly in area.
///
/// True coordinates: arc length from the middle, and width; isometric.
pub fn s_curve(n: usize, noise: f64, seed: u64, monitor: &dyn Monitor) -> Result<Sample> {
    check_noise(noise)?;
    let draw = Draw::new(n, seed, "s_curve", monitor)?;
    let sheet = draw.parameters(|rng| [3.0 * PI * (uniform(rng) - 0.5), 2.0 * uniform(rng)])?;
    let x = draw.noisy_rows(&sheet, noise, |[t, width]| [t.sin(), width, t.signum() * (t.cos() - 1.0)])?;
    Ok(Sample { x, coordinates: sheet.into() })
}

/// From (t, height) to the point in space and the point on the flat sheet.
fn rolled_up(draw: &Draw, sheet: &[[f64; 2]], noise: f64) -> Result<Sample> {
    let start = arc_length(T[0]);
    let x = draw.noisy_rows(sheet, noise, |[t, h]| [t * t.cos(), h, t * t.sin()])?;
    let coordinates = draw.rows(sheet, |[t, h]| [arc_length(t) - start, h])?;
    Ok(Sample { x, coordinates })
}

/// A point of the unit square, outside its middle ninth if there is a hole.
fn on_square(mut uniform: impl FnMut() -> f64, hole: bool) -> [f64; 2] {
    loop {
        let at = [uniform(), uniform()];
        let middle = at.iter().all(|v| (1.0 / 3.0..=2.0 / 3.0).contains(v));
        if !(hole && middle) {
            return at;
        }
    }
}

/// Length of the spiral t (cos t, sin t) from its center to t.
fn arc_length(t: f64) -> f64 {
    0.5 * (t * speed(t) + t.asinh())
}

/// Speed along the spiral: the derivative of [`arc_length`].
fn speed(t: f64) -> f64 {
    (1.0 + t * t).sqrt()
}

/// The inverse of [`arc_length`] between the two ends, by Newton's method. A step squares the relative error, so one
/// below 1e-9 is the last.
fn angle_at(s: f64) -> f64 {
    let mut t = (2.0 * s).sqrt().clamp(T[0], T[1]);
    for _ in 0..8 {
        let step = (arc_length(t) - s) / speed(t);
        t = (t - step).clamp(T[0], T[1]);
        if step.abs() <= 1e-9 * t {
            break;
        }
    }
    t
}
