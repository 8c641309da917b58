"""`unbend transform`: place new points in a saved embedding."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .words import sized

if TYPE_CHECKING:
    from ..estimators.base import _Estimator

__all__ = ["run"]


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from ..core.progress import Progress
    from ..estimators.models import load
    from ..files.tables import check_target, read_points, write_points

    check_target(options.output, force=options.force)
    model, x = load(options.model), read_points(options.X)
    _check_columns(model, x, options)
    place = model.inverse_transform if options.inverse else model.transform
    with Progress(not (options.quiet or options.json) and sys.stderr.isatty()).stage("placing"):
        placed, errors = place(x, return_error=True)
    write_points(options.output, placed, force=options.force, source=options.X)
    if options.json:
        print(json.dumps(_record(placed, errors, options), allow_nan=False))
    elif not options.quiet:
        print("\n".join(_lines(model, x, placed, errors, options)))


def _check_columns(model: _Estimator, x: Any, options: argparse.Namespace) -> None:
    """Say in the words of the command line what does not belong together."""
    q, d = model.n_features_in_, model.embedding_.shape[1]
    expected, what = (d, "an embedding") if options.inverse else (q, "data")
    if x.shape[1] != expected:
        raise ValueError(
            f"{options.X} has {x.shape[1]} columns, but {options.model} has {what} of {expected} dimensions"
        )
    if "n_jobs" in model.get_params():
        model.set_params(n_jobs=options.jobs)


def _record(placed: Any, errors: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Return what --json prints."""
    from .. import __version__

    return {
        "model": options.model,
        "x": options.X,
        "y": options.output,
        "inverse": options.inverse,
        "n_points": len(placed),
        "n_components": placed.shape[1],
        "mean_error": float(errors.mean()),
        "worst_error": float(errors.max()),
        "worst": int(errors.argmax()),
        "version": __version__,
    }


def _lines(model: _Estimator, x: Any, placed: Any, errors: Any, options: argparse.Namespace) -> Iterator[str]:
    n, d = model.embedding_.shape
    yield f"model      {sized(options.model, (n, model.n_features_in_))}, embedded in {d}"
    yield f"points     {sized(options.X, x.shape)}"
    yield f"placed     {sized(options.output, placed.shape)}"
    yield ""
    meaning = model._error_in_words(options.inverse)
    yield f"  {'mean error':<12}  {errors.mean():>9.4g}  {meaning}"
    yield f"  {'worst error':<12}  {errors.max():>9.4g}  point {int(errors.argmax())}"
