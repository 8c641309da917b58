"""Cells rotated and shifted until their overlaps agree: Procrustes subspaces alignment, one level up.

A piece, which is a component of a cell, takes the place of a neighborhood, and Y_i'HY_j of two pieces that share
points that of P_i'P_j. The same code rotates them: along the tree of the overlaps that fit best, then by sweeps
of eq. 9. Overlaps that the others contradict lose their weight. Shifts follow from least squares. Cost: O(e d^3)
for each sweep over e overlaps, and a sparse solve with as many unknowns as there are pieces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from .. import _core

__all__ = ["Aligned", "Overlaps", "align"]

Array = npt.NDArray[np.float64]

GENTLE, STRICT = 10, 6
"""Number of times that overlaps are weighted again: first to minimize the sum of distances, not of squares; then
so that overlaps with large errors hardly count at all."""

USUAL = 3.0
"""An overlap whose error is this multiple of the usual error has half the weight."""

LEAST = 1e-9
"""Minimum weight of an overlap, so that a piece with only this overlap has a place."""

TINY = float(np.finfo(np.float64).tiny)
"""Squared extents up to this one count as 0."""

ROUNDING = 1e-7
"""Errors up to this share of an overlap are rounding: they are the root of a difference of squares."""


@dataclass(frozen=True, eq=False)
class Overlaps:
    """Overlaps of pairs of pieces; all arrays have an entry for each pair."""

    ends: npt.NDArray[np.int64]  # Shape (e, 2). The pieces.
    total: Array  # Shape (e,). The weight of the points that they share.
    means: Array  # Shape (e, 2, d). Their means in the coordinates of each.
    cross: Array  # Shape (e, d, d). Y_i'HY_j.
    sizes: Array  # Shape (e, 2). |HY_i|^2 and |HY_j|^2.

    @classmethod
    def from_sums(cls, ends: npt.NDArray[np.int64], sums: Array, d: int) -> Overlaps:
        """Return the overlaps with these moments."""
        means = sums[:, 2 : 2 + 2 * d].reshape(-1, 2, d)
        cross = sums[:, 2 + 2 * d : 2 + 2 * d + d * d].reshape(-1, d, d)
        return cls(ends, sums[:, 0], means, cross, sums[:, -2:])

    def missing(self, turns: Array) -> Array:
        """Return the squared error of each overlap about its mean, for given rotations."""
        one, two = turns[self.ends[:, 0]], turns[self.ends[:, 1]]
        fitted = np.einsum("eab,eac,ecb->e", one, self.cross, two)
        return np.asarray(np.maximum(self.sizes.sum(axis=1) - 2 * fitted, 0.0))

    def shifted(self, turns: Array) -> Array:
        """Return the vector from the second end of each overlap to the first, after rotation."""
        one, two = (np.einsum("ea,eab->eb", self.means[:, i], turns[self.ends[:, i]]) for i in (0, 1))
        return np.asarray(one - two)


@dataclass(frozen=True, eq=False)
class Aligned:
    """Motions of pieces, and how well they fit."""

    turns: Array  # Shape (p, d, d). Rows of a piece are multiplied by its rotation from the right.
    shifts: Array  # Shape (p, d). Added after rotation.
    # Shape (p,). Pieces that overlap, directly or not, have the same number.
    components: npt.NDArray[np.int64]
    # Shape (e,). The root mean square distance between both images of the points of each overlap.
    error: Array
    trust: Array  # Shape (e,). Final weight of each overlap, from 0 to 1.


def align(overlaps: Overlaps, n_pieces: int, d: int) -> Aligned:
    """Rotate and move pieces until they agree.

    Examples
    --------
    >>> import numpy as np
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> middle = square - square.mean(axis=0)
    >>> quarter = np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> means = np.array([[[0.5, 0.5], [3.0, 3.0]]])
    >>> cross = (middle.T @ middle @ quarter)[None]
    >>> sizes = np.full((1, 2), 2.0)
    >>> found = align(Overlaps(np.array([[0, 1]]), np.array([4.0]), means, cross, sizes), 2, 2)
    >>> np.allclose(found.turns[0], quarter @ found.turns[1]), float(found.error.round(6)[0])
    (True, 0.0)
    """
    components = _components(overlaps.ends, n_pieces)
    if len(overlaps.ends) == 0:
        unturned, none = np.tile(np.eye(d), (n_pieces, 1, 1)), np.empty(0)
        return Aligned(unturned, np.zeros((n_pieces, d)), components, none, none)
    odds = _round_triangles(overlaps, n_pieces)
    trust = _trust(odds, overlaps, strict=True)
    turns: Any = None
    for step in range(GENTLE + STRICT):
        turns = _turn(overlaps, n_pieces, d, trust, odds, turns)
        shifts = _shift(overlaps, overlaps.shifted(turns), n_pieces, trust)
        apart = overlaps.shifted(turns) + shifts[overlaps.ends[:, 0]] - shifts[overlaps.ends[:, 1]]
        squared = overlaps.missing(turns) / overlaps.total + (apart**2).sum(axis=1)
        error = np.sqrt(squared)
        trust = _trust(squared, overlaps, strict=step >= GENTLE)
    return Aligned(turns, shifts, components, error, trust)


def _components(ends: Any, n_pieces: int) -> npt.NDArray[np.int64]:
    joined = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n_pieces, n_pieces))
    return np.asarray(connected_components(joined, directed=False)[1], dtype=np.int64)


def _trust(squared: Array, overlaps: Overlaps, strict: bool) -> Array:
    """Return the weights of overlaps: those that miss by far more than is usual count little."""
    floor = ROUNDING**2 * overlaps.sizes.max(axis=1) / overlaps.total
    usual = max(float(np.median(squared)), float(np.median(floor)), np.finfo(float).tiny)
    missed = np.sqrt(squared / usual) / USUAL
    return np.maximum(1.0 / (1.0 + missed**4 if strict else 1.0 + missed), LEAST)


def _round_triangles(overlaps: Overlaps, n_pieces: int) -> Array:
    """Return the squared gap of the best triangle of each overlap, which is 0 if its motions close.

    A wrong overlap is in no triangle that closes. Three pieces that overlap determine the motion between two of
    them twice. An overlap that is in no triangle has the median of all.
    """
    turns, first, second = _steps(overlaps)
    number = {(int(i), int(j)): e for e, (i, j) in enumerate(overlaps.ends)}
    after: list[list[int]] = [[] for _ in range(n_pieces)]
    for i, j in number:
        after[i].append(j)
    found = [
        (e, number[i, k], number[j, k]) for (i, j), e in number.items() for k in after[i] if (j, k) in number
    ]
    odds = np.full(len(overlaps.ends), np.inf)
    if found:
        ij, ik, jk = np.array(found).T
        direct, round_ = turns[ik], turns[ij] @ turns[jk]
        reach = overlaps.sizes[ik].mean(axis=1) / overlaps.total[ik]
        # Image of the center of the overlap of i and k, by way of j.
        middle = np.einsum("ea,eab->eb", first[ik] - first[ij], turns[ij]) + second[ij]
        middle = np.einsum("ea,eab->eb", middle - first[jk], turns[jk]) + second[jk]
        apart = ((middle - second[ik]) ** 2).sum(axis=1) + reach * ((direct - round_) ** 2).sum(axis=(1, 2))
        for edges in (ij, ik, jk):
            np.minimum.at(odds, edges, apart)
    known = np.isfinite(odds)
    odds[~known] = np.median(odds[known]) if known.any() else 0.0
    return odds


def _steps(overlaps: Overlaps) -> tuple[Array, Array, Array]:
    """Return the motion between the pieces of each overlap: rotation, and the center in each piece."""
    u, _, v = np.linalg.svd(overlaps.cross)
    return u @ v, overlaps.means[:, 0], overlaps.means[:, 1]


def _turn(overlaps: Overlaps, n_pieces: int, d: int, trust: Array, odds: Array, start: Array | None) -> Array:
    """Return the rotations of pieces: from `start`, or along the tree of the overlaps that fit best."""
    ends = overlaps.ends
    rows = np.concatenate([ends[:, 0], ends[:, 1]])
    columns = np.concatenate([ends[:, 1], ends[:, 0]])
    order = np.lexsort((columns, rows))
    indptr = np.searchsorted(rows[order], np.arange(n_pieces + 1)).astype(np.int64)
    graph = _core.Graph(columns[order].astype(np.uint32), indptr=indptr)
    scale = 1.0 / max(overlaps.sizes.max(), TINY)
    cross = scale * trust[:, None, None] * overlaps.cross
    products = np.concatenate([cross, np.swapaxes(cross, 1, 2)])[order]
    # Shared points that coincide determine no rotation: they get the worst fit.
    sizes = overlaps.sizes.mean(axis=1)
    known, none = sizes > TINY, np.zeros(len(sizes))
    kept = np.linalg.svd(overlaps.cross, compute_uv=False).sum(axis=1)
    fit = 1.0 - np.divide(kept, sizes, out=none.copy(), where=known)
    fit = np.maximum(fit, 0.0) + np.divide(odds * overlaps.total, sizes, out=none, where=known)
    weights = np.concatenate([fit, fit])[order]
    # The core keeps matrices column after column.
    flat = np.ascontiguousarray(np.swapaxes(products, 1, 2)).ravel()
    begun = None if start is None else np.ascontiguousarray(np.swapaxes(start, 1, 2)).ravel()
    turns, _ = _core.align_pieces(graph, flat, weights, d, begun)
    return np.swapaxes(turns.reshape(n_pieces, d, d), 1, 2)


def _shift(overlaps: Overlaps, apart: Array, n_pieces: int, trust: Array) -> Array:
    """Return the shifts that leave the least between overlaps; each component keeps its first piece."""
    one, two = overlaps.ends.T
    w = trust * overlaps.total / overlaps.total.max()
    free = np.ones(n_pieces, dtype=bool)
    free[np.unique(_components(overlaps.ends, n_pieces), return_index=True)[1]] = False
    values = np.concatenate([w, w, -w, -w])
    at = (np.concatenate([one, two, one, two]), np.concatenate([one, two, two, one]))
    laplacian = coo_array((values, at), shape=(n_pieces, n_pieces)).tocsc()
    sides = np.zeros((n_pieces, apart.shape[1]))
    np.add.at(sides, one, -w[:, None] * apart)
    np.add.at(sides, two, w[:, None] * apart)
    shifts = np.zeros_like(sides)
    if free.any():
        shifts[free] = splu(laplacian[free][:, free].tocsc()).solve(sides[free])
    return shifts
