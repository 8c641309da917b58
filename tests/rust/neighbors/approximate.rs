//! The approximate search: what it finds, what it says of it, and that neither depends on threads.

use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::{Array2, Axis, concatenate};
use unbend::neighbors::approximate::Target;
use unbend::neighbors::{self, Method, Nearest};
use unbend::points::Values;
use unbend::{Error, Monitor, Points, Result, Search, Unmonitored};

use crate::clouds::*;
use crate::on_threads;

fn found<'a>(x: impl Into<Values<'a>>, k: usize, recall: f64) -> Nearest {
    let points = Points::new("X", x, &Unmonitored).unwrap();
    let target = Target { recall, seed: 0 };
    neighbors::find(&points, k, Method::Approximate, &target, &Unmonitored).unwrap()
}

fn exact<'a>(x: impl Into<Values<'a>>, k: usize) -> Vec<f64> {
    let points = Points::new("X", x, &Unmonitored).unwrap();
    neighbors::nearest(&points, k, Search::Blocked, &Unmonitored).unwrap().distances
}

/// The share of distances found that are no larger than the largest true one of their list.
fn recall(found: &Nearest, truth: &[f64], k: usize) -> f64 {
    let lists = found.knn.distances.chunks(k).zip(truth.chunks(k));
    let right: usize = lists.map(|(f, t)| f.iter().filter(|&&d| d <= t[k - 1]).count()).sum();
    right as f64 / truth.len() as f64
}

/// Every list holds others, each once, nearest first, with their true distances.
fn check_lists(x: &Array2<f64>, found: &Nearest, k: usize) {
    let graph = &found.knn.neighborhoods;
    for i in 0..x.nrows() {
        let (row, distances) = (graph.of(i), &found.knn.distances[i * k..][..k]);
        let mut members = row.to_vec();
        members.sort_unstable();
        members.dedup();
        assert_eq!(members.len(), k, "point {i} lists somebody twice");
        assert!(!row.contains(&(i as u32)), "point {i} lists itself");
        for (s, (&j, &d)) in row.iter().zip(distances).enumerate() {
            let apart = &x.row(i) - &x.row(j as usize);
            let truth = apart.dot(&apart).sqrt();
            assert!((d - truth).abs() <= 1e-13 * truth, "point {i}: {d}, not {truth}");
            let in_order = s == 0 || (distances[s - 1], row[s - 1]) < (d, j);
            assert!(in_order, "point {i} is not in order");
        }
    }
}

/// A surface of `d` dimensions, curved into `q`, with noise.
fn curved(n: usize, d: usize, q: usize, noise: f64) -> Array2<f64> {
    let (parameters, waves) = (gaussian(n, d, 1), gaussian(d, q, 2));
    (parameters.dot(&waves) * 0.5).mapv(f64::cos) + gaussian(n, q, 3) * noise
}

#[test]
fn recall_is_reached_and_told() {
    for (n, d, q, target) in [(6_000, 3, 40, 0.98), (6_000, 6, 300, 0.95), (3_000, 10, 20, 0.999)] {
        let x = curved(n, d, q, 0.02);
        let truth = exact(x.view(), 12);
        let found = found(x.view(), 12, target);
        check_lists(&x, &found, 12);
        let (said, is) = (found.recall.unwrap(), recall(&found, &truth, 12));
        assert!((said - is).abs() < 0.01, "n = {n}, q = {q}: said {said}, is {is}");
        assert!(is > target - 0.01, "n = {n}, q = {q}: {is}");
    }
}

/// Noise in many dimensions has no principal directions and no near neighbors: lists must grow.
#[test]
fn noise_is_told_as_it_is() {
    let x = gaussian(3_000, 400, 4);
    let found = found(x.view(), 12, 0.98);
    let is = recall(&found, &exact(x.view(), 12), 12);
    assert!((found.recall.unwrap() - is).abs() < 0.01, "said {:?}, is {is}", found.recall);
    assert!(is > 0.97, "{is}");
}

#[test]
fn few_points_are_all_compared() {
    for (n, q) in [(2, 3), (13, 1), (60, 5), (500, 200)] {
        let x = gaussian(n, q, 5);
        let k = (n - 1).min(12);
        let found = found(x.view(), k, 0.98);
        assert_eq!(found.recall, Some(1.0));
        assert_eq!(found.knn.distances, exact(x.view(), k));
    }
}

#[test]
fn threads_and_layouts_do_not_matter() {
    for q in [30, 200] {
        let x = curved(5_000, 5, q, 0.05);
        let one = on_threads(1, || found(x.view(), 12, 0.9));
        for threads in [2, 5] {
            assert_eq!(on_threads(threads, || found(x.view(), 12, 0.9)), one, "{threads} threads, q = {q}");
        }
        let columns = x.t().as_standard_layout().to_owned();
        assert_eq!(found(columns.t(), 12, 0.9), one);
    }
}

#[test]
fn single_precision_is_read_where_it_lies() {
    let x = curved(4_000, 4, 24, 0.02).mapv(|v| v as f32);
    let found = found(x.view(), 12, 0.98);
    assert!(recall(&found, &exact(x.view(), 12), 12) > 0.97);
}

#[test]
fn all_points_equal() {
    let x = Array2::from_elem((5_000, 20), 3.0);
    let found = found(x.view(), 12, 0.98);
    assert_eq!(found.recall, Some(1.0));
    assert!(found.knn.distances.iter().all(|&d| d == 0.0));
    check_lists(&x, &found, 12);
}

#[test]
fn a_hundred_copies_of_each() {
    let base = gaussian(60, 20, 6);
    let x = concatenate(Axis(0), &vec![base.view(); 100]).unwrap();
    let found = found(x.view(), 12, 0.98);
    assert_eq!(recall(&found, &exact(x.view(), 12), 12), 1.0);
    check_lists(&x, &found, 12);
}

#[test]
fn a_point_far_away_spoils_no_others() {
    let mut x = curved(4_000, 4, 30, 0.02);
    x.row_mut(17).fill(1e12);
    let found = found(x.view(), 12, 0.98);
    assert!(recall(&found, &exact(x.view(), 12), 12) > 0.97);
    check_lists(&x, &found, 12);
}

#[test]
fn offsets_and_scales_do_not_matter() {
    let x = curved(4_000, 4, 30, 0.02);
    let truth = exact(x.view(), 12);
    for (scale, offset) in [(1e-140, 0.0), (1e140, 0.0), (1.0, 1e5)] {
        let moved = &x * scale + offset;
        let found = found(moved.view(), 12, 0.98);
        let listed = found.knn.neighborhoods;
        let far = |i: usize, j: u32| {
            let apart = &x.row(i) - &x.row(j as usize);
            apart.dot(&apart).sqrt()
        };
        let right: usize = (0..4_000)
            .map(|i| listed.of(i).iter().filter(|&&j| far(i, j) <= truth[i * 12 + 11] * (1.0 + 1e-6)).count())
            .sum();
        assert!(right as f64 > 0.97 * 48_000.0, "scale {scale}, offset {offset}: {right}");
    }
}

#[test]
fn auto_is_exact_while_that_is_quick() {
    let x = gaussian(2_000, 50, 7);
    let points = Points::new("X", x.view(), &Unmonitored).unwrap();
    let found = neighbors::find(&points, 12, Method::Auto, &Target::default(), &Unmonitored).unwrap();
    assert_eq!((found.recall, found.knn.distances), (None, exact(x.view(), 12)));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let x = gaussian(10, 3, 8);
    let points = Points::new("X", x.view(), &Unmonitored).unwrap();
    let find = |k, recall| {
        let target = Target { recall, seed: 0 };
        neighbors::find(&points, k, Method::Approximate, &target, &Unmonitored).unwrap_err()
    };
    assert_eq!(find(0, 0.9), Error::NoNeighbors);
    assert_eq!(find(10, 0.9), Error::TooFewPoints { n_neighbors: 10, n: 10 });
    for recall in [0.0, -1.0, 1.5, f64::NAN] {
        assert!(matches!(find(3, recall), Error::OutOfRange { name: "recall", .. }), "{recall}");
    }
}

/// Stops after it was asked some number of times.
struct Patience(AtomicUsize);

impl Monitor for Patience {
    fn stop_requested(&self) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
    }

    fn progress(&self, _: &'static str, _: usize, _: usize) {}
}

#[test]
fn it_stops_when_it_is_asked_to() {
    let x = curved(5_000, 4, 200, 0.02);
    let points = Points::new("X", x.view(), &Unmonitored).unwrap();
    for patience in [0, 5, 20, 40, 60] {
        let monitor = Patience(AtomicUsize::new(patience));
        let stopped: Result<Nearest> =
            neighbors::find(&points, 12, Method::Approximate, &Target::default(), &monitor);
        assert_eq!(stopped.unwrap_err(), Error::Interrupted, "{patience}");
    }
}
