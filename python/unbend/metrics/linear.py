"""Measures that allow linear maps: of the whole embedding, and of each neighborhood.

The first is the criterion of success of Goldberg, Zakai, Kushnir & Ritov, *The price of normalization*, section 3.
The second is the relaxed measure that Goldberg & Ritov (2009) mention in section 6.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.arrays import Matrix
from ..core.parameters import documented
from ..graph.neighbors import Neighborhoods, resolve
from .sampling import HALF_WIDTH, Array, Centers, NCenters, Sampling, pair
from .table import PARAMETERS, scoring

MAX_ENTRIES = 2**21
"""Number of entries of neighborhoods that are held at a time."""

NEGLIGIBLE = 1e-12
"""A direction with a singular value below this share of the largest has no extent."""


@documented(PARAMETERS)
def affine_error(coordinates: Any, Y: Any) -> float:
    """Return the share of known coordinates that no affine map of an embedding explains, where it is largest.

    In [0, 1], 0 is perfect. It is the largest share of the variance of the coordinates, over all directions,
    that is left after the best affine map of the embedding: 1 minus the square of the smallest canonical
    correlation. Algorithms that normalize their output find an affine image of the truth at best, so this is
    the criterion of their success. Near 1, a dimension was lost. Invariant under invertible affine maps of
    either argument. Directions in which the coordinates have no extent are left out. It is exact to about 1e-12.
    Cost: O(n d^2).

    Parameters
    ----------
    coordinates : array-like of shape (n, p)
        True coordinates of the points.
    Y : array-like of shape (n, d)
        Embedding from any tool, one point per row.

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X, U = ub.datasets.swiss_roll(500, random_state=0)
    >>> ub.metrics.affine_error(U, U @ [[2.0, 1.0], [0.0, 0.1]]) < 1e-20
    True
    >>> round(ub.metrics.affine_error(U, np.c_[U[:, 0], U[:, 0] ** 2]), 1)  # a curve
    1.0
    """
    truth, y = pair(coordinates, Y, ("coordinates", "Y"), narrower=False)
    wanted, given = _whole_basis(truth), _whole_basis(y)
    left = wanted - given @ (given.T @ wanted)
    return min(1.0, float(np.linalg.norm(left, 2)) ** 2) if left.size else 0.0


@scoring(0.003, 0.029)
def linear_residual(
    X: Any,
    Y: Any,
    n_neighbors: int | None = None,
    *,
    radius: float | None = None,
    neighborhoods: Neighborhoods | None = None,
    include_self: bool = True,
    per_point: bool = False,
    n_centers: NCenters = None,
    half_width: float = HALF_WIDTH,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> float | Array:
    """Return R_L, the mean share of each neighborhood that no affine map of its image explains.

    In [0, 1], 0 is perfect. It is R_C with any linear map in place of a rotation and a scale, a different one
    for each neighborhood. It is never above M_L and R_C, and never below the lower bound. Invariant under
    rotation, reflection, translation and scaling of X, and under invertible affine maps of Y.

    It sees folds and noise, but no stretching: an embedding that squeezes all neighborhoods nearly flat is
    perfect, as long as it squeezes them linearly. Neighborhoods that coincide in the data but not in the
    embedding are infinite and left out of the mean, which is infinite if none remains.

    It is exact to about 1e-12. Cost: O(m q d) for a neighborhood of m points. Memory: O(n).
    """
    sampling = Sampling(n_centers, half_width, random_state=random_state, n_jobs=n_jobs)
    x, y = pair(X, Y)
    graph = resolve(x, neighborhoods, n_neighbors, radius, n_jobs)
    if len(graph) != len(x):
        raise ValueError(f"X has {len(x)} rows, but neighborhoods are of {len(graph)} points")
    own = bool(include_self)
    return sampling.over_points(len(x), lambda centers: measured_linear(x, y, graph, own, centers), per_point)


def measured_linear(
    x: Matrix, y: Matrix, graph: Neighborhoods, include_self: bool = True, centers: Centers = None
) -> Array:
    """Return R_L of each neighborhood, for arrays that have been checked."""
    points = np.arange(len(graph)) if centers is None else centers.astype(np.intp)
    sizes = np.diff(graph.indptr)[points]
    shares = np.zeros(len(points))
    for size in np.unique(sizes[sizes + include_self > 0]):
        rows = np.flatnonzero(sizes == size)
        count = max(1, MAX_ENTRIES // (int(size + include_self) * x.shape[1]))
        for start in range(0, len(rows), count):
            block = rows[start : start + count]
            members = _members(graph, points[block], int(size), include_self)
            shares[block] = _residual_shares(_centered(x, members), _centered(y, members))
    return shares


def _members(
    graph: Neighborhoods, points: npt.NDArray[np.intp], size: int, include_self: bool
) -> npt.NDArray[np.intp]:
    """Return the members of neighborhoods of one size, by row."""
    members: npt.NDArray[np.intp] = graph.indices[graph.indptr[points][:, None] + np.arange(size)].astype(
        np.intp
    )
    return np.column_stack([points, members]) if include_self else members


def _centered(points: Matrix, members: npt.NDArray[np.intp]) -> Array:
    """Return neighborhoods about their means, in units of their largest entries; 0 where they coincide."""
    gathered = points[members].astype(np.float64)
    largest = np.abs(gathered).max(axis=(1, 2), keepdims=True)
    gathered /= np.where(largest > 0, largest, 1.0)
    equal = (gathered == gathered[:, :1]).all(axis=(1, 2))
    gathered -= gathered.mean(axis=1, keepdims=True)
    gathered[equal] = 0.0
    widest = np.abs(gathered).max(axis=(1, 2), keepdims=True)
    return np.asarray(gathered / np.where(widest > 0, widest, 1.0))


def _residual_shares(x: Array, y: Array) -> Array:
    """Return the share of each centered neighborhood outside the columns of its image."""
    basis, lengths, _ = np.linalg.svd(y, full_matrices=False)
    basis *= (lengths > NEGLIGIBLE * lengths[:, :1])[:, None]
    left = x - basis @ (basis.transpose(0, 2, 1) @ x)
    whole = (x**2).sum(axis=(1, 2))
    shares = (left**2).sum(axis=(1, 2)) / np.where(whole > 0, whole, 1.0)
    return np.where((whole == 0) & (lengths[:, 0] > 0), np.inf, np.minimum(shares, 1.0))


def _whole_basis(points: Matrix) -> Array:
    """Return an orthonormal basis of the centered columns of all points."""
    (centered,) = _centered(points, np.arange(len(points))[None])
    basis, lengths, _ = np.linalg.svd(centered, full_matrices=False)
    return np.asarray(basis[:, lengths > NEGLIGIBLE * lengths[0]])
