//! Ranks among neighbors are those of a full sort: on hard data, by both searches, for any number listed.

use ndarray::{Array2, Axis};
use proptest::prelude::*;
use unbend::points::Values;
use unbend::{Error, Points, Search, Unmonitored, neighbors};

use crate::clouds::*;
use crate::{cases, naive, on_threads};

fn points<'a>(x: impl Into<Values<'a>>) -> Points<'a> {
    Points::new("X", x, &Unmonitored).unwrap()
}

fn ranks<'a>(
    x: impl Into<Values<'a>>,
    centers: Option<&[u32]>,
    listed: &[u32],
    k: usize,
    search: Search,
) -> Vec<u32> {
    neighbors::ranks(&points(x), centers, listed, k, search, &Unmonitored).unwrap()
}

fn searches(q: usize) -> &'static [Search] {
    if q <= 16 { &[Search::Tree, Search::Blocked, Search::Auto] } else { &[Search::Blocked, Search::Auto] }
}

/// `k` different others for each point.
fn some_others(n: usize, k: usize, seed: u64) -> Vec<u32> {
    let step = |i: usize| permutation(n - 1, seed + i as u64 % 5);
    let others = |i: usize| step(i).into_iter().take(k).map(move |j| ((i + 1 + j) % n) as u32);
    (0..n).flat_map(others).collect()
}

fn expected(x: &Array2<f64>, listed: &[u32], k: usize) -> Vec<u32> {
    let all = naive::ranks(x);
    let of = |(i, list): (usize, &[u32])| list.iter().map(|&j| all[i][j as usize]).collect::<Vec<_>>();
    listed.chunks(k).enumerate().flat_map(of).collect()
}

fn check(kind: Cloud, n: usize, q: usize, k: usize, seed: u64) {
    let (x, narrow) = (double(kind, n, q, seed), single(kind, n, q, seed));
    let listed = some_others(n, k, seed);
    // wide rows are summed in lanes: the order among ties of rounding is that of `nearest`
    let (wide, wide_narrow) = if q <= 16 {
        (expected(&x, &listed, k), expected(&narrow.mapv(f64::from), &listed, k))
    } else {
        (by_nearest(x.view(), n, &listed, k), by_nearest(narrow.view(), n, &listed, k))
    };
    for &search in searches(q) {
        let what = format!("{kind:?}, n = {n}, q = {q}, k = {k}, seed = {seed}, {search:?}");
        assert_eq!(ranks(x.view(), None, &listed, k, search), wide, "{what}");
        assert_eq!(ranks(narrow.view(), None, &listed, k, search), wide_narrow, "{what}, f32");
    }
}

/// Ranks by the places in the full lists of neighbors.
fn by_nearest<'a>(x: impl Into<Values<'a>>, n: usize, listed: &[u32], k: usize) -> Vec<u32> {
    let graph = neighbors::nearest(&points(x), n - 1, Search::Blocked, &Unmonitored).unwrap().neighborhoods;
    let place = |i: usize, j: u32| graph.of(i).iter().position(|&l| l == j).unwrap() as u32 + 1;
    listed.iter().enumerate().map(|(at, &j)| place(at / k, j)).collect()
}

#[test]
fn ranks_are_those_of_a_full_sort_on_every_cloud() {
    for kind in CLOUDS {
        for q in [1, 2, 3, 4, 6, 8, 12, 16, 17, 60] {
            check(kind, 50, q, 5, 10);
        }
        for (n, q, k) in
            [(2, 1, 1), (2, 30, 1), (15, 2, 14), (17, 2, 16), (300, 3, 70), (513, 3, 4), (530, 20, 9)]
        {
            check(kind, n, q, k, 11);
        }
        check(kind, 180, 18, 170, 12);
    }
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn ranks_are_those_of_a_full_sort(
        kind in proptest::sample::select(&CLOUDS[..]),
        n in 2usize..700,
        q in 1usize..=16,
        share in 0.0..1.0f64,
        seed in 0u64..1000,
    ) {
        let k = 1 + ((n - 2) as f64 * share.powi(4)).round() as usize;
        check(kind, n, q, k, seed);
    }

    #[test]
    fn ranks_of_the_nearest_are_their_places(
        kind in proptest::sample::select(&CLOUDS[..]),
        n in 2usize..1300,
        q in 1usize..=40,
        k in 1usize..90,
        seed in 0u64..1000,
    ) {
        let (x, k) = (double(kind, n, q, seed), k.min(n - 1));
        for &search in searches(q) {
            let near = neighbors::nearest_to(&points(x.view()), None, k, search, &Unmonitored).unwrap();
            let found = ranks(x.view(), None, &near, k, search);
            prop_assert!(found.iter().enumerate().all(|(at, &rank)| rank as usize == at % k + 1));
        }
    }

    #[test]
    fn a_sample_has_the_ranks_of_the_whole(
        kind in proptest::sample::select(&CLOUDS[..]),
        n in 30usize..1200,
        q in 1usize..=40,
        k in 1usize..80,
        every in 1usize..90,
        seed in 0u64..1000,
    ) {
        let (x, k) = (double(kind, n, q, seed), k.min(n - 1));
        let centers: Vec<u32> = (0..n as u32).rev().step_by(every).collect();
        let listed = some_others(n, k, seed);
        let rows = |all: &[u32]| centers.iter().flat_map(|&i| all[i as usize * k..][..k].to_vec()).collect::<Vec<_>>();
        let whole = ranks(x.view(), None, &listed, k, Search::Auto);
        let near = neighbors::nearest_to(&points(x.view()), None, k, Search::Auto, &Unmonitored).unwrap();
        for &search in searches(q) {
            prop_assert_eq!(ranks(x.view(), Some(&centers), &rows(&listed), k, search), rows(&whole));
            let some = neighbors::nearest_to(&points(x.view()), Some(&centers), k, search, &Unmonitored).unwrap();
            prop_assert_eq!(some, rows(&near));
        }
    }
}

#[test]
fn both_searches_agree_on_larger_data() {
    for (kind, n, q, k) in [
        (Cloud::Normal, 6000, 2, 20),
        (Cloud::Grid, 3000, 3, 7),
        (Cloud::Duplicates, 4000, 5, 64),
        (Cloud::Normal, 3000, 12, 65),
        (Cloud::Outlier, 3000, 6, 12),
    ] {
        let x = double(kind, n, q, 5);
        // near in other coordinates: ranks from 1 to n - 1
        let y = x.select(Axis(1), &[0]);
        let listed = neighbors::nearest_to(&points(y.view()), None, k, Search::Auto, &Unmonitored).unwrap();
        let tree = ranks(x.view(), None, &listed, k, Search::Tree);
        assert!(
            tree == ranks(x.view(), None, &listed, k, Search::Blocked),
            "{kind:?}, n = {n}, q = {q}, k = {k}"
        );
    }
}

#[test]
fn the_same_for_any_number_of_threads_and_any_layout() {
    for (n, q, k) in [(3000, 3, 12), (1500, 30, 12), (1500, 30, 70)] {
        let (x, listed) = (gaussian(n, q, 8), some_others(n, k, 8));
        let one = on_threads(1, || ranks(x.view(), None, &listed, k, Search::Auto));
        for threads in [2, 3, 7] {
            assert!(on_threads(threads, || ranks(x.view(), None, &listed, k, Search::Auto)) == one);
        }
        assert!(ranks(fortran(&x).view(), None, &listed, k, Search::Auto) == one);
        let larger = spread_out(&x, f64::NAN);
        assert!(ranks(spread_out_view(&larger), None, &listed, k, Search::Auto) == one);
    }
}

/// Ties are decided for whole nodes, not point by point.
#[test]
fn points_in_one_spot_stay_fast() {
    let n = 40_000;
    let spot = Array2::<f64>::zeros((n, 2));
    let listed: Vec<u32> = (0..n as u32).map(|i| (i + 7) % n as u32).collect();
    let found = ranks(spot.view(), None, &listed, 1, Search::Tree);
    let expected = |i: usize| ((i + 7) % n) as u32 + u32::from((i + 7) % n < i);
    assert!((0..n).all(|i| found[i] == expected(i)));
}

#[test]
fn bad_lists_are_named() {
    let x = gaussian(10, 2, 1);
    let fails = |centers: Option<&[u32]>, listed: &[u32], k| {
        neighbors::ranks(&points(x.view()), centers, listed, k, Search::Auto, &Unmonitored).unwrap_err()
    };
    assert_eq!(fails(None, &[], 0), Error::NoNeighbors);
    assert!(fails(None, &[1; 9], 1).to_string().contains('9'));
    assert_eq!(fails(Some(&[3]), &[12], 1), Error::NeighborOutOfRange { point: 3, neighbor: 12, n: 10 });
    assert_eq!(fails(Some(&[3]), &[3], 1), Error::RepeatedNeighbor { point: 3, neighbor: 3 });
    assert_eq!(fails(Some(&[11]), &[3], 1), Error::NeighborOutOfRange { point: 11, neighbor: 11, n: 10 });
}
