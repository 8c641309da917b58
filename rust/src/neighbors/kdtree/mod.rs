//! Exact neighbors of narrow data: a median-split kd-tree (Friedman, Bentley & Finkel 1977).
//!
//! The points of one leaf walk the tree together: one traversal serves [`LEAF`] queries, and every leaf is scanned from
//! cache. Coordinates of a leaf lie one dimension after another, so a scan is a plain vector loop. New points are
//! sorted into leaves by a tree of their own.
//!
//! Cost: O(n log n) to build; about O(n k log n) to search while the data are narrow.

mod grown;
mod ranks;
mod tree;

pub use grown::grown;
pub use ranks::{counted_share, ranks};

use rayon::prelude::*;

use self::tree::{Batch, KdTree};
use crate::csr::Csr;
use crate::error::Result;
use crate::monitor::Monitor;
use crate::neighbors::candidates::{Candidates, Collector, Crowd, NO_POINT, Nearest, Within, reserve};
use crate::neighbors::{Found, Knn, Neighborhoods, STAGE, Table, inverse};
use crate::parallel::Progress;
use crate::points::{Coordinate, Points, with_view};

/// Points in a leaf, and queries in a batch.
const LEAF: usize = 16;

/// Lists of at least this length are sorted when they are full, not as they grow.
const CROWDED: usize = 40;

/// The kd-tree is built for at most this many dimensions.
pub const MAX_TREE_DIM: usize = 16;

/// Leaves whose neighbors lie in one list.
const ROWS_LEAVES: usize = 64;

/// Queries between two reports.
const REPORTED: usize = LEAF * 1024;

/// Builds the trees of `points` and of the query points, and evaluates an expression with the inquiry.
macro_rules! inquire {
    ($points:expr, $new:expr, $monitor:expr, $inquiry:ident => $result:expr) => {
        with_view!($points.values(), view => {
            let tree = &KdTree::build(view, $monitor)?;
            match $new {
                None => {
                    let $inquiry = Inquiry { tree, asking: tree, own: true };
                    $result
                }
                Some(new) => with_view!(new.values(), view => {
                    let $inquiry = Inquiry { tree, asking: &KdTree::build(view, $monitor)?, own: false };
                    $result
                }),
            }
        })
    };
}

/// The `k` nearest of `points` for every new point, or for every point itself; ties go to the lower index.
pub fn search(points: &Points, new: Option<&Points>, k: usize, monitor: &dyn Monitor) -> Result<Found> {
    inquire!(points, new, monitor, inquiry => inquiry.nearest(k, monitor))
}

/// All others within `radius` of every point, nearest first.
pub fn within(points: &Points, radius: f64, monitor: &dyn Monitor) -> Result<Knn> {
    with_view!(points.values(), view => within_of(&KdTree::build(view, monitor)?, radius, monitor))
}

/// The share of all distances that a search for `k` neighbors would compute, from a few leaves of the
/// points themselves or of the query points.
pub fn scanned_share(points: &Points, new: Option<&Points>, k: usize, monitor: &dyn Monitor) -> Result<f64> {
    inquire!(points, new, monitor, inquiry => inquiry.scanned_share(k, monitor))
}

/// Queries, and the points to search. Near queries are answered together, so they are in a tree as well.
struct Inquiry<'a, T, A> {
    tree: &'a KdTree<T>,
    asking: &'a KdTree<A>,
    /// True if the points are searched for each other: then none is its own neighbor.
    own: bool,
}

impl<T: Coordinate, A: Coordinate> Inquiry<'_, T, A> {
    /// Fills the lists of the points of `leaf`. Points of the tree begin where they are, others at the root.
    fn ask<C: Collector>(&self, leaf: usize, batch: &mut Batch<C>) {
        self.asking.load(leaf, batch);
        for (list, &id) in batch.lists.iter_mut().zip(self.asking.ids_of(leaf)) {
            list.restart(if self.own { id } else { NO_POINT });
        }
        if self.own {
            self.tree.descend(self.tree.root(), leaf, batch);
        } else {
            self.tree.visit_near(self.tree.root(), batch);
        }
    }

    fn nearest(&self, k: usize, monitor: &dyn Monitor) -> Result<Found> {
        if k < CROWDED { self.listed::<Candidates>(k, monitor) } else { self.listed::<Crowd>(k, monitor) }
    }

    fn listed<C: Nearest>(&self, k: usize, monitor: &dyn Monitor) -> Result<Found> {
        let asking = self.asking;
        let table = Table::new(asking.n, k)?;
        let progress = Progress::new(STAGE, asking.n, monitor);
        (0..asking.leaves()).into_par_iter().try_for_each_init(
            || Batch::new(|| C::new(k)),
            |batch, leaf| {
                monitor.check()?;
                progress.add_rarely(LEAF, REPORTED);
                self.ask(leaf, batch);
                for (list, &id) in batch.lists.iter_mut().zip(asking.ids_of(leaf)) {
                    table.write(id, list.sorted());
                }
                Ok(())
            },
        )?;
        Ok(table.found())
    }

    fn scanned_share(&self, k: usize, monitor: &dyn Monitor) -> Result<f64> {
        const SAMPLED_LEAVES: usize = 32;
        let leaves = self.asking.leaves();
        let step = leaves.div_ceil(SAMPLED_LEAVES).max(16.min(leaves)); // costs at most a sixteenth of the search
        let mut batch = Batch::new(|| Candidates::new(k));
        let mut queries = 0;
        for leaf in (0..leaves).step_by(step) {
            monitor.check()?;
            self.ask(leaf, &mut batch);
            queries += self.asking.filled(leaf);
        }
        Ok(batch.scanned as f64 / (queries as f64 * self.tree.n as f64))
    }
}

fn within_of<T: Coordinate>(tree: &KdTree<T>, radius: f64, monitor: &dyn Monitor) -> Result<Knn> {
    let inquiry = Inquiry { tree, asking: tree, own: true };
    let progress = Progress::new(STAGE, tree.n, monitor);
    let leaves: Vec<usize> = (0..tree.leaves()).collect();
    let found: Vec<Csr<f64>> = leaves
        .par_chunks(ROWS_LEAVES)
        .map_init(
            || Batch::new(|| Within::of(u32::MAX, radius)),
            |batch, leaves| {
                let mut rows = Csr::default();
                for &leaf in leaves {
                    monitor.check()?;
                    progress.add_rarely(LEAF, REPORTED);
                    inquiry.ask(leaf, batch);
                    for list in batch.lists.iter_mut().take(tree.filled(leaf)) {
                        list.drain_into(&mut rows.values, &mut rows.indices)?;
                        rows.end_row();
                    }
                }
                Ok(rows)
            },
        )
        .collect::<Result<_>>()?;
    in_point_order(tree, &found, monitor)
}

/// Puts neighbors that were found in the order of the tree in the order of the points.
fn in_point_order<T>(tree: &KdTree<T>, found: &[Csr<f64>], monitor: &dyn Monitor) -> Result<Knn> {
    let place = inverse(&tree.ids);
    let total = found.iter().map(|rows| rows.indices.len()).sum();
    let (mut indices, mut distances, mut indptr) = (Vec::new(), Vec::new(), Vec::new());
    reserve(&mut indices, total)?;
    reserve(&mut distances, total)?;
    reserve(&mut indptr, tree.n + 1)?;
    indptr.push(0);
    for (i, &p) in place.iter().enumerate() {
        if i % 1024 == 0 {
            monitor.check()?;
        }
        let (block, at) = (p as usize / (ROWS_LEAVES * LEAF), p as usize % (ROWS_LEAVES * LEAF));
        let (ids, lengths) = found[block].row(at);
        indices.extend_from_slice(ids);
        distances.extend_from_slice(lengths);
        indptr.push(indices.len() as i64);
    }
    Ok(Knn { neighborhoods: Neighborhoods::ragged(indptr, indices), distances })
}
