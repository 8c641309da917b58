"""Several embeddings of the same data, measured at the same points and ranked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.notebook import Bold, Rows, as_html
from ..core.parameters import documented
from ..core.progress import Progress
from ..core.shared_parameters import FUNCTIONS
from ..graph.neighbors import Neighborhoods
from ..metrics.sampling import HALF_WIDTH, NCenters, Sampling, interval, standard_error
from .context import MeasureContext, check_merit
from .measures import MEASURES, Measure, Value
from .quality import WIDTH, Quality, Table, pandas, qualities, without, wrapped

if TYPE_CHECKING:
    from pandas import DataFrame

BY = "r_c"

# Relative and absolute difference up to which values are equal but for rounding. The merits of bad embeddings
# are about 1, so smaller absolute differences mean nothing.
_ROUNDING, _NOTHING = 1e-9, 1e-12

# Widths of the column with the names of measures, and of a cell without and with its margin.
_SYMBOL, _CELL = 20, (12, 20)


@dataclass(frozen=True)
class Difference:
    """Difference of a measure between two embeddings, the first minus the second; 0 if both are infinite.

    Its standard error is smaller than the errors of the two suggest, because both were measured at the same
    points. It is 0 if both are exact, and NaN if it is unknown.
    """

    value: float
    standard_error: float

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval."""
        return interval(self.value, self.standard_error)


@dataclass(frozen=True, eq=False)
class Comparison(Table[Quality]):
    """Measures of several embeddings, by name: a mapping that prints as a table, the best embedding first.

    Names are text. Other keys stand for their text, such as 1 for "1".

    Attributes
    ----------
    by : str
        The measure by which the embeddings are ordered.

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

    entries: Mapping[str, Quality] = field(repr=False)
    by: str

    @property
    def measures(self) -> list[Measure]:
        """The measures that all embeddings have."""
        qualities = list(self.values())
        return [MEASURES[name] for name in qualities[0] if all(name in q for q in qualities)]

    def difference(self, first: str, second: str, measure: str | None = None) -> Difference:
        """Return the measure, `by` if not given, of the embedding `first` minus that of `second`."""
        name = measure or self.by
        return _difference(self[first][name], self[second][name])

    def ranks(self, measure: str | None = None) -> dict[str, int]:
        """Return the rank of each embedding: 1 plus the number of embeddings that are surely better.

        An embedding is surely better if the 95 % interval of the difference does not hold 0. Embeddings that
        the sample cannot separate share a rank, and so do those that differ by rounding. The measure, `by` if
        not given, must have a better direction.
        """
        asked = measure or self.by
        check_merit("measure", asked, [m.name for m in self.measures], {})
        values = {name: quality[asked] for name, quality in self.items()}
        return {
            name: 1 + sum(_surely_better(other, value) for other in values.values())
            for name, value in values.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Return all but the arrays, for JSON: numbers that are not finite become None."""
        ranks = {m.name: self.ranks(m.name) for m in self.measures if m.better}
        return {"by": self.by, "embeddings": {name: q.to_dict() for name, q in self.items()}, "ranks": ranks}

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with a row for each embedding and a column for each measure."""
        rows = {name: {m.name: q[m.name].value for m in self.measures} for name, q in self.items()}
        return pandas().DataFrame.from_dict(rows, orient="index")

    def __str__(self) -> str:
        names = list(self)
        unsure = any(value.standard_error != 0 for quality in self.values() for value in quality.values())
        abreast = (WIDTH - _SYMBOL) // _CELL[unsure]
        blocks = [names[start : start + abreast] for start in range(0, len(names), abreast)]
        tables = [line for block in blocks for line in [*self._block(block, unsure), ""]]
        left_out = [*without(next(iter(self.values())).left_out)]
        return "\n".join([*tables, *left_out, *[""] * bool(left_out), *self._verdicts()])

    def _repr_html_(self) -> str:
        """Return the ranked verdicts and the table for a notebook."""
        ranks, by = self.ranks(), MEASURES[self.by].symbol
        verdicts = Rows(
            ("rank", "embedding", "verdict"),
            [(f"{ranks[name]}", Bold(name), quality.reading) for name, quality in self.items()],
            "><<",
        )
        numbers = Rows(("", *self), [self._cells_of(m) for m in self.measures], "<" + ">" * len(self))
        left_out = " ".join(without(next(iter(self.values())).left_out))
        order = f"The order is that of {by}. Numbers in bold: none is surely better."
        return as_html(verdicts, order, numbers, left_out)

    def _cells_of(self, m: Measure) -> list[str]:
        """Return a row of the table in HTML: a symbol and the value of each embedding, bold if it is best."""
        ranks = self.ranks(m.name) if m.better else dict.fromkeys(self, 0)
        cells: list[str] = [Bold(m.symbol) if m.name == self.by else m.symbol]
        for name, quality in self.items():
            value = quality[m.name]
            text = f"{value.value:.3g}" + (f" ± {value.margin(1)}" if value.margin(1) else "")
            cells.append(Bold(text) if ranks[name] == 1 else text)
        return cells

    def _block(self, names: list[str], unsure: bool) -> Iterator[str]:
        """Yield a table of some embeddings side by side."""
        width = _CELL[unsure]
        labels = _labels(list(self), width - 2)
        yield " " * _SYMBOL + "".join(f"{labels[name]:>{width - 1}} " for name in names)
        for m in self.measures:
            ranks = self.ranks(m.name) if m.better else dict.fromkeys(self, 0)
            cells = "".join(_cell(self[name][m.name], ranks[name] == 1, unsure) for name in names)
            yield f"{'>' if m.name == self.by else ' '} {m.symbol:<{_SYMBOL - 2}}{cells}".rstrip()

    def _verdicts(self) -> Iterator[str]:
        """Yield the embeddings in their order, each with its verdict."""
        symbol, ranks = MEASURES[self.by].symbol, self.ranks()
        yield f"* none is surely better; > the order, by {symbol}:"
        for name, quality in self.items():
            verdict = f": {quality.reading}" if quality.reading else ""
            yield from wrapped(name + verdict, f"{ranks[name]:>3}. ", " " * 5)


def _cell(value: Value, best: bool, unsure: bool) -> str:
    """Return the cell of a number, marked if no embedding is surely better."""
    sure = value.margin(1)
    text = f"{value.value:.3g}" + (f" {'±' + sure if sure else '':<8}" if unsure else "")
    return f"{text}{'*' if best else ' '}".rjust(_CELL[unsure])


def _labels(names: list[str], width: int) -> dict[str, str]:
    """Return the heads of columns; equal short names end in their place in the order."""
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


@documented(FUNCTIONS, scopes=["quality"])
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

    Points, sources and pairs are drawn once for all embeddings, so differences have smaller errors than
    values.

    Parameters
    ----------
    embeddings : mapping of str to array-like of shape (n, d), or sequence of them
        The embeddings, from any tools, or fitted estimators. Those of a sequence are called "1", "2" and so
        on. Names that are not text become text.
    measures : "all" or sequence of str
        Names of measures or of their families, as for :func:`quality`.
    by : str, default "r_c"
        The measure by which the embeddings are ordered. R_C tells whether shapes are right, in any unit.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(1000, random_state=0)
    >>> found = ub.compare(X, {"shadow": X[:, :2], "truth": coordinates}, by="trustworthiness")
    >>> print(found["shadow"].kind)
    folded
    """
    named, progress = by_name(embeddings), Progress(verbose)
    sampling = Sampling(n_centers, half_width, n_sources, n_pairs, random_state, n_jobs)
    with progress.stage("neighbors"):
        context = MeasureContext.of(
            X, arrays_of(named), measures, n_neighbors, radius, neighborhoods, coordinates, sampling, [by]
        )
    return ordered(context, by, progress)


def ordered(context: MeasureContext, by: str, progress: Progress) -> Comparison:
    """Measure the embeddings of a context and sort them, the best first."""
    with progress.stage("measures"):
        measured = qualities(context, progress)
    sign = 1 if MEASURES[by].better == "lower" else -1
    order = sorted(measured, key=lambda name: sign * measured[name][by].value)
    return Comparison({name: measured[name] for name in order}, by)


def by_name(embeddings: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    """Return the embeddings by their names, or by their places from 1 if they have none."""
    if isinstance(embeddings, Mapping):
        named = {str(name): y for name, y in embeddings.items()}
        if len(named) < len(embeddings):
            names = ", ".join(map(repr, embeddings))
            raise ValueError(f"embeddings are called {names}: as text, some of these names are the same")
    elif not isinstance(embeddings, list | tuple):
        kind = type(embeddings).__name__
        raise ValueError(f"embeddings is a {kind}: give a dict of names and arrays, or a list of arrays")
    else:
        named = {str(place): y for place, y in enumerate(embeddings, 1)}
    if not named:
        raise ValueError("embeddings is empty: at least 1 is needed")
    return named


def arrays_of(named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the embeddings as arrays; fitted estimators hold theirs in `embedding_`."""
    return {name: getattr(y, "embedding_", y) for name, y in named.items()}
