"""Principal component analysis (Pearson 1901)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import svd
from sklearn.utils.validation import check_is_fitted

from ... import _core
from ...core.arrays import Matrix
from ...core.progress import Callback, Progress
from ...fit.spectral.scaling import signed
from ...plot.circle import draw_circle
from ..base import Array, estimator
from ..tables.attributes import LINEAR
from .base import LinearEstimator, blocks, project

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PCA"]


ATTRIBUTES = (
    *(*LINEAR, "components_", "mean_", "singular_values_"),
    *("explained_variance_", "explained_variance_ratio_", "correlations_"),
)


@estimator(ATTRIBUTES)
class PCA(LinearEstimator):
    """Principal component analysis (Pearson 1901): the linear subspace nearest to the data.

    Among all linear maps to d dimensions and back, PCA loses least: the mean squared distance between the
    points and their reconstruction is the sum of the variances that are left out. Data in a d-dimensional
    plane are recovered exactly. The result equals :class:`ClassicalScaling` of Euclidean distances.

    Compared with :class:`sklearn.decomposition.PCA`, the data are read in blocks, so they may be
    memory-mapped and larger than memory. Small variances keep their accuracy, because the blocks are reduced
    by orthogonal transformations and not multiplied with each other. Cost: O(n q min(n, q)).

    With `return_error`, `transform` also returns the distance of each point to its reconstruction, and
    `inverse_transform` the distance of its image to the requested embedding.

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

    def __init__(
        self,
        n_components: int = 2,
        *,
        verbose: int = 0,
        callback: Callback | None = None,
        max_memory: float | None = None,
    ) -> None:
        self._keep(locals())

    def plot_circle(
        self, ax: Axes | None = None, *, components: tuple[int, int] = (0, 1), names: Any = None
    ) -> Axes:
        """Draw the correlation circle: one arrow per variable, to its correlations with two components.

        An arrow that reaches the circle is a variable that these two components show completely. Arrows in
        the same direction are variables that rise together; of opposite arrows, one falls as the other
        rises. Variables at right angles are uncorrelated, as far as the plane shows them.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw in; a new figure by default.
        components : pair of int, default (0, 1)
            Indices of the components that span the plane.
        names : sequence of str, optional
            Names of the variables; by default those of the data frame, or x0, x1, ...

        Returns
        -------
        Axes
        """
        check_is_fitted(self)
        d, q = self.components_.shape
        for c in components:
            if not 0 <= c < d:
                raise ValueError(f"component {c} is out of range: there are {d}, from 0 to {d - 1}")
        if names is None:
            names = getattr(self, "feature_names_in_", [f"x{a}" for a in range(q)])
        if len(names) != q:
            raise ValueError(f"there are {len(names)} names, but {q} variables")
        tips = self.correlations_[:, list(components)]
        labels = [f"component {c} ({self.explained_variance_ratio_[c]:.1%})" for c in components]
        return draw_circle(ax, tips, [str(name) for name in names], labels)

    def _run(self, x: Matrix, progress: Progress) -> PrincipalComponents:
        return principal_components(x, self.n_components, progress)

    def _mean(self) -> Array | float:
        mean: Array = self.mean_
        return mean


@dataclass(frozen=True)
class PrincipalComponents:
    """Result of a principal component analysis; the fields are the attributes of :class:`PCA`."""

    mean: Array
    components: Array
    singular_values: Array
    explained_variance: Array
    explained_variance_ratio: Array
    correlations: Array
    embedding: Array


def principal_components(x: Matrix, d: int, progress: Progress) -> PrincipalComponents:
    """Return the first `d` principal components of checked points."""
    axes = principal_axes(x, progress)
    components = axes.directions[:d].copy()
    variances = axes.singular_values**2 / (len(x) - 1)
    shares = variances / (variances.sum() or 1.0)
    correlations = axes.correlations(d)
    with progress.stage("projection", len(x)):
        embedding = project(x, components, axes.mean)
    return PrincipalComponents(
        axes.mean, components, axes.singular_values, variances[:d], shares[:d], correlations, embedding
    )


@dataclass(frozen=True)
class PrincipalAxes:
    """Principal axes of a point cloud: one per row of `directions`, with its singular value."""

    mean: Array
    directions: Array
    singular_values: Array
    column_norms: Array

    def correlations(self, d: int) -> Array:
        """Return the correlation of each variable with each of the first `d` components."""
        products = self.directions[:d].T * self.singular_values[:d]
        norms = self.column_norms[:, None]
        return np.divide(products, norms, out=np.zeros_like(products), where=norms > 0).clip(-1, 1)


def principal_axes(x: Matrix, progress: Progress) -> PrincipalAxes:
    """Return the principal axes of checked points: the singular value decomposition of the centered data.

    Long data are first reduced block by block to a triangle with as many rows as columns (TSQR), which has
    the same singular values and right singular vectors.
    """
    n, q = x.shape
    with progress.stage("axes", n):
        # Differences to the first point are averaged, so that the mean of identical points is exact.
        first = np.asarray(x[0], dtype=np.float64)
        mean = np.asarray(first + sum((block - first).sum(axis=0) for block in blocks(x)) / n)
        reduced = _triangle(x, mean, progress) if n > q else x - mean
        norms = np.linalg.norm(reduced, axis=0)
        _, values, directions = svd(reduced, full_matrices=False, overwrite_a=True, check_finite=False)
    directions = signed(directions.T).T
    # A constant column has norm 0, but rounding of its mean leaves a small one.
    rounding = 8 * np.finfo(np.float64).eps * np.sqrt(n) * np.abs(mean)
    return PrincipalAxes(mean, directions, values, np.where(norms > rounding, norms, 0.0))


def _triangle(x: Matrix, mean: Array, progress: Progress) -> Array:
    """Return the triangular factor of the centered data, reduced block by block."""
    q, done = x.shape[1], 0
    triangle = np.zeros((0, q))
    for block in blocks(x, least=q):
        triangle = np.asarray(np.linalg.qr(np.concatenate([triangle, block - mean]), mode="r"))
        done += len(block)
        if progress.report("axes", done, len(x)):
            raise _core.Stopped
    return triangle
