//! The errors of this crate. Every message names the numbers that are wrong.

use thiserror::Error;

/// The reason why a computation was refused or stopped.
///
/// Wrong arguments are found before any work is done. Only [`Error::Interrupted`], [`Error::OutOfMemory`] and errors in
/// a matrix can occur later.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the messages describe the fields
pub enum Error {
    /// An array has no rows or no columns.
    #[error("{name} is empty: it has shape ({rows}, {columns})")]
    Empty { name: &'static str, rows: usize, columns: usize },
    /// An entry is NaN or infinite.
    #[error("{name} holds {value} at row {row}, column {column}: every entry must be finite")]
    NotFinite { name: &'static str, row: usize, column: usize, value: f64 },
    /// An entry is so large that squared distances overflow.
    #[error(
        "{name} holds {value:e} at row {row}, column {column}: squared distances overflow above {limit:e}, rescale the data"
    )]
    TooLarge { name: &'static str, row: usize, column: usize, value: f64, limit: f64 },
    /// More points than `u32` can number.
    #[error("{n} points are too many: at most {limit} can be numbered")]
    TooManyPoints { n: usize, limit: usize },
    /// More edges than `u32` can number.
    #[error("{n} pairs of neighbors are too many: at most {limit} can be numbered, lower n_neighbors")]
    TooManyEdges { n: usize, limit: usize },
    /// `n_neighbors` is zero.
    #[error("n_neighbors = 0 is too few: at least 1 is needed")]
    NoNeighbors,
    /// Too few points for `n_neighbors` neighbors each.
    #[error("n_neighbors = {n_neighbors} needs at least {} points, got {n}", n_neighbors + 1)]
    TooFewPoints { n_neighbors: usize, n: usize },
    /// A neighborhood is too small for the weights.
    #[error(
        "{weights} weights for n_components = {n_components} need at least {needed} neighbors, point {point} has {size}"
    )]
    TooFewNeighbors { weights: &'static str, n_components: usize, needed: usize, point: usize, size: usize },
    /// Only LEM and DFM weights have degrees.
    #[error("{weights} weights have no degrees: those of LEM and DFM have")]
    NoDegrees { weights: &'static str },
    /// More neighbors than there are points.
    #[error("n_neighbors = {n_neighbors} exceeds the {n} points that there are")]
    TooManyNeighbors { n_neighbors: usize, n: usize },
    /// The radius is negative or not finite.
    #[error("radius = {radius} is not a length: it must be finite and at least 0")]
    BadRadius { radius: f64 },
    /// The embedding has more dimensions than the data.
    #[error("n_components = {n_components} exceeds the {dim_in} dimensions of the data")]
    TooManyComponents { n_components: usize, dim_in: usize },
    /// `n_components` is zero.
    #[error("n_components = 0 is too few: at least 1 is needed")]
    NoComponents,
    /// Two arguments must have the same number of rows, but do not.
    #[error("{left} has {left_len} rows, but {right} has {right_len}")]
    LengthMismatch { left: &'static str, left_len: usize, right: &'static str, right_len: usize },
    /// Two arguments must have the same number of columns, but do not.
    #[error("{left} has {left_dim} columns, but {right} has {right_dim}")]
    DimensionMismatch { left: &'static str, left_dim: usize, right: &'static str, right_dim: usize },
    /// A neighbor's index is not the index of a point.
    #[error("neighbor {neighbor} of point {point} is out of range: there are {n} points")]
    NeighborOutOfRange { point: usize, neighbor: usize, n: usize },
    /// A neighborhood lists its own point, or lists a point twice.
    #[error("point {point} lists neighbor {neighbor} {}", if point == neighbor { "that is itself" } else { "more than once" })]
    RepeatedNeighbor { point: usize, neighbor: usize },
    /// A row of a part that is no point.
    #[error("row {row} is out of range: there are {n} points")]
    RowOutOfRange { row: usize, n: usize },
    /// A part that has one row twice.
    #[error("row {row} is in the part more than once")]
    RepeatedRow { row: usize },
    /// A part of a graph of which a neighborhood has points outside.
    #[error("point {point} lists neighbor {neighbor}, which is not among the {rows} rows of the part")]
    LeavesPart { point: usize, neighbor: usize, rows: usize },
    /// `indptr` does not describe `indices`.
    #[error("indptr is not a valid row pointer at position {position}: {reason}")]
    BadIndptr { position: usize, reason: String },
    /// A neighborhood lists a point to which no distance was measured.
    #[error("neighbor {neighbor} of point {point} has no measured distance: list measured pairs only")]
    NoDistance { point: usize, neighbor: usize },
    /// A computation needs points, but there are only distances.
    #[error("{what} needs points, but only distances are known")]
    NoPoints { what: &'static str },
    /// A parameter is outside its range.
    #[error("{name} = {value} is out of range: {needed}")]
    OutOfRange { name: &'static str, value: f64, needed: &'static str },
    /// A matrix that must be symmetric is not.
    #[error(
        "the matrix is not symmetric: x' M y and y' M x differ by {difference:e}, with rows of size {norm:e}"
    )]
    Asymmetric { difference: f64, norm: f64 },
    /// A matrix that must have no negative eigenvalues has some.
    #[error(
        "the matrix is not positive semidefinite: not even with {shift:e} of its norm added to the diagonal"
    )]
    Indefinite { shift: f64 },
    /// There is not enough memory for the result.
    #[error("{bytes} bytes for the result are more than there is memory")]
    OutOfMemory { bytes: usize },
    /// The caller asked the computation to stop.
    #[error("interrupted")]
    Interrupted,
}

/// The result of a computation that can fail.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The error of a point that is asked about, but does not exist.
    pub(crate) fn no_point(point: usize, n: usize) -> Self {
        Error::NeighborOutOfRange { point, neighbor: point, n }
    }
}

/// Fails unless two arguments, given with their names, have the same number of rows.
pub(crate) fn check_rows(
    (left, left_len): (&'static str, usize),
    (right, right_len): (&'static str, usize),
) -> Result<()> {
    if left_len == right_len {
        return Ok(());
    }
    Err(Error::LengthMismatch { left, left_len, right, right_len })
}

/// Fails unless the parameter `name` is `valid`.
pub(crate) fn check_range(name: &'static str, value: f64, valid: bool, needed: &'static str) -> Result<()> {
    if valid { Ok(()) } else { Err(Error::OutOfRange { name, value, needed }) }
}
