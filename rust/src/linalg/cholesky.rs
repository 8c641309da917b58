//! Cholesky's method for small positive definite systems.

/// Solves A z = b for a symmetric positive definite n x n matrix `a` and overwrites `b` with z.
///
/// Reads and destroys the lower triangle of `a`, row after row. Returns false, with `b` undefined, if a pivot is not
/// positive. Cost: O(n^3 / 3).
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
