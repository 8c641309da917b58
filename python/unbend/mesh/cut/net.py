"""The edges of a surface as a graph with their lengths, and shortest paths along them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from ..energy import Array, Faces
from ..surface import Surface, edge_keys

__all__ = ["Net"]


class Net:
    """The edges of a cut surface as a graph, with their lengths."""

    def __init__(self, surface: Surface) -> None:
        self.surface = surface
        triangles = surface.triangles
        self.tails, self.heads = triangles.ravel(), np.roll(triangles, -1, axis=1).ravel()
        self.n = len(surface.origins)
        points = surface.points[surface.origins]
        self.lengths: Array = np.linalg.norm(points[self.tails] - points[self.heads], axis=1)
        # Edges of length zero would be no edges of a sparse graph.
        self.lengths = np.maximum(self.lengths, 1e-12 * (self.lengths.max() or 1.0))

    def paths(self, sources: Any) -> tuple[Array, Faces]:
        """Return the distance of each vertex from the nearest source, and the vertex before it."""
        _, first = np.unique(edge_keys(self.tails, self.heads, self.n), return_index=True)
        entries = (self.lengths[first], (self.tails[first], self.heads[first]))
        graph = csr_matrix(entries, shape=(self.n, self.n))
        distances, before, _ = dijkstra(
            graph, directed=False, indices=sources, min_only=True, return_predecessors=True
        )
        return distances, before

    def path(self, before: Faces, vertex: int) -> Faces:
        """Return a side of each edge along the path from a vertex back to a source, in order."""
        path = [vertex]
        while before[path[-1]] >= 0:
            path.append(int(before[path[-1]]))
        steps = np.array(path, dtype=np.int64)
        keys = edge_keys(self.tails, self.heads, self.n)
        order = np.argsort(keys, kind="stable")
        wanted = edge_keys(steps[:-1], steps[1:], self.n)
        sides: Faces = order[np.searchsorted(keys, wanted, sorter=order)]
        return sides
