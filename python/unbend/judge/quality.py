"""Every measure of an embedding in one table."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from ..graph.neighbors import Neighborhoods
from ..metrics import Faithfulness, Geodesic, Ranks, Shepard
from ..metrics.sampling import HALF_WIDTH, Array, NCenters
from .context import Found, MeasureContext
from .measures import FAMILIES, MEASURES, Value
from .verdict import gather, read

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from pandas import DataFrame

    from ..core.progress import Progress

__all__ = ["Quality", "quality"]

WIDTH = 79

_ARROWS = {"higher": "↑", "lower": "↓", None: " "}


@dataclass(frozen=True, eq=False)
class Quality(Mapping[str, Value]):
    """All measures of one embedding, by name: a mapping that prints as a table.

    Each entry has a `value`, its `interval` (95 %, if it was estimated from a sample), what an embedding at
    random has (`null`), and a `measure` that says which direction is better.

    Attributes
    ----------
    n_points : int
        How many points there are.
    n_neighbors : int
        How many neighbours the measures of ranks look at.
    shape : tuple of int
        Dimension of the data and of the embedding.
    left_out : mapping of str
        What "all" measures could not be taken, and why not.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(1000, random_state=0)
    >>> q = ub.quality(X, 2 * coordinates)
    >>> q["r_n"].value > 0.9 > 0.01 > q["r_c"].value
    True
    >>> q.kind
    'scaled'
    >>> q["trustworthiness"].measure.better
    'higher'
    """

    n_points: int
    n_neighbors: int
    shape: tuple[int, int]
    left_out: Mapping[str, str]
    _found: Found = field(repr=False)

    def __getitem__(self, name: str) -> Value:
        """Return one of the measures."""
        if name not in self._found.values:
            raise KeyError(f"{name!r} was not measured; there is {', '.join(self._found.values)}")
        return self._found.values[name]

    def __iter__(self) -> Iterator[str]:
        """Go through the names."""
        return iter(self._found.values)

    def __len__(self) -> int:
        """Return how many measures there are."""
        return len(self._found.values)

    @property
    def faithfulness(self) -> Faithfulness | None:
        """All Procrustes measures; None if none was asked for."""
        return self._found.faithfulness

    @property
    def ranks(self) -> Ranks | None:
        """All measures by ranks, for every number of neighbours; None if none was asked for."""
        return self._found.ranks

    @property
    def geodesic(self) -> Geodesic | None:
        """All measures of distances along the graph; None if none was asked for."""
        return self._found.geodesic

    @property
    def shepard(self) -> Shepard | None:
        """All measures of straight distances; None if none was asked for."""
        return self._found.shepard

    @property
    def centers(self) -> npt.NDArray[np.uint32]:
        """The points that were measured."""
        return self._found.centers

    @property
    def per_point(self) -> dict[str, Array]:
        """The measures that are means over points, at each point of `centers`."""
        units = {name: self._found.at_points(name) for name in self}
        return {name: values for name, values in units.items() if values is not None}

    @property
    def kind(self) -> str:
        """What the numbers together say, in a word; "unread" if they are not all there."""
        return self._read()[0]

    @property
    def reading(self) -> str:
        """What the numbers together say, in a sentence; empty if they are not all there."""
        return self._read()[1]

    def _read(self) -> tuple[str, str]:
        if self.faithfulness is None or "m_l" not in self or "overlap" not in self:
            return "unread", ""
        return read(gather(self.faithfulness, self["m_l"].value))

    def to_dict(self) -> dict[str, Any]:
        """Return all but the arrays, ready for JSON: what is not finite is None."""
        return {
            "n_points": self.n_points,
            "n_centers": len(self.centers),
            "n_neighbors": self.n_neighbors,
            "dimensions": list(self.shape),
            "kind": self.kind,
            "reading": self.reading,
            "measures": {name: value.to_dict() for name, value in self.items()},
        }

    def to_json(self) -> str:
        """Return all but the arrays as JSON; what is not finite is null."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with a row for each measure.

        "low" and "high" are the ends of the interval, "least" and "most" those of the range.
        """
        rows = {name: _in_frame(value) for name, value in self.items()}
        return pandas().DataFrame.from_dict(rows, orient="index")

    def __str__(self) -> str:
        """Return the table."""
        return "\n".join([*self._header(), "", *self._rows(), *wrapped(self.reading)])

    def _header(self) -> Iterator[str]:
        q, d = self.shape
        which = f"{len(self.centers):,} drawn" if len(self.centers) < self.n_points else "all measured"
        near = f"{self.n_neighbors:,} neighbour{'s' * (self.n_neighbors != 1)}"
        wide = f"{q:,} dimension{'s' * (q != 1)}"
        yield f"{self.n_points:,} points of {wide} in {d:,}, {which}; {near}"
        yield from without(self.left_out)
        lost = 0 if self.faithfulness is None else self.faithfulness.n_degenerate
        if lost:
            yield from wrapped(
                f"left out {lost:,} neighbourhoods: their points coincide, their images do not"
            )

    def _rows(self) -> Iterator[str]:
        unsure = any(value.standard_error != 0 for value in self.values())
        sure = f"{'± 95 %':>8}" * unsure
        yield f"  {'':<18}{'value':>9}{sure}{'random':>9}  range ↑ more, ↓ less is better"
        for family in FAMILIES:
            members = [value for value in self.values() if value.measure.family == family]
            yield from (_row(value, unsure) for value in members)
            if members:
                yield ""


def quality(
    X: Any,
    Y: Any,
    measures: Any = "all",
    n_neighbors: int | None = None,
    *,
    radius: float | None = None,
    neighborhoods: Neighborhoods | None = None,
    coordinates: Any = None,
    n_centers: NCenters = None,
    half_width: float = HALF_WIDTH,
    n_sources: int | None = None,
    n_pairs: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Quality:
    """Measure an embedding in every way that people use, with how sure each number is.

    Neighbourhoods are found once. Up to 100,000 points are all measured, and the means over points are exact;
    of more points as many are drawn as `half_width` takes. Distances along the graph are followed from a
    sample of sources beyond some thousand points, and straight distances taken from a sample of pairs.

    Cost: that of :func:`unbend.metrics.ranks`, and of the shortest paths from the sources. Memory: O(n k); no
    measure holds a matrix of all distances.

    Parameters
    ----------
    X : array-like of shape (n, q)
        The data.
    Y : array-like of shape (n, d)
        Their embedding, from any tool. With d > q there are no Procrustes measures and no NIEQA.
    measures : "all" or sequence of str
        Names of measures, or of families: "procrustes", "nieqa", "ranks", "geodesic", "distances". Of "all"
        those are left out that cannot be taken of these data; what is called by its name must be possible.
    n_neighbors : int, default 12
        How many other points a neighbourhood holds.
    radius : float, optional
        Instead: all others at this distance or less. Measures of ranks then look at the mean number.
    neighborhoods : Neighborhoods, optional
        Instead: those already computed.
    coordinates : array-like of shape (n, p), optional
        True coordinates, if they are known: adds M_t.
    n_centers : int or "auto", optional
        How many points to measure, drawn at random; "auto" draws as many as it takes for `half_width`. By
        default all of up to 100,000 points, and "auto" for more.
    half_width : float, default 0.005
        With "auto", how far the 95 % intervals of the means over points may reach to each side.
    n_sources : int, optional
        From how many points to follow shortest paths; see :func:`unbend.metrics.geodesic`.
    n_pairs : int, optional
        How many pairs to draw for straight distances; see :func:`unbend.metrics.shepard`.
    random_state : int, Generator or RandomState, optional
        Which points, sources and pairs are drawn.
    n_jobs : int, optional
        Number of threads; all by default. The result is the same for any number.

    Returns
    -------
    Quality

    Raises
    ------
    ValueError
        If X and Y do not belong together, hold entries that are not finite, or a measure is unknown or cannot
        be taken. All is checked before the work begins.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(1000, random_state=0)
    >>> print(ub.quality(X, coordinates, measures=["q_nx", "rand_index"]))
    1,000 points of 3 dimensions in 2, all measured; 12 neighbours
    <BLANKLINE>
                            value   random  range ↑ more, ↓ less is better
      Q_NX                 0.9977    0.012  0..1  ↑ neighbours kept
      RAND index           0.9999    0.976  0..1  ↑ near in both or neither
    <BLANKLINE>
    """
    survey = MeasureContext.of(
        X,
        {"Y": Y},
        measures,
        n_neighbors,
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
    return tables(survey)["Y"]


def tables(survey: MeasureContext, watch: Progress | None = None) -> dict[str, Quality]:
    """Return the table of each embedding; a watch is told how far it got."""
    (n, q), k, left_out = survey.x.shape, survey.k, survey.left_out
    found = survey.measure() if watch is None else survey.measure(partial(watch.report, "measures"))
    return {name: Quality(n, k, (q, one.dim), left_out, one) for name, one in found.items()}


def pandas() -> Any:
    """Import pandas, which nothing else here needs."""
    try:
        import pandas
    except ImportError:
        raise ImportError("a data frame needs pandas: pip install pandas") from None
    return pandas


def _in_frame(value: Value) -> dict[str, Any]:
    low, high = value.interval
    return {
        "value": value.value,
        "low": low,
        "high": high,
        "standard_error": value.standard_error,
        "random": math.nan if value.null is None else value.null,
        "least": value.measure.low,
        "most": value.measure.high,
        "better": value.measure.better,
        "family": value.measure.family,
    }


def wrapped(text: str, first: str = "", rest: str = "") -> list[str]:
    """Break what a person reads into lines."""
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def without(left_out: Mapping[str, str]) -> Iterator[str]:
    """Yield what could not be measured, in lines for each reason."""
    for reason in dict.fromkeys(left_out.values()):
        symbols = [MEASURES[name].symbol for name, why in left_out.items() if why == reason]
        yield from wrapped(f"without {', '.join(symbols)}: {reason}")


def _row(value: Value, unsure: bool) -> str:
    half = value.half_width
    sure = "?" if math.isnan(half) else f"{half:.2g}" if half else ""
    null = "" if value.null is None else f"{value.null:.3g}"
    measure = value.measure
    cells = f"{value.value:>9.4g}" + f"{sure:>8}" * unsure + f"{null:>9}"
    high = "∞" if math.isinf(measure.high) else f"{measure.high:g}"
    within = f"{measure.low:g}..{high}"
    return f"  {measure.symbol:<18}{cells}  {within:<5} {_ARROWS[measure.better]} {measure.meaning}"
