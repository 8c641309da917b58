"""Procrustes subspaces alignment (Goldberg & Ritov 2009, sections 4.2 and 4.3).

Tangents of all neighborhoods are rotated so that those of neighbors agree (eq. 9); eq. 11 gives the embedding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ... import _core
from ...core.caller import warn
from ...core.progress import Progress
from ...core.random import seed_from
from ...metrics.overlap import OVERLAPPING
from ..assembly import SOLVE_TOL, Solution, solve, solve_bound
from ..bonds.system import BoundSystem
from ..cut import MAX_DIM_KEPT_APART, NotFlatWarning, is_suspicious
from ..problem import Array, Indices, Problem
from ..spectral.connection import connection_vectors
from . import ProcrustesEmbedding, ProcrustesSettings, Stages

__all__ = ["AlignedEmbedding", "AlignmentSettings", "Method", "warn_if_not_flat"]

Found = TypeVar("Found", bound="AlignedEmbedding")
Method = Literal["auto", "tree", "spectral", "projection", "anneal", "paper"]
Frames = Method | Literal["guess"]
"""Source of frames: a method, or coordinates that come with the problem."""

MAX_SPECTRAL_POINTS = 20_000
"""Most points for which "auto" tries the connection matrix as well."""


@dataclass(frozen=True, eq=False)
class AlignedEmbedding(ProcrustesEmbedding):
    """An embedding by alignment, with its method and the pairs of neighbors whose frames do not agree."""

    alignment: str
    loops: Indices = field(repr=False)

    def restored(self: Found, problem: Problem) -> Found:
        """Return the embedding with its points in the original order."""
        return replace(super().restored(problem), loops=problem.restored_pairs(self.loops))

    def extended(self: Found, embedding: Array, rows: Indices | None) -> Found:
        """Return an embedding of more points, of which `rows` are its own: without a cut and a refinement."""
        loops = self.loops[:0] if rows is None else rows[self.loops]
        return replace(super().extended(embedding, rows), loops=loops)


@dataclass(frozen=True, kw_only=True)
class AlignmentSettings(ProcrustesSettings):
    """The parameters of the alignment; see :class:`unbend.ProcrustesAlignment`."""

    alignment: Method = "tree"
    annealing: Mapping[str, Any] | None = None
    overlap_penalty: float = 1.0
    solve_tol: float = SOLVE_TOL

    @property
    def widens_tangents(self) -> bool:
        """True but for the paper's algorithm, whose tangents are those of the neighborhoods."""
        return self.alignment != "paper"

    def embed(self, problem: Problem, progress: Progress) -> AlignedEmbedding:
        """Align the tangents, solve eq. 11, cut if the embedding cannot lie flat, and refine."""
        tangents = self.tangents(problem, progress)
        task = _Task(self, problem, tangents, progress)
        names: tuple[Frames, ...] = ("tree", "spectral", "projection")
        if problem.guess is not None:
            names = ("guess",)
        elif self.alignment != "auto":
            names = (self.alignment,)
        elif len(problem) > MAX_SPECTRAL_POINTS:
            names = ("tree", "projection")
        candidates = {name: task.candidate(name) for name in names}
        best = min(candidates, key=lambda name: task.score(candidates[name]))
        (embedding, loops, trace), one_sided = candidates[best], best != "guess" and task.tree["one_sided"]
        # If tangents come from more points than neighborhoods have, refinement would only fit the noise.
        wide = tangents.n_neighbors is not None and self.refine == "auto"
        settings = replace(self, refine=None) if wide else self
        stages = Stages(settings, problem, tangents, progress, one_sided)
        draft = stages.opened(stages.draft(embedding, not one_sided))
        if not trace["converged"] and not draft.sheet.torn.any():
            warn(
                f"eq. 11 is solved to a residual of {trace['residual']:.1e} after {trace['n_solve']:,} steps, "
                f"not to solve_tol = {self.solve_tol:g}",
                ConvergenceWarning,
            )
        traces: dict[str, Any] = {name: trace for name, (_, _, trace) in candidates.items()}
        return AlignedEmbedding(**stages.finished(draft), trace=traces, alignment=best, loops=loops)


Candidate = tuple[Array, Indices, dict[str, Any]]
"""The embedding that fits frames best, the edges where these do not align, and how they came about."""


@dataclass(frozen=True)
class _Task:
    """The tangents of one problem, and the alignments that are made of them."""

    settings: AlignmentSettings
    problem: Problem
    tangents: _core.Tangents
    progress: Progress

    @cached_property
    def tree(self) -> Mapping[str, Any]:
        """The frames along the spanning tree, and whether the surface has one side only."""
        with self.progress.stage("alignment", len(self.problem)):
            return self.tangents.tree(self.progress.progress)

    def candidate(self, method: Frames) -> Candidate:
        """Align the tangents, and find the embedding that fits them best."""
        tol = self.settings.solve_tol
        if method != "guess":
            _ = self.tree  # All others begin with it; it has a stage of its own.
        with self.progress.stage("alignment"):
            trace = dict(self._aligned(method))
            rotations, loops = trace.pop("rotations"), trace.pop("loops")
        with self.progress.stage("assembly"):
            right_hand_side, start = self.tangents.equation(rotations)
            if self.problem.guess is not None:
                start = self.problem.guess.ravel()
            solution = solve(self.problem.core, right_hand_side, start, tol=tol, ask=self._ask)
            solution = self._bound(right_hand_side, solution)
        trace |= {"residual": solution.residual, "n_solve": solution.n_iter, "converged": solution.converged}
        return solution.embedding.reshape(len(self.problem), -1), loops, trace

    def _bound(self, right_hand_side: Array, free: Solution) -> Solution:
        """Return the embedding that fits frames and bonds best; frames move with their components."""
        problem, bonds = self.problem, self.problem.bonds
        if bonds is None:
            return free
        labels, d = problem.neighborhoods.component_labels, problem.n_components
        start, rotations = bonds.begun(free.embedding.reshape(-1, d), labels)
        sides = np.einsum("na,nab->nb", right_hand_side.reshape(-1, d), rotations[labels])
        bound, tol = BoundSystem(problem.core, bonds), self.settings.solve_tol
        found = solve_bound(bound, problem.core, sides.ravel(), start.ravel(), tol=tol, ask=self._ask)
        return replace(found, n_iter=free.n_iter + found.n_iter)

    def score(self, candidate: Candidate) -> float:
        """Return R_N plus the penalty for overlap; both are noted in the trace."""
        if self.settings.alignment != "auto":
            return 0.0
        embedding, _, trace = candidate
        m = self.problem.faithfulness(embedding)
        trace.update(r_n=m.r_n, overlap=m.overlap)
        return m.r_n + self.settings.overlap_penalty * m.overlap

    def _aligned(self, method: Frames) -> Mapping[str, Any]:
        tangents, report = self.tangents, self.progress.progress
        if method == "guess":
            assert self.problem.guess is not None
            return tangents.finish(tangents.frames_of(self.problem.guess.ravel()), False, report)
        tree = self.tree["rotations"]
        if method == "spectral":
            return tangents.round(connection_vectors(tangents, tree, self.problem), True, report)
        if method == "projection":
            return tangents.finish(tangents.frames_of(_projected(self.problem)), False)
        if method in ("anneal", "paper"):
            options: dict[str, Any] = {"anew": 1.0, "alone": True} if method == "paper" else {}
            options |= self.settings.annealing or {}
            seed, start = seed_from(self.settings.random_state), None
            origin = options.pop("start", "random")
            if origin == "tree":
                start = tree
            elif origin == "greedy":
                greedy = tangents.greedy("neighborhood", 1, None, seed)
                start = tangents.frames_of(greedy["embedding"])
            return tangents.anneal(start, seed, report, **options)
        return {name: value for name, value in self.tree.items() if name != "one_sided"}

    def _ask(self) -> None:
        if self.progress.report("assembly", 0, 0):
            raise _core.Stopped


def _projected(problem: Problem) -> Array:
    """Return the data projected on their principal directions, point after point."""
    mean = problem.points.mean(axis=0, dtype=np.float64)
    centered = problem.points - mean
    _, directions = np.linalg.eigh(centered.T @ centered)
    return np.asarray(centered @ directions[:, -problem.n_components :], dtype=np.float64).ravel()


def warn_if_not_flat(found: AlignedEmbedding) -> None:
    """Warn if the embedding cannot be trusted as a whole."""
    m, loops, reason = found.faithfulness, len(found.loops), ""
    assert m is not None
    if found.orientable is False and not found.cut.any():
        reason = "the surface has only one side"
    elif (is_suspicious(m) or loops) and (overlap := _overlap(found)) > OVERLAPPING:
        reason = f"{loops:,} loops do not close, and " if loops else ""
        reason += f"{overlap:.0%} of what lies close in the embedding is distant in the data"
    if reason:
        warn(f"{reason}: the data cannot be laid flat without a cut or a fold", NotFlatWarning)


def _overlap(found: AlignedEmbedding) -> float:
    """Return the overlap; where nothing is cut, that of a sample, because a search of all points takes long."""
    sampled: list[float] = [tried.overlap for tried in found.candidates if tried.chosen]
    if sampled and found.embedding.shape[1] > MAX_DIM_KEPT_APART:
        return sampled[0]
    assert found.faithfulness is not None
    return found.faithfulness.overlap
