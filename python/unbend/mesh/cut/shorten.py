"""Seams made shorter.

The seams of a disc are chains of edges between junctions, tips and boundaries. One chain glued again leaves a ring
with two boundaries, and the shortest path between these is the shortest chain in its place; a chain that ends
within the surface is replaced by the shortest path from its tip to the boundary. Every exchange leaves a disc, and
they are made until none is shorter. It is a local search: seams around handles may stay longer than necessary.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from ..energy import Array, Faces
from ..surface import ALONE, Surface
from .net import Net

__all__ = ["shortened"]

MIN_GAIN = 1e-6
"""A chain is exchanged for one that is shorter by more than this share, which is above rounding."""

MAX_EXCHANGES = 100
"""Maximum number of chains that are exchanged."""


def shortened(whole: Surface, disc: Surface) -> Surface:
    """Return a disc cut from the same surface as another one, along seams that are shorter if possible."""
    for _ in range(MAX_EXCHANGES):
        better = next((s for chain in _chains(whole, disc) if (s := _exchanged(whole, disc, chain))), None)
        if better is None:
            break
        disc = better
    return disc


@dataclass(frozen=True, eq=False)
class _Chain:
    sides: Faces  # One side of each edge.
    tip: int | None  # A corner at the end within the surface, if there is one.


def _exchanged(whole: Surface, disc: Surface, chain: _Chain) -> Surface | None:
    """Return a disc with a shorter chain in the place of one, or None."""
    ring = disc.joined(chain.sides, whole.mates[chain.sides])
    if len(ring.loops) == 2:
        ends = ring.loops[1]
    elif ring.is_disc and chain.tip is not None:
        ends = ring.triangles.ravel()[[chain.tip]]
    else:
        return None
    net = Net(ring)
    distances, before = net.paths(ring.loops[0])
    end = int(ends[np.argmin(distances[ends])])
    length = float(_lengths(whole, chain.sides).sum())
    return ring.cut(net.path(before, end)) if distances[end] < (1 - MIN_GAIN) * length else None


def _chains(whole: Surface, disc: Surface) -> Iterator[_Chain]:
    """Yield the chains of seams, the longest first."""
    seam = whole.pairs[disc.mates[whole.pairs] == ALONE]
    corners = np.concatenate([seam, seam // 3 * 3 + (seam + 1) % 3])
    vertices, index = whole.triangles.ravel()[corners], np.tile(np.arange(len(seam)), 2)
    degree = np.bincount(vertices, minlength=len(whole.origins))
    degree[whole.boundary_ends[0]] += 2
    inner = degree[vertices] == 2
    neighbors = index[inner][np.argsort(vertices[inner], kind="stable")].reshape(-1, 2).T
    graph = coo_matrix((np.ones(neighbors.shape[1]), tuple(neighbors)), shape=(len(seam),) * 2)
    count, labels = connected_components(graph, directed=False)
    tips = np.full(count, -1)
    at_tip = degree[vertices] == 1
    tips[labels[index[at_tip]]] = corners[at_tip]
    lengths = np.bincount(labels, _lengths(whole, seam), minlength=count)
    for k in np.argsort(-lengths, kind="stable"):
        yield _Chain(seam[labels == k], int(tips[k]) if tips[k] >= 0 else None)


def _lengths(surface: Surface, sides: Faces) -> Array:
    ends = surface.points[surface.tails[sides]] - surface.points[surface.heads[sides]]
    return np.asarray(np.linalg.norm(ends, axis=1))
