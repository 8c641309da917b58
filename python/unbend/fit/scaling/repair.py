"""Points on the wrong side of their neighbors: each is reflected, and stays there if its stress is lower.

Local minima of the stress are often of this kind: a point with few distances lies on the wrong side of the line,
or plane, through its neighbors. Cost: O(m d) for each of some steps.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..problem import Array
from .pairs import MeasuredPairs
from .place import Rays

__all__ = ["reflected"]

STEPS = 20
"""Number of steps of majorization that a reflected point takes, its neighbors fixed."""

SUSPECT = 2.0
"""Points are tried whose stress is above this multiple of the median."""

LEAST_GAIN = 1e-3
"""Share by which the stress of a point must fall."""


def reflected(pairs: MeasuredPairs, y: Array) -> Array | None:
    """Return an embedding with some points on the other side of their neighbors, or None if none is better.

    No two neighbors are moved at once.
    """
    point, other = np.concatenate([pairs.ends, pairs.ends[:, ::-1]]).T
    distances, weights = np.tile(pairs.distances, 2), np.tile(pairs.weights, 2)
    before = Rays(point, y[other], distances, weights, pairs.n_points).values(y)
    candidates = np.flatnonzero(before > SUSPECT * np.median(before))
    if len(candidates) == 0:
        return None
    number = np.full(pairs.n_points, -1)
    number[candidates] = np.arange(len(candidates))
    own = number[point] >= 0
    rays = Rays(number[point[own]], y[other[own]], distances[own], weights[own], len(candidates))
    moved = rays.mirrored(y[candidates])
    for _ in range(STEPS):
        moved += rays.majorized(moved)
    gain = np.zeros(pairs.n_points)
    gain[candidates] = before[candidates] - rays.values(moved)
    gain[gain <= LEAST_GAIN * before] = 0.0
    chosen = (gain > 0) & (gain > _largest(point, gain[other], pairs.n_points))
    if not chosen.any():
        return None
    better = y.copy()
    better[chosen] = moved[number[chosen]]
    return better


def _largest(point: npt.NDArray[np.int64], values: Array, n: int) -> Array:
    """Return the largest value of the neighbors of each point."""
    found = np.zeros(n)
    np.maximum.at(found, point, values)
    return found
