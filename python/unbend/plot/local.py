"""Single neighborhoods in an embedding."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..graph.charts import charts
from ..graph.neighbors import Neighborhoods, resolve
from ..metrics.sampling import pair
from . import canvas
from .canvas import DIVERGING, FAINT, Array, Axes, colors, embedding_of, picture

__all__ = ["ELLIPSES", "neighborhood", "spread_evenly", "stretch"]

ELLIPSES = 200
"""Default number of ellipses in a picture."""

FILL = 0.42
"""Radius of a circle that is not stretched, in distances between ellipses."""

REACH = 1.3
"""Width of a picture, in widths of the neighborhood."""

DEEP = 1.5
"""Distance beyond which points are not drawn: they lie before or behind the picture. In half widths of it."""

OWN, BOTH, LOST, FALSE = "#000000", "#3f90da", "#bd1f01", "#ffa90e"
"""Colors of the point; of neighbors in both; in the data alone; in the embedding alone."""


@picture
def stretch(
    X: Any,
    Y: Any,
    n_neighbors: int | None = None,
    *,
    neighborhoods: Neighborhoods | None = None,
    n_ellipses: int = ELLIPSES,
    ax: Axes | None = None,
    components: tuple[int, int] = (0, 1),
    clip: tuple[float, float] = (1, 99),
    label: str = "area, in multiples of that in the data",
    title: str | None = None,
) -> Axes:
    """Draw the images of small circles on the data: circles of one size if the embedding is faithful.

    For neighborhoods spread evenly over the embedding, an ellipse shows the image of a circle under the
    linear map from the tangent to the embedding that fits best. Narrow ellipses are squeezed neighborhoods.
    Their color is the area, on a logarithmic scale around 1. Sizes are relative to the typical one, so
    another unit changes only the color. The embedding needs at least 2 and at most q dimensions.

    Parameters
    ----------
    n_ellipses : int, default 200
        Approximate number of ellipses.
    components : pair of int, default (0, 1)
        Components of the embedding to draw; with more than two, ellipses are shadows of ellipsoids.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> ax = ub.plot.stretch(X, coordinates, n_ellipses=50)
    >>> 25 < len(ax.collections[1].get_offsets()) < 100
    True
    """
    x, y = pair(X, embedding_of(Y))
    if y.shape[1] < 2:
        raise ValueError("an embedding in 1 dimension has no ellipses: at least 2 are needed")
    graph = resolve(x, neighborhoods, n_neighbors, None, None)
    shown = y[:, list(components)]
    centers, spacing = spread_evenly(shown, n_ellipses)
    angles, lengths = _images(x, y, graph, centers, components)
    place = canvas.axes_for(ax, shown, bar=True)
    from matplotlib.collections import EllipseCollection

    place.scatter(*shown.T, color=FAINT, zorder=0, **canvas.dots(len(shown), place))
    typical = float(np.median(lengths[:, 0])) or 1.0
    found = colors(lengths.prod(axis=1), clip, DIVERGING)
    norm, ticks = _about_one(found)
    places: dict[str, Any] = {"units": "xy", "offsets": shown[centers], "offset_transform": place.transData}
    looks: dict[str, Any] = {"cmap": DIVERGING, "norm": norm, "edgecolor": "0.25", "linewidth": 0.5}
    width, height = (2 * FILL * spacing / typical * lengths).T
    drawn = EllipseCollection(width, height, np.degrees(angles), **places, **looks)
    drawn.set_array(found.values)
    place.add_collection(drawn)
    canvas.frame(place)
    found.explain(place, drawn, label, ticks=ticks)
    return canvas.titled(place, title)


@picture
def neighborhood(
    X: Any,
    Y: Any,
    point: int,
    n_neighbors: int | None = None,
    *,
    neighborhoods: Neighborhoods | None = None,
    ax: Any = None,
) -> npt.NDArray[Any]:
    """Draw a point with its neighbors in the data and in the embedding, side by side and at one scale.

    The left shows the data around the point, in its tangent plane; the right shows the embedding, translated
    and rotated to fit best. Blue neighbors are near in both, the embedding lost red ones, and yellow ones are
    near in the embedding alone. The titles count neighbors outside the pictures.

    Parameters
    ----------
    point : int
        Index of the point.
    ax : pair of Axes, optional
        Axes to draw on; a new figure by default.

    Returns
    -------
    ndarray of Axes
        Two: the data and the embedding.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(500, random_state=0)
    >>> [ax.get_title().splitlines()[0] for ax in ub.plot.neighborhood(X, coordinates, 7)]
    ['point 7 in the data', 'point 7 in the embedding']
    """
    x, y = pair(X, embedding_of(Y))
    if not -len(x) <= point < len(x):
        raise ValueError(f"point = {point} is out of range: there are {len(x)} points")
    point %= len(x)
    graph = resolve(x, neighborhoods, n_neighbors, None, None)
    near = graph[point].astype(np.int64)
    if len(near) == 0:
        raise ValueError(f"point {point} has no neighbors")
    gaps = np.linalg.norm(y - y[point], axis=1)
    gaps[point] = np.inf
    images = np.argsort(gaps, kind="stable")[: len(near)]
    left, right = _views(x, y, point, near)
    places = canvas.several_axes(ax, 2, 2, (10.5, 4.6))
    reach = REACH * float(np.linalg.norm(left[near], axis=1).max())
    apart = np.linalg.norm(x.astype(np.float64) - x[point], axis=1), np.linalg.norm(y - y[point], axis=1)
    for place, seen, far, where in zip(places, (left, right), apart, ("data", "embedding"), strict=True):
        inside = (np.abs(seen).max(axis=1) <= reach) & (far <= DEEP * reach)
        outside = _draw_view(place, seen, inside, point, near, images)
        place.set(xlim=(-reach, reach), ylim=(-reach, reach))
        lost = f"{np.isin(near, images, invert=True).sum()} of {len(near)} neighbors lost"
        beyond = f", {outside} not in the picture" if outside else ""
        place.set_title(f"point {point} in the {where}\n{lost}{beyond}", fontsize=10)
    kinds = {"near in both": BOTH, "lost": LOST, "near in the\nembedding alone": FALSE}
    canvas.legend_of(places[1], kinds, loc="upper left", bbox_to_anchor=(1.02, 1.0))
    return places


# Ellipses ------------------------------------------------------------------------------------------------


def spread_evenly(shown: Array, count: int) -> tuple[npt.NDArray[np.int64], float]:
    """Return points spread evenly over the embedding, and their distance."""
    low, extent = shown.min(axis=0), np.ptp(shown, axis=0)
    cell = float(max(extent.max() / 1000, np.sqrt(max(extent.prod(), 1e-300) / max(1, count))))
    for _ in range(8):  # gaps in the embedding leave cells empty: smaller cells make up for them
        cells = ((shown - low) // cell).astype(np.int64)
        filled = len(np.unique(cells, axis=0))
        if filled >= 0.8 * min(count, len(shown)):
            break
        cell *= max(0.5, float(np.sqrt(filled / count)))
    middle = low + (cells + 0.5) * cell
    order = np.argsort(np.linalg.norm(shown - middle, axis=1), kind="stable")
    _, first = np.unique(cells[order], axis=0, return_index=True)
    return np.sort(order[first]), cell


def _images(
    x: Any, y: Array, graph: Neighborhoods, centers: npt.NDArray[np.int64], components: tuple[int, int]
) -> tuple[Array, Array]:
    """Return the angle of the ellipse of each neighborhood, in radians, and its two half axes."""
    found = charts(x, y.shape[1], neighborhoods=graph)
    maps = [_fit(found[i], y[np.concatenate([[i], graph[i]])]) for i in centers]
    axes, lengths, _ = np.linalg.svd(np.stack(maps)[:, list(components)])
    return np.arctan2(axes[:, 1, 0], axes[:, 0, 0]), lengths[:, :2]


def _fit(theta: Array, y: Array) -> Array:
    """Return the linear map from a chart to its images that fits best."""
    return np.asarray(np.linalg.lstsq(theta - theta.mean(axis=0), y - y.mean(axis=0), rcond=1e-10)[0].T)


def _about_one(found: Any) -> tuple[Any, list[float]]:
    """Return a logarithmic scale around 1, and five ticks."""
    from matplotlib.colors import LogNorm

    ends = np.abs(np.log(np.maximum([found.norm.vmin, found.norm.vmax], np.finfo(float).tiny)))
    most = float(np.clip(ends.max(), np.log(1.1), np.log(1e6)))
    ticks = [float(np.exp(most * part)) for part in (-1, -0.5, 0, 0.5, 1)]
    return LogNorm(ticks[0], ticks[-1]), ticks


# One neighborhood -----------------------------------------------------------------------------------------


def _views(x: Any, y: Array, point: int, near: npt.NDArray[np.int64]) -> tuple[Array, Array]:
    """Return data and embedding around a point in one plane, the latter rotated to fit its neighbors best."""
    members = np.concatenate([[point], near])
    centered = x.astype(np.float64) - x[point]
    local = centered[members] - centered[members].mean(axis=0)
    _, _, axes = np.linalg.svd(local, full_matrices=False)
    left = _two_columns(centered @ axes[:2].T)
    images = y - y[point]
    part = images[members] - images[members].mean(axis=0)
    target = left[members] - left[members].mean(axis=0)
    across, _, along = np.linalg.svd(part.T @ target, full_matrices=False)
    return left, _two_columns(images @ across @ along)


def _two_columns(points: Array) -> Array:
    return points if points.shape[1] > 1 else np.column_stack([points, np.zeros(len(points))])


def _draw_view(
    ax: Any,
    seen: Array,
    inside: npt.NDArray[np.bool_],
    point: int,
    near: npt.NDArray[np.int64],
    images: npt.NDArray[np.int64],
) -> int:
    """Draw one side, and return the number of neighbors outside the picture."""
    others = inside.copy()
    others[np.concatenate([[point], near, images])] = False
    gray = {"color": FAINT, "linewidths": 0, "zorder": 1, "rasterized": bool(others.sum() > canvas.RASTER)}
    ax.scatter(*seen[others].T, s=8, **gray)
    both, lost, false = np.intersect1d(near, images), np.setdiff1d(near, images), np.setdiff1d(images, near)
    for rows, color in ((false, FALSE), (both, BOTH), (lost, LOST)):
        shown = seen[rows[inside[rows]]]
        ax.scatter(*shown.T, s=34, color=color, edgecolors="white", linewidths=0.6, zorder=3)
    for j in near:
        ax.plot(*np.stack([seen[point], seen[j]]).T, color="0.7", linewidth=0.7, zorder=2)
    ax.scatter(*seen[[point]].T, s=70, color=OWN, marker="*", zorder=4)
    canvas.frame(ax)
    ax.set_aspect("equal", adjustable="box")
    return int((~inside[np.union1d(near, images)]).sum())
