"""Cut graphs of neighbors: the pairs that a cut separates, and the neighborhoods without them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from .neighbors import Neighborhoods

__all__ = ["Flags", "Pairs", "as_pairs", "length_of", "pairs_of", "share_of", "without"]

Flags = npt.NDArray[np.bool_]
"""For every neighbor of every point whether the cut separates the two."""
Pairs = npt.NDArray[np.uint32]


def as_pairs(cut: Any, n: int, name: str = "cut") -> Pairs:
    """Return the pairs of points that a caller gives as a cut, checked; `name` is their name in errors."""
    pairs = np.asarray(cut)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be pairs of points, got an array of shape {pairs.shape} and {pairs.dtype}: give two "
            "whole numbers in each row"
        )
    if pairs.size and not 0 <= int(pairs.min()) <= int(pairs.max()) < n:
        raise ValueError(
            f"{name} holds points from {pairs.min()} to {pairs.max()}, but there are {n}: give indices from 0 "
            f"to {n - 1}"
        )
    return np.ascontiguousarray(pairs, dtype=np.uint32)


def pairs_of(neighborhoods: Neighborhoods, torn: Flags) -> Pairs:
    """Return the torn pairs, each once, the lower index first."""
    places = np.flatnonzero(torn)
    ends = np.stack([_owners(neighborhoods, places), neighborhoods.indices.ravel()[places]], axis=1)
    return np.unique(np.sort(ends, axis=1), axis=0).astype(np.uint32)


def without(neighborhoods: Neighborhoods, pairs: Pairs) -> tuple[Neighborhoods, Flags]:
    """Return the neighborhoods without these pairs, and which neighbors are torn."""
    torn = neighborhoods.core.marked(pairs)
    return Neighborhoods.from_core(neighborhoods.core.without(torn)), torn


def share_of(neighborhoods: Neighborhoods, torn: Flags) -> float:
    """Return the share of neighborhoods that lost a member."""
    owners = _owners(neighborhoods, np.flatnonzero(torn))
    return len(np.unique(owners)) / len(neighborhoods)


def length_of(neighborhoods: Neighborhoods, torn: Flags, d: int) -> float:
    """Return the length of the cut (its area if d = 3), in units of the d-th root of the data's volume.

    By Crofton's formula: if segments of mean length l lie anywhere in a volume V, the share that crosses a
    cut of size S is c l S / V, where c is the mean cosine between a segment and a normal. Neighborhoods are
    treated as balls that hold k of n points, and l as the mean distance in them.
    """
    n, k = len(neighborhoods), len(torn) / len(neighborhoods)
    ball = math.pi ** (d / 2) / math.gamma(d / 2 + 1)
    cosine = math.gamma(d / 2) / (math.sqrt(math.pi) * math.gamma((d + 1) / 2))
    share = np.count_nonzero(torn) / max(1, len(torn))
    return float(share * (n * ball / k) ** (1 / d) * (d + 1) / (d * cosine))


def _owners(neighborhoods: Neighborhoods, places: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Return the points whose neighbors are at these places of the list of indices."""
    return np.searchsorted(neighborhoods.indptr, places, side="right") - 1
