//! Distances in the data beside embedded ones: the definitions as loops, and samples beside the whole.

use ndarray::{Array2, array};
use proptest::prelude::*;
use unbend::measure::{Measured, Shepard, ShepardParams, shepard};
use unbend::{Error, Monitor, Unmonitored};

use crate::clouds::*;
use crate::neighbors::paths::points;
use crate::{cases, naive, on_threads};

fn of(x: &Array2<f64>, y: &Array2<f64>, n_pairs: Option<usize>, seed: u64) -> Shepard {
    shepard(&points(x), &points(y), ShepardParams { n_pairs, seed }, &Unmonitored).unwrap()
}

fn measured(m: &Shepard) -> [&Measured; 5] {
    [&m.spearman, &m.pearson, &m.stress, &m.stress_scaled, &m.scale]
}

fn values(m: &Shepard) -> [f64; 5] {
    measured(m).map(|number| number.value)
}

fn textbook(x: &Array2<f64>, y: &Array2<f64>) -> [f64; 5] {
    let mut pairs = Vec::new();
    for i in 0..x.nrows() {
        for j in i + 1..x.nrows() {
            pairs.push((naive::distance(x, i, j), naive::distance(y, i, j)));
        }
    }
    let (dx, dy): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let ranks: Vec<(f64, f64)> = naive::mid_ranks(&dx).into_iter().zip(naive::mid_ranks(&dy)).collect();
    let c = naive::best_factor(&pairs);
    let stress = |c| naive::stress(&pairs, c);
    [naive::correlation(&ranks), naive::correlation(&pairs), stress(1.0), stress(c), c]
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn all_pairs_give_the_definition(n in 3usize..40, q in 1usize..5, d in 1usize..5, tied: bool, seed: u32) {
        let kind = if tied { Cloud::Grid } else { Cloud::Normal };
        let seed = u64::from(seed);
        let (mut x, mut y) = (double(kind, n, q, seed), double(kind, n, d, seed + 1));
        // never all at the same distance
        (x[[0, 0]], x[[1, 0]]) = (9.0, 5.0);
        (y[[0, 0]], y[[1, 0]]) = (-9.0, -6.0);
        if n == 3 {
            (x[[2, 0]], y[[2, 0]]) = (20.0, 17.0);
        }
        let found = of(&x, &y, None, 0);
        prop_assert_eq!(found.n_pairs, n * (n - 1) / 2);
        for (found, expected) in values(&found).into_iter().zip(textbook(&x, &y)) {
            prop_assert!((found - expected).abs() < 1e-11 * (1.0 + expected.abs()), "{found} {expected}");
        }
        prop_assert!(measured(&found).iter().all(|number| number.standard_error == 0.0));
    }

    #[test]
    fn nothing_is_ever_not_a_number(
        n in 1usize..30, of_x in 0usize..CLOUDS.len(), of_y in 0usize..CLOUDS.len(), seed: u32,
    ) {
        let seed = u64::from(seed);
        let found = of(&double(CLOUDS[of_x], n, 3, seed), &double(CLOUDS[of_y], n, 2, seed + 1), None, 0);
        let [spearman, pearson, stress, scaled, scale] = values(&found);
        prop_assert!((-1.0..=1.0).contains(&spearman) && (-1.0..=1.0).contains(&pearson));
        prop_assert!(stress >= 0.0 && scale >= 0.0 && (scaled.is_infinite() || (0.0..=1.0).contains(&scaled)));
    }

    #[test]
    fn motions_and_scales_change_what_they_may(n in 5usize..40, d in 1usize..4, seed: u32) {
        let seed = u64::from(seed);
        let (x, y) = (gaussian(n, 3, seed), gaussian(n, d, seed + 1));
        let plain = values(&of(&x, &y, None, 0));
        let moved = of(&(x.dot(&orthonormal(3, 3, seed)) + 2.0), &(y.dot(&orthonormal(d, d, seed)) - 1.0), None, 0);
        prop_assert!(values(&moved).into_iter().zip(plain).all(|(found, expected)| (found - expected).abs() < 1e-9));
        let scaled = values(&of(&(&x * 3e120), &(&y * 5e-110), None, 0));
        for at in [0, 1, 3] {
            prop_assert!((scaled[at] - plain[at]).abs() < 1e-9);
        }
    }
}

#[test]
fn a_copy_is_perfect_a_larger_one_up_to_scale_and_its_inverse_upside_down() {
    let x = gaussian(100, 3, 4);
    let same = |y: &Array2<f64>, expected: [f64; 3]| {
        let found = values(&of(&x, y, None, 0));
        assert!((1.0 - found[0]).abs() < 1e-15 && (1.0 - found[1]).abs() < 1e-15); // as correlations are rounded
        assert_eq!(found[2..], expected);
    };
    same(&x, [0.0, 0.0, 1.0]);
    same(&(&x * 4.0), [3.0, 0.0, 0.25]);
    // three points whose longest side becomes the shortest
    let turned = of(&array![[0.0], [1.0], [3.0]], &array![[0.0, 0.0], [9.0, 0.0], [1.0, 3.0]], None, 0);
    assert!((1.0 + turned.spearman.value).abs() < 1e-15);
}

#[test]
fn points_without_extent_are_decided_as_documented() {
    let (line, spot) = (array![[0.0], [1.0], [3.0]], Array2::zeros((3, 1)));
    assert_eq!(values(&of(&line, &spot, None, 0)), [0.0, 0.0, 1.0, 1.0, 0.0]);
    assert_eq!(values(&of(&spot, &line, None, 0))[..4], [0.0, 0.0, f64::INFINITY, f64::INFINITY]);
    assert_eq!(values(&of(&spot, &spot, None, 0)), [1.0, 1.0, 0.0, 0.0, 0.0]);
    let alone = of(&array![[1.0]], &array![[2.0]], None, 0);
    assert_eq!((values(&alone), alone.n_pairs), ([1.0, 1.0, 0.0, 0.0, 0.0], 0));
}

#[test]
fn a_sample_is_as_near_the_whole_as_it_says() {
    let (x, noise) = (gaussian(700, 3, 1), gaussian(700, 3, 2));
    let y = &x + &(noise * 0.5);
    let whole = values(&of(&x, &y, None, 0));
    let mut beyond = 0;
    for seed in 0..40 {
        let sample = of(&x, &y, Some(20_000), seed);
        assert_eq!(sample.n_pairs, 20_000);
        for (number, whole) in measured(&sample).into_iter().zip(whole) {
            let errors = (number.value - whole).abs() / number.standard_error;
            assert!(errors < 5.0, "seed {seed}: {number:?}, not {whole}");
            beyond += usize::from(errors > 2.0);
        }
    }
    // about 1 in 20 of 200, all five from the same pairs
    assert!((2..=25).contains(&beyond), "{beyond}");
}

#[test]
fn as_many_pairs_as_there_are_or_more_are_all() {
    let (x, y) = (gaussian(80, 3, 1), gaussian(80, 2, 2));
    let all = of(&x, &y, None, 0);
    assert_eq!(of(&x, &y, Some(80 * 79 / 2), 5), all);
    assert_eq!(of(&x, &y, Some(usize::MAX), 5), all);
}

#[test]
fn the_same_bits_for_any_number_of_threads_and_any_layout() {
    let (x, y) = (gaussian(600, 3, 1), gaussian(600, 2, 2));
    for n_pairs in [None, Some(50_000)] {
        let one = on_threads(1, || of(&x, &y, n_pairs, 3));
        for threads in [2, 3, 7] {
            assert_eq!(on_threads(threads, || of(&x, &y, n_pairs, 3)), one);
        }
        assert_eq!(of(&fortran(&x), &fortran(&y), n_pairs, 3), one);
    }
    assert_ne!(of(&x, &y, Some(50_000), 3), of(&x, &y, Some(50_000), 4));
}

#[test]
fn bad_input_is_named_and_a_stop_is_heard() {
    let x = gaussian(300, 2, 1);
    let fails = |y: &Array2<f64>, n_pairs: Option<usize>, monitor: &dyn Monitor| {
        shepard(&points(&x), &points(y), ShepardParams { n_pairs, seed: 0 }, monitor).unwrap_err()
    };
    assert_eq!(fails(&gaussian(19, 2, 1), None, &Unmonitored).to_string(), "X has 300 rows, but Y has 19");
    let few = fails(&x, Some(1023), &Unmonitored).to_string();
    assert_eq!(few, "n_pairs = 1023 is out of range: a sample needs at least 1024");
    struct Stop;
    impl Monitor for Stop {
        fn stop_requested(&self) -> bool {
            true
        }
    }
    assert_eq!(fails(&x, None, &Stop), Error::Interrupted);
    assert_eq!(fails(&x, Some(5000), &Stop), Error::Interrupted);
}
