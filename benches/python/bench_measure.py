"""What faithfulness costs once the neighbors are known, in time and memory, compared with the search for them.

    python benches/python/bench_measure.py              # --quick: small data, seconds
    python benches/python/bench_measure.py --large      # also finds the neighbors of 10,000,000 points

The embedding of a 3-D swiss roll is its true coordinates. Times are the best of several rounds in turn.
Memory is that of a process of its own: the highest resident size less what it was when the arrays had been
read.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import unbend as ub
from timing import interleaved, machine, peak_memory, row, spread, use_threads

K = 12
MEGABYTE = 1e6
LARGE = 10_000_000

IMPORT = "import time; a = time.perf_counter(); import numpy; b = time.perf_counter(); import unbend; \
c = time.perf_counter(); print(b - a, c - b)"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="small data: does everything run?")
    parser.add_argument("--large", action="store_true", help=f"also {LARGE} points: needs some GB")
    parser.add_argument("--child", nargs=3, metavar=("WORK", "FOLDER", "N"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        work, folder, n = options.child
        return child(work, Path(folder), int(n), options.threads)
    use_threads(options.threads)
    print(machine(options.threads, ("unbend", "numpy")))
    sizes = (2_000, 20_000) if options.quick else (100_000, 1_000_000)
    times(sizes, options)
    memory(sizes, options.threads)
    import_time(options.repeats)
    if options.large:
        large(options)
    return None


def times(sizes, options):
    print(f"### Time: swiss roll, 3-D to 2-D, k = {K}\n")
    row("n", "neighbors, s", "faithfulness, s", "faithfulness / neighbors", "in one round")
    row("--:", "--:", "--:", "--:", "---")
    best = []
    for n in sizes:
        x, y = ub.datasets.swiss_roll(n, random_state=0)
        nb = ub.neighborhoods(x, K)
        works = {
            "search": lambda x=x: ub.neighborhoods(x, K, n_jobs=options.threads),
            "measure": lambda x=x, y=y, nb=nb: ub.faithfulness(
                x, y, neighborhoods=nb, n_jobs=options.threads
            ),
        }
        seconds = interleaved(works, options.repeats)
        search, measure = seconds["search"], seconds["measure"]
        row(n, f"{search.min():.4f}", f"{measure.min():.4f}", spread(measure, search))
        best.append((search.min(), measure.min()))
    (search_few, measure_few), (search_many, measure_many) = best
    few, many = sizes
    print(f"\nFrom {few} to {many} points, {many / few:g} times as many:")
    print(f"neighbors {search_many / search_few:.1f} times as long, ", end="")
    print(f"faithfulness {measure_many / measure_few:.1f} times.\n")


def memory(sizes, threads):
    print("### Memory above the input\n")
    row("n", "work", "input, MB", "peak above it, MB", "of which result, MB", "peak / input")
    row("--:", "---", "--:", "--:", "--:", "--:")
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder:
            x, y = ub.datasets.swiss_roll(n, random_state=0)
            np.save(Path(folder, "x.npy"), x)
            np.save(Path(folder, "y.npy"), y)
            np.save(Path(folder, "indices.npy"), ub.neighborhoods(x, K).indices)
            for work in ("neighbors", "faithfulness"):
                given, peak, result, _ = in_child(work, folder, n, threads)
                cells = (f"{v / MEGABYTE:.1f}" for v in (given, peak, result))
                row(n, work, *cells, f"{peak / given:.2f}")
    print()


def large(options):
    """In a process of its own, timed there, because its arrays are large."""
    n = LARGE // 100 if options.quick else LARGE
    print(f"### Neighbors of {n} points, k = {K}\n")
    with tempfile.TemporaryDirectory() as folder:
        x, _ = ub.datasets.swiss_roll(n, random_state=0)
        np.save(Path(folder, "x.npy"), x)
        del x
        given, peak, result, seconds = in_child("neighbors", folder, n, options.threads)
    print(f"{seconds:.2f} s; input {given / MEGABYTE:.0f} MB, ", end="")
    print(f"peak above it {peak / MEGABYTE:.0f} MB, of which result {result / MEGABYTE:.0f} MB\n")


def in_child(work, folder, n, threads):
    """Bytes of the input, of the peak above it and of the result, and seconds."""
    command = [sys.executable, __file__, "--threads", str(threads), "--child", work, str(folder), str(n)]
    finished = subprocess.run(command, check=True, capture_output=True, text=True)
    return map(float, finished.stdout.split())


def child(work, folder, n, threads):
    """Read, remember the peak so far, work, and print what was asked of `in_child`."""
    names = {"neighbors": ("x",), "faithfulness": ("x", "y", "indices")}[work]
    arrays = [np.load(folder / f"{name}.npy") for name in names]
    nb = ub.Neighborhoods(arrays[2], n_neighbors=K) if work == "faithfulness" else None
    before, start = peak_memory(), time.perf_counter()
    if nb is None:
        found = ub.neighborhoods(arrays[0], K, n_jobs=threads)
        made = [found.indices, found.distances]
    else:
        m = ub.faithfulness(*arrays[:2], neighborhoods=nb, n_jobs=threads)
        made = [*m.per_point.values(), m.centers]
    seconds = time.perf_counter() - start
    given, result = (sum(a.nbytes for a in group) for group in (arrays, made))
    print(given, peak_memory() - before, result, seconds)


def import_time(repeats):
    print("### Import\n")
    command = [sys.executable, "-c", IMPORT]
    outputs = [subprocess.run(command, check=True, capture_output=True).stdout for _ in range(repeats)]
    of_numpy, of_unbend = 1e3 * np.array([output.split() for output in outputs], dtype=float).min(axis=0)
    print(f"`import unbend` after numpy: {of_unbend:.0f} ms; numpy itself: {of_numpy:.0f} ms\n")


if __name__ == "__main__":
    main()
