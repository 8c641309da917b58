"""Neighbors among distinct points, if a point has more copies than neighbors.

The neighbors of such a point would all be its copies, so that its neighborhood has no tangent, and the copies
would be a connected component of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .neighbors import Neighborhoods, search

__all__ = ["search_distinct"]


def search_distinct(
    points: _core.Points, k: int, method: str, recall: float, n_jobs: int | None, progress: Any = None
) -> Neighborhoods:
    """Return the `k` nearest neighbors of every point; only distinct ones if some point has `k` copies or more.

    Then the first of several copies stands for all of them, and all have the same neighbors.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0], [1.0], [1.0], [1.0], [3.0]])
    >>> graph = search_distinct(_core.Points(x), 2, "exact", 1.0, None)
    >>> graph.indices.reshape(5, 2).tolist()
    [[1, 4], [0, 4], [0, 4], [0, 4], [1, 0]]
    """
    graph = search(points, k, method, recall, 0, n_jobs, progress)
    farthest = np.asarray(graph.distances).reshape(-1, k)[:, -1]
    if farthest.all():
        return graph
    distinct: Any
    distinct, first, place = np.unique(points.array, axis=0, return_index=True, return_inverse=True)
    if len(distinct) <= k:
        return graph
    among = search(_core.Points(distinct), k, method, recall, 0, n_jobs, progress)
    place = place.ravel()  # NumPy 2.0 returns a column.
    lists = first[among.indices].reshape(-1, k)[place]
    lengths = np.asarray(among.distances).reshape(-1, k)[place]
    found = Neighborhoods(lists.astype(np.uint32).ravel(), n_neighbors=k, distances=lengths.ravel())
    found.method = among.method  # No recall: copies are not listed, though they are the nearest.
    return found
