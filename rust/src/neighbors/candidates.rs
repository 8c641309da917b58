//! The points that a query keeps. They are ordered by (squared distance, index), so ties go to the lower index.

use std::cmp::Ordering;

use crate::error::{Error, Result};

/// Marks an index that stands for no point.
pub const NO_POINT: u32 = u32::MAX;

/// Collects the points that a search offers to one query.
pub trait Collector {
    /// No point from this (squared distance, index) on is needed.
    fn reach(&self) -> (f64, u32);

    /// The distance alone.
    fn bound(&self) -> f64 {
        self.reach().0
    }

    /// Takes a point at squared distance `d2`, if it is needed.
    fn offer(&mut self, d2: f64, id: u32);

    /// Clears everything; the next query is point `own`, which is not its own neighbor, or [`NO_POINT`].
    fn restart(&mut self, own: u32);
}

/// Collects as many of the nearest as there is room for.
pub trait Nearest: Collector {
    /// Room for `k`, at least 1.
    fn new(k: usize) -> Self;

    /// (squared distance, index) of the points offered so far, nearest first.
    fn sorted(&mut self) -> impl Iterator<Item = (f64, u32)> + '_;
}

/// The `k` nearest so far, nearest first.
#[derive(Debug, Clone)]
pub struct Candidates {
    own: u32,
    d2: Vec<f64>,
    id: Vec<u32>,
}

impl Candidates {
    /// Number of points that fit.
    pub fn room(&self) -> usize {
        self.d2.len()
    }

    /// Clears everything, as [`Collector::restart`] does, for points before a (squared distance, index) alone.
    pub fn restart_within(&mut self, own: u32, last: (f64, u32)) {
        self.own = own;
        self.d2.fill(last.0);
        self.id.fill(last.1);
    }
}

impl Collector for Candidates {
    #[inline]
    fn reach(&self) -> (f64, u32) {
        let last = self.d2.len() - 1;
        (self.d2[last], self.id[last])
    }

    #[inline]
    fn offer(&mut self, d2: f64, id: u32) {
        let after = |i: usize| (self.d2[i], self.id[i]) > (d2, id);
        let mut place = self.d2.len();
        while place > 0 && after(place - 1) {
            place -= 1;
        }
        let known = place > 0 && self.id[place - 1] == id; // a sweep may offer a point again
        if place == self.d2.len() || known || id == self.own {
            return;
        }
        let last = self.d2.len() - 1;
        self.d2.copy_within(place..last, place + 1);
        self.id.copy_within(place..last, place + 1);
        self.d2[place] = d2;
        self.id[place] = id;
    }

    fn restart(&mut self, own: u32) {
        self.own = own;
        self.d2.fill(f64::MAX);
        self.id.fill(NO_POINT);
    }
}

impl Nearest for Candidates {
    fn new(k: usize) -> Self {
        Candidates { own: NO_POINT, d2: vec![f64::MAX; k], id: vec![NO_POINT; k] }
    }

    fn sorted(&mut self) -> impl Iterator<Item = (f64, u32)> + '_ {
        self.d2.iter().copied().zip(self.id.iter().copied())
    }
}

/// The `k` nearest so far among up to `k` others, unsorted: keeping a long list in order would be slow.
#[derive(Debug, Clone)]
pub struct Crowd {
    own: u32,
    k: usize,
    reach: (f64, u32),
    met: Vec<(f64, u32)>,
}

impl Collector for Crowd {
    #[inline]
    fn reach(&self) -> (f64, u32) {
        self.reach
    }

    #[inline]
    fn offer(&mut self, d2: f64, id: u32) {
        if (d2, id) >= self.reach || id == self.own {
            return;
        }
        self.met.push((d2, id));
        if self.met.len() == 2 * self.k {
            self.met.select_nth_unstable_by(self.k - 1, by_distance);
            self.met.truncate(self.k);
            self.reach = self.met[self.k - 1];
        }
    }

    fn restart(&mut self, own: u32) {
        (self.own, self.reach) = (own, (f64::MAX, NO_POINT));
        self.met.clear();
    }
}

impl Nearest for Crowd {
    fn new(k: usize) -> Self {
        Crowd { own: NO_POINT, k, reach: (f64::MAX, NO_POINT), met: Vec::with_capacity(2 * k) }
    }

    fn sorted(&mut self) -> impl Iterator<Item = (f64, u32)> + '_ {
        self.met.sort_unstable_by(by_distance);
        self.met.iter().copied().take(self.k)
    }
}

/// Orders by (squared distance, index).
pub fn by_distance(a: &(f64, u32), b: &(f64, u32)) -> Ordering {
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
}

/// Everything within a radius.
#[derive(Debug, Clone)]
pub struct Within {
    own: u32,
    radius: f64,
    /// The square of the radius, rounded up so far that no point within it is lost.
    bound: f64,
    found: Vec<(f64, u32)>,
    /// True if there was no memory for a point.
    lacking: bool,
}

impl Within {
    /// Keeps points at distance `radius` or less of point `own`.
    pub fn of(own: u32, radius: f64) -> Self {
        let bound = radius * radius * (1.0 + 4.0 * f64::EPSILON) + f64::MIN_POSITIVE;
        Within { own, radius, bound, found: Vec::new(), lacking: false }
    }

    /// Moves the points found to the ends of two lists, nearest first. Fails if there is not enough memory.
    pub fn drain_into(&mut self, distances: &mut Vec<f64>, ids: &mut Vec<u32>) -> Result<()> {
        if self.lacking {
            return Err(Error::OutOfMemory { bytes: 2 * size_of::<(f64, u32)>() * self.found.len() });
        }
        reserve(distances, self.found.len())?;
        reserve(ids, self.found.len())?;
        self.found.sort_unstable_by(by_distance);
        distances.extend(self.found.iter().map(|(d2, _)| d2.sqrt()));
        ids.extend(self.found.drain(..).map(|(_, id)| id));
        Ok(())
    }
}

/// Makes room for more entries of a list, or fails.
pub fn reserve<T>(list: &mut Vec<T>, more: usize) -> Result<()> {
    let bytes = list.len().saturating_add(more).saturating_mul(size_of::<T>());
    list.try_reserve(more).map_err(|_| Error::OutOfMemory { bytes })
}

impl Collector for Within {
    fn reach(&self) -> (f64, u32) {
        (self.bound, u32::MAX)
    }

    fn offer(&mut self, d2: f64, id: u32) {
        if id != self.own && d2.sqrt() <= self.radius {
            if self.found.len() == self.found.capacity() {
                self.lacking |= self.found.try_reserve(1).is_err();
            }
            if !self.lacking {
                self.found.push((d2, id));
            }
        }
    }

    fn restart(&mut self, own: u32) {
        (self.own, self.lacking) = (own, false);
        self.found.clear();
    }
}
