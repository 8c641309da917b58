//! The orthogonal factor of a matrix, which solves a Procrustes problem.

use super::singular::orthogonalize;
use super::{column, dot, first, largest, norm};

/// A column that keeps at most this share of its length outside the span of the others adds no direction.
const NEGLIGIBLE: f64 = 1e-15;

/// The sum and the minimum of the singular values of a matrix.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Singular {
    /// Their sum.
    pub sum: f64,
    /// The smallest one.
    pub least: f64,
}

/// Writes to `a` the q x d matrix with orthonormal columns that maximizes trace(A'Z), and returns the singular values
/// of Z, whose sum is the maximum. Destroys `z`. Requires d <= q.
///
/// A = U V' for Z = U L V'. If the rank of Z is below d, A is one of several maximizers. One and two columns have
/// closed forms. Cost: O(q d^2).
#[inline(always)]
pub fn orthogonal_factor(
    z: &mut [f64],
    q: usize,
    d: usize,
    a: &mut [f64],
    scratch: &mut Vec<f64>,
) -> Singular {
    let scale = largest(z);
    if scale == 0.0 {
        a.iter_mut().enumerate().for_each(|(i, v)| *v = f64::from(i % (q + 1) == 0));
        return Singular::default();
    }
    z.iter_mut().for_each(|v| *v /= scale);
    let values = match d {
        1 => {
            let norm = one_column(z, a);
            Singular { sum: norm, least: norm }
        }
        2 => two_columns(z, q, a),
        _ => many_columns(z, q, d, a, scratch),
    };
    Singular { sum: scale * values.sum, least: scale * values.least }
}

#[inline(always)]
fn one_column(z: &[f64], a: &mut [f64]) -> f64 {
    let norm = dot(z, z).sqrt();
    a.iter_mut().zip(z).for_each(|(a, z)| *a = z / norm);
    norm
}

/// Z = Q R with R = [[r11, r12], [0, r22]], both diagonal entries at least 0: the nearest orthogonal
/// matrix to R is the rotation by the angle of (r11 + r22, -r12).
#[inline(always)]
fn two_columns(z: &mut [f64], q: usize, a: &mut [f64]) -> Singular {
    // The longer column first: then it is never the zero one.
    let (first, second) = z.split_at(q);
    let swapped = dot(second, second) > dot(first, first);
    let (first, second) = if swapped { (second, first) } else { (first, second) };
    let (q1, q2) = a.split_at_mut(q);
    let r11 = one_column(first, q1);
    let r12 = dot(q1, second);
    q2.copy_from_slice(second);
    remove(q1, q2);
    let r22 = dot(q2, q2).sqrt();
    if r22 > NEGLIGIBLE * dot(second, second).sqrt() {
        q2.iter_mut().for_each(|v| *v /= r22);
        remove(q1, q2);
        normalize(q2);
    } else {
        complete(a, q, 1);
    }
    let sum = norm(r11 + r22, r12);
    let (c, s) = ((r11 + r22) / sum, -r12 / sum);
    let (q1, q2) = a.split_at_mut(q);
    for (x, y) in q1.iter_mut().zip(q2.iter_mut()) {
        let (turned_x, turned_y) = (c * *x + s * *y, c * *y - s * *x);
        (*x, *y) = if swapped { (turned_y, turned_x) } else { (turned_x, turned_y) };
    }
    // Their product is that of R's diagonal.
    let largest = (sum + (sum * sum - 4.0 * r11 * r22).max(0.0).sqrt()) / 2.0;
    Singular { sum, least: r11 * r22 / largest }
}

fn many_columns(z: &mut [f64], q: usize, d: usize, a: &mut [f64], scratch: &mut Vec<f64>) -> Singular {
    let (v, u) = first(scratch, d * d + q * d).split_at_mut(d * d);
    v.fill(0.0);
    (0..d).for_each(|j| v[j * (d + 1)] = 1.0);
    orthogonalize(z, q, d, v);
    let lengths = |j: usize| dot(column(z, q, j), column(z, q, j)).sqrt();
    let longest = (0..d).map(lengths).fold(0.0, f64::max);
    // Directions that exist first, so that the others can be chosen orthogonal to all of them; the
    // columns of v move with them.
    let mut rank = 0;
    for j in 0..d {
        let length = lengths(j);
        if length > NEGLIGIBLE * longest {
            (0..q).for_each(|row| u[rank * q + row] = z[j * q + row] / length);
            (0..d).for_each(|row| v.swap(rank * d + row, j * d + row));
            rank += 1;
        }
    }
    (rank..d).for_each(|j| complete(u, q, j));
    a.fill(0.0);
    for j in 0..d {
        for b in 0..d {
            let weight = v[j * d + b];
            for row in 0..q {
                a[b * q + row] += u[j * q + row] * weight;
            }
        }
    }
    let least = (0..d).map(lengths).fold(f64::INFINITY, f64::min);
    Singular { sum: (0..d).map(lengths).sum(), least }
}

/// Makes column `j` of a matrix with `q` rows a unit vector orthogonal to the orthonormal columns before it.
pub fn complete(a: &mut [f64], q: usize, j: usize) {
    let (known, rest) = a.split_at_mut(j * q);
    let candidate = &mut rest[..q];
    // The axis that the known columns cover least.
    let covered = |axis: usize| (0..j).map(|c| known[c * q + axis].powi(2)).sum::<f64>();
    let axis = (1..q).fold(0, |best, axis| if covered(axis) < covered(best) { axis } else { best });
    candidate.fill(0.0);
    candidate[axis] = 1.0;
    for _ in 0..2 {
        (0..j).for_each(|c| remove(column(known, q, c), candidate));
        normalize(candidate);
    }
}

/// Removes from `v` its part along the unit vector `direction`.
#[inline(always)]
pub fn remove(direction: &[f64], v: &mut [f64]) {
    let along = dot(direction, v);
    v.iter_mut().zip(direction).for_each(|(v, u)| *v -= along * u);
}

#[inline(always)]
fn normalize(v: &mut [f64]) {
    let norm = dot(v, v).sqrt();
    v.iter_mut().for_each(|v| *v /= norm);
}
