"""The two sides of a cut: every seam in one colour on both, with arrows along which they belong together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..cut import Seam
from .canvas import CATEGORIES

__all__ = ["draw_seams", "seams_of"]

Array = npt.NDArray[np.float64]

NUMBERED = 12
"""So many seams have arrows and numbers, the longest; more would hide each other."""

STEADY = 9
"""An arrow shows how so many points in a row go on."""

PLACES = np.linspace(0.1, 0.9, 33)
"""Shares of a seam where an arrow can be."""

LEAST = 6.0
"""The least size of the dots of a seam, in square points."""

ARROW, HEAD, ARROW_ASIDE, NUMBER_ASIDE = 30.0, 15.0, 7.0, 19.0
"""In points: how long an arrow is, and its head; how far beside the seam it is, and the number."""

HALO = 2.5
"""So much larger are the white dots below those of a seam, which set it off from what lies around."""


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
    """Draw seams over the dots of an embedding; `size` is that of its dots."""
    dot, centre = max(LEAST, 2 * size), shown.mean(axis=0)
    for place, seam in enumerate(seams):
        colour = CATEGORIES[place % len(CATEGORIES)]
        sides = [shown[side] for side in (seam.points, seam.partners)]
        both = np.concatenate(sides).T
        ax.scatter(*both, color="white", s=HALO * dot, linewidths=0, zorder=2)
        ax.scatter(*both, color=colour, s=dot, linewidths=0, zorder=3)
        if place < NUMBERED:
            along = _steadiest(sides)
            for side in sides:
                _point_along(ax, _run(side, along), centre, colour, str(place + 1), seam.reversed)


def _steadiest(sides: Iterable[Array]) -> float:
    """Return how far along both sides go on most evenly: an arrow there says how they run."""
    rough = 0.2 * np.abs(PLACES - 0.5)
    for side in sides:
        rough = rough + [_wandered(_run(side, place)) for place in PLACES]
    return float(PLACES[np.argmin(rough)])


def _run(side: Array, place: float) -> Array:
    """Return some points in a row, that far along."""
    begin = round(place * max(0, len(side) - STEADY))
    return side[begin : begin + STEADY]


def _wandered(run: Array) -> float:
    """Return the way from the first to the last point over their distance, as far as that says anything."""
    way = float(np.linalg.norm(np.diff(run, axis=0), axis=1).sum())
    return way / max(float(np.linalg.norm(run[-1] - run[0])), way / STEADY, 1e-300)


def _point_along(ax: Any, run: Array, centre: Array, colour: str, number: str, reflected: bool) -> None:
    """Draw an arrow along some points in a row, and the number of their seam, both away from the rest."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.patheffects import withStroke
    from matplotlib.transforms import ScaledTranslation

    middle, ahead = run[len(run) // 2], run[-1] - run[0]
    halo = [withStroke(linewidth=4, foreground="white")]
    text = {"color": colour, "fontweight": "bold", "path_effects": halo}
    if ax.name == "3d":
        ax.text(*middle, number, **text)
        return
    along = ahead / (float(np.linalg.norm(ahead)) or 1.0)
    aside = np.array([-along[1], along[0]]) * (1 if _is_left(along, middle - centre) else -1)
    inches = ax.figure.dpi_scale_trans + ScaledTranslation(*middle, ax.transData)
    begin, end = ((ARROW_ASIDE * aside + half * ARROW * along) / 72 for half in (-0.5, 0.5))
    filled = {"edgecolor": colour, "facecolor": "white" if reflected else colour, "linewidth": 1.8}
    ways = {"arrowstyle": "-|>", "mutation_scale": HEAD, "shrinkA": 0, "shrinkB": 0, "transform": inches}
    ax.add_patch(FancyArrowPatch(begin, end, **ways, **filled, path_effects=halo, zorder=4, clip_on=False))
    place = {"textcoords": "offset points", "ha": "center", "va": "center", "zorder": 5}
    ax.annotate(number, middle, NUMBER_ASIDE * aside, **place, **text)


def _is_left(ahead: Array, outward: Array) -> bool:
    """Return whether what lies outward is on the left of the way ahead."""
    return bool(ahead[0] * outward[1] >= ahead[1] * outward[0])
