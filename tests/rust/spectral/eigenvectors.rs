//! The smallest eigenvectors: those of a dense solver, on any number of threads, whatever is known of the null space.

use nalgebra::{DMatrix, SymmetricEigen};
use ndarray::Array2;
use unbend::csr::{Csr, CsrView};
use unbend::neighbors::{Search, nearest};
use unbend::spectral::{
    EigenParams, HlleParams, Null, Plan, Solver, Spectrum, dissect, hlle, smallest_eigenvectors,
};
use unbend::{Error, Monitor, Points, Unmonitored, rng};

use crate::on_threads;

fn rows_of(dense: &DMatrix<f64>) -> Csr<f64> {
    let mut rows = Csr::default();
    for i in 0..dense.nrows() {
        for j in (0..dense.ncols()).filter(|&j| dense[(i, j)] != 0.0) {
            rows.push(j as u32, dense[(i, j)]);
        }
        rows.end_row();
    }
    rows
}

/// The Laplacian of `copies` grids with random weights, which do not touch.
fn grids(width: usize, height: usize, copies: usize) -> DMatrix<f64> {
    let size = width * height;
    let mut laplacian = DMatrix::zeros(size * copies, size * copies);
    let mut stream = rng::stream(3, "weights", 0);
    let mut join = |i: usize, j: usize| {
        let weight = 0.5 + rng::uniform(&mut stream);
        for (a, b, sign) in [(i, i, 1.0), (j, j, 1.0), (i, j, -1.0), (j, i, -1.0)] {
            laplacian[(a, b)] += sign * weight;
        }
    };
    for copy in 0..copies {
        for x in 0..width {
            for y in 0..height {
                let i = copy * size + x * height + y;
                if x + 1 < width {
                    join(i, i + height);
                }
                if y + 1 < height {
                    join(i, i + 1);
                }
            }
        }
    }
    laplacian
}

fn ascending(dense: DMatrix<f64>) -> Vec<f64> {
    let mut values: Vec<f64> = SymmetricEigen::new(dense).eigenvalues.iter().copied().collect();
    values.sort_by(f64::total_cmp);
    values
}

fn found(rows: &Csr<f64>, n_vectors: usize, null: Null<'_>, degrees: Option<&[f64]>) -> Spectrum {
    smallest_eigenvectors(
        &rows.view(),
        null,
        degrees,
        &EigenParams { n_vectors, ..EigenParams::default() },
        &Unmonitored,
    )
    .unwrap()
}

fn assert_close(values: &[f64], truth: &[f64], norm: f64) {
    for (value, truth) in values.iter().zip(truth) {
        assert!((value - truth).abs() < 1e-12 * norm, "{value} for {truth}");
    }
}

#[test]
fn values_are_those_of_a_dense_solver() {
    for (width, height) in [(2, 1), (3, 2), (14, 14), (15, 14), (31, 13)] {
        let dense = grids(width, height, 1);
        let rows = rows_of(&dense);
        for n_vectors in [1, 2, 9].into_iter().filter(|&d| d < width * height) {
            let spectrum = found(&rows, n_vectors, Null::Constants, None);
            assert_close(&spectrum.values, &ascending(dense.clone())[1..], spectrum.norm);
            assert_eq!(spectrum.vectors.dim(), (width * height, n_vectors));
            assert!(spectrum.residuals[..n_vectors].iter().all(|&r| r < 1e-10 * spectrum.norm));
            let product = spectrum.vectors.t().dot(&spectrum.vectors);
            assert!((product - Array2::<f64>::eye(n_vectors)).iter().all(|e| e.abs() < 1e-12));
            assert!(spectrum.converged);
        }
    }
}

#[test]
fn polynomials_find_the_same() {
    let rows = rows_of(&(grids(31, 13, 1) + DMatrix::identity(403, 403)));
    let params = EigenParams { n_vectors: 3, ..EigenParams::default() };
    let factor = smallest_eigenvectors(&rows.view(), Null::Nothing, None, &params, &Unmonitored).unwrap();
    let without = EigenParams { memory: 0, ..params };
    let polynomial =
        smallest_eigenvectors(&rows.view(), Null::Nothing, None, &without, &Unmonitored).unwrap();
    assert_eq!((factor.solver, polynomial.solver), (Solver::Factor, Solver::Polynomial));
    assert!(polynomial.converged);
    assert_close(&polynomial.values[..3], &factor.values, factor.norm);
    assert!((&polynomial.vectors - &factor.vectors).iter().all(|e| e.abs() < 1e-6));
}

#[test]
fn degrees_scale_the_problem() {
    let dense = grids(31, 13, 1);
    let mut stream = rng::stream(0, "degrees", 0);
    let degrees: Vec<f64> = (0..403).map(|_| 0.1 + rng::uniform(&mut stream)).collect();
    let scaled = DMatrix::from_fn(403, 403, |i, j| dense[(i, j)] / (degrees[i] * degrees[j]).sqrt());
    let spectrum = found(&rows_of(&dense), 4, Null::Constants, Some(&degrees));
    assert_close(&spectrum.values, &ascending(scaled)[1..], spectrum.norm);
    for c in 0..4 {
        let y = spectrum.vectors.column(c);
        let size: f64 = y.iter().zip(&degrees).map(|(y, d)| d * y * y).sum();
        let mean: f64 = y.iter().zip(&degrees).map(|(y, d)| d * y).sum();
        assert!((size - 1.0).abs() < 1e-12 && mean.abs() < 1e-12);
    }
}

#[test]
fn every_component_has_its_constants() {
    let dense = grids(13, 11, 3);
    let labels: Vec<u32> = (0..429).map(|i| i / 143).collect();
    let spectrum = found(&rows_of(&dense), 5, Null::Labels(&labels), None);
    assert_close(&spectrum.values, &ascending(dense)[3..], spectrum.norm);
    for column in spectrum.vectors.columns() {
        for copy in 0..3 {
            assert!(column.iter().skip(copy * 143).take(143).sum::<f64>().abs() < 1e-10);
        }
    }
}

#[test]
fn more_null_vectors_than_known_are_no_obstacle() {
    let spectrum = found(&rows_of(&grids(13, 11, 3)), 2, Null::Constants, None);
    assert!(spectrum.values[..2].iter().all(|v| v.abs() < 1e-13 * spectrum.norm));
    assert!(spectrum.values[2] > 1e-3);
    let nothing = Csr { indptr: vec![0; 301], indices: vec![], values: vec![] };
    let spectrum = found(&nothing, 2, Null::Constants, None);
    assert_eq!(spectrum.values, [0.0; 3]);
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let rows = rows_of(&grids(80, 40, 1));
    let runs: Vec<Spectrum> =
        [1, 2, 5].iter().map(|&t| on_threads(t, || found(&rows, 3, Null::Constants, None))).collect();
    for run in &runs[1..] {
        assert_eq!(run.vectors, runs[0].vectors);
        assert_eq!(run.values, runs[0].values);
    }
    for column in runs[0].vectors.columns() {
        let largest = column.iter().fold(0.0_f64, |l, &v| if v.abs() > l.abs() { v } else { l });
        assert!(largest > 0.0);
    }
}

#[test]
fn an_order_holds_every_unknown_once_and_halves_do_not_touch() {
    let rows = rows_of(&grids(40, 30, 2));
    let dissection = dissect(&rows.indptr, &rows.indices, &Unmonitored).unwrap();
    let mut order = dissection.order.clone();
    order.sort_unstable();
    assert!(order.into_iter().eq(0..2400));
    let [left, _] = dissection.root.halves.as_slice() else { panic!("it was not cut") };
    let mut place = vec![0; 2400];
    dissection.order.iter().enumerate().for_each(|(p, &i)| place[i as usize] = p);
    let below = dissection.root.below;
    for i in 0..2400 {
        for (j, _) in rows.view().row(i) {
            assert!(place[i] >= left.total() || place[j] < left.total() || place[j] >= below);
        }
    }
    let plan = Plan::new(&rows.view(), &Unmonitored).unwrap();
    assert!(plan.entries() < 2400 * 120, "{} entries", plan.entries());
}

#[test]
fn bad_input_is_refused() {
    let mut dense = grids(31, 13, 1);
    let rows = rows_of(&dense);
    let call = |null, degrees, n_vectors| {
        smallest_eigenvectors(
            &rows.view(),
            null,
            degrees,
            &EigenParams { n_vectors, ..EigenParams::default() },
            &Unmonitored,
        )
        .unwrap_err()
    };
    assert!(matches!(call(Null::Constants, None, 0), Error::OutOfRange { value: 0.0, .. }));
    assert!(matches!(call(Null::Constants, None, 403), Error::OutOfRange { value: 403.0, .. }));
    assert!(matches!(call(Null::Labels(&[0]), None, 2), Error::LengthMismatch { left_len: 1, .. }));
    assert!(matches!(call(Null::Nothing, Some(&[0.0; 403]), 2), Error::OutOfRange { name: "degree", .. }));
    let params = EigenParams::default();
    let negative = rows_of(&-dense.clone());
    let error =
        smallest_eigenvectors(&negative.view(), Null::Constants, None, &params, &Unmonitored).unwrap_err();
    assert!(matches!(error, Error::Indefinite { .. }), "{error}");
    dense[(0, 5)] = 1e-3;
    dense[(5, 0)] = 2e-3;
    let lopsided = rows_of(&dense);
    let error =
        smallest_eigenvectors(&lopsided.view(), Null::Constants, None, &params, &Unmonitored).unwrap_err();
    assert!(matches!(error, Error::Asymmetric { .. }), "{error}");
    assert!(CsrView::new(&[0, 1], &[1], &[1.0]).is_err());
    assert!(CsrView::new(&[0, 1], &[0], &[f64::NAN]).is_err());
    assert!(CsrView::new(&[0, 2], &[0], &[1.0]).is_err());
    assert!(CsrView::new(&[0], &[], &[]).is_err());
}

#[test]
fn it_can_be_stopped() {
    struct Stopped;
    impl Monitor for Stopped {
        fn stop_requested(&self) -> bool {
            true
        }
    }
    for size in [3, 31] {
        let rows = rows_of(&grids(size, 13, 1));
        let stopped =
            smallest_eigenvectors(&rows.view(), Null::Constants, None, &EigenParams::default(), &Stopped);
        assert_eq!(stopped.unwrap_err(), Error::Interrupted);
    }
}

/// The inverse is larger by twelve digits on the two coordinates, and most of its space is rounding.
#[test]
fn flat_patches_have_two_more_null_vectors() {
    for seed in 0..20 {
        let mut stream = rng::stream(seed, "patch", 0);
        let flat = Array2::from_shape_fn((250, 2), |_| rng::uniform(&mut stream));
        let points = Points::new("X", flat.view(), &Unmonitored).unwrap();
        let graph = nearest(&points, 12, Search::Auto, &Unmonitored).unwrap().neighborhoods;
        let weights = hlle(&points, &graph, &HlleParams::default(), &Unmonitored).unwrap();
        let matrix = weights.matrix(&graph, &Unmonitored).unwrap();
        let spectrum = found(&matrix, 2, Null::Constants, None);
        let largest = spectrum.residuals[..2].iter().fold(0.0, |l: f64, &r| if r <= l { l } else { r });
        assert!(largest < 1e-12 * spectrum.norm, "{:?}", spectrum.residuals);
        assert!(spectrum.values[1].abs() < 1e-12 * spectrum.norm && spectrum.values[2] > 1e-6);
    }
}
