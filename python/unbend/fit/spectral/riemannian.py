"""Riemannian manifold learning (Lin & Zha 2008): normal coordinates around a base point.

The embedding of a point keeps its geodesic distance from the base, edge by edge, and the angles between the last
edge of its shortest path and the other edges there. The base is the point with the smallest largest distance. This
follows the outline of the algorithm in the papers that compare with it. Points whose paths have the same number of
edges are placed at once, each by points with fewer; a point waits while the edges that are placed leave its
direction undecided. Cost: O(n k (log n + q + d^2)), and a tree of shortest paths for each candidate for the base.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from ... import _core
from ...core.progress import Progress
from ..embedding import Embedding
from ..problem import Array, Flags, Indices, Problem

__all__ = ["MAX_BASES", "MIN_SPREAD", "RiemannianEmbedding", "RiemannianSettings", "with_lengths"]

Places = npt.NDArray[np.intp]

MAX_BASES = 500
"""Number of points of a component that are tried as its base: all, or this many evenly spaced by index."""

BISECTIONS = 100
"""Number of halvings of the interval of the multiplier in a least-squares problem with a given length."""

MIN_SPREAD = 0.1
"""A point waits while the sum of squares of the directions of placed edges along some axis is below this."""

SHORTEST_EDGE = 1e-12
"""Edges count as at least this share of the longest, so that copies of a point are joined by an edge."""

ENTRIES_PER_BLOCK = 2**21
"""Number of coordinates of edges that are held at a time."""


@dataclass(frozen=True, eq=False)
class RiemannianEmbedding(Embedding):
    """Normal coordinates, and the points around which they are taken.

    Attributes
    ----------
    bases : ndarray of uint32
        The base of each component.
    """

    bases: Indices = field(repr=False)


@dataclass(frozen=True)
class RiemannianSettings:
    """Riemannian manifold learning; its only parameters are its graph and its dimension."""

    renumbers = False

    def embed(self, problem: Problem, progress: Progress) -> RiemannianEmbedding:
        """Place the points of every component around its base."""
        embedding, bases = np.zeros((len(problem), problem.n_components)), []
        with progress.stage("placing"):
            lengths = _edge_lengths(problem)
            for points in problem.components:
                own = lengths[points][:, points]
                base, predecessors = _rooted(own, progress)
                bases.append(int(points[base]))
                growth = _Growth(problem.points[points], own, predecessors, base, problem.n_components)
                embedding[points] = growth.grown(progress)
        return RiemannianEmbedding(embedding, trace={"bases": bases}, bases=np.array(bases, dtype=np.uint32))


def _edge_lengths(problem: Problem) -> Any:
    """Return the lengths of all edges, each in both directions, as a sparse matrix."""
    graph, x = problem.neighborhoods, problem.points
    n, ends = len(graph), graph.indices.astype(np.intp)
    starts = np.repeat(np.arange(n), np.diff(graph.indptr))
    step = max(1, ENTRIES_PER_BLOCK // x.shape[1])
    parts = [slice(first, first + step) for first in range(0, len(ends), step)]
    blocks = [np.linalg.norm(np.subtract(x[starts[p]], x[ends[p]], dtype=np.float64), axis=1) for p in parts]
    lengths = np.concatenate([np.zeros(0), *blocks])
    lengths = np.maximum(lengths, SHORTEST_EDGE * (lengths.max(initial=0.0) or 1.0))
    matrix = csr_array((lengths, (starts, ends)), shape=(n, n))
    return csr_array(matrix.maximum(matrix.T))


def _rooted(lengths: Any, progress: Progress) -> tuple[int, Places]:
    """Return the base of a component, and the previous point on the path from it to each point."""
    n = lengths.shape[0]
    candidates = np.arange(0, n, -(-n // MAX_BASES))
    _ask(progress)
    base = int(candidates[dijkstra(lengths, indices=candidates).max(axis=1).argmin()])
    _ask(progress)
    predecessors = dijkstra(lengths, indices=base, return_predecessors=True)[1].astype(np.intp)
    predecessors[base] = base
    return base, predecessors


class _Growth:
    """One component, placed from its base outward."""

    def __init__(self, x: Any, lengths: Any, predecessors: Places, base: int, d: int) -> None:
        self._x, self._lengths, self._predecessors, self._base = x, lengths, predecessors, base
        self._y, self._placed = np.zeros((len(x), d)), np.zeros(len(x), dtype=bool)

    def grown(self, progress: Progress) -> Array:
        """Return the coordinates of all points."""
        self._begin()
        while not self._placed.all():
            _ask(progress)
            self._step(np.flatnonzero(~self._placed & self._placed[self._predecessors]))
        return self._y

    def _begin(self) -> None:
        """Place the base, and its neighbors in its tangent at their distances."""
        near = self._lengths[[self._base]].indices.astype(np.intp)
        self._placed[self._base] = True
        if not len(near):
            return
        edges = self._edges(near[None], np.array([self._base]))[0]
        center = edges.sum(axis=0) / (len(near) + 1)
        tangent = np.linalg.svd(np.vstack([edges, np.zeros_like(center)]) - center, full_matrices=False)[2]
        tangent = tangent[: self._y.shape[1]]
        flat = edges @ tangent.T
        self._y[near, : len(tangent)] = _rescaled(flat, np.linalg.norm(edges, axis=1))
        self._placed[near] = True

    def _step(self, points: Places) -> None:
        """Place points, each by its previous point and that point's neighbors, as far as they are placed."""
        before = self._predecessors[points]
        members, known = self._padded(before)
        known &= self._placed[members]
        edges, own = self._edges(members, before), self._edges(points[:, None], before)[:, 0]
        images = self._y[members] - self._y[before][:, None]
        far, sizes = np.linalg.norm(edges, axis=2), np.linalg.norm(images, axis=2)
        known &= (far > 0) & (sizes > 0)
        directions = images / np.where(known, sizes, 1.0)[:, :, None] * known[:, :, None]
        along = np.einsum("nkq,nq->nk", edges, own) / np.where(known, far, 1.0) * known
        rows = _decided(directions)
        placed = with_lengths(directions[rows], along[rows], np.linalg.norm(own[rows], axis=1))
        self._y[points[rows]] = self._y[before[rows]] + placed
        self._placed[points[rows]] = True

    def _edges(self, members: Places, origins: Places) -> Array:
        """Return the differences of members to their origin, by row of members."""
        return np.asarray(np.subtract(self._x[members], self._x[origins][:, None], dtype=np.float64))

    def _padded(self, points: Places) -> tuple[Places, Flags]:
        """Return the neighbors of points in rows of one length, and which entries are neighbors."""
        starts, ends = self._lengths.indptr[points], self._lengths.indptr[points + 1]
        places = starts[:, None] + np.arange((ends - starts).max())
        known = places < ends[:, None]
        members = self._lengths.indices[np.minimum(places, len(self._lengths.indices) - 1)]
        return members.astype(np.intp), known


def _decided(directions: Array) -> Places:
    """Return the rows whose directions span the space; the row that comes nearest to that if there are none."""
    least = np.linalg.eigvalsh(directions.transpose(0, 2, 1) @ directions)[:, 0]
    rows = np.flatnonzero(least > MIN_SPREAD)
    return rows if len(rows) else np.array([least.argmax()])


def with_lengths(directions: Array, along: Array, lengths: Array) -> Array:
    """Return for each row the vector v of the given length that minimizes sum (u_j . v - c_j)^2.

    Parameters
    ----------
    directions : ndarray of shape (n, k, d)
        The vectors u_j; zeros do not count.
    along : ndarray of shape (n, k)
        The numbers c_j.
    lengths : ndarray of shape (n,)
        The lengths of the vectors.

    Examples
    --------
    >>> import numpy as np
    >>> u = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    >>> with_lengths(u, np.array([[3.0, 4.0]]), np.array([10.0])).round(6).tolist()
    [[6.0, 8.0]]
    """
    values, axes = np.linalg.eigh(directions.transpose(0, 2, 1) @ directions)
    wanted = np.einsum("ndp,nkd,nk->np", axes, directions, along)
    sizes = np.linalg.norm(wanted, axis=1)
    low = -values[:, 0]
    high = low + sizes / np.where(lengths > 0, lengths, 1.0)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        longer = np.linalg.norm(_solved(wanted, values, middle), axis=1) > lengths
        low, high = np.where(longer, middle, low), np.where(longer, high, middle)
    found = _solved(wanted, values, high)
    missing = np.maximum(lengths**2 - (found**2).sum(axis=1), 0.0)
    # If nothing pulls along the weakest axis, the length that is missing goes there, and the sign is free.
    weak = np.sqrt(missing) > 1e-6 * lengths
    found[weak, 0] += np.where(found[weak, 0] < 0, -1, 1) * np.sqrt(missing[weak])
    return _rescaled(np.einsum("ndp,np->nd", axes, found), lengths)


def _solved(wanted: Array, values: Array, multipliers: Array) -> Array:
    """Return the solution for a multiplier of the length, in the axes of the problem."""
    shifted = values + multipliers[:, None]
    positive = shifted > 0
    return np.asarray(np.where(positive, wanted, 0.0) / np.where(positive, shifted, 1.0))


def _rescaled(vectors: Array, lengths: Array) -> Array:
    """Return vectors with the given lengths; zeros stay zeros."""
    sizes = np.linalg.norm(vectors, axis=1)
    return np.asarray(vectors * (lengths / np.where(sizes > 0, sizes, 1.0))[:, None])


def _ask(progress: Progress) -> None:
    if progress.report("placing", 0, 0):
        raise _core.Stopped
