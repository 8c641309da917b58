"""Eq. 11 (Goldberg & Ritov 2009) with fixed points, and with terms for ties and for pins that may give way.

With S the matrix of eq. 11 and B its right-hand side, the free points f solve S_ff Y_f = B_f - S_fc Y_c. Fixed
points c do not change, so for changes the system is that of eq. 11 without the rows and columns of fixed points.

A tie adds w |y_i - y_j|^2. A neighborhood of i, j and a point that is free to lie between them, with weight 2 w
and no shape of its own, has the same least value. So ties are neighborhoods of added points, and pins that may
give way are neighborhoods of a point and an added one that is fixed. Products and multigrid are those of any
graph.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ... import _core
from . import Bonds

__all__ = ["BoundSystem", "HeldSystem"]

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


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


@dataclass(frozen=True, eq=False)
class BoundSystem:
    """The system of eq. 11 of a problem and its bonds. Vectors are flat, point after point, then added points."""

    problem: _core.Problem
    bonds: Bonds

    def of(self, problem: _core.Problem) -> _core.Problem | HeldSystem:
        """Return the system of this problem, or of one with other weights if no bond is soft."""
        whole = self._extended if self.bonds.are_soft else problem
        return HeldSystem(whole, self._held) if self._held.any() else whole

    def start(self, y: Array) -> Array:
        """Return an embedding with the added points: between the points of each tie, and in the places of pins."""
        parts, pins, ties = [y], self._soft_pins, self._strong_ties
        rows = y.reshape(-1, self.problem.n_components)
        if ties is not None:
            parts.append(0.5 * (rows[ties[0][:, 0]] + rows[ties[0][:, 1]]).ravel())
        if pins is not None:
            parts.append(pins[1].ravel())
        return np.concatenate(parts)

    def right_hand_side(self, right_hand_side: Array) -> Array:
        """Return the right-hand side with the rows of the added points, whose neighborhoods have no shape."""
        return np.pad(right_hand_side, (0, len(self._held) - len(right_hand_side)))

    def penalty(self, y: Array) -> float:
        """Return the sum of the terms that the bonds add to eq. 11."""
        rows, total = y.reshape(-1, self.problem.n_components), 0.0
        if self._strong_ties is not None:
            (one, two), weights = self._strong_ties[0].T, self._strong_ties[1]
            total += float(weights @ ((rows[one] - rows[two]) ** 2).sum(axis=1))
        if self._soft_pins is not None:
            points, places, weights = self._soft_pins
            total += float(weights @ ((rows[points] - places) ** 2).sum(axis=1))
        return total

    @cached_property
    def held(self) -> Flags:
        """Flag for each coordinate of the points, point after point: true if it is fixed."""
        n, d, pins = len(self.problem.points), self.problem.n_components, self.bonds.pins
        return np.zeros(n * d, dtype=bool) if pins is None else pins.flags(n)

    @cached_property
    def _held(self) -> Flags:
        """The same with the added points, of which those of pins are fixed."""
        d = self.problem.n_components
        ties, pins = (
            0 if terms is None else d * len(terms[0]) for terms in (self._strong_ties, self._soft_pins)
        )
        return np.concatenate([self.held, np.zeros(ties, dtype=bool), np.ones(pins, dtype=bool)])

    @cached_property
    def _unit(self) -> float:
        """The factor of weights: as much as the neighborhoods that hold the usual point have for it."""
        return float(np.median(self.problem.diagonal()))

    @cached_property
    def _strong_ties(self) -> tuple[npt.NDArray[np.intp], Array] | None:
        """Pairs of points and the factors of their terms, if there are any."""
        ties = self.bonds.ties
        if ties is None or not ties.weights.any():
            return None
        strong = ties.weights > 0
        return ties.pairs[strong], self._unit * ties.weights[strong]

    @cached_property
    def _soft_pins(self) -> tuple[npt.NDArray[np.intp], Array, Array] | None:
        """Points, their places and the factors of their terms, if there are any."""
        pins = self.bonds.pins
        if pins is None or not pins.is_soft.any():
            return None
        soft = pins.is_soft
        return pins.rows[soft], pins.places[soft], self._unit * pins.weights[soft]

    @cached_property
    def _extended(self) -> _core.Problem:
        """The matrix of eq. 11 with the neighborhoods of the added points."""
        problem, graph = self.problem, self.problem.graph
        d = problem.n_components
        lists, sizes, weights = [graph.indices], [_sizes(graph)], [problem.weights()]
        if self._strong_ties is not None:
            pairs, factors = self._strong_ties
            lists.append(pairs.ravel().astype(np.uint32))
            sizes.append(np.full(len(pairs), 2))
            weights.append(2.0 * factors)
        if self._soft_pins is not None:
            points, _, factors = self._soft_pins
            lists.append(points.astype(np.uint32))
            sizes.append(np.ones(len(points), dtype=np.int64))
            weights.append(2.0 * factors)
        indptr = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
        extended = _core.Graph(np.concatenate(lists), indptr=indptr)
        # Only the matrix is used, so the points may all be one.
        nowhere = _core.Points(np.zeros((len(indptr) - 1, d), dtype=np.float32))
        return _core.Problem(nowhere, extended, d, "R", problem.n_jobs, weights=np.concatenate(weights))


def _sizes(graph: _core.Graph) -> npt.NDArray[np.int64]:
    """Return the number of neighbors of each point."""
    return np.full(len(graph), graph.n_neighbors) if graph.indptr is None else np.diff(graph.indptr)
