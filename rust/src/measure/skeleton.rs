//! The skeleton of the data: landmarks on many shortest paths, and how far they are apart along the graph (Zhang, Ren
//! & Zhang, section IV-B, steps 1 and 2; the global part M_G of NIEQA, eq. 19, is ASIM of what scaling makes of it).
//!
//! The importance of a point is the number of shortest paths that go through it, not counting those that begin or end
//! there: in the tree of paths from one source, that is how many points lie beyond it. The most important are the
//! landmarks, ties going to the lower index. Counts are whole numbers, so it does not matter in which order threads
//! add to them.
//!
//! The paper grows the trees from all points, n^2 log n steps. A sample of sources serves for many points: only who is
//! on top matters.
//!
//! Cost: O(n (k + log n)) for each source and for each landmark. Memory: the graph with lengths, and O(n) for each
//! thread.

use std::sync::atomic::{AtomicU64, Ordering};

use super::procrustes::check_centers;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;
use crate::neighbors::paths::{Lengths, Tree, from_each};
use crate::points::Points;

const PATHS: &str = "paths";
const LANDMARKS: &str = "landmarks";

/// How many landmarks, and whose paths choose them.
#[derive(Debug, Clone, Copy)]
pub struct SkeletonParams<'a> {
    /// How many landmarks.
    pub n_landmarks: usize,
    /// From where paths are counted; from all points if `None`.
    pub sources: Option<&'a [u32]>,
}

impl SkeletonParams<'_> {
    fn check(&self, n: usize) -> Result<()> {
        if self.n_landmarks == 0 || self.n_landmarks > n {
            let needed = "there must be at least 1 landmark, and no more than points";
            return Err(Error::OutOfRange { name: "n_landmarks", value: self.n_landmarks as f64, needed });
        }
        check_centers(self.sources, n)
    }
}

/// Landmarks and the way between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Skeleton {
    /// The most important points first.
    pub landmarks: Vec<u32>,
    /// Through each point, how many of the shortest paths from the sources go.
    pub importance: Vec<u64>,
    /// From every landmark to every landmark, row after row; infinite where no path leads.
    pub distances: Vec<f64>,
}

/// Finds the landmarks of the data and their distances along the graph.
///
/// ```
/// use ndarray::array;
/// use unbend::measure::{SkeletonParams, skeleton};
/// use unbend::{Points, Unmonitored, neighbors};
/// let line = array![[0.0], [1.0], [3.0], [4.5], [7.0]];
/// let x = Points::new("X", line.view(), &Unmonitored)?;
/// let graph = neighbors::nearest(&x, 2, Default::default(), &Unmonitored)?.neighborhoods;
/// let params = SkeletonParams { n_landmarks: 2, sources: None };
/// let found = skeleton(&x, &graph, params, &Unmonitored)?;
/// assert_eq!((found.landmarks, found.distances), (vec![2, 1], vec![0.0, 2.0, 2.0, 0.0]));
/// # Ok::<(), unbend::Error>(())
/// ```
pub fn skeleton(
    x: &Points,
    neighborhoods: &Neighborhoods,
    params: SkeletonParams,
    monitor: &dyn Monitor,
) -> Result<Skeleton> {
    params.check(x.len())?;
    let graph = Lengths::new(x, neighborhoods, monitor)?;
    let importance = importance(&graph, params.sources, monitor)?;
    let landmarks = most(&importance, params.n_landmarks);
    let distances = between(&graph, &landmarks, monitor)?;
    Ok(Skeleton { landmarks, importance, distances })
}

/// Through each point, how many of the shortest paths from the sources go.
fn importance(graph: &Lengths, sources: Option<&[u32]>, monitor: &dyn Monitor) -> Result<Vec<u64>> {
    let all: Vec<u32> = if sources.is_none() { (0..graph.len() as u32).collect() } else { Vec::new() };
    let counts: Vec<AtomicU64> = (0..graph.len()).map(|_| AtomicU64::new(0)).collect();
    from_each(graph, sources.unwrap_or(&all), PATHS, monitor, Vec::new, |beyond, tree| {
        count_beyond(tree, graph.len(), beyond);
        for &i in tree.order().iter().skip(1).filter(|&&i| beyond[i as usize] > 0) {
            counts[i as usize].fetch_add(u64::from(beyond[i as usize]), Ordering::Relaxed);
        }
    })?;
    Ok(graph.places().iter().map(|&place| counts[place as usize].load(Ordering::Relaxed)).collect())
}

/// How many points each has beyond it in the tree.
fn count_beyond(tree: &Tree, n: usize, beyond: &mut Vec<u32>) {
    beyond.clear();
    beyond.resize(n, 0);
    for &i in tree.order().iter().rev() {
        if let Some(before) = tree.predecessor(i as usize) {
            beyond[before as usize] += beyond[i as usize] + 1;
        }
    }
}

/// The places of the largest counts, the lower first among equals.
fn most(counts: &[u64], how_many: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..counts.len() as u32).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(counts[i as usize]));
    order.truncate(how_many);
    order
}

fn between(graph: &Lengths, landmarks: &[u32], monitor: &dyn Monitor) -> Result<Vec<f64>> {
    let places: Vec<u32> = landmarks.iter().map(|&i| graph.places()[i as usize]).collect();
    let to_all = |_: &mut (), tree: &Tree| -> Vec<f64> {
        places.iter().map(|&place| tree.distances()[place as usize]).collect()
    };
    Ok(from_each(graph, landmarks, LANDMARKS, monitor, || (), to_all)?.concat())
}
