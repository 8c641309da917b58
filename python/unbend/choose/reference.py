"""Cleaned graphs with which all embeddings of a sweep are compared, so that their scores are comparable."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _core
from ..core.arrays import Matrix
from ..core.progress import Progress
from ..fit.problem import Array, Problem
from ..fit.trust.evidence import Evidence, evidence
from ..graph.clean import clean
from ..graph.neighbors import DEFAULT_NEIGHBORS

__all__ = ["Reference", "combined"]

SMOOTHINGS = (0, DEFAULT_NEIGHBORS, 2 * DEFAULT_NEIGHBORS)
"""The graphs are those of the points as they are, and moved to planes of this many neighbors. Under noise, the
first has short circuits that look like the surface; where the surface bends, the last is wrong."""

LEAST_SCORE = 1e-6
"""Smaller scores are rounding."""


@dataclass(frozen=True, eq=False)
class Reference:
    """The cleaned graphs of the data for one dimension."""

    problems: tuple[Problem, ...] = field(repr=False)

    @classmethod
    def of(cls, x: Matrix, d: int, n_jobs: int | None) -> Reference:
        """Return the graphs of the points `x`, without short circuits between sheets of dimension `d`."""
        most = len(x) - 1
        k = min(DEFAULT_NEIGHBORS, most)
        graphs = [clean(x, d, k, smoothing=min(wide, most), n_jobs=n_jobs) for wide in SMOOTHINGS]
        problems = [Problem(_core.Points(g.points), g.neighborhoods, d, n_jobs=n_jobs) for g in graphs]
        return cls(tuple(problems))

    def evidence(self, embedding: Any) -> list[Evidence]:
        """Return how well an embedding agrees with each graph."""
        y: Array = np.ascontiguousarray(embedding, dtype=np.float64)
        return [evidence(problem, y, Progress()) for problem in self.problems]


def combined(seen: list[Evidence]) -> float:
    """Return one score for all graphs: the geometric mean, so that no graph that is wrong decides alone."""
    scores = [max(e.score, LEAST_SCORE) for e in seen]
    return float(np.exp(np.mean(np.log(scores))))
