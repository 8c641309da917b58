//! Orthogonal factors of several matrices side by side.

use super::lanes::{Lanes, ZERO, dot, fill};

/// The orthogonal factor of Q x 2 matrices, the sum of their singular values, and which share of
/// the shorter column is independent of the longer: see [`super::orthogonal_factor`].
#[inline(always)]
pub fn orthogonal_columns<const Q: usize>(z: [[Lanes; Q]; 2]) -> ([[Lanes; Q]; 2], Lanes, Lanes) {
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
