"""Does unbend.select find the right dimension and a good number of neighbors, and what does it cost?

    python benches/python/bench_select.py                        # difficult data, rolls and the globe
    python benches/python/bench_select.py --real FOLDER          # also real sets and faces, from .npz files
    python benches/python/bench_select.py --cases globe          # some of the data, by name; also with --real
    python benches/python/bench_select.py --dimension            # how often the dimension is found, under noise
    python benches/python/bench_select.py --cost                 # 25,000 x 13, and a sweep of a clean roll

Disparity is that of scipy.spatial.procrustes to the true coordinates; where the truth has fewer or more
dimensions, columns of zeros are added. "Best" is the least disparity of all numbers of neighbors and methods, in
the true dimension, on the points of the sweep; disparities below 0.0001 count as this much in the ratio, because
such embeddings cannot be told apart by eye. The default is ProcrustesAlignment(d) on the same points. The Frey
faces have no known truth: their measure is R_C to the nearest 8 neighbors.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import unbend as ub
from difficult import CASES
from difficult_real import REAL, read_real
from scipy.spatial import procrustes
from timing import machine, row, use_threads

SEED = 40
LEAST = 1e-4
SHARES = (0.0, 0.25, 0.5)
SURFACES = ("swiss_roll", "s_curve", "hemisphere")
HEADS = ("data", "n", "d", "chosen", "guess", "trusted", "disparity", "default", "best", "ratio", "s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--real", metavar="FOLDER", type=Path, help="a folder with .npz files")
    parser.add_argument(
        "--cases", metavar="NAME", nargs="*", help="of the difficult data; none for none of them"
    )
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--dimension", action="store_true")
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    use_threads(options.threads)
    print(machine(options.threads, ("unbend", "numpy", "scipy")))
    warnings.simplefilter("ignore")
    if options.cost:
        cost()
    elif options.dimension:
        dimensions()
    else:
        choices(options)


# The choice ------------------------------------------------------------------------------------------------


def choices(options):
    print()
    row(*HEADS)
    row("---", *["--:"] * (len(HEADS) - 1))
    ratios = [ratio for name, data in population(options) if (ratio := one_choice(name, data)) is not None]
    within = sum(ratio <= 1.2 for ratio in ratios)
    print(
        f"\nWithin 1.2 times the best: {within} of {len(ratios)}; within 1.1: {sum(r <= 1.1 for r in ratios)}"
    )


def population(options):
    """Yield names and data: X, the truth or None, and the pieces or None."""
    for name, make in sources(options.real):
        if options.cases is None or name in options.cases:
            for seed in range(SEED, SEED + options.seeds):
                data = make(seed)
                if data is None:
                    print(f"| {name}: skipped, its file is not in {options.real} |")
                else:
                    yield name, data


def sources(folder):
    """Yield names of data, and how to make them from a seed."""
    for name, (case, n) in CASES.items():
        yield name, lambda seed, case=case, n=n: case(n, np.random.default_rng(seed))
    yield "roll, 1,500 points", lambda seed: (*ub.datasets.swiss_roll(1500, random_state=seed), None)
    yield "globe", lambda seed: (*ub.datasets.rotating_ball(1000, random_state=seed), None)
    if folder is not None:
        for name, source in REAL.items():
            yield name, lambda seed, source=source: with_pieces(read_real(folder, source))
        yield "faces", lambda seed: images(folder, "isomap_faces_32.npz")
        yield "Frey faces", lambda seed: images(folder, "frey_faces.npz")


def with_pieces(data):
    return None if data is None else (*data, None)


def images(folder, file):
    paths = [place / file for place in (folder, folder.resolve().parent)]
    path = next((path for path in paths if path.exists()), None)
    if path is None:
        return None
    with np.load(path) as held:
        return held["X"].astype(float), held.get("params"), None


def one_choice(name, data):
    """Print a row, and return the disparity of the choice as a ratio to the best."""
    x, truth, pieces = data
    started = time.perf_counter()
    found = ub.select(x, random_state=0)
    seconds = time.perf_counter() - started
    points = slice(None) if found.rows is None else found.rows
    x, pieces = x[points], None if pieces is None else pieces[points]
    d = found.n_components if truth is None else truth.shape[1]
    whole = (
        found if found.n_components == d else ub.select(x, n_components=d, random_state=0, max_points=None)
    )

    def error(embedding):
        return away(x, None if truth is None else truth[points], embedding, pieces)

    errors = {c.key: error(c.embedding) for c in whole.candidates if c.error is None and c.n_components == d}
    chosen, best = error(found.best.embedding), min(errors, key=errors.get)
    default = error(ub.ProcrustesAlignment(d).fit(x).embedding_)
    ratio = (chosen + LEAST) / (errors[best] + LEAST)
    told = f"{found.method} {found.n_neighbors}, d = {found.n_components}"
    numbers = [f"{chosen:.2g}", f"{default:.2g}", f"{errors[best]:.2g} ({best[0]} {best[1]})", f"{ratio:.2f}"]
    trusted = "yes" if found.model.verdict_.trusted else "no"
    row(
        name, f"{len(x):,}", d, told, "a guess" if found.is_guess else "", trusted, *numbers, f"{seconds:.1f}"
    )
    return ratio if found.n_components == d else None


def away(x, truth, embedding, pieces):
    """The disparity to the truth, as the mean over pieces; without a truth, R_C of 8 neighbors."""
    if truth is None:
        return ub.faithfulness(x, embedding, 8).r_c
    parts = [slice(None)] if pieces is None else [pieces == piece for piece in range(pieces.max() + 1)]
    wide = max(truth.shape[1], embedding.shape[1], 2)
    padded = [np.pad(np.asarray(y, float), ((0, 0), (0, wide - y.shape[1]))) for y in (truth, embedding)]
    return float(np.mean([procrustes(padded[0][rows], padded[1][rows])[2] for rows in parts]))


# The dimension ---------------------------------------------------------------------------------------------


def dimensions(n=4000, seeds=20):
    print(f"\nDimension found, {seeds} seeds, {n} points\n")
    row("data", "d", "noise / radius", "right", "gap, least", "two nearest, mean")
    row("---", "--:", "--:", "--:", "--:", "--:")
    makers = [(s, 2, lambda seed, s=s: getattr(ub.datasets, s)(n, random_state=seed)[0]) for s in SURFACES]
    makers.append(("flat, in 20 columns", 10, lambda seed: flat(n, seed)))
    for name, d, make in makers:
        for share in SHARES:
            found = [ub.dimension(noisy(make(seed), share, seed), random_state=seed) for seed in range(seeds)]
            right = sum(one.value == d for one in found)
            least, two = min(one.gap for one in found), np.mean([one.two_nn for one in found])
            row(name, d, share, f"{right} of {len(found)}", f"{least:.3g}", f"{two:.2f}")


def radius(x):
    return float(np.median(ub.neighborhoods(x, 12).distances.reshape(len(x), -1)[:, -1]))


def noisy(x, share, seed):
    """Normal noise in every column; its deviation is a share of the median distance to the 12th neighbor."""
    return x + share * radius(x) * np.random.default_rng(seed + 1000).normal(size=x.shape)


def flat(n, seed):
    """A ten-dimensional cube, turned at random in 20 dimensions."""
    rng = np.random.default_rng(seed)
    directions, _ = np.linalg.qr(rng.normal(size=(20, 10)))
    return rng.random((n, 10)) @ directions.T


# The cost --------------------------------------------------------------------------------------------------


def cost():
    print()
    row(
        "data",
        "chosen",
        "made",
        "neighbors",
        "dimension",
        "graphs",
        "embeddings",
        "measures",
        "all points",
        "whole, s",
    )
    row("---", *["--:"] * 9)
    parts = ("neighbors", "dimension", "graphs", "embeddings", "measures", "all points")
    data = {
        "roll, 1,500 x 3": ub.datasets.swiss_roll(1500, random_state=0)[0],
        "roll, 10,000 x 3": ub.datasets.swiss_roll(10_000, random_state=0)[0],
        "sheet and cloud, 25,000 x 13": sheet_and_cloud(25_000, np.random.default_rng(SEED)),
    }
    for name, x in data.items():
        started = time.perf_counter()
        found = ub.select(x, random_state=0)
        whole = time.perf_counter() - started
        seconds = [f"{found.timings.get(part, 0.0):.1f}" for part in parts]
        chosen = f"{found.method} {found.n_neighbors}, d = {found.n_components}"
        row(name, chosen, len(found.candidates), *seconds, f"{whole:.1f}")


def sheet_and_cloud(n, rng):
    """A noisy four-dimensional sheet, and a cloud as wide as the space, in 13 columns."""
    u = rng.random((4 * n // 5, 4))
    sheet = np.hstack([u, np.sin(3 * u), np.cos(3 * u), np.zeros((len(u), 1))])
    cloud = rng.normal(size=(n - len(u), 13)) * np.linspace(1, 0.2, 13) + 2
    return np.vstack([sheet + 0.05 * rng.normal(size=sheet.shape), cloud])


if __name__ == "__main__":
    main()
