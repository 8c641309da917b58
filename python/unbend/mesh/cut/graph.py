"""Cuts that make a mesh a disc.

A surface with handles or several boundaries is opened along a cut graph: triangles are joined by a spanning tree
that crosses the edges farthest from a root first, edges of shortest paths to the root last, and what it does not
cross is the cut, once its loose ends are taken away (tree-cotree, Eppstein 2003; Erickson and Whittlesey 2005). A
sphere is opened along a shortest path between two distant vertices. A disc that is strained somewhere is cut from
there to its boundary along a shortest path (Gu, Gortler and Hoppe 2002).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import minimum_spanning_tree

from ...core.arrays import as_vertex_rows
from ..energy import Array, Faces
from ..surface import ALONE, Flags, Surface, edge_keys
from .net import Net

__all__ = ["branch", "depths", "given_sides", "opened"]

MAX_ROUNDS = 8
"""A cut along edges may leave a piece that is no disc, which is cut again, at most this many times."""


def given_sides(surface: Surface, edges: Any) -> Faces:
    """Return the sides of edges that a caller names by their vertices."""
    array, n = as_vertex_rows(edges, "cut", 2, "edge"), len(surface.points)
    keys = edge_keys(surface.tails, surface.heads, n)
    known = np.isin(edge_keys(array[:, 0], array[:, 1], n), keys) & (array >= 0).all(axis=1)
    if not known.all():
        row = int(np.flatnonzero(~known)[0])
        raise ValueError(
            f"cut joins vertices {array[row, 0]} and {array[row, 1]} in row {row}, which is no edge of the mesh"
        )
    sides: Faces = np.flatnonzero(np.isin(keys, edge_keys(array[:, 0], array[:, 1], n)))
    return sides


def opened(surface: Surface) -> Surface:
    """Return a connected surface cut so that every piece is a disc."""
    for _ in range(MAX_ROUNDS):
        if surface.is_disc:
            return surface
        surface = surface.cut(_cut_graph(surface))
        if surface.piece_labels.any():
            return _all_opened(surface)
    raise ValueError(
        f"a piece of {len(surface.faces):,} triangles has Euler characteristic {surface.euler} and "
        f"{len(surface.loops)} boundaries after {MAX_ROUNDS} cuts: give the seams as cut="
    )


def _all_opened(surface: Surface) -> Surface:
    """Return a surface of several pieces with each of them cut to discs."""
    parted = []
    for rows, piece in surface.pieces():
        lost = np.flatnonzero((opened(piece).mates == ALONE) & (piece.mates != ALONE))
        parted.append(3 * rows[lost // 3] + lost % 3)
    return surface.cut(np.concatenate(parted))


def branch(surface: Surface, vertex: int) -> Faces:
    """Return a side of each edge along a shortest path from a vertex of a disc to its boundary, in order."""
    net = Net(surface)
    _, before = net.paths(surface.loops[0])
    return net.path(before, vertex)


def depths(surface: Surface) -> Array:
    """Return the distance of each vertex of a disc from its boundary."""
    return Net(surface).paths(surface.loops[0])[0]


def _cut_graph(surface: Surface) -> Faces:
    """Return the sides that a cut parts."""
    net, pairs = Net(surface), surface.pairs
    closed = not surface.loops
    roots: Any = surface.loops[0] if not closed else _farthest(net, 0)
    distances, before = net.paths(roots)
    a, b = net.tails[pairs], net.heads[pairs]
    on_path = (before[a] == b) | (before[b] == a)
    cost = distances[a] + distances[b] + net.lengths[pairs]
    uncrossed = ~_crossed(surface, np.lexsort((-cost, on_path)))
    rest = _without_loose_ends(net, uncrossed)
    if not rest.any():
        return net.path(before, int(np.argmax(distances)))
    return pairs[rest]


def _farthest(net: Net, vertex: int) -> int:
    return int(np.argmax(net.paths(vertex)[0]))


def _crossed(surface: Surface, order: Faces) -> Flags:
    """Return which pairs a spanning tree of the triangles crosses that takes them in order."""
    pairs, m = surface.pairs, len(surface.faces)
    f, g = pairs[order] // 3, surface.mates[pairs[order]] // 3
    apart = np.flatnonzero(f != g)
    _, first = np.unique(edge_keys(f[apart], g[apart], m), return_index=True)
    taken = apart[first]  # of two triangles with several common edges, the first edge in order
    graph = coo_matrix((taken + 1.0, (f[taken], g[taken])), shape=(m, m))
    crossed = np.zeros(len(pairs), bool)
    crossed[order[minimum_spanning_tree(graph.tocsr()).data.astype(np.int64) - 1]] = True
    return crossed


def _without_loose_ends(net: Net, chosen: Flags) -> Flags:
    """Return a graph of pairs without the branches that end within the surface."""
    pairs = net.surface.pairs
    edges = np.flatnonzero(chosen)
    a, b = net.tails[pairs[edges]], net.heads[pairs[edges]]
    degree = np.bincount(a, minlength=net.n) + np.bincount(b, minlength=net.n)
    for ends in net.surface.boundary_ends:
        degree[ends] += 2
    # The exclusive or of the edges at a vertex is its last edge, once the others are gone.
    last = np.zeros(net.n, np.int64)
    np.bitwise_xor.at(last, a, np.arange(len(edges)))
    np.bitwise_xor.at(last, b, np.arange(len(edges)))
    kept = np.ones(len(edges), bool)
    loose = np.flatnonzero(degree == 1)
    while len(loose):
        gone = np.unique(last[loose])
        kept[gone] = False
        ends = np.concatenate([a[gone], b[gone]])
        np.subtract.at(degree, ends, 1)
        np.bitwise_xor.at(last, ends, np.concatenate([gone, gone]))
        loose = np.unique(ends[degree[ends] == 1])
    rest = np.zeros(len(pairs), bool)
    rest[edges[kept]] = True
    return rest
