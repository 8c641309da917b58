"""What cutting reaches: how faithful, how little is torn, what is named, how long it takes.

    python benches/python/bench_cut.py                      # all parts but the slow ones
    python benches/python/bench_cut.py flat curved false noise names shapes time large dimensions
    python benches/python/bench_cut.py curved --bunny FILE  # a scan, from an array X

Each part prints a table. Times are those of fits in turn in one run: PSA that cuts compared with PSA that does
not.
"""

import argparse
import resource
import time
import warnings

import numpy as np
import surfaces
import unbend as ub
from unbend import _core

K = 10
PSA = ub.ProcrustesAlignment


def fit(x, cut="auto", estimator=PSA, **options):
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = estimator(n_neighbors=K, cut=cut, **options).fit(x)
    return model, time.perf_counter() - start


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def head(*cells):
    row(*cells)
    row(*("---" for _ in cells))


def report(name, x, cut="auto", estimator=PSA, **options):
    model, seconds = fit(x, cut, estimator, **options)
    m = model.faithfulness_
    row(
        name,
        len(x),
        estimator.__name__,
        f"{m.r_n:.5f}",
        f"{m.lower_bound:.5f}",
        f"{m.r_n / m.lower_bound:.3f}",
        f"{m.cut_share:.1%}",
        f"{m.cut_length:.2f}",
        f"{m.overlap:.2%}",
        len(model.seams_),
        model.surface_,
        f"{seconds:.1f}",
    )
    return model


COLUMNS = (
    "surface",
    "n",
    "by",
    "R_N",
    "bound",
    "ratio",
    "torn",
    "cut length",
    "overlap",
    "seams",
    "said to be",
    "s",
)


def flat(_):
    print("\nFlat surfaces: R_N over its bound on the kept parts\n")
    head(*COLUMNS)
    makers = (surfaces.cylinder, surfaces.flat_torus, surfaces.flat_moebius_strip, surfaces.flat_klein_bottle)
    for make in makers:
        for n in (2_000, 20_000, 100_000):
            report(make.__name__, make(n))
        report(make.__name__, make(20_000), estimator=ub.GreedyProcrustes, random_state=0)
    x, _truth = ub.datasets.cylinder(800, random_state=0)
    report("cylinder of Goldberg & Ritov", x)


def curved(options):
    print("\nCurved surfaces\n")
    head(*COLUMNS)
    report("sphere", surfaces.sphere(2_500))
    report("torus of revolution", surfaces.torus(8_000))
    report("Klein bottle in 4-d", surfaces.klein_bottle(20_000))
    report("Moebius strip in 3-d", surfaces.moebius_strip(20_000))
    if options.bunny:
        report("Stanford bunny", np.load(options.bunny)["X"].astype(float))


def rolls():
    yield "swiss roll", lambda s: ub.datasets.swiss_roll(2000, random_state=s)[0]
    yield "swiss roll with a hole", lambda s: ub.datasets.swiss_roll(2000, hole=True, random_state=s)[0]
    yield "noisy roll, sd 0.3", lambda s: ub.datasets.swiss_roll(5000, noise=0.3, random_state=s)[0]
    yield "strip", lambda s: ub.datasets.strip(2000, random_state=s)[0]
    yield "s-curve", lambda s: ub.datasets.s_curve(2000, random_state=s)[0]
    yield "hemisphere", lambda s: ub.datasets.hemisphere(2500, random_state=s)[0]


def false(options):
    print(f"\nWhat lies flat is left whole: samples of {options.samples} in which nothing was cut\n")
    head("data", "PSA", "GP")
    for name, make in rolls():
        whole = []
        for estimator in (PSA, ub.GreedyProcrustes):
            more = {} if estimator is PSA else {"random_state": 0}
            fits = (fit(make(seed), estimator=estimator, **more)[0] for seed in range(options.samples))
            whole.append(sum(len(model.cut_pairs_) == 0 for model in fits))
        row(name, *whole)


def noise(_):
    print("\nNoise: the torus, n = 20,000\n")
    head(*COLUMNS)
    for make in (surfaces.flat_torus, surfaces.torus):
        clean = report(f"{make.__name__}, clean", make(20_000))
        noisy = report(f"{make.__name__}, noise 0.05", make(20_000, noise=0.05))
        ratio = noisy.faithfulness_.cut_share / clean.faithfulness_.cut_share
        print(f"\n{make.__name__}: the cut share is {ratio:.2f} times the clean one's\n", flush=True)


EXPECTED = {
    "disc": (surfaces.disc, "a disc", 1.0, (0, 0)),
    "annulus": (surfaces.annulus, "a cylinder or a ring", 0.4, (1, 0)),
    "cylinder": (surfaces.cylinder, "a cylinder or a ring", 1.0, (1, 0)),
    "moebius": (surfaces.moebius_strip, "a Moebius strip", 0.4, (1, 0)),
    "torus": (surfaces.torus, "a torus", 1.0, (2, 1)),
    "klein": (surfaces.klein_bottle, "a Klein bottle", 1.0, (2, 1)),
    "sphere": (surfaces.sphere, "a sphere", 1.0, (0, 1)),
}
"""For each surface its maker, its name, its smallest radius, its loops and voids."""


def samples(count, seed):
    """Yield surfaces in turn: a name, points, how many, with what noise."""
    rng = np.random.default_rng(seed)
    for sample in range(count):
        name = list(EXPECTED)[sample % len(EXPECTED)]
        make, _, radius, _ = EXPECTED[name]
        n, sd = int(rng.integers(3_000, 20_001)), float(rng.uniform(0, 0.1 * radius))
        yield name, make(n, sample, sd), n, sd


def count_right(judged):
    """Print how often each surface was told, from (name, whether it was, what was said)."""
    right, tried, wrong = dict.fromkeys(EXPECTED, 0), dict.fromkeys(EXPECTED, 0), []
    for name, is_right, *said in judged:
        tried[name] += 1
        right[name] += is_right
        if not is_right:
            wrong.append((name, *said))
    head("surface", "right", "of")
    for name in EXPECTED:
        row(name, right[name], tried[name])
    row("together", sum(right.values()), sum(tried.values()))
    print("\nWrong ones: surface, n, noise, what was said\n")
    for miss in wrong:
        print(*miss)


def names(options):
    print(
        f"\nNames: right of {options.names} samples, n = 3,000 to 20,000, noise up to a tenth of a radius\n"
    )
    fitted = ((name, n, sd, fit(x)[0]) for name, x, n, sd in samples(options.names, 0))
    count_right(
        (name, model.surface_.endswith(f"looks like {EXPECTED[name][1]}"), n, f"{sd:.3f}", model.surface_)
        for name, n, sd, model in fitted
    )


def shapes(options):
    print(f"\nLoops and voids: right of {options.shapes} samples of the same kind\n")
    found = (
        (name, n, sd, _core.Problem(_core.Points(x), ub.neighborhoods(x, K).core, 2, "R_N", 0).shape())
        for name, x, n, sd in samples(options.shapes, 9)
    )
    count_right((name, told == EXPECTED[name][3], n, f"{sd:.3f}", told) for name, n, sd, told in found)


def time_(options):
    print("\nTime of a fit that cuts, over that of PSA with cut=False in the same run\n")
    head("surface", "n", "cut, s", "whole, s", "ratio", "least and most")
    for make in (surfaces.flat_klein_bottle, surfaces.flat_torus, surfaces.klein_bottle):
        x, cut, whole = make(100_000), [], []
        for _ in range(options.rounds):
            whole.append(fit(x, False)[1])
            cut.append(fit(x)[1])
        ratios = sorted(c / w for c, w in zip(cut, whole, strict=True))
        best = min(cut) / min(whole)
        row(
            make.__name__,
            len(x),
            f"{min(cut):.1f}",
            f"{min(whole):.1f}",
            f"{best:.2f}",
            f"{ratios[0]:.2f} to {ratios[-1]:.2f}",
        )


def large(_):
    print("\nA million points\n")
    head(*COLUMNS)
    report("flat_klein_bottle", surfaces.flat_klein_bottle(1_000_000))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"\nmost memory of the process, data included: {peak:.2f} GB")


def dimensions(options):
    print("\nCurves and bodies\n")
    head(*COLUMNS)
    report("circle", surfaces.circle(2_000), n_components=1)
    report("3-torus", surfaces.flat_torus(20_000, d=3), n_components=3)
    if options.coil:
        coil(np.load(options.coil))


def coil(data):
    """Say how many objects, each photographed on a turntable, are laid along a line that was a circle."""
    objects = np.unique(data["labels"])
    models = [fit_ring(data["X"][data["labels"] == label].astype(float)) for label in objects]
    closed = sum(model.surface_ == "closed: looks like a circle" for model in models)
    cut = sum(len(model.cut_pairs_) > 0 for model in models)
    print(f"\nof {len(objects)} objects on a turntable {closed} are called a circle, {cut} are cut")


def fit_ring(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PSA(n_components=1, n_neighbors=4).fit(x)


PARTS = {
    "flat": flat,
    "curved": curved,
    "false": false,
    "noise": noise,
    "names": names,
    "shapes": shapes,
    "time": time_,
    "large": large,
    "dimensions": dimensions,
}
QUICK = ("flat", "curved", "false", "noise", "dimensions")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[], help="which; all quick ones")
    parser.add_argument("--bunny", metavar="FILE", help="an .npz with an array X")
    parser.add_argument("--coil", metavar="FILE", help="an .npz with arrays X and labels")
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--names", type=int, default=200)
    parser.add_argument("--shapes", type=int, default=1050)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for part in options.parts or QUICK:
        PARTS[part](options)


if __name__ == "__main__":
    main()
