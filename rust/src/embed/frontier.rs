//! The unembedded points that touch the embedded ones, most embedded neighbours first.

use std::collections::VecDeque;

/// A bucket queue: counts are small whole numbers that only rise, so every operation is O(1) on average.
///
/// Equal counts are first reached, first served. A point whose count rises is entered again, and its older
/// entry is passed over when its turn comes.
#[derive(Debug, Default)]
pub(super) struct Frontier {
    /// Those that reached count 0, 1, ...
    buckets: Vec<VecDeque<u32>>,
    /// No bucket from here on holds anything.
    end: usize,
}

impl Frontier {
    /// Enters a point that has just reached `count`.
    pub fn push(&mut self, point: u32, count: u32) {
        let bucket = count as usize;
        if self.buckets.len() <= bucket {
            self.buckets.resize_with(bucket + 1, VecDeque::new);
        }
        self.buckets[bucket].push_back(point);
        self.end = self.end.max(bucket + 1);
    }

    /// The next point, if any: `is_current(point, count)` says whether an entry still holds.
    pub fn pop(&mut self, is_current: impl Fn(u32, u32) -> bool) -> Option<u32> {
        while self.end > 0 {
            let count = self.end - 1;
            while let Some(point) = self.buckets[count].pop_front() {
                if is_current(point, count as u32) {
                    return Some(point);
                }
            }
            self.end = count;
        }
        None
    }
}
