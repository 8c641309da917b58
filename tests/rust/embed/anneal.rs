//! Annealing of frames: moves beside the definition of eq. 9, what always holds, and where it ends.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::{Array2, Axis, concatenate};
use proptest::prelude::*;
use unbend::charts::Atlas;
use unbend::embed::align::{Aligned, AnnealParams, Connection, anneal, tree};
use unbend::rng::normal;
use unbend::synthetic::{SwissRoll, hemisphere, swiss_roll};
use unbend::{Error, Monitor, Neighborhoods, Points, Search, Unmonitored, neighbors};

use crate::clouds::*;
use crate::{cases, naive, on_threads};

fn points(x: &Array2<f64>) -> Points<'_> {
    Points::new("X", x.view(), &Unmonitored).unwrap()
}

fn nearest(x: &Array2<f64>, k: usize) -> Neighborhoods<'static> {
    neighbors::nearest(&points(x), k, Search::Auto, &Unmonitored).unwrap().neighborhoods
}

fn connection(x: &Array2<f64>, graph: &Neighborhoods, d: usize) -> Connection {
    let points = points(x);
    Connection::new(&Atlas::new(&points, graph, None, d, &Unmonitored).unwrap(), &Unmonitored).unwrap()
}

fn from_rows(rows: &[Vec<u32>]) -> Neighborhoods<'static> {
    let (indptr, indices) = naive::ragged(rows);
    Neighborhoods::from_ragged(indptr, indices).unwrap()
}

fn roll(n: usize) -> Array2<f64> {
    swiss_roll(n, &SwissRoll::default(), 0, &Unmonitored).unwrap().x
}

/// Quick enough for a test, and slow enough to lose the memory of the start.
fn quick(seed: u64) -> AnnealParams {
    AnnealParams { seed, accepted: 10, tried: 30, cooling: 0.8, rounds: 2, ..Default::default() }
}

#[test]
fn annealing_alone_is_only_moves() {
    let x = roll(300);
    let connection = connection(&x, &nearest(&x, 10), 2);
    let moves = AnnealParams { tried: 200, accepted: 40, cooling: 0.9, rounds: 1, ..quick(3) };
    let alone = annealed(&connection, None, &AnnealParams { alone: true, anew: 1.0, ..moves });
    let swept = annealed(&connection, None, &AnnealParams { anew: 1.0, ..moves });
    assert!(off_orthonormal(&alone.rotations, 2) < 1e-12);
    // Random frames are never exactly aligned, and what the last stage leaves is returned as it is.
    assert_eq!(f(&connection, &alone.rotations), *alone.trace.last().unwrap());
    assert!(swept.f < alone.f, "{} {}", swept.f, alone.f);
    let random = f(&connection, &frames(300, 2, 4));
    assert!(alone.f < 0.5 * random, "{} of {random}", alone.f);
}

/// Orthonormalized normal columns for every point.
fn frames(n: usize, d: usize, seed: u64) -> Vec<f64> {
    let mut rng = rng(seed);
    let draw = |_| nalgebra::DMatrix::from_fn(d, d, |_, _| normal(&mut rng)).qr().q();
    (0..n).map(draw).flat_map(|q| q.as_slice().to_vec()).collect()
}

fn f(connection: &Connection, rotations: &[f64]) -> f64 {
    connection.f(rotations, &Unmonitored).unwrap()
}

/// Eq. 9 as the paper writes it: |A_i - A_j|^2 over all i and the neighbors that i lists, A_i = P_i O_i.
fn naive_f(x: &Array2<f64>, graph: &Neighborhoods, d: usize, rotations: &[f64]) -> f64 {
    let (n, q) = x.dim();
    let points = points(x);
    let atlas = Atlas::new(&points, graph, None, d, &Unmonitored).unwrap();
    let frame = |i: usize| {
        let mut basis = vec![0.0; q * d];
        atlas.tangent(i, &mut basis);
        let turn = nalgebra::DMatrix::from_column_slice(d, d, &rotations[i * d * d..][..d * d]);
        nalgebra::DMatrix::from_column_slice(q, d, &basis) * turn
    };
    let a: Vec<_> = (0..n).map(frame).collect();
    let terms = |i: usize| graph.of(i).iter().map(|&j| (&a[i] - &a[j as usize]).norm_squared()).sum::<f64>();
    (0..n).map(terms).sum()
}

fn off_orthonormal(rotations: &[f64], d: usize) -> f64 {
    let off = |turn: &[f64]| {
        let turn = nalgebra::DMatrix::from_column_slice(d, d, turn);
        (turn.transpose() * &turn - nalgebra::DMatrix::identity(d, d)).abs().max()
    };
    rotations.chunks_exact(d * d).map(off).fold(0.0, f64::max)
}

fn annealed(connection: &Connection, start: Option<&[f64]>, params: &AnnealParams) -> Aligned {
    let found = anneal(connection, start, params, &Unmonitored).unwrap();
    assert_eq!(found.f, f(connection, &found.rotations));
    assert!(off_orthonormal(&found.rotations, connection.n_components()) < 1e-10);
    assert!(found.trace.iter().all(|f| f.is_finite()));
    found
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn a_move_changes_f_by_the_terms_at_its_point(n in 8usize..30, d in 1usize..=4, k in 3usize..6, seed in 0u64..1000) {
        let x = gaussian(n, 5, seed);
        let graph = nearest(&x, k);
        let connection = connection(&x, &graph, d);
        let mut rotations = frames(n, d, seed + 1);
        let (before, naive_before) = (f(&connection, &rotations), naive_f(&x, &graph, d, &rotations));
        prop_assert!((before - naive_before).abs() < 1e-9 * naive_before.max(1.0));
        let (i, new) = (pick(&mut rng(seed), n), frames(1, d, seed + 2));
        let change = connection.change(i, &rotations, &new);
        rotations[i * d * d..][..d * d].copy_from_slice(&new);
        prop_assert!((f(&connection, &rotations) - before - change).abs() < 1e-9 * before.max(1.0));
        prop_assert!((naive_f(&x, &graph, d, &rotations) - naive_before - change).abs() < 1e-9 * before.max(1.0));
    }

    #[test]
    fn f_is_never_above_that_of_the_start(n in 8usize..60, d in 1usize..=4, seed in 0u64..1000) {
        let x = gaussian(n, 5, seed);
        let connection = connection(&x, &nearest(&x, 5), d);
        let start = frames(n, d, seed + 1);
        let params = AnnealParams { accepted: 1, tried: 2, cooling: 0.3, rounds: 1, ..quick(seed) };
        let once = annealed(&connection, Some(&start), &params);
        prop_assert!(once.f <= f(&connection, &start));
        let again = annealed(&connection, Some(&once.rotations), &params);
        prop_assert!(again.f <= once.f);
    }
}

#[test]
fn random_frames_come_near_the_tree() {
    let surfaces = [("roll", roll(400)), ("hemisphere", hemisphere(400, 0.0, 0, &Unmonitored).unwrap().x)];
    for (name, x) in surfaces {
        let (graph, points) = (nearest(&x, 12), points(&x));
        for d in 1..=3 {
            let atlas = Atlas::new(&points, &graph, None, d, &Unmonitored).unwrap();
            let connection = Connection::new(&atlas, &Unmonitored).unwrap();
            let along_tree = tree(&connection, &atlas, &Unmonitored).unwrap().aligned.f;
            // cooled so fast, one in three runs on the roll is free of vortices
            let run = |seed| {
                let params =
                    AnnealParams { accepted: 40, tried: 150, cooling: 0.95, seed, ..Default::default() };
                annealed(&connection, None, &params)
            };
            // the tree finds 0 where tangents are the whole space; sweeps end with a share of what random frames have
            let near = |found: &Aligned| found.f <= 1.05 * along_tree + 1e-7 * found.trace[0];
            let found = (0..8).map(run).find(near);
            let found = found.unwrap_or_else(|| panic!("{name}, d = {d}: none of 8 near {along_tree}"));
            assert!(found.trace[0] > found.f, "{name}, d = {d}: {:?}", found.trace);
        }
    }
}

/// Two halves whose frames agree within, one of them reflected: no single frame can change sides, a cluster can.
#[test]
fn a_half_that_is_reflected_is_turned_as_a_whole() {
    let x = roll(400);
    let (graph, points) = (nearest(&x, 12), points(&x));
    let atlas = Atlas::new(&points, &graph, None, 2, &Unmonitored).unwrap();
    let connection = Connection::new(&atlas, &Unmonitored).unwrap();
    let best = tree(&connection, &atlas, &Unmonitored).unwrap().aligned;
    let mut start = best.rotations.clone();
    for i in (0..400).filter(|&i| x[[i, 1]] > 10.5) {
        start[i * 4 + 2..i * 4 + 4].iter_mut().for_each(|v| *v = -*v);
    }
    let mut swept = start.clone();
    let stuck = *connection.sweep(&mut swept, &Unmonitored).unwrap().last().unwrap();
    assert!(stuck > 2.0 * best.f, "{stuck} beside {}", best.f);
    let params = AnnealParams { accepted: 1, tried: 1, cooling: 1e-3, rounds: 1, ..Default::default() };
    let found = annealed(&connection, Some(&start), &params);
    assert!(found.f <= 1.01 * best.f, "{} beside {}", found.f, best.f);
    assert_eq!(found.aligned, 1.0);
}

#[test]
fn a_seed_says_everything_whatever_the_threads() {
    let x = roll(300);
    let graph = nearest(&x, 8);
    for d in 1..=3 {
        let connection = connection(&x, &graph, d);
        let run = |seed| annealed(&connection, None, &quick(seed));
        let first = on_threads(1, || run(0));
        for threads in [2, 3] {
            let again = on_threads(threads, || run(0));
            assert_eq!(
                (&again.rotations, &again.trace),
                (&first.rotations, &first.trace),
                "{threads} threads, d = {d}"
            );
        }
        assert_ne!(run(1).trace, first.trace);
    }
}

#[test]
fn components_are_aligned_each_by_itself() {
    let one = hemisphere(300, 0.0, 0, &Unmonitored).unwrap().x;
    let both = concatenate(Axis(0), &[one.view(), (&one + 1000.0).view()]).unwrap();
    let alone = connection(&one, &nearest(&one, 10), 2);
    let together = connection(&both, &nearest(&both, 10), 2);
    let params = AnnealParams { accepted: 20, tried: 60, cooling: 0.95, ..Default::default() };
    let (alone, together) = (annealed(&alone, None, &params), annealed(&together, None, &params));
    assert!((together.f / (2.0 * alone.f) - 1.0).abs() < 0.05, "{} beside {}", together.f, alone.f);
    assert_eq!(together.aligned, 0.5);
}

#[test]
fn isolated_points_keep_their_frames() {
    let x = gaussian(6, 3, 1);
    let graph = from_rows(&[vec![1], vec![0], vec![], vec![4, 0], vec![3], vec![]]);
    for d in 1..=2 {
        let start = frames(6, d, 2);
        let found = annealed(&connection(&x, &graph, d), Some(&start), &quick(0));
        for i in [2, 5] {
            assert_eq!(found.rotations[i * d * d..][..d * d], start[i * d * d..][..d * d]);
        }
        annealed(&connection(&x, &graph, d), None, &quick(0));
    }
    let nobody = from_rows(&vec![vec![]; 6]);
    assert_eq!(annealed(&connection(&x, &nobody, 2), None, &quick(0)).f, 0.0);
}

#[test]
fn bad_requests_are_refused() {
    let x = gaussian(20, 3, 1);
    let connection = connection(&x, &nearest(&x, 4), 2);
    let refused =
        |params: AnnealParams| anneal(&connection, None, &params, &Unmonitored).unwrap_err().to_string();
    let of = AnnealParams::default;
    let between = "is out of range: it must be above 0 and below 1";
    assert_eq!(refused(AnnealParams { acceptance: 1.0, ..of() }), format!("acceptance = 1 {between}"));
    assert_eq!(refused(AnnealParams { acceptance: f64::NAN, ..of() }), format!("acceptance = NaN {between}"));
    assert_eq!(refused(AnnealParams { cooling: 1.5, ..of() }), format!("cooling = 1.5 {between}"));
    let share = "is out of range: it must be above 0 and at most 1";
    assert_eq!(refused(AnnealParams { anew: 0.0, ..of() }), format!("anew = 0 {share}"));
    assert_eq!(refused(AnnealParams { enough: -0.5, ..of() }), format!("enough = -0.5 {share}"));
    let count = "is out of range: at least 1 is needed";
    assert_eq!(refused(AnnealParams { accepted: 0, ..of() }), format!("accepted = 0 {count}"));
    assert_eq!(refused(AnnealParams { tried: 0, ..of() }), format!("tried = 0 {count}"));
    assert_eq!(refused(AnnealParams { rounds: 0, ..of() }), format!("rounds = 0 {count}"));
    let start = |start: &[f64]| anneal(&connection, Some(start), &of(), &Unmonitored).unwrap_err();
    assert!(matches!(start(&[0.0; 3]), Error::LengthMismatch { left_len: 3, right_len: 80, .. }));
    assert!(matches!(start(&[0.5; 80]), Error::OutOfRange { name: "start", value: 0.5, .. }));
    let mut frames = frames(20, 2, 3);
    frames[9] = f64::INFINITY;
    assert!(matches!(start(&frames), Error::NotFinite { row: 2, column: 1, .. }));
}

/// Asks to stop after so many looks, and remembers the reports.
struct Watch {
    patience: usize,
    looks: AtomicUsize,
    reports: Mutex<Vec<(usize, usize)>>,
}

impl Watch {
    fn new(patience: usize) -> Self {
        Watch { patience, looks: AtomicUsize::new(0), reports: Mutex::default() }
    }
}

impl Monitor for Watch {
    fn stop_requested(&self) -> bool {
        self.looks.fetch_add(1, Ordering::Relaxed) >= self.patience
    }

    fn progress(&self, _stage: &'static str, done: usize, total: usize) {
        self.reports.lock().unwrap().push((done, total));
    }
}

#[test]
fn a_stop_is_obeyed_and_progress_rises_to_the_total() {
    let x = roll(1000);
    let connection = connection(&x, &nearest(&x, 6), 2);
    connection.product(0); // products are made once, with looks of their own
    let run = |watch: &Watch| anneal(&connection, None, &quick(0), watch).map(|_| ());
    let patient = Watch::new(usize::MAX);
    assert_eq!(run(&patient), Ok(()));
    let (looks, reports) = (patient.looks.into_inner(), patient.reports.into_inner().unwrap());
    assert!(looks > 50, "{looks} looks");
    assert!(reports.len() > 5 && reports.is_sorted_by_key(|&(done, _)| done), "{reports:?}");
    assert!(reports.iter().all(|&(done, total)| done > 0 && done <= total), "{reports:?}");
    assert_eq!(reports.last().map(|&(done, total)| done == total), Some(true));
    for patience in [0, 1, 2, looks / 2, looks - 3] {
        assert_eq!(run(&Watch::new(patience)), Err(Error::Interrupted), "after {patience} of {looks} looks");
    }
}
