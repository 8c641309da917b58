"""Evidence about an embedding that neighborhoods cannot give: distances within balls, and overlap."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ... import _core
from ...core.progress import Progress
from ...metrics.agreement import BALLS, Agreement, worst_mean
from ...metrics.overlap import OVERLAP_STEPS
from ..problem import Array, Indices, Problem

__all__ = ["GEODESIC", "REFINED_GEODESIC", "SMOOTHED_SCORE", "TRUSTED_SCORE", "Evidence", "evidence"]

GEODESIC = "geodesic distances"
"""Name of the candidate that keeps the large distances only."""

REFINED_GEODESIC = "geodesic distances, refined"
"""Name of the candidate that begins with large distances and then fits all neighborhoods."""

TRUSTED_SCORE = 0.05
"""An embedding with a larger score is not trusted, and geodesic distances are tried if none has less."""

SMOOTHED_SCORE = 0.03
"""The same for smoothed points. Smoothing removes noise, so right embeddings have less; it can also remove a loop
of the surface, and the rest then nearly fits."""

TORN_WEIGHT = 0.1
"""Weight of the share of torn balls among the worst in the score."""

N_OVERLAP_CENTERS = 2_000
"""Points whose nearest embedded points are examined."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Agreement of an embedding with a neighborhood graph beyond single neighborhoods.

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
    n, labels, near = len(problem), problem.neighborhoods.component_labels, problem.renumbered
    if labels.any():  # Components lie on each other until they are laid out.
        flat = _core.lay_out(embedding, labels)
        embedding = flat.reshape(embedding.shape)
    with progress.stage("evidence"):
        examined = np.arange(0, n, max(1, n // N_OVERLAP_CENTERS), dtype=np.uint32)
        centers, errors, n_random, scale, shares = _core.evidence(
            near.source,
            near.arranged(embedding),
            near.neighborhoods.core,
            *BALLS,
            0,
            OVERLAP_STEPS,
            examined,
            problem.threads,
            lambda _, done, total: progress.report("evidence", done, total),  # It searches neighbors, too.
        )
    centers, examined = near.original(centers), near.original(examined)
    found = Agreement(centers, errors, n_random, scale)
    disagreement = worst_mean(found.random_errors, labels[centers[:n_random]], labels)
    overlap = worst_mean(shares, labels[examined], labels)
    return Evidence(disagreement, overlap, found.scale, found.torn, centers, errors)
