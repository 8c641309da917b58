//! Locally linear embedding (Roweis & Saul 2000), as in Goldberg, Zakai, Kushnir & Ritov, section 2: W_i = (1, -w),
//! where w sums to one and makes |x_i - sum w_j x_ij|^2 small.
//!
//! With more neighbors than dimensions many w make it zero; [`Barycenter`] chooses among them. Cost: O(n (k^2 q +
//! k^3)), k numbers a neighborhood; [`Barycenter::Convex`] solves up to some k systems more.

use super::ltsa::NO_EXTENT;
use super::{Form, Layout, LocalWeights};
use crate::charts::{Local, Tangent, check_components, check_lengths, members};
use crate::error::Result;
use crate::linalg::{column, dot, first, solve_positive};
use crate::monitor::Monitor;
use crate::neighbors::Neighborhoods;
use crate::points::Points;
use crate::spectral::check_range;

const NAME: &str = "LLE";

pub(super) const INSIDE: f64 = 1e-10; // A smaller share of the vector of ones outside a span counts as 0.
const LEAST: f64 = 1e-12; // The least regularization of a program whose solution must be one.

/// Choice among the weights that reproduce a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Barycenter {
    /// Those that minimize the error plus reg * trace(G) |w|^2, G the Gram matrix of the differences: scikit-learn's.
    #[default]
    Tikhonov,
    /// Those of least norm (LDR-LLE, Goldberg & Ritov 2012), after projection on the first `n_components` directions if
    /// given.
    LeastNorm,
    /// Those at least 0 that minimize what Tikhonov does.
    Convex,
}

/// Parameters of LLE.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LleParams {
    /// Choice of the weights.
    pub barycenter: Barycenter,
    /// The share of the trace; 0 gives those of least norm, to which Tikhonov's tend.
    pub reg: f64,
    /// For those of least norm.
    pub n_components: Option<usize>,
}

impl Default for LleParams {
    fn default() -> Self {
        LleParams { barycenter: Barycenter::Tikhonov, reg: 1e-3, n_components: None }
    }
}

pub(super) fn check_reg(reg: f64) -> Result<()> {
    check_range("reg", reg, reg >= 0.0 && reg.is_finite(), "it must be finite and at least 0")
}

/// W_i of LLE for every neighborhood.
///
/// ```
/// use ndarray::array;
/// use unbend::{Neighborhoods, Points, Unmonitored, spectral};
/// let line = array![[0.0], [1.0], [2.0]];
/// let points = Points::new("X", line.view(), &Unmonitored)?;
/// let graph = Neighborhoods::from_fixed(2, vec![1, 2, 0, 2, 1, 0])?;
/// let weights = spectral::lle(&points, &graph, &Default::default(), &Unmonitored)?;
/// let weights = &weights.dense(&graph, 1)?[0];
/// assert!(weights.iter().zip([1.0, -0.5, -0.5]).all(|(w, half)| (w - half).abs() < 1e-12));
/// # Ok::<(), unbend::Error>(())
/// ```
pub fn lle(
    x: &Points,
    graph: &Neighborhoods,
    params: &LleParams,
    monitor: &dyn Monitor,
) -> Result<LocalWeights> {
    check_reg(params.reg)?;
    params.n_components.map_or(Ok(()), |d| check_components(d, x.dim()))?;
    check_lengths(x, "X", graph)?;
    let how = (NAME, Form::Rows, false);
    LocalWeights::fill(how, graph, Layout::Fixed(1), monitor, Workspace::default, |workspace, i, w| {
        load_differences(x, graph, i, &mut workspace.local);
        if workspace.local.norm2 == 0.0 {
            w.fill(1.0 / w.len() as f64);
            return;
        }
        match params.barycenter {
            Barycenter::Tikhonov if params.reg > 0.0 => workspace.tikhonov(params.reg, w),
            Barycenter::Convex => workspace.convex(params.reg.max(LEAST), w),
            Barycenter::Tikhonov => workspace.least_norm(None, w),
            Barycenter::LeastNorm => workspace.least_norm(params.n_components, w),
        }
        let sum = w.iter().sum::<f64>();
        w.iter_mut().for_each(|w| *w /= sum);
    })
}

/// The neighbors of point `i` about it.
#[inline]
pub(super) fn load_differences(x: &Points, graph: &Neighborhoods, i: usize, local: &mut Local) {
    match x.dim() {
        3 => local.load_about(x, i, members(graph, i, false), 3),
        q => local.load_about(x, i, members(graph, i, false), q),
    }
}

/// All principal directions of the loaded points.
#[inline]
pub(super) fn fit_all(local: &Local, tangent: &mut Tangent) {
    match local.dim {
        3 => tangent.fit(local, 3, 3),
        q => tangent.fit(local, q, q),
    }
}

#[derive(Default)]
struct Workspace {
    local: Local,
    tangent: Tangent,
    gram: Vec<f64>,
    part: Vec<f64>,
    solution: Vec<f64>,
    passive: Vec<usize>,
}

impl Workspace {
    fn fill_gram(&mut self, reg: f64) {
        let (local, k) = (&self.local, self.local.size);
        let gram = first(&mut self.gram, k * k);
        gram.fill(0.0);
        for x in local.x.chunks_exact(local.padded) {
            for (row, &left) in gram.chunks_exact_mut(k).zip(x) {
                row.iter_mut().zip(x).for_each(|(g, right)| *g += left * right);
            }
        }
        gram.iter_mut().step_by(k + 1).for_each(|g| *g += reg * local.norm2);
    }

    /// w as a multiple of (G + reg trace(G) I)^-1 1.
    fn tikhonov(&mut self, reg: f64, w: &mut [f64]) {
        self.fill_gram(reg);
        w.fill(1.0);
        if !solve_positive(&mut self.gram[..w.len() * w.len()], w) {
            self.least_norm(None, w); // the limit: reg drowned in rounding
        }
    }

    /// The part of 1 outside the span of the differences; if it is empty, G^+ 1.
    fn least_norm(&mut self, n_components: Option<usize>, w: &mut [f64]) {
        fit_all(&self.local, &mut self.tangent);
        let (padded, k) = (self.local.padded, self.local.size);
        let columns = || self.tangent.chart[..self.local.dim * padded].chunks_exact(padded);
        let longest = columns().map(|t| dot(t, t)).fold(0.0, f64::max);
        let real = |t: &&[f64]| dot(t, t) > NO_EXTENT * NO_EXTENT * longest;
        let directions = || columns().filter(real).take(n_components.unwrap_or(k));
        w.fill(1.0);
        for t in directions() {
            let share = t.iter().sum::<f64>() / dot(t, t);
            w.iter_mut().zip(t).for_each(|(w, t)| *w -= share * t);
        }
        if dot(w, w) > INSIDE * INSIDE * k as f64 {
            return;
        }
        w.fill(0.0);
        for t in directions() {
            let length2 = dot(t, t);
            let share = t.iter().sum::<f64>() / length2 * (longest / length2);
            w.iter_mut().zip(t).for_each(|(w, t)| *w += share * t);
        }
    }

    /// Lawson & Hanson's active set for u >= 0, A u = 1 where u > 0, A u >= 1 elsewhere: w is a multiple of it.
    fn convex(&mut self, reg: f64, u: &mut [f64]) {
        let k = u.len();
        self.fill_gram(reg);
        self.passive.clear();
        u.fill(0.0);
        for _ in 0..3 * k {
            let slack = |j: usize| 1.0 - dot(column(&self.gram, k, j), u);
            let next = (0..k).filter(|j| !self.passive.contains(j)).fold((0, 1e-12), |(best, most), j| {
                let slack = slack(j);
                if slack > most { (j, slack) } else { (best, most) }
            });
            if next.1 <= 1e-12 {
                break;
            }
            self.passive.push(next.0);
            while self.solve_passive() && self.retreat(u) {}
        }
    }

    /// The solution on the passive set alone.
    fn solve_passive(&mut self) -> bool {
        let (k, p) = (self.local.size, self.passive.len());
        let part = first(&mut self.part, p * p);
        for (row, &i) in part.chunks_exact_mut(p.max(1)).zip(&self.passive) {
            row.iter_mut().zip(&self.passive).for_each(|(v, &j)| *v = self.gram[i * k + j]);
        }
        self.solution.clear();
        self.solution.resize(p, 1.0);
        solve_positive(part, &mut self.solution)
    }

    /// Moves toward the solution until a weight falls to 0; returns true if one did and left the passive set.
    fn retreat(&mut self, u: &mut [f64]) -> bool {
        let steps = self.passive.iter().zip(&self.solution).filter(|(_, s)| **s <= 0.0);
        let step = steps.map(|(&j, s)| u[j] / (u[j] - s)).fold(1.0, f64::min);
        let complete = self.solution.iter().all(|&s| s > 0.0);
        for (&j, s) in self.passive.iter().zip(&self.solution) {
            u[j] = if complete { *s } else { (u[j] + step * (s - u[j])).max(0.0) };
        }
        // the weight that limited the step is 0 up to rounding
        for (&j, s) in self.passive.iter().zip(&self.solution) {
            if *s <= 0.0 && u[j] <= 1e-14 * (u[j] - s) {
                u[j] = 0.0;
            }
        }
        self.passive.retain(|&j| u[j] > 0.0);
        !complete
    }
}
