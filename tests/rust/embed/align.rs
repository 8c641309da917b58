//! Alignment of tangents: eq. 9 against plain sums, frames that must come out, and surfaces with one side.

use nalgebra::DMatrix;
use ndarray::{Array2, Axis, concatenate};
use proptest::prelude::*;
use unbend::charts::{Atlas, Net, tangent_scale};
use unbend::embed::align::{Aligned, Connection, Tree, blocks, round, tree, tree_of_pieces};
use unbend::synthetic::{SwissRoll, cylinder, hemisphere, s_curve, swiss_roll};
use unbend::{Error, Neighborhoods, Points, Search, Unmonitored, neighbors};

use crate::clouds::*;
use crate::shapes::*;
use crate::{cases, naive, on_threads};

pub fn points(x: &Array2<f64>) -> Points<'_> {
    Points::new("X", x.view(), &Unmonitored).unwrap()
}

pub fn nearest(x: &Array2<f64>, k: usize) -> Neighborhoods<'static> {
    neighbors::nearest(&points(x), k, Search::Auto, &Unmonitored).unwrap().neighborhoods
}

/// Some of the nearest of each, from none to `most`.
pub fn ragged(x: &Array2<f64>, most: usize, seed: u64) -> Neighborhoods<'static> {
    let mut rng = rng(seed);
    let mut rows = naive::rows(&nearest(x, most));
    rows.iter_mut().for_each(|row| row.truncate(pick(&mut rng, most + 1)));
    from_rows(&rows)
}

pub fn from_rows(rows: &[Vec<u32>]) -> Neighborhoods<'static> {
    let (indptr, indices) = naive::ragged(rows);
    Neighborhoods::from_ragged(indptr, indices).unwrap()
}

/// Calls `f` with the connection and its atlas.
fn with<T>(
    x: &Array2<f64>,
    graph: &Neighborhoods,
    d: usize,
    of_charts: bool,
    f: impl FnOnce(&Connection, &Atlas) -> T,
) -> T {
    let points = points(x);
    let make = if of_charts { Atlas::of_charts } else { Atlas::new };
    let atlas = make(&points, graph, None, d, &Unmonitored).unwrap();
    f(&Connection::new(&atlas, &Unmonitored).unwrap(), &atlas)
}

fn grown(x: &Array2<f64>, graph: &Neighborhoods, d: usize) -> (Connection, Tree) {
    with(x, graph, d, false, |connection, atlas| {
        (connection.clone(), tree(connection, atlas, &Unmonitored).unwrap())
    })
}

pub fn square(values: &[f64], i: usize, d: usize) -> DMatrix<f64> {
    DMatrix::from_column_slice(d, d, &values[i * d * d..][..d * d])
}

/// Orthogonal matrices at random, some with a reflection.
pub fn random_rotations(n: usize, d: usize, seed: u64) -> Vec<f64> {
    (0..n as u64).flat_map(|i| orthonormal(d, d, 1000 * seed + i).into_iter()).collect()
}

fn basis(atlas: &Atlas, x: &Array2<f64>, i: usize) -> DMatrix<f64> {
    let (q, d) = (x.ncols(), atlas.n_components());
    let mut basis = vec![0.0; q * d];
    atlas.tangent(i, &mut basis);
    DMatrix::from_column_slice(q, d, &basis)
}

fn assert_orthonormal(rotations: &[f64], d: usize, what: &str) {
    for i in 0..rotations.len() / (d * d) {
        let turn = square(rotations, i, d);
        let off = (turn.transpose() * &turn - DMatrix::identity(d, d)).amax();
        assert!(off < 1e-10, "{what}: frame {i} is {off:e} off");
    }
}

/// tr(A_i'A_j), as a share of what the best rotation gives, is the same for both. The largest difference.
fn frames_apart(a: &[DMatrix<f64>], b: &[DMatrix<f64>]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).amax()).fold(0.0, f64::max)
}

/// A_i = P_i O_i.
fn frames(atlas: &Atlas, x: &Array2<f64>, rotations: &[f64]) -> Vec<DMatrix<f64>> {
    let d = atlas.n_components();
    (0..x.nrows()).map(|i| basis(atlas, x, i) * square(rotations, i, d)).collect()
}

/// The one rotation that brings frames `b` nearest to `a`, applied.
fn turned_onto(a: &[DMatrix<f64>], b: &[DMatrix<f64>]) -> Vec<DMatrix<f64>> {
    let d = a[0].ncols();
    let product = a.iter().zip(b).fold(DMatrix::zeros(d, d), |sum, (a, b)| sum + b.transpose() * a);
    let naive::Svd { u, v, .. } = naive::svd(&product);
    let turn = u * v.transpose();
    b.iter().map(|b| b * &turn).collect()
}

proptest! {
    #![proptest_config(cases(40))]

    /// Products, f and pull are their definitions, in both forms of the atlas.
    #[test]
    fn eq_9_is_the_plain_sum(d in 1usize..12, extra in 0usize..4, wide in any::<bool>(), seed in 0u64..1000) {
        let (n, q) = (40, if wide { 30 } else { d + extra });
        let x = gaussian(n, q, seed);
        let graph = ragged(&x, 9, seed + 1);
        let rotations = random_rotations(n, d, seed);
        for of_charts in [false, true] {
            let (c, a, tangents) = with(&x, &graph, d, of_charts, |c, atlas| {
                let tangents: Vec<DMatrix<f64>> = (0..n).map(|i| basis(atlas, &x, i)).collect();
                (c.clone(), frames(atlas, &x, &rotations), tangents)
            });
            let rows = naive::rows(&graph);
            prop_assert_eq!(naive::rows(c.graph()), naive::symmetrized(&rows));
            if !of_charts {
                for i in 0..n {
                    for edge in c.edges(i) {
                        let expected = tangents[i].transpose() * &tangents[c.end(edge)];
                        let found = DMatrix::from_column_slice(d, d, c.product(edge));
                        prop_assert!((found - expected).amax() < 1e-12);
                    }
                }
                let plain = naive::eq_9(&a, &rows);
                let f = c.f(&rotations, &Unmonitored).unwrap();
                prop_assert!((f - plain).abs() <= 1e-11 * (1.0 + plain), "{f} is not {plain}");
            }
        }
    }

    /// Charts determine the products up to the signs of their directions; f is that of the bases when turned so.
    #[test]
    fn charts_have_the_products_of_bases(d in 1usize..7, seed in 0u64..1000) {
        let x = gaussian(40, 30, seed);
        let graph = nearest(&x, 9);
        let known = with(&x, &graph, d, false, |c, _| c.clone());
        let charted = with(&x, &graph, d, true, |c, _| c.clone());
        for edge in 0..known.graph().indices().len() {
            for (a, b) in known.product(edge).iter().zip(charted.product(edge)) {
                prop_assert!((a.abs() - b.abs()).abs() < 1e-9, "{a}, {b}");
            }
        }
        let tree_of = |of_charts| with(&x, &graph, d, of_charts, |c, a| tree(c, a, &Unmonitored).unwrap());
        let (a, b) = (tree_of(false).aligned.f, tree_of(true).aligned.f);
        prop_assert!((a - b).abs() < 1e-7 * a, "{a}, {b}");
    }

    /// Sweeps never raise f, keep frames orthonormal, and report the f that is.
    #[test]
    fn sweeps_lower_f(d in 1usize..12, extra in 0usize..4, seed in 0u64..1000) {
        let (n, x) = (60, gaussian(60, d + extra, seed));
        let graph = ragged(&x, 9, seed + 1);
        with(&x, &graph, d, false, |c, atlas| {
            let start = random_rotations(n, d, seed);
            let mut rotations = start.clone();
            let trace = c.sweep(&mut rotations, &Unmonitored).unwrap();
            let most = 2.0 * (d * graph.indices().len()) as f64;
            assert!(trace.windows(2).all(|f| f[1] <= f[0] + 1e-12 * most), "{trace:?}");
            assert_eq!(trace[0], c.f(&start, &Unmonitored).unwrap());
            let plain = naive::eq_9(&frames(atlas, &x, &rotations), &naive::rows(&graph));
            assert!((trace[trace.len() - 1] - plain).abs() <= 1e-11 * most.max(1.0));
            assert_orthonormal(&rotations, d, "swept");
            let Aligned { f, trace, rotations: same, .. } = c.finish(start, true, &Unmonitored).unwrap();
            assert!(same == rotations && f == trace[trace.len() - 1] && f == c.f(&rotations, &Unmonitored).unwrap());
        });
    }
}

/// Whatever the signs and turns of local components, which in a plane are at random.
/// The sizes of products do not depend on the directions of a chart, only on its plane.
#[test]
fn single_precision_gives_the_same_products() {
    for d in [2, 5] {
        let x = gaussian(40, 90, 7);
        let (graph, single) = (nearest(&x, 9), x.mapv(|v| v as f32));
        let double = single.mapv(f64::from);
        let single = Points::new("X", single.view(), &Unmonitored).unwrap();
        let atlas = Atlas::of_charts(&single, &graph, None, d, &Unmonitored).unwrap();
        let found = Connection::new(&atlas, &Unmonitored).unwrap();
        let expected = with(&double, &graph, d, true, |c, _| c.clone());
        for edge in 0..found.graph().indices().len() {
            let size = |c: &Connection| c.product(edge).iter().map(|v| v * v).sum::<f64>();
            assert!((size(&found) - size(&expected)).abs() < 1e-4, "{} {}", size(&found), size(&expected));
        }
    }
}

#[test]
fn flat_data_align_to_nothing() {
    for (q, d) in [(1, 1), (2, 2), (3, 1), (3, 2), (5, 3), (7, 4), (30, 2)] {
        let x = gaussian(300, d, 5).dot(&orthonormal(q, d, 6).t());
        for graph in [nearest(&x, 10), nearest(&x, 2 * d)] {
            let (c, found) = grown(&x, &graph, d);
            let terms = graph.indices().len() as f64;
            assert!(found.aligned.f <= 1e-9 * terms, "{q}, {d}: {}", found.aligned.f);
            assert!(
                found.aligned.trace.len() <= 4,
                "{q}, {d}: {} sweeps of nothing",
                found.aligned.trace.len()
            );
            assert!(found.reflecting.is_empty() && !found.one_sided);
            assert_eq!(c.open_edges(&found.aligned.rotations, &Unmonitored).unwrap(), []);
            assert_orthonormal(&found.aligned.rotations, d, "tree");
        }
    }
}

fn roll(n: usize, seed: u64) -> Array2<f64> {
    swiss_roll(n, &SwissRoll::default(), seed, &Unmonitored).unwrap().x
}

#[test]
fn a_roll_has_no_open_loops() {
    for k in [6, 8, 12] {
        let x = roll(3000, 7);
        let (c, found) = grown(&x, &nearest(&x, k), 2);
        assert_eq!(found.aligned.aligned, 1.0);
        assert!(found.reflecting.is_empty() && !found.one_sided);
        assert_eq!(c.open_edges(&found.aligned.rotations, &Unmonitored).unwrap(), []);
    }
}

/// Edges through the air are no reason to turn what is far from them.
#[test]
fn short_circuits_change_nothing_elsewhere() {
    let sample = swiss_roll(3000, &SwissRoll::default(), 8, &Unmonitored).unwrap();
    let (x, truth) = (sample.x, sample.coordinates);
    let graph = nearest(&x, 10);
    let mut rows = naive::rows(&graph);
    let mut rng = rng(9);
    let mut ends = vec![];
    while ends.len() < 16 {
        let (i, j) = (pick(&mut rng, 3000), pick(&mut rng, 3000));
        if (truth[[i, 0]] - truth[[j, 0]]).abs() > 20.0 {
            rows[i].push(j as u32);
            ends.extend([i, j]);
        }
    }
    // the tangents are those of the true graph: only the graph of the alignment is wrong
    let frames_on = |graph: &Neighborhoods| {
        with(&x, graph, 2, false, |c, atlas| {
            let found = tree(c, atlas, &Unmonitored).unwrap();
            (found.aligned.aligned, found.one_sided, frames(atlas, &x, &found.aligned.rotations))
        })
    };
    let (_, _, clean) = frames_on(&graph);
    let (aligned, one_sided, wrong) = frames_on(&from_rows(&rows));
    assert!(aligned > 0.98 && !one_sided, "{aligned}");
    let apart = |i: usize, j: usize| (&truth.row(i) - &truth.row(j)).mapv(|v| v * v).sum().sqrt();
    let far: Vec<usize> = (0..3000).filter(|&i| ends.iter().all(|&e| apart(i, e) > 8.0)).collect();
    assert!(far.len() > 500);
    let pick = |all: &[DMatrix<f64>]| far.iter().map(|&i| all[i].clone()).collect::<Vec<_>>();
    let (clean, wrong) = (pick(&clean), pick(&wrong));
    let off = frames_apart(&clean, &turned_onto(&clean, &wrong));
    assert!(off < 0.05, "frames differ by {off}");
}

/// Whatever the graph is, there are frames.
#[test]
fn odd_graphs_have_frames() {
    let x = gaussian(60, 3, 10);
    let (same, line) = (Array2::ones((60, 3)), double(Cloud::Collinear, 60, 3, 11));
    let lonely = from_rows(&vec![vec![]; 60]);
    let one = from_rows(&[vec![]]);
    let mut two = naive::rows(&nearest(&gaussian(30, 3, 14), 5));
    two.extend(two.clone().iter().map(|row| row.iter().map(|j| j + 30).collect::<Vec<_>>()));
    let single = gaussian(1, 3, 12);
    for d in [1, 2, 3] {
        for (x, graph, what) in [
            (&x, nearest(&x, 59), "all others"),
            (&x, ragged(&x, 4, 13), "ragged"),
            (&x, lonely.clone(), "no neighbors"),
            (&single, one.clone(), "one point"),
            (&same, nearest(&same, 7), "all the same"),
            (&line, nearest(&line, 7), "a line"),
            (&x, from_rows(&two), "two components"),
        ] {
            for of_charts in [false, true] {
                with(x, &graph, d, of_charts, |c, atlas| {
                    let what = format!("{what}, d = {d}, charts: {of_charts}");
                    let Tree { aligned, one_sided, .. } = tree(c, atlas, &Unmonitored).unwrap();
                    assert_orthonormal(&aligned.rotations, d, &what);
                    assert!(aligned.f.is_finite() && aligned.f >= 0.0, "{what}");
                    assert!(aligned.aligned > 0.0 && aligned.aligned <= 1.0, "{what}");
                    assert!(!one_sided, "{what}");
                    if d == 3 && !of_charts {
                        assert!(aligned.f < 1e-9, "{what}: {}", aligned.f);
                    }
                });
            }
        }
    }
    with(&x, &lonely, 2, false, |c, atlas| {
        let aligned = tree(c, atlas, &Unmonitored).unwrap().aligned;
        assert_eq!((aligned.f, aligned.aligned), (0.0, 1.0 / 60.0));
    });
}

/// What the tree says of a surface, with the tangents that its noise needs.
fn says(x: &Array2<f64>, k: usize) -> (bool, usize) {
    let (points, graph) = (points(x), nearest(x, k));
    let scale = tangent_scale(&points, &graph, 2, 0, &Unmonitored).unwrap();
    let net = scale.map(|scale| Net::new(&points, 2, scale, 0, &Unmonitored).unwrap());
    let atlas = Atlas::new(&points, &graph, net.as_ref(), 2, &Unmonitored).unwrap();
    let connection = Connection::new(&atlas, &Unmonitored).unwrap();
    let found = tree(&connection, &atlas, &Unmonitored).unwrap();
    (found.one_sided, found.reflecting.len())
}

#[test]
fn one_sided_surfaces_are_told() {
    for k in [6, 9, 15] {
        for (n, width) in [(600, 0.4), (600, 0.8), (2000, 0.2), (2000, 0.66), (10_000, 0.4)] {
            let (one_sided, reflecting) = says(&moebius(n, width, 20), k);
            assert!(one_sided, "n = {n}, k = {k}, width {width}: {reflecting} reflecting");
        }
        for n in [1500, 4000] {
            assert!(says(&klein_bottle(n, 0.5, 21), k).0, "Klein bottle, n = {n}, k = {k}");
        }
    }
    assert!(says(&noisy(&moebius(5000, 0.66, 22), 0.03, 23), 12).0);
    // beside a plane that has many more points
    let far = gaussian(6000, 2, 24).dot(&orthonormal(3, 2, 25).t()) + 50.0;
    let both = concatenate(Axis(0), &[far.view(), moebius(1000, 0.6, 26).view()]).unwrap();
    assert!(says(&both, 8).0);
}

#[test]
fn two_sided_surfaces_are_told() {
    let u = &Unmonitored;
    let roll = |n, noise| swiss_roll(n, &SwissRoll { noise, ..SwissRoll::default() }, 30, u).unwrap().x;
    for k in [6, 15] {
        for n in [800, 3000] {
            for (x, what) in [
                (annulus(n, 0.5, 31), "annulus"),
                (cylinder(n, 1.0, 0.0, 32, u).unwrap().x, "cylinder"),
                (cylinder(n, 0.2, 0.0, 32, u).unwrap().x, "thin cylinder"),
                (hemisphere(n, 0.0, 33, u).unwrap().x, "hemisphere"),
                (sphere(n, 34), "sphere"),
                (torus(n, 0.5, 35), "torus"),
                (torus(n, 0.25, 35), "thin torus"),
                (roll(n, 0.0), "roll"),
                (s_curve(n, 0.0, 36, u).unwrap().x, "S curve"),
                (roll(n, 0.3), "noisy roll"),
                (noisy(&torus(n, 0.5, 37), 0.05, 38), "noisy torus"),
                (gaussian(n, 3, 39), "cloud in space"),
                (gaussian(n, 5, 40), "cloud in five dimensions"),
            ] {
                let (one_sided, reflecting) = says(&x, k);
                assert!(!one_sided, "{what}, n = {n}, k = {k}: {reflecting} reflecting");
            }
        }
    }
    assert!(!says(&roll(10_000, 0.3), 12).0);
    assert!(!says(&gaussian(800, 50, 41), 10).0);
}

/// Frames of turned and shifted data are the frames, turned; so are those of data in another order, but for the root.
#[test]
fn frames_move_with_the_data() {
    let x = roll(1500, 50);
    let graph = nearest(&x, 9);
    let turn = orthonormal(3, 3, 51);
    let moved = x.dot(&turn.t()) + 3.0;
    let order = permutation(1500, 52);
    let mut shuffled = Array2::zeros((1500, 3));
    order.iter().enumerate().for_each(|(i, &to)| shuffled.row_mut(to).assign(&x.row(i)));
    let found = |x: &Array2<f64>, graph: &Neighborhoods| {
        with(x, graph, 2, false, |c, atlas| {
            let aligned = tree(c, atlas, &Unmonitored).unwrap().aligned;
            (aligned.f, frames(atlas, x, &aligned.rotations))
        })
    };
    let (f, own) = found(&x, &graph);
    let turn = DMatrix::from_fn(3, 3, |a, b| turn[[a, b]]);
    let back = |frames: Vec<DMatrix<f64>>| frames.iter().map(|a| turn.transpose() * a).collect::<Vec<_>>();
    let (f_moved, moved) = found(&moved, &graph);
    let (f_shuffled, shuffled) = found(&shuffled, &nearest(&shuffled, 9));
    let shuffled: Vec<_> = (0..1500).map(|i| shuffled[order[i]].clone()).collect();
    for (what, other_f, other) in [("moved", f_moved, back(moved)), ("shuffled", f_shuffled, shuffled)] {
        // sweeps in another order stop elsewhere, by less than the share at which they settle
        assert!((other_f - f).abs() < 1e-3 * f, "{what}: {f}, {other_f}");
        let off = frames_apart(&own, &turned_onto(&own, &other));
        assert!(off < if what == "moved" { 1e-6 } else { 0.02 }, "{what}: {off:e}");
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let x = noisy(&moebius(6000, 0.6, 60), 0.02, 61);
    let graph = nearest(&x, 8);
    for of_charts in [false, true] {
        let run = || {
            with(&x, &graph, 2, of_charts, |c, atlas| {
                let found = tree(c, atlas, &Unmonitored).unwrap();
                let open = c.open_edges(&found.aligned.rotations, &Unmonitored).unwrap();
                assert!(!open.is_empty() && open == found.aligned.open);
                let blocks = blocks(c, &Unmonitored).unwrap();
                let round = round(c, &random_rotations(6000, 2, 62), &Unmonitored).unwrap();
                (found.aligned.rotations, found.aligned.trace, found.reflecting, open, blocks, round)
            })
        };
        let alone = on_threads(1, run);
        for threads in [2, 8] {
            assert!(on_threads(threads, run) == alone, "{threads} threads");
        }
    }
}

/// With frames A_i the rows of O_i' are eigenvectors of the blocks of flat data, and rounding gives them back.
#[test]
fn blocks_of_flat_data_have_the_frames_as_eigenvectors() {
    for d in [1, 2, 3] {
        let x = gaussian(80, d, 70).dot(&orthonormal(5, d, 71).t());
        let (c, found) = grown(&x, &nearest(&x, 9), d);
        let rotations = &found.aligned.rotations;
        let blocks = blocks(&c, &Unmonitored).unwrap();
        let mut vectors = vec![0.0; rotations.len()];
        for i in 0..80 {
            let sum = c.edges(i).fold(DMatrix::zeros(d, d), |sum, edge| {
                let block = DMatrix::from_row_slice(d, d, &blocks[edge * d * d..][..d * d]);
                sum + block * square(rotations, c.end(edge), d)
            });
            let expected = square(rotations, i, d) * c.edges(i).len() as f64;
            assert!((sum - expected).amax() < 1e-9, "d = {d}, point {i}");
            let scaled = square(rotations, i, d) * 0.1;
            (0..d * d).for_each(|ab| vectors[i * d * d + ab] = scaled[(ab / d, ab % d)]);
        }
        let rounded = round(&c, &vectors, &Unmonitored).unwrap();
        assert!(rounded.iter().zip(rotations).all(|(a, b)| (a - b).abs() < 1e-12), "d = {d}");
    }
}

#[test]
fn frames_of_other_data_are_refused() {
    let x = gaussian(30, 3, 80);
    let (c, _) = grown(&x, &nearest(&x, 5), 2);
    let wrong = vec![0.0; 29 * 4];
    let expected = Error::LengthMismatch {
        left: "the frames",
        left_len: 116,
        right: "the points, times d^2,",
        right_len: 120,
    };
    assert_eq!(c.finish(wrong.clone(), true, &Unmonitored).unwrap_err(), expected);
    assert_eq!(c.open_edges(&wrong, &Unmonitored).unwrap_err(), expected);
    assert_eq!(round(&c, &wrong, &Unmonitored).unwrap_err(), expected);
    let mut bad = random_rotations(30, 2, 81);
    bad[7] = f64::NAN;
    let refused = round(&c, &bad, &Unmonitored).unwrap_err();
    assert!(matches!(refused, Error::NotFinite { row: 3, column: 1, .. }), "{refused}");
}

/// Pieces of one cloud, each turned by a rotation or reflection of its own, in a ring; their products Y_i'HY_j and the
/// turns that undo it.
fn ring(n: usize, d: usize, seed: u64) -> (Neighborhoods<'static>, Vec<f64>, Vec<f64>) {
    let own = random_rotations(n, d, seed);
    let rows: Vec<Vec<u32>> = (0..n)
        .map(|i| {
            let mut row: Vec<u32> =
                [1, 2, n - 2, n - 1].map(|step| ((i + step) % n) as u32).into_iter().collect();
            row.sort_unstable();
            row
        })
        .collect();
    let shared = |i: usize, j: usize| gaussian(20, d, seed + (i * j + i + j) as u64);
    let mut products = vec![];
    for (i, row) in rows.iter().enumerate() {
        for &j in row {
            let cloud = shared(i, j as usize);
            let cloud = DMatrix::from_fn(20, d, |r, c| cloud[(r, c)]);
            let about = cloud.transpose() * &cloud;
            let product = square(&own, i, d) * about * square(&own, j as usize, d).transpose();
            products.extend(product.iter());
        }
    }
    (from_rows(&rows), products, own)
}

proptest! {
    #![proptest_config(cases(40))]

    /// Pieces come out turned alike, whichever overlaps the tree takes, and nothing is left of f.
    #[test]
    fn pieces_of_one_cloud_are_turned_alike(n in 5usize..12, d in 1usize..5, seed in 0u64..1000) {
        let (graph, products, own) = ring(n, d, seed);
        let connection = Connection::of_pieces(&graph, products, d).unwrap();
        let weights: Vec<f64> = (0..graph.indices().len()).map(|edge| (edge % 7) as f64).collect();
        let Aligned { rotations, f, aligned, .. } = tree_of_pieces(&connection, &weights, &Unmonitored).unwrap();
        prop_assert!(f < 1e-9, "f = {f:e}");
        prop_assert_eq!(aligned, 1.0);
        let together: Vec<DMatrix<f64>> =
            (0..n).map(|i| square(&own, i, d).transpose() * square(&rotations, i, d)).collect();
        for turn in &together {
            prop_assert!((turn - &together[0]).amax() < 1e-6);
        }
    }
}

/// f is its definition: what is missing to the nuclear norms.
#[test]
fn what_is_left_between_pieces_is_the_plain_sum() {
    let (n, d) = (7, 2);
    let (graph, products, _) = ring(n, d, 3);
    let rotations = random_rotations(n, d, 9);
    let connection = Connection::of_pieces(&graph, products.clone(), d).unwrap();
    let mut expected = 0.0;
    for i in 0..n {
        for (at, &j) in graph.of(i).iter().enumerate() {
            let product = square(&products, graph.start(i) + at, d);
            let turned = square(&rotations, i, d).transpose() * &product * square(&rotations, j as usize, d);
            expected += product.singular_values().sum() - turned.trace();
        }
    }
    let f = connection.f(&rotations, &Unmonitored).unwrap();
    assert!((f - expected).abs() < 1e-9 * expected, "{f} {expected}");
}

#[test]
fn pieces_that_do_not_belong_together_are_refused() {
    let (graph, mut products, _) = ring(6, 2, 0);
    let connection = Connection::of_pieces(&graph, products.clone(), 2).unwrap();
    let short = tree_of_pieces(&connection, &[1.0], &Unmonitored);
    assert!(matches!(short, Err(Error::LengthMismatch { left_len: 1, right_len: 24, .. })));
    products.pop();
    let short = Connection::of_pieces(&graph, products, 2);
    assert!(matches!(short, Err(Error::LengthMismatch { left_len: 95, right_len: 96, .. })));
}
