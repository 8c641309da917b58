"""The estimators of the normalized family."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from ... import _core
from ...core.memory import Sizes
from ...core.progress import Callback
from ...fit.problem import Problem
from ...fit.spectral.eigenvectors import Spectrum
from ...fit.spectral.normalized import NormalizedSettings, Rectify, walk_scales
from ...graph.neighbors import DEFAULT_RECALL, SearchMethod
from ..base import Array, estimator
from ..on_graph import GraphEstimator
from ..tables.attributes import NORMALIZED

__all__ = [
    "DiffusionMaps",
    "HessianLLE",
    "LTSA",
    "LaplacianEigenmaps",
    "LocallyLinearEmbedding",
    "ModifiedLLE",
]


class NormalizedEstimator(GraphEstimator):
    """Shell of the family, whose algorithms differ in their W_i."""

    ALGORITHM = "normalized"
    AFFINE = True

    WEIGHTS: ClassVar[tuple[Any, ...]]
    """The function of the core that makes the W_i, and the parameters that it takes after points and graph."""

    WEIGHTED: ClassVar[bool] = False
    """True if the constraint is weighted by the degrees of the graph (eq. 3)."""

    def _weights(self, problem: Problem, report: Any) -> _core.LocalWeights:
        make, *names = self.WEIGHTS
        points, graph, threads = problem.checked, problem.neighborhoods.core, problem.threads
        weights: _core.LocalWeights = make(points, graph, *map(self._value, names), threads, report)
        return weights

    def _value(self, name: str) -> Any:
        value = getattr(self, name)
        return bool(value) if name == "include_self" else value

    def _scales(self, spectrum: Spectrum, d: int) -> Array:
        """Return the factors of the columns, which have variance 1."""
        return np.ones(d)

    def _settings(self, sizes: Sizes) -> NormalizedSettings:
        return NormalizedSettings(self._weights, self.rectify, self.WEIGHTED, self._scales, self.max_memory)

    def _check_shapes(self) -> None:
        super()._check_shapes()
        d = self.n_components
        if self.eigenvalues_.ndim != 1 or (self.maps_ is not None and self.maps_.shape[1:] != (d, d)):
            raise ValueError(f"its eigenvalues or maps do not belong to n_components = {d}")


@estimator(NORMALIZED, scopes=("normalized",))
class LocallyLinearEmbedding(NormalizedEstimator):
    """Locally linear embedding (Roweis & Saul 2000): each point stays the same mixture of its neighbors.

    With more neighbors than dimensions, many mixtures give the point, and the result depends on
    the one that is taken. Fragile: modified LLE and LTSA are LLE with more than one mixture per point.

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.s_curve(2000, random_state=0)
    >>> ub.LocallyLinearEmbedding(n_neighbors=12).fit(X).embedding_.std(axis=0).round(6).tolist()
    [1.0, 1.0]
    """

    WEIGHTS = _core.LocalWeights.lle, "weights", "reg", "n_components"

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
        self._keep(locals())


@estimator(NORMALIZED, scopes=("normalized",))
class ModifiedLLE(NormalizedEstimator):
    """Modified locally linear embedding (Zhang & Wang 2006): several mixtures of neighbors for each point.

    All mixtures that are about as good as the best one are used together, which makes the result stable.
    Their number is chosen for each neighborhood (eq. 3.7).

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(2000, random_state=0)
    >>> model = ub.ModifiedLLE(n_neighbors=12, rectify=True).fit(X)
    >>> bool(model.faithfulness_.r_n < 0.01)
    True
    """

    WEIGHTS = _core.LocalWeights.mlle, "local_components", "reg"

    def __init__(
        self,
        n_components: int = 2,
        n_neighbors: int | None = None,
        *,
        local_components: int | None = None,
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
        self._keep(locals())

    def _check(self) -> None:
        super()._check()
        own, d = self.local_components, self.n_components
        if own is not None and own < d:
            raise ValueError(f"local_components = {own} is below n_components = {d}: it may only exceed it")

    def _value(self, name: str) -> Any:
        if name == "local_components" and self.local_components is None:
            return self.n_components
        return super()._value(name)


@estimator(NORMALIZED, scopes=("normalized",))
class LTSA(NormalizedEstimator):
    """Local tangent space alignment (Zhang & Zha 2004): linear maps of local tangent coordinates.

    It differs from :class:`ProcrustesAlignment` in that neighborhoods may be mapped by any linear map, not only
    rotated. It finds an affine image of the truth, if the surface is not too elongated and there is little noise.

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(2000, random_state=0)
    >>> model = ub.LTSA(n_neighbors=12, rectify=True).fit(X)
    >>> bool(model.faithfulness_.r_n < 0.01)
    True
    """

    WEIGHTS = _core.LocalWeights.ltsa, "n_components", "include_self"

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
        self._keep(locals())


@estimator(NORMALIZED, scopes=("normalized",))
class HessianLLE(NormalizedEstimator):
    """Hessian LLE (Donoho & Grimes 2003): the functions of least curvature on the surface.

    The Hessian of a function is estimated in the tangent of every neighborhood. The coordinates are the
    functions with the least curvature, besides constants. A neighborhood needs 1 + d + d (d + 1) / 2 points.

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(2000, random_state=0)
    >>> model = ub.HessianLLE(n_neighbors=12, rectify=True).fit(X)
    >>> bool(model.faithfulness_.r_n < 0.01)
    True
    """

    WEIGHTS = _core.LocalWeights.hlle, "n_components", "include_self"

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
        self._keep(locals())


@estimator(NORMALIZED, scopes=("normalized",))
class LaplacianEigenmaps(NormalizedEstimator):
    """Laplacian eigenmaps (Belkin & Niyogi 2003): neighbors stay near each other.

    Coordinates are the slowest waves on the graph. On a surface more than twice as long as wide the second
    one runs along the first, and the surface collapses to a curve: see :func:`price_of_normalization`.

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.strip(2000, length=1.5, random_state=0)
    >>> model = ub.LaplacianEigenmaps(n_neighbors=8).fit(X)
    >>> model.transform(X[:3]).shape
    (3, 2)
    """

    ALGORITHM = "laplacian"
    WEIGHTS = _core.LocalWeights.lem, "kernel", "eps"
    WEIGHTED = True

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
        self._keep(locals())


@estimator(NORMALIZED, scopes=("normalized",))
class DiffusionMaps(NormalizedEstimator):
    """Diffusion maps (Coifman & Lafon 2006): points are near if random walks join them quickly.

    With alpha = 1 the density of the sample does not matter (eq. 1 of *The price of normalization*). They
    share the price of Laplacian eigenmaps.

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.strip(2000, length=1.5, random_state=0)
    >>> model = ub.DiffusionMaps(n_neighbors=8).fit(X)
    >>> model.transform(X[:3]).shape
    (3, 2)
    """

    ALGORITHM = "laplacian"
    WEIGHTS = _core.LocalWeights.dfm, "alpha", "kernel", "eps"
    WEIGHTED = True

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
        self._keep(locals())

    def _scales(self, spectrum: Spectrum, d: int) -> Array:
        return walk_scales(spectrum, d, self.time)
