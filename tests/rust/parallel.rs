//! Loops over points and sums: every point once, in order, the same bits on any number of threads.

use unbend::parallel::{fill_points, map_points, sums};
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

#[test]
fn chunks_are_filled_from_where_they_start() {
    for n in [0, 1, 512, 1025] {
        let fill = |_: &mut (), start: usize, chunk: &mut [usize]| {
            chunk.iter_mut().enumerate().for_each(|(o, value)| *value = start + o);
        };
        assert_eq!(fill_points(n, "test", &Unmonitored, || (), fill).unwrap(), (0..n).collect::<Vec<_>>());
    }
}

#[test]
fn sums_are_exact_where_they_can_be() {
    for n in [0usize, 1, 1023, 1024, 1025, 100_000] {
        let values: Vec<usize> = (0..n).collect();
        let expected = (n * n.saturating_sub(1) / 2) as f64;
        assert_eq!(
            sums(&values, |&v| [v as f64, 1.0, -2.0 * v as f64]),
            [expected, n as f64, -2.0 * expected]
        );
    }
}

/// A million tenths, added one by one, drift away.
#[test]
fn sums_do_not_drift() {
    let tenths = vec![0.1; 1_000_000];
    let one_by_one = tenths.iter().fold(0.0, |total, v| total + v);
    let [sum] = sums(&tenths, |&v| [v]);
    assert!((sum - 1e5).abs() < (one_by_one - 1e5f64).abs() / 100.0);
}

#[test]
fn threads_do_not_change_a_bit() {
    let values = gaussian(100_000, 1, 40);
    let run = || {
        let squares =
            map_points(100_000, "test", &Unmonitored, || (), |(), i| values[[i, 0]].powi(2)).unwrap();
        (sums(&squares, |&v| [v]), squares)
    };
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
