"""Arguments of commands, written as `--help` prints them, and the types of their values."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, NoReturn

__all__ = [
    *("COMPARED", "JSON", "OUTPUT", "SAMPLING"),
    *("Command", "Parser", "UsageError", "did_you_mean", "with_exit_codes"),
]

OUTPUT = """\
-o, --output Y  file to write
--force  replace existing files
--quiet  print only errors, no warnings and no progress
"""
"""Arguments of commands that write points."""

COMPARED = """\
X  data, one point per row
Y  embeddings, rows in the same order
--by NAME  measure that orders them (trustworthiness)
--measures NAMES  measures or families, separated by commas (all)
--cut-pairs NAME=FILE  pairs of neighbors that the cut of embedding NAME parts
"""
"""Arguments of commands that compare embeddings."""

MIN_SIMILARITY = (
    0.65  # Known words less similar to a wrong word than this share of letters are not suggested.
)

JSON = """\
--jobs N  number of threads (all)
--json  print one JSON object and nothing else
"""

SAMPLING = f"""\
-k, --neighbors K  neighbors per point, itself excluded (12)
or --radius R  use all points within this distance instead
--centers N  measure at N random points, or auto: as many as needed (all)
--half-width W  half-width of 95 %% intervals with --centers auto (0.005)
--seed S  seed of random samples (0)
{JSON}"""
"""Arguments of commands that measure."""


class UsageError(Exception):
    """The arguments of the command do not make sense."""


class Parser(argparse.ArgumentParser):
    """A parser that raises an error instead of printing it, so that all errors are printed in one place."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """Raise a usage error."""
        raise UsageError(f"{message} (see {self.prog} --help)")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value that is not among the choices, and name the most similar choice."""
        if action.choices is None or value in action.choices:
            return
        choices = list(map(str, action.choices))
        what, noun = (
            ("command", "commands") if action.dest == "command" else (action.option_strings[-1], "values")
        )
        near = did_you_mean(str(value), choices) or f": the {noun} are {', '.join(choices)}"
        self.error(f"unknown {what} {str(value)!r}{near}")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the end of a message with the known word most similar to a misspelled one; empty without one."""
    near = get_close_matches(word, list(known), 1, MIN_SIMILARITY)
    return f": did you mean {near[0]!r}?" if near else ""


@dataclass(frozen=True)
class Command:
    """A command: the function that runs it, its help and its arguments.

    `arguments` has a line for each argument: its flags and the name of its value, two spaces, and its help.
    Values in braces are all there are. An option without a value is on or off. An option after "or" excludes
    the one above it. `details` are other settings for argparse, by the name of the argument; settings that
    commands share are in `DETAILS`.
    """

    run: Callable[[argparse.Namespace], None]
    summary: str
    description: str
    arguments: str
    epilog: str
    details: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def flags(self) -> list[str]:
        """All options of the command."""
        return re.findall(r"^(?:or )?(?:-\w, )?(--[\w-]+)", self.arguments, re.MULTILINE)

    def add_to(self, commands: Any, name: str) -> None:
        """Add a command of this name to a parser."""
        texts = {"help": self.summary, "description": self.description}
        parser = commands.add_parser(name, **texts, epilog=with_exit_codes(self.epilog))
        parser.set_defaults(run=self.run)
        lines = self.arguments.strip().splitlines()
        for line, below in zip(lines, [*lines[1:], ""], strict=True):
            if not line.startswith("or "):
                group = parser.add_mutually_exclusive_group() if below.startswith("or ") else parser
            self._add(group, *line.removeprefix("or ").split("  ", 1))

    def _add(self, parser: Any, head: str, text: str) -> None:
        *short, last = head.split(", ")
        flag, _, value = last.partition(" ")
        name = flag.lstrip("-").replace("-", "_")
        details: dict[str, Any] = {**DETAILS.get(name, {}), **self.details.get(name, {})}
        if value.startswith("{"):
            details["choices"] = value.strip("{}").split(",")
        elif value:
            details["metavar"] = value
        elif flag.startswith("-"):
            details["action"] = "store_true"
        parser.add_argument(*short, flag, help=text, **details)


def with_exit_codes(epilog: str) -> str:
    """Return the end of a help text."""
    return f"""{epilog}
exit codes:
  0    success
  1    unexpected failure (set UNBEND_DEBUG=1 for a traceback)
  2    bad usage or bad input; standard error says what is wrong
  130  interrupted by Ctrl-C
"""


def auto_or_count(text: str) -> int | str:
    """Return "auto" or a whole number."""
    try:
        return text if text == "auto" else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a whole number nor auto") from None


def size_in_bytes(text: str) -> int:
    """Return a number of bytes: 500M, 4G; units are powers of 1000."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)B?", text.strip().upper())
    if match is None or float(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no size: give it as 500M or 4G")
    return int(float(match[1]) * 1000 ** " KMGT".index(match[2] or " "))


def height_and_width(text: str) -> tuple[int, ...]:
    """Return the shape of an image: 28,20."""
    try:
        height, width = map(int, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no height and width: give them as 28,20") from None
    return height, width


DETAILS: dict[str, dict[str, Any]] = {
    **{name: {"type": int} for name in ("dimensions", "neighbors", "tangent_neighbors", "init", "n")},
    **{name: {"type": auto_or_count} for name in ("centers", "landmarks")},
    "half_width": {"type": float, "default": 0.005},
    "image_shape": {"type": height_and_width},
    "jobs": {"type": int, "default": -1},
    "max_memory": {"type": size_in_bytes},
    "output": {"required": True},
    "points_per_cell": {"type": int},
    "radius": {"type": float},
    "seed": {"type": int, "default": 0},
}
"""Settings of arguments for argparse; unless a command has others, they are the same in all of them."""
