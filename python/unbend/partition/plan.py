"""Cells: which there are, which point lies in which, and which lie near enough to be held by others too.

Balanced halves of a sample, halved again, each across its longest way along the neighbourhood graph of the
sample: so cells follow the data, not the axes around them. A point belongs to the cell of the nearest point
of the sample. Its gap to another cell is how much farther the nearest of that cell is; cells to which the gap
is at most the `width` hold it as well, as their halo.

**Whole neighbourhoods.** Let i lie in cell c, and j within r of i. With d_c(x) the distance of x to the
sample of c, and d(x) that to the whole sample, d_c(j) <= d(i) + r <= d(j) + 2 r. So if r, the distance of the
farthest neighbour of i, is at most half the width, all neighbours of i are in c or in its halo. If i itself
has the gap g to the nearest other cell, 2 r <= width + g is enough. This is checked for every point.

Cost: O(m k log m log c) for a sample of m points and c cells; O(log m) for each point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import Matrix
from ..graph.neighbors import search
from .checkpoint import Arrays

__all__ = ["CORE", "Assigned", "Plan", "halve", "width_of"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.uint32]

CORE = np.float32(-1.0)
"""The gap of a point to its own cell."""

FEWEST, MOST, POINTS_EACH, AT_LEAST = 8, 128, 200, 2000
"""A cell has so many points of the sample, one for so many points; the sample has no fewer than the last."""

LISTED, MOST_LISTED = 16, 256
"""How many of the sample are looked at for each point, at first and at most."""

BATCH = 2**15
"""So many points are looked at together."""

GRAPH_NEIGHBORS = 8
"""Neighbours of each point of the sample."""

SHARE, WIDEST, LARGEST_SHARE = 0.15, 3.0, 1.0
"""Halos are wider than they need to be, up to so many times, while they hold no more than this share of
their cell; and no cell is to hold more than the last share of others."""

SLACK = 1.25
"""Halos reach so much farther than the widest neighbourhood that was probed needs."""


def sample_size(n: int, n_cells: int) -> int:
    """Return how many points the sample has.

    Examples
    --------
    >>> sample_size(1_000_000, 16), sample_size(1000, 4)
    (2048, 1000)
    """
    each = int(np.clip(n // n_cells // POINTS_EACH, FEWEST, MOST))
    return min(n, max(each * n_cells, AT_LEAST))


def halve(x: Matrix, n_cells: int, n_jobs: int = 0) -> Indices:
    """Return the cell of each point of a sample: halves of halves, of equal sizes but for rounding.

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
    from scipy.sparse import csr_array

    rows = np.repeat(np.arange(len(x)), graph.sizes)
    indices = graph._graph["indices"].astype(np.int32)
    apart = x[rows].astype(np.float64) - x[indices]
    # Copies are neighbours too: a length of zero would be no edge.
    lengths = np.maximum(np.sqrt(np.einsum("ij,ij->i", apart, apart)), 1e-300)
    return csr_array((lengths, indices, graph.indptr), shape=(len(x), len(x)))


def _along(x: Matrix, lengths: Any, members: npt.NDArray[np.intp]) -> Array:
    """Return where points lie on the longest way through them: nearer to one of its ends, or to the other."""
    from scipy.sparse.csgraph import dijkstra

    own = lengths[members][:, members]
    one = _farthest(dijkstra(own, indices=0))
    from_one = dijkstra(own, indices=one)
    other = _farthest(from_one)
    from_other = dijkstra(own, indices=other)
    with np.errstate(invalid="ignore"):
        key: Array = from_one - from_other
    lost = ~np.isfinite(key)
    if lost.any():  # in pieces of their own: by how they lie in space
        rows = x[members].astype(np.float64)
        apart = np.linalg.norm(rows[lost] - rows[one], axis=1) - np.linalg.norm(
            rows[lost] - rows[other], axis=1
        )
        key[lost] = apart
    return key


def _farthest(distances: Array) -> int:
    return int(np.argmax(np.where(np.isfinite(distances), distances, -1.0)))


@dataclass(frozen=True, eq=False)
class Assigned:
    """Which cells hold the points of a block.

    Attributes
    ----------
    own : ndarray of shape (m,)
        The cell of each point.
    second : ndarray of shape (m,)
        Its gap to the nearest other cell, or less.
    rows, cells, gaps : ndarray
        An entry for every point in every cell that holds it: by cell, then by point.
    reach : float
        Up to which gap no cell was overlooked.
    """

    own: Indices
    second: npt.NDArray[np.float32]
    rows: Indices
    cells: Indices
    gaps: npt.NDArray[np.float32]
    reach: float


@dataclass(frozen=True, eq=False)
class Plan:
    """The cells of a data set.

    Attributes
    ----------
    sample : ndarray of shape (m, q)
        Points that say where cells are.
    labels : ndarray of shape (m,)
        Their cells.
    n_cells : int
        How many cells there are.
    width : float
        Points up to this gap away belong to the halo of a cell.

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(2000, random_state=0)
    >>> plan = Plan(X[::10], halve(X[::10], 4), 4, width=1.0)
    >>> bool(np.bincount(plan.assign(X).own).min() > 300)
    True
    """

    sample: Matrix
    labels: Indices
    n_cells: int
    width: float

    def assign(self, x: Matrix, n_jobs: int = 0) -> Assigned:
        """Return the cells of points."""
        batches = [
            self._assigned(x[start : start + BATCH], start, n_jobs) for start in range(0, len(x), BATCH)
        ]
        own, second, rows, cells, gaps = (
            np.concatenate([getattr(batch, name) for batch in batches])
            for name in ("own", "second", "rows", "cells", "gaps")
        )
        order = np.lexsort((rows, cells))
        reach = min(batch.reach for batch in batches)
        return Assigned(own, second, rows[order], cells[order], gaps[order], reach)

    def _assigned(self, x: Matrix, first: int, n_jobs: int) -> Assigned:
        listed = min(LISTED, len(self.sample))
        gaps = self._gaps(x, listed, n_jobs)
        while listed < min(MOST_LISTED, len(self.sample)):
            short = np.flatnonzero(gaps.last < self.width)
            if len(short) == 0:
                break
            listed = min(4 * listed, MOST_LISTED, len(self.sample))
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
        """Return it as it is kept."""
        return {
            "sample": self.sample,
            "labels": self.labels,
            "n_cells": np.array(self.n_cells),
            "width": np.array(self.width),
        }

    @classmethod
    def from_arrays(cls, held: Arrays) -> Plan:
        """Return what was kept."""
        return cls(held["sample"], held["labels"], int(held["n_cells"]), float(held["width"]))


@dataclass(frozen=True, eq=False)
class _Gaps:
    """For each point the cells near it, each with its gap, and the gap up to which all are known."""

    rows: npt.NDArray[np.intp]
    cells: Indices
    gaps: Array
    others: npt.NDArray[np.bool_]
    last: Array

    def with_more(self, short: npt.NDArray[np.intp], more: _Gaps) -> _Gaps:
        """Return it with some points looked at again."""
        again = np.zeros(len(self.last), dtype=bool)
        again[short] = True
        kept, last = ~again[self.rows], self.last.copy()
        last[short] = more.last
        return _Gaps(
            np.concatenate([self.rows[kept], short[more.rows]]),
            np.concatenate([self.cells[kept], more.cells]),
            np.concatenate([self.gaps[kept], more.gaps]),
            np.concatenate([self.others[kept], more.others]),
            last,
        )

    def assigned(self, width: float, first: int) -> Assigned:
        n = len(self.last)
        own = np.empty(n, dtype=np.uint32)
        own[self.rows[~self.others]] = self.cells[~self.others]
        second = self.last.copy()
        np.minimum.at(second, self.rows[self.others], self.gaps[self.others])
        held = ~self.others | (self.gaps <= width)
        rows, cells = self.rows[held], self.cells[held]
        gaps = np.where(self.others[held], self.gaps[held], CORE).astype(np.float32)
        return Assigned(
            own,
            second.astype(np.float32),
            (rows + first).astype(np.uint32),
            cells,
            gaps,
            float(min(width, self.last.min(initial=np.inf))),
        )


def width_of(plan: Plan, points: Matrix, farthest: Array, n_jobs: int = 0) -> float:
    """Return how wide halos must be.

    Parameters
    ----------
    plan : Plan
        The cells; its width is not looked at.
    points : ndarray of shape (m, q)
        Points like all others, none of them in the sample.
    farthest : ndarray
        How far the farthest neighbours of some points are.
    n_jobs : int, default 0
        Number of threads.
    """
    listed = min(4 * LISTED, len(plan.sample))
    found = plan._gaps(points, listed, n_jobs)
    gaps = np.sort(found.gaps[found.others])
    needed = 2 * SLACK * float(np.max(farthest))

    def up_to(share: float) -> float:
        at = int(share * len(points))
        return float(gaps[at]) if at < len(gaps) else np.inf

    wanted = max(needed, min(up_to(SHARE), WIDEST * needed))
    return min(wanted, max(up_to(LARGEST_SHARE), np.finfo(float).tiny))
