"""Neighborhoods: the neighbors of every point, searched here or found by another tool."""

from __future__ import annotations

import time
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import Matrix, as_count, as_points, thread_count
from ..core.kinds import choice, share
from ..core.parameters import documented, entries, table
from ..core.shared_parameters import FUNCTIONS
from .radius import check_pairs

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["Neighborhoods", "neighborhoods"]

Array = npt.NDArray[np.float64]
Points = Matrix | _core.Points
FoundBy = Literal["exact", "approximate"] | None
Scalar = TypeVar("Scalar", bound=np.generic)
Algorithm = Literal["auto", "kd_tree", "blocked"]
SearchMethod = Literal["auto", "exact", "approximate"]
Metric = Literal["euclidean", "cosine", "precomputed"]

DEFAULT_NEIGHBORS = 12  # Number of neighbors if a caller gives neither a number nor a radius.
DEFAULT_RECALL = 0.98  # Share of the true neighbors that an approximate search finds by default.
BLOCK_ROWS = 4096  # Number of points that are normalized to length 1 at once.
CORE_NAMES = {"auto": "auto", "kd_tree": "tree", "blocked": "blocked"}  # The core's names of algorithms.

PARAMETERS = table(
    *entries(
        """
        method
            "exact" finds the nearest points, "approximate" most of them. "auto" is exact unless that takes
            long: no tree helps, and n^2 (q + 64) is above 1e12, which takes some seconds.
        recall
            Share of the true neighbors that an approximate search aims for. It goes on until a sample of points
            reaches it, for at most four attempts. `recall_` of the result is measured on other points.
        metric
            "cosine" is 1 minus the cosine of the angle between two points. "precomputed": X holds the distances
            between all points, or is a sparse graph of distances (see :meth:`Neighborhoods.from_graph`).
        algorithm
            Algorithm of an exact search; the result is the same. "kd_tree" takes at most 16 dimensions. If it
            is not "auto", the search is exact.
        """,
        method=choice("auto", "exact", "approximate"),
        recall=share,
        metric=choice("euclidean", "cosine", "precomputed"),
        algorithm=choice(*CORE_NAMES),
    )
)


class Neighborhoods:
    """Neighbors of every point, nearest first and without the point itself.

    Made by :func:`neighborhoods`, or from the result of another tool by :meth:`from_knn` and
    :meth:`from_graph`. Everything in this package that needs neighborhoods takes them as `neighborhoods=`, so
    that they are computed once. The arrays are read-only.

    Attributes
    ----------
    indices : ndarray of uint32
        All neighbors, one neighborhood after the other.
    indptr : ndarray of int64, shape (n + 1,)
        Neighborhood i is ``indices[indptr[i]:indptr[i + 1]]``.
    distances : ndarray of float64 or None
        Distance of each neighbor, if it is known.
    n_neighbors : int or None
        Size of every neighborhood, or None if sizes differ.
    method : {"exact", "approximate"} or None
        Kind of search; None if another tool found them.
    recall_ : float or None
        Share of the true neighbors that are listed: 1 after an exact search, measured on a random sample of
        points after an approximate one, None if another tool found them, or if copies are left out.
    seconds : float or None
        Time that the search took.

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> nb = ub.neighborhoods(np.array([[0.0], [1.0], [3.0]]), n_neighbors=1)
    >>> nb[2], nb.distances.tolist()
    (array([1], dtype=uint32), [1.0, 1.0, 2.0])
    """

    core: _core.Graph
    distances: Array | None
    method: FoundBy
    recall_: float | None
    seconds: float | None

    def __init__(
        self,
        indices: npt.NDArray[np.uint32],
        *,
        n_neighbors: int | None = None,
        indptr: npt.NDArray[np.int64] | None = None,
        distances: Array | None = None,
        method: FoundBy = None,
        recall: float | None = None,
        seconds: float | None = None,
    ) -> None:
        fixed = None if indptr is None else _read_only(indptr)
        self.core = _core.Graph(_read_only(indices), n_neighbors=n_neighbors, indptr=fixed)
        if distances is not None and len(distances) != len(indices):
            raise ValueError(f"there are {len(indices)} neighbors, but {len(distances)} distances")
        self.distances = None if distances is None else _read_only(distances)
        self.method, self.recall_, self.seconds = method, recall, seconds

    @classmethod
    def from_core(
        cls,
        graph: _core.Graph,
        distances: Array | None = None,
        method: FoundBy = None,
        recall: float | None = None,
    ) -> Neighborhoods:
        """Return the neighborhoods of a graph of the core, which is valid already."""
        made = cls.__new__(cls)
        for array in (graph.indices, graph.indptr, distances):
            if array is not None:
                array.flags.writeable = False
        made.core, made.distances = graph, distances
        made.method, made.recall_, made.seconds = method, recall, None
        return made

    def __getstate__(self) -> dict[str, Any]:
        """Return the arguments of the constructor, for copies and pickles."""
        state = {name: getattr(self, name) for name in ("indices", "distances", "method", "seconds")}
        return state | {"n_neighbors": self.n_neighbors, "indptr": self.core.indptr, "recall": self.recall_}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy or a pickle, checked; its arrays are read-only again."""
        self.__init__(**state)  # type: ignore[misc]

    @property
    def indices(self) -> npt.NDArray[np.uint32]:
        """All neighbors, one neighborhood after the other."""
        return self.core.indices

    @property
    def n_neighbors(self) -> int | None:
        """The size of every neighborhood, or None if sizes differ."""
        return self.core.n_neighbors

    @property
    def typical_size(self) -> int:
        """The size of every neighborhood, or the rounded mean if sizes differ."""
        return self.n_neighbors or max(1, round(float(self.sizes.mean())))

    @classmethod
    def from_knn(cls, indices: Any, distances: Any = None) -> Neighborhoods:
        """Use neighbors found by another tool: pynndescent, faiss, hnswlib, scikit-learn, ...

        A point that lists itself, in any column, is removed from its list. If some rows list themselves and
        others do not (an approximate search can lose a point among its copies), the others lose their last
        neighbor, so that all lists keep the same length.

        Parameters
        ----------
        indices : array-like of int, shape (n, k)
            Neighbors of each point.
        distances : array-like, shape (n, k), optional
            Distances of the neighbors. They put each row in order of distance, ties in order of index.

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
        lists = _as_indices(indices)
        n, k = lists.shape
        lengths = None if distances is None else _as_lengths(distances, lists.shape)
        order = np.broadcast_to(np.arange(k), (n, k))
        if lengths is not None:
            order = np.lexsort((lists, lengths), axis=1)
            lists = np.take_along_axis(lists, order, 1)
        own = lists == np.arange(n)[:, None]
        if own.any():
            own[~own.any(axis=1), -1] = True
            if (own.sum(axis=1) > 1).any():
                point = int(np.flatnonzero(own.sum(axis=1) > 1)[0])
                raise ValueError(f"point {point} lists itself more than once")
            lists, order = lists[~own].reshape(n, k - 1), order[~own].reshape(n, k - 1)
        if lists.shape[1] == 0:
            raise ValueError("indices leaves 0 neighbors for each point: at least 1 is needed")
        if lengths is not None:
            lengths = np.take_along_axis(lengths, order, 1).ravel()
        return cls(lists.astype(np.uint32).ravel(), n_neighbors=lists.shape[1], distances=lengths)

    @classmethod
    def from_graph(
        cls, graph: Any, *, weights: Literal["distance", "similarity", "none"] = "distance"
    ) -> Neighborhoods:
        """Use a SciPy sparse graph: row i holds the neighbors of point i.

        Every stored entry is an edge, even if it is 0 (two copies of a point). The diagonal is left out.

        Parameters
        ----------
        graph : sparse matrix or array of shape (n, n)
            Graph, for instance from scikit-learn's ``kneighbors_graph`` or scanpy's ``obsp``.
        weights : {"distance", "similarity", "none"}
            Meaning of the entries, which puts neighbors in order. Only distances are kept.

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
        indptr = pointer_of(np.bincount(rows, minlength=n))
        return cls(columns[order].astype(np.uint32), indptr=indptr, distances=distances)

    @classmethod
    def from_mesh(
        cls, faces: Any, n_vertices: int | None = None, *, rings: Literal[1, 2] = 1
    ) -> Neighborhoods:
        """Use the edges of a triangle mesh: the neighbors of a vertex are those it shares an edge with.

        Parameters
        ----------
        faces : array-like of int, shape (m, 3)
            Vertices of each triangle.
        n_vertices : int, optional
            Number of vertices; by default, one more than the largest in `faces`.
        rings : {1, 2}
            2 takes the neighbors of neighbors as well.

        Returns
        -------
        Neighborhoods

        Examples
        --------
        >>> import unbend as ub
        >>> nb = ub.Neighborhoods.from_mesh([[0, 1, 2], [0, 2, 3]])
        >>> nb[1].tolist(), nb[2].tolist()
        ([0, 2], [0, 1, 3])
        """
        from scipy.sparse import csr_matrix

        if rings not in (1, 2):
            raise ValueError(f"rings = {rings!r} is unknown: use 1 or 2")
        triangles = np.asarray(faces)
        if triangles.ndim != 2 or triangles.shape[1] != 3 or triangles.dtype.kind not in "iu":
            raise ValueError(
                f"faces has shape {triangles.shape} and dtype {triangles.dtype}: "
                "it must hold whole numbers in 3 columns"
            )
        n = int(triangles.max(initial=-1)) + 1 if n_vertices is None else as_count(n_vertices, "n_vertices")
        if triangles.size and not 0 <= int(triangles.min()) <= int(triangles.max()) < n:
            raise ValueError(
                f"faces holds vertices {triangles.min()} to {triangles.max()}: they must be from 0 to {n - 1}"
            )
        tails, heads = triangles.ravel(), np.roll(triangles, -1, axis=1).ravel()
        ends = np.concatenate([tails, heads]), np.concatenate([heads, tails])
        graph = csr_matrix((np.ones(len(ends[0]), dtype=bool), ends), shape=(n, n))
        if rings == 2:
            graph = graph @ graph + graph
        return cls.from_graph(graph, weights="none")

    @cached_property
    def indptr(self) -> npt.NDArray[np.int64]:
        """Start of each neighborhood in `indices`, and the end of the last one."""
        if self.core.indptr is not None:
            return self.core.indptr
        starts: npt.NDArray[np.int64] = np.arange(len(self) + 1, dtype=np.int64) * int(self.n_neighbors or 0)
        return _read_only(starts)

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.core)

    def __getitem__(self, i: int) -> npt.NDArray[np.uint32]:
        """Return the neighbors of point `i`."""
        if not -len(self) <= i < len(self):
            raise IndexError(f"point {i} is out of range: there are {len(self)} points")
        i %= len(self)
        return self.indices[self.indptr[i] : self.indptr[i + 1]]

    def __repr__(self) -> str:
        sizes = self.sizes
        size = f"{self.n_neighbors}" if self.n_neighbors else f"{sizes.min()} to {sizes.max()}"
        return f"<Neighborhoods: {len(self)} points, {size} neighbors each>"

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Number of neighbors of each point."""
        return np.diff(self.indptr)

    @cached_property
    def component_labels(self) -> npt.NDArray[np.uint32]:
        """The connected component of each point, numbered by their first points; edges go both ways."""
        return _read_only(self.core.components())

    @property
    def n_connected_components(self) -> int:
        """Number of connected components of the undirected graph."""
        return int(self.component_labels.max()) + 1

    @property
    def share_apart(self) -> float:
        """Share of the points outside the largest connected component."""
        return 1.0 - float(np.bincount(self.component_labels).max()) / len(self)

    def nearest(self, n_neighbors: int) -> Neighborhoods:
        """Return the same graph with only the `n_neighbors` nearest neighbors of each point, without a search."""
        k, size = as_count(n_neighbors, "n_neighbors"), self.n_neighbors
        if size is None or k > size:
            has = "differ in size" if size is None else f"hold {size} each"
            raise ValueError(f"n_neighbors = {k} nearest cannot be taken: the neighborhoods {has}")
        return self if k == size else _nearest(self, k)

    def reversed(self) -> Neighborhoods:
        """Return the graph with all edges reversed: for each point, the points that list it, in order of index."""
        return Neighborhoods.from_core(self.core.reversed())

    def symmetrized(self) -> Neighborhoods:
        """Return the undirected graph: j is a neighbor of i if either lists the other, in order of index."""
        return Neighborhoods.from_core(self.core.symmetrized())

    def to_graph(self) -> csr_matrix:
        """Return a SciPy CSR matrix of the distances (ones if they are not known), rows nearest first."""
        from scipy.sparse import csr_matrix

        values = np.ones(len(self.indices)) if self.distances is None else self.distances.copy()
        shape = (len(self), len(self))
        return csr_matrix((values, self.indices.astype(np.int64), self.indptr.copy()), shape=shape)


@documented(PARAMETERS, FUNCTIONS)
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
    """Find the neighbors of every point.

    Ties in distance go to the lower index. A search within a radius is exact.

    Parameters
    ----------
    X : array-like of shape (n, q), or (n, n) if precomputed
        The points. float32 and float64 arrays are used without a copy, whatever their strides, and may be
        memory-mapped. Chunked arrays (Zarr, HDF5) are read in blocks.
    random_state : int, default 0
        Seed of an approximate search.

    Returns
    -------
    Neighborhoods

    Raises
    ------
    ValueError
        If an entry is not finite, there are not more than `n_neighbors` points, or `metric` is "cosine" and
        a point is zero.

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(1000, random_state=0)
    >>> ub.neighborhoods(X, n_neighbors=12)
    <Neighborhoods: 1000 points, 12 neighbors each>
    >>> wide = np.random.default_rng(0).normal(size=(2000, 4)) @ np.random.default_rng(1).normal(size=(4, 60))
    >>> nb = ub.neighborhoods(wide, n_neighbors=12, method="approximate", recall=0.95)
    >>> nb.method, nb.recall_ >= 0.95
    ('approximate', True)
    """
    for name, value in (("algorithm", algorithm), ("metric", metric), ("method", method), ("recall", recall)):
        PARAMETERS[""][name].check(value)
    if algorithm != "auto" and method == "approximate":
        raise ValueError(f"algorithm = {algorithm!r} is exact: it does not go with method = 'approximate'")
    if radius is not None and n_neighbors is not None:
        raise ValueError(f"give n_neighbors = {n_neighbors} or radius = {radius}, not both")
    start = time.perf_counter()
    k = DEFAULT_NEIGHBORS if n_neighbors is None else as_count(n_neighbors, "n_neighbors")
    length = None if radius is None else _as_radius(radius)
    if metric == "precomputed":
        graph = _graph_of_distances(X, k if length is None else 0)
        found = _nearest(graph, k) if length is None else _within(graph, length)
        if not hasattr(X, "tocsr"):
            found.method, found.recall_ = "exact", 1.0
    else:
        points: Any = X if isinstance(X, _core.Points) else as_points(X)
        if metric == "cosine":
            points, length = _directions(points), None if length is None else (2.0 * length) ** 0.5
        if length is not None:
            found = within(points, length, n_jobs, algorithm=algorithm)
        elif algorithm != "auto":
            nearest = _core.nearest(points, k, CORE_NAMES[algorithm], thread_count(n_jobs))
            found = Neighborhoods.from_core(*nearest, "exact", 1.0)
        else:
            found = search(points, k, method, recall, as_count(random_state, "random_state", 0), n_jobs)
        if metric == "cosine":
            found.distances = _read_only(np.asarray(found.distances) ** 2 / 2)
    found.seconds = time.perf_counter() - start
    return found


def search(
    points: Points, k: int, method: str, recall: float, seed: int, n_jobs: int | None, progress: Any = None
) -> Neighborhoods:
    """Return the `k` nearest neighbors of every point, from an exact or an approximate search."""
    graph, distances, share = _core.find_nearest(
        points, k, method, float(recall), seed, thread_count(n_jobs), progress=progress
    )
    if share is None:  # The search was exact.
        return Neighborhoods.from_core(graph, distances, "exact", 1.0)
    return Neighborhoods.from_core(graph, distances, "approximate", share)


def within(
    points: Points, radius: float, n_jobs: int | None, progress: Any = None, algorithm: Algorithm = "auto"
) -> Neighborhoods:
    """Return all other points within a radius of every point, if their graph fits into memory."""
    check_pairs(points.array if isinstance(points, _core.Points) else points, radius)
    found = _core.within(points, radius, CORE_NAMES[algorithm], thread_count(n_jobs), progress=progress)
    return Neighborhoods.from_core(*found, "exact", 1.0)


def _directions(points: Matrix) -> Matrix:
    """Return the points scaled to length 1."""
    directions = np.empty_like(points, order="C")
    for start in range(0, len(points), BLOCK_ROWS):
        block = points[start : start + BLOCK_ROWS].astype(np.float64)
        largest = np.abs(block).max(axis=1, keepdims=True, initial=0.0)
        if not largest.all():
            point = start + int(np.flatnonzero(largest == 0)[0])
            raise ValueError(
                f"point {point} is zero: it has no direction, so metric = 'cosine' has no meaning"
            )
        block /= largest  # No square overflows or vanishes after this.
        directions[start : start + BLOCK_ROWS] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return directions


def _graph_of_distances(X: Any, k: int) -> Neighborhoods:
    """Return the neighbors of a sparse graph, or all points in order of the distances of a matrix."""
    if hasattr(X, "tocsr"):
        return Neighborhoods.from_graph(X)
    distances = np.asarray(X)
    n = len(distances) if distances.ndim else 0
    if distances.shape != (n, n):
        raise ValueError(f"X has shape {distances.shape}: precomputed distances are a square matrix")
    if n <= k:
        raise ValueError(f"n_neighbors = {k} needs at least {k + 1} points, got {n}")
    lengths = _as_lengths(distances, (n, n)).copy()
    np.fill_diagonal(lengths, np.inf)
    order = np.argsort(lengths, axis=1, kind="stable")[:, :-1]
    indices, lengths = order.astype(np.uint32).ravel(), np.take_along_axis(lengths, order, axis=1).ravel()
    return Neighborhoods(indices, indptr=pointer_of(np.full(n, n - 1)), distances=lengths)


def _nearest(graph: Neighborhoods, k: int) -> Neighborhoods:
    """Return the first `k` neighbors of each point."""
    point = int(graph.sizes.argmin())
    few = int(graph.sizes[point])
    if few < k:
        raise ValueError(f"point {point} has {few} neighbors in the graph: n_neighbors = {k} needs as many")
    places = (graph.indptr[:-1, None] + np.arange(k)).ravel()
    distances = None if graph.distances is None else graph.distances[places]
    return Neighborhoods(graph.indices[places], n_neighbors=k, distances=distances)


def _within(graph: Neighborhoods, radius: float) -> Neighborhoods:
    """Return the neighbors in a graph up to a distance."""
    distances = np.asarray(graph.distances)
    near = distances <= radius
    return Neighborhoods(
        graph.indices[near], indptr=pointer_of(near)[graph.indptr], distances=distances[near]
    )


def pointer_of(sizes: Any) -> npt.NDArray[np.int64]:
    """Return where each of several lists begins and the last one ends, from their sizes."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def resolve(
    points: Any,
    given: Neighborhoods | None,
    n_neighbors: int | None,
    radius: float | None,
    n_jobs: int | None,
) -> Neighborhoods:
    """Return the neighborhoods that a caller gives, or search them."""
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


def _as_indices(values: Any) -> npt.NDArray[np.int64]:
    """Return the lists of neighbors of another tool, checked."""
    array = np.asarray(values)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"indices has shape {array.shape}: it must have 2 dimensions and not be empty")
    if array.dtype.kind not in "iu":
        raise ValueError(f"indices has dtype {array.dtype}: it must hold whole numbers")
    indices, n = array.astype(np.int64), len(array)
    bad = (indices < 0) | (indices >= n)
    if bad.any():
        point, column = np.argwhere(bad)[0]
        raise ValueError(
            f"neighbor {indices[point, column]} of point {point} is out of range: there are {n} points"
        )
    return indices


def _as_radius(radius: Any) -> float:
    try:
        return float(radius)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"radius = {radius!r} is not a length") from None


def _as_lengths(values: Any, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    lengths = np.asarray(values, dtype=np.float64)
    if lengths.shape != shape:
        raise ValueError(f"distances has shape {lengths.shape}, but indices has {shape}")
    if not (lengths >= 0).all() or not np.isfinite(lengths).all():
        at = np.argwhere(~((lengths >= 0) & np.isfinite(lengths)))[0]
        raise ValueError(f"distance {lengths[tuple(at)]} at {tuple(map(int, at))} is not a length")
    return lengths
