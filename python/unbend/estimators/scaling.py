"""Classical scaling (Torgerson 1952): points whose distances are given, all of them or from landmarks."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..core import memory
from ..core.arrays import Matrix, as_count, check_finite
from ..core.progress import Callback, Progress
from ..core.random import RandomState, stream
from .base import Array, Placed, check_choice
from .linear import AT_ONCE, _Linear, axes_plan, principal_axes, project

__all__ = ["ClassicalScaling", "NotEuclideanWarning"]

METRICS = ("euclidean", "precomputed")

DENSE = 300
"""Up to so many points the whole spectrum is found."""

NEGLIGIBLE = 1e-7
"""An eigenvalue below this share of the largest is as good as none: distances may be of single precision."""

SYMMETRIC = 1e-6
"""By which share of the largest distance the two directions of a pair may differ."""


class NotEuclideanWarning(UserWarning):
    """No points have the distances that are given, not even nearly.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np, unbend as ub
    >>> around = np.abs(np.subtract.outer(np.arange(60), np.arange(60)))
    >>> circle = np.minimum(around, 60 - around).astype(float)
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     _ = ub.ClassicalScaling(n_components=10, metric="precomputed").fit(circle)
    >>> found[0].category is ub.NotEuclideanWarning
    True
    """


@dataclass(frozen=True)
class Scaled:
    """Points from their distances, and what places others beside them.

    Attributes
    ----------
    eigenvalues : ndarray
        Of -1/2 H D^2 H, from the largest down: all of few points, else the largest d and the lowest.
    coordinates : ndarray of shape (n, d)
        Of the points.
    means : ndarray of shape (n,)
        The mean squared distance from each.
    axes : ndarray of shape (n, d)
        What turns squared distances from all of them, less the means, into coordinates (Gower 1968; de
        Silva & Tenenbaum 2004 call it distance-based triangulation).
    """

    eigenvalues: Array
    coordinates: Array
    means: Array
    axes: Array

    def place(self, squares: Array) -> Array:
        """Return the coordinates of points with such squared distances to all, one a row."""
        placed: Array = (self.means - squares) @ self.axes
        return placed


def scale(
    times: Callable[[Array], Array], squares: Callable[[], Array], n: int, d: int, negative: bool = False
) -> Scaled:
    """Scale classically.

    Parameters
    ----------
    times : callable
        Multiplies a vector by the matrix of squared distances.
    squares : callable
        Returns that matrix, which is asked for if there are few points.
    n, d : int
        Points, and the dimension of the embedding.
    negative : bool
        Whether to look for the lowest eigenvalue where not all are found.

    Returns
    -------
    Scaled

    Examples
    --------
    >>> import numpy as np
    >>> squares = np.subtract.outer([0.0, 1.0, 3.0], [0.0, 1.0, 3.0]) ** 2
    >>> scaled = scale(squares.dot, lambda: squares, 3, 1)
    >>> np.abs(np.diff(scaled.coordinates[:, 0])).round(6).tolist()
    [1.0, 2.0]
    """
    means = times(np.ones(n)) / n
    if not means.any():
        return Scaled(np.zeros(d), np.zeros((n, d)), means, np.zeros((n, d)))
    if n <= max(DENSE, 3 * d):
        values, vectors = _whole(squares(), means, d)
    else:
        values, vectors = _ends(times, n, d, negative)
    top = values[: vectors.shape[1]]
    kept = top > NEGLIGIBLE * max(top[0], 0.0)
    roots = np.sqrt(np.where(kept, top, 1.0)) * kept
    coordinates, axes = np.zeros((n, d)), np.zeros((n, d))
    coordinates[:, : len(roots)] = vectors * roots
    axes[:, : len(roots)] = vectors / np.where(kept, 2 * roots, np.inf)
    return Scaled(values, coordinates, means, axes)


def _whole(squares: Array, means: Array, d: int) -> tuple[Array, Array]:
    """Return all eigenvalues, and the vectors of the largest."""
    from scipy.linalg import eigh

    products = (means[:, None] + means - squares - means.mean()) / 2
    values, vectors = eigh(products, overwrite_a=True, check_finite=False)
    return values[::-1].copy(), _signed(vectors[:, ::-1][:, :d])


def _ends(times: Callable[[Array], Array], n: int, d: int, negative: bool) -> tuple[Array, Array]:
    """Return the largest eigenvalues and their vectors by Lanczos' method, and the lowest eigenvalue."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    def products(v: Array) -> Array:
        squared = times(np.ascontiguousarray(v.ravel() - v.mean()))
        centred: Array = (squared.mean() - squared) / 2
        return centred

    matrix = LinearOperator((n, n), matvec=products, dtype=np.float64)
    start = np.random.default_rng(0).normal(size=n)
    values, vectors = _converged(eigsh, matrix, d, start)
    order = np.argsort(-values, kind="stable")
    values, vectors = values[order], _signed(vectors[:, order])
    if negative:
        lowest = eigsh(matrix, k=1, which="SA", v0=start, tol=1e-3, return_eigenvectors=False)
        values = np.concatenate([values, lowest])
    return values, vectors


def _converged(eigsh: Any, matrix: Any, d: int, start: Array) -> tuple[Array, Array]:
    """Return what converged: what does not is no larger than what it cannot be told from."""
    from scipy.sparse.linalg import ArpackNoConvergence

    try:
        values, vectors = eigsh(matrix, k=d, which="LA", v0=start, tol=1e-12, ncv=max(4 * d, 24), maxiter=200)
        return values, vectors
    except ArpackNoConvergence as error:
        missing = d - len(error.eigenvalues)
        vectors = np.concatenate([error.eigenvectors, np.zeros((len(start), missing))], axis=1)
        return np.concatenate([error.eigenvalues, np.zeros(missing)]), vectors


def _signed(vectors: Array) -> Array:
    """Return vectors whose largest entries are positive."""
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
    return np.asarray(vectors * signs)


def draw_landmarks(members: npt.NDArray[Any], count: int, rng: np.random.Generator) -> npt.NDArray[np.uint32]:
    """Return so many of the members in rising order, or all if there are no more."""
    chosen = members if count >= len(members) else rng.choice(members, size=count, replace=False)
    return np.sort(chosen).astype(np.uint32)


def check_landmarks(n_landmarks: Any, d: int) -> None:
    """Refuse a number of landmarks that spans no embedding."""
    if n_landmarks is not None:
        as_count(n_landmarks, "n_landmarks")
        if n_landmarks <= d:
            raise ValueError(
                f"n_landmarks = {n_landmarks} is too few for n_components = {d}: at least {d + 1} are needed"
            )


class ClassicalScaling(_Linear):
    """Classical scaling (Torgerson 1952): points whose distances are given, as nearly as may be.

    Squared distances are centred twice, -1/2 H D^2 H, which are inner products if the distances are
    Euclidean; its largest eigenvalues and their vectors make the coordinates. Where distances are Euclidean
    and known from points, this is :class:`PCA`, and is computed so: no n x n matrix is ever formed.

    From landmarks (de Silva & Tenenbaum 2004): some points are scaled, all others are placed by their
    distances to these. Where the distances are Euclidean in d dimensions, nothing is lost by that.

    Parameters
    ----------
    n_components : int, default 2
        Dimension d of the embedding.
    metric : {"euclidean", "precomputed"}
        Whether `X` holds points, or the distances between all of them.
    n_landmarks : int, optional
        How many points are scaled, drawn at random; all by default.
    random_state : int, Generator or RandomState, optional
        Where landmarks are drawn from.
    verbose : int, default 0
        1 shows a line for each stage on standard error.
    callback : callable, optional
        Called as ``callback(stage, done, total, best)``. When it returns True the fit stops with
        :class:`unbend.Stopped`.
    max_memory : float, optional
        The bytes that a fit may need; by default what the machine has available.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, d)
        The embedding; a column of zeros where there are fewer positive eigenvalues.
    eigenvalues_ : ndarray
        Of -1/2 H D^2 H, from the largest down. Of Euclidean data all that can be above 0; of up to 300
        distances all; of more the largest d, and last the lowest of all. Negative ones say that no points
        have these distances: where the lowest is larger in size than the least used, that one shows as
        much error as distance, and a :class:`NotEuclideanWarning` says so.
    landmarks_ : ndarray of uint32
        The points that were scaled.
    components_ : ndarray of shape (d, q), or (d, n)
        What turns points, or squared distances to the landmarks, into coordinates.
    means_ : ndarray
        The mean of the landmarks, or the mean squared distance from each of them.
    timings_ : dict of float
        Seconds of every stage.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> from scipy.spatial.distance import cdist
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> Y = ub.ClassicalScaling(n_components=3).fit_transform(X)
    >>> bool(np.allclose(cdist(Y, Y), cdist(X, X)))
    True
    >>> Z = ub.ClassicalScaling(n_components=3, metric="precomputed").fit_transform(cdist(X, X))
    >>> bool(np.allclose(cdist(Z, Z), cdist(X, X)))
    True
    """

    n_components: int
    eigenvalues_: Array
    landmarks_: npt.NDArray[np.uint32]
    means_: Array

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric: Literal["euclidean", "precomputed"] = "euclidean",
        n_landmarks: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        callback: Callback | None = None,
        max_memory: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.metric = metric
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback
        self.max_memory = max_memory

    def transform(self, X: Any, return_error: bool = False) -> Any:
        """Place points beside those that were scaled (Gower 1968).

        Parameters
        ----------
        X : array-like of shape (m, q)
            Points; or, where distances were given, those to all points that were, in their order.
        return_error : bool, default False
            Whether to return as well how far each point is from the plane of the embedding; of distances,
            by how much they differ in root mean square from those to the landmarks in the embedding.

        Returns
        -------
        ndarray of shape (m, d), or a pair of it and an ndarray of shape (m,)
        """
        return super().transform(X, return_error)

    def inverse_transform(self, X: Any, return_error: bool = False) -> Any:
        """Find the points of the plane of the embedding that are shown at points of it.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Points of the embedding.
        return_error : bool, default False
            Whether to return as well how far the image of each point found is from the one asked for.

        Returns
        -------
        ndarray of shape (m, q), or a pair of it and an ndarray of shape (m,)

        Raises
        ------
        ValueError
            If distances were given: there is no space of data then.
        """
        return super().inverse_transform(X, return_error)

    def _validated(self, X: Any, reset: bool, finite: bool = False) -> Matrix:
        return super()._validated(X, reset, finite or self.metric == "precomputed")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.metric, "metric", METRICS)
        check_landmarks(self.n_landmarks, self.n_components)

    def _check_size(self, n: int, q: int) -> None:
        if self.metric == "precomputed" and n != q:
            raise ValueError(f"distances must be square, got shape ({n}, {q})")
        if self.metric == "euclidean":
            super()._check_size(n, q)
        if self.n_components > n:
            raise ValueError(f"n_components = {self.n_components} needs as many points, got n_samples = {n}")

    def _learn(self, x: Matrix, watch: Progress) -> None:
        n = len(x)
        rng = stream(self.random_state, "landmarks")
        self.landmarks_ = draw_landmarks(np.arange(n), self.n_landmarks or n, rng)
        every = len(self.landmarks_) == n
        if self.metric == "euclidean":
            self._scale_points(x, x if every else x[self.landmarks_], watch)
        else:
            _check_distances(x)
            self._scale_distances(x, every, watch)

    def _scale_points(self, x: Matrix, scaled: Matrix, watch: Progress) -> None:
        axes = principal_axes(scaled, watch)
        self.eigenvalues_, self.means_ = axes.lengths**2, axes.mean
        self.components_ = axes.directions[: self.n_components].copy()
        with watch.stage("projection", len(x)):
            self.embedding_ = self._map(x)

    def _scale_distances(self, x: Matrix, every: bool, watch: Progress) -> None:
        chosen = x if every else x[np.ix_(self.landmarks_, self.landmarks_)]
        with watch.stage("scaling", len(x)):
            scaled = scale(
                lambda v: _squares_times(chosen, v, watch),
                lambda: np.square(chosen, dtype=np.float64),
                len(chosen),
                self.n_components,
                negative=True,
            )
            self.eigenvalues_, self.means_ = scaled.eigenvalues, scaled.means
            self.components_ = np.ascontiguousarray(scaled.axes.T)
            self.embedding_ = scaled.coordinates if every else self._map(x)
        self._warn_of_negative()

    def _warn_of_negative(self) -> None:
        least, lowest = self.eigenvalues_[self.n_components - 1], self.eigenvalues_[-1]
        if -lowest >= max(least, NEGLIGIBLE * self.eigenvalues_[0]) > 0:
            used = f"{least:.3g}, of the largest {self.eigenvalues_[0]:.3g}"
            warnings.warn(
                f"the distances are not Euclidean: the lowest eigenvalue is {lowest:.3g}, in size more than "
                f"the least of the {self.n_components} used, {used}",
                NotEuclideanWarning,
                stacklevel=6,
            )

    def _map(self, x: Matrix) -> Array:
        if self.metric == "euclidean":
            return project(x, self.means_, self.components_)
        size = max(1, AT_ONCE // len(self.landmarks_))
        starts = range(0, len(x), size)
        return np.concatenate([self._placed(x[start : start + size]) for start in starts])

    def _placed(self, x: Matrix) -> Array:
        squares = np.square(x[:, self.landmarks_], dtype=np.float64)
        placed: Array = (self.means_ - squares) @ self.components_.T
        return placed

    def _back(self, y: Array) -> Array:
        if self.metric == "precomputed":
            raise ValueError("inverse_transform needs points: where distances are given there are none")
        found: Array = y @ self.components_ + self.means_
        return found

    def _place(self, x: Matrix) -> Placed:
        if self.metric == "euclidean":
            return super()._place(x)
        check_finite(x)
        placed, there = self._map(x), self.embedding_[self.landmarks_]
        return placed, _mismatch(x[:, self.landmarks_], placed, there)

    def _check_shapes(self) -> None:
        columns = self.n_features_in_ if self.metric == "euclidean" else len(self.landmarks_)
        expected = (self.embedding_.shape[1], columns)
        if self.components_.shape != expected:
            raise ValueError(f"its map has shape {self.components_.shape}, but it should have {expected}")

    def _estimate(self, n: int, q: int, itemsize: int) -> memory.LinearPlan:
        d, scaled = as_count(self.n_components, "n_components"), min(self.n_landmarks or n, n)
        if self.metric == "euclidean":
            return axes_plan(n, q, d)
        square = scaled**2 if scaled <= DENSE or scaled < n else memory.LANCZOS_VECTORS * n
        return memory.LinearPlan(n=n, q=scaled, d=d, square=square, copied=AT_ONCE)

    def _in_words(self) -> str:
        every = len(self.landmarks_) == len(self.embedding_)
        return "classical scaling" if every else f"classical scaling of {len(self.landmarks_):,} landmarks"

    def _record(self) -> dict[str, Any]:
        return {"eigenvalues": self.eigenvalues_[: self.n_components].tolist()}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = tags.input_tags.positive_only = self.metric == "precomputed"
        return tags


def _squares_times(x: Matrix, v: Array, watch: Progress) -> Array:
    """Return D^2 v, a block of rows at a time."""
    if watch.report("scaling", 0, 0):
        from .. import _core

        raise _core.Stopped
    size = max(1, AT_ONCE // x.shape[1])
    starts = range(0, len(x), size)
    return np.concatenate([np.square(x[s : s + size], dtype=np.float64) @ v for s in starts])


def _check_distances(x: Matrix) -> None:
    """Refuse what are no distances, a block of rows at a time."""
    size, allowed = max(1, AT_ONCE // len(x)), SYMMETRIC * float(np.max(x))
    for start in range(0, len(x), size):
        block, other = x[start : start + size], x[:, start : start + size].T
        if np.any(block < 0):
            row, column = np.argwhere(np.less(block, 0))[0]
            where = f"{block[row, column]:g} at row {start + row}, column {column}"
            raise ValueError(f"Negative values in data: {where} is no distance")
        apart = np.abs(block - other) > allowed
        if apart.any():
            row, column = np.argwhere(apart)[0]
            raise ValueError(
                f"distances are not symmetric: {block[row, column]:g} from {start + row} to {column}, "
                f"{other[row, column]:g} back"
            )
    diagonal = np.asarray(np.diagonal(x), dtype=np.float64)
    if diagonal.max() > allowed:
        point = int(diagonal.argmax())
        raise ValueError(f"point {point} is {diagonal[point]:g} away from itself: it must be 0")


def _mismatch(distances: Matrix, placed: Array, there: Array) -> Array:
    """Return by how much distances differ from those in the embedding, in root mean square for each row."""
    errors = np.empty(len(placed))
    size = max(1, AT_ONCE // math.prod(there.shape))
    for start in range(0, len(placed), size):
        part = slice(start, start + size)
        shown = np.linalg.norm(placed[part, None] - there, axis=2)
        errors[part] = np.sqrt(np.mean((distances[part] - shown) ** 2, axis=1))
    return errors
