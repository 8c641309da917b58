"""Measures of how well an embedding keeps distances, geodesic and straight.

Geodesic distances are lengths of shortest paths on the neighborhood graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.kinds import as_flag
from ..core.random import seed_from
from ..graph.neighbors import Neighborhoods, resolve
from .faithful import MEASURES as PROCRUSTES
from .sampling import NORMAL_95, Array, Sampling, WithErrors, pair
from .table import Measure, by_name, scoring

SCALE = PROCRUSTES["scale"]
MEASURES = by_name(
    Measure("residual_variance", "residual variance", "geodesic", "lower", 0, 1, "of graph distances"),
    Measure("geodesic_stress", "geodesic stress", "geodesic", "lower", 0, 1, "after the best scale"),
    Measure("geodesic_stretch", "geodesic stretch", "geodesic", "lower", 1, inf, "median; 1 is best"),
    Measure("spearman", "Spearman", "distances", "higher", -1, 1, "order of distances"),
    Measure("pearson", "Pearson", "distances", "higher", -1, 1, "linearity of distances"),
    Measure("stress", "stress", "distances", "lower", 0, inf, "of distances"),
    Measure("stress_scaled", "stress rescaled", "distances", "lower", 0, 1, "after the best scale"),
)


@dataclass(frozen=True, eq=False)
class Geodesic(WithErrors):
    """Geodesic distances in the data compared with distances in the embedding. Smaller is better.

    Attributes
    ----------
    residual_variance : float
        1 - rho^2, where rho is Pearson's correlation of the two distances over all pairs (eq. 3): in [0, 1],
        0 is perfect. Invariant under scaling of X and Y.
    stress, stress_scaled, scale : float
        sqrt(sum (G - D)^2 / sum G^2), with geodesic distances G and distances D in Y: at least 0, 0 is
        perfect. Plain, and in [0, 1] after the factor for Y that minimizes it; and that factor.
    stretch, stretch_mean : float
        Median and mean of ``per_point["stretch"]``. A few points that nearly lie on others make the mean
        large.
    unreachable : float
        Share of pairs that no path joins. They are left out of all other numbers.
    n_points, n_sources, sources : int, int and ndarray of int
        Number of points, and the number and the indices of those from which paths were followed.
    standard_error : mapping of float
        Standard errors of all numbers but `stretch_mean` and `unreachable`: by the jackknife over sources;
        for the median by the spread of the order statistics around it. 0 if all points were sources.
    units : mapping of ndarray
        The contribution of each source to every number but the stretch, which is estimated by their mean.
    per_point : mapping of ndarray
        "stretch": for each source the largest over the smallest ratio D / G; 1 if all distances from it keep
        their proportions, or if it reaches no point. Infinite if a point at some distance lies on the source
        in Y, or if a copy of it does not.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> m = ub.metrics.geodesic(X, coordinates, n_neighbors=8, n_sources=100, random_state=0)
    >>> low, high = m.interval("residual_variance")
    >>> 0 < low < m.residual_variance < high < 0.001
    True
    """

    SHOWN: ClassVar[Mapping[str, tuple[str, str]]] = {
        "residual_variance": MEASURES["residual_variance"].words,
        "stress": ("stress", "of geodesic distances"),
        "stress_scaled": MEASURES["geodesic_stress"].words,
        "scale": SCALE.words,
        "stretch": MEASURES["geodesic_stretch"].words,
        "unreachable": ("unreachable", "share of pairs that no path joins"),
    }

    residual_variance: float
    stress: float
    stress_scaled: float
    scale: float
    stretch: float
    stretch_mean: float
    unreachable: float
    n_points: int
    n_sources: int
    standard_error: Mapping[str, float]
    units: Mapping[str, Array] = field(repr=False)
    per_point: Mapping[str, Array] = field(repr=False)

    def _extent(self) -> str:
        sources = "all" if self.n_sources == self.n_points else f"a random sample of {self.n_sources:,}"
        return f"Geodesic distances from {sources} of {self.n_points:,} points. Errors of 0 are perfect."

    sources: npt.NDArray[np.uint32] = field(repr=False)

    def interval(self, name: str) -> tuple[float, float]:
        """Return the 95 % interval of a number; both ends are the same if all points were sources.

        The ends of that of the stretch are order statistics, because stretches are far from symmetric.
        """
        if name == "stretch":
            return _about_median(self.per_point["stretch"], self.n_points, NORMAL_95)
        return super().interval(name)


@dataclass(frozen=True, eq=False)
class Shepard(WithErrors):
    """Straight distances in the data compared with those in the embedding: a Shepard diagram in numbers.

    Attributes
    ----------
    spearman, pearson : float
        Correlation of the ranks of distances (ties share their mean rank) and of the distances: in [-1, 1], 1
        is perfect. If all distances on a side are equal they are 1 if the other side is the same, else 0.
    stress, stress_scaled, scale : float
        sqrt(sum (dX - dY)^2 / sum dX^2): at least 0, 0 is perfect. Plain, and in [0, 1] after the factor for
        Y that minimizes it; and that factor. Infinite if all of X coincides and Y does not.
    n_pairs : int
        Number of pairs measured.
    standard_error, units : mapping of float, mapping of ndarray
        Standard error of each number, and each number in the 32 batches that give it; 0 and empty if all
        pairs were measured. With the same seed the batches of another embedding hold the same pairs.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(5000, random_state=0)
    >>> ub.metrics.shepard(X, coordinates, random_state=0).interval("spearman")[1] < 0.5  # a roll is not flat
    True
    """

    SHOWN: ClassVar[Mapping[str, tuple[str, str]]] = {
        **{name: MEASURES[name].words for name in ("spearman", "pearson", "stress", "stress_scaled")},
        "scale": SCALE.words,
    }

    spearman: float
    pearson: float
    stress: float
    stress_scaled: float
    scale: float
    n_pairs: int
    standard_error: Mapping[str, float]
    units: Mapping[str, Array] = field(repr=False)

    def _extent(self) -> str:
        return f"Straight distances in the data and in the embedding, of {self.n_pairs:,} pairs of points."


@scoring(0.0, 0.976, attribute=".residual_variance")
def geodesic(
    X: Any,
    Y: Any,
    n_neighbors: int | None = None,
    *,
    radius: float | None = None,
    neighborhoods: Neighborhoods | None = None,
    n_sources: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Geodesic:
    """Compare geodesic distances in the data with distances in the embedding.

    The length of an edge is the distance of its ends in X. Invariant under rotation, reflection and
    translation of X and of Y; all but `stress` and `scale` also under scaling.

    Short circuits in the graph shorten paths: with too many neighbors a rolled surface is measured across its
    layers, and a faithful embedding scores badly.

    Cost: O(n (k + log n)) for each source. Memory: 12 bytes for each entry of the undirected graph, and about
    50 bytes a point for each thread. d may exceed q.
    """
    sampling = Sampling(n_sources=n_sources, random_state=random_state, n_jobs=n_jobs)
    x, y = pair(X, Y, narrower=False)
    return measured_geodesic(x, y, resolve(x, neighborhoods, n_neighbors, radius, n_jobs), sampling)


def measured_geodesic(x: Any, y: Any, graph: Neighborhoods, sampling: Sampling) -> Geodesic:
    """Measure geodesic distances of arrays that have been checked."""
    n, sources = len(x), sampling.sources(len(x))
    numbers, unreachable, stretch = _core.geodesic(x, y, graph.core, sources, sampling.threads)
    parts = _parts(numbers)
    parts["standard_error"]["stretch"] = _error_of_median(stretch, n)
    return Geodesic(
        **parts,
        stretch=float(np.median(stretch)),
        stretch_mean=float(stretch.mean()),
        unreachable=unreachable,
        n_points=n,
        n_sources=len(stretch),
        per_point={"stretch": stretch},
        sources=np.arange(n, dtype=np.uint32) if sources is None else sources,
    )


@scoring(0.36, 0.687, attribute=".spearman")
def shepard(
    X: Any, Y: Any, *, n_pairs: int | None = None, random_state: Any = None, n_jobs: int | None = None
) -> Shepard:
    """Compare straight distances in the data with those in the embedding.

    A rolled surface that is flattened well scores badly, because its layers are near each other in the data.
    :func:`geodesic` measures along the surface. Invariant under rotation, reflection and translation of X and
    of Y; all but `stress` and `scale` also under scaling.

    Cost: O(q + d + log N) for each of N pairs. Memory: 64 bytes a pair. d may exceed q.
    """
    sampling = Sampling(n_pairs=n_pairs, random_state=random_state, n_jobs=n_jobs)
    return measured_shepard(*pair(X, Y, narrower=False), sampling)


def measured_shepard(x: Any, y: Any, sampling: Sampling) -> Shepard:
    """Measure straight distances of arrays that have been checked."""
    pairs, seed = sampling.pairs(len(x)), seed_from(sampling.random_state)
    numbers, n_pairs = _core.shepard(x, y, pairs, seed, sampling.threads)
    return Shepard(**_parts(numbers), n_pairs=n_pairs)


def _parts(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values by name, and the standard errors and units of all of them."""
    values: dict[str, Any] = {name: value for name, (value, _, _) in numbers.items()}
    values["standard_error"] = {name: error for name, (_, error, _) in numbers.items()}
    return values | {"units": {name: units for name, (_, _, units) in numbers.items()}}


@scoring(0.0, 0.976, of="geodesic")
def residual_variance(X: Any, Y: Any, n_neighbors: int | None = None, **options: Any) -> float:
    """Return 1 - rho^2 of geodesic and embedded distances (eq. 3): in [0, 1], 0 is perfect.

    It is that of Tenenbaum et al. Invariant under motions and scaling of X and Y.
    """
    return geodesic(X, Y, n_neighbors, **options).residual_variance


@scoring(1.227, 59.026, of="geodesic")
def geodesic_stretch(
    X: Any, Y: Any, n_neighbors: int | None = None, *, per_point: bool = False, **options: Any
) -> float | Array:
    """Return how unevenly an embedding stretches the distances from a point: the median over points.

    It is the largest over the smallest ratio of embedded distance to geodesic distance: at least 1, 1 is
    perfect. Infinite if distant points lie on each other. Invariant under motions and scaling of X and Y.

    Parameters
    ----------
    per_point : bool, default False
        If True, return the stretch of every source instead of their median.
    """
    found = geodesic(X, Y, n_neighbors, **options)
    return found.per_point["stretch"] if as_flag(per_point, "per_point") else found.stretch


@scoring(0.36, 0.687, of="shepard")
def spearman(X: Any, Y: Any, **options: Any) -> float:
    """Return Spearman's rank correlation of the distances in X and Y: in [-1, 1], 1 is perfect.

    Invariant under motions and scaling of X and Y. A rolled surface that is flattened well scores badly.
    """
    return shepard(X, Y, **options).spearman


@scoring(1.482, 0.359, of="shepard")
def stress(X: Any, Y: Any, *, scaled: bool = False, **options: Any) -> float:
    """Return the stress of the distances in Y against those in X: at least 0, 0 is perfect.

    A rolled surface that is flattened well scores badly.

    Parameters
    ----------
    scaled : bool, default False
        If True, minimize it by one factor for Y: in [0, 1], and invariant under scaling of Y.
    """
    m = shepard(X, Y, **options)
    return m.stress_scaled if as_flag(scaled, "scaled") else m.stress


def _error_of_median(values: Array, n: int) -> float:
    """Return the standard error of the median of a sample, by that of its rank (Woodruff 1952)."""
    if len(values) == n:
        return 0.0
    low, high = _about_median(values, n, 1.0)
    return (high - low) / 2 if np.isfinite(high) else float("inf")


def _about_median(values: Array, n: int, errors: float) -> tuple[float, float]:
    """Return the values `errors` standard errors of its rank below and above the median of a sample."""
    m = len(values)
    if m == n:
        return float(np.median(values)), float(np.median(values))
    if m < 2:
        return 1.0, float("inf")
    ranks = (m - 1) / 2 + np.array([-1, 1]) * errors * max(0.5, np.sqrt(m * (1 - m / n)) / 2)
    low, high = np.interp(ranks, np.arange(m), np.sort(values))
    return float(low), float(high)
