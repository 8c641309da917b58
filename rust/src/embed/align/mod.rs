//! Alignment of the tangents (Goldberg & Ritov, sections 4.2 and 4.3): orthogonal O_i such that the frames
//! A_i = P_i O_i of neighbors are as close as they can be, eq. 9.
//!
//! f = sum over i and its neighbors j of |A_i - A_j|^2 = sum of 2 d - 2 tr(O_i' P_i'P_j O_j). The data enter only by
//! the d x d products P_i'P_j on the edges of the graph.

mod anneal;
mod frames;
mod spectral;
mod sweep;
mod tree;

use std::ops::Range;
use std::sync::OnceLock;

use rayon::prelude::*;

pub(super) use self::frames::{Bases, MOST_COLUMNS};
use crate::charts::{Atlas, Gram, Tangents};
use crate::embed::{check_len, check_sometimes};
use crate::error::Result;
use crate::linalg::{dot, first, polars};
use crate::monitor::{Monitor, Silent};
use crate::neighbors::Neighborhoods;
use crate::parallel::{map_blocks, map_points};
use crate::union_find::UnionFind;

pub(super) use self::tree::carry_along;
pub use anneal::{AnnealParams, anneal};
pub use spectral::{blocks, round};
pub use tree::{Tree, tree, tree_of_pieces};

const STAGE: &str = "alignment";

/// Two frames are aligned if tr(A_i'A_j) is at least this share of the best rotation's: within 30 degrees.
const ALIGNED: f64 = 0.866;

const SITES: usize = 4096; // Points between two checks of the monitor.

/// The undirected neighborhood graph with P_i'P_j on every edge, made when it is first asked for where data are narrow.
#[derive(Debug, Clone)]
pub struct Connection {
    n_components: usize,
    graph: Neighborhoods<'static>,
    /// The tangents of narrow data.
    bases: Option<Bases>,
    /// d x d for every neighbor of every point, column after column.
    products: OnceLock<Vec<f64>>,
    /// Number of terms of the edge in eq. 9: 1 if one end lists the other, 2 if both do.
    counts: Vec<u8>,
    /// f where the frames of neighbors are orthogonal to each other.
    most: f64,
}

/// Frames, and how well they are aligned.
#[derive(Debug, Clone)]
pub struct Aligned {
    /// O_i for every point, d x d, column after column.
    pub rotations: Vec<f64>,
    /// Eq. 9.
    pub f: f64,
    /// The share of all points in the largest cluster of aligned neighbors.
    pub aligned: f64,
    /// The edges whose ends are not aligned, each once: closing the loop through such an edge leaves a turn.
    pub open: Vec<(u32, u32)>,
    /// f from stage to stage.
    pub trace: Vec<f64>,
}

impl Connection {
    /// Compares the tangents of all neighbors. Cost: O(n k q d^2), where only charts are kept O(n k^2 q d).
    pub fn new(atlas: &Atlas, monitor: &dyn Monitor) -> Result<Self> {
        Self::with_reversed(atlas, &atlas.neighborhoods().reversed(), monitor)
    }

    /// The same, if the reversed lists of the graph are known.
    pub fn with_reversed(atlas: &Atlas, reversed: &Neighborhoods, monitor: &dyn Monitor) -> Result<Self> {
        let d = atlas.n_components();
        check_len("the reversed lists", reversed.len(), "the points", atlas.neighborhoods().len())?;
        let (graph, counts) = atlas.neighborhoods().mutual_with(reversed);
        let terms: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        let (most, bases) = ((d as u64 * terms) as f64, Bases::of(atlas));
        monitor.check()?;
        if bases.is_some() {
            return Ok(Connection { n_components: d, graph, bases, products: OnceLock::new(), counts, most });
        }
        let mut products = vec![0.0; graph.indices().len() * d * d];
        let charted = atlas.tangents() == Tangents::Charted;
        fill_points(&graph, &mut products, d * d, monitor, Gram::default, |gram, i, edges, products| {
            // Each edge is compared at its lower end.
            let others = &graph.indices()[edges];
            let below = others.partition_point(|&j| (j as usize) < i);
            let (others, products) = (&others[below..], &mut products[below * d * d..]);
            if charted {
                return atlas.agreements_of_points(i, others, gram, products);
            }
            for (&j, product) in others.iter().zip(products.chunks_exact_mut(d * d)) {
                atlas.agreement(i, j as usize, product);
            }
        })?;
        transpose_below(&graph, &mut products, d, monitor)?;
        Ok(Connection { n_components: d, graph, bases, products: OnceLock::from(products), counts, most })
    }

    /// A connection of pieces that were embedded separately. `products` holds Y_i'H Y_j of the points that two pieces
    /// share, d x d for each edge of the undirected `graph`. f is then sum of |Y_i'H Y_j|_* - tr(O_i' Y_i'H Y_j O_j).
    pub fn of_pieces(graph: &Neighborhoods, products: Vec<f64>, d: usize) -> Result<Self> {
        let graph = graph.symmetrized(); // lists that are symmetric and in order stay what they are
        let (edges, size) = (graph.indices().len(), d * d);
        check_len("the products", products.len(), "the edges, times d^2,", edges * size)?;
        let mut scratch = Scratch::default();
        scratch.factors(products.chunks_exact(size), d);
        let most = scratch.sums.iter().sum();
        let products = OnceLock::from(products);
        Ok(Connection { n_components: d, counts: vec![1; edges], graph, bases: None, products, most })
    }

    /// The dimension d.
    pub fn n_components(&self) -> usize {
        self.n_components
    }

    /// The undirected graph.
    pub fn graph(&self) -> &Neighborhoods<'static> {
        &self.graph
    }

    /// P_i'P_j of an edge, by its place in the graph.
    #[inline(always)]
    pub fn product(&self, edge: usize) -> &[f64] {
        let size = self.n_components * self.n_components;
        &self.products()[edge * size..][..size]
    }

    /// Makes the products in parallel, for work that reads them often.
    pub(super) fn prepare(&self, monitor: &dyn Monitor) -> Result<()> {
        let (Some(bases), None) = (&self.bases, self.products.get()) else { return Ok(()) };
        let size = self.n_components * self.n_components;
        let mut products = vec![0.0; self.graph.indices().len() * size];
        fill_edges(&self.graph, &mut products, size, monitor, <()>::default, |(), i, edge, product| {
            bases.product(i, self.end(edge), product);
        })?;
        let _ = self.products.set(products); // others may have made the same
        Ok(())
    }

    /// Makes them on one thread if they are not prepared: a parallel loop that called this could block on threads of its
    /// own.
    #[inline(always)]
    fn products(&self) -> &[f64] {
        self.products.get_or_init(|| {
            let size = self.n_components * self.n_components;
            let mut products = vec![0.0; self.graph.indices().len() * size];
            if let Some(bases) = &self.bases {
                for (i, edge) in (0..self.graph.len()).flat_map(|i| self.edges(i).map(move |edge| (i, edge)))
                {
                    bases.product(i, self.end(edge), &mut products[edge * size..][..size]);
                }
            }
            products
        })
    }

    /// A_i for every point, column after column, if data are narrow.
    pub(super) fn frames(&self, rotations: &[f64], monitor: &dyn Monitor) -> Result<Option<Vec<f64>>> {
        self.bases.as_ref().map(|bases| bases.frames(rotations, monitor)).transpose()
    }

    /// True if tangents are planes in three dimensions: any two share a line.
    #[inline(always)]
    fn has_normals(&self) -> bool {
        self.n_components == 2 && self.bases.as_ref().is_some_and(|bases| bases.size() == 6)
    }

    /// Writes P_i'P_j of neighbors.
    #[inline(always)]
    fn compare(&self, i: usize, j: usize, out: &mut [f64]) {
        if let Some(bases) = &self.bases {
            return bases.product(i, j, out);
        }
        let at = self.graph.of(i).binary_search(&(j as u32)).unwrap_or(0);
        out.copy_from_slice(self.product(self.edges(i).start + at));
    }

    /// The places of the edges of point `i`.
    #[inline(always)]
    pub fn edges(&self, i: usize) -> Range<usize> {
        self.graph.start(i)..self.graph.start(i) + self.graph.of(i).len()
    }

    /// The other end of an edge.
    #[inline(always)]
    pub fn end(&self, edge: usize) -> usize {
        self.graph.indices()[edge] as usize
    }

    /// f of eq. 9. Cost: O(n k d^3), as for all below.
    pub fn f(&self, rotations: &[f64], monitor: &dyn Monitor) -> Result<f64> {
        if let Some(bases) = &self.bases {
            let frames = bases.frames(rotations, monitor)?;
            return Ok((self.most - bases.agreement(self, &frames, false, monitor)?.0).max(0.0));
        }
        let size = self.n_components * self.n_components;
        let shares = map_points(self.graph.len(), STAGE, monitor, Vec::new, |pull, i| {
            self.pull(i, rotations, first(pull, size));
            dot(&rotations[i * size..][..size], &pull[..size])
        })?;
        Ok((self.most - shares.iter().sum::<f64>()).max(0.0))
    }

    /// Keeps those of some edges of `i` whose frames are as close as a rotation can bring them.
    #[inline(always)]
    fn keep_aligned(&self, i: usize, edges: &mut Vec<usize>, rotations: &[f64], scratch: &mut Scratch) {
        let (d, size) = (self.n_components, self.n_components * self.n_components);
        scratch.factors(edges.iter().map(|&edge| self.product(edge)), d);
        let (mut most, own) = (scratch.sums.iter(), &rotations[i * size..][..size]);
        edges.retain(|&edge| {
            let theirs = &rotations[self.end(edge) * size..][..size];
            multiply(self.product(edge), theirs, d, first(&mut scratch.carried, size));
            most.next().is_some_and(|most| dot(own, &scratch.carried[..size]) >= ALIGNED * most)
        });
    }

    /// The cluster of every point, numbered by their first points, and the sizes of all clusters.
    fn clusters(&self, rotations: &[f64], monitor: &dyn Monitor) -> Result<(Vec<u32>, Vec<usize>)> {
        let n = self.graph.len();
        let (mut label, mut count) = (vec![u32::MAX; n], 0);
        let (mut queue, mut sizes, mut edges) = (Vec::new(), Vec::new(), Vec::new());
        let mut scratch = Scratch::default();
        for start in 0..n {
            if label[start] != u32::MAX {
                continue;
            }
            label[start] = count;
            queue.push(start as u32);
            let mut size = 0;
            while let Some(i) = queue.pop() {
                size += 1;
                check_sometimes(size, monitor)?;
                edges.clear();
                edges.extend(self.edges(i as usize).filter(|&edge| label[self.end(edge)] == u32::MAX));
                self.keep_aligned(i as usize, &mut edges, rotations, &mut scratch);
                for &edge in &edges {
                    label[self.end(edge)] = count;
                    queue.push(self.end(edge) as u32);
                }
            }
            sizes.push(size);
            count += 1;
        }
        Ok((label, sizes))
    }

    /// Improves frames by sweeps, if requested, and measures them.
    pub fn finish(&self, mut rotations: Vec<f64>, sweep: bool, monitor: &dyn Monitor) -> Result<Aligned> {
        self.check_rotations(&rotations)?;
        let trace = if sweep { self.sweep(&mut rotations, monitor)? } else { vec![] };
        self.judge(rotations, trace, monitor)
    }

    /// Measures frames, after sweeps if these would gain anything. All points of a connected graph are one cluster if no
    /// edge is open.
    fn finish_tree(&self, rotations: Vec<f64>, is_connected: bool, monitor: &dyn Monitor) -> Result<Aligned> {
        let Some(bases) = &self.bases else { return self.finish(rotations, true, monitor) };
        let frames = bases.frames(&rotations, monitor)?;
        let (sum, open) = bases.agreement(self, &frames, true, monitor)?;
        let f = (self.most - sum).max(0.0);
        if !self.is_settled(f, &rotations, &frames, monitor)? {
            return self.finish(rotations, true, monitor);
        }
        let n = self.graph.len();
        let largest = if is_connected && open.is_empty() { n } else { self.largest_cluster(&open, monitor)? };
        Ok(Aligned { rotations, f, aligned: largest as f64 / n as f64, open, trace: vec![f] })
    }

    pub(super) fn judge(
        &self,
        rotations: Vec<f64>,
        mut trace: Vec<f64>,
        monitor: &dyn Monitor,
    ) -> Result<Aligned> {
        let (f, open) = match &self.bases {
            Some(bases) => {
                let frames = bases.frames(&rotations, monitor)?;
                let (sum, open) = bases.agreement(self, &frames, true, monitor)?;
                ((self.most - sum).max(0.0), open)
            }
            None => (self.f(&rotations, monitor)?, self.open_edges(&rotations, monitor)?),
        };
        trace.push(f);
        let aligned = self.largest_cluster(&open, monitor)? as f64 / self.graph.len() as f64;
        Ok(Aligned { rotations, f, aligned, open, trace })
    }

    /// The edges whose ends are not aligned, each once.
    pub fn open_edges(&self, rotations: &[f64], monitor: &dyn Monitor) -> Result<Vec<(u32, u32)>> {
        self.check_rotations(rotations)?;
        self.prepare(monitor)?;
        let blocks = map_blocks(self.graph.len(), STAGE, &Silent(monitor), |block| {
            let (mut open, mut aligned, mut scratch) = (vec![], vec![], Scratch::default());
            for i in block {
                let above = || self.edges(i).filter(|&edge| self.end(edge) > i);
                aligned.clear();
                aligned.extend(above());
                self.keep_aligned(i, &mut aligned, rotations, &mut scratch);
                let others = above().filter(|edge| !aligned.contains(edge));
                open.extend(others.map(|edge| (i as u32, self.end(edge) as u32)));
            }
            open
        })?;
        Ok(blocks.concat())
    }

    /// The number of points that are joined by edges which are not `open`, where most are.
    fn largest_cluster(&self, open: &[(u32, u32)], monitor: &dyn Monitor) -> Result<usize> {
        let mut clusters: UnionFind = UnionFind::new(self.graph.len());
        let mut open = open.iter().peekable();
        for i in 0..self.graph.len() {
            check_sometimes(i, monitor)?;
            for &j in self.graph.of(i).iter().filter(|&&j| j as usize > i) {
                if open.next_if(|&&pair| pair == (i as u32, j)).is_none() {
                    clusters.join(i as u32, j, ());
                }
            }
        }
        let mut sizes = vec![0; self.graph.len()];
        clusters.labels().into_iter().for_each(|label| sizes[label as usize] += 1);
        Ok(sizes.into_iter().max().unwrap_or(0))
    }

    pub(super) fn check_rotations(&self, rotations: &[f64]) -> Result<()> {
        check_rotations(rotations, self.graph.len(), self.n_components)
    }
}

/// Fails unless these are frames of `n` points in `d` dimensions.
pub(super) fn check_rotations(rotations: &[f64], n: usize, d: usize) -> Result<()> {
    check_len("the frames", rotations.len(), "the points, times d^2,", n * d * d)
}

/// Reused from point to point.
#[derive(Debug, Default)]
struct Scratch {
    carried: Vec<f64>,
    product: Vec<f64>,
    /// The orthogonal factors of products, and the sums of their singular values.
    polar: Vec<f64>,
    sums: Vec<f64>,
    spare: Vec<f64>,
}

impl Scratch {
    #[inline(always)]
    fn factors<'a>(&mut self, products: impl Iterator<Item = &'a [f64]>, d: usize) {
        self.product.clear();
        products.for_each(|product| self.product.extend_from_slice(product));
        self.polar.resize(self.product.len(), 0.0);
        self.sums.resize(self.product.len() / (d * d), 0.0);
        polars(&mut self.product, d, d, &mut self.polar, &mut self.sums, &mut self.spare);
    }
}

/// out = A B, all d x d.
#[inline(always)]
pub(super) fn multiply(a: &[f64], b: &[f64], d: usize, out: &mut [f64]) {
    for (column, b) in out.chunks_exact_mut(d).zip(b.chunks_exact(d)) {
        (0..d).for_each(|row| column[row] = (0..d).map(|e| a[e * d + row] * b[e]).sum());
    }
}

/// Writes P_i'P_j for all neighbors j < i of every i: the transposes of P_j'P_i.
fn transpose_below(
    graph: &Neighborhoods,
    products: &mut [f64],
    d: usize,
    monitor: &dyn Monitor,
) -> Result<()> {
    let size = d * d;
    for i in 0..graph.len() {
        check_sometimes(i, monitor)?;
        let below = graph.of(i).iter().take_while(|&&j| (j as usize) < i);
        for (edge, &j) in (graph.start(i)..).zip(below) {
            let Ok(at) = graph.of(j as usize).binary_search(&(i as u32)) else { continue };
            let (known, rest) = products.split_at_mut(edge * size);
            let known = &known[(graph.start(j as usize) + at) * size..][..size];
            (0..size).for_each(|ab| rest[ab] = known[ab % d * d + ab / d]);
        }
    }
    Ok(())
}

/// Calls `f(state, i, edge, place)` for every edge of every point, with `width` values for each, in parallel.
pub(super) fn fill_edges<S, T: Send>(
    graph: &Neighborhoods,
    values: &mut [T],
    width: usize,
    monitor: &dyn Monitor,
    state: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, usize, usize, &mut [T]) + Sync,
) -> Result<()> {
    fill_points(graph, values, width, monitor, state, |state, i, edges, places| {
        edges.zip(places.chunks_exact_mut(width)).for_each(|(edge, place)| f(state, i, edge, place));
    })
}

/// Calls `f(state, i, edges, places)` for every point, with `width` values for each of its edges, in parallel.
pub(super) fn fill_points<S, T: Send>(
    graph: &Neighborhoods,
    values: &mut [T],
    width: usize,
    monitor: &dyn Monitor,
    state: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, usize, Range<usize>, &mut [T]) + Sync,
) -> Result<()> {
    let edges = |i: usize| graph.start(i)..graph.start(i) + graph.of(i).len();
    let mut chunks = Vec::with_capacity(graph.len().div_ceil(SITES));
    let mut rest = values;
    for start in (0..graph.len()).step_by(SITES) {
        let end = (start + SITES).min(graph.len());
        let chunk;
        (chunk, rest) = rest.split_at_mut((start..end).map(|i| edges(i).len()).sum::<usize>() * width);
        chunks.push((start..end, chunk));
    }
    chunks.into_par_iter().try_for_each(|(block, chunk)| {
        let (mut state, mut rest) = (state(), chunk);
        for i in block {
            monitor.check()?;
            let places;
            (places, rest) = rest.split_at_mut(edges(i).len() * width);
            f(&mut state, i, edges(i), places);
        }
        Ok(())
    })
}
