"""Patches of a graph of distances: points within some steps of a center, embedded by themselves.

As in ASAP (Cucuringu, Lipman & Singer 2012) and AAAP (Zhang, Liu, Gotsman & Gortler 2010), but with fewer and
larger patches: centers are no neighbors of one another, and a patch reaches three steps, so that each point
is in some ten patches. Patches of two steps have more points on their boundary without enough pairs, which
makes reflections less certain. Missing distances are completed by shortest paths within the patch; classical
scaling of these begins, and the stress of the measured pairs is minimized. Cost: O(s^3) for each patch of s
points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, diags_array

from ..problem import Array
from .pairs import Ends, MeasuredPairs
from .stress import Laplacian, Stress, minimize

__all__ = ["Cover", "Patches", "cover", "embed_patches"]

Numbers = npt.NDArray[np.int64]

MAX_WIDE_SIZE, MAX_SIZE = 150, 400
"""Mean number of points of patches of three steps and of two. If they are larger, patches reach two steps, or
none are made."""

POINTS_AT_ONCE, PATHS_AT_ONCE = 60_000, 6_000_000
"""Patches are embedded in groups of about this number of points, which fit into the cache, and of shortest
paths."""

LOCAL_TOL, LOCAL_MAX_ITER = 1e-4, 300
"""Tolerance and maximum number of steps of the stress of patches."""


@dataclass(frozen=True, eq=False)
class Cover:
    """The points of each patch, in rows: those of patch p are `points[indptr[p]:indptr[p + 1]]`."""

    indptr: Numbers = field(repr=False)
    points: Numbers = field(repr=False)
    steps: int

    def __len__(self) -> int:
        """Return the number of patches."""
        return len(self.indptr) - 1

    @property
    def patch_of_row(self) -> Numbers:
        """The patch of each row."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))


@dataclass(frozen=True, eq=False)
class Patches:
    """Patches embedded by themselves, and the measured pairs within each."""

    cover: Cover
    coordinates: Array = field(repr=False)  # Shape (number of rows, d).
    pair: npt.NDArray[np.int32] = field(repr=False)  # The number of each pair within a patch.
    rows: npt.NDArray[np.int32] = field(repr=False)  # Shape (number of pairs within patches, 2). Its rows.
    errors: Array = field(repr=False)  # Shape (number of patches,). Relative root mean square residual.


def cover(pairs: MeasuredPairs) -> Cover | None:
    """Cover a graph by patches of at least two steps, or return None if these are too large.

    A pair lies within some patch of two steps, because one of its points is a center or the neighbor of one.

    Examples
    --------
    >>> ends = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]])
    >>> found = cover(MeasuredPairs(6, ends, np.ones(5), np.ones(5)))
    >>> found.steps, bool(np.isin(np.arange(6), found.points).all())
    (3, True)
    """
    n = pairs.n_points
    near = csr_array(pairs.graph, dtype=np.float64, copy=True)
    near.data[:] = 1.0
    if near.nnz > MAX_SIZE * n:
        return None
    near = csr_array(near + diags_array(np.ones(n)))
    centers = _centers(near)
    reach, steps = near[centers], 1
    for most in (MAX_SIZE, MAX_WIDE_SIZE):
        wider = csr_array(reach @ near)
        if wider.nnz > most * len(centers):
            break
        wider.data[:] = 1.0
        reach, steps = wider, steps + 1
    if steps == 1:
        return None
    reach.sort_indices()
    return Cover(reach.indptr.astype(np.int64), reach.indices.astype(np.int64), steps)


def _centers(near: csr_array) -> Numbers:
    """Return points that are no neighbors of one another, and to which all others are neighbors (Luby 1986)."""
    n = near.shape[0]
    rank = np.random.default_rng(0).permutation(n) + 1
    open_, chosen = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
    rows = np.repeat(np.arange(n), np.diff(near.indptr))
    while open_.any():
        highest = np.zeros(n, dtype=np.int64)
        np.maximum.at(highest, rows, np.where(open_, rank, 0)[near.indices])
        new = open_ & (highest == rank)
        chosen |= new
        open_[near[new].indices] = False
    return np.flatnonzero(chosen)


def embed_patches(
    pairs: MeasuredPairs, covering: Cover, d: int, ask: Callable[[int, int], None] | None = None
) -> Patches:
    """Embed every patch by itself; `ask` is called with the number of finished patches, and may raise."""
    coordinates, errors = np.zeros((len(covering.points), d)), np.zeros(len(covering))
    numbers, rows = [], []
    for first, last in _groups(covering):
        begin, end = covering.indptr[first], covering.indptr[last]
        number, local = _pairs_within(pairs, covering, first, last)
        group = MeasuredPairs(end - begin, local, pairs.distances[number], pairs.weights[number])
        indptr = covering.indptr[first : last + 1] - begin
        coordinates[begin:end] = _embedded(group, indptr, d)
        patch = np.repeat(np.arange(last - first), np.diff(indptr))[local[:, 0]]
        errors[first:last] = _errors(group, patch, coordinates[begin:end], last - first)
        numbers.append(number.astype(np.int32))
        rows.append((local + begin).astype(np.int32))
        if ask is not None:
            ask(last, len(covering))
    return Patches(covering, coordinates, np.concatenate(numbers), np.concatenate(rows), errors)


def _groups(covering: Cover) -> Iterator[tuple[int, int]]:
    """Yield ranges of patches with a limited number of points and paths."""
    first, size = 0, len(covering.points) / len(covering)
    most = min(POINTS_AT_ONCE, PATHS_AT_ONCE / size)
    while first < len(covering):
        limit = covering.indptr[first] + most
        last = max(first + 1, int(np.searchsorted(covering.indptr, limit, side="right")) - 1)
        yield first, last
        first = last


def _pairs_within(pairs: MeasuredPairs, covering: Cover, first: int, last: int) -> tuple[Numbers, Ends]:
    """Return the pairs with both points in one of some patches: their numbers, and their rows in the group."""
    n, m = pairs.n_points, len(pairs)
    part = slice(covering.indptr[first], covering.indptr[last])
    points, indptr = covering.points[part], covering.indptr[first : last + 1] - covering.indptr[first]
    held = csr_array((np.ones(len(points)), points, indptr), shape=(last - first, n))
    pair_of_point = csr_array(
        (np.ones(2 * m), pairs.ends.ravel(), np.arange(0, 2 * m + 1, 2)), shape=(m, n)
    ).T.tocsr()
    counts = csr_array(held @ pair_of_point)  # Number of points that a patch shares with each pair.
    inside = counts.data == 2
    patch = np.repeat(np.arange(last - first), np.diff(counts.indptr))[inside]
    number = counts.indices[inside].astype(np.int64)
    keys = np.repeat(np.arange(last - first), np.diff(indptr)) * n + points
    local = np.searchsorted(keys, (patch * n)[:, None] + pairs.ends[number])
    return number, local


def _embedded(group: MeasuredPairs, indptr: Numbers, d: int) -> Array:
    """Return the coordinates of a group of patches, which share no points here."""
    start = _completed(group, indptr, d)
    laplacian = Laplacian(group.n_points, group.ends, group.weights)
    return minimize(Stress(group), laplacian, start, LOCAL_MAX_ITER, LOCAL_TOL).coordinates


def _completed(group: MeasuredPairs, indptr: Numbers, d: int) -> Array:
    """Return the classical scaling of the shortest paths within each patch."""
    sizes, start = np.diff(indptr), np.zeros((group.n_points, d))
    patch = np.repeat(np.arange(len(sizes)), sizes)[group.ends[:, 0]]
    for size in np.unique(sizes[sizes > 1]):  # Patches of one size at a time.
        same = np.flatnonzero(sizes == size)
        own = np.flatnonzero(sizes[patch] == size)
        paths = np.full((len(same), size, size), np.inf)
        paths[:, np.arange(size), np.arange(size)] = 0.0
        place = np.searchsorted(same, patch[own])
        a, b = (group.ends[own] - indptr[patch[own]][:, None]).T
        paths[place, a, b] = paths[place, b, a] = group.distances[own]
        for middle in range(size):  # Floyd and Warshall
            np.minimum(paths, paths[:, :, middle, None] + paths[:, None, middle, :], out=paths)
        start[indptr[same][:, None] + np.arange(size)] = _scaled(paths, min(d, size), d)
    return start


def _scaled(distances: Array, found: int, d: int) -> Array:
    """Return the classical scaling of a stack of distance matrices."""
    squares = distances**2
    means = squares.mean(axis=2, keepdims=True)
    products = (means + means.swapaxes(1, 2) - squares - means.mean(axis=1, keepdims=True)) / 2
    values, vectors = np.linalg.eigh(products)
    scaled = np.zeros((*distances.shape[:2], d))
    roots = np.sqrt(np.maximum(values[:, ::-1][:, :found], 0.0))
    scaled[:, :, :found] = vectors[:, :, ::-1][:, :, :found] * roots[:, None, :]
    return scaled


def _errors(group: MeasuredPairs, patch: Numbers, coordinates: Array, count: int) -> Array:
    """Return the residuals of each patch, as a share of its distances."""
    residuals = (Stress(group).lengths(coordinates) - group.distances) ** 2
    missed = np.bincount(patch, group.weights * residuals, count)
    total = np.bincount(patch, group.weights * group.distances**2, count)
    return np.sqrt(np.divide(missed, total, out=np.zeros(count), where=total > 0))
