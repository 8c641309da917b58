"""The embedding that fits given frames best (Goldberg & Ritov 2009, eq. 11).

Conjugate gradients on (sum of w_i H_i) Y = B, with multigrid as the approximate inverse: a number of steps
that hardly depends on n, each O(n k d).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core

__all__ = ["Solution", "solve"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Solution:
    """An embedding, and how well it solves eq. 11.

    Attributes
    ----------
    embedding : ndarray of shape (n d,)
        Point after point. Its mean on every component of the graph is that of the start.
    residual : float
        |B - S Y| / |B|, computed from the embedding itself.
    n_iter : int
        How many steps were taken.
    converged : bool
        Whether the residual is as small as was asked for.
    """

    embedding: Array = field(repr=False)
    residual: float
    n_iter: int
    converged: bool


def solve(
    core: _core.Refiner,
    graph: Any,
    sides: Array,
    start: Array,
    *,
    d: int,
    tol: float = 1e-8,
    reduction: float = 0.0,
    max_iter: int = 500,
    ask: Callable[[], None] | None = None,
    preconditioner: Callable[[Array], Array] | None = None,
) -> Solution:
    """Solve S Y = B by conjugate gradients, from ``start``.

    Parameters
    ----------
    core : _core.Refiner
        Knows S = sum of w_i H_i.
    graph : dict
        The graph it was made for.
    sides : ndarray of shape (n d,)
        B, point after point. It sums to zero on every component, up to rounding.
    start : ndarray of shape (n d,)
        Where to begin.
    d : int
        Number of columns.
    tol : float, default 1e-8
        Share of |B| at which to stop.
    reduction : float, default 0
        Or share of the residual at the start, whichever is larger.
    max_iter : int, default 500
        Number of steps.
    ask : callable, optional
        Called after every step; ends the computation by raising.
    preconditioner : callable, optional
        Approximately S^-1 times a vector. Multigrid, set up anew, by default.

    Returns
    -------
    Solution

    Raises
    ------
    ValueError
        If the arrays do not belong to the graph.
    """
    if sides.shape != start.shape:
        raise ValueError(f"the right-hand side has shape {sides.shape}, but the start has {start.shape}")
    task = _System(core, graph, d)
    with one_blas_thread():
        return _solved(task, sides, start, tol, reduction, max_iter, _Count(ask), preconditioner)


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which products of vectors run on one thread.

    On several they are added up in another order, so the result would depend on how many there are. Nor would
    it come sooner: vectors are short, and on a machine with other work threads wait for each other.
    """
    context: AbstractContextManager[Any] = _blas().limit(limits=1, user_api="blas")
    return context


@cache
def _blas() -> Any:
    import scipy.linalg  # noqa: F401 - only a library that is loaded is found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _solved(
    task: _System,
    sides: Array,
    start: Array,
    tol: float,
    reduction: float,
    max_iter: int,
    count: _Count,
    preconditioner: Callable[[Array], Array] | None,
) -> Solution:
    from scipy.sparse.linalg import LinearOperator, cg

    size = float(np.linalg.norm(sides))
    if size == 0:
        size = 1.0  # then what is asked for is a residual of tol
    first = task.centred(task.missing(sides, start))  # what it lacks of that is rounding
    missing = float(np.linalg.norm(first))
    if max_iter < 1 or missing <= tol * size:
        return _solution(start.copy(), first, size, tol, 0)
    precondition = preconditioner or task.multigrid()
    square = (len(sides), len(sides))
    # for the change alone, whose means are zero: those of the start stay whatever it is rounded to
    change, _ = cg(
        LinearOperator(square, matvec=task.apply, dtype=np.float64),
        first,
        M=LinearOperator(
            square, matvec=lambda v: task.centred(precondition(task.centred(v))), dtype=np.float64
        ),
        rtol=0.0,
        atol=max(tol * size, reduction * missing),
        maxiter=max_iter,
        callback=count,
    )
    embedding = start + task.centred(np.asarray(change))
    return _solution(embedding, task.missing(sides, embedding), size, tol, count.steps)


def _solution(embedding: Array, missing: Array, size: float, tol: float, steps: int) -> Solution:
    residual = float(np.linalg.norm(missing)) / size
    # the residual that conjugate gradients carry along may be a little below the true one
    return Solution(embedding, residual, steps, residual <= 1.01 * tol)


class _Count:
    """Steps so far."""

    def __init__(self, ask: Callable[[], None] | None) -> None:
        self.steps, self._ask = 0, ask

    def __call__(self, _: Array) -> None:
        self.steps += 1
        if self._ask is not None:
            self._ask()


class _System:
    """S, and its null space: what is constant on every component."""

    def __init__(self, core: _core.Refiner, graph: Any, d: int) -> None:
        self._core, self._graph, self._d = core, graph, d
        labels = _core.components(graph).astype(np.intp)
        self._labels = labels if labels.any() else None
        self._sizes = np.bincount(labels).astype(np.float64)

    def apply(self, y: Array) -> Array:
        return self._core.apply(self._graph, y)

    def missing(self, sides: Array, y: Array) -> Array:
        return sides - self.apply(y)

    def multigrid(self) -> Callable[[Array], Array]:
        multigrid = self._core.multigrid(self._graph)
        return lambda v: multigrid.cycle(v, self._d)

    def centred(self, y: Array) -> Array:
        """Return `y` without its mean on every component."""
        if self._labels is None:
            return self._core.centred(y, self._d)
        columns = y.reshape(-1, self._d)
        sums = [np.bincount(self._labels, column) for column in columns.T]
        means = np.stack(sums, axis=1) / self._sizes[:, None]
        return np.asarray(columns - means[self._labels], dtype=np.float64).ravel()
