//! Tangents from many points: against plain means of projectors, and against noise.

use nalgebra::DMatrix;
use ndarray::Array2;
use unbend::charts::{Atlas, Mean, Net, tangent_scale};
use unbend::embed::align::{Connection, blocks, round, tree};
use unbend::embed::{Objective, Refiner, frames_of, place};
use unbend::synthetic::{SwissRoll, cylinder, hemisphere, s_curve, swiss_roll};
use unbend::{Error, Monitor, Neighborhoods, Result, Unmonitored};

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::clouds::*;
use crate::embed::align::{nearest, points, random_rotations};
use crate::shapes::*;
use crate::{naive, on_threads};

fn net(x: &Array2<f64>, d: usize, k: usize) -> Net {
    Net::new(&points(x), d, k, 0, &Unmonitored).unwrap()
}

fn tangents(net: &Net, n: usize, q: usize, d: usize) -> Vec<DMatrix<f64>> {
    let (mut mean, mut basis) = (Mean::default(), vec![f64::NAN; q * d]);
    let tangent = |i| {
        net.tangent(i, &mut mean, &mut basis);
        DMatrix::from_column_slice(q, d, &basis)
    };
    (0..n).map(tangent).collect()
}

fn projector(p: &DMatrix<f64>) -> DMatrix<f64> {
    p * p.transpose()
}

/// The sine of the largest angle between two tangents.
fn apart(a: &DMatrix<f64>, b: &DMatrix<f64>) -> f64 {
    naive::svd(&(a - b * (b.transpose() * a))).s[0]
}

fn roll(n: usize, noise: f64, seed: u64) -> Array2<f64> {
    swiss_roll(n, &SwissRoll { noise, ..SwissRoll::default() }, seed, &Unmonitored).unwrap().x
}

#[test]
fn tangents_are_orthonormal() {
    for (n, q, d, k) in
        [(30, 3, 2, 12), (300, 3, 2, 64), (300, 3, 2, 65), (300, 3, 3, 200), (200, 60, 3, 100), (9, 4, 1, 8)]
    {
        let x = gaussian(n, q, 500);
        for (i, p) in tangents(&net(&x, d, k), n, q, d).iter().enumerate() {
            let off = (p.transpose() * p - DMatrix::identity(d, d)).amax();
            assert!(off < 1e-10, "n = {n}, q = {q}, d = {d}, k = {k}, point {i}: {off:e}");
        }
    }
}

/// Where every point is in the net: the top directions of the sum of the projectors of the eight nearest.
#[test]
fn tangents_are_means_of_projectors() {
    for (q, d, k) in [(3, 2, 20), (5, 3, 30), (20, 1, 20), (20, 2, 30), (30, 2, 30), (8, 1, 12), (9, 1, 12)] {
        let x = gaussian(120, q, 510);
        let (wide, near) = (naive::nearest(&x, k), naive::nearest(&x, 7));
        let with_self = |i: usize, list: &[(f64, u32)]| -> Vec<usize> {
            std::iter::once(i).chain(list.iter().map(|&(_, j)| j as usize)).collect()
        };
        let own: Vec<DMatrix<f64>> = (0..120)
            .map(|i| naive::svd(&naive::centered(&x, &with_self(i, &wide[i]))).v.columns(0, d).into_owned())
            .collect();
        for (i, found) in tangents(&net(&x, d, k), 120, q, d).iter().enumerate() {
            let sum =
                with_self(i, &near[i]).iter().fold(DMatrix::zeros(q, q), |sum, &j| sum + projector(&own[j]));
            let naive::Svd { u, s, .. } = naive::svd(&sum);
            let gap = s[d - 1] - s.get(d).copied().unwrap_or(0.0);
            let off = apart(found, &u.columns(0, d).into_owned());
            assert!(off * gap < 1e-9, "q = {q}, d = {d}, point {i}: {off:e}");
        }
    }
}

/// The same data in more dimensions have the same tangents there, whichever way they are averaged.
#[test]
fn wide_data_have_the_tangents_of_their_narrow_copy() {
    let x = roll(400, 0.3, 520);
    for (q, k) in [(17, 40), (50, 40), (50, 90), (200, 90)] {
        let into = orthonormal(q, 3, 521);
        let wide = x.dot(&into.t());
        let into = DMatrix::from_fn(q, 3, |a, b| into[[a, b]]);
        let (narrow, wide) = (tangents(&net(&x, 2, k), 400, 3, 2), tangents(&net(&wide, 2, k), 400, q, 2));
        let off = narrow.iter().zip(&wide).map(|(p, w)| apart(&(&into * p), w)).fold(0.0, f64::max);
        assert!(off < 1e-8, "q = {q}, k = {k}: {off:e}");
    }
}

#[test]
fn planes_have_exact_tangents() {
    for (q, d) in [(3, 2), (5, 1), (40, 2)] {
        let plane = orthonormal(q, d, 530);
        let x = gaussian(500, d, 531).dot(&plane.t()) + 1.0;
        let plane = DMatrix::from_fn(q, d, |a, b| plane[[a, b]]);
        for k in [20, 64, 65, 250, 499] {
            let off =
                tangents(&net(&x, d, k), 500, q, d).iter().map(|p| apart(p, &plane)).fold(0.0, f64::max);
            assert!(off < 1e-10, "q = {q}, d = {d}, k = {k}: {off:e}");
        }
    }
}

/// The mean angle to the true tangent of a noisy roll.
#[test]
fn many_points_see_through_noise() {
    let n = 4000;
    let sample = swiss_roll(n, &SwissRoll::default(), 540, &Unmonitored).unwrap().x;
    let x = roll(n, 0.3, 540);
    let graph = nearest(&x, 12);
    let points = points(&x);
    let few = Atlas::new(&points, &graph, None, 2, &Unmonitored).unwrap();
    // the spiral t (cos t, sin t) runs in the direction of its derivative; the height is the second coordinate
    let truth = |i: usize| {
        let (a, b) = (sample[[i, 0]], sample[[i, 2]]);
        let t = a.hypot(b);
        let (c, s) = (a / t, b / t);
        let along = DMatrix::from_column_slice(3, 1, &[c - t * s, 0.0, s + t * c]).normalize();
        DMatrix::from_columns(&[
            along.column(0),
            DMatrix::from_column_slice(3, 1, &[0.0, 1.0, 0.0]).column(0),
        ])
    };
    let exact = nearest(&sample, 12);
    let known = crate::embed::align::points(&sample);
    let clean = Atlas::new(&known, &exact, None, 2, &Unmonitored).unwrap();
    let mean = |tangent: &dyn Fn(usize) -> DMatrix<f64>| {
        (0..n).map(|i| apart(&tangent(i), &truth(i)).asin()).sum::<f64>() / n as f64
    };
    let of = |atlas: &Atlas, i: usize| {
        let mut basis = vec![0.0; 6];
        atlas.tangent(i, &mut basis);
        DMatrix::from_column_slice(3, 2, &basis)
    };
    assert!(mean(&|i| of(&clean, i)) < 0.03, "the truth is not the truth");
    let narrow = mean(&|i| of(&few, i));
    let wide = tangents(&net(&x, 2, 96), n, 3, 2);
    let wide = mean(&|i| wide[i].clone());
    assert!(wide < narrow / 3.0, "{wide} radians, {narrow} from 12 points");
}

#[test]
fn nets_of_other_data_are_refused() {
    let x = gaussian(60, 3, 550);
    let (graph, known) = (nearest(&x, 6), net(&x, 2, 20));
    let refused = |x: &Array2<f64>, graph: &Neighborhoods, d| {
        let points = points(x);
        let one = Atlas::new(&points, graph, Some(&known), d, &Unmonitored).map(|_| ()).unwrap_err();
        let other = Atlas::of_charts(&points, graph, Some(&known), d, &Unmonitored).map(|_| ()).unwrap_err();
        assert_eq!(one, other);
        one
    };
    let fewer = gaussian(59, 3, 551);
    let expected = Error::LengthMismatch { left: "X", left_len: 59, right: "the net", right_len: 60 };
    assert_eq!(refused(&fewer, &nearest(&fewer, 6), 2), expected);
    assert!(matches!(refused(&x, &graph, 1), Error::DimensionMismatch { left_dim: 6, right_dim: 3, .. }));
    let wider = gaussian(60, 4, 552);
    assert!(matches!(refused(&wider, &graph, 2), Error::DimensionMismatch { left_dim: 6, right_dim: 8, .. }));
    let asked = |d, k| Net::new(&points(&x), d, k, 0, &Unmonitored).map(|_| ()).unwrap_err();
    assert_eq!(asked(2, 60), Error::TooFewPoints { n_neighbors: 60, n: 60 });
    assert_eq!(asked(0, 20), Error::NoComponents);
    assert_eq!(asked(4, 20), Error::TooManyComponents { n_components: 4, dim_in: 3 });
}

fn scale(x: &Array2<f64>, k: usize, d: usize) -> Option<usize> {
    tangent_scale(&points(x), &nearest(x, k), d, 0, &Unmonitored).unwrap()
}

#[test]
fn tangents_are_left_alone_without_noise() {
    let u = &Unmonitored;
    for n in [800, 5000] {
        for (x, what) in [
            (roll(n, 0.0, 560), "roll"),
            (hemisphere(n, 0.0, 561, u).unwrap().x, "hemisphere"),
            (cylinder(n, 1.0, 0.0, 562, u).unwrap().x, "cylinder"),
            (s_curve(n, 0.0, 562, u).unwrap().x, "S curve"),
            (sphere(n, 563), "sphere"),
            (torus(n, 0.5, 564), "torus"),
            (moebius(n, 0.5, 564), "Moebius strip"),
            (gaussian(n, 5, 565), "five dimensions"),
        ] {
            for k in [6, 12] {
                assert_eq!(scale(&x, k, 2), None, "{what}, n = {n}, k = {k}");
            }
        }
    }
    assert_eq!(scale(&gaussian(800, 50, 566), 12, 2), None);
    assert_eq!(scale(&repeated(&roll(400, 0.0, 567), 4), 12, 2), None);
    assert_eq!(scale(&double(Cloud::Duplicates, 800, 3, 567), 12, 2), None);
    assert_eq!(scale(&Array2::ones((300, 3)), 12, 2), None);
    for n in [2, 3, 5, 12, 30] {
        assert_eq!(scale(&gaussian(n, 3, 568), 1, 2), None, "{n} points");
        assert_eq!(scale(&gaussian(n, 3, 568), n - 1, 2), None, "{n} points, all neighbors");
    }
    assert_eq!(scale(&gaussian(800, 3, 569), 12, 3), None);
}

#[test]
fn noise_asks_for_more_points() {
    for seed in 570..575 {
        let found = scale(&roll(5000, 0.3, seed), 12, 2);
        assert!(found.is_some_and(|k| (24..=1250).contains(&k)), "{found:?}");
    }
    let wide = roll(5000, 0.3, 576).dot(&orthonormal(40, 3, 577).t());
    assert!(scale(&wide, 12, 2).is_some_and(|k| k >= 24));
}

#[test]
fn threads_do_not_change_a_bit() {
    let x = roll(5000, 0.3, 580);
    let (points, graph) = (points(&x), nearest(&x, 12));
    let run = || {
        let scale = tangent_scale(&points, &graph, 2, 0, &Unmonitored).unwrap();
        let net = Net::new(&points, 2, scale.unwrap(), 0, &Unmonitored).unwrap();
        (scale, tangents(&net, 5000, 3, 2))
    };
    let alone = on_threads(1, run);
    for threads in [2, 8] {
        assert!(on_threads(threads, run) == alone, "{threads} threads");
    }
}

struct Impatient {
    patience: usize,
    looks: AtomicUsize,
}

impl Monitor for Impatient {
    fn stop_requested(&self) -> bool {
        self.looks.fetch_add(1, Ordering::Relaxed) >= self.patience
    }
}

/// Everything between tangents and placement stops at whichever look it is asked to.
#[test]
fn a_stop_is_obeyed() {
    let n = 6000;
    let x = roll(n, 0.3, 590);
    let (points, graph, u) = (points(&x), nearest(&x, 8), &Unmonitored);
    let atlas = Atlas::new(&points, &graph, None, 2, u).unwrap();
    let connection = Connection::new(&atlas, u).unwrap();
    connection.product(0); // products are made once, with looks of their own
    let rotations = tree(&connection, &atlas, u).unwrap().aligned.rotations;
    let mixed = random_rotations(n, 2, 591);
    let refiner = Refiner::new(&points, &graph, 2, Objective::RN, u).unwrap();
    let y = vec![1.0; 2 * n];
    type Job<'a> = Box<dyn Fn(&dyn Monitor) -> Result<()> + 'a>;
    let jobs: Vec<(&str, Job)> = vec![
        ("net", Box::new(|m| Net::new(&points, 2, 100, 0, m).map(|_| ()))),
        ("scale", Box::new(|m| tangent_scale(&points, &graph, 2, 0, m).map(|_| ()))),
        ("connection", Box::new(|m| Connection::new(&atlas, m).map(|_| ()))),
        ("tree", Box::new(|m| tree(&connection, &atlas, m).map(|_| ()))),
        ("f", Box::new(|m| connection.f(&rotations, m).map(|_| ()))),
        ("sweep", Box::new(|m| connection.sweep(&mut mixed.clone(), m).map(|_| ()))),
        ("finish", Box::new(|m| connection.finish(mixed.clone(), true, m).map(|_| ()))),
        ("open edges", Box::new(|m| connection.open_edges(&rotations, m).map(|_| ()))),
        ("blocks", Box::new(|m| blocks(&connection, m).map(|_| ()))),
        ("round", Box::new(|m| round(&connection, &mixed, m).map(|_| ()))),
        ("right-hand side", Box::new(|m| refiner.right_hand_side(&atlas, &rotations, m).map(|_| ()))),
        ("frames", Box::new(|m| frames_of(&atlas, &y, None, m).map(|_| ()))),
        ("place", Box::new(|m| place(&connection, &atlas, &rotations, m).map(|_| ()))),
    ];
    for (name, job) in jobs {
        let watch = |patience| Impatient { patience, looks: AtomicUsize::new(0) };
        let patient = watch(usize::MAX);
        assert_eq!(job(&patient), Ok(()), "{name}");
        let looks = patient.looks.load(Ordering::Relaxed);
        assert!(looks >= 1, "{name} never looks");
        for patience in [0, looks / 2, looks - 1] {
            assert_eq!(
                job(&watch(patience)),
                Err(Error::Interrupted),
                "{name} after {patience} of {looks} looks"
            );
        }
    }
}
