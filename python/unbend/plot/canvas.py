"""Axes, colors and dots of all pictures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ..core.arrays import as_points
from ..core.parameters import documented, entries, table
from ..core.shared_parameters import FUNCTIONS
from ..judge.measures import MEASURES
from ..judge.quality import Quality

if TYPE_CHECKING:
    import matplotlib.axes

Axes: TypeAlias = "matplotlib.axes.Axes"
Array = npt.NDArray[np.float64]
Function = TypeVar("Function", bound=Callable[..., Any])

PARAMETERS = table(
    *FUNCTIONS[""].values(),
    *entries(
        """
        Y : array-like of shape (n, d), or object that holds one
            Embedding, one point per row. Fitted estimators and results that hold an embedding will do:
            Selection, Refinement, Rectification, Faithfulness, Quality.
        ax : matplotlib Axes
            Axes to draw on; a new figure by default.
        components : tuple of int
            Indices of the components of the embedding to draw: by default (0, 1), or (0, 1, 2) on 3-D axes.
        cmap : str or Colormap
            Colormap. The default does not depend on telling red from green.
        clip : pair of float, default (1, 99)
            Percentiles of values between which colors are spread, so that a few large values hide nothing.
        size : float
            Size of a dot, in square points. By default it follows from the number of points.
        label : str
            Meaning of the color, in the legend or on the color bar.
        title : str
            Title of the picture.
        """
    ),
)
"""Parameters that pictures share."""

CLIP = (1.0, 99.0)
"""Percentiles of values between which colors are spread."""

CONTINUOUS, DIVERGING = "viridis", "PuOr_r"
"""Colormaps for all kinds of color vision."""

CATEGORIES = (
    *("#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6"),
    *("#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd"),
)
"""Ten colors that can be distinguished with all kinds of color vision (Petroff 2021)."""

PLAIN, FAINT = "#3f90da", "0.82"

FEW_VALUES = 10
"""Whole numbers with at most this many different values are colored as categories, not as amounts."""

RASTER = 2000
"""Number of dots above which they are stored as pixels in vector files."""

MOST_DECADES = 1.5
"""Spread of errors above which colors follow their logarithm."""

LONGEST = 4.0
"""Largest ratio of the sides of a figure."""


def picture(function: Function) -> Function:
    """Complete the docstring of a function that draws: shared parameters, and the result."""
    text = function.__doc__ or ""
    if "Returns\n" not in text:
        function.__doc__ = text.replace(
            "    Examples\n", "    Returns\n    -------\n    Axes\n\n    Examples\n"
        )
    return documented(PARAMETERS)(function)


def pyplot() -> Any:
    """Import matplotlib, an optional dependency."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as missing:
        raise ImportError("a plot needs matplotlib: pip install 'unbend[plot]'") from missing
    return plt


# Axes ----------------------------------------------------------------------------------------------------


def axes_for(ax: Any, points: Any = None, bar: bool = False, size: tuple[float, float] = (6.4, 4.8)) -> Any:
    """Return the axes that are given, or new ones: of a size, or in the proportions of some points."""
    if ax is not None:
        return ax
    if points is not None and len(points):
        extent = np.ptp(points[:, :2], axis=0) + 1e-300
        ratio = float(np.clip(extent[-1] / extent[0], 1 / LONGEST, LONGEST)) if points.shape[1] > 1 else 0.3
        size = (8.0, max(8.0 * ratio + 1.0, 2.6)) if ratio < 1 else (6.0 / ratio + 1.0 + bar, 6.0)
    return pyplot().subplots(figsize=size, layout="constrained")[1]


def several_axes(ax: Any, count: int, columns: int, size: tuple[float, float]) -> npt.NDArray[Any]:
    """Return the axes that are given, or new ones in rows; `size` is that of the figure."""
    if ax is not None:
        places = np.ravel(np.array(ax, dtype=object))
        if len(places) < count:
            raise ValueError(f"ax holds {len(places)} axes: at least {count} are needed")
        return places[:count]
    rows = math.ceil(count / columns)
    _, made = pyplot().subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    for unused in made.flat[count:]:
        unused.remove()
    return np.asarray(made.ravel()[:count])


def frame(ax: Any) -> None:
    """Set the style that all pictures of embeddings share."""
    if ax.name != "3d":
        ax.set_aspect("equal", adjustable="datalim")
        ax.spines[:].set_color("0.8")
    ax.tick_params(color="0.8", labelcolor="0.35", labelsize=9)


def finished(ax: Any, title: str | None = None, **legend: Any) -> Axes:
    """Return axes with curves, with a title and a legend."""
    ax.spines[["top", "right"]].set_visible(False)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, **legend)
    return titled(ax, title)


def titled(ax: Any, title: str | None) -> Axes:
    """Return axes, with a title if there is one."""
    if title is not None:
        ax.set_title(title)
    drawn: Axes = ax
    return drawn


def legend_of(ax: Any, kinds: dict[str, Any], **options: Any) -> None:
    """Add a legend of dots, by the colors of their names."""
    from matplotlib.lines import Line2D

    marks = [
        Line2D([], [], linestyle="", marker="o", color=color, label=name) for name, color in kinds.items()
    ]
    ax.legend(handles=marks, frameon=False, **options)


# Points --------------------------------------------------------------------------------------------------


def embedding_of(source: Any) -> Array:
    """Return the embedding that an object is or holds."""
    if isinstance(source, Quality):
        if source.faithfulness is None:
            raise ValueError(
                "this quality holds no embedding: measure 'procrustes' as well, or give the array"
            )
        source = source.faithfulness
    held = (getattr(source, name, None) for name in ("embedding_", "embedding"))
    found = next((array for array in held if array is not None), source)
    return as_points(found, "the embedding").astype(np.float64)


def errors_of(source: Any, measure: str, n: int) -> Array:
    """Return a measure at each of n points; NaN at points that were not measured."""
    result = getattr(source, "faithfulness_", source)
    per_point = getattr(result, "per_point", None)
    if per_point is None:
        raise ValueError(
            f"{type(source).__name__} holds no errors: give X as well, or what unbend.faithfulness returns"
        )
    if measure not in per_point:
        raise ValueError(f"{measure!r} was not measured at points: use one of {', '.join(per_point)}")
    values = np.asarray(per_point[measure], dtype=np.float64)
    errors = np.full(n, np.nan)
    errors[result.centers] = values[:, 0] if values.ndim == 2 else values
    return errors


def components_of(y: Array, components: Sequence[int]) -> Array:
    """Return some components of an embedding."""
    bad = [c for c in components if not 0 <= c < y.shape[1]]
    if bad:
        raise ValueError(f"component {bad[0]} is out of range: the embedding has {y.shape[1]}")
    return np.asarray(y[:, list(components)])


def dots(n: int, ax: Any, size: float | None = None) -> dict[str, Any]:
    """Return the style of `n` dots that neither merge nor leave gaps."""
    if size is None:
        box = ax.get_window_extent()
        points = box.width * box.height * (72 / ax.figure.dpi) ** 2
        size = float(np.clip(0.25 * points / max(n, 1), 0.4, 25))
    return {"s": size, "linewidths": 0, "rasterized": n >= RASTER}


# Colors --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Colors:
    """Colors of dots: by an amount, by a category, or one for all."""

    values: Any
    """Amounts, or numbers of categories; None for one color."""
    norm: Any = None
    cmap: Any = None
    names: tuple[str, ...] = ()
    extend: str = "neither"

    def of(self, rows: Any) -> dict[str, Any]:
        """Return the arguments of a scatter of some points."""
        if self.values is None:
            return {"color": PLAIN}
        return {"c": self.values[rows], "norm": self.norm, "cmap": self.cmap}

    def order(self, n: int) -> npt.NDArray[np.int64]:
        """Return the order to draw in: large amounts over small ones, categories mixed."""
        if self.values is None or self.names:
            return np.random.default_rng(0).permutation(n)
        return np.argsort(np.where(np.isnan(self.values), -np.inf, self.values), kind="stable")

    def explain(self, ax: Any, drawn: Any, label: str | None, **options: Any) -> None:
        """Add a color bar, or a legend of categories."""
        if self.names:
            shades = {name: self.cmap(self.norm(place)) for place, name in enumerate(self.names)}
            beside: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)}
            legend_of(np.ravel(ax)[-1], shades, title=label, **beside)
        elif self.values is not None:
            bar = np.ravel(ax)[0].figure.colorbar(drawn, ax=ax, extend=self.extend, **options)
            if "ticks" in options:
                bar.ax.minorticks_off()
                bar.ax.set_yticks(options["ticks"], [f"{tick:.3g}" for tick in options["ticks"]])
            bar.outline.set_visible(False)
            bar.set_label(label or "")


def colors(
    values: Any, clip: tuple[float, float] = CLIP, cmap: Any = None, log: bool | None = False
) -> Colors:
    """Return colors for `values`, unless they are colors already; ``log=None`` decides by their spread."""
    if values is None or isinstance(values, Colors):
        return values or Colors(None)
    values = np.asarray(values)
    if values.ndim != 1:
        raise ValueError(f"color has shape {values.shape}: it must hold one value for each point")
    pyplot()
    if values.dtype.kind in "OUSb" or (values.dtype.kind in "iu" and len(np.unique(values)) <= FEW_VALUES):
        return _kinds(values.astype(str) if values.dtype.kind == "O" else values, cmap)
    return _amounts(values.astype(np.float64), clip, cmap, log)


def _kinds(values: npt.NDArray[Any], cmap: Any) -> Colors:
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap, Normalize

    kinds, places = np.unique(values, return_inverse=True)
    shades: list[Any] = list(CATEGORIES[: len(kinds)])
    if cmap is not None or len(kinds) > len(CATEGORIES):
        shades = list(colormaps[cmap or CONTINUOUS](np.linspace(0, 1, len(kinds))))
    norm = Normalize(-0.5, len(kinds) - 0.5)
    return Colors(places.ravel(), norm, ListedColormap(shades), tuple(map(str, kinds)))


def _amounts(values: Array, clip: tuple[float, float], cmap: Any, log: bool | None) -> Colors:
    from matplotlib.colors import LogNorm, Normalize

    finite = values[np.isfinite(values)]
    low, high = np.percentile(finite, clip) if len(finite) else (0.0, 1.0)
    least, most = finite.min(initial=low), finite.max(initial=high)
    if log is None:
        log = bool(least > 0 and math.log10(high / low) > MOST_DECADES)
    norm = LogNorm(low, high) if log else Normalize(low, high if high > low else low + 1)
    extend = ("neither", "min", "max", "both")[int(least < low) + 2 * int(most > high)]
    shown = np.where(np.isposinf(values), np.finfo(float).max, values)
    return Colors(shown, norm, cmap or CONTINUOUS, extend=extend)


def symbol_of(measure: str | None) -> str:
    """Return the symbol of a measure in a picture."""
    symbols = {"r": "$R$", "r_pca": "$R_{PCA}$", "bound": "lower bound", "stretch": "largest stretch"}
    if measure in symbols:
        return symbols[measure]
    symbol = MEASURES[measure].symbol if measure in MEASURES else str(measure)
    head, _, tail = symbol.partition("_")
    if not tail or " " in tail:
        return symbol
    return f"${head}_{tail}$" if len(tail) == 1 else f"${head}_{{{tail}}}$"
