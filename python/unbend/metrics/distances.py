"""How distances are shown, along the neighbourhood graph and straight.

Residual variance is that of Tenenbaum et al. (Zhang, Ren & Zhang, eq. 3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import as_count, thread_count
from ..core.random import generator, seed_from
from ..graph.neighbors import Neighborhoods, resolve
from .sampling import NORMAL_95, Array, Centers, interval, pair

__all__ = [
    "Geodesic",
    "Shepard",
    "geodesic",
    "geodesic_stretch",
    "residual_variance",
    "shepard",
    "spearman",
    "stress",
]

# Paths from all points up to this many steps (sources times points), some seconds; from a sample beyond.
WORK = 20_000_000

# With fewer sources standard errors say little.
_FEWEST_SOURCES = 50

# All pairs of 2000 points are fewer than two million; of more points a sample of half as many.
_ALL_PAIRS = 2_000_000
_SOME_PAIRS = 1_000_000

# Batches of 32 pairs, 32 of them, say how sure the numbers are.
_FEWEST_PAIRS = 1024

_RANGES = {"residual_variance": (0.0, 1.0), "spearman": (-1.0, 1.0), "pearson": (-1.0, 1.0)}


class _Measured:
    """Numbers with standard errors."""

    standard_error: Mapping[str, float]

    def interval(self, name: str) -> tuple[float, float]:
        """Return the 95 % interval of a number; both ends are the same when nothing was drawn at random."""
        if name not in self.standard_error:
            raise ValueError(f"{name!r} has no interval: use one of {', '.join(self.standard_error)}")
        low, high = _RANGES.get(name, (0.0, np.inf))
        return interval(getattr(self, name), self.standard_error[name], low, high)


@dataclass(frozen=True, eq=False)
class Geodesic(_Measured):
    """Distances along the neighbourhood graph beside those in the embedding. Smaller is better.

    Attributes
    ----------
    residual_variance : float
        1 - rho^2, rho being Pearson's correlation of the two distances over all pairs (eq. 3): in [0, 1],
        0 is perfect. Invariant under scaling of X and Y.
    stress, stress_scaled : float
        sqrt(sum (G - D)^2 / sum G^2), G along the graph and D in Y: at least 0, 0 is perfect. Plain, and
        after the one factor for Y that makes it least, then in [0, 1].
    scale : float
        That factor.
    stretch, stretch_mean : float
        Median and mean of ``per_point["stretch"]``. A few points that nearly lie on others make the mean
        large.
    unreachable : float
        The share of pairs that no path joins. They are left out of all else.
    n_points, n_sources : int
        How many points there are, and from how many paths were followed.
    standard_error : mapping of float
        Of each number above but `stretch_mean` and `unreachable`, when sources were drawn; 0 when all
        points were sources. By the jackknife that leaves out one source at a time, and for the median by the
        spread of the order statistics about it.
    units : mapping of ndarray
        What each source contributes to every number but the stretch; the mean over sources estimates it.
    per_point : mapping of ndarray
        "stretch": for each source the largest over the smallest ratio D / G. At least 1, and 1 where all
        distances from it keep their proportions. Infinite where a point at some distance lies on it in Y,
        or a copy of it does not; 1 where it reaches nobody, or only copies that coincide in Y as well.
    sources : ndarray of int
        From where paths were followed, one for each entry of `per_point`.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> m = ub.metrics.geodesic(X, coordinates, n_neighbors=8, n_sources=100, random_state=0)
    >>> low, high = m.interval("residual_variance")
    >>> 0 < low < m.residual_variance < high < 0.001
    True
    """

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
    sources: npt.NDArray[np.uint32] = field(repr=False)

    def interval(self, name: str) -> tuple[float, float]:
        """Return the 95 % interval of a number; both ends are the same when all points were sources.

        That of the stretch reaches from one order statistic to another, for stretches are far from symmetric.
        """
        if name == "stretch":
            return _about_median(self.per_point["stretch"], self.n_points, NORMAL_95)
        return super().interval(name)


@dataclass(frozen=True, eq=False)
class Shepard(_Measured):
    """Euclidean distances in the data beside those in the embedding: a Shepard diagram in numbers.

    Attributes
    ----------
    spearman, pearson : float
        Correlation of their ranks (ties share the mean of theirs) and of the distances: in [-1, 1], 1 is
        perfect. Where no distance differs from another they are 1 if that is so on both sides, else 0.
    stress, stress_scaled : float
        sqrt(sum (dX - dY)^2 / sum dX^2): at least 0, 0 is perfect. Plain, and after the one factor for Y that
        makes it least, then in [0, 1]. Infinite where all of X coincides and Y does not.
    scale : float
        That factor; 0 where all of Y coincides.
    n_pairs : int
        How many pairs were looked at.
    standard_error : mapping of float
        Of each number, when pairs were drawn; 0 when all were looked at. From the spread over 32 batches.
    units : mapping of ndarray
        Each number in every batch; empty when all pairs were looked at. With the same seed the batches of
        another embedding hold the same pairs.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(5000, random_state=0)
    >>> m = ub.metrics.shepard(X, coordinates, random_state=0)
    >>> low, high = m.interval("spearman")
    >>> low < m.spearman < high < 0.5  # a roll is not flat
    True
    """

    spearman: float
    pearson: float
    stress: float
    stress_scaled: float
    scale: float
    n_pairs: int
    standard_error: Mapping[str, float]
    units: Mapping[str, Array] = field(repr=False)


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
    """Compare distances along the neighbourhood graph with those in the embedding.

    The shortest paths from each source to all points that it reaches, edges as long as their ends are apart
    in X. Invariant under rotation, reflection and translation of X and of Y; all but `stress` and `scale`
    also under scaling.

    Short cuts in the graph shorten paths: with too many neighbours a rolled surface is measured across its
    layers, and a faithful embedding scores badly.

    Cost: O(n (k + log n)) for each source. Memory: 12 bytes for each entry of the undirected graph, about 50
    bytes a point for each thread.

    Parameters
    ----------
    X : array-like of shape (n, q)
        The data.
    Y : array-like of shape (n, d)
        Their embedding, from any tool. d may exceed q.
    n_neighbors, radius, neighborhoods
        As for :func:`faithfulness`.
    n_sources : int, optional
        From how many points, drawn at random, to follow paths. By default from all of up to 4472 points, and
        from 20,000,000 / n of more, but at least 50.
    random_state : int, Generator or RandomState, optional
        Which points are drawn.
    n_jobs : int, optional
        Number of threads; all by default. The result is the same for any number.

    Returns
    -------
    Geodesic

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> m = ub.metrics.geodesic(X, coordinates, n_neighbors=8)
    >>> m.residual_variance < 0.001 and m.stress < 0.05
    True
    >>> ub.metrics.geodesic(X, X[:, :2], n_neighbors=8).residual_variance > 0.5
    True
    """
    x, y = pair(X, Y, narrower=False)
    sources = draw_sources(len(x), n_sources, random_state)
    graph = resolve(x, neighborhoods, n_neighbors, radius, n_jobs)._graph
    numbers, unreachable, stretch = _core.geodesic(x, y, graph, sources, thread_count(n_jobs))
    errors = {name: error for name, (_, error, _) in numbers.items()}
    return Geodesic(
        **{name: value for name, (value, _, _) in numbers.items()},
        stretch=float(np.median(stretch)),
        stretch_mean=float(stretch.mean()),
        unreachable=unreachable,
        n_points=len(x),
        n_sources=len(stretch),
        standard_error=errors | {"stretch": _error_of_median(stretch, len(x))},
        units={name: units for name, (_, _, units) in numbers.items()},
        per_point={"stretch": stretch},
        sources=np.arange(len(x), dtype=np.uint32) if sources is None else sources,
    )


def shepard(
    X: Any, Y: Any, *, n_pairs: int | None = None, random_state: Any = None, n_jobs: int | None = None
) -> Shepard:
    """Compare Euclidean distances in the data with those in the embedding.

    Straight distances: a rolled surface that was flattened well scores badly, since its layers are near each
    other in the data. :func:`geodesic` measures along the surface. Invariant under rotation, reflection and
    translation of X and of Y; all but `stress` and `scale` also under scaling.

    Cost: O(q + d + log N) for each of N pairs. Memory: 64 bytes a pair.

    Parameters
    ----------
    X : array-like of shape (n, q)
        The data.
    Y : array-like of shape (n, d)
        Their embedding, from any tool. d may exceed q.
    n_pairs : int, optional
        How many pairs to draw at random, at least 1024; all if there are no more. By default all of up to
        2000 points, and 1,000,000 of more.
    random_state : int, Generator or RandomState, optional
        Which pairs are drawn.
    n_jobs : int, optional
        Number of threads; all by default. The result is the same for any number.

    Returns
    -------
    Shepard

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X = np.random.default_rng(0).normal(size=(5000, 3)) * [10, 5, 0.1]
    >>> m = ub.metrics.shepard(X, X[:, :2] * 3, random_state=0)
    >>> m.spearman > 0.999 and m.stress > 1.9 and m.stress_scaled < 0.02
    True
    """
    x, y = pair(X, Y, narrower=False)
    wanted, seed, threads = pair_count(len(x), n_pairs), seed_from(random_state), thread_count(n_jobs)
    numbers, seen = _core.shepard(x, y, wanted, seed, threads)
    return Shepard(
        **{name: value for name, (value, _, _) in numbers.items()},
        n_pairs=seen,
        standard_error={name: error for name, (_, error, _) in numbers.items()},
        units={name: units for name, (_, _, units) in numbers.items()},
    )


def residual_variance(X: Any, Y: Any, n_neighbors: int | None = None, **options: Any) -> float:
    """Return 1 - rho^2 of graph and embedded distances (eq. 3): in [0, 1], 0 is perfect.

    Invariant under motions and scaling of X and Y.

    Parameters
    ----------
    X, Y, n_neighbors
        As for :func:`geodesic`.
    **options
        `radius`, `neighborhoods`, `n_sources`, `random_state`, `n_jobs`, as for :func:`geodesic`.

    Returns
    -------
    float

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> ub.metrics.residual_variance(X, coordinates, n_neighbors=8) < 0.001
    True
    """
    return geodesic(X, Y, n_neighbors, **options).residual_variance


def geodesic_stretch(
    X: Any, Y: Any, n_neighbors: int | None = None, *, per_point: bool = False, **options: Any
) -> float | Array:
    """Return how unevenly an embedding stretches the distances from a point: the median, or of each point.

    The largest over the smallest ratio of embedded distance to graph distance: at least 1, 1 is perfect.
    Infinite where distant points lie on each other. Invariant under motions and scaling of X and Y.

    Parameters
    ----------
    X, Y, n_neighbors
        As for :func:`geodesic`.
    per_point : bool, default False
        Return the stretch of every source instead of their median.
    **options
        `radius`, `neighborhoods`, `n_sources`, `random_state`, `n_jobs`, as for :func:`geodesic`.

    Returns
    -------
    float, or ndarray with an entry for each source

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> angles = np.linspace(0, 3, 50)
    >>> arc = np.c_[np.cos(angles), np.sin(angles)]
    >>> bool(ub.metrics.geodesic_stretch(arc, angles[:, None], n_neighbors=2) < 1.001)
    True
    >>> ub.metrics.geodesic_stretch(arc, angles[:, None] ** 2, n_neighbors=2) > 2
    True
    """
    found = geodesic(X, Y, n_neighbors, **options)
    return found.per_point["stretch"] if per_point else found.stretch


def spearman(X: Any, Y: Any, **options: Any) -> float:
    """Return Spearman's rank correlation of the distances in X and Y: in [-1, 1], 1 is perfect.

    Invariant under motions and scaling of X and Y.

    Parameters
    ----------
    X, Y
        As for :func:`shepard`.
    **options
        `n_pairs`, `random_state`, `n_jobs`, as for :func:`shepard`.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> bool(np.isclose(ub.metrics.spearman(X, 7 * X), 1))
    True
    """
    return shepard(X, Y, **options).spearman


def stress(X: Any, Y: Any, *, scaled: bool = False, **options: Any) -> float:
    """Return the stress of the distances in Y against those in X: at least 0, 0 is perfect.

    Parameters
    ----------
    X, Y
        As for :func:`shepard`.
    scaled : bool, default False
        After the one factor for Y that makes it least: in [0, 1], and invariant under scaling of Y.
    **options
        `n_pairs`, `random_state`, `n_jobs`, as for :func:`shepard`.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> ub.metrics.stress(X, 4 * X), ub.metrics.stress(X, 4 * X, scaled=True)
    (3.0, 0.0)
    """
    m = shepard(X, Y, **options)
    return m.stress_scaled if scaled else m.stress


def pair_count(n: int, n_pairs: Any) -> int | None:
    """Return how many pairs of `n` points to draw; None for all of them."""
    pairs = n * (n - 1) // 2
    if n_pairs is None:
        return _SOME_PAIRS if pairs > _ALL_PAIRS else None
    wanted = as_count(n_pairs, "n_pairs")
    if wanted < min(pairs, _FEWEST_PAIRS):
        raise ValueError(f"n_pairs = {wanted} is too few: a sample needs at least {_FEWEST_PAIRS}")
    return wanted


def draw_sources(n: int, n_sources: Any, random_state: Any) -> Centers:
    """Return the points from which to follow paths, in rising order; None for all of them."""
    affordable = max(_FEWEST_SOURCES, WORK // n)
    wanted = affordable if n_sources is None else as_count(n_sources, "n_sources")
    if wanted >= n:
        return None
    drawn = generator(random_state).choice(n, size=wanted, replace=False, shuffle=False)
    return np.sort(drawn).astype(np.uint32)


def _error_of_median(values: Array, n: int) -> float:
    """Return the standard error of the median of some of `n` values (Woodruff 1952).

    The rank of the true median among m values drawn has the standard error sqrt(m) / 2, and the values one
    of them away on both sides say how far that is.
    """
    if len(values) == n:
        return 0.0
    low, high = _about_median(values, n, 1.0)
    return (high - low) / 2 if np.isfinite(high) else float("inf")


def _about_median(values: Array, n: int, errors: float) -> tuple[float, float]:
    """Return the values so many standard errors of its rank away from the median of some of `n` values."""
    m = len(values)
    if m == n:
        return float(np.median(values)), float(np.median(values))
    if m < 2:
        return 1.0, float("inf")
    ranks = (m - 1) / 2 + np.array([-1, 1]) * errors * max(0.5, np.sqrt(m * (1 - m / n)) / 2)
    low, high = np.interp(ranks, np.arange(m), np.sort(values))
    return float(low), float(high)
