//! Surfaces that the library has not: with one side, or without a rim.

use std::f64::consts::TAU;

use ndarray::Array2;
use unbend::rng::{normal, uniform};

use crate::clouds::rng;

/// Points at uniform parameters in [0, 1)^2.
fn surface<const Q: usize>(n: usize, seed: u64, f: impl Fn(f64, f64) -> [f64; Q]) -> Array2<f64> {
    let mut rng = rng(seed);
    let rows: Vec<[f64; Q]> = (0..n).map(|_| f(uniform(&mut rng), uniform(&mut rng))).collect();
    Array2::from(rows)
}

/// A Moebius strip of middle radius 1.
pub fn moebius(n: usize, width: f64, seed: u64) -> Array2<f64> {
    surface(n, seed, |u, v| {
        let (s, t) = (width * (v - 0.5), TAU * u);
        let r = 1.0 + s * (t / 2.0).cos();
        [r * t.cos(), r * t.sin(), s * (t / 2.0).sin()]
    })
}

/// A flat Klein bottle, without the points where it meets itself in space: circles of radius `width` that turn over
/// in the plane of the last two of four coordinates.
pub fn klein_bottle(n: usize, width: f64, seed: u64) -> Array2<f64> {
    surface(n, seed, |u, v| {
        let (t, s) = (TAU * u, TAU * v);
        let r = 1.0 + width * s.cos();
        [r * t.cos(), r * t.sin(), width * s.sin() * (t / 2.0).cos(), width * s.sin() * (t / 2.0).sin()]
    })
}

pub fn annulus(n: usize, inner: f64, seed: u64) -> Array2<f64> {
    surface(n, seed, |u, v| {
        let r = (inner * inner + (1.0 - inner * inner) * v).sqrt();
        [r * (TAU * u).cos(), r * (TAU * u).sin(), 0.0]
    })
}

pub fn sphere(n: usize, seed: u64) -> Array2<f64> {
    surface(n, seed, |u, v| {
        let (z, r) = (2.0 * v - 1.0, (1.0 - (2.0 * v - 1.0).powi(2)).sqrt());
        [r * (TAU * u).cos(), r * (TAU * u).sin(), z]
    })
}

/// A torus of revolution.
pub fn torus(n: usize, width: f64, seed: u64) -> Array2<f64> {
    surface(n, seed, |u, v| {
        let r = 1.0 + width * (TAU * v).cos();
        [r * (TAU * u).cos(), r * (TAU * u).sin(), width * (TAU * v).sin()]
    })
}

/// With normal noise on all coordinates.
pub fn noisy(x: &Array2<f64>, deviation: f64, seed: u64) -> Array2<f64> {
    let mut rng = rng(seed);
    x.mapv(|v| v + deviation * normal(&mut rng))
}
