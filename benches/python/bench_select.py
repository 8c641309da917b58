"""Does unbend.select find the right dimension and a good number of neighbours, and what does it cost?

    python benches/python/bench_select.py                    # dimension, 20 seeds; choices, 3 seeds
    python benches/python/bench_select.py --faces FILE       # also the faces in an .npz with an array X
    python benches/python/bench_select.py --cost             # seconds alone, beside one fit and the scoring;
                                                             # with --faces FILE those of a sweep of it, too

Noise is normal in every column; its deviation is a share of the neighbourhood radius, the median distance to
the 12th neighbour of the clean data. In data of more than 20 columns that would be a displacement of many
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
    found = ub.select(noisy(x, share, seed), SIZES, random_state=seed)
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
    x, _ = ub.datasets.swiss_roll(10_000, random_state=0)
    sizes = range(6, 25, 2)
    print("\nSwiss roll, 10,000 points, k = 6, 8, ..., 24, in units of one fit at k = 24\n")
    heads = ("methods", "one fit, s", "all fits", "all else", "together", "fits one by one")
    row(*heads, "d", "k", "R_N over the least", "score over the least")
    row("---", *["--:"] * 9)
    kinds = {
        "gp": ub.GreedyProcrustes(random_state=0),
        "psa": ub.ProcrustesAlignment(),
        "gp, one start, not refined": ub.GreedyProcrustes(n_init=1, refine=None, random_state=0),
    }
    for name, model in kinds.items():
        model.set_params(n_neighbors=24).fit(x)
        one = min(seconds_of(lambda model=model: model.fit(x)) for _ in range(3))
        found, whole, fits = None, np.inf, np.inf
        for _ in range(3):
            began = time.perf_counter()
            found = ub.select(x, sizes, methods={name: model}, random_state=0)
            whole = min(whole, time.perf_counter() - began)
            fits = min(fits, sum(c.seconds for c in found.candidates))
        fit = lambda k, model=model: model.set_params(n_neighbors=k).fit(x)  # noqa: E731
        alone = sum(seconds_of(lambda k=k, fit=fit: fit(k)) for k in sizes)
        ratios = [f"{found.best[of].value / least(found, of):.3f}" for of in ("r_n", "score")]
        times = [f"{s / one:.2f}" for s in (fits, whole - fits, whole, alone)]
        row(name, f"{one:.3f}", *times, found.n_components, found.n_neighbors, *ratios)


def of_images(x):
    began = time.perf_counter()
    found = ub.select(x, random_state=0)
    seconds = time.perf_counter() - began
    chosen = f"{found.method}, k = {found.n_neighbors}, d = {found.n_components}"
    print(f"\n{len(x):,} images of {x.shape[1]:,} pixels, all by default: {seconds:.1f} s; chosen: {chosen}")


def least(found, of):
    return min(c[of].value for c in found.candidates)


def seconds_of(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
