"""Choice of neighbors, dimension and method by their results (Goldberg & Ritov 2009, section 6)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..core.arrays import as_count, as_points, check_entries
from ..core.jsonable import finite
from ..core.notebook import Bold, Rows, as_html
from ..core.parameters import documented
from ..core.progress import Callback
from ..core.random import RandomState, seed_from, stream
from ..core.shared_parameters import FUNCTIONS
from ..fit.trust.evidence import TRUSTED_SCORE
from ..graph.neighbors import Neighborhoods, resolve
from ..graph.neighbors import neighborhoods as find_neighborhoods
from ..judge.quality import pandas, wrapped
from .choice import GOOD_MARGIN, GOOD_RATIO
from .dimension import Dimension, dimension
from .run import HOPELESS_SHARE, Ending, Run, Watch
from .sweep import INTERRUPTIONS, Candidate, Grid, Key, Sweep, described, prototypes

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Candidate", "Grid", "Selection", "select"]

SIZES = tuple(range(6, 25, 2))  # Numbers of neighbors that are tried by default.
CENTERS = 2000  # Number of points at which R_N, R_C and M_L are measured by default.
MAX_POINTS = 1500  # The sweep embeds up to this number of points by default; of more, a random sample.
MAX_DIM = 3  # Largest dimension that is tried by default: that of a picture.
STAGES = ("neighbors", "dimension", "graphs")  # Stages before the first embedding.
SWEEP_SHARE = 0.5  # Share of the time for the sweep of a sample; the rest is for the embedding of all points.

RULE = """\
The error of an embedding on a graph is the squared error of distances within balls of a hundred points, \
compared with shortest paths, plus overlap, plus a tenth of the share of torn balls. The score is the geometric \
mean of the errors on three cleaned graphs. If some error is at most {trusted:g}, embeddings with a score of at \
most {ratio:g} times the least plus {margin:g} are good, and the one with the least median Procrustes distance to \
all embeddings is chosen. Otherwise, the least score is chosen. A number of neighbors is a last resort if its \
graph has more pieces than that of the most neighbors, or more than {hopeless:.0%} short circuits."""
# Measures in the columns of the table, and the heads of the columns.
COLUMNS = {
    **{"r_n": "R_N", "lower_bound": "bound", "r_c": "R_C", "m_l": "M_L"},
    **{"disagreement": "disagr.", "overlap": "overlap", "torn": "torn", "score": "score"},
}
PRINTED = [name for name in COLUMNS if name != "m_l"]  # Those that fit into a terminal.


@dataclass(frozen=True, eq=False)
class Selection:
    """Embeddings for several numbers of neighbors, dimensions and methods, and a choice; prints as a table.

    Attributes
    ----------
    candidates : tuple of Candidate
        All embeddings made so far, in order.
    left_out : tuple of (str, int, int)
        Method, k and d of the embeddings that were not made, because the time was over or because they could
        not be chosen; ``select(..., exhaustive=True, resume=selection)`` makes them.
    grids : mapping of int to Grid
        Properties of the graph for each number of neighbors.
    dimension : Dimension
        Estimated dimension of the data.
    n_components : int
        The chosen dimension.
    is_guess : bool
        True if the data show no clear dimension, so that `n_components` is a guess.
    reason : str
        Reason for `n_components`, in words.
    n_points, dim : int
        Number of points and of columns of the data.
    rows : ndarray of int, or None
        Points that the sweep embedded; None for all. Numbers of candidates and grids are those of these points.
    methods : tuple of str
        Names of the methods, in the order given.
    n_centers, seed : int
        Number of points at which R_N, R_C and M_L are measured, and the seed of random samples.
    ending : {"finished", "out of time", "interrupted"}
        End of the sweep. If it did not finish, ``select(..., resume=selection)`` continues it.
    timings : dict of float
        Seconds of the "neighbors", the "dimension", the "graphs" and their defects, the "embeddings", their
        "measures", and of the fit of "all points"; of the last call, if a sweep was resumed.
    model : estimator or None
        Fitted estimator of the chosen embedding of all points, with `transform`, `save` and `verdict_`; None if
        the sweep of a sample was interrupted.

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(800, random_state=0)
    >>> found = ub.select(X, [8, 60], 2, methods=["psa"], random_state=0)
    >>> found.n_neighbors, found.grids[60].short_circuited
    (8, True)
    >>> found.model.verdict_.trusted, found.model.embedding_.shape
    (True, (800, 2))
    """

    candidates: tuple[Candidate, ...] = field(repr=False)
    left_out: tuple[Key, ...] = field(repr=False)
    grids: Mapping[int, Grid] = field(repr=False)
    dimension: Dimension
    n_components: int
    is_guess: bool
    reason: str
    n_points: int
    dim: int
    rows: npt.NDArray[np.uint32] | None = field(repr=False)
    methods: tuple[str, ...]
    n_centers: int
    seed: int
    ending: Ending
    timings: Mapping[str, float] = field(repr=False)
    model: Any = field(repr=False)
    best: Candidate
    """The chosen candidate."""
    _digest: str = field(repr=False)
    _models: Mapping[str, str] = field(repr=False)
    _fitted: Mapping[Key, Any] = field(repr=False)

    @property
    def complete(self) -> bool:
        """True if the sweep finished."""
        return self.ending == "finished"

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
        """The chosen embedding of all points, of shape (n, d)."""
        if self.model is not None:
            return np.asarray(self.model.embedding_)
        if self.rows is not None:
            raise ValueError(
                f"the sweep of {len(self.rows):,} points was interrupted before all {self.n_points:,} were "
                "embedded: continue it with resume"
            )
        return np.asarray(self.best.embedding)

    @property
    def rule(self) -> str:
        """Rule of the choice, in words."""
        numbers = {"ratio": GOOD_RATIO, "margin": GOOD_MARGIN, "hopeless": HOPELESS_SHARE}
        return RULE.format(trusted=TRUSTED_SCORE, **numbers)

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
        flags = ("rule", "is_guess", "reason", "n_centers", "seed", "ending", "complete")
        verdict = getattr(self.model, "verdict_", None)
        return {
            "n_points": self.n_points,
            "n_swept": self._n_swept,
            "verdict": None if verdict is None else verdict.to_dict(),
            "short_circuited": self.short_circuited,
            "fragmented": self.fragmented,
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

    @property
    def _n_swept(self) -> int:
        return self.n_points if self.rows is None else len(self.rows)

    def _header(self) -> Iterator[str]:
        part = "" if self.rows is None else f", {self._n_swept:,} of them, drawn at random, in the sweep"
        yield f"{self.n_points:,} points of {self.dim:,} dimensions{part}"
        yield from wrapped(str(self.dimension))
        bounds = ", ".join(f"{bound:.2g}" for bound in self.grids[self.n_neighbors].bound[:6])
        yield from wrapped(f"least R_N in 1, 2, ... dimensions, k = {self.n_neighbors}: {bounds}")

    def _rows(self) -> Iterator[str]:
        heads = "".join(f"{COLUMNS[name]:>8}" for name in PRINTED)
        yield f"  {'method':<7}{'k':>3}{'d':>3}{heads}{'s':>7}".rstrip()
        for c in self.candidates:
            grid = self.grids[c.n_neighbors]
            mark = "-" if grid.fragmented else "x" if grid.short_circuited else " "
            mark = ">" if c.key == self.best.key else mark
            yield f"{mark} {c.method[:6]:<7}{c.n_neighbors:>3}{c.n_components:>3}{_numbers(c)}"

    def _notes(self) -> Iterator[str]:
        yield from wrapped(
            "> chosen. R_N, bound and R_C are on neighborhoods of k, the score is on three cleaned graphs, and "
            "disagreement, overlap and torn places are on the one of them that agrees most."
        )
        for k in self.fragmented:
            pieces, outside = self.grids[k].n_pieces, f"{self.grids[k].outside:.2g} of all points"
            yield from wrapped(f"- k = {k} is too small: {pieces:,} pieces, {outside} outside the largest.")
        for k in self.short_circuited:
            share = self.grids[k].short_circuits
            yield from wrapped(f"x k = {k} is large: {share:.1%} of its neighbors are short circuits.")
        made = f"{len(self.candidates)} of {len(self.candidates) + len(self.left_out)} embeddings were made"
        if self.ending == "interrupted":
            yield f"Interrupted: {made}."
        elif self.ending == "out of time":
            yield from wrapped(f"Out of time: {made}; more time may give a better choice.")
        elif self.left_out:
            yield from wrapped(f"{made}: the others could not be chosen (exhaustive = True makes all).")

    def _choice(self) -> str:
        verdict = getattr(self.model, "verdict_", None)
        judged = "" if verdict is None else f" {verdict.sentence}"
        guess = " (a guess)" * self.is_guess
        return (
            f"Chosen: {self.method}, k = {self.n_neighbors}, d = {self.n_components}{guess}, score "
            f"{self.best['score'].value:.4g}. Dimension: {self.reason}.{judged}"
        )


@documented(FUNCTIONS)
def select(
    X: Any,
    n_neighbors: int | Iterable[int] | None = None,
    n_components: int | Iterable[int] | None = None,
    methods: Any = ("psa", "gp"),
    *,
    exhaustive: bool = False,
    max_dim: int = MAX_DIM,
    max_time: float | None = None,
    max_points: int | None = MAX_POINTS,
    neighborhoods: Neighborhoods | None = None,
    n_centers: int = CENTERS,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    callback: Callback | None = None,
    resume: Selection | None = None,
) -> Selection:
    """Choose the number of neighbors, the dimension and the method by their results.

    Every embedding is compared with shortest paths on the same cleaned graphs. `Selection.rule` says how the
    choice is made. Of many points a random sample is embedded in the sweep, and all with the choice. Every row is
    what the estimator makes of its k by default, with its own candidates: it may embed a cleaned graph of k
    neighbors.

    Ctrl-C, or a callback that returns True, ends the sweep. The embeddings made by then are returned, and `resume`
    continues from there. Before there is any embedding it raises.

    Parameters
    ----------
    n_neighbors : int or iterable of int, default 6, 8, ..., 24
        Numbers of neighbors k.
    n_components : int or iterable of int, optional
        Dimensions d to choose from, by default 1 to `max_dim`. The choice begins with the dimension that
        :func:`dimension` estimates, or with the least if that is a guess, and goes on as long as the embedding
        is not trusted and one more dimension lowers the score more than 3 times.
    methods : sequence of str, or mapping of str to estimator
        "gp", "psa", "isomap", and the normalized methods, which are rectified: "lle", "mlle", "ltsa", "hlle",
        "lem", "dfm". Or unfitted estimators by any names, with any parameters.
    exhaustive : bool, default False
        If True, make all embeddings, for a table or a curve, even those that cannot be chosen.
    max_dim : int, default 3
        Largest dimension to try if `n_components` is not given: that of a picture. If the data need more,
        `Selection.reason` says so.
    max_time : float, optional
        Seconds after which no more embeddings are made; the choice is among those made by then. The first
        embedding is always made. Of many points, the sweep has half of the time, and the fit of all points
        begins when it ends and is not stopped. By default there is no limit.
    max_points : int or None, default 1500
        Number of points that the sweep embeds; of more, a random sample. None for all.
    neighborhoods : Neighborhoods, optional
        Neighborhoods of X with distances, if they are already computed, with at least as many neighbors as the
        largest k.
    n_centers : int, default 2000
        Number of points at which R_N, R_C and M_L are measured; all if there are fewer.
    random_state : int, Generator or RandomState, optional
        Seed of the random sample of points, and of the methods.
    verbose : int, default 0
        1 prints one line for each embedding to standard error, and one about every ten seconds.
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
    >>> X, _ = ub.datasets.swiss_roll(800, random_state=0)
    >>> found = ub.select(X, [6, 8], 2, methods=["gp"], random_state=0)
    >>> found.best["score"].value < 0.02
    True
    """
    x = as_points(X)
    check_entries(x, "X")
    if len(x) < 3:
        raise ValueError(f"X has {len(x)} points: a selection needs at least 3")
    watch = Watch(verbose, callback, _seconds(max_time))
    seed = resume.seed if resume is not None else seed_from(random_state)
    rows = _sample(len(x), max_points, seed)
    swept: Any = x if rows is None else np.ascontiguousarray(x[rows])
    sizes = _counts(n_neighbors, SIZES, "n_neighbors", len(swept) - 1)
    largest = min(as_count(max_dim, "max_dim"), x.shape[1])
    dimensions = _counts(n_components, tuple(range(1, largest + 1)), "n_components", x.shape[1])
    models, n_centers = prototypes(methods), as_count(n_centers, "n_centers")
    whole = None if neighborhoods is None else _given(x, neighborhoods, sizes[-1], n_jobs)
    with watch.stage("neighbors"):
        if whole is None or rows is not None:
            widest = find_neighborhoods(swept, sizes[-1], n_jobs=n_jobs)
        else:
            widest = whole.nearest(sizes[-1])
    sweep = Sweep(swept, widest, sizes, min(n_centers, len(swept)), seed, n_jobs)
    with watch.stage("dimension"):
        graph = widest if rows is None else whole
        estimate = dimension(x, neighborhoods=graph, random_state=seed, n_jobs=n_jobs)
    with watch.stage("graphs"):
        _ = sweep.grids
    run = Run(sweep, models, estimate, dimensions, n_components is not None, watch, exhaustive)
    if resume is not None:
        _take_over(run, resume)
    if rows is None:
        return _selection(run, run.finish(), x, None, run.model)
    whole_deadline = watch.deadline
    watch.deadline -= SWEEP_SHARE * (_seconds(max_time) or 0.0)
    ending = run.finish()
    watch.deadline = whole_deadline
    model = None if ending == "interrupted" else _fit_of_all(run, x, whole)
    return _selection(run, "interrupted" if model is None else ending, x, rows, model)


def _seconds(max_time: Any) -> float | None:
    if max_time is None:
        return None
    is_number = isinstance(max_time, int | float | np.integer | np.floating) and not isinstance(
        max_time, bool
    )
    if not is_number or not max_time > 0:
        raise ValueError(
            f"max_time = {max_time!r} is not a number of seconds above 0: give None for no limit"
        )
    return float(max_time)


def _sample(n: int, max_points: Any, seed: int) -> npt.NDArray[np.uint32] | None:
    """Return the points of the sweep; None for all."""
    if max_points is None or n <= as_count(max_points, "max_points", 3):
        return None
    drawn = stream(seed, "sweep").choice(n, size=int(max_points), replace=False, shuffle=False)
    return np.sort(drawn).astype(np.uint32)


def _given(x: Any, given: Neighborhoods, most: int, n_jobs: int | None) -> Neighborhoods:
    """Return neighborhoods that are passed in, if they can be used."""
    graph = resolve(x, given, None, None, n_jobs)
    if graph.distances is None or len(graph) != len(x):
        raise ValueError(f"neighborhoods must be those of the {len(x):,} points, with their distances")
    if graph.n_neighbors is None or graph.n_neighbors < most:
        raise ValueError(f"neighborhoods must hold at least {most} neighbors for every point")
    return graph


def _counts(asked: Any, default: tuple[int, ...], name: str, most: int) -> tuple[int, ...]:
    """Return whole numbers in ascending order, each once; by default those that are possible."""
    if asked is None:
        return tuple(size for size in default if size <= most) or (most,)
    if isinstance(asked, np.ndarray) and asked.ndim == 0:
        asked = asked[()]
    is_list = isinstance(asked, Iterable) and not isinstance(asked, str | bytes)
    listed = sorted({as_count(one, name) for one in (asked if is_list else [asked])})
    if not listed:
        raise ValueError(f"{name} is empty: at least 1 is needed")
    if listed[-1] > most:
        raise ValueError(f"{name} = {listed[-1]} is too large: these data allow at most {most}")
    return tuple(listed)


def _take_over(run: Run, before: Selection) -> None:
    """Take over the embeddings of an earlier sweep."""
    if before._digest != run.sweep.digest:
        raise ValueError("resume is a selection of other data, or with other settings")
    models = described(run.models)
    other = next((name for name, text in before._models.items() if models.get(name, text) != text), None)
    if other is not None:
        raise ValueError(
            f"resume has embeddings by another {other!r}: {before._models[other]}, not {models[other]}"
        )
    wanted = [c for c in before.candidates if c.method in run.models and c.n_components in run.dimensions]
    run.made = list(wanted)
    run.fitted = {c.key: before._fitted[c.key] for c in wanted if c.key in before._fitted}


def _fit_of_all(run: Run, x: Any, whole: Neighborhoods | None) -> Any:
    """Return the chosen estimator, fitted to all points; None if that was interrupted."""
    name, k, d = run.best.key
    graph = None if whole is None else whole.nearest(k)
    try:
        return run.fit_of_all(x, graph, name, k, d)
    except INTERRUPTIONS:
        return None


def _selection(run: Run, ending: Ending, x: Any, rows: Any, model: Any) -> Selection:
    """Return the result."""
    sweep = run.sweep
    made = {c.key: c for c in run.made}
    best, choice, methods = run.best, run.choice, list(run.models)
    order = sorted(
        made, key=lambda key: (abs(key[2] - best.n_components), -key[2], key[1], methods.index(key[0]))
    )
    return Selection(
        candidates=tuple(made[key] for key in order),
        left_out=tuple(task for task in run.tasks if task not in made),
        grids=sweep.grids,
        dimension=run.estimate,
        n_components=best.n_components,
        is_guess=choice.is_guess,
        reason=choice.sentence,
        n_points=len(x),
        dim=x.shape[1],
        rows=rows,
        methods=tuple(methods),
        n_centers=len(sweep.centers),
        seed=sweep.seed,
        ending=ending,
        timings={s: t for s, t in run.watch.lines.timings.items() if s in (*STAGES, "all points")}
        | sweep.seconds,
        model=model,
        best=best,
        _digest=sweep.digest,
        _models=described(run.models),
        _fitted=dict(run.fitted),
    )


def _numbers(c: Candidate) -> str:
    """Return the numbers of a candidate in their columns."""
    if c.error is not None:
        return f"   {c.error[:60]}"
    return "".join(f"{_short(c[name].value):>8}" for name in PRINTED) + f"{c.seconds:>7.1f}"


def _short(value: float) -> str:
    """Return a number in at most seven characters, so that columns do not touch."""
    is_plain = value == 0 or math.isinf(value) or 1e-3 <= abs(value) < 1e3
    return f"{value:.3g}" if is_plain else f"{value:.1e}"
