"""What dimension data have: local spectra at several scales, and the two nearest neighbours."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import Matrix, as_count, as_points, thread_count
from ..core.jsonable import finite
from ..core.random import RandomState, seed_from, stream
from ..graph.neighbors import Neighborhoods, resolve
from ..metrics.sampling import NORMAL_95

__all__ = ["Dimension", "dimension"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.uint32]

SMALLEST = 12
"""The smallest scale: so many neighbours."""

LARGEST, LARGEST_OF_WIDE = 1024, 256
"""The largest, and that of data wider than `WIDE`; never more than an eighth of the points."""

WIDE = 16

FEWEST, MOST, MOST_OF_WIDE, WORK = 64, 256, 1024, 4e9
"""Points looked at: as many as cost so many products. Spectra of wide data differ more among points."""

MOST_VALUES = 32
"""Larger dimensions are not looked for."""

DIRECTIONS = 4
"""A scale of K neighbours tells directions up to K / 4 apart."""

RADII = 4
"""A gap after direction d must show before neighbourhoods are so many times wider: up to K = 12 4^d."""

GAP = 2.0
"""What falls by less than this from one direction to the next may be chance, or the border of the data."""

CERTAIN = 10.0
"""What falls by more is not the clearer for it: the first such gap counts."""

JUDGED = 48
"""From this scale on chance makes no such gap."""

WHOLE_GAP = 1.25
"""The same of all data together."""

FLAT = 3.0
"""Data are flat if the variance beyond d directions is at most so many times that of neighbourhoods."""

WHOLE = 10_000
"""So many points stand for all."""

NOTHING = 1e-9
"""A variance below this share of the largest is rounding."""

TRUSTED = 0.9
"""The largest tenth of the ratios of distances is not fitted (Facco et al. 2017)."""


@dataclass(frozen=True, eq=False)
class Dimension:
    """What dimension data have, in all and at some points.

    Attributes
    ----------
    value : int
        The dimension: where the local spectra have their gap.
    gap : float
        By what factor variance falls after direction `value`, at `scale`. Below 2 it is a guess.
    scale : int
        The number of neighbours at which that gap is widest; all others if the data are `flat`.
    flat : bool
        Whether all data together lie in so many dimensions, up to noise.
    two_nn : float
        The estimate of Facco et al. (2017) from the two nearest neighbours of every point. It takes noise for
        dimension as soon as noise is as large as the distance of neighbours.
    centers : ndarray of int
        The points looked at.
    per_point, two_nn_per_point : ndarray
        The dimension near each of them: from the spectrum at `scale`, and from the pairs of distances of its
        neighbours.
    scales : ndarray of int
        The numbers of neighbours of which spectra were taken.
    spectra : ndarray of shape (scales, directions)
        For each scale the variance along each principal direction, as a share of the first; means over the
        centres.
    n_neighbors : int
        Of the neighbourhoods that `scree` is of.
    scree : ndarray
        For d = 1, 2, ... the least R_N that an embedding in d dimensions can have (Lemma 1 of Goldberg &
        Ritov), in the mean over the centres.

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(3000, noise=0.3, random_state=0)
    >>> found = ub.dimension(X, random_state=0)
    >>> found.value, found.two_nn > 2.5  # the two nearest see nothing but noise
    (2, True)
    """

    value: int
    gap: float
    scale: int
    flat: bool
    two_nn: float
    centers: Indices = field(repr=False)
    per_point: npt.NDArray[np.int64] = field(repr=False)
    two_nn_per_point: Array = field(repr=False)
    scales: npt.NDArray[np.int64] = field(repr=False)
    spectra: Array = field(repr=False)
    n_neighbors: int = field(repr=False)
    scree: Array = field(repr=False)
    _pairs: int = field(repr=False)

    @property
    def two_nn_interval(self) -> tuple[float, float]:
        """The 95 % interval of `two_nn`, if distances of different points were independent."""
        half = NORMAL_95 * self.two_nn / math.sqrt(max(1, self._pairs))
        return max(0.0, self.two_nn - half), self.two_nn + half

    def to_dict(self) -> dict[str, Any]:
        """Return all but what belongs to single points, ready for JSON: what is not finite is None."""
        held = {
            "value": self.value,
            "gap": self.gap,
            "scale": self.scale,
            "flat": self.flat,
            "two_nn": self.two_nn,
            "two_nn_interval": list(self.two_nn_interval),
            "n_neighbors": self.n_neighbors,
            "scree": self.scree.tolist(),
            "scales": self.scales.tolist(),
            "spectra": self.spectra.tolist(),
        }
        return {name: finite(value) for name, value in held.items()}

    def __str__(self) -> str:
        """Say what was found."""
        where = "of all points" if self.flat else f"at {self.scale:,} neighbours"
        low, high = self.two_nn_interval
        return (
            f"dimension {self.value}: variance falls {self.gap:.3g} times after it, {where}; "
            f"two nearest: {self.two_nn:.3g} ({low:.3g} to {high:.3g})"
        )


def dimension(
    X: Any,
    n_neighbors: int | None = None,
    *,
    neighborhoods: Neighborhoods | None = None,
    n_centers: int | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Dimension:
    """Estimate the intrinsic dimension of data.

    The local principal components of some points are taken from 12, 24, 48, ... neighbours. Along the
    surface variance grows with the neighbourhood; noise does not, and curvature comes late. So the
    dimension is where variance falls most from one direction to the next: in the mean over the scales, of
    log ratios, those above ten counted as ten. The scales for direction d end at neighbourhoods four times
    as wide as the smallest.

    If variance falls by less than half there, that may be chance, and two more are asked. Where d is too
    large for neighbourhoods of such widths and all data together lie in d dimensions, up to three times
    the variance that neighbourhoods have beyond d, it is that d. Else data of at most 16 columns fill
    their space.

    Invariant under rotation, translation and scaling of X. Cost: that of the search for neighbours, and
    O(c K q^2) for c centres with up to K neighbours, or O(c K^2 q) for wide data.

    Parameters
    ----------
    X : array-like of shape (n, q)
        The data.
    n_neighbors : int, default 12
        How many neighbours `scree` is taken of.
    neighborhoods : Neighborhoods, optional
        Those already computed, with their distances.
    n_centers : int, optional
        At how many points to look, drawn at random; by default 256, or between 64 and 1024 if X has more than
        16 columns: fewer where that would take long.
    random_state : int, Generator or RandomState, optional
        Which points are drawn.
    n_jobs : int, optional
        Number of threads; all by default. The result is the same for any number.

    Returns
    -------
    Dimension

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(2000, random_state=0)
    >>> ub.dimension(X, random_state=0).value
    2
    """
    x, seed = as_points(X), seed_from(random_state)
    c = _centers_of(*x.shape) if n_centers is None else as_count(n_centers, "n_centers")
    graph = resolve(x, neighborhoods, n_neighbors, None, n_jobs)
    if graph.n_neighbors is None or graph.distances is None:
        raise ValueError("neighborhoods must hold as many neighbours for every point, with their distances")
    if len(graph) != len(x):
        raise ValueError(f"X has {len(x)} rows, but neighborhoods has {len(graph)}")
    drawn = stream(seed, "dimension").choice(len(x), size=min(c, len(x)), replace=False, shuffle=False)
    return _estimated(x, graph, np.sort(drawn).astype(np.uint32), seed, thread_count(n_jobs))


def screes(x: Matrix, graph: Neighborhoods, sizes: list[int], centers: Indices, n_jobs: int) -> Array:
    """Return for each number of neighbours the bound of R_N over d: (sizes, centres, dimensions)."""
    most, n_values = max(sizes), min(x.shape[1], MOST_VALUES)
    lists = graph.indices.reshape(len(x), -1)[centers, :most]
    members = np.column_stack([centers[:, None], lists]).astype(np.uint32)
    flat = _core.spectra_of(x, members.ravel(), most + 1, sizes, n_values, n_jobs)
    found = flat.reshape(len(centers), len(sizes), n_values + 1)
    total = found.sum(axis=2, keepdims=True)
    beyond = np.cumsum(found[:, :, ::-1], axis=2)[:, :, ::-1][:, :, 1:]
    shares = np.divide(beyond, total, out=np.zeros_like(beyond), where=total > 0)
    return np.asarray(shares.transpose(1, 0, 2))


def _centers_of(n: int, q: int) -> int:
    most = _scales(n, q)[-1]
    enough = MOST_OF_WIDE if q > WIDE else MOST
    return int(np.clip(WORK / (most * q * min(most, q)), FEWEST, enough))


def _estimated(x: Matrix, graph: Neighborhoods, centers: Indices, seed: int, n_jobs: int) -> Dimension:
    scales = _scales(*x.shape)
    found = _spectra(x, centers, scales, min(x.shape[1], MOST_VALUES), n_jobs)
    typical = found.mean(axis=0)
    gaps = _gaps(typical[:, :-1])  # the last is what is left of the variance
    valid = _valid(scales, gaps.shape[1])
    value, clear = _widest(gaps, valid, scales)
    flat, gap = (0, 1.0) if clear else _flat(x, typical[-1], _unresolved(scales), seed)
    if flat or not clear:
        value = flat or (value if x.shape[1] > WIDE else x.shape[1])
    place = _clearest(gaps, valid, value)
    two_nn, pairs, near = _two_nn(graph, centers)
    k = int(graph.n_neighbors or 0)
    if not flat:
        gap = math.exp(gaps[place, value - 1]) if value <= gaps.shape[1] else 1.0
    return Dimension(
        value=value,
        gap=gap,
        scale=len(x) - 1 if flat else scales[place],
        flat=bool(flat),
        two_nn=two_nn,
        centers=centers,
        per_point=_per_point(_gaps(found[:, place, :-1]), valid[place], scales[place], x.shape[1]),
        two_nn_per_point=near,
        scales=np.array(scales),
        spectra=typical[:, :-1] / np.maximum(typical[:, :1], np.finfo(float).tiny),
        n_neighbors=k,
        scree=screes(x, graph, [k], centers, n_jobs)[0].mean(axis=0),
        _pairs=pairs,
    )


def _scales(n: int, q: int) -> list[int]:
    """Return the numbers of neighbours: 12, 24, 48, ..., as far as that is local."""
    most = min(LARGEST_OF_WIDE if q > WIDE else LARGEST, n // 8)
    scales = [min(SMALLEST, n - 1)]
    while 2 * scales[-1] <= most:
        scales.append(2 * scales[-1])
    return scales


def _spectra(x: Matrix, centers: Indices, scales: list[int], n_values: int, n_jobs: int) -> Array:
    flat = _core.spectra(x, centers, scales, n_values, n_jobs)
    return flat.reshape(len(centers), len(scales), n_values + 1)


def _gaps(variances: Array) -> Array:
    """Return the logarithms by which variance falls from each direction to the next."""
    floor = np.maximum(NOTHING * variances[..., :1], np.finfo(float).tiny)
    logs = np.log(np.maximum(variances, floor))
    return np.asarray(logs[..., :-1] - logs[..., 1:])


def _valid(scales: list[int], most: int) -> npt.NDArray[np.bool_]:
    """Return at which scales the gap after each direction counts."""
    d = np.arange(1, most + 1)
    sizes = np.array(scales)[:, None]
    known = sizes >= DIRECTIONS * (d + 1)
    near = np.log(sizes / scales[0]) <= d * math.log(RADII) + 1e-9
    counts = known & near
    counts[-1] |= ~counts.any(axis=0) & known[-1]
    return np.asarray(counts)


def _widest(gaps: Array, valid: npt.NDArray[np.bool_], scales: list[int]) -> tuple[int, bool]:
    """Return after which direction the gap is widest, and whether it is no chance."""
    if gaps.shape[1] == 0:
        return 1, True
    counted = np.where(valid, np.minimum(gaps, math.log(CERTAIN)), 0.0).sum(axis=0) / np.maximum(
        valid.sum(axis=0), 1
    )
    d = int(counted.argmax()) + 1
    judged = valid[:, d - 1] & (np.array(scales) >= min(JUDGED, scales[-1]))
    return d, bool(np.where(judged, gaps[:, d - 1], 0.0).max() >= math.log(GAP))


def _clearest(gaps: Array, valid: npt.NDArray[np.bool_], d: int) -> int:
    """Return at which scale the gap after direction d is widest; the largest if none counts."""
    if d > gaps.shape[1] or not valid[:, d - 1].any():
        return len(gaps) - 1
    return int(np.where(valid[:, d - 1], gaps[:, d - 1], -1.0).argmax())


def _unresolved(scales: list[int]) -> int:
    """Return the least dimension in which no neighbourhood is four times as wide as the smallest."""
    return int(math.log(scales[-1] / scales[0]) / math.log(RADII) + 1e-9) + 1


def _flat(x: Matrix, local: Array, least: int, seed: int) -> tuple[int, float]:
    """Return in how many dimensions all data lie, up to noise, and the gap after them; 0 if they do not.

    `local` are the variances in the largest neighbourhoods, and what is left of them.
    """
    n, q = x.shape
    some = x if n <= WHOLE else x[np.sort(stream(seed, "whole").choice(n, WHOLE, replace=False))]
    values = _variances(some)
    most = min(len(local) - 1, len(values) - 1, q - 1)
    if most < least or values[0] <= 0:
        return 0, 1.0
    gaps = np.exp(_gaps(values[None, : most + 1])[0])
    beyond = local[::-1].cumsum()[::-1][1 : most + 1]
    whole = values[::-1].cumsum()[::-1][1 : most + 1]
    flat = (whole <= FLAT * beyond + NOTHING * values[0]) & (gaps >= WHOLE_GAP)
    flat[: least - 1] = False
    if not flat.any():
        return 0, 1.0
    d = int(np.where(flat, gaps, 0.0).argmax()) + 1
    return d, float(gaps[d - 1])


def _variances(x: Matrix) -> Array:
    """Return the variances along the principal directions of all points."""
    centred = x.astype(np.float64) - x.mean(axis=0, dtype=np.float64)
    scatter = centred.T @ centred if x.shape[1] <= len(x) else centred @ centred.T
    return np.asarray(np.maximum(np.linalg.eigvalsh(scatter)[::-1], 0.0) / len(x))


def _per_point(gaps: Array, valid: npt.NDArray[np.bool_], scale: int, q: int) -> npt.NDArray[np.int64]:
    if gaps.shape[1] == 0:
        return np.ones(len(gaps), dtype=np.int64)
    counted = np.where(valid, np.minimum(gaps, math.log(CERTAIN)), -1.0)
    found = counted.argmax(axis=1) + 1
    unclear = (counted.max(axis=1) < math.log(GAP)) & (scale >= JUDGED) & (q <= WIDE)
    return np.where(unclear, q, found).astype(np.int64)


def _two_nn(graph: Neighborhoods, centers: Indices) -> tuple[float, int, Array]:
    """Return the dimension by the two nearest neighbours, of how many points, and that near each centre."""
    k = int(graph.n_neighbors or 0)
    lists, none = graph.indices.reshape(-1, k), np.full(len(centers), np.nan)
    far = np.asarray(graph.distances).reshape(-1, k)
    if k < 2:
        return math.nan, 0, none
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(far[:, 1] / far[:, 0])
    known = np.isfinite(logs)
    ordered = np.sort(logs[known])
    kept = math.ceil(TRUSTED * len(ordered))
    levels = -np.log1p(-np.arange(1, kept + 1) / (len(ordered) + 1))
    spread = float((ordered[:kept] ** 2).sum()) if len(ordered) else 0.0
    value = float(levels @ ordered[:kept]) / spread if spread > 0 else math.nan
    members = np.column_stack([centers[:, None], lists[centers]])
    sums, counts = np.where(known, logs, 0.0)[members].sum(axis=1), known[members].sum(axis=1)
    near = np.divide(counts - 1, sums, out=none, where=(sums > 0) & (counts > 1))
    return value, int(known.sum()), near
