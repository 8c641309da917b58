"""Does unbend.select find the right dimension and a good number of neighbors, and what does it cost?

    python benches/python/bench_select.py                    # dimension, 20 seeds; choices, 3 seeds
    python benches/python/bench_select.py --faces FILE       # also the faces in an .npz with an array X
    python benches/python/bench_select.py --cost             # seconds alone, beside one fit and the scoring;
                                                             # with --faces FILE those of a sweep of it, too

Noise is normal in every column; its deviation is a share of the neighborhood radius, the median distance to
the 12th neighbor of the clean data. In data of more than 20 columns that would be a displacement of many
radii, and the share is of the whole displacement instead. Disparity is that of scipy.spatial.procrustes to
the true coordinates.
"""

import argparse
import time

import numpy as np
import unbend as ub
from scipy.spatial import procrustes
from timing import machine, row, use_threads

SHARES = (0.0, 0.25, 0.5)
SURFACES = ("swiss_roll", "s_curve", "hemisphere")
SIZES = range(6, 25, 3)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--n", type=int, default=4000)
    parser.add_argument("--seeds", type=int, default=20, help="for the dimension")
    parser.add_argument("--choices", type=int, default=3, help="seeds for the choice of k")
    parser.add_argument("--faces", metavar="FILE", help="an .npz whose X are images, of three dimensions")
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    use_threads(options.threads)
    print(machine(options.threads, ("unbend", "numpy", "scipy")))
    if options.cost:
        cost()
        if options.faces:
            of_images(np.load(options.faces)["X"].astype(float))
        return
    dimensions(options)
    choices(options)


def radius(x):
    return float(np.median(ub.neighborhoods(x, 12).distances.reshape(len(x), -1)[:, -1]))


def noisy(x, share, seed):
    deviation = share * radius(x) / (np.sqrt(x.shape[1]) if x.shape[1] > 20 else 1)
    return x + deviation * np.random.default_rng(seed + 1000).normal(size=x.shape)


def flat(n, seed):
    """A ten-dimensional cube, turned at random in 20 dimensions."""
    rng = np.random.default_rng(seed)
    directions, _ = np.linalg.qr(rng.normal(size=(20, 10)))
    return rng.random((n, 10)) @ directions.T


# The dimension ---------------------------------------------------------------------------------------------


def dimensions(options):
    print(f"\nDimension found, {options.seeds} seeds, {options.n} points\n")
    row("data", "d", "noise / radius", "right", "gap, least", "two nearest, mean")
    row("---", "--:", "--:", "--:", "--:", "--:")
    for name, d, make in population(options):
        for share in SHARES:
            found = [
                ub.dimension(noisy(make(seed), share, seed), random_state=seed)
                for seed in range(options.seeds)
            ]
            right = sum(one.value == d for one in found)
            least, two = min(one.gap for one in found), np.mean([one.two_nn for one in found])
            row(name, d, share, f"{right} of {len(found)}", f"{least:.3g}", f"{two:.2f}")


def population(options):
    """Yield data: their name, dimension, and how to make them from a seed."""
    for name in SURFACES:
        yield name, 2, lambda seed, name=name: getattr(ub.datasets, name)(options.n, random_state=seed)[0]
    yield "flat, in 20 columns", 10, lambda seed: flat(options.n, seed)
    if options.faces:
        faces = np.load(options.faces)["X"].astype(float)
        yield "faces", 3, lambda seed: faces


# The choice ------------------------------------------------------------------------------------------------


def choices(options):
    print(
        f"\nWhat is chosen of k = {SIZES[0]}, {SIZES[1]}, ..., {SIZES[-1]}, gp and psa, {options.n} points\n"
    )
    heads = ("data", "noise / radius", "seed", "chosen", "disparity", "best by disparity", "its disparity")
    row(*heads, "disparity, ratio", "score, ratio", "worst disparity")
    row("---", *["--:"] * 9)
    for name in ("swiss_roll", "s_curve"):
        for share in SHARES:
            for seed in range(options.choices):
                one_choice(name, options.n, share, seed)


def one_choice(name, n, share, seed):
    x, coordinates = getattr(ub.datasets, name)(n, random_state=seed)
    found = ub.select(noisy(x, share, seed), SIZES, exhaustive=True, random_state=seed)
    away = {c.key: procrustes(coordinates, c.embedding)[2] for c in found.candidates if c.n_components == 2}
    best, mine = min(away, key=away.get), found.best.key
    scores = {c.key: c["score"].value for c in found.candidates}
    told = [f"{method} {k}" for method, k, _ in (mine, best)]
    ratios = [f"{away[mine] / away[best]:.2f}", f"{scores[mine] / scores[best]:.3f}"]
    numbers = [f"{away[key]:.2g}" for key in (mine, best)]
    line = [name, share, seed, told[0], numbers[0], told[1], numbers[1], *ratios, f"{max(away.values()):.2g}"]
    row(*line)


# The cost --------------------------------------------------------------------------------------------------


def cost():
    clean, _ = ub.datasets.swiss_roll(10_000, random_state=0)
    data = {"clean": clean, "noise, 0.5": noisy(clean, 0.5, 0)}
    gp, psa = ub.GreedyProcrustes(random_state=0), ub.ProcrustesAlignment()
    print("\nSwiss roll, 10,000 points, k = 6, 7, ..., 24, in units of one fit at k = 24 by each method\n")
    heads = ("data", "methods", "one fit, s", "made", "embeddings", "search", "dimension", "graphs", "scores")
    row(*heads, "all but scores", "all made", "d", "k", "R_N over the least", "score over the least")
    row("---", "---", *["--:"] * 13)
    for name, x in data.items():
        for models in ({"gp": gp}, {"psa": psa}, {"gp": gp, "psa": psa}):
            row(name, ", ".join(models), *cost_of(x, models))


def cost_of(x, models):
    """What one selection costs, and what it is like beside the best of all."""
    sizes = range(6, 25)
    one = sum(least_of(3, lambda m=m: m.set_params(n_neighbors=24).fit(x)) for m in models.values())
    runs = [timed(lambda: ub.select(x, sizes, methods=models, random_state=0)) for _ in range(5)]
    whole, found = min(runs, key=lambda run: run[0])
    parts = [found.timings[part] for part in ("embeddings", "neighbors", "dimension", "graphs", "measures")]
    seconds, every = timed(lambda: ub.select(x, sizes, methods=models, exhaustive=True, random_state=0))
    assert found.best.key == every.best.key
    made = f"{len(found.candidates)} of {len(every.candidates)}"
    times = [f"{s / one:.2f}" for s in (*parts, whole - parts[-1], seconds)]
    ratios = [f"{found.best[of].value / least(every, of):.3f}" for of in ("r_n", "score")]
    return f"{one:.3f}", made, *times, found.n_components, found.n_neighbors, *ratios


def of_images(x):
    seconds, found = timed(lambda: ub.select(x, random_state=0))
    chosen = f"{found.method}, k = {found.n_neighbors}, d = {found.n_components}"
    print(f"\n{len(x):,} images of {x.shape[1]:,} pixels, all by default: {seconds:.1f} s; chosen: {chosen}")


def least(found, of):
    return min(c[of].value for c in found.candidates)


def timed(work):
    began = time.perf_counter()
    found = work()
    return time.perf_counter() - began, found


def least_of(times, work):
    return min(timed(work)[0] for _ in range(times))


if __name__ == "__main__":
    main()
