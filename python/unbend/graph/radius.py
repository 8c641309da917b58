"""Number of neighbors within a radius, estimated before they are searched: a radius may reach all points."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import memory

__all__ = ["check_pairs"]

BYTES_PER_PAIR = 28
"""Bytes that a search within a radius holds at its peak for each pair of neighbors (measured)."""

SURE_POINTS = 1_000
"""Graphs of at most this many points are searched without an estimate."""

CENTERS, OTHERS = 64, 4_096
"""Number of random points whose neighbors are counted, and of random points that are candidates."""

BLOCK_ENTRIES = 2**20
"""Candidates are compared in blocks of about this many entries, which limits memory."""


def check_pairs(points: Any, radius: float) -> None:
    """Refuse a search within a radius whose graph would not fit into the available memory.

    Examples
    --------
    >>> check_pairs(np.zeros((10**6, 2)), 1.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    MemoryError: radius = 1 joins about 999,999,000,000 pairs of points: the graph needs about 28.0 TB, but ...
    """
    n = len(points)
    if n <= SURE_POINTS:
        return
    pairs = int(_share(points, radius) * n * (n - 1))
    if reason := memory.shortage(BYTES_PER_PAIR * pairs):
        raise MemoryError(
            f"radius = {radius:g} joins about {pairs:,} pairs of points: the graph {reason}. Lower radius, or "
            "give n_neighbors."
        )


def _share(points: Any, radius: float) -> float:
    """Return the share of all pairs of points within a radius, from a random sample."""
    rng, n = np.random.default_rng(0), len(points)
    centers = np.asarray(points[rng.integers(n, size=CENTERS)], np.float64)
    others, near = rng.integers(n, size=OTHERS), 0
    rows = max(1, BLOCK_ENTRIES // (CENTERS * centers.shape[1]))
    for start in range(0, OTHERS, rows):
        block = np.asarray(points[others[start : start + rows]], np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # the search names entries that are too large
            apart = ((block[:, None] - centers) ** 2).sum(axis=2)
            near += int((apart <= radius**2).sum())
    return near / (CENTERS * OTHERS)
