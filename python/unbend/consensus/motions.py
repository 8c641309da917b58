"""The motions that bring the common points of all maps closest to their means (Gower 1975; Ten Berge 1977).

The sum of squared distances to the consensus is a quadratic form of the linear parts and translations of the m
maps. Its matrix has m (d + 1) rows and is all that one solve needs of the points. Translations are eliminated,
the smallest eigenvectors give rotations to begin with, and each map in turn is then rotated to fit the others.
Cost: the sum over points of the squared number of maps that hold them, times d^2, and O((m d)^3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.sparse import csr_array, diags_array

from .correspondences import Correspondences

__all__ = ["Freedom", "Motions", "check_determined", "consensus_of", "fitted_motions"]

Array = npt.NDArray[np.float64]

MAX_SWEEPS, SWEEP_TOL = 500, 1e-13
"""Maximum number of times that every map is rotated to fit the others, and the change of rotations to stop at."""

RANK_TOL = 1e-10
"""A motion is not determined if it changes the sum of squares by less than this share of the map's own part."""


@dataclass(frozen=True)
class Freedom:
    """The motions that are allowed, and the map that stays where it is."""

    scale: bool
    reflections: bool
    reference: int


@dataclass(frozen=True, eq=False)
class Motions:
    """What each map is multiplied by from the right, and what is added then."""

    linear: Array  # Shape (m, d, d). A rotation times a scale.
    translation: Array  # Shape (m, d).

    @property
    def scale(self) -> Array:
        """The factors of the maps."""
        d = self.linear.shape[1]
        return np.asarray(np.sqrt((self.linear**2).sum(axis=(1, 2)) / d))

    def moved(self, rows: Correspondences) -> Array:
        """Return the images of all rows."""
        parts = [
            y @ linear + shift
            for y, linear, shift in zip(
                rows.split(rows.coordinates), self.linear, self.translation, strict=True
            )
        ]
        return np.concatenate(parts)


def consensus_of(rows: Correspondences, moved: Array, weight: Array) -> Array:
    """Return the weighted mean of the images of each point."""
    total = np.bincount(rows.point, weight, rows.n_points)
    sums = [np.bincount(rows.point, weight * column, rows.n_points) for column in moved.T]
    return np.stack(sums, axis=1) / total[:, None]


def fitted_motions(
    rows: Correspondences, weight: Array, freedom: Freedom, start: Motions | None = None
) -> tuple[Motions, Array]:
    """Return the motions with the least weighted sum of squares, and the form that they minimize."""
    quadratic, translation_of = _reduced(_form(rows, weight), freedom.reference)
    rotations = _begun(quadratic, freedom) if start is None else start.linear / start.scale[:, None, None]
    scales = np.ones(rows.n_maps)
    for _ in range(MAX_SWEEPS):
        before = rotations.copy(), scales
        if freedom.scale:
            scales = _scales(quadratic, rotations, freedom.reference)
        _sweep(quadratic, rotations, scales, freedom)
        change = max(np.abs(rotations - before[0]).max(), np.abs(scales / before[1] - 1).max())
        if change <= SWEEP_TOL:
            break
    linear = scales[:, None, None] * rotations
    return Motions(linear, translation_of(linear)), quadratic


def check_determined(quadratic: Array, motions: Motions, freedom: Freedom, names: tuple[str, ...]) -> None:
    """Refuse maps that could move without changing the sum of squares."""
    m, d = motions.translation.shape
    sizes = np.maximum(np.einsum("iaia->i", quadratic) * motions.scale**2, np.finfo(float).tiny)
    free = np.flatnonzero(np.arange(m) != freedom.reference)
    directions = _directions(d, freedom.scale)
    turned = np.einsum("iab,iakc,kcd->ibkd", motions.linear, quadratic, motions.linear)
    if len(directions):
        form = np.einsum("xba,ibkc,yca->ixky", directions, turned, directions)[free][:, :, free]
        share = np.sqrt(sizes[free])[:, None]
        form /= share[:, :, None, None] * share[None, None]
        values, vectors = np.linalg.eigh(form.reshape((len(free) * len(directions),) * 2))
        if values[0] < RANK_TOL:
            loose = int(np.abs(vectors[:, 0]).argmax()) // len(directions)
            raise ValueError(
                f"the common points do not determine how map {names[free[loose]]!r} is rotated: they coincide or "
                f"lie in fewer than {d} dimensions; give common points in general position"
            )
    if freedom.reflections:
        others = turned.sum(axis=2) - np.einsum("iaib->iab", turned)
        spectra = np.linalg.svd(others, compute_uv=False)
        flat = [i for i in free if spectra[i, -1] < RANK_TOL * spectra[i, 0]]
        if flat:
            raise ValueError(
                f"the common points do not determine whether map {names[flat[0]]!r} is reflected: they lie in "
                f"fewer than {d} dimensions; give common points in general position, or set reflections=False"
            )


# The quadratic form --------------------------------------------------------------------------------------


def _form(rows: Correspondences, weight: Array) -> Array:
    """Return the form of linear parts and translations, of shape (m, d + 1, m, d + 1)."""
    m, width = rows.n_maps, rows.coordinates.shape[1] + 1
    extended = np.column_stack([rows.coordinates, np.ones(len(weight))])
    columns = width * rows.map[:, None] + np.arange(width)
    points = np.repeat(rows.point, width)
    shape = (rows.n_points, m * width)
    weighted = csr_array(((weight[:, None] * extended).ravel(), (points, columns.ravel())), shape=shape)
    total = np.bincount(rows.point, weight, rows.n_points)
    means = (weighted.T @ (diags_array(1.0 / total) @ weighted)).toarray().reshape(m, width, m, width)
    form = -means
    for i, (own, share) in enumerate(zip(rows.split(extended), rows.split(weight), strict=True)):
        form[i, :, i] += own.T @ (share[:, None] * own)
    return np.asarray(form)


def _reduced(form: Array, reference: int) -> tuple[Array, _Translations]:
    """Return the form of linear parts alone, with the best translations, and a function that gives these."""
    m, d = form.shape[0], form.shape[1] - 1
    free = np.arange(m) != reference
    inner = form[:, d, :, d][free][:, free]
    mixed = form[:, d, :, :d][free].reshape(-1, m * d)
    gains = np.linalg.solve(inner, mixed)
    quadratic = form[:, :d, :, :d].reshape(m * d, m * d) - mixed.T @ gains
    quadratic = 0.5 * (quadratic + quadratic.T)
    return quadratic.reshape(m, d, m, d), _Translations(gains, free)


@dataclass(frozen=True, eq=False)
class _Translations:
    """The best translations as a function of the linear parts; that of the reference is zero."""

    gains: Array
    free: npt.NDArray[np.bool_]

    def __call__(self, linear: Array) -> Array:
        m, d, _ = linear.shape
        translation = np.zeros((m, d))
        translation[self.free] = -self.gains @ linear.reshape(m * d, d)
        return translation


# Rotations and scales ------------------------------------------------------------------------------------


def _begun(quadratic: Array, freedom: Freedom) -> Array:
    """Return rotations from the smallest eigenvectors, in which every map counts by its own extent."""
    m, d = quadratic.shape[:2]
    extent = np.einsum("iaia->i", quadratic) / d
    share = np.repeat(1.0 / np.sqrt(np.maximum(extent, np.finfo(float).tiny)), d)
    scaled = share[:, None] * quadratic.reshape(m * d, m * d) * share
    _, vectors = eigh(scaled, subset_by_index=[0, d - 1])
    blocks = vectors.reshape(m, d, d)
    return _nearest_rotations(blocks @ blocks[freedom.reference].T, freedom.reflections)


def _sweep(quadratic: Array, rotations: Array, scales: Array, freedom: Freedom) -> None:
    """Rotate every map but the reference to fit the others."""
    m, d = quadratic.shape[:2]
    for i in range(m):
        if i == freedom.reference:
            continue
        row = quadratic[i].reshape(d, m * d) * np.repeat(scales, d)
        pull = quadratic[i, :, i] @ rotations[i] * scales[i] - row @ rotations.reshape(m * d, d)
        rotations[i] = _nearest_rotations(pull[None], freedom.reflections)[0]


def _nearest_rotations(matrices: Array, reflections: bool) -> Array:
    """Return the orthogonal matrices nearest to given ones, of determinant 1 unless reflections are allowed."""
    u, _, v = np.linalg.svd(matrices)
    if not reflections:
        u[:, :, -1] *= np.linalg.det(u @ v)[:, None]
    return np.asarray(u @ v)


def _scales(quadratic: Array, rotations: Array, reference: int) -> Array:
    """Return the scales that fit best while the maps keep their extent together (Ten Berge 1977)."""
    gram = np.einsum("iba,ibkc,kca->ik", rotations, quadratic, rotations)
    share = 1.0 / np.sqrt(np.maximum(np.diag(gram), np.finfo(float).tiny))
    _, vectors = eigh(share[:, None] * gram * share, subset_by_index=[0, 0])
    scales = np.abs(vectors[:, 0]) * share
    return np.asarray(scales / scales[reference])


def _directions(d: int, scale: bool) -> Array:
    """Return the directions in which a linear part can change: rotations in each plane, and the scale."""
    planes = []
    for a in range(d):
        for b in range(a):
            plane = np.zeros((d, d))
            plane[a, b], plane[b, a] = 1.0, -1.0
            planes.append(plane)
    return np.array(planes + [np.eye(d)] * scale).reshape(-1, d, d)
