"""`unbend select`: number of neighbours, dimension and method, chosen by what comes out."""

from __future__ import annotations

import argparse
import sys

from .arguments import UsageError
from .words import show

__all__ = ["run"]


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from ..choose.selection import select
    from ..files.tables import check_target, read_points, write_points

    if options.output is not None:
        check_target(options.output, force=options.force)
    x = read_points(options.X)
    found = select(
        x,
        sizes(options.neighbors, "--neighbors"),
        sizes(options.dimensions, "--dimensions"),
        [name.strip() for name in options.methods.split(",")],
        exhaustive=options.exhaustive,
        by=options.by,
        n_centers=options.centers,
        random_state=options.seed,
        n_jobs=options.jobs,
        verbose=int(sys.stderr.isatty()),
    )
    if options.output is not None:
        write_points(options.output, found.embedding, force=options.force)
    show(found, options)
    if not options.json and options.output is None:
        best = found.best
        print(
            f"\nunbend embed {options.X} -o Y.npy --method {best.method} -k {best.n_neighbors} "
            f"-d {best.n_components} --seed {options.seed}"
        )
    if not found.complete:
        raise KeyboardInterrupt  # what there is was shown: the exit code says that it is not all


def sizes(text: str | None, name: str) -> list[int] | None:
    """Return the numbers that 6:24:2 (both ends belong to it), 6,8,12 or 6 stand for."""
    if text is None:
        return None
    try:
        return [number for part in text.split(",") for number in _span(part)]
    except ValueError:
        raise UsageError(f"{name} {text} is no list of numbers: give 6:24:2, 6,8,12 or 6") from None


def _span(part: str) -> range:
    first, *rest = map(int, part.split(":"))
    last, step = [*rest, first][0], rest[1] if len(rest) > 1 else 1
    if len(rest) > 2 or step < 1 or last < first:
        raise ValueError(part)
    return range(first, last + 1, step)
