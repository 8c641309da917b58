"""Statements about an embedding in the order in which people ask, each with its numbers.

The thresholds were chosen on the population of ``experiments/judging/judgement.py``, which prints how often each
statement is right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..core.jsonable import finite
from ..metrics.agreement import LEAST_COMPONENT
from ..metrics.overlap import OVERLAPPING
from .context import SHOWN_SHARE, Measurements
from .verdict import THICK, Statement

__all__ = ["Finding", "findings"]

TRUSTED_NEIGHBORS, DOUBTFUL_NEIGHBORS = 0.98, 0.85
"""Trustworthiness from which neighbors in the embedding can be believed, and below which they cannot."""

MAX_DISAGREEMENT, MAX_STRESS = 0.005, 0.1
"""Disagreement within a hundred points, and geodesic stress, up to which distances can be read."""

UNREADABLE_LENGTHS = 0.05
"""Disagreement within a hundred points above which lengths cannot be read: they are off by more than a fifth."""

UNREADABLE_DISTANCES = 0.95
"""Trustworthiness below which distances between regions mean nothing."""


@dataclass(frozen=True)
class Finding:
    """An answer to one question about an embedding.

    Attributes
    ----------
    question : str
        "dimensions", "neighbors", "distances", "shape" or "next".
    text : str
        The answer in words.
    good : bool or None
        True if the answer speaks for the embedding, False if against it; None if neither.
    numbers, limits : mapping of float
        The measures that the answer rests on, and the limits with which they were compared. Of many points, ranks
        and shortest paths are those of a random sample, always the same.
    """

    question: str
    text: str
    good: bool | None
    numbers: Mapping[str, float]
    limits: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return the finding for JSON."""
        known = {"question": self.question, "text": self.text, "good": self.good}
        numbers = {name: finite(value) for name, value in self.numbers.items()}
        return known | {"numbers": numbers, "limits": dict(self.limits)}


def findings(taken: Measurements, said: Statement) -> list[Finding]:
    """Return what can be stated with the measures that were taken; `said` is the reading of all together."""
    n, d = taken.n_points, taken.shape[1]
    if taken.are_equal:
        text = f"Nothing can be judged: all {n:,} points of the data are equal."
        return [Finding("shape", text, None, {}, {})]
    if n <= d + 1:
        text = (
            f"Nothing can be judged: {n} point{'s' * (n != 1)} always fit{'s' * (n == 1)} into {_counted(d)}."
        )
        return [Finding("shape", text, None, {"n_points": n}, {"n_points": d + 2})]
    made = (_dimensions(taken), _neighbors(taken), _distances(taken), _shape(taken, said), _next(taken, said))
    return [finding for finding in made if finding is not None]


def _numbers(taken: Measurements, *names: str) -> dict[str, float] | None:
    known = {name: value.value for name, value in taken.entries.items()} | dict(taken.sampled.values)
    return {name: known[name] for name in names} if all(name in known for name in names) else None


def _counted(d: int) -> str:
    return f"{d} dimension{'s' * (d != 1)}"


def _dimensions(taken: Measurements) -> Finding | None:
    numbers, d = _numbers(taken, "lower_bound"), taken.shape[1]
    if numbers is None:
        return None
    share, needed = 1 - numbers["lower_bound"], taken.n_dimensions_needed
    text = f"{_counted(d)} can show {share:.0%} of a neighborhood of these data"
    if share < SHOWN_SHARE and needed is not None and needed > d:
        text += f"; {needed} would show at least {SHOWN_SHARE:.0%}"
    good = True if share >= SHOWN_SHARE else False if share < 1 - THICK else None
    limits = {"lower_bound": THICK}
    return Finding("dimensions", f"{text}.", good, numbers, limits)


def _neighbors(taken: Measurements) -> Finding | None:
    numbers = _numbers(taken, "trustworthiness", "q_nx")
    if numbers is None:
        return None
    trusted, kept = numbers["trustworthiness"], numbers["q_nx"]
    random, n_centers = taken.sampled.null, taken.sampled.n_centers
    overlap = taken.entries["overlap"].value if "overlap" in taken.entries else 0.0
    limits = {"trustworthiness": TRUSTED_NEIGHBORS, "overlap": OVERLAPPING}
    if trusted >= TRUSTED_NEIGHBORS and overlap <= OVERLAPPING:
        good, claim = True, "Points near each other in the embedding are near in the data"
    elif trusted < DOUBTFUL_NEIGHBORS:
        good, claim = False, "Many points near each other in the embedding are far apart in the data"
        limits = {"trustworthiness": DOUBTFUL_NEIGHBORS}
    else:
        good, claim = None, "Most points near each other in the embedding are near in the data, but not all"
    chance = "" if random is None else f" ({random:.2f} at random)"
    sample = "" if n_centers is None else f" (at {n_centers:,} random points)"
    text = f"{claim}: trustworthiness is {trusted:.3f}{chance}, and {kept:.0%} of neighbors are kept{sample}."
    return Finding("neighbors", text, good, numbers, limits)


def _distances(taken: Measurements) -> Finding | None:
    numbers = _numbers(taken, "disagreement", "geodesic_stress", "trustworthiness")
    if numbers is None:
        return None
    near, far = numbers["disagreement"] ** 0.5, numbers["geodesic_stress"]
    limits = {"disagreement": MAX_DISAGREEMENT, "geodesic_stress": MAX_STRESS}
    if taken.share_apart > LEAST_COMPONENT:
        good, claim = False, f"Distances between connected components mean nothing ({_apart(taken)})"
        limits = {"share_apart": LEAST_COMPONENT}
    elif numbers["disagreement"] <= MAX_DISAGREEMENT and far <= MAX_STRESS:
        good, claim = True, "Distances can be read, within regions and between them"
    elif numbers["trustworthiness"] < UNREADABLE_DISTANCES:
        good, claim = False, "Distances between regions mean nothing"
        limits = {"trustworthiness": UNREADABLE_DISTANCES}
    elif numbers["disagreement"] > UNREADABLE_LENGTHS:
        good, claim = None, "Lengths cannot be read, and distances between regions may mislead"
        limits = {"disagreement": UNREADABLE_LENGTHS}
    else:
        good, claim = None, "Distances between regions may mislead"
    n_sources = taken.sampled.n_sources
    sources = "" if n_sources is None else f" (from {n_sources:,} random points)"
    errors = f"those within a hundred points are off by {near:.0%}, those along the data by {far:.0%}"
    text = f"{claim}: {errors}{sources}."
    return Finding("distances", text, good, numbers, limits)


def _shape(taken: Measurements, said: Statement) -> Finding | None:
    if not said.sentence:
        return None
    numbers = _numbers(taken, "r_n", "r_c", "lower_bound", "overlap") or {}
    if taken.share_apart > LEAST_COMPONENT:
        return Finding("shape", f"Of each component by itself: {said.sentence}", None, numbers, {})
    return Finding("shape", said.sentence, said.kind == "faithful" or None, numbers, {})


def _apart(taken: Measurements) -> str:
    return f"{taken.share_apart:.0%} of the points are outside the largest"


def _next(taken: Measurements, said: Statement) -> Finding | None:
    advice = _ADVICE.get(said.kind)
    text = None if advice is None else advice(taken)
    return Finding("next", text, None, {}, {}) if text else None


def _of_thick(taken: Measurements) -> str:
    needed, d = taken.n_dimensions_needed, taken.shape[1]
    more = f"{needed} dimensions" if needed is not None and needed > d else "more dimensions"
    neighbors = _neighbors(taken)
    if neighbors is not None and neighbors.good:
        return f"Read groups in this map, not their shapes or distances. Faithful shapes need {more}."
    if neighbors is not None and neighbors.good is None:
        return f"Read groups in this map with care, and no shapes or distances. Faithful shapes need {more}."
    return f"For faithful shapes use {more}; to see groups in {d}, a tool for clusters such as UMAP or t-SNE."


def _of_distorted(taken: Measurements) -> str:
    neighbors = _neighbors(taken)
    if neighbors is None or neighbors.good:
        return "Use unbend.refine, which keeps neighbors and corrects lengths."
    return "Compare with ProcrustesAlignment: unbend.refine corrects lengths, but it does not unfold."


_ADVICE: Mapping[str, Callable[[Measurements], str]] = {
    "thick": _of_thick,
    "unrelated": lambda taken: "Embed the data with another method, such as ProcrustesAlignment.",
    "collapsed": lambda taken: (
        "Use a method that keeps lengths, such as ProcrustesAlignment: this one lost a dimension."
    ),
    "torn": lambda taken: (
        "Look for short circuits with unbend.clean; closed surfaces need ProcrustesAlignment(cut=True)."
    ),
    "folded": lambda taken: "Use more dimensions, or ProcrustesAlignment, which checks for folds.",
    "conformal": lambda taken: "If lengths matter, unbend.refine makes them equal.",
    "scaled": lambda taken: "Multiply the embedding by its best scale, or use unbend.refine(rescale=True).",
    "stretched": lambda taken: "Undo one linear map with unbend.rectify, and the rest with unbend.refine.",
    "bent": lambda taken: (
        "Compare with ProcrustesAlignment, which checks distances beyond single neighborhoods."
    ),
    "distorted": _of_distorted,
}
"""Next step, for each kind of embedding."""
