//! Local weights against the definitions of Goldberg, Zakai, Kushnir & Ritov, section 2, with dense matrices.

use nalgebra::{DMatrix, DVector};
use ndarray::Array2;
use unbend::csr::Csr;
use unbend::spectral::*;
use unbend::synthetic::{SwissRoll, swiss_roll};
use unbend::{Error, Monitor, Neighborhoods, Points, Search, Unmonitored, neighbors};

use crate::clouds::*;
use crate::{naive, on_threads};

fn points(x: &Array2<f64>) -> Points<'_> {
    Points::new("X", x.view(), &Unmonitored).unwrap()
}

fn graph(x: &Array2<f64>, k: usize) -> Neighborhoods<'static> {
    neighbors::nearest(&points(x), k, Search::Auto, &Unmonitored).unwrap().neighborhoods
}

const WAYS: [&str; 12] =
    ["lle", "ldr", "ldr 2", "convex", "mlle", "ltsa", "ltsa self", "hlle", "hlle self", "lem", "heat", "dfm"];

fn weights(way: &str, x: &Array2<f64>, graph: &Neighborhoods) -> LocalWeights {
    try_weights(way, x, graph, &Unmonitored).unwrap()
}

fn try_weights(
    way: &str,
    x: &Array2<f64>,
    graph: &Neighborhoods,
    m: &dyn Monitor,
) -> unbend::Result<LocalWeights> {
    let x = &points(x);
    let least =
        |n_components| LleParams { barycenter: Barycenter::LeastNorm, n_components, ..Default::default() };
    let convex = LleParams { barycenter: Barycenter::Convex, ..Default::default() };
    let include_self = way.ends_with("self");
    match way {
        "lle" => lle(x, graph, &LleParams::default(), m),
        "ldr" => lle(x, graph, &least(None), m),
        "ldr 2" => lle(x, graph, &least(Some(2)), m),
        "convex" => lle(x, graph, &convex, m),
        "mlle" => mlle(x, graph, &MlleParams::default(), m),
        "ltsa" | "ltsa self" => ltsa(x, graph, &LtsaParams { include_self, ..Default::default() }, m),
        "hlle" | "hlle self" => hlle(x, graph, &HlleParams { include_self, ..Default::default() }, m),
        "lem" => lem(x, graph, &Kernel::Window, m),
        "heat" => lem(x, graph, &Kernel::Heat(None), m),
        _ => dfm(x, graph, &DfmParams::default(), m),
    }
}

fn dense(matrix: &Csr<f64>) -> DMatrix<f64> {
    let n = matrix.len();
    let mut all = DMatrix::zeros(n, n);
    for i in 0..n {
        matrix.view().row(i).for_each(|(j, value)| all[(i, j)] += value);
    }
    all
}

fn size(a: &DMatrix<f64>) -> f64 {
    a.iter().fold(0.0, |size, v| v.abs().max(size))
}

/// W_i'W_i by the definition, with the point itself first.
fn naive_product(way: &str, x: &Array2<f64>, rows: &[Vec<u32>], i: usize) -> DMatrix<f64> {
    let k = rows[i].len();
    let ones = DVector::from_element(k, 1.0);
    let c = DMatrix::from_fn(k, x.ncols(), |p, a| x[[rows[i][p] as usize, a]] - x[[i, a]]);
    let w = match way {
        "lle" => {
            let g = &c * c.transpose();
            let regular = &g + DMatrix::identity(k, k) * (1e-3 * g.trace());
            let w = regular.lu().solve(&ones).unwrap();
            let w = &w / w.sum();
            DMatrix::from_fn(1, k + 1, |_, p| if p == 0 { 1.0 } else { -w[p - 1] })
        }
        "lem" => DMatrix::from_fn(k, k + 1, |r, p| match p {
            0 => 1.0,
            p => -f64::from(p == r + 1),
        }),
        _ => {
            let own = way.ends_with("self");
            let h = naive::centered(x, &naive::members(rows, i, own));
            let m = h.nrows();
            let u = h.svd(true, false).u.unwrap().columns(0, 2).into_owned();
            let w = if way.starts_with("ltsa") {
                (DMatrix::identity(m, m) - &u * u.transpose())
                    * (DMatrix::identity(m, m) - DMatrix::from_element(m, m, 1.0 / m as f64))
            } else {
                let column = |p: usize, j: usize| match j {
                    0 => 1.0,
                    1 | 2 => u[(p, j - 1)],
                    3 => u[(p, 0)] * u[(p, 0)],
                    4 => u[(p, 0)] * u[(p, 1)],
                    _ => u[(p, 1)] * u[(p, 1)],
                };
                DMatrix::from_fn(m, 6, column).qr().q().columns(3, 3).transpose()
            };
            let shift = usize::from(!own);
            DMatrix::from_fn(w.nrows(), k + 1, |r, p| if p < shift { 0.0 } else { w[(r, p - shift)] })
        }
    };
    w.transpose() * w
}

#[test]
fn products_are_those_of_the_definitions() {
    for (q, k) in [(2, 8), (3, 12), (5, 9), (30, 12)] {
        let x = gaussian(90, q, 7);
        let graph = graph(&x, k);
        let rows = naive::rows(&graph);
        for way in ["lle", "ltsa", "ltsa self", "hlle", "hlle self", "lem"] {
            let found = weights(way, &x, &graph);
            let mut sum = DMatrix::zeros(90, 90);
            for i in 0..90 {
                let lines = found.dense(&graph, i).unwrap();
                let w = DMatrix::from_fn(lines.len(), k + 1, |r, p| lines[r][p]);
                let expected = naive_product(way, &x, &rows, i);
                let off = size(&(w.transpose() * w - &expected));
                assert!(off < 1e-9 * size(&expected).max(1.0), "{way}, q = {q}, point {i}: {off:e}");
                let all = naive::members(&rows, i, true);
                for (p, &a) in all.iter().enumerate() {
                    for (r, &b) in all.iter().enumerate() {
                        sum[(a, b)] += expected[(p, r)];
                    }
                }
            }
            let off = size(&(dense(&found.matrix(&graph, &Unmonitored).unwrap()) - &sum));
            assert!(off < 1e-9 * size(&sum), "{way}, q = {q}: matrix is {off:e} off");
        }
    }
}

#[test]
fn every_cloud_gives_finite_weights_that_cost_constants_nothing() {
    for kind in CLOUDS {
        for (q, k) in [(2, 7), (3, 12), (20, 9)] {
            let x = double(kind, 60, q, 3);
            let graph = graph(&x, k);
            for way in WAYS {
                let found = weights(way, &x, &graph);
                let matrix = dense(&found.matrix(&graph, &Unmonitored).unwrap());
                assert!(matrix.iter().all(|v| v.is_finite()), "{way}, {kind:?}, q = {q}");
                assert_eq!(matrix, matrix.transpose(), "{way}, {kind:?}, q = {q}");
                let cost = size(&(&matrix * DMatrix::from_element(60, 1, 1.0)));
                assert!(cost <= 1e-11 * size(&matrix), "{way}, {kind:?}, q = {q}: constants cost {cost:e}");
                let y = gaussian(60, 2, 1);
                let phi = found.phi(&graph, &points(&y), &Unmonitored).unwrap();
                let y = DMatrix::from_fn(60, 2, |i, a| y[[i, a]]);
                let form = (y.transpose() * &matrix * y).trace();
                let off = (phi.iter().sum::<f64>() - form).abs();
                assert!(off <= 1e-12 * form, "{way}, {kind:?}, q = {q}: phi is {off:e} off {form:e}");
            }
        }
    }
}

#[test]
fn the_same_bits_on_any_number_of_threads_and_from_any_layout() {
    let roll = SwissRoll { noise: 0.1, ..SwissRoll::default() };
    let x = swiss_roll(3000, &roll, 5, &Unmonitored).unwrap().x;
    let graph = graph(&x, 12);
    for way in WAYS {
        let all = |x: &Array2<f64>| {
            let found = weights(way, x, &graph);
            let phi = found.phi(&graph, &points(x), &Unmonitored).unwrap();
            (found.matrix(&graph, &Unmonitored).unwrap(), phi)
        };
        let expected = on_threads(1, || all(&x));
        assert!(on_threads(2, || all(&x)) == expected, "{way}: two threads");
        assert!(on_threads(7, || all(&x)) == expected, "{way}: seven threads");
        assert!(all(&fortran(&x)) == expected, "{way}: column after column");
    }
}

struct Stop;

impl Monitor for Stop {
    fn stop_requested(&self) -> bool {
        true
    }
}

#[test]
fn a_stop_is_heeded() {
    let x = gaussian(50, 3, 0);
    let graph = graph(&x, 8);
    for way in WAYS {
        assert_eq!(try_weights(way, &x, &graph, &Stop).unwrap_err(), Error::Interrupted);
        let found = weights(way, &x, &graph);
        assert_eq!(found.matrix(&graph, &Stop).unwrap_err(), Error::Interrupted);
        assert_eq!(found.phi(&graph, &points(&x), &Stop).unwrap_err(), Error::Interrupted);
    }
}

#[test]
fn neighborhoods_without_neighbors_cost_nothing() {
    let x = gaussian(4, 3, 0);
    let graph = Neighborhoods::from_ragged(vec![0, 2, 3, 3, 3], vec![1, 2, 0]).unwrap();
    for way in ["lle", "ldr", "convex", "lem", "heat", "dfm"] {
        let found = weights(way, &x, &graph);
        let phi = found.phi(&graph, &points(&x), &Unmonitored).unwrap();
        assert!(phi.iter().all(|v| v.is_finite()) && phi[2] == 0.0 && phi[3] == 0.0, "{way}: {phi:?}");
        let matrix = dense(&found.matrix(&graph, &Unmonitored).unwrap());
        assert!(matrix.iter().all(|v| v.is_finite()) && matrix[(3, 3)] == 0.0, "{way}");
    }
}

#[test]
fn errors_name_the_numbers() {
    let x = gaussian(30, 4, 0);
    let graph = graph(&x, 4);
    let message = |result: unbend::Result<LocalWeights>| result.unwrap_err().to_string();
    let few = try_weights("hlle", &x, &graph, &Unmonitored);
    let expected = "HLLE weights for n_components = 2 need at least 6 neighbors, point 0 has 4";
    assert_eq!(message(few), expected);
    let degrees = weights("ltsa", &x, &graph).degrees(&graph, true).unwrap_err();
    assert_eq!(degrees.to_string(), "LTSA weights have no degrees: those of LEM and DFM have");
}
