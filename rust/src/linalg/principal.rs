//! Principal directions of several small scatter matrices, side by side.

use super::lanes::{Lanes, WIDTH, ZERO, fill};

/// Sweeps after which Jacobi's method stops if it has not before.
const SWEEPS: usize = 12;

/// Squared correlation of two directions that is as good as zero: the tangent is off by its root.
const NEGLIGIBLE: f64 = 1e-28;

/// Principal directions, longest first, and the squared extents along them.
#[derive(Debug)]
pub struct Principal<const Q: usize> {
    pub directions: [[Lanes; Q]; Q],
    pub extents2: [Lanes; Q],
}

/// Jacobi's method on all scatter matrices; a lane that is done is rotated by nothing.
#[inline(always)]
pub fn principal<const Q: usize>(mut s: [[Lanes; Q]; Q]) -> Principal<Q> {
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
    Principal { directions, extents2 }
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
