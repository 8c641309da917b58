"""Curves of measures over the number of neighbors, the dimension, and distances."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import Any

import numpy as np

from ..judge.quality import Quality
from ..metrics import Ranks
from ..metrics.sampling import pair
from .canvas import CATEGORIES, CONTINUOUS, Axes, axes_for, embedding_of, finished, picture, symbol_of

__all__ = ["r_nx", "scree", "shepard", "versus_k"]

PAIRS = 100_000
MARKERS = "osD^vP*X<>"
STRIPES = {
    "fragmented": ("falls apart", "#d9e8f6"),
    "short_circuited": ("short circuits", "#fbe3c9"),
}
DECADES = 1.0
"""Number of decades above which curves have a logarithmic scale."""


@picture
def r_nx(found: Any, *, ax: Axes | None = None) -> Axes:
    """Draw R_NX(k), the share of neighbors kept beyond chance, over k, with the area below it.

    1 is perfect and 0 is a random embedding. On the logarithmic axis the left shows near neighbors, and the
    right the shape of the whole; the area weighs near neighbors most.

    Parameters
    ----------
    found : Ranks, Quality or Comparison, or mapping of str to Ranks or Quality
        Results of :func:`unbend.metrics.ranks`, :func:`unbend.quality` or :func:`unbend.compare`.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(500, random_state=0)
    >>> ax = ub.plot.r_nx({"truth": ub.metrics.ranks(X, coordinates, 50)})
    >>> len(ax.lines[1].get_xdata()), ax.get_xscale()
    (50, 'log')
    """
    named = {"": found} if isinstance(found, Ranks | Quality) else found
    if not isinstance(named, Mapping) or not named:
        raise ValueError(
            f"a {type(found).__name__} has no ranks: give a Ranks, a Quality, or several by name"
        )
    place = axes_for(ax)
    place.axhline(0, color="0.75", linewidth=0.8, zorder=0)
    for (name, one), color in zip(named.items(), cycle(CATEGORIES), strict=False):
        ranks = getattr(one, "ranks", one)
        if not isinstance(ranks, Ranks):
            raise ValueError(f"{name or 'found'} has no ranks: measure 'ranks' as well")
        curve = np.atleast_1d(ranks.r_nx)
        area = f"area {ranks.auc:.3f}"
        label = f"{name}, {area}" if name else area
        place.plot(np.arange(1, len(curve) + 1), curve, color=color, label=label)
    place.set(xscale="log", xlabel="neighbors k", ylabel="$R_{NX}$: share kept, beyond chance")
    low = min(0.0, *(float(np.min(line.get_ydata())) for line in place.lines))
    place.set_ylim(low - 0.03, 1.03)
    return finished(place)


@picture
def versus_k(
    selection: Any,
    measure: str = "r_n",
    *,
    ax: Axes | None = None,
    n_components: int | None = None,
    log: bool | None = None,
) -> Axes:
    """Draw a measure over the number of neighbors, one curve for each method, with the lower bound.

    Curves show the embeddings that were made: those of all numbers of neighbors if the selection is
    exhaustive. Blue stripes are numbers of neighbors whose graph is not connected, orange ones those with
    short circuits. A ring marks the choice. Bars are 95 % intervals.

    Parameters
    ----------
    selection : Selection
        Result of :func:`unbend.select`.
    measure : str, default "r_n"
        "r_n", "r_c" and "m_l" belong to the neighborhoods of each k, so they rise with k and have a bound;
        "score", "overlap" and "torn" belong to the same neighborhoods for all k.
    n_components : int, optional
        Dimension of the embeddings; by default the one chosen.
    log : bool, optional
        If True, the measure has a logarithmic axis; by default it does above one decade.

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(800, random_state=0)
    >>> found = ub.select(X, [6, 9, 12], 2, methods=["gp"], exhaustive=True, random_state=0)
    >>> ax = ub.plot.versus_k(found)
    >>> ax.lines[0].get_xdata().tolist(), ax.get_legend_handles_labels()[1]
    ([6, 9, 12], ['gp', 'lower bound', 'chosen'])
    """
    d = selection.n_components if n_components is None else n_components
    made = [c for c in selection.candidates if c.error is None and c.n_components == d]
    if not made:
        raise ValueError(f"n_components = {d} was not tried")
    if measure not in made[0]:
        raise ValueError(f"{measure!r} was not measured: use one of {', '.join(made[0])}")
    place = axes_for(ax)
    looks = zip(cycle(CATEGORIES), cycle(MARKERS), strict=False)
    for method, (color, marker) in zip(dict.fromkeys(c.method for c in made), looks, strict=False):
        _draw_curve(place, [c for c in made if c.method == method], measure, color, marker)
    held = [value for line in place.lines for value in line.get_ydata()]
    if measure in ("r_n", "r_c"):
        # The bound of a candidate comes from the same points as its measures.
        bounds = {k: one.bound[d - 1] for k, one in selection.grids.items()}
        bounds |= {c.n_neighbors: c["lower_bound"].value for c in made}
        bound = list(bounds.values())
        place.plot(
            list(bounds), bound, color="0.2", linestyle="--", linewidth=1.2, label="lower bound", zorder=1
        )
        held += bound
    _draw_stripes(place, selection)
    best = selection.best
    if best.n_components == d:
        ring = {"s": 170, "facecolors": "none", "edgecolors": "0.1", "linewidths": 1.5, "zorder": 5}
        place.scatter([best.n_neighbors], [best[measure].value], label="chosen", **ring)
    if log or (log is None and min(held) > 0 and max(held) > 10**DECADES * min(held)):
        place.set_yscale("log")
    place.set(xlabel="neighbors k", ylabel=symbol_of(measure))
    place.xaxis.get_major_locator().set_params(integer=True)
    return finished(place)


@picture
def scree(found: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the smallest possible R_N over the dimension of the embedding; the bend is the dimension.

    Parameters
    ----------
    found : Dimension or Selection
        Result of :func:`unbend.dimension` or :func:`unbend.select`. A Selection has a curve for every number
        of neighbors.

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(800, random_state=0)
    >>> ax = ub.plot.scree(ub.dimension(X, random_state=0))
    >>> ax.lines[0].get_xdata().tolist()
    [1, 2, 3]
    """
    place = axes_for(ax)
    of = getattr(found, "dimension", found)
    if hasattr(found, "grids"):
        from matplotlib import colormaps

        shades = colormaps[CONTINUOUS](np.linspace(0, 0.85, len(found.grids)))
        curves = [
            (k, one.bound, color, ".") for (k, one), color in zip(found.grids.items(), shades, strict=True)
        ]
    else:
        curves = [(of.n_neighbors, of.scree, CATEGORIES[0], "o")]
    for number, (k, bound, color, marker) in enumerate(curves):
        label = f"k = {k}" if number in (0, len(curves) - 1) else None
        place.plot(range(1, len(bound) + 1), bound, color=color, marker=marker, label=label)
    place.axvline(of.value, color="0.4", linestyle=":", label=f"dimension {of.value}")
    place.set(xlabel="dimension d of the embedding", ylabel="least $R_N$ possible", ylim=(0, None))
    place.xaxis.get_major_locator().set_params(integer=True)
    return finished(place)


@picture
def shepard(
    X: Any,
    Y: Any,
    *,
    ax: Axes | None = None,
    n_pairs: int = PAIRS,
    gridsize: int = 60,
    cmap: Any = None,
    random_state: int | None = 0,
    title: str | None = None,
) -> Axes:
    """Draw distances in the embedding over distances in the data, as a density of pairs.

    On the dashed line lengths are kept; a straight band elsewhere is another unit. A bent surface must leave
    the line: points of the flat embedding are farther apart than in space.

    Parameters
    ----------
    n_pairs : int, default 100,000
        Number of pairs of points to draw; all pairs if there are no more.
    gridsize : int, default 60
        Number of hexagons in a row.
    random_state : int, default 0
        Seed of the pairs.
    title : str, optional
        Title of the picture; by default the correlation of the distances drawn.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(300, random_state=0)
    >>> ax = ub.plot.shepard(X, X[:, [0, 2, 1]])
    >>> ax.get_title()
    'correlation 1.000'
    """
    x, y = pair(X, embedding_of(Y), narrower=False)
    if len(x) < 2:
        raise ValueError("distances need at least 2 points")
    left, right = _pairs(len(x), n_pairs, random_state)
    near, far = (np.linalg.norm(p[left].astype(np.float64) - p[right], axis=1) for p in (x, y))
    place = axes_for(ax)
    looks = {"gridsize": gridsize, "cmap": cmap or CONTINUOUS, "linewidths": 0.1}
    drawn = place.hexbin(near, far, bins="log", mincnt=1, **looks)
    most = float(min(near.max(), far.max()))
    place.plot([0, most], [0, most], color="0.1", linestyle="--", linewidth=1, label="lengths kept")
    place.set(xlim=(0, None), ylim=(0, None))
    place.set(xlabel="distance in the data", ylabel="distance in the embedding")
    place.figure.colorbar(drawn, ax=place, label="pairs").outline.set_visible(False)
    empty = "lower right" if np.median(far) > np.median(near) else "upper left"
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = f"correlation {np.corrcoef(near, far)[0, 1]:.3f}"
    return finished(place, correlation if title is None else title, loc=empty)


# Parts -----------------------------------------------------------------------------------------------------


def _draw_curve(ax: Any, made: list[Any], measure: str, color: str, marker: str) -> None:
    sizes = [c.n_neighbors for c in made]
    values = np.array([c[measure].value for c in made])
    ends = np.array([c[measure].interval for c in made])
    ax.plot(sizes, values, color=color, marker=marker, markersize=5, label=made[0].method, zorder=3)
    finite = np.isfinite(ends).all(axis=1) & (ends[:, 1] > ends[:, 0])
    if finite.any():
        ax.vlines(np.array(sizes)[finite], *ends[finite].T, color=color, linewidth=1, zorder=2)


def _draw_stripes(ax: Any, selection: Any) -> None:
    sizes = np.array(list(selection.grids))
    half = np.diff(sizes).min(initial=2) / 2
    for name, (label, color) in STRIPES.items():
        for place, k in enumerate(getattr(selection, name)):
            shown = label if place == 0 else None
            ax.axvspan(k - half, k + half, label=shown, color=color, zorder=0, linewidth=0)


def _pairs(n: int, count: int, seed: int | None) -> tuple[Any, Any]:
    if n * (n - 1) // 2 <= count:
        left, right = np.triu_indices(n, 1)
        return left, right
    rng = np.random.default_rng(seed)
    left = rng.integers(n, size=count)
    return left, (left + rng.integers(1, n, size=count)) % n
