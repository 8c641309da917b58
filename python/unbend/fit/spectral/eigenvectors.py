"""The smallest eigenvectors of alignment matrices: the last step of LLE, MLLE, LTSA, HLLE, LEM and DFM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ... import _core
from ...core import memory
from ...core.arrays import as_count, thread_count
from ...core.caller import warn
from ...core.random import RandomState, seed_from

__all__ = ["GapWarning", "Spectrum", "smallest_eigenvectors", "warn_of_unheld"]

Array = npt.NDArray[np.float64]
Solver = Literal["dense", "factor", "polynomial"]

MOST_DOUBT = 1e-3
"""Angle, in radians, from which a `GapWarning` says that the space of the vectors is uncertain."""

MOST_ROWS = 2**32 - 1


class GapWarning(UserWarning):
    """The last eigenvector cannot be separated from the next one: their eigenvalues are too close.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> ring = 2 * np.eye(6) - np.roll(np.eye(6), 1, axis=0) - np.roll(np.eye(6), -1, axis=0)
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     _ = smallest_eigenvectors(ring, 1)  # a rotated ring is the same: two vectors, one value
    >>> found[0].category is GapWarning
    True
    """


def warn_of_unheld(unheld: npt.NDArray[Any]) -> None:
    """Warn of points that are in no neighborhood, if there are any."""
    if len(unheld):
        many = f"{len(unheld)} points are" if len(unheld) > 1 else "1 point is"
        warn(
            f"{many} in no neighborhood (the first is {unheld[0]}), so nothing determines where to put "
            f"{'them' if len(unheld) > 1 else 'it'}: set include_self=True",
            GapWarning,
        )


@dataclass(frozen=True)
class Spectrum:
    """The smallest eigenvalues outside the null space, and their vectors.

    Attributes
    ----------
    vectors : ndarray of shape (n, n_vectors)
        Eigenvectors, one per column, in ascending order of their values. y' D y = 1, or y' y = 1 without D.
        The entry of largest magnitude is positive; of several, the first.
    values : ndarray of shape (n_vectors + 1,)
        Eigenvalues in ascending order: those of the vectors, and the next one if it exists.
    residuals : ndarray of shape (n_vectors + 1,)
        |M y - lambda y| / |M|, for D^-1/2 M D^-1/2 and D^1/2 y if there are degrees.
    gap : float
        Difference between the next eigenvalue and the last one of `vectors`; infinite without a next one.
    doubt : float
        Bound of the angle by which the space of all vectors may be wrong: residuals and rounding, divided by
        the gap.
    norm : float
        |M|, the largest sum of absolute entries in a row.
    solver : {"dense", "factor", "polynomial"}
        Method that found the eigenvectors.
    factor_entries, factor_bytes : int
        Number of entries of the Cholesky factor, computed or not, and bytes that its computation needs.
    shift : float
        Number added to the diagonal before factorization, as a share of the norm.
    steps : int
        Number of solves with eight right-hand sides, or of products with eight vectors.
    converged : bool
        True if the residuals are within the tolerance.
    """

    vectors: Array = field(repr=False)
    values: Array
    residuals: Array
    gap: float
    doubt: float
    norm: float
    solver: Solver
    factor_entries: int
    factor_bytes: int
    shift: float
    steps: int
    converged: bool


def smallest_eigenvectors(
    matrix: Any,
    n_vectors: int,
    *,
    null_space: Literal["constant"] | npt.ArrayLike | None = "constant",
    degrees: npt.ArrayLike | None = None,
    max_memory: float | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    progress: Callable[[str, int, int], bool | None] | None = None,
) -> Spectrum:
    """Find the smallest eigenvalues of M y = lambda y, or M y = lambda D y, and their vectors.

    Parameters
    ----------
    matrix : sparse matrix or array-like of shape (n, n)
        M, symmetric and positive semidefinite.
    n_vectors : int
        Number of eigenvectors, not counting the null space.
    null_space : "constant", array-like of n labels, or None
        Known null vectors, which are left out exactly: the constant vector, the vectors that are constant on all
        points of one label (those of a component), or none.
    degrees : array-like of shape (n,), optional
        The diagonal of D.
    max_memory : int, optional
        Maximum number of bytes of the factorization; by default, 80 % of the available memory. If it needs more,
        polynomials of the matrix are used, which suit data of many dimensions.
    random_state : int, Generator, RandomState or None, default 0
        Seed of the start vectors, which changes only the last digits of the result.
    n_jobs : int, optional
        Number of threads; -1 or None for all. The result does not depend on it, bit for bit.
    progress : callable, optional
        Function called as ``progress(stage, done, total)`` about every 20 ms; it returns True to stop.

    Returns
    -------
    Spectrum

    Warns
    -----
    GapWarning
        If the last vector cannot be separated from the next one.

    Raises
    ------
    ValueError
        If the arguments do not describe such a problem.
    MemoryError
        If the factor does not fit, and without it the residuals stay large.

    Examples
    --------
    >>> import numpy as np
    >>> path = np.diag([1.0, 2.0, 1.0]) - np.eye(3, k=1) - np.eye(3, k=-1)
    >>> smallest_eigenvectors(path, 1).values.round(6).tolist()
    [1.0, 3.0]
    """
    n_vectors = as_count(n_vectors, "n_vectors")
    indptr, indices, data = _rows(matrix)
    found = _core.smallest_eigenvectors(
        indptr,
        indices,
        data,
        n_vectors,
        null_space is not None,
        _labels(null_space),
        None if degrees is None else np.ascontiguousarray(degrees, dtype=np.float64),
        _limit(max_memory),
        seed_from(random_state),
        thread_count(n_jobs),
        progress,
    )
    norm = found["norm"] or 1.0
    found["residuals"] = found["residuals"] / norm
    gap, doubt = _separation(found["values"], found["residuals"], n_vectors, norm)
    spectrum = Spectrum(**found, gap=gap, doubt=doubt)  # type: ignore[arg-type]
    _judge(spectrum, n_vectors, max_memory)
    return spectrum


def _rows(matrix: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], Array]:
    """Return the rows without stored zeros: then the pattern is symmetric if the entries are."""
    from scipy.sparse import csr_array

    rows = csr_array(matrix, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[0] != rows.shape[1]:
        raise ValueError(f"the matrix has shape {rows.shape}: it must be square")
    if rows.shape[0] > MOST_ROWS:
        raise ValueError(f"the matrix has {rows.shape[0]} rows: at most {MOST_ROWS} can be numbered")
    if not rows.data.all() or not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    return rows.indptr.astype(np.int64), rows.indices.astype(np.uint32), np.ascontiguousarray(rows.data)


def _labels(null_space: Any) -> npt.NDArray[np.uint32] | None:
    if null_space is None:
        return None
    if isinstance(null_space, str):
        if null_space != "constant":
            raise ValueError(f"null_space = {null_space!r} is unknown: use 'constant', labels or None")
        return None
    labels = np.asarray(null_space)
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or (len(labels) and labels.min() < 0):
        raise ValueError("null_space must be one whole number from 0 on for each point")
    return np.unique(labels, return_inverse=True)[1].astype(np.uint32)


def _limit(max_memory: float | None) -> int | None:
    if max_memory is not None:
        return memory.allowed(max_memory)
    free = memory.available()
    return None if free is None else int(0.8 * free)


def _separation(values: Array, residuals: Array, n_vectors: int, norm: float) -> tuple[float, float]:
    if len(values) <= n_vectors:
        return np.inf, 0.0
    gap = max(0.0, float(values[n_vectors] - values[n_vectors - 1]))
    wrong = float(np.linalg.norm(residuals[:n_vectors])) + np.finfo(np.float64).eps
    return gap, wrong * norm / gap if gap > 0 else np.inf


def _judge(spectrum: Spectrum, n_vectors: int, max_memory: float | None) -> None:
    """Warn of an uncertain result, and refuse one that is wrong."""
    worst = float(spectrum.residuals[:n_vectors].max())
    if not spectrum.converged and spectrum.solver == "polynomial":
        needed = memory.readable(spectrum.factor_bytes)
        raise MemoryError(
            f"the factor needs {needed}, more than there is memory, and {spectrum.steps} products without it "
            f"left residuals of {worst:.1e}: take fewer neighbors or points, or raise max_memory"
        )
    if spectrum.doubt > MOST_DOUBT or not spectrum.converged:
        warn(
            f"eigenvectors {n_vectors} and {n_vectors + 1} cannot be separated: their values differ by "
            f"{spectrum.gap:.1e}, with residuals up to {worst * spectrum.norm:.1e} and rounding of "
            f"{np.finfo(np.float64).eps * spectrum.norm:.1e}",
            GapWarning,
        )
