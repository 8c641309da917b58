//! For every place some of those that list it, independent of the number of threads.

use rayon::prelude::*;

use super::descent::NO_ENTRY;
use crate::error::Result;
use crate::monitor::Monitor;

/// Maximum number of places kept whose lists hold a place as new, and of those that hold it as old.
const MOST: usize = 8;

/// Lists read between two checks of the monitor.
const LOOK: usize = 1 << 14;

/// Some of those that list a place: the first in an order drawn at random.
pub struct Reversed {
    places: Vec<[[u32; MOST]; 2]>,
}

impl Reversed {
    /// Every thread reads all lists, but writes only for its own places, so no thread waits.
    pub fn of(listed: &[u32], width: usize, round: u32, monitor: &dyn Monitor) -> Result<Self> {
        let n = listed.len() / width;
        let mut places = vec![[[NO_ENTRY; MOST]; 2]; n];
        let share = n.div_ceil(rayon::current_num_threads());
        places.par_chunks_mut(share).enumerate().try_for_each(|(s, own)| {
            for (from, row) in listed.chunks_exact(width).enumerate() {
                if from % LOOK == 0 {
                    monitor.check()?;
                }
                for &entry in row {
                    // an empty entry is beyond all places
                    let at = ((entry >> 1) as usize).wrapping_sub(s * share);
                    if let Some(kinds) = own.get_mut(at) {
                        insert(&mut kinds[(entry & 1) as usize], from as u32, round);
                    }
                }
            }
            Ok(())
        })?;
        Ok(Reversed { places })
    }

    /// The places whose lists hold this place as new, or as old, filled up with `NO_ENTRY`.
    pub fn of_place(&self, place: usize, old: u32) -> &[u32; MOST] {
        &self.places[place][old as usize]
    }
}

fn insert(row: &mut [u32; MOST], from: u32, round: u32) {
    let drawn = |place: u32| match place {
        NO_ENTRY => (u32::MAX, NO_ENTRY),
        place => ((place ^ round.wrapping_mul(0x85eb_ca6b)).wrapping_mul(0x9e37_79b1) >> 1, place),
    };
    let own = drawn(from);
    if own > drawn(row[MOST - 1]) {
        return;
    }
    let to = row.partition_point(|&place| drawn(place) < own);
    if to < MOST {
        row.copy_within(to..MOST - 1, to + 1);
        row[to] = from;
    }
}
