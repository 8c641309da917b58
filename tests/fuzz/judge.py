"""Verdict on one call: what must never happen, whatever the arguments are."""

from __future__ import annotations

import dataclasses
import linecache
import re
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

ALLOWED = (ValueError, TypeError, MemoryError, OSError)
"""Errors that the documentation names; `unbend.Stopped` never occurs, because no callback stops."""

WRONG = (np.linalg.LinAlgError, UnicodeError, RecursionError)
"""Errors that are among those by descent only."""

INTERNAL = re.compile(
    r"broadcast|reshape|zero-size|setting an array element|argm(ax|in) of an empty|convert float (NaN|infinity)|"
    r"unpack|math domain|arg is an empty|not aligned|negative dimensions|operand|A has a NaN|buffer|truth value|"
    r"Unable to allocate|not subscriptable|not iterable|unhashable|indices must be|has no len|concatenate|"
    r"not supported between|not JSON serializable|cannot be interpreted|must be real number|not enough"
)
"""Words of errors that NumPy or Python raises where a value should have been refused."""

DOCUMENTED_NAN = {
    "standard_error": "unknown, and printed as a question mark: unbend.Quality",
    "two_nn": "unknown if all neighbors are copies: unbend.Dimension",
    "two_nn_per_point": "unknown where neighbors are copies: unbend.Dimension",
    "two_nn_interval": "unknown with two_nn: unbend.Dimension",
}
"""Attributes that may hold NaN for finite data, and what it means."""

TIMES = ("seconds", "timings", "timings_", "time")
"""Attributes that differ between two equal runs."""


@dataclass(frozen=True)
class Outcome:
    """What a call came to: "ok", "refused", or the name of a failure."""

    kind: str
    detail: str = ""
    value: Any = dataclasses.field(default=None, repr=False)

    @property
    def is_failure(self) -> bool:
        return self.kind not in ("ok", "refused")


def tried(call: Callable[[], Any]) -> Outcome:
    """Return what a call comes to."""
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        try:
            value = call()
        except Exception as error:
            return of_error(error)
    for one in raised:
        if issubclass(one.category, RuntimeWarning):
            return Outcome("warning of NumPy", f"{one.message} at {one.filename}:{one.lineno}")
    return Outcome("ok", value=value)


def of_error(error: Exception) -> Outcome:
    """Return whether an error is one that the documentation names, raised on purpose."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    line = linecache.getline(last.filename, last.lineno or 0).strip()
    where = f"{type(error).__name__}: {str(error)[:200]} at {last.filename}:{last.lineno}"
    deliberate = line.startswith(("raise", 'f"', '"')) or "sklearn" in last.filename
    if not isinstance(error, ALLOWED) or isinstance(error, WRONG):
        return Outcome("wrong exception", where)
    if "/numpy/" in last.filename or "/scipy/" in last.filename:
        return Outcome("wrong exception", where)
    if not deliberate and INTERNAL.search(str(error)):
        return Outcome("wrong exception", where)
    return Outcome("refused", type(error).__name__)


def children(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a result by their names."""
    if isinstance(value, dict):
        yield from ((str(key), part) for key, part in value.items())
    elif isinstance(value, list | tuple):
        yield from ((f"{place}", part) for place, part in enumerate(value))
    elif dataclasses.is_dataclass(value):
        yield from ((f.name, getattr(value, f.name)) for f in dataclasses.fields(value))
    elif issparse(value):
        yield "data", value.data
    elif type(value).__module__.startswith("unbend") and hasattr(value, "__dict__"):
        yield from vars(value).items()


def nan_paths(value: Any, path: str = "result", depth: int = 0) -> Iterator[str]:
    """Yield where a result holds NaN that has no documented meaning."""
    if isinstance(value, float | np.floating | np.ndarray):
        array = np.asarray(value)
        if (
            array.dtype.kind == "f"
            and np.isnan(array).any()
            and path.rpartition(".")[2] not in DOCUMENTED_NAN
        ):
            yield path
        return
    if depth < 7:
        for name, part in children(value):
            if not name.startswith("_"):
                yield from nan_paths(part, f"{path}.{name}", depth + 1)


def difference(one: Any, two: Any, path: str = "result", depth: int = 0) -> str:
    """Return where two results differ; empty if they are the same to the last bit."""
    if type(one) is not type(two):
        return path
    if isinstance(one, np.ndarray):
        equal = one.shape == two.shape and one.dtype == two.dtype and one.tobytes() == two.tobytes()
        return "" if equal or one.dtype == object else path
    if isinstance(one, float | int | str | bool | np.generic | None.__class__):
        return "" if one == two or (one != one and two != two) else path
    if depth > 7:
        return ""
    mine, yours = list(children(one)), list(children(two))
    if [name for name, _ in mine] != [name for name, _ in yours]:
        return path
    for (name, part), (_, other) in zip(mine, yours, strict=True):
        if (
            name not in TIMES
            and name != "n_jobs"
            and (found := difference(part, other, f"{path}.{name}", depth + 1))
        ):
            return found
    return ""


def snapshot(value: Any) -> Any:
    """Return what tells whether an input changed."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype, value.shape, value.tobytes()
    if isinstance(value, dict):
        return {key: snapshot(part) for key, part in value.items()}
    if isinstance(value, list):
        return [snapshot(part) for part in value]
    if hasattr(value, "to_numpy"):
        return snapshot(value.to_numpy())
    return None
