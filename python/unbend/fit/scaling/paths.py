"""Shortest paths between measured pairs: a start for the scaling, and distances that no points can have.

The start is classical scaling from landmarks (de Silva & Tenenbaum 2004). A distance that is longer than a path of
other distances violates triangle inequalities, so that no points have all distances of the path and this one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from ..problem import Array
from ..spectral.scaling import draw_landmarks, scale
from .pairs import Ends, MeasuredPairs

__all__ = ["TriangleInequalities", "embed_paths", "inequalities_of"]

LANDMARKS, MAX_WHOLE_POINTS = 100, 1000
"""Number of landmarks, and the number of points up to which all are landmarks."""

SOURCES_AT_ONCE = 20
"""Number of landmarks whose paths are found between two reports."""

LEAST_LENGTH = 1e-12
"""Distances of 0 are replaced by this share of the largest: scipy reads 0 as no edge."""

MAX_EXAMINED_ENTRIES, ENTRIES_AT_ONCE = 10**8, 2**21
"""Paths are found from all points, or from a random sample whose number times that of all points is at most the
first number; the second limits the entries of one table."""

ROUNDING = 1e-9
"""A distance that is longer than a path by at most this share of it is as long."""


@dataclass(frozen=True, eq=False)
class TriangleInequalities:
    """Distances that are longer than the shortest path of the other distances: no points have them all.

    Attributes
    ----------
    pairs : ndarray of int, shape (m, 2)
        Pairs whose distances are too long, the worst first.
    ratios : ndarray of shape (m,)
        Distance of each of these pairs, divided by the length of the shortest path.
    n_examined : int
        Number of pairs that were examined: all, or those of a random sample of points if there are many points.

    Examples
    --------
    >>> import unbend as ub
    >>> model = ub.GraphScaling(1).fit([[0, 1], [1, 2], [0, 2]], distances=[1.0, 1.0, 5.0])
    >>> found = model.triangle_inequalities_
    >>> found.pairs.tolist(), found.ratios.tolist(), found.n_examined
    ([[0, 2]], [2.5], 3)
    """

    pairs: Ends = field(repr=False)
    ratios: Array = field(repr=False)
    n_examined: int

    @property
    def worst(self) -> float:
        """The largest ratio; 1 if no distance is too long."""
        return float(self.ratios[0]) if len(self.ratios) else 1.0


def inequalities_of(
    pairs: MeasuredPairs, rng: np.random.Generator, ask: Callable[[int, int], None] | None = None
) -> TriangleInequalities:
    """Compare measured distances with shortest paths; `ask` is called with the number of points, and may raise."""
    n = pairs.n_points
    sources = draw_landmarks(np.arange(n), max(1, MAX_EXAMINED_ENTRIES // n), rng)
    graph, size = _positive(pairs), max(1, ENTRIES_AT_ONCE // n)
    lengths, found = pairs.graph, []
    for start in range(0, len(sources), size):
        rows = sources[start : start + size]
        own = lengths[rows].tocoo()
        if own.nnz:
            paths = dijkstra(graph, directed=False, indices=rows, limit=float(own.data.max()))
            found.append((rows[own.row], own.col, own.data, paths[own.row, own.col]))
        if ask is not None:
            ask(min(start + size, len(sources)), len(sources))
    return _longer(*map(np.concatenate, zip(*found, strict=True))) if found else _longer(*np.empty((4, 0)))


def _longer(tails: Ends, heads: Ends, lengths: Array, paths: Array) -> TriangleInequalities:
    """Return the pairs that are longer than their paths; a pair may be listed from both ends."""
    ends, place = np.unique(np.sort(np.stack([tails, heads], axis=1), axis=1), axis=0, return_index=True)
    long = lengths[place] > (1 + ROUNDING) * paths[place]
    ratios = lengths[place][long] / paths[place][long]
    order = np.argsort(-ratios, kind="stable")
    return TriangleInequalities(ends[long][order].astype(np.int64), ratios[order], len(ends))


def _positive(pairs: MeasuredPairs) -> csr_array:
    """Return the symmetric matrix of distances with none of them 0."""
    graph = pairs.graph.copy()
    graph.data = np.maximum(graph.data, LEAST_LENGTH * graph.data.max(initial=1.0))
    return graph


def embed_paths(
    pairs: MeasuredPairs, d: int, rng: np.random.Generator, ask: Callable[[int, int], None] | None = None
) -> Array:
    """Embed a connected graph; `ask` is called with the number of finished landmarks, and may raise."""
    n = pairs.n_points
    count = n if n <= MAX_WHOLE_POINTS else max(LANDMARKS, 10 * d)
    landmarks = draw_landmarks(np.arange(n), count, rng)
    graph = _positive(pairs)
    table = np.empty((len(landmarks), n), dtype=np.float32)
    unit = float(graph.data.max(initial=0.0)) or 1.0  # keeps squares within single precision
    for start in range(0, len(landmarks), SOURCES_AT_ONCE):
        some = slice(start, start + SOURCES_AT_ONCE)
        table[some] = dijkstra(graph, directed=False, indices=landmarks[some]) / unit
        if ask is not None:
            ask(min(start + SOURCES_AT_ONCE, len(landmarks)), len(landmarks))
    squares = np.square(table[:, landmarks], dtype=np.float64)
    squares = (squares + squares.T) / 2  # the two directions along a path are rounded differently
    scaled = scale(squares.dot, lambda: squares, len(landmarks), d)
    if len(landmarks) == n:
        return unit * scaled.coordinates
    return unit * scaled.place(np.square(table.T, dtype=np.float64))
