"""Numbers against the number of neighbours, the dimension, and each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .canvas import CATEGORIES, axes_for, embedding_of, pyplot
from .scatter import _symbol

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["r_nx", "scree", "shepard", "versus_k"]

Array = npt.NDArray[np.float64]

PAIRS = 100_000
MARKERS = "osD^vP*X<>"
STRIPES = {"fragmented": "#d9e8f6", "short_circuited": "#fbe3c9"}
DECADES = 1.0
"""Curves over more decades are drawn on a logarithmic scale."""


def r_nx(found: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how well neighbours are kept, beyond chance, against how many: R_NX(k), with the area below it.

    1 is perfect and 0 is an embedding at random. On the logarithmic axis the left shows near neighbours, the
    right the shape of the whole; the area counts near ones most.

    Parameters
    ----------
    found : Ranks, Quality or Comparison, or mapping of str to Ranks or Quality
        What :func:`unbend.metrics.ranks`, :func:`unbend.quality` or :func:`unbend.compare` returned.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(500, random_state=0)
    >>> ax = ub.plot.r_nx({"truth": ub.metrics.ranks(X, coordinates, 50)})
    >>> len(ax.lines[1].get_xdata()), ax.get_xscale()
    (50, 'log')
    """
    from ..judge.quality import Quality
    from ..metrics import Ranks

    named = {"": found} if isinstance(found, Ranks | Quality) else found
    if not isinstance(named, Mapping) or not named:
        raise ValueError(
            f"a {type(found).__name__} has no ranks: give a Ranks, a Quality, or several by name"
        )
    place: Any = axes_for(ax)
    place.axhline(0, color="0.75", linewidth=0.8, zorder=0)
    for (name, one), color in zip(named.items(), _cycle(), strict=False):
        ranks = getattr(one, "ranks", one)
        if not isinstance(ranks, Ranks):
            raise ValueError(f"{name or 'found'} has no ranks: measure 'ranks' as well")
        curve = np.atleast_1d(ranks.r_nx)
        area = f"area {ranks.auc:.3f}"
        label = f"{name}, {area}" if name else area
        place.plot(np.arange(1, len(curve) + 1), curve, color=color, label=label)
    place.set(xscale="log", xlabel="neighbours k", ylabel="$R_{NX}$: share kept, beyond chance")
    low = min(0.0, *(float(np.min(line.get_ydata())) for line in place.lines))
    place.set_ylim(low - 0.03, 1.03)
    return _finished(place)


def versus_k(
    selection: Any,
    measure: str = "r_n",
    *,
    ax: Axes | None = None,
    n_components: int | None = None,
    log: bool | None = None,
) -> Axes:
    """Draw a measure against the number of neighbours, one curve for each method, with the bound below.

    Curves are of what was embedded: of all numbers of neighbours if the selection is exhaustive.

    Stripes are numbers of neighbours whose graph falls apart (blue) or has short circuits (orange); a
    ring is what was chosen. Bars are 95 % intervals.

    Parameters
    ----------
    selection : Selection
        What :func:`unbend.select` returned.
    measure : str, default "r_n"
        "r_n", "r_c" and "m_l" are of the neighbourhoods of each k, so they rise with k and have a bound;
        "score", "overlap" and "torn" are of the same neighbourhoods for all k.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    n_components : int, optional
        Of which dimension; by default the one chosen.
    log : bool, optional
        Whether the measure has a logarithmic axis; by default where it spreads over more than a decade.

    Returns
    -------
    Axes

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
    place: Any = axes_for(ax)
    methods = dict.fromkeys(c.method for c in made)
    for method, color, marker in zip(methods, _cycle(), MARKERS * 2, strict=False):
        _draw_curve(place, [c for c in made if c.method == method], measure, color, marker)
    held = [value for line in place.lines for value in line.get_ydata()]
    if measure in ("r_n", "r_c"):
        sizes = list(selection.grids)
        # that of what was embedded is of as many points as its measures
        own = {c.n_neighbors: c["lower_bound"].value for c in made}
        bound = [own.get(k, selection.grids[k].bound[d - 1]) for k in sizes]
        place.plot(sizes, bound, color="0.2", linestyle="--", linewidth=1.2, label="lower bound", zorder=1)
        held += bound
    _draw_stripes(place, selection)
    best = selection.best
    if best.n_components == d:
        ring = {"s": 170, "facecolors": "none", "edgecolors": "0.1", "linewidths": 1.5, "zorder": 5}
        place.scatter([best.n_neighbors], [best[measure].value], label="chosen", **ring)
    positive = min(held) > 0
    if log or (log is None and positive and max(held) > 10**DECADES * min(held)):
        place.set_yscale("log")
    place.set(xlabel="neighbours k", ylabel=_symbol(measure))
    place.xaxis.get_major_locator().set_params(integer=True)
    return _finished(place)


def scree(found: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the least R_N that is possible against the dimension of the embedding; the bend is the dimension.

    Parameters
    ----------
    found : Dimension or Selection
        What :func:`unbend.dimension` or :func:`unbend.select` returned. Of a Selection every number of
        neighbours is a curve.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(800, random_state=0)
    >>> ax = ub.plot.scree(ub.dimension(X, random_state=0))
    >>> ax.lines[0].get_xdata().tolist()
    [1, 2, 3]
    """
    place: Any = axes_for(ax)
    of = getattr(found, "dimension", found)
    if hasattr(found, "grids"):
        shades = _shades(len(found.grids))
        for (k, one), color in zip(found.grids.items(), shades, strict=True):
            shown = k in (min(found.grids), max(found.grids))
            place.plot(*_steps(one.bound), color=color, marker=".", label=f"k = {k}" if shown else None)
    else:
        place.plot(*_steps(of.scree), color=CATEGORIES[0], marker="o", label=f"k = {of.n_neighbors}")
    place.axvline(of.value, color="0.4", linestyle=":", label=f"dimension {of.value}")
    place.set(xlabel="dimension d of the embedding", ylabel="least $R_N$ possible", ylim=(0, None))
    place.xaxis.get_major_locator().set_params(integer=True)
    return _finished(place)


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
    """Draw distances in the embedding against distances in the data, as a density of pairs.

    On the dashed line lengths are kept; a straight band beside it is another unit. A bent surface must leave
    the line: what is laid flat is farther apart than it was in space.

    Parameters
    ----------
    X : array-like of shape (n, q)
        The data.
    Y : array-like of shape (n, d), or what holds one
        The embedding.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    n_pairs : int, default 100,000
        How many pairs of points are drawn; of fewer points all pairs.
    gridsize : int, default 60
        How many hexagons lie side by side.
    cmap : str or Colormap, optional
        Of the counts, which are on a logarithmic scale.
    random_state : int, default 0
        Which pairs.
    title : str, optional
        By default the correlation of the distances drawn.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(300, random_state=0)
    >>> ax = ub.plot.shepard(X, X[:, [0, 2, 1]])
    >>> ax.get_title()
    'correlation 1.000'
    """
    from ..metrics.sampling import pair

    x, y = pair(X, embedding_of(Y), narrower=False)
    if len(x) < 2:
        raise ValueError("distances need at least 2 points")
    left, right = _pairs(len(x), n_pairs, random_state)
    near, far = (np.linalg.norm(p[left].astype(np.float64) - p[right], axis=1) for p in (x, y))
    place: Any = axes_for(ax)
    drawn = place.hexbin(
        near, far, gridsize=gridsize, bins="log", mincnt=1, cmap=cmap or "viridis", linewidths=0.1
    )
    most = float(min(near.max(), far.max()))
    place.plot([0, most], [0, most], color="0.1", linestyle="--", linewidth=1, label="lengths kept")
    place.set(
        xlim=(0, None), ylim=(0, None), xlabel="distance in the data", ylabel="distance in the embedding"
    )
    bar = place.figure.colorbar(drawn, ax=place, label="pairs")
    bar.outline.set_visible(False)
    place.set_title(f"correlation {_correlation(near, far):.3f}" if title is None else title)
    empty = "lower right" if np.median(far) > np.median(near) else "upper left"
    return _finished(place, loc=empty)


# Parts -----------------------------------------------------------------------------------------------------


def _cycle() -> list[str]:
    return [*CATEGORIES] * 10


def _shades(count: int) -> Any:
    pyplot()
    from matplotlib import colormaps

    return colormaps["viridis"](np.linspace(0, 0.85, count))


def _steps(bound: Array) -> tuple[list[int], Array]:
    return list(range(1, len(bound) + 1)), bound


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
    labels = {"fragmented": "falls apart", "short_circuited": "short circuits"}
    for name, label in labels.items():
        shade = {"color": STRIPES[name], "zorder": 0, "linewidth": 0}
        for place, k in enumerate(getattr(selection, name)):
            ax.axvspan(k - half, k + half, label=label if place == 0 else None, **shade)


def _pairs(n: int, count: int, seed: int | None) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    if n * (n - 1) // 2 <= count:
        left, right = np.triu_indices(n, 1)
        return left, right
    rng = np.random.default_rng(seed)
    left = rng.integers(n, size=count)
    return left, (left + rng.integers(1, n, size=count)) % n


def _correlation(a: Array, b: Array) -> float:
    a, b = a - a.mean(), b - b.mean()
    norm = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / norm if norm > 0 else float("nan")


def _finished(ax: Any, **legend: Any) -> Axes:
    ax.spines[["top", "right"]].set_visible(False)
    handles, _ = ax.get_legend_handles_labels()
    if handles:
        ax.legend(frameon=False, **legend)
    drawn: Axes = ax
    return drawn
