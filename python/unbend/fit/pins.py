"""Points that a refinement leaves where they are: eq. 11 (Goldberg & Ritov 2009) for all others.

With S the matrix of eq. 11 and B its right-hand side, the free points f solve S_ff Y_f = B_f - S_fc Y_c. Fixed
points c do not change, so for changes the system is that of eq. 11 without the rows and columns of fixed points.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _core
from ..core.arrays import as_points, check_finite
from .problem import Array, Flags, Indices, members

__all__ = ["HeldSystem", "Pins"]


@dataclass(frozen=True, eq=False)
class Pins:
    """Points of an embedding and where they must be."""

    rows: Indices
    places: Array = field(repr=False)

    @classmethod
    def of(cls, fixed: Any, n: int, d: int) -> Pins:
        """Check indices and coordinates of points of an embedding of `n` points in `d` dimensions."""
        try:
            indices, places = fixed
        except (TypeError, ValueError):
            raise ValueError("fixed must be two arrays: indices of points, and their coordinates") from None
        rows = np.asarray(indices)
        if rows.ndim != 1 or rows.dtype.kind not in "iu":
            raise ValueError(
                f"indices of fixed have shape {rows.shape} and type {rows.dtype}: give whole numbers"
            )
        if len(rows) == 0:
            raise ValueError("fixed holds no points: leave it out")
        wrong = rows[(rows < 0) | (rows >= n)]
        if len(wrong):
            raise ValueError(f"fixed holds point {wrong[0]}, but points are numbered from 0 to {n - 1}")
        found, counts = np.unique(rows, return_counts=True)
        if counts.max() > 1:
            raise ValueError(f"fixed holds point {found[counts.argmax()]} {counts.max()} times: give it once")
        places = np.array(as_points(places, "coordinates of fixed"), dtype=np.float64)
        check_finite(places, "coordinates of fixed")
        if places.shape != (len(rows), d):
            raise ValueError(f"coordinates of fixed have shape {places.shape}: {(len(rows), d)} is needed")
        return cls(rows.astype(np.intp), places)

    def begun(self, y: Array, labels: Indices) -> Array:
        """Return an embedding moved to the pins, each component by itself, with the pins in their places.

        A component with one pin is shifted. With more it is rotated as well, or reflected if that fits better.
        Pins on a line leave the side open: then the component is not reflected.
        """
        moved = y.copy()
        own = labels[self.rows]
        for component, points in enumerate(members(labels)):
            here = own == component
            if here.any():
                moved[points] = _moved(y[points], y[self.rows[here]], self.places[here])
        moved[self.rows] = self.places
        return moved

    def flags(self, n: int) -> Flags:
        """Return for each coordinate of `n` points, point after point, whether it is fixed."""
        held = np.zeros((n, self.places.shape[1]), dtype=bool)
        held[self.rows] = True
        return held.ravel()


def _moved(y: Array, here: Array, there: Array) -> Array:
    """Return points moved as the pins among them move best, and not rotated if the pins do not determine it."""
    before, after = here.mean(axis=0), there.mean(axis=0)
    cross = (here - before).T @ (there - after)
    undecided = 1e-9 * np.linalg.norm(cross) or 1.0
    u, _, vt = np.linalg.svd(cross + undecided * np.eye(len(cross)))
    moved: Array = (y - before) @ (u @ vt) + after
    return moved


@dataclass(frozen=True, eq=False)
class HeldSystem:
    """The system of eq. 11 without the rows and columns of fixed points, for :func:`assembly.solve`."""

    problem: _core.Problem
    held: Flags = field(repr=False)

    def apply(self, y: Array) -> Array:
        """Return the product with the matrix, for `y` that is zero at fixed points."""
        return self._free(self.problem.apply(y))

    def residual(self, right_hand_side: Array, y: Array) -> Array:
        """Return the residual of the free points."""
        return self._free(right_hand_side - self.problem.apply(y))

    def precondition(self, v: Array) -> Array:
        """Return approximately the solution for the right-hand side `v`."""
        return self._free(self.problem.cycle(v))

    def moved(self, right_hand_side: Array, y: Array, change: Array) -> tuple[Array, Array]:
        """Return `y` changed, and the residual there."""
        there = y + change
        return there, self.residual(right_hand_side, there)

    def _free(self, v: Array) -> Array:
        return np.where(self.held, 0.0, v)
