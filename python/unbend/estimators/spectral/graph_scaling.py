"""The estimator of incomplete graphs: coordinates from the distances of some pairs of points."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from ...core import memory
from ...core.arrays import as_count, refuse_shape
from ...core.progress import Callback, Progress
from ...core.random import RandomState
from ...fit.assembly import one_blas_thread
from ...fit.scaling.pairs import MeasuredPairs, pairs_of
from ...fit.scaling.place import placed
from ...fit.scaling.run import GraphScalingSettings, check_joined
from ..base import Array, Estimator, Placed, estimator
from ..tables.attributes import DISTANCES

__all__ = ["GraphScaling"]

Self = TypeVar("Self", bound="GraphScaling")


@estimator(DISTANCES)
class GraphScaling(Estimator):
    """Scaling of an incomplete graph: points from the distances of some pairs, such as sensors in range.

    The weighted raw stress, the sum of w_ij (dist(y_i, y_j) - d_ij)^2 over the measured pairs, is minimized by
    majorization (SMACOF, de Leeuw 1977), accelerated by L-BFGS; no step raises it. Without acceleration, steps
    are those of SMACOF to about 1e-7 of the distances. Stress has many local minima, so the start decides. One
    start are patches: each point with those up to three steps away is embedded by itself, and the patches are
    reflected, rotated and shifted until they agree (Cucuringu, Lipman & Singer 2012; Arias-Castro, Javanmard &
    Pelletier 2020). Patches do not bend around holes, as shortest paths do, which are the other start.

    `ambiguity_` lists the points that the distances do not fix, and `verdict_` says in words whether the
    embedding can be trusted; an :class:`UntrustedWarning` is issued if not.

    `transform` places points by their distances to fitted points: a matrix with a column for each fitted point,
    sparse or with NaN. At least d + 1 distances are needed for each point. The error that it returns is the root
    mean square residual of these distances. `inverse_transform` raises a ValueError.

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> from scipy.spatial import cKDTree, procrustes
    >>> sensors = np.random.default_rng(0).random((300, 2))
    >>> pairs = cKDTree(sensors).query_pairs(0.2, output_type="ndarray")
    >>> ranges = np.linalg.norm(sensors[pairs[:, 0]] - sensors[pairs[:, 1]], axis=1)
    >>> found = ub.GraphScaling(2).fit(pairs, distances=ranges)
    >>> bool(procrustes(sensors, found.embedding_)[2] < 1e-6)
    True
    """

    ROWS = ("embedding_", "component_labels_")

    metric: ClassVar[str] = "precomputed"
    """X holds distances; scikit-learn reads this name."""

    def __init__(
        self,
        n_components: int = 2,
        *,
        weighting: Literal["equal", "relative"] = "equal",
        start: Literal["auto", "patches", "paths", "random"] = "auto",
        n_init: int = 4,
        accelerate: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-6,
        disconnected: Literal["separate", "error"] = "separate",
        random_state: RandomState = None,
        verbose: int = 0,
        callback: Callback | None = None,
        max_memory: float | None = None,
    ) -> None:
        self._keep(locals())

    def fit(
        self: Self,
        X: Any,
        y: Any = None,
        *,
        distances: Any = None,
        weights: Any = None,
        n_points: int | None = None,
        init: Any = None,
    ) -> Self:
        """Embed the points.

        A fit that fails, or is stopped or interrupted, leaves the estimator unchanged. A pair that is measured
        several times counts with the weighted mean of its distances, which has the same minimum.

        Parameters
        ----------
        X : array-like of shape (n, n), sparse matrix of shape (n, n), or array-like of int of shape (m, 2)
            Distances. In a full matrix, NaN stands for those that were not measured. The entries of a sparse
            matrix are the measured distances; one direction is enough, and both are averaged. With `distances`,
            pairs of points, numbered from 0.
        y : object
            Ignored.
        distances : array-like of shape (m,), optional
            Distance of each pair of X.
        weights : array-like of shape (m,), or matrix of the shape of X, optional
            Weight of each measurement, at least 0; 1 by default.
        n_points : int, optional
            Number of points, if some with high numbers are in no pair of X.
        init : array-like of shape (n, d), optional
            Coordinates to start from, instead of all other starts.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter is out of range, a distance is negative or not finite, or no pair is measured.
        MemoryError
            If the fit needs more memory than `max_memory`; this is checked before the fit starts.
        Stopped
            If `callback` stops the fit.
        """
        return self._fitted(X, distances=distances, weights=weights, n_points=n_points, init=init)

    def fit_transform(self, X: Any, y: Any = None, **known: Any) -> Array:
        """Embed the points, and return the embedding, of shape (n, d). The parameters are those of `fit`."""
        embedding: Array = self.fit(X, **known).embedding_
        return embedding

    def memory_estimate(self, n: int, n_pairs: int, dtype: npt.DTypeLike = np.float64) -> int:
        """Return the bytes that a fit needs at most, besides the data.

        Parameters
        ----------
        n, n_pairs : int
            Number of points, and of measured pairs.
        dtype : dtype, default float64
            Ignored.

        Returns
        -------
        int
        """
        self._check()
        return self._estimate(as_count(n, "n"), as_count(n_pairs, "n_pairs"), 8)

    def _fit(self, X: Any, progress: Progress, **known: Any) -> None:
        pairs = self._pairs(X, **{name: value for name, value in known.items() if name != "init"})
        init = self._checked_init(known["init"], pairs.n_points)
        check_joined(pairs, self.disconnected)
        with one_blas_thread():  # The same bits on any number of threads, and small matrices gain nothing.
            found = self._settings().embed(pairs, init, progress)
        self.n_features_in_ = pairs.n_points
        self.__dict__.update(found.attributes())

    def _pairs(self, X: Any, distances: Any, weights: Any, n_points: int | None) -> MeasuredPairs:
        """Return the pairs, checked, if there is memory for a fit."""
        if distances is None:
            refuse_shape(X)
            X = validate_data(self, X, accept_sparse=True, ensure_all_finite=False, ensure_min_samples=2)
            n, entries = X.shape[0], X.nnz if issparse(X) else X.size
        else:
            X = np.asarray(X)
            n, entries = len(X) if n_points is None else as_count(n_points, "n_points"), len(X)
        memory.check(self._estimate(n, entries // 2 if distances is None else entries, 8), self.max_memory)
        return pairs_of(X, distances, weights, n_points, relative=self.weighting == "relative")

    def _checked_init(self, init: Any, n: int) -> Array | None:
        if init is None:
            return None
        start = np.array(init, dtype=np.float64)
        if start.shape != (n, self.n_components) or not np.isfinite(start).all():
            shape = (
                f"shape {start.shape}"
                if start.shape != (n, self.n_components)
                else "entries that are not finite"
            )
            raise ValueError(f"init has {shape}: it must hold {n} points in {self.n_components} dimensions")
        return start

    def _settings(self) -> GraphScalingSettings:
        own = self.get_params(deep=False)
        names = ("n_components", "start", "n_init", "accelerate", "max_iter", "tol", "random_state")
        return GraphScalingSettings(**{name: own[name] for name in names})

    def _validated(self, X: Any, reset: bool, finite: bool = False) -> Any:
        refuse_shape(X)
        return validate_data(self, X, reset=reset, accept_sparse=True, ensure_all_finite=False)

    def _place(self, x: Any) -> Placed:
        """Place points; those whose distances are all those of a fitted point lie where it does."""
        pairs = MeasuredPairs(len(self.embedding_), self.pairs_, self.distances_, self.weights_)
        return placed(x, pairs, self.embedding_)

    def _find(self, y: Any) -> Placed:
        raise ValueError("inverse_transform needs points: GraphScaling is fitted to distances")

    def _estimate(self, n: int, q: int, itemsize: int) -> int:
        return memory.peak("graph scaling", memory.Sizes(n, 0, self.n_components, -(-2 * q // max(n, 1))))

    def _check_shapes(self) -> None:
        super()._check_shapes()
        pairs, m = self.pairs_, len(self.pairs_)
        lengths = {len(self.distances_), len(self.weights_), len(self.residuals_)}
        if (
            pairs.shape != (m, 2)
            or lengths != {m}
            or (m and not 0 <= pairs.min() <= pairs.max() < len(self.embedding_))
        ):
            raise ValueError(f"its {m} pairs do not belong to its {len(self.embedding_)} points")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = tags.input_tags.positive_only = True
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags
