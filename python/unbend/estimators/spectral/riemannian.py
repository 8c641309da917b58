"""The estimator of Riemannian manifold learning."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from ...core.memory import Sizes
from ...core.progress import Callback
from ...fit.spectral.riemannian import MAX_BASES, RiemannianSettings
from ...graph.neighbors import DEFAULT_RECALL, SearchMethod
from ..base import estimator
from ..on_graph import GraphEstimator
from ..tables.attributes import ON_GRAPH

__all__ = ["RiemannianLearning"]


@estimator((*ON_GRAPH, "bases_"))
class RiemannianLearning(GraphEstimator):
    """Riemannian manifold learning, RML (Lin & Zha 2008): normal coordinates around a base point.

    Each point keeps its geodesic distance from the base, and the angles between the last edge of its shortest
    path and the other edges there. No eigenvectors are computed and nothing is normalized, so distances keep
    their unit. Errors add up along paths, as those of :class:`GreedyProcrustes` do, and paths of a sparse graph
    are longer than geodesics.

    Normal coordinates are isometric if the surface is flat. On a curved surface only the distances from the
    base are right.

    Examples
    --------
    >>> import unbend as ub
    >>> from scipy.spatial import procrustes
    >>> X, coordinates = ub.datasets.swiss_roll(1000, random_state=0)
    >>> model = ub.RiemannianLearning(n_neighbors=10).fit(X)
    >>> bool(procrustes(coordinates, model.embedding_)[2] < 0.01)
    True
    """

    ALGORITHM = "isomap"

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

    def _settings(self, sizes: Sizes) -> RiemannianSettings:
        return RiemannianSettings()

    def _sized(self, sizes: Sizes) -> Sizes:
        return replace(sizes, landmarks=2 * MAX_BASES)  # Their distances have double precision.
