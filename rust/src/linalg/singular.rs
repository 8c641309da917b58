//! Singular values by one-sided Jacobi rotations (Hestenes), which are accurate for badly scaled columns.

use super::{column, dot, jacobi_rotation, largest, norm, rotate, two_columns};

/// Maximum number of sweeps of the rotations. They need fewer than ten.
const SWEEPS: usize = 40;

/// Two columns count as orthogonal if their squared cosine is below this, or if their squares underflow.
const NEGLIGIBLE: f64 = f64::EPSILON * f64::EPSILON;

/// Makes the columns of `z` orthogonal by rotations, and applies the same to those of `v`, which may be empty.
///
/// Then the norms of the columns of z are its singular values, in no order. Entries of z must not exceed 1 by much.
#[inline(always)]
pub fn orthogonalize(z: &mut [f64], rows: usize, columns: usize, v: &mut [f64]) {
    let v_rows = v.len() / columns;
    for _ in 0..SWEEPS {
        let mut rotated = false;
        for i in 0..columns {
            for j in i + 1..columns {
                let (x, y) = (column(z, rows, i), column(z, rows, j));
                let (a, g, b) = (dot(x, x), dot(x, y), dot(y, y));
                if g * g <= NEGLIGIBLE * a * b {
                    continue;
                }
                rotated = true;
                let (c, s) = jacobi_rotation(a, g, b);
                let (x, y) = two_columns(z, rows, i, j);
                rotate(x, y, c, s);
                let (x, y) = two_columns(v, v_rows, i, j);
                rotate(x, y, c, s);
            }
        }
        if !rotated {
            break;
        }
    }
}

/// Writes the singular values of the rows x columns matrix `z`, in no order. Destroys `z`.
///
/// Two columns have a closed form: s1 + s2 and s1 - s2 are the norms of the rotation part and the reflection part, and
/// s1 s2 = |det|.
#[inline(always)]
pub fn singular_values(z: &mut [f64], rows: usize, columns: usize, values: &mut [f64]) {
    let scale = largest(z);
    if scale == 0.0 {
        values[..columns].fill(0.0);
        return;
    }
    z.iter_mut().for_each(|v| *v /= scale);
    if rows == 2 && columns == 2 {
        let turning = norm(z[0] + z[3], z[1] - z[2]);
        let flipping = norm(z[0] - z[3], z[1] + z[2]);
        values[0] = (turning + flipping) / 2.0;
        values[1] = (z[0] * z[3] - z[1] * z[2]).abs() / values[0];
    } else {
        orthogonalize(z, rows, columns, &mut []);
        for j in 0..columns {
            let z = column(z, rows, j);
            values[j] = dot(z, z).sqrt();
        }
    }
    values[..columns].iter_mut().for_each(|v| *v *= scale);
}
