//! Dijkstra's algorithm from one source, with a queue of buckets.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Lengths, NO_POINT};
use crate::error::Result;
use crate::monitor::Monitor;

/// Points settled between two checks of the monitor: less than a millisecond of work.
const LOOK: usize = 2048;

/// The shortest paths from one source. Its memory is reused by the next source.
#[derive(Debug, Default)]
pub struct Tree {
    distances: Vec<f64>,
    predecessors: Vec<u32>,
    order: Vec<u32>,
    queue: Queue,
}

impl Tree {
    /// Finds the shortest paths from the point `source`.
    ///
    /// Of several shortest paths, the one whose last step comes from the nearer point of lowest index is kept, or the
    /// first found if there is none.
    pub fn grow(&mut self, graph: &Lengths, source: usize, monitor: &dyn Monitor) -> Result<()> {
        self.grow_within(graph, source, f64::INFINITY, monitor)
    }

    /// Finds the shortest paths from a place outside the graph, given its distance to some points. Infinite distances
    /// are ignored.
    pub fn grow_from(&mut self, graph: &Lengths, starts: &[(u32, f64)], monitor: &dyn Monitor) -> Result<()> {
        self.clear(graph.len());
        let ways = || starts.iter().filter(|(_, far)| far.is_finite());
        let (near, far) = ways().fold((f64::INFINITY, 0.0), |(a, b), &(_, far)| (far.min(a), far.max(b)));
        self.queue.begin(graph.longest.max(far - near), near);
        for &(point, far) in ways() {
            let place = graph.places[point as usize];
            if far < self.distances[place as usize] {
                self.distances[place as usize] = far;
                self.queue.push(far, place);
            }
        }
        self.spread(graph, f64::INFINITY, monitor)
    }

    /// Adds a source: points that are nearer to it than to the sources before get their distance to it.
    pub fn join(&mut self, graph: &Lengths, source: usize, monitor: &dyn Monitor) -> Result<()> {
        self.begin(graph, source);
        self.spread(graph, f64::INFINITY, monitor)
    }

    /// Finds the shortest paths of length up to `limit`. Points beyond it are not reached.
    pub fn grow_within(
        &mut self,
        graph: &Lengths,
        source: usize,
        limit: f64,
        monitor: &dyn Monitor,
    ) -> Result<()> {
        self.clear(graph.len());
        self.begin(graph, source);
        self.spread(graph, limit, monitor)
    }

    fn begin(&mut self, graph: &Lengths, source: usize) {
        let place = graph.places[source];
        self.queue.begin(graph.longest, 0.0);
        self.distances[place as usize] = 0.0;
        self.predecessors[place as usize] = NO_POINT;
        self.queue.push(0.0, place);
    }

    fn spread(&mut self, graph: &Lengths, limit: f64, monitor: &dyn Monitor) -> Result<()> {
        loop {
            // before a point leaves the queue, because the next search clears the points that wait after a stop
            if self.order.len().is_multiple_of(LOOK) {
                monitor.check()?;
            }
            match self.queue.pop(&self.distances) {
                Some((distance, first)) if distance > limit => {
                    self.give_up(first, limit);
                    return Ok(());
                }
                // unless a shorter path was found since
                Some((distance, i)) if distance <= self.distances[i as usize] => {
                    self.settle(graph, i, distance)
                }
                Some(_) => {}
                None => return Ok(()),
            }
        }
    }

    /// Clears points that were seen but not reached.
    fn give_up(&mut self, first: u32, limit: f64) {
        for i in std::iter::once(first).chain(self.queue.drain()) {
            if self.distances[i as usize] > limit {
                self.distances[i as usize] = f64::INFINITY;
                self.predecessors[i as usize] = NO_POINT;
            }
        }
    }

    /// The distance to every place; infinite if it was not reached.
    pub fn distances(&self) -> &[f64] {
        &self.distances
    }

    /// The place before `place` on its path; `None` for the source and for places that were not reached.
    pub fn predecessor(&self, place: usize) -> Option<u32> {
        Some(self.predecessors[place]).filter(|&before| before != NO_POINT)
    }

    /// The places that were reached, the source first and none before its predecessor.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Only reached points have to be cleared. A stop may have left points that wait.
    fn clear(&mut self, n: usize) {
        if self.distances.len() == n && self.queue.waiting == 0 {
            for &i in &self.order {
                self.distances[i as usize] = f64::INFINITY;
                self.predecessors[i as usize] = NO_POINT;
            }
        } else {
            (self.distances, self.predecessors) = (vec![f64::INFINITY; n], vec![NO_POINT; n]);
            self.queue = Queue::default();
        }
        self.order.clear();
    }

    fn settle(&mut self, graph: &Lengths, i: u32, distance: f64) {
        self.order.push(i);
        for (j, length) in graph.adjacent(i as usize) {
            let (through, known) = (distance + length, self.distances[j as usize]);
            if through < known {
                self.distances[j as usize] = through;
                self.predecessors[j as usize] = i;
                self.queue.push(through, j);
            } else if through == known && through > distance {
                let before = &mut self.predecessors[j as usize];
                // no point comes before the one where the paths begin
                if *before != NO_POINT && graph.points[i as usize] < graph.points[*before as usize] {
                    *before = i;
                }
            }
        }
    }
}

/// Points and their distances, nearest first. A point that comes nearer is pushed again, and skipped when it is popped
/// for the second time.
///
/// Only the nearest are in a heap. The others are unsorted in bins of equal width, and most outdated entries are
/// dropped before they are sorted. No edge reaches beyond the last bin, so a ring of bins is enough.
#[derive(Debug, Default)]
struct Queue {
    near: BinaryHeap<Reverse<Waiting>>,
    far: Vec<Vec<Waiting>>,
    /// The bin that is in the heap.
    current: u64,
    /// Number of waiting points, in the heap and in bins.
    waiting: usize,
    bins_per_length: f64,
}

/// The bits of a distance, which rise with it and are compared as a whole number, and the waiting point.
type Waiting = (u64, u32);

impl Queue {
    const BINS: u64 = 64;

    /// For steps that are no longer than `longest`, the first of which begins as far as `near`.
    fn begin(&mut self, longest: f64, near: f64) {
        self.far.resize_with(Self::BINS as usize, Vec::new);
        // Less than there are, for distances are rounded. Without lengths there is one bin.
        let bins_per_length = (Self::BINS - 4) as f64 / longest;
        self.bins_per_length = if bins_per_length.is_finite() { bins_per_length } else { 0.0 };
        self.current = (near * self.bins_per_length) as u64;
    }

    fn push(&mut self, distance: f64, i: u32) {
        let (bin, waiting) = ((distance * self.bins_per_length) as u64, (distance.to_bits(), i));
        if bin <= self.current {
            self.near.push(Reverse(waiting));
        } else {
            self.far[(bin % Self::BINS) as usize].push(waiting);
        }
        self.waiting += 1;
    }

    /// The points that wait, in no order.
    fn drain(&mut self) -> impl Iterator<Item = u32> + '_ {
        self.waiting = 0;
        let near = self.near.drain().map(|Reverse(waiting)| waiting);
        near.chain(self.far.iter_mut().flat_map(|bin| bin.drain(..))).map(|(_, i)| i)
    }

    fn pop(&mut self, known: &[f64]) -> Option<(f64, u32)> {
        loop {
            if let Some(Reverse((bits, i))) = self.near.pop() {
                self.waiting -= 1;
                return Some((f64::from_bits(bits), i));
            }
            if self.waiting == 0 {
                return None;
            }
            self.current += 1;
            let bin = &mut self.far[(self.current % Self::BINS) as usize];
            self.waiting -= bin.len();
            let nearest = bin.drain(..).filter(|&(bits, i)| known[i as usize].to_bits() == bits);
            self.near.extend(nearest.map(Reverse));
            self.waiting += self.near.len();
        }
    }
}
