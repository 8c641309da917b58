//! Neighbors of neighbors are likely neighbors (NN-descent: Dong, Moses & Li 2011, section 2.3).
//!
//! In each round, the new entries of every point's list, and some of the points to whose list it is new, are compared
//! with each other and with the old ones, unless they shared a leaf. Pairs follow from the lists before the round, so
//! the result is independent of the thread count.
//!
//! Cost: O(n q (K + R)^2) for a round while all of K entries and R reversed ones are new, and less from then on.

use rayon::prelude::*;

use super::Search;
use super::lists::Lists;
use super::reversed::Reversed;
use super::tile::Tile;
use crate::error::Result;
use crate::monitor::Monitor;

/// Points handled between two checks of the monitor.
const CHUNK: usize = 256;

/// Maximum number of rounds; three or four are usual.
const ROUNDS: u32 = 12;

/// Marks an empty entry of a list.
pub const NO_ENTRY: u32 = u32::MAX;

/// State between two rounds: the lists that the next round reads.
pub struct Descent {
    listed: Vec<u32>,
    rounds: u32,
    new: usize,
}

impl Descent {
    pub fn of(lists: &Lists) -> Self {
        let mut listed = vec![NO_ENTRY; lists.len() * lists.width];
        let new = lists.take(&mut listed);
        Descent { listed, rounds: 0, new }
    }

    /// Rounds until no more than the share `enough` of all entries is new.
    pub fn go_on(&mut self, search: &Search, enough: f64, monitor: &dyn Monitor) -> Result<()> {
        while self.rounds < ROUNDS && self.new as f64 > enough * self.listed.len() as f64 {
            introduce(search, &self.listed, self.rounds, monitor)?;
            self.new = search.lists.take(&mut self.listed);
            self.rounds += 1;
        }
        Ok(())
    }
}

fn introduce(search: &Search, listed: &[u32], round: u32, monitor: &dyn Monitor) -> Result<()> {
    let Search { rows, leaves, lists, .. } = search;
    let (n, width) = (lists.len(), lists.width);
    let reversed = Reversed::of(listed, width, round, monitor)?;
    (0..n.div_ceil(CHUNK)).into_par_iter().try_for_each_init(
        || (Tile::default(), Vec::new(), Vec::new()),
        |(tile, guests, later), chunk| {
            monitor.check()?;
            let mut first = 0;
            for place in chunk * CHUNK..((chunk + 1) * CHUNK).min(n) {
                // the points at the next place are prefetched while these are compared
                let next = invite(&listed[place * width..][..width], &reversed, place, later);
                for &guest in later.iter() {
                    rows.soon(leaves.point(guest));
                    leaves.soon(guest);
                    lists.soon(guest);
                }
                meet(search, tile, guests, first);
                std::mem::swap(guests, later);
                first = next;
            }
            meet(search, tile, guests, first);
            guests.clear();
            Ok(())
        },
    )
}

/// The points to compare at a place: first the new ones, then the rest; returns the number of new ones.
fn invite(listed: &[u32], reversed: &Reversed, place: usize, guests: &mut Vec<u32>) -> usize {
    guests.clear();
    let mut first = 0;
    for old in [0, 1] {
        if old == 1 && guests.is_empty() {
            break;
        }
        first = guests.len();
        guests.extend(listed.iter().filter(|&&entry| entry != NO_ENTRY && entry & 1 == old).map(|e| e >> 1));
        for &other in reversed.of_place(place, old) {
            if other != NO_ENTRY && !guests.contains(&other) {
                guests.push(other);
            }
        }
    }
    first
}

fn meet(Search { rows, leaves, lists, .. }: &Search, tile: &mut Tile, guests: &[u32], first: usize) {
    if first == 0 {
        return;
    }
    tile.load(rows, guests.iter().map(|&guest| (leaves.point(guest), lists.limit(guest))));
    tile.join(first, |i, j, d2, limits| {
        let (a, b) = (guests[i], guests[j]);
        if leaves.shared(a, b) {
            return;
        }
        if d2 <= limits[i] {
            limits[i] = lists.offer(a, d2, b);
        }
        if d2 <= limits[j] {
            limits[j] = lists.offer(b, d2, a);
        }
    });
}
