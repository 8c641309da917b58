//! Greedy Procrustes: against the paper's steps, on data that can be laid out exactly, and where it is hard.

use std::sync::atomic::{AtomicUsize, Ordering};

use nalgebra::DMatrix;
use ndarray::{Array2, Axis, concatenate};
use proptest::prelude::*;
use unbend::charts::{Atlas, Net};
use unbend::embed::{Greedy, GreedyParams, Refiner, Trace, carried_frames, greedy};
use unbend::synthetic::{SwissRoll, swiss_roll};
use unbend::{Error, Monitor, Neighborhoods, Points, Search, Unmonitored, measure, neighbors};

use crate::clouds::*;
use crate::{cases, naive, on_threads};

/// What neighborhoods are laid down by.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    Tangents,
    Charts,
    Whole,
}

const MODES: [Mode; 3] = [Mode::Tangents, Mode::Charts, Mode::Whole];

fn points(x: &Array2<f64>) -> Points<'_> {
    Points::new("X", x.view(), &Unmonitored).unwrap()
}

fn nearest(x: &Array2<f64>, k: usize) -> Neighborhoods<'static> {
    neighbors::nearest(&points(x), k, Search::Auto, &Unmonitored).unwrap().neighborhoods
}

fn from_rows(rows: &[Vec<u32>]) -> Neighborhoods<'static> {
    let (indptr, indices) = naive::ragged(rows);
    Neighborhoods::from_ragged(indptr, indices).unwrap()
}

/// Counts the points that are embedded.
#[derive(Default)]
struct Counter {
    done: AtomicUsize,
    total: AtomicUsize,
}

impl Monitor for Counter {
    fn progress(&self, stage: &'static str, done: usize, total: usize) {
        if stage == "greedy" {
            self.done.fetch_max(done, Ordering::Relaxed);
            self.total.store(total, Ordering::Relaxed);
        }
    }
}

/// Embeds, and looks whether every point was.
fn embedded(mode: Mode, x: &Array2<f64>, graph: &Neighborhoods, d: usize, params: &GreedyParams) -> Greedy {
    let points = points(x);
    let atlas = match mode {
        Mode::Tangents => Atlas::new(&points, graph, None, d, &Unmonitored).unwrap(),
        Mode::Charts => Atlas::of_charts(&points, graph, None, d, &Unmonitored).unwrap(),
        Mode::Whole => Atlas::whole(&points, graph, d).unwrap(),
    };
    run(&atlas, params)
}

fn run(atlas: &Atlas, params: &GreedyParams) -> Greedy {
    let counter = Counter::default();
    let found = greedy(atlas, params, &counter).unwrap();
    let n = atlas.neighborhoods().len();
    assert_eq!(found.embedding.len(), n * atlas.n_components());
    assert!(found.embedding.iter().all(|v| v.is_finite()));
    assert_eq!(counter.done.into_inner(), n * params.n_init, "some points were never embedded");
    assert_eq!(counter.total.into_inner(), n * params.n_init);
    found
}

fn as_array(found: &Greedy) -> Array2<f64> {
    let n = found.labels.len();
    Array2::from_shape_vec((n, found.embedding.len() / n), found.embedding.clone()).unwrap()
}

fn measured(x: &Array2<f64>, y: &Array2<f64>, graph: &Neighborhoods) -> measure::Faithfulness {
    measure::faithfulness(&points(x), &points(y), graph, Default::default(), &Unmonitored).unwrap()
}

fn r_n(x: &Array2<f64>, found: &Greedy, graph: &Neighborhoods) -> f64 {
    measured(x, &as_array(found), graph).means.r_n
}

/// What is left of `y` after the best motion onto `x`, as a share of `x`.
fn disparity(x: &Array2<f64>, y: &Array2<f64>) -> f64 {
    let all: Vec<usize> = (0..x.nrows()).collect();
    let x = naive::centered(x, &all);
    naive::procrustes(&x, &naive::centered(y, &all)) / x.norm_squared()
}

fn from(start: usize) -> GreedyParams<'static> {
    GreedyParams { n_init: 1, start: Some(start), ..Default::default() }
}

/// Points even on the unit cube of `d` dimensions, moved into `q`.
fn flat(n: usize, q: usize, d: usize, seed: u64) -> Array2<f64> {
    let mut rng = rng(seed);
    let sheet = Array2::from_shape_simple_fn((n, d), || unbend::rng::uniform(&mut rng));
    sheet.dot(&orthonormal(q, d, seed + 1).t()) + gaussian(1, q, seed + 2)
}

fn roll(n: usize, noise: f64, seed: u64) -> (Array2<f64>, Array2<f64>) {
    let sample = swiss_roll(n, &SwissRoll { noise, ..Default::default() }, seed, &Unmonitored).unwrap();
    (sample.x, sample.coordinates)
}

/// Whether the twin's steps alone led to the end.
fn is_plain(mode: Mode, trace: &Trace) -> bool {
    (trace.forced, trace.other_side) == (0, 0) && (mode == Mode::Tangents || trace.waits == 0)
}

/// Size, dimensions, neighbors.
const SHEETS: [(usize, usize, usize, usize); 6] =
    [(90, 3, 1, 8), (120, 2, 2, 9), (120, 3, 2, 10), (150, 5, 2, 12), (150, 4, 3, 14), (100, 20, 2, 9)];

#[test]
fn the_steps_are_those_of_the_paper() {
    for (n, q, d, k) in SHEETS {
        for mode in MODES {
            // charts know each other by the points they share, not by bases; gaps on a line force
            if mode == Mode::Charts || mode == Mode::Tangents && d == 1 {
                continue;
            }
            let plain = (0..16).filter(|&seed| is_twin(mode, [n, q, d, k], seed)).count();
            assert!(plain >= 3, "{mode:?}, {n} points, {q} to {d}: {plain} of 16 were plain");
        }
    }
}

/// At once, as the paper says, also where an overlap is so thin that the neighborhood would wait otherwise.
#[test]
fn no_neighborhood_waits_in_the_form_of_the_paper() {
    let (mut waited, mut compared) = (0, 0);
    for (n, q, d, k) in SHEETS {
        for seed in 0..16 {
            let x = flat(n, q, d, 100 + seed) + 0.02 * &gaussian(n, q, 200 + seed);
            let (graph, start) = (nearest(&x, k), seed as usize * 5);
            let literal = GreedyParams { at_once: true, ..from(start) };
            let found = embedded(Mode::Whole, &x, &graph, d, &literal);
            let Trace { waits, forced, other_side, .. } = found.traces[0];
            assert_eq!((waits, forced), (0, 0));
            let (expected, fewest) = naive::greedy(&x, &naive::rows(&graph), start, d, false);
            if fewest <= d || other_side > 0 || found.labels.iter().any(|&label| label > 0) {
                continue;
            }
            let expected = Array2::from_shape_fn((n, d), |at| expected[at]);
            let off = disparity(&expected, &as_array(&found)).sqrt();
            assert!(off < 1e-6, "{n} points, {q} to {d}, k = {k}, seed {seed}: {off:e}");
            compared += 1;
            waited += usize::from(embedded(Mode::Whole, &x, &graph, d, &from(start)).traces[0].waits > 0);
        }
    }
    assert!(compared >= 30 && waited >= 5, "{compared} compared, {waited} of them would wait");
}

/// Compares with the naive twin, if the data are of the plain kind.
fn is_twin(mode: Mode, [n, q, d, k]: [usize; 4], seed: u64) -> bool {
    let x = flat(n, q, d, 100 + seed) + 0.02 * &gaussian(n, q, 200 + seed);
    let (graph, start) = (nearest(&x, k), seed as usize * 5);
    let found = embedded(mode, &x, &graph, d, &from(start));
    if found.labels.iter().any(|&label| label > 0) || !is_plain(mode, &found.traces[0]) {
        return false;
    }
    let (expected, _) = naive::greedy(&x, &naive::rows(&graph), start, d, mode == Mode::Tangents);
    let expected = Array2::from_shape_fn((n, d), |at| expected[at]);
    let off = disparity(&expected, &as_array(&found)).sqrt();
    assert!(off < 1e-8, "{mode:?}, {n} points, {q} to {d}, k = {k}, seed {seed}: {off:e}");
    true
}

/// Bases or charts, from the neighborhoods or larger ones, and whole neighborhoods. What came out of each.
fn in_every_form(x: &Array2<f64>, graph: &Neighborhoods, d: usize) -> Vec<(f64, Trace)> {
    let points = points(x);
    let net = Net::new(&points, d, 40.min(points.len() - 1), 0, &Unmonitored).unwrap();
    let atlases = [
        Atlas::new(&points, graph, None, d, &Unmonitored).unwrap(),
        Atlas::new(&points, graph, Some(&net), d, &Unmonitored).unwrap(),
        Atlas::of_charts(&points, graph, None, d, &Unmonitored).unwrap(),
        Atlas::of_charts(&points, graph, Some(&net), d, &Unmonitored).unwrap(),
        Atlas::whole(&points, graph, d).unwrap(),
    ];
    let params = GreedyParams { n_init: 1, ..Default::default() };
    let found = atlases.iter().map(|atlas| run(atlas, &params));
    found.map(|found| (r_n(x, &found, graph), found.traces[0])).collect()
}

#[test]
fn flat_data_are_laid_out_exactly() {
    for (q, d) in [
        (2, 1),
        (2, 2),
        (3, 2),
        (4, 2),
        (5, 3),
        (6, 1),
        (6, 3),
        (30, 1),
        (30, 2),
        (30, 3),
        (150, 1),
        (150, 2),
        (150, 3),
    ] {
        let x = flat(500, q, d, 110);
        let graph = nearest(&x, 6 + 4 * d);
        for (form, (r_n, trace)) in in_every_form(&x, &graph, d).into_iter().enumerate() {
            assert!(r_n < 1e-20, "form {form}, {q} to {d}: {r_n:e}, {trace:?}");
        }
    }
}

/// Overlaps often lie on a line or nearly so, and say nothing about reflections.
#[test]
fn flat_data_are_laid_out_exactly_with_few_neighbors() {
    let mut forced = [0; 5];
    for (q, d, k) in [
        (2, 2, 3),
        (3, 2, 3),
        (30, 2, 3),
        (30, 2, 4),
        (4, 3, 5),
        (30, 3, 5),
        (150, 2, 3),
        (150, 2, 4),
        (150, 3, 5),
    ] {
        for seed in 0..4 {
            let x = flat(300, q, d, 120 + seed);
            let graph = nearest(&x, k);
            for (form, (r_n, trace)) in in_every_form(&x, &graph, d).into_iter().enumerate() {
                assert!(r_n < 1e-20, "form {form}, {q} to {d}, k = {k}: {r_n:e}, {trace:?}");
                forced[form] += trace.forced;
            }
        }
    }
    assert!(forced.iter().all(|&times| times > 100), "{forced:?}");
}

/// One start in ten leaves a spot behind that is worse than the rest of the roll.
#[test]
fn a_roll_is_unrolled_from_anywhere() {
    for seed in 0..4 {
        let (x, truth) = roll(2000, 0.0, seed);
        let graph = nearest(&x, 12);
        let params = GreedyParams { n_init: 6, seed, start: Some(seed as usize), ..Default::default() };
        let found = embedded(Mode::Tangents, &x, &graph, 2, &params);
        let bound = measured(&x, &truth, &graph).means.lower_bound;
        let mut ratios: Vec<f64> = found.r_n.iter().map(|r_n| r_n / bound).collect();
        ratios.sort_by(f64::total_cmp);
        assert!(ratios[0] < 1.1 && ratios[3] < 1.3 && ratios[5] < 2.0, "seed {seed}: {ratios:?}");
        let off = disparity(&truth, &as_array(&found));
        assert!(off < 1e-4, "seed {seed}: {off:e}");
    }
}

/// An error that grew with every step would have folded the roll long before its end.
#[test]
fn errors_do_not_grow_along_a_roll() {
    let (x, truth) = roll(20_000, 0.0, 5);
    let graph = nearest(&x, 12);
    let column = truth.column(0);
    let (inner, outer) = (0..x.nrows()).fold((0, 0), |(low, high), i| {
        (if column[i] < column[low] { i } else { low }, if column[i] > column[high] { i } else { high })
    });
    for start in [inner, outer] {
        let found = embedded(Mode::Tangents, &x, &graph, 2, &from(start));
        let all = measured(&x, &as_array(&found), &graph);
        let mut tenths = [0.0; 10];
        for (&at, p) in column.iter().zip(all.per_point.iter()) {
            tenths[((at / column[outer] * 10.0) as usize).min(9)] += (p.r_n - p.bound) / 2000.0;
        }
        assert!(tenths.iter().all(|&excess| excess < 1e-3), "from {start}: {tenths:?}");
        assert!(all.means.r_n < 1.5 * all.means.lower_bound, "from {start}: {}", all.means.r_n);
        let off = disparity(&truth, &as_array(&found));
        assert!(off < 1e-5, "from {start}: {off:e}");
    }
}

#[test]
fn larger_tangents_steady_a_noisy_roll() {
    for seed in 0..3 {
        let (x, truth) = roll(6000, 0.6, 140 + seed);
        let (points, graph) = (points(&x), nearest(&x, 12));
        let net = Net::new(&points, 2, 60, 0, &Unmonitored).unwrap();
        let off = |net: Option<&Net>| {
            let atlas = Atlas::new(&points, &graph, net, 2, &Unmonitored).unwrap();
            disparity(&truth, &as_array(&run(&atlas, &from(0))))
        };
        let (own, larger) = (off(None), off(Some(&net)));
        assert!(larger < 0.3 * own && larger < 5e-3, "seed {seed}: {larger:e} instead of {own:e}");
    }
}

const DIMENSIONS: [(usize, usize); 10] =
    [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3), (20, 1), (20, 2), (20, 3), (60, 5)];

#[test]
fn every_point_of_every_cloud_is_embedded() {
    for kind in CLOUDS {
        for (q, d) in DIMENSIONS {
            let x = double(kind, 60, q, 150);
            for k in [1, 2, 4, 9, 59] {
                let graph = nearest(&x, k);
                for mode in MODES {
                    embedded(mode, &x, &graph, d, &Default::default());
                }
                let points = points(&x);
                let net = Net::new(&points, d, 20, 0, &Unmonitored).unwrap();
                run(&Atlas::new(&points, &graph, Some(&net), d, &Unmonitored).unwrap(), &Default::default());
            }
        }
    }
}

/// Two points, one neighborhood of all, as many dimensions as the data have.
#[test]
fn the_smallest_data_are_shown_as_they_are() {
    for (n, q) in [(2, 1), (2, 3), (3, 2), (4, 3), (6, 5), (9, 4), (9, 20)] {
        let x = gaussian(n, q, 160);
        let graph = nearest(&x, n - 1);
        for mode in MODES {
            for d in [q, q.min(n - 1)] {
                let found = embedded(mode, &x, &graph, d, &Default::default());
                assert_eq!(found.traces[0].steps, 0);
                assert!(disparity(&x, &as_array(&found)) < 1e-24, "{mode:?}, {n} points, {q} to {d}");
            }
        }
    }
    let alone = gaussian(1, 2, 161);
    let found = embedded(Mode::Tangents, &alone, &from_rows(&[vec![]]), 2, &Default::default());
    assert_eq!((found.embedding, found.labels), (vec![0.0; 2], vec![0]));
}

/// A star whose center lists all and one whose center is listed by all, a chain either way, strangers.
#[test]
fn every_direction_of_a_graph_is_followed() {
    let n = 30u32;
    let none = || vec![vec![]; n as usize];
    let (mut out, mut chain, mut back) = (none(), none(), none());
    out[0] = (1..n).collect();
    (0..n - 1).for_each(|i| chain[i as usize] = vec![i + 1]);
    (1..n).for_each(|i| back[i as usize] = vec![i - 1]);
    let inward: Vec<Vec<u32>> = (0..n).map(|i| if i == 0 { vec![] } else { vec![0] }).collect();
    for (rows, components) in [(out, 1), (inward, 1), (chain, 1), (back, 1), (none(), n)] {
        for (q, d) in DIMENSIONS {
            let x = gaussian(n as usize, q, 170);
            for mode in MODES {
                for start in [0, 1, 15, 29] {
                    let found = embedded(mode, &x, &from_rows(&rows), d, &from(start));
                    assert_eq!(found.labels.iter().max().unwrap() + 1, components);
                    assert_eq!(found.kept, vec![0; components as usize]);
                }
            }
        }
    }
}

#[test]
fn far_neighbors_that_list_nobody_are_embedded() {
    let x = ndarray::array![[0.0, 0.0], [1.0, 0.0], [0.5, 0.8], [1.5, 0.5], [50.0, 0.0]];
    let graph = from_rows(&[vec![1, 2], vec![0, 2, 3, 4], vec![0, 1], vec![], vec![]]);
    for mode in MODES {
        let found = embedded(mode, &x, &graph, 2, &from(0));
        assert!(disparity(&x, &as_array(&found)) < 1e-20, "{mode:?}");
    }
}

/// Lists of up to `most` random neighbors.
fn random_rows(n: usize, most: usize, seed: u64) -> Vec<Vec<u32>> {
    let mut rng = rng(seed);
    (0..n)
        .map(|i| {
            let others = (0..pick(&mut rng, most + 1)).map(|_| pick(&mut rng, n) as u32);
            let set: std::collections::BTreeSet<u32> = others.filter(|&j| j as usize != i).collect();
            set.into_iter().collect()
        })
        .collect()
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn any_graph_is_embedded(
        kind in proptest::sample::select(CLOUDS.to_vec()),
        n in 1usize..50,
        (q, d) in proptest::sample::select(DIMENSIONS.to_vec()),
        most in 0usize..8,
        n_init in 1usize..3,
        seed in 0u64..1000,
    ) {
        let x = double(kind, n, q, seed);
        let (graph, params) = (from_rows(&random_rows(n, most, seed)), GreedyParams { n_init, seed, at_once: most % 2 == 0, ..Default::default() });
        for mode in MODES {
            let found = embedded(mode, &x, &graph, d, &params);
            prop_assert_eq!(&found.labels, &graph.components());
            prop_assert_eq!(found.traces.len(), n_init);
        }
    }
}

#[test]
fn threads_do_not_matter() {
    let (x, _) = roll(1500, 0.2, 180);
    let wide = gaussian(300, 150, 181);
    for (x, k) in [(&x, 10), (&wide, 8)] {
        let graph = nearest(x, k);
        for mode in MODES {
            let run = || embedded(mode, x, &graph, 2, &GreedyParams { n_init: 4, ..Default::default() });
            let alone = on_threads(1, run);
            for threads in [2, 8] {
                let other = on_threads(threads, run);
                assert!(other.embedding == alone.embedding && other.r_n == alone.r_n, "{mode:?}, {threads}");
                assert!(other.kept == alone.kept && other.traces == alone.traces, "{mode:?}, {threads}");
            }
        }
    }
}

/// R_N of every component.
fn by_component(x: &Array2<f64>, found: &Greedy, graph: &Neighborhoods) -> Vec<f64> {
    let all = measured(x, &as_array(found), graph);
    let mean = |label: u32| {
        let own = || all.per_point.iter().zip(&found.labels).filter(|&(_, &l)| l == label);
        own().map(|(p, _)| p.r_n).sum::<f64>() / own().count() as f64
    };
    (0..found.kept.len() as u32).map(mean).collect()
}

/// More starts begin where fewer do, so every further one is kept where it is better, and only there.
#[test]
fn the_best_start_of_every_component_is_kept() {
    let (left, right) = (roll(700, 0.3, 190).0, roll(600, 0.3, 191).0);
    let x = concatenate![Axis(0), left, right + 1000.0];
    let graph = nearest(&x, 10);
    let run = |n_init: usize| {
        let params = GreedyParams { n_init, seed: 9, start: Some(1000), ..Default::default() };
        let found = embedded(Mode::Tangents, &x, &graph, 2, &params);
        let errors = by_component(&x, &found, &graph);
        (found, errors)
    };
    let (mut before, mut lowest) = run(1);
    assert!(before.r_n.is_empty() && lowest.len() == 2);
    let mut changes = [0, 0];
    for n_init in 2..9 {
        let (found, errors) = run(n_init);
        assert_eq!(found.r_n.len(), n_init);
        if n_init > 2 {
            assert_eq!(found.r_n[..n_init - 1], before.r_n);
        }
        for c in 0..2 {
            if found.kept[c] == before.kept[c] {
                assert_eq!(errors[c], lowest[c]);
            } else {
                assert_eq!(found.kept[c] as usize, n_init - 1);
                assert!(errors[c] < lowest[c]);
                changes[c] += 1;
            }
        }
        (before, lowest) = (found, errors);
    }
    assert!(changes.iter().all(|&c| c > 0) && before.kept[0] != before.kept[1], "{:?}", before.kept);
}

/// Neighborhoods that coincide are no reason to prefer a start.
#[test]
fn copies_do_not_hide_the_best_start() {
    for seed in 0..6 {
        let (x, _) = roll(500, 0.0, 130 + seed);
        let x = concatenate![Axis(0), x, x.select(Axis(0), &[77; 30])];
        let graph = nearest(&x, 10);
        let params = GreedyParams { n_init: 4, ..Default::default() };
        let found = embedded(Mode::Tangents, &x, &graph, 2, &params);
        let best = (0..4).min_by(|&a, &b| found.r_n[a as usize].total_cmp(&found.r_n[b as usize])).unwrap();
        assert_eq!(found.kept, [best], "{:?}", found.r_n);
        assert_eq!(r_n(&x, &found, &graph), found.r_n[best as usize]);
    }
}

fn matrix(flat: &[f64], rows: usize, at: usize) -> DMatrix<f64> {
    let size = rows * 2;
    DMatrix::from_column_slice(rows, 2, &flat[at * size..][..size])
}

/// From each point to its parent, and on to the start: the rotation of each step is that of the two tangents.
#[test]
fn frames_are_carried_from_parent_to_child() {
    let (x, _) = roll(900, 0.1, 540);
    let (points, graph) = (points(&x), nearest(&x, 10));
    let atlas = Atlas::new(&points, &graph, None, 2, &Unmonitored).unwrap();
    let found = run(&atlas, &GreedyParams { n_init: 3, ..Default::default() });
    let run = || carried_frames(&atlas, &found.parents, &Unmonitored).unwrap().unwrap();
    let rotations = run();
    let (mut starts, mut product) = (0, vec![0.0; 4]);
    for (i, &parent) in found.parents.iter().enumerate() {
        let parent = parent as usize;
        let expected = if i == parent {
            starts += 1;
            DMatrix::identity(2, 2)
        } else {
            atlas.agreement(i, parent, &mut product);
            let naive::Svd { u, v, .. } = naive::svd(&DMatrix::from_column_slice(2, 2, &product));
            u * v.transpose() * matrix(&rotations, 2, parent)
        };
        assert!((matrix(&rotations, 2, i) - expected).amax() < 1e-12, "point {i} of parent {parent}");
    }
    assert_eq!(starts, 1);
    assert!([1, 3].into_iter().all(|threads| on_threads(threads, run) == rotations));
}

/// On each component of a flat sheet all frames are one, so eq. 11 for them has the sheet as its solution.
#[test]
fn carried_frames_of_a_flat_sheet_are_one() {
    let sheet = flat(300, 3, 2, 541);
    let other = &sheet + 50.0;
    let x = concatenate![Axis(0), sheet, other];
    let (points, graph) = (points(&x), nearest(&x, 8));
    let atlas = Atlas::new(&points, &graph, None, 2, &Unmonitored).unwrap();
    let found = run(&atlas, &GreedyParams { n_init: 2, ..Default::default() });
    let rotations = carried_frames(&atlas, &found.parents, &Unmonitored).unwrap().unwrap();
    let refiner = Refiner::new(&points, &graph, 2, Default::default(), &Unmonitored).unwrap();
    let sides = refiner.right_hand_side(&atlas, &rotations, &Unmonitored).unwrap();
    let mut product = vec![0.0; sides.len()];
    // The greedy embedding of a flat sheet is exact, and in the frames of its starts.
    refiner.apply(&graph, &found.embedding, &mut product, &Unmonitored).unwrap();
    let largest = sides.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
    assert!(sides.iter().zip(&product).all(|(a, b)| (a - b).abs() < 1e-10 * largest));
}

/// Charts have no bases to compare, and parents must exist.
#[test]
fn frames_are_carried_only_where_tangents_are_known() {
    let x = flat(60, 3, 2, 542);
    let (points, graph) = (points(&x), nearest(&x, 8));
    let charts = Atlas::of_charts(&points, &graph, None, 2, &Unmonitored).unwrap();
    assert!(carried_frames(&charts, &[0; 60], &Unmonitored).unwrap().is_none());
    assert!(carried_frames(&charts, &[60; 60], &Unmonitored).is_err());
    assert!(carried_frames(&charts, &[0; 59], &Unmonitored).is_err());
}

/// Of many connected points, starts are compared by some neighborhoods, which are those of every start.
#[test]
fn many_points_are_compared_by_some_neighborhoods() {
    let n = 140_000;
    let (x, _) = roll(n, 0.0, 543);
    let (points, graph) = (points(&x), nearest(&x, 8));
    let atlas = Atlas::new(&points, &graph, None, 2, &Unmonitored).unwrap();
    let found = run(&atlas, &GreedyParams { n_init: 2, ..Default::default() });
    let centers: Vec<u32> = (0..n as u32).step_by(3).collect();
    let y = as_array(&found);
    let params = measure::FaithfulnessParams { centers: Some(&centers), ..Default::default() };
    let means =
        measure::faithfulness(&points, &self::points(&y), &graph, params, &Unmonitored).unwrap().means;
    assert_eq!((means.r_n, Some(means.lower_bound)), (found.r_n[found.kept[0] as usize], found.lower_bound));
    let ratio = means.r_n / means.lower_bound;
    assert!(found.is_within((1.0, 1.01 * ratio)));
    assert!(!found.is_within((0.5, 1.0)) && !found.is_within((1.01 * ratio, 9.0)));
}

/// The first point is where its chart begins.
#[test]
fn start_is_where_it_begins() {
    let (x, _) = roll(400, 0.0, 195);
    let graph = nearest(&x, 8);
    for start in [0, 17, 399] {
        let found = embedded(Mode::Tangents, &x, &graph, 2, &from(start));
        let at_origin = |i: usize| found.embedding[2 * i..][..2] == [0.0, 0.0];
        let there: Vec<usize> = (0..400).filter(|&i| at_origin(i)).collect();
        assert_eq!(there, [start]);
    }
    let random = |seed| {
        embedded(Mode::Tangents, &x, &graph, 2, &GreedyParams { n_init: 1, seed, ..Default::default() })
    };
    assert_eq!(random(1).embedding, random(1).embedding);
    assert_ne!(random(1).embedding, random(2).embedding);
}

/// The shape that comes out is that of the data, not of the axes or the order in which they are given.
#[test]
fn motions_and_permutations_do_not_matter() {
    let (x, truth) = roll(1000, 0.1, 196);
    let graph = nearest(&x, 12);
    let turn = orthonormal(3, 3, 197);
    let moved = x.dot(&turn) + &gaussian(1, 3, 198) * 10.0;
    for mode in MODES {
        let error =
            |x: &Array2<f64>, start: usize| r_n(x, &embedded(mode, x, &graph, 2, &from(start)), &graph);
        for start in [0, 400, 800] {
            let (here, there) = (error(&x, start), error(&moved, start));
            assert!((here - there).abs() < 1e-6 * here, "{mode:?}: {here:e} and {there:e}");
        }
    }
    let order = permutation(1000, 199);
    let (shuffled, truth) = (x.select(Axis(0), &order), truth.select(Axis(0), &order));
    let found = embedded(Mode::Tangents, &shuffled, &nearest(&shuffled, 12), 2, &Default::default());
    let off = disparity(&truth, &as_array(&found));
    assert!(off < 1e-3, "{off:e}");
}

#[test]
fn bad_requests_are_refused() {
    let x = gaussian(6, 3, 200);
    let (points, graph) = (points(&x), nearest(&x, 2));
    let atlas = Atlas::new(&points, &graph, None, 2, &Unmonitored).unwrap();
    let refused = |params: GreedyParams| greedy(&atlas, &params, &Unmonitored).unwrap_err().to_string();
    let none = GreedyParams { n_init: 0, ..Default::default() };
    assert_eq!(refused(none), "n_init = 0 is out of range: at least 1 start is needed");
    assert_eq!(refused(from(6)), "start = 6 is out of range: it must be the index of a point");
    let few = GreedyParams { names: Some(&[0, 1, 2]), ..Default::default() };
    assert_eq!(refused(few), "names has 3 rows, but X has 6");
    let far = GreedyParams { names: Some(&[0, 1, 2, 3, 4, 6]), ..Default::default() };
    assert_eq!(refused(far), "neighbor 6 of point 5 is out of range: there are 6 points");
    let other = from_rows(&[vec![1], vec![0]]);
    for d in [0, 4] {
        let error = if d == 0 {
            Error::NoComponents
        } else {
            Error::TooManyComponents { n_components: 4, dim_in: 3 }
        };
        assert_eq!(Atlas::new(&points, &graph, None, d, &Unmonitored).unwrap_err(), error);
        assert_eq!(Atlas::whole(&points, &graph, d).unwrap_err(), error);
    }
    for atlas in [Atlas::new(&points, &other, None, 2, &Unmonitored), Atlas::whole(&points, &other, 2)] {
        let error = atlas.unwrap_err();
        assert_eq!(error.to_string(), "X has 6 rows, but the neighborhood graph has 2");
    }
}
