"""Refinement of any embedding (Goldberg & Ritov 2009, section 4.4)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np

from .. import _core
from ..core.kinds import Kind, boolean, choice, count, function, number, optional
from ..core.parameters import documented, entries, table
from ..core.progress import Callback, Progress
from ..graph.neighbors import Neighborhoods, resolve
from ..metrics import faithfulness
from ..metrics.sampling import pair, sample_weights
from ..metrics.table import PARAMETERS
from .assembly import solve, solve_bound
from .bonds import Bonds, Pins
from .bonds.system import BoundSystem
from .problem import Array, Objective, Problem
from .spectral.eigenvectors import warn_of_unheld
from .trust.barrier import Barrier
from .trust.guard import Guard

Lowered = Literal["R_N", "R", "R_C", "stress"]
Method = Literal["global", "pointwise", "paper"]
Status = Literal["converged", "guarded", "max_iter", "max_time", "stopped"]

# Steps of conjugate gradients with multigrid for each set of frames. More would be exact for frames that the
# next step replaces.
MULTIGRID_STEPS = 3

# The lower bound of R_N is used for data of at most this many columns, where it costs a fraction of a step.
MAX_BOUND_COLUMNS = 16

# The time limit of a refinement that begins when the time is up.
LEAST_SECONDS = 1e-9

# A step that does harm is shortened to these shares of its length before it is refused.
STEP_SHARES = (0.5, 0.25, 0.125, 0.0625)

_TABLE = table(
    *entries(
        """
        method
            "global" fits all points together, by conjugate gradients on eq. 11. "pointwise" is eq. 12-13:
            each point moves to the mean of where its neighborhoods place it, with momentum. Its steps are
            cheaper, but errors over long distances take many. "paper" is the same without momentum, to
            compare with.
        objective
            The measure to minimize: in "R" each neighborhood counts by its size, in "R_N" all count equally.
            "R_C" lets each neighborhood have a scale of its own, for maps that keep angles, not lengths. Many
            maps have nearly the same R_C. Begin with one whose scales are right, such as that of
            ``Isomap(conformal=True)``, and take few steps (``max_iter=10``): more lead away from it.
            "stress" compares distances in the embedding with shortest paths g on the neighborhood graph without
            short circuits: the sum of their squared differences, each divided by g, as a share of the sum of g.
            It corrects the shape of the whole. Of more than 1,500 points, paths from 200 landmarks count.
        sample_weight : array-like of shape (n,)
            Weight of the neighborhood of each point, above 0; only their ratios count. Raise it where the data
            are good. All count equally by default.
        fixed : tuple of arrays
            Points with known places: their indices, and their coordinates, of shape (m, d). Y is moved to them
            first: rotated, reflected and shifted, not stretched. All others are fitted to them. They do not
            move, unless you add a third entry, one weight or m of them: then a pin gives way, and with weight 1
            it counts as much as the neighborhoods that hold a usual point.
        include_self
            If True, each point belongs to its own neighborhood. If False, a point that is no neighbor of any
            other has no position of its own: it follows its neighbors, and a :class:`GapWarning` is issued.
        rescale
            If True, multiply Y by the best single factor first, for tools that normalize their output.
        guard
            If True, shorten or refuse steps that make trustworthiness, overlap, or distances within some
            hundred points worse than they are in Y. With objective="stress", only the result must not be worse:
            what unfolds is worse for some steps. Set it to False for the algorithm of the paper, which
            lowers its objective at any price.
        barrier : bool or array-like of int, shape (m, 3)
            Triangles of a mesh that no step may turn over, or True for the triangles of the neighborhoods in their
            charts. Around a triangle that a step would turn over, points go less far. While some are turned over,
            steps go where fewer are: see ``flips`` of the result. It needs an embedding of 2 columns.
        max_iter
            Maximum number of steps.
        tol
            Stop after a step that lowers the objective by less than this share of it. For narrow data, stop
            as well when the lower bound allows no larger gain.
        max_time
            Number of seconds after which no new step begins.
        callback
            Function of ``(stage, done, total, best)``. If it returns True, the best embedding so far is
            returned.
        """,
        method=choice("global", "pointwise", "paper"),
        objective=choice("R", "R_N", "R_C", "stress"),
        fixed=Kind(""),  # Pins check it.
        include_self=boolean,
        rescale=boolean,
        guard=boolean,
        barrier=Kind(""),  # Barrier checks it.
        max_iter=count(0),
        tol=number(lambda v: v >= 0, "at least 0"),
        max_time=optional(number(lambda v: v > 0, "above 0")),
        callback=function,
    ),
)


@dataclass(frozen=True)
class Refinement:
    """A refined embedding.

    Attributes
    ----------
    embedding : ndarray of shape (n, d)
        The refined embedding. Its objective is at most that of the start.
    history : list of float
        The objective before the first step and after each; it never rises. Empty if the callback stopped the
        search for shortest paths.
    status : {"converged", "guarded", "max_iter", "max_time", "stopped"}
        Reason for the end: the last step gained too little, or would have done harm, steps or time ran out, or the
        callback stopped it.
    n_iter : int
        Number of steps.
    objective : {"R", "R_N", "R_C", "stress"}
        The measure that was minimized.
    refused : str
        The harm that the whole of a step would have done, in words; empty if every step was taken whole.
    flips : tuple of int or None
        Number of triangles that are turned over at the start and in `embedding`; None without a barrier.

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
    objective: Lowered
    refused: str = ""
    flips: tuple[int, int] | None = None


class RefinementInterrupted(KeyboardInterrupt):
    """Ctrl-C during a refinement. It holds the best `embedding` so far and the `history` of the objective.

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
    """The callback or the time limit ends the refinement."""

    def __init__(self, status: Status) -> None:
        self.status: Status = status


@documented(_TABLE, PARAMETERS, scopes=["faithfulness"])
def refine(
    X: Any,
    Y: Any,
    n_neighbors: int | None = None,
    *,
    radius: float | None = None,
    neighborhoods: Neighborhoods | None = None,
    method: Method = "global",
    objective: Lowered = "R_N",
    sample_weight: Any = None,
    fixed: Any = None,
    include_self: bool = True,
    rescale: bool = False,
    guard: bool = True,
    barrier: Any = False,
    max_iter: int = 60,
    tol: float = 1e-3,
    max_time: float | None = None,
    callback: Callback | None = None,
    verbose: int = 0,
    n_jobs: int | None = None,
) -> Refinement:
    """Make an embedding from any tool more faithful.

    It alternates between the best rotation of each neighborhood and the embedding that fits all of them, with
    momentum. No step makes the embedding less faithful. Folds and tears stay, because the result lies in the
    same basin as the start.

    With ``objective="stress"``, a step is the Guttman transform of stress majorization (SMACOF) instead.

    R_N looks at neighborhoods only. Of wide data it falls fastest when distant parts are pushed over each other,
    so each step is compared with Y: see `guard`. A step that does harm is shortened; if that does not help, the
    refinement ends with the status "guarded".

    Raises
    ------
    ValueError
        If X and Y do not have the same number of rows, or hold entries that are not finite.
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
    x, y = pair(X, Y)
    limits = {"max_iter": max_iter, "tol": tol, "max_time": max_time, "callback": callback}
    flags = {"include_self": include_self, "guard": guard, "rescale": rescale}
    for name, value in {"method": method, "objective": objective, **flags, **limits}.items():
        _TABLE[""][name].check(value)
    if objective == "stress" and sample_weight is not None:
        raise ValueError(
            "sample_weight does not go with objective = 'stress', which compares pairs: leave it out"
        )
    if objective == "stress" and method != "global":
        raise ValueError(f"method = {method!r} does not lower objective = 'stress': use method = 'global'")
    graph = resolve(x, neighborhoods, n_neighbors, radius, n_jobs)
    frames: Objective = "R_N" if objective == "stress" else objective
    weights, own = sample_weights(sample_weight, len(x)), bool(include_self)
    problem = Problem(_core.Points(x), graph, y.shape[1], frames, n_jobs, own, weights=weights)
    warn_of_unheld(problem.unheld)
    start = np.array(y, dtype=np.float64, order="C")
    if rescale:
        start *= faithfulness(x, y, neighborhoods=graph, include_self=include_self, n_jobs=n_jobs).scale
    pins = None if fixed is None else Pins.of(fixed, *start.shape)
    if pins is not None:
        if pins.is_soft.any() and (method != "global" or objective not in ("R_N", "R")):
            raise ValueError(
                f"weights of fixed are for method = 'global' with objective = 'R_N' or 'R', not {method!r} with "
                f"{objective!r}: leave them out, and the points do not move"
            )
        if pins.is_soft.any() and not own:
            raise ValueError(
                "weights of fixed do not go with include_self = False: leave them out, and the points do not move"
            )
        start = Bonds(pins).begun(start, graph.component_labels)[0]
        problem = replace(problem, bonds=Bonds(pins))
    steps = Steps(method, int(max_iter), tol, max_time)
    watched, progress = Guard(problem, start), Progress(verbose, callback)
    wall = None if barrier is False else Barrier.of(barrier, x, graph, start, n_jobs)

    def run(start: Array) -> Refinement:
        if objective == "stress":
            return _stressed(watched, start, steps, progress, pins, bool(guard), wall)
        return refined(problem, start, steps, progress, guard=watched if guard else None, barrier=wall)

    return run(start) if wall is None else _without_flips(run, start, wall, pins is not None)


def _without_flips(
    run: Callable[[Array], Refinement], start: Array, barrier: Barrier, has_pins: bool
) -> Refinement:
    """Refine, and again from an embedding whose flips are smoothed away, unless that is worse than the start.

    Smoothing would move points with pins.
    """
    found = run(start)
    before, left = barrier.n_flipped(start), barrier.n_flipped(found.embedding)
    if left and not has_pins and found.status in ("converged", "guarded"):
        smooth = barrier.smoothed(found.embedding)
        if barrier.n_flipped(smooth) < left:
            again = run(smooth)
            if again.history[-1] <= found.history[0]:
                history = [*found.history[:1], *again.history]
                found = replace(again, history=history, n_iter=len(history) - 1)
    return replace(found, flips=(before, barrier.n_flipped(found.embedding)))


def _stressed(
    watched: Guard,
    start: Array,
    steps: Steps,
    progress: Progress,
    pins: Pins | None,
    guarded: bool,
    barrier: Barrier | None,
) -> Refinement:
    """Refine an embedding by the stress of geodesic distances.

    What unfolds is worse than the fold for some steps, so the end is examined first, and single steps only if the
    end does harm.
    """
    from .trust.weighted import GeodesicStress  # It imports scipy, which takes long.

    begin = time.perf_counter()
    target = GeodesicStress(watched.clean, pins, progress.progress)

    def run(guard: Guard | None) -> Refinement:
        left = steps.max_time and max(LEAST_SECONDS, steps.max_time + begin - time.perf_counter())
        limits = replace(steps, max_time=left)
        return _Run(target, start, limits, 0.0, progress, "stress", guard, pins is not None, barrier).run()

    with progress.stage("refine"):
        if not guarded:
            return run(None)
        try:
            found = run(None)
        except RefinementInterrupted as interrupt:
            if watched.objection(interrupt.embedding):
                raise RefinementInterrupted(start, interrupt.history[:1]) from interrupt
            raise
        objection = watched.objection(found.embedding)
        if objection is None:
            return found
        if found.status in ("stopped", "max_time"):
            return replace(found, embedding=start, history=found.history[:1], n_iter=0, refused=objection)
        return run(watched)


@dataclass(frozen=True)
class Steps:
    """The method, and when to stop."""

    method: Method = "global"
    max_iter: int = 60
    tol: float = 1e-3
    max_time: float | None = None

    @property
    def is_pointwise(self) -> bool:
        """True if a step is that of eq. 12-13, point by point."""
        return self.method != "global"


def refined(
    problem: Problem,
    start: Array,
    steps: Steps,
    progress: Progress,
    known: tuple[float, float] | None = None,
    guard: Guard | None = None,
    core: _core.Problem | None = None,
    barrier: Barrier | None = None,
) -> Refinement:
    """Refine an embedding of a problem; `known` are R_N of the start and its lower bound, if measured.

    `core` replaces the problem in the core, if some of its pairs of neighbors are parted.
    """
    core, objective, bonds = core or problem.core, problem.objective, problem.bonds
    with progress.stage("refine"):
        bound = 0.0
        if problem.source.dim <= MAX_BOUND_COLUMNS and objective == "R_N" and steps.tol > 0 and bonds is None:
            value, bound = known or (math.inf, core.lower_bound())
            if steps.max_iter and value - bound < steps.tol * value:
                return Refinement(start, [value], "converged", 0, objective)  # there is nothing to gain
        system = None if bonds is None else BoundSystem(core, bonds)
        target = _Frames(core, steps, objective, system)
        held = bonds is not None and bonds.pins is not None
        return _Run(target, start, steps, bound, progress, objective, guard, held, barrier).run()


class _Target(Protocol):
    """Objective of a refinement. Vectors are flat, point after point."""

    def at(self, y: Array) -> tuple[Any, float]:
        """Return the system of the next step from an embedding, and the value of the objective there."""

    def moved(self, system: Any, y: Array, ask: Callable[[], None]) -> Array:
        """Return the embedding after a step; `ask` may raise."""


_System = tuple[_core.Problem, Array]
"""Eq. 11: the problem with its matrix, and the right-hand side."""


@dataclass(frozen=True)
class _Frames:
    """R, R_N or R_C: frames that fit an embedding, and the embedding that fits frames."""

    problem: _core.Problem
    limits: Steps
    objective: Objective
    bound: BoundSystem | None = None

    def at(self, y: Array) -> tuple[_System, float]:
        """Return eq. 11 for the best frames of `y`, and for the best scales if they count; the objective there."""
        y = y.reshape(len(self.problem.points), -1)
        problem = self.problem.conformal(y) if self.objective == "R_C" else self.problem
        right_hand_side, value = problem.frames(y)
        if self.bound is not None:
            value += self.bound.penalty(y) / len(y)
        return (problem, right_hand_side), value

    def moved(self, system: _System, y: Array, ask: Callable[[], None]) -> Array:
        """Return the next embedding, from eq. 11 for the frames of `y`."""
        problem, right_hand_side = system
        if self.limits.is_pointwise:  # eq. 13
            change = (right_hand_side - problem.apply(y)) / self._weights(problem)
            return y + (change if self.bound is None else np.where(self.bound.held, 0.0, change))
        limits: dict[str, Any] = {"tol": 0.0, "reduction": 1e-3, "max_iter": MULTIGRID_STEPS, "ask": ask}
        if self.bound is not None:
            return solve_bound(self.bound, problem, right_hand_side, y, **limits).embedding
        precondition = self.problem.precondition
        return solve(problem, right_hand_side, y, preconditioner=precondition, **limits).embedding

    def _weights(self, problem: _core.Problem) -> Array:
        """Return weights of the points; 1 for those outside all neighborhoods, which stay where they are."""
        return self._own_weights if problem is self.problem else self._weighed(problem)

    @cached_property
    def _own_weights(self) -> Array:
        return self._weighed(self.problem)

    def _weighed(self, problem: _core.Problem) -> Array:
        weights = problem.held()
        return np.repeat(np.where(weights > 0, weights, 1.0), problem.n_components)


@dataclass
class _Run:
    """Steps until one gains too little, with the best embedding available at any moment."""

    target: _Target
    start: Array
    limits: Steps
    bound: float
    progress: Progress
    objective: Lowered
    guard: Guard | None = None
    has_pins: bool = False
    barrier: Barrier | None = None
    history: list[float] = field(default_factory=list)
    refused: str = ""

    def run(self) -> Refinement:
        self.best = self.examined = self.start.ravel()
        self.shape = self.start.shape
        self.deadline = time.perf_counter() + (self.limits.max_time or math.inf)
        try:
            status = self._steps()
        except _Stop as stop:
            status = stop.status
        except _core.Stopped:  # while shortest paths were searched
            status = "stopped"
        except KeyboardInterrupt as interrupt:
            raise RefinementInterrupted(self.best.reshape(self.shape), self.history) from interrupt
        embedding = self.best.reshape(self.shape)
        n_iter = max(0, len(self.history) - 1)
        return Refinement(embedding, self.history, status, n_iter, self.objective, self.refused)

    def _steps(self) -> Status:
        """Take steps with Nesterov's momentum (1983), which restarts where it gains too little."""
        tol = self.limits.tol
        system, value = self.target.at(self.best)
        self.history.append(value)
        before, run = self.best, 0
        for _ in range(self.limits.max_iter):
            self._ask()
            if value - self.bound < tol * value:
                return "converged"
            moved = self._without_flips(self.target.moved(system, self.best, self._ask))
            momentum = 0.0 if self.limits.method == "paper" else run / (run + 3)
            ahead = self._without_flips(moved + momentum * (moved - before))
            system, reached = self.target.at(ahead)
            if run and not value - reached > tol * value:
                run = 0
                plain, without = self.target.at(moved)
                if without < reached:
                    ahead, system, reached = moved, plain, without
            if not reached < value:
                return "converged"
            if self._harms(ahead, value, reached):
                shorter = self._rescaled(value) or self._shortened(ahead, value)
                if shorter is None:
                    return "guarded"
                ahead, system, reached = shorter
                moved, run = ahead, -1  # Momentum begins again.
            self.best, before, run = ahead, moved, run + 1
            self.history.append(reached)
            if value - reached <= tol * value:
                return "converged"
            value = reached
        return "max_iter"

    def _without_flips(self, end: Array) -> Array:
        """Return the end of a step, nearer to its start around triangles that it would turn over."""
        return end if self.barrier is None else self.barrier.kept(self.best, end)

    def _harms(self, ahead: Array, value: float, reached: float) -> bool:
        """Return whether a whole step does harm, and note which."""
        if self.guard is None or self.guard.is_negligible(ahead - self.examined):
            return False
        objection = self.guard.objection(ahead)
        if objection is None:
            self.examined = ahead
        elif not self.refused:
            name = self.objective
            self.refused = f"lowering {name} from {value:.3g} to {reached:.3g} would change {objection}"
        return objection is not None

    def _shortened(self, ahead: Array, value: float) -> tuple[Array, Any, float] | None:
        """Return the longest part of a step that does no harm with its frames, if it gains enough."""
        assert self.guard is not None
        for share in STEP_SHARES:
            self._ask()
            y = self._without_flips(self.best + share * (ahead - self.best))
            if self.guard.objection(y) is None:
                system, reached = self.target.at(y)
                self.examined = y
                return (y, system, reached) if value - reached > self.limits.tol * value else None
        return None

    def _rescaled(self, value: float) -> tuple[Array, Any, float] | None:
        """Return the best embedding in its best unit with its frames, if that lowers the objective.

        Another unit does no harm, and the step from there is shorter.
        """
        assert self.guard is not None
        if self.has_pins:
            return None
        scale = self.guard.problem.faithfulness(self.best.reshape(self.shape)).scale
        system, reached = self.target.at(self.best * scale)
        if not value - reached > self.limits.tol * value:
            return None
        self.guard, self.examined = replace(self.guard, start=self.guard.start * scale), self.best * scale
        return self.best * scale, system, reached

    def _ask(self) -> None:
        """Stop if the callback requests it or the time is over."""
        if self.progress.report("refine", len(self.history) - 1, self.limits.max_iter, self.history[-1]):
            raise _Stop("stopped")
        if time.perf_counter() > self.deadline:
            raise _Stop("max_time")
