"""A start from shortest paths: classical scaling from landmarks (de Silva & Tenenbaum 2004)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse.csgraph import dijkstra

from ..problem import Array
from ..spectral.scaling import draw_landmarks, scale
from .pairs import MeasuredPairs

__all__ = ["embed_paths"]

LANDMARKS, MAX_WHOLE_POINTS = 100, 1000
"""Number of landmarks, and the number of points up to which all are landmarks."""

SOURCES_AT_ONCE = 20
"""Number of landmarks whose paths are found between two reports."""

LEAST_LENGTH = 1e-12
"""Distances of 0 are replaced by this share of the largest: scipy reads 0 as no edge."""


def embed_paths(
    pairs: MeasuredPairs, d: int, rng: np.random.Generator, ask: Callable[[int, int], None] | None = None
) -> Array:
    """Embed a connected graph; `ask` is called with the number of finished landmarks, and may raise."""
    n = pairs.n_points
    count = n if n <= MAX_WHOLE_POINTS else max(LANDMARKS, 10 * d)
    landmarks = draw_landmarks(np.arange(n), count, rng)
    graph = pairs.graph.copy()
    graph.data = np.maximum(graph.data, LEAST_LENGTH * graph.data.max(initial=1.0))
    table = np.empty((len(landmarks), n), dtype=np.float32)
    unit = float(graph.data.max(initial=0.0)) or 1.0  # keeps squares within single precision
    for start in range(0, len(landmarks), SOURCES_AT_ONCE):
        some = slice(start, start + SOURCES_AT_ONCE)
        table[some] = dijkstra(graph, directed=False, indices=landmarks[some]) / unit
        if ask is not None:
            ask(min(start + SOURCES_AT_ONCE, len(landmarks)), len(landmarks))
    squares = np.square(table[:, landmarks], dtype=np.float64)
    squares = (squares + squares.T) / 2  # the two directions along a path are rounded differently
    scaled = scale(squares.dot, lambda: squares, len(landmarks), d)
    if len(landmarks) == n:
        return unit * scaled.coordinates
    return unit * scaled.place(np.square(table.T, dtype=np.float64))
