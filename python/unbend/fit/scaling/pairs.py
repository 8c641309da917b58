"""Pairs of points with measured distances: read from sparse matrices, full matrices or lists, and checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array, issparse
from scipy.sparse.csgraph import connected_components

from ... import _core
from ...core.arrays import as_count, refuse_text
from ..problem import Array

__all__ = ["Ends", "MeasuredPairs", "matching_rows", "pairs_of", "pairs_to_points", "symmetric"]

Ends = npt.NDArray[np.int64]

MAX_ASYMMETRY = 1e-6
"""Maximum difference of both entries of a pair in a full matrix, as a share of the largest distance."""


@dataclass(frozen=True, eq=False)
class MeasuredPairs:
    """Pairs of points, each once, the lower index first, in rising order."""

    n_points: int
    ends: Ends = field(repr=False)  # Shape (m, 2). The points of each pair.
    distances: Array = field(repr=False)  # Shape (m,). Mean of the measurements of each pair.
    weights: Array = field(repr=False)  # Shape (m,). Sum of the weights of the measurements of each pair.

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.ends)

    @cached_property
    def graph(self) -> csr_array:
        """The symmetric matrix of distances; a distance of 0 is a stored entry."""
        return symmetric(self.n_points, self.ends, self.distances)

    @cached_property
    def labels(self) -> npt.NDArray[np.uint32]:
        """The connected component of each point."""
        joined = symmetric(self.n_points, self.ends, np.ones(len(self)))
        return np.asarray(connected_components(joined, directed=False)[1], dtype=np.uint32)

    @cached_property
    def degrees(self) -> Ends:
        """The number of pairs of each point."""
        return np.bincount(self.ends.ravel(), minlength=self.n_points)

    def part(self, points: npt.NDArray[Any]) -> MeasuredPairs:
        """Return the pairs among some points, which are numbered in their order."""
        number = np.full(self.n_points, -1)
        number[points] = np.arange(len(points))
        ends = number[self.ends]
        inside = (ends >= 0).all(axis=1)
        return MeasuredPairs(len(points), ends[inside], self.distances[inside], self.weights[inside])


def symmetric(n: int, ends: Ends, values: npt.NDArray[Any]) -> csr_array:
    """Return the symmetric matrix with a value for each pair."""
    rows, columns = np.concatenate([ends, ends[:, ::-1]]).T
    return coo_array((np.concatenate([values, values]), (rows, columns)), shape=(n, n)).tocsr()


def pairs_of(
    X: Any, distances: Any = None, weights: Any = None, n_points: int | None = None, relative: bool = False
) -> MeasuredPairs:
    """Read measured pairs in any of their forms; see :meth:`unbend.GraphScaling.fit`.

    Examples
    --------
    >>> pairs_of([[1, 0], [0, 1], [2, 1]], [3.0, 5.0, 2.0]).distances.tolist()
    [4.0, 2.0]
    """
    if distances is not None:
        n, ends, lengths, shares = _listed(X, distances, weights, n_points)
    elif n_points is not None:
        raise ValueError(f"n_points = {n_points} is for lists of pairs: a matrix has as many points as rows")
    else:
        ends, lengths, shares = _entries(X, weights)
        n = int(X.shape[0]) if hasattr(X, "shape") else len(X)
    _check_entries(ends, lengths, shares)
    ends, lengths, shares = _without_own(ends, lengths, shares)
    if relative:
        shares = shares / _positive_squares(ends, lengths)
    return _merged(n, ends, lengths, shares)


def pairs_to_points(X: Any, n: int) -> tuple[Ends, Array]:
    """Read distances from new points, in rows, to `n` fitted points, in columns: (row, column) and distance."""
    if len(np.shape(X)) != 2 or np.shape(X)[1] != n:
        raise ValueError(
            f"X has shape {np.shape(X)}, but it needs a column for each of the {n} fitted points"
        )
    ends, lengths = _sparse_entries(X) if issparse(X) else _dense_entries(_matrix(X))
    _check_entries(ends, lengths, np.ones(len(lengths)))
    return ends, lengths


def matching_rows(ends: Ends, lengths: Array, count: int, pairs: MeasuredPairs) -> Ends:
    """Return for each new point the fitted point with the same distances, or -1.

    Rows are compared by their products with a random vector, which are equal only for equal rows.
    """
    probe = np.random.default_rng(0).normal(size=pairs.n_points)
    rows = coo_array((lengths, tuple(ends.T)), shape=(count, pairs.n_points)).tocsr()
    rows.sort_indices()
    keys, fitted = rows @ probe, pairs.graph
    fitted.sort_indices()
    known = fitted @ probe
    order = np.argsort(known, kind="stable")
    place = order[np.minimum(np.searchsorted(known, keys, sorter=order), pairs.n_points - 1)]
    return np.where((known[place] == keys) & (np.diff(rows.indptr) > 0), place, -1)


def _listed(X: Any, distances: Any, weights: Any, n_points: int | None) -> tuple[int, Ends, Array, Array]:
    """Return pairs that are given as an array of pairs and an array of distances."""
    ends = np.asarray(X)
    if ends.ndim != 2 or ends.shape[1] != 2:
        raise ValueError(
            f"X has shape {ends.shape}: with distances, it must have one row of two points per pair"
        )
    if ends.dtype.kind not in "iu":
        raise ValueError(
            f"X has dtype {ends.dtype}: with distances, it must hold whole numbers, the points of pairs"
        )
    if ends.size and ends.min() < 0:
        raise ValueError(f"X holds the point {ends.min()}: points are numbered from 0")
    least = int(ends.max()) + 1 if ends.size else 0
    n = least if n_points is None else as_count(n_points, "n_points")
    if n < least:
        raise ValueError(
            f"X holds the point {least - 1}, but n_points = {n}: points are numbered from 0 to {n - 1}"
        )
    lengths = _vector(distances, "distances", len(ends))
    shares = np.ones(len(ends)) if weights is None else _vector(weights, "weights", len(ends))
    return n, ends.astype(np.int64), lengths, shares


def _vector(values: Any, name: str, m: int) -> Array:
    found = np.asarray(values, dtype=np.float64)
    if found.shape != (m,):
        raise ValueError(
            f"{name} has shape {found.shape}, but X holds {m} pairs: one number per pair is needed"
        )
    return found


def _entries(X: Any, weights: Any) -> tuple[Ends, Array, Array]:
    """Return the pairs of a matrix: the entries of a sparse one, and all of a full one but NaN."""
    shape = np.shape(X)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(
            f"X has shape {shape}: distances must be a square matrix, or pairs of points with distances="
        )
    if issparse(X):
        ends, lengths = _sparse_entries(X)
    else:
        full = _matrix(X)
        _check_symmetric(full)
        ends, lengths = _dense_entries(full)
    if not issparse(X):  # Both entries of a pair say the same.
        mirrored = np.isfinite(full[ends[:, 1], ends[:, 0]]) & (ends[:, 0] > ends[:, 1])
        ends, lengths = ends[~mirrored], lengths[~mirrored]
    return ends, lengths, _weights_at(weights, ends, shape)


def _weights_at(weights: Any, ends: Ends, shape: tuple[int, ...]) -> Array:
    if weights is None:
        return np.ones(len(ends))
    if np.shape(weights) != shape:
        raise ValueError(
            f"weights has shape {np.shape(weights)}, but X has {shape}: they need a weight per entry"
        )
    found = (
        weights.tocsr()[ends[:, 0], ends[:, 1]] if issparse(weights) else np.asarray(weights)[tuple(ends.T)]
    )
    return np.asarray(found, dtype=np.float64).reshape(len(ends))


def _sparse_entries(X: Any) -> tuple[Ends, Array]:
    entries = X.tocoo()
    ends = np.stack([entries.row, entries.col], axis=1).astype(np.int64)
    return ends, _real(entries.data)


def _matrix(X: Any) -> Array:
    refuse_text(X)
    return _real(np.asarray(X))


def _real(values: Any) -> Array:
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: X has dtype {values.dtype}, but distances are real")
    return np.asarray(values, dtype=np.float64)


def _dense_entries(full: Array) -> tuple[Ends, Array]:
    ends = np.argwhere(~np.isnan(full))
    return ends, full[tuple(ends.T)]


def _check_symmetric(full: Array) -> None:
    with np.errstate(invalid="ignore"):
        apart = np.abs(full - full.T)
        allowed = MAX_ASYMMETRY * float(np.nanmax(np.abs(full), initial=0.0))
    if np.any(apart > allowed):
        row, column = np.argwhere(apart > allowed)[0]
        raise ValueError(
            f"distances are not symmetric: {full[row, column]:g} from {row} to {column}, {full[column, row]:g} "
            "back; pass a sparse matrix to average both"
        )


def _without_own(ends: Ends, lengths: Array, weights: Array) -> tuple[Ends, Array, Array]:
    """Leave out the distances of points to themselves, which must be 0."""
    own = ends[:, 0] == ends[:, 1]
    if np.any(lengths[own] != 0):
        place = np.flatnonzero(own & (lengths != 0))[0]
        point, length = ends[place, 0], lengths[place]
        raise ValueError(f"the distance of point {point} to itself is {length:g}: it must be 0, or left out")
    return ends[~own], lengths[~own], weights[~own]


def _check_entries(ends: Ends, lengths: Array, weights: Array) -> None:
    """Refuse distances and weights that are negative or not finite, naming the first."""
    for name, values in (("distance", lengths), ("weight", weights)):
        wrong = np.flatnonzero(~((values >= 0) & (values <= _core.MAX_MAGNITUDE)))
        if len(wrong):
            (i, j), value = ends[wrong[0]], values[wrong[0]]
            problem = "Negative values in data: " if value < 0 else ""
            hint = "; leave out pairs that were not measured, or set them to NaN in a full matrix"
            raise ValueError(
                f"{problem}the {name} of points {i} and {j} is {value:g}, but it must be finite and at least 0"
                f"{hint if name == 'distance' and not value < 0 else ''}"
            )


def _positive_squares(ends: Ends, lengths: Array) -> Array:
    if np.any(lengths == 0):
        i, j = ends[np.flatnonzero(lengths == 0)[0]]
        raise ValueError(
            f'the distance of points {i} and {j} is 0, which has no relative error: use weighting="equal"'
        )
    return lengths**2


def _merged(n: int, ends: Ends, lengths: Array, weights: Array) -> MeasuredPairs:
    """Return each pair once. For the stress, measurements of a pair are as good as their weighted mean."""
    used = weights > 0
    low, high = np.sort(ends[used], axis=1).T
    keys, place = np.unique(low * n + high, return_inverse=True)
    total = np.bincount(place, weights[used], len(keys))
    sums = np.bincount(place, weights[used] * lengths[used], len(keys))
    single = np.stack([keys // n, keys % n], axis=1) if len(keys) else np.empty((0, 2), dtype=np.int64)
    return MeasuredPairs(n, single, sums / total, np.asarray(total, dtype=np.float64))
