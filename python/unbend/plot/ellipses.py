"""Embeddings with ellipses that hold the true places of points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import canvas
from .canvas import CLIP, Axes, picture
from .local import ELLIPSES, spread_evenly
from .scatter import embedding

if TYPE_CHECKING:
    from ..covariance import Uncertainty

__all__ = ["uncertainty"]


@picture
def uncertainty(
    found: Uncertainty,
    color: Any = None,
    *,
    level: float = 0.95,
    n_ellipses: int = ELLIPSES,
    ax: Axes | None = None,
    components: tuple[int, int] = (0, 1),
    cmap: Any = None,
    clip: tuple[float, float] = CLIP,
    size: float | None = None,
    label: str | None = None,
    title: str | None = None,
) -> Axes:
    """Draw an embedding with the ellipses that hold the true places of points, for points spread evenly over it.

    The embedding needs at least 2 dimensions. Ellipses are drawn in its unit: large ones are unsure places.

    Parameters
    ----------
    found : Uncertainty
        Result of :func:`unbend.uncertainty`.
    color : array-like of shape (n,), optional
        Values of the points, as for :func:`embedding`.
    level : float, default 0.95
        Probability with which an ellipse holds the true place of its point.
    n_ellipses : int, default 200
        Approximate number of ellipses.
    components : pair of int, default (0, 1)
        Components of the embedding to draw; with more than two, ellipses are shadows of ellipsoids.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(1000, noise=0.2, random_state=0)
    >>> found = ub.uncertainty(X, coordinates, random_state=0)
    >>> ax = ub.plot.uncertainty(found, coordinates[:, 0], n_ellipses=50)
    >>> 25 < len(ax.collections[1].get_offsets()) < 100
    True
    """
    y = found.embedding
    if y.shape[1] < 2:
        raise ValueError("an embedding in 1 dimension has no ellipses: at least 2 are needed")
    scale = found.ellipse_scale(level)
    shown = canvas.components_of(y, components)
    centers, _ = spread_evenly(shown, n_ellipses)
    looks: dict[str, Any] = {"cmap": cmap, "clip": clip, "size": size, "label": label, "title": title}
    place = embedding(y, color, seams=[], ax=ax, components=components, **looks)
    from matplotlib.collections import EllipseCollection

    covariance = found.covariance[centers][:, list(components)][:, :, list(components)]
    squared, axes = np.linalg.eigh(covariance)
    height, width = 2 * scale * np.sqrt(np.maximum(squared, 0.0)).T
    angles = np.degrees(np.arctan2(axes[:, 1, 1], axes[:, 0, 1]))
    places: dict[str, Any] = {"units": "xy", "offsets": shown[centers], "offset_transform": place.transData}
    drawn = EllipseCollection(
        width, height, angles, facecolor="none", edgecolor="0.2", linewidth=0.7, **places
    )
    place.add_collection(drawn)
    return place
