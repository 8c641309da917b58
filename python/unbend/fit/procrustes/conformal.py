"""Alignment for maps that keep angles, not lengths: PSA of distances divided by scales, then R_C (eq. 7).

R_C does not determine a map, because many smooth scales have nearly the same R_C. So the scales come from the
density, as in conformal Isomap (de Silva & Tenenbaum 2003): if points are even in the plane, the distance to the
neighbors of a point is its scale. Divided by their scales, neighborhoods are isometric to the plane, and eq. 9 can
align their frames. It cannot do so before: the frames of a conformal map turn where the scale changes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array, triu

from ... import _core
from ...core.arrays import Matrix
from ...core.progress import Progress
from ..problem import Array, Problem
from ..refine import refined
from ..scaling.charts import problem_of
from ..scaling.pairs import Ends, MeasuredPairs
from ..spectral.isomap import IsomapSettings
from ..trust.guard import Guard
from .alignment import AlignedEmbedding, AlignmentSettings

__all__ = ["refined_by_r_c", "scaled"]

MAX_STEPS = 10
"""Maximum number of steps that lower R_C: more lead away from the scales of the start."""

ISOMAP = IsomapSettings(n_landmarks="auto", conformal=True, random_state=0)
"""The algorithm that gives the first frames."""

MAX_ENTRIES = 1 << 22
"""Maximum number of coordinates that are subtracted at once."""


def scaled(problem: Problem, progress: Progress) -> Problem:
    """Return the problem of distances within neighborhoods, divided by the root of the scales of both ends.

    The scale of a point is the mean distance to its neighbors, averaged geometrically over its neighborhood.
    The geometric mean of all scales is 1. The first frames are those of conformal Isomap, because single charts of
    divided distances are too noisy to be aligned along a tree: of few neighbors, two embeddings in five had folds.
    """
    graph, n = problem.neighborhoods, len(problem)
    rows, own = np.repeat(np.arange(n), graph.sizes), np.arange(n)
    places = (np.concatenate([rows, own]), np.concatenate([graph.indices, own]))
    holds = csr_array((np.ones(len(places[0])), places), shape=(n, n))
    logs = np.log(_core.spread(problem.points, graph.core, problem.threads))
    logs = holds @ logs / (graph.sizes + 1)
    halves = np.exp((logs - logs.mean()) / 2)
    together = triu(holds.T @ holds, 1, format="coo")
    ends = np.column_stack(together.coords).astype(np.int64)
    ends = ends[np.lexsort(ends.T[::-1])]
    distances = _lengths(problem.points, ends) / halves[ends].prod(axis=1)
    pairs = MeasuredPairs(n, ends, distances, np.ones(len(ends)))
    charts = problem_of(pairs, 0, problem.n_components, "R_N", problem.n_jobs, progress, graph)
    return replace(charts, guess=ISOMAP.embed(problem, progress).embedding)


def refined_by_r_c(
    found: AlignedEmbedding, settings: AlignmentSettings, problem: Problem, progress: Progress
) -> AlignedEmbedding:
    """Return an embedding of scaled distances, refined by R_C of the points, and measured."""
    if settings.steps is not None:
        steps = replace(settings.steps, max_iter=min(MAX_STEPS, settings.refine_max_iter))
        guard = Guard(problem, found.embedding)
        refinement = refined(problem, found.embedding, steps, progress, guard=guard)
        embedding, n_iter = refinement.embedding, refinement.n_iter
        found = replace(found, embedding=embedding, refinement=refinement, n_iter=n_iter)
    return found.measured(problem, progress)


def _lengths(points: Matrix, ends: Ends) -> Array:
    """Return the distances between the points of pairs."""
    count = max(1, MAX_ENTRIES // points.shape[1])
    blocks = (ends[start : start + count] for start in range(0, len(ends), count))
    lengths = [np.linalg.norm(points[b[:, 0]].astype(float) - points[b[:, 1]], axis=1) for b in blocks]
    return np.concatenate([*lengths, np.zeros(0)])
