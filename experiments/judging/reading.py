"""What numbers say of embeddings whose state is known: the experiment behind unbend.reading.

    python -m experiments.judging.reading --quick         # 2 samples of each surface: a minute
    python -m experiments.judging.reading                 # 8 samples: some minutes
    python -m experiments.judging.reading --algorithms    # also what algorithms make of surfaces

The states are made in reading_population.py from true coordinates. Thresholds were chosen on the surfaces of
`LEARNT`; those of `HELD_OUT`, with other seeds, judge them. For every threshold the program prints where the
kinds that it divides lie, and the cut of least error on the former. Samples with neighbors that are far in
the truth (n too small for k) have no faithful embedding: they are left out and counted apart.

Surfaces that are only some steps wide on the neighborhood graph (n near 1000) hide folds from the overlap.

`--algorithms` has no states by construction. There the same numbers, taken from the true flat coordinates
instead of the data and so free of curvature and noise, are compared with the reading (those of cylinder,
hemisphere and fishbowl are not isometric, so there the two may differ).
"""

import argparse
import sys
import warnings

import numpy as np
import unbend as ub
from unbend.judge import verdict as reading

from benches.python.timing import machine, row, use_threads
from experiments.judging.reading_population import HELD_OUT, KINDS, LEARNT, embeddings, sample

JUDGING = 5000
"""The first seed of what is held out: none from here on was looked at before the rule was as it is."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--samples", type=int, default=8, help="of each surface")
    parser.add_argument("--quick", action="store_true", help="2 samples of each surface")
    parser.add_argument("--algorithms", action="store_true", help="also what algorithms make of surfaces")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    use_threads(options.threads)
    count = 2 if options.quick else options.samples
    print(machine(options.threads, ("unbend", "numpy", "scipy", "scikit-learn")))
    learnt = [case for name in LEARNT for case in cases(name, LEARNT[name], range(count))]
    held_out = [
        case for name in HELD_OUT for case in cases(name, HELD_OUT[name], range(JUDGING, JUDGING + count))
    ]
    separation([case for case in learnt if case.legible])
    thresholds([case for case in learnt if case.legible])
    for title, found in (("on which thresholds were chosen", learnt), ("held out", held_out)):
        confusion(f"Surfaces {title}", [case for case in found if case.legible])
        mistakes([case for case in found if case.legible])
    left_out(learnt + held_out)
    if options.algorithms:
        algorithms()


# Cases ---------------------------------------------------------------------------------------------------


class Case:
    """An embedding: what it is, its numbers, and what is read from them."""

    def __init__(self, kind, done, data, y):
        self.kind, self.done, self.short_circuits = kind, done, data.short_circuits
        self.numbers = measured(data.x, y, data.near)
        self.said = reading.read(self.numbers)

    @property
    def legible(self):
        return self.short_circuits == 0 and self.said.kind != "thick"

    def __getitem__(self, name):
        if name == "noiseless":
            return self["r_c"] - reading.NOISY * self.numbers["lower_bound"]
        if name == "varying":  # what does not exceed the spread of shapes does not count
            size, shape = self.numbers["size_spread"], self.numbers["ratio_spread"]
            return size if size > shape else 1.0
        if name == "off":
            return max(self.numbers["size"], 1 / self.numbers["size"])
        if name in ("r_n", "r_n_scaled", "r_c", "nieqa_local"):
            bound = self.numbers["lower_bound"]
            return (self.numbers[name] - bound) / (1 - bound)
        return self.numbers[name]


def measured(x, y, near):
    m = ub.faithfulness(x, y, neighborhoods=near)
    return reading.gather(m, ub.metrics.nieqa_local(x, y, neighborhoods=near))


def cases(name, draw, seeds):
    print(name, file=sys.stderr, flush=True)
    for seed in seeds:
        data = sample(name, draw, seed)
        for kind, done, y in embeddings(data, np.random.default_rng([seed, 7])):
            yield Case(kind, done, data, y)


# Separation ----------------------------------------------------------------------------------------------

SHOWN = {
    "lower_bound": "bound",
    "r_n": "R_N",
    "r_n_scaled": "R_N scaled",
    "r_c": "R_C",
    "nieqa_local": "M_L",
    "overlap": "overlap",
    "size": "size",
    "ratio": "ratio",
    "ratio_spread": "its spread",
    "size_spread": "size spread",
    "typical": "median R_C",
    "share_bad": "bad",
    "stretch_of_bad": "their stretch",
}


def separation(found):
    print("### What each state makes of the numbers: 5, 50 and 95 % of the embeddings\n")
    print("R_N to M_L and the median of R_C are excesses, (value - bound) / (1 - bound).\n")
    row("state", "what was done", "", *SHOWN.values())
    row("---", "---", "--:", *["--:"] * len(SHOWN))
    groups = {}
    for case in found:
        groups.setdefault((case.kind, case.done), []).append(case)
    for (kind, done), group in groups.items():
        cells = (
            np.quantile([case[name] for case in group], (0.05, 0.5, 0.95), method="nearest") for name in SHOWN
        )
        row(kind, done, len(group), *(" / ".join(f"{value:.2g}" for value in cell) for cell in cells))
    print()


# Each threshold, the number it cuts, and which states or doings lie above and below.
DIVIDES = (
    ("UNRELATED", "r_c", ("unrelated",), ("collapsed", "distorted", "stretched", "folded", "torn")),
    ("NARROW", "ratio", ("collapsed",), ("distorted", "torn", "conformal")),
    ("PULLED", "stretch_of_bad", ("torn",), ("folded", "conformal", "stretched", "distorted")),
    ("OVERLAPPING", "overlap", ("folded",), ("faithful", "scaled", "conformal", "distorted")),
    ("SMALL", "noiseless", ("distorted",), ("faithful", "scaled", "conformal")),
    ("VARYING", "varying", ("conformal",), ("faithful", "scaled")),
    ("OFF", "off", ("scaled",), ("faithful",)),
    ("ALIKE", "ratio", ("each coordinate", "and turned"), ("faithful", "scaled", "conformal")),
    ("UNIFORM", "ratio_spread", ("distorted",), ("each coordinate", "and turned", "unit covariance")),
)
NAMES = {"noiseless": "R_C - NOISY bound", "off": "size or 1 / size", "varying": "size spread"} | SHOWN


def thresholds(found):
    print("### Thresholds, and the cut of least error where they were chosen\n")
    row("threshold", "of", "taken", "cut of least error", "wrong there", "wrong as taken", "above", "below")
    row("---", "---", "--:", "--:", "--:", "--:", "---", "---")
    for name, number, above, below in DIVIDES:
        high, low = (values(found, number, group) for group in (above, below))
        taken, (cut, error) = getattr(reading, name), best_cut(high, low)
        errors = (f"{error:.1%}", f"{wrong(high, low, taken):.1%}")
        row(name, NAMES[number], taken, f"{cut:.3g}", *errors, ", ".join(above), ", ".join(below))
    print()


def values(found, number, group):
    return np.array([case[number] for case in found if case.kind in group or case.done in group])


def wrong(high, low, cut):
    """The mean of the shares on the wrong side, so that large groups count no more than small ones."""
    return (np.mean(high <= cut) + np.mean(low > cut)) / 2


def best_cut(high, low):
    """The middle of the cuts between neighboring values at which the fewest are on the wrong side."""
    ends = np.unique(np.concatenate([high, low]))
    cuts = np.sqrt(np.maximum(ends[1:], 1e-12) * np.maximum(ends[:-1], 1e-12))
    errors = np.array([wrong(high, low, cut) for cut in cuts])
    best = cuts[errors == errors.min()]
    return best[len(best) // 2], errors.min()


# Judgement -----------------------------------------------------------------------------------------------


def confusion(title, found):
    right = np.mean([case.kind == case.said.kind for case in found])
    print(f"### {title}: {len(found)} embeddings, {right:.1%} read rightly\n")
    row("state, read as", *KINDS, "right")
    row("---", *["--:"] * (len(KINDS) + 1))
    for kind in KINDS:
        said = [case.said.kind for case in found if case.kind == kind]
        row(
            kind, *(said.count(other) or "" for other in KINDS), f"{said.count(kind) / max(1, len(said)):.0%}"
        )
    print()


def mistakes(found):
    """What is most often read as something else."""
    counts = {}
    for case in found:
        if case.kind != case.said.kind:
            key = (case.kind, case.done, case.said.kind)
            counts[key] = counts.get(key, 0) + 1
    total = {(case.kind, case.done): 0 for case in found}
    for case in found:
        total[case.kind, case.done] += 1
    for (kind, done, said), count in sorted(counts.items(), key=lambda item: -item[1])[:12]:
        print(f"- {kind} ({done}) read as {said}: {count} of {total[kind, done]}")
    print()


def left_out(found):
    """What the rule says where nothing can be said."""
    for title, group in (
        ("some neighbors far in the truth", [c for c in found if c.short_circuits > 0]),
        ("read as thick", [c for c in found if c.said.kind == "thick"]),
    ):
        print(
            f"Left out, {title}: {len(group)} embeddings. Their faithful and scaled ones are read as", end=" "
        )
        said = [case.said.kind for case in group if case.kind in ("faithful", "scaled")]
        print(", ".join(f"{kind} ({said.count(kind)})" for kind in dict.fromkeys(said)) or "-", end=".\n")
    print()


# Algorithms ----------------------------------------------------------------------------------------------


def algorithms():
    print("### What algorithms make of surfaces, n = 1000, k = 12\n")
    row("data", "algorithm", "read as", "read from the truth", "sentence")
    row("---", "---", "---", "---", "---")
    for name, (x, u) in algorithm_data().items():
        near = ub.neighborhoods(x, 12)
        for algorithm, fit in fits().items():
            print(name, algorithm, file=sys.stderr, flush=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                y = fit(x)
            said, truly = (reading.read(measured(data, y, near)) for data in (x, u))
            row(name, algorithm, said.kind, truly.kind, said.sentence)


def algorithm_data():
    draw = ub.datasets
    made = {
        "swiss roll": draw.swiss_roll_wittman(1000, random_state=0),
        "noisy swiss roll": draw.swiss_roll_wittman(1000, noise=0.4, random_state=0),
        "roll with a hole": draw.swiss_roll(1000, hole=True, random_state=0),
        "s-curve": draw.s_curve(1000, random_state=0),
        "gaussian bump": draw.gaussian_bump(1000, random_state=0),
        "cylinder": draw.cylinder(1000, random_state=0),
        "hemisphere": draw.hemisphere(1000, random_state=0),
        "fishbowl": draw.fishbowl(1000, random_state=0),
    }
    return made


def fits():
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE, Isomap, LocallyLinearEmbedding, SpectralEmbedding

    def linear(method):
        return LocallyLinearEmbedding(n_neighbors=12, method=method, eigen_solver="dense").fit_transform

    return {
        "PCA": PCA(2).fit_transform,
        "Isomap": Isomap(n_neighbors=12).fit_transform,
        "LLE": linear("standard"),
        "LTSA": linear("ltsa"),
        "HLLE": linear("hessian"),
        "LE": SpectralEmbedding(
            2, affinity="nearest_neighbors", n_neighbors=13, random_state=0
        ).fit_transform,
        "t-SNE": TSNE(random_state=0).fit_transform,
        "GP": lambda x: ub.GreedyProcrustes(2, 12, random_state=0).fit(x).embedding_,
        "PSA": lambda x: ub.ProcrustesAlignment(2, 12, random_state=0).fit(x).embedding_,
    }


if __name__ == "__main__":
    main()
