"""Energies of a flat triangle mesh, with gradient and a positive semidefinite Hessian.

A linear map of the plane is z -> alpha z + beta conj(z) in complex numbers. Its singular values are
|alpha| + |beta| and |alpha| - |beta|, the second one negative where the map flips. An energy that does not
depend on rotations is therefore a function f(u, v) of u = |alpha|^2 and v = |beta|^2, and its Hessian has a
closed form: along the rotations of alpha and of beta it is 2 f_u and 2 f_v, and along their lengths a 2 x 2
matrix. Negative eigenvalues are set to zero (Teran et al. 2005; Smith et al. 2019), which makes every Newton
step a descent direction.

The symmetric Dirichlet energy is |J|^2 + |J^-1|^2 = |J|^2 (1 + 1 / det(J)^2), which is 4 for an isometry and
infinite for a triangle without area. With `epsilon` > 0, det is replaced by (det + sqrt(det^2 + epsilon^2)) / 2,
which is positive for flipped triangles as well (Garanzha et al. 2021).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

__all__ = ["ENERGIES", "Arap", "Array", "Complex", "Energy", "Faces", "FlatMesh", "SymmetricDirichlet"]

Array = npt.NDArray[np.float64]
Complex = npt.NDArray[np.complex128]
Faces = npt.NDArray[np.int64]

BLOCK_FACES = 2**14
"""Triangles are expanded in blocks of this number, whose intermediate results stay in the processor's cache."""


@dataclass(frozen=True)
class Derivatives:
    """First and second derivatives of f(u, v), one number for each triangle."""

    u: Array
    v: Array
    uu: Array
    uv: Array
    vv: Array


@dataclass(frozen=True)
class SymmetricDirichlet:
    """Squared singular values of the map and of its inverse; with `epsilon`, finite for flipped triangles."""

    epsilon: float = 0.0
    minimum: ClassVar[float] = 4.0  # The energy of an isometry.

    @property
    def is_barrier(self) -> bool:
        """True if the energy of a flipped triangle is infinite."""
        return self.epsilon == 0

    def value(self, u: Array, v: Array) -> Array:
        """Return the energy of each triangle."""
        value: Array = 2 * (u + v) * (1 + self._positive(u - v) ** -2)
        return value

    def derivatives(self, u: Array, v: Array) -> Derivatives:
        """Return the derivatives of the energy of each triangle."""
        s, d = u + v, u - v
        chi = self._positive(d)
        inverse = 1 / chi
        first, second = np.ones_like(d), np.zeros_like(d)
        if self.epsilon:
            root = np.sqrt(d * d + self.epsilon**2)
            first, second = chi / root, self.epsilon**2 / (2 * root**3)
        cube = inverse**3
        by_s, by_d = 2 + 2 * inverse**2, -4 * s * first * cube
        mixed = -4 * first * cube
        twice = s * (12 * first**2 * cube * inverse - 4 * second * cube)
        return Derivatives(by_s + by_d, by_s - by_d, 2 * mixed + twice, -twice, twice - 2 * mixed)

    def _positive(self, d: Array) -> Array:
        if not self.epsilon:
            return d
        root = np.sqrt(d * d + self.epsilon**2)
        # For d < 0 the sum cancels, so it is written as a quotient.
        positive: Array = np.where(d > 0, (d + root) / 2, self.epsilon**2 / (2 * (root - np.minimum(d, 0))))
        return positive


@dataclass(frozen=True)
class Arap:
    """As rigid as possible: squared differences of the singular values from 1."""

    minimum: ClassVar[float] = 0.0

    @property
    def is_barrier(self) -> bool:
        """True if flipped triangles are refused; otherwise the energy would prefer some to be flipped."""
        return True

    def value(self, u: Array, v: Array) -> Array:
        """Return the energy of each triangle."""
        value: Array = 2 * (u + v) - 4 * np.sqrt(u) + 2
        return value

    def derivatives(self, u: Array, v: Array) -> Derivatives:
        """Return the derivatives of the energy of each triangle."""
        zero, root = np.zeros_like(u), np.sqrt(np.maximum(u, np.finfo(float).tiny))
        return Derivatives(2 - 2 / root, zero + 2, 1 / (u * root), zero, zero)


Energy = SymmetricDirichlet | Arap

ENERGIES: dict[str, type[SymmetricDirichlet] | type[Arap]] = {
    "symmetric_dirichlet": SymmetricDirichlet,
    "arap": Arap,
}
"""The energies that can be minimized, by name."""


@dataclass(frozen=True, eq=False)
class FlatMesh:
    """Triangles with their shapes in space, and where each part of the Hessian is stored."""

    n: int  # Number of vertices.
    corners: Faces = field(repr=False)  # Shape (3, m). The vertices of each triangle.
    slopes: Complex = field(
        repr=False
    )  # Shape (3, m). What each corner adds to alpha; to beta, the conjugate.
    weights: Array = field(repr=False)  # Share of each triangle in the total area.
    area: float  # The total area.

    @classmethod
    def of(cls, shapes: Array, faces: Faces, n: int) -> FlatMesh:
        """Take triangles by their shapes: the length of the first edge, and where the third corner is from it."""
        length, x, y = shapes.T
        third = x + 1j * y
        slopes = np.empty((3, len(faces)), complex)
        # The gradient of a corner's hat function is its opposite edge turned by 90 degrees, over twice the area.
        for k, opposite in enumerate((third - length, -third, length + 0j)):
            slopes[k] = np.conj(1j * opposite) / (2 * length * y)
        areas = length * y / 2
        total = float(areas.sum())
        return cls(n, np.ascontiguousarray(faces.T), slopes, areas / total, total)

    @cached_property
    def pattern(self) -> Pattern:
        """Places of the entries of the Hessian."""
        return Pattern.of(self.corners, self.n)

    def split(self, z: Complex, rows: slice = slice(None)) -> tuple[Complex, Complex]:
        """Return alpha and beta of every triangle."""
        edge1, edge2 = self._edges(z, rows)
        s1, s2 = self.slopes[1, rows], self.slopes[2, rows]
        return edge1 * s1 + edge2 * s2, edge1 * np.conj(s1) + edge2 * np.conj(s2)

    def double_areas(self, z: Complex, rows: slice = slice(None)) -> Array:
        """Return twice the signed area of every flat triangle."""
        edge1, edge2 = self._edges(z, rows)
        areas: Array = edge1.real * edge2.imag - edge1.imag * edge2.real
        return areas

    def n_flipped(self, z: Complex) -> int:
        """Return the number of triangles whose area is not positive."""
        return sum(int(np.count_nonzero(~(self.double_areas(z, rows) > 0))) for rows in self._blocks())

    def value(self, energy: Energy, z: Complex) -> float:
        """Return the mean energy; infinite if the energy is a barrier and a triangle is flipped."""
        total = 0.0
        for rows in self._blocks():
            alpha, beta = self.split(z, rows)
            u, v = _square(alpha), _square(beta)
            if energy.is_barrier and not ((u > v).all() and (self.double_areas(z, rows) > 0).all()):
                return np.inf
            total += float(self.weights[rows] @ energy.value(u, v))
        return total

    def expansion(self, energy: Energy, z: Complex) -> tuple[Complex, Array]:
        """Return the gradient, and the blocks of the Hessian without its negative curvature.

        The real and imaginary parts of the gradient are the derivatives by x and y.
        """
        pattern, parts = self.pattern, self._parts
        for rows in self._blocks():
            alpha, beta = self.split(z, rows)
            f = energy.derivatives(_square(alpha), _square(beta))
            slopes, weights = self.slopes[:, rows], self.weights[rows]
            parts[:2, :, rows] = _gradient(f, alpha, beta, slopes, weights)
            parts[2:, :, rows] = _hessian(f, alpha, beta, slopes, weights)
        gradient = pattern.at_vertices(parts[0]) + 1j * pattern.at_vertices(parts[1])
        return gradient, pattern.blocks(parts[2:])

    @cached_property
    def _parts(self) -> Array:
        return np.empty((9, *self.corners.shape))

    def _blocks(self) -> Iterator[slice]:
        for start in range(0, self.corners.shape[1], BLOCK_FACES):
            yield slice(start, start + BLOCK_FACES)

    def _edges(self, z: Complex, rows: slice) -> tuple[Complex, Complex]:
        first = z[self.corners[0, rows]]
        return z[self.corners[1, rows]] - first, z[self.corners[2, rows]] - first


def _gradient(f: Derivatives, alpha: Complex, beta: Complex, slopes: Complex, weights: Array) -> Array:
    """Return the real and imaginary parts of each corner's gradient."""
    by_alpha, by_beta = 2 * weights * f.u * alpha, 2 * weights * f.v * beta
    gradient = by_alpha * np.conj(slopes) + by_beta * slopes
    return np.stack([gradient.real, gradient.imag])


def _hessian(f: Derivatives, alpha: Complex, beta: Complex, slopes: Complex, weights: Array) -> Array:
    """Return the Hessian of each triangle in 7 rows: 3 for its corners, 4 for its sides.

    A pair of corners has the form Re(h dz conj(dw)) + Re(s dz dw) with complex h and s. For a corner with itself,
    h is real.
    """
    a, b = np.abs(alpha), np.abs(beta)
    unit_a, unit_b = _unit(alpha, a), _unit(beta, b)
    h_aa, h_ab, h_bb = _positive_part(
        2 * f.u + 4 * a * a * f.uu, 4 * a * b * f.uv, 2 * f.v + 4 * b * b * f.vv
    )
    t_a, t_b = np.maximum(2 * f.u, 0), np.maximum(2 * f.v, 0)
    half = weights / 2
    # The quadratic form of a change (da, db), in moduli and squares of complex numbers.
    modulus_a, square_a = half * (h_aa + t_a), half * (h_aa - t_a) * np.conj(unit_a) ** 2
    modulus_b, square_b = half * (h_bb + t_b), half * (h_bb - t_b) * np.conj(unit_b) ** 2
    product, conjugate = weights * h_ab * np.conj(unit_a) * unit_b, weights * h_ab * np.conj(unit_a * unit_b)
    parts = np.empty((7, 3, len(weights)))
    for k in range(3):
        for other, rows in ((k, slice(0, 3)), ((k + 1) % 3, slice(3, 7))):
            p, q = slopes[k] * np.conj(slopes[other]), slopes[k] * slopes[other]
            hermitian = modulus_a * p + modulus_b * np.conj(p) + (product * q).real
            symmetric = square_a * q + square_b * np.conj(q) + conjugate * p.real
            numbers = [hermitian.real, hermitian.imag, symmetric.real, symmetric.imag]
            parts[rows, k] = numbers if other != k else [numbers[0], *numbers[2:]]
    return parts


@dataclass(frozen=True, eq=False)
class Pattern:
    """The sparse matrix of a mesh: one 2 x 2 block for each vertex, and two for each edge."""

    indptr: npt.NDArray[np.int32] = field(repr=False)
    indices: npt.NDArray[np.int32] = field(repr=False)
    corners: Faces = field(repr=False)  # The vertex of every corner, corner by corner.
    sides: Faces = field(repr=False)  # The edge of every side, side by side.
    signs: Array = field(repr=False)  # Shape (3, m). -1 where a side goes from the higher to the lower index.
    places: tuple[Faces, Faces, Faces] = field(repr=False)  # Places of the diagonal, upper and lower blocks.

    @classmethod
    def of(cls, corners: Faces, n: int) -> Pattern:
        """Find the edges of a mesh, and the place of each in a matrix of rows."""
        tail, head = corners.ravel(), np.roll(corners, -1, axis=0).ravel()
        low, high = np.minimum(tail, head), np.maximum(tail, head)
        keys, sides = np.unique(low * n + high, return_inverse=True)
        low, high = keys // n, keys % n
        rows, columns = np.concatenate([np.arange(n), low, high]), np.concatenate([np.arange(n), high, low])
        order = np.argsort(rows * n + columns)
        places = np.empty(len(rows), np.int64)
        places[order] = np.arange(len(rows))
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.int32)
        signs = np.where(tail > head, -1.0, 1.0).reshape(corners.shape)
        parts = places[:n], places[n : n + len(keys)], places[n + len(keys) :]
        return cls(indptr, columns[order].astype(np.int32), tail, sides.ravel(), signs, parts)

    def at_vertices(self, values: Array) -> Array:
        """Add up the values of corners."""
        return np.asarray(np.bincount(self.corners, values.ravel(), len(self.places[0])), dtype=np.float64)

    def at_edges(self, values: Array) -> Array:
        """Add up the values of sides."""
        return np.asarray(np.bincount(self.sides, values.ravel(), len(self.places[1])), dtype=np.float64)

    def blocks(self, parts: Array) -> Array:
        """Return the blocks of the Hessian, from its parts of all triangles."""
        corner = [self.at_vertices(part) for part in parts[:3]]
        parts[4] *= self.signs  # seen from its other end, h is conjugate
        side = [self.at_edges(part) for part in parts[3:]]
        data = np.empty((len(self.indices), 2, 2))
        data[self.places[0]] = _real_blocks(corner[0], 0.0, corner[1], corner[2])
        upper = _real_blocks(*side)
        data[self.places[1]] = upper
        data[self.places[2]] = upper.transpose(0, 2, 1)
        return data


def _real_blocks(h_real: Array, h_imag: Array | float, s_real: Array, s_imag: Array) -> Array:
    """Return the matrices of the forms Re(h dz conj(dw)) + Re(s dz dw), with rows for dz."""
    blocks = np.empty((len(h_real), 2, 2))
    blocks[:, 0, 0] = h_real + s_real
    blocks[:, 1, 1] = h_real - s_real
    blocks[:, 0, 1] = h_imag - s_imag
    blocks[:, 1, 0] = -h_imag - s_imag
    return blocks


def _unit(z: Complex, modulus: Array) -> Complex:
    return np.where(modulus > 0, z / np.where(modulus > 0, modulus, 1), 1)


def _positive_part(a: Array, b: Array, c: Array) -> tuple[Array, Array, Array]:
    """Return the symmetric matrices [[a, b], [b, c]] without their negative eigenvalues."""
    mean, half = (a + c) / 2, (a - c) / 2
    radius = np.hypot(half, b)
    large, small = np.maximum(mean + radius, 0), np.maximum(mean - radius, 0)
    mean, scale = (large + small) / 2, (large - small) / 2 / np.where(radius > 0, radius, 1)
    return mean + scale * half, scale * b, mean - scale * half


def _square(z: Complex) -> Array:
    square: Array = z.real**2 + z.imag**2
    return square
