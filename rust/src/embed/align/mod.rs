//! Alignment of the tangents (Goldberg & Ritov, sections 4.2 and 4.3): orthogonal O_i such that the frames
//! A_i = P_i O_i of neighbours are as close as they can be, eq. 9.
//!
//! f = sum over i and its neighbours j of |A_i - A_j|^2 = sum of 2 d - 2 tr(O_i' P_i'P_j O_j): all that it takes of the
//! data are the products P_i'P_j on the edges of the graph, which are d x d whatever the dimension of the data.

mod anneal;
mod sides;
mod spectral;
mod tree;

use std::ops::Range;

use pulp::{Arch, NullaryFnOnce};
use rayon::prelude::*;

use crate::charts::{Atlas, Gram, Tangents};
use crate::error::{Error, Result};
use crate::linalg::{dot, first, polar};
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;
use crate::parallel::map_points;

pub use anneal::{AnnealParams, anneal};
pub(super) use sides::Sides;
pub use spectral::{blocks, round};
pub use tree::{Tree, open_edges, tree, tree_of_pieces};

const STAGE: &str = "alignment";

/// Two frames are aligned when tr(A_i'A_j) is at least this share of what the best rotation would give: within 30 degrees.
const ALIGNED: f64 = 0.866;

/// Sweeps end when one lowers f by less than this share of it, or after so many.
const SETTLED: f64 = 1e-4;
const SWEEPS: usize = 200;

/// Or when what one gains is rounding, as a share of what f could be: flat data have nothing to settle.
const ROUNDING: f64 = 1e-14;

/// Frames turned by one thread at a time.
const TOGETHER: usize = 128;

/// Sites between two looks at the monitor.
const SITES: usize = 4096;

/// The undirected neighbourhood graph with P_i'P_j on every edge.
#[derive(Debug, Clone)]
pub struct Connection {
    n_components: usize,
    graph: Neighborhoods<'static>,
    /// d x d for every neighbour of every point, column after column.
    products: Vec<f64>,
    /// How often eq. 9 has the edge: 1 where one end lists the other, 2 where both do.
    counts: Vec<u8>,
    /// f where the frames of neighbours are orthogonal to each other.
    most: f64,
}

/// Frames, and how well they are aligned.
#[derive(Debug, Clone)]
pub struct Aligned {
    /// O_i for every point, d x d, column after column.
    pub turns: Vec<f64>,
    /// Eq. 9.
    pub f: f64,
    /// The share of all points in the largest cluster of aligned neighbours.
    pub aligned: f64,
    /// f from stage to stage.
    pub trace: Vec<f64>,
}

impl Connection {
    /// Compares the tangents of all neighbours. Cost: O(n k q d^2), where only charts are kept O(n k^3 q).
    pub fn new(atlas: &Atlas, monitor: &dyn Monitor) -> Result<Self> {
        let d = atlas.n_components();
        let (graph, counts) = atlas.neighborhoods().mutual();
        let mut products = vec![0.0; graph.indices().len() * d * d];
        fill_edges(&graph, &mut products, d * d, monitor, Gram::default, |gram, i, edge, product| {
            let j = graph.indices()[edge] as usize;
            match atlas.tangents() {
                Tangents::Charted => atlas.agreement_of_points(i, j, gram, product),
                Tangents::Known | Tangents::None => atlas.agreement(i, j, product),
            }
        })?;
        let terms: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        Ok(Connection { n_components: d, graph, products, counts, most: (d as u64 * terms) as f64 })
    }

    /// Of pieces that were embedded apart from each other, in the place of points: the pull Y_i'H Y_j of what two of
    /// them share in the place of P_i'P_j, d x d for each edge of the undirected `graph`, column after column. Eq. 9 is
    /// then what is left between all of them once they are turned: f = sum of |Y_i'H Y_j|_* - tr(O_i' Y_i'H Y_j O_j).
    pub fn of_pieces(graph: &Neighborhoods, products: Vec<f64>, d: usize) -> Result<Self> {
        let graph = graph.symmetrized(); // lists that are symmetric and in order stay what they are
        let (edges, size) = (graph.indices().len(), d * d);
        if products.len() != edges * size {
            let (left, right) = ("the products", "the edges, times d^2,");
            return Err(Error::LengthMismatch {
                left,
                left_len: products.len(),
                right,
                right_len: edges * size,
            });
        }
        let mut scratch = Scratch::default();
        let most = products.chunks_exact(size).map(|product| scratch.nuclear_norm(product, d)).sum();
        Ok(Connection { n_components: d, counts: vec![1; edges], graph, products, most })
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
        &self.products[edge * size..][..size]
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

    /// Writes the sum over the terms of eq. 9 at i of P_i'P_j O_j to `out`: what the neighbours want of O_i.
    #[inline(always)]
    pub fn pull(&self, i: usize, turns: &[f64], out: &mut [f64]) {
        match self.n_components {
            2 => self.pull_sized(i, turns, 2, out),
            3 => self.pull_sized(i, turns, 3, out),
            d => self.pull_sized(i, turns, d, out),
        }
    }

    #[inline(always)]
    fn pull_sized(&self, i: usize, turns: &[f64], d: usize, out: &mut [f64]) {
        let out = &mut out[..d * d];
        out.fill(0.0);
        for edge in self.edges(i) {
            let (turn, count) = (&turns[self.end(edge) * d * d..][..d * d], f64::from(self.counts[edge]));
            let product = &self.products[edge * d * d..][..d * d];
            for b in 0..d {
                for e in 0..d {
                    let share = count * turn[b * d + e];
                    (0..d).for_each(|a| out[b * d + a] += product[e * d + a] * share);
                }
            }
        }
    }

    /// f of eq. 9. Cost: O(n k d^3), as for all below.
    pub fn f(&self, turns: &[f64], monitor: &dyn Monitor) -> Result<f64> {
        let size = self.n_components * self.n_components;
        let shares = map_points(self.graph.len(), STAGE, monitor, Vec::new, |pull, i| {
            self.pull(i, turns, first(pull, size));
            dot(&turns[i * size..][..size], &pull[..size])
        })?;
        Ok((self.most - shares.iter().sum::<f64>()).max(0.0))
    }

    /// Whether the frames of `i` and `j` are as close as a rotation can bring them.
    fn is_aligned(&self, i: usize, edge: usize, turns: &[f64], scratch: &mut Scratch) -> bool {
        let (j, product) = (self.end(edge), self.product(edge));
        let size = product.len();
        let (own, theirs) = (&turns[i * size..][..size], &turns[j * size..][..size]);
        multiply(product, theirs, self.n_components, first(&mut scratch.carried, size));
        let most = scratch.nuclear_norm(product, self.n_components);
        dot(own, &scratch.carried[..size]) >= ALIGNED * most
    }

    /// The largest set of points that aligned neighbours connect, marked.
    pub fn largest_cluster(&self, turns: &[f64], monitor: &dyn Monitor) -> Result<Vec<bool>> {
        let (label, sizes) = self.clusters(turns, monitor)?;
        let largest = (0..sizes.len()).fold(0, |top, c| if sizes[c] > sizes[top] { c } else { top });
        Ok(label.into_iter().map(|c| c as usize == largest).collect())
    }

    /// The cluster of every point, numbered by their first points, and the sizes of all clusters.
    fn clusters(&self, turns: &[f64], monitor: &dyn Monitor) -> Result<(Vec<u32>, Vec<usize>)> {
        let n = self.graph.len();
        let (mut label, mut count) = (vec![u32::MAX; n], 0);
        let (mut queue, mut sizes, mut scratch) = (Vec::new(), Vec::new(), Scratch::default());
        for start in 0..n {
            if label[start] != u32::MAX {
                continue;
            }
            label[start] = count;
            queue.push(start as u32);
            let mut size = 0;
            while let Some(i) = queue.pop() {
                size += 1;
                if size % SITES == 0 {
                    monitor.check()?;
                }
                for edge in self.edges(i as usize) {
                    let j = self.end(edge);
                    if label[j] == u32::MAX && self.is_aligned(i as usize, edge, turns, &mut scratch) {
                        label[j] = count;
                        queue.push(j as u32);
                    }
                }
            }
            sizes.push(size);
            count += 1;
        }
        Ok((label, sizes))
    }

    /// Settles frames by sweeps, if wanted, and says how well they are aligned.
    pub fn finish(&self, mut turns: Vec<f64>, sweep: bool, monitor: &dyn Monitor) -> Result<Aligned> {
        self.check_turns(&turns)?;
        let trace = if sweep { self.sweep(&mut turns, monitor)? } else { vec![] };
        self.judge(turns, trace, monitor)
    }

    /// Frames with what there is to say of them.
    pub(super) fn judge(
        &self,
        turns: Vec<f64>,
        mut trace: Vec<f64>,
        monitor: &dyn Monitor,
    ) -> Result<Aligned> {
        let f = self.f(&turns, monitor)?;
        trace.push(f);
        let cluster = self.largest_cluster(&turns, monitor)?;
        let aligned = cluster.iter().filter(|&&inside| inside).count() as f64 / cluster.len() as f64;
        Ok(Aligned { turns, f, aligned, trace })
    }

    /// Turns one frame after the other to where its neighbours want it, until f stops falling; returns f after each
    /// sweep. Each turn lowers f or leaves it: O_i = polar(sum_j c P_i'P_j O_j) is the best for given neighbours. Those
    /// that are not neighbours of each other are turned at the same time.
    pub fn sweep(&self, turns: &mut [f64], monitor: &dyn Monitor) -> Result<Vec<f64>> {
        let mut f = self.f(turns, monitor)?;
        let (mut trace, rounding) = (vec![f], ROUNDING * self.most);
        let (strangers, mut turned) = (self.strangers(monitor)?, Vec::new());
        for done in 0..SWEEPS {
            monitor.progress(STAGE, done, SWEEPS);
            let mut gain = 0.0;
            for some in &strangers {
                gain += self.turn(some, turns, &mut turned, monitor)?;
            }
            f = (f - gain).max(0.0);
            trace.push(f);
            if gain <= rounding.max(SETTLED * f) {
                break;
            }
        }
        Ok(trace)
    }

    /// Points that have neighbours, in groups without any two neighbours: each goes into the first that has room for it.
    fn strangers(&self, monitor: &dyn Monitor) -> Result<Vec<Vec<u32>>> {
        let mut groups: Vec<Vec<u32>> = Vec::new();
        let mut group_of = vec![usize::MAX; self.graph.len()];
        let mut taken = Vec::new();
        for i in (0..self.graph.len()).filter(|&i| !self.graph.of(i).is_empty()) {
            if i % SITES == 0 {
                monitor.check()?;
            }
            taken.clear();
            taken.resize(groups.len() + 1, false);
            for edge in self.edges(i) {
                if let Some(taken) = taken.get_mut(group_of[self.end(edge)]) {
                    *taken = true;
                }
            }
            let group = taken.iter().position(|&taken| !taken).unwrap_or(groups.len());
            if group == groups.len() {
                groups.push(Vec::new());
            }
            groups[group].push(i as u32);
            group_of[i] = group;
        }
        Ok(groups)
    }

    /// Turns the frames of points that are not neighbours of each other; returns how much lower f is.
    fn turn(
        &self,
        points: &[u32],
        turns: &mut [f64],
        turned: &mut Vec<f64>,
        monitor: &dyn Monitor,
    ) -> Result<f64> {
        let size = self.n_components * self.n_components;
        let turned = first(turned, points.len() * (size + 1));
        let (arch, turns_now) = (Arch::new(), &*turns);
        let batches = turned.par_chunks_mut(TOGETHER * (size + 1)).zip(points.par_chunks(TOGETHER));
        batches.try_for_each_init(
            || (vec![0.0; size], Vec::new()),
            |(pull, scratch), (turned, points)| {
                monitor.check()?;
                let connection = self;
                arch.dispatch(Turn { connection, points, turns: turns_now, turned, pull, scratch });
                Ok(())
            },
        )?;
        let mut gain = 0.0;
        for (&i, turned) in points.iter().zip(turned.chunks_exact(size + 1)) {
            turns[i as usize * size..][..size].copy_from_slice(&turned[..size]);
            gain += turned[size];
        }
        Ok(gain)
    }

    /// Refuses frames of another number of points.
    pub(super) fn check_turns(&self, turns: &[f64]) -> Result<()> {
        check_turns(turns, self.graph.len(), self.n_components)
    }
}

/// Frames as the neighbours of some points want them, each followed by how much lower f is with it.
struct Turn<'a> {
    connection: &'a Connection,
    points: &'a [u32],
    turns: &'a [f64],
    turned: &'a mut [f64],
    pull: &'a mut [f64],
    scratch: &'a mut Vec<f64>,
}

impl NullaryFnOnce for Turn<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        // known sizes take a third less time
        match self.connection.n_components {
            2 => self.with_size(2),
            3 => self.with_size(3),
            4 => self.with_size(4),
            5 => self.with_size(5),
            6 => self.with_size(6),
            8 => self.with_size(8),
            10 => self.with_size(10),
            d => self.with_size(d),
        }
    }
}

impl Turn<'_> {
    #[inline(always)]
    fn with_size(self, d: usize) {
        let Turn { connection, points, turns, turned, pull, scratch } = self;
        for (&i, turned) in points.iter().zip(turned.chunks_exact_mut(d * d + 1)) {
            let i = i as usize;
            connection.pull_sized(i, turns, d, pull);
            let before = dot(&turns[i * d * d..][..d * d], pull);
            let (turned, gain) = turned.split_at_mut(d * d);
            gain[0] = 2.0 * (polar(pull, d, d, turned, scratch) - before).max(0.0);
        }
    }
}

/// Refuses what are not frames of `n` points in `d` dimensions.
pub(super) fn check_turns(turns: &[f64], n: usize, d: usize) -> Result<()> {
    let (left, left_len, right, right_len) = ("the frames", turns.len(), "the points, times d^2,", n * d * d);
    match left_len == right_len {
        true => Ok(()),
        false => Err(Error::LengthMismatch { left, left_len, right, right_len }),
    }
}

/// Reused from edge to edge.
#[derive(Debug, Default)]
struct Scratch {
    carried: Vec<f64>,
    product: Vec<f64>,
    polar: Vec<f64>,
    spare: Vec<f64>,
}

impl Scratch {
    /// The sum of the singular values of a product; finds its orthogonal factor, too.
    #[inline(always)]
    fn nuclear_norm(&mut self, product: &[f64], d: usize) -> f64 {
        let copy = first(&mut self.product, d * d);
        copy.copy_from_slice(product);
        polar(copy, d, d, first(&mut self.polar, d * d), &mut self.spare)
    }
}

/// out = A B, all d x d.
#[inline(always)]
pub(super) fn multiply(a: &[f64], b: &[f64], d: usize, out: &mut [f64]) {
    for (column, b) in out.chunks_exact_mut(d).zip(b.chunks_exact(d)) {
        (0..d).for_each(|row| column[row] = (0..d).map(|e| a[e * d + row] * b[e]).sum());
    }
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
    let mut chunks = Vec::with_capacity(graph.len().div_ceil(SITES));
    let mut rest = values;
    for start in (0..graph.len()).step_by(SITES) {
        let end = (start + SITES).min(graph.len());
        let edges = (start..end).map(|i| graph.of(i).len()).sum::<usize>();
        let chunk;
        (chunk, rest) = rest.split_at_mut(edges * width);
        chunks.push((start..end, chunk));
    }
    chunks.into_par_iter().try_for_each(|(block, chunk)| {
        let mut state = state();
        let mut places = chunk.chunks_exact_mut(width);
        for i in block {
            monitor.check()?;
            let edges = graph.start(i)..graph.start(i) + graph.of(i).len();
            edges.zip(&mut places).for_each(|(edge, place)| f(&mut state, i, edge, place));
        }
        Ok(())
    })
}
