"""How faithful an embedding is: the Procrustes measures of Goldberg & Ritov (2009), section 3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import as_count, as_points, thread_count
from ..core.jsonable import finite
from ..graph.neighbors import Neighborhoods, resolve
from .overlap import OVERLAP_STEPS, _Overlap, _WithOverlap
from .sampling import HALF_WIDTH, Array, Centers, NCenters, interval, pair, sampled, standard_error

__all__ = ["Faithfulness", "faithfulness", "lower_bound", "procrustes"]

Kind = Literal["R", "R_N", "R_C", "R_PCA"]
_FIELD = {"R": "r", "R_N": "r_n", "R_C": "r_c", "R_PCA": "r_pca"}

# The order in which the core lays them out; the largest and the smallest stretch come after them.
_PER_POINT = ("r", "r_n", "r_c", "r_pca", "bound", "area")


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
    cut_share : float
        Of an embedding that was cut, the share of neighbourhoods that lost a member to the cut; all other
        numbers are those of what is left of them. `overlap` counts steps on the data, across the cut.
    cut_length : float
        The length of the cut, where that of data in d dimensions is the d-th root of their volume: 2 for a
        square torus cut open along two of its circles. Estimated by Crofton's formula from how many
        neighbours are parted.
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
    cut_share: float = 0.0
    cut_length: float = 0.0

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
        return interval(getattr(self, name), self.standard_error[name], low=0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the means and counts, `overlap` among them, without the arrays.

        Ready for JSON: what is not finite is None.
        """
        held = {**self._counted(), "overlap": self.overlap, "standard_error": dict(self.standard_error)}
        return {name: finite(value) for name, value in held.items()}


def faithfulness(
    X: Any,
    Y: Any,
    n_neighbors: int | None = None,
    *,
    radius: float | None = None,
    neighborhoods: Neighborhoods | None = None,
    include_self: bool = True,
    overlap_steps: int = OVERLAP_STEPS,
    cut: Any = None,
    n_centers: NCenters = None,
    half_width: float = HALF_WIDTH,
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
    cut : array-like of shape (m, 2), optional
        Pairs of neighbours that a cut has parted, as `cut_pairs_` of an estimator: they are no neighbours
        then, and R, R_N and the others say how faithful the parts between the cuts are.
    n_centers : int or "auto", optional
        Measure only this many neighbourhoods, drawn at random; every mean then has a standard error. "auto"
        draws as many as it takes for `half_width`, and all if that is more than half.
    half_width : float, default 0.005
        With "auto", how far the 95 % intervals of R_N, R_C and the lower bound may reach to each side.
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
    (x, y), steps, threads = pair(X, Y), as_count(overlap_steps, "overlap_steps"), thread_count(n_jobs)
    found = resolve(x, neighborhoods, n_neighbors, radius, n_jobs)
    sheet, share, length = _parted(found, cut, y.shape[1])

    def measure(centers: Centers) -> tuple[dict[str, Any], Array]:
        fields = np.empty((len(_PER_POINT) + 2, len(x) if centers is None else len(centers)))
        return _core.faithfulness(x, y, sheet._graph, bool(include_self), centers, fields, threads), fields

    centers, (means, fields) = sampled(
        len(x), n_centers, half_width, random_state, measure, lambda result: _bounded(result[1])
    )
    per_point = dict(zip(_PER_POINT, fields, strict=False)) | {"stretch": fields[len(_PER_POINT) :].T}
    return Faithfulness(
        **means,
        n_points=len(x),
        n_centers=len(per_point["r"]),
        standard_error=_standard_errors(per_point, len(x)),
        per_point=per_point,
        centers=np.arange(len(x), dtype=np.uint32) if centers is None else centers,
        _overlap=_Overlap(np.array(y, order="C"), found, steps, centers, n_jobs),
        cut_share=share,
        cut_length=length,
    )


def _parted(found: Neighborhoods, pairs: Any, d: int) -> tuple[Neighborhoods, float, float]:
    """Return the neighbourhoods without what a cut has parted, and how much that is."""
    if pairs is None or len(pairs) == 0:
        return found, 0.0, 0.0
    from ..fit.cut import as_pairs, length_of, share_of, without

    sheet, torn = without(found, as_pairs(pairs, len(found)))
    return sheet, share_of(found, torn), length_of(found, torn, d)


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
        `radius`, `neighborhoods`, `include_self`, `n_centers`, `half_width`, `random_state`, `n_jobs`, as
        for :func:`faithfulness`.

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
    if not isinstance(kind, str) or kind not in _FIELD:
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
    n_centers: NCenters = None,
    half_width: float = HALF_WIDTH,
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
    n_neighbors, radius, neighborhoods, include_self, n_centers, half_width, random_state, n_jobs
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
    x, d, threads = as_points(X), as_count(n_components, "n_components"), thread_count(n_jobs)
    graph = resolve(x, neighborhoods, n_neighbors, radius, n_jobs)._graph

    def measure(centers: Centers) -> Array:
        return _core.lower_bound(x, d, graph, bool(include_self), centers, threads)

    _, bounds = sampled(len(x), n_centers, half_width, random_state, measure, lambda bounds: [bounds])
    return bounds if per_point else float(bounds.mean())


def _bounded(fields: Array) -> list[Array]:
    """Return what a half-width is asked of: the measures that do not have the unit of the data."""
    return [fields[_PER_POINT.index(name)] for name in ("r_n", "r_c", "bound")]


def _standard_errors(per_point: dict[str, Array], n: int) -> dict[str, float]:
    """Of each mean over a sample drawn without replacement; means over all are exact."""
    share = len(per_point["r"]) / n
    kept = np.isfinite(per_point["r_n"])  # normalised means leave the others out
    samples = {
        "r": per_point["r"],
        "r_pca": per_point["r_pca"],
        "r_n": per_point["r_n"][kept],
        "r_c": per_point["r_c"][kept],
        "lower_bound": per_point["bound"][kept],
    }
    return {name: standard_error(values, share) for name, values in samples.items()}
