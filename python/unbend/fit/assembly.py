"""The embedding that fits given frames best (Goldberg & Ritov 2009, eq. 11).

Conjugate gradients on S Y = B, S = sum of w_i H_i, by scipy around products and multigrid of the core: a number
of steps that hardly depends on n, each O(n k d).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from .. import _core
from .bonds.system import BoundSystem, HeldSystem
from .problem import Array

SOLVE_TOL = 2e-5
"""Residual to which eq. 11 is solved: what is left changes R_N by less than 2e-5 of its lower bound."""

__all__ = ["SOLVE_TOL", "Solution", "conjugate_gradients", "one_blas_thread", "solve", "solve_bound"]


@dataclass(frozen=True)
class Solution:
    """An embedding, and how well it solves eq. 11."""

    # Shape (n d,). Point after point. Its mean on every component of the graph is that of the start.
    embedding: Array = field(repr=False)
    residual: float  # |B - S Y| / |B|, computed from the embedding itself.
    n_iter: int  # Number of steps.
    converged: bool  # True if the residual is within the tolerance.


@np.errstate(over="ignore", invalid="ignore")  # an overflow ends in a residual that is not small
def solve(
    problem: _core.Problem | HeldSystem,
    right_hand_side: Array,
    start: Array,
    *,
    tol: float = 1e-8,
    reduction: float = 0.0,
    max_iter: int = 500,
    ask: Callable[[], None] | None = None,
    preconditioner: Callable[[Array], Array] | None = None,
) -> Solution:
    """Solve S Y = B by conjugate gradients, for vectors of shape (n d,), point after point.

    B sums to zero on every component, up to rounding. The solution ends when the residual is `tol` times |B| or
    `reduction` times its first value, or after `max_iter` steps. `ask` is called after every step and may raise.
    `preconditioner` is approximately S^-1; by default it is multigrid.
    """
    steps = 0

    def count(_: Array) -> None:
        nonlocal steps
        steps += 1
        if ask is not None:
            ask()

    with one_blas_thread():
        size = float(np.linalg.norm(right_hand_side)) or 1.0
        first = problem.residual(right_hand_side, start)
        residual = float(np.linalg.norm(first))
        if max_iter < 1 or residual <= tol * size:
            return Solution(start.copy(), residual / size, 0, residual <= 1.01 * tol * size)
        # The change alone is solved for, and its means are zero: those of the start stay as they are.
        precondition = preconditioner or problem.precondition
        limit = max(tol * size, reduction * residual)
        change = conjugate_gradients(problem.apply, first, precondition, limit, max_iter, count)
        embedding, left = problem.moved(right_hand_side, start, change)
        residual = float(np.linalg.norm(left)) / size
    # The residual that conjugate gradients carry along may be a little below the true one.
    return Solution(embedding, residual, steps, residual <= 1.01 * tol)


def solve_bound(
    bound: BoundSystem, problem: _core.Problem, right_hand_side: Array, start: Array, **limits: Any
) -> Solution:
    """Solve eq. 11 together with the terms of its bonds, as `solve` does.

    `problem` is that of the bonds, or has other weights.
    """
    begun, sides = bound.start(start), bound.right_hand_side(right_hand_side)
    precondition = bound.of(bound.problem).precondition
    found = solve(bound.of(problem), sides, begun, preconditioner=precondition, **limits)
    return replace(found, embedding=found.embedding[: len(start)])


@np.errstate(over="ignore", invalid="ignore")
def conjugate_gradients(
    apply: Callable[[Array], Array],
    right_hand_side: Array,
    precondition: Callable[[Array], Array],
    tolerance: float,
    max_iter: int,
    callback: Callable[[Array], None] | None = None,
) -> Array:
    """Solve a symmetric system from zero, until the norm of the residual is within the tolerance."""
    from scipy.sparse.linalg import LinearOperator, cg

    shape = (len(right_hand_side), len(right_hand_side))
    solution, _ = cg(
        LinearOperator(shape, matvec=apply, dtype=np.float64),
        right_hand_side,
        M=LinearOperator(shape, matvec=precondition, dtype=np.float64),
        rtol=0.0,
        atol=tolerance,
        maxiter=max_iter,
        callback=callback,
    )
    return np.asarray(solution)


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which BLAS uses one thread.

    Several threads add up products in another order, so the result would depend on their number; and vectors
    are too short to gain from them.
    """
    context: AbstractContextManager[Any] = _blas().limit(limits=1, user_api="blas")
    return context


@cache
def _blas() -> Any:
    import scipy.linalg  # noqa: F401 - only a library that is loaded is found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
