"""Charts of neighborhoods: local principal components (Goldberg & Ritov, Lemma 1)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import as_count, as_points, thread_count
from ..core.kinds import as_flag
from ..core.parameters import documented
from ..core.shared_parameters import FUNCTIONS
from .neighbors import Neighborhoods, pointer_of, resolve

__all__ = ["Charts", "charts"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Charts:
    """Tangent of every neighborhood, and the neighborhood in it.

    Attributes
    ----------
    bases : ndarray of shape (n, q, d)
        P_i: the first d principal directions of neighborhood i, one per column. The largest entry of each is
        positive.
    singular_values : ndarray of shape (n, d)
        Singular values of the centered neighborhood, in descending order.
    residual_fraction : ndarray of shape (n,)
        Share of the neighborhood outside its tangent, in [0, 1]; 0 if it is flat.
    indptr : ndarray of shape (n + 1,)
        Start of the chart of each point in `coordinates`.
    coordinates : ndarray of shape (points of all neighborhoods, d)
        Theta_i, neighborhood after neighborhood, in the order (i, its neighbors).

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
        """Return the chart of point `i`: one row for each point of its neighborhood."""
        if not -len(self) <= i < len(self):
            raise IndexError(f"point {i} is out of range: there are {len(self)} points")
        i %= len(self)
        return self.coordinates[self.indptr[i] : self.indptr[i + 1]]


@documented(FUNCTIONS)
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
    """Find the local principal components of every neighborhood.

    Parameters
    ----------
    n_components : int
        Dimension d of the charts, at most q.

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
    with_self = as_flag(include_self, "include_self")
    graph = resolve(x, neighborhoods, n_neighbors, radius, n_jobs)
    bases, coordinates, singular_values, residual = _core.charts(
        x, graph.core, d, with_self, thread_count(n_jobs)
    )
    return Charts(
        bases=bases.reshape(len(x), x.shape[1], d),
        singular_values=singular_values.reshape(len(x), d),
        residual_fraction=residual,
        indptr=pointer_of(graph.sizes + int(with_self)),
        coordinates=coordinates.reshape(-1, d),
    )
