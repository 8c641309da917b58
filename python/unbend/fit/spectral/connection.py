"""Frames from the eigenvectors of the connection matrix (Goldberg & Ritov 2009, eq. 9)."""

from __future__ import annotations

import numpy as np
from scipy.sparse import bsr_array, diags_array
from scipy.sparse.linalg import eigsh

from ... import _core
from ..problem import Array, Problem

__all__ = ["connection_vectors"]

MIN_POINTS = 50
"""Components of fewer points keep the frames that are known: they are too small for an iterative solver."""


def connection_vectors(tangents: _core.Tangents, rotations: Array, problem: Problem) -> Array:
    """Return the top d eigenvectors of the connection matrix of every component, d rows for each point."""
    d = problem.n_components
    indptr, indices, blocks = tangents.blocks()
    n = len(indptr) - 1
    degrees = np.repeat(np.maximum(np.diff(indptr), 1), d)
    scale = diags_array(1 / np.sqrt(degrees))
    connection = bsr_array((blocks.reshape(-1, d, d), indices.astype(np.int64), indptr), shape=(n * d, n * d))
    normalized = (scale @ connection @ scale).tocsr()
    vectors = np.swapaxes(rotations.reshape(n, d, d), 1, 2).reshape(n * d, d).copy()
    for points in problem.components:
        if len(points) < MIN_POINTS:
            continue
        rows = (points.astype(np.intp)[:, None] * d + np.arange(d)).ravel()
        start = np.random.default_rng(0).normal(size=len(rows))
        _, found = eigsh(normalized[rows][:, rows], k=d, which="LA", v0=start)
        vectors[rows] = found / np.sqrt(degrees[rows, None])
    return np.ascontiguousarray(vectors).ravel()
