"""Random projection (Johnson & Lindenstrauss 1984), and how much it distorts distances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.linalg import pinvh
from scipy.sparse import csr_array, identity, issparse

from ...core import memory
from ...core.arrays import Matrix
from ...core.caller import warn
from ...core.progress import Callback, Progress
from ...core.random import RandomState, stream
from ..base import Array, estimator
from ..tables.attributes import LINEAR
from .base import LinearEstimator, project, row_distances, slices
from .maps import Hadamard, Kind, draw_hadamard, draw_map

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["DistortionWarning", "RandomProjection"]

MAX_PAIRS = 10_000
"""Distortion is measured on all pairs of points up to this number, and on a random sample of more."""

MIN_EPS = 1e-9
"""Smaller shares are taken for this one: it already needs more dimensions than any data have."""


class DistortionWarning(UserWarning):
    """A random projection changes distances by more than `eps`.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np, unbend as ub
    >>> X = np.random.default_rng(0).normal(size=(200, 50))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = ub.RandomProjection(n_components=3, random_state=0).fit(X)
    >>> caught[0].category is ub.DistortionWarning
    True
    """


@estimator((*LINEAR, "components_", "n_components_", "distortion_", "distortion_share_", "signs_", "rows_"))
class RandomProjection(LinearEstimator):
    """Random projection (Johnson & Lindenstrauss 1984): fewer dimensions, nearly the same distances.

    The data are multiplied by a matrix of independent random entries. With d >= 16 / eps^2 log(n / sqrt(t))
    rows, all squared distances between n points change by a share of at most eps, with probability 1 - t,
    whatever the points and their dimension. The map does not depend on the data; :class:`PCA` is better if
    the data lie near a plane.

    Compared with :mod:`sklearn.random_projection`, the fit measures the distortion of the data at hand.

    With `return_error`, `transform` also returns the distance of each point to the one that
    `inverse_transform` finds for its image: of all points with that image, the one nearest to the origin.

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X = np.random.default_rng(0).normal(size=(100, 5000))
    >>> projection = ub.RandomProjection(eps=0.3, random_state=0).fit(X)
    >>> projection.n_components_, bool(projection.distortion_ < 1 / np.sqrt(1 - 0.3))
    (1085, True)
    """

    def __init__(
        self,
        n_components: int | Literal["auto"] = "auto",
        *,
        eps: float = 0.1,
        kind: Kind = "gaussian",
        failure: float = 0.05,
        random_state: RandomState = None,
        verbose: int = 0,
        callback: Callback | None = None,
        max_memory: float | None = None,
    ) -> None:
        self._keep(locals())

    def _check_size(self, n: int, q: int) -> None:
        if self.n_components != "auto" and self.n_components > q:
            raise ValueError(f"n_components = {self.n_components} exceeds the {q} dimensions of the data")

    def _dimension(self, n: int, q: int) -> int:
        if self.n_components == "auto":
            return min(q, lemma_dimension(n, self.eps, self.failure))
        return int(self.n_components)

    def _run(self, x: Matrix, progress: Progress) -> Projection:
        (n, q), rng = x.shape, stream(self.random_state, "projection")
        d, needed = self._dimension(n, q), lemma_dimension(n, self.eps, self.failure)
        unchanged = self.n_components == "auto" and needed >= q
        fast = draw_hadamard(d, q, rng) if self.kind == "hadamard" and not unchanged else None
        if unchanged:
            components: Array | csr_array = csr_array(identity(q, format="csr"))
        else:
            components = fast.matrix() if fast else draw_map(self.kind, d, q, self.eps, rng)
        with progress.stage("projection", n):
            embedding = project(x, components) if fast is None else fast.project(x)
        with progress.stage("distortion"):
            distortion, share = measured_distortion(x, embedding, self.eps, rng)
        if unchanged:
            warn(
                f"eps = {self.eps} and {n:,} points need {needed:,} dimensions, but the data have {q:,}: "
                "they are left as they are",
                DistortionWarning,
            )
        elif share > 0:
            warn(
                f"{share:.2%} of the squared distances changed by a share of more than eps = {self.eps}, the "
                f"worst distance by a factor of {distortion:.3g}: {d:,} dimensions are too few for that, the "
                f"lemma requires {needed:,}",
                DistortionWarning,
            )
        return Projection(
            d, components, embedding, distortion, share, *((fast.signs, fast.rows) if fast else (None, None))
        )

    def _map(self, x: Matrix) -> Array:
        return super()._map(x) if self.signs_ is None else Hadamard(self.signs_, self.rows_).project(x)

    def _map_back(self, y: Array) -> Array:
        gram = self.components_ @ self.components_.T
        dense = gram.toarray() if issparse(gram) else gram
        points: Array = (y @ pinvh(dense)) @ self.components_
        return points

    def _estimate(self, n: int, q: int, itemsize: int) -> int:
        return memory.peak("projection", memory.Sizes(n, q, self._dimension(n, q)))


@dataclass(frozen=True)
class Projection:
    """Result of a random projection; the fields are the attributes of :class:`RandomProjection`."""

    n_components: int
    components: Array | csr_array
    embedding: Array
    distortion: float
    distortion_share: float
    signs: Array | None = None
    rows: npt.NDArray[np.int64] | None = None


def lemma_dimension(n: int, eps: float, failure: float) -> int:
    """Return the dimension that keeps all squared distances to a share of `eps`, but for a small probability.

    Examples
    --------
    >>> lemma_dimension(1000, 0.5, 0.05)
    538
    """
    return math.ceil(16 / max(eps, MIN_EPS) ** 2 * (math.log(n) - math.log(failure) / 2))


def measured_distortion(x: Matrix, y: Array, eps: float, rng: np.random.Generator) -> tuple[float, float]:
    """Return the worst factor on a distance, and the share of squared distances that change by over `eps`."""
    pairs = _pairs(len(x), rng)
    before, after = _pair_distances(x, *pairs), _pair_distances(y, *pairs)
    apart = before > 0
    if not apart.any():
        return 1.0, 0.0
    ratios = after[apart] / before[apart]
    with np.errstate(divide="ignore"):
        worst = float(np.maximum(ratios, 1 / ratios).max())
    return worst, float((np.abs(ratios**2 - 1) > eps).mean())


def _pairs(n: int, rng: np.random.Generator) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return all pairs of `n` points, or a random sample of them."""
    if n * (n - 1) // 2 <= MAX_PAIRS:
        return np.triu_indices(n, 1)
    left = rng.integers(n, size=MAX_PAIRS)
    return left, (left + rng.integers(1, n, size=MAX_PAIRS)) % n


def _pair_distances(x: Matrix, left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]) -> Array:
    parts = slices(len(left), x.shape[1])
    return np.concatenate([row_distances(x[left[part]], x[right[part]]) for part in parts])
