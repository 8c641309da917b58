"""Embeddings by Procrustes subspaces alignment of the same data with other noise, and with larger neighborhoods.

Goldberg & Ritov (2009), eq. 9 and 11, on a given graph. Cost of each: that of a fit without its search.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from .. import _core
from ..core.progress import Progress
from ..fit.assembly import SOLVE_TOL, solve
from ..fit.problem import Problem
from ..fit.refine import Steps, refined
from ..graph.neighbors import Neighborhoods

__all__ = ["Refit", "onto", "widened"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.uint32]

BLOCK_ROWS = 2**11
"""Number of points whose wider neighborhoods are found at once."""


@dataclass(frozen=True, eq=False)
class Refit:
    """A way to embed points on a graph: from wide tangents, or from those of the neighborhoods and refined."""

    problem: Problem = field(repr=False)
    tangent_neighbors: int | None  # None: those of the graph.

    def of(self, points: Any) -> Array:
        """Return the embedding of other points on the same graph."""
        problem = replace(self.problem, source=_core.Points(np.ascontiguousarray(points)))
        tangents = problem.core.tangents(self.tangent_neighbors, 0)
        right_hand_side, start = tangents.equation(tangents.tree()["rotations"])
        y = solve(problem.core, right_hand_side, start, tol=SOLVE_TOL).embedding
        y = y.reshape(len(problem), -1)
        if self.tangent_neighbors is not None:
            return y
        return refined(problem, y, Steps(), Progress()).embedding

    def widened(self, factor: float) -> Refit:
        """Return the same with neighborhoods and tangents from more points."""
        wide, n = self.tangent_neighbors, len(self.problem)
        graph = widened(self.problem.points, self.problem.neighborhoods, factor)
        tangents = None if wide is None else min(round(factor * wide), n - 1)
        return Refit(replace(self.problem, neighborhoods=graph), tangents)


def widened(points: Any, graph: Neighborhoods, factor: float) -> Neighborhoods:
    """Return neighborhoods that hold more points, all of them at most two steps away.

    Steps keep to the graph, so that nothing is joined that a cut or a cleaning has parted.
    """
    n, wanted = len(graph), np.round(factor * graph.sizes).astype(np.int64)
    ones = np.ones(len(graph.indices), dtype=np.float32)
    one = csr_array((ones, graph.indices.astype(np.int64), graph.indptr), shape=(n, n))
    found = [_nearest(points, one, wanted, start) for start in range(0, n, BLOCK_ROWS)]
    counts = np.concatenate([sizes for _, sizes in found])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return Neighborhoods(np.concatenate([near for near, _ in found]), indptr=indptr)


def _nearest(points: Any, one: Any, wanted: Any, start: int) -> tuple[Indices, Any]:
    """Return the nearest points within two steps of a block of points, and how many each has."""
    block = one[start : start + BLOCK_ROWS]
    steps = (block + block @ one).tocoo()
    off = steps.row + start != steps.col
    rows, columns = steps.row[off], steps.col[off]
    gap = points[rows + start].astype(np.float64) - points[columns]
    squared = np.einsum("pq,pq->p", gap, gap)
    order = np.lexsort((columns, squared, rows))
    rows, columns = rows[order], columns[order]
    rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
    near = rank < wanted[start + rows]
    return columns[near].astype(np.uint32), np.bincount(rows[near], minlength=block.shape[0])


def onto(y: Array, target: Array, components: list[Indices]) -> Array:
    """Return an embedding moved onto another one, each component by itself."""
    moved = np.empty_like(y)
    for rows in components:
        center, goal = y[rows].mean(axis=0), target[rows].mean(axis=0)
        u, _, v = np.linalg.svd((y[rows] - center).T @ (target[rows] - goal))
        moved[rows] = (y[rows] - center) @ (u @ v) + goal
    return moved
