"""A value of a measure, with its error."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..core.jsonable import finite
from ..core.notebook import Rows, as_html
from ..metrics import FAMILIES, MEASURES
from ..metrics.sampling import Array, interval
from ..metrics.table import Measure

__all__ = ["FAMILIES", "MEASURES", "Measure", "Value", "finite"]


@dataclass(frozen=True, eq=False)
class Value:
    """Value of a measure, with its error."""

    measure: Measure
    value: float
    standard_error: float = (
        0.0  # 0 if the value is exact, NaN if a part was measured and the error is unknown.
    )
    null: float | None = None  # Mean over random embeddings, if it is known.
    # A number for each point, source or batch that was drawn; their mean is the value. Those of another
    # embedding belong to the same points, sources and batches.
    units: Array | None = field(default=None, repr=False)
    # Share of all points, sources or batches that was drawn; 0 if there are infinitely many.
    share: float = field(default=1.0, repr=False)
    # The 95 % interval, if it does not follow from the standard error.
    ends: tuple[float, float] | None = field(default=None, repr=False)
    # The same measure with the pairs of neighbors that a cut parts; None if that makes no difference.
    whole: Value | None = field(default=None, repr=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Value):
            return NotImplemented
        same = self.measure == other.measure and self.whole == other.whole
        return same and all(
            np.array_equal(mine, theirs, equal_nan=True)
            for mine, theirs in zip(self._numbers(), other._numbers(), strict=True)
        )

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def _numbers(self) -> tuple[Any, Any]:
        null = math.nan if self.null is None else self.null
        numbers = [self.value, self.standard_error, null, self.share, *self.interval]
        return numbers, [] if self.units is None else self.units

    def __float__(self) -> float:
        return self.value

    @property
    def with_all_pairs(self) -> Value:
        """The value that embeddings are ranked by: a cut must not improve it."""
        return self if self.whole is None else self.whole

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval; both ends are the value if it is exact."""
        if self.ends is not None:
            return self.ends
        return interval(self.value, self.standard_error, self.measure.low, self.measure.high)

    @property
    def half_width(self) -> float:
        """Largest distance from the value to an end of the interval; NaN if unknown."""
        if self.standard_error == 0:
            return 0.0
        low, high = self.interval
        return math.nan if math.isnan(self.standard_error) else max(self.value - low, high - self.value)

    def margin(self, digits: int) -> str:
        """Return the half-width as text: "?" if unknown, empty if the value is exact."""
        half = self.half_width
        return "?" if math.isnan(half) else f"{half:.{digits}g}" if half else ""

    def _repr_html_(self) -> str:
        """Return the value with its error and meaning for a notebook."""
        sure = self.margin(2)
        cells = (self.measure.symbol, f"{self.value:.4g}", sure and f"± {sure}", self.measure.meaning)
        return as_html(Rows(("", "value", sure and "95 %", "meaning"), [cells], "<>><"))

    def to_dict(self) -> dict[str, Any]:
        """Return all but the units, for JSON: numbers that are not finite become None."""
        m = self.measure
        known = {"value": self.value, "standard_error": self.standard_error, "interval": list(self.interval)}
        known |= {"null": self.null, "better": m.better, "range": [m.low, m.high], "family": m.family}
        whole = {} if self.whole is None else {"whole": self.whole.to_dict()}
        return {name: finite(value) for name, value in known.items()} | whole
