"""All measures of some embeddings of the same data, with what they share found once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from ._random import seed_from
from .measures import FAMILIES, MEASURES, Value
from .metrics import Faithfulness, Geodesic, Ranks, Shepard, faithfulness, nieqa_local, nieqa_truth
from .metrics import geodesic as measure_geodesic
from .metrics import ranks as measure_ranks
from .metrics import shepard as measure_shepard
from .metrics.nieqa import Skeleton
from .metrics.sampling import Array, Centers, pair, sampled, standard_error
from .neighbors import Neighborhoods, resolve
from .points import as_points

if TYPE_CHECKING:
    from .metrics.ranks import Name

__all__ = ["Found", "Survey"]

# All of so many points are measured; of more, as many as the half-width takes.
EXACT = 100_000

# Where a measure is found in the result of its family.
_AT_POINTS = {"r_n": "r_n", "r_c": "r_c", "lower_bound": "bound", "overlap": "overlap"}
_ALONG_THE_GRAPH = {
    "residual_variance": "residual_variance",
    "geodesic_stress": "stress_scaled",
    "geodesic_stretch": "stretch",
}
_RANDOM = {"residual_variance": 1.0, "spearman": 0.0, "pearson": 0.0}


@dataclass(frozen=True, eq=False)
class Found:
    """What was measured of one embedding."""

    dim: int
    """Of the embedding."""
    centers: npt.NDArray[np.uint32]
    faithfulness: Faithfulness | None
    rescaled: Array | None
    """R_N of each point after the best scale, if only some were measured."""
    m_l: Array | None
    ranks: Ranks | None
    geodesic: Geodesic | None = None
    shepard: Shepard | None = None
    values: Mapping[str, Value] = field(default_factory=dict)

    def at_points(self, name: str) -> Array | None:
        """Return a number for each point measured, if `name` is a mean of such."""
        family = MEASURES[name].family
        if name == "m_l":
            return self.m_l
        if name in _AT_POINTS and self.faithfulness is not None:
            return self.faithfulness.per_point[_AT_POINTS[name]]
        if name == "r_n_scaled":
            return self.rescaled
        if family == "ranks" and self.ranks is not None:
            return self.ranks.per_point(cast("Name", name))
        return None


@dataclass(frozen=True, eq=False)
class Survey:
    """What is to be measured of which data, and at how many places."""

    x: Any
    widest: int
    """The largest dimension of the embeddings."""
    graph: Neighborhoods
    names: tuple[str, ...]
    demanded: bool
    """Whether names were given, so that none may be left out."""
    coordinates: Any
    n_centers: Any
    half_width: float
    n_sources: int | None
    n_pairs: int | None
    seed: int
    n_jobs: int | None

    @classmethod
    def of(
        cls,
        X: Any,
        embeddings: Mapping[str, Any],
        measures: Any,
        n_neighbors: int | None,
        *,
        radius: float | None,
        neighborhoods: Neighborhoods | None,
        coordinates: Any,
        random_state: Any,
        **sampling: Any,
    ) -> Survey:
        """Check what is asked for, then find the neighbourhoods."""
        x = as_points(X)
        widest = max(_other(x, y, name).shape[1] for name, y in embeddings.items())
        names = _chosen(measures, x.shape[1], widest, coordinates is not None)
        truth = None if coordinates is None else _other(x, coordinates, "coordinates")
        graph = resolve(x, neighborhoods, n_neighbors, radius, sampling["n_jobs"])
        demanded = not (isinstance(measures, str) and measures == "all")
        return cls(x, widest, graph, names, demanded, truth, seed=seed_from(random_state), **sampling)

    @property
    def k(self) -> int:
        """How many neighbours the measures of ranks look at: the mean, if neighbourhoods differ in size."""
        mean = max(1, round(len(self.graph.indices) / len(self.graph)))
        return min(self.graph.n_neighbors or mean, len(self.x) - 1)

    def measure(self, embeddings: Mapping[str, Any]) -> dict[str, Found]:
        """Measure each of the embeddings, all at the same points."""
        n = len(self.x)
        ys = {name: _other(self.x, y, name) for name, y in embeddings.items()}
        _, found = sampled(
            n,
            "auto" if self.n_centers is None and n > EXACT else self.n_centers,
            self.half_width,
            self.seed,
            lambda centers: {name: self._at(y, centers) for name, y in ys.items()},
            lambda found: (values for one in found.values() for values in self._aims(one)),
        )
        return {name: self._completed(y, found[name]) for name, y in ys.items()}

    def _at(self, y: Any, centers: Centers) -> Found:
        options: dict[str, Any] = {"n_centers": centers, "n_jobs": self.n_jobs}
        near: dict[str, Any] = {"neighborhoods": self.graph, **options}
        ranked: dict[str, Any] = near if self.graph.n_neighbors else {"n_neighbors": self.k, **options}
        m = faithfulness(self.x, y, **near) if self._wants("procrustes") else None
        # The best scale is where its own error changes nothing, so the means of these have the right errors.
        again = m is not None and centers is not None and "r_n_scaled" in self.names
        return Found(
            dim=y.shape[1],
            centers=np.arange(len(self.x), dtype=np.uint32) if centers is None else centers,
            faithfulness=m,
            rescaled=faithfulness(self.x, m.scale * y, **near).per_point["r_n"] if m and again else None,
            m_l=np.asarray(nieqa_local(self.x, y, per_point=True, **near)) if "m_l" in self.names else None,
            ranks=measure_ranks(self.x, y, **ranked) if self._wants("ranks") else None,
        )

    def _aims(self, found: Found) -> Iterator[Array]:
        """Yield what the intervals of a growing sample shall be narrow for: all means over points."""
        units = map(found.at_points, self.names)
        return (values for values in units if values is not None)

    def _completed(self, y: Any, found: Found) -> Found:
        """Add what is not measured at points."""
        options: dict[str, Any] = {"random_state": self.seed, "n_jobs": self.n_jobs}
        along = straight = None
        if self._wants("geodesic"):
            near: dict[str, Any] = {"neighborhoods": self.graph, "n_sources": self.n_sources}
            along = measure_geodesic(self.x, y, **near, **options)
        if self._wants("distances"):
            straight = measure_shepard(self.x, y, n_pairs=self.n_pairs, **options)
        found = replace(found, geodesic=along, shepard=straight)
        values = {name: self._value(name, y, found) for name in self.names}
        return replace(found, values={name: value for name, value in values.items() if value is not None})

    def _wants(self, family: str) -> bool:
        return any(MEASURES[name].family == family for name in self.names)

    def _value(self, name: str, y: Any, found: Found) -> Value | None:
        """Return one number; None if these data have none of this name."""
        units = found.at_points(name)
        if units is not None:
            return self._mean(name, units, found)
        measure = MEASURES[name]
        if name == "m_t":
            return Value(measure, nieqa_truth(y, self.coordinates))
        if name == "m_g":
            return None if self._skeleton is None else Value(measure, self._skeleton.asim(y))
        if measure.family == "procrustes":
            unknown = len(found.centers) < len(self.x)
            return Value(measure, getattr(found.faithfulness, name), math.nan if unknown else 0.0)
        source = found.geodesic if measure.family == "geodesic" else found.shepard
        return _of_distances(name, source)

    def _mean(self, name: str, units: Array, found: Found) -> Value:
        kept, share = units[np.isfinite(units)], len(found.centers) / len(self.x)
        ranked = found.ranks if MEASURES[name].family == "ranks" else None
        null = None if ranked is None else float(np.ravel(ranked.null(cast("Name", name)))[-1])
        return Value(
            MEASURES[name], self._number(name, kept, found), standard_error(kept, share), null, units, share
        )

    def _number(self, name: str, kept: Array, found: Found) -> float:
        """Return a mean as its own function returns it, to the last bit."""
        if MEASURES[name].family == "ranks":
            return float(np.ravel(getattr(found.ranks, name))[-1])
        if name != "m_l":
            return float(getattr(found.faithfulness, name))
        return float(kept.mean()) if len(kept) else math.inf

    @cached_property
    def _skeleton(self) -> Skeleton | None:
        """The landmarks of the data, for all embeddings; None if the data are in pieces, unless demanded."""
        if not self.demanded and self.graph.n_connected_components > 1:
            return None
        return Skeleton.by_default(self.x, self.widest, self.seed, self.n_jobs)


def _of_distances(name: str, m: Geodesic | Shepard | None) -> Value | None:
    if m is None:
        return None
    attribute = _ALONG_THE_GRAPH.get(name, name)
    share = m.n_sources / m.n_points if isinstance(m, Geodesic) else 0.0
    error, units = m.standard_error[attribute], m.units.get(attribute)
    ends = m.interval(attribute) if units is None else None
    return Value(MEASURES[name], getattr(m, attribute), error, _RANDOM.get(name), units, share, ends)


def _other(x: Any, y: Any, name: str) -> Any:
    """Return what belongs to `x` row for row, checked."""
    return pair(x, y, ("X", name), narrower=False)[1]


def _chosen(measures: Any, q: int, d: int, truth: bool) -> tuple[str, ...]:
    """Return the names of the measures asked for."""
    possible = [name for name in MEASURES if _missing(name, q, d, truth) is None]
    if isinstance(measures, str) and measures == "all":
        return tuple(possible)
    asked = [measures] if isinstance(measures, str) else list(measures)
    known = {family: [name for name in possible if MEASURES[name].family == family] for family in FAMILIES}
    names: list[str] = []
    for name in asked:
        if name not in MEASURES and name not in known:
            raise ValueError(f"{name!r} is no measure: use 'all', {', '.join((*FAMILIES, *MEASURES))}")
        reason = _missing(name, q, d, truth) if name in MEASURES else None
        if reason:
            raise ValueError(f"{name} cannot be measured: {reason}")
        names.extend(known.get(name, [name]))
    if not names:
        raise ValueError("measures is empty: at least 1 is needed")
    return tuple(dict.fromkeys(names))


def _missing(name: str, q: int, d: int, truth: bool) -> str | None:
    """Say why a measure cannot be taken."""
    if name == "m_t":
        return None if truth else "give the true coordinates as coordinates="
    if MEASURES[name].family in ("procrustes", "nieqa") and d > q:
        return f"the embedding has {d} dimensions, the data {q}"
    return None
