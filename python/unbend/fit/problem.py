"""The problem of a fit: points, their neighborhoods, and the dimension of the embedding."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import Matrix, as_count, thread_count
from ..core.caller import warn
from ..graph.neighbors import DEFAULT_NEIGHBORS, Neighborhoods
from ..metrics import Faithfulness
from ..metrics.faithful import measured

__all__ = [
    *("Array", "DisconnectedWarning", "Flags", "Indices", "Objective", "Problem"),
    *("check_connected", "members", "neighbor_count", "size_of"),
]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.uint32]
Flags = npt.NDArray[np.bool_]
Objective = Literal["R_N", "R", "R_C"]
Rows = TypeVar("Rows", bound=npt.NDArray[Any])

MIN_RENUMBERED_POINTS, MAX_RENUMBERED_COLUMNS = 50_000, 16
"""Fewest points and most columns of data that are renumbered: a copy costs less than it saves."""


class DisconnectedWarning(UserWarning):
    """The neighborhood graph falls into components, each of which is embedded by itself.

    The position of one component relative to another means nothing.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np, unbend as ub
    >>> X = np.random.default_rng(0).random((60, 2))
    >>> X[:20] += 9
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     _ = ub.GreedyProcrustes(n_neighbors=6, random_state=0).fit(X)
    >>> found[0].category is ub.DisconnectedWarning
    True
    """


@dataclass(frozen=True, eq=False)
class Problem:
    """Points with their neighborhoods, checked once, and the dimension and objective of the embedding."""

    # The data, float32 or float64, with finite entries; or the charts of neighborhoods with known distances.
    source: _core.Points | _core.Patches = field(repr=False)
    neighborhoods: Neighborhoods  # The neighbors of each point.
    n_components: int  # Dimension d of the embedding.
    objective: Objective = "R_N"  # The measure that eq. 11 and refinement minimize.
    n_jobs: int | None = None  # Number of threads; None for all.
    # Shape (n,). The original index of each point, if the points were renumbered.
    order: Indices | None = field(default=None, repr=False)
    # Shape (n, d). Coordinates that give the first frames, if charts are too small to tell how neighbors lie.
    guess: Array | None = field(default=None, repr=False)

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.source)

    @property
    def points(self) -> Matrix:
        """The data, as an array of shape (n, q), if they are points."""
        return self.checked.array

    @property
    def checked(self) -> _core.Points:
        """The data as the core keeps them, if they are points."""
        assert isinstance(self.source, _core.Points)
        return self.source

    @property
    def has_points(self) -> bool:
        """True if the data are points, which can be searched, projected and sampled; charts cannot."""
        return isinstance(self.source, _core.Points)

    @property
    def threads(self) -> int:
        """Number of threads, 0 for all."""
        return thread_count(self.n_jobs)

    @cached_property
    def core(self) -> _core.Problem:
        """The same problem in the core, with all that the core makes of it once."""
        graph = self.neighborhoods.core
        return _core.Problem(self.source, graph, self.n_components, self.objective, self.threads)

    @property
    def component_labels(self) -> Indices:
        """The connected component of each point."""
        return self.neighborhoods.component_labels

    @cached_property
    def components(self) -> list[Indices]:
        """The points of every component, in rising order."""
        return members(self.component_labels)

    def faithfulness(self, y: Array, cut: Indices | None = None) -> Faithfulness:
        """Measure an embedding, which must not change after this; `cut` are the pairs that a cut parts."""
        core, graph = self.core.faithfulness, self.neighborhoods
        return measured(self.source, y, graph, cut=cut, n_jobs=self.n_jobs, core=core, own=True)

    @cached_property
    def renumbered(self) -> Problem:
        """The problem with neighbors near each other in memory, or itself where that does not pay.

        The order is breadth first along the graph. A fit of a million points takes half the time in it.
        """
        if len(self) < MIN_RENUMBERED_POINTS or self.source.dim > MAX_RENUMBERED_COLUMNS:
            return self
        order, core = self.core.renumbered(self.component_labels)
        graph = Neighborhoods.from_core(core.graph)
        guess = None if self.guess is None else self.guess[order]
        problem = replace(self, source=core.points, neighborhoods=graph, order=order, guess=guess)
        problem.__dict__["core"] = core  # made already; `core` is a cached property
        return problem

    def part(self, rows: Indices) -> Problem:
        """Return the problem of some points whose neighbors are all among them."""
        graph = Neighborhoods.from_core(self.neighborhoods.core.part(rows))
        return replace(self, source=_core.Points(self.points[rows]), neighborhoods=graph, order=None)

    def arranged(self, rows: Rows) -> Rows:
        """Return rows of the original points in the order of renumbered ones."""
        if self.order is None:
            return rows
        arranged: Rows = np.empty_like(rows)
        np.take(rows, self.order, axis=0, out=arranged)
        return arranged

    def original(self, points: Indices) -> Indices:
        """Return the original indices of points."""
        return points if self.order is None else self.order[points]

    def place(self, point: int) -> int:
        """Return the row of a point that is given by its original index."""
        return point if self.order is None else int(np.flatnonzero(self.order == point)[0])

    def restored(self, rows: Rows) -> Rows:
        """Return rows of renumbered points in the original order."""
        if self.order is None:
            return rows
        original: Rows = np.empty_like(rows)
        original[self.order] = rows
        return original

    def restored_pairs(self, pairs: Indices) -> Indices:
        """Return pairs of renumbered points by their original indices, the lower first, sorted."""
        if self.order is None or len(pairs) == 0:
            return pairs
        return np.unique(np.sort(self.order[pairs], axis=1), axis=0)


def members(labels: Indices) -> list[Indices]:
    """Return the points of every label, in rising order."""
    order = np.argsort(labels, kind="stable").astype(np.uint32)
    return np.split(order, np.cumsum(np.bincount(labels))[:-1])


def neighbor_count(n_neighbors: int | None, n: int, name: str = "n_neighbors") -> int:
    """Return the number of neighbors per point to search for among `n` points."""
    k = min(DEFAULT_NEIGHBORS, n - 1) if n_neighbors is None else as_count(n_neighbors, name)
    if k > n - 1:
        raise ValueError(f"{name} = {k} needs at least {k + 1} points, got n_samples = {n}")
    return k


def size_of(neighborhoods: Neighborhoods, n: int) -> int:
    """Return the number of neighbors per point, if these are neighborhoods of `n` points."""
    if not isinstance(neighborhoods, Neighborhoods):
        raise TypeError(
            f"neighborhoods must be unbend.Neighborhoods, got {type(neighborhoods).__name__}: "
            "see Neighborhoods.from_knn and Neighborhoods.from_graph"
        )
    if len(neighborhoods) != n:
        raise ValueError(f"X has n_samples = {n}, but neighborhoods has {len(neighborhoods)}")
    return neighborhoods.typical_size


def check_connected(
    labels: Indices,
    disconnected: str,
    graph: str = "the neighborhood graph",
    remedy: str = "raise n_neighbors to join them",
) -> None:
    """Warn if a graph has several components, or raise a ValueError if `disconnected` is "error".

    `labels` are the components of the points.
    """
    sizes = np.bincount(labels)
    if len(sizes) == 1:
        return
    largest = ", ".join(f"{size:,}" for size in np.sort(sizes)[::-1][:5])
    text = f"{graph} has {len(sizes):,} components, of {largest}"
    text += " and fewer points" if len(sizes) > 5 else " points"
    if disconnected == "error":
        raise ValueError(f"{text}: {remedy}, or set disconnected = 'separate'")
    warn(f"{text}: each is embedded by itself, and their positions mean nothing", DisconnectedWarning)
