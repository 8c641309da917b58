//! Surfaces that close on themselves or are curved: no plane holds them without a cut or some stretch.
//!
//! All are even in area: slices of the unit sphere of equal thickness have equal area (Archimedes).

use std::f64::consts::TAU;

use crate::error::{Result, check_range};
use crate::monitor::Monitor;
use crate::rng::{Stream, uniform};

use super::{Draw, Sample, check_length, check_noise};

/// Samples the upper half of the unit sphere (GR Fig. 2). True coordinates: azimuthal equidistant about the pole.
///
/// The coordinates keep every distance to the pole and stretch circles around it, by pi/2 at the boundary. No map of a
/// sphere is isometric.
pub fn hemisphere(n: usize, noise: f64, seed: u64, monitor: &dyn Monitor) -> Result<Sample> {
    check_noise(noise)?;
    let draw = Draw::new(n, seed, "hemisphere", monitor)?;
    let sphere = draw.parameters(|rng| on_sphere(rng, 0.0, 1.0))?;
    let x = draw.noisy_rows(&sphere, noise, from_height)?;
    let coordinates = draw.rows(&sphere, |[z, angle]| {
        let from_pole = z.acos();
        [from_pole * angle.cos(), from_pole * angle.sin()]
    })?;
    Ok(Sample { x, coordinates })
}

/// Samples a cylinder of radius 1 (GR Fig. 3, 5). True coordinates: angle in [0, 2 pi), and height.
///
/// The coordinates are isometric except across the seam at angle 0.
pub fn cylinder(n: usize, height: f64, noise: f64, seed: u64, monitor: &dyn Monitor) -> Result<Sample> {
    check_length("height", height)?;
    check_noise(noise)?;
    let draw = Draw::new(n, seed, "cylinder", monitor)?;
    let side = draw.parameters(|rng| [TAU * uniform(rng), height * uniform(rng)])?;
    let x = draw.noisy_rows(&side, noise, |[angle, z]| [angle.cos(), angle.sin(), z])?;
    Ok(Sample { x, coordinates: side.into() })
}

/// The shape of the fishbowl.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fishbowl {
    /// Factor on the first dimension (PoN Fig. 6B: 1 and 4).
    pub stretch: f64,
    /// Height above which the unit sphere is cut off. The paper does not say where.
    pub rim: f64,
    /// Standard deviation of the normal noise in each of the three dimensions.
    pub noise: f64,
}

impl Default for Fishbowl {
    fn default() -> Self {
        Fishbowl { stretch: 1.0, rim: 0.7, noise: 0.0 }
    }
}

impl Fishbowl {
    /// Fails unless `rim` leaves a bowl and an opening, and stretch and noise are lengths.
    pub fn check(&self) -> Result<()> {
        let fine = self.rim > -1.0 && self.rim < 1.0;
        check_range("rim", self.rim, fine, "it must lie above -1 and below 1")?;
        check_length("stretch", self.stretch)?;
        check_noise(self.noise)
    }
}

/// Samples the unit sphere without a cap around its north pole (PoN 5.5). True coordinates: stereographic from that
/// pole.
///
/// The coordinates keep angles, not lengths. With a stretch, the density is not uniform and angles are not kept.
pub fn fishbowl(n: usize, bowl: &Fishbowl, seed: u64, monitor: &dyn Monitor) -> Result<Sample> {
    bowl.check()?;
    let draw = Draw::new(n, seed, "fishbowl", monitor)?;
    let sphere = draw.parameters(|rng| on_sphere(rng, -1.0, bowl.rim))?;
    let x = draw.noisy_rows(&sphere, bowl.noise, |at| {
        let [x, y, z] = from_height(at);
        [bowl.stretch * x, y, z]
    })?;
    let coordinates = draw.rows(&sphere, |at| {
        let [x, y, z] = from_height(at);
        [bowl.stretch * x / (1.0 - z), y / (1.0 - z)]
    })?;
    Ok(Sample { x, coordinates })
}

/// Height and longitude of a point of the unit sphere between two heights.
fn on_sphere(rng: &mut Stream, low: f64, high: f64) -> [f64; 2] {
    [low + (high - low) * uniform(rng), TAU * uniform(rng)]
}

/// The point of the unit sphere at this height and longitude.
fn from_height([z, angle]: [f64; 2]) -> [f64; 3] {
    // A product, not 1 - z^2, which loses its digits near the poles.
    let radius = ((1.0 - z) * (1.0 + z)).sqrt();
    [radius * angle.cos(), radius * angle.sin(), z]
}
