//! The Procrustes measures of several neighborhoods side by side, for plane embeddings of data in two or three
//! dimensions.
//!
//! The mathematics is that of `procrustes`, with each number widened to one for each lane. Neighborhoods whose points
//! or images coincide or lie on a line, or have extreme magnitudes, are measured one by one instead.

use std::array::from_fn;

use super::procrustes::{Measured, PerPoint};
use crate::linalg::lanes::{Lanes, WIDTH, ZERO, dot, fill};
use crate::points::Rows;

/// Dimension of the embedding.
pub const D: usize = 2;

/// Sweeps after which Jacobi's method stops if it has not before.
const SWEEPS: usize = 12;

/// Squared correlation of two directions that is as good as zero: the tangent is off by its root.
const NEGLIGIBLE: f64 = 1e-28;

/// Squared lengths between these are measured here.
const SIZES: std::ops::Range<f64> = 1e-100..1e100;

/// A squared length below this share of the largest is measured alone.
const FLAT: f64 = 1e-4;

/// Neighborhoods of one size side by side, reused by the next.
#[derive(Debug)]
pub struct Group<const Q: usize> {
    x: Vec<[Lanes; Q]>,
    y: Vec<[Lanes; D]>,
    /// Lower triangle of X'X.
    scatter: [[Lanes; Q]; Q],
    /// X'Y, column after column.
    product: [[Lanes; Q]; D],
    y2: Lanes,
}

/// Principal directions, longest first, and the squared extents along them.
struct Tangents<const Q: usize> {
    directions: [[Lanes; Q]; Q],
    extents2: [Lanes; Q],
}

/// Sums over the points after all rotations are known.
#[derive(Default)]
struct Sums {
    rigid: Lanes,
    conformal: Lanes,
    charted: Lanes,
    outside: Lanes,
}

impl<const Q: usize> Group<Q> {
    /// Without points.
    pub fn new() -> Self {
        Group { x: Vec::new(), y: Vec::new(), scatter: [[ZERO; Q]; Q], product: [[ZERO; Q]; D], y2: ZERO }
    }

    #[inline(always)]
    fn load(&mut self, lists: [&[u32]; WIDTH], x: &(impl Rows<Q> + ?Sized), y: &(impl Rows<D> + ?Sized)) {
        load(&mut self.x, lists, x);
        load(&mut self.y, lists, y);
        center(&mut self.x);
        center(&mut self.y);
    }

    #[inline(always)]
    fn multiply(&mut self, x_rows: &(impl Rows<Q> + ?Sized), next: &[u32]) {
        (self.scatter, self.product, self.y2) = ([[ZERO; Q]; Q], [[ZERO; Q]; D], ZERO);
        let mut next = next.chunks(WIDTH);
        for (x, y) in self.x.iter().zip(&self.y) {
            next.next().unwrap_or_default().iter().for_each(|&i| x_rows.soon(i as usize));
            for a in 0..Q {
                (0..=a).for_each(|b| self.scatter[a][b] += x[a] * x[b]);
                (0..D).for_each(|b| self.product[b][a] += x[a] * y[b]);
            }
            self.y2 += dot(y, y);
        }
    }

    /// The measures of the neighborhoods that `lists` holds, all of one size; `None` for those to be measured alone.
    /// The points of `next` are prefetched meanwhile.
    #[inline(always)]
    pub fn measure(
        &mut self,
        lists: [&[u32]; WIDTH],
        next: &[u32],
        x: &(impl Rows<Q> + ?Sized),
        y: &(impl Rows<D> + ?Sized),
    ) -> [Option<Measured>; WIDTH] {
        self.load(lists, x, y);
        self.multiply(x, next);
        let x2 = (1..Q).fold(self.scatter[0][0], |sum, a| sum + self.scatter[a][a]);
        let tangents = principal(self.scatter);
        let charted: [[Lanes; D]; D] =
            fill([ZERO; D], |b| fill(ZERO, |j| dot(&tangents.directions[j], &self.product[b])));
        let (frame, sum, independent) = orthogonal_columns(self.product);
        let (turn, turned) = orthogonal_square(charted);
        let scale = sum / self.y2;
        let sums = self.add_up(&tangents, &frame, scale, &turn, y, next);
        let (largest, smallest) = stretches(charted, &tangents.extents2);
        from_fn(|lane| {
            let of = |lanes: Lanes| lanes.0[lane];
            let usual = SIZES.contains(&of(x2))
                && SIZES.contains(&of(self.y2))
                && of(tangents.extents2[D - 1]) > FLAT * of(tangents.extents2[0])
                && of(independent) > FLAT
                && of(turned) > FLAT * (of(x2) * of(self.y2)).sqrt()
                && of(largest) > 0.0;
            let point = || PerPoint {
                r: of(sums.rigid),
                r_n: of(sums.rigid) / of(x2),
                r_c: of(sums.conformal) / of(x2),
                r_pca: of(sums.charted),
                bound: of(sums.outside) / of(x2),
                stretch_max: of(largest),
                stretch_min: of(smallest),
                area: of(largest) * of(smallest),
            };
            usual.then(|| Measured { point: point(), size: of(self.y2) / of(x2), scale: of(scale) })
        })
    }

    #[inline(always)]
    fn add_up(
        &self,
        tangents: &Tangents<Q>,
        frame: &[[Lanes; Q]; D],
        scale: Lanes,
        turn: &[[Lanes; D]; D],
        y_rows: &(impl Rows<D> + ?Sized),
        next: &[u32],
    ) -> Sums {
        let mut sums = Sums::default();
        let mut next = next.chunks(WIDTH);
        for (x, y) in self.x.iter().zip(&self.y) {
            next.next().unwrap_or_default().iter().for_each(|&i| y_rows.soon(i as usize));
            for a in 0..Q {
                let placed = frame[0][a] * y[0] + frame[1][a] * y[1];
                let (rigid, conformal) = (x[a] - placed, x[a] - scale * placed);
                sums.rigid += rigid * rigid;
                sums.conformal += conformal * conformal;
            }
            for j in 0..D {
                let placed = turn[0][j] * y[0] + turn[1][j] * y[1];
                let rest = dot(&tangents.directions[j], x) - placed;
                sums.charted += rest * rest;
            }
            for j in D..Q {
                let rest = dot(&tangents.directions[j], x);
                sums.outside += rest * rest;
            }
        }
        sums
    }
}

/// Point after point, each from all lists.
#[inline(always)]
fn load<const Q: usize>(out: &mut Vec<[Lanes; Q]>, lists: [&[u32]; WIDTH], points: &(impl Rows<Q> + ?Sized)) {
    out.resize(lists[0].len(), [ZERO; Q]);
    for (p, lanes) in out.iter_mut().enumerate() {
        let rows: [[f64; Q]; WIDTH] = fill([0.0; Q], |lane| points.at(lists[lane][p] as usize));
        *lanes = fill(ZERO, |a| Lanes(fill(0.0, |lane| rows[lane][a])));
    }
}

/// Sums relative to the first point, as `charts::Local` does.
#[inline(always)]
fn center<const Q: usize>(points: &mut [[Lanes; Q]]) {
    let Some(&origin) = points.first() else { return };
    let mut mean = [ZERO; Q];
    for point in points.iter_mut() {
        for a in 0..Q {
            point[a] = point[a] - origin[a];
            mean[a] += point[a];
        }
    }
    let mean = mean.map(|sum| sum / Lanes::splat(points.len() as f64));
    for point in points.iter_mut() {
        (0..Q).for_each(|a| point[a] = point[a] - mean[a]);
    }
}

/// Jacobi's method on all scatter matrices; a lane that is done is rotated by nothing.
#[inline(always)]
fn principal<const Q: usize>(mut s: [[Lanes; Q]; Q]) -> Tangents<Q> {
    let one = Lanes::splat(1.0);
    let mut directions: [[Lanes; Q]; Q] =
        fill([ZERO; Q], |j| fill(ZERO, |a| if a == j { one } else { ZERO }));
    for _ in 0..SWEEPS {
        if (1..Q).all(|j| (0..j).all(|i| negligible(&s, i, j))) {
            break;
        }
        for j in 1..Q {
            for i in 0..j {
                let (c, sn) = rotation(s[i][i], s[j][i], s[j][j]);
                rotate_scatter(&mut s, i, j, c, sn);
                for a in 0..Q {
                    let (x, y) = (directions[i][a], directions[j][a]);
                    directions[i][a] = c * x - sn * y;
                    directions[j][a] = sn * x + c * y;
                }
            }
        }
    }
    let mut extents2: [Lanes; Q] = fill(ZERO, |a| s[a][a]);
    for pass in 1..Q {
        for i in 0..Q - pass {
            put_in_order(&mut directions, &mut extents2, i);
        }
    }
    Tangents { directions, extents2 }
}

/// Returns whether directions i and j are nearly uncorrelated in every lane.
#[inline(always)]
fn negligible<const Q: usize>(s: &[[Lanes; Q]; Q], i: usize, j: usize) -> bool {
    let (off, limit) = (s[j][i] * s[j][i], limit(s[i][i], s[j][j]));
    (0..WIDTH).fold(true, |all, l| all & (off.0[l] <= limit.0[l]))
}

/// The squared off-diagonal entry that is negligible compared with these two of the diagonal.
#[inline(always)]
fn limit(a: Lanes, b: Lanes) -> Lanes {
    Lanes::splat(NEGLIGIBLE) * (a * b).abs()
}

/// The rotation that makes [[a, g], [g, b]] diagonal; none where that is nearly so, so that finished lanes stay.
#[inline(always)]
fn rotation(a: Lanes, g: Lanes, b: Lanes) -> (Lanes, Lanes) {
    let (one, zero) = (Lanes::splat(1.0), ZERO);
    let zeta = (b - a) / (g + g);
    let magnitude = one / (zeta.abs() + zeta.norm(one));
    let t = (g * g).greater(limit(a, b), zero.greater(zeta, -magnitude, magnitude), zero);
    let c = one / t.norm(one);
    (c, c * t)
}

/// S <- J' S J for lower triangles.
#[inline(always)]
fn rotate_scatter<const Q: usize>(s: &mut [[Lanes; Q]; Q], i: usize, j: usize, c: Lanes, sn: Lanes) {
    let (a, g, b) = (s[i][i], s[j][i], s[j][j]);
    let two_g = g + g;
    s[i][i] = c * c * a - c * sn * two_g + sn * sn * b;
    s[j][j] = sn * sn * a + c * sn * two_g + c * c * b;
    s[j][i] = c * sn * (a - b) + (c * c - sn * sn) * g;
    for other in (0..Q).filter(|&other| other != i && other != j) {
        let at = |k: usize| if other > k { (other, k) } else { (k, other) };
        let (x, y) = (s[at(i).0][at(i).1], s[at(j).0][at(j).1]);
        s[at(i).0][at(i).1] = c * x - sn * y;
        s[at(j).0][at(j).1] = sn * x + c * y;
    }
}

/// Exchanges directions i and i + 1 where the second is longer.
#[inline(always)]
fn put_in_order<const Q: usize>(directions: &mut [[Lanes; Q]; Q], extents2: &mut [Lanes; Q], i: usize) {
    let (first, second) = (extents2[i], extents2[i + 1]);
    let swap = |x: Lanes, y: Lanes| (second.greater(first, y, x), second.greater(first, x, y));
    (extents2[i], extents2[i + 1]) = swap(first, second);
    for a in 0..Q {
        (directions[i][a], directions[i + 1][a]) = swap(directions[i][a], directions[i + 1][a]);
    }
}

/// The orthogonal factor of Q x 2 matrices, the sum of their singular values, and which share of
/// the shorter column is independent of the longer: see `linalg::orthogonal_factor`.
#[inline(always)]
fn orthogonal_columns<const Q: usize>(z: [[Lanes; Q]; D]) -> ([[Lanes; Q]; D], Lanes, Lanes) {
    let lengths2 = [dot(&z[0], &z[0]), dot(&z[1], &z[1])];
    let longer = |x: Lanes, y: Lanes| lengths2[1].greater(lengths2[0], y, x);
    let first: [Lanes; Q] = fill(ZERO, |a| longer(z[0][a], z[1][a]));
    let second: [Lanes; Q] = fill(ZERO, |a| longer(z[1][a], z[0][a]));
    let r11 = longer(lengths2[0], lengths2[1]).sqrt();
    let q1 = first.map(|v| v / r11);
    let r12 = dot(&q1, &second);
    let rest = without(&second, &q1);
    let r22 = dot(&rest, &rest).sqrt();
    let again = without(&rest.map(|v| v / r22), &q1);
    let length = dot(&again, &again).sqrt();
    let q2 = again.map(|v| v / length);
    let sum = (r11 + r22).norm(r12);
    let (c, s) = ((r11 + r22) / sum, -r12 / sum);
    let x: [Lanes; Q] = fill(ZERO, |a| c * q1[a] + s * q2[a]);
    let y: [Lanes; Q] = fill(ZERO, |a| c * q2[a] - s * q1[a]);
    let frame = [fill(ZERO, |a| longer(x[a], y[a])), fill(ZERO, |a| longer(y[a], x[a]))];
    (frame, sum, r22 / longer(lengths2[1], lengths2[0]).sqrt())
}

/// The part of `v` not along the unit vector `u`.
#[inline(always)]
fn without<const Q: usize>(v: &[Lanes; Q], u: &[Lanes; Q]) -> [Lanes; Q] {
    let along = dot(u, v);
    fill(ZERO, |a| v[a] - along * u[a])
}

/// The orthogonal factor of 2 x 2 matrices (columns), the better of a rotation and a reflection, and the sum
/// of their singular values.
#[inline(always)]
fn orthogonal_square(z: [[Lanes; D]; D]) -> ([[Lanes; D]; D], Lanes) {
    let (turn_c, turn_s) = (z[0][0] + z[1][1], z[0][1] - z[1][0]);
    let (flip_c, flip_s) = (z[0][0] - z[1][1], z[0][1] + z[1][0]);
    let (turning, flipping) = (turn_c.norm(turn_s), flip_c.norm(flip_s));
    let better = |flip: Lanes, turn: Lanes| flipping.greater(turning, flip, turn);
    let sum = better(flipping, turning);
    let (c, s) = (better(flip_c, turn_c) / sum, better(flip_s, turn_s) / sum);
    ([[c, s], [better(s, -s), better(-c, c)]], sum)
}

/// Singular values of the map from chart to embedding, largest first: see `linalg::singular_values`.
#[inline(always)]
fn stretches<const Q: usize>(charted: [[Lanes; D]; D], extents2: &[Lanes; Q]) -> (Lanes, Lanes) {
    let map: [[Lanes; D]; D] = fill([ZERO; D], |b| fill(ZERO, |j| charted[b][j] / extents2[j]));
    let turning = (map[0][0] + map[1][1]).norm(map[0][1] - map[1][0]);
    let flipping = (map[0][0] - map[1][1]).norm(map[0][1] + map[1][0]);
    let largest = (turning + flipping) / Lanes::splat(2.0);
    let determinant = (map[0][0] * map[1][1] - map[0][1] * map[1][0]).abs();
    (largest, determinant / largest)
}
