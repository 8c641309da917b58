"""Several embeddings of the same data, measured at the same points and ranked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.notebook import Bold, Rows, as_html
from ..core.parameters import documented
from ..core.progress import Progress
from ..core.shared_parameters import FUNCTIONS
from ..graph.neighbors import Neighborhoods
from ..metrics.overlap import OVERLAPPING
from ..metrics.sampling import HALF_WIDTH, NCenters, Sampling, interval, standard_error
from .context import MeasureContext, check_merit
from .measures import MEASURES, Measure, Value
from .quality import WIDTH, Quality, Table, pandas, qualities, without, wrapped
from .verdict import THICK

if TYPE_CHECKING:
    from pandas import DataFrame

BY, SECOND = "trustworthiness", "r_c"
"""Measures that order embeddings: the second if the first is nearly the same."""

NEARLY = 0.002
"""Embeddings whose trustworthiness differs by at most this much are ordered by their shape."""

ROLES = {"neighbors": "trustworthiness", "shape": "r_c", "distances": "residual_variance"}
"""Questions that people ask of an embedding, and the measure that answers each."""

# Relative and absolute difference up to which values are equal but for rounding. The merits of bad embeddings
# are about 1, so smaller absolute differences mean nothing.
_ROUNDING, _NOTHING = 1e-9, 1e-12

WITH_ALL_PAIRS = "with all pairs"
"""Name of a number that counts the pairs of neighbors that a cut parts."""

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

    An embedding that was cut is measured without the pairs of neighbors that its cut parts. But all embeddings
    are ranked, ordered and compared with all pairs, on the same neighborhoods, so that a cut never improves a
    rank. The table then has two rows for each measure that a cut changes; stars are in the second.

    Attributes
    ----------
    by : str
        The measure by which the embeddings are ordered. Embeddings whose trustworthiness differs by at most
        0.002 are ordered by R_C.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(400, random_state=0)
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
        """Return the measure, `by` if not given, of the embedding `first` minus that of `second`.

        Both are those with all pairs of neighbors.
        """
        name = measure or self.by
        return _difference(self[first][name].with_all_pairs, self[second][name].with_all_pairs)

    def ranks(self, measure: str | None = None) -> dict[str, int]:
        """Return the rank of each embedding: 1 plus the number of embeddings that are surely better.

        An embedding is surely better if the 95 % interval of the difference does not hold 0. Embeddings that
        the sample cannot separate share a rank, and so do those that differ by rounding. The measure must have a
        better direction; without one, the rank is that in the order of this comparison. Cuts do not count:
        values are those with all pairs of neighbors.
        """
        asked = measure or self.by
        check_merit("measure", asked, [m.name for m in self.measures], {})

        def better(other: Quality, quality: Quality) -> bool:
            name = _deciding(other, quality, asked) if measure is None else asked
            return _surely_better(other[name].with_all_pairs, quality[name].with_all_pairs)

        return {
            name: 1 + sum(better(other, quality) for other in self.values()) for name, quality in self.items()
        }

    @property
    def roles(self) -> dict[str, dict[str, int]]:
        """Ranks of each embedding in keeping neighbors, shape and distances, as far as they were measured."""
        measured = {m.name for m in self.measures}
        ranks = {role: self.ranks(name) for role, name in ROLES.items() if name in measured}
        return {name: {role: of[name] for role, of in ranks.items()} for name in self}

    @property
    def cautions(self) -> list[str]:
        """Reasons why the first of several embeddings is not simply the best, in sentences."""
        (name, first), found = next(iter(self.items())), []
        if len(self) == 1:
            return []
        if "lower_bound" in first and first["lower_bound"].value > THICK:
            share, d = first["lower_bound"].value, first.shape[1]
            found.append(
                f"No embedding of {d} dimension{'s' * (d != 1)} is faithful to these data: {share:.0%} of a "
                f"neighborhood cannot be shown. Of these embeddings, {name} keeps most of what is near together."
            )
        if "overlap" in first and first["overlap"].value > OVERLAPPING:
            share = first["overlap"].value
            found.append(f"{name} comes first, but {share:.0%} of what lies near in it is far in the data.")
        if len(shapes := {quality.shape[1] for quality in self.values()}) > 1:
            dims = ", ".join(map(str, sorted(shapes)))
            found.append(f"The embeddings have {dims} dimensions. More dimensions can show more of the data.")
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return all but the arrays, for JSON: numbers that are not finite become None."""
        ranks = {m.name: self.ranks(m.name) for m in self.measures if m.better}
        known = {"by": self.by, "order": self.ranks(), "ranks": ranks, "cautions": self.cautions}
        return known | {"embeddings": {name: q.to_dict() for name, q in self.items()}}

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with a row for each embedding and a column for each measure.

        A measure that a cut changes has a second column, such as "r_n_whole", with all pairs of neighbors.
        """
        rows = {
            name: {
                column: value
                for m in self.measures
                for column, value in [
                    (m.name, q[m.name].value),
                    *[(f"{m.name}_whole", q[m.name].with_all_pairs.value)] * self.is_changed_by_cuts(m),
                ]
            }
            for name, q in self.items()
        }
        return pandas().DataFrame.from_dict(rows, orient="index")

    def is_changed_by_cuts(self, measure: Measure) -> bool:
        """Return whether a cut of any embedding changes a measure."""
        return any(quality[measure.name].whole is not None for quality in self.values())

    def __str__(self) -> str:
        names = list(self)
        # The disagreement is always that of a sample; its interval alone does not widen the table.
        sampled = [
            v for quality in self.values() for v in quality.values() if v.measure.name != "disagreement"
        ]
        unsure = any(value.standard_error != 0 for value in sampled)
        abreast = (WIDTH - _SYMBOL) // _CELL[unsure]
        blocks = [names[start : start + abreast] for start in range(0, len(names), abreast)]
        tables = [line for block in blocks for line in [*self._block(block, unsure), ""]]
        left_out = [*without(next(iter(self.values())).left_out)]
        return "\n".join([*tables, *left_out, *[""] * bool(left_out), *self._verdicts()])

    def _repr_html_(self) -> str:
        """Return the ranked statements and the table for a notebook."""
        verdicts = Rows(("rank", "embedding", "", ""), self._statements_in_html(), "><<<")
        numbers = Rows(("", *self), [self._cells_of(m) for m in self.measures], "<" + ">" * len(self))
        left_out = " ".join(without(next(iter(self.values())).left_out))
        order = f"The order is that of {self.order}. Numbers in bold: none is surely better."
        return as_html(verdicts, *self.cautions, order, numbers, left_out)

    def _statements_in_html(self) -> Iterator[tuple[str, ...]]:
        """Yield a row for each statement; the first of an embedding begins with its rank and name."""
        ranks = self.ranks()
        for name, quality in self.items():
            head: tuple[str, str] = (f"{ranks[name]}", Bold(name))
            for question, text in (quality.statements or {"": ""}).items():
                yield (*head, question, text)
                head = ("", "")

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
            symbol = m.symbol
            if self.is_changed_by_cuts(m):
                cells = "".join(_cell(self[name][m.name], False, unsure) for name in names)
                yield f"  {symbol:<{_SYMBOL - 2}}{cells}".rstrip()
                symbol = f"  {WITH_ALL_PAIRS}"
            values = {name: self[name][m.name].with_all_pairs for name in names}
            cells = "".join(_cell(value, ranks[name] == 1, unsure) for name, value in values.items())
            yield f"{'>' if m.name == self.by else ' '} {symbol:<{_SYMBOL - 2}}{cells}".rstrip()

    def _verdicts(self) -> Iterator[str]:
        """Yield the embeddings in their order, each with what can be stated about it."""
        ranks, roles = self.ranks(), self.roles
        yield from wrapped(f"* none is surely better; > the order, by {self.order}:")
        for name, quality in self.items():
            yield from wrapped(name, f"{ranks[name]:>3}. ", " " * 5)
            statements = dict(quality.statements)
            if len(roles[name]) > 1 and len(self) > 1:
                statements["rank in"] = ", ".join(f"{role}: {rank}" for role, rank in roles[name].items())
            if quality.cut_sentence:
                statements["left out"] = quality.cut_sentence
            for question, text in statements.items():
                yield from wrapped(text, f"     {question:<12}", " " * 17)
        for caution in self.cautions:
            yield ""
            yield from wrapped(caution)

    @property
    def order(self) -> str:
        """Names of the numbers by which the embeddings are ordered."""
        names = (m.symbol + f" {WITH_ALL_PAIRS}" * self.is_changed_by_cuts(m) for m in self.deciding)
        return ", then ".join(names)

    @property
    def deciding(self) -> list[Measure]:
        """The measures by which the embeddings are ordered: the second if the first is nearly the same."""
        names = [self.by, *[SECOND] * (self.by == BY)]
        return [m for name in names for m in self.measures if m.name == name]


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
    by: str | None = None,
    radius: float | None = None,
    neighborhoods: Neighborhoods | None = None,
    coordinates: Any = None,
    cuts: Mapping[str, Any] | None = None,
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
        on. Names that are not text become text. Fitted estimators also bring their cuts and, unless you
        give `n_neighbors`, `radius` or `neighborhoods`, the smallest of their numbers of neighbors.
    measures : "all" or sequence of str
        Names of measures or of their families, as for :func:`quality`.
    by : str, optional
        The measure by which the embeddings are ordered: by default trustworthiness, and R_C if that differs by at
        most 0.002. If trustworthiness is not measured, R_C decides, or else the first measure that has a better
        direction.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(400, random_state=0)
    >>> found = ub.compare(X, {"shadow": X[:, :2], "truth": coordinates}, by="trustworthiness")
    >>> print(found["shadow"].kind)
    folded
    """
    named, progress = by_name(embeddings), Progress(verbose)
    sampling = Sampling(n_centers, half_width, n_sources, n_pairs, random_state, n_jobs)
    with progress.stage("neighbors"):
        context = MeasureContext.of(
            X, named, measures, n_neighbors, radius, neighborhoods, coordinates, sampling, demanded(by), cuts
        )
    return ordered(context, by, progress)


def demanded(by: str | None) -> list[str]:
    """Return the measures that an order needs."""
    return [] if by is None else [by]


def ordered(context: MeasureContext, asked: str | None, progress: Progress) -> Comparison:
    """Measure the embeddings of a context and sort them, the best first."""
    by = asked or _merit(context.names)
    with progress.stage("measures"):
        measured = qualities(context, progress)
    order: Any = _sorted(measured, by)
    if by == BY and all(SECOND in quality for quality in measured.values()):
        order = [name for group in _groups(order) for name in _sorted(group, SECOND)]
    return Comparison({name: measured[name] for name in order}, by)


def _merit(names: Iterable[str]) -> str:
    """Return the measure that orders embeddings if the user names none."""
    merits = [name for name in names if MEASURES[name].better]
    if not merits:
        raise ValueError(f"neither direction of {', '.join(names)} is better: measure {BY} as well")
    return next((name for name in (BY, SECOND) if name in merits), merits[0])


def _sorted(measured: Mapping[str, Quality], by: str) -> dict[str, Quality]:
    """Return embeddings in the order of a measure, the best first."""
    sign = 1 if MEASURES[by].better == "lower" else -1
    return dict(sorted(measured.items(), key=lambda item: sign * item[1][by].with_all_pairs.value))


def _groups(measured: Mapping[str, Quality], by: str = BY) -> Iterator[dict[str, Quality]]:
    """Yield sorted embeddings in groups whose members are nearly as good as the first of them."""
    group: dict[str, Quality] = {}
    for name, quality in measured.items():
        if group and next(iter(group.values()))[by].value - quality[by].value > NEARLY:
            yield group
            group = {}
        group[name] = quality
    yield group


def _deciding(first: Quality, second: Quality, by: str) -> str:
    """Return the measure that decides between two embeddings in the order of a comparison."""
    nearly = by == BY and abs(first[by].value - second[by].value) <= NEARLY
    return SECOND if nearly and SECOND in first and SECOND in second else by


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
