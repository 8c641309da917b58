"""Distances within balls of a hundred points, compared with shortest paths on the neighborhood graph.

R_N looks at neighborhoods only, so that noise or a fold between neighborhoods can hide from it. Balls are large
enough to show a fold, and small enough not to run round a hole of the data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import thread_count
from ..core.memory import MAX_PRUNED_POINTS
from ..graph.neighbors import Neighborhoods, resolve
from .sampling import Array, pair
from .table import Measure, by_name, scoring

__all__ = [
    *(
        "BALLS",
        "BALL_SIZE",
        "LEAST_COMPONENT",
        "MEASURES",
        "TORN_ERROR",
        "Agreement",
        "clean_of",
    ),
    *("disagreement", "measured_agreement", "worse_agreement", "worst_mean"),
]

N_BALLS, N_WORST, BALL_SIZE, N_SOURCES = 48, 16, 100, 12
"""Balls around random points and around the worst, the points of a ball, and those of them that are compared with
all others."""

BALLS = (N_BALLS, N_WORST, BALL_SIZE, N_SOURCES)

LEAST_COMPONENT = 0.05
"""A connected component with a smaller share of the points does not decide about the whole."""

TORN_ERROR = 0.3
"""A ball with a larger error is torn."""

Indices = npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Agreement:
    """Agreement of distances within balls with shortest paths.

    The error of a ball is the squared error of its distances, as a share of the squared shortest paths. `scale`
    is the factor by which the embedding was multiplied before. The balls are the first `n_random`, around random
    points, and those around the worst points.
    """

    centers: Indices = field(repr=False)
    errors: Array = field(repr=False)
    n_random: int
    scale: float

    @property
    def disagreement(self) -> float:
        """Mean error of the random balls."""
        return float(self.random_errors.mean())

    @property
    def random_errors(self) -> Array:
        """Errors of the random balls."""
        return self.errors[: self.n_random]

    @property
    def torn(self) -> float:
        """Share of torn balls among those around the worst points."""
        worst = self.errors[self.n_random :]
        return float((worst > TORN_ERROR).mean()) if len(worst) else 0.0


def measured_agreement(
    points: _core.Points, y: Any, graph: Neighborhoods, n_jobs: int | None, progress: Any = None
) -> Agreement:
    """Compare an embedding with shortest paths on a graph; arrays have been checked."""
    return Agreement(*_core.agreement(points, y, graph.core, *BALLS, 0, thread_count(n_jobs), progress))


@np.errstate(over="ignore")  # Errors of an embedding in a unit far off may sum up to infinity.
def worst_mean(values: Array, own: Indices, labels: Indices) -> float:
    """Return the largest mean over components that matter; `own` is the component of each value.

    Examples
    --------
    >>> import numpy as np
    >>> own = np.array([0, 0, 1, 2])
    >>> worst_mean(np.array([0.0, 0.2, 0.3, 0.9]), own, np.repeat([0, 1, 2], [60, 39, 1]))
    0.3
    """
    if not labels.any():
        return float(values.mean())
    shares = np.bincount(labels) / len(labels)
    means = [float(values[own == c].mean()) for c in np.unique(own) if shares[c] >= LEAST_COMPONENT]
    return max(means, default=float(values.mean()))


def clean_of(points: _core.Points, graph: Neighborhoods, d: int, n_jobs: int | None) -> Neighborhoods | None:
    """Return the graph without its short circuits; None if it has none, or more points than are examined."""
    if len(points) > MAX_PRUNED_POINTS or d > points.array.shape[1]:
        return None
    dropped = _core.prune(points, graph.core, d, thread_count(n_jobs))["dropped"]
    return Neighborhoods.from_core(graph.core.without(dropped)) if dropped.any() else None


@scoring(0.001, 0.068)
def disagreement(
    X: Any,
    Y: Any,
    n_neighbors: int | None = None,
    *,
    radius: float | None = None,
    neighborhoods: Neighborhoods | None = None,
    n_jobs: int | None = None,
) -> float:
    """Return the squared error of distances within a hundred points, as a share of squared shortest paths.

    Shortest paths start from 12 of the 100 points nearest to each of 48 random points along the neighborhood
    graph. Y is multiplied by one factor between 0.8 and 1.25 first, because paths on a graph are longer than
    geodesic distances. 0 is perfect, and 1 is that of an embedding in a single point. Of up to 20,000 points, Y
    is also compared with the graph without short circuits, and the larger error counts. Invariant under rotation,
    reflection and translation of X and of Y.

    Cost: O(n k) for the graph, and a constant for the balls. d may exceed q.
    """
    x, y = pair(X, Y, narrower=False)
    graph = resolve(x, neighborhoods, n_neighbors, radius, n_jobs)
    points = _core.Points(x)
    return worse_agreement(points, y, graph, clean_of(points, graph, y.shape[1], n_jobs), n_jobs).disagreement


def worse_agreement(
    points: _core.Points, y: Any, graph: Neighborhoods, clean: Neighborhoods | None, n_jobs: int | None
) -> Agreement:
    """Return the worse agreement with a graph and with the same without short circuits, if it had any."""
    graphs = [graph] if clean is None else [graph, clean]
    return max((measured_agreement(points, y, each, n_jobs) for each in graphs), key=lambda a: a.disagreement)


MEASURES = by_name(
    Measure("disagreement", "disagreement", "geodesic", "lower", 0, inf, "within a hundred points"),
)
