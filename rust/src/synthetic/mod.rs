//! Data with true coordinates: surfaces whose flat shape is known, so that an embedding can be judged.
//!
//! - `rolls`: the swiss roll (even in area, or Wittman's), the S curve - isometric to a rectangle
//! - `round`: hemisphere, cylinder, fishbowl - what lies flat only locally, or not at all
//! - `flat`: strip and grid - the plane itself
//! - `heights`: Gaussian bump, three peaks - graphs over a square
//! - `images`: pictures of a rotating ball - many dimensions, two angles
//!
//! A longer sample begins with the shorter one.

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

use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::Array2;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::rng::{Stream, normal, stream};

/// Points and where they truly lie: one row a point in both.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The points as they are observed, noise included.
    pub x: Array2<f64>,
    /// Their coordinates on the surface, before any noise.
    pub coordinates: Array2<f64>,
}

/// Points that share one random stream: setting one up costs more than drawing a point.
///
/// Part of what a seed means: another size gives other points.
const BLOCK: usize = 1024;

/// The largest length accepted, so that no product of two overflows.
const LONGEST: f64 = 1e100;

/// How many points to draw, from which stream, and who watches.
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

    /// As [`Draw::rows`], with normal noise of this standard deviation added to every entry.
    ///
    /// The noise has a stream of its own: without it the same points come, only cleaner.
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

    /// Fills `values` block by block on all threads, with a look at the monitor before each.
    fn fill<T: Send>(
        &self,
        values: &mut [T],
        block_len: usize,
        f: impl Fn(usize, &mut [T]) + Sync,
    ) -> Result<()> {
        let (done, total) = (AtomicUsize::new(0), values.len());
        values.par_chunks_mut(block_len).enumerate().try_for_each(|(block, chunk)| {
            self.monitor.check()?;
            f(block, chunk);
            let before = done.fetch_add(chunk.len(), Ordering::Relaxed);
            self.monitor.progress(self.stage, before + chunk.len(), total);
            Ok(())
        })
    }
}

/// `len` zeros, or an error where a plain allocation would abort the process.
fn zeros<T: Clone>(zero: T, len: usize) -> Result<Vec<T>> {
    // Asked for and given back: the allocation that follows is the one that comes zeroed for free.
    Vec::<T>::new().try_reserve_exact(len).map_err(|_| too_large(len))?;
    Ok(vec![zero; len])
}

/// The error of a sample that memory cannot hold.
fn too_large(n: usize) -> Error {
    let needed = "the sample must fit into memory";
    Error::OutOfRange { name: "n_samples", value: n as f64, needed }
}

/// A number of things must not be 0.
fn check_count(name: &'static str, value: usize) -> Result<()> {
    check(name, value as f64, value > 0, "at least 1 is needed")
}

/// A length or a factor must be above 0.
fn check_length(name: &'static str, value: f64) -> Result<()> {
    check(name, value, value > 0.0 && value <= LONGEST, "it must be above 0 and at most 1e100")
}

/// A standard deviation may be 0.
fn check_noise(value: f64) -> Result<()> {
    let fine = (0.0..=LONGEST).contains(&value);
    check("noise", value, fine, "it must be at least 0 and at most 1e100")
}

/// [`Error::OutOfRange`] unless `fine`.
fn check(name: &'static str, value: f64, fine: bool, needed: &'static str) -> Result<()> {
    if fine { Ok(()) } else { Err(Error::OutOfRange { name, value, needed }) }
}
