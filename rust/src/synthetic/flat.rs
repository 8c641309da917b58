//! Plane rectangles: the data on which the normalized algorithms already fail (PoN 3, 4).

use crate::error::Result;
use crate::monitor::Monitor;
use crate::rng::{normal, uniform};

use super::{Draw, Sample, check_count, check_length, check_noise, too_large};

/// The shape of the strip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Strip {
    /// Extent along the first dimension.
    pub length: f64,
    /// Extent along the second dimension.
    pub width: f64,
    /// Standard deviation of the noise normal to the strip. PoN Fig. 1C has 0.01.
    pub noise: f64,
}

impl Default for Strip {
    fn default() -> Self {
        Strip { length: 6.0, width: 1.0, noise: 0.0 }
    }
}

impl Strip {
    /// Fails unless length and width are positive and the noise is at least 0, and all are finite.
    pub fn check(&self) -> Result<()> {
        check_length("length", self.length)?;
        check_length("width", self.width)?;
        check_noise(self.noise)
    }
}

/// Samples [0, length] x [0, width] uniformly (PoN Fig. 1). True coordinates: the points themselves.
///
/// Noise is normal to the strip, as in PoN Fig. 1C. There is a third dimension only if the noise is above 0.
pub fn strip(n: usize, strip: &Strip, seed: u64, monitor: &dyn Monitor) -> Result<Sample> {
    strip.check()?;
    let draw = Draw::new(n, seed, "strip", monitor)?;
    let flat = draw.parameters(|rng| [strip.length * uniform(rng), strip.width * uniform(rng)])?;
    let x = if strip.noise > 0.0 {
        let lift = Draw::new(n, seed, "strip noise", monitor)?;
        let heights = lift.parameters(|rng| [strip.noise * normal(rng)])?;
        flat.iter().zip(&heights).map(|(&[u, v], &[h])| [u, v, h]).collect::<Vec<_>>().into()
    } else {
        draw.rows(&flat, |at| at)?
    };
    Ok(Sample { x, coordinates: flat.into() })
}

/// The integer points (row, column), column fastest (PoN Fig. 2, 4). True coordinates: the points themselves.
pub fn grid(rows: usize, columns: usize, monitor: &dyn Monitor) -> Result<Sample> {
    check_count("rows", rows)?;
    check_count("columns", columns)?;
    let n = rows.checked_mul(columns).ok_or_else(|| too_large(usize::MAX))?;
    let draw = Draw::new(n, 0, "grid", monitor)?;
    let mut places = super::zeros([0.0; 2], n)?;
    draw.fill(&mut places, super::BLOCK, |block, places| {
        for (o, place) in places.iter_mut().enumerate() {
            let i = block * super::BLOCK + o;
            *place = [(i / columns) as f64, (i % columns) as f64];
        }
    })?;
    Ok(Sample { x: draw.rows(&places, |at| at)?, coordinates: places.into() })
}
