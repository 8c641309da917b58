//! The order in which unknowns are eliminated: nested dissection (George 1973) of the graph of a matrix.
//!
//! A graph is cut in two by a *separator*, points without which its halves do not touch; the halves are eliminated
//! first, each by itself, the separator after them. The cut is looked for across the long way of the graph: with u and
//! v at its two ends, points are sorted by d(u, .) - d(v, .), counted in edges, which is straight across the middle,
//! and for every prefix of this order the separator, its members with a neighbour behind, is counted in one pass. So the
//! best of all places is taken, not the median.
//!
//! Graphs of surfaces have separators of O(sqrt(n)) points, wherever they lie in space; a plane through a rolled-up
//! sheet cuts all its windings.
//!
//! Cost: O(edges) for each level of halves, log(n) levels; memory, two copies of the graph. Halves are worked on in
//! parallel and know nothing of each other, so the order is the same on any number of threads.

use crate::error::Result;
use crate::monitor::Monitor;

/// Sets of so few points are not cut further.
const LEAF: usize = 48;

/// Each half holds at least this share of the points.
const SMALLEST: f64 = 0.2;

/// Points that are visited between two looks at the monitor.
const STRETCH: usize = 1 << 15;

/// Below as many points, halves are not worth a second thread.
const FEW: usize = 2048;

/// The order of elimination, and the tree of separators in it.
#[derive(Debug)]
pub struct Dissection {
    /// Unknowns as they are eliminated.
    pub order: Vec<u32>,
    /// The last set that is eliminated, with those before it.
    pub root: Part,
}

/// A set of unknowns that are eliminated together, after the parts that it keeps apart.
#[derive(Debug)]
pub struct Part {
    /// How many unknowns.
    pub len: usize,
    /// How many in all parts below it.
    pub below: usize,
    /// Parts eliminated before, which do not touch.
    pub halves: Vec<Part>,
}

impl Part {
    /// How many unknowns it holds with all parts below it.
    pub fn total(&self) -> usize {
        self.len + self.below
    }
}

/// Orders the unknowns of a matrix by its rows: `indices` from `indptr[i]` to `indptr[i + 1]`, of a symmetric pattern.
pub fn dissect(indptr: &[usize], indices: &[u32], monitor: &dyn Monitor) -> Result<Dissection> {
    let n = indptr.len().saturating_sub(1);
    let whole =
        Graph { names: (0..n as u32).collect(), ends: indptr[1..].to_vec(), neighbors: indices.to_vec() };
    let (root, order) = whole.dissect(monitor)?;
    Ok(Dissection { order, root })
}

/// A part of the graph, numbered by itself.
struct Graph {
    names: Vec<u32>,
    ends: Vec<usize>,
    neighbors: Vec<u32>,
}

const UNSEEN: u32 = u32::MAX;

/// Which half a point falls into.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Left,
    Right,
    Between,
}

impl Graph {
    fn len(&self) -> usize {
        self.names.len()
    }

    fn of(&self, i: usize) -> &[u32] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.neighbors[start..self.ends[i]]
    }

    /// Takes itself apart: the tree, and the points in the order of elimination.
    fn dissect(self, monitor: &dyn Monitor) -> Result<(Part, Vec<u32>)> {
        monitor.check()?;
        let n = self.len();
        let sides = if n <= LEAF { None } else { self.cut(monitor)? };
        let Some(sides) = sides else {
            return Ok((Part { len: n, below: 0, halves: Vec::new() }, self.names));
        };
        let separator: Vec<u32> =
            (0..n).filter(|&i| sides[i] == Side::Between).map(|i| self.names[i]).collect();
        let left = self.part(&sides, Side::Left, monitor)?;
        let right = self.part(&sides, Side::Right, monitor)?;
        drop((self, sides));
        let (left, right) = if n < FEW {
            (left.dissect(monitor), right.dissect(monitor))
        } else {
            rayon::join(|| left.dissect(monitor), || right.dissect(monitor))
        };
        let ((left, mut order), (right, behind)) = (left?, right?);
        order.extend(behind);
        order.extend(&separator);
        let below = left.total() + right.total();
        Ok((Part { len: separator.len(), below, halves: vec![left, right] }, order))
    }

    /// The points of one side with the edges among them.
    fn part(&self, sides: &[Side], side: Side, monitor: &dyn Monitor) -> Result<Graph> {
        let mut number = vec![UNSEEN; self.len()];
        let mut names = Vec::new();
        for i in 0..self.len() {
            if sides[i] == side {
                number[i] = names.len() as u32;
                names.push(self.names[i]);
            }
        }
        let mut ends = Vec::with_capacity(names.len());
        let mut neighbors = Vec::new();
        for i in (0..self.len()).filter(|&i| sides[i] == side) {
            neighbors.extend(self.of(i).iter().map(|&j| number[j as usize]).filter(|&j| j != UNSEEN));
            ends.push(neighbors.len());
            ask(ends.len(), monitor)?;
        }
        Ok(Graph { names, ends, neighbors })
    }

    /// Where every point falls, or nothing if no cut leaves two halves.
    fn cut(&self, monitor: &dyn Monitor) -> Result<Option<Vec<Side>>> {
        let (first, _) = self.walk(0, monitor)?;
        if first.len() < self.len() {
            return self.gather_components(monitor).map(Some);
        }
        let (order, from) = self.walk(first[first.len() - 1] as usize, monitor)?;
        let (_, to) = self.walk(order[order.len() - 1] as usize, monitor)?;
        let line = sorted_by(&order, |i| from[i] as i64 - to[i] as i64);
        let (place, last) = self.places(&line, monitor)?;
        let side = |i: usize, at: u32| match (place[i] < at, last[i] < at) {
            (false, _) => Side::Right,
            (true, true) => Side::Left,
            (true, false) => Side::Between,
        };
        let at = self.best_prefix(&place, &last);
        Ok(at.map(|at| (0..self.len()).map(|i| side(i, at)).collect()))
    }

    /// Points by their distance from `start`, as far as they can be reached, and all distances.
    fn walk(&self, start: usize, monitor: &dyn Monitor) -> Result<(Vec<u32>, Vec<u32>)> {
        let mut distance = vec![UNSEEN; self.len()];
        let mut queue = Vec::with_capacity(self.len());
        distance[start] = 0;
        queue.push(start as u32);
        let mut head = 0;
        while head < queue.len() {
            let i = queue[head] as usize;
            head += 1;
            ask(head, monitor)?;
            for &j in self.of(i) {
                if distance[j as usize] == UNSEEN {
                    distance[j as usize] = distance[i] + 1;
                    queue.push(j);
                }
            }
        }
        Ok((queue, distance))
    }

    /// Where every point stands in `line`, and its last neighbour.
    fn places(&self, line: &[u32], monitor: &dyn Monitor) -> Result<(Vec<u32>, Vec<u32>)> {
        let mut place = vec![0; self.len()];
        for (p, &i) in line.iter().enumerate() {
            place[i as usize] = p as u32;
        }
        let mut last = Vec::with_capacity(self.len());
        for i in 0..self.len() {
            ask(i, monitor)?;
            last.push(self.of(i).iter().fold(place[i], |l, &j| l.max(place[j as usize])));
        }
        Ok((place, last))
    }

    /// How long the prefix is that is cut off with the smallest separator for the smaller half.
    fn best_prefix(&self, place: &[u32], last: &[u32]) -> Option<u32> {
        let n = self.len();
        let mut change = vec![0i64; n + 1];
        for (&p, &l) in place.iter().zip(last) {
            // in the separator of the prefixes of p + 1 to l points
            change[p as usize + 1] += 1;
            change[l as usize + 1] -= 1;
        }
        let margin = ((n as f64 * SMALLEST) as i64).max(1);
        let mut best = None;
        let mut separator = 0;
        for at in 1..n as i64 {
            separator += change[at as usize];
            let (left, right) = (at - separator, n as i64 - at);
            if left < margin || right < margin {
                continue;
            }
            let quotient = separator as f64 / left.min(right) as f64;
            if best.is_none_or(|(least, _)| quotient < least) {
                best = Some((quotient, at as u32));
            }
        }
        best.map(|(_, at)| at)
    }

    /// Two sides of whole components, the largest against all others as long as it is the larger side.
    fn gather_components(&self, monitor: &dyn Monitor) -> Result<Vec<Side>> {
        let (label, sizes) = self.components(monitor)?;
        let mut largest_first: Vec<usize> = (0..sizes.len()).collect();
        largest_first.sort_by_key(|&c| std::cmp::Reverse(sizes[c]));
        let mut side = vec![Side::Right; sizes.len()];
        let mut left = 0;
        for c in largest_first {
            if left == 0 || 2 * (left + sizes[c]) <= self.len() {
                side[c] = Side::Left;
                left += sizes[c];
            }
        }
        Ok(label.iter().map(|&c| side[c as usize]).collect())
    }

    /// The component of every point, and how many points each has.
    fn components(&self, monitor: &dyn Monitor) -> Result<(Vec<u32>, Vec<usize>)> {
        let mut label = vec![UNSEEN; self.len()];
        let mut sizes = Vec::new();
        let mut stack = Vec::new();
        for start in 0..self.len() {
            if label[start] != UNSEEN {
                continue;
            }
            let c = sizes.len() as u32;
            label[start] = c;
            stack.push(start as u32);
            let mut size = 0;
            while let Some(i) = stack.pop() {
                size += 1;
                ask(size, monitor)?;
                for &j in self.of(i as usize) {
                    if label[j as usize] == UNSEEN {
                        label[j as usize] = c;
                        stack.push(j);
                    }
                }
            }
            sizes.push(size);
        }
        Ok((label, sizes))
    }
}

/// Looks at the monitor once for every stretch of points.
fn ask(visited: usize, monitor: &dyn Monitor) -> Result<()> {
    if visited.is_multiple_of(STRETCH) { monitor.check() } else { Ok(()) }
}

/// `items` by increasing key; what is equal stays in order.
fn sorted_by(items: &[u32], key: impl Fn(usize) -> i64) -> Vec<u32> {
    let mut line = items.to_vec();
    line.sort_by_key(|&i| key(i as usize));
    line
}
