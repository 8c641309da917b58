//! Lists of the nearest points found so far, which any thread may improve. The result does not depend on the order.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use branches::prefetch_read_data;
use rayon::prelude::*;

/// Lists handled by one thread at a time.
const CHUNK: usize = 1024;

/// An empty entry: no point, infinitely far.
const EMPTY: u64 = (0x7f80_0000 << 32) | 0xffff_ffff;

/// Bound of the relative difference of equal squared distances after rounding.
const ROUNDING: f32 = 1e-4;

/// The bit that says that an entry has been joined.
const OLD: u64 = 1;

/// The sign bit of a limit, which is never negative: it is set while a thread changes the list.
const HELD: u32 = 1 << 31;

/// Number of tries for a locked list before this thread yields.
const PATIENCE: u32 = 64;

/// Entries in a line of memory.
const LINE: usize = 8;

/// For every place the `width` nearest known, nearest first.
///
/// An entry has the bits of a squared distance, a place and whether it is old, so it rises with the distance, then the
/// place. A list has the least of all entries that were offered, in any order.
pub struct Lists {
    pub width: usize,
    entries: Vec<AtomicU64>,
    limits: Vec<AtomicU32>,
}

impl Lists {
    pub fn new(n: usize, width: usize) -> Self {
        let far = f32::INFINITY.to_bits();
        Lists {
            width,
            entries: (0..n * width).into_par_iter().map(|_| AtomicU64::new(EMPTY)).collect(),
            limits: (0..n).into_par_iter().map(|_| AtomicU32::new(far)).collect(),
        }
    }

    pub fn len(&self) -> usize {
        self.limits.len()
    }

    /// Squared distance beyond which no point can enter.
    #[inline(always)]
    pub fn limit(&self, place: u32) -> f32 {
        f32::from_bits(self.limits[place as usize].load(Ordering::Relaxed) & !HELD)
    }

    /// Prefetches the list of a place.
    #[inline(always)]
    pub fn soon(&self, place: u32) {
        self.row(place).iter().step_by(LINE).for_each(|entry| prefetch_read_data::<_, 0>(entry));
    }

    /// Enters `other` into the list of `place` if it is near enough; returns the new limit.
    #[inline]
    pub fn offer(&self, place: u32, d2: f32, other: u32) -> f32 {
        let limit = &self.limits[place as usize];
        let mut looks = 0;
        loop {
            let far = limit.load(Ordering::Relaxed) & !HELD;
            if d2 > f32::from_bits(far) {
                return f32::from_bits(far);
            }
            if limit.compare_exchange_weak(far, far | HELD, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                break;
            }
            looks += 1;
            if looks % PATIENCE == 0 { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
        let far = enter(self.row(place), d2, other);
        limit.store(far.to_bits(), Ordering::Release);
        far
    }

    /// Does the same without a lock, if no other thread uses the list of `place`.
    #[inline(always)]
    pub fn offer_alone(&self, place: u32, d2: f32, other: u32) -> f32 {
        let far = enter(self.row(place), d2, other);
        self.limits[place as usize].store(far.to_bits(), Ordering::Relaxed);
        far
    }

    #[inline(always)]
    fn row(&self, place: u32) -> &[AtomicU64] {
        &self.entries[place as usize * self.width..][..self.width]
    }

    /// Writes every entry with its mark, and marks all as old; returns the number of new ones.
    pub fn take(&self, into: &mut [u32]) -> usize {
        let chunks = into.par_chunks_mut(CHUNK * self.width).zip(self.entries.par_chunks(CHUNK * self.width));
        let take = |(into, entries): (&mut [u32], &[AtomicU64])| {
            let mut new = 0;
            for (to, entry) in into.iter_mut().zip(entries) {
                let taken = entry.load(Ordering::Relaxed);
                *to = taken as u32;
                new += usize::from(taken & OLD == 0);
                entry.store(taken | OLD, Ordering::Relaxed);
            }
            new
        };
        chunks.map(take).sum()
    }

    /// Writes the first `first` of the list of a place, nearest first, and those at the same distance up to rounding.
    pub fn read(&self, place: usize, first: usize, into: &mut Vec<u32>) {
        let row = self.row(place as u32);
        let d2 = |entry: u64| f32::from_bits((entry >> 32) as u32);
        let reach = d2(row[first.min(row.len()) - 1].load(Ordering::Relaxed)) * (1.0 + ROUNDING);
        into.clear();
        let entries = row.iter().map(|entry| entry.load(Ordering::Relaxed));
        let near = entries.take_while(|&entry| entry | OLD != EMPTY && d2(entry) <= reach);
        into.extend(near.map(|entry| (entry as u32) >> 1));
    }
}

/// Enters a point that is near enough and not listed yet; returns the new limit. Only one thread may use this list.
#[inline(always)]
fn enter(row: &[AtomicU64], d2: f32, other: u32) -> f32 {
    let entry = (u64::from(d2.to_bits()) << 32) | (u64::from(other) << 1);
    let at = |slot: usize| row[slot].load(Ordering::Relaxed);
    let mut to = row.len();
    while to > 0 && at(to - 1) > entry | OLD {
        to -= 1;
    }
    if to < row.len() && (to == 0 || at(to - 1) >> 1 != entry >> 1) {
        for slot in (to + 1..row.len()).rev() {
            row[slot].store(at(slot - 1), Ordering::Relaxed);
        }
        row[to].store(entry, Ordering::Relaxed);
    }
    f32::from_bits((at(row.len() - 1) >> 32) as u32)
}
