"""Scaling of an incomplete graph, from its pairs to its embedding."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from ... import _core
from ...core.caller import warn
from ...core.progress import Progress
from ...core.random import RandomState, stream
from ..problem import Array, Indices, check_connected, members
from ..trust.verdict import UntrustedWarning
from .ambiguity import Ambiguity, ambiguity_of
from .pairs import Ends, MeasuredPairs
from .patches import cover, embed_patches
from .paths import TriangleInequalities, embed_paths, inequalities_of
from .repair import reflected
from .stress import Laplacian, Minimum, Stress, minimize
from .synchronize import bring_together
from .verdict import ScalingVerdict, Shape, overlap_of, verdict_of

__all__ = ["GraphScalingSettings", "ScaledGraph", "TriedStart", "check_joined"]

Start = Literal["auto", "patches", "paths", "random"]

FEW_POINTS, GOOD_FIT = 20_000, 1.5
"""Above the first number of points, paths are not tried if the relative error of the start from patches is at most
this multiple of the error within patches."""

MAX_REPAIRS = 10
"""Maximum number of times that points are reflected and the stress is minimized again."""

EXACT_FIT = 1e-10
"""Stress up to this share of the sum of w d^2 counts as none when starts are compared."""


@dataclass(frozen=True)
class TriedStart:
    """A start that was tried for a connected component.

    Attributes
    ----------
    name : str
        "patches", "paths", "random" or "init".
    component : int
        Number of the component in `component_labels_`.
    n_points : int
        Number of points of the component.
    start_stress, stress : float
        Stress at the start, and after the minimization.
    n_iter : int
        Number of steps of the minimization.
    converged : bool
        False if `max_iter` was reached.
    chosen : bool
        True for the start with the least stress.
    """

    name: str
    component: int
    n_points: int
    start_stress: float
    stress: float
    n_iter: int
    converged: bool
    chosen: bool


@dataclass(frozen=True, eq=False)
class ScaledGraph:
    """Result of the scaling of a graph; the fields are the attributes of :class:`unbend.GraphScaling`."""

    embedding: Array = field(repr=False)
    pairs: Ends = field(repr=False)
    distances: Array = field(repr=False)
    weights: Array = field(repr=False)
    residuals: Array = field(repr=False)
    component_labels: Indices = field(repr=False)
    stress: float
    normalized_stress: float
    n_iter: int
    candidates: list[TriedStart]
    ambiguity: Ambiguity = field(repr=False)
    triangle_inequalities: TriangleInequalities
    verdict: ScalingVerdict
    trace: dict[str, Any] = field(repr=False)

    def attributes(self) -> dict[str, Any]:
        """Return what an estimator learns, by the name of its attribute."""
        return {f"{entry.name}_": getattr(self, entry.name) for entry in fields(self)}


@dataclass(frozen=True, eq=False)
class ScaledComponents:
    """The components of a graph, embedded by themselves, and how they came about."""

    embedding: Array = field(repr=False)
    tried: list[TriedStart]
    histories: list[list[float]] = field(repr=False)
    others: list[Shape]  # Other embeddings of the largest component.


@dataclass(frozen=True)
class GraphScalingSettings:
    """The parameters of the scaling of graphs; see :class:`unbend.GraphScaling`."""

    n_components: int = 2
    start: Start = "auto"
    n_init: int = 4
    accelerate: bool = True
    max_iter: int = 1000
    tol: float = 1e-6
    random_state: RandomState = None
    threads: int = 0

    def embed(self, pairs: MeasuredPairs, init: Array | None, progress: Progress) -> ScaledGraph:
        """Embed every component, set them side by side, and examine the result."""
        return self._examined(pairs, self.scaled(pairs, init, progress), progress)

    def scaled(self, pairs: MeasuredPairs, init: Array | None, progress: Progress) -> ScaledComponents:
        """Embed every component; they have no place relative to each other yet."""
        n, d = pairs.n_points, self.n_components
        rng = stream(self.random_state, "scaling")
        embedding, tried, histories, others = np.zeros((n, d)), [], [], []
        sizes = np.bincount(pairs.labels)
        for component, points in sorted(enumerate(members(pairs.labels)), key=lambda item: -len(item[1])):
            if len(points) == 1:
                continue
            whole = len(sizes) == 1
            task = _Component(self, pairs if whole else pairs.part(points), progress, rng)
            runs = task.run(None if init is None else init[points])
            best = min(runs, key=lambda run: run.minimum.stress)
            embedding[points] = best.minimum.coordinates
            tried += [run.tried(component, len(points), run is best) for run in runs]
            histories.append(best.minimum.history)
            if len(points) > n / 2:
                others = [_shape(best.minimum, run.minimum, task.total) for run in runs if run is not best]
        return ScaledComponents(embedding, tried, histories, others)

    def _overlap(self, pairs: MeasuredPairs, y: Array) -> float:
        """Return the overlap of the largest component."""
        points = np.flatnonzero(pairs.labels == np.bincount(pairs.labels).argmax())
        return overlap_of(pairs.part(points), y[points], self.threads)

    def _examined(
        self,
        pairs: MeasuredPairs,
        scaled: ScaledComponents,
        progress: Progress,
    ) -> ScaledGraph:
        tried = scaled.tried
        y = _core.lay_out(scaled.embedding, pairs.labels).reshape(scaled.embedding.shape)
        measured = Stress(pairs)
        residuals, value = measured.lengths(y) - pairs.distances, measured.value(y)
        error = math.sqrt(value / measured.total) if measured.total else 0.0
        with progress.stage("evidence", 1):
            ambiguity = ambiguity_of(pairs, y)
            inequalities = inequalities_of(pairs, stream(self.random_state, "inequalities"))
            verdict = verdict_of(
                pairs, error, self._overlap(pairs, y), ambiguity, inequalities, scaled.others
            )
        if not verdict.trusted:
            warn(verdict.sentence, UntrustedWarning)
        return ScaledGraph(
            y,
            pairs.ends,
            pairs.distances,
            pairs.weights,
            residuals,
            pairs.labels,
            value,
            error,
            max((one.n_iter for one in tried if one.chosen), default=0),
            tried,
            ambiguity,
            inequalities,
            verdict,
            {"history": scaled.histories},
        )


def check_joined(pairs: MeasuredPairs, disconnected: str) -> None:
    """Warn if the pairs do not join all points, or raise a ValueError if `disconnected` is "error"."""
    if len(pairs) == 0:
        raise ValueError(f"X has no pairs of its {pairs.n_points} points: at least one distance is needed")
    graph, remedy = "the graph of the measured pairs", "measure pairs that join them"
    check_connected(pairs.labels, disconnected, graph, remedy)


@dataclass(frozen=True, eq=False)
class _Run:
    """A start, and the minimum that it leads to."""

    name: str
    minimum: Minimum

    def tried(self, component: int, n_points: int, chosen: bool) -> TriedStart:
        found = self.minimum
        values = found.history[0], found.stress, found.n_iter, found.converged
        return TriedStart(self.name, component, n_points, *values, chosen)


class _Component:
    """One connected graph, with its stress and its Laplacian."""

    def __init__(
        self,
        settings: GraphScalingSettings,
        pairs: MeasuredPairs,
        progress: Progress,
        rng: np.random.Generator,
    ) -> None:
        self._settings, self._pairs, self._progress, self._rng = settings, pairs, progress, rng
        self._stress = Stress(pairs)
        self._laplacian = Laplacian(pairs.n_points, pairs.ends, pairs.weights)
        self._typical = float(np.median(pairs.distances))
        self._patch_error = 0.0
        self.total = self._stress.total

    def run(self, init: Array | None) -> list[_Run]:
        """Minimize the stress from the starts, until one suffices."""
        runs: list[_Run] = []
        for name, start in self._starts(init):
            runs.append(_Run(name, self._minimized(start)))
            if name == "patches" and self._suffices(runs[-1].minimum):
                break
        return runs

    def _suffices(self, found: Minimum) -> bool:
        """Return whether many points fit their distances about as well as patches do by themselves."""
        error = math.sqrt(found.stress / self.total) if self.total else 0.0
        return self._pairs.n_points > FEW_POINTS and error <= GOOD_FIT * self._patch_error

    def _starts(self, init: Array | None) -> Iterator[tuple[str, Array]]:
        settings, d = self._settings, self._settings.n_components
        if init is not None:
            yield "init", init
            return
        if settings.start == "random":
            scale = self._typical * self._pairs.n_points ** (1 / d) / 2
            for _ in range(settings.n_init):
                yield "random", scale * self._rng.normal(size=(self._pairs.n_points, d))
            return
        patches = self._from_patches() if settings.start != "paths" else None
        if patches is not None:
            yield "patches", patches
        if patches is None or settings.start == "auto":
            with self._progress.stage("paths"):
                paths = embed_paths(self._pairs, d, self._rng, self._ask("paths"))
            yield "paths", paths

    def _from_patches(self) -> Array | None:
        covering = cover(self._pairs)
        if covering is None or len(covering) == 1:
            return None  # A single patch is the whole graph, and paths do the same.
        with self._progress.stage("patches", len(covering)):
            patches = embed_patches(self._pairs, covering, self._settings.n_components, self._ask("patches"))
            self._patch_error = float(np.sqrt(np.mean(patches.errors**2)))
            return bring_together(patches, self._stress, self._laplacian, self._typical)

    def _minimized(self, start: Array) -> Minimum:
        """Return the minimum of the stress from a start, after points were reflected where that lowers it."""
        steps = self._settings.max_iter
        with self._progress.stage("stress", steps):
            found = self._descended(start, steps)
            for _ in range(MAX_REPAIRS):
                better = reflected(self._pairs, found.coordinates) if found.converged else None
                if better is None:
                    return found
                again = self._descended(better, steps - found.n_iter)
                if again.stress >= found.stress:
                    return found
                found = replace(again, history=found.history[:-1] + again.history)
            return found

    def _descended(self, start: Array, steps: int) -> Minimum:
        settings = self._settings
        ask = partial(self._report_stress, settings.max_iter)
        run = partial(minimize, self._stress, self._laplacian, start, steps, settings.tol)
        return run(accelerate=settings.accelerate, ask=ask)

    def _report_stress(self, total: int, done: int, value: float) -> None:
        if self._progress.report("stress", done, total, value):
            raise _core.Stopped

    def _ask(self, stage: str) -> Callable[[int, int], None]:
        def ask(done: int, total: int) -> None:
            if self._progress.report(stage, done, total):
                raise _core.Stopped

        return ask


def _shape(best: Minimum, other: Minimum, total: float) -> Shape:
    """Compare two embeddings after the motion that fits best; `total` is the sum of w d^2."""
    one = best.coordinates - best.coordinates.mean(axis=0)
    two = other.coordinates - other.coordinates.mean(axis=0)
    left, _, right = np.linalg.svd(two.T @ one)
    extent = float(np.linalg.norm(one)) or 1.0
    rounding = EXACT_FIT * total
    return Shape(
        (other.stress + rounding) / (best.stress + rounding),
        float(np.linalg.norm(two @ left @ right - one)) / extent,
    )
