"""Measures that statements rest on and that are expensive, taken of the same few points in every call.

So statements cost little, and are the same whatever command or function makes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import _core
from ..graph.neighbors import Neighborhoods
from ..metrics.distances import measured_geodesic
from ..metrics.ranks import measured_ranks
from ..metrics.sampling import Sampling

__all__ = ["BASIS", "SAMPLED", "Sampled", "sampled"]

SAMPLED = ("trustworthiness", "q_nx", "geodesic_stress")
"""Measures that are taken of a sample for statements."""

BASIS = (
    *("r_n", "r_n_scaled", "r_c", "lower_bound", "scale", "overlap", "m_l", "disagreement"),
    *SAMPLED,
)
"""All measures that statements rest on."""

MAX_CENTERS = 1_000
"""Ranks are those of all points up to this number, and of a random sample of this size above it."""

PATH_WORK, FEWEST_SOURCES = 500_000, 4
"""Shortest paths start from as many points as keep their number below the first, but at least the second."""


@dataclass(frozen=True)
class Sampled:
    """Values of the measures for statements, and the sizes of the random samples that they were taken of."""

    values: Mapping[str, float] = field(default_factory=dict)
    null: float | None = None  # Trustworthiness of random embeddings.
    n_centers: int | None = None  # Number of points for ranks; None if those of all points are known.
    n_sources: int | None = None  # Number of points from which shortest paths start; None for all.


def sampled(
    points: _core.Points,
    y: Any,
    k: int,
    nearest: Any,
    sheet: Neighborhoods,
    names: Sequence[str],
    n_jobs: int | None,
) -> Sampled:
    """Measure what `names` ask for; arrays have been checked.

    `nearest` are the `k` nearest of each point in the data if they are known, and `sheet` is the graph without the
    pairs that do not count.
    """
    n, values = len(points), dict[str, float]()
    n_sources = max(FEWEST_SOURCES, PATH_WORK // n)
    n_centers = MAX_CENTERS if n > MAX_CENTERS else None
    sampling = Sampling(n_centers, n_sources=n_sources, random_state=0, n_jobs=n_jobs)
    null = None
    if "trustworthiness" in names or "q_nx" in names:
        _, ranks = sampling.measured(
            n,
            lambda centers: measured_ranks(points, y, k, nearest, centers=centers, n_jobs=n_jobs),
            lambda _: (),
        )
        values |= {"trustworthiness": float(ranks.trustworthiness[-1]), "q_nx": float(ranks.q_nx[-1])}
        null = float(ranks.null("trustworthiness")[-1])  # type: ignore[index]
    if "geodesic_stress" in names:
        values["geodesic_stress"] = measured_geodesic(points, y, sheet, sampling).stress_scaled
    return Sampled(values, null, n_centers, n_sources if n_sources < n else None)
