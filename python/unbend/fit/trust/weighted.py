"""Stress of geodesic distances: the sum of (|y_i - y_j| - g_ij)^2 / g_ij, as a share of the sum of g_ij.

With weights 1 / g_ij this is the stress of Sammon (1969), of geodesic instead of straight distances. The pairs are
those of a landmark and any point; up to `MAX_WHOLE_POINTS` points, all are landmarks. A step is the Guttman
transform (de Leeuw 1977), which never raises the stress. Points that are no landmarks are joined to landmarks
alone, so the system of l landmarks and n points is reduced to one of l x l, which is factored once.

Cost: O(l n log n) for the paths, O(l^2 n) for the factor, O(l n d) for a step; 4 l n bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist

from ... import _core
from ...core import memory
from ...core.random import stream
from ..assembly import one_blas_thread
from ..bonds import Pins
from ..problem import Array, Flags, Indices, Problem
from ..spectral.scaling import draw_landmarks

__all__ = ["GeodesicStress"]

MAX_WHOLE_POINTS, LANDMARKS = 1500, 200
"""Up to the first number of points, all are landmarks; of more, a random sample of the second size."""

LEAST_LENGTH = 1e-3
"""Shorter distances have the weight of this one, in units of the longest edge: copies would weigh infinitely."""

ENTRIES_AT_ONCE = 2**21
"""Number of pairs that are computed at a time."""

Table = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class GeodesicStress:
    """Stress of embeddings of a problem, and the step that lowers it; vectors are flat, point after point."""

    problem: Problem
    pins: Pins | None = None
    report: Callable[[str, int, int], bool] | None = field(default=None, repr=False)

    def at(self, y: Array) -> tuple[Array, float]:
        """Return minus half the gradient of the stress at an embedding, and the stress."""
        points = y.reshape(len(self.problem), -1) / self._unit
        pulls, missed, total = np.zeros_like(points), 0.0, 0.0
        with one_blas_thread():
            for rows, lengths, weights in self._blocks():
                here = points[self.landmarks[rows]]
                shown = cdist(here, points)
                missed += float(np.vdot(weights, (shown - lengths) ** 2))
                total += float(np.vdot(weights, lengths**2))
                ratios = np.divide(lengths, shown, out=np.ones_like(shown), where=shown > 0)
                forces = weights * (ratios - 1.0)
                pulls += forces.sum(axis=0)[:, None] * points - forces.T @ here
                pulls[self.landmarks[rows]] += forces.sum(axis=1)[:, None] * here - forces @ points
        return self._unit * pulls.ravel(), missed / total if total else 0.0

    def moved(self, pulls: Array, y: Array, ask: Callable[[], None]) -> Array:
        """Return the Guttman transform of an embedding; points that are held stay."""
        ask()
        sides = pulls.reshape(len(self.problem), -1)
        with one_blas_thread():
            return y + self._solved(np.where(self._free[:, None], sides, 0.0)).ravel()

    def _solved(self, sides: Array) -> Array:
        """Return V^+ times vectors that are 0 at held points."""
        own, change = self.landmarks, sides * self._inverse[:, None]
        reduced = sides[own].copy()
        for rows, _, weights in self._blocks():
            reduced[rows] += weights @ change
        free = self._free[own]
        change[own] = 0.0
        change[own[free]] = cho_solve(self._factor, reduced[free])
        outer = np.zeros_like(change)
        for rows, _, weights in self._blocks():
            outer += weights.T @ change[own[rows]]
        change += outer * self._inverse[:, None]
        return self._centered(change)

    def _centered(self, change: Array) -> Array:
        """Return changes that leave the mean of each component without held points where it is."""
        labels = self.problem.component_labels
        sums = np.stack([np.bincount(labels, column) for column in change.T], axis=1)
        means: Array = sums / np.bincount(labels)[:, None]
        means[labels[~self._free]] = 0.0
        centered: Array = change - means[labels]
        return centered

    def _blocks(self) -> Iterator[tuple[slice, Array, Array]]:
        """Yield landmarks, their distances to all points in units, and the weights of these pairs.

        A pair of two landmarks is met twice, and has half of its weight each time. Points of other components
        have the weight 0.
        """
        count, n = self._table.shape
        size = max(1, ENTRIES_AT_ONCE // n)
        for start in range(0, count, size):
            rows = slice(start, min(start + size, count))
            lengths = self._table[rows].astype(np.float64)
            apart = ~np.isfinite(lengths)
            lengths[apart] = 0.0
            weights = 1.0 / np.maximum(lengths, LEAST_LENGTH)
            weights[apart] = 0.0
            weights[:, self.landmarks] *= 0.5
            weights[np.arange(len(weights)), self.landmarks[rows]] = 0.0
            yield rows, lengths, weights

    @cached_property
    def _paths(self) -> _core.Paths:
        problem = self.problem
        return _core.Paths(problem.checked, problem.neighborhoods.core, None, problem.threads)

    @cached_property
    def _unit(self) -> float:
        return self._paths.unit() or 1.0

    @cached_property
    def landmarks(self) -> Indices:
        """The points whose distances to all others count, in rising order."""
        n, d = len(self.problem), self.problem.n_components
        if n <= MAX_WHOLE_POINTS:
            return np.arange(n, dtype=np.uint32)
        rng = stream(0, "stress")
        shares = [max(d + 1, -(-LANDMARKS * len(points) // n)) for points in self.problem.components]
        drawn = zip(self.problem.components, shares, strict=True)
        return np.sort(np.concatenate([draw_landmarks(points, share, rng) for points, share in drawn]))

    @cached_property
    def _table(self) -> Table:
        """Geodesic distances from the landmarks to all points, in units of the longest edge."""
        own, n = self.landmarks, len(self.problem)
        memory.check(4 * len(own) * n, None)
        table = self._paths.distances_from(own, progress=self.report).reshape(len(own), n)
        both = table[:, own]
        table[:, own] = (both + both.T) / 2  # The two directions along a path are rounded differently.
        return table

    @cached_property
    def _free(self) -> Flags:
        free = np.ones(len(self.problem), dtype=bool)
        if self.pins is not None:
            free[self.pins.rows] = False
        return free

    @cached_property
    def _inverse(self) -> Array:
        """The inverse of the sum of the weights of each point that is no landmark and may move; else 0."""
        sums = np.zeros(len(self.problem))
        for _, _, weights in self._blocks():
            sums += weights.sum(axis=0)
        sums[self.landmarks] = 0.0
        sums[~self._free] = 0.0
        return np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)

    @cached_property
    def _factor(self) -> Any:
        """The factor of the system of the landmarks that may move, without the other points."""
        own, inverse = self.landmarks, self._inverse
        pairs, sums = np.zeros((len(own), len(own))), np.zeros(len(own))
        for rows, _, weights in self._blocks():
            sums[rows] += weights.sum(axis=1)
            both = weights[:, own]
            sums += both.sum(axis=0)
            pairs[rows] += both
            pairs[:, rows] += both.T
            for others, _, more in self._blocks() if inverse.any() else ():
                pairs[rows, others] += (weights * inverse) @ more.T
        system = np.diag(sums) - pairs
        free, labels = self._free[own], self.problem.component_labels
        typical = float(sums.mean()) or 1.0
        held = np.isin(labels[own], labels[~self._free])
        for component in np.unique(labels[own][~held]):
            same = np.flatnonzero(labels[own] == component)
            system[np.ix_(same, same)] += typical / len(same)  # fixes the mean, which the pairs leave open
        return cho_factor(system[np.ix_(free, free)])
