//! Layout of components side by side: no edge determines their places relative to each other.
//!
//! Cost: O(n d^2), and sorting the components.

use super::{check_len, members};
use crate::error::Result;
use crate::linalg::symmetric_eigen;

const GAP: f64 = 0.05; // The gap between components, as a share of the largest one's longest side.

/// Centers every component, rotates it to its principal axes, longest first, and packs several in rows, largest first.
/// `embedding` holds `d` coordinates per point, `labels` the component of each point.
pub fn lay_out(embedding: &mut [f64], d: usize, labels: &[u32]) -> Result<()> {
    check_len("the embedding", embedding.len(), "the labels, times its dimension,", labels.len() * d)?;
    let components = members(labels).into_iter().filter(|members| !members.is_empty() && d > 0);
    let pieces: Vec<Piece> = components.map(|members| Piece::straighten(embedding, d, members)).collect();
    if pieces.len() > 1 {
        pack(embedding, d, &pieces);
    }
    Ok(())
}

/// A component about its mean, along its axes.
struct Piece {
    members: Vec<u32>,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl Piece {
    fn straighten(embedding: &mut [f64], d: usize, members: Vec<u32>) -> Piece {
        let rows = || members.iter().map(|&p| p as usize * d);
        let count = members.len() as f64;
        let mut mean = vec![0.0; d];
        rows().for_each(|at| (0..d).for_each(|b| mean[b] += embedding[at + b]));
        mean.iter_mut().for_each(|m| *m /= count);
        let (mut axes, mut reach) = (vec![0.0; d * d], 0.0f64);
        for at in rows() {
            (0..d).for_each(|b| embedding[at + b] -= mean[b]);
            reach = embedding[at..at + d].iter().fold(reach, |reach, v| reach.max(v.abs()));
        }
        let unit = if reach > 0.0 { reach } else { 1.0 }; // squares of extreme lengths overflow or vanish
        for at in rows() {
            let row = |b: usize| embedding[at + b] / unit;
            (0..d * d).for_each(|ab| axes[ab] += row(ab / d) * row(ab % d));
        }
        turn_to(&mut axes, d);
        let (mut low, mut high) = (vec![0.0f64; d], vec![0.0f64; d]);
        let mut row = vec![0.0; d];
        for at in rows() {
            row.copy_from_slice(&embedding[at..at + d]);
            for j in 0..d {
                let value: f64 = (0..d).map(|b| axes[j * d + b] * row[b]).sum();
                embedding[at + j] = value;
                (low[j], high[j]) = (low[j].min(value), high[j].max(value));
            }
        }
        Piece { members, low, high }
    }

    fn side(&self, b: usize) -> f64 {
        self.high[b] - self.low[b]
    }
}

/// Principal directions of a scatter matrix, one a column, each with its largest entry positive.
fn turn_to(scatter: &mut [f64], d: usize) {
    symmetric_eigen(scatter, d, &mut vec![0.0; d], &mut Vec::new());
    for axis in scatter.chunks_exact_mut(d) {
        let peak = axis.iter().fold(0.0f64, |peak, &v| if v.abs() > peak.abs() { v } else { peak });
        if peak < 0.0 {
            axis.iter_mut().for_each(|v| *v = -*v);
        }
    }
}

/// Rows of about the width that makes the whole a square; on a line, all in one row.
fn pack(embedding: &mut [f64], d: usize, pieces: &[Piece]) {
    let mut order: Vec<&Piece> = pieces.iter().collect();
    order.sort_by(|a, b| b.members.len().cmp(&a.members.len()).then(a.members[0].cmp(&b.members[0])));
    let longest = order.iter().flat_map(|p| (0..d).map(|b| p.side(b))).fold(0.0, f64::max);
    let gap = if longest > 0.0 { GAP * longest } else { 1.0 };
    let area: f64 =
        order.iter().map(|p| (p.side(0) + gap) * (p.high.get(1).map_or(0.0, |_| p.side(1)) + gap)).sum();
    let widest = order.iter().map(|p| p.side(0)).fold(0.0, f64::max);
    let width = if d == 1 { f64::INFINITY } else { area.sqrt().max(widest) };
    let (mut x, mut y, mut height) = (0.0, 0.0, 0.0f64);
    for piece in order {
        if x > 0.0 && x + piece.side(0) > width {
            (x, y, height) = (0.0, y + height + gap, 0.0);
        }
        for &p in &piece.members {
            let row = &mut embedding[p as usize * d..][..d];
            row[0] += x - piece.low[0];
            if d > 1 {
                row[1] += y - piece.low[1];
            }
        }
        x += piece.side(0) + gap;
        height = height.max(if d > 1 { piece.side(1) } else { 0.0 });
    }
}
