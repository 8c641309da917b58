"""The estimator of successive one-dimensional eigenmaps."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from ...core.memory import Sizes
from ...core.progress import Callback
from ...fit.spectral.successive import MAX_NEIGHBORS, SuccessiveSettings
from ...graph.neighbors import DEFAULT_RECALL, SearchMethod
from ..base import estimator
from ..on_graph import GraphEstimator
from ..tables.attributes import ON_GRAPH

__all__ = ["SuccessiveEigenmaps"]


@estimator((*ON_GRAPH, "eigenvalues_"))
class SuccessiveEigenmaps(GraphEstimator):
    """Successive one-dimensional Laplacian eigenmaps (Gerber, Tasdizen & Whitaker 2007).

    On a surface more than twice as long as wide :class:`LaplacianEigenmaps` finds the long direction twice.
    Here the first eigenvector gives one coordinate, the points are moved along the surface until that
    coordinate is the same for all, and the first eigenvector of what is left gives the next coordinate. No
    dimension is lost, but the coordinates are still eigenvectors: they are not in units of the data, and
    crowd toward the ends of the surface.

    Points move by linear fits to their neighbors, so the surface should have no noise and no holes. How they
    move is ours where the paper leaves it open; eigenvectors are exact to about 1e-9.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.strip(800, length=4.0, random_state=0)
    >>> error = ub.metrics.affine_error
    >>> error(coordinates, ub.LaplacianEigenmaps(n_neighbors=8).fit_transform(X)) > 0.9
    True
    >>> error(coordinates, ub.SuccessiveEigenmaps(n_neighbors=8).fit_transform(X)) < 0.2
    True
    """

    ALGORITHM = "laplacian"
    AFFINE = True

    def __init__(
        self,
        n_components: int = 2,
        n_neighbors: int | None = None,
        *,
        neighbors_method: SearchMethod = "auto",
        neighbors_recall: float = DEFAULT_RECALL,
        disconnected: Literal["separate", "error"] = "separate",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
        max_memory: float | None = None,
    ) -> None:
        self._keep(locals())

    def _settings(self, sizes: Sizes) -> SuccessiveSettings:
        return SuccessiveSettings(self.max_memory)

    def _sized(self, sizes: Sizes) -> Sizes:
        return replace(sizes, k=max(sizes.k, min(MAX_NEIGHBORS, sizes.n)))  # The graphs after the first.
