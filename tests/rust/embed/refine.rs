//! The two halves of refinement: against dense matrices, and against what is proved of their alternation.

use nalgebra::DMatrix;
use ndarray::{Array2, Axis, Slice};
use unbend::embed::{Centering, Frames, Objective, Refiner};
use unbend::{Error, Neighborhoods, Points, Search, Unmonitored, measure, neighbors};

use crate::clouds::*;
use crate::{naive, on_threads};

const OBJECTIVES: [Objective; 2] = [Objective::R, Objective::RN];

fn points(x: &Array2<f64>) -> Points<'_> {
    Points::new("X", x.view(), &Unmonitored).unwrap()
}

fn nearest(x: &Array2<f64>, k: usize) -> Neighborhoods<'static> {
    neighbors::nearest(&points(x), k, Search::Auto, &Unmonitored).unwrap().neighborhoods
}

/// The nearest of each, of some more than of others, from none to `most`.
fn ragged(x: &Array2<f64>, most: usize, seed: u64) -> Neighborhoods<'static> {
    let mut rng = rng(seed);
    let mut rows = naive::rows(&nearest(x, most));
    rows.iter_mut().for_each(|row| row.truncate(pick(&mut rng, most + 1)));
    let (indptr, indices) = naive::ragged(&rows);
    Neighborhoods::from_ragged(indptr, indices).unwrap()
}

fn refiner(x: &Array2<f64>, graph: &Neighborhoods, d: usize, objective: Objective) -> Refiner {
    Refiner::new(&points(x), graph, d, objective, &Unmonitored).unwrap()
}

fn frames(refiner: &Refiner, x: &Array2<f64>, y: &Array2<f64>, graph: &Neighborhoods) -> Frames {
    refiner.frames(&points(x), &points(y), graph, &Unmonitored).unwrap()
}

fn apply(refiner: &Refiner, graph: &Neighborhoods, y: &Array2<f64>) -> Vec<f64> {
    let mut out = vec![f64::NAN; y.len()];
    refiner.apply(graph, &y.iter().copied().collect::<Vec<_>>(), &mut out, &Unmonitored).unwrap();
    out
}

fn weights(x: &Array2<f64>, graph: &Neighborhoods, objective: Objective) -> Vec<f64> {
    naive::refinement_weights(x, &naive::rows(graph), objective == Objective::RN)
}

/// The largest difference from a matrix, as a share of its largest entry.
fn off(found: &[f64], expected: &DMatrix<f64>) -> f64 {
    let columns = expected.ncols();
    let difference = |(at, v): (usize, &f64)| (v - expected[(at / columns, at % columns)]).abs();
    assert_eq!(found.len(), expected.len());
    found.iter().enumerate().map(difference).fold(0.0, f64::max) / expected.amax()
}

fn dense(y: &Array2<f64>) -> DMatrix<f64> {
    DMatrix::from_fn(y.nrows(), y.ncols(), |i, b| y[[i, b]])
}

#[test]
fn means_are_taken_away() {
    for (n, d) in [(1, 1), (7, 3), (8, 1), (1000, 2), (9001, 5), (4096, 4)] {
        let y = gaussian(n, d, 3) + 5.0;
        let flat: Vec<f64> = y.iter().copied().collect();
        let of = || {
            let mut out = vec![f64::NAN; n * d];
            Centering::new(vec![0; n]).apply(&flat, d, &mut out).unwrap();
            out
        };
        let (found, expected) = (of(), &y - &y.mean_axis(Axis(0)).unwrap());
        assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12), "{n} x {d}");
        for threads in [1, 3] {
            assert!(on_threads(threads, of) == found, "{threads} threads");
        }
    }
}

/// On several components each loses its own mean; a vector of another length is refused.
#[test]
fn means_are_taken_away_on_every_component() {
    for (n, d, count) in [(7, 2, 1), (9001, 3, 1), (40, 1, 3), (300, 5, 4)] {
        let y = gaussian(n, d, 4) + 5.0;
        let flat: Vec<f64> = y.iter().copied().collect();
        let labels: Vec<u32> = (0..n).map(|i| (i * i % count) as u32 % 3).collect();
        let count = labels.iter().max().map_or(0, |&last| last as usize + 1);
        let (centering, mut found) = (Centering::new(labels.clone()), vec![f64::NAN; n * d]);
        centering.apply(&flat, d, &mut found).unwrap();
        let mut expected = y.clone();
        for label in 0..count {
            let own: Vec<usize> = (0..n).filter(|&i| labels[i] as usize == label).collect();
            let mean = y.select(Axis(0), &own).mean_axis(Axis(0)).unwrap();
            own.iter().for_each(|&i| expected.row_mut(i).zip_mut_with(&mean, |v, m| *v -= m));
        }
        assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12), "{n} x {d}, {count}");
        assert!(centering.apply(&flat[d..], d, &mut found).is_err());
        assert!(centering.apply(&flat, d, &mut found[d..]).is_err());
    }
}

#[test]
fn residuals_are_differences_to_products() {
    let (x, y, b) = (gaussian(70, 3, 300), gaussian(70, 2, 301), gaussian(70, 2, 302));
    let graph = nearest(&x, 7);
    let refiner = refiner(&x, &graph, 2, Objective::RN);
    let (flat, right): (Vec<f64>, Vec<f64>) = (y.iter().copied().collect(), b.iter().copied().collect());
    let mut found = vec![f64::NAN; 140];
    refiner.residual(&graph, &right, &flat, &mut found, &Unmonitored).unwrap();
    let expected: Vec<f64> = right.iter().zip(apply(&refiner, &graph, &y)).map(|(b, s)| b - s).collect();
    assert_eq!(found, expected);
    assert!(refiner.residual(&graph, &right[2..], &flat, &mut found, &Unmonitored).is_err());
}

#[test]
fn products_are_those_of_the_dense_matrix() {
    let x = gaussian(70, 3, 300);
    for graph in [nearest(&x, 1), nearest(&x, 7), nearest(&x, 69), ragged(&x, 9, 301)] {
        for objective in OBJECTIVES {
            let (refiner, weights) = (refiner(&x, &graph, 2, objective), weights(&x, &graph, objective));
            let matrix = naive::centering(&naive::rows(&graph), &weights);
            for columns in 1..=11 {
                let y = gaussian(70, columns, 302);
                let off = off(&apply(&refiner, &graph, &y), &(&matrix * dense(&y)));
                assert!(off < 1e-13, "{columns} columns, {objective:?}: {off:e}");
            }
            let diagonal = DMatrix::from_column_slice(70, 1, matrix.diagonal().as_slice());
            assert!(off(&refiner.diagonal(&graph), &diagonal) < 1e-13);
            let holds = |p: usize, i: usize| p == i || graph.of(i).contains(&(p as u32));
            let held = |p: usize| (0..70).filter(|&i| holds(p, i)).map(|i| weights[i]).sum::<f64>();
            assert!(off(refiner.held(), &DMatrix::from_fn(70, 1, |p, _| held(p))) < 1e-13);
        }
    }
}

/// Every combination for which there is code of its own.
const DIMENSIONS: [(usize, usize); 9] =
    [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3), (5, 2), (20, 2), (60, 3)];

#[test]
fn frames_are_the_definition() {
    for (q, d) in DIMENSIONS {
        let (x, y) = (gaussian(90, q, 310), gaussian(90, d, 311));
        let large: Vec<Vec<u32>> = naive::rows(&nearest(&x, 12))
            .into_iter()
            .enumerate()
            .map(|(i, r)| r[..6 + i % 7].to_vec())
            .collect();
        let (indptr, indices) = naive::ragged(&large);
        for graph in [nearest(&x, 8), Neighborhoods::from_ragged(indptr, indices).unwrap()] {
            for objective in OBJECTIVES {
                let found = frames(&refiner(&x, &graph, d, objective), &x, &y, &graph);
                let weights = weights(&x, &graph, objective);
                let (right_hand_side, value, decided) = naive::frames(&x, &y, &naive::rows(&graph), &weights);
                let (off, apart) =
                    (off(&found.right_hand_side, &right_hand_side), (found.objective - value).abs());
                assert!(decided && off < 1e-9, "{q} to {d}, {objective:?}: {off:e}");
                assert!(apart < 1e-12 * value, "{q} to {d}, {objective:?}: {value:e}");
            }
        }
    }
}

/// Narrow data are handled several neighborhoods at a time if all have one size, and one by one otherwise.
#[test]
fn one_size_changes_no_frames() {
    for (kind, q) in CLOUDS.into_iter().flat_map(|kind| [(kind, 2), (kind, 3)]) {
        for (n, k) in [(60, 1), (61, 2), (67, 7), (530, 12)] {
            let x = double(kind, n, q, 315);
            let y = x.select(Axis(1), &[1, 0]) + 0.1 * gaussian(n, 2, 316) * x.std(0.0);
            let one = nearest(&x, k);
            let (indptr, indices) = naive::ragged(&naive::rows(&one));
            let each = Neighborhoods::from_ragged(indptr, indices).unwrap();
            for objective in OBJECTIVES {
                let [(held, some), (expected_held, expected)] = [&one, &each].map(|graph| {
                    let refiner = refiner(&x, graph, 2, objective);
                    (refiner.held().to_vec(), frames(&refiner, &x, &y, graph))
                });
                let name = format!("{kind:?}, {q} columns, {n} points, k = {k}, {objective:?}");
                let held_off = off(&held, &DMatrix::from_column_slice(n, 1, &expected_held));
                assert!(held_off < 1e-10, "{name}: {held_off:e}");
                let apart = (some.objective - expected.objective).abs();
                assert!(apart <= 1e-9 * expected.objective, "{name}: {apart:e}");
                // Two points, or points on a line, leave a reflection undecided.
                let (_, _, decided) = naive::frames(&x, &y, &naive::rows(&one), &vec![1.0; n]);
                let matrix = DMatrix::from_row_slice(n, 2, &expected.right_hand_side);
                if decided && matrix.amax() > 0.0 {
                    let sides_off = off(&some.right_hand_side, &matrix);
                    assert!(sides_off < 1e-7, "{name}: {sides_off:e}");
                }
            }
        }
    }
}

/// Single precision and every second column: points are read where they lie.
#[test]
fn frames_do_not_depend_on_how_points_are_stored() {
    let (x, y) = (gaussian(90, 3, 317).mapv(|v| v as f32), gaussian(90, 4, 318).mapv(|v| v as f32));
    let (wide_x, strided) = (x.mapv(f64::from), y.slice_axis(Axis(1), Slice::new(0, None, 2)));
    let (graph, plain) = (nearest(&wide_x, 8), strided.mapv(f64::from));
    let [single, images] =
        [Points::new("X", x.view(), &Unmonitored), Points::new("Y", strided, &Unmonitored)]
            .map(Result::unwrap);
    let refiner = refiner(&wide_x, &graph, 2, Objective::RN);
    let expected = frames(&refiner, &wide_x, &plain, &graph);
    let found = refiner.frames(&single, &images, &graph, &Unmonitored).unwrap();
    assert_eq!(found.right_hand_side, expected.right_hand_side);
    assert_eq!(found.objective, expected.objective);
    let other = Refiner::new(&single, &graph, 2, Objective::RN, &Unmonitored).unwrap();
    assert_eq!(other.held(), refiner.held());
}

/// Undecided frames are among the best, too.
#[test]
fn the_objective_is_the_measure_on_every_cloud() {
    for kind in CLOUDS.into_iter().filter(|kind| !matches!(kind, Cloud::AllEqual | Cloud::Huge)) {
        for (q, d) in DIMENSIONS {
            let (x, y) = (double(kind, 60, q, 320), double(kind, 60, d, 321));
            for graph in [nearest(&x, 8), ragged(&x, 10, 322)] {
                let params = measure::FaithfulnessParams::default();
                let all =
                    measure::faithfulness(&points(&x), &points(&y), &graph, params, &Unmonitored).unwrap();
                let value = |objective| frames(&refiner(&x, &graph, d, objective), &x, &y, &graph).objective;
                let r = value(Objective::R);
                assert!((r - all.means.r).abs() <= 1e-9 * all.means.r, "{kind:?}, {q} to {d}: {r:e}");
                let counted = all.per_point.iter().filter(|p| !p.degenerate());
                let expected = counted.map(|p| p.r_n).sum::<f64>() / 60.0;
                // neighborhoods without extent are left out of the measure, not of refinement
                if all.means.n_degenerate == 0 {
                    let r_n = value(Objective::RN);
                    assert!(
                        (r_n - expected).abs() <= 1e-9 * expected,
                        "{kind:?}, {q} to {d}: {r_n:e}, {expected:e}"
                    );
                }
            }
        }
    }
}

#[test]
fn wide_data_are_refined_as_if_narrow() {
    let x = gaussian(200, 3, 330);
    let wide = x.dot(&orthonormal(40, 3, 331).t()) + gaussian(1, 40, 332);
    for graph in [nearest(&x, 10), ragged(&x, 12, 333)] {
        for (objective, d) in [(Objective::R, 1), (Objective::RN, 2), (Objective::RN, 3)] {
            let y = x.select(Axis(1), &(0..d).collect::<Vec<_>>()) + 0.2 * gaussian(200, d, 334);
            let (narrow, wide_one) =
                (refiner(&x, &graph, d, objective), refiner(&wide, &graph, d, objective));
            let (a, b) = (frames(&narrow, &x, &y, &graph), frames(&wide_one, &wide, &y, &graph));
            assert!((a.objective - b.objective).abs() < 1e-12 * a.objective, "{objective:?}, {d}");
            let whole = DMatrix::from_row_slice(200, d, &a.right_hand_side);
            // neighborhoods of fewer than d points leave reflections undecided
            if graph.fixed_size().is_some() {
                assert!(
                    off(&b.right_hand_side, &whole) < 1e-9,
                    "{objective:?}, {d}: {:e}",
                    off(&b.right_hand_side, &whole)
                );
            }
            let held = DMatrix::from_column_slice(200, 1, narrow.held());
            assert!(off(wide_one.held(), &held) < 1e-12);
        }
    }
}

/// The embedding that is best for these frames, each component about its mean: the sum of w_i H_i is regular there.
fn solved(graph: &Neighborhoods, weights: &[f64], right_hand_side: &[f64], d: usize) -> Array2<f64> {
    let (n, labels) = (graph.len(), graph.components());
    let together = DMatrix::from_fn(n, n, |i, j| f64::from(labels[i] == labels[j]));
    let matrix = naive::centering(&naive::rows(graph), weights) + together * (weights[0] / n as f64);
    let solution = matrix.lu().solve(&DMatrix::from_row_slice(n, d, right_hand_side)).unwrap();
    Array2::from_shape_fn((n, d), |(i, b)| solution[(i, b)])
}

#[test]
fn neither_alternation_raises_the_objective() {
    for (kind, q, d) in
        [(Cloud::Normal, 3, 2), (Cloud::Grid, 3, 2), (Cloud::Normal, 5, 3), (Cloud::Duplicates, 30, 2)]
    {
        let x = double(kind, 80, q, 340);
        for graph in [nearest(&x, 9), ragged(&x, 9, 341)] {
            for objective in OBJECTIVES {
                let (refiner, weights) = (refiner(&x, &graph, d, objective), weights(&x, &graph, objective));
                let (mut exact, mut pointwise) = (gaussian(80, d, 342), gaussian(80, d, 342));
                let mut before = [f64::INFINITY; 2];
                for step in 0..15 {
                    let now = [&exact, &pointwise].map(|y| frames(&refiner, &x, y, &graph));
                    for (b, now) in before.iter_mut().zip(&now) {
                        let slack = 1e-12 * now.objective;
                        assert!(now.objective <= *b + slack, "{kind:?}, {objective:?}, step {step}: {b:e}");
                        *b = now.objective;
                    }
                    exact = solved(&graph, &weights, &now[0].right_hand_side, d);
                    let held = refiner.held();
                    let product = apply(&refiner, &graph, &pointwise);
                    let moves = now[1].right_hand_side.iter().zip(&product).enumerate();
                    let moves = moves.map(|(at, (s, p))| (s - p) / held[at / d]).collect();
                    pointwise += &Array2::from_shape_vec((80, d), moves).unwrap();
                }
                assert!(before[0] <= before[1] * 1.5, "{kind:?}, {objective:?}: {before:?}");
            }
        }
    }
}

#[test]
fn nothing_is_left_to_do_for_an_isometry() {
    for (q, d) in [(2, 2), (3, 2), (6, 3), (40, 1), (40, 3)] {
        let y = gaussian(300, d, 350);
        let x = y.dot(&orthonormal(q, d, 351).t()) + gaussian(1, q, 352);
        for graph in [nearest(&x, 8), ragged(&x, 8, 353)] {
            for objective in OBJECTIVES {
                let refiner = refiner(&x, &graph, d, objective);
                let found = frames(&refiner, &x, &y, &graph);
                assert!(found.objective < 1e-20, "{q} to {d}: {:e}", found.objective);
                let product = DMatrix::from_row_slice(300, d, &apply(&refiner, &graph, &y));
                assert!(off(&found.right_hand_side, &product) < 1e-11, "{q} to {d}");
            }
        }
    }
}

#[test]
fn neighborhoods_without_extent_are_finite() {
    for kind in CLOUDS {
        for (q, d) in DIMENSIONS {
            let x = double(kind, 50, q, 360);
            for graph in [nearest(&x, 3), nearest(&x, 9), ragged(&x, 4, 361)] {
                for y in [double(kind, 50, d, 362), Array2::zeros((50, d)), gaussian(50, d, 363)] {
                    for objective in OBJECTIVES {
                        let refiner = refiner(&x, &graph, d, objective);
                        let found = frames(&refiner, &x, &y, &graph);
                        let mut all = apply(&refiner, &graph, &y);
                        all.extend(
                            found
                                .right_hand_side
                                .iter()
                                .chain(refiner.held())
                                .chain(&refiner.diagonal(&graph)),
                        );
                        all.push(found.objective);
                        assert!(all.iter().all(|v| v.is_finite()), "{kind:?}, {q} to {d}, {objective:?}");
                    }
                }
            }
        }
    }
}

/// Sizes whose squares are hardly numbers any more.
#[test]
fn weights_of_vanishing_data_are_finite() {
    for exponent in (-170..-130).step_by(2) {
        let x = gaussian(50, 3, 364) * 10f64.powi(exponent);
        let graph = nearest(&x, 6);
        let refiner = refiner(&x, &graph, 2, Objective::RN);
        assert!(refiner.held().iter().all(|v| v.is_finite()), "1e{exponent}");
    }
}

/// What coincides weighs as much as what is usual, and one point far away does not change what that is.
#[test]
fn one_size_does_not_decide_all_weights() {
    let mut x = gaussian(400, 3, 370);
    let copied = x.row(5).to_owned();
    (6..26).for_each(|i| x.row_mut(i).assign(&copied));
    let usual = refiner(&x, &nearest(&x, 8), 2, Objective::RN).held().to_vec();
    x.row_mut(399).fill(1e9);
    let graph = nearest(&x, 8);
    let far = refiner(&x, &graph, 2, Objective::RN);
    let near = |p: usize| !graph.of(399).contains(&(p as u32)) && p < 399;
    for p in (0..400).filter(|&p| near(p)) {
        let ratio = far.held()[p] / usual[p];
        assert!((0.2..5.0).contains(&ratio), "point {p}: {ratio:e}");
    }
}

#[test]
fn threads_do_not_matter() {
    for (n, q, d, k) in [(1700, 3, 2, 8), (600, 30, 3, 7), (700, 2, 1, 5)] {
        let (x, y) = (gaussian(n, q, 380), gaussian(n, d, 381));
        for graph in [nearest(&x, k), ragged(&x, k, 382)] {
            let run = || {
                let refiner = refiner(&x, &graph, d, Objective::RN);
                let found = frames(&refiner, &x, &y, &graph);
                let lists = [refiner.held().to_vec(), refiner.diagonal(&graph), apply(&refiner, &graph, &y)];
                (lists, found.right_hand_side, found.objective)
            };
            let alone = on_threads(1, run);
            assert!([2, 8].into_iter().all(|threads| on_threads(threads, run) == alone), "{n} points");
        }
    }
}

#[test]
fn bad_requests_are_refused() {
    let (x, y) = (gaussian(6, 3, 390), gaussian(6, 2, 391));
    let graph = nearest(&x, 2);
    let new =
        |x: &Array2<f64>, d| Refiner::new(&points(x), &graph, d, Objective::R, &Unmonitored).unwrap_err();
    assert_eq!(new(&x, 0), Error::NoComponents);
    assert_eq!(new(&x, 4), Error::TooManyComponents { n_components: 4, dim_in: 3 });
    let shorter = gaussian(5, 3, 392);
    assert_eq!(new(&shorter, 2).to_string(), "X has 5 rows, but the neighborhood graph has 6");

    let refiner = refiner(&x, &graph, 2, Objective::RN);
    let refused = |x: &Array2<f64>, y: &Array2<f64>, graph: &Neighborhoods| {
        refiner.frames(&points(x), &points(y), graph, &Unmonitored).unwrap_err().to_string()
    };
    assert_eq!(refused(&shorter, &y, &graph), "X has 5 rows, but the neighborhood graph has 6");
    assert_eq!(refused(&x, &gaussian(5, 2, 393), &graph), "Y has 5 rows, but the neighborhood graph has 6");
    for d in [1, 3] {
        let error = refused(&x, &gaussian(6, d, 394), &graph);
        assert_eq!(error, format!("Y has {d} columns, but the embedding that is refined has 2"));
    }
    let error = refused(&x, &y, &nearest(&x, 3));
    assert_eq!(error, "the neighborhood graph has 18 rows, but the graph that refinement knows has 12");

    let applied = |graph: &Neighborhoods, y: &[f64], out: &mut [f64]| {
        refiner.apply(graph, y, out, &Unmonitored).unwrap_err()
    };
    for len in [0, 5, 13] {
        assert!(matches!(
            applied(&graph, &vec![0.0; len], &mut vec![0.0; len]),
            Error::LengthMismatch { .. }
        ));
    }
    assert!(matches!(applied(&graph, &[0.0; 12], &mut [0.0; 6]), Error::LengthMismatch { .. }));
    assert!(matches!(applied(&nearest(&x, 3), &[0.0; 12], &mut [0.0; 12]), Error::LengthMismatch { .. }));
}
