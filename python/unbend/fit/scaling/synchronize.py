"""Patches brought together: reflections, then rotations, then positions.

Two patches that share points determine the motion between them. Reflections come first, as in ASAP: the smallest
eigenvector of the signed Laplacian, whose weights say how much worse the best motion with the other sign
fits. Rotations follow from the overlaps that agree with the reflections, by the core's alignment: along the
tree of the overlaps that fit best, then by sweeps of eq. 9 of Goldberg & Ritov (2009). Positions are those
whose differences fit the rotated pairs of all patches best, which is one system with the Laplacian of the
graph; rotations and positions are then improved in turn. Overlaps that the others contradict lose their
weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array, csr_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from ... import _core
from ..assembly import one_blas_thread
from ..problem import Array
from .pairs import Ends, symmetric
from .patches import Cover, Patches
from .stress import Laplacian, Stress

__all__ = ["bring_together"]

Signs = npt.NDArray[np.float64]

REFLECTION_ROUNDS, ROTATION_ROUNDS, POSITION_ROUNDS = 4, 8, 10
"""Number of times that reflections, rotations and positions are computed; weights change in between."""

CONTRADICTED = 0.3
"""Factor on the weight of an overlap that disagrees with the reflections of a round."""

LEAST_WIDTH = 0.02
"""Overlaps narrower than this share of their length, by singular values, are not used: they do not
distinguish reflections."""

MAX_EVIDENCE = 10.0
"""Above this factor between both errors, more evidence for a reflection hardly counts."""

ROUNDING = 1e-3
"""Squared errors of overlaps up to this share of the squared median distance count as equal."""

USUAL = 9.0
"""An overlap whose squared error is this multiple of the median has half the weight."""

SHIFT, POWER_STEPS = 1e-4, 40
"""The signed Laplacian is shifted by this number, and inverse iteration takes this number of steps."""

TRIPLES_AT_ONCE = 500_000
"""Number of entries (point, patch, patch) that are added up at a time."""


@dataclass(frozen=True, eq=False)
class Overlaps:
    """Pairs of patches with shared points; all arrays have an entry for each."""

    ends: Ends  # Shape (e, 2). The patches.
    count: Array  # Number of shared points.
    cross: Array  # Shape (e, d, d). X_p'HX_q.
    sizes: Array  # |HX_p|^2 + |HX_q|^2.

    def __len__(self) -> int:
        """Return the number of overlaps."""
        return len(self.ends)

    def part(self, chosen: npt.NDArray[np.bool_]) -> Overlaps:
        """Return some of the overlaps."""
        return Overlaps(self.ends[chosen], self.count[chosen], self.cross[chosen], self.sizes[chosen])

    def errors(self, rotations: Array) -> Array:
        """Return the mean squared distance between both images of the shared points."""
        one, two = rotations[self.ends[:, 0]], rotations[self.ends[:, 1]]
        fitted = np.einsum("eab,eac,ecb->e", one, self.cross, two)
        return np.asarray(np.maximum(self.sizes - 2 * fitted, 0.0) / self.count)

    def best_errors(self) -> tuple[Array, Array]:
        """Return the least such errors by motions without a reflection, and with one."""
        left, values, right = np.linalg.svd(self.cross)
        signs = np.sign(np.linalg.det(left) * np.linalg.det(right))
        small, rest = values[:, -1] * np.where(signs < 0, -1.0, 1.0), values[:, :-1].sum(axis=1)
        with_reflection = np.maximum(self.sizes - 2 * (rest - small), 0.0)
        return np.maximum(self.sizes - 2 * (rest + small), 0.0) / self.count, with_reflection / self.count


def bring_together(patches: Patches, stress: Stress, laplacian: Laplacian, typical: float) -> Array:
    """Return the positions of all points; `typical` is the median distance of pairs."""
    with one_blas_thread():
        floor = ROUNDING * typical**2
        overlaps = _overlaps(patches)
        signs = _reflections(overlaps, len(patches.cover), floor)
        flips = np.ones((len(signs), patches.coordinates.shape[1]))
        flips[:, -1] = signs
        upright = replace(patches, coordinates=patches.coordinates * flips[patches.cover.patch_of_row])
        cross = (
            overlaps.cross * flips[overlaps.ends[:, 0]][:, :, None] * flips[overlaps.ends[:, 1]][:, None, :]
        )
        agreeing = _agreement(overlaps, signs) > 0
        rotations = _rotations(replace(overlaps, cross=cross).part(agreeing), len(signs), floor)
        return _positions(upright, rotations, stress, laplacian)


# Overlaps ------------------------------------------------------------------------------------------------


def _overlaps(patches: Patches) -> Overlaps:
    """Return the overlaps that fix a motion: d + 2 points or more, not on a line."""
    x, d, n = patches.coordinates, patches.coordinates.shape[1], len(patches.cover)
    covering = patches.cover
    held = csr_array(
        (np.ones(len(x)), covering.points, covering.indptr), shape=(n, int(covering.points.max()) + 1)
    )
    shared = csr_array(held @ held.T)
    rows = np.repeat(np.arange(n), np.diff(shared.indptr))
    used = (rows < shared.indices) & (shared.data >= d + 2)
    keys, count = rows[used] * n + shared.indices[used].astype(np.int64), shared.data[used]
    order = np.argsort(keys)
    keys, count = keys[order], count[order]
    sums = np.zeros((2 * d + d * d + 2, len(keys)))
    for one, two in _triples(covering):
        key = covering.patch_of_row[one] * n + covering.patch_of_row[two]
        place = np.searchsorted(keys, key)
        known = place < len(keys)
        known[known] = keys[place[known]] == key[known]
        _add(sums, place[known], x[one[known]], x[two[known]])
    first, second = sums[:d] / count, sums[d : 2 * d] / count
    cross = sums[2 * d : -2].reshape(d, d, -1) - count * first[:, None] * second[None]
    sizes = sums[-2] + sums[-1] - count * ((first**2).sum(axis=0) + (second**2).sum(axis=0))
    found = Overlaps(np.stack([keys // n, keys % n], axis=1), count, np.moveaxis(cross, -1, 0).copy(), sizes)
    widths = np.linalg.svd(found.cross, compute_uv=False)
    return found.part(widths[:, -1] > LEAST_WIDTH * widths[:, 0])


def _add(sums: Array, place: npt.NDArray[np.int64], one: Array, two: Array) -> None:
    """Add the moments of shared points to those of their overlaps."""
    columns = [
        *one.T,
        *two.T,
        *((a * b) for a in one.T for b in two.T),
        (one**2).sum(axis=1),
        (two**2).sum(axis=1),
    ]
    for total, column in zip(sums, columns, strict=True):
        total += np.bincount(place, column, len(total))


def _triples(covering: Cover) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Yield pairs of rows that hold the same point, that of the lower patch first."""
    order = np.argsort(covering.points, kind="stable")
    counts = np.bincount(covering.points)
    begins = np.cumsum(counts) - counts
    for size in np.unique(counts[counts > 1]):
        first, second = np.triu_indices(size, 1)
        begin = begins[counts == size]
        step = max(1, TRIPLES_AT_ONCE // len(first))
        for start in range(0, len(begin), step):
            rows = order[begin[start : start + step][:, None] + np.arange(size)]
            yield rows[:, first].ravel(), rows[:, second].ravel()


# Reflections ---------------------------------------------------------------------------------------------


def _agreement(overlaps: Overlaps, signs: Signs) -> Array:
    """Return 1 for overlaps that agree with the reflections of their patches, and -1 for the others."""
    one, two = signs[overlaps.ends].T
    return np.asarray(np.sign(np.linalg.det(overlaps.cross)) * one * two)


def _reflections(overlaps: Overlaps, n: int, floor: float) -> Signs:
    """Return for each patch 1, or -1 if it is to be reflected."""
    proper, reflected = overlaps.best_errors()
    ratio = np.abs(proper - reflected) / (np.minimum(proper, reflected) + floor)
    weights = ratio / (1.0 + ratio / MAX_EVIDENCE)
    measured = np.sign(reflected - proper)
    signs = np.ones(n)
    for _ in range(REFLECTION_ROUNDS):
        signs = _smallest_signs(overlaps.ends, measured, weights, n)
        weights = np.where(_agreement(overlaps, signs) < 0, CONTRADICTED * weights, weights)
    return signs


def _smallest_signs(ends: Ends, measured: Array, weights: Array, n: int) -> Signs:
    """Return the signs of the smallest eigenvector of each component, by inverse iteration on all at once."""
    joined = symmetric(n, ends, weights)
    degrees = np.asarray(joined.sum(axis=1)).ravel()
    degrees[degrees == 0] = 1.0
    roots = np.sqrt(degrees)
    signed = symmetric(n, ends, measured * weights)
    scaled = diags_array(1 / roots) @ signed @ diags_array(1 / roots)
    factor = splu(csc_array(diags_array(np.full(n, 1.0 + SHIFT)) - scaled))
    labels = connected_components(joined, directed=False)[1]
    vector = np.random.default_rng(0).normal(size=n)
    for _ in range(POWER_STEPS):
        vector = factor.solve(vector)
        norms = np.sqrt(np.bincount(labels, vector**2))
        vector /= norms[labels]
    return np.where(vector < 0, -1.0, 1.0)


# Rotations and positions ---------------------------------------------------------------------------------


def _rotations(overlaps: Overlaps, n: int, floor: float) -> Array:
    """Return the rotation of each patch: its rows are multiplied by it from the right."""
    d = overlaps.cross.shape[1]
    if len(overlaps) == 0:
        return np.tile(np.eye(d), (n, 1, 1))
    best = overlaps.best_errors()[0]
    trust = first = floor / (best + floor)
    rotations: Array | None = None
    for _ in range(ROTATION_ROUNDS):
        rotations = _aligned(overlaps, trust, n, rotations)
        errors = overlaps.errors(rotations)
        usual = max(float(np.median(errors)), floor)
        trust = first / (1.0 + (errors / usual / USUAL) ** 2)
    assert rotations is not None
    return rotations


def _aligned(overlaps: Overlaps, trust: Array, n: int, start: Array | None) -> Array:
    """Return the rotations that the core finds: from `start`, or along the tree of the best overlaps."""
    d = overlaps.cross.shape[1]
    columns, rows = np.concatenate([overlaps.ends[:, ::-1], overlaps.ends]).T
    order = np.lexsort((columns, rows))
    indptr = np.searchsorted(rows[order], np.arange(n + 1)).astype(np.int64)
    graph = _core.Graph(columns[order].astype(np.uint32), indptr=indptr)
    cross = trust[:, None, None] * overlaps.cross / overlaps.sizes.max()
    products = np.concatenate([cross, cross.swapaxes(1, 2)])[order]
    misfit = overlaps.best_errors()[0] * overlaps.count / overlaps.sizes
    weights = np.concatenate([misfit, misfit])[order]
    # The core keeps matrices column after column.
    begun = None if start is None else np.ascontiguousarray(start.swapaxes(1, 2)).ravel()
    found, _ = _core.align_pieces(
        graph, np.ascontiguousarray(products.swapaxes(1, 2)).ravel(), weights, d, begun
    )
    return found.reshape(n, d, d).swapaxes(1, 2)


def _positions(patches: Patches, rotations: Array, stress: Stress, laplacian: Laplacian) -> Array:
    """Return the positions that fit the rotated patches, after some rounds of rotations and positions."""
    usual = float(np.median(patches.errors))
    weights = 1.0 / (patches.errors**2 + usual**2 / 4 + np.finfo(float).tiny)
    assembly = _Assembly(patches, weights / weights.max(), stress, laplacian)
    y = assembly.positions(rotations)
    for _ in range(POSITION_ROUNDS):
        y = assembly.positions(assembly.rotations(y))
    return y


class _Assembly:
    """The two steps in turn: positions for given rotations of patches, and rotations for given positions."""

    def __init__(self, patches: Patches, weights: Array, stress: Stress, laplacian: Laplacian) -> None:
        self._patches, self._stress, self._laplacian = patches, stress, laplacian
        self._patch = patches.cover.patch_of_row
        self._count = len(patches.cover)
        self._x = self._centered(patches.coordinates)
        self._weights = weights[self._patch[patches.rows[:, 0]]]
        self._total = np.bincount(patches.pair, self._weights)

    def positions(self, rotations: Array) -> Array:
        """Return the positions whose differences are nearest to the means over the patches of each pair."""
        turned = np.einsum("ia,iab->ib", self._x, rotations[self._patch])
        steps = turned[self._patches.rows[:, 0]] - turned[self._patches.rows[:, 1]]
        sums = [np.bincount(self._patches.pair, self._weights * column) for column in steps.T]
        return self._laplacian.solve(self._stress.divergence(np.stack(sums, axis=1) / self._total[:, None]))

    def rotations(self, y: Array) -> Array:
        """Return the motions, reflections included, that fit the patches to positions."""
        images = self._centered(y[self._patches.cover.points])
        d = images.shape[1]
        cross = [[np.bincount(self._patch, a * b, self._count) for b in images.T] for a in self._x.T]
        left, _, right = np.linalg.svd(np.moveaxis(np.array(cross).reshape(d, d, -1), -1, 0))
        return np.asarray(left @ right)

    def _centered(self, rows: Array) -> Array:
        sizes = np.diff(self._patches.cover.indptr)
        means = np.stack([np.bincount(self._patch, column, self._count) for column in rows.T], axis=1)
        return rows - (means / sizes[:, None])[self._patch]
