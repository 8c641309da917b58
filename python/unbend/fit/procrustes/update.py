"""New points in an embedding whose points stay where they are.

New points among old ones are carried by the motion that fits their neighbors. Those beyond them are embedded
with the old points nearby, as in section 4.2 of Goldberg & Ritov (2009), with these in their places. Refining the
new points after that (eq. 13) changed no measure, so it is left out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ... import _core
from ...core.progress import Progress
from ...graph.carry import Carrier
from ...graph.copies import search_distinct
from ..bonds import Bonds, Pins
from ..problem import Array, Flags, Indices, Problem
from .alignment import AlignmentSettings

__all__ = ["updated"]

Rows = npt.NDArray[np.intp]

RINGS = 2
"""Old points up to this number of steps on the graph are embedded again with new points beyond them."""


def updated(
    settings: AlignmentSettings,
    problem: Problem,
    known: Array,
    labels: Indices,
    nearest: Indices | None,
    progress: Progress,
) -> Array:
    """Return the embedding of all points; the first have the places `known` and belong to components `labels`.

    `nearest` are the old points nearest to each new one, if they were searched already.
    """
    first, k = len(known), problem.neighborhoods.typical_size
    y = np.empty((len(problem), problem.n_components))
    y[:first] = known
    lists = problem.neighborhoods.indices.reshape(len(problem), -1)
    is_among = np.count_nonzero(lists[first:] < first, axis=1) * 2 >= k
    among, beyond = (first + np.flatnonzero(which) for which in (is_among, ~is_among))
    if len(among):
        carrier = Carrier(labels, k, n_jobs=problem.n_jobs)
        own = None if nearest is None else nearest[among - first]
        y[among], _ = carrier.carry(problem.points[:first], known, problem.points[among], own)
    if len(beyond):
        y[beyond] = _grown(settings, problem, y, beyond, progress)
    held = np.arange(first)
    pins = Pins(held, known, np.full(first, np.inf))
    return replace(problem, bonds=Bonds(pins)).laid_out(y)


def _grown(
    settings: AlignmentSettings, problem: Problem, y: Array, beyond: Rows, progress: Progress
) -> Array:
    """Return the places of points beyond those that have a place, embedded with those nearby."""
    lists, reached = (
        problem.neighborhoods.indices.reshape(len(problem), -1),
        np.zeros(len(problem), dtype=bool),
    )
    reached[beyond] = True
    for _ in range(RINGS):  # In both directions: new points may be so dense that they list no old ones.
        near: Flags = np.asarray(reached[lists].any(axis=1))
        near[lists[reached]] = True
        reached |= near
    rows = np.flatnonzero(reached)
    points, is_new = _core.Points(problem.points[rows]), np.isin(rows, beyond)
    k = min(problem.neighborhoods.typical_size, len(rows) - 1)
    graph = search_distinct(points, k, "auto", 1.0, problem.n_jobs, progress.progress)
    held = np.flatnonzero(~is_new)
    pins = Pins(held, y[rows[held]], np.full(len(held), np.inf)) if len(held) else None
    local = replace(problem.of(rows.astype(np.uint32)), source=points, neighborhoods=graph, bonds=Bonds(pins))
    return settings.embed(local, progress).embedding[is_new]
