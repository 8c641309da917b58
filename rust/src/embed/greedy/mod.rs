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
    /// The other starts are not tried if R_N of the first is at most this multiple of the lower bound, in every
    /// component.
    pub enough: f64,
    /// Embed each neighborhood at once, as in the paper, even if its overlap leaves a reflection undecided.
    pub at_once: bool,
}

impl Default for GreedyParams<'_> {
    fn default() -> Self {
        GreedyParams { n_init: 4, start: None, seed: 0, names: None, enough: 0.0, at_once: false }
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
    /// R_N of every start that was measured.
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
    let grow = |firsts: &Vec<u32>| Growth::new(atlas, &reversed, monitor, &done, params).grow(firsts);
    let (mut grown, mut best, mut tried) = (vec![], Best::new(&labels), starts.len());
    if params.enough > 0.0 && starts.len() > 1 {
        grown.push(grow(&starts[0])?);
        if best.enter(atlas, &grown[0].0, &labels, &Silent(monitor))? <= params.enough {
            tried = 1;
        }
    }
    let others: Result<Vec<_>> = starts[grown.len()..tried].par_iter().map(grow).collect();
    grown.extend(others?);
    let (embeddings, traces): (Vec<_>, Vec<_>) = grown.into_iter().unzip();
    choose(atlas, embeddings, labels, traces, best, &Silent(monitor))
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
    mut best: Best,
    monitor: &dyn Monitor,
) -> Result<Greedy> {
    let d = atlas.n_components();
    if embeddings.len() == 1 {
        let (embedding, kept) = (embeddings.swap_remove(0), vec![0; best.of_components.len()]);
        return Ok(Greedy { embedding, labels, r_n: best.r_n, kept, traces });
    }
    for embedding in &embeddings[best.r_n.len()..] {
        best.enter(atlas, embedding, &labels, monitor)?;
    }
    let kept: Vec<u32> = best.of_components.into_iter().map(|(_, s)| s).collect();
    let mut embedding = vec![0.0; labels.len() * d];
    for (i, row) in embedding.chunks_exact_mut(d).enumerate() {
        row.copy_from_slice(&embeddings[kept[labels[i] as usize] as usize][i * d..][..d]);
    }
    Ok(Greedy { embedding, labels, r_n: best.r_n, kept, traces })
}

/// The embeddings measured so far.
struct Best {
    r_n: Vec<f64>,
    /// The lowest R_N of every component, and the start that it is from.
    of_components: Vec<(f64, u32)>,
}

impl Best {
    fn new(labels: &[u32]) -> Self {
        let components = labels.iter().max().map_or(0, |&last| last as usize + 1);
        Best { r_n: vec![], of_components: vec![(f64::INFINITY, 0); components] }
    }

    /// Measures the embedding of the next start; returns the largest ratio of R_N to its lower bound in a component.
    fn enter(
        &mut self,
        atlas: &Atlas,
        embedding: &[f64],
        labels: &[u32],
        monitor: &dyn Monitor,
    ) -> Result<f64> {
        let errors = errors(atlas, embedding, monitor)?;
        let (s, components) = (self.r_n.len() as u32, self.of_components.len());
        self.r_n.push(errors.means.r_n);
        let means = component_means(&errors, labels, components, |p| p.r_n);
        let bounds = component_means(&errors, labels, components, |p| p.bound);
        for (best, &mean) in self.of_components.iter_mut().zip(&means) {
            if mean < best.0 {
                *best = (mean, s);
            }
        }
        let ratios = means.iter().zip(bounds).filter(|(mean, _)| mean.is_finite());
        Ok(ratios.map(|(mean, bound)| if *mean > 0.0 { mean / bound } else { 1.0 }).fold(0.0, f64::max))
    }
}

fn component_means(
    errors: &measure::Faithfulness,
    labels: &[u32],
    components: usize,
    of: impl Fn(&measure::PerPoint) -> f64,
) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); components];
    for (p, &label) in errors.per_point.iter().zip(labels).filter(|(p, _)| !p.degenerate()) {
        let (sum, count) = &mut sums[label as usize];
        *sum += of(&p);
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
