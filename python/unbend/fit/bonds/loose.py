"""Components that their pins and ties leave free to turn, or to be mirrored.

A component whose tied points lie in a space of less than d dimensions can be mirrored in it, and no tie gets
longer. Components that hold each other at d + 1 points in general position are one body, which is examined in
the same way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from .motions import links_of
from .pins import Pins
from .ties import Ties

__all__ = ["LooseBody", "loose_bodies"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.uint32]
Rows = npt.NDArray[np.intp]

LEAST_SPREAD = 1e-6
"""Points have no extent in a direction in which their variance is below this share of the largest."""


@dataclass(frozen=True)
class LooseBody:
    """Components that move as one, and that bonds leave free to turn or to be mirrored."""

    first: int  # Their first point.
    size: int  # The number of their points.
    n_held: int  # The number of their tied and fixed points in general position.


def loose_bodies(y: Array, labels: Indices, pins: Pins | None, ties: Ties | None) -> list[LooseBody]:
    """Return the bodies in an embedding that bonds hold at d points in general position, or fewer.

    Of those that only ties hold to each other, the largest is the one that the others should be fixed to.
    """
    count, d = int(labels.max()) + 1, y.shape[1]
    links = links_of(y, labels, pins, ties, count)
    bodies = _bodies(links.ends, links.one, links.two, count + 1, d)
    apart = bodies[links.ends[:, 0]] != bodies[links.ends[:, 1]]
    ends = bodies[links.ends[apart]]
    if not len(ends):
        return []
    n_held = 1 + _spans(ends.T.ravel(), np.concatenate([links.one[apart], links.two[apart]]), count + 1)
    sizes = np.bincount(bodies[labels], minlength=count + 1)
    linked = _joined(ends, count + 1)
    loose = []
    for body in np.unique(ends):
        others = np.flatnonzero(linked == linked[body])
        reference = bodies[count] if bodies[count] in others else others[sizes[others].argmax()]
        if body != reference and n_held[body] <= d:
            first = int(np.flatnonzero(bodies[labels] == body)[0])
            loose.append(LooseBody(first, int(sizes[body]), int(n_held[body])))
    return loose


def _bodies(ends: Rows, one: Array, two: Array, count: int, d: int) -> Rows:
    """Return the number of the body of each component: those that hold each other are one."""
    bodies = np.arange(count)
    while True:
        pairs = np.sort(bodies[ends], axis=1)
        keys, place = np.unique(pairs[:, 0] * count + pairs[:, 1], return_inverse=True)
        spans = np.minimum(*(_spans(place.ravel(), rows, len(keys)) for rows in (one, two)))
        holding = np.stack([keys // count, keys % count], axis=1)[
            (spans == d) & (keys // count != keys % count)
        ]
        if not len(holding):
            return bodies
        bodies = _joined(holding, count)[bodies]


def _joined(pairs: Rows, count: int) -> Rows:
    """Return the number of the part of each of `count` bodies if pairs of them are joined."""
    graph = coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(count, count))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.intp)


def _spans(place: Rows, points: Array, count: int) -> Rows:
    """Return the dimension of the smallest flat space that holds the points of each place."""

    def total(values: Array) -> Array:
        return np.bincount(place, values, count).astype(np.float64)

    n, floor = np.maximum(total(np.ones(len(place))), 1.0), LEAST_SPREAD**2 * points.var(axis=0).sum()
    centered = points - np.stack([total(column) / n for column in points.T], axis=1)[place]
    d = points.shape[1]
    moments = np.stack([total(a * b) / n for a in centered.T for b in centered.T], axis=1).reshape(-1, d, d)
    variances = np.linalg.eigvalsh(moments)
    return np.asarray((variances > LEAST_SPREAD * variances[:, -1:] + floor).sum(axis=1), dtype=np.intp)
