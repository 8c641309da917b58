"""The two sides of a cut on the page: each seam has one color on both, with arrows and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from ..fit.cut import Seam
from ..plot.seams import NUMBERED, runs_of

__all__ = ["Sides", "draw_sides"]

Array = npt.NDArray[Any]

LENGTH, ASIDE, BEYOND = 0.08, 0.02, 0.045
"""Length of an arrow, and distance of arrow and number from the seam, as shares of the picture."""


@dataclass(frozen=True)
class Sides:
    """Dots and arrows for the seams of one embedding."""

    dots: Mapping[str, Array]
    """Points on both sides: their coordinates "x0", "x1", ..., and the number of their seam."""
    arrows: Mapping[str, Array]
    """Two arrows for each seam: for any two axes "01", ... their ends and the place of the number; the number
    of their seam, and whether the surface continues reflected."""

    @classmethod
    def of(cls, y: Array, seams: Sequence[Seam]) -> Sides:
        """Return the dots and arrows; a line gets a second coordinate of 0."""
        y = np.asarray(y, dtype=np.float64)
        y = y if y.shape[1] > 1 else np.column_stack([y, np.zeros(len(y))])
        sides = [np.concatenate([seam.points, seam.partners]) for seam in seams]
        drawn = np.concatenate(sides)
        dots = {f"x{axis}": y[drawn, axis].astype(np.float32) for axis in range(y.shape[1])}
        dots["seam"] = np.repeat(np.arange(len(seams)), [len(side) for side in sides])
        numbered = seams[:NUMBERED]
        arrows: dict[str, Array] = {"seam": np.repeat(np.arange(len(numbered)), 2)}
        arrows["reversed"] = np.repeat([seam.reversed for seam in numbered], 2)
        for pair in combinations(range(y.shape[1]), 2):
            arrows |= _arrows(y[:, list(pair)], numbered, "{}{}".format(*pair))
        return cls(dots, arrows)


def _arrows(shown: Array, seams: Sequence[Seam], pair: str) -> dict[str, Array]:
    """Return the ends of arrows and the places of numbers, along two axes."""
    size = float(np.linalg.norm(np.ptp(shown, axis=0)))
    middle, along, aside = (
        np.array(part) for part in zip(*(run for seam in seams for run in runs_of(shown, seam)), strict=True)
    )
    beside, half = middle + ASIDE * size * aside, LENGTH / 2 * size * along
    places = {"a": beside - half, "b": beside + half, "n": middle + BEYOND * size * aside}
    return {f"{end}{pair}_{axis}": held[:, axis] for end, held in places.items() for axis in (0, 1)}


def draw_sides(picture: Any, place: int, sides: Sides, colors: Sequence[str], size: float) -> None:
    """Draw both sides above the points, on their own layer."""
    dots, arrows = _source(sides.dots, colors), _source(sides.arrows, colors)
    over: dict[str, Any] = {"level": "overlay"}
    looks = {"fill_color": "color", "line_color": None, "name": f"sides{place}", **over}
    picture.scatter("x0", "x1", source=dots, size=size + 2, **looks)
    for reflected in (False, True):
        chosen = sides.arrows["reversed"] == reflected
        if chosen.any():
            held = _source({name: column[chosen] for name, column in sides.arrows.items()}, colors)
            name = f"arrows{place}{'-reflected' if reflected else ''}"
            picture.add_layout(_pointing(held, reflected, name=name, **over))
    text: dict[str, Any] = {"text_align": "center", "text_baseline": "middle", "text_font_style": "bold"}
    text |= {"text_color": "#777777", "name": f"numbers{place}", **over}
    picture.text("n01_0", "n01_1", "number", source=arrows, **text)


def _source(held: Mapping[str, Array], colors: Sequence[str]) -> Any:
    from bokeh.models import ColumnDataSource

    shade = [colors[number % len(colors)] for number in held["seam"]]
    number = [str(number + 1) for number in held["seam"]]
    return ColumnDataSource(data={**held, "color": shade, "number": number})


def _pointing(source: Any, reflected: bool, **looks: Any) -> Any:
    from bokeh.models.annotations.arrows import Arrow, NormalHead

    ends: dict[str, Any] = {"x_start": "a01_0", "y_start": "a01_1", "x_end": "b01_0", "y_end": "b01_1"}
    inside: dict[str, Any] = {"fill_color": "#ffffff" if reflected else "color"}
    head = NormalHead(size=12, line_color="color", line_width=2, **inside)
    line: dict[str, Any] = {"line_color": "color", "line_width": 2.5}
    return Arrow(source=source, end=head, **ends, **line, **looks)
