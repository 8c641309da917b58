"""Cells turned and moved until their overlaps agree: Procrustes subspaces alignment, one level up.

What is a neighbourhood there is a piece here: a component of a cell. Two pieces that share points pull at
each other by Y_i'HY_j, as P_i'P_j does between neighbourhoods, and the same code turns them: along the tree
of the overlaps that fit best, then by sweeps of eq. 9. Overlaps that the others contradict lose their weight.
Shifts follow from least squares, exactly. Cost: O(e d^3) for each sweep over e overlaps, and a sparse solve
of as many unknowns as there are pieces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core

__all__ = ["Aligned", "Overlaps", "align"]

Array = npt.NDArray[np.float64]

GENTLE, STRICT = 10, 6
"""How often overlaps are weighed anew: first so that the sum of distances is made small, not that of squares,
by which the many win against the few; then so that what misses by far hardly counts at all."""

USUAL = 3.0
"""An overlap that misses by so many times the usual counts a half."""

LEAST = 1e-9
"""No overlap counts less, so that what hangs on it alone has a place."""

ROUNDING = 1e-7
"""Misses of this share of an overlap are none: they are the root of a difference of squares."""


@dataclass(frozen=True, eq=False)
class Overlaps:
    """What pairs of pieces share; all arrays have an entry for each pair.

    Attributes
    ----------
    ends : ndarray of shape (e, 2)
        The pieces.
    total : ndarray of shape (e,)
        The weight of the points that they share.
    means : ndarray of shape (e, 2, d)
        Their means in the coordinates of each.
    cross : ndarray of shape (e, d, d)
        Y_i'HY_j.
    sizes : ndarray of shape (e, 2)
        |HY_i|^2 and |HY_j|^2.
    """

    ends: npt.NDArray[np.int64]
    total: Array
    means: Array
    cross: Array
    sizes: Array

    @classmethod
    def from_sums(cls, ends: npt.NDArray[np.int64], sums: Array, d: int) -> Overlaps:
        """Return what the moments of overlaps say."""
        means = sums[:, 2 : 2 + 2 * d].reshape(-1, 2, d)
        cross = sums[:, 2 + 2 * d : 2 + 2 * d + d * d].reshape(-1, d, d)
        return cls(ends, sums[:, 0], means, cross, sums[:, -2:])

    def missing(self, turns: Array) -> Array:
        """Return the squared error of each overlap about its mean, under given turns."""
        one, two = turns[self.ends[:, 0]], turns[self.ends[:, 1]]
        fitted = np.einsum("eab,eac,ecb->e", one, self.cross, two)
        return np.asarray(np.maximum(self.sizes.sum(axis=1) - 2 * fitted, 0.0))

    def shifted(self, turns: Array) -> Array:
        """Return how the first end of each overlap lies to the second, once turned."""
        one, two = turns[self.ends[:, 0]], turns[self.ends[:, 1]]
        return np.asarray(
            np.einsum("ea,eab->eb", self.means[:, 0], one) - np.einsum("ea,eab->eb", self.means[:, 1], two)
        )


@dataclass(frozen=True, eq=False)
class Aligned:
    """Motions of pieces, and how well they fit.

    Attributes
    ----------
    turns : ndarray of shape (p, d, d)
        Rows of a piece are multiplied by its turn from the right.
    shifts : ndarray of shape (p, d)
        What is added then.
    components : ndarray of shape (p,)
        Pieces that overlap, directly or not, have the same number.
    error : ndarray of shape (e,)
        The root mean square distance between both images of the points of each overlap.
    trust : ndarray of shape (e,)
        How much each overlap counts in the end, from 0 to 1.
    """

    turns: Array
    shifts: Array
    components: npt.NDArray[np.int64]
    error: Array
    trust: Array


def align(overlaps: Overlaps, n_pieces: int, d: int) -> Aligned:
    """Turn and move pieces until they agree.

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
        return Aligned(
            np.tile(np.eye(d), (n_pieces, 1, 1)),
            np.zeros((n_pieces, d)),
            components,
            np.empty(0),
            np.empty(0),
        )
    odds = _round_triangles(overlaps, n_pieces)
    trust = _trust(odds, overlaps, strict=True)
    turns = shifts = error = None
    for step in range(GENTLE + STRICT):
        turns = _turn(overlaps, n_pieces, d, trust, odds, turns)
        shifts = _shift(overlaps, overlaps.shifted(turns), n_pieces, trust)
        apart = overlaps.shifted(turns) + shifts[overlaps.ends[:, 0]] - shifts[overlaps.ends[:, 1]]
        squared = overlaps.missing(turns) / overlaps.total + (apart**2).sum(axis=1)
        error = np.sqrt(squared)
        trust = _trust(squared, overlaps, strict=step >= GENTLE)
    assert turns is not None
    assert shifts is not None
    assert error is not None
    return Aligned(turns, shifts, components, error, trust)


def _components(ends: Any, n_pieces: int) -> npt.NDArray[np.int64]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    joined = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n_pieces, n_pieces))
    return np.asarray(connected_components(joined, directed=False)[1], dtype=np.int64)


def _trust(squared: Array, overlaps: Overlaps, strict: bool) -> Array:
    """Return the weights of overlaps: those that miss by far more than is usual count little."""
    floor = ROUNDING**2 * overlaps.sizes.max(axis=1) / overlaps.total
    usual = max(float(np.median(squared)), float(np.median(floor)), np.finfo(float).tiny)
    missed = np.sqrt(squared / usual) / USUAL
    return np.maximum(1.0 / (1.0 + missed**4 if strict else 1.0 + missed), LEAST)


def _round_triangles(overlaps: Overlaps, n_pieces: int) -> Array:
    """Return how far from closing each overlap's best triangle is, squared.

    A wrong overlap is in no triangle that closes. Three pieces that overlap say twice how one lies to
    another. An overlap that is in no triangle has the median of all.
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
        # Where the middle of what i and k share comes to lie, once round by j.
        middle = np.einsum("ea,eab->eb", first[ik] - first[ij], turns[ij]) + second[ij]
        middle = np.einsum("ea,eab->eb", middle - first[jk], turns[jk]) + second[jk]
        apart = ((middle - second[ik]) ** 2).sum(axis=1) + reach * ((direct - round_) ** 2).sum(axis=(1, 2))
        for edges in (ij, ik, jk):
            np.minimum.at(odds, edges, apart)
    known = np.isfinite(odds)
    odds[~known] = np.median(odds[known]) if known.any() else 0.0
    return odds


def _steps(overlaps: Overlaps) -> tuple[Array, Array, Array]:
    """Return the motion from one piece of each overlap to the other: turn, middle there, middle here."""
    u, _, v = np.linalg.svd(overlaps.cross)
    return u @ v, overlaps.means[:, 0], overlaps.means[:, 1]


def _turn(overlaps: Overlaps, n_pieces: int, d: int, trust: Array, odds: Array, start: Array | None) -> Array:
    """Return the turns of pieces: from `start`, or along the tree of the overlaps that fit best."""
    ends = overlaps.ends
    rows = np.concatenate([ends[:, 0], ends[:, 1]])
    columns = np.concatenate([ends[:, 1], ends[:, 0]])
    order = np.lexsort((columns, rows))
    indptr = np.searchsorted(rows[order], np.arange(n_pieces + 1)).astype(np.int64)
    graph: Any = {
        "found_here": False,
        "n_neighbors": None,
        "indptr": indptr,
        "indices": columns[order].astype(np.uint32),
    }
    scale = 1.0 / overlaps.sizes.max()
    cross = scale * trust[:, None, None] * overlaps.cross
    products = np.concatenate([cross, np.swapaxes(cross, 1, 2)])[order]
    fit = 1.0 - np.linalg.svd(overlaps.cross, compute_uv=False).sum(axis=1) / (overlaps.sizes.mean(axis=1))
    fit = np.maximum(fit, 0.0) + odds * overlaps.total / overlaps.sizes.mean(axis=1)
    weights = np.concatenate([fit, fit])[order]
    # The core keeps matrices column after column.
    flat = np.ascontiguousarray(np.swapaxes(products, 1, 2)).ravel()
    begun = None if start is None else np.ascontiguousarray(np.swapaxes(start, 1, 2)).ravel()
    turns, _ = _core.align_pieces(graph, flat, weights, d, begun)
    return np.swapaxes(turns.reshape(n_pieces, d, d), 1, 2)


def _shift(overlaps: Overlaps, apart: Array, n_pieces: int, trust: Array) -> Array:
    """Return the shifts that leave the least between overlaps; each component keeps its first piece."""
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import splu

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
