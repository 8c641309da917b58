"""Kinds of values that parameters accept: their types in the documentation, and the tests of values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from .arrays import as_count, thread_count
from .random import seed_from

Test = Callable[[Any, str], object]


@dataclass(frozen=True)
class Kind:
    """Values that a parameter accepts: their type in the documentation, and a test that raises ValueError."""

    type: str
    test: Test = lambda value, name: None


def count(least: int = 1) -> Kind:
    """Return the kind of whole numbers of at least `least`."""
    return Kind("int", lambda value, name: as_count(value, name, least))


def number(test: Callable[[float], bool], limits: str, noun: str = "a number") -> Kind:
    """Return the kind of real numbers that pass a test; `limits` describes them, as in "at least 0"."""

    def check(value: Any, name: str) -> None:
        if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
            raise ValueError(f"{name} = {value!r} is not {noun}: it must be {limits}")
        if not test(float(value)):
            raise ValueError(f"{name} = {value} is out of range: it must be {limits}")

    return Kind("float", check)


def choice(*values: str | bool | None) -> Kind:
    """Return the kind of these values only; 1 is not True here, because code tests `is True`."""

    def check(value: Any, name: str) -> None:
        if not any(isinstance(value, type(v)) and value == v for v in values):
            raise ValueError(f"{name} = {value!r} is unknown: use one of {', '.join(map(repr, values))}")

    return Kind("{" + ", ".join(map(shown, values)) + "}", check)


def optional(kind: Kind) -> Kind:
    """Return the kind that accepts None as well."""
    return replace(kind, test=lambda value, name: value is None or kind.test(value, name))


def word_or(word: str, kind: Kind) -> Kind:
    """Return the kind that accepts one word as well, such as "auto"."""

    def check(value: Any, name: str) -> None:
        if not (isinstance(value, str) and value == word):
            kind.test(value, name)

    return Kind(f'{kind.type} or "{word}"', check)


def settings(**kinds: Kind) -> Kind:
    """Return the kind of dictionaries with some of these keys."""

    def check(value: Any, name: str) -> None:
        if not isinstance(value, Mapping):
            raise ValueError(f"{name} = {value!r} is not a dict: its keys are {', '.join(kinds)}")
        for key, entry in value.items():
            if key not in kinds:
                raise ValueError(f"{name} has no {key!r}: it takes {', '.join(kinds)}")
            kinds[key].test(entry, f"{name}[{key!r}]")

    return Kind("dict", check)


def _check_boolean(value: Any, name: str) -> None:
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} = {value!r} must be True or False")


def as_flag(value: Any, name: str) -> bool:
    """Return a value that must be True or False, of Python or NumPy, as Python's."""
    _check_boolean(value, name)
    return bool(value)


def _check_verbose(value: Any, name: str) -> None:
    if not isinstance(value, bool | np.bool_):
        as_count(value, name, 0)


def _check_seed(value: Any, name: str) -> None:
    if not isinstance(value, np.random.Generator | np.random.RandomState):  # these advance when used
        seed_from(value)


def _check_callable(value: Any, name: str) -> None:
    if not callable(value):
        raise ValueError(f"{name} = {value!r} cannot be called: it must be a function or None")


non_negative = number(lambda v: 0 <= v < math.inf, "at least 0 and finite")
positive = number(lambda v: 0 < v < math.inf, "above 0 and finite")
share = number(lambda v: 0 < v <= 1, "above 0 and at most 1")
boolean = Kind("bool", _check_boolean)
threads = optional(Kind("int", lambda value, name: thread_count(value)))
seed = Kind("int, Generator or RandomState", _check_seed)
verbosity = Kind("int", _check_verbose)
function = optional(Kind("callable", _check_callable))
memory_limit = optional(number(lambda v: v > 0, "above 0", "a number of bytes"))


def shown(value: object) -> str:
    """Return a value as the documentation writes it."""
    return f'"{value}"' if isinstance(value, str) else re.sub(r"e-0(?=\d)", "e-", repr(value))
