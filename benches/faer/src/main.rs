//! The Cholesky factor of LTSA's alignment matrix: unbend compared with faer, in one run.
//!
//! ```sh
//! cargo run --release --manifest-path benches/faer/Cargo.toml            # 20,000 and 100,000 points
//! cargo run --release --manifest-path benches/faer/Cargo.toml -- 5000    # sizes of your own
//! ```
//!
//! Both order the unknowns, make the factor on all threads, and solve for eight sides.

use std::error::Error;
use std::time::Instant;

use faer::prelude::Reborrow;
use faer::sparse::linalg::solvers::{Llt, SymbolicLlt};
use faer::sparse::{SparseColMat, Triplet};
use faer::{Mat, Side, linalg::solvers::Solve};
use unbend::csr::CsrView;
use unbend::spectral::{Factor, LtsaParams, Plan, Row, SIDES, ltsa};
use unbend::synthetic::{SwissRoll, swiss_roll};
use unbend::{Points, Search, Unmonitored, neighbors};

const K: usize = 12;
const REPEATS: usize = 3;
/// What is added to the diagonal, as a share of the norm: the matrix is singular.
const SHIFT: f64 = 1e-14;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let mut sizes = std::env::args().skip(1).map(|n| n.parse()).collect::<Result<Vec<usize>, _>>()?;
    if sizes.is_empty() {
        sizes = vec![20_000, 100_000];
    }
    println!(
        "faer 0.24.4, {} threads, LTSA, swiss roll, k = {K}, {REPEATS} runs each\n",
        rayon::current_num_threads()
    );
    println!("| n | how | order, s | factor, s | eight solves, s | numbers a point | error |");
    println!("|--:|:--|--:|--:|--:|--:|--:|");
    sizes.into_iter().try_for_each(compare)
}

fn compare(n: usize) -> Outcome<()> {
    let x = swiss_roll(n, &SwissRoll::default(), 0, &Unmonitored)?.x;
    let points = Points::new("X", x.view(), &Unmonitored)?;
    let graph = neighbors::nearest(&points, K, Search::Auto, &Unmonitored)?.neighborhoods;
    let csr = ltsa(&points, &graph, &LtsaParams::default(), &Unmonitored)?.matrix(&graph, &Unmonitored)?;
    let matrix = csr.view();
    let sides: Vec<Row> = (0..n).map(|i| std::array::from_fn(|s| ((i * SIDES + s) as f64).sin())).collect();
    for _ in 0..REPEATS {
        ours(&matrix, &sides)?;
        theirs(&matrix, &sides)?;
    }
    Ok(())
}

fn ours(matrix: &CsrView<f64>, sides: &[Row]) -> Outcome<()> {
    let start = Instant::now();
    let plan = Plan::new(matrix, &Unmonitored)?;
    let ordered = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let factor =
        Factor::new(matrix, &plan, SHIFT * matrix.norm(), &Unmonitored).map_err(|f| format!("{f:?}"))?;
    let factored = start.elapsed().as_secs_f64();
    let mut solved = sides.to_vec();
    let start = Instant::now();
    factor.solve(&mut solved, &Unmonitored)?;
    let seconds = [ordered, factored, start.elapsed().as_secs_f64()];
    print(matrix, "unbend", seconds, plan.entries(), |i, s| solved[i][s], sides);
    Ok(())
}

fn theirs(matrix: &CsrView<f64>, sides: &[Row]) -> Outcome<()> {
    let n = matrix.len();
    let shift = SHIFT * matrix.norm();
    let entries = (0..n).flat_map(|i| {
        let lower = move |&(j, _): &(usize, f64)| j <= i;
        matrix.row(i).filter(lower).map(move |(j, v)| Triplet::new(i, j, if i == j { v + shift } else { v }))
    });
    let lower = SparseColMat::<usize, f64>::try_new_from_triplets(n, n, &entries.collect::<Vec<_>>())
        .map_err(|e| format!("{e:?}"))?;
    let start = Instant::now();
    let symbolic = SymbolicLlt::try_new(lower.symbolic(), Side::Lower).map_err(|e| format!("{e:?}"))?;
    let ordered = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let factor =
        Llt::try_new_with_symbolic(symbolic, lower.rb(), Side::Lower).map_err(|e| format!("{e:?}"))?;
    let factored = start.elapsed().as_secs_f64();
    let mut solved = Mat::from_fn(n, SIDES, |i, s| sides[i][s]);
    let start = Instant::now();
    factor.solve_in_place(&mut solved);
    let seconds = [ordered, factored, start.elapsed().as_secs_f64()];
    print(matrix, "faer", seconds, 0, |i, s| solved[(i, s)], sides);
    Ok(())
}

/// One row; the error is that of the first side, |A x - b| / (|A| |x|).
fn print(
    matrix: &CsrView<f64>,
    how: &str,
    [order, factor, solve]: [f64; 3],
    entries: usize,
    x: impl Fn(usize, usize) -> f64,
    sides: &[Row],
) {
    let n = matrix.len();
    let shift = SHIFT * matrix.norm();
    let left =
        |i: usize| matrix.row(i).map(|(j, v)| v * x(j, 0)).sum::<f64>() + shift * x(i, 0) - sides[i][0];
    let (error, size) =
        (0..n).fold((0.0_f64, 0.0_f64), |(e, s), i| (e.max(left(i).abs()), s.max(x(i, 0).abs())));
    let numbers = if entries > 0 { format!("{}", entries / n) } else { String::new() };
    let error = error / (matrix.norm() * size);
    println!("| {n} | {how} | {order:.3} | {factor:.3} | {solve:.3} | {numbers} | {error:.0e} |");
}
