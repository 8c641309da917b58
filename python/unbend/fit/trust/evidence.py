"""Evidence about an embedding that neighborhoods cannot give: distances within balls, and overlap."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ... import _core
from ...core.progress import Progress
from ...metrics.overlap import OVERLAP_STEPS
from ..problem import Array, Indices, Problem

__all__ = ["Evidence", "evidence"]

N_BALLS, BALL_SIZE, N_SOURCES = 48, 100, 12
"""Balls that are compared, their points, and the points of a ball whose distances to the others are compared."""

N_OVERLAP_CENTERS = 2_000
"""Points whose nearest embedded points are examined."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """How well an embedding agrees with a neighborhood graph beyond single neighborhoods.

    Attributes
    ----------
    disagreement : float
        Mean over balls of the squared error of distances in the embedding, as a share of the squared shortest
        paths on the graph; 0 is perfect.
    overlap : float
        Share of the nearest embedded points that are far apart on the graph; 0 is perfect.
    scale : float
        Factor by which distances in the embedding were multiplied before they were compared.
    centers, errors : ndarray
        The centers of the balls, and the error of each.
    """

    disagreement: float
    overlap: float
    scale: float
    centers: Indices = field(repr=False)
    errors: Array = field(repr=False)

    @property
    def score(self) -> float:
        """Sum of disagreement and overlap."""
        return self.disagreement + self.overlap


def evidence(problem: Problem, embedding: Array, progress: Progress) -> Evidence:
    """Compare an embedding with shortest paths within balls, and examine its overlap, at sampled points."""
    graph, n = problem.neighborhoods.core, len(problem)
    centers, errors, scale = _core.agreement(
        problem.checked,
        embedding,
        graph,
        N_BALLS,
        BALL_SIZE,
        N_SOURCES,
        0,
        problem.threads,
        progress.progress,
    )
    examined = np.arange(0, n, max(1, n // N_OVERLAP_CENTERS), dtype=np.uint32)
    shares = _core.overlap(embedding, graph, OVERLAP_STEPS, examined, problem.threads, progress.progress)
    return Evidence(float(errors.mean()), float(shares.mean()), scale, centers, errors)
