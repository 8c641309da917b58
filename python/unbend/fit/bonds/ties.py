"""Ties: pairs of points that should come out in the same place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["MAX_WEIGHT", "Ties"]

Array = npt.NDArray[np.float64]
Pairs = npt.NDArray[np.intp]

MAX_WEIGHT = 1e6
"""Largest weight of a tie or a pin. With larger ones, eq. 11 is not solved to its tolerance."""


@dataclass(frozen=True, eq=False)
class Ties:
    """Pairs of points, and the weight of each, at least 0."""

    pairs: Pairs = field(repr=False)  # Shape (m, 2).
    weights: Array = field(repr=False)

    @classmethod
    def of(cls, ties: Any, n: int) -> Ties | None:
        """Check pairs of `n` points, with a third column for weights or without; None if there are none."""
        try:
            if np.asarray(ties).dtype.kind in "bc":
                raise TypeError
            rows = np.asarray(ties, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError("ties must be rows (i, j) or (i, j, weight) of numbers") from None
        if rows.size == 0:
            return None
        if rows.ndim != 2 or rows.shape[1] not in (2, 3):
            raise ValueError(f"ties has shape {rows.shape}: give rows (i, j) or (i, j, weight)")
        ends = rows[:, :2]
        wrong = ~((ends >= 0) & (ends < n) & (ends == np.floor(ends)))
        if wrong.any():
            raise ValueError(
                f"ties holds point {ends[wrong][0]:g}, but points are numbered from 0 to {n - 1}"
            )
        pairs = ends.astype(np.intp)
        same = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
        if len(same):
            raise ValueError(f"row {same[0]} of ties joins point {pairs[same[0], 0]} to itself: leave it out")
        weights = rows[:, 2] if rows.shape[1] == 3 else np.ones(len(rows))
        bad = ~((weights >= 0) & (weights <= MAX_WEIGHT))
        if bad.any():
            raise ValueError(
                f"row {np.flatnonzero(bad)[0]} of ties has weight {weights[bad][0]:g}: it must be from 0 to "
                f"{MAX_WEIGHT:g}"
            )
        return cls(pairs, weights)
