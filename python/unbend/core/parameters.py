"""Parameters of estimators and functions: one table documents them and checks their values.

The decorator `documented` writes the sections "Parameters" and "Attributes" of a docstring from tables, and
`checked` tests the parameters of an estimator.
"""

from __future__ import annotations

import inspect
import re
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from textwrap import dedent
from typing import Any, TypeVar

from .kinds import Kind, shown

WIDTH = 100  # Maximum number of characters in a line of a docstring.

T = TypeVar("T")
Table = Mapping[str, Mapping[str, "Parameter"]]
"""Parameters by scope and name. The scope "" holds those that all scopes share."""

_HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


@dataclass(frozen=True)
class Parameter:
    """Parameter of an estimator or a function, or attribute of a fitted estimator."""

    name: str
    kind: Kind
    text: str

    def check(self, value: Any, name: str | None = None) -> None:
        """Raise a ValueError if the value is not of this kind."""
        self.kind.test(value, name or self.name)

    def entry(self, default: object = inspect.Parameter.empty) -> str:
        """Return the lines of a numpydoc section."""
        kind = self.kind.type
        if default is None and "default" not in kind:
            kind += ", optional"
        elif default is not inspect.Parameter.empty and "default" not in kind:
            kind += f", default {shown(default)}"
        return f"{self.name} : {kind}\n{_wrapped(self.text)}"


def table(*shared: Parameter, **scopes: Iterable[Parameter]) -> Table:
    """Return a table of shared parameters, and of those that a scope defines or words differently."""
    return {scope: {p.name: p for p in parameters} for scope, parameters in {"": shared, **scopes}.items()}


def entries(text: str, **kinds: Kind) -> tuple[Parameter, ...]:
    r"""Return parameters from their texts, written as in a docstring, and their kinds.

    An attribute has no kind but a type, as in "embedding_ : ndarray". A parameter may have both; the type is
    shown then.

    Examples
    --------
    >>> from unbend.core.kinds import count
    >>> (n_init,) = entries("n_init\n    Number of starting points.", n_init=count())
    >>> n_init.check(0)
    Traceback (most recent call last):
    ValueError: n_init = 0 is too few: at least 1 is needed
    """
    made = []
    for entry in re.split(r"\n(?=\S)", dedent(text).strip()):
        head, _, body = entry.partition("\n")
        name, _, type = head.partition(" : ")
        kind = kinds.pop(name, Kind(type)) if type else kinds.pop(name)
        made.append(Parameter(name, replace(kind, type=type) if type else kind, body))
    if kinds:
        raise KeyError(f"{', '.join(kinds)} have no text")
    return tuple(made)


def documented(
    *tables: Table, scopes: Sequence[str] = (), attributes: Sequence[str] = ()
) -> Callable[[T], T]:
    r"""Return a decorator that completes the docstring of a class or a function.

    An entry is taken from the scope with the name of the class or function, then from `scopes`, then from the
    shared ones. Parameters and their defaults come from the signature; an entry that the docstring has
    already stays.

    Examples
    --------
    >>> @documented(table(*entries("tol\n  Residual to stop at.", tol=Kind("float"))))
    ... def solve(tol=1e-3):
    ...     '''Solve a system.'''
    >>> print(solve.__doc__.splitlines()[-2])
    tol : float, default 0.001
    """

    def decorate(target: T) -> T:
        named: Any = target
        known = ChainMap(*(dict(t.get(s, {})) for s in (named.__name__, *scopes, "") for t in tables))
        signature = inspect.signature(inspect.unwrap(named.__init__ if inspect.isclass(named) else named))
        defaults = {p.name: p.default for p in signature.parameters.values() if p.name[0] != "_"}
        defaults.pop("self", None)
        named._parameters = {name: known[name] for name in defaults if name in known}
        if named.__doc__:  # python -OO has none
            named.__doc__ = _completed(inspect.cleandoc(named.__doc__), known, defaults, attributes)
        return target

    return decorate


def checked(estimator: Any) -> None:
    """Raise a ValueError for the first parameter of an estimator whose value the table refuses."""
    for name, value in estimator.get_params(deep=False).items():
        if name in estimator._parameters:
            estimator._parameters[name].check(value)


# Docstrings ----------------------------------------------------------------------------------------------


def _completed(
    text: str, entries: Mapping[str, Parameter], defaults: Mapping[str, object], attributes: Iterable[str]
) -> str:
    """Return a docstring with its sections "Parameters" and "Attributes" in front of all others."""
    head, *rest = _HEADING.split(text)
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    written = _written(sections.pop("Parameters", ""))
    lines = [written[name] if name in written else entries[name].entry(d) for name, d in defaults.items()]
    made = {"Parameters": lines, "Attributes": [entries[name].entry() for name in attributes]}
    blocks = {title: "\n".join(dict.fromkeys(lines)) for title, lines in made.items() if lines} | sections
    parts = [f"{title}\n{'-' * len(title)}\n{body.strip(chr(10))}" for title, body in blocks.items()]
    return "\n\n".join([head.strip(), *parts])


def _written(section: str) -> dict[str, str]:
    """Return the hand-written entries of a section by name; one entry may document several names."""
    entries = re.split(r"\n(?=\S)", section.strip("\n")) if section.strip() else []
    heads = (entry.split("\n")[0].partition(" :")[0] for entry in entries)
    return {name.strip("* "): e for head, e in zip(heads, entries, strict=True) for name in head.split(",")}


@cache
def _wrapped(text: str) -> str:
    """Return a text in indented lines. `textwrap` is too slow to run at import."""
    lines, line = [], "   "
    for word in text.split():
        if len(line) + 1 + len(word) > WIDTH:
            lines.append(line)
            line = "   "
        line += f" {word}"
    return "\n".join([*lines, line])
