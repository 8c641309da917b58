//! Loops over points: every point once, in order, the same bits on any number of threads.

use unbend::parallel::{fill_columns, fill_rows, map_points};
use unbend::{Error, Monitor, Unmonitored};

use crate::clouds::gaussian;
use crate::on_threads;

#[test]
fn every_point_is_mapped_once_in_order() {
    for n in [0, 1, 511, 512, 513, 5000] {
        let values = map_points(n, "test", &Unmonitored, || 0usize, |_, i| 3 * i).unwrap();
        assert_eq!(values, (0..n).map(|i| 3 * i).collect::<Vec<_>>());
    }
}

/// The columns lie end to end, and what the chunks return adds up to all of them, in order.
#[test]
fn columns_are_filled_once_in_order() {
    for n in [0, 1, 511, 512, 513, 5000] {
        let mut values = vec![0.0; 2 * n];
        let starts = fill_columns(&mut values, "test", &Unmonitored, |start, [a, b]: [&mut [f64]; 2]| {
            (start..).zip(a.iter_mut().zip(b)).for_each(|(i, (a, b))| (*a, *b) = (i as f64, -(i as f64)));
            (start, a.len())
        })
        .unwrap();
        let expected: Vec<f64> = (0..n).map(|i| i as f64).chain((0..n).map(|i| -(i as f64))).collect();
        assert_eq!(values, expected);
        assert!(starts.windows(2).all(|pair| pair[0].0 + pair[0].1 == pair[1].0));
        assert_eq!(starts.iter().map(|&(_, len)| len).sum::<usize>(), n);
    }
}

/// Rows of three lie end to end.
#[test]
fn rows_are_filled_once_in_order() {
    for n in [1, 511, 512, 513, 5000] {
        let mut values = vec![0.0; 3 * n];
        fill_rows(&mut values, 3, "test", &Unmonitored, || (), |(), i, row| row.fill(i as f64)).unwrap();
        assert_eq!(values, (0..3 * n).map(|at| (at / 3) as f64).collect::<Vec<_>>());
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let values = gaussian(100_000, 1, 40);
    let run = || map_points(100_000, "test", &Unmonitored, || (), |(), i| values[[i, 0]].powi(2)).unwrap();
    let alone = on_threads(1, run);
    for threads in [2, 8] {
        assert!(on_threads(threads, run) == alone, "{threads} threads");
    }
}

#[test]
fn a_stop_ends_the_loop() {
    struct Stopped;
    impl Monitor for Stopped {
        fn stop_requested(&self) -> bool {
            true
        }
    }
    assert_eq!(map_points(10, "test", &Stopped, || (), |(), i| i), Err(Error::Interrupted));
}
