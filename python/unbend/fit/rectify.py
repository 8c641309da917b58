"""The best linear map of an embedding whose axes were normalised."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import Matrix, as_points, thread_count
from ..graph.neighbors import Neighborhoods, resolve
from ..judge.verdict import Reading, gather, read
from ..metrics import Faithfulness, faithfulness, nieqa_local
from .refine import refine as refined

__all__ = ["Rectification", "rectify"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Rectification:
    """An embedding with its axes put right, and whether that was enough.

    Attributes
    ----------
    embedding : ndarray of shape (n, d)
        ``Y @ matrix``: of all linear maps of Y the one with the least R_N; refined, if that was asked for.
    matrix : ndarray of shape (d, d)
        Symmetric: nothing is turned.
    condition : float
        How many times as far the map stretches one direction of Y as another, once Y has the same variance in
        all of them: about the ratio of length to width where Y was normalised. Infinite where Y is flat.
    before, after : Faithfulness
        Of Y, and of the embedding.
    n_iter : int
        How many steps it took.

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
    def reading(self) -> Reading:
        """What the numbers of the embedding say: ``(kind, sentence)``, as :func:`quality` reads them."""
        m_l = nieqa_local(self._x, self.embedding, neighborhoods=self._graph)
        return read(gather(self.after, float(m_l)))

    @property
    def collapsed(self) -> bool:
        """Whether a dimension is lost, which no linear map brings back."""
        return self.reading.kind == "collapsed" or not np.isfinite(self.condition)

    def __str__(self) -> str:
        """Return what happened, in two or three lines."""
        after = self.after
        return (
            f"R_N {self.before.r_n:.4g} -> {after.r_n:.4g} (lower bound {after.lower_bound:.4g}), axes "
            f"stretched by up to {self.condition:.3g} to 1\n{self.reading.sentence}"
        )


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
    """Find the linear map of an embedding that makes neighbourhoods as little stretched as a linear map can.

    Methods that normalise their output (LLE, LTSA, Hessian LLE, Laplacian eigenmaps, ...) give, where they
    succeed, an affine image of the truth. The map is found from the data alone, and it is the best: the
    problem is convex. Where a dimension was lost no map helps, and `collapsed` says so.

    Parameters
    ----------
    X : array-like of shape (n, q)
        The data.
    Y : array-like of shape (n, d), d <= q
        Their embedding.
    n_neighbors, radius, neighborhoods
        As for :func:`faithfulness`.
    refine : bool, default False
        Whether to let :func:`refine` move single points afterwards.
    n_jobs : int, optional
        Number of threads; all by default. The result is the same for any number.

    Returns
    -------
    Rectification

    Raises
    ------
    ValueError
        If X and Y do not belong together, or hold entries that are not finite.

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> squeezed = coordinates @ np.array([[0.1, 0.0], [0.5, 3.0]])
    >>> bool(ub.rectify(X, squeezed).after.r_n < 1.01 * ub.faithfulness(X, coordinates).r_n)
    True

    What a linear map cannot undo is left to :func:`refine`:

    >>> shaken = squeezed + np.random.default_rng(0).normal(scale=0.05, size=squeezed.shape)
    >>> plain, refined = (ub.rectify(X, shaken, refine=how) for how in (False, True))
    >>> refined.after.r_n < plain.after.r_n
    True
    """
    x, y = as_points(X, "X"), as_points(Y, "Y")
    if len(x) != len(y):
        raise ValueError(f"X has {len(x)} rows, but Y has {len(y)}")
    if y.shape[1] > x.shape[1]:
        raise ValueError(f"n_components = {y.shape[1]} exceeds the {x.shape[1]} dimensions of the data")
    graph = resolve(x, neighborhoods, n_neighbors, radius, n_jobs)
    matrix, steps = best_map(x, y, graph, n_jobs)
    embedding = np.ascontiguousarray(y @ matrix, dtype=np.float64)
    if refine:
        embedding = refined(x, embedding, neighborhoods=graph, n_jobs=n_jobs).embedding
    before = faithfulness(x, y, neighborhoods=graph, n_jobs=n_jobs)
    after = faithfulness(x, embedding, neighborhoods=graph, n_jobs=n_jobs)
    return Rectification(embedding, matrix, _condition(y, matrix), before, after, steps, x, graph)


def best_map(x: Matrix, y: Matrix, graph: Neighborhoods, n_jobs: int | None) -> tuple[Array, int]:
    """Return the matrix, and in how many steps it was found."""
    d = y.shape[1]
    flat, steps = _core.rectify(x, y, graph._graph, thread_count(n_jobs))
    return flat.reshape(d, d), steps


def _condition(y: Matrix, matrix: Array) -> float:
    """Return the condition of the map on Y with its variance made equal in all directions."""
    centred = np.asarray(y, dtype=np.float64) - y.mean(axis=0, dtype=np.float64)
    largest = np.abs(centred).max()
    if largest == 0:
        return float("inf")
    spread = np.linalg.eigh(centred.T / largest @ (centred / largest))
    if not spread.eigenvalues[0] > 1e-28 * spread.eigenvalues[-1]:
        return float("inf")
    scaled = matrix * (largest / np.abs(matrix * largest).max()) if matrix.any() else matrix
    values = np.linalg.svd((spread.eigenvectors * np.sqrt(spread.eigenvalues)).T @ scaled, compute_uv=False)
    return float(values[0] / values[-1]) if values[-1] > 0 else float("inf")
