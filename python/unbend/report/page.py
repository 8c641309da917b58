"""The page of a report: bokeh's pictures, and words around them."""

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

from ..judge.comparison import Comparison
from ..judge.context import MeasureContext
from ..judge.measures import FAMILIES, MEASURES, Measure, Value
from ..judge.quality import Quality
from .scene import Shown
from .sides import draw_sides

__all__ = ["import_bokeh", "write"]

FAMILY_NAMES = {
    "procrustes": "Procrustes measures: does every neighbourhood keep its shape?",
    "nieqa": "NIEQA: the same, with each axis free to rescale",
    "ranks": "Ranks: do neighbours stay neighbours?",
    "geodesic": "Distances along the neighbourhood graph",
    "distances": "Straight distances",
}

ENDS = (38, 218)
"""The part of viridis that can be seen on white and on black."""

MARK = "#e6007e"

AT_ONCE = 20_000
"""Up to so many points are selected while a lasso is drawn, of more only when it is closed."""

PLAIN = "#888888"
"""What has no value, or where nothing is to be told apart."""

CATEGORIES = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"),
    *("#8c564b", "#7f7f7f", "#9467bd", "#17becf", "#bcbd22", "#e377c2", "#637939"),
    *("#843c39", "#7b4173", "#393b79", "#b5cf6b", "#e7969c", "#de9ed6"),
)
"""The first seven, of Okabe and Ito, are told apart by all people."""


def import_bokeh() -> Any:
    """Import bokeh, which nothing else here needs."""
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
    survey: MeasureContext,
    settings: Mapping[str, Any],
) -> None:
    """Write the page."""
    from jinja2 import Environment

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.policies["json.dumps_kwargs"] = {}  # bokeh's models come after those they refer to
    template = environment.from_string(_part("page.html"))
    docs, items = _pictures(shown)
    parts = template.stream(
        title=title,
        nonce=secrets.token_urlsafe(16),
        style=_part("page.css"),
        script=_part("paint.js") + _part("page.js"),
        bokeh=_scripts(),
        docs=docs,
        page=_facts(shown, found, items),
        roots=[element for item in items for element in item["roots"].values()],
        blocks=_blocks(shown),
        shown=shown,
        found=found,
        summary=summary(found),
        readings=[(name, found.ranks()[name], quality) for name, quality in found.items()],
        families=list(_table(found)),
        by=MEASURES[found.by],
        left_out=_left_out(found),
        first=next(iter(found.values())),
        settings=_settings(settings),
        data=[(name, *_fingerprint(array)) for name, array in {"X": survey.x, **survey.ys}.items()],
        versions=_versions(),
        today=date.today().isoformat(),
    )
    with open(file, "w", encoding="utf-8") as page:
        page.writelines(parts)


def summary(found: Comparison) -> str:
    """Say in a sentence which embedding is best, by how much, and what can be reached at best."""
    m, ranks = MEASURES[found.by], found.ranks()
    best = [name for name, rank in ranks.items() if rank == 1]
    values = {name: f"{quality[m.name].value:.3g}" for name, quality in found.items()}
    others = ", ".join(f"{name} {values[name]}" for name in found if name not in best)
    beside = f" ({others})" if others else ""
    bound = _bound(found[best[0]], m)
    if len(found) == 1:
        return f"The embedding {best[0]} has {m.symbol} {values[best[0]]}: {_scale_of(m)}{bound}."
    if len(best) == 1:
        first = f"{best[0]} is the best by {m.symbol}, with {values[best[0]]}{beside}"
        return f"Of {len(found)} embeddings, {first}: {_scale_of(m)}{bound}."
    tied = f"{', '.join(best[:-1])} and {best[-1]}"
    reached = ", ".join(values[name] for name in best)
    return (
        f"Of {len(found)} embeddings, {tied} share the first place by {m.symbol}, with {reached}{beside}: "
        f"none is surely better, and {_scale_of(m)}{bound}."
    )


def _scale_of(m: Measure) -> str:
    perfect = m.low if m.better == "lower" else m.high
    return f"{m.meaning}, {perfect:g} is perfect"


def _bound(best: Quality, m: Measure) -> str:
    if m.name not in ("r_n", "r_c") or "lower_bound" not in best:
        return ""
    d = best.shape[1]
    return f", and no embedding in {d} dimension{'s' * (d != 1)} can be below {best['lower_bound'].value:.3g}"


# The table -----------------------------------------------------------------------------------------------


def _table(found: Comparison) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the families, and the rows of each."""
    for family in FAMILIES:
        rows = [_row(found, m) for m in found.measures if m.family == family]
        if rows:
            yield FAMILY_NAMES[family], rows


def _row(found: Comparison, m: Measure) -> dict[str, Any]:
    ranks = found.ranks(m.name) if m.better else dict.fromkeys(found, 0)
    values = {name: quality[m.name] for name, quality in found.items()}
    nulls = [value.null for value in values.values() if value.null is not None]
    return {
        "symbol": m.symbol,
        "meaning": m.meaning,
        "aid": _aid(m),
        "random": f"{nulls[0]:.3g}" if nulls else "",
        "orders": m.name == found.by,
        "cells": [(_number(values[name]), _half(values[name]), ranks[name] == 1) for name in found],
    }


def _aid(m: Measure) -> str:
    """Say how to read a number."""
    most = "any size" if math.isinf(m.high) else f"{m.high:g}"
    between = f"{m.low:g} to {most}"
    return f"{between}, {m.better} is better" if m.better else between


def _number(value: Value) -> str:
    return f"{value.value:.4g}"


def _half(value: Value) -> str:
    """Return the 95 % interval, if there is one."""
    if value.standard_error == 0:
        return ""
    low, high = value.interval
    return "not known" if math.isnan(value.standard_error) else f"{low:.4g} to {high:.4g}"


def _left_out(found: Comparison) -> list[tuple[str, str]]:
    left_out = next(iter(found.values())).left_out
    return [(MEASURES[name].symbol, reason) for name, reason in left_out.items()]


# What a browser runs -------------------------------------------------------------------------------------


def _part(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _scripts() -> list[str]:
    from bokeh.resources import Resources

    return list(Resources(mode="inline", components=["bokeh"]).js_raw)


def _pictures(shown: Shown) -> tuple[Any, list[dict[str, Any]]]:
    """Return bokeh's documents and where they go, all with one source of points: so selections are shared."""
    from bokeh.document import Document
    from bokeh.embed.util import standalone_docs_json_and_render_items
    from bokeh.models import ColumnDataSource

    document = Document()
    # No picture draws from it: it holds the points for all, and what is selected.
    points = ColumnDataSource(data={name: [] for name in shown.columns}, name="points")
    ends = [
        f"{end}{place}_{axis}" for place in range(len(shown.embeddings)) for end in "ab" for axis in (0, 1)
    ]
    near = ColumnDataSource(data={name: [] for name in ends}, name="near")
    pictures = [_picture(place, shown, near) for place in range(len(shown.embeddings))]
    pictures[0].tags = [points]
    for picture in pictures:
        document.add_root(picture)
    docs, items = standalone_docs_json_and_render_items(pictures)
    return docs, [item.to_json() for item in items]


def _picture(place: int, shown: Shown, near: Any) -> Any:
    from bokeh.models import ColumnDataSource, LassoSelectTool
    from bokeh.plotting import figure

    # The page itself looks who is within.
    lasso = LassoSelectTool(renderers=[], continuous=len(shown.near) <= AT_ONCE)
    picture = figure(
        name=f"picture{place}",
        match_aspect=True,
        sizing_mode="stretch_both",
        min_width=100,
        min_border_left=44,  # room for numbers: they are painted before it is known how long they are
        tools=["pan", "wheel_zoom", "box_zoom", lasso, "reset", "save"],
        active_drag="pan",
        active_scroll="wheel_zoom",
        toolbar_location="above",
        background_fill_color=None,
        border_fill_color=None,
    )
    picture.toolbar.logo = None
    # The page paints the points into an image of what is in sight; two unseen ones say where they all lie.
    blank = {"image": [np.zeros((1, 1), dtype=np.uint32)], "x": [0.0], "y": [0.0], "dw": [1.0], "dh": [1.0]}
    image = ColumnDataSource(data=blank, name=f"image{place}")
    picture.image_rgba("image", "x", "y", "dw", "dh", source=image)
    corners = ColumnDataSource(data=_extent(place, shown))
    extent = picture.scatter("x0", "x1", source=corners, alpha=0, name=f"extent{place}")
    for ends in (picture.x_range, picture.y_range):
        ends.update(renderers=[extent])
    a, b = f"a{place}_", f"b{place}_"
    # On a layer of their own: the points below are not painted again when these change.
    above: dict[str, Any] = {"source": near, "level": "overlay", "line_color": MARK}
    picture.segment(a + "0", a + "1", b + "0", b + "1", line_alpha=0.6, **above)
    picture.scatter(b + "0", b + "1", size=9, fill_color=None, line_width=2, **above)
    sides = shown.sides[place]
    if sides is not None:
        draw_sides(picture, place, sides, CATEGORIES, _size(len(shown.near)))
    return picture


def _extent(place: int, shown: Shown) -> dict[str, list[float]]:
    """Return the least and the largest of each coordinate."""
    axes = [name for name in shown.columns if name.startswith(f"y{place}_")]
    ends = {name: shown.columns[name][np.isfinite(shown.columns[name])] for name in axes}
    return {f"x{axis}": [float(held.min()), float(held.max())] for axis, held in enumerate(ends.values())}


def _size(n: int) -> float:
    """Return the size of dots that neither blot nor leave gaps."""
    return float(np.clip(24 * n**-0.2, 2, 8))


def _facts(shown: Shown, found: Comparison, items: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the script has to know, apart from arrays."""
    from bokeh.palettes import Viridis256

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
        "shade": None if shown.shade is None else _by_name(shown),
        "sprite": None if shown.sprite is None else _sheet(shown),
        "columns": {name: str(column.dtype) for name, column in shown.columns.items()},
        "nearType": str(shown.near.dtype),
    }


def _by_name(shown: Shown) -> str:
    return str(shown.modes[0]["name"])


def _sheet(shown: Shown) -> dict[str, int]:
    assert shown.sprite is not None
    s = shown.sprite
    return {"width": s.width, "height": s.height, "abreast": s.abreast, "rows": s.rows}


def _blocks(shown: Shown) -> Iterator[tuple[str, str]]:
    """Yield every array as text, one at a time."""
    for name, column in shown.columns.items():
        yield name, _in_base64(column)
    yield "near", _in_base64(shown.near)


def _in_base64(array: npt.NDArray[Any]) -> str:
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return base64.b64encode(little.data).decode("ascii")


# How to make it again ------------------------------------------------------------------------------------


def _settings(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    known = {name: value for name, value in settings.items() if value is not None}
    return [(name, json.dumps(value, default=str)) for name, value in sorted(known.items())]


def _fingerprint(array: npt.NDArray[Any]) -> tuple[str, str]:
    """Return shape and type, and the beginning of a hash, by which the same data are known again."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    n, q = array.shape
    return f"{n:,} x {q:,} {array.dtype}", hashlib.sha256(little.data).hexdigest()[:16]


def _versions() -> list[tuple[str, str]]:
    packages = ("unbend", "numpy", "scipy", "bokeh")
    system = ("Python", f"{platform.python_version()}, {platform.system()} {platform.machine()}")
    return [*((name, version(name)) for name in packages), system]
