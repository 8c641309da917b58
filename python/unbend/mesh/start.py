"""Maps of a disc that have no flip: where a descent begins.

Tutte (1963): with the boundary on a convex curve and every other vertex at the mean of its neighbors, no triangle
flips. Our alignment (Goldberg and Ritov 2009, section 4.2) is nearer to an isometry, but it may flip triangles.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix, diags

from .. import _core
from ..core.progress import Progress
from ..fit.assembly import conjugate_gradients, one_blas_thread
from ..fit.problem import Problem
from ..fit.procrustes.alignment import AlignmentSettings
from ..fit.run import flatten as embedded
from .descent import factored
from .energy import Array, Complex, Faces, FlatMesh

__all__ = ["MIN_ALIGNED_FACES", "aligned", "tutte"]

MIN_ALIGNED_FACES = 200_000
"""From this number of triangles on, alignment is tried first: the way from it is much shorter than from Tutte."""

TOLERANCES, MAX_STEPS = (1e-6, 1e-9, 1e-12), 400
"""Tolerances of Tutte's system, tried until no triangle flips, and steps of conjugate gradients for each."""


def aligned(problem: Problem, progress: Progress) -> Complex:
    """Return the embedding by alignment, which may flip triangles."""
    settings = AlignmentSettings(cut=False, refine=None, solve_tol=1e-3)
    y = embedded(settings, problem, progress).embedding
    z: Complex = y[:, 0] + 1j * y[:, 1]
    return z


def tutte(mesh: FlatMesh, points: Array, loop: Faces, core: _core.Problem) -> Complex | None:
    """Return Tutte's map to the disc of the mesh's area, or None if rounding flips a triangle."""
    step = np.linalg.norm(points[loop] - np.roll(points[loop], 1, axis=0), axis=1)
    # Equal points on the boundary must not coincide on the circle.
    step = np.maximum(step, 1e-3 * (step.mean() or 1.0))
    angle = 2 * np.pi * np.cumsum(step) / step.sum()
    z = np.zeros(mesh.n, complex)
    z[loop] = np.sqrt(mesh.area / np.pi) * np.exp(1j * angle)
    inner = np.setdiff1d(np.arange(mesh.n), loop)
    if len(inner) == 0:
        return z if mesh.n_flipped(z) == 0 else None
    pattern = mesh.pattern
    ones = csr_matrix((np.ones(len(pattern.indices)), pattern.indices, pattern.indptr), shape=(mesh.n,) * 2)
    laplacian = (diags(np.asarray(ones.sum(axis=1)).ravel()) - ones)[inner]
    matrix, right_hand_side = laplacian[:, inner].tocsr(), -(laplacian[:, loop] @ z[loop])
    with one_blas_thread():
        for tolerance in TOLERANCES:
            z[inner] = _solved(matrix, right_hand_side, z[inner], tolerance, inner, core, mesh.n)
            if mesh.n_flipped(z) == 0:
                return z
        solution = factored(matrix)(right_hand_side.view(float))
    z[inner] = np.ascontiguousarray(solution).view(complex)
    return z if mesh.n_flipped(z) == 0 else None


def _solved(
    matrix: csr_matrix,
    right_hand_side: Complex,
    start: Complex,
    tolerance: float,
    inner: Faces,
    core: _core.Problem,
    n: int,
) -> Complex:
    """Solve Tutte's system by conjugate gradients and multigrid of all vertices."""

    def apply(v: Array) -> Array:
        return np.asarray(matrix @ v.reshape(-1, 2)).ravel()

    def precondition(v: Array) -> Array:
        whole = np.zeros((n, 2))
        whole[inner] = v.reshape(-1, 2)
        return np.asarray(core.cycle(whole.ravel())).reshape(-1, 2)[inner].ravel()

    residual = right_hand_side.view(float) - apply(start.view(float))
    limit = tolerance * float(np.linalg.norm(right_hand_side))
    change = conjugate_gradients(apply, residual, precondition, limit, MAX_STEPS)
    solution: Complex = start + np.ascontiguousarray(change).view(complex)
    return solution
