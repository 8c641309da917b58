"""A fit that judges its own result, and tries other embeddings if it is not good."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from ...core.caller import warn
from ...core.progress import Progress
from ..problem import Problem
from ..procrustes import ProcrustesEmbedding, ProcrustesSettings
from ..refine import RefinementInterrupted
from ..run import flatten
from .candidates import Trial, best_candidate, evidence_of
from .verdict import UntrustedWarning, left_out, verdict_of

__all__ = ["judged", "run_trusted"]

Found = TypeVar("Found", bound=ProcrustesEmbedding)


def run_trusted(settings: ProcrustesSettings, problem: Problem, progress: Progress) -> Any:
    """Embed the data, keep the best of several candidates, lay it out, measure it and judge it."""
    first: Any = flatten(settings, problem, progress)
    try:
        found, trial = best_candidate(settings, problem, first, progress)
    except KeyboardInterrupt:
        history = [] if first.refinement is None else first.refinement.history
        raise RefinementInterrupted(first.embedding, history) from None
    return _with_verdict(found.laid_out(problem).measured(problem, progress), trial, problem)


def judged(found: Found, problem: Problem, progress: Progress) -> Found:
    """Return a measured embedding with its verdict."""
    trial = Trial("", found, evidence_of(problem, found, progress))
    return _with_verdict(found, trial, problem)


def _with_verdict(found: Found, trial: Trial, problem: Problem) -> Found:
    """Return a measured embedding with its verdict, and with the short circuits and outliers of its graph.

    If the embedding is not trusted, what it tears may be the surface: then all pairs of neighbors count.
    """
    assert found.faithfulness is not None
    m, pairs = found.faithfulness, left_out(trial, problem, found.embedding)
    kept = problem.faithfulness(found.embedding, pairs) if len(pairs) else m
    verdict = verdict_of(trial, problem, kept, pairs)
    if not verdict.trusted:
        warn(verdict.sentence, UntrustedWarning)
        return replace(found, verdict=verdict)
    return replace(found, verdict=verdict, faithfulness=kept, short_circuits=pairs, outliers=trial.outliers)
