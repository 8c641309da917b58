"""Geodesic distances between near vertices of a mesh, by straight lines over unfolded triangles.

From a vertex, triangle after triangle is unfolded into the plane, with the wedge of directions that pass through
all sides so far (Chen and Han 1990). A vertex within its wedge is at its distance in the plane. A shortest path
that bends passes a vertex first; from there it is continued by edges and by lines over two triangles, and may be
too long.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from ..energy import Array, Complex, Faces
from ..surface import ALONE, edge_keys, mates_of

__all__ = ["distance_error"]

RINGS = 7
"""Vertices are compared up to this number of edges apart, as FreeSurfer's flattening does."""

MAX_SOURCES = 500
"""Distances are computed from this number of vertices at most, evenly spread over the list of vertices."""

MAX_STRIP = 100
"""Strips of more triangles are not unfolded: they belong to fans of many thin triangles."""

BLOCK_SOURCES = 64
"""Sources are taken in blocks of this number, which limits memory."""

ROUNDING = 1e-9
"""A vertex this near to the end of a wedge, as a share of the lengths, counts as within it."""


def distance_error(points: Array, faces: Faces, uv: Array, shapes: Array) -> float:
    """Return the mean relative error of distances of up to 7 rings, in the plane instead of on the surface."""
    mesh = _Unfolding(faces, shapes, _edge_lengths(points, faces))
    used = np.unique(faces)
    sources = used[np.unique(np.linspace(0, len(used) - 1, MAX_SOURCES).astype(np.int64))]
    total = count = 0.0
    for block in np.array_split(sources, len(sources) // BLOCK_SOURCES + 1):
        near = mesh.distances(block)
        rows, columns = block[np.repeat(np.arange(len(block)), np.diff(near.indptr))], near.indices
        valid = (near.data > 0) & (rows != columns)
        flat = np.linalg.norm(uv[rows] - uv[columns], axis=1)[valid]
        total += float(np.abs(flat / near.data[valid] - 1).sum())
        count += int(valid.sum())
    return total / count if count else 0.0


def _edge_lengths(points: Array, faces: Faces) -> csr_matrix:
    tails, heads = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    return _symmetric(tails, heads, np.linalg.norm(points[tails] - points[heads], axis=1), len(points))


def _symmetric(first: Faces, second: Faces, lengths: Array, n: int) -> csr_matrix:
    """Return the sparse graph of the lengths of pairs; a pair that is listed twice has the smaller length."""
    keys, order = edge_keys(first, second, n), np.argsort(lengths, kind="stable")
    shortest = order[np.unique(keys[order], return_index=True)[1]]
    first, second, lengths = first[shortest], second[shortest], lengths[shortest]
    ends = np.concatenate([first, second]), np.concatenate([second, first])
    return csr_matrix((np.tile(lengths, 2), ends), shape=(n, n))


@dataclass(frozen=True)
class _Windows:
    """Wedges of directions from a source that pass through a side, which is unfolded with the source at 0."""

    sources: Faces  # Row of the source.
    sides: Faces
    tails: Complex  # Beginning of the side, which runs counterclockwise around the source.
    heads: Complex
    right: Complex  # The directions that bound the wedge.
    left: Complex

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def nearest(self) -> Array:
        """Distance of the nearest point of each side from its source."""
        side = self.heads - self.tails
        squares = np.maximum(np.abs(side) ** 2, 1e-300)
        place = np.clip(-(self.tails * np.conj(side)).real / squares, 0, 1)
        distances: Array = np.abs(self.tails + place * side)
        return distances

    def where(self, kept: Any) -> _Windows:
        return _Windows(*(getattr(self, name)[kept] for name in self.__dataclass_fields__))

    def joined(self, other: _Windows) -> _Windows:
        names = self.__dataclass_fields__
        return _Windows(*(np.concatenate([getattr(self, name), getattr(other, name)]) for name in names))


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Sources with the vertices of their rings, in order, and a distance of each pair."""

    keys: Faces
    n: int
    distances: Array = field(repr=False)

    def places(self, sources: Faces, vertices: Faces) -> Faces:
        """Return the place of each pair, or -1 for a vertex outside the rings."""
        wanted = sources * self.n + vertices
        places = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[places] == wanted, places, -1)

    def shorten(self, sources: Faces, vertices: Faces, distances: Array) -> None:
        """Note distances that are shorter than those known."""
        places = self.places(sources, vertices)
        within = places >= 0
        np.minimum.at(self.distances, places[within], distances[within])


@dataclass(frozen=True, eq=False)
class _Unfolding:
    """Triangles by their shapes, and what lies across each of their sides."""

    faces: Faces
    shapes: Array
    edges: csr_matrix

    @cached_property
    def corners(self) -> Complex:
        """Shape (m, 3). Each triangle in its own plane, counterclockwise."""
        length, x, y = self.shapes.T
        return np.stack([np.zeros(len(x), complex), length + 0j, x + 1j * y], axis=1)

    @cached_property
    def apexes(self) -> Complex:
        """Position of the third corner across each side, if that goes from 0 to 1."""
        tail, head, apex = (np.roll(self.corners, -k, axis=1) for k in range(3))
        ratios: Complex = ((apex - tail) / (head - tail)).ravel()
        return ratios

    @cached_property
    def mates(self) -> Faces:
        """The other side of each side's edge; ALONE where the triangles have opposite orientations."""
        mates, _ = mates_of(self.faces, self.edges.shape[0])
        tails = self.faces.ravel()
        return np.where((mates != ALONE) & (tails[mates] != tails), mates, ALONE)

    @cached_property
    def by_vertex(self) -> csr_matrix:
        """Corners of each vertex: rows of vertices, columns of corners."""
        corners = np.arange(self.faces.size)
        ones = np.ones(len(corners), bool)
        return csr_matrix((ones, (self.faces.ravel(), corners)), shape=(self.edges.shape[0], len(corners)))

    @cached_property
    def steps(self) -> tuple[csr_matrix, csr_matrix]:
        """Lengths of edges, and of straight lines over two triangles."""
        sides = np.flatnonzero(self.mates > np.arange(len(self.mates)))
        others = self.mates[sides]
        a, b = self.apexes[sides], 1 - self.apexes[others]
        place = a.real + (b.real - a.real) * a.imag / (a.imag - b.imag)
        straight = (place > 0) & (place < 1)
        sides, others = sides[straight], others[straight]
        tails = self.corners.ravel()[sides]
        sizes = np.abs(np.roll(self.corners, -1, axis=1).ravel()[sides] - tails)
        apex = np.roll(self.faces, -2, axis=1).ravel()
        lengths = np.abs(a - b)[straight] * sizes
        return self.edges, _symmetric(apex[sides], apex[others], lengths, self.edges.shape[0])

    def distances(self, sources: Faces) -> csr_matrix:
        """Return the geodesic distances from each source to the vertices of its rings."""
        pairs = self._pairs(sources)
        self._bend(pairs)
        radii = np.zeros(len(sources))
        np.maximum.at(radii, pairs.keys // pairs.n, pairs.distances)
        windows = self._fans(sources)
        for _ in range(MAX_STRIP):
            if len(windows) == 0:
                break
            windows = self._crossed(windows, pairs)
            windows = windows.where(np.flatnonzero(windows.nearest <= radii[windows.sources]))
        self._bend(pairs)
        found = pairs.distances
        rows, columns = pairs.keys // pairs.n, pairs.keys % pairs.n
        return csr_matrix((found, (rows, columns)), shape=(len(sources), pairs.n))

    def _pairs(self, sources: Faces) -> _Pairs:
        n = self.edges.shape[0]
        rows = np.arange(len(sources))
        pattern = csr_matrix(
            (np.ones(len(self.edges.data), bool), self.edges.indices, self.edges.indptr), (n, n)
        )
        reached = csr_matrix((np.ones(len(sources), bool), (rows, sources)), shape=(len(sources), n))
        for _ in range(RINGS):
            reached = reached + reached @ pattern
        around = reached.tocoo()
        keys = np.sort(around.row.astype(np.int64) * n + around.col)
        pairs = _Pairs(keys, n, np.full(len(keys), np.inf))
        pairs.shorten(rows, sources, np.zeros(len(rows)))
        first = self.edges[sources].tocoo()
        pairs.shorten(first.row.astype(np.int64), first.col.astype(np.int64), first.data)
        return pairs

    def _fans(self, sources: Faces) -> _Windows:
        """Return the windows of the sides opposite to each source."""
        around = self.by_vertex[sources]
        rows, corner = (
            np.repeat(np.arange(len(sources)), np.diff(around.indptr)),
            around.indices.astype(np.int64),
        )
        face, k = corner // 3, corner % 3
        own = self.corners[face, k]
        tails, heads = (self.corners[face, (k + step) % 3] - own for step in (1, 2))
        return _Windows(rows, 3 * face + (k + 1) % 3, tails, heads, tails, heads)

    def _crossed(self, windows: _Windows, pairs: _Pairs) -> _Windows:
        """Unfold the triangles behind the sides, note the vertices in sight, and return the windows behind."""
        windows = windows.where(self.mates[windows.sides] != ALONE)
        across = self.mates[windows.sides]
        face, k = across // 3, across % 3
        apexes = windows.heads + self.apexes[across] * (windows.tails - windows.heads)
        vertices = self.faces[face, (k + 2) % 3]
        lengths = np.abs(apexes)
        from_right = _crossed(windows.right, apexes) / np.maximum(lengths * np.abs(windows.right), 1e-300)
        from_left = _crossed(apexes, windows.left) / np.maximum(lengths * np.abs(windows.left), 1e-300)
        seen = (from_right >= -ROUNDING) & (from_left >= -ROUNDING)
        pairs.shorten(windows.sources[seen], vertices[seen], lengths[seen])
        first = _Windows(
            windows.sources,
            3 * face + (k + 1) % 3,
            windows.tails,
            apexes,
            windows.right,
            np.where(from_left > 0, apexes, windows.left),
        )
        second = _Windows(
            windows.sources,
            3 * face + (k + 2) % 3,
            apexes,
            windows.heads,
            np.where(from_right > 0, apexes, windows.right),
            windows.left,
        )
        return first.where(from_right > ROUNDING).joined(second.where(from_left > ROUNDING))

    def _bend(self, pairs: _Pairs) -> None:
        """Continue paths by steps from vertex to vertex until none is shorter."""
        rows, vertices = pairs.keys // pairs.n, pairs.keys % pairs.n
        parts = []
        for steps in self.steps:
            around = steps[vertices]
            starts = np.repeat(np.arange(len(rows)), np.diff(around.indptr))
            ends = pairs.places(rows[starts], around.indices.astype(np.int64))
            within = ends >= 0
            parts.append((starts[within], ends[within], around.data[within]))
        starts, ends, lengths = (np.concatenate(part) for part in zip(*parts, strict=True))
        for _ in range(2 * RINGS):
            reached = pairs.distances[starts] + lengths
            shorter = reached < pairs.distances[ends]
            if not shorter.any():
                break
            np.minimum.at(pairs.distances, ends[shorter], reached[shorter])


def _crossed(a: Complex, b: Complex) -> Array:
    crossed: Array = a.real * b.imag - a.imag * b.real
    return crossed
