//! `unbend::synthetic` for Python.

use numpy::{IntoPyArray, PyArray2};
use pyo3::prelude::*;
use unbend::synthetic::{self, Fishbowl, RotatingBall, Sample, Strip, SwissRoll};
use unbend::{Monitor, Result};

use crate::run::run;

type Pair<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>);

/// Draws on all threads; (points, coordinates).
fn pair(py: Python<'_>, draw: impl FnOnce(&dyn Monitor) -> Result<Sample> + Send) -> PyResult<Pair<'_>> {
    let Sample { x, coordinates } = run(py, 0, draw)?;
    Ok((x.into_pyarray(py), coordinates.into_pyarray(py)))
}

#[pyfunction]
pub fn swiss_roll(
    py: Python<'_>,
    n: usize,
    noise: f64,
    stretch: f64,
    hole: bool,
    seed: u64,
) -> PyResult<Pair<'_>> {
    let roll = SwissRoll { noise, stretch, hole };
    pair(py, |m| synthetic::swiss_roll(n, &roll, seed, m))
}

#[pyfunction]
pub fn swiss_roll_wittman(
    py: Python<'_>,
    n: usize,
    noise: f64,
    stretch: f64,
    seed: u64,
) -> PyResult<Pair<'_>> {
    pair(py, |m| synthetic::swiss_roll_wittman(n, noise, stretch, seed, m))
}

#[pyfunction]
pub fn s_curve(py: Python<'_>, n: usize, noise: f64, seed: u64) -> PyResult<Pair<'_>> {
    pair(py, |m| synthetic::s_curve(n, noise, seed, m))
}

#[pyfunction]
pub fn hemisphere(py: Python<'_>, n: usize, noise: f64, seed: u64) -> PyResult<Pair<'_>> {
    pair(py, |m| synthetic::hemisphere(n, noise, seed, m))
}

#[pyfunction]
pub fn cylinder(py: Python<'_>, n: usize, height: f64, noise: f64, seed: u64) -> PyResult<Pair<'_>> {
    pair(py, |m| synthetic::cylinder(n, height, noise, seed, m))
}

#[pyfunction]
pub fn fishbowl(
    py: Python<'_>,
    n: usize,
    stretch: f64,
    rim: f64,
    noise: f64,
    seed: u64,
) -> PyResult<Pair<'_>> {
    let bowl = Fishbowl { stretch, rim, noise };
    pair(py, |m| synthetic::fishbowl(n, &bowl, seed, m))
}

#[pyfunction]
pub fn strip(py: Python<'_>, n: usize, length: f64, width: f64, noise: f64, seed: u64) -> PyResult<Pair<'_>> {
    let strip = Strip { length, width, noise };
    pair(py, |m| synthetic::strip(n, &strip, seed, m))
}

#[pyfunction]
pub fn grid(py: Python<'_>, rows: usize, columns: usize) -> PyResult<Pair<'_>> {
    pair(py, |m| synthetic::grid(rows, columns, m))
}

#[pyfunction]
pub fn gaussian_bump(py: Python<'_>, n: usize, noise: f64, seed: u64) -> PyResult<Pair<'_>> {
    pair(py, |m| synthetic::gaussian_bump(n, noise, seed, m))
}

#[pyfunction]
pub fn three_peaks(py: Python<'_>, n: usize, noise: f64, seed: u64) -> PyResult<Pair<'_>> {
    pair(py, |m| synthetic::three_peaks(n, noise, seed, m))
}

#[pyfunction]
pub fn rotating_ball(
    py: Python<'_>,
    n: usize,
    resolution: usize,
    pan: [f64; 2],
    tilt: [f64; 2],
    seed: u64,
) -> PyResult<Pair<'_>> {
    let ball = RotatingBall { resolution, pan, tilt };
    pair(py, |m| synthetic::rotating_ball(n, &ball, seed, m))
}
