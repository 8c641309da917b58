"""Neighborhoods of old points that grow by new points, without a search of all."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import thread_count
from .neighbors import Neighborhoods

__all__ = ["grown"]

Indices = npt.NDArray[np.uint32]


def grown(
    points: _core.Points, old: Neighborhoods, n_jobs: int | None, progress: Any = None
) -> tuple[Neighborhoods, Indices] | None:
    """Return the neighborhoods of all points, the first of which have those of `old`, as an exact search does.

    The second result has the nearest old points of each new one. None if all points must be searched: if an exact
    search of the old points did not find `old`, if some point has more copies than neighbors, or if there are
    more than four columns, so that a search of all may be faster.

    Examples
    --------
    >>> import numpy as np
    >>> from unbend.graph.neighbors import search
    >>> x = np.array([[0.0], [1.0], [3.0], [2.9]])
    >>> old = search(_core.Points(x[:3]), 1, "exact", 1.0, 0, None)
    >>> graph, nearest = grown(_core.Points(x), old, None)
    >>> graph.indices.tolist(), nearest.tolist()
    ([1, 0, 3, 2], [[2]])
    """
    if old.method != "exact" or old.recall_ != 1.0 or old.distances is None:
        return None
    found = _core.grown(points, old.core, old.distances, thread_count(n_jobs), progress)
    if found is None:
        return None
    graph, distances, nearest = found
    k = old.typical_size
    if not distances.reshape(-1, k)[:, -1].all():
        return None
    return Neighborhoods.from_core(graph, distances, "exact", 1.0), nearest.reshape(-1, k)
