//! The points that are not embedded yet but have embedded neighbors, most embedded neighbors first.

use std::collections::VecDeque;

/// A bucket queue with O(1) operations, because counts are small and only rise. Among equal counts the first entered is
/// first. A point whose count rises is entered again; its old entry is skipped.
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

    /// The next point, if there is one. `is_current(point, count)` says whether an entry is still valid.
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
