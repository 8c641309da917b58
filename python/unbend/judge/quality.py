"""All measures of an embedding in one table."""

from __future__ import annotations

import json
import math
import textwrap
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..core.notebook import Bold, Rows, as_html
from ..core.parameters import documented
from ..core.shared_parameters import FUNCTIONS
from ..graph.neighbors import Neighborhoods
from ..metrics.sampling import HALF_WIDTH, NCenters, Sampling
from .context import MeasureContext, Measurements
from .cut import cut_sentence
from .findings import Finding, findings
from .measures import FAMILIES, MEASURES, Value
from .verdict import Statement, gather, read

if TYPE_CHECKING:
    from pandas import DataFrame

    from ..core.progress import Progress

WIDTH = 79

Entry = TypeVar("Entry")

_ARROWS = {"higher": "↑", "lower": "↓", None: " "}


class Table(Mapping[str, Entry]):
    """Mapping that prints as a table."""

    entries: Mapping[str, Entry]

    def __getitem__(self, name: object) -> Entry:
        """Return the entry of a name; other keys stand for their text."""
        if str(name) not in self.entries:
            raise KeyError(f"{name!r} was not measured; there is {', '.join(self.entries)}")
        return self.entries[str(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return all but the arrays, for JSON: numbers that are not finite become None."""

    def to_json(self) -> str:
        """Return all but the arrays as JSON; numbers that are not finite become null."""
        return json.dumps(self.to_dict(), allow_nan=False)


@dataclass(frozen=True, eq=False)
class Quality(Measurements, Table[Value]):
    """All measures of one embedding, by name: a mapping that prints as a table.

    Each entry has a `value`, its `interval` (95 %, if it was estimated from a sample), the mean of random
    embeddings (`null`), and a `measure` that tells which direction is better. If the embedding was cut, the
    measures of neighborhoods and of shortest paths leave out the pairs of neighbors that the cut parts; the
    entry with these pairs is `whole`, which is None for all other measures.

    Attributes
    ----------
    n_points : int
        Number of points.
    n_neighbors : int
        Number of neighbors for the measures by ranks.
    shape : tuple of int
        Dimension of the data and of the embedding.
    left_out : mapping of str
        The measures of "all" that could not be taken, and why not.
    faithfulness, ranks, geodesic, shepard : Faithfulness, Ranks, Geodesic, Shepard
        All measures of a family, such as ranks with every number of neighbors; None if none was asked for.
    centers : ndarray of int
        The measured points.
    per_point : mapping of ndarray
        The measures that are means over points, at each point of `centers`.
    n_cut_pairs : int
        Number of pairs of neighbors that are left out: a cut parts them, or they are short circuits.
    whole : Measurements or None
        All of these attributes with these pairs; None if nothing is left out.
    n_dimensions_needed : int or None
        Number of dimensions that could show nine tenths of a neighborhood; None if it is not known.
    share_apart : float
        Share of the points outside the largest connected component of the neighborhood graph.
    fit_sentence : str
        The verdict of a fitted estimator on its own fit, `verdict_`; empty for other embeddings.
    is_cleaned : bool
        True if pairs are left out because the fit took them for short circuits, not because of a cut.
    n_outliers : int
        Number of points that the fit left out and placed by their neighbors. Their pairs are left out.
    are_equal : bool
        True if all points of the data are equal, so that nothing can be stated.
    sampled : Sampled
        Measures that the statements rest on, of a random sample if there are more than 1,000 points.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(1000, random_state=0)
    >>> q = ub.quality(X, 2 * coordinates)
    >>> q["r_n"].value > 0.9 > 0.01 > q["r_c"].value, q.kind
    (True, 'scaled')
    """

    @property
    def kind(self) -> str:
        """Verdict of all numbers together, in a word; "unread" if some are missing."""
        return self._read().kind

    @property
    def reading(self) -> str:
        """Verdict of all numbers together, in a sentence; empty if some are missing."""
        return self._read().sentence

    @property
    def findings(self) -> list[Finding]:
        """Answers to what people ask of an embedding: dimensions, neighbors, distances, shape, what to do next."""
        return findings(self, self._read())

    @property
    def statements(self) -> dict[str, str]:
        """Texts of the findings by their questions, after the verdict of the fit if there is one."""
        verdict = {"verdict": self.fit_sentence} if self.fit_sentence else {}
        return verdict | {finding.question: finding.text for finding in self.findings}

    @property
    def cut_sentence(self) -> str:
        """Number of pairs of neighbors left out, and R_N with them, in words; empty if there are none."""
        return cut_sentence(self.n_cut_pairs, self.faithfulness, self.is_cleaned, self.n_outliers)

    def _read(self) -> Statement:
        if self.faithfulness is None or "m_l" not in self or "overlap" not in self:
            return Statement("unread", "")
        disagreement = self["disagreement"].value if "disagreement" in self else None
        return read(gather(self.faithfulness, self["m_l"].value, disagreement, self.is_cleaned))

    def to_dict(self) -> dict[str, Any]:
        """Return all but the arrays, for JSON: numbers that are not finite become None."""
        known = {name: getattr(self, name) for name in ("n_points", "n_neighbors", "kind", "reading")}
        known |= {"n_centers": len(self.centers), "dimensions": list(self.shape)}
        known |= {"n_cut_pairs": self.n_cut_pairs, "fit_sentence": self.fit_sentence}
        known |= {"n_dimensions_needed": self.n_dimensions_needed, "share_apart": self.share_apart}
        known |= {"findings": [finding.to_dict() for finding in self.findings]}
        return known | {"measures": {name: value.to_dict() for name, value in self.items()}}

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame: "low" to "high" is the interval, "least" to "most" the range."""
        rows = {name: _in_frame(value) for name, value in self.items()}
        return pandas().DataFrame.from_dict(rows, orient="index")

    def __str__(self) -> str:
        return "\n".join([*self._header(), "", *self._rows(), *self._answers()])

    def _answers(self) -> Iterator[str]:
        """Yield the statements in lines."""
        for question, text in self.statements.items():
            yield from wrapped(text, f"{question:<12}", " " * 12)

    def _repr_html_(self) -> str:
        """Return the verdict and the table for a notebook."""
        unsure = any(value.standard_error != 0 for value in self.values())
        heads = ("", "value", "95 %" if unsure else "", "random", "range", "↑ more, ↓ less is better")
        ordered = [value for family in FAMILIES for value in self.values() if value.measure.family == family]
        rows = Rows(heads, [_in_html(value) for value in ordered], "<>>><<")
        return as_html(
            *self._header_in_html(),
            Rows(("", ""), [(Bold(question), text) for question, text in self.statements.items()], "<<"),
            rows,
        )

    def _header_in_html(self) -> tuple[str, str]:
        first, *others = self._header()
        return first, " ".join(others)

    def _header(self) -> Iterator[str]:
        q, d = self.shape
        which = f"{len(self.centers):,} drawn" if len(self.centers) < self.n_points else "all measured"
        near = f"{self.n_neighbors:,} neighbor{'s' * (self.n_neighbors != 1)}"
        wide = f"{q:,} dimension{'s' * (q != 1)}"
        yield f"{self.n_points:,} points of {wide} in {d:,}, {which}; {near}"
        yield from without(self.left_out)
        yield from wrapped(self.cut_sentence)
        if lost := self.faithfulness.n_degenerate if self.faithfulness else 0:
            yield from wrapped(f"left out {lost:,} neighborhoods: their points coincide, their images do not")

    def _rows(self) -> Iterator[str]:
        unsure = any(value.standard_error != 0 for value in self.values())
        sure = f"{'± 95 %':>8}" * unsure
        yield f"  {'':<18}{'value':>9}{sure}{'random':>9}  range ↑ more, ↓ less is better"
        for family in FAMILIES:
            members = [value for value in self.values() if value.measure.family == family]
            yield from (_row(value, unsure) for value in members)
            if members:
                yield ""


@documented(FUNCTIONS)
def quality(
    X: Any,
    Y: Any,
    measures: Any = "all",
    n_neighbors: int | None = None,
    *,
    radius: float | None = None,
    neighborhoods: Neighborhoods | None = None,
    coordinates: Any = None,
    cut: Any = None,
    sample_weight: Any = None,
    n_centers: NCenters = None,
    half_width: float = HALF_WIDTH,
    n_sources: int | None = None,
    n_pairs: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Quality:
    """Take all measures of an embedding, each with its error.

    Means over points are exact for up to 100,000 points; above, a sample is measured that is large enough for
    `half_width`. Shortest paths start from a sample of sources above some thousand points, and straight
    distances are those of a sample of pairs.

    Cost: that of :func:`unbend.metrics.ranks`, and of the shortest paths from the sources. Memory: O(n k).

    Parameters
    ----------
    Y : array-like of shape (n, d), or fitted estimator
        Embedding of X, one point per row, from any tool. With d > q there are no Procrustes measures and no
        NIEQA. A fitted estimator also brings its cut and, unless you give `n_neighbors`, `radius` or
        `neighborhoods`, its number of neighbors.
    measures : "all" or sequence of str
        Names of measures, or of families: "procrustes", "nieqa", "ranks", "geodesic", "distances". "all"
        leaves out measures that cannot be taken of these data; a measure that you name must be possible.

    Raises
    ------
    ValueError
        If X and Y do not have the same number of rows, hold entries that are not finite, or a measure is
        unknown or cannot be taken.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(1000, random_state=0)
    >>> print(ub.quality(X, coordinates, measures=["q_nx", "rand_index"]))
    1,000 points of 3 dimensions in 2, all measured; 12 neighbors
    <BLANKLINE>
                            value   random  range ↑ more, ↓ less is better
      Q_NX                 0.9977    0.012  0..1  ↑ neighbors kept
      RAND index           0.9999    0.976  0..1  ↑ near in both or neither
    <BLANKLINE>
    neighbors   Points near each other in the embedding are near in the data:
                trustworthiness is 1.000 (0.50 at random), and 100% of neighbors
                are kept.
    """
    sampling = Sampling(n_centers, half_width, n_sources, n_pairs, random_state, n_jobs)
    context = MeasureContext.of(
        X,
        {"Y": Y},
        measures,
        n_neighbors,
        radius,
        neighborhoods,
        coordinates,
        sampling,
        cuts={} if cut is None else {"Y": cut},
        sample_weight=sample_weight,
    )
    return qualities(context)["Y"]


def qualities(context: MeasureContext, progress: Progress | None = None) -> dict[str, Quality]:
    """Measure each embedding of a context."""
    report = () if progress is None else (partial(progress.report, "measures"),)
    return {name: Quality(**vars(part)) for name, part in context.measure(*report).items()}


def pandas() -> Any:
    """Import pandas, an optional dependency."""
    try:
        import pandas
    except ImportError:
        raise ImportError("a data frame needs pandas: pip install pandas") from None
    return pandas


def _in_frame(value: Value) -> dict[str, Any]:
    measure, (low, high) = value.measure, value.interval
    row = {"value": value.value, "low": low, "high": high, "standard_error": value.standard_error}
    row |= {"random": math.nan if value.null is None else value.null}
    row |= {"least": measure.low, "most": measure.high}
    return row | {"better": measure.better, "family": measure.family}


def wrapped(text: str, first: str = "", rest: str = "") -> list[str]:
    """Break text into lines."""
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def without(left_out: Mapping[str, str]) -> Iterator[str]:
    """Yield the measures that were left out, in lines for each reason."""
    for reason in dict.fromkeys(left_out.values()):
        symbols = [MEASURES[name].symbol for name, why in left_out.items() if why == reason]
        yield from wrapped(f"without {', '.join(symbols)}: {reason}")


def _row(value: Value, unsure: bool) -> str:
    symbol, number, margin, null, within, meaning = _cells(value)
    cells = f"{number:>9}" + f"{margin:>8}" * unsure + f"{null:>9}"
    return f"  {symbol:<18}{cells}  {within:<5} {meaning}"


def _in_html(value: Value) -> tuple[str, ...]:
    symbol, number, margin, *others = _cells(value)
    return (symbol, number, margin and f"± {margin}", *others)


def _cells(value: Value) -> tuple[str, ...]:
    """Return symbol, value, margin, null, range, and direction with meaning."""
    measure, null = value.measure, "" if value.null is None else f"{value.null:.3g}"
    high = "∞" if math.isinf(measure.high) else f"{measure.high:g}"
    within, meaning = f"{measure.low:g}..{high}", f"{_ARROWS[measure.better]} {measure.meaning}"
    return measure.symbol, f"{value.value:.4g}", value.margin(2), null, within, meaning
