//! Distant points laid on each other: the definition by breadth-first search, and embeddings of which it is known.

use ndarray::{Array2, Axis, concatenate};
use proptest::prelude::*;
use unbend::measure::{OverlapParams, overlap};
use unbend::synthetic::{SwissRoll, cylinder, swiss_roll};
use unbend::{Error, Monitor, Neighborhoods, Points, Search, Unmonitored, neighbors};

use crate::clouds::*;
use crate::{cases, naive, on_threads};

fn points(x: &Array2<f64>) -> Points<'_> {
    Points::new("X", x.view(), &Unmonitored).unwrap()
}

fn graph(x: &Array2<f64>, k: usize) -> Neighborhoods<'static> {
    neighbors::nearest(&points(x), k, Search::Auto, &Unmonitored).unwrap().neighborhoods
}

fn shares(y: &Array2<f64>, graph: &Neighborhoods, steps: usize) -> Vec<f64> {
    overlap(&points(y), graph, OverlapParams { steps, centers: None }, &Unmonitored).unwrap()
}

fn mean(shares: &[f64]) -> f64 {
    shares.iter().sum::<f64>() / shares.len() as f64
}

/// Any lists: of any sizes, empty ones, hubs, several components.
fn some_lists(n: usize, most: usize, seed: u64) -> Vec<Vec<u32>> {
    let mut rng = rng(seed);
    let parts = 1 + pick(&mut rng, 3);
    (0..n)
        .map(|i| {
            let wanted = pick(&mut rng, most + 1);
            let mut list: Vec<u32> = (0..wanted)
                .map(|_| if pick(&mut rng, 4) == 0 { 0 } else { pick(&mut rng, n) as u32 })
                .filter(|&j| j as usize != i && j as usize % parts == i % parts)
                .collect();
            list.sort_unstable();
            list.dedup();
            list
        })
        .collect()
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn any_graph_is_searched_as_far_as_defined(
        n in 1usize..60, most in 0usize..6, d in 1usize..4, kind in 0usize..CLOUDS.len(), steps in 1usize..9, seed: u32,
    ) {
        let lists = some_lists(n, most, u64::from(seed));
        let y = double(CLOUDS[kind], n, d, u64::from(seed));
        let (indptr, indices) = naive::ragged(&lists);
        let graph = Neighborhoods::from_ragged(indptr, indices).unwrap();
        prop_assert_eq!(shares(&y, &graph, steps), naive::overlap(&y, &lists, steps));
    }

    #[test]
    fn neighbors_in_other_coordinates_are_searched_as_far_as_defined(
        n in 8usize..90, k in 1usize..7, steps in 1usize..7, kind in 0usize..CLOUDS.len(), seed: u32,
    ) {
        let seed = u64::from(seed);
        let (x, y) = (double(CLOUDS[kind], n, 3, seed), gaussian(n, 2, seed + 9));
        let graph = graph(&x, k);
        prop_assert_eq!(shares(&y, &graph, steps), naive::overlap(&y, &naive::rows(&graph), steps));
        prop_assert_eq!(shares(&x, &graph, steps), vec![0.0; n]);
    }

    #[test]
    fn a_sample_has_the_shares_of_the_whole(
        n in 8usize..90, k in 1usize..7, kind in 0usize..CLOUDS.len(), every in 1usize..5, seed: u32,
    ) {
        let seed = u64::from(seed);
        let (x, y) = (gaussian(n, 3, seed), double(CLOUDS[kind], n, 2, seed));
        let graph = graph(&x, k);
        let centers: Vec<u32> = (0..n as u32).step_by(every).collect();
        let params = OverlapParams { steps: 2, centers: Some(&centers) };
        let found = overlap(&points(&y), &graph, params, &Unmonitored).unwrap();
        let whole = shares(&y, &graph, 2);
        let expected: Vec<f64> = centers.iter().map(|&i| whole[i as usize]).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn more_steps_are_never_more_overlap(n in 8usize..90, k in 1usize..5, seed: u32) {
        let (x, y) = (gaussian(n, 2, u64::from(seed)), gaussian(n, 2, u64::from(seed) + 1));
        let graph = graph(&x, k);
        for steps in 1..6 {
            let (fewer, more) = (shares(&y, &graph, steps), shares(&y, &graph, steps + 1));
            prop_assert!(fewer.iter().zip(&more).all(|(fewer, more)| more <= fewer));
        }
    }
}

#[test]
fn true_coordinates_of_a_roll_are_perfect() {
    let roll = swiss_roll(4000, &SwissRoll::default(), 3, &Unmonitored).unwrap();
    for k in [6, 12, 18] {
        assert_eq!(mean(&shares(&roll.coordinates, &graph(&roll.x, k), 4)), 0.0, "k = {k}");
    }
}

#[test]
fn noise_across_the_roll_is_hardly_seen() {
    let noisy = SwissRoll { noise: 0.3, ..SwissRoll::default() };
    let roll = swiss_roll(20_000, &noisy, 3, &Unmonitored).unwrap();
    let found = mean(&shares(&roll.coordinates, &graph(&roll.x, 12), 4));
    assert!(found < 1e-3, "{found}");
}

#[test]
fn a_cylinder_pressed_flat_scores_about_a_half() {
    let tube = cylinder(5000, 3.0, 0.0, 3, &Unmonitored).unwrap();
    let pressed = tube.x.select(Axis(1), &[0, 2]);
    let found = mean(&shares(&pressed, &graph(&tube.x, 12), 4));
    assert!((0.35..0.5).contains(&found), "{found}");
}

#[test]
fn components_on_each_other_share_their_neighbors() {
    let sheet = gaussian(600, 2, 5);
    let x = concatenate(Axis(0), &[sheet.view(), (&sheet + 100.0).view()]).unwrap();
    let graph = graph(&x, 9);
    assert_eq!(mean(&shares(&x, &graph, 4)), 0.0);
    // the copy is the nearest, and then there are two of each
    let y = concatenate(Axis(0), &[sheet.view(), (&sheet + 1e-6).view()]).unwrap();
    let found = mean(&shares(&y, &graph, 4));
    assert!((0.5..5.0 / 9.0 + 1e-12).contains(&found), "{found}");
}

#[test]
fn a_single_point_and_points_alone_are_perfect() {
    let alone = Neighborhoods::from_ragged(vec![0, 0, 0, 1, 2], vec![3, 2]).unwrap();
    assert_eq!(shares(&gaussian(4, 2, 1), &alone, 4)[..2], [0.0, 0.0]);
    let single = Neighborhoods::from_ragged(vec![0, 0], Vec::new()).unwrap();
    assert_eq!(shares(&gaussian(1, 2, 1), &single, 4), [0.0]);
}

#[test]
fn an_embedding_in_one_spot_and_a_hub_stay_fast() {
    let n = 20_000;
    let x = gaussian(n, 2, 4);
    let spot = Array2::zeros((n, 2));
    assert!(mean(&shares(&spot, &graph(&x, 10), 4)) > 0.9);
    // everybody lists the first point, so nobody is further than two steps
    let star =
        Neighborhoods::from_fixed(1, (0..n as u32).map(|i| u32::from(i == 0)).collect::<Vec<_>>()).unwrap();
    assert_eq!(mean(&shares(&x, &star, 2)), 0.0);
    assert_eq!(mean(&shares(&x, &star, usize::MAX)), 0.0);
}

#[test]
fn the_same_bits_for_any_number_of_threads_and_any_layout() {
    let roll = swiss_roll(3000, &SwissRoll::default(), 8, &Unmonitored).unwrap();
    let graph = graph(&roll.x, 10);
    let side = roll.x.select(Axis(1), &[0, 1]);
    let one = on_threads(1, || shares(&side, &graph, 4));
    for threads in [2, 3, 7] {
        assert_eq!(on_threads(threads, || shares(&side, &graph, 4)), one);
    }
    assert_eq!(shares(&fortran(&side), &graph, 4), one);
    let back = reversed(&side);
    let view = Points::new("Y", reversed_view(&back), &Unmonitored).unwrap();
    assert_eq!(overlap(&view, &graph, OverlapParams::default(), &Unmonitored).unwrap(), one);
}

#[test]
fn bad_input_is_named() {
    let x = gaussian(20, 2, 1);
    let graph = graph(&x, 3);
    let fails = |y: &Array2<f64>, steps, centers: Option<&[u32]>| {
        overlap(&points(y), &graph, OverlapParams { steps, centers }, &Unmonitored).unwrap_err().to_string()
    };
    assert!(fails(&x, 0, None).contains("steps = 0"));
    assert!(fails(&gaussian(19, 2, 1), 4, None).contains("19"));
    assert!(fails(&x, 4, Some(&[20])).contains("20"));
    assert!(fails(&x, 4, Some(&[])).contains("n_centers = 0"));
}

#[test]
fn it_stops_when_asked() {
    struct Stop;
    impl Monitor for Stop {
        fn stop_requested(&self) -> bool {
            true
        }
    }
    let x = gaussian(2000, 2, 1);
    let stopped = overlap(&points(&x), &graph(&x, 5), OverlapParams::default(), &Stop);
    assert_eq!(stopped.unwrap_err(), Error::Interrupted);
}
