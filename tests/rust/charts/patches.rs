//! Charts from distances, compared with the points that the distances are of.

use ndarray::{Array2, array};
use unbend::charts::{Atlas, Local, Measured, Patches, Source};
use unbend::embed::align::Connection;
use unbend::embed::cut::Unroller;
use unbend::measure::{FaithfulnessParams, faithfulness, mean_lower_bound};
use unbend::synthetic::{SwissRoll, swiss_roll};
use unbend::{Error, Neighborhoods, Points, Search, Unmonitored, neighbors};

use crate::clouds::gaussian;
use crate::naive;

fn points(x: &Array2<f64>) -> Points<'_> {
    Points::new("X", x.view(), &Unmonitored).unwrap()
}

fn nearest(x: &Array2<f64>, k: usize) -> Neighborhoods<'static> {
    neighbors::nearest(&points(x), k, Search::Auto, &Unmonitored).unwrap().neighborhoods
}

fn distance(x: &Array2<f64>, i: usize, j: usize) -> f64 {
    (&x.row(i) - &x.row(j)).mapv(|v| v * v).sum().sqrt()
}

/// The distances of all pairs for which `known` holds.
fn measured(x: &Array2<f64>, known: impl Fn(usize, usize) -> bool) -> (Neighborhoods<'static>, Vec<f64>) {
    let (mut indptr, mut indices, mut distances) = (vec![0], vec![], vec![]);
    for i in 0..x.nrows() {
        for j in (0..x.nrows()).filter(|&j| j != i && known(i.min(j), i.max(j))) {
            indices.push(j as u32);
            distances.push(distance(x, i, j));
        }
        indptr.push(indices.len() as i64);
    }
    (Neighborhoods::from_ragged(indptr, indices).unwrap(), distances)
}

fn patches(x: &Array2<f64>, graph: &Neighborhoods, d: usize) -> Patches {
    let (pairs, distances) = measured(x, |_, _| true);
    Patches::new(Measured::new(&pairs, &distances).unwrap(), graph, d, &Unmonitored).unwrap()
}

fn roll() -> Array2<f64> {
    swiss_roll(120, &SwissRoll::default(), 3, &Unmonitored).unwrap().x
}

fn apart(local: &Local, p: usize, r: usize) -> f64 {
    let axis = |a: usize| local.x[a * local.padded + p] - local.x[a * local.padded + r];
    (0..local.dim).map(|a| axis(a).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn complete_neighborhoods_have_the_distances_of_the_points() {
    let x = roll();
    let graph = nearest(&x, 9);
    let found = patches(&x, &graph, 2);
    assert_eq!(found.n_incomplete(), 0);
    let rows = naive::rows(&graph);
    let mut local = Local::default();
    for include_self in [true, false] {
        for i in 0..x.nrows() {
            let members = naive::members(&rows, i, include_self);
            found.read(i, include_self, &mut local);
            assert_eq!(local.size, members.len());
            for p in 0..members.len() {
                for r in 0..p {
                    let off = apart(&local, p, r) - distance(&x, members[p], members[r]);
                    assert!(off.abs() < 1e-5, "point {i}: {off:e}");
                }
            }
            for axis in local.x.chunks_exact(local.padded) {
                assert!(axis[..local.size].iter().sum::<f64>().abs() < 1e-10);
                assert!(axis[local.size..].iter().all(|&v| v == 0.0));
            }
        }
    }
}

#[test]
fn measures_are_those_of_the_points() {
    let x = roll();
    let graph = nearest(&x, 9);
    let found = patches(&x, &graph, 2);
    let y = x.slice_axis(ndarray::Axis(1), ndarray::Slice::from(..2)).to_owned();
    let y = Points::new("Y", y.view(), &Unmonitored).unwrap();
    for include_self in [true, false] {
        let params = FaithfulnessParams { include_self, centers: None, weights: None };
        let of_points = faithfulness(&points(&x), &y, &graph, params, &Unmonitored).unwrap();
        let of_patches = faithfulness(&found, &y, &graph, params, &Unmonitored).unwrap();
        let (one, two) = (of_points.means, of_patches.means);
        for (a, b) in [(one.r, two.r), (one.r_n, two.r_n), (one.r_c, two.r_c), (one.r_pca, two.r_pca)] {
            assert!((a - b).abs() < 1e-9 * a, "{a} {b}");
        }
    }
    let bound =
        |source: Source| mean_lower_bound(source, 2, &graph, Default::default(), &Unmonitored).unwrap();
    let (one, two) = (bound((&points(&x)).into()), bound((&found).into()));
    assert!((one - two).abs() < 1e-9 * one, "{one} {two}");
}

#[test]
fn gaps_are_filled_until_the_measured_distances_fit() {
    let x = array![[0.0, 0.0], [1.0, 0.1], [1.1, 1.0], [0.0, 1.2], [0.5, 0.4]];
    let (pairs, distances) = measured(&x, |i, j| (i, j) != (0, 2));
    let lists = (0..5).flat_map(|i| pairs.of(i).to_vec());
    let (indices, indptr): (Vec<u32>, Vec<i64>) = (lists.collect(), vec![0, 3, 7, 10, 14, 18]);
    let graph = Neighborhoods::from_ragged(indptr, indices).unwrap();
    let known = Measured::new(&pairs, &distances).unwrap();
    let found = Patches::new(known, &graph, 2, &Unmonitored).unwrap();
    assert_eq!((found.n_incomplete(), found.dim()), (3, 2)); // those that hold both ends of the gap
    let mut local = Local::default();
    found.read(4, true, &mut local);
    for (p, i) in [4, 0, 1, 2, 3].into_iter().enumerate() {
        for (r, j) in [4, 0, 1, 2, 3].into_iter().enumerate().take(p) {
            let off = (apart(&local, p, r) - distance(&x, i, j)).abs();
            assert!(off < 0.02, "{i} {j}: {off}");
        }
    }
}

/// Random points, some of them equal.
fn cloud(n: usize, q: usize) -> Array2<f64> {
    let mut x = gaussian(n, q, 5);
    (0..4).for_each(|i| x.row_mut(i).fill(0.25));
    x
}

#[test]
fn neighborhoods_of_points_have_their_distances() {
    for (q, d) in [(40, 3), (40, 12), (5, 2)] {
        let x = cloud(60, q);
        let graph = nearest(&x, 9);
        let found = Patches::of_points(&points(&x), &graph, d, &Unmonitored).unwrap();
        assert!(d <= found.dim() && found.dim() <= q.min(d.max(10)), "{}", found.dim());
        let (rows, mut local) = (naive::rows(&graph), Local::default());
        for i in 0..rows.len() {
            let members = naive::members(&rows, i, true);
            found.read(i, true, &mut local);
            for (p, &a) in members.iter().enumerate() {
                for (r, &b) in members.iter().enumerate() {
                    assert!((apart(&local, p, r) - distance(&x, a, b)).abs() < 1e-11, "{q} {d}: {a} {b}");
                }
            }
        }
    }
}

#[test]
fn neighborhoods_of_points_are_measured_like_the_points() {
    let x = cloud(60, 40);
    let (graph, y) = (nearest(&x, 9), gaussian(60, 3, 6));
    let found = Patches::of_points(&points(&x), &graph, 3, &Unmonitored).unwrap();
    let measure = |x: Source| {
        faithfulness(x, &points(&y), &graph, FaithfulnessParams::default(), &Unmonitored).unwrap().means
    };
    let (whole, kept) = (measure((&points(&x)).into()), measure((&found).into()));
    for (one, two) in [
        (whole.r, kept.r),
        (whole.r_n, kept.r_n),
        (whole.r_c, kept.r_c),
        (whole.r_pca, kept.r_pca),
        (whole.lower_bound, kept.lower_bound),
    ] {
        assert!((one - two).abs() <= 1e-11 * one.abs(), "{one} {two}");
    }
}

#[test]
fn neighborhoods_of_points_that_do_not_fit_are_refused() {
    let (x, graph) = (cloud(60, 40), nearest(&cloud(50, 40), 9));
    let of = |graph: &Neighborhoods, d| Patches::of_points(&points(&x), graph, d, &Unmonitored).unwrap_err();
    assert!(matches!(of(&graph, 3), Error::LengthMismatch { .. }));
    assert!(matches!(of(&nearest(&x, 9), 0), Error::NoComponents));
}

#[test]
fn another_order_has_the_same_neighborhoods() {
    let x = roll();
    let graph = nearest(&x, 9);
    let found = patches(&x, &graph, 2);
    let order = graph.breadth_first(&Unmonitored).unwrap();
    let (renumbered, _) = graph.renumbered(&order, &Unmonitored).unwrap();
    let moved = found.renumbered(&order, &renumbered);
    let (mut one, mut two) = (Local::default(), Local::default());
    for (place, &i) in order.iter().enumerate() {
        found.read(i as usize, true, &mut one);
        moved.read(place, true, &mut two);
        assert_eq!(one.x, two.x);
    }
}

#[test]
fn frames_agree_where_points_are_flat() {
    let x = roll().slice_axis(ndarray::Axis(1), ndarray::Slice::from(..2)).to_owned();
    let graph = nearest(&x, 9);
    let found = patches(&x, &graph, 2);
    let atlas = Atlas::new(&found, &graph, None, 2, &Unmonitored).unwrap();
    let connection = Connection::new(&atlas, &Unmonitored).unwrap();
    let tree = unbend::embed::align::tree(&connection, &atlas, &Unmonitored).unwrap();
    assert!(tree.aligned.aligned == 1.0 && tree.aligned.open.is_empty());
    let y = unbend::embed::place(&connection, &atlas, &tree.aligned.rotations, &Unmonitored).unwrap();
    for i in 0..x.nrows() {
        let far = (i * 7 + 1) % x.nrows();
        let length = |a: f64, b: f64| a.hypot(b);
        let shown = length(y[2 * i] - y[2 * far], y[2 * i + 1] - y[2 * far + 1]);
        let known = length(x[[i, 0]] - x[[far, 0]], x[[i, 1]] - x[[far, 1]]);
        assert!((shown - known).abs() < 1e-9 * (1.0 + known), "{i}, {far}: {shown}, {known}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let x = roll();
    let graph = nearest(&x, 9);
    let (pairs, distances) = measured(&x, |i, j| (i, j) != (0, graph.of(0)[0] as usize));
    let known = Measured::new(&pairs, &distances).unwrap();
    let error = Patches::new(known, &graph, 2, &Unmonitored).unwrap_err();
    assert!(matches!(error, Error::NoDistance { .. }), "{error}");
    assert!(Measured::new(&pairs, &distances[1..]).is_err());
    let found = patches(&x, &graph, 2);
    assert!(matches!(Atlas::whole(&found, &graph, 3).unwrap_err(), Error::DimensionMismatch { .. }));
    assert!(matches!(Atlas::whole(&found, &nearest(&x, 8), 2).unwrap_err(), Error::LengthMismatch { .. }));
    let atlas = Atlas::new(&found, &graph, None, 2, &Unmonitored).unwrap();
    let connection = Connection::new(&atlas, &Unmonitored).unwrap();
    let error = Unroller::new(&connection, &atlas, &Unmonitored).unwrap_err();
    assert_eq!(error, Error::NoPoints { what: "a cut" });
}
