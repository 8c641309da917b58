"""New points carried from one space to another by the map that fits their neighbors."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import Matrix, as_points, thread_count

__all__ = ["Carrier"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.uint32]

# Two neighbors are on different sides of a cut if their images are this many times farther apart.
CUT_STRETCH = 2.5


@dataclass(frozen=True)
class Carrier:
    """Map that carries points by the motion, or the affine map, of their neighbors."""

    labels: Indices = field(repr=False)
    """Component of each known point. Components have no common motion."""
    n_neighbors: int
    """Number of known points that carry a new one."""
    affine: bool = False
    """True if neighborhoods may be stretched."""
    spacing: float | None = None
    """Usual distance of neighbors, if the embedding is cut. Only points on the nearest one's side carry then."""
    n_jobs: int | None = None

    def carry(
        self, source: Matrix, target: Matrix, new: Matrix, lists: Indices | None = None
    ) -> tuple[Array, Array]:
        """Return the images of new points of the source space, and the error of each.

        A point belongs to the component of its nearest neighbor, and only that component carries it. `lists`
        are the known points nearest to each new one, if they were searched already.
        """
        lists = self._query(source, new) if lists is None else lists
        placed, errors = self._carried(source, target, new, lists)
        if not self.labels.any():
            return placed, errors
        labels = self.labels[lists]
        mixed = (labels != labels[:, :1]).any(axis=1)
        for component in np.unique(labels[mixed, 0]):
            rows = np.flatnonzero(mixed & (labels[:, 0] == component))
            points = np.flatnonzero(self.labels == component)
            own = self._query(source[points], new[rows])
            placed[rows], errors[rows] = self._carried(source[points], target[points], new[rows], own)
        return placed, errors

    def _query(self, source: Matrix, new: Matrix) -> Indices:
        k = min(self.n_neighbors, len(source))
        indices, _ = _core.query(source, new, k, "auto", thread_count(self.n_jobs))
        return indices.reshape(len(new), k)

    def _carried(self, source: Matrix, target: Matrix, new: Matrix, lists: Indices) -> tuple[Array, Array]:
        if self.spacing is None:
            return self._carried_by_all(source, target, new, lists)
        same_side = _same_side(source, target, lists, self.spacing)
        order = np.argsort(~same_side, axis=1, kind="stable")
        sorted_lists = np.take_along_axis(lists, order, axis=1)
        counts = same_side.sum(axis=1)
        placed, errors = np.empty((len(new), target.shape[1])), np.empty(len(new))
        for count in np.unique(counts):
            rows = np.flatnonzero(counts == count)
            near = sorted_lists[rows, :count]
            placed[rows], errors[rows] = self._carried_by_all(source, target, new[rows], near)
        return placed, errors

    def _carried_by_all(
        self, source: Matrix, target: Matrix, new: Matrix, lists: Indices
    ) -> tuple[Array, Array]:
        flat, k = np.ascontiguousarray(lists).ravel(), lists.shape[1]
        placed, errors = _core.carry(source, target, new, flat, k, self.affine, thread_count(self.n_jobs))
        return placed.reshape(len(new), target.shape[1]), errors


def _same_side(source: Matrix, target: Matrix, lists: Indices, spacing: float) -> npt.NDArray[np.bool_]:
    """Return which of the listed points have images near that of the first: no cut is between them."""
    apart = [
        np.linalg.norm(points[lists] - points[lists[:, :1]], axis=2)
        for points in map(as_points, (source, target))
    ]
    return np.asarray(apart[1] <= CUT_STRETCH * np.maximum(apart[0], spacing))
