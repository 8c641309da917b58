"""Neighbors within groups of points, such as slices or batches that lie apart in a space of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from .neighbors import Neighborhoods

__all__ = ["group_numbers", "search_groups"]

Indices = npt.NDArray[np.uint32]


def group_numbers(groups: Any, n: int, k: int) -> Indices | None:
    """Return the number of the group of each of `n` points, None if there is one; each must hold `k` neighbors."""
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(f"groups has shape {labels.shape}: {(n,)} is needed, one label for each point")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(f"groups holds {int((~np.isfinite(labels)).sum())} labels that are not finite")
    names, numbers, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    smallest = int(sizes.argmin())
    if sizes[smallest] <= k:
        raise ValueError(
            f"group {names[smallest]!s} has {sizes[smallest]} points, but {k} neighbors of each need at least "
            f"{k + 1}: lower n_neighbors, or leave the group out"
        )
    return None if len(names) == 1 else numbers.ravel().astype(np.uint32)


def search_groups(
    points: _core.Points, k: int, numbers: Indices, search: Callable[[_core.Points], Neighborhoods]
) -> Neighborhoods:
    """Return the `k` neighbors of every point within its group, as `search` finds them among the points of one.

    Examples
    --------
    >>> import numpy as np
    >>> from unbend.graph.neighbors import search
    >>> x = _core.Points(np.array([[0.0], [0.1], [1.0], [1.2]]))
    >>> nearest = lambda points: search(points, 1, "exact", 1.0, 0, None)
    >>> search_groups(x, 1, np.array([0, 1, 0, 1], dtype=np.uint32), nearest).indices.tolist()
    [2, 3, 0, 1]
    """
    n = len(points)
    indices, distances = np.empty((n, k), dtype=np.uint32), np.empty((n, k))
    order = np.argsort(numbers, kind="stable").astype(np.uint32)
    found: list[Neighborhoods] = []
    for rows in np.split(order, np.cumsum(np.bincount(numbers))[:-1]):
        own = search(_core.Points(points.array[rows]))
        indices[rows] = rows[own.indices].reshape(-1, k)
        distances[rows] = np.asarray(own.distances).reshape(-1, k)
        found.append(own)
    graph = Neighborhoods(indices.ravel(), n_neighbors=k, distances=distances.ravel())
    graph.method = "exact" if all(one.method == "exact" for one in found) else "approximate"
    graph.recall_ = min(one.recall_ or 0.0 for one in found)
    return graph
