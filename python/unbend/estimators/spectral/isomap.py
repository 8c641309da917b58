"""The estimator of Isomap."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from ... import _core
from ...core.arrays import Matrix, thread_count
from ...core.memory import Sizes
from ...core.progress import Callback, Progress
from ...core.random import RandomState
from ...fit.spectral.isomap import IsomapSettings
from ...fit.spectral.scaling import check_landmarks
from ...fit.spectral.triangulation import Triangulation
from ...graph.neighbors import DEFAULT_RECALL, Neighborhoods, SearchMethod, within
from ..base import Placed, estimator
from ..on_graph import GraphEstimator
from ..tables.attributes import ON_GRAPH

__all__ = ["Isomap"]


@estimator(
    (
        *ON_GRAPH,
        *("residual_variance_", "reconstruction_error_", "landmarks_", "landmark_distances_"),
        *("mean_squares_", "axes_", "offsets_", "spread_"),
    )
)
class Isomap(GraphEstimator):
    """Isomap (Tenenbaum, de Silva & Langford 2000): all geodesic distances, shown at once.

    The length of the shortest path between two points stands for their distance on the surface, and
    classical scaling finds points with these distances. It is right where the surface is a convex piece of
    the plane, rolled up in any way and sampled densely; it stretches holes and bulges. Global, and so robust
    to noise.

    `transform` joins a point to its neighbors among the fitted points, in the component of the nearest, and
    places it by its geodesic distances to the landmarks. The error that it returns is the root mean square
    difference of these distances from those in the embedding, in its units; 0 for a fitted point. Without
    landmarks, shortest paths are found from each point: O(n log n) each.

    All distances take O(n^2 log n) time and 2 n^2 bytes. With landmarks (de Silva & Tenenbaum 2004) only the
    paths from these are found, and all points are placed by them: O(n log n) each, for a million points.

    Examples
    --------
    >>> import unbend as ub
    >>> from scipy.spatial import procrustes
    >>> X, coordinates = ub.datasets.swiss_roll(1500, random_state=0)
    >>> isomap = ub.Isomap(n_components=2, n_neighbors=12).fit(X)
    >>> bool(procrustes(coordinates, isomap.embedding_)[2] < 0.01)
    True
    >>> fewer = ub.Isomap(n_components=2, n_neighbors=12, n_landmarks=100, random_state=0).fit(X)
    >>> bool(procrustes(isomap.embedding_, fewer.embedding_)[2] < 0.01)
    True
    """

    ALGORITHM = "isomap"

    def __init__(
        self,
        n_components: int = 2,
        n_neighbors: int | None = None,
        *,
        radius: float | None = None,
        n_landmarks: int | Literal["auto"] | None = None,
        conformal: bool = False,
        neighbors_method: SearchMethod = "auto",
        neighbors_recall: float = DEFAULT_RECALL,
        disconnected: Literal["separate", "error"] = "separate",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
        max_memory: float | None = None,
    ) -> None:
        self._keep(locals())

    def _check(self) -> None:
        super()._check()
        if self.radius is not None and self.n_neighbors is not None:
            raise ValueError(f"give n_neighbors = {self.n_neighbors} or radius = {self.radius}, not both")
        if self.n_landmarks != "auto":
            check_landmarks(self.n_landmarks, self.n_components)

    def _settings(self, sizes: Sizes) -> IsomapSettings:
        return IsomapSettings(self.n_landmarks, bool(self.conformal), self.random_state, self.max_memory)

    def _sized(self, sizes: Sizes) -> Sizes:
        landmarks = self._settings(sizes).count(sizes.n, self.n_components)
        return replace(sizes, landmarks=None if landmarks >= sizes.n else landmarks)

    def _search(self, points: _core.Points, k: int, progress: Progress) -> Neighborhoods:
        if self.radius is None:
            return super()._search(points, k, progress)
        with progress.stage("neighbors", len(points)):
            return within(points, float(self.radius), self.n_jobs, progress.progress)

    def _place(self, x: Matrix) -> Placed:
        if np.array_equal(x, self.X_fit_):
            return self.embedding_.copy(), np.zeros(len(x))
        landmarks = self.landmarks_, self.landmark_distances_, self.mean_squares_, self.axes_
        graph, k, threads = self.neighborhoods_, self.n_neighbors_, thread_count(self.n_jobs)
        y, offsets, spread = self.embedding_, self.offsets_, self.spread_
        return Triangulation(
            self.X_fit_, graph, y, *landmarks, offsets, spread, k, self.radius, threads
        ).place(x)

    def _check_shapes(self) -> None:
        super()._check_shapes()
        count, d = len(self.landmarks_), self.n_components
        table = self.landmark_distances_
        shapes = (self.axes_.shape, self.mean_squares_.shape, None if table is None else table.shape)
        expected = ((count, d), (count,), None if table is None else (count, len(self.X_fit_)))
        if shapes != expected or not np.isin(self.landmarks_, np.arange(len(self.X_fit_))).all():
            raise ValueError(f"its landmarks have shapes {shapes}, but there are {expected}")
