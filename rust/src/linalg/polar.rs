//! The orthogonal factor of a matrix, when its singular values are not wanted one by one.

use super::columns::dot;
use super::{first, largest, orthogonal_factor};

/// Up to this size closed forms or few rotations are faster.
const SMALL: usize = 3;

/// Larger ones are left to rotations, too.
const LARGEST: usize = 64;

/// Steps after which the iteration is given up; it needs fewer than ten.
const STEPS: usize = 24;

/// The last step moves entries by less than this: the next one would move them by the square.
const NEAR: f64 = 1e-8;

/// Pivots below this share of the largest entry tell of a matrix that has no inverse to speak of.
const SINGULAR: f64 = 1e-12;

/// Columns that have lost this share of their length to those before may be no direction of their own.
const DEPENDENT: f64 = 1e-12;

/// Writes to `a` the q x d matrix with orthonormal columns that maximises trace(A'Z), and returns that maximum, the sum
/// of the singular values of Z. `z` is destroyed; d <= q.
///
/// Newton's iteration, X <- (c X + X^-T / c) / 2 with c such that both are of one size (Higham 1986), for the triangle
/// of Z if it is tall. Where Z has lower rank than d, by its singular values. Cost: O(q d^2).
///
/// ```
/// use unbend::linalg::polar;
/// let z = [0.0, 2.0, 0.0, 0.0, -3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 5.0];
/// let (mut a, mut scratch) = ([0.0; 16], vec![]);
/// let sum = polar(&mut z.clone(), 4, 4, &mut a, &mut scratch);
/// assert!((sum - 11.0).abs() < 1e-14);
/// assert!((a[1] - 1.0).abs() < 1e-15 && (a[4] + 1.0).abs() < 1e-15);
/// ```
#[inline(always)]
pub fn polar(z: &mut [f64], q: usize, d: usize, a: &mut [f64], scratch: &mut Vec<f64>) -> f64 {
    let scale = largest(z);
    if d > SMALL && d <= LARGEST && scale > 0.0 {
        a.iter_mut().zip(&*z).for_each(|(a, z)| *a = z / scale);
        let done = if q == d { iterate(a, d, first(scratch, d * d)) } else { tall(a, q, d, scratch) };
        if done {
            return dot(a, z);
        }
    }
    orthogonal_factor(z, q, d, a, scratch).sum
}

/// Z = Q R has the factor Q polar(R).
#[inline(always)]
fn tall(z: &mut [f64], q: usize, d: usize, scratch: &mut Vec<f64>) -> bool {
    let (r, rest) = first(scratch, 2 * d * d + q * d).split_at_mut(d * d);
    let (inverse, columns) = rest.split_at_mut(d * d);
    if !orthonormalize(z, q, d, r) || !iterate(r, d, inverse) {
        return false;
    }
    columns.copy_from_slice(z);
    z.fill(0.0);
    for (to, turn) in z.chunks_exact_mut(q).zip(r.chunks_exact(d)) {
        for (column, by) in columns.chunks_exact(q).zip(turn) {
            to.iter_mut().zip(column).for_each(|(to, v)| *to += by * v);
        }
    }
    true
}

/// Z = Q R by Gram-Schmidt, twice: Z becomes Q; returns whether its columns are independent.
#[inline(always)]
fn orthonormalize(z: &mut [f64], q: usize, d: usize, r: &mut [f64]) -> bool {
    r.fill(0.0);
    for j in 0..d {
        let (known, rest) = z.split_at_mut(j * q);
        let (own, r) = (&mut rest[..q], &mut r[j * d..][..d]);
        let before = dot(own, own);
        for (c, column) in known.chunks_exact(q).enumerate().chain(known.chunks_exact(q).enumerate()) {
            let along = dot(column, own);
            own.iter_mut().zip(column).for_each(|(v, u)| *v -= along * u);
            r[c] += along;
        }
        r[j] = dot(own, own).sqrt();
        if r[j] <= DEPENDENT * before.sqrt() {
            return false;
        }
        own.iter_mut().for_each(|v| *v /= r[j]);
    }
    true
}

/// Replaces a square matrix by its orthogonal factor; returns whether that was found.
#[inline(always)]
fn iterate(x: &mut [f64], d: usize, inverse: &mut [f64]) -> bool {
    for _ in 0..STEPS {
        inverse.copy_from_slice(x);
        if !invert(inverse, d) {
            return false;
        }
        let c = (dot(inverse, inverse) / dot(x, x)).sqrt().sqrt();
        let (half, other) = (c / 2.0, 0.5 / c);
        let mut moved = 0.0f64;
        for j in 0..d {
            for i in 0..d {
                let next = half * x[j * d + i] + other * inverse[i * d + j];
                moved = moved.max((next - x[j * d + i]).abs());
                x[j * d + i] = next;
            }
        }
        if moved < NEAR {
            return true;
        }
    }
    false
}

/// Replaces a matrix by its inverse, by eliminations with exchanged rows; returns whether there is one. A matrix and
/// its transpose have inverses that are transposes: it does not matter that this reads rows where columns lie.
#[inline(always)]
fn invert(m: &mut [f64], d: usize) -> bool {
    let negligible = SINGULAR * largest(m);
    let (mut exchanged, mut row) = ([0; LARGEST], [0.0; LARGEST]);
    let row = &mut row[..d];
    for p in 0..d {
        let size = |row: usize| m[row * d + p].abs();
        let pivot = (p + 1..d).fold(p, |best, row| if size(row) > size(best) { row } else { best });
        if size(pivot) <= negligible {
            return false;
        }
        exchanged[p] = pivot;
        (0..d).for_each(|column| m.swap(pivot * d + column, p * d + column));
        let by = 1.0 / m[p * d + p];
        m[p * d + p] = 1.0;
        m[p * d..][..d].iter_mut().zip(&mut *row).for_each(|(v, row)| {
            *v *= by;
            *row = *v;
        });
        for (_, values) in m.chunks_exact_mut(d).enumerate().filter(|&(other, _)| other != p) {
            let by = std::mem::take(&mut values[p]);
            values.iter_mut().zip(&*row).for_each(|(v, row)| *v -= by * row);
        }
    }
    for p in (0..d).rev() {
        m.chunks_exact_mut(d).for_each(|row| row.swap(p, exchanged[p]));
    }
    true
}
