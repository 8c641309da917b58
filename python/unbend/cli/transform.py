"""`unbend transform` and `unbend align`: new points in a saved embedding, and maps brought together."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

import unbend as ub

from ..core.progress import Progress
from ..files import check_target, read_ids, read_points, write_points
from .methods import error_in_words
from .options import JSON, OUTPUT, Command, UsageError
from .words import check_ids, id_lines, ids_of, show, shows_progress, sized

__all__ = ["ALIGN", "TRANSFORM"]


# New points -------------------------------------------------------------------------------------------------


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


TRANSFORM = Command(
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


# Maps -------------------------------------------------------------------------------------------------------

SHOWN_SUSPECTS = 3
"""Number of suspect rows that are listed for each map."""


def align(options: argparse.Namespace) -> None:
    """Run the command."""
    check_target(options.output, force=options.force)
    check_ids(options)
    if len(options.Y) < 2:
        raise UsageError(f"{options.Y[0]} is one map: at least 2 are needed")
    maps = [read_points(file, leave_out=options.id) for file in options.Y]
    ids = [_names(file, y, options) for file, y in zip(options.Y, maps, strict=True)]
    found = ub.align(
        dict(zip(options.Y, maps, strict=True)) if len(set(options.Y)) == len(maps) else maps,
        points=None if options.id is None else [names for _, names in ids],
        scale=options.scale,
        reflections=not options.no_reflections,
        robust=not options.not_robust,
    )
    points, name = (
        (found[-1], ids[-1]) if not options.consensus else (found.consensus, (options.id, found.points))
    )
    write_points(
        options.output,
        points,
        force=options.force,
        ids=None if options.id is None else name,
        source=options.Y[-1],
    )
    show(options, _alignment_record(found, options), _alignment_lines(found, ids, options))


def _names(file: str, y: Any, options: argparse.Namespace) -> tuple[str, Any]:
    """Return the ids of the points of a map, and their name."""
    if options.id is None:
        return "row", np.arange(len(y))
    name, values = read_ids(file, options.id, len(y))
    return name, np.asarray(values).astype(str)


def _alignment_record(found: ub.Alignment, options: argparse.Namespace) -> dict[str, Any]:
    """Return the object that --json prints."""
    maps = [
        {
            "file": file,
            "n_points": len(residual),
            "n_common": int(np.isfinite(residual).sum()),
            "rotation": transform.rotation.tolist(),
            "translation": transform.translation.tolist(),
            "scale": transform.scale,
            "median_residual": float(np.nanmedian(residual)),
            "suspects": suspects.tolist(),
        }
        for file, residual, transform, suspects in zip(
            options.Y, found.residuals, found.transforms, found.suspects, strict=True
        )
    ]
    return {
        "y": options.output,
        "n_points": len(found.points),
        "spread": found.spread,
        "converged": found.converged,
        "maps": maps,
        "version": ub.__version__,
    }


def _alignment_lines(found: ub.Alignment, ids: Any, options: argparse.Namespace) -> Iterator[str]:
    for file, y in zip(options.Y, found.maps, strict=True):
        yield f"map        {sized(file, y.shape)}"
    yield f"written    {options.output}: {'the consensus' if options.consensus else options.Y[-1]}"
    yield ""
    common = int(np.isfinite(found.point_residuals).sum())
    yield f"  {'common':<12}  {common:>9,}  points in several maps"
    yield f"  {'spread':<12}  {found.spread:>9.4g}  usual error of a coordinate"
    for file, transform, suspects, (_, names) in zip(
        options.Y, found.transforms, found.suspects, ids, strict=True
    ):
        yield f"  {file}: {_motion_in_words(transform)}"
        if len(suspects):
            shown = ", ".join(map(str, names[suspects[:SHOWN_SUSPECTS]])) + ", ..." * (
                len(suspects) > SHOWN_SUSPECTS
            )
            yield f"    {len(suspects):,} suspect correspondences: {shown}"


def _motion_in_words(transform: ub.Transform) -> str:
    words = ["reflected"] * transform.is_reflection
    if len(transform.rotation) == 2:
        angle = math.degrees(math.atan2(transform.rotation[0, 1], transform.rotation[0, 0]))
        words.append(f"rotated by {angle:.1f} degrees")
    if transform.scale != 1.0:
        words.append(f"scaled by {transform.scale:.4g}")
    return ", ".join([*words, f"moved by {np.linalg.norm(transform.translation):.4g}"])


ALIGN = Command(
    align,
    "bring embeddings of common points together",
    """\
Rotate and translate maps so that their common points agree, and write the last
map in the coordinates of the first.

Row i of every map is point i, and rows of NaN are absent points. With --id, a
column names the points instead, and maps may have different points.
Correspondences whose residuals are far larger than usual lose their weight.
""",
    """\
Y  maps, one point per row; the first stays where it is
-o, --output FILE  file to write: the last map, or the consensus
--consensus  write the mean of all maps, one row per point
--id COLUMN  column of every map that names the points
--scale  let maps be scaled as well
--no-reflections  do not let maps be reflected
--not-robust  let all correspondences keep their weight
--force  replace existing files
--quiet  print only errors, no warnings and no progress
--json  print one JSON object and nothing else
""",
    """\
examples:
  unbend align march.csv april.csv -o april-as-march.csv --id sensor
  unbend align a.npy b.npy c.npy -o mean.npy --consensus --scale

--json prints one object: the transform of each map, its median residual, and
its suspect rows, the largest residuals first.
""",
    {"Y": {"nargs": "+"}},
)
