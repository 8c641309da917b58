"""Many points in an order in which neighbours lie near each other in memory.

Data come in any order, and then every neighbour that is looked at is fetched from somewhere else. Breadth
first along the graph, the neighbours of the next point are where those of the last were: a fit of a million
points takes half the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from ..core.arrays import Matrix, thread_count
from ..core.memory import is_renumbered
from ..fit.cut import Seam
from .neighbors import Neighborhoods

__all__ = ["Renumbered"]

Indices = npt.NDArray[np.uint32]
Rows = TypeVar("Rows", bound=npt.NDArray[Any])


class Renumbered:
    """Points, called by their places in such an order, and what was found for them in terms of the points.

    Attributes
    ----------
    order : ndarray of shape (n,)
        The point at each place.
    graph : Neighborhoods
        The neighbourhoods, between places.

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X = np.array([[0.0], [2.0], [1.0], [3.0]])
    >>> near = Renumbered(ub.neighborhoods(X, 1), None)
    >>> near.order.tolist(), near.back(near.rows(X)).ravel().tolist()
    ([0, 2, 1, 3], [0.0, 2.0, 1.0, 3.0])
    """

    def __init__(self, graph: Neighborhoods, n_jobs: int | None) -> None:
        self.order, self.graph = graph._in_local_order(thread_count(n_jobs))

    @classmethod
    def of(cls, x: Matrix, graph: Neighborhoods, n_jobs: int | None) -> Renumbered | None:
        """Return the points of a fit, if it is worth it: many of them, and narrow, for they are copied."""
        return cls(graph, n_jobs) if is_renumbered(*x.shape) else None

    def rows(self, given: Rows) -> Rows:
        """Return the rows of the points, in the order of places."""
        rows: Any = given.take(self.order, axis=0)
        return cast("Rows", rows)

    def back(self, found: Rows) -> Rows:
        """Return the rows of places, in the order of points."""
        rows: Rows = np.empty_like(found)
        rows[self.order] = found
        return rows

    def place(self, point: int) -> int:
        """Return where a point stands."""
        return int(np.flatnonzero(self.order == point)[0])

    def pairs(self, found: Indices) -> Indices:
        """Return pairs of points, the lower first, in rising order."""
        if len(found) == 0:
            return found
        return np.unique(np.sort(self.order[found], axis=1), axis=0)

    def seams(self, found: Sequence[Seam]) -> list[Seam]:
        """Return seams along points."""
        ends = ("points", "partners")
        return [replace(seam, **{end: self.order[getattr(seam, end)] for end in ends}) for seam in found]
