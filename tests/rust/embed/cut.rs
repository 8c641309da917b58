//! Cutting: pairs against their definition, points laid down against a plain loop, and surfaces that are known.

use nalgebra::{DMatrix, DVector};
use ndarray::{Array2, Axis};
use unbend::charts::Atlas;
use unbend::embed::align::Connection;
use unbend::embed::cut::{
    Seam, Shape, Unrolled, Unroller, marked, mend, nearer, persistent, restricted, seams, shape, spacing,
    torn,
};
use unbend::embed::frames_of;
use unbend::{Error, Neighborhoods, Unmonitored};

use crate::clouds::*;
use crate::embed::align::{from_rows, nearest, points};
use crate::shapes::*;
use crate::{naive, on_threads};

const TAU: f64 = 2.5;

/// Calls `f` with the connection and its atlas.
fn with<T>(x: &Array2<f64>, graph: &Neighborhoods, d: usize, f: impl FnOnce(&Connection, &Atlas) -> T) -> T {
    let points = points(x);
    let atlas = Atlas::new(&points, graph, None, d, &Unmonitored).unwrap();
    f(&Connection::new(&atlas, &Unmonitored).unwrap(), &atlas)
}

fn unrolled(x: &Array2<f64>, graph: &Neighborhoods, d: usize) -> Unrolled {
    with(x, graph, d, |connection, atlas| {
        Unroller::new(connection, atlas, &Unmonitored).unwrap().unroll(TAU, &Unmonitored).unwrap()
    })
}

fn picture(found: &Unrolled, d: usize) -> Array2<f64> {
    Array2::from_shape_vec((found.y.len() / d, d), found.y.clone()).unwrap()
}

fn torn_by(x: &Array2<f64>, y: &Array2<f64>, graph: &Neighborhoods) -> Vec<bool> {
    let h = spacing(&points(x), graph, &Unmonitored).unwrap();
    torn(&points(x), &points(y), graph, h, TAU, &Unmonitored).unwrap()
}

/// The seams of the picture that is laid down, not yet fitted.
fn seams_of(x: &Array2<f64>, k: usize, d: usize) -> Vec<Seam> {
    let graph = nearest(x, k);
    with(x, &graph, d, |connection, atlas| {
        let unroller = Unroller::new(connection, atlas, &Unmonitored).unwrap();
        let found = unroller.unroll(TAU, &Unmonitored).unwrap();
        let torn = torn_by(x, &picture(&found, d), &graph);
        let rotations = frames_of(atlas, &found.y, Some(&torn), &Unmonitored).unwrap();
        seams(&points(x), connection, &graph, &torn, &found.y, &rotations, 8, &Unmonitored).unwrap()
    })
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

fn tube(n: usize, height: f64, seed: u64) -> Array2<f64> {
    unbend::synthetic::cylinder(n, height, 0.0, seed, &Unmonitored).unwrap().x
}

#[test]
fn the_first_neighbors_keep_what_is_torn_of_them() {
    let graph = nearest(&gaussian(30, 3, 7), 5);
    let torn: Vec<bool> = (0..150).map(|at| at % 7 < 3).collect();
    for most in [1, 4] {
        let (fewer, left) = nearer(&graph, &torn, most).unwrap().unwrap();
        assert_eq!(fewer.fixed_size(), Some(most));
        for i in 0..30 {
            assert_eq!(fewer.of(i), &graph.of(i)[..most]);
            assert_eq!(left[i * most..][..most], torn[i * 5..][..most]);
        }
    }
    assert_eq!(nearer(&graph, &torn, 5), Ok(None));
    let sheet = restricted(&graph, &torn).unwrap();
    assert_eq!(nearer(&sheet, &vec![false; sheet.indices().len()], 1), Ok(None));
    assert!(matches!(nearer(&graph, &torn[1..], 2), Err(Error::LengthMismatch { .. })));
}

#[test]
fn torn_pairs_are_as_defined() {
    for seed in 0..5 {
        let (x, y) = (gaussian(80, 3, seed), gaussian(80, 2, 100 + seed));
        let graph = nearest(&x, 7);
        let row = |a: &Array2<f64>, i: usize| a.row(i).to_vec();
        let mut reach: Vec<f64> =
            (0..80).map(|i| distance(&row(&x, i), &row(&x, graph.of(i)[6] as usize))).collect();
        reach.sort_by(f64::total_cmp);
        let h = spacing(&points(&x), &graph, &Unmonitored).unwrap();
        assert_eq!(h, reach[40]);
        let found = torn_by(&x, &y, &graph);
        let mut at = 0;
        for i in 0..80 {
            for &j in graph.of(i) {
                let j = j as usize;
                let apart = distance(&row(&x, i), &row(&x, j)).max(h);
                assert_eq!(found[at], distance(&row(&y, i), &row(&y, j)) > TAU * apart, "{i} and {j}");
                at += 1;
            }
        }
        assert!(found.iter().any(|&torn| torn) && found.iter().any(|&torn| !torn));
    }
}

#[test]
fn restricted_neighborhoods_hold_the_rest_in_order() {
    let (x, y) = (gaussian(60, 3, 1), gaussian(60, 2, 2));
    let graph = nearest(&x, 6);
    let torn = torn_by(&x, &y, &graph);
    let kept = restricted(&graph, &torn).unwrap();
    for i in 0..60 {
        let rest: Vec<u32> = (0..6).filter(|at| !torn[i * 6 + at]).map(|at| graph.of(i)[at]).collect();
        assert_eq!(kept.of(i), rest);
    }
    let mut pairs = vec![];
    for (at, _) in torn.iter().enumerate().filter(|(_, torn)| **torn) {
        pairs.extend([graph.indices()[at], (at / 6) as u32]);
    }
    assert_eq!(marked(&graph, &pairs).unwrap(), torn);
}

/// The same by a plain loop: the nearest pair to the root of those between what is laid down and what is not.
fn naively(x: &Array2<f64>, graph: &Neighborhoods, d: usize, root: usize) -> Vec<f64> {
    with(x, graph, d, |connection, atlas| {
        let h = spacing(&points(x), graph, &Unmonitored).unwrap();
        let (n, beside) = (x.nrows(), connection.graph());
        let basis = |i: usize| {
            let mut basis = vec![0.0; x.ncols() * d];
            atlas.tangent(i, &mut basis);
            DMatrix::from_column_slice(x.ncols(), d, &basis)
        };
        let bases: Vec<DMatrix<f64>> = (0..n).map(basis).collect();
        let step = |i: usize, j: usize| {
            DVector::from_iterator(x.ncols(), (0..x.ncols()).map(|a| x[[j, a]] - x[[i, a]]))
        };
        let polar = |z: DMatrix<f64>| {
            let naive::Svd { u, v, .. } = naive::svd(&z);
            u * v.transpose()
        };
        let mut far = vec![f64::INFINITY; n];
        let mut frames: Vec<DMatrix<f64>> = bases.clone();
        let mut y = vec![DVector::zeros(d); n];
        far[root] = 0.0;
        for _ in 1..n {
            let mut next = (f64::INFINITY, usize::MAX, usize::MAX);
            for i in (0..n).filter(|&i| far[i].is_finite()) {
                for &j in beside.of(i).iter().filter(|&&j| far[j as usize].is_infinite()) {
                    let through = far[i] + step(i, j as usize).norm();
                    if through < next.0 {
                        next = (through, i, j as usize);
                    }
                }
            }
            let (through, i, j) = next;
            if j == usize::MAX {
                break;
            }
            let first = &bases[j] * polar(bases[j].transpose() * &frames[i]);
            let guess =
                |p: usize, frame: &DMatrix<f64>| &y[p] + (&frames[p] + frame).transpose() * step(p, j) * 0.5;
            let by_path = guess(i, &first);
            let heard: Vec<usize> = beside.of(j).iter().map(|&p| p as usize).collect();
            let heard: Vec<usize> = heard
                .into_iter()
                .filter(|&p| {
                    far[p].is_finite() && (p == i || (guess(p, &first) - &by_path).norm() <= 1.5 * h)
                })
                .collect();
            let wanted =
                heard.iter().fold(DMatrix::zeros(d, d), |sum, &p| sum + bases[j].transpose() * &frames[p]);
            let frame = &bases[j] * polar(wanted);
            let sum = heard.iter().fold(DVector::zeros(d), |sum, &p| sum + guess(p, &frame));
            (far[j], y[j], frames[j]) = (through, sum / heard.len() as f64, frame);
        }
        y.iter().flat_map(|y| y.iter().copied().collect::<Vec<_>>()).collect()
    })
}

#[test]
fn points_are_laid_down_as_by_a_plain_loop() {
    for (x, k, d) in [(tube(300, 3.0, 1), 8, 2), (moebius(300, 0.5, 2), 7, 2), (annulus(200, 0.4, 3), 6, 2)] {
        let graph = nearest(&x, k);
        let found = unrolled(&x, &graph, d);
        assert_eq!(found.forced, 0, "a surface that overlaps has no such twin");
        let root = found.roots[0] as usize;
        let plain = naively(&x, &graph, d, root);
        // up to the frame of the root
        let distances = |y: &[f64]| -> Vec<f64> {
            (0..y.len() / d).map(|i| distance(&y[i * d..][..d], &y[root * d..][..d])).collect()
        };
        let pairs = distances(&found.y).into_iter().zip(distances(&plain));
        let off = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 1e-9, "{off:e}");
    }
}

#[test]
fn flat_data_keep_their_distances() {
    for (d, k, n) in [(1, 8, 100), (2, 12, 400), (3, 14, 500)] {
        let x = gaussian(n, d, 7).dot(&orthonormal(d + 2, d, 8).t());
        let graph = nearest(&x, k);
        assert!(graph.components().iter().all(|&c| c == 0));
        let y = picture(&unrolled(&x, &graph, d), d);
        let apart = |a: &Array2<f64>, i: usize, j: usize| distance(&a.row(i).to_vec(), &a.row(j).to_vec());
        for i in 0..n {
            let j = (i * 7 + 3) % n;
            assert!((apart(&x, i, j) - apart(&y, i, j)).abs() < 1e-9, "{d}: {i} and {j}");
        }
    }
}

#[test]
fn a_tube_is_unrolled_along_one_line() {
    let x = tube(2000, 3.0, 5);
    let graph = nearest(&x, 10);
    let found = unrolled(&x, &graph, 2);
    let y = picture(&found, 2);
    let torn = torn_by(&x, &y, &graph);
    let share = torn.iter().filter(|&&torn| torn).count() as f64 / torn.len() as f64;
    assert!((0.005..0.03).contains(&share), "{share}");
    // along the circle and along the axis
    let root = found.roots[0] as usize;
    let angle = |i: usize| x[[i, 1]].atan2(x[[i, 0]]);
    for i in 0..2000 {
        let mut turn = (angle(i) - angle(root)).abs();
        turn = turn.min(std::f64::consts::TAU - turn);
        let truth = turn.hypot(x[[i, 2]] - x[[root, 2]]);
        let there = distance(&y.row(i).to_vec(), &y.row(root).to_vec());
        assert!((truth - there).abs() < 0.05 * truth + 0.01, "{i}: {there} for {truth}");
    }
}

#[test]
fn seams_know_whether_they_reflect() {
    let found = seams_of(&tube(2000, 3.0, 1), 10, 2);
    assert_eq!(found.len(), 1);
    assert!(!found[0].reversed && !found[0].ends);
    let found = seams_of(&moebius(2000, 0.5, 1), 10, 2);
    assert_eq!(found.len(), 1);
    assert!(found[0].reversed);
    assert!(seams_of(&torus(4000, 0.4, 1), 10, 2).iter().all(|seam| !seam.reversed || seam.ends));
    assert!(seams_of(&klein_bottle(4000, 0.4, 1), 10, 2).iter().any(|seam| seam.reversed && !seam.ends));
}

#[test]
fn the_sides_of_a_seam_run_beside_each_other() {
    let x = tube(3000, 3.0, 2);
    let found = seams_of(&x, 10, 2);
    let [left, right] = &found[0].sides;
    let heights = |side: &[u32]| -> Vec<f64> { side.iter().map(|&i| x[[i as usize, 2]]).collect() };
    let (left, right) = (heights(left), heights(right));
    let rises = |side: &[f64]| side[side.len() - 1] > side[0];
    assert_eq!(rises(&left), rises(&right));
    for side in [left, right] {
        assert!((side[0] - side[side.len() - 1]).abs() > 2.5, "from rim to rim");
        let up = side.windows(2).filter(|pair| (pair[1] > pair[0]) == rises(&side)).count();
        assert!(4 * up > 3 * side.len(), "{up} of {} in order", side.len());
    }
}

fn shape_of(x: &Array2<f64>) -> Option<Shape> {
    shape(&points(x), &nearest(x, 10), 2, &Unmonitored).unwrap()
}

#[test]
fn surfaces_are_told_apart_by_loops_and_voids() {
    for seed in 0..3 {
        let surfaces = [
            (sphere(3000, seed), 0, 1),
            (torus(4000, 0.4, seed), 2, 1),
            (klein_bottle(4000, 0.4, seed), 2, 1),
            (tube(2000, 3.0, seed), 1, 0),
            (moebius(2000, 0.5, seed), 1, 0),
            (annulus(3000, 0.4, seed), 1, 0),
            (annulus(3000, 0.0, seed), 0, 0),
        ];
        for (which, (x, loops, voids)) in surfaces.iter().enumerate() {
            assert_eq!(shape_of(x), Some(Shape { loops: *loops, voids: *voids }), "{which}, seed {seed}");
        }
    }
}

#[test]
fn a_thinned_graph_has_the_same_shape() {
    // above twice 10,000 points
    assert_eq!(shape_of(&torus(25_000, 0.4, 1)), Some(Shape { loops: 2, voids: 1 }));
    assert_eq!(shape_of(&annulus(25_000, 0.4, 1)), Some(Shape { loops: 1, voids: 0 }));
}

#[test]
fn some_shapes_are_not_told() {
    assert_eq!(shape_of(&gaussian(60, 2, 1)), None, "too few points");
    assert_eq!(shape_of(&gaussian(3000, 8, 1)), None, "too many dimensions");
    let two = ndarray::concatenate(Axis(0), &[sphere(500, 1).view(), (sphere(500, 2) + 9.0).view()]).unwrap();
    assert_eq!(shape_of(&two), None, "two pieces");
}

/// The rank of a matrix modulo two, given by the rows of its ones.
fn rank_modulo_two(rows: Vec<Vec<bool>>) -> usize {
    let mut kept: Vec<Vec<bool>> = vec![];
    for mut row in rows {
        for other in &kept {
            let lead = other.iter().position(|&one| one).unwrap();
            if row[lead] {
                row.iter_mut().zip(other).for_each(|(a, b)| *a ^= *b);
            }
        }
        if row.iter().any(|&one| one) {
            kept.push(row);
        }
    }
    kept.len()
}

/// All sets of `p + 1` of `n` points within a scale.
fn cells(far: &Array2<f64>, p: usize, scale: f64) -> Vec<Vec<usize>> {
    let mut sets: Vec<Vec<usize>> = vec![vec![]];
    for _ in 0..=p {
        sets = sets
            .into_iter()
            .flat_map(|set| {
                let from = set.last().map_or(0, |&last| last + 1);
                (from..far.nrows()).map(move |i| [&set[..], &[i]].concat()).collect::<Vec<_>>()
            })
            .filter(|set| set.iter().all(|&i| set.iter().all(|&j| far[[i, j]] <= scale)))
            .collect();
    }
    sets
}

/// Of every cell of one dimension more than `p` its sides, among those of `sides`.
fn boundary(wider: &[Vec<usize>], sides: &[Vec<usize>]) -> Vec<Vec<bool>> {
    let is_side = |side: &[usize], of: &[usize]| side.iter().all(|i| of.contains(i));
    wider.iter().map(|cell| sides.iter().map(|side| is_side(side, cell)).collect()).collect()
}

/// The rank of H_p at scale a in H_p at scale b, dim Z_p(a) - dim (Z_p(a) and B_p(b)), by elimination.
fn persistent_rank(far: &Array2<f64>, p: usize, a: f64, b: f64) -> usize {
    let (small, large) = (cells(far, p, a), cells(far, p, b));
    let cycles = small.len() - rank_modulo_two(boundary(&small, &cells(far, p - 1, a)));
    let boundaries = boundary(&cells(far, p + 1, b), &large);
    // boundaries that lie in the smaller complex: those that vanish outside of it
    let outside: Vec<bool> = large.iter().map(|cell| !small.contains(cell)).collect();
    let beyond = boundaries
        .iter()
        .map(|row| row.iter().zip(&outside).filter(|(_, out)| **out).map(|(&one, _)| one).collect())
        .collect();
    cycles - (rank_modulo_two(boundaries) - rank_modulo_two(beyond))
}

#[test]
fn loops_and_voids_persist_as_by_elimination() {
    for seed in 0..12 {
        let x = if seed % 2 == 0 { gaussian(14, 2, seed) } else { sphere(16, seed) };
        let n = x.nrows();
        let far = Array2::from_shape_fn((n, n), |(i, j)| distance(&x.row(i).to_vec(), &x.row(j).to_vec()));
        let flat: Vec<f64> = far.iter().copied().collect();
        for (loops, voids) in [([0.6, 0.9], [1.1, 1.2]), ([0.9, 1.1], [1.2, 1.5]), ([1.2, 1.5], [1.3, 1.4])] {
            let found = persistent(&flat, n, loops, voids, &Unmonitored).unwrap().unwrap();
            assert_eq!(found.loops, persistent_rank(&far, 1, loops[0], loops[1]), "{seed}, {loops:?}");
            assert_eq!(found.voids, persistent_rank(&far, 2, voids[0], voids[1]), "{seed}, {voids:?}");
        }
    }
}

#[test]
fn what_lies_on_other_parts_is_laid_down_anew() {
    // a strip of the plane, shown with its right third turned back upon the middle
    let x = annulus(3000, 0.0, 4);
    let graph = nearest(&x, 10);
    let mut shown = x.select(Axis(1), &[0, 1]);
    shown.column_mut(0).mapv_inplace(|v| if v > 0.4 { 0.8 - v } else { v });
    let (y, rotations) = (shown.iter().copied().collect::<Vec<_>>(), vec![0.0; 3000 * 4]);
    with(&x, &graph, 2, |connection, atlas| {
        let unroller = Unroller::new(connection, atlas, &Unmonitored).unwrap();
        let identity: Vec<f64> = (0..3000).flat_map(|i| frame_of(atlas, i)).collect();
        assert_eq!(rotations.len(), identity.len());
        let (laid, taken) = unroller.relayout(&y, &identity, &Unmonitored).unwrap();
        assert!(taken > 300, "{taken}");
        let left = |i: usize| x[[i, 0]] < -0.4;
        for i in (0..3000).filter(|&i| left(i)) {
            assert_eq!(laid.y[2 * i..][..2], y[2 * i..][..2], "what lies by itself stays");
        }
        let (_, again) = unroller.relayout(&laid.y, &identity, &Unmonitored).unwrap();
        assert!(again < taken / 4, "{again} of {taken}");
        let error = unroller.relayout(&y[1..], &identity, &Unmonitored).unwrap_err();
        assert!(matches!(error, Error::LengthMismatch { left_len: 5999, .. }), "{error}");
    });
}

/// The turn that shows the tangent of a point of the plane z = 0 as it lies.
fn frame_of(atlas: &Atlas, i: usize) -> Vec<f64> {
    let mut basis = vec![0.0; 6];
    atlas.tangent(i, &mut basis);
    // y = P' x for x in the plane: O = P' restricted to it, column after column
    (0..2).flat_map(|b| (0..2).map(move |a| (a, b))).map(|(a, b)| basis[a * 3 + b]).collect()
}

#[test]
fn slivers_are_mended_and_the_sheet_hangs_together() {
    let x = annulus(800, 0.0, 9);
    let graph = nearest(&x, 8);
    let flat = x.select(Axis(1), &[0, 1]);
    // one stray pair
    let mut torn = vec![false; 800 * 8];
    torn[0] = true;
    mend(&points(&flat), &graph, &mut torn, 8, 10.0).unwrap();
    assert!(torn.iter().all(|&torn| !torn));
    // the same, farther apart than any gap
    torn[0] = true;
    mend(&points(&flat), &graph, &mut torn, 8, 1e-9).unwrap();
    assert!(torn[0]);
    // everything left of a line against everything right of it
    let side = |i: usize| x[[i, 0]] > 0.2;
    for i in 0..800 {
        (0..8).for_each(|at| torn[i * 8 + at] = side(i) != side(graph.of(i)[at] as usize));
    }
    assert!(restricted(&graph, &torn).unwrap().components().iter().any(|&c| c > 0));
    mend(&points(&flat), &graph, &mut torn, 8, 10.0).unwrap();
    assert!(restricted(&graph, &torn).unwrap().components().iter().all(|&c| c == 0));
}

#[test]
fn same_bits_on_any_number_of_threads() {
    let x = torus(3000, 0.4, 4);
    let graph = nearest(&x, 10);
    let on = |threads| {
        on_threads(threads, || {
            let y = unrolled(&x, &graph, 2).y;
            let picture = Array2::from_shape_vec((3000, 2), y.clone()).unwrap();
            (y, torn_by(&x, &picture, &graph), seams_of(&x, 10, 2))
        })
    };
    let one = on(1);
    assert_eq!(one, on(2));
    assert_eq!(one, on(5));
}

#[test]
fn motions_move_nothing_but_the_picture() {
    let x = torus(2000, 0.4, 6);
    let moved = x.dot(&orthonormal(3, 3, 1)) + 5.0;
    let graph = nearest(&x, 10);
    let tears = |x: &Array2<f64>| torn_by(x, &picture(&unrolled(x, &graph, 2), 2), &graph);
    assert_eq!(tears(&x), tears(&moved));
}

#[test]
fn hard_clouds_give_something_finite() {
    for kind in CLOUDS {
        for d in [1, 2, 3] {
            let x = double(kind, 60, 4, 3);
            let graph = nearest(&x, 5);
            let found = unrolled(&x, &graph, d);
            assert!(found.y.iter().all(|v| v.is_finite()), "{kind:?} in {d}");
        }
    }
}

#[test]
fn components_are_laid_down_each() {
    let (a, b) = (tube(600, 2.0, 1), tube(600, 2.0, 2) + 40.0);
    let both = ndarray::concatenate(Axis(0), &[a.view(), b.view()]).unwrap();
    let graph = nearest(&both, 8);
    let found = unrolled(&both, &graph, 2);
    assert_eq!(found.roots.len(), 2);
    let alone = unrolled(&a, &nearest(&a, 8), 2);
    assert_eq!(found.roots[0], alone.roots[0]);
}

#[test]
fn errors_name_the_numbers() {
    let x = gaussian(20, 3, 1);
    let graph = nearest(&x, 4);
    let error = restricted(&graph, &[false; 79]).unwrap_err();
    assert!(matches!(error, Error::LengthMismatch { left_len: 79, right_len: 80, .. }), "{error}");
    let error = marked(&graph, &[0, 20]).unwrap_err();
    assert!(matches!(error, Error::NeighborOutOfRange { neighbor: 20, n: 20, .. }), "{error}");
    let few = gaussian(19, 3, 1);
    assert!(spacing(&points(&few), &graph, &Unmonitored).is_err());
    let empty = from_rows(&[vec![1], vec![0]]);
    assert!(mend(&points(&few), &empty, &mut [false; 2], 1, 1.0).is_err());
}
