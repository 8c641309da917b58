"""Classical scaling in groups: FASTMDS (Yang et al. 2006) and split-and-combine scaling (Tzeng et al. 2008)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.linalg import orthogonal_procrustes

from ... import _core
from ...core import memory
from ...core.arrays import Matrix, check_finite
from ...core.progress import Callback, Progress
from ...core.random import RandomState, stream
from ...fit.spectral.scaling import Scaled, mismatch, scale
from ..base import Array, Placed, estimator
from ..tables.attributes import LINEAR
from .base import LinearEstimator, slices
from .scaling import check_distances, triangulate

__all__ = ["SplitScaling"]

Rows = npt.NDArray[np.intp]
Combine = Literal["overlap", "sample"]


@estimator((*LINEAR, "landmarks_", "components_", "means_", "mismatch_"))
class SplitScaling(LinearEstimator):
    """Classical scaling of distances in groups of points, which are then joined.

    With combine="overlap", split-and-combine scaling (Tzeng, Lu & Li 2008), consecutive groups share points,
    and each is moved to fit those it shares with the groups before. With combine="sample", FASTMDS (Yang et
    al. 2006), a sample of every group is scaled together, and each group is moved to fit its part of it.

    Only distances within groups and within the sample are scaled: O(n g) of n^2, for groups of g points, in one
    level of groups. The matrix has to be whole all the same, and is checked; it may be memory-mapped. If the
    distances are Euclidean in d dimensions, this is :class:`ClassicalScaling` up to a motion, to about 1e-7 of
    their size. If they are not, each join adds an error, which `mismatch_` measures.

    `transform` takes the distances to all fitted points, in their order. It places points by those to the
    first group, or to the sample (Gower 1968), and a point at distance 0 from a fitted one where that is. The
    error is the root mean square difference between these distances and those in the embedding.
    `inverse_transform` raises a ValueError.

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> from scipy.spatial.distance import cdist
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> Y = ub.SplitScaling(3, group_size=50, random_state=0).fit_transform(cdist(X, X))
    >>> bool(np.allclose(cdist(Y, Y), cdist(X, X)))
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric: Literal["precomputed"] = "precomputed",
        group_size: int = 200,
        overlap: int | None = None,
        combine: Combine = "overlap",
        random_state: RandomState = None,
        verbose: int = 0,
        callback: Callback | None = None,
        max_memory: float | None = None,
    ) -> None:
        self._keep(locals())

    def _check(self) -> None:
        super()._check()
        shared = self._shared()
        if shared <= self.n_components:
            raise ValueError(
                f"overlap = {shared} is too few for n_components = {self.n_components}: at least "
                f"{self.n_components + 1} are needed"
            )
        if self.group_size < 2 * shared:
            raise ValueError(
                f"group_size = {self.group_size} is too small for overlap = {shared}: at least {2 * shared} "
                "are needed"
            )

    def _shared(self) -> int:
        """Return the number of points that groups share, or that are sampled of each."""
        return 2 * (int(self.n_components) + 1) if self.overlap is None else int(self.overlap)

    def _check_size(self, n: int, q: int) -> None:
        if n != q:
            raise ValueError(f"distances must be square, got shape ({n}, {q})")
        if self.n_components > n:
            raise ValueError(f"n_components = {self.n_components} needs as many points, got n_samples = {n}")

    def _validated(self, X: Any, reset: bool, finite: bool = False) -> Matrix:
        return super()._validated(X, reset, True)

    def _run(self, x: Matrix, progress: Progress) -> SplitData:
        check_distances(x)
        order = stream(self.random_state, "groups").permutation(len(x))
        with progress.stage("scaling", len(x)):
            join = _overlapping if self.combine == "overlap" else _sampled
            return join(x, order, self.group_size, self._shared(), self.n_components, progress)

    def _map(self, x: Matrix) -> Array:
        placed = triangulate(x, self.landmarks_, self.means_, self.components_)
        nearest = np.concatenate([x[part].argmin(axis=1) for part in slices(*x.shape)])
        fitted = x[np.arange(len(x)), nearest] == 0
        placed[fitted] = self.embedding_[nearest[fitted]]
        return placed

    def _map_back(self, y: Array) -> Array:
        raise ValueError("inverse_transform needs points, but distances were fitted: there are none")

    def _place(self, x: Matrix) -> Placed:
        check_finite(x)
        placed, there = self._map(x), self.embedding_[self.landmarks_]
        parts = slices(len(x), len(there))
        return placed, np.concatenate([mismatch(x[p][:, self.landmarks_], placed[p], there) for p in parts])

    def _n_map_inputs(self) -> int:
        return len(self.landmarks_)

    def _estimate(self, n: int, q: int, itemsize: int) -> int:
        landmarks = min(n - 1, max(self.group_size, self._shared() * -(-n // self.group_size)))
        return memory.peak("scaling", memory.Sizes(n, q, self.n_components, landmarks=landmarks))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = tags.input_tags.positive_only = True
        return tags


@dataclass(frozen=True)
class SplitData:
    """Result of scaling in groups; the fields are the attributes of :class:`SplitScaling`."""

    landmarks: npt.NDArray[np.uint32]
    means: Array
    components: Array
    embedding: Array
    mismatch: float


def _overlapping(x: Matrix, order: Rows, size: int, shared: int, d: int, progress: Progress) -> SplitData:
    """Scale groups that share points with the one before, and move each to fit these."""
    first = np.sort(order[:size])
    scaled = _scaled(x, first, d)
    embedding, errors = np.zeros((len(x), d)), [np.zeros(0)]
    embedding[first] = scaled.coordinates
    for start in range(size, len(order), size - shared):
        _ask(progress, start, len(x))
        own = order[start - shared : start - shared + size]
        moved, error = _moved(_scaled(x, own, d).coordinates, embedding[own[:shared]])
        embedding[own[shared:]] = moved[shared:]
        errors.append(error)
    return _data(first, scaled, embedding, np.concatenate(errors))


def _sampled(x: Matrix, order: Rows, size: int, shared: int, d: int, progress: Progress) -> SplitData:
    """Scale groups, and a sample of all of them together, and move each group to fit its part of the sample."""
    groups = list(_groups(order, size, shared))
    together = np.sort(np.concatenate([group[:shared] for group in groups]))
    scaled = _scaled(x, together, d)
    embedding, errors = np.zeros((len(x), d)), []
    for number, own in enumerate(groups):
        _ask(progress, number * size, len(x))
        goal = scaled.coordinates[np.searchsorted(together, own[:shared])]
        moved, error = _moved(_scaled(x, own, d).coordinates, goal)
        embedding[own] = moved
        errors.append(error)
    return _data(together, scaled, embedding, np.concatenate(errors))


def _groups(order: Rows, size: int, shared: int) -> Iterator[Rows]:
    """Yield groups of points, of about the wanted size and of at least `shared` points each."""
    count = max(1, min(-(-len(order) // size), len(order) // shared))
    yield from np.array_split(order, count)


def _scaled(x: Matrix, points: Rows, d: int) -> Scaled:
    """Scale the distances of one group."""
    squares = np.square(x[np.ix_(points, points)], dtype=np.float64)
    return scale(squares.dot, lambda: squares, len(points), d)


def _moved(points: Array, goal: Array) -> tuple[Array, Array]:
    """Return points after the motion that takes the first of them to a goal, and the errors there."""
    first = points[: len(goal)]
    rotation, _ = orthogonal_procrustes(first - first.mean(axis=0), goal - goal.mean(axis=0))
    moved = (points - first.mean(axis=0)) @ rotation + goal.mean(axis=0)
    return moved, np.linalg.norm(moved[: len(goal)] - goal, axis=1)


def _data(landmarks: Rows, scaled: Scaled, embedding: Array, errors: Array) -> SplitData:
    return SplitData(
        landmarks.astype(np.uint32),
        scaled.means,
        np.ascontiguousarray(scaled.axes.T),
        embedding,
        float(np.sqrt(np.mean(errors**2))) if len(errors) else 0.0,
    )


def _ask(progress: Progress, done: int, total: int) -> None:
    if progress.report("scaling", done, total):
        raise _core.Stopped
