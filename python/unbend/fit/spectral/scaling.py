"""Classical scaling (Torgerson 1952): coordinates of points from their squared distances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from scipy.spatial.distance import cdist

from ...core.arrays import Matrix

__all__ = [
    "NEGLIGIBLE_EIGENVALUE",
    "Scaled",
    "check_landmarks",
    "draw_landmarks",
    "mismatch",
    "scale",
    "signed",
]

Array = npt.NDArray[np.float64]

MAX_DENSE_POINTS = 300
"""Up to this number of points all eigenvalues are computed; above it, only the largest."""

NEGLIGIBLE_EIGENVALUE = 1e-7
"""An eigenvalue below this share of the largest counts as 0: distances may have single precision."""


@dataclass(frozen=True)
class Scaled:
    """Coordinates of points from their distances, and the map that places other points.

    Attributes
    ----------
    eigenvalues : ndarray
        Eigenvalues of -1/2 H D^2 H in decreasing order: all of them for few points, else the largest d and,
        if requested, the lowest.
    coordinates : ndarray of shape (n, d)
        Coordinates of the points.
    means : ndarray of shape (n,)
        Mean squared distance from each point.
    axes : ndarray of shape (n, d)
        Map from the means minus the squared distances of a point to its coordinates (Gower 1968). De Silva
        & Tenenbaum (2004) call it distance-based triangulation.
    """

    eigenvalues: Array
    coordinates: Array
    means: Array
    axes: Array

    def place(self, squares: Array) -> Array:
        """Return the coordinates of points from their squared distances to all scaled points, by row."""
        placed: Array = (self.means - squares) @ self.axes
        return placed


def scale(
    times: Callable[[Array], Array], squares: Callable[[], Array], n: int, d: int, negative: bool = False
) -> Scaled:
    """Compute coordinates by classical scaling.

    Parameters
    ----------
    times : callable
        Function that multiplies a vector by the matrix of squared distances.
    squares : callable
        Function that returns that matrix. It is only called for few points.
    n, d : int
        Number of points, and dimension of the embedding.
    negative : bool, default False
        If True, the lowest eigenvalue is computed as well, for any number of points.

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
    if n <= max(MAX_DENSE_POINTS, 3 * d):
        values, vectors = _all_eigenvalues(squares(), means, d)
    else:
        values, vectors = _largest_eigenvalues(times, n, d, negative)
    top = values[: vectors.shape[1]]
    positive = top > NEGLIGIBLE_EIGENVALUE * max(top[0], 0.0)
    roots = np.sqrt(np.where(positive, top, 1.0)) * positive
    coordinates, axes = np.zeros((n, d)), np.zeros((n, d))
    coordinates[:, : len(roots)] = vectors * roots
    axes[:, : len(roots)] = vectors / np.where(positive, 2 * roots, np.inf)
    return Scaled(values, coordinates, means, axes)


def _all_eigenvalues(squares: Array, means: Array, d: int) -> tuple[Array, Array]:
    """Return all eigenvalues, and the eigenvectors of the largest `d`."""
    products = (means[:, None] + means - squares - means.mean()) / 2
    values, vectors = eigh(products, overwrite_a=True, check_finite=False)
    return values[::-1].copy(), signed(vectors[:, ::-1][:, :d])


def _largest_eigenvalues(
    times: Callable[[Array], Array], n: int, d: int, negative: bool
) -> tuple[Array, Array]:
    """Return the largest eigenvalues, then the lowest if requested, and the eigenvectors of the largest."""

    def products(v: Array) -> Array:
        squared = times(np.ascontiguousarray(v.ravel() - v.mean()))
        centered: Array = (squared.mean() - squared) / 2
        return centered

    matrix = LinearOperator((n, n), matvec=products, dtype=np.float64)
    start = np.random.default_rng(0).normal(size=n)
    values, vectors = _converged(matrix, d, start)
    order = np.argsort(-values, kind="stable")
    values, vectors = values[order], signed(vectors[:, order])
    if negative:
        lowest = eigsh(matrix, k=1, which="SA", v0=start, tol=1e-3, return_eigenvectors=False)
        values = np.concatenate([values, lowest])
    return values, vectors


def _converged(matrix: LinearOperator, d: int, start: Array) -> tuple[Array, Array]:
    """Return the eigenpairs that converge, and zeros instead of the others."""
    try:
        values, vectors = eigsh(matrix, k=d, which="LA", v0=start, tol=1e-12, ncv=max(4 * d, 24), maxiter=200)
        return values, vectors
    except ArpackNoConvergence as error:
        missing = d - len(error.eigenvalues)
        return np.pad(error.eigenvalues, (0, missing)), np.pad(error.eigenvectors, ((0, 0), (0, missing)))


def signed(vectors: Array) -> Array:
    """Return the vectors, one per column, with their largest entries made positive in place."""
    largest = np.abs(vectors).argmax(axis=0)
    vectors *= np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
    return vectors


# Landmarks -----------------------------------------------------------------------------------------------


def draw_landmarks(members: npt.NDArray[Any], count: int, rng: np.random.Generator) -> npt.NDArray[np.uint32]:
    """Return a random sample of `count` members in rising order, or all members if there are no more."""
    chosen = members if count >= len(members) else rng.choice(members, size=count, replace=False)
    return np.sort(chosen).astype(np.uint32)


def check_landmarks(n_landmarks: int | None, d: int) -> None:
    """Refuse a number of landmarks that is too small for an embedding in `d` dimensions."""
    if n_landmarks is not None and n_landmarks <= d:
        raise ValueError(
            f"n_landmarks = {n_landmarks} is too few for n_components = {d}: at least {d + 1} are needed"
        )


def mismatch(distances: Matrix, placed: Array, landmarks: Array) -> Array:
    """Return, for each placed point, the root mean square error of its distances to the landmarks.

    Examples
    --------
    >>> import numpy as np
    >>> mismatch(np.array([[1.0, 3.0]]), np.array([[0.0]]), np.array([[1.0], [2.0]])).round(3).tolist()
    [0.707]
    """
    return np.asarray(np.sqrt(np.mean((distances - cdist(placed, landmarks)) ** 2, axis=1)))
