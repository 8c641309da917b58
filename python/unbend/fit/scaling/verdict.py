"""Verdict on an embedding of measured distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ... import _core
from ...core.jsonable import finite
from ...core.notebook import Bold, Rows, as_html
from ...metrics.agreement import LEAST_COMPONENT
from ...metrics.overlap import OVERLAP_STEPS, OVERLAPPING
from ..problem import Array
from ..trust.verdict import Reason
from .ambiguity import Ambiguity
from .pairs import MeasuredPairs
from .paths import TriangleInequalities

__all__ = ["ScalingVerdict", "Shape", "overlap_of", "verdict_of"]

MAX_ERROR = 0.2
"""Root mean square residual, as a share of the distances, above which an embedding is not trusted: "poor" by
Kruskal (1964)."""

MAX_AMBIGUOUS = 0.05
"""Share of points that the distances do not fix, above which an embedding is not trusted as a whole."""

SIMILAR_STRESS, MAX_DIFFERENCE = 1.05, 0.1
"""Two starts contradict each other if the second stress is at most this multiple of the first, and the
embeddings differ by this share of their extent."""

NOTABLE_RATIO = 1.5
"""Distances that are longer than a path of the others by up to this factor may be noise."""

N_OVERLAP_CENTERS = 2_000
"""Number of points whose nearest embedded points are examined."""


@dataclass(frozen=True)
class ScalingVerdict:
    """Verdict on an embedding of measured distances: if it can be trusted, and why not.

    Attributes
    ----------
    trusted : bool
        True if nothing speaks against the embedding as a whole.
    reasons : list of Reason
        Reasons not to trust it; empty if it is trusted. The names are "residuals", "points" (too many are
        loose), "motions", "reflections", "starts" (another embedding fits as well), "overlap" and
        "components".
    sentence : str
        The verdict in words.
    error : float
        Root mean square residual, as a share of the root mean square distance.
    overlap : float
        Share of the nearest embedded points that are far apart on the graph.

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> from scipy.spatial.distance import cdist
    >>> X = np.random.default_rng(0).random((100, 2))
    >>> distances = cdist(X, X)
    >>> distances[distances > 0.4] = np.nan
    >>> ub.GraphScaling(2).fit(distances).verdict_.trusted
    True
    """

    trusted: bool
    reasons: list[Reason]
    sentence: str
    error: float
    overlap: float

    def __str__(self) -> str:
        """Return the sentence."""
        return self.sentence

    def _repr_html_(self) -> str:
        """Return the sentence and its numbers for a notebook."""
        rows = [(one.name, f"{one.value:.3g}", f"limit {one.limit:.3g}") for one in self.reasons]
        rows += [("error", f"{self.error:.3g}", "of the distances"), ("overlap", f"{self.overlap:.3g}", "")]
        head = Bold("Trusted" if self.trusted else "Not trusted")
        return as_html(head, self.sentence, Rows(("", "value", ""), rows, "<><"))

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict for JSON."""
        return {
            "trusted": self.trusted,
            "sentence": self.sentence,
            "reasons": [finite(asdict(reason)) for reason in self.reasons],
            "error": finite(self.error),
            "overlap": finite(self.overlap),
        }


@dataclass(frozen=True)
class Shape:
    """Another embedding of the same points, compared with the best."""

    ratio: float  # Its stress, as a multiple of the least.
    difference: float  # Root mean square difference, as a share of the extent.


def overlap_of(pairs: MeasuredPairs, y: Array, threads: int) -> float:
    """Return the share of the nearest embedded points that are far apart on the graph, which is connected."""
    if len(pairs) == 0:
        return 0.0
    matrix = pairs.graph
    graph = _core.Graph(matrix.indices.astype(np.uint32), indptr=matrix.indptr.astype(np.int64))
    examined = np.arange(0, len(y), max(1, len(y) // N_OVERLAP_CENTERS), dtype=np.uint32)
    return float(_core.overlap(np.ascontiguousarray(y), graph, OVERLAP_STEPS, examined, threads).mean())


def verdict_of(
    pairs: MeasuredPairs,
    error: float,
    overlap: float,
    ambiguity: Ambiguity,
    inequalities: TriangleInequalities,
    others: Sequence[Shape],
) -> ScalingVerdict:
    """Judge an embedding by its residuals, its overlap, its ambiguity, and other embeddings.

    Distances that are too long are named, and judged by their residuals.
    """
    reasons, n = [], pairs.n_points
    if error > MAX_ERROR:
        text = f"the distances in the embedding miss the measured ones by {error:.0%}"
        reasons.append(Reason("residuals", error, MAX_ERROR, text))
    reasons += _ambiguous(ambiguity, n, int(pairs.labels.max()) + 1)
    for other in others:
        if other.ratio <= SIMILAR_STRESS and other.difference > MAX_DIFFERENCE:
            text = (
                f"another start leads to an embedding with {other.ratio:.2f} times this stress, whose points lie "
                f"elsewhere by {other.difference:.0%} of the extent"
            )
            reasons.append(Reason("starts", other.difference, MAX_DIFFERENCE, text))
            break
    if overlap > OVERLAPPING:
        text = f"{overlap:.1%} of the nearest points in the embedding are far apart on the graph of the pairs"
        reasons.append(Reason("overlap", overlap, OVERLAPPING, text))
    apart = 1.0 - float(np.bincount(pairs.labels).max()) / n
    if apart > LEAST_COMPONENT:
        text = "connected components are set side by side, and their positions relative to each other mean nothing"
        reasons.append(Reason("components", apart, LEAST_COMPONENT, text))
    sentence = _sentence(reasons, error, ambiguity, n) + _too_long(inequalities)
    return ScalingVerdict(not reasons, reasons, sentence, error, overlap)


def _too_long(found: TriangleInequalities) -> str:
    """Return a sentence about distances that are longer than paths of the others, if one is much longer."""
    if found.worst <= NOTABLE_RATIO:
        return ""
    (i, j), count = found.pairs[0], int((found.ratios > NOTABLE_RATIO).sum())
    verb = "is" if count == 1 else "are"
    return (
        f" {count:,} of {found.n_examined:,} distances {verb} over {NOTABLE_RATIO} times as long as the "
        f"shortest path of the others, that of points {i} and {j} {found.worst:.3g} times."
    )


def _ambiguous(found: Ambiguity, n: int, n_parts: int) -> list[Reason]:
    kinds = (
        ("points", found.loose, "with too few distances to have one place"),
        ("motions", found.movable, "that can move while no distance changes"),
        ("reflections", found.reflectable, "in parts that fit in several ways, such as reflected"),
    )
    reasons = []
    for name, points, text in kinds:
        count = 0 if points is None else len(points)
        if n_parts < n and count > MAX_AMBIGUOUS * n:
            said = f"the distances do not fix {count:,} of {n:,} points, {text}"
            reasons.append(Reason(name, count / n, MAX_AMBIGUOUS, said))
    return reasons


def _sentence(reasons: list[Reason], error: float, found: Ambiguity, n: int) -> str:
    if reasons:
        return "Do not trust this embedding as a whole: " + "; ".join(reason.text for reason in reasons) + "."
    parts = [f"The embedding agrees with the measured distances to {error:.2%}, root mean square."]
    if found.movable is None or found.reflectable is None:
        enough = f"{n - len(found.loose):,} of {n:,}"
        parts.append(f"{enough} points have enough of them; whether parts can move was not examined.")
    else:
        fixed = n - len(found.loose) - len(found.movable) - len(found.reflectable)
        parts.append(f"They fix {fixed:,} of {n:,} points, up to a motion of all.")
    return " ".join(parts)
