"""Scatter plots of embeddings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..metrics import faithfulness
from . import canvas
from .canvas import CLIP, FAINT, Array, Axes, Colors, colors, embedding_of, errors_of, picture, symbol_of
from .seams import draw_seams, seams_of

__all__ = ["embedding", "error", "grid"]

PROPORTIONS = (0.45, 1.2)
"""Smallest and largest height over width of a picture in a grid."""


@picture
def embedding(
    Y: Any,
    color: Any = None,
    *,
    seams: Any = "auto",
    ax: Axes | None = None,
    components: tuple[int, ...] | None = None,
    cmap: Any = None,
    clip: tuple[float, float] = CLIP,
    size: float | None = None,
    label: str | None = None,
    title: str | None = None,
) -> Axes:
    """Draw an embedding, colored by anything.

    If it was cut open, the two sides of each seam have the same color and the same number. Arrowheads on both
    sides point in the same direction of the data; they are hollow if the surface continues reflected.

    Parameters
    ----------
    color : array-like of shape (n,), optional
        Amounts get a colormap and a color bar. Text, truth values, and whole numbers with at most ten
        different values are categories: they get ten colors for all kinds of color vision, and a legend. NaN
        is gray.
    seams : list of Seam, default "auto"
        Seams of a cut: by default the `seams_` of a fitted estimator. An empty list draws none.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(500, random_state=0)
    >>> ax = ub.plot.embedding(coordinates, coordinates[:, 0], label="arc length")
    >>> ax.get_aspect()
    1.0
    """
    y = embedding_of(Y)
    found = _checked(colors(color, clip, cmap), y, "the embedding")
    shown = canvas.components_of(y, components or (0, 1)[: y.shape[1]])
    place = canvas.axes_for(ax, shown, bar=found.values is not None)
    drawn = _cloud(place, y, found, components, size, seams_of(Y, seams, len(y)))
    found.explain(place, drawn, label)
    return canvas.titled(place, title)


@picture
def error(
    source: Any,
    Y: Any = None,
    *,
    measure: str = "r_n",
    n_neighbors: int | None = None,
    neighborhoods: Any = None,
    ax: Axes | None = None,
    components: tuple[int, ...] | None = None,
    cmap: Any = None,
    clip: tuple[float, float] = CLIP,
    size: float | None = None,
    title: str | None = None,
) -> Axes:
    """Draw an embedding, each point colored by its own error; the largest errors lie on top.

    Errors over more than 1.5 decades are colored by their logarithm.

    Parameters
    ----------
    source : array-like of shape (n, q), or measured result
        Input data; or, without `Y`, a Faithfulness, a Quality or a fitted estimator, which hold the
        embedding.
    Y : array-like of shape (n, d), optional
        The embedding, if `source` is the data, or if it holds errors of another copy of the embedding.
    measure : str, default "r_n"
        Measure of the data or a Faithfulness: "r", "r_n", "r_c", "r_pca", "bound", "overlap", "area" or
        "stretch" (the largest). Of a Quality, any of its means over points.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(500, random_state=0)
    >>> ax = ub.plot.error(X, X[:, :2])
    >>> ax.figure.axes[1].get_ylabel()
    '$R_N$ at each point'
    """
    measured = hasattr(source, "per_point") or hasattr(source, "faithfulness_")
    if Y is None and not measured:
        raise ValueError("Y is missing: give the embedding, or what unbend.faithfulness returns")
    y = embedding_of(source if Y is None else Y)
    if not measured:
        source = faithfulness(source, y, n_neighbors, neighborhoods=neighborhoods)
    found = colors(errors_of(source, measure, len(y)), clip, cmap, log=None)
    looks: dict[str, Any] = {"ax": ax, "components": components, "size": size, "title": title}
    return embedding(y, found, label=f"{symbol_of(measure)} at each point", **looks)


@picture
def grid(
    embeddings: Any,
    color: Any = None,
    *,
    measure: str | None = None,
    ax: Any = None,
    columns: int | None = None,
    cmap: Any = None,
    clip: tuple[float, float] = CLIP,
    size: float | None = None,
    label: str | None = None,
) -> npt.NDArray[Any]:
    r"""Draw several embeddings of the same data side by side, with the same colors.

    Parameters
    ----------
    embeddings : Comparison, or mapping of str to embedding
        Embeddings as for :func:`embedding`, with the seams of fitted estimators. A Comparison keeps its
        order, the best first, and titles tell the measure by which it is ordered.
    color : array-like of shape (n,), optional
        Values of the points, for all pictures.
    measure : str, optional
        Measure by whose error each point is colored, on one scale for all pictures. Give it instead of
        `color`, with embeddings that were measured.
    ax : array of Axes, optional
        Axes to draw on, at least as many as there are embeddings.
    columns : int, optional
        Number of pictures in a row.

    Returns
    -------
    ndarray of Axes
        One for each embedding.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(500, random_state=0)
    >>> found = ub.compare(X, {"shadow": X[:, :2], "truth": coordinates}, ["procrustes"])
    >>> [ax.get_title() for ax in ub.plot.grid(found, coordinates[:, 0])]
    ['truth\n$R_C$ 0.0139', 'shadow\n$R_C$ 0.0979']
    """
    if not isinstance(embeddings, Mapping):
        raise ValueError(
            f"embeddings is a {type(embeddings).__name__}: give a Comparison, or a dict of embeddings"
        )
    if not embeddings:
        raise ValueError("embeddings is empty: at least 1 is needed")
    if color is not None and measure is not None:
        raise ValueError("give color or measure, not both")
    clouds = {str(name): embedding_of(one) for name, one in embeddings.items()}
    axes = _axes_of(ax, list(clouds.values()), columns)
    if measure is None:
        found = [_checked(colors(color, clip, cmap), y, name) for name, y in clouds.items()]
    else:
        label = f"{symbol_of(measure)} at each point"
        errors = [errors_of(one, measure, len(clouds[str(name)])) for name, one in embeddings.items()]
        whole = colors(np.concatenate(errors), clip, cmap, log=None)
        found = [replace(whole, values=values) for values in errors]
    by = getattr(embeddings, "by", None)
    for place, (name, y), one, source in zip(axes, clouds.items(), found, embeddings.values(), strict=True):
        drawn = _cloud(place, y, one, None, size, seams_of(source, "auto", len(y)))
        value = "" if by is None else f"\n{symbol_of(by)} {source[by].value:.3g}"
        place.set_title(name + value, fontsize=11)
    found[0].explain(axes, drawn, label)
    return axes


# Drawing -------------------------------------------------------------------------------------------------


def _checked(found: Colors, y: Array, name: str) -> Colors:
    if found.values is not None and len(found.values) != len(y):
        raise ValueError(f"color has {len(found.values)} values, but {name} has {len(y)} rows")
    return found


def _cloud(
    ax: Any, y: Array, found: Colors, components: tuple[int, ...] | None, size: float | None, seams: Any
) -> Any:
    """Draw dots on axes: below them gray ones without a value, above them seams."""
    wanted = (0, 1, 2) if ax.name == "3d" else (0, 1)
    shown = canvas.components_of(y, components or wanted[: y.shape[1]])
    if shown.shape[1] == 1:
        shown = np.column_stack([shown, np.zeros(len(shown))])
    looks = canvas.dots(len(y), ax, size)
    order = found.order(len(y))
    if found.values is not None and not found.names:
        missing = np.isnan(found.values)
        if missing.any():
            ax.scatter(*shown[missing].T, color=FAINT, **looks)
        order = order[~missing[order]]
    plain = {"color": FAINT} if seams and found.values is None else found.of(order)
    drawn = ax.scatter(*shown[order].T, **plain, **looks)
    draw_seams(ax, shown, seams, looks["s"])
    canvas.frame(ax)
    if y.shape[1] == 1:
        ax.set_aspect("auto")
        ax.set_yticks([])
    return drawn


def _axes_of(ax: Any, clouds: list[Array], columns: int | None) -> npt.NDArray[Any]:
    """Return axes in the median proportions of the clouds."""
    count = len(clouds)
    wide = columns or min(count, 3 if count != 4 else 2)
    shapes = [np.ptp(y[:, :2], axis=0) + 1e-300 for y in clouds]
    ratio = float(np.clip(np.median([shape[-1] / shape[0] for shape in shapes]), *PROPORTIONS))
    return canvas.several_axes(ax, count, wide, (3.6 * wide + 1, (3.4 * ratio + 0.8) * -(-count // wide)))
