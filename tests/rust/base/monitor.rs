//! Long computations say how far they are, and stop when asked to.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::Array2;
use unbend::{Error, Monitor, Points, Result, Search, Unmonitored, charts, embed, measure, neighbors};

use crate::clouds::*;
use crate::on_threads;

/// Asks to stop after so many looks.
struct Impatient {
    patience: usize,
    looks: AtomicUsize,
}

impl Impatient {
    fn new(patience: usize) -> Self {
        Impatient { patience, looks: AtomicUsize::new(0) }
    }
}

impl Monitor for Impatient {
    fn stop_requested(&self) -> bool {
        self.looks.fetch_add(1, Ordering::Relaxed) >= self.patience
    }
}

/// Remembers all reports.
#[derive(Default)]
struct Diary(Mutex<Vec<(&'static str, usize, usize)>>);

impl Monitor for Diary {
    fn progress(&self, stage: &'static str, done: usize, total: usize) {
        self.0.lock().unwrap().push((stage, done, total));
    }
}

type Job = Box<dyn Fn(&dyn Monitor) -> Result<()> + Sync>;

/// Everything that can take long: what, its stage, how many points.
fn jobs() -> Vec<(&'static str, &'static str, usize, Job)> {
    let search = |x: Array2<f64>, k: usize, search: Search| -> Job {
        Box::new(move |monitor: &dyn Monitor| {
            let points = Points::new("X", x.view(), &Unmonitored)?;
            neighbors::nearest(&points, k, search, monitor).map(|_| ())
        })
    };
    let radius = |x: Array2<f64>, search: Search| -> Job {
        Box::new(move |monitor: &dyn Monitor| {
            let points = Points::new("X", x.view(), &Unmonitored)?;
            neighbors::within(&points, 0.05, search, monitor).map(|_| ())
        })
    };
    let asked = |x: Array2<f64>, new: Array2<f64>, search: Search| -> Job {
        Box::new(move |monitor: &dyn Monitor| {
            let points = |x| Points::new("X", x, &Unmonitored);
            neighbors::query(&points(x.view())?, &points(new.view())?, 8, search, monitor).map(|_| ())
        })
    };
    let carried = |n: usize| -> Job {
        Box::new(move |monitor: &dyn Monitor| {
            let (x, y) = (gaussian(n, 20, 76), gaussian(n, 2, 77));
            let (x, y) =
                (Points::new("X", x.view(), &Unmonitored)?, Points::new("Y", y.view(), &Unmonitored)?);
            let lists: Vec<u32> = (0..8 * n as u32).map(|at| (at / 8 + at % 8 + 1) % n as u32).collect();
            embed::carry(&x, &y, &x, &lists, 8, monitor).map(|_| ())
        })
    };
    let on_graph =
        |n: usize, f: fn(&Points, &Points, &unbend::Neighborhoods, &dyn Monitor) -> Result<()>| -> Job {
            Box::new(move |monitor: &dyn Monitor| {
                let x = gaussian(n, 3, 70);
                let y = gaussian(n, 2, 71);
                let (x, y) =
                    (Points::new("X", x.view(), &Unmonitored)?, Points::new("Y", y.view(), &Unmonitored)?);
                let graph = neighbors::nearest(&x, 6, Search::Auto, &Unmonitored)?.neighborhoods;
                f(&x, &y, &graph, monitor)
            })
        };
    let laid = |n: usize, q: usize, whole: bool| -> Job {
        Box::new(move |monitor: &dyn Monitor| {
            let x = gaussian(n, q, 81);
            let x = Points::new("X", x.view(), &Unmonitored)?;
            let graph = neighbors::nearest(&x, 8, Search::Auto, &Unmonitored)?.neighborhoods;
            let atlas = match whole {
                true => charts::Atlas::whole(&x, &graph, 2)?,
                false => charts::Atlas::new(&x, &graph, None, 2, &Unmonitored)?,
            };
            let params = embed::GreedyParams { n_init: 2, ..Default::default() };
            embed::greedy(&atlas, &params, monitor).map(|_| ())
        })
    };
    let mapped = |n: usize, q: usize| -> Job {
        Box::new(move |monitor: &dyn Monitor| {
            let x = gaussian(n, q, 82);
            let x = Points::new("X", x.view(), &Unmonitored)?;
            let graph = neighbors::nearest(&x, 8, Search::Auto, &Unmonitored)?.neighborhoods;
            charts::Atlas::new(&x, &graph, None, 2, monitor).map(|_| ())
        })
    };
    let refined = |n: usize, q: usize| -> Job {
        Box::new(move |monitor: &dyn Monitor| {
            let (x, y) = (gaussian(n, q, 83), gaussian(n, 2, 84));
            let (x, y) =
                (Points::new("X", x.view(), &Unmonitored)?, Points::new("Y", y.view(), &Unmonitored)?);
            let graph = neighbors::nearest(&x, 8, Search::Auto, &Unmonitored)?.neighborhoods;
            let refiner = embed::Refiner::new(&x, &graph, 2, Default::default(), monitor)?;
            refiner.frames(&x, &y, &graph, monitor).map(|_| ())
        })
    };
    let narrow = || gaussian(40_000, 3, 70);
    let wide = || gaussian(2100, 20, 72);
    let copies = || repeated(&gaussian(21, 20, 73), 100);
    vec![
        ("nearest, tree", "neighbors", 40_000, search(narrow(), 8, Search::Tree)),
        ("nearest, blocked", "neighbors", 2100, search(wide(), 8, Search::Blocked)),
        ("nearest, blocked, copies", "neighbors", 2100, search(copies(), 8, Search::Blocked)),
        ("nearest, auto", "neighbors", 40_000, search(gaussian(40_000, 5, 74), 8, Search::Auto)),
        ("query, tree", "neighbors", 40_000, asked(narrow(), gaussian(40_000, 3, 78), Search::Tree)),
        ("query, blocked", "neighbors", 2100, asked(wide(), gaussian(2100, 20, 79), Search::Blocked)),
        (
            "query, auto",
            "neighbors",
            40_000,
            asked(gaussian(40_000, 5, 74), gaussian(40_000, 5, 80), Search::Auto),
        ),
        ("carry", "carry", 6000, carried(6000)),
        ("greedy", "greedy", 6000, laid(6000, 3, false)),
        ("greedy, wide", "greedy", 3000, laid(3000, 20, false)),
        ("greedy, whole", "greedy", 3000, laid(3000, 3, true)),
        ("atlas", "charts", 6000, mapped(6000, 3)),
        ("atlas, wide", "charts", 6000, mapped(6000, 20)),
        ("refine", "frames", 6000, refined(6000, 3)),
        ("refine, wide", "frames", 6000, refined(6000, 20)),
        ("within, tree", "neighbors", 40_000, radius(narrow(), Search::Tree)),
        ("within, blocked", "neighbors", 2100, radius(wide(), Search::Blocked)),
        (
            "faithfulness",
            "faithfulness",
            6000,
            on_graph(6000, |x, y, graph, m| {
                measure::faithfulness(x, y, graph, Default::default(), m).map(|_| ())
            }),
        ),
        (
            "faithfulness, large",
            "faithfulness",
            60_000,
            on_graph(60_000, |x, y, graph, m| {
                measure::faithfulness(x, y, graph, Default::default(), m).map(|_| ())
            }),
        ),
        (
            "lower bound",
            "faithfulness",
            6000,
            on_graph(6000, |x, _, graph, m| {
                measure::lower_bound(x, 2, graph, Default::default(), m).map(|_| ())
            }),
        ),
        (
            "asim",
            "asim",
            6000,
            on_graph(6000, |x, y, graph, m| {
                measure::asim_all(x, y, graph, Default::default(), m).map(|_| ())
            }),
        ),
        (
            "charts",
            "charts",
            6000,
            on_graph(6000, |x, _, graph, m| charts::charts(x, graph, 2, true, m).map(|_| ())),
        ),
    ]
}

#[test]
fn a_stop_is_obeyed_whenever_it_comes() {
    for (name, _, n, job) in jobs() {
        // how often this job looks when nobody is in a hurry
        let patient = Impatient::new(usize::MAX);
        assert_eq!(job(&patient), Ok(()), "{name}");
        let looks = patient.looks.load(Ordering::Relaxed);
        assert!(looks >= 10.max(n / 1024), "{name} looks {looks} times at {n} points");
        for patience in [0, 1, 2, 5, looks / 2, looks - 3] {
            let stopped = job(&Impatient::new(patience));
            assert_eq!(stopped, Err(Error::Interrupted), "{name} after {patience} of {looks} looks");
        }
    }
}

#[test]
fn arrays_are_checked_interruptibly() {
    let x = gaussian(10_000, 2, 75);
    for patience in 0..3 {
        let stopped = Points::new("X", x.view(), &Impatient::new(patience)).map(|_| ());
        assert_eq!(stopped, Err(Error::Interrupted), "after {patience} looks");
    }
}

/// On one thread reports come in order: within a stage the share done never falls, and ends at all.
#[test]
fn progress_rises_to_the_total() {
    for (name, expected_stage, _, job) in jobs() {
        let diary = Diary::default();
        on_threads(1, || job(&diary)).unwrap();
        let reports = diary.0.into_inner().unwrap();
        let (mut before, mut last_stage) = (0.0, reports[0].0);
        for &(stage, done, total) in &reports {
            let share = done as f64 / total as f64;
            assert!(stage.starts_with(expected_stage), "{name}: {stage}");
            if stage != last_stage {
                assert_eq!(before, 1.0, "{name}: {last_stage} was left unfinished");
                (before, last_stage) = (0.0, stage);
            }
            assert!(done > 0 && done <= total, "{name}: {done} of {total}");
            assert!(share >= before, "{name}: {done} of {total} after a share of {before}");
            before = share;
        }
        assert_eq!(before, 1.0, "{name}");
        assert!(reports.len() > 1, "{name}: {} reports", reports.len());
    }
}
