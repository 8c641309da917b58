//! The form of all exported functions: arguments are lent to the core, the work runs on other threads, and the
//! result is converted.

use std::convert::Infallible;

use numpy::{IntoPyArray, PyArray, PyReadwriteArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// An argument that other threads can read.
pub trait Lend {
    /// The argument in the type of the core.
    type Lent<'a>: Send
    where
        Self: 'a;

    fn lend(&mut self) -> PyResult<Self::Lent<'_>>;
}

macro_rules! lend_copies {
    ($($kind:ty),*) => {$(
        impl Lend for $kind {
            type Lent<'a> = $kind;

            fn lend(&mut self) -> PyResult<$kind> {
                Ok(*self)
            }
        }
    )*};
}

lend_copies!(bool, usize, u64, f64);

impl Lend for Vec<usize> {
    type Lent<'a> = &'a [usize];

    fn lend(&mut self) -> PyResult<&[usize]> {
        Ok(self)
    }
}

impl<L: Lend> Lend for Option<L> {
    type Lent<'a>
        = Option<L::Lent<'a>>
    where
        L: 'a;

    fn lend(&mut self) -> PyResult<Option<L::Lent<'_>>> {
        self.as_mut().map(L::lend).transpose()
    }
}

/// A matrix of the caller, to be filled row after row.
pub struct Output<'py>(PyReadwriteArray2<'py, f64>);

impl<'py> FromPyObject<'_, 'py> for Output<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let array: PyReadwriteArray2<'py, f64> = object.extract()?;
        match array.is_c_contiguous() {
            true => Ok(Output(array)),
            false => Err(PyValueError::new_err("per_point is not contiguous in C order")),
        }
    }
}

impl Lend for Output<'_> {
    type Lent<'a>
        = &'a mut [f64]
    where
        Self: 'a;

    fn lend(&mut self) -> PyResult<&mut [f64]> {
        Ok(self.0.as_slice_mut()?)
    }
}

/// A value of the core that has a name in Python.
pub trait Named: Copy + PartialEq + Send + 'static {
    /// The parameter that has the name.
    const PARAMETER: &'static str;
    const NAMES: &'static [(&'static str, Self)];
}

/// A value by its name.
pub struct Name<T>(pub T);

impl<T: Named> FromPyObject<'_, '_> for Name<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let name: &str = object.extract()?;
        let found = T::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|&(_, value)| Name(value)).ok_or_else(|| {
            let names: Vec<_> = T::NAMES.iter().map(|(known, _)| *known).collect();
            let (parameter, names) = (T::PARAMETER, names.join(", "));
            PyValueError::new_err(format!("{parameter} = {name:?} is unknown: use one of {names}"))
        })
    }
}

impl<T: Named> Lend for Name<T> {
    type Lent<'a> = T;

    fn lend(&mut self) -> PyResult<T> {
        Ok(self.0)
    }
}

/// New values, which become an array without being copied.
pub struct Owned<A>(pub A);

/// A new array of one axis.
pub type Array<T = f64> = Owned<Vec<T>>;

/// A new array of two axes.
pub type Table<T = f64> = Owned<ndarray::Array2<T>>;

impl<A> From<A> for Owned<A> {
    fn from(values: A) -> Self {
        Owned(values)
    }
}

impl<'py, A: IntoPyArray> IntoPyObject<'py> for Owned<A> {
    type Target = PyArray<A::Item, A::Dim>;
    type Output = Bound<'py, Self::Target>;
    type Error = Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Infallible> {
        Ok(self.0.into_pyarray(py))
    }
}

/// Functions `name(arguments) -> result = |monitor| work`: with `n_jobs` and `progress` after the arguments, and
/// `register`, which adds them to the module.
macro_rules! functions {
    ($(
        $(#[$meta:meta])*
        $name:ident($($argument:ident: $kind:ty),*) -> $result:ty = |$monitor:ident $(, $n_jobs:ident)?| $work:expr;
    )*) => {$(
        #[pyfunction]
        $(#[$meta])*
        #[pyo3(signature = ($($argument,)* n_jobs, progress=None))]
        pub fn $name(
            py: Python<'_>,
            $(mut $argument: $kind,)*
            n_jobs: usize,
            progress: $crate::run::Progress,
        ) -> PyResult<$result> {
            $(let $argument = $crate::export::Lend::lend(&mut $argument)?;)*
            $(let $n_jobs = n_jobs;)?
            $crate::run::run(py, n_jobs, progress, |$monitor| -> unbend::Result<$result> { $work })
        }
    )*

        pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
            Ok(())
        }
    };
}

/// The methods of a class: those in braces as they are, then `name(arguments) -> result = |task| work`, with `progress`
/// after the arguments and keywords after a semicolon. The `run` of the class calls `work`.
macro_rules! methods {
    ($class:ty { $($other:tt)* } $(
        $(#[$meta:meta])*
        $name:ident(
            $($argument:ident: $kind:ty $(= $default:tt)?),* $(; $($keyword:ident: $option:ty),*)?
        ) -> $result:ty = |$($task:ident),+| $work:expr;
    )*) => {
        #[pymethods]
        impl $class {
            $($other)*

            $(
                $(#[$meta])*
                #[pyo3(signature = (
                    $($argument $(= $default)?,)* progress=None $(, *, $($keyword=None),*)?
                ))]
                fn $name(
                    &self,
                    py: Python<'_>,
                    $(mut $argument: $kind,)*
                    progress: $crate::run::Progress,
                    $($($keyword: $option),*)?
                ) -> PyResult<$result> {
                    $(let $argument = $crate::export::Lend::lend(&mut $argument)?;)*
                    self.run(py, progress, |$($task),+| -> unbend::Result<$result> { $work })
                }
            )*
        }
    };
}

/// A dict with fields of a struct of the core.
macro_rules! record {
    ($(#[$meta:meta])* $name:ident of $core:ty { $($field:ident: $kind:ty),* $(,)? }) => {
        $(#[$meta])*
        #[derive(IntoPyObject)]
        pub struct $name {
            $($field: $kind),*
        }

        impl From<$core> for $name {
            fn from(core: $core) -> Self {
                $name { $($field: core.$field.into()),* }
            }
        }
    };
}

pub(crate) use {functions, methods, record};
