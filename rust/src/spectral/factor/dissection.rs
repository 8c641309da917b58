//! The order in which unknowns are eliminated: nested dissection (George 1973) of the graph of a matrix.
//!
//! A *separator*, points without which two halves do not touch, cuts the graph; the halves are eliminated first, the
//! separator after them. With u and v at the two ends of the graph, points are sorted by d(u, .) - d(v, .), counted in
//! edges. The separator of every prefix of this order is counted in one pass, and the best prefix is taken.
//!
//! Graphs of surfaces have separators of O(sqrt(n)) points, even where a plane would cut all windings of a roll.
//!
//! Cost: O(edges) for each of log(n) levels; memory, two copies of the graph. Halves run in parallel, independently, so
//! the order is thread-count independent.

use super::fork;
use crate::csr::Csr;
use crate::error::Result;
use crate::monitor::Monitor;
use crate::union_find::UnionFind;

const LEAF: usize = 48; // Sets of at most this many unknowns are not cut further.
const SMALLEST: f64 = 0.2; // Each half has at least this share of the unknowns.
const STRETCH: usize = 1 << 15; // Unknowns visited between two checks of the monitor.

/// The order of elimination, and the tree of separators.
#[derive(Debug)]
pub struct Dissection {
    /// The unknowns in the order of elimination.
    pub order: Vec<u32>,
    /// The last set that is eliminated, with the tree below it.
    pub root: Part,
}

/// Unknowns that are eliminated together, after the parts that they separate.
#[derive(Debug)]
pub struct Part {
    /// Number of unknowns.
    pub len: usize,
    /// Number of unknowns in all parts below.
    pub below: usize,
    /// The two parts that are eliminated before, which do not touch; none in a leaf.
    pub halves: Vec<Part>,
}

impl Part {
    /// Number of unknowns in this part and all parts below.
    pub fn total(&self) -> usize {
        self.len + self.below
    }
}

/// Orders the unknowns of a matrix with a symmetric pattern, given its row pointer and columns.
pub fn dissect(indptr: &[i64], indices: &[u32], monitor: &dyn Monitor) -> Result<Dissection> {
    let n = indptr.len().saturating_sub(1);
    let lists = Csr { indptr: indptr.to_vec(), indices: indices.to_vec(), values: vec![(); indices.len()] };
    let whole = Graph { names: (0..n as u32).collect(), lists };
    let (root, order) = whole.dissect(monitor)?;
    Ok(Dissection { order, root })
}

/// A part of the graph, numbered by itself.
struct Graph {
    names: Vec<u32>,
    lists: Csr<()>,
}

const UNSEEN: u32 = u32::MAX;

/// The half that a point belongs to.
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
        self.lists.list(i)
    }

    /// Dissects this part: returns the tree, and the points in the order of elimination.
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
        let (left, right) = fork(n, || left.dissect(monitor), || right.dissect(monitor));
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
        let mut lists = Csr::default();
        for i in (0..self.len()).filter(|&i| sides[i] == side) {
            lists.indices.extend(self.of(i).iter().map(|&j| number[j as usize]).filter(|&j| j != UNSEEN));
            lists.end_row();
            ask(lists.len(), monitor)?;
        }
        Ok(Graph { names, lists })
    }

    /// The half of every point, or `None` if no cut leaves two halves.
    fn cut(&self, monitor: &dyn Monitor) -> Result<Option<Vec<Side>>> {
        let (first, _) = self.walk(0, monitor)?;
        if first.len() < self.len() {
            return self.gather_components(monitor).map(Some);
        }
        let (order, from) = self.walk(first[first.len() - 1] as usize, monitor)?;
        let (_, to) = self.walk(order[order.len() - 1] as usize, monitor)?;
        let mut line = order;
        line.sort_by_key(|&i| i64::from(from[i as usize]) - i64::from(to[i as usize])); // stable
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

    /// The place of every point in `line`, and that of its last neighbor.
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

    /// Length of the prefix with the smallest separator relative to the smaller half.
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
        let mut sets: UnionFind = UnionFind::new(self.len());
        for i in 0..self.len() {
            ask(i, monitor)?;
            for &j in self.of(i) {
                sets.join(i as u32, j, ());
            }
        }
        let labels = sets.labels();
        let mut sizes = vec![0; labels.iter().max().map_or(0, |&last| last as usize + 1)];
        labels.iter().for_each(|&label| sizes[label as usize] += 1);
        Ok((labels, sizes))
    }
}

/// Checks the monitor once for every stretch of points.
fn ask(visited: usize, monitor: &dyn Monitor) -> Result<()> {
    if visited.is_multiple_of(STRETCH) { monitor.check() } else { Ok(()) }
}
