"""Greedy Procrustes (Goldberg & Ritov 2009, section 4.1): O(n) steps of the core, `embed/greedy`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...core.progress import Progress
from ...core.random import seed_from
from ..problem import Problem
from . import ProcrustesEmbedding, ProcrustesSettings, Stages

__all__ = ["GreedySettings", "Tangent"]

Tangent = Literal["neighborhood", "overlap", "paper"]

ASSEMBLED_RATIOS = (1.05, 2.0)
"""Eq. 11 is solved for the frames of the greedy steps if R_N is between these multiples of its lower bound. Below
them, two steps of refinement come nearer to the bound; above them, the data are not clean."""


@dataclass(frozen=True, kw_only=True)
class GreedySettings(ProcrustesSettings):
    """The parameters of greedy Procrustes; see :class:`unbend.GreedyProcrustes`."""

    n_init: int = 4
    tangent: Tangent = "neighborhood"
    start: int | None = None

    def embed(self, problem: Problem, progress: Progress) -> ProcrustesEmbedding:
        """Take greedy steps, refine, and cut if the embedding cannot lie flat."""
        if self.tangent == "neighborhood":
            tangents = self.tangents(problem, progress)
        else:
            tangents = problem.core.tangents(None, 0)
        start = None if self.start is None else problem.place(self.start)
        stages = Stages(self, problem, tangents, progress)
        assembles = stages.assembles and self.tangent == "neighborhood"
        with progress.stage("greedy", self.n_init * len(problem)):
            found = tangents.greedy(
                self.tangent,
                self.n_init,
                start,
                seed_from(self.random_state),
                problem.order,
                progress.progress,
                assemble=ASSEMBLED_RATIOS if assembles else None,
            )
        trace = {name: found[name] for name in ("r_n", "kept", "traces")}
        if len(found["r_n"]):
            progress.best = float(np.min(found["r_n"]))
        embedding = found["embedding"].reshape(len(problem), problem.n_components)
        if problem.bonds is not None:  # Greedy steps do not know them: refinement fits both.
            embedding, _ = problem.bonds.begun(embedding, problem.neighborhoods.component_labels)
        draft, before = stages.assembled(stages.draft(embedding), found["right_hand_side"])
        draft = stages.opened(draft, before)
        return ProcrustesEmbedding(**stages.finished(draft), trace=trace)
