"""Energies of flat meshes made small, without a flip on the way.

Newton's method with a positive semidefinite Hessian: a step is the solution of one sparse system by conjugate
gradients, preconditioned by the multigrid of eq. 11, whose matrix is like that of a nearly isometric map. No step
goes farther than 0.9 of the way to where the first triangle loses its area (Smith and Schaefer 2015), and it is
halved until the energy falls. SLIM (Rabinovich et al. 2017) does the same with a proxy instead of the Hessian.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy.sparse import bsr_matrix, csr_matrix, identity
from scipy.sparse.linalg import splu

from .. import _core
from ..fit.assembly import conjugate_gradients, one_blas_thread
from .energy import Array, Complex, Energy, FlatMesh, SymmetricDirichlet

__all__ = ["MAX_UNTANGLING_STEPS", "Descent", "Report", "Status", "factored", "minimized", "untangled"]

Status = Literal["converged", "max_iter", "stopped"]
Report = Callable[[int, float], bool]
"""Takes the number of steps and the energy, and returns whether to stop."""

MAX_SHARE = 0.9
"""Share of the way to the first flip that a step goes at most."""

ARMIJO = 1e-4
"""Share of the linear decrease that a step must reach."""

MAX_HALVINGS = 40

CG_TOLERANCE, MAX_CG_STEPS = 0.05, 100
"""Reduction of the residual in each Newton step, and the number of steps of conjugate gradients at most."""

MAX_FACTORED = 200_000
"""Up to this number of vertices, a factor of the Hessian's trace takes over where multigrid does not converge."""

ROUNDING = 1e-13
"""An energy is at its minimum when it exceeds it by less."""

FIRST_EPSILON, SETTLED_SHARE, MAX_UNTANGLING_STEPS = 0.25, 0.05, 60
"""Flips are removed with this regularization at first, which is halved when a step lowers the excess of the energy
by a smaller share. After this number of steps, flips stay."""

REGULARIZATION = 1e-9
"""Share of its mean that is added to a diagonal before it is factored: translations cost nothing."""


@dataclass(frozen=True, eq=False)
class Descent:
    """A flat mesh, and how its energy fell."""

    z: Complex = field(repr=False)
    history: list[float]  # The energy before the first step and after each.
    status: Status


def minimized(
    mesh: FlatMesh,
    energy: Energy,
    z: Complex,
    core: _core.Problem,
    *,
    tol: float,
    max_iter: int,
    report: Report,
) -> Descent:
    """Lower the energy of a flat mesh without a flip, until a step gains less than `tol` of its excess."""
    history = [mesh.value(energy, z)]
    solver = _Solver(mesh, core)
    with one_blas_thread():
        for step in range(max_iter):
            if report(step, history[-1]):
                return Descent(z, history, "stopped")
            gradient, blocks = mesh.expansion(energy, z)
            change = solver.solved(blocks, -gradient, _forcing(history))
            z, value = _searched(mesh, energy, z, change, history[-1], gradient)
            gain = history[-1] - value
            history.append(value)
            if gain <= max(tol * (history[-2] - energy.minimum), ROUNDING):
                return Descent(z, history, "converged")
    return Descent(z, history, "max_iter")


def untangled(mesh: FlatMesh, z: Complex, core: _core.Problem, report: Report) -> Complex | None:
    """Return a map without a flip near one that has some, or None if none is found.

    The energy is finite for flipped triangles, and rises steeply with them (Garanzha et al. 2021). It is made
    steeper when it falls no more.
    """
    energy = SymmetricDirichlet(FIRST_EPSILON)
    solver, value = _Solver(mesh, core), mesh.value(energy, z)
    with one_blas_thread():
        for step in range(MAX_UNTANGLING_STEPS):
            if mesh.n_flipped(z) == 0:
                return z
            if report(step, value):
                raise _core.Stopped
            gradient, blocks = mesh.expansion(energy, z)
            change = solver.solved(blocks, -gradient, CG_TOLERANCE)
            before = value
            z, value = _searched(mesh, energy, z, change, before, gradient)
            if before - value < SETTLED_SHARE * abs(before - energy.minimum):
                energy = SymmetricDirichlet(energy.epsilon / 2)
                value = mesh.value(energy, z)
    return z if mesh.n_flipped(z) == 0 else None


def _forcing(history: list[float]) -> float:
    """Return the tolerance of conjugate gradients, tighter where steps gain little, so that Newton is fast."""
    gain = history[-2] - history[-1] if len(history) > 1 else 1.0
    return float(np.clip(np.sqrt(max(gain, 0.0)), 1e-4, CG_TOLERANCE))


def _searched(
    mesh: FlatMesh, energy: Energy, z: Complex, change: Complex, value: float, gradient: Complex
) -> tuple[Complex, float]:
    """Return the end of a step that lowers the energy, or the start if none does."""
    slope = float((np.conj(gradient) * change).real.sum())
    length = min(1.0, MAX_SHARE * _to_first_flip(mesh, z, change)) if energy.is_barrier else 1.0
    for _ in range(MAX_HALVINGS):
        end = z + length * change
        reached = mesh.value(energy, end)
        if reached <= value + ARMIJO * length * slope:
            return end, reached
        length /= 2
    return z, value


def _to_first_flip(mesh: FlatMesh, z: Complex, change: Complex) -> float:
    """Return the smallest positive length at which a triangle loses its area."""
    alpha, beta = mesh.split(z)
    by_alpha, by_beta = mesh.split(change)
    constant = np.abs(alpha) ** 2 - np.abs(beta) ** 2
    linear = 2 * ((alpha * np.conj(by_alpha)).real - (beta * np.conj(by_beta)).real)
    square = np.abs(by_alpha) ** 2 - np.abs(by_beta) ** 2
    discriminant = linear**2 - 4 * constant * square
    # The smaller positive root of constant + linear t + square t^2, where constant is positive.
    denominator = np.sqrt(np.maximum(discriminant, 0)) - linear
    flips = (discriminant >= 0) & (denominator > 0)
    return float(np.min(2 * constant[flips] / denominator[flips], initial=np.inf))


class _Solver:
    """Newton systems of one mesh, by multigrid as long as it converges."""

    def __init__(self, mesh: FlatMesh, core: _core.Problem) -> None:
        self.mesh = mesh
        self.precondition: Callable[[Array], Array] = core.cycle
        self.factors = False

    def solved(self, blocks: Array, right_hand_side: Complex, tolerance: float) -> Complex:
        """Solve a system to a reduction of its residual, or as far as a number of steps goes."""
        pattern = self.mesh.pattern
        shape = (2 * self.mesh.n, 2 * self.mesh.n)
        matrix = bsr_matrix((blocks, pattern.indices, pattern.indptr), shape=shape).tocsr()
        flat = right_hand_side.view(float)
        limit = tolerance * float(np.linalg.norm(flat))
        precondition = self._factored(blocks) if self.factors else self.precondition
        steps = 0

        def count(_: Array) -> None:
            nonlocal steps
            steps += 1

        solution = conjugate_gradients(matrix.dot, flat, precondition, limit, MAX_CG_STEPS, count)
        if steps >= MAX_CG_STEPS and not self.factors and self.mesh.n <= MAX_FACTORED:
            self.factors = True
            return self.solved(blocks, right_hand_side, tolerance)
        return np.ascontiguousarray(solution).view(complex)

    def _factored(self, blocks: Array) -> Callable[[Array], Array]:
        pattern = self.mesh.pattern
        trace = (blocks[:, 0, 0] + blocks[:, 1, 1]) / 2
        return factored(csr_matrix((trace, pattern.indices, pattern.indptr), shape=(self.mesh.n,) * 2))


def factored(matrix: csr_matrix, n_columns: int = 2) -> Callable[[Array], Array]:
    """Return the inverse of a symmetric positive semidefinite matrix, by default for both coordinates at once."""
    shift = REGULARIZATION * float(matrix.diagonal().mean())
    n = matrix.shape[0]
    factor = splu(
        (matrix + shift * identity(n)).tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    return lambda v: factor.solve(np.ascontiguousarray(v.reshape(n, n_columns))).ravel()
