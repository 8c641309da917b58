"""The two sides of a cut: each seam has one color on both, and arrows that show how they fit together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..fit.cut import Seam
from .canvas import CATEGORIES, Array

__all__ = ["NUMBERED", "draw_seams", "runs_of", "seams_of"]

Run = tuple[Array, Array, Array]
"""Place of an arrow: its middle, the unit vector along the seam, and that across it, away from the sheet."""

STEADY = 9
"""Number of consecutive points whose direction an arrow shows."""

PLACES = np.linspace(0.1, 0.9, 33)
"""Places on a seam where an arrow can be, as shares of its length."""

CENTERED = 0.2
"""Weight of the distance from the middle compared with the evenness of the seam."""

AROUND, FEWEST_AROUND = 0.03, 32
"""Share and smallest number of nearest points that decide on which side of a seam the sheet lies."""


NUMBERED = 12
"""Number of seams with arrows and numbers, the longest; more would hide each other."""

LEAST = 6.0
"""Smallest size of the dots of a seam, in square points."""

HALO = 2.5
"""Size of the white dots below those of a seam, compared with them; they set it off from its surroundings."""

ARROW, HEAD, ARROW_ASIDE, NUMBER_ASIDE = 30.0, 15.0, 7.0, 19.0
"""Length of an arrow and of its head, and distance of arrow and number from the seam, in points."""


def seams_of(source: Any, given: Any, n: int) -> list[Seam]:
    """Return the seams to draw: those given, or those of a fitted estimator."""
    if isinstance(given, str):
        if given != "auto":
            raise ValueError(f"seams = {given!r} is unknown: use 'auto' or a list of seams")
        given = getattr(source, "seams_", None)
    held = list(given or ())
    for seam in held:
        if not isinstance(seam, Seam):
            raise ValueError(f"seams holds a {type(seam).__name__}: give the seams_ of a fitted estimator")
        last = int(max(seam.points.max(initial=0), seam.partners.max(initial=0)))
        if last >= n:
            raise ValueError(f"a seam goes through point {last}, but the embedding has {n} rows")
    return held


def draw_seams(ax: Any, shown: Array, seams: Sequence[Seam], size: float) -> None:
    """Draw seams over the dots of an embedding, which have this size."""
    dot = max(LEAST, 2 * size)
    for place, seam in enumerate(seams):
        color, number = CATEGORIES[place % len(CATEGORIES)], str(place + 1)
        both = shown[np.concatenate([seam.points, seam.partners])].T
        ax.scatter(*both, color="white", s=HALO * dot, linewidths=0, zorder=2)
        ax.scatter(*both, color=color, s=dot, linewidths=0, zorder=3)
        if place >= NUMBERED:
            continue
        if ax.name == "3d":
            for side in (seam.points, seam.partners):
                ax.text(*shown[side[len(side) // 2]], number, color=color, fontweight="bold")
            continue
        for run in runs_of(shown, seam):
            _point_along(ax, run, color, number, seam.reversed)


def _point_along(ax: Any, run: Run, color: str, number: str, reflected: bool) -> None:
    """Draw an arrow next to a seam, and the number of the seam farther out."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.patheffects import withStroke
    from matplotlib.transforms import ScaledTranslation

    middle, along, aside = run
    halo = [withStroke(linewidth=4, foreground="white")]
    inches = ax.figure.dpi_scale_trans + ScaledTranslation(middle[0], middle[1], ax.transData)
    begin, end = ((ARROW_ASIDE * aside + half * ARROW * along) / 72 for half in (-0.5, 0.5))
    looks: dict[str, Any] = {"edgecolor": color, "facecolor": "white" if reflected else color}
    looks |= {"linewidth": 1.8, "path_effects": halo, "zorder": 4, "clip_on": False, "transform": inches}
    looks |= {"arrowstyle": "-|>", "mutation_scale": HEAD, "shrinkA": 0, "shrinkB": 0}
    ax.add_patch(FancyArrowPatch(tuple(begin), tuple(end), **looks))
    text = {"color": color, "fontweight": "bold", "path_effects": halo, "zorder": 5}
    text |= {"textcoords": "offset points", "ha": "center", "va": "center"}
    ax.annotate(number, middle, NUMBER_ASIDE * aside, **text)


def runs_of(shown: Array, seam: Seam) -> list[Run]:
    """Return the arrows on both sides of a seam, in two columns of an embedding."""
    sides = [shown[side] for side in (seam.points, seam.partners)]
    along = _steadiest(sides)
    return [_run(_part(side, along), shown) for side in sides]


def _steadiest(sides: list[Array]) -> float:
    """Return the place where both sides are straightest."""
    wandered = [sum(_wandered(_part(side, place)) for side in sides) for place in PLACES]
    return float(PLACES[np.argmin(CENTERED * np.abs(PLACES - 0.5) + wandered)])


def _part(side: Array, place: float) -> Array:
    """Return consecutive points at a place."""
    begin = round(place * max(0, len(side) - STEADY))
    return side[begin : begin + STEADY]


def _wandered(part: Array) -> float:
    """Return the length of the path through the points over the distance of its ends."""
    way = float(np.linalg.norm(np.diff(part, axis=0), axis=1).sum())
    return way / max(float(np.linalg.norm(part[-1] - part[0])), way / STEADY, 1e-300)


def _run(part: Array, shown: Array) -> Run:
    middle, ahead = part[len(part) // 2], part[-1] - part[0]
    along = ahead / (float(np.linalg.norm(ahead)) or 1.0)
    across, outward = np.array([-along[1], along[0]]), middle - _around(shown, middle)
    return middle, along, across if across @ outward >= 0 else -across


def _around(shown: Array, middle: Array) -> Any:
    """Return the mean of the points near a place; the center of a bent sheet can lie outside it."""
    count = min(len(shown), max(FEWEST_AROUND, round(AROUND * len(shown))))
    apart = ((shown - middle) ** 2).sum(axis=1)
    return shown[np.argpartition(apart, count - 1)[:count]].mean(axis=0)
