//! Both searches give what the double loop gives: on hard data, in every layout, on any number of threads.

use std::time::{Duration, Instant};

use ndarray::{Array2, ArrayView2, Axis};
use proptest::prelude::*;
use unbend::points::Values;
use unbend::{Error, Found, Knn, Points, Search, Unmonitored, neighbors};

use crate::clouds::*;
use crate::{cases, naive, on_threads};

type Rows = Vec<Vec<(f64, u32)>>;

fn points<'a>(x: impl Into<Values<'a>>) -> Points<'a> {
    Points::new("X", x, &Unmonitored).unwrap()
}

fn nearest<'a>(x: impl Into<Values<'a>>, k: usize, search: Search) -> Knn {
    neighbors::nearest(&points(x), k, search, &Unmonitored).unwrap()
}

fn within<'a>(x: impl Into<Values<'a>>, radius: f64, search: Search) -> Knn {
    neighbors::within(&points(x), radius, search, &Unmonitored).unwrap()
}

fn query<'a>(x: impl Into<Values<'a>>, new: impl Into<Values<'a>>, k: usize, search: Search) -> Found {
    neighbors::query(&points(x), &points(new), k, search, &Unmonitored).unwrap()
}

/// (distance, index) for every point.
fn rows(knn: &Knn) -> Rows {
    let graph = &knn.neighborhoods;
    let mut distances = knn.distances.iter();
    (0..graph.len()).map(|i| graph.of(i).iter().map(|&j| (*distances.next().unwrap(), j)).collect()).collect()
}

/// The searches that take data of this dimension.
fn searches(q: usize) -> &'static [Search] {
    if q <= 16 { &[Search::Tree, Search::Blocked, Search::Auto] } else { &[Search::Blocked, Search::Auto] }
}

/// The same neighbors in the same order. Distances have the same bits as long as all sum dimension after
/// dimension; wide data are summed in lanes.
fn assert_same(found: &Knn, expected: &Rows, q: usize, what: &str) {
    assert_same_rows(&rows(found), expected, q, what);
}

fn assert_same_rows(found: &Rows, expected: &Rows, q: usize, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        let ids = |row: &[(f64, u32)]| row.iter().map(|&(_, j)| j).collect::<Vec<_>>();
        assert_eq!(ids(found), ids(expected), "neighbors of point {i}: {what}");
        for (&(found, _), &(expected, _)) in found.iter().zip(expected) {
            let off = (found - expected).abs();
            let allowed = if q <= 16 { 0.0 } else { 1e-14 * expected };
            assert!(off <= allowed, "point {i}: {found:e}, not {expected:e}: {what}");
        }
    }
}

fn assert_found(found: &Found, expected: &Rows, q: usize, what: &str) {
    let pairs: Vec<_> = found.distances.iter().copied().zip(found.indices.iter().copied()).collect();
    assert_eq!(found.indices.len(), found.distances.len(), "{what}");
    assert_same_rows(&pairs.chunks(found.k).map(<[_]>::to_vec).collect(), expected, q, what);
}

/// A new point like the others, copies of them, and some far away.
fn strangers(x: &Array2<f64>, kind: Cloud, m: usize, seed: u64) -> Array2<f64> {
    let mut new = double(kind, m, x.ncols(), seed);
    for i in (0..m).step_by(3) {
        new.row_mut(i).assign(&x.row(i * 7 % x.nrows()));
    }
    new
}

fn check_query(kind: Cloud, [n, m, q]: [usize; 3], k: usize, seed: u64) {
    let x = double(kind, n, q, seed);
    let new = strangers(&x, kind, m, seed + 2);
    // extremes of double precision do not fit into single precision
    let clamp = |x: &Array2<f64>| x.mapv(|v| v.clamp(-1e37, 1e37) as f32);
    let (x_single, new_single) = (clamp(&x), clamp(&new));
    let (x_wide, new_wide) = (x_single.mapv(f64::from), new_single.mapv(f64::from));
    let expected = [
        naive::query(&x, &new, k),
        naive::query(&x_wide, &new, k),
        naive::query(&x, &new_wide, k),
        naive::query(&x_wide, &new_wide, k),
    ];
    for &search in searches(q) {
        let what = format!("{kind:?}, n = {n}, m = {m}, q = {q}, k = {k}, seed = {seed}, {search:?}");
        let found = [
            query(x.view(), new.view(), k, search),
            neighbors::query(&points(x_single.view()), &points(new.view()), k, search, &Unmonitored).unwrap(),
            neighbors::query(&points(x.view()), &points(new_single.view()), k, search, &Unmonitored).unwrap(),
            query(x_single.view(), new_single.view(), k, search),
        ];
        for (types, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_found(found, expected, q, &format!("{what}, types {types}"));
        }
    }
}

fn check_nearest(kind: Cloud, n: usize, q: usize, k: usize, seed: u64) {
    let (x, narrow) = (double(kind, n, q, seed), single(kind, n, q, seed));
    let expected = naive::nearest(&x, k);
    let expected_narrow = naive::nearest(&narrow.mapv(f64::from), k);
    for &search in searches(q) {
        let what = format!("{kind:?}, n = {n}, q = {q}, k = {k}, seed = {seed}, {search:?}");
        assert_same(&nearest(x.view(), k, search), &expected, q, &what);
        assert_same(&nearest(narrow.view(), k, search), &expected_narrow, q, &format!("{what}, f32"));
    }
}

fn check_within(kind: Cloud, n: usize, q: usize, radius: f64, seed: u64) {
    let (x, narrow) = (double(kind, n, q, seed), single(kind, n, q, seed));
    let expected = naive::within(&x, radius);
    let expected_narrow = naive::within(&narrow.mapv(f64::from), radius);
    for &search in searches(q) {
        let what = format!("{kind:?}, n = {n}, q = {q}, radius = {radius}, seed = {seed}, {search:?}");
        assert_same(&within(x.view(), radius, search), &expected, q, &what);
        assert_same(&within(narrow.view(), radius, search), &expected_narrow, q, &format!("{what}, f32"));
    }
}

/// Every kind of cloud, in every dimension for which there is code of its own, around the sizes of a leaf
/// and of a block.
#[test]
fn nearest_is_the_double_loop_on_every_cloud() {
    for kind in CLOUDS {
        for q in [1, 2, 3, 4, 6, 8, 12, 16, 17, 60] {
            check_nearest(kind, 50, q, 5, 10);
        }
        for (n, q) in [(15, 2), (16, 2), (17, 2), (33, 5), (511, 17), (512, 3), (513, 20)] {
            check_nearest(kind, n, q, 12, 11);
        }
    }
}

/// Long lists are kept otherwise than short ones.
#[test]
fn long_lists_are_those_of_the_double_loop() {
    for kind in CLOUDS {
        for (q, k) in [(1, 40), (2, 39), (2, 100), (3, 299), (6, 45), (16, 80)] {
            check_nearest(kind, 300, q, k, 13);
            check_query(kind, [300, 50, q], k, 13);
        }
    }
}

#[test]
fn within_is_the_double_loop_on_every_cloud() {
    for kind in CLOUDS {
        let size = match kind {
            Cloud::Tiny => 1e-140,
            Cloud::Huge => 1e148,
            Cloud::Offset => 1e-6,
            _ => 1.0,
        };
        for (n, q) in [(2, 1), (100, 1), (40, 3), (300, 2), (60, 16), (70, 17), (530, 20)] {
            let typical = size * (q as f64).sqrt();
            for radius in [0.0, 0.5 * typical, typical, 1e9 * typical] {
                check_within(kind, n, q, radius, 12);
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn nearest_is_the_double_loop(
        kind in proptest::sample::select(&CLOUDS[..]),
        n in 2usize..700,
        q in 1usize..=60,
        share in 0.0..1.0f64,
        seed in 0u64..1000,
    ) {
        // small k mostly, up to n - 1
        let k = 1 + ((n - 2) as f64 * share.powi(4)).round() as usize;
        check_nearest(kind, n, q, k, seed);
    }

    #[test]
    fn nearest_is_the_double_loop_on_narrow_data(
        kind in proptest::sample::select(&CLOUDS[..]),
        n in 2usize..700,
        q in 1usize..=16,
        k in 1usize..20,
        seed in 0u64..1000,
    ) {
        check_nearest(kind, n, q, k.min(n - 1), seed);
    }

    #[test]
    fn query_is_the_double_loop(
        kind in proptest::sample::select(&CLOUDS[..]),
        n in 1usize..600,
        m in 1usize..200,
        q in 1usize..=40,
        share in 0.0..1.0f64,
        seed in 0u64..1000,
    ) {
        // small k mostly, up to n
        let k = 1 + ((n - 1) as f64 * share.powi(4)).round() as usize;
        check_query(kind, [n, m, q], k, seed);
    }

    #[test]
    fn within_is_the_double_loop(
        kind in proptest::sample::select(vec![Cloud::Normal, Cloud::Grid, Cloud::Duplicates, Cloud::Outlier]),
        n in 1usize..500,
        q in 1usize..=40,
        radius in 0.0..4.0f64,
        seed in 0u64..1000,
    ) {
        check_within(kind, n, q, radius, seed);
        check_within(kind, n, q, radius.floor(), seed);
    }

    /// Points keep their neighbors when they are renamed.
    #[test]
    fn a_permutation_renames_the_neighbors(
        n in 20usize..300,
        q in proptest::sample::select(vec![1usize, 3, 10, 30]),
        seed in 0u64..1000,
    ) {
        let x = gaussian(n, q, seed);
        let order = permutation(n, seed + 1);
        let permuted = x.select(Axis(0), &order);
        for &search in searches(q) {
            let (before, after) = (rows(&nearest(x.view(), 7, search)), rows(&nearest(permuted.view(), 7, search)));
            for (i, row) in after.iter().enumerate() {
                let renamed: Vec<_> = row.iter().map(|&(d, j)| (d, order[j as usize] as u32)).collect();
                prop_assert_eq!(&renamed, &before[order[i]]);
            }
        }
    }
}

#[test]
fn every_other_point_can_be_asked_for() {
    for kind in [Cloud::Normal, Cloud::Grid, Cloud::AllEqual] {
        for (n, q) in [(2, 1), (2, 30), (40, 2), (40, 30), (530, 3), (530, 18)] {
            check_nearest(kind, n, q, n - 1, 13);
        }
    }
}

#[test]
fn query_is_the_double_loop_on_every_cloud() {
    for kind in CLOUDS {
        for q in (1..=20).chain([60, 300]) {
            check_query(kind, [60, 40, q], 5, 40);
        }
        for size in [[1, 1, 2], [1, 50, 30], [33, 1, 5], [513, 70, 3], [70, 513, 18], [520, 530, 20]] {
            check_query(kind, size, 12.min(size[0]), 41);
        }
    }
}

#[test]
fn every_point_can_be_asked_for() {
    for kind in [Cloud::Normal, Cloud::Grid, Cloud::AllEqual] {
        for size in [[1, 1, 1], [2, 40, 30], [40, 33, 2], [40, 40, 30], [530, 33, 3], [530, 40, 18]] {
            check_query(kind, size, size[0], 42);
        }
    }
}

/// A point that asks for its neighbors as if it were new finds itself, and else the others.
#[test]
fn a_query_of_the_points_themselves_is_the_search_with_themselves() {
    for kind in CLOUDS {
        for q in [2, 9, 20] {
            let x = double(kind, 300, q, 43);
            for &search in searches(q) {
                let (with, without) = (query(x.view(), x.view(), 9, search), nearest(x.view(), 8, search));
                for i in 0..300 {
                    let found = &with.indices[i * 9..][..9];
                    let mut others = found.to_vec();
                    others.retain(|&j| j as usize != i);
                    others.truncate(8); // among many copies it may not be the first
                    let what = format!("{kind:?}, q = {q}, {search:?}, point {i}");
                    assert_eq!(others, without.neighborhoods.of(i), "{what}");
                    assert_eq!(with.distances[i * 9], 0.0, "{what}");
                }
            }
        }
    }
}

#[test]
fn a_query_does_not_depend_on_layout_or_threads() {
    for (kind, q) in [(Cloud::Normal, 3), (Cloud::Duplicates, 8), (Cloud::Grid, 20), (Cloud::Outlier, 40)] {
        let (x, new) = (double(kind, 1300, q, 44), double(kind, 1100, q, 45));
        let (turned, larger) = (fortran(&x), spread_out(&new, f64::NAN));
        for &search in searches(q) {
            let alone = on_threads(1, || query(x.view(), new.view(), 7, search));
            for threads in [2, 8] {
                let found = on_threads(threads, || query(turned.view(), spread_out_view(&larger), 7, search));
                assert!(found == alone, "{kind:?}, q = {q}, {search:?}, {threads} threads");
            }
        }
    }
}

/// Many points and few that ask, so that a leaf of those spans much of the tree, and the other way round.
#[test]
fn both_searches_answer_alike_on_larger_data() {
    for (n, m, q) in [(20_000, 100, 2), (20_000, 100, 5), (300, 9000, 3)] {
        for kind in [Cloud::Normal, Cloud::Duplicates] {
            let (x, new) = (double(kind, n, q, 46), gaussian(m, q, 47) * 3.0);
            let found = |search| query(x.view(), new.view(), 10, search);
            assert!(found(Search::Tree) == found(Search::Blocked), "{kind:?}, n = {n}, m = {m}, q = {q}");
        }
    }
}

#[test]
fn bad_queries_are_refused() {
    let (narrow, wide) = (gaussian(10, 2, 48), gaussian(7, 20, 49));
    let refused = |x: &Array2<f64>, new: &Array2<f64>, k, search| {
        neighbors::query(&points(x.view()), &points(new.view()), k, search, &Unmonitored).unwrap_err()
    };
    for x in [&narrow, &wide] {
        let n = x.nrows();
        assert_eq!(refused(x, x, 0, Search::Auto), Error::NoNeighbors);
        for k in [n + 1, usize::MAX] {
            let error = refused(x, x, k, Search::Auto);
            assert_eq!(error, Error::TooManyNeighbors { n_neighbors: k, n });
            assert_eq!(error.to_string(), format!("n_neighbors = {k} exceeds the {n} points that there are"));
        }
    }
    let error = refused(&narrow, &wide, 3, Search::Auto);
    assert_eq!(error.to_string(), "new has 20 columns, but X has 2");
    assert!(matches!(refused(&wide, &wide, 3, Search::Tree), Error::OutOfRange { value: 20.0, .. }));
}

#[test]
fn the_layout_in_memory_does_not_matter() {
    fn check<T: Copy>(x: &Array2<T>, filler: T, q: usize)
    where
        for<'a> ArrayView2<'a, T>: Into<Values<'a>>,
    {
        let (turned, larger, backwards) = (fortran(x), spread_out(x, filler), reversed(x));
        for &search in searches(q) {
            let (plain, ball) = (nearest(x.view(), 9, search), within(x.view(), 2.0, search));
            for view in [turned.view(), spread_out_view(&larger), reversed_view(&backwards)] {
                assert_eq!(nearest(view, 9, search), plain, "{search:?}, q = {q}");
                assert_eq!(within(view, 2.0, search), ball, "{search:?}, q = {q}");
            }
        }
    }
    for q in [1, 2, 3, 5, 16, 24] {
        check(&double(Cloud::Normal, 530, q, 14), f64::NAN, q);
        check(&single(Cloud::Grid, 530, q, 14), f32::NAN, q);
    }
}

#[test]
fn the_number_of_threads_does_not_matter() {
    for (kind, n, q) in [
        (Cloud::Normal, 9000, 3),
        (Cloud::Duplicates, 3000, 8),
        (Cloud::Grid, 1300, 20),
        (Cloud::Duplicates, 1300, 40),
    ] {
        let x = double(kind, n, q, 15);
        for &search in searches(q) {
            let run = || (nearest(x.view(), 12, search), within(x.view(), 0.1, search));
            let alone = on_threads(1, run);
            for threads in [2, 8] {
                assert_eq!(
                    on_threads(threads, run),
                    alone,
                    "{kind:?}, q = {q}, {search:?}, {threads} threads"
                );
            }
        }
    }
}

/// Large enough that the tree is built by several threads.
#[test]
fn both_searches_agree_on_larger_data() {
    for (kind, q) in [(Cloud::Normal, 3), (Cloud::Grid, 6), (Cloud::Duplicates, 4)] {
        let x = double(kind, 9000, q, 16);
        let (tree, blocked) = (nearest(x.view(), 10, Search::Tree), nearest(x.view(), 10, Search::Blocked));
        assert!(tree == blocked, "{kind:?}, q = {q}");
    }
}

#[test]
fn ties_go_to_the_lower_index() {
    let cross = ndarray::array![[0.0, 1.0], [0.0, 0.0], [1.0, 0.0], [0.0, -1.0], [-1.0, 0.0], [0.0, 0.0]];
    for search in [Search::Tree, Search::Blocked] {
        let knn = nearest(cross.view(), 4, search);
        assert_eq!(knn.neighborhoods.of(1), [5, 0, 2, 3]);
        assert_eq!(knn.neighborhoods.of(5), [1, 0, 2, 3]);
        assert_eq!(knn.distances[4..8], [0.0, 1.0, 1.0, 1.0]);
        let ball = within(cross.view(), 1.0, search);
        assert_eq!(ball.neighborhoods.of(1), [5, 0, 2, 3, 4]);
        assert_eq!(within(cross.view(), 0.0, search).neighborhoods.indices(), [5, 1]);
    }
}

/// Wide data in which products cannot tell a hundred copies from each other: still exact, and not by
/// falling back to the double loop for every point.
#[test]
fn a_hundred_copies_of_every_point_are_exact_and_fast() {
    let x = repeated(&gaussian(15, 20, 17), 100);
    let start = Instant::now();
    let expected = naive::nearest(&x, 12);
    let double_loop = start.elapsed();
    let start = Instant::now();
    let found = nearest(x.view(), 12, Search::Blocked);
    let blocked = start.elapsed();
    assert_same(&found, &expected, 20, "copies");
    assert!(
        blocked < double_loop.max(Duration::from_millis(50)),
        "{blocked:?}, the double loop takes {double_loop:?}"
    );
}

/// One point in the middle of a thin shell: all the others are as far away as single precision can tell.
#[test]
fn the_middle_of_a_shell_has_exact_neighbors() {
    for thickness in [1e-5, 1e-6, 3e-7, 1e-7, 3e-8] {
        for seed in 0..8 {
            let mut x = gaussian(600, 20, 300 + seed);
            let spread = gaussian(600, 1, 400 + seed);
            for (i, mut row) in x.rows_mut().into_iter().enumerate() {
                let radius = if i == 500 { 0.0 } else { 1.0 + thickness * spread[[i, 0]] };
                let length = row.dot(&row).sqrt();
                row.mapv_inplace(|v| v * radius / length);
            }
            let what = format!("thickness {thickness:e}, seed = {seed}");
            assert_same(&nearest(x.view(), 5, Search::Blocked), &naive::nearest(&x, 5), 20, &what);
        }
    }
}

#[test]
fn the_tree_refuses_more_than_16_dimensions() {
    let x = gaussian(50, 17, 18);
    let expected = Error::OutOfRange {
        name: "dimension",
        value: 17.0,
        needed: "the kd-tree takes at most 16 dimensions",
    };
    let points = points(x.view());
    assert_eq!(neighbors::nearest(&points, 3, Search::Tree, &Unmonitored).unwrap_err(), expected);
    assert_eq!(neighbors::within(&points, 3.0, Search::Tree, &Unmonitored).unwrap_err(), expected);
}

#[test]
fn bad_requests_are_refused() {
    for q in [2, 20] {
        let x = gaussian(10, q, 19);
        let points = points(x.view());
        let refused = |k| neighbors::nearest(&points, k, Search::Auto, &Unmonitored).unwrap_err();
        assert_eq!(refused(0), Error::NoNeighbors);
        assert_eq!(refused(10), Error::TooFewPoints { n_neighbors: 10, n: 10 });
        assert_eq!(refused(usize::MAX - 1), Error::TooFewPoints { n_neighbors: usize::MAX - 1, n: 10 });
        for radius in [-1.0, f64::NEG_INFINITY, f64::INFINITY, f64::NAN] {
            let error = neighbors::within(&points, radius, Search::Auto, &Unmonitored).unwrap_err();
            assert!(matches!(error, Error::BadRadius { .. }), "{radius}: {error:?}");
        }
    }
}

#[test]
fn one_point_has_no_neighbors() {
    for q in [1, 20] {
        let x = gaussian(1, q, 20);
        let ball = within(x.view(), 1.0, Search::Auto);
        assert_eq!((ball.neighborhoods.len(), ball.distances.len()), (1, 0));
        let error = neighbors::nearest(&points(x.view()), 1, Search::Auto, &Unmonitored).unwrap_err();
        assert_eq!(error, Error::TooFewPoints { n_neighbors: 1, n: 1 });
    }
}

fn check_grown(kind: Cloud, [n, m, q]: [usize; 3], k: usize, seed: u64) {
    let x = double(kind, n, q, seed);
    let all = ndarray::concatenate(Axis(0), &[x.view(), strangers(&x, kind, m, seed + 2).view()]).unwrap();
    let old = nearest(x.view(), k, Search::Tree);
    let found = neighbors::grown(&points(all.view()), &old.neighborhoods, &old.distances, &Unmonitored);
    let grown = found.unwrap().unwrap();
    let what = format!("{kind:?}, n = {n}, m = {m}, q = {q}, k = {k}, seed = {seed}");
    assert_eq!(grown.knn, nearest(all.view(), k, Search::Tree), "{what}");
    let (_, new) = all.view().split_at(Axis(0), n);
    assert_eq!(grown.among_old, query(x.view(), new, k, Search::Tree).indices, "{what}");
}

#[test]
fn lists_grow_to_those_of_a_search_on_every_cloud() {
    for kind in CLOUDS {
        for (sizes, k) in [([60, 7, 1], 3), ([90, 30, 2], 8), ([200, 1, 3], 12), ([40, 150, 4], 39)] {
            check_grown(kind, sizes, k, 5);
        }
    }
}

#[test]
fn lists_that_are_not_of_these_points_do_not_grow() {
    let x = gaussian(50, 3, 0);
    let (first, wide) = (|m| x.view().split_at(Axis(0), m).0.to_owned(), gaussian(50, 5, 0));
    let old = nearest(first(40).view(), 5, Search::Tree);
    let found = |x: &Array2<f64>, distances: &[f64]| {
        neighbors::grown(&points(x.view()), &old.neighborhoods, distances, &Unmonitored)
    };
    assert!(found(&x, &old.distances).unwrap().is_some());
    assert_eq!(found(&gaussian(50, 3, 1), &old.distances), Ok(None));
    assert_eq!(found(&wide, &old.distances), Ok(None));
    assert_eq!(found(&first(40), &old.distances), Ok(None));
    assert!(matches!(found(&x, &old.distances[1..]), Err(Error::LengthMismatch { .. })));
    assert!(matches!(found(&first(30), &old.distances), Err(Error::LengthMismatch { .. })));
}
