"""Estimate of the dimension of data, from local spectra at several scales and from the two nearest neighbors."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import Matrix, as_count, as_points, check_entries, thread_count
from ..core.jsonable import finite
from ..core.notebook import Bold, Rows, as_html
from ..core.parameters import documented
from ..core.random import RandomState, seed_from, stream
from ..core.shared_parameters import FUNCTIONS
from ..graph.neighbors import Neighborhoods, resolve
from ..metrics.faithful import screes
from ..metrics.sampling import NORMAL_95

__all__ = ["Dimension", "dimension"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.uint32]

Flags = npt.NDArray[np.bool_]

MIN_SCALE = 12  # Number of neighbors of the smallest scale.
MAX_SCALE, MAX_SCALE_OF_WIDE = 1024, 256  # Largest scales; none is above an eighth of the points.
WIDE = 16  # Data with more columns than this are wide.
# Limits of the number of points to examine, and the products that their spectra may cost. Spectra of wide data
# differ more from point to point.
MIN_CENTERS, MAX_CENTERS, MAX_CENTERS_OF_WIDE, MAX_PRODUCTS = 64, 256, 1024, 4e9
MAX_VALUES = 32  # Larger dimensions are not detected.
NEIGHBORS_PER_DIRECTION = 4  # A scale of K neighbors distinguishes directions up to K / 4.
MAX_WIDENING = 4  # A gap after direction d counts up to neighborhoods 4 times as wide: K = 12 4^d.
CHANCE_GAP = 2.0  # A smaller fall from one direction to the next may be chance, or the boundary of the data.
CERTAIN_GAP = 10.0  # A larger fall is not clearer: the first such gap counts.
JUDGED_SCALE = 48  # From this scale on chance makes no gap of `CHANCE_GAP`.
WHOLE_GAP = 1.25  # The same limit for all data together.
MAX_FLAT_RATIO = 3.0  # Data are flat if their variance beyond d is at most 3 times that of neighborhoods.
MOST_SHOWN = 8  # A notebook shows the least R_N of dimensions up to this one.
WHOLE_SAMPLE = 10_000  # A sample of this many points represents all.
ROUNDING_SHARE = 1e-9  # A variance below this share of the largest is rounding.
FITTED_SHARE = 0.9  # The largest tenth of the ratios of distances is not fitted (Facco et al. 2017).


@dataclass(frozen=True, eq=False)
class Dimension:
    """Dimension of data, of all and near some points.

    Attributes
    ----------
    value : int
        Dimension of the data: the place of the gap in the local spectra.
    gap : float
        Factor by which variance falls after direction `value`, at `scale`. Below 2 the value is a guess.
    scale : int
        Number of neighbors at which that gap is widest; all other points if the data are `flat`.
    flat : bool
        True if all data together lie in `value` dimensions, up to noise.
    two_nn : float
        Estimate of Facco et al. (2017) from the two nearest neighbors of every point. It takes noise for
        dimension as soon as noise is as large as the distance of neighbors. NaN, also for its interval, if no
        point has two neighbors at different distances above 0.
    centers : ndarray of int
        Points whose neighborhoods were used.
    per_point, two_nn_per_point : ndarray
        Dimension near each of them: from the spectrum at `scale`, and from the pairs of distances of its
        neighbors; NaN where these are copies or fewer than two.
    scales : ndarray of int
        Numbers of neighbors of the spectra.
    spectra : ndarray of shape (scales, directions)
        Variance along each principal direction as a share of the first, for each scale: means over centers.
    n_neighbors : int
        Number of neighbors of `scree`.
    scree : ndarray
        For d = 1, 2, ... the smallest R_N that an embedding in d dimensions can have (Lemma 1 of Goldberg &
        Ritov), as the mean over the centers.

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(3000, noise=0.3, random_state=0)
    >>> found = ub.dimension(X, random_state=0)
    >>> found.value, found.two_nn > 2.5  # the two nearest neighbors measure the noise
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
    def is_guess(self) -> bool:
        """True if variance falls by less than half after direction `value`, so that it may be another."""
        return self.gap < CHANCE_GAP

    @property
    def two_nn_interval(self) -> tuple[float, float]:
        """95 % interval of `two_nn`, as if distances of different points were independent."""
        half = NORMAL_95 * self.two_nn / math.sqrt(max(1, self._pairs))
        return max(0.0, self.two_nn - half), self.two_nn + half

    def to_dict(self) -> dict[str, Any]:
        """Return all but the values of single points, ready for JSON: numbers that are not finite are None."""
        names = ("value", "gap", "scale", "flat", "two_nn", "two_nn_interval", "n_neighbors")
        values = {name: getattr(self, name) for name in (*names, "is_guess")}
        values |= {name: getattr(self, name).tolist() for name in ("scree", "scales", "spectra")}
        return {name: finite(value) for name, value in values.items()}

    def _repr_html_(self) -> str:
        """Return the estimates in a sentence and the least errors in a table for a notebook."""
        bounds = [(f"{d}", f"{bound:.3g}") for d, bound in enumerate(self.scree[:MOST_SHOWN], 1)]
        chosen = self.value - 1
        cells = [tuple(map(Bold, row)) if place == chosen else row for place, row in enumerate(bounds)]
        rows = Rows(("dimension", f"least R_N, {self.n_neighbors:,} neighbors"), cells, ">>")
        return as_html(Bold("D" + str(self).removeprefix("d") + "."), rows)

    def __str__(self) -> str:
        """Return the estimates in a sentence."""
        where = "of all points" if self.flat else f"at {self.scale:,} neighbors"
        low, high = self.two_nn_interval
        two = f"{self.two_nn:.3g} ({low:.3g} to {high:.3g})" if math.isfinite(self.two_nn) else "unknown"
        return (
            f"dimension {self.value}{', a guess' * self.is_guess}: variance falls {self.gap:.3g} times after it, "
            f"{where}; two nearest: {two}"
        )


@documented(FUNCTIONS)
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

    The local principal components of some points are taken from 12, 24, 48, ... neighbors. Variance along the
    surface grows with the neighborhood; noise does not grow, and curvature appears late. The dimension is
    therefore where variance falls most from one direction to the next. If it falls by less than half there,
    data of at most 16 columns are flat or fill their space. docs/selecting.md has the rules.

    Invariant under rotation, translation and scaling of X. The cost is that of the search for neighbors, and
    O(c K q^2) for c centers with up to K neighbors, or O(c K^2 q) for wide data.

    Parameters
    ----------
    n_neighbors : int, default 12
        Number of neighbors of `scree`.
    n_centers : int, optional
        Number of points to look at, as a random sample. By default 256, or between 64 and 1024 if X has more
        than 16 columns; fewer if that takes long.

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
    check_entries(x, "X")
    n, q = x.shape
    if n < 2:
        raise ValueError(f"X has {n} point: the dimension needs at least 2")
    if n_centers is None:
        largest = _scales(n, q)[-1]
        affordable = MAX_PRODUCTS / (largest * q * min(largest, q))
        n_centers = int(np.clip(affordable, MIN_CENTERS, MAX_CENTERS_OF_WIDE if q > WIDE else MAX_CENTERS))
    size = min(as_count(n_centers, "n_centers"), n)
    graph = resolve(x, neighborhoods, n_neighbors, None, n_jobs)
    if graph.n_neighbors is None or graph.distances is None:
        raise ValueError("neighborhoods must hold as many neighbors for every point, with their distances")
    if len(graph) != n:
        raise ValueError(f"X has {n} rows, but neighborhoods has {len(graph)}")
    drawn = stream(seed, "dimension").choice(n, size=size, replace=False, shuffle=False)
    return _estimated(x, graph, np.sort(drawn).astype(np.uint32), seed, thread_count(n_jobs))


def _estimated(x: Matrix, graph: Neighborhoods, centers: Indices, seed: int, n_jobs: int) -> Dimension:
    q, scales, n_values = x.shape[1], _scales(*x.shape), min(x.shape[1], MAX_VALUES)
    flat_spectra = _core.spectra(x, centers, scales, n_values, n_jobs)
    spectra = flat_spectra.reshape(len(centers), len(scales), n_values + 1)
    typical = spectra.mean(axis=0)  # The last column is the remaining variance.
    gaps = _gaps(typical[:, :-1])
    valid = _valid(scales, gaps.shape[1])
    value, clear = _widest(gaps, valid, scales)
    flat, gap = (0, 1.0) if clear else _flat(x, typical[-1], scales, seed)
    if not clear:
        value = flat or (value if q > WIDE else q)
    place = len(scales) - 1
    if value <= gaps.shape[1] and valid[:, value - 1].any():  # the scale at which the gap is widest
        place = int(np.where(valid[:, value - 1], gaps[:, value - 1], -1.0).argmax())
    if not flat and value <= gaps.shape[1]:
        gap = math.exp(gaps[place, value - 1])
    two_nn, pairs, two_nn_per_point = _two_nn(graph, centers)
    k = int(graph.n_neighbors or 0)
    return Dimension(
        value=value,
        gap=gap,
        scale=len(x) - 1 if flat else scales[place],
        flat=bool(flat),
        two_nn=two_nn,
        centers=centers,
        per_point=_per_point(_gaps(spectra[:, place, :-1]), valid[place], scales[place], q),
        two_nn_per_point=two_nn_per_point,
        scales=np.array(scales),
        spectra=typical[:, :-1] / np.maximum(typical[:, :1], np.finfo(float).tiny),
        n_neighbors=k,
        scree=screes(x, graph, [k], centers, n_jobs)[0].mean(axis=0),
        _pairs=pairs,
    )


def _scales(n: int, q: int) -> list[int]:
    """Return the numbers of neighbors: 12, 24, 48, ..., as long as they are local."""
    largest = min(MAX_SCALE_OF_WIDE if q > WIDE else MAX_SCALE, n // 8)
    scales = [min(MIN_SCALE, n - 1)]
    while 2 * scales[-1] <= largest:
        scales.append(2 * scales[-1])
    return scales


def _gaps(variances: Array) -> Array:
    """Return the logarithms by which variance falls from each direction to the next."""
    floor = np.maximum(ROUNDING_SHARE * variances[..., :1], np.finfo(float).tiny)
    logs = np.log(np.maximum(variances, floor))
    return np.asarray(logs[..., :-1] - logs[..., 1:])


def _valid(scales: list[int], n_gaps: int) -> Flags:
    """Return at which scales the gap after each direction counts."""
    d = np.arange(1, n_gaps + 1)
    sizes = np.array(scales)[:, None]
    resolved = sizes >= NEIGHBORS_PER_DIRECTION * (d + 1)
    near = np.log(sizes / scales[0]) <= d * math.log(MAX_WIDENING) + 1e-9
    counts = resolved & near
    counts[-1] |= ~counts.any(axis=0) & resolved[-1]
    return np.asarray(counts)


def _widest(gaps: Array, valid: Flags, scales: list[int]) -> tuple[int, bool]:
    """Return after which direction the gap is widest, and whether it is more than chance."""
    if gaps.shape[1] == 0:
        return 1, True
    totals = np.where(valid, np.minimum(gaps, math.log(CERTAIN_GAP)), 0.0).sum(axis=0)
    d = int((totals / np.maximum(valid.sum(axis=0), 1)).argmax()) + 1
    judged = valid[:, d - 1] & (np.array(scales) >= min(JUDGED_SCALE, scales[-1]))
    return d, bool(np.where(judged, gaps[:, d - 1], 0.0).max() >= math.log(CHANCE_GAP))


def _flat(x: Matrix, local: Array, scales: list[int], seed: int) -> tuple[int, float]:
    """Return in how many dimensions all data lie, up to noise, and the gap after them; 0 if they do not.

    `local` holds the variances in the largest neighborhoods, and the remaining variance. Dimensions in which
    some neighborhood is four times as wide as the smallest are not considered.
    """
    n, q = x.shape
    least = int(math.log(scales[-1] / scales[0]) / math.log(MAX_WIDENING) + 1e-9) + 1
    sampled = n > WHOLE_SAMPLE
    sample = x[np.sort(stream(seed, "whole").choice(n, WHOLE_SAMPLE, replace=False))] if sampled else x
    values = _variances(sample)
    most = min(len(local) - 1, len(values) - 1, q - 1)
    if most < least or values[0] <= 0:
        return 0, 1.0
    gaps = np.exp(_gaps(values[None, : most + 1])[0])
    beyond, whole = (v[::-1].cumsum()[::-1][1 : most + 1] for v in (local, values))
    flat = (whole <= MAX_FLAT_RATIO * beyond + ROUNDING_SHARE * values[0]) & (gaps >= WHOLE_GAP)
    flat[: least - 1] = False
    if not flat.any():
        return 0, 1.0
    d = int(np.where(flat, gaps, 0.0).argmax()) + 1
    return d, float(gaps[d - 1])


def _variances(x: Matrix) -> Array:
    """Return the variances along the principal directions of all points."""
    centered = x.astype(np.float64) - x.mean(axis=0, dtype=np.float64)
    scatter = centered.T @ centered if x.shape[1] <= len(x) else centered @ centered.T
    return np.asarray(np.maximum(np.linalg.eigvalsh(scatter)[::-1], 0.0) / len(x))


def _per_point(gaps: Array, valid: Flags, scale: int, q: int) -> npt.NDArray[np.int64]:
    """Return the dimension near each center, from its spectrum at one scale."""
    if gaps.shape[1] == 0:
        return np.ones(len(gaps), dtype=np.int64)
    counted = np.where(valid, np.minimum(gaps, math.log(CERTAIN_GAP)), -1.0)
    unclear = (counted.max(axis=1) < math.log(CHANCE_GAP)) & (scale >= JUDGED_SCALE) & (q <= WIDE)
    return np.where(unclear, q, counted.argmax(axis=1) + 1).astype(np.int64)


def _two_nn(graph: Neighborhoods, centers: Indices) -> tuple[float, int, Array]:
    """Return the estimate from the two nearest neighbors, its number of points, and that near each center."""
    k, missing = int(graph.n_neighbors or 0), np.full(len(centers), np.nan)
    if k < 2:
        return math.nan, 0, missing
    lists, far = graph.indices.reshape(-1, k), np.asarray(graph.distances).reshape(-1, k)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(far[:, 1] / far[:, 0])
    known = np.isfinite(logs)
    n = int(known.sum())
    fitted = np.sort(logs[known])[: math.ceil(FITTED_SHARE * n)]
    levels = -np.log1p(-np.arange(1, len(fitted) + 1) / (n + 1))
    spread = float((fitted**2).sum())
    value = float(levels @ fitted) / spread if spread > 0 else math.nan
    members = np.column_stack([centers[:, None], lists[centers]])
    sums, counts = np.where(known, logs, 0.0)[members].sum(axis=1), known[members].sum(axis=1)
    return value, n, np.divide(counts - 1, sums, out=missing, where=(sums > 0) & (counts > 1))
