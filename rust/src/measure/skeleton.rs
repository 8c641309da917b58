//! The skeleton of the data: landmarks on many shortest paths, and the geodesic distances between them (Zhang, Ren &
//! Zhang, section IV-B, steps 1 and 2; the global part M_G of NIEQA, eq. 19, is ASIM of what scaling makes of it).
//!
//! The importance of a point is the number of shortest paths through it, not counting those that begin or end there:
//! the number of points beyond it in the tree of paths, summed over all sources or a sample. The most important points
//! are the landmarks; ties go to the lower index.
//!
//! Cost: O(n (k + log n)) for each source and each landmark. Memory: the graph with lengths, and O(n) per thread.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use super::procrustes::check_centers;
use crate::error::{Result, check_range};
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;
use crate::neighbors::paths::{Lengths, Tree, from_each};
use crate::points::Points;

const PATHS: &str = "paths";
const LANDMARKS: &str = "landmarks";

/// Landmarks and the distances between them.
#[derive(Debug, Clone, Copy)]
pub struct SkeletonParams<'a> {
    /// Number of landmarks, at least 1.
    pub n_landmarks: usize,
    /// The points from which paths are counted; all points if `None`.
    pub sources: Option<&'a [u32]>,
}

/// Landmarks and the distances between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Skeleton {
    /// The landmarks, most important first.
    pub landmarks: Vec<u32>,
    /// For each point, the number of shortest paths from the sources that go through it.
    pub importance: Vec<u64>,
    /// The geodesic distances between landmarks, row after row; infinite where there is no path.
    pub distances: Vec<f64>,
}

/// Finds the landmarks of the data and their geodesic distances.
pub fn skeleton(
    x: &Points,
    neighborhoods: &Neighborhoods,
    params: SkeletonParams,
    monitor: &dyn Monitor,
) -> Result<Skeleton> {
    let needed = "there must be at least 1 landmark, and no more than points";
    let valid = (1..=x.len()).contains(&params.n_landmarks);
    check_range("n_landmarks", params.n_landmarks as f64, valid, needed)?;
    check_centers(params.sources, x.len())?;
    let graph = Lengths::new(x, neighborhoods, monitor)?;
    let importance = importance(&graph, params.sources, monitor)?;
    let landmarks = most(&importance, params.n_landmarks);
    let distances = between(&graph, &landmarks, monitor)?;
    Ok(Skeleton { landmarks, importance, distances })
}

/// Number of shortest paths from the sources that go through each point.
fn importance(graph: &Lengths, sources: Option<&[u32]>, monitor: &dyn Monitor) -> Result<Vec<u64>> {
    let sources = sources.map_or_else(|| (0..graph.len() as u32).collect(), Cow::Borrowed);
    let counts: Vec<AtomicU64> = (0..graph.len()).map(|_| AtomicU64::new(0)).collect();
    from_each(graph, &sources, PATHS, monitor, Vec::new, |beyond, tree| {
        count_beyond(tree, graph.len(), beyond);
        for &i in tree.order().iter().skip(1).filter(|&&i| beyond[i as usize] > 0) {
            counts[i as usize].fetch_add(u64::from(beyond[i as usize]), Ordering::Relaxed);
        }
    })?;
    Ok(graph.places().iter().map(|&place| counts[place as usize].load(Ordering::Relaxed)).collect())
}

/// Number of points beyond each point in the tree.
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
