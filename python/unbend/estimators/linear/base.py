"""Shell of the estimators without a neighborhood graph, and their work on blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np

from ...core import memory
from ...core.arrays import Matrix, check_finite
from ...core.progress import Progress
from ..base import Array, Estimator, Placed, warn_if_equal

BLOCK_ENTRIES = memory.ENTRIES_PER_BLOCK
"""Number of entries that are converted to double precision and processed at a time."""


class LinearEstimator(Estimator):
    """Shell of the estimators without a neighborhood graph.

    An algorithm computes its fit in `_run`, which returns a frozen dataclass: each field becomes the fitted
    attribute of that name, with an underscore appended. By default the fitted map is affine.
    """

    def _fit(self, X: Any, progress: Progress, **known: Any) -> None:
        x = self._validated(X, reset=True)
        n, q = x.shape
        check_finite(x)
        self._check_size(n, q)
        memory.check(self._estimate(n, q, x.dtype.itemsize), self.max_memory)
        result = self._run(x, progress)
        warn_if_equal(x)
        self.__dict__.update({f"{field.name}_": getattr(result, field.name) for field in fields(result)})

    def _run(self, x: Matrix, progress: Progress) -> Any:
        """Return the result of a fit to checked points."""
        raise NotImplementedError

    def _mean(self) -> Array | float:
        """Return the point that the map takes to the origin."""
        return 0.0

    def _map(self, x: Matrix) -> Array:
        """Return the images of checked points."""
        return project(x, self.components_, self._mean())

    def _map_back(self, y: Array) -> Array:
        """Return the points that have these images; of all such, the nearest to the mean."""
        points: Array = y @ self.components_ + self._mean()
        return points

    def _check_size(self, n: int, q: int) -> None:
        if self.n_components > q:
            raise ValueError(f"n_components = {self.n_components} exceeds the {q} dimensions of the data")
        if self.n_components > n:
            raise ValueError(f"n_components = {self.n_components} needs as many points, got n_samples = {n}")

    def _n_map_inputs(self) -> int:
        """Return the number of columns of the fitted map."""
        return int(self.n_features_in_)

    def _estimate(self, n: int, q: int, itemsize: int) -> int:
        return memory.peak("linear", memory.Sizes(n, q, self.n_components))

    def _place(self, x: Matrix) -> Placed:
        check_finite(x)
        placed = self._map(x)
        return placed, row_distances(x, self._map_back(placed))

    def _find(self, y: Matrix) -> Placed:
        check_finite(y)
        points = self._map_back(np.asarray(y, dtype=np.float64))
        return points, row_distances(y, self._map(points))

    def _check_shapes(self) -> None:
        super()._check_shapes()
        expected = (self.embedding_.shape[1], self._n_map_inputs())
        if self.components_.shape != expected:
            raise ValueError(f"its map has shape {self.components_.shape}, but it should have {expected}")


def slices(n: int, entries: int, least: int = 1) -> Iterator[slice]:
    """Yield slices of `n` rows that hold about `BLOCK_ENTRIES` entries, and at least `least` rows, each."""
    rows = max(BLOCK_ENTRIES // entries, least)
    return (slice(start, start + rows) for start in range(0, n, rows))


def blocks(x: Matrix, least: int = 1) -> Iterator[Array]:
    """Yield the points in double precision, in blocks of at least `least` rows."""
    return (np.asarray(x[rows], dtype=np.float64) for rows in slices(len(x), x.shape[1], least))


def project(x: Matrix, components: Any, mean: Array | float = 0.0) -> Array:
    """Return ``(x - mean) @ components.T``, computed block by block."""
    parts = [(block - mean) @ components.T for block in blocks(x)]
    return np.ascontiguousarray(np.concatenate(parts), dtype=np.float64)


def row_distances(a: Matrix, b: Matrix) -> Array:
    """Return the distance between each row of `a` and the same row of `b`."""
    return np.asarray(np.linalg.norm(np.subtract(a, b, dtype=np.float64), axis=1))
