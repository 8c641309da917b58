"""Verdict on an embedding in one sentence, by a rule on the numbers of Goldberg & Ritov and of NIEQA.

The measures are each blind to different errors, so together they identify the error: R_N and R_C differ by
scale, R_C and M_L by the scales of single coordinates, and the overlap detects errors that no neighborhood
shows. The stretch of tangents separates a lost dimension from a stretched one, and a tear from a fold.

Every threshold below was chosen on embeddings whose state is known by construction, and tested on others, by
``experiments/judging/reading.py``. It prints how often the rule is wrong, and where kinds cannot be separated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..metrics import Faithfulness
from ..metrics.overlap import OVERLAPPING

# The sentence of each kind: shares are percentages, factors are times. A name after a colon is a variant.
_SENTENCES = {
    "nothing": "Nothing can be compared: each neighborhood of the data is a single spot.",
    "unrelated:apart": "The embedding has little to do with the data: {r_c:%} of a neighborhood is not explained.",
    "unrelated": "The embedding has little to do with the data: {r_c:%} of a neighborhood is not explained, "
    "and {overlap:%} of what lies near in it is far in the data.",
    "collapsed": "A dimension is lost: neighborhoods come out {ratio:x} times as long as wide, and "
    "rescaling does not bring back what lies across.",
    "thick": "Shapes cannot be judged: {lower_bound:%} of a neighborhood cannot be shown in this dimension.",
    "torn": "The embedding is torn, or neighborhoods of the data take short cuts: {share_bad:%} of the "
    "neighborhoods are pulled apart, stretched {stretch_of_bad:x} times as much as the others, which keep "
    "their shape.",
    "folded": "Distant points lie on each other: {overlap:%} of what is nearest in the embedding is far in "
    "the data, as if it were folded.",
    "conformal": "Shapes are kept, but the scale varies from place to place, by a factor of {size_spread:x} "
    "between a tenth of the points and another: lengths cannot be compared.",
    "scaled": "Only the unit is wrong: multiply the embedding by {scale:.3g}, and R_N falls from {r_n:.3g} "
    "to {r_n_scaled:.3g}.",
    "scaled:near": "The unit is wrong, and not only the unit: multiply the embedding by {scale:.3g}, and R_N "
    "falls from {r_n:.3g} to {r_n_scaled:.3g}, {times_scaled:x} times the least possible.",
    "faithful": "The embedding is faithful: R_N is {r_n:.3g}, {lower_bound:.3g} is the least possible.",
    "faithful:noisy": "The embedding is faithful: R_N is {r_n:.3g}, {lower_bound:.3g} is the least possible, "
    "and the rest looks like noise: the stretch is the same everywhere.",
    "faithful:cut": "Apart from the cut, the embedding is faithful: R_N is {r_n:.3g}, {lower_bound:.3g} is the "
    "least possible.",
    "faithful:cleaned": "Apart from short circuits of the data, the embedding is faithful: R_N is {r_n:.3g}, "
    "{lower_bound:.3g} is the least possible.",
    "bent": "Single neighborhoods keep their shape, with an R_N of {r_n:.3g}, but distances within a hundred "
    "points are off by {ball:%}.",
    "near": "The embedding is nearly faithful: R_N is {r_n:.3g}, {times:x} times the least possible, so lengths "
    "within neighborhoods are off by {off:%}.",
    "stretched:alike": "Everything is stretched alike, {ratio:x} times as much in one direction as in "
    "another, as if coordinates had been normalized: one linear map undoes it.",
    "stretched": "Coordinates are stretched separately, and not alike everywhere: half of the neighborhoods "
    "{ratio:x} times as much or more in one direction as in another.",
    "distorted": "Shapes are distorted: {r_c:%} of a neighborhood is not explained even when it may be "
    "rescaled, where {lower_bound:%} would be possible.",
}
KINDS = tuple(kind for kind in _SENTENCES if ":" not in kind)

# Thresholds. Errors are excesses: (value - lower bound) / (1 - lower bound), the avoidable part. The
# benchmark prints the numbers of every kind, and for thresholds between two kinds the value of least error. A
# threshold between several kinds need not be the best for each pair.

# An excess is small up to SMALL plus NOISY times the lower bound. Noise makes a neighborhood thick, and even
# the true coordinates do not explain the part of it along the surface. If few dimensions lie across, that
# part is larger (for isotropic noise, d / (q - d) of the bound). Only the stretch, which is the same
# everywhere, then separates noise from a bad embedding.
SMALL, NOISY = 0.05, 0.5

# Excess of R_C above which a neighborhood is bad.
BAD = 0.2

# Excess of R_C above which an embedding is unrelated to the data. A lost dimension and strong jitter stay
# below.
UNRELATED = 0.65

# Ratio of the largest to the smallest stretch above which a dimension may be lost. A lost dimension leaves
# noise, whose ratio varies (its ninetieth over its tenth percentile exceeds SPREAD), or nothing (FLAT
# everywhere).
NARROW, SPREAD, FLAT = 10.0, 3.0, 50.0
# Excess of M_L above which a dimension is lost.
LOST = 0.2

# Stretch of bad neighborhoods compared with all, above which an embedding is torn, and their smallest share.
# Folds leave bad neighborhoods as well, but do not stretch them.
PULLED, TEARS = 3.0, 0.005

# An embedding is folded above the overlap OVERLAPPING; if neighborhoods are stretched by more than ELONGATED,
# which alone brings points together that are some steps apart, above the second.
ELONGATED, OVERLAPPING_ELONGATED = 6.0, 0.2

# The scale varies if sizes spread by more than VARYING, and by more than shapes do, because noise spreads
# both. One linear map everywhere spreads by at most UNIFORM, even with some noise.
VARYING, UNIFORM = 1.25, 1.5

# Factor by which the unit may be off in either direction. R_N minus R_N rescaled is no substitute: one
# neighbor that is far away in the truth changes both.
OFF = 1.15

# Ratio of stretches up to which a neighborhood keeps its shape: at 1.5, R_C has risen by 0.04 at most.
ALIKE = 1.4

# R_N of a faithful embedding is at most this multiple of its lower bound, plus the second number. With noise alike
# in all directions the truth has q / (q - d) times the bound.
FAITHFUL, EXACT = 4.0, 0.002

# Disagreement with shortest paths within a hundred points above which an embedding is bent, however faithful its
# neighborhoods are. Of embeddings near the truth none has more.
BENT = 0.015

# A lower bound up to this is 0 but for rounding.
ROUNDING = 1e-12

# Lower bound above which noise looks like stretch, so that only large errors are stated.
THICK = 0.4


class Statement(NamedTuple):
    """One of :data:`KINDS`, and a sentence about this embedding."""

    kind: str
    sentence: str


def gather(
    m: Faithfulness, nieqa_local: float, disagreement: float | None = None, is_cleaned: bool = False
) -> dict[str, float]:
    """Return the numbers that :func:`read` needs.

    Parameters
    ----------
    m : Faithfulness
        Measures of the embedding, of a sample or of all neighborhoods.
    nieqa_local : float
        M_L for the same neighborhoods, with the default normalization.
    disagreement : float, optional
        That of the same embedding with shortest paths.
    is_cleaned : bool, default False
        True if pairs of neighbors were left out because they are short circuits, not because of a cut.

    Those are the means "r_n", "r_n_scaled", "r_c", "lower_bound", "scale", "overlap" and "nieqa_local", and
    of single neighborhoods, unless each is a single point:

    - "size", "ratio": medians of the mean stretch, which is 1 if the unit is right, and of the largest over
      the smallest stretch, which is 1 if shapes are kept;
    - "size_spread", "ratio_spread": the ninetieth over the tenth percentile of them;
    - "ball": relative error of distances within a hundred points, if the disagreement is known;
    - "off", "times", "times_scaled": the avoidable error of lengths, and R_N and R_N rescaled as multiples of the
      bound;
    - "cut_share", "cleaned_share": share of neighborhoods from which a cut, or cleaning, took points;
    - "typical": median excess of R_C;
    - "share_bad", "stretch_of_bad": share of neighborhoods with a large excess, and their largest stretch
      over that of all.
    """
    names = ("r_n", "r_n_scaled", "r_c", "lower_bound", "scale", "overlap")
    numbers = {name: float(getattr(m, name)) for name in names} | {"nieqa_local": float(nieqa_local)}
    finite = np.isfinite(m.per_point["r_c"])
    if not finite.any():
        return numbers
    largest, smallest = m.per_point["stretch"][finite].T
    nothing = np.finfo(float).tiny
    ratios = np.maximum(largest, nothing) / np.maximum(smallest, 1e-12 * largest + nothing)
    sizes = np.sqrt(largest) * np.sqrt(smallest)
    bound = m.per_point["bound"][finite]
    excess = (m.per_point["r_c"][finite] - bound) / np.maximum(1 - bound, nothing)
    bad, common = excess > BAD, float(np.median(largest))
    if disagreement is not None:
        numbers["ball"] = disagreement**0.5
    off = max(0.0, numbers["r_n"] - numbers["lower_bound"]) ** 0.5
    bound_of_all = numbers["lower_bound"]
    times, times_scaled = (
        numbers[name] / bound_of_all if bound_of_all > ROUNDING else math.inf
        for name in ("r_n", "r_n_scaled")
    )
    return numbers | {
        "off": off,
        "times": times,
        "times_scaled": times_scaled,
        "cleaned_share" if is_cleaned else "cut_share": m.cut_share,
        "size": float(np.median(sizes)),
        "ratio": float(np.median(ratios)),
        "ratio_spread": _spread(np.quantile(ratios, (0.1, 0.9))),
        "size_spread": _spread(np.quantile(sizes, (0.1, 0.9))),
        "typical": float(np.median(excess)),
        "share_bad": float(bad.mean()),
        "stretch_of_bad": float(np.median(largest[bad])) / common if bad.any() and common > 0 else 0.0,
    }


def _spread(ends: tuple[float, float]) -> float:
    low, high = (float(end) for end in ends)
    if high == 0:
        return 1.0
    return high / low if low > 0 else float("inf")


def read(numbers: Mapping[str, float]) -> Statement:
    """Return the verdict from the numbers of :func:`gather`.

    The kinds are tested in this order: unrelated, collapsed, torn, folded, conformal, scaled, bent, near or
    faithful, stretched, distorted. The first that applies is returned; later ones may apply as well. If
    neighborhoods are too thick for the dimension of the embedding, only unrelated, collapsed and folded are
    tested.
    """
    kind = _kind(numbers) if "ratio" in numbers else "nothing"
    sentence = _SENTENCES[kind].format_map({name: _Shown(value) for name, value in numbers.items()})
    return Statement(kind.partition(":")[0], sentence)


def _kind(numbers: Mapping[str, float]) -> str:
    """Return the key of the sentence that applies."""
    bound, ratio, share = numbers["lower_bound"], numbers["ratio"], numbers["share_bad"]
    # One linear map shows every neighborhood if neither shapes nor sizes spread.
    shapes_alike = numbers["ratio_spread"] <= UNIFORM
    alike = shapes_alike and numbers["size_spread"] <= UNIFORM

    def excess(name: str) -> float:
        return (numbers[name] - bound) / (1 - bound) if bound < 1 else 0.0

    def small(excess: float) -> bool:
        return excess <= SMALL + NOISY * bound

    if excess("r_c") > UNRELATED:
        return "unrelated" if numbers["overlap"] > OVERLAPPING else "unrelated:apart"
    gone = ratio > FLAT or (ratio > NARROW and numbers["ratio_spread"] > SPREAD)
    if gone and excess("nieqa_local") > LOST:
        return "collapsed"
    pulled = share > 0 and numbers["stretch_of_bad"] > PULLED and small(numbers["typical"])
    # A large tear through many points can still affect few neighborhoods.
    if bound <= THICK and pulled and (share > TEARS or not small(excess("r_n_scaled"))):
        return "torn"
    if numbers["overlap"] > (OVERLAPPING_ELONGATED if ratio > ELONGATED else OVERLAPPING):
        return "folded"
    if bound > THICK:
        return "thick"
    if ratio <= ALIKE and (small(excess("r_c")) or shapes_alike):
        if numbers["size_spread"] > max(VARYING, numbers["ratio_spread"]):
            return "conformal"
        if not 1 / OFF < numbers["size"] < OFF:
            return "scaled" if numbers["r_n_scaled"] <= FAITHFUL * bound + EXACT else "scaled:near"
        if numbers.get("ball", 0.0) > BENT**0.5:
            return "bent"
        if numbers["r_n"] > FAITHFUL * bound + EXACT and small(excess("r_c")):
            return "near"
        if numbers.get("cut_share"):
            return "faithful:cut"
        if numbers.get("cleaned_share"):
            return "faithful:cleaned"
        return "faithful" if small(excess("r_c")) else "faithful:noisy"
    if alike:
        return "stretched:alike"
    return "stretched" if small(excess("nieqa_local")) else "distorted"


class _Shown(float):
    """Number that formats itself as a percentage or a factor with two digits."""

    def __format__(self, kind: str) -> str:
        if kind not in ("%", "x"):
            return super().__format__(kind)
        if kind == "x" and not self < 1000:
            return "more than 1000"
        value = 100 * self if kind == "%" else self
        return f"{float(value):{'.2g' if value < 10 else '.0f'}}" + "%" * (kind == "%")
