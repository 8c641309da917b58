"""`unbend transform`: place new points in a saved embedding."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import unbend as ub

from ..core.progress import Progress
from ..files import check_target, read_points, write_points
from .methods import error_in_words
from .options import JSON, OUTPUT, Command
from .words import check_ids, id_lines, ids_of, show, shows_progress, sized

__all__ = ["COMMAND"]


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    check_target(options.output, force=options.force)
    check_ids(options)
    model, x = ub.load(options.model), read_points(options.X, leave_out=options.id)
    ids = ids_of(x, options)
    _check_columns(model, x, options)
    if "n_jobs" in model.get_params():
        model.set_params(n_jobs=options.jobs)
    place = model.inverse_transform if options.inverse else model.transform
    with Progress(shows_progress(options) and not options.json).stage("placing"):
        placed, errors = place(x, return_error=True)
    write_points(options.output, placed, force=options.force, source=options.X, ids=ids)
    show(options, _record(placed, errors, options), _lines(model, x, placed, errors, options))


def _check_columns(model: Any, x: Any, options: argparse.Namespace) -> None:
    q, d = model.n_features_in_, model.embedding_.shape[1]
    expected, what = (d, "an embedding") if options.inverse else (q, "data")
    if x.shape[1] != expected:
        raise ValueError(
            f"{options.X} has {x.shape[1]} columns, but {options.model} has {what} of {expected} dimensions"
        )


def _record(placed: Any, errors: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Return the object that --json prints."""
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
        "version": ub.__version__,
    }


def _lines(model: Any, x: Any, placed: Any, errors: Any, options: argparse.Namespace) -> Iterator[str]:
    n, d = model.embedding_.shape
    yield f"model      {sized(options.model, (n, model.n_features_in_))}, embedded in {d}"
    yield f"points     {sized(options.X, x.shape)}"
    yield f"placed     {sized(options.output, placed.shape)}"
    yield from id_lines(options)
    yield ""
    yield f"  {'mean error':<12}  {errors.mean():>9.4g}  {error_in_words(model, options.inverse)}"
    yield f"  {'worst error':<12}  {errors.max():>9.4g}  point {int(errors.argmax())}"


COMMAND = Command(
    run,
    "place new points in a saved embedding",
    """\
Place new points X in an embedding that unbend embed --save wrote.

Each point is moved by the rigid motion that fits its neighbors among the
embedded points. With --inverse, X are points of the embedding, and the command
finds the matching points in the space of the data.
""",
    f"""\
model  file that unbend embed --save wrote
X  new points, one per row
{OUTPUT}--id COLUMN  column of X that names the points: first column of the output
--inverse  map from the embedding to the data
{JSON}""",
    """\
examples:
  unbend transform roll.unbend new.npy -o placed.npy
  unbend transform roll.unbend placed.npy -o back.npy --inverse

--json prints one object: the mean and the largest error of all points.
""",
)
