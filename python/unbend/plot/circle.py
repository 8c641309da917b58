"""The correlation circle."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ..metrics.sampling import pair
from .canvas import Array, Axes, axes_for, components_of, embedding_of, picture

__all__ = ["correlation_circle", "draw_circle"]

LABEL_HEIGHT = 0.1
"""Smallest vertical distance between two names on the same side."""


@picture
def correlation_circle(
    source: Any,
    X: Any = None,
    *,
    ax: Axes | None = None,
    components: tuple[int, int] = (0, 1),
    names: Any = None,
) -> Axes:
    """Draw the correlations of variables with two components of an embedding, as arrows in a circle.

    If the components are uncorrelated, arrows that reach the circle are variables that these two components
    show completely. Arrows in one direction rise together; of opposite arrows, one falls as the other rises.

    Parameters
    ----------
    source : PCA, or an embedding
        A fitted :class:`unbend.PCA`, or an embedding as for :func:`embedding`.
    X : array-like of shape (n, q), optional
        Variables, each drawn as an arrow with its name; not needed if `source` is a PCA.
    components : pair of int, default (0, 1)
        Components to draw.
    names : sequence of str, optional
        Names of the variables; by default the columns of a data frame, or x0, x1, ...

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(500, random_state=0)
    >>> ax = ub.plot.correlation_circle(coordinates, X)
    >>> [text.get_text() for text in ax.texts if text.get_text()]
    ['x0', 'x1', 'x2']
    """
    if X is None:
        if not hasattr(source, "plot_circle"):
            raise ValueError("X is missing: the variables whose correlations with the embedding are drawn")
        drawn: Axes = source.plot_circle(ax, components=components, names=names)
        return drawn
    x, y = pair(X, embedding_of(source), ("X", "the embedding"), narrower=False)
    default = getattr(X, "columns", [f"x{place}" for place in range(x.shape[1])])
    labels = [str(name) for name in (default if names is None else names)]
    if len(labels) != x.shape[1]:
        raise ValueError(f"names has {len(labels)} entries, but X has {x.shape[1]} columns")
    tips = _correlations(x, components_of(y, components))
    return draw_circle(ax, tips, labels, [f"component {c + 1}" for c in components])


def draw_circle(ax: Axes | None, tips: Array, names: list[str], labels: list[str]) -> Axes:
    """Draw arrows to `tips`, the correlations of variables with two components, with labels for the axes."""
    place = axes_for(ax, size=(6, 5))
    from matplotlib.patches import Circle

    place.add_patch(Circle((0, 0), 1, fill=False, color="0.4"))
    place.axhline(0, color="0.85", linewidth=0.8, zorder=0)
    place.axvline(0, color="0.85", linewidth=0.8, zorder=0)
    arrow = {"arrowstyle": "-|>", "color": "C0", "shrinkA": 0, "shrinkB": 0}
    for tip, height, name in zip(tips, label_heights(tips), names, strict=True):
        place.annotate("", tip, (0, 0), arrowprops=arrow)
        side, align = (0.04, "left") if tip[0] >= 0 else (-0.04, "right")
        place.text(tip[0] + side, height, name, ha=align, va="center")
    place.set(xlim=(-1.6, 1.6), ylim=(-1.25, 1.25), aspect="equal", xlabel=labels[0], ylabel=labels[1])
    drawn: Axes = place
    return drawn


def label_heights(tips: Array) -> Array:
    """Return the heights of the names: those of the tips, or higher where names would overlap."""
    heights = tips[:, 1].copy()
    for side in (tips[:, 0] >= 0, tips[:, 0] < 0):
        order = np.flatnonzero(side)[np.argsort(tips[side, 1], kind="stable")]
        for below, above in pairwise(order):
            heights[above] = max(heights[above], heights[below] + LABEL_HEIGHT)
    return heights


def _correlations(x: Any, y: Array) -> Array:
    def unit(points: Array) -> Array:
        centered = points - points.mean(axis=0)
        norms = np.linalg.norm(centered, axis=0)
        return np.asarray(np.divide(centered, norms, out=np.zeros_like(centered), where=norms > 0))

    return np.asarray(unit(x.astype(np.float64)).T @ unit(y))
