//! Local spectra against the singular values of every neighborhood.

use nalgebra::DMatrix;
use ndarray::Array2;
use proptest::prelude::*;
use unbend::charts::{spectra, spectra_of};
use unbend::{Error, Points, Unmonitored};

use crate::clouds::*;
use crate::{cases, naive, on_threads};

const SCALES: [usize; 3] = [3, 11, 20];

fn points(x: &Array2<f64>) -> Points<'_> {
    Points::new("X", x.view(), &Unmonitored).unwrap()
}

fn found(x: &Array2<f64>, centers: &[u32], scales: &[usize], d: usize) -> Vec<f64> {
    spectra(&points(x), centers, scales, d, &Unmonitored).unwrap()
}

/// The points nearest to one, itself among them; ties to the lower index.
fn nearest(x: &Array2<f64>, i: usize, count: usize) -> Vec<usize> {
    let distance = |j: usize| {
        let difference = &x.row(j) - &x.row(i);
        difference.dot(&difference)
    };
    let mut order: Vec<usize> = (0..x.nrows()).collect();
    order.sort_by(|&a, &b| distance(a).total_cmp(&distance(b)).then(a.cmp(&b)));
    order.truncate(count);
    order
}

/// The same by the singular value decomposition.
fn plainly(x: &Array2<f64>, centers: &[u32], scales: &[usize], d: usize) -> Vec<f64> {
    let mut all = vec![];
    for &center in centers {
        for &scale in scales {
            let h: DMatrix<f64> = naive::centered(x, &nearest(x, center as usize, scale + 1));
            let mut squares: Vec<f64> =
                h.clone().svd(false, false).singular_values.iter().map(|s| s * s).collect();
            squares.sort_by(|a, b| b.total_cmp(a));
            squares.resize(x.ncols().max(d), 0.0);
            let size = (scale + 1) as f64;
            all.extend(squares[..d].iter().map(|s| s / size));
            all.push(squares[d..].iter().sum::<f64>() / size);
        }
    }
    all
}

fn assert_close(left: &[f64], right: &[f64], what: &str) {
    assert_eq!(left.len(), right.len(), "{what}");
    let largest = right.iter().fold(0.0f64, |m, v| m.max(*v));
    for (a, b) in left.iter().zip(right) {
        assert!((a - b).abs() <= 1e-11 * largest, "{what}: {a:e} instead of {b:e}");
    }
}

#[test]
fn they_are_the_singular_values() {
    for (n, q, d) in [(60, 1, 1), (60, 2, 2), (80, 3, 2), (80, 3, 1), (70, 7, 5), (50, 40, 6), (50, 40, 40)] {
        let x = gaussian(n, q, q as u64);
        let centers = [0, 7, 31, n as u32 - 1];
        let what = format!("{n} x {q}, d = {d}");
        assert_close(&found(&x, &centers, &SCALES, d), &plainly(&x, &centers, &SCALES, d), &what);
    }
}

#[test]
fn lists_that_are_known_are_not_searched() {
    for (n, q, d) in [(60, 3, 2), (50, 40, 6)] {
        let (x, centers) = (gaussian(n, q, 9), [0, 7, 31]);
        let lists: Vec<u32> =
            centers.iter().flat_map(|&c| nearest(&x, c as usize, 25)).map(|j| j as u32).collect();
        let known = spectra_of(&points(&x), &lists, 25, &SCALES, d, &Unmonitored).unwrap();
        assert_close(&known, &found(&x, &centers, &SCALES, d), "known lists");
    }
    let x = gaussian(20, 3, 0);
    let refused = |lists: &[u32], size| spectra_of(&points(&x), lists, size, &[4], 2, &Unmonitored);
    assert!(matches!(refused(&[0; 8], 4), Err(Error::TooFewPoints { n_neighbors: 4, n: 4 })));
    assert!(matches!(refused(&[0; 12], 5), Err(Error::TooFewPoints { .. })));
    assert!(matches!(refused(&[20; 5], 5), Err(Error::NeighborOutOfRange { n: 20, .. })));
}

#[test]
fn scales_come_in_the_order_given() {
    let x = gaussian(60, 3, 1);
    let (rising, falling) = (found(&x, &[4], &[5, 20], 2), found(&x, &[4], &[20, 5], 2));
    assert_eq!(rising[..3], falling[3..]);
    assert_eq!(rising[3..], falling[..3]);
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let x = gaussian(2000, 4, 3);
    let centers: Vec<u32> = (0..2000).collect();
    let on = |threads| on_threads(threads, || found(&x, &centers, &SCALES, 3));
    let one = on(1);
    for threads in [2, 5] {
        assert!(on(threads) == one, "{threads} threads");
    }
}

#[test]
fn points_that_coincide_have_no_extent() {
    let x = Array2::from_elem((30, 3), 7.0);
    assert!(found(&x, &[0, 9], &[4, 20], 2).iter().all(|&v| v == 0.0));
    let line = Array2::from_shape_fn((30, 3), |(i, a)| if a == 1 { i as f64 } else { 0.0 });
    let spectrum = found(&line, &[15], &[10], 2);
    assert!(spectrum[0] > 1.0 && spectrum[1] == 0.0 && spectrum[2] == 0.0);
}

#[test]
fn bad_input_is_refused() {
    let x = gaussian(20, 3, 0);
    let refused =
        |centers: &[u32], scales: &[usize], d| spectra(&points(&x), centers, scales, d, &Unmonitored);
    assert!(matches!(refused(&[0], &[20], 2), Err(Error::TooFewPoints { n_neighbors: 20, n: 20 })));
    assert!(matches!(refused(&[0], &[], 2), Err(Error::NoNeighbors)));
    assert!(matches!(refused(&[0], &[3, 0], 2), Err(Error::NoNeighbors)));
    assert!(matches!(refused(&[0], &[3], 4), Err(Error::TooManyComponents { .. })));
    assert!(matches!(refused(&[0], &[3], 0), Err(Error::NoComponents)));
    assert!(matches!(refused(&[20], &[3], 2), Err(Error::NeighborOutOfRange { n: 20, .. })));
}

proptest! {
    #![proptest_config(cases(32))]

    /// They add up to the mean squared distance from the mean, do not rise, and scale with the square of the data.
    #[test]
    fn they_share_out_the_variance(seed in 0u64..1000, q in 1usize..9, scale in 2usize..25, factor in 0.01f64..100.0) {
        let x = gaussian(40, q, seed);
        let d = q.div_ceil(2);
        let centers: Vec<u32> = (0..40).collect();
        let all = found(&x, &centers, &[scale], d);
        let larger = found(&(&x * factor), &centers, &[scale], d);
        for (i, row) in all.chunks(d + 1).enumerate() {
            let h = naive::centered(&x, &nearest(&x, i, scale + 1));
            let whole = h.norm_squared() / (scale + 1) as f64;
            prop_assert!((row.iter().sum::<f64>() - whole).abs() <= 1e-12 * whole);
            prop_assert!(row[..d].windows(2).all(|pair| pair[0] >= pair[1]));
            prop_assert!(row.iter().all(|v| *v >= 0.0));
            for (v, w) in row.iter().zip(&larger[i * (d + 1)..]) {
                prop_assert!((v * factor * factor - w).abs() <= 1e-9 * whole * factor * factor);
            }
        }
    }
}
