"""Cheapest smooth functions of coordinates, by the method of Rayleigh and Ritz.

The cost is Phi of *The price of normalization* (eq. 2) for functions of unit variance. The functions are the
coordinates and polynomials of them: a small dense eigenproblem instead of a large sparse one. The time is
O(n m^2 + n k m) for m functions, 46 in the plane, and that of the alignment matrix.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Columns", "cheapest"]

Array = npt.NDArray[np.float64]

N_FUNCTIONS = 44  # Polynomials have the largest degree with at most this many: 8 in the plane.
MIN_NEW_SHARE = 1e-9  # A singular value of the columns below this share of the largest is rounding.


@dataclass(frozen=True)
class Columns:
    """Uncorrelated functions of unit variance, one per column, the cheapest first."""

    values: Array
    shares: Array
    """Share of the variance of the coordinates that the first 1, 2, ... columns explain linearly, in the direction
    in which it is smallest."""

    def needed(self, share: float) -> int:
        """Return the number of columns that keep this share of every direction of the coordinates."""
        return int(np.argmax(self.shares >= share)) + 1


def cheapest(matrix: Any, coordinates: Array, weights: Array) -> Columns:
    """Return the functions of least Phi.

    `matrix` is the alignment matrix, y'My = Phi(y). The coordinates are uncorrelated, of mean 0 and variance 1
    with the weights of the points, which add up to 1.
    """
    root = np.sqrt(weights)[:, None]
    functions = _orthonormal(root, _functions(coordinates, weights))
    free = functions / root
    _, mix = np.linalg.eigh(free.T @ (matrix @ free))
    turned = (root * coordinates).T @ functions @ mix
    return Columns(free @ mix, _least_shares(turned))


def _functions(coordinates: Array, weights: Array) -> Array:
    """Return the coordinates, and polynomials of the coordinates mapped to (-1, 1)."""
    d = coordinates.shape[1]
    bounded = coordinates / np.sqrt(1 + coordinates**2)
    low, high = bounded.min(axis=0), bounded.max(axis=0)
    degree = next(p for p in itertools.count(2) if math.comb(p + 1 + d, d) - 1 > N_FUNCTIONS)
    powers = np.polynomial.chebyshev.chebvander(2 * (bounded - low) / (high - low) - 1, degree)
    products = [np.prod(powers[:, range(d), e], axis=1) for e in _exponents(d, degree)]
    columns = np.column_stack([coordinates, *products])
    columns -= weights @ columns
    deviations: Array = np.sqrt(weights @ columns**2)
    return columns[:, deviations > 0] / deviations[deviations > 0]


def _exponents(d: int, degree: int) -> list[tuple[int, ...]]:
    """Return the exponents of the monomials of `d` variables, of degree 1 to `degree`."""
    chosen = itertools.combinations_with_replacement(range(d + 1), degree)
    counted = (tuple(one.count(j) for j in range(d)) for one in chosen)
    return [exponents for exponents in counted if any(exponents)]


def _orthonormal(root: Array, columns: Array) -> Array:
    q, r = np.linalg.qr(root * columns)
    u, sizes, _ = np.linalg.svd(r, full_matrices=False)
    basis: Array = q @ u[:, sizes > MIN_NEW_SHARE * sizes[0]]
    return basis


def _least_shares(turned: Array) -> Array:
    """Return the smallest squared singular value of the first 1, 2, ... columns."""
    d, m = turned.shape
    grams = np.cumsum(turned.T[:, :, None] * turned.T[:, None, :], axis=0)
    shares = np.asarray(np.linalg.eigvalsh(grams)[:, 0], np.float64)
    shares[: min(d - 1, m)] = 0.0
    shares[-1] = max(1.0, shares[-1])  # All columns together contain the coordinates.
    return shares
