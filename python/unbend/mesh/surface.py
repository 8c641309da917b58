"""Triangles glued along their sides: the form of a mesh, before and after a cut.

Side 3 f + k of triangle f goes from its corner k to its corner k + 1. Two sides are mates if the triangles are
joined there. Vertices follow from the mates: corners that meet around glued sides are one vertex. Cutting is
therefore one operation, to part mates, and edges with three or more triangles, triangles that touch in a point and
the two banks of a seam are all treated alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import connected_components, depth_first_order

from .energy import Array, Faces

__all__ = ["ALONE", "Flags", "Surface", "edge_keys", "mates_of"]

Flags = npt.NDArray[np.bool_]

ALONE = -1  # The mate of a side on the boundary.


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles with consistent orientation, by the vertices that they come from, glued along their sides."""

    points: Array = field(repr=False)  # Shape (n, 3). Where each vertex is.
    faces: Faces = field(repr=False)  # Shape (m, 3). The vertices before anything was cut.
    mates: Faces = field(repr=False)  # Shape (3 m,). The other side of each side's edge, or ALONE.

    @property
    def tails(self) -> Faces:
        """The vertex where each side begins, before anything was cut."""
        return self.faces.ravel()

    @property
    def heads(self) -> Faces:
        """The vertex where each side ends, before anything was cut."""
        return np.roll(self.faces, -1, axis=1).ravel()

    @cached_property
    def pairs(self) -> Faces:
        """Sides with a mate, each edge once, by the lower side."""
        return np.flatnonzero(self.mates > np.arange(len(self.mates)))

    @cached_property
    def _glued(self) -> tuple[Faces, Faces]:
        """The vertex of every corner after the cuts, and the vertex before the cuts of each."""
        first, second = self.pairs, self.mates[self.pairs]
        following = np.arange(len(self.mates)).reshape(-1, 3)[:, [1, 2, 0]].ravel()
        turned = self.tails[first] == self.tails[second]  # both sides go the same way: one-sided there
        rows = np.concatenate([first, following[first]])
        columns = np.concatenate(
            [np.where(turned, second, following[second]), np.where(turned, following[second], second)]
        )
        _, labels = _components(rows, columns, len(self.mates))
        corner = np.unique(labels, return_index=True)[1]
        order = np.argsort(self.tails[corner], kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return rank[labels].reshape(-1, 3), self.tails[corner[order]]

    @property
    def triangles(self) -> Faces:
        """Shape (m, 3). The vertices of each triangle after the cuts, numbered without gaps."""
        return self._glued[0]

    @property
    def origins(self) -> Faces:
        """The vertex before the cuts of each vertex after them."""
        return self._glued[1]

    @cached_property
    def piece_labels(self) -> Faces:
        """The connected piece of each triangle, numbered by their first triangles."""
        _, labels = _components(self.pairs // 3, self.mates[self.pairs] // 3, len(self.faces))
        return labels

    @cached_property
    def boundary(self) -> Faces:
        """Sides without a mate."""
        return np.flatnonzero(self.mates == ALONE)

    @cached_property
    def boundary_ends(self) -> tuple[Faces, Faces]:
        """The vertices after the cuts where sides on the boundary begin and end."""
        triangles = self.triangles
        return triangles.ravel()[self.boundary], np.roll(triangles, -1, axis=1).ravel()[self.boundary]

    @cached_property
    def loops(self) -> list[Faces]:
        """The vertices after the cuts along each boundary, in order, the longest first."""
        tails, heads = self.boundary_ends
        if len(tails) == 0:
            return []
        vertices, index = np.unique(np.concatenate([tails, heads]), return_inverse=True)
        tail, head = index[: len(tails)], index[len(tails) :]
        graph = csr_matrix((np.ones(len(tail)), (tail, head)), shape=(len(vertices),) * 2)
        count, labels = connected_components(graph, directed=False)
        starts = np.unique(labels, return_index=True)[1]
        loops = [
            vertices[depth_first_order(graph, start, return_predecessors=False)] for start in starts[:count]
        ]
        return sorted(loops, key=self._length, reverse=True)

    def _length(self, loop: Faces) -> float:
        points = self.points[self.origins[loop]]
        return float(np.linalg.norm(points - np.roll(points, 1, axis=0), axis=1).sum())

    @property
    def euler(self) -> int:
        """Vertices minus edges plus triangles."""
        return len(self.origins) - len(self.pairs) - len(self.boundary) + len(self.faces)

    @property
    def is_disc(self) -> bool:
        """True if one piece can be laid in the plane as it is."""
        return self.euler == 1 and len(self.loops) == 1

    def pieces(self) -> Iterator[tuple[Faces, Surface]]:
        """Yield the triangles of every connected piece, and the piece; vertices keep their numbers."""
        order = np.argsort(self.piece_labels, kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        faces, mates = self.faces[order], self.mates.reshape(-1, 3)[order].ravel()
        renamed = np.where(mates == ALONE, ALONE, 3 * place[mates // 3] + mates % 3)
        ends = np.cumsum(np.bincount(self.piece_labels))
        for start, end in zip(np.concatenate([[0], ends[:-1]]), ends, strict=True):
            own = renamed[3 * start : 3 * end]
            own = np.where(own == ALONE, ALONE, own - 3 * start)
            yield order[start:end], replace(self, faces=faces[start:end], mates=own)

    def cut(self, sides: Faces) -> Surface:
        """Part the mates of sides."""
        mates = self.mates.copy()
        others = mates[sides]
        mates[others[others != ALONE]] = ALONE
        mates[sides] = ALONE
        return replace(self, mates=mates)

    def joined(self, sides: Faces, mates: Faces) -> Surface:
        """Glue sides to their mates."""
        changed = self.mates.copy()
        changed[sides], changed[mates] = mates, sides
        return replace(self, mates=changed)


def _components(rows: Faces, columns: Faces, n: int) -> tuple[int, Faces]:
    """Return the connected components of an undirected graph, numbered by their first nodes."""
    graph = coo_matrix((np.ones(len(rows), bool), (rows, columns)), shape=(n, n))
    count, labels = connected_components(graph, directed=False)
    first = np.unique(labels, return_index=True)[1]
    rank = np.empty(count, np.int64)
    rank[np.argsort(first)] = np.arange(count)
    return count, rank[labels]


def edge_keys(a: Faces, b: Faces, n: int) -> Faces:
    """Return one number for each edge between vertices, whichever way it goes."""
    return np.minimum(a, b) * n + np.maximum(a, b)


def mates_of(faces: Faces, n: int) -> tuple[Faces, int]:
    """Return the mate of each side, and the number of edges of three or more triangles, which are not glued."""
    tails, heads = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    keys = edge_keys(tails, heads, n)
    order = np.argsort(keys, kind="stable")
    _, starts, counts = np.unique(keys[order], return_index=True, return_counts=True)
    first = starts[counts == 2]
    mates = np.full(len(keys), ALONE)
    mates[order[first]], mates[order[first + 1]] = order[first + 1], order[first]
    return mates, int(np.count_nonzero(counts > 2))
