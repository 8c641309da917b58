"""Evidence about an embedding that neighborhoods cannot give: distances within balls, and overlap."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ... import _core
from ...core.progress import Progress
from ...metrics.overlap import OVERLAP_STEPS
from ..problem import Array, Indices, Problem

__all__ = ["Evidence", "evidence"]

N_BALLS, N_WORST, BALL_SIZE, N_SOURCES = 48, 16, 100, 12
"""Balls around random points and around the worst, the points of a ball, and those of them that are compared with
all others."""

LEAST_COMPONENT = 0.05
"""A connected component with a smaller share of the points does not decide about the whole."""

TORN_ERROR, TORN_WEIGHT = 0.3, 0.1
"""A ball with a larger error is torn; the share of torn balls among the worst counts with this weight."""

N_OVERLAP_CENTERS = 2_000
"""Points whose nearest embedded points are examined."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """How well an embedding agrees with a neighborhood graph beyond single neighborhoods.

    Attributes
    ----------
    disagreement : float
        Mean over balls of the squared error of distances in the embedding, as a share of the squared shortest
        paths on the graph; 0 is perfect. Of several connected components, that of the worst.
    overlap : float
        Share of the nearest embedded points that are far apart on the graph; 0 is perfect. Of several
        connected components, that of the worst.
    scale : float
        Factor by which distances in the embedding were multiplied before they were compared.
    torn : float
        Share of the balls around the worst points whose error is above 0.3.
    centers, errors : ndarray
        The centers of the balls, and the error of each: those around random points, then the worst.
    """

    disagreement: float
    overlap: float
    scale: float
    torn: float
    centers: Indices = field(repr=False)
    errors: Array = field(repr=False)

    @property
    def score(self) -> float:
        """Sum of disagreement, overlap, and a tenth of the share that is torn."""
        return self.disagreement + self.overlap + TORN_WEIGHT * self.torn


def evidence(problem: Problem, embedding: Array, progress: Progress) -> Evidence:
    """Compare an embedding with shortest paths within balls, and examine its overlap, at sampled points."""
    graph, n = problem.neighborhoods.core, len(problem)
    if problem.component_labels.any():  # Components lie on each other until they are laid out.
        flat = _core.lay_out(embedding, problem.component_labels)
        embedding = flat.reshape(embedding.shape)
    with progress.stage("evidence"):
        centers, errors, n_random, scale = _core.agreement(
            problem.checked,
            embedding,
            graph,
            N_BALLS,
            N_WORST,
            BALL_SIZE,
            N_SOURCES,
            0,
            problem.threads,
            progress.progress,
        )
        examined = np.arange(0, n, max(1, n // N_OVERLAP_CENTERS), dtype=np.uint32)
        shares = _core.overlap(embedding, graph, OVERLAP_STEPS, examined, problem.threads)
    torn = float((errors[n_random:] > TORN_ERROR).mean()) if n_random < len(errors) else 0.0
    labels = problem.component_labels
    disagreement = _worst_mean(errors[:n_random], labels[centers[:n_random]], labels)
    return Evidence(disagreement, _worst_mean(shares, labels[examined], labels), scale, torn, centers, errors)


def _worst_mean(values: Array, own: Indices, labels: Indices) -> float:
    """Return the largest mean over components that matter; `own` is the component of each value.

    Examples
    --------
    >>> import numpy as np
    >>> own = np.array([0, 0, 1, 2])
    >>> _worst_mean(np.array([0.0, 0.2, 0.3, 0.9]), own, np.repeat([0, 1, 2], [60, 39, 1]))
    0.3
    """
    if not labels.any():
        return float(values.mean())
    shares = np.bincount(labels) / len(labels)
    means = [float(values[own == c].mean()) for c in np.unique(own) if shares[c] >= LEAST_COMPONENT]
    return max(means, default=float(values.mean()))
