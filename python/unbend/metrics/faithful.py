"""Procrustes measures of Goldberg & Ritov (2009), section 3: the error of each neighborhood."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import as_count, as_points, thread_count
from ..core.jsonable import finite
from ..core.kinds import as_flag, choice
from ..core.parameters import documented
from ..graph.cut import Pairs, length_of, pairs_of, share_of, without
from ..graph.neighbors import Neighborhoods, resolve
from .overlap import OVERLAP_STEPS, LazyOverlap, WithOverlap
from .sampling import (
    HALF_WIDTH,
    Array,
    Centers,
    NCenters,
    Sampling,
    WithErrors,
    checked,
    mean_of,
    sample_weights,
    standard_error,
)
from .subject import Subject, fewest_neighbors
from .table import PARAMETERS, Measure, by_name, scoring

MEASURES = by_name(
    Measure("r_n", "R_N", "procrustes", "lower", 0, inf, "error relative to size"),
    Measure("r_n_scaled", "R_N rescaled", "procrustes", "lower", 0, 1, "after the best scale"),
    Measure("r_c", "R_C", "procrustes", "lower", 0, 1, "error in shape alone"),
    Measure("lower_bound", "lower bound", "procrustes", None, 0, 1, "the least R_N possible"),
    Measure("scale", "best scale", "procrustes", None, 0, inf, "1 is perfect"),
    Measure("overlap", "overlap", "procrustes", "lower", 0, 1, "far points side by side"),
)

MAX_SCREE_DIM = 32
"""The least R_N over the dimension is found up to this dimension."""

Kind = Literal["R", "R_N", "R_C", "R_PCA"]

Core = Callable[[Any, Array], Mapping[str, Any]]
"""A function that takes an embedding and the array for the numbers of each point, and returns the means."""

_RELATIVE = {"r_n": "r_n", "r_c": "r_c", "lower_bound": "bound"}

# Rows of the array that the core fills. The largest and the smallest stretch follow.
_PER_POINT = ("r", "r_n", "r_c", "r_pca", "bound", "area")


@dataclass(frozen=True, eq=False)
class Faithfulness(WithErrors):
    """Procrustes measures of an embedding. Smaller is better and 0 is perfect.

    Attributes
    ----------
    r : float
        R, eq. 3: mean over neighborhoods of G, the squared error after the best rotation and translation.
    r_n : float
        R_N, eq. 4: the mean of G divided by the size of each neighborhood. 0 is an isometry, 1 an embedding
        that shows nothing; one that is far too large scores more.
    r_c : float
        R_C, eq. 7: R_N if each neighborhood may also be rescaled; in [0, 1]. 0 is a conformal map.
    r_pca : float
        R_PCA, eq. 6: R against the local principal components instead of the data.
    lower_bound : float
        Lemma 1: no embedding of this dimension can have a smaller R_N or R_C.
    overlap, overlap_steps : float and int
        Section 6: the measure of :func:`unbend.metrics.overlap`, which detects regions that lie on each
        other, and its steps. It is computed when you first access it, its interval or its entries.
    scale, r_n_scaled : float
        The factor for the whole embedding that minimizes R_N, and R_N after it, which is fair to algorithms
        that normalize their output.
    n_degenerate : int
        Number of neighborhoods left out of the relative means: their points coincide, their images do not.
    n_points, n_centers : int
        Number of points, and number of neighborhoods measured.
    cut_share, cut_length : float
        Share of neighborhoods that lost a member to the cut, and the length of the cut in units of the d-th
        root of the data's volume, by Crofton's formula: 2 for a square torus cut along two of its circles.
        Other numbers are those of the remaining members; `overlap` counts steps across the cut.
    n_cut_pairs : int
        Number of pairs of neighbors that are left out: a cut parts them, or they are short circuits.
    whole : Faithfulness or None
        The measures with these pairs, on all neighborhoods; None if nothing is left out.
    standard_error : mapping of float
        Standard error of each mean, if a sample was measured; 0 if all neighborhoods were.
    per_point : mapping of ndarray
        Values of each neighborhood measured: "r", "r_n", "r_c", "r_pca", "bound", "overlap"; "stretch", the
        largest and the smallest stretch of the tangent in two columns (1 is faithful); and "area", the factor
        of areas. Neighborhoods left out are infinite in "r_n" and "r_c".
    centers : ndarray of int
        The points whose neighborhoods were measured, one for each entry of `per_point`.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(5000, random_state=0)
    >>> m = ub.faithfulness(X, coordinates, n_centers=500, random_state=0)
    >>> low, high = m.interval("r_n")
    >>> low < ub.faithfulness(X, coordinates).r_n < high
    True
    """

    SHOWN: ClassVar[Mapping[str, tuple[str, str]]] = {
        **{name: MEASURES[name].words for name in ("r_n", "lower_bound", "r_n_scaled", "scale", "r_c")},
        "r": ("R", "squared error in units of X"),
        "r_pca": ("R_PCA", "R compared with local PCA"),
        "overlap": MEASURES["overlap"].words,
    }

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
    _overlap: LazyOverlap = field(repr=False, compare=False)
    cut_share: float = 0.0
    cut_length: float = 0.0
    n_cut_pairs: int = 0
    whole: Faithfulness | None = field(default=None, repr=False)
    _weights: Array | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Add the overlap, which is computed at the first access."""
        errors = WithOverlap(self.standard_error, self._overlap, "standard_error")
        per_point = WithOverlap(self.per_point, self._overlap, "shares")
        self.__dict__.update(standard_error=errors, per_point=per_point)

    @property
    def embedding(self) -> Any:
        """The embedding that was measured."""
        return self._overlap.y

    @property
    def overlap(self) -> float:
        """Mean share of the nearest points in the embedding that are far apart in the data."""
        return mean_of(self.per_point["overlap"], self._weights)

    @property
    def overlap_steps(self) -> int:
        """Number of steps up to which points count as near for `overlap`."""
        return self._overlap.steps

    def _extent(self) -> str:
        measured = "all" if self.n_centers == self.n_points else f"a random sample of {self.n_centers:,}"
        out = f"; {self.n_degenerate:,} left out, whose points coincide" if self.n_degenerate else ""
        return (
            f"Neighborhoods of {self.n_points:,} points, {measured} measured{out}. Errors of 0 are perfect."
        )

    def _value(self, name: str) -> str:
        waits = name == "overlap" and not self._overlap.computed
        return "computed when you read it" if waits else super()._value(name)

    def _margin(self, name: str) -> str:
        return "" if name == "overlap" and not self._overlap.computed else super()._margin(name)

    def __eq__(self, other: object) -> bool:
        """Compare all numbers; `overlap` last, because it may have to be computed."""
        if self is other or not isinstance(other, Faithfulness):
            return True if self is other else NotImplemented
        same = self._counted() == other._counted() and np.array_equal(self.centers, other.centers)
        same = same and self.whole == other.whole
        return same and all(
            np.array_equal(values, other.per_point[name]) for name, values in self.per_point.items()
        )

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def _counted(self) -> dict[str, float | int]:
        """Return the means and counts without the overlap."""
        known = {name: value for name, value in self.__dict__.items() if isinstance(value, float | int)}
        return known | {"overlap_steps": self.overlap_steps}

    def to_dict(self) -> dict[str, Any]:
        """Return the means and counts, including `overlap`, for JSON: None if not finite."""
        numbers = {**self._counted(), "overlap": self.overlap, "standard_error": dict(self.standard_error)}
        whole = None if self.whole is None else self.whole.to_dict()
        return {name: finite(value) for name, value in numbers.items()} | {"whole": whole}


@scoring(0.003, 0.103, attribute=".r_n")
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
    sample_weight: Any = None,
    n_centers: NCenters = None,
    half_width: float = HALF_WIDTH,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Faithfulness:
    """Measure how faithfully an embedding shows the neighborhoods of the data.

    It takes one pass over the data and O(n) memory beyond the neighborhoods. `overlap` is computed from a
    copy of Y when you first access it, like that of :func:`overlap`. All numbers are invariant under rotation,
    reflection and translation of X and of Y; R_C also under scaling of Y.

    Parameters
    ----------
    overlap_steps : int, default 4
        Number of steps on the neighborhood graph up to which points may be near in Y.
    """
    sampling = Sampling(n_centers, half_width, random_state=random_state, n_jobs=n_jobs)
    x, steps = checked(X), as_count(overlap_steps, "overlap_steps")
    subject = Subject.of(x, Y, cut, narrower=True)
    if neighborhoods is None and radius is None and n_neighbors is None:
        n_neighbors = fewest_neighbors([subject])
    graph = resolve(x, neighborhoods, n_neighbors, radius, n_jobs)
    y = np.array(subject.y, order="C")  # Y may change before the overlap is computed
    options: dict[str, Any] = {
        "include_self": as_flag(include_self, "include_self"),
        "overlap_steps": steps,
        "n_jobs": n_jobs,
        "weights": sample_weights(sample_weight, len(x)),
    }
    return sampling.measured(
        len(x),
        lambda centers: measured(x, y, graph, cut=subject.cut, centers=centers, own=True, **options),
        lambda m: [m.per_point[name] for name in ("r_n", "r_c", "bound")],  # those without a unit
    )[1]


def measured(
    x: Any,
    y: Any,
    graph: Neighborhoods,
    *,
    cut: Pairs | None = None,
    include_self: bool = True,
    overlap_steps: int = OVERLAP_STEPS,
    centers: Centers = None,
    n_jobs: int | None = None,
    core: Core | None = None,
    own: bool = False,
    weights: Array | None = None,
) -> Faithfulness:
    """Measure arrays that have been checked.

    On all neighborhoods, `core` replaces the call of the core: it takes `y` and the array for the numbers of
    each point, and returns the means, as ``_core.Problem.faithfulness`` does. With `own` the result refers to
    `y` itself, which then must not change before the overlap is computed; otherwise to a copy.
    """
    y, threads = y if own else np.array(y, order="C"), thread_count(n_jobs)
    overlap = LazyOverlap(y, graph, overlap_steps, centers, n_jobs)

    def on(parts: Neighborhoods) -> Core:
        return lambda y, fields: _core.faithfulness(
            x, y, parts.core, include_self, centers, fields, weights, threads
        )

    whole = _filled(core or on(graph), len(x), overlap, weights)
    if cut is None or len(cut) == 0:
        return whole
    sheet, torn = without(graph, cut)
    if not torn.any():
        return whole
    return replace(
        _filled(on(sheet), len(x), overlap, weights),
        cut_share=share_of(graph, torn),
        cut_length=length_of(graph, torn, y.shape[1]),
        n_cut_pairs=len(pairs_of(graph, torn)),
        whole=whole,
    )


def _filled(core: Core, n: int, overlap: LazyOverlap, weights: Array | None) -> Faithfulness:
    """Return the measures that the core computes of the embedding of `overlap`."""
    centers = overlap.centers
    fields = np.empty((len(_PER_POINT) + 2, n if centers is None else len(centers)))
    means = core(overlap.y, fields)
    per_point = dict(zip(_PER_POINT, fields, strict=False)) | {"stretch": fields[len(_PER_POINT) :].T}
    own = weights if weights is None or centers is None else weights[centers]
    return Faithfulness(
        **means,
        n_points=n,
        n_centers=fields.shape[1],
        standard_error=_standard_errors(per_point, n, own),
        per_point=per_point,
        centers=np.arange(n, dtype=np.uint32) if centers is None else centers,
        _overlap=overlap,
        _weights=own,
    )


@scoring(0.003, 0.103, of="faithfulness")
def procrustes(
    X: Any,
    Y: Any,
    n_neighbors: int | None = None,
    *,
    kind: Kind = "R_N",
    per_point: bool = False,
    **options: Any,
) -> Any:
    """Return one Procrustes measure.

    Parameters
    ----------
    kind : {"R", "R_N", "R_C", "R_PCA"}
        The measure; see :class:`Faithfulness`. All are at least 0, and 0 is perfect.
    """
    choice(*get_args(Kind)).test(kind, "kind")
    m = faithfulness(X, Y, n_neighbors, **options)
    return m.per_point[kind.lower()] if as_flag(per_point, "per_point") else float(getattr(m, kind.lower()))


@documented(PARAMETERS)
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
    """Return the smallest R_N and R_C that an embedding in `n_components` dimensions can have (Lemma 1).

    It is the mean share of each neighborhood outside its first principal components: in [0, 1], 0 if every
    neighborhood is flat. Invariant under rotation, translation and scaling of X.

    Parameters
    ----------
    n_components : int
        Dimension of the embedding, at most q.

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(2000, random_state=0)
    >>> ub.metrics.lower_bound(X, 2) < 0.01 < ub.metrics.lower_bound(X, 1)
    True
    """
    sampling = Sampling(n_centers, half_width, random_state=random_state, n_jobs=n_jobs)
    x, d = as_points(X), as_count(n_components, "n_components")
    with_self = as_flag(include_self, "include_self")
    graph = resolve(x, neighborhoods, n_neighbors, radius, n_jobs).core
    return sampling.over_points(
        len(x),
        lambda centers: _core.lower_bound(x, d, graph, with_self, centers, sampling.threads),
        per_point,
    )


def _standard_errors(per_point: dict[str, Array], n: int, weights: Array | None) -> dict[str, float]:
    """Return the standard error of each mean over a sample drawn without replacement."""
    kept = np.isfinite(per_point["r_n"])  # relative means leave the others out
    samples = {name: (per_point[name], weights) for name in ("r", "r_pca")}
    finite = None if weights is None else weights[kept]
    samples |= {name: (per_point[row][kept], finite) for name, row in _RELATIVE.items()}
    return {name: standard_error(values, len(kept) / n, own) for name, (values, own) in samples.items()}


def screes(
    x: Any, graph: Neighborhoods, sizes: list[int], centers: npt.NDArray[np.uint32], n_jobs: int
) -> Array:
    """Return the bound of R_N over d for each number of neighbors: (sizes, centers, dimensions)."""
    largest, n_values = max(sizes), min(x.shape[1], MAX_SCREE_DIM)
    lists = graph.indices.reshape(len(x), -1)[centers, :largest]
    members = np.column_stack([centers[:, None], lists]).astype(np.uint32)
    flat = _core.spectra_of(x, members.ravel(), largest + 1, sizes, n_values, n_jobs)
    spectra = flat.reshape(len(centers), len(sizes), n_values + 1)
    total = spectra.sum(axis=2, keepdims=True)
    beyond = np.cumsum(spectra[:, :, ::-1], axis=2)[:, :, ::-1][:, :, 1:]
    shares = np.divide(beyond, total, out=np.zeros_like(beyond), where=total > 0)
    return np.asarray(shares.transpose(1, 0, 2))
