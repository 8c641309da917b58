"""How an embedding keeps who is near whom: trustworthiness, continuity, and all else that ranks tell.

Trustworthiness and continuity (Venna & Kaski 2001), Q_NX, R_NX and the area under it (Lee & Verleysen
2009; Lee et al. 2013), LCMC (Chen & Buja 2009), the agreement rate (Akkucuk & Carroll 2006), mean relative
rank errors (Lee & Verleysen 2007) and the Rand index (France & Carroll 2007).

The rank of j about i is its place, from 1 to n - 1, among the other points in the order of their distance
to i, ties in order of index. All measures follow from two tables: the ranks in X of the nearest in Y, and
the ranks in Y of the nearest in X. None knows distances, so none sees a region that is stretched, or one
laid on another of which no point is near; see :func:`unbend.faithfulness` for those.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import as_count, thread_count
from ..core.jsonable import finite
from ..graph.neighbors import Neighborhoods
from .sampling import HALF_WIDTH, Array, Centers, NCenters, interval, pair, sampled

__all__ = [
    "Ranks",
    "agreement_rate",
    "continuity",
    "coranking_matrix",
    "lcmc",
    "mrre",
    "q_nx",
    "r_nx",
    "rand_index",
    "ranks",
    "trustworthiness",
]

Name = Literal[
    "trustworthiness", "continuity", "q_nx", "r_nx", "lcmc", "mrre_false", "mrre_missing", "rand_index", "auc"
]
Table = npt.NDArray[np.uint32]
_Curve = tuple[Array, Array, Array]

# What chance is taken off from: below 0 where less than by chance is kept, and 0 at random.
_SIGNED = ("r_nx", "lcmc", "auc")
# Reversed ranks score 1, and there is worse: 1.25 with 4 points and 2 neighbours.
_UNCAPPED = ("mrre_false", "mrre_missing")
_N_NEIGHBORS = 12


@dataclass(frozen=True, eq=False)
class Ranks:
    """Every measure by ranks, for 1 to K neighbours at once.

    Each is an array with an entry for every entry of `k`.

    Attributes
    ----------
    k : ndarray of int
        The numbers of neighbours, 1 to K.
    trustworthiness, continuity : ndarray
        T and C, in [0, 1]: 1 where no point among the k nearest in Y comes from farther away in X, and
        where none of the k nearest in X is lost; what comes from far away costs its rank. 0 is the worst
        that can be.
    q_nx, r_nx, lcmc : ndarray
        The share of the k nearest that both sides have in common, in [0, 1]; the same scaled so that
        chance is 0 and perfection 1; and the same less chance, k / (n - 1). `q_nx` is also called the
        agreement rate, and `r_nx` the corrected one. At k = n - 1 `r_nx` is 0.
    mrre_false, mrre_missing : ndarray
        Mean relative rank errors of the nearest in Y and of those in X: 0 is perfect, and 1 is what reversed
        ranks score. A little more is possible.
    rand_index : ndarray
        The share of the other points that are neighbours on both sides or on neither; in [0, 1], 1 is
        perfect. For small k it is near 1 for any embedding: look at :meth:`null`.
    auc : float
        The mean of `r_nx` with weights 1 / k, up to n - 2. With K = n - 2 it is the published area under the
        curve over log k.
    best_k : int
        Where `lcmc` is largest.
    coranking : ndarray of int, shape (K, K)
        The corner of the co-ranking matrix: how many pairs have rank r + 1 in X and s + 1 in Y.
    n_points : int
        How many points there are.
    centers : ndarray of int
        The points looked at.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> m = ub.metrics.ranks(X, coordinates, n_neighbors=20)
    >>> bool(m.trustworthiness.min() > 0.99), m.auc > 0.9
    (True, True)
    >>> bool(abs(m.null("trustworthiness")[-1] - 0.5) < 0.01)  # what a random embedding scores
    True
    """

    n_points: int
    centers: npt.NDArray[np.uint32] = field(repr=False)
    _in_x: Table = field(repr=False)
    _in_y: Table = field(repr=False)
    _curves: dict[str, _Curve] = field(repr=False)
    auc: float
    _auc_spread: float = field(repr=False)

    @property
    def k(self) -> npt.NDArray[np.int64]:
        """The numbers of neighbours, 1 to K."""
        return np.arange(1, self._in_x.shape[1] + 1)

    @property
    def trustworthiness(self) -> Array:
        """1 where no stranger is among the nearest in Y."""
        return self._curves["trustworthiness"][0]

    @property
    def continuity(self) -> Array:
        """1 where none of the nearest in X is lost."""
        return self._curves["continuity"][0]

    @property
    def q_nx(self) -> Array:
        """The share of the nearest that both sides have in common."""
        return self._curves["q_nx"][0]

    @property
    def r_nx(self) -> Array:
        """The same, 0 for chance and 1 for perfection."""
        return self._curves["r_nx"][0]

    @property
    def lcmc(self) -> Array:
        """The same less chance."""
        return self._curves["lcmc"][0]

    @property
    def mrre_false(self) -> Array:
        """Relative error of the ranks of the nearest in Y."""
        return self._curves["mrre_false"][0]

    @property
    def mrre_missing(self) -> Array:
        """Relative error of the ranks of the nearest in X."""
        return self._curves["mrre_missing"][0]

    @property
    def rand_index(self) -> Array:
        """The share of others that are neighbours on both sides or on neither."""
        return self._curves["rand_index"][0]

    @property
    def best_k(self) -> int:
        """Where `lcmc` is largest; of several the smallest."""
        return int(np.argmax(self.lcmc)) + 1

    @cached_property
    def coranking(self) -> Table:
        """The K x K corner of the co-ranking matrix, of the points looked at."""
        return _core.coranking_corner(self.n_points, self._in_x, self._in_y)

    def null(self, name: Name) -> Array | float:
        """Return what a measure is, in the mean, when the points of Y are relabelled at random: exact."""
        if name == "auc":
            return 0.0
        null = self._curve(name)[2]
        return np.zeros_like(null) if name in _SIGNED else null

    def standard_error(self, name: Name) -> Array | float:
        """Return the standard error of a measure for every k; 0 when all points were looked at."""
        m = len(self.centers)
        spread: Array | float = self._auc_spread if name == "auc" else self._curve(name)[1]
        if m == 1 < self.n_points:
            return spread * 0 + np.inf  # one point says nothing of the others
        return spread * float(np.sqrt((1 - m / self.n_points) / m))

    def interval(self, name: Name, k: int | None = None) -> tuple[float, float]:
        """Return the 95 % interval of a measure with `k` neighbours, K by default; `auc` has no k.

        When all points were looked at the value is exact and both ends are the same.
        """
        low, high = -1.0 if name in _SIGNED else 0.0, np.inf if name in _UNCAPPED else 1.0
        if name == "auc":
            return interval(self.auc, float(self.standard_error(name)), low, high)
        at = self._place(k)
        errors = np.asarray(self.standard_error(name))
        return interval(float(self._curve(name)[0][at]), float(errors[at]), low, high)

    def per_point(self, name: Name, k: int | None = None) -> Array:
        """Return the value of every point looked at with `k` neighbours, K by default.

        Their mean is the measure. A point can be below 0 in `r_nx` and `lcmc`.
        """
        if name != "auc":
            self._curve(name)
        return _core.rank_values(self.n_points, self._in_x, self._in_y, name, self._place(k) + 1)

    def to_dict(self) -> dict[str, Any]:
        """Return all curves and numbers without the arrays of points.

        Ready for JSON: what is not finite is None.
        """
        curves = {name: curve[0].tolist() for name, curve in self._curves.items()}
        counts = {"n_points": self.n_points, "n_centers": len(self.centers), "k": self.k.tolist()}
        names: tuple[Any, ...] = (*self._curves, "auc")
        errors = {name: np.asarray(self.standard_error(name)).tolist() for name in names}
        held = {**counts, **curves, "auc": self.auc, "best_k": self.best_k, "standard_error": errors}
        return {name: finite(value) for name, value in held.items()}

    def _curve(self, name: str) -> _Curve:
        if not isinstance(name, str) or name not in self._curves:
            raise ValueError(f"{name!r} is unknown: use one of {', '.join((*self._curves, 'auc'))}")
        return self._curves[name]

    def _place(self, k: int | None) -> int:
        most = int(self._in_x.shape[1])
        if k is None:
            return most - 1
        wanted = as_count(k, "k")
        if wanted > most:
            raise ValueError(f"k = {wanted} is out of range: {most} neighbours were looked at")
        return wanted - 1


def ranks(
    X: Any,
    Y: Any,
    n_neighbors: int | None = None,
    *,
    neighborhoods: Neighborhoods | None = None,
    n_centers: NCenters = None,
    half_width: float = HALF_WIDTH,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Ranks:
    """Measure by ranks with 1 to `n_neighbors` neighbours: trustworthiness, continuity, Q_NX, and all others.

    Invariant under rotation, translation and scaling of X and of Y. Exact, ties in order of index.

    Cost: the search for neighbours on both sides, and for their ranks about as much again; never a matrix
    of all distances. Memory: O(n K).

    Parameters
    ----------
    X : array-like of shape (n, q)
        The data.
    Y : array-like of shape (n, d)
        Their embedding, from any tool; of any dimension.
    n_neighbors : int, default 12
        K, the largest number of neighbours; of `neighborhoods`, if they are given, all by default.
    neighborhoods : Neighborhoods, optional
        The exact nearest of every point of X, at least K for each, nearest first, if they are known: they are
        taken as they are.
    n_centers : int or "auto", optional
        Look at this many points only, drawn at random; with "auto" at as many as it takes to know
        trustworthiness, continuity and Q_NX with K neighbours within `half_width`, with 95 % confidence.
    half_width : float, default 0.005
        Half of the length of the intervals asked for with ``n_centers="auto"``.
    random_state : int, Generator or RandomState, optional
        Which points are drawn.
    n_jobs : int, optional
        Number of threads; all by default. The result is the same for any number.

    Returns
    -------
    Ranks

    Raises
    ------
    ValueError
        If X and Y do not belong together, or hold entries that are not finite, or if `neighborhoods` list
        too few.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> good, shadow = ub.metrics.ranks(X, coordinates), ub.metrics.ranks(X, X[:, :2])
    >>> bool((good.trustworthiness > shadow.trustworthiness).all())
    True
    """
    (x, y), threads = pair(X, Y, narrower=False), thread_count(n_jobs)
    k, graph = _known(len(x), n_neighbors, neighborhoods)
    n = len(x)

    def measure(centers: Centers) -> tuple[Table, Table]:
        return _core.rank_tables(x, y, k, graph, centers, threads)

    def aims(tables: tuple[Table, Table]) -> list[Array]:
        return [_core.rank_values(n, *tables, name, k) for name in ("trustworthiness", "continuity", "q_nx")]

    centers, tables = sampled(n, n_centers, half_width, random_state, measure, aims)
    curves = _core.rank_curves(n, *tables)
    auc, spread = curves.pop("auc")
    everyone = np.arange(n, dtype=np.uint32) if centers is None else centers
    return Ranks(n, everyone, *tables, curves, auc, spread)


def trustworthiness(X: Any, Y: Any, n_neighbors: int | None = None, **options: Any) -> Any:
    """Return T(k): how far the nearest in Y can be trusted to be near in X (Venna & Kaski 2001).

    One less the ranks by which strangers among the k nearest in Y are too far in X, over the most that it
    can be: in [0, 1], 1 is perfect, and at random it is about 1/2. With k >= n / 2 the most that it can be is
    n (n - k) (n - k - 1) / 2 instead of n k (2n - 3k - 1) / 2.

    Parameters
    ----------
    X, Y, n_neighbors
        As for :func:`ranks`.
    **options
        `per_point` (return the value of every point instead of their mean), and what :func:`ranks` takes.

    Returns
    -------
    float, or ndarray of shape (n,)

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> ub.metrics.trustworthiness(X, coordinates) > 0.99
    True
    """
    return _one("trustworthiness", X, Y, n_neighbors, **options)


def continuity(X: Any, Y: Any, n_neighbors: int | None = None, **options: Any) -> Any:
    """Return C(k): how far the nearest in X stay near in Y; :func:`trustworthiness` with sides exchanged.

    Parameters
    ----------
    X, Y, n_neighbors, **options
        As for :func:`trustworthiness`.

    Returns
    -------
    float, or ndarray of shape (n,)

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> ub.metrics.continuity(X, coordinates) == ub.metrics.trustworthiness(coordinates, X)
    True
    """
    return _one("continuity", X, Y, n_neighbors, **options)


def q_nx(X: Any, Y: Any, n_neighbors: int | None = None, **options: Any) -> Any:
    """Return Q_NX(k): the share of the k nearest that X and Y have in common (Lee & Verleysen 2009).

    In [0, 1], 1 is perfect, k / (n - 1) is chance.

    Parameters
    ----------
    X, Y, n_neighbors, **options
        As for :func:`trustworthiness`.

    Returns
    -------
    float, or ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> ub.metrics.q_nx(X, 3 * X[:, ::-1], n_neighbors=5)
    1.0
    """
    return _one("q_nx", X, Y, n_neighbors, **options)


def r_nx(X: Any, Y: Any, n_neighbors: int | None = None, **options: Any) -> Any:
    """Return R_NX(k): :func:`q_nx` scaled so that chance is 0 and perfection 1 (Lee et al. 2013).

    Parameters
    ----------
    X, Y, n_neighbors, **options
        As for :func:`trustworthiness`.

    Returns
    -------
    float, or ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X, Y = np.random.default_rng(0).normal(size=(2, 500, 2))
    >>> abs(ub.metrics.r_nx(X, Y)) < 0.02  # nothing in common
    True
    """
    return _one("r_nx", X, Y, n_neighbors, **options)


def lcmc(X: Any, Y: Any, n_neighbors: int | None = None, **options: Any) -> Any:
    """Return LCMC(k), the local continuity meta-criterion: :func:`q_nx` less chance (Chen & Buja 2009).

    At most 1 - k / (n - 1), 0 at random. The k at which it is largest is ``ranks(...).best_k``.

    Parameters
    ----------
    X, Y, n_neighbors, **options
        As for :func:`trustworthiness`.

    Returns
    -------
    float, or ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X = np.random.default_rng(0).normal(size=(101, 2))
    >>> round(ub.metrics.lcmc(X, X, n_neighbors=10), 12)
    0.9
    """
    return _one("lcmc", X, Y, n_neighbors, **options)


def mrre(
    X: Any,
    Y: Any,
    n_neighbors: int | None = None,
    *,
    kind: Literal["false", "missing"] = "false",
    **options: Any,
) -> Any:
    """Return a mean relative rank error (Lee & Verleysen 2007): 0 is perfect, 1 is what reversed ranks score.

    Over the k nearest, s their ranks in their own space and r on the other side: ``|r - s| / s``, over
    H = sum of ``|n - 2s| / s``. That is what reversed ranks give and not the most there is: 4 points with 2
    neighbours can reach 1.25, and no up to 39 points more than that. Unlike trustworthiness it sees ranks
    exchanged within a neighbourhood.

    Parameters
    ----------
    X, Y, n_neighbors, **options
        As for :func:`trustworthiness`.
    kind : {"false", "missing"}, default "false"
        Of the nearest in Y, which may be false neighbours, or of those in X, which may be missing.

    Returns
    -------
    float, or ndarray of shape (n,)

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> ub.metrics.mrre(X, coordinates) < 0.01 < ub.metrics.mrre(X, X[:, :2])
    True
    """
    if kind not in ("false", "missing"):
        raise ValueError(f"kind = {kind!r} is unknown: use 'false' or 'missing'")
    return _one("mrre_false" if kind == "false" else "mrre_missing", X, Y, n_neighbors, **options)


def agreement_rate(
    X: Any, Y: Any, n_neighbors: int | None = None, *, corrected: bool = False, **options: Any
) -> Any:
    """Return the agreement rate (Akkucuk & Carroll 2006), the same number as :func:`q_nx`.

    Parameters
    ----------
    X, Y, n_neighbors, **options
        As for :func:`trustworthiness`.
    corrected : bool, default False
        Correct it for what random relabelling gives, which is known exactly: the same number as :func:`r_nx`.

    Returns
    -------
    float, or ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> ub.metrics.agreement_rate(X, X[:, :1]) == ub.metrics.q_nx(X, X[:, :1])
    True
    """
    return _one("r_nx" if corrected else "q_nx", X, Y, n_neighbors, **options)


def rand_index(X: Any, Y: Any, n_neighbors: int | None = None, **options: Any) -> Any:
    """Return the Rand index (France & Carroll 2007) of who is a neighbour on either side.

    The share of the other points that are neighbours on both sides or on neither: in [0, 1], 1 is perfect.
    While k is small it is near 1 for any embedding.

    Parameters
    ----------
    X, Y, n_neighbors, **options
        As for :func:`trustworthiness`.

    Returns
    -------
    float, or ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X, Y = np.random.default_rng(0).normal(size=(2, 500, 2))
    >>> ub.metrics.rand_index(X, Y, n_neighbors=5) > 0.97  # and yet they have nothing in common
    True
    """
    return _one("rand_index", X, Y, n_neighbors, **options)


def coranking_matrix(
    X: Any,
    Y: Any,
    n_neighbors: int | None = None,
    *,
    neighborhoods: Neighborhoods | None = None,
    n_jobs: int | None = None,
) -> Table:
    """Return the co-ranking matrix (Lee & Verleysen 2009).

    Its entry (r, s) says how many pairs have rank r + 1 in X and s + 1 in Y.

    Cost: with `n_neighbors` that of :func:`ranks`; the whole matrix takes a sort of all distances of every
    point, O(n^2 (q + d + log n)), and 4 n^2 bytes.

    Parameters
    ----------
    X, Y, neighborhoods, n_jobs
        As for :func:`ranks`.
    n_neighbors : int, optional
        The corner of this size; the whole, (n - 1) x (n - 1), by default.

    Returns
    -------
    ndarray of uint32

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> bool((ub.metrics.coranking_matrix(X, X) == 50 * np.eye(49)).all())
    True
    """
    if n_neighbors is not None or neighborhoods is not None:
        return ranks(X, Y, n_neighbors, neighborhoods=neighborhoods, n_jobs=n_jobs).coranking
    x, y = pair(X, Y, narrower=False)
    if len(x) < 2:
        raise ValueError(f"ranks need at least 2 points, got {len(x)}")
    return _core.coranking_matrix(x, y, thread_count(n_jobs))


def _one(
    name: Name, X: Any, Y: Any, n_neighbors: int | None, *, per_point: bool = False, **options: Any
) -> float | Array:
    m = ranks(X, Y, n_neighbors, **options)
    return m.per_point(name) if per_point else float(m._curve(name)[0][-1])


def _known(n: int, n_neighbors: int | None, given: Neighborhoods | None) -> tuple[int, Any]:
    """Return K, and the graph that was given, if it holds what is needed."""
    if given is None:
        return as_count(_N_NEIGHBORS if n_neighbors is None else n_neighbors, "n_neighbors"), None
    if not isinstance(given, Neighborhoods):
        raise TypeError(f"neighborhoods must be unbend.Neighborhoods, got {type(given).__name__}")
    if len(given) != n:
        raise ValueError(f"X has {n} rows, but neighborhoods are of {len(given)} points")
    size = given.n_neighbors
    if size is None:
        raise ValueError("neighborhoods differ in size: ranks need as many neighbours for every point")
    k = size if n_neighbors is None else as_count(n_neighbors, "n_neighbors")
    if k > size:
        raise ValueError(f"n_neighbors = {k} exceeds the {size} neighbours that neighborhoods list")
    return k, given._graph
