//! Isomap's distances: against Floyd & Warshall, and products against the whole matrix.

use ndarray::Array2;
use proptest::prelude::*;
use unbend::embed::isomap::{Triangle, distances_from, distances_to_new, spread, unit};
use unbend::neighbors::paths::Lengths;
use unbend::{Error, Monitor, Neighborhoods, Unmonitored};

use crate::clouds::*;
use crate::neighbors::paths::{any_lists, from_lists, knn, points};
use crate::{cases, naive, on_threads};

fn lengths(x: &Array2<f64>, graph: &Neighborhoods) -> Lengths {
    Lengths::new(&points(x), graph, &Unmonitored).unwrap()
}

/// Equal in single precision, beside an outlier up to its least number, or both infinite.
fn near(a: f64, b: f64, unit: f64) -> bool {
    a == b || (a - b).abs() <= 2e-7 * b.abs() + f64::from(f32::MIN_POSITIVE) * unit
}

/// The points of every component.
fn members(graph: &Neighborhoods) -> Vec<Vec<u32>> {
    let labels = naive::components(&naive::rows(graph));
    let count = labels.iter().max().unwrap() + 1;
    (0..count).map(|c| (0..labels.len() as u32).filter(|&i| labels[i as usize] == c).collect()).collect()
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn all_distances_and_their_products(
        n in 1usize..40, most in 0usize..6, kind in 0usize..CLOUDS.len(), seed: u32,
    ) {
        let seed = u64::from(seed);
        let (x, graph) = (double(CLOUDS[kind], n, 2, seed), from_lists(&any_lists(n, most, seed)));
        let paths = lengths(&x, &graph);
        let (along, one) = (naive::graph_distances(&x, &naive::rows(&graph)), unit(&paths));
        let sources: Vec<u32> = (0..n as u32).step_by(3).collect();
        let rows = distances_from(&paths, &sources, &Unmonitored).unwrap();
        for (at, &d) in rows.iter().enumerate() {
            prop_assert!(near(f64::from(d) * one, along[[sources[at / n] as usize, at % n]], one));
        }
        for own in members(&graph) {
            let triangle = Triangle::new(&paths, &own, &Unmonitored).unwrap();
            let (m, squares) = (own.len(), triangle.squares());
            for (i, &a) in own.iter().enumerate() {
                for (j, &b) in own.iter().enumerate() {
                    prop_assert!(near(squares[i * m + j].sqrt() * one, along[[a as usize, b as usize]], one));
                }
            }
            let v: Vec<f64> = (0..m).map(|i| (i as f64).sin()).collect();
            let products = triangle.squares_times(&v, &Unmonitored).unwrap();
            for (i, product) in products.iter().enumerate() {
                let terms = || (0..m).map(|j| squares[i * m + j] * v[j]);
                let size: f64 = terms().map(f64::abs).sum();
                prop_assert!((product - terms().sum::<f64>()).abs() <= 1e-13 * size);
            }
        }
    }

    #[test]
    fn new_points_reach_others_through_their_neighbors(
        n in 1usize..40, most in 0usize..6, kind in 0usize..CLOUDS.len(), k in 1usize..5, seed: u32,
    ) {
        let seed = u64::from(seed);
        let (x, graph) = (double(CLOUDS[kind], n, 2, seed), from_lists(&any_lists(n, most, seed)));
        let paths = lengths(&x, &graph);
        let along = naive::graph_distances(&x, &naive::rows(&graph));
        let mut rng = rng(seed);
        let lists: Vec<u32> = (0..5 * k).map(|_| pick(&mut rng, n) as u32).collect();
        // some far beyond the longest edge, some not joined at all
        let far = |rng: &mut _| match pick(rng, 4) {
            0 => f64::INFINITY,
            1 => 1e3 * unit(&paths),
            _ => pick(rng, 9) as f64 * 0.1 * unit(&paths),
        };
        let ways: Vec<f64> = (0..5 * k).map(|_| far(&mut rng)).collect();
        let found = distances_to_new(&paths, &lists, &ways, k, &Unmonitored).unwrap();
        for (at, d) in found.iter().enumerate() {
            let (new, j) = (at / n, at % n);
            let through = |a: usize| ways[new * k + a] + along[[lists[new * k + a] as usize, j]];
            let expected = (0..k).map(through).fold(f64::INFINITY, f64::min);
            prop_assert!(near(d * unit(&paths), expected, unit(&paths)), "{} {}", d * unit(&paths), expected);
        }
    }
}

#[test]
fn conformal_edges_are_divided_by_both_means() {
    let x = gaussian(60, 3, 0);
    let graph = knn(&x, 5);
    let means = spread(&points(&x), &graph, &Unmonitored).unwrap();
    for (i, mean) in means.iter().enumerate() {
        let own: f64 = graph.of(i).iter().map(|&j| naive::distance(&x, i, j as usize)).sum();
        assert!((mean - own / 5.0).abs() < 1e-14);
    }
    let plain = lengths(&x, &graph);
    let conformal = plain.clone().conformal(&means).unwrap();
    let mean = |place: u32| means[plain.points()[place as usize] as usize];
    for place in 0..60 {
        for ((a, before), (b, after)) in plain.adjacent(place).zip(conformal.adjacent(place)) {
            assert_eq!(a, b);
            assert!((after - before / (mean(a) * mean(place as u32)).sqrt()).abs() < 1e-14);
        }
    }
    assert!(matches!(plain.conformal(&means[1..]), Err(Error::LengthMismatch { .. })));
}

#[test]
fn copies_have_no_spread_of_their_own() {
    let x = repeated(&gaussian(10, 2, 0), 6);
    let means = spread(&points(&x), &knn(&x, 5), &Unmonitored).unwrap();
    assert!(means.iter().all(|&mean| mean == 1.0)); // nobody has one
    let paths = lengths(&x, &knn(&x, 5)).conformal(&means).unwrap();
    assert_eq!(unit(&paths), 1.0);
    let wider = spread(&points(&x), &knn(&x, 7), &Unmonitored).unwrap();
    assert!(wider.iter().all(|&mean| mean > 0.0));
}

#[test]
fn moments_are_those_of_all_pairs() {
    let x = gaussian(700, 3, 1);
    let graph = knn(&x, 12);
    let all: Vec<u32> = (0..700).collect();
    let triangle = Triangle::new(&lengths(&x, &graph), &all, &Unmonitored).unwrap();
    let y = gaussian(700, 2, 2);
    let squares = triangle.squares();
    let mut expected = [0.0; 7];
    for i in 0..700 {
        for j in 0..i {
            let (d, e) = (squares[i * 700 + j].sqrt(), naive::distance(&y, i, j));
            let terms = [1.0, d, e, d * d, e * e, d * e, d.powi(4)];
            expected.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        }
    }
    let found = triangle.moments(&points(&y), &Unmonitored).unwrap();
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= 1e-12 * b);
    }
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let x = gaussian(1500, 3, 3);
    let graph = knn(&x, 10);
    let of = |threads| {
        on_threads(threads, || {
            let paths = lengths(&x, &graph);
            let all: Vec<u32> = (0..1500).collect();
            let triangle = Triangle::new(&paths, &all, &Unmonitored).unwrap();
            let v: Vec<f64> = (0..1500).map(|i| (i as f64).cos()).collect();
            let moments = triangle.moments(&points(&x), &Unmonitored).unwrap();
            (triangle.squares_times(&v, &Unmonitored).unwrap(), moments, triangle.squares())
        })
    };
    let one = of(1);
    assert!(one == of(2) && one == of(5));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let x = gaussian(20, 2, 0);
    let paths = lengths(&x, &knn(&x, 3));
    let out_of_range = |result| matches!(result, Err(Error::NeighborOutOfRange { neighbor: 20, n: 20, .. }));
    assert!(out_of_range(distances_from(&paths, &[3, 20], &Unmonitored).map(drop)));
    assert!(out_of_range(Triangle::new(&paths, &[3, 20], &Unmonitored).map(drop)));
    assert!(out_of_range(distances_to_new(&paths, &[3, 20], &[1.0, 1.0], 1, &Unmonitored).map(drop)));
    assert_eq!(distances_to_new(&paths, &[], &[], 0, &Unmonitored), Err(Error::NoNeighbors));
    let unequal = distances_to_new(&paths, &[3], &[1.0, 1.0], 1, &Unmonitored);
    assert!(matches!(unequal, Err(Error::LengthMismatch { .. })));
    let triangle = Triangle::new(&paths, &[0, 1, 2], &Unmonitored).unwrap();
    assert!(matches!(triangle.squares_times(&[0.0], &Unmonitored), Err(Error::LengthMismatch { .. })));
    assert!(matches!(triangle.moments(&points(&x), &Unmonitored), Err(Error::LengthMismatch { .. })));
}

#[test]
fn a_stop_is_obeyed() {
    struct Never;
    impl Monitor for Never {
        fn stop_requested(&self) -> bool {
            true
        }
    }
    let x = gaussian(200, 2, 0);
    let graph = knn(&x, 5);
    let (paths, all) = (lengths(&x, &graph), (0..200).collect::<Vec<u32>>());
    let triangle = Triangle::new(&paths, &all, &Unmonitored).unwrap();
    assert_eq!(Triangle::new(&paths, &all, &Never).map(drop), Err(Error::Interrupted));
    assert_eq!(distances_from(&paths, &all, &Never), Err(Error::Interrupted));
    assert_eq!(triangle.squares_times(&vec![1.0; 200], &Never), Err(Error::Interrupted));
    assert_eq!(spread(&points(&x), &graph, &Never), Err(Error::Interrupted));
}
