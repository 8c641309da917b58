"""Which measures of an embedding agree with the truth about it, over many data sets and tools.

    python -m experiments.judging.judgement --data FOLDER --real FOLDER --json FILE # then print the tables
    python -m experiments.judging.judgement --read FILE # print the tables again
    python -m experiments.judging.judgement --quick # a smoke test

Every embedding of `judgement_population.py` gets all measures of `unbend.quality`, the evidence by which a fit
judges itself, and the truth. The truth is R^2 of the true coordinates by five nearest neighbors in the embedding,
in cross-validation; for labeled data, the share of points whose ten nearest neighbors in the embedding vote for
their label. A measure is good if it orders the embeddings of a data set as the truth does (Spearman's correlation,
the mean over data sets), and if the embedding that it puts first is nearly the best (the loss of truth, the mean).
R^2 and accuracy look at the nearest points in the embedding, and so do some measures. The columns "distances" and
"disparity" compare with what does not: Spearman's correlation of embedded with true distances, and the disparity
to the truth of embeddings that have its dimension. Repeated embeddings of the same data count once.

The JSON file is written again after each data set, so that the first results can be read early. Data sets that it
holds already are not computed again: a run that was interrupted continues.
"""

import argparse
import json
import time
import warnings
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations, product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import unbend as ub
from scipy.spatial.distance import pdist
from scipy.stats import rankdata, spearmanr
from sklearn.neighbors import NearestNeighbors
from unbend import _core
from unbend.core.jsonable import finite
from unbend.core.progress import Progress
from unbend.fit.problem import Problem
from unbend.fit.trust.candidates import evidence_of
from unbend.fit.trust.evidence import evidence
from unbend.graph.clean import pruned
from unbend.metrics import FAMILIES, MEASURES

from benches.python.difficult import disparity
from benches.python.difficult_real import r_squared
from benches.python.timing import machine, row, use_threads
from experiments.judging.judgement_population import (
    N_NEIGHBORS,
    SEED,
    UMAP,
    Data,
    Embedded,
    Sources,
    embeddings,
)

N_VOTERS = 10
"""Neighbors that vote for the label of a point."""

MOST_DISTANCES = 500
"""Largest number of points whose distances are compared with the true ones."""


def main():
    options = parsed()
    if options.read:
        records = read(options.read)
    else:
        use_threads(1)
        records = computed(options)
    report(records)


def parsed():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="labeled sets and faces")
    parser.add_argument("--real", type=Path, metavar="FOLDER", help="the real sets of difficult_real.py")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the records to this file")
    parser.add_argument("--read", type=Path, metavar="FILE", help="read the records from this file")
    parser.add_argument("--points", type=int, default=2000, help="largest number of points of a data set")
    parser.add_argument("--quick", action="store_true", help="two sets of each kind, 200 points")
    return parser.parse_args()


# Records -------------------------------------------------------------------------------------------------


def computed(options):
    """Return the records of all embeddings; write them after each data set, and keep those written before."""
    head = machine(1, ("unbend", "numpy", "scipy", "scikit-learn", "umap-learn"))
    print(head)
    if UMAP is None:
        print("Skipped UMAP: umap-learn is not installed.")
    records = read(options.json) if options.json and options.json.exists() else []
    done = {record["data"] for record in records}
    sets = Sources(options.data, options.real, options.points, options.quick).sets()
    for data in (data for data in sets if data.name not in done):
        start = time.process_time()
        new = records_of(data)
        records += new
        held = new[0]["data_truth"]
        seconds = time.process_time() - start
        print(f"{data.name}: {len(new)} embeddings, the data hold {held:.2f}, {seconds:.0f} s", flush=True)
        if options.json:
            options.json.write_text(json.dumps({"machine": head, "records": records}, allow_nan=False))
    print()
    return records


def read(file):
    return json.loads(file.read_text())["records"]


def records_of(data):
    """Return one record for each embedding of a data set."""
    found = list(embeddings(data))
    judge = Judge(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known = {"data": data.name, "family": data.family, "n": len(data.x), "q": data.x.shape[1]}
        known |= {"truth_d": data.d, "data_truth": finite(truth_of(data, data.x))}
        qualities = ub.compare(
            data.x, {entry.tool: entry.y for entry in found}, neighborhoods=judge.graph, random_state=SEED
        )
        places = {name: place for place, name in enumerate(qualities)}
        return [
            known | record(data, entry, qualities[entry.tool], judge) | {"place": places[entry.tool]}
            for entry in found
        ]


def record(data: Data, entry: Embedded, quality, judge):
    measures = {name: {"value": finite(v.value), "null": v.null} for name, v in quality.items()}
    known = {"tool": entry.tool, "d": entry.y.shape[1], "same_as": entry.same_as, "kind": quality.kind}
    known["findings"] = {finding.question: finding.good for finding in quality.findings}
    truth = {name: finite(float(value)) for name, value in truths(data, entry.y).items()}
    return known | {"measures": cleaned(measures), "evidence": judge.evidence(entry.y), "truth": truth}


def cleaned(measures):
    return {
        name: {key: None if value is None else finite(float(value)) for key, value in numbers.items()}
        for name, numbers in measures.items()
    }


class Judge:
    """The rule by which a fit judges itself, for embeddings of one data set by any tool."""

    def __init__(self, data):
        self.points, self.graph = _core.Points(data.x), ub.neighborhoods(data.x, N_NEIGHBORS)
        self.progress = Progress(0)
        self.clean = cache(lambda d: pruned(self.points, self.graph, d, 1))

    def evidence(self, y):
        """Return the evidence, and the score on the graph with its short circuits."""
        problem = Problem(self.points, self.graph, y.shape[1], n_jobs=1)
        whole = SimpleNamespace(embedding=y, cut_pairs=np.empty((0, 2), dtype=np.uint32))
        worse = evidence_of(problem, whole, self.progress, lambda: self.clean(y.shape[1]))
        numbers = {name: getattr(worse, name) for name in ("disagreement", "overlap", "torn", "score")}
        numbers["score_as_it_is"] = evidence(problem, y, self.progress).score
        return {name: finite(float(value)) for name, value in numbers.items()}


# Truth ---------------------------------------------------------------------------------------------------


def truth_of(data, y):
    """Return the number that counts: R^2 of the true coordinates, or the accuracy of labels."""
    return float(accuracy(data.labels, y) if data.truth is None else over_pieces(r_squared, data, y))


def truths(data, y):
    """Return all that the truth says about an embedding."""
    if data.truth is None:
        return {"accuracy": truth_of(data, y)}
    found = {"r2": truth_of(data, y), "distances": over_pieces(order_of_distances, data, y)}
    if y.shape[1] == data.d:
        found["disparity"] = over_pieces(disparity_of, data, y)
    return found


def accuracy(labels, y):
    """Return the share of points whose neighbors, without the point, vote for its label; ties go to the nearer."""
    near = NearestNeighbors(n_neighbors=N_VOTERS).fit(y).kneighbors(return_distance=False)
    votes = np.zeros((len(y), labels.max() + 1))
    for place, column in enumerate(near.T):
        votes[np.arange(len(y)), labels[column]] += 1 + 1e-3 * (N_VOTERS - place) / N_VOTERS
    return (votes.argmax(axis=1) == labels).mean()


def over_pieces(measure, data, y):
    """Return the mean of a measure over connected pieces; outliers do not count."""
    pieces = np.zeros(len(y), dtype=int) if data.pieces is None else data.pieces
    parts = [pieces == piece for piece in range(pieces.max() + 1)]
    return np.mean([measure(data.truth[part], y[part]) for part in parts])


def order_of_distances(truth, y):
    rows = np.random.default_rng(SEED).permutation(len(y))[:MOST_DISTANCES]
    return spearmanr(pdist(truth[rows]), pdist(y[rows])).statistic


def disparity_of(truth, y):
    """One column needs a second of zeros for scipy's function."""
    if truth.shape[1] == 1:
        truth, y = (np.column_stack([values, np.zeros(len(values))]) for values in (truth, y))
    return disparity(truth, y)


# Analysis ------------------------------------------------------------------------------------------------


class Ranked:
    """The embeddings of one data set: their truth, and ranks by every measure; larger is better."""

    def __init__(self, records):
        self.name, self.family = records[0]["data"], records[0]["family"]
        self.n = len(records)
        self.truth = {"main": np.array([main_truth(record) for record in records])}
        if self.family != "labels":
            self.truth |= {name: known_truth(records, name) for name in ("distances", "disparity")}
            self.truth["disparity"] *= -1
        oriented = [oriented_numbers(record) for record in records]
        names = dict.fromkeys(name for numbers in oriented for name in numbers)
        self.ranks = {name: ranked([numbers.get(name) for numbers in oriented]) for name in names}

    def correlation(self, rule, truth):
        """Return the rank correlation of the mean rank with the truth; 0 if the rule says nothing."""
        known = np.isfinite(self.truth[truth])
        return correlation(self.mean(rule)[known], self.truth[truth][known]) if known.sum() > 2 else np.nan

    def loss(self, rule, truth):
        """Return the truth of the best embedding minus that of those that the rule puts first."""
        mean, values = self.mean(rule), self.truth[truth]
        return values.max() - values[mean == mean.max()].mean()

    def mean(self, rule):
        neutral = np.full(self.n, (self.n + 1) / 2)
        return np.mean([self.ranks.get(name, neutral) for name in rule], axis=0)


def main_truth(record):
    return record["truth"].get("r2", record["truth"].get("accuracy"))


def known_truth(records, name):
    """Return a truth of all records; NaN where it is unknown."""
    return np.array([record["truth"].get(name) for record in records], dtype=float)


def oriented_numbers(record):
    """Return the measures that have a better direction, and the evidence, larger is better; None if unknown."""
    found = {}
    for name, numbers in record["measures"].items():
        if MEASURES[name].better:
            sign = 1 if MEASURES[name].better == "higher" else -1
            found[name] = None if numbers["value"] is None else sign * numbers["value"]
    found["order of compare"] = -record["place"]
    for name, value in record["evidence"].items():
        found[f"evidence: {name}"] = None if value is None else -value
    return found


def ranked(values):
    """Return ranks from 1; what is unknown or infinite is worst."""
    return rankdata([-np.inf if value is None else value for value in values])


def correlation(first, second):
    a, b = (rankdata(values) - (len(values) + 1) / 2 for values in (first, second))
    size = np.sqrt((a @ a) * (b @ b))
    return a @ b / size if size > 0 else 0.0


def grouped(records, keep=lambda record: True):
    """Return the data sets with their embeddings, each embedding once."""
    sets = {}
    for record in records:
        if record["same_as"] is None and keep(record):
            sets.setdefault(record["data"], []).append(record)
    return [Ranked(members) for members in sets.values() if len(members) > 2]


@dataclass(frozen=True)
class Column:
    """What a rule is compared with: a truth of some data sets."""

    families: tuple[str, ...]
    truth: str = "main"
    what: str = "correlation"

    def of(self, rule, sets):
        """Return the mean over the data sets."""
        values = [getattr(s, self.what)(rule, self.truth) for s in sets if s.family in self.families]
        return float(np.nanmean(values)) if values else np.nan


WITH_TRUTH = ("real", "synthetic")
COLUMNS = {
    "labels": Column(("labels",)),
    "truth": Column(WITH_TRUTH),
    "real": Column(("real",)),
    "synthetic": Column(("synthetic",)),
    "all": Column(("labels", *WITH_TRUTH)),
    "distances": Column(WITH_TRUTH, "distances"),
    "disparity": Column(WITH_TRUTH, "disparity"),
    "loss, labels": Column(("labels",), what="loss"),
    "loss, truth": Column(WITH_TRUTH, what="loss"),
}
PARTS = (
    ("all embeddings", lambda record: True),
    ("two dimensions, without noise and random projections", lambda r: r["d"] == 2 and not is_random(r)),
)


def is_random(record):
    return record["tool"].startswith(("noise", "random projection"))


def report(records):
    n_sets = len({record["data"] for record in records})
    n_repeated = sum(record["same_as"] is not None for record in records)
    print(f"{len(records)} embeddings of {n_sets} data sets; {n_repeated} repeat another and count once.\n")
    for title, keep in PARTS:
        sets = grouped(records, keep)
        names = list(dict.fromkeys(name for s in sets for name in s.ranks))
        print(f"### Single measures, {title}\n")
        printed({name: (name,) for name in names}, sets)
        print(f"### Means of ranks, {title}\n")
        printed(combined(), sets)
        print(
            f"### Means of two to four ranks, chosen on every second data set, judged on the others, {title}\n"
        )
        halves = halved(sets)
        printed(best_rules(names, halves[0]), halves[1])
    by("tool", records)
    by("kind", records)
    statements(records)


# Statements ----------------------------------------------------------------------------------------------


def lost(record):
    """Return how much of what the data hold the embedding has lost."""
    return record["data_truth"] - main_truth(record)


def order_kept(record):
    return record["truth"].get("distances")


def is_claimed(record, question, good):
    return record["findings"].get(question) is good


# Statement, whether it is made of an embedding, its number of the truth, and whether that makes it right.
STATEMENTS = {
    "neighbors can be believed: at most 0.1 is lost": (
        partial(is_claimed, question="neighbors", good=True),
        lost,
        lambda value: value <= 0.1,
    ),
    "many neighbors are wrong: more than 0.1 is lost": (
        partial(is_claimed, question="neighbors", good=False),
        lost,
        lambda value: value > 0.1,
    ),
    "distances can be read: rank correlation with the true ones at least 0.9": (
        partial(is_claimed, question="distances", good=True),
        order_kept,
        lambda value: value >= 0.9,
    ),
    "distances between regions mean nothing: below 0.9": (
        partial(is_claimed, question="distances", good=False),
        order_kept,
        lambda value: value < 0.9,
    ),
    "faithful, on synthetic data: disparity at most 0.05": (
        lambda record: is_claimed(record, "shape", True) and record["family"] == "synthetic",
        lambda record: record["truth"].get("disparity"),
        lambda value: value <= 0.05,
    ),
}


def statements(records):
    """Print how often each statement is right, and where it is wrong."""
    print("### Statements\n")
    row("statement", "made", "right", "wrong of")
    row("---", "--:", "--:", "---")
    single = [record for record in records if record["same_as"] is None]
    for text, (is_made, number, is_right) in STATEMENTS.items():
        made = [record for record in single if is_made(record) and number(record) is not None]
        wrong = [record for record in made if not is_right(number(record))]
        share = f"{1 - len(wrong) / len(made):.1%}" if made else "-"
        names = dict.fromkeys(record["data"] for record in wrong)
        row(text, len(made), share, "; ".join(names))


def printed(rules, sets):
    """Print what is found of rules, the best over all sets first."""
    row("rule", *COLUMNS)
    row("---", *["--:"] * len(COLUMNS))
    lines = {
        name: {c: column.of(rule, sets) for c, column in COLUMNS.items()} for name, rule in rules.items()
    }
    for name, cells in sorted(lines.items(), key=lambda pair: -pair[1]["all"]):
        row(name, *(f"{cell:.3f}" if c.startswith("loss") else f"{cell:.2f}" for c, cell in cells.items()))
    print()


SHAPE, NEAR = ("r_c", "overlap"), ("trustworthiness", "q_nx")
FAR = ((), ("spearman",), ("geodesic_stress",), ("residual_variance",))


def combined():
    """Return rules with one measure from each family, with and without the evidence, and whole families."""
    rules = {}
    for shape, near, far, more in product(SHAPE, NEAR, FAR, ((), ("evidence: score",))):
        rule = (shape, near, *far, *more)
        rules[" + ".join(rule)] = rule
    oriented = [m for m in MEASURES.values() if m.better and m.name != "m_t"]  # m_t is a truth.
    for family in FAMILIES:
        rules[f"all of {family}"] = tuple(m.name for m in oriented if m.family == family)
    rules["all measures"] = tuple(m.name for m in oriented)
    return rules


N_BEST, N_STARTS = 12, 30
"""Rules that are printed, and rules of one size to which another measure is added."""


def halved(sets):
    """Return two halves of the data sets, each with every second of each family."""
    members = [[s for s in sets if s.family == family] for family in ("labels", *WITH_TRUTH)]
    return tuple([s for part in members for s in part[start::2]] for start in (0, 1))


def best_rules(names, sets):
    """Return the rules with the largest lesser mean correlation, of labels and of truth.

    All pairs are tried; then measures are added to the best.
    """
    names = distinct(names, sets)
    merits = {rule: merit(rule, sets) for rule in combinations(names, 2)}
    for size in (3, 4):
        starts = sorted((r for r in merits if len(r) == size - 1), key=merits.get)[-N_STARTS:]
        longer = {tuple(sorted({*start, name})) for start in starts for name in names if name not in start}
        merits |= {rule: merit(rule, sets) for rule in longer}
    best = sorted(merits, key=merits.get)[-N_BEST:]
    return {" + ".join(rule): rule for rule in best}


def distinct(names, sets):
    """Return the measures without those that order all embeddings as another one does."""
    orders = {tuple(np.concatenate([s.mean((name,)) for s in sets])): name for name in reversed(names)}
    return [name for name in names if name in orders.values()]


def merit(rule, sets):
    return np.nanmin([COLUMNS[name].of(rule, sets) for name in ("labels", "truth")])


def by(key, records):
    """Print the mean truth of the embeddings of every tool, or of every verdict of `quality`."""
    families = {"labels": "accuracy", "real": "R^2, real", "synthetic": "R^2, synthetic"}
    print(f"### Truth by {key}: mean, and number of embeddings\n")
    row(key, *families.values())
    row("---", *["--:"] * len(families))
    for value in dict.fromkeys(record[key] for record in records):
        own = [record for record in records if record[key] == value]
        row(value, *(mean_truth(own, family) for family in families))
    print()


def mean_truth(records, family):
    values = [main_truth(record) for record in records if record["family"] == family]
    return f"{np.mean(values):.2f} ({len(values)})" if values else ""


if __name__ == "__main__":
    main()
