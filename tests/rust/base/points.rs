//! Arrays are checked once, and read in whatever layout they come.

use ndarray::{Array2, ArrayView2};
use unbend::points::MAX_MAGNITUDE;
use unbend::{Error, Points, Unmonitored};

use crate::clouds::*;
use crate::on_threads;

fn refused(x: &Array2<f64>) -> Error {
    Points::new("X", x.view(), &Unmonitored).unwrap_err()
}

#[test]
fn empty_arrays_are_refused() {
    for (rows, columns) in [(0, 0), (0, 3), (4, 0)] {
        assert_eq!(refused(&Array2::zeros((rows, columns))), Error::Empty { name: "X", rows, columns });
    }
}

/// Whichever thread meets one first: row 4095 is the last of the first thread's share.
#[test]
fn the_first_bad_entry_in_row_order_is_named() {
    let mut x = gaussian(20_000, 3, 1);
    x[[19_999, 0]] = f64::NEG_INFINITY;
    assert_eq!(refused(&x), Error::NotFinite { name: "X", row: 19_999, column: 0, value: f64::NEG_INFINITY });
    x[[4096, 0]] = f64::INFINITY;
    x[[4095, 2]] = -2e150;
    for _ in 0..10 {
        assert_eq!(
            refused(&x),
            Error::TooLarge { name: "X", row: 4095, column: 2, value: -2e150, limit: MAX_MAGNITUDE }
        );
    }
    x[[4095, 1]] = f64::INFINITY;
    assert_eq!(refused(&x), Error::NotFinite { name: "X", row: 4095, column: 1, value: f64::INFINITY });
    x[[7, 1]] = f64::NAN;
    assert!(matches!(refused(&x), Error::NotFinite { row: 7, column: 1, value, .. } if value.is_nan()));
    let turned = fortran(&x);
    assert!(matches!(refused(&turned), Error::NotFinite { row: 7, column: 1, .. }));
}

/// Two threads start at rows 0 and 200,704: the second meets its bad entry at once.
#[test]
fn threads_do_not_race_for_the_first_bad_entry() {
    let mut x = Array2::zeros((400_000, 2));
    x[[200_710, 0]] = f64::NAN;
    x[[200_000, 1]] = f64::INFINITY;
    for _ in 0..20 {
        let error = on_threads(2, || refused(&x));
        assert_eq!(error, Error::NotFinite { name: "X", row: 200_000, column: 1, value: f64::INFINITY });
    }
}

#[test]
fn single_precision_is_checked_too() {
    let mut x = Array2::from_elem((3, 2), f32::MAX);
    assert!(Points::new("Y", x.view(), &Unmonitored).is_ok());
    x[[2, 1]] = f32::INFINITY;
    let error = Points::new("Y", x.view(), &Unmonitored).unwrap_err();
    assert_eq!(error, Error::NotFinite { name: "Y", row: 2, column: 1, value: f64::INFINITY });
}

#[test]
fn the_limit_itself_is_accepted() {
    let mut x = Array2::from_elem((1, 2), MAX_MAGNITUDE);
    x[[0, 1]] = -MAX_MAGNITUDE;
    assert!(Points::new("X", x.view(), &Unmonitored).is_ok());
    x[[0, 1]] = -MAX_MAGNITUDE * (1.0 + f64::EPSILON);
    assert!(matches!(refused(&x), Error::TooLarge { row: 0, column: 1, .. }));
}

#[test]
fn rows_are_the_same_in_every_layout() {
    let x = gaussian(9, 5, 2);
    let (turned, larger, backwards) = (fortran(&x), spread_out(&x, f64::NAN), reversed(&x));
    let narrow = x.mapv(|v| v as f32);
    let views: [ArrayView2<f64>; 4] =
        [x.view(), turned.view(), spread_out_view(&larger), reversed_view(&backwards)];
    for view in views {
        let points = Points::new("X", view, &Unmonitored).unwrap();
        assert_eq!((points.len(), points.dim()), (9, 5));
        assert_rows(&points, &x);
    }
    let points = Points::new("X", narrow.view(), &Unmonitored).unwrap();
    assert_rows(&points, &narrow.mapv(f64::from));
}

fn assert_rows(points: &Points, x: &Array2<f64>) {
    let mut row = vec![0.0; x.ncols()];
    for i in 0..x.nrows() {
        points.copy_row(i, &mut row);
        assert_eq!(row, x.row(i).to_vec());
    }
}
