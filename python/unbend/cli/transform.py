"""`unbend transform`: place new points in a saved embedding."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .words import sized

if TYPE_CHECKING:
    from ..estimator import _Estimator

__all__ = ["run"]


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from ..files import check_target, read_points, write_points
    from ..models import load

    check_target(options.output, force=options.force)
    model, x = load(options.model), read_points(options.X)
    _check_columns(model, x, options)
    place = model.inverse_transform if options.inverse else model.transform
    placed, errors = place(x, return_error=True)
    write_points(options.output, placed, force=options.force)
    if not options.quiet:
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


def _lines(model: _Estimator, x: Any, placed: Any, errors: Any, options: argparse.Namespace) -> Iterator[str]:
    n, d = model.embedding_.shape
    yield f"model      {sized(options.model, (n, model.n_features_in_))}, embedded in {d}"
    yield f"points     {sized(options.X, x.shape)}"
    yield f"placed     {sized(options.output, placed.shape)}"
    yield ""
    meaning = model._error_in_words(options.inverse)
    yield f"  {'mean error':<12}  {errors.mean():>9.4g}  {meaning}"
    yield f"  {'worst error':<12}  {errors.max():>9.4g}  point {int(errors.argmax())}"
