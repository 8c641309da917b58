"""Do 95 % intervals of distances in an embedding hold the true distances?

    python -m experiments.judging.uncertainty_coverage         # --quick: few draws, a minute

Noisy rolls and boxes are drawn again and again, each is embedded, and the intervals of random pairs of points
are compared with the distances of the points before noise moved them. Printed is the share of intervals that
hold the truth, by kind of data and all together, for pairs of all kinds and for near and far ones; the same for
the 95 % ellipses of points; the share if every point only had its own noise, as eq. 11 with known frames
predicts; and the root mean square error of a distance compared with its standard error.
"""

import argparse
import time
import warnings

import numpy as np
import unbend as ub

from benches.python.timing import machine, row, use_threads

PAIRS = 300
LOW, HIGH = 0.93, 0.97


def roll(rng, n, noise):
    x, truth = ub.datasets.swiss_roll(n, random_state=rng)
    return x + noise * rng.normal(size=x.shape), truth


def box(rng, n, noise):
    """A flat box of 3 x 2 in five dimensions."""
    truth = rng.uniform(size=(n, 2)) * [3, 2]
    x = np.column_stack([truth, np.zeros((n, 3))])
    return x + noise * rng.normal(size=x.shape), truth


def s_curve(rng, n, noise):
    x, truth = ub.datasets.s_curve(n, random_state=rng)
    return x + noise * rng.normal(size=x.shape), truth


def solid_box(rng, n, noise):
    """A solid box of 3 x 2 x 2 in six dimensions, embedded in three."""
    truth = rng.uniform(size=(n, 3)) * [3, 2, 2]
    x = np.column_stack([truth, np.zeros((n, 3))])
    return x + noise * rng.normal(size=x.shape), truth


KINDS = [
    ("roll", roll, 2000, 0.05),
    ("roll", roll, 2000, 0.2),
    ("roll", roll, 2000, 0.4),
    ("roll", roll, 1500, 0.3),
    ("box", box, 1000, 0.01),
    ("box", box, 1000, 0.03),
    ("box", box, 1500, 0.05),
    ("solid box", solid_box, 1500, 0.05),
]
"""Name, sample, number of points, and noise in each coordinate."""

BEYOND = [
    ("box, noise above the spacing", box, 1500, 0.1),
    ("roll, few points", roll, 800, 0.2),
    ("roll, no noise", roll, 2000, 0.0),
    ("S, strongly curved", s_curve, 1000, 0.03),
]
"""Data at the edge of what the intervals are for; not counted."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--draws", type=int, default=25, help="draws of each kind")
    parser.add_argument("--method", choices=("psa", "gp"), default="psa")
    parser.add_argument("--beyond", action="store_true", help="data at the edge as well")
    parser.add_argument("--quick", action="store_true", help="few draws: does everything run?")
    options = parser.parse_args()
    draws = 2 if options.quick else options.draws
    use_threads(options.threads)
    warnings.simplefilter("ignore")
    print(machine(options.threads, ("unbend", "numpy", "scipy")))
    row("data", "n", "noise", "all", "near", "far", "worst draw", "ellipses", "own noise", "error / se", "s")
    row(*["---"] * 11)
    total = [drawn(kind, draws, options) for kind in KINDS]
    shares = np.concatenate(total)
    print(f"\n{len(shares)} draws: {shares.mean():.1%} of the intervals hold the truth", end="; ")
    print("within" if LOW <= shares.mean() <= HIGH else "outside", f"{LOW:.0%} to {HIGH:.0%}")
    if options.beyond:
        print()
        for kind in BEYOND:
            drawn(kind, draws, options)


def drawn(kind, draws, options):
    """Print the coverage of one kind of data, and return it for each draw."""
    name, sample, n, noise = kind
    begun, found = time.perf_counter(), []
    for seed in range(draws):
        rng = np.random.default_rng([seed, n, int(1000 * noise)])
        x, truth = sample(rng, n, noise)
        method = ub.ProcrustesAlignment if options.method == "psa" else ub.GreedyProcrustes
        model = method(truth.shape[1], random_state=0, n_jobs=options.threads).fit(x)
        found.append(coverage(rng, ub.uncertainty(model, random_state=seed), truth))
    mean = {key: np.mean([one[key] for one in found]) for key in found[0]}
    worst = min(one["all"] for one in found)
    texts = [f"{mean[key]:.3f}" for key in ("all", "near", "far")]
    texts += [f"{worst:.3f}", *(f"{mean[key]:.3f}" for key in ("ellipses", "own noise"))]
    seconds = f"{(time.perf_counter() - begun) / draws:.1f}"
    row(name, n, noise, *texts, f"{mean['ratio']:.2f}", seconds)
    return np.array([one["all"] for one in found])


def coverage(rng, found, truth):
    """Return the shares of intervals and ellipses that hold the truth, for one embedding."""
    n = len(truth)
    i, j = rng.integers(n, size=(2, 50 * PAIRS))
    exact = np.linalg.norm(truth[i] - truth[j], axis=1)
    # Near pairs are the nearest tenth by their true distance, as many as others.
    near = exact < np.quantile(exact, 0.1)
    rows = np.concatenate([np.flatnonzero(near)[: PAIRS // 3], np.flatnonzero(~near)[: 2 * PAIRS // 3]])
    i, j, exact, near = i[rows], j[rows], exact[rows], near[rows]
    apart = i != j
    low, high = found.distance_interval(i, j)
    held = (low <= exact) & (exact <= high)
    error = np.linalg.norm(found.embedding[i] - found.embedding[j], axis=1) - exact
    own = 1.96 * np.hypot(found.noise[i], found.noise[j])
    shares = {
        "all": held[apart],
        "near": held[near & apart],
        "far": held[~near],
        "own noise": (np.abs(error) <= own)[apart],
        "ellipses": in_ellipses(found, truth),
    }
    ratio = np.sqrt((error**2).mean() / (found.distance_error(i, j) ** 2).mean())
    return {name: share.mean() for name, share in shares.items()} | {"ratio": ratio}


def in_ellipses(found, truth):
    """Return which points lie in their ellipses, once the truth is moved onto the embedding."""
    moved = ub.align([found.embedding, truth], robust=False)[1]
    gap = moved - found.embedding
    squared = np.einsum("na,na->n", gap, np.linalg.solve(found.covariance, gap[:, :, None])[:, :, 0])
    return squared <= found.ellipse_scale() ** 2


if __name__ == "__main__":
    main()
