"""The rigid motions that bring the components of an embedding to their pins, and to each other by their ties.

Rotations follow from the tied points of each two components, by the core's alignment of pieces: along the tree
of ties that fit best, then by sweeps of eq. 9 of Goldberg & Ritov (2009). Translations are those for which the
weighted means of tied points fit best, which is one system with the Laplacian of the components. The places of
pins are one more component, which stays where it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csc_array, csr_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from ... import _core
from .pins import Pins
from .ties import Ties

__all__ = ["brought_together", "joined", "links_of"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.uint32]
Rows = npt.NDArray[np.intp]

UNDECIDED = 1e-9
"""Share of a cross product that is added to it, so that tied points on a line, or in one place, decide no more."""


@dataclass(frozen=True, eq=False)
class Links:
    """Pairs of points of two components that should come together; all arrays have an entry for each."""

    ends: Rows  # Shape (m, 2). The components, the lower first.
    one: Array  # Shape (m, d). Where the point of the lower component is.
    two: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class _Overlaps:
    """Two components each with the links between them: weights, means, cross products and squared sizes."""

    ends: Rows  # Shape (e, 2).
    weight: Array
    means: Array  # Shape (e, 2, d).
    cross: Array  # Shape (e, d, d).
    sizes: Array


def joined(labels: Indices, ties: Ties) -> Indices:
    """Return the component of each point if ties join components `labels`, numbered by their first points."""
    count = int(labels.max()) + 1
    one, two = labels[ties.pairs].T
    graph = coo_array((np.ones(len(one)), (one, two)), shape=(count, count))
    found: Indices = connected_components(graph, directed=False)[1][labels].astype(np.uint32)
    return found


def brought_together(y: Array, labels: Indices, pins: Pins | None, ties: Ties | None) -> tuple[Array, Array]:
    """Return the embedding with its components moved, and the rotation of each."""
    count, d = int(labels.max()) + 1, y.shape[1]
    rotations, translations = np.tile(np.eye(d), (count + 1, 1, 1)), np.zeros((count + 1, d))
    links = links_of(y, labels, pins, ties, count)
    if len(links.ends):
        overlaps = _overlaps(links, count + 1)
        rotations = _rotations(overlaps, count + 1, d)
        translations = _translations(overlaps, rotations, count + 1)
        if pins is not None:  # The places of the pins stay where they are.
            back = rotations[count].T
            held = _held(overlaps, count)
            rotations[held] = rotations[held] @ back
            translations[held] = (translations[held] - translations[count]) @ back
    moved = np.einsum("na,nab->nb", y, rotations[labels]) + translations[labels]
    if pins is not None:
        moved[pins.rows[~pins.is_soft]] = pins.places[~pins.is_soft]
    return moved, rotations[:count]


def links_of(y: Array, labels: Indices, pins: Pins | None, ties: Ties | None, count: int) -> Links:
    """Return the ties between components, and the pins as links to the component of their places."""
    d = y.shape[1]
    ends, one, two, weights = (
        [np.zeros((0, 2), dtype=np.intp)],
        [np.zeros((0, d))],
        [np.zeros((0, d))],
        [np.zeros(0)],
    )
    if ties is not None:
        components = labels[ties.pairs].astype(np.intp)
        apart = components[:, 0] != components[:, 1]
        order = np.argsort(components[apart], axis=1)
        pairs = np.take_along_axis(ties.pairs[apart], order, axis=1)
        ends.append(np.take_along_axis(components[apart], order, axis=1))
        one.append(y[pairs[:, 0]])
        two.append(y[pairs[:, 1]])
        # A tie without a weight says where components lie as well.
        weights.append(np.where(ties.weights[apart] > 0, ties.weights[apart], 1.0))
    if pins is not None:
        ends.append(np.stack([labels[pins.rows], np.full(len(pins.rows), count)], axis=1).astype(np.intp))
        one.append(y[pins.rows])
        two.append(pins.places)
        weights.append(np.where(pins.is_soft, pins.weights, 1.0))
    rows, first, second = np.concatenate(ends), np.concatenate(one), np.concatenate(two)
    return Links(rows, first, second, np.concatenate(weights))


def _overlaps(links: Links, count: int) -> _Overlaps:
    """Return the moments of the links of each two components."""
    keys, place = np.unique(links.ends[:, 0] * count + links.ends[:, 1], return_inverse=True)
    place, size = place.ravel(), len(keys)

    def total(values: Array) -> Array:
        return np.bincount(place, links.weights * values, size).astype(np.float64)

    def mean(rows: Array) -> Array:
        return np.stack([total(column) for column in rows.T], axis=1) / weight[:, None]

    weight = total(np.ones(len(place)))
    means = np.stack([mean(links.one), mean(links.two)], axis=1)
    one, two = links.one - means[place, 0], links.two - means[place, 1]
    d = one.shape[1]
    cross = np.stack([total(a * b) for a in one.T for b in two.T], axis=1).reshape(size, d, d)
    sizes = total((one**2).sum(axis=1) + (two**2).sum(axis=1))
    return _Overlaps(np.stack([keys // count, keys % count], axis=1), weight, means, cross, sizes)


def _rotations(overlaps: _Overlaps, count: int, d: int) -> Array:
    """Return the rotation of each component: its rows are multiplied by it from the right."""
    norms = np.linalg.norm(overlaps.cross, axis=(1, 2))
    shift = np.where(norms > 0, UNDECIDED * norms, 1.0)
    largest = float(norms.max()) or 1.0
    cross = (overlaps.cross + shift[:, None, None] * np.eye(d)) / largest
    fit = np.linalg.svd(overlaps.cross, compute_uv=False).sum(axis=1)
    misfit = np.where(
        overlaps.sizes > 0, 1.0 - 2.0 * fit / np.where(overlaps.sizes > 0, overlaps.sizes, 1.0), 1.0
    )
    columns, rows = np.concatenate([overlaps.ends[:, ::-1], overlaps.ends]).T
    order = np.lexsort((columns, rows))
    indptr = np.searchsorted(rows[order], np.arange(count + 1)).astype(np.int64)
    graph = _core.Graph(columns[order].astype(np.uint32), indptr=indptr)
    # The core keeps matrices column after column.
    products = np.concatenate([cross, cross.swapaxes(1, 2)])[order].swapaxes(1, 2)
    weights = np.concatenate([misfit, misfit])[order]
    found, _ = _core.align_pieces(graph, np.ascontiguousarray(products).ravel(), weights, d)
    return found.reshape(count, d, d).swapaxes(1, 2).copy()


def _translations(overlaps: _Overlaps, rotations: Array, count: int) -> Array:
    """Return the translations of components after their rotations, with the least weighted sum of squares."""
    one, two = overlaps.ends.T
    first = np.einsum("ea,eab->eb", overlaps.means[:, 0], rotations[one])
    second = np.einsum("ea,eab->eb", overlaps.means[:, 1], rotations[two])
    edges = np.arange(len(one))
    shape = (len(one), count)
    steps = csr_array(
        (np.repeat([1.0, -1.0], len(one)), (np.tile(edges, 2), np.concatenate([one, two]))), shape=shape
    )
    weighted = steps.T @ (overlaps.weight[:, None] * (second - first))
    laplacian = csr_array(steps.T @ (diags_array(overlaps.weight) @ steps))
    # The first component of all that are linked stays: the right-hand side sums to zero over them.
    first_of = np.unique(connected_components(laplacian, directed=False)[1], return_index=True)[1]
    grounded = laplacian + coo_array((np.ones(len(first_of)), (first_of, first_of)), shape=laplacian.shape)
    return np.asarray(splu(csc_array(grounded)).solve(weighted))


def _held(overlaps: _Overlaps, count: int) -> npt.NDArray[np.bool_]:
    """Return which components the places of the pins reach, through others or not."""
    one, two = overlaps.ends.T
    graph = coo_array((np.ones(len(one)), (one, two)), shape=(count + 1, count + 1))
    labels = connected_components(graph, directed=False)[1]
    return np.asarray(labels == labels[count])
