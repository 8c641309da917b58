//! Who is near whom: the neighbours of every point, by number or by radius, and those of new points; and where given
//! points stand among all others.
//!
//! Two exact searches give the same result to the last bit: a kd-tree for narrow data, blocked matrix
//! products for wide data. Between 5 and 16 dimensions a look at a few leaves decides. Where both would
//! take long, [`find`] searches [`approximate`]ly, and says what share of the neighbours it found. The shortest ways along the
//! graph that they span are in [`paths`].

pub mod approximate;
mod blocked;
mod candidates;
mod graph;
mod kdtree;
pub mod paths;
mod ranks;

pub use graph::{Found, Knn, Neighborhoods};
pub(crate) use kdtree::zeros;
pub use ranks::{RankRow, ranks};

use ndarray::Axis;

use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::points::{Points, Values};

/// How to search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Search {
    /// Whichever is expected to be faster.
    #[default]
    Auto,
    /// The kd-tree; at most 16 dimensions.
    Tree,
    /// Blocked matrix products.
    Blocked,
}

/// Whether neighbours must be the nearest for sure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Method {
    /// Exact, unless that would take long.
    #[default]
    Auto,
    /// All of them.
    Exact,
    /// Nearly all of them.
    Approximate,
}

/// Neighbours, and how many of the true ones they are.
#[derive(Debug, Clone, PartialEq)]
pub struct Nearest {
    /// Who they are, and how far.
    pub knn: Knn,
    /// The share of the true neighbours among those found, as measured for a random sample of points; nothing if all
    /// were found for sure.
    pub recall: Option<f64>,
}

/// Up to this dimension the tree always wins.
const NARROW: usize = 4;

/// The tree wins while it computes less than this share of all distances. Measured: a distance in the
/// tree costs about 5 ns, one among blocked products about 0.4 ns.
const WORTHWHILE_SHARE: f64 = 0.08;

/// An exact search takes long where n^2 (q + 64) is more than this: some six seconds on two threads.
const LONG: f64 = 1e12;

/// Fewer new points than this are answered by products before a tree is built, whatever n is.
const FEW: usize = 128;

/// The `k` nearest others of every point, nearest first; ties go to the lower index.
///
/// ```
/// use ndarray::array;
/// use unbend::{Points, Unmonitored, neighbors};
/// let line = array![[0.0], [1.0], [3.0]];
/// let points = Points::new("X", line.view(), &Unmonitored)?;
/// let knn = neighbors::nearest(&points, 1, Default::default(), &Unmonitored)?;
/// assert_eq!(knn.neighborhoods.indices(), [1, 0, 1]);
/// assert_eq!(knn.distances, [1.0, 1.0, 2.0]);
/// # Ok::<(), unbend::Error>(())
/// ```
pub fn nearest(points: &Points, k: usize, search: Search, monitor: &dyn Monitor) -> Result<Knn> {
    let n = points.len();
    if k == 0 {
        return Err(Error::NoNeighbors);
    }
    if n <= k {
        return Err(Error::TooFewPoints { n_neighbors: k, n });
    }
    let found = if use_tree(points, None, k, search, monitor)? {
        kdtree::nearest(points, k, monitor)
    } else {
        blocked::nearest(points, k, monitor)
    };
    found.map(Found::into_knn)
}

/// The `k` nearest others of every point, exactly or nearly, nearest first.
///
/// `Auto` is exact where the kd-tree searches, and while products would not take long.
///
/// ```
/// use ndarray::array;
/// use unbend::{Points, Unmonitored, neighbors};
/// let line = array![[0.0], [1.0], [3.0]];
/// let points = Points::new("X", line.view(), &Unmonitored)?;
/// let found = neighbors::find(&points, 1, Default::default(), &Default::default(), &Unmonitored)?;
/// assert_eq!((found.knn.neighborhoods.indices(), found.recall), (&[1, 0, 1][..], None));
/// # Ok::<(), unbend::Error>(())
/// ```
pub fn find(
    points: &Points,
    k: usize,
    method: Method,
    target: &approximate::Target,
    monitor: &dyn Monitor,
) -> Result<Nearest> {
    let n = points.len();
    target.check()?;
    if k == 0 {
        return Err(Error::NoNeighbors);
    }
    if n <= k {
        return Err(Error::TooFewPoints { n_neighbors: k, n });
    }
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
    n * n * (q + 64.0) > LONG
}

/// The `k` nearest others of some points, or of all if there are no `centers`: `k` after `k`, nearest first.
///
/// ```
/// use ndarray::array;
/// use unbend::{Points, Unmonitored, neighbors};
/// let line = array![[0.0], [1.0], [3.0]];
/// let points = Points::new("X", line.view(), &Unmonitored)?;
/// let near = neighbors::nearest_to(&points, Some(&[2]), 2, Default::default(), &Unmonitored)?;
/// assert_eq!(near, [1, 0]);
/// # Ok::<(), unbend::Error>(())
/// ```
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
    if points.len() <= k {
        return Err(Error::TooFewPoints { n_neighbors: k, n: points.len() });
    }
    let rows: Vec<usize> = centers.iter().map(|&i| i as usize).collect();
    let of = |asking: Values| -> Result<Vec<u32>> {
        let found = query(points, &Points::new("centers", asking, monitor)?, k + 1, search, monitor)?;
        Ok(without_centers(&found, centers))
    };
    match points.values() {
        Values::F32(view) => of(view.select(Axis(0), &rows).view().into()),
        Values::F64(view) => of(view.select(Axis(0), &rows).view().into()),
    }
}

/// One fewer for each: the centre itself, or the last if the centre has too many copies to be among the nearest.
fn without_centers(found: &Found, centers: &[u32]) -> Vec<u32> {
    let others = |(row, &center): (&[u32], &u32)| {
        let last = row.iter().position(|&j| j == center).unwrap_or(row.len() - 1);
        [&row[..last], &row[last + 1..]].concat()
    };
    found.indices.chunks(found.k).zip(centers).flat_map(others).collect()
}

/// The `k` nearest of `points` for every new point, nearest first; ties go to the lower index.
///
/// A point that coincides with a new one is its neighbour like any other.
///
/// ```
/// use ndarray::array;
/// use unbend::{Points, Unmonitored, neighbors};
/// let (line, new) = (array![[0.0], [1.0], [3.0]], array![[1.0], [9.0]]);
/// let points = Points::new("X", line.view(), &Unmonitored)?;
/// let new = Points::new("new", new.view(), &Unmonitored)?;
/// let found = neighbors::query(&points, &new, 2, Default::default(), &Unmonitored)?;
/// assert_eq!(found.indices, [1, 0, 2, 1]);
/// assert_eq!(found.distances, [0.0, 1.0, 6.0, 8.0]);
/// # Ok::<(), unbend::Error>(())
/// ```
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
    let few = search == Search::Auto && new.len() < FEW;
    if !few && use_tree(points, Some(new), k, search, monitor)? {
        kdtree::query(points, new, k, monitor)
    } else {
        blocked::query(points, new, k, monitor)
    }
}

/// All others at distance `radius` or less of every point, nearest first; ties in order of index.
///
/// Cost: that of the search for as many neighbours as there are on average.
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

/// Whether to use the tree, where that is not left to a look at the data.
fn prescribed(points: &Points, search: Search) -> Result<Option<bool>> {
    let q = points.dim();
    match search {
        Search::Blocked => Ok(Some(false)),
        Search::Tree if q <= kdtree::WIDEST => Ok(Some(true)),
        Search::Tree => Err(Error::OutOfRange {
            name: "dimension",
            value: q as f64,
            needed: "the kd-tree takes at most 16 dimensions",
        }),
        Search::Auto if q <= NARROW => Ok(Some(true)),
        Search::Auto if q > kdtree::WIDEST => Ok(Some(false)),
        Search::Auto => Ok(None),
    }
}
