"""`unbend report`: a page that shows several embeddings."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from .arguments import UsageError
from .compare import embeddings, measures
from .words import sampling

__all__ = ["run"]


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from ..files.tables import check_target, read_labels, read_points
    from ..report import SUFFIXES, report

    check_target(options.output, force=options.force, suffixes=SUFFIXES)
    x = read_points(options.X)
    try:
        found = report(
            x,
            embeddings(x, options),
            options.output,
            labels=None if options.labels is None else read_labels(options.labels, len(x)),
            images=None if options.image_shape is None else _pictures(x, options),
            title=options.title,
            measures=measures(options),
            n_neighbors=options.neighbors,
            by=options.by,
            **sampling(options),
            verbose=int(not options.quiet and sys.stderr.isatty()),
            force=options.force,
        )
    except ImportError as error:
        raise UsageError(str(error)) from error
    if options.json:
        print(json.dumps(found.comparison.to_dict() | {"path": str(found.path)}, allow_nan=False))
    elif not options.quiet:
        print(found)


def _pictures(x: Any, options: argparse.Namespace) -> Any:
    height, width = options.image_shape
    if height * width != x.shape[1]:
        raise UsageError(
            f"--image-shape {height},{width} makes {height * width} numbers, "
            f"but {options.X} has {x.shape[1]} columns"
        )
    return x.reshape(len(x), height, width)
