"""What several commands say in the same words."""

from __future__ import annotations

import argparse
import math
import sys
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..graph.neighbors import Neighborhoods
    from ..metrics import Faithfulness

__all__ = [
    "belonging",
    "reading",
    "rows",
    "sampling",
    "show",
    "sized",
    "warnings_in_one_line",
    "worst",
    "worst_lines",
    "wrapped",
]

WIDTH = 79


def show(result: Any, options: argparse.Namespace) -> None:
    """Print a table, or all that it holds as JSON."""
    print(result.to_json() if options.json else result)


def belonging(x: Any, file: str, options: argparse.Namespace) -> Any:
    """Read what belongs to the data row for row, and say which file does not."""
    from ..files.tables import read_points
    from ..metrics.sampling import pair

    return pair(x, read_points(file), (options.X, file), narrower=False)[1]


def sampling(options: argparse.Namespace) -> dict[str, Any]:
    """Return what all that measures takes of the options, but the number of neighbours."""
    return {
        "radius": options.radius,
        "n_centers": options.centers,
        "half_width": options.half_width,
        "random_state": options.seed,
        "n_jobs": options.jobs,
    }


def worst(m: Faithfulness, share: float = 0.01, listed: int = 5) -> tuple[int, float, list[int]]:
    """Return how many points the worst 1 % are, their mean R_N, and the first few of them."""
    import numpy as np

    r_n = m.per_point["r_n"]
    measured = np.flatnonzero(np.isfinite(r_n))
    if len(measured) == 0:
        return 0, math.nan, []
    order = measured[np.argsort(-r_n[measured], kind="stable")][: math.ceil(share * len(measured))]
    return len(order), float(r_n[order].mean()), [int(point) for point in m.centers[order[:listed]]]


def sized(name: str, shape: tuple[int, int]) -> str:
    """Say what a file holds."""
    return f"{name}: {shape[0]:,} points in {shape[1]:,} dimension{'s' * (shape[1] != 1)}"


def rows(m: Faithfulness, d: int, only: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield one line for each number, or some: its name, value, interval if there is one, and meaning."""
    sampled = m.n_centers < m.n_points
    yield f"  {'':<12}  {'value':>9}" + (f"  {'+- (95 %)':>9}" if sampled else "") + "  meaning"
    for name, field, meaning in (
        ("R_N", "r_n", "error relative to size; 0 is perfect"),
        ("lower bound", "lower_bound", f"the least R_N possible in {d} dimension{'s' * (d != 1)}"),
        ("R_N rescaled", "r_n_scaled", "R_N after the best scale; 0 is perfect"),
        ("best scale", "scale", "of the whole embedding; 1 is perfect"),
        ("R_C", "r_c", "error in shape alone; 0 is perfect"),
        ("R", "r", "squared error in units of X; 0 is perfect"),
        ("R_PCA", "r_pca", "R against local PCA; 0 is perfect"),
        ("overlap", "overlap", "distant points side by side; 0 is perfect"),
    ):
        if only and field not in only:
            continue
        yield f"  {name:<12}  {getattr(m, field):>9.4g}{_margin(m, field) if sampled else ''}  {meaning}"


def _margin(m: Faithfulness, field: str) -> str:
    """Return half the width of the 95 % interval in its column."""
    if field not in m.standard_error:
        return f"  {'':>9}"
    return f"  {m.interval(field)[1] - getattr(m, field):>9.2g}"


def worst_lines(m: Faithfulness) -> Iterator[str]:
    """Yield the lines about the worst 1 % of the points."""
    count, mean, points = worst(m)
    if count == 0:
        return
    first = ", ".join(map(str, points))
    many = f"{count:,} points, mean R_N {mean:.3g}; worst {first}"
    one = f"point {first}, R_N {mean:.3g}"
    yield from wrapped(f"  worst 1 %  {one if count == 1 else many}", 13)


def reading(m: Faithfulness, x: Any, y: Any, graph: Neighborhoods, *, include_self: bool, jobs: int) -> str:
    """Say what the numbers together mean."""
    from ..judge.verdict import gather, read
    from ..metrics import nieqa_local

    drawn: Any = m.centers if m.n_centers < m.n_points else None
    m_l = nieqa_local(x, y, neighborhoods=graph, include_self=include_self, n_centers=drawn, n_jobs=jobs)
    sentence = read(gather(m, float(m_l))).sentence
    count, mean, _ = worst(m)
    if count * mean > 0.5 * m.r_n * (m.n_centers - m.n_degenerate):
        return sentence + " The worst 1 % of the points make up most of R_N."
    return sentence


def wrapped(text: str, indent: int) -> list[str]:
    """Break a line; the next ones are indented."""
    return textwrap.wrap(
        text,
        WIDTH,
        subsequent_indent=" " * indent,
        drop_whitespace=True,
        break_long_words=False,
        break_on_hyphens=False,
    )


@contextmanager
def warnings_in_one_line() -> Iterator[None]:
    """Print what the library warns of as the command prints errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_, **__: print(
            "unbend: warning:", " ".join(str(message).split()), file=sys.stderr
        )
        yield
