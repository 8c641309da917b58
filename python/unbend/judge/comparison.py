"""Several embeddings of the same data beside each other."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.progress import Progress
from ..graph.neighbors import Neighborhoods
from ..metrics.sampling import HALF_WIDTH, NCenters, interval, standard_error
from .context import MeasureContext, check_merit
from .measures import MEASURES, Measure, Value
from .quality import WIDTH, Quality, pandas, tables, without, wrapped

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Comparison", "Difference", "compare"]

BY = "r_c"

# Values that differ by less than this share of them are the same but for rounding, and so are those that
# differ by less than this: what shows nothing scores about 1 in every merit, and beside that it is rounding.
_ROUNDING, _NOTHING = 1e-9, 1e-12

# Width of the column that holds the names of measures.
_SYMBOL = 20


@dataclass(frozen=True)
class Difference:
    """By how much a measure of one embedding is larger than that of another.

    Attributes
    ----------
    value : float
        The first less the second; 0 if both are infinite.
    standard_error : float
        Smaller than those of the two would suggest, for both were measured at the same points. 0 if both are
        exact, NaN if unknown.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(3000, random_state=0)
    >>> found = ub.compare(X, {"truth": coordinates, "shadow": X[:, :2]}, n_centers=500, random_state=0)
    >>> found.difference("shadow", "truth", "r_c").interval[0] > 0
    True
    """

    value: float
    standard_error: float

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval."""
        return interval(self.value, self.standard_error)


@dataclass(frozen=True, eq=False)
class Comparison(Mapping[str, Quality]):
    """What was measured of each embedding, by its name: a mapping that prints as a table, the best first.

    Names are text; another key stands for its text, as 1 for "1".

    Attributes
    ----------
    by : str
        The measure by which they are ordered.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(1000, random_state=0)
    >>> found = ub.compare(X, {"shadow": X[:, :2], "truth": coordinates})
    >>> list(found)
    ['truth', 'shadow']
    >>> found.ranks("trustworthiness")
    {'truth': 1, 'shadow': 2}
    """

    qualities: Mapping[str, Quality] = field(repr=False)
    by: str

    def __getitem__(self, name: object) -> Quality:
        """Return all that was measured of one embedding."""
        if str(name) not in self.qualities:
            raise KeyError(f"{name!r} was not compared; there is {', '.join(self.qualities)}")
        return self.qualities[str(name)]

    def __iter__(self) -> Iterator[str]:
        """Go through the names, the best first."""
        return iter(self.qualities)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.qualities)

    @property
    def measures(self) -> list[Measure]:
        """What was measured of all of them."""
        held = list(self.values())
        return [MEASURES[name] for name in held[0] if all(name in quality for quality in held)]

    def difference(self, first: str, second: str, measure: str | None = None) -> Difference:
        """Return by how much a measure of the embedding `first` is larger than that of `second`.

        Parameters
        ----------
        first, second : str
            Two embeddings.
        measure : str, optional
            Of which measure; `by` if not given.
        """
        name = measure or self.by
        return _difference(self[first][name], self[second][name])

    def ranks(self, measure: str | None = None) -> dict[str, int]:
        """Return the rank of each embedding: one more than how many are surely better.

        An embedding is surely better if the 95 % interval of the difference does not hold 0. So those that
        the sample cannot tell apart share a rank, and so do those that differ by rounding.

        Parameters
        ----------
        measure : str, optional
            In which measure; `by` if not given. One of which more or less is better.
        """
        asked = measure or self.by
        check_merit("measure", asked, [m.name for m in self.measures], {})
        values = {name: quality[asked] for name, quality in self.items()}
        return {
            name: 1 + sum(_surely_better(other, value) for other in values.values())
            for name, value in values.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Return all but the arrays, ready for JSON: what is not finite is None."""
        ranks = {m.name: self.ranks(m.name) for m in self.measures if m.better}
        return {"by": self.by, "embeddings": {name: q.to_dict() for name, q in self.items()}, "ranks": ranks}

    def to_json(self) -> str:
        """Return all but the arrays as JSON; what is not finite is null."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame, a row for each embedding and a column for each measure."""
        rows = {name: {m.name: q[m.name].value for m in self.measures} for name, q in self.items()}
        return pandas().DataFrame.from_dict(rows, orient="index")

    def __str__(self) -> str:
        """Return the tables."""
        names = list(self)
        unsure = any(value.standard_error != 0 for quality in self.values() for value in quality.values())
        abreast = (WIDTH - _SYMBOL) // _cell_width(unsure)
        blocks = [names[start : start + abreast] for start in range(0, len(names), abreast)]
        tables = [line for block in blocks for line in [*self._block(block, unsure), ""]]
        left_out = [*without(next(iter(self.values())).left_out)]
        return "\n".join([*tables, *left_out, *[""] * bool(left_out), *self._readings()])

    def _block(self, names: list[str], unsure: bool) -> Iterator[str]:
        """Yield a table of some embeddings side by side."""
        width = _cell_width(unsure)
        labels = _labels(list(self), width - 2)
        yield " " * _SYMBOL + "".join(f"{labels[name]:>{width - 1}} " for name in names)
        for m in self.measures:
            ranks = self.ranks(m.name) if m.better else dict.fromkeys(self, 0)
            cells = "".join(_cell(self[name][m.name], ranks[name] == 1, unsure) for name in names)
            yield f"{'>' if m.name == self.by else ' '} {m.symbol:<{_SYMBOL - 2}}{cells}".rstrip()

    def _readings(self) -> Iterator[str]:
        """Yield the embeddings in their order, with what the numbers say of each."""
        symbol, ranks = MEASURES[self.by].symbol, self.ranks()
        yield f"* none is surely better; > the order, by {symbol}:"
        for name, quality in self.items():
            said = f": {quality.reading}" if quality.reading else ""
            yield from wrapped(name + said, f"{ranks[name]:>3}. ", " " * 5)


def _cell_width(unsure: bool) -> int:
    return 20 if unsure else 12


def _cell(value: Value, best: bool, unsure: bool) -> str:
    """Return a number in its column, marked if none is surely better."""
    half = value.half_width
    sure = "?" if math.isnan(half) else f"{half:.1g}" if half else ""
    text = f"{value.value:.3g}" + (f" {'±' + sure if sure else '':<8}" if unsure else "")
    return f"{text}{'*' if best else ' '}".rjust(_cell_width(unsure))


def _labels(names: list[str], width: int) -> dict[str, str]:
    """Return the heads of columns; where short names are the same they end in their place in the order."""
    short = {name: _short(name, width) for name in names}
    seen = list(short.values())
    for place, (name, label) in enumerate(short.items(), 1):
        if seen.count(label) > 1:
            short[name] = f"{_short(name, width - len(f' {place}'))} {place}"
    return short


def _short(name: str, width: int) -> str:
    name = " ".join(name.split())
    return name if len(name) <= width else name[: width - 1] + "…"


def _difference(first: Value, second: Value) -> Difference:
    value = 0.0 if first.value == second.value else first.value - second.value
    if first.standard_error == second.standard_error == 0:
        return Difference(value, 0.0)
    if first.units is None or second.units is None:
        return Difference(value, math.hypot(first.standard_error, second.standard_error))
    with np.errstate(invalid="ignore"):
        apart = first.units - second.units
    return Difference(value, standard_error(apart[np.isfinite(apart)], first.share))


def _surely_better(other: Value, value: Value) -> bool:
    if math.isclose(other.value, value.value, rel_tol=_ROUNDING, abs_tol=_NOTHING):
        return False
    low, high = _difference(other, value).interval
    return high < 0 if value.measure.better == "lower" else low > 0


def compare(
    X: Any,
    embeddings: Mapping[str, Any] | Sequence[Any],
    measures: Any = "all",
    n_neighbors: int | None = None,
    *,
    by: str = BY,
    radius: float | None = None,
    neighborhoods: Neighborhoods | None = None,
    coordinates: Any = None,
    n_centers: NCenters = None,
    half_width: float = HALF_WIDTH,
    n_sources: int | None = None,
    n_pairs: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Comparison:
    """Measure several embeddings of the same data at the same points, and rank them.

    Parameters
    ----------
    X : array-like of shape (n, q)
        The data.
    embeddings : mapping of str to array-like of shape (n, d), or sequence of them
        The embeddings, from any tools, or fitted estimators; those of a sequence are called "1", "2" and so
        on. Names that are not text become text.
    measures, n_neighbors
        As for :func:`quality`.
    by : str, default "r_c"
        The measure by which they are ordered. R_C asks whether shapes are right, whatever the unit.
    radius, neighborhoods, coordinates, n_centers, half_width, n_sources, n_pairs, random_state, n_jobs
        As for :func:`quality`. Points, sources and pairs are drawn once for all embeddings, so that their
        differences are known better than their values.
    verbose : int, default 0
        1 shows a line for each stage on standard error.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(1000, random_state=0)
    >>> found = ub.compare(X, {"shadow": X[:, :2], "truth": coordinates}, by="trustworthiness")
    >>> print(found["shadow"].kind)
    folded
    """
    given, watch = named(embeddings), Progress(verbose)
    with watch.stage("neighbours"):
        survey = MeasureContext.of(
            X,
            clouds(given),
            measures,
            n_neighbors,
            merits=[by],
            radius=radius,
            neighborhoods=neighborhoods,
            coordinates=coordinates,
            n_centers=n_centers,
            half_width=half_width,
            n_sources=n_sources,
            n_pairs=n_pairs,
            random_state=random_state,
            n_jobs=n_jobs,
        )
    return ordered(survey, by, watch)


def ordered(survey: MeasureContext, by: str, watch: Progress) -> Comparison:
    """Measure what the survey holds, and put the best first."""
    with watch.stage("measures"):
        found = tables(survey, watch)
    sign = 1 if MEASURES[by].better == "lower" else -1
    order = sorted(found, key=lambda name: sign * found[name][by].value)
    return Comparison({name: found[name] for name in order}, by)


def named(embeddings: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    """Return the embeddings by their names, or by their places from 1 if they have none."""
    if isinstance(embeddings, Mapping):
        found = {str(name): y for name, y in embeddings.items()}
        if len(found) < len(embeddings):
            given = ", ".join(map(repr, embeddings))
            raise ValueError(f"embeddings are called {given}: as text, some of these names are the same")
    elif not isinstance(embeddings, list | tuple):
        kind = type(embeddings).__name__
        raise ValueError(f"embeddings is a {kind}: give a dict of names and arrays, or a list of arrays")
    else:
        found = {str(place): y for place, y in enumerate(embeddings, 1)}
    if not found:
        raise ValueError("embeddings is empty: at least 1 is needed")
    return found


def clouds(named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays that embeddings are, or that fitted estimators among them hold."""
    return {name: getattr(y, "embedding_", y) for name, y in named.items()}
