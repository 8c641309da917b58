"""The motions that bring the common points of all maps closest to their means (Gower 1975; Ten Berge 1977).

The sum of squared distances to the consensus is a quadratic form of the linear parts and translations of the m
maps. Its matrix has m (d + 1) rows and is all that one solve needs of the points. Translations are eliminated,
the smallest eigenvectors give rotations to begin with, and steps of Gauss & Newton bring them to the minimum.
Two maps, or very many, are rotated to fit the others in turn.
Cost: the sum over points of the squared number of maps that hold them, times d^2, and O((m d^2)^3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.sparse import csr_array, diags_array

from .correspondences import Correspondences, Indices

__all__ = ["Freedom", "Motions", "check_determined", "consensus_of", "fitted_motions"]

Array = npt.NDArray[np.float64]

MAX_STEPS, STEP_TOL = 100, 1e-12
"""Maximum number of steps of one fit, and the change of rotations and scales to stop at."""

MAX_UNKNOWNS = 2000
"""Maximum number of angles that steps of Gauss & Newton find together. Beyond it, every map is rotated by
itself, and only motions of single maps are looked at to see whether the common points determine them."""

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
    """Linear part of each map, applied from the right, and the translation after it."""

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
    for _ in range(MAX_STEPS):
        before = rotations.copy(), scales
        if freedom.scale:
            scales = _scales(quadratic, rotations, freedom.reference)
        rotations = _step(quadratic, rotations, scales, freedom)
        change = max(np.abs(rotations - before[0]).max(), np.abs(scales / before[1] - 1).max())
        if change <= STEP_TOL:
            break
    linear = scales[:, None, None] * rotations
    return Motions(linear, translation_of(linear)), quadratic


def check_determined(quadratic: Array, motions: Motions, freedom: Freedom, names: tuple[str, ...]) -> None:
    """Refuse maps that could move without changing the sum of squares."""
    m, d = motions.translation.shape
    free = np.flatnonzero(np.arange(m) != freedom.reference)
    turned = _turned(quadratic, motions.linear)
    pull = np.einsum("iaib->iab", turned) - turned.sum(axis=2)
    spectra = np.linalg.svd(pull, compute_uv=False)[free]
    loose = free[spectra[:, -2:].sum(axis=1) < RANK_TOL * spectra[:, 0]] if d > 1 else free[:0]
    if not len(loose) and m > 2 and len(free) * _n_directions(d, freedom.scale) <= MAX_UNKNOWNS:
        loose = free[_flexible(quadratic, motions, free, freedom.scale)]
    if len(loose):
        raise ValueError(
            f"the common points do not determine how map {names[loose[0]]!r} is rotated: they coincide or lie in "
            f"too few of the {d} dimensions; give common points in general position"
        )
    flat = free[spectra[:, -1] < RANK_TOL * spectra[:, 0]]
    if freedom.reflections and len(flat):
        raise ValueError(
            f"the common points do not determine whether map {names[flat[0]]!r} is reflected: they lie in fewer "
            f"than {d} dimensions; give common points in general position, or set reflections=False"
        )


def _flexible(quadratic: Array, motions: Motions, free: Indices, scale: bool) -> Indices:
    """Return the place in `free` of a map that can move together with others; none if they are rigid."""
    form = _curvature(_turned(quadratic, motions.linear), scale)[free][:, :, free]
    extent = np.sqrt(np.einsum("iaia->i", quadratic) * motions.scale**2)[free]
    form = form / (extent[:, None, None, None] * extent[None, None, :, None])
    n_directions = form.shape[1]
    if n_directions == 0:
        return free[:0]
    values, vectors = eigh(form.reshape((len(free) * n_directions,) * 2), subset_by_index=[0, 0])
    if values[0] >= RANK_TOL:
        return free[:0]
    return np.array([int(np.abs(vectors[:, 0]).argmax()) // n_directions])


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


def _step(quadratic: Array, rotations: Array, scales: Array, freedom: Freedom) -> Array:
    """Return rotations that fit better: by a step for all maps at once, or map by map if that fails."""
    m, d = quadratic.shape[:2]
    if m > 2 and (m - 1) * _n_directions(d, False) <= MAX_UNKNOWNS and d > 1:
        ahead = _newton(quadratic, rotations, scales, freedom)
        if _objective(quadratic, ahead, scales) <= _objective(quadratic, rotations, scales):
            return ahead
    return _swept(quadratic, rotations, scales, freedom)


def _objective(quadratic: Array, rotations: Array, scales: Array) -> float:
    m, d = quadratic.shape[:2]
    linear = (scales[:, None, None] * rotations).reshape(m * d, d)
    return float(np.einsum("ab,ab->", linear, quadratic.reshape(m * d, m * d) @ linear))


def _newton(quadratic: Array, rotations: Array, scales: Array, freedom: Freedom) -> Array:
    """Return all rotations after a step of Gauss & Newton; the reference stays."""
    m, d = quadratic.shape[:2]
    free = np.flatnonzero(np.arange(m) != freedom.reference)
    turned = _turned(quadratic, scales[:, None, None] * rotations)
    form = _curvature(turned, False)[free][:, :, free]
    a, b = np.tril_indices(d, -1)
    total = turned.sum(axis=2)[free]
    gradient = total[:, a, b] - total[:, b, a]
    size = gradient.size
    angles = np.linalg.lstsq(form.reshape(size, size), -gradient.ravel(), rcond=RANK_TOL)[0]
    generators = np.zeros((len(free), d, d))
    generators[:, a, b] = angles.reshape(len(free), -1)
    generators -= generators.transpose(0, 2, 1)
    ahead = rotations.copy()
    ahead[free] = rotations[free] @ _nearest_rotations(np.eye(d) + generators, True)
    return ahead


def _swept(quadratic: Array, rotations: Array, scales: Array, freedom: Freedom) -> Array:
    """Return every map but the reference rotated to fit the others, one after the other."""
    m, d = quadratic.shape[:2]
    rotations = rotations.copy()
    for i in range(m):
        if i == freedom.reference:
            continue
        row = quadratic[i].reshape(d, m * d) * np.repeat(scales, d)
        pull = quadratic[i, :, i] @ rotations[i] * scales[i] - row @ rotations.reshape(m * d, d)
        rotations[i] = _nearest_rotations(pull[None], freedom.reflections)[0]
    return rotations


def _turned(quadratic: Array, linear: Array) -> Array:
    """Return the form in the coordinates of the maps after their motions."""
    return np.asarray(np.einsum("iab,iakc,kcd->ibkd", linear, quadratic, linear, optimize=True))


def _curvature(turned: Array, scale: bool) -> Array:
    """Return the second derivatives of the sum of squares, shape (m, directions, m, directions).

    Directions are rotations in each plane of two axes, and the scale. The part that vanishes with the residuals
    is left out, so that no entry of a minimum is negative.
    """
    m, d = turned.shape[:2]
    a, b = np.tril_indices(d, -1)
    k = turned.transpose(0, 2, 1, 3)  # (m, m, d, d)
    one, two = (a[:, None], b[:, None]), (a[None], b[None])
    planes = np.zeros((m, m, len(a), len(a)))
    for first, second, sign in ((0, 0, 1), (0, 1, -1), (1, 0, -1), (1, 1, 1)):
        same = one[1 - first] == two[1 - second]
        planes += sign * same * k[:, :, one[first], two[second]]
    if not scale:
        return np.asarray(planes.transpose(0, 2, 1, 3))
    form = np.zeros((m, len(a) + 1, m, len(a) + 1))
    form[:, :-1, :, :-1] = planes.transpose(0, 2, 1, 3)
    form[:, :-1, :, -1] = (k[:, :, a, b] - k[:, :, b, a]).transpose(0, 2, 1)
    form[:, -1, :, :-1] = k[:, :, a, b] * -1 + k[:, :, b, a]
    form[:, -1, :, -1] = np.einsum("ikaa->ik", k)
    return form


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


def _n_directions(d: int, scale: bool) -> int:
    """Return in how many directions a linear part can change."""
    return d * (d - 1) // 2 + scale
