"""`unbend compare`: several embeddings beside each other."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from .arguments import UsageError
from .words import belonging, sampling, show

__all__ = ["embeddings", "measures", "run"]


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from ..files.tables import read_points
    from ..judge.comparison import compare

    x = read_points(options.X)
    coordinates = None if options.coordinates is None else belonging(x, options.coordinates, options)
    found = compare(
        x,
        embeddings(x, options),
        measures(options),
        options.neighbors,
        by=options.by,
        coordinates=coordinates,
        **sampling(options),
        verbose=int(sys.stderr.isatty()),
    )
    show(found, options)


def embeddings(x: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Read the embeddings, by what sets their names apart: arrays, and what unbend embed --save wrote."""
    return {name: _embedding(x, file, options) for name, file in _named(options.Y).items()}


def _embedding(x: Any, file: str, options: argparse.Namespace) -> Any:
    from ..estimators.models import is_model, load

    if not is_model(file):
        return belonging(x, file, options)
    model = load(file)
    if len(model.embedding_) != len(x):
        raise UsageError(f"{options.X} has {len(x)} rows, but the model {file} has {len(model.embedding_)}")
    return model


def measures(options: argparse.Namespace) -> Any:
    """Return the names of the measures that are asked for."""
    return "all" if options.measures is None else [name.strip() for name in options.measures.split(",")]


def _named(files: list[str]) -> dict[str, str]:
    """Return the files by what sets them apart: the shortest names that differ."""
    if len(set(files)) < len(files):
        raise UsageError("an embedding is given twice")
    short = [_stem(file) for file in files]
    return dict(zip(short if len(set(short)) == len(short) else files, files, strict=True))


def _stem(file: str) -> str:
    from ..files.tables import KEYED, split_key

    path, name = split_key(file)
    return name if name and path.suffix.lower() in KEYED else path.stem
