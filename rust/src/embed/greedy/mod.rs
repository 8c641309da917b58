//! Greedy Procrustes, GP (Goldberg & Ritov, section 4.1): neighborhoods are added one by one, each aligned with the
//! points that are already embedded.
//!
//! Cost: that of the charts, then O(n k (k + d^2)) per start, whatever the dimension of the data.

mod fit;
mod frontier;
mod growth;

use std::sync::atomic::AtomicUsize;

use ndarray::ArrayView2;
use rayon::prelude::*;

use self::growth::Growth;
use super::{check_indices, check_len, check_range};
use crate::charts::Atlas;
use crate::error::Result;
use crate::measure;
use crate::monitor::{Monitor, Silent};
use crate::points::Points;
use crate::rng::{stream, uniform};

const STAGE: &str = "greedy";

/// An embedding. Each component has an origin of its own.
#[derive(Debug, Clone, Copy)]
pub struct GreedyParams<'a> {
    /// Number of starts. For each component the start of lowest R_N is kept.
    pub n_init: usize,
    /// The point at which the first start begins. All other starts are random, and this one is if `None`.
    pub start: Option<usize>,
    /// Seed of the random starts.
    pub seed: u64,
    /// The original number of each point. Starts and ties are decided by these, because an order in which neighbors are
    /// near each other would favor one side of the surface.
    pub names: Option<&'a [u32]>,
    /// Embed each neighborhood at once, as in the paper, even if its overlap leaves a reflection undecided.
    pub at_once: bool,
}

impl Default for GreedyParams<'_> {
    fn default() -> Self {
        GreedyParams { n_init: 4, start: None, seed: 0, names: None, at_once: false }
    }
}

impl GreedyParams<'_> {
    fn check(&self, n: usize) -> Result<()> {
        check_range("n_init", self.n_init as f64, self.n_init > 0, "at least 1 start is needed")?;
        if let Some(names) = self.names {
            check_len("names", names.len(), "X", n)?;
            check_indices(names, 1, n)?;
        }
        let start = self.start.unwrap_or(0);
        check_range("start", start as f64, start < n, "it must be the index of a point")
    }
}

/// Counts for diagnosis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Trace {
    /// Number of neighborhoods that were aligned with embedded points.
    pub steps: usize,
    /// Number of embedded points that these shared, in total.
    pub overlap: usize,
    /// Number of times a neighborhood was postponed because its overlap left a reflection undecided.
    pub waits: usize,
    /// Number of neighborhoods that never became decided and were rotated by the tangent of a neighbor.
    pub forced: usize,
    /// Number of times the neighborhood of an embedded point reached points that list no embedded point.
    pub other_side: usize,
}

/// An embedding, each component about an origin of its own.
#[derive(Debug, Clone)]
pub struct Greedy {
    /// Coordinates, point after point.
    pub embedding: Vec<f64>,
    /// The connected component of every point.
    pub labels: Vec<u32>,
    /// R_N of every start, if there are several.
    pub r_n: Vec<f64>,
    /// The start that each component is from.
    pub kept: Vec<u32>,
    /// The counts of each start.
    pub traces: Vec<Trace>,
}

/// Embeds the data of `atlas`. Fails if a parameter is out of range.
///
/// ```
/// use ndarray::array;
/// use unbend::charts::Atlas;
/// use unbend::{Points, Unmonitored, embed, neighbors};
/// let bent = array![[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [2.0, 1.0], [2.0, 2.0]];
/// let x = Points::new("X", bent.view(), &Unmonitored)?;
/// let graph = neighbors::nearest(&x, 2, Default::default(), &Unmonitored)?.neighborhoods;
/// let atlas = Atlas::new(&x, &graph, None, 1, &Unmonitored)?;
/// let found = embed::greedy(&atlas, &Default::default(), &Unmonitored)?;
/// let length = (found.embedding[4] - found.embedding[0]).abs();
/// assert!(length > 3.0); // the corner is rounded off, the arms are laid out
/// # Ok::<(), unbend::Error>(())
/// ```
pub fn greedy(atlas: &Atlas, params: &GreedyParams, monitor: &dyn Monitor) -> Result<Greedy> {
    let n = atlas.neighborhoods().len();
    params.check(n)?;
    let labels = atlas.neighborhoods().components();
    let mut reversed = atlas.neighborhoods().reversed();
    if let Some(names) = params.names {
        reversed.sort_rows_by_key(|i| names[i as usize]);
    }
    let starts = starts(&labels, params);
    let done = AtomicUsize::new(0);
    let grown: Result<Vec<(Vec<f64>, Trace)>> = starts
        .into_par_iter()
        .map(|firsts| Growth::new(atlas, &reversed, monitor, &done, params).grow(&firsts))
        .collect();
    let (embeddings, traces): (Vec<_>, Vec<_>) = grown?.into_iter().unzip();
    choose(atlas, embeddings, labels, traces, &Silent(monitor))
}

/// For each start the first point of every component.
fn starts(labels: &[u32], params: &GreedyParams) -> Vec<Vec<u32>> {
    let pieces = pieces(labels, params.names);
    let mut starts: Vec<Vec<u32>> = (0..params.n_init)
        .map(|s| {
            let mut rng = stream(params.seed, STAGE, s as u64);
            pieces.iter().map(|m| m[(uniform(&mut rng) * m.len() as f64) as usize]).collect()
        })
        .collect();
    if let Some(start) = params.start {
        let own = pieces.iter().position(|m| labels[m[0] as usize] == labels[start]);
        starts[0][own.unwrap_or(0)] = start as u32;
    }
    starts
}

/// The points of every component in the order of their original numbers; components in the order of their first points.
fn pieces(labels: &[u32], names: Option<&[u32]>) -> Vec<Vec<u32>> {
    let mut order: Vec<u32> = (0..labels.len() as u32).collect();
    for (&name, place) in names.unwrap_or_default().iter().zip(0..) {
        order[name as usize] = place;
    }
    let components = labels.iter().max().map_or(0, |&last| last as usize + 1);
    let (mut known, mut found) = (vec![usize::MAX; components], Vec::new());
    for i in order {
        let own = &mut known[labels[i as usize] as usize];
        if *own == usize::MAX {
            *own = found.len();
            found.push(Vec::new());
        }
        found[*own].push(i);
    }
    found
}

/// For every component, the embedding of lowest R_N, without neighborhoods that have no extent.
fn choose(
    atlas: &Atlas,
    mut embeddings: Vec<Vec<f64>>,
    labels: Vec<u32>,
    traces: Vec<Trace>,
    monitor: &dyn Monitor,
) -> Result<Greedy> {
    let d = atlas.n_components();
    let components = labels.iter().max().map_or(0, |&last| last as usize + 1);
    if embeddings.len() == 1 {
        let embedding = embeddings.swap_remove(0);
        return Ok(Greedy { embedding, labels, r_n: vec![], kept: vec![0; components], traces });
    }
    let mut r_n = Vec::new();
    let mut best = vec![(f64::INFINITY, 0); components];
    for (s, embedding) in (0..).zip(&embeddings) {
        let errors = errors(atlas, embedding, monitor)?;
        r_n.push(errors.means.r_n);
        for (best, mean) in best.iter_mut().zip(component_means(&errors, &labels, components)) {
            if mean < best.0 {
                *best = (mean, s);
            }
        }
    }
    let kept: Vec<u32> = best.into_iter().map(|(_, s)| s).collect();
    let mut embedding = vec![0.0; labels.len() * d];
    for (i, row) in embedding.chunks_exact_mut(d).enumerate() {
        row.copy_from_slice(&embeddings[kept[labels[i] as usize] as usize][i * d..][..d]);
    }
    Ok(Greedy { embedding, labels, r_n, kept, traces })
}

fn component_means(errors: &measure::Faithfulness, labels: &[u32], components: usize) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); components];
    for (p, &label) in errors.per_point.iter().zip(labels).filter(|(p, _)| !p.degenerate()) {
        let (sum, count) = &mut sums[label as usize];
        *sum += p.r_n;
        *count += 1.0;
    }
    sums.into_iter().map(|(sum, count)| if count > 0.0 { sum / count } else { f64::INFINITY }).collect()
}

fn errors(atlas: &Atlas, embedding: &[f64], monitor: &dyn Monitor) -> Result<measure::Faithfulness> {
    let d = atlas.n_components();
    let n = atlas.neighborhoods().len();
    check_len("the embedding", embedding.len(), "X, times n_components,", n * d)?;
    let view = ArrayView2::from_shape((n, d), embedding).unwrap_or_else(|_| ArrayView2::from(&[[0.0; 0]; 0]));
    let y = Points::new("the embedding", view, monitor)?;
    measure::faithfulness(atlas.source(), &y, atlas.neighborhoods(), Default::default(), monitor)
}
