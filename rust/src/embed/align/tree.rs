//! Alignment along the spanning tree of the edges whose tangents agree best: no annealing, and no short circuits.
//!
//! Tangents of true neighbors nearly agree; those of a short circuit do not. The tree carries the frame of its root to
//! all points, O_j = polar(P_j'P_i) O_i, and sweeps of eq. 9 follow. Cost: O(n k log(n k)) to sort edges, O(n k d^3)
//! per sweep.

use rayon::prelude::*;

use super::{Aligned, Connection, STAGE, Scratch, fill_edges, multiply};
use crate::charts::{Atlas, Coordinates, Local};
use crate::csr::Csr;
use crate::embed::{check_len, check_sometimes};
use crate::error::Result;
use crate::linalg::{determinant_sign, first, norm, singular_values};
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;
use crate::parallel::{map_blocks, map_points};
use crate::union_find::{Joined, UnionFind};

/// How much the share of a neighborhood outside its tangent counts against an edge.
const RESIDUAL_SHARE: f64 = 1e-3;

/// Tangents whose largest angle has at least this cosine leave no doubt about a reflection.
const SURE: f64 = 0.7;

/// A surface can be judged one-sided only if at least this share of its edges are `SURE`: noise and clouds stay below.
const KNOWN: f64 = 0.95;

/// A seam through m points cuts at least this factor times m^(1 - 1/d) edges; fewer are single wrong edges.
const SEAM: f64 = 0.1;

/// What the edges say of the surface.
#[derive(Debug, Clone)]
pub struct Tree {
    /// Frames carried along the tree, after sweeps.
    pub aligned: Aligned,
    /// `SURE` edges that close a loop over the tree by a reflection.
    pub reflecting: Vec<(u32, u32)>,
    /// Whether some component has enough of them for a seam, `SEAM` m^(1 - 1/d), and tangents as good as `KNOWN`.
    /// (Their share of all edges falls to nothing as points become more.) A curve has no seam.
    pub one_sided: bool,
}

/// Aligns the frames of `connection`, which is that of `atlas`.
pub fn tree(connection: &Connection, atlas: &Atlas, monitor: &dyn Monitor) -> Result<Tree> {
    let edges = Edges::new(connection, atlas, monitor)?;
    let mut forest = edges.forest(connection.graph().len(), monitor)?;
    let one_sided = edges.have_seam(&mut forest, connection.n_components());
    let aligned = connection.finish(carry(connection, &forest.graph, monitor)?, true, monitor)?;
    Ok(Tree { aligned, reflecting: forest.reflecting, one_sided })
}

/// Aligns separately embedded pieces along the edges of least `weights`, one weight for each directed edge.
pub fn tree_of_pieces(connection: &Connection, weights: &[f64], monitor: &dyn Monitor) -> Result<Aligned> {
    check_len("the weights", weights.len(), "the edges", connection.graph().indices().len())?;
    let compared: Vec<f32> = weights.iter().flat_map(|&weight| [weight.max(0.0) as f32, 1.0]).collect();
    let forest = Edges::once(connection, &compared, monitor)?.forest(connection.graph().len(), monitor)?;
    connection.finish(carry(connection, &forest.graph, monitor)?, true, monitor)
}

struct Edges {
    ends: Vec<(u32, u32)>,
    /// The least cosine between the two tangents, and whether P_i'P_j reflects.
    agreement: Vec<(f32, bool)>,
    /// Weight and place of each edge in one number, which sorts faster than both.
    order: Vec<u64>,
}

impl Edges {
    fn new(connection: &Connection, atlas: &Atlas, monitor: &dyn Monitor) -> Result<Edges> {
        let (graph, d) = (connection.graph(), connection.n_components());
        let outside = outside(atlas, monitor)?;
        let mut compared = vec![0.0f32; 2 * graph.indices().len()];
        fill_edges(
            graph,
            &mut compared,
            2,
            monitor,
            Scratch::default,
            |scratch, i, edge, out: &mut [f32]| {
                let j = connection.end(edge);
                if i < j {
                    let (cosine, determinant) = compare(connection.product(edge), d, scratch);
                    let weight = 1.0 - cosine + RESIDUAL_SHARE * (outside[i] + outside[j]);
                    (out[0], out[1]) = (weight.max(0.0) as f32, cosine.copysign(determinant) as f32);
                }
            },
        )?;
        Edges::once(connection, &compared, monitor)
    }

    /// Takes what was `compared` on every edge, weight and agreement, in one direction; best agreement first.
    fn once(connection: &Connection, compared: &[f32], monitor: &dyn Monitor) -> Result<Edges> {
        let graph = connection.graph();
        let (mut ends, mut agreement, mut order) = (vec![], vec![], vec![]);
        for i in 0..graph.len() {
            for (at, &j) in graph.of(i).iter().enumerate().filter(|(_, j)| **j as usize > i) {
                let place = &compared[2 * (graph.start(i) + at)..];
                order.push((u64::from(place[0].to_bits()) << 32) | ends.len() as u64);
                ends.push((i as u32, j));
                agreement.push((place[1].abs(), place[1].is_sign_negative()));
            }
        }
        order.par_sort_unstable(); // positive floats sort like their bits
        monitor.check()?;
        Ok(Edges { ends, agreement, order })
    }

    /// Kruskal's spanning forest. The side of the surface that a point shows is kept along with its component.
    fn forest(&self, n: usize, monitor: &dyn Monitor) -> Result<Forest> {
        let mut sides = UnionFind::<bool>::new(n);
        let (mut kept, mut reflecting) = (Vec::with_capacity(n), vec![]);
        for (step, &key) in self.order.iter().enumerate() {
            check_sometimes(step, monitor)?;
            let edge = (key & u64::from(u32::MAX)) as usize;
            let ((i, j), (cosine, reflects)) = (self.ends[edge], self.agreement[edge]);
            match sides.join(i, j, reflects) {
                Joined::Merged => kept.push((i, j)),
                Joined::Before { consistent: false } if f64::from(cosine) >= SURE => reflecting.push((i, j)),
                Joined::Before { .. } => {}
            }
        }
        Ok(Forest { graph: undirected(n, &kept), reflecting, sides })
    }

    /// Whether the reflecting edges of some component are a seam.
    fn have_seam(&self, forest: &mut Forest, d: usize) -> bool {
        if forest.reflecting.is_empty() || d == 1 {
            return false;
        }
        let n = forest.graph.len();
        let roots: Vec<usize> = (0..n as u32).map(|i| forest.sides.root(i) as usize).collect();
        let mut counts = vec![Counts::default(); n];
        roots.iter().for_each(|&root| counts[root].points += 1);
        forest.reflecting.iter().for_each(|&(i, _)| counts[roots[i as usize]].reflecting += 1);
        for (&(i, _), &(cosine, _)) in self.ends.iter().zip(&self.agreement) {
            let count = &mut counts[roots[i as usize]];
            count.edges += 1;
            count.sure += usize::from(f64::from(cosine) >= SURE);
        }
        counts.iter().any(|count| {
            let least = SEAM * (count.points as f64).powf(1.0 - 1.0 / d as f64);
            count.reflecting as f64 >= least.max(1.0) && count.sure as f64 >= KNOWN * count.edges as f64
        })
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
fn compare(product: &[f64], d: usize, scratch: &mut Scratch) -> (f64, f64) {
    if let [a, c, b, e] = *product {
        let determinant = a * e - b * c;
        let (plus, minus) = (norm(a + e, c - b), norm(a - e, b + c)); // sum and difference of the singular values
        return ((plus - minus).abs() / 2.0, determinant);
    }
    let (copy, values) = (first(&mut scratch.product, d * d), first(&mut scratch.spare, d));
    copy.copy_from_slice(product);
    singular_values(copy, d, d, values);
    let least = values.iter().fold(f64::INFINITY, |least, &value| least.min(value));
    copy.copy_from_slice(product);
    (least, determinant_sign(copy, d))
}

fn undirected(n: usize, edges: &[(u32, u32)]) -> Neighborhoods<'static> {
    let both = || edges.iter().flat_map(|&(i, j)| [(i, j), (j, i)]);
    let lists = Csr::grouped(n, both().map(|(i, _)| i), both());
    Neighborhoods::ragged(lists.indptr, lists.indices)
}

/// O_i = 1 at the first point of every component, and O_j = polar(P_j'P_i) O_i along the tree.
fn carry(connection: &Connection, forest: &Neighborhoods, monitor: &dyn Monitor) -> Result<Vec<f64>> {
    let (n, d) = (forest.len(), connection.n_components());
    let mut rotations = vec![0.0; n * d * d];
    let mut reached = vec![false; n];
    let (mut stack, mut scratch) = (Vec::new(), Scratch::default());
    for root in 0..n {
        if reached[root] {
            continue;
        }
        monitor.check()?;
        reached[root] = true;
        (0..d).for_each(|a| rotations[root * d * d + a * (d + 1)] = 1.0);
        stack.push(root);
        while let Some(i) = stack.pop() {
            for &j in forest.of(i).iter().filter(|&&j| !reached[j as usize]) {
                let at = connection.graph().of(j as usize).binary_search(&(i as u32)).unwrap_or(0);
                let product = connection.product(connection.edges(j as usize).start + at);
                scratch.factors(std::iter::once(product), d);
                let own = first(&mut scratch.carried, d * d);
                multiply(&scratch.polar, &rotations[i * d * d..][..d * d], d, own);
                rotations[j as usize * d * d..][..d * d].copy_from_slice(own);
            }
            for &j in forest.of(i) {
                if !reached[j as usize] {
                    reached[j as usize] = true;
                    stack.push(j as usize);
                }
            }
        }
    }
    Ok(rotations)
}

/// The edges whose ends are not aligned, each once: closing the loop through such an edge leaves a turn.
pub fn open_edges(
    connection: &Connection,
    rotations: &[f64],
    monitor: &dyn Monitor,
) -> Result<Vec<(u32, u32)>> {
    connection.check_rotations(rotations)?;
    let blocks = map_blocks(connection.graph().len(), STAGE, monitor, |block| {
        let (mut open, mut aligned, mut scratch) = (vec![], vec![], Scratch::default());
        for i in block {
            let above = || connection.edges(i).filter(|&edge| connection.end(edge) > i);
            aligned.clear();
            aligned.extend(above());
            connection.keep_aligned(i, &mut aligned, rotations, &mut scratch);
            let others = above().filter(|edge| !aligned.contains(edge));
            open.extend(others.map(|edge| (i as u32, connection.end(edge) as u32)));
        }
        open
    })?;
    Ok(blocks.concat())
}
