"""Means over a random sample of points: which points, how sure the mean is, and how many it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ..core.arrays import as_count, as_points, check_entries
from ..core.random import generator

Array: TypeAlias = npt.NDArray[np.float64]
Centers: TypeAlias = "npt.NDArray[np.uint32] | None"
"""The points at which something is measured, in rising order; None for all."""
NCenters: TypeAlias = "int | Literal['auto'] | None"

HALF_WIDTH = 0.005

# Half-width of a 95 % interval in standard errors.
NORMAL_95 = 1.959963984540054

# So many centres tell how many are needed.
_PILOT = 1000

# A sample is drawn this much larger than the one before says is needed: that one may have been lucky.
_RESERVE = 1.1

T = TypeVar("T")


def sampled(
    n: int,
    n_centers: Any,
    half_width: Any,
    random_state: Any,
    measure: Callable[[Centers], T],
    aims: Callable[[T], Iterable[Array]],
) -> tuple[Centers, T]:
    """Measure at all of `n` points, at so many drawn at random, or at as many as a precision takes.

    With ``n_centers="auto"`` the sample grows until the 95 % interval of the mean of each of `aims`, which
    holds a value for every centre, reaches no farther than `half_width` to each side. If that takes more than
    half of the points, all are measured.

    Returns
    -------
    centers : ndarray of uint32 or None
        Those measured; None for all.
    result
        What `measure` returned for them.
    """
    width = _as_half_width(half_width)
    if isinstance(n_centers, np.ndarray):  # another measure has drawn already
        return n_centers, measure(n_centers)
    if n_centers == "auto" and isinstance(n_centers, str):
        return _grown(n, width, random_state, measure, aims)
    if n_centers is None or as_count(n_centers, "n_centers") >= n:
        return None, measure(None)
    drawn = generator(random_state).choice(n, size=n_centers, replace=False, shuffle=False)
    centers = np.sort(drawn).astype(np.uint32)
    return centers, measure(centers)


def _grown(
    n: int,
    half_width: float,
    random_state: Any,
    measure: Callable[[Centers], T],
    aims: Callable[[T], Iterable[Array]],
) -> tuple[Centers, T]:
    order, size = generator(random_state).permutation(n).astype(np.uint32), _PILOT
    while 2 * size <= n:
        centers = np.sort(order[:size])
        result = measure(centers)
        needed = max((_needed(values, n, half_width) for values in aims(result)), default=0)
        if needed <= size:
            return centers, result
        size = int(_RESERVE * needed) + 1
    return None, measure(None)


def _needed(values: Array, n: int, half_width: float) -> int:
    """Return how many of `n` have to be drawn, going by the spread of some."""
    kept = values[np.isfinite(values)]
    if len(kept) < 2:
        return n
    with np.errstate(over="ignore", divide="ignore"):
        endless = (NORMAL_95 * kept.std(ddof=1) / half_width) ** 2
        return int(np.ceil(n / (1 + n / endless)))


def standard_error(values: Array, share: float) -> float:
    """Return the standard error of the mean of a `share` of all values, drawn without replacement."""
    if share == 1:
        return 0.0
    if len(values) < 2:
        return float("inf")  # one neighbourhood says nothing of the others
    with np.errstate(over="ignore"):
        return float(values.std(ddof=1) * np.sqrt((1 - share) / len(values)))


def interval(value: float, error: float, low: float = -np.inf, high: float = np.inf) -> tuple[float, float]:
    """Return the 95 % interval of a value that cannot lie outside `low` and `high`.

    It is a single point if there is no error, and everything if the error is not known.
    """
    if np.isnan(error):
        return low, high
    half = NORMAL_95 * error
    return (max(low, value - half), min(high, value + half)) if half > 0 else (value, value)


def pair(X: Any, Y: Any, names: tuple[str, str] = ("X", "Y"), *, narrower: bool = True) -> tuple[Any, Any]:
    """Return data and embedding as the core takes them; a `narrower` one has no more columns."""
    (first, second), (x, y) = names, map(as_points, (X, Y), names)
    if len(x) != len(y):
        raise ValueError(f"{first} has {len(x)} rows, but {second} has {len(y)}")
    if narrower and y.shape[1] > x.shape[1]:
        raise ValueError(f"{second} has {y.shape[1]} columns, more than the {x.shape[1]} of {first}")
    check_entries(x, first)
    check_entries(y, second)
    return x, y


def check_sample(n_centers: Any, half_width: Any) -> None:
    """Refuse what :func:`sampled` would refuse."""
    _as_half_width(half_width)
    if n_centers is not None and not (isinstance(n_centers, str) and n_centers == "auto"):
        as_count(n_centers, "n_centers")


def _as_half_width(value: Any) -> float:
    try:
        width = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"half_width = {value!r} is not a number") from None
    if not 0 < width < np.inf:
        raise ValueError(f"half_width = {width:g} is out of range: it must be positive")
    return width
