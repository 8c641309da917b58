"""NIEQA, measures for embeddings whose coordinates were normalised: Zhang, Ren & Zhang."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import as_count, thread_count
from ..graph.neighbors import Neighborhoods, resolve
from ..graph.neighbors import neighborhoods as find_neighborhoods
from .distances import WORK, draw_sources
from .sampling import HALF_WIDTH, Array, Centers, NCenters, pair, sampled

__all__ = ["asim", "nieqa_global", "nieqa_local", "nieqa_truth"]

Normalization = Literal["centered", "paper"]

# Neighbours of the landmarks' graph. The paper's tenth of all points joins the layers of a roll: there the
# true coordinates of 1000 points score 0.6 to 0.9, with 10 neighbours up to 0.6, with 8 less than 0.004.
LANDMARK_NEIGHBORS = 8

# A tenth of the points are landmarks, but no more than this: scaling takes their number cubed.
_MOST_LANDMARKS = 1000
_FEWEST_LANDMARKS = 100

# A graph that is still in pieces with so many entries is not joined by more.
_MOST_ENTRIES = 50_000_000


def asim(Xi: Any, Yi: Any, *, normalization: Normalization = "centered") -> float:
    """Return the anisotropic scaling independent measure of one set of points (Zhang, Ren & Zhang, eq. 7).

    What is left of `Xi` when `Yi` has been scaled along each of its coordinates, turned and moved to fit it
    best, as a share of the size of `Xi`: in [0, 1], 0 is perfect. Infinite where all of `Xi` coincide and
    `Yi` does not. Invariant under rotation, reflection and translation of `Xi` and its scaling as a whole,
    and under translation and scaling of each column of `Yi`, but not under rotation of `Yi`.

    Cost: O(m q d), and 8 climbs in sweeps of O(d^3) if d > 2. One and two columns have a closed form; for
    more it is the best of the climbs, and a value below 1e-16 says no more than that it is below.

    Parameters
    ----------
    Xi : array-like of shape (m, q)
        Points of the data.
    Yi : array-like of shape (m, d), d <= q
        Their embedding, row for row.
    normalization : {"centered", "paper"}, default "centered"
        Divide by the squared distances of `Xi` to its mean, or to the origin as the paper does. The latter
        changes when the data are moved.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X = np.random.default_rng(0).uniform([-2, -1], [2, 1], size=(100, 2))
    >>> ub.metrics.asim(X, X / X.std(axis=0)) < 1e-20  # normalised
    True
    >>> ub.metrics.asim(X, X**2) > 0.5
    True
    """
    x, y = pair(Xi, Yi, ("Xi", "Yi"))
    _check_normalization(normalization)
    return _core.asim(x, y, normalization, 1)


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
    """Return M_L, the local part of NIEQA: the mean of :func:`asim` over neighbourhoods (eq. 18).

    In [0, 1], 0 is perfect. It is never above R_C and, with the default normalization, never below the lower
    bound. Invariant under rotation, reflection, translation and scaling of X, and under translation and
    scaling of each coordinate of Y: made for embeddings whose coordinates are normalised, as those of LLE,
    LTSA or Laplacian eigenmaps.

    Neighbourhoods that coincide in the data but not in the embedding are infinite and left out of the mean,
    which is infinite if none remains.

    Cost: for d <= 2 like that of :func:`procrustes`; more coordinates take 8 climbs in sweeps of O(d^3) in
    every neighbourhood. Memory: O(n).

    Parameters
    ----------
    X : array-like of shape (n, q)
        The data.
    Y : array-like of shape (n, d), d <= q
        Their embedding, from any tool.
    n_neighbors, radius, neighborhoods, include_self, n_centers, half_width, random_state, n_jobs
        As for :func:`faithfulness`.
    normalization : {"centered", "paper"}, default "centered"
        As for :func:`asim`.
    per_point : bool, default False
        Return the value of every neighbourhood instead of their mean.

    Returns
    -------
    float, or ndarray of shape (n,)

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> normalized = coordinates / coordinates.std(axis=0)
    >>> ub.metrics.nieqa_local(X, normalized) < 0.01 < 0.1 < ub.metrics.procrustes(X, normalized)
    True
    """
    x, y = pair(X, Y)
    _check_normalization(normalization)
    graph, threads = resolve(x, neighborhoods, n_neighbors, radius, n_jobs)._graph, thread_count(n_jobs)

    def measure(centers: Centers) -> Array:
        return _core.asim_all(x, y, graph, bool(include_self), normalization, centers, threads)

    _, values = sampled(len(x), n_centers, half_width, random_state, measure, lambda values: [values])
    if per_point:
        return values
    kept = values[np.isfinite(values)]
    return float(kept.mean()) if len(kept) else float("inf")


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

    In [0, 1], 0 is perfect. The skeleton are landmarks, the points through which most shortest paths of the
    neighbourhood graph go, laid out by classical scaling of their distances along the graph. Invariant under
    rotation, reflection, translation and scaling of X, and under translation and scaling of each coordinate
    of Y. A direction of no positive eigenvalue has no extent in the skeleton.

    Shortest paths bend around holes, so even the true coordinates of a surface with a hole score more than 0:
    0.02 to 0.07 for a roll of 1000 points with one. Short cuts do more harm: see `landmark_neighbors`.

    From a sample of sources it depends on which are drawn, by how much is not known.

    Cost: O(n (k + log n)) for each source and each landmark, and the number of landmarks cubed.

    Parameters
    ----------
    X : array-like of shape (n, q)
        The data.
    Y : array-like of shape (n, d), d <= q
        Their embedding, from any tool.
    landmark_neighbors : int or "paper", default 8
        How many neighbours the graph has, k_l; if that leaves it in pieces, the smallest number that connects
        it. "paper" stands for n / 10, which short-circuits curved surfaces: the true coordinates of a swiss
        roll of 1000 points score more than 0.6 with it, less than 0.004 with the default.
    neighborhoods : Neighborhoods, optional
        Instead: a connected graph.
    n_landmarks : int, optional
        By default a tenth of the points, but more than d; of more than 10,000 points 1000, and of more than
        20,000 no more than 20,000,000 / n, but at least 100.
    n_sources : int, optional
        From how many points, drawn at random, to count paths. By default as for :func:`geodesic`: from all of
        up to 4472.
    normalization : {"centered", "paper"}, default "centered"
        As for :func:`asim`; the skeleton lies about the origin, so they are the same up to rounding.
    random_state : int, Generator or RandomState, optional
        Which points are drawn.
    n_jobs : int, optional
        Number of threads; all by default. The result is the same for any number.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If the graph is in pieces, and more neighbours do not join it within 50,000,000 entries.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(1500, random_state=0)
    >>> normalized = coordinates / coordinates.std(axis=0)
    >>> ub.metrics.nieqa_global(X, normalized) < 0.01
    True
    >>> ub.metrics.nieqa_global(X, X[:, :2]) > 0.3
    True
    """
    x, y = pair(X, Y)
    _check_normalization(normalization)
    count = _landmark_count(len(x), y.shape[1], n_landmarks)
    graph = _landmark_graph(x, landmark_neighbors, neighborhoods, n_jobs)
    sources = draw_sources(len(x), n_sources, random_state)
    return Skeleton.of(x, graph, count, sources, n_jobs).asim(y, count, normalization)


def nieqa_truth(Y: Any, coordinates: Any, *, normalization: Normalization = "centered") -> float:
    """Return M_t, how well an embedding matches known coordinates: :func:`asim` of Y and them, in this order.

    In [0, 1], 0 is perfect. Invariant under rotation, reflection, translation and scaling of Y, and under
    translation and scaling of each coordinate. Normalising scales the surface along its own axes and spectral
    solvers then turn the result as they like, so the axes that may be rescaled are those of the coordinates:
    along the turned axes of Y no scaling could take the first one back.

    Cost: O(n q d). Memory: that of a copy of both.

    Parameters
    ----------
    Y : array-like of shape (n, d)
        An embedding.
    coordinates : array-like of shape (n, p), p <= d
        The truth U, row for row.
    normalization : {"centered", "paper"}, default "centered"
        As for :func:`asim`.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X, U = ub.datasets.swiss_roll(500, random_state=0)
    >>> turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    >>> ub.metrics.nieqa_truth(U / U.std(axis=0) @ turn, U) < 1e-20
    True
    """
    y, truth = pair(Y, coordinates, ("Y", "coordinates"))
    _check_normalization(normalization)
    return _core.asim(y, truth, normalization, 1)


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Landmarks, and how far they are apart along the graph: of the data alone, for any embedding.

    The first on most paths, so that the first few are those of an embedding that takes fewer.
    """

    landmarks: npt.NDArray[np.intp]
    distances: Array
    exact: bool
    """Whether paths from all points were counted, not from some that were drawn."""

    @classmethod
    def of(cls, x: Any, graph: Neighborhoods, count: int, sources: Centers, n_jobs: int | None) -> Skeleton:
        """Find so many landmarks, on paths from `sources`."""
        landmarks, _, distances = _core.skeleton(x, graph._graph, count, sources, thread_count(n_jobs))
        return cls(landmarks.astype(np.intp), distances.reshape(count, count), sources is None)

    @classmethod
    def by_default(
        cls, x: Any, d: int, nearest: Neighborhoods | None, random_state: Any, n_jobs: int | None
    ) -> Skeleton:
        """Find as many as :func:`nieqa_global` finds for embeddings in up to `d` dimensions.

        `nearest` are the exact neighbours of every point, if they are known.
        """
        n = len(x)
        graph = _connected(x, min(LANDMARK_NEIGHBORS, n - 1), n_jobs, nearest)
        return cls.of(x, graph, _landmark_count(n, d, None), draw_sources(n, None, random_state), n_jobs)

    def default_asim(self, y: Any) -> float:
        """Return what :func:`nieqa_global` returns for `y`."""
        return self.asim(y, _landmark_count(len(y), y.shape[1], None), "centered")

    def asim(self, y: Any, count: int, normalization: Normalization) -> float:
        """Compare an embedding of the first landmarks with what classical scaling makes of them."""
        laid_out = _classical_scaling(self.distances[:count, :count], y.shape[1])
        return _core.asim(laid_out, y[self.landmarks[:count]], normalization, 1)


def _landmark_graph(x: Any, k: Any, given: Neighborhoods | None, n_jobs: int | None) -> Neighborhoods:
    if given is not None:
        if k is not None:
            raise ValueError("give landmark_neighbors= or neighborhoods=, not both")
        graph = resolve(x, given, None, None, n_jobs)
        if len(graph) == len(x) and graph.n_connected_components > 1:
            raise ValueError(f"the graph is in {graph.n_connected_components} pieces: it must be connected")
        return graph
    n = len(x)
    if isinstance(k, str) and k == "paper":
        k = max(1, n // 10)
    elif k is None:
        k = min(LANDMARK_NEIGHBORS, n - 1)
    return _connected(x, as_count(k, "landmark_neighbors"), n_jobs)


def _connected(x: Any, k: int, n_jobs: int | None, nearest: Neighborhoods | None = None) -> Neighborhoods:
    """Return the graph of `k` neighbours, or of the smallest larger number that connects it.

    If the `nearest` of every point are known, and are so many, the first search is theirs.
    """
    if nearest is not None and (nearest.n_neighbors or 0) >= k:
        graph = _first(nearest, k)
    else:
        graph = find_neighborhoods(x, k, n_jobs=n_jobs)
    low = high = k
    while graph.n_connected_components > 1:
        low, high = high, min(2 * high, len(x) - 1)
        if high * len(x) > _MOST_ENTRIES:
            raise ValueError(
                f"with {low} neighbours the graph is in {graph.n_connected_components} pieces, too far apart"
                " to be joined by more: measure each by itself"
            )
        graph = find_neighborhoods(x, high, n_jobs=n_jobs)
    if high == k:
        return graph
    while high - low > 1:
        middle = (low + high) // 2
        apart = _first(graph, middle).n_connected_components > 1
        low, high = (middle, high) if apart else (low, middle)
    return _first(graph, high)


def _first(graph: Neighborhoods, k: int) -> Neighborhoods:
    """Return the nearest `k` of each point alone."""
    rows = graph.indices.reshape(len(graph), -1)
    return Neighborhoods(np.ascontiguousarray(rows[:, :k]).ravel(), n_neighbors=k)


def _landmark_count(n: int, d: int, wanted: Any) -> int:
    if wanted is not None:
        return as_count(wanted, "n_landmarks")
    tenth, affordable = max(d + 1, -(-n // 10)), max(_FEWEST_LANDMARKS, WORK // n)
    return min(n, tenth, _MOST_LANDMARKS, affordable)


def _classical_scaling(distances: Array, d: int) -> Array:
    """Return coordinates in `d` dimensions, the largest first, from distances between all points.

    In units of the largest distance: nothing that is made of them knows the unit, and paths through data near
    the largest numbers are longer than what the core takes.
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


def _check_normalization(name: Any) -> None:
    if name not in ("centered", "paper"):
        raise ValueError(f"normalization = {name!r} is unknown: use 'centered' or 'paper'")
