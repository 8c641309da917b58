//! The smallest eigenvalues of a positive semidefinite sparse matrix M whose null space is known, and their vectors: the
//! last step of LLE, MLLE, LTSA, HLLE, Laplacian eigenmaps and diffusion maps.
//!
//! The space of a few inverses, (M + shift)^-1 on what is orthogonal to the null space (`factor`, `krylov`). The shift
//! is a tiny share of |M|, so that M may have more null vectors than are known: the alignment matrix of data that are
//! exactly flat has d. In the end eigenvectors are told apart by M itself (Rayleigh-Ritz), and their residuals are
//! computed from it. Where the factor would not fit, as it would not for data of many dimensions, the space is that of
//! a polynomial of M, which is large for small eigenvalues only (Zhou & Saad 2007); such data have no small ones, and
//! few degrees suffice.
//!
//! M y = lambda D y with a diagonal D is the same for D^-1/2 M D^-1/2.
//!
//! Cost: `Plan::products`, then some ten solves with eight sides each.

use std::cell::Cell;

use ndarray::{Array2, Axis};
use rayon::prelude::*;

use super::block::{Block, ZERO, add_product, combine, gram, orthonormalize, project};
use super::factor::{Factor, Failure, Plan, Row, SIDES};
use super::krylov::Krylov;
use super::sparse::Sparse;
use crate::error::{Error, Result};
use crate::linalg::symmetric_eigen;
use crate::monitor::{Monitor, Silent};
use crate::rng;

/// Up to this size a dense matrix takes no longer.
const DENSE: usize = 200;

/// The first shift, as a share of |M|: well above what rounding makes of zero, far below what is looked for.
const SHIFT: f64 = 1e-14;

/// By how much the shift grows if rounding has made the matrix indefinite all the same, and how often.
const GROWTH: f64 = 100.0;
const SHIFTS: usize = 4;

/// Share of a value of the inverse at which its residual is small enough.
const TOLERANCE: f64 = 1e-10;

/// The same for the value after the last that is wanted, of which only the distance matters.
const LOOSE: f64 = 1e-6;

/// Residuals are not asked to be smaller than this share of |M|: rounding.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// Nor are those of the inverse ever left larger than this share of a value.
const MOST_NOISE: f64 = 1e-3;

/// Values this many times as large as others have more rounding than those may have.
const DWARFED: f64 = 1e6;

/// Residuals that keep more than this share in one step do not fall.
const STALLED: f64 = 0.3;

/// How many solves.
const STEPS: usize = 30;

/// Of the polynomials: degrees, how many in one space, how many spaces, and which residual, as a share of |M|, ends it.
const DEGREES: [usize; 2] = [16, 48];
const POLYNOMIALS: usize = 8;
const SPACES: usize = 40;
const FEW_SPACES: usize = 6;
const SMALL: f64 = 1e-9;

/// The gap times this takes the place of |M| where it is less: residuals then are 1e-4 of the gap.
const GAPS: f64 = 1e5;

/// From so many products for each entry of the matrix on, a factor takes longer than polynomials of data that fill it.
const DEAR: f64 = 1e5;

/// By how much a symmetric matrix may differ from its transpose, as a share of |M|: rounding.
const ASYMMETRY: f64 = 1e-10;

const STAGE: &str = "eigenvectors";

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct EigenParams {
    /// How many eigenvectors, besides the null space.
    pub n_vectors: usize,
    /// How many bytes the factor may take, with what it takes to find it.
    pub memory: usize,
    /// For the start, which leaves no trace but in the last bits.
    pub seed: u64,
}

impl Default for EigenParams {
    fn default() -> Self {
        EigenParams { n_vectors: 2, memory: usize::MAX, seed: 0 }
    }
}

/// How eigenvectors were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Solver {
    /// From the whole matrix.
    Dense,
    /// With a factor.
    Factor,
    /// With polynomials.
    Polynomial,
}

/// The smallest eigenvalues outside the null space, and their vectors.
#[derive(Debug)]
pub struct Spectrum {
    /// One eigenvector a column, y' D y = 1, the largest entry positive.
    pub vectors: Array2<f64>,
    /// Ascending; one more than vectors, if there is one.
    pub values: Vec<f64>,
    /// |M y - lambda y| for each of the values, of unit vectors (D^1/2 y with D).
    pub residuals: Vec<f64>,
    /// The largest sum of absolute entries in a row: no eigenvalue is larger.
    pub norm: f64,
    /// How it was done.
    pub solver: Solver,
    /// How many numbers the factor holds, or would.
    pub factor_entries: usize,
    /// The most bytes that the factorisation holds, or would hold, on one thread.
    pub factor_bytes: usize,
    /// What was added to the diagonal, as a share of the norm.
    pub shift: f64,
    /// How many solves, or products with the matrix, of eight vectors each.
    pub steps: usize,
    /// Whether residuals fell as far as they should.
    pub converged: bool,
}

/// The smallest eigenvalues of `matrix`, for M y = lambda D y if there are `degrees`. Its null space holds what is
/// constant on all points with the same label (no label: on all points); none with [`Null::Nothing`].
pub fn smallest_eigenvectors(
    matrix: &Sparse<'_>,
    null: Null<'_>,
    degrees: Option<&[f64]>,
    params: &EigenParams,
    monitor: &dyn Monitor,
) -> Result<Spectrum> {
    let n = matrix.len();
    check(n, null, degrees, params)?;
    let roots: Option<Vec<f64>> = degrees.map(|d| d.iter().map(|d| d.sqrt()).collect());
    let values = roots.as_deref().map(|roots| scaled(matrix, roots));
    let matrix = Sparse { values: values.as_deref().unwrap_or(matrix.values), ..*matrix };
    let kernel = Kernel::new(n, null, roots.as_deref());
    let free = n - kernel.dimension();
    if params.n_vectors > free {
        return Err(Error::OutOfRange {
            name: "n_vectors",
            value: params.n_vectors as f64,
            needed: "no more than there are dimensions outside the null space",
        });
    }
    let task = Task {
        matrix,
        kernel,
        norm: matrix.norm(),
        wanted: params.n_vectors,
        asked: (params.n_vectors + 1).min(free),
        monitor,
    };
    task.check_symmetry(params.seed)?;
    let mut found =
        if n <= DENSE.max(2 * (params.n_vectors + SIDES)) { task.dense()? } else { task.sparse(params)? };
    if let Some(roots) = &roots {
        found.vectors.axis_iter_mut(Axis(0)).zip(roots).for_each(|(mut row, root)| row /= *root);
    }
    found.vectors.axis_iter_mut(Axis(1)).for_each(|mut column| {
        let largest = column.iter().fold(0.0, |l: f64, &v| if v.abs() > l.abs() { v } else { l });
        if largest < 0.0 {
            column.mapv_inplace(|v| -v);
        }
    });
    Ok(found)
}

/// Which null vectors are known.
#[derive(Debug, Clone, Copy)]
pub enum Null<'a> {
    /// None.
    Nothing,
    /// What is constant.
    Constants,
    /// What is constant on the points of each label; labels are 0, 1, 2, ...
    Labels(&'a [u32]),
}

fn check(n: usize, null: Null<'_>, degrees: Option<&[f64]>, params: &EigenParams) -> Result<()> {
    if params.n_vectors == 0 {
        return Err(Error::OutOfRange { name: "n_vectors", value: 0.0, needed: "at least 1" });
    }
    if let Null::Labels(labels) = null {
        same_length("labels", labels.len(), n)?;
        if let Some(&label) = labels.iter().find(|&&label| label as usize >= n) {
            let needed = "labels are 0, 1, 2, ..., fewer than there are points";
            return Err(Error::OutOfRange { name: "label", value: label.into(), needed });
        }
    }
    if let Some(degrees) = degrees {
        same_length("degrees", degrees.len(), n)?;
        if let Some(&value) = degrees.iter().find(|d| !(**d > 0.0 && d.is_finite())) {
            return Err(Error::OutOfRange {
                name: "degree",
                value,
                needed: "every degree must be positive and finite",
            });
        }
    }
    Ok(())
}

fn same_length(left: &'static str, left_len: usize, n: usize) -> Result<()> {
    if left_len == n {
        return Ok(());
    }
    Err(Error::LengthMismatch { left, left_len, right: "matrix", right_len: n })
}

/// The entries of D^-1/2 M D^-1/2.
fn scaled(matrix: &Sparse<'_>, roots: &[f64]) -> Vec<f64> {
    let rows: Vec<Vec<f64>> = (0..matrix.len())
        .into_par_iter()
        .map(|i| matrix.row(i).map(|(j, v)| v / (roots[i] * roots[j])).collect())
        .collect();
    rows.concat()
}

/// The known null vectors: for each label, the roots of the degrees of its points.
struct Kernel {
    labels: Option<Vec<u32>>,
    /// Entries of the unit null vectors, all in one, as supports are disjoint; empty if there are none.
    entries: Vec<f64>,
    sets: usize,
}

impl Kernel {
    fn new(n: usize, null: Null<'_>, roots: Option<&[f64]>) -> Self {
        let labels = match null {
            Null::Nothing => return Kernel { labels: None, entries: Vec::new(), sets: 0 },
            Null::Constants => None,
            Null::Labels(labels) => Some(labels.to_vec()),
        };
        let label = |i: usize| labels.as_ref().map_or(0, |l| l[i] as usize);
        let sets = (0..n).map(label).max().unwrap_or(0) + 1;
        let mut entries = roots.map_or_else(|| vec![1.0; n], <[f64]>::to_vec);
        let mut squares = vec![0.0; sets];
        entries.iter().enumerate().for_each(|(i, e)| squares[label(i)] += e * e);
        entries.iter_mut().enumerate().for_each(|(i, e)| *e /= f64::sqrt(squares[label(i)]));
        Kernel { labels, entries, sets }
    }

    /// Labels without points do not count.
    fn dimension(&self) -> usize {
        let mut seen = vec![false; self.sets];
        match &self.labels {
            Some(labels) => labels.iter().for_each(|&l| seen[l as usize] = true),
            None => seen.fill(true),
        }
        seen.iter().filter(|&&s| s).count()
    }

    fn label(&self, i: usize) -> usize {
        self.labels.as_ref().map_or(0, |l| l[i] as usize)
    }

    /// Takes the null vectors out of all columns, twice, for rounding. Cost: two passes.
    fn remove(&self, block: &mut [Row]) {
        if self.sets == 0 {
            return;
        }
        for _ in 0..2 {
            let mut sums = vec![[0.0; SIDES]; self.sets];
            for (i, (row, e)) in block.iter().zip(&self.entries).enumerate() {
                let sum = &mut sums[self.label(i)];
                (0..SIDES).for_each(|l| sum[l] += e * row[l]);
            }
            for (i, (row, e)) in block.iter_mut().zip(&self.entries).enumerate() {
                let sum = &sums[self.label(i)];
                (0..SIDES).for_each(|l| row[l] -= e * sum[l]);
            }
        }
    }
}

/// Normal numbers.
fn random(n: usize, seed: u64, stage: &'static str) -> Block {
    let mut stream = rng::stream(seed, stage, 0);
    let mut block = vec![[0.0; SIDES]; n];
    block.iter_mut().flatten().for_each(|v| *v = rng::normal(&mut stream));
    block
}

/// What a space of inverses must hold, besides what was found before.
struct Goal {
    norm: f64,
    wanted: usize,
    asked: usize,
    before: Cell<f64>,
}

impl Goal {
    fn new(task: &Task<'_>, n_locked: usize) -> Self {
        let (wanted, asked) = (task.wanted.saturating_sub(n_locked), task.asked - n_locked);
        Goal { norm: task.norm, wanted, asked, before: Cell::new(f64::INFINITY) }
    }

    /// Whether residuals of the inverse are small; or as small as rounding lets them be, and no longer falling.
    fn reached(&self, pairs: &[(f64, f64)]) -> bool {
        if pairs.len() < self.asked {
            return false;
        }
        // how often each residual has still to be divided
        let excess = |floor: f64| {
            let shares = pairs[..self.asked].iter().enumerate().map(|(c, &(value, residual))| {
                let share = if c < self.wanted { TOLERANCE } else { LOOSE };
                residual / (value * share.max((floor * self.norm * value).min(MOST_NOISE)))
            });
            shares.fold(0.0, f64::max)
        };
        let worst = excess(0.0);
        let falls = worst < STALLED * self.before.replace(worst);
        worst <= 1.0 || (!falls && excess(ROUNDING) <= 1.0)
    }

    /// How many values of one block are found already and so large that their rounding is more than the last may
    /// have; none before all of these are found.
    fn dwarfs(&self, pairs: &[(f64, f64)]) -> usize {
        if pairs.len() < self.asked {
            return 0;
        }
        let large = DWARFED * pairs[self.asked - 1].0.max(0.0);
        let many = pairs[..self.asked.min(SIDES)].iter().take_while(|&&(value, _)| value > large).count();
        let found = pairs[..many].iter().all(|&(value, residual)| residual <= TOLERANCE * value);
        if found { many } else { 0 }
    }
}

struct Task<'t> {
    matrix: Sparse<'t>,
    kernel: Kernel,
    norm: f64,
    wanted: usize,
    /// The wanted and one more, if there is one.
    asked: usize,
    monitor: &'t dyn Monitor,
}

impl Task<'_> {
    /// Holds x' M y against y' M x for random vectors. Cost: one product with eight vectors.
    fn check_symmetry(&self, seed: u64) -> Result<()> {
        let block = random(self.matrix.len(), seed, "symmetry");
        let product = gram(&block, &self.matrix_times(&block)?);
        let pairs = (0..SIDES).flat_map(|r| (0..r).map(move |c| (r, c)));
        let difference = pairs.map(|(r, c)| (product[r][c] - product[c][r]).abs()).fold(0.0, f64::max);
        if difference > ASYMMETRY * self.norm * (self.matrix.len() as f64).sqrt() {
            return Err(Error::Asymmetric { difference, norm: self.norm });
        }
        Ok(())
    }

    /// All eigenvalues of the matrix with its null space moved out of the way.
    fn dense(&self) -> Result<Spectrum> {
        self.monitor.check()?;
        let n = self.matrix.len();
        let far = 4.0 * self.norm.max(f64::MIN_POSITIVE);
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            for (j, v) in self.matrix.row(i) {
                a[i * n + j] -= 0.5 * v;
                a[j * n + i] -= 0.5 * v;
            }
        }
        for i in 0..n * usize::from(self.kernel.sets > 0) {
            for j in (0..n).filter(|&j| self.kernel.label(i) == self.kernel.label(j)) {
                a[i * n + j] -= far * self.kernel.entries[i] * self.kernel.entries[j];
            }
        }
        let mut values = vec![0.0; n];
        symmetric_eigen(&mut a, n, &mut values, &mut Vec::new());
        // the null vectors are the last columns: they must not come in as rounding
        a.truncate((n - self.kernel.dimension()) * n);
        let blocks = (0..self.asked.div_ceil(SIDES))
            .map(|b| {
                let entry = |i: usize, l: usize| a.get((b * SIDES + l) * n + i).copied().unwrap_or(0.0);
                let mut block: Block = (0..n).map(|i| std::array::from_fn(|l| entry(i, l))).collect();
                self.kernel.remove(&mut block);
                block
            })
            .collect();
        self.finish(blocks, Solver::Dense)
    }

    /// By the factor if it fits; where it is dense, polynomials may have a few spaces first.
    fn sparse(&self, params: &EigenParams) -> Result<Spectrum> {
        let plan = Plan::new(&self.matrix, self.monitor)?;
        let bytes = size_of::<f64>().saturating_mul(plan.peak());
        let fits = bytes <= params.memory;
        let dense = plan.products() > DEAR * self.matrix.values.len() as f64;
        let tried = if dense || !fits {
            let spaces = if fits { FEW_SPACES } else { SPACES };
            Some(self.polynomial(params, spaces)?)
        } else {
            None
        };
        let mut spectrum = match tried {
            Some(found) if found.converged || !fits => found,
            _ => self.inverse(&plan, params)?,
        };
        spectrum.factor_entries = plan.entries();
        spectrum.factor_bytes = bytes;
        Ok(spectrum)
    }

    /// The space of a few inverses. Vectors whose values dwarf the others' are found first and then kept out: their
    /// rounding would drown what the others need.
    fn inverse(&self, plan: &Plan, params: &EigenParams) -> Result<Spectrum> {
        let (factor, shift) = self.factor(plan)?;
        let (mut locked, mut n_locked, mut steps) = (Vec::new(), 0, 0);
        let enough = loop {
            let apply = |block: &mut Block| {
                factor.solve(block, self.monitor)?;
                self.kernel.remove(block);
                (0..2).for_each(|_| drop(project(block, &locked)));
                Ok(())
            };
            let goal = Goal::new(self, n_locked);
            let enough = |pairs: &[(f64, f64)]| goal.dwarfs(pairs) > 0 || goal.reached(pairs);
            let krylov = Krylov { apply: &apply, enough: &enough, keep: goal.asked, steps: STEPS };
            let mut start = self.start(params.seed);
            project(&mut start, &locked);
            let mut found = krylov.run(start, self.monitor)?;
            steps += found.steps;
            let dwarfs = goal.dwarfs(&found.pairs);
            if dwarfs > 0 {
                found.vectors.truncate(1);
                found.vectors[0].iter_mut().for_each(|row| row[dwarfs..].fill(0.0));
            }
            // once more, which takes away what rounding has left of large eigenvalues
            found.vectors.iter_mut().try_for_each(apply)?;
            found.vectors.iter_mut().take(dwarfs).for_each(orthonormalize);
            locked.append(&mut found.vectors);
            n_locked += dwarfs;
            if dwarfs == 0 || n_locked >= self.asked {
                break found.enough;
            }
        };
        drop(factor);
        let spectrum = self.finish(locked, Solver::Factor)?;
        Ok(Spectrum { shift: shift / self.norm, steps, converged: enough, ..spectrum })
    }

    fn factor(&self, plan: &Plan) -> Result<(Factor, f64)> {
        // a matrix of zeros has eigenvectors, too
        let norm = if self.norm > 0.0 { self.norm } else { 1.0 };
        let mut shift = SHIFT * norm;
        for _ in 0..SHIFTS {
            match Factor::new(&self.matrix, plan, shift, self.monitor) {
                Ok(factor) => return Ok((factor, shift)),
                Err(Failure::Other(error)) => return Err(error),
                Err(Failure::NotPositive) => shift *= GROWTH,
            }
        }
        Err(Error::Indefinite { shift: shift / GROWTH / norm })
    }

    /// Random numbers outside the null space.
    fn start(&self, seed: u64) -> Block {
        let mut block = random(self.matrix.len(), seed, STAGE);
        self.kernel.remove(&mut block);
        block
    }

    /// Spaces of polynomials, each from the best of the one before.
    fn polynomial(&self, params: &EigenParams, spaces: usize) -> Result<Spectrum> {
        let mut start = self.start(params.seed);
        let mut cut = 0.25 * self.norm;
        let (mut products, mut round) = (0, 0);
        let keep = self.asked + SIDES;
        let steps = POLYNOMIALS.max(keep.div_ceil(SIDES) + 4);
        loop {
            let degree = DEGREES[round.min(DEGREES.len() - 1)];
            let apply = |block: &mut Block| self.filter(block, degree, cut);
            let krylov = Krylov { apply: &apply, enough: &|_| false, keep, steps };
            let found = krylov.run(start, &Silent(self.monitor))?;
            products += found.steps * degree;
            let (values, vectors, residuals) = self.separate(found.vectors)?;
            let worst = residuals[..self.wanted].iter().fold(0.0, |w: f64, &r| w.max(r));
            let gap = values[self.asked - 1] - values[self.wanted - 1];
            let small =
                if self.asked > self.wanted { SMALL * self.norm.min(gap * GAPS) } else { SMALL * self.norm };
            let converged = worst <= small.max(1e3 * f64::EPSILON * self.norm);
            round += 1;
            self.monitor.progress(STAGE, round, spaces);
            if converged || round >= spaces {
                let spectrum = self.collect(values, &vectors, residuals, Solver::Polynomial);
                return Ok(Spectrum { steps: products, converged, ..spectrum });
            }
            // what lies among the kept need not be kept small
            cut = values[values.len() - 1].clamp(1e-6 * self.norm, 0.5 * self.norm);
            start = self.mixed(&vectors);
        }
    }

    /// One block that holds something of all vectors.
    fn mixed(&self, vectors: &[Block]) -> Block {
        let mut sum = vectors[0].clone();
        for block in &vectors[1..] {
            sum.iter_mut().zip(block).for_each(|(s, b)| (0..SIDES).for_each(|l| s[l] += b[l]));
        }
        sum
    }

    /// The Chebyshev polynomial that is at most 1 from `cut` to the norm, and large below.
    fn filter(&self, block: &mut Block, degree: usize, cut: f64) -> Result<()> {
        let (centre, radius) = (0.5 * (self.norm + cut), 0.5 * (self.norm - cut));
        let mut before = block.clone();
        let mut now = self.matrix_times(block)?;
        let step =
            |row: &mut Row, x: &Row| (0..SIDES).for_each(|l| row[l] = (row[l] - centre * x[l]) / radius);
        now.iter_mut().zip(&before).for_each(|(row, x)| step(row, x));
        for _ in 1..degree {
            let mut next = self.matrix_times(&now)?;
            for ((row, x), b) in next.iter_mut().zip(&now).zip(&before) {
                step(row, x);
                (0..SIDES).for_each(|l| row[l] = 2.0 * row[l] - b[l]);
            }
            before = now;
            now = next;
        }
        self.kernel.remove(&mut now);
        *block = now;
        Ok(())
    }

    fn matrix_times(&self, block: &[Row]) -> Result<Block> {
        let product = self.matrix.product(block.as_flattened(), SIDES, self.monitor)?;
        Ok(product.as_chunks().0.to_vec())
    }

    fn finish(&self, vectors: Vec<Block>, solver: Solver) -> Result<Spectrum> {
        let (values, vectors, residuals) = self.separate(vectors)?;
        Ok(self.collect(values, &vectors, residuals, solver))
    }

    /// Eigenvalues of the matrix on the span, ascending, with their vectors and residuals (Rayleigh-Ritz).
    fn separate(&self, mut span: Vec<Block>) -> Result<(Vec<f64>, Vec<Block>, Vec<f64>)> {
        for b in 0..span.len() {
            let (known, rest) = span.split_at_mut(b);
            self.kernel.remove(&mut rest[0]);
            project(&mut rest[0], known);
            orthonormalize(&mut rest[0]);
            project(&mut rest[0], known);
            orthonormalize(&mut rest[0]);
        }
        let images: Vec<Block> = span.iter().map(|block| self.matrix_times(block)).collect::<Result<_>>()?;
        let size = span.len() * SIDES;
        let mut small = vec![0.0; size * size];
        for (j, image) in images.iter().enumerate() {
            for (i, block) in span.iter().enumerate() {
                let square = gram(block, image);
                for r in 0..SIDES {
                    for c in 0..SIDES {
                        small[(i * SIDES + r) * size + j * SIDES + c] -= 0.5 * square[r][c];
                        small[(j * SIDES + c) * size + i * SIDES + r] -= 0.5 * square[r][c];
                    }
                }
            }
        }
        // a column of zeros has no eigenvalue
        for (b, block) in span.iter().enumerate() {
            let lengths = gram(block, block);
            for c in (0..SIDES).filter(|&c| lengths[c][c] < 0.5) {
                small[(b * SIDES + c) * (size + 1)] = -2.0 * self.norm.max(f64::MIN_POSITIVE);
            }
        }
        let mut values = vec![0.0; size];
        symmetric_eigen(&mut small, size, &mut values, &mut Vec::new());
        values.iter_mut().for_each(|v| *v = -*v);
        let turn = |blocks: &[Block], b: usize| combine(blocks, &small, b * SIDES);
        let vectors: Vec<Block> = (0..span.len()).map(|b| turn(&span, b)).collect();
        let mut residuals = Vec::with_capacity(size);
        for (b, block) in vectors.iter().enumerate() {
            let mut missing = turn(&images, b);
            let mut diagonal = ZERO;
            (0..SIDES).for_each(|c| diagonal[c][c] = values[b * SIDES + c]);
            add_product(&mut missing, -1.0, block, &diagonal);
            let squares = gram(&missing, &missing);
            residuals.extend((0..SIDES).map(|c| squares[c][c].sqrt()));
        }
        Ok((values, vectors, residuals))
    }

    fn collect(&self, values: Vec<f64>, vectors: &[Block], residuals: Vec<f64>, solver: Solver) -> Spectrum {
        let columns = Array2::from_shape_fn((self.matrix.len(), self.wanted), |(i, c)| {
            vectors[c / SIDES][i][c % SIDES]
        });
        Spectrum {
            vectors: columns,
            values: values[..self.asked].to_vec(),
            residuals: residuals[..self.asked].to_vec(),
            norm: self.norm,
            solver,
            factor_entries: 0,
            factor_bytes: 0,
            shift: 0.0,
            steps: 0,
            converged: true,
        }
    }
}
