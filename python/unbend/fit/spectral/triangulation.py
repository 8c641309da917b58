"""New points in an embedding by geodesic distances: placed by their distances to the landmarks."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ...graph.neighbors import Neighborhoods
from ..problem import Array, Indices
from .isomap import DISTANCES_AT_ONCE, Paths
from .scaling import mismatch

__all__ = ["Triangulation"]


@dataclass(frozen=True, eq=False)
class Triangulation:
    """Values that place new points: the graph of the fitted points with its paths, and the result of Isomap."""

    paths: Paths = field(repr=False)
    neighborhoods: Neighborhoods
    embedding: Array = field(repr=False)
    landmarks: Indices = field(repr=False)
    landmark_distances: npt.NDArray[np.float32] | None = field(repr=False)
    mean_squares: Array = field(repr=False)
    axes: Array = field(repr=False)
    offsets: Array = field(repr=False)
    spread: Array | None = field(repr=False)
    radius: float | None

    def place(self, lists: Indices, lengths: Array) -> tuple[Array, Array]:
        """Return the images of new points from their neighbors, nearest first, and the error of each.

        A point is joined to its neighbors in the component of the nearest, and reaches all others through them.
        """
        lengths = self._joined(lists, lengths)
        width = len(self.neighborhoods) if self.landmark_distances is None else len(self.landmarks)
        size = max(1, DISTANCES_AT_ONCE // width)
        placed, errors = np.empty((len(lists), self.axes.shape[1])), np.empty(len(lists))
        for start in range(0, len(lists), size):
            part = slice(start, start + size)
            along = self._reached(lists[part], lengths[part])
            labels = self.neighborhoods.component_labels[lists[part, 0]]
            placed[part], errors[part] = self._triangulated(along, labels, self.paths.unit())
        known = lengths[:, 0] == 0
        placed[known], errors[known] = self.embedding[lists[known, 0]], 0.0
        return placed, errors

    def _joined(self, lists: Indices, lengths: Array) -> Array:
        """Return how far the points are that new ones are joined to: infinitely, if not joined."""
        lengths = lengths.copy()
        if self.radius is not None:
            lengths[:, 1:][lengths[:, 1:] > self.radius] = np.inf
        if self.neighborhoods.component_labels.any():
            labels = self.neighborhoods.component_labels[lists]
            lengths[labels != labels[:, :1]] = np.inf
        if self.spread is not None:
            own = np.nanmean(np.where(np.isfinite(lengths), lengths, np.nan), axis=1, keepdims=True)
            lengths = lengths / np.sqrt(np.where(own > 0, own, 1.0) * self.spread[lists])
        return lengths

    def _reached(self, lists: Indices, lengths: Array) -> Array:
        """Return the distances along the graph to all landmarks, in units."""
        table = self.landmark_distances
        if table is None:
            flat = self.paths.distances_to_new(
                lists.ravel(), np.ascontiguousarray(lengths).ravel(), lists.shape[1]
            )
            return flat.reshape(len(lists), -1)
        along = np.full((len(self.landmarks), len(lists)), np.inf)
        for column, far in zip(lists.T, lengths.T / self.paths.unit(), strict=True):
            np.minimum(along, table[:, column] + far, out=along)
        return np.ascontiguousarray(along.T)

    def _triangulated(self, along: Array, labels: Indices, unit: float) -> tuple[Array, Array]:
        placed, errors = np.empty((len(along), self.axes.shape[1])), np.empty(len(along))
        where = self.neighborhoods.component_labels[self.landmarks]
        for component in np.unique(labels):
            rows, own = np.flatnonzero(labels == component), where == component
            far = along[np.ix_(rows, own)]
            placed[rows] = (self.mean_squares[own] - far**2) @ self.axes[own] + self.offsets[component]
            errors[rows] = mismatch(unit * far, placed[rows], self.embedding[self.landmarks[own]])
        return placed, errors
