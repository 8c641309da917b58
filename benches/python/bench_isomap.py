"""Isomap compared with scikit-learn's: wall time and peak memory above the input, each in a process of its own.

    python benches/python/bench_isomap.py               # --quick: small data, seconds
    python benches/python/bench_isomap.py --large       # also a million points from landmarks

A 3-D swiss roll, 12 neighbors. Both run in turn, round after round; the disparity is that between the two
embeddings after Procrustes analysis.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import unbend as ub
from timing import machine, peak_memory, row, spread, use_threads

K = 12


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small data: does everything run?")
    parser.add_argument("--large", action="store_true", help="also 1,000,000 points: minutes")
    parser.add_argument("--child", nargs=3, metavar=("KIND", "N", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(*measure(*options.child))
        return
    use_threads(options.threads)
    print(machine(options.threads, ("unbend", "numpy", "scipy", "scikit-learn")))
    beside((500, 1_000) if options.quick else (2_000, 10_000), options.repeats)
    sizes = (2_000,) if options.quick else (10_000, 100_000)
    landmarks(sizes + ((1_000_000,) if options.large else ()))


def beside(sizes, repeats):
    print(f"### All distances, k = {K}\n")
    row(
        "n",
        "ours, s",
        "scikit-learn, s",
        "ours / theirs",
        "in one round",
        "ours, MB",
        "theirs, MB",
        "disparity",
    )
    row(*["--:"] * 4, "---", *["--:"] * 3)
    for n in sizes:
        rounds = {"unbend": [], "scikit-learn": []}
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(repeats):
                for kind, found in rounds.items():
                    found.append(run(kind, n, Path(folder, f"{kind}.npy")))
            disparity = compared(*(np.load(Path(folder, f"{kind}.npy")) for kind in rounds))
        (ours, our_peaks), (theirs, their_peaks) = (np.array(found).T for found in rounds.values())
        times = (f"{ours.min():.2f}", f"{theirs.min():.2f}", *spread(ours, theirs).split(" | "))
        row(n, *times, f"{our_peaks.max():.0f}", f"{their_peaks.max():.0f}", f"{disparity:.1e}")
    print()


def compared(ours, theirs):
    from scipy.spatial import procrustes

    return procrustes(theirs, ours)[2]


def landmarks(sizes):
    print(f'### From landmarks (n_landmarks = "auto"), k = {K}\n')
    row("n", "s", "MB", "disparity to the truth")
    row(*["--:"] * 4)
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder:
            seconds, peak = run("landmarks", n, Path(folder, "y.npy"))
            disparity = compared(np.load(Path(folder, "y.npy")), ub.datasets.swiss_roll(n, random_state=0)[1])
        row(n, f"{seconds:.1f}", f"{peak:.0f}", f"{disparity:.1e}")
    print()


def run(kind, n, file):
    """Seconds, and megabytes above the input, of one fit in a new process."""
    command = [sys.executable, __file__, "--child", kind, str(n), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return tuple(map(float, done.stdout.split()))


def measure(kind, n, file):
    x, _ = ub.datasets.swiss_roll(int(n), random_state=0)
    made(kind).fit(x[:200])  # what is loaded at the first fit
    model = made(kind)
    before, start = peak_memory(), time.perf_counter()
    model.fit(x)
    seconds, peak = time.perf_counter() - start, peak_memory() - before
    np.save(file, model.embedding_)
    return seconds, peak / 1e6


def made(kind):
    if kind == "scikit-learn":
        from sklearn.manifold import Isomap

        return Isomap(n_neighbors=K, n_components=2, n_jobs=-1)
    return ub.Isomap(n_neighbors=K, n_landmarks="auto" if kind == "landmarks" else None, random_state=0)


if __name__ == "__main__":
    main()
