//! From frames to the embedding: against dense sums, and on data that lie flat.

use nalgebra::DMatrix;
use ndarray::Array2;
use unbend::charts::{Atlas, Coordinates, Local, Net};
use unbend::embed::align::{Connection, tree};
use unbend::embed::cut::restricted;
use unbend::embed::{Objective, Refiner, frames_of, place};
use unbend::{Error, Neighborhoods, Unmonitored};

use crate::clouds::*;
use crate::embed::align::{from_rows, nearest, points, ragged, random_rotations, square};
use crate::{naive, on_threads};

const OBJECTIVES: [Objective; 2] = [Objective::R, Objective::RN];

/// Calls `f` with an atlas of each form.
fn with_atlases(x: &Array2<f64>, graph: &Neighborhoods, d: usize, mut f: impl FnMut(&Atlas, &str)) {
    let points = points(x);
    f(&Atlas::new(&points, graph, None, d, &Unmonitored).unwrap(), "bases");
    f(&Atlas::of_charts(&points, graph, None, d, &Unmonitored).unwrap(), "charts");
}

/// Theta_i = H X_i P_i by the singular value decomposition, with the signs that the atlas chose.
fn charts(x: &Array2<f64>, graph: &Neighborhoods, atlas: &Atlas) -> Vec<DMatrix<f64>> {
    let (d, rows) = (atlas.n_components(), naive::rows(graph));
    let mut read = Coordinates::default();
    let chart = |i: usize| {
        let (mut theta, ..) = naive::tangent(&naive::centered(x, &naive::members(&rows, i, true)), d);
        atlas.read(i, &mut read);
        let found = DMatrix::from_row_slice(theta.nrows(), d, &read.flat);
        for b in 0..d {
            let sign = theta.column(b).dot(&found.column(b)).signum();
            theta.column_mut(b).scale_mut(sign);
        }
        theta
    };
    (0..rows.len()).map(chart).collect()
}

fn largest_off(found: &[f64], expected: &DMatrix<f64>) -> f64 {
    let d = expected.ncols();
    let off = |(at, v): (usize, &f64)| (v - expected[(at / d, at % d)]).abs();
    found.iter().enumerate().map(off).fold(0.0, f64::max) / expected.amax().max(f64::MIN_POSITIVE)
}

/// sum of w_i Theta_i O_i.
fn dense_right_hand_side(
    thetas: &[DMatrix<f64>],
    rotations: &[f64],
    rows: &[Vec<u32>],
    weights: &[f64],
) -> DMatrix<f64> {
    let d = thetas[0].ncols();
    let mut right_hand_side = DMatrix::zeros(rows.len(), d);
    for (i, theta) in thetas.iter().enumerate() {
        let turned = theta * square(rotations, i, d) * weights[i];
        for (m, p) in naive::members(rows, i, true).into_iter().enumerate() {
            (0..d).for_each(|b| right_hand_side[(p, b)] += turned[(m, b)]);
        }
    }
    right_hand_side
}

#[test]
fn right_hand_sides_are_the_dense_sum() {
    for (q, d) in [(1, 1), (2, 2), (3, 1), (3, 2), (5, 3), (6, 4), (40, 2), (40, 3)] {
        let x = gaussian(70, q, 400);
        let large: Vec<Vec<u32>> =
            naive::rows(&nearest(&x, 14)).iter().enumerate().map(|(i, r)| r[..7 + i % 8].to_vec()).collect();
        for graph in [nearest(&x, 9), from_rows(&large)] {
            let (rotations, rows) = (random_rotations(70, d, 401), naive::rows(&graph));
            with_atlases(&x, &graph, d, |atlas, form| {
                let thetas = charts(&x, &graph, atlas);
                for objective in OBJECTIVES {
                    let weights = naive::refinement_weights(&x, &rows, objective == Objective::RN);
                    let refiner = Refiner::new(&points(&x), &graph, d, objective, &Unmonitored).unwrap();
                    let found = refiner.right_hand_side(atlas, &rotations, &Unmonitored).unwrap();
                    let off =
                        largest_off(&found, &dense_right_hand_side(&thetas, &rotations, &rows, &weights));
                    assert!(off < 1e-9, "{q} to {d}, {form}, {objective:?}: {off:e}");
                }
            });
        }
    }
}

/// What is torn is left out, as if it had never been listed.
#[test]
fn frames_on_a_sheet_are_those_of_its_graph() {
    for (q, d) in [(3, 2), (6, 4), (40, 2)] {
        let (x, y) = (gaussian(60, q, 422), gaussian(60, d, 423));
        let flat: Vec<f64> = y.iter().copied().collect();
        let (graph, mut rng) = (nearest(&x, 12), rng(424));
        let torn: Vec<bool> = (0..720).map(|_| pick(&mut rng, 4) == 0).collect();
        let sheet = restricted(&graph, &torn).unwrap();
        with_atlases(&x, &graph, d, |atlas, form| {
            let found = frames_of(atlas, &flat, Some(&torn), &Unmonitored).unwrap();
            if form == "bases" {
                let (points, net) = (points(&x), None);
                let kept = Atlas::new(&points, &graph, net, d, &Unmonitored).unwrap().keep();
                let lent = Atlas::lend(&points, &sheet, d, &kept).unwrap();
                assert!(found == frames_of(&lent, &flat, None, &Unmonitored).unwrap(), "{q} to {d}");
            }
            for (i, theta) in charts(&x, &graph, atlas).iter().enumerate() {
                let rows = naive::members(&naive::rows(&sheet), i, true);
                let all = naive::members(&naive::rows(&graph), i, true);
                let place = |p: &usize| all.iter().position(|other| other == p).unwrap();
                let own = theta.select_rows(&rows.iter().map(place).collect::<Vec<_>>());
                let naive::Svd { u, s, v } = naive::svd(&(own.transpose() * naive::centered(&y, &rows)));
                let off = (square(&found, i, d) - u * v.transpose()).amax();
                assert!(off * s[d - 1] < 1e-8 * s[0], "{q} to {d}, {form}, point {i}: {off:e}");
            }
            let refused = frames_of(atlas, &flat, Some(&torn[1..]), &Unmonitored).unwrap_err();
            assert!(matches!(refused, Error::LengthMismatch { .. }));
        });
    }
}

#[test]
fn frames_of_an_embedding_fit_it_best() {
    for (q, d) in [(1, 1), (2, 2), (3, 2), (5, 3), (6, 4), (40, 2)] {
        let (x, y) = (gaussian(60, q, 420), gaussian(60, d, 421));
        let flat: Vec<f64> = y.iter().copied().collect();
        let graph = nearest(&x, 12);
        let rows = naive::rows(&graph);
        with_atlases(&x, &graph, d, |atlas, form| {
            let found = frames_of(atlas, &flat, None, &Unmonitored).unwrap();
            for (i, theta) in charts(&x, &graph, atlas).iter().enumerate() {
                let images = naive::centered(&y, &naive::members(&rows, i, true));
                let naive::Svd { u, s, v } = naive::svd(&(theta.transpose() * images));
                let off = (square(&found, i, d) - u * v.transpose()).amax();
                assert!(off * s[d - 1] < 1e-8 * s[0], "{q} to {d}, {form}, point {i}: {off:e}");
            }
        });
    }
}

/// (sum of w_i H_i)^+ b.
fn solved(rows: &[Vec<u32>], weights: &[f64], right_hand_side: &[f64], d: usize) -> DMatrix<f64> {
    let n = rows.len();
    let regular = naive::centering(rows, weights) + DMatrix::from_element(n, n, 1.0 / n as f64);
    regular.lu().solve(&DMatrix::from_row_slice(n, d, right_hand_side)).unwrap()
}

/// An embedding of flat data comes back from its own frames.
#[test]
fn flat_embeddings_are_the_solution_for_their_frames() {
    for (q, d) in [(2, 2), (3, 1), (3, 2), (5, 3), (40, 2)] {
        let y = gaussian(120, d, 430);
        let x = y.dot(&orthonormal(q, d, 431).t()) + 2.0;
        let graph = nearest(&x, 12);
        let rows = naive::rows(&graph);
        assert!(naive::components(&rows).iter().all(|&c| c == 0));
        let flat: Vec<f64> = y.iter().copied().collect();
        let all: Vec<usize> = (0..120).collect();
        with_atlases(&x, &graph, d, |atlas, form| {
            let rotations = frames_of(atlas, &flat, None, &Unmonitored).unwrap();
            for objective in OBJECTIVES {
                let refiner = Refiner::new(&points(&x), &graph, d, objective, &Unmonitored).unwrap();
                let right_hand_side = refiner.right_hand_side(atlas, &rotations, &Unmonitored).unwrap();
                let found = solved(&rows, refiner.weights(), &right_hand_side, d);
                let off = (found - naive::centered(&y, &all)).amax();
                assert!(off < 1e-7, "{q} to {d}, {form}, {objective:?}: {off:e}");
            }
        });
    }
}

/// Every component of flat data is placed as it lies.
#[test]
fn flat_data_are_placed_as_they_lie() {
    for (q, d) in [(1, 1), (2, 2), (3, 2), (5, 3), (40, 2)] {
        let mut x = gaussian(200, d, 440).dot(&orthonormal(q, d, 441).t());
        x.rows_mut().into_iter().skip(150).for_each(|mut row| row += 100.0);
        let graph = nearest(&x, 10);
        let part = naive::components(&naive::rows(&graph));
        assert!(part[0] != part[199]);
        with_atlases(&x, &graph, d, |atlas, form| {
            let connection = Connection::new(atlas, &Unmonitored).unwrap();
            let rotations = tree(&connection, atlas, &Unmonitored).unwrap().aligned.rotations;
            let y = place(&connection, atlas, &rotations, &Unmonitored).unwrap();
            let apart = |i: usize, j: usize| {
                (0..d).map(|b| (y[i * d + b] - y[j * d + b]).powi(2)).sum::<f64>().sqrt()
            };
            for i in 0..200 {
                for j in (0..i).filter(|&j| part[i] == part[j]) {
                    let truth = (&x.row(i) - &x.row(j)).mapv(|v| v * v).sum().sqrt();
                    let off = (apart(i, j) - truth).abs();
                    let most = if form == "bases" { 1e-9 } else { 1e-6 };
                    assert!(off < most, "{q} to {d}, {form}: {i} and {j} are {off:e} off");
                }
            }
        });
    }
}

/// Lists of any length, also where only one of two lists the other.
#[test]
fn one_sided_lists_are_placed_too() {
    let x = gaussian(100, 2, 450);
    let mut rng = rng(451);
    let mut rows = naive::rows(&nearest(&x, 12));
    rows.iter_mut().for_each(|row| row.truncate(3 + pick(&mut rng, 10)));
    let graph = from_rows(&rows);
    let points = points(&x);
    let atlas = Atlas::new(&points, &graph, None, 2, &Unmonitored).unwrap();
    let connection = Connection::new(&atlas, &Unmonitored).unwrap();
    let rotations = tree(&connection, &atlas, &Unmonitored).unwrap().aligned.rotations;
    let y = place(&connection, &atlas, &rotations, &Unmonitored).unwrap();
    let part = naive::components(&rows);
    for i in 0..100 {
        for j in (0..i).filter(|&j| part[i] == part[j]) {
            let truth = (&x.row(i) - &x.row(j)).mapv(|v| v * v).sum().sqrt();
            let found = ((y[2 * i] - y[2 * j]).powi(2) + (y[2 * i + 1] - y[2 * j + 1]).powi(2)).sqrt();
            assert!((found - truth).abs() < 1e-9, "{i} and {j}: {found}, not {truth}");
        }
    }
}

#[test]
fn what_lies_outside_a_chart_is_the_residual() {
    for q in [2, 3, 30] {
        let x = gaussian(60, q, 460);
        for graph in [nearest(&x, 8), ragged(&x, 8, 461)] {
            let rows = naive::rows(&graph);
            with_atlases(&x, &graph, 2, |atlas, form| {
                for i in 0..60 {
                    let found = atlas.outside(i, &mut Coordinates::default(), &mut Local::default());
                    let h = naive::centered(&x, &naive::members(&rows, i, true));
                    let (.., residual) = naive::tangent(&h, 2);
                    let expected = if h.norm() > 0.0 { residual / h.norm_squared() } else { 0.0 };
                    assert!((found - expected).abs() < 1e-7, "{form}, q = {q}: {found}, not {expected}");
                }
            });
        }
    }
}

/// What an atlas kept is the atlas; that of other data is refused.
#[test]
fn kept_atlases_are_lent() {
    let x = gaussian(50, 30, 470);
    let (graph, points) = (nearest(&x, 8), points(&x));
    let (fewer, other) = (nearest(&x, 7), gaussian(50, 29, 471));
    for form in ["bases", "charts"] {
        let make = || match form {
            "bases" => Atlas::new(&points, &graph, None, 2, &Unmonitored).unwrap(),
            _ => Atlas::of_charts(&points, &graph, None, 2, &Unmonitored).unwrap(),
        };
        let (atlas, kept) = (make(), make().keep());
        let lent = Atlas::lend(&points, &graph, 2, &kept).unwrap();
        let (mut a, mut b) = (Coordinates::default(), Coordinates::default());
        for i in 0..50 {
            atlas.read(i, &mut a);
            lent.read(i, &mut b);
            assert!(a.flat == b.flat && a.dim == b.dim && atlas.tangents() == lent.tangents());
        }
        let refused = Atlas::lend(&points, &graph, 3, &kept).unwrap_err();
        assert!(matches!(refused, Error::LengthMismatch { .. }), "{form}: {refused}");
        let other = crate::embed::align::points(&other);
        let refused = match form {
            "bases" => Atlas::lend(&other, &graph, 2, &kept).map(|_| ()),
            _ => Atlas::lend(&points, &fewer, 2, &kept).map(|_| ()),
        };
        assert!(matches!(refused, Err(Error::LengthMismatch { .. })), "{form}");
    }
}

#[test]
fn other_numbers_of_frames_are_refused() {
    let x = gaussian(40, 3, 480);
    let (graph, points) = (nearest(&x, 6), points(&x));
    let atlas = Atlas::new(&points, &graph, None, 2, &Unmonitored).unwrap();
    let connection = Connection::new(&atlas, &Unmonitored).unwrap();
    let short = vec![0.0; 156];
    let expected = Error::LengthMismatch {
        left: "the frames",
        left_len: 156,
        right: "the points, times d^2,",
        right_len: 160,
    };
    let refiner = |d| Refiner::new(&points, &graph, d, Objective::R, &Unmonitored).unwrap();
    assert_eq!(refiner(2).right_hand_side(&atlas, &short, &Unmonitored).unwrap_err(), expected);
    assert_eq!(place(&connection, &atlas, &short, &Unmonitored).unwrap_err(), expected);
    let refused = refiner(1).right_hand_side(&atlas, &[0.0; 160], &Unmonitored).unwrap_err();
    assert!(matches!(refused, Error::DimensionMismatch { left_dim: 2, right_dim: 1, .. }), "{refused}");
    let refused = frames_of(&atlas, &[0.0; 79], None, &Unmonitored).unwrap_err();
    assert!(matches!(refused, Error::LengthMismatch { left_len: 79, right_len: 80, .. }), "{refused}");
}

#[test]
fn threads_do_not_change_a_bit() {
    let x = gaussian(3000, 3, 490);
    let (graph, points) = (nearest(&x, 8), points(&x));
    let rotations = random_rotations(3000, 2, 491);
    let y: Vec<f64> = gaussian(3000, 2, 492).into_iter().collect();
    let run = || {
        let net = Net::new(&points, 2, 100, 0, &Unmonitored).unwrap();
        let atlas = Atlas::new(&points, &graph, Some(&net), 2, &Unmonitored).unwrap();
        let connection = Connection::new(&atlas, &Unmonitored).unwrap();
        let refiner = Refiner::new(&points, &graph, 2, Objective::RN, &Unmonitored).unwrap();
        let right_hand_side = refiner.right_hand_side(&atlas, &rotations, &Unmonitored).unwrap();
        let frames = frames_of(&atlas, &y, None, &Unmonitored).unwrap();
        (right_hand_side, frames, place(&connection, &atlas, &rotations, &Unmonitored).unwrap())
    };
    let alone = on_threads(1, run);
    for threads in [2, 8] {
        assert!(on_threads(threads, run) == alone, "{threads} threads");
    }
}
