//! Distances within balls against shortest paths: by Floyd and Warshall, and on embeddings of which it is known.

use ndarray::Array2;
use unbend::measure::{Agreement, AgreementParams, agreement};
use unbend::synthetic::{SwissRoll, swiss_roll};
use unbend::{Neighborhoods, Unmonitored};

use crate::clouds::*;
use crate::embed::align::{nearest, points};
use crate::{naive, on_threads};

fn compared(x: &Array2<f64>, y: &Array2<f64>, graph: &Neighborhoods, params: &AgreementParams) -> Agreement {
    agreement(&points(x), &points(y), graph, params, &Unmonitored).unwrap()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// A ball that holds all points, with all of them as sources, is one error over all pairs.
#[test]
fn a_ball_of_all_points_compares_all_distances() {
    for (n, k, seed) in [(25, 4, 1), (40, 7, 2)] {
        let angle = |i: usize| (i as f64 + 0.3 * (i as f64).sin()) * std::f64::consts::TAU / n as f64;
        let x = Array2::from_shape_fn((n, 2), |(i, a)| if a == 0 { angle(i).cos() } else { angle(i).sin() });
        let y = &x * 1.1 + 0.3 * gaussian(n, 2, seed + 10);
        let graph = nearest(&x, k);
        let lists = naive::rows(&graph);
        assert!(naive::components(&lists).iter().all(|&label| label == 0));
        let paths = naive::graph_distances(&x, &lists);
        let pairs: Vec<(f64, f64)> = (0..n)
            .flat_map(|i| (0..n).map(move |j| (i, j)))
            .map(|(i, j)| (paths[[i, j]], naive::distance(&y, i, j)))
            .collect();
        let scale = naive::best_factor(&pairs).clamp(0.8, 1.25);
        let error = naive::stress(&pairs, scale).powi(2);
        let params = AgreementParams { n_balls: n, n_worst: 0, size: n, n_sources: 60 * n, seed: 0 };
        let found = compared(&x, &y, &graph, &params);
        assert!((found.scale - scale).abs() < 1e-12);
        assert_eq!(found.n_random, n);
        assert!(found.errors.iter().all(|e| (e - error).abs() < 1e-12), "{:?}, not {error}", found.errors);
    }
}

#[test]
fn a_line_agrees_exactly() {
    let x = Array2::from_shape_fn((200, 1), |(i, _)| (i as f64).powf(1.3));
    let found = compared(&x, &x, &nearest(&x, 4), &AgreementParams::default());
    assert!(found.errors.iter().all(|e| *e < 1e-12));
    assert!((found.scale - 1.0).abs() < 1e-12);
}

#[test]
fn a_fold_and_a_tear_are_seen() {
    let sample = swiss_roll(2000, &SwissRoll::default(), 3, &Unmonitored).unwrap();
    let (x, truth) = (sample.x, sample.coordinates);
    let (graph, params) = (nearest(&x, 12), AgreementParams::default());
    let good = compared(&x, &truth, &graph, &params);
    assert!(mean(&good.errors) < 0.01);
    let middle = truth.column(0).sum() / 2000.0;
    let folded = Array2::from_shape_fn(truth.dim(), |(i, a)| {
        if a == 0 { (truth[[i, 0]] - middle).abs() } else { truth[[i, a]] }
    });
    let torn = Array2::from_shape_fn(truth.dim(), |(i, a)| {
        truth[[i, a]] + if a == 0 && truth[[i, 0]] > middle { 30.0 } else { 0.0 }
    });
    assert!(mean(&compared(&x, &folded, &graph, &params).errors[good.n_random..]) > 0.1);
    let seen = compared(&x, &torn, &graph, &params);
    let worst = &seen.errors[seen.n_random..];
    assert!(worst.iter().filter(|error| **error > 0.3).count() * 2 > worst.len(), "{worst:?}");
    assert!((seen.scale - good.scale).abs() < 0.02, "a tear must not change the scale");
}

#[test]
fn motions_and_threads_do_not_matter() {
    let sample = swiss_roll(800, &SwissRoll::default(), 4, &Unmonitored).unwrap();
    let graph = nearest(&sample.x, 10);
    let params = AgreementParams { n_worst: 0, ..AgreementParams::default() };
    let y = &sample.coordinates;
    let plain = compared(&sample.x, y, &graph, &params);
    let turned = y.dot(&orthonormal(2, 2, 9)) + 5.0;
    let moved = compared(&sample.x, &turned, &graph, &params);
    assert!(plain.errors.iter().zip(&moved.errors).all(|(a, b)| (a - b).abs() < 1e-9));
    let run = || compared(&sample.x, y, &graph, &AgreementParams::default()).errors;
    assert_eq!(on_threads(1, run), on_threads(3, run));
}

#[test]
fn degenerate_data_give_numbers() {
    for kind in CLOUDS {
        let (x, y) = (double(kind, 40, 3, 5), double(kind, 40, 2, 6));
        let found = compared(&x, &y, &nearest(&x, 5), &AgreementParams::default());
        assert!(found.errors.iter().all(|error| error.is_finite() && *error >= 0.0), "{kind:?}");
        assert!((0.8..=1.25).contains(&found.scale), "{kind:?}");
    }
}

#[test]
fn wrong_arguments_are_refused() {
    let x = gaussian(30, 3, 1);
    let (graph, y) = (nearest(&x, 4), gaussian(29, 2, 1));
    let refused = |y: &Array2<f64>, size| {
        let params = AgreementParams { size, ..AgreementParams::default() };
        agreement(&points(&x), &points(y), &graph, &params, &Unmonitored).is_err()
    };
    assert!(refused(&y, 10) && refused(&gaussian(30, 2, 1), 1) && !refused(&gaussian(30, 2, 1), 2));
}
