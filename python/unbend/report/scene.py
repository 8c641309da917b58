"""The points in a report: their coordinates, colors, neighbors and names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.random import generator
from ..fit.cut import Seam
from ..graph.neighbors import Neighborhoods
from ..judge.comparison import Comparison
from ..judge.context import MeasureContext
from ..judge.measures import MEASURES, Measure
from ..judge.quality import Quality
from ..metrics.faithful import measured
from ..plot.seams import seams_of
from .sides import Sides
from .thumbnails import ThumbnailSheet

__all__ = ["Scene", "Shown", "seams_by_name"]

Array = npt.NDArray[Any]

MOST_DRAWN = 200_000
"""Number of points that a browser moves smoothly; of more, a random sample is drawn."""

MOST_AXES = 3
MOST_COLORS = 20
"""Number of different labels above which colors cannot be distinguished."""

NEAR_BYTES, MOST_NEAR = 16_000_000, 50
"""Largest size of all lists of neighbors, and of one list."""

CLIPPED = (2.0, 98.0)
"""Percentiles of values outside which colors do not change."""

SEEN = 1e3
"""Largest ratio of numbers to their differences for which single precision keeps four digits of these."""

POINT_MEASURES = ("trustworthiness", "overlap")
"""Measures by which points can be colored besides the error."""

NO_ERROR = 1e-30
"""Value that replaces 0 on a logarithmic scale."""


@dataclass(frozen=True)
class Shown:
    """Everything that the page draws."""

    columns: Mapping[str, Array]
    """Coordinates and colors, with an entry for each point that is drawn."""
    near: Array
    """Neighbors of each point that is drawn, by their places in it; missing ones are the point itself."""
    n_near: int
    """Mean number of neighbors of a point."""
    embeddings: list[dict[str, Any]]
    modes: list[dict[str, Any]]
    """Ways to color the points."""
    labels: list[str] | None
    """The labels that the codes in the column "label" stand for."""
    thumbnails: ThumbnailSheet | None
    sides: list[Any]
    """The two sides of the cut of each embedding, or None."""
    n_points: int
    """Number of points, including those that are not drawn."""
    shade: Measure | None
    """The measure whose error colors a point."""


@dataclass(frozen=True)
class Scene:
    """Labels, values, images and seams, checked, and the points that are drawn."""

    n: int
    drawn: Array
    """Points that are drawn, in ascending order."""
    labels: Array | None
    values: Mapping[str, Array]
    thumbnails: ThumbnailSheet | None
    seams: Mapping[str, list[Seam]]

    @classmethod
    def of(
        cls, n: int, seed: int, labels: Any, images: Any, values: Any, seams: Mapping[str, list[Seam]]
    ) -> Scene:
        """Check the labels, images and values of the points."""
        drawn = np.arange(n)
        if n > MOST_DRAWN:
            drawn = np.sort(generator(seed).choice(n, size=MOST_DRAWN, replace=False, shuffle=False))
        known = None if labels is None else _as_labels(labels, n)
        numbers = {str(name): _as_values(given, str(name), n) for name, given in (values or {}).items()}
        thumbnails = None if images is None else ThumbnailSheet.of(images, n, drawn)
        return cls(n, drawn, known, numbers, thumbnails, seams)

    def shown(self, context: MeasureContext, found: Comparison, by: str | None) -> Shown:
        """Return the scene of the page, in the order of the comparison; `by` if the caller named it."""
        shade, ys, copies = _shade(found, by), context.ys, len(found)
        columns: dict[str, Array] = {}
        embeddings, sides, modes = [], [], []
        for place, name in enumerate(found):
            y, seams = ys[name][:, :MOST_AXES], self.seams.get(name, [])
            columns |= _coordinates(place, y[self.drawn])
            if shade is not None:
                errors = _errors(context, name, found[name], shade)[self.drawn]
                columns[f"e{place}"] = np.log10(np.maximum(errors, NO_ERROR)).astype(np.float32)
            embeddings.append({"name": name, "axes": y.shape[1], "seams": len(seams)})
            sides.append(Sides.of(y, seams) if seams else None)
        if shade is not None:
            modes.append(_by_error(shade, [f"e{place}" for place in range(copies)], columns))
        labels = self._add_labels(columns, modes, copies)
        for place, (name, values) in enumerate(self.values.items()):
            columns[f"v{place}"] = column = _narrowed(values[self.drawn])
            modes.append(_mode(name, [f"v{place}"] * copies, *_ends([column]), log=False))
        for measure in _measured_at_points(found, shade, self.n):
            columns |= {
                f"{measure.name}{place}": _narrowed(quality.per_point[measure.name][self.drawn])
                for place, quality in enumerate(found.values())
            }
            modes.append(_by_measure(measure, [f"{measure.name}{place}" for place in range(copies)], columns))
        if self.n > len(self.drawn):
            columns["point"] = self.drawn.astype(np.uint32)
        return Shown(
            columns=columns,
            near=self._near(context.graph),
            n_near=round(float(context.graph.sizes.mean())),
            embeddings=embeddings,
            modes=modes or [{"name": "nothing", "fields": [], "labels": None}],
            labels=labels,
            thumbnails=self.thumbnails,
            sides=sides,
            n_points=self.n,
            shade=shade,
        )

    def _add_labels(
        self, columns: dict[str, Array], modes: list[dict[str, Any]], copies: int
    ) -> list[str] | None:
        """Add the codes of labels, and colors if they are few; return the labels by their codes."""
        if self.labels is None:
            return None
        found, codes = np.unique(self.labels[self.drawn], return_inverse=True)
        columns["label"] = codes.ravel().astype(np.min_scalar_type(len(found)))
        names: list[str] = found.tolist()
        if len(names) <= MOST_COLORS:
            modes.append({"name": "label", "fields": ["label"] * copies, "labels": names})
        return names

    def _near(self, graph: Neighborhoods) -> Array:
        """Return the true neighbors of each point among those drawn, up to the largest size of lists."""
        m = len(self.drawn)
        kind = np.min_scalar_type(m)
        width = min(MOST_NEAR, int(graph.sizes.max()), NEAR_BYTES // (m * kind.itemsize))
        place = np.full(self.n, -1)
        place[self.drawn] = np.arange(m)
        own = np.repeat(np.arange(m)[:, None], width, axis=1)
        starts, sizes = graph.indptr[self.drawn], graph.sizes[self.drawn]
        for column in range(width):
            rows = np.flatnonzero(sizes > column)
            found = place[graph.indices[starts[rows] + column]]
            own[rows[found >= 0], column] = found[found >= 0]
        return own.astype(kind)


def seams_by_name(
    embeddings: Mapping[str, Any], given: Mapping[str, Any] | None, n: int
) -> dict[str, list[Seam]]:
    """Return the given seams of each embedding, or those of a fitted estimator, without empty ones."""
    unknown = next((name for name in given or () if name not in embeddings), None)
    if unknown is not None:
        raise ValueError(f"seams are given of {unknown!r}, but embeddings are {', '.join(embeddings)}")
    found = {name: seams_of(y, (given or {}).get(name, "auto"), n) for name, y in embeddings.items()}
    return {name: seams for name, seams in found.items() if seams}


def _as_labels(labels: Any, n: int) -> Array:
    known = np.asarray(labels, dtype=object)
    if known.shape != (n,):
        raise ValueError(f"labels has shape {known.shape}: one label for each of the {n} points is needed")
    return known.astype(str)


def _as_values(values: Any, name: str, n: int) -> npt.NDArray[np.float64]:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"values of {name!r} are not numbers: give text as labels") from None
    if numbers.shape != (n,):
        raise ValueError(
            f"values of {name!r} have shape {numbers.shape}: one for each of the {n} points is needed"
        )
    return numbers


def _coordinates(place: int, y: Array) -> dict[str, Array]:
    """Return the columns of an embedding; a line has a second coordinate that is 0."""
    axes = {f"y{place}_{axis}": _narrowed(column) for axis, column in enumerate(y.T)}
    return axes if len(axes) > 1 else axes | {f"y{place}_1": np.zeros(len(y), dtype=np.float32)}


def _narrowed(column: Array) -> Array:
    """Return numbers in single precision, unless it would lose visible digits or overflow."""
    held = column[np.isfinite(column)].astype(np.float64)
    most, extent = np.abs(held).max(initial=0.0), np.ptp(held) if len(held) else 0.0
    fine = most == 0 or (1e-30 < most < 1e30 and (extent == 0 or most < SEEN * extent))
    return column.astype(np.float32 if fine else np.float64)


def _shade(found: Comparison, by: str | None) -> Measure | None:
    """Return the measure for the error of a point: `by`, or R_C or R_N if it is no mean over points."""
    held = [set(quality.per_point) for quality in found.values()]
    at_points = set.intersection(*held)
    return next((MEASURES[name] for name in (by, "r_c", "r_n", found.by) if name in at_points), None)


def _errors(context: MeasureContext, name: str, quality: Quality, shade: Measure) -> npt.NDArray[np.float64]:
    """Return the error of each point, larger is worse; NaN at points that were not measured.

    Pairs of neighbors that a cut parts do not count.
    """
    y, cut = context.ys[name], context.subjects[name].cut
    errors = np.full(len(y), np.nan)
    if shade.name in ("r_n", "r_c"):
        # These are cheap at all points, even if the means are those of a sample.
        m = measured(context.points, y, context.graph, cut=cut, n_jobs=context.sampling.n_jobs, own=True)
        errors[:] = m.per_point[shade.name]
    else:
        errors[quality.centers] = quality.per_point[shade.name]
    errors[~np.isfinite(errors)] = np.nan
    return errors if shade.better == "lower" else 1 - errors


def _measured_at_points(found: Comparison, shade: Measure | None, n: int) -> list[Measure]:
    """Return the measures to color by besides the error, if all embeddings were measured at all points."""
    return [
        MEASURES[name]
        for name in POINT_MEASURES
        if (shade is None or name != shade.name)
        and all(name in quality.per_point and len(quality.centers) == n for quality in found.values())
    ]


def _by_measure(measure: Measure, fields: list[str], columns: Mapping[str, Array]) -> dict[str, Any]:
    """Return the colors from the perfect to the worst value, or of the whole range if all points are perfect."""
    values = np.concatenate([columns[name] for name in fields])
    low, high = (
        (measure.low, float(values.max()))
        if measure.better == "lower"
        else (float(values.min()), measure.high)
    )
    low, high = (low, high) if low < high else (measure.low, measure.high)
    return _mode(measure.symbol, fields, low, high, log=False)


def _by_error(shade: Measure, fields: list[str], columns: Mapping[str, Array]) -> dict[str, Any]:
    low, high = _ends(columns[name] for name in fields)
    symbol = shade.symbol if shade.better == "lower" else f"1 - {shade.symbol}"
    # Errors below a millionth of the largest are not visible.
    return _mode(f"error ({symbol})", fields, max(low, high - 6), high, log=True)


def _mode(name: str, fields: list[str], low: float, high: float, log: bool) -> dict[str, Any]:
    return {"name": name, "fields": fields, "low": low, "high": high, "log": log}


def _ends(columns: Iterable[Array]) -> tuple[float, float]:
    """Return the smallest and the largest value with its own color, for all columns."""
    held = np.concatenate([column[np.isfinite(column)] for column in columns])
    if len(held) == 0:
        return 0.0, 1.0
    low, high = (float(end) for end in np.percentile(held, CLIPPED))
    return (low, high) if high > low else (low - 0.5, math.nextafter(low + 0.5, math.inf))
