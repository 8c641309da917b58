"""Progress of a long computation: its stages, their times, and how a callback stops it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import numpy as np

from .. import _core
from .arrays import mapped_file

__all__ = ["Callback", "Stopped", "Progress"]

Callback = Callable[[str, int, int, "float | None"], object]
"""Takes stage, done, total and the best value so far; returns True to stop."""

EMBEDDED = ("refine", "faithfulness", "evidence")
"""The stages that begin with an embedding: stopping them loses nothing."""

MEASURING = ("faithfulness", "evidence")
"""The stages that always end: they are short, and measure the embedding."""

CORE_NAMES = {
    "agreement": "evidence",
    "overlap": "evidence",
    "pruning": "evidence",
    "projection": "smoothing",
}
"""Stages by their name in the core."""

OPEN_ENDED = ("refine", "stress")
"""The stages that end when nothing more can be gained, so that their share is not known before."""

REWRITE_SECONDS = 0.1
ESTIMATE_SECONDS, ESTIMATE_SHARE = 0.5, 0.1
"""The time left is shown once a stage has run for this long and this share of it is done."""


class Stopped(_core.Stopped):
    """A callback asked to stop before there was an embedding to keep.

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(500, random_state=0)
    >>> try:
    ...     ub.GreedyProcrustes(callback=lambda stage, done, total, best: True).fit(X)
    ... except ub.Stopped as reason:
    ...     print(reason)
    the callback stopped the fit in its stage neighbors, at 0 of 500
    """


class Progress:
    """Shows the stages of a computation, lets a callback stop it, and takes the seconds of each (`timings`).

    The callback is called with ``(stage, done, total, best)`` when a stage begins, about every 20 ms, and when it
    ends; `best` is the best value of the objective so far. Once it has returned True, every later report is
    answered by True as well. Lines go to `stream`, by default standard error. If `data` are mapped from a file, a
    ValueError ends the stage when the file becomes shorter.

    Examples
    --------
    >>> watch = Progress(callback=lambda stage, done, total, best: done > 2)
    >>> with watch.stage("neighbors"):
    ...     watch.progress("neighbors", 2, 9), watch.progress("neighbors", 3, 9)
    (False, True)
    """

    def __init__(
        self,
        verbose: int | bool = 0,
        callback: Callback | None = None,
        *,
        stream: TextIO | None = None,
        data: Any = None,
    ) -> None:
        if callback is not None and not callable(callback):
            raise ValueError(f"callback = {callback!r} cannot be called")
        self.timings: dict[str, float] = {}
        self.best: float | None = None
        self._callback = callback
        self._asked = False
        self._lines = _Lines(stream or sys.stderr) if verbose else None
        self._stage: str | None = None
        self._since = 0.0
        self._done, self._total = 0, 0
        self._counts_once = True
        self._file = mapped_file(data)

    @contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[None]:
        """Run one stage. With `total`, the callback is called when it begins and when it ends.

        A stage within itself is one stage. If the core reports another stage's name, the time counts for that
        one until it reports the first again.
        """
        if self._stage == name:
            yield
            return
        self._enter(name)
        finished = False
        try:
            if total is not None and self.report(name, 0, total) and name not in EMBEDDED:
                raise self._stopped()
            self._check_file()
            yield
            self._check_file()
            self._turn_to(name)
            if total is not None:
                self.report(name, total, total)
            finished = True
        except Stopped:
            raise
        except _core.Stopped as error:
            raise self._stopped() from error
        finally:
            self._leave(finished)

    def progress(self, stage: str, done: int, total: int) -> bool:
        """Take a report of the core, and return whether to stop."""
        stage = CORE_NAMES.get(stage, stage)
        self._turn_to(stage)
        self._check_file()
        return self.report(stage, done, total)

    def report(self, stage: str, done: int, total: int, best: float | None = None) -> bool:
        """Take a report with the best value so far, and return whether to stop; measuring always ends."""
        # A stage that begins to count again does so an unknown number of times, so its time left is unknown.
        self._counts_once &= done >= self._done and self._total in (0, total)
        self._done, self._total = done, total
        if best is not None:
            self.best = float(best)
        if self._callback is not None and _is_true(self._callback(stage, done, total, self.best)):
            self._asked = True
        if self._lines is not None:
            seconds = time.perf_counter() - self._since
            left = _left(done, total, seconds) if self._counts_once else ""
            self._lines.show(stage, done, total, seconds, left, self._value(stage))
        return self._asked and stage not in MEASURING

    @property
    def stop_asked(self) -> bool:
        """Return whether the callback asked to stop."""
        return self._asked

    def _check_file(self) -> None:
        if self._file is not None:
            self._file.check()

    def _enter(self, name: str) -> None:
        self._stage, self._since = name, time.perf_counter()
        self._done, self._total, self._counts_once = 0, 0, True

    def _turn_to(self, name: str) -> None:
        """Count the time from here on for another stage; all of it, if the first has not begun to work."""
        if self._stage is None or self._stage == name:
            return
        if self._done == 0:
            self._stage = name
            return
        self._leave(True)
        self._enter(name)

    def _leave(self, finished: bool) -> None:
        """Close the stage under way."""
        name, seconds = self._stage or "", time.perf_counter() - self._since
        self.timings[name] = self.timings.get(name, 0.0) + seconds
        if self._lines is not None:
            share = None if finished else _share(self._done, self._total)
            self._lines.close(name, seconds, share, self._value(name))
        self._stage = None

    def _value(self, stage: str) -> str:
        shown = self.best is not None and stage in ("greedy", "refine", "stress")
        return f", best {self.best:.3g}" if shown else ""

    def _stopped(self) -> Stopped:
        where = f"at {self._done:,} of {self._total:,}"
        return Stopped(f"the callback stopped the fit in its stage {self._stage}, {where}")


class _Lines:
    """One line for each stage: rewritten in place where that can be, else printed when the stage ends."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._rewrites = stream is not None and _understands_return(stream)
        self._shown = 0.0
        self._width = 0

    def show(self, stage: str, done: int, total: int, seconds: float, left: str, best: str) -> None:
        now = time.perf_counter()
        if not self._rewrites or now - self._shown < REWRITE_SECONDS:
            return
        self._shown = now
        if stage in OPEN_ENDED:
            share, left = "", f", step {done + 1} of at most {total}"
        else:
            share = f"{int(100 * _share(done, total))} %"
        self._write(f"  {stage:<14}{share:>5}{_seconds(seconds):>10}{left}{best}", end="")

    def close(self, stage: str, seconds: float, share: float | None, best: str) -> None:
        """Show how a stage ended: in how many seconds, or, cut short, at which share."""
        reached = "" if share is None or stage in OPEN_ENDED else f"{int(100 * share)} %"
        text = f"  {stage:<14}{reached:>5}{_seconds(seconds):>10}"
        self._write(text + ("" if share is None else ", cut short") + best, end="\n")
        self._shown = 0.0

    def _write(self, text: str, end: str) -> None:
        if self._stream is None:
            return
        begin = "\r" if self._rewrites else ""
        # Spaces cover the rest of a longer line: a notebook has no other way to clear it.
        padded = text.ljust(self._width) if self._rewrites else text
        self._width = 0 if end else len(text)
        self._stream.write(begin + padded + end)
        self._stream.flush()


def _is_true(answer: object) -> bool:
    """Return whether an answer is True; what merely counts as true may be returned by accident."""
    return isinstance(answer, bool | np.bool_) and bool(answer)


def _understands_return(stream: TextIO) -> bool:
    return stream.isatty() or type(stream).__module__.partition(".")[0] == "ipykernel"


def _share(done: int, total: int) -> float:
    return min(1.0, done / total) if total > 0 else 0.0


def _left(done: int, total: int, seconds: float) -> str:
    share = _share(done, total)
    if seconds < ESTIMATE_SECONDS or not ESTIMATE_SHARE <= share < 1:
        return ""
    left = max(1, round(seconds * (1 - share) / share))
    return f", about {f'{left} s' if left < 60 else _seconds(left)} left"


def _seconds(seconds: float) -> str:
    """Write a duration as people read it: 0.04 s, 12.3 s, 4:05 min, 2:10 h."""
    if seconds < 59.95:
        return f"{seconds:.2f} s" if seconds < 9.995 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}:{rest:02} min"
    return f"{minutes // 60}:{minutes % 60:02} h"
