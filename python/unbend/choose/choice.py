"""The rules of the choice: of the dimension by scores, and of the embedding by its score and by the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..fit.trust.evidence import TRUSTED_SCORE
from .dimension import Dimension
from .sweep import Candidate

__all__ = ["DimensionChoice", "choice_of", "next_dimension", "shown_dimension"]

Array = npt.NDArray[np.float64]

WORTHWHILE_DROP = 3.0
"""One more dimension is taken if the score falls more than this many times: an embedding in more dimensions always
agrees at least as well with the data, usually twice as well if all that it adds is noise."""

GOOD_RATIO, GOOD_MARGIN = 4.0, 0.005
"""An embedding is good if its score is at most this multiple of the least, plus this margin. Scores are not exact
enough to distinguish good embeddings, so the one closest to all others is chosen."""


def shown_dimension(estimate: Dimension, allowed: Sequence[int]) -> int:
    """Return the dimension to begin with: the nearest to a clear estimate, else the least.

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(1000, random_state=0)
    >>> shown_dimension(ub.dimension(X, random_state=0), [1, 2, 3])
    2
    """
    if estimate.is_guess:
        return min(allowed)
    return min(allowed, key=lambda d: (abs(d - estimate.value), -d))


def next_dimension(
    d: int, scores: Mapping[int, tuple[float, float]], allowed: Sequence[int], estimate: Dimension, dim: int
) -> int | None:
    """Return the dimension to try after `d`, or None if `d` is enough.

    `scores` holds the score and the least over graphs for each dimension. An embedding in as many dimensions as
    the data have columns shows the data themselves, and says nothing, unless the data fill their space.
    """
    larger = [other for other in allowed if other > d and (other < dim or estimate.value == dim)]
    if not larger or scores[d][1] <= TRUSTED_SCORE:
        return None
    return larger[0]


@dataclass(frozen=True)
class DimensionChoice:
    """The dimension of the embeddings to choose from.

    Attributes
    ----------
    value : int
        The dimension.
    is_guess : bool
        True if other dimensions are nearly as likely.
    sentence : str
        The reason in words.
    """

    value: int
    is_guess: bool
    sentence: str

    @classmethod
    def of(
        cls,
        scores: Mapping[int, tuple[float, float]],
        allowed: Sequence[int],
        estimate: Dimension,
        asked: bool,
    ) -> DimensionChoice:
        """Return the choice from the scores of one embedding in each dimension that was tried."""
        if asked and len(allowed) == 1:
            return cls(allowed[0], False, f"{allowed[0]} as asked for; {_estimated(estimate)}")
        if not scores:  # The first fit failed.
            value = shown_dimension(estimate, allowed)
            return cls(value, estimate.is_guess, _estimated(estimate))
        value = first = min(scores)
        for d in sorted(scores):
            if d > value and scores[d][0] * WORTHWHILE_DROP < scores[value][0]:
                value = d
            elif d > value:
                break
        is_guess = estimate.is_guess or value != shown_dimension(estimate, allowed)
        return cls(value, is_guess, _reason(value, first, scores, allowed, estimate))


def choice_of(candidates: Sequence[Candidate], d: int) -> Candidate:
    """Return the candidate in `d` dimensions that the rule chooses."""
    made = [c for c in candidates if c.error is None and c.n_components == d]
    least = min(c["score"].value for c in made)
    if len(made) < 3 or min(c["closest"].value for c in made) > TRUSTED_SCORE:
        return next(c for c in made if c["score"].value == least)
    distances = np.median(_distances([np.asarray(c.embedding) for c in made]), axis=1)
    limit = GOOD_RATIO * least + GOOD_MARGIN
    good = [(distances[i], c["score"].value, i) for i, c in enumerate(made) if c["score"].value <= limit]
    return made[min(good)[2]]


def _distances(embeddings: Sequence[Array]) -> Array:
    """Return the Procrustes disparity of every pair of embeddings.

    Examples
    --------
    >>> y = np.random.default_rng(0).normal(size=(50, 2))
    >>> _distances([y, 3 * y[:, ::-1]]).max() < 1e-12
    np.True_
    """
    shapes = []
    for y in embeddings:
        centered = y - y.mean(axis=0)
        shapes.append(centered / (np.linalg.norm(centered) or 1.0))
    distances = np.zeros((len(shapes), len(shapes)))
    for i, one in enumerate(shapes):
        for j, other in enumerate(shapes[:i]):
            fit = np.linalg.svd(one.T @ other, compute_uv=False).sum()
            distances[i, j] = distances[j, i] = max(0.0, 1.0 - fit**2)
    return distances


def _estimated(estimate: Dimension) -> str:
    guess = ", a guess" if estimate.is_guess else ""
    return f"the data need about {estimate.value} dimension{'s' * (estimate.value != 1)}{guess}"


def _reason(
    value: int,
    first: int,
    scores: Mapping[int, tuple[float, float]],
    allowed: Sequence[int],
    estimate: Dimension,
) -> str:
    seen = ", ".join(f"{scores[d][0]:.3g} in {d}" for d in sorted(scores))
    if estimate.value > max(allowed) and not estimate.is_guess:
        return f"{_estimated(estimate)}; the best of at most {max(allowed)} is {value}"
    if value == estimate.value and not estimate.is_guess:
        return f"variance falls {estimate.gap:.3g} times after direction {value}"
    if estimate.is_guess:
        return (
            f"{value} is a guess: variance has no clear fall ({_estimated(estimate)}), and embeddings have scores "
            f"of {seen}; the least dimension is taken from which one more does not lower the score "
            f"{WORTHWHILE_DROP:g} times"
        )
    return (
        f"{value} is a guess: variance falls {estimate.gap:.3g} times after direction {estimate.value}, but "
        f"embeddings have scores of {seen}; a closed or branching shape, or noise, needs more dimensions than its "
        "neighborhoods show"
        if value > first
        else f"{value} is the nearest to {estimate.value}, the dimension of the data, of those asked for"
    )
