//! Alignment along the spanning tree of the edges whose tangents agree best: no annealing, and no short circuits.
//!
//! Tangents of true neighbors nearly agree; those of a short circuit do not. The tree carries the frame of its root to
//! all points, O_j = polar(P_j'P_i) O_i, and sweeps of eq. 9 follow, unless they would gain nothing. Cost: O(n k log n)
//! for the tree, O(n k d^3) per sweep.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use super::{Aligned, Connection, STAGE, Scratch, multiply};
use crate::charts::{Atlas, Coordinates, Local};
use crate::csr::{Csr, pieces};
use crate::embed::check_len;
use crate::error::{Error, Result};
use crate::linalg::{determinant_sign, first, norm, singular_values};
use crate::monitor::{Monitor, Silent};
use crate::neighbors::Neighborhoods;
use crate::parallel::{CHUNK, map_blocks, map_points};
use crate::union_find::{Joined, UnionFind};

const BLOCK: usize = 4096; // Edges between two checks of the monitor.

const NONE: u32 = u32::MAX; // No point.

/// Weight of the share of a neighborhood outside its tangent, in the cost of an edge.
const RESIDUAL_SHARE: f64 = 1e-3;

/// Between tangents whose largest angle has at least this cosine, a reflection is certain.
const SURE: f64 = 0.7;

/// A surface can be judged one-sided only if at least this share of its edges are `SURE`: noise and clouds stay below.
const KNOWN: f64 = 0.95;

/// A seam through m points cuts at least this factor times m^(1 - 1/d) edges; fewer are single wrong edges.
const SEAM: f64 = 0.1;

/// Result of the alignment along the tree.
#[derive(Debug, Clone)]
pub struct Tree {
    /// Frames carried along the tree, after sweeps.
    pub aligned: Aligned,
    /// `SURE` edges that close a loop over the tree by a reflection.
    pub reflecting: Vec<(u32, u32)>,
    /// True if some component has enough of them for a seam, `SEAM` m^(1 - 1/d), and enough `SURE` edges.
    /// (Their share of all edges falls to nothing as points become more.) A curve has no seam.
    pub one_sided: bool,
}

/// Aligns the frames of `connection`, which is that of `atlas`.
pub fn tree(connection: &Connection, atlas: &Atlas, monitor: &dyn Monitor) -> Result<Tree> {
    let edges = Edges::new(connection, atlas, monitor)?;
    let mut forest = edges.forest(connection.graph().len(), monitor)?;
    let one_sided = edges.have_seam(&mut forest, connection.n_components());
    let carried = carry(connection, &forest.graph, monitor)?;
    let aligned = connection.finish_tree(carried, forest.is_connected, monitor)?;
    Ok(Tree { aligned, reflecting: forest.reflecting, one_sided })
}

/// Aligns separately embedded pieces along the edges of least `weights`, one weight for each directed edge.
pub fn tree_of_pieces(connection: &Connection, weights: &[f64], monitor: &dyn Monitor) -> Result<Aligned> {
    check_len("the weights", weights.len(), "the edges", connection.graph().indices().len())?;
    let edges = Edges::once(connection, monitor, |_, _, edge| (weights[edge], 1.0))?;
    let forest = edges.forest(connection.graph().len(), monitor)?;
    connection.finish(carry(connection, &forest.graph, monitor)?, true, monitor)
}

/// The undirected edges, each once, in the order of their lower ends.
struct Edges {
    ends: Vec<(u32, u32)>,
    /// The least cosine between the two tangents, negative if P_i'P_j reflects.
    agreement: Vec<f32>,
    weights: Vec<f32>,
}

/// An edge between two trees, by its place.
struct Between {
    trees: (u32, u32),
    edge: u32,
}

impl Edges {
    fn new(connection: &Connection, atlas: &Atlas, monitor: &dyn Monitor) -> Result<Edges> {
        let d = connection.n_components();
        let outside = outside(atlas, monitor)?;
        Edges::once(connection, monitor, |scratch, i, edge| {
            let j = connection.end(edge);
            let (cosine, determinant) = compare(connection, (i, j), d, scratch);
            let weight = 1.0 - cosine + RESIDUAL_SHARE * (outside[i] + outside[j]);
            (weight, cosine.copysign(determinant))
        })
    }

    /// `f(scratch, i, edge)` gives weight and agreement of an edge.
    fn once(
        connection: &Connection,
        monitor: &dyn Monitor,
        f: impl Fn(&mut Scratch, usize, usize) -> (f64, f64) + Sync,
    ) -> Result<Edges> {
        let graph = connection.graph();
        let above = |i: usize| connection.edges(i).filter(move |&edge| connection.end(edge) > i);
        let sizes = map_blocks(graph.len(), STAGE, &Silent(monitor), |block| {
            block.map(|i| above(i).count()).sum::<usize>()
        })?;
        let total = sizes.iter().sum();
        if total > u32::MAX as usize {
            return Err(Error::TooManyEdges { n: total, limit: u32::MAX as usize });
        }
        let (mut ends, mut agreement, mut weights) =
            (vec![(0, 0); total], vec![0.0; total], vec![0.0; total]);
        let parts = pieces(&mut ends, sizes.iter().copied())
            .into_par_iter()
            .zip(pieces(&mut agreement, sizes.iter().copied()))
            .zip(pieces(&mut weights, sizes.iter().copied()));
        parts.enumerate().try_for_each(|(c, ((ends, agreement), weights))| {
            monitor.check()?;
            let mut scratch = Scratch::default();
            let mut places = ends.iter_mut().zip(agreement).zip(weights);
            for i in c * CHUNK..((c + 1) * CHUNK).min(graph.len()) {
                for (edge, ((ends, agreement), weight)) in above(i).zip(&mut places) {
                    let (cost, agrees) = f(&mut scratch, i, edge);
                    *ends = (i as u32, connection.end(edge) as u32);
                    (*agreement, *weight) = (agrees as f32, cost.max(0.0) as f32);
                }
            }
            Ok(())
        })?;
        Ok(Edges { ends, agreement, weights })
    }

    /// All edges, between trees of single points.
    fn blocks(&self) -> impl ParallelIterator<Item = impl Iterator<Item = Between>> {
        let blocks = self.ends.par_chunks(BLOCK).enumerate();
        blocks.map(|(c, ends)| {
            ends.iter().zip((c * BLOCK) as u32..).map(|(&trees, edge)| Between { trees, edge })
        })
    }

    /// Weight and place of an edge in one number: no two edges are equal. Positive floats sort like their bits.
    #[inline(always)]
    fn key(&self, edge: u32) -> u64 {
        (u64::from(self.weights[edge as usize].to_bits()) << 32) | u64::from(edge)
    }

    /// The spanning forest of least weight, by Boruvka's rounds: every tree grows by its lightest edge to another. The
    /// side of the surface that a point shows is kept along with its tree.
    fn forest(&self, n: usize, monitor: &dyn Monitor) -> Result<Forest> {
        let lightest: Vec<AtomicU64> = (0..n).map(|_| AtomicU64::new(u64::MAX)).collect();
        let offer = |trees: (u32, u32), edge: u32| {
            let key = self.key(edge);
            for tree in [trees.0, trees.1] {
                if key < lightest[tree as usize].load(Relaxed) {
                    lightest[tree as usize].fetch_min(key, Relaxed);
                }
            }
        };
        let mut growing = Growing {
            sides: UnionFind::new(n),
            kept: Vec::with_capacity(n),
            trees: (0..n as u32).collect(),
            tree_of: vec![0; n],
        };
        // In the first round, every point is a tree.
        self.blocks().try_for_each(|block| {
            monitor.check()?;
            block.for_each(|between| offer(between.trees, between.edge));
            Ok(())
        })?;
        growing.join(self, &lightest);
        let parts = |mut between| growing.parts(&mut between).then_some(between);
        let mut between: Vec<Vec<Between>> =
            self.blocks().map(|block| block.filter_map(parts).collect()).collect();
        while between.iter().any(|block| !block.is_empty()) {
            between.par_iter().try_for_each(|block| {
                monitor.check()?;
                block.iter().for_each(|between| offer(between.trees, between.edge));
                Ok(())
            })?;
            growing.join(self, &lightest);
            between.par_iter_mut().for_each(|block| block.retain_mut(|between| growing.parts(between)));
        }
        let Growing { mut sides, kept, .. } = growing;
        let reflecting = self.reflecting(&mut sides, n);
        Ok(Forest { graph: undirected(n, &kept), reflecting, sides, is_connected: kept.len() + 1 == n })
    }

    /// `SURE` edges whose ends show different sides along the tree.
    fn reflecting(&self, sides: &mut UnionFind<bool>, n: usize) -> Vec<(u32, u32)> {
        let side: Vec<bool> = (0..n as u32).map(|i| sides.find(i).1).collect();
        let reflects = |(&(i, j), &agreement): (&(u32, u32), &f32)| {
            let turned = side[i as usize] ^ side[j as usize] ^ agreement.is_sign_negative();
            turned && f64::from(agreement.abs()) >= SURE
        };
        let edges = self.ends.par_iter().zip(&self.agreement);
        edges.filter(|&edge| reflects(edge)).map(|(&ends, _)| ends).collect()
    }

    /// Tells if the reflecting edges of some component are a seam.
    fn have_seam(&self, forest: &mut Forest, d: usize) -> bool {
        if forest.reflecting.is_empty() || d == 1 {
            return false;
        }
        let n = forest.graph.len();
        let roots: Vec<usize> = (0..n as u32).map(|i| forest.sides.root(i) as usize).collect();
        let mut counts = vec![Counts::default(); n];
        roots.iter().for_each(|&root| counts[root].points += 1);
        forest.reflecting.iter().for_each(|&(i, _)| counts[roots[i as usize]].reflecting += 1);
        for (&(i, _), &agreement) in self.ends.iter().zip(&self.agreement) {
            let count = &mut counts[roots[i as usize]];
            count.edges += 1;
            count.sure += usize::from(f64::from(agreement.abs()) >= SURE);
        }
        counts.iter().any(|count| {
            let least = SEAM * (count.points as f64).powf(1.0 - 1.0 / d as f64);
            count.reflecting as f64 >= least.max(1.0) && count.sure as f64 >= KNOWN * count.edges as f64
        })
    }
}

/// The trees of a forest that is not complete.
struct Growing {
    sides: UnionFind<bool>,
    kept: Vec<(u32, u32)>,
    /// The lowest point of every tree.
    trees: Vec<u32>,
    /// For the lowest point of every tree of the last round, that of its tree now.
    tree_of: Vec<u32>,
}

impl Growing {
    /// Joins every tree to another along its lightest edge, and forgets these edges.
    fn join(&mut self, edges: &Edges, lightest: &[AtomicU64]) {
        for &tree in &self.trees {
            let key = lightest[tree as usize].swap(u64::MAX, Relaxed);
            if key != u64::MAX {
                let edge = (key & u64::from(u32::MAX)) as usize;
                let (i, j) = edges.ends[edge];
                if self.sides.join(i, j, edges.agreement[edge].is_sign_negative()) == Joined::Merged {
                    self.kept.push((i, j));
                }
            }
        }
        for &tree in &self.trees {
            self.tree_of[tree as usize] = self.sides.root(tree);
        }
        self.trees.retain(|&tree| self.tree_of[tree as usize] == tree);
    }

    /// Finds the trees that an edge leads between now, and returns whether there are two.
    #[inline(always)]
    fn parts(&self, between: &mut Between) -> bool {
        let (a, b) = between.trees;
        between.trees = (self.tree_of[a as usize], self.tree_of[b as usize]);
        between.trees.0 != between.trees.1
    }
}

#[derive(Debug, Default, Clone)]
struct Counts {
    points: usize,
    edges: usize,
    sure: usize,
    reflecting: usize,
}

struct Forest {
    graph: Neighborhoods<'static>,
    reflecting: Vec<(u32, u32)>,
    sides: UnionFind<bool>,
    is_connected: bool,
}

/// The share of every neighborhood that lies outside its tangent.
fn outside(atlas: &Atlas, monitor: &dyn Monitor) -> Result<Vec<f64>> {
    let state = || (Coordinates::default(), Local::default());
    map_points(atlas.neighborhoods().len(), STAGE, monitor, state, |(chart, local), i| {
        atlas.outside(i, chart, local)
    })
}

/// The least singular value of P_i'P_j, and the sign of its determinant.
#[inline(always)]
fn compare(connection: &Connection, (i, j): (usize, usize), d: usize, scratch: &mut Scratch) -> (f64, f64) {
    let product = first(&mut scratch.product, d * d);
    connection.compare(i, j, product);
    if let [a, c, b, e] = *product {
        let determinant = a * e - b * c;
        if connection.has_normals() {
            return (determinant.abs(), determinant); // the other singular value is 1
        }
        let (plus, minus) = (norm(a + e, c - b), norm(a - e, b + c)); // sum and difference of the singular values
        return ((plus - minus).abs() / 2.0, determinant);
    }
    let (copy, values) = (first(&mut scratch.carried, d * d), first(&mut scratch.spare, d));
    copy.copy_from_slice(product);
    singular_values(copy, d, d, values);
    let least = values.iter().fold(f64::INFINITY, |least, &value| least.min(value));
    (least, determinant_sign(product, d))
}

fn undirected(n: usize, edges: &[(u32, u32)]) -> Neighborhoods<'static> {
    let both = || edges.iter().flat_map(|&(i, j)| [(i, j), (j, i)]);
    let lists = Csr::grouped(n, both().map(|(i, _)| i), both());
    Neighborhoods::ragged(lists.indptr, lists.indices)
}

/// O_i = 1 at the first point of every component, and O_j = polar(P_j'P_i) O_i along the tree.
fn carry(connection: &Connection, forest: &Neighborhoods, monitor: &dyn Monitor) -> Result<Vec<f64>> {
    let compare = |i: usize, parent: usize, product: &mut [f64]| connection.compare(i, parent, product);
    carry_along(&parents(forest, monitor)?, connection.n_components(), compare, monitor)
}

/// The point before each on the way from the first of its component, which has itself.
fn parents(forest: &Neighborhoods, monitor: &dyn Monitor) -> Result<Vec<u32>> {
    let (mut parents, mut stack) = (vec![NONE; forest.len()], Vec::new());
    for root in 0..forest.len() {
        if parents[root] != NONE {
            continue;
        }
        monitor.check()?;
        parents[root] = root as u32;
        stack.push(root as u32);
        while let Some(i) = stack.pop() {
            for &j in forest.of(i as usize) {
                if parents[j as usize] == NONE {
                    parents[j as usize] = i;
                    stack.push(j);
                }
            }
        }
    }
    Ok(parents)
}

/// O_i = polar(P_i'P_p) O_p for the parent p of every point, and 1 for its own parent. `compare(i, p, out)` writes P_i'P_p.
pub(in crate::embed) fn carry_along(
    parents: &[u32],
    d: usize,
    compare: impl Fn(usize, usize, &mut [f64]) + Sync,
    monitor: &dyn Monitor,
) -> Result<Vec<f64>> {
    let size = d * d;
    let mut turns = vec![0.0; parents.len() * size];
    turns.par_chunks_mut(CHUNK * size).zip(parents.par_chunks(CHUNK)).enumerate().try_for_each_init(
        <(Vec<f64>, Scratch)>::default,
        |(products, scratch), (c, (turns, parents))| {
            monitor.check()?;
            let products = first(products, turns.len());
            for ((i, product), &parent) in (c * CHUNK..).zip(products.chunks_exact_mut(size)).zip(parents) {
                match i == parent as usize {
                    true => (0..size).for_each(|ab| product[ab] = f64::from(ab % (d + 1) == 0)),
                    false => compare(i, parent as usize, product),
                }
            }
            scratch.factors(products.chunks_exact(size), d);
            turns.copy_from_slice(&scratch.polar);
            Ok(())
        },
    )?;
    monitor.check()?;
    chain(&mut turns, parents, d);
    Ok(turns)
}

/// Multiplies every matrix by that of its parent, which is multiplied first.
fn chain(turns: &mut [f64], parents: &[u32], d: usize) {
    let (size, mut waiting) = (d * d, Vec::new());
    let (mut own, mut above) = (vec![0.0; size], vec![0.0; size]);
    let mut reached: Vec<bool> = (0..).zip(parents).map(|(i, &parent): (u32, _)| i == parent).collect();
    for i in 0..parents.len() {
        let mut at = i;
        while !std::mem::replace(&mut reached[at], true) {
            waiting.push(at);
            at = parents[at] as usize;
        }
        while let Some(child) = waiting.pop() {
            own.copy_from_slice(&turns[child * size..][..size]);
            above.copy_from_slice(&turns[parents[child] as usize * size..][..size]);
            multiply(&own, &above, d, &mut turns[child * size..][..size]);
        }
    }
}
