"""How embeddings do on difficult data with a known truth, and whether they say when they fail.

    python benches/python/bench_hard.py                        # seeds 100 to 109: the tables of docs/unclean.md
    python benches/python/bench_hard.py --seeds tune           # seeds 0 to 2, for changing the code
    python benches/python/bench_hard.py --ablation             # PSA without one stage at a time
    python benches/python/bench_hard.py --limits               # data that no method can embed well
    python benches/python/bench_hard.py --real FOLDER          # real sets, from .npz files; also with --ablation
    python benches/python/bench_hard.py --large                # 20,000 points with noise
    python benches/python/bench_hard.py --quick                # one seed, 300 points: does everything run?

Disparity is that of scipy.spatial.procrustes to the truth, 0 is perfect and 1 is unrelated. An embedding is wrong
above 0.05. It is wrong and silent if `verdict_` trusts it, or without a verdict, if there was no warning. A false
alarm has a disparity below 0.01 and is distrusted. `--cases` and `--first` select cases, and the first seeds.
"""

import argparse
import contextlib
import math
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

import numpy as np
import unbend as ub
from difficult import CASES, LIMITS, ROLL, SHEET, disparity, noisy
from difficult_real import REAL, r_squared, read_real
from sklearn.decomposition import PCA
from sklearn.manifold import Isomap
from timing import machine, row, use_threads
from unbend.fit.trust import candidates

SEEDS = {"tune": range(3), "report": range(100, 110)}
WRONG, RIGHT = 0.05, 0.01
LEAST = 1e-6  # Smaller disparities count as this much in geometric means.
QUICK_POINTS = 300

METHODS = {
    "PSA": lambda d: ub.ProcrustesAlignment(d),
    "PSA, candidates=False": lambda d: ub.ProcrustesAlignment(d, candidates=False),
    "GP": lambda d: ub.GreedyProcrustes(d, random_state=0),
    "GP, candidates=False": lambda d: ub.GreedyProcrustes(d, candidates=False, random_state=0),
    "Isomap": lambda d: Isomap(n_neighbors=12, n_components=d),
    "LTSA, rectified": lambda d: ub.LTSA(d, rectify=True),
    "PCA": lambda d: PCA(d),
}


@dataclass(frozen=True)
class Score:
    """What came out of one fit."""

    method: str
    case: str
    seed: int
    disparity: float
    distrusted: bool
    seconds: float
    how: str = ""
    r2: float = math.nan

    @property
    def wrong(self):
        return self.disparity > WRONG

    @property
    def silent(self):
        return self.wrong and not self.distrusted

    @property
    def false_alarm(self):
        return self.disparity < RIGHT and self.distrusted


def chosen(model):
    """The name of the embedding that was kept, if the method tries several."""
    return next((tried.name for tried in getattr(model, "candidates_", ()) if tried.chosen), "")


def fitted(method, d, x):
    """Return the fitted model, whether it or a warning distrusts the embedding, and the seconds."""
    model = METHODS[method](d)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        model.fit(x)
        seconds = time.perf_counter() - start
    verdict = getattr(model, "verdict_", None)
    doubts = [entry for entry in caught if issubclass(entry.category, UserWarning | RuntimeWarning)]
    return model, bool(doubts) if verdict is None else not verdict.trusted, seconds


def embedded(method, d, x):
    model, distrusted, seconds = fitted(method, d, x)
    y = model.transform(x) if method == "PCA" else model.embedding_
    return np.asarray(y), distrusted, seconds, chosen(model)


def scored(method, name, seed, data):
    x, truth, pieces = data
    y, *rest = embedded(method, truth.shape[1], x)
    return Score(method, name, seed, disparity(truth, y, pieces), *rest)


def drawn(name, seed, options):
    case, n = CASES[name]
    return case(min(n, QUICK_POINTS) if options.quick else n, np.random.default_rng(seed))


def all_scores(methods, options):
    for name in options.cases:
        for seed in options.seeds:
            data = drawn(name, seed, options)
            yield from (scored(method, name, seed, data) for method in methods)


def main():
    options = parsed()
    use_threads(options.threads)
    print(machine(options.threads, ("unbend", "numpy", "scipy", "scikit-learn")))
    if options.ablation and options.real:
        real_ablation(Path(options.real))
    elif options.ablation:
        ablation(options)
    elif options.limits:
        limits(options)
    elif options.real:
        real(Path(options.real))
    elif options.large:
        large(2_000 if options.quick else 20_000)
    else:
        synthetic(options)


def parsed():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", choices=SEEDS, default="report")
    parser.add_argument("--first", type=int, metavar="N", help="use only the first N of these seeds")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES), metavar="CASE")
    parser.add_argument("--ablation", action="store_true", help="PSA without one stage at a time")
    parser.add_argument("--limits", action="store_true", help="data that no method can embed well")
    parser.add_argument("--real", metavar="FOLDER", help="real sets, from .npz files in this folder")
    parser.add_argument("--large", action="store_true", help="20,000 points with noise")
    parser.add_argument("--quick", action="store_true", help="one seed, few points: does everything run?")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    options.seeds = SEEDS[options.seeds][: 1 if options.quick else options.first]
    return options


def synthetic(options):
    scores = list(all_scores(METHODS, options))
    seeds = f"{options.seeds[0]} to {options.seeds[-1]}"
    print(f"### Median disparity of each case, seeds {seeds}\n")
    row("case", *METHODS)
    row("---", *["--:"] * len(METHODS))
    for name in options.cases:
        of_case = [score for score in scores if score.case == name]
        row(name, *(median_disparity(of_case, method) for method in METHODS))
    print("\n### Summary\n")
    summary_head("method")
    for method in METHODS:
        summary(method, [score for score in scores if score.method == method])
    of_default = [score for score in scores if score.method in ("PSA", "GP")]
    listed("Wrong and trusted", [score for score in of_default if score.silent])
    listed("Right and distrusted", [score for score in of_default if score.false_alarm])


def median_disparity(scores, method):
    return f"{np.median([score.disparity for score in scores if score.method == method]):.1e}"


def summary_head(first):
    row(first, "geometric mean", "wrong", "of these silent", "false alarms", "seconds")
    row("---", "--:", "--:", "--:", "--:", "--:")


def summary(name, scores):
    """Print the row of a method: disparity, counts, and the sum of seconds."""
    logs = [math.log(max(score.disparity, LEAST)) for score in scores]
    n_wrong, n_right = sum(s.wrong for s in scores), sum(s.disparity < RIGHT for s in scores)
    row(
        name,
        f"{math.exp(np.mean(logs)):.1e}",
        f"{n_wrong} of {len(scores)} ({n_wrong / len(scores):.0%})",
        sum(score.silent for score in scores),
        f"{sum(score.false_alarm for score in scores)} of {n_right}",
        f"{sum(score.seconds for score in scores):.0f}",
    )


def listed(title, scores):
    print(f"\n### {title}\n")
    if not scores:
        print("None.")
        return
    row("method", "case", "seed", "disparity", "embedding")
    row("---", "---", "--:", "--:", "---")
    for score in scores:
        row(score.method, score.case, score.seed, f"{score.disparity:.3f}", score.how)


def without_overlap(*arguments):
    return replace(ORIGINAL_EVIDENCE(*arguments), overlap=0.0)


def without_balls(*arguments):
    return replace(ORIGINAL_EVIDENCE(*arguments), disagreement=0.0, torn=0.0)


ORIGINAL_EVIDENCE = candidates.evidence
STAGES = {
    "everything": {},
    "without pruning as a candidate": {"_Attempt.pruned": lambda attempt: None},
    "without smoothing": {"SMOOTHINGS": ()},
    "without geodesic distances": {"TRUSTED_SCORE": math.inf},
    "without the comparison with the pruned graph": {"MAX_PRUNED_POINTS": 0},
    "without the penalty for a cut": {"CUT_PENALTY": 0.0},
    "without overlap": {"evidence": without_overlap},
    "without balls": {"evidence": without_balls},
}
"""Ablations of PSA: the name of what is replaced in the module of candidates, and by what."""


@contextlib.contextmanager
def replaced(changes):
    with contextlib.ExitStack() as stack:
        for name, value in changes.items():
            stack.enter_context(mock.patch(f"{candidates.__name__}.{name}", value))
        yield


def ablation(options):
    print(f"### PSA without one stage at a time, seeds {options.seeds[0]} to {options.seeds[-1]}\n")
    summary_head("PSA")
    for name, changes in STAGES.items():
        with replaced(changes):
            summary(name, list(all_scores(["PSA"], options)))


def limits(options):
    print("### Data that no method can embed well: PSA, first seed\n")
    row("data", "embedding", "verdict")
    row("---", "---", "---")
    for name, (case, n) in LIMITS.items():
        model, _, _ = fitted("PSA", 2, case(n, np.random.default_rng(options.seeds[0])))
        row(name, chosen(model), model.verdict_.sentence)


def real(folder):
    sets = {name: read_real(folder, source) for name, source in REAL.items()}
    print("### Real sets: disparity to the truth, and R^2 of the truth from five neighbors\n")
    row("set", "n", "columns", "d", "R^2 of the data", *METHODS)
    row("---", *["--:"] * (4 + len(METHODS)))
    scores = []
    for name, data in sets.items():
        if data is not None:
            found = [real_score(method, name, data) for method in METHODS]
            x, truth = data
            cells = (f"{score.disparity:.3f}, {score.r2:.2f}" for score in found)
            row(name, len(x), x.shape[1], truth.shape[1], f"{r_squared(truth, x):.2f}", *cells)
            scores += found
    if scores:
        print()
        real_head("method")
        for method in METHODS:
            real_row(method, [score for score in scores if score.method == method])
    print_missing(sets)


def real_ablation(folder):
    sets = {name: read_real(folder, source) for name, source in REAL.items()}
    print("### PSA without one stage at a time, real sets\n")
    real_head("PSA")
    for stage, changes in STAGES.items():
        with replaced(changes):
            scores = [real_score("PSA", name, data) for name, data in sets.items() if data is not None]
        if scores:
            real_row(stage, scores)
    print_missing(sets)


def print_missing(sets):
    missing = [f"{name} ({REAL[name].file}.npz)" for name, data in sets.items() if data is None]
    if missing:
        print(f"\nNot measured, because these files are not in the folder: {', '.join(missing)}.")


def real_score(method, name, data):
    x, truth = data
    y, *rest = embedded(method, truth.shape[1], x)
    return Score(method, name, 0, disparity(truth, y), *rest, r2=r_squared(truth, y))


def real_head(first):
    row(first, "mean disparity", "mean R^2", "distrusted", "seconds")
    row("---", "--:", "--:", "--:", "--:")


def real_row(name, scores):
    means = np.mean([(score.disparity, score.r2) for score in scores], axis=0)
    n_distrusted, seconds = sum(s.distrusted for s in scores), sum(s.seconds for s in scores)
    row(name, f"{means[0]:.3f}", f"{means[1]:.3f}", f"{n_distrusted} of {len(scores)}", f"{seconds:.0f}")


def large(n):
    """Noise moves points within the surface as well, and no method can undo that."""
    print(f"### A roll of {n:,} points, {ROLL.length:.0f} x {SHEET[1]:.0f}\n")
    row("noise", "method", "in-plane noise", "disparity", "trusted", "embedding", "seconds")
    row("--:", "---", "--:", "--:", "---", "---", "--:")
    for sd in (0.0, 0.3, 0.6, 0.8, 1.0):
        data = noisy(sd)(n, np.random.default_rng(100))
        share = 2 * sd**2 / (data[1].var(axis=0).sum() + 2 * sd**2)
        for method in ("PSA", "PSA, candidates=False", "GP"):
            score = scored(method, "", 100, data)
            cells = f"{share:.1e}", f"{score.disparity:.1e}", "no" if score.distrusted else "yes"
            row(sd, method, *cells, score.how, f"{score.seconds:.1f}")


if __name__ == "__main__":
    main()
