"""Random matrices that nearly keep distances: normal, sparse, and by a fast transform.

All keep squared lengths on average. The costs are those of the product with one point of q coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array, csr_array

from ...core.arrays import Matrix
from .base import slices

__all__ = ["Hadamard", "Kind", "draw_hadamard", "draw_map"]

Array = npt.NDArray[np.float64]
Kind = Literal["gaussian", "sparse", "kane-nelson", "hadamard"]

SPARSITY = 3
"""In a sparse map, one entry in this number is not 0, on average (Achlioptas 2003)."""

PADDED_COPIES = 4
"""The transform of a block of points holds about this many copies of it, with its columns padded."""


def draw_map(kind: Kind, d: int, q: int, eps: float, rng: np.random.Generator) -> Array | csr_array:
    """Return a random matrix of d rows and q columns, of any kind but "hadamard"."""
    if kind == "gaussian":
        return np.asarray(rng.normal(scale=1 / math.sqrt(d), size=(d, q)))
    return _achlioptas(d, q, rng) if kind == "sparse" else _kane_nelson(d, q, eps, rng)


def _achlioptas(d: int, q: int, rng: np.random.Generator) -> csr_array:
    """Return a matrix of which two thirds are 0 on average. Cost: O(q d / 3)."""
    size = math.sqrt(SPARSITY / d)
    counts = rng.binomial(q, 1 / SPARSITY, size=d)
    columns = [np.sort(rng.choice(q, size=count, replace=False)) for count in counts]
    values = rng.choice([-size, size], size=int(counts.sum()))
    return csr_array((values, np.concatenate(columns), np.cumsum([0, *counts])), shape=(d, q))


def _kane_nelson(d: int, q: int, eps: float, rng: np.random.Generator) -> csr_array:
    """Return a matrix with exactly s entries in each column, one in each of s blocks of rows.

    Kane & Nelson 2014, the block construction of section 1: s is of the order of eps d. Cost: O(q s).
    """
    s = min(d, math.ceil(eps * d))
    ends = np.arange(s + 1) * d // s
    rows = rng.integers(ends[:-1], ends[1:], size=(q, s))
    values = rng.choice([-1 / math.sqrt(s), 1 / math.sqrt(s)], size=q * s)
    return csr_array(csc_array((values, rows.ravel(), np.arange(q + 1) * s), shape=(d, q)))


@dataclass(frozen=True)
class Hadamard:
    """A subsampled randomized Hadamard transform: signs, the transform of Walsh and Hadamard, some of its rows.

    The product structure of Ailon & Chazelle 2006, with a sample of rows in place of their sparse matrix, as in
    Tropp 2011. Cost: O(q log q), whatever the number of rows.
    """

    signs: Array
    rows: npt.NDArray[np.int64]

    def project(self, x: Matrix) -> Array:
        """Return the images of points."""
        return np.concatenate(list(self._parts(x)))

    def _parts(self, x: Matrix) -> Iterator[Array]:
        n, q = x.shape
        width = padded(q)
        for part in slices(n, PADDED_COPIES * width):
            block = np.zeros((len(x[part]), width))
            block[:, :q] = x[part] * self.signs
            yield transformed(block)[:, self.rows] / math.sqrt(len(self.rows))

    def matrix(self) -> Array:
        """Return the matrix of the map, of d rows and q columns."""
        common = self.rows[:, None] & np.arange(len(self.signs))
        for shift in (32, 16, 8, 4, 2, 1):
            common ^= common >> shift
        return np.asarray(np.where(common & 1, -self.signs, self.signs) / math.sqrt(len(self.rows)))


def draw_hadamard(d: int, q: int, rng: np.random.Generator) -> Hadamard:
    """Return a random transform of q coordinates to d."""
    signs = rng.choice([-1.0, 1.0], size=q)
    return Hadamard(signs, np.sort(rng.choice(padded(q), size=d, replace=False)).astype(np.int64))


def padded(q: int) -> int:
    """Return the smallest power of 2 that is at least `q`.

    Examples
    --------
    >>> padded(5), padded(8), padded(1)
    (8, 8, 1)
    """
    return 1 << (q - 1).bit_length()


def transformed(rows: Array) -> Array:
    """Return the Walsh-Hadamard transform of every row, whose length is a power of 2; `rows` is overwritten.

    Examples
    --------
    >>> import numpy as np
    >>> transformed(np.array([[1.0, 0.0, 2.0, 0.0]])).tolist()
    [[3.0, 3.0, -1.0, -1.0]]
    """
    n, width = rows.shape
    half = 1
    while half < width:
        pairs = rows.reshape(n, -1, 2, half)
        below = pairs[:, :, 1].copy()
        np.subtract(pairs[:, :, 0], below, out=pairs[:, :, 1])
        pairs[:, :, 0] += below
        half *= 2
    return rows
