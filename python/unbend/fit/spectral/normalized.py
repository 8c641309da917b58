"""The normalized family: LLE, modified LLE, LTSA, Hessian LLE, Laplacian eigenmaps and diffusion maps.

All minimize Phi(Y) = sum |W_i Y_i|^2 among embeddings whose coordinates are uncorrelated and of the same
variance (Goldberg, Zakai, Kushnir & Ritov, *The price of normalization*, eq. 2 and 3), and differ in their W_i
only. They find an affine image of the truth at best: `rectify` undoes that, and says so if it cannot.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from ... import _core
from ...core.caller import warn
from ...core.progress import Progress
from ...judge.verdict import gather, read
from ...metrics import nieqa_local
from ...metrics.faithful import measured
from ..embedding import Embedding
from ..problem import Array, Problem
from ..refine import Steps, refined
from .eigenvectors import Spectrum, smallest_eigenvectors, warn_of_unheld
from .rectify import best_map

__all__ = [
    *("CollapsedWarning", "NormalizedEmbedding", "NormalizedSettings", "Rectify"),
    *("side_by_side", "walk_scales"),
]

Rectify = Literal[False, True, "linear"]


class CollapsedWarning(UserWarning):
    """A dimension was lost, and no linear map brings it back.

    Examples
    --------
    >>> import warnings
    >>> import unbend as ub
    >>> X, _ = ub.datasets.strip(2000, length=6.0, noise=0.01, random_state=0)
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     _ = ub.LaplacianEigenmaps(n_neighbors=8, rectify=True).fit(X)
    >>> found[0].category is ub.CollapsedWarning
    True
    """


@dataclass(frozen=True, eq=False)
class NormalizedEmbedding(Embedding):
    """An embedding by the smallest eigenvectors of an alignment matrix.

    Attributes
    ----------
    eigenvalues : ndarray
        The smallest eigenvalues of the largest component.
    maps : ndarray of shape (c, d, d) or None
        The linear map that was applied to each component.
    """

    eigenvalues: Array
    maps: Array | None = field(repr=False)

    def laid_out(self, problem: Problem) -> NormalizedEmbedding:
        """Return the embedding with its components side by side; eigenvectors are not rotated."""
        if self.maps is not None:
            return super().laid_out(problem)
        return replace(self, embedding=side_by_side(self.embedding, problem))


def side_by_side(embedding: Array, problem: Problem) -> Array:
    """Return an embedding with its components shifted along the first axis, the largest first."""
    if len(problem.components) == 1:
        return embedding
    shifted, end = embedding.copy(), 0.0
    for piece in sorted(problem.components, key=len, reverse=True):
        low, high = shifted[piece, 0].min(), shifted[piece, 0].max()
        shifted[piece, 0] += end - low
        end += 1.05 * (high - low) + 0.1
    return shifted


Weights = Callable[[Problem, Any], _core.LocalWeights]
"""Makes the W_i of a problem; it is given a report of progress."""


@dataclass(frozen=True)
class NormalizedSettings:
    """The parameters of one of the family.

    Attributes
    ----------
    weights : callable
        Makes the W_i of a problem.
    rectify : {False, True, "linear"}
        True undoes the normalization by a linear map and then refines; "linear" does not refine.
    weighted : bool
        True if the constraint is weighted by the degrees of the graph (eq. 3).
    scales : callable, optional
        From the spectrum and d to the factors of the columns, which have variance 1.
    max_memory : float or None
        Bytes that the factor of the matrix may take.
    """

    weights: Weights
    rectify: Rectify = False
    weighted: bool = False
    scales: Callable[[Spectrum, int], Array] | None = None
    max_memory: float | None = None

    renumbers = False

    def embed(self, problem: Problem, progress: Progress) -> NormalizedEmbedding:
        """Find the eigenvectors of every component, then rectify and refine them if asked to."""
        with progress.stage("weights", len(problem)):
            weights = self.weights(problem, progress.progress)
        with progress.stage("matrix", len(problem)):
            matrix = weights.matrix(progress.progress)
            degrees = weights.degrees(True) if self.weighted else None
        _warn_of_unheld(matrix)
        with progress.stage("eigenvectors"):
            embedding, trace = self._solved(problem, matrix, degrees, progress)
        maps = None
        if self.rectify:
            with progress.stage("rectify"):
                embedding, maps = _rectified(problem, embedding)
            if not _collapsed(problem, embedding) and self.rectify is True:
                with progress.stage("refine"):
                    embedding = refined(problem, embedding, Steps(), progress).embedding
        eigenvalues = np.array(trace[0]["eigenvalues"])
        return NormalizedEmbedding(embedding, trace={"components": trace}, eigenvalues=eigenvalues, maps=maps)

    def _solved(
        self, problem: Problem, parts: _core._Sparse, degrees: Array | None, progress: Progress
    ) -> tuple[Array, list[dict[str, Any]]]:
        """Return all components, each of mean 0, and how each was solved."""
        from scipy.sparse import csr_array

        indptr, indices, data = parts
        n, pieces = len(problem), problem.components
        matrix = csr_array((data, indices.view(np.int32), indptr), shape=(n, n))
        if len(pieces) == 1:
            embedding, trace = self._component(matrix, degrees, problem, progress)
            return embedding, [trace]
        embedding, traces = np.zeros((n, problem.n_components)), []
        for piece in sorted(pieces, key=len, reverse=True):
            own = None if degrees is None else degrees[piece]
            embedding[piece], trace = self._component(matrix[piece][:, piece], own, problem, progress)
            traces.append(trace)
        return embedding, traces

    def _component(
        self, matrix: Any, degrees: Array | None, problem: Problem, progress: Progress
    ) -> tuple[Array, dict[str, Any]]:
        """Return the smallest eigenvectors of a component, of variance 1; zeros where it has too few points."""
        n, d = matrix.shape[0], problem.n_components
        embedding, count = np.zeros((n, d)), min(d, n - 1)
        if count < 1 or (degrees is not None and not degrees.all()):
            return embedding, {"eigenvalues": [], "residuals": []}
        found = smallest_eigenvectors(
            matrix,
            count,
            degrees=degrees,
            max_memory=self.max_memory,
            n_jobs=problem.n_jobs,
            progress=progress.progress,
        )
        unit = np.sqrt(n if degrees is None else degrees.sum())
        scales = np.ones(d) if self.scales is None else self.scales(found, d)
        embedding[:, :count] = found.vectors * (unit * scales[:count])
        return embedding, {
            "eigenvalues": found.values.tolist(),
            "residuals": found.residuals.tolist(),
            "gap": found.gap,
            "doubt": found.doubt,
            "solver": found.solver,
            "factor_bytes": found.factor_bytes,
        }


def walk_scales(spectrum: Spectrum, d: int, time: float) -> Array:
    """Return the eigenvalues of the walk of diffusion maps, those of D^-1 A, to the power of time."""
    walk = 1 - np.pad(spectrum.values[:d], (0, max(0, d - len(spectrum.values))))
    return np.abs(walk) ** time


def _rectified(problem: Problem, embedding: Array) -> tuple[Array, Array]:
    """Return every component after its own best linear map, and the maps."""
    pieces, d = problem.components, problem.n_components
    maps = []
    for piece in pieces:
        part = problem if len(pieces) == 1 else problem.part(piece)
        matrix, _ = best_map(part.points, embedding[piece], part.neighborhoods, part.n_jobs)
        maps.append(matrix)
        embedding[piece] = embedding[piece] @ matrix
    return embedding, np.array(maps).reshape(-1, d, d)


def _collapsed(problem: Problem, embedding: Array) -> bool:
    """Warn if a dimension was lost; refinement would make that look better than it is."""
    x, graph, jobs = problem.points, problem.neighborhoods, problem.n_jobs
    m = measured(x, embedding, graph, n_jobs=jobs, core=problem.core.faithfulness, own=True)
    reading = read(gather(m, float(nieqa_local(x, embedding, neighborhoods=graph, n_jobs=jobs))))
    if reading.kind != "collapsed":
        return False
    warn(f"no linear map helps: {reading.sentence}", CollapsedWarning)
    return True


def _warn_of_unheld(parts: _core._Sparse) -> None:
    """Warn of points that are in no neighborhood: their rows are empty, and they lie anywhere."""
    indptr, _, values = parts
    sums = np.add.reduceat(np.append(np.abs(values), 0.0), np.minimum(indptr[:-1], len(values)))
    warn_of_unheld(np.flatnonzero((np.diff(indptr) == 0) | (sums == 0)))
