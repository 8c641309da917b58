"""Classical scaling (Torgerson 1952) of points or distances, with or without landmarks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ... import _core
from ...core import memory
from ...core.arrays import Matrix, check_finite
from ...core.caller import warn
from ...core.progress import Callback, Progress
from ...core.random import RandomState, stream
from ...fit.spectral.scaling import NEGLIGIBLE_EIGENVALUE, check_landmarks, draw_landmarks, mismatch, scale
from ..base import Array, Placed, estimator
from ..tables.attributes import LINEAR
from .base import LinearEstimator, project, slices
from .pca import principal_axes

__all__ = ["ClassicalScaling", "NotEuclideanWarning"]

Landmarks = npt.NDArray[np.uint32]

MAX_ASYMMETRY = 1e-6
"""Maximum difference between the distances from a to b and back, as a share of the largest distance."""


class NotEuclideanWarning(UserWarning):
    """No points have the given distances, not even approximately.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np, unbend as ub
    >>> around = np.abs(np.subtract.outer(np.arange(60), np.arange(60)))
    >>> circle = np.minimum(around, 60 - around).astype(float)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = ub.ClassicalScaling(n_components=10, metric="precomputed").fit(circle)
    >>> caught[0].category is ub.NotEuclideanWarning
    True
    """


@estimator((*LINEAR, "eigenvalues_", "landmarks_", "components_", "means_"))
class ClassicalScaling(LinearEstimator):
    """Classical scaling (Torgerson 1952): points with given distances, as nearly as possible.

    The matrix of squared distances is doubly centered, -1/2 H D^2 H. If the distances are Euclidean, these
    are inner products. The largest eigenvalues and their eigenvectors give the coordinates. For Euclidean
    distances of points this is :class:`PCA`, and it is computed as such, without an n x n matrix.

    With landmarks (de Silva & Tenenbaum 2004), only a sample of the points is scaled, and the others are
    placed by their distances to it. This loses nothing if the distances are Euclidean in d dimensions.

    `transform` places new points among the scaled ones (Gower 1968). For points, `return_error` and
    `inverse_transform` are as in :class:`PCA`. With metric="precomputed", `transform` takes the distances
    to all fitted points, in their order; its error is the root mean square difference between the distances
    to the landmarks and those in the embedding, and `inverse_transform` raises a ValueError.

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
        self._keep(locals())

    def _check(self) -> None:
        super()._check()
        check_landmarks(self.n_landmarks, self.n_components)

    def _check_size(self, n: int, q: int) -> None:
        if self.metric == "euclidean":
            super()._check_size(n, q)
        elif n != q:
            raise ValueError(f"distances must be square, got shape ({n}, {q})")
        elif self.n_components > n:
            raise ValueError(f"n_components = {self.n_components} needs as many points, got n_samples = {n}")

    def _validated(self, X: Any, reset: bool, finite: bool = False) -> Matrix:
        return super()._validated(X, reset, finite or self.metric == "precomputed")

    def _run(self, x: Matrix, progress: Progress) -> ScaledData:
        rng = stream(self.random_state, "landmarks")
        landmarks = draw_landmarks(np.arange(len(x)), self.n_landmarks or len(x), rng)
        run = scale_points if self.metric == "euclidean" else scale_distances
        return run(x, landmarks, self.n_components, progress)

    def _mean(self) -> Array | float:
        mean: Array = self.means_
        return mean

    def _map(self, x: Matrix) -> Array:
        if self.metric == "euclidean":
            return super()._map(x)
        return triangulate(x, self.landmarks_, self.means_, self.components_)

    def _map_back(self, y: Array) -> Array:
        if self.metric == "precomputed":
            raise ValueError('inverse_transform needs points: with metric="precomputed" there are none')
        return super()._map_back(y)

    def _place(self, x: Matrix) -> Placed:
        if self.metric == "euclidean":
            return super()._place(x)
        check_finite(x)
        placed, there = self._map(x), self.embedding_[self.landmarks_]
        parts = slices(len(x), len(there))
        return placed, np.concatenate([mismatch(x[p][:, self.landmarks_], placed[p], there) for p in parts])

    def _n_map_inputs(self) -> int:
        return super()._n_map_inputs() if self.metric == "euclidean" else len(self.landmarks_)

    def _estimate(self, n: int, q: int, itemsize: int) -> int:
        algorithm = "linear" if self.metric == "euclidean" else "scaling"
        return memory.peak(algorithm, memory.Sizes(n, q, self.n_components, landmarks=self.n_landmarks))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = tags.input_tags.positive_only = self.metric == "precomputed"
        return tags


@dataclass(frozen=True)
class ScaledData:
    """Result of classical scaling; the fields are the attributes of :class:`ClassicalScaling`."""

    landmarks: Landmarks
    eigenvalues: Array
    means: Array
    components: Array
    embedding: Array


def scale_points(x: Matrix, landmarks: Landmarks, d: int, progress: Progress) -> ScaledData:
    """Scale the Euclidean distances of landmarks by their principal axes, and project all points on these."""
    axes = principal_axes(x if len(landmarks) == len(x) else x[landmarks], progress)
    components = axes.directions[:d].copy()
    with progress.stage("projection", len(x)):
        embedding = project(x, components, axes.mean)
    return ScaledData(landmarks, axes.singular_values**2, axes.mean, components, embedding)


def scale_distances(x: Matrix, landmarks: Landmarks, d: int, progress: Progress) -> ScaledData:
    """Scale the distances between landmarks, and place all points by their distances to them."""
    check_distances(x)
    every = len(landmarks) == len(x)
    distances = x if every else x[np.ix_(landmarks, landmarks)]

    def times(v: Array) -> Array:
        if progress.report("scaling", 0, 0):
            raise _core.Stopped
        parts = slices(*distances.shape)
        return np.concatenate([np.square(distances[p], dtype=np.float64) @ v for p in parts])

    with progress.stage("scaling", len(x)):
        scaled = scale(
            times, partial(np.square, distances, dtype=np.float64), len(distances), d, negative=True
        )
        components = np.ascontiguousarray(scaled.axes.T)
        embedding = scaled.coordinates if every else triangulate(x, landmarks, scaled.means, components)
    _warn_if_not_euclidean(scaled.eigenvalues, d)
    return ScaledData(landmarks, scaled.eigenvalues, scaled.means, components, embedding)


def _warn_if_not_euclidean(eigenvalues: Array, d: int) -> None:
    largest, smallest, lowest = eigenvalues[[0, d - 1, -1]]
    if -lowest >= max(smallest, NEGLIGIBLE_EIGENVALUE * largest) > 0:
        warn(
            f"the distances are not Euclidean: the lowest eigenvalue is {lowest:.3g}, in size more than the "
            f"smallest of the {d} used, {smallest:.3g}; the largest is {largest:.3g}",
            NotEuclideanWarning,
        )


def triangulate(x: Matrix, landmarks: Landmarks, means: Array, components: Array) -> Array:
    """Return the coordinates of points from their distances, block by block."""
    squares = (np.square(x[part][:, landmarks], dtype=np.float64) for part in slices(len(x), len(landmarks)))
    return np.concatenate([(means - block) @ components.T for block in squares])


def check_distances(x: Matrix) -> None:
    """Refuse a matrix that holds no distances, checking it block by block."""
    allowed = MAX_ASYMMETRY * float(np.max(x))
    for part in slices(*x.shape):
        block, other = x[part], x[:, part].T
        if np.any(block < 0):
            row, column = np.argwhere(np.less(block, 0))[0]
            where = f"{block[row, column]:g} at row {part.start + row}, column {column}"
            raise ValueError(f"Negative values in data: {where} is no distance")
        asymmetric = np.abs(block - other) > allowed
        if asymmetric.any():
            row, column = np.argwhere(asymmetric)[0]
            raise ValueError(
                f"distances are not symmetric: {block[row, column]:g} from {part.start + row} to {column}, "
                f"{other[row, column]:g} back"
            )
    diagonal = np.asarray(np.diagonal(x), dtype=np.float64)
    if diagonal.max() > allowed:
        point = int(diagonal.argmax())
        raise ValueError(f"the distance of point {point} to itself is {diagonal[point]:g}: it must be 0")
