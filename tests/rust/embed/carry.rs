//! Where new points go: against the definition, and where it is known beforehand.

use ndarray::{Array2, ArrayView2, Axis};
use proptest::prelude::*;
use unbend::embed::{Carried, carry};
use unbend::points::Values;
use unbend::{Error, Points, Search, Unmonitored, neighbors};

use crate::clouds::*;
use crate::{cases, naive, on_threads};

fn points<'a>(x: impl Into<Values<'a>>) -> Points<'a> {
    Points::new("X", x, &Unmonitored).unwrap()
}

fn lists(x: &Array2<f64>, new: &Array2<f64>, k: usize) -> Vec<u32> {
    neighbors::query(&points(x.view()), &points(new.view()), k, Search::Auto, &Unmonitored).unwrap().indices
}

fn carried<'a>(
    source: impl Into<Values<'a>>,
    target: impl Into<Values<'a>>,
    new: impl Into<Values<'a>>,
    lists: &[u32],
    k: usize,
) -> Carried {
    carry(&points(source), &points(target), &points(new), lists, k, &Unmonitored).unwrap()
}

fn placed(carried: &Carried, dim: usize) -> ArrayView2<'_, f64> {
    ArrayView2::from_shape((carried.errors.len(), dim), &carried.placed).unwrap()
}

fn largest(x: &Array2<f64>) -> f64 {
    x.iter().fold(0.0, |largest, v| v.abs().max(largest))
}

/// A flat sheet moved into `q` dimensions, and the sheet.
fn isometric(n: usize, q: usize, d: usize, seed: u64) -> (Array2<f64>, Array2<f64>) {
    let flat = gaussian(n, d, seed);
    let moved = flat.dot(&orthonormal(q, d, seed + 1).t()) + gaussian(1, q, seed + 2);
    (moved, flat)
}

/// Every combination for which there is code of its own: direct and reduced, either way.
const DIMENSIONS: [(usize, usize); 9] =
    [(1, 1), (2, 1), (2, 2), (3, 2), (3, 3), (20, 2), (20, 7), (60, 2), (300, 12)];

#[test]
fn an_isometry_is_carried_exactly_either_way() {
    for (q, d) in DIMENSIONS {
        let (moved, flat) = isometric(300, q, d, 80);
        for (source, target) in [(&moved, &flat), (&flat, &moved)] {
            let (from, new) = source.view().split_at(Axis(0), 250);
            let (to, expected) = target.view().split_at(Axis(0), 250);
            let lists = lists(&from.to_owned(), &new.to_owned(), 15);
            let found = carried(from, to, new, &lists, 15);
            let off = largest(&(&placed(&found, to.ncols()) - &expected));
            assert!(off < 1e-12, "{} to {}: {off:e}", from.ncols(), to.ncols());
            assert!(found.errors.iter().all(|&error| error < 1e-13), "{} to {}", from.ncols(), to.ncols());
        }
    }
}

/// Neither a common offset nor the unit of length costs digits.
#[test]
fn an_isometry_far_away_is_carried() {
    let (moved, flat) = isometric(100, 20, 2, 81);
    for (scale, offset) in [(1.0, 1e9), (1e-120, 0.0), (1e140, 0.0)] {
        let (moved, flat) = (&moved * scale + offset, &flat * scale - offset);
        let lists = lists(&moved, &moved, 9).iter().map(|&j| (j + 1) % 100).collect::<Vec<_>>();
        for (source, target) in [(&moved, &flat), (&flat, &moved)] {
            let found = carried(source.view(), target.view(), source.view(), &lists, 9);
            let off = largest(&(&placed(&found, target.ncols()) - target));
            assert!(off <= 1e-12 * scale + 1e-14 * offset, "scale {scale:e}, offset {offset:e}: {off:e}");
        }
    }
}

fn check_carry(kind: Cloud, [n, m, a, b]: [usize; 4], k: usize, seed: u64) {
    let (source, target) = (double(kind, n, a, seed), gaussian(n, b, seed + 3));
    let new = double(kind, m, a, seed + 5);
    let lists = lists(&source, &new, k);
    let found = carried(source.view(), target.view(), new.view(), &lists, k);
    let what = format!("{kind:?}, {a} to {b}, k = {k}, seed = {seed}");
    assert!(found.placed.iter().chain(&found.errors).all(|v| v.is_finite()), "{what}");
    for i in 0..m {
        let list: Vec<usize> = lists[i * k..][..k].iter().map(|&j| j as usize).collect();
        let coincides = list.iter().find(|&&j| source.row(j) == new.row(i));
        let row = &found.placed[i * b..][..b];
        if let Some(&j) = coincides {
            assert_eq!((row, found.errors[i]), (target.row(j).to_slice().unwrap(), 0.0), "{what}, point {i}");
            continue;
        }
        let (expected, error, decided) = naive::carried(&source, &target, new.row(i), &list);
        if decided {
            let reach = (0..a).map(|c| (new[[i, c]] - source[[list[0], c]]).abs()).fold(1.0, f64::max);
            let off = (0..b).map(|c| (row[c] - expected[c]).abs()).fold(0.0, f64::max);
            assert!(off < 1e-8 * reach, "{what}, point {i} is {off:e} off");
        }
        // the error is that of any of the best rotations
        assert!((found.errors[i] - error).abs() <= 1e-9 * (error + 1e-3), "{what}, point {i}: {error:e}");
    }
}

#[test]
fn carry_is_the_definition_on_every_cloud() {
    // the definition is written for lengths whose squares do not vanish
    for kind in CLOUDS.into_iter().filter(|kind| !matches!(kind, Cloud::Tiny | Cloud::Huge)) {
        for (q, d) in DIMENSIONS {
            check_carry(kind, [60, 20, q, d], 10, 82);
            check_carry(kind, [60, 20, d, q], 10, 83);
        }
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn carry_is_the_definition(
        kind in proptest::sample::select(vec![Cloud::Normal, Cloud::Grid, Cloud::Duplicates, Cloud::Collinear]),
        n in 1usize..80,
        a in 1usize..40,
        b in 1usize..40,
        k in 1usize..20,
        seed in 0u64..1000,
    ) {
        check_carry(kind, [n, 15, a, b], k.min(n), seed);
    }
}

/// One listed point, two that coincide, a line, extremes: some place, and a finite one.
#[test]
fn undecided_rotations_give_finite_places() {
    for kind in CLOUDS {
        for (q, d) in DIMENSIONS {
            let (source, target) = (double(kind, 30, q, 84), double(kind, 30, d, 85));
            let new = double(kind, 25, q, 86);
            for k in [1, 2, 3, 8] {
                let lists = lists(&source, &new, k);
                let down = carried(source.view(), target.view(), new.view(), &lists, k);
                let back = carried(target.view(), source.view(), target.view(), &lists_of(&target, k), k);
                for carried in [down, back] {
                    let finite = carried.placed.iter().chain(&carried.errors).all(|v| v.is_finite());
                    assert!(finite, "{kind:?}, {q} and {d}, k = {k}");
                }
            }
        }
    }
}

/// Every point lists others than itself.
fn lists_of(x: &Array2<f64>, k: usize) -> Vec<u32> {
    let found = neighbors::nearest(&points(x.view()), k, Search::Auto, &Unmonitored).unwrap();
    found.neighborhoods.indices().to_vec()
}

/// One listed point decides nothing but where to start, and a rotation never lengthens.
#[test]
fn one_listed_point_is_a_start() {
    for (q, d) in DIMENSIONS {
        let (source, target) = (gaussian(20, q, 87), gaussian(20, d, 88));
        for (from, to) in [(&source, &target), (&target, &source)] {
            let new = gaussian(10, from.ncols(), 89);
            let lists = lists(from, &new, 1);
            let found = carried(from.view(), to.view(), new.view(), &lists, 1);
            let length = |x: ArrayView2<f64>, y: ArrayView2<f64>| (&x - &y).mapv(|v| v * v).sum().sqrt();
            for (i, &j) in lists.iter().enumerate() {
                let at = |x: ArrayView2<f64>, i: usize| x.select(Axis(0), &[i]);
                let went = length(at(placed(&found, to.ncols()), i).view(), at(to.view(), j as usize).view());
                let gone = length(at(new.view(), i).view(), at(from.view(), j as usize).view());
                let (low, high) = (if from.ncols() <= to.ncols() { gone } else { 0.0 }, gone);
                assert!(went >= low * (1.0 - 1e-12) && went <= high * (1.0 + 1e-12), "{q}, {d}");
            }
        }
    }
}

/// The first of those listed, whatever its place in the list, and whatever the sign of a zero.
#[test]
fn coincident_points_go_where_the_first_of_them_is() {
    let source = ndarray::array![[5.0, 5.0], [0.0, 1.0], [0.0, 1.0], [3.0, 4.0], [0.0, 1.0]];
    let target = ndarray::array![[0.1], [0.2], [0.3], [0.4], [0.7]];
    let new = ndarray::array![[-0.0, 1.0], [0.0, 1.0], [3.0, 4.0]];
    let found = carried(source.view(), target.view(), new.view(), &[0, 2, 1, 4, 1, 3, 0, 1, 3], 3);
    assert_eq!(found, Carried { placed: vec![0.3, 0.7, 0.4], errors: vec![0.0; 3] });
    for (q, d) in DIMENSIONS {
        let (x, y) = (single(Cloud::Duplicates, 50, q, 90), gaussian(50, d, 91));
        let wide = x.mapv(f64::from);
        let lists = lists(&wide, &wide, 6);
        let found =
            carry(&points(x.view()), &points(y.view()), &points(wide.view()), &lists, 6, &Unmonitored)
                .unwrap();
        for (i, row) in placed(&found, d).rows().into_iter().enumerate() {
            assert_eq!(row, y.row(lists[6 * i] as usize));
        }
        assert!(found.errors.iter().all(|&error| error == 0.0));
    }
}

#[test]
fn layout_precision_and_threads_do_not_matter() {
    for (a, b) in [(3, 2), (2, 3), (60, 2), (20, 9), (9, 20)] {
        let source = single(Cloud::Normal, 1500, a, 92);
        let (target, new) = (gaussian(1500, b, 93), single(Cloud::Outlier, 1400, a, 94));
        let (source_wide, new_wide) = (source.mapv(f64::from), new.mapv(f64::from));
        let lists = lists(&source_wide, &new_wide, 10);
        let run = || carried(source_wide.view(), target.view(), new_wide.view(), &lists, 10);
        let alone = on_threads(1, run);
        for threads in [2, 8] {
            assert!(on_threads(threads, run) == alone, "{a} to {b}, {threads} threads");
        }
        let (turned, larger) = (fortran(&target), spread_out(&new, f32::NAN));
        let other = carry(
            &points(source.view()),
            &points(turned.view()),
            &points(spread_out_view(&larger)),
            &lists,
            10,
            &Unmonitored,
        );
        assert!(other.unwrap() == alone, "{a} to {b}");
    }
}

#[test]
fn bad_requests_are_refused() {
    let (source, target, new) = (gaussian(6, 3, 95), gaussian(6, 2, 96), gaussian(2, 3, 97));
    let refused = |target: &Array2<f64>, new: &Array2<f64>, lists: &[u32], k| {
        let (source, target, new) = (points(source.view()), points(target.view()), points(new.view()));
        carry(&source, &target, &new, lists, k, &Unmonitored).unwrap_err()
    };
    assert_eq!(refused(&target, &new, &[], 0), Error::NoNeighbors);
    let error = refused(&target, &new, &[0, 1, 2, 3, 6, 0], 3);
    assert_eq!(error, Error::NeighborOutOfRange { point: 1, neighbor: 6, n: 6 });
    let error = refused(&target, &new, &[0, 1, 2], 2);
    assert_eq!(error.to_string(), "lists has 3 rows, but new times n_neighbors has 4");
    assert!(matches!(refused(&target, &new, &[0, 1], usize::MAX), Error::LengthMismatch { .. }));
    let error = refused(&gaussian(5, 2, 98), &new, &[0, 1], 1);
    assert_eq!(error.to_string(), "target has 5 rows, but source has 6");
    let error = refused(&target, &target, &[0; 6], 1);
    assert_eq!(error.to_string(), "new has 2 columns, but source has 3");
}
