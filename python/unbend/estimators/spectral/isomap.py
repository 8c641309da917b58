"""The estimator of Isomap."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from ... import _core
from ...core import memory
from ...core.arrays import Matrix, check_finite, thread_count
from ...core.memory import Sizes
from ...core.progress import Callback, Progress
from ...core.random import RandomState
from ...fit.assembly import one_blas_thread
from ...fit.problem import Array, Indices, check_connected, size_of
from ...fit.spectral.isomap import IsomapSettings, Paths
from ...fit.spectral.paths import ListedPaths, ListedProblem
from ...fit.spectral.scaling import check_landmarks
from ...fit.spectral.triangulation import Triangulation
from ...graph.neighbors import DEFAULT_RECALL, Neighborhoods, SearchMethod, neighborhoods, within
from ..base import Placed, estimator
from ..linear.scaling import check_distances
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
    """Isomap (Tenenbaum, de Silva & Langford 2000): classical scaling of geodesic distances.

    The length of the shortest path between two points approximates their distance on the surface, and
    classical scaling finds points with these distances. The result is right if the surface is a convex piece
    of the plane, rolled up in any way and sampled densely. Holes and bulges are stretched. Isomap is robust to
    noise, because it uses all distances.

    `transform` joins a point to its neighbors among the fitted points, in the component of the nearest, and
    places it by its geodesic distances to the landmarks. The error that it returns is the root mean square
    difference of these distances from those in the embedding, in its units; 0 for a fitted point. Without
    landmarks, shortest paths are found from each point: O(n log n) each.

    With another `metric`, or with distances in place of points, neighbors are found by scikit-learn or in the
    matrix, and paths by scipy: more slowly, and with 4 n^2 bytes. `transform` then takes points, or distances to
    the fitted points. There are no Euclidean neighborhoods to compare with, so `faithfulness_` is None, there is
    no `score`, and `inverse_transform` raises a ValueError. The embedding is that of scikit-learn with the same
    metric, up to signs, to 1e-6 of its extent: paths have single precision.

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
    LISTED_BYTES: ClassVar[int] = 2
    """Bytes for each pair of points that paths with given lengths take in addition."""

    def __init__(
        self,
        n_components: int = 2,
        n_neighbors: int | None = None,
        *,
        radius: float | None = None,
        metric: str = "euclidean",
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

    # scikit-learn looks for the method.
    @available_if(lambda self: self._has_points("score", AttributeError))  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any = None) -> float:
        """Return how well points and their images agree; see :meth:`unbend.GreedyProcrustes.score`."""
        return super().score(X, y)

    def _has_points(self, name: str, kind: type[Exception] = ValueError) -> bool:
        if self.metric != "euclidean":
            raise kind(f"{name} needs Euclidean points: metric = {self.metric!r} has none")
        return True

    def _fit(
        self, X: Any, progress: Progress, neighborhoods: Neighborhoods | None = None, **known: Any
    ) -> None:
        if self.metric == "euclidean":
            super()._fit(X, progress, neighborhoods, **known)
            return
        x = self._validated(X, reset=True, finite=True)
        n, d = x.shape[0], self.n_components
        if d > n:
            raise ValueError(f"n_components = {d} needs as many points, got n_samples = {n}")
        memory.check(self._estimate(n, x.shape[1], 8), self.max_memory)
        with progress.stage("neighbors", n):
            graph = self._listed(x) if neighborhoods is None else _with_lengths(neighborhoods, n)
        check_connected(graph.component_labels, self.disconnected)
        problem: Any = ListedProblem(graph, int(d))
        with one_blas_thread():  # The same bits on any number of threads.
            found = self._settings(Sizes(n, 0, d)).embed(problem, progress).laid_out(problem)
        points: Any = None if self.metric == "precomputed" else x
        self.X_fit_, self.neighborhoods_ = points, graph
        self.n_neighbors_, self.component_labels_ = graph.typical_size, graph.component_labels
        self.__dict__.update(found.attributes())

    def _listed(self, x: Any) -> Neighborhoods:
        """Return the neighbors by a metric, with their distances."""
        n, k = x.shape[0], self.n_neighbors
        if issparse(x) and k is None and self.radius is None:
            return Neighborhoods.from_graph(x)
        k = None if self.radius is not None else self._neighbor_count(n, None)
        if self.metric == "precomputed":
            return neighborhoods(x, k, radius=self.radius, metric="precomputed")
        search = self._searched(x, k)
        graph = search.kneighbors_graph if self.radius is None else search.radius_neighbors_graph
        return Neighborhoods.from_graph(graph(mode="distance"))

    def _searched(self, x: Matrix, k: int | None) -> Any:
        from sklearn.neighbors import NearestNeighbors

        radius = 1.0 if self.radius is None else self.radius
        # Cosines are products of BLAS, whose last bits depend on how threads divide the points.
        threads = 1 if self.metric == "cosine" else self.n_jobs
        return NearestNeighbors(n_neighbors=k or 1, radius=radius, metric=self.metric, n_jobs=threads).fit(x)

    def _validated(self, X: Any, reset: bool, finite: bool = False) -> Any:
        if self.metric != "precomputed":
            return super()._validated(X, reset, finite)
        least = 2 if reset else 1
        x = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=np.float64, ensure_min_samples=least
        )
        if reset and x.shape[0] != x.shape[1]:
            raise ValueError(f"distances must be square, got shape {x.shape}")
        if reset and not issparse(x):
            check_distances(x)
        return x

    def _place(self, x: Matrix) -> Placed:
        if self.metric == "euclidean" and np.array_equal(x, self.X_fit_):
            return self.embedding_.copy(), np.zeros(len(x))
        landmarks = self.landmarks_, self.landmark_distances_, self.mean_squares_, self.axes_
        y, offsets, spread = self.embedding_, self.offsets_, self.spread_
        found = Triangulation(self._paths(), self.neighborhoods_, y, *landmarks, offsets, spread, self.radius)
        if self.metric != "precomputed":
            check_finite(x)
        with one_blas_thread():
            return found.place(*self._nearest(x))

    def _paths(self) -> Paths:
        if self.metric != "euclidean":
            return ListedPaths(self.neighborhoods_, self.spread_)
        points, threads = self.X_fit_, thread_count(self.n_jobs)
        return _core.Paths(points, self.neighborhoods_.core, self.spread_, threads)

    def _nearest(self, x: Any) -> tuple[Indices, Array]:
        """Return the fitted points that are nearest to new ones, and their distances."""
        k = self.n_neighbors_
        if self.radius is not None:
            k = int(self.neighborhoods_.sizes.max()) + 1
        k, m = min(k, len(self.embedding_)), x.shape[0]
        if self.metric == "euclidean":
            lists, lengths = _core.query(self.X_fit_, x, k, "auto", thread_count(self.n_jobs))
        elif self.metric == "precomputed":
            lists, lengths = _nearest_columns(x, k)
        else:
            lengths, lists = self._searched(self.X_fit_, k).kneighbors(x)
        return np.asarray(lists, dtype=np.uint32).reshape(m, k), np.asarray(lengths).reshape(m, k)

    def _find(self, y: Matrix) -> Placed:
        self._has_points("inverse_transform")
        return super()._find(y)

    def _estimate(self, n: int, q: int, itemsize: int) -> int:
        needed = super()._estimate(n, q, itemsize)
        whole = self.metric != "euclidean" and self._sized(Sizes(n, q, self.n_components)).landmarks is None
        return needed + self.LISTED_BYTES * n**2 * whole

    def _check_shapes(self) -> None:
        if self.metric == "precomputed":
            n, names = len(self.neighborhoods_), ("embedding_", "component_labels_")
            wrong = [name for name in names if len(getattr(self, name)) != n]
            if wrong:
                raise ValueError(
                    f"{wrong[0]} has {len(getattr(self, wrong[0]))} rows, but there are {n} points"
                )
        else:
            super()._check_shapes()
        count, d = len(self.landmarks_), self.n_components
        table, n = self.landmark_distances_, len(self.embedding_)
        shapes = (self.axes_.shape, self.mean_squares_.shape, None if table is None else table.shape)
        expected = ((count, d), (count,), None if table is None else (count, n))
        if shapes != expected or not np.isin(self.landmarks_, np.arange(n)).all():
            raise ValueError(f"its landmarks have shapes {shapes}, but there are {expected}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        listed = self.metric == "precomputed"
        tags.input_tags.pairwise = tags.input_tags.positive_only = tags.input_tags.sparse = listed
        return tags


def _with_lengths(graph: Neighborhoods, n: int) -> Neighborhoods:
    """Return neighborhoods of `n` points that know their distances."""
    size_of(graph, n)
    if graph.distances is None:
        raise ValueError(
            "neighborhoods without distances give no paths: pass distances to Neighborhoods.from_knn"
        )
    return graph


def _nearest_columns(x: Any, k: int) -> tuple[Indices, Array]:
    """Return the `k` least entries of every row in rising order; those that a sparse row lacks are infinite."""
    if issparse(x):
        sizes = np.diff(x.indptr)
        if (sizes == 0).any():
            raise ValueError(f"row {int(sizes.argmin())} of X holds no distance: at least 1 is needed")
        lists, lengths = np.zeros((x.shape[0], k), dtype=np.uint32), np.full((x.shape[0], k), np.inf)
        for row, (start, end) in enumerate(zip(x.indptr[:-1], x.indptr[1:], strict=True)):
            values = x.data[start:end]
            order = np.lexsort((x.indices[start:end], values))[:k]
            lists[row, : len(order)] = x.indices[start:end][order]
            lengths[row, : len(order)] = values[order]
            lists[row, len(order) :] = lists[row, 0]
    else:
        order = np.argsort(x, axis=1, kind="stable")[:, :k]
        lists, lengths = order.astype(np.uint32), np.take_along_axis(x, order, axis=1)
    if lengths.size and lengths.min() < 0:
        row = int(lengths.min(axis=1).argmin())
        raise ValueError(f"Negative values in data: {lengths.min():g} in row {row} of X is no distance")
    return lists, lengths
