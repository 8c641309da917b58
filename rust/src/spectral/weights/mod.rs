//! The common form of all W_i (Goldberg, Zakai, Kushnir & Ritov, section 2): a few vectors per neighborhood.
//!
//! W_i matters only up to an orthogonal factor from the left, so LTSA stores the d directions it leaves out, MLLE its
//! few large directions and one row, LLE one row, and LEM and DFM a number per neighbor.

mod dfm;
mod hlle;
mod lem;
mod lle;
mod ltsa;
mod mlle;

pub use dfm::{DfmParams, dfm};
pub use hlle::{HlleParams, hlle};
pub use lem::{Kernel, lem};
pub use lle::{Barycenter, LleParams, lle};
pub use ltsa::{LtsaParams, ltsa};
pub use mlle::{MlleParams, mlle};

use branches::prefetch_read_data;
use rayon::prelude::*;

use crate::charts::{check_lengths, members};
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;
use crate::parallel::map_points;
use crate::points::Points;
use crate::spectral::check_len;

pub(super) const CHUNK: usize = 512; // Neighborhoods handled at once.

/// The kind of vectors. Z_i are points about their mean, or neighbors about the point: constants cost nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// LEM, DFM: one number w_j for each neighbor, W_i Y_i = diag(w)^1/2 Z_i about the point.
    Star,
    /// LLE: rows, W_i Y_i = R Z_i about the point.
    Rows,
    /// MLLE: orthonormal directions U whose span holds 1, then one row: W_i Y_i = (I - U U'; R) Z_i about the point.
    ComplementAndRow,
    /// HLLE: rows orthogonal to 1, W_i Y_i = R Z_i about the mean.
    CenteredRows,
    /// LTSA: orthonormal directions U orthogonal to 1, W_i Y_i = (I - U U') Z_i about the mean.
    CenteredComplement,
}

/// Start of the vectors of each neighborhood.
#[derive(Debug, Clone)]
pub(super) enum Layout {
    /// As many vectors each.
    Fixed(usize),
    /// Anywhere: n + 1 places.
    Ragged(Vec<usize>),
}

/// W_i for every neighborhood of a graph.
#[derive(Debug, Clone)]
pub struct LocalWeights {
    pub(super) name: &'static str,
    pub(super) form: Form,
    /// True if the vectors have an entry for the point itself, before those for its neighbors.
    pub(super) include_self: bool,
    layout: Layout,
    flat: Vec<f64>,
    n: usize,
    listed: usize,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Block<'a> {
    form: Form,
    /// Number of points that the vectors have entries for.
    pub size: usize,
    /// Directions that are left out of the identity; `None` without an identity.
    span: &'a [f64],
    rows: &'a [f64],
}

impl LocalWeights {
    /// Vectors for every neighborhood: `f(state, i, vectors)` for each `i`.
    pub(super) fn fill<S>(
        (name, form, include_self): (&'static str, Form, bool),
        graph: &Neighborhoods,
        layout: Layout,
        monitor: &dyn Monitor,
        state: impl Fn() -> S + Sync,
        f: impl Fn(&mut S, usize, &mut [f64]) + Sync,
    ) -> Result<Self> {
        let (n, listed) = (graph.len(), graph.indices().len());
        let mut all = LocalWeights { name, form, include_self, layout, flat: vec![], n, listed };
        let mut flat = vec![0.0; all.end(graph, n)];
        let mut rest = flat.as_mut_slice();
        let mut chunks = Vec::with_capacity(n.div_ceil(CHUNK));
        for start in (0..n).step_by(CHUNK) {
            let chunk;
            (chunk, rest) = rest.split_at_mut(all.end(graph, (start + CHUNK).min(n)) - all.end(graph, start));
            chunks.push((start, chunk));
        }
        let done = std::sync::atomic::AtomicUsize::new(0);
        chunks.into_par_iter().try_for_each(|(start, mut chunk)| {
            monitor.check()?;
            let (mut state, end) = (state(), (start + CHUNK).min(n));
            for i in start..end {
                let vectors;
                (vectors, chunk) =
                    std::mem::take(&mut chunk).split_at_mut(all.end(graph, i + 1) - all.end(graph, i));
                f(&mut state, i, vectors);
            }
            let before = done.fetch_add(end - start, std::sync::atomic::Ordering::Relaxed);
            monitor.progress("weights", before + end - start, n);
            Ok(())
        })?;
        all.flat = flat;
        Ok(all)
    }

    /// Start of the vectors of neighborhood `i`, which is the end of those before.
    fn end(&self, graph: &Neighborhoods, i: usize) -> usize {
        match &self.layout {
            Layout::Fixed(vectors) => {
                let listed = if i < self.n { graph.start(i) } else { self.listed };
                vectors * (listed + if self.include_self { i } else { 0 })
            }
            Layout::Ragged(places) => places[i],
        }
    }

    #[inline]
    pub(super) fn block(&self, graph: &Neighborhoods, i: usize) -> Block<'_> {
        let size = graph.of(i).len() + usize::from(self.include_self);
        let flat = &self.flat[self.end(graph, i)..self.end(graph, i + 1)];
        let spanned = match self.form {
            Form::Star | Form::Rows | Form::CenteredRows => 0,
            Form::ComplementAndRow => flat.len() - size,
            Form::CenteredComplement => flat.len(),
        };
        let (span, rows) = flat.split_at(spanned);
        Block { form: self.form, size, span, rows }
    }

    /// Prefetches the vectors of neighborhood `i`.
    #[inline]
    pub(super) fn soon(&self, graph: &Neighborhoods, i: usize) {
        let flat = &self.flat[self.end(graph, i)..self.end(graph, i + 1)];
        flat.iter().step_by(8).for_each(|v| prefetch_read_data::<_, 0>(v));
    }

    /// Number of neighborhoods.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        self.n
    }

    /// Fails unless this can be the graph of the weights.
    pub(super) fn check_graph(&self, graph: &Neighborhoods) -> Result<()> {
        let (left, right) = ("the neighborhood graph", "the graph of the weights");
        check_len(left, graph.len(), right, self.n)?;
        check_len(left, graph.indices().len(), right, self.listed)
    }

    /// phi(Y_i) = |W_i Y_i|^2 for every neighborhood (eq. 2), from W_i itself, so that small values keep their digits.
    /// Fails if `graph` or `y` do not fit. Cost: O(n k r) per column of `y`, with r vectors per neighborhood.
    pub fn phi(&self, graph: &Neighborhoods, y: &Points, monitor: &dyn Monitor) -> Result<Vec<f64>> {
        self.check_graph(graph)?;
        check_lengths(y, "Y", graph)?;
        let d = y.dim();
        let state = || (vec![0.0; d], vec![0.0; d], Vec::new());
        map_points(self.n, "phi", monitor, state, |(own, row, z), i| {
            let block = self.block(graph, i);
            y.copy_row(i, own);
            z.resize(d * block.size, 0.0);
            for (p, j) in members(graph, i, self.include_self).enumerate() {
                y.copy_row(j, row);
                (0..d).for_each(|b| z[b * block.size + p] = row[b] - own[b]);
            }
            z.chunks_exact_mut(block.size.max(1)).map(|z| block.norm2(z)).sum()
        })
    }

    /// W_i as in the paper, row after row, with columns for the point itself and for its neighbors.
    pub fn dense(&self, graph: &Neighborhoods, i: usize) -> Result<Vec<Vec<f64>>> {
        self.check_graph(graph)?;
        if i >= self.n {
            return Err(Error::NeighborOutOfRange { point: i, neighbor: i, n: self.n });
        }
        let block = self.block(graph, i);
        let width = graph.of(i).len() + 1;
        let padded = |row: &[f64], first: f64| match self.include_self {
            true => row.to_vec(),
            false => [&[first], row].concat(),
        };
        if block.form == Form::Star {
            let row = |(p, w): (usize, &f64)| {
                let mut out = vec![0.0; width];
                (out[0], out[p + 1]) = (w.sqrt(), -w.sqrt());
                out
            };
            return Ok(block.rows.iter().enumerate().map(row).collect());
        }
        let mut rows = Vec::new();
        if block.has_identity() {
            let mut row = vec![0.0; block.size];
            for p in 0..block.size {
                block.row_of_complement(p, &mut row);
                rows.push(padded(&row, 0.0));
            }
        }
        for row in block.rows.chunks_exact(block.size.max(1)) {
            match block.about_mean() {
                true => rows.push(padded(row, 0.0)),
                false => rows.push(padded(&row.iter().map(|v| -v).collect::<Vec<_>>(), row.iter().sum())),
            }
        }
        Ok(rows)
    }

    /// D for LEM and DFM, the sum of the weights of each point's own edges, as d_ii in the paper. If `symmetrized`, the
    /// row sums of A + A', which go with the alignment matrix D - A - A'. Fails for other weights.
    pub fn degrees(&self, graph: &Neighborhoods, symmetrized: bool) -> Result<Vec<f64>> {
        self.check_graph(graph)?;
        if self.form != Form::Star {
            return Err(Error::NoDegrees { weights: self.name });
        }
        let mut degrees: Vec<f64> =
            (0..self.n).map(|i| self.block(graph, i).rows.iter().sum::<f64>()).collect();
        if symmetrized {
            for i in 0..self.n {
                let weights = self.block(graph, i).rows;
                graph.of(i).iter().zip(weights).for_each(|(&j, w)| degrees[j as usize] += w);
            }
        }
        Ok(degrees)
    }
}

impl Block<'_> {
    pub fn about_mean(&self) -> bool {
        matches!(self.form, Form::CenteredRows | Form::CenteredComplement)
    }

    fn has_identity(&self) -> bool {
        matches!(self.form, Form::ComplementAndRow | Form::CenteredComplement)
    }

    /// |W_i y|^2 for one coordinate of the points of the neighborhood, about the point itself; `z` is destroyed.
    fn norm2(&self, z: &mut [f64]) -> f64 {
        if self.form == Form::Star {
            return self.rows.iter().zip(z).map(|(w, z)| w * *z * *z).sum();
        }
        if self.about_mean() {
            let mean = z.iter().sum::<f64>() / z.len() as f64;
            z.iter_mut().for_each(|v| *v -= mean);
        }
        let size = self.size.max(1);
        let product = |row: &[f64], z: &[f64]| row.iter().zip(z).fold(0.0, |sum, (r, z)| sum + r * z);
        let mut sum = self.rows.chunks_exact(size).map(|row| product(row, z).powi(2)).sum::<f64>();
        if self.has_identity() {
            for u in self.span.chunks_exact(size) {
                let along = product(u, z);
                z.iter_mut().zip(u).for_each(|(z, u)| *z -= along * u);
            }
            sum += product(z, z);
        }
        sum
    }

    /// Row `p` of I - U U', about the mean without 11'/m.
    fn row_of_complement(&self, p: usize, out: &mut [f64]) {
        out.fill(if self.about_mean() { -1.0 / self.size as f64 } else { 0.0 });
        for u in self.span.chunks_exact(self.size) {
            let share = u[p];
            out.iter_mut().zip(u).for_each(|(o, u)| *o -= share * u);
        }
        out[p] += 1.0;
    }

    /// Row `p` of W_i'W_i, as far as it is about the points that the vectors have entries for.
    #[inline]
    pub fn row_of_product(&self, p: usize, out: &mut [f64]) {
        if self.form == Form::Star {
            out.fill(0.0);
            out[p] = self.rows[p];
            return;
        }
        match self.has_identity() {
            true => self.row_of_complement(p, out),
            false => out.fill(0.0),
        }
        for row in self.rows.chunks_exact(self.size) {
            let share = row[p];
            out.iter_mut().zip(row).for_each(|(o, r)| *o += share * r);
        }
    }

    /// The entry of W_i'W_i between the point itself and neighbor `p`: minus the sum of that row, so constants cost
    /// nothing.
    #[inline]
    pub fn border(&self, p: usize) -> f64 {
        match self.form {
            Form::Star => -self.rows[p],
            _ => -self.rows.chunks_exact(self.size).map(|row| row[p] * row.iter().sum::<f64>()).sum::<f64>(),
        }
    }

    /// The diagonal entry for the point itself.
    #[inline]
    pub fn corner(&self) -> f64 {
        match self.form {
            Form::Star => self.rows.iter().sum(),
            _ => self.rows.chunks_exact(self.size.max(1)).map(|row| row.iter().sum::<f64>().powi(2)).sum(),
        }
    }
}

/// No neighborhood has fewer than `needed` neighbors.
pub(super) fn check_sizes(name: &'static str, d: usize, graph: &Neighborhoods, needed: usize) -> Result<()> {
    match (0..graph.len()).find(|&i| graph.of(i).len() < needed) {
        Some(point) => {
            let (size, n_components) = (graph.of(point).len(), d);
            Err(Error::TooFewNeighbors { weights: name, n_components, needed, point, size })
        }
        None => Ok(()),
    }
}

/// The median: of an even number of values, the mean of the two in the middle. `None` without values.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    let n = values.len();
    if n == 0 {
        return None;
    }
    let (below, &mut upper, _) = values.select_nth_unstable_by(n / 2, f64::total_cmp);
    match n % 2 {
        1 => Some(upper),
        _ => Some((below.iter().copied().fold(f64::NEG_INFINITY, f64::max) + upper) / 2.0),
    }
}
