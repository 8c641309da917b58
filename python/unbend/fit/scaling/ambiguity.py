"""Points that the distances do not fix: loose points, parts that move, and parts that can be reflected.

A point with d pairs or fewer has several places. Those points are left out, again and again; the rest is the
(d + 1)-core of the graph. In it, motions that change no distance to first order are null vectors of the
rigidity matrix beyond the rigid motions. Positions are unique, for nearly all coordinates, if and only if a
random equilibrium stress has a matrix of nullity d + 1 (Gortler, Healy & Thurston 2010). Further null vectors
belong to parts that can be reflected, as at two points that hold a plane graph together. Both are computed
near the embedding, which is shaken a little so that symmetric data have general positions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csc_array, csr_array, diags_array
from scipy.sparse.linalg import eigsh, splu

from ..problem import Array, members
from .pairs import Ends, MeasuredPairs, symmetric
from .stress import profile

__all__ = ["Ambiguity", "ambiguity_of", "core_of"]

Numbers = npt.NDArray[np.int64]

MAX_OPERATIONS = 2e10
"""Parts are not examined for motions and reflections if the bound of the operations of a factor is larger, as with
40,000 points in the plane or 4,000 in space."""

SHORTEST = 16
"""In graphs of twice this mean degree, pairs that are among this number of shortest ones of a point are examined
first: if they fix all points, so do all pairs."""

MAX_MODES = 16
"""Number of null vectors beyond the rigid motions, or the affine maps, that are looked for."""

NULL, SHIFT = 1e-13, 1e-10
"""Eigenvalues up to the first share of the largest diagonal entry count as 0. Null vectors have 1e-16, and
others 1e-9 and more at 10,000 points (measured). Matrices are shifted by the second share before they are
factored."""

SHAKE = 0.05
"""Standard deviation of the shaking, as a share of the median distance."""

MOVED = 1e-4
"""Points that a null vector moves by less than this share of its largest motion stay."""

TRIALS = 100
"""Number of points around which the motion of the largest part is looked for."""


@dataclass(frozen=True, eq=False)
class Ambiguity:
    """Points whose positions the distances do not determine.

    Attributes
    ----------
    loose : ndarray of int
        Points with d pairs or fewer, and those that have d or fewer after these are left out.
    movable : ndarray of int or None
        Points, not loose, that can move while no distance changes. None if they are not examined, because
        this takes too long.
    reflectable : ndarray of int or None
        Points, neither loose nor movable, that belong to a part with several positions, such as one that can
        be reflected. None if they are not examined.
    n_motions, n_reflections : int
        Number of independent motions, and of further null vectors of the stress matrix; at most 16 of each
        part are found.
    redundancy : float
        Number of pairs for each coordinate, without those of rigid motions. Below 1, something can move.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np, unbend as ub
    >>> square = [[0, 1], [1, 2], [2, 3], [3, 0], [0, 2], [1, 3], [3, 4]]  # The last point has one distance.
    >>> with warnings.catch_warnings(action="ignore"):
    ...     found = ub.GraphScaling().fit(square, distances=[1, 1, 1, 1, 2**0.5, 2**0.5, 1])
    >>> found.ambiguity_.loose.tolist(), found.ambiguity_.n_motions
    ([4], 0)
    """

    loose: Numbers = field(repr=False)
    movable: Numbers | None = field(repr=False)
    reflectable: Numbers | None = field(repr=False)
    n_motions: int
    n_reflections: int
    redundancy: float


def ambiguity_of(pairs: MeasuredPairs, y: Array) -> Ambiguity:
    """Find the points that the distances do not determine, near an embedding."""
    n, d = y.shape
    core = core_of(pairs, d) | _complete(pairs)
    loose = np.flatnonzero(~core)
    rigid = d * (d + 1) // 2
    n_parts = len(np.unique(pairs.labels))
    redundancy = len(pairs) / max(1, n * d - rigid * n_parts)
    points = np.flatnonzero(core & ~_complete(pairs))
    inner = pairs.part(points)
    shaken = y[points] + _shaking(inner, y[points])
    movable, reflectable, motions, reflections = np.zeros(n, bool), np.zeros(n, bool), 0, 0
    for part in members(inner.labels) if len(points) else []:
        found = _examined(inner.part(part), shaken[part])
        if found is None:
            return Ambiguity(loose, None, None, 0, 0, redundancy)
        movable[points[part[found.movable]]] = True
        reflectable[points[part[found.reflectable & ~found.movable]]] = True
        motions, reflections = motions + found.n_motions, reflections + found.n_reflections
    return Ambiguity(
        loose, np.flatnonzero(movable), np.flatnonzero(reflectable), motions, reflections, redundancy
    )


def core_of(pairs: MeasuredPairs, d: int) -> npt.NDArray[np.bool_]:
    """Return the mask of the (d + 1)-core: points with d + 1 pairs or more among themselves.

    Examples
    --------
    >>> square = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3], [3, 4]])
    >>> core_of(MeasuredPairs(5, square, np.ones(7), np.ones(7)), 2).tolist()
    [True, True, True, True, False]
    """
    inside, ends = np.ones(pairs.n_points, dtype=bool), pairs.ends
    while True:
        ends = ends[inside[ends].all(axis=1)]
        few = inside & (np.bincount(ends.ravel(), minlength=pairs.n_points) < d + 1)
        if not few.any():
            return inside
        inside &= ~few


def _complete(pairs: MeasuredPairs) -> npt.NDArray[np.bool_]:
    """Return the mask of the points whose component has all pairs, and so one shape."""
    sizes = np.bincount(pairs.labels)[pairs.labels]
    full = (pairs.degrees == sizes - 1) & (sizes > 1)
    return np.asarray(np.bincount(pairs.labels, ~full)[pairs.labels] == 0)


def _shaking(pairs: MeasuredPairs, y: Array) -> Array:
    typical = float(np.median(pairs.distances)) if len(pairs) else 0.0
    return SHAKE * (typical or 1.0) * np.random.default_rng(0).normal(size=y.shape)


def _examined(pairs: MeasuredPairs, y: Array) -> _Examined | None:
    """Examine a connected part, or return None if that takes too long."""
    fewer = pairs
    if len(pairs) > SHORTEST * pairs.n_points:
        short = _shortest(pairs)
        fewer = short if core_of(short, y.shape[1]).all() and not short.labels.any() else pairs
    if _operations(fewer, y.shape[1]) > MAX_OPERATIONS:
        return None
    found = _Examined.of(fewer, y)
    if len(fewer) == len(pairs) or not (found.movable | found.reflectable).any():
        return found
    return None if _operations(pairs, y.shape[1]) > MAX_OPERATIONS else _Examined.of(pairs, y)


def _shortest(pairs: MeasuredPairs) -> MeasuredPairs:
    """Return the pairs that are among the shortest of one of their points."""
    points, number = pairs.ends.ravel(), np.repeat(np.arange(len(pairs)), 2)
    order = np.lexsort((pairs.distances[number], points))
    begins = np.cumsum(pairs.degrees) - pairs.degrees
    rank = np.arange(len(points)) - begins[points[order]]
    chosen = np.unique(number[order][rank < SHORTEST])
    return MeasuredPairs(pairs.n_points, pairs.ends[chosen], pairs.distances[chosen], pairs.weights[chosen])


def _operations(pairs: MeasuredPairs, d: int) -> float:
    """Return a bound of the operations that a factor of the squared rigidity matrix takes."""
    return float(((d * profile(pairs.graph)) ** 2).sum()) * d


@dataclass(frozen=True, eq=False)
class _Examined:
    """Motions and reflections of one connected part."""

    movable: npt.NDArray[np.bool_]
    reflectable: npt.NDArray[np.bool_]
    n_motions: int
    n_reflections: int

    @classmethod
    def of(cls, pairs: MeasuredPairs, y: Array) -> _Examined:
        n, d = y.shape
        rigidity, lengths = _rigidity(pairs.ends, y)
        products = csc_array(rigidity.T @ rigidity)
        shift = SHIFT * float(products.diagonal().max())
        factor = splu(csc_array(products + diags_array(np.full(n * d, shift))))
        motions = _null_vectors(products, factor, shift, d * (d + 1) // 2)
        movable = _moved(motions.reshape(n, d, -1), _motions(y), pairs.graph)
        tension = _equilibrium(rigidity, factor)
        if np.abs(tension).max(initial=0.0) < MOVED:  # No two parts fix each other.
            return cls(movable, np.ones(n, bool), motions.shape[1] - d * (d + 1) // 2, 1)
        joined = symmetric(n, pairs.ends, tension / lengths)
        matrix = csc_array(diags_array(np.asarray(joined.sum(axis=1)).ravel()) - joined)
        matrix = csc_array(matrix / np.abs(matrix.diagonal()).max())
        shifted = splu(csc_array(matrix + diags_array(np.full(n, SHIFT))))
        affine = np.column_stack([np.ones(n), y])[:, None, :]
        flips = _null_vectors(matrix, shifted, SHIFT, d + 1)
        reflectable = _moved(flips.reshape(n, 1, -1), affine, pairs.graph)
        extra = flips.shape[1] - (d + 1)
        return cls(movable, reflectable, motions.shape[1] - d * (d + 1) // 2, max(0, extra))


def _rigidity(ends: Ends, y: Array) -> tuple[csc_array, Array]:
    """Return the matrix of the derivatives of the distances, and the distances."""
    m, d = len(ends), y.shape[1]
    steps = y[ends[:, 0]] - y[ends[:, 1]]
    lengths = np.linalg.norm(steps, axis=1)
    units = steps / lengths[:, None]
    columns = (ends[:, :, None] * d + np.arange(d)).ravel()
    rows = np.repeat(np.arange(m), 2 * d)
    values = np.stack([units, -units], axis=1).ravel()
    return csc_array(coo_array((values, (rows, columns)), shape=(m, y.size))), lengths


def _null_vectors(matrix: csc_array, factor: object, shift: float, least: int) -> Array:
    """Return an orthonormal basis of the null space, with at most `MAX_MODES` more vectors than expected."""
    from scipy.sparse.linalg import LinearOperator

    n = matrix.shape[0]
    count = least + MAX_MODES
    if n <= 4 * count:
        values, vectors = np.linalg.eigh(matrix.toarray())
    else:
        solve = LinearOperator((n, n), matvec=factor.solve, dtype=np.float64)  # type: ignore[attr-defined]
        start = np.random.default_rng(0).normal(size=n)
        values, vectors = eigsh(matrix, k=count, sigma=-shift, OPinv=solve, v0=start)
    order = np.argsort(np.abs(values))
    found = max(least, int((np.abs(values) <= NULL / SHIFT * shift).sum()))
    return np.asarray(vectors[:, order[:found]])


def _motions(y: Array) -> Array:
    """Return the rigid motions of points, to first order: shape (n, d, d (d + 1) / 2)."""
    n, d = y.shape
    found = [np.tile(axis, (n, 1)) for axis in np.eye(d)]
    for a in range(d):
        for b in range(a):
            turn = np.zeros((n, d))
            turn[:, a], turn[:, b] = -y[:, b], y[:, a]
            found.append(turn)
    return np.stack(found, axis=2)


def _moved(vectors: Array, trivial: Array, near: csr_array) -> npt.NDArray[np.bool_]:
    """Return the points that null vectors move against the largest part, of shapes (n, c, k) and (n, c, t).

    The trivial motions are fitted to points within one step of a random one, then within two, again and
    again; the motion that most points follow is that of the largest part.
    """
    n = len(vectors)
    limit = MOVED * float(np.abs(vectors).max(initial=0.0))
    best = np.zeros(n, dtype=bool)
    for center in np.random.default_rng(0).permutation(n)[:TRIALS]:
        close = near[[center]].indices
        for sample in (np.append(close, center), np.unique(near[close].indices)):
            follows = _following(vectors, trivial, sample, limit)
            if follows.sum() > best.sum():
                best = follows
        if 2 * best.sum() > n:
            break
    return ~_following(vectors, trivial, np.flatnonzero(best), limit) if best.any() else ~best


def _following(vectors: Array, trivial: Array, sample: Numbers, limit: float) -> npt.NDArray[np.bool_]:
    """Return the points that follow the trivial motion fitted to a sample."""
    n, _, k = vectors.shape
    basis, target = trivial[sample].reshape(-1, trivial.shape[2]), vectors[sample].reshape(-1, k)
    motion = np.linalg.lstsq(basis, target, rcond=None)[0]
    left = vectors - trivial @ motion
    return np.asarray(np.abs(left).reshape(n, -1).max(axis=1) <= limit)


def _equilibrium(rigidity: csc_array, factor: object) -> Array:
    """Return a random combination of tensions of the pairs whose forces cancel at every point."""
    tension = np.random.default_rng(1).normal(size=rigidity.shape[0])
    for _ in range(4):
        tension = tension - rigidity @ factor.solve(rigidity.T @ tension)  # type: ignore[attr-defined]
    return np.asarray(tension)
