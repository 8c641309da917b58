//! The definitions as plainly as loops say them: slow, and meant to be checked by reading.
//!
//! Notation: X_i (m x q) and Y_i (m x d) are the points of one neighborhood, H is centring.

use std::collections::{BTreeSet, VecDeque};

use nalgebra::{DMatrix, DVector};
use ndarray::{Array2, ArrayView1};
use unbend::Neighborhoods;

/// All points as (squared distance from `from`, index), in this order.
fn ranked_from(x: &Array2<f64>, from: ArrayView1<f64>) -> Vec<(f64, u32)> {
    let squared_distance = |j: usize| {
        let mut d2 = 0.0;
        for a in 0..x.ncols() {
            d2 += (from[a] - x[[j, a]]) * (from[a] - x[[j, a]]);
        }
        d2
    };
    let mut all: Vec<(f64, u32)> = (0..x.nrows()).map(|j| (squared_distance(j), j as u32)).collect();
    all.sort_by(|a, b| a.partial_cmp(b).unwrap());
    all
}

/// All points but `i`.
fn ranked(x: &Array2<f64>, i: usize) -> Vec<(f64, u32)> {
    let mut others = ranked_from(x, x.row(i));
    others.retain(|&(_, j)| j != i as u32);
    others
}

/// For every new point its `k` nearest as (distance, index).
pub fn query(x: &Array2<f64>, new: &Array2<f64>, k: usize) -> Vec<Vec<(f64, u32)>> {
    new.rows()
        .into_iter()
        .map(|from| ranked_from(x, from)[..k].iter().map(|&(d2, j)| (d2.sqrt(), j)).collect())
        .collect()
}

/// For every point its `k` nearest others as (distance, index).
pub fn nearest(x: &Array2<f64>, k: usize) -> Vec<Vec<(f64, u32)>> {
    (0..x.nrows()).map(|i| ranked(x, i)[..k].iter().map(|&(d2, j)| (d2.sqrt(), j)).collect()).collect()
}

/// For every point the ranks of all points about it, its own 0: a full sort of every row.
pub fn ranks(x: &Array2<f64>) -> Vec<Vec<u32>> {
    (0..x.nrows())
        .map(|i| {
            let mut ranks = vec![0; x.nrows()];
            ranked(x, i).iter().zip(1..).for_each(|(&(_, j), rank)| ranks[j as usize] = rank);
            ranks
        })
        .collect()
}

/// The rank measures with `k` neighbors, from the ranks in X and in Y of all pairs, as their papers state them.
#[derive(Debug, Default)]
pub struct RankMeasures {
    pub trustworthiness: f64,
    pub continuity: f64,
    pub q_nx: f64,
    pub r_nx: f64,
    pub lcmc: f64,
    pub mrre_false: f64,
    pub mrre_missing: f64,
    pub rand_index: f64,
}

pub fn rank_measures(in_x: &[Vec<u32>], in_y: &[Vec<u32>], k: usize) -> RankMeasures {
    let n = in_x.len();
    let (size, points, others) = (k as f64, n as f64, n as f64 - 1.0);
    let pairs = || (0..n).flat_map(move |i| (0..n).filter(move |&j| j != i).map(move |j| (i, j)));
    let near = |ranks: &[Vec<u32>], i: usize, j: usize| ranks[i][j] as usize <= k;
    let penalty = |own: &[Vec<u32>], other: &[Vec<u32>]| -> f64 {
        let strangers = pairs().filter(|&(i, j)| near(own, i, j) && !near(other, i, j));
        let sum: f64 = strangers.map(|(i, j)| f64::from(other[i][j]) - size).sum();
        let worst = if 2 * k < n {
            points * size * (2.0 * points - 3.0 * size - 1.0) / 2.0
        } else {
            points * (points - size) * (points - size - 1.0) / 2.0
        };
        if worst > 0.0 { 1.0 - sum / worst } else { 1.0 }
    };
    let shift = |own: &[Vec<u32>], other: &[Vec<u32>]| -> f64 {
        let near = pairs().filter(|&(i, j)| near(own, i, j));
        let sum: f64 =
            near.map(|(i, j)| f64::from(own[i][j].abs_diff(other[i][j])) / f64::from(own[i][j])).sum();
        let worst: f64 = (1..=k).map(|s| (points - 2.0 * s as f64).abs() / s as f64).sum();
        if worst > 0.0 { sum / (points * worst) } else { 0.0 }
    };
    let shared = pairs().filter(|&(i, j)| near(in_x, i, j) && near(in_y, i, j)).count() as f64;
    let alike = pairs().filter(|&(i, j)| near(in_x, i, j) == near(in_y, i, j)).count() as f64;
    let q = shared / (points * size);
    let chance = size / others;
    RankMeasures {
        trustworthiness: penalty(in_y, in_x),
        continuity: penalty(in_x, in_y),
        q_nx: q,
        r_nx: if k == n - 1 { 0.0 } else { (q - chance) / (1.0 - chance) },
        lcmc: q - chance,
        mrre_false: shift(in_y, in_x),
        mrre_missing: shift(in_x, in_y),
        rand_index: alike / (points * others),
    }
}

/// For every point the others at distance `radius` or less as (distance, index), in this order.
pub fn within(x: &Array2<f64>, radius: f64) -> Vec<Vec<(f64, u32)>> {
    (0..x.nrows())
        .map(|i| {
            let mut row: Vec<(f64, u32)> = ranked(x, i).iter().map(|&(d2, j)| (d2.sqrt(), j)).collect();
            row.retain(|&(distance, _)| distance <= radius);
            row.sort_by(|a, b| a.partial_cmp(b).unwrap());
            row
        })
        .collect()
}

/// The lists of a graph.
pub fn rows(graph: &Neighborhoods) -> Vec<Vec<u32>> {
    (0..graph.len()).map(|i| graph.of(i).to_vec()).collect()
}

/// Row pointer and indices of these lists.
pub fn ragged(rows: &[Vec<u32>]) -> (Vec<i64>, Vec<u32>) {
    let mut indptr = vec![0];
    rows.iter().for_each(|row| indptr.push(indptr[indptr.len() - 1] + row.len() as i64));
    (indptr, rows.concat())
}

pub fn symmetrized(rows: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut sets = vec![BTreeSet::new(); rows.len()];
    for (i, row) in rows.iter().enumerate() {
        for &j in row {
            sets[i].insert(j);
            sets[j as usize].insert(i as u32);
        }
    }
    sets.into_iter().map(|set| set.into_iter().collect()).collect()
}

/// Breadth-first search from every point not yet reached.
pub fn components(rows: &[Vec<u32>]) -> Vec<u32> {
    let both_ways = symmetrized(rows);
    let mut labels = vec![u32::MAX; rows.len()];
    let mut count = 0;
    for start in 0..rows.len() {
        if labels[start] != u32::MAX {
            continue;
        }
        labels[start] = count;
        let mut queue = VecDeque::from([start]);
        while let Some(i) = queue.pop_front() {
            for &j in &both_ways[i] {
                if labels[j as usize] == u32::MAX {
                    labels[j as usize] = count;
                    queue.push_back(j as usize);
                }
            }
        }
        count += 1;
    }
    labels
}

/// How many steps every point is from `start` on the undirected graph; `None` in other components.
fn steps_from(start: usize, both_ways: &[Vec<u32>]) -> Vec<Option<usize>> {
    let mut steps = vec![None; both_ways.len()];
    steps[start] = Some(0);
    let mut queue = VecDeque::from([start]);
    while let Some(i) = queue.pop_front() {
        for &j in &both_ways[i] {
            if steps[j as usize].is_none() {
                steps[j as usize] = steps[i].map(|s| s + 1);
                queue.push_back(j as usize);
            }
        }
    }
    steps
}

/// For each point the share of its nearest embedded points more than `far` steps away. As many are looked at as
/// neighborhoods have members in the rounded mean, at least one, if the component has as many others.
pub fn overlap(y: &Array2<f64>, graph: &[Vec<u32>], far: usize) -> Vec<f64> {
    let both_ways = symmetrized(graph);
    let listed: usize = graph.iter().map(Vec::len).sum();
    let mean = ((listed as f64 / graph.len() as f64).round() as usize).max(1);
    (0..graph.len())
        .map(|i| {
            let steps = steps_from(i, &both_ways);
            let others = steps.iter().flatten().count() - 1;
            let nearest: Vec<_> = ranked(y, i).into_iter().take(mean.min(others)).collect();
            let distant = nearest.iter().filter(|(_, j)| steps[*j as usize].is_none_or(|s| s > far));
            if nearest.is_empty() { 0.0 } else { distant.count() as f64 / nearest.len() as f64 }
        })
        .collect()
}

/// Between all points along the undirected graph, edges as long as their ends are apart (Floyd & Warshall).
pub fn graph_distances(x: &Array2<f64>, graph: &[Vec<u32>]) -> Array2<f64> {
    let n = x.nrows();
    let mut d = Array2::from_elem((n, n), f64::INFINITY);
    for i in 0..n {
        d[[i, i]] = 0.0;
        for &j in &graph[i] {
            let length = distance(x, i, j as usize);
            (d[[i, j as usize]], d[[j as usize, i]]) = (length, length);
        }
    }
    for through in 0..n {
        for i in 0..n {
            for j in 0..n {
                d[[i, j]] = d[[i, j]].min(d[[i, through]] + d[[through, j]]);
            }
        }
    }
    d
}

pub fn distance(x: &Array2<f64>, i: usize, j: usize) -> f64 {
    (0..x.ncols()).map(|a| (x[[i, a]] - x[[j, a]]).powi(2)).sum::<f64>().sqrt()
}

/// Pearson's, of pairs.
pub fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let n = pairs.len() as f64;
    let (a, b) = (pairs.iter().map(|p| p.0).sum::<f64>() / n, pairs.iter().map(|p| p.1).sum::<f64>() / n);
    let sum = |f: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|p| f(p.0 - a, p.1 - b)).sum::<f64>();
    sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt()
}

/// Ranks from 1, ties with the mean of theirs.
pub fn mid_ranks(values: &[f64]) -> Vec<f64> {
    let rank = |v: &f64| {
        let below = values.iter().filter(|w| *w < v).count();
        let equal = values.iter().filter(|w| *w == v).count();
        below as f64 + (equal as f64 + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

/// sqrt(sum (x - c y)^2 / sum x^2).
pub fn stress(pairs: &[(f64, f64)], c: f64) -> f64 {
    let left: f64 = pairs.iter().map(|(x, y)| (x - c * y).powi(2)).sum();
    (left / pairs.iter().map(|(x, _)| x * x).sum::<f64>()).sqrt()
}

/// The factor for y that leaves least of x.
pub fn best_factor(pairs: &[(f64, f64)]) -> f64 {
    pairs.iter().map(|(x, y)| x * y).sum::<f64>() / pairs.iter().map(|(_, y)| y * y).sum::<f64>()
}

/// H X_i, computed about the first point so that an offset costs no digits.
pub fn centered(x: &Array2<f64>, members: &[usize]) -> DMatrix<f64> {
    let m = members.len();
    let mut h = DMatrix::from_fn(m, x.ncols(), |p, a| x[[members[p], a]] - x[[members[0], a]]);
    for a in 0..x.ncols() {
        let mean = h.column(a).sum() / m as f64;
        h.column_mut(a).add_scalar_mut(-mean);
    }
    h
}

/// Z = U diag(s) V' with s from the largest down and min(rows, columns) columns in U and V.
pub struct Svd {
    pub u: DMatrix<f64>,
    pub s: Vec<f64>,
    pub v: DMatrix<f64>,
}

/// By one-sided Jacobi rotations, which need no reduction whose rounding one would have to trust; what
/// comes out is checked here. (Vectors of nalgebra's decomposition can be off by 1e-4.)
pub fn svd(z: &DMatrix<f64>) -> Svd {
    if z.nrows() < z.ncols() {
        let Svd { u, s, v } = svd(&z.transpose());
        return Svd { u: v, s, v: u };
    }
    let scale = z.amax().max(f64::MIN_POSITIVE);
    let (mut a, mut v) = (z / scale, DMatrix::identity(z.ncols(), z.ncols()));
    for _ in 0..30 {
        for i in 0..a.ncols() {
            for j in i + 1..a.ncols() {
                let off = a.column(i).dot(&a.column(j));
                if off != 0.0 {
                    let angle =
                        0.5 * (2.0 * off).atan2(a.column(i).norm_squared() - a.column(j).norm_squared());
                    turn(&mut a, i, j, angle);
                    turn(&mut v, i, j, angle);
                }
            }
        }
    }
    let mut order: Vec<usize> = (0..a.ncols()).collect();
    order.sort_by(|&i, &j| a.column(j).norm().total_cmp(&a.column(i).norm()));
    let (a, v) = (a.select_columns(&order), v.select_columns(&order));
    let lengths: Vec<f64> = a.column_iter().map(|column| column.norm()).collect();
    let mut u = a.clone();
    for j in 0..a.ncols() {
        let unit = if lengths[j] > 1e-14 * lengths[0] { a.column(j) / lengths[j] } else { outside(&u, j) };
        u.set_column(j, &unit);
    }
    let is_orthonormal =
        |m: &DMatrix<f64>| (m.transpose() * m - DMatrix::identity(m.ncols(), m.ncols())).amax() < 1e-13;
    assert!(is_orthonormal(&u) && is_orthonormal(&v));
    assert!(
        (&u * DMatrix::from_diagonal(&lengths.clone().into()) * v.transpose() - z / scale).amax() < 1e-13
    );
    Svd { u, s: lengths.iter().map(|length| length * scale).collect(), v }
}

/// Turns columns `i` and `j` towards each other.
fn turn(m: &mut DMatrix<f64>, i: usize, j: usize, angle: f64) {
    let (sin, cos) = angle.sin_cos();
    for row in 0..m.nrows() {
        let (x, y) = (m[(row, i)], m[(row, j)]);
        m[(row, i)] = cos * x + sin * y;
        m[(row, j)] = cos * y - sin * x;
    }
}

/// A unit vector orthogonal to the first `j` columns: of all axes, what is left of the one with most left.
fn outside(u: &DMatrix<f64>, j: usize) -> DVector<f64> {
    let known = u.columns(0, j);
    let left = |v: &DVector<f64>| v - known * (known.transpose() * v);
    let axis = |a| DVector::from_fn(u.nrows(), |row, _| f64::from(row == a));
    let rest = (0..u.nrows()).map(|a| left(&axis(a))).max_by(|a, b| a.norm().total_cmp(&b.norm())).unwrap();
    left(&rest.normalize()).normalize()
}

/// A = U V' for Z = U L V', and the sum of the singular values.
fn best_rotation(x: &DMatrix<f64>, y: &DMatrix<f64>) -> (DMatrix<f64>, f64) {
    let Svd { u, s, v } = svd(&(x.transpose() * y));
    (u * v.transpose(), s.iter().sum())
}

/// G, eq. 1, of centered sets.
pub fn procrustes(x: &DMatrix<f64>, y: &DMatrix<f64>) -> f64 {
    let (a, _) = best_rotation(x, y);
    (x - y * a.transpose()).norm_squared()
}

/// G_C and the scale that attains it.
fn conformal(x: &DMatrix<f64>, y: &DMatrix<f64>) -> (f64, f64) {
    let (a, overlap) = best_rotation(x, y);
    let y2 = y.norm_squared();
    let c = if y2 == 0.0 { 0.0 } else { overlap / y2 };
    ((x - y * a.transpose() * c).norm_squared(), c)
}

/// Theta_i = H X_i P_i (columns without extent are 0), its extents, and |H X_i - Theta_i P_i'|^2.
pub fn tangent(x: &DMatrix<f64>, d: usize) -> (DMatrix<f64>, Vec<f64>, f64) {
    let Svd { s, v, .. } = svd(x);
    let mut chart = DMatrix::zeros(x.nrows(), d);
    let mut rest = x.clone();
    let mut extents = vec![0.0; d];
    for j in 0..d.min(s.len()) {
        chart.set_column(j, &(x * v.column(j)));
        rest -= chart.column(j) * v.column(j).transpose();
        extents[j] = s[j];
    }
    (chart, extents, rest.norm_squared())
}

/// Where `new` goes with the listed points, the error, and whether their rotation is decided: whether the
/// least singular value of S'HT is some share of the largest.
pub fn carried(
    source: &Array2<f64>,
    target: &Array2<f64>,
    new: ArrayView1<f64>,
    list: &[usize],
) -> (DVector<f64>, f64, bool) {
    let (s, t) = (centered(source, list), centered(target, list));
    let row = |x: &Array2<f64>, i: usize| DVector::from_fn(x.ncols(), |a, _| x[[i, a]]);
    // means by way of the first point, which lies at the first row of the centered ones
    let offset = DVector::from_fn(new.len(), |a, _| new[a] - source[[list[0], a]]) + s.row(0).transpose();
    let start = row(target, list[0]) - t.row(0).transpose();
    let (narrows, k) = (source.ncols() >= target.ncols(), list.len() as f64);
    let (x, y) = if narrows { (&s, &t) } else { (&t, &s) };
    let (a, _) = best_rotation(x, y);
    let values = svd(&(x.transpose() * y)).s;
    let decided = values[values.len() - 1] > 1e-4 * values[0];
    let image = if narrows { a.transpose() * offset } else { &a * offset };
    (start + image, ((x - y * a.transpose()).norm_squared() / k).sqrt(), decided)
}

/// What is said of one neighborhood.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    pub r: f64,
    pub r_n: f64,
    pub r_c: f64,
    pub r_pca: f64,
    pub bound: f64,
    pub stretch_max: f64,
    pub stretch_min: f64,
    pub area: f64,
    /// Whether the tangent is one plane: data symmetric about an axis may have many.
    pub has_tangent: bool,
    weight: f64,
    scale: f64,
}

/// What is said of all.
#[derive(Debug, Clone)]
pub struct Summary {
    pub r: f64,
    pub r_n: f64,
    pub r_c: f64,
    pub r_pca: f64,
    pub lower_bound: f64,
    pub scale: f64,
    pub r_n_scaled: f64,
    pub n_degenerate: usize,
    pub per_point: Vec<Measured>,
}

pub fn members(graph: &[Vec<u32>], i: usize, include_self: bool) -> Vec<usize> {
    let own = include_self.then_some(i);
    own.into_iter().chain(graph[i].iter().map(|&j| j as usize)).collect()
}

fn measured(x: &DMatrix<f64>, y: &DMatrix<f64>) -> Measured {
    let (x2, y2) = (x.norm_squared(), y.norm_squared());
    if x2 == 0.0 {
        let (error, stretch) = if y2 == 0.0 { (0.0, 1.0) } else { (f64::INFINITY, f64::INFINITY) };
        return Measured {
            r: y2,
            r_n: error,
            r_c: error,
            r_pca: y2,
            stretch_max: stretch,
            stretch_min: stretch,
            area: stretch,
            has_tangent: true,
            ..Measured::default()
        };
    }
    let d = y.ncols();
    let (chart, extents, residual) = tangent(x, d);
    let next = svd(x).s.get(d).copied().unwrap_or(0.0);
    let gap = extents[d - 1].powi(2) - next.powi(2);
    let (g_c, scale) = conformal(x, y);
    // The linear map from the chart to Y_i, one row for each direction in which the chart has extent.
    let real: Vec<usize> = (0..d).filter(|&j| extents[j] > 1e-10 * extents[0]).collect();
    let map = DMatrix::from_fn(real.len(), d, |row, b| {
        chart.column(real[row]).dot(&y.column(b)) / extents[real[row]].powi(2)
    });
    let stretches = svd(&map).s;
    Measured {
        r: procrustes(x, y),
        r_n: procrustes(x, y) / x2,
        r_c: g_c / x2,
        r_pca: procrustes(&chart, y),
        bound: residual / x2,
        stretch_max: stretches[0],
        stretch_min: stretches[stretches.len() - 1],
        area: stretches.iter().product(),
        has_tangent: gap > 1e-3 * extents[0].powi(2) || extents[d - 1] < 1e-10 * extents[0],
        weight: y2 / x2,
        scale,
    }
}

pub fn faithfulness(x: &Array2<f64>, y: &Array2<f64>, graph: &[Vec<u32>], include_self: bool) -> Summary {
    let per_point: Vec<Measured> = (0..graph.len())
        .map(|i| match members(graph, i, include_self) {
            none if none.is_empty() => measured(&DMatrix::zeros(1, x.ncols()), &DMatrix::zeros(1, y.ncols())),
            members => measured(&centered(x, &members), &centered(y, &members)),
        })
        .collect();
    let counted: Vec<&Measured> = per_point.iter().filter(|p| p.r_n.is_finite()).collect();
    let mean = |f: &dyn Fn(&Measured) -> f64| match counted.len() {
        0 => f64::INFINITY,
        count => counted.iter().map(|p| f(p)).sum::<f64>() / count as f64,
    };
    let mean_of_all =
        |f: &dyn Fn(&Measured) -> f64| per_point.iter().map(f).sum::<f64>() / graph.len() as f64;
    let weight: f64 = counted.iter().map(|p| p.weight).sum();
    let weighted: f64 = counted.iter().map(|p| p.weight * p.scale).sum();
    let scale = if weight > 0.0 { weighted / weight } else { 0.0 };
    Summary {
        r: mean_of_all(&|p| p.r),
        r_n: mean(&|p| p.r_n),
        r_c: mean(&|p| p.r_c),
        r_pca: mean_of_all(&|p| p.r_pca),
        lower_bound: if counted.is_empty() { 0.0 } else { mean(&|p| p.bound) },
        scale,
        r_n_scaled: mean(&|p| p.r_c + p.weight * (scale - p.scale).powi(2)),
        n_degenerate: per_point.len() - counted.len(),
        per_point,
    }
}

/// Greedy Procrustes, section 4.1, from `start`; equal counts in the order in which they were reached. For data whose
/// points are all reached this way.
///
/// `steadied`: in charts instead of whole neighborhoods; to what the overlap says of the turn is added what the turns
/// before say of it, and points where the fit has more than twice the variance of an embedded one are left to others;
/// where that is the neighborhood's own, it waits until more of it is embedded.
///
/// Also returns the fewest points that a neighborhood shared with those before it.
pub fn greedy(
    x: &Array2<f64>,
    graph: &[Vec<u32>],
    start: usize,
    d: usize,
    steadied: bool,
) -> (DMatrix<f64>, usize) {
    let (n, q) = x.dim();
    let offset = |p: usize, i: usize| DVector::from_fn(q, |a, _| x[[p, a]] - x[[i, a]]);
    let basis = |i: usize| svd(&centered(x, &members(graph, i, true))).v.columns(0, d).into_owned();
    let mut y = DMatrix::zeros(n, d);
    // which neighborhood embedded each point, its frame, and when one of the point's neighbors last was embedded
    let (mut placer, mut frames, mut reached) = (vec![None; n], vec![DMatrix::zeros(q, d); n], vec![0; n]);
    let (mut put_off, mut fewest) = (vec![0; n], n);
    let (mut j, mut placed, mut clock) = (start, members(graph, start, true), 0);
    frames[start] = basis(start);
    placed.iter().for_each(|&p| y.set_row(p, &(frames[start].transpose() * offset(p, start)).transpose()));
    loop {
        for &p in &placed {
            clock += 1;
            placer[p] = Some(j);
            (0..n).filter(|&r| graph[r].contains(&(p as u32))).for_each(|r| reached[r] = clock);
        }
        let count = |p: usize| graph[p].iter().filter(|&&r| placer[r as usize].is_some()).count();
        let rest = (0..n).filter(|&p| placer[p].is_none() && count(p) > put_off[p]);
        let Some(next) = rest.max_by_key(|&p| (count(p), -reached[p], -(p as i64))) else {
            return (y, fewest);
        };
        j = next;
        let own = if steadied { basis(j) } else { DMatrix::identity(q, q) };
        let (overlap, others): (Vec<_>, Vec<_>) =
            members(graph, j, true).into_iter().partition(|&p| placer[p].is_some());
        fewest = fewest.min(overlap.len());
        let t = centered(x, &overlap) * &own;
        let images = y.select_rows(&overlap);
        let mean = images.row_mean();
        let about_mean = DMatrix::from_fn(overlap.len(), d, |p, b| images[(p, b)] - mean[b]);
        let mut product = t.transpose() * about_mean;
        if steadied {
            let extent2 = (centered(x, &members(graph, j, true)) * &own).norm_squared();
            for &p in &overlap {
                product += own.transpose() * &frames[placer[p].unwrap()] * (extent2 / overlap.len() as f64);
            }
        }
        let Svd { u, v, .. } = svd(&product);
        let turn = u * v.transpose();
        let place = |p: usize| own.transpose() * offset(p, overlap[0]) + t.row(0).transpose();
        let uncertain = |p: usize| 1.0 / overlap.len() as f64 + place(p).norm_squared() / t.norm_squared();
        placed = Vec::new();
        if steadied && uncertain(j) > 2.0 {
            put_off[j] = count(j);
            continue;
        }
        for p in others {
            if !steadied || uncertain(p) <= 2.0 {
                let at = place(p);
                y.set_row(p, &(&mean + (turn.transpose() * at).transpose()));
                placed.push(p);
            }
        }
        frames[j] = own * turn;
    }
}

/// w_i for refinement: 1, or 1 / |H X_i|^2, which for neighborhoods without extent is that of the usual one.
pub fn refinement_weights(x: &Array2<f64>, graph: &[Vec<u32>], normalized: bool) -> Vec<f64> {
    if !normalized {
        return vec![1.0; graph.len()];
    }
    let norms2: Vec<f64> =
        (0..graph.len()).map(|i| centered(x, &members(graph, i, true)).norm_squared()).collect();
    let mut real: Vec<f64> = norms2.iter().copied().filter(|&norm2| norm2 > 0.0).collect();
    real.sort_by(f64::total_cmp);
    let usual = real.get(real.len() / 2).copied().unwrap_or(1.0);
    norms2.iter().map(|&norm2| 1.0 / if norm2 > 1e-12 * usual { norm2 } else { usual }).collect()
}

/// The sum of w_i H_i, n x n.
pub fn centering(graph: &[Vec<u32>], weights: &[f64]) -> DMatrix<f64> {
    let mut sum = DMatrix::zeros(graph.len(), graph.len());
    for (i, weight) in weights.iter().enumerate() {
        let members = members(graph, i, true);
        for &p in &members {
            sum[(p, p)] += weight;
            members.iter().for_each(|&r| sum[(p, r)] -= weight / members.len() as f64);
        }
    }
    sum
}

/// The sum of w_i H_i X A_i with the best frames, the mean of w_i G, and whether every frame is decided.
pub fn frames(
    x: &Array2<f64>,
    y: &Array2<f64>,
    graph: &[Vec<u32>],
    weights: &[f64],
) -> (DMatrix<f64>, f64, bool) {
    let (mut sides, mut objective, mut decided) = (DMatrix::zeros(x.nrows(), y.ncols()), 0.0, true);
    for (i, weight) in weights.iter().enumerate() {
        let members = members(graph, i, true);
        let (hx, hy) = (centered(x, &members), centered(y, &members));
        let values = svd(&(hx.transpose() * &hy)).s;
        decided &= values[values.len() - 1] > 1e-6 * values[0];
        let turned = &hx * best_rotation(&hx, &hy).0;
        for (m, &p) in members.iter().enumerate() {
            (0..y.ncols()).for_each(|b| sides[(p, b)] += weight * turned[(m, b)]);
        }
        objective += weight * procrustes(&hx, &hy);
    }
    (sides, objective / weights.len() as f64, decided)
}

/// f of eq. 9 for the frames A_i.
pub fn eq_9(frames: &[DMatrix<f64>], graph: &[Vec<u32>]) -> f64 {
    let pairs = graph.iter().enumerate().flat_map(|(i, row)| row.iter().map(move |&j| (i, j as usize)));
    pairs.map(|(i, j)| (&frames[i] - &frames[j]).norm_squared()).sum()
}

/// ASIM of centered sets (Zhang, Ren & Zhang, eq. 7, 14), by ascent from many random frames: as the sum of squares is
/// convex in P, the orthogonal matrix nearest to its gradient is never worse.
pub fn asim(x: &DMatrix<f64>, y: &DMatrix<f64>, starts: u64) -> f64 {
    let kept: Vec<usize> = (0..y.ncols()).filter(|&j| y.column(j).norm() > 0.0).collect();
    let mut unit = y.select_columns(&kept);
    unit.column_iter_mut().for_each(|mut column| column /= column.norm());
    let m = x.transpose() * &unit / x.norm();
    let sum = |p: &DMatrix<f64>| (0..m.ncols()).map(|j| p.column(j).dot(&m.column(j)).powi(2)).sum::<f64>();
    let nearest = |z: &DMatrix<f64>| {
        let Svd { u, v, .. } = svd(z);
        u * v.transpose()
    };
    let mut best = 0.0f64;
    for start in 0..starts {
        let random = crate::clouds::gaussian(m.nrows(), m.ncols(), 7000 + start);
        let mut p = nearest(&DMatrix::from_fn(m.nrows(), m.ncols(), |a, j| random[[a, j]]));
        for _ in 0..3000 {
            let before = sum(&p);
            let gradient =
                DMatrix::from_fn(m.nrows(), m.ncols(), |a, j| m[(a, j)] * p.column(j).dot(&m.column(j)));
            p = nearest(&gradient);
            if sum(&p) - before < 1e-15 {
                break;
            }
        }
        best = best.max(sum(&p));
    }
    1.0 - best
}
