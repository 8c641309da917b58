"""Other embeddings of the same data, tried when the first disagrees with the data beyond its neighborhoods.

The first embedding is that of the graph as it is. The others are made from cleaned graphs: without short
circuits, and with the points projected on local planes. Each is judged by the evidence on its own graph, because
the paths of a graph with short circuits are wrong as well. The least score wins; an embedding of more processing
must be better by `STEP_PENALTY` for each step. If none can be trusted, geodesic distances are embedded, which
need no tangents. If edges are near the tangents, that embedding is refined, also where all others are only fair or
need a cut: the tangents of a surface that bends much do not tell how it fits into d dimensions as a whole.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np

from ... import _core
from ...core import memory
from ...core.caller import warn
from ...core.memory import MAX_PRUNED_POINTS, POINTS_IN_GEODESICS
from ...core.progress import Progress
from ...core.random import stream
from ...graph.carry import Carrier
from ...graph.clean import CleanGraph, pruned, smoothed
from ...graph.copies import search_distinct
from ...metrics.agreement import LEAST_COMPONENT
from ...metrics.overlap import OVERLAPPING
from ..problem import Array, Flags, Indices, Problem
from ..procrustes import ProcrustesEmbedding, ProcrustesSettings
from ..refine import refined
from ..run import flatten
from .evidence import GEODESIC, REFINED_GEODESIC, SMOOTHED_SCORE, TRUSTED_SCORE, Evidence, evidence
from .geodesics import embed_geodesics

__all__ = ["TriedEmbedding", "TRUSTED_SCORE", "Trial", "best_candidate", "evidence_of"]

Found = TypeVar("Found", bound=ProcrustesEmbedding)

GOOD_SCORE, FAIR_SCORE = 0.005, 0.02
"""No other embedding is tried if the first has at most the first score. Geodesic distances are refined only if no
embedding has at most the second, which a cut alone adds, and kept only if they have it then."""

STEP_PENALTY = 0.001
"""Added to the score of a candidate for each step of its processing, when candidates are compared."""

CUT_PENALTY = 0.02
"""Added to the score of an embedding with a cut: one that lies flat without is better. A cut may part what short
circuits, not the surface, keep from lying flat."""

SMOOTHINGS = (1, 2)
"""Points are projected on planes of this many times the neighbors of the graph."""

MAX_SMOOTHED_POINTS, SAMPLE_SIZE = 5_000, 2_500
"""Up to the first number, all points are smoothed. Above it, a sample of the second size is smoothed, with more
neighbors in proportion, and carries the others."""

STEADY_ANGLE, UNSTEADY_ANGLE = 0.3, 0.5
"""Median sines of the angle between tangents of neighbors. Below the first, geodesic distances are not needed;
above the second, smoothed points still show no surface, and are not embedded."""

MAX_OFF_TANGENT = 0.3
"""Geodesic distances are refined up to this median part of an edge off the tangents of its ends: noise as wide as
the neighborhoods has more, and a surface that bends into more than d dimensions less."""

LEAST_SHARE = 0.8
"""A candidate must embed at least this share of the points of every connected component that matters."""

LEAST_POINTS_PER_NEIGHBOR = 4
"""Fewer points for each neighbor are too few to try other graphs."""


@dataclass(frozen=True)
class TriedEmbedding:
    """An embedding that was tried, and how well it agrees with its graph.

    Attributes
    ----------
    name : str
        Name of its graph and processing.
    disagreement, overlap : float
        Squared error of distances within balls, as a share of squared geodesic distances; and share of the
        nearest embedded points that are far apart on the graph.
    score : float
        Their sum, and a tenth of the share of the worst places that are torn. The least wins, but each step of
        processing adds 0.001, and a cut 0.02, when candidates are compared.
    n_outliers : int
        Number of points that were left out and placed by the others.
    chosen : bool
        True for the embedding of the fit.
    """

    name: str
    disagreement: float
    overlap: float
    score: float
    n_outliers: int = 0
    chosen: bool = False


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate with its embedding."""

    name: str
    found: ProcrustesEmbedding = field(repr=False)
    evidence: Evidence
    # Points that were left out of the graph and placed by the others.
    outliers: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.uint32), repr=False)
    graph: CleanGraph | None = field(default=None, repr=False)

    @property
    def rank(self) -> float:
        """The score with the penalty for a cut."""
        return self.evidence.score + CUT_PENALTY * bool(len(self.found.cut_pairs))

    @property
    def limit(self) -> float:
        """The largest score to trust."""
        return SMOOTHED_SCORE if self.graph is not None and self.graph.smoothing else TRUSTED_SCORE

    def summary(self, chosen: bool) -> TriedEmbedding:
        """Return its summary for `candidates_`."""
        e = self.evidence
        return TriedEmbedding(self.name, e.disagreement, e.overlap, e.score, len(self.outliers), chosen)


def best_candidate(
    settings: ProcrustesSettings, problem: Problem, first: Found, progress: Progress
) -> tuple[Found, Trial]:
    """Return the embedding to keep, with all candidates noted in it, and its evidence."""
    cleaned = cache(partial(_pruned, problem, progress))
    trials = [Trial("graph as it is", first, evidence_of(problem, first, progress, cleaned))]
    wanted = settings.candidates
    is_preview = settings.refine is None
    needed = wanted is True or (wanted == "auto" and not is_preview and trials[0].rank > GOOD_SCORE)
    needed = needed and problem.has_points  # The others are made by a search, or by projection.
    if needed and not progress.stop_asked and _has_memory(settings):
        with suppress(_core.Stopped):  # The callback ends the search, not the fit.
            trials.extend(_tried(settings, problem, trials[0], progress, cleaned))
    scores = [trial.rank + STEP_PENALTY * step for step, trial in enumerate(trials)]
    chosen = trials[int(np.argmin(scores))]
    summaries = [trial.summary(trial is chosen) for trial in trials]
    found: Any = replace(chosen.found, candidates=summaries)
    return found, chosen


def _has_memory(settings: ProcrustesSettings) -> bool:
    """Return whether memory suffices for other embeddings; warn if not."""
    reason = memory.shortage(settings.candidate_memory, settings.max_memory)
    if reason:
        warn(f"Not trying other embeddings: trying them {reason}.", UserWarning)
    return not reason


def on_sheet(problem: Problem, found: ProcrustesEmbedding) -> Problem:
    """Return the problem without the pairs that a cut parts."""
    if len(found.cut_pairs) == 0:
        return problem
    graph = problem.neighborhoods.core
    sheet = type(problem.neighborhoods).from_core(graph.without(graph.marked(found.cut_pairs)))
    return replace(problem, neighborhoods=sheet)


def evidence_of(
    problem: Problem,
    found: ProcrustesEmbedding,
    progress: Progress,
    cleaned: Callable[[], CleanGraph] | None = None,
) -> Evidence:
    """Return the worse evidence of two graphs: the embedding's own, and that without short circuits.

    An embedding that follows short circuits agrees with the graph that holds them. `cleaned` returns the graph of
    the problem without short circuits; without it, that is made here.
    """
    sheet = on_sheet(problem, found)
    with progress.stage("evidence", len(problem)):
        seen = evidence(sheet, found.embedding, progress)
        if len(problem) > MAX_PRUNED_POINTS or not problem.has_points:
            return seen
        graph = cleaned() if cleaned is not None and sheet is problem else _pruned(sheet, progress)
        if graph.n_dropped == 0:
            return seen
        clean = replace(sheet, neighborhoods=graph.neighborhoods)
        return max(seen, evidence(clean, found.embedding, progress), key=lambda e: e.score)


def _pruned(problem: Problem, progress: Progress, smoothing: int = 0) -> CleanGraph:
    d, report = problem.n_components, progress.progress
    with progress.stage("evidence"):
        return pruned(problem.checked, problem.neighborhoods, d, problem.n_jobs, report, smoothing)


def _tried(
    settings: ProcrustesSettings,
    problem: Problem,
    given: Trial,
    progress: Progress,
    cleaned: Callable[[], CleanGraph],
) -> Iterator[Trial]:
    """Try cleaned graphs, and geodesic distances if none of them can be trusted or all need a cut."""
    k, n = problem.neighborhoods.typical_size, len(problem)
    if n < LEAST_POINTS_PER_NEIGHBOR * (k + 1):
        return
    attempt = _Attempt(replace(settings, cut=False), problem, given.found, progress, cleaned)
    trusted, best = given.evidence.score <= given.limit, given.rank
    makers: list[tuple[str, Callable[[], Trial | None]]] = [("without short circuits", attempt.pruned)]
    makers += [(f"smoothed by {t * k} neighbors", partial(attempt.smoothed, t * k)) for t in SMOOTHINGS]
    for name, make in makers:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # They are about embeddings that may not be kept.
            trial = make()
        if trial is not None:
            trusted |= trial.evidence.score <= trial.limit
            best = min(best, trial.rank)
            yield replace(trial, name=name)
    if not trusted:
        trial = attempt.geodesic()
        if trial is not None:
            yield trial
    if best > FAIR_SCORE:
        trial = attempt.refined_geodesic()
        if trial is not None:
            yield trial


@dataclass(frozen=True)
class _Attempt:
    """Makes the candidates of one problem."""

    settings: ProcrustesSettings
    problem: Problem
    first: ProcrustesEmbedding
    progress: Progress
    cleaned: Callable[[], CleanGraph]

    def pruned(self) -> Trial | None:
        """Embed the graph without its short circuits, if there are any."""
        graph = self.cleaned()
        return None if graph.n_dropped == 0 else self._embedded(self.problem, graph, None)

    def smoothed(self, k: int) -> Trial | None:
        """Embed the points after a local projection from `k` neighbors, or a sample of many points."""
        with self.progress.stage("smoothing", len(self.problem)):
            rows, points = self._moved(k)
        problem = self._searched(self.problem.of(rows), points)
        graph = _pruned(problem, self.progress, k)
        return None if graph.angle > UNSTEADY_ANGLE else self._embedded(problem, graph, rows)

    def geodesic(self) -> Trial | None:
        """Embed the geodesic distances on slightly smoothed points, unless tangents are steady."""
        problem, clean, rows = self._sampled()
        if clean.angle < STEADY_ANGLE:
            return None
        moved = _core.projected(
            problem.checked, clean.neighborhoods.core, problem.n_components, problem.threads
        )
        points = _core.Points(moved.reshape(problem.points.shape))
        problem = replace(problem, source=points)
        embedding = embed_geodesics(problem, self.progress)
        seen = evidence(problem, embedding, self.progress)
        placed = self._carried(problem, embedding, rows)
        found = replace(self.first.extended(placed, None), trace={"geodesics": {"angle": clean.angle}})
        return Trial(GEODESIC, found, seen, graph=clean)

    def refined_geodesic(self) -> Trial | None:
        """Embed the geodesic distances and refine all points from there, if edges are near the tangents.

        An embedding that overlaps is not refined: folds stay. Refinement can hide a fold of its own, so only a
        score that leaves no doubt counts.
        """
        steps = self.settings.steps
        if steps is None or self.cleaned().off_tangent > MAX_OFF_TANGENT:
            return None
        problem, _, rows = self._sampled()
        embedding = embed_geodesics(problem, self.progress)
        if evidence(problem, embedding, self.progress).overlap > OVERLAPPING:
            return None
        start = self._carried(problem, embedding, rows)
        refinement = refined(self.problem, start, steps, self.progress)
        found = replace(
            self.first.extended(refinement.embedding, None), refinement=refinement, n_iter=refinement.n_iter
        )
        seen = evidence_of(self.problem, found, self.progress, self.cleaned)
        return None if seen.score > FAIR_SCORE else Trial(REFINED_GEODESIC, found, seen)

    def _sampled(self) -> tuple[Problem, CleanGraph, Indices | None]:
        """Return the problem of a sample small enough for geodesic distances, its clean graph and its rows."""
        if len(self.problem) <= POINTS_IN_GEODESICS:
            return self.problem, self.cleaned(), None
        rows = self._sample(POINTS_IN_GEODESICS)
        problem = self._searched(self.problem.of(rows), _core.Points(self.problem.points[rows]))
        return problem, _pruned(problem, self.progress), rows

    def _searched(self, problem: Problem, points: _core.Points) -> Problem:
        """Return the problem of other points, with as many neighbors as before."""
        k = min(problem.neighborhoods.typical_size, len(points) - 1)
        with self.progress.stage("neighbors", len(points)):
            graph = search_distinct(points, k, "auto", 1.0, problem.n_jobs, self.progress.progress)
        return replace(problem, source=points, neighborhoods=graph)

    def _moved(self, k: int) -> tuple[Indices | None, _core.Points]:
        """Return the points of a candidate, None for all, and where they are after the projection."""
        problem, report = self.problem, self.progress.progress
        n, d = len(problem), problem.n_components
        if n <= MAX_SMOOTHED_POINTS:
            return None, smoothed(problem.checked, min(k, n - 1), d, problem.n_jobs, report)
        rows = self._sample(SAMPLE_SIZE)
        wide = min(k * n // SAMPLE_SIZE, n - 1)
        lists, _ = _core.query(problem.checked, problem.points[rows], wide + 1, "auto", problem.threads)
        others = np.ascontiguousarray(lists.reshape(len(rows), -1)[:, 1:]).ravel()
        moved = _core.settled(problem.checked, rows, others, wide, d, problem.threads, report)
        return rows, _core.Points(moved.reshape(len(rows), -1))

    def _sample(self, size: int) -> Indices:
        rows = stream(0, "candidates").choice(len(self.problem), size=size, replace=False)
        return np.sort(rows).astype(np.uint32)

    def _embedded(self, problem: Problem, graph: CleanGraph, rows: Indices | None) -> Trial | None:
        """Embed the largest pieces of a cleaned graph, and carry all other points."""
        inside = np.flatnonzero(~graph.outliers).astype(np.uint32)
        if _least_share(problem.component_labels, graph.outliers) < LEAST_SHARE:
            return None
        part = replace(problem, neighborhoods=graph.neighborhoods).part(inside)
        found: Any = flatten(self.settings, part, self.progress)
        seen = evidence(part, found.embedding, self.progress)
        outside = np.flatnonzero(graph.outliers).astype(np.uint32)
        own, outliers = (inside, outside) if rows is None else (rows[inside], rows[outside])
        placed = self._carried(part, found.embedding, own)
        return Trial("", found.extended(placed, own), seen, outliers, graph)

    def _carried(self, part: Problem, embedding: Array, rows: Indices | None) -> Array:
        """Return the embedding of all points, of which those of the part are `rows`."""
        n = len(self.problem)
        if rows is None or len(rows) == n:
            return embedding
        rest = np.setdiff1d(np.arange(n), rows)
        carrier = Carrier(part.component_labels, self.problem.neighborhoods.typical_size, n_jobs=part.n_jobs)
        placed = np.empty((n, part.n_components))
        placed[rows] = embedding
        placed[rest], _ = carrier.carry(part.points, embedding, self.problem.points[rest])
        return placed


def _least_share(labels: Indices, outliers: Flags) -> float:
    """Return the least share of points of a component that are no outliers, over components that matter.

    Examples
    --------
    >>> import numpy as np
    >>> _least_share(np.array([0] * 50 + [1] * 50), np.arange(100) >= 90)
    0.8
    """
    sizes = np.bincount(labels)
    inside = np.bincount(labels[~outliers], minlength=len(sizes)) / sizes
    return float(inside[sizes >= LEAST_COMPONENT * len(labels)].min(initial=1.0))
