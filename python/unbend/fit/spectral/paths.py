"""Shortest paths on a graph whose lengths are given, for data without Euclidean points.

The core computes lengths from points. Here lengths are those of another metric, and paths are found by scipy. The
class :class:`ListedPaths` has the methods of `_core.Paths` that Isomap needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial.distance import cdist

from ... import _core
from ...graph.neighbors import Neighborhoods
from ..problem import Array, Indices, members

__all__ = ["ListedPaths", "ListedProblem", "spread_of"]

Report: TypeAlias = Callable[[str, int, int], bool | None] | None
Table = npt.NDArray[np.float32]

ENTRIES_AT_ONCE = 2**21
"""Number of distances that are computed at a time."""

LEAST_LENGTH = 1e-12
"""Lengths of 0 are replaced by this share of the longest: scipy reads 0 as no edge."""


@dataclass(frozen=True, eq=False)
class ListedProblem:
    """A graph whose lengths are given, and the dimension of its embedding."""

    neighborhoods: Neighborhoods
    n_components: int

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.neighborhoods)

    @property
    def component_labels(self) -> Indices:
        """The connected component of each point."""
        return self.neighborhoods.component_labels

    @cached_property
    def components(self) -> list[Indices]:
        """The points of every component, in rising order."""
        return members(self.component_labels)

    def laid_out(self, y: Array) -> Array:
        """Return an embedding with its components straightened and set side by side."""
        return np.asarray(_core.lay_out(y, self.component_labels)).reshape(y.shape)


def spread_of(graph: Neighborhoods) -> Array:
    """Return the mean length of the edges of each point, or 1 if it has none."""
    starts, sizes = graph.indptr[:-1], graph.sizes
    sums = np.add.reduceat(np.append(graph.distances, 0.0), starts)  # type: ignore[arg-type]
    means = np.where(sizes > 0, sums, 0.0) / np.maximum(sizes, 1)
    return np.where(means > 0, means, 1.0)


class ListedPaths:
    """Shortest paths on a graph with given lengths, in units of the longest; edges go both ways.

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> graph = ub.Neighborhoods.from_knn([[1], [0], [1]], [[2.0], [2.0], [1.0]])
    >>> paths = ListedPaths(graph)
    >>> (paths.unit() * paths.distances_from(np.array([0], dtype=np.uint32))).tolist()
    [0.0, 2.0, 3.0]
    """

    def __init__(self, graph: Neighborhoods, spread: Array | None = None) -> None:
        n, lengths = len(graph), np.array(graph.distances, dtype=np.float64)
        if spread is not None:
            ends = np.repeat(np.arange(n), graph.sizes)
            lengths /= np.sqrt(spread[ends] * spread[graph.indices])
        self._unit = float(lengths.max(initial=0.0)) or 1.0
        lengths = np.maximum(lengths / self._unit, LEAST_LENGTH)
        self._graph = csr_array((lengths, graph.indices.astype(np.int32), graph.indptr), shape=(n, n))

    def unit(self) -> float:
        """Return the length of the longest edge."""
        return self._unit

    def distances_from(self, sources: Indices, progress: Report = None) -> Table:
        """Return the distances from some points to all, one source after the other."""
        n = self._graph.shape[0]
        table, size = np.empty((len(sources), n), dtype=np.float32), max(1, ENTRIES_AT_ONCE // n)
        for start in range(0, len(sources), size):
            if progress is not None and progress("paths", start, len(sources)):
                raise _core.Stopped
            part = slice(start, start + size)
            table[part] = dijkstra(self._graph, directed=False, indices=sources[part])
        return table.ravel()

    def triangle(self, members: Indices, progress: Report = None) -> ListedTriangle:
        """Return the distances between some points."""
        table = np.empty((len(members), len(members)), dtype=np.float32)
        size = max(1, ENTRIES_AT_ONCE // self._graph.shape[0])
        for start in range(0, len(members), size):
            if progress is not None and progress("paths", start, len(members)):
                raise _core.Stopped
            rows = self.distances_from(members[start : start + size]).reshape(-1, self._graph.shape[0])
            table[start : start + size] = rows[:, members]
        for row in range(len(table)):  # The two directions along a path are rounded differently.
            table[row + 1 :, row] = table[row, row + 1 :]
        return ListedTriangle(table)

    def distances_to_new(self, lists: Indices, lengths: Array, k: int, progress: Report = None) -> Array:
        """Return the distances to all points from new ones, each joined to `k` points."""
        near, far = lists.reshape(-1, k), lengths.reshape(-1, k) / self._unit
        joined, place = np.unique(near, return_inverse=True)
        table = self.distances_from(joined, progress).reshape(len(joined), -1)
        along = np.full((len(near), table.shape[1]), np.inf)
        for column, step in zip(place.reshape(near.shape).T, far.T, strict=True):
            np.minimum(along, table[column] + step[:, None], out=along)
        return along.ravel()


@dataclass(frozen=True, eq=False)
class ListedTriangle:
    """The distances between the points of a component, in units, with the methods of `_core.Triangle`."""

    table: Table = field(repr=False)

    def squares_times(self, v: Array) -> Array:
        """Return the product of the matrix of squared distances with a vector."""
        return np.concatenate([np.square(block, dtype=np.float64) @ v for block in self._blocks()])

    def squares(self) -> Array:
        """Return the squared distances, row by row."""
        return np.square(self.table, dtype=np.float64).ravel()

    def moments(self, y: Array) -> list[float]:
        """Return the number of pairs, and their sums of D, E = |y_i - y_j|, D^2, E^2, D E and D^4."""
        sums, start = np.zeros(7), 0
        for block in self._blocks():
            lengths = block.astype(np.float64)
            shown = cdist(y[start : start + len(block)], y)
            start += len(block)
            squares = lengths**2
            parts = (lengths, shown, squares, shown**2, lengths * shown, squares**2)
            sums[1:] += [part.sum() / 2 for part in parts]
        sums[0] = len(self.table) * (len(self.table) - 1) / 2
        return sums.tolist()

    def _blocks(self) -> list[Table]:
        size = max(1, ENTRIES_AT_ONCE // len(self.table))
        return [self.table[start : start + size] for start in range(0, len(self.table), size)]
