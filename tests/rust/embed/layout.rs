//! Components side by side: moved, not bent, and apart.

use nalgebra::DMatrix;
use ndarray::Array2;
use proptest::prelude::*;
use unbend::Error;
use unbend::embed::lay_out;

use crate::cases;
use crate::clouds::*;

fn laid_out(y: &Array2<f64>, labels: &[u32]) -> Array2<f64> {
    let mut flat: Vec<f64> = y.iter().copied().collect();
    lay_out(&mut flat, y.ncols(), labels).unwrap();
    Array2::from_shape_vec(y.dim(), flat).unwrap()
}

fn members(labels: &[u32], label: u32) -> Vec<usize> {
    (0..labels.len()).filter(|&i| labels[i] == label).collect()
}

/// Lowest and highest coordinates.
fn bounds(y: &Array2<f64>, members: &[usize]) -> Vec<(f64, f64)> {
    let column = |b: usize| members.iter().map(move |&i| y[[i, b]]);
    (0..y.ncols())
        .map(|b| (column(b).fold(f64::INFINITY, f64::min), column(b).fold(f64::NEG_INFINITY, f64::max)))
        .collect()
}

/// Distances, centring and axes of every component; no two boxes that touch.
fn check(y: &Array2<f64>, labels: &[u32]) {
    let found = laid_out(y, labels);
    assert!(found.iter().all(|v| v.is_finite()));
    let reach = found.iter().chain(y).fold(f64::MIN_POSITIVE, |reach, v| v.abs().max(reach));
    let (y, found, d) = (y / reach, found / reach, y.ncols());
    let mut names = labels.to_vec();
    names.sort_unstable();
    names.dedup();
    let mut boxes: Vec<Vec<(f64, f64)>> = Vec::new();
    for &label in &names {
        let members = members(labels, label);
        let own = |y: &Array2<f64>| DMatrix::from_fn(members.len(), d, |p, b| y[[members[p], b]]);
        let (before, after) = (own(&y), own(&found));
        for (p, r) in (0..members.len()).map(|p| (p, (p * 7 + 1) % members.len())) {
            let length = |y: &DMatrix<f64>| (y.row(p) - y.row(r)).norm();
            assert!((length(&before) - length(&after)).abs() <= 1e-12, "{} dimensions", d);
        }
        let mean = after.row_mean();
        let centered = DMatrix::from_fn(members.len(), d, |p, b| after[(p, b)] - mean[b]);
        let scatter = centered.transpose() * &centered;
        let slack = 1e-9 * scatter.amax() + 1e-28 * members.len() as f64;
        for (a, b) in (0..d).flat_map(|a| (0..a).map(move |b| (a, b))) {
            assert!(scatter[(a, b)].abs() <= slack, "axis {a} leans on axis {b}");
            assert!(scatter[(a, a)] <= scatter[(b, b)] + slack, "axis {a} is longer than {b}");
        }
        boxes.push(bounds(&found, &members));
    }
    for (i, left) in boxes.iter().enumerate() {
        for right in &boxes[..i] {
            let apart = |b: usize| left[b].0 > right[b].1 || right[b].0 > left[b].1;
            assert!((0..d).any(apart), "{left:?} and {right:?}");
        }
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn components_are_moved_apart(
        kind in proptest::sample::select(vec![
            Cloud::Normal, Cloud::Grid, Cloud::Duplicates, Cloud::AllEqual, Cloud::Collinear, Cloud::Outlier,
        ]),
        n in 1usize..120,
        d in 1usize..7,
        components in 1usize..15,
        seed in 0u64..1000,
    ) {
        let mut rng = rng(seed);
        let labels: Vec<u32> = (0..n).map(|_| pick(&mut rng, components) as u32).collect();
        check(&double(kind, n, d, seed), &labels);
    }
}

#[test]
fn one_component_stays_about_the_origin() {
    for d in 1..=6 {
        let spread = Array2::from_shape_fn((300, d), |(_, b)| 1.0 + b as f64);
        let y = (gaussian(300, d, 400) * spread).dot(&orthonormal(d, d, 401)) + 50.0;
        let (found, labels) = (laid_out(&y, &[0; 300]), [0; 300]);
        check(&y, &labels);
        let mean = found.mean_axis(ndarray::Axis(0)).unwrap();
        assert!(mean.iter().all(|m| m.abs() < 1e-12), "{d} dimensions: {mean}");
    }
}

/// In order of size they go along the first axis, in rows along the second; equals in order of their points.
#[test]
fn the_largest_comes_first() {
    for d in 1..=3 {
        let sizes = [30usize, 200, 5, 80, 80, 1];
        let labels: Vec<u32> = (0..).zip(sizes).flat_map(|(label, size)| vec![label; size]).collect();
        let found = laid_out(&gaussian(labels.len(), d, 410), &labels);
        check(&gaussian(labels.len(), d, 410), &labels);
        let corner = |label: u32| {
            let bounds = bounds(&found, &members(&labels, label));
            (bounds.get(1).map_or(0.0, |b| b.0), bounds[0].0)
        };
        let corners: Vec<(f64, f64)> = [1, 3, 4, 0, 2, 5].map(corner).to_vec();
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(close(corners[0].0, 0.0) && close(corners[0].1, 0.0), "{corners:?}");
        for pair in corners.windows(2) {
            let [(y, x), (next_y, next_x)] = [pair[0], pair[1]];
            assert!(next_y > y + 1e-9 || (close(next_y, y) && next_x > x), "{corners:?}");
        }
    }
}

#[test]
fn many_tiny_components_make_about_a_square() {
    for (n, size) in [(10_000, 1), (9_000, 3)] {
        let labels: Vec<u32> = (0..n as u32).map(|i| i / size).collect();
        for d in 1..=3 {
            let found = laid_out(&gaussian(n, d, 420), &labels);
            assert!(found.iter().all(|v| v.is_finite()));
            if d > 1 {
                let sides = bounds(&found, &(0..n).collect::<Vec<_>>());
                let ratio = (sides[0].1 - sides[0].0) / (sides[1].1 - sides[1].0);
                assert!((0.3..3.0).contains(&ratio), "{n} points in {d} dimensions: {ratio}");
            }
        }
    }
}

/// Squares of such lengths overflow or vanish.
#[test]
fn extremes_are_laid_out() {
    for scale in [1e-200, 1e-100, 1e150, 1e200] {
        for d in 1..=3 {
            check(&(gaussian(40, d, 430) * scale), &(0..40).map(|i| i % 3).collect::<Vec<_>>());
        }
    }
}

#[test]
fn bad_requests_are_refused() {
    let refused = |len: usize, d: usize, labels: &[u32]| lay_out(&mut vec![0.0; len], d, labels).unwrap_err();
    let error = refused(5, 2, &[0, 0]);
    assert_eq!(error.to_string(), "the embedding has 5 rows, but the labels, times its dimension, has 4");
    assert!(matches!(refused(2, 0, &[0, 0]), Error::LengthMismatch { .. }));
    assert_eq!(lay_out(&mut [], 2, &[]), Ok(()));
}
