"""Maximum variance unfolding, also called semidefinite embedding (Weinberger & Saul 2006), from landmarks.

Of all point sets in which no two members of a neighborhood are farther apart than in the data, the one with the
largest variance: max tr(K) over positive semidefinite K with sum K = 0 and K_ii - 2 K_ij + K_jj <= |x_i - x_j|^2.
With landmarks (Weinberger, Packer & Saul 2005) K = Q L Q', where Q reproduces all points from m of them by the
weights of locally linear embedding. The program has m (m + 1) / 2 unknowns. Constraints are added where they are
violated, until none is. Cost: O(m^6) for each solution at worst, and O(n^2 m) for Q.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array, csr_array, diags_array, vstack
from sklearn.exceptions import ConvergenceWarning

from ... import _core
from ...core.caller import warn
from ...core.progress import Progress
from ...core.random import RandomState, stream
from ..embedding import Embedding
from ..problem import Array, Indices, Problem
from .scaling import draw_landmarks, signed

__all__ = ["MAX_POINTS", "UnfoldedEmbedding", "UnfoldingSettings", "load_solver"]

Pairs = npt.NDArray[np.intp]

MAX_POINTS = 2000
"""Largest number of points: the map from landmarks to points is found by dense linear algebra."""

DEFAULT_LANDMARKS = 25
"""Number of landmarks by default; the solver takes seconds for it, and minutes for twice as many."""

TOLERANCE = 1e-3
"""Squared distances may exceed those of the data by this share of their mean before a constraint is added."""

MAX_ROUNDS = 20
"""Number of programs that are solved at most; each has the violated constraints of the last one as well."""

NEGLIGIBLE = 1e-9
"""A direction of Q with a singular value below this share of the largest has no extent."""

ACCURACY = 1e-7
"""Tolerance that the solver aims at, for residuals and for the gap between the program and its dual."""

MAX_RESIDUAL, MAX_GAP = 1e-4, 1e-3
"""Largest residual, and largest gap as a share of the variance, of a solution that is accepted."""

REGULARIZATION = 1e-3
"""Regularization of the weights that reproduce a point, as a share of the trace of the Gram matrix."""


@dataclass(frozen=True, eq=False)
class UnfoldedEmbedding(Embedding):
    """An unfolding, and how many dimensions it has before it is cut down to d.

    Attributes
    ----------
    eigenvalues : ndarray
        Eigenvalues of K in falling order, of the largest component.
    landmarks : ndarray of uint32
        The points that all others are reproduced from, in rising order.
    """

    eigenvalues: Array
    landmarks: Indices = field(repr=False)


@dataclass(frozen=True)
class UnfoldingSettings:
    """The parameters of maximum variance unfolding; see :class:`unbend.MaximumVarianceUnfolding`."""

    n_landmarks: int | None = None
    random_state: RandomState = None

    renumbers = False

    def embed(self, problem: Problem, progress: Progress) -> UnfoldedEmbedding:
        """Unfold every component."""
        solver = load_solver()
        embedding = np.zeros((len(problem), problem.n_components))
        landmarks, eigenvalues, traces = [], [], []
        rng = stream(self.random_state, "landmarks")
        for points in sorted(problem.components, key=len, reverse=True):
            chosen = draw_landmarks(points, self.n_landmarks or DEFAULT_LANDMARKS, rng)
            part = problem if len(points) == len(problem) else problem.part(points)
            with progress.stage("unfolding"):
                factor, trace = _unfolded(part, np.searchsorted(points, chosen), solver, progress)
            embedding[points], values = _widest(factor, problem.n_components)
            landmarks.append(chosen)
            eigenvalues.append(values)
            traces.append(trace)
        return UnfoldedEmbedding(
            embedding,
            trace={"components": traces},
            eigenvalues=eigenvalues[0],
            landmarks=np.sort(np.concatenate(landmarks)),
        )


def load_solver() -> ModuleType:
    """Return the conic solver, or say how to get it."""
    try:
        return import_module("clarabel")
    except ImportError:
        raise ImportError(
            "maximum variance unfolding needs the conic solver Clarabel, which is not installed: run "
            "`pip install unbend[mvu]` or `pip install clarabel`"
        ) from None


def _unfolded(
    problem: Problem, landmarks: Pairs, solver: ModuleType, progress: Progress
) -> tuple[Array, dict[str, Any]]:
    """Return a factor of K, with a row for each point, and the record of the programs."""
    x = np.asarray(problem.points, dtype=np.float64)
    pairs = _pairs_within_neighborhoods(problem)
    squares = ((x[pairs[:, 0]] - x[pairs[:, 1]]) ** 2).sum(axis=1)
    unit = squares.mean() if len(pairs) else 0.0
    if unit == 0:
        return np.zeros((len(x), 1)), {"constraints": 0, "rounds": 0, "landmarks": len(landmarks)}
    reproduced = _reproduced(problem, landmarks, progress)
    program = _Program(_centered(reproduced), pairs, squares / unit, solver)
    while program.grow():
        if progress.report("unfolding", 0, 0):
            raise _core.Stopped
    trace = {"constraints": len(program.used), "rounds": program.rounds, "landmarks": len(landmarks)}
    return np.sqrt(unit) * program.factor(), trace


def _pairs_within_neighborhoods(problem: Problem) -> Pairs:
    """Return all pairs of points that are in one neighborhood, the point itself included, the lower first."""
    graph = problem.neighborhoods
    n, ends = len(graph), graph.indices.astype(np.intp)
    starts = np.repeat(np.arange(n), np.diff(graph.indptr))
    holds = csr_array((np.ones(len(ends)), (starts, ends)), shape=(n, n)) + diags_array(
        np.ones(n), format="csr"
    )
    together = csr_array(holds.T @ holds).tocoo()
    above = together.row < together.col
    pairs = np.column_stack([together.row[above], together.col[above]]).astype(np.intp)
    return pairs[np.lexsort(pairs.T[::-1])]


def _reproduced(problem: Problem, landmarks: Pairs, progress: Progress) -> Array:
    """Return Q, which reproduces all points from landmarks, by the least cost of locally linear embedding."""
    n, m = len(problem), len(landmarks)
    if m == n:
        return np.eye(n)
    graph, threads = problem.neighborhoods.core, problem.threads
    weights = _core.LocalWeights.lle(
        problem.checked, graph, "tikhonov", REGULARIZATION, problem.n_components, threads, progress.progress
    )
    indptr, indices, data = weights.matrix(progress.progress)
    cost = csr_array((data, indices.view(np.int32), indptr), shape=(n, n)).toarray()
    others = np.setdiff1d(np.arange(n), landmarks)
    found = np.zeros((n, m))
    found[landmarks] = np.eye(m)
    found[others] = np.linalg.lstsq(
        cost[np.ix_(others, others)], -cost[np.ix_(others, landmarks)], rcond=None
    )[0]
    return found


def _centered(reproduced: Array) -> Array:
    """Return an orthogonal basis of the columns of Q about their means.

    Inner products in it have their mean at the origin, which leaves an interior to the semidefinite cone, and
    their trace is the variance: the solver needs both.
    """
    left, lengths, _ = np.linalg.svd(reproduced - reproduced.mean(axis=0), full_matrices=False)
    return np.asarray(np.sqrt(len(left)) * left[:, lengths > NEGLIGIBLE * lengths[0]])


class _Program:
    """The semidefinite program of one component, with as many of its constraints as are needed."""

    def __init__(self, reproduced: Array, pairs: Pairs, squares: Array, solver: ModuleType) -> None:
        self._solver, self._squares, self._m = solver, squares, reproduced.shape[1]
        self._reproduced = reproduced
        self._differences = reproduced[pairs[:, 0]] - reproduced[pairs[:, 1]]
        self._rows, self._columns = _triangle(self._m)
        count = min(len(pairs), 2 * len(self._rows))
        self.used = np.unique(np.linspace(0, len(pairs) - 1, count).astype(np.intp))
        self.rounds, self._inner = 0, np.zeros((self._m, self._m))

    def grow(self) -> bool:
        """Solve the program, and add the constraints that are violated; return whether there are any."""
        self._inner = self._solved()
        self.rounds += 1
        excess = np.einsum("pm,mk,pk->p", self._differences, self._inner, self._differences) - self._squares
        excess[self.used] = 0.0
        violated = np.flatnonzero(excess > TOLERANCE)
        if len(violated) and self.rounds == MAX_ROUNDS:
            warn(
                f"{len(violated):,} distances exceed those of the data after {MAX_ROUNDS} programs, the largest "
                f"square by {excess.max():.2g} of the mean square, more than {TOLERANCE:g}",
                ConvergenceWarning,
            )
        if not len(violated) or self.rounds == MAX_ROUNDS:
            return False
        worst = violated[np.argsort(-excess[violated], kind="stable")[: 2 * len(self._rows)]]
        self.used = np.sort(np.concatenate([self.used, worst]))
        return True

    def factor(self) -> Array:
        """Return a factor of the inner products of all points."""
        values, vectors = np.linalg.eigh(self._inner)
        return np.asarray(self._reproduced @ (vectors * np.sqrt(np.maximum(values, 0.0))))

    def _solved(self) -> Array:
        """Return the inner products of the landmarks that maximize the variance of all points."""
        solver, unknowns = self._solver, len(self._rows)
        own = self._differences[self.used]
        constraints = vstack(
            [
                csr_array(self._coefficients(own)),
                -diags_array(np.where(self._rows == self._columns, 1.0, np.sqrt(2.0))),
            ],
            format="csc",
        )
        bounds = np.concatenate([self._squares[self.used], np.zeros(unknowns)])
        cones = [solver.NonnegativeConeT(len(own)), solver.PSDTriangleConeT(self._m)]
        settings = solver.DefaultSettings()
        settings.verbose = False
        settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = ACCURACY
        trace = np.where(self._rows == self._columns, 1.0, 0.0)
        found = solver.DefaultSolver(
            csc_array((unknowns, unknowns)), -trace, csc_array(constraints), bounds, cones, settings
        ).solve()
        gap = abs(found.obj_val - found.obj_val_dual)
        if not (max(found.r_prim, found.r_dual) < MAX_RESIDUAL and gap < MAX_GAP * abs(found.obj_val)):
            raise RuntimeError(
                f"Clarabel ended with the status {found.status}: change n_neighbors or n_landmarks"
            )
        inner = np.zeros((self._m, self._m))
        inner[self._rows, self._columns] = found.x
        return np.asarray(inner + np.triu(inner, 1).T)

    def _coefficients(self, vectors: Array) -> Array:
        """Return v' L v of vectors as linear functions of the upper triangle of L."""
        twice = np.where(self._rows == self._columns, 1.0, 2.0)
        return np.asarray(vectors[:, self._rows] * vectors[:, self._columns] * twice)


def _triangle(m: int) -> tuple[Pairs, Pairs]:
    """Return rows and columns of the upper triangle of a matrix, column by column."""
    columns, rows = np.tril_indices(m)
    return rows, columns


def _widest(factor: Array, d: int) -> tuple[Array, Array]:
    """Return the d widest coordinates of points that are given by a factor of K, and all eigenvalues."""
    centered = factor - factor.mean(axis=0)
    left, lengths, _ = np.linalg.svd(centered, full_matrices=False)
    found = np.zeros((len(factor), d))
    count = min(d, len(lengths))
    found[:, :count] = signed(left[:, :count]) * lengths[:count]
    return found, lengths**2
