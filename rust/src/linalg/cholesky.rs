//! Small positive definite systems.

/// Overwrites `b` with the solution of A z = b for the symmetric positive definite n x n matrix `a`, of which the lower
/// triangle is read and destroyed, row after row. False, and nothing solved, where a pivot is not positive.
///
/// Cost: O(n^3 / 3).
///
/// ```
/// use unbend::linalg::solve_positive;
/// let (mut a, mut b) = ([4.0, 0.0, 2.0, 3.0], [8.0, 8.0]); // [[4, 2], [2, 3]]
/// assert!(solve_positive(&mut a, &mut b));
/// assert!((b[0] - 1.0).abs() < 1e-12 && (b[1] - 2.0).abs() < 1e-12);
/// assert!(!solve_positive(&mut [0.0], &mut [1.0]));
/// ```
#[inline]
pub fn solve_positive(a: &mut [f64], b: &mut [f64]) -> bool {
    let n = b.len();
    for i in 0..n {
        let (above, rest) = a.split_at_mut(i * n);
        let row = &mut rest[..=i];
        for j in 0..i {
            let (left, known) = (&row[..j], &above[j * n..j * n + j]);
            let sum = left.iter().zip(known).fold(row[j], |sum, (x, y)| sum - x * y);
            row[j] = sum / above[j * n + j];
        }
        let pivot = row[..i].iter().fold(row[i], |sum, x| sum - x * x);
        if pivot.is_nan() || pivot <= 0.0 {
            return false;
        }
        row[i] = pivot.sqrt();
    }
    for i in 0..n {
        let row = &a[i * n..=i * n + i];
        let sum = row[..i].iter().zip(b.iter()).fold(b[i], |sum, (l, z)| sum - l * z);
        b[i] = sum / row[i];
    }
    for i in (0..n).rev() {
        b[i] /= a[i * n + i];
        let (solved, value) = (&a[i * n..i * n + i], b[i]);
        b.iter_mut().zip(solved).for_each(|(z, l)| *z -= l * value);
    }
    true
}
