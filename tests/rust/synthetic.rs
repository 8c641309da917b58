//! Synthetic data: even where they say so, isometric where they say so, the same bits whoever draws them.

use std::f64::consts::{PI, TAU};
use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::{Array2, ArrayView1, Axis};
use unbend::synthetic::*;
use unbend::{Error, Monitor, Result, Unmonitored};

type Maker = fn(usize, u64, &dyn Monitor) -> Result<Sample>;

/// Every sampler, with and without its options.
const ALL: [(&str, Maker); 14] = [
    ("swiss_roll", |n, s, m| swiss_roll(n, &SwissRoll::default(), s, m)),
    ("swiss_roll with a hole", |n, s, m| {
        swiss_roll(n, &SwissRoll { noise: 0.3, hole: true, ..Default::default() }, s, m)
    }),
    ("swiss_roll_wittman", |n, s, m| swiss_roll_wittman(n, 0.1, 2.0, s, m)),
    ("s_curve", |n, s, m| s_curve(n, 0.0, s, m)),
    ("hemisphere", |n, s, m| hemisphere(n, 0.0, s, m)),
    ("cylinder", |n, s, m| cylinder(n, 3.0, 0.0, s, m)),
    ("fishbowl", |n, s, m| fishbowl(n, &Fishbowl::default(), s, m)),
    ("stretched fishbowl", |n, s, m| {
        fishbowl(n, &Fishbowl { stretch: 4.0, noise: 0.01, ..Default::default() }, s, m)
    }),
    ("strip", |n, s, m| strip(n, &Strip::default(), s, m)),
    ("noisy strip", |n, s, m| strip(n, &Strip { noise: 0.01, ..Default::default() }, s, m)),
    ("grid", |n, _, m| grid(n, 1, m)),
    ("gaussian_bump", |n, s, m| gaussian_bump(n, 0.0, s, m)),
    ("three_peaks", |n, s, m| three_peaks(n, 0.1, s, m)),
    ("rotating_ball", |n, s, m| {
        rotating_ball(n, &RotatingBall { resolution: 5, ..Default::default() }, s, m)
    }),
];

fn clean_roll(n: usize) -> Sample {
    swiss_roll(n, &SwissRoll::default(), 7, &Unmonitored).unwrap()
}

fn distance(a: ArrayView1<f64>, b: ArrayView1<f64>) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// Pearson's statistic of 8 x 8 cells over the box. 63 expected, standard deviation 11.
fn chi_square(rows: &Array2<f64>, low: [f64; 2], high: [f64; 2]) -> f64 {
    let mut counts = [0.0; 64];
    for row in rows.rows() {
        let cell = [0, 1].map(|j| {
            let share = (row[j] - low[j]) / (high[j] - low[j]);
            assert!((0.0..=1.0).contains(&share), "{row} is outside {low:?} .. {high:?}");
            ((share * 8.0) as usize).min(7)
        });
        counts[cell[0] * 8 + cell[1]] += 1.0;
    }
    let expected = rows.nrows() as f64 / 64.0;
    counts.iter().map(|c| (c - expected) * (c - expected) / expected).sum()
}

fn assert_even(name: &str, rows: &Array2<f64>, low: [f64; 2], high: [f64; 2]) {
    let statistic = chi_square(rows, low, high);
    assert!((20.0..120.0).contains(&statistic), "{name}: chi-square {statistic}, 63 expected");
}

/// (point, |dx|, |dc|) for 300 points and the points nearest to them in the coordinates.
fn nearest_pairs(sample: &Sample) -> Vec<(usize, f64, f64)> {
    let c = &sample.coordinates;
    let others = |i: usize| (0..c.nrows()).filter(move |&j| j != i);
    let apart = |i: usize, j: usize| distance(c.row(i), c.row(j));
    (0..300)
        .filter_map(|i| others(i).min_by(|&a, &b| apart(i, a).total_cmp(&apart(i, b))).map(|j| (i, j)))
        .map(|(i, j)| (i, distance(sample.x.row(i), sample.x.row(j)), apart(i, j)))
        .collect()
}

fn assert_isometric(name: &str, sample: &Sample, tolerance: f64) {
    for (i, dx, dc) in nearest_pairs(sample) {
        let ratio = dx / dc;
        assert!((ratio - 1.0).abs() < tolerance, "{name}, point {i}: {dx} in space, {dc} in truth");
    }
}

/// Length of the spiral from 1.5 pi to t by Simpson's rule: the textbook twin of the closed form.
fn spiral_length(t: f64) -> f64 {
    let (steps, start) = (2000, 1.5 * PI);
    let h = (t - start) / steps as f64;
    let weight = |i: usize| if i == 0 || i == steps { 1.0 } else { 2.0 + 2.0 * (i % 2) as f64 };
    (0..=steps).map(|i| weight(i) * (start + h * i as f64).hypot(1.0)).sum::<f64>() * h / 3.0
}

#[test]
fn shapes() {
    for (name, make) in ALL {
        let sample = make(1500, 0, &Unmonitored).unwrap();
        let q = match name {
            "strip" | "grid" => 2,
            "rotating_ball" => 25,
            _ => 3,
        };
        assert_eq!((sample.x.dim(), sample.coordinates.dim()), ((1500, q), (1500, 2)), "{name}");
        assert!(sample.x.iter().chain(&sample.coordinates).all(|v| v.is_finite()), "{name}");
    }
}

#[test]
fn more_points_keep_the_first() {
    for (name, make) in ALL {
        let (few, many) = (make(1500, 3, &Unmonitored).unwrap(), make(4000, 3, &Unmonitored).unwrap());
        assert_eq!(few.x, many.x.view().split_at(Axis(0), 1500).0, "{name}");
        assert_eq!(few.coordinates, many.coordinates.view().split_at(Axis(0), 1500).0, "{name}");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let bits = |a: &Array2<f64>| a.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    for (name, make) in ALL {
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| make(5000, 1, &Unmonitored)).unwrap()
        };
        let one = on(1);
        for threads in [2, 8] {
            let several = on(threads);
            assert_eq!(bits(&one.x), bits(&several.x), "{name}, {threads} threads");
            assert_eq!(bits(&one.coordinates), bits(&several.coordinates), "{name}, {threads} threads");
        }
    }
}

#[test]
fn seeds_and_blocks_differ() {
    for (name, make) in ALL.into_iter().filter(|(name, _)| *name != "grid") {
        let (a, b) = (make(3000, 1, &Unmonitored).unwrap(), make(3000, 2, &Unmonitored).unwrap());
        assert!(a.coordinates.iter().zip(&b.coordinates).filter(|(a, b)| a == b).count() < 3, "{name}");
        let mut seen: Vec<u64> = a.coordinates.column(0).iter().map(|v| v.to_bits()).collect();
        seen.sort_unstable();
        seen.dedup();
        assert!(seen.len() > 2990, "{name} repeats itself: {} different points", seen.len());
    }
}

#[test]
fn even_in_area() {
    let (n, end) = (100_000, spiral_length(4.5 * PI));
    let make =
        |name: &str| ALL.iter().find(|(other, _)| *other == name).unwrap().1(n, 11, &Unmonitored).unwrap();
    assert_even("swiss_roll", &make("swiss_roll").coordinates, [0.0; 2], [end, 21.0]);
    assert_even("s_curve", &make("s_curve").coordinates, [-1.5 * PI, 0.0], [1.5 * PI, 2.0]);
    assert_even("cylinder", &make("cylinder").coordinates, [0.0; 2], [TAU, 3.0]);
    assert_even("strip", &make("strip").x, [0.0; 2], [6.0, 1.0]);
    assert_even("gaussian_bump", &make("gaussian_bump").x, [-3.0; 2], [3.0; 2]);
    assert_even("three_peaks", &make("three_peaks").coordinates, [-1.5; 2], [1.5; 2]);
    assert_even("rotating_ball", &make("rotating_ball").coordinates, [-45.0, -30.0], [45.0, 60.0]);
    // Archimedes: on a sphere, even in area is even in height and longitude.
    for (name, low, high) in [("hemisphere", 0.0, 1.0), ("fishbowl", -1.0, 0.7)] {
        let x = make(name).x;
        let places =
            Array2::from_shape_fn(
                (n, 2),
                |(i, j)| {
                    if j == 0 { x[[i, 2]] } else { x[[i, 1]].atan2(x[[i, 0]]) }
                },
            );
        assert_even(name, &places, [low, -PI], [high, PI]);
    }
    // The test can fail: Wittman's roll is even in t, not in area.
    let wittman = swiss_roll_wittman(n, 0.0, 1.0, 11, &Unmonitored).unwrap();
    assert!(chi_square(&wittman.coordinates, [0.0; 2], [end, 21.0]) > 1000.0);
    let in_t = Array2::from_shape_fn((n, 2), |(i, j)| {
        if j == 0 { wittman.x[[i, 0]].hypot(wittman.x[[i, 2]]) } else { wittman.x[[i, 1]] }
    });
    assert_even("swiss_roll_wittman", &in_t, [1.4999999 * PI, 0.0], [4.5000001 * PI, 21.0]);
}

#[test]
fn coordinates_of_the_rolls_are_arc_lengths() {
    let clean = [clean_roll(2000), swiss_roll_wittman(2000, 0.0, 3.0, 5, &Unmonitored).unwrap()];
    for Sample { x, coordinates } in clean {
        for (x, c) in x.rows().into_iter().zip(coordinates.rows()) {
            let t = x[0].hypot(x[2]);
            assert!((c[0] - spiral_length(t)).abs() < 1e-10, "{} at t = {t}", c[0]);
            assert!((x[0] - t * t.cos()).abs() < 1e-10 && (x[2] - t * t.sin()).abs() < 1e-10);
            assert_eq!(c[1], x[1]);
        }
    }
}

#[test]
fn isometric_where_promised() {
    let n = 20_000;
    assert_isometric("swiss_roll", &clean_roll(n), 1e-3);
    assert_isometric("wittman", &swiss_roll_wittman(n, 0.0, 1.0, 0, &Unmonitored).unwrap(), 1e-3);
    assert_isometric("s_curve", &s_curve(n, 0.0, 0, &Unmonitored).unwrap(), 1e-3);
    assert_isometric("cylinder", &cylinder(n, 3.0, 0.0, 0, &Unmonitored).unwrap(), 1e-3);
    assert_isometric("strip", &strip(n, &Strip::default(), 0, &Unmonitored).unwrap(), 1e-12);
    assert_isometric("bump", &gaussian_bump(n, 0.0, 0, &Unmonitored).unwrap(), 5e-3);
    // The test can fail.
    let dome = hemisphere(n, 0.0, 0, &Unmonitored).unwrap();
    assert!(nearest_pairs(&dome).iter().any(|(_, dx, dc)| dx / dc < 0.8));
}

#[test]
fn surfaces_are_where_they_should_be() {
    let sphere = |x: ArrayView1<f64>| x.dot(&x).sqrt();
    let dome = hemisphere(2000, 0.0, 1, &Unmonitored).unwrap();
    for (x, c) in dome.x.rows().into_iter().zip(dome.coordinates.rows()) {
        assert!((sphere(x) - 1.0).abs() < 1e-14 && x[2] >= 0.0);
        assert!((c[0].hypot(c[1]) - x[2].acos()).abs() < 1e-14);
        assert!((c[0] * x[1] - c[1] * x[0]).abs() < 1e-14 && c[0] * x[0] >= 0.0);
    }
    let tube = cylinder(2000, 5.0, 0.0, 1, &Unmonitored).unwrap();
    for (x, c) in tube.x.rows().into_iter().zip(tube.coordinates.rows()) {
        assert!((x[0] - c[0].cos()).abs() < 1e-14 && (x[1] - c[0].sin()).abs() < 1e-14);
        assert!(x[2] == c[1] && (0.0..5.0).contains(&x[2]));
    }
    let peaks = three_peaks(20_000, 0.0, 1, &Unmonitored).unwrap();
    let highest = peaks.x.rows().into_iter().max_by(|a, b| a[2].total_cmp(&b[2])).unwrap();
    assert!(highest[2] > 0.98 && (highest[0] - 0.5).abs() < 0.05 && (highest[1] - 0.5).abs() < 0.05);
    let bump = gaussian_bump(20_000, 0.0, 1, &Unmonitored).unwrap();
    let top = bump.x.column(2).iter().copied().fold(0.0, f64::max);
    assert!(top < 1.0 / TAU && top > 0.99 / TAU, "{top}");
}

#[test]
fn fishbowl_keeps_angles() {
    let bowl =
        |stretch| fishbowl(20_000, &Fishbowl { stretch, ..Default::default() }, 2, &Unmonitored).unwrap();
    let sample = bowl(1.0);
    for (i, dx, dc) in nearest_pairs(&sample) {
        let factor = dc * (1.0 - sample.x[[i, 2]]) / dx;
        assert!((factor - 1.0).abs() < 0.08, "point {i} at height {}: {factor}", sample.x[[i, 2]]);
    }
    let mut stretched = bowl(4.0);
    stretched.x.column_mut(0).mapv_inplace(|v| v / 4.0);
    stretched.coordinates.column_mut(0).mapv_inplace(|v| v / 4.0);
    assert_eq!(stretched, sample);
}

#[test]
fn nothing_in_the_hole() {
    let roll = SwissRoll { hole: true, stretch: 2.0, ..Default::default() };
    let sample = swiss_roll(90_000, &roll, 4, &Unmonitored).unwrap();
    let inside = |coordinates: &Array2<f64>| {
        let thirds = [spiral_length(4.5 * PI) / 3.0, 42.0 / 3.0];
        let middle = |c: ArrayView1<f64>| (0..2).all(|j| c[j] > thirds[j] && c[j] < 2.0 * thirds[j]);
        coordinates.rows().into_iter().filter(|c| middle(*c)).count()
    };
    assert_eq!(inside(&sample.coordinates), 0);
    let whole = swiss_roll(90_000, &SwissRoll { hole: false, ..roll }, 4, &Unmonitored).unwrap();
    assert!((9_000..11_000).contains(&inside(&whole.coordinates)));
}

#[test]
fn noise_is_normal_and_only_in_space() {
    let n = 100_000;
    let (sd, clean) = (0.5, clean_roll(n));
    let roll = SwissRoll { noise: sd, ..Default::default() };
    let noisy = swiss_roll(n, &roll, 7, &Unmonitored).unwrap();
    assert_eq!(noisy.coordinates, clean.coordinates);
    let noise = (&noisy.x - &clean.x) / sd;
    let mean = |f: &dyn Fn(ArrayView1<f64>) -> f64| noise.rows().into_iter().map(f).sum::<f64>() / n as f64;
    for j in 0..3 {
        // Moments 0, 1, 0, 3 have standard errors 0.003, 0.0045, 0.012, 0.031.
        assert!(mean(&|e| e[j]).abs() < 0.015);
        assert!((mean(&|e| e[j].powi(2)) - 1.0).abs() < 0.02);
        assert!(mean(&|e| e[j].powi(3)).abs() < 0.06);
        assert!((mean(&|e| e[j].powi(4)) - 3.0).abs() < 0.15);
        assert!(mean(&|e| e[j] * e[(j + 1) % 3]).abs() < 0.015, "columns {j} and next correlate");
    }
}

#[test]
fn noise_of_the_strip_is_normal_to_it() {
    let noisy = Strip { noise: 0.01, ..Default::default() };
    let sample = strip(50_000, &noisy, 0, &Unmonitored).unwrap();
    assert_eq!(sample.x.view().split_at(Axis(1), 2).0, sample.coordinates);
    let variance = sample.x.column(2).mapv(|v| v * v).sum() / 50_000.0;
    assert!((variance / 1e-4 - 1.0).abs() < 0.03, "{variance}");
}

#[test]
fn grid_counts_columns_fastest() {
    let sample = grid(81, 41, &Unmonitored).unwrap();
    assert_eq!(sample.x, sample.coordinates);
    for (i, at) in sample.x.rows().into_iter().enumerate() {
        assert_eq!((at[0], at[1]), ((i / 41) as f64, (i % 41) as f64));
    }
}

#[test]
fn near_angles_give_near_pictures() {
    let still = RotatingBall { resolution: 24, pan: [0.0, 40.0], tilt: [0.0, 1e-9] };
    let sample = rotating_ball(400, &still, 0, &Unmonitored).unwrap();
    let mut order: Vec<usize> = (0..400).collect();
    order.sort_by(|&a, &b| sample.coordinates[[a, 0]].total_cmp(&sample.coordinates[[b, 0]]));
    let from_first: Vec<f64> =
        order.iter().map(|&i| distance(sample.x.row(order[0]), sample.x.row(i))).collect();
    assert!(from_first.windows(2).all(|pair| pair[0] < pair[1]), "{from_first:?}");
    assert!(from_first[399] > 1.0, "the pictures hardly differ: {}", from_first[399]);
}

#[test]
fn every_turn_shows() {
    let sample = rotating_ball(3000, &RotatingBall::default(), 0, &Unmonitored).unwrap();
    assert!(sample.x.iter().all(|v| (0.0..=1.0).contains(v)));
    let brightest = sample.x.iter().copied().fold(0.0, f64::max);
    assert!(brightest > 0.6, "{brightest}");
    let rates: Vec<f64> = nearest_pairs(&sample).iter().map(|(_, dx, dc)| dx / dc).collect();
    let (low, high) = rates.iter().fold((f64::MAX, 0.0f64), |(l, h), &r| (l.min(r), h.max(r)));
    assert!(high / low < 4.0, "change per degree between {low} and {high}");
    // Far apart in angle is far apart in the pictures: nothing is seen twice.
    let c = &sample.coordinates;
    for i in 0..100 {
        for j in (0..3000).filter(|&j| distance(c.row(i), c.row(j)) > 20.0) {
            assert!(distance(sample.x.row(i), sample.x.row(j)) > 10.0 * low, "{i} and {j} look alike");
        }
    }
}

#[test]
fn a_stop_is_obeyed() {
    struct After(AtomicUsize);
    impl Monitor for After {
        fn stop_requested(&self) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed) >= 2
        }
    }
    for (name, make) in ALL {
        let stopped = make(10_000, 0, &After(AtomicUsize::new(0)));
        assert_eq!(stopped.unwrap_err(), Error::Interrupted, "{name}");
    }
}

#[test]
fn progress_reaches_the_total() {
    struct Last(AtomicUsize);
    impl Monitor for Last {
        fn progress(&self, stage: &'static str, done: usize, total: usize) {
            assert!(stage == "hemisphere" && done <= total && total == 5000);
            self.0.fetch_max(done, Ordering::Relaxed);
        }
    }
    let last = Last(AtomicUsize::new(0));
    hemisphere(5000, 0.0, 0, &last).unwrap();
    assert_eq!(last.0.into_inner(), 5000);
}

#[test]
fn wrong_numbers_are_named() {
    for (name, make) in ALL {
        let error = make(0, 0, &Unmonitored).unwrap_err().to_string();
        let what = if name == "grid" { "rows" } else { "n_samples" };
        assert_eq!(error, format!("{what} = 0 is out of range: at least 1 is needed"), "{name}");
    }
    let m = &Unmonitored;
    let ball = RotatingBall::default();
    let refused = [
        ("noise = -1 ", s_curve(5, -1.0, 0, m)),
        ("noise = NaN ", hemisphere(5, f64::NAN, 0, m)),
        ("noise = inf ", three_peaks(5, f64::INFINITY, 0, m)),
        ("stretch = 0 ", swiss_roll_wittman(5, 0.0, 0.0, 0, m)),
        ("stretch = -2 ", swiss_roll(5, &SwissRoll { stretch: -2.0, ..Default::default() }, 0, m)),
        ("height = NaN ", cylinder(5, f64::NAN, 0.0, 0, m)),
        ("rim = 1 ", fishbowl(5, &Fishbowl { rim: 1.0, ..Default::default() }, 0, m)),
        ("length = 0 ", strip(5, &Strip { length: 0.0, ..Default::default() }, 0, m)),
        ("width = inf ", strip(5, &Strip { width: f64::INFINITY, ..Default::default() }, 0, m)),
        ("columns = 0 ", grid(5, 0, m)),
        ("n_samples = 18446744073709552000 ", grid(usize::MAX, 2, m)),
        ("n_samples = 18446744073709552000 ", s_curve(usize::MAX, 0.0, 0, m)),
        ("resolution = 1 ", rotating_ball(5, &RotatingBall { resolution: 1, ..ball }, 0, m)),
        ("pan = -200 ", rotating_ball(5, &RotatingBall { pan: [-200.0, 0.0], ..ball }, 0, m)),
        ("tilt = 5 ", rotating_ball(5, &RotatingBall { tilt: [10.0, 5.0], ..ball }, 0, m)),
        ("tilt = NaN ", rotating_ball(5, &RotatingBall { tilt: [f64::NAN, 5.0], ..ball }, 0, m)),
    ];
    for (start, result) in refused {
        let error = result.unwrap_err().to_string();
        assert!(error.starts_with(start), "{error:?} does not start with {start:?}");
    }
}
