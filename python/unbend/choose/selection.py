"""Choice of neighbors, dimension and method by their results (Goldberg & Ritov 2009, section 6)."""

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
from ..core.notebook import Bold, Rows, as_html
from ..core.parameters import documented
from ..core.progress import Callback, Progress, Stopped
from ..core.random import RandomState, seed_from
from ..core.shared_parameters import FUNCTIONS
from ..graph.neighbors import Neighborhoods, resolve
from ..graph.neighbors import neighborhoods as find_neighborhoods
from ..judge.measures import MEASURES, Value
from ..judge.quality import pandas, wrapped
from ..metrics.sampling import interval, standard_error
from .dimension import Dimension, dimension
from .sweep import COMMON_FACTOR, INTERRUPTIONS, Candidate, Grid, Key, Sweep, described, prototypes

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Candidate", "Grid", "Selection", "select"]

SIZES = tuple(range(6, 25, 2))  # Numbers of neighbors that are tried by default.
CENTERS = 2000  # Number of points at which embeddings are measured by default.
STAGES = ("neighbors", "dimension", "graphs")  # Stages before the first embedding.
SAME_SHARE = 0.02  # Scores that differ by less than this share are the same.
NEAR_SHARE = 0.1  # Scores that differ by less than this are the same if a sample cannot tell them apart.
ROUNDING_SCORE = 1e-20  # Scores below this are rounding: all such embeddings are perfect.

RULE = """\
d is the dimension of the data, or the nearest to it of those asked for. Of the embeddings in d \
dimensions those do not count whose neighborhood graph falls into more pieces than that of the most \
neighbors, or has short circuits, unless all do. The score is {symbol}, at most 1 at each point, plus \
overlap, on the same neighborhoods for all: twice the largest, or the largest without short circuits; \
here those of k = {common}. Of the embeddings whose score is within {same:.0%} of the least, or within \
{near:.0%} and not surely worse (95 %, at the same points), the one with the fewest neighbors is chosen, \
by the method named first. Embeddings that cannot be chosen by this need not be made: those in other \
dimensions, those that do not count, and all that are left once the score of the choice is within \
{same:.0%} of the lower bound, the least that there can be."""
# Measures in the columns of the table, and the heads of the columns.
COLUMNS = {
    **{"r_n": "R_N", "lower_bound": "bound", "r_c": "R_C", "m_l": "M_L"},
    **{"overlap": "overlap", "torn": "torn", "score": "score"},
}


@dataclass(frozen=True, eq=False)
class Selection:
    """Embeddings for several numbers of neighbors, dimensions and methods, and a choice; prints as a table.

    Attributes
    ----------
    candidates : tuple of Candidate
        All embeddings made so far, in order.
    left_out : tuple of (str, int, int)
        Method, k and d of the embeddings that were not made. After a complete sweep they could not have been
        chosen; ``select(..., exhaustive=True, resume=selection)`` makes them.
    grids : mapping of int to Grid
        Properties of the graph for each number of neighbors.
    dimension : Dimension
        Estimated dimension of the data.
    n_points, dim : int
        Number of points and of columns of the data.
    common : int
        Size of the neighborhoods on which all embeddings are scored.
    methods, by : tuple of str, and str
        Names of the methods, in the order given, and the measure in the score.
    n_centers, seed : int
        Number of points at which embeddings are measured, and the seed of their random sample.
    complete : bool
        False if the sweep was interrupted. ``select(..., resume=selection)`` continues it.
    timings : dict of float
        Seconds of the "neighbors", the "dimension", the "graphs" and their defects, the "embeddings" and
        their "measures"; of the last call, if a sweep was resumed.
    model : estimator or None
        Fitted estimator of the chosen embedding, with `transform` and `save`.

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
        """The chosen candidate."""
        return chosen(self.candidates, self.grids, self.dimension.value, self.methods)

    @property
    def n_components(self) -> int:
        """The chosen dimension."""
        return self.best.n_components

    @property
    def n_neighbors(self) -> int:
        """The chosen number of neighbors."""
        return self.best.n_neighbors

    @property
    def method(self) -> str:
        """Name of the chosen method."""
        return self.best.method

    @property
    def embedding(self) -> npt.NDArray[np.float64]:
        """The chosen embedding, of shape (n, d)."""
        return np.asarray(self.best.embedding)

    @property
    def rule(self) -> str:
        """Rule of the choice, in words."""
        return RULE.format(
            symbol=MEASURES[self.by].symbol, common=self.common, same=SAME_SHARE, near=NEAR_SHARE
        )

    @property
    def short_circuited(self) -> list[int]:
        """Numbers of neighbors that are too large: they join distant points."""
        return [k for k, grid in self.grids.items() if grid.short_circuited]

    @property
    def fragmented(self) -> list[int]:
        """Numbers of neighbors that are too small: the graph falls apart."""
        return [k for k, grid in self.grids.items() if grid.fragmented]

    def to_dict(self) -> dict[str, Any]:
        """Return all but the arrays, ready for JSON: numbers that are not finite are None."""
        flags = ("rule", "by", "common", "n_centers", "seed", "complete", "short_circuited", "fragmented")
        return {
            "n_points": self.n_points,
            "chosen": {name: getattr(self, name) for name in ("method", "n_neighbors", "n_components")},
            **{name: getattr(self, name) for name in flags},
            "dimension": self.dimension.to_dict(),
            "grids": [finite(grid.to_dict()) for grid in self.grids.values()],
            "candidates": [candidate.to_dict() for candidate in self.candidates],
            "left_out": [list(key) for key in self.left_out],
            "timings": dict(self.timings),
        }

    def to_json(self) -> str:
        """Return all but the arrays as JSON; numbers that are not finite are null."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with a row for each embedding."""
        rows, best = [], self.best.key
        for c in self.candidates:
            row: dict[str, Any] = dict(zip(("method", "n_neighbors", "n_components"), c.key, strict=True))
            row |= {name: value.value for name, value in c.items()}
            if c.error is None:
                row |= dict(zip(("score_low", "score_high"), c["score"].interval, strict=True))
            grid = self.grids[c.n_neighbors]
            row |= {"fragmented": grid.fragmented, "short_circuited": grid.short_circuited}
            rows.append(row | {"seconds": c.seconds, "error": c.error, "chosen": c.key == best})
        return pandas().DataFrame(rows)

    def __str__(self) -> str:
        """Return the table, the choice and its rule."""
        lines = [*self._header(), "", *self._rows(), "", *self._notes()]
        return "\n".join([*lines, "", *wrapped(self._choice()), *wrapped(f"Rule: {self.rule}")])

    def _repr_html_(self) -> str:
        """Return the choice, the table and the rule for a notebook."""
        heads = ("", "method", "k", "d", *COLUMNS.values(), "seconds")
        rows = Rows(heads, map(self._cells_of, self.candidates), "<<" + ">" * (len(heads) - 2))
        notes = " ".join(self._notes()).removeprefix("> chosen. ")
        return as_html(Bold(self._choice()), "; ".join(self._header()), rows, notes, f"Rule: {self.rule}")

    def _cells_of(self, c: Candidate) -> list[str]:
        """Return the row of an embedding in HTML, bold if it is the chosen one."""
        grid, best = self.grids[c.n_neighbors], c.key == self.best.key
        mark = "chosen" if best else "k too small" * grid.fragmented or "k too large" * grid.short_circuited
        mark = mark if c.error is None else f"failed: {c.error}"
        numbers = [f"{c[name].value:.3g}" if name in c else "" for name in COLUMNS]
        cells = [mark, c.method, f"{c.n_neighbors}", f"{c.n_components}", *numbers, f"{c.seconds:.1f}"]
        return [Bold(cell) for cell in cells] if best else cells

    def _header(self) -> Iterator[str]:
        yield f"{self.n_points:,} points of {self.dim:,} dimensions, {self.n_centers:,} measured"
        yield str(self.dimension)
        bounds = ", ".join(f"{bound:.2g}" for bound in self.grids[self.n_neighbors].bound[:6])
        yield from wrapped(f"least R_N in 1, 2, ... dimensions, k = {self.n_neighbors}: {bounds}")

    def _rows(self) -> Iterator[str]:
        best, unsure = self.best.key, self.n_centers < self.n_points
        heads = "".join(f"{head:>9}" for head in COLUMNS.values())
        yield f"  {'method':<7}{'k':>3}{'d':>3}{heads}{'± 95 %' if unsure else '':>9}{'s':>7}".rstrip()
        for c in self.candidates:
            grid = self.grids[c.n_neighbors]
            mark = "-" if grid.fragmented else "x" if grid.short_circuited else " "
            mark = ">" if c.key == best else mark
            yield f"{mark} {c.method[:6]:<7}{c.n_neighbors:>3}{c.n_components:>3}{_numbers(c, unsure)}"

    def _notes(self) -> Iterator[str]:
        yield from wrapped(
            f"> chosen. R_N, bound, R_C and M_L are on neighborhoods of k, the others of k = {self.common}."
        )
        for k in self.fragmented:
            pieces, outside = self.grids[k].n_pieces, f"{self.grids[k].outside:.2g} of all points"
            yield from wrapped(f"- k = {k} is too small: {pieces:,} pieces, {outside} outside the largest.")
        for k in self.short_circuited:
            share = self.grids[k].short_circuits
            yield from wrapped(f"x k = {k} is too large: {share:.1%} of its neighbors are short circuits.")
        made = f"{len(self.candidates)} of {len(self.candidates) + len(self.left_out)} embeddings were made"
        if not self.complete:
            yield f"Interrupted: {made}."
        elif self.left_out:
            reason = "the others could not have been chosen (exhaustive = True makes all)"
            yield from wrapped(f"{made}: {reason}.")

    def _choice(self) -> str:
        score, least = self.best["score"], self.best["least"].value
        low, high = score.interval
        ends = f" ({low:.4g} to {high:.4g})" if high > low else ""
        return (
            f"Chosen: {self.method}, k = {self.n_neighbors}, d = {self.n_components}, score "
            f"{score.value:.4g}{ends}, where {least:.4g} is the least that there can be."
        )


@documented(FUNCTIONS)
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
    """Choose the number of neighbors, the dimension and the method by their results.

    Neighbors are searched once, for twice the largest number; smaller neighborhoods are the beginnings of its
    lists. Every embedding is measured at the same points. `Selection.rule` says how the choice is made. Fewer
    neighbors are tried first, in the likeliest dimension; embeddings that can no longer be chosen are not
    made.

    Ctrl-C, or a callback that returns True, ends the sweep. The embeddings made by then are returned, with
    `complete` False, and `resume` continues from there. Before there is any embedding it raises.

    Parameters
    ----------
    n_neighbors : int or iterable of int, default 6, 8, ..., 24
        Numbers of neighbors k.
    n_components : int or iterable of int, optional
        Dimensions d; by default only the dimension that :func:`dimension` estimates.
    methods : sequence of str, or mapping of str to estimator
        "gp", "psa", "isomap", and the normalized methods, which are rectified: "lle", "mlle", "ltsa", "hlle",
        "lem", "dfm". Or unfitted estimators by any names, with any parameters.
    exhaustive : bool, default False
        If True, make all embeddings, for a table or a curve, even those that cannot be chosen.
    by : {"r_n", "r_n_scaled", "r_c"}
        Measure in the score, besides overlap.
    neighborhoods : Neighborhoods, optional
        Neighborhoods of X with distances, if they are already computed, with at least as many neighbors as the
        largest k; better twice as many, for the scores.
    n_centers : int, default 2000
        Number of points to measure; all if there are fewer.
    random_state : int, Generator or RandomState, optional
        Seed of the random sample of points, and of the methods.
    verbose : int, default 0
        1 prints one line for each embedding to standard error.
    callback : callable, optional
        Called as ``callback(embedding, done, total, best)`` about every 20 ms, with the name of the embedding
        in progress, the number done, the number in total, and the best score so far.
    resume : Selection, optional
        Result of an earlier call with the same data and settings, which was interrupted or not exhaustive, or
        had other methods or dimensions. The seed is taken from it.

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
    with watch.stage("neighbors"):
        widest = _widest(x, sizes, neighborhoods, n_jobs)
    seed = resume.seed if resume is not None else seed_from(random_state)
    sweep = Sweep(x, widest, sizes, by, min(as_count(n_centers, "n_centers"), len(x)), seed, n_jobs)
    with watch.stage("dimension"):
        found = dimension(x, neighborhoods=widest, random_state=sweep.seed, n_jobs=n_jobs)
    with watch.stage("graphs"):
        _ = sweep.grids, sweep.common  # All embeddings need them.
    dimensions = _counts(n_components, (min(found.value, x.shape[1]),), "n_components", x.shape[1])
    run = _Run(sweep, models, found, dimensions, watch, exhaustive)
    if resume is not None:
        run.resume(resume)
    return run.selection(run.finish())


def _widest(x: Any, sizes: tuple[int, ...], given: Neighborhoods | None, n_jobs: int | None) -> Neighborhoods:
    """Return neighborhoods as large as those of the scores, or the largest that are given."""
    wide = min(COMMON_FACTOR * sizes[-1], len(x) - 1)
    if given is None:
        return find_neighborhoods(x, wide, n_jobs=n_jobs)
    graph = resolve(x, given, None, None, n_jobs)
    if graph.distances is None or len(graph) != len(x):
        raise ValueError(f"neighborhoods must be those of the {len(x):,} points, with their distances")
    if graph.n_neighbors is None or graph.n_neighbors < sizes[-1]:
        raise ValueError(f"neighborhoods must hold at least {sizes[-1]} neighbors for every point")
    return graph.nearest(min(wide, graph.n_neighbors))


def _counts(asked: Any, default: tuple[int, ...], name: str, most: int) -> tuple[int, ...]:
    """Return whole numbers in ascending order, each once; by default those that are possible."""
    if asked is None:
        return tuple(size for size in default if size <= most) or (most,)
    listed = sorted({as_count(one, name) for one in (asked if isinstance(asked, Iterable) else [asked])})
    if not listed:
        raise ValueError(f"{name} is empty: at least 1 is needed")
    if listed[-1] > most:
        raise ValueError(f"{name} = {listed[-1]} is too large: these data allow at most {most}")
    return tuple(listed)


@dataclass(eq=False)
class _Run:
    """State of a sweep."""

    sweep: Sweep
    models: Mapping[str, Any]
    dimension: Dimension
    dimensions: tuple[int, ...]
    watch: Progress
    exhaustive: bool
    made: list[Candidate] = field(default_factory=list)
    best_model: tuple[Key, Any] | None = None

    @cached_property
    def tasks(self) -> list[Key]:
        """All embeddings, in the order in which they are made."""
        every = [(name, k, d) for d in self.dimensions for k in self.sweep.sizes for name in self.models]
        return sorted(every, key=self._order)

    def _order(self, task: Key) -> tuple[int, ...]:
        """Return the place of an embedding in the sweep. Of equally good ones, the first is chosen."""
        return (*self._rank(task), *self._place(task))

    def _rank(self, task: Key) -> tuple[int, int, bool]:
        """Return the rank: the nearest dimension first, in it graphs that are not flagged.

        The choice is among the embeddings of the first rank that has any.
        """
        _, k, d = task
        return (*_distance(d, self.dimension.value), _is_flagged(self.sweep.grids[k]))

    def _place(self, task: Key) -> tuple[int, int]:
        name, k, _ = task
        return k, list(self.models).index(name)

    def resume(self, before: Selection) -> None:
        """Take over the embeddings of an earlier sweep."""
        if before._digest != self.sweep.digest:
            raise ValueError("resume is a selection of other data, or with other settings")
        models = described(self.models)
        other = next((name for name, text in before._models.items() if models.get(name, text) != text), None)
        if other is not None:
            raise ValueError(
                f"resume has embeddings by another {other!r}: {before._models[other]}, not {models[other]}"
            )
        wanted = set(self.tasks)
        self.made = [c for c in before.candidates if c.key in wanted]
        if before.model is not None and before.best.key in wanted:
            self.best_model = before.best.key, before.model

    def finish(self) -> bool:
        """Make the missing embeddings; return False if that was interrupted."""
        finished = {c.key for c in self.made}
        try:
            for task in self.tasks:
                if task not in finished and (self.exhaustive or self._can_be_chosen(task)):
                    self._add(*task)
            if (
                self._successful() and self._model() is None
            ):  # A later embedding made an earlier one the best.
                best = self._best().key
                self.best_model = best, self._embed(*best)[0]
        except INTERRUPTIONS:
            if not self._successful():
                raise
            return False
        return True

    def _successful(self) -> list[Candidate]:
        return [c for c in self.made if c.error is None]

    def _can_be_chosen(self, task: Key) -> bool:
        """Return whether the rule could choose an embedding that is not made yet, however good it is."""
        if not self._successful():
            return True
        best = self._best()
        if self._order(task) < self._order(best.key):
            return True
        return self._rank(task) == self._rank(best.key) and not self._is_settled(best)

    def _is_settled(self, best: Candidate) -> bool:
        """Return whether the choice stays the same however good later embeddings are.

        None can be so much better that the choice no longer counts as equally good. But compared with another
        least score, a sample may fail to tell that an embedding before the choice is worse.
        """
        before = [c for c in self._successful() if self._order(c.key) < self._order(best.key)]
        unsure = best["score"].half_width > 0 and any(_is_near(c["score"], best["score"]) for c in before)
        return _is_same(best["score"], best["least"]) and not unsure

    def _add(self, name: str, k: int, d: int) -> None:
        model, candidate = self._embed(name, k, d)
        self.made.append(candidate)
        if candidate.error is None:
            best = self._best()
            self.watch.best = best["score"].value
            if best.key == candidate.key:
                self.best_model = best.key, model

    def _embed(self, name: str, k: int, d: int) -> tuple[Any, Candidate]:
        label = f"{name}, k = {k}, d = {d}"
        done, total = len(self.made), len(self.tasks)

        def ask(*_: Any) -> bool:
            return self.watch.report(label, done, total)

        with self.watch.stage(label):
            if ask():
                raise Stopped(f"the callback stopped the sweep at {label}")
            found = self.sweep.embed(name, self.models[name], k, d, ask)
            if ask():  # A stopped refinement returns an unfinished embedding.
                raise Stopped(f"the callback stopped the sweep at {label}")
        return found

    def _model(self) -> Any:
        """Return the model of the best embedding, or None if it was not kept."""
        kept = self.best_model is not None and self.best_model[0] == self._best().key
        return self.best_model[1] if self.best_model is not None and kept else None

    def _best(self) -> Candidate:
        return chosen(self.made, self.sweep.grids, self.dimension.value, tuple(self.models))

    def selection(self, complete: bool) -> Selection:
        """Return the result."""
        sweep, d = self.sweep, self.dimension.value
        if not self._successful():
            raise ValueError(f"no embedding could be made: {self.made[0].error}")
        made = {c.key: c for c in self.made}
        in_table = sorted(made, key=lambda key: (*_distance(key[2], d), *self._place(key)))
        return Selection(
            candidates=tuple(made[key] for key in in_table),
            left_out=tuple(task for task in self.tasks if task not in made),
            grids=sweep.grids,
            dimension=self.dimension,
            n_points=len(sweep.x),
            dim=sweep.x.shape[1],
            common=int(sweep.common.n_neighbors or 0),
            methods=tuple(self.models),
            by=sweep.by,
            n_centers=len(sweep.centers),
            seed=sweep.seed,
            complete=complete,
            timings={stage: self.watch.timings[stage] for stage in STAGES} | sweep.seconds,
            model=self._model(),
            _digest=sweep.digest,
            _models=described(self.models),
        )


def chosen(
    candidates: Iterable[Candidate], grids: Mapping[int, Grid], dimension: int, methods: Sequence[str]
) -> Candidate:
    """Return the candidate that the rule chooses; methods in the order in which they are named."""
    made = [c for c in candidates if c.error is None]
    d = min((c.n_components for c in made), key=lambda d: _distance(d, dimension))
    flat = [c for c in made if c.n_components == d]
    sound = [c for c in flat if not _is_flagged(grids[c.n_neighbors])] or flat
    least = min(sound, key=lambda c: c["score"].value)
    same = [c for c in sound if _is_as_good(c["score"], least["score"])]
    return min(same, key=lambda c: (c.n_neighbors, methods.index(c.method)))


def _distance(d: int, dimension: int) -> tuple[int, int]:
    """Return how far a dimension is from that of the data. Of two, the larger is nearer: it loses nothing."""
    return abs(d - dimension), -d


def _is_flagged(grid: Grid) -> bool:
    return grid.fragmented or grid.short_circuited


def _is_same(score: Value, least: Value) -> bool:
    """Return whether a score is the least, but for a small share or for rounding."""
    return score.value <= max((1 + SAME_SHARE) * least.value, ROUNDING_SCORE)


def _is_near(score: Value, least: Value) -> bool:
    return score.value <= (1 + NEAR_SHARE) * least.value


def _is_as_good(score: Value, least: Value) -> bool:
    """Return whether a score is the least, or is near and the sample cannot tell that it is worse."""
    if _is_same(score, least):
        return True
    if not _is_near(score, least) or score.units is None or least.units is None:
        return False
    with np.errstate(invalid="ignore"):
        excess = score.units - least.units
    low, _ = interval(score.value - least.value, standard_error(excess[np.isfinite(excess)], score.share))
    return low <= 0


def _numbers(c: Candidate, unsure: bool) -> str:
    """Return the numbers of a candidate in their columns."""
    if c.error is not None:
        return f"   {c.error[:60]}"
    cells = "".join(f"{_short(c[name].value):>9}" for name in COLUMNS)
    return cells + (f"{c['score'].half_width:>9.1g}" if unsure else " " * 9) + f"{c.seconds:>7.2f}"


def _short(value: float) -> str:
    return f"{value:.3g}" if value == 0 or math.log10(abs(value)) > -4 else f"{value:.1e}"
