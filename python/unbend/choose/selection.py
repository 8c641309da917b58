"""Number of neighbours, dimension and method, chosen by what comes out (Goldberg & Ritov 2009, section 6)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..core.arrays import as_count, as_points
from ..core.jsonable import finite
from ..core.progress import Callback, Progress, Stopped
from ..core.random import RandomState, seed_from
from ..graph.neighbors import Neighborhoods, resolve
from ..graph.neighbors import neighborhoods as find_neighborhoods
from ..judge.measures import MEASURES, Value
from ..judge.quality import pandas, wrapped
from ..metrics.sampling import interval, standard_error
from .dimension import Dimension, dimension
from .sweep import INTERRUPTIONS, WIDER, Candidate, Grid, Key, Sweep, described, prototypes

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Candidate", "Grid", "Selection", "select"]

SIZES = tuple(range(6, 25, 2))
CENTERS = 2000

RULE = """\
d is the dimension of the data, or the nearest to it of those asked for. Of the embeddings in d \
dimensions those do not count whose neighbourhood graph falls into more pieces than that of the most \
neighbours, or has short circuits, unless all do. The score is {symbol}, at most 1 at each point, plus \
overlap, on the same neighbourhoods for all: twice the largest, or the largest without short circuits; \
here those of k = {common}. Of the embeddings whose score is within {same:.0%} of the least, or within \
{near:.0%} and not surely worse (95 %, at the same points), the one with the fewest neighbours is chosen, \
by the method named first. Embeddings that cannot be chosen by this need not be made: those in other \
dimensions, those that do not count, and all that are left once the score of the choice is within \
{same:.0%} of the lower bound, the least that there can be."""
"""How a selection is made."""

STAGES = ("neighbours", "dimension", "graphs")

SAME, NEAR = 0.02, 0.1
"""Scores are the same that differ by less than this share, or by less than that if a sample cannot tell."""

ROUNDING = 1e-20
"""Scores below this are rounding: all such embeddings are perfect."""

_COLUMNS = ("r_n", "lower_bound", "r_c", "m_l", "overlap", "torn", "score")
_HEADS = ("R_N", "bound", "R_C", "M_L", "overlap", "torn", "score")


@dataclass(frozen=True, eq=False)
class Selection:
    """Embeddings for several numbers of neighbours, dimensions and methods, and a choice; prints as a table.

    Attributes
    ----------
    candidates : tuple of Candidate
        All embeddings made so far, in order.
    left_out : tuple of (str, int, int)
        Method, k and d of those asked for that were not made. Those of a complete sweep could not have been
        chosen; ``select(..., exhaustive=True, resume=selection)`` makes them.
    grids : mapping of int to Grid
        For each number of neighbours what its graph is like.
    dimension : Dimension
        What dimension the data have.
    n_points, dim : int
        Of the data.
    common : int
        The size of the neighbourhoods on which all are scored.
    methods : tuple of str
        The names of the methods, as they were given.
    by : str
        The measure in the score.
    n_centers : int
        At how many points embeddings are measured.
    seed : int
        Where they were drawn from.
    complete : bool
        False if the sweep was interrupted. ``select(..., resume=selection)`` goes on.
    timings : dict of float
        The seconds that went into the "neighbours", the "dimension", the "graphs" and what is wrong with
        them, the "embeddings", and their "measures"; of the last call, where a sweep was resumed.
    model : estimator or None
        The fitted estimator of the embedding chosen, with `transform` and `save`.

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(1500, random_state=0)
    >>> found = ub.select(X, [8, 12, 80], random_state=0)
    >>> found.n_components, found.grids[80].short_circuited, found.n_neighbors < 80
    (2, True, True)
    >>> found.model.embedding_.shape
    (1500, 2)
    """

    candidates: tuple[Candidate, ...] = field(repr=False)
    left_out: tuple[Key, ...] = field(repr=False)
    grids: Mapping[int, Grid] = field(repr=False)
    dimension: Dimension
    n_points: int
    dim: int
    common: int
    methods: tuple[str, ...]
    by: str
    n_centers: int
    seed: int
    complete: bool
    timings: Mapping[str, float] = field(repr=False)
    model: Any = field(repr=False)
    _digest: str = field(repr=False)
    _models: Mapping[str, str] = field(repr=False)

    @property
    def best(self) -> Candidate:
        """The embedding chosen."""
        return chosen(self.candidates, self.grids, self.dimension.value, self.methods)

    @property
    def n_components(self) -> int:
        """The dimension chosen."""
        return self.best.n_components

    @property
    def n_neighbors(self) -> int:
        """The number of neighbours chosen."""
        return self.best.n_neighbors

    @property
    def method(self) -> str:
        """The name of the method chosen."""
        return self.best.method

    @property
    def embedding(self) -> npt.NDArray[np.float64]:
        """The embedding chosen, of shape (n, d)."""
        return np.asarray(self.best.embedding)

    @property
    def rule(self) -> str:
        """How the choice is made."""
        return RULE.format(symbol=MEASURES[self.by].symbol, common=self.common, same=SAME, near=NEAR)

    @property
    def short_circuited(self) -> list[int]:
        """Numbers of neighbours that are too large: they join what is far apart."""
        return [k for k, grid in self.grids.items() if grid.short_circuited]

    @property
    def fragmented(self) -> list[int]:
        """Numbers of neighbours that are too small: the graph falls apart."""
        return [k for k, grid in self.grids.items() if grid.fragmented]

    def to_dict(self) -> dict[str, Any]:
        """Return all but the arrays, ready for JSON: what is not finite is None."""
        best = self.best
        return {
            "n_points": self.n_points,
            "chosen": {
                "method": best.method,
                "n_neighbors": best.n_neighbors,
                "n_components": best.n_components,
            },
            "rule": self.rule,
            "by": self.by,
            "common": self.common,
            "n_centers": self.n_centers,
            "seed": self.seed,
            "complete": self.complete,
            "short_circuited": self.short_circuited,
            "fragmented": self.fragmented,
            "dimension": self.dimension.to_dict(),
            "grids": [finite(grid.to_dict()) for grid in self.grids.values()],
            "candidates": [candidate.to_dict() for candidate in self.candidates],
            "left_out": [list(key) for key in self.left_out],
            "timings": dict(self.timings),
        }

    def to_json(self) -> str:
        """Return all but the arrays as JSON; what is not finite is null."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with a row for each embedding."""
        best = self.best.key
        rows = []
        for c in self.candidates:
            grid = self.grids[c.n_neighbors]
            row: dict[str, Any] = {"method": c.method, "n_neighbors": c.n_neighbors}
            row |= {"n_components": c.n_components, **{name: value.value for name, value in c.items()}}
            if c.error is None:
                row |= {"score_low": c["score"].interval[0], "score_high": c["score"].interval[1]}
            row |= {"fragmented": grid.fragmented, "short_circuited": grid.short_circuited}
            rows.append(row | {"seconds": c.seconds, "error": c.error, "chosen": c.key == best})
        return pandas().DataFrame(rows)

    def __str__(self) -> str:
        """Return the table, and what was chosen by which rule."""
        lines = [*self._header(), "", *self._rows(), "", *self._notes()]
        return "\n".join([*lines, "", *wrapped(self._choice()), *wrapped(f"Rule: {self.rule}")])

    def _header(self) -> Iterator[str]:
        yield f"{self.n_points:,} points of {self.dim:,} dimensions, {self.n_centers:,} measured"
        yield str(self.dimension)
        k = self.n_neighbors
        said = ", ".join(f"{bound:.2g}" for bound in self.grids[k].bound[:6])
        yield from wrapped(f"least R_N in 1, 2, ... dimensions, k = {k}: {said}")

    def _rows(self) -> Iterator[str]:
        unsure = self.n_centers < self.n_points
        heads = "".join(f"{head:>9}" for head in _HEADS)
        yield f"  {'method':<7}{'k':>3}{'d':>3}{heads}{'± 95 %' if unsure else '':>9}{'s':>7}".rstrip()
        best = self.best.key
        for c in self.candidates:
            mark = ">" if c.key == best else self._mark(c.n_neighbors)
            yield f"{mark} {c.method[:6]:<7}{c.n_neighbors:>3}{c.n_components:>3}{_numbers(c, unsure)}"

    def _mark(self, k: int) -> str:
        return "-" if self.grids[k].fragmented else "x" if self.grids[k].short_circuited else " "

    def _notes(self) -> Iterator[str]:
        yield from wrapped(
            f"> chosen. R_N, bound, R_C and M_L are on neighbourhoods of k, the others of k = {self.common}."
        )
        for k in self.fragmented:
            grid = self.grids[k]
            yield from wrapped(
                f"- k = {k} is too small: {grid.n_pieces:,} pieces, {grid.outside:.2g} of all "
                "points outside the largest."
            )
        for k in self.short_circuited:
            share = self.grids[k].short_circuits
            yield from wrapped(f"x k = {k} is too large: {share:.1%} of its neighbours are short circuits.")
        made, total = len(self.candidates), len(self.candidates) + len(self.left_out)
        if not self.complete:
            yield f"Interrupted: {made} of {total} embeddings were made."
        elif made < total:
            yield from wrapped(
                f"{made} of {total} embeddings were made: the others could not have been chosen "
                "(exhaustive = True makes all)."
            )

    def _choice(self) -> str:
        best = self.best
        low, high = best["score"].interval
        return (
            f"Chosen: {best.method}, k = {best.n_neighbors}, d = {best.n_components}, "
            f"score {best['score'].value:.4g}"
            + (f" ({low:.4g} to {high:.4g})" if high > low else "")
            + f", where {best['least'].value:.4g} is the least that there can be."
        )


def select(
    X: Any,
    n_neighbors: int | Iterable[int] | None = None,
    n_components: int | Iterable[int] | None = None,
    methods: Any = ("gp", "psa"),
    *,
    exhaustive: bool = False,
    by: str = "r_n",
    neighborhoods: Neighborhoods | None = None,
    n_centers: int = CENTERS,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    callback: Callback | None = None,
    resume: Selection | None = None,
) -> Selection:
    """Choose the number of neighbours, the dimension and the method by what comes out.

    Neighbours are found once, for twice the largest number; smaller neighbourhoods are the beginnings of its
    lists.
    Every embedding is measured at the same points. How the choice is made is in `Selection.rule`. Fewer
    neighbours are tried first, in the likeliest dimension; what cannot be chosen any more is not embedded.

    Ctrl-C, or a callback that returns True, ends the sweep: what has been made by then is returned, with
    `complete` False, and `resume` goes on from there. Before there is any embedding it raises.

    Parameters
    ----------
    X : array-like of shape (n, q)
        The data.
    n_neighbors : int or iterable of int, default 6, 8, ..., 24
        The numbers of neighbours k.
    n_components : int or iterable of int, optional
        The dimensions d; by default the dimension of the data alone, as :func:`dimension` finds it.
    methods : sequence of str, or mapping of str to estimator
        "gp", "psa", "isomap", and those that normalise, which are rectified: "lle", "mlle", "ltsa", "hlle",
        "lem", "dfm". Or unfitted estimators by any names, with whatever parameters.
    exhaustive : bool, default False
        Whether to make all embeddings, for a table or a curve, though some cannot be chosen.
    by : {"r_n", "r_n_scaled", "r_c"}
        What the score is made of, besides overlap.
    neighborhoods : Neighborhoods, optional
        Those already computed, with distances and at least as many neighbours as the largest k; better twice
        as many, for the scores.
    n_centers : int, default 2000
        At how many points to measure; of fewer points all are measured.
    random_state : int, Generator or RandomState, optional
        Which are drawn, and where methods start.
    n_jobs : int, optional
        Number of threads; all by default. The result is the same for any number.
    verbose : int, default 0
        1 shows a line for each embedding on standard error.
    callback : callable, optional
        Called as ``callback(embedding, done, total, best)`` about every 20 ms, with the name of the embedding
        that is being made, how many are done, of how many, and the best score so far.
    resume : Selection, optional
        What an earlier call with the same data and settings returned: interrupted, not exhaustive, or with
        other methods or dimensions. The seed is taken from it.

    Returns
    -------
    Selection

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(1500, random_state=0)
    >>> found = ub.select(X, range(6, 13, 3), 2, random_state=0)
    >>> found.best["score"].value < 0.02
    True
    """
    x = as_points(X)
    sizes = _counts(n_neighbors, SIZES, "n_neighbors", len(x) - 1)
    if by not in ("r_n", "r_n_scaled", "r_c"):
        raise ValueError(f"by = {by!r} is unknown: use 'r_n', 'r_n_scaled' or 'r_c'")
    models, watch = prototypes(methods), Progress(verbose, callback)
    with watch.stage("neighbours"):
        widest = _widest(x, sizes, neighborhoods, n_jobs)
    sweep = Sweep(
        x,
        widest,
        sizes,
        by,
        min(as_count(n_centers, "n_centers"), len(x)),
        resume.seed if resume is not None else seed_from(random_state),
        n_jobs,
    )
    with watch.stage("dimension"):
        found = dimension(x, neighborhoods=widest, random_state=sweep.seed, n_jobs=n_jobs)
    with watch.stage("graphs"):
        sweep.prepare()
    dimensions = _counts(n_components, (min(found.value, x.shape[1]),), "n_components", x.shape[1])
    run = _Run(sweep, models, found, dimensions, watch, exhaustive)
    if resume is not None:
        run.resume(resume)
    return run.selection(run.finish())


def _widest(x: Any, sizes: tuple[int, ...], given: Neighborhoods | None, n_jobs: int | None) -> Neighborhoods:
    """Return neighbourhoods as large as scores are taken on, or the largest that were given."""
    wide = min(WIDER * sizes[-1], len(x) - 1)
    if given is None:
        return find_neighborhoods(x, wide, n_jobs=n_jobs)
    graph = resolve(x, given, None, None, n_jobs)
    if graph.distances is None or len(graph) != len(x):
        raise ValueError(f"neighborhoods must be those of the {len(x):,} points, with their distances")
    if graph.n_neighbors is None or graph.n_neighbors < sizes[-1]:
        raise ValueError(f"neighborhoods must hold at least {sizes[-1]} neighbours for every point")
    return graph.nearest(min(wide, graph.n_neighbors))


def _counts(asked: Any, default: tuple[int, ...], name: str, most: int) -> tuple[int, ...]:
    """Return whole numbers in rising order, each once; those of the default that are possible."""
    if asked is None:
        return tuple(size for size in default if size <= most) or (most,)
    listed = sorted({as_count(one, name) for one in (asked if isinstance(asked, Iterable) else [asked])})
    if not listed:
        raise ValueError(f"{name} is empty: at least 1 is needed")
    if listed[-1] > most:
        raise ValueError(f"{name} = {listed[-1]} is too large: these data allow at most {most}")
    return tuple(listed)


# The sweep -------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Run:
    """A sweep under way."""

    sweep: Sweep
    models: Mapping[str, Any]
    dimension: Dimension
    dimensions: tuple[int, ...]
    watch: Progress
    exhaustive: bool
    made: list[Candidate] = field(default_factory=list)
    held: tuple[Key, Any] | None = None
    """The model of the best."""

    @cached_property
    def tasks(self) -> list[Key]:
        """All embeddings asked for, those that are likelier to be chosen first: see `_rank`."""
        every = [(name, k, d) for d in self.dimensions for k in self.sweep.sizes for name in self.models]
        return sorted(every, key=self._order)

    def _order(self, task: Key) -> tuple[int, ...]:
        """Return what comes first, and is chosen of those that are as good."""
        name, k, _ = task
        return (*self._rank(task), k, list(self.models).index(name))

    def _rank(self, task: Key) -> tuple[int, int, bool]:
        """Return what comes first: the nearest dimension; of it what is not flagged.

        The choice is among the embeddings of the first rank of which there are any.
        """
        _, k, d = task
        return (*_apart(d, self.dimension.value), _is_flagged(self.sweep.grids[k]))

    def resume(self, before: Selection) -> None:
        """Take over what an interrupted sweep has made."""
        if before._digest != self.sweep.digest:
            raise ValueError("resume is a selection of other data, or with other settings")
        known = described(self.models)
        other = next((name for name, told in before._models.items() if known.get(name, told) != told), None)
        if other is not None:
            raise ValueError(
                f"resume has embeddings by another {other!r}: {before._models[other]}, not {known[other]}"
            )
        wanted = set(self.tasks)
        self.made = [c for c in before.candidates if c.key in wanted]
        if before.model is not None and before.best.key in wanted:
            self.held = before.best.key, before.model

    def finish(self) -> bool:
        """Make what is missing; return whether nothing came between."""
        known = {c.key for c in self.made}
        try:
            for task in self.tasks:
                if task not in known and (self.exhaustive or self._can_be_chosen(task)):
                    self._add(*task)
            if any(c.error is None for c in self.made):
                self._hold()
        except INTERRUPTIONS:
            if not any(c.error is None for c in self.made):
                raise
            return False
        return True

    def _can_be_chosen(self, task: Key) -> bool:
        """Return whether the rule could choose an embedding that is not made yet, however good it is."""
        made = [c for c in self.made if c.error is None]
        if not made:
            return True
        best = self._best()
        if self._order(task) < self._order(best.key):
            return True
        return self._rank(task) == self._rank(best.key) and not self._is_settled(best, made)

    def _is_settled(self, best: Candidate, made: list[Candidate]) -> bool:
        """Return whether the choice stays what it is if what follows is as good as can be.

        Nothing that follows is so much better that the choice would not be as good. But beside another least
        a sample may not tell that one before the choice is worse.
        """
        before = [c for c in made if self._order(c.key) < self._order(best.key)]
        unsure = best["score"].half_width > 0 and any(_is_near(c["score"], best["score"]) for c in before)
        return _is_least(best) and not unsure

    def _add(self, name: str, k: int, d: int) -> None:
        model, candidate = self._embed(name, k, d)
        self.made.append(candidate)
        if candidate.error is None:
            best = self._best()
            self.watch.best = best["score"].value
            if best.key == candidate.key:
                self.held = best.key, model

    def _embed(self, name: str, k: int, d: int) -> tuple[Any, Candidate]:
        label = f"{name}, k = {k}, d = {d}"
        done, total = len(self.made), len(self.tasks)

        def ask(*_: Any) -> bool:
            return self.watch.report(label, done, total)

        with self.watch.stage(label):
            if ask():
                raise Stopped(f"the callback stopped the sweep at {label}")
            found = self.sweep.embed(name, self.models[name], k, d, ask)
            if ask():  # a refinement that is stopped returns what it has: not what was asked for
                raise Stopped(f"the callback stopped the sweep at {label}")
        return found

    def _hold(self) -> None:
        """Fit the best once more if its model is not at hand: where a later one made it the best."""
        best = self._best()
        if self.held is None or self.held[0] != best.key:
            self.held = best.key, self._embed(*best.key)[0]

    def _best(self) -> Candidate:
        return chosen(self.made, self.sweep.grids, self.dimension.value, tuple(self.models))

    def selection(self, complete: bool) -> Selection:
        """Return what there is."""
        sweep = self.sweep
        if not any(c.error is None for c in self.made):
            raise ValueError(f"no embedding could be made: {self.made[0].error}")
        made = {c.key for c in self.made}
        held = self.held if self.held is not None and self.held[0] == self._best().key else None
        return Selection(
            candidates=tuple(sorted(self.made, key=lambda c: self._row(c.key))),
            grids=sweep.grids,
            dimension=self.dimension,
            n_points=len(sweep.x),
            left_out=tuple(task for task in self.tasks if task not in made),
            dim=sweep.x.shape[1],
            common=int(sweep.common.n_neighbors or 0),
            methods=tuple(self.models),
            by=sweep.by,
            n_centers=len(sweep.centers),
            seed=sweep.seed,
            complete=complete,
            timings=self._timings(),
            model=None if held is None else held[1],
            _digest=sweep.digest,
            _models=described(self.models),
        )

    def _row(self, key: Key) -> tuple[int, ...]:
        """Return where an embedding stands in the table: those in the nearest dimension first."""
        name, k, d = key
        return (*_apart(d, self.dimension.value), k, list(self.models).index(name))

    def _timings(self) -> dict[str, float]:
        return {stage: self.watch.timings[stage] for stage in STAGES} | self.sweep.seconds


# The choice ------------------------------------------------------------------------------------------------


def chosen(
    candidates: Iterable[Candidate], grids: Mapping[int, Grid], dimension: int, methods: Sequence[str]
) -> Candidate:
    """Return the candidate that the rule chooses; methods in the order in which they are named."""
    made = [c for c in candidates if c.error is None]
    d = nearest_to(dimension, [c.n_components for c in made])
    flat = [c for c in made if c.n_components == d]
    sound = [c for c in flat if not _is_flagged(grids[c.n_neighbors])] or flat
    least = min(sound, key=lambda c: c["score"].value)
    same = [c for c in sound if _is_as_good(c["score"], least["score"])]
    return min(same, key=lambda c: (c.n_neighbors, methods.index(c.method)))


def nearest_to(dimension: int, asked: Iterable[int]) -> int:
    """Return which of some dimensions is nearest; of two, the larger, which loses nothing."""
    return min(asked, key=lambda d: _apart(d, dimension))


def _apart(d: int, dimension: int) -> tuple[int, int]:
    return abs(d - dimension), -d


def _is_flagged(grid: Grid) -> bool:
    return grid.fragmented or grid.short_circuited


def _is_least(best: Candidate) -> bool:
    """Return whether no score can be so much below that of the choice that it does not count as the same."""
    return best["score"].value <= max((1 + SAME) * best["least"].value, ROUNDING)


def _is_near(score: Value, least: Value) -> bool:
    return score.value <= (1 + NEAR) * least.value


def _is_as_good(score: Value, least: Value) -> bool:
    """Return whether a score is that of the least, but for a small share, for rounding or for the sample."""
    if score.value <= max((1 + SAME) * least.value, ROUNDING):
        return True
    if not _is_near(score, least) or score.units is None or least.units is None:
        return False
    with np.errstate(invalid="ignore"):
        apart = score.units - least.units
    low, _ = interval(score.value - least.value, standard_error(apart[np.isfinite(apart)], score.share))
    return low <= 0


def _numbers(c: Candidate, unsure: bool) -> str:
    """Return the numbers of a candidate in their columns."""
    if c.error is not None:
        return f"   {c.error[:60]}"
    cells = "".join(f"{_short(c[name].value):>9}" for name in _COLUMNS)
    return cells + (f"{c['score'].half_width:>9.1g}" if unsure else " " * 9) + f"{c.seconds:>7.2f}"


def _short(value: float) -> str:
    return f"{value:.3g}" if value == 0 or math.log10(abs(value)) > -4 else f"{value:.1e}"
