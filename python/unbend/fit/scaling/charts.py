"""Problems whose charts come from measured distances, for the algorithms of Goldberg & Ritov (2009)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _core
from ...core.arrays import thread_count
from ...core.progress import Progress
from ...core.random import RandomState
from ...graph.neighbors import Neighborhoods, pointer_of
from ..assembly import one_blas_thread
from ..problem import Array, Objective, Problem
from .pairs import MeasuredPairs
from .run import GraphScalingSettings

__all__ = ["guess_of", "has_gaps", "neighbors_of", "problem_of"]


def neighbors_of(pairs: MeasuredPairs, n_neighbors: int) -> Neighborhoods:
    """Return the nearest measured points of each point, at most `n_neighbors`, nearest first.

    Examples
    --------
    >>> ends, distances = np.array([[0, 1], [0, 2], [1, 2]]), np.array([3.0, 1.0, 2.0])
    >>> neighbors_of(MeasuredPairs(3, ends, distances, np.ones(3)), 1).indices.tolist()
    [2, 2, 0]
    """
    graph = Neighborhoods.from_graph(pairs.graph)
    assert graph.distances is not None
    place = np.arange(len(graph.indices)) - np.repeat(graph.indptr[:-1], graph.sizes)
    near, sizes = place < n_neighbors, np.minimum(graph.sizes, n_neighbors)
    indices, distances = graph.indices[near], graph.distances[near]
    if (sizes == n_neighbors).all():
        return Neighborhoods(indices, n_neighbors=n_neighbors, distances=distances)
    return Neighborhoods(indices, indptr=pointer_of(sizes), distances=distances)


def problem_of(
    pairs: MeasuredPairs,
    n_neighbors: int,
    n_components: int,
    objective: Objective,
    n_jobs: int | None,
    progress: Progress,
    graph: Neighborhoods | None = None,
) -> Problem:
    """Return the problem of the measured pairs: each point with its nearest ones in a chart, or with a `graph`."""
    graph = neighbors_of(pairs, n_neighbors) if graph is None else graph
    measured, threads = pairs.graph, thread_count(n_jobs)
    measured.sort_indices()
    lists = _core.Graph(measured.indices.astype(np.uint32), indptr=measured.indptr.astype(np.int64))
    with progress.stage("charts", pairs.n_points):
        charts = _core.Patches(lists, measured.data, graph.core, n_components, threads, progress.progress)
    return Problem(charts, graph, n_components, objective, n_jobs)


def has_gaps(problem: Problem) -> bool:
    """Return whether some distances within neighborhoods are missing."""
    return isinstance(problem.source, _core.Patches) and problem.source.n_incomplete > 0


def guess_of(pairs: MeasuredPairs, n_components: int, random_state: RandomState, progress: Progress) -> Array:
    """Return coordinates from which frames can be taken: the least stress that :class:`GraphScaling` finds."""
    settings: Any = GraphScalingSettings(n_components, random_state=random_state)
    with one_blas_thread():  # The same bits on any number of threads.
        guess: Array = settings.scaled(pairs, None, progress).embedding
    return guess
