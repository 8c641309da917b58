"""Verdict on the embedding of a fit: if it can be trusted, and why not."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ...core.arrays import are_equal
from ...core.jsonable import finite
from ...core.notebook import Bold, Rows, as_html
from ...graph.cut import pairs_of
from ...metrics import Faithfulness
from ...metrics.agreement import BALL_SIZE, LEAST_COMPONENT, TORN_ERROR
from ...metrics.overlap import OVERLAPPING
from ..cut import TORN_WHEN_LAID
from ..problem import Array, Indices, Problem
from .candidates import LEAST_POINTS_PER_NEIGHBOR, Trial
from .evidence import GEODESIC

__all__ = ["FitVerdict", "Reason", "UntrustedWarning", "left_out", "verdict_of"]

FEW_POINTS = 3 * BALL_SIZE
"""Up to this number of points the evidence is weak: an embedding of a graph that is not clean is not trusted."""

FLAT_BOUND = 0.05
"""Share of a neighborhood outside the best plane up to which few points can be judged."""


class UntrustedWarning(UserWarning):
    """The embedding disagrees with the data beyond single neighborhoods. `verdict_` of the estimator says where.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np, unbend as ub
    >>> X = np.random.default_rng(0).normal(size=(500, 10))
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     psa = ub.ProcrustesAlignment().fit(X)
    >>> psa.verdict_.trusted, ub.UntrustedWarning in [warning.category for warning in found]
    (False, True)
    """


@dataclass(frozen=True)
class Reason:
    """A reason not to trust an embedding.

    Attributes
    ----------
    name : str
        "distances", "overlap", "score" (their sum), "tangents", "points" or "components".
    value, limit : float
        The number that was found, and the largest that is trusted; of points, the least. The value of
        "components" is the share of points outside the largest.
    text : str
        The reason in words.
    """

    name: str
    value: float
    limit: float
    text: str


@dataclass(frozen=True, eq=False)
class FitVerdict:
    """Verdict on the embedding of a fit.

    Attributes
    ----------
    trusted : bool
        True if nothing speaks against the embedding as a whole.
    reasons : list of Reason
        Reasons not to trust it; empty if it is trusted.
    sentence : str
        The verdict in one sentence.
    r_n_kept, kept_share : float
        R_N without the edges of the neighborhood graph that the embedding of a cleaned graph tears or that join
        an outlier, and the share of the edges that remain. A fit that leaves out short circuits has a large R_N
        on all edges.
    points : ndarray of int
        Centers of the balls whose distances are worst.
    n_outliers : int
        Number of points that were left out of the graph and placed by the others.

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(2000, random_state=0)
    >>> verdict = ub.ProcrustesAlignment().fit(X).verdict_
    >>> verdict.trusted, verdict.reasons
    (True, [])
    """

    trusted: bool
    reasons: list[Reason]
    sentence: str
    r_n_kept: float
    kept_share: float
    points: Indices = field(repr=False)
    n_outliers: int = 0

    def __str__(self) -> str:
        """Return the sentence."""
        return self.sentence

    def _repr_html_(self) -> str:
        """Return the sentence and its numbers for a notebook."""
        rows = [(one.name, f"{one.value:.3g}", f"limit {one.limit:.3g}") for one in self.reasons]
        edges = "all edges" if self.kept_share == 1 else f"{self.kept_share:.2%} of the edges"
        rows += [("R_N", f"{self.r_n_kept:.3g}", f"on {edges}")]
        rows += [("outliers", f"{self.n_outliers:,}", "placed by their neighbors")] * (self.n_outliers > 0)
        head = Bold("Trusted" if self.trusted else "Not trusted")
        return as_html(head, self.sentence, Rows(("", "value", ""), rows, "<><"))

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict for JSON."""
        return {
            "trusted": self.trusted,
            "sentence": self.sentence,
            "reasons": [asdict(reason) for reason in self.reasons],
            "r_n_kept": finite(self.r_n_kept),
            "kept_share": self.kept_share,
            "points": self.points.tolist(),
            "n_outliers": self.n_outliers,
        }


def left_out(trial: Trial, problem: Problem, embedding: Array) -> Indices:
    """Return the pairs of neighbors that the embedding of a cleaned graph tears, or that join an outlier.

    Those are short circuits if the embedding can be trusted. There are none if the graph was embedded as it is.
    """
    graph = problem.neighborhoods
    if trial.graph is None:
        return np.zeros((0, 2), dtype=np.uint32)
    dropped = problem.core.torn(embedding, TORN_WHEN_LAID, 1, 0.0)
    is_outlier = np.isin(np.arange(len(problem)), trial.outliers)
    owners = np.repeat(np.arange(len(problem)), graph.sizes)
    return pairs_of(graph, dropped | is_outlier[owners] | is_outlier[graph.indices.ravel()])


def verdict_of(trial: Trial, problem: Problem, m: Faithfulness, pairs: Indices) -> FitVerdict:
    """Judge the embedding of a trial, measured without the `pairs` of :func:`left_out`."""
    seen, reasons = trial.evidence, _always_flat(problem)
    if trial.name == GEODESIC and trial.graph is not None:
        reasons.append(_no_tangents(trial.graph.angle, problem.n_components))
    if seen.disagreement > trial.limit:
        share = math.sqrt(seen.disagreement)
        text = f"distances within a hundred points differ from shortest paths by {share:.0%}"
        reasons.append(Reason("distances", seen.disagreement, trial.limit, text))
    if seen.overlap > OVERLAPPING:
        text = f"{seen.overlap:.1%} of the nearest points in the embedding are far apart in the data"
        reasons.append(Reason("overlap", seen.overlap, OVERLAPPING, text))
    if seen.score > trial.limit and not reasons:
        text = (
            f"its errors add up to {seen.score:.3f}: {seen.disagreement:.3f} in distances within a hundred "
            f"points, {seen.overlap:.1%} overlap, and {seen.torn:.0%} of the worst places are torn"
        )
        reasons.append(Reason("score", seen.score, trial.limit, text))
    if len(problem) <= FEW_POINTS and trial.graph is not None and not reasons:
        text = (
            f"{len(problem)} points are too few to judge an embedding of a graph with short circuits or noise"
        )
        reasons.append(Reason("points", len(problem), FEW_POINTS, text))
    reasons.extend(_too_few(problem, m))
    apart = 1.0 - float(np.bincount(problem.component_labels).max()) / len(problem)
    if apart > LEAST_COMPONENT:
        text = "connected components are set side by side, and their positions relative to each other mean nothing"
        reasons.append(Reason("components", apart, LEAST_COMPONENT, text))
    worst = np.flatnonzero(seen.errors > TORN_ERROR)
    points = seen.centers[worst[np.argsort(-seen.errors[worst], kind="stable")]]
    kept = 1.0 - float(problem.neighborhoods.core.marked(pairs).mean()) if len(pairs) else 1.0
    sentence = _sentence(trial, m, kept, reasons)
    return FitVerdict(not reasons, reasons, sentence, m.r_n, kept, points, len(trial.outliers))


def _always_flat(problem: Problem) -> list[Reason]:
    """Return a reason if the points lie flat whatever the surface is: if all are equal, or so few."""
    n, d = len(problem), problem.n_components
    if problem.has_points and are_equal(problem.points):
        return [Reason("points", 1, d + 2, f"all {n:,} points are equal, so that the embedding says nothing")]
    if n > d + 1:
        return []
    text = (
        f"{n} point{'s' * (n != 1)} always fit{'s' * (n == 1)} into {d} dimension{'s' * (d != 1)}, so that the "
        "embedding says nothing about a surface"
    )
    return [Reason("points", n, d + 2, text)]


def _too_few(problem: Problem, m: Faithfulness) -> list[Reason]:
    """Return a reason if each neighborhood is a large part of the data, and none is flat.

    Shortest paths are then straight lines, so they agree with a projection of a surface that is not flat.
    """
    k, d = problem.neighborhoods.typical_size, problem.n_components
    needed = LEAST_POINTS_PER_NEIGHBOR * (k + 1)
    if len(problem) >= needed or m.lower_bound <= FLAT_BOUND:
        return []
    text = (
        f"{len(problem)} points are too few for {k} neighbors each: a neighborhood is a large part of the data, "
        f"and {m.lower_bound:.0%} of it does not fit into {d} dimension{'s' * (d != 1)}"
    )
    return [Reason("points", len(problem), needed, text)]


def _no_tangents(angle: float, d: int) -> Reason:
    degrees = math.degrees(math.asin(min(1.0, angle)))
    text = (
        f"the data show no steady surface of dimension {d}, because the tangents of neighbors differ by "
        f"{degrees:.0f} degrees; geodesic distances were embedded instead, and lengths within neighborhoods are "
        "not kept"
    )
    return Reason("tangents", angle, 0.0, text)


def _sentence(trial: Trial, m: Faithfulness, share: float, reasons: list[Reason]) -> str:
    if reasons:
        return "Do not trust this embedding as a whole: " + "; ".join(reason.text for reason in reasons) + "."
    count = len(trial.outliers)
    where = "" if share == 1.0 else f" on the {share:.2%} of the edges that are not torn"
    where += " and join no outlier" * (share < 1.0 and count > 0)
    outliers = (
        f" {count:,} outlier{'s were' if count > 1 else ' was'} placed by their neighbors." if count else ""
    )
    return (
        "The embedding agrees with the data beyond single neighborhoods: distances within a hundred points are "
        f"right to {math.sqrt(trial.evidence.disagreement):.1%}, and R_N is {m.r_n:.3g}{where} "
        f"({m.lower_bound:.3g} is the least possible).{outliers}"
    )
