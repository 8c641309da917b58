"""Weighted raw stress, and its minimum by accelerated majorization.

Stress is the sum of w_ij (|y_i - y_j| - d_ij)^2 over the measured pairs. The Guttman transform (de Leeuw
1977), one step of SMACOF, minimizes a quadratic bound: Y - V^+ G, where V is the Laplacian of the weights and
G half the gradient. It never raises the stress, but bends a large graph back slowly. L-BFGS with V^+ as its
first inverse Hessian begins with the same step and needs a tenth of the steps. Where a step of it would raise
the stress, its memory is dropped and the Guttman transform is taken, so that each step lowers the stress.
Cost of a step: O(m d), and two triangular solves with the factor of V.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array, csr_array, diags_array
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from ..assembly import conjugate_gradients, one_blas_thread
from ..problem import Array
from .pairs import Ends, MeasuredPairs, symmetric

__all__ = ["Laplacian", "Minimum", "Stress", "minimize", "profile"]

MAX_FACTOR_ENTRIES = 3 * 10**8
"""Bound of the entries of a factor in the order of Cuthill and McKee. Above it, systems are solved by conjugate
gradients: graphs without small separators fill their factor, and are well conditioned."""

MAX_FACTOR_DENSITY, MAX_DENSE_POINTS = 0.5, 300
"""If the same bound is above this share of all pairs, systems are solved by conjugate gradients as well, unless
the points are few."""

SOLVE_TOL, MAX_SOLVE_STEPS = 1e-10, 1000
"""Conjugate gradients end at this residual, as a share of the right-hand side, or after this number of
steps."""

MEMORY = 8
"""Number of earlier steps that L-BFGS combines."""

WINDOW = 5
"""The decrease of the stress is judged over this number of steps."""

EXACT = 1e-24
"""Stress up to this share of the sum of w d^2 is rounding."""

LEAST_CURVATURE = 1e-10
"""Steps along which the gradient hardly changes, by this cosine, are not kept in the memory of L-BFGS."""


class Stress:
    """Weighted raw stress of embeddings of measured pairs."""

    def __init__(self, pairs: MeasuredPairs) -> None:
        m = len(pairs)
        self._distances, self._weights = pairs.distances, pairs.weights
        values = np.tile([1.0, -1.0], m)
        indptr = np.arange(0, 2 * m + 1, 2)
        self._differences = csr_array((values, pairs.ends.ravel(), indptr), shape=(m, pairs.n_points))
        self._sums = csr_array(self._differences.T)
        self.total = float(pairs.weights @ pairs.distances**2)

    def lengths(self, y: Array) -> Array:
        """Return the distances of the pairs in an embedding."""
        steps = self._differences @ y
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", steps, steps)))

    def value(self, y: Array) -> float:
        """Return the stress."""
        return float(self._weights @ (self.lengths(y) - self._distances) ** 2)

    def __call__(self, y: Array) -> tuple[float, Array]:
        """Return the stress, and half its gradient."""
        steps = self._differences @ y
        lengths = np.sqrt(np.einsum("ij,ij->i", steps, steps))
        residuals = lengths - self._distances
        # Coinciding points have no force on each other, as in SMACOF.
        pulls = np.divide(self._weights * residuals, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        return float(self._weights @ residuals**2), self._sums @ (pulls[:, None] * steps)

    def divergence(self, vectors: Array) -> Array:
        """Return the right-hand side of the system for points whose differences are these vectors, weighted."""
        return np.asarray(self._sums @ (self._weights[:, None] * vectors))


class Laplacian:
    """The Laplacian V of the weights of pairs, and its inverse on vectors whose mean on each component is 0."""

    def __init__(self, n: int, ends: Ends, weights: Array) -> None:
        joined = symmetric(n, ends, weights / weights.max(initial=0.0) if len(weights) else weights)
        self._unit = float(weights.max(initial=1.0)) or 1.0
        self._matrix = csr_array(diags_array(np.asarray(joined.sum(axis=1)).ravel()) - joined)
        self._labels = connected_components(joined, directed=False)[1]
        self._sizes = np.bincount(self._labels)[:, None]
        self._factor = None if _fills(joined) else self._factored()

    def solve(self, vectors: Array) -> Array:
        """Return V^+ times vectors of shape (n, d)."""
        solved = self._by_gradients(vectors) if self._factor is None else self._by_factor(vectors)
        return self._centered(solved) / self._unit

    def _factored(self) -> tuple[npt.NDArray[np.bool_], object]:
        free = np.ones(len(self._labels), dtype=bool)
        free[np.unique(self._labels, return_index=True)[1]] = False
        reduced = csc_array(self._matrix[free][:, free])
        options = {"SymmetricMode": True}
        if not free.any():
            return free, None
        return free, splu(reduced, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)

    def _by_factor(self, vectors: Array) -> Array:
        assert self._factor is not None
        free, factor = self._factor
        solved = np.zeros_like(vectors)
        if free.any():
            solved[free] = factor.solve(vectors[free])  # type: ignore[attr-defined]
        return solved

    def _by_gradients(self, vectors: Array) -> Array:
        centered = self._centered(vectors)
        shape, diagonal = vectors.shape, np.repeat(self._matrix.diagonal(), vectors.shape[1])
        inverse = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)

        def apply(v: Array) -> Array:
            return np.asarray(self._matrix @ v.reshape(shape)).ravel()

        limit = SOLVE_TOL * float(np.linalg.norm(centered))
        found = conjugate_gradients(apply, centered.ravel(), lambda v: inverse * v, limit, MAX_SOLVE_STEPS)
        return found.reshape(shape)

    def _centered(self, vectors: Array) -> Array:
        sums = np.stack([np.bincount(self._labels, column) for column in vectors.T], axis=1)
        centered: Array = vectors - (sums / self._sizes)[self._labels]
        return centered


def _fills(joined: csr_array) -> bool:
    """Return whether a factor would have too many entries."""
    n = joined.shape[0]
    limit = min(MAX_FACTOR_ENTRIES, MAX_FACTOR_DENSITY * n**2 / 2)
    return n > MAX_DENSE_POINTS and bool(profile(joined).sum() > limit)


def profile(joined: csr_array) -> npt.NDArray[np.int64]:
    """Return the number of entries of each row of a factor in the order of Cuthill and McKee, at most."""
    n = joined.shape[0]
    place = np.empty(n, dtype=np.int64)
    place[reverse_cuthill_mckee(joined, symmetric_mode=True)] = np.arange(n)
    first = np.arange(n)
    np.minimum.at(first, np.repeat(place, np.diff(joined.indptr)), place[joined.indices])
    return np.asarray(np.arange(n) - first + 1)


@dataclass(frozen=True, eq=False)
class Minimum:
    """End of the minimization of the stress."""

    coordinates: Array = field(repr=False)
    history: list[float] = field(repr=False)  # The stress before each step, and at the end.
    converged: bool

    @property
    def stress(self) -> float:
        """The least stress."""
        return self.history[-1]

    @property
    def n_iter(self) -> int:
        """Number of steps."""
        return len(self.history) - 1


def minimize(
    stress: Stress,
    laplacian: Laplacian,
    start: Array,
    max_iter: int,
    tol: float,
    *,
    accelerate: bool = True,
    ask: Callable[[int, float], None] | None = None,
) -> Minimum:
    """Lower the stress until a step lowers it by less than a share of `tol`, on average over five steps.

    `ask` is called after every step with its number and the stress, and may raise.
    """
    with one_blas_thread():
        y, memory = start, _Memory(MEMORY if accelerate else 0)
        value, gradient = stress(y)
        history, converged = [value], value <= EXACT * stress.total
        while not converged and len(history) <= max_iter:
            y, value, gradient = _step(stress, laplacian, memory, y, value, gradient)
            history.append(value)
            converged = value <= EXACT * stress.total or _stalls(history, tol)
            if ask is not None:
                ask(len(history) - 1, value)
    return Minimum(y, history, converged)


def _step(
    stress: Stress, laplacian: Laplacian, memory: _Memory, y: Array, value: float, gradient: Array
) -> tuple[Array, float, Array]:
    """Return the embedding after a step, its stress and half its gradient."""
    moved = y - memory.direction(gradient, laplacian)
    new_value, new_gradient = stress(moved)
    if new_value >= value and memory:
        memory.clear()
        moved = y - laplacian.solve(gradient)
        new_value, new_gradient = stress(moved)
    if new_value > value:  # by rounding alone
        return y, value, gradient
    memory.add(moved - y, new_gradient - gradient)
    return moved, new_value, new_gradient


def _stalls(history: list[float], tol: float) -> bool:
    steps = min(WINDOW, len(history) - 1)
    if history[-1] == history[-2]:
        return True
    return steps == WINDOW and history[-1 - steps] - history[-1] < steps * tol * history[-1 - steps]


class _Memory:
    """The last steps of L-BFGS, and the direction that they give (Nocedal & Wright, algorithm 7.4)."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._steps: list[tuple[Array, Array, float]] = []

    def __len__(self) -> int:
        return len(self._steps)

    def clear(self) -> None:
        """Clear all steps."""
        self._steps = []

    def add(self, step: Array, change: Array) -> None:
        """Keep a step and the change of the gradient along it, if the stress is convex along it."""
        product, sizes = float(np.vdot(step, change)), np.linalg.norm(step) * np.linalg.norm(change)
        if self._size and product > LEAST_CURVATURE * sizes:
            self._steps = [*self._steps, (step, change, product)][-self._size :]

    def direction(self, gradient: Array, laplacian: Laplacian) -> Array:
        """Return the step that the memory gives, from the Guttman transform."""
        left, shares = gradient.copy(), []
        for step, change, product in reversed(self._steps):
            share = float(np.vdot(step, left)) / product
            shares.append(share)
            left -= share * change
        direction = laplacian.solve(left)
        for (step, change, product), share in zip(self._steps, reversed(shares), strict=True):
            direction += (share - float(np.vdot(change, direction)) / product) * step
        return direction
