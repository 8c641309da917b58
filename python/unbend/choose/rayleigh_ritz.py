"""The cheapest smooth functions of coordinates, by the method of Rayleigh and Ritz.

The cost is Phi of *The price of normalization* (eq. 2) for functions of unit variance. The functions are
the coordinates and polynomials of them: a small dense eigenproblem in the place of a large sparse one. Cost:
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

# Polynomials are taken up to the degree that gives about so many of them: 8 in the plane.
FUNCTIONS = 44

# What a column adds to those before it is rounding if it is below this share.
DEPENDENT = 1e-9


@dataclass(frozen=True)
class Columns:
    """Uncorrelated functions of unit variance, the cheapest first.

    Attributes
    ----------
    values : ndarray of shape (n, m)
        A function a column.
    shares : ndarray of shape (m,)
        The share of the variance of the coordinates that the first 1, 2, ... columns explain linearly, in the
        direction where it is least.
    """

    values: Array
    shares: Array

    def needed(self, share: float) -> int:
        """Return how many columns keep that share of every direction of the coordinates."""
        return int(np.argmax(self.shares >= share)) + 1


def cheapest(matrix: Any, coordinates: Array, weights: Array) -> Columns:
    """Find the functions of least Phi.

    Parameters
    ----------
    matrix : sparse array of shape (n, n)
        The alignment matrix, y'My = Phi(y).
    coordinates : ndarray of shape (n, d)
        Uncorrelated, of mean 0 and variance 1.
    weights : ndarray of shape (n,)
        Of the points in means and variances; they add up to 1.

    Returns
    -------
    Columns
    """
    root = np.sqrt(weights)[:, None]
    functions = _orthonormal(root, _functions(coordinates, weights))
    free = functions / root
    _, mix = np.linalg.eigh(free.T @ (matrix @ free))
    turned = (root * coordinates).T @ functions @ mix
    return Columns(free @ mix, _least_shares(turned))


def _functions(coordinates: Array, weights: Array) -> Array:
    """Return the coordinates, and polynomials of what they become when their tails are pulled in."""
    d = coordinates.shape[1]
    bounded = coordinates / np.sqrt(1 + coordinates**2)
    low, high = bounded.min(axis=0), bounded.max(axis=0)
    degree = next(p for p in itertools.count(2) if math.comb(p + 1 + d, d) - 1 > FUNCTIONS)
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
    basis: Array = q @ u[:, sizes > DEPENDENT * sizes[0]]
    return basis


def _least_shares(turned: Array) -> Array:
    """Return the smallest squared singular value of the first 1, 2, ... columns."""
    d, m = turned.shape
    grams = np.cumsum(turned.T[:, :, None] * turned.T[:, None, :], axis=0)
    shares = np.asarray(np.linalg.eigvalsh(grams)[:, 0], np.float64)
    shares[: min(d - 1, m)] = 0.0
    shares[-1] = max(1.0, shares[-1])  # the coordinates are among the functions, but for rounding
    return shares
