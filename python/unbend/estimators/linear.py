"""Maps that keep lines straight: principal components and random projections."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from ..core import memory
from ..core.arrays import Matrix, as_count, check_finite
from ..core.progress import Callback, Progress
from ..core.random import RandomState, stream
from .base import Array, Placed, _Estimator, check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from scipy.sparse import csr_array

__all__ = ["PCA", "DistortionWarning", "RandomProjection"]

Self = TypeVar("Self", bound="_Linear")
Kind = Literal["gaussian", "sparse"]

KINDS = ("gaussian", "sparse")

AT_ONCE = 2**21
"""How many entries of the data are looked at together."""

PAIRS = 10_000
"""The most pairs whose distortion is looked at."""

LABEL_HEIGHT = 0.1
"""Of a name in the correlation circle."""

SPARSITY = 3
"""One entry in so many of a sparse projection is not 0 (Achlioptas 2003)."""


class DistortionWarning(UserWarning):
    """A random projection keeps distances less well than it should.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np, unbend as ub
    >>> X = np.random.default_rng(0).normal(size=(200, 50))
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     _ = ub.RandomProjection(n_components=3, random_state=0).fit(X)
    >>> found[0].category is ub.DistortionWarning
    True
    """


class _Linear(_Estimator):
    """What linear maps share: no neighbours, no data kept."""

    components_: Any

    def fit(self: Self, X: Any, y: Any = None) -> Self:
        """Find the map, and the images of the data.

        A fit that fails, or is stopped or interrupted, leaves the estimator as it was.

        Parameters
        ----------
        X : array-like of shape (n, q)
            The data.
        y : object
            Ignored.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter makes no sense, or an entry is not finite.
        MemoryError
            If the fit needs more memory than there is; nothing is begun then.
        Stopped
            If `callback` stopped it.
        """
        with self._all_or_nothing():
            self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Find the map, and return the images of the data.

        Parameters
        ----------
        X, y
            As for `fit`.

        Returns
        -------
        ndarray of shape (n, d)
        """
        return self.fit(X).embedding_

    def transform(self, X: Any, return_error: bool = False) -> Any:
        """Map points.

        Parameters
        ----------
        X : array-like of shape (m, q)
            Points.
        return_error : bool, default False
            Whether to return as well how far each point is from the one that `inverse_transform` makes of
            its image.

        Returns
        -------
        ndarray of shape (m, d), or a pair of it and an ndarray of shape (m,)
        """
        return super().transform(X, return_error)

    def inverse_transform(self, X: Any, return_error: bool = False) -> Any:
        """Find the points that are mapped to points of the embedding; of all such, the nearest to the centre.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Points of the embedding.
        return_error : bool, default False
            Whether to return as well how far the image of each point found is from the one asked for.

        Returns
        -------
        ndarray of shape (m, q), or a pair of it and an ndarray of shape (m,)
        """
        return super().inverse_transform(X, return_error)

    # What a map does itself -----------------------------------------------------------------------------

    def _learn(self, x: Matrix, watch: Progress) -> None:
        """Find the map and the images of `x`."""
        raise NotImplementedError

    def _map(self, x: Matrix) -> Array:
        """Return the images of checked points."""
        raise NotImplementedError

    def _back(self, y: Array) -> Array:
        """Return the points that have such images."""
        raise NotImplementedError

    # Fit ------------------------------------------------------------------------------------------------

    def _fit(self, X: Any) -> None:
        self._check_parameters()
        watch = Progress(self.verbose, self.callback)
        x = self._validated(X, reset=True)
        n, q = x.shape
        check_finite(x)
        self._check_size(n, q)
        memory.check(self._estimate(n, q, x.dtype.itemsize).peak(), self.max_memory)
        self._learn(x, watch)
        self.timings_ = watch.timings

    def _check_size(self, n: int, q: int) -> None:
        if self.n_components > q:
            raise ValueError(f"n_components = {self.n_components} exceeds the {q} dimensions of the data")

    def _place(self, x: Matrix) -> Placed:
        check_finite(x)
        placed = self._map(x)
        return placed, _apart(x, self._back(placed))

    def _find(self, y: Matrix) -> Placed:
        check_finite(y)
        found = self._back(np.asarray(y, dtype=np.float64))
        return found, _apart(y, self._map(found))

    def _error_in_words(self, inverse: bool) -> str:
        return "from the image asked for" if inverse else "between a point and what its image says of it"

    def _check_shapes(self) -> None:
        super()._check_shapes()
        expected = (self.embedding_.shape[1], self.n_features_in_)
        if self.components_.shape != expected:
            raise ValueError(f"its map has shape {self.components_.shape}, but it should have {expected}")


class PCA(_Linear):
    """Principal component analysis (Pearson 1901): the subspace nearest to the data.

    Of all linear maps to d dimensions and back, the one that loses least: the mean of the squared distances
    between points and what comes back is what the variances left out add up to. Exact recovery, if the
    data lie in a d-plane. The same as :class:`ClassicalScaling` of Euclidean distances.

    Axes are exact for any shape: data are taken in blocks, and reduced by orthogonal transformations to no
    more rows than there are columns. Neither an n x n matrix nor squares of the data are formed.
    Cost: O(n q min(n, q)).

    Parameters
    ----------
    n_components : int, default 2
        Dimension d of the embedding: at most the dimension of the data, and the number of points.
    verbose : int, default 0
        1 shows a line for each stage on standard error.
    callback : callable, optional
        Called as ``callback(stage, done, total, best)``. When it returns True the fit stops with
        :class:`unbend.Stopped`.
    max_memory : float, optional
        The bytes that a fit may need; by default what the machine has available.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, d)
        The data along the axes, about their mean, in units of the data.
    components_ : ndarray of shape (d, q)
        The axes, orthonormal, that of most variance first. The largest entry of each is positive.
    mean_ : ndarray of shape (q,)
        Of the data.
    singular_values_ : ndarray of shape (min(n, q),)
        Of the centred data, all of them.
    explained_variance_ : ndarray of shape (d,)
        Along each axis, with n - 1 in the denominator.
    explained_variance_ratio_ : ndarray of shape (d,)
        The same as shares of the whole.
    correlations_ : ndarray of shape (q, d)
        Of each variable with each component. Row by row points of the unit ball: near its surface is what
        the embedding shows completely. 0 for a variable that is constant.
    timings_ : dict of float
        Seconds of every stage.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> t, s = np.random.default_rng(0).normal(size=(2, 500))
    >>> pca = ub.PCA(n_components=2).fit(np.c_[t, t + 0.1 * s, -t, s])
    >>> pca.explained_variance_ratio_.round(2).tolist()
    [0.78, 0.22]
    >>> np.abs(pca.correlations_[2]).round(1).tolist()
    [1.0, 0.0]
    """

    mean_: Array
    singular_values_: Array
    explained_variance_: Array
    explained_variance_ratio_: Array
    correlations_: Array

    def __init__(
        self,
        n_components: int = 2,
        *,
        verbose: int = 0,
        callback: Callback | None = None,
        max_memory: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.verbose = verbose
        self.callback = callback
        self.max_memory = max_memory

    def plot_circle(
        self, ax: Axes | None = None, *, components: tuple[int, int] = (0, 1), names: Any = None
    ) -> Axes:
        """Draw the correlation circle: every variable as an arrow to its correlations with two components.

        Arrows that reach the circle are variables which these two components show completely; those in one
        direction rise together, opposite ones against each other, and at right angles they are
        uncorrelated, as far as the plane shows them.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        components : pair of int, default (0, 1)
            Which components span the plane.
        names : sequence of str, optional
            Of the variables; by default those of the data frame, or x0, x1, ...

        Returns
        -------
        Axes
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        across, up = (self._component(c) for c in components)
        labels = self._names(names)
        return _draw_circle(ax, self.correlations_[:, [across, up]], labels, self._axis_labels(across, up))

    def _component(self, c: int) -> int:
        d = len(self.components_)
        if not 0 <= c < d:
            raise ValueError(f"component {c} is out of range: there are {d}, from 0 to {d - 1}")
        return c

    def _names(self, names: Any) -> list[str]:
        q = self.n_features_in_
        if names is None:
            names = getattr(self, "feature_names_in_", [f"x{a}" for a in range(q)])
        if len(names) != q:
            raise ValueError(f"there are {len(names)} names, but {q} variables")
        return [str(name) for name in names]

    def _axis_labels(self, *components: int) -> list[str]:
        return [f"component {c} ({self.explained_variance_ratio_[c]:.1%})" for c in components]

    def _check_size(self, n: int, q: int) -> None:
        super()._check_size(n, q)
        if self.n_components > n:
            raise ValueError(f"n_components = {self.n_components} needs as many points, got n_samples = {n}")

    def _learn(self, x: Matrix, watch: Progress) -> None:
        d = self.n_components
        axes = principal_axes(x, watch)
        self.mean_, self.components_ = axes.mean, axes.directions[:d].copy()
        self.singular_values_ = axes.lengths
        variances = axes.lengths**2 / (len(x) - 1)
        self.explained_variance_ = variances[:d]
        total = variances.sum()
        self.explained_variance_ratio_ = variances[:d] / (total if total > 0 else 1.0)
        self.correlations_ = _correlations(axes, d)
        with watch.stage("projection", len(x)):
            self.embedding_ = self._map(x)

    def _map(self, x: Matrix) -> Array:
        return project(x, self.mean_, self.components_)

    def _back(self, y: Array) -> Array:
        found: Array = y @ self.components_ + self.mean_
        return found

    def _estimate(self, n: int, q: int, itemsize: int) -> memory.LinearPlan:
        return axes_plan(n, q, as_count(self.n_components, "n_components"))

    def _in_words(self) -> str:
        return f"principal components ({self.explained_variance_ratio_.sum():.1%} of the variance)"

    def _record(self) -> dict[str, Any]:
        return {
            "explained_variance": self.explained_variance_.tolist(),
            "explained_variance_ratio": self.explained_variance_ratio_.tolist(),
        }


class RandomProjection(_Linear):
    """Random projection (Johnson & Lindenstrauss 1984): fewer dimensions, distances nearly kept.

    A matrix of independent entries maps the data. With d >= 16 / eps^2 log(n / sqrt(t)) rows, with
    probability 1 - t all squared distances between n points are kept up to a share of eps: whatever the
    points, and whatever their dimension. It sees nothing of the data; where they lie near a plane,
    :class:`PCA` does better.

    Parameters
    ----------
    n_components : int or "auto", default "auto"
        Dimension d of the embedding; "auto" is what the lemma asks for. Where that is not less than the
        dimension of the data, they are left as they are, and a :class:`DistortionWarning` says so.
    eps : float, default 0.1
        By which share squared distances may change; between 0 and 1.
    kind : {"gaussian", "sparse"}
        Normal entries, or entries of which two thirds are 0 and the others one number with either sign
        (Achlioptas 2003): a third of the memory and time.
    failure : float, default 0.05
        The probability t that some distance changes by more all the same.
    random_state : int, Generator or RandomState, optional
        Where the entries, and the pairs that are looked at, are drawn from.
    verbose : int, default 0
        1 shows a line for each stage on standard error.
    callback : callable, optional
        Called as ``callback(stage, done, total, best)``. When it returns True the fit stops with
        :class:`unbend.Stopped`.
    max_memory : float, optional
        The bytes that a fit may need; by default what the machine has available.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, d)
        The images of the data.
    components_ : ndarray or csr_array of shape (d, q)
        The map.
    n_components_ : int
        The dimension d.
    distortion_ : float
        The largest factor by which a distance was stretched or shrunk, among the pairs looked at: all of
        them up to 10,000, else so many at random. At least 1, and 1 is perfect. Below
        1 / sqrt(1 - eps), if the lemma holds.
    distortion_share_ : float
        The share of these pairs whose squared distance changed by a share of more than eps.
    timings_ : dict of float
        Seconds of every stage.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X = np.random.default_rng(0).normal(size=(100, 5000))
    >>> projection = ub.RandomProjection(eps=0.3, random_state=0).fit(X)
    >>> projection.n_components_, bool(projection.distortion_ < 1 / np.sqrt(1 - 0.3))
    (1085, True)
    """

    n_components: int | Literal["auto"]
    n_components_: int
    components_: Array | csr_array
    distortion_: float
    distortion_share_: float

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
        self.n_components = n_components
        self.eps = eps
        self.kind = kind
        self.failure = failure
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback
        self.max_memory = max_memory

    def _check_parameters(self) -> None:
        if not (isinstance(self.n_components, str) and self.n_components == "auto"):
            as_count(self.n_components, "n_components")
        check_choice(self.kind, "kind", KINDS)
        for name in ("eps", "failure"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(
                    f"{name} = {getattr(self, name)} is out of range: it must be between 0 and 1"
                )

    def _check_size(self, n: int, q: int) -> None:
        if self.n_components != "auto":
            super()._check_size(n, q)

    def _dimension(self, n: int, q: int) -> int:
        if isinstance(self.n_components, str):
            return min(q, self._asked_for(n))
        return as_count(self.n_components, "n_components")

    def _asked_for(self, n: int) -> int:
        """Return the dimension of the lemma."""
        return math.ceil(16 / self.eps**2 * (math.log(n) - math.log(self.failure) / 2))

    def _learn(self, x: Matrix, watch: Progress) -> None:
        n, q = x.shape
        self.n_components_ = d = self._dimension(n, q)
        rng = stream(self.random_state, "projection")
        kept = self.n_components == "auto" and d == q
        self.components_ = _identity(q) if kept else _drawn(self.kind, d, q, rng)
        with watch.stage("projection", n):
            self.embedding_ = self._map(x)
        with watch.stage("distortion"):
            self.distortion_, self.distortion_share_ = self._distortion(x, rng)
        if kept and self._asked_for(n) >= q:
            warnings.warn(
                f"eps = {self.eps} and {n:,} points need {self._asked_for(n):,} dimensions, but the data "
                f"have {q:,}: they are left as they are",
                DistortionWarning,
                stacklevel=4,
            )
        elif self.distortion_share_ > 0:
            self._warn_of_distortion()

    def _distortion(self, x: Matrix, rng: np.random.Generator) -> tuple[float, float]:
        before, after = _pair_lengths(x, self.embedding_, rng)
        apart = before > 0
        if not apart.any():
            return 1.0, 0.0
        ratios = after[apart] / before[apart]
        with np.errstate(divide="ignore"):
            worst = float(np.maximum(ratios, 1 / ratios).max())
        return worst, float((np.abs(ratios**2 - 1) > self.eps).mean())

    def _warn_of_distortion(self) -> None:
        warnings.warn(
            f"{self.distortion_share_:.2%} of the squared distances changed by a share of more than "
            f"eps = {self.eps}, the worst distance by a factor of {self.distortion_:.3g}: "
            f"{self.n_components_:,} dimensions are too few for that, the lemma asks for "
            f"{self._asked_for(len(self.embedding_)):,}",
            DistortionWarning,
            stacklevel=5,
        )

    def _map(self, x: Matrix) -> Array:
        mapped = [block @ self.components_.T for block in blocks(x)]
        return np.ascontiguousarray(np.concatenate(mapped), dtype=np.float64)

    def _back(self, y: Array) -> Array:
        from scipy.linalg import pinvh

        products = self.components_ @ self.components_.T
        dense = products if isinstance(products, np.ndarray) else products.toarray()
        found: Array = (y @ pinvh(dense)) @ self.components_
        return found

    def _estimate(self, n: int, q: int, itemsize: int) -> memory.LinearPlan:
        d = self._dimension(n, q)
        return memory.LinearPlan(n=n, q=q, d=d, square=0, copied=min(n * q, AT_ONCE + q))

    def _in_words(self) -> str:
        return f"random projection ({self.kind}, distortion {self.distortion_:.3g})"

    def _record(self) -> dict[str, Any]:
        return {"distortion": self.distortion_, "distortion_share": self.distortion_share_}


# Axes ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PrincipalAxes:
    """The axes of a cloud: its mean, directions one a row, singular values, and the norms of its columns."""

    mean: Array
    directions: Array
    lengths: Array
    norms: Array


def principal_axes(x: Matrix, watch: Progress | None = None) -> PrincipalAxes:
    """Find the axes of checked points: the singular value decomposition of the centred data.

    Long data are reduced block by block to a triangle of as many rows as columns (TSQR), which has the same
    singular values and right vectors; wide data are decomposed as they are.

    Examples
    --------
    >>> import numpy as np
    >>> axes = principal_axes(np.array([[0.0, 1.0], [4.0, 1.0]]))
    >>> axes.mean.tolist(), axes.lengths.round(3).tolist()
    ([2.0, 1.0], [2.828, 0.0])
    """
    from scipy.linalg import svd

    n, q = x.shape
    with nullcontext() if watch is None else watch.stage("axes", n):
        mean = _mean(x)
        reduced = _reduced(x, mean, watch) if n > q else x - mean
        norms = np.linalg.norm(reduced, axis=0)
        _, lengths, directions = svd(reduced, full_matrices=False, overwrite_a=True, check_finite=False)
    largest = np.abs(directions).argmax(axis=1)
    directions *= np.where(directions[np.arange(len(directions)), largest] < 0, -1.0, 1.0)[:, None]
    # What rounding leaves of a constant column is no variance.
    rounding = 8 * np.finfo(np.float64).eps * np.sqrt(n) * np.abs(mean)
    return PrincipalAxes(mean, directions, lengths, np.where(norms > rounding, norms, 0.0))


def axes_plan(n: int, q: int, d: int) -> memory.LinearPlan:
    """Return what finding the axes, and projecting on them, holds in memory."""
    block = min(n * q, AT_ONCE + q * q)
    return memory.LinearPlan(n=n, q=q, d=d, square=min(n, q) * q, copied=block)


def project(x: Matrix, mean: Array, directions: Array) -> Array:
    """Return points along directions, one a row, from the mean."""
    along: Array = np.concatenate([(block - mean) @ directions.T for block in blocks(x)])
    return np.ascontiguousarray(along)


def blocks(x: Matrix, least: int = 1) -> Iterator[Array]:
    """Yield the points in blocks of double precision."""
    size = max(least, AT_ONCE // x.shape[1], 1)
    for start in range(0, len(x), size):
        yield np.asarray(x[start : start + size], dtype=np.float64)


def _mean(x: Matrix) -> Array:
    """Return the mean, found again from the differences to the first: exact for points that coincide."""
    first = np.asarray(x[0], dtype=np.float64)
    total = np.zeros(x.shape[1])
    for block in blocks(x):
        total += (block - first).sum(axis=0)
    return np.asarray(first + total / len(x))


def _reduced(x: Matrix, mean: Array, watch: Progress | None) -> Array:
    q, done = x.shape[1], 0
    triangle = np.zeros((0, q))
    for block in blocks(x, least=q):
        triangle = np.asarray(np.linalg.qr(np.concatenate([triangle, block - mean]), mode="r"))
        done += len(block)
        if watch is not None and watch.report("axes", done, len(x)):
            raise _stop()
    return triangle


def _stop() -> Exception:
    from .. import _core

    return _core.Stopped()


def _correlations(axes: PrincipalAxes, d: int) -> Array:
    """Return <X^(k), Y^(l)> / (|X^(k)| |Y^(l)|): axes times their singular values, over norms of columns."""
    along = axes.directions[:d].T * axes.lengths[:d]
    norms = axes.norms[:, None]
    return np.asarray(np.divide(along, norms, out=np.zeros_like(along), where=norms > 0).clip(-1, 1))


def _label_heights(tips: Array) -> Array:
    """Return how high the names stand: beside the tips, but none on another on the same side."""
    heights = tips[:, 1].copy()
    for side in (tips[:, 0] >= 0, tips[:, 0] < 0):
        own = np.flatnonzero(side)[np.argsort(tips[side, 1], kind="stable")]
        for below, above in pairwise(own):
            heights[above] = max(heights[above], heights[below] + LABEL_HEIGHT)
    return heights


def _draw_circle(ax: Axes | None, tips: Array, names: list[str], labels: list[str]) -> Axes:
    try:
        import matplotlib.pyplot as plt
        from matplotlib.patches import Circle
    except ImportError as error:
        raise ImportError("a plot needs matplotlib: pip install 'unbend[plot]'") from error
    if ax is None:
        _, ax = plt.subplots(figsize=(6, 5), layout="constrained")
    ax.add_patch(Circle((0, 0), 1, fill=False, color="0.4"))
    ax.axhline(0, color="0.85", linewidth=0.8, zorder=0)
    ax.axvline(0, color="0.85", linewidth=0.8, zorder=0)
    for (right, up), height, name in zip(tips, _label_heights(tips), names, strict=True):
        arrow = {"arrowstyle": "-|>", "color": "C0", "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", (right, up), (0, 0), arrowprops=arrow)
        side = 1 if right >= 0 else -1
        ax.text(right + 0.04 * side, height, name, ha="left" if side > 0 else "right", va="center")
    ax.set(xlim=(-1.6, 1.6), ylim=(-1.25, 1.25), aspect="equal", xlabel=labels[0], ylabel=labels[1])
    return ax


# Projections -----------------------------------------------------------------------------------------------


def _drawn(kind: Kind, d: int, q: int, rng: np.random.Generator) -> Array | csr_array:
    if kind == "gaussian":
        return np.asarray(rng.normal(scale=1 / math.sqrt(d), size=(d, q)))
    from scipy.sparse import csr_array

    size = math.sqrt(SPARSITY / d)
    counts = rng.binomial(q, 1 / SPARSITY, size=d)
    columns = [np.sort(rng.choice(q, size=count, replace=False)) for count in counts]
    signs = rng.choice([-size, size], size=int(counts.sum()))
    starts = np.concatenate([[0], np.cumsum(counts)])
    return csr_array((signs, np.concatenate(columns), starts), shape=(d, q))


def _identity(q: int) -> csr_array:
    from scipy.sparse import csr_array

    return csr_array((np.ones(q), np.arange(q), np.arange(q + 1)), shape=(q, q))


def _pair_lengths(x: Matrix, y: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return the distances of the same pairs before and after."""
    n = len(x)
    if n * (n - 1) // 2 <= PAIRS:
        left, right = np.triu_indices(n, 1)
    else:
        left = rng.integers(n, size=PAIRS)
        right = (left + rng.integers(1, n, size=PAIRS)) % n
    size = max(1, AT_ONCE // x.shape[1])
    parts = [slice(start, start + size) for start in range(0, len(left), size)]
    return _lengths(x, left, right, parts), _lengths(y, left, right, parts)


def _lengths(
    x: Matrix, left: npt.NDArray[np.int64], right: npt.NDArray[np.int64], parts: list[slice]
) -> Array:
    apart = [_apart(x[left[part]], x[right[part]]) for part in parts]
    return np.concatenate(apart)


def _apart(a: Matrix, b: Matrix) -> Array:
    return np.asarray(np.linalg.norm(np.subtract(a, b, dtype=np.float64), axis=1))
