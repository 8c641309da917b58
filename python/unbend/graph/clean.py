"""A neighborhood graph without short circuits and outliers, on points with less noise.

The loops over edges and points are in the core, `charts/prune.rs` and `charts/project.rs`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import Matrix, as_count, as_points, thread_count
from ..core.parameters import documented
from ..core.shared_parameters import FUNCTIONS
from .copies import search_distinct
from .neighbors import DEFAULT_NEIGHBORS, Neighborhoods

__all__ = ["CleanGraph", "clean", "pruned", "smoothed"]

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class CleanGraph:
    """A neighborhood graph after short circuits were removed.

    Attributes
    ----------
    points : ndarray of shape (n, q)
        The points, moved toward the surface if `smoothing` is not 0.
    neighborhoods : Neighborhoods
        The neighbors of each point without short circuits. An outlier may have none.
    outliers : ndarray of bool, shape (n,)
        Mask of the points that pruning separated from the largest piece of their connected component.
    n_dropped : int
        Number of edges that were dropped, counted once for each direction that the graph lists.
    n_doubtful : int
        Number of edges that looked wrong at first. Those that other edges support were kept.
    off_tangent : float
        Median part of an edge that is off the tangents of its ends, as a share of its length: near 0 on a
        smooth surface, and near 1 if noise hides the tangents or the data have more dimensions.
    angle : float
        Median sine of the angle between the tangents of two neighbors.
    smoothing : int
        Number of neighbors from which the points were moved; 0 if they were not.

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(1000, random_state=0)
    >>> X[:20] = np.random.default_rng(0).uniform(X.min(axis=0), X.max(axis=0), size=(20, 3))
    >>> graph = ub.clean(X)
    >>> bool(graph.outliers[:20].mean() > 0.4), bool(graph.outliers[20:].mean() < 0.01)
    (True, True)
    """

    points: Matrix = field(repr=False)
    neighborhoods: Neighborhoods
    outliers: Flags = field(repr=False)
    n_dropped: int
    n_doubtful: int
    off_tangent: float
    angle: float
    smoothing: int = 0


@documented(FUNCTIONS)
def clean(
    X: Any,
    n_components: int = 2,
    n_neighbors: int | None = None,
    *,
    smoothing: int = 0,
    n_jobs: int | None = None,
) -> CleanGraph:
    """Find the neighbors of every point, and remove short circuits between distant parts of the surface.

    An edge is a short circuit if it leaves the tangents of its ends, or joins two very different tangents,
    compared with the usual edges of the same data, and if no other path joins its ends closely.

    Parameters
    ----------
    X : array-like of shape (n, q)
        Input data.
    n_components : int, default 2
        Dimension d of the surface.
    smoothing : int, default 0
        Number of neighbors for a local projection of the points before the graph is made, which reduces
        noise; 0 for none. More neighbors remove more noise, but flatten what is curved.

    Returns
    -------
    CleanGraph

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(600, random_state=4)
    >>> ub.clean(X).n_dropped > 0
    True
    """
    points, d = _core.Points(as_points(X)), as_count(n_components, "n_components")
    k = DEFAULT_NEIGHBORS if n_neighbors is None else as_count(n_neighbors, "n_neighbors")
    if as_count(smoothing, "smoothing", 0):
        points = smoothed(points, smoothing, d, n_jobs)
    return pruned(points, search_distinct(points, k, "auto", 1.0, n_jobs), d, n_jobs, smoothing=smoothing)


def pruned(
    points: _core.Points,
    graph: Neighborhoods,
    d: int,
    n_jobs: int | None,
    progress: Any = None,
    smoothing: int = 0,
) -> CleanGraph:
    """Return a graph without its short circuits."""
    found = _core.prune(points, graph.core, d, thread_count(n_jobs), progress)
    kept = Neighborhoods.from_core(graph.core.without(found["dropped"]))
    return CleanGraph(
        points=points.array,
        neighborhoods=kept,
        outliers=_outside(graph.component_labels, kept.component_labels),
        n_dropped=int(found["dropped"].sum()),
        n_doubtful=found["n_doubtful"],
        off_tangent=found["off_tangent"],
        angle=found["angle"],
        smoothing=smoothing,
    )


def smoothed(points: _core.Points, k: int, d: int, n_jobs: int | None, progress: Any = None) -> _core.Points:
    """Return the points, each moved to the mean of its projections on the planes of `k` neighbors."""
    found = search_distinct(points, k, "auto", 1.0, n_jobs)
    graph = pruned(points, found, d, n_jobs, progress).neighborhoods
    moved = _core.projected(points, graph.core, d, thread_count(n_jobs), progress)
    return _core.Points(moved.reshape(points.array.shape))


def _outside(before: npt.NDArray[Any], after: npt.NDArray[Any]) -> Flags:
    """Return which points are not in the largest piece of their component; labels before and after pruning."""
    sizes = np.bincount(after)
    order = np.argsort(-sizes[after], kind="stable")
    components, first = np.unique(before[order], return_index=True)
    largest = np.empty(before.max() + 1, dtype=after.dtype)
    largest[components] = after[order[first]]
    return np.asarray(after != largest[before])
