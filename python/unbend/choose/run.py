"""The course of a sweep: the order of the embeddings, its end, and its progress."""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ..core.progress import Callback, Progress, Stopped
from ..fit.trust.evidence import GEODESIC
from ..graph.neighbors import DEFAULT_NEIGHBORS, Neighborhoods
from .choice import DimensionChoice, choice_of, next_dimension, shown_dimension
from .dimension import Dimension
from .sweep import INTERRUPTIONS, Candidate, Key, Sweep

__all__ = ["Ending", "Run", "Watch"]

Ending = Literal["finished", "out of time", "interrupted"]

HOPELESS_SHARE = 0.02
"""With a larger share of short circuits among the neighbors, k is not tried. Below, fits mend graphs."""

LINE_SECONDS = 10.0
"""Seconds between two lines that are printed while an embedding is made."""


class Watch:
    """Shows lines, calls the callback, and knows the time that is left.

    The time left is estimated from the slowest embeddings so far, because those with most neighbors come last.
    """

    def __init__(self, verbose: int | bool, callback: Callback | None, max_time: float | None) -> None:
        Progress(callback=callback)  # refuses what cannot be called
        self.lines = Progress(verbose)
        self.best: float | None = None
        self.deadline = math.inf if max_time is None else time.perf_counter() + max_time
        self._callback, self._verbose = callback, verbose
        self._shown = time.perf_counter()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Take the time of a stage, and print a line when it ends."""
        with self.lines.stage(name):
            yield
        self._shown = time.perf_counter()

    @property
    def is_late(self) -> bool:
        """True if the time is over."""
        return time.perf_counter() > self.deadline

    def ask(self, label: str, done: int, total: int, seconds: Iterable[float]) -> bool:
        """Report to the callback, and return whether it asks to stop; print a line now and then."""
        now = time.perf_counter()
        if self._verbose and now - self._shown > LINE_SECONDS:
            self._shown = now
            slowest = sorted(seconds)[-3:]
            left = (total - done) * sum(slowest) / len(slowest) if len(slowest) == 3 else 0.0
            rest = f", at most about {math.ceil(left)} s left" if left else ""
            print(f"  {label} ({done} of at most {total} embeddings made{rest})", file=sys.stderr, flush=True)
        answer = None if self._callback is None else self._callback(label, done, total, self.best)
        return isinstance(answer, bool | np.bool_) and bool(answer)


@dataclass(eq=False)
class Run:
    """State of a sweep."""

    sweep: Sweep
    models: Mapping[str, Any]
    estimate: Dimension
    dimensions: tuple[int, ...]
    asked: bool
    """True if the caller named the dimensions."""
    watch: Watch
    exhaustive: bool
    made: list[Candidate] = field(default_factory=list)
    fitted: dict[Key, Any] = field(default_factory=dict)
    """The model of each embedding; a resumed sweep lacks those of another session."""

    @property
    def sizes(self) -> list[int]:
        """Numbers of neighbors, the usual first, then those farther from it."""
        far = {k: abs(math.log(k / DEFAULT_NEIGHBORS)) for k in self.sweep.sizes}
        return sorted(self.sweep.sizes, key=lambda k: (self._is_hopeless(k), far[k], k))

    @property
    def tasks(self) -> list[Key]:
        """All embeddings of the sweep, in the order in which they are made."""
        d = self.choice.value
        others = [other for other in self.dimensions if other != d] if self.asked else []
        order = [d, *sorted(others, key=lambda other: abs(other - d))]
        return [(name, k, other) for other in order for k in self.sizes for name in self.models]

    @property
    def choice(self) -> DimensionChoice:
        """The dimension that the embeddings made so far suggest."""
        return DimensionChoice.of(self._probes(), self.dimensions, self.estimate, self.asked)

    @property
    def best(self) -> Candidate:
        """The best embedding so far."""
        made = {c.n_components for c in self._successful()}
        d = self.choice.value
        return choice_of(self.made, d if d in made else min(made, key=lambda other: (abs(other - d), -other)))

    def finish(self) -> Ending:
        """Make the missing embeddings; return how that ended."""
        try:
            self._look_at_dimensions()
            for task in self.tasks:
                if task not in self._keys() and (self.exhaustive or self._is_needed(task)):
                    self._add(*task)
            if not self._successful():
                raise ValueError(f"no embedding could be made: {self.made[0].error}")
            if self.model is None:
                key = self.best.key
                self.fitted[key] = self._embed(*key)[0]
        except INTERRUPTIONS:
            if not self._successful():
                raise
            return "out of time" if self.watch.is_late else "interrupted"
        return "finished"

    @property
    def model(self) -> Any:
        """The model of the best embedding, or None if it was made in another session."""
        return self.fitted.get(self.best.key)

    def fit_of_all(self, x: Any, graph: Neighborhoods | None, name: str, k: int, d: int) -> Any:
        """Return an estimator fitted to all points."""
        label = "all points"

        def ask(*_: Any) -> bool:
            return self.watch.ask(label, len(self.made), len(self.made), [])

        with self.watch.stage(label):
            model = self.sweep.prepared(self.models[name], k, d, ask)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # The verdict covers these warnings.
                model.fit(x, neighborhoods=graph)
            if ask():
                raise Stopped("the callback stopped the fit of all points")
        return model.set_params(callback=None)

    def _look_at_dimensions(self) -> None:
        """Make one embedding in each dimension that may be the right one."""
        if self.asked and len(self.dimensions) == 1:
            return
        d: int | None = shown_dimension(self.estimate, self.dimensions)
        name, k, dim = next(iter(self.models)), self.sizes[0], self.sweep.x.shape[1]
        while d is not None:
            if (name, k, d) not in self._keys():
                self._add(name, k, d)
            if d not in self._probes():
                return  # The fit failed.
            d = next_dimension(d, self._probes(), self.dimensions, self.estimate, dim)

    def _probes(self) -> dict[int, tuple[float, float]]:
        """Return score and least score over graphs of the first method with the usual neighbors, by dimension."""
        name, k = next(iter(self.models)), self.sizes[0]
        probes = {c.n_components: c for c in self._successful() if (c.method, c.n_neighbors) == (name, k)}
        d: int | None = shown_dimension(self.estimate, self.dimensions)
        seen: dict[int, tuple[float, float]] = {}
        while d is not None and d in probes:
            seen[d] = probes[d]["score"].value, probes[d]["closest"].value
            d = next_dimension(d, seen, self.dimensions, self.estimate, self.sweep.x.shape[1])
        return seen

    def _is_needed(self, task: Key) -> bool:
        """Return whether an embedding may be chosen, or none can be chosen yet."""
        _, k, d = task
        made = [c for c in self._successful() if c.n_components == self.choice.value]
        if not made:
            return True
        return d == self.choice.value and not self._is_hopeless(k) and not self._is_repeated(k, d)

    def _is_repeated(self, k: int, d: int) -> bool:
        """Return whether a method fell back on geodesic distances: others embed the same ones in the same way."""
        models = [self.fitted.get((name, k, d)) for name in self.models]
        tried = [one for model in models for one in getattr(model, "candidates_", ())]
        return any(one.chosen and one.name == GEODESIC for one in tried)

    def _is_hopeless(self, k: int) -> bool:
        grid = self.sweep.grids[k]
        return grid.fragmented or grid.short_circuits > HOPELESS_SHARE

    def _keys(self) -> set[Key]:
        return {c.key for c in self.made}

    def _successful(self) -> list[Candidate]:
        return [c for c in self.made if c.error is None]

    def _add(self, name: str, k: int, d: int) -> None:
        model, candidate = self._embed(name, k, d)
        self.made.append(candidate)
        if candidate.error is None:
            self.fitted[candidate.key] = model
            self.watch.best = self.best["score"].value

    def _embed(self, name: str, k: int, d: int) -> tuple[Any, Candidate]:
        label = f"{name}, k = {k}, d = {d}"
        seconds = [c.seconds for c in self.made]
        total = max(len(self._keys() | set(self.tasks)), len(self.made))

        def ask(*_: Any) -> bool:
            late = self.watch.is_late and bool(self._successful())
            return self.watch.ask(label, len(self.made), total, seconds) or late

        with self.watch.stage(label):
            if ask():
                raise Stopped(f"the callback stopped the sweep at {label}")
            found = self.sweep.embed(name, self.models[name], k, d, ask)
            if ask():  # A stopped refinement returns an unfinished embedding.
                raise Stopped(f"the callback stopped the sweep at {label}")
        return found
