"""Triangles of a flat mesh that lie on others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..energy import Array, Complex, Faces

__all__ = ["n_overlapping"]

ROUNDING = 1e-9
"""Triangles that share less than this share of the extent of the mesh, across, only touch."""

MAX_ENTRIES_PER_TRIANGLE = 16
"""The cells of the grid that finds near triangles grow until a triangle lies in no more of them, on average."""

BLOCK_PAIRS = 2**16
"""Pairs of triangles are compared in blocks of this number, whose values stay in the processor's cache."""


def n_overlapping(z: Complex, faces: Faces) -> int:
    """Return the number of triangles whose interior meets that of another."""
    corners = z[faces]
    corners -= corners.mean()
    areas = _crossed(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    corners = np.where((areas < 0)[:, None], corners[:, ::-1], corners)  # counterclockwise
    rounding = ROUNDING * float(np.abs(corners).max())
    overlapping = np.zeros(len(faces), bool)
    for first, second in _near(corners, rounding):
        meets = _meet(corners[first], corners[second], rounding)
        overlapping[first[meets]] = overlapping[second[meets]] = True
    return int(overlapping.sum())


def _near(corners: Complex, rounding: float) -> Iterator[tuple[Faces, Faces]]:
    """Yield blocks of pairs of triangles whose boxes meet, some pairs repeatedly."""
    x, y = corners.real, corners.imag
    low = np.stack([x.min(axis=1), y.min(axis=1)], axis=1)
    high = np.stack([x.max(axis=1), y.max(axis=1)], axis=1)
    cells, members = _entries(low, high)
    for step in range(1, len(cells)):
        first = np.flatnonzero(cells[step:] == cells[:-step])
        if len(first) == 0:
            return
        for block in np.array_split(first, len(first) // BLOCK_PAIRS + 1):
            a, b = members[block], members[block + step]
            meets = (np.minimum(high[a], high[b]) > np.maximum(low[a], low[b]) + rounding).all(axis=1)
            yield a[meets], b[meets]


def _entries(low: Array, high: Array) -> tuple[Faces, Faces]:
    """Return the cells of a grid, in order, that the boxes of triangles meet, and the triangle of each entry."""
    m = len(low)
    side = float(np.median((high - low).max(axis=1))) or 1.0
    origin = low.min(axis=0)
    while True:
        begin = np.floor((low - origin) / side).astype(np.int64)
        size = np.floor((high - origin) / side).astype(np.int64) - begin + 1
        counts = size.prod(axis=1)
        if counts.sum() <= MAX_ENTRIES_PER_TRIANGLE * m:
            break
        side *= 2
    members = np.repeat(np.arange(m), counts)
    place = np.arange(len(members)) - np.repeat(np.cumsum(counts) - counts, counts)
    columns, rows = (
        begin[members, 0] + place % size[members, 0],
        begin[members, 1] + place // size[members, 0],
    )
    cells = columns * (int(rows.max()) + 1) + rows
    order = np.argsort(cells, kind="stable")
    return cells[order], members[order]


def _meet(first: Complex, second: Complex, rounding: float) -> Array:
    """Return which pairs of counterclockwise triangles share more than a boundary: no side separates them."""
    apart = np.zeros(len(first), bool)
    for one, other in ((first, second), (second, first)):
        for k in range(3):
            side = one[:, (k + 1) % 3] - one[:, k]
            inward = _crossed(side[:, None], other - one[:, k, None]).max(axis=1)
            apart |= inward <= rounding * np.abs(side)
    return ~apart


def _crossed(a: Complex, b: Complex) -> Array:
    crossed: Array = a.real * b.imag - a.imag * b.real
    return crossed
