//! One matrix whose smallest eigenvectors are looked for: by a dense solver, a factor or polynomials.

use ndarray::Array2;

use super::block::{Block, ZERO, add_product, combine, gram, orthonormalize, project};
use super::goal::Goal;
use super::krylov::Krylov;
use super::null_space::Kernel;
use super::{EigenParams, Solver, Spectrum};
use crate::csr::CsrView;
use crate::error::{Error, Result};
use crate::linalg::symmetric_eigen;
use crate::monitor::{Monitor, Silent};
use crate::rng;
use crate::spectral::factor::{Factor, Failure, Plan, Row, SIDES};

/// The first shift, as a share of |M|: far above the rounding of zero and far below the eigenvalues wanted.
const SHIFT: f64 = 1e-14;

const GROWTH: f64 = 100.0; // Factor on the shift if rounding made the matrix indefinite.
const SHIFTS: usize = 4; // Maximum number of shifts tried.
const STEPS: usize = 30; // Maximum number of solves.

/// Polynomials: degrees, number in one space, number of spaces, and the residual, as a share of |M|, that ends them.
const DEGREES: [usize; 2] = [16, 48];
const POLYNOMIALS: usize = 8;
const SPACES: usize = 40;
const FEW_SPACES: usize = 6;
const SMALL: f64 = 1e-9;

/// The gap times this replaces |M| where it is less. Residuals are then 1e-4 of the gap.
const GAPS: f64 = 1e5;

/// Above this many products per entry of the matrix, a factor takes longer than polynomials.
const DEAR: f64 = 1e5;

/// A symmetric matrix may differ from its transpose by this share of |M|, from rounding.
const ASYMMETRY: f64 = 1e-10;

const STAGE: &str = "eigenvectors";

pub struct Task<'t> {
    pub matrix: CsrView<'t, f64>,
    pub kernel: Kernel,
    pub norm: f64,
    pub wanted: usize,
    /// The wanted and one more, if there is one.
    pub asked: usize,
    pub monitor: &'t dyn Monitor,
}

impl Task<'_> {
    /// Compares x' M y with y' M x for random vectors. Cost: one product with eight vectors.
    pub fn check_symmetry(&self, seed: u64) -> Result<()> {
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
    pub fn dense(&self) -> Result<Spectrum> {
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
    pub fn sparse(&self, params: &EigenParams) -> Result<Spectrum> {
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

    /// The space of a few inverses. Vectors with dwarfing values are found first and kept out: their rounding drowns
    /// the rest.
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
            // once more, which removes the parts of large eigenvalues that rounding left
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
            // the part in the span of the vectors found need not stay small
            cut = values[values.len() - 1].clamp(1e-6 * self.norm, 0.5 * self.norm);
            start = self.mixed(&vectors);
        }
    }

    /// One random block with a part along all vectors.
    fn mixed(&self, vectors: &[Block]) -> Block {
        let mut sum = vectors[0].clone();
        for block in &vectors[1..] {
            sum.iter_mut().zip(block).for_each(|(s, b)| (0..SIDES).for_each(|l| s[l] += b[l]));
        }
        sum
    }

    /// The Chebyshev polynomial that is at most 1 from `cut` to the norm, and large below.
    fn filter(&self, block: &mut Block, degree: usize, cut: f64) -> Result<()> {
        let (center, radius) = (0.5 * (self.norm + cut), 0.5 * (self.norm - cut));
        let mut before = block.clone();
        let mut now = self.matrix_times(block)?;
        let step =
            |row: &mut Row, x: &Row| (0..SIDES).for_each(|l| row[l] = (row[l] - center * x[l]) / radius);
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

fn random(n: usize, seed: u64, stage: &'static str) -> Block {
    let mut stream = rng::stream(seed, stage, 0);
    let mut block = vec![[0.0; SIDES]; n];
    block.iter_mut().flatten().for_each(|v| *v = rng::normal(&mut stream));
    block
}
