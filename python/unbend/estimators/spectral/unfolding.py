"""The estimator of maximum variance unfolding."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from ...core.memory import Sizes
from ...core.progress import Callback
from ...core.random import RandomState
from ...fit.spectral.scaling import check_landmarks
from ...fit.spectral.unfolding import MAX_POINTS, UnfoldingSettings, load_solver
from ...graph.neighbors import DEFAULT_RECALL, Neighborhoods, SearchMethod
from ..base import estimator
from ..on_graph import GraphEstimator
from ..tables.attributes import ON_GRAPH

__all__ = ["MaximumVarianceUnfolding"]


@estimator((*ON_GRAPH, "eigenvalues_", "landmarks_"))
class MaximumVarianceUnfolding(GraphEstimator):
    """Maximum variance unfolding, also semidefinite embedding (Weinberger & Saul 2006), of up to 2,000 points.

    It finds the point set with the largest variance in which no two members of a neighborhood are farther apart
    than in the data, and keeps its widest coordinates. This pulls folds apart, as far as the graph allows, and
    keeps the unit of the data. It is a semidefinite program, which the package Clarabel solves:
    ``pip install unbend[mvu]``.

    All points are reproduced from landmarks (Weinberger, Packer & Saul 2005), which loses detail between
    them; :func:`unbend.refine` brings it back. If there are no more points than landmarks, this is the solution
    of the program, to about 1e-4 of its variance; squared distances may exceed those of the data by 1e-3 of their
    mean. `eigenvalues_` tells how many dimensions the unfolding has. The paper asks for equal distances; here
    they may shrink as well.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(600, random_state=0)
    >>> model = ub.MaximumVarianceUnfolding(n_neighbors=6, random_state=0)
    >>> embedding = model.fit_transform(X)  # doctest: +SKIP
    """

    ALGORITHM = "isomap"

    def __init__(
        self,
        n_components: int = 2,
        n_neighbors: int | None = None,
        *,
        n_landmarks: int | None = None,
        neighbors_method: SearchMethod = "auto",
        neighbors_recall: float = DEFAULT_RECALL,
        disconnected: Literal["separate", "error"] = "separate",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
        max_memory: float | None = None,
    ) -> None:
        self._keep(locals())

    def _check(self) -> None:
        super()._check()
        check_landmarks(self.n_landmarks, self.n_components)

    def _settings(self, sizes: Sizes) -> UnfoldingSettings:
        load_solver()  # Its absence is found before any work.
        return UnfoldingSettings(self.n_landmarks, self.random_state)

    def _sized(self, sizes: Sizes) -> Sizes:
        return replace(sizes, landmarks=None)  # All pairs of points, as Isomap has them.

    def _neighbor_count(self, n: int, given: Neighborhoods | None) -> int:
        if n > MAX_POINTS:
            raise ValueError(
                f"n_samples = {n:,} is too many for maximum variance unfolding: fit at most {MAX_POINTS:,} "
                "points, and place the others by transform"
            )
        return super()._neighbor_count(n, given)
