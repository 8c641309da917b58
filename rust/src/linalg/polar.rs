//! Orthogonal factors of one or several matrices, where only the sum of the singular values is needed.

use pulp::{Arch, Simd, WithSimd};

use super::columns::dot;
use super::{first, largest, orthogonal_factor};

/// Up to this size there are closed forms.
const SMALL: usize = 2;

/// Above this size, factors come from rotations.
const LARGEST: usize = 64;

/// Below this size, the factor of a single matrix comes from rotations.
const ALONE: usize = 10;

/// Maximum number of Newton steps. The iteration needs fewer than ten.
const STEPS: usize = 24;

/// The iteration ends with a step that moves entries by less than this: the next would move them by its square.
const NEAR: f64 = 1e-8;

/// A matrix counts as singular if a pivot is below this share of its largest entry.
const SINGULAR: f64 = 1e-12;

/// Columns that have lost this share of their length to those before may be no direction of their own.
const DEPENDENT: f64 = 1e-12;

/// Rows are exchanged only for a pivot this many times larger than the diagonal one.
const PREFERRED: f64 = 4.0;

/// Writes to `a` the q x d matrix with orthonormal columns that maximizes trace(A'Z), and returns that maximum, the sum
/// of the singular values of Z. Destroys `z`. Requires d <= q.
///
/// Newton's iteration, X <- (c X + X^-T / c) / 2 with c balancing the two terms (Higham 1986), applied to the
/// triangular factor if Z is tall. If the rank of Z is below d, A comes from the singular vectors. Cost: O(q d^2).
#[inline(always)]
pub fn polar(z: &mut [f64], q: usize, d: usize, a: &mut [f64], scratch: &mut Vec<f64>) -> f64 {
    let mut sum = 0.0;
    polars(z, q, d, a, std::slice::from_mut(&mut sum), scratch);
    sum
}

/// [`polar`] for several matrices, one after the other in `z` and `a`; `sums` has one entry for each.
///
/// A vector register full of matrices takes hardly longer than one. With two or more, the result of one matrix does not
/// depend on the others.
#[inline(always)]
pub fn polars(z: &mut [f64], q: usize, d: usize, a: &mut [f64], sums: &mut [f64], scratch: &mut Vec<f64>) {
    sums.fill(f64::NAN);
    if d > SMALL && d <= LARGEST && (d >= ALONE || sums.len() > 1) {
        Arch::new().dispatch(Newton { z, q, d, a, sums, scratch });
    }
    for ((z, a), sum) in z.chunks_exact_mut(q * d).zip(a.chunks_exact_mut(q * d)).zip(sums) {
        if sum.is_nan() {
            *sum = orthogonal_factor(z, q, d, a, scratch).sum;
        }
    }
}

/// Writes orthogonal factors, and sums of singular values of those that were found.
struct Newton<'a> {
    z: &'a [f64],
    q: usize,
    d: usize,
    a: &'a mut [f64],
    sums: &'a mut [f64],
    scratch: &'a mut Vec<f64>,
}

impl WithSimd for Newton<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Newton { z, q, d, a, sums, scratch } = self;
        let (size, square, many) = (q * d, d * d, S::F64_LANES);
        let scratch = first(scratch, (2 * size + 2 * square + LARGEST) * many);
        let each = z.chunks(many * size).zip(a.chunks_mut(many * size)).zip(sums.chunks_mut(many));
        for ((z, a), sums) in each {
            lay_side_by_side(z, q, many, &mut scratch[..size * many]);
            let (x, rest) = S::as_mut_simd_f64s(scratch).0.split_at_mut(size);
            let (exchanged, rest) = rest.split_at_mut(LARGEST);
            let (inverse, rest) = rest.split_at_mut(square);
            let mut batch =
                Batch { simd, d, found: simd.equal_f64s(simd.splat_f64s(0.0), simd.splat_f64s(0.0)) };
            if q == d {
                batch.iterate(x, inverse, exchanged);
            } else {
                let (r, columns) = rest.split_at_mut(square);
                batch.orthonormalize(x, q, r);
                batch.iterate(r, inverse, exchanged);
                batch.turn(x, q, r, &mut columns[..size]);
            }
            exchanged[0] = simd.select_f64s(batch.found, simd.splat_f64s(1.0), simd.splat_f64s(0.0));
            let (x, rest) = scratch.split_at(size * many);
            for (l, (a, sum)) in a.chunks_exact_mut(size).zip(sums).enumerate() {
                let z = &z[l * size..][..size];
                if rest[l] > 0.0 && largest(z) > 0.0 {
                    a.iter_mut().zip(x.chunks_exact(many)).for_each(|(a, x)| *a = x[l]);
                    *sum = dot(a, z);
                }
            }
        }
    }
}

/// Lays matrices side by side, entry by entry, each divided by its largest; missing or zero matrices become the
/// identity.
#[inline(always)]
fn lay_side_by_side(z: &[f64], q: usize, many: usize, x: &mut [f64]) {
    let size = x.len() / many;
    for l in 0..many {
        let z = z.get(l * size..(l + 1) * size).unwrap_or_default();
        let scale = largest(z);
        for (k, x) in x.chunks_exact_mut(many).enumerate() {
            x[l] = if scale > 0.0 { z[k] / scale } else { f64::from(u8::from(k % (q + 1) == 0)) };
        }
    }
}

/// Several matrices in lanes, with d columns; every vector has one entry of each matrix.
struct Batch<S: Simd> {
    simd: S,
    d: usize,
    /// Matrices whose factor has been found so far.
    found: S::m64s,
}

impl<S: Simd> Batch<S> {
    /// Z = Q R by Gram-Schmidt, twice: Z becomes Q, unless its columns are dependent.
    #[inline(always)]
    fn orthonormalize(&mut self, z: &mut [S::f64s], q: usize, r: &mut [S::f64s]) {
        let (simd, d) = (self.simd, self.d);
        r.fill(simd.splat_f64s(0.0));
        for j in 0..d {
            let (known, rest) = z.split_at_mut(j * q);
            let (own, r) = (&mut rest[..q], &mut r[j * d..][..d]);
            let before = self.product(own, own);
            for (c, column) in known.chunks_exact(q).enumerate().chain(known.chunks_exact(q).enumerate()) {
                let along = self.product(column, own);
                for (v, u) in own.iter_mut().zip(column) {
                    *v = simd.sub_f64s(*v, simd.mul_f64s(along, *u));
                }
                r[c] = simd.add_f64s(r[c], along);
            }
            let left = self.product(own, own);
            let least = simd.mul_f64s(simd.splat_f64s(DEPENDENT * DEPENDENT), before);
            self.found = simd.and_m64s(self.found, simd.greater_than_f64s(left, least));
            r[j] = simd.sqrt_f64s(left);
            own.iter_mut().for_each(|v| *v = simd.div_f64s(*v, r[j]));
        }
    }

    /// A = Q polar(R).
    #[inline(always)]
    fn turn(&self, x: &mut [S::f64s], q: usize, r: &[S::f64s], columns: &mut [S::f64s]) {
        let simd = self.simd;
        columns.copy_from_slice(x);
        for (to, turn) in x.chunks_exact_mut(q).zip(r.chunks_exact(self.d)) {
            to.fill(simd.splat_f64s(0.0));
            for (column, by) in columns.chunks_exact(q).zip(turn) {
                for (to, v) in to.iter_mut().zip(column) {
                    *to = simd.add_f64s(*to, simd.mul_f64s(*by, *v));
                }
            }
        }
    }

    /// Replaces square matrices by their orthogonal factors, if they have an inverse.
    #[inline(always)]
    fn iterate(&mut self, x: &mut [S::f64s], inverse: &mut [S::f64s], exchanged: &mut [S::f64s]) {
        let (simd, d) = (self.simd, self.d);
        let mut moving = self.found;
        for _ in 0..STEPS {
            inverse.copy_from_slice(x);
            let singular = simd.and_m64s(self.invert(inverse, exchanged), moving);
            self.found = simd.and_m64s(self.found, simd.not_m64s(singular));
            moving = simd.and_m64s(self.found, moving);
            let c2 = simd.sqrt_f64s(simd.div_f64s(self.product(inverse, inverse), self.product(x, x)));
            let c = simd.sqrt_f64s(c2);
            let (half, other) =
                (simd.mul_f64s(simd.splat_f64s(0.5), c), simd.div_f64s(simd.splat_f64s(0.5), c));
            let mut moved = simd.splat_f64s(0.0);
            for (j, row) in x.chunks_exact_mut(d).enumerate() {
                for (now, inverse) in row.iter_mut().zip(inverse.chunks_exact(d)) {
                    let next = simd.add_f64s(simd.mul_f64s(half, *now), simd.mul_f64s(other, inverse[j]));
                    moved = simd.max_f64s(moved, simd.abs_f64s(simd.sub_f64s(next, *now)));
                    *now = simd.select_f64s(moving, next, *now); // the bits do not depend on the others
                }
            }
            moving = simd.and_m64s(moving, simd.greater_than_f64s(moved, simd.splat_f64s(NEAR)));
            if !self.any(moving) {
                return;
            }
        }
        self.found = simd.and_m64s(self.found, simd.not_m64s(moving));
    }

    /// Replaces matrices by their inverses, by eliminations with exchanged rows; returns which have none. A matrix and
    /// its transpose have inverses that are transposes: it does not matter that this reads rows where columns lie.
    #[inline(always)]
    fn invert(&self, m: &mut [S::f64s], exchanged: &mut [S::f64s]) -> S::m64s {
        let (simd, d) = (self.simd, self.d);
        let size = |v: S::f64s| simd.abs_f64s(v);
        let most = m.iter().fold(simd.splat_f64s(0.0), |most, &v| simd.max_f64s(most, size(v)));
        let negligible = simd.mul_f64s(simd.splat_f64s(SINGULAR), most);
        let mut smallest = most;
        for p in 0..d {
            exchanged[p] = self.pivots(m, p);
            let (rows, below) = m[p * d..].split_at_mut(d);
            for (other, row) in (p + 1..d).zip(below.chunks_exact_mut(d)) {
                let chosen = simd.equal_f64s(exchanged[p], simd.splat_f64s(other as f64));
                if self.any(chosen) {
                    rows.iter_mut().zip(row).for_each(|(a, b)| self.exchange(chosen, a, b));
                }
            }
            smallest = simd.min_f64s(smallest, size(m[p * d + p]));
            self.eliminate(m, p);
        }
        for p in (0..d).rev() {
            for other in p + 1..d {
                let chosen = simd.equal_f64s(exchanged[p], simd.splat_f64s(other as f64));
                if self.any(chosen) {
                    for row in m.chunks_exact_mut(d) {
                        let (left, right) = row.split_at_mut(other);
                        self.exchange(chosen, &mut left[p], &mut right[0]);
                    }
                }
            }
        }
        simd.not_m64s(simd.greater_than_f64s(smallest, negligible))
    }

    /// The row that each matrix has its p-th pivot in.
    #[inline(always)]
    fn pivots(&self, m: &[S::f64s], p: usize) -> S::f64s {
        let (simd, d) = (self.simd, self.d);
        let mut row = simd.splat_f64s(p as f64);
        let mut most = simd.mul_f64s(simd.splat_f64s(PREFERRED), simd.abs_f64s(m[p * d + p]));
        for (other, values) in m.chunks_exact(d).enumerate().skip(p + 1) {
            let size = simd.abs_f64s(values[p]);
            let larger = simd.greater_than_f64s(size, most);
            row = simd.select_f64s(larger, simd.splat_f64s(other as f64), row);
            most = simd.select_f64s(larger, size, most);
        }
        row
    }

    /// One step of Gauss and Jordan, with the pivot at (p, p).
    #[inline(always)]
    fn eliminate(&self, m: &mut [S::f64s], p: usize) {
        let (simd, d) = (self.simd, self.d);
        let (above, rest) = m.split_at_mut(p * d);
        let (row, below) = rest.split_at_mut(d);
        let by = simd.div_f64s(simd.splat_f64s(1.0), row[p]);
        row[p] = simd.splat_f64s(1.0);
        row.iter_mut().for_each(|v| *v = simd.mul_f64s(*v, by));
        for values in above.chunks_exact_mut(d).chain(below.chunks_exact_mut(d)) {
            let by = std::mem::replace(&mut values[p], simd.splat_f64s(0.0));
            for (v, row) in values.iter_mut().zip(&*row) {
                *v = simd.sub_f64s(*v, simd.mul_f64s(by, *row));
            }
        }
    }

    /// Exchanges an entry with another in the matrices `chosen`.
    #[inline(always)]
    fn exchange(&self, chosen: S::m64s, a: &mut S::f64s, b: &mut S::f64s) {
        let (one, two) = (*a, *b);
        *a = self.simd.select_f64s(chosen, two, one);
        *b = self.simd.select_f64s(chosen, one, two);
    }

    #[inline(always)]
    fn any(&self, mask: S::m64s) -> bool {
        self.simd.first_true_m64s(mask) < S::F64_LANES
    }

    /// The sums of products of entries; four chains of sums run independently.
    #[inline(always)]
    fn product(&self, a: &[S::f64s], b: &[S::f64s]) -> S::f64s {
        let simd = self.simd;
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
        let mut sums = [simd.splat_f64s(0.0); 4];
        for (a, b) in a.iter().zip(b) {
            (0..4).for_each(|c| sums[c] = simd.add_f64s(sums[c], simd.mul_f64s(a[c], b[c])));
        }
        for (a, b) in a_rest.iter().zip(b_rest) {
            sums[0] = simd.add_f64s(sums[0], simd.mul_f64s(*a, *b));
        }
        simd.add_f64s(simd.add_f64s(sums[0], sums[1]), simd.add_f64s(sums[2], sums[3]))
    }
}
