"""Measures of how well an embedding keeps neighbors: trustworthiness, continuity, and all others by ranks.

The rank of j about i is its place, from 1 to n - 1, among the other points in the order of their distance
to i, ties in order of index. All measures follow from two tables: the ranks in X of the nearest in Y, and
the ranks in Y of the nearest in X. Ranks hold no distances, so no measure detects a stretched region, or
one that lies on another without mixing its nearest points; see :func:`unbend.faithfulness` for those.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import as_count, thread_count
from ..core.jsonable import finite
from ..core.kinds import as_flag, choice
from ..core.notebook import Rows, as_html
from ..core.parameters import documented
from ..graph.neighbors import Neighborhoods, resolve
from .sampling import HALF_WIDTH, NORMAL_95, Array, Centers, NCenters, Sampling, interval, pair
from .table import PARAMETERS, Measure, by_name, scoring

MEASURES = by_name(
    Measure("trustworthiness", "trustworthiness", "ranks", "higher", 0, 1, "near in Y is near in X"),
    Measure("continuity", "continuity", "ranks", "higher", 0, 1, "near in X is near in Y"),
    Measure("q_nx", "Q_NX", "ranks", "higher", 0, 1, "neighbors kept"),
    Measure("r_nx", "R_NX", "ranks", "higher", -1, 1, "the same beyond chance"),
    Measure("auc", "area of R_NX", "ranks", "higher", -1, 1, "over k, near ones first"),
    Measure("lcmc", "LCMC", "ranks", "higher", -1, 1, "Q_NX less chance"),
    Measure("mrre_false", "MRRE, Y to X", "ranks", "lower", 0, inf, "ranks of the near in Y"),
    Measure("mrre_missing", "MRRE, X to Y", "ranks", "lower", 0, inf, "ranks of the near in X"),
    Measure("rand_index", "RAND index", "ranks", "higher", 0, 1, "near in both or neither"),
)

Name = Literal[
    "trustworthiness", "continuity", "q_nx", "r_nx", "lcmc", "mrre_false", "mrre_missing", "rand_index", "auc"
]
_KNOWN = choice(*get_args(Name))
MrreKind = Literal["false", "missing"]
Table = npt.NDArray[np.uint32]

_N_NEIGHBORS = 12


@dataclass(frozen=True, eq=False)
class Ranks:
    """Every measure by ranks, for 1 to K neighbors at once.

    Each measure is an array with an entry for every entry of `k`.

    Attributes
    ----------
    n_points : int
        Number of points.
    auc : float
        The mean of `r_nx` with weights 1 / k, up to n - 2. With K = n - 2 it is the published area under the
        curve over log k.
    centers : ndarray of int
        The measured points.
    trustworthiness, continuity, q_nx, r_nx, lcmc, mrre_false, mrre_missing, rand_index : ndarray
        The measures, as from the functions of these names; of :func:`mrre` for both kinds. At k = n - 1
        `r_nx` is 0.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> m = ub.metrics.ranks(X, coordinates, n_neighbors=20)
    >>> m.auc > 0.9
    True
    >>> bool(abs(m.null("trustworthiness")[-1] - 0.5) < 0.01)  # the score of a random embedding
    True
    """

    n_points: int
    auc: float
    centers: npt.NDArray[np.uint32] = field(repr=False)
    trustworthiness: Array = field(repr=False)
    continuity: Array = field(repr=False)
    q_nx: Array = field(repr=False)
    r_nx: Array = field(repr=False)
    lcmc: Array = field(repr=False)
    mrre_false: Array = field(repr=False)
    mrre_missing: Array = field(repr=False)
    rand_index: Array = field(repr=False)
    _spreads: Mapping[str, Array | float] = field(repr=False)
    _nulls: Mapping[str, Array] = field(repr=False)
    _tables: _core.RankTables = field(repr=False)
    _values: Mapping[str, Array] = field(repr=False)

    @property
    def k(self) -> npt.NDArray[np.int64]:
        """The numbers of neighbors, 1 to K."""
        return np.arange(1, self._tables.k + 1)

    @property
    def best_k(self) -> int:
        """The k with the largest `lcmc`; the smallest of several."""
        return int(np.argmax(self.lcmc)) + 1

    @cached_property
    def coranking(self) -> Table:
        """The corner of :func:`coranking_matrix` of the measured points, of shape (K, K)."""
        return self._tables.coranking()

    def null(self, name: Name) -> Array | float:
        """Return the exact mean of a measure when the points of Y are relabeled at random."""
        _KNOWN.test(name, "measure")
        if name == "auc":
            return 0.0
        return np.zeros(self._tables.k) if MEASURES[name].low < 0 else self._nulls[name]

    def standard_error(self, name: Name) -> Array | float:
        """Return the standard error of a measure for every k; 0 when all points were measured."""
        _KNOWN.test(name, "measure")
        m, spread = len(self.centers), self._spreads[name]
        if m == 1 < self.n_points:
            return spread * 0 + np.inf  # one point says nothing about the others
        return spread * float(np.sqrt((1 - m / self.n_points) / m))

    def interval(self, name: Name, k: int | None = None) -> tuple[float, float]:
        """Return the 95 % interval of a measure with `k` neighbors, K by default; `auc` has no k."""
        errors = np.atleast_1d(self.standard_error(name))
        at = -1 if name == "auc" else self._place(k)
        value, measure = np.atleast_1d(getattr(self, name))[at], MEASURES[name]
        return interval(float(value), float(errors[at]), measure.low, measure.high)

    def per_point(self, name: Name, k: int | None = None) -> Array:
        """Return the value of every measured point with `k` neighbors, K by default."""
        return self.at_points([name], k)[name]

    def at_points(self, names: Sequence[str], k: int | None = None) -> dict[str, Array]:
        """Return :meth:`per_point` of several measures, found together."""
        for name in names:
            _KNOWN.test(name, "measure")
        wanted = self._place(k) + 1
        if wanted == self._tables.k and all(name in self._values for name in names):
            return {name: self._values[name] for name in names}
        values = self._tables.values(list(names), wanted)
        return {name: values[name] for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Return all curves and numbers, without the arrays of points, for JSON: None if not finite."""
        numbers: dict[str, Any] = {name: getattr(self, name).tolist() for name in (*self._nulls, "k")}
        numbers |= {name: getattr(self, name) for name in ("n_points", "auc", "best_k")}
        errors = {name: np.asarray(self.standard_error(name)).tolist() for name in get_args(Name)}
        numbers |= {"n_centers": len(self.centers), "standard_error": errors}
        return {name: finite(value) for name, value in numbers.items()}

    def _repr_html_(self) -> str:
        """Return a table of all measures with K neighbors for a notebook."""
        m, k = len(self.centers), self._tables.k
        points = f"all of {self.n_points:,}" if m == self.n_points else f"{m:,} of {self.n_points:,}"
        extent = f"Measures by ranks with {k:,} neighbors, at {points} points."
        best = f"LCMC is largest with {self.best_k:,} neighbors."
        heads = ("", "value", "95 %" if m < self.n_points else "", "random", "meaning")
        return as_html(extent, Rows(heads, map(self._shown, get_args(Name)), "<>>><"), best)

    def _shown(self, name: Name) -> tuple[str, ...]:
        value, null, error = (
            float(np.atleast_1d(numbers)[-1])
            for numbers in (getattr(self, name), self.null(name), self.standard_error(name))
        )
        symbol, meaning = MEASURES[name].words
        margin = f"± {NORMAL_95 * error:.2g}" if error else ""
        return symbol, f"{value:.4g}", margin, f"{null:.3g}", meaning

    def _place(self, k: int | None) -> int:
        most = self._tables.k
        if k is None:
            return most - 1
        wanted = as_count(k, "k")
        if wanted > most:
            raise ValueError(f"k = {wanted} is out of range: at most {most} neighbors were measured")
        return wanted - 1


@scoring(0.999, 0.371, attribute=".auc")
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
    """Take all measures by ranks with 1 to `n_neighbors` neighbors, such as trustworthiness and continuity.

    Exact, with ties in order of index. Invariant under rotation, translation and scaling of X and of Y.

    Cost: twice the search for neighbors on both sides. Memory: O(n K).

    Parameters
    ----------
    n_neighbors : int, default 12
        K, the largest number of neighbors. With `neighborhoods`, all that they list by default.
    neighborhoods : Neighborhoods, optional
        The exact nearest of every point of X, at least K each, nearest first, if they are already computed.
        They are not checked.
    n_centers : int or "auto", optional
        Number of points to measure, as a random sample; all by default. "auto" takes a sample large enough to
        know trustworthiness, continuity and Q_NX with K neighbors within `half_width`.
    """
    sampling = Sampling(n_centers, half_width, random_state=random_state, n_jobs=n_jobs)
    x, y = pair(X, Y, narrower=False)
    k, graph = _nearest(len(x), n_neighbors, neighborhoods)
    known = ["trustworthiness", "continuity", "q_nx"] if n_centers == "auto" else []
    return sampling.measured(
        len(x),
        lambda centers: measured_ranks(x, y, k, graph, at_points=known, centers=centers, n_jobs=n_jobs),
        lambda m: m.at_points(known).values(),
    )[1]


def measured_ranks(
    x: Any,
    y: Any,
    k: int,
    graph: Any = None,
    *,
    at_points: Sequence[str] = (),
    centers: Centers = None,
    n_jobs: int | None = None,
) -> Ranks:
    """Measure checked arrays with 1 to `k` neighbors; `graph` holds the exact nearest in `x` if known.

    The measures `at_points` are taken at points as well, which saves a call of :meth:`Ranks.at_points`.
    """
    threads = thread_count(n_jobs)
    tables, curves, area, values = _core.rank_tables(x, y, k, graph, centers, list(at_points), threads)
    auc, auc_spread = area
    curves = {name: curves[name] for name in get_args(Name) if name in curves}  # The core has no order.
    return Ranks(
        n_points=len(x),
        auc=auc,
        centers=np.arange(len(x), dtype=np.uint32) if centers is None else centers,
        **{name: curve for name, (curve, _, _) in curves.items()},
        _spreads={name: spreads for name, (_, spreads, _) in curves.items()} | {"auc": auc_spread},
        _nulls={name: null for name, (_, _, null) in curves.items()},
        _tables=tables,
        _values={name: values[name] for name in at_points},
    )


def _shorthand(name: Name, scores: tuple[float, float], text: str) -> Callable[..., Any]:
    """Return the function of one measure, from its documentation and the scores of the example."""

    def measure(
        X: Any, Y: Any, n_neighbors: int | None = None, *, per_point: bool = False, **options: Any
    ) -> Any:
        return _one(name, X, Y, n_neighbors, per_point, **options)

    measure.__name__ = measure.__qualname__ = name
    measure.__doc__ = text
    return scoring(*scores, of="ranks")(measure)


trustworthiness: Callable[..., Any] = _shorthand(
    "trustworthiness",
    (1.0, 0.802),
    """Return the trustworthiness T(k): 1 if nearest neighbors in Y are near in X (Venna & Kaski 2001).

    If one of the k nearest in Y is not among the k nearest in X, it costs the excess of its rank in X. T is 1
    minus the sum of costs over its maximum: in [0, 1], 1 is perfect, about 1/2 at random. The maximum is
    n k (2n - 3k - 1) / 2, and n (n - k) (n - k - 1) / 2 if k >= n / 2.
    """,
)
continuity: Callable[..., Any] = _shorthand(
    "continuity",
    (1.0, 0.99),
    "Return the continuity C(k): 1 if nearest neighbors in X are near in Y; T(k) with X and Y exchanged.",
)
q_nx: Callable[..., Any] = _shorthand(
    "q_nx",
    (0.998, 0.397),
    """Return Q_NX(k): the share of the k nearest that X and Y have in common (Lee & Verleysen 2009).

    In [0, 1]: 1 is perfect, and k / (n - 1) is chance.
    """,
)
r_nx: Callable[..., Any] = _shorthand(
    "r_nx",
    (0.998, 0.389),
    "Return R_NX(k): :func:`q_nx` scaled so that chance is 0 and perfection 1 (Lee et al. 2013).",
)
lcmc: Callable[..., Any] = _shorthand(
    "lcmc",
    (0.986, 0.385),
    """Return LCMC(k), the local continuity meta-criterion: :func:`q_nx` minus chance (Chen & Buja 2009).

    At most 1 - k / (n - 1), and 0 at random. It is largest at the k of ``ranks(...).best_k``.
    """,
)
rand_index: Callable[..., Any] = _shorthand(
    "rand_index",
    (1.0, 0.986),
    """Return the Rand index of the neighbors in X and in Y (France & Carroll 2007).

    It is the share of the other points that are neighbors on both sides or on neither: in [0, 1], 1 is
    perfect. For small k it is near 1 for any embedding.
    """,
)


@scoring(0.0, 0.203, of="trustworthiness")
def mrre(X: Any, Y: Any, n_neighbors: int | None = None, *, kind: MrreKind = "false", **options: Any) -> Any:
    """Return a mean relative rank error (Lee & Verleysen 2007): 0 is perfect, and reversed ranks score 1.

    It is the sum over the k nearest of ``|r - s| / s``, divided by H = sum of ``|n - 2s| / s``, the sum for
    reversed ranks. s is the rank in the space in which these are nearest, r that in the other. A little more
    than 1 is possible: 1.25 for 4 points with 2 neighbors, and no more for up to 39 points. Unlike
    trustworthiness it detects ranks exchanged within a neighborhood.

    Parameters
    ----------
    kind : {"false", "missing"}, default "false"
        Measure the nearest in Y, which may be false neighbors, or those in X, which may be missing.
    """
    choice(*get_args(MrreKind)).test(kind, "kind")
    return _one(f"mrre_{kind}", X, Y, n_neighbors, **options)


@scoring(0.998, 0.397, of="trustworthiness")
def agreement_rate(
    X: Any, Y: Any, n_neighbors: int | None = None, *, corrected: bool = False, **options: Any
) -> Any:
    """Return the agreement rate (Akkucuk & Carroll 2006), the same number as :func:`q_nx`.

    Parameters
    ----------
    corrected : bool, default False
        Correct it for the exact mean of random relabeling: the same number as :func:`r_nx`.
    """
    return _one("r_nx" if as_flag(corrected, "corrected") else "q_nx", X, Y, n_neighbors, **options)


@documented(PARAMETERS)
def coranking_matrix(
    X: Any,
    Y: Any,
    n_neighbors: int | None = None,
    *,
    neighborhoods: Neighborhoods | None = None,
    n_jobs: int | None = None,
) -> Table:
    """Return the co-ranking matrix (Lee & Verleysen 2009).

    Its entry (r, s) is the number of pairs with rank r + 1 in X and s + 1 in Y.

    Cost: with `n_neighbors` that of :func:`ranks`, otherwise O(n^2 (q + d + log n)) and 4 n^2 bytes.

    Parameters
    ----------
    n_neighbors : int, optional
        Size of the corner to return; by default the whole matrix, (n - 1) x (n - 1).

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
    name: Any, X: Any, Y: Any, n_neighbors: int | None, per_point: bool = False, **options: Any
) -> float | Array:
    m = ranks(X, Y, n_neighbors, **options)
    return m.per_point(name) if as_flag(per_point, "per_point") else float(getattr(m, name)[-1])


def _nearest(n: int, n_neighbors: int | None, given: Neighborhoods | None) -> tuple[int, Any]:
    """Return K and the graph of given neighborhoods, checked."""
    if given is None:
        return as_count(_N_NEIGHBORS if n_neighbors is None else n_neighbors, "n_neighbors"), None
    given = resolve(None, given, None, None, None)
    if len(given) != n:
        raise ValueError(f"X has {n} rows, but neighborhoods are of {len(given)} points")
    size = given.n_neighbors
    if size is None:
        raise ValueError("neighborhoods differ in size: ranks need as many neighbors for every point")
    k = size if n_neighbors is None else as_count(n_neighbors, "n_neighbors")
    if k > size:
        raise ValueError(f"n_neighbors = {k} exceeds the {size} neighbors that neighborhoods list")
    return k, given.core
