//! All squared distances between a few points, and which of them are small enough to matter.
//!
//! Differences are squared and summed in one order, so a distance has the same bits in every tile.

use pulp::{Arch, Simd, WithSimd};

use super::rows::Rows;

/// Points side by side in one vector.
const LANES: usize = 16;

/// Points that are probably nearer to each other than to most, if points are in such an order.
pub const NEAR: usize = 64;

/// Points in as many vectors of sums at once.
const SIDE: usize = 8;

/// Some points, sixteen side by side, dimension after dimension.
#[derive(Default)]
pub struct Tile {
    dim: usize,
    len: usize,
    values: Vec<f32>,
    /// Limit of each point; farther points are ignored.
    limits: Vec<f32>,
    near: Vec<(u32, u32, f32)>,
    row: Vec<f32>,
}

impl Tile {
    /// Takes points and the limit of each.
    pub fn load(&mut self, rows: &Rows, members: impl ExactSizeIterator<Item = (usize, f32)>) {
        let (dim, len) = (rows.dim, members.len());
        let room = len.next_multiple_of(LANES);
        (self.dim, self.len) = (dim, len);
        self.values.resize(room * dim, 0.0);
        self.limits.clear();
        self.limits.resize(room, f32::NEG_INFINITY);
        self.row.resize(dim, 0.0);
        Arch::new().dispatch(
            #[inline(always)]
            || self.fill(rows, members),
        );
    }

    /// Calls `meet(i, j, squared distance, limits)` for each of the first `first` points and each after it that is
    /// within the limit of either, or was when its row was begun.
    pub fn join(&mut self, first: usize, meet: impl FnMut(usize, usize, f32, &mut [f32])) {
        Arch::new().dispatch(Join { tile: self, first, meet });
    }
}

struct Join<'a, F> {
    tile: &'a mut Tile,
    first: usize,
    meet: F,
}

impl<F: FnMut(usize, usize, f32, &mut [f32])> WithSimd for Join<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Join { tile, first, mut meet } = self;
        let mut d2 = [[0.0; LANES]; SIDE];
        let all = tile.len.div_ceil(LANES);
        // near ones first: once limits are low, few others are within them
        for around in [true, false] {
            for start in (0..first).step_by(SIDE) {
                let end = ((start / NEAR + 1) * NEAR / LANES).min(all);
                for group in if around { start / LANES..end } else { end..all } {
                    distances(simd, tile, start, group, &mut d2);
                    for s in 0..SIDE.min(first - start) {
                        tile.note(simd, start + s, group, &d2[s]);
                    }
                }
                let Tile { near, limits, .. } = &mut *tile;
                near.drain(..).for_each(|(i, j, d2)| meet(i as usize, j as usize, d2, limits));
            }
        }
    }
}

impl Tile {
    #[inline(always)]
    fn fill(&mut self, rows: &Rows, members: impl Iterator<Item = (usize, f32)>) {
        let Tile { dim, values, limits, row, .. } = self;
        for (at, (point, limit)) in members.enumerate() {
            rows.read(point, row);
            let group = &mut values[at / LANES * LANES * *dim..][..LANES * *dim];
            group.chunks_exact_mut(LANES).zip(&*row).for_each(|(lanes, &v)| lanes[at % LANES] = v);
            limits[at] = limit;
        }
    }

    /// Keeps the points of a group that are within a limit of point `i` and come after it.
    #[inline(always)]
    fn note<S: Simd>(&mut self, simd: S, i: usize, group: usize, d2: &[f32; LANES]) {
        let limit = self.limits[i];
        let Some(limits) = self.limits[group * LANES..].first_chunk::<LANES>() else { return };
        if !any_within(simd, d2, limits, limit) {
            return;
        }
        let mut near = (0..LANES).fold(0u32, |near, l| near | u32::from(d2[l] <= limits[l].max(limit)) << l);
        while near != 0 {
            let l = near.trailing_zeros() as usize;
            near &= near - 1;
            let j = group * LANES + l;
            if j > i && j < self.len {
                self.near.push((i as u32, j as u32, d2[l]));
            }
        }
    }
}

/// Squared distances of [`SIDE`] points from `start` on to all of a group.
#[inline(always)]
fn distances<S: Simd>(simd: S, tile: &Tile, start: usize, group: usize, d2: &mut [[f32; LANES]; SIDE]) {
    let size = tile.dim * LANES;
    let rows = &tile.values[start / LANES * size..][..size];
    let columns = S::as_simd_f32s(&tile.values[group * size..][..size]).0;
    let vectors = LANES / S::F32_LANES;
    for v in 0..vectors {
        let mut sums = [simd.splat_f32s(0.0); SIDE];
        for (row, column) in rows.chunks_exact(LANES).zip(columns.chunks_exact(vectors)) {
            let Some(row) = row[start % LANES..].first_chunk::<SIDE>() else { continue };
            for s in 0..SIDE {
                let apart = simd.sub_f32s(column[v], simd.splat_f32s(row[s]));
                sums[s] = simd.mul_add_e_f32s(apart, apart, sums[s]);
            }
        }
        for s in 0..SIDE {
            S::as_mut_simd_f32s(&mut d2[s]).0[v] = sums[s];
        }
    }
}

/// Returns whether any distance is within its own limit or the common one.
#[inline(always)]
fn any_within<S: Simd>(simd: S, d2: &[f32; LANES], limits: &[f32; LANES], limit: f32) -> bool {
    let (d2, limits, limit) = (S::as_simd_f32s(d2).0, S::as_simd_f32s(limits).0, simd.splat_f32s(limit));
    let mut any = false;
    for (&d2, &own) in d2.iter().zip(limits) {
        any |=
            simd.first_true_m32s(simd.less_than_or_equal_f32s(d2, simd.max_f32s(own, limit))) < S::F32_LANES;
    }
    any
}
