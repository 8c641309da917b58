//! Agreement with geodesic distances over a middle range: distances within balls of some hundred points.
//!
//! R_N compares neighborhoods only, and misses noise or a fold between them. Here the distances in
//! the embedding are compared with shortest paths on the neighborhood graph, within balls of some hundred points: far
//! enough to see a fold, near enough not to go around a hole of the data.
//!
//! Cost: O(s m k log m) per ball of m points and s sources, independent of n.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};

use rayon::prelude::*;

use crate::charts::{Source, check_lengths, quantile};
use crate::error::{Result, check_range, check_rows};
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;
use crate::neighbors::paths::distance;
use crate::parallel::map_points;
use crate::points::Points;
use crate::rng::{stream, uniform};

const STAGE: &str = "agreement";

/// Paths within a ball may use this many times as many points as it has.
const ROOM: usize = 2;

/// Shortest paths on a graph are longer than geodesics, and noise makes them longer still. The embedding is scaled to
/// fit them, by one factor for all balls, in this range.
const LEAST_SCALE: f64 = 0.8;
const MOST_SCALE: f64 = 1.25;

/// A ball whose squared distances sum up to less than this share of the usual is a point with its copies.
const POINTLIKE: f64 = 1e-12;

/// Points among which one thread looks for the worst.
const BLOCK: usize = 1 << 14;

/// The balls to compare.
#[derive(Debug, Clone, Copy)]
pub struct AgreementParams {
    /// Number of balls around points drawn at random; all points if there are fewer.
    pub n_balls: usize,
    /// Number of balls around the points with the largest errors in the lengths of edges.
    pub n_worst: usize,
    /// Number of points of a ball, its center included; at least 2.
    pub size: usize,
    /// Number of points of a ball whose distances to all others are compared.
    pub n_sources: usize,
    /// Seed of the random choices.
    pub seed: u64,
}

impl Default for AgreementParams {
    fn default() -> Self {
        AgreementParams { n_balls: 48, n_worst: 16, size: 100, n_sources: 12, seed: 0 }
    }
}

/// Errors of the distances in an embedding, compared with geodesic distances.
#[derive(Debug, Clone, Default)]
pub struct Agreement {
    /// The center of each ball: those drawn at random, then the worst.
    pub centers: Vec<u32>,
    /// The squared error of the distances in each ball, as a share of the squared geodesic distances; 0 is perfect.
    pub errors: Vec<f64>,
    /// Number of balls around points drawn at random.
    pub n_random: usize,
    /// The factor by which the embedding was scaled: the median of those that fit the random balls best.
    pub scale: f64,
}

/// Compares the distances of `y` with shortest paths on the graph, whose edges have the lengths of the steps of `x`.
///
/// Fails if the numbers of points differ, or if `size` is below 2.
pub fn agreement<'x, 'p: 'x>(
    x: impl Into<Source<'x, 'p>>,
    y: &Points,
    graph: &Neighborhoods,
    params: &AgreementParams,
    monitor: &dyn Monitor,
) -> Result<Agreement> {
    let x = x.into();
    check_rows(("X", x.len()), ("the neighborhood graph", graph.len()))?;
    check_lengths(y, "Y", graph)?;
    check_range("size", params.size as f64, params.size > 1, "a ball has at least 2 points")?;
    let mut centers = random_centers(graph, params);
    let n_random = centers.len();
    centers.extend(worst_centers(x, y, graph, params.n_worst, monitor)?);
    let sums = map_points(
        centers.len(),
        STAGE,
        monitor,
        || (),
        |(), c| {
            // A stop must not wait for the other balls of this thread; later results are discarded.
            if monitor.stop_requested() {
                Sums::default()
            } else {
                Ball::about(x, graph, centers[c], params).sums(y)
            }
        },
    )?;
    monitor.check()?;
    let scale = typical_scale(&sums[..n_random]);
    let mut sizes: Vec<f64> = sums.iter().map(|sums| sums.geodesic).collect();
    let least = POINTLIKE * quantile(&mut sizes, 0.5);
    let errors =
        sums.iter().map(|sums| if sums.geodesic > least { sums.error(scale) } else { 0.0 }).collect();
    Ok(Agreement { centers, errors, n_random, scale })
}

/// The median over balls of the factor that fits best: a few torn balls must not change it.
fn typical_scale(sums: &[Sums]) -> f64 {
    let shown = sums.iter().filter(|sums| sums.embedded > 0.0);
    let mut scales: Vec<f64> = shown.map(|sums| sums.product / sums.embedded).collect();
    if scales.is_empty() { 1.0 } else { quantile(&mut scales, 0.5).clamp(LEAST_SCALE, MOST_SCALE) }
}

fn random_centers(graph: &Neighborhoods, params: &AgreementParams) -> Vec<u32> {
    let n = graph.len();
    if n <= params.n_balls {
        return (0..n as u32).collect();
    }
    let mut rng = stream(params.seed, STAGE, u64::MAX);
    let mut centers: Vec<u32> =
        (0..params.n_balls).map(|_| ((uniform(&mut rng) * n as f64) as usize).min(n - 1) as u32).collect();
    centers.sort_unstable();
    centers.dedup();
    centers
}

/// The points with the largest error of a step to a neighbor, as a share of its length; none lists another.
fn worst_centers(
    x: Source,
    y: &Points,
    graph: &Neighborhoods,
    count: usize,
    monitor: &dyn Monitor,
) -> Result<Vec<u32>> {
    let narrow = match x {
        Source::Points(points) => points.rows::<3>().zip(y.rows::<2>()),
        Source::Patches(_) => None,
    };
    let errors = match narrow {
        Some((x, y)) => map_points(graph.len(), STAGE, monitor, <()>::default, |(), i| {
            let of_step =
                |&j: &u32| step_error(distance(&x[i], &x[j as usize]), distance(&y[i], &y[j as usize]));
            graph.of(i).iter().map(of_step).fold(0.0, f64::max)
        }),
        None => {
            let state = || [vec![], vec![0.0; y.dim()], vec![0.0; y.dim()]];
            map_points(graph.len(), STAGE, monitor, state, |[lengths, own, other], i| {
                x.lengths(graph, i, lengths);
                y.copy_row(i, own);
                let of_step = |(&j, &length): (&u32, &f64)| {
                    y.copy_row(j as usize, other);
                    step_error(length, distance(own, other))
                };
                graph.of(i).iter().zip(&*lengths).map(of_step).fold(0.0, f64::max)
            })
        }
    }?;
    let considered = 8 * count;
    let by_error = |a: &u32, b: &u32| errors[*b as usize].total_cmp(&errors[*a as usize]).then(a.cmp(b));
    let worst = |mut order: Vec<u32>| {
        if considered < order.len() {
            order.select_nth_unstable_by(considered, by_error);
            order.truncate(considered);
        }
        order
    };
    let points: Vec<u32> = (0..graph.len() as u32).collect();
    let blocks: Vec<Vec<u32>> = points.par_chunks(BLOCK).map(|block| worst(block.to_vec())).collect();
    let mut order = worst(blocks.concat());
    order.sort_unstable_by(by_error);
    let mut centers: Vec<u32> = Vec::new();
    for i in order {
        let lists = |a: u32, b: u32| graph.of(a as usize).contains(&b);
        if centers.len() < count && !centers.iter().any(|&c| lists(c, i) || lists(i, c)) {
            centers.push(i);
        }
    }
    Ok(centers)
}

/// The error of the length that an embedding shows, as a share of the length.
#[inline(always)]
fn step_error(length: f64, shown: f64) -> f64 {
    if length > 0.0 { (shown - length).abs() / length } else { 0.0 }
}

/// Sums over pairs in a ball; the first two are divided by that of the squared geodesic distances.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    embedded: f64,
    product: f64,
    geodesic: f64,
}

impl Sums {
    fn error(&self, scale: f64) -> f64 {
        (scale * scale * self.embedded - 2.0 * scale * self.product + 1.0).max(0.0)
    }
}

/// The points nearest to a center along the graph, nearest first, and geodesic distances between some of them.
struct Ball {
    members: Vec<u32>,
    /// The place of a source among the members, and the distances from it to the members.
    rows: Vec<(usize, Vec<f64>)>,
}

impl Ball {
    fn about(x: Source, graph: &Neighborhoods, center: u32, params: &AgreementParams) -> Ball {
        let region = Region::about(x, graph, center, ROOM * params.size);
        let size = params.size.min(region.members.len());
        let mut rng = stream(params.seed, STAGE, u64::from(center));
        let mut sources = vec![0];
        sources.extend((1..params.n_sources).map(|_| (uniform(&mut rng) * size as f64) as usize));
        sources.sort_unstable();
        sources.dedup();
        sources.retain(|&source| source < size);
        let rows = sources.into_iter().map(|source| {
            let mut distances = region.distances(source);
            distances.truncate(size);
            (source, distances)
        });
        Ball { rows: rows.collect(), members: region.members[..size].to_vec() }
    }

    fn sums(&self, y: &Points) -> Sums {
        let placed: Vec<Vec<f64>> = self.members.iter().map(|&i| row(y, i)).collect();
        let (mut embedded, mut product, mut geodesic) = (0.0, 0.0, 0.0);
        for (source, distances) in &self.rows {
            for (to, &far) in placed.iter().zip(distances).filter(|(_, far)| far.is_finite()) {
                let shown = distance(&placed[*source], to);
                embedded += shown * shown;
                product += shown * far;
                geodesic += far * far;
            }
        }
        if geodesic > 0.0 {
            Sums { embedded: embedded / geodesic, product: product / geodesic, geodesic }
        } else {
            Sums::default()
        }
    }
}

/// A part of the graph, with the lengths of its edges.
struct Region {
    members: Vec<u32>,
    edges: Vec<Vec<(usize, f64)>>,
}

impl Region {
    /// The `size` points nearest to `center` along the lists of neighbors, nearest first.
    fn about(x: Source, graph: &Neighborhoods, center: u32, size: usize) -> Region {
        let (mut members, mut steps, mut step) = (Vec::new(), Vec::new(), Vec::new());
        let mut places: HashMap<u32, usize> = HashMap::new();
        let mut queue = BinaryHeap::from([Reverse(Far(0.0, center))]);
        while let Some(Reverse(Far(far, i))) = queue.pop() {
            if members.len() == size {
                break;
            }
            if places.contains_key(&i) {
                continue;
            }
            places.insert(i, members.len());
            members.push(i);
            x.lengths(graph, i as usize, &mut step);
            let neighbors = graph.of(i as usize).iter().copied();
            let lengths: Vec<(u32, f64)> = neighbors.zip(step.iter().copied()).collect();
            let unseen = lengths.iter().filter(|(j, _)| !places.contains_key(j));
            queue.extend(unseen.map(|&(j, length)| Reverse(Far(far + length, j))));
            steps.push(lengths);
        }
        let mut edges = vec![Vec::new(); members.len()];
        for (from, lengths) in steps.iter().enumerate() {
            for (j, length) in lengths {
                if let Some(&to) = places.get(j) {
                    edges[from].push((to, *length));
                    edges[to].push((from, *length));
                }
            }
        }
        for own in &mut edges {
            own.sort_unstable_by_key(|&(to, _)| to);
            own.dedup_by_key(|&mut (to, _)| to); // Two points that list each other gave two equal edges.
        }
        Region { members, edges }
    }

    /// The lengths of the shortest paths from a member to all.
    fn distances(&self, source: usize) -> Vec<f64> {
        let mut distances = vec![f64::INFINITY; self.members.len()];
        distances[source] = 0.0;
        let mut queue = BinaryHeap::from([Reverse(Far(0.0, source as u32))]);
        while let Some(Reverse(Far(far, i))) = queue.pop() {
            if far > distances[i as usize] {
                continue;
            }
            for &(j, length) in &self.edges[i as usize] {
                if far + length < distances[j] {
                    distances[j] = far + length;
                    queue.push(Reverse(Far(far + length, j as u32)));
                }
            }
        }
        distances
    }
}

fn row(points: &Points, i: u32) -> Vec<f64> {
    let mut row = vec![0.0; points.dim()];
    points.copy_row(i as usize, &mut row);
    row
}

/// A point and its distance, in the order of the distance.
#[derive(PartialEq)]
struct Far(f64, u32);

impl Eq for Far {}

impl PartialOrd for Far {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Far {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}
