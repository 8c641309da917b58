"""Embeddings as clouds of dots."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..judge.measures import MEASURES
from .canvas import CLIP, FAINT, Colours, axes_for, colours, dots, embedding_of, errors_of, frame, pyplot
from .seams import seams_of
from .sides import draw_seams

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..fit.cut import Seam

__all__ = ["correlation_circle", "embedding", "error", "grid"]

Array = npt.NDArray[np.float64]

PROPORTIONS = (0.45, 1.2)
"""Height over width of a picture among others."""


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
    """Draw an embedding, coloured by anything.

    Where it was cut open, the two sides of each seam have one colour and one number. Arrowheads on
    both point along what lies side by side in the data; they are hollow where the surface comes through
    reflected.

    Parameters
    ----------
    Y : array-like of shape (n, d), or what holds one
        A fitted estimator, a Selection, Refinement, Rectification, Faithfulness or Quality will do.
    color : array-like of shape (n,), optional
        Amounts are coloured by a map and explained by a bar; text, truth values, and whole numbers of at most
        ten kinds are kinds, in ten colours that all eyes can tell apart, with a legend. NaN is left grey.
    seams : list of Seam, default "auto"
        The seams of a cut: by default the `seams_` of a fitted estimator. An empty list draws none.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default. On 3-D axes three components are drawn.
    components : tuple of int, optional
        Which components: (0, 1) by default, or (0, 1, 2) on 3-D axes.
    cmap : str or Colormap, optional
        By default one that does not depend on telling red from green.
    clip : pair of float, default (1, 99)
        Between which percentiles of the amounts colours are spread: a few large ones hide nothing.
    size : float, optional
        Of a dot, in square points; by default as the number of points asks for.
    label, title : str, optional
        What the colour is, and what the picture is.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(500, random_state=0)
    >>> ax = ub.plot.embedding(coordinates, coordinates[:, 0], label="arc length")
    >>> ax.get_aspect()
    1.0
    """
    y = embedding_of(Y)
    found = colours(color, clip, cmap)
    if found.values is not None and len(found.values) != len(y):
        raise ValueError(f"color has {len(found.values)} values, but the embedding has {len(y)} rows")
    return _drawn(y, found, ax, components, size, label, title, seams_of(Y, seams, len(y)))


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
    """Draw an embedding, each point coloured by its own error; the largest errors lie on top.

    Parameters
    ----------
    source : array-like of shape (n, q), or what was measured
        The data; or, without `Y`, a Faithfulness, a Quality or a fitted estimator, which hold the embedding.
    Y : array-like of shape (n, d), optional
        The embedding, if `source` are the data, or if it holds errors of another copy of it.
    measure : str, default "r_n"
        Which number: of a Faithfulness or the data "r", "r_n", "r_c", "r_pca", "bound", "overlap", "area" or
        "stretch" (the largest); of a Quality any of its means over points.
    n_neighbors, neighborhoods
        Of the data, as for :func:`unbend.faithfulness`.
    ax, components, cmap, clip, size, title
        As for :func:`embedding`. Errors over more than 1.5 decades are coloured by their logarithm.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(500, random_state=0)
    >>> ax = ub.plot.error(X, X[:, :2])
    >>> ax.figure.axes[1].get_ylabel()
    '$R_N$ at each point'
    """
    from ..metrics import faithfulness

    if hasattr(source, "per_point") or hasattr(source, "faithfulness_"):
        y = embedding_of(source if Y is None else Y)
    elif Y is None:
        raise ValueError("Y is missing: give the embedding, or what unbend.faithfulness returns")
    else:
        y = embedding_of(Y)
        source = faithfulness(source, y, n_neighbors, neighborhoods=neighborhoods)
    values, centers = errors_of(source, measure)
    spread = np.full(len(y), np.nan)
    spread[centers] = values
    found = colours(spread, clip, cmap, log=None)
    return _drawn(y, found, ax, components, size, f"{_symbol(measure)} at each point", title)


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
    r"""Draw several embeddings of the same data side by side, in the same colours.

    Parameters
    ----------
    embeddings : Comparison, or mapping of str to embedding
        Each as for :func:`embedding`, with the seams of fitted estimators. Of a Comparison the order is kept,
        the best first, and titles say the measure by which it was ordered.
    color : array-like of shape (n,), optional
        Of the points, in all pictures.
    measure : str, optional
        Instead: colour each point by its own error, on one scale for all. Needs what was measured.
    ax : array of Axes, optional
        At least as many as there are embeddings.
    columns : int, optional
        Pictures beside each other.
    cmap, clip, size, label
        As for :func:`embedding`.

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
    axes = _places(ax, list(clouds.values()), columns)
    found = _shared(embeddings, color, measure, clouds, clip, cmap)
    held = embeddings.values()
    for place, (name, y), one, source in zip(axes, clouds.items(), found, held, strict=True):
        drawn = _cloud(place, y, one, None, size, seams_of(source, "auto", len(y)))
        place.set_title(name + _verdict(embeddings, name), fontsize=11)
    found[0].explain(axes, drawn, label if measure is None else f"{_symbol(measure)} at each point")
    return axes


def correlation_circle(
    source: Any,
    X: Any = None,
    *,
    ax: Axes | None = None,
    components: tuple[int, int] = (0, 1),
    names: Any = None,
) -> Axes:
    """Draw the correlations of variables with two components of an embedding, as arrows in a circle.

    Arrows that reach the circle are variables which these two components show completely, if the components
    are uncorrelated; those in one direction rise together, opposite ones against each other.

    Parameters
    ----------
    source : PCA, or an embedding
        A fitted :class:`unbend.PCA`, or an embedding as for :func:`embedding`.
    X : array-like of shape (n, q), optional
        The variables; needed unless `source` is a PCA. Few: every one is an arrow with its name.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    components : pair of int, default (0, 1)
        Which components.
    names : sequence of str, optional
        Of the variables; by default the columns of a data frame, or x0, x1, ...

    Returns
    -------
    Axes

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(500, random_state=0)
    >>> ax = ub.plot.correlation_circle(coordinates, X)
    >>> [text.get_text() for text in ax.texts if text.get_text()]
    ['x0', 'x1', 'x2']
    """
    pyplot()
    if X is None:
        if not hasattr(source, "plot_circle"):
            raise ValueError("X is missing: the variables whose correlations with the embedding are drawn")
        drawn: Axes = source.plot_circle(ax, components=components, names=names)
        return drawn
    from ..core.arrays import as_points
    from ..estimators.linear import _draw_circle

    x, y = as_points(X), embedding_of(source)
    if len(x) != len(y):
        raise ValueError(f"X has {len(x)} rows, but the embedding has {len(y)}")
    known = getattr(X, "columns", None)
    default = [f"x{place}" for place in range(x.shape[1])] if known is None else map(str, known)
    named = list(default if names is None else names)
    if len(named) != x.shape[1]:
        raise ValueError(f"names has {len(named)} entries, but X has {x.shape[1]} columns")
    pair = _columns(y, components)
    return _draw_circle(ax, _correlations(x, pair), named, [f"component {c + 1}" for c in components])


def _correlations(x: Any, y: Array) -> Array:
    centred = [(part - part.mean(axis=0)) for part in (x.astype(np.float64), y)]
    left, right = (
        np.divide(c, norm, out=np.zeros_like(c), where=norm > 0) for c in centred for norm in [_norms(c)]
    )
    return np.asarray(left.T @ right)


def _norms(c: Array) -> Array:
    return np.asarray(np.linalg.norm(c, axis=0))


# Drawing -------------------------------------------------------------------------------------------------


def _drawn(
    y: Array,
    found: Colours,
    ax: Axes | None,
    components: tuple[int, ...] | None,
    size: float | None,
    label: str | None,
    title: str | None,
    seams: list[Seam] | None = None,
) -> Axes:
    place = axes_for(ax, _columns(y, components or (0, 1)[: y.shape[1]]), bar=found.values is not None)
    found.explain(place, _cloud(place, y, found, components, size, seams), label)
    if title is not None:
        place.set_title(title)
    return place


def _cloud(
    ax: Any,
    y: Array,
    found: Colours,
    components: tuple[int, ...] | None,
    size: float | None,
    seams: list[Seam] | None = None,
) -> Any:
    """Draw the dots on axes; those without a value are grey and lie below, seams above."""
    wanted = (0, 1, 2) if ax.name == "3d" else (0, 1)
    shown = _columns(y, components or wanted[: y.shape[1]])
    if shown.shape[1] == 1:
        shown = np.column_stack([shown, np.zeros(len(shown))])
    looks = dots(len(y), ax, size)
    order = found.order(len(y))
    if found.values is not None and not found.names:
        missing = np.isnan(found.values)
        if missing.any():
            ax.scatter(*shown[missing].T, color=FAINT, **looks)
        order = order[~missing[order]]
    plain = {"color": FAINT} if seams and found.values is None else found.of(order)
    drawn = ax.scatter(*shown[order].T, **plain, **looks)
    draw_seams(ax, shown, seams or (), looks["s"])
    frame(ax)
    if y.shape[1] == 1:
        ax.set_aspect("auto")
        ax.set_yticks([])
    return drawn


def _columns(y: Array, components: tuple[int, ...]) -> Array:
    bad = [c for c in components if not 0 <= c < y.shape[1]]
    if bad:
        raise ValueError(f"component {bad[0]} is out of range: the embedding has {y.shape[1]}")
    return np.asarray(y[:, list(components)])


def _places(ax: Any, clouds: list[Array], columns: int | None) -> npt.NDArray[Any]:
    """Return axes in the proportions that most of the clouds have."""
    count = len(clouds)
    if ax is not None:
        given = np.ravel(np.array(ax, dtype=object))
        if len(given) < count:
            raise ValueError(f"ax holds {len(given)} axes, but there are {count} embeddings")
        return given[:count]
    wide = columns or min(count, 3 if count != 4 else 2)
    high = math.ceil(count / wide)
    shapes = [np.ptp(y[:, :2], axis=0) + 1e-300 for y in clouds]
    ratio = float(np.clip(np.median([shape[-1] / shape[0] for shape in shapes]), *PROPORTIONS))
    size = (3.6 * wide + 1, (3.4 * ratio + 0.8) * high)
    _, made = pyplot().subplots(high, wide, figsize=size, layout="constrained", squeeze=False)
    for unused in made.ravel()[count:]:
        unused.remove()
    return np.asarray(made.ravel()[:count])


def _shared(
    embeddings: Mapping[Any, Any],
    color: Any,
    measure: str | None,
    clouds: Mapping[str, Array],
    clip: tuple[float, float],
    cmap: Any,
) -> list[Colours]:
    """Return the colours of each embedding, on one scale."""
    if measure is None:
        found = colours(color, clip, cmap)
        for name, y in clouds.items():
            if found.values is not None and len(found.values) != len(y):
                raise ValueError(f"color has {len(found.values)} values, but {name} has {len(y)} rows")
        return [found] * len(clouds)
    spread = []
    for one, y in zip(embeddings.values(), clouds.values(), strict=True):
        values, centers = errors_of(one, measure)
        spread.append(np.full(len(y), np.nan))
        spread[-1][centers] = values
    whole = colours(np.concatenate(spread), clip, cmap, log=None)
    return [Colours(values, whole.norm, whole.cmap, extend=whole.extend) for values in spread]


def _verdict(embeddings: Any, name: str) -> str:
    by = getattr(embeddings, "by", None)
    if by is None:
        return ""
    return f"\n{_symbol(by)} {embeddings[name][by].value:.3g}"


def _symbol(measure: str | None) -> str:
    """Return how a measure is written in a picture."""
    own = {
        "r": "$R$",
        "r_pca": "$R_{PCA}$",
        "bound": "lower bound",
        "stretch": "largest stretch",
        "area": "area",
    }
    if measure in own:
        return own[measure]
    symbol = MEASURES[measure].symbol if measure in MEASURES else str(measure)
    head, _, tail = symbol.partition("_")
    return (
        f"${head}_{tail}$"
        if len(tail) == 1
        else f"${head}_{{{tail}}}$"
        if tail and " " not in tail
        else symbol
    )
