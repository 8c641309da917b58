"""Partition of the points into cells, and the halo of each cell.

A sample of the points is cut into balanced halves, and each half again. Each cut runs across the longest
shortest path in the neighborhood graph of the sample, so that cells follow the data and not the axes. A point
belongs to the cell of the nearest sample point. Its gap to another cell is the distance to the nearest sample
point of that cell, less the distance to the nearest sample point of all. Cells to which the gap is at most
the `width` hold the point as well, in their halo.

**Whole neighborhoods.** Let i lie in cell c, and j within r of i. With d_c(x) the distance of x to the sample
of c, and d(x) that to the whole sample, d_c(j) <= d(i) + r <= d(j) + 2 r. If r, the distance of the farthest
neighbor of i, is at most half the width, all neighbors of i are therefore in c or in its halo. If i has the
gap g to the nearest other cell, 2 r <= width + g is enough. This is checked for every point.

Cost: O(m k log m log c) for a sample of m points and c cells; O(log m) for each point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from .. import _core
from ..core.arrays import Matrix
from ..graph.neighbors import search
from .checkpoint import Arrays

__all__ = ["CORE", "Assigned", "Plan", "halve", "width_of"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.uint32]

CORE = np.float32(-1.0)
"""The gap of a point to its own cell."""

POINTS_PER_SAMPLE_POINT = 200
"""A cell has one sample point for this many points, within the next two limits."""

MIN_SAMPLE_PER_CELL, MAX_SAMPLE_PER_CELL = 8, 128
"""A cell has at least and at most this many sample points."""

MIN_SAMPLE = 2000
"""The whole sample has at least this many points."""

FIRST_LISTED, MAX_LISTED = 16, 256
"""Number of nearest sample points that are searched for each point, at first and at most."""

BATCH_POINTS = 2**15
"""Points are assigned to cells in batches of this size, which limits memory."""

GRAPH_NEIGHBORS = 8
"""Number of neighbors of each sample point in the graph that is cut into halves."""

MAX_EXTRA_WIDTH, EXTRA_HALO_SHARE = 3.0, 0.15
"""Halos are made wider than needed by up to this factor, while they hold at most this share of all points."""

MAX_HALO_SHARE = 1.0
"""Halos never hold more than this share of all points."""

SMALLEST_WIDTH = float(np.finfo(np.float32).tiny)
"""Halos are at least this wide."""

WIDTH_MARGIN = 1.25
"""Halos are wider by this factor than the widest probed neighborhood needs."""


def sample_size(n: int, n_cells: int) -> int:
    """Return the number of points in the sample.

    Examples
    --------
    >>> sample_size(1_000_000, 16), sample_size(1000, 4)
    (2048, 1000)
    """
    per_cell = n // n_cells // POINTS_PER_SAMPLE_POINT
    per_cell = int(np.clip(per_cell, MIN_SAMPLE_PER_CELL, MAX_SAMPLE_PER_CELL))
    return min(n, max(per_cell * n_cells, MIN_SAMPLE))


def halve(x: Matrix, n_cells: int, n_jobs: int = 0) -> Indices:
    """Return the cell of each sample point; cells have equal sizes up to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> line = np.arange(12.0)[:, None] * [[1.0, 0.0]]
    >>> np.bincount(halve(line, 3)).tolist()
    [4, 4, 4]
    """
    labels = np.zeros(len(x), dtype=np.uint32)
    if n_cells < 2:
        return labels
    graph = search(x, min(GRAPH_NEIGHBORS, len(x) - 1), "exact", 1.0, 0, n_jobs or None).symmetrized()
    lengths = _with_lengths(x, graph)
    waiting = [(np.arange(len(x)), 0, n_cells)]
    while waiting:
        members, first, count = waiting.pop()
        labels[members] = first
        if count == 1:
            continue
        low = count // 2
        order = np.argsort(_along(x, lengths, members), kind="stable")
        at = len(members) * low // count
        waiting.append((np.sort(members[order[:at]]), first, low))
        waiting.append((np.sort(members[order[at:]]), first + low, count - low))
    return labels


def _with_lengths(x: Matrix, graph: Any) -> Any:
    rows = np.repeat(np.arange(len(x)), graph.sizes)
    indices = graph.indices.astype(np.int32)
    apart = x[rows].astype(np.float64) - x[indices]
    # An edge between copies needs a length above zero, or the sparse matrix would drop it.
    lengths = np.maximum(np.sqrt(np.einsum("ij,ij->i", apart, apart)), 1e-300)
    return csr_array((lengths, indices, graph.indptr), shape=(len(x), len(x)))


def _along(x: Matrix, lengths: Any, members: npt.NDArray[np.intp]) -> Array:
    """Return the positions of points along the longest shortest path: low at one end, high at the other."""
    graph = lengths[members][:, members]
    one = _farthest(dijkstra(graph, indices=0))
    from_one = dijkstra(graph, indices=one)
    other = _farthest(from_one)
    from_other = dijkstra(graph, indices=other)
    with np.errstate(invalid="ignore"):
        key: Array = from_one - from_other
    lost = ~np.isfinite(key)
    if lost.any():  # not connected to the path: positions by Euclidean distance
        rows = x[members].astype(np.float64)
        to_one, to_other = (np.linalg.norm(rows[lost] - rows[end], axis=1) for end in (one, other))
        key[lost] = to_one - to_other
    return key


def _farthest(distances: Array) -> int:
    return int(np.argmax(np.where(np.isfinite(distances), distances, -1.0)))


@dataclass(frozen=True, eq=False)
class Assigned:
    """The cells that hold the points of a block."""

    own: Indices  # Shape (m,). The cell of each point.
    # Shape (m,). Lower bound of the gap of each point to the nearest other cell.
    second: npt.NDArray[np.float32]
    # rows, cells, gaps: An entry for every point in every cell that holds it, sorted by cell, then by point.
    rows: Indices
    cells: Indices
    gaps: npt.NDArray[np.float32]
    reach: float  # All cells up to this gap were found.


@dataclass(frozen=True, eq=False)
class Plan:
    """The cells of a data set.

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(2000, random_state=0)
    >>> plan = Plan(X[::10], halve(X[::10], 4), 4, width=1.0)
    >>> bool(np.bincount(plan.assign(X).own).min() > 300)
    True
    """

    sample: Matrix  # Shape (m, q). Sample of the points.
    labels: Indices  # Shape (m,). Cells of the sample points.
    n_cells: int  # Number of cells.
    width: float  # Largest gap at which a point belongs to the halo of a cell.

    def assign(self, x: Matrix, n_jobs: int = 0) -> Assigned:
        """Return the cells of points."""
        starts = range(0, len(x), BATCH_POINTS)
        batches = [self._assigned(x[start : start + BATCH_POINTS], start, n_jobs) for start in starts]
        names = ("own", "second", "rows", "cells", "gaps")
        own, second, rows, cells, gaps = (
            np.concatenate([getattr(b, name) for b in batches]) for name in names
        )
        order = np.lexsort((rows, cells))
        return Assigned(own, second, rows[order], cells[order], gaps[order], min(b.reach for b in batches))

    def _assigned(self, x: Matrix, first: int, n_jobs: int) -> Assigned:
        listed = min(FIRST_LISTED, len(self.sample))
        gaps = self._gaps(x, listed, n_jobs)
        while listed < min(MAX_LISTED, len(self.sample)):
            short = np.flatnonzero(gaps.last < self.width)
            if len(short) == 0:
                break
            listed = min(4 * listed, MAX_LISTED, len(self.sample))
            gaps = gaps.with_more(short, self._gaps(x[short], listed, n_jobs))
        return gaps.assigned(self.width, first)

    def _gaps(self, x: Matrix, listed: int, n_jobs: int) -> _Gaps:
        indices, distances = _core.query(self.sample, x, listed, "auto", n_jobs)
        near = distances.reshape(len(x), listed)
        apart = near - near[:, :1]
        labels = self.labels[indices].reshape(len(x), listed)
        seen = np.zeros(labels.shape, dtype=bool)
        for at in range(1, listed):
            seen[:, at] = (labels[:, :at] == labels[:, at : at + 1]).any(axis=1)
        rows, places = np.nonzero(~seen)
        last = np.full(len(x), np.inf) if listed == len(self.sample) else apart[:, -1]
        return _Gaps(rows, labels[rows, places], apart[rows, places], places > 0, last)

    def to_arrays(self) -> Arrays:
        """Return the plan as arrays, for a checkpoint."""
        return {name: np.asarray(value) for name, value in vars(self).items()}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Plan:
        """Return the plan that :meth:`to_arrays` saved."""
        return cls(arrays["sample"], arrays["labels"], int(arrays["n_cells"]), float(arrays["width"]))


@dataclass(frozen=True, eq=False)
class _Gaps:
    """The cells near each point with their gaps, and the gap up to which all cells are known."""

    rows: npt.NDArray[np.intp]
    cells: Indices
    gaps: Array
    others: npt.NDArray[np.bool_]
    last: Array

    def with_more(self, short: npt.NDArray[np.intp], more: _Gaps) -> _Gaps:
        """Return the gaps with those of some points replaced."""
        replaced = np.zeros(len(self.last), dtype=bool)
        replaced[short] = True
        unchanged, last = ~replaced[self.rows], self.last.copy()
        last[short] = more.last
        return _Gaps(
            np.concatenate([self.rows[unchanged], short[more.rows]]),
            np.concatenate([self.cells[unchanged], more.cells]),
            np.concatenate([self.gaps[unchanged], more.gaps]),
            np.concatenate([self.others[unchanged], more.others]),
            last,
        )

    def assigned(self, width: float, first: int) -> Assigned:
        n = len(self.last)
        own = np.empty(n, dtype=np.uint32)
        own[self.rows[~self.others]] = self.cells[~self.others]
        second = self.last.copy()
        np.minimum.at(second, self.rows[self.others], self.gaps[self.others])
        near = ~self.others | (self.gaps <= width)
        rows, cells = self.rows[near], self.cells[near]
        gaps = np.where(self.others[near], self.gaps[near], CORE).astype(np.float32)
        return Assigned(
            own,
            second.astype(np.float32),
            (rows + first).astype(np.uint32),
            cells,
            gaps,
            float(min(width, self.last.min(initial=np.inf))),
        )


def width_of(plan: Plan, points: Matrix, farthest: Array, n_jobs: int = 0) -> float:
    """Return the width of halos, from random points and distances of some points to their farthest neighbors."""
    listed = min(4 * FIRST_LISTED, len(plan.sample))
    near = plan._gaps(points, listed, n_jobs)
    gaps = np.sort(near.gaps[near.others])
    needed = 2 * WIDTH_MARGIN * float(np.max(farthest))

    def width_with(share: float) -> float:
        at = int(share * len(points))
        return float(gaps[at]) if at < len(gaps) else np.inf

    wanted = max(needed, min(width_with(EXTRA_HALO_SHARE), MAX_EXTRA_WIDTH * needed))
    # Gaps are kept in single precision: a smaller width, as among copies, would be zero there.
    return min(max(wanted, SMALLEST_WIDTH), max(width_with(MAX_HALO_SHARE), SMALLEST_WIDTH))
