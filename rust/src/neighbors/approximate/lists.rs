//! The nearest known of every point, which any thread may improve: what they end as does not depend on the order.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

/// Lists under one lock.
const SHELF: usize = 32;

/// Nobody, infinitely far.
const EMPTY: u64 = (0x7f80_0000 << 32) | 0xffff_ffff;

/// By what share squared distances of two equally far points may differ, and a little more.
const ROUNDING: f32 = 1e-4;

/// The bit that says that an entry has been joined.
const OLD: u64 = 1;

/// For every place the `width` nearest known, nearest first.
///
/// An entry is the bits of a squared distance, a place and whether it is old: entries rise with the distance, then the
/// place. A list holds the least of all that were ever offered, in whatever order that was.
pub struct Lists {
    width: usize,
    shelves: Vec<Mutex<Vec<u64>>>,
    limits: Vec<AtomicU32>,
}

impl Lists {
    pub fn new(n: usize, width: usize) -> Self {
        let shelf = |s: usize| Mutex::new(vec![EMPTY; SHELF.min(n - s * SHELF) * width]);
        Lists {
            width,
            shelves: (0..n.div_ceil(SHELF)).into_par_iter().map(shelf).collect(),
            limits: (0..n).into_par_iter().map(|_| AtomicU32::new(f32::INFINITY.to_bits())).collect(),
        }
    }

    pub fn len(&self) -> usize {
        self.limits.len()
    }

    pub fn width(&self) -> usize {
        self.width
    }

    /// What is farther cannot enter.
    #[inline]
    pub fn limit(&self, place: u32) -> f32 {
        f32::from_bits(self.limits[place as usize].load(Ordering::Relaxed))
    }

    /// Enters `other` into the list of `place` if it is near enough; returns what is then too far.
    #[inline]
    pub fn offer(&self, place: u32, d2: f32, other: u32) -> f32 {
        let limit = self.limit(place);
        if d2 > limit {
            return limit;
        }
        let entry = (u64::from(d2.to_bits()) << 32) | (u64::from(other) << 1);
        let (shelf, at) = (place as usize / SHELF, place as usize % SHELF);
        let mut shelf = self.shelves[shelf].lock().unwrap_or_else(PoisonError::into_inner);
        let row = &mut shelf[at * self.width..][..self.width];
        let mut to = row.len();
        while to > 0 && row[to - 1] > entry | OLD {
            to -= 1;
        }
        if to == row.len() || (to > 0 && row[to - 1] >> 1 == entry >> 1) {
            return limit;
        }
        row.copy_within(to..self.width - 1, to + 1);
        row[to] = entry;
        let limit = (row[self.width - 1] >> 32) as u32;
        self.limits[place as usize].store(limit, Ordering::Relaxed);
        f32::from_bits(limit)
    }

    /// Writes who is listed and whether he is old, and makes all old; returns how many were new.
    pub fn take(&self, into: &mut [u32]) -> usize {
        let chunks = into.par_chunks_mut(SHELF * self.width).zip(&self.shelves);
        chunks
            .map(|(into, shelf)| {
                let mut new = 0;
                let mut shelf = shelf.lock().unwrap_or_else(PoisonError::into_inner);
                for (to, entry) in into.iter_mut().zip(shelf.iter_mut()) {
                    *to = *entry as u32;
                    new += usize::from(*entry & OLD == 0);
                    *entry |= OLD;
                }
                new
            })
            .sum()
    }

    /// Writes who is in the list of a place, nearest first: the first `first`, and those that are no farther but for
    /// what single precision rounds.
    pub fn read(&self, place: usize, first: usize, into: &mut Vec<u32>) {
        let shelf = self.shelves[place / SHELF].lock().unwrap_or_else(PoisonError::into_inner);
        let row = &shelf[place % SHELF * self.width..][..self.width];
        let d2 = |entry: u64| f32::from_bits((entry >> 32) as u32);
        let reach = d2(row[first.min(row.len()) - 1]) * (1.0 + ROUNDING);
        into.clear();
        let near = row.iter().take_while(|&&entry| entry | OLD != EMPTY && d2(entry) <= reach);
        into.extend(near.map(|&entry| (entry as u32) >> 1));
    }
}
