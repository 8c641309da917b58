"""What an embedding does to single neighbourhoods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..graph.charts import charts
from ..graph.neighbors import Neighborhoods, resolve
from ..metrics.sampling import pair
from .canvas import DIVERGING, FAINT, axes_for, colours, dots, embedding_of, frame, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["neighborhood", "stretch"]

Array = npt.NDArray[np.float64]

ELLIPSES = 200
FILL = 0.42
"""The radius of a circle that is not stretched, in distances between ellipses."""

REACH = 1.3
"""How much wider than a neighbourhood its picture is."""

DEEP = 1.5
"""Points farther from the point than so many half widths of the picture lie before or behind it."""

OWN, BOTH, LOST, FALSE = "#000000", "#3f90da", "#bd1f01", "#ffa90e"
"""The point; neighbours in both; in the data alone; in the embedding alone."""


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
    """Draw what becomes of small circles on the data: circles of one size if the embedding is faithful.

    For neighbourhoods spread evenly over the embedding, the linear map from the tangent to the embedding
    that fits the images of the neighbours best takes a circle to the ellipse that is drawn. Narrow
    ellipses are squeezed neighbourhoods; their colour is the area, on a logarithmic scale about 1. Sizes
    are drawn relative to the typical one, so an embedding in another unit differs in colour alone.

    Parameters
    ----------
    X : array-like of shape (n, q)
        The data.
    Y : array-like of shape (n, d), 2 <= d <= q, or what holds one
        The embedding.
    n_neighbors : int, default 12
        How many other points a neighbourhood holds.
    neighborhoods : Neighborhoods, optional
        Instead: those already computed.
    n_ellipses : int, default 200
        About how many to draw.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    components : pair of int, default (0, 1)
        Which components of the embedding are drawn; with more than two, ellipses are shadows of ellipsoids.
    clip : pair of float, default (1, 99)
        Between which percentiles colours are spread.
    label, title : str, optional
        What the colour is, and what the picture is.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> ax = ub.plot.stretch(X, coordinates, n_ellipses=50)
    >>> 25 < len(ax.collections[1].get_offsets()) < 100
    True
    """
    pyplot()
    from matplotlib.collections import EllipseCollection

    x, y = pair(X, embedding_of(Y))
    if y.shape[1] < 2:
        raise ValueError("an embedding in 1 dimension has no ellipses: at least 2 are needed")
    graph = resolve(x, neighborhoods, n_neighbors, None, None)
    shown = y[:, list(components)]
    centers, spacing = _spread(shown, n_ellipses)
    turns, lengths = _images(x, y, graph, centers, components)
    place = axes_for(ax, shown, bar=True)
    place.scatter(*shown.T, color=FAINT, zorder=0, **dots(len(shown), place))
    typical = float(np.median(lengths[:, 0])) or 1.0
    width, height = (2 * FILL * spacing / typical * lengths).T
    found = colours(lengths.prod(axis=1), clip, DIVERGING)
    norm, ticks = _about_one(found)
    drawn = EllipseCollection(
        width,
        height,
        np.degrees(turns),
        units="xy",
        offsets=shown[centers],
        offset_transform=place.transData,
        cmap=DIVERGING,
        norm=norm,
        edgecolor="0.25",
        linewidth=0.5,
    )
    drawn.set_array(found.values)
    place.add_collection(drawn)
    frame(place)
    found.explain(place, drawn, label, ticks=ticks)
    if title is not None:
        place.set_title(title)
    return place


def neighborhood(
    X: Any,
    Y: Any,
    point: int,
    n_neighbors: int | None = None,
    *,
    neighborhoods: Neighborhoods | None = None,
    ax: Any = None,
) -> npt.NDArray[Any]:
    """Draw a point with its neighbours in the data and in the embedding, side by side and at one scale.

    On the left the data about the point, in its tangent plane; on the right the embedding, moved, and turned
    as it fits best. Blue neighbours are near in both, red ones were lost by the embedding, yellow ones are
    near in it alone; those farther away than the pictures reach are counted in the titles.

    Parameters
    ----------
    X : array-like of shape (n, q)
        The data.
    Y : array-like of shape (n, d), d <= q, or what holds one
        The embedding.
    point : int
        Which point.
    n_neighbors, neighborhoods
        As for :func:`stretch`.
    ax : pair of Axes, optional
        Where to draw; a new figure by default.

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
        raise ValueError(f"point {point} has no neighbours")
    gaps = np.linalg.norm(y - y[point], axis=1)
    gaps[point] = np.inf
    images = np.argsort(gaps, kind="stable")[: len(near)]
    left, right = _views(x, y, point, near)
    places = _pair_of(ax)
    reach = REACH * float(np.linalg.norm(left[near], axis=1).max())
    apart = np.linalg.norm(x.astype(np.float64) - x[point], axis=1), np.linalg.norm(y - y[point], axis=1)
    for place, seen, far, where in zip(places, (left, right), apart, ("data", "embedding"), strict=True):
        inside = (np.abs(seen).max(axis=1) <= reach) & (far <= DEEP * reach)
        outside = _draw_view(place, seen, inside, point, near, images)
        place.set(xlim=(-reach, reach), ylim=(-reach, reach))
        lost = f"{np.isin(near, images, invert=True).sum()} of {len(near)} neighbours lost"
        beyond = f", {outside} not in the picture" if outside else ""
        place.set_title(f"point {point} in the {where}\n{lost}{beyond}", fontsize=10)
    _legend(places[1])
    return places


# Ellipses ------------------------------------------------------------------------------------------------


def _spread(shown: Array, count: int) -> tuple[npt.NDArray[np.int64], float]:
    """Return points about as far from each other as there is room for, and how far that is."""
    low, extent = shown.min(axis=0), np.ptp(shown, axis=0)
    cell = float(max(extent.max() / 1000, np.sqrt(max(extent.prod(), 1e-300) / max(1, count))))
    for _ in range(8):  # where the embedding leaves gaps, cells are empty: smaller ones make up for them
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
    """Return for some neighbourhoods the turn of the ellipse, in radians, and its two half axes."""
    found = charts(x, y.shape[1], neighborhoods=graph)
    maps = [_fit(found[i], y[np.concatenate([[i], graph[i]])]) for i in centers]
    axes, lengths, _ = np.linalg.svd(np.stack(maps)[:, list(components)])
    return np.arctan2(axes[:, 1, 0], axes[:, 0, 0]), lengths[:, :2]


def _fit(theta: Array, y: Array) -> Array:
    """Return the linear map that takes a chart to its images best."""
    return np.asarray(np.linalg.lstsq(theta - theta.mean(axis=0), y - y.mean(axis=0), rcond=1e-10)[0].T)


def _about_one(found: Any) -> tuple[Any, list[float]]:
    """Return a logarithmic scale with 1 in its middle, and five ticks."""
    from matplotlib.colors import LogNorm

    ends = np.abs(np.log(np.maximum([found.norm.vmin, found.norm.vmax], np.finfo(float).tiny)))
    most = float(np.clip(ends.max(), np.log(1.1), np.log(1e6)))
    return LogNorm(np.exp(-most), np.exp(most)), [
        float(np.exp(most * part)) for part in (-1, -0.5, 0, 0.5, 1)
    ]


# One neighbourhood -----------------------------------------------------------------------------------------


def _views(x: Any, y: Array, point: int, near: npt.NDArray[np.int64]) -> tuple[Array, Array]:
    """Return data and embedding about a point in one plane, the latter turned as its neighbours fit best."""
    members = np.concatenate([[point], near])
    centred = x.astype(np.float64) - x[point]
    local = centred[members] - centred[members].mean(axis=0)
    _, _, axes = np.linalg.svd(local, full_matrices=False)
    left = _two_columns(centred @ axes[:2].T)
    images = y - y[point]
    part = images[members] - images[members].mean(axis=0)
    across, _, along = np.linalg.svd(
        part.T @ (left[members] - left[members].mean(axis=0)), full_matrices=False
    )
    return left, _two_columns(images @ across @ along)


def _two_columns(points: Array) -> Array:
    return points if points.shape[1] > 1 else np.column_stack([points, np.zeros(len(points))])


def _pair_of(ax: Any) -> npt.NDArray[Any]:
    if ax is not None:
        given = np.ravel(np.array(ax, dtype=object))
        if len(given) != 2:
            raise ValueError(f"ax holds {len(given)} axes: two are needed")
        return given
    _, made = pyplot().subplots(1, 2, figsize=(10.5, 4.6), layout="constrained")
    return np.asarray(made)


def _draw_view(
    ax: Any,
    seen: Array,
    inside: npt.NDArray[np.bool_],
    point: int,
    near: npt.NDArray[np.int64],
    images: npt.NDArray[np.int64],
) -> int:
    """Draw one side, and return how many neighbours of either kind lie outside the picture."""
    others = inside.copy()
    others[np.concatenate([[point], near, images])] = False
    ax.scatter(
        *seen[others].T, s=8, color=FAINT, linewidths=0, zorder=1, rasterized=bool(others.sum() > 2000)
    )
    both = np.intersect1d(near, images)
    for rows, color in (
        (np.setdiff1d(images, near), FALSE),
        (both, BOTH),
        (np.setdiff1d(near, images), LOST),
    ):
        ax.scatter(
            *seen[rows[inside[rows]]].T, s=34, color=color, edgecolors="white", linewidths=0.6, zorder=3
        )
    for j in near:
        ax.plot(*np.stack([seen[point], seen[j]]).T, color="0.7", linewidth=0.7, zorder=2)
    ax.scatter(*seen[[point]].T, s=70, color=OWN, marker="*", zorder=4)
    frame(ax)
    ax.set_aspect("equal", adjustable="box")
    return int((~inside[np.union1d(near, images)]).sum())


def _legend(ax: Any) -> None:
    from matplotlib.lines import Line2D

    kinds = {"near in both": BOTH, "lost": LOST, "near in the\nembedding alone": FALSE}
    marks = [
        Line2D([], [], linestyle="", marker="o", color=color, label=name) for name, color in kinds.items()
    ]
    ax.legend(handles=marks, loc="upper left", bbox_to_anchor=(1.02, 1.0), frameon=False)
