"""The two sides of a cut: every seam in one colour on both, with arrows along which they belong together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..fit.cut import Seam
from .canvas import CATEGORIES
from .seams import Run, runs_of

__all__ = ["draw_seams"]

Array = npt.NDArray[np.float64]

NUMBERED = 12
"""So many seams have arrows and numbers, the longest; more would hide each other."""

LEAST = 6.0
"""The least size of the dots of a seam, in square points."""

HALO = 2.5
"""So much larger are the white dots below those of a seam, which set it off from what lies around."""

ARROW, HEAD, ARROW_ASIDE, NUMBER_ASIDE = 30.0, 15.0, 7.0, 19.0
"""In points: how long an arrow is, and its head; how far beside the seam it is, and the number."""


def draw_seams(ax: Any, shown: Array, seams: Sequence[Seam], size: float) -> None:
    """Draw seams over the dots of an embedding; `size` is that of its dots."""
    dot = max(LEAST, 2 * size)
    for place, seam in enumerate(seams):
        colour, number = CATEGORIES[place % len(CATEGORIES)], str(place + 1)
        both = shown[np.concatenate([seam.points, seam.partners])].T
        ax.scatter(*both, color="white", s=HALO * dot, linewidths=0, zorder=2)
        ax.scatter(*both, color=colour, s=dot, linewidths=0, zorder=3)
        if place >= NUMBERED:
            continue
        if ax.name == "3d":
            for side in (seam.points, seam.partners):
                ax.text(*shown[side[len(side) // 2]], number, color=colour, fontweight="bold")
            continue
        for run in runs_of(shown, seam):
            _point_along(ax, run, colour, number, seam.reversed)


def _point_along(ax: Any, run: Run, colour: str, number: str, reflected: bool) -> None:
    """Draw an arrow beside a seam, and the number of the seam beyond."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.patheffects import withStroke
    from matplotlib.transforms import ScaledTranslation

    middle, along, aside = run
    halo = [withStroke(linewidth=4, foreground="white")]
    inches = ax.figure.dpi_scale_trans + ScaledTranslation(middle[0], middle[1], ax.transData)
    begin, end = ((ARROW_ASIDE * aside + half * ARROW * along) / 72 for half in (-0.5, 0.5))
    looks: dict[str, Any] = {"edgecolor": colour, "facecolor": "white" if reflected else colour}
    looks |= {"linewidth": 1.8, "path_effects": halo, "zorder": 4, "clip_on": False, "transform": inches}
    ways: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": HEAD, "shrinkA": 0, "shrinkB": 0}
    ax.add_patch(FancyArrowPatch(tuple(begin), tuple(end), **ways, **looks))
    text: dict[str, Any] = {"color": colour, "fontweight": "bold", "path_effects": halo, "zorder": 5}
    at: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "center"}
    ax.annotate(number, middle, NUMBER_ASIDE * aside, **at, **text)
