"""Limits that a refinement of any embedding must keep.

R_N looks at neighborhoods only. If no embedding of this dimension can show them, R_N falls fastest when distant
parts are pushed over each other. So a step is refused if the nearest points in the embedding, or the distances
within some hundred points, become worse than they were at the start.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ...core.progress import Progress
from ...core.random import stream
from ...metrics.agreement import clean_of
from ...metrics.ranks import measured_ranks
from ..problem import Array, Indices, Problem
from .evidence import Evidence, evidence

__all__ = ["Guard"]

MAX_TRUSTWORTHINESS_LOSS = 0.005
"""Trustworthiness may fall by this much from its value at the start."""

MAX_OVERLAP_GAIN, MAX_DISAGREEMENT_GAIN = 0.005, 0.005
"""Overlap, and the disagreement with shortest paths, may rise by this much."""

NEGLIGIBLE_MOVE, MOVED_SHARE = 0.1, 0.95
"""A step is not examined if this share of the points lies within this part of the usual distance of neighbors from
where they were in the last embedding that was examined."""

N_CENTERS = 500
"""Trustworthiness is that of at most this many points, a random sample."""


@dataclass(frozen=True)
class _Marks:
    trustworthiness: float
    seen: Evidence


@dataclass(frozen=True, eq=False)
class Guard:
    """The state of an embedding at the start, with which later ones are compared."""

    problem: Problem
    start: Array = field(repr=False)

    def is_negligible(self, move: Array) -> bool:
        """Return whether points that move as little as this keep their nearest points."""
        lengths = np.linalg.norm(move.reshape(len(self.problem), -1), axis=1)
        return bool(np.quantile(lengths, MOVED_SHARE) <= NEGLIGIBLE_MOVE * self._spacing)

    def objection(self, embedding: Array) -> str | None:
        """Return what has become worse than at the start, in words, or None if nothing has."""
        before, now = self._before, self._marks(embedding)
        reasons = []
        if now.trustworthiness < before.trustworthiness - MAX_TRUSTWORTHINESS_LOSS:
            reasons.append(f"trustworthiness from {before.trustworthiness:.3f} to {now.trustworthiness:.3f}")
        if now.seen.overlap > before.seen.overlap + MAX_OVERLAP_GAIN:
            reasons.append(f"overlap from {before.seen.overlap:.1%} to {now.seen.overlap:.1%}")
        keeps_lengths = self.problem.objective != "R_C"
        if keeps_lengths and now.seen.disagreement > before.seen.disagreement + MAX_DISAGREEMENT_GAIN:
            shares = (before.seen.disagreement**0.5, now.seen.disagreement**0.5)
            reasons.append(
                "the error of distances within a hundred points from {:.1%} to {:.1%}".format(*shares)
            )
        return " and ".join(reasons) or None

    @cached_property
    def _spacing(self) -> float:
        return self.problem.core.spacing()

    @cached_property
    def _before(self) -> _Marks:
        return self._marks(self.start)

    @cached_property
    def clean(self) -> Problem:
        """The problem on its graph without short circuits."""
        problem = self.problem
        clean = clean_of(problem.checked, problem.neighborhoods, problem.n_components, problem.n_jobs)
        return problem if clean is None else replace(problem, neighborhoods=clean)

    @cached_property
    def _centers(self) -> Indices | None:
        n = len(self.problem)
        if n <= N_CENTERS:
            return None
        return np.sort(stream(0, "guard").choice(n, N_CENTERS, replace=False)).astype(np.uint32)

    def _marks(self, embedding: Array) -> _Marks:
        problem = self.problem
        y = embedding.reshape(len(problem), -1)
        k = min(problem.neighborhoods.typical_size, len(problem) - 1)
        ranks = measured_ranks(problem.points, y, k, centers=self._centers, n_jobs=problem.n_jobs)
        trustworthiness = float(ranks.trustworthiness[-1])
        return _Marks(trustworthiness, evidence(self.clean, y, Progress()))
