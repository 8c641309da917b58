//! Greedy Procrustes, GP (Goldberg & Ritov, section 4.1): neighborhoods are added one by one, each aligned with the
//! points that are already embedded.
//!
//! Cost: that of the charts, then O(n k (k + d^2)) per start, whatever the dimension of the data.

mod carried;
mod fit;
mod frontier;
mod growth;

use std::sync::atomic::AtomicUsize;

use ndarray::ArrayView2;
use rayon::prelude::*;

use self::growth::{Grown, Growth};
use super::{check_indices, check_len, check_range};
use crate::charts::Atlas;
use crate::error::Result;
use crate::measure::{self, FaithfulnessParams};
use crate::monitor::{Monitor, Silent};
use crate::points::Points;
use crate::rng::{stream, uniform};

pub use self::carried::carried_frames;

const STAGE: &str = "greedy";

/// Starts are compared by the neighborhoods of at most this many points if the graph is connected.
const MAX_COMPARED_POINTS: usize = 1 << 16;

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
    /// R_N of every start, if there are several; of many points, that of evenly spaced ones.
    pub r_n: Vec<f64>,
    /// The lower bound of R_N on the same neighborhoods.
    pub lower_bound: Option<f64>,
    /// The start that each component is from.
    pub kept: Vec<u32>,
    /// The point from which the frame of each point is carried; a start is its own.
    pub parents: Vec<u32>,
    /// The counts of each start.
    pub traces: Vec<Trace>,
}

impl Greedy {
    /// True if R_N of the best of several starts is within these multiples of the lower bound.
    pub fn is_within(&self, (least, most): (f64, f64)) -> bool {
        let r_n = self.r_n.iter().copied().fold(f64::INFINITY, f64::min);
        self.lower_bound.is_some_and(|bound| least * bound <= r_n && r_n <= most * bound)
    }
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
    let grown: Result<Vec<Grown>> = starts
        .into_par_iter()
        .map(|firsts| Growth::new(atlas, &reversed, monitor, &done, params).grow(&firsts))
        .collect();
    let grown = grown?;
    let Choice { r_n, lower_bound, kept } = choose(atlas, &grown, &labels, &Silent(monitor))?;
    let traces = grown.iter().map(|start| start.trace).collect();
    let (embedding, parents) = merged(grown, &kept, &labels, atlas.n_components());
    Ok(Greedy { embedding, labels, r_n, lower_bound, kept, parents, traces })
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

/// R_N of all starts, the lower bound on the same neighborhoods, and the start to keep for every component.
struct Choice {
    r_n: Vec<f64>,
    lower_bound: Option<f64>,
    kept: Vec<u32>,
}

/// For every component, the start of lowest R_N, without neighborhoods that have no extent.
fn choose(atlas: &Atlas, grown: &[Grown], labels: &[u32], monitor: &dyn Monitor) -> Result<Choice> {
    let components = labels.iter().max().map_or(0, |&last| last as usize + 1);
    let mut choice = Choice { r_n: vec![], lower_bound: None, kept: vec![0; components] };
    if grown.len() == 1 {
        return Ok(choice);
    }
    let (centers, mut lowest) = (compared(labels.len(), components), vec![f64::INFINITY; components]);
    for (s, start) in (0..).zip(grown) {
        let errors = errors(atlas, &start.embedding, centers.as_deref(), monitor)?;
        choice.r_n.push(errors.means.r_n);
        choice.lower_bound = Some(errors.means.lower_bound);
        // If only some neighborhoods are compared, there is one component, and all labels are equal.
        let means = component_means(&errors, labels, components);
        for ((mean, lowest), kept) in means.into_iter().zip(&mut lowest).zip(&mut choice.kept) {
            if mean < *lowest {
                (*lowest, *kept) = (mean, s);
            }
        }
    }
    Ok(choice)
}

/// Embedding and parents of every component from the start that is kept.
fn merged(mut grown: Vec<Grown>, kept: &[u32], labels: &[u32], d: usize) -> (Vec<f64>, Vec<u32>) {
    if let [start] = *kept {
        let Grown { embedding, parents, .. } = grown.swap_remove(start as usize);
        return (embedding, parents);
    }
    let start = |i: usize| &grown[kept[labels[i] as usize] as usize];
    let row = |i: usize| start(i).embedding[i * d..][..d].iter().copied();
    ((0..labels.len()).flat_map(row).collect(), (0..labels.len()).map(|i| start(i).parents[i]).collect())
}

/// The points by which starts are compared: evenly spaced ones if there are many, but all of several components.
fn compared(n: usize, components: usize) -> Option<Vec<u32>> {
    let step = n.div_ceil(MAX_COMPARED_POINTS);
    (components == 1 && step > 1).then(|| (0..n as u32).step_by(step).collect())
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

fn errors(
    atlas: &Atlas,
    embedding: &[f64],
    centers: Option<&[u32]>,
    monitor: &dyn Monitor,
) -> Result<measure::Faithfulness> {
    let d = atlas.n_components();
    let n = atlas.neighborhoods().len();
    check_len("the embedding", embedding.len(), "X, times n_components,", n * d)?;
    let view = ArrayView2::from_shape((n, d), embedding).unwrap_or_else(|_| ArrayView2::from(&[[0.0; 0]; 0]));
    let y = Points::new("the embedding", view, monitor)?;
    let params = FaithfulnessParams { centers, ..Default::default() };
    measure::faithfulness(atlas.source(), &y, atlas.neighborhoods(), params, monitor)
}
