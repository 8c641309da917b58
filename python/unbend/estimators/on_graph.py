"""The estimators on a graph of neighbors: a shell around a problem, the settings of an algorithm, and `run`."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import _core
from ..core import memory
from ..core.arrays import Matrix, as_points, check_finite, thread_count
from ..core.memory import Sizes
from ..core.parameters import documented
from ..core.progress import Progress
from ..core.shared_parameters import FUNCTIONS
from ..fit.cut import Surface
from ..fit.embedding import Embedding
from ..fit.problem import (
    Array,
    DisconnectedWarning,
    Objective,
    Problem,
    check_connected,
    neighbor_count,
    size_of,
)
from ..fit.procrustes import ProcrustesSettings
from ..fit.run import Settings, run
from ..fit.scaling.charts import guess_of, has_gaps, problem_of
from ..fit.scaling.pairs import MeasuredPairs, pairs_of
from ..fit.scaling.place import placed
from ..fit.scaling.run import check_joined
from ..fit.spectral.eigenvectors import warn_of_unheld
from ..fit.trust.run import run_trusted
from ..graph.carry import Carrier
from ..graph.copies import search_distinct
from ..graph.neighbors import DEFAULT_NEIGHBORS, Neighborhoods
from ..graph.neighbors import neighborhoods as neighborhoods_of
from ..metrics.faithful import measured
from .base import Estimator, Placed, warn_if_equal
from .joint import FIT, Joint

__all__ = ["DisconnectedWarning", "GraphEstimator", "ProcrustesEstimator"]

Self = TypeVar("Self", bound="GraphEstimator")
Fitted = TypeVar("Fitted", bound="ProcrustesEstimator")

MAX_MEASURED_NEIGHBORS = 50
"""At most this many neighbors of each point are used if `n_neighbors` is None."""


class GraphEstimator(Estimator):
    """Shell of the estimators on a graph. An algorithm defines its settings, and what adds to its memory."""

    ROWS = ("X_fit_", "embedding_", "component_labels_", "neighborhoods_")

    ALGORITHM: ClassVar[str]
    """The name of the formula of its memory."""

    AFFINE: ClassVar[bool] = False
    """True if neighborhoods come out stretched, so that motions cannot carry new points."""

    @documented(FUNCTIONS)
    def fit(self: Self, X: Any, y: Any = None, *, neighborhoods: Neighborhoods | None = None) -> Self:
        """Embed the data.

        A fit that fails, or is stopped or interrupted, leaves the estimator unchanged. float32 and float64
        arrays are kept as they are, not copied.

        Parameters
        ----------
        y : object
            Ignored.

        Returns
        -------
        self
        """
        return self._fitted(X, neighborhoods=neighborhoods)

    def fit_transform(self, X: Any, y: Any = None, **known: Any) -> Array:
        """Embed the data, and return the embedding, of shape (n, d). The parameters are those of `fit`."""
        return self.fit(X, **known).embedding_  # type: ignore[no-any-return]

    def score(self, X: Any, y: Any = None) -> float:
        """Return how well points and their images agree, for model selection such as GridSearchCV; 0 is perfect.

        It is minus the mean of R_N over the points, at most 1 at each, minus their overlap. For algorithms that
        stretch neighborhoods it has R_C in place of R_N. Points are placed by
        `transform` and measured together with the fitted points, on their 12 nearest neighbors. These do not
        depend on `n_neighbors`, because R_N rises with the size of neighborhoods for any embedding. The fitted
        points are measured where the fit placed them, in the same way, so that scores of training and test data
        can be compared.

        More dimensions never make an embedding worse: choose `n_components` by :func:`unbend.dimension`.
        Neighborhoods that a cut tears count as errors.

        Parameters
        ----------
        X : array-like of shape (m, q)
            Points.
        y : object
            Ignored.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        if getattr(self, "groups_", None) is not None:
            raise ValueError(
                "score searches neighbors across groups, which may lie anywhere: use faithfulness_"
            )
        x = self._validated(X, reset=False)
        check_finite(x)
        placed, _ = self._place(x)
        points, images, centers = self.X_fit_, self.embedding_, None
        if not np.array_equal(x, points):
            centers = np.arange(len(points), len(points) + len(x), dtype=np.uint32)
            points, images = np.concatenate([points, x]), np.concatenate([images, placed])
        graph = neighborhoods_of(points, min(DEFAULT_NEIGHBORS, len(points) - 1), n_jobs=self.n_jobs)
        m = measured(as_points(points), images, graph, centers=centers, n_jobs=self.n_jobs, own=True)
        errors = m.per_point["r_c" if self._stretches else "r_n"]
        return -float(np.minimum(errors, 1.0).mean() + m.overlap)

    def _joint(self, n: int, k: int, known: dict[str, Any]) -> Joint:
        """Check the weights, groups, ties and fixed points of a fit."""
        widest = max(k, getattr(self, "tangent_neighbors", None) or 0)
        return Joint.of(n, int(self.n_components), widest, refine=getattr(self, "refine", None), **known)

    def _settings(self, sizes: Sizes) -> Settings:
        """Return the algorithm with its parameters."""
        raise NotImplementedError

    def _sized(self, sizes: Sizes) -> Sizes:
        """Return the sizes of a fit, with those that only this algorithm has."""
        return sizes

    def _run(self, settings: Any, problem: Problem, sizes: Sizes, progress: Progress) -> Embedding:
        return run(settings, problem, progress)

    def _fit(
        self, X: Any, progress: Progress, neighborhoods: Neighborhoods | None = None, **known: Any
    ) -> None:
        x = self._validated(X, reset=True)
        n, q = x.shape
        if self.n_components > q:
            raise ValueError(f"n_components = {self.n_components} exceeds the {q} dimensions of the data")
        k = self._neighbor_count(n, neighborhoods)
        joint = self._joint(n, k, known)
        sizes = Sizes(n, q, self.n_components, k, x.dtype.itemsize, searched=neighborhoods is None)
        sizes = self._sized(joint.sized(sizes))
        memory.check(memory.peak(self.ALGORITHM, sizes), self.max_memory)
        settings, points = self._settings(sizes), _core.Points(joint.set_apart(x))
        graph = self._search(points, k, progress) if neighborhoods is None else neighborhoods
        objective: Objective = getattr(self, "objective", "R_N")
        problem = Problem(points, graph, int(self.n_components), objective, self.n_jobs)
        problem = replace(problem, weights=joint.weights, bonds=joint.bonds)
        check_connected(problem.component_labels, self.disconnected)
        warn_if_equal(x)
        embedding = self._run(settings, problem, sizes, progress)
        self.X_fit_, self.neighborhoods_ = problem.points if joint.groups is None else x, graph
        self.n_neighbors_, self.component_labels_ = graph.typical_size, problem.component_labels
        self.__dict__.update(embedding.attributes())
        joint.warn_of_loose(self.embedding_, graph.component_labels)

    def _estimate(self, n: int, q: int, itemsize: int) -> int:
        k = min(DEFAULT_NEIGHBORS, n) if self.n_neighbors is None else self.n_neighbors
        return memory.peak(self.ALGORITHM, self._sized(Sizes(n, q, self.n_components, k, itemsize)))

    def _neighbor_count(self, n: int, given: Neighborhoods | None) -> int:
        """Return the number of neighbors per point, if there are points enough."""
        return neighbor_count(self.n_neighbors, n) if given is None else size_of(given, n)

    def _search(self, points: _core.Points, k: int, progress: Progress) -> Neighborhoods:
        method, recall = self.neighbors_method, self.neighbors_recall
        with progress.stage("neighbors", len(points)):
            return search_distinct(points, k, method, recall, self.n_jobs, progress.progress)

    def _place(self, x: Matrix) -> Placed:
        return self._carried(x, self.X_fit_, self.embedding_)

    def _find(self, y: Matrix) -> Placed:
        return self._carried(y, self.embedding_, self.X_fit_)

    def _carried(self, points: Matrix, source: Matrix, target: Matrix) -> Placed:
        """Return points that lie among those of `source` carried to `target`."""
        if np.array_equal(points, source):
            return target.astype(np.float64), np.zeros(len(points))
        # Groups that ties join have motions of their own, so these are the components of the graph.
        labels, k, spacing = self.neighborhoods_.component_labels, self.n_neighbors_, self._spacing()
        return Carrier(labels, k, self._stretches, spacing, self.n_jobs).carry(source, target, points)

    @property
    def _stretches(self) -> bool:
        """True if the embedding stretches neighborhoods, so that only affine maps carry points."""
        return self.AFFINE

    def _spacing(self) -> float | None:
        """Return the usual distance of neighbors, if a cut parts some of them."""
        return None

    def _check_shapes(self) -> None:
        super()._check_shapes()
        shapes = (self.X_fit_.shape[1:], self.embedding_.shape[1:])
        if shapes != ((self.n_features_in_,), (self.n_components,)):
            raise ValueError(
                f"its data and embedding have {shapes[0]} and {shapes[1]} columns, but it was fitted to "
                f"{self.n_features_in_} features with n_components = {self.n_components}"
            )


def _has_points(estimator: Any) -> bool:
    """Raise an AttributeError if an estimator is for distances only."""
    if estimator.metric == "precomputed":
        raise AttributeError('score needs points: with metric = "precomputed" there are distances only')
    return True


class ProcrustesEstimator(GraphEstimator):
    """Shell of the two algorithms of Goldberg & Ritov: of points, or of distances only."""

    SETTINGS: ClassVar[type[ProcrustesSettings]]

    @documented(FIT, FUNCTIONS)
    def fit(
        self: Fitted,
        X: Any,
        y: Any = None,
        *,
        neighborhoods: Neighborhoods | None = None,
        sample_weight: Any = None,
        groups: Any = None,
        ties: Any = None,
        fixed: Any = None,
    ) -> Fitted:
        """Embed the data; several groups of points in one map, and points with known places, if they are given.

        A fit that fails, or is stopped or interrupted, leaves the estimator unchanged. float32 and float64
        arrays are kept as they are, not copied, but for a copy while groups are fitted.

        Parameters
        ----------
        y : object
            Ignored.

        Returns
        -------
        self
        """
        known = {"sample_weight": sample_weight, "groups": groups, "ties": ties, "fixed": fixed}
        given = {name: value for name, value in known.items() if value is not None}
        return self._fitted(X, neighborhoods=neighborhoods, **given)

    def _check(self) -> None:
        super()._check()
        for name, value in (("cut", True), ("candidates", True)):
            if getattr(self, name) is value:
                self._check_points(name, value)
        if not self.include_self:
            self._check_points("include_self", self.include_self)
        if self.tangent_neighbors is not None:
            self._check_points("tangent_neighbors", self.tangent_neighbors)

    def _check_points(self, name: str, value: Any) -> None:
        """Raise a ValueError if a parameter has a value that needs points, but there are distances only."""
        if self.metric == "precomputed":
            raise ValueError(
                f'{name} = {value!r} needs points, but metric = "precomputed" has distances only: leave {name} out'
            )

    def _fit(
        self, X: Any, progress: Progress, neighborhoods: Neighborhoods | None = None, **known: Any
    ) -> None:
        self._check_known(known, neighborhoods)
        if self.metric == "euclidean":
            super()._fit(X, progress, neighborhoods, **known)
        elif neighborhoods is not None:
            raise ValueError(
                'metric = "precomputed" takes neighbors from the distances: pass no neighborhoods'
            )
        else:
            self._fit_distances(self._validated(X, reset=True), progress, **known)
        groups = known.get("groups")
        numbers = None if groups is None else np.unique(groups, return_inverse=True)[1]
        self.groups_ = None if numbers is None or numbers.max() == 0 else numbers

    def _check_known(self, known: dict[str, Any], neighborhoods: Neighborhoods | None) -> None:
        """Raise a ValueError if weights, groups, ties or fixed points do not go with the parameters."""
        if "groups" in known and neighborhoods is not None:
            raise ValueError("groups say where neighbors are searched: pass no neighborhoods, or no groups")
        if "groups" in known and self.metric == "precomputed":
            raise ValueError(
                "groups need points: with metric = 'precomputed', neighbors are those with distances"
            )
        is_bound = not known.keys().isdisjoint(("ties", "fixed"))
        if not self.include_self and is_bound:
            raise ValueError(
                "include_self = False does not go with ties or fixed points: set include_self = True"
            )
        for name in ("cut", "candidates"):
            if getattr(self, name) is True and is_bound:
                raise ValueError(f"{name} = True does not go with ties or fixed points: leave {name} out")

    def _fit_distances(self, x: Any, progress: Progress, **known: Any) -> None:
        n, d = x.shape[0], int(self.n_components)
        if d >= n:
            raise ValueError(f"n_components = {d} needs at least {d + 1} points, got n_samples = {n}")
        k = self._measured_neighbors(x)
        joint = self._joint(n, k, known)
        measured = min(2 * x.nnz, n**2) if issparse(x) else n**2
        sizes = self._sized(joint.sized(self._sizes_of_distances(n, min(k, measured // n + 1), measured)))
        lacks_some = issparse(x) or bool(np.isnan(x).any())
        memory.check(self._peak_of_distances(sizes, lacks_some), self.max_memory)
        pairs, settings = pairs_of(x), self._settings(sizes)
        check_joined(pairs, self.disconnected)
        problem = problem_of(pairs, k, d, self.objective, self.n_jobs, progress)
        problem = replace(problem, weights=joint.weights, bonds=joint.bonds)
        if has_gaps(problem) and getattr(self, "alignment", None) == "tree":
            problem = replace(problem, guess=guess_of(pairs, d, self.random_state, progress))
        embedding = self._run(settings, problem, sizes, progress)
        self.X_fit_, self.neighborhoods_ = pairs.graph, problem.neighborhoods
        self.n_neighbors_, labels = problem.neighborhoods.typical_size, pairs.labels
        self.component_labels_ = labels if joint.bonds is None else joint.bonds.joined(labels)
        self.__dict__.update(embedding.attributes())
        joint.warn_of_loose(self.embedding_, labels)

    def _measured_neighbors(self, x: Any) -> int:
        """Return the largest number of neighbors per point."""
        most = MAX_MEASURED_NEIGHBORS if self.n_neighbors is None and issparse(x) else None
        return most or neighbor_count(self.n_neighbors, x.shape[0])

    def _sizes_of_distances(self, n: int, k: int, measured: int) -> Sizes:
        return Sizes(n, k + 2, self.n_components, k, searched=False, measured=measured)

    def _peak_of_distances(self, sizes: Sizes, lacks_some: bool) -> int:
        """Return the bytes of a fit: of its charts, or of the scaling that its first frames come from."""
        needed = memory.peak(self.ALGORITHM, sizes)
        if not lacks_some or getattr(self, "alignment", None) != "tree":
            return needed
        degree = sizes.measured // sizes.n + 1
        scaled = Sizes(sizes.n, 0, sizes.d, degree, measured=sizes.measured)
        return max(needed, memory.peak("graph scaling", scaled))

    def _estimate(self, n: int, q: int, itemsize: int) -> int:
        if self.metric == "euclidean":
            return super()._estimate(n, q, itemsize)
        k = min(DEFAULT_NEIGHBORS, n) if self.n_neighbors is None else self.n_neighbors
        return self._peak_of_distances(self._sized(self._sizes_of_distances(n, k, n * k)), True)

    def _validated(self, X: Any, reset: bool, finite: bool = False) -> Any:
        if self.metric == "euclidean":
            return super()._validated(X, reset, finite)
        least = 2 if reset else 1
        return validate_data(
            self, X, reset=reset, accept_sparse=True, ensure_all_finite=False, ensure_min_samples=least
        )

    @available_if(_has_points)  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any = None) -> float:
        """Return how well points and their images agree; see :meth:`GraphEstimator.score`."""
        return super().score(X, y)

    def _place(self, x: Any) -> Placed:
        if self.metric == "euclidean":
            return super()._place(x)
        pairs: MeasuredPairs = pairs_of(self.X_fit_)
        return placed(x, pairs, self.embedding_)

    def _find(self, y: Matrix) -> Placed:
        if self.metric == "precomputed":
            raise ValueError('inverse_transform needs points: with metric = "precomputed" there are none')
        return super()._find(y)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        has_distances = self.metric == "precomputed"
        tags.input_tags.pairwise = tags.input_tags.positive_only = has_distances
        tags.input_tags.sparse = tags.input_tags.allow_nan = has_distances
        return tags

    def _run(self, settings: Any, problem: Problem, sizes: Sizes, progress: Progress) -> Any:
        problem = replace(problem, include_self=bool(self.include_self))
        warn_of_unheld(problem.unheld)
        return run_trusted(settings, problem, progress)

    def _settings(self, sizes: Sizes) -> Any:
        cut, tried = replace(sizes, cut=True, searched=True), replace(sizes, candidates=True)
        parameters = self.get_params(deep=False)
        parameters["cut_memory"] = memory.peak(self.ALGORITHM, cut)
        parameters["candidate_memory"] = memory.peak(self.ALGORITHM, tried)
        if self.metric == "precomputed" or sizes.bound:
            parameters |= {"cut": False, "candidates": False}
        return self.SETTINGS.of(parameters)

    def _sized(self, sizes: Sizes) -> Sizes:
        return replace(
            sizes,
            tangents=self.tangent_neighbors,
            starts=getattr(self, "n_init", 1),
            refined=self.refine is not None,
            cut=self.cut is True,
            candidates=self.candidates is True,
            include_self=bool(self.include_self),
            threads=thread_count(self.n_jobs) or os.cpu_count() or 1,
        )

    def _neighbor_count(self, n: int, given: Neighborhoods | None) -> int:
        if self.tangent_neighbors is not None:
            neighbor_count(self.tangent_neighbors, n, "tangent_neighbors")
        return super()._neighbor_count(n, given)

    def _problem(self) -> _core.Problem:
        points, graph = _core.Points(self.X_fit_), self.neighborhoods_
        return Problem(points, graph, self.n_components, n_jobs=self.n_jobs).core

    def _spacing(self) -> float | None:
        return self._problem().spacing() if len(self.cut_pairs_) else None

    @property
    def _surface(self) -> Surface:
        """The kind of surface that the data lie on; its loops and voids are counted at the first look."""
        check_is_fitted(self)
        graph, shape = self.neighborhoods_, None
        if self.n_components <= 2 and self.metric == "euclidean":
            if self.__dict__.get("_shape", (None,))[0] is not graph:  # of another fit
                self._shape = (graph, self._problem().shape())
            shape = self._shape[1]
        return Surface.told(self.n_components, self.orientable_, shape)

    closed_ = property(lambda self: self._surface.closed, doc="True if the surface has no boundary.")
    euler_characteristic_ = property(
        lambda self: self._surface.euler, doc="The Euler characteristic of the surface, if it is known."
    )
    surface_ = property(lambda self: self._surface.sentence(), doc="The kind of surface in a few words.")
