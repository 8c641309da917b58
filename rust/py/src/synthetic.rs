//! `unbend::synthetic` for Python.

use pyo3::prelude::*;
use unbend::Monitor;
use unbend::synthetic::{self, Fishbowl, RotatingBall, Sample, Strip, SwissRoll};

use crate::export::{Owned, Table};
use crate::run::run;

/// Functions that draw (points, coordinates) on all threads.
macro_rules! samples {
    ($($name:ident($($argument:ident: $kind:ty),*) => $draw:expr;)*) => {$(
        #[pyfunction]
        pub fn $name(py: Python<'_>, $($argument: $kind),*) -> PyResult<(Table, Table)> {
            let draw: fn(&dyn Monitor, $($kind),*) -> unbend::Result<Sample> = $draw;
            let Sample { x, coordinates } = run(py, 0, None, |m| draw(m, $($argument),*))?;
            Ok((Owned(x), Owned(coordinates)))
        }
    )*

        pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
            Ok(())
        }
    };
}

samples! {
    swiss_roll(n: usize, noise: f64, stretch: f64, hole: bool, seed: u64) =>
        |m, n, noise, stretch, hole, seed| synthetic::swiss_roll(n, &SwissRoll { noise, stretch, hole }, seed, m);
    swiss_roll_wittman(n: usize, noise: f64, stretch: f64, seed: u64) =>
        |m, n, noise, stretch, seed| synthetic::swiss_roll_wittman(n, noise, stretch, seed, m);
    s_curve(n: usize, noise: f64, seed: u64) => |m, n, noise, seed| synthetic::s_curve(n, noise, seed, m);
    hemisphere(n: usize, noise: f64, seed: u64) =>
        |m, n, noise, seed| synthetic::hemisphere(n, noise, seed, m);
    cylinder(n: usize, height: f64, noise: f64, seed: u64) =>
        |m, n, height, noise, seed| synthetic::cylinder(n, height, noise, seed, m);
    fishbowl(n: usize, stretch: f64, rim: f64, noise: f64, seed: u64) =>
        |m, n, stretch, rim, noise, seed| synthetic::fishbowl(n, &Fishbowl { stretch, rim, noise }, seed, m);
    strip(n: usize, length: f64, width: f64, noise: f64, seed: u64) =>
        |m, n, length, width, noise, seed| synthetic::strip(n, &Strip { length, width, noise }, seed, m);
    grid(rows: usize, columns: usize) => |m, rows, columns| synthetic::grid(rows, columns, m);
    gaussian_bump(n: usize, noise: f64, seed: u64) =>
        |m, n, noise, seed| synthetic::gaussian_bump(n, noise, seed, m);
    three_peaks(n: usize, noise: f64, seed: u64) =>
        |m, n, noise, seed| synthetic::three_peaks(n, noise, seed, m);
    rotating_ball(n: usize, resolution: usize, pan: [f64; 2], tilt: [f64; 2], seed: u64) =>
        |m, n, resolution, pan, tilt, seed| {
            synthetic::rotating_ball(n, &RotatingBall { resolution, pan, tilt }, seed, m)
        };
}
