"""A fit from its problem to its embedding."""

from __future__ import annotations

from typing import Protocol

from ..core.progress import Progress
from .embedding import Embedding
from .problem import Problem
from .refine import RefinementInterrupted

__all__ = ["Settings", "flatten", "run"]


class Settings(Protocol):
    """The parameters of an algorithm, checked, and the algorithm itself."""

    @property
    def renumbers(self) -> bool:
        """Return whether many points are renumbered before they are embedded."""

    def embed(self, problem: Problem, progress: Progress) -> Embedding:
        """Return an embedding whose components have no place yet."""


def run(settings: Settings, problem: Problem, progress: Progress) -> Embedding:
    """Embed the data, lay out the components of the embedding, and measure it."""
    return flatten(settings, problem, progress).laid_out(problem).measured(problem, progress)


def flatten(settings: Settings, problem: Problem, progress: Progress) -> Embedding:
    """Return the embedding as the algorithm leaves it: not laid out, not measured."""
    numbered = problem.renumbered if settings.renumbers else problem
    try:
        return settings.embed(numbered, progress).restored(numbered)
    except RefinementInterrupted as interrupt:
        interrupt.embedding = numbered.restored(interrupt.embedding)
        raise
