"""`unbend demo`: a swiss roll, flattened in several ways, measured and drawn."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

import unbend as ub

from ..core.jsonable import finite
from ..files import FileError, write_atomically
from .options import Command

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["COMMAND", "WAYS", "Roll", "figure"]

Array = npt.NDArray[np.float64]
T = TypeVar("T")

N_NEIGHBORS = 12
FIGURE = "swiss-roll.png"
GOOD, BAD = ("PSA, refined", "GP, refined"), ("PCA", "unit square")
"""Names of the embeddings in the wide rows of the figure, and of those next to the data."""


@dataclass(frozen=True)
class Roll:
    """The data of the demo. The coordinates are arc length and height: the true unrolling."""

    points: Array
    coordinates: Array
    neighborhoods: ub.Neighborhoods


WAYS: dict[str, Callable[[Roll], Any]] = {
    "true unrolling": lambda roll: roll.coordinates,
    "PSA, refined": lambda roll: ub.ProcrustesAlignment().fit_transform(
        roll.points, neighborhoods=roll.neighborhoods
    ),
    "GP, refined": lambda roll: ub.GreedyProcrustes(random_state=0).fit_transform(
        roll.points, neighborhoods=roll.neighborhoods
    ),
    "PCA": lambda roll: ub.PCA(2).fit_transform(roll.points),
    # The sides of the true unrolling are scaled to 1, as in algorithms with normalized axes.
    "unit square": lambda roll: (
        (roll.coordinates - roll.coordinates.min(axis=0)) / np.ptp(roll.coordinates, axis=0)
    ),
}
"""Embeddings that the demo compares, in the order of its table."""


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    folder = Path(options.output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {folder}: {error.strerror}") from error
    with redirect_stdout(sys.stderr if options.json else sys.stdout):
        measured, path = _shown(options.n, folder / FIGURE)
    if options.json:
        record = {
            "n_points": options.n,
            "n_neighbors": N_NEIGHBORS,
            "embeddings": {name: m.to_dict() for name, m in measured.items()},
            "picture": path and str(path),
        }
        print(json.dumps(finite(record), allow_nan=False))


def _shown(n: int, path: Path) -> tuple[dict[str, ub.Faithfulness], Path | None]:
    """Embed, measure and draw a roll, and print each step."""
    _ = ub.ProcrustesAlignment, ub.GreedyProcrustes  # scikit-learn is imported before the clock runs
    print(f"A swiss roll: {n:,} points in 3 dimensions, {N_NEIGHBORS} neighbors each\n")
    points, coordinates = _step("made the roll", lambda: ub.datasets.swiss_roll(n, random_state=0))
    graph = _step("found the neighbors", lambda: ub.neighborhoods(points, N_NEIGHBORS))
    roll = Roll(points, coordinates, graph)
    heads = ("R_N", "rescaled", "R_C", "bound", "flatten", "measure")
    print(f"\n  {'(0 is perfect)':<16}" + "".join(f"{head:>10}" for head in heads))
    measured = {name: _measured(name, roll) for name in WAYS}
    print()
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
    except ImportError:
        print("  no figure: it needs matplotlib, pip install 'unbend[plot]'")
        return measured, None

    def draw() -> Path:
        return write_atomically(path, FigureCanvasAgg(figure(roll, measured)).print_png, force=True)

    print(f"  {_step('drew the figure', draw)}")
    return measured, path


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    begin = time.perf_counter()
    return work(), time.perf_counter() - begin


def _step(name: str, work: Callable[[], T]) -> T:
    result, seconds = _timed(work)
    print(f"  {name:<24}{seconds:>8.2f} s")
    return result


def _measured(name: str, roll: Roll) -> ub.Faithfulness:
    """Embed and measure the roll; print a line of the table."""
    embedding, flatten = _timed(lambda: WAYS[name](roll))
    m, measure = _timed(lambda: ub.faithfulness(roll.points, embedding, neighborhoods=roll.neighborhoods))
    numbers = "".join(f"{value:>10.3g}" for value in (m.r_n, m.r_n_scaled, m.r_c, m.lower_bound))
    print(f"  {name:<16}{numbers}{flatten:>8.2f} s{measure:>8.2f} s")
    return m


def figure(roll: Roll, measured: dict[str, ub.Faithfulness]) -> Figure:
    """Return a figure of the roll and its embeddings, colored by arc length and by error."""
    from matplotlib.figure import Figure

    made = Figure(figsize=(12, 16), dpi=150, layout="constrained")
    bound = measured["true unrolling"].lower_bound
    made.suptitle(f"A swiss roll of {len(roll.points):,} points\n$R_N$ is at least {bound:.2g}", fontsize=18)
    parts: Any = made.subfigures(2, 1, height_ratios=(1, 3))
    above, below = parts
    data, *bad = [above.add_subplot(1, 3, 1, projection="3d"), *(above.add_subplot(1, 3, i) for i in (2, 3))]
    best, *good = below.subplots(3, 1)
    size = float(np.clip(2e5 / len(roll.points), 0.5, 10))
    arc: dict[str, Any] = {"color": roll.coordinates[:, 0], "cmap": "copper", "label": "arc length"}
    ub.plot.embedding(roll.points, **arc, ax=data, size=size, title="the data")
    data.set_box_aspect(np.ptp(roll.points, axis=0), zoom=1.2)
    data.view_init(elev=14, azim=-66)
    data.set_axis_off()
    ub.plot.embedding(measured[GOOD[0]], **arc, ax=best, size=size, title=f"{GOOD[0]}: true arc length")
    for axes, names in ((bad, BAD), (good, GOOD)):
        ub.plot.grid({name: measured[name] for name in names}, measure="r_n", ax=np.array(axes), size=size)
        for place, name in zip(axes, names, strict=True):
            m = measured[name]
            scaled = f" ({m.r_n_scaled:.2g} at the best scale)" * (m.r_n_scaled < 0.9 * m.r_n)
            place.set_title(f"{name}\n$R_N$ {m.r_n:.2g}{scaled}", fontsize=13)
    return made


COMMAND = Command(
    run,
    "flatten and measure a swiss roll",
    """\
Flatten a swiss roll in several ways and measure the results.

Prints the measures and the seconds of each step, and draws a figure, which
needs matplotlib: pip install 'unbend[plot]'.
""",
    """\
--n N  number of points (100000)
-o, --output DIR  folder of the figure (demo)
--json  print one JSON object; all else goes to stderr
""",
    """\
examples:
  unbend demo
  unbend demo --n 5000 -o pictures
""",
    {"n": {"default": 100_000}, "output": {"default": "demo", "required": False}},
)
