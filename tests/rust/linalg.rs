//! The small kernels against nalgebra and against what defines them, at every size and scale.

use nalgebra::DMatrix;
use ndarray::Array2;
use unbend::linalg::{Singular, dot, orthogonal_factor, polar, polars, singular_values, symmetric_eigen};

use crate::clouds::{gaussian, orthonormal};

/// Scales at which squares under- and overflow.
const SCALES: [f64; 5] = [1e-280, 1e-160, 1.0, 1e160, 1e280];

fn dense(x: &Array2<f64>) -> DMatrix<f64> {
    DMatrix::from_fn(x.nrows(), x.ncols(), |i, j| x[[i, j]])
}

fn largest(a: &DMatrix<f64>) -> f64 {
    a.iter().fold(0.0, |largest, v| v.abs().max(largest))
}

fn off_identity(a: &DMatrix<f64>) -> f64 {
    largest(&(a.transpose() * a - DMatrix::identity(a.ncols(), a.ncols())))
}

/// nalgebra's singular values, from the largest down.
fn nalgebra_values(z: &DMatrix<f64>) -> Vec<f64> {
    z.singular_values().as_slice().to_vec()
}

#[test]
fn dot_is_the_sum_of_products_at_every_length() {
    for n in 0..40 {
        let a: Vec<f64> = (0..n).map(|i| f64::from(i + 1)).collect();
        let b: Vec<f64> = (0..n).map(|i| f64::from(3 * i - 7)).collect();
        let expected: i32 = (0..n).map(|i| (i + 1) * (3 * i - 7)).sum();
        assert_eq!(dot(&a, &b), f64::from(expected), "length {n}");
    }
}

/// Eigenvalues and eigenvectors of `a`.
fn eigen(a: &DMatrix<f64>) -> (Vec<f64>, DMatrix<f64>) {
    let n = a.nrows();
    let mut vectors = a.as_slice().to_vec();
    let mut values = vec![f64::NAN; n];
    symmetric_eigen(&mut vectors, n, &mut values, &mut vec![]);
    (values, DMatrix::from_vec(n, n, vectors))
}

/// A V = V L, V'V = I, sorted, and the eigenvalues are these.
fn check_eigen(a: &DMatrix<f64>, expected: &[f64], what: &str) {
    let n = a.nrows();
    let (values, v) = eigen(a);
    let size = largest(a);
    let off = a / size.max(f64::MIN_POSITIVE) * &v
        - &v * DMatrix::from_fn(
            n,
            n,
            |i, j| if i == j { values[i] / size.max(f64::MIN_POSITIVE) } else { 0.0 },
        );
    assert!(off_identity(&v) < 1e-14, "{what}: V'V is {:e} off", off_identity(&v));
    assert!(largest(&off) < 2e-15 * n as f64, "{what}: A V - V L is {:e}", largest(&off));
    assert!(values.is_sorted_by(|a, b| a >= b), "{what}: {values:?}");
    for (found, expected) in values.iter().zip(expected) {
        assert!((found - expected).abs() <= 2e-15 * n as f64 * size, "{what}: {values:?}, not {expected}");
    }
}

/// Q diag(values) Q', exactly symmetric.
fn with_eigenvalues(values: &[f64], seed: u64) -> DMatrix<f64> {
    let n = values.len();
    let q = dense(&orthonormal(n, n, seed));
    let a = &q * DMatrix::from_fn(n, n, |i, j| if i == j { values[i] } else { 0.0 }) * q.transpose();
    (&a + a.transpose()) / 2.0
}

fn down(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(|a, b| b.total_cmp(a));
    values
}

#[test]
fn eigenvectors_of_every_size() {
    for n in 1..=20 {
        for seed in 0..20 {
            let g = dense(&gaussian(n, n, seed));
            let a = &g + g.transpose();
            let expected = down(a.clone().symmetric_eigen().eigenvalues.as_slice().to_vec());
            check_eigen(&a, &expected, &format!("n = {n}, seed = {seed}"));

            let prescribed: Vec<f64> = down(gaussian(1, n, seed + 100).into_raw_vec_and_offset().0);
            check_eigen(&with_eigenvalues(&prescribed, seed), &prescribed, &format!("prescribed, n = {n}"));
        }
    }
}

#[test]
fn eigenvectors_of_special_matrices() {
    for n in 1..=20 {
        check_eigen(&DMatrix::zeros(n, n), &vec![0.0; n], "zero");
        check_eigen(&DMatrix::identity(n, n), &vec![1.0; n], "identity");
        check_eigen(&-DMatrix::identity(n, n), &vec![-1.0; n], "minus identity");
        let rising = DMatrix::from_fn(n, n, |i, j| if i == j { i as f64 } else { 0.0 });
        check_eigen(&rising, &down((0..n).map(|i| i as f64).collect()), "diagonal");
        let mut ones = vec![0.0; n];
        ones[0] = n as f64;
        check_eigen(&DMatrix::from_element(n, n, 1.0), &ones, "ones");
        let two: Vec<f64> = (0..n).map(|i| if i < n.div_ceil(2) { 3.0 } else { -2.0 }).collect();
        check_eigen(&with_eigenvalues(&two, 5), &two, "two eigenvalues");
        let deficient: Vec<f64> =
            (0..n).map(|i| if i < n.div_ceil(3) { 2.0 - i as f64 / 20.0 } else { 0.0 }).collect();
        check_eigen(&with_eigenvalues(&deficient, 6), &deficient, "rank-deficient");
        let graded: Vec<f64> = (0..n).map(|i| 0.01f64.powi(i as i32)).collect();
        check_eigen(&with_eigenvalues(&graded, 7), &graded, "graded");
    }
}

#[test]
fn eigenvectors_at_every_scale() {
    for n in [1, 2, 3, 4, 5, 12] {
        let prescribed: Vec<f64> = (0..n).map(|i| 5.0 - i as f64).collect();
        let a = with_eigenvalues(&prescribed, 8);
        for scale in SCALES {
            let expected: Vec<f64> = prescribed.iter().map(|v| v * scale).collect();
            check_eigen(&(&a * scale), &expected, &format!("n = {n}, scale = {scale:e}"));
        }
    }
}

/// The factor A and the singular values that the kernel reports.
fn factor(z: &DMatrix<f64>) -> (DMatrix<f64>, Singular) {
    let (q, d) = z.shape();
    let mut a = vec![f64::NAN; q * d];
    let values = orthogonal_factor(&mut z.as_slice().to_vec(), q, d, &mut a, &mut vec![]);
    (DMatrix::from_vec(q, d, a), values)
}

/// A'A = I, and trace(A'Z) is what it can be at most: the sum of the singular values.
fn check_factor(z: &DMatrix<f64>, what: &str) {
    let (a, Singular { sum, least }) = factor(z);
    let expected = nalgebra_values(z);
    let nuclear: f64 = expected.iter().sum();
    let smallest = expected.iter().fold(f64::INFINITY, |least, &v| v.min(least));
    let trace = (a.transpose() * z).trace();
    assert!(off_identity(&a) < 1e-14, "{what}: A'A is {:e} off", off_identity(&a));
    assert!((trace - nuclear).abs() <= 1e-13 * nuclear, "{what}: trace {trace:e}, not {nuclear:e}");
    assert!((sum - nuclear).abs() <= 1e-13 * nuclear, "{what}: sum {sum:e}, not {nuclear:e}");
    assert!((least - smallest).abs() <= 1e-13 * nuclear, "{what}: least {least:e}, not {smallest:e}");
    check_polar(z, what);
}

/// The same of the factor that is found without the single values.
fn check_polar(z: &DMatrix<f64>, what: &str) {
    let (q, d) = z.shape();
    let mut a = vec![f64::NAN; q * d];
    let sum = polar(&mut z.as_slice().to_vec(), q, d, &mut a, &mut vec![f64::NAN; 3]);
    check_found(z, &DMatrix::from_vec(q, d, a), sum, what);
}

fn check_found(z: &DMatrix<f64>, a: &DMatrix<f64>, sum: f64, what: &str) {
    let (q, nuclear) = (z.nrows(), nalgebra_values(z).iter().sum::<f64>());
    let trace = (a.transpose() * z).trace();
    assert!(
        off_identity(a) < 1e-15 * q.max(10) as f64,
        "{what}: A'A of the polar factor is {:e} off",
        off_identity(a)
    );
    assert!((trace - nuclear).abs() <= 1e-13 * nuclear, "{what}: trace {trace:e}, not {nuclear:e}");
    assert!((sum - nuclear).abs() <= 1e-13 * nuclear, "{what}: sum {sum:e}, not {nuclear:e}");
}

/// Every size the kernels have code for, and more.
fn sizes() -> impl Iterator<Item = (usize, usize)> {
    (1..=20).flat_map(|q| (1..=q.min(6)).map(move |d| (q, d)))
}

#[test]
fn orthogonal_factors_of_every_size() {
    for (q, d) in sizes() {
        for seed in 0..20 {
            check_factor(&dense(&gaussian(q, d, seed)), &format!("q = {q}, d = {d}, seed = {seed}"));
        }
    }
}

#[test]
fn polar_factors_of_large_matrices() {
    for d in [7, 8, 10, 16, 33, 63, 64, 65] {
        for seed in 0..5 {
            check_polar(&dense(&gaussian(d, d, seed)), &format!("d = {d}, seed = {seed}"));
        }
        let turned = with_eigenvalues(&(0..d).map(|j| 0.7f64.powi(j as i32)).collect::<Vec<_>>(), 37);
        check_polar(&(dense(&orthonormal(d, d, 38)) * turned), &format!("d = {d}, graded"));
    }
}

/// Regular matrices beside those without an inverse, with tiny entries or none; in any order, any number of them.
#[test]
fn polar_factors_together() {
    for (q, d) in [(2, 2), (3, 3), (4, 4), (7, 4), (6, 6), (10, 10), (13, 10), (17, 17)] {
        let mut all: Vec<DMatrix<f64>> = (0..19).map(|seed| dense(&gaussian(q, d, seed))).collect();
        all[3].fill(0.0);
        all[5] *= 1e-200;
        let copy = all[7].column(0).into_owned();
        all[7].set_column(1, &copy);
        all[11] = DMatrix::identity(q, d);
        for (j, mut column) in all[13].column_iter_mut().enumerate() {
            column *= 10f64.powf(-11.0 * j as f64 / d as f64);
        }
        for count in [2, 7, 8, 9, 19] {
            let (some, reversed) = (&all[..count], all[..count].iter().rev().cloned().collect::<Vec<_>>());
            let (factors, sums) = polars_of(some);
            for ((z, a), sum) in some.iter().zip(&factors).zip(&sums) {
                check_found(z, a, *sum, &format!("q = {q}, d = {d}, one of {count}"));
            }
            let (again, sums_again) = polars_of(&reversed);
            assert!(factors.iter().eq(again.iter().rev()) && sums.iter().eq(sums_again.iter().rev()));
        }
    }
}

fn polars_of(matrices: &[DMatrix<f64>]) -> (Vec<DMatrix<f64>>, Vec<f64>) {
    let (q, d) = matrices[0].shape();
    let mut flat: Vec<f64> = matrices.iter().flat_map(|z| z.iter().copied()).collect();
    let (mut a, mut sums) = (vec![f64::NAN; flat.len()], vec![f64::NAN; matrices.len()]);
    polars(&mut flat, q, d, &mut a, &mut sums, &mut vec![f64::NAN; 3]);
    (a.chunks_exact(q * d).map(|a| DMatrix::from_column_slice(q, d, a)).collect(), sums)
}

#[test]
fn orthogonal_factors_of_deficient_matrices() {
    for (q, d) in sizes() {
        let z = dense(&gaussian(q, d, 30));
        check_factor(&DMatrix::zeros(q, d), &format!("zero, q = {q}, d = {d}"));
        for j in 0..d {
            let mut holed = z.clone();
            holed.column_mut(j).fill(0.0);
            check_factor(&holed, &format!("column {j} zero, q = {q}, d = {d}"));
            let mut lonely = DMatrix::zeros(q, d);
            lonely.set_column(j, &z.column(j));
            check_factor(&lonely, &format!("all but column {j} zero, q = {q}, d = {d}"));
            for (factor, noise) in
                [(1.0, 0.0), (-1.0, 0.0), (0.1, 0.0), (1.0, 1e-16), (1.0, 1e-15), (1.0, 1e-12)]
            {
                let mut equal = z.clone();
                let copied = z.column(0) * factor + z.column(d - 1) * noise;
                equal.set_column(j, &copied);
                check_factor(&equal, &format!("column {j} a copy, {factor}, {noise:e}, q = {q}, d = {d}"));
            }
        }
        let rank_one = z.column(0) * dense(&gaussian(1, d, 31));
        check_factor(&rank_one, &format!("rank 1, q = {q}, d = {d}"));
        let ones = DMatrix::from_element(q, d, 1.0);
        check_factor(&ones, &format!("ones, q = {q}, d = {d}"));
        if d > 2 {
            let rank_two = z.columns(0, 2) * dense(&gaussian(2, d, 32));
            check_factor(&rank_two, &format!("rank 2, q = {q}, d = {d}"));
        }
    }
}

#[test]
fn orthogonal_factors_at_every_scale() {
    for (q, d) in sizes() {
        let z = dense(&gaussian(q, d, 33));
        for scale in SCALES {
            check_factor(&(&z * scale), &format!("q = {q}, d = {d}, scale = {scale:e}"));
        }
        for base in [1e-4f64, 1e-9, 1e-30] {
            let weights: Vec<f64> = (0..d).map(|j| base.powi(j as i32)).collect();
            for turned in [false, true] {
                let at = |j: usize| weights[if turned { d - 1 - j } else { j }];
                let graded = DMatrix::from_fn(q, d, |i, j| z[(i, j)] * at(j));
                check_factor(&graded, &format!("columns graded by {base:e}, q = {q}, d = {d}"));
            }
        }
    }
}

/// No frame does better, not even one close by.
#[test]
fn orthogonal_factors_are_optimal() {
    for (q, d) in sizes() {
        let z = dense(&gaussian(q, d, 34));
        let (a, best) = factor(&z);
        for seed in 0..20 {
            let frame = dense(&orthonormal(q, d, seed));
            assert!((frame.transpose() * &z).trace() <= best.sum * (1.0 + 1e-13), "q = {q}, d = {d}");
            // a small step from A and back onto the frames
            let moved = (&a + dense(&gaussian(q, d, seed)) * 1e-3).qr();
            let (near, r) = (moved.q(), moved.r());
            let near = DMatrix::from_fn(q, d, |i, j| near[(i, j)] * r[(j, j)].signum());
            assert!((near.transpose() * &z).trace() <= best.sum * (1.0 + 1e-13), "q = {q}, d = {d}");
        }
    }
}

/// Of an orthonormal frame times a positive definite matrix, the frame.
#[test]
fn the_frame_itself_is_recovered() {
    for (q, d) in sizes() {
        let frame = dense(&orthonormal(q, d, 35));
        let stretch = with_eigenvalues(&(0..d).map(|j| 1.0 + j as f64).collect::<Vec<_>>(), 36);
        let (a, Singular { sum, least }) = factor(&(&frame * stretch));
        assert!(largest(&(a - frame)) < 1e-14, "q = {q}, d = {d}");
        assert!((sum - (d * (d + 1)) as f64 / 2.0).abs() < 1e-13 * sum, "q = {q}, d = {d}");
        assert!((least - 1.0).abs() < 1e-13 * sum, "q = {q}, d = {d}");
    }
}

#[test]
fn singular_values_of_every_size() {
    for rows in 1..=20 {
        for columns in 1..=rows.min(7) {
            for scale in SCALES {
                let z = dense(&gaussian(rows, columns, 37));
                let rank_one = z.column(0) * dense(&gaussian(1, columns, 38));
                let flat = DMatrix::from_element(rows, columns, 1.0);
                for z in [z, rank_one, flat, DMatrix::zeros(rows, columns)] {
                    let expected = nalgebra_values(&z);
                    let size = expected[0];
                    let mut found = vec![f64::NAN; columns];
                    singular_values((&z * scale).as_mut_slice(), rows, columns, &mut found);
                    for (found, expected) in down(found).iter().zip(&expected) {
                        let off = (found / scale - expected).abs();
                        assert!(off <= 1e-14 * size, "{rows} x {columns}, {scale:e}: {off:e}");
                    }
                }
            }
        }
    }
}

/// One-sided Jacobi keeps the small values of badly scaled columns: 2 x 2 and larger.
#[test]
fn small_singular_values_keep_their_digits() {
    for d in 2..=4 {
        let q = dense(&orthonormal(d, d, 39));
        let weights: Vec<f64> = (0..d).map(|j| 1e-9f64.powi(j as i32)).collect();
        let z = DMatrix::from_fn(d, d, |i, j| q[(i, j)] * weights[j]);
        let mut found = vec![f64::NAN; d];
        singular_values(&mut z.as_slice().to_vec(), d, d, &mut found);
        for (found, expected) in down(found).iter().zip(&weights) {
            assert!((found - expected).abs() <= 1e-14 * expected, "{d} x {d}: {found:e}, not {expected:e}");
        }
    }
}
