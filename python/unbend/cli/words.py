"""Input, options and lines of output that several commands share."""

from __future__ import annotations

import argparse
import json
import math
import sys
import textwrap
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import unbend as ub

from ..core.jsonable import finite
from ..files import read_ids, read_points, split_key
from ..judge.answers import BASIS
from ..judge.context import MeasureContext
from ..judge.quality import Quality, qualities
from ..metrics.sampling import HALF_WIDTH, Sampling, pair
from .options import UsageError

WIDTH = 79
"""Number of characters of the longest line that is printed."""

NUMBERS = {
    "r_n": ("R_N", "error relative to size; 0 is perfect"),
    "lower_bound": ("lower bound", "the least R_N possible in {d} dimension{s}"),
    "r_n_scaled": ("R_N rescaled", "R_N at the best scale; 0 is perfect"),
    "scale": ("best scale", "of the whole embedding; 1 is perfect"),
    "r_c": ("R_C", "error of shape only; 0 is perfect"),
    "r": ("R", "squared error in units of X; 0 is perfect"),
    "r_pca": ("R_PCA", "R compared with local PCA; 0 is perfect"),
    "overlap": ("overlap", "distant points side by side; 0 is perfect"),
}
"""Symbol and meaning of each number, in the order of the table."""


WITH_IDS = (".csv", ".tsv", ".parquet")
"""Suffixes of outputs that can hold a column of ids."""


# Input and options ------------------------------------------------------------------------------------------


def read_companion(x: Any, file: str, options: argparse.Namespace) -> Any:
    """Read a file that must have one row for each row of the data."""
    return pair(x, read_points(file), (options.X, file), narrower=False)[1]


def read_embedding(x: Any, file: str, options: argparse.Namespace) -> Any:
    """Read an embedding of the data: points, or a fitted estimator from a saved model."""
    from ..estimators.models import is_model

    if not is_model(file):
        return read_companion(x, file, options)
    model = ub.load(file)
    if len(model.embedding_) != len(x):
        raise UsageError(f"{options.X} has {len(x)} rows, but the model {file} has {len(model.embedding_)}")
    return model


def check_ids(options: argparse.Namespace) -> None:
    """Refuse ids if the output cannot hold them."""
    if options.id is not None and split_key(options.output)[0].suffix.lower() not in WITH_IDS:
        raise UsageError(f"--id goes with an output in {', '.join(WITH_IDS)}, not {options.output}")


def ids_of(x: Any, options: argparse.Namespace) -> tuple[str, Any] | None:
    """Read the column that names the points, if there is one."""
    return None if options.id is None else read_ids(options.X, options.id, len(x))


def coordinates(x: Any, options: argparse.Namespace) -> Any:
    """Read the true coordinates, if there are any."""
    return None if options.coordinates is None else read_companion(x, options.coordinates, options)


def sampling(options: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of measures, without the neighborhoods."""
    return {
        "n_centers": options.centers,
        "half_width": options.half_width,
        "random_state": options.seed,
        "n_jobs": options.jobs,
    }


def shows_progress(options: argparse.Namespace) -> int:
    """Return 1 if standard error is a terminal, so that progress is shown, else 0."""
    return int(sys.stderr.isatty() and not getattr(options, "quiet", False))


# Output -----------------------------------------------------------------------------------------------------


def show(options: argparse.Namespace, record: dict[str, Any], lines: Iterable[object]) -> None:
    """Print a record as JSON, or lines for people, or nothing."""
    if options.json:
        print(json.dumps(finite(record), allow_nan=False))
    elif not getattr(options, "quiet", False):
        print(*lines, sep="\n")


def entry(head: str, text: str) -> list[str]:
    """Return a head and a text next to it; further lines of the text begin below its first."""
    indent = 14 if head.startswith(" ") else 11
    return wrapped(f"{head:<{indent}}{text}", indent)


def wrapped(text: str, indent: int) -> list[str]:
    """Break a line, and indent all lines but the first."""
    rest = " " * indent
    return textwrap.wrap(text, WIDTH, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False)


def sized(name: str, shape: tuple[int, int]) -> str:
    """Return a name with the number of points and dimensions."""
    return f"{name}: {shape[0]:,} points in {shape[1]:,} dimension{'s' * (shape[1] != 1)}"


def timing_lines(timings: dict[str, float]) -> Iterator[str]:
    """Yield the seconds of each stage, and their sum."""
    for stage, seconds in (timings | {"total": sum(timings.values())}).items():
        yield f"  {stage:<12}  {seconds:>9.2f} s"


def number_lines(m: Any, d: int, fields: Iterable[str] = tuple(NUMBERS), heads: bool = True) -> Iterator[str]:
    """Yield one line for each number: symbol, value, margin if it is that of a sample, and meaning."""
    is_sample = getattr(m, "n_centers", m.n_points) < m.n_points
    if heads:
        yield f"  {'':<12}  {'value':>9}" + f"  {'+- (95 %)':>9}" * is_sample + "  meaning"
    for field in fields:
        symbol, meaning = NUMBERS[field]
        value = getattr(m, field)
        margin = f"{m.interval(field)[1] - value:.2g}" if is_sample and field in m.standard_error else ""
        explained = meaning.format(d=d, s="s" * (d != 1))
        yield f"  {symbol:<12}  {value:>9.4g}" + f"  {margin:>9}" * is_sample + f"  {explained}"


def worst(m: ub.Faithfulness, share: float = 0.01, listed: int = 5) -> dict[str, Any]:
    """Return the number of the worst 1 % of the points, their mean R_N, and the first of them."""
    r_n = m.per_point["r_n"]
    measured = np.flatnonzero(np.isfinite(r_n))
    if len(measured) == 0:
        return {"n_points": 0, "r_n": math.nan, "points": []}
    order = measured[np.argsort(-r_n[measured], kind="stable")][: math.ceil(share * len(measured))]
    points = m.centers[order[:listed]].tolist()
    return {"n_points": len(order), "r_n": float(r_n[order].mean()), "points": points}


def id_lines(options: argparse.Namespace) -> Iterator[str]:
    """Yield how to read an output with ids."""
    if options.id is not None:
        output = f"{options.output}:-{options.id}"
        yield from entry("ids", f"column {options.id}; to read the coordinates without it, {output}")


def candidate_lines(model: Any) -> Iterator[str]:
    """Yield the candidates with their scores, if several embeddings were tried."""
    candidates = getattr(model, "candidates_", ())
    if len(candidates) > 1:
        tried = [f"{c.name} {c.score:.3f}{' (kept)' * c.chosen}" for c in candidates]
        yield from entry("tried", "; ".join(tried) + "; less is better")


def judged(
    x: Any, source: Any, graph: ub.Neighborhoods, options: argparse.Namespace, cut: Any = None
) -> tuple[Quality, ub.Faithfulness]:
    """Return what all statements about an embedding rest on, as in `compare`, and its Procrustes measures."""
    drawn = {name: getattr(options, name, None) for name in ("centers", "half_width")}
    half_width = HALF_WIDTH if drawn["half_width"] is None else drawn["half_width"]
    sampling = Sampling(drawn["centers"], half_width, random_state=options.seed, n_jobs=options.jobs)
    cuts = {} if cut is None else {"Y": cut}
    context = MeasureContext.of(
        x, {"Y": source}, BASIS, None, None, graph, None, sampling, cuts=cuts, brief=True
    )
    found = qualities(context)["Y"]
    assert found.faithfulness is not None
    return found, found.faithfulness


def statement_lines(m: ub.Faithfulness, found: Quality) -> Iterator[str]:
    """Yield the lines with the worst 1 % of the points, and with what the numbers mean together.

    The verdict of a fitted model that has one comes first, because it has seen more than single neighborhoods.
    The numbers are those of the sheet if the embedding was cut, as in `compare`.
    """
    part = worst(m)
    count, r_n, points = part["n_points"], part["r_n"], ", ".join(map(str, part["points"]))
    if count:
        text = f"{count:,} points, mean R_N {r_n:.3g}; worst {points}"
        text = f"point {points}, R_N {r_n:.3g}" if count == 1 else text
        most = count * r_n > 0.5 * m.r_n * (m.n_centers - m.n_degenerate)
        yield from entry("  worst 1 %", text + "; most of R_N" * most)
        yield ""
    for question, text in found.statements.items():
        yield from entry(f"  {question}", text)


def statements_in_record(found: Quality) -> dict[str, Any]:
    """Return the statements as --json prints them, under their names in `compare`."""
    names = ("kind", "reading", "fit_sentence", "findings", "n_dimensions_needed", "share_apart")
    known = found.to_dict()
    return {name: known[name] for name in names}


@contextmanager
def warnings_in_one_line(options: argparse.Namespace) -> Iterator[None]:
    """Print warnings of the library in one line, as errors are; none with --quiet."""
    with warnings.catch_warnings():
        if getattr(options, "quiet", False):
            warnings.simplefilter("ignore")
        else:
            warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_, **__: print(
            "unbend: warning:", " ".join(str(message).split()), file=sys.stderr
        )
        yield
