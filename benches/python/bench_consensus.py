"""How much memory and time it takes to bring maps together, and what bad correspondences do.

    python benches/python/bench_consensus.py              # --quick: small maps, does everything run?

Two maps of 47,431 and 10,178 points, as of two batches of measurements, and chains of maps of which each shares
a tenth of its points with the next. The memory of NumPy's arrays is traced; that of the process is its growth
while the maps are aligned. Then a share of the correspondences is exchanged, and the error of the placed map is
compared with classical Procrustes analysis.
"""

import argparse
import resource
import time
import tracemalloc

import numpy as np
import unbend as ub
from timing import machine, row, use_threads

MEGABYTE = 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="small maps: does everything run?")
    options = parser.parse_args()
    use_threads(options.threads)
    print(machine(options.threads, ("unbend", "numpy", "scipy")))
    shrink = 50 if options.quick else 1
    maps, points = overlapping([100, 100], 50)
    ub.align(maps, points=points)  # what is imported is not counted
    row("maps", "points", "arrays, MB", "process, MB", "s")
    row(*["---"] * 5)
    sizes = [47_431 // shrink, 10_178 // shrink]
    measured("two", *overlapping(sizes, sizes[1]))
    for count in (10, 50):
        measured(f"chain of {count}", *overlapping([20_000 // shrink] * count, 2_000 // shrink))
    print()
    row("exchanged", "error, robust", "error, classical", "found", "false")
    row(*["---"] * 5)
    for share in (0.0, 0.1, 0.2, 0.3, 0.4):
        spoiled(share, 5000 // min(shrink, 5))


def overlapping(sizes, common):
    """Return noisy maps of which each shares points with the next, and their points."""
    rng, start, maps, points = np.random.default_rng(0), 0, [], []
    truth = rng.normal(size=(sum(sizes), 2)) * [3, 1]
    for size in sizes:
        own = np.arange(start, start + size)
        noisy = truth[own] + rng.normal(scale=0.02, size=(size, 2))
        maps.append(noisy @ np.linalg.qr(rng.normal(size=(2, 2)))[0] + rng.normal(size=2))
        points.append(own)
        start += size - common
    return maps, points


def measured(name, maps, points):
    begun, before = time.perf_counter(), peak()
    found = ub.align(maps, points=points)
    seconds, grown = time.perf_counter() - begun, peak() - before
    tracemalloc.start()
    ub.align(maps, points=points)
    arrays = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    row(
        name,
        f"{len(found.points):,}",
        f"{arrays / MEGABYTE:.0f}",
        f"{grown / MEGABYTE:.0f}",
        f"{seconds:.2f}",
    )


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def spoiled(share, n):
    """Exchange a share of the rows of one map, and print how far it comes to lie from its true place."""
    rng = np.random.default_rng(1)
    truth = rng.normal(size=(n, 2)) * [3, 1]
    bad = rng.choice(n, int(share * n), replace=False)
    rows = np.arange(n)
    rows[bad] = np.roll(bad, 1)
    other = (truth[rows] + rng.normal(scale=0.02, size=truth.shape)) @ [[0.6, 0.8], [-0.8, 0.6]]
    errors = []
    for robust in (True, False):
        found = ub.align([truth, other], scale=True, robust=robust)
        errors.append(np.sqrt(((found[1] - truth[rows]) ** 2).sum(axis=1).mean()))
        if robust:
            suspect = np.isin(np.arange(n), found.suspects[1])
    wrong = np.isin(np.arange(n), bad)
    hit = f"{suspect[wrong].mean():.1%}" if len(bad) else "-"
    row(f"{share:.0%}", f"{errors[0]:.4f}", f"{errors[1]:.4f}", hit, f"{suspect[~wrong].mean():.2%}")


if __name__ == "__main__":
    main()
