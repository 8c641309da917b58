"""How often the verdict of ub.price_of_normalization is what happens: the table of docs/normalization.md.

    python -m experiments.papers.price_agreement

Random strips, swiss rolls and fishbowls, 1 to 8 times as long as wide, each clean and with noise. The verdict
is given from the true coordinates, and under noise once more from those that Procrustes alignment finds. Then
every algorithm runs. A dimension has collapsed if in some direction an affine map of the output explains less
than half of the variance of the true coordinates.

Nothing was chosen on the samples of the default seed; thresholds were chosen on those of others.
"""

import argparse
import math
import os
import sys
import warnings
from collections import Counter
from dataclasses import dataclass

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # all its matrices are small

import numpy as np
import unbend as ub

K = 8
LENGTH, HEIGHT = 89.43, 21.0
"""Of the swiss roll."""

ALGORITHMS = {
    "LEM": ub.LaplacianEigenmaps,
    "DFM": ub.DiffusionMaps,
    "LLE": ub.LocallyLinearEmbedding,
    "LTSA": ub.LTSA,
    "HLLE": ub.HessianLLE,
}
KINDS = ("clean", "noisy", "noisy, found")
SHAPES = ("strip", "roll", "fishbowl")
CELLS = {
    "holds": ("holds", False),
    "holds, lost": ("holds", True),
    "collapses": ("would collapse", True),
    "collapses, kept": ("would collapse", False),
}


@dataclass(frozen=True)
class Case:
    name: str
    shape: str
    kind: str
    ratio: float
    n: int
    outcome: str
    curve: bool
    """Whether Phi(Y) > Phi(Z), which is all that the paper asks."""
    proved: bool
    margin: float
    error: float

    @property
    def lost(self):
        return self.error > 0.5

    @property
    def decided(self):
        return self.outcome != "too close to tell"

    @property
    def agrees(self):
        return (self.outcome == "would collapse") == self.lost


def main():
    options = arguments()
    warnings.simplefilter("ignore")
    cases, redrawn = [], 0
    stream = np.random.default_rng(options.seed)
    for sample in range(options.samples):
        found = None
        while found is None:
            found = cases_of(SHAPES[sample % len(SHAPES)], stream, options.noise)
            redrawn += found is None
        cases += found
        print(f"\r{sample + 1} of {options.samples}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    print(
        f"{options.samples} surfaces, seed {options.seed}, n = 800 to 1600, k = {K}; {redrawn} drawn again\n"
    )
    for kind in KINDS:
        table([case for case in cases if case.kind == kind], kind)
    by_shape(cases)
    if options.list:
        list_wrong(cases)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--noise", type=float, default=0.5, help="largest standard deviation, in spacings")
    parser.add_argument("--list", action="store_true", help="the cases where they differ or are close")
    return parser.parse_args()


# Surfaces ------------------------------------------------------------------------------------------------


def cases_of(shape, stream, noise):
    """Return the prediction for a surface and what happens, clean and noisy; None if a graph is not connected."""
    ratio, n, share = stream.uniform(1, 8), int(stream.integers(800, 1601)), stream.uniform(0, noise)
    seed = int(stream.integers(2**31))
    cases = []
    for kind, sd in (("clean", 0.0), ("noisy", share)):
        x, truth = draw(shape, n, ratio, sd, seed)
        graph = ub.neighborhoods(x, K)
        if graph.n_connected_components > 1:
            return None
        errors = {
            name: ub.metrics.affine_error(truth, one(n_neighbors=K).fit(x).embedding_)
            for name, one in ALGORITHMS.items()
        }
        given = ub.price_of_normalization(x, truth, neighborhoods=graph)
        cases += judge(given, errors, (shape, kind, ratio, n))
    found = ub.price_of_normalization(x, neighborhoods=graph)
    return [*cases, *judge(found, errors, (shape, "noisy, found", ratio, n))]


def draw(shape, n, ratio, noise, seed):
    """The surface; noise is in units of the mean distance between points."""
    if shape == "strip":
        sd = noise * math.sqrt(ratio / n)
        return ub.datasets.strip(n, length=ratio, noise=sd, random_state=seed)
    if shape == "roll":
        sd = noise * math.sqrt(LENGTH**2 / ratio / n)
        stretch = LENGTH / HEIGHT / ratio
        return ub.datasets.swiss_roll(n, stretch=stretch, noise=sd, random_state=seed)
    sd = noise * math.sqrt(4 * math.pi * 0.85 * ratio / n)
    return ub.datasets.fishbowl(n, stretch=ratio, noise=sd, random_state=seed)


def judge(price, errors, about):
    for name, verdict in price.verdicts.items():
        margin = verdict.costs[-1] / verdict.costs[1] - 1 if verdict.costs[1] > 0 else math.inf
        said = (verdict.outcome, verdict.phi_y > verdict.phi_z, verdict.by_theorem, margin)
        yield Case(name, *about, *said, errors[name])


# Tables --------------------------------------------------------------------------------------------------


def table(cases, title):
    print(
        f"| {title} |",
        " | ".join(CELLS),
        "| too close | agrees, of decided | of all | Phi(Y) > Phi(Z) alone |",
    )
    print("|---|" + "--:|" * (len(CELLS) + 4))
    for name in ALGORITHMS:
        own = [case for case in cases if case.name == name]
        counts = Counter((case.outcome, case.lost) for case in own if case.decided)
        decided = [case for case in own if case.decided]
        right = sum(case.agrees for case in decided)
        close = len(own) - len(decided)
        row = [str(counts[cell]) for cell in CELLS.values()]
        row += [str(close), rate(right, len(decided)), rate(right, len(own))]
        row += [rate(sum(case.curve == case.lost for case in own), len(own))]
        print(f"| {name} |", " | ".join(row), "|")
    both = [case for case in cases if case.name in ("LEM", "DFM")]
    decided = [case for case in both if case.decided]
    right = sum(case.agrees for case in decided)
    low, high = interval(right, len(decided))
    print(f"\nLEM and DFM: {right} of {len(decided)} decided, {rate(right, len(decided))}", end=" ")
    print(f"(95 % interval {low:.1%} to {high:.1%}), {len(both) - len(decided)} too close to tell", end="; ")
    proved = [case for case in cases if case.proved]
    print(
        f"Theorem 5.1 applies to {len(proved)} cases, {sum(case.lost for case in proved)} of them collapse\n"
    )


def by_shape(cases):
    print("| agrees, of decided |", " | ".join(ALGORITHMS), "|")
    print("|---|" + "--:|" * len(ALGORITHMS))
    for kind in KINDS:
        for shape in SHAPES:
            row = []
            for name in ALGORITHMS:
                own = [case for case in cases if (case.name, case.shape, case.kind) == (name, shape, kind)]
                decided = [case for case in own if case.decided]
                row.append(rate(sum(case.agrees for case in decided), len(decided)))
            print(f"| {kind} {shape} |", " | ".join(row), "|")
    print()


def list_wrong(cases):
    for case in cases:
        if not (case.decided and case.agrees):
            what = f"{case.name:5}{case.shape:9}{case.kind:13} ratio {case.ratio:.2f} n {case.n}"
            print(f"{what}  {case.outcome}, margin {case.margin:.3f}, affine error {case.error:.3f}")


def rate(right, all_):
    return f"{right / all_:.1%}" if all_ else "-"


def interval(right, all_, z=1.96):
    """Wilson's."""
    if not all_:
        return 0.0, 1.0
    share, extra = right / all_, z**2 / all_
    half = z * math.sqrt(share * (1 - share) / all_ + extra / 4 / all_)
    return (share + extra / 2 - half) / (1 + extra), (share + extra / 2 + half) / (1 + extra)


if __name__ == "__main__":
    main()
