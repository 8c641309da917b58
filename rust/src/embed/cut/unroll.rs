//! Layout of points along shortest paths from a root, so that paths from two sides end at the cut.
//!
//! The next point is the one nearest to the root along the graph. Its frame and place follow from the neighbor before
//! it on its path, O_j = polar(P_j'P_i O_i) and y_j = y_i + (A_i + A_j)'(x_j - x_i) / 2, averaged over all placed
//! neighbors that nearly agree, so that noise does not add up along a path. A point that would lie on another part of
//! the data is postponed until a path from another side reaches it, so that a surface that widens faster than the
//! plane does not overlap itself. Points that overlap from every side are placed last. (The tree of greatest
//! agreement, which aligns frames, would leave a ragged cut.)
//!
//! Cost: O(n k (d^3 + log n)) per root; several roots run in parallel. Memory: 8 (d + 1) bytes per entry of the
//! undirected graph, and 8 (d^2 + d + 4) per point and root.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::cells::{Cells, MAX_CELL_DIM};
use super::torn::spacing;
use crate::charts::Atlas;
use crate::embed::align::{Connection, fill_edges, multiply};
use crate::embed::{check_len, check_sometimes, largest, members};
use crate::error::Result;
use crate::linalg::{first, polar};
use crate::monitor::{Monitor, Silent};
use crate::neighbors::paths::{Lengths, Tree, distance};
use crate::points::Points;

/// A placed neighbor counts if it puts a point within this many spacings of where the point's path puts it.
const AGREE: f64 = 1.5;

/// Points closer than `NEAR` spacings in the embedding overlap if they are farther than `FAR` along the tangent.
const NEAR: f64 = 1.2;
const FAR: f64 = 4.0;

const LANDMARKS: usize = 4; // Number of points whose distances determine the central point.

/// Maximum number of roots from which each component is laid out.
pub const MAX_ROOTS: usize = 8;

const SMALL: usize = 50; // Components of fewer points have one root.

/// The undirected graph with the length and the tangent coordinates of every edge.
#[derive(Debug)]
pub struct Unroller<'a, 'b, 'p> {
    connection: &'a Connection,
    atlas: &'a Atlas<'b, 'p>,
    /// For each edge |x_j - x_i|, then P_i'(x_j - x_i).
    steps: Vec<f64>,
    spacing: f64,
    points: &'a Points<'p>,
}

/// Layout of all points.
#[derive(Debug, Clone)]
pub struct Unrolled {
    /// Point after point.
    pub y: Vec<f64>,
    /// Number of points that overlap others, because no path avoids it.
    pub forced: usize,
    /// The root of each component.
    pub roots: Vec<u32>,
}

impl<'a, 'b, 'p> Unroller<'a, 'b, 'p> {
    /// Cost: O(n k q d).
    pub fn new(connection: &'a Connection, atlas: &'a Atlas<'b, 'p>, monitor: &dyn Monitor) -> Result<Self> {
        connection.prepare(monitor)?;
        let points = atlas.source().points("a cut")?;
        let spacing = spacing(points, atlas.neighborhoods(), monitor)?;
        let (graph, width) = (connection.graph(), connection.n_components() + 1);
        let mut steps = vec![0.0; graph.indices().len() * width];
        fill_edges(graph, &mut steps, width, monitor, Walker::default, |walker, i, edge, step| {
            walker.walk(connection, (atlas, points), i, edge, step);
        })?;
        Ok(Unroller { connection, atlas, steps, spacing, points })
    }

    /// Lays every component out, from the root of several that tears the fewest pairs by more than `tau`.
    pub fn unroll(&self, tau: f64, monitor: &dyn Monitor) -> Result<Unrolled> {
        let labels = self.connection.graph().components();
        let roots = self.roots(&labels, monitor)?;
        let most = roots.iter().map(Vec::len).max().unwrap_or(0);
        let tries: Result<Vec<_>> = (0..most)
            .into_par_iter()
            .map(|t| {
                let firsts: Vec<u32> = roots.iter().filter_map(|roots| roots.get(t).copied()).collect();
                let mut growth = Growth::new(self, monitor);
                firsts.iter().try_for_each(|&root| growth.grow(root))?;
                Ok(Laid { y: growth.y, forced: growth.forced })
            })
            .collect();
        Ok(self.best(&labels, &roots, &tries?, tau))
    }

    /// Lays overlapping parts of an embedding out again from all sides of the rest. Also returns the number of points
    /// that overlapped.
    pub fn relayout(&self, y: &[f64], rotations: &[f64], monitor: &dyn Monitor) -> Result<(Unrolled, usize)> {
        self.connection.check_rotations(rotations)?;
        check_flat(y, self.connection)?;
        let labels = self.connection.graph().components();
        let components = members(&labels);
        let on_others = self.overlapping(y, &components, monitor)?;
        let mut growth = Growth::new(self, monitor);
        for component in &components {
            growth.resume(y, rotations, component, &on_others)?;
        }
        let taken = on_others.iter().filter(|&&lies| lies).count();
        Ok((Unrolled { y: growth.y, forced: growth.forced.len(), roots: Vec::new() }, taken))
    }

    fn overlapping(&self, y: &[f64], components: &[Vec<u32>], monitor: &dyn Monitor) -> Result<Vec<bool>> {
        let mut growth = Growth::new(self, monitor);
        let mut on_others = vec![false; growth.distances.len()];
        growth.y.copy_from_slice(y);
        for component in components {
            growth.cells.clear();
            component.iter().for_each(|&i| growth.show(i as usize));
            for &i in component {
                growth.count_step()?;
                on_others[i as usize] = growth.is_on_others(i as usize);
            }
        }
        Ok(on_others)
    }

    /// For each component, the central point, then points far from it and from each other.
    fn roots(&self, labels: &[u32], monitor: &dyn Monitor) -> Result<Vec<Vec<u32>>> {
        let lengths = Lengths::new(self.points, self.atlas.neighborhoods(), monitor)?;
        let (mut tree, mut roots): (Tree, Vec<Vec<u32>>) = (Tree::default(), vec![]);
        for (i, &label) in labels.iter().enumerate() {
            if label as usize == roots.len() {
                roots.push(central(&lengths, &mut tree, i as u32, monitor)?);
            }
        }
        Ok(roots)
    }

    /// For each component, the layout with the fewest torn edges, the first of several.
    fn best(&self, labels: &[u32], roots: &[Vec<u32>], tries: &[Laid], tau: f64) -> Unrolled {
        let d = self.connection.n_components();
        let scores: Vec<Vec<usize>> =
            tries.par_iter().map(|laid| self.torn_in_each(labels, roots.len(), laid, tau)).collect();
        let kept: Vec<usize> = (0..roots.len())
            .map(|c| {
                (1..roots[c].len()).fold(0, |best, t| if scores[t][c] < scores[best][c] { t } else { best })
            })
            .collect();
        let mut y = vec![0.0; labels.len() * d];
        for (row, (i, &label)) in y.chunks_exact_mut(d).zip(labels.iter().enumerate()) {
            row.copy_from_slice(&tries[kept[label as usize]].y[i * d..][..d]);
        }
        let is_kept = |i: u32, t: usize| kept[labels[i as usize] as usize] == t;
        let forced =
            tries.iter().enumerate().map(|(t, laid)| laid.forced.iter().filter(|&&i| is_kept(i, t)).count());
        let roots = roots.iter().zip(&kept).map(|(roots, &t)| roots[t]).collect();
        Unrolled { y, forced: forced.sum(), roots }
    }

    /// Number of torn edges of each component. Edges of points that overlap others count as torn.
    fn torn_in_each(&self, labels: &[u32], count: usize, laid: &Laid, tau: f64) -> Vec<usize> {
        let d = self.connection.n_components();
        let (mut torn, mut forced) = (vec![0; count], vec![false; labels.len()]);
        laid.forced.iter().for_each(|&i| forced[i as usize] = true);
        for i in 0..labels.len() {
            for edge in self.connection.edges(i) {
                let j = self.connection.end(edge);
                let apart = distance(&laid.y[i * d..][..d], &laid.y[j * d..][..d]);
                let is_torn = forced[i] || forced[j] || apart > tau * self.length(edge).max(self.spacing);
                torn[labels[i] as usize] += usize::from(is_torn);
            }
        }
        torn
    }

    fn length(&self, edge: usize) -> f64 {
        self.steps[edge * (self.connection.n_components() + 1)]
    }

    /// P_i'(x_j - x_i).
    fn step(&self, edge: usize) -> &[f64] {
        let d = self.connection.n_components();
        &self.steps[edge * (d + 1) + 1..][..d]
    }

    /// The same edge from its other end.
    fn back(&self, i: usize, edge: usize) -> usize {
        let j = self.connection.end(edge);
        let at = self.connection.graph().of(j).binary_search(&(i as u32)).unwrap_or(0);
        self.connection.edges(j).start + at
    }
}

pub(super) fn check_flat(y: &[f64], connection: &Connection) -> Result<()> {
    check_len("Y", y.len(), "the points, times d,", connection.graph().len() * connection.n_components())
}

struct Laid {
    y: Vec<f64>,
    forced: Vec<u32>,
}

/// Room for the rows of two points.
#[derive(Default)]
struct Walker {
    own: Vec<f64>,
    row: Vec<f64>,
    back: Vec<f64>,
}

impl Walker {
    /// If only charts are stored, and only the other end lists this one, its step is reversed.
    fn walk(
        &mut self,
        connection: &Connection,
        (atlas, points): (&Atlas, &Points),
        i: usize,
        edge: usize,
        step: &mut [f64],
    ) {
        let (q, d, j) = (points.dim(), connection.n_components(), connection.end(edge));
        let (length, along) = step.split_at_mut(1);
        if !atlas.step(i, j, &mut self.own, &mut self.row, along) {
            let back = first(&mut self.back, d);
            atlas.step(j, i, &mut self.own, &mut self.row, back);
            multiply_vector(connection.product(edge), back, along);
        }
        let (own, row) = (first(&mut self.own, q), first(&mut self.row, q));
        points.copy_row(i, own);
        points.copy_row(j, row);
        length[0] = distance(own, row);
    }
}

/// out = -A v.
fn multiply_vector(a: &[f64], v: &[f64], out: &mut [f64]) {
    let d = v.len();
    (0..d).for_each(|row| out[row] = -(0..d).map(|e| a[e * d + row] * v[e]).sum::<f64>());
}

/// The point of least distance to the farthest of a few landmarks, and points far from it.
fn central(lengths: &Lengths, tree: &mut Tree, start: u32, monitor: &dyn Monitor) -> Result<Vec<u32>> {
    tree.grow(lengths, start as usize, monitor)?;
    let members: Vec<u32> = tree.order().to_vec();
    let mut nearest = vec![f64::INFINITY; members.len()];
    lower(&mut nearest, tree, &members);
    let mut farthest = vec![0.0f64; members.len()];
    for _ in 0..LANDMARKS {
        let landmark = lengths.points()[members[largest(&nearest)] as usize];
        tree.grow(lengths, landmark as usize, monitor)?;
        lower(&mut nearest, tree, &members);
        farthest.iter_mut().zip(&members).for_each(|(far, &p)| *far = far.max(tree.distances()[p as usize]));
    }
    let middle = (1..members.len()).fold(0, |best, m| if farthest[m] < farthest[best] { m } else { best });
    let mut roots = vec![lengths.points()[members[middle] as usize]];
    nearest.fill(f64::INFINITY);
    while roots.len() < MAX_ROOTS && members.len() >= SMALL {
        tree.grow(lengths, roots[roots.len() - 1] as usize, monitor)?;
        lower(&mut nearest, tree, &members);
        roots.push(lengths.points()[members[largest(&nearest)] as usize]);
    }
    Ok(roots)
}

/// Lowers the distances of `members` to the nearest of several points by those in the tree of one more.
fn lower(nearest: &mut [f64], tree: &Tree, members: &[u32]) {
    nearest.iter_mut().zip(members).for_each(|(near, &p)| *near = near.min(tree.distances()[p as usize]));
}

/// The bits of a distance, which rise with it; the point that the path comes through; the edge from there.
type Waiting = (u64, u32, usize);

/// Points placed so far.
struct Growth<'t, 'a, 'b, 'p> {
    unroller: &'t Unroller<'a, 'b, 'p>,
    monitor: Silent<'t>,
    y: Vec<f64>,
    rotations: Vec<f64>,
    /// Distance along the tree from the root; infinite for points not placed.
    distances: Vec<f64>,
    /// The shortest of the waiting paths.
    best: Vec<f64>,
    queue: BinaryHeap<Reverse<Waiting>>,
    refused: BinaryHeap<Reverse<Waiting>>,
    forced: Vec<u32>,
    cells: Cells,
    steps: usize,
    scratch: Scratch,
}

#[derive(Default)]
struct Scratch {
    product: Vec<f64>,
    sum: Vec<f64>,
    rotation: Vec<f64>,
    place: Vec<f64>,
    guess: Vec<f64>,
    heard: Vec<usize>,
    spare: Vec<f64>,
    along: Vec<f64>,
    rows: (Vec<f64>, Vec<f64>),
}

impl<'t, 'a, 'b, 'p> Growth<'t, 'a, 'b, 'p> {
    fn new(unroller: &'t Unroller<'a, 'b, 'p>, monitor: &'t dyn Monitor) -> Self {
        let (n, d) = (unroller.connection.graph().len(), unroller.connection.n_components());
        Growth {
            unroller,
            monitor: Silent(monitor),
            y: vec![0.0; n * d],
            rotations: vec![0.0; n * d * d],
            distances: vec![f64::INFINITY; n],
            best: vec![f64::INFINITY; n],
            queue: BinaryHeap::new(),
            refused: BinaryHeap::new(),
            forced: Vec::new(),
            cells: Cells::new(n, d.min(MAX_CELL_DIM), NEAR * unroller.spacing.max(f64::MIN_POSITIVE)),
            steps: 0,
            scratch: Scratch::default(),
        }
    }

    fn d(&self) -> usize {
        self.unroller.connection.n_components()
    }

    fn grow(&mut self, root: u32) -> Result<()> {
        self.cells.clear();
        let d = self.d();
        (0..d).for_each(|a| self.rotations[root as usize * d * d + a * (d + 1)] = 1.0);
        self.keep(root as usize, 0.0);
        self.spread()
    }

    /// Lays out again the points of a component that lie `on_others`, starting from the other points.
    fn resume(&mut self, y: &[f64], rotations: &[f64], component: &[u32], on_others: &[bool]) -> Result<()> {
        self.cells.clear();
        let d = self.d();
        for i in component.iter().map(|&i| i as usize).filter(|&i| !on_others[i]) {
            self.y[i * d..][..d].copy_from_slice(&y[i * d..][..d]);
            self.rotations[i * d * d..][..d * d].copy_from_slice(&rotations[i * d * d..][..d * d]);
            self.keep(i, 0.0);
        }
        self.spread()
    }

    fn spread(&mut self) -> Result<()> {
        loop {
            if let Some(Reverse((bits, i, edge))) = self.queue.pop() {
                self.settle(f64::from_bits(bits), i, edge, false)?;
            } else if let Some(Reverse((bits, i, edge))) = self.refused.pop() {
                self.settle(f64::from_bits(bits), i, edge, true)?;
            } else {
                return Ok(());
            }
        }
    }

    /// Places the end of an edge from `i`, unless it is placed already or would overlap other points.
    fn settle(&mut self, path: f64, i: u32, edge: usize, forced: bool) -> Result<()> {
        self.count_step()?;
        let j = self.unroller.connection.end(edge);
        if self.distances[j].is_finite() || (!forced && path > self.best[j]) {
            return Ok(());
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        self.find_place(i as usize, edge, &mut scratch);
        if forced {
            self.forced.push(j as u32);
        } else if self.lies_on_others(j, &mut scratch) {
            self.refused.push(Reverse((path.to_bits(), i, edge)));
            self.look_elsewhere(j, (path.to_bits(), i));
            self.scratch = scratch;
            return Ok(());
        }
        let d = self.d();
        self.y[j * d..][..d].copy_from_slice(&scratch.place[..d]);
        self.rotations[j * d * d..][..d * d].copy_from_slice(&scratch.rotation[..d * d]);
        self.scratch = scratch;
        self.keep(j, path);
        Ok(())
    }

    fn count_step(&mut self) -> Result<()> {
        self.steps += 1;
        check_sometimes(self.steps, &self.monitor)
    }

    /// Returns whether a point of the layout lies on another part of it.
    fn is_on_others(&mut self, i: usize) -> bool {
        let (d, mut scratch) = (self.d(), std::mem::take(&mut self.scratch));
        first(&mut scratch.place, d).copy_from_slice(&self.y[i * d..][..d]);
        let lies = self.lies_on_others(i, &mut scratch);
        self.scratch = scratch;
        lies
    }

    /// Enters a placed point into the grid, so that others are tested against it.
    fn show(&mut self, i: usize) {
        let d = self.d();
        if d <= MAX_CELL_DIM {
            self.cells.insert(i as u32, &self.y[i * d..][..d]);
        }
    }

    /// Queues the neighbors of a placed point.
    fn keep(&mut self, i: usize, path: f64) {
        self.distances[i] = path;
        self.show(i);
        for edge in self.unroller.connection.edges(i) {
            let j = self.unroller.connection.end(edge);
            let through = path + self.unroller.length(edge);
            if self.distances[j].is_infinite() && through < self.best[j] {
                self.best[j] = through;
                self.queue.push(Reverse((through.to_bits(), i as u32, edge)));
            }
        }
    }

    /// The next path to a postponed point through placed points.
    fn look_elsewhere(&mut self, j: usize, refused: (u64, u32)) {
        self.best[j] = f64::INFINITY;
        let unroller = self.unroller;
        let others = unroller.connection.edges(j).filter_map(|edge| {
            let i = unroller.connection.end(edge);
            let through = self.distances[i] + unroller.length(edge);
            let later = through.is_finite() && (through.to_bits(), i as u32) > refused;
            later.then_some((through.to_bits(), i as u32, edge))
        });
        if let Some((bits, i, edge)) = others.min() {
            self.best[j] = f64::from_bits(bits);
            self.queue.push(Reverse((bits, i, unroller.back(j, edge))));
        }
    }

    /// Finds rotation and place of the end of an edge from `i`: first by that edge, then by all that agree with it.
    fn find_place(&self, i: usize, edge: usize, scratch: &mut Scratch) {
        let (d, unroller) = (self.d(), self.unroller);
        let (j, back) = (unroller.connection.end(edge), unroller.back(i, edge));
        first(&mut scratch.sum, d * d).fill(0.0);
        self.add_turn(back, scratch);
        self.turn(scratch);
        self.guess(j, back, scratch);
        let place = first(&mut scratch.place, d);
        place.copy_from_slice(&scratch.guess[..d]);
        scratch.heard.clear();
        scratch.sum.fill(0.0);
        for edge in unroller.connection.edges(j) {
            if self.distances[unroller.connection.end(edge)].is_infinite() {
                continue;
            }
            self.guess(j, edge, scratch);
            let apart = distance(&scratch.guess[..d], &scratch.place[..d]);
            if edge == back || apart <= AGREE * unroller.spacing {
                scratch.heard.push(edge);
                self.add_turn(edge, scratch);
            }
        }
        self.turn(scratch);
        scratch.place[..d].fill(0.0);
        for at in 0..scratch.heard.len() {
            self.guess(j, scratch.heard[at], scratch);
            let share = 1.0 / scratch.heard.len() as f64;
            (0..d).for_each(|b| scratch.place[b] += share * scratch.guess[b]);
        }
    }

    /// Adds P_j'P_i O_i, the rotation of point j according to an edge.
    fn add_turn(&self, edge: usize, scratch: &mut Scratch) {
        let (d, i) = (self.d(), self.unroller.connection.end(edge));
        let product = first(&mut scratch.product, d * d);
        multiply(self.unroller.connection.product(edge), &self.rotations[i * d * d..][..d * d], d, product);
        scratch.sum.iter_mut().zip(product).for_each(|(sum, p)| *sum += *p);
    }

    /// The orthogonal matrix nearest to the sum of these rotations.
    fn turn(&self, scratch: &mut Scratch) {
        let d = self.d();
        let product = first(&mut scratch.product, d * d);
        product.copy_from_slice(&scratch.sum[..d * d]);
        polar(product, d, d, first(&mut scratch.rotation, d * d), &mut scratch.spare);
    }

    /// Place of point `j` according to the other end of an edge; `j` is rotated by `scratch.turn`.
    fn guess(&self, j: usize, edge: usize, scratch: &mut Scratch) {
        let (d, unroller) = (self.d(), self.unroller);
        let i = unroller.connection.end(edge);
        let (from_i, from_j) = (unroller.step(unroller.back(j, edge)), unroller.step(edge));
        let guess = first(&mut scratch.guess, d);
        for b in 0..d {
            let (own, rotation) =
                (&self.rotations[i * d * d + b * d..][..d], &scratch.rotation[b * d..][..d]);
            let step: f64 = (0..d).map(|a| own[a] * from_i[a] - rotation[a] * from_j[a]).sum();
            guess[b] = self.y[i * d + b] + 0.5 * step;
        }
    }

    /// Returns whether a part of the data far from `j` is already at this place.
    fn lies_on_others(&self, j: usize, scratch: &mut Scratch) -> bool {
        let (d, h) = (self.d(), self.unroller.spacing);
        if d > MAX_CELL_DIM {
            return false;
        }
        let Scratch { place, along, rows, .. } = scratch;
        let along = first(along, d);
        self.cells.any(&place[..d], |p| {
            let p = p as usize;
            if distance(&self.y[p * d..][..d], &place[..d]) > NEAR * h {
                return false;
            }
            self.unroller.atlas.step(j, p, &mut rows.0, &mut rows.1, along)
                && along.iter().map(|v| v * v).sum::<f64>() > (FAR * h).powi(2)
        })
    }
}
