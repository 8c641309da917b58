//! Neighbors of points to which new ones were added.
//!
//! An old point can only gain new neighbors that are nearer than the last of its list, so it searches the new points
//! alone, and only that far. New points search the old ones, then each other.
//!
//! Cost: O(n log n) to build the trees; then about that of a search for the new points, and O(log m) for each old one.

use std::iter;
use std::sync::atomic::{AtomicBool, Ordering};

use ndarray::{ArrayView2, Axis};
use rayon::prelude::*;

use super::tree::{Batch, KdTree};
use super::{LEAF, REPORTED};
use crate::error::Result;
use crate::monitor::Monitor;
use crate::neighbors::candidates::{Candidates, Collector, Nearest};
use crate::neighbors::{Grown, Neighborhoods, STAGE, Table};
use crate::parallel::Progress;
use crate::points::{Coordinate, Points, with_view};

/// The `k` nearest neighbors of all points, of which the first have the lists `old` of `k` neighbors; `None` if
/// `distances` are not those of the lists.
pub fn grown(
    points: &Points,
    old: &Neighborhoods,
    distances: &[f64],
    k: usize,
    monitor: &dyn Monitor,
) -> Result<Option<Grown>> {
    with_view!(points.values(), view => Growth::of(view, old, distances, monitor)?.grown(k, monitor))
}

/// Candidates among points whose indices are shifted by the number of those before them.
struct Shifted {
    list: Candidates,
    by: u32,
}

impl Collector for Shifted {
    fn reach(&self) -> (f64, u32) {
        let (d2, id) = self.list.reach();
        (d2, id.saturating_sub(self.by)) // of two points at the same distance, the first is nearer
    }

    fn offer(&mut self, d2: f64, id: u32) {
        self.list.offer(d2, id + self.by);
    }

    fn restart(&mut self, own: u32) {
        self.list.restart(own);
        self.by = 0;
    }
}

/// Old points with their lists, and new ones.
struct Growth<'a, T> {
    view: ArrayView2<'a, T>,
    lists: &'a Neighborhoods<'a>,
    distances: &'a [f64],
    old: KdTree<T>,
    new: KdTree<T>,
}

impl<'a, T: Coordinate> Growth<'a, T> {
    fn of(
        view: ArrayView2<'a, T>,
        lists: &'a Neighborhoods<'a>,
        distances: &'a [f64],
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let (first, last) = view.split_at(Axis(0), lists.len());
        let (old, new) = (KdTree::build(first, monitor)?, KdTree::build(last, monitor)?);
        Ok(Growth { view, lists, distances, old, new })
    }

    fn grown(&self, k: usize, monitor: &dyn Monitor) -> Result<Option<Grown>> {
        let (all, among) = (Table::new(self.old.n + self.new.n, k)?, Table::new(self.new.n, k)?);
        let progress = Progress::new(STAGE, self.old.n + self.new.n, monitor);
        let are_distances = AtomicBool::new(true);
        let batch = || Batch::new(|| Shifted { list: Candidates::new(k), by: 0 });
        (0..self.new.leaves()).into_par_iter().try_for_each_init(batch, |batch, leaf| {
            monitor.check()?;
            progress.add_rarely(LEAF, REPORTED);
            self.place_new(leaf, batch, &all, &among);
            Ok(())
        })?;
        (0..self.old.leaves()).into_par_iter().try_for_each_init(batch, |batch, leaf| {
            monitor.check()?;
            progress.add_rarely(LEAF, REPORTED);
            if !self.extend_old(leaf, batch, &all) {
                are_distances.store(false, Ordering::Relaxed);
            }
            Ok(())
        })?;
        let grown = Grown { knn: all.found().into_knn(), among_old: among.found().indices };
        Ok(are_distances.into_inner().then_some(grown))
    }

    /// Writes the neighbors of the new points of `leaf`, among the old points and among all.
    fn place_new(&self, leaf: usize, batch: &mut Batch<Shifted>, all: &Table, among: &Table) {
        let before = self.old.n as u32;
        self.new.load(leaf, batch);
        for (list, &id) in batch.lists.iter_mut().zip(self.new.ids_of(leaf)) {
            list.restart(before + id);
        }
        self.old.visit_near(self.old.root(), batch);
        for (list, &id) in batch.lists.iter_mut().zip(self.new.ids_of(leaf)) {
            among.write(id, list.list.sorted());
            list.by = before;
        }
        self.new.descend(self.new.root(), leaf, batch);
        for (list, &id) in batch.lists.iter_mut().zip(self.new.ids_of(leaf)) {
            all.write(before + id, list.list.sorted());
        }
    }

    /// Writes the neighbors of the old points of `leaf`; returns whether they are as far as their distances say.
    fn extend_old(&self, leaf: usize, batch: &mut Batch<Shifted>, all: &Table) -> bool {
        let before = self.old.n as u32;
        self.old.load(leaf, batch);
        let mut are_distances = true;
        for (list, &id) in batch.lists.iter_mut().zip(self.old.ids_of(leaf)) {
            let (last, distance) = self.last_of(id as usize);
            are_distances &= last.0.sqrt() == distance;
            list.list.restart_within(id, last);
            list.by = before;
        }
        self.new.visit_near(self.new.root(), batch);
        for (list, &id) in batch.lists.iter_mut().zip(self.old.ids_of(leaf)) {
            let i = id as usize;
            let (neighbors, distances) = self.row(i);
            if list.list.sorted().all(|(_, j)| j < before) {
                all.copy(id, neighbors, distances);
                continue;
            }
            let mut new = list.list.sorted().take_while(|&(_, j)| j >= before).peekable();
            let mut old = neighbors.iter().map(|&j| (self.squared_distance(i, j as usize), j)).peekable();
            let merged = iter::from_fn(|| match (new.peek(), old.peek()) {
                (Some(one), Some(other)) if one.0 < other.0 => new.next(),
                (_, Some(_)) => old.next(), // ties go to the lower index
                _ => new.next(),
            });
            all.write(id, merged.take(neighbors.len()));
        }
        are_distances
    }

    /// The neighbors that an old point has, and their distances.
    fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let neighbors = self.lists.of(i);
        (neighbors, &self.distances[i * neighbors.len()..][..neighbors.len()])
    }

    /// (squared distance, index) of the last neighbor of an old point, and its distance.
    fn last_of(&self, i: usize) -> ((f64, u32), f64) {
        let (neighbors, distances) = self.row(i);
        let last = neighbors.len() - 1;
        ((self.squared_distance(i, neighbors[last] as usize), neighbors[last]), distances[last])
    }

    /// Summed axis after axis, as the trees sum it.
    fn squared_distance(&self, i: usize, j: usize) -> f64 {
        let (a, b) = (self.view.row(i), self.view.row(j));
        let add = |d2: f64, (&a, &b): (&T, &T)| {
            let apart: f64 = a.into() - b.into();
            d2 + apart * apart
        };
        match (a.as_slice(), b.as_slice()) {
            (Some(a), Some(b)) => a.iter().zip(b).fold(0.0, add),
            _ => a.iter().zip(b).fold(0.0, add),
        }
    }
}
