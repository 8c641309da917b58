//! NumPy arrays as the core sees them. The one place where dtypes branch.

use numpy::{PyArrayDyn, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use unbend::points::Values;
use unbend::{Monitor, Neighborhoods, Points};

use crate::error::to_python;

/// A borrowed two-dimensional float array of either precision, with any strides.
#[derive(FromPyObject)]
pub enum Matrix<'py> {
    /// Double precision.
    F64(PyReadonlyArray2<'py, f64>),
    /// Single precision.
    F32(PyReadonlyArray2<'py, f32>),
}

impl Matrix<'_> {
    /// The entries, unchecked.
    pub fn values(&self) -> Values<'_> {
        match self {
            Matrix::F64(array) => array.as_array().into(),
            Matrix::F32(array) => array.as_array().into(),
        }
    }
}

/// Checks the entries; runs inside [`crate::run::run`], so that a large array can be interrupted.
pub fn points<'a>(
    name: &'static str,
    values: Values<'a>,
    monitor: &dyn Monitor,
) -> unbend::Result<Points<'a>> {
    Points::new(name, values, monitor)
}

/// A borrowed neighbourhood graph: `indices` alone when all sizes are `k`, else with `indptr`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Graph<'py> {
    found_here: bool,
    n_neighbors: Option<usize>,
    indptr: Option<PyReadonlyArray1<'py, i64>>,
    indices: PyReadonlyArray1<'py, u32>,
}

impl Graph<'_> {
    /// The graph in the caller's memory, which was checked when it was made. Lists that were found here have been
    /// in no other hands since.
    pub fn neighborhoods(&self) -> PyResult<Neighborhoods<'_>> {
        let indptr = self.indptr.as_ref().map(|p| p.as_slice()).transpose()?;
        let k = self.n_neighbors.unwrap_or(0);
        let graph = Neighborhoods::lent(indptr, k, self.indices.as_slice()?);
        if self.found_here { graph } else { graph.and_then(Neighborhoods::in_range) }.map_err(to_python)
    }

    /// The same, checked from the ground up. Cost: one pass.
    pub fn checked(&self) -> PyResult<Neighborhoods<'_>> {
        let indices = self.indices.as_slice()?;
        match (&self.indptr, self.n_neighbors) {
            (Some(indptr), _) => Neighborhoods::from_ragged(indptr.as_slice()?, indices),
            (None, k) => Neighborhoods::from_fixed(k.unwrap_or(0), indices),
        }
        .map_err(to_python)
    }
}

/// Whether an object is an array that [`Matrix`] takes as it is.
#[pyfunction]
pub fn is_matrix(array: &Bound<'_, PyAny>) -> bool {
    let float = array
        .cast::<PyArrayDyn<f64>>()
        .map(|a| a.ndim())
        .or_else(|_| array.cast::<PyArrayDyn<f32>>().map(|a| a.ndim()));
    matches!(float, Ok(2))
}
