//! Pruning and local projection: against plain loops, and on data whose short circuits are known.

use nalgebra::DMatrix;
use ndarray::{Array2, Axis, concatenate};
use unbend::charts::{Pruned, projected, prune, settled};
use unbend::synthetic::{SwissRoll, swiss_roll};
use unbend::{Neighborhoods, Unmonitored};

use crate::clouds::*;
use crate::embed::align::{nearest, points};
use crate::{naive, on_threads};

fn roll(n: usize, noise: f64, seed: u64) -> (Array2<f64>, Array2<f64>) {
    let sample = swiss_roll(n, &SwissRoll { noise, ..SwissRoll::default() }, seed, &Unmonitored).unwrap();
    (sample.x, sample.coordinates)
}

fn pruned(x: &Array2<f64>, graph: &Neighborhoods, d: usize) -> Pruned {
    prune(&points(x), graph, d, &Unmonitored).unwrap()
}

fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share).round() as usize]
}

/// The basis of the neighbors that count, found twice: the second time without those far off the plane.
fn trimmed(x: &Array2<f64>, i: usize, trusted: &[u32], d: usize) -> DMatrix<f64> {
    let fit = |list: &[u32]| {
        let members: Vec<usize> = std::iter::once(i).chain(list.iter().map(|&j| j as usize)).collect();
        let h = naive::centered(x, &members);
        let basis = naive::svd(&h).v.columns(0, d).into_owned();
        let rest = &h - &h * &basis * basis.transpose();
        (basis, rest.row_iter().skip(1).map(|row| row.norm()).collect::<Vec<f64>>())
    };
    let (basis, off) = fit(trusted);
    let most = 3.0 * quantile(off.clone(), 0.5) + f64::MIN_POSITIVE;
    let near: Vec<u32> = trusted.iter().zip(&off).filter(|(_, off)| **off <= most).map(|(&j, _)| j).collect();
    if near.len() > d && near.len() < trusted.len() { fit(&near).0 } else { basis }
}

/// The definition at the head of `prune.rs`, edge by edge.
fn pruned_by_definition(x: &Array2<f64>, lists: &[Vec<u32>], d: usize) -> Vec<Vec<bool>> {
    let edges: Vec<(usize, u32)> =
        lists.iter().enumerate().flat_map(|(i, list)| list.iter().map(move |&j| (i, j))).collect();
    let (mut doubtful, mut wrong) = (vec![0.0; edges.len()], vec![0.0; edges.len()]);
    for _ in 0..3 {
        let basis = |i: usize| {
            let own: Vec<(f64, u32)> = edges
                .iter()
                .zip(&doubtful)
                .filter(|((from, _), _)| *from == i)
                .map(|((_, to), &v)| (v, *to))
                .collect();
            let mut sorted: Vec<f64> = own.iter().map(|edge| edge.0).collect();
            sorted.sort_by(f64::total_cmp);
            let limit = sorted[d.min(sorted.len() - 1)].max(1.0);
            let trusted: Vec<u32> = own.iter().filter(|edge| edge.0 <= limit).map(|edge| edge.1).collect();
            trimmed(x, i, &trusted, d)
        };
        let bases: Vec<DMatrix<f64>> = (0..x.nrows()).map(basis).collect();
        let measure = |&(i, j): &(usize, u32)| {
            let step = DMatrix::from_fn(x.ncols(), 1, |a, _| x[[j as usize, a]] - x[[i, a]]);
            let off = |p: &DMatrix<f64>| {
                (1.0 - (p.transpose() * &step).norm_squared() / step.norm_squared()).max(0.0).sqrt()
            };
            let cosines = naive::svd(&(bases[i].transpose() * &bases[j as usize])).s;
            let least = cosines.iter().copied().fold(1.0, f64::min);
            (off(&bases[i]).max(off(&bases[j as usize])), (1.0 - least * least).max(0.0).sqrt())
        };
        let measured: Vec<(f64, f64)> = edges.iter().map(measure).collect();
        let (off, angle): (Vec<f64>, Vec<f64>) = measured.iter().copied().unzip();
        let limit = |values: &[f64], multiple: f64, least: f64| {
            let (low, high) = (quantile(values.to_vec(), 0.25), quantile(values.to_vec(), 0.75));
            (high + multiple * (high - low)).max(least)
        };
        let against = |multiple: f64, least: f64| -> Vec<f64> {
            let (a, b) = (limit(&off, multiple, least), limit(&angle, multiple, 2.0 * least));
            measured.iter().map(|m| (m.0 / a).max(m.1 / b)).collect()
        };
        (doubtful, wrong) = (against(1.5, 0.15), against(4.0, 0.3));
    }
    let mut kept: Vec<bool> = doubtful.iter().map(|v| *v <= 1.0).collect();
    let graph = |kept: &[bool]| {
        let mut lists = vec![Vec::new(); x.nrows()];
        edges.iter().zip(kept).filter(|(_, kept)| **kept).for_each(|(&(i, j), _)| lists[i].push(j));
        lists
    };
    let mut order: Vec<usize> = (0..edges.len()).filter(|&e| !kept[e] && wrong[e] <= 1.0).collect();
    order.sort_by(|&a, &b| doubtful[a].total_cmp(&doubtful[b]));
    for e in order {
        let labels = naive::components(&graph(&kept));
        kept[e] = labels[edges[e].0] != labels[edges[e].1 as usize];
    }
    let paths = naive::graph_distances(x, &graph(&kept));
    let supported =
        |&(i, j): &(usize, u32)| paths[[i, j as usize]] <= 3.0 * naive::distance(x, i, j as usize);
    let all: Vec<bool> = edges.iter().zip(&kept).map(|(edge, kept)| *kept || supported(edge)).collect();
    let mut flags = all.into_iter();
    lists.iter().map(|list| list.iter().map(|_| !flags.next().unwrap()).collect()).collect()
}

#[test]
fn edges_are_dropped_as_defined() {
    for (n, k, noise, seed) in [(250, 7, 0.0, 1), (250, 8, 0.3, 2), (180, 6, 0.0, 3)] {
        let (x, _) = roll(n, noise, seed);
        let graph = nearest(&x, k);
        let flags = pruned_by_definition(&x, &naive::rows(&graph), 2).concat();
        assert_eq!(pruned(&x, &graph, 2).dropped, flags, "n = {n}, noise {noise}");
        assert!(flags.iter().any(|dropped| *dropped), "no edge tests the rule");
    }
}

/// A roll with three more dimensions, in 70 columns.
fn wide_roll(n: usize, seed: u64) -> Array2<f64> {
    let (x, _) = roll(n, 0.0, seed);
    concatenate![Axis(1), x, gaussian(n, 3, seed)].dot(&gaussian(6, 70, seed + 1))
}

#[test]
fn edges_of_wide_data_are_dropped_as_defined() {
    let x = wide_roll(150, 5);
    let graph = nearest(&x, 14);
    let flags = pruned_by_definition(&x, &naive::rows(&graph), 5).concat();
    assert_eq!(pruned(&x, &graph, 5).dropped, flags);
    assert!(flags.iter().any(|dropped| *dropped), "no edge tests the rule");
}

#[test]
fn short_circuits_of_a_sparse_roll_are_dropped() {
    let (mut wrong, mut left) = (0, 0);
    for seed in 0..8 {
        let (x, truth) = roll(500, 0.0, seed);
        let graph = nearest(&x, 12);
        let found = pruned(&x, &graph, 2);
        for (i, list) in naive::rows(&graph).iter().enumerate() {
            for (&j, dropped) in list.iter().zip(&found.dropped[graph.start(i)..]) {
                let short = naive::distance(&truth, i, j as usize) > 3.0 * naive::distance(&x, i, j as usize);
                wrong += usize::from(short);
                left += usize::from(short && !dropped);
            }
        }
    }
    assert!(wrong > 30 && left * 20 <= wrong, "{left} of {wrong} short circuits are left");
}

#[test]
fn flat_and_degenerate_data_lose_nothing() {
    for kind in CLOUDS {
        let x = double(kind, 60, 3, 7);
        let found = pruned(&x, &nearest(&x, 8), 3);
        assert!(found.dropped.iter().all(|dropped| !dropped), "{kind:?} in its own dimension");
        assert!(found.off_tangent.is_finite() && found.angle.is_finite());
        let thin = pruned(&x, &nearest(&x, 8), 1);
        assert!(thin.off_tangent.is_finite() && thin.angle.is_finite(), "{kind:?}");
    }
}

#[test]
fn outliers_lose_their_edges() {
    let (x, _) = roll(1000, 0.0, 5);
    let far = Array2::from_shape_vec((2, 3), vec![0.0, 10.0, 0.5, 3.0, 5.0, -2.0]).unwrap();
    let x = concatenate![Axis(0), far, x];
    let graph = nearest(&x, 10);
    let found = pruned(&x, &graph, 2);
    for i in 0..2 {
        assert!(found.dropped[graph.start(i)..][..10].iter().all(|dropped| *dropped), "outlier {i}");
    }
}

fn by_definition(x: &Array2<f64>, lists: &[Vec<u32>], d: usize) -> Array2<f64> {
    let (n, q) = x.dim();
    let planes: Vec<_> = (0..n)
        .map(|i| {
            let members = naive::members(lists, i, true);
            let basis = naive::svd(&naive::centered(x, &members)).v.columns(0, d).into_owned();
            let mean: Vec<f64> = (0..q)
                .map(|a| members.iter().map(|&p| x[[p, a]]).sum::<f64>() / members.len() as f64)
                .collect();
            (mean, basis)
        })
        .collect();
    let mut moved = Array2::zeros((n, q));
    for i in 0..n {
        let holding: Vec<usize> = (0..n).filter(|&c| c == i || lists[c].contains(&(i as u32))).collect();
        for &c in &holding {
            let (mean, basis) = &planes[c];
            let off = DMatrix::from_fn(q, 1, |a, _| x[[i, a]] - mean[a]);
            let along = basis * (basis.transpose() * off);
            (0..q).for_each(|a| moved[[i, a]] += (mean[a] + along[a]) / holding.len() as f64);
        }
    }
    moved
}

#[test]
fn points_move_to_the_mean_of_their_projections() {
    for (n, q, d, k) in [(80, 3, 2, 8), (60, 5, 2, 9), (40, 30, 2, 10), (40, 3, 1, 5)] {
        let x = gaussian(n, q, 900);
        let graph = nearest(&x, k);
        let moved = projected(&points(&x), &graph, d, &Unmonitored).unwrap();
        let twin = by_definition(&x, &naive::rows(&graph), d);
        let off = moved.iter().zip(&twin).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 1e-9, "n = {n}, q = {q}, d = {d}: {off:e}");
    }
}

/// The distance of each point to the roll, from a dense sample of it.
fn off_surface(moved: &Array2<f64>) -> f64 {
    let (dense, _) = roll(40_000, 0.0, 77);
    let found =
        unbend::neighbors::query(&points(&dense), &points(moved), 1, Default::default(), &Unmonitored);
    let distances = found.unwrap().distances;
    (distances.iter().map(|d| d * d).sum::<f64>() / distances.len() as f64).sqrt()
}

#[test]
fn noise_shrinks_by_half_and_more() {
    let (x, _) = roll(3000, 0.5, 4);
    let moved = projected(&points(&x), &nearest(&x, 16), 2, &Unmonitored).unwrap();
    let moved = Array2::from_shape_vec(x.dim(), moved).unwrap();
    let (before, after) = (off_surface(&x), off_surface(&moved));
    assert!(after < 0.5 * before, "{before} to {after}");
    let lists: Vec<u32> = naive::query(&x, &x.select(Axis(0), &(0..50).collect::<Vec<_>>()), 33)
        .iter()
        .flat_map(|list| list[1..].iter().map(|(_, j)| *j))
        .collect();
    let rows: Vec<u32> = (0..50).collect();
    let some = settled(&points(&x), &rows, &lists, 32, 2, &Unmonitored).unwrap();
    let some = Array2::from_shape_vec((50, 3), some).unwrap();
    assert!(off_surface(&some) < 0.5 * before);
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let (x, _) = roll(1500, 0.2, 6);
    let graph = nearest(&x, 12);
    let run = || {
        let found = pruned(&x, &graph, 2);
        let moved = projected(&points(&x), &graph, 2, &Unmonitored).unwrap();
        (found.dropped, found.off_tangent.to_bits(), found.angle.to_bits(), moved)
    };
    assert_eq!(on_threads(1, run), on_threads(3, run));
}

#[test]
fn wrong_arguments_are_refused() {
    let (x, _) = roll(60, 0.0, 6);
    let graph = nearest(&x, 5);
    assert!(prune(&points(&x), &graph, 0, &Unmonitored).is_err());
    assert!(prune(&points(&x), &graph, 4, &Unmonitored).is_err());
    let fewer = x.select(Axis(0), &(0..50).collect::<Vec<_>>());
    assert!(projected(&points(&fewer), &graph, 2, &Unmonitored).is_err());
    assert!(settled(&points(&x), &[1, 2], &[3, 4, 5], 2, 2, &Unmonitored).is_err());
}
