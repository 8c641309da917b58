"""What a neighbourhood looks like: local principal components (Goldberg & Ritov, Lemma 1)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import as_count, as_points, thread_count
from .neighbors import Neighborhoods, resolve

__all__ = ["Charts", "charts"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Charts:
    """The tangent of every neighbourhood and the neighbourhood in it.

    Attributes
    ----------
    bases : ndarray of shape (n, q, d)
        P_i: the first d principal directions of neighbourhood i, one a column. The largest entry of
        each is positive.
    singular_values : ndarray of shape (n, d)
        Of the centred neighbourhood, from the largest down.
    residual_fraction : ndarray of shape (n,)
        The share of the neighbourhood outside its tangent, in [0, 1]; 0 where it is flat.
    indptr : ndarray of shape (n + 1,)
        Where the chart of each point begins in `coordinates`.
    coordinates : ndarray of shape (points of all neighbourhoods, d)
        Theta_i, neighbourhood after neighbourhood, in the order (i, its neighbours).

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(2000, random_state=0)
    >>> bool(ub.charts(X, 2).residual_fraction.mean() < 0.01)  # nearly flat
    True
    """

    bases: Array
    singular_values: Array
    residual_fraction: Array
    indptr: npt.NDArray[np.int64] = field(repr=False)
    coordinates: Array = field(repr=False)

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.bases)

    def __getitem__(self, i: int) -> Array:
        """Return the chart of point `i`: one row for each point of its neighbourhood."""
        if not -len(self) <= i < len(self):
            raise IndexError(f"point {i} is out of range: there are {len(self)} points")
        i %= len(self)
        return self.coordinates[self.indptr[i] : self.indptr[i + 1]]


def charts(
    X: Any,
    n_components: int,
    n_neighbors: int | None = None,
    *,
    radius: float | None = None,
    neighborhoods: Neighborhoods | None = None,
    include_self: bool = True,
    n_jobs: int | None = None,
) -> Charts:
    """Find the local principal components of every neighbourhood.

    Parameters
    ----------
    X : array-like of shape (n, q)
        The data.
    n_components : int
        Dimension d of the charts, at most q.
    n_neighbors, radius, neighborhoods, include_self, n_jobs
        As for :func:`unbend.faithfulness`.

    Returns
    -------
    Charts

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(2000, random_state=0)
    >>> tangents = ub.charts(X, 2, n_neighbors=12)
    >>> tangents.bases.shape, tangents[0].shape
    ((2000, 3, 2), (13, 2))
    """
    x, d = as_points(X), as_count(n_components, "n_components")
    graph = resolve(x, neighborhoods, n_neighbors, radius, n_jobs)
    bases, coordinates, singular_values, residual = _core.charts(
        x, graph._graph, d, bool(include_self), thread_count(n_jobs)
    )
    sizes = graph.sizes + int(bool(include_self))
    return Charts(
        bases=bases.reshape(len(x), x.shape[1], d),
        singular_values=singular_values.reshape(len(x), d),
        residual_fraction=residual,
        indptr=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        coordinates=coordinates.reshape(-1, d),
    )
