"""Search for cuts: to a disc, and further while that pays or until its stretch is small enough.

Each further cut goes from a strained place to the boundary, and the map continues from the one before: both banks
of a new seam begin at the same place, so that no triangle flips and the energy never rises. The search is greedy:
it finds short seams, not the shortest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ..cut import branch, depths, opened, shortened
from ..energy import Faces
from ..surface import Surface
from .disc import MAX_BRANCHES, Chart, ChartSettings, Disc

__all__ = ["charts_of"]

MIN_GAIN = 0.3
"""A further cut must lower the excess of the energy by this share, unless a stretch is asked for."""

SMALL_EXCESS = 0.01
"""A map whose energy exceeds an isometry's by less is not cut further by itself."""

MAX_UNCUT_STRETCH = 5.0
"""A disc is cut further if 99 % of its area are stretched or compressed by at least this factor."""

MAX_TRIMMED, TRIALS = 2, 4
"""This number of the last cuts is shortened from their tips, each with this number of trial maps."""


def charts_of(piece: Surface, settings: ChartSettings) -> Iterator[tuple[Faces, Chart]]:
    """Lay a connected surface flat; yield the triangles of each chart, and the chart."""
    with settings.progress.stage("cut"):
        surface = piece if piece.is_disc else _opened(piece, settings)
    for rows, disc in surface.pieces():
        yield rows, _laid(disc, settings, was_disc=piece.is_disc)


def _opened(piece: Surface, settings: ChartSettings) -> Surface:
    if not settings.may_cut:
        raise ValueError(
            f"a piece of {len(piece.faces):,} triangles has Euler characteristic {piece.euler} and "
            f"{len(piece.loops)} boundaries, but a disc has 1 and 1: set cut='auto', or give seams as cut="
        )
    disc = opened(piece)
    return shortened(piece, disc) if disc.is_disc else disc


def _laid(surface: Surface, settings: ChartSettings, was_disc: bool) -> Chart:
    """Lay a disc flat, and cut into it where that is needed."""
    searches = not was_disc or settings.max_stretch is not None
    chart = Disc(surface).laid(settings, draft=searches)
    if not searches:
        is_free = not settings.has_seams and not isinstance(settings.start, np.ndarray)
        searches = is_free and Disc(chart.surface).stretch(chart.z) > MAX_UNCUT_STRETCH
    if not searches:
        return chart
    if settings.max_stretch is None or not settings.may_cut:
        best = _cut_while_it_pays(chart, settings) if settings.may_cut else chart
        return _finished(best, settings)
    return _cut_until(chart, settings.max_stretch, settings)


def _finished(chart: Chart, settings: ChartSettings) -> Chart:
    if chart.status == "stopped":
        return chart
    return Disc(chart.surface).continued(chart, settings, draft=False)


def _cut_while_it_pays(chart: Chart, settings: ChartSettings) -> Chart:
    for _ in range(MAX_BRANCHES):
        if chart.status == "stopped" or chart.excess < SMALL_EXCESS:
            break
        surface = chart.surface.cut(_strained_path(chart))
        better = Disc(surface).continued(chart, settings, draft=True)
        if better.excess > (1 - MIN_GAIN) * chart.excess:
            break
        chart = better
    return chart


def _strained_path(chart: Chart) -> Faces:
    """Return the sides of a path to the boundary from where a chart is strained, far from its boundary.

    Strain is largest at the end of the last cut, where cutting further would gain one edge at a time.
    """
    excess = np.maximum(Disc(chart.surface).strain(chart.z) - 4, 0)
    return branch(chart.surface, int(np.argmax(np.sqrt(excess) * depths(chart.surface))))


@dataclass(frozen=True, eq=False)
class _Cut:
    """A cut from a strained place to the boundary of a chart, and the chart that it was made into."""

    before: Chart = field(repr=False)
    path: Faces = field(repr=False)  # A side of each edge, from the tip to the boundary.


def _cut_until(chart: Chart, max_stretch: float, settings: ChartSettings) -> Chart:
    """Cut into a chart until its stretch is within a limit, then shorten the last cuts while it stays so."""
    cuts: list[_Cut] = []
    if _ends(chart, max_stretch):
        chart = _finished(chart, settings)
    while len(cuts) < MAX_BRANCHES and not _ends(chart, max_stretch):
        cuts.append(_Cut(chart, _strained_path(chart)))
        chart = Disc(chart.surface.cut(cuts[-1].path)).continued(chart, settings, draft=True)
        if _ends(chart, max_stretch):
            chart = _finished(chart, settings)
    if not _is_within(chart, max_stretch):
        return _finished(chart, settings)
    for k in range(len(cuts) - 1, max(-1, len(cuts) - 1 - MAX_TRIMMED), -1):
        chart, cuts[k] = _trimmed(chart, cuts, k, max_stretch, settings)
    return chart


def _ends(chart: Chart, max_stretch: float) -> bool:
    return chart.status == "stopped" or _is_within(chart, max_stretch)


def _is_within(chart: Chart, max_stretch: float) -> bool:
    return Disc(chart.surface).stretch(chart.z) <= max_stretch


def _trimmed(
    chart: Chart, cuts: list[_Cut], k: int, max_stretch: float, settings: ChartSettings
) -> tuple[Chart, _Cut]:
    """Return the chart with the shortest part of a cut, by halving, that keeps the stretch within its limit."""
    cut = cuts[k]
    later = [c.path for c in cuts[k + 1 :]]
    kept, too_short = len(cut.path), _n_needed(cut, later) - 1
    shortest = chart
    for _ in range(TRIALS):
        if shortest.status == "stopped" or kept - too_short <= 1:
            break
        length = max((kept + too_short) // 2, 0)
        path = cut.path[len(cut.path) - length :]
        surface = cut.before.surface.cut(np.concatenate([path, *later]))
        trial = Disc(surface).continued(cut.before, settings, draft=True)
        if _is_within(trial, max_stretch):
            shortest, kept = trial, length
        else:
            too_short = length
    shortest = shortest if shortest is chart else _finished(shortest, settings)
    if not _is_within(shortest, max_stretch):
        return chart, cut
    return shortest, _Cut(cut.before, cut.path[len(cut.path) - kept :])


def _n_needed(cut: _Cut, later: list[Faces]) -> int:
    """Return the number of edges of a cut, from the boundary on, that later cuts begin from."""
    surface = cut.before.surface
    triangles = surface.triangles

    def ends(sides: Faces) -> Faces:
        return np.stack([triangles.ravel()[sides], np.roll(triangles, -1, axis=1).ravel()[sides]])

    if not later:
        return 0
    touched = np.isin(ends(cut.path), np.concatenate([ends(path).ravel() for path in later]))
    first = np.flatnonzero(touched.any(axis=0))
    return len(cut.path) - int(first[0]) if len(first) else 0
