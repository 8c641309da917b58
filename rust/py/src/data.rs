//! Points and graphs of Python: checked once and not copied. No other file branches on dtypes.

use std::ops::Deref;

use numpy::{
    Element, IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArrayDyn,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use unbend::charts::{self, Source};
use unbend::embed::cut;
use unbend::points::Values;
use unbend::{Monitor, Neighborhoods};

use crate::export::{Array, Lend, Owned, methods};
use crate::run::{Progress, run, to_python};

/// The names of arguments in messages.
const NAMES: [&str; 5] = ["X", "Y", "new", "source", "target"];

/// A borrowed array in C order, of any shape, read from end to end.
pub struct Flat<'py, T: Element = f64>(PyReadonlyArrayDyn<'py, T>);

impl<'py, T: Element> FromPyObject<'_, 'py> for Flat<'py, T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let array: PyReadonlyArrayDyn<'py, T> = object.extract()?;
        match array.is_c_contiguous() {
            true => Ok(Flat(array)),
            false => {
                Err(PyValueError::new_err("the array is not contiguous: pass numpy.ascontiguousarray of it"))
            }
        }
    }
}

impl<T: Element> Deref for Flat<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.0.as_slice().unwrap_or_default() // contiguous, as was checked
    }
}

impl<T: Element + Sync> Lend for Flat<'_, T> {
    type Lent<'a>
        = &'a [T]
    where
        Self: 'a;

    fn lend(&mut self) -> PyResult<&[T]> {
        Ok(self)
    }
}

/// A borrowed two-dimensional float array of either precision, with any strides.
#[derive(FromPyObject)]
enum View<'py> {
    /// Double precision.
    F64(PyReadonlyArray2<'py, f64>),
    /// Single precision.
    F32(PyReadonlyArray2<'py, f32>),
}

fn view<'py>(array: &Bound<'py, PyAny>) -> PyResult<View<'py>> {
    let needed = "a matrix must be a two-dimensional NumPy array of float64 or float32";
    array.extract().map_err(|_| PyTypeError::new_err(needed))
}

/// An array, or `Points` whose entries were checked before.
pub struct Matrix<'py> {
    view: View<'py>,
    checked: bool,
}

impl<'py> FromPyObject<'_, 'py> for Matrix<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.cast::<Points>() {
            Ok(points) => points.get().matrix(object.py()),
            Err(_) => Ok(Matrix { view: view(&object)?, checked: false }),
        }
    }
}

impl Lend for Matrix<'_> {
    type Lent<'a>
        = Entries<'a>
    where
        Self: 'a;

    fn lend(&mut self) -> PyResult<Entries<'_>> {
        let values = match &self.view {
            View::F64(array) => array.as_array().into(),
            View::F32(array) => array.as_array().into(),
        };
        Ok(Entries { values, checked: self.checked })
    }
}

/// The entries of a matrix.
#[derive(Clone, Copy)]
pub struct Entries<'a> {
    values: Values<'a>,
    checked: bool,
}

/// Checks the entries unless they were checked before; inside [`crate::run`], so that it can be interrupted.
pub fn points<'a>(
    name: &'static str,
    entries: Entries<'a>,
    monitor: &dyn Monitor,
) -> unbend::Result<unbend::Points<'a>> {
    match entries.checked {
        true => Ok(unbend::Points::trusted(entries.values)),
        false => unbend::Points::new(name, entries.values, monitor),
    }
}

/// A matrix whose entries were checked.
#[pyclass(frozen, module = "unbend._core")]
pub struct Points {
    #[pyo3(get)]
    array: Py<PyAny>,
}

#[pymethods]
impl Points {
    #[new]
    #[pyo3(signature = (x, name="X"))]
    fn new(py: Python<'_>, x: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        let name = NAMES.into_iter().find(|known| *known == name).unwrap_or("the array");
        let mut matrix = Matrix { view: view(x)?, checked: false };
        let entries = matrix.lend()?;
        run(py, 0, None, |m| points(name, entries, m).map(drop))?;
        Ok(Points { array: x.clone().unbind() })
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.array.bind(py).len()
    }

    /// Number of coordinates of a point.
    #[getter]
    fn dim(&self, py: Python<'_>) -> PyResult<usize> {
        self.array.bind(py).getattr("shape")?.get_item(1)?.extract()
    }
}

impl Points {
    /// Some rows, which were checked with all others.
    pub fn take(&self, py: Python<'_>, rows: &Bound<'_, PyArray1<u32>>) -> PyResult<Points> {
        let array = self.array.bind(py).call_method1("take", (rows, 0))?;
        Ok(Points { array: array.unbind() })
    }

    /// The entries, borrowed.
    pub fn matrix<'py>(&self, py: Python<'py>) -> PyResult<Matrix<'py>> {
        Ok(Matrix { view: self.array.bind(py).extract()?, checked: true })
    }
}

/// The neighbors of every point, checked: `indices` alone if all have `n_neighbors`, else with `indptr`.
#[pyclass(frozen, module = "unbend._core")]
pub struct Graph {
    #[pyo3(get)]
    indices: Py<PyArray1<u32>>,
    #[pyo3(get)]
    indptr: Option<Py<PyArray1<i64>>>,
    #[pyo3(get)]
    n_neighbors: Option<usize>,
}

/// The lists of a [`Graph`], borrowed.
pub struct Lists<'py> {
    indices: PyReadonlyArray1<'py, u32>,
    indptr: Option<PyReadonlyArray1<'py, i64>>,
    k: usize,
}

impl<'py> FromPyObject<'_, 'py> for Lists<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        object.cast::<Graph>()?.get().lists(object.py())
    }
}

impl Lend for Lists<'_> {
    type Lent<'a>
        = Neighborhoods<'a>
    where
        Self: 'a;

    fn lend(&mut self) -> PyResult<Neighborhoods<'_>> {
        let indptr = self.indptr.as_ref().map(|p| p.as_slice()).transpose()?;
        Ok(Neighborhoods::lent(indptr, self.k, self.indices.as_slice()?))
    }
}

methods! {
    Graph {
        #[new]
        #[pyo3(signature = (indices, *, n_neighbors=None, indptr=None))]
        fn new(
            py: Python<'_>,
            indices: Py<PyArray1<u32>>,
            n_neighbors: Option<usize>,
            indptr: Option<Py<PyArray1<i64>>>,
        ) -> PyResult<Self> {
            let n_neighbors = n_neighbors.filter(|_| indptr.is_none());
            let graph = Graph { indices, indptr, n_neighbors };
            let lists = graph.lists(py)?;
            let indptr = lists.indptr.as_ref().map(|p| p.as_slice()).transpose()?;
            let indices = lists.indices.as_slice()?;
            run(py, 0, None, |_| match indptr {
                Some(indptr) => Neighborhoods::from_ragged(indptr, indices).map(drop),
                None => Neighborhoods::from_fixed(lists.k, indices).map(drop),
            })?;
            Ok(graph)
        }

        fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
            Ok(self.lists(py)?.lend()?.len())
        }
    }

    /// The connected component of every point.
    components() -> Array<u32> = |graph, _m| Ok(Owned(graph.components()));

    /// The points that list each point.
    reversed() -> NewGraph = |graph, _m| Ok(NewGraph(graph.reversed()));

    /// The undirected graph.
    symmetrized() -> NewGraph = |graph, _m| Ok(NewGraph(graph.symmetrized()));

    /// Flag for every neighbor of every point: true if the two are among the pairs.
    marked(pairs: Flat<u32>) -> Array<bool> = |graph, _m| cut::marked(graph, pairs).map(Owned);

    /// The neighborhoods without their torn members.
    without(torn: Flat<bool>) -> NewGraph = |graph, _m| cut::restricted(graph, torn).map(NewGraph);

    /// The neighborhoods of some points, renumbered to their places.
    part(rows: Flat<u32>) -> NewGraph = |graph, m| graph.part(rows, m).map(NewGraph);
}

impl Graph {
    /// A graph of the core.
    pub fn of(py: Python<'_>, graph: Neighborhoods<'static>) -> Self {
        let n_neighbors = graph.fixed_size();
        let (indptr, indices) = graph.into_parts();
        let indptr = indptr.map(|indptr| indptr.into_pyarray(py).unbind());
        Graph { indices: indices.into_pyarray(py).unbind(), indptr, n_neighbors }
    }

    /// The lists, borrowed.
    pub fn lists<'py>(&self, py: Python<'py>) -> PyResult<Lists<'py>> {
        Ok(Lists {
            indices: self.indices.bind(py).extract()?,
            indptr: self.indptr.as_ref().map(|indptr| indptr.bind(py).extract()).transpose()?,
            k: self.n_neighbors.unwrap_or(0),
        })
    }

    fn run<T: Send>(
        &self,
        py: Python<'_>,
        progress: Progress,
        work: impl FnOnce(&Neighborhoods, &dyn Monitor) -> unbend::Result<T> + Send,
    ) -> PyResult<T> {
        let mut lists = self.lists(py)?;
        let graph = lists.lend()?;
        run(py, 0, progress, |m| work(&graph, m))
    }
}

/// A graph of the core that becomes a [`Graph`].
pub struct NewGraph(pub Neighborhoods<'static>);

impl<'py> IntoPyObject<'py> for NewGraph {
    type Target = Graph;
    type Output = Bound<'py, Graph>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, Graph>> {
        Bound::new(py, Graph::of(py, self.0))
    }
}

/// Neighborhoods of which only distances are known, each in coordinates of its own.
#[pyclass(frozen, module = "unbend._core")]
pub struct Patches(charts::Patches);

#[pymethods]
impl Patches {
    /// Charts of the neighborhoods of `graph`, from a distance for each entry of the symmetric graph `measured`.
    #[new]
    #[pyo3(signature = (measured, distances, graph, n_components, n_jobs, progress=None))]
    fn new(
        py: Python<'_>,
        mut measured: Lists,
        distances: Flat,
        mut graph: Lists,
        n_components: usize,
        n_jobs: usize,
        progress: Progress,
    ) -> PyResult<Self> {
        let (measured, distances, graph) = (measured.lend()?, &*distances, graph.lend()?);
        run(py, n_jobs, progress, |m| {
            let measured = charts::Measured::new(&measured, distances)?;
            charts::Patches::new(measured, &graph, n_components, m).map(Patches)
        })
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// The largest number of coordinates.
    #[getter]
    fn dim(&self) -> usize {
        self.0.dim()
    }

    /// Number of neighborhoods of which some distances are missing.
    #[getter]
    fn n_incomplete(&self) -> usize {
        self.0.n_incomplete()
    }
}

/// Source of the coordinates of neighborhoods.
#[derive(FromPyObject, IntoPyObject, IntoPyObjectRef)]
pub enum Data {
    /// Points.
    Points(Py<Points>),
    /// Charts from distances.
    Patches(Py<Patches>),
}

impl Data {
    /// The same data once more.
    pub fn clone_ref(&self, py: Python<'_>) -> Self {
        match self {
            Data::Points(points) => Data::Points(points.clone_ref(py)),
            Data::Patches(patches) => Data::Patches(patches.clone_ref(py)),
        }
    }

    /// Fails if there are only distances, with which `what` is not possible.
    pub fn check_points(&self, what: &'static str) -> PyResult<()> {
        match self {
            Data::Points(_) => Ok(()),
            Data::Patches(_) => Err(to_python(unbend::Error::NoPoints { what })),
        }
    }

    /// The same data in another order, which is that of `graph`.
    pub fn take(
        &self,
        py: Python<'_>,
        order: &Bound<'_, PyArray1<u32>>,
        graph: &Neighborhoods,
    ) -> PyResult<Self> {
        Ok(match self {
            Data::Points(points) => Data::Points(Py::new(py, points.get().take(py, order)?)?),
            Data::Patches(patches) => {
                let moved = patches.get().0.renumbered(order.readonly().as_slice()?, graph);
                Data::Patches(Py::new(py, Patches(moved))?)
            }
        })
    }

    /// The data, borrowed.
    pub fn borrowed<'py>(&self, py: Python<'py>) -> PyResult<Borrow<'py>> {
        match self {
            Data::Points(points) => points.get().matrix(py).map(Borrow::Points),
            Data::Patches(patches) => Ok(Borrow::Patches(patches.clone_ref(py))),
        }
    }
}

/// Borrowed data.
pub enum Borrow<'py> {
    /// The entries of points.
    Points(Matrix<'py>),
    /// Charts from distances.
    Patches(Py<Patches>),
}

impl<'py> FromPyObject<'_, 'py> for Borrow<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.cast::<Patches>() {
            Ok(patches) => Ok(Borrow::Patches(patches.to_owned().unbind())),
            Err(_) => object.extract().map(Borrow::Points),
        }
    }
}

impl Lend for Borrow<'_> {
    type Lent<'a>
        = Lent<'a>
    where
        Self: 'a;

    fn lend(&mut self) -> PyResult<Lent<'_>> {
        match self {
            Borrow::Points(matrix) => matrix.lend().map(Lent::Entries),
            Borrow::Patches(patches) => Ok(Lent::Patches(&patches.get().0)),
        }
    }
}

/// Data as Python lends them: entries that may have to be checked, or charts.
#[derive(Clone, Copy)]
pub enum Lent<'a> {
    /// The entries of points.
    Entries(Entries<'a>),
    /// Charts from distances.
    Patches(&'a charts::Patches),
}

impl<'a> Lent<'a> {
    /// The data, checked if they were not.
    pub fn checked(self, monitor: &dyn Monitor) -> unbend::Result<Checked<'a>> {
        match self {
            Lent::Entries(entries) => points("X", entries, monitor).map(Checked::Points),
            Lent::Patches(patches) => Ok(Checked::Patches(patches)),
        }
    }
}

/// Data that the core can use.
pub enum Checked<'a> {
    /// Points.
    Points(unbend::Points<'a>),
    /// Charts from distances.
    Patches(&'a charts::Patches),
}

impl<'a> Checked<'a> {
    /// The data as the core takes them.
    pub fn source(&self) -> Source<'_, 'a> {
        match self {
            Checked::Points(points) => points.into(),
            Checked::Patches(patches) => (*patches).into(),
        }
    }
}
