//! The Procrustes measures against their definitions, their invariances, and what the paper proves of them.

use std::f64::consts::PI;

use ndarray::{Array2, Axis, concatenate};
use proptest::prelude::*;
use unbend::measure::{Faithfulness, FaithfulnessParams, faithfulness, lower_bound, mean_lower_bound};
use unbend::synthetic::{Fishbowl, Sample, SwissRoll, fishbowl, swiss_roll};
use unbend::{Error, Neighborhoods, Points, Search, Unmonitored, neighbors};

use crate::clouds::*;
use crate::{cases, naive, on_threads};

const WITHOUT_SELF: FaithfulnessParams =
    FaithfulnessParams { include_self: false, centers: None, weights: None };

fn points(x: &Array2<f64>) -> Points<'_> {
    Points::new("X", x.view(), &Unmonitored).unwrap()
}

fn graph(x: &Array2<f64>, k: usize) -> Neighborhoods<'static> {
    neighbors::nearest(&points(x), k, Search::Auto, &Unmonitored).unwrap().neighborhoods
}

fn measured(
    x: &Array2<f64>,
    y: &Array2<f64>,
    graph: &Neighborhoods,
    params: FaithfulnessParams,
) -> Faithfulness {
    faithfulness(&points(x), &points(y), graph, params, &Unmonitored).unwrap()
}

fn roll(n: usize) -> Sample {
    swiss_roll(n, &SwissRoll::default(), 80, &Unmonitored).unwrap()
}

/// Within 1e-10 of what is expected, or 1e-13 of `size`.
fn assert_close(found: f64, expected: f64, size: f64, what: &str) {
    let same = found == expected; // two infinities
    let close = (found - expected).abs() <= 1e-10 * expected.abs() + 1e-13 * size;
    assert!(same || close, "{what}: {found:e}, not {expected:e}");
}

fn check(x: &Array2<f64>, y: &Array2<f64>, graph: &Neighborhoods, params: FaithfulnessParams, what: &str) {
    let found = measured(x, y, graph, params);
    let expected = naive::faithfulness(x, y, &naive::rows(graph), params.include_self);
    assert_eq!(found.per_point.len(), expected.per_point.len());
    for (i, (p, e)) in found.per_point.iter().zip(&expected.per_point).enumerate() {
        let what = |name: &str| format!("{what}: {name} of point {i}");
        let size = if e.r_n > 0.0 && e.r_n.is_finite() { e.r / e.r_n } else { 1.0 }; // |H X_i|^2
        assert_close(p.r, e.r, size, &what("r"));
        assert_close(p.r_n, e.r_n, 1.0, &what("r_n"));
        assert_close(p.r_c, e.r_c, 1.0, &what("r_c"));
        assert_close(p.bound, e.bound, 1.0, &what("bound"));
        if e.has_tangent {
            let area = e.stretch_max.powi(y.ncols() as i32).min(1e100);
            assert_close(p.r_pca, e.r_pca, size, &what("r_pca"));
            assert_close(p.stretch_max, e.stretch_max, 1.0, &what("largest stretch"));
            assert_close(p.stretch_min, e.stretch_min, e.stretch_max.min(1e100), &what("smallest stretch"));
            assert_close(p.area, e.area, area, &what("area"));
        }
        assert_eq!(p.degenerate(), e.r_n.is_infinite(), "{}", what("degenerate"));
    }
    assert_close(found.means.r, expected.r, 1.0, &format!("{what}: r"));
    assert_close(found.means.r_n, expected.r_n, 1.0, &format!("{what}: r_n"));
    assert_close(found.means.r_c, expected.r_c, 1.0, &format!("{what}: r_c"));
    if expected.per_point.iter().all(|e| e.has_tangent) {
        assert_close(found.means.r_pca, expected.r_pca, 1.0, &format!("{what}: r_pca"));
    }
    assert_close(found.means.lower_bound, expected.lower_bound, 1.0, &format!("{what}: bound"));
    assert_close(found.means.scale, expected.scale, 1.0, &format!("{what}: scale"));
    assert_close(found.means.r_n_scaled, expected.r_n_scaled, 1.0, &format!("{what}: r_n_scaled"));
    assert_eq!(found.means.n_degenerate, expected.n_degenerate, "{what}");
}

#[test]
fn random_data_are_measured_by_the_definition() {
    for q in [1, 2, 3, 4, 7, 20, 40] {
        let x = gaussian(120, q, 81);
        for d in 1..=q.min(5) {
            let y = gaussian(120, d, 82);
            for k in [3, 9] {
                let graph = graph(&x, k);
                check(&x, &y, &graph, Default::default(), &format!("q = {q}, d = {d}, k = {k}"));
                check(&x, &y, &graph, WITHOUT_SELF, &format!("q = {q}, d = {d}, k = {k}, without self"));
            }
        }
    }
}

#[test]
fn surfaces_are_measured_by_the_definition() {
    let Sample { x, coordinates } = roll(500);
    let bent = &coordinates + &(gaussian(500, 2, 83) * 0.3);
    let flat = coordinates.dot(&orthonormal(5, 2, 84).t());
    let graph = graph(&x, 12);
    for (x, name) in [(&x, "roll"), (&flat, "plane")] {
        check(x, &coordinates, &graph, Default::default(), name);
        check(x, &bent, &graph, Default::default(), &format!("{name}, noise"));
        check(x, &(&coordinates * 7.0), &graph, Default::default(), &format!("{name}, scaled"));
    }
}

#[test]
fn images_are_measured_by_the_definition() {
    let (x, y) = (gaussian(150, 560, 85), gaussian(150, 3, 86) * 10.0);
    check(&x, &y, &graph(&x, 6), Default::default(), "560 pixels");
    check(&x, &y, &graph(&x, 6), WITHOUT_SELF, "560 pixels, without self");
}

#[test]
fn neighborhoods_of_any_size_are_measured_by_the_definition() {
    for (q, radius) in [(2, 0.3), (3, 0.5), (6, 1.8), (20, 5.0)] {
        let x = gaussian(250, q, 87);
        let ball = neighbors::within(&points(&x), radius, Search::Auto, &Unmonitored).unwrap().neighborhoods;
        assert!((0..250).any(|i| ball.of(i).is_empty()) && ball.largest() > 4, "q = {q}");
        for d in 1..=q.min(3) {
            let y = gaussian(250, d, 88);
            check(&x, &y, &ball, Default::default(), &format!("ragged, q = {q}, d = {d}"));
            check(&x, &y, &ball, WITHOUT_SELF, &format!("ragged without self, q = {q}, d = {d}"));
        }
    }
}

/// Five copies of every point and three neighbors: all neighborhoods coincide.
#[test]
fn coinciding_points_are_measured_by_the_definition() {
    for q in [1, 2, 3, 4, 20] {
        let place = gaussian(20, q, 89);
        let (x, d) = (repeated(&place, 5), q.min(2));
        let together = repeated(&gaussian(20, d, 90), 5);
        let apart = gaussian(100, d, 91);
        // copies 0 to 2 stay together, the others do not
        let mixed = concatenate![
            Axis(0),
            together.select(Axis(0), &(0..60).collect::<Vec<_>>()),
            apart.select(Axis(0), &(60..100).collect::<Vec<_>>())
        ];
        for k in [2, 3, 7] {
            let graph = graph(&x, k);
            for (y, name) in [(&together, "together"), (&apart, "apart"), (&mixed, "mixed")] {
                check(&x, y, &graph, Default::default(), &format!("copies {name}, q = {q}, k = {k}"));
                check(&x, y, &graph, WITHOUT_SELF, &format!("copies {name}, q = {q}, k = {k}, without self"));
            }
        }
        let graph = graph(&x, 3);
        let perfect = measured(&x, &together, &graph, Default::default());
        assert_eq!(
            (perfect.means.r_n, perfect.means.r_c, perfect.means.r, perfect.means.n_degenerate),
            (0.0, 0.0, 0.0, 0)
        );
        let torn = measured(&x, &apart, &graph, Default::default());
        assert_eq!(
            (torn.means.r_n, torn.means.r_c, torn.means.n_degenerate),
            (f64::INFINITY, f64::INFINITY, 100)
        );
        assert!(torn.means.r > 0.0 && torn.means.r.is_finite() && torn.means.lower_bound == 0.0);
    }
}

/// A collapsed embedding loses everything: r_n is 1 and no scale helps.
#[test]
fn a_collapsed_embedding_scores_one() {
    let x = gaussian(100, 3, 92);
    let y = Array2::from_elem((100, 2), 4.0);
    let m = measured(&x, &y, &graph(&x, 6), Default::default());
    assert!((m.means.r_n - 1.0).abs() < 1e-14 && (m.means.r_c - 1.0).abs() < 1e-14 && m.means.scale == 0.0);
    assert!(m.per_point.iter().all(|p| p.stretch_max == 0.0 && p.area == 0.0));
    check(&x, &y, &graph(&x, 6), Default::default(), "collapsed");
}

#[test]
fn data_are_faithful_to_themselves() {
    for q in 1..=6 {
        let x = gaussian(100, q, 93);
        let m = measured(&x, &x, &graph(&x, 9), Default::default());
        assert!(
            m.means.r_n < 1e-28 && m.means.r_c < 1e-28 && m.means.r < 1e-28 && m.means.lower_bound < 1e-28,
            "q = {q}: {}",
            m.means.r_n
        );
        assert!((m.means.scale - 1.0).abs() < 1e-13, "q = {q}");
        for p in m.per_point.iter() {
            assert!((p.stretch_max - 1.0).abs() < 1e-9 && (p.stretch_min - 1.0).abs() < 1e-9, "q = {q}");
            assert!((p.area - 1.0).abs() < 1e-9, "q = {q}");
        }
    }
}

/// A sheet with next to no thickness is not stretched by being shown as it is.
#[test]
fn thin_data_are_not_stretched() {
    for thickness in [1e-2, 1e-4, 1e-6, 1e-8, 1e-9, 1e-12, 1e-15] {
        let mut x = gaussian(200, 3, 94);
        x.column_mut(2).mapv_inplace(|v| v * thickness);
        let x = x.dot(&orthonormal(3, 3, 95));
        let m = measured(&x, &x, &graph(&x, 8), Default::default());
        for (i, p) in m.per_point.iter().enumerate() {
            let off = (p.stretch_max - 1.0).abs().max((p.stretch_min - 1.0).abs()).max((p.area - 1.0).abs());
            assert!(off < 1e-3, "thickness {thickness:e}, point {i}: {p:?}");
        }
    }
}

#[test]
fn a_linear_stretch_is_seen() {
    let x = gaussian(100, 2, 96);
    let y = &x * &ndarray::array![[3.0, 0.5]];
    for p in measured(&x, &y.dot(&orthonormal(2, 2, 97)), &graph(&x, 9), Default::default()).per_point.iter()
    {
        assert!((p.stretch_max - 3.0).abs() < 1e-10 && (p.stretch_min - 0.5).abs() < 1e-10);
        assert!((p.area - 1.5).abs() < 1e-10);
    }
}

/// Whether wide or far away: what is left is the rounding of the input.
#[test]
fn an_isometry_scores_nothing() {
    for (q, d) in [(2, 2), (3, 2), (3, 3), (5, 1), (20, 2), (30, 5), (560, 2), (560, 3), (560, 4)] {
        let y = gaussian(300, d, 98) * 100.0;
        let x = y.dot(&orthonormal(q, d, 99).t());
        for (x, offset) in [(&x + 1e6, 1e6), (x, 0.0)] {
            for include_self in [true, false] {
                let params = FaithfulnessParams { include_self, centers: None, weights: None };
                let m = measured(&x, &y, &graph(&x, 6), params);
                let limit = if offset > 0.0 { 1e-20 } else { 1e-28 };
                for (name, value) in
                    [("r_n", m.means.r_n), ("r_c", m.means.r_c), ("bound", m.means.lower_bound)]
                {
                    assert!(value < limit, "q = {q}, d = {d}, offset {offset:e}: {name} = {value:e}");
                }
            }
        }
    }
}

/// On a dyadic grid an offset of 1e6 costs nothing, so nothing may be lost to it.
#[test]
fn an_exact_offset_costs_no_digits() {
    let y = gaussian(300, 3, 100).mapv(|v| (v * 1024.0).round() / 1024.0);
    for q in [3, 10, 560] {
        let mut x = Array2::zeros((300, q));
        [q - 1, 0, q / 2].iter().enumerate().for_each(|(j, &axis)| x.column_mut(axis).assign(&-&y.column(j)));
        let far = &x + 1e6;
        let (near, far) = (
            measured(&x, &y, &graph(&x, 6), Default::default()),
            measured(&far, &(&y - 1e6), &graph(&x, 6), Default::default()),
        );
        assert!(
            near.means.r_n < 1e-28 && far.means.r_n < 1e-28,
            "q = {q}: {:e}, {:e}",
            near.means.r_n,
            far.means.r_n
        );
        assert!(far.means.lower_bound < 1e-28 && far.means.r_pca < 1e-28, "q = {q}");
    }
}

const ORDINARY: [Cloud; 7] = [
    Cloud::Normal,
    Cloud::Grid,
    Cloud::Duplicates,
    Cloud::AllEqual,
    Cloud::Collinear,
    Cloud::Outlier,
    Cloud::Offset,
];

/// A problem of random size: data, embedding and the seed of what is done to them.
fn problem() -> impl Strategy<Value = (Array2<f64>, Array2<f64>, usize, u64)> {
    (1usize..=12, 1usize..=4, 20usize..80, 3usize..12, 0u64..100_000)
        .prop_map(|(q, d, n, k, seed)| (gaussian(n, q, seed), gaussian(n, d.min(q), seed + 1), k, seed))
}

/// (r, r_n, r_c, r_pca, bound, r_n_scaled)
fn numbers(m: &Faithfulness) -> [f64; 6] {
    [m.means.r, m.means.r_n, m.means.r_c, m.means.r_pca, m.means.lower_bound, m.means.r_n_scaled]
}

fn all_close(found: &[f64], expected: &[f64], tolerance: f64) -> bool {
    found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= tolerance * b.abs() + 1e-13)
}

proptest! {
    #![proptest_config(cases(60))]

    /// Hard neighborhoods beside ordinary ones, in groups of any size.
    #[test]
    fn hard_data_are_measured_by_the_definition(
        kinds in (proptest::sample::select(&ORDINARY[..]), proptest::sample::select(&ORDINARY[..])),
        (q, d) in (1usize..=6).prop_flat_map(|q| (Just(q), 1..=q.min(3))),
        (n, k) in (3usize..50).prop_flat_map(|n| (Just(n), 1..n.min(15))),
        include_self in any::<bool>(),
        seed in 0u64..100_000,
    ) {
        let params = FaithfulnessParams { include_self, centers: None, weights: None };
        let all = (0..n).collect::<Vec<_>>();
        for (kind_x, kind_y) in [kinds, (Cloud::Tiny, Cloud::Tiny), (Cloud::Huge, Cloud::Huge)] {
            let (x, y) = (double(kind_x, n, q, seed), double(kind_y, n, d, seed + 1));
            let graph = graph(&x, k);
            check(&x, &y, &graph, params, &format!("{kind_x:?}, {kind_y:?}, n = {n}, q = {q}, d = {d}, k = {k}"));
            // some rows of either coincide
            let half = all.iter().map(|&i| if i % 3 == 0 { i } else { i % 3 }).collect::<Vec<_>>();
            let (x, y) = (x.select(Axis(0), &half), y.select(Axis(0), &half));
            check(&x, &y, &graph, params, &format!("{kind_x:?}, {kind_y:?}, folded, n = {n}, q = {q}, d = {d}, k = {k}"));
        }
    }

    #[test]
    fn motions_change_nothing((x, y, k, seed) in problem()) {
        let graph = graph(&x, k);
        let before = measured(&x, &y, &graph, Default::default());
        // orthogonal matrices, so that half of them reflect
        let moved_x = x.dot(&orthonormal(x.ncols(), x.ncols(), seed + 2)) + 3.0;
        let moved_y = y.dot(&orthonormal(y.ncols(), y.ncols(), seed + 3)) - 5.0;
        let mut mirrored_y = y.clone();
        mirrored_y.column_mut(0).mapv_inplace(|v| -v);
        for (x, y) in [(&moved_x, &y), (&x, &moved_y), (&moved_x, &moved_y), (&x, &mirrored_y)] {
            let after = measured(x, y, &graph, Default::default());
            prop_assert!(all_close(&numbers(&after), &numbers(&before), 1e-9));
            for (a, b) in after.per_point.iter().zip(before.per_point.iter()) {
                prop_assert!(all_close(&[a.r, a.r_n, a.r_c, a.bound], &[b.r, b.r_n, b.r_c, b.bound], 1e-9));
            }
        }
    }

    #[test]
    fn a_permutation_permutes((x, y, k, seed) in problem()) {
        let order = permutation(x.nrows(), seed + 2);
        let (px, py) = (x.select(Axis(0), &order), y.select(Axis(0), &order));
        let before = measured(&x, &y, &graph(&x, k), Default::default());
        let after = measured(&px, &py, &graph(&px, k), Default::default());
        prop_assert!(all_close(&numbers(&after), &numbers(&before), 1e-10));
        for (a, &place) in after.per_point.iter().zip(&order) {
            prop_assert_eq!(a, before.per_point.get(place));
        }
    }

    #[test]
    fn scaling_changes_what_it_should((x, y, k, _) in problem(), c in 1e-3..1e3f64) {
        let graph = graph(&x, k);
        let before = measured(&x, &y, &graph, Default::default());
        let scaled = measured(&x, &(&y * c), &graph, Default::default());
        prop_assert!(all_close(&[scaled.means.r_c, scaled.means.lower_bound, scaled.means.r_n_scaled], &[before.means.r_c, before.means.lower_bound, before.means.r_n_scaled], 1e-9));
        prop_assert!(all_close(&[scaled.means.scale * c], &[before.means.scale], 1e-9));
        let both = measured(&(&x * c), &(&y * c), &graph, Default::default());
        prop_assert!(all_close(&numbers(&both)[1..3], &numbers(&before)[1..3], 1e-9));
        prop_assert!(all_close(&[both.means.r / (c * c), both.means.r_pca / (c * c)], &[before.means.r, before.means.r_pca], 1e-9));
    }

    #[test]
    fn measures_keep_their_order((x, y, k, _) in problem()) {
        let m = measured(&x, &y, &graph(&x, k), Default::default());
        let above = |larger: f64, smaller: f64| smaller <= larger * (1.0 + 1e-12) + 1e-15;
        for p in m.per_point.iter() {
            prop_assert!(above(p.r_n, p.r_c) && above(p.r_c, p.bound) && above(1.0, p.r_c) && p.bound >= 0.0);
            prop_assert!(p.stretch_max >= p.stretch_min && p.stretch_min >= 0.0);
        }
        prop_assert!(above(m.means.r_n, m.means.r_n_scaled) && above(m.means.r_n_scaled, m.means.r_c) && above(m.means.r_c, m.means.lower_bound));
    }

    /// The scale reported is the best one: the measured r_n says so.
    #[test]
    fn the_scale_is_the_best((x, y, k, _) in problem()) {
        let graph = graph(&x, k);
        let m = measured(&x, &y, &graph, Default::default());
        let at = |c: f64| measured(&x, &(&y * c), &graph, Default::default()).means.r_n;
        prop_assert!(all_close(&[at(m.means.scale)], &[m.means.r_n_scaled], 1e-9));
        prop_assert!(at(m.means.scale * 1.01) > m.means.r_n_scaled && at(m.means.scale * 0.99) > m.means.r_n_scaled);
    }
}

#[test]
fn single_precision_is_nearly_the_same() {
    let Sample { x, coordinates } = roll(1000);
    let y = &coordinates + &(gaussian(1000, 2, 101) * 0.2);
    let graph = graph(&x, 10);
    let double = measured(&x, &y, &graph, Default::default());
    let (x, y) = (x.mapv(|v| v as f32), y.mapv(|v| v as f32));
    let x = Points::new("X", x.view(), &Unmonitored).unwrap();
    let y = Points::new("Y", y.view(), &Unmonitored).unwrap();
    let single = faithfulness(&x, &y, &graph, Default::default(), &Unmonitored).unwrap();
    for (a, b) in numbers(&single).iter().zip(numbers(&double)) {
        assert!((a - b).abs() < 1e-4 * b && *a != b, "{a:e}, {b:e}");
    }
}

#[test]
fn a_few_centres_are_entries_of_the_full_run() {
    let x = gaussian(3000, 5, 102);
    let y = gaussian(3000, 2, 103);
    let graph = graph(&x, 8);
    let centers: Vec<u32> = permutation(3000, 104)[..1200].iter().map(|&i| i as u32).collect();
    for include_self in [true, false] {
        let full =
            measured(&x, &y, &graph, FaithfulnessParams { include_self, centers: None, weights: None });
        let params = FaithfulnessParams { include_self, centers: Some(&centers), weights: None };
        let few = measured(&x, &y, &graph, params);
        let expected: Vec<_> = centers.iter().map(|&i| full.per_point.get(i as usize)).collect();
        assert_eq!(few.per_point.iter().collect::<Vec<_>>(), expected);
        let mean = expected.iter().map(|p| p.r_n).sum::<f64>() / 1200.0;
        assert!((few.means.r_n - mean).abs() < 1e-13);
        let bounds = lower_bound(&points(&x), 2, &graph, params, &Unmonitored).unwrap();
        assert_eq!(bounds, expected.iter().map(|p| p.bound).collect::<Vec<_>>());
    }
}

/// No entry depends on which others are measured beside it, nor on the order of the visits.
#[test]
fn large_data_are_measured_point_by_point() {
    let n = 60_001;
    for (q, d) in [(2, 2), (3, 2), (4, 1)] {
        let (mut x, y) = (gaussian(n, q, 114), gaussian(n, d, 115));
        x.row_mut(n / 2).fill(1e100);
        let graph = graph(&x, 5);
        let full = measured(&x, &y, &graph, Default::default());
        let centers: Vec<u32> = permutation(n, 116)[..2003].iter().map(|&i| i as u32).collect();
        let few = measured(
            &x,
            &y,
            &graph,
            FaithfulnessParams { centers: Some(&centers), include_self: true, weights: None },
        );
        let expected: Vec<_> = centers.iter().map(|&i| full.per_point.get(i as usize)).collect();
        assert!(few.per_point.iter().collect::<Vec<_>>() == expected, "q = {q}");
        let alone = on_threads(1, || measured(&x, &y, &graph, Default::default()));
        assert!(alone.per_point == full.per_point && numbers(&alone) == numbers(&full), "q = {q}");
    }
}

/// Neighborhoods that coincide do not count.
#[test]
fn the_mean_bound_is_that_of_neighborhoods_with_a_size() {
    let mut x = gaussian(60, 3, 109);
    (0..20).for_each(|i| x.row_mut(i).fill(1.0));
    let graph = graph(&x, 6);
    let m = measured(&x, &gaussian(60, 2, 110), &graph, Default::default());
    let mean = mean_lower_bound(&points(&x), 2, &graph, Default::default(), &Unmonitored).unwrap();
    assert!(m.means.n_degenerate > 0 && (mean - m.means.lower_bound).abs() <= 1e-13 * mean);
    let one = Array2::ones((20, 3));
    assert_eq!(
        mean_lower_bound(&points(&one), 2, &self::graph(&one, 6), Default::default(), &Unmonitored),
        Ok(0.0)
    );
}

#[test]
fn the_bound_alone_is_that_of_the_full_run() {
    for (q, k) in [(2, 6), (3, 8), (5, 4), (20, 9), (20, 30), (100, 6)] {
        let x = gaussian(300, q, 105);
        let graph = graph(&x, k);
        for d in 1..=q.min(4) {
            let m = measured(&x, &gaussian(300, d, 106), &graph, Default::default());
            let bounds = lower_bound(&points(&x), d, &graph, Default::default(), &Unmonitored).unwrap();
            for (a, p) in bounds.iter().zip(m.per_point.iter()) {
                assert!((a - p.bound).abs() <= 1e-13 * a + 1e-30, "q = {q}, d = {d}: {a:e}, {:e}", p.bound);
            }
            let mean = mean_lower_bound(&points(&x), d, &graph, Default::default(), &Unmonitored).unwrap();
            assert!((mean - m.means.lower_bound).abs() <= 1e-13 * mean + 1e-30, "q = {q}, d = {d}: {mean:e}");
        }
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    for (q, d) in [(3, 2), (20, 3), (4, 4)] {
        let (x, y) = (gaussian(3000, q, 107), gaussian(3000, d, 108));
        let graph = graph(&x, 9);
        let run = || {
            let m = measured(&x, &y, &graph, Default::default());
            (numbers(&m).map(f64::to_bits), m.means.scale.to_bits(), m.per_point)
        };
        let alone = on_threads(1, run);
        for threads in [2, 8] {
            assert!(on_threads(threads, run) == alone, "q = {q}, d = {d}, {threads} threads");
        }
    }
}

#[test]
fn bad_requests_are_refused() {
    let (x, y) = (gaussian(20, 2, 109), gaussian(20, 3, 110));
    let graph = graph(&x, 4);
    let refused = |x: &Array2<f64>, y: &Array2<f64>, params| {
        faithfulness(&points(x), &points(y), &graph, params, &Unmonitored).unwrap_err()
    };
    let plain = FaithfulnessParams::default();
    assert_eq!(refused(&x, &y, plain), Error::TooManyComponents { n_components: 3, dim_in: 2 });
    let fewer = gaussian(19, 2, 111);
    assert_eq!(
        refused(&x, &fewer, plain),
        Error::LengthMismatch { left: "X", left_len: 20, right: "Y", right_len: 19 }
    );
    assert!(matches!(
        refused(&fewer, &fewer, plain),
        Error::LengthMismatch { left_len: 19, right_len: 20, .. }
    ));
    let bounds =
        |x: &Array2<f64>, d, params| lower_bound(&points(x), d, &graph, params, &Unmonitored).unwrap_err();
    assert_eq!(bounds(&x, 0, plain), Error::NoComponents);
    assert_eq!(bounds(&x, 3, plain), Error::TooManyComponents { n_components: 3, dim_in: 2 });
    assert!(matches!(bounds(&fewer, 1, plain), Error::LengthMismatch { left_len: 19, right_len: 20, .. }));
    for (centers, is_empty) in [(&[][..], true), (&[3, 20][..], false)] {
        let params = FaithfulnessParams { centers: Some(centers), ..plain };
        for error in [refused(&x, &x, params), bounds(&x, 1, params)] {
            match error {
                Error::OutOfRange { name: "n_centers", .. } => assert!(is_empty),
                Error::NeighborOutOfRange { neighbor: 20, n: 20, .. } => assert!(!is_empty),
                other => panic!("{other:?}"),
            }
        }
    }
}

/// The exponents with which measures fall as neighborhoods shrink: slopes of log r, log r_pca, log r_n,
/// log r_c against the log of the mean radius, for 12 neighbors of ever more points.
fn exponents(sample: impl Fn(usize) -> Sample) -> [f64; 4] {
    let runs: Vec<(f64, [f64; 4])> = [1_000, 4_000, 16_000, 64_000]
        .map(|n| {
            let Sample { x, coordinates } = sample(n);
            let knn = neighbors::nearest(&points(&x), 12, Search::Auto, &Unmonitored).unwrap();
            let radius = knn.distances.chunks(12).map(|row| row[11]).sum::<f64>() / n as f64;
            let m = measured(&x, &coordinates, &knn.neighborhoods, Default::default());
            (radius.ln(), [m.means.r, m.means.r_pca, m.means.r_n, m.means.r_c].map(f64::ln))
        })
        .into();
    type Run = (f64, [f64; 4]);
    let mean = |f: &dyn Fn(&Run) -> f64| runs.iter().map(f).sum::<f64>() / runs.len() as f64;
    let at = mean(&|run| run.0);
    let spread = mean(&|run| (run.0 - at).powi(2));
    [0, 1, 2, 3].map(|which| mean(&|run| (run.0 - at) * run.1[which]) / spread)
}

/// Theorems 1 to 3: the true coordinates of a roll.
#[test]
fn the_truth_converges_at_the_rates_of_the_paper() {
    let [r, r_pca, r_n, r_c] = exponents(roll);
    assert!((r - 4.0).abs() < 0.15, "r falls with exponent {r}");
    assert!(r_pca > 2.85, "r_pca falls with exponent {r_pca}");
    assert!((r_n - 2.0).abs() < 0.15, "r_n falls with exponent {r_n}");
    assert!((r_c - 2.0).abs() < 0.15, "r_c falls with exponent {r_c}");
}

/// Corollary 1: a map that keeps angles only. r_c forgives it, r_n does not.
#[test]
fn a_conformal_map_converges_in_r_c_alone() {
    let bowl = |n| fishbowl(n, &Fishbowl { rim: 0.0, ..Default::default() }, 112, &Unmonitored).unwrap();
    let [_, _, r_n, r_c] = exponents(bowl);
    assert!((r_c - 2.0).abs() < 0.15, "r_c falls with exponent {r_c}");
    assert!(r_n.abs() < 0.15, "r_n falls with exponent {r_n}");
}

/// A hemisphere lies flat nowhere: its coordinates are as bad at every sample size, its bound is not.
#[test]
fn the_bound_of_a_sphere_falls_with_the_square_of_the_radius() {
    let at = |n: usize| {
        let x = unbend::synthetic::hemisphere(n, 0.0, 113, &Unmonitored).unwrap().x;
        let m = lower_bound(&points(&x), 2, &graph(&x, 12), Default::default(), &Unmonitored).unwrap();
        m.iter().sum::<f64>() / n as f64
    };
    // a neighborhood of 13 points of the unit sphere: bound about (curvature x radius)^2 over a constant
    let ratio = at(2_000) / at(32_000);
    assert!((ratio / 16.0 - 1.0).abs() < 0.1, "{ratio}");
    assert!(at(2_000) < 13.0 / 2_000.0 * PI);
}
