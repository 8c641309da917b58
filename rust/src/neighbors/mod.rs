//! Who is near whom: the exact neighbours of every point, by number or by radius.
//!
//! Two searches give the same result to the last bit: a kd-tree for narrow data, blocked matrix
//! products for wide data. Between 5 and 16 dimensions a look at a few leaves decides.

mod blocked;
mod candidates;
mod graph;
mod kdtree;

pub use graph::{Knn, Neighborhoods};

use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::points::Points;

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

/// Up to this dimension the tree always wins.
const NARROW: usize = 4;

/// The tree wins while it computes less than this share of all distances. Measured: a distance in the
/// tree costs about 5 ns, one among blocked products about 0.4 ns.
const WORTHWHILE_SHARE: f64 = 0.08;

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
    if use_tree(points, k, search, monitor)? {
        kdtree::nearest(points, k, monitor)
    } else {
        blocked::nearest(points, k, monitor)
    }
}

/// All others at distance `radius` or less of every point, nearest first; ties in order of index.
///
/// Cost: that of the search for as many neighbours as there are on average.
pub fn within(points: &Points, radius: f64, search: Search, monitor: &dyn Monitor) -> Result<Knn> {
    if !(radius >= 0.0 && radius.is_finite()) {
        return Err(Error::BadRadius { radius });
    }
    if use_tree(points, (points.len() - 1).clamp(1, 16), search, monitor)? {
        kdtree::within(points, radius, monitor)
    } else {
        blocked::within(points, radius, monitor)
    }
}

fn use_tree(points: &Points, k: usize, search: Search, monitor: &dyn Monitor) -> Result<bool> {
    let q = points.dim();
    match search {
        Search::Blocked => Ok(false),
        Search::Tree if q <= kdtree::WIDEST => Ok(true),
        Search::Tree => Err(Error::OutOfRange {
            name: "dimension",
            value: q as f64,
            needed: "the kd-tree takes at most 16 dimensions",
        }),
        Search::Auto if q <= NARROW => Ok(true),
        Search::Auto if q > kdtree::WIDEST => Ok(false),
        Search::Auto => Ok(kdtree::scanned_share(points, k, monitor)? < WORTHWHILE_SHARE),
    }
}
