//! The neighbors that an embedding tears apart, and the neighborhoods without them.
//!
//! Cost: O(n k d) and O(n k q).

use super::STAGE;
use crate::charts::check_lengths;
use crate::embed::{check_indices, check_len, fold_distances};
use crate::error::Result;
use crate::monitor::{Monitor, Silent};
use crate::neighbors::Neighborhoods;
use crate::neighbors::paths::distance;
use crate::parallel::map_blocks;
use crate::points::Points;
use crate::union_find::UnionFind;

/// h: the median distance to the farthest neighbor of a point.
pub fn spacing(x: &Points, graph: &Neighborhoods, monitor: &dyn Monitor) -> Result<f64> {
    let mut reach = fold_distances(x, graph, STAGE, monitor, f64::max)?;
    let middle = reach.len() / 2;
    Ok(*reach.select_nth_unstable_by(middle, f64::total_cmp).1)
}

/// Flag for every neighbor: true if the embedding `y` tears it off, |y_i - y_j| > tau max(|x_i - x_j|, h).
pub fn torn(
    x: &Points,
    y: &Points,
    graph: &Neighborhoods,
    spacing: f64,
    tau: f64,
    monitor: &dyn Monitor,
) -> Result<Vec<bool>> {
    check_lengths(x, "X", graph)?;
    check_lengths(y, "Y", graph)?;
    let of_block = |block: std::ops::Range<usize>| {
        let room = |points: &Points| (vec![0.0; points.dim()], vec![0.0; points.dim()]);
        let ((mut from, mut to), (mut own, mut other)) = (room(x), room(y));
        let mut torn = Vec::new();
        for i in block {
            x.copy_row(i, &mut from);
            y.copy_row(i, &mut own);
            for &j in graph.of(i) {
                x.copy_row(j as usize, &mut to);
                y.copy_row(j as usize, &mut other);
                torn.push(distance(&own, &other) > tau * distance(&from, &to).max(spacing));
            }
        }
        torn
    };
    Ok(map_blocks(graph.len(), STAGE, &Silent(monitor), of_block)?.concat())
}

/// The neighborhoods without their torn members.
pub fn restricted(graph: &Neighborhoods, torn: &[bool]) -> Result<Neighborhoods<'static>> {
    check_entries(graph, torn)?;
    Ok(graph.restricted(torn))
}

/// The first `most` neighbors of every point with their torn flags, if all have more and equally many.
pub fn nearer(
    graph: &Neighborhoods,
    torn: &[bool],
    most: usize,
) -> Result<Option<(Neighborhoods<'static>, Vec<bool>)>> {
    check_entries(graph, torn)?;
    let most = most.max(1);
    let Some(k) = graph.fixed_size().filter(|&k| most < k) else { return Ok(None) };
    let indices = graph.indices().chunks_exact(k).flat_map(|row| &row[..most]).copied().collect();
    let torn = torn.chunks_exact(k).flat_map(|row| &row[..most]).copied().collect();
    Ok(Some((Neighborhoods::fixed(most, indices), torn)))
}

/// Flag for every neighbor of every point: true if the two are among `pairs`, which lie end after end.
pub fn marked(graph: &Neighborhoods, pairs: &[u32]) -> Result<Vec<bool>> {
    check_indices(pairs, 2, graph.len())?;
    let mut sorted: Vec<(u32, u32)> =
        pairs.chunks_exact(2).map(|ends| (ends[0].min(ends[1]), ends[0].max(ends[1]))).collect();
    sorted.sort_unstable();
    let marked =
        |(i, j, _): (usize, usize, usize)| sorted.binary_search(&(i.min(j) as u32, i.max(j) as u32)).is_ok();
    Ok(entries(graph).map(marked).collect())
}

/// Removes tears that separate pieces of the sheet, and slivers: connected sets of fewer than `least` torn points, all
/// within `reach` of their neighbors in the embedding. Those are gaps between points or outliers; real cuts open wider.
pub fn mend(y: &Points, graph: &Neighborhoods, torn: &mut [bool], least: usize, reach: f64) -> Result<()> {
    check_lengths(y, "Y", graph)?;
    check_entries(graph, torn)?;
    drop_slivers(y, graph, torn, least, reach);
    let pieces = restricted(graph, torn)?.components();
    keep_where(graph, torn, |i, j| pieces[i] == pieces[j]);
    Ok(())
}

/// Torn pairs are connected if they share a point, or have points that are neighbors.
fn drop_slivers(y: &Points, graph: &Neighborhoods, torn: &mut [bool], least: usize, reach: f64) {
    let n = graph.len();
    let mut touched = vec![false; n];
    for (i, j, _) in entries(graph).filter(|&(.., at)| torn[at]) {
        (touched[i], touched[j]) = (true, true);
    }
    let mut sets: UnionFind = UnionFind::new(n);
    for (i, j, _) in entries(graph).filter(|&(i, j, _)| touched[i] && touched[j]) {
        sets.join(i as u32, j as u32, ());
    }
    let roots: Vec<u32> = (0..n as u32).map(|i| sets.root(i)).collect();
    let mut sizes = vec![0usize; n];
    (0..n).filter(|&i| touched[i]).for_each(|i| sizes[roots[i] as usize] += 1);
    let (mut from, mut to) = (vec![0.0; y.dim()], vec![0.0; y.dim()]);
    for (i, j, _) in entries(graph).filter(|&(.., at)| torn[at]) {
        y.copy_row(i, &mut from);
        y.copy_row(j, &mut to);
        if distance(&from, &to) > reach {
            sizes[roots[i] as usize] = least;
        }
    }
    keep_where(graph, torn, |i, _| sizes[roots[i] as usize] >= least);
}

fn keep_where(graph: &Neighborhoods, torn: &mut [bool], keep: impl Fn(usize, usize) -> bool) {
    for (i, j, at) in entries(graph) {
        torn[at] = torn[at] && keep(i, j);
    }
}

/// Every neighbor of every point, and its place.
pub(super) fn entries<'a>(graph: &'a Neighborhoods) -> impl Iterator<Item = (usize, usize, usize)> + 'a {
    (0..graph.len()).flat_map(move |i| {
        let start = graph.start(i);
        graph.of(i).iter().enumerate().map(move |(at, &j)| (i, j as usize, start + at))
    })
}

pub(in crate::embed) fn check_entries(graph: &Neighborhoods, torn: &[bool]) -> Result<()> {
    check_len("the torn flags", torn.len(), "the neighbors of all points", graph.indices().len())
}
