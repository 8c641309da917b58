//! The Procrustes measures of several neighborhoods side by side, for plane embeddings of data in two or three
//! dimensions.
//!
//! The mathematics is that of `procrustes`, with each number widened to one for each lane. Neighborhoods whose points
//! or images coincide or lie on a line, or have extreme magnitudes, are measured one by one instead.

use std::array::from_fn;

use super::procrustes::{Measured, PerPoint};
use crate::charts::Abreast;
use crate::linalg::factors::orthogonal_columns;
use crate::linalg::lanes::{FLAT, Lanes, SIZES, WIDTH, ZERO, dot, fill};
use crate::linalg::principal::{Principal, principal};
use crate::points::Rows;

/// Dimension of the embedding.
pub const D: usize = 2;

/// Neighborhoods of one size side by side, reused by the next.
#[derive(Debug)]
pub struct Group<const Q: usize> {
    x: Abreast<Q>,
    y: Abreast<D>,
    /// Lower triangle of X'X.
    scatter: [[Lanes; Q]; Q],
    /// X'Y, column after column.
    product: [[Lanes; Q]; D],
    y2: Lanes,
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
        Group {
            x: Abreast::default(),
            y: Abreast::default(),
            scatter: [[ZERO; Q]; Q],
            product: [[ZERO; Q]; D],
            y2: ZERO,
        }
    }

    #[inline(always)]
    fn load(&mut self, lists: [&[u32]; WIDTH], x: &(impl Rows<Q> + ?Sized), y: &(impl Rows<D> + ?Sized)) {
        self.x.load(lists, x);
        self.y.load(lists, y);
    }

    #[inline(always)]
    fn multiply(&mut self, x_rows: &(impl Rows<Q> + ?Sized), next: &[u32]) {
        (self.scatter, self.product, self.y2) = ([[ZERO; Q]; Q], [[ZERO; Q]; D], ZERO);
        let mut next = next.chunks(WIDTH);
        for (x, y) in self.x.points.iter().zip(&self.y.points) {
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
        tangents: &Principal<Q>,
        frame: &[[Lanes; Q]; D],
        scale: Lanes,
        turn: &[[Lanes; D]; D],
        y_rows: &(impl Rows<D> + ?Sized),
        next: &[u32],
    ) -> Sums {
        let mut sums = Sums::default();
        let mut next = next.chunks(WIDTH);
        for (x, y) in self.x.points.iter().zip(&self.y.points) {
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
