"""The best linear map of an embedding whose axes were normalized."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ... import _core
from ...core.arrays import Matrix, thread_count
from ...core.kinds import as_flag
from ...core.parameters import documented
from ...graph.neighbors import Neighborhoods, resolve
from ...judge.verdict import Statement, gather, read
from ...metrics import Faithfulness, faithfulness, nieqa_local
from ...metrics.sampling import pair
from ...metrics.table import PARAMETERS
from ..problem import Array
from ..refine import refine as refined


@dataclass(frozen=True)
class Rectification:
    """An embedding after the best linear map.

    Attributes
    ----------
    embedding : ndarray of shape (n, d)
        ``Y @ matrix``, which has the smallest R_N of all linear maps of Y; refined if you asked for it.
    matrix : ndarray of shape (d, d)
        The map. It is symmetric, so it rotates nothing.
    condition : float
        Ratio of the largest to the smallest stretch of the map, after Y was scaled to the same variance in
        all directions: about the ratio of length to width if Y was normalized. Infinite if Y is flat.
    before, after : Faithfulness
        Measures of Y, and of the embedding.
    n_iter : int
        Number of steps.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> rectified = ub.rectify(X, coordinates / coordinates.std(axis=0))
    >>> rectified.collapsed, rectified.reading.kind
    (False, 'faithful')
    >>> print(f"{rectified.before.r_n:.2f} -> {rectified.after.r_n:.4f}")
    0.81 -> 0.0014
    """

    embedding: Array = field(repr=False)
    matrix: Array
    condition: float
    before: Faithfulness = field(repr=False)
    after: Faithfulness = field(repr=False)
    n_iter: int
    _x: Matrix = field(repr=False)
    _graph: Neighborhoods = field(repr=False)

    @cached_property
    def reading(self) -> Statement:
        """Verdict on the embedding, ``(kind, sentence)``, as in :func:`quality`."""
        m_l = nieqa_local(self._x, self.embedding, neighborhoods=self._graph)
        return read(gather(self.after, float(m_l)))

    @property
    def collapsed(self) -> bool:
        """True if a dimension is lost, which no linear map restores."""
        return self.reading.kind == "collapsed" or not np.isfinite(self.condition)

    def __str__(self) -> str:
        """Return the measures before and after, the condition and the verdict."""
        after = self.after
        return (
            f"R_N {self.before.r_n:.4g} -> {after.r_n:.4g} (lower bound {after.lower_bound:.4g}), axes "
            f"stretched by up to {self.condition:.3g} to 1\n{self.reading.sentence}"
        )


@documented(PARAMETERS, scopes=["faithfulness"])
def rectify(
    X: Any,
    Y: Any,
    n_neighbors: int | None = None,
    *,
    radius: float | None = None,
    neighborhoods: Neighborhoods | None = None,
    refine: bool = False,
    n_jobs: int | None = None,
) -> Rectification:
    """Find the linear map of an embedding with the smallest R_N.

    Methods that normalize their output (LLE, LTSA, Hessian LLE, Laplacian eigenmaps, ...) give an affine
    image of the truth when they succeed. The map is found from the data alone. It is the best of all maps,
    because the problem is convex. If a dimension was lost, no map helps, and `collapsed` is True.

    Parameters
    ----------
    refine : bool, default False
        If True, :func:`refine` then moves single points.

    Raises
    ------
    ValueError
        If X and Y do not have the same number of rows, or hold entries that are not finite.

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> squeezed = coordinates @ np.array([[0.1, 0.0], [0.5, 3.0]])
    >>> bool(ub.rectify(X, squeezed).after.r_n < 1.01 * ub.faithfulness(X, coordinates).r_n)
    True
    """
    x, y = pair(X, Y)
    improves = as_flag(refine, "refine")
    graph = resolve(x, neighborhoods, n_neighbors, radius, n_jobs)
    matrix, steps = best_map(x, y, graph, n_jobs)
    embedding = np.ascontiguousarray(y @ matrix, dtype=np.float64)
    if improves:
        embedding = refined(x, embedding, neighborhoods=graph, n_jobs=n_jobs).embedding
    before = faithfulness(x, y, neighborhoods=graph, n_jobs=n_jobs)
    after = faithfulness(x, embedding, neighborhoods=graph, n_jobs=n_jobs)
    return Rectification(embedding, matrix, _condition(y, matrix), before, after, steps, x, graph)


def best_map(x: Matrix, y: Matrix, graph: Neighborhoods, n_jobs: int | None) -> tuple[Array, int]:
    """Return the matrix, and the number of steps."""
    d = y.shape[1]
    flat, steps = _core.rectify(x, y, graph.core, thread_count(n_jobs))
    return flat.reshape(d, d), steps


def _condition(y: Matrix, matrix: Array) -> float:
    """Return the condition number of the map from Y, scaled to unit variance in all directions, to the result."""
    centered = np.asarray(y, dtype=np.float64) - y.mean(axis=0, dtype=np.float64)
    largest = np.abs(centered).max()
    if largest == 0:
        return float("inf")
    spread = np.linalg.eigh(centered.T / largest @ (centered / largest))
    if not spread.eigenvalues[0] > 1e-28 * spread.eigenvalues[-1]:
        return float("inf")
    scaled = matrix * (largest / np.abs(matrix * largest).max()) if matrix.any() else matrix
    values = np.linalg.svd((spread.eigenvectors * np.sqrt(spread.eigenvalues)).T @ scaled, compute_uv=False)
    return float(values[0] / values[-1]) if values[-1] > 0 else float("inf")
