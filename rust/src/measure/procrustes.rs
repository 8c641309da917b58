//! The Procrustes measures R, R_N, R_PCA, R_C and their lower bound (Goldberg & Ritov, section 3).
//!
//! One pass over the neighbourhoods gives all of them, and for every point how the embedding stretches
//! its tangent. Cost: O(n k q d) beside the local PCA, O(n) memory beyond the input.

use crate::charts::{Alignment, Local, Tangent};
use crate::charts::{check_components, check_lengths, members};
use crate::error::{Error, Result};
use crate::linalg::singular_values;
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;
use crate::parallel::{map_points, mean, sum};
use crate::points::Points;

/// A chart has extent along a direction longer than this share of the longest.
const EXTENT: f64 = 1e-10;

const STAGE: &str = "faithfulness";

/// What counts as a neighbourhood, and which are measured.
#[derive(Debug, Clone, Copy)]
pub struct FaithfulnessParams<'a> {
    /// Whether a point belongs to its own neighbourhood.
    pub include_self: bool,
    /// The points whose neighbourhoods are measured; all if `None`.
    pub centers: Option<&'a [u32]>,
}

impl Default for FaithfulnessParams<'_> {
    fn default() -> Self {
        FaithfulnessParams { include_self: true, centers: None }
    }
}

impl FaithfulnessParams<'_> {
    fn check(&self, n: usize) -> Result<()> {
        let Some(centers) = self.centers else { return Ok(()) };
        if centers.is_empty() {
            return Err(Error::OutOfRange {
                name: "n_centers",
                value: 0.0,
                needed: "at least 1 neighbourhood must be measured",
            });
        }
        match centers.iter().find(|&&i| i as usize >= n) {
            Some(&i) => Err(Error::NeighborOutOfRange { point: i as usize, neighbor: i as usize, n }),
            None => Ok(()),
        }
    }

    fn count(&self, n: usize) -> usize {
        self.centers.map_or(n, <[u32]>::len)
    }

    fn center(&self, place: usize) -> usize {
        self.centers.map_or(place, |centers| centers[place] as usize)
    }
}

/// The numbers of one neighbourhood. Unless said otherwise at least 0, smaller is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PerPoint {
    /// G(X_i, Y_i).
    pub r: f64,
    /// G(X_i, Y_i) / |H X_i|^2; infinite where the data coincide and the embedding does not.
    pub r_n: f64,
    /// G_C(X_i, Y_i) / |H X_i|^2, in [0, 1]; infinite as above.
    pub r_c: f64,
    /// G(Theta_i, Y_i).
    pub r_pca: f64,
    /// The least r_n and r_c that any embedding can have, in [0, 1].
    pub bound: f64,
    /// The largest stretch of the linear map from the tangent to the embedding; 1 is faithful.
    pub stretch_max: f64,
    /// Its smallest.
    pub stretch_min: f64,
    /// By what it multiplies areas (volumes); 1 is faithful.
    pub area: f64,
    /// |H Y_i|^2 / |H X_i|^2.
    size: f64,
    /// The scale of Y_i that fits best.
    scale: f64,
}

impl PerPoint {
    /// Left out of normalised means: the data coincide, the embedding does not.
    pub fn degenerate(&self) -> bool {
        self.r_n.is_infinite()
    }
}

/// Means over neighbourhoods, and the neighbourhoods.
#[derive(Debug, Clone)]
pub struct Faithfulness {
    /// Eq. 3: mean of G.
    pub r: f64,
    /// Eq. 4: mean of G / |H X_i|^2.
    pub r_n: f64,
    /// Eq. 7: the same when every neighbourhood may be rescaled.
    pub r_c: f64,
    /// Eq. 6: mean of G against the charts.
    pub r_pca: f64,
    /// Lemma 1: what no embedding of this dimension can fall below, for r_n and r_c.
    pub lower_bound: f64,
    /// The one factor for the whole embedding that makes r_n least.
    pub scale: f64,
    /// r_n after that rescaling.
    pub r_n_scaled: f64,
    /// Neighbourhoods left out of the normalised means.
    pub n_degenerate: usize,
    /// One entry for each neighbourhood measured.
    pub per_point: Vec<PerPoint>,
}

/// Measures how faithfully `y` shows the neighbourhoods of `x`.
///
/// Invariant under rotation, reflection and translation of either; r_c also under scaling of `y`.
///
/// ```
/// use ndarray::array;
/// use unbend::{Points, Unmonitored, measure, neighbors};
/// let x = array![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [1.0, 2.0, 0.0]];
/// let y = array![[0.0, 0.0], [0.0, 1.0], [-2.0, 0.0], [-2.0, 1.0]]; // x turned by 90 degrees
/// let x = Points::new("X", x.view(), &Unmonitored)?;
/// let y = Points::new("Y", y.view(), &Unmonitored)?;
/// let knn = neighbors::nearest(&x, 3, Default::default(), &Unmonitored)?;
/// let m = measure::faithfulness(&x, &y, &knn.neighborhoods, Default::default(), &Unmonitored)?;
/// assert!(m.r_n < 1e-30 && m.lower_bound < 1e-30);
/// # Ok::<(), unbend::Error>(())
/// ```
pub fn faithfulness(
    x: &Points,
    y: &Points,
    neighborhoods: &Neighborhoods,
    params: FaithfulnessParams,
    monitor: &dyn Monitor,
) -> Result<Faithfulness> {
    check_components(y.dim(), x.dim())?;
    if x.len() != y.len() {
        return Err(Error::LengthMismatch { left: "X", left_len: x.len(), right: "Y", right_len: y.len() });
    }
    check_lengths(x, "X", neighborhoods)?;
    params.check(x.len())?;
    let per_point =
        map_points(params.count(x.len()), STAGE, monitor, Workspace::default, |workspace, place| {
            let i = params.center(place);
            workspace.load(x, y, neighborhoods, i, params.include_self);
            workspace.measure()
        })?;
    Ok(summarize(per_point))
}

/// The least r_n and r_c that any embedding in `n_components` dimensions can have, for each
/// neighbourhood measured; their mean is the lower bound.
pub fn lower_bound(
    x: &Points,
    n_components: usize,
    neighborhoods: &Neighborhoods,
    params: FaithfulnessParams,
    monitor: &dyn Monitor,
) -> Result<Vec<f64>> {
    check_components(n_components, x.dim())?;
    check_lengths(x, "X", neighborhoods)?;
    params.check(x.len())?;
    map_points(
        params.count(x.len()),
        STAGE,
        monitor,
        || (Local::default(), Tangent::default()),
        |(local, tangent), place| {
            let i = params.center(place);
            local.load_reduced(x, members(neighborhoods, i, params.include_self), n_components);
            tangent.fit(local, local.dim, n_components);
            if local.norm2 > 0.0 { tangent.residual / local.norm2 } else { 0.0 }
        },
    )
}

/// Everything that one neighbourhood needs, reused by the next.
#[derive(Default)]
struct Workspace {
    x: Local,
    y: Local,
    tangent: Tangent,
    whole: Alignment,
    charted: Alignment,
    map: Vec<f64>,
    stretches: Vec<f64>,
}

impl Workspace {
    #[inline]
    fn load(&mut self, x: &Points, y: &Points, neighborhoods: &Neighborhoods, i: usize, include_self: bool) {
        let members = || members(neighborhoods, i, include_self);
        match x.dim() {
            2 => self.x.load(x, members(), 2),
            3 => self.x.load(x, members(), 3),
            _ => self.x.load_reduced(x, members(), y.dim()),
        }
        match y.dim() {
            2 => self.y.load(y, members(), 2),
            3 => self.y.load(y, members(), 3),
            d => self.y.load(y, members(), d),
        }
    }

    /// The usual sizes are compiled on their own, from the same source.
    fn measure(&mut self) -> PerPoint {
        match (self.x.dim, self.y.dim) {
            (2, 2) => self.measure_sized(2, 2),
            (3, 2) => self.measure_sized(3, 2),
            (3, 3) => self.measure_sized(3, 3),
            (q, 2) => self.measure_sized(q, 2),
            (q, 3) => self.measure_sized(q, 3),
            (q, d) => self.measure_sized(q, d),
        }
    }

    #[inline(always)]
    fn measure_sized(&mut self, q: usize, d: usize) -> PerPoint {
        let (x2, y2) = (self.x.norm2, self.y.norm2);
        if x2 == 0.0 {
            return coincident(y2);
        }
        self.tangent.fit(&self.x, q, d);
        self.whole.fit(&self.x.x, q, &self.y.x, d);
        self.charted.fit(&self.tangent.chart, d, &self.y.x, d);
        let directions = self.stretch(d);
        let stretches = &self.stretches[..directions];
        PerPoint {
            r: self.whole.residual,
            r_n: self.whole.residual / x2,
            r_c: self.whole.conformal_residual / x2,
            r_pca: self.charted.residual,
            bound: self.tangent.residual / x2,
            stretch_max: stretches.iter().fold(0.0, |a, &b| b.max(a)),
            stretch_min: stretches.iter().fold(f64::INFINITY, |a, &b| b.min(a)),
            area: stretches.iter().product(),
            size: y2 / x2,
            scale: self.whole.scale,
        }
    }

    /// The singular values of the linear map that takes the chart nearest to the embedding, over the
    /// directions in which the chart has any extent; says how many there are.
    #[inline(always)]
    fn stretch(&mut self, d: usize) -> usize {
        self.map.clear();
        self.stretches.resize(d, 0.0);
        let longest = extent2(&self.tangent.chart, 0, d);
        let mut directions = 0;
        for j in 0..d {
            let extent2 = extent2(&self.tangent.chart, j, d);
            if extent2 <= EXTENT * EXTENT * longest {
                continue;
            }
            // Chart coordinates are uncorrelated, so each row of the map is a regression of its own.
            let start = self.map.len();
            self.map.resize(start + d, 0.0);
            for (theta, y) in self.tangent.chart.chunks_exact(d).zip(self.y.x.chunks_exact(d)) {
                for b in 0..d {
                    self.map[start + b] += theta[j] * y[b];
                }
            }
            self.map[start..].iter_mut().for_each(|v| *v /= extent2);
            directions += 1;
        }
        singular_values(&mut self.map, d, directions, &mut self.stretches);
        directions
    }
}

#[inline(always)]
fn extent2(chart: &[f64], j: usize, d: usize) -> f64 {
    chart.chunks_exact(d).fold(0.0, |sum, theta| sum + theta[j] * theta[j])
}

/// All points of the neighbourhood coincide: perfect if those of the embedding do too.
fn coincident(y2: f64) -> PerPoint {
    let (error, stretch) = if y2 == 0.0 { (0.0, 1.0) } else { (f64::INFINITY, f64::INFINITY) };
    PerPoint {
        r: y2,
        r_n: error,
        r_c: error,
        r_pca: y2,
        bound: 0.0,
        stretch_max: stretch,
        stretch_min: stretch,
        area: stretch,
        size: 0.0,
        scale: 0.0,
    }
}

fn summarize(per_point: Vec<PerPoint>) -> Faithfulness {
    let kept: Vec<&PerPoint> = per_point.iter().filter(|p| !p.degenerate()).collect();
    let over_kept = |f: fn(&PerPoint) -> f64| mean(kept.iter().map(|p| f(p)));
    // An embedding of which no neighbourhood can be measured is not perfect.
    let unmeasured = if kept.is_empty() { f64::INFINITY } else { 0.0 };
    // G(X_i, c Y_i) / |H X_i|^2 = r_c + size (c - scale)^2: a parabola for each neighbourhood.
    let size = sum(kept.iter().map(|p| p.size));
    let scale = if size > 0.0 { sum(kept.iter().map(|p| p.size * p.scale)) / size } else { 0.0 };
    let scaled = mean(kept.iter().map(|p| p.r_c + p.size * (scale - p.scale).powi(2)));
    Faithfulness {
        r: mean(per_point.iter().map(|p| p.r)),
        r_pca: mean(per_point.iter().map(|p| p.r_pca)),
        r_n: over_kept(|p| p.r_n) + unmeasured,
        r_c: over_kept(|p| p.r_c) + unmeasured,
        lower_bound: over_kept(|p| p.bound),
        scale,
        r_n_scaled: scaled + unmeasured,
        n_degenerate: per_point.len() - kept.len(),
        per_point,
    }
}
