"""The result of a fit, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from ..core.progress import Progress
from ..metrics import Faithfulness
from .problem import Array, Problem

__all__ = ["Embedding"]

Found = TypeVar("Found", bound="Embedding")


@dataclass(frozen=True, eq=False)
class Embedding:
    """An embedding, and the record of its computation. Algorithms add fields.

    An estimator gets an attribute for each field: `trace_` for `trace`.
    """

    embedding: Array = field(repr=False)  # Shape (n, d). The coordinates of all points.
    trace: dict[str, Any] = field(repr=False, kw_only=True)  # Record of the steps of the algorithm.
    # Measures of the embedding; None until they are computed.
    faithfulness: Faithfulness | None = field(default=None, repr=False, kw_only=True)

    def attributes(self) -> dict[str, Any]:
        """Return what an estimator learns, by the name of its attribute."""
        return {f"{entry.name}_": getattr(self, entry.name) for entry in fields(self)}

    def restored(self: Found, problem: Problem) -> Found:
        """Return the embedding with its points in the original order."""
        return replace(self, embedding=problem.restored(self.embedding))

    def laid_out(self: Found, problem: Problem) -> Found:
        """Return the embedding with its components straightened and set side by side."""
        return replace(self, embedding=problem.laid_out(self.embedding))

    def measured(self: Found, problem: Problem, progress: Progress) -> Found:
        """Return the embedding with its faithfulness."""
        with progress.stage("faithfulness", len(problem)):
            m = problem.faithfulness(self.embedding, getattr(self, "cut_pairs", None))
        return replace(self, faithfulness=m)
