"""Do 95 % intervals hold the exact value 95 times in 100?

    python -m experiments.judging.interval_coverage              # --quick: few draws, seconds

Embeddings of a noisy roll are measured exactly, then again and again from a sample of their points, sources
and pairs, and from as many points as ``n_centers="auto"`` takes. Printed is the share of draws whose interval
holds the exact value. An interval that is right holds it in 93 to 97 % of 500 draws: 95 % less or more two
standard errors of such a share.
"""

import argparse

import numpy as np
import unbend as ub
from unbend.judge.measures import MEASURES

from benches.python.timing import machine, row, use_threads

K = 12
LOW, HIGH = 0.93, 0.97
WIDTH = 0.005

ALL = [name for name in MEASURES if name not in ("scale", "m_g", "m_t")]
AT_POINTS = [name for name in ALL if MEASURES[name].family not in ("geodesic", "distances")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--points", type=int, default=5000)
    parser.add_argument("--quick", action="store_true", help="few draws: does everything run?")
    options = parser.parse_args()
    if options.quick:
        options.draws, options.points = 20, 2500
    use_threads(options.threads)
    print(machine(options.threads, ("unbend", "numpy")))
    x, embeddings = population(options.points)
    for name, y in embeddings.items():
        title = f"{name}: of {len(x)} points 1,000, of sources 300, of pairs 100,000"
        coverage(title, x, y, ALL, options.draws, n_centers=1000, n_sources=300, n_pairs=100_000)
    x, embeddings = population(6 * options.points)
    name, y = list(embeddings.items())[-1]
    title = f'{name}: {len(x)} points, as many as "auto" takes for {WIDTH}'
    coverage(title, x, y, AT_POINTS, options.draws, n_centers="auto", half_width=WIDTH)


def population(n):
    x, coordinates = ub.datasets.swiss_roll(n, noise=0.3, random_state=0)
    rng = np.random.default_rng(0)
    jittered = coordinates * [1, 0.5] + rng.normal(0, 0.5, size=coordinates.shape)
    return x, {"coordinates, one axis halved, with noise": jittered, "the roll along its axis": x[:, ::2]}


def coverage(title, x, y, names, draws, **sample):
    given, n = {"measures": names, "neighborhoods": ub.neighborhoods(x, K)}, len(x)
    exact = ub.quality(x, y, n_sources=n, n_pairs=n * (n - 1) // 2, **given)
    assert all(value.standard_error == 0 for value in exact.values())
    drawn = [ub.quality(x, y, random_state=seed, **sample, **given) for seed in range(draws)]
    print(f"### {title}: {draws} draws\n")
    sizes = [len(one.centers) for one in drawn]
    print(f"Points looked at: {min(sizes)} to {max(sizes)}.\n")
    row("measure", "exact", "mean of draws", "mean half-width", "covered", "")
    row("---", "--:", "--:", "--:", "--:", "---")
    for measure, value in exact.items():
        found = [one[measure] for one in drawn]
        ends = np.array([one.interval for one in found])
        covered = np.mean((ends[:, 0] <= value.value) & (value.value <= ends[:, 1]))
        half = np.mean(ends[:, 1] - ends[:, 0]) / 2
        mean = np.mean([one.value for one in found])
        verdict = "" if LOW <= covered <= HIGH else f"not within {LOW:.0%} to {HIGH:.0%}"
        row(measure, f"{value.value:.5g}", f"{mean:.5g}", f"{half:.2g}", f"{covered:.1%}", verdict)
    print()


if __name__ == "__main__":
    main()
