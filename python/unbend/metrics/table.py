"""The measures of an embedding by name, and the documentation that their functions share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, Literal, TypeVar

from ..core.kinds import choice
from ..core.parameters import documented, entries, table
from ..core.shared_parameters import FUNCTIONS

T = TypeVar("T")


@dataclass(frozen=True)
class Measure:
    """A measure of an embedding."""

    name: str
    symbol: str  # Name in print.
    family: str  # One of FAMILIES.
    better: Literal["lower", "higher"] | None  # None if neither direction is better.
    low: float
    high: float
    meaning: str  # A few words.


MEASURES = {
    measure.name: measure
    for measure in (
        Measure("r_n", "R_N", "procrustes", "lower", 0, inf, "error relative to size"),
        Measure("r_n_scaled", "R_N rescaled", "procrustes", "lower", 0, 1, "after the best scale"),
        Measure("r_c", "R_C", "procrustes", "lower", 0, 1, "error in shape alone"),
        Measure("lower_bound", "lower bound", "procrustes", None, 0, 1, "the least R_N possible"),
        Measure("scale", "best scale", "procrustes", None, 0, inf, "1 is perfect"),
        Measure("overlap", "overlap", "procrustes", "lower", 0, 1, "far points side by side"),
        Measure("m_l", "M_L", "nieqa", "lower", 0, 1, "each axis rescaled"),
        Measure("m_g", "M_G", "nieqa", "lower", 0, 1, "the same, of landmarks"),
        Measure("m_t", "M_t", "nieqa", "lower", 0, 1, "against the truth"),
        Measure("trustworthiness", "trustworthiness", "ranks", "higher", 0, 1, "near in Y is near in X"),
        Measure("continuity", "continuity", "ranks", "higher", 0, 1, "near in X is near in Y"),
        Measure("q_nx", "Q_NX", "ranks", "higher", 0, 1, "neighbors kept"),
        Measure("r_nx", "R_NX", "ranks", "higher", -1, 1, "the same beyond chance"),
        Measure("auc", "area of R_NX", "ranks", "higher", -1, 1, "over k, near ones first"),
        Measure("lcmc", "LCMC", "ranks", "higher", -1, 1, "Q_NX less chance"),
        Measure("mrre_false", "MRRE, Y to X", "ranks", "lower", 0, inf, "ranks of the near in Y"),
        Measure("mrre_missing", "MRRE, X to Y", "ranks", "lower", 0, inf, "ranks of the near in X"),
        Measure("rand_index", "RAND index", "ranks", "higher", 0, 1, "near in both or neither"),
        Measure("residual_variance", "residual variance", "geodesic", "lower", 0, 1, "of graph distances"),
        Measure("geodesic_stress", "geodesic stress", "geodesic", "lower", 0, 1, "after the best scale"),
        Measure("geodesic_stretch", "geodesic stretch", "geodesic", "lower", 1, inf, "median; 1 is best"),
        Measure("spearman", "Spearman", "distances", "higher", -1, 1, "order of distances"),
        Measure("pearson", "Pearson", "distances", "higher", -1, 1, "linearity of distances"),
        Measure("stress", "stress", "distances", "lower", 0, inf, "of distances"),
        Measure("stress_scaled", "stress rescaled", "distances", "lower", 0, 1, "after the best scale"),
    )
}
FAMILIES = tuple(dict.fromkeys(measure.family for measure in MEASURES.values()))


def words(name: str) -> tuple[str, str]:
    """Return the symbol of a measure and its meaning."""
    return MEASURES[name].symbol, MEASURES[name].meaning


_NARROW = "Y : array-like of shape (n, d), d <= q\n    Embedding of X, one point per row, from any tool."
PARAMETERS = table(
    *FUNCTIONS[""].values(),
    *entries(
        """
        normalization
            Divide by the squared distances of the points to their mean, or to the origin as in the paper.
            The latter changes under translation.
        """,
        normalization=choice("centered", "paper"),
    ),
    **{name: entries(_NARROW) for name in ("faithfulness", "nieqa_local", "nieqa_global", "procrustes")},
)

_RAISES = """

Raises
------
ValueError
    If X and Y do not have the same number of rows, or hold entries that are not finite.
"""
_EXAMPLE = """

Examples
--------
>>> import unbend as ub
>>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
>>> embeddings = coordinates, X[:, :2]  # the truth, and the roll seen from its side
>>> [round(ub.metrics.{name}(X, Y){attribute}, 3) for Y in embeddings]
{scores}
"""


def scoring(*scores: float, of: str = "", attribute: str = "") -> Callable[[T], T]:
    """Return a decorator that completes the docstring of a function that takes a measure of X and Y.

    The parameters are documented; options are those of the function `of`. An example shows the scores of a
    good and of a bad embedding, which may be an attribute of the result, as in ".auc".
    """
    options = table(*entries(f"options : keyword arguments\n    All others are those of :func:`{of}`."))

    def decorate(function: T) -> T:
        named: Any = function
        if named.__doc__:  # python -OO has none
            example = _EXAMPLE.format(name=named.__name__, attribute=attribute, scores=list(scores))
            raises = "" if "Raises\n" in named.__doc__ else _RAISES
            named.__doc__ = inspect.cleandoc(named.__doc__) + raises + example
        return documented(options, PARAMETERS)(function)

    return decorate
