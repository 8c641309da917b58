"""The estimator of Procrustes subspaces alignment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..core import memory
from ..core.arrays import Matrix, check_finite
from ..core.memory import Sizes
from ..core.progress import Callback, Progress
from ..core.random import RandomState
from ..fit.problem import Array, Objective, Problem, check_connected
from ..fit.procrustes.alignment import AlignedEmbedding, AlignmentSettings, Method, warn_if_not_flat
from ..fit.procrustes.conformal import refined_by_r_c, scaled
from ..fit.procrustes.update import updated
from ..fit.trust.run import judged
from ..graph.grown import grown
from ..graph.neighbors import DEFAULT_RECALL, Neighborhoods, SearchMethod
from ..metrics.sampling import sample_weights
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

    The paper aligns tangents by simulated annealing: ``alignment="paper"``. By default frames are carried along
    the tree of greatest agreement, tangents come from as many neighbors as the noise needs, eq. 11 is weighted to
    fit R_N, data that cannot lie flat are cut, and other candidates are tried if the result disagrees with the
    data. On a hemisphere of 2,500 points R_N is 0.018 so, and 0.13 to the letter of the paper.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> psa = ub.ProcrustesAlignment(n_components=2, n_neighbors=12).fit(X)
    >>> psa.faithfulness_.r_n < 1.01 * psa.faithfulness_.lower_bound
    True

    With ``metric="precomputed"`` there are only distances. If those within neighborhoods are not all measured,
    charts are too small to be aligned one by one, so the first frames are those of the embedding with the least
    stress, as :class:`GraphScaling` finds it, and `alignment_` is "guess". With ``objective="R_C"`` it is
    "guess" as well: the first frames are those of conformal Isomap.
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
        include_self: bool = True,
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
        if self.partition is not None and not self.include_self:
            raise ValueError("include_self = False is not possible in cells: set partition = None")
        if self.objective == "R_C":
            self._check_conformal()
        if self.partition is not None and self.cut is True:
            raise ValueError("cut = True is not possible in cells: set partition = None")

    def _check_conformal(self) -> None:
        self._check_points("objective", self.objective)
        alone: Any = {"partition": (None,), "include_self": (True,), "tangent_neighbors": (None,)}
        alone |= {"cut": ("auto", False), "candidates": ("auto", False), "alignment": ("tree",)}
        for name, allowed in alone.items():
            value = getattr(self, name)
            if value not in allowed:
                raise ValueError(
                    f"{name} = {value!r} is not possible with objective = 'R_C': leave {name} out"
                )

    def update(self, X: Any, *, sample_weight: Any = None) -> ProcrustesAlignment:
        """Add new points to the embedding. The old points stay exactly where they are.

        New points among old ones are carried by their neighbors, and others are embedded with the old points
        nearby. Then all attributes are those of all points, the old ones first, and `verdict_` judges the whole.
        It takes a fraction of the time of a fit. Old points do not improve: fit again once the new points say
        more than the old ones. An update that fails changes nothing.

        Parameters
        ----------
        X : array-like of shape (m, q)
            New points.
        sample_weight : array-like of shape (n + m,)
            Weight of the neighborhood of each point, old ones first, in eq. 11 and `faithfulness_`. All count
            equally by default, also after a fit with weights.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the embedding is cut, or of groups, of distances, or of a graph without its short circuits.

        Examples
        --------
        >>> import numpy as np, unbend as ub
        >>> X, _ = ub.datasets.swiss_roll(2000, random_state=0)
        >>> psa = ub.ProcrustesAlignment().fit(X[:1800])
        >>> before = psa.embedding_
        >>> after = psa.update(X[1800:]).embedding_
        >>> after.shape, bool(np.array_equal(after[:1800], before))
        ((2000, 2), True)
        """
        check_is_fitted(self)
        self._check_update()
        new = self._validated(X, reset=False)
        check_finite(new)
        points = np.concatenate([self.X_fit_, new.astype(self.X_fit_.dtype, copy=False)])
        weights = sample_weights(sample_weight, len(points))
        return self._done(points, lambda progress: self._update(points, weights, progress))

    def _check_update(self) -> None:
        """Raise a ValueError if the embedding cannot take new points."""
        if self.metric == "precomputed":
            raise ValueError("update needs points: with metric = 'precomputed' there are distances only")
        n_left_out, d = len(self.short_circuits_) + len(self.outliers_), self.embedding_.shape[1]
        joined = self.component_labels_.max() < self.neighborhoods_.component_labels.max()
        for held, what in (
            (d != self.n_components, f"has {d} columns, but n_components = {self.n_components}"),
            (self.objective == "R_C", "is by R_C, whose scales come from all points"),
            (not self.include_self, "is of neighborhoods without their own point"),
            (getattr(self, "groups_", None) is not None, "is of groups"),
            (len(self.cut_pairs_) > 0, f"has a cut through {len(self.cut_pairs_):,} pairs of neighbors"),
            (n_left_out > 0, f"leaves out {n_left_out:,} short circuits and outliers of its graph"),
            (joined, "joins components by ties"),
        ):
            if held:
                raise ValueError(f"the embedding {what}, so it takes no update: fit all points again")

    def _update(self, points: Matrix, weights: Array | None, progress: Progress) -> None:
        n, q = points.shape
        k = min(self.n_neighbors_, n - 1)
        sizes = Sizes(n, q, self.n_components, k, points.dtype.itemsize)
        sizes = replace(super()._sized(sizes), cut=False, bound=True)
        memory.check(memory.peak(self.ALGORITHM, sizes), self.max_memory)
        settings, checked = self._settings(sizes), _core.Points(points)
        with progress.stage("neighbors", n):
            found = grown(checked, self.neighborhoods_, self.n_jobs, progress.progress)
        graph, nearest = (self._search(checked, k, progress), None) if found is None else found
        problem = Problem(
            checked, graph, int(self.n_components), self.objective, self.n_jobs, weights=weights
        )
        check_connected(problem.component_labels, self.disconnected)
        labels = self.neighborhoods_.component_labels
        y = updated(settings, problem, self.embedding_, labels, nearest, progress)
        embedding = AlignedEmbedding(
            embedding=y,
            trace=self.trace_,
            tangent_neighbors=self.tangent_neighbors_,
            refinement=None,
            n_iter=0,
            cut_pairs=self.cut_pairs_,
            cut=np.zeros(n, dtype=bool),
            seams=self.seams_,
            orientable=self.orientable_,
            alignment=self.alignment_,
            loops=self.loops_,
        )
        embedding = judged(embedding.measured(problem, progress), problem, progress)
        self.X_fit_, self.neighborhoods_, self.component_labels_ = points, graph, graph.component_labels
        self.__dict__.update(embedding.attributes())

    def _check_known(self, known: dict[str, Any], neighborhoods: Neighborhoods | None) -> None:
        name = next(iter(known), None)
        if self.partition is not None and name is not None:
            raise ValueError(f"{name} is not possible in cells: set partition = None")
        if self.objective == "R_C" and name is not None:
            raise ValueError(f"{name} is not possible with objective = 'R_C': leave {name} out")
        super()._check_known(known, neighborhoods)

    def _neighbor_count(self, n: int, given: Neighborhoods | None) -> int:
        if given is not None and self.partition is not None:
            raise ValueError("cells search their own neighbors: pass no neighborhoods, or partition = None")
        return super()._neighbor_count(n, given)

    def _run(self, settings: Any, problem: Problem, sizes: Sizes, progress: Progress) -> AlignedEmbedding:
        found: Any
        if self.objective == "R_C":
            flat = replace(settings, cut=False, candidates=False)
            found = super()._run(flat, scaled(problem, progress), sizes, progress)
            return refined_by_r_c(found, settings, problem, progress)
        if sizes.points_per_cell is None:
            found = super()._run(settings, problem, sizes, progress)
        else:
            found = within(problem, sizes.points_per_cell, progress, self.get_params(deep=False))
            found = judged(found, problem, progress)
        if found.orientable is False or not found.verdict.trusted:
            warn_if_not_flat(found)
        return found  # type: ignore[no-any-return]

    @property
    def _stretches(self) -> bool:
        return bool(self.objective == "R_C")

    def _sized(self, sizes: Sizes) -> Sizes:
        """Return the sizes of a fit, with the points of a cell if there are cells."""
        sizes, points = replace(super()._sized(sizes), conformal=self.objective == "R_C"), self.partition
        if points == "auto":
            allowed, needed = memory.allowed(self.max_memory), memory.peak(self.ALGORITHM, sizes)
            points = None if allowed is None or needed <= allowed else min(USUAL_POINTS, sizes.n)
        elif points is not None and points >= sizes.n:
            points = None
        return replace(sizes, points_per_cell=points)
