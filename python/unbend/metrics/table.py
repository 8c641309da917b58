"""A measure of an embedding, and the documentation that the functions of all measures share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from ..core.kinds import choice
from ..core.parameters import documented, entries, table
from ..core.shared_parameters import FUNCTIONS
from .sampling import Array

T = TypeVar("T")


@dataclass(frozen=True)
class Measure:
    """A measure of an embedding."""

    name: str
    symbol: str  # Name in print.
    family: str  # Name of the measures that are printed together.
    better: Literal["lower", "higher"] | None  # None if neither direction is better.
    low: float
    high: float
    meaning: str  # A few words.
    # Function of checked data, embedding and graph, with `centers` and `n_jobs`, whose values at points have
    # this mean. None if a measure comes with others of its family.
    at_points: Callable[..., Array] | None = field(default=None, repr=False)

    @property
    def words(self) -> tuple[str, str]:
        """The symbol and the meaning."""
        return self.symbol, self.meaning


def by_name(*measures: Measure) -> dict[str, Measure]:
    """Return measures by name, in the order in which they are printed."""
    return {measure.name: measure for measure in measures}


_NARROW = "Y : array-like of shape (n, d), d <= q\n    Embedding of X, one point per row, from any tool."
_FITTED = (
    "Y : array-like of shape (n, d), d <= q, or fitted estimator\n    Embedding of X, one point per row, from "
    "any tool. A fitted estimator also brings its cut and, unless you give `n_neighbors`, `radius` or "
    "`neighborhoods`, its number of neighbors."
)
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
    **{name: entries(_NARROW) for name in ("nieqa_local", "nieqa_global")},
    **{name: (*entries(_FITTED), FUNCTIONS["quality"]["cut"]) for name in ("faithfulness", "procrustes")},
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
>>> X, coordinates = ub.datasets.swiss_roll(1000, random_state=0)
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
