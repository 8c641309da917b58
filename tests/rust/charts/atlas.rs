//! Local principal components against the singular value decomposition of every neighborhood.

use nalgebra::DMatrix;
use ndarray::Array2;
use unbend::charts::{Atlas, Charts, Coordinates, Local, charts};
use unbend::synthetic::{SwissRoll, swiss_roll};
use unbend::{Error, Neighborhoods, Points, Search, Unmonitored, neighbors};

use crate::clouds::*;
use crate::{naive, on_threads};

fn points(x: &Array2<f64>) -> Points<'_> {
    Points::new("X", x.view(), &Unmonitored).unwrap()
}

fn graph(x: &Array2<f64>, k: usize) -> Neighborhoods<'static> {
    neighbors::nearest(&points(x), k, Search::Auto, &Unmonitored).unwrap().neighborhoods
}

fn all(x: &Array2<f64>, graph: &Neighborhoods, d: usize, include_self: bool) -> Charts {
    charts(&points(x), graph, d, include_self, &Unmonitored).unwrap()
}

fn basis(charts: &Charts, i: usize) -> DMatrix<f64> {
    let (q, d) = (charts.dim, charts.n_components);
    DMatrix::from_row_slice(q, d, &charts.bases[i * q * d..(i + 1) * q * d])
}

fn largest(a: &DMatrix<f64>) -> f64 {
    a.iter().fold(0.0, |largest, v| v.abs().max(largest))
}

fn assert_orthonormal(p: &DMatrix<f64>, what: &str) {
    let off = largest(&(p.transpose() * p - DMatrix::identity(p.ncols(), p.ncols())));
    assert!(off < 1e-13, "{what}: P'P is {off:e} off the identity");
}

/// P'P = I, Theta = H X P, and the numbers are those of the singular value decomposition.
fn check(x: &Array2<f64>, graph: &Neighborhoods, d: usize, include_self: bool, what: &str) {
    let found = all(x, graph, d, include_self);
    let rows = naive::rows(graph);
    let mut place = 0;
    for i in 0..rows.len() {
        let members = naive::members(&rows, i, include_self);
        let m = members.len();
        let p = basis(&found, i);
        let what = format!("{what}, d = {d}, point {i}");
        assert_orthonormal(&p, &what);
        for j in 0..d {
            let peak =
                p.column(j).iter().fold(0.0f64, |peak, &v| if v.abs() > peak.abs() { v } else { peak });
            assert!(peak > 0.0, "{what}: sign of direction {j}");
        }
        let chart = DMatrix::from_row_slice(m, d, &found.charts[place..place + m * d]);
        place += m * d;
        if m == 0 {
            continue;
        }
        let h = naive::centered(x, &members);
        let size = h.norm();
        let off = largest(&(&chart - &h * &p));
        assert!(off <= 1e-13 * size, "{what}: Theta - H X P is {off:e}");
        let (_, extents, residual) = naive::tangent(&h, d);
        let fraction = if size > 0.0 { residual / (size * size) } else { 0.0 };
        let found_fraction = found.residual_fractions[i];
        assert!(
            (found_fraction - fraction).abs() <= 1e-10 * fraction + 1e-28,
            "{what}: residual {found_fraction:e}, not {fraction:e}"
        );
        for (j, extent) in extents.iter().enumerate() {
            let off = (found.singular_values[i * d + j] - extent).abs();
            // square roots of eigenvalues: half the digits of the smallest
            assert!(
                off * extent <= 1e-14 * size * size + 1e-300,
                "{what}: singular value {j} is {off:e} off"
            );
        }
    }
    assert_eq!(place, found.charts.len());
    assert_eq!(found.bases.len(), rows.len() * x.ncols() * d);
    assert_eq!(found.residual_fractions.len(), rows.len());
}

#[test]
fn charts_are_the_singular_value_decomposition() {
    for (n, q, k) in [(60, 1, 4), (60, 2, 5), (80, 3, 8), (60, 4, 7), (60, 7, 12), (60, 20, 30), (60, 30, 9)]
    {
        let x = gaussian(n, q, 50);
        for d in 1..=q.min(5) {
            for include_self in [true, false] {
                check(
                    &x,
                    &graph(&x, k),
                    d,
                    include_self,
                    &format!("q = {q}, k = {k}, self = {include_self}"),
                );
            }
        }
    }
}

#[test]
fn charts_of_a_surface() {
    let roll = swiss_roll(400, &SwissRoll::default(), 51, &Unmonitored).unwrap();
    for d in [1, 2, 3] {
        check(&roll.x, &graph(&roll.x, 12), d, true, "roll");
    }
    let wide = roll.x.dot(&orthonormal(50, 3, 52).t());
    check(&wide, &graph(&wide, 12), 2, true, "roll in 50 dimensions");
    let far = &wide + 1e6;
    check(&far, &graph(&far, 12), 2, true, "roll far away");
}

#[test]
fn charts_of_neighborhoods_of_any_size() {
    let x = gaussian(200, 5, 53);
    let knn = neighbors::within(&points(&x), 1.6, Search::Auto, &Unmonitored).unwrap();
    let graph = knn.neighborhoods;
    assert!((0..200).any(|i| graph.of(i).is_empty()) && graph.largest() > 8);
    for d in 1..=5 {
        check(&x, &graph, d, true, "ragged");
        check(&x, &graph, d, false, "ragged without self");
    }
}

/// Data wider than a neighborhood has points take a way of their own.
#[test]
fn wide_data_have_the_charts_of_their_narrow_copy() {
    let narrow = gaussian(150, 6, 54);
    let graph = graph(&narrow, 9);
    for q in [10, 11, 40, 560] {
        let embedding = orthonormal(q, 6, 55);
        let wide = narrow.dot(&embedding.t());
        let embedding = DMatrix::from_fn(q, 6, |a, b| embedding[[a, b]]);
        for d in [1, 2, 3, 5] {
            let (a, b) = (all(&narrow, &graph, d, true), all(&wide, &graph, d, true));
            for (x, y) in a.singular_values.iter().zip(&b.singular_values) {
                assert!((x - y).abs() <= 1e-12 * x, "q = {q}, d = {d}: singular value {x}, {y}");
            }
            for (x, y) in a.residual_fractions.iter().zip(&b.residual_fractions) {
                assert!((x - y).abs() <= 1e-12 * x, "q = {q}, d = {d}: residual {x}, {y}");
            }
            for i in 0..150 {
                let (p, carried) = (basis(&b, i), &embedding * basis(&a, i));
                for j in 0..d {
                    let sign = p.column(j).dot(&carried.column(j)).signum();
                    let off = (p.column(j) - carried.column(j) * sign).norm();
                    assert!(off < 1e-10, "q = {q}, d = {d}: direction {j} of point {i} is {off:e} off");
                    for m in 0..10 {
                        let at = (i * 10 + m) * d + j;
                        assert!((a.charts[at] - sign * b.charts[at]).abs() < 1e-10, "chart of point {i}");
                    }
                }
            }
        }
    }
}

/// What lies in a plane leaves nothing outside but rounding, however wide the data.
#[test]
fn flat_data_have_no_residual() {
    for q in [3, 4, 20, 560] {
        let flat = gaussian(100, 2, 64).dot(&orthonormal(q, 2, 65).t());
        let found = all(&flat, &graph(&flat, 8), 2, true);
        for (i, &fraction) in found.residual_fractions.iter().enumerate() {
            assert!(fraction < 1e-28, "q = {q}, point {i}: {fraction:e}");
        }
    }
}

/// Points on a line, or all the same, have no second direction: any will do, but it must be one.
#[test]
fn directions_without_extent_are_still_orthonormal() {
    for q in [3, 4, 20] {
        let line = double(Cloud::Collinear, 30, q, 56);
        let flat = gaussian(30, 2, 57).dot(&orthonormal(q, 2, 58).t());
        let few = gaussian(30, q, 59);
        for (x, k, what) in [(line, 5, "line"), (flat, 6, "plane"), (few, 1, "two points")] {
            let found = all(&x, &graph(&x, k), 3, true);
            for i in 0..30 {
                assert_orthonormal(&basis(&found, i), &format!("{what}, q = {q}, point {i}"));
            }
        }
    }
}

/// Directions with next to no extent are where Gram-Schmidt loses orthogonality if it is done once.
#[test]
fn directions_with_little_extent_are_orthonormal() {
    for (q, thickness) in [(3, 1e-8), (20, 1e-4), (20, 1e-8), (20, 1e-12), (560, 1e-8)] {
        let plane = gaussian(60, 2, 66).dot(&orthonormal(q, 2, 67).t());
        let x = plane + gaussian(60, q, 68) * thickness;
        for d in [2, 3] {
            let found = all(&x, &graph(&x, 8), d, true);
            for i in 0..60 {
                assert_orthonormal(&basis(&found, i), &format!("q = {q}, {thickness:e}, d = {d}, point {i}"));
            }
        }
    }
}

#[test]
fn coinciding_points_have_a_chart() {
    for (q, copies) in [(2, 6), (3, 6), (4, 6), (20, 6)] {
        let x = repeated(&gaussian(5, q, 60), copies);
        let found = all(&x, &graph(&x, copies - 1), 2, true);
        assert!(found.charts.iter().chain(&found.singular_values).all(|&v| v == 0.0), "q = {q}");
        assert!(found.residual_fractions.iter().all(|&v| v == 0.0), "q = {q}");
        for i in 0..x.nrows() {
            assert_orthonormal(&basis(&found, i), &format!("q = {q}, point {i}"));
        }
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let x = gaussian(2000, 20, 61);
    let graph = graph(&x, 10);
    let run = || {
        let found = all(&x, &graph, 2, true);
        [found.bases, found.charts, found.singular_values, found.residual_fractions]
    };
    let alone = on_threads(1, run);
    for threads in [2, 8] {
        assert!(on_threads(threads, run) == alone, "{threads} threads");
    }
}

#[test]
fn bad_requests_are_refused() {
    let x = gaussian(20, 3, 62);
    let graph = graph(&x, 4);
    let refused = |x: &Array2<f64>, d| charts(&points(x), &graph, d, true, &Unmonitored).unwrap_err();
    assert_eq!(refused(&x, 0), Error::NoComponents);
    assert_eq!(refused(&x, 4), Error::TooManyComponents { n_components: 4, dim_in: 3 });
    let fewer = gaussian(19, 3, 63);
    assert!(matches!(refused(&fewer, 2), Error::LengthMismatch { left_len: 19, right_len: 20, .. }));
}

/// Neighborhoods of one size in two or three dimensions are fitted several at a time, others alone.
#[test]
fn tangents_found_together_are_those_found_alone() {
    for (n, q, k) in [(61, 2, 6), (83, 3, 8), (515, 3, 12)] {
        let mut x = gaussian(n, q, 61);
        for i in 0..k + 2 {
            x.row_mut(i).fill(7.0); // copies, which have no tangent
        }
        let (points, graph) = (points(&x), graph(&x, k));
        for d in 1..=q {
            let atlas = Atlas::new(&points, &graph, None, d, &Unmonitored).unwrap();
            let (mut chart, mut local) = (Coordinates::default(), Local::default());
            let (mut alone, mut product) = (vec![0.0; q * d], vec![0.0; d * d]);
            let expected = charts(&points, &graph, d, true, &Unmonitored).unwrap().residual_fractions;
            for i in 0..n {
                let off = (atlas.outside(i, &mut chart, &mut local) - expected[i]).abs();
                assert!(off < 1e-12, "{q} to {d}, point {i}: {off:e}");
                atlas.tangent(i, &mut alone);
                let mut own = Coordinates::default();
                atlas.read(i, &mut chart);
                atlas.read_along(i, &alone, &mut own);
                // The same plane: charts differ by an orthogonal matrix, and so have equal sums of squares.
                let size = |flat: &[f64]| flat.iter().map(|v| v * v).sum::<f64>();
                let (found, right) = (size(&chart.flat), size(&own.flat));
                assert!((found - right).abs() <= 1e-9 * right, "{q} to {d}, point {i}: {found} for {right}");
                atlas.agreement(i, i, &mut product);
                let identity = (0..d * d).all(|e| (product[e] - f64::from(e % (d + 1) == 0)).abs() < 1e-12);
                assert!(identity, "{q} to {d}, point {i}: {product:?}");
            }
        }
    }
}
