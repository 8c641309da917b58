"""Pins: points whose places are known, exactly or about."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.arrays import as_points, check_finite
from .ties import MAX_WEIGHT

__all__ = ["Pins"]

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Pins:
    """Points of an embedding, where they must be, and how strongly: an infinite weight does not give way."""

    rows: npt.NDArray[np.intp]
    places: Array = field(repr=False)
    weights: Array = field(repr=False)

    @property
    def is_soft(self) -> Flags:
        """Flag for each pin: true if it may give way."""
        return np.isfinite(self.weights)

    @classmethod
    def of(cls, fixed: Any, n: int, d: int) -> Pins:
        """Check indices and coordinates of points of an embedding of `n` points in `d` dimensions."""
        try:
            indices, places, weights = fixed if len(fixed) == 3 else (*fixed, np.inf)
        except (TypeError, ValueError):
            raise ValueError(
                "fixed must be two arrays: indices of points, and their coordinates; weights may follow"
            ) from None
        rows = np.asarray(indices)
        if rows.size == 0:
            raise ValueError("fixed holds no points: leave it out")
        if rows.ndim != 1 or rows.dtype.kind not in "iu":
            raise ValueError(
                f"indices of fixed have shape {rows.shape} and type {rows.dtype}: give whole numbers"
            )
        wrong = rows[(rows < 0) | (rows >= n)]
        if len(wrong):
            raise ValueError(f"fixed holds point {wrong[0]}, but points are numbered from 0 to {n - 1}")
        found, counts = np.unique(rows, return_counts=True)
        if counts.max() > 1:
            raise ValueError(f"fixed holds point {found[counts.argmax()]} {counts.max()} times: give it once")
        places = np.array(as_points(places, "coordinates of fixed"), dtype=np.float64)
        check_finite(places, "coordinates of fixed")
        if places.shape != (len(rows), d):
            raise ValueError(f"coordinates of fixed have shape {places.shape}: {(len(rows), d)} is needed")
        return cls(rows.astype(np.intp), places, _as_weights(weights, len(rows)))

    def flags(self, n: int) -> Flags:
        """Return for each coordinate of `n` points, point after point, whether it does not give way."""
        held = np.zeros((n, self.places.shape[1]), dtype=bool)
        held[self.rows[~self.is_soft]] = True
        return held.ravel()


def _as_weights(weights: Any, count: int) -> Array:
    """Return the weights of pins, checked."""
    try:
        values = np.broadcast_to(np.asarray(weights, dtype=np.float64), (count,)).copy()
    except (TypeError, ValueError):
        raise ValueError(
            f"weights of fixed have shape {np.shape(weights)}: give one number, or one for each of {count} points"
        ) from None
    wrong = values[~(values > 0)]
    if len(wrong):
        raise ValueError(f"weights of fixed hold {wrong[0]:g}: they must be above 0; leave such points out")
    large = values[(values > MAX_WEIGHT) & np.isfinite(values)]
    if len(large):
        raise ValueError(
            f"weights of fixed hold {large[0]:g}: they must be at most {MAX_WEIGHT:g}, or infinite for points "
            "that do not move"
        )
    return values
