//! `unbend::embed` for Python.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use unbend::{Monitor, embed};

use crate::array::{Matrix, points};
use crate::run::run;

type Flat<'py> = Bound<'py, PyArray1<f64>>;

/// Flat (places, errors) of the new points, each carried by the `k` points listed for it.
#[pyfunction]
pub fn carry<'py>(
    py: Python<'py>,
    source: Matrix<'py>,
    target: Matrix<'py>,
    new: Matrix<'py>,
    lists: PyReadonlyArray1<'py, u32>,
    k: usize,
    n_jobs: usize,
) -> PyResult<(Flat<'py>, Flat<'py>)> {
    let (source, target, new, lists) = (source.values(), target.values(), new.values(), lists.as_slice()?);
    let carried = run(py, n_jobs, |m: &dyn Monitor| {
        let (source, target) = (points("source", source, m)?, points("target", target, m)?);
        embed::carry(&source, &target, &points("new", new, m)?, lists, k, m)
    })?;
    Ok((carried.placed.into_pyarray(py), carried.errors.into_pyarray(py)))
}
