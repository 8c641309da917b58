"""What pictures are drawn on and with: axes, colours, dots."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from ..core.arrays import as_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Colours", "axes_for", "colours", "dots", "embedding_of", "errors_of", "frame"]

Array = npt.NDArray[np.float64]

CLIP = (1.0, 99.0)
"""Percentiles between which colours are spread."""

CONTINUOUS, DIVERGING = "viridis", "PuOr_r"
"""Maps that all eyes can read."""

CATEGORIES = (
    *("#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6"),
    *("#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd"),
)
"""Ten colours that all eyes can tell apart (Petroff 2021)."""

PLAIN, FAINT = "#3f90da", "0.82"

FEW_VALUES = 10
"""Whole numbers of at most so many kinds are kinds, not amounts."""

RASTER = 2000
"""From so many dots on they are pixels in vector files."""

MOST_DECADES = 1.5
"""Errors that spread wider than this are coloured by their logarithm."""

LONGEST = 4.0
"""No figure is more oblong."""


def pyplot() -> Any:
    """Import matplotlib, which nothing else here needs."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as missing:
        raise ImportError("a plot needs matplotlib: pip install 'unbend[plot]'") from missing
    return plt


def axes_for(ax: Axes | None, points: Any = None, width: float = 6.4, bar: bool = False) -> Axes:
    """Return the axes to draw on: those given, or new ones in the proportions of some points."""
    if ax is not None:
        return ax
    height = 4.8
    if points is not None and len(points):
        extent = np.ptp(points[:, :2], axis=0) + 1e-300
        ratio = float(np.clip(extent[-1] / extent[0], 1 / LONGEST, LONGEST)) if points.shape[1] > 1 else 0.3
        width, height = (8.0, 8.0 * ratio + 1.0) if ratio < 1 else (6.0 / ratio + 1.0 + bar, 6.0)
    _, made = pyplot().subplots(figsize=(width, max(height, 2.6)), layout="constrained")
    return cast("Axes", made)


def embedding_of(source: Any) -> Array:
    """Return the embedding that something is, or holds."""
    from ..judge.quality import Quality
    from ..metrics import Faithfulness

    if isinstance(source, Quality):
        if source.faithfulness is None:
            raise ValueError(
                "this quality holds no embedding: measure 'procrustes' as well, or give the array"
            )
        source = source.faithfulness
    if isinstance(source, Faithfulness):
        source = source._overlap.y
    for name in ("embedding_", "embedding"):
        if getattr(source, name, None) is not None:
            source = getattr(source, name)
            break
    return as_points(source, "the embedding").astype(np.float64)


def errors_of(source: Any, measure: str) -> tuple[Array, npt.NDArray[np.uint32]]:
    """Return what was measured at points, and at which."""
    held = getattr(source, "faithfulness_", source)
    known = getattr(held, "per_point", None)
    if known is None:
        raise ValueError(
            f"{type(source).__name__} holds no errors: give X as well, or what unbend.faithfulness returns"
        )
    if measure not in known:
        raise ValueError(f"{measure!r} was not measured at points: use one of {', '.join(known)}")
    values = np.asarray(known[measure], dtype=np.float64)
    return (values[:, 0] if values.ndim == 2 else values), held.centers


@dataclass(frozen=True)
class Colours:
    """How dots are coloured: by an amount, by a kind, or all alike."""

    values: Any
    """Amounts, or numbers of kinds; None for all alike."""
    norm: Any = None
    cmap: Any = None
    names: tuple[str, ...] = ()
    extend: str = "neither"

    def of(self, rows: Any) -> dict[str, Any]:
        """Return what a scatter of some points takes."""
        if self.values is None:
            return {"color": PLAIN}
        return {"c": self.values[rows], "norm": self.norm, "cmap": self.cmap}

    def order(self, n: int) -> npt.NDArray[np.int64]:
        """Return in which order to draw: large amounts over small, kinds well mixed."""
        if self.values is None or self.names:
            return np.random.default_rng(0).permutation(n)
        return np.argsort(np.where(np.isnan(self.values), -np.inf, self.values), kind="stable")

    def explain(self, ax: Any, drawn: Any, label: str | None, **options: Any) -> None:
        """Add a bar, or a legend of kinds."""
        if self.values is None:
            return
        if not self.names:
            figure = np.ravel(ax)[0].figure
            bar = figure.colorbar(drawn, ax=ax, extend=self.extend, **options)
            if "ticks" in options:
                bar.ax.minorticks_off()
                bar.ax.set_yticks(options["ticks"], [f"{tick:.3g}" for tick in options["ticks"]])
            bar.outline.set_visible(False)
            bar.set_label(label or "")
            return
        from matplotlib.lines import Line2D

        marks = [
            Line2D([], [], linestyle="", marker="o", color=self.cmap(self.norm(place)), label=name)
            for place, name in enumerate(self.names)
        ]
        legend = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5), "frameon": False, "title": label}
        np.ravel(ax)[-1].legend(handles=marks, **legend)


def colours(
    values: Any, clip: tuple[float, float] = CLIP, cmap: Any = None, log: bool | None = False
) -> Colours:
    """Return how to colour by `values`; ``log=None`` looks how far they spread."""
    if values is None:
        return Colours(None)
    held = np.asarray(values)
    if held.ndim != 1:
        raise ValueError(f"color has shape {held.shape}: it must hold one value for each point")
    if held.dtype.kind in "OUSb" or (held.dtype.kind in "iu" and len(np.unique(held)) <= FEW_VALUES):
        return _kinds(held, cmap)
    return _amounts(held.astype(np.float64), clip, cmap, log)


def _kinds(held: npt.NDArray[Any], cmap: Any) -> Colours:
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap, Normalize

    pyplot()
    kinds, places = np.unique(held.astype(str) if held.dtype.kind == "O" else held, return_inverse=True)
    if cmap is not None or len(kinds) > len(CATEGORIES):
        shades = colormaps[cmap or CONTINUOUS](np.linspace(0, 1, len(kinds)))
    else:
        shades = np.array([*CATEGORIES])[: len(kinds)]
    norm = Normalize(-0.5, len(kinds) - 0.5)
    return Colours(places.ravel(), norm, ListedColormap(list(shades)), tuple(map(str, kinds)))


def _amounts(held: Array, clip: tuple[float, float], cmap: Any, log: bool | None) -> Colours:
    pyplot()
    from matplotlib.colors import LogNorm, Normalize

    finite = held[np.isfinite(held)]
    low, high = np.percentile(finite, clip) if len(finite) else (0.0, 1.0)
    positive = low > 0 and (finite > 0).all()
    if log is None:
        log = bool(positive and math.log10(high / low) > MOST_DECADES)
    below, above = (
        bool(len(finite) and test)
        for test in (finite.min(initial=low) < low, finite.max(initial=high) > high)
    )
    extend = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}
    shown = np.where(np.isposinf(held), np.finfo(float).max, held)
    norm = LogNorm(low, high) if log else Normalize(low, high if high > low else low + 1)
    return Colours(shown, norm, cmap or CONTINUOUS, extend=extend[below, above])


def dots(n: int, ax: Any, size: float | None = None) -> dict[str, Any]:
    """Return the looks of `n` dots that neither blot nor leave gaps."""
    box = ax.get_window_extent()
    points = box.width * box.height * (72 / ax.figure.dpi) ** 2
    size = float(np.clip(0.25 * points / max(n, 1), 0.4, 25)) if size is None else size
    return {"s": size, "linewidths": 0, "rasterized": n >= RASTER}


def frame(ax: Any, equal: bool = True) -> None:
    """Set what all pictures of embeddings have in common."""
    if equal and ax.name != "3d":
        ax.set_aspect("equal", adjustable="datalim")
    if ax.name != "3d":
        ax.spines[:].set_color("0.8")
    ax.tick_params(color="0.8", labelcolor="0.35", labelsize=9)
