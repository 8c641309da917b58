"""Whether an embedding can be trusted, and why not."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ...metrics import Faithfulness
from ...metrics.overlap import OVERLAPPING
from ..problem import Indices
from .candidates import GEODESIC, TRUSTED_SCORE, Trial

__all__ = ["FitVerdict", "Reason", "UntrustedWarning", "verdict_of"]

WORST_SHARE = 4.0
"""A ball is named if its error is this many times what is trusted."""


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
        "distances", "overlap" or "tangents".
    value, limit : float
        The number that was found, and the largest that is trusted.
    text : str
        The reason in words.
    """

    name: str
    value: float
    limit: float
    text: str


@dataclass(frozen=True, eq=False)
class FitVerdict:
    """Whether the embedding of a fit can be trusted.

    Attributes
    ----------
    trusted : bool
        True if nothing speaks against the embedding as a whole.
    reasons : list of Reason
        What speaks against it; empty if it is trusted.
    sentence : str
        The verdict in one sentence.
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
    points: Indices = field(repr=False)
    n_outliers: int = 0

    def __str__(self) -> str:
        """Return the sentence."""
        return self.sentence


def verdict_of(trial: Trial, m: Faithfulness, d: int) -> FitVerdict:
    """Judge the embedding of a trial, whose neighborhoods were measured."""
    evidence, reasons = trial.evidence, []
    if trial.name == GEODESIC and trial.graph is not None:
        reasons.append(_no_tangents(trial.graph.angle, d))
    if evidence.disagreement > TRUSTED_SCORE:
        share = math.sqrt(evidence.disagreement)
        text = f"distances within a hundred points differ from shortest paths by {share:.0%}"
        reasons.append(Reason("distances", evidence.disagreement, TRUSTED_SCORE, text))
    if evidence.overlap > OVERLAPPING or evidence.score > TRUSTED_SCORE > evidence.disagreement:
        text = f"{evidence.overlap:.1%} of the nearest points in the embedding are far apart in the data"
        reasons.append(Reason("overlap", evidence.overlap, OVERLAPPING, text))
    worst = np.flatnonzero(evidence.errors > WORST_SHARE * TRUSTED_SCORE)
    points = evidence.centers[worst[np.argsort(-evidence.errors[worst], kind="stable")]]
    sentence = _sentence(trial, m, reasons)
    return FitVerdict(not reasons, reasons, sentence, points, trial.n_outliers)


def _no_tangents(angle: float, d: int) -> Reason:
    degrees = math.degrees(math.asin(min(1.0, angle)))
    text = (
        f"the data hold no steady surface of dimension {d}: tangents of neighbors differ by {degrees:.0f} degrees, "
        "so geodesic distances were embedded instead, and lengths within neighborhoods are not kept"
    )
    return Reason("tangents", angle, 0.0, text)


def _sentence(trial: Trial, m: Faithfulness, reasons: list[Reason]) -> str:
    if reasons:
        return "Do not trust this embedding as a whole: " + "; ".join(reason.text for reason in reasons) + "."
    share = math.sqrt(trial.evidence.disagreement)
    how = "" if trial.n_outliers == 0 else f" {trial.n_outliers:,} outliers were placed by their neighbors."
    return (
        f"The embedding agrees with the data beyond single neighborhoods: distances within a hundred points are "
        f"right to {share:.1%}, R_N is {m.r_n:.3g} ({m.lower_bound:.3g} is the least possible)." + how
    )
