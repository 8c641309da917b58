"""The estimator of Procrustes subspaces alignment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from ..core import memory
from ..core.memory import Sizes
from ..core.progress import Callback, Progress
from ..core.random import RandomState
from ..fit.problem import Objective, Problem
from ..fit.procrustes.alignment import AlignedEmbedding, AlignmentSettings, Method, warn_if_not_flat
from ..fit.trust.run import judged
from ..graph.neighbors import DEFAULT_RECALL, Neighborhoods, SearchMethod
from ..partition.embed import within
from ..partition.run import USUAL_POINTS
from .base import estimator
from .on_graph import ProcrustesEstimator
from .tables.attributes import PROCRUSTES

__all__ = ["ProcrustesAlignment"]


@estimator((*PROCRUSTES, "loops_", "alignment_"), scopes=("procrustes",))
class ProcrustesAlignment(ProcrustesEstimator):
    """Procrustes subspaces alignment (Goldberg & Ritov 2009, sections 4.2-4.3): all neighborhoods at once.

    Finds the tangent of every neighborhood, rotates the tangents so that those of neighbors agree (eq. 9), and
    then finds the embedding that shows every neighborhood as its tangent does (eq. 11). Errors are not passed
    from one neighborhood to the next, as they are in greedy Procrustes.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> psa = ub.ProcrustesAlignment(n_components=2, n_neighbors=12).fit(X)
    >>> psa.faithfulness_.r_n < 1.01 * psa.faithfulness_.lower_bound
    True

    With ``metric="precomputed"`` there are only distances. If those within neighborhoods are not all measured,
    charts are too small to be aligned one by one, so the first frames are those of the embedding with the least
    stress, as :class:`GraphScaling` finds it, and `alignment_` is "guess".
    """

    ALGORITHM = "alignment"
    SETTINGS = AlignmentSettings

    def __init__(
        self,
        n_components: int = 2,
        n_neighbors: int | None = None,
        *,
        metric: Literal["euclidean", "precomputed"] = "euclidean",
        alignment: Method = "tree",
        annealing: dict[str, Any] | None = None,
        overlap_penalty: float = 1.0,
        tangent_neighbors: int | None = None,
        solve_tol: float = 2e-5,
        refine: Literal["auto", "global", "pointwise", "paper"] | None = "auto",
        objective: Objective = "R_N",
        refine_max_iter: int = 60,
        refine_tol: float = 1e-3,
        neighbors_method: SearchMethod = "auto",
        neighbors_recall: float = DEFAULT_RECALL,
        cut: Literal["auto"] | bool = "auto",
        candidates: Literal["auto"] | bool = "auto",
        partition: int | Literal["auto"] | None = None,
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
        if self.alignment in ("auto", "projection") or self.partition is not None:
            name = "alignment" if self.partition is None else "partition"
            self._check_points(name, getattr(self, name))
        if self.partition is not None and self.cut is True:
            raise ValueError("cut = True is not possible in cells: set partition = None")

    def _neighbor_count(self, n: int, given: Neighborhoods | None) -> int:
        if given is not None and self.partition is not None:
            raise ValueError("cells search their own neighbors: pass no neighborhoods, or partition = None")
        return super()._neighbor_count(n, given)

    def _run(self, settings: Any, problem: Problem, sizes: Sizes, progress: Progress) -> AlignedEmbedding:
        if sizes.points_per_cell is None:
            found: Any = super()._run(settings, problem, sizes, progress)
        else:
            found = within(problem, sizes.points_per_cell, progress, self.get_params(deep=False))
            found = judged(found, problem, progress)
        if found.orientable is False or not found.verdict.trusted:
            warn_if_not_flat(found)
        return found  # type: ignore[no-any-return]

    def _sized(self, sizes: Sizes) -> Sizes:
        """Return the sizes of a fit, with the points of a cell if there are cells."""
        sizes, points = super()._sized(sizes), self.partition
        if points == "auto":
            allowed, needed = memory.allowed(self.max_memory), memory.peak(self.ALGORITHM, sizes)
            points = None if allowed is None or needed <= allowed else min(USUAL_POINTS, sizes.n)
        elif points is not None and points >= sizes.n:
            points = None
        return replace(sizes, points_per_cell=points)
