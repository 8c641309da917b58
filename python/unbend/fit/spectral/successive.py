"""Successive one-dimensional Laplacian eigenmaps (Gerber, Tasdizen & Whitaker 2007).

Laplacian eigenmaps of a long surface find one direction several times, as harmonics of each other. Here every
coordinate is the first eigenvector of a graph of its own: after each, the points are advected along its gradient
to its middle, so that the surface has lost that dimension when the next one is sought. This follows the idea of
the paper with steps of our own; there is no proof of consistency. Cost: that of a 1-dimensional eigenmap and of
some hundred searches for neighbors, for each coordinate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ... import _core
from ...core.arrays import thread_count
from ...core.progress import Progress
from ...graph.neighbors import Neighborhoods
from ...graph.neighbors import neighborhoods as neighborhoods_of
from ..embedding import Embedding
from ..problem import Array, Problem
from .eigenvectors import smallest_eigenvectors
from .normalized import side_by_side

__all__ = ["MAX_NEIGHBORS", "SuccessiveEmbedding", "SuccessiveSettings", "advected"]

MAX_STEPS = 400
"""Number of advection steps at most for one coordinate."""

STEP = 0.5
"""Length of an advection step at most, in distances to the last point of the linear fit."""

MAX_NEIGHBORS = 200
"""Number of neighbors of an advected point at most."""

FITTED_NEIGHBORHOODS = 4
"""A linear fit takes this many times the neighbors of the graph: fits to fewer follow noise."""

CLOSE = 0.01
"""Points stop when their share of points below them is within this of one half."""


@dataclass(frozen=True, eq=False)
class SuccessiveEmbedding(Embedding):
    """One-dimensional eigenmaps of the data, and of the data without the dimensions found before.

    Attributes
    ----------
    eigenvalues : ndarray of shape (d,)
        The first eigenvalue of each graph, for the largest component.
    """

    eigenvalues: Array

    def laid_out(self, problem: Problem) -> SuccessiveEmbedding:
        """Return the embedding with its components side by side; coordinates are not mixed."""
        return replace(self, embedding=side_by_side(self.embedding, problem))


@dataclass(frozen=True)
class SuccessiveSettings:
    """The parameters of successive eigenmaps; see :class:`unbend.SuccessiveEigenmaps`."""

    max_memory: float | None = None

    renumbers = False

    def embed(self, problem: Problem, progress: Progress) -> SuccessiveEmbedding:
        """Find the coordinates of every component, one after the other."""
        n, d = len(problem), problem.n_components
        embedding, eigenvalues = np.zeros((n, d)), np.zeros(d)
        traces: list[dict[str, Any]] = []
        for points in sorted(problem.components, key=len, reverse=True):
            part = problem if len(points) == n else problem.part(points)
            found, values, trace = self._component(part, progress)
            embedding[points] = found
            eigenvalues = eigenvalues if traces else values
            traces.append(trace)
        return SuccessiveEmbedding(embedding, trace={"components": traces}, eigenvalues=eigenvalues)

    def _component(self, problem: Problem, progress: Progress) -> tuple[Array, Array, dict[str, Any]]:
        """Return the coordinates of one component, their eigenvalues, and the record of the fit."""
        n, d = len(problem), problem.n_components
        found, values = np.zeros((n, d)), np.zeros(d)
        trace: dict[str, Any] = {"steps": [], "n_neighbors": []}
        points, graph = np.asarray(problem.points, dtype=np.float64), problem.neighborhoods
        reach = problem.core.spacing(progress.progress)
        if n < 2 or not np.ptp(points, axis=0).any():
            return found, values, trace
        for p in range(d):
            with progress.stage("eigenvectors"):
                found[:, p], values[p] = _first_eigenvector(
                    points, graph, problem.n_jobs, self.max_memory, progress
                )
            trace["n_neighbors"].append(graph.typical_size)
            if p + 1 == d:
                break
            with progress.stage("advection"):
                points, steps = advected(points, found[:, p], graph, d - p, problem.n_jobs, progress)
            trace["steps"].append(steps)
            graph = _graph_of(points, reach, graph.typical_size, problem.n_jobs)
        return found, values, trace


def _first_eigenvector(
    points: Array, graph: Neighborhoods, n_jobs: int | None, max_memory: float | None, progress: Progress
) -> tuple[Array, float]:
    """Return the 1-dimensional Laplacian eigenmap of a connected graph, of variance 1, and its eigenvalue."""
    weights = _core.LocalWeights.lem(
        points, graph.core, "window", None, thread_count(n_jobs), progress.progress
    )
    indptr, indices, data = weights.matrix(progress.progress)
    degrees = weights.degrees(True)
    matrix = csr_array((data, indices.view(np.int32), indptr), shape=(len(points), len(points)))
    spectrum = smallest_eigenvectors(
        matrix, 1, degrees=degrees, max_memory=max_memory, n_jobs=n_jobs, progress=progress.progress
    )
    return spectrum.vectors[:, 0] * np.sqrt(degrees.sum()), float(spectrum.values[0])


def _graph_of(points: Array, reach: float, k: int, n_jobs: int | None) -> Neighborhoods:
    """Return the graph of advected points with neighborhoods as wide as before, or wider until it is connected.

    Points that have lost a dimension lie dense in the others: their k nearest would not reach beyond the noise of
    the advection.
    """
    most = min(MAX_NEIGHBORS, len(points) - 1)
    graph = neighborhoods_of(points, most, n_jobs=n_jobs)
    counts = (np.asarray(graph.distances).reshape(-1, most) <= reach).sum(axis=1)
    k = min(most, max(k, int(np.median(counts))))
    while graph.nearest(k).n_connected_components > 1 and k < most:
        k = min(2 * k, most)
    return graph.nearest(k)


def advected(
    points: Array, function: Array, graph: Neighborhoods, dim: int, n_jobs: int | None, progress: Progress
) -> tuple[Array, int]:
    """Move points along a surface to the median of a function, and return them and the number of steps.

    The function is replaced by the share of points below each, which rises evenly along the surface up to its
    ends. In each step a point moves along the gradient of a linear fit to its nearest points of the surface, as
    it was at first, and onto their plane.
    """
    n = len(points)
    share = (np.argsort(np.argsort(function, kind="stable"), kind="stable") + 0.5) / n
    k = min(FITTED_NEIGHBORHOODS * max(graph.typical_size, dim + 1), n)
    moved, active, steps = points.copy(), np.arange(n), 0
    while len(active) and steps < MAX_STEPS:
        if progress.report("advection", steps, MAX_STEPS):
            raise _core.Stopped
        lists, far = _core.query(points, moved[active], k, "auto", thread_count(n_jobs))
        members, reach = lists.reshape(-1, k).astype(np.intp), far.reshape(-1, k)[:, -1]
        here, gradient, level = _linear_fit(points[members], share[members], moved[active], dim)
        missing = 0.5 - level
        squared = (gradient**2).sum(axis=1)
        move = gradient * (missing / np.where(squared > 0, squared, 1.0))[:, None]
        size = np.linalg.norm(move, axis=1)
        move *= np.minimum(1.0, STEP * reach / np.where(size > 0, size, 1.0))[:, None]
        going = (np.abs(missing) > CLOSE) & (size > 0)
        moved[active] = here + move * going[:, None]
        active, steps = active[going], steps + 1
    return moved, steps


def _linear_fit(surface: Array, values: Array, points: Array, dim: int) -> tuple[Array, Array, Array]:
    """Return points on the planes of their neighborhoods, and the gradient and the value of a linear fit there."""
    mean, level = surface.mean(axis=1), values.mean(axis=1)
    centered = surface - mean[:, None]
    axes = np.linalg.svd(centered, full_matrices=False)[2][:, :dim]
    flat = centered @ axes.transpose(0, 2, 1)
    slopes = np.linalg.pinv(flat, rcond=1e-6) @ (values - level[:, None])[:, :, None]
    where = np.einsum("ndq,nq->nd", axes, points - mean)
    here = mean + np.einsum("ndq,nd->nq", axes, where)
    return here, np.einsum("ndq,nd->nq", axes, slopes[:, :, 0]), level + (slopes[:, :, 0] * where).sum(axis=1)
