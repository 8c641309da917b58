"""Isomap (Tenenbaum, de Silva & Langford 2000): classical scaling of distances along the graph."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core import memory
from ..core.arrays import Matrix, as_count, thread_count
from ..core.progress import Callback, Progress
from ..core.random import RandomState, stream
from ..graph.neighbors import DEFAULT_RECALL, Neighborhoods, SearchMethod, _as_radius
from .base import Array, Placed
from .embed import Indices, _OnGraph, _same
from .scaling import Scaled, _mismatch, check_landmarks, draw_landmarks, scale

__all__ = ["Isomap"]

AUTO, AUTO_PER_DIMENSION = 200, 20
"""How many landmarks "auto" takes: at least so many, and at least so many for each dimension."""

AT_ONCE = memory.SCALED_AT_ONCE
"""How many distances are looked at together."""

LOOKED_AT = 10_000
"""To how many points of a component the distances from landmarks are compared with the embedding."""


class Isomap(_OnGraph):
    """Isomap (Tenenbaum, de Silva & Langford 2000): all distances along the graph, shown at once.

    The length of the shortest path between two points stands for their distance on the surface, and
    classical scaling finds the points with these distances. It is right where the surface is a convex piece
    of the plane, rolled up in any way and sampled densely; holes and bulges it stretches. Global, and so
    robust to noise.

    All distances take O(n^2 log n) time, and 2 n^2 bytes. With landmarks (de Silva & Tenenbaum 2004) only
    the paths from these are found, and all points are placed by them: O(n log n) each, for a million points.

    Parameters
    ----------
    n_components : int, default 2
        Dimension d of the embedding.
    n_neighbors : int, default 12
        How many other points a neighbourhood holds. None means 12, or all others where there are fewer.
    radius : float, optional
        Instead of a number: all others within this distance are neighbours.
    n_landmarks : int or "auto", optional
        From how many points, drawn at random, paths are found; from all by default. "auto" is 200, or 20 for
        each dimension if that is more.
    conformal : bool, default False
        Whether to divide every edge by sqrt(M(i) M(j)), M(i) being the mean distance of the neighbours of i
        (de Silva & Tenenbaum 2003): recovers surfaces that were stretched unevenly, but evenly in all
        directions, if they were sampled evenly before. The embedding has no unit then.
    neighbors_method : {"auto", "exact", "approximate"}
        How neighbours are found; see :func:`unbend.neighborhoods`.
    neighbors_recall : float, default 0.98
        The share of the true neighbours that an approximate search shall find.
    disconnected : {"separate", "error"}
        What to do where the neighbourhoods fall into several components: embed each by itself and lay
        them side by side, with a :class:`DisconnectedWarning`; or raise a ValueError.
    random_state : int, Generator or RandomState, optional
        Where landmarks are drawn from; without them nothing is random.
    n_jobs : int, optional
        Number of threads; all by default. The result is the same for any number.
    verbose : int, default 0
        1 shows a line for each stage on standard error, with its progress and the time left.
    callback : callable, optional
        Called as ``callback(stage, done, total, best)`` about every 20 ms. When it returns True the fit
        stops with :class:`unbend.Stopped`.
    max_memory : float, optional
        The bytes that a fit may need; by default what the machine has available.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, d)
        The embedding, in units of the data. Components are centred, turned to their principal axes and
        set side by side, the largest first.
    neighborhoods_ : Neighborhoods
        Those of the data.
    faithfulness_ : Faithfulness
        How faithful the embedding is to the neighbourhoods.
    residual_variance_ : float
        1 - rho^2, where rho correlates distances along the graph with those in the embedding, over all pairs
        that a path joins; from landmarks, over pairs of a landmark and one of up to 10,000 points. 0 is
        perfect.
    reconstruction_error_ : float
        The root mean square of what the embedding lacks of the doubly centred squared distances, as
        scikit-learn has it, in squared units of the data; from landmarks, of those between landmarks. 0 is
        perfect.
    component_labels_ : ndarray of shape (n,)
        The component of each point.
    landmarks_ : ndarray of uint32
        From where paths were found, in rising order: all points if there are no landmarks.
    landmark_distances_ : ndarray of float32, shape (n_landmarks, n), or None
        Those along the graph, in units of the longest edge, infinite between components; None without
        landmarks.
    mean_squares_ : ndarray
        The mean squared distance from each landmark to all in its component, in units of the longest edge.
    axes_ : ndarray of shape (n_landmarks, d)
        What turns squared distances from landmarks, less these means, into coordinates.
    offsets_ : ndarray of shape (n_components, d)
        Where the middle of each component lies.
    spread_ : ndarray of shape (n,) or None
        M(i) for each point, if `conformal`.
    trace_ : dict
        "components": of each that was scaled, the largest first, its "eigenvalues" in squared units of the
        data, all of up to 300 landmarks and else the largest, and how many "landmarks" it has.
    timings_ : dict of float
        Seconds of every stage.
    X_fit_ : ndarray of shape (n, q)
        The data, not copied: do not change them while the estimator is used.
    n_neighbors_ : int
        To how many fitted points a new one is joined; with a radius, the mean number of neighbours.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

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

    residual_variance_: float
    reconstruction_error_: float
    landmarks_: Indices
    landmark_distances_: npt.NDArray[np.float32] | None
    mean_squares_: Array
    axes_: Array
    offsets_: Array
    spread_: Array | None

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
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.n_landmarks = n_landmarks
        self.conformal = conformal
        self.neighbors_method = neighbors_method
        self.neighbors_recall = neighbors_recall
        self.disconnected = disconnected
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.max_memory = max_memory

    def transform(self, X: Any, return_error: bool = False) -> Any:
        """Place points in the embedding, by their distances along the graph to the landmarks.

        A point is joined to its neighbours among the fitted points, in the component of the nearest, and
        reaches all others through them. The fitted points themselves come out where the fit placed them, to
        the last bit. Without landmarks, shortest paths are found from each point: O(n log n) each.

        Parameters
        ----------
        X : array-like of shape (m, q)
            Points.
        return_error : bool, default False
            Whether to return as well by how much these distances differ, in root mean square, from those in
            the embedding: in its units, 0 is perfect. Nothing is looked at where a point is a fitted one.

        Returns
        -------
        ndarray of shape (m, d), or a pair of it and an ndarray of shape (m,)
        """
        return super().transform(X, return_error)

    # Fit ------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.radius is not None:
            if self.n_neighbors is not None:
                raise ValueError(f"give n_neighbors = {self.n_neighbors} or radius = {self.radius}, not both")
            if not 0 < _as_radius(self.radius) < math.inf:
                raise ValueError(f"radius = {self.radius} is out of range: it must be above 0 and finite")
        if self.n_landmarks != "auto":
            check_landmarks(self.n_landmarks, self.n_components)
        if not isinstance(self.conformal, bool | np.bool_):
            raise ValueError(f"conformal = {self.conformal!r} must be True or False")

    def _plan(self, n: int, q: int, k: int, itemsize: int, searched: bool) -> memory.PathsPlan:
        d, landmarks = as_count(self.n_components, "n_components"), self._count(n)
        return memory.PathsPlan(
            n=n,
            q=q,
            d=d,
            k=k,
            itemsize=itemsize,
            searched=searched,
            landmarks=None if landmarks >= n else landmarks,
        )

    def _count(self, n: int) -> int:
        """Return how many landmarks there are to be among `n` points."""
        if self.n_landmarks is None:
            return n
        if self.n_landmarks == "auto":
            return min(n, max(AUTO, AUTO_PER_DIMENSION * self.n_components))
        return min(n, self.n_landmarks)

    def _search(self, x: Matrix, k: int, watch: Progress) -> Neighborhoods:
        if self.radius is None:
            return super()._search(x, k, watch)
        with watch.stage("neighbours", len(x)):
            indptr, indices, distances = _core.within(
                x, float(self.radius), "auto", thread_count(self.n_jobs), progress=watch.progress
            )
        return Neighborhoods(
            indices, indptr=indptr, distances=distances, method="exact", recall=1.0, _found_here=True
        )

    def _lay_flat(self, x: Matrix, k: int, watch: Progress) -> tuple[Array, dict[str, Any]]:
        n, labels = len(x), self.component_labels_
        self.landmarks_ = self._draw(labels)
        with watch.stage("paths", len(self.landmarks_)):
            self.spread_ = self._spread(x)
            paths = self._paths(x)
            self.landmark_distances_ = None
            if len(self.landmarks_) < n:
                # Every component has enough of them, which may be more than were asked for.
                memory.check(memory.SINGLE * len(self.landmarks_) * n, self.max_memory)
                found = paths.distances_from(self.landmarks_, progress=watch.progress)
                self.landmark_distances_ = found.reshape(-1, n)
        task = _Task(self, paths, watch)
        embedding = task.embed()
        self.mean_squares_, self.axes_ = task.means, task.axes
        self.residual_variance_, self.reconstruction_error_ = task.measures()
        return embedding, {"components": task.trace}

    def _draw(self, labels: Indices) -> Indices:
        """Return landmarks of every component, in proportion to its points but enough for its dimensions."""
        count, n = self._count(len(labels)), len(labels)
        if count == n:
            return np.arange(n, dtype=np.uint32)
        rng = stream(self.random_state, "landmarks")
        shares = np.ceil(np.bincount(labels) * (count / n)).astype(int).clip(self.n_components + 1)
        by_component = _members(labels)
        drawn = [draw_landmarks(m, share, rng) for m, share in zip(by_component, shares, strict=True)]
        return np.sort(np.concatenate(drawn))

    def _spread(self, x: Matrix) -> Array | None:
        if not self.conformal:
            return None
        return _core.spread(x, self.neighborhoods_._graph, thread_count(self.n_jobs))

    def _paths(self, x: Matrix) -> _core.Paths:
        return _core.Paths(x, self.neighborhoods_._graph, self.spread_, thread_count(self.n_jobs))

    def _keep(self, x: Matrix, embedding: Array, k: int) -> None:
        """Lay components out, and let the axes follow them."""
        super()._keep(x, embedding, k)
        labels = self.component_labels_
        count, d = int(labels.max()) + 1, self.n_components
        self.offsets_, where = np.zeros((count, d)), labels[self.landmarks_]
        for component, members in enumerate(_members(labels)):
            turn, offset = _motion(embedding[members], self.embedding_[members])
            own = where == component
            self.axes_[own] = self.axes_[own] @ turn
            self.offsets_[component] = offset

    # Transform ------------------------------------------------------------------------------------------

    def _place(self, x: Matrix) -> Placed:
        if _same(x, self.X_fit_):
            return self.embedding_.copy(), np.zeros(len(x))
        return self._joined(x)

    def _joined(self, x: Matrix) -> Placed:
        """Place new points by their distances to the landmarks of the component of the nearest."""
        lists, lengths = self._beside(x)
        paths = self._paths(self.X_fit_)
        width = len(self.X_fit_) if self.landmark_distances_ is None else len(self.landmarks_)
        size = max(1, AT_ONCE // width)
        placed, errors = np.empty((len(x), self.n_components)), np.empty(len(x))
        for start in range(0, len(x), size):
            part = slice(start, start + size)
            along = self._reached(paths, lists[part], lengths[part])
            labels = self.component_labels_[lists[part, 0]]
            placed[part], errors[part] = self._triangulated(along, labels, paths.unit())
        known = lengths[:, 0] == 0
        placed[known], errors[known] = self.embedding_[lists[known, 0]], 0.0
        return placed, errors

    def _beside(self, x: Matrix) -> tuple[Indices, Array]:
        """Return the points that new ones are joined to, and how far they are: infinitely, if not joined."""
        k = self.n_neighbors_
        if self.radius is not None:
            k = int(self.neighborhoods_.sizes.max()) + 1
        k = min(k, len(self.X_fit_))
        found, far = _core.query(self.X_fit_, x, k, "auto", thread_count(self.n_jobs))
        lists, lengths = found.reshape(len(x), k), far.reshape(len(x), k)
        if self.radius is not None:
            lengths[:, 1:][lengths[:, 1:] > self.radius] = np.inf
        if self.component_labels_.any():
            labels = self.component_labels_[lists]
            lengths[labels != labels[:, :1]] = np.inf
        if self.spread_ is not None:
            own = np.nanmean(np.where(np.isfinite(lengths), lengths, np.nan), axis=1, keepdims=True)
            lengths = lengths / np.sqrt(np.where(own > 0, own, 1.0) * self.spread_[lists])
        return lists, lengths

    def _reached(self, paths: _core.Paths, lists: Indices, lengths: Array) -> Array:
        """Return the distances along the graph to all landmarks, in units."""
        table = self.landmark_distances_
        if table is None:
            flat = paths.distances_to_new(
                lists.ravel(), np.ascontiguousarray(lengths).ravel(), lists.shape[1]
            )
            return flat.reshape(len(lists), -1)
        along = np.full((len(self.landmarks_), len(lists)), np.inf)
        for column, far in zip(lists.T, lengths.T / paths.unit(), strict=True):
            np.minimum(along, table[:, column] + far, out=along)
        return np.ascontiguousarray(along.T)

    def _triangulated(self, along: Array, labels: Indices, unit: float) -> Placed:
        placed, errors = np.empty((len(along), self.n_components)), np.empty(len(along))
        where = self.component_labels_[self.landmarks_]
        for component in np.unique(labels):
            rows, own = np.flatnonzero(labels == component), where == component
            far = along[np.ix_(rows, own)]
            placed[rows] = (self.mean_squares_[own] - far**2) @ self.axes_[own] + self.offsets_[component]
            errors[rows] = _mismatch(unit * far, placed[rows], self.embedding_[self.landmarks_[own]])
        return placed, errors

    def _check_shapes(self) -> None:
        super()._check_shapes()
        count, d = len(self.landmarks_), self.n_components
        table = self.landmark_distances_
        shapes = (self.axes_.shape, self.mean_squares_.shape, None if table is None else table.shape)
        expected = ((count, d), (count,), None if table is None else (count, len(self.X_fit_)))
        if shapes != expected or not np.isin(self.landmarks_, np.arange(len(self.X_fit_))).all():
            raise ValueError(f"its landmarks have shapes {shapes}, but there are {expected}")

    def _in_words(self) -> str:
        kind = "conformal Isomap" if self.conformal else "Isomap"
        every = self.landmark_distances_ is None
        return kind if every else f"{kind} from {len(self.landmarks_):,} landmarks"

    def _error_in_words(self, inverse: bool) -> str:
        return super()._error_in_words(inverse) if inverse else "of the distances along the graph to a point"

    def _record(self) -> dict[str, Any]:
        return {
            "n_landmarks": len(self.landmarks_),
            "residual_variance": self.residual_variance_,
            "reconstruction_error": self.reconstruction_error_,
        }


class _Task:
    """The components of one set of data, scaled one by one."""

    def __init__(self, estimator: Isomap, paths: _core.Paths, watch: Progress) -> None:
        self._estimator, self._paths, self._watch = estimator, paths, watch
        self._unit = paths.unit()
        self._labels, self._landmarks = estimator.component_labels_, estimator.landmarks_
        self._d = estimator.n_components
        self.means = np.zeros(len(self._landmarks))
        self.axes = np.zeros((len(self._landmarks), self._d))
        self.trace: list[dict[str, Any]] = []
        self._moments, self._missing, self._scaled = np.zeros(6), 0.0, 0

    def embed(self) -> Array:
        """Return all components, each about its own origin."""
        embedding = np.zeros((len(self._labels), self._d))
        for members in sorted(_members(self._labels), key=len, reverse=True):
            if len(members) > 1:
                embedding[members] = self._component(members)
        return embedding

    def measures(self) -> tuple[float, float]:
        """Return the residual variance and the reconstruction error."""
        count, x, y, xx, yy, xy = self._moments
        if count == 0:
            return 0.0, 0.0
        spread_x, spread_y = xx - x * x / count, yy - y * y / count
        together = xy - x * y / count
        rounding = 1e-14
        flat = (spread_x <= rounding * xx, spread_y <= rounding * yy)
        rho2 = float(all(flat)) if any(flat) else min(1.0, together**2 / (spread_x * spread_y))
        return 1.0 - rho2, self._unit**2 * math.sqrt(max(0.0, self._missing)) / self._scaled

    def _component(self, members: Indices) -> Array:
        if self._estimator.landmark_distances_ is None:
            return self._whole(members)
        return self._from_landmarks(self._estimator.landmark_distances_, members)

    def _whole(self, members: Indices) -> Array:
        """Scale all distances of a component."""
        n = len(members)
        with self._watch.stage("paths"):
            triangle = self._paths.triangle(members, progress=self._watch.progress)
        with self._watch.stage("scaling"):

            def times(v: Array) -> Array:
                self._ask()
                return triangle.squares_times(v)

            scaled = scale(times, lambda: triangle.squares().reshape(n, n), n, self._d)
            moments = np.array(triangle.moments(scaled.coordinates))
        self._note(members, scaled, 2 * moments[6])
        self._moments += moments[:6]
        return self._unit * scaled.coordinates

    def _from_landmarks(self, table: npt.NDArray[np.float32], members: Indices) -> Array:
        """Scale the landmarks of a component, and place its points by them."""
        rows = np.flatnonzero(np.isin(self._landmarks, members))
        with self._watch.stage("scaling"):
            squares = np.square(table[np.ix_(rows, self._landmarks[rows])], dtype=np.float64)
            squares = (squares + squares.T) / 2  # the two ways along a path are rounded differently
            scaled = scale(squares.dot, lambda: squares, len(rows), self._d)
            placed = np.empty((len(members), self._d))
            size = max(1, AT_ONCE // len(rows))
            for start in range(0, len(members), size):
                self._ask()
                part = slice(start, start + size)
                far = table[np.ix_(rows, members[part])]
                placed[part] = scaled.place(np.square(far.T, dtype=np.float64))
            self._compare(table, rows, members, placed, scaled)
        self._note(self._landmarks[rows], scaled, float((squares**2).sum()))
        return self._unit * placed

    def _compare(
        self,
        table: npt.NDArray[np.float32],
        rows: npt.NDArray[Any],
        members: Indices,
        placed: Array,
        scaled: Scaled,
    ) -> None:
        """Add up pairs of a landmark and one of some points."""
        some = slice(None, None, -(-len(members) // LOOKED_AT))
        chosen, shown = members[some], placed[some]
        for row, here in zip(rows, scaled.coordinates, strict=True):
            x, y = table[row, chosen].astype(np.float64), np.linalg.norm(shown - here, axis=1)
            self._moments += [len(x), x.sum(), y.sum(), x @ x, y @ y, x @ y]

    def _note(self, members: Indices, scaled: Scaled, fourth: float) -> None:
        """Keep what places new points, and what the embedding lacks of the inner products, squared."""
        n, own = len(members), np.searchsorted(self._landmarks, members)
        self.means[own] = scaled.means
        self.axes[own] = self._unit * scaled.axes
        sums = scaled.means * n
        whole = (fourth - 2 * (sums @ sums) / n + (sums.sum() / n) ** 2) / 4
        shown = (scaled.coordinates**2).sum(axis=0)
        self._missing += whole - shown @ shown
        self._scaled += n
        values = (self._unit**2 * scaled.eigenvalues).tolist()
        self.trace.append({"eigenvalues": values, "landmarks": n})

    def _ask(self) -> None:
        if self._watch.report("scaling", 0, 0):
            raise _core.Stopped


def _members(labels: Indices) -> list[Indices]:
    """Return the points of every component, in rising order."""
    order = np.argsort(labels, kind="stable").astype(np.uint32)
    return np.split(order, np.cumsum(np.bincount(labels))[:-1])


def _motion(before: Array, after: Array) -> tuple[Array, Array]:
    """Return the turn and the offset that take one set of points to the other, which is a motion of it."""
    from scipy.linalg import svd

    mean = after.mean(axis=0)
    left, _, right = svd((before - before.mean(axis=0)).T @ (after - mean))
    turn: Array = left @ right
    return turn, mean - before.mean(axis=0) @ turn
