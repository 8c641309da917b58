//! Multigrid: a symmetric positive operator on any graph with any weights, and close to the inverse of eq. 11's matrix.

use nalgebra::DMatrix;
use ndarray::Array2;
use unbend::embed::{Centering, Multigrid, Objective, Refiner};
use unbend::{Error, Neighborhoods, Points, Search, Unmonitored, neighbors, synthetic};

use crate::clouds::*;
use crate::{naive, on_threads};

fn nearest(x: &Array2<f64>, k: usize) -> Neighborhoods<'static> {
    let points = Points::new("X", x.view(), &Unmonitored).unwrap();
    neighbors::nearest(&points, k, Search::Auto, &Unmonitored).unwrap().neighborhoods
}

fn graph_of(rows: &[Vec<u32>]) -> Neighborhoods<'static> {
    let (indptr, indices) = naive::ragged(rows);
    Neighborhoods::from_ragged(indptr, indices).unwrap()
}

/// One point that all others list, beside one other.
fn star(n: u32) -> Neighborhoods<'static> {
    let rows: Vec<Vec<u32>> = (0..n)
        .map(|i| match i {
            0 => vec![1],
            1 => vec![0],
            i => vec![0, i - 1],
        })
        .collect();
    graph_of(&rows)
}

/// Pairs, triples, points alone, and many components of a dozen.
fn pieces(count: u32) -> Neighborhoods<'static> {
    let mut rows: Vec<Vec<u32>> = vec![];
    for piece in 0..count {
        let (start, size) = (rows.len() as u32, [1, 2, 3, 12][piece as usize % 4]);
        rows.extend((0..size).map(|o| match size {
            1 => vec![],
            2 => vec![start + 1 - o],
            _ => vec![start + (o + 1) % size, start + (o + 2) % size],
        }));
    }
    graph_of(&rows)
}

fn ragged(n: usize, most: usize) -> Neighborhoods<'static> {
    let mut rng = rng(501);
    let mut rows = naive::rows(&nearest(&gaussian(n, 3, 500), most));
    rows.iter_mut().for_each(|row| row.truncate(pick(&mut rng, most + 1)));
    graph_of(&rows)
}

/// From 1 down to 10^-`orders`, in waves over the points, and some at random.
fn weights(n: usize, orders: f64, seed: u64) -> Vec<f64> {
    let mut rng = rng(seed);
    let share = |i: usize, wild: usize| match wild {
        0 => 0.5 + 0.5 * (i as f64 / 50.0).sin(),
        w => w as f64 / 8.0,
    };
    (0..n).map(|i| 10f64.powf(-orders * share(i, pick(&mut rng, 9)))).collect()
}

fn graphs() -> Vec<(&'static str, Neighborhoods<'static>)> {
    let plane = gaussian(1500, 2, 502);
    vec![
        ("plane", nearest(&plane, 8)),
        ("star", star(700)),
        ("pieces", pieces(600)),
        ("ragged", ragged(900, 7)),
        ("two", nearest(&gaussian(2, 2, 503), 1)),
        ("three", nearest(&gaussian(3, 2, 503), 1)),
        ("complete", nearest(&gaussian(60, 2, 504), 59)),
        ("alone", graph_of(&vec![vec![]; 5])),
    ]
}

fn multigrid(graph: &Neighborhoods, weights: &[f64]) -> Multigrid {
    Multigrid::new(graph, weights, &Unmonitored).unwrap()
}

fn cycle(multigrid: &Multigrid, rhs: &[f64], d: usize) -> Vec<f64> {
    let mut out = vec![f64::NAN; rhs.len()];
    multigrid.cycle(rhs, d, &mut out, &Unmonitored).unwrap();
    out
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn random(n: usize, seed: u64) -> Vec<f64> {
    gaussian(n, 1, seed).into_raw_vec_and_offset().0
}

/// Without its mean on every component.
fn centered(graph: &Neighborhoods, mut v: Vec<f64>) -> Vec<f64> {
    let labels = graph.components();
    let mut sums = vec![(0.0, 0.0); graph.len()];
    labels.iter().zip(&v).for_each(|(&l, v)| {
        sums[l as usize].0 += v;
        sums[l as usize].1 += 1.0;
    });
    v.iter_mut().zip(&labels).for_each(|(v, &l)| *v -= sums[l as usize].0 / sums[l as usize].1);
    v
}

/// Between two centerings, which are those of all components.
#[test]
fn centered_cycles_are_cycles() {
    for (name, graph) in graphs() {
        let n = graph.len();
        let (multigrid, v) = (multigrid(&graph, &weights(n, 3.0, 510)), random(n, 511));
        let mut found = vec![f64::NAN; n];
        let centering = Centering::new(graph.components());
        multigrid.cycle_centered(&centering, &v, 1, &mut found, &Unmonitored).unwrap();
        let expected = centered(&graph, cycle(&multigrid, &centered(&graph, v), 1));
        let largest = expected.iter().fold(0.0f64, |most, v| most.max(v.abs()));
        assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-9 * largest), "{name}");
        let refused = multigrid.cycle_centered(&centering, &found[1..], 1, &mut [0.0; 3], &Unmonitored);
        assert!(n == 1 || refused.is_err(), "{name}");
    }
}

#[test]
fn cycles_are_symmetric_and_positive() {
    for (name, graph) in graphs() {
        let n = graph.len();
        for orders in [0.0, 3.0, 12.0] {
            let multigrid = multigrid(&graph, &weights(n, orders, 510));
            for seed in 511..516 {
                let (u, v) = (centered(&graph, random(n, seed)), centered(&graph, random(n, seed + 10)));
                let (mu, mv) = (cycle(&multigrid, &u, 1), cycle(&multigrid, &v, 1));
                let (uu, vv) = (dot(&u, &mu), dot(&v, &mv));
                let apart = (dot(&u, &mv) - dot(&v, &mu)).abs();
                assert!(apart <= 1e-9 * (uu * vv).sqrt(), "{name}, {orders}: {apart:e} of {uu:e}, {vv:e}");
                assert!(uu > 0.0 || dot(&u, &u) == 0.0, "{name}, {orders}: {uu:e}");
            }
        }
    }
}

#[test]
fn constants_on_components_are_harmless() {
    for (name, graph) in graphs() {
        let (n, labels) = (graph.len(), graph.components());
        let multigrid = multigrid(&graph, &weights(n, 12.0, 520));
        let constant: Vec<f64> = labels.iter().map(|&l| 1.0 + f64::from(l)).collect();
        let found = cycle(&multigrid, &constant, 1);
        assert!(found.iter().all(|v| v.is_finite()), "{name}");
        assert!(dot(&constant, &found) >= 0.0, "{name}");
        assert!(cycle(&multigrid, &vec![0.0; n], 1).iter().all(|&v| v == 0.0), "{name}");
    }
}

#[test]
fn columns_do_not_see_each_other() {
    for (name, graph) in graphs() {
        let n = graph.len();
        let multigrid = multigrid(&graph, &weights(n, 3.0, 530));
        for d in [2, 3, 4, 5, 7, 8, 13] {
            let columns: Vec<Vec<f64>> = (0..d).map(|b| random(n, 531 + b as u64)).collect();
            let flat: Vec<f64> = (0..n * d).map(|at| columns[at % d][at / d]).collect();
            let found = cycle(&multigrid, &flat, d);
            for (b, column) in columns.iter().enumerate() {
                let alone = cycle(&multigrid, column, 1);
                assert!((0..n).all(|i| found[i * d + b] == alone[i]), "{name}, column {b} of {d}");
            }
        }
    }
}

#[test]
fn threads_do_not_matter() {
    let graph = nearest(&gaussian(6000, 2, 540), 7);
    for d in [1, 2, 5] {
        let rhs = random(6000 * d, 541);
        let run = || cycle(&multigrid(&graph, &weights(6000, 6.0, 542)), &rhs, d);
        let alone = on_threads(1, run);
        assert!([2, 8].into_iter().all(|threads| on_threads(threads, run) == alone), "{d} columns");
    }
}

/// Every level is smaller by half at least, so the memory is that of the first two.
#[test]
fn levels_shrink() {
    for (name, graph) in graphs() {
        for orders in [0.0, 12.0] {
            let sizes = multigrid(&graph, &weights(graph.len(), orders, 550)).sizes();
            assert!(sizes.windows(2).all(|pair| 2 * pair[1] <= pair[0]), "{name}, {orders}: {sizes:?}");
        }
    }
}

/// The eigenvalues of M S apart from those of the null space, from dense matrices.
fn spectrum(graph: &Neighborhoods, weights: &[f64]) -> (f64, f64) {
    let n = graph.len();
    let multigrid = multigrid(graph, weights);
    let column = |j: usize| cycle(&multigrid, &(0..n).map(|i| f64::from(i == j)).collect::<Vec<_>>(), 1);
    let m = DMatrix::from_columns(&(0..n).map(|j| column(j).into()).collect::<Vec<_>>());
    let s = naive::centering(&naive::rows(graph), weights);
    let eigen = s.symmetric_eigen();
    let floor = 1e-11 * eigen.eigenvalues.max();
    let kept: Vec<usize> = (0..n).filter(|&a| eigen.eigenvalues[a] > floor).collect();
    let root = DMatrix::from_fn(n, kept.len(), |i, a| {
        eigen.eigenvectors[(i, kept[a])] * eigen.eigenvalues[kept[a]].sqrt()
    });
    let values = (root.transpose() * m * root).symmetric_eigenvalues();
    (values.min(), values.max())
}

/// Nothing is overshot, and nothing is missed by more than a factor that does not grow.
#[test]
fn cycles_are_close_to_the_dense_inverse() {
    let small = [
        ("plane", nearest(&gaussian(300, 2, 560), 8)),
        ("space", nearest(&gaussian(300, 3, 561), 12)),
        ("star", star(200)),
        ("pieces", pieces(60)),
        ("ragged", ragged(250, 7)),
        ("two", nearest(&gaussian(2, 2, 503), 1)),
        ("complete", nearest(&gaussian(60, 2, 504), 59)),
    ];
    for (name, graph) in small {
        for orders in [0.0, 3.0] {
            let (least, most) = spectrum(&graph, &weights(graph.len(), orders, 562));
            assert!(least > 0.02 && most < 1.02, "{name}, {orders}: {least:e} to {most:e}");
        }
    }
}

/// Steps of conjugate gradients to a residual of 1e-8, or `most`.
fn steps(x: &Array2<f64>, graph: &Neighborhoods, objective: Objective, preconditioned: bool) -> usize {
    const MOST: usize = 500;
    let points = Points::new("X", x.view(), &Unmonitored).unwrap();
    let refiner = Refiner::new(&points, graph, 1, objective, &Unmonitored).unwrap();
    let multigrid = refiner.multigrid(graph, &Unmonitored).unwrap();
    let diagonal = refiner.diagonal(graph);
    let apply = |v: &[f64]| {
        let mut out = vec![0.0; v.len()];
        refiner.apply(graph, v, &mut out, &Unmonitored).unwrap();
        out
    };
    let improve = |r: &[f64]| match preconditioned {
        true => cycle(&multigrid, r, 1),
        false => r.iter().zip(&diagonal).map(|(r, d)| r / d).collect(),
    };
    let mut r = apply(&random(graph.len(), 570));
    let enough = 1e-8 * dot(&r, &r).sqrt();
    let mut p = improve(&r);
    let mut rz = dot(&r, &p);
    for step in 1..MOST {
        let product = apply(&p);
        let alpha = rz / dot(&p, &product);
        r.iter_mut().zip(&product).for_each(|(r, q)| *r -= alpha * q);
        if dot(&r, &r).sqrt() <= enough {
            return step;
        }
        let z = improve(&r);
        let (before, now) = (rz, dot(&r, &z));
        rz = now;
        p.iter_mut().zip(&z).for_each(|(p, z)| *p = z + now / before * *p);
    }
    MOST
}

/// Jacobi needs 100 steps at 2,000 points, and twice as many for four times the points.
#[test]
fn steps_do_not_grow_with_the_number_of_points() {
    for objective in [Objective::R, Objective::RN] {
        for n in [2000, 8000, 32_000] {
            let x = synthetic::swiss_roll(n, &synthetic::SwissRoll::default(), 0, &Unmonitored).unwrap().x;
            let graph = nearest(&x, 12);
            let found = steps(&x, &graph, objective, true);
            assert!(found <= 25, "{n} points, {objective:?}: {found}");
        }
    }
}

/// Neighborhoods whose sizes differ by six orders have weights that differ by twelve.
#[test]
fn steps_do_not_grow_with_the_range_of_weights() {
    let mut x = gaussian(4000, 2, 580);
    for mut row in x.rows_mut() {
        let factor = row.dot(&row);
        row *= factor;
    }
    let graph = nearest(&x, 10);
    let points = Points::new("X", x.view(), &Unmonitored).unwrap();
    let refiner = Refiner::new(&points, &graph, 1, Objective::RN, &Unmonitored).unwrap();
    let held = refiner.held();
    let (least, most) = held.iter().fold((f64::MAX, 0.0), |(a, b), &h| (h.min(a), h.max(b)));
    assert!(most > 1e10 * least, "the weights are not wild enough: {:e}", most / least);
    let found = steps(&x, &graph, Objective::RN, true);
    assert!(found <= 30, "{found}");
}

#[test]
fn extreme_weights_are_finite() {
    for (name, graph) in graphs() {
        let n = graph.len();
        for (least, most) in [(1e-300, 1e290), (1e280, 1e290), (1e-300, 1e-290)] {
            let weights: Vec<f64> = (0..n).map(|i| if i % 3 == 0 { most } else { least }).collect();
            let matrix = naive::centering(&naive::rows(&graph), &weights);
            let rhs: Vec<f64> = (matrix * DMatrix::from_vec(n, 1, random(n, 590))).data.into();
            let found = cycle(&multigrid(&graph, &weights), &rhs, 1);
            let bad = found.iter().find(|v| !v.is_finite());
            assert_eq!(bad, None, "{name}, {least:e} to {most:e}");
        }
    }
}

#[test]
fn bad_requests_are_refused() {
    let graph = nearest(&gaussian(6, 3, 595), 2);
    let error = Multigrid::new(&graph, &[1.0; 5], &Unmonitored).unwrap_err();
    assert_eq!(error.to_string(), "weights has 5 rows, but the neighborhood graph has 6");
    let multigrid = multigrid(&graph, &[1.0; 6]);
    let refused =
        |len, out| multigrid.cycle(&vec![0.0; len], 2, &mut vec![0.0; out], &Unmonitored).unwrap_err();
    assert!(matches!(refused(6, 12), Error::LengthMismatch { left_len: 6, right_len: 12, .. }));
    assert!(matches!(refused(12, 6), Error::LengthMismatch { left_len: 6, right_len: 12, .. }));
}
