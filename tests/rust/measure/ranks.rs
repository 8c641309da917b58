//! Measures by ranks: their definitions over all pairs, what they are at random, and what they can be.

use ndarray::Array2;
use proptest::prelude::*;
use unbend::measure::{RankMeasure, RankParams, RankTables, coranking_matrix, rank_tables};
use unbend::{Error, Monitor, Points, Search, Unmonitored, neighbors};

use crate::clouds::*;
use crate::{cases, naive, on_threads};

fn points(x: &Array2<f64>) -> Points<'_> {
    Points::new("X", x.view(), &Unmonitored).unwrap()
}

fn tables(x: &Array2<f64>, y: &Array2<f64>, k: usize, centers: Option<&[u32]>) -> RankTables {
    let params = RankParams { n_neighbors: k, centers, neighborhoods: None };
    rank_tables(&points(x), &points(y), params, &Unmonitored).unwrap()
}

fn values(tables: &RankTables, measure: RankMeasure) -> Vec<f64> {
    tables.curves(&Unmonitored).unwrap().values(measure)
}

fn defined(measure: RankMeasure, naive: &naive::RankMeasures) -> f64 {
    match measure {
        RankMeasure::Trustworthiness => naive.trustworthiness,
        RankMeasure::Continuity => naive.continuity,
        RankMeasure::QNx => naive.q_nx,
        RankMeasure::RNx => naive.r_nx,
        RankMeasure::Lcmc => naive.lcmc,
        RankMeasure::MrreFalse => naive.mrre_false,
        RankMeasure::MrreMissing => naive.mrre_missing,
        RankMeasure::RandIndex => naive.rand_index,
    }
}

fn assert_near(found: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((found - expected).abs() <= tolerance, "{what}: {found}, not {expected}");
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64).sqrt()
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn every_measure_is_as_defined_at_every_k(
        n in 2usize..60, most in 0.0..1.0f64, q in 1usize..5, d in 1usize..5,
        kind in proptest::sample::select(&CLOUDS[..]), seed in 0u64..1000,
    ) {
        let k = 1 + ((n - 2) as f64 * most).round() as usize;
        let (x, y) = (double(kind, n, q, seed), double(CLOUDS[seed as usize % 5], n, d, seed + 3));
        let (in_x, in_y) = (naive::ranks(&x), naive::ranks(&y));
        let tables = tables(&x, &y, k, None);
        let curves = tables.curves(&Unmonitored).unwrap();
        for k in 1..=k {
            let naive = naive::rank_measures(&in_x, &in_y, k);
            for measure in RankMeasure::ALL {
                let (found, expected) = (curves.values(measure)[k - 1], defined(measure, &naive));
                let of_each = tables.values(measure, k, &Unmonitored).unwrap();
                prop_assert!((found - expected).abs() < 1e-12, "{measure:?}, k = {k}: {found}, not {expected}");
                prop_assert!((mean(&of_each) - expected).abs() < 1e-12, "{measure:?} of each, k = {k}");
                let spread = curves.spreads(measure)[k - 1];
                prop_assert!((spread - deviation(&of_each)).abs() < 1e-7, "{measure:?}, k = {k}: spread {spread}");
            }
        }
    }

    #[test]
    fn all_lie_in_their_ranges_and_agree_on_perfection(
        n in 3usize..80, q in 1usize..4, kind in proptest::sample::select(&CLOUDS[..]), seed in 0u64..1000,
    ) {
        let (x, y) = (double(kind, n, q, seed), gaussian(n, 2, seed + 4));
        let k = n - 2;
        for (other, perfect) in [(&y, false), (&x, true)] {
            let tables = tables(&x, other, k, None);
            for measure in RankMeasure::ALL {
                let is_error = matches!(measure, RankMeasure::MrreFalse | RankMeasure::MrreMissing);
                let least = if matches!(measure, RankMeasure::RNx | RankMeasure::Lcmc) { -1.0 } else { 0.0 };
                for (k, value) in (1..).zip(values(&tables, measure)) {
                    prop_assert!((least - 1e-12..=1.0 + 1e-12).contains(&value), "{measure:?}, k = {k}: {value}");
                    let best = match measure {
                        RankMeasure::Lcmc => 1.0 - k as f64 / (n - 1) as f64,
                        _ => f64::from(!is_error),
                    };
                    prop_assert!(!perfect || (value - best).abs() < 1e-12, "{measure:?}, k = {k}: {value}");
                }
            }
        }
    }

    #[test]
    fn exchanging_the_sides_exchanges_the_measures(n in 5usize..100, k in 1usize..30, seed in 0u64..1000) {
        let (x, y, k) = (gaussian(n, 3, seed), gaussian(n, 2, seed + 5), k.min(n - 1));
        let (there, back) = (tables(&x, &y, k, None), tables(&y, &x, k, None));
        for (one, other) in [
            (RankMeasure::Trustworthiness, RankMeasure::Continuity),
            (RankMeasure::MrreFalse, RankMeasure::MrreMissing),
            (RankMeasure::QNx, RankMeasure::QNx),
        ] {
            prop_assert_eq!(values(&there, one), values(&back, other));
            prop_assert_eq!(values(&there, other), values(&back, one));
        }
    }

    #[test]
    fn the_matrix_says_the_same(
        n in 2usize..90, k in 1usize..90, kind in proptest::sample::select(&CLOUDS[..]), seed in 0u64..1000,
    ) {
        let (x, y, k) = (double(kind, n, 2, seed), gaussian(n, 2, seed + 6), k.min(n - 1));
        let matrix = coranking_matrix(&points(&x), &points(&y), &Unmonitored).unwrap();
        let (in_x, in_y) = (naive::ranks(&x), naive::ranks(&y));
        let mut expected = vec![0u32; (n - 1) * (n - 1)];
        for i in 0..n {
            for j in (0..n).filter(|&j| j != i) {
                expected[(in_x[i][j] as usize - 1) * (n - 1) + in_y[i][j] as usize - 1] += 1;
            }
        }
        prop_assert_eq!(&matrix, &expected);
        let corner = tables(&x, &y, k, None).coranking();
        prop_assert!((0..k).all(|r| corner[r * k..][..k] == matrix[r * (n - 1)..][..k]));
    }

    #[test]
    fn a_sample_has_the_values_of_the_whole(n in 8usize..200, k in 1usize..30, every in 1usize..7, seed in 0u64..1000) {
        let (x, y, k) = (gaussian(n, 3, seed), gaussian(n, 2, seed + 7), k.min(n - 1));
        let centers: Vec<u32> = (0..n as u32).step_by(every).collect();
        let (some, all) = (tables(&x, &y, k, Some(&centers)), tables(&x, &y, k, None));
        let graph = neighbors::nearest(&points(&x), (k + 3).min(n - 1), Search::Auto, &Unmonitored).unwrap();
        let known = Some(&graph.neighborhoods);
        let params = RankParams { n_neighbors: k, centers: Some(&centers), neighborhoods: known };
        prop_assert_eq!(&rank_tables(&points(&x), &points(&y), params, &Unmonitored).unwrap(), &some);
        for measure in RankMeasure::ALL {
            let whole = all.values(measure, k, &Unmonitored).unwrap();
            let expected: Vec<f64> = centers.iter().map(|&i| whole[i as usize]).collect();
            prop_assert_eq!(some.values(measure, k, &Unmonitored).unwrap(), expected);
        }
    }
}

/// Four points on a line, the last of them carried to the second: ranks, and so all sums, worked by hand.
#[test]
fn a_case_by_hand() {
    let x = ndarray::array![[0.0], [1.0], [3.0], [7.0]];
    let y = ndarray::array![[0.0], [1.0], [3.0], [0.5]];
    let tables = tables(&x, &y, 1, None);
    assert_eq!((&tables.in_x[..], &tables.in_y[..]), (&[3, 3, 1, 3][..], &[2, 2, 1, 3][..]));
    let value = |measure| values(&tables, measure)[0];
    // penalties 2 + 2 + 0 + 2 of at most 4 * 2; 1 + 1 + 0 + 2
    assert_near(value(RankMeasure::Trustworthiness), 0.25, 1e-15, "T");
    assert_near(value(RankMeasure::Continuity), 0.5, 1e-15, "C");
    assert_near(value(RankMeasure::QNx), 0.25, 1e-15, "Q");
    assert_near(value(RankMeasure::RNx), (0.25 - 1.0 / 3.0) / (2.0 / 3.0), 1e-15, "R");
    assert_near(value(RankMeasure::RandIndex), 0.5, 1e-15, "RAND");
    assert_near(value(RankMeasure::MrreFalse), 6.0 / 8.0, 1e-15, "MRRE");
}

#[test]
fn at_random_all_are_what_is_said() {
    let (n, rounds) = (41, 300);
    let x = gaussian(n, 3, 1);
    let k = n - 1;
    let mut sums = vec![vec![(0.0, 0.0); k]; RankMeasure::ALL.len()];
    for round in 0..rounds {
        let tables = tables(&x, &gaussian(n, 2, 100 + round), k, None);
        for (sums, measure) in sums.iter_mut().zip(RankMeasure::ALL) {
            for (sum, value) in sums.iter_mut().zip(values(&tables, measure)) {
                *sum = (sum.0 + value, sum.1 + value * value);
            }
        }
    }
    let rounds = rounds as f64;
    for (sums, measure) in sums.iter().zip(RankMeasure::ALL) {
        for (k, &(sum, squares)) in (1..).zip(sums) {
            let mean = sum / rounds;
            let error = ((squares / rounds - mean * mean).max(0.0) / rounds).sqrt();
            assert_near(mean, measure.null(n, k), 5.0 * error + 1e-12, &format!("{measure:?}, k = {k}"));
        }
    }
}

#[test]
fn the_area_weighs_small_neighborhoods_most() {
    let (x, y) = (gaussian(300, 3, 2), gaussian(300, 2, 3));
    let tables = tables(&x, &y, 298, None);
    let r_nx = values(&tables, RankMeasure::RNx);
    let weighted: f64 = (1..).zip(&r_nx).map(|(k, r)| r / f64::from(k)).sum();
    let weights: f64 = (1..=298).map(|k| 1.0 / f64::from(k)).sum();
    let (area, spread) = tables.curves(&Unmonitored).unwrap().area();
    let areas = tables.areas(&Unmonitored).unwrap();
    assert_near(area, weighted / weights, 1e-12, "area");
    assert_near(area, mean(&areas), 1e-12, "mean of areas");
    assert_near(spread, deviation(&areas), 1e-9, "spread");
    let same = super::ranks::tables(&x, &x, 299, None);
    assert_near(same.curves(&Unmonitored).unwrap().area().0, 1.0, 1e-12, "perfect");
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let (x, y) = (gaussian(3000, 20, 8), gaussian(3000, 2, 9));
    let all = || tables(&x, &y, 15, None).curves(&Unmonitored).unwrap();
    let one = on_threads(1, all);
    for threads in [2, 3, 7] {
        assert_eq!(on_threads(threads, all), one);
    }
}

#[test]
fn bad_input_is_named() {
    let x = gaussian(20, 3, 1);
    let fails = |y: &Array2<f64>, k, centers: Option<&[u32]>, known: usize| {
        let graph = neighbors::nearest(&points(&x), known, Search::Auto, &Unmonitored).unwrap().neighborhoods;
        let params = RankParams { n_neighbors: k, centers, neighborhoods: Some(&graph) };
        rank_tables(&points(&x), &points(y), params, &Unmonitored).unwrap_err().to_string()
    };
    assert!(fails(&gaussian(19, 2, 1), 4, None, 9).contains("19"));
    assert!(fails(&x, 0, None, 9).contains("n_neighbors = 0"));
    assert!(fails(&x, 20, None, 9).contains("at least 21 points, got 20"));
    assert!(fails(&x, 10, None, 9).contains("n_neighbors = 10"));
    assert!(fails(&x, 4, Some(&[]), 9).contains("n_centers = 0"));
    assert!(fails(&x, 4, Some(&[20]), 9).contains("20"));
    assert!(RankTables::new(5, 2, vec![1, 2, 3], vec![1, 2, 3]).is_err());
    assert!(tables(&x, &x, 3, None).values(RankMeasure::Lcmc, 4, &Unmonitored).is_err());
}

#[test]
fn it_stops_when_asked() {
    struct Stop;
    impl Monitor for Stop {
        fn stop_requested(&self) -> bool {
            true
        }
    }
    for q in [2, 20] {
        let (x, y) = (gaussian(2000, q, 1), gaussian(2000, 2, 2));
        let (x, y) = (points(&x), points(&y));
        let interrupted = |result: Result<(), Error>| assert_eq!(result, Err(Error::Interrupted));
        interrupted(rank_tables(&x, &y, RankParams::default(), &Stop).map(drop));
        interrupted(coranking_matrix(&x, &y, &Stop).map(drop));
        let listed: Vec<u32> = (0..2000).map(|i| (i + 1) % 2000).collect();
        interrupted(neighbors::ranks(&x, None, &listed, 1, Search::Auto, &Stop).map(drop));
    }
}
