"""Who is near whom."""

from __future__ import annotations

import time
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import Matrix, as_count, as_points, thread_count

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["Neighborhoods", "neighborhoods"]

DEFAULT_NEIGHBORS = 12

Scalar = TypeVar("Scalar", bound=np.generic)
Algorithm = Literal["auto", "kd_tree", "blocked"]
SearchMethod = Literal["auto", "exact", "approximate"]
Metric = Literal["euclidean", "cosine", "precomputed"]
METHODS = ("auto", "exact", "approximate")
METRICS = ("euclidean", "cosine", "precomputed")
DEFAULT_RECALL = 0.98
ROWS_AT_ONCE = 4096
_SEARCH = {"auto": "auto", "kd_tree": "tree", "blocked": "blocked"}


class Neighborhoods:
    """The neighbours of every point, nearest first and without the point itself.

    Made by :func:`neighborhoods`, or from what another tool found by :meth:`from_knn` and
    :meth:`from_graph`. Everything in this package that needs neighbourhoods takes one of these as
    `neighborhoods=`, so that they are computed once. Its arrays are read-only.

    Attributes
    ----------
    indices : ndarray of uint32
        All neighbours, one neighbourhood after the other.
    indptr : ndarray of int64, shape (n + 1,)
        Neighbourhood i is ``indices[indptr[i]:indptr[i + 1]]``.
    distances : ndarray of float64 or None
        How far each neighbour is, if that is known.
    n_neighbors : int or None
        The size of every neighbourhood, or None if sizes differ.
    method : {"exact", "approximate"} or None
        How they were found; None if another tool found them.
    recall_ : float or None
        The share of the true neighbours among those listed: 1 if the search was exact, measured for a random
        sample of points if it was not, None if another tool found them.
    seconds : float or None
        How long the search took, if it was ours.

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> nb = ub.neighborhoods(np.array([[0.0], [1.0], [3.0]]), n_neighbors=1)
    >>> nb[2], nb.distances.tolist()
    (array([1], dtype=uint32), [1.0, 1.0, 2.0])
    """

    n_neighbors: int | None
    indices: npt.NDArray[np.uint32]
    distances: npt.NDArray[np.float64] | None
    method: Literal["exact", "approximate"] | None
    recall_: float | None
    seconds: float | None

    def __init__(
        self,
        indices: npt.NDArray[np.uint32],
        *,
        n_neighbors: int | None = None,
        indptr: npt.NDArray[np.int64] | None = None,
        distances: npt.NDArray[np.float64] | None = None,
        method: Literal["exact", "approximate"] | None = None,
        recall: float | None = None,
        seconds: float | None = None,
        _found_here: bool = False,
    ) -> None:
        if distances is not None and len(distances) != len(indices):
            raise ValueError(f"there are {len(indices)} neighbours, but {len(distances)} distances")
        self.n_neighbors = n_neighbors
        self.indices = _read_only(indices)
        self._indptr = None if indptr is None else _read_only(indptr)
        self.distances = None if distances is None else _read_only(distances)
        self.method, self.recall_, self.seconds = method, recall, seconds
        self._found_here = _found_here
        if not _found_here:
            _core.check_graph(self._graph)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy or a pickle; its arrays are read-only again."""
        frozen = {key: _read_only(v) if isinstance(v, np.ndarray) else v for key, v in state.items()}
        self.__dict__.update(frozen, _found_here=False)

    @property
    def _graph(self) -> _core._Graph:
        """What the core takes for a graph."""
        return {
            "found_here": self._found_here,
            "n_neighbors": self.n_neighbors,
            "indptr": self._indptr,
            "indices": self.indices,
        }

    def _in_local_order(self, n_jobs: int) -> tuple[npt.NDArray[np.uint32], Neighborhoods]:
        """Return an order in which neighbours stand near each other, and the graph between places in it."""
        order, indptr, indices = _core.local_order(self._graph, n_jobs)
        graph = Neighborhoods(indices, n_neighbors=self.n_neighbors, indptr=indptr, _found_here=True)
        return order, graph

    @classmethod
    def from_knn(cls, indices: Any, distances: Any = None) -> Neighborhoods:
        """Use neighbours found by another tool: pynndescent, faiss, hnswlib, scikit-learn, ...

        A point that lists itself, in whatever column, is taken out by its index. If some rows list
        themselves and others do not (an approximate search can lose a point among its copies), the
        others lose their last neighbour, so that all keep the same number.

        Parameters
        ----------
        indices : array-like of int, shape (n, k)
            The neighbours of each point.
        distances : array-like, shape (n, k), optional
            If given, rows are put in order of distance, ties in order of index.

        Returns
        -------
        Neighborhoods

        Examples
        --------
        >>> import unbend as ub
        >>> nb = ub.Neighborhoods.from_knn([[0, 1], [1, 0], [2, 1]])
        >>> nb.n_neighbors, nb.indices.tolist()
        (1, [1, 0, 1])
        """
        found = _as_integers(indices, "indices", ndim=2)
        n, k = found.shape
        _check_range(found, n)
        far = None if distances is None else _as_lengths(distances, found.shape)
        if far is not None:
            order = np.lexsort((found, far), axis=1)
            found, far = np.take_along_axis(found, order, 1), np.take_along_axis(far, order, 1)
        own = found == np.arange(n)[:, None]
        if own.any():
            own[~own.any(axis=1), -1] = True
            if (own.sum(axis=1) > 1).any():
                point = int(np.flatnonzero(own.sum(axis=1) > 1)[0])
                raise ValueError(f"point {point} lists itself more than once")
            found = found[~own].reshape(n, k - 1)
            far = None if far is None else far[~own].reshape(n, k - 1)
        if found.shape[1] == 0:
            raise ValueError("indices leaves 0 neighbours for each point: at least 1 is needed")
        return cls(
            found.astype(np.uint32).ravel(),
            n_neighbors=found.shape[1],
            distances=None if far is None else far.ravel(),
        )

    @classmethod
    def from_graph(
        cls, graph: Any, *, weights: Literal["distance", "similarity", "none"] = "distance"
    ) -> Neighborhoods:
        """Use a SciPy sparse graph: row i holds the neighbours of point i.

        Every stored entry is an edge, also one that stores 0 (two copies of a point); the diagonal is
        left out.

        Parameters
        ----------
        graph : sparse matrix or array of shape (n, n)
            For instance from scikit-learn's ``kneighbors_graph`` or scanpy's ``obsp``.
        weights : {"distance", "similarity", "none"}
            What the entries are, which says who is nearest. Only distances are kept.

        Returns
        -------
        Neighborhoods

        Examples
        --------
        >>> import numpy as np, scipy.sparse as sp, unbend as ub
        >>> graph = sp.csr_array(np.array([[0, 2, 1], [2, 0, 0], [1, 0, 0]]))
        >>> ub.Neighborhoods.from_graph(graph)[0].tolist()
        [2, 1]
        """
        if weights not in ("distance", "similarity", "none"):
            raise ValueError(f"weights = {weights!r} is unknown: use 'distance', 'similarity' or 'none'")
        if not hasattr(graph, "tocoo") or len(graph.shape) != 2 or graph.shape[0] != graph.shape[1]:
            shape = getattr(graph, "shape", None)
            raise ValueError(
                f"graph must be a square sparse matrix, got {type(graph).__name__} of shape {shape}"
            )
        n = graph.shape[0]
        # Through rows, not through tocoo alone: conversions may drop stored zeros or sum duplicates.
        csr = graph.tocsr()
        rows = np.repeat(np.arange(n), np.diff(csr.indptr))
        columns, values = np.asarray(csr.indices), np.asarray(csr.data)
        if weights == "similarity" and np.isnan(values).any():
            raise ValueError(f"graph holds {int(np.isnan(values).sum())} similarities that are NaN")
        off = rows != columns
        rows, columns, values = rows[off], columns[off], values[off]
        key = {"distance": values, "similarity": -values.astype(float), "none": np.zeros(len(rows))}[weights]
        order = np.lexsort((columns, key, rows))
        distances = _as_lengths(values[order], (len(order),)) if weights == "distance" else None
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.int64)
        return cls(columns[order].astype(np.uint32), indptr=indptr, distances=distances)

    @cached_property
    def indptr(self) -> npt.NDArray[np.int64]:
        """Where each neighbourhood begins and the last one ends."""
        if self._indptr is not None:
            return self._indptr
        starts: npt.NDArray[np.int64] = np.arange(len(self) + 1, dtype=np.int64) * int(self.n_neighbors or 0)
        return _read_only(starts)

    def __len__(self) -> int:
        """Return the number of points."""
        if self._indptr is not None:
            return len(self._indptr) - 1
        return len(self.indices) // int(self.n_neighbors or 1)

    def __getitem__(self, i: int) -> npt.NDArray[np.uint32]:
        """Return the neighbours of point `i`."""
        if not -len(self) <= i < len(self):
            raise IndexError(f"point {i} is out of range: there are {len(self)} points")
        i %= len(self)
        return self.indices[self.indptr[i] : self.indptr[i + 1]]

    def __repr__(self) -> str:
        sizes = self.sizes
        size = f"{self.n_neighbors}" if self.n_neighbors else f"{sizes.min()} to {sizes.max()}"
        return f"<Neighborhoods: {len(self)} points, {size} neighbours each>"

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """How many neighbours each point has."""
        return np.diff(self.indptr)

    @cached_property
    def component_labels(self) -> npt.NDArray[np.uint32]:
        """The connected component of each point, numbered by their first points; edges go both ways."""
        return _read_only(_core.components(self._graph))

    @property
    def n_connected_components(self) -> int:
        """How many pieces the undirected graph has."""
        return int(self.component_labels.max()) + 1

    def nearest(self, n_neighbors: int) -> Neighborhoods:
        """Return neighbourhoods of the `n_neighbors` nearest: the beginnings of these."""
        k, held = as_count(n_neighbors, "n_neighbors"), self.n_neighbors
        if held is None or k > held:
            has = "differ in size" if held is None else f"hold {held} each"
            raise ValueError(f"n_neighbors = {k} nearest cannot be taken: the neighbourhoods {has}")
        if k == held:
            return self
        far = None if self.distances is None else self.distances.reshape(-1, held)[:, :k].ravel()
        near = self.indices.reshape(-1, held)[:, :k].ravel()
        return Neighborhoods(near, n_neighbors=k, distances=far, _found_here=self._found_here)

    def reversed(self) -> Neighborhoods:
        """Return for every point the points that list it, in order of index."""
        indptr, indices = _core.reversed(self._graph)
        return Neighborhoods(indices, indptr=indptr)

    def symmetrized(self) -> Neighborhoods:
        """Return the undirected graph: j beside i when either lists the other, in order of index."""
        indptr, indices = _core.symmetrized(self._graph)
        return Neighborhoods(indices, indptr=indptr)

    def to_graph(self) -> csr_matrix:
        """Return a SciPy CSR matrix of the distances (ones if they are not known), rows nearest first."""
        from scipy.sparse import csr_matrix

        values = np.ones(len(self.indices)) if self.distances is None else self.distances.copy()
        shape = (len(self), len(self))
        return csr_matrix((values, self.indices.astype(np.int64), self.indptr.copy()), shape=shape)


def neighborhoods(
    X: Any,
    n_neighbors: int | None = None,
    *,
    radius: float | None = None,
    method: SearchMethod = "auto",
    recall: float = DEFAULT_RECALL,
    metric: Metric = "euclidean",
    algorithm: Algorithm = "auto",
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Neighborhoods:
    """Find the neighbours of every point.

    Parameters
    ----------
    X : array-like of shape (n, q), or (n, n) if precomputed
        The points. float32 and float64 arrays are used where they lie, whatever their strides,
        memory-mapped ones among them; what is chunked (Zarr, HDF5) is read in blocks.
    n_neighbors : int, default 12
        How many *other* points each neighbourhood holds. Ties in distance go to the lower index.
    radius : float, optional
        Instead of a number: all others at this distance or less. The search is exact.
    method : {"auto", "exact", "approximate"}
        Whether neighbours must be the nearest for sure. "auto" is exact unless that takes long: where no tree
        helps, and n^2 (q + 64) is above 1e12, which are some seconds.
    recall : float, default 0.98
        The share of the true neighbours that an approximate search shall find. It goes on until that is
        reached for a sample of points, four attempts at most; `recall_` of the result is measured for others.
    metric : {"euclidean", "cosine", "precomputed"}
        "cosine" is 1 less the cosine of the angle between two points. "precomputed": X holds the distances
        between all points, or is a sparse graph of distances (see :meth:`Neighborhoods.from_graph`).
    algorithm : {"auto", "kd_tree", "blocked"}
        How an exact search goes; the result is the same. "kd_tree" takes at most 16 dimensions. Another than
        "auto" makes the search exact.
    random_state : int, default 0
        The seed of an approximate search.
    n_jobs : int, optional
        Number of threads; all by default. The result is the same for any number.

    Returns
    -------
    Neighborhoods

    Raises
    ------
    ValueError
        If an entry is not finite, there are not more than `n_neighbors` points, or a point without
        direction is to be compared by angles.

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(1000, random_state=0)
    >>> ub.neighborhoods(X, n_neighbors=12)
    <Neighborhoods: 1000 points, 12 neighbours each>
    >>> wide = np.random.default_rng(0).normal(size=(2000, 4)) @ np.random.default_rng(1).normal(size=(4, 60))
    >>> nb = ub.neighborhoods(wide, n_neighbors=12, method="approximate", recall=0.95)
    >>> nb.method, nb.recall_ >= 0.95
    ('approximate', True)
    """
    _check_choices(method, recall, metric, algorithm)
    if radius is not None and n_neighbors is not None:
        raise ValueError(f"give n_neighbors = {n_neighbors} or radius = {radius}, not both")
    start = time.perf_counter()
    k = DEFAULT_NEIGHBORS if n_neighbors is None else as_count(n_neighbors, "n_neighbors")
    if metric == "precomputed":
        found = _from_distances(X, k, radius)
    else:
        points = as_points(X) if metric == "euclidean" else _directions(as_points(X))
        far = None if radius is None else _as_radius(radius)
        if metric == "cosine" and far is not None:
            far = (2.0 * far) ** 0.5
        if far is not None or algorithm != "auto":
            found = _exactly(points, k, far, algorithm, thread_count(n_jobs))
        else:
            found = search(points, k, method, recall, as_count(random_state, "random_state", 0), n_jobs)
    if metric == "cosine" and found.distances is not None:
        found.distances = _read_only(found.distances**2 / 2)
    found.seconds = time.perf_counter() - start
    return found


def _check_choices(method: str, recall: float, metric: str, algorithm: str) -> None:
    if algorithm not in _SEARCH:
        raise ValueError(f"algorithm = {algorithm!r} is unknown: use 'auto', 'kd_tree' or 'blocked'")
    if metric not in METRICS:
        raise ValueError(f"metric = {metric!r} is unknown: use 'euclidean', 'cosine' or 'precomputed'")
    check_method(method, recall)
    if algorithm != "auto" and method == "approximate":
        raise ValueError(f"algorithm = {algorithm!r} is exact: it does not go with method = 'approximate'")


def check_method(method: str, recall: float, prefix: str = "") -> None:
    """Refuse what is no method, or no share."""
    if method not in METHODS:
        raise ValueError(f"{prefix}method = {method!r} is unknown: use 'auto', 'exact' or 'approximate'")
    if isinstance(recall, bool | str) or not 0 < recall <= 1:
        raise ValueError(f"{prefix}recall = {recall!r} is out of range: it must be above 0 and at most 1")


def search(
    points: Matrix,
    k: int,
    method: str,
    recall: float,
    seed: int,
    n_jobs: int | None,
    progress: Any = None,
) -> Neighborhoods:
    """Return the `k` nearest of every point, exactly or nearly."""
    indices, distances, share = _core.find_nearest(
        points, k, method, float(recall), seed, thread_count(n_jobs), progress=progress
    )
    return Neighborhoods(
        indices,
        n_neighbors=k,
        distances=distances,
        method="exact" if share is None else "approximate",
        recall=1.0 if share is None else share,
        _found_here=True,
    )


def _exactly(
    points: Matrix, k: int, radius: float | None, algorithm: Algorithm, threads: int
) -> Neighborhoods:
    indptr: npt.NDArray[np.int64] | None
    if radius is None:
        indptr, indices, distances = _core.nearest(points, k, _SEARCH[algorithm], threads)
    else:
        indptr, indices, distances = _core.within(points, radius, _SEARCH[algorithm], threads)
    return Neighborhoods(
        indices,
        n_neighbors=k if radius is None else None,
        indptr=None if radius is None else indptr,
        distances=distances,
        method="exact",
        recall=1.0,
        _found_here=True,
    )


def _directions(points: Matrix) -> Matrix:
    """Return the points at length 1. A point at length 0 has no direction."""
    directions = np.empty_like(points, order="C")
    for start in range(0, len(points), ROWS_AT_ONCE):
        block = points[start : start + ROWS_AT_ONCE].astype(np.float64)
        largest = np.abs(block).max(axis=1, keepdims=True, initial=0.0)
        if not largest.all():
            point = start + int(np.flatnonzero(largest == 0)[0])
            raise ValueError(
                f"point {point} is zero: it has no direction, so metric = 'cosine' has no meaning"
            )
        block /= largest  # so that no square overflows, or vanishes
        directions[start : start + ROWS_AT_ONCE] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return directions


def _from_distances(X: Any, k: int, radius: float | None) -> Neighborhoods:
    """Return neighbours by distances that are known."""
    if hasattr(X, "tocsr"):
        graph = Neighborhoods.from_graph(X)
        return _nearest(graph, k) if radius is None else _nearer(graph, _as_radius(radius))
    distances = np.asarray(X)
    if distances.ndim != 2 or distances.shape[0] != distances.shape[1]:
        raise ValueError(f"X has shape {distances.shape}: precomputed distances are a square matrix")
    n = len(distances)
    if radius is None and n <= k:
        raise ValueError(f"n_neighbors = {k} needs at least {k + 1} points, got {n}")
    lengths = _as_lengths(distances, (n, n)).copy()
    np.fill_diagonal(lengths, np.inf)
    order = np.argsort(lengths, axis=1, kind="stable")
    sorted_lengths = np.take_along_axis(lengths, order, axis=1)
    if radius is None:
        indices, far = order[:, :k].astype(np.uint32).ravel(), sorted_lengths[:, :k].ravel()
        return Neighborhoods(indices, n_neighbors=k, distances=far, method="exact", recall=1.0)
    near = sorted_lengths <= _as_radius(radius)
    indptr = np.concatenate([[0], np.cumsum(near.sum(axis=1))]).astype(np.int64)
    return Neighborhoods(
        order[near].astype(np.uint32),
        indptr=indptr,
        distances=sorted_lengths[near],
        method="exact",
        recall=1.0,
    )


def _nearest(graph: Neighborhoods, k: int) -> Neighborhoods:
    """Return the first `k` of each list of a graph."""
    if graph.sizes.min() < k:
        point = int(graph.sizes.argmin())
        few = int(graph.sizes.min())
        raise ValueError(f"point {point} has {few} neighbours in the graph: n_neighbors = {k} needs as many")
    places = (graph.indptr[:-1, None] + np.arange(k)).ravel()
    return Neighborhoods(graph.indices[places], n_neighbors=k, distances=np.asarray(graph.distances)[places])


def _nearer(graph: Neighborhoods, radius: float) -> Neighborhoods:
    """Return what of a graph is within a radius."""
    distances = np.asarray(graph.distances)
    near = distances <= radius
    ends = np.concatenate([[0], np.cumsum(near)])[graph.indptr].astype(np.int64)
    return Neighborhoods(graph.indices[near], indptr=ends, distances=distances[near])


def resolve(
    points: Any,
    given: Neighborhoods | None,
    n_neighbors: int | None,
    radius: float | None,
    n_jobs: int | None,
) -> Neighborhoods:
    """Return the neighbourhoods that a caller gave, or find those that it asked for."""
    if given is None:
        return neighborhoods(points, n_neighbors, radius=radius, n_jobs=n_jobs)
    if not isinstance(given, Neighborhoods):
        raise TypeError(
            f"neighborhoods must be unbend.Neighborhoods, got {type(given).__name__}: "
            "see Neighborhoods.from_knn and Neighborhoods.from_graph"
        )
    if n_neighbors is not None or radius is not None:
        raise ValueError("give neighborhoods= or n_neighbors= or radius=, not several of them")
    return given


def _read_only(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    frozen = np.ascontiguousarray(array).view()
    frozen.flags.writeable = False
    return frozen


def _as_integers(values: Any, name: str, ndim: int) -> npt.NDArray[np.int64]:
    array = np.asarray(values)
    if array.ndim != ndim or 0 in array.shape:
        raise ValueError(f"{name} has shape {array.shape}: it must have {ndim} dimensions and not be empty")
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} has dtype {array.dtype}: it must hold whole numbers")
    return array.astype(np.int64)


def _as_radius(radius: Any) -> float:
    try:
        return float(radius)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"radius = {radius!r} is not a length") from None


def _check_range(indices: npt.NDArray[np.int64], n: int) -> None:
    bad = (indices < 0) | (indices >= n)
    if bad.any():
        point, column = np.argwhere(bad)[0]
        raise ValueError(
            f"neighbour {indices[point, column]} of point {point} is out of range: there are {n} points"
        )


def _as_lengths(values: Any, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    lengths = np.asarray(values, dtype=np.float64)
    if lengths.shape != shape:
        raise ValueError(f"distances has shape {lengths.shape}, but indices has {shape}")
    if not (lengths >= 0).all() or not np.isfinite(lengths).all():
        at = np.argwhere(~((lengths >= 0) & np.isfinite(lengths)))[0]
        raise ValueError(f"distance {lengths[tuple(at)]} at {tuple(map(int, at))} is not a length")
    return lengths
