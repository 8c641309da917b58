"""Shortest paths compared with scipy's, and what the measures of distances cost with their defaults.

    python benches/python/bench_geodesic.py             # --quick: small data, seconds

A 3-D swiss roll and its true coordinates, 12 neighbors. scipy's Dijkstra runs on one thread, so it is
compared on one; what has to be done with the distances is part of our time, not of scipy's.
"""

import argparse

import numpy as np
import scipy.sparse as sp
import scipy.sparse.csgraph
import unbend as ub
from timing import interleaved, machine, row, spread, use_threads

K = 12


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="small data: does everything run?")
    parser.add_argument("--large", action="store_true", help="also 1,000,000 points: a minute a round")
    options = parser.parse_args()
    use_threads(options.threads)
    print(machine(options.threads, ("unbend", "numpy", "scipy")))
    paths(*((2_000, 20) if options.quick else (20_000, 100)), options.repeats)
    sizes = (1_000, 2_000) if options.quick else (20_000, 100_000)
    costs(sizes + ((1_000_000,) if options.large else ()), options)


def paths(n, n_sources, repeats):
    print(f"### Shortest paths from {n_sources} of {n} points, k = {K}, one thread\n")
    x, y = ub.datasets.swiss_roll(n, random_state=0)
    nb = ub.neighborhoods(x, K)
    sources = np.sort(np.random.default_rng(0).choice(n, n_sources, replace=False))
    graph = sp.csr_array(undirected(x, nb))
    works = {
        "ours": lambda: ub.metrics.geodesic(
            x, y, neighborhoods=nb, n_sources=n_sources, random_state=0, n_jobs=1
        ),
        "scipy": lambda: scipy.sparse.csgraph.dijkstra(graph, indices=sources),
    }
    seconds = interleaved(works, repeats)
    row("geodesic(), s", "scipy dijkstra, s", "ours / scipy", "in one round")
    row("--:", "--:", "--:", "---")
    ours, theirs = seconds["ours"], seconds["scipy"]
    row(f"{ours.min():.3f}", f"{theirs.min():.3f}", spread(ours, theirs))
    print()


def undirected(x, nb):
    """Every edge in both directions, so that scipy needs no second look."""
    rows, columns = np.repeat(np.arange(len(nb)), nb.sizes), nb.indices.astype(np.int32)
    lengths = np.linalg.norm(x[rows] - x[columns], axis=1)
    directed = sp.csr_array((lengths, (rows, columns)), shape=(len(nb), len(nb)))
    return directed.maximum(directed.T)


def costs(sizes, options):
    print(f"### One call with its defaults, k = {K}, {options.threads} threads\n")
    row("n", "neighbors, s", "geodesic, s", "shepard, s", "nieqa_global, s")
    row("--:", "--:", "--:", "--:", "--:")
    for n in sizes:
        x, y = ub.datasets.swiss_roll(n, random_state=0)
        nb, threads = ub.neighborhoods(x, K), {"n_jobs": options.threads}
        seeded = threads | {"random_state": 0}
        works = {
            "search": lambda x=x, t=threads: ub.neighborhoods(x, K, **t),
            "geodesic": lambda x=x, y=y, nb=nb, s=seeded: ub.metrics.geodesic(x, y, neighborhoods=nb, **s),
            "shepard": lambda x=x, y=y, s=seeded: ub.metrics.shepard(x, y, **s),
            "global": lambda x=x, y=y, s=seeded: ub.metrics.nieqa_global(x, y, **s),
        }
        seconds = interleaved(works, 1 if n > 100_000 else min(options.repeats, 2))
        row(n, *(f"{seconds[name].min():.2f}" for name in works))
    print()


if __name__ == "__main__":
    main()
