"""Meshes as they come: checked, and repaired where that changes no shape.

Repairs never guess. A triangle that is listed twice is left out, triangles are turned until neighbors agree, and
edges with three or more triangles are opened. Everything that was done is noted with its numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import breadth_first_tree, connected_components

from ..core.arrays import as_points, as_triangles, check_entries
from .energy import Array, Faces
from .surface import ALONE, Flags, Surface, mates_of

__all__ = ["MIN_HEIGHT", "Repaired", "checked_points", "repaired", "shapes_of"]

MIN_HEIGHT = 1e-4
"""Triangles flatter than this share of their longest edge are measured as if they had this height: a triangle
without area has no shape that a flat one could keep."""


@dataclass(frozen=True, eq=False)
class Repaired:
    """A surface that can be cut and laid flat, and how it came from the mesh that was given."""

    surface: Surface = field(repr=False)
    joined: Surface = field(repr=False)  # The same before a one-sided surface was opened.
    face_indices: Faces = field(repr=False)  # The given triangle of each triangle.
    notes: tuple[str, ...]  # Repairs, in words.


def repaired(vertices: Any, faces: Any) -> Repaired:
    """Check a mesh, and repair what can be repaired.

    A ValueError names the numbers of what cannot.
    """
    points = checked_points(vertices)
    triangles = as_triangles(faces, len(points))
    notes: list[str] = []
    unused = len(points) - len(np.unique(triangles))
    if unused:
        notes.append(f"{_count(unused, 'vertex', 'vertices')} of no triangle left out")
    triangles = _merged(points, triangles, notes)
    kept = _distinct(triangles, notes)
    triangles = triangles[kept]
    mates, crowded = mates_of(triangles, len(points))
    if crowded:
        notes.append(f"{_count(crowded, 'edge')} of three or more triangles opened")
    surface = Surface(points, triangles, mates)
    joined = _oriented(surface, notes)
    surface = _two_sided(joined, notes)
    flat = int(np.count_nonzero(shapes_of(surface)[1]))
    if flat:
        notes.append(
            f"{_count(flat, 'triangle')} without area given a height of {MIN_HEIGHT:g} of the longest edge"
        )
    return Repaired(surface, joined, kept, tuple(notes))


def shapes_of(surface: Surface) -> tuple[Array, Flags]:
    """Return the shape of every triangle, and whether it had to be given a height.

    A shape is the length of the first edge, and the third corner's place along and above it.
    """
    a, b, c = (surface.points[surface.faces[:, k]] for k in range(3))
    first, second = b - a, c - a
    length, other = np.linalg.norm(first, axis=1), np.linalg.norm(second, axis=1)
    longest = np.maximum(np.maximum(length, other), np.linalg.norm(c - b, axis=1))
    typical = float(np.median(longest)) or 1.0
    # A triangle of equal points is an equilateral one, small among the others.
    point = longest < MIN_HEIGHT**2 * typical
    longest[point] = MIN_HEIGHT * typical
    short = length < MIN_HEIGHT * longest
    length = np.where(short, MIN_HEIGHT * longest, length)
    safe = np.where(short[:, None], 0.0, first) / length[:, None]
    x = np.einsum("ij,ij->i", safe, second)
    y = np.linalg.norm(np.cross(safe, second), axis=1)
    x, y = np.where(short, 0.0, x), np.where(short, other, y)
    length, x, y = (np.where(point, longest * s, v) for s, v in ((1, length), (0.5, x), (0.866, y)))
    low = y < MIN_HEIGHT * longest
    return np.stack([length, x, np.where(low, MIN_HEIGHT * longest, y)], axis=1), low | short | point


def checked_points(vertices: Any) -> Array:
    """Return the vertices of a mesh as points in space."""
    points = as_points(vertices, "vertices")
    if points.shape[1] not in (2, 3):
        raise ValueError(f"vertices has {points.shape[1]} columns: it must have 3, or 2 for a flat mesh")
    check_entries(points, "vertices")
    points = np.asarray(points, dtype=np.float64)
    return np.pad(points, ((0, 0), (0, 3 - points.shape[1])))


def _merged(points: Array, triangles: Faces, notes: list[str]) -> Faces:
    """Merge vertices at the same place if that joins pieces: files without shared vertices need it.

    Copies that join no pieces are the banks of a seam, or a surface that touches itself.
    """
    _, first, inverse = np.unique(points, axis=0, return_index=True, return_inverse=True)
    merged = first[inverse.ravel()][triangles]
    if np.array_equal(merged, triangles) or _n_pieces(merged) == _n_pieces(triangles):
        return triangles
    copies = len(np.unique(triangles)) - len(np.unique(merged))
    notes.append(
        f"{_count(copies, 'vertex', 'vertices')} merged with others at the same place, which joins pieces"
    )
    return merged


def _n_pieces(triangles: Faces) -> int:
    used, index = np.unique(triangles, return_inverse=True)
    index = index.reshape(-1, 3)
    rows, columns = index[:, [0, 1]].ravel(), index[:, [1, 2]].ravel()
    graph = coo_matrix((np.ones(len(rows), bool), (rows, columns)), shape=(len(used),) * 2)
    return int(connected_components(graph, directed=False, return_labels=False))


def _distinct(triangles: Faces, notes: list[str]) -> Faces:
    """Return the rows of triangles with three different vertices, each once."""
    ordered = np.sort(triangles, axis=1)
    proper = (ordered[:, 0] < ordered[:, 1]) & (ordered[:, 1] < ordered[:, 2])
    collapsed = int(np.count_nonzero(~proper))
    if collapsed:
        notes.append(f"{_count(collapsed, 'triangle')} with a repeated vertex left out")
    rows = np.flatnonzero(proper)
    if len(rows) == 0:
        raise ValueError(
            f"all {len(triangles)} triangles have a repeated vertex: at least 1 proper one is needed"
        )
    kept = np.sort(rows[np.unique(ordered[rows], axis=0, return_index=True)[1]])
    if len(kept) < len(rows):
        notes.append(f"{_count(len(rows) - len(kept), 'triangle')} listed twice left out")
    return kept


def _oriented(surface: Surface, notes: list[str]) -> Surface:
    """Turn triangles over until neighbors agree, or in one-sided pieces, until neighbors along a tree do."""
    turned = _turned(surface, surface.pairs)
    if turned is None:
        turned = _turned(surface, surface.pairs[_tree(surface)])
        assert turned is not None  # a forest has no loop that could disagree
    if not turned.any():
        return surface
    notes.append(f"{_count(int(np.count_nonzero(turned)), 'triangle')} turned over")
    mates = surface.mates
    # Side k from corner k to corner k + 1 becomes side 2 - k.
    sides = np.arange(len(mates)).reshape(-1, 3)
    renamed = np.where(turned[:, None], sides[:, ::-1], sides).ravel()
    faces = np.where(turned[:, None], surface.faces[:, [0, 2, 1]], surface.faces)
    return Surface(surface.points, faces, np.where(mates == ALONE, ALONE, renamed[mates])[renamed])


def _two_sided(surface: Surface, notes: list[str]) -> Surface:
    """Open the edges where orientations disagree, which only one-sided surfaces have."""
    pairs = surface.pairs
    disagreeing = pairs[surface.tails[pairs] == surface.tails[surface.mates[pairs]]]
    if len(disagreeing) == 0:
        return surface
    notes.append(f"one-sided surface opened along {_count(len(disagreeing), 'edge')}")
    return surface.cut(disagreeing)


def _turned(surface: Surface, pairs: Faces) -> Flags | None:
    """Return which triangles to turn so that all pairs agree, the fewer of each piece; None if none can."""
    m, others = len(surface.faces), surface.mates[pairs]
    agree = surface.tails[pairs] != surface.tails[others]
    f, g = pairs // 3, others // 3
    rows = np.concatenate([f, f + m])
    columns = np.concatenate([np.where(agree, g, g + m), np.where(agree, g + m, g)])
    graph = coo_matrix((np.ones(len(rows), bool), (rows, columns)), shape=(2 * m, 2 * m))
    count, labels = connected_components(graph, directed=False)
    as_is, over = labels[:m], labels[m:]
    if (as_is == over).any():
        return None
    # A piece has two components, one the reverse of the other; the smaller label names one of them.
    one = as_is < over
    majority = np.bincount(np.minimum(as_is, over), np.where(one, 1, -1), count) >= 0
    return np.asarray(one != majority[np.minimum(as_is, over)])


def _tree(surface: Surface) -> Flags:
    """Return whether each pair belongs to a spanning forest of the triangles, breadth first."""
    pairs, m = surface.pairs, len(surface.faces)
    f, g = pairs // 3, surface.mates[pairs] // 3
    graph = coo_matrix((np.ones(len(pairs)), (f, g)), shape=(m, m)).tocsr()
    graph = graph + graph.T
    in_tree = np.zeros(len(pairs), bool)
    keys = np.minimum(f, g) * m + np.maximum(f, g)
    first = np.unique(keys, return_index=True)[1]
    for root in np.unique(surface.piece_labels, return_index=True)[1]:
        tree = breadth_first_tree(graph, int(root), directed=False).tocoo()
        in_tree[first] |= np.isin(
            keys[first], np.minimum(tree.row, tree.col) * m + np.maximum(tree.row, tree.col)
        )
    return in_tree


def _count(n: int, noun: str, nouns: str | None = None) -> str:
    return f"{n:,} {noun if n == 1 else nouns or noun + 's'}"
