//! Pictures of a rotating ball: many dimensions, two degrees of freedom (PoN 5.5, Fig. 6C and 9 have a globe).
//!
//! The texture is a sum of a few slow waves: near angles give near pictures, and within the default ranges no two
//! angles give the same.

use ndarray::Array2;

use crate::error::{Result, check_range};
use crate::monitor::Monitor;
use crate::rng::uniform;

use super::{Draw, Sample, too_large, zeros};

/// Pixels rendered between two checks of the monitor: a few milliseconds of work.
const PIXELS: usize = 1 << 16;

/// Direction to the light, above and left of the viewer. A unit vector.
const LIGHT: [f64; 3] = [-0.36, 0.48, 0.8];

/// The waves of the texture: direction times frequency, phase, weight. The weights sum to 1.
const WAVES: [([f64; 3], f64, f64); 4] = [
    ([2.0, 1.0, 0.5], 0.3, 0.35),
    ([-1.5, 2.5, 1.0], 1.1, 0.30),
    ([3.0, -1.0, 2.5], 2.0, 0.20),
    ([0.5, 3.5, -3.0], 0.7, 0.15),
];

/// The pictures of the ball.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RotatingBall {
    /// Width and height of a picture, in pixels.
    pub resolution: usize,
    /// Lowest and highest longitude that faces the viewer, in degrees.
    pub pan: [f64; 2],
    /// Lowest and highest latitude that faces the viewer, in degrees.
    pub tilt: [f64; 2],
}

/// The paper's angles.
impl Default for RotatingBall {
    fn default() -> Self {
        RotatingBall { resolution: 16, pan: [-45.0, 45.0], tilt: [-30.0, 60.0] }
    }
}

impl RotatingBall {
    /// Fails unless both angles are ranges on the globe and the picture has pixels.
    pub fn check(&self) -> Result<()> {
        let fine = (2..=4096).contains(&self.resolution);
        check_range("resolution", self.resolution as f64, fine, "it must lie between 2 and 4096")?;
        check_ends("pan", self.pan, 180.0, "its ends must rise, between -180 and 180")?;
        check_ends("tilt", self.tilt, 90.0, "its ends must rise, between -90 and 90")
    }
}

/// Renders pictures of a textured ball, one per row, with gray values in [0, 1]. True coordinates: (pan, tilt) in
/// degrees.
///
/// The longitude and latitude that face the viewer are uniform in their ranges. The coordinates are not isometric.
pub fn rotating_ball(n: usize, ball: &RotatingBall, seed: u64, monitor: &dyn Monitor) -> Result<Sample> {
    ball.check()?;
    let draw = Draw::new(n, seed, "rotating_ball", monitor)?;
    let angles =
        draw.parameters(|rng| [ball.pan, ball.tilt].map(|[low, high]| low + (high - low) * uniform(rng)))?;
    let x = pictures(&draw, &angles, ball.resolution)?;
    Ok(Sample { x, coordinates: angles.into() })
}

/// Renders all pictures, few to a block so that large ones can be stopped too.
fn pictures(draw: &Draw, angles: &[[f64; 2]], resolution: usize) -> Result<Array2<f64>> {
    let (n, q) = (angles.len(), resolution * resolution);
    let visible = visible(resolution);
    let mut values = zeros(0.0, n.checked_mul(q).ok_or_else(|| too_large(n))?)?;
    let per_block = (PIXELS / q).max(1);
    draw.fill(&mut values, per_block * q, |block, chunk| {
        for (picture, &at) in chunk.chunks_mut(q).zip(&angles[block * per_block..]) {
            render(&visible, at, picture);
        }
    })?;
    Array2::from_shape_vec((n, q), values).map_err(|_| too_large(n))
}

/// A pixel that shows the ball.
struct Pixel {
    place: usize,
    /// The visible point of the unit sphere, in axes of the viewer: right, up, toward the viewer.
    at: [f64; 3],
    /// Brightness of the light at that point.
    light: f64,
}

/// The pixels that show the ball: the same in all pictures, as is their light.
fn visible(resolution: usize) -> Vec<Pixel> {
    let center = |i: usize| (2 * i + 1) as f64 / resolution as f64 - 1.0;
    let mut pixels = Vec::new();
    for place in 0..resolution * resolution {
        let (x, y) = (center(place % resolution), -center(place / resolution));
        let depth = 1.0 - x * x - y * y;
        if depth > 0.0 {
            let at = [x, y, depth.sqrt()];
            pixels.push(Pixel { place, at, light: 0.25 + 0.75 * dot(at, LIGHT).max(0.0) });
        }
    }
    pixels
}

/// Draws the ball into a black picture, with this longitude and latitude in its center.
fn render(visible: &[Pixel], [pan, tilt]: [f64; 2], picture: &mut [f64]) {
    let turn = turn(pan.to_radians(), tilt.to_radians());
    for pixel in visible {
        picture[pixel.place] = pixel.light * texture(turn.map(|row| dot(row, pixel.at)));
    }
}

/// The rotation from the view of the viewer to places on the ball.
fn turn(pan: f64, tilt: f64) -> [[f64; 3]; 3] {
    let ((sp, cp), (st, ct)) = (pan.sin_cos(), tilt.sin_cos());
    [[cp, -sp * st, sp * ct], [0.0, ct, st], [-sp, -cp * st, cp * ct]]
}

/// Brightness of the ball itself at a point of the unit sphere, in [0, 1].
fn texture(at: [f64; 3]) -> f64 {
    let waves = WAVES.iter().map(|&(wave, phase, weight)| weight * (dot(wave, at) + phase).sin());
    0.5 + 0.5 * waves.sum::<f64>()
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// `low < high`, both within `limit` of 0. The end that is wrong is the one named.
fn check_ends(name: &'static str, [low, high]: [f64; 2], limit: f64, needed: &'static str) -> Result<()> {
    check_range(name, low, low.abs() <= limit, needed)?;
    check_range(name, high, high.abs() <= limit && low < high, needed)
}
