//! The Procrustes measures R, R_N, R_PCA, R_C and their lower bound (Goldberg & Ritov, section 3).
//!
//! One pass over the neighborhoods gives all of them, and for every point how the embedding stretches its tangent.
//! Cost: O(n k q d) in addition to local PCA. Memory: O(n) in addition to the input.

mod results;

pub(super) use results::Measured;
pub use results::{FAITHFULNESS_FIELDS, Faithfulness, Means, PerPoint, PerPoints};

use std::array::from_fn;

use self::results::Totals;
use super::group::{D, Group};
use crate::charts::{Alignment, Local, Members, Source, Tangent};
use crate::charts::{check_components, members};
use crate::error::{Error, Result, check_range, check_rows};
use crate::linalg::lanes::WIDTH;
use crate::linalg::{column, dot, first, singular_values};
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;
use crate::parallel::{CHUNK, fill_columns, map_points, vectorized};
use crate::points::{Points, Rows};

/// A chart has extent along a direction longer than this share of its longest.
const EXTENT: f64 = 1e-10;

/// Points whose squared size is below this count as coincident: it has too few digits left to divide by.
pub(super) const COLLAPSED: f64 = 1e-300;

const STAGE: &str = "faithfulness";

/// The neighborhoods to measure.
#[derive(Debug, Clone, Copy)]
pub struct FaithfulnessParams<'a> {
    /// True if a point belongs to its own neighborhood.
    pub include_self: bool,
    /// The points whose neighborhoods are measured; all points if `None`.
    pub centers: Option<&'a [u32]>,
    /// The weight of the neighborhood of each point in the means, above 0; all weigh 1 if `None`.
    pub weights: Option<&'a [f64]>,
}

impl Default for FaithfulnessParams<'_> {
    fn default() -> Self {
        FaithfulnessParams { include_self: true, centers: None, weights: None }
    }
}

impl FaithfulnessParams<'_> {
    fn count(&self, n: usize) -> usize {
        self.centers.map_or(n, <[u32]>::len)
    }

    fn center(&self, place: usize) -> usize {
        self.centers.map_or(place, |centers| centers[place] as usize)
    }

    fn weight(&self, place: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[self.center(place)])
    }
}

/// Fails unless some points are measured, and all of them exist.
pub(super) fn check_centers(centers: Option<&[u32]>, n: usize) -> Result<()> {
    let Some(centers) = centers else { return Ok(()) };
    check_range(
        "n_centers",
        centers.len() as f64,
        !centers.is_empty(),
        "at least 1 neighborhood must be measured",
    )?;
    match centers.iter().find(|&&i| i as usize >= n) {
        Some(&i) => Err(Error::no_point(i as usize, n)),
        None => Ok(()),
    }
}

/// Fails unless both have the same number of points, and the embedding no more dimensions than the data.
pub(super) fn check_pair(x: &Points, y: &Points) -> Result<()> {
    check_components(y.dim(), x.dim())?;
    check_rows(("X", x.len()), ("Y", y.len()))
}

/// Measures how faithfully `y` shows the neighborhoods of `x`.
///
/// The result does not change if `x` or `y` is rotated, reflected or moved; r_c does not change if `y` is scaled. Fails
/// if `x`, `y` and the graph have different numbers of points, if `y` has more dimensions than `x`, or if a center does
/// not exist.
pub fn faithfulness<'x, 'p: 'x>(
    x: impl Into<Source<'x, 'p>>,
    y: &Points,
    neighborhoods: &Neighborhoods,
    params: FaithfulnessParams,
    monitor: &dyn Monitor,
) -> Result<Faithfulness> {
    let x = x.into();
    let mut flat = vec![0.0; params.count(x.len()) * FAITHFULNESS_FIELDS];
    let means = faithfulness_into(x, y, neighborhoods, params, &mut flat, monitor)?;
    Ok(Faithfulness { means, per_point: PerPoints { flat } })
}

/// [`faithfulness`], with the values of each neighborhood written to `flat`, in the order of [`PerPoints::flat`].
///
/// `flat` must have [`FAITHFULNESS_FIELDS`] entries per neighborhood.
pub fn faithfulness_into<'x, 'p: 'x>(
    x: impl Into<Source<'x, 'p>>,
    y: &Points,
    neighborhoods: &Neighborhoods,
    params: FaithfulnessParams,
    flat: &mut [f64],
    monitor: &dyn Monitor,
) -> Result<Means> {
    let x = x.into();
    x.check(neighborhoods, y.dim())?;
    check_rows(("X", x.len()), ("Y", y.len()))?;
    check_centers(params.centers, x.len())?;
    check_rows(("X", x.len()), ("weights", params.weights.map_or(x.len(), <[f64]>::len)))?;
    let needed = params.count(x.len()) * FAITHFULNESS_FIELDS;
    check_rows(("the place for the result", flat.len()), ("the numbers of all neighborhoods", needed))?;
    let task = Task { x, y: y.reborrow(), neighborhoods, params };
    match (x, neighborhoods.fixed_size(), x.dim(), y.dim()) {
        (Source::Points(x), Some(_), 2, 2) => measure_side_by_side::<2>(&task, x, flat, monitor),
        (Source::Points(x), Some(_), 3, 2) => measure_side_by_side::<3>(&task, x, flat, monitor),
        _ => collect(flat, params, monitor, |start, rows| {
            let mut workspace = Workspace::default();
            for (place, row) in (start..).zip(rows) {
                *row = workspace.measure_one(&task, place);
            }
        }),
    }
}

/// The neighborhoods to measure.
struct Task<'a, 'p> {
    x: Source<'a, 'p>,
    y: Points<'a>,
    neighborhoods: &'a Neighborhoods<'a>,
    params: FaithfulnessParams<'a>,
}

impl Task<'_, '_> {
    /// The points of the neighborhood measured at `place`.
    #[inline(always)]
    fn members(&self, place: usize) -> impl ExactSizeIterator<Item = usize> {
        members(self.neighborhoods, self.params.center(place), self.params.include_self)
    }
}

/// Measures chunk after chunk with `fill`: the rows of each are added up and laid out field after field.
fn collect(
    flat: &mut [f64],
    params: FaithfulnessParams,
    monitor: &dyn Monitor,
    fill: impl Fn(usize, &mut [Measured]) + Sync,
) -> Result<Means> {
    let totals = fill_columns(flat, STAGE, monitor, |start, columns: [&mut [f64]; FAITHFULNESS_FIELDS]| {
        let mut rows = vec![Measured::default(); columns[0].len()];
        fill(start, &mut rows);
        for (field, column) in columns.into_iter().enumerate() {
            column.iter_mut().zip(&rows).for_each(|(value, row)| *value = row.point.fields()[field]);
        }
        Totals::of(&rows, |row| params.weight(start + row))
    })?;
    let totals = totals.iter().fold(Totals::default(), |totals, part| totals.with(part));
    Ok(totals.means(flat.len() / FAITHFULNESS_FIELDS))
}

/// The neighborhoods asked for, in the order asked for, as many at once as there are lanes.
fn measure_side_by_side<const Q: usize>(
    task: &Task,
    x: &Points,
    flat: &mut [f64],
    monitor: &dyn Monitor,
) -> Result<Means> {
    // The types of both arrays are resolved here, once, and not at every point.
    match (x.rows::<Q>(), task.y.rows::<D>()) {
        (Some(x), Some(y)) => measure_reading::<Q>(task, x, y, flat, monitor),
        _ => measure_reading::<Q>(task, x, &task.y, flat, monitor),
    }
}

/// The same, given how a point and its image are read.
fn measure_reading<const Q: usize>(
    task: &Task,
    x: &(impl Rows<Q> + ?Sized),
    y: &(impl Rows<D> + ?Sized),
    flat: &mut [f64],
    monitor: &dyn Monitor,
) -> Result<Means> {
    let size = task.neighborhoods.largest() + usize::from(task.params.include_self);
    collect(flat, task.params, monitor, |start, rows| {
        let (mut group, mut workspace) = (Group::<Q>::new(), Workspace::default());
        // All lists of the chunk at once, so that waits for memory overlap.
        let mut lists = Vec::with_capacity(rows.len() * size);
        for place in start..start + rows.len() {
            lists.extend(task.members(place).map(|i| i as u32));
        }
        for (first, rows) in (0..).step_by(WIDTH).zip(rows.chunks_mut(WIDTH)) {
            // A last group of fewer repeats its last neighborhood.
            let last = rows.len() - 1;
            let next = &lists[((first + WIDTH) * size).min(lists.len())..];
            let lists = from_fn(|lane| &lists[(first + lane.min(last)) * size..][..size]);
            // Compiled once for every vector width, with the same roundings in each: nothing is fused.
            let measured = vectorized(
                #[inline(always)]
                || group.measure(lists, next, x, y),
            );
            for (lane, (row, measured)) in rows.iter_mut().zip(measured).enumerate() {
                *row = measured.unwrap_or_else(|| workspace.measure_one(task, start + first + lane));
            }
        }
    })
}

/// The least r_n and r_c that any embedding in `n_components` dimensions can have, for each neighborhood measured.
/// Their mean is the lower bound of R_N and R_C.
pub fn lower_bound(
    x: &Points,
    n_components: usize,
    neighborhoods: &Neighborhoods,
    params: FaithfulnessParams,
    monitor: &dyn Monitor,
) -> Result<Vec<f64>> {
    let bounds = bounds(x.into(), n_components, neighborhoods, params, monitor)?;
    Ok(bounds.into_iter().map(|bound| bound.unwrap_or(0.0)).collect())
}

/// The weighted mean of the lower bounds of all neighborhoods whose points do not coincide; 0 if there are none.
pub fn mean_lower_bound<'x, 'p: 'x>(
    x: impl Into<Source<'x, 'p>>,
    n_components: usize,
    neighborhoods: &Neighborhoods,
    params: FaithfulnessParams,
    monitor: &dyn Monitor,
) -> Result<f64> {
    let bounds = bounds(x.into(), n_components, neighborhoods, params, monitor)?;
    let kept = || {
        bounds.chunks(CHUNK).zip((0..).step_by(CHUNK)).map(|(chunk, start)| {
            (start..).zip(chunk).filter_map(|(place, bound)| Some((params.weight(place), (*bound)?)))
        })
    };
    let sum: f64 = kept().map(|chunk| chunk.map(|(weight, bound)| weight * bound).sum::<f64>()).sum();
    let weight: f64 = kept().flatten().map(|(weight, _)| weight).sum();
    Ok(if weight > 0.0 { sum / weight } else { 0.0 })
}

/// The bound of each neighborhood measured; `None` where all points coincide.
fn bounds(
    x: Source,
    n_components: usize,
    neighborhoods: &Neighborhoods,
    params: FaithfulnessParams,
    monitor: &dyn Monitor,
) -> Result<Vec<Option<f64>>> {
    x.check(neighborhoods, n_components)?;
    check_centers(params.centers, x.len())?;
    check_rows(("X", x.len()), ("weights", params.weights.map_or(x.len(), <[f64]>::len)))?;
    let with = Members { include_self: params.include_self, at_least: n_components };
    map_points(
        params.count(x.len()),
        STAGE,
        monitor,
        || (Local::default(), Tangent::default()),
        |(local, tangent), place| {
            x.load_reduced(neighborhoods, params.center(place), with, local);
            tangent.fit(local, local.dim, n_components);
            (local.norm2 > 0.0).then(|| tangent.residual / local.norm2)
        },
    )
}

/// Everything that one neighborhood needs, reused by the next.
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
    /// Measures one neighborhood of any size and dimensions.
    fn measure_one(&mut self, task: &Task, place: usize) -> Measured {
        self.load(task, place);
        vectorized(
            #[inline(always)]
            || self.measure(),
        )
    }

    #[inline]
    fn load(&mut self, task: &Task, place: usize) {
        let y = &task.y;
        let members = || task.members(place);
        match task.x {
            Source::Points(x) if x.dim() == 2 => self.x.load(x, members(), 2),
            Source::Points(x) if x.dim() == 3 => self.x.load(x, members(), 3),
            x => {
                let with = Members { include_self: task.params.include_self, at_least: y.dim() };
                x.load_reduced(task.neighborhoods, task.params.center(place), with, &mut self.x);
            }
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

    /// Finds the singular values of the linear map from the chart to the embedding, over the directions in which the
    /// chart has any extent, and returns their number. Rows are fitted one by one: chart coordinates are uncorrelated.
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

/// All points of the neighborhood coincide: perfect if those of the embedding do too.
fn coincident(y2: f64) -> Measured {
    let (error, stretch) = if y2 == 0.0 { (0.0, 1.0) } else { (f64::INFINITY, f64::INFINITY) };
    let point = PerPoint::from_fields([y2, error, error, y2, 0.0, stretch, stretch, stretch]);
    Measured { point, size: 0.0, scale: 0.0 }
}
