//! For every place some of those that list it, the same ones whatever the threads do.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::descent::NOBODY;

/// How many are kept for each, at most.
const MOST: usize = 8;

/// Places under one lock.
const SHELF: usize = 64;

/// Places read by one thread at a time.
const CHUNK: usize = 1024;

/// Some of those that list a place: the first in an order drawn at random.
pub struct Reversed {
    shelves: Vec<Vec<u32>>,
}

impl Reversed {
    /// Of the entries that are `old`, or of those that are not.
    pub fn of(listed: &[u32], width: usize, old: u32, round: u32) -> Self {
        let n = listed.len() / width;
        let shelf = |s: usize| Mutex::new(vec![NOBODY; SHELF.min(n - s * SHELF) * MOST]);
        let shelves: Vec<Mutex<Vec<u32>>> = (0..n.div_ceil(SHELF)).into_par_iter().map(shelf).collect();
        listed.par_chunks(width * CHUNK).enumerate().for_each(|(c, chunk)| {
            for (o, row) in chunk.chunks(width).enumerate() {
                let from = (c * CHUNK + o) as u32;
                for &entry in row.iter().filter(|&&entry| entry != NOBODY && entry & 1 == old) {
                    let to = (entry >> 1) as usize;
                    let mut shelf = shelves[to / SHELF].lock().unwrap_or_else(PoisonError::into_inner);
                    insert(&mut shelf[to % SHELF * MOST..][..MOST], from, round);
                }
            }
        });
        let inner = |shelf: Mutex<Vec<u32>>| shelf.into_inner().unwrap_or_else(PoisonError::into_inner);
        Reversed { shelves: shelves.into_iter().map(inner).collect() }
    }

    /// Those that list a place, and nobody where there are fewer.
    pub fn of_place(&self, place: usize) -> &[u32] {
        &self.shelves[place / SHELF][place % SHELF * MOST..][..MOST]
    }
}

fn insert(row: &mut [u32], from: u32, round: u32) {
    let drawn = |place: u32| match place {
        NOBODY => (u32::MAX, NOBODY),
        place => ((place ^ round.wrapping_mul(0x85eb_ca6b)).wrapping_mul(0x9e37_79b1) >> 1, place),
    };
    let to = row.partition_point(|&place| drawn(place) < drawn(from));
    if to < row.len() {
        row.copy_within(to..row.len() - 1, to + 1);
        row[to] = from;
    }
}
