"""A swiss roll, flattened in several ways, measured and drawn: what `unbend demo` shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..core.jsonable import finite
from ..datasets import swiss_roll
from ..files.tables import FileError, write_atomically
from ..graph.neighbors import Neighborhoods, neighborhoods
from ..metrics import Faithfulness, faithfulness

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Flattening", "record", "run"]

Array = npt.NDArray[np.float64]
Echo = Callable[[str], None]

N_NEIGHBORS = 12
PICTURE = "swiss-roll.png"
COLOURS, COLOURS_OF_DATA = "viridis", "copper"


@dataclass(frozen=True)
class Roll:
    """The data of the demo."""

    points: Array
    coordinates: Array
    """Arc length and height: the true unrolling."""
    neighborhoods: Neighborhoods


@dataclass(frozen=True)
class Way:
    """A way of laying the roll flat."""

    name: str
    title: str
    embed: Callable[[Roll], Array]


@dataclass(frozen=True)
class Flattening:
    """The roll laid flat in one way, and how faithful that is."""

    way: Way
    embedding: Array
    measured: Faithfulness


def true_unrolling(roll: Roll) -> Array:
    """Return the roll as it was before it was rolled up."""
    return roll.coordinates


def greedy_procrustes(roll: Roll) -> Array:
    """Return the roll as greedy Procrustes lays it flat, knowing nothing but the points."""
    from ..estimators.embed import GreedyProcrustes

    return GreedyProcrustes(random_state=0).fit_transform(roll.points, neighborhoods=roll.neighborhoods)


def procrustes_alignment(roll: Roll) -> Array:
    """Return the roll as Procrustes subspaces alignment lays it flat."""
    from ..estimators.align import ProcrustesAlignment

    return ProcrustesAlignment().fit_transform(roll.points, neighborhoods=roll.neighborhoods)


def pca(roll: Roll) -> Array:
    """Return the shadow of the roll on its first two principal directions."""
    centred = roll.points - roll.points.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    return np.asarray(centred @ directions[:2].T)


def unit_square(roll: Roll) -> Array:
    """Return the true unrolling with both sides squeezed to 1, as algorithms do that normalise."""
    lowest = roll.coordinates.min(axis=0)
    return np.asarray((roll.coordinates - lowest) / (roll.coordinates.max(axis=0) - lowest))


WAYS = (
    Way("true unrolling", "true unrolling", true_unrolling),
    Way("GP, refined", "greedy Procrustes", greedy_procrustes),
    Way("PSA, refined", "Procrustes alignment", procrustes_alignment),
    Way("PCA", "PCA: a shadow", pca),
    Way("unit square", "unit square: both sides normalised", unit_square),
)
"""What the demo compares, in the order of its table; the second and third get the wide places."""


def run(n: int = 100_000, folder: str | Path = "demo", *, echo: Echo = print) -> Path | None:
    """Make a swiss roll, lay it flat in several ways, measure each and draw them.

    Parameters
    ----------
    n : int, default 100,000
        Number of points.
    folder : str or path-like
        Where the picture goes; made if it is not there. An older picture is replaced.
    echo : callable, default print
        Takes each line of the report.

    Returns
    -------
    Path or None
        The picture; None without matplotlib.

    Examples
    --------
    >>> from unbend.cli.swiss_roll import run
    >>> picture = run(2000, "pictures")  # doctest: +SKIP
    """
    return _shown(n, folder, echo)[1]


def record(n: int = 100_000, folder: str | Path = "demo", *, echo: Echo = print) -> dict[str, Any]:
    """Do what :func:`run` does, and return the numbers, ready for JSON.

    Parameters
    ----------
    n, folder, echo
        As for :func:`run`.

    Returns
    -------
    dict

    Examples
    --------
    >>> from unbend.cli.swiss_roll import record
    >>> found = record(2000, "pictures")  # doctest: +SKIP
    """
    flattenings, picture = _shown(n, folder, echo)
    return {
        "n_points": n,
        "n_neighbors": N_NEIGHBORS,
        "embeddings": {flat.way.name: finite(flat.measured.to_dict()) for flat in flattenings},
        "picture": None if picture is None else str(picture),
    }


def _shown(n: int, folder: str | Path, echo: Echo) -> tuple[list[Flattening], Path | None]:
    folder = _made(Path(folder))
    echo(f"A swiss roll: {n:,} points in 3 dimensions, {N_NEIGHBORS} neighbours each")
    echo("")
    roll = _make(n, echo)
    echo("")
    flattenings = _compare(roll, echo)
    echo("")
    return flattenings, _draw(roll, flattenings, folder, echo)


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {folder}: {error.strerror}") from error
    return folder


def _make(n: int, echo: Echo) -> Roll:
    with _timed(partial(_stage, echo, "made the roll")):
        points, coordinates = swiss_roll(n, random_state=0)
    with _timed(partial(_stage, echo, "found the neighbours")):
        found = neighborhoods(points, N_NEIGHBORS)
    return Roll(points, coordinates, found)


def _stage(echo: Echo, name: str, seconds: float) -> None:
    echo(f"  {name:<24}{seconds:>8.2f} s")


@contextmanager
def _timed(report: Callable[[float], None]) -> Iterator[None]:
    began = time.perf_counter()
    yield
    report(time.perf_counter() - began)


def _compare(roll: Roll, echo: Echo) -> list[Flattening]:
    """Lay the roll flat in every way; a line of the table appears as soon as it is known."""
    heads = ("R_N", "rescaled", "R_C", "at least", "flatten", "measure")
    echo(f"  {'(0 is perfect)':<16}" + "".join(f"{head:>10}" for head in heads))
    return [_flatten(way, roll, echo) for way in WAYS]


def _flatten(way: Way, roll: Roll, echo: Echo) -> Flattening:
    seconds: list[float] = []
    with _timed(seconds.append):
        embedding = way.embed(roll)
    with _timed(seconds.append):
        m = faithfulness(roll.points, embedding, neighborhoods=roll.neighborhoods)
    values = (m.r_n, m.r_n_scaled, m.r_c, m.lower_bound)
    columns = [f"{value:>10.3g}" for value in values] + [f"{second:>8.2f} s" for second in seconds]
    echo(f"  {way.name:<16}{''.join(columns)}")
    return Flattening(way, embedding, m)


# The picture ---------------------------------------------------------------------------------------------


def _draw(roll: Roll, flattenings: list[Flattening], folder: Path, echo: Echo) -> Path | None:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
    except ImportError:
        echo("  no picture: it needs matplotlib, pip install 'unbend[plot]'")
        return None
    with _timed(partial(_stage, echo, "drew the picture")):
        canvas = FigureCanvasAgg(_figure(roll, flattenings))
        path = write_atomically(folder / PICTURE, canvas.print_png, force=True)
    echo(f"  {path}")
    return path


def _figure(roll: Roll, flattenings: list[Flattening]) -> Figure:
    """Lay out the roll and what becomes of it elsewhere above the long, good ones."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 16.4), dpi=150, facecolor="white")
    _, greedy, best, *others = flattenings
    figure.suptitle(f"A swiss roll of {len(roll.points):,} points, laid flat", fontsize=20, y=0.984)
    bound = f"no flattening can have an $R_N$ below ${_in_math(best.measured.lower_bound)}$"
    figure.text(0.5, 0.951, bound, ha="center", fontsize=13, color="0.35")
    above = figure.add_gridspec(1, 1 + len(others), left=0.03, right=0.97, top=0.9, bottom=0.71, wspace=0.16)
    below = figure.add_gridspec(3, 1, left=0.1, right=0.9, top=0.65, bottom=0.085, hspace=0.38)
    scale = _shared_scale(flattenings)
    _draw_roll(figure.add_subplot(above[0], projection="3d"), roll)
    for column, flattening in enumerate(others, 1):
        _draw_flattening(figure.add_subplot(above[column]), flattening, scale, cover=3)
    _draw_recovered(figure.add_subplot(below[0]), best, roll)
    _draw_flattening(figure.add_subplot(below[1]), best, scale, cover=7, title="the same, coloured by error")
    dots = _draw_flattening(figure.add_subplot(below[2]), greedy, scale, cover=7)
    _draw_bar(figure, dots)
    return figure


def _draw_bar(figure: Figure, dots: Any) -> None:
    bar = figure.colorbar(
        dots, cax=figure.add_axes((0.25, 0.04, 0.5, 0.009)), orientation="horizontal", extend="both"
    )
    bar.ax.minorticks_off()
    bar.ax.tick_params(labelsize=11)
    bar.outline.set_visible(False)
    bar.set_label("$R_N$ of each neighbourhood (0 is perfect)", fontsize=12)


def _shared_scale(flattenings: list[Flattening]) -> Any:
    from matplotlib.colors import LogNorm

    values = np.concatenate([flattening.measured.per_point["r_n"] for flattening in flattenings])
    low, high = np.percentile(values[np.isfinite(values)], (1, 99.9))
    return LogNorm(max(low, 1e-12), max(high, 1e-11))


def _draw_roll(axes: Any, roll: Roll) -> None:
    x, y, z = roll.points.T
    dots = _dots(len(x), cover=3)
    axes.scatter(x, y, z, c=roll.coordinates[:, 0], cmap=COLOURS_OF_DATA, depthshade=False, **dots)
    axes.set_box_aspect(np.ptp(roll.points, axis=0), zoom=1.45)
    axes.view_init(elev=14, azim=-66)
    axes.set_axis_off()
    axes.set_title("the data\ncoloured by arc length", fontsize=13)


def _draw_recovered(axes: Axes, flattening: Flattening, roll: Roll) -> None:
    """Draw in the colours of the roll: where they run evenly, its arc length was found."""
    x, y = flattening.embedding.T
    axes.scatter(x, y, c=roll.coordinates[:, 0], cmap=COLOURS_OF_DATA, **_dots(len(x), cover=7))
    _plain(axes)
    axes.set_title(f"{flattening.way.title}\ncoloured by the true arc length", fontsize=13)


def _draw_flattening(
    axes: Axes, flattening: Flattening, scale: Any, cover: float, title: str | None = None
) -> Any:
    x, y = flattening.embedding.T
    m = flattening.measured
    dots = axes.scatter(x, y, c=m.per_point["r_n"], cmap=COLOURS, norm=scale, **_dots(len(x), cover))
    _plain(axes)
    axes.set_title(f"{title or flattening.way.title}\n{_verdict(m)}", fontsize=13)
    return dots


def _plain(axes: Axes) -> None:
    axes.set_aspect("equal", adjustable="datalim")
    axes.spines[:].set_color("0.8")
    axes.tick_params(color="0.8", labelcolor="0.35", labelsize=10)


def _verdict(m: Faithfulness) -> str:
    """Return the R_N, and how much better it could be where the scale is to blame."""
    text = f"$R_N = {_in_math(m.r_n)}$"
    return text + f", at the best scale ${_in_math(m.r_n_scaled)}$" * (m.r_n_scaled < 0.9 * m.r_n)


def _in_math(value: float) -> str:
    """Write a number as mathematics do: 2.5e-05 becomes 2.5 times 10 to the -5."""
    mantissa, _, exponent = f"{value:.2g}".partition("e")
    return rf"{mantissa} \times 10^{{{int(exponent)}}}" if exponent else mantissa


def _dots(n: int, cover: float) -> dict[str, Any]:
    """Return the looks of `n` dots that neither blot nor leave gaps; `cover` is larger in a larger place."""
    return {"s": cover * float(np.clip(1e5 / n, 1, 5)), "linewidths": 0, "rasterized": True}
