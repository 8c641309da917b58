//! Where the data end: points whose surroundings lie on one side of them.
//!
//! For a point within the surface the directions to the points around it cancel. At the rim they lie in a half-space, and
//! the length of their mean is that of the mean of a half-sphere. Cost: O(n k^2 q d).

use super::STAGE;
use super::torn::find;
use crate::charts::{Atlas, Tangents};
use crate::embed::align::Connection;
use crate::error::Result;
use crate::linalg::{dot, first};
use crate::monitor::{Monitor, Silent};
use crate::parallel::map_points;

/// How much of a half-sphere's mean is enough, and how many points or more a piece of rim holds.
const SHARE: f64 = 0.6;
const LEAST: usize = 14;

/// The end of a curve is one point, and all others are on one side of it.
const SHARE_OF_CURVE: f64 = 0.99;
const LEAST_OF_CURVE: usize = 1;

/// For every point the piece of rim that it lies on, numbered from 1; 0 within the surface. Nothing where only charts are
/// kept, which know of no directions beyond their own points.
pub fn rim(connection: &Connection, atlas: &Atlas, monitor: &dyn Monitor) -> Result<Option<Vec<u32>>> {
    if atlas.tangents() != Tangents::Known {
        return Ok(None);
    }
    let d = connection.n_components();
    let (share, least) = if d == 1 { (SHARE_OF_CURVE, LEAST_OF_CURVE) } else { (SHARE, LEAST) };
    let enough = share * mean_of_half_sphere(d);
    let one_sided =
        map_points(connection.graph().len(), STAGE, &Silent(monitor), Around::default, |around, i| {
            around.begin(connection, i);
            around.mean(atlas, i, d) > enough
        })?;
    Ok(Some(pieces(connection, &one_sided, least)))
}

/// The length of the mean of unit vectors on one side, Gamma(d / 2) / (sqrt(pi) Gamma((d + 1) / 2)): 1 on a line, 2 / pi in
/// the plane, and (d - 2) / (d - 1) of that two dimensions lower.
fn mean_of_half_sphere(d: usize) -> f64 {
    match d {
        1 => 1.0,
        2 => std::f64::consts::FRAC_2_PI,
        _ => mean_of_half_sphere(d - 2) * (d - 2) as f64 / (d - 1) as f64,
    }
}

/// The points within two steps.
#[derive(Default)]
struct Around {
    points: Vec<u32>,
    own: Vec<f64>,
    row: Vec<f64>,
    along: Vec<f64>,
    sum: Vec<f64>,
}

impl Around {
    fn begin(&mut self, connection: &Connection, i: usize) {
        let graph = connection.graph();
        self.points.clear();
        for &j in graph.of(i) {
            self.points.push(j);
            self.points.extend_from_slice(graph.of(j as usize));
        }
        self.points.sort_unstable();
        self.points.dedup();
        self.points.retain(|&j| j as usize != i);
    }

    /// The length of the mean direction; 0 without any.
    fn mean(&mut self, atlas: &Atlas, i: usize, d: usize) -> f64 {
        let (sum, along) = (first(&mut self.sum, d), first(&mut self.along, d));
        sum.fill(0.0);
        let mut count = 0.0;
        for &j in &self.points {
            atlas.step(i, j as usize, &mut self.own, &mut self.row, along);
            let length = dot(along, along).sqrt();
            if length > 0.0 {
                sum.iter_mut().zip(along.iter()).for_each(|(s, a)| *s += a / length);
                count += 1.0;
            }
        }
        if count > 0.0 { dot(sum, sum).sqrt() / count } else { 0.0 }
    }
}

/// Marked points within two steps hang together; pieces of fewer than `least` are chance.
fn pieces(connection: &Connection, marked: &[bool], least: usize) -> Vec<u32> {
    let n = marked.len();
    let (mut parent, mut around): (Vec<u32>, _) = ((0..n as u32).collect(), Around::default());
    for i in (0..n).filter(|&i| marked[i]) {
        around.begin(connection, i);
        for &j in around.points.iter().filter(|&&j| marked[j as usize]) {
            let (a, b) = (find(&mut parent, i as u32), find(&mut parent, j));
            parent[a.max(b) as usize] = a.min(b);
        }
    }
    let mut sizes = vec![0usize; n];
    let roots: Vec<usize> = (0..n as u32).map(|i| find(&mut parent, i) as usize).collect();
    (0..n).filter(|&i| marked[i]).for_each(|i| sizes[roots[i]] += 1);
    let (mut number, mut count, mut labels) = (vec![0u32; n], 0, vec![0; n]);
    for i in (0..n).filter(|&i| marked[i] && sizes[roots[i]] >= least) {
        if number[roots[i]] == 0 {
            count += 1;
            number[roots[i]] = count;
        }
        labels[i] = number[roots[i]];
    }
    labels
}
