"""How faithful an embedding is: the measures of Goldberg & Ritov (2009), sections 3 and 6.

And the local measure of Zhang, Ren & Zhang, which lets every coordinate be rescaled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar, overload

import numpy as np
import numpy.typing as npt

from . import _core
from ._random import generator
from .neighbors import Neighborhoods, resolve
from .points import as_count, as_points, thread_count

__all__ = ["Faithfulness", "asim", "faithfulness", "lower_bound", "nieqa_local", "overlap", "procrustes"]

Array = npt.NDArray[np.float64]
Kind = Literal["R", "R_N", "R_C", "R_PCA"]
Normalization = Literal["centered", "paper"]
_FIELD = {"R": "r", "R_N": "r_n", "R_C": "r_c", "R_PCA": "r_pca"}

# The order in which the core lays them out; the largest and the smallest stretch come after them.
_PER_POINT = ("r", "r_n", "r_c", "r_pca", "bound", "area")

# Half-width of a 95 % interval in standard errors.
_NORMAL_95 = 1.959963984540054

# With fewer, noise across a surface makes points distant that are near in the truth: on a roll of 20,000
# points with noise 0.6 and 12 neighbours the true coordinates score 0.09 with 3 steps and 0.01 with 4. With
# more, layers are overlooked where a surface is only some steps wide.
OVERLAP_STEPS = 4

# The overlap above which distant points are said to lie on each other. With 12 neighbours the true
# coordinates of a roll stay far below it, even with noise 0.6; two layers on a tenth of the data reach it.
OVERLAPPING = 0.05

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class _Overlap:
    """Finds how much lies on what is far away, when somebody looks: it takes longer than all the rest.

    A copy or a file holds what it is found from, which a fitted estimator holds as well.
    """

    y: Any
    neighborhoods: Neighborhoods
    steps: int
    centers: npt.NDArray[np.uint32] | None
    n_jobs: int | None

    @cached_property
    def shares(self) -> Array:
        threads = thread_count(self.n_jobs)
        return _core.overlap(self.y, self.neighborhoods._graph, self.steps, self.centers, threads)

    @property
    def standard_error(self) -> float:
        # Without a sample the mean is exact, and nobody needs to look.
        share = 1.0 if self.centers is None else len(self.centers) / len(self.y)
        return 0.0 if share == 1 else _standard_error(self.shares, share)


class _WithOverlap(Mapping[str, Value], Generic[Value]):
    """What is known, and "overlap", which is found at the first look at its value."""

    def __init__(self, known: Mapping[str, Value], found: _Overlap, name: str) -> None:
        self.known: dict[str, Value] = dict(known.known if isinstance(known, _WithOverlap) else known)
        self._found, self._name = found, name

    def __getitem__(self, name: str) -> Value:
        if name == "overlap":
            value: Value = getattr(self._found, self._name)
            return value
        return self.known[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.known
        yield "overlap"

    def __len__(self) -> int:
        return len(self.known) + 1

    def __contains__(self, name: object) -> bool:
        return name == "overlap" or name in self.known

    def __repr__(self) -> str:
        return repr({**self.known, "overlap": ...})


@dataclass(frozen=True, eq=False)
class Faithfulness:
    """Every number of an embedding. Smaller is better and 0 is perfect.

    Attributes
    ----------
    r : float
        R, eq. 3: mean of G, the squared error after the best rotation and translation of each
        neighbourhood. Has the unit of the data, squared.
    r_n : float
        R_N, eq. 4: the same over the size of each neighbourhood. 0 is an isometry, 1 is what an
        embedding scores that shows nothing; larger still when it is far too large.
    r_c : float
        R_C, eq. 7: R_N when every neighbourhood may also be rescaled; in [0, 1]. 0 is a conformal map.
    r_pca : float
        R_PCA, eq. 6: R against the local principal components instead of the data.
    lower_bound : float
        Lemma 1: no embedding of this dimension can have a smaller R_N or R_C.
    overlap : float
        Section 6: the mean share of the nearest points in the embedding that are more than
        `overlap_steps` steps apart on the neighbourhood graph; in [0, 1]. What the others cannot see:
        regions that lie on each other. Computed when it, its interval or its entries are first looked at.
    scale, r_n_scaled : float
        The one factor for the whole embedding that makes R_N least, and R_N after it. Fair to
        algorithms that normalise their output.
    overlap_steps : int
        How many steps are not yet far for `overlap`.
    n_degenerate : int
        Neighbourhoods left out of the normalised means: their points coincide, their images do not.
    n_points, n_centers : int
        How many points there are, and how many neighbourhoods were measured.
    standard_error : mapping of float
        Of each mean, when a sample was measured; 0 when all were.
    per_point : mapping of ndarray
        For each neighbourhood measured: "r", "r_n", "r_c", "r_pca", "bound", "overlap"; and how the embedding
        stretches the tangent: "stretch" (largest and smallest, two columns; 1 is faithful) and "area"
        (by what areas are multiplied). Left-out neighbourhoods are infinite in "r_n" and "r_c".
    centers : ndarray of int
        The points whose neighbourhoods were measured, one for each entry of `per_point`.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(5000, random_state=0)
    >>> m = ub.faithfulness(X, coordinates, n_centers=500, random_state=0)
    >>> low, high = m.interval("r_n")
    >>> low < ub.faithfulness(X, coordinates).r_n < high
    True
    """

    r: float
    r_n: float
    r_c: float
    r_pca: float
    lower_bound: float
    scale: float
    r_n_scaled: float
    n_degenerate: int
    n_points: int
    n_centers: int
    standard_error: Mapping[str, float]
    per_point: Mapping[str, Array] = field(repr=False)
    centers: npt.NDArray[np.uint32] = field(repr=False)
    _overlap: _Overlap = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        """Join what is known to what will be found."""
        errors = _WithOverlap(self.standard_error, self._overlap, "standard_error")
        per_point = _WithOverlap(self.per_point, self._overlap, "shares")
        self.__dict__.update(standard_error=errors, per_point=per_point)

    @property
    def overlap(self) -> float:
        """The mean share of the nearest points in the embedding that are far apart in the data."""
        return float(self.per_point["overlap"].mean())

    @property
    def overlap_steps(self) -> int:
        """How many steps on the neighbourhood graph are not yet far for `overlap`."""
        return self._overlap.steps

    def __eq__(self, other: object) -> bool:
        """Whether all numbers are the same; `overlap` is compared last, for it may have to be computed."""
        if self is other or not isinstance(other, Faithfulness):
            return True if self is other else NotImplemented
        same = self._counted() == other._counted() and np.array_equal(self.centers, other.centers)
        return same and all(
            np.array_equal(held, other.per_point[name]) for name, held in self.per_point.items()
        )

    __hash__ = None  # type: ignore[assignment]

    def _counted(self) -> dict[str, float | int]:
        """Return the means and counts that are known."""
        known = {name: value for name, value in self.__dict__.items() if isinstance(value, float | int)}
        return known | {"overlap_steps": self.overlap_steps}

    def interval(self, name: str) -> tuple[float, float]:
        """Return the 95 % interval of a mean, for example ``m.interval("r_n")``.

        When all neighbourhoods were measured the value is exact and both ends are the same.
        """
        if name not in self.standard_error:
            raise ValueError(f"{name!r} has no interval: use one of {', '.join(self.standard_error)}")
        value, half = getattr(self, name), _NORMAL_95 * self.standard_error[name]
        return (max(0.0, value - half), value + half) if half > 0 else (value, value)

    def to_dict(self) -> dict[str, float | int | dict[str, float]]:
        """Return the means and counts, `overlap` among them, without the arrays: ready for JSON."""
        return {**self._counted(), "overlap": self.overlap, "standard_error": dict(self.standard_error)}


def faithfulness(
    X: Any,
    Y: Any,
    n_neighbors: int | None = None,
    *,
    radius: float | None = None,
    neighborhoods: Neighborhoods | None = None,
    include_self: bool = True,
    overlap_steps: int = OVERLAP_STEPS,
    n_centers: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Faithfulness:
    """Measure how faithfully an embedding shows the neighbourhoods of the data.

    One pass over the data, O(n) memory beyond the neighbourhoods. `overlap` is computed when it is
    looked at, from a copy of Y, as by :func:`overlap`. All numbers are invariant under
    rotation, reflection and translation of X and of Y; R_C also under scaling of Y.

    Parameters
    ----------
    X : array-like of shape (n, q)
        The data.
    Y : array-like of shape (n, d), d <= q
        Their embedding, from any tool.
    n_neighbors : int, default 12
        How many other points a neighbourhood holds.
    radius : float, optional
        Instead: all others at this distance or less.
    neighborhoods : Neighborhoods, optional
        Instead: those already computed.
    include_self : bool, default True
        Whether a point belongs to its own neighbourhood.
    overlap_steps : int, default 4
        Points more than this many steps apart on the neighbourhood graph should not be near in Y.
    n_centers : int, optional
        Measure only this many neighbourhoods, drawn at random; every mean then has a standard error.
    random_state : int, Generator or RandomState, optional
        Which neighbourhoods are drawn.
    n_jobs : int, optional
        Number of threads; all by default. The result is the same for any number.

    Returns
    -------
    Faithfulness

    Raises
    ------
    ValueError
        If X and Y do not belong together, or hold entries that are not finite.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> m = ub.faithfulness(X, coordinates, n_neighbors=12)
    >>> m.r_n < 1.02 * m.lower_bound  # the true coordinates are as good as can be
    True
    >>> ub.faithfulness(X, X[:, :2], n_neighbors=12).r_n > 0.1  # a shadow is not
    True
    """
    x, y = as_points(X, "X"), as_points(Y, "Y")
    if len(x) != len(y):
        raise ValueError(f"X has {len(x)} rows, but Y has {len(y)}")
    if y.shape[1] > x.shape[1]:
        raise ValueError(f"n_components = {y.shape[1]} exceeds the {x.shape[1]} dimensions of the data")
    steps = as_count(overlap_steps, "overlap_steps")
    centers = _draw(len(x), n_centers, random_state)
    found = resolve(x, neighborhoods, n_neighbors, radius, n_jobs)
    fields = np.empty((len(_PER_POINT) + 2, len(x) if centers is None else len(centers)))
    m = _core.faithfulness(x, y, found._graph, bool(include_self), centers, fields, thread_count(n_jobs))
    per_point = dict(zip(_PER_POINT, fields, strict=False)) | {"stretch": fields[len(_PER_POINT) :].T}
    return Faithfulness(
        **m,
        n_points=len(x),
        n_centers=len(per_point["r"]),
        standard_error=_standard_errors(per_point, len(x)),
        per_point=per_point,
        centers=np.arange(len(x), dtype=np.uint32) if centers is None else centers,
        _overlap=_Overlap(np.array(y, order="C"), found, steps, centers, n_jobs),
    )


@overload
def procrustes(
    X: Any, Y: Any, n_neighbors: int | None = ..., *, per_point: Literal[True], **options: Any
) -> Array: ...
@overload
def procrustes(
    X: Any, Y: Any, n_neighbors: int | None = ..., *, per_point: Literal[False] = ..., **options: Any
) -> float: ...
def procrustes(
    X: Any,
    Y: Any,
    n_neighbors: int | None = None,
    *,
    kind: Kind = "R_N",
    per_point: bool = False,
    **options: Any,
) -> float | Array:
    """Return one Procrustes measure.

    Parameters
    ----------
    X, Y, n_neighbors
        As for :func:`faithfulness`.
    kind : {"R", "R_N", "R_C", "R_PCA"}
        Which; see :class:`Faithfulness`. All are at least 0, and 0 is perfect.
    per_point : bool, default False
        Return the value of every neighbourhood instead of their mean.
    **options
        `radius`, `neighborhoods`, `include_self`, `n_centers`, `random_state`, `n_jobs`, as for
        :func:`faithfulness`.

    Returns
    -------
    float, or ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> ub.metrics.procrustes(X, X[:, ::-1] + 3, n_neighbors=5) < 1e-20  # an isometry
    True
    """
    if kind not in _FIELD:
        raise ValueError(f"kind = {kind!r} is unknown: use 'R', 'R_N', 'R_C' or 'R_PCA'")
    m = faithfulness(X, Y, n_neighbors, **options)
    return m.per_point[_FIELD[kind]] if per_point else float(getattr(m, _FIELD[kind]))


def lower_bound(
    X: Any,
    n_components: int,
    n_neighbors: int | None = None,
    *,
    radius: float | None = None,
    neighborhoods: Neighborhoods | None = None,
    include_self: bool = True,
    per_point: bool = False,
    n_centers: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> float | Array:
    """Return the least R_N and R_C that any embedding in `n_components` dimensions can have (Lemma 1).

    It is the mean share of each neighbourhood outside its first principal components: in [0, 1], 0
    where every neighbourhood is flat. Invariant under rotation, translation and scaling of X.

    Parameters
    ----------
    X : array-like of shape (n, q)
        The data.
    n_components : int
        Dimension of the embedding, at most q.
    n_neighbors, radius, neighborhoods, include_self, n_centers, random_state, n_jobs
        As for :func:`faithfulness`.
    per_point : bool, default False
        Return the bound of every neighbourhood instead of their mean.

    Returns
    -------
    float, or ndarray of shape (n,)

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(2000, random_state=0)
    >>> ub.metrics.lower_bound(X, 2) < 0.01 < ub.metrics.lower_bound(X, 1)
    True
    """
    x, d = as_points(X), as_count(n_components, "n_components")
    centers = _draw(len(x), n_centers, random_state)
    graph = resolve(x, neighborhoods, n_neighbors, radius, n_jobs)._graph
    bounds = _core.lower_bound(x, d, graph, bool(include_self), centers, thread_count(n_jobs))
    return bounds if per_point else float(bounds.mean())


def overlap(
    X: Any,
    Y: Any,
    n_neighbors: int | None = None,
    *,
    radius: float | None = None,
    neighborhoods: Neighborhoods | None = None,
    steps: int = OVERLAP_STEPS,
    per_point: bool = False,
    n_centers: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> float | Array:
    """Return how much of an embedding lies on what is far away in the data (section 6).

    For each point, the share of its nearest points in Y that are more than `steps` steps away on the
    undirected neighbourhood graph, or in another component: in [0, 1], 0 is perfect, and 1/2 is what two
    layers on each other score. As many are looked at as the graph has neighbours (the rounded mean if sizes
    differ), or as the component has others. Invariant under rotation, translation and scaling of X and Y.

    Cost: where Y is faithful little more than that of the neighbours in Y, at random about 12 times as much.
    Memory: O(n k).

    Parameters
    ----------
    X : array-like of shape (n, q) or None
        The data; None if `neighborhoods` are given.
    Y : array-like of shape (n, d)
        Their embedding, from any tool.
    n_neighbors, radius, neighborhoods, n_centers, random_state, n_jobs
        As for :func:`faithfulness`.
    steps : int, default 4
        How many steps are not yet far. Noise needs 3 or 4, and many steps overlook thin layers.
    per_point : bool, default False
        Return the share of every point instead of their mean.

    Returns
    -------
    float, or ndarray of shape (n,)

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> ub.metrics.overlap(X, coordinates)
    0.0
    >>> ub.metrics.overlap(X, X[:, :2]) > 0.4  # the roll seen from its side
    True
    """
    y, far = as_points(Y, "Y"), as_count(steps, "steps")
    if X is None and neighborhoods is None:
        raise ValueError("give X, or the neighbourhoods of its points as neighborhoods=")
    x = None if X is None else as_points(X, "X")
    if x is not None and len(x) != len(y):
        raise ValueError(f"X has {len(x)} rows, but Y has {len(y)}")
    centers = _draw(len(y), n_centers, random_state)
    graph = resolve(x, neighborhoods, n_neighbors, radius, n_jobs)._graph
    shares = _core.overlap(y, graph, far, centers, thread_count(n_jobs))
    return shares if per_point else float(shares.mean())


def asim(Xi: Any, Yi: Any, *, normalization: Normalization = "centered") -> float:
    """Return the anisotropic scaling independent measure of one set of points (Zhang, Ren & Zhang, eq. 7).

    What is left of `Xi` when `Yi` has been scaled along each of its coordinates, turned and moved to fit it
    best, as a share of the size of `Xi`: in [0, 1], 0 is perfect. Infinite where all of `Xi` coincide and
    `Yi` does not. Invariant under rotation, reflection and translation of `Xi` and its scaling as a whole,
    and under translation and scaling of each column of `Yi`, but not under rotation of `Yi`.

    Cost: O(m q d), and 8 climbs in sweeps of O(d^3) if d > 2. One and two columns have a closed form; for
    more it is the best of the climbs, and a value below 1e-16 says no more than that it is below.

    Parameters
    ----------
    Xi : array-like of shape (m, q)
        Points of the data.
    Yi : array-like of shape (m, d), d <= q
        Their embedding, row for row.
    normalization : {"centered", "paper"}, default "centered"
        Divide by the squared distances of `Xi` to its mean, or to the origin as the paper does. The latter
        changes when the data are moved.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X = np.random.default_rng(0).uniform([-2, -1], [2, 1], size=(100, 2))
    >>> ub.metrics.asim(X, X / X.std(axis=0)) < 1e-20  # normalised
    True
    >>> ub.metrics.asim(X, X**2) > 0.5
    True
    """
    x, y = _pair(Xi, Yi, ("Xi", "Yi"))
    _check_normalization(normalization)
    return _core.asim(x, y, normalization, 1)


def nieqa_local(
    X: Any,
    Y: Any,
    n_neighbors: int | None = None,
    *,
    radius: float | None = None,
    neighborhoods: Neighborhoods | None = None,
    include_self: bool = True,
    normalization: Normalization = "centered",
    per_point: bool = False,
    n_centers: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> float | Array:
    """Return M_L, the local part of NIEQA: the mean of :func:`asim` over neighbourhoods (eq. 18).

    In [0, 1], 0 is perfect. It is never above R_C and, with the default normalization, never below the lower
    bound. Invariant under rotation, reflection, translation and scaling of X, and under translation and
    scaling of each coordinate of Y: made for embeddings whose coordinates are normalised, as those of LLE,
    LTSA or Laplacian eigenmaps.

    Neighbourhoods that coincide in the data but not in the embedding are infinite and left out of the mean,
    which is infinite if none remains.

    Cost: for d <= 2 like that of :func:`procrustes`; more coordinates take 8 climbs in sweeps of O(d^3) in
    every neighbourhood. Memory: O(n).

    Parameters
    ----------
    X : array-like of shape (n, q)
        The data.
    Y : array-like of shape (n, d), d <= q
        Their embedding, from any tool.
    n_neighbors, radius, neighborhoods, include_self, n_centers, random_state, n_jobs
        As for :func:`faithfulness`.
    normalization : {"centered", "paper"}, default "centered"
        As for :func:`asim`.
    per_point : bool, default False
        Return the value of every neighbourhood instead of their mean.

    Returns
    -------
    float, or ndarray of shape (n,)

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> normalized = coordinates / coordinates.std(axis=0)
    >>> ub.metrics.nieqa_local(X, normalized) < 0.01 < 0.1 < ub.metrics.procrustes(X, normalized)
    True
    """
    x, y = _pair(X, Y, ("X", "Y"))
    _check_normalization(normalization)
    centers, threads = _draw(len(x), n_centers, random_state), thread_count(n_jobs)
    graph = resolve(x, neighborhoods, n_neighbors, radius, n_jobs)._graph
    values = _core.asim_all(x, y, graph, bool(include_self), normalization, centers, threads)
    if per_point:
        return values
    kept = values[np.isfinite(values)]
    return float(kept.mean()) if len(kept) else float("inf")


def _pair(X: Any, Y: Any, names: tuple[str, str]) -> tuple[Any, Any]:
    """Return data and embedding as the core takes them."""
    x, y = as_points(X, names[0]), as_points(Y, names[1])
    if len(x) != len(y):
        raise ValueError(f"{names[0]} has {len(x)} rows, but {names[1]} has {len(y)}")
    if y.shape[1] > x.shape[1]:
        raise ValueError(f"n_components = {y.shape[1]} exceeds the {x.shape[1]} dimensions of the data")
    return x, y


def _check_normalization(name: Any) -> None:
    if name not in ("centered", "paper"):
        raise ValueError(f"normalization = {name!r} is unknown: use 'centered' or 'paper'")


def _draw(n: int, n_centers: int | None, random_state: Any) -> npt.NDArray[np.uint32] | None:
    """Return the neighbourhoods to measure in rising order, None for all."""
    if n_centers is None or as_count(n_centers, "n_centers") >= n:
        return None
    drawn = generator(random_state).choice(n, size=n_centers, replace=False, shuffle=False)
    return np.sort(drawn).astype(np.uint32)


def _standard_errors(per_point: dict[str, Array], n: int) -> dict[str, float]:
    """Of each mean over a sample drawn without replacement; means over all are exact."""
    share = len(per_point["r"]) / n
    if share == 1:
        return dict.fromkeys(("r", "r_pca", "r_n", "r_c", "lower_bound"), 0.0)
    kept = np.isfinite(per_point["r_n"])  # normalised means leave the others out
    samples = {
        "r": per_point["r"],
        "r_pca": per_point["r_pca"],
        "r_n": per_point["r_n"][kept],
        "r_c": per_point["r_c"][kept],
        "lower_bound": per_point["bound"][kept],
    }
    return {name: _standard_error(values, share) for name, values in samples.items()}


def _standard_error(values: Array, share: float) -> float:
    if len(values) < 2:
        return float("inf")  # one neighbourhood says nothing of the others
    with np.errstate(over="ignore"):
        return float(values.std(ddof=1) * np.sqrt((1 - share) / len(values)))
