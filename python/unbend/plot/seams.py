"""Which seams a picture shows, and where on them arrows say how their sides belong together."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..fit.cut import Seam

__all__ = ["Run", "runs_of", "seams_of"]

Array = npt.NDArray[np.float64]
Run = tuple[Array, Array, Array]
"""Where an arrow goes: its middle, the unit vector along the seam, and the one across, away from the rest."""

STEADY = 9
"""An arrow shows how so many points in a row go on."""

PLACES = np.linspace(0.1, 0.9, 33)
"""Shares of a seam where an arrow can be."""

CENTRED = 0.2
"""By how much an arrow may be less even to be nearer to the middle."""

AROUND, FEWEST_AROUND = 0.03, 32
"""On which side of a seam the sheet is say this share of all points, but so many at least."""


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


def runs_of(shown: Array, seam: Seam) -> list[Run]:
    """Return where the arrows of a seam go, on one side and on the other, in two columns of an embedding."""
    sides = [shown[side] for side in (seam.points, seam.partners)]
    along = _steadiest(sides)
    return [_run(_part(side, along), shown) for side in sides]


def _steadiest(sides: list[Array]) -> float:
    """Return how far along both sides go on most evenly."""
    rough = CENTRED * np.abs(PLACES - 0.5)
    for side in sides:
        rough = rough + [_wandered(_part(side, place)) for place in PLACES]
    return float(PLACES[np.argmin(rough)])


def _part(side: Array, place: float) -> Array:
    """Return some points in a row, that far along."""
    begin = round(place * max(0, len(side) - STEADY))
    return side[begin : begin + STEADY]


def _wandered(part: Array) -> float:
    """Return the way from the first to the last point over their distance, as far as that says anything."""
    way = float(np.linalg.norm(np.diff(part, axis=0), axis=1).sum())
    return way / max(float(np.linalg.norm(part[-1] - part[0])), way / STEADY, 1e-300)


def _run(part: Array, shown: Array) -> Run:
    middle, ahead = part[len(part) // 2], part[-1] - part[0]
    along = ahead / (float(np.linalg.norm(ahead)) or 1.0)
    across, outward = np.array([-along[1], along[0]]), middle - _around(shown, middle)
    return middle, along, across if across @ outward >= 0 else -across


def _around(shown: Array, middle: Array) -> Array:
    """Return the mean of the points near a place: a sheet that bends is not where its centre is."""
    count = min(len(shown), max(FEWEST_AROUND, round(AROUND * len(shown))))
    apart = ((shown - middle) ** 2).sum(axis=1)
    return np.asarray(shown[np.argpartition(apart, count - 1)[:count]].mean(axis=0))
