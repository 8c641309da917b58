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
from .bonds import Bonds

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


MAX_ROUGH_POINTS = 100_000
"""Number of neighborhoods that tell the measures of all to a few tenths of a percent."""


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
    include_self: bool = True  # True if each point belongs to its own neighborhood.
    # Shape (n,). The original index of each point, if the points were renumbered.
    order: Indices | None = field(default=None, repr=False)
    # Shape (n, d). Coordinates that give the first frames, if charts are too small to tell how neighbors lie.
    guess: Array | None = field(default=None, repr=False)
    # Shape (n,). The weight of each neighborhood, if they differ; their mean is 1.
    weights: Array | None = field(default=None, repr=False)
    bonds: Bonds | None = None  # Points with known places, and ties between points.

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
        d, graph, own = self.n_components, self.neighborhoods.core, self.include_self
        return _core.Problem(self.source, graph, d, self.objective, self.threads, own, self.weights)

    @property
    def component_labels(self) -> Indices:
        """The connected component of each point; ties join components of the graph."""
        labels = self.neighborhoods.component_labels
        return labels if self.bonds is None else self.bonds.joined(labels)

    @cached_property
    def components(self) -> list[Indices]:
        """The points of every component, in rising order."""
        return members(self.component_labels)

    def faithfulness(self, y: Array, cut: Indices | None = None) -> Faithfulness:
        """Measure an embedding, which must not change after this; `cut` are the pairs that a cut parts."""
        graph, core = self.neighborhoods, self.core.faithfulness
        options: dict[str, Any] = {"n_jobs": self.n_jobs, "core": core, "own": True, "weights": self.weights}
        options["include_self"] = self.include_self
        return measured(self.source, self.apart(y), graph, cut=cut, **options)

    def roughly(self, y: Array) -> Faithfulness:
        """Measure an embedding for decisions: evenly spaced neighborhoods, if the data are narrow and many."""
        step = len(self) // MAX_ROUGH_POINTS
        if step < 2 or self.source.dim > MAX_RENUMBERED_COLUMNS:
            return self.faithfulness(y)
        centers = np.arange(0, len(self), step, dtype=np.uint32)
        options: dict[str, Any] = {"n_jobs": self.n_jobs, "own": True, "weights": self.weights}
        options |= {"include_self": self.include_self, "centers": centers}
        return measured(self.source, self.apart(y), self.neighborhoods, **options)

    def apart(self, y: Array) -> Array:
        """Return an embedding with components that ties lay on each other side by side, to look for overlap."""
        if self.bonds is None or self.bonds.ties is None:
            return y
        return np.asarray(_core.lay_out(y, self.neighborhoods.component_labels)).reshape(y.shape)

    @cached_property
    def renumbered(self) -> Problem:
        """The problem with neighbors near each other in memory, or itself where that does not pay.

        The order is breadth first along the graph. A fit of a million points takes half the time in it.
        """
        if len(self) < MIN_RENUMBERED_POINTS or self.source.dim > MAX_RENUMBERED_COLUMNS:
            return self
        order, core = self.core.renumbered(self.neighborhoods.component_labels)
        graph = Neighborhoods.from_core(core.graph)
        guess = None if self.guess is None else self.guess[order]
        weights = None if self.weights is None else self.weights[order]
        bonds = self.bonds and self.bonds.renumbered(order)
        problem = replace(self, source=core.points, neighborhoods=graph, order=order, guess=guess)
        problem = replace(problem, weights=weights, bonds=bonds)
        problem.__dict__["core"] = core  # made already; `core` is a cached property
        return problem

    @property
    def unheld(self) -> Indices:
        """Points that are in no neighborhood; none if each belongs to its own."""
        if self.include_self:
            return np.zeros(0, dtype=np.uint32)
        held = np.bincount(self.neighborhoods.indices, minlength=len(self))
        return np.flatnonzero(held == 0).astype(np.uint32)

    def laid_out(self, y: Array) -> Array:
        """Return an embedding with its components straightened and set side by side; those with pins stay."""
        labels = self.component_labels
        if self.bonds is None or self.bonds.pins is None:
            return np.asarray(_core.lay_out(y, labels)).reshape(y.shape)
        free = ~np.isin(labels, labels[self.bonds.pins.rows])
        if not free.any():
            return y
        own = np.unique(labels[free], return_inverse=True)[1].astype(np.uint32)
        laid, beside = y.copy(), np.asarray(_core.lay_out(y[free], own)).reshape(-1, y.shape[1])
        beside[:, 0] += y[~free, 0].max() + np.ptp(beside[:, 0]) / 10 - beside[:, 0].min()
        laid[free] = beside
        return laid

    def part(self, rows: Indices) -> Problem:
        """Return the problem of some points whose neighbors are all among them."""
        graph = Neighborhoods.from_core(self.neighborhoods.core.part(rows))
        return replace(self.of(rows), source=_core.Points(self.points[rows]), neighborhoods=graph, order=None)

    def of(self, rows: Indices | None) -> Problem:
        """Return the problem with the weights of some points, None for all, which have a source of their own."""
        if self.weights is None or rows is None:
            return self
        weights = self.weights[rows]
        return replace(self, weights=weights / weights.mean())

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
