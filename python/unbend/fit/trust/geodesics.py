"""An embedding of geodesic distances: classical scaling, then stress (de Leeuw 1977).

It needs no tangents, so it is what is left when noise hides them. It keeps the large distances, not the lengths
within a neighborhood.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from ... import _core
from ...core.progress import Progress
from ..problem import Array, Problem
from ..spectral.scaling import scale

__all__ = ["embed_geodesics"]

MAX_STEPS, SMALLEST_GAIN = 60, 1e-4
"""Steps of majorization end after this number, or when one lowers the stress by less than this share."""


def embed_geodesics(problem: Problem, progress: Progress) -> Array:
    """Return the embedding of least stress that majorization finds from classical scaling, by component."""
    d = problem.n_components
    paths = _core.Paths(problem.checked, problem.neighborhoods.core, None, problem.threads)
    embedding = np.zeros((len(problem), d))
    with progress.stage("geodesics", len(problem)):
        for points in problem.components:
            if len(points) > 1:
                rows = paths.distances_from(points, progress=progress.progress).reshape(len(points), -1)
                distances = rows[:, points].astype(np.float64) * paths.unit()
                distances = (distances + distances.T) / 2  # The two directions are rounded differently.
                embedding[points] = majorized(distances, _scaled(distances**2, d), progress)
    return embedding


def _scaled(squares: Array, d: int) -> Array:
    """Return coordinates by classical scaling of squared distances."""
    return scale(squares.dot, lambda: squares, len(squares), d).coordinates


def majorized(distances: Array, embedding: Array, progress: Progress) -> Array:
    """Return an embedding whose sum of squared errors of distances is least, as far as Guttman's steps lead.

    Examples
    --------
    >>> import numpy as np
    >>> line = np.array([[0.0], [1.0], [3.0]])
    >>> found = majorized(np.abs(line - line.T), line + [[0.1], [0.0], [-0.2]], Progress())
    >>> np.abs(np.diff(found[:, 0])).round(3).tolist()
    [1.0, 2.0]
    """
    last = np.inf
    for step in range(MAX_STEPS):
        if progress.report("geodesics", step, MAX_STEPS):
            raise _core.Stopped
        shown = cdist(embedding, embedding)
        stress = float(((distances - shown) ** 2).sum())
        if stress >= last * (1 - SMALLEST_GAIN) or stress == 0:
            break
        last = stress
        ratios = np.divide(distances, shown, out=np.zeros_like(shown), where=shown > 0)
        embedding = (ratios.sum(axis=1)[:, None] * embedding - ratios @ embedding) / len(embedding)
    return embedding
