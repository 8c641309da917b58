//! The Procrustes measures R, R_N, R_PCA, R_C and their lower bound (Goldberg & Ritov, section 3).
//!
//! One pass over the neighbourhoods gives all of them, and for every point how the embedding stretches
//! its tangent. Cost: O(n k q d) beside the local PCA, O(n) memory beyond the input.

use std::array::from_fn;

use pulp::{Arch, Simd, WithSimd};

use super::group::{D, Group};
use crate::charts::{Alignment, Local, Tangent};
use crate::charts::{check_components, check_lengths, members};
use crate::error::{Error, Result};
use crate::linalg::lanes::WIDTH;
use crate::linalg::{column, dot, first, singular_values};
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;
use crate::parallel::{fill_columns, map_points};
use crate::points::{Points, Rows};

/// A chart has extent along a direction longer than this share of the longest.
const EXTENT: f64 = 1e-10;

/// Squared sizes below this have too few digits left to divide by: the points as good as coincide.
pub(super) const COLLAPSED: f64 = 1e-300;

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
    fn count(&self, n: usize) -> usize {
        self.centers.map_or(n, <[u32]>::len)
    }

    fn center(&self, place: usize) -> usize {
        self.centers.map_or(place, |centers| centers[place] as usize)
    }
}

/// Some points are measured, and all of them exist.
pub(super) fn check_centers(centers: Option<&[u32]>, n: usize) -> Result<()> {
    let Some(centers) = centers else { return Ok(()) };
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

/// The numbers of one neighbourhood. Unless said otherwise at least 0, smaller is better.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
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
}

/// How many numbers a neighbourhood has.
const FIELDS: usize = 8;

impl PerPoint {
    fn fields(&self) -> [f64; FIELDS] {
        let PerPoint { r, r_n, r_c, r_pca, bound, area, stretch_max, stretch_min } = *self;
        [r, r_n, r_c, r_pca, bound, area, stretch_max, stretch_min]
    }

    fn from_fields([r, r_n, r_c, r_pca, bound, area, stretch_max, stretch_min]: [f64; FIELDS]) -> Self {
        PerPoint { r, r_n, r_c, r_pca, bound, stretch_max, stretch_min, area }
    }

    /// Left out of normalised means: the data coincide, the embedding does not.
    pub fn degenerate(&self) -> bool {
        self.r_n.is_infinite()
    }
}

/// The numbers of one neighbourhood, and what the best scale of all is made from.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Measured {
    pub point: PerPoint,
    /// |H Y_i|^2 / |H X_i|^2.
    pub size: f64,
    /// The scale of Y_i that fits best.
    pub scale: f64,
}

/// The numbers of all neighbourhoods measured, field after field.
#[derive(Debug, Clone, PartialEq)]
pub struct PerPoints {
    flat: Vec<f64>,
}

impl PerPoints {
    /// How many neighbourhoods.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        self.flat.len() / FIELDS
    }

    /// The one at a place.
    pub fn get(&self, place: usize) -> PerPoint {
        PerPoint::from_fields(from_fn(|field| self.flat[field * self.len() + place]))
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = PerPoint> {
        (0..self.len()).map(|place| self.get(place))
    }

    /// All r, then all r_n, r_c, r_pca, bound, area, stretch_max and stretch_min.
    pub fn flat(&self) -> &[f64] {
        &self.flat
    }
}

/// Means over neighbourhoods.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Means {
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
}

/// Means over neighbourhoods, and the neighbourhoods.
#[derive(Debug, Clone)]
pub struct Faithfulness {
    /// Of all neighbourhoods measured.
    pub means: Means,
    /// One entry for each.
    pub per_point: PerPoints,
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
/// assert!(m.means.r_n < 1e-30 && m.means.lower_bound < 1e-30);
/// # Ok::<(), unbend::Error>(())
/// ```
pub fn faithfulness(
    x: &Points,
    y: &Points,
    neighborhoods: &Neighborhoods,
    params: FaithfulnessParams,
    monitor: &dyn Monitor,
) -> Result<Faithfulness> {
    let mut flat = vec![0.0; params.count(x.len()) * FIELDS];
    let means = faithfulness_into(x, y, neighborhoods, params, &mut flat, monitor)?;
    Ok(Faithfulness { means, per_point: PerPoints { flat } })
}

/// The same, with the numbers of each neighbourhood written where the caller wants them, in the order of
/// [`PerPoints::flat`].
pub fn faithfulness_into(
    x: &Points,
    y: &Points,
    neighborhoods: &Neighborhoods,
    params: FaithfulnessParams,
    flat: &mut [f64],
    monitor: &dyn Monitor,
) -> Result<Means> {
    check_components(y.dim(), x.dim())?;
    if x.len() != y.len() {
        return Err(Error::LengthMismatch { left: "X", left_len: x.len(), right: "Y", right_len: y.len() });
    }
    check_lengths(x, "X", neighborhoods)?;
    check_centers(params.centers, x.len())?;
    let (room, needed) = (flat.len(), params.count(x.len()) * FIELDS);
    if room != needed {
        let (left, right) = ("the place for the result", "the numbers of all neighbourhoods");
        return Err(Error::LengthMismatch { left, left_len: room, right, right_len: needed });
    }
    match (neighborhoods.fixed_size(), x.dim(), y.dim()) {
        (Some(_), 2, 2) => measure_side_by_side::<2>(x, y, neighborhoods, params, flat, monitor),
        (Some(_), 3, 2) => measure_side_by_side::<3>(x, y, neighborhoods, params, flat, monitor),
        _ => collect(flat, monitor, |start, rows| {
            let mut workspace = Workspace::default();
            for (place, row) in (start..).zip(rows) {
                let center = params.center(place);
                *row = workspace.measure_one(x, y, neighborhoods, center, params.include_self);
            }
        }),
    }
}

/// Measures chunk after chunk with `fill`: the rows of each are added up and laid out field after field.
fn collect(
    flat: &mut [f64],
    monitor: &dyn Monitor,
    fill: impl Fn(usize, &mut [Measured]) + Sync,
) -> Result<Means> {
    let totals = fill_columns(flat, STAGE, monitor, |start, columns: [&mut [f64]; FIELDS]| {
        let mut rows = vec![Measured::default(); columns[0].len()];
        fill(start, &mut rows);
        for (field, column) in columns.into_iter().enumerate() {
            column.iter_mut().zip(&rows).for_each(|(value, row)| *value = row.point.fields()[field]);
        }
        Totals::of(&rows)
    })?;
    let totals = totals.iter().fold(Totals::default(), |totals, part| totals.with(part));
    Ok(totals.means(flat.len() / FIELDS))
}

/// The neighbourhoods asked for, in the order asked for, as many at once as there are lanes.
fn measure_side_by_side<const Q: usize>(
    x: &Points,
    y: &Points,
    neighborhoods: &Neighborhoods,
    params: FaithfulnessParams,
    flat: &mut [f64],
    monitor: &dyn Monitor,
) -> Result<Means> {
    // Where points lie is settled here, once, and not at every point.
    match (x.rows::<Q>(), y.rows::<D>()) {
        (Some(x_rows), Some(y_rows)) => {
            measure_reading::<Q>(x, y, neighborhoods, params, flat, monitor, x_rows, y_rows)
        }
        _ => measure_reading::<Q>(x, y, neighborhoods, params, flat, monitor, x, y),
    }
}

/// The same, given how a point and its image are read.
#[allow(clippy::too_many_arguments)] // those of the measure, and where they lie
fn measure_reading<const Q: usize>(
    x: &Points,
    y: &Points,
    neighborhoods: &Neighborhoods,
    params: FaithfulnessParams,
    flat: &mut [f64],
    monitor: &dyn Monitor,
    x_rows: &(impl Rows<Q> + ?Sized),
    y_rows: &(impl Rows<D> + ?Sized),
) -> Result<Means> {
    let arch = Arch::new();
    let include_self = params.include_self;
    let size = neighborhoods.largest() + usize::from(include_self);
    collect(flat, monitor, |start, rows| {
        let (mut group, mut workspace) = (Group::<Q>::new(), Workspace::default());
        // All lists of the chunk at once: the waits for memory overlap.
        let mut lists = Vec::with_capacity(rows.len() * size);
        for place in start..start + rows.len() {
            lists.extend(members(neighborhoods, params.center(place), include_self).map(|i| i as u32));
        }
        for (first, rows) in (0..).step_by(WIDTH).zip(rows.chunks_mut(WIDTH)) {
            // A last group of fewer repeats its last neighbourhood.
            let last = rows.len() - 1;
            let next = &lists[((first + WIDTH) * size).min(lists.len())..];
            let lists = from_fn(|lane| &lists[(first + lane.min(last)) * size..][..size]);
            let task = MeasureGroup { group: &mut group, lists, next, x: x_rows, y: y_rows };
            let measured = arch.dispatch(task);
            for (lane, (row, measured)) in rows.iter_mut().zip(measured).enumerate() {
                *row = measured.unwrap_or_else(|| {
                    let center = params.center(start + first + lane);
                    workspace.measure_one(x, y, neighborhoods, center, include_self)
                });
            }
        }
    })
}

/// Compiled once for every vector width, with the same roundings in each: nothing is fused.
struct MeasureGroup<'a, const Q: usize, X: ?Sized, Y: ?Sized> {
    group: &'a mut Group<Q>,
    lists: [&'a [u32]; WIDTH],
    next: &'a [u32],
    x: &'a X,
    y: &'a Y,
}

impl<const Q: usize, X: Rows<Q> + ?Sized, Y: Rows<D> + ?Sized> WithSimd for MeasureGroup<'_, Q, X, Y> {
    type Output = [Option<Measured>; WIDTH];

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        self.group.measure(self.lists, self.next, self.x, self.y)
    }
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
    check_centers(params.centers, x.len())?;
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

/// The same for one neighbourhood of any size and dimensions.
struct Measure<'a>(&'a mut Workspace);

impl WithSimd for Measure<'_> {
    type Output = Measured;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Measured {
        self.0.measure()
    }
}

impl Workspace {
    fn measure_one(
        &mut self,
        x: &Points,
        y: &Points,
        neighborhoods: &Neighborhoods,
        i: usize,
        include_self: bool,
    ) -> Measured {
        self.load(x, y, neighborhoods, i, include_self);
        Arch::new().dispatch(Measure(self))
    }

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
    #[inline(always)]
    fn measure(&mut self) -> Measured {
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
    fn measure_sized(&mut self, q: usize, d: usize) -> Measured {
        let (x2, y2) = (self.x.norm2, self.y.norm2);
        let y2 = if y2 < COLLAPSED { 0.0 } else { y2 };
        if x2 < COLLAPSED {
            return coincident(y2);
        }
        let padded = self.x.padded;
        self.tangent.fit(&self.x, q, d);
        let (x, chart, y) = (&self.x.x, &self.tangent.chart, &self.y.x);
        self.whole.fit(x, q, y, d, padded);
        self.charted.fit(chart, d, y, d, padded);
        let scale = if y2 > 0.0 { self.whole.singular_sum / y2 } else { 0.0 };
        let r = self.whole.residual(x, q, y, d, padded, 1.0);
        let conformal = self.whole.residual(x, q, y, d, padded, scale);
        let r_pca = self.charted.residual(chart, d, y, d, padded, 1.0);
        let directions = self.stretch(padded, d);
        let stretches = &self.stretches[..directions];
        let point = PerPoint {
            r,
            r_n: r / x2,
            r_c: conformal / x2,
            r_pca,
            bound: self.tangent.residual / x2,
            stretch_max: stretches.iter().fold(0.0, |a, &b| b.max(a)),
            stretch_min: stretches.iter().fold(f64::INFINITY, |a, &b| b.min(a)),
            area: stretches.iter().product(),
        };
        Measured { point, size: y2 / x2, scale }
    }

    /// The singular values of the linear map that takes the chart nearest to the embedding, over the
    /// directions in which the chart has any extent; says how many there are.
    ///
    /// Chart coordinates are uncorrelated, so each row of the map is a regression of its own.
    #[inline(always)]
    fn stretch(&mut self, padded: usize, d: usize) -> usize {
        let chart = &self.tangent.chart[..d * padded];
        let (map, stretches) = (first(&mut self.map, d * d), first(&mut self.stretches, d));
        let extent2 = |j: usize| dot(column(chart, padded, j), column(chart, padded, j));
        let longest = (0..d).map(extent2).fold(0.0, f64::max);
        let mut directions = 0;
        for j in 0..d {
            let extent2 = extent2(j);
            if extent2 > EXTENT * EXTENT * longest {
                for b in 0..d {
                    map[directions * d + b] = self.charted.product[b * d + j] / extent2;
                }
                directions += 1;
            }
        }
        singular_values(&mut map[..directions * d], d, directions, stretches);
        directions
    }
}

/// All points of the neighbourhood coincide: perfect if those of the embedding do too.
fn coincident(y2: f64) -> Measured {
    let (error, stretch) = if y2 == 0.0 { (0.0, 1.0) } else { (f64::INFINITY, f64::INFINITY) };
    let point = PerPoint {
        r: y2,
        r_n: error,
        r_c: error,
        r_pca: y2,
        bound: 0.0,
        stretch_max: stretch,
        stretch_min: stretch,
        area: stretch,
    };
    Measured { point, size: 0.0, scale: 0.0 }
}

/// Sums over neighbourhoods, and the best scale of them all.
#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    r: f64,
    r_pca: f64,
    kept: f64,
    r_n: f64,
    r_c: f64,
    bound: f64,
    /// Mean of the scales, weighted by the sizes; the sum of these; and of squared distances to the mean.
    scale: f64,
    size: f64,
    apart: f64,
}

impl Totals {
    fn of(rows: &[Measured]) -> Self {
        let mut totals = Totals::default();
        let mut weighted_scale = 0.0;
        for Measured { point, size, scale } in rows {
            totals.r += point.r;
            totals.r_pca += point.r_pca;
            if !point.degenerate() {
                totals.kept += 1.0;
                totals.r_n += point.r_n;
                totals.r_c += point.r_c;
                totals.bound += point.bound;
                totals.size += size;
                weighted_scale += size * scale;
            }
        }
        if totals.size > 0.0 {
            totals.scale = weighted_scale / totals.size;
            let kept = rows.iter().filter(|row| !row.point.degenerate());
            totals.apart = kept.map(|row| (row.size.sqrt() * (row.scale - totals.scale)).powi(2)).sum();
        }
        totals
    }

    fn with(&self, other: &Totals) -> Totals {
        let size = self.size + other.size;
        let share = if size > 0.0 { other.size / size } else { 0.0 };
        let step = other.scale - self.scale;
        Totals {
            r: self.r + other.r,
            r_pca: self.r_pca + other.r_pca,
            kept: self.kept + other.kept,
            r_n: self.r_n + other.r_n,
            r_c: self.r_c + other.r_c,
            bound: self.bound + other.bound,
            scale: self.scale + share * step,
            size,
            apart: self.apart + other.apart + ((self.size * share).sqrt() * step).powi(2),
        }
    }

    fn means(&self, n: usize) -> Means {
        // An embedding of which no neighbourhood can be measured is not perfect.
        let mean = |sum: f64| if self.kept > 0.0 { sum / self.kept } else { f64::INFINITY };
        // G(X_i, c Y_i) / |H X_i|^2 = r_c + size (c - scale)^2: a parabola for each neighbourhood. Sizes beyond the
        // range of numbers leave nothing but c = 0.
        let best = self.r_c + self.apart;
        let (scale, scaled) = if best.is_finite() { (self.scale, best) } else { (0.0, self.kept) };
        Means {
            r: self.r / n as f64,
            r_pca: self.r_pca / n as f64,
            r_n: mean(self.r_n),
            r_c: mean(self.r_c),
            lower_bound: if self.kept > 0.0 { self.bound / self.kept } else { 0.0 },
            scale,
            r_n_scaled: mean(scaled),
            n_degenerate: n - self.kept as usize,
        }
    }
}
