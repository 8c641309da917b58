"""Groups of points, such as slices or batches, each of which may lie anywhere in space."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.arrays import Matrix

__all__ = ["group_numbers", "set_apart"]

Indices = npt.NDArray[np.uint32]


def group_numbers(groups: Any, n: int, k: int) -> Indices | None:
    """Return the number of the group of each of `n` points, None if there is one; each must hold `k` neighbors."""
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(f"groups has shape {labels.shape}: {(n,)} is needed, one label for each point")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(f"groups holds {int((~np.isfinite(labels)).sum())} labels that are not finite")
    try:
        names, numbers, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    except TypeError as error:
        raise ValueError(
            "groups holds labels of different types, such as None and text: use one type"
        ) from error
    smallest = int(sizes.argmin())
    if sizes[smallest] <= k:
        raise ValueError(
            f"group {names[smallest]!s} has {sizes[smallest]} points, but {k} neighbors of each need at least "
            f"{k + 1}: lower n_neighbors, or leave the group out"
        )
    return None if len(names) == 1 else numbers.ravel().astype(np.uint32)


def set_apart(x: Matrix, numbers: Indices) -> Matrix:
    """Return a copy of points with their groups far from each other, so that nearest points are of the same group.

    Each group is centered and moved along the first axis. Neighborhoods keep their shapes.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0, 1.0], [0.1, 1.0], [1.0, 1.0], [0.9, 1.0]])
    >>> set_apart(x, np.array([0, 1, 0, 1], dtype=np.uint32)).round(1).tolist()
    [[1.0, 0.0], [3.8, 0.0], [2.0, 0.0], [4.6, 0.0]]
    """
    apart, start = np.empty(x.shape), 0.0
    order = np.argsort(numbers, kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(numbers))[:-1]):
        own = x[rows].astype(np.float64)
        own -= own.mean(axis=0)
        radius = float(np.sqrt((own**2).sum(axis=1).max())) or 1.0
        # Any two points of a group are nearer to each other than to any point of another.
        own[:, 0] += start + 3.0 * radius
        start += 6.0 * radius
        apart[rows] = own
    return apart
