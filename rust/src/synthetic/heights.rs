//! Surfaces that are a height over a square. Coordinates: the foot of each point, which is not isometric
//! but nearly so where the surface is not steep.

use std::f64::consts::TAU;

use crate::error::Result;
use crate::monitor::Monitor;
use crate::rng::uniform;

use super::{Draw, Sample, check_noise};

/// Samples the density of the plane's normal distribution as a surface (ZRZ V.A, third experiment) over [-3, 3]^2.
///
/// The paper does not say where it was sampled. Lengths differ from those of the coordinates by at most 0.5 %.
pub fn gaussian_bump(n: usize, noise: f64, seed: u64, monitor: &dyn Monitor) -> Result<Sample> {
    let draw = Draw::new(n, seed, "gaussian_bump", monitor)?;
    over_square(&draw, 3.0, noise, |u, v| peak(u, v, 0.5) / TAU)
}

/// Samples three narrow peaks, one up and two down (MLLE 6, Fig. 4), over [-1.5, 1.5]^2.
///
/// Between the peaks lengths are those of the coordinates; on the flanks they are up to 2.9 times as large.
pub fn three_peaks(n: usize, noise: f64, seed: u64, monitor: &dyn Monitor) -> Result<Sample> {
    let draw = Draw::new(n, seed, "three_peaks", monitor)?;
    over_square(&draw, 1.5, noise, |t, s| {
        peak(t - 0.5, s - 0.5, 10.0) - peak(t, s + 1.0, 10.0) - peak(t + 1.0, s, 10.0)
    })
}

/// Points over the square [-half, half]^2, even in the square.
fn over_square(
    draw: &Draw,
    half: f64,
    noise: f64,
    height: impl Fn(f64, f64) -> f64 + Sync,
) -> Result<Sample> {
    check_noise(noise)?;
    let feet = draw.parameters(|rng| [0; 2].map(|_| half * (2.0 * uniform(rng) - 1.0)))?;
    let x = draw.noisy_rows(&feet, noise, |[u, v]| [u, v, height(u, v)])?;
    Ok(Sample { x, coordinates: feet.into() })
}

/// A bell of height 1 around the origin.
fn peak(u: f64, v: f64, sharpness: f64) -> f64 {
    (-sharpness * (u * u + v * v)).exp()
}
