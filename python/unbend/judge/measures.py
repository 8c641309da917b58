"""What can be measured of an embedding: the names, and one number with how sure it is."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ..core.jsonable import finite
from ..metrics.sampling import Array, interval

__all__ = ["FAMILIES", "MEASURES", "Measure", "Value", "finite"]


@dataclass(frozen=True)
class Measure:
    """What a number says.

    Attributes
    ----------
    name, symbol : str
        How it is called in code, and in print.
    family : str
        "procrustes", "nieqa", "ranks", "geodesic" or "distances".
    better : {"lower", "higher"} or None
        Which of two embeddings is better; None if the number is none of their merits.
    low, high : float
        Between what it lies.
    meaning : str
        In a few words.
    """

    name: str
    symbol: str
    family: str
    better: Literal["lower", "higher"] | None
    low: float
    high: float
    meaning: str


_ENDLESS = math.inf
MEASURES = {
    measure.name: measure
    for measure in (
        Measure("r_n", "R_N", "procrustes", "lower", 0, _ENDLESS, "error relative to size"),
        Measure("r_n_scaled", "R_N rescaled", "procrustes", "lower", 0, 1, "after the best scale"),
        Measure("r_c", "R_C", "procrustes", "lower", 0, 1, "error in shape alone"),
        Measure("lower_bound", "lower bound", "procrustes", None, 0, 1, "the least R_N possible"),
        Measure("scale", "best scale", "procrustes", None, 0, _ENDLESS, "1 is perfect"),
        Measure("overlap", "overlap", "procrustes", "lower", 0, 1, "far points side by side"),
        Measure("m_l", "M_L", "nieqa", "lower", 0, 1, "each axis rescaled"),
        Measure("m_g", "M_G", "nieqa", "lower", 0, 1, "the same, of landmarks"),
        Measure("m_t", "M_t", "nieqa", "lower", 0, 1, "against the truth"),
        Measure("trustworthiness", "trustworthiness", "ranks", "higher", 0, 1, "near in Y is near in X"),
        Measure("continuity", "continuity", "ranks", "higher", 0, 1, "near in X is near in Y"),
        Measure("q_nx", "Q_NX", "ranks", "higher", 0, 1, "neighbours kept"),
        Measure("r_nx", "R_NX", "ranks", "higher", -1, 1, "the same beyond chance"),
        Measure("auc", "area of R_NX", "ranks", "higher", -1, 1, "over k, near ones first"),
        Measure("lcmc", "LCMC", "ranks", "higher", -1, 1, "Q_NX less chance"),
        Measure("mrre_false", "MRRE, Y to X", "ranks", "lower", 0, _ENDLESS, "ranks of the near in Y"),
        Measure("mrre_missing", "MRRE, X to Y", "ranks", "lower", 0, _ENDLESS, "ranks of the near in X"),
        Measure("rand_index", "RAND index", "ranks", "higher", 0, 1, "near in both or neither"),
        Measure("residual_variance", "residual variance", "geodesic", "lower", 0, 1, "of graph distances"),
        Measure("geodesic_stress", "geodesic stress", "geodesic", "lower", 0, 1, "after the best scale"),
        Measure(
            "geodesic_stretch", "geodesic stretch", "geodesic", "lower", 1, _ENDLESS, "median; 1 is best"
        ),
        Measure("spearman", "Spearman", "distances", "higher", -1, 1, "order of distances"),
        Measure("pearson", "Pearson", "distances", "higher", -1, 1, "linearity of distances"),
        Measure("stress", "stress", "distances", "lower", 0, _ENDLESS, "of distances"),
        Measure("stress_scaled", "stress rescaled", "distances", "lower", 0, 1, "after the best scale"),
    )
}
FAMILIES = tuple(dict.fromkeys(measure.family for measure in MEASURES.values()))


@dataclass(frozen=True, eq=False)
class Value:
    """One number of an embedding, and how sure it is.

    Attributes
    ----------
    measure : Measure
        What it says.
    value : float
        The number.
    standard_error : float
        0 if it is exact, NaN if a part was measured and nothing is known of the error.
    null : float or None
        What an embedding at random has in the mean, where that is known.
    units : ndarray or None
        A number for each point, source or batch that was drawn, of which the value is the mean; those of
        another embedding are of the same points, sources and batches.
    share : float
        What part of all of them was drawn; 0 if there are endlessly many.
    ends : tuple of float, optional
        The 95 % interval, if it does not follow from the standard error.
    """

    measure: Measure
    value: float
    standard_error: float = 0.0
    null: float | None = None
    units: Array | None = field(default=None, repr=False)
    share: float = field(default=1.0, repr=False)
    ends: tuple[float, float] | None = field(default=None, repr=False)

    def __eq__(self, other: object) -> bool:
        """Whether all numbers are the same."""
        if not isinstance(other, Value):
            return NotImplemented
        same = self.measure == other.measure and np.array_equal(
            self._numbers(), other._numbers(), equal_nan=True
        )
        return same and np.array_equal(self._units(), other._units())

    __hash__ = None  # type: ignore[assignment]

    def _numbers(self) -> list[float]:
        null = math.nan if self.null is None else self.null
        return [self.value, self.standard_error, null, self.share, *self.interval]

    def _units(self) -> Array:
        return np.empty(0) if self.units is None else self.units

    def __float__(self) -> float:
        """Return the number."""
        return self.value

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval; both ends are the value if it is exact."""
        if self.ends is not None:
            return self.ends
        return interval(self.value, self.standard_error, self.measure.low, self.measure.high)

    @property
    def half_width(self) -> float:
        """How far the interval reaches at most to each side; NaN if that is not known."""
        if self.standard_error == 0:
            return 0.0
        low, high = self.interval
        return math.nan if math.isnan(self.standard_error) else max(self.value - low, high - self.value)

    def to_dict(self) -> dict[str, Any]:
        """Return all but the units, ready for JSON: what is not finite is None."""
        m = self.measure
        known = {"value": self.value, "standard_error": self.standard_error, "interval": list(self.interval)}
        known |= {"null": self.null, "better": m.better, "range": [m.low, m.high], "family": m.family}
        return {name: finite(value) for name, value in known.items()}
