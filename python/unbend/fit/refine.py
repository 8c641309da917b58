"""Refinement of any embedding (Goldberg & Ritov 2009, section 4.4)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import Matrix, as_count, as_points, thread_count
from ..core.progress import Callback, Progress
from ..graph.neighbors import Neighborhoods, resolve
from ..metrics import faithfulness
from .assembly import solve

__all__ = ["Refinement", "RefinementInterrupted", "refine"]

Array = npt.NDArray[np.float64]
Method = Literal["global", "pointwise"]
Objective = Literal["R", "R_N"]
Status = Literal["converged", "max_iter", "max_time", "stopped"]

# Steps of conjugate gradients for the first set of frames. Every set after it gets half as many more:
# what is left over is ever longer waves. Where they would be many, fewer with multigrid do as much.
FIRST_SOLVE, GROWTH, PLAIN_SOLVE, MULTIGRID_SOLVE = 10, 1.5, 25, 10

NARROW = 16
"""Of data with so many columns at most the lower bound costs a fraction of a step."""


@dataclass(frozen=True)
class Refinement:
    """A refined embedding, and how it came about.

    Attributes
    ----------
    embedding : ndarray of shape (n, d)
        Never worse than the one refined, by the objective.
    history : list of float
        The objective before the first step and after each; it never rises.
    status : {"converged", "max_iter", "max_time", "stopped"}
        Why it ended: the last step gained too little, steps or time ran out, or the callback said so.
    n_iter : int
        How many steps were taken.
    objective : {"R", "R_N"}
        What was made small.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(500, random_state=0)
    >>> refined = ub.refine(X, coordinates, max_iter=1)
    >>> refined.n_iter, refined.history[1] <= refined.history[0]
    (1, True)
    """

    embedding: Array = field(repr=False)
    history: list[float]
    status: Status
    n_iter: int
    objective: Objective


class RefinementInterrupted(KeyboardInterrupt):
    """Ctrl-C during a refinement. The best embedding so far is kept.

    Attributes
    ----------
    embedding : ndarray of shape (n, d)
        The best so far.
    history : list of float
        The objective before the first step and after each.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(500, random_state=0)
    >>> try:
    ...     embedding = ub.refine(X, coordinates).embedding
    ... except ub.RefinementInterrupted as interrupt:
    ...     embedding = interrupt.embedding
    """

    def __init__(self, embedding: Array, history: list[float]) -> None:
        super().__init__(f"refinement interrupted after {max(0, len(history) - 1)} steps")
        self.embedding = embedding
        self.history = history


class _Stop(Exception):
    """The callback, or the clock, ends the refinement."""

    def __init__(self, status: Status) -> None:
        self.status: Status = status


def refine(
    X: Any,
    Y: Any,
    n_neighbors: int | None = None,
    *,
    radius: float | None = None,
    neighborhoods: Neighborhoods | None = None,
    method: Method = "global",
    objective: Objective = "R_N",
    rescale: bool = False,
    max_iter: int = 60,
    tol: float = 1e-3,
    max_time: float | None = None,
    callback: Callback | None = None,
    verbose: int = 0,
    n_jobs: int | None = None,
    _watch: Progress | None = None,
) -> Refinement:
    """Make an embedding, from any tool, more faithful: neighbourhoods moved and rotated, not stretched.

    Finds the best rotation of every neighbourhood and then the embedding that fits all of them, in turn, with
    momentum: no step makes it less faithful.
    The result lies in the same basin as its start: what is folded or torn stays so.

    Parameters
    ----------
    X : array-like of shape (n, q)
        The data.
    Y : array-like of shape (n, d), d <= q
        Their embedding.
    n_neighbors, radius, neighborhoods
        As for :func:`faithfulness`.
    method : {"global", "pointwise"}
        "global" fits all points together, by conjugate gradients on eq. 11. "pointwise" is eq. 12-13: each
        point moves to the mean of where its neighbourhoods see it; cheaper, and long waves take many steps.
    objective : {"R", "R_N"}
        Whether each neighbourhood counts by its size or all the same.
    rescale : bool, default False
        Multiply Y by the best single factor first: for tools that normalise their output.
    max_iter : int, default 60
        Number of steps.
    tol : float, default 1e-3
        A step that lowers the objective by less than this share of it is the last. Of narrow data, none is
        taken that could not lower it by more, for the lower bound.
    max_time : float, optional
        Seconds after which no new step is begun.
    callback : callable, optional
        Takes ``(stage, done, total, best)``; if it returns True, the best embedding so far is returned.
    verbose : int, default 0
        Whether to show progress.
    n_jobs : int, optional
        Number of threads; all by default. The result is the same for any number.

    Returns
    -------
    Refinement

    Raises
    ------
    ValueError
        If X and Y do not belong together, or hold entries that are not finite.
    RefinementInterrupted
        On Ctrl-C, with the best embedding so far.

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> shaken = coordinates + np.random.default_rng(0).normal(scale=0.2, size=coordinates.shape)
    >>> refined = ub.refine(X, shaken).embedding
    >>> ub.faithfulness(X, refined).r_n < 0.1 * ub.faithfulness(X, shaken).r_n
    True
    """
    x, y = as_points(X, "X"), as_points(Y, "Y")
    if len(x) != len(y):
        raise ValueError(f"X has {len(x)} rows, but Y has {len(y)}")
    if y.shape[1] > x.shape[1]:
        raise ValueError(f"n_components = {y.shape[1]} exceeds the {x.shape[1]} dimensions of the data")
    _check(method, objective, tol, max_time)
    steps = as_count(max_iter, "max_iter", least=0)
    graph = resolve(x, neighborhoods, n_neighbors, radius, n_jobs)
    watch = _watch if _watch is not None else Progress(verbose, callback)
    start = np.array(y, dtype=np.float64, order="C")
    if rescale:
        start *= faithfulness(x, y, neighborhoods=graph, n_jobs=n_jobs).scale
    with watch.stage("refine"):
        task = _Task(x, graph, start.shape[1], objective, thread_count(n_jobs))
        step = task.solve_globally if method == "global" else task.move_points
        least = _least(x, start, graph, objective, n_jobs) if tol > 0 else 0.0
        return _Run(task, start, steps, tol, least, max_time, watch, objective).run(step)


def _least(x: Matrix, y: Array, graph: Neighborhoods, objective: str, n_jobs: int | None) -> float:
    """Return what the objective cannot be below, as far as that is cheap to know."""
    if x.shape[1] > NARROW or objective != "R_N":
        return 0.0
    return faithfulness(x, y, neighborhoods=graph, n_jobs=n_jobs).lower_bound


def _check(method: str, objective: str, tol: float, max_time: float | None) -> None:
    if method not in ("global", "pointwise"):
        raise ValueError(f"method = {method!r} is unknown: use 'global' or 'pointwise'")
    if objective not in ("R", "R_N"):
        raise ValueError(f"objective = {objective!r} is unknown: use 'R' or 'R_N'")
    if not tol >= 0:
        raise ValueError(f"tol = {tol} is out of range: it must be at least 0")
    if max_time is not None and not max_time > 0:
        raise ValueError(f"max_time = {max_time} is out of range: it must be positive")


class _Task:
    """The two halves of a step: frames from the embedding, the embedding from the frames."""

    def __init__(self, x: Matrix, graph: Neighborhoods, d: int, objective: str, n_jobs: int) -> None:
        self._x, self._graph, self._d = x, graph._graph, d
        self._core = _core.Refiner(x, self._graph, d, objective, n_jobs)
        self._multigrid: _core.Multigrid | None = None
        self._held = np.repeat(_positive(self._core.held()), d)
        self._diagonal = np.repeat(_positive(self._core.diagonal(self._graph)), d)

    def frames(self, y: Array) -> tuple[Array, float]:
        """Return the right-hand side of eq. 11 for the best frames of `y`, and the objective there."""
        return self._core.frames(self._x, self._graph, y.reshape(-1, self._d))

    def _apply(self, y: Array) -> Array:
        return self._core.apply(self._graph, y)

    def solve_globally(self, y: Array, sides: Array, step: int, ask: Callable[[], None]) -> Array:
        """Go from `y` towards the solution of eq. 11: every step lowers R for these frames."""
        longest = FIRST_SOLVE * GROWTH ** min(step, PLAIN_SOLVE)
        plain = longest <= PLAIN_SOLVE
        solution = solve(
            self._core,
            self._graph,
            sides,
            y,
            d=self._d,
            tol=0.0,
            reduction=1e-3,
            max_iter=int(longest) if plain else MULTIGRID_SOLVE,
            ask=ask,
            preconditioner=(lambda v: v / self._diagonal) if plain else self._cycle,
        )
        return solution.embedding

    def _cycle(self, v: Array) -> Array:
        if self._multigrid is None:
            self._multigrid = self._core.multigrid(self._graph)
        return self._multigrid.cycle(v, self._d)

    def move_points(self, y: Array, sides: Array, step: int, ask: Callable[[], None]) -> Array:
        """Eq. 13: every point to the mean of where its neighbourhoods see it, about their present means."""
        return y + (sides - self._apply(y)) / self._held


def _positive(values: Array) -> Array:
    """Points that no neighbourhood holds stay where they are."""
    return np.where(values > 0, values, 1.0)


class _Run:
    """Steps until one gains too little, with the best embedding at hand at any moment."""

    def __init__(
        self,
        task: _Task,
        start: Array,
        max_iter: int,
        tol: float,
        least: float,
        max_time: float | None,
        watch: Progress,
        objective: Objective,
    ) -> None:
        self._task, self._watch, self._objective = task, watch, objective
        self._max_iter, self._tol, self._least = max_iter, tol, least
        self._deadline = None if max_time is None else time.perf_counter() + max_time
        self._shape = start.shape
        self._best = start.ravel()
        self._history: list[float] = []

    def run(self, solve: Callable[[Array, Array, int, Callable[[], None]], Array]) -> Refinement:
        try:
            return self._result(self._steps(solve))
        except _Stop as stop:
            return self._result(stop.status)
        except KeyboardInterrupt as interrupt:
            raise RefinementInterrupted(self._best.reshape(self._shape), self._history) from interrupt

    def _steps(self, solve: Callable[[Array, Array, int, Callable[[], None]], Array]) -> Status:
        """Go on in the direction of the step before, farther the longer that lowers the objective.

        Nesterov's momentum (1983), begun anew where it gains too little.
        """
        sides, value = self._task.frames(self._best)
        self._history.append(value)
        before, run = self._best, 0
        for step in range(self._max_iter):
            self._ask()
            if value - self._least < self._tol * value:
                return "converged"
            moved = solve(self._best, sides, step, self._ask)
            ahead = moved + run / (run + 3) * (moved - before)
            sides, reached = self._task.frames(ahead)
            if run and not value - reached > self._tol * value:
                run = 0
                others, without = self._task.frames(moved)
                if without < reached:
                    ahead, sides, reached = moved, others, without
            if not reached < value:
                return "converged"
            self._best, before, run = ahead, moved, run + 1
            self._history.append(reached)
            if value - reached <= self._tol * value:
                return "converged"
            value = reached
        return "max_iter"

    def _ask(self) -> None:
        """Stop if the callback or the clock wants it."""
        if self._watch.report("refine", len(self._history) - 1, self._max_iter, self._history[-1]):
            raise _Stop("stopped")
        if self._deadline is not None and time.perf_counter() > self._deadline:
            raise _Stop("max_time")

    def _result(self, status: Status) -> Refinement:
        embedding = self._best.reshape(self._shape)
        return Refinement(embedding, self._history, status, len(self._history) - 1, self._objective)
