"""Measures by ranks compared with those of other packages, in time and memory.

    python benches/python/bench_ranks.py              # --quick: small data, seconds

Blobs in 50 dimensions, embedded in 2 by principal components, K = 20. Times are the best of several rounds
in turn; CPU time counts all threads. Memory is that of a process of its own: the highest resident size less
what it was when the arrays had been read. A million points of a roll are looked at in a sample, compared with the
search for all neighbors.
"""

import argparse
import importlib.util
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import unbend as ub
from timing import machine, peak_memory, row, use_threads
from unbend import _core

K = 20
MEGABYTE = 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small data: does everything run?")
    parser.add_argument("--only", choices=("peers", "large", "sample"), help="one part alone")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(Path(options.child), options.threads)
    use_threads(options.threads)
    print(machine(options.threads, ("unbend", "numpy", "zadu", "scikit-learn")))
    parts = {"peers": peers, "large": large, "sample": sample}
    for name, part in parts.items():
        if options.only in (None, name):
            part(options)
    return None


def blobs(n, q=50, clusters=10, seed=0):
    """Normal clusters about random centers, and their first two principal components."""
    rng = np.random.default_rng(seed)
    centers = rng.uniform(-10, 10, size=(clusters, q))
    x = centers[rng.integers(clusters, size=n)] + rng.normal(size=(n, q))
    centered = x - x.mean(axis=0)
    _, vectors = np.linalg.eigh(centered.T @ centered)
    return x, np.ascontiguousarray(centered @ vectors[:, -2:])


def timed(works, repeats):
    """Wall and CPU seconds of the best round of every work, each in turn."""
    best = {name: [np.inf, np.inf] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            wall, cpu = time.perf_counter(), time.process_time()
            work()
            spent = time.perf_counter() - wall, time.process_time() - cpu
            best[name] = [min(pair) for pair in zip(best[name], spent, strict=True)]
    return best


def alone(x, y, jobs):
    """Trustworthiness and continuity with K neighbors, and nothing else."""
    names = ["trustworthiness", "continuity"]
    values = _core.rank_tables(x, y, K, None, None, names, jobs)[-1]
    return [values[name].mean() for name in names]


def peers(options):
    n = 1_000 if options.quick else 20_000
    x, y = blobs(n)
    jobs = options.threads
    works = {
        "unbend: T and C": lambda: alone(x, y, jobs),
        "unbend: all, every k": lambda: ub.metrics.ranks(x, y, K, n_jobs=jobs).to_dict(),
    }
    if importlib.util.find_spec("zadu"):
        from zadu.measures import trustworthiness_continuity

        works["ZADU: T and C"] = lambda: trustworthiness_continuity.measure(x, y, k=K)
    if importlib.util.find_spec("sklearn"):
        from sklearn.manifold import trustworthiness

        works["scikit-learn: T"] = lambda: trustworthiness(x, y, n_neighbors=K)
    print(f"### Time: {n} blobs, 50-D to 2-D, k = {K}\n")
    row("work", "wall, s", "CPU, s", "unbend / it, wall", "unbend / it, CPU")
    row("---", "--:", "--:", "--:", "--:")
    best = timed(works, options.repeats)
    wall, cpu = best["unbend: T and C"]
    for name, (their_wall, their_cpu) in best.items():
        row(
            name,
            f"{their_wall:.3f}",
            f"{their_cpu:.3f}",
            f"{wall / their_wall:.3f}",
            f"{cpu / their_cpu:.3f}",
        )
    print()


def large(options):
    n = 2_000 if options.quick else 100_000
    with tempfile.TemporaryDirectory() as folder:
        x, y = blobs(n)
        np.save(Path(folder, "x.npy"), x)
        np.save(Path(folder, "y.npy"), y)
        command = [sys.executable, __file__, "--child", folder, "--threads", str(options.threads)]
        found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    peak, wall, cpu, search = map(float, found)
    print(f"### Exact, in a process of its own: {n} blobs, 50-D to 2-D, k = {K}\n")
    row("peak above the input, MB", "wall, s", "CPU, s", "neighbors in X alone, wall, s")
    row("--:", "--:", "--:", "--:")
    row(f"{peak / MEGABYTE:.0f}", f"{wall:.2f}", f"{cpu:.2f}", f"{search:.2f}")
    print()


def child(folder, threads):
    x, y = np.load(folder / "x.npy"), np.load(folder / "y.npy")
    before = peak_memory()
    wall, cpu = time.perf_counter(), time.process_time()
    ub.metrics.ranks(x, y, K, n_jobs=threads)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = peak_memory() - before
    begin = time.perf_counter()
    ub.neighborhoods(x, K, n_jobs=threads)
    print(peak, wall, cpu, time.perf_counter() - begin)


def sample(options):
    n = 20_000 if options.quick else 1_000_000
    x, coordinates = ub.datasets.swiss_roll(n, random_state=0)
    embeddings = {
        "true coordinates": coordinates,
        "seen from its side": x[:, :2],
        "random": np.random.default_rng(0).normal(size=(n, 2)),
    }
    jobs = options.threads
    print(f'### n_centers="auto": {n} points of a roll, half-width 0.005, k = {K}\n')
    row("embedding", "points looked at", "T", "C", "wall, s", "neighbors of all of X, s", "ratio")
    row("---", "--:", "--:", "--:", "--:", "--:", "--:")
    for name, y in embeddings.items():
        found = {}

        def measure(y=y, found=found):
            found["m"] = ub.metrics.ranks(x, y, K, n_centers="auto", random_state=0, n_jobs=jobs)

        works = {"measure": measure, "search": lambda: ub.neighborhoods(x, K, n_jobs=jobs)}
        best = timed(works, 1 if options.quick else 2)
        (ours, _), (search, _), m = best["measure"], best["search"], found["m"]
        values = f"{m.trustworthiness[-1]:.4f}", f"{m.continuity[-1]:.4f}"
        row(name, len(m.centers), *values, f"{ours:.2f}", f"{search:.2f}", f"{ours / search:.2f}")
    print()


if __name__ == "__main__":
    main()
