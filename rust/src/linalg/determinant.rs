//! The sign of a determinant, which is negative if a matrix reflects.

/// The sign of the determinant of a d x d matrix, which is destroyed; 0 if the matrix is singular.
///
/// Gaussian elimination with pivots. Cost: O(d^3).
pub fn determinant_sign(matrix: &mut [f64], d: usize) -> f64 {
    let mut sign = 1.0;
    for j in 0..d {
        let size = |row: usize| matrix[j * d + row].abs();
        let pivot = (j + 1..d).fold(j, |top, row| if size(row) > size(top) { row } else { top });
        if pivot != j {
            sign = -sign;
            (0..d).for_each(|c| matrix.swap(c * d + j, c * d + pivot));
        }
        let head = matrix[j * d + j];
        if head == 0.0 {
            return 0.0;
        }
        sign *= head.signum();
        for c in j + 1..d {
            let factor = matrix[c * d + j] / head;
            (j + 1..d).for_each(|r| matrix[c * d + r] -= factor * matrix[j * d + r]);
        }
    }
    sign
}
