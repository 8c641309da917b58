"""The noise of the data, from what a quadratic surface leaves of each neighborhood.

Along the surface, noise looks like another sample of it. Across the surface it does not, and noise is
taken to be as large in all directions. A quadratic fit removes the curvature, which would look like noise
otherwise.
Cost: O(n k^2 q).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from ..graph.neighbors import Neighborhoods

__all__ = ["noise_of"]

Array = npt.NDArray[np.float64]

BLOCK_ENTRIES = 2**21
"""Neighborhoods are fitted in blocks of this many coordinates or inner products."""

MAX_CALIBRATED = 5000
"""Maximum number of neighborhoods that show how much of the noise tangents hide, as a random sample."""

SMOOTHINGS = 2
"""Number of times that the variance is averaged over neighborhoods: those of single ones vary by half."""

MAX_CONTAMINATION = 2.0
"""Maximum factor by which the variance is raised because tangents have followed the noise."""


def noise_of(points: Any, graph: Neighborhoods, d: int, rng: np.random.Generator) -> Array:
    """Return the standard deviation of the noise of each coordinate, at each point.

    Strong noise hides a part of itself, because tangents follow it. How large this part is follows from the
    data with as much noise again.
    """
    x = np.asarray(points, dtype=np.float64)
    variance = _variances(x, graph, d, np.arange(len(x)))
    centers = np.flatnonzero(np.isfinite(variance))
    variance = _filled(variance)
    mean = float(variance.mean())
    if mean > 0:
        noisier = x + rng.normal(scale=np.sqrt(mean), size=x.shape)
        if len(centers) > MAX_CALIBRATED:
            centers = np.sort(rng.choice(centers, MAX_CALIBRATED, replace=False))
        again = float(_variances(noisier, graph, d, centers)[centers].mean())
        variance = variance * _contamination(again / float(variance[centers].mean()))
    for _ in range(SMOOTHINGS):
        variance = _averaged(variance, graph)
    return np.asarray(np.sqrt(variance))


def _variances(x: Array, graph: Neighborhoods, d: int, centers: Any) -> Array:
    """Return the variance of the noise in the neighborhoods of some points; NaN where too few points are near."""
    found = np.full(len(x), np.nan)
    sizes = graph.sizes[centers]
    for size in np.unique(sizes):
        n_terms = _term_count(int(size) + 1, d)
        if n_terms == 0:
            continue
        rows = centers[sizes == size]
        step = max(1, BLOCK_ENTRIES // ((int(size) + 1) * max(x.shape[1], int(size) + 1)))
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            near = graph.indices[graph.indptr[part, None] + np.arange(size)].astype(np.int64)
            local = x[np.concatenate([part[:, None], near], axis=1)]
            freedom = (local.shape[1] - n_terms) * (x.shape[1] - d)
            found[part] = _residuals(local, d, n_terms) / freedom
    return found


def _term_count(size: int, d: int) -> int:
    """Return the number of terms of a fit to this many points: a quadric or a plane; 0 for too few points."""
    quadric, plane = 1 + d + d * (d + 1) // 2, 1 + d
    return quadric if size > quadric else plane if size > plane else 0


def _residuals(local: Array, d: int, n_terms: int) -> Array:
    """Return the sum of squares that a fit over the first d principal directions leaves of each neighborhood."""
    local = local - local.mean(axis=1, keepdims=True)
    gram = local @ local.transpose(0, 2, 1)
    values, vectors = np.linalg.eigh(gram)
    chart = vectors[:, :, -d:] * np.sqrt(np.maximum(values[:, None, -d:], 0.0))
    chart /= np.maximum(np.abs(chart).max(axis=(1, 2), keepdims=True), np.finfo(float).tiny)
    terms = [np.ones_like(chart[:, :, :1]), chart]
    if n_terms > 1 + d:
        terms += [chart[:, :, a : a + 1] * chart[:, :, : a + 1] for a in range(d)]
    q, _ = np.linalg.qr(np.concatenate(terms, axis=2))
    explained = np.einsum("nmp,nmp->n", gram @ q, q)
    return np.asarray(np.maximum(np.trace(gram, axis1=1, axis2=2) - explained, 0.0))


def _filled(variance: Array) -> Array:
    """Return variances with the median in the place of those that are not known."""
    known = np.isfinite(variance)
    if not known.any():
        raise ValueError(
            "the noise cannot be estimated: no neighborhood has more points than a plane needs; raise "
            "n_neighbors, or give noise, its standard deviation in each coordinate"
        )
    return np.where(known, variance, np.median(variance[known]))


def _contamination(ratio: float) -> float:
    """Return true over estimated variance if as much noise again raises the estimate by a factor of `ratio`.

    The estimate is taken to be s - a s^2 for a variance s.
    """

    def excess(factor: float) -> float:
        return factor + 1 - (factor - 1) * (factor + 1) ** 2 / factor**2 - ratio

    if excess(1.0) <= 0:
        return 1.0
    if excess(MAX_CONTAMINATION) >= 0:
        return MAX_CONTAMINATION
    return float(brentq(excess, 1.0, MAX_CONTAMINATION))


def _averaged(variance: Array, graph: Neighborhoods) -> Array:
    """Return the mean over each point and its neighbors."""
    sums = np.concatenate([[0.0], np.cumsum(variance[graph.indices])])
    return np.asarray((variance + sums[graph.indptr[1:]] - sums[graph.indptr[:-1]]) / (1 + graph.sizes))
