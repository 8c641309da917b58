"""Input of measures: checked data and embeddings, and random samples with the errors of their means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ..core.arrays import as_points, check_entries, thread_count
from ..core.kinds import as_flag
from ..core.notebook import Rows, as_html
from ..core.random import RandomState, generator
from ..core.shared_parameters import FUNCTIONS

Array: TypeAlias = npt.NDArray[np.float64]
Centers: TypeAlias = "npt.NDArray[np.uint32] | None"
"""The points that are measured, in ascending order; None for all points."""
NCenters: TypeAlias = "int | Literal['auto'] | None"

HALF_WIDTH = 0.005

# Half-width of a 95 % interval, in standard errors.
NORMAL_95 = 1.959963984540054

# Number of points in the first sample of "auto". Its spread says how many points are needed.
_PILOT = 1000

# "auto" draws this factor more points than the last sample says are needed: its spread may be low by chance.
_RESERVE = 1.1

# Largest number of sources times points for shortest paths by default. It takes some seconds.
WORK = 20_000_000

# Smallest number of sources by default. Standard errors from fewer are unreliable.
_FEWEST_SOURCES = 50

# Up to the first number of pairs (2000 points) all are measured by default; above it, the second number.
_ALL_PAIRS, _SOME_PAIRS = 2_000_000, 1_000_000

# Largest ratio of two weights. Beyond it, eq. 11 cannot be solved in double precision.
MAX_WEIGHT_RATIO = 1e9

_RANGES = {"residual_variance": (0.0, 1.0), "spearman": (-1.0, 1.0), "pearson": (-1.0, 1.0)}

# Smallest sample of pairs. Standard errors come from 32 batches of at least 32 pairs.
_FEWEST_PAIRS = 1024

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Sampling:
    """Size and seed of the random samples that measures are taken of, and the number of threads.

    All values are checked when it is made.
    """

    n_centers: Any = None  # Number of points to measure, "auto", None for all, or those already drawn.
    half_width: float = HALF_WIDTH  # With "auto", largest half-width of the 95 % intervals of means.
    n_sources: int | None = None  # Number of points to follow shortest paths from.
    n_pairs: int | None = None  # Number of pairs for straight distances.
    random_state: RandomState = None
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        drawn = isinstance(self.n_centers, np.ndarray) and self.n_centers.dtype == np.uint32
        for name in ("n_sources", "n_pairs", "half_width", "n_jobs", *["n_centers"] * (not drawn)):
            FUNCTIONS[""][name].check(getattr(self, name))

    @property
    def threads(self) -> int:
        """Number of threads as the core takes it; 0 stands for all."""
        return thread_count(self.n_jobs)

    def measured(
        self, n: int, measure: Callable[[Centers], T], aims: Callable[[T], Iterable[Array]]
    ) -> tuple[Centers, T]:
        """Measure all of `n` points, or a random sample of them.

        With ``n_centers="auto"`` the sample grows until the 95 % intervals of the means of all `aims`, which
        hold a value for every center, have at most `half_width`. If that takes more than half of the points,
        all are measured. Returns the measured points, None for all, and the result of `measure` for them.
        """
        if not isinstance(self.n_centers, str):
            centers: Centers = None
            if isinstance(self.n_centers, np.ndarray):
                centers = self.n_centers
            elif self.n_centers is not None and self.n_centers < n:
                centers = self._drawn(n, self.n_centers)
            return centers, measure(centers)
        order, size = generator(self.random_state).permutation(n).astype(np.uint32), _PILOT
        while 2 * size <= n:
            centers = np.sort(order[:size])
            result = measure(centers)
            needed = max((_needed(values, n, self.half_width) for values in aims(result)), default=0)
            if needed <= size:
                return centers, result
            size = int(_RESERVE * needed) + 1
        return None, measure(None)

    def over_points(self, n: int, measure: Callable[[Centers], Array], per_point: bool) -> float | Array:
        """Return a measure at every point that is measured, or the mean of the finite values."""
        _, values = self.measured(n, measure, lambda values: [values])
        if as_flag(per_point, "per_point"):
            return values
        finite = values[np.isfinite(values)]
        return float(finite.mean()) if len(finite) else float("inf")

    def sources(self, n: int) -> Centers:
        """Return the points to follow shortest paths from, in ascending order; None for all of `n`."""
        wanted = max(_FEWEST_SOURCES, WORK // n) if self.n_sources is None else self.n_sources
        return None if wanted >= n else self._drawn(n, wanted)

    def pairs(self, n: int) -> int | None:
        """Return how many pairs of `n` points to draw; None for all pairs."""
        every = n * (n - 1) // 2
        if self.n_pairs is None:
            return _SOME_PAIRS if every > _ALL_PAIRS else None
        if self.n_pairs < min(every, _FEWEST_PAIRS):
            raise ValueError(f"n_pairs = {self.n_pairs} is too few: a sample needs at least {_FEWEST_PAIRS}")
        return self.n_pairs

    def _drawn(self, n: int, size: int) -> npt.NDArray[np.uint32]:
        drawn = generator(self.random_state).choice(n, size=size, replace=False, shuffle=False)
        return np.sort(drawn).astype(np.uint32)


def _needed(values: Array, n: int, half_width: float) -> int:
    """Return how many of `n` points must be drawn, judging by the spread of `values`."""
    finite = values[np.isfinite(values)]
    if len(finite) < 2:
        return n
    with np.errstate(over="ignore", divide="ignore"):
        from_infinitely_many = (NORMAL_95 * finite.std(ddof=1) / half_width) ** 2
        return int(np.ceil(n / (1 + n / from_infinitely_many)))


def mean_of(values: Array, weights: Array | None) -> float:
    """Return the mean of values, each with its weight if there are weights."""
    return float(values.mean() if weights is None else np.average(values, weights=weights))


def standard_error(values: Array, share: float, weights: Array | None = None) -> float:
    """Return the standard error of the mean of a `share` of all values, drawn without replacement.

    A weighted mean is a ratio of two means, so that its error is that of the weighted differences to it.
    """
    if share == 1:
        return 0.0
    if len(values) < 2:
        return float("inf")  # one value says nothing about the others
    with np.errstate(over="ignore"):
        if weights is not None:
            values = weights * (values - np.average(values, weights=weights)) / weights.mean()
        return float(values.std(ddof=1) * np.sqrt((1 - share) / len(values)))


def interval(value: float, error: float, low: float = -np.inf, high: float = np.inf) -> tuple[float, float]:
    """Return the 95 % interval of a value that cannot lie outside `low` and `high`.

    It is a single point if the error is 0, and the whole range if the error is NaN (unknown).
    """
    if np.isnan(error):
        return low, high
    half = NORMAL_95 * error
    return (max(low, value - half), min(high, value + half)) if half > 0 else (value, value)


class WithErrors:
    """Result whose numbers have standard errors."""

    SHOWN: ClassVar[Mapping[str, tuple[str, str]]]
    """Symbol and meaning of each number that a notebook shows."""

    standard_error: Mapping[str, float]

    def interval(self, name: str) -> tuple[float, float]:
        """Return the 95 % interval of a number; both ends are the same if nothing was sampled."""
        if name not in self.standard_error:
            raise ValueError(f"{name!r} has no interval: use one of {', '.join(self.standard_error)}")
        low, high = _RANGES.get(name, (0.0, np.inf))
        return interval(getattr(self, name), self.standard_error[name], low, high)

    def _extent(self) -> str:
        """Return a sentence with the number of points, and of those that were measured."""
        raise NotImplementedError

    def _value(self, name: str) -> str:
        return f"{getattr(self, name):.4g}"

    def _margin(self, name: str) -> str:
        error = self.standard_error.get(name, 0.0)
        return f"± {NORMAL_95 * error:.2g}" if error > 0 else ""

    def _repr_html_(self) -> str:
        """Return a table of all numbers for a notebook."""
        rows = [
            (symbol, self._value(name), self._margin(name), meaning)
            for name, (symbol, meaning) in self.SHOWN.items()
        ]
        sampled = any(margin for _, _, margin, _ in rows)
        heads = ("", "value", "95 %" if sampled else "", "meaning")
        return as_html(self._extent(), Rows(heads, rows, "<>><"))


def pair(X: Any, Y: Any, names: tuple[str, str] = ("X", "Y"), *, narrower: bool = True) -> tuple[Any, Any]:
    """Return data and embedding for the core, with checked rows, entries and, if `narrower`, columns."""
    x = checked(X, names[0])
    return x, companion(x, Y, names, narrower=narrower)


def checked(X: Any, name: str = "X") -> Any:
    """Return points as the core takes them, with finite entries."""
    x = as_points(X, name)
    check_entries(x, name)
    return x


def companion(x: Any, Y: Any, names: tuple[str, str] = ("X", "Y"), *, narrower: bool = False) -> Any:
    """Return an embedding of checked points `x`, checked itself."""
    first, second = names
    y = as_points(Y, second)
    if len(x) != len(y):
        raise ValueError(f"{first} has {len(x)} rows, but {second} has {len(y)}")
    if narrower and y.shape[1] > x.shape[1]:
        raise ValueError(f"{second} has {y.shape[1]} columns, more than the {x.shape[1]} of {first}")
    check_entries(y, second)
    return y


def sample_weights(values: Any, n: int) -> Array | None:
    """Return the weights of `n` neighborhoods, checked, with mean 1; None if all are equal.

    Examples
    --------
    >>> sample_weights([1, 3], 2).tolist(), sample_weights([2.0, 2.0], 2)
    ([0.5, 1.5], None)
    """
    if values is None:
        return None
    try:
        given = np.asarray(values)
        if np.iscomplexobj(given):
            raise TypeError
        weights = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight must hold one number for each point") from None
    if weights.ndim == 0:
        weights = np.full(n, weights)
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}: {(n,)} is needed, one number for each point"
        )
    if not weights.any():
        raise ValueError("all weights of sample_weight are zero: they must be above 0")
    wrong = ~((weights > 0) & np.isfinite(weights))
    if wrong.any():
        point = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"sample_weight of point {point} is {weights[point]:g}: it must be above 0 and finite; use a small "
            "one for a point that should hardly count"
        )
    if weights.min() < weights.max() / MAX_WEIGHT_RATIO:
        raise ValueError(
            f"sample_weight holds {weights.min():g} and {weights.max():g}: the largest may be at most "
            f"{MAX_WEIGHT_RATIO:g} times the smallest; raise the smallest"
        )
    weights /= weights.max()
    return None if weights.min() == 1.0 else weights / weights.mean()
