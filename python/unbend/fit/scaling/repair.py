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

LEAST_GAIN = 1e-3
"""Share by which the stress of a point must fall."""


def reflected(pairs: MeasuredPairs, y: Array) -> Array | None:
    """Return an embedding with some points on the other side of their neighbors, or None if none is better.

    No two neighbors are moved at once.
    """
    point, other = np.concatenate([pairs.ends, pairs.ends[:, ::-1]]).T
    distances, weights = np.tile(pairs.distances, 2), np.tile(pairs.weights, 2)
    rays = Rays(point, y[other], distances, weights, pairs.n_points)
    moved = rays.mirrored(y)
    for _ in range(STEPS):
        moved += rays.majorized(moved)
    before = rays.values(y)
    gain = before - rays.values(moved)
    gain[gain <= LEAST_GAIN * before] = 0.0
    chosen = (gain > 0) & (gain > _largest(point, gain[other], pairs.n_points))
    if not chosen.any():
        return None
    return np.where(chosen[:, None], moved, y)


def _largest(point: npt.NDArray[np.int64], values: Array, n: int) -> Array:
    """Return the largest value of the neighbors of each point."""
    found = np.zeros(n)
    np.maximum.at(found, point, values)
    return found
