"""The page of a report: bokeh's pictures, and the text around them."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import platform
import secrets
from collections.abc import Iterator, Mapping
from datetime import date
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..judge.comparison import WITH_ALL_PAIRS, Comparison
from ..judge.context import MeasureContext
from ..judge.measures import FAMILIES, MEASURES, Measure, Value
from .scene import Shown
from .sides import draw_sides

__all__ = ["import_bokeh", "write"]

FAMILY_NAMES = {
    "procrustes": "Procrustes measures: does every neighborhood keep its shape?",
    "nieqa": "NIEQA: the same, with each axis free to rescale",
    "ranks": "Ranks: do neighbors stay neighbors?",
    "geodesic": "Distances along the neighborhood graph",
    "distances": "Straight distances",
}

ENDS = (38, 218)
"""Part of viridis that is visible on white and on black."""

MARK = "#e6007e"

AT_ONCE = 20_000
"""Number of points up to which they are selected while a lasso is drawn; above, when it is closed."""

PLAIN = "#888888"
"""Color of points without a value, and without anything to color by."""

CATEGORIES = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"),
    *("#8c564b", "#7f7f7f", "#9467bd", "#17becf", "#bcbd22", "#e377c2", "#637939"),
    *("#843c39", "#7b4173", "#393b79", "#b5cf6b", "#e7969c", "#de9ed6"),
)
"""Colors of categories. The first seven, of Okabe and Ito, suit all kinds of color vision."""


def import_bokeh() -> Any:
    """Import bokeh, an optional dependency."""
    try:
        import bokeh
    except ImportError:
        raise ImportError("a report needs bokeh: pip install 'unbend[report]'") from None
    return bokeh


def write(
    file: Path,
    title: str,
    shown: Shown,
    found: Comparison,
    context: MeasureContext,
    settings: Mapping[str, Any],
) -> None:
    """Write the page."""
    from bokeh.resources import Resources
    from jinja2 import Environment

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.policies["json.dumps_kwargs"] = {}  # bokeh's models come after those they refer to
    docs, items = _pictures(shown)
    first = next(iter(found.values()))
    parts = environment.from_string(_part("page.html")).stream(
        title=title,
        nonce=secrets.token_urlsafe(16),
        style=_part("page.css"),
        script=_part("paint.js") + _part("page.js"),
        bokeh=Resources(mode="inline", components=["bokeh"]).js_raw,
        docs=docs,
        page=_facts(shown, items),
        roots=[element for item in items for element in item["roots"].values()],
        blocks=((name, _in_base64(array)) for name, array in {**shown.columns, "near": shown.near}.items()),
        shown=shown,
        found=found,
        summary=summary(found),
        readings=[(name, found.ranks()[name], quality) for name, quality in found.items()],
        families=list(_table(found)),
        values={name: as_text(numbers) for name, numbers in deciding(found).items()},
        left_out=[(MEASURES[name].symbol, reason) for name, reason in first.left_out.items()],
        first=first,
        settings=[(name, json.dumps(value, default=str)) for name, value in sorted(settings.items())],
        data=[(name, *_fingerprint(array)) for name, array in _arrays(context).items()],
        versions=_versions(),
        today=date.today().isoformat(),
    )
    with open(file, "w", encoding="utf-8") as page:
        page.writelines(parts)


def summary(found: Comparison) -> str:
    """Return a sentence with the best embedding, the values of the others, and the lower bound."""
    m, ranks = MEASURES[found.by], found.ranks()
    best = [name for name, rank in ranks.items() if rank == 1]
    values = {name: " and ".join(numbers.values()) for name, numbers in deciding(found).items()}
    others = ", ".join(f"{name} {values[name]}" for name in found if name not in best)
    rest = f" ({others})" if others else ""
    scale = f"{m.meaning}, {m.low if m.better == 'lower' else m.high:g} is perfect"
    if m.name in ("r_n", "r_c") and "lower_bound" in found[best[0]]:
        d, bound = found[best[0]].shape[1], found[best[0]]["lower_bound"].with_all_pairs.value
        scale += f", and no embedding in {d} dimension{'s' * (d != 1)} can be below {bound:.3g}"
    if len(found) == 1:
        return f"The embedding {best[0]} has {as_text(deciding(found)[best[0]])}: {scale}."
    if len(best) == 1:
        place = "comes first" if found.cautions else "is the best"
        first = f"{best[0]} {place} by {found.order}, with {values[best[0]]}{rest}"
        return f"Of {len(found)} embeddings, {first}: {scale}."
    tied = f"{', '.join(best[:-1])} and {best[-1]}"
    reached = ", ".join(values[name] for name in best)
    return (
        f"Of {len(found)} embeddings, {tied} share the first place by {found.order}, with {reached}{rest}: "
        f"none is surely better, and {scale}."
    )


def deciding(found: Comparison) -> dict[str, dict[str, str]]:
    """Return the numbers by which each embedding is ordered, by their symbols."""
    measures = found.deciding
    return {
        name: {m.symbol: f"{quality[m.name].with_all_pairs.value:.3g}" for m in measures}
        for name, quality in found.items()
    }


def as_text(numbers: Mapping[str, str]) -> str:
    """Return numbers after their symbols."""
    return ", ".join(f"{symbol} {number}" for symbol, number in numbers.items())


# The table -----------------------------------------------------------------------------------------------


def _table(found: Comparison) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield each family with its rows."""
    for family in FAMILIES:
        rows = [row for m in found.measures if m.family == family for row in _rows(found, m)]
        if rows:
            yield FAMILY_NAMES[family], rows


def _rows(found: Comparison, m: Measure) -> Iterator[dict[str, Any]]:
    """Yield the row of a measure; if a cut changes it, a row without ranks, then the one with all pairs."""
    unranked, ranks = dict.fromkeys(found, 0), found.ranks(m.name) if m.better else dict.fromkeys(found, 0)
    if not found.is_changed_by_cuts(m):
        yield _row(found, m, {name: quality[m.name] for name, quality in found.items()}, ranks)
        return
    sheet = _row(found, m, {name: quality[m.name] for name, quality in found.items()}, unranked)
    yield sheet | {"aid": f"{sheet['aid']}; without the pairs that each cut parts", "orders": False}
    whole = _row(found, m, {name: quality[m.name].with_all_pairs for name, quality in found.items()}, ranks)
    yield whole | {"symbol": f"{m.symbol} {WITH_ALL_PAIRS}", "meaning": "counts the pairs that a cut parts"}


def _row(found: Comparison, m: Measure, values: dict[str, Value], ranks: dict[str, int]) -> dict[str, Any]:
    nulls = [value.null for value in values.values() if value.null is not None]
    between = f"{m.low:g} to {'any size' if math.isinf(m.high) else f'{m.high:g}'}"
    return {
        "symbol": m.symbol,
        "meaning": m.meaning,
        "aid": f"{between}, {m.better} is better" if m.better else between,
        "random": f"{nulls[0]:.3g}" if nulls else "",
        "orders": m.name == found.by,
        "cells": [(f"{v.value:.4g}", _interval(v), ranks[name] == 1) for name, v in values.items()],
    }


def _interval(value: Value) -> str:
    """Return the 95 % interval, if the value is not exact."""
    if value.standard_error == 0:
        return ""
    low, high = value.interval
    return "not known" if math.isnan(value.standard_error) else f"{low:.4g} to {high:.4g}"


# Data for the browser ------------------------------------------------------------------------------------


def _part(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _pictures(shown: Shown) -> tuple[Any, list[dict[str, Any]]]:
    """Return bokeh's documents and their places. All share one source of points, and so the selection."""
    from bokeh.document import Document
    from bokeh.embed.util import standalone_docs_json_and_render_items
    from bokeh.models import ColumnDataSource

    document = Document()
    # No picture draws this source: it holds the points and the selection for all pictures.
    points = ColumnDataSource(data={name: [] for name in shown.columns}, name="points")
    places = range(len(shown.embeddings))
    ends = [f"{end}{place}_{axis}" for place in places for end in "ab" for axis in (0, 1)]
    near = ColumnDataSource(data={name: [] for name in ends}, name="near")
    pictures = [_picture(place, shown, near) for place in places]
    pictures[0].tags = [points]
    for picture in pictures:
        document.add_root(picture)
    docs, items = standalone_docs_json_and_render_items(pictures)
    return docs, [item.to_json() for item in items]


def _picture(place: int, shown: Shown, near: Any) -> Any:
    from bokeh.models import ColumnDataSource, LassoSelectTool
    from bokeh.plotting import figure

    # The page itself finds the points in the lasso.
    lasso = LassoSelectTool(renderers=[], continuous=len(shown.near) <= AT_ONCE)
    picture = figure(
        name=f"picture{place}",
        match_aspect=True,
        sizing_mode="stretch_both",
        min_width=100,
        min_border_left=44,  # room for the numbers, whose width is unknown when they are painted
        tools=["pan", "wheel_zoom", "box_zoom", lasso, "reset", "save"],
        active_drag="pan",
        active_scroll="wheel_zoom",
        toolbar_location="above",
        background_fill_color=None,
        border_fill_color=None,
    )
    picture.toolbar.logo = None
    # The page paints the visible points into an image; two invisible points span the range of all.
    blank = {"image": [np.zeros((1, 1), dtype=np.uint32)], "x": [0.0], "y": [0.0], "dw": [1.0], "dh": [1.0]}
    image = ColumnDataSource(data=blank, name=f"image{place}")
    picture.image_rgba("image", "x", "y", "dw", "dh", source=image)
    corners = ColumnDataSource(data=_extent(place, shown))
    extent = picture.scatter("x0", "x1", source=corners, alpha=0, name=f"extent{place}")
    for ends in (picture.x_range, picture.y_range):
        ends.update(renderers=[extent])
    a, b = f"a{place}_", f"b{place}_"
    # On their own layer, so that the points below are not painted again when these change.
    above: dict[str, Any] = {"source": near, "level": "overlay", "line_color": MARK}
    picture.segment(a + "0", a + "1", b + "0", b + "1", line_alpha=0.6, **above)
    picture.scatter(b + "0", b + "1", size=9, fill_color=None, line_width=2, **above)
    if shown.sides[place] is not None:
        draw_sides(picture, place, shown.sides[place], CATEGORIES, _size(len(shown.near)))
    return picture


def _extent(place: int, shown: Shown) -> dict[str, list[float]]:
    """Return the smallest and the largest value of each coordinate."""
    axes = [name for name in shown.columns if name.startswith(f"y{place}_")]
    ends = {name: shown.columns[name][np.isfinite(shown.columns[name])] for name in axes}
    return {f"x{axis}": [float(held.min()), float(held.max())] for axis, held in enumerate(ends.values())}


def _size(n: int) -> float:
    """Return the size of dots that neither merge nor leave gaps."""
    return float(np.clip(24 * n**-0.2, 2, 8))


def _facts(shown: Shown, items: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the data for the script, without the arrays."""
    from bokeh.palettes import Viridis256

    sheet = shown.thumbnails
    return {
        "items": items,
        "n": len(shown.near),
        "points": shown.n_points,
        "near": shown.near.shape[1],
        "nearest": shown.n_near,
        "embeddings": shown.embeddings,
        "modes": shown.modes,
        "labels": shown.labels,
        "scale": list(Viridis256[slice(*ENDS)]),
        "plain": PLAIN,
        "size": _size(len(shown.near)),
        "categories": CATEGORIES,
        "shade": None if shown.shade is None else shown.modes[0]["name"],
        "thumbnails": sheet and {key: value for key, value in vars(sheet).items() if key != "uri"},
        "columns": {name: str(column.dtype) for name, column in shown.columns.items()},
        "nearType": str(shown.near.dtype),
    }


def _in_base64(array: npt.NDArray[Any]) -> str:
    return base64.b64encode(_little(array)).decode("ascii")


def _little(array: npt.NDArray[Any]) -> memoryview:
    """Return the bytes of an array, the least of each number first."""
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).data


# Arguments of the page -----------------------------------------------------------------------------------


def _arrays(context: MeasureContext) -> dict[str, npt.NDArray[Any]]:
    """Return the data, the embeddings and their cuts by their names."""
    cuts = {f"cut of {name}": context.subjects[name].cut for name in context.sheets}
    return {"X": context.x, **context.ys} | {name: cut for name, cut in cuts.items() if cut is not None}


def _fingerprint(array: npt.NDArray[Any]) -> tuple[str, str]:
    """Return shape and type, and the beginning of a hash that identifies the data."""
    n, q = array.shape
    return f"{n:,} x {q:,} {array.dtype}", hashlib.sha256(_little(array)).hexdigest()[:16]


def _versions() -> list[tuple[str, str]]:
    packages = ("unbend", "numpy", "scipy", "bokeh")
    system = ("Python", f"{platform.python_version()}, {platform.system()} {platform.machine()}")
    return [*((name, version(name)) for name in packages), system]
