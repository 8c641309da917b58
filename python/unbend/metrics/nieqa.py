"""NIEQA, measures for embeddings whose coordinates were normalised: Zhang, Ren & Zhang."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from .. import _core
from ..neighbors import Neighborhoods, resolve
from ..points import thread_count
from .sampling import HALF_WIDTH, Array, Centers, NCenters, pair, sampled

__all__ = ["asim", "nieqa_local"]

Normalization = Literal["centered", "paper"]


def asim(Xi: Any, Yi: Any, *, normalization: Normalization = "centered") -> float:
    """Return the anisotropic scaling independent measure of one set of points (Zhang, Ren & Zhang, eq. 7).

    What is left of `Xi` when `Yi` has been scaled along each of its coordinates, turned and moved to fit it
    best, as a share of the size of `Xi`: in [0, 1], 0 is perfect. Infinite where all of `Xi` coincide and
    `Yi` does not. Invariant under rotation, reflection and translation of `Xi` and its scaling as a whole,
    and under translation and scaling of each column of `Yi`, but not under rotation of `Yi`.

    Cost: O(m q d), and 8 climbs in sweeps of O(d^3) if d > 2. One and two columns have a closed form; for
    more it is the best of the climbs, and a value below 1e-16 says no more than that it is below.

    Parameters
    ----------
    Xi : array-like of shape (m, q)
        Points of the data.
    Yi : array-like of shape (m, d), d <= q
        Their embedding, row for row.
    normalization : {"centered", "paper"}, default "centered"
        Divide by the squared distances of `Xi` to its mean, or to the origin as the paper does. The latter
        changes when the data are moved.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X = np.random.default_rng(0).uniform([-2, -1], [2, 1], size=(100, 2))
    >>> ub.metrics.asim(X, X / X.std(axis=0)) < 1e-20  # normalised
    True
    >>> ub.metrics.asim(X, X**2) > 0.5
    True
    """
    x, y = pair(Xi, Yi, ("Xi", "Yi"))
    _check_normalization(normalization)
    return _core.asim(x, y, normalization, 1)


def nieqa_local(
    X: Any,
    Y: Any,
    n_neighbors: int | None = None,
    *,
    radius: float | None = None,
    neighborhoods: Neighborhoods | None = None,
    include_self: bool = True,
    normalization: Normalization = "centered",
    per_point: bool = False,
    n_centers: NCenters = None,
    half_width: float = HALF_WIDTH,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> float | Array:
    """Return M_L, the local part of NIEQA: the mean of :func:`asim` over neighbourhoods (eq. 18).

    In [0, 1], 0 is perfect. It is never above R_C and, with the default normalization, never below the lower
    bound. Invariant under rotation, reflection, translation and scaling of X, and under translation and
    scaling of each coordinate of Y: made for embeddings whose coordinates are normalised, as those of LLE,
    LTSA or Laplacian eigenmaps.

    Neighbourhoods that coincide in the data but not in the embedding are infinite and left out of the mean,
    which is infinite if none remains.

    Cost: for d <= 2 like that of :func:`procrustes`; more coordinates take 8 climbs in sweeps of O(d^3) in
    every neighbourhood. Memory: O(n).

    Parameters
    ----------
    X : array-like of shape (n, q)
        The data.
    Y : array-like of shape (n, d), d <= q
        Their embedding, from any tool.
    n_neighbors, radius, neighborhoods, include_self, n_centers, half_width, random_state, n_jobs
        As for :func:`faithfulness`.
    normalization : {"centered", "paper"}, default "centered"
        As for :func:`asim`.
    per_point : bool, default False
        Return the value of every neighbourhood instead of their mean.

    Returns
    -------
    float, or ndarray of shape (n,)

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> normalized = coordinates / coordinates.std(axis=0)
    >>> ub.metrics.nieqa_local(X, normalized) < 0.01 < 0.1 < ub.metrics.procrustes(X, normalized)
    True
    """
    x, y = pair(X, Y)
    _check_normalization(normalization)
    graph, threads = resolve(x, neighborhoods, n_neighbors, radius, n_jobs)._graph, thread_count(n_jobs)

    def measure(centers: Centers) -> Array:
        return _core.asim_all(x, y, graph, bool(include_self), normalization, centers, threads)

    _, values = sampled(len(x), n_centers, half_width, random_state, measure, lambda values: [values])
    if per_point:
        return values
    kept = values[np.isfinite(values)]
    return float(kept.mean()) if len(kept) else float("inf")


def _check_normalization(name: Any) -> None:
    if name not in ("centered", "paper"):
        raise ValueError(f"normalization = {name!r} is unknown: use 'centered' or 'paper'")
