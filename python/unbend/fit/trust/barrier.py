"""Triangles that a refinement must not turn over.

The triangles are those of a mesh, or the Delaunay triangles around each point in its own chart. A triangle that
lies as its surroundings do must keep a part of its area in each step, with its sign: if a step would take more,
its corners go less far. While some are turned over, a step may go to an embedding with fewer of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.arrays import as_triangles
from ...graph.charts import charts
from ...graph.neighbors import Neighborhoods
from ..problem import Array, Flags

__all__ = ["Barrier"]

Triangles = npt.NDArray[np.int64]

LEAST_AREA = 0.1
"""Share of its area that a triangle keeps in one step at least."""

SLIVER = 0.05
"""Triangles of a chart are left out if their height is a smaller share of their longest side."""

MAX_HALVINGS = 20
"""A corner whose step is still too long after this number of halvings does not move."""

AGREEMENTS = 20
"""Number of times that charts take the mean of what those around them say."""

MAX_RINGS, SMOOTHINGS = 4, 20
"""Flips are smoothed away within this number of rings of triangles, by this number of averages."""

ROUNDING = 1e-9
"""Points on one circle up to this share count as within it: any triangulation of them is valid."""

BLOCK_NUMBERS = 2**22
"""Neighborhoods are triangulated in blocks of about this number of values."""


@dataclass(frozen=True, eq=False)
class Barrier:
    """Triangles, and the sign of the area that each should have."""

    triangles: Triangles = field(repr=False)  # Shape (m, 3).
    signs: Array = field(repr=False)

    @classmethod
    def of(cls, barrier: Any, x: Any, graph: Neighborhoods, y: Array, n_jobs: int | None) -> Barrier:
        """Take the triangles of a mesh, or those of charts if `barrier` is True."""
        if y.shape[1] != 2:
            raise ValueError(
                f"barrier needs an embedding of 2 columns, Y has {y.shape[1]}: set barrier = False"
            )
        if isinstance(barrier, bool | np.bool_):
            return cls._of_charts(x, graph, y, n_jobs)
        triangles = as_triangles(barrier, len(y), "barrier")
        areas = _double_areas(triangles, y)
        mostly_reversed = np.count_nonzero(areas < 0) > len(areas) / 2
        return cls(triangles, np.full(len(areas), -1.0 if mostly_reversed else 1.0))

    @classmethod
    def _of_charts(cls, x: Any, graph: Neighborhoods, y: Array, n_jobs: int | None) -> Barrier:
        """Triangulate every neighborhood."""
        coordinates = charts(x, 2, neighborhoods=graph, n_jobs=n_jobs).coordinates
        sizes = graph.sizes
        ends = np.cumsum(sizes + 1)
        parts = [np.zeros((0, 3), np.int64)]
        for size in np.unique(sizes[sizes >= 2]):
            rows = np.flatnonzero(sizes == size)
            for block in np.array_split(rows, int(len(rows) * size**3 // BLOCK_NUMBERS) + 1):
                places = (ends[block] - size)[:, None] + np.arange(size)
                around = coordinates[places] - coordinates[places[:, :1] - 1]
                names = graph.indices[places - block[:, None] - 1].astype(np.int64)
                center, first, second = np.nonzero(_stars(around))
                parts.append(np.stack([block[center], names[center, first], names[center, second]], axis=1))
        triangles = np.concatenate(parts)
        if len(triangles) == 0:
            raise ValueError(
                "barrier found no triangle in any chart: give the triangles of a mesh as barrier="
            )
        return cls(*_agreed(triangles, y))

    def n_flipped(self, y: Array) -> int:
        """Return the number of triangles that are turned over in an embedding."""
        return int(np.count_nonzero(~(self._areas(y) > 0)))

    def kept(self, start: Array, end: Array) -> Array:
        """Return the end of a step, nearer to its start around the triangles that it would turn over."""
        before = self._areas(start)
        flipped = np.count_nonzero(~(before > 0))
        if flipped and self.n_flipped(end) < flipped:
            return end
        least = np.where(before > 0, LEAST_AREA * before, -np.inf)
        move = (end - start).reshape(-1, 2)
        halvings = np.zeros(len(move), np.int64)
        while True:
            shares = np.where(halvings > MAX_HALVINGS, 0.0, 0.5**halvings)[:, None]
            reached = start + (shares * move).reshape(start.shape)
            lost: Flags = self._areas(reached) < least
            if not lost.any():
                return reached
            corners = np.unique(self.triangles[lost])
            if (halvings[corners] > MAX_HALVINGS).all():
                return start  # Only rounding is left.
            halvings[corners] += 1

    def smoothed(self, y: Array) -> Array:
        """Return an embedding with the corners of flipped triangles at the means of their neighbors if that helps.

        The regions grow by one ring of triangles while it does not.
        """
        best, n_best = y, self.n_flipped(y)
        for rings in range(1, MAX_RINGS + 1):
            moving = self._around_flips(best, rings)
            end = best.copy()
            for _ in range(SMOOTHINGS):
                end[moving] = self._means(end)[moving]
            if (n := self.n_flipped(end)) < n_best:
                best, n_best = end, n
            if n_best == 0:
                break
        return best

    def _around_flips(self, y: Array, rings: int) -> Flags:
        """Return the points of flipped triangles, and those around them."""
        inside = np.zeros(len(y), bool)
        inside[self.triangles[~(self._areas(y) > 0)]] = True
        for _ in range(rings - 1):
            inside[self.triangles[inside[self.triangles].any(axis=1)]] = True
        return inside

    def _means(self, y: Array) -> Array:
        """Return the mean of the other corners of each point's triangles."""
        corners = self.triangles.ravel()
        others = np.repeat(y[self.triangles].sum(axis=1), 3, axis=0) - y[corners]
        count = 2 * np.maximum(np.bincount(corners, minlength=len(y)), 1)
        sums = [np.bincount(corners, column, len(y)) for column in others.T]
        means: Array = np.stack(sums, axis=1) / count[:, None]
        return means

    def _areas(self, y: Array) -> Array:
        areas: Array = self.signs * _double_areas(self.triangles, y.reshape(-1, 2))
        return areas


def _double_areas(triangles: Triangles, y: Array) -> Array:
    corner = y[triangles[:, 0]]
    (ax, ay), (bx, by) = (y[triangles[:, 1]] - corner).T, (y[triangles[:, 2]] - corner).T
    areas: Array = ax * by - ay * bx
    return areas


def _agreed(triangles: Triangles, y: Array) -> tuple[Triangles, Array]:
    """Return the triangles of all charts, each once, and how each should lie.

    A chart may be a mirror image. Those that share triangles agree about how these lie, beginning with how most of
    the area of each chart lies in the embedding.
    """
    from scipy.sparse import csr_matrix  # It takes long, and few refinements need it.

    a, b, c = triangles.T
    parity = np.sign((b - a) * (c - b) * (c - a))
    unique, index = np.unique(np.sort(triangles, axis=1), axis=0, return_inverse=True)
    shared = csr_matrix((parity.astype(float), (a, index.ravel())), shape=(len(y), len(unique)))
    areas = _double_areas(triangles, y)
    total = np.bincount(a, np.abs(areas), len(y))
    lies: Array = np.bincount(a, areas, len(y)) / np.where(total > 0, total, 1)
    per_point, per_triangle = (np.maximum(np.asarray(np.abs(shared).sum(axis=k)).ravel(), 1) for k in (1, 0))
    for _ in range(AGREEMENTS):
        lies = shared @ ((shared.T @ lies) / per_triangle) / per_point
    signs: Array = np.where(shared.T @ lies < 0, -1.0, 1.0)
    return unique, signs


def _stars(around: Array) -> Flags:
    """Return which ordered pairs of neighbors form a Delaunay triangle with the origin, for each block row.

    Inversion at the origin turns circles through it into lines, so that the triangles with an empty circle are the
    edges of a convex hull.
    """
    squares = (around**2).sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = around / squares
    x, y = inverse[..., 0], inverse[..., 1]
    crossed = x[:, :, None] * y[:, None, :] - y[:, :, None] * x[:, None, :]
    # The point m lies left of the line from i to j, or on it.
    left = crossed[:, :, :, None] + crossed[:, None, :, :] + crossed.transpose(0, 2, 1)[:, :, None, :]
    with np.errstate(invalid="ignore"):
        least = -ROUNDING * np.abs(crossed).max(axis=(1, 2))[:, None, None, None]
        return np.asarray((left >= least).all(axis=-1) & _are_wide(around))


def _are_wide(around: Array) -> Flags:
    """Return which ordered pairs of neighbors form a wide, counterclockwise triangle with the origin."""
    x, y = around[..., 0], around[..., 1]
    areas = x[:, :, None] * y[:, None, :] - y[:, :, None] * x[:, None, :]
    squares = x**2 + y**2
    between = ((around[:, :, None] - around[:, None, :]) ** 2).sum(axis=-1)
    longest = np.maximum(np.maximum(squares[:, :, None], squares[:, None, :]), between)
    return np.asarray(areas > SLIVER * longest)
