"""Points placed by their distances to points with known coordinates: trilateration by least squares."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..problem import Array
from .pairs import Ends, MeasuredPairs, matching_rows, pairs_to_points

Numbers = npt.NDArray[Any]

__all__ = ["Rays", "errors_of", "place", "placed"]

MAX_ITER, TOL = 100, 1e-10
"""Maximum number of steps, and the length of the last one as a share of the largest distance."""

DAMPING = 1e-12
"""Share of the trace that is added to normal equations, for points whose known points lie on a line."""


def placed(x: Any, pairs: MeasuredPairs, known: Array) -> tuple[Array, Array]:
    """Place points by the rows of a matrix of their distances to the points of `pairs`, which lie at `known`.

    Points whose distances are all those of a fitted point, or that have the distance 0 to one, lie where it does.
    """
    n, count = pairs.n_points, x.shape[0]
    ends, lengths = pairs_to_points(x, n)
    same = matching_rows(ends, lengths, count, pairs)
    rows, columns = ends[lengths == 0][::-1].T
    at_one = np.full(count, -1)
    at_one[rows] = columns  # The first of several.
    same = np.where(same < 0, at_one, same)
    images, errors = known[same], errors_of(pairs, known)[same]
    new = np.flatnonzero(same < 0)
    if len(new):
        used = same[ends[:, 0]] < 0
        rows = np.stack([np.searchsorted(new, ends[used, 0]), ends[used, 1]], axis=1)
        images[new], errors[new] = place(rows, lengths[used], new, known)
    return images, errors


def errors_of(pairs: MeasuredPairs, y: Array) -> Array:
    """Return the root mean square residual of the pairs of each point."""
    residuals = np.linalg.norm(y[pairs.ends[:, 0]] - y[pairs.ends[:, 1]], axis=1) - pairs.distances
    sums = np.bincount(pairs.ends.ravel(), np.repeat(residuals**2, 2), pairs.n_points)
    return np.asarray(np.sqrt(sums / np.maximum(pairs.degrees, 1)))


def place(ends: Ends, distances: Array, names: Ends, known: Array) -> tuple[Array, Array]:
    """Return points with given distances to known points, and the root mean square residual of each.

    The linear equations of squared distances begin. Gauss-Newton steps follow; where one raises the stress, a
    step of majorization takes its place, which never does. `names` are the numbers of the points in errors.

    Examples
    --------
    >>> corners = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]])
    >>> ends = np.array([[0, 0], [0, 1], [0, 2]])
    >>> place(ends, np.array([5.0, 3.0, 4.0]), np.array([0]), corners)[0].round(6).tolist()
    [[4.0, 3.0]]
    """
    d = known.shape[1]
    degrees = np.bincount(ends[:, 0], minlength=len(names))
    if np.any(degrees < d + 1):
        point = int(np.flatnonzero(degrees < d + 1)[0])
        raise ValueError(
            f"point {names[point]} has {degrees[point]} distances to fitted points: at least {d + 1} are needed "
            f"to place it in {d} dimensions"
        )
    rays = Rays(ends[:, 0], known[ends[:, 1]], distances, np.ones(len(ends)), len(names))
    y = rays.linear()
    values = rays.values(y)
    for _ in range(MAX_ITER):
        moved = y + rays.newton(y)
        worse = rays.values(moved) > values
        moved[worse] = (y + rays.majorized(y))[worse]
        largest = float(np.abs(moved - y).max(initial=0.0))
        y, values = moved, rays.values(moved)
        if largest <= TOL * distances.max(initial=0.0):
            break
    return y, np.sqrt(values / degrees)


class Rays:
    """Weighted distances from points to known points."""

    def __init__(self, point: Numbers, known: Array, distances: Array, weights: Array, n: int) -> None:
        self._point, self._known, self._n = point, known, n
        self._distances, self._weights = distances, weights
        total = self._sums(np.ones(len(point)))
        self._total = np.where(total > 0, total, 1.0)

    def values(self, y: Array) -> Array:
        """Return the stress of each point."""
        _, lengths = self._rays(y)
        return self._sums((lengths - self._distances) ** 2)

    def linear(self) -> Array:
        """Return the solution of |p|^2 - 2 p y + |y|^2 = d^2, less its mean over the known points p."""
        squares = (self._known**2).sum(axis=1) - self._distances**2
        means = self._mean(self._known)
        centered = self._known - means[self._point]
        right = 0.5 * (squares - self._mean(squares[:, None])[self._point, 0])
        return means + self._solve(centered, right - (means[self._point] * centered).sum(axis=1))

    def newton(self, y: Array) -> Array:
        """Return the Gauss-Newton step of each point toward its measured distances."""
        units, lengths = self._units(y)
        return self._solve(units, self._distances - lengths)

    def mirrored(self, y: Array) -> Array:
        """Return the reflection of each point in the plane, or line, that fits its known points best."""
        means, d = self._mean(self._known), y.shape[1]
        centered = self._known - means[self._point]
        products = np.stack([self._sums(a * b) for a in centered.T for b in centered.T], axis=1)
        normals = np.linalg.eigh(products.reshape(-1, d, d))[1][:, :, 0]
        mirrored: Array = y - 2 * ((y - means) * normals).sum(axis=1)[:, None] * normals
        return mirrored

    def majorized(self, y: Array) -> Array:
        """Return the step of each point to the mean of the places that its distances determine."""
        units, lengths = self._units(y)
        return self._mean((self._distances - lengths)[:, None] * units)

    def _rays(self, y: Array) -> tuple[Array, Array]:
        rays = y[self._point] - self._known
        return rays, np.sqrt(np.einsum("ij,ij->i", rays, rays))

    def _units(self, y: Array) -> tuple[Array, Array]:
        rays, lengths = self._rays(y)
        return np.divide(rays, lengths[:, None], out=np.zeros_like(rays), where=lengths[:, None] > 0), lengths

    def _solve(self, rows: Array, right: Array) -> Array:
        """Return the least squares solution of each point's equations."""
        d = rows.shape[1]
        products = np.stack([self._sums(a * b) for a in rows.T for b in rows.T], axis=1).reshape(-1, d, d)
        damping = DAMPING * np.trace(products, axis1=1, axis2=2) + np.finfo(float).tiny
        sides = np.stack([self._sums(a * right) for a in rows.T], axis=1)
        solved = np.linalg.solve(products + damping[:, None, None] * np.eye(d), sides[:, :, None])
        return np.asarray(solved[:, :, 0])

    def _mean(self, rows: Array) -> Array:
        return np.stack([self._sums(column) for column in rows.T], axis=1) / self._total[:, None]

    def _sums(self, values: Array) -> Array:
        weighted = np.bincount(self._point, self._weights * values, self._n)
        return np.asarray(weighted, dtype=np.float64)
