//! The charts of all neighborhoods, in the form that takes the least memory.

use std::borrow::Cow;
use std::sync::Arc;

use super::gram::Gram;
use super::local::Local;
use super::net::{Mean, Net};
use super::patches::{Members, Source};
use super::tangent::{Tangent, TangentGroup, members};
use crate::error::{Result, check_rows};
use crate::linalg::lanes::WIDTH;
use crate::linalg::{column, first, long_dot, symmetric_eigen};
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;
use crate::parallel::{fill_blocks_and, fill_rows, fill_rows_and, vectorized};
use crate::points::{Points, Rows};

const STAGE: &str = "charts";

/// A direction whose squared extent is below this share of the largest counts as no direction.
const NO_EXTENT: f64 = 1e-14;

/// Tangent bases are stored up to this embedding dimension, because they give better rotations than charts.
pub const MAX_DIM_WITH_BASES: usize = 4;

/// Above [`MAX_DIM_WITH_BASES`], bases of wide data are stored only up to this many numbers, a gigabyte.
pub const MAX_BASES_ENTRIES: usize = 1 << 27;

/// Charts compared with one at a time. This bounds the memory that hubs need.
const ASKED: usize = 64;

/// Rows longer than this are multiplied in lanes.
const SHORT: usize = 8;

/// Gives the coordinates of every neighborhood: first its point, then its neighbors.
///
/// Charts have no particular origin, because every alignment centers them.
#[derive(Debug)]
pub struct Atlas<'a, 'p> {
    source: Source<'a, 'p>,
    neighborhoods: &'a Neighborhoods<'a>,
    n_components: usize,
    form: Cow<'a, Form>,
}

/// Results of an atlas. They can outlive it and serve another atlas of the same data and graph.
#[derive(Debug, Clone)]
pub struct AtlasCache(Form);

#[derive(Debug, Clone)]
enum Form {
    /// P_i for each i, column after column. Charts are read off the points when they are needed. `outside` is the share
    /// of the variance of each neighborhood outside its tangent; empty if the tangents are from other points.
    Bases { flat: Arc<Vec<f64>>, outside: Vec<f64> },
    /// Theta_i for each i, point after point, in places of one size: less memory than bases for very wide data.
    /// `outside` as above; empty if the charts are not those of the points of the graph.
    Charts { place: usize, flat: Vec<f64>, outside: Vec<f64> },
    /// No tangent: the neighborhoods themselves, in as few coordinates as hold them.
    Whole,
}

/// Form in which an atlas holds its tangents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tangents {
    /// Their bases: any two tangents can be compared.
    Known,
    /// Charts only: two tangents can be compared through the points that both neighborhoods contain.
    Charted,
    /// No tangents.
    None,
}

/// The coordinates of one neighborhood. Its memory is reused by the next.
#[derive(Debug, Default, Clone)]
pub struct Coordinates {
    /// Number of coordinates of a point.
    pub dim: usize,
    /// The coordinates, point after point.
    pub flat: Vec<f64>,
    own: Vec<f64>,
    row: Vec<f64>,
    local: Local,
}

impl<'a, 'p> Atlas<'a, 'p> {
    /// Finds the tangents of all neighborhoods by local PCA, in parallel, or takes those of a `net`.
    ///
    /// Fails if `n_components` is 0 or exceeds the dimension of the data, or if graph or net belong to other points.
    pub fn new(
        source: impl Into<Source<'a, 'p>>,
        neighborhoods: &'a Neighborhoods<'a>,
        net: Option<&Net>,
        n_components: usize,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let source = source.into();
        let (n, q) = (source.len(), source.dim());
        let with_bases = q <= neighborhoods.largest() + 1
            || n_components <= MAX_DIM_WITH_BASES
            || n * q * n_components <= MAX_BASES_ENTRIES;
        Atlas::with_form(source, neighborhoods, net, n_components, (with_bases, true), monitor)
    }

    /// [`Atlas::new`] with tangents of neighborhoods that do not hold their own point. Bases are stored, however wide the
    /// data are. Coordinates are those of all points, as in any atlas.
    pub fn without_self(
        points: &'a Points<'p>,
        neighborhoods: &'a Neighborhoods<'a>,
        net: Option<&Net>,
        n_components: usize,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        Atlas::with_form(points.into(), neighborhoods, net, n_components, (true, false), monitor)
    }

    /// [`Atlas::new`], but charts are stored even where bases would take less memory.
    pub fn of_charts(
        source: impl Into<Source<'a, 'p>>,
        neighborhoods: &'a Neighborhoods<'a>,
        net: Option<&Net>,
        n_components: usize,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        Atlas::with_form(source.into(), neighborhoods, net, n_components, (false, true), monitor)
    }

    fn with_form(
        source: Source<'a, 'p>,
        neighborhoods: &'a Neighborhoods<'a>,
        net: Option<&Net>,
        n_components: usize,
        (with_bases, include_self): (bool, bool),
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let mut atlas = Atlas::whole(source, neighborhoods, n_components)?;
        let form = match (source, net) {
            (Source::Patches(_), None) => atlas.principal_charts(monitor)?,
            _ => {
                let points = source.points("a net of tangents")?;
                net.map_or(Ok(()), |net| net.check(points, n_components))?;
                match with_bases {
                    true => atlas.fit_bases(points, net, include_self, monitor)?,
                    false => atlas.fit_charts(points, net, monitor)?,
                }
            }
        };
        atlas.form = Cow::Owned(form);
        Ok(atlas)
    }

    /// Makes an atlas from a cache of the same data and graph. Fails if the sizes do not match.
    pub fn lend(
        source: impl Into<Source<'a, 'p>>,
        neighborhoods: &'a Neighborhoods<'a>,
        n_components: usize,
        kept: &'a AtlasCache,
    ) -> Result<Self> {
        let source = source.into();
        let mut atlas = Atlas::whole(source, neighborhoods, n_components)?;
        let (left_len, right_len) = match &kept.0 {
            Form::Bases { flat, .. } => (flat.len(), source.len() * source.dim() * n_components),
            Form::Charts { flat, .. } => {
                (flat.len(), source.len() * (neighborhoods.largest() + 1) * n_components)
            }
            Form::Whole => (0, 0),
        };
        check_rows(("what an atlas kept", left_len), ("the tangents of this data and graph", right_len))?;
        atlas.form = Cow::Borrowed(&kept.0);
        Ok(atlas)
    }

    /// Returns the computed values, for [`Atlas::lend`].
    pub fn keep(self) -> AtlasCache {
        AtlasCache(self.form.into_owned())
    }

    /// An atlas without tangents: neighborhoods keep all their coordinates.
    pub fn whole(
        source: impl Into<Source<'a, 'p>>,
        neighborhoods: &'a Neighborhoods<'a>,
        n_components: usize,
    ) -> Result<Self> {
        let source = source.into();
        source.check(neighborhoods, n_components)?;
        Ok(Atlas { source, neighborhoods, n_components, form: Cow::Owned(Form::Whole) })
    }

    fn fit_bases(
        &self,
        points: &Points,
        net: Option<&Net>,
        include_self: bool,
        monitor: &dyn Monitor,
    ) -> Result<Form> {
        let (q, d) = (points.dim(), self.n_components);
        let mut bases = vec![0.0; points.len() * q * d];
        let mut outside = vec![];
        if net.is_none() && include_self && self.neighborhoods.fixed_size().is_some() && matches!(q, 2 | 3) {
            outside = vec![0.0; points.len()];
            match (q, points.rows::<2>(), points.rows::<3>()) {
                (3, _, Some(rows)) => self.fit_abreast(points, rows, &mut bases, &mut outside, monitor),
                (3, ..) => self.fit_abreast::<3>(points, points, &mut bases, &mut outside, monitor),
                (2, Some(rows), _) => self.fit_abreast(points, rows, &mut bases, &mut outside, monitor),
                _ => self.fit_abreast::<2>(points, points, &mut bases, &mut outside, monitor),
            }?;
        } else if let Some(net) = net {
            fill_rows(&mut bases, q * d, STAGE, monitor, Mean::default, |mean, i, basis| {
                net.tangent(i, mean, basis);
            })?;
        } else {
            let state = || (Local::default(), Tangent::default());
            outside = vec![0.0; points.len()];
            fill_rows_and(
                &mut bases,
                q * d,
                &mut outside,
                STAGE,
                monitor,
                state,
                |alone, i, basis, outside| {
                    self.fit_alone(points, (i, include_self), alone, basis, outside);
                },
            )?;
        }
        Ok(Form::Bases { flat: Arc::new(bases), outside })
    }

    /// Tangents of neighborhoods of one size, several side by side, of points in `Q` dimensions.
    fn fit_abreast<const Q: usize>(
        &self,
        points: &Points,
        rows: &(impl Rows<Q> + ?Sized),
        bases: &mut [f64],
        outside: &mut [f64],
        monitor: &dyn Monitor,
    ) -> Result<()> {
        let (graph, d) = (self.neighborhoods, self.n_components);
        let size = graph.largest() + 1;
        fill_blocks_and(bases, Q * d, outside, STAGE, monitor, |start, bases, outside| {
            let (mut group, mut alone) = (TangentGroup::default(), (Local::default(), Tangent::default()));
            // All lists of the block at once, so that waits for memory overlap.
            let mut lists = Vec::with_capacity(outside.len() * size);
            (start..start + outside.len())
                .for_each(|i| lists.extend(members(graph, i, true).map(|p| p as u32)));
            let groups = bases.chunks_mut(WIDTH * Q * d).zip(outside.chunks_mut(WIDTH));
            for (at, (bases, outside)) in (0..).step_by(WIDTH).zip(groups) {
                // A last group of fewer repeats its last neighborhood.
                let last = outside.len() - 1;
                let next = &lists[((at + WIDTH) * size).min(lists.len())..];
                let lists = std::array::from_fn(|lane| &lists[(at + lane.min(last)) * size..][..size]);
                let found = vectorized(
                    #[inline(always)]
                    || group.fit(lists, next, rows, d),
                );
                let places = bases.chunks_exact_mut(Q * d).zip(outside).zip(found).enumerate();
                for (lane, ((basis, outside), found)) in places {
                    match found {
                        Some((directions, share)) => {
                            basis.copy_from_slice(&directions.as_flattened()[..Q * d]);
                            *outside = share;
                        }
                        None => self.fit_alone(points, (start + at + lane, true), &mut alone, basis, outside),
                    }
                }
            }
        })
    }

    fn fit_alone(
        &self,
        points: &Points,
        (i, include_self): (usize, bool),
        (local, tangent): &mut (Local, Tangent),
        basis: &mut [f64],
        outside: &mut f64,
    ) {
        fit_tangent(points, members(self.neighborhoods, i, include_self), self.n_components, local, tangent);
        widen(local, tangent, self.n_components, basis);
        *outside = if local.norm2 > 0.0 { (tangent.residual / local.norm2).min(1.0) } else { 0.0 };
    }

    fn fit_charts(&self, points: &Points, net: Option<&Net>, monitor: &dyn Monitor) -> Result<Form> {
        let (q, d) = (points.dim(), self.n_components);
        let place = (self.neighborhoods.largest() + 1) * d;
        let (mut flat, mut outside) = (vec![0.0; points.len() * place], vec![]);
        if let Some(net) = net {
            let state = || (Mean::default(), vec![0.0; q * d], Coordinates::default());
            fill_rows(&mut flat, place, STAGE, monitor, state, |(mean, basis, out), i, chart| {
                net.tangent(i, mean, basis);
                self.read_along(i, basis, out);
                chart[..out.flat.len()].copy_from_slice(&out.flat);
            })?;
        } else {
            let graph = self.neighborhoods;
            let fit = |gram: &mut Gram, i: usize, chart: &mut [f64], outside: &mut f64| {
                let next = (i + 1).min(graph.len() - 1);
                members(graph, next, true).for_each(|p| points.soon(p));
                *outside = gram.chart(points, i, members(graph, i, true), d, chart);
            };
            outside = vec![0.0; points.len()];
            fill_rows_and(&mut flat, place, &mut outside, STAGE, monitor, Gram::default, fit)?;
        }
        Ok(Form::Charts { place, flat, outside })
    }

    /// The charts of neighborhoods in coordinates of their own: along their principal directions.
    fn principal_charts(&self, monitor: &dyn Monitor) -> Result<Form> {
        let (graph, d) = (self.neighborhoods, self.n_components);
        let place = (graph.largest() + 1) * d;
        let mut flat = vec![0.0; graph.len() * place];
        let (state, with) =
            (|| (Local::default(), Tangent::default()), Members { include_self: true, at_least: d });
        fill_rows(&mut flat, place, STAGE, monitor, state, |(local, tangent), i, chart| {
            self.source.load_reduced(graph, i, with, local);
            tangent.fit(local, local.dim, d);
            for p in 0..local.size {
                (0..d).for_each(|a| chart[p * d + a] = tangent.chart[a * local.padded + p]);
            }
        })?;
        Ok(Form::Charts { place, flat, outside: vec![] })
    }

    /// Dimension of the tangents and of the embedding.
    pub fn n_components(&self) -> usize {
        self.n_components
    }

    /// Source of coordinates.
    pub fn source(&self) -> Source<'a, 'p> {
        self.source
    }

    /// The graph.
    pub fn neighborhoods(&self) -> &'a Neighborhoods<'a> {
        self.neighborhoods
    }

    /// Writes the coordinates of neighborhood `i`. Cost: O(k q d) or less.
    pub fn read(&self, i: usize, out: &mut Coordinates) {
        let (q, d) = (self.source.dim(), self.n_components);
        match &*self.form {
            Form::Bases { flat, .. } => self.read_along(i, &flat[i * q * d..(i + 1) * q * d], out),
            Form::Charts { place, flat, .. } => {
                let size = self.neighborhoods.of(i).len() + 1;
                out.dim = d;
                out.flat.clear();
                out.flat.extend_from_slice(&flat[i * place..][..size * d]);
            }
            Form::Whole => self.read_whole(i, out),
        }
    }

    /// Writes (x_p - x_i) P for every p of neighborhood `i`, where the columns of `basis` are those of P. Without points
    /// there are no such coordinates, and nothing is written.
    pub fn read_along(&self, i: usize, basis: &[f64], out: &mut Coordinates) {
        let (q, d) = (self.source.dim(), self.n_components);
        out.dim = d;
        out.flat.clear();
        let Source::Points(points) = self.source else { return };
        let own = first(&mut out.own, q);
        points.copy_row(i, own);
        let row = first(&mut out.row, q);
        for p in members(self.neighborhoods, i, true) {
            points.copy_row(p, row);
            row.iter_mut().zip(own.iter()).for_each(|(r, o)| *r -= o);
            out.flat.extend(basis.chunks_exact(q).map(|axis| row_dot(axis, row)));
        }
    }

    fn read_whole(&self, i: usize, out: &mut Coordinates) {
        let local = &mut out.local;
        let with = Members { include_self: true, at_least: self.n_components };
        self.source.load_reduced(self.neighborhoods, i, with, local);
        out.dim = local.dim;
        out.flat.clear();
        for p in 0..local.size {
            out.flat.extend((0..local.dim).map(|a| local.x[a * local.padded + p]));
        }
    }

    /// Share of the variance of neighborhood `i` outside its chart; 0 if all its points coincide.
    pub fn outside(&self, i: usize, chart: &mut Coordinates, local: &mut Local) -> f64 {
        if let Form::Bases { outside, .. } | Form::Charts { outside, .. } = &*self.form
            && let Some(&share) = outside.get(i)
        {
            return share;
        }
        self.read(i, chart);
        match self.source {
            Source::Points(points) => {
                local.load(points, members(self.neighborhoods, i, true), points.dim());
            }
            Source::Patches(patches) => patches.read(i, true, local),
        }
        let share = 1.0 - spread2(&chart.flat, chart.dim) / local.norm2;
        if local.norm2 > 0.0 { share.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// P_i for each i, column after column, if bases are stored.
    pub(crate) fn bases(&self) -> Option<&Arc<Vec<f64>>> {
        if let Form::Bases { flat, .. } = &*self.form { Some(flat) } else { None }
    }

    /// Form in which this atlas holds its tangents.
    pub fn tangents(&self) -> Tangents {
        match *self.form {
            Form::Bases { .. } => Tangents::Known,
            Form::Charts { .. } => Tangents::Charted,
            Form::Whole => Tangents::None,
        }
    }

    /// Writes the rotation of chart `c` relative to chart `i`, column after column: P_i'P_c if bases are stored, else
    /// an estimate from the points in both neighborhoods. Without tangents nothing is written. That of charts from
    /// distances is orthogonal if they agree and their common points extend equally in all directions; it falls with
    /// the narrowest extent, which decides a reflection.
    pub fn agreement(&self, i: usize, c: usize, out: &mut [f64]) {
        let (q, d) = (self.source.dim(), self.n_components);
        match &*self.form {
            Form::Bases { flat, .. } => {
                let basis = |i: usize| &flat[i * q * d..][..q * d];
                self.compare_tangents(basis(i), basis(c), out);
            }
            Form::Charts { place, flat, .. } => {
                let chart = |i: usize| flat[i * place..][..*place].chunks_exact(d);
                let sizes = self.compare(i, c, chart(i), chart(c), out);
                if matches!(self.source, Source::Patches(_)) {
                    let unit = if sizes.theirs > 0.0 && sizes.shared > 0.0 {
                        d as f64 * sizes.whole / (sizes.shared * sizes.theirs).sqrt()
                    } else {
                        0.0
                    };
                    out.iter_mut().for_each(|v| *v *= unit);
                }
            }
            Form::Whole => out.fill(0.0),
        }
    }

    /// The product of two charts over the points in both, about the means of these points, as a share of the first.
    fn compare<'c>(
        &self,
        i: usize,
        c: usize,
        own: impl Iterator<Item = &'c [f64]>,
        theirs: impl Iterator<Item = &'c [f64]> + Clone,
        out: &mut [f64],
    ) -> Sizes {
        let d = self.n_components;
        let (mut whole2, mut count, mut sums) = (0.0, 0.0, vec![0.0; 2 * d]);
        let (mut shared2, mut theirs2) = (0.0, 0.0);
        out.fill(0.0);
        for (p, x) in members(self.neighborhoods, i, true).zip(own) {
            whole2 += plain_dot(x, x);
            let shared = members(self.neighborhoods, c, true).zip(theirs.clone()).find(|(r, _)| *r == p);
            if let Some((_, y)) = shared {
                count += 1.0;
                shared2 += plain_dot(x, x);
                theirs2 += plain_dot(y, y);
                (0..d * d).for_each(|ab| out[ab] += x[ab % d] * y[ab / d]);
                sums.iter_mut().zip(x.iter().chain(y)).for_each(|(sum, v)| *sum += v);
            }
        }
        if whole2 > 0.0 && count > 0.0 {
            let (x, y) = sums.split_at(d);
            (0..d * d).for_each(|ab| out[ab] = (out[ab] - x[ab % d] * y[ab / d] / count) / whole2);
            shared2 -= plain_dot(x, x) / count;
            theirs2 -= plain_dot(y, y) / count;
        }
        Sizes { whole: whole2, shared: shared2, theirs: theirs2 }
    }

    /// Writes P_i, column after column, in the coordinates of the data; zeros if there are no points.
    pub fn tangent(&self, i: usize, basis: &mut [f64]) {
        let Source::Points(points) = self.source else { return basis.fill(0.0) };
        let (mut local, mut tangent) = (Local::default(), Tangent::default());
        let own = members(self.neighborhoods, i, true);
        fit_tangent(points, own, self.n_components, &mut local, &mut tangent);
        widen(&local, &tangent, self.n_components, basis);
    }

    /// Writes P_i'P_c of stored charts for every c of `others`, column after column, exactly: from the coordinates of
    /// all their points along P_i. For charts from distances see [`Atlas::agreement`]. Does nothing for other
    /// forms. Cost: O(m q d) for m points in total.
    pub fn agreements_of_points(&self, i: usize, others: &[u32], gram: &mut Gram, out: &mut [f64]) {
        let Form::Charts { place, flat, .. } = &*self.form else { return out.fill(0.0) };
        let d = self.n_components;
        let Source::Points(points) = self.source else {
            let each = others.iter().zip(out.chunks_exact_mut(d * d));
            return each.for_each(|(&c, out)| self.agreement(i, c as usize, out));
        };
        let of = |i: usize| members(self.neighborhoods, i, true);
        let weights = |i: usize| regression(&flat[i * place..][..of(i).len() * d], d);
        gram.keep_directions(points, i, of(i), &weights(i));
        out.fill(0.0);
        for (others, out) in others.chunks(ASKED).zip(out.chunks_mut(ASKED * d * d)) {
            let mut shared: Vec<u32> =
                others.iter().flat_map(|&c| of(c as usize)).map(|p| p as u32).collect();
            shared.sort_unstable();
            shared.dedup();
            let along = gram.along(points, i, shared.iter().map(|&p| p as usize));
            for (&c, out) in others.iter().zip(out.chunks_exact_mut(d * d)) {
                let weights = weights(c as usize);
                vectorized(
                    #[inline(always)]
                    || {
                        for (p, weights) in of(c as usize).zip(weights.chunks_exact(d)) {
                            let Ok(at) = shared.binary_search(&(p as u32)) else { continue };
                            let along = &along[at * d..][..d];
                            for (column, weight) in out.chunks_exact_mut(d).zip(weights) {
                                column.iter_mut().zip(along).for_each(|(o, along)| *o += along * weight);
                            }
                        }
                    },
                );
            }
        }
    }

    /// Writes P_i'P_c of two tangents, column after column.
    pub fn compare_tangents(&self, own: &[f64], theirs: &[f64], out: &mut [f64]) {
        let (q, d) = (self.source.dim(), self.n_components);
        for (e, theirs) in theirs.chunks_exact(q).enumerate() {
            own.chunks_exact(q).enumerate().for_each(|(a, own)| out[e * d + a] = row_dot(own, theirs));
        }
    }

    /// Writes P_i'(x_j - x_i). With bases `j` may be any point, with charts only a neighbor of `i`. Returns false if it
    /// is unknown. Cost: O(q d).
    #[inline]
    pub fn step(&self, i: usize, j: usize, own: &mut Vec<f64>, row: &mut Vec<f64>, out: &mut [f64]) -> bool {
        let (q, d) = (self.source.dim(), self.n_components);
        match &*self.form {
            Form::Bases { flat, .. } => {
                let Source::Points(points) = self.source else { return false };
                let (own, row) = (first(own, q), first(row, q));
                points.copy_row(i, own);
                points.copy_row(j, row);
                row.iter_mut().zip(own.iter()).for_each(|(r, o)| *r -= o);
                let basis = flat[i * q * d..][..q * d].chunks_exact(q);
                out.iter_mut().zip(basis).for_each(|(out, axis)| *out = row_dot(axis, row));
                true
            }
            Form::Charts { place, flat, .. } => {
                let position = self.neighborhoods.of(i).iter().position(|&p| p as usize == j);
                let Some(at) = position else { return false };
                let chart = &flat[i * place..][..*place];
                (0..d).for_each(|a| out[a] = chart[(at + 1) * d + a] - chart[a]);
                true
            }
            Form::Whole => false,
        }
    }
}

/// Squared sizes: of the first chart, and of the parts that two charts share.
struct Sizes {
    whole: f64,
    shared: f64,
    theirs: f64,
}

/// Local PCA of some of the points.
pub(crate) fn fit_tangent(
    points: &Points,
    members: impl ExactSizeIterator<Item = usize>,
    d: usize,
    local: &mut Local,
    tangent: &mut Tangent,
) {
    match (points.dim(), d) {
        (3, 2) => {
            local.load(points, members, 3);
            tangent.fit(local, 3, 2);
        }
        (2, 2) => {
            local.load(points, members, 2);
            tangent.fit(local, 2, 2);
        }
        _ => {
            local.load_reduced(points, members, d);
            tangent.fit(local, local.dim, d);
        }
    }
}

/// The squared distances of points from their mean, together.
fn spread2(flat: &[f64], dim: usize) -> f64 {
    let count = (flat.len() / dim) as f64;
    let axis = |a: usize| flat.iter().skip(a).step_by(dim);
    let along = |a: usize| {
        let mean = axis(a).sum::<f64>() / count;
        axis(a).map(|v| (v - mean) * (v - mean)).sum::<f64>()
    };
    (0..dim).map(along).sum()
}

/// T (T'T)^-1 for a chart about its mean: the weights of its points in its directions.
fn regression(chart: &[f64], d: usize) -> Vec<f64> {
    let count = (chart.len() / d) as f64;
    let mut centered = chart.to_vec();
    for b in 0..d {
        let mean = chart.iter().skip(b).step_by(d).sum::<f64>() / count;
        centered.iter_mut().skip(b).step_by(d).for_each(|v| *v -= mean);
    }
    let inverse = inverse_scatter(&centered, d);
    let mut weights = Vec::with_capacity(centered.len());
    for t in centered.chunks_exact(d) {
        weights.extend(inverse.chunks_exact(d).map(|row| plain_dot(row, t)));
    }
    weights
}

/// The inverse of a diagonal matrix, as the scatter of a chart is along principal axes.
fn inverse_diagonal(scatter: &[f64], d: usize) -> Option<Vec<f64>> {
    let peak = (0..d).map(|a| scatter[a * (d + 1)]).fold(0.0, f64::max);
    let on = |ab: usize| ab.is_multiple_of(d + 1);
    let diagonal = (0..d * d).all(|ab| on(ab) || scatter[ab].abs() <= 1e-12 * peak);
    let invert = |ab: usize| match on(ab) && scatter[ab] > NO_EXTENT * peak {
        true => 1.0 / scatter[ab],
        false => 0.0,
    };
    diagonal.then(|| (0..d * d).map(invert).collect())
}

/// (T'T)^-1 over the directions in which the points of a chart have extent.
fn inverse_scatter(chart: &[f64], d: usize) -> Vec<f64> {
    let mut scatter = vec![0.0; d * d];
    for t in chart.chunks_exact(d) {
        for (row, a) in scatter.chunks_exact_mut(d).zip(t) {
            row.iter_mut().zip(t).for_each(|(s, b)| *s += a * b);
        }
    }
    if let Some(inverse) = inverse_diagonal(&scatter, d) {
        return inverse;
    }
    let mut extents2 = vec![0.0; d];
    symmetric_eigen(&mut scatter, d, &mut extents2, &mut Vec::new());
    let mut inverse = vec![0.0; d * d];
    for (axis, &extent2) in scatter.chunks_exact(d).zip(&extents2) {
        if extent2 > NO_EXTENT * extents2[0] {
            (0..d * d).for_each(|ab| inverse[ab] += axis[ab / d] * axis[ab % d] / extent2);
        }
    }
    inverse
}

/// The directions of a tangent in the coordinates of the data.
pub(super) fn widen(local: &Local, tangent: &Tangent, d: usize, basis: &mut [f64]) {
    let q = basis.len() / d;
    for (j, axis) in basis.chunks_exact_mut(q).enumerate() {
        local.widen(column(&tangent.basis, local.dim, j), axis);
    }
}

/// The product of two rows of the data.
#[inline(always)]
fn row_dot(a: &[f64], b: &[f64]) -> f64 {
    if a.len() > SHORT { long_dot(a, b) } else { plain_dot(a, b) }
}

/// The sum of products, in order: axes of the data are few.
#[inline(always)]
fn plain_dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |sum, (x, y)| sum + x * y)
}
