//! Everything that can be wrong with an input, said with the numbers that are wrong.

use thiserror::Error;

/// Why a computation was refused or stopped.
///
/// Every variant is found before any work is done, except [`Error::Interrupted`].
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// An array has no rows or no columns.
    #[error("{name} is empty: it has shape ({rows}, {columns})")]
    Empty {
        /// Which argument.
        name: &'static str,
        /// Its number of rows.
        rows: usize,
        /// Its number of columns.
        columns: usize,
    },
    /// An entry is NaN or infinite.
    #[error("{name} holds {value} at row {row}, column {column}: every entry must be finite")]
    NotFinite {
        /// Which argument.
        name: &'static str,
        /// Row of the first offending entry.
        row: usize,
        /// Its column.
        column: usize,
        /// The entry.
        value: f64,
    },
    /// An entry is so large that squared distances overflow.
    #[error(
        "{name} holds {value:e} at row {row}, column {column}: squared distances overflow above {limit:e}, rescale the data"
    )]
    TooLarge {
        /// Which argument.
        name: &'static str,
        /// Row of the first offending entry.
        row: usize,
        /// Its column.
        column: usize,
        /// The entry.
        value: f64,
        /// The largest magnitude accepted.
        limit: f64,
    },
    /// More points than `u32` can number.
    #[error("{n} points are too many: at most {limit} can be numbered")]
    TooManyPoints {
        /// How many points there are.
        n: usize,
        /// How many there may be.
        limit: usize,
    },
    /// `n_neighbors` is zero.
    #[error("n_neighbors = 0 is too few: at least 1 is needed")]
    NoNeighbors,
    /// Not enough points for `n_neighbors` others.
    #[error("n_neighbors = {n_neighbors} needs at least {} points, got {n}", n_neighbors + 1)]
    TooFewPoints {
        /// The number of neighbours asked for.
        n_neighbors: usize,
        /// How many points there are.
        n: usize,
    },
    /// A neighbourhood too small for the weights asked for.
    #[error(
        "{weights} weights for n_components = {n_components} need at least {needed} neighbours, point {point} has {size}"
    )]
    TooFewNeighbors {
        /// Whose weights.
        weights: &'static str,
        /// Dimension of the embedding.
        n_components: usize,
        /// How many neighbours are needed.
        needed: usize,
        /// The first point that has fewer.
        point: usize,
        /// How many it has.
        size: usize,
    },
    /// Weights that are not those of edges have no degrees.
    #[error("{weights} weights have no degrees: those of LEM and DFM have")]
    NoDegrees {
        /// Whose weights.
        weights: &'static str,
    },
    /// More neighbours than there are points.
    #[error("n_neighbors = {n_neighbors} exceeds the {n} points that there are")]
    TooManyNeighbors {
        /// The number of neighbours asked for.
        n_neighbors: usize,
        /// How many points there are.
        n: usize,
    },
    /// A radius that is negative or not finite.
    #[error("radius = {radius} is not a length: it must be finite and at least 0")]
    BadRadius {
        /// The radius asked for.
        radius: f64,
    },
    /// The embedding has more dimensions than the data.
    #[error("n_components = {n_components} exceeds the {dim_in} dimensions of the data")]
    TooManyComponents {
        /// Dimension of the embedding.
        n_components: usize,
        /// Dimension of the data.
        dim_in: usize,
    },
    /// `n_components` is zero.
    #[error("n_components = 0 is too few: at least 1 is needed")]
    NoComponents,
    /// Two arguments that must have one row for each point disagree.
    #[error("{left} has {left_len} rows, but {right} has {right_len}")]
    LengthMismatch {
        /// One argument.
        left: &'static str,
        /// Its rows.
        left_len: usize,
        /// The other.
        right: &'static str,
        /// Its rows.
        right_len: usize,
    },
    /// Two arguments that must have one dimension disagree.
    #[error("{left} has {left_dim} columns, but {right} has {right_dim}")]
    DimensionMismatch {
        /// One argument.
        left: &'static str,
        /// Its columns.
        left_dim: usize,
        /// The other.
        right: &'static str,
        /// Its columns.
        right_dim: usize,
    },
    /// A neighbour that is not a point.
    #[error("neighbour {neighbor} of point {point} is out of range: there are {n} points")]
    NeighborOutOfRange {
        /// Whose neighbourhood.
        point: usize,
        /// The offending index.
        neighbor: usize,
        /// How many points there are.
        n: usize,
    },
    /// A neighbourhood that lists its own point or one point twice.
    #[error("point {point} lists neighbour {neighbor} {}", if point == neighbor { "that is itself" } else { "more than once" })]
    RepeatedNeighbor {
        /// Whose neighbourhood.
        point: usize,
        /// The index listed wrongly.
        neighbor: usize,
    },
    /// `indptr` does not describe `indices`.
    #[error("indptr is not a valid row pointer at position {position}: {reason}")]
    BadIndptr {
        /// Where it is wrong.
        position: usize,
        /// How.
        reason: String,
    },
    /// A parameter outside its range.
    #[error("{name} = {value} is out of range: {needed}")]
    OutOfRange {
        /// Which parameter.
        name: &'static str,
        /// What was given.
        value: f64,
        /// What is accepted.
        needed: &'static str,
    },
    /// A matrix that should be symmetric.
    #[error(
        "the matrix is not symmetric: x' M y and y' M x differ by {difference:e}, with rows of size {norm:e}"
    )]
    Asymmetric {
        /// For random x and y.
        difference: f64,
        /// The largest sum of absolute entries in a row.
        norm: f64,
    },
    /// A matrix that should have no negative eigenvalues.
    #[error(
        "the matrix is not positive semidefinite: not even with {shift:e} of its norm added to the diagonal"
    )]
    Indefinite {
        /// The largest shift tried, as a share of the norm.
        shift: f64,
    },
    /// The results do not fit into memory.
    #[error("{bytes} bytes for the result are more than there is memory")]
    OutOfMemory {
        /// How many were asked for.
        bytes: usize,
    },
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// The result of a fallible computation of this crate.
pub type Result<T> = std::result::Result<T, Error>;
