"""All measures of several embeddings of the same data. What the embeddings share is computed once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import are_equal, as_points
from ..core.random import seed_from
from ..graph.cut import pairs_of, without
from ..graph.neighbors import Neighborhoods, resolve
from ..metrics import Faithfulness, Geodesic, Ranks, Shepard, faithful
from ..metrics.agreement import Agreement, clean_of, worse_agreement
from ..metrics.distances import measured_geodesic, measured_shepard
from ..metrics.faithful import screes
from ..metrics.nieqa import Skeleton, measured_asim
from ..metrics.ranks import measured_ranks
from ..metrics.sampling import Array, Centers, Sampling, companion, mean_of, sample_weights, standard_error
from ..metrics.subject import Subject, fewest_neighbors
from .answers import SAMPLED, Sampled, sampled
from .measures import FAMILIES, MEASURES, Value

# All points are measured up to this number; above it, "auto" draws a sample by default.
EXACT = 100_000

# Dimensions that show this share of a neighborhood are enough.
SHOWN_SHARE = 0.9

# Local spectra of about this many points tell how many dimensions a neighborhood needs.
N_SPECTRA = 256

# Attributes of the result of a family that hold a measure.
_AT_POINTS = {"r_n": "r_n", "r_c": "r_c", "lower_bound": "bound", "overlap": "overlap"}
_ALONG_THE_GRAPH = {"geodesic_stress": "stress_scaled", "geodesic_stretch": "stretch"}
_RANDOM = {"residual_variance": 1.0, "spearman": 0.0, "pearson": 0.0}

Report = Callable[[int, int], Any]  # Takes the number of finished steps and of all steps.


@dataclass(frozen=True, eq=False)
class Measurements:
    """All measures of one embedding, with its points and neighborhoods.

    The attributes are those of :class:`unbend.Quality`, and `entries`, all measures by name.
    """

    n_points: int
    n_neighbors: int
    shape: tuple[int, int]
    left_out: Mapping[str, str]
    centers: npt.NDArray[np.uint32] = field(repr=False)
    per_point: Mapping[str, Array] = field(repr=False)
    faithfulness: Faithfulness | None = field(repr=False)
    ranks: Ranks | None = field(repr=False)
    geodesic: Geodesic | None = field(default=None, repr=False)
    shepard: Shepard | None = field(default=None, repr=False)
    agreement: Agreement | None = field(default=None, repr=False)
    entries: Mapping[str, Value] = field(default_factory=dict, repr=False)
    n_cut_pairs: int = 0
    whole: Measurements | None = field(default=None, repr=False)
    fit_sentence: str = field(default="", repr=False)
    n_dimensions_needed: int | None = None
    share_apart: float = 0.0
    is_cleaned: bool = False
    n_outliers: int = 0
    are_equal: bool = False
    sampled: Sampled = field(default_factory=Sampled, repr=False)


@dataclass(frozen=True, eq=False)
class MeasureContext:
    """The data, the embeddings and the measures to take, checked, and what all embeddings share."""

    points: _core.Points  # Input data, checked once for all measures.
    subjects: Mapping[str, Subject]  # The embeddings, with their cuts.
    graph: Neighborhoods
    searched: bool  # True if `graph` was searched here: it then holds the exact nearest of every point.
    names: tuple[str, ...]  # The measures to take.
    left_out: Mapping[str, str]  # The measures of "all" that cannot be taken, and why not.
    coordinates: Any  # The true coordinates, or None.
    sampling: Sampling  # Samples to draw, with a number as their seed.
    answered: tuple[str, ...] = ()  # The measures to take of a sample, for statements.
    weights: Array | None = None  # The weight of each neighborhood in means over points.

    @classmethod
    def of(
        cls,
        X: Any,
        embeddings: Mapping[str, Any],
        measures: Any,
        n_neighbors: int | None,
        radius: float | None,
        neighborhoods: Neighborhoods | None,
        coordinates: Any,
        sampling: Sampling,
        merits: Sequence[Any] = (),
        cuts: Mapping[str, Any] | None = None,
        *,
        brief: bool = False,
        sample_weight: Any = None,
    ) -> MeasureContext:
        """Check the arguments, then find the neighborhoods; `merits` must be among the measures taken.

        Embeddings can be fitted estimators. Of `cuts`, each replaces the cut that an estimator knows. If `brief`,
        measures that are expensive are taken only of the sample for statements.
        """
        points = _core.Points(as_points(X))
        x = points.array
        sampling = replace(sampling, random_state=seed_from(sampling.random_state))
        sampling.pairs(len(x))  # refuses too small a sample
        known = _by_name(cuts, embeddings)
        subjects = {name: Subject.of(x, y, known.get(name), name) for name, y in embeddings.items()}
        ys = {name: subject.y for name, subject in subjects.items()}
        truth = None if coordinates is None else companion(x, coordinates, ("X", "coordinates"))
        demanded, left_out = _chosen(measures, x.shape[1], ys, truth)
        for name in merits:
            check_merit("by", name, demanded, left_out)
        if neighborhoods is None and radius is None and n_neighbors is None:
            n_neighbors = fewest_neighbors(subjects.values())
        graph = resolve(points, neighborhoods, n_neighbors, radius, sampling.n_jobs)
        if len(graph.indices) == 0:
            where = "" if radius is None else f" within radius = {radius}"
            raise ValueError(f"no point has a neighbor{where}")
        if not demanded.get("m_g", True) and graph.n_connected_components > 1:
            del demanded["m_g"]
            left_out["m_g"] = f"the neighborhood graph is in {graph.n_connected_components} pieces"
            for name in merits:
                check_merit("by", name, demanded, left_out)
        answered = tuple(name for name in demanded if name in SAMPLED)
        names = tuple(name for name in demanded if not (brief and name in SAMPLED))
        searched, weights = neighborhoods is None, sample_weights(sample_weight, len(x))
        return cls(points, subjects, graph, searched, names, left_out, truth, sampling, answered, weights)

    @property
    def x(self) -> Any:
        """Input data as an array."""
        return self.points.array

    @cached_property
    def ys(self) -> dict[str, Any]:
        """The embeddings as arrays."""
        return {name: subject.y for name, subject in self.subjects.items()}

    @cached_property
    def sheets(self) -> dict[str, tuple[Neighborhoods, int]]:
        """The neighborhoods of each embedding that is cut, and the number of pairs that they lack."""
        sheets = {}
        for name, subject in self.subjects.items():
            if subject.cut is not None:
                sheet, torn = without(self.graph, subject.cut)
                if torn.any():
                    sheets[name] = sheet, len(pairs_of(self.graph, torn))
        return sheets

    @property
    def share_apart(self) -> float:
        """Share of the points outside the largest connected component of the neighborhood graph."""
        return self.graph.share_apart

    @cached_property
    def n_dimensions_needed(self) -> int | None:
        """Number of dimensions that could show nine tenths of a neighborhood, on average over a sample."""
        k, n = self.graph.n_neighbors, len(self.points)
        if k is None or "lower_bound" not in self.names:
            return None
        centers = np.arange(0, n, max(1, n // N_SPECTRA), dtype=np.uint32)
        least = screes(self.x, self.graph, [k], centers, self.sampling.threads)[0].mean(axis=0)
        enough = np.flatnonzero(least <= 1 - SHOWN_SHARE)
        return int(enough[0]) + 1 if len(enough) else None

    @property
    def k(self) -> int:
        """Number of neighbors for the measures by ranks: the mean, if neighborhoods differ in size."""
        mean = max(1, round(len(self.graph.indices) / len(self.graph)))
        return min(self.graph.n_neighbors or mean, len(self.points) - 1)

    @property
    def _nearest(self) -> Any:
        """The neighbors of each point for measures by ranks, if all have as many."""
        return self.graph.core if self.graph.n_neighbors else None

    def measure(self, report: Report = lambda done, total: None) -> dict[str, Measurements]:
        """Measure each embedding at the same points, and report the progress."""
        n, steps = len(self.points), 2 * len(self.ys)

        def each(measured: Callable[[str], Measurements], before: int) -> dict[str, Measurements]:
            results = {}
            for place, name in enumerate(self.ys):
                report(before + place, steps)
                results[name] = measured(name)
            return results

        by_default = self.sampling.n_centers is None and n > EXACT
        _, parts = (replace(self.sampling, n_centers="auto") if by_default else self.sampling).measured(
            n,
            lambda centers: each(lambda name: self._at(name, centers), 0),
            lambda parts: (
                values
                for part in parts.values()
                for each in (part, part.whole)
                if each is not None
                for values in each.per_point.values()
            ),
        )
        return each(lambda name: self._completed(name, parts[name]), len(self.ys))

    def _at(self, name: str, centers: Centers) -> Measurements:
        """Take the measures that are means over points, on the sheet of a cut and on all neighborhoods."""
        options: dict[str, Any] = {"centers": centers, "n_jobs": self.sampling.n_jobs}
        subject, (sheet, n_cut_pairs) = self.subjects[name], self.sheets.get(name, (self.graph, 0))
        y, m, ranks = subject.y, None, None
        units: dict[str, Array] = {}
        if self._members("procrustes"):
            m = faithful.measured(
                self.points, y, self.graph, cut=subject.cut, weights=self.weights, **options
            )
        if names := self._members("ranks"):
            ranks = measured_ranks(self.points, y, self.k, self._nearest, at_points=names, **options)
            units = ranks.at_points(names)

        def on(graph: Neighborhoods, m: Faithfulness | None) -> dict[str, Array]:
            known = units | self._of_neighborhoods(y, graph, m, options)
            return {name: known[name] for name in self.names if name in known}

        n, q = self.x.shape
        centers = np.arange(n, dtype=np.uint32) if centers is None else centers
        shape = (q, y.shape[1])
        part = Measurements(n, self.k, shape, self.left_out, centers, on(sheet, m), m, ranks)
        known = {name: getattr(subject, name) for name in ("fit_sentence", "is_cleaned", "n_outliers")}
        part = replace(part, **known, share_apart=self.share_apart)
        part = replace(part, n_dimensions_needed=self.n_dimensions_needed, are_equal=are_equal(self.x))
        if n_cut_pairs == 0:
            return part
        of_whole = None if m is None else m.whole
        whole = replace(part, per_point=on(self.graph, of_whole), faithfulness=of_whole)
        return replace(part, n_cut_pairs=n_cut_pairs, whole=whole)

    def _of_neighborhoods(
        self, y: Any, graph: Neighborhoods, m: Faithfulness | None, options: Mapping[str, Any]
    ) -> dict[str, Array]:
        """Return the measures of single neighborhoods at each point; `m` holds those of Procrustes."""
        units: dict[str, Array] = {}
        if m is not None:
            units |= {name: m.per_point[at] for name, at in _AT_POINTS.items() if name in self.names}
            if options["centers"] is not None and "r_n_scaled" in self.names:
                # At the best scale the derivative by the scale is 0, so these have the right standard errors.
                points, scaled = _rescaled(self.points, y, m.scale)
                rescaled = faithful.measured(points, scaled, graph, own=True, **options)
                units["r_n_scaled"] = rescaled.per_point["r_n"]
        for name in self.names:
            if at_points := MEASURES[name].at_points:
                units[name] = at_points(self.points, y, graph, **options)
        return units

    def _completed(self, name: str, part: Measurements) -> Measurements:
        """Add the other measures, each with its value on all neighborhoods if a cut changes it."""
        y, (sheet, _) = self.ys[name], self.sheets.get(name, (self.graph, 0))
        jobs = self.sampling.n_jobs
        answers = sampled(self.points, y, self.k, self._nearest, sheet, self.answered, jobs)
        part = replace(part, sampled=answers)
        if self._members("distances"):
            part = replace(part, shepard=measured_shepard(self.points, y, self.sampling))
        part = self._along(sheet, y, part)
        entries = {name: self._value(name, y, part) for name in self.names}
        if part.whole is None:
            return replace(part, entries=entries)
        whole = self._along(self.graph, y, replace(part.whole, shepard=part.shepard))
        on_whole = {
            name: self._value(name, y, whole) if _sees_a_cut(name) else value
            for name, value in entries.items()
        }
        entries |= {
            name: replace(value, whole=on_whole[name]) for name, value in entries.items() if _sees_a_cut(name)
        }
        return replace(part, entries=entries, whole=replace(whole, entries=on_whole))

    def _along(self, graph: Neighborhoods, y: Any, part: Measurements) -> Measurements:
        """Add the measures of shortest paths on a graph."""
        names, jobs = self._members("geodesic"), self.sampling.n_jobs
        if "disagreement" in names:
            clean = self._clean(graph, y.shape[1])
            part = replace(part, agreement=worse_agreement(self.points, y, graph, clean, jobs))
        if set(names) - {"disagreement"}:
            part = replace(part, geodesic=measured_geodesic(self.points, y, graph, self.sampling))
        return part

    @cached_property
    def _clean(self) -> Callable[[Neighborhoods, int], Neighborhoods | None]:
        """Function of a graph and a dimension: the graph without short circuits, found once for all embeddings."""
        return cache(lambda graph, d: clean_of(self.points, graph, d, self.sampling.n_jobs))

    def _members(self, family: str) -> list[str]:
        """Return the measures of a family that are to be taken together."""
        taken = [MEASURES[name] for name in self.names]
        return [measure.name for measure in taken if measure.family == family and not measure.at_points]

    def _value(self, name: str, y: Any, part: Measurements) -> Value:
        """Return one number; a mean over points to the last bit as its own function returns it."""
        measure, units, null = MEASURES[name], part.per_point.get(name), None
        if name == "m_t":
            return Value(measure, measured_asim(y, self.coordinates))
        if name == "m_g":
            return Value(measure, self._skeleton.asim(y), 0.0 if self._skeleton.exact else math.nan)
        if name == "disagreement" and part.agreement is not None:
            errors = part.agreement.random_errors
            share = len(errors) / part.n_points
            return Value(measure, float(errors.mean()), standard_error(errors, share), None, errors, share)
        if units is None and measure.family in ("geodesic", "distances"):
            return _of_distances(name, part.geodesic if measure.family == "geodesic" else part.shepard)
        share = len(part.centers) / part.n_points
        if units is None:
            return Value(measure, getattr(part.faithfulness, name), 0.0 if share == 1 else math.nan)
        kept = np.isfinite(units)
        finite, weights = units[kept], None if self.weights is None else self.weights[part.centers][kept]
        if part.ranks is not None and measure.family == "ranks":
            number = float(np.ravel(getattr(part.ranks, name))[-1])
            if weights is not None:
                number = mean_of(finite, weights)
            null = float(np.ravel(part.ranks.null(name))[-1])  # type: ignore[arg-type]
        elif measure.at_points:
            number = mean_of(finite, weights) if len(finite) else math.inf
        else:
            number = float(getattr(part.faithfulness, name))
        return Value(measure, number, standard_error(finite, share, weights), null, units, share)

    @cached_property
    def _skeleton(self) -> Skeleton:
        """The landmarks of the data, as many as the widest embedding needs."""
        widest = max(y.shape[1] for y in self.ys.values())
        return Skeleton.by_default(self.points, widest, self.graph if self.searched else None, self.sampling)


def _sees_a_cut(name: str) -> bool:
    """Return whether a measure depends on which points are neighbors on the sheet."""
    return MEASURES[name].at_points is not None or (
        MEASURES[name].family in ("procrustes", "geodesic") and name != "overlap"
    )


def _by_name(cuts: Any, embeddings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cuts by the names of their embeddings, which are text."""
    if not isinstance(cuts, Mapping | None):
        raise ValueError(f"cuts is a {type(cuts).__name__}: give a dict of names and pairs of neighbors")
    known = {str(name): cut for name, cut in (cuts or {}).items()}
    unknown = next((name for name in known if name not in embeddings), None)
    if unknown is not None:
        raise ValueError(f"a cut of {unknown!r} is given, but embeddings are {', '.join(embeddings)}")
    return known


def _rescaled(points: _core.Points, y: Any, scale: float) -> tuple[Any, Any]:
    """Return the data and `scale` times the embedding, both divided by a power of two if they are too large.

    Relative measures do not change by that. Points outside all measured neighborhoods can be that far away.
    """
    x, (factor, power) = points.array, math.frexp(scale)
    y = factor * y.astype(np.float64)
    above_x, above_y = (math.frexp(max(-points.min(), points.max()))[1] for points in (x, y))
    over = max(0, max(above_x, above_y + power) - math.frexp(_core.MAX_MAGNITUDE)[1] + 1)
    return np.ldexp(x.astype(np.float64), -over) if over else points, np.ldexp(y, power - over)


def _of_distances(name: str, m: Any) -> Value:
    attribute = _ALONG_THE_GRAPH.get(name, name)
    share = m.n_sources / m.n_points if isinstance(m, Geodesic) else 0.0
    error, units = m.standard_error[attribute], m.units.get(attribute)
    ends = m.interval(attribute) if units is None else None
    return Value(MEASURES[name], getattr(m, attribute), error, _RANDOM.get(name), units, share, ends)


def check_merit(role: str, name: Any, names: Iterable[str], left_out: Mapping[str, str]) -> None:
    """Refuse to compare by a measure that was not taken, or of which neither direction is better."""
    merits = [known for known in names if MEASURES[known].better]
    if isinstance(name, str) and name in merits:
        return
    if isinstance(name, str) and name in left_out:
        raise ValueError(f"{role} = {name!r} cannot be measured: {left_out[name]}")
    raise ValueError(f"{role} = {name!r} is none of the merits measured: use one of {', '.join(merits)}")


def _chosen(
    measures: Any, q: int, ys: Mapping[str, Any], truth: Any
) -> tuple[dict[str, bool], dict[str, str]]:
    """Return the measures to take, each with whether it must be possible; and why the others are left out."""
    demanded: dict[str, bool] = {}
    left_out: dict[str, str] = {}
    for asked in _as_names(measures):
        for name in _names_in(asked):
            reason = _obstacle(name, q, ys, truth)
            if reason is None:
                demanded[name] = demanded.get(name, False) or asked != "all"
            elif name == "m_t" and truth is None and asked != name:
                continue  # it belongs to a family or to "all" only if the truth is known
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


def _names_in(asked: Any) -> list[str]:
    """Return the measures that a name stands for: itself, a family or all."""
    if isinstance(asked, str):
        members = [name for name, m in MEASURES.items() if asked in ("all", m.family, name)]
        if members:
            return members
    raise ValueError(f"{asked!r} is no measure: use 'all', {', '.join((*FAMILIES, *MEASURES))}")


def _obstacle(name: str, q: int, ys: Mapping[str, Any], truth: Any) -> str | None:
    """Return why a measure cannot be taken of all embeddings, or None if it can."""
    if name == "m_t" and truth is None:
        return "give the true coordinates as coordinates="
    for called, y in ys.items():
        d = y.shape[1]
        if name == "m_t" and truth.shape[1] > d:
            return f"coordinates has {truth.shape[1]} columns, more than the {d} of {called}"
        if name != "m_t" and MEASURES[name].family in ("procrustes", "nieqa") and d > q:
            return f"{called} has {d} dimensions, the data {q}"
    return None
