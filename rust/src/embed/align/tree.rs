//! Alignment along the tree of greatest agreement: no annealing, and short circuits are avoided.
//!
//! Tangents of true neighbours nearly agree; where the graph jumps from one sheet of the surface to another they do not.
//! A spanning tree of the edges that agree best carries the frame of its root to all points, O_j = polar(P_j'P_i) O_i, and
//! sweeps of eq. 9 settle the rest. Cost: O(n k log(n k)) for sorting edges, O(n k d^3) for a sweep.

use rayon::prelude::*;

use super::sides::{Joined, Sides};
use super::{Aligned, Connection, STAGE, Scratch, fill_edges, multiply};
use crate::charts::{Atlas, Coordinates, Local};
use crate::error::{Error, Result};
use crate::linalg::{determinant_sign, first, norm, singular_values};
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;
use crate::parallel::{map_blocks, map_points};

/// How much the share of a neighbourhood outside its tangent counts against an edge.
const RESIDUAL_SHARE: f64 = 1e-3;

/// Tangents whose largest angle has at least this cosine leave no doubt about a reflection.
const SURE: f64 = 0.7;

/// Of a surface sampled well enough to say that it has one side at least this share of the edges leave no doubt: sheets
/// that the graph confuses, noise wider than its tangents, clouds have reflections too, but stay below.
const KNOWN: f64 = 0.95;

/// The seam of a one-sided surface of m points cuts a number of edges that grows like m^(1 - 1/d). Fewer than this factor
/// times that are single wrong edges.
const SEAM: f64 = 0.1;

/// What the edges say of the surface.
#[derive(Debug, Clone)]
pub struct Tree {
    /// Frames carried along the tree, after sweeps.
    pub aligned: Aligned,
    /// Edges that leave no doubt and say that the surface has only one side: closing the loop over the tree through such
    /// an edge is a reflection.
    pub reflecting: Vec<(u32, u32)>,
    /// Whether they are enough for a seam: some component has at least `SEAM` m^(1 - 1/d) of them among m points, and
    /// tangents as good as `KNOWN`. Their share of all edges would not do: a seam is one dimension less than its surface,
    /// so that the share falls to nothing as points become more. A curve has no seam.
    pub one_sided: bool,
}

/// Aligns the frames of `connection`, which is that of `atlas`.
pub fn tree(connection: &Connection, atlas: &Atlas, monitor: &dyn Monitor) -> Result<Tree> {
    let mut edges = Edges::new(connection, atlas, monitor)?;
    edges.sort(monitor)?;
    let mut forest = edges.forest(connection.graph().len(), monitor)?;
    let one_sided = edges.have_seam(&mut forest, connection.n_components());
    let aligned = connection.finish(carry(connection, &forest.graph, monitor)?, true, monitor)?;
    Ok(Tree { aligned, reflecting: forest.reflecting, one_sided })
}

/// Aligns pieces that were embedded apart, along the edges of least `weights`: one for each edge of the graph of
/// `connection`, the same for both directions.
pub fn tree_of_pieces(connection: &Connection, weights: &[f64], monitor: &dyn Monitor) -> Result<Aligned> {
    let (left_len, right_len) = (weights.len(), connection.graph().indices().len());
    if left_len != right_len {
        let (left, right) = ("the weights", "the edges");
        return Err(Error::LengthMismatch { left, left_len, right, right_len });
    }
    let compared: Vec<f32> = weights.iter().flat_map(|&weight| [weight.max(0.0) as f32, 1.0]).collect();
    let mut edges = Edges::once(connection, &compared);
    edges.sort(monitor)?;
    let forest = edges.forest(connection.graph().len(), monitor)?;
    connection.finish(carry(connection, &forest.graph, monitor)?, true, monitor)
}

/// Every undirected edge once.
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
            |scratch, i, edge, place: &mut [f32]| {
                let j = connection.end(edge);
                if i < j {
                    let (cosine, determinant) = compare(connection.product(edge), d, scratch);
                    let weight = 1.0 - cosine + RESIDUAL_SHARE * (outside[i] + outside[j]);
                    (place[0], place[1]) = (weight.max(0.0) as f32, cosine.copysign(determinant) as f32);
                }
            },
        )?;
        Ok(Edges::once(connection, &compared))
    }

    /// Of what was `compared` on every edge, weight and agreement, that of the direction upwards.
    fn once(connection: &Connection, compared: &[f32]) -> Edges {
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
        Edges { ends, agreement, order }
    }

    /// Best agreement first; positive floats sort like their bits.
    fn sort(&mut self, monitor: &dyn Monitor) -> Result<()> {
        self.order.par_sort_unstable();
        monitor.check()
    }

    /// Kruskal's spanning forest. The side of the surface that a point shows is kept along with its component.
    fn forest(&self, n: usize, monitor: &dyn Monitor) -> Result<Forest> {
        const LOOK: usize = 1 << 16;
        let mut sides = Sides::new(n);
        let (mut kept, mut reflecting) = (Vec::with_capacity(n), vec![]);
        for (step, &key) in self.order.iter().enumerate() {
            if step % LOOK == 0 {
                monitor.check()?;
            }
            let edge = (key & u64::from(u32::MAX)) as usize;
            let ((i, j), (cosine, reflects)) = (self.ends[edge], self.agreement[edge]);
            match sides.join(i, j, reflects) {
                Joined::Now => kept.push((i, j)),
                Joined::Before { closes: false } if f64::from(cosine) >= SURE => reflecting.push((i, j)),
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
        let roots: Vec<usize> = (0..n as u32).map(|i| forest.sides.find(i).0 as usize).collect();
        let mut counts = vec![Counts::default(); n];
        roots.iter().for_each(|&root| counts[root].points += 1);
        forest.reflecting.iter().for_each(|&(i, _)| counts[roots[i as usize]].reflecting += 1);
        for (&(i, _), &(cosine, _)) in self.ends.iter().zip(&self.agreement) {
            let count = &mut counts[roots[i as usize]];
            count.edges += 1;
            count.sure += usize::from(f64::from(cosine) >= SURE);
        }
        counts.iter().any(|count| count.is_seam(d))
    }
}

/// What there is in one component.
#[derive(Debug, Default, Clone)]
struct Counts {
    points: usize,
    edges: usize,
    sure: usize,
    reflecting: usize,
}

impl Counts {
    fn is_seam(&self, d: usize) -> bool {
        let least = SEAM * (self.points as f64).powf(1.0 - 1.0 / d as f64);
        self.reflecting as f64 >= least.max(1.0) && self.sure as f64 >= KNOWN * self.edges as f64
    }
}

struct Forest {
    graph: Neighborhoods<'static>,
    reflecting: Vec<(u32, u32)>,
    sides: Sides,
}

/// The share of every neighbourhood that lies outside its tangent.
fn outside(atlas: &Atlas, monitor: &dyn Monitor) -> Result<Vec<f64>> {
    let state = || (Coordinates::default(), Local::default());
    map_points(atlas.points().len(), STAGE, monitor, state, |(chart, local), i| {
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

/// Edges in both directions.
fn undirected(n: usize, edges: &[(u32, u32)]) -> Neighborhoods<'static> {
    let mut indptr = vec![0i64; n + 1];
    edges.iter().for_each(|&(i, j)| {
        indptr[i as usize + 1] += 1;
        indptr[j as usize + 1] += 1;
    });
    (0..n).for_each(|i| indptr[i + 1] += indptr[i]);
    let mut next = indptr.clone();
    let mut indices = vec![0; 2 * edges.len()];
    for &(i, j) in edges {
        for (from, to) in [(i, j), (j, i)] {
            indices[next[from as usize] as usize] = to;
            next[from as usize] += 1;
        }
    }
    Neighborhoods::ragged(indptr, indices)
}

/// O_i = 1 at the first point of every component, and O_j = polar(P_j'P_i) O_i along the tree. Any other root would give
/// the same frames but for one rotation of all.
fn carry(connection: &Connection, forest: &Neighborhoods, monitor: &dyn Monitor) -> Result<Vec<f64>> {
    let (n, d) = (forest.len(), connection.n_components());
    let mut turns = vec![0.0; n * d * d];
    let mut reached = vec![false; n];
    let (mut stack, mut scratch) = (Vec::new(), Scratch::default());
    for root in 0..n {
        if reached[root] {
            continue;
        }
        monitor.check()?;
        reached[root] = true;
        (0..d).for_each(|a| turns[root * d * d + a * (d + 1)] = 1.0);
        stack.push(root);
        while let Some(i) = stack.pop() {
            for &j in forest.of(i).iter().filter(|&&j| !reached[j as usize]) {
                let at = connection.graph().of(j as usize).binary_search(&(i as u32)).unwrap_or(0);
                let product = connection.product(connection.edges(j as usize).start + at);
                scratch.factors(std::iter::once(product), d);
                let own = first(&mut scratch.carried, d * d);
                multiply(&scratch.polar, &turns[i * d * d..][..d * d], d, own);
                turns[j as usize * d * d..][..d * d].copy_from_slice(own);
            }
            for &j in forest.of(i) {
                if !reached[j as usize] {
                    reached[j as usize] = true;
                    stack.push(j as usize);
                }
            }
        }
    }
    Ok(turns)
}

/// The edges whose ends are not aligned, each once: closing the loop through such an edge leaves a turn.
pub fn open_edges(connection: &Connection, turns: &[f64], monitor: &dyn Monitor) -> Result<Vec<(u32, u32)>> {
    connection.check_turns(turns)?;
    let blocks = map_blocks(connection.graph().len(), STAGE, monitor, |block| {
        let (mut open, mut aligned, mut scratch) = (vec![], vec![], Scratch::default());
        for i in block {
            let above = || connection.edges(i).filter(|&edge| connection.end(edge) > i);
            aligned.clear();
            aligned.extend(above());
            connection.keep_aligned(i, &mut aligned, turns, &mut scratch);
            let others = above().filter(|edge| !aligned.contains(edge));
            open.extend(others.map(|edge| (i as u32, connection.end(edge) as u32)));
        }
        open
    })?;
    Ok(blocks.concat())
}
