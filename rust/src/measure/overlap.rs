//! Overlap: how much an embedding puts distant parts of the data on top of each other (Goldberg & Ritov, section 6).
//!
//! The Procrustes measures compare neighbors in the data only, so they miss overlap. This is the share of the nearest
//! embedded points that are more than s steps away on the neighborhood graph.
//!
//! Cost: the search for neighbors in the embedding, and balls of about s / 2 steps: O(n k) for faithful embeddings.
//! Memory: O(n k), for the graph in both directions.

use super::procrustes::check_centers;
use crate::charts::check_lengths;
use crate::error::{Result, check_range};
use crate::monitor::Monitor;
use crate::neighbors::{Neighborhoods, Search, nearest_to};
use crate::parallel::map_points;
use crate::points::Points;

const STAGE: &str = "overlap";

/// The ball about a point serves for all of its nearest embedded points, so it may cost this many times as much.
const SHARED: usize = 8;

/// When points are distant, and the points to measure.
#[derive(Debug, Clone, Copy)]
pub struct OverlapParams<'a> {
    /// Points more than this many steps away on the undirected graph are distant; at least 1.
    pub steps: usize,
    /// The points to measure; all points if `None`.
    pub centers: Option<&'a [u32]>,
}

impl Default for OverlapParams<'_> {
    fn default() -> Self {
        OverlapParams { steps: 4, centers: None }
    }
}

/// The share of the nearest embedded points of each center that are distant in the data; in [0, 1], 0 is perfect.
///
/// The number of nearest points is that of the graph's neighbors (the rounded mean, if sizes differ), or that of the
/// other points in the component if these are fewer.
pub fn overlap(
    y: &Points,
    neighborhoods: &Neighborhoods,
    params: OverlapParams,
    monitor: &dyn Monitor,
) -> Result<Vec<f64>> {
    check_lengths(y, "Y", neighborhoods)?;
    let needed = "neighbors are 1 step away, so at least 1 step must be near";
    check_range("steps", params.steps as f64, params.steps > 0, needed)?;
    check_centers(params.centers, y.len())?;
    let n_centers = params.centers.map_or(y.len(), <[u32]>::len);
    let looked_at = LookedAt::new(neighborhoods);
    if looked_at.most == 0 {
        return Ok(vec![0.0; n_centers]); // a single point
    }
    let near = nearest_to(y, params.centers, looked_at.most, Search::Auto, monitor)?;
    let graph = BothWays { lists: neighborhoods, listed_by: &neighborhoods.reversed() };
    let balls = || (Ball::default(), Ball::default());
    let shares = map_points(n_centers, STAGE, monitor, balls, |(around, other), place| {
        let center = params.centers.map_or(place, |centers| centers[place] as usize);
        let few = looked_at.by(center);
        // A hub makes a point slow; results after a stop are discarded.
        if few == 0 || monitor.stop_requested() {
            return 0.0;
        }
        around.begin(center as u32, &graph);
        let nearest = near[place * looked_at.most..][..few].iter();
        let distant = nearest.filter(|&&j| !around.reaches(j, params.steps, other, &graph));
        distant.count() as f64 / few as f64
    })?;
    monitor.check()?;
    Ok(shares)
}

/// Number of nearest embedded points that are examined, for each point.
struct LookedAt {
    most: usize,
    /// Number of other points in the component of each point; empty if all have enough.
    others: Vec<u32>,
}

impl LookedAt {
    fn new(neighborhoods: &Neighborhoods) -> Self {
        let n = neighborhoods.len();
        if let Some(k) = neighborhoods.fixed_size() {
            return LookedAt { most: k.min(n - 1), others: Vec::new() };
        }
        let mean = (neighborhoods.indices().len() as f64 / n as f64).round() as usize;
        let labels = neighborhoods.components();
        let mut sizes = vec![0u32; n];
        labels.iter().for_each(|&label| sizes[label as usize] += 1);
        let others = labels.iter().map(|&label| sizes[label as usize] - 1).collect();
        LookedAt { most: mean.max(1).min(n - 1), others }
    }

    fn by(&self, i: usize) -> usize {
        self.others.get(i).map_or(self.most, |&others| self.most.min(others as usize))
    }
}

/// The undirected graph: the neighbors of each point, and the points that list it. Some are both.
struct BothWays<'a> {
    lists: &'a Neighborhoods<'a>,
    listed_by: &'a Neighborhoods<'a>,
}

impl BothWays<'_> {
    fn adjacent(&self, i: u32) -> impl Iterator<Item = u32> {
        let i = i as usize;
        self.lists.of(i).iter().chain(self.listed_by.of(i)).copied()
    }

    fn degree(&self, i: u32) -> usize {
        self.lists.of(i as usize).len() + self.listed_by.of(i as usize).len()
    }
}

/// The points within some steps of one.
#[derive(Default)]
struct Ball {
    members: Members,
    /// The members in the order in which they were reached.
    order: Vec<u32>,
    /// Start of the members that are exactly `radius` steps away.
    frontier: usize,
    radius: usize,
    /// Number of edges that the next step follows.
    work: usize,
}

impl Ball {
    fn begin(&mut self, center: u32, graph: &BothWays) {
        self.members.clear();
        self.order.clear();
        (self.frontier, self.radius, self.work) = (0, 0, 0);
        self.reach(center, graph);
    }

    fn reach(&mut self, i: u32, graph: &BothWays) {
        if self.members.insert(i) {
            self.order.push(i);
            self.work += graph.degree(i);
        }
    }

    fn grow(&mut self, graph: &BothWays) {
        let (begin, end) = (self.frontier, self.order.len());
        (self.frontier, self.work) = (end, 0);
        self.radius += 1;
        for place in begin..end {
            graph.adjacent(self.order[place]).for_each(|j| self.reach(j, graph));
        }
    }

    fn frontier(&self) -> &[u32] {
        &self.order[self.frontier..]
    }

    /// Returns whether `j` is within `steps` of the center. The cheaper of this ball and `other`, around `j`, grows
    /// until they overlap. This ball is kept for the next `j`.
    fn reaches(&mut self, j: u32, steps: usize, other: &mut Ball, graph: &BothWays) -> bool {
        if self.radius == 0 {
            self.grow(graph);
        }
        if self.members.contains(j) {
            return true;
        }
        other.begin(j, graph);
        while self.radius + other.radius < steps {
            let (growing, waiting) =
                if self.work < SHARED * other.work { (&mut *self, &*other) } else { (&mut *other, &*self) };
            if growing.work == 0 || waiting.work == 0 {
                return false; // a whole component
            }
            growing.grow(graph);
            if growing.frontier().iter().any(|&i| waiting.members.contains(i)) {
                return true;
            }
        }
        false
    }
}

/// A set of points that is emptied at once: entries of an earlier round do not count.
#[derive(Default)]
struct Members {
    /// Round and point, with open addressing; at least half of them free.
    slots: Vec<u64>,
    round: u32,
    len: usize,
}

impl Members {
    /// Room for the points within one step; a power of two.
    const SMALLEST: usize = 128;

    fn clear(&mut self) {
        if self.slots.is_empty() || self.round == u32::MAX {
            self.slots = vec![0; self.slots.len().max(Self::SMALLEST)];
            self.round = 0;
        }
        self.round += 1;
        self.len = 0;
    }

    fn entry(&self, i: u32) -> u64 {
        u64::from(self.round) << 32 | u64::from(i)
    }

    /// Slot of `i`, or a free slot for it.
    fn slot(&self, i: u32) -> usize {
        let (entry, last) = (self.entry(i), self.slots.len() - 1);
        // Multiplicative hashing (Knuth): neighbors in the numbering are spread out.
        let mut slot = (u64::from(i).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & last;
        while self.slots[slot] != entry && self.slots[slot] >> 32 == u64::from(self.round) {
            slot = (slot + 1) & last;
        }
        slot
    }

    fn contains(&self, i: u32) -> bool {
        self.slots[self.slot(i)] == self.entry(i)
    }

    /// Adds `i`; returns true if it was not in the set.
    fn insert(&mut self, i: u32) -> bool {
        let slot = self.slot(i);
        if self.slots[slot] == self.entry(i) {
            return false;
        }
        self.slots[slot] = self.entry(i);
        self.len += 1;
        if 2 * self.len > self.slots.len() {
            self.double();
        }
        true
    }

    fn double(&mut self) {
        let room = vec![0; 2 * self.slots.len()];
        let held = std::mem::replace(&mut self.slots, room);
        for entry in held.into_iter().filter(|entry| entry >> 32 == u64::from(self.round)) {
            let slot = self.slot(entry as u32);
            self.slots[slot] = entry;
        }
    }
}
