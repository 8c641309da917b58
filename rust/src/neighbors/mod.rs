//! Nearest neighbors of every point, by number or by radius, and of new points; the ranks of given points among all
//! others.
//!
//! Two exact searches give bit-for-bit the same result: a kd-tree for low-dimensional data, and blocked matrix products
//! for high-dimensional data. Between 5 and 16 dimensions a sample of leaves decides which is faster. Where both would
//! take long, [`find`] searches [`approximate`]ly and measures the recall. Shortest paths on the neighborhood graph are
//! in [`paths`]. Ties go to the lower index.
//!
//! ```
//! use ndarray::array;
//! use unbend::{Points, Unmonitored, neighbors};
//! let (line, new) = (array![[0.0], [1.0], [3.0]], array![[1.0], [9.0]]);
//! let points = Points::new("X", line.view(), &Unmonitored)?;
//! let knn = neighbors::nearest(&points, 1, Default::default(), &Unmonitored)?;
//! assert_eq!((knn.neighborhoods.indices(), knn.distances), (&[1, 0, 1][..], vec![1.0, 1.0, 2.0]));
//! let new = Points::new("new", new.view(), &Unmonitored)?;
//! let found = neighbors::query(&points, &new, 2, Default::default(), &Unmonitored)?;
//! assert_eq!((found.indices, found.distances), (vec![1, 0, 2, 1], vec![0.0, 1.0, 6.0, 8.0]));
//! let ranks = neighbors::ranks(&points, None, &[2, 2, 0], 1, Default::default(), &Unmonitored)?;
//! assert_eq!(ranks, [2, 2, 2]);
//! # Ok::<(), unbend::Error>(())
//! ```

pub mod approximate;
mod blocked;
mod candidates;
mod graph;
mod kdtree;
pub mod paths;
mod ranks;

use graph::Table;
pub(crate) use graph::zeros;
pub use graph::{Found, Knn, Neighborhoods};
pub use kdtree::MAX_TREE_DIM;
pub use ranks::{RankRow, ranks};

use ndarray::Axis;

use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::points::{Points, Values, with_view};

const STAGE: &str = "neighbors";

/// The exact search to use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Search {
    /// The one that is expected to be faster.
    #[default]
    Auto,
    /// The kd-tree, for at most [`MAX_TREE_DIM`] dimensions.
    Tree,
    /// Blocked matrix products.
    Blocked,
}

/// Exact or approximate search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Method {
    /// Exact, unless that would take long.
    #[default]
    Auto,
    /// Exact neighbors.
    Exact,
    /// Nearly all of the true neighbors.
    Approximate,
}

/// Neighbors, and the recall of the search.
#[derive(Debug, Clone, PartialEq)]
pub struct Nearest {
    /// The neighbors and their distances.
    pub knn: Knn,
    /// Share of the true neighbors among those found, measured on a random sample of points; `None` after an exact
    /// search.
    pub recall: Option<f64>,
}

/// Neighbors of old and new points together.
#[derive(Debug, Clone, PartialEq)]
pub struct Grown {
    /// The neighbors of all points, and their distances.
    pub knn: Knn,
    /// The nearest old points of each new one, as many as it has neighbors.
    pub among_old: Vec<u32>,
}

/// Up to this dimension, the kd-tree is always faster.
pub const ALWAYS_TREE_DIM: usize = 4;

/// The kd-tree is faster if it computes less than this share of all distances. Measured: a distance costs about 5 ns in
/// the tree and 0.4 ns among blocked products.
const WORTHWHILE_SHARE: f64 = 0.08;

/// If n^2 (q + 64) exceeds this, an exact search by products takes more than six seconds on two threads, and
/// [`Method::Auto`] may search approximately.
pub const MAX_EXACT_WORK: f64 = 1e12;

/// Fewer new points than this are searched by products, whatever n is: building a tree would take longer.
const FEW_QUERIES: usize = 128;

/// The `k` nearest neighbors of every point, not counting the point itself, nearest first.
///
/// Fails if `k` is 0, if there are not more than `k` points, or if [`Search::Tree`] is asked for too many dimensions.
pub fn nearest(points: &Points, k: usize, search: Search, monitor: &dyn Monitor) -> Result<Knn> {
    check_neighbors(k, points.len())?;
    Ok(run(points, None, k, search, monitor)?.into_knn())
}

/// Fails unless `n` points can have `k` neighbors each, at least 1.
pub(crate) fn check_neighbors(k: usize, n: usize) -> Result<()> {
    match k {
        0 => Err(Error::NoNeighbors),
        _ if n <= k => Err(Error::TooFewPoints { n_neighbors: k, n }),
        _ => Ok(()),
    }
}

/// The `k` nearest neighbors of every point, exact or approximate, nearest first.
///
/// [`Method::Auto`] is exact if the kd-tree is faster, or if products would not take long. Fails as [`nearest`] does,
/// or if the target recall is not in (0, 1].
pub fn find(
    points: &Points,
    k: usize,
    method: Method,
    target: &approximate::Target,
    monitor: &dyn Monitor,
) -> Result<Nearest> {
    target.check()?;
    check_neighbors(k, points.len())?;
    let exact = match method {
        Method::Exact => true,
        Method::Approximate => false,
        Method::Auto => !takes_long(points) || use_tree(points, None, k, Search::Auto, monitor)?,
    };
    if exact {
        return Ok(Nearest { knn: nearest(points, k, Search::Auto, monitor)?, recall: None });
    }
    let (found, recall) = approximate::nearest(points, k, target, monitor)?;
    Ok(Nearest { knn: found.into_knn(), recall: Some(recall) })
}

fn takes_long(points: &Points) -> bool {
    let (n, q) = (points.len() as f64, points.dim() as f64);
    n * n * (q + 64.0) > MAX_EXACT_WORK
}

/// The `k` nearest neighbors of all points as [`nearest`] finds them, of which the first have the lists `old` already.
///
/// `None` if the search is not the faster way: for more than [`ALWAYS_TREE_DIM`] dimensions, lists that differ in
/// length, or without a new point; or if `distances` are not those of `old`. Fails if there are more old points than
/// points, or not a distance for each neighbor.
pub fn grown(
    points: &Points,
    old: &Neighborhoods,
    distances: &[f64],
    monitor: &dyn Monitor,
) -> Result<Option<Grown>> {
    let (n, first, total) = (points.len(), old.len(), old.indices().len());
    if distances.len() != total {
        let (left_len, right_len) = (distances.len(), total);
        return Err(Error::LengthMismatch { left: "distances", left_len, right: "neighbors", right_len });
    }
    if first > n {
        return Err(Error::LengthMismatch { left: "graph", left_len: first, right: "X", right_len: n });
    }
    match old.fixed_size() {
        Some(k) if first < n && points.dim() <= ALWAYS_TREE_DIM => {
            kdtree::grown(points, old, distances, k, monitor)
        }
        _ => Ok(None),
    }
}

/// The `k` nearest neighbors of the points `centers`, or of all points: `k` indices per center, nearest first.
pub fn nearest_to(
    points: &Points,
    centers: Option<&[u32]>,
    k: usize,
    search: Search,
    monitor: &dyn Monitor,
) -> Result<Vec<u32>> {
    let Some(centers) = centers else {
        return Ok(nearest(points, k, search, monitor)?.neighborhoods.into_parts().1);
    };
    check_neighbors(k, points.len())?;
    let rows: Vec<usize> = centers.iter().map(|&i| i as usize).collect();
    let of = |asking: Values| -> Result<Vec<u32>> {
        let found = query(points, &Points::new("centers", asking, monitor)?, k + 1, search, monitor)?;
        Ok(without_centers(&found, centers))
    };
    with_view!(points.values(), view => of(view.select(Axis(0), &rows).view().into()))
}

/// One fewer for each: the center itself, or the last if the center has too many copies to be among the nearest.
fn without_centers(found: &Found, centers: &[u32]) -> Vec<u32> {
    let others = |(row, &center): (&[u32], &u32)| {
        let last = row.iter().position(|&j| j == center).unwrap_or(row.len() - 1);
        [&row[..last], &row[last + 1..]].concat()
    };
    found.indices.chunks(found.k).zip(centers).flat_map(others).collect()
}

/// The `k` nearest `points` of every new point, nearest first. A point that coincides with a new one is a neighbor like
/// any other.
///
/// Fails if `k` is 0 or exceeds the number of points, or if the dimensions differ.
pub fn query(
    points: &Points,
    new: &Points,
    k: usize,
    search: Search,
    monitor: &dyn Monitor,
) -> Result<Found> {
    let n = points.len();
    if k == 0 {
        return Err(Error::NoNeighbors);
    }
    if n < k {
        return Err(Error::TooManyNeighbors { n_neighbors: k, n });
    }
    if points.dim() != new.dim() {
        let (left_dim, right_dim) = (new.dim(), points.dim());
        return Err(Error::DimensionMismatch { left: "new", left_dim, right: "X", right_dim });
    }
    run(points, Some(new), k, search, monitor)
}

/// The `k` nearest points of every new point, or of every point itself.
fn run(
    points: &Points,
    new: Option<&Points>,
    k: usize,
    search: Search,
    monitor: &dyn Monitor,
) -> Result<Found> {
    let few = search == Search::Auto && new.is_some_and(|new| new.len() < FEW_QUERIES);
    if !few && use_tree(points, new, k, search, monitor)? {
        kdtree::search(points, new, k, monitor)
    } else {
        blocked::search(points, new, k, monitor)
    }
}

/// All other points at a distance of at most `radius` from every point, nearest first.
///
/// Fails if the radius is negative or not finite. Cost: that of a search for the mean number of neighbors found.
pub fn within(points: &Points, radius: f64, search: Search, monitor: &dyn Monitor) -> Result<Knn> {
    if !(radius >= 0.0 && radius.is_finite()) {
        return Err(Error::BadRadius { radius });
    }
    if use_tree(points, None, (points.len() - 1).clamp(1, 16), search, monitor)? {
        kdtree::within(points, radius, monitor)
    } else {
        blocked::within(points, radius, monitor)
    }
}

fn use_tree(
    points: &Points,
    new: Option<&Points>,
    k: usize,
    search: Search,
    monitor: &dyn Monitor,
) -> Result<bool> {
    if let Some(choice) = prescribed(points, search)? {
        return Ok(choice);
    }
    // products of new points serve one side only, so each costs twice as much
    let worthwhile = if new.is_some() { 2.0 * WORTHWHILE_SHARE } else { WORTHWHILE_SHARE };
    Ok(kdtree::scanned_share(points, new, k, monitor)? < worthwhile)
}

/// Returns whether to use the tree; `None` if a sample of the data must decide.
fn prescribed(points: &Points, search: Search) -> Result<Option<bool>> {
    let q = points.dim();
    match search {
        Search::Blocked => Ok(Some(false)),
        Search::Tree if q <= MAX_TREE_DIM => Ok(Some(true)),
        Search::Tree => Err(Error::OutOfRange {
            name: "dimension",
            value: q as f64,
            needed: "the kd-tree takes at most 16 dimensions",
        }),
        Search::Auto if q <= ALWAYS_TREE_DIM => Ok(Some(true)),
        Search::Auto if q > MAX_TREE_DIM => Ok(Some(false)),
        Search::Auto => Ok(None),
    }
}

/// The place of each point in an order that lists each point once.
fn inverse(order: &[u32]) -> Vec<u32> {
    let mut places = vec![0; order.len()];
    order.iter().zip(0..).for_each(|(&point, place)| places[point as usize] = place);
    places
}
