"""`unbend compare`: several embeddings beside each other."""

from __future__ import annotations

import argparse
from pathlib import Path

from .arguments import UsageError
from .words import belonging, sampling, show

__all__ = ["run"]


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from ..comparison import compare
    from ..files import read_points

    x = read_points(options.X)
    named = {name: belonging(x, file, options) for name, file in _named(options.Y).items()}
    coordinates = None if options.coordinates is None else belonging(x, options.coordinates, options)
    found = compare(
        x,
        named,
        "all" if options.measures is None else [name.strip() for name in options.measures.split(",")],
        options.neighbors,
        by=options.by,
        coordinates=coordinates,
        **sampling(options),
    )
    show(found, options)


def _named(files: list[str]) -> dict[str, str]:
    """Return the files by what sets them apart: the shortest names that differ."""
    if len(set(files)) < len(files):
        raise UsageError("an embedding is given twice")
    short = [_stem(file) for file in files]
    return dict(zip(short if len(set(short)) == len(short) else files, files, strict=True))


def _stem(file: str) -> str:
    path, _, name = file.partition(".npz:")
    return name or Path(path).stem
