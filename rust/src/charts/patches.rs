//! Charts from distances: neighborhoods of which only the distances between their points are known.
//!
//! A neighborhood whose distances are all measured has the coordinates of their classical scaling, in as many
//! dimensions as they need: those of the points up to a motion, if the distances are Euclidean. Other neighborhoods
//! have d dimensions: the missing distances are completed by shortest paths within the neighborhood, classical scaling
//! of these begins, and the stress of the measured distances is minimized point by point, by majorization (de Leeuw
//! 1977). Paths are too long, which classical scaling alone would pass on to the embedding.
//!
//! Cost: O(m^3) for a neighborhood of m points. Memory: m coordinates per point of a complete neighborhood, d of others.

use super::local::{LANES, Local};
use super::tangent::members;
use crate::csr::row_pointer;
use crate::error::{Error, Result, check_rows};
use crate::linalg::{column, first, symmetric_eigen};
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;
use crate::parallel::{fill_rows_and, map_blocks};
use crate::points::Points;

const STAGE: &str = "charts";
const SHAPES: &str = "frames, shapes"; // Refinement asks for these.

/// Eigenvalues up to this share of the largest are rounding, and give no dimension.
const NO_EXTENT: f64 = 1e-13;

/// Times that each point of a neighborhood with gaps is moved to where its distances want it. More hardly change it.
const SWEEPS: usize = 20;

/// The neighborhoods of a graph, each in coordinates of its own.
#[derive(Debug, Clone)]
pub struct Patches {
    n_components: usize,
    graph: Neighborhoods<'static>,
    /// The distance of each neighbor in the lists of the graph.
    lengths: Vec<f64>,
    /// Begin and end of the coordinates of each neighborhood.
    starts: Vec<usize>,
    /// The coordinates of each neighborhood as in [`Local`]: coordinate after coordinate, padded with zeros.
    flat: Vec<f64>,
    /// Largest number of coordinates of a neighborhood.
    dim: usize,
    /// Number of neighborhoods of which some distances are missing.
    n_incomplete: usize,
}

/// Measured distances: a symmetric graph, and a distance for each of its entries. The lists are in rising order.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'a> {
    graph: &'a Neighborhoods<'a>,
    distances: &'a [f64],
}

impl<'a> Measured<'a> {
    /// Fails if there is not one distance for each entry of the graph.
    pub fn new(graph: &'a Neighborhoods<'a>, distances: &'a [f64]) -> Result<Self> {
        check_rows(("distances", distances.len()), ("the measured pairs", graph.indices().len()))?;
        Ok(Measured { graph, distances })
    }

    fn between(&self, i: usize, j: usize) -> Option<f64> {
        let place = self.graph.of(i).binary_search(&(j as u32)).ok()?;
        Some(self.distances[self.graph.start(i) + place])
    }
}

impl Patches {
    /// Makes charts of dimension `n_components` for the neighborhoods of `graph`.
    ///
    /// Fails if the graph has another number of points, or lists a neighbor whose distance is not measured.
    pub fn new(
        measured: Measured,
        graph: &Neighborhoods,
        n_components: usize,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        if n_components == 0 {
            return Err(Error::NoComponents);
        }
        check_rows(("the measured pairs", measured.graph.len()), ("the neighborhood graph", graph.len()))?;
        let blocks = map_blocks(graph.len(), STAGE, monitor, |block| {
            let mut scaling = Scaling { n_components, ..Scaling::default() };
            block.map(|i| scaling.add(measured, graph, i)).collect::<Result<Vec<_>>>()?;
            Ok(scaling.made)
        })?;
        let blocks: Vec<Block> = blocks.into_iter().collect::<Result<_>>()?;
        let sizes = blocks.iter().flat_map(|block| &block.sizes);
        let starts = row_pointer::<i64>(sizes.copied()).into_iter().map(|start| start as usize).collect();
        let n_incomplete = blocks.iter().map(|block| block.n_incomplete).sum();
        let dim = blocks.iter().map(|block| block.dim).fold(n_components, usize::max);
        let (mut lengths, mut flat) = (Vec::with_capacity(graph.indices().len()), Vec::new());
        for block in blocks {
            lengths.extend(block.lengths);
            flat.extend(block.flat);
        }
        let graph = owned(graph);
        Ok(Patches { n_components, graph, lengths, starts, flat, dim, n_incomplete })
    }

    /// The neighborhoods of points, each in as few coordinates as hold it, but at least `n_components`.
    ///
    /// Loops over the neighborhoods of wide data read these instead. Cost: O(n m^2 q) for neighborhoods of m points.
    pub fn of_points(
        points: &Points,
        graph: &Neighborhoods,
        n_components: usize,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        super::check_components(n_components, points.dim())?;
        super::check_lengths(points, "X", graph)?;
        let most = graph.largest() + 1;
        let place = most.max(n_components) * most.next_multiple_of(LANES);
        let (mut flat, mut dims) = (vec![0.0; points.len() * place], vec![0; points.len()]);
        fill_rows_and(&mut flat, place, &mut dims, SHAPES, monitor, Local::default, |local, i, row, dim| {
            local.load_reduced(points, members(graph, i, true), n_components);
            row[..local.x.len()].copy_from_slice(&local.x);
            *dim = local.dim;
        })?;
        let sizes = (0..points.len()).map(|i| dims[i] * (graph.of(i).len() + 1).next_multiple_of(LANES));
        let starts = packed(&mut flat, place, sizes);
        let (dim, graph) = (dims.into_iter().fold(n_components, usize::max), owned(graph));
        let mut patches =
            Patches { n_components, graph, lengths: vec![], starts, flat, dim, n_incomplete: 0 };
        patches.lengths = (0..points.len()).flat_map(|i| patches.distances(i)).collect();
        Ok(patches)
    }

    /// The distance of each neighbor of point `i`, from their coordinates.
    fn distances(&self, i: usize) -> Vec<f64> {
        let size = self.graph.of(i).len() + 1;
        let axes = self.coordinates(i).chunks_exact(size.next_multiple_of(LANES));
        let apart2 = |p: usize| axes.clone().map(|axis| (axis[p] - axis[0]).powi(2)).sum::<f64>();
        (1..size).map(|p| apart2(p).sqrt()).collect()
    }

    /// Number of neighborhoods.
    #[allow(clippy::len_without_is_empty)] // those of a graph without points are of no use
    pub fn len(&self) -> usize {
        self.graph.len()
    }

    /// Largest number of coordinates of a neighborhood.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Number of neighborhoods of which some distances are missing.
    pub fn n_incomplete(&self) -> usize {
        self.n_incomplete
    }

    /// The same neighborhoods in another order, which lists each once. `graph` is their graph in this order.
    pub fn renumbered(&self, order: &[u32], graph: &Neighborhoods) -> Self {
        let old = |i: u32| i as usize;
        let sizes = order.iter().map(|&i| self.starts[old(i) + 1] - self.starts[old(i)]);
        let starts = row_pointer::<i64>(sizes).into_iter().map(|start| start as usize).collect();
        let (mut lengths, mut flat) =
            (Vec::with_capacity(self.lengths.len()), Vec::with_capacity(self.flat.len()));
        for &i in order {
            lengths.extend_from_slice(self.lengths_of(old(i)));
            flat.extend_from_slice(self.coordinates(old(i)));
        }
        let graph = owned(graph);
        Patches { graph, lengths, starts, flat, ..*self }
    }

    /// Loads neighborhood `i`, with its own point or without.
    #[inline(always)]
    pub fn read(&self, i: usize, include_self: bool, local: &mut Local) {
        local.copy_centered(self.coordinates(i), self.graph.of(i).len() + 1, self.dim_of(i));
        if !include_self {
            local.drop_first();
        }
    }

    fn coordinates(&self, i: usize) -> &[f64] {
        &self.flat[self.starts[i]..self.starts[i + 1]]
    }

    fn dim_of(&self, i: usize) -> usize {
        self.coordinates(i).len() / (self.graph.of(i).len() + 1).next_multiple_of(LANES)
    }

    fn lengths_of(&self, i: usize) -> &[f64] {
        &self.lengths[self.graph.start(i)..][..self.graph.of(i).len()]
    }

    /// The distance of `i` and `j`, of which one lists the other.
    fn length(&self, i: usize, j: usize) -> f64 {
        let listed = |i: usize, j: usize| {
            let place = self.graph.of(i).iter().position(|&p| p as usize == j)?;
            Some(self.lengths_of(i)[place])
        };
        listed(i, j).or_else(|| listed(j, i)).unwrap_or(f64::INFINITY)
    }
}

/// Source of the coordinates of neighborhoods.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a, 'p> {
    /// Points, which all neighborhoods share.
    Points(&'a Points<'p>),
    /// Charts from distances.
    Patches(&'a Patches),
}

impl<'a, 'p> From<&'a Points<'p>> for Source<'a, 'p> {
    fn from(points: &'a Points<'p>) -> Self {
        Source::Points(points)
    }
}

impl<'a> From<&'a Patches> for Source<'a, '_> {
    fn from(patches: &'a Patches) -> Self {
        Source::Patches(patches)
    }
}

impl<'a, 'p> Source<'a, 'p> {
    /// Number of points.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        match self {
            Source::Points(points) => points.len(),
            Source::Patches(patches) => patches.len(),
        }
    }

    /// Number of coordinates of a point, the largest of all neighborhoods.
    pub fn dim(&self) -> usize {
        match self {
            Source::Points(points) => points.dim(),
            Source::Patches(patches) => patches.dim(),
        }
    }

    /// The points, which `what` needs.
    pub fn points(&self, what: &'static str) -> Result<&'a Points<'p>> {
        match self {
            Source::Points(points) => Ok(points),
            Source::Patches(_) => Err(Error::NoPoints { what }),
        }
    }

    /// Fails unless these are the neighborhoods of `graph`, for embeddings in `n_components` dimensions.
    pub(crate) fn check(&self, graph: &Neighborhoods, n_components: usize) -> Result<()> {
        super::check_components(n_components, self.dim())?;
        check_rows(("X", self.len()), ("the neighborhood graph", graph.len()))?;
        let Source::Patches(patches) = self else { return Ok(()) };
        let right = "the neighborhoods with distances";
        check_rows(("the neighborhood graph", graph.indices().len()), (right, patches.lengths.len()))?;
        if n_components == patches.n_components {
            return Ok(());
        }
        let (left, left_dim, right_dim) = ("the embedding", n_components, patches.n_components);
        Err(Error::DimensionMismatch { left, left_dim, right, right_dim })
    }

    /// Loads neighborhood `i` in at most max(`at_least`, number of its points) coordinates.
    pub(crate) fn load_reduced(&self, graph: &Neighborhoods, i: usize, with: Members, local: &mut Local) {
        match self {
            Source::Points(points) => {
                local.load_reduced(points, members(graph, i, with.include_self), with.at_least);
            }
            Source::Patches(patches) => patches.read(i, with.include_self, local),
        }
    }

    /// The distances of point `i` to its neighbors in a graph whose entries are among the pairs of neighbors.
    pub(crate) fn lengths(&self, graph: &Neighborhoods, i: usize, lengths: &mut Vec<f64>) {
        lengths.clear();
        match self {
            Source::Points(points) => {
                let (mut own, mut row) = (vec![0.0; points.dim()], vec![0.0; points.dim()]);
                points.copy_row(i, &mut own);
                lengths.extend(graph.of(i).iter().map(|&j| {
                    points.copy_row(j as usize, &mut row);
                    crate::neighbors::paths::distance(&own, &row)
                }));
            }
            Source::Patches(patches) => {
                lengths.extend(graph.of(i).iter().map(|&j| patches.length(i, j as usize)));
            }
        }
    }
}

/// The points of a neighborhood to load, and the least number of their coordinates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Members {
    pub include_self: bool,
    pub at_least: usize,
}

/// The neighborhoods of a block of points.
#[derive(Debug, Default)]
struct Block {
    lengths: Vec<f64>,
    sizes: Vec<usize>,
    flat: Vec<f64>,
    dim: usize,
    n_incomplete: usize,
}

/// Scales one neighborhood after the other. Its memory is reused.
#[derive(Debug, Default)]
struct Scaling {
    n_components: usize,
    made: Block,
    members: Vec<usize>,
    /// The measured distances, infinite where there is none.
    known: Vec<f64>,
    /// All distances.
    paths: Vec<f64>,
    products: Vec<f64>,
    values: Vec<f64>,
    scratch: Vec<f64>,
    chart: Vec<f64>,
}

impl Scaling {
    fn add(&mut self, measured: Measured, graph: &Neighborhoods, i: usize) -> Result<()> {
        self.members.clear();
        self.members.extend(members(graph, i, true));
        let (m, d) = (self.members.len(), self.n_components);
        let complete = self.measure(measured)?;
        self.made.lengths.extend_from_slice(&self.paths[1..m]);
        self.scale();
        let positive = self.values[..m].iter().filter(|&&v| v > NO_EXTENT * self.values[0]).count();
        let dim = if complete { positive.max(d) } else { d };
        self.project(dim);
        if !complete {
            self.made.n_incomplete += 1;
            (0..SWEEPS).for_each(|_| self.sweep());
            center(&mut self.chart, m, dim);
        }
        let padded = m.next_multiple_of(LANES);
        self.made.sizes.push(dim * padded);
        self.made.dim = self.made.dim.max(dim);
        for axis in self.chart.chunks_exact(m) {
            self.made.flat.extend_from_slice(axis);
            self.made.flat.resize(self.made.flat.len() + padded - m, 0.0);
        }
        Ok(())
    }

    /// Reads the distances of all pairs, and completes them by shortest paths. Says whether all were measured.
    fn measure(&mut self, measured: Measured) -> Result<bool> {
        let m = self.members.len();
        let known = first(&mut self.known, m * m);
        let mut complete = true;
        for a in 0..m {
            known[a * m + a] = 0.0;
            for b in 0..a {
                let found = measured.between(self.members[a], self.members[b]);
                if found.is_none() && b == 0 {
                    return Err(Error::NoDistance { point: self.members[0], neighbor: self.members[a] });
                }
                complete &= found.is_some();
                let length = found.unwrap_or(f64::INFINITY);
                (known[a * m + b], known[b * m + a]) = (length, length);
            }
        }
        let paths = first(&mut self.paths, m * m);
        paths.copy_from_slice(known);
        if complete {
            return Ok(true);
        }
        for middle in 0..m {
            for a in 0..m {
                let there = paths[a * m + middle];
                (0..m).for_each(|b| paths[a * m + b] = paths[a * m + b].min(there + paths[middle * m + b]));
            }
        }
        let measured = paths.iter_mut().zip(&*known).filter(|(_, known)| known.is_finite());
        measured.for_each(|(path, known)| *path = *known);
        Ok(false)
    }

    /// The eigenvectors of -H D^2 H / 2, and its eigenvalues.
    fn scale(&mut self) {
        let m = self.members.len();
        let (products, values) = (first(&mut self.products, m * m), first(&mut self.values, m));
        products.iter_mut().zip(&self.paths).for_each(|(product, path)| *product = -path * path / 2.0);
        let means: Vec<f64> =
            products.chunks_exact(m).map(|row| row.iter().sum::<f64>() / m as f64).collect();
        let mean = means.iter().sum::<f64>() / m as f64;
        for (a, row) in products.chunks_exact_mut(m).enumerate() {
            row.iter_mut().zip(&means).for_each(|(v, mean_b)| *v += mean - means[a] - mean_b);
        }
        symmetric_eigen(products, m, values, &mut self.scratch);
    }

    /// The first `dim` coordinates of the classical scaling, coordinate after coordinate.
    fn project(&mut self, dim: usize) {
        let m = self.members.len();
        self.chart.clear();
        self.chart.resize(dim * m, 0.0);
        for (j, axis) in self.chart.chunks_exact_mut(m).enumerate().take(m) {
            let length = self.values[j].max(0.0).sqrt();
            axis.iter_mut().zip(column(&self.products, m, j)).for_each(|(v, share)| *v = length * share);
        }
        center(&mut self.chart, m, dim);
    }

    /// Moves every point to the mean of where its measured distances want it: no step raises the stress.
    fn sweep(&mut self) {
        let (m, d) = (self.members.len(), self.n_components);
        let moved = first(&mut self.scratch, d);
        for p in 0..m {
            let (mut count, chart) = (0.0, &self.chart);
            moved.fill(0.0);
            for q in (0..m).filter(|&q| q != p && self.known[p * m + q].is_finite()) {
                let apart2: f64 = (0..d).map(|a| (chart[a * m + p] - chart[a * m + q]).powi(2)).sum();
                let ratio = if apart2 > 0.0 { self.known[p * m + q] / apart2.sqrt() } else { 0.0 };
                count += 1.0;
                (0..d).for_each(|a| {
                    moved[a] += chart[a * m + q] + ratio * (chart[a * m + p] - chart[a * m + q]);
                });
            }
            if count > 0.0 {
                (0..d).for_each(|a| self.chart[a * m + p] = moved[a] / count);
            }
        }
    }
}

/// Moves rows of `sizes` numbers, which begin every `place` numbers, next to each other. Returns where each begins and
/// the last ends.
fn packed(flat: &mut Vec<f64>, place: usize, sizes: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut starts = vec![0];
    let mut end = 0;
    for (i, size) in sizes.enumerate() {
        flat.copy_within(i * place..i * place + size, end);
        end += size;
        starts.push(end);
    }
    flat.truncate(end);
    starts
}

fn owned(graph: &Neighborhoods) -> Neighborhoods<'static> {
    let k = graph.largest();
    match graph.clone().into_parts() {
        (Some(indptr), indices) => Neighborhoods::ragged(indptr, indices),
        (None, indices) => Neighborhoods::fixed(k, indices),
    }
}

/// Takes the mean of every coordinate of `m` points out of it.
fn center(chart: &mut [f64], m: usize, dim: usize) {
    for axis in chart.chunks_exact_mut(m).take(dim) {
        let mean = axis.iter().sum::<f64>() / m as f64;
        axis.iter_mut().for_each(|v| *v -= mean);
    }
}
