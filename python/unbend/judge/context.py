"""All measures of some embeddings of the same data, with what they share found once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from ..core.arrays import LARGEST, as_points, thread_count
from ..core.random import seed_from
from ..graph.neighbors import Neighborhoods, resolve
from ..metrics import Faithfulness, Geodesic, Ranks, Shepard, faithfulness, nieqa_local, nieqa_truth
from ..metrics import geodesic as measure_geodesic
from ..metrics import ranks as measure_ranks
from ..metrics import shepard as measure_shepard
from ..metrics.distances import draw_sources, pair_count
from ..metrics.nieqa import Skeleton
from ..metrics.sampling import Array, Centers, check_sample, pair, sampled, standard_error
from .measures import FAMILIES, MEASURES, Value

if TYPE_CHECKING:
    from ..metrics.ranks import Name

__all__ = ["Found", "MeasureContext", "check_merit"]

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


Report = Callable[[int, int], Any]
"""Is told how many steps are done, of how many."""


def _tell_nobody(done: int, total: int) -> None:
    pass


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
class MeasureContext:
    """What is to be measured of which data, and at how many places."""

    x: Any
    ys: Mapping[str, Any]
    """The embeddings."""
    graph: Neighborhoods
    searched: bool
    """Whether the graph was found here: the nearest of every point, exactly."""
    names: tuple[str, ...]
    left_out: Mapping[str, str]
    """What of "all" cannot be measured, and why not."""
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
        merits: Sequence[Any] = (),
        radius: float | None,
        neighborhoods: Neighborhoods | None,
        coordinates: Any,
        random_state: Any,
        **sampling: Any,
    ) -> MeasureContext:
        """Check what is asked for, then find the neighbourhoods; `merits` must be among what is measured."""
        x, seed = as_points(X), seed_from(random_state)
        ys = {name: _other(x, y, name) for name, y in embeddings.items()}
        truth = None if coordinates is None else _other(x, coordinates, "coordinates")
        demanded, left_out = _chosen(measures, x.shape[1], ys, truth)
        for name in merits:
            check_merit("by", name, demanded, left_out)
        _check_sampling(len(x), **sampling)
        graph = resolve(x, neighborhoods, n_neighbors, radius, sampling["n_jobs"])
        if len(graph.indices) == 0:
            where = "" if radius is None else f" within radius = {radius}"
            raise ValueError(f"no point has a neighbour{where}")
        if not demanded.get("m_g", True) and graph.n_connected_components > 1:
            del demanded["m_g"]
            left_out["m_g"] = f"the neighbourhood graph is in {graph.n_connected_components} pieces"
            for name in merits:
                check_merit("by", name, demanded, left_out)
        searched = neighborhoods is None
        return cls(x, ys, graph, searched, tuple(demanded), left_out, truth, seed=seed, **sampling)

    @property
    def k(self) -> int:
        """How many neighbours the measures of ranks look at: the mean, if neighbourhoods differ in size."""
        mean = max(1, round(len(self.graph.indices) / len(self.graph)))
        return min(self.graph.n_neighbors or mean, len(self.x) - 1)

    def measure(self, report: Report = _tell_nobody) -> dict[str, Found]:
        """Measure each of the embeddings, all at the same points, and report how far that got."""
        n, steps = len(self.x), 2 * len(self.ys)

        def each(measured: Callable[[Any], Found], before: int) -> dict[str, Found]:
            found = {}
            for place, name in enumerate(self.ys):
                report(before + place, steps)
                found[name] = measured(name)
            return found

        _, found = sampled(
            n,
            "auto" if self.n_centers is None and n > EXACT else self.n_centers,
            self.half_width,
            self.seed,
            lambda centers: each(lambda name: self._at(self.ys[name], centers), 0),
            lambda found: (values for one in found.values() for values in self._aims(one)),
        )
        return each(lambda name: self._completed(self.ys[name], found[name]), len(self.ys))

    def _at(self, y: Any, centers: Centers) -> Found:
        options: dict[str, Any] = {"n_centers": centers, "n_jobs": self.n_jobs}
        near: dict[str, Any] = {"neighborhoods": self.graph, **options}
        ranked: dict[str, Any] = near if self.graph.n_neighbors else {"n_neighbors": self.k, **options}
        m = faithfulness(self.x, y, **near) if self._wants("procrustes") else None
        rescaled = None
        if m is not None and centers is not None and "r_n_scaled" in self.names:
            # At the best scale its own error changes nothing, so the means of these have the right errors.
            rescaled = faithfulness(*_rescaled(self.x, y, m.scale), **near).per_point["r_n"]
        return Found(
            dim=y.shape[1],
            centers=np.arange(len(self.x), dtype=np.uint32) if centers is None else centers,
            faithfulness=m,
            rescaled=rescaled,
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
        return replace(found, values={name: self._value(name, y, found) for name in self.names})

    def _wants(self, family: str) -> bool:
        return any(MEASURES[name].family == family for name in self.names)

    def _value(self, name: str, y: Any, found: Found) -> Value:
        """Return one number."""
        units = found.at_points(name)
        if units is not None:
            return self._mean(name, units, found)
        measure = MEASURES[name]
        if name == "m_t":
            return Value(measure, nieqa_truth(y, self.coordinates))
        if name == "m_g":
            return Value(measure, self._skeleton.default_asim(y), 0.0 if self._skeleton.exact else math.nan)
        if measure.family == "procrustes":
            unknown = len(found.centers) < len(self.x)
            return Value(measure, getattr(found.faithfulness, name), math.nan if unknown else 0.0)
        source = found.geodesic if measure.family == "geodesic" else found.shepard
        return _of_distances(name, cast("Geodesic | Shepard", source))

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
    def _skeleton(self) -> Skeleton:
        """The landmarks of the data, as many as the widest embedding takes."""
        widest = max(y.shape[1] for y in self.ys.values())
        nearest = self.graph if self.searched else None
        return Skeleton.by_default(self.x, widest, nearest, self.seed, self.n_jobs)


def _rescaled(x: Any, y: Any, scale: float) -> tuple[Any, Any]:
    """Return the data and `scale` times the embedding; both smaller by a power of two if that is too large.

    What is relative does not see it. Points of which no neighbourhood was measured can be that far out.
    """
    factor, power = math.frexp(scale)
    y = factor * y.astype(np.float64)
    over = max(0, max(_power(x), _power(y) + power) - math.frexp(LARGEST)[1] + 1)
    return np.ldexp(x.astype(np.float64), -over) if over else x, np.ldexp(y, power - over)


def _power(points: Any) -> int:
    """Return the power of two above all entries."""
    return math.frexp(max(-points.min(), points.max()))[1]


def _of_distances(name: str, m: Geodesic | Shepard) -> Value:
    attribute = _ALONG_THE_GRAPH.get(name, name)
    share = m.n_sources / m.n_points if isinstance(m, Geodesic) else 0.0
    error, units = m.standard_error[attribute], m.units.get(attribute)
    ends = m.interval(attribute) if units is None else None
    return Value(MEASURES[name], getattr(m, attribute), error, _RANDOM.get(name), units, share, ends)


def _other(x: Any, y: Any, name: str) -> Any:
    """Return what belongs to `x` row for row, checked."""
    return pair(x, y, ("X", name), narrower=False)[1]


def check_merit(role: str, name: Any, names: Iterable[str], left_out: Mapping[str, str]) -> None:
    """Refuse to judge by what was not measured, or says nothing of which is better."""
    merits = [known for known in names if MEASURES[known].better]
    if isinstance(name, str) and name in merits:
        return
    if isinstance(name, str) and name in left_out:
        raise ValueError(f"{role} = {name!r} cannot be measured: {left_out[name]}")
    raise ValueError(f"{role} = {name!r} is none of the merits measured: use one of {', '.join(merits)}")


def _check_sampling(
    n: int, *, n_centers: Any, half_width: Any, n_sources: Any, n_pairs: Any, n_jobs: Any
) -> None:
    """Refuse what would be refused when it is needed."""
    check_sample(n_centers, half_width)
    draw_sources(n, n_sources, 0)
    pair_count(n, n_pairs)
    thread_count(n_jobs)


def _chosen(
    measures: Any, q: int, ys: Mapping[str, Any], truth: Any
) -> tuple[dict[str, bool], dict[str, str]]:
    """Return what is to be measured, and whether by name; and why the rest of "all" is not."""
    demanded: dict[str, bool] = {}
    left_out: dict[str, str] = {}
    for asked in _as_names(measures):
        for name in _members(asked):
            reason = _obstacle(name, q, ys, truth)
            if reason is None:
                demanded[name] = demanded.get(name, False) or asked != "all"
            elif name == "m_t" and truth is None and asked != name:
                continue  # it is among the others where the truth is known
            elif asked == "all":
                left_out[name] = reason
            else:
                raise ValueError(f"{asked} cannot be measured: {reason}")
    return demanded, left_out


def _as_names(measures: Any) -> list[Any]:
    if isinstance(measures, str):
        return [measures]
    if isinstance(measures, bytes) or not isinstance(measures, Iterable):
        hint = f": n_neighbors={measures} is a keyword" if isinstance(measures, int) else ""
        raise ValueError(f"measures = {measures!r} is no name of a measure, nor a list of them{hint}")
    names = list(measures)
    if not names:
        raise ValueError("measures is empty: at least 1 is needed")
    return names


def _members(asked: Any) -> list[str]:
    """Return the measures that a name stands for."""
    if isinstance(asked, str):
        members = [name for name, m in MEASURES.items() if asked in ("all", m.family, name)]
        if members:
            return members
    raise ValueError(f"{asked!r} is no measure: use 'all', {', '.join((*FAMILIES, *MEASURES))}")


def _obstacle(name: str, q: int, ys: Mapping[str, Any], truth: Any) -> str | None:
    """Say why a measure cannot be taken of all embeddings."""
    for called, y in ys.items():
        d = y.shape[1]
        if name == "m_t" and truth is None:
            return "give the true coordinates as coordinates="
        if name == "m_t" and truth.shape[1] > d:
            return f"coordinates has {truth.shape[1]} columns, more than the {d} of {called}"
        if name != "m_t" and MEASURES[name].family in ("procrustes", "nieqa") and d > q:
            return f"{called} has {d} dimensions, the data {q}"
    return None
