//! Distances along the graph beside embedded ones: the definitions as loops, and embeddings of which they are known.

use ndarray::{Array2, Axis, array, concatenate};
use proptest::prelude::*;
use unbend::measure::{Geodesic, Measured, geodesic};
use unbend::synthetic::{SwissRoll, swiss_roll};
use unbend::{Error, Monitor, Neighborhoods, Points, Unmonitored};

use crate::clouds::*;
use crate::neighbors::paths::{any_lists, from_lists, knn, points};
use crate::{cases, naive, on_threads};

fn of(x: &Array2<f64>, y: &Array2<f64>, graph: &Neighborhoods, sources: Option<&[u32]>) -> Geodesic {
    geodesic(&points(x), &points(y), graph, sources, &Unmonitored).unwrap()
}

/// The pairs that each source reaches.
fn pairs(x: &Array2<f64>, y: &Array2<f64>, graph: &Neighborhoods, sources: &[u32]) -> Vec<Vec<(f64, f64)>> {
    let along = naive::graph_distances(x, &naive::rows(graph));
    let from = |&i: &u32| {
        let others = (0..x.nrows()).filter(|&j| j != i as usize && along[[i as usize, j]].is_finite());
        others.map(|j| (along[[i as usize, j]], naive::distance(y, i as usize, j))).collect()
    };
    sources.iter().map(from).collect()
}

fn numbers(pairs: &[(f64, f64)]) -> [f64; 4] {
    let c = naive::best_factor(pairs);
    [1.0 - naive::correlation(pairs).powi(2), naive::stress(pairs, 1.0), naive::stress(pairs, c), c]
}

fn measured(m: &Geodesic) -> [&Measured; 4] {
    [&m.residual_variance, &m.stress, &m.stress_scaled, &m.scale]
}

fn values(m: &Geodesic) -> [f64; 4] {
    measured(m).map(|number| number.value)
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-10 * (1.0 + expected.abs())
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn any_graph_gives_the_definition(n in 3usize..40, most in 1usize..6, d in 1usize..5, seed: u32) {
        let seed = u64::from(seed);
        let (x, y) = (gaussian(n, 3, seed), gaussian(n, d, seed + 1));
        let graph = from_lists(&any_lists(n, most, seed));
        let found = of(&x, &y, &graph, None);
        let seen = pairs(&x, &y, &graph, &(0..n as u32).collect::<Vec<_>>());
        let all = seen.concat();
        prop_assert!(close(found.unreachable, 1.0 - all.len() as f64 / (n * (n - 1)) as f64));
        if all.len() > 2 {
            for (found, expected) in values(&found).into_iter().zip(numbers(&all)) {
                prop_assert!(close(found, expected), "{found} {expected}");
            }
        }
        for (found, seen) in found.stretch.iter().zip(&seen) {
            let ratios = || seen.iter().map(|(x, y)| y / x);
            let expected = ratios().fold(0.0, f64::max) / ratios().fold(f64::INFINITY, f64::min);
            let expected = if seen.is_empty() { 1.0 } else { expected };
            prop_assert!((found / expected - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn standard_errors_leave_out_one_source_at_a_time(n in 12usize..40, every in 2usize..5, seed: u32) {
        let seed = u64::from(seed);
        let (x, y) = (gaussian(n, 3, seed), gaussian(n, 2, seed + 1));
        let (graph, sources) = (knn(&x, 4), (0..n as u32).step_by(every).collect::<Vec<_>>());
        let found = of(&x, &y, &graph, Some(&sources));
        let seen = pairs(&x, &y, &graph, &sources);
        let without = |s: usize| numbers(&[&seen[..s], &seen[s + 1..]].concat().concat());
        let left: Vec<[f64; 4]> = (0..sources.len()).map(without).collect();
        let count = sources.len() as f64;
        for (a, number) in measured(&found).into_iter().enumerate() {
            prop_assert!(close(number.value, numbers(&seen.concat())[a]));
            let mean = left.iter().map(|v| v[a]).sum::<f64>() / count;
            let about = left.iter().map(|v| (v[a] - mean).powi(2)).sum::<f64>() * (count - 1.0) / count;
            prop_assert!(close(number.standard_error, (about * (1.0 - count / n as f64)).sqrt()));
        }
    }

    #[test]
    fn motions_and_scales_change_what_they_may(n in 12usize..40, d in 1usize..4, seed: u32) {
        let seed = u64::from(seed);
        let (x, y) = (gaussian(n, 3, seed), gaussian(n, d, seed + 1));
        let graph = knn(&x, 5);
        let plain = of(&x, &y, &graph, None);
        let moved = of(&(x.dot(&orthonormal(3, 3, seed)) + 2.0), &(y.dot(&orthonormal(d, d, seed)) - 1.0), &graph, None);
        for (found, expected) in values(&moved).into_iter().zip(values(&plain)) {
            prop_assert!(close(found, expected));
        }
        let scaled = of(&(&x * 3e120), &(&y * 5e-110), &graph, None);
        prop_assert!(close(scaled.residual_variance.value, plain.residual_variance.value));
        prop_assert!(close(scaled.stress_scaled.value, plain.stress_scaled.value));
        prop_assert!(close(scaled.stress.value, 1.0));
        prop_assert!(close(scaled.scale.value / (3e120 / 5e-110) , plain.scale.value));
        prop_assert!(scaled.stretch.iter().zip(&plain.stretch).all(|(found, &expected)| close(found / expected, 1.0)));
    }

    #[test]
    fn nothing_is_ever_not_a_number(
        n in 1usize..30, most in 0usize..5, of_x in 0usize..CLOUDS.len(), of_y in 0usize..CLOUDS.len(), seed: u32,
    ) {
        let seed = u64::from(seed);
        let (x, y) = (double(CLOUDS[of_x], n, 3, seed), double(CLOUDS[of_y], n, 2, seed + 1));
        let graph = from_lists(&any_lists(n, most, seed));
        let half: Vec<u32> = (0..n as u32).step_by(2).collect();
        for sources in [None, Some(&half[..])] {
            let found = of(&x, &y, &graph, sources);
            for number in measured(&found) {
                prop_assert!(number.value >= 0.0 && number.standard_error >= 0.0, "{found:?}");
            }
            prop_assert!((0.0..=1.0).contains(&found.residual_variance.value));
            prop_assert!(found.stress_scaled.value <= 1.0 || found.stress_scaled.value.is_infinite());
            prop_assert!(found.stretch.iter().all(|&stretch| stretch >= 1.0));
        }
    }
}

#[test]
fn a_rolled_line_is_perfect_and_keeps_its_digits() {
    let line = Array2::from_shape_fn((200, 1), |(i, _)| i as f64 * 0.25);
    let found = of(&line, &(&line * 4.0 + 7.0), &knn(&line, 2), None);
    assert!(found.residual_variance.value < 1e-15); // as correlations are rounded
    assert_eq!(values(&found)[1..], [3.0, 0.0, 0.25]);
    assert_eq!((found.unreachable, found.stretch), (0.0, vec![1.0; 200]));
    // an error of 1e-9 in one place shows as such
    let mut bent = line.clone();
    bent[[100, 0]] += 1e-9;
    let off = of(&line, &bent, &knn(&line, 2), None);
    assert!((1e-13..1e-9).contains(&off.stress.value) && (1e-13..1e-9).contains(&off.stress_scaled.value));
}

#[test]
fn true_coordinates_of_a_roll_are_nearly_perfect_and_its_shadow_is_not() {
    let roll = swiss_roll(1500, &SwissRoll::default(), 3, &Unmonitored).unwrap();
    let graph = knn(&roll.x, 10);
    let truth = of(&roll.x, &roll.coordinates, &graph, None);
    assert!(truth.residual_variance.value < 1e-3 && truth.stress_scaled.value < 0.03, "{truth:?}");
    let shadow = of(&roll.x, &roll.x.select(Axis(1), &[0, 1]), &graph, None);
    assert!(shadow.residual_variance.value > 0.5 && shadow.stress_scaled.value > 0.3);
}

#[test]
fn parts_are_compared_within_themselves() {
    let sheet = gaussian(60, 2, 5);
    let x = concatenate(Axis(0), &[sheet.view(), (&sheet + 100.0).view()]).unwrap();
    let y = concatenate(Axis(0), &[sheet.view(), (&sheet - 3e7).view()]).unwrap();
    let (one, both) = (of(&sheet, &sheet, &knn(&sheet, 6), None), of(&x, &y, &knn(&x, 6), None));
    assert!(values(&both).into_iter().zip(values(&one)).all(|(both, one)| (both - one).abs() < 1e-6));
    assert!(close(both.unreachable, 60.0 / 119.0));
}

#[test]
fn points_without_extent_are_decided_as_documented() {
    let line = array![[0.0], [1.0], [3.0]];
    let chain = from_lists(&[vec![1], vec![2], vec![]]);
    let spot = Array2::zeros((3, 1));
    let collapsed = of(&line, &spot, &chain, None);
    assert_eq!(values(&collapsed), [1.0, 1.0, 1.0, 0.0]);
    assert_eq!(collapsed.stretch, [f64::INFINITY; 3]);
    let torn = of(&spot, &line, &chain, None);
    assert_eq!(values(&torn)[..3], [1.0, f64::INFINITY, f64::INFINITY]);
    assert_eq!(torn.stretch, [f64::INFINITY; 3]);
    let nothing = of(&spot, &spot, &chain, None);
    assert_eq!((values(&nothing), nothing.stretch), ([0.0; 4], vec![1.0; 3]));
    let pair = of(&array![[0.0], [2.0]], &array![[0.0], [1.0]], &from_lists(&[vec![1], vec![]]), None);
    assert_eq!((values(&pair), pair.stretch), ([0.0, 0.5, 0.0, 2.0], vec![1.0; 2]));
    let alone = of(&array![[1.0]], &array![[1.0]], &from_lists(&[vec![]]), None);
    assert_eq!((values(&alone), alone.unreachable, alone.stretch), ([0.0; 4], 0.0, vec![1.0]));
    let apart = of(&line, &line, &from_lists(&[vec![], vec![], vec![]]), None);
    assert_eq!((values(&apart), apart.unreachable), ([0.0; 4], 1.0));
}

#[test]
fn one_source_of_several_says_nothing_of_the_others() {
    let x = gaussian(50, 2, 1);
    let found = of(&x, &x, &knn(&x, 5), Some(&[3]));
    assert!(measured(&found).iter().all(|number| number.standard_error.is_infinite()));
    let all = of(&x, &x, &knn(&x, 5), None);
    assert!(measured(&all).iter().all(|number| number.standard_error == 0.0));
}

#[test]
fn the_same_bits_for_any_number_of_threads_and_any_layout() {
    let roll = swiss_roll(1200, &SwissRoll::default(), 8, &Unmonitored).unwrap();
    let graph = knn(&roll.x, 8);
    let sources: Vec<u32> = (0..1200).step_by(5).collect();
    let one = on_threads(1, || of(&roll.x, &roll.coordinates, &graph, Some(&sources)));
    for threads in [2, 3, 7] {
        assert_eq!(on_threads(threads, || of(&roll.x, &roll.coordinates, &graph, Some(&sources))), one);
    }
    assert_eq!(of(&fortran(&roll.x), &fortran(&roll.coordinates), &graph, Some(&sources)), one);
    let single = roll.x.mapv(|v| v as f32);
    let view = Points::new("X", single.view(), &Unmonitored).unwrap();
    let narrow = geodesic(&view, &points(&roll.coordinates), &graph, Some(&sources), &Unmonitored).unwrap();
    assert!((narrow.stress.value - one.stress.value).abs() < 1e-5);
}

#[test]
fn bad_input_is_named_and_a_stop_is_heard() {
    let x = gaussian(20, 2, 1);
    let graph = knn(&x, 3);
    let fails = |y: &Array2<f64>, sources: Option<&[u32]>| {
        geodesic(&points(&x), &points(y), &graph, sources, &Unmonitored).unwrap_err().to_string()
    };
    assert!(fails(&gaussian(19, 2, 1), None).contains("19"));
    assert!(fails(&x, Some(&[20])).contains("20"));
    struct Stop;
    impl Monitor for Stop {
        fn stop_requested(&self) -> bool {
            true
        }
    }
    let stopped = geodesic(&points(&x), &points(&x), &graph, None, &Stop);
    assert_eq!(stopped.unwrap_err(), Error::Interrupted);
}
