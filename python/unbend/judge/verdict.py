"""What is wrong with an embedding, in one sentence: a rule over the numbers of Goldberg & Ritov and of NIEQA.

The measures of section 3 and the overlap of section 6 (Goldberg and Ritov 2009) and M_L (Zhang, Ren and
Zhang, eq. 18) are each blind to something else, so together they tell apart what was done to an embedding:
R_N and R_C differ by scale, R_C and M_L by the scales of single coordinates, and the overlap sees what no
neighbourhood can. How tangents are stretched tells a lost dimension from a stretched one, and a tear from a
fold.

Every threshold below was chosen on embeddings whose state is known by construction, and judged on others, by
``benches/python/reading.py``, which prints how often the rule is wrong and where kinds blur. :func:`gather`
costs O(n), :func:`read` nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..metrics import Faithfulness

__all__ = ["KINDS", "Reading", "gather", "read"]

KINDS = (
    "faithful",
    "scaled",
    "conformal",
    "stretched",
    "folded",
    "torn",
    "collapsed",
    "unrelated",
    "distorted",
    "thick",
    "nothing",
)

# Thresholds. Errors are excesses: (value - lower bound) / (1 - lower bound), what could have been avoided.
# benches/python/reading.py prints the numbers of every kind, and beside thresholds that part kinds by one
# number the cut of least error. A threshold that several kinds share need not be at the best cut of each.

# An excess is small below SMALL plus NOISY times the lower bound: noise makes a neighbourhood thick, and
# then even the true coordinates do not explain what of it lies along the surface. With few dimensions across
# that is more (noise alike in all: d / (q - d) of the bound), and only the stretch, which is still the same
# everywhere, tells it from a bad embedding.
SMALL, NOISY = 0.05, 0.5

# A neighbourhood is bad when its own excess of R_C is above this.
BAD = 0.2

# R_C of an embedding that has nothing to do with the data: a lost dimension and strong jitter end below it.
UNRELATED = 0.65

# Of the largest over the smallest stretch. A lost dimension leaves noise, which differs from place to place
# (SPREAD between the tenth and the ninetieth percentile), or nothing at all (FLAT everywhere).
NARROW, SPREAD, FLAT = 10.0, 3.0, 50.0
LOST = 0.2  # and then M_L is above this

# By how much bad neighbourhoods are stretched more than the others where an embedding is torn, and the least
# share of them. Folds leave bad neighbourhoods, too, but none that are stretched.
PULLED, TEARS = 3.0, 0.005

# Overlap, as in the command; and where neighbourhoods are stretched by more than ELONGATED, which alone
# brings points beside each other that are some steps apart.
OVERLAPPING, ELONGATED, OVERLAPPING_ELONGATED = 0.05, 6.0, 0.2

# The scale varies when sizes spread by more than VARYING, and by more than shapes do, for noise spreads both.
# One linear map everywhere does not spread by more than UNIFORM, some noise included.
VARYING, UNIFORM = 1.25, 1.5

# By what factor the unit may be off, either way. Not R_N less R_N scaled: a single neighbour that is far in
# the truth moves both.
OFF = 1.15

# The ratio of stretches up to which a neighbourhood has its shape: at 1.5, R_C has risen by 0.04 at most.
ALIKE = 1.4

# Above this lower bound noise is taken for stretch, and only what is gross is said.
THICK = 0.4


class Reading(NamedTuple):
    """One of :data:`KINDS`, and what it means here."""

    kind: str
    sentence: str


def gather(m: Faithfulness, nieqa_local: float) -> dict[str, float]:
    """Return the numbers that :func:`read` wants.

    Parameters
    ----------
    m : Faithfulness
        Of the embedding; a sample of neighbourhoods will do.
    nieqa_local : float
        M_L for the same neighbourhoods, with the default normalization.

    Returns
    -------
    dict
        The means "r_n", "r_n_scaled", "r_c", "lower_bound", "scale", "overlap" and "nieqa_local", and of
        single neighbourhoods:

        - "size": median of the mean stretch; 1 where the unit is right;
        - "ratio": median of the largest over the smallest stretch; 1 where shapes are kept;
        - "ratio_spread", "size_spread": of that ratio and of the mean stretch, the ninetieth over the tenth
          percentile;
        - "typical": median excess of R_C;
        - "share_bad", "stretch_of_bad": how many have a large one, and how much more than all they are
          stretched.

        Without a neighbourhood of any extent, the means alone.

    Examples
    --------
    >>> import unbend as ub
    >>> from unbend.judge.verdict import gather, read
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> numbers = gather(ub.faithfulness(X, coordinates), ub.metrics.nieqa_local(X, coordinates))
    >>> read(numbers).kind
    'faithful'
    """
    import numpy as np

    names = ("r_n", "r_n_scaled", "r_c", "lower_bound", "scale", "overlap")
    numbers = {name: float(getattr(m, name)) for name in names} | {"nieqa_local": float(nieqa_local)}
    kept = np.isfinite(m.per_point["r_c"])
    if not kept.any():
        return numbers
    largest, smallest = m.per_point["stretch"][kept].T
    nothing = np.finfo(float).tiny
    ratios = np.maximum(largest, nothing) / np.maximum(smallest, 1e-12 * largest + nothing)
    sizes = np.sqrt(largest) * np.sqrt(smallest)
    bound = m.per_point["bound"][kept]
    excess = (m.per_point["r_c"][kept] - bound) / np.maximum(1 - bound, nothing)
    bad, common = excess > BAD, float(np.median(largest))
    return numbers | {
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


def read(numbers: Mapping[str, float]) -> Reading:
    """Say what the numbers of :func:`gather` mean together.

    The first of these that is the case: unrelated; collapsed; torn; folded; faithful, scaled or conformal;
    stretched; distorted. What comes later may be so as well, and is not said. Where neighbourhoods are too
    thick for the dimension of the embedding, only unrelated, collapsed and folded are told.

    Returns
    -------
    Reading
        A named tuple ``(kind, sentence)``.
    """
    if "ratio" not in numbers:
        return Reading("nothing", "Nothing can be compared: each neighbourhood of the data is a single spot.")
    for reading in (_unrelated, _collapsed, _thick, _torn, _folded, _alike, _stretched):
        found = reading(numbers)
        if found is not None:
            return found
    return Reading(
        "distorted",
        f"Shapes are distorted: {_percent(numbers['r_c'])} of a neighbourhood is not explained even when it "
        f"may be rescaled, where {_percent(numbers['lower_bound'])} would be possible.",
    )


def _excess(numbers: Mapping[str, float], name: str) -> float:
    bound = numbers["lower_bound"]
    return (numbers[name] - bound) / (1 - bound) if bound < 1 else 0.0


def _small(numbers: Mapping[str, float], excess: float) -> bool:
    return excess <= SMALL + NOISY * numbers["lower_bound"]


def _uniform(numbers: Mapping[str, float]) -> bool:
    """Whether the same linear map is seen everywhere."""
    return max(numbers["ratio_spread"], numbers["size_spread"]) <= UNIFORM


def _unrelated(numbers: Mapping[str, float]) -> Reading | None:
    if _excess(numbers, "r_c") <= UNRELATED:
        return None
    return Reading(
        "unrelated",
        f"The embedding has little to do with the data: {_percent(numbers['r_c'])} of a neighbourhood is not "
        f"explained, and {_percent(numbers['overlap'])} of what lies near in it is far in the data.",
    )


def _collapsed(numbers: Mapping[str, float]) -> Reading | None:
    ratio = numbers["ratio"]
    gone = ratio > FLAT or (ratio > NARROW and numbers["ratio_spread"] > SPREAD)
    if not gone or _excess(numbers, "nieqa_local") <= LOST:
        return None
    return Reading(
        "collapsed",
        f"A dimension is lost: neighbourhoods come out {_times(ratio)} times as long as wide, and rescaling "
        "does not bring back what lies across.",
    )


def _thick(numbers: Mapping[str, float]) -> Reading | None:
    bound = numbers["lower_bound"]
    if bound <= THICK:
        return None
    return _folded(numbers) or Reading(
        "thick",
        f"Neighbourhoods are too thick to say more: no embedding of this dimension shows {_percent(bound)} "
        "of them; try more dimensions, or more neighbours if the data are noisy.",
    )


def _torn(numbers: Mapping[str, float]) -> Reading | None:
    share = numbers["share_bad"]
    pulled = share > 0 and numbers["stretch_of_bad"] > PULLED and _small(numbers, numbers["typical"])
    # A tear through many points meets few neighbourhoods, and is large all the same.
    if not pulled or (share <= TEARS and _small(numbers, _excess(numbers, "r_n_scaled"))):
        return None
    return Reading(
        "torn",
        f"The embedding is torn, or neighbourhoods of the data take short cuts: {_percent(share)} of the "
        f"neighbourhoods are pulled apart, stretched {_times(numbers['stretch_of_bad'])} times as much as "
        "the others, which keep their shape.",
    )


def _folded(numbers: Mapping[str, float]) -> Reading | None:
    elongated = numbers["ratio"] > ELONGATED
    if numbers["overlap"] <= (OVERLAPPING_ELONGATED if elongated else OVERLAPPING):
        return None
    return Reading(
        "folded",
        f"Distant points lie on each other: {_percent(numbers['overlap'])} of what is nearest in the "
        "embedding is far in the data, as if it were folded.",
    )


def _alike(numbers: Mapping[str, float]) -> Reading | None:
    """Tell apart what keeps the shapes of neighbourhoods."""
    small = _small(numbers, _excess(numbers, "r_c"))
    if numbers["ratio"] > ALIKE or not (small or numbers["ratio_spread"] <= UNIFORM):
        return None
    if numbers["size_spread"] > max(VARYING, numbers["ratio_spread"]):
        return Reading(
            "conformal",
            f"Shapes are kept, but the scale varies from place to place, by a factor of "
            f"{_times(numbers['size_spread'])} between a tenth of the points and another: lengths cannot be "
            "compared.",
        )
    if not 1 / OFF < numbers["size"] < OFF:
        return Reading(
            "scaled",
            f"Only the unit is wrong: multiply the embedding by {numbers['scale']:.3g}, and R_N falls from "
            f"{numbers['r_n']:.3g} to {numbers['r_n_scaled']:.3g}.",
        )
    rest = "" if small else ", and the rest looks like noise: the stretch is the same everywhere"
    return Reading(
        "faithful",
        f"The embedding is faithful: R_N is {numbers['r_n']:.3g}, {numbers['lower_bound']:.3g} is the least "
        f"possible{rest}.",
    )


def _stretched(numbers: Mapping[str, float]) -> Reading | None:
    if _uniform(numbers):
        return Reading(
            "stretched",
            f"Everything is stretched alike, {_times(numbers['ratio'])} times as much in one direction as in "
            "another, as if coordinates had been normalised: one linear map undoes it.",
        )
    if _small(numbers, _excess(numbers, "nieqa_local")):
        return Reading(
            "stretched",
            "Coordinates are stretched separately, and not alike everywhere: half of the neighbourhoods "
            f"{_times(numbers['ratio'])} times as much or more in one direction as in another.",
        )
    return None


def _percent(share: float) -> str:
    return f"{_short(100 * share)} %"


def _times(factor: float) -> str:
    return _short(factor) if factor < 1000 else "more than 1000"


def _short(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"
