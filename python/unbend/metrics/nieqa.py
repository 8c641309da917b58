"""NIEQA, measures for embeddings with normalized coordinates: Zhang, Ren & Zhang."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import as_count, thread_count
from ..core.kinds import as_flag
from ..core.parameters import documented
from ..graph.neighbors import Neighborhoods, resolve
from ..graph.neighbors import neighborhoods as find_neighborhoods
from .sampling import HALF_WIDTH, WORK, Array, Centers, NCenters, Sampling, pair
from .table import PARAMETERS, Measure, by_name, scoring

Normalization = Literal["centered", "paper"]

# Default number of neighbors in the graph of the landmarks. The true coordinates of a roll of 1000 points
# score 0.6 to 0.9 with a tenth of all points, as in the paper, up to 0.6 with 10, less than 0.004 with 8.
LANDMARK_NEIGHBORS = 8

# A tenth of the points are landmarks, but at most this many: the cost of scaling is their number cubed.
_MOST_LANDMARKS = 1000
_FEWEST_LANDMARKS = 100

# Largest graph that is searched to connect the data. Beyond it, an error is raised.
_MOST_ENTRIES = 50_000_000


@documented(PARAMETERS)
def asim(Xi: Any, Yi: Any, *, normalization: Normalization = "centered") -> float:
    """Return the anisotropic scaling independent measure of one set of points (Zhang, Ren & Zhang, eq. 7).

    It is the residual of `Xi` after `Yi` was scaled along each of its coordinates, rotated and translated to
    fit it best, as a share of the size of `Xi`: in [0, 1], 0 is perfect. Infinite if all of `Xi` coincides
    and `Yi` does not. Invariant under rotation, reflection, translation and scaling of `Xi`, and under
    translation and scaling of each column of `Yi`, but not under rotation of `Yi`.

    Cost: O(m q d), and 8 local searches in sweeps of O(d^3) if d > 2. One and two columns have a closed form.
    For more it is the best of the searches, and values below 1e-16 are not exact.

    Parameters
    ----------
    Xi : array-like of shape (m, q)
        Points of the data.
    Yi : array-like of shape (m, d), d <= q
        Embedding of `Xi`, one point per row.

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X = np.random.default_rng(0).uniform([-2, -1], [2, 1], size=(100, 2))
    >>> ub.metrics.asim(X, X / X.std(axis=0)) < 1e-20  # normalized
    True
    """
    x, y = pair(Xi, Yi, ("Xi", "Yi"))
    PARAMETERS[""]["normalization"].check(normalization)
    return measured_asim(x, y, normalization)


def measured_asim(x: Any, y: Any, normalization: Normalization = "centered") -> float:
    """Return :func:`asim` of arrays that have been checked."""
    return _core.asim(x, y, normalization, 1)


@scoring(0.003, 0.031)
def nieqa_local(
    X: Any,
    Y: Any,
    n_neighbors: int | None = None,
    *,
    radius: float | None = None,
    neighborhoods: Neighborhoods | None = None,
    include_self: bool = True,
    normalization: Normalization = "centered",
    per_point: bool = False,
    n_centers: NCenters = None,
    half_width: float = HALF_WIDTH,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> float | Array:
    """Return M_L, the local part of NIEQA: the mean of :func:`asim` over neighborhoods (eq. 18).

    In [0, 1], 0 is perfect. It is never above R_C and, with the default normalization, never below the lower
    bound. Invariant as :func:`asim`: made for embeddings with normalized coordinates, such as those of LLE,
    LTSA or Laplacian eigenmaps. Neighborhoods that coincide in the data but not in the embedding are infinite
    and left out of the mean, which is infinite if none remains.

    Cost: that of :func:`asim` for every neighborhood. Memory: O(n).
    """
    sampling = Sampling(n_centers, half_width, random_state=random_state, n_jobs=n_jobs)
    x, y = pair(X, Y)
    PARAMETERS[""]["normalization"].check(normalization)
    graph = resolve(x, neighborhoods, n_neighbors, radius, n_jobs)

    measure = partial(
        measured_local, x, y, graph, as_flag(include_self, "include_self"), normalization, n_jobs=n_jobs
    )
    return sampling.over_points(len(x), lambda centers: measure(centers=centers), per_point)


def measured_local(
    x: Any,
    y: Any,
    graph: Neighborhoods,
    include_self: bool = True,
    normalization: Normalization = "centered",
    *,
    centers: Centers = None,
    n_jobs: int | None = None,
) -> Array:
    """Return :func:`asim` of each neighborhood, for arrays that have been checked."""
    threads = thread_count(n_jobs)
    return _core.asim_all(x, y, graph.core, include_self, normalization, centers, threads)


@scoring(0.001, 0.555)
def nieqa_global(
    X: Any,
    Y: Any,
    *,
    landmark_neighbors: int | Literal["paper"] | None = None,
    neighborhoods: Neighborhoods | None = None,
    n_landmarks: int | None = None,
    n_sources: int | None = None,
    normalization: Normalization = "centered",
    random_state: Any = None,
    n_jobs: int | None = None,
) -> float:
    """Return M_G, the global part of NIEQA: :func:`asim` of the skeleton of the data and its image (eq. 19).

    In [0, 1], 0 is perfect. The skeleton consists of landmarks, the points on most shortest paths of the
    neighborhood graph, placed by classical scaling of their geodesic distances. Invariant as :func:`asim`.

    Shortest paths bend around holes: the true coordinates of a roll of 1000 points with a hole score 0.02 to
    0.07. Short circuits do more harm: see `landmark_neighbors`. The error of a sample of sources is unknown.

    Cost: O(n (k + log n)) for each source and each landmark, and the number of landmarks cubed.

    Parameters
    ----------
    landmark_neighbors : int or "paper", default 8
        Number of neighbors in the graph, k_l. If the graph is not connected, the smallest number that
        connects it is used. "paper" stands for n / 10, which short-circuits curved surfaces: the true
        coordinates of a swiss roll of 1000 points score above 0.6 with it, below 0.004 with the default.
    neighborhoods : Neighborhoods, optional
        A connected graph. Give it instead of `landmark_neighbors`.
    n_landmarks : int, optional
        Number of landmarks. By default a tenth of the points, but more than d and at most 1000; of more than
        20,000 points at most 20,000,000 / n, but at least 100.

    Raises
    ------
    ValueError
        If no graph of up to 50,000,000 entries is connected.
    """
    sampling = Sampling(n_sources=n_sources, random_state=random_state, n_jobs=n_jobs)
    x, y = pair(X, Y)
    PARAMETERS[""]["normalization"].check(normalization)
    count = _landmark_count(len(x), y.shape[1], n_landmarks)
    graph = _landmark_graph(x, landmark_neighbors, neighborhoods, n_jobs)
    return Skeleton.of(x, graph, count, sampling).asim(y, count, normalization)


@documented(PARAMETERS)
def nieqa_truth(Y: Any, coordinates: Any, *, normalization: Normalization = "centered") -> float:
    """Return M_t, how well an embedding matches known coordinates: :func:`asim` of Y and them, in this order.

    In [0, 1], 0 is perfect. Invariant under rotation, reflection, translation and scaling of Y, and under
    translation and scaling of each coordinate. The axes of the coordinates may be rescaled, because
    normalized methods scale the surface along its own axes and then rotate the result. Cost: O(n q d).

    Parameters
    ----------
    Y : array-like of shape (n, d)
        Embedding, one point per row.
    coordinates : array-like of shape (n, p), p <= d
        True coordinates U of the points.

    Examples
    --------
    >>> import unbend as ub
    >>> X, U = ub.datasets.swiss_roll(500, random_state=0)
    >>> ub.metrics.nieqa_truth(U / U.std(axis=0), U) < 1e-20
    True
    """
    y, truth = pair(Y, coordinates, ("Y", "coordinates"))
    PARAMETERS[""]["normalization"].check(normalization)
    return measured_asim(y, truth, normalization)


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Landmarks of the data and their geodesic distances, for any embedding.

    They are sorted by the number of paths through them: an embedding that needs fewer takes the first ones.
    """

    landmarks: npt.NDArray[np.intp]
    distances: Array
    exact: bool  # True if paths from all points were counted, not from a sample.

    @classmethod
    def of(cls, x: Any, graph: Neighborhoods, count: int, sampling: Sampling) -> Skeleton:
        """Find `count` landmarks."""
        sources = sampling.sources(len(x))
        landmarks, _, distances = _core.skeleton(x, graph.core, count, sources, sampling.threads)
        return cls(landmarks.astype(np.intp), distances.reshape(count, count), sources is None)

    @classmethod
    def by_default(cls, x: Any, d: int, nearest: Neighborhoods | None, sampling: Sampling) -> Skeleton:
        """Find the landmarks of :func:`nieqa_global` with its defaults, for up to `d` dimensions.

        `nearest` are the exact neighbors of every point, if they are known.
        """
        graph = _connected(x, None, sampling.n_jobs, nearest)
        return cls.of(x, graph, _landmark_count(len(x), d, None), replace(sampling, n_sources=None))

    def asim(self, y: Any, count: int | None = None, normalization: Normalization = "centered") -> float:
        """Compare an embedding of the first landmarks with their classical scaling."""
        first = slice(count or _landmark_count(len(y), y.shape[1], None))
        laid_out = _classical_scaling(self.distances[first, first], y.shape[1])
        return measured_asim(laid_out, y[self.landmarks[first]], normalization)


def _landmark_graph(x: Any, k: Any, given: Neighborhoods | None, n_jobs: int | None) -> Neighborhoods:
    if given is not None:
        if k is not None:
            raise ValueError("give landmark_neighbors= or neighborhoods=, not both")
        graph = resolve(x, given, None, None, n_jobs)
        if len(graph) == len(x) and graph.n_connected_components > 1:
            raise ValueError(f"the graph is in {graph.n_connected_components} pieces: it must be connected")
        return graph
    if isinstance(k, str) and k == "paper":
        k = max(1, len(x) // 10)
    return _connected(x, k, n_jobs)


def _connected(x: Any, k: Any, n_jobs: int | None, nearest: Neighborhoods | None = None) -> Neighborhoods:
    """Return the graph of `k` neighbors, or of the smallest larger number that connects it.

    `nearest` saves the first search if it holds at least `k` neighbors of every point.
    """
    k = min(LANDMARK_NEIGHBORS, len(x) - 1) if k is None else as_count(k, "landmark_neighbors")
    if nearest is not None and (nearest.n_neighbors or 0) >= k:
        graph = nearest.nearest(k)
    else:
        graph = find_neighborhoods(x, k, n_jobs=n_jobs)
    low = high = k
    while graph.n_connected_components > 1:
        low, high = high, min(2 * high, len(x) - 1)
        if high * len(x) > _MOST_ENTRIES:
            raise ValueError(
                f"with {low} neighbors the graph is in {graph.n_connected_components} pieces, too far apart"
                " to be joined by more: measure each by itself"
            )
        graph = find_neighborhoods(x, high, n_jobs=n_jobs)
    if high == k:
        return graph
    between = range(low + 1, high)
    found = bisect_left(between, True, key=lambda size: graph.nearest(size).n_connected_components == 1)
    return graph.nearest(low + 1 + found)


def _landmark_count(n: int, d: int, wanted: Any) -> int:
    if wanted is not None:
        return as_count(wanted, "n_landmarks")
    tenth, affordable = max(d + 1, -(-n // 10)), max(_FEWEST_LANDMARKS, WORK // n)
    return min(n, tenth, _MOST_LANDMARKS, affordable)


def _classical_scaling(distances: Array, d: int) -> Array:
    """Return the classical scaling of distances between all points, the widest coordinate first.

    In units of the largest distance: the measures do not depend on the unit, and paths through data near the
    largest numbers are longer than the core accepts.
    """
    from scipy.linalg import eigh

    squared = (distances / (distances.max() or 1.0)) ** 2
    squared = (squared + squared.T) / 2
    centered = squared - squared.mean(axis=0)
    centered = (centered.T - centered.mean(axis=1)).T / -2
    m = len(distances)
    values, vectors = eigh(centered, subset_by_index=[max(0, m - d), m - 1])
    laid_out = np.zeros((m, d))
    laid_out[:, : len(values)] = (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1]
    return laid_out


MEASURES = by_name(
    Measure("m_l", "M_L", "nieqa", "lower", 0, 1, "each axis rescaled", measured_local),
    Measure("m_g", "M_G", "nieqa", "lower", 0, 1, "the same, of landmarks"),
    Measure("m_t", "M_t", "nieqa", "lower", 0, 1, "against the truth"),
)
