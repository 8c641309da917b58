"""An embedding to be measured, with values of its fit: pairs that do not count, and the number of neighbors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..graph.cut import Pairs, as_pairs
from .sampling import companion

__all__ = ["Subject", "fewest_neighbors"]


@dataclass(frozen=True, eq=False)
class Subject:
    """An embedding to be measured, checked."""

    y: Any = field(repr=False)  # The coordinates of all points.
    cut: Pairs | None = field(default=None, repr=False)  # Pairs of neighbors that do not count.
    n_neighbors: int | None = None  # Number of neighbors that the embedding was made of, if it is known.
    fit_sentence: str = ""  # The verdict of the fit on its own result; empty if there is none.
    is_cleaned: bool = (
        False  # True if the pairs are short circuits that the fit left out, not those of a cut.
    )
    n_outliers: int = 0  # Number of points that the fit left out and placed by their neighbors.

    @classmethod
    def of(cls, x: Any, source: Any, cut: Any = None, name: str = "Y", *, narrower: bool = False) -> Subject:
        """Return the embedding of checked data `x` that an array or a fitted estimator holds.

        The pairs of an estimator are `cut_pairs_`, or `short_circuits_` if it was not cut. `cut` replaces them,
        and is empty to count all neighbors.
        """
        y = companion(x, getattr(source, "embedding_", source), ("X", name), narrower=narrower)
        attribute = next((known for known in _PAIRS if len(getattr(source, known, ()))), _PAIRS[0])
        is_cleaned = cut is None and attribute != _PAIRS[0]
        label = "cut" if cut is not None else f"{attribute} of {name}"
        pairs = getattr(source, attribute, None) if cut is None else cut
        is_empty = pairs is None or np.shape(pairs)[:1] == (0,)
        checked = None if is_empty else as_pairs(pairs, len(x), label)
        verdict = getattr(source, "verdict_", None)
        sentence = "" if verdict is None else verdict.sentence
        outliers = len(getattr(source, "outliers_", ())) if is_cleaned else 0
        return cls(y, checked, getattr(source, "n_neighbors_", None), sentence, is_cleaned, outliers)


_PAIRS = ("cut_pairs_", "short_circuits_")
"""Attributes of estimators with pairs of neighbors that do not count; at most one of them is not empty."""


def fewest_neighbors(subjects: Iterable[Subject]) -> int | None:
    """Return the smallest number of neighbors of fitted estimators, None if there are none.

    A cut is known for the neighbors of its fit: with more neighbors, some pairs across it are not known.
    """
    numbers = (subject.n_neighbors for subject in subjects)
    return min((number for number in numbers if number is not None), default=None)
