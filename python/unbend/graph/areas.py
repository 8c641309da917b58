"""Area of the surface that each point stands for, as a weight that makes up for uneven sampling."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.arrays import as_count, as_points, as_triangles
from ..core.parameters import documented
from ..core.shared_parameters import FUNCTIONS
from .neighbors import Neighborhoods, resolve

__all__ = ["point_areas"]

Array = npt.NDArray[np.float64]

BLOCK_NUMBERS = 2**22
"""Unknown distances are computed in blocks of about this many coordinates, which limits memory."""


@documented(FUNCTIONS)
def point_areas(
    X: Any,
    faces: Any = None,
    *,
    n_components: int = 2,
    n_neighbors: int | None = None,
    radius: float | None = None,
    neighborhoods: Neighborhoods | None = None,
    n_jobs: int | None = None,
) -> Array:
    """Estimate the share of the surface that each point stands for.

    Give it as ``sample_weight=`` to fits, :func:`refine` and measures of unevenly sampled data. Equal areas then
    count equally instead of equal numbers of points. Of a mesh, a vertex has a third of the area of its triangles.
    Of points, it is r^d / k, where r is the distance to the farthest of the k neighbors, and d is `n_components`.
    Points without area have the smallest area of the others.

    Parameters
    ----------
    faces : array-like of int, shape (m, 3)
        Triangles of a mesh with the vertices X. Without them, areas are estimated from neighborhoods.
    n_components : int
        Dimension d of the surface.

    Returns
    -------
    ndarray of shape (n,)
        Areas above 0, with mean 1.

    Examples
    --------
    >>> import unbend as ub
    >>> line = [[0.0], [1.0], [2.0], [3.0], [5.0], [7.0], [9.0]]
    >>> ub.point_areas(line, n_components=1, n_neighbors=2).round(2).tolist()
    [1.0, 0.5, 0.5, 1.0, 1.0, 1.0, 2.0]
    """
    x, d = as_points(X), as_count(n_components, "n_components")
    if faces is None:
        areas = _of_points(x, d, resolve(x, neighborhoods, n_neighbors, radius, n_jobs))
    else:
        if d != 2:
            raise ValueError(f"n_components is {d}, but a surface of triangles has 2: leave it out")
        if neighborhoods is not None or n_neighbors is not None or radius is not None:
            raise ValueError(
                "faces= was given with neighborhoods=, n_neighbors= or radius=: give one of them"
            )
        areas = _of_vertices(x, as_triangles(faces, len(x)))
    positive = areas > 0
    if not positive.any():
        return np.ones(len(areas))
    areas = np.where(positive, areas, areas[positive].min())
    mean: Array = areas / areas.mean()
    return mean


def _of_vertices(x: Any, triangles: npt.NDArray[np.int64]) -> Array:
    corner = np.asarray(x[triangles[:, 0]], dtype=np.float64)
    first, second = x[triangles[:, 1]] - corner, x[triangles[:, 2]] - corner
    squares = (first * first).sum(axis=1) * (second * second).sum(axis=1)
    doubled = np.sqrt(np.maximum(squares - (first * second).sum(axis=1) ** 2, 0))
    areas: Array = np.bincount(triangles.ravel(), np.repeat(doubled, 3), len(x)).astype(np.float64)
    return areas


def _of_points(x: Any, d: int, graph: Neighborhoods) -> Array:
    sizes = graph.sizes
    farthest = np.zeros(len(x))
    filled = np.flatnonzero(sizes > 0)
    if len(filled):
        farthest[filled] = np.maximum.reduceat(_distances(x, graph), graph.indptr[filled])
    areas: Array = (farthest / (farthest.max() or 1.0)) ** d / np.maximum(sizes, 1)
    return areas


def _distances(x: Any, graph: Neighborhoods) -> Array:
    """Return the distance of each neighbor, computed where the graph has none."""
    if graph.distances is not None:
        return np.asarray(graph.distances)
    centers = np.repeat(np.arange(len(x)), graph.sizes)
    blocks = np.array_split(np.arange(len(centers)), len(centers) * x.shape[1] // BLOCK_NUMBERS + 1)
    return np.concatenate(
        [np.linalg.norm(np.asarray(x[graph.indices[b]], np.float64) - x[centers[b]], axis=1) for b in blocks]
    )
