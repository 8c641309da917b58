"""`unbend diagnose`: whether algorithms that normalise their output would collapse the data."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from .arguments import UsageError
from .words import sized, wrapped

if TYPE_CHECKING:
    from ..choose.price import Price

__all__ = ["run"]


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from ..choose.price import price_of_normalization
    from ..files.tables import check_target, read_points

    if options.plot is not None:
        check_target(options.plot, force=options.force, suffixes=PICTURES)
    x = read_points(options.X)
    found = price_of_normalization(
        x,
        _coordinates(x, options),
        options.neighbors,
        radius=options.radius,
        n_components=2 if options.dimensions is None else options.dimensions,
        n_jobs=options.jobs,
    )
    if options.json:
        print(found.to_json())
    else:
        print("\n".join(_lines(found, x, options)))
    if options.plot is not None:
        _draw(found, options.plot)


PICTURES = (".png", ".pdf", ".svg")


def _coordinates(x: Any, options: argparse.Namespace) -> Any:
    from ..files.tables import read_points
    from ..metrics.sampling import pair

    if options.coordinates is None:
        return None
    if options.dimensions is not None:
        raise UsageError("--coordinates have their own dimensions: leave -d out")
    names = (options.X, options.coordinates)
    return pair(x, read_points(options.coordinates), names, narrower=False)[1]


def _lines(found: Price, x: Any, options: argparse.Namespace) -> list[str]:
    """Return what a person reads."""
    head, *table = str(found).split("\n")
    ratio = head.partition(", ")[2]
    table = table[: 2 + len(found.verdicts)]
    whence = options.coordinates or "found by Procrustes alignment"
    lines = [f"data         {sized(options.X, x.shape)}", f"coordinates  {whence}, {ratio}", *table, ""]
    for one in found.verdicts.values():
        lines += wrapped(f"  {one.sentence}", 2)
    return lines


def _draw(found: Price, path: str) -> None:
    try:
        figure = found.plot()
    except ImportError:
        raise UsageError("--plot needs matplotlib: pip install 'unbend[plot]'") from None
    figure.savefig(path, dpi=120)
