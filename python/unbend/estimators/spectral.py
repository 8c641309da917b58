"""The normalised family: LLE, modified LLE, LTSA, Hessian LLE, Laplacian eigenmaps and diffusion maps.

All make Phi(Y) = sum |W_i Y_i|^2 small among embeddings whose coordinates are uncorrelated and of the same
variance (Goldberg, Zakai, Kushnir & Ritov, *The price of normalization*, eq. 2 and 3), and differ in their
W_i only. What they find is an affine image of the truth at best: `rectify` undoes that, and says so if it
cannot.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from .. import _core
from ..core import memory
from ..core.arrays import Matrix, as_count, thread_count
from ..core.progress import Callback, Progress
from ..fit.eigenvectors import GapWarning, Spectrum, smallest_eigenvectors
from ..fit.rectify import best_map
from ..fit.refine import refine
from ..graph.neighbors import DEFAULT_RECALL, Neighborhoods, SearchMethod
from ..judge.verdict import gather, read
from ..metrics import faithfulness, nieqa_local
from .base import Array, check_choice
from .embed import Indices, _OnGraph

__all__ = [
    "CollapsedWarning",
    "DiffusionMaps",
    "GapWarning",
    "HessianLLE",
    "LTSA",
    "LaplacianEigenmaps",
    "LocallyLinearEmbedding",
    "ModifiedLLE",
]

BARYCENTERS = ("tikhonov", "ldr", "convex")
KERNELS = ("window", "heat")
RECTIFY = (False, True, "linear")
Rectify = Literal[False, True, "linear"]


class CollapsedWarning(UserWarning):
    """A dimension was lost, and no linear map brings it back.

    Examples
    --------
    >>> import warnings
    >>> import unbend as ub
    >>> X, _ = ub.datasets.strip(2000, length=6.0, noise=0.01, random_state=0)
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     _ = ub.LaplacianEigenmaps(n_neighbors=8, rectify=True).fit(X)
    >>> found[0].category is ub.CollapsedWarning
    True
    """


class _Normalized(_OnGraph):
    """What the family shares: the matrix of the weights, its smallest eigenvectors, and what is made of them.

    An algorithm adds its parameters, checks them in `_check_parameters`, and returns its W_i in `_weights`.
    """

    AFFINE: ClassVar[bool] = True
    WEIGHTED: ClassVar[bool] = False
    """Whether the constraint is weighted by the degrees of the graph (eq. 3)."""

    # Parameters, set by the constructor of each algorithm.
    rectify: Rectify

    # What a fit learns.
    eigenvalues_: Array
    maps_: Array | None

    # What an algorithm does itself --------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.rectify, "rectify", RECTIFY)

    def _weights(self, x: Matrix, watch: Progress) -> _core.LocalWeights:
        """Return the W_i of the neighbourhoods."""
        raise NotImplementedError

    def _scales(self, spectrum: Spectrum) -> Array:
        """Return what the columns, of variance 1, are multiplied by."""
        return np.ones(self.n_components)

    # Fit ------------------------------------------------------------------------------------------------

    def _plan(self, n: int, q: int, k: int, itemsize: int, searched: bool) -> memory.SpectralPlan:
        d = as_count(self.n_components, "n_components")
        return memory.SpectralPlan(n=n, q=q, d=d, k=k, itemsize=itemsize, searched=searched)

    def _lay_flat(self, x: Matrix, k: int, watch: Progress) -> tuple[Array, dict[str, Any]]:
        graph = self.neighborhoods_._graph
        with watch.stage("weights", len(x)):
            weights = self._weights(x, watch)
        with watch.stage("matrix", len(x)):
            parts = weights.matrix(graph, progress=watch.progress)
            degrees = weights.degrees(graph, True) if self.WEIGHTED else None
        _warn_of_unheld(parts)
        with watch.stage("eigenvectors"):
            task = _Task(self, parts, degrees, watch)
            embedding = task.embed()
        self.eigenvalues_ = np.array(task.trace[0]["eigenvalues"])
        self.maps_ = None
        if self.rectify:
            self.maps_ = self._rectified(x, embedding, watch)
            collapsed = self._collapsed(x, embedding)
            if self.rectify is True and not collapsed:
                embedding = self._refined(x, embedding, watch)
        return embedding, {"components": task.trace}

    def _rectified(self, x: Matrix, embedding: Array, watch: Progress) -> Array:
        """Apply its own best linear map to every component."""
        d = self.n_components
        with watch.stage("rectify"):
            pieces = _members(self.component_labels_)
            if len(pieces) == 1:
                maps = [best_map(x, embedding, self.neighborhoods_, self.n_jobs)[0]]
            else:
                graphs = (self._part(piece) for piece in pieces)
                found = zip(pieces, graphs, strict=True)
                maps = [best_map(x[piece], embedding[piece], graph, self.n_jobs)[0] for piece, graph in found]
            for piece, matrix in zip(pieces, maps, strict=True):
                embedding[piece] = embedding[piece] @ matrix
        return np.array(maps).reshape(-1, d, d)

    def _collapsed(self, x: Matrix, embedding: Array) -> bool:
        """Warn if a dimension is lost: what refinement would make of that looks better than it is."""
        graph, jobs = self.neighborhoods_, self.n_jobs
        m = faithfulness(x, embedding, neighborhoods=graph, n_jobs=jobs)
        reading = read(gather(m, float(nieqa_local(x, embedding, neighborhoods=graph, n_jobs=jobs))))
        if reading.kind != "collapsed":
            return False
        warnings.warn(f"no linear map helps: {reading.sentence}", CollapsedWarning, stacklevel=5)
        return True

    def _refined(self, x: Matrix, embedding: Array, watch: Progress) -> Array:
        with watch.stage("refine"):
            graph = self.neighborhoods_
            return refine(x, embedding, neighborhoods=graph, n_jobs=self.n_jobs, _watch=watch).embedding

    def _part(self, piece: Indices) -> Neighborhoods:
        """Return the neighbourhoods of a component, its points numbered anew."""
        graph = self.neighborhoods_
        numbers = np.zeros(len(graph), dtype=np.uint32)
        numbers[piece] = np.arange(len(piece), dtype=np.uint32)
        lists = [graph[i] for i in piece]
        indptr = np.concatenate([[0], np.cumsum([len(near) for near in lists])]).astype(np.int64)
        return Neighborhoods(numbers[np.concatenate(lists)], indptr=indptr)

    def _keep(self, x: Matrix, embedding: Array, k: int) -> None:
        """Set components side by side as they are: eigenvectors are not to be turned."""
        if self.rectify:
            super()._keep(x, embedding, k)
        else:
            _set_in_a_row(embedding, _members(self.component_labels_))
            self.X_fit_, self.embedding_, self.n_neighbors_ = x, embedding, k

    # Transform ------------------------------------------------------------------------------------------

    def _check_shapes(self) -> None:
        super()._check_shapes()
        d = self.n_components
        if self.eigenvalues_.ndim != 1 or (self.maps_ is not None and self.maps_.shape[1:] != (d, d)):
            raise ValueError(f"its eigenvalues or maps do not belong to n_components = {d}")

    def _error_in_words(self, inverse: bool) -> str:
        what = "units of the data" if inverse else "units of the embedding"
        return f"of the neighbours of a point, in {what}"

    def _record(self) -> dict[str, Any]:
        return {"eigenvalues": self.eigenvalues_.tolist(), "rectified": self.rectify}


@dataclass
class _Task:
    """The components of one matrix, solved one by one."""

    estimator: _Normalized
    parts: _core._Sparse
    degrees: Array | None
    watch: Progress

    def __post_init__(self) -> None:
        self.trace: list[dict[str, Any]] = []

    def embed(self) -> Array:
        """Return all components, each of mean 0."""
        from scipy.sparse import csr_array

        indptr, indices, data = self.parts
        n = len(indptr) - 1
        matrix = csr_array((data, indices, indptr), shape=(n, n))
        pieces = _members(self.estimator.component_labels_)
        if len(pieces) == 1:
            return self._solve(matrix, self.degrees)
        embedding = np.zeros((n, self.estimator.n_components))
        for piece in sorted(pieces, key=len, reverse=True):
            degrees = None if self.degrees is None else self.degrees[piece]
            embedding[piece] = self._solve(matrix[piece][:, piece], degrees)
        return embedding

    def _solve(self, matrix: Any, degrees: Array | None) -> Array:
        """Return the smallest eigenvectors of a component, of variance 1; zeros where it has too few."""
        n, d = matrix.shape[0], self.estimator.n_components
        embedding = np.zeros((n, d))
        count = min(d, n - 1)
        if count < 1 or (degrees is not None and not degrees.all()):
            self.trace.append({"eigenvalues": [], "residuals": []})
            return embedding
        found = smallest_eigenvectors(
            matrix,
            count,
            degrees=degrees,
            max_memory=None,
            n_jobs=self.estimator.n_jobs,
            progress=self.watch.progress,
        )
        unit = np.sqrt(n if degrees is None else degrees.sum())
        embedding[:, :count] = found.vectors * (unit * self.estimator._scales(found)[:count])
        self.trace.append(
            {
                "eigenvalues": found.values.tolist(),
                "residuals": found.residuals.tolist(),
                "gap": found.gap,
                "doubt": found.doubt,
                "solver": found.solver,
                "factor_bytes": found.factor_bytes,
            }
        )
        return embedding


def _warn_of_unheld(parts: _core._Sparse) -> None:
    """Warn of points that are in no neighbourhood: their rows are empty, and they lie anywhere."""
    indptr, _, values = parts
    sums = np.add.reduceat(np.append(np.abs(values), 0.0), np.minimum(indptr[:-1], len(values)))
    unheld = np.flatnonzero((np.diff(indptr) == 0) | (sums == 0))
    if len(unheld):
        many = f"{len(unheld)} points are" if len(unheld) > 1 else "1 point is"
        warnings.warn(
            f"{many} in no neighbourhood (the first is {unheld[0]}), and nothing tells where to put what no "
            "neighbourhood holds: use include_self=True",
            GapWarning,
            stacklevel=5,
        )


def _members(labels: Indices) -> list[Indices]:
    """Return the points of every component, in rising order."""
    order = np.argsort(labels, kind="stable").astype(np.uint32)
    return np.split(order, np.cumsum(np.bincount(labels))[:-1])


def _set_in_a_row(embedding: Array, pieces: list[Indices]) -> None:
    """Set components beside each other along the first coordinate, the largest first."""
    if len(pieces) == 1:
        return
    place = 0.0
    for piece in sorted(pieces, key=len, reverse=True):
        low, high = embedding[piece, 0].min(), embedding[piece, 0].max()
        embedding[piece, 0] += place - low
        place += 1.05 * (high - low) + 0.1


class LocallyLinearEmbedding(_Normalized):
    """Locally linear embedding (Roweis & Saul 2000): each point stays the same mixture of its neighbours.

    Where there are more neighbours than dimensions many mixtures give the point; which one is taken decides
    much. Fragile: modified LLE and LTSA are LLE with more than one mixture for each point.

    Parameters
    ----------
    n_components : int, default 2
        Dimension d of the embedding.
    n_neighbors : int, default 12
        How many other points a neighbourhood holds. None means 12, or all others where there are fewer.
    weights : {"tikhonov", "ldr", "convex"}
        Which mixture: the regularised one of Saul & Roweis (2003); of those that are best in the best plane
        through the neighbours the one of least norm (Goldberg & Ritov 2008, low-dimensional representation);
        or regularised, and without negative weights.
    reg : float, default 1e-3
        What is added to the diagonal of the neighbours' inner products, as a share of their trace.
    rectify : {False, True, "linear"}
        Whether to undo the normalisation: with the linear map of least R_N, which :func:`rectify` finds and
        which gives the embedding the unit and the proportions of the data ("linear"), and then with
        :func:`refine`, which takes away what a linear map leaves (True). If a dimension was lost, a
        :class:`CollapsedWarning` says so, and nothing is refined.
    neighbors_method : {"auto", "exact", "approximate"}
        How neighbours are found; see :func:`unbend.neighborhoods`.
    neighbors_recall : float, default 0.98
        The share of the true neighbours that an approximate search shall find.
    disconnected : {"separate", "error"}
        What to do where the neighbourhoods fall into several components: embed each by itself and lay
        them side by side, with a :class:`DisconnectedWarning`; or raise a ValueError.
    n_jobs : int, optional
        Number of threads; all by default. The result is the same for any number.
    verbose : int, default 0
        1 shows a line for each stage on standard error, with its progress and the time left.
    callback : callable, optional
        Called as ``callback(stage, done, total, best)`` about every 20 ms. When it returns True the fit
        stops with :class:`unbend.Stopped`.
    max_memory : float, optional
        The bytes that a fit may need; by default what the machine has available.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, d)
        The embedding. Every coordinate has mean 0 and variance 1, and they are uncorrelated.
        Several components are set side by side, the largest first.
    neighborhoods_ : Neighborhoods
        Those of the data.
    faithfulness_ : Faithfulness
        How faithful the embedding is to the neighbourhoods.
    component_labels_ : ndarray of shape (n,)
        The component of each point.
    eigenvalues_ : ndarray
        The smallest eigenvalues besides those of constants, of the largest component: those of the
        coordinates, and the next one.
    maps_ : ndarray of shape (n_components, d, d) or None
        The linear map of each component, if `rectify`.
    trace_ : dict
        "components": of each, the largest first, "eigenvalues", "residuals" as shares of the norm of the
        matrix, "gap", "doubt" (by which angle the space of the coordinates may be wrong) and "solver".
    timings_ : dict of float
        Seconds of every stage.
    X_fit_ : ndarray of shape (n, q)
        The data, not copied: do not change them while the estimator is used.
    n_neighbors_ : int
        How many fitted points carry a new one.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.s_curve(2000, random_state=0)
    >>> ub.LocallyLinearEmbedding(n_neighbors=12).fit(X).embedding_.std(axis=0).round(6).tolist()
    [1.0, 1.0]
    """

    def __init__(
        self,
        n_components: int = 2,
        n_neighbors: int | None = None,
        *,
        weights: Literal["tikhonov", "ldr", "convex"] = "tikhonov",
        reg: float = 1e-3,
        rectify: Rectify = False,
        neighbors_method: SearchMethod = "auto",
        neighbors_recall: float = DEFAULT_RECALL,
        disconnected: Literal["separate", "error"] = "separate",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
        max_memory: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.reg = reg
        self.rectify = rectify
        self.neighbors_method = neighbors_method
        self.neighbors_recall = neighbors_recall
        self.disconnected = disconnected
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.max_memory = max_memory

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.weights, "weights", BARYCENTERS)
        _check_reg(self.reg)

    def _weights(self, x: Matrix, watch: Progress) -> _core.LocalWeights:
        return _core.LocalWeights.lle(
            x,
            self.neighborhoods_._graph,
            self.weights,
            self.reg,
            self.n_components if self.weights == "ldr" else None,
            thread_count(self.n_jobs),
            progress=watch.progress,
        )

    def _in_words(self) -> str:
        return f"locally linear embedding ({self.weights})"


class ModifiedLLE(_Normalized):
    """Modified locally linear embedding (Zhang & Wang 2006): several mixtures of neighbours for each point.

    All mixtures that are about as good as the best one are used together, which makes the result stable.
    How many they are is chosen for each neighbourhood (eq. 3.7).

    Parameters
    ----------
    n_components : int, default 2
        Dimension d of the embedding.
    n_neighbors : int, default 12
        How many other points a neighbourhood holds. None means 12, or all others where there are fewer.
    reg : float, default 1e-3
        gamma of eq. 2.3: what is added to the diagonal of the neighbours' inner products, as a share of
        their trace.
    rectify : {False, True, "linear"}
        Whether to undo the normalisation: with the linear map of least R_N, which :func:`rectify` finds and
        which gives the embedding the unit and the proportions of the data ("linear"), and then with
        :func:`refine`, which takes away what a linear map leaves (True). If a dimension was lost, a
        :class:`CollapsedWarning` says so, and nothing is refined.
    neighbors_method : {"auto", "exact", "approximate"}
        How neighbours are found; see :func:`unbend.neighborhoods`.
    neighbors_recall : float, default 0.98
        The share of the true neighbours that an approximate search shall find.
    disconnected : {"separate", "error"}
        What to do where the neighbourhoods fall into several components: embed each by itself and lay
        them side by side, with a :class:`DisconnectedWarning`; or raise a ValueError.
    n_jobs : int, optional
        Number of threads; all by default. The result is the same for any number.
    verbose : int, default 0
        1 shows a line for each stage on standard error, with its progress and the time left.
    callback : callable, optional
        Called as ``callback(stage, done, total, best)`` about every 20 ms. When it returns True the fit
        stops with :class:`unbend.Stopped`.
    max_memory : float, optional
        The bytes that a fit may need; by default what the machine has available.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, d)
        The embedding. Every coordinate has mean 0 and variance 1, and they are uncorrelated.
        Several components are set side by side, the largest first.
    neighborhoods_ : Neighborhoods
        Those of the data.
    faithfulness_ : Faithfulness
        How faithful the embedding is to the neighbourhoods.
    component_labels_ : ndarray of shape (n,)
        The component of each point.
    eigenvalues_ : ndarray
        The smallest eigenvalues besides those of constants, of the largest component: those of the
        coordinates, and the next one.
    maps_ : ndarray of shape (n_components, d, d) or None
        The linear map of each component, if `rectify`.
    trace_ : dict
        "components": of each, the largest first, "eigenvalues", "residuals" as shares of the norm of the
        matrix, "gap", "doubt" (by which angle the space of the coordinates may be wrong) and "solver".
    timings_ : dict of float
        Seconds of every stage.
    X_fit_ : ndarray of shape (n, q)
        The data, not copied: do not change them while the estimator is used.
    n_neighbors_ : int
        How many fitted points carry a new one.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(2000, random_state=0)
    >>> model = ub.ModifiedLLE(n_neighbors=12, rectify=True).fit(X)
    >>> bool(model.faithfulness_.r_n < 0.01)
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        n_neighbors: int | None = None,
        *,
        reg: float = 1e-3,
        rectify: Rectify = False,
        neighbors_method: SearchMethod = "auto",
        neighbors_recall: float = DEFAULT_RECALL,
        disconnected: Literal["separate", "error"] = "separate",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
        max_memory: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.reg = reg
        self.rectify = rectify
        self.neighbors_method = neighbors_method
        self.neighbors_recall = neighbors_recall
        self.disconnected = disconnected
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.max_memory = max_memory

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _check_reg(self.reg)

    def _weights(self, x: Matrix, watch: Progress) -> _core.LocalWeights:
        return _core.LocalWeights.mlle(
            x,
            self.neighborhoods_._graph,
            self.n_components,
            self.reg,
            thread_count(self.n_jobs),
            progress=watch.progress,
        )

    def _in_words(self) -> str:
        return "modified locally linear embedding"


class LTSA(_Normalized):
    """Local tangent space alignment (Zhang & Zha 2004): each neighbourhood is a linear image of its tangent.

    The same idea as :class:`ProcrustesAlignment`, but with linear maps in the place of rotations: what it
    finds is an affine image of the truth, if the surface is not too long and there is little noise.

    Parameters
    ----------
    n_components : int, default 2
        Dimension d of the embedding.
    n_neighbors : int, default 12
        How many other points a neighbourhood holds. None means 12, or all others where there are fewer.
    include_self : bool, default True
        Whether a point belongs to its own neighbourhood, as in the paper. For scikit-learn it does not; but
        then nothing holds a point that is nobody's neighbour, and a :class:`GapWarning` says so.
    rectify : {False, True, "linear"}
        Whether to undo the normalisation: with the linear map of least R_N, which :func:`rectify` finds and
        which gives the embedding the unit and the proportions of the data ("linear"), and then with
        :func:`refine`, which takes away what a linear map leaves (True). If a dimension was lost, a
        :class:`CollapsedWarning` says so, and nothing is refined.
    neighbors_method : {"auto", "exact", "approximate"}
        How neighbours are found; see :func:`unbend.neighborhoods`.
    neighbors_recall : float, default 0.98
        The share of the true neighbours that an approximate search shall find.
    disconnected : {"separate", "error"}
        What to do where the neighbourhoods fall into several components: embed each by itself and lay
        them side by side, with a :class:`DisconnectedWarning`; or raise a ValueError.
    n_jobs : int, optional
        Number of threads; all by default. The result is the same for any number.
    verbose : int, default 0
        1 shows a line for each stage on standard error, with its progress and the time left.
    callback : callable, optional
        Called as ``callback(stage, done, total, best)`` about every 20 ms. When it returns True the fit
        stops with :class:`unbend.Stopped`.
    max_memory : float, optional
        The bytes that a fit may need; by default what the machine has available.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, d)
        The embedding. Every coordinate has mean 0 and variance 1, and they are uncorrelated.
        Several components are set side by side, the largest first.
    neighborhoods_ : Neighborhoods
        Those of the data.
    faithfulness_ : Faithfulness
        How faithful the embedding is to the neighbourhoods.
    component_labels_ : ndarray of shape (n,)
        The component of each point.
    eigenvalues_ : ndarray
        The smallest eigenvalues besides those of constants, of the largest component: those of the
        coordinates, and the next one.
    maps_ : ndarray of shape (n_components, d, d) or None
        The linear map of each component, if `rectify`.
    trace_ : dict
        "components": of each, the largest first, "eigenvalues", "residuals" as shares of the norm of the
        matrix, "gap", "doubt" (by which angle the space of the coordinates may be wrong) and "solver".
    timings_ : dict of float
        Seconds of every stage.
    X_fit_ : ndarray of shape (n, q)
        The data, not copied: do not change them while the estimator is used.
    n_neighbors_ : int
        How many fitted points carry a new one.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(2000, random_state=0)
    >>> model = ub.LTSA(n_neighbors=12, rectify=True).fit(X)
    >>> bool(model.faithfulness_.r_n < 0.01)
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        n_neighbors: int | None = None,
        *,
        include_self: bool = True,
        rectify: Rectify = False,
        neighbors_method: SearchMethod = "auto",
        neighbors_recall: float = DEFAULT_RECALL,
        disconnected: Literal["separate", "error"] = "separate",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
        max_memory: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.include_self = include_self
        self.rectify = rectify
        self.neighbors_method = neighbors_method
        self.neighbors_recall = neighbors_recall
        self.disconnected = disconnected
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.max_memory = max_memory

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.include_self, bool | np.bool_):
            raise ValueError(f"include_self = {self.include_self!r} must be True or False")

    def _weights(self, x: Matrix, watch: Progress) -> _core.LocalWeights:
        return _core.LocalWeights.ltsa(
            x,
            self.neighborhoods_._graph,
            self.n_components,
            bool(self.include_self),
            thread_count(self.n_jobs),
            progress=watch.progress,
        )

    def _in_words(self) -> str:
        return "local tangent space alignment"


class HessianLLE(_Normalized):
    """Hessian LLE (Donoho & Grimes 2003): the functions of least curvature on the surface.

    The Hessian of a function is estimated in the tangent of every neighbourhood; coordinates are the
    functions with the least, besides constants. A neighbourhood needs 1 + d + d (d + 1) / 2 points.

    Parameters
    ----------
    n_components : int, default 2
        Dimension d of the embedding.
    n_neighbors : int, default 12
        How many other points a neighbourhood holds. None means 12, or all others where there are fewer.
    include_self : bool, default True
        Whether a point belongs to its own neighbourhood. For the paper and scikit-learn it does not; but then
        nothing holds a point that is nobody's neighbour, and a :class:`GapWarning` says so.
    rectify : {False, True, "linear"}
        Whether to undo the normalisation: with the linear map of least R_N, which :func:`rectify` finds and
        which gives the embedding the unit and the proportions of the data ("linear"), and then with
        :func:`refine`, which takes away what a linear map leaves (True). If a dimension was lost, a
        :class:`CollapsedWarning` says so, and nothing is refined.
    neighbors_method : {"auto", "exact", "approximate"}
        How neighbours are found; see :func:`unbend.neighborhoods`.
    neighbors_recall : float, default 0.98
        The share of the true neighbours that an approximate search shall find.
    disconnected : {"separate", "error"}
        What to do where the neighbourhoods fall into several components: embed each by itself and lay
        them side by side, with a :class:`DisconnectedWarning`; or raise a ValueError.
    n_jobs : int, optional
        Number of threads; all by default. The result is the same for any number.
    verbose : int, default 0
        1 shows a line for each stage on standard error, with its progress and the time left.
    callback : callable, optional
        Called as ``callback(stage, done, total, best)`` about every 20 ms. When it returns True the fit
        stops with :class:`unbend.Stopped`.
    max_memory : float, optional
        The bytes that a fit may need; by default what the machine has available.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, d)
        The embedding. Every coordinate has mean 0 and variance 1, and they are uncorrelated.
        Several components are set side by side, the largest first.
    neighborhoods_ : Neighborhoods
        Those of the data.
    faithfulness_ : Faithfulness
        How faithful the embedding is to the neighbourhoods.
    component_labels_ : ndarray of shape (n,)
        The component of each point.
    eigenvalues_ : ndarray
        The smallest eigenvalues besides those of constants, of the largest component: those of the
        coordinates, and the next one.
    maps_ : ndarray of shape (n_components, d, d) or None
        The linear map of each component, if `rectify`.
    trace_ : dict
        "components": of each, the largest first, "eigenvalues", "residuals" as shares of the norm of the
        matrix, "gap", "doubt" (by which angle the space of the coordinates may be wrong) and "solver".
    timings_ : dict of float
        Seconds of every stage.
    X_fit_ : ndarray of shape (n, q)
        The data, not copied: do not change them while the estimator is used.
    n_neighbors_ : int
        How many fitted points carry a new one.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(2000, random_state=0)
    >>> model = ub.HessianLLE(n_neighbors=12, rectify=True).fit(X)
    >>> bool(model.faithfulness_.r_n < 0.01)
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        n_neighbors: int | None = None,
        *,
        include_self: bool = True,
        rectify: Rectify = False,
        neighbors_method: SearchMethod = "auto",
        neighbors_recall: float = DEFAULT_RECALL,
        disconnected: Literal["separate", "error"] = "separate",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
        max_memory: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.include_self = include_self
        self.rectify = rectify
        self.neighbors_method = neighbors_method
        self.neighbors_recall = neighbors_recall
        self.disconnected = disconnected
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.max_memory = max_memory

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.include_self, bool | np.bool_):
            raise ValueError(f"include_self = {self.include_self!r} must be True or False")

    def _weights(self, x: Matrix, watch: Progress) -> _core.LocalWeights:
        return _core.LocalWeights.hlle(
            x,
            self.neighborhoods_._graph,
            self.n_components,
            bool(self.include_self),
            thread_count(self.n_jobs),
            progress=watch.progress,
        )

    def _in_words(self) -> str:
        return "Hessian LLE"


class LaplacianEigenmaps(_Normalized):
    """Laplacian eigenmaps (Belkin & Niyogi 2003): neighbours stay near each other.

    Coordinates are the slowest waves on the graph. On a surface more than twice as long as wide the second
    one runs along the first, and the surface collapses to a curve: see :func:`price_of_normalization`.

    Parameters
    ----------
    n_components : int, default 2
        Dimension d of the embedding.
    n_neighbors : int, default 12
        How many other points a neighbourhood holds. None means 12, or all others where there are fewer.
    kernel : {"window", "heat"}
        The weight of an edge: 1, or exp(-distance^2 / eps).
    eps : float, optional
        Of the heat kernel; by default the median squared distance of the last neighbour.
    rectify : {False, True, "linear"}
        Whether to undo the normalisation: with the linear map of least R_N, which :func:`rectify` finds and
        which gives the embedding the unit and the proportions of the data ("linear"), and then with
        :func:`refine`, which takes away what a linear map leaves (True). If a dimension was lost, a
        :class:`CollapsedWarning` says so, and nothing is refined.
    neighbors_method : {"auto", "exact", "approximate"}
        How neighbours are found; see :func:`unbend.neighborhoods`.
    neighbors_recall : float, default 0.98
        The share of the true neighbours that an approximate search shall find.
    disconnected : {"separate", "error"}
        What to do where the neighbourhoods fall into several components: embed each by itself and lay
        them side by side, with a :class:`DisconnectedWarning`; or raise a ValueError.
    n_jobs : int, optional
        Number of threads; all by default. The result is the same for any number.
    verbose : int, default 0
        1 shows a line for each stage on standard error, with its progress and the time left.
    callback : callable, optional
        Called as ``callback(stage, done, total, best)`` about every 20 ms. When it returns True the fit
        stops with :class:`unbend.Stopped`.
    max_memory : float, optional
        The bytes that a fit may need; by default what the machine has available.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, d)
        The embedding. Mean 0 and variance 1 are weighted by the degrees of the graph.
        Several components are set side by side, the largest first.
    neighborhoods_ : Neighborhoods
        Those of the data.
    faithfulness_ : Faithfulness
        How faithful the embedding is to the neighbourhoods.
    component_labels_ : ndarray of shape (n,)
        The component of each point.
    eigenvalues_ : ndarray
        The smallest eigenvalues besides those of constants, of the largest component: those of the
        coordinates, and the next one.
    maps_ : ndarray of shape (n_components, d, d) or None
        The linear map of each component, if `rectify`.
    trace_ : dict
        "components": of each, the largest first, "eigenvalues", "residuals" as shares of the norm of the
        matrix, "gap", "doubt" (by which angle the space of the coordinates may be wrong) and "solver".
    timings_ : dict of float
        Seconds of every stage.
    X_fit_ : ndarray of shape (n, q)
        The data, not copied: do not change them while the estimator is used.
    n_neighbors_ : int
        How many fitted points carry a new one.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.strip(2000, length=1.5, random_state=0)
    >>> model = ub.LaplacianEigenmaps(n_neighbors=8).fit(X)
    >>> model.transform(X[:3]).shape
    (3, 2)
    """

    WEIGHTED: ClassVar[bool] = True

    def __init__(
        self,
        n_components: int = 2,
        n_neighbors: int | None = None,
        *,
        kernel: Literal["window", "heat"] = "window",
        eps: float | None = None,
        rectify: Rectify = False,
        neighbors_method: SearchMethod = "auto",
        neighbors_recall: float = DEFAULT_RECALL,
        disconnected: Literal["separate", "error"] = "separate",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
        max_memory: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.eps = eps
        self.rectify = rectify
        self.neighbors_method = neighbors_method
        self.neighbors_recall = neighbors_recall
        self.disconnected = disconnected
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.max_memory = max_memory

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.kernel, "kernel", KERNELS)
        if self.eps is not None and not 0 < self.eps < np.inf:
            raise ValueError(f"eps = {self.eps} is out of range: it must be above 0 and finite")

    def _weights(self, x: Matrix, watch: Progress) -> _core.LocalWeights:
        return _core.LocalWeights.lem(
            x,
            self.neighborhoods_._graph,
            self.kernel,
            self.eps,
            thread_count(self.n_jobs),
            progress=watch.progress,
        )

    def _in_words(self) -> str:
        return f"Laplacian eigenmaps ({self.kernel} kernel)"


class DiffusionMaps(_Normalized):
    """Diffusion maps (Coifman & Lafon 2006): points are near each other if random walks from them meet soon.

    With alpha = 1 the density of the sample does not matter (eq. 1 of *The price of normalization*). They
    share the price of Laplacian eigenmaps.

    Parameters
    ----------
    n_components : int, default 2
        Dimension d of the embedding.
    n_neighbors : int, default 12
        How many other points a neighbourhood holds. None means 12, or all others where there are fewer.
    alpha : float, default 1.0
        By which power of the density weights are divided, from 0 to 1.
    kernel : {"window", "heat"}
        The weight of an edge: 1, or exp(-distance^2 / eps).
    eps : float, optional
        Of the heat kernel; by default the median squared distance of the last neighbour.
    time : float, default 1.0
        How many steps a walk takes: coordinate p is multiplied by lambda_p^time, lambda_p being the
        eigenvalue of the walk.
    rectify : {False, True, "linear"}
        Whether to undo the normalisation: with the linear map of least R_N, which :func:`rectify` finds and
        which gives the embedding the unit and the proportions of the data ("linear"), and then with
        :func:`refine`, which takes away what a linear map leaves (True). If a dimension was lost, a
        :class:`CollapsedWarning` says so, and nothing is refined.
    neighbors_method : {"auto", "exact", "approximate"}
        How neighbours are found; see :func:`unbend.neighborhoods`.
    neighbors_recall : float, default 0.98
        The share of the true neighbours that an approximate search shall find.
    disconnected : {"separate", "error"}
        What to do where the neighbourhoods fall into several components: embed each by itself and lay
        them side by side, with a :class:`DisconnectedWarning`; or raise a ValueError.
    n_jobs : int, optional
        Number of threads; all by default. The result is the same for any number.
    verbose : int, default 0
        1 shows a line for each stage on standard error, with its progress and the time left.
    callback : callable, optional
        Called as ``callback(stage, done, total, best)`` about every 20 ms. When it returns True the fit
        stops with :class:`unbend.Stopped`.
    max_memory : float, optional
        The bytes that a fit may need; by default what the machine has available.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, d)
        The embedding. Mean 0 and variance lambda_p^(2 time) of coordinate p are
        weighted by the degrees of the graph.
        Several components are set side by side, the largest first.
    neighborhoods_ : Neighborhoods
        Those of the data.
    faithfulness_ : Faithfulness
        How faithful the embedding is to the neighbourhoods.
    component_labels_ : ndarray of shape (n,)
        The component of each point.
    eigenvalues_ : ndarray
        The smallest eigenvalues besides those of constants, of the largest component: those of the
        coordinates, and the next one.
    maps_ : ndarray of shape (n_components, d, d) or None
        The linear map of each component, if `rectify`.
    trace_ : dict
        "components": of each, the largest first, "eigenvalues", "residuals" as shares of the norm of the
        matrix, "gap", "doubt" (by which angle the space of the coordinates may be wrong) and "solver".
    timings_ : dict of float
        Seconds of every stage.
    X_fit_ : ndarray of shape (n, q)
        The data, not copied: do not change them while the estimator is used.
    n_neighbors_ : int
        How many fitted points carry a new one.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.strip(2000, length=1.5, random_state=0)
    >>> model = ub.DiffusionMaps(n_neighbors=8).fit(X)
    >>> model.transform(X[:3]).shape
    (3, 2)
    """

    WEIGHTED: ClassVar[bool] = True

    def __init__(
        self,
        n_components: int = 2,
        n_neighbors: int | None = None,
        *,
        alpha: float = 1.0,
        kernel: Literal["window", "heat"] = "heat",
        eps: float | None = None,
        time: float = 1.0,
        rectify: Rectify = False,
        neighbors_method: SearchMethod = "auto",
        neighbors_recall: float = DEFAULT_RECALL,
        disconnected: Literal["separate", "error"] = "separate",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
        max_memory: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.kernel = kernel
        self.eps = eps
        self.time = time
        self.rectify = rectify
        self.neighbors_method = neighbors_method
        self.neighbors_recall = neighbors_recall
        self.disconnected = disconnected
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.max_memory = max_memory

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not 0 <= self.alpha <= 1:
            raise ValueError(f"alpha = {self.alpha} is out of range: it must be from 0 to 1")
        if not 0 <= self.time < np.inf:
            raise ValueError(f"time = {self.time} is out of range: it must be at least 0 and finite")
        check_choice(self.kernel, "kernel", KERNELS)
        if self.eps is not None and not 0 < self.eps < np.inf:
            raise ValueError(f"eps = {self.eps} is out of range: it must be above 0 and finite")

    def _weights(self, x: Matrix, watch: Progress) -> _core.LocalWeights:
        return _core.LocalWeights.dfm(
            x,
            self.neighborhoods_._graph,
            self.alpha,
            self.kernel,
            self.eps,
            thread_count(self.n_jobs),
            progress=watch.progress,
        )

    def _scales(self, spectrum: Spectrum) -> Array:
        """Return the eigenvalues of the walk, those of D^-1 A, to the power of time."""
        d = self.n_components
        walk = 1 - np.pad(spectrum.values[:d], (0, max(0, d - len(spectrum.values))))
        return np.abs(walk) ** self.time

    def _in_words(self) -> str:
        return f"diffusion maps ({self.kernel} kernel)"


def _check_reg(reg: float) -> None:
    if not 0 <= reg < np.inf:
        raise ValueError(f"reg = {reg} is out of range: it must be at least 0 and finite")
