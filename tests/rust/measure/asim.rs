//! ASIM against ascent from many frames and a scan of all angles, and what it must not depend on.

use nalgebra::DMatrix;
use ndarray::{Array1, Array2, Axis};
use proptest::prelude::*;
use unbend::measure::{AsimParams, FaithfulnessParams, Normalization, asim, asim_all, faithfulness};
use unbend::synthetic::{SwissRoll, swiss_roll};
use unbend::{Error, Monitor, Neighborhoods, Points, Search, Unmonitored, neighbors};

use crate::clouds::*;
use crate::{cases, naive, on_threads};

fn points(x: &Array2<f64>) -> Points<'_> {
    Points::new("X", x.view(), &Unmonitored).unwrap()
}

fn graph(x: &Array2<f64>, k: usize) -> Neighborhoods<'static> {
    neighbors::nearest(&points(x), k, Search::Auto, &Unmonitored).unwrap().neighborhoods
}

fn of(x: &Array2<f64>, y: &Array2<f64>) -> f64 {
    asim(&points(x), &points(y), Normalization::Centered).unwrap()
}

fn all(x: &Array2<f64>, y: &Array2<f64>, graph: &Neighborhoods, params: AsimParams) -> Vec<f64> {
    asim_all(&points(x), &points(y), graph, params, &Unmonitored).unwrap()
}

fn centered(x: &Array2<f64>) -> DMatrix<f64> {
    naive::centered(x, &(0..x.nrows()).collect::<Vec<_>>())
}

/// Each column times its own factor, of either sign.
fn scaled(y: &Array2<f64>, seed: u64) -> Array2<f64> {
    let mut rng = rng(seed);
    let factor =
        |_| 10f64.powi(pick(&mut rng, 9) as i32 - 4) * if pick(&mut rng, 2) == 0 { -1.0 } else { 1.0 };
    y * &Array1::from_iter((0..y.ncols()).map(factor))
}

/// Turned into `q` dimensions and moved, by about its own size: a larger offset would round the points themselves.
fn moved(x: &Array2<f64>, q: usize, seed: u64) -> Array2<f64> {
    x.dot(&orthonormal(q, x.ncols(), seed).t()) + &(gaussian(1, q, seed + 1) * x.std(0.0))
}

/// The definition in the plane: all angles, and those about the best ever closer. Of a wider set what lies in the
/// span of the products with Y, the rest being lost to any frame.
fn by_angles(x: &Array2<f64>, y: &Array2<f64>) -> f64 {
    let (x, y) = (centered(x), centered(y));
    let plane = naive::svd(&(x.transpose() * &y)).u;
    let (seen, total) = (&x * &plane, x.norm_squared());
    let outside = (&x - &seen * plane.transpose()).norm_squared();
    let rest = |t: f64| {
        let axes = [[t.cos(), t.sin()], [-t.sin(), t.cos()]];
        let mut left = seen.clone();
        for (j, p) in axes.iter().enumerate() {
            let along = seen.column(0) * p[0] + seen.column(1) * p[1];
            let d = along.dot(&y.column(j)) / y.column(j).norm_squared();
            for a in 0..2 {
                left.column_mut(a).axpy(-d * p[a], &y.column(j), 1.0);
            }
        }
        (left.norm_squared() + outside) / total
    };
    let (mut middle, mut width) = (0.0, std::f64::consts::PI);
    for _ in 0..12 {
        let angles = (-100..=100).map(|step| middle + width * f64::from(step) / 100.0);
        middle = angles.min_by(|&s, &t| rest(s).total_cmp(&rest(t))).unwrap();
        width /= 20.0;
    }
    rest(middle)
}

#[test]
fn two_coordinates_are_the_best_of_all_angles() {
    for seed in 0..60 {
        let (q, m) = (2 + seed as usize % 4, 4 + seed as usize % 11);
        let (x, y) = (gaussian(m, q, seed), gaussian(m, 2, seed + 500));
        let (found, expected) = (of(&x, &y), by_angles(&x, &y));
        assert!((found - expected).abs() < 1e-12, "seed {seed}: {found:e}, not {expected:e}");
    }
}

#[test]
fn small_errors_keep_their_digits() {
    for (seed, noise) in (0u64..40).zip([1e-2, 1e-4, 1e-6, 1e-8].into_iter().cycle()) {
        let y = gaussian(12, 2, seed);
        let x = moved(&scaled(&y, seed), 2, seed + 40);
        let x = &x + &(gaussian(12, 2, seed + 80) * (noise * x.std(0.0)));
        let (found, expected) = (of(&x, &y), by_angles(&x, &y));
        assert!((found - expected).abs() < 1e-7 * expected, "noise {noise}: {found:e}, not {expected:e}");
    }
}

#[test]
fn any_dimension_is_the_best_of_many_ascents() {
    for d in 1..=6 {
        for seed in 0..8 {
            let (q, m) = (d + seed as usize % 3, d + 3 + seed as usize);
            let (x, y) = (gaussian(m, q, seed), gaussian(m, d, seed + 300));
            let (found, expected) = (of(&x, &y), naive::asim(&centered(&x), &centered(&y), 24));
            assert!((found - expected).abs() < 1e-9, "d = {d}, seed {seed}: {found:e}, not {expected:e}");
        }
    }
}

#[test]
fn neighborhoods_are_measured_as_sets() {
    for (q, d) in [(2, 1), (3, 2), (5, 3), (40, 2), (40, 4)] {
        let (x, y) = (gaussian(90, q, 1) + 3.0, gaussian(90, d, 2));
        let graph = graph(&x, 7);
        for include_self in [true, false] {
            for normalization in [Normalization::Centered, Normalization::Paper] {
                let params = AsimParams { include_self, normalization, centers: None };
                for (i, value) in all(&x, &y, &graph, params).into_iter().enumerate() {
                    let rows = naive::members(&naive::rows(&graph), i, include_self);
                    let (x, y) = (x.select(Axis(0), &rows), y.select(Axis(0), &rows));
                    assert_eq!(value, asim(&points(&x), &points(&y), normalization).unwrap());
                    let expected = match normalization {
                        Normalization::Centered => of(&x, &y),
                        Normalization::Paper => {
                            let ratio = centered(&x).norm_squared() / x.mapv(|v| v * v).sum();
                            of(&x, &y) * ratio
                        }
                    };
                    assert!((value - expected).abs() < 1e-14);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn it_depends_on_shape_alone(m in 5usize..20, d in 1usize..6, wider in 0usize..3, seed: u32) {
        let seed = u64::from(seed);
        let (x, y) = (gaussian(m, d + wider, seed), gaussian(m, d, seed + 1));
        let expected = of(&x, &y);
        prop_assert!((0.0..=1.0).contains(&expected));
        let same = |x: &Array2<f64>, y: &Array2<f64>| (of(x, y) - expected).abs() < 1e-9;
        prop_assert!(same(&moved(&x, d + wider, seed + 2), &y), "moved");
        prop_assert!(same(&moved(&x, d + wider + 9, seed + 2), &y), "moved into more dimensions");
        prop_assert!(same(&(&x * 1e-3), &y), "X scaled");
        prop_assert!(same(&x, &(scaled(&y, seed + 3) + &gaussian(1, d, seed + 4))), "Y scaled and moved");
        prop_assert!(same(&x, &y.select(Axis(1), &permutation(d, seed + 5))), "columns renumbered");
        let rows = permutation(m, seed + 6);
        prop_assert!(same(&x.select(Axis(0), &rows), &y.select(Axis(0), &rows)), "points renumbered");
    }

    #[test]
    fn scaled_coordinates_are_perfect(m in 6usize..30, d in 1usize..6, wider in 0usize..9, seed: u32) {
        let seed = u64::from(seed);
        let y = gaussian(m, d, seed);
        let x = moved(&scaled(&y, seed + 1), d + wider, seed + 2);
        let found = of(&x, &y);
        // of more than two columns, maxima are told apart in double precision
        prop_assert!(found < if d <= 2 { 1e-25 } else { 1e-15 }, "{found:e}");
    }

    #[test]
    fn no_cloud_leaves_the_range(
        m in 1usize..12, d in 1usize..5, wider in 0usize..20, of_x in 0usize..CLOUDS.len(), of_y in 0usize..CLOUDS.len(),
        seed: u32,
    ) {
        let (x, y) = (double(CLOUDS[of_x], m, d + wider, u64::from(seed)), double(CLOUDS[of_y], m, d, u64::from(seed) + 1));
        for normalization in [Normalization::Centered, Normalization::Paper] {
            let found = asim(&points(&x), &points(&y), normalization).unwrap();
            prop_assert!((0.0..=1.0).contains(&found) || found == f64::INFINITY, "{found}");
            let coincide = x.rows().into_iter().all(|row| row == x.row(0));
            prop_assert!(found.is_finite() || coincide || CLOUDS[of_x] as usize == Cloud::Tiny as usize);
        }
    }

    #[test]
    fn never_above_r_c_and_never_below_the_bound(n in 20usize..60, d in 1usize..4, seed: u32) {
        let (x, y) = (gaussian(n, 4, u64::from(seed)), gaussian(n, d, u64::from(seed) + 1));
        let graph = graph(&x, 8);
        let m = faithfulness(&points(&x), &points(&y), &graph, FaithfulnessParams::default(), &Unmonitored).unwrap();
        for (value, point) in all(&x, &y, &graph, AsimParams::default()).iter().zip(m.per_point.iter()) {
            prop_assert!(*value <= point.r_c + 1e-12 && *value >= point.bound - 1e-12);
        }
    }
}

#[test]
fn sets_without_extent_count_as_in_the_other_measures() {
    let (some, spot) = (gaussian(6, 3, 1), Array2::from_elem((6, 3), 0.1));
    assert_eq!(of(&spot, &spot), 0.0);
    assert_eq!(of(&spot, &some), f64::INFINITY);
    assert_eq!(of(&some, &spot), 1.0);
    // a coordinate without extent is none
    let mut flat = gaussian(6, 3, 2);
    flat.column_mut(1).fill(0.3);
    let kept = flat.select(Axis(1), &[0, 2]);
    assert!((of(&some, &flat) - of(&some, &kept)).abs() < 1e-14);
    // on a line, twice the same coordinate, a point alone
    let line = some.select(Axis(1), &[0, 0, 0]);
    assert!(of(&line, &line) < 1e-28);
    let alone = Neighborhoods::from_ragged(vec![0, 0, 1, 1, 1, 1, 1], vec![3]).unwrap();
    let found = all(&some, &some, &alone, AsimParams::default());
    assert_eq!((found[0], &found[2..]), (0.0, &[0.0; 4][..]));
    assert!(found[1] < 1e-30); // two points are shown perfectly by any other two
}

#[test]
fn scaling_a_roll_costs_nothing() {
    let roll = swiss_roll(2000, &SwissRoll::default(), 3, &Unmonitored).unwrap();
    let graph = graph(&roll.x, 10);
    let truth = all(&roll.x, &roll.coordinates, &graph, AsimParams::default());
    let normalized = all(&roll.x, &scaled(&roll.coordinates, 4), &graph, AsimParams::default());
    assert!(truth.iter().zip(&normalized).all(|(a, b)| (a - b).abs() < 1e-12));
    assert!(truth.iter().sum::<f64>() / 2000.0 < 0.01);
}

#[test]
fn the_same_bits_for_any_number_of_threads_any_layout_and_a_sample() {
    for d in [2, 4] {
        let (x, y) = (gaussian(1500, 5, 1), gaussian(1500, d, 2));
        let graph = graph(&x, 9);
        let one = on_threads(1, || all(&x, &y, &graph, AsimParams::default()));
        for threads in [2, 3, 7] {
            assert_eq!(on_threads(threads, || all(&x, &y, &graph, AsimParams::default())), one);
        }
        assert_eq!(all(&fortran(&x), &fortran(&y), &graph, AsimParams::default()), one);
        let centers: Vec<u32> = (0..1500).step_by(7).collect();
        let sample = all(&x, &y, &graph, AsimParams { centers: Some(&centers), ..Default::default() });
        assert!(sample.iter().zip(&centers).all(|(&value, &i)| value == one[i as usize]));
    }
}

#[test]
fn bad_input_is_named() {
    let (x, y) = (gaussian(20, 2, 1), gaussian(20, 2, 2));
    let graph = graph(&x, 3);
    let fails = |y: &Array2<f64>, centers: Option<&[u32]>| {
        let params = AsimParams { centers, ..Default::default() };
        asim_all(&points(&x), &points(y), &graph, params, &Unmonitored).unwrap_err().to_string()
    };
    assert!(fails(&gaussian(19, 2, 1), None).contains("19"));
    assert!(fails(&gaussian(20, 3, 1), None).contains('3'));
    assert!(fails(&y, Some(&[20])).contains("20"));
    assert!(fails(&y, Some(&[])).contains("n_centers = 0"));
    assert!(asim(&points(&x), &points(&gaussian(19, 2, 1)), Normalization::Centered).is_err());
}

#[test]
fn it_stops_when_asked() {
    struct Stop;
    impl Monitor for Stop {
        fn stop_requested(&self) -> bool {
            true
        }
    }
    for d in [2, 3] {
        let (x, y) = (gaussian(2000, 3, 1), gaussian(2000, d, 1));
        let stopped = asim_all(&points(&x), &points(&y), &graph(&x, 5), AsimParams::default(), &Stop);
        assert_eq!(stopped.unwrap_err(), Error::Interrupted);
    }
}
