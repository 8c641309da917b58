//! The seams of a cut: connected torn pairs, and the order of the points on both sides.
//!
//! Two torn pairs belong to one seam if their first ends are near each other on the sheet, and their second ends too. A
//! walk from one end of a torn pair to the other closes a loop on the surface. A seam can end within the sheet: there
//! the two ends of a pair are near each other. Distances are measured in the data, along the sheet, because an
//! embedding is stretched most where seams end.
//!
//! Cost: O(m k^2 q) for m torn pairs, of which there are O(n^(1 - 1/d)).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::STAGE;
use super::torn::check_entries;
use super::unroll::check_flat;
use crate::charts::check_lengths;
use crate::csr::Csr;
use crate::embed::align::Connection;
use crate::embed::{check_sometimes, largest};
use crate::error::Result;
use crate::linalg::{determinant_sign, first};
use crate::monitor::{Monitor, Silent};
use crate::neighbors::Neighborhoods;
use crate::neighbors::paths::distance;
use crate::parallel::map_points;
use crate::points::Points;
use crate::union_find::UnionFind;

/// Points are near if a path on the sheet of at most `STEPS` steps joins them within `NEAR` spacings: random samples
/// have gaps of more than two spacings between torn pairs.
const STEPS: usize = 10;
const NEAR: f64 = 4.0;

/// Two arcs of the cut that are one curve of the data.
#[derive(Debug, Clone, PartialEq)]
pub struct Seam {
    /// The points of one side in order, and those of the other side in the same order.
    pub sides: [Vec<u32>; 2],
    /// True if the surface is reflected across the seam.
    pub reversed: bool,
    /// True if the seam ends within the sheet.
    pub ends: bool,
    /// Number of torn pairs.
    pub n_pairs: usize,
}

/// Finds the seams of at least `least` pairs, the longest first. `rotations` are the frames of the picture `y` on its
/// sheet.
#[allow(clippy::too_many_arguments)] // data, graph, cut and picture
pub fn seams(
    x: &Points,
    connection: &Connection,
    graph: &Neighborhoods,
    torn: &[bool],
    y: &[f64],
    rotations: &[f64],
    least: usize,
    monitor: &dyn Monitor,
) -> Result<Vec<Seam>> {
    check_lengths(x, "X", graph)?;
    check_entries(graph, torn)?;
    connection.check_rotations(rotations)?;
    connection.prepare(monitor)?;
    let d = connection.n_components();
    check_flat(y, connection)?;
    let pairs = Pairs::new(x, graph, torn, monitor)?;
    // pairs show the other side where their ends are in the other order
    let mut bundles = UnionFind::<bool>::new(pairs.ends.len());
    for pair in 0..pairs.ends.len() {
        check_sometimes(pair, monitor)?;
        pairs.adjacent(pair, |other, swapped| {
            bundles.join(pair as u32, other, swapped);
        });
    }
    let mut scratch = (Vec::new(), Vec::new());
    let mut seams = Vec::new();
    for members in bundles.sets().iter().filter(|members| members.len() >= least) {
        monitor.check()?;
        let reflected = |&&(pair, _): &&(u32, bool)| {
            let (i, j) = pairs.ends[pair as usize];
            reflects(connection, i as usize, j as usize, rotations, &mut scratch)
        };
        let reversed = 2 * members.iter().filter(reflected).count() > members.len();
        let (sides, ends) = (pairs.in_order(members, y, d), pairs.end_within(members));
        seams.push(Seam { sides, reversed, ends, n_pairs: members.len() });
    }
    seams.sort_by_key(|seam| Reverse(seam.n_pairs));
    Ok(seams)
}

/// Torn pairs, each once, and the points near their ends.
struct Pairs {
    ends: Vec<(u32, u32)>,
    of: Csr<(), u32>,
    /// For each point of a pair those near it, itself among them, in rising order; and which of these lists is whose.
    balls: Vec<Vec<u32>>,
    ball: Vec<u32>,
}

impl Pairs {
    fn new(x: &Points, graph: &Neighborhoods, torn: &[bool], monitor: &dyn Monitor) -> Result<Self> {
        let mut ends: Vec<(u32, u32)> = super::torn::entries(graph)
            .filter(|&(.., at)| torn[at])
            .map(|(i, j, _)| (i.min(j) as u32, i.max(j) as u32))
            .collect();
        ends.sort_unstable();
        ends.dedup();
        let both = || (0..).zip(&ends).flat_map(|(pair, &(i, j))| [(i, pair), (j, pair)]);
        let of = Csr::grouped(graph.len(), both().map(|(i, _)| i), both());
        let mut touched: Vec<u32> = ends.iter().flat_map(|&(i, j)| [i, j]).collect();
        touched.sort_unstable();
        touched.dedup();
        let mut ball = vec![u32::MAX; graph.len()];
        touched.iter().zip(0..).for_each(|(&i, at)| ball[i as usize] = at);
        let sheet = super::restricted(graph, torn)?.symmetrized();
        let reach = NEAR * super::spacing(x, graph, monitor)?;
        let near = |walk: &mut Walk, at: usize| walk.near(x, &sheet, touched[at], reach);
        let balls = map_points(touched.len(), STAGE, &Silent(monitor), Walk::default, near)?;
        Ok(Pairs { ends, of, balls, ball })
    }

    fn near(&self, i: u32) -> &[u32] {
        &self.balls[self.ball[i as usize] as usize]
    }

    fn are_near(&self, i: u32, j: u32) -> bool {
        self.near(i).binary_search(&j).is_ok()
    }

    /// The pairs near `i`, each with its end there and its other end.
    fn around(&self, i: u32) -> impl Iterator<Item = (u32, u32, u32)> {
        self.near(i).iter().flat_map(move |&p| {
            self.of.list(p as usize).iter().map(move |&pair| {
                let (a, b) = self.ends[pair as usize];
                (pair, p, if a == p { b } else { a })
            })
        })
    }

    /// Calls `f(other, swapped)` for the pairs adjacent to `pair`; `swapped` is true if the ends of the other are in
    /// the opposite order.
    fn adjacent(&self, pair: usize, mut f: impl FnMut(u32, bool)) {
        let (i, j) = self.ends[pair];
        for (other, here, there) in self.around(i) {
            if other as usize != pair && self.are_near(j, there) {
                f(other, here > there);
            }
        }
    }

    /// Returns whether the two ends of some pair are near each other on the sheet.
    fn end_within(&self, members: &[(u32, bool)]) -> bool {
        let ends = members.iter().map(|&(pair, _)| self.ends[pair as usize]);
        ends.into_iter().any(|(i, j)| self.are_near(i, j))
    }

    /// The points of both sides, in the order of their pairs along the seam.
    fn in_order(&self, members: &[(u32, bool)], y: &[f64], d: usize) -> [Vec<u32>; 2] {
        let along = self.along(members, y, d);
        [false, true].map(|other| {
            let ends = members.iter().zip(&along).map(|(&(pair, swapped), &t)| {
                let (i, j) = self.ends[pair as usize];
                (if swapped == other { i } else { j }, t)
            });
            let mut ends: Vec<(u32, f64)> = ends.collect();
            ends.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            let mut side: Vec<(f64, u32)> = ends
                .chunk_by(|a, b| a.0 == b.0)
                .map(|own| (own.iter().map(|(_, t)| t).sum::<f64>() / own.len() as f64, own[0].0))
                .collect();
            side.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            side.into_iter().map(|(_, i)| i).collect()
        })
    }

    /// Distance of each pair of a seam from one of its ends, along both sides together.
    fn along(&self, members: &[(u32, bool)], y: &[f64], d: usize) -> Vec<f64> {
        let place = |pair: u32| members.binary_search_by_key(&pair, |&(pair, _)| pair).ok();
        let from = |start: usize| {
            let mut distances = vec![f64::INFINITY; members.len()];
            let mut queue = BinaryHeap::from([Reverse((0u64, start))]);
            distances[start] = 0.0;
            while let Some(Reverse((bits, at))) = queue.pop() {
                if f64::from_bits(bits) > distances[at] {
                    continue;
                }
                self.adjacent(members[at].0 as usize, |other, swapped| {
                    let Some(next) = place(other) else { return };
                    let through = distances[at] + self.between(members[at].0, other, swapped, y, d);
                    if through < distances[next] {
                        distances[next] = through;
                        queue.push(Reverse((through.to_bits(), next)));
                    }
                });
            }
            distances
        };
        from(largest(&from(0)))
    }

    fn between(&self, pair: u32, other: u32, swapped: bool, y: &[f64], d: usize) -> f64 {
        let (i, j) = self.ends[pair as usize];
        let (a, b) = self.ends[other as usize];
        let (a, b) = if swapped { (b, a) } else { (a, b) };
        let apart = |i: u32, j: u32| distance(&y[i as usize * d..][..d], &y[j as usize * d..][..d]);
        apart(i, a) + apart(j, b)
    }
}

#[derive(Default)]
struct Walk {
    frontier: Vec<u32>,
    next: Vec<u32>,
    own: Vec<f64>,
    row: Vec<f64>,
}

impl Walk {
    fn near(&mut self, x: &Points, sheet: &Neighborhoods, i: u32, reach: f64) -> Vec<u32> {
        let Walk { frontier, next, own, row } = self;
        let (own, row) = (first(own, x.dim()), first(row, x.dim()));
        x.copy_row(i as usize, own);
        let mut ball = vec![i];
        frontier.clear();
        frontier.push(i);
        for _ in 0..STEPS {
            next.clear();
            frontier.iter().for_each(|&p| next.extend_from_slice(sheet.of(p as usize)));
            next.sort_unstable();
            next.dedup();
            next.retain(|&p| {
                x.copy_row(p as usize, row);
                ball.binary_search(&p).is_err() && distance(own, row) <= reach
            });
            if next.is_empty() {
                break;
            }
            ball.extend_from_slice(next);
            ball.sort_unstable();
            std::mem::swap(frontier, next);
        }
        ball
    }
}

/// Returns whether the surface is reflected across a torn pair: det(O_i' P_i'P_j O_j) < 0.
fn reflects(
    connection: &Connection,
    i: usize,
    j: usize,
    rotations: &[f64],
    scratch: &mut (Vec<f64>, Vec<f64>),
) -> bool {
    let d = connection.n_components();
    let at = connection.graph().of(i).binary_search(&(j as u32)).unwrap_or(0);
    let product = connection.product(connection.edges(i).start + at);
    let mut sign = |matrix: &[f64]| {
        let copy = first(&mut scratch.0, d * d);
        copy.copy_from_slice(matrix);
        determinant_sign(copy, d)
    };
    sign(product) * sign(&rotations[i * d * d..][..d * d]) * sign(&rotations[j * d * d..][..d * d]) < 0.0
}
