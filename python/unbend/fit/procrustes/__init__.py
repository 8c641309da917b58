"""Stages of both algorithms of Goldberg & Ritov (2009): tangents, a cut (ours), refinement (section 4.4)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from ... import _core
from ...core import memory
from ...core.caller import warn
from ...core.progress import Progress
from ...core.random import RandomState
from ...graph.cut import pairs_of
from ...metrics import Faithfulness
from ...metrics.overlap import OVERLAPPING
from ..assembly import SOLVE_TOL, solve
from ..cut import MAX_RELAYOUTS, MIN_TORN, CutPolicy, Cutter, NotFlatWarning, Seam, Sheet, is_suspicious
from ..embedding import Embedding
from ..problem import Array, Flags, Indices, Problem
from ..refine import Refinement, RefinementInterrupted, Steps, refined

__all__ = ["NotFlatWarning", "ProcrustesEmbedding", "ProcrustesSettings", "Stages"]

Self = TypeVar("Self", bound="ProcrustesSettings")
Found = TypeVar("Found", bound="ProcrustesEmbedding")


@dataclass(frozen=True, kw_only=True)
class ProcrustesSettings:
    """The parameters of the estimators that both algorithms need, and the bytes that a fit with a cut takes."""

    tangent_neighbors: int | None = None
    refine: Literal["auto", "global", "pointwise", "paper"] | None = "auto"
    refine_max_iter: int = Steps.max_iter
    refine_tol: float = Steps.tol
    cut: Literal["auto"] | bool = "auto"
    candidates: Literal["auto"] | bool = "auto"
    random_state: RandomState = None
    max_memory: float | None = None
    cut_memory: int = 0
    candidate_memory: int = 0

    renumbers: ClassVar[bool] = True

    @classmethod
    def of(cls: type[Self], parameters: Mapping[str, Any]) -> Self:
        """Return the settings that parameters of the estimator stand for; it may have others."""
        return cls(**{f.name: parameters[f.name] for f in fields(cls) if f.name in parameters})

    @property
    def steps(self) -> Steps | None:
        """The method of refinement and when to stop it; None for no refinement."""
        if self.refine is None:
            return None
        return Steps(
            "global" if self.refine == "auto" else self.refine, self.refine_max_iter, self.refine_tol
        )

    def embed(self, problem: Problem, progress: Progress) -> ProcrustesEmbedding:
        """Return an embedding whose components have no place yet."""
        raise NotImplementedError

    def tangents(self, problem: Problem, progress: Progress) -> _core.Tangents:
        """Return tangents from the neighbors of the graph, or from more if noise hides the tangents from them."""
        with progress.stage("tangents", len(problem)):
            wide = self.tangent_neighbors
            choose = wide is None and self.widens_tangents
            return problem.core.tangents(wide, 0, progress.progress, choose=choose)

    @property
    def widens_tangents(self) -> bool:
        """True if noise may ask for tangents of more neighbors than the graph has."""
        return True


def _no_pairs() -> Indices:
    return np.zeros((0, 2), dtype=np.uint32)


def _no_points() -> Indices:
    return np.zeros(0, dtype=np.uint32)


@dataclass(frozen=True, eq=False)
class ProcrustesEmbedding(Embedding):
    """An embedding by greedy steps or by alignment; its fields are described in `estimators/tables`."""

    tangent_neighbors: int
    refinement: Refinement | None = field(repr=False)
    n_iter: int
    cut_pairs: Indices = field(repr=False)
    cut: Flags = field(repr=False)
    seams: list[Seam] = field(repr=False)
    orientable: bool | None
    candidates: list[Any] = field(default_factory=list, repr=False, kw_only=True)
    verdict: Any = field(default=None, kw_only=True)
    short_circuits: Indices = field(default_factory=_no_pairs, repr=False, kw_only=True)
    outliers: Indices = field(default_factory=_no_points, repr=False, kw_only=True)

    def restored(self: Found, problem: Problem) -> Found:
        """Return the embedding with its points in the original order."""
        found, order = super().restored(problem), problem.order
        if order is None:
            return found
        pairs, cut = problem.restored_pairs(self.cut_pairs), problem.restored(self.cut)
        seams = [replace(s, points=order[s.points], partners=order[s.partners]) for s in self.seams]
        return replace(found, cut_pairs=pairs, cut=cut, seams=seams)

    def extended(self: Found, embedding: Array, rows: Indices | None) -> Found:
        """Return an embedding of more points, of which `rows` are its own: without a cut and a refinement."""
        cut = np.zeros(len(embedding), dtype=bool)
        return replace(self, embedding=embedding, refinement=None, cut_pairs=_no_pairs(), cut=cut, seams=[])

    def laid_out(self: Found, problem: Problem) -> Found:
        """Return the embedding with its components side by side; its refinement refers to it."""
        found = super().laid_out(problem)
        refinement = found.refinement and replace(found.refinement, embedding=found.embedding)
        return replace(found, refinement=refinement)

    def measured(self: Found, problem: Problem, progress: Progress) -> Found:
        """Return the embedding with its faithfulness, which a refinement without steps may have estimated."""
        found = super().measured(problem, progress)
        m, refinement = found.faithfulness, found.refinement
        if refinement is None or m is None or refinement.n_iter or refinement.objective != "R_N":
            return found
        if problem.bonds is not None or not refinement.history:
            return found
        return replace(found, refinement=replace(refinement, history=[m.r_n]))


@dataclass(frozen=True)
class Draft:
    """An embedding between two stages: on its sheet, refined or not, with two sides or unknown ones."""

    sheet: Sheet
    refinement: Refinement | None = None
    orientable: bool | None = None
    seams: list[Seam] = field(default_factory=list)

    @property
    def stopped(self) -> bool:
        """True if the callback ended the refinement: the fit then returns the embedding as it is."""
        return self.refinement is not None and self.refinement.status == "stopped"


@dataclass(frozen=True)
class Stages:
    """The stages that both algorithms share, for one problem; `one_sided` data always need a cut."""

    settings: ProcrustesSettings
    problem: Problem
    tangents: _core.Tangents
    progress: Progress
    one_sided: bool = False

    def draft(self, embedding: Array, orientable: bool | None = None) -> Draft:
        """Return an embedding that is not cut."""
        whole = np.zeros(len(self.problem.neighborhoods.indices), dtype=bool)
        return Draft(Sheet(embedding, whole), orientable=orientable)

    def refined(self, draft: Draft, before: Faithfulness | None = None) -> Draft:
        """Return the embedding refined on its sheet; `before` are its measures, if they are known."""
        steps, core, torn = self.settings.steps, self.problem.core, draft.sheet.torn
        if steps is None:
            return draft
        if torn.any():
            core = core.sheet(core.graph.marked(self._pairs(draft.sheet)))
        y = draft.sheet.embedding
        known = None if before is None else (before.r_n, before.lower_bound)
        refinement = refined(self.problem, y, steps, self.progress, known, core=core)
        return replace(draft, sheet=Sheet(refinement.embedding, torn), refinement=refinement)

    @property
    def assembles(self) -> bool:
        """True if eq. 11 for frames of the data can take the place of refinement: nothing but R_N counts."""
        steps, problem = self.settings.steps, self.problem
        return (
            steps is not None
            and steps.method == "global"
            and steps.max_iter > 0
            and problem.bonds is None
            and problem.objective == "R_N"
            and self.tangents.n_neighbors is None
        )

    def assembled(self, draft: Draft, right_hand_side: Array | None) -> tuple[Draft, Faithfulness | None]:
        """Return the solution of eq. 11 with its measures, if refinement would gain nothing from there.

        Otherwise return the draft refined, without measures.
        """
        if right_hand_side is None:
            return self.refined(draft), None
        with self.progress.stage("refine"):
            solved, m = self._solved(draft, right_hand_side)
            if m is None or m.r_n - m.lower_bound >= self.settings.refine_tol * m.r_n:
                return self.refined(draft), None
            refinement = Refinement(solved.sheet.embedding, [m.r_n], "converged", 0, "R_N")
            return replace(solved, refinement=refinement), m

    def _solved(self, draft: Draft, right_hand_side: Array) -> tuple[Draft, Faithfulness | None]:
        """Return the solution of eq. 11 with its measures; the draft without, if the callback stops it."""
        start, core = draft.sheet.embedding, self.problem.core
        try:
            solution = solve(core, right_hand_side, start.ravel(), tol=SOLVE_TOL, ask=self._ask)
            solved = self.draft(solution.embedding.reshape(start.shape))
            return solved, self.problem.roughly(solved.sheet.embedding)
        except _core.Stopped:
            return draft, None
        except KeyboardInterrupt as interrupt:
            raise RefinementInterrupted(start, []) from interrupt

    def _ask(self) -> None:
        """Stop if the callback requests it."""
        if self.progress.report("refine", 0, self.settings.refine_max_iter):
            raise _core.Stopped

    def opened(self, draft: Draft, before: Faithfulness | None = None) -> Draft:
        """Return the embedding refined; cut and laid flat before, if the data cannot lie flat as they are.

        `before` are its measures, if they are known.
        """
        if draft.stopped or not self._policy.allows(self.problem.n_components):
            return draft if draft.refinement else self.refined(draft)
        whole, before = draft.sheet, before or self.problem.roughly(draft.sheet.embedding)
        cutter = Cutter(self.problem, self.tangents, self.progress)
        if self._looks(before):
            draft = self._cut(draft, before, cutter)
        if draft.sheet.torn.any():
            return self._settled(draft, cutter)
        return draft if draft.refinement else self.refined(draft, before if draft.sheet is whole else None)

    def finished(self, draft: Draft) -> dict[str, Any]:
        """Return the fields of an embedding that both algorithms fill."""
        problem, orientable, refinement = self.problem, draft.orientable, draft.refinement
        if orientable is None and self._policy.allows(problem.n_components):
            orientable = True  # it lies flat
        pairs = self._pairs(draft.sheet)
        return {
            "embedding": draft.sheet.embedding,
            "tangent_neighbors": self.tangents.n_neighbors or problem.neighborhoods.typical_size,
            "refinement": refinement,
            "n_iter": 0 if refinement is None else refinement.n_iter,
            "cut_pairs": pairs,
            "cut": np.isin(np.arange(len(problem)), pairs),
            "seams": draft.seams,
            "orientable": orientable,
        }

    @property
    def _policy(self) -> CutPolicy:
        return CutPolicy(self.settings.cut, self.one_sided)

    def _pairs(self, sheet: Sheet) -> Indices:
        return pairs_of(self.problem.neighborhoods, sheet.torn)

    def _measured(self, sheet: Sheet) -> Faithfulness:
        return self.problem.faithfulness(sheet.embedding, self._pairs(sheet))

    def _looks(self, before: Faithfulness) -> bool:
        """Return whether there is reason to look for a cut, and memory for it."""
        if not (self._needs_cut(before) or is_suspicious(before)):
            return False
        reason = memory.shortage(self.settings.cut_memory, self.settings.max_memory)
        if reason:
            warn(f"Not cutting: cutting {reason}.", NotFlatWarning)
        return not reason

    def _needs_cut(self, m: Faithfulness) -> bool:
        """Return whether a cut is needed even if it improves little; R_N misses closed curves that bend much."""
        if self._policy.needs(m):
            return True
        return self.problem.n_components == 1 and m.overlap > OVERLAPPING and self._is_closed()

    def _cut(self, draft: Draft, before: Faithfulness, cutter: Cutter) -> Draft:
        """Return the data cut and laid flat, if they need a cut; else the draft, or a closed one."""
        with self.progress.stage("cut", len(self.problem)):
            sheet = cutter.unrolled()
            if not sheet.torn.any():
                return draft
            orientable = draft.orientable
            if orientable is None:
                orientable = not self.tangents.tree()["one_sided"]
            draft = replace(draft, orientable=orientable)
            if self.settings.cut == "auto" and orientable and not self._is_closed():
                closed = self.draft(cutter.closed(sheet.embedding), orientable)
                if not self._policy.folded(self._measured(closed.sheet)):
                    return closed  # it lies flat without the cut: torn pairs may come from strain
            keeps = self._policy.keeps(before, self._measured(sheet), self._needs_cut(before))
            return replace(draft, sheet=sheet, refinement=None) if keeps else draft

    def _settled(self, draft: Draft, cutter: Cutter) -> Draft:
        """Return the cut embedding refined, with overlapping parts laid out again while that helps."""
        best, fewest = draft, math.inf
        for _ in range(MAX_RELAYOUTS + 1):
            draft = self.refined(draft)
            with self.progress.stage("cut", len(self.problem)):
                relaid, taken = cutter.relaid(draft.sheet)
                if taken < fewest:
                    best, fewest = draft, taken
                if taken < MIN_TORN or draft.stopped:
                    break
                draft = replace(draft, sheet=cutter.settled(relaid), refinement=None)
        return replace(best, seams=cutter.seams(best.sheet))

    def _is_closed(self) -> bool:
        """Return whether the data close on themselves on all sides."""
        shape = self.problem.core.shape()
        return shape is not None and shape[self.problem.n_components > 1] > 0
