"""Standard errors of coordinates, and intervals of distances in an embedding.

A parametric bootstrap: noise as large as that of the data is added to them, and eq. 9 and 11 are solved again.
The spread over such refits is that of an embedding about the truth, to first order in the noise. Curvature
shortens distances: charts are projections on tangents. To first order this error is proportional to the number
of neighbors, so a refit with more of them shows how large it is. It counts as a standard error: a correction
would be noisier.
Cost: some thirty fits without their search.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import as_points
from ..core.kinds import count, function, non_negative, seed, threads, verbosity
from ..core.notebook import Rows, as_html
from ..core.parameters import documented, entries, table
from ..core.progress import Callback, Progress, Stopped
from ..core.random import RandomState, generator
from ..fit.problem import Problem
from ..graph.cut import without
from ..graph.neighbors import Neighborhoods, resolve
from ..metrics.sampling import pair
from .noise import Array, noise_of
from .replicates import Refit, onto, widened

__all__ = ["Uncertainty", "uncertainty"]

WIDER = 1.5
"""Factor of the number of neighbors in the refit that shows the error of curvature."""

NOISE_WIDER = 2.0
"""Factor of the number of neighbors from which the noise is estimated: tangents of few points follow the noise."""

_TABLE = table(
    *entries(
        """
        source : fitted estimator, or array-like of shape (n, q)
            Fitted `ProcrustesAlignment`, `GreedyProcrustes` or another estimator with a graph; or the input
            data of the embedding `Y`.
        Y : array-like of shape (n, d)
            Embedding of the data, from any tool, if `source` is no estimator.
        n_neighbors : int
            Number of nearest neighbors per point, if `source` is no estimator; 12 by default.
        neighborhoods : Neighborhoods
            Neighborhoods of the data, if they are already computed. Those of a fitted estimator are known.
        n_replicates
            Number of refits with other noise. With 30, standard errors are themselves uncertain by an eighth;
            intervals allow for it.
        noise : float or array-like of shape (n,)
            Standard deviation of the noise in each column of the data, for all points or for each. By default
            it is estimated from what neighborhoods have off their surface. Give it if you know it, and if the
            data have no more columns than the embedding.
        random_state
            Seed or generator for the noise. With an int, each call gives the same result.
        n_jobs
            Number of threads; those of the estimator, or all cores, by default. The result does not depend on it.
        verbose
            1 prints one line for each stage to standard error, with its progress.
        callback
            Function of ``(stage, done, total, best)``. If it returns True, the call ends with `Stopped`.
        """,
        n_replicates=count(3),
        random_state=seed,
        n_jobs=threads,
        verbose=verbosity,
        callback=function,
    )
)


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Errors of the coordinates of an embedding, and of the distances in it.

    Three errors add up in squares: that by the noise of the data, from the spread of refits with other noise;
    that of the method, from how far the embedding is from a refit of the same data; and that by curvature,
    which shortens distances, from a refit with larger neighborhoods.

    Attributes
    ----------
    embedding : ndarray of shape (n, d)
        The embedding.
    covariance : ndarray of shape (n, d, d)
        Covariance of the coordinates of each point, after the best rotation and translation of each connected
        component: the shape of its ellipse.
    standard_error : ndarray of shape (n, d)
        Standard error of each coordinate: the roots of the diagonal of `covariance`.
    noise : ndarray of shape (n,)
        Standard deviation of the noise in each column of the data, at each point.
    n_replicates : int
        Number of refits with other noise.
    component_labels : ndarray of shape (n,)
        Connected component of each point. Distances between components mean nothing.
    replicates : ndarray of shape (n_replicates, n, d)
        The refits, moved onto the embedding.
    refit, wider_refit : ndarray of shape (n, d)
        Refits of the same data, with the same neighborhoods and with larger ones, moved onto the embedding.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(500, noise=0.2, random_state=0)
    >>> found = ub.uncertainty(ub.ProcrustesAlignment(random_state=0).fit(X), random_state=0)
    >>> low, high = found.distance_interval(3, 8)
    >>> bool(low < ((coordinates[3] - coordinates[8]) ** 2).sum() ** 0.5 < high)
    True
    """

    embedding: Array = field(repr=False)
    noise: Array = field(repr=False)
    component_labels: npt.NDArray[np.uint32] = field(repr=False)
    replicates: Array = field(repr=False)
    refit: Array = field(repr=False)
    wider_refit: Array = field(repr=False)

    @property
    def n_replicates(self) -> int:
        """Number of refits with other noise."""
        return len(self.replicates)

    @property
    def _curvature(self) -> Array:
        """Displacement of each point by curvature."""
        return (self.wider_refit - self.refit) / (WIDER - 1)

    @cached_property
    def covariance(self) -> Array:
        """Covariance of the coordinates of each point."""
        deviations = self.replicates - self.replicates.mean(axis=0)
        by_noise = np.einsum("rna,rnb->nab", deviations, deviations) / (self.n_replicates - 1)
        others = np.stack([self.embedding - self.refit, self._curvature])
        return np.asarray(by_noise + np.einsum("sna,snb->nab", others, others))

    @property
    def standard_error(self) -> Array:
        """Standard error of each coordinate."""
        return np.asarray(np.sqrt(np.einsum("naa->na", self.covariance)))

    def distance_error(self, i: Any, j: Any) -> Any:
        """Return the standard errors of the distances between points `i` and `j`: indices, or arrays of them."""
        i, j = self._pairs(i, j)
        shown, refitted, wider = (_distances(y, i, j) for y in (self.embedding, self.refit, self.wider_refit))
        curvature = (wider - refitted) / (WIDER - 1)
        by_noise = np.var([_distances(y, i, j) for y in self.replicates], axis=0, ddof=1)
        return np.sqrt(by_noise + (shown - refitted) ** 2 + curvature**2)

    def distance_interval(self, i: Any, j: Any, level: float = 0.95) -> tuple[Any, Any]:
        """Return the ends of the intervals that hold the true distances with probability `level`.

        Parameters
        ----------
        i, j : int or array-like of int
            Points, or as many points each.
        level : float, default 0.95
            Probability, above 0 and below 1.

        Returns
        -------
        low, high : float or ndarray
            Ends of the intervals.
        """
        from scipy.stats import t

        _check_level(level)
        half = float(t.ppf((1 + level) / 2, self.n_replicates - 1)) * self.distance_error(i, j)
        distance = _distances(self.embedding, *self._pairs(i, j))
        return np.maximum(distance - half, 0.0), distance + half

    def ellipse_scale(self, level: float = 0.95) -> float:
        """Return the half axes of the ellipse that holds a point with probability `level`, in standard errors."""
        from scipy.stats import f

        _check_level(level)
        d, r = self.embedding.shape[1], self.n_replicates
        if r <= d:
            raise ValueError(f"n_replicates = {r} is too few for ellipses: at least {d + 1} are needed")
        return float(np.sqrt(d * (r - 1) / (r - d) * f.ppf(level, d, r - d)))

    def _pairs(self, i: Any, j: Any) -> tuple[Any, Any]:
        """Return checked indices of points."""
        n, pairs = len(self.embedding), []
        for points in (i, j):
            index = np.asarray(points)
            if index.dtype.kind not in "iu":
                raise ValueError(f"points have dtype {index.dtype}: whole numbers are needed")
            if index.size and not (-n <= index.min() and index.max() < n):
                far = index.min() if index.min() < -n else index.max()
                raise ValueError(f"point {far} is out of range: there are {n} points")
            pairs.append(index)
        i, j = np.broadcast_arrays(*pairs)
        apart = self.component_labels[i] != self.component_labels[j]
        if apart.any():
            one, two = int(i[apart].flat[0]), int(j[apart].flat[0])
            raise ValueError(
                f"points {one} and {two} lie in different connected components, so their distance means nothing: "
                "give points of one component"
            )
        return i, j

    def __repr__(self) -> str:
        """Return the usual standard errors in one line."""
        n, d = self.embedding.shape
        return (
            f"Uncertainty({n:,} points in {d} dimensions, {self.n_replicates} replicates, noise "
            f"{np.median(self.noise):.3g}, standard error {np.median(self.standard_error):.3g})"
        )

    def _repr_html_(self) -> str:
        """Return a table of standard errors for a notebook."""
        errors = np.sqrt(np.einsum("naa->n", self.covariance))
        by_noise = np.sqrt(self.replicates.var(axis=0, ddof=1).sum(axis=1))
        by_method = np.linalg.norm(self.embedding - self.refit, axis=1)
        by_curvature = np.linalg.norm(self._curvature, axis=1)
        rows = [
            (name, *(f"{np.quantile(values, level):.3g}" for level in (0.5, 0.9, 1.0)))
            for name, values in (
                ("noise of the data, in each column", self.noise),
                ("standard error of a place", errors),
                ("of this by noise", by_noise),
                ("of this by the method", by_method),
                ("of this by curvature", by_curvature),
            )
        ]
        n, d = self.embedding.shape
        extent = f"{n:,} points in {d} dimensions, {self.n_replicates} refits with other noise."
        return as_html(extent, Rows(("", "median", "90 %", "largest"), rows, "<>>>"))


@documented(_TABLE)
def uncertainty(
    source: Any,
    Y: Any = None,
    n_neighbors: int | None = None,
    *,
    neighborhoods: Neighborhoods | None = None,
    n_replicates: int = 30,
    noise: Any = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    callback: Callback | None = None,
) -> Uncertainty:
    """Find how far the coordinates of an embedding, and the distances in it, may be off.

    The truth is the place of each point on the surface before noise moved it. Noise is taken to be independent
    from point to point and as large in all directions, across the surface and along it. Refits of the data with
    as much noise again show the spread. An embedding that is far from the solution of eq. 11, as that of UMAP is,
    gets standard errors as large as its distance from it.

    Returns
    -------
    Uncertainty
        Covariances of the coordinates, and intervals of distances.

    Raises
    ------
    ValueError
        If the noise cannot be estimated, because the data have no more columns than the embedding.
    Stopped
        If the callback asks for it.

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(1000, noise=0.2, random_state=0)
    >>> found = ub.uncertainty(ub.ProcrustesAlignment(random_state=0).fit(X), random_state=0)
    >>> bool(0.15 < found.noise.mean() < 0.25), found.covariance.shape
    (True, (1000, 2, 2))
    """
    for name, value in {"n_replicates": n_replicates, "callback": callback}.items():
        _TABLE[""][name].check(value)
    rng, progress = generator(random_state), Progress(verbose, callback)
    problem, y, tangents = _problem(source, Y, n_neighbors, neighborhoods, n_jobs)
    deviation = _given_noise(noise, problem)
    if deviation is None:
        with progress.stage("noise"):
            graph = widened(problem.points, problem.neighborhoods, NOISE_WIDER)
            deviation = noise_of(problem.points, graph, problem.n_components, rng)
    x, components = np.asarray(problem.points, dtype=np.float64), problem.components
    refit = Refit(problem, tangents)
    replicates = np.empty((n_replicates, *y.shape))
    with progress.stage("replicates", n_replicates):
        for place in range(n_replicates):
            replicate = refit.of(x + deviation[:, None] * rng.normal(size=x.shape))
            replicates[place] = onto(replicate, y, components)
            if progress.report("replicates", place + 1, n_replicates):
                raise Stopped("the callback stopped the replicates")
    with progress.stage("curvature"):
        same = onto(refit.of(x), y, components)
        wider = onto(refit.widened(WIDER).of(x), same, components)
    return Uncertainty(y, deviation, problem.component_labels, replicates, same, wider)


def _problem(
    source: Any, Y: Any, n_neighbors: int | None, graph: Neighborhoods | None, n_jobs: int | None
) -> tuple[Problem, Array, int | None]:
    """Return the problem of an embedding, the embedding, and from how many neighbors its tangents are."""
    if Y is None:
        lacking = [name for name in ("X_fit_", "embedding_", "neighborhoods_") if not hasattr(source, name)]
        if lacking:
            raise ValueError(
                f"{type(source).__name__} has no {lacking[0]}: give a fitted estimator with a graph, or X and Y"
            )
        if getattr(source, "metric", "euclidean") == "precomputed":
            raise ValueError("uncertainty needs points, but the estimator was fitted to distances only")
        if getattr(source, "objective", "R_N") == "R_C":
            raise ValueError(
                "uncertainty refits lengths, but the estimator has objective = 'R_C': pass X and Y"
            )
        x, y, graph = as_points(source.X_fit_), source.embedding_, source.neighborhoods_
        cut: Any = getattr(source, "cut_pairs_", ())
        graph = without(graph, cut)[0] if len(cut) else graph
        n_jobs = source.n_jobs if n_jobs is None else n_jobs
    else:
        x, y = pair(source, Y)
        graph = resolve(x, graph, n_neighbors, None, n_jobs)
    objective: Any = getattr(source, "objective", "R_N")
    own = bool(getattr(source, "include_self", True))
    problem = Problem(_core.Points(x), graph, y.shape[1], objective, n_jobs, own)
    wide: Any = getattr(source, "tangent_neighbors_", None)
    if wide is None:
        wide = problem.core.tangents(None, 0, choose=True).n_neighbors
    narrow = wide is None or wide <= graph.typical_size
    return problem, np.array(y, dtype=np.float64, order="C"), None if narrow else int(wide)


def _given_noise(noise: Any, problem: Problem) -> Array | None:
    """Return the noise of each point, if it is given; refuse data in which it cannot be estimated."""
    (n, q), d = problem.points.shape, problem.n_components
    if noise is None:
        if q <= d:
            raise ValueError(
                f"the data have {q} columns and the embedding {d}, so their noise cannot be estimated: give "
                "noise, its standard deviation in each column"
            )
        return None
    given = np.asarray(noise, dtype=np.float64)
    if given.shape not in ((), (n,)):
        raise ValueError(f"noise has shape {given.shape}: give one number, or {n}, one for each point")
    for value in (float(given.min()), float(given.max())):
        non_negative.test(value, "noise")
    return np.broadcast_to(given, (n,)).copy()


def _distances(y: Array, i: Any, j: Any) -> Any:
    return np.sqrt(((y[i] - y[j]) ** 2).sum(axis=-1))


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level = {level} is out of range: it must be above 0 and below 1")
