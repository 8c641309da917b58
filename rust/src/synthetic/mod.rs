//! Data with true coordinates: surfaces whose flat shape is known, so that an embedding can be judged.
//!
//! A longer sample begins with the shorter one. The cost is O(n), for pictures O(n resolution^2).
//!
//! ```
//! use unbend::synthetic::{SwissRoll, swiss_roll};
//! let roll = swiss_roll(1000, &SwissRoll::default(), 0, &unbend::Unmonitored)?;
//! assert_eq!((roll.x.dim(), roll.coordinates.dim()), ((1000, 3), (1000, 2)));
//! # Ok::<(), unbend::Error>(())
//! ```

mod flat;
mod heights;
mod images;
mod rolls;
mod round;

pub use flat::{Strip, grid, strip};
pub use heights::{gaussian_bump, three_peaks};
pub use images::{RotatingBall, rotating_ball};
pub use rolls::{SwissRoll, s_curve, swiss_roll, swiss_roll_wittman};
pub use round::{Fishbowl, cylinder, fishbowl, hemisphere};

use ndarray::Array2;
use rayon::prelude::*;

use crate::error::{Error, Result, check_range};
use crate::monitor::Monitor;
use crate::parallel::Progress;
use crate::rng::{Stream, normal, stream};

/// Sampled points and their true coordinates, one row per point in both.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The points, noise included.
    pub x: Array2<f64>,
    /// Their coordinates on the surface, without noise.
    pub coordinates: Array2<f64>,
}

/// Points that share one random stream. Another size would give other points for the same seed.
const BLOCK: usize = 1024;

/// The largest length accepted, so that no product of two overflows.
const LONGEST: f64 = 1e100;

/// Number of points to draw, their random stream, and the monitor.
struct Draw<'a> {
    n: usize,
    seed: u64,
    stage: &'static str,
    monitor: &'a dyn Monitor,
}

impl<'a> Draw<'a> {
    /// Refuses to draw nothing.
    fn new(n: usize, seed: u64, stage: &'static str, monitor: &'a dyn Monitor) -> Result<Self> {
        check_count("n_samples", n)?;
        Ok(Draw { n, seed, stage, monitor })
    }

    /// Draws what determines each point. `one` may take as many random numbers as it likes.
    fn parameters<const P: usize>(
        &self,
        one: impl Fn(&mut Stream) -> [f64; P] + Sync,
    ) -> Result<Vec<[f64; P]>> {
        let mut rows = zeros([0.0; P], self.n)?;
        self.fill(&mut rows, BLOCK, |block, rows| {
            let mut rng = stream(self.seed, self.stage, block as u64);
            rows.iter_mut().for_each(|row| *row = one(&mut rng));
        })?;
        Ok(rows)
    }

    /// One row `f(parameters)` a point.
    fn rows<const P: usize, const Q: usize>(
        &self,
        parameters: &[[f64; P]],
        f: impl Fn([f64; P]) -> [f64; Q] + Sync,
    ) -> Result<Array2<f64>> {
        self.noisy_rows(parameters, 0.0, f)
    }

    /// As [`Draw::rows`], with normal noise of this standard deviation, from a stream of its own, added to every entry.
    fn noisy_rows<const P: usize, const Q: usize>(
        &self,
        parameters: &[[f64; P]],
        noise: f64,
        f: impl Fn([f64; P]) -> [f64; Q] + Sync,
    ) -> Result<Array2<f64>> {
        let mut rows = zeros([0.0; Q], parameters.len())?;
        self.fill(&mut rows, BLOCK, |block, rows| {
            rows.iter_mut().zip(&parameters[block * BLOCK..]).for_each(|(row, &p)| *row = f(p));
            if noise > 0.0 {
                let mut rng = stream(self.seed, "noise", block as u64);
                rows.iter_mut().flatten().for_each(|x| *x += noise * normal(&mut rng));
            }
        })?;
        Ok(Array2::from(rows))
    }

    /// Fills `values` block by block on all threads, with a check of the monitor before each.
    fn fill<T: Send>(
        &self,
        values: &mut [T],
        block_len: usize,
        f: impl Fn(usize, &mut [T]) + Sync,
    ) -> Result<()> {
        let progress = Progress::new(self.stage, values.len(), self.monitor);
        values.par_chunks_mut(block_len).enumerate().try_for_each(|(block, chunk)| {
            self.monitor.check()?;
            f(block, chunk);
            progress.add(chunk.len());
            Ok(())
        })
    }
}

/// `len` zeros, or an error where a plain allocation would abort the process.
fn zeros<T: Clone>(zero: T, len: usize) -> Result<Vec<T>> {
    // Only a plain allocation of zeros is free of the cost of writing them, so this one is given back.
    Vec::<T>::new().try_reserve_exact(len).map_err(|_| too_large(len))?;
    Ok(vec![zero; len])
}

/// The error of a sample that memory cannot hold.
fn too_large(n: usize) -> Error {
    let needed = "the sample must fit into memory";
    Error::OutOfRange { name: "n_samples", value: n as f64, needed }
}

/// Fails if a count is 0.
fn check_count(name: &'static str, value: usize) -> Result<()> {
    check_range(name, value as f64, value > 0, "at least 1 is needed")
}

/// A length or a factor must be above 0.
fn check_length(name: &'static str, value: f64) -> Result<()> {
    check_range(name, value, value > 0.0 && value <= LONGEST, "it must be above 0 and at most 1e100")
}

/// A standard deviation may be 0.
fn check_noise(value: f64) -> Result<()> {
    let fine = (0.0..=LONGEST).contains(&value);
    check_range("noise", value, fine, "it must be at least 0 and at most 1e100")
}
