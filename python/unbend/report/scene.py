"""What a report shows of the points: where they are, their colours, their neighbours, their names."""

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
from ..metrics import faithfulness
from ..plot.seams import seams_of
from .sides import Sides
from .thumbnails import ThumbnailSheet

__all__ = ["Scene", "Shown", "sewn"]

Array = npt.NDArray[Any]

MOST_DRAWN = 200_000
"""Of more points so many are drawn at random: what a browser moves smoothly."""

MOST_AXES = 3
MOST_COLOURS = 20
"""With more different labels colours cannot be told apart."""

NEAR_BYTES, MOST_NEAR = 16_000_000, 50
"""What the lists of neighbours may take, and how many are worth looking at."""

CLIPPED = (2.0, 98.0)
"""Percentiles beyond which values have the colours of the ends."""

SEEN = 1e3
"""By how much numbers may be larger than they differ, for single precision to leave four digits of that."""

NO_ERROR = 1e-30
"""What stands for 0 on a logarithmic scale."""


@dataclass(frozen=True)
class Shown:
    """All that is drawn, ready for the page."""

    columns: Mapping[str, Array]
    """One entry for each point that is drawn: coordinates, and what colours it."""
    near: Array
    """The neighbours of each point that is drawn, as places among them; where there are no more, its own."""
    n_near: int
    """How many neighbours a point has in the mean."""
    embeddings: list[dict[str, Any]]
    modes: list[dict[str, Any]]
    """The ways to colour the points."""
    labels: list[str] | None
    """What the codes in the column "label" stand for."""
    sprite: ThumbnailSheet | None
    sides: list[Sides | None]
    """The two sides of the cut of each embedding, if there is one."""
    n_points: int
    shade: Measure | None
    """What the error of a point is."""


@dataclass(frozen=True)
class Scene:
    """What is given besides the embeddings, checked."""

    n: int
    drawn: Array
    """The points that are drawn, in their order."""
    labels: Array | None
    values: Mapping[str, Array]
    sprite: ThumbnailSheet | None
    seams: Mapping[str, list[Seam]]

    @classmethod
    def of(
        cls,
        n: int,
        seed: int,
        *,
        labels: Any,
        images: Any,
        values: Mapping[str, Any] | None,
        seams: Mapping[str, list[Seam]],
    ) -> Scene:
        """Check what belongs to the points."""
        drawn = np.arange(n) if n <= MOST_DRAWN else _drawn(n, seed)
        known = None if labels is None else _as_labels(labels, n)
        numbers = {str(name): _as_values(given, str(name), n) for name, given in (values or {}).items()}
        return cls(
            n, drawn, known, numbers, None if images is None else ThumbnailSheet.of(images, n, drawn), seams
        )

    def shown(self, survey: MeasureContext, found: Comparison) -> Shown:
        """Gather what the page draws; the embeddings in the order of the comparison."""
        shade, ys = _shade(found), survey.ys
        columns: dict[str, Array] = {}
        for place, name in enumerate(found):
            columns |= _coordinates(place, ys[name][self.drawn])
            if shade is not None:
                errors = _errors(survey, ys[name], found[name], shade)[self.drawn]
                columns[f"e{place}"] = np.log10(np.maximum(errors, NO_ERROR)).astype(np.float32)
        modes = (
            [] if shade is None else [_by_error(shade, [f"e{place}" for place in range(len(found))], columns)]
        )
        labels = self._add_labels(columns, modes, len(found))
        self._add_values(columns, modes, len(found))
        if self.n > len(self.drawn):
            columns["point"] = self.drawn.astype(np.uint32)
        return Shown(
            columns=columns,
            near=self._near(survey.graph),
            n_near=round(float(survey.graph.sizes.mean())),
            embeddings=[
                {
                    "name": name,
                    "axes": min(ys[name].shape[1], MOST_AXES),
                    "seams": len(self.seams.get(name, ())),
                }
                for name in found
            ],
            modes=modes or [{"name": "nothing", "fields": [], "labels": None}],
            labels=labels,
            sprite=self.sprite,
            sides=[self._sides(name, ys[name]) for name in found],
            n_points=self.n,
            shade=shade,
        )

    def _sides(self, name: str, y: Array) -> Sides | None:
        seams = self.seams.get(name, [])
        return Sides.of(y[:, :MOST_AXES], seams) if seams else None

    def _add_labels(
        self, columns: dict[str, Array], modes: list[dict[str, Any]], copies: int
    ) -> list[str] | None:
        """Add the codes of labels, and colours if they are few; return what the codes stand for."""
        if self.labels is None:
            return None
        found, codes = np.unique(self.labels[self.drawn], return_inverse=True)
        columns["label"] = codes.ravel().astype(np.min_scalar_type(len(found)))
        names: list[str] = found.tolist()
        if len(names) <= MOST_COLOURS:
            modes.append({"name": "label", "fields": ["label"] * copies, "labels": names})
        return names

    def _add_values(self, columns: dict[str, Array], modes: list[dict[str, Any]], copies: int) -> None:
        for place, (name, values) in enumerate(self.values.items()):
            columns[f"v{place}"] = _narrowed(values[self.drawn])
            modes.append(_by_value(name, [f"v{place}"] * copies, columns[f"v{place}"]))

    def _near(self, graph: Neighborhoods) -> Array:
        """Return as many true neighbours of each point as there is room for, of those that are drawn."""
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


def sewn(embeddings: Mapping[str, Any], given: Mapping[str, Any] | None, n: int) -> dict[str, list[Seam]]:
    """Return the seams of each embedding that has any: those given, or those of a fitted estimator."""
    unknown = next((name for name in given or () if name not in embeddings), None)
    if unknown is not None:
        raise ValueError(f"seams are given of {unknown!r}, but embeddings are {', '.join(embeddings)}")
    found = {name: seams_of(y, (given or {}).get(name, "auto"), n) for name, y in embeddings.items()}
    return {name: seams for name, seams in found.items() if seams}


def _drawn(n: int, seed: int) -> Array:
    return np.sort(generator(seed).choice(n, size=MOST_DRAWN, replace=False, shuffle=False))


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
    axes = {f"y{place}_{axis}": _narrowed(y[:, axis]) for axis in range(min(y.shape[1], MOST_AXES))}
    return axes if len(axes) > 1 else axes | {f"y{place}_1": np.zeros(len(y), dtype=np.float32)}


def _narrowed(column: Array) -> Array:
    """Return numbers in single precision, unless that could be seen: far from 0, very small or very large."""
    held = column[np.isfinite(column)].astype(np.float64)
    most, extent = np.abs(held).max(initial=0.0), np.ptp(held) if len(held) else 0.0
    fine = most == 0 or (1e-30 < most < 1e30 and (extent == 0 or most < SEEN * extent))
    return column.astype(np.float32 if fine else np.float64)


def _shade(found: Comparison) -> Measure | None:
    """Return what the error of a point is: the measure that orders the embeddings, if points have it."""
    held = [set(quality.per_point) for quality in found.values()]
    at_points = set.intersection(*held)
    return next((MEASURES[name] for name in (found.by, "r_c", "r_n") if name in at_points), None)


def _errors(survey: MeasureContext, y: Array, quality: Quality, shade: Measure) -> npt.NDArray[np.float64]:
    """Return the error of each point, the larger the worse; NaN where it was not measured."""
    errors = np.full(len(y), np.nan)
    if shade.name in ("r_n", "r_c"):
        # These cost next to nothing at all points, even where a sample was enough for the means.
        m = faithfulness(survey.x, y, neighborhoods=survey.graph, n_jobs=survey.n_jobs)
        errors[:] = m.per_point[shade.name]
    else:
        errors[quality.centers] = quality.per_point[shade.name]
    errors[~np.isfinite(errors)] = np.nan
    return errors if shade.better == "lower" else 1 - errors


def _by_error(shade: Measure, fields: list[str], columns: Mapping[str, Array]) -> dict[str, Any]:
    low, high = _ends(columns[name] for name in fields)
    symbol = shade.symbol if shade.better == "lower" else f"1 - {shade.symbol}"
    # Below a millionth of the largest errors there is nothing to see.
    return {
        "name": f"error ({symbol})",
        "fields": fields,
        "low": max(low, high - 6),
        "high": high,
        "log": True,
    }


def _by_value(name: str, fields: list[str], values: Array) -> dict[str, Any]:
    low, high = _ends([values])
    return {"name": name, "fields": fields, "low": low, "high": high, "log": False}


def _ends(columns: Iterable[Array]) -> tuple[float, float]:
    """Return between which values colours differ, the same for all columns."""
    held = np.concatenate([column[np.isfinite(column)] for column in columns])
    if len(held) == 0:
        return 0.0, 1.0
    low, high = (float(end) for end in np.percentile(held, CLIPPED))
    return (low, high) if high > low else (low - 0.5, math.nextafter(low + 0.5, math.inf))
