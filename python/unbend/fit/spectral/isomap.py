"""Isomap (Tenenbaum, de Silva & Langford 2000): classical scaling of geodesic distances."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ... import _core
from ...core import memory
from ...core.progress import Progress
from ...core.random import RandomState, stream
from ..embedding import Embedding
from ..problem import Array, Indices, Problem
from .paths import ListedPaths, ListedProblem, spread_of
from .scaling import Scaled, draw_landmarks, scale

__all__ = ["DISTANCES_AT_ONCE", "IsomapEmbedding", "IsomapSettings", "Paths"]

Paths = _core.Paths | ListedPaths

MIN_LANDMARKS, LANDMARKS_PER_DIMENSION = 200, 20
"""The number of landmarks that "auto" takes: at least the first, and at least the second for each dimension."""

DISTANCES_AT_ONCE = 2**23
"""Number of distances to landmarks that are held at a time while points are placed."""

COMPARED_POINTS = 10_000
"""Number of points of a component whose distances from landmarks are compared with the embedding."""


@dataclass(frozen=True, eq=False)
class IsomapEmbedding(Embedding):
    """An embedding by geodesic distances, and what places new points in it.

    Attributes
    ----------
    landmarks : ndarray of uint32
        The points that paths were found from, in rising order.
    landmark_distances : ndarray of float32, shape (l, n), or None
        Geodesic distances from the landmarks, in units of the longest edge; None if all points are landmarks.
    mean_squares : ndarray of shape (l,)
        Mean squared distance from each landmark.
    axes : ndarray of shape (l, d)
        The map from squared distances, less their means, to coordinates.
    offsets : ndarray of shape (c, d)
        The center of each component.
    spread : ndarray of shape (n,) or None
        Mean distance to the neighbors of each point, if the scaling is conformal.
    residual_variance, reconstruction_error : float
        Errors of the distances in the embedding, compared with geodesic distances.
    """

    landmarks: Indices = field(repr=False)
    landmark_distances: npt.NDArray[np.float32] | None = field(repr=False)
    mean_squares: Array = field(repr=False)
    axes: Array = field(repr=False)
    offsets: Array = field(repr=False)
    spread: Array | None = field(repr=False)
    residual_variance: float
    reconstruction_error: float

    def laid_out(self, problem: Problem) -> IsomapEmbedding:
        """Return the embedding with its components side by side; the axes follow them."""
        found = super().laid_out(problem)
        axes, offsets = self.axes.copy(), np.zeros((len(problem.components), problem.n_components))
        where = problem.component_labels[self.landmarks]
        for component, points in enumerate(problem.components):
            rotation, offsets[component] = _motion(self.embedding[points], found.embedding[points])
            own = where == component
            axes[own] = axes[own] @ rotation
        return replace(found, axes=axes, offsets=offsets)


@dataclass(frozen=True)
class IsomapSettings:
    """The parameters of Isomap; see :class:`unbend.Isomap`."""

    n_landmarks: int | Literal["auto"] | None = None
    conformal: bool = False
    random_state: RandomState = None
    max_memory: float | None = None

    renumbers = False

    def embed(self, problem: Problem | ListedProblem, progress: Progress) -> IsomapEmbedding:
        """Find geodesic distances, and scale those of every component."""
        n = len(problem)
        landmarks = self._drawn(problem)
        with progress.stage("paths", len(landmarks)):
            paths, spread = self._paths(problem)
            distances = None
            if len(landmarks) < n:
                # Every component has enough landmarks, which may be more than were asked for.
                memory.check(4 * len(landmarks) * n, self.max_memory)
                distances = paths.distances_from(landmarks, progress=progress.progress).reshape(-1, n)
        task = _Task(problem, paths, landmarks, distances, progress)
        embedding = task.embed()
        residual_variance, reconstruction_error = task.measures()
        return IsomapEmbedding(
            embedding,
            trace={"components": task.trace},
            landmarks=landmarks,
            landmark_distances=distances,
            mean_squares=task.means,
            axes=task.axes,
            offsets=np.zeros((len(problem.components), problem.n_components)),
            spread=spread,
            residual_variance=residual_variance,
            reconstruction_error=reconstruction_error,
        )

    def _paths(self, problem: Problem | ListedProblem) -> tuple[Paths, Array | None]:
        """Return the shortest paths and, if conformal, the mean length of the edges of each point: its scale."""
        graph = problem.neighborhoods
        if isinstance(problem, ListedProblem):
            spread = spread_of(graph) if self.conformal else None
            return ListedPaths(graph, spread), spread
        points, threads = problem.checked, problem.threads
        spread = _core.spread(points, graph.core, threads) if self.conformal else None
        return _core.Paths(points, graph.core, spread, threads), spread

    def count(self, n: int, d: int) -> int:
        """Return the number of landmarks among `n` points in `d` dimensions."""
        if self.n_landmarks is None:
            return n
        if self.n_landmarks == "auto":
            return min(n, max(MIN_LANDMARKS, LANDMARKS_PER_DIMENSION * d))
        return min(n, self.n_landmarks)

    def _drawn(self, problem: Problem | ListedProblem) -> Indices:
        """Return landmarks of every component, in proportion to its points but enough for its dimensions."""
        n, d = len(problem), problem.n_components
        count = self.count(n, d)
        if count == n:
            return np.arange(n, dtype=np.uint32)
        rng = stream(self.random_state, "landmarks")
        sizes = np.bincount(problem.component_labels)
        shares = np.ceil(sizes * (count / n)).astype(int).clip(d + 1)
        drawn = [draw_landmarks(m, share, rng) for m, share in zip(problem.components, shares, strict=True)]
        return np.sort(np.concatenate(drawn))


class _Task:
    """The components of one problem, scaled one by one."""

    def __init__(
        self,
        problem: Problem | ListedProblem,
        paths: Paths,
        landmarks: Indices,
        distances: npt.NDArray[np.float32] | None,
        progress: Progress,
    ) -> None:
        self._problem, self._paths, self._progress = problem, paths, progress
        self._landmarks, self._distances = landmarks, distances
        self._unit, self._d = paths.unit(), problem.n_components
        self.means = np.zeros(len(landmarks))
        self.axes = np.zeros((len(landmarks), self._d))
        self.trace: list[dict[str, Any]] = []
        self._moments, self._missing, self._scaled = np.zeros(6), 0.0, 0

    def embed(self) -> Array:
        """Return all components, each about its own origin."""
        embedding = np.zeros((len(self._problem), self._d))
        for points in sorted(self._problem.components, key=len, reverse=True):
            if len(points) > 1:
                embedding[points] = self._component(points)
        return embedding

    def measures(self) -> tuple[float, float]:
        """Return the residual variance and the reconstruction error."""
        count, x, y, xx, yy, xy = self._moments
        if count == 0:
            return 0.0, 0.0
        spread_x, spread_y = xx - x * x / count, yy - y * y / count
        together = xy - x * y / count
        rounding = 1e-14
        flat = (spread_x <= rounding * xx, spread_y <= rounding * yy)
        rho2 = float(all(flat)) if any(flat) else min(1.0, together**2 / (spread_x * spread_y))
        return 1.0 - rho2, self._unit**2 * math.sqrt(max(0.0, self._missing)) / self._scaled

    def _component(self, points: Indices) -> Array:
        return (
            self._whole(points) if self._distances is None else self._from_landmarks(self._distances, points)
        )

    def _whole(self, points: Indices) -> Array:
        """Scale all distances of a component."""
        n = len(points)
        with self._progress.stage("paths"):
            triangle = self._paths.triangle(points, progress=self._progress.progress)
        with self._progress.stage("scaling"):

            def times(v: Array) -> Array:
                self._ask()
                return triangle.squares_times(v)

            scaled = scale(times, lambda: triangle.squares().reshape(n, n), n, self._d)
            moments = np.array(triangle.moments(scaled.coordinates))
        self._note(points, scaled, 2 * moments[6])
        self._moments += moments[:6]
        placed: Array = self._unit * scaled.coordinates
        return placed

    def _from_landmarks(self, table: npt.NDArray[np.float32], points: Indices) -> Array:
        """Scale the landmarks of a component, and place its points by them."""
        rows = np.flatnonzero(np.isin(self._landmarks, points))
        with self._progress.stage("scaling"):
            squares = np.square(table[np.ix_(rows, self._landmarks[rows])], dtype=np.float64)
            squares = (squares + squares.T) / 2  # the two directions along a path are rounded differently
            scaled = scale(squares.dot, lambda: squares, len(rows), self._d)
            placed = np.empty((len(points), self._d))
            size = max(1, DISTANCES_AT_ONCE // len(rows))
            for start in range(0, len(points), size):
                self._ask()
                part = slice(start, start + size)
                far = table[np.ix_(rows, points[part])]
                placed[part] = scaled.place(np.square(far.T, dtype=np.float64))
            self._compare(table, rows, points, placed, scaled)
        self._note(self._landmarks[rows], scaled, float((squares**2).sum()))
        return self._unit * placed

    def _compare(
        self,
        table: npt.NDArray[np.float32],
        rows: npt.NDArray[Any],
        points: Indices,
        placed: Array,
        scaled: Scaled,
    ) -> None:
        """Add up pairs of a landmark and one of some points."""
        some = slice(None, None, -(-len(points) // COMPARED_POINTS))
        chosen, shown = points[some], placed[some]
        for row, here in zip(rows, scaled.coordinates, strict=True):
            x, y = table[row, chosen].astype(np.float64), np.linalg.norm(shown - here, axis=1)
            self._moments += [len(x), x.sum(), y.sum(), x @ x, y @ y, x @ y]

    def _note(self, points: Indices, scaled: Scaled, fourth: float) -> None:
        """Keep what places new points, and the squared residual of the inner products."""
        n, own = len(points), np.searchsorted(self._landmarks, points)
        self.means[own] = scaled.means
        self.axes[own] = self._unit * scaled.axes
        sums = scaled.means * n
        whole = (fourth - 2 * (sums @ sums) / n + (sums.sum() / n) ** 2) / 4
        shown = (scaled.coordinates**2).sum(axis=0)
        self._missing += whole - shown @ shown
        self._scaled += n
        values = (self._unit**2 * scaled.eigenvalues).tolist()
        self.trace.append({"eigenvalues": values, "landmarks": n})

    def _ask(self) -> None:
        if self._progress.report("scaling", 0, 0):
            raise _core.Stopped


def _motion(before: Array, after: Array) -> tuple[Array, Array]:
    """Return the rotation and the offset that take one set of points to the other, which is a motion of it."""
    from scipy.linalg import svd

    mean = after.mean(axis=0)
    left, _, right = svd((before - before.mean(axis=0)).T @ (after - mean))
    rotation: Array = left @ right
    return rotation, mean - before.mean(axis=0) @ rotation
