"""Embedding in cells compared with embedding at once: time, memory, error; every run in processes of its own.

python benches/python/bench_partition.py                      # 1,000,000 points, on two Dask workers
python benches/python/bench_partition.py --noise 0.3
python benches/python/bench_partition.py --large 20_000_000   # a file, by the command, with --max-memory 3G
python benches/python/bench_partition.py --large 100_000_000 --max-memory 4G --kill-after 500   # and run again
python benches/python/bench_partition.py --real FILE.npz --points-per-cell 60000
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from timing import machine, peak_memory, row

MEGABYTE = 1e6
QUANTILES = (0.5, 0.9, 0.99)
ROWS = 1_000_000  # of a file that are made or compared at a time


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--points-per-cell", type=int, default=62_500)
    parser.add_argument("--noise", type=float, default=0.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--large", type=int, help="number of points to embed by the command")
    parser.add_argument("--max-memory", default="3G")
    parser.add_argument("--kill-after", type=float, help="seconds after which a first run is killed")
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--method", default="psa")
    parser.add_argument("--real", help="an .npz with an array X")
    parser.add_argument("--folder", help="where files go; what was finished there is used")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return CHILDREN[options.child[0]](options, *options.child[1:])
    print(machine(options.workers, ["unbend", "numpy", "scipy", "dask", "distributed"]))
    with tempfile.TemporaryDirectory() as folder:
        where = Path(options.folder or folder)
        where.mkdir(parents=True, exist_ok=True)
        if options.large:
            large(options, where)
        elif options.real:
            real(options)
        else:
            side_by_side(options, where)


def called(options, *child):
    """Run one part in a process of its own; return what it prints."""
    given = [a for a in sys.argv[1:]]
    command = [sys.executable, __file__, *given, "--child", *map(str, child)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


# A roll, at once and on workers ----------------------------------------------------------------------------


def side_by_side(options, folder):
    called(options, "make", folder, options.n, options.noise)
    print(
        f"{options.n:,} points of a swiss roll, noise {options.noise:g}, "
        f"{options.workers} threads or workers:\n"
    )
    row("", "seconds", "peak of a process, MB", "R_N / bound", "disparity")
    row("---", "--:", "--:", "--:", "--:")
    whole, cells = called(options, "whole", folder), called(options, "cells", folder)
    for name, found in (("at once", whole), (f"{cells['cells']} cells, Dask", cells)):
        numbers = f"{found['seconds']:.1f}", f"{found['peak'] / MEGABYTE:.0f}"
        row(name, *numbers, f"{found['ratio']:.5f}", f"{found['disparity']:.3g}")
    seconds, peak = cells["seconds"] / whole["seconds"], cells["peak"] / whole["peak"]
    row("ratio", f"{seconds:.2f}", f"{peak:.2f}", "", f"{cells['disparity'] / whole['disparity']:.3f}")
    print(
        f"\nThe driver: {cells['driver'] / MEGABYTE:.0f} MB. "
        f"Neighborhoods surely whole: {cells['proved']:.4%}."
    )
    print(f"Seconds of the stages: {cells['stages']}\n")
    print("R_N of neighborhoods above their bound, quantiles:\n")
    row("", *(f"{q:.0%}" for q in QUANTILES))
    row("---", *["--:"] * len(QUANTILES))
    for name in ("border", "inside"):
        row(f"{name}, {cells[name][0]:,} points", *(f"{value:.3g}" for value in cells[name][1]))


def make(options, folder, n, noise):
    import unbend as ub

    n = int(n)
    x = np.lib.format.open_memmap(Path(folder, "x.npy"), "w+", np.float64, (n, 3))
    truth = np.lib.format.open_memmap(Path(folder, "truth.npy"), "w+", np.float64, (n, 2))
    for block, part in enumerate(blocks(n)):
        rows = part.stop - part.start
        x[part], truth[part] = ub.datasets.swiss_roll(rows, noise=float(noise), random_state=block)
    print("{}")


def blocks(n):
    return [slice(i, min(i + ROWS, n)) for i in range(0, n, ROWS)]


def whole(options, folder):
    import unbend as ub

    x = np.load(Path(folder, "x.npy"), mmap_mode="r")
    start = time.perf_counter()
    psa = ub.ProcrustesAlignment(cut=False, n_jobs=options.workers).fit(x)
    seconds, peak = time.perf_counter() - start, peak_memory()
    m = psa.faithfulness_
    told = {"seconds": seconds, "peak": peak, "ratio": m.r_n / m.lower_bound}
    print(json.dumps(told | {"disparity": disparity(folder, psa.embedding_)}))


def cells(options, folder):
    import unbend.dask
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        client.run(_imported)  # as a cluster that is at work
        start = time.perf_counter()
        found = unbend.dask.embed(
            str(Path(folder, "x.npy")),
            Path(folder, "work"),
            points_per_cell=options.points_per_cell,
            return_partition=True,
        )
        seconds, driver = time.perf_counter() - start, peak_memory()
        peaks = client.run(_peak)
    y, m = np.load(Path(folder, "work", "embedding.npy")), found.faithfulness
    told = {
        "seconds": seconds,
        "peak": max(peaks.values()),
        "driver": driver,
        "cells": len(found.cell_sizes),
        "ratio": m.r_n / m.lower_bound,
        "disparity": disparity(folder, y),
        "proved": m.n_proved / m.n_measured,
        "stages": {name: round(taken, 2) for name, taken in found.timings.items()},
    }
    print(json.dumps(told | along_borders(options, folder, y)))


def _imported():
    import unbend.estimators.procrustes  # noqa: F401


def _peak():
    with open("/proc/self/status") as file:
        (line,) = [line for line in file if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def along_borders(options, folder, y):
    """R_N above the bound, of points that more than one cell held and of all others."""
    import unbend as ub
    from unbend.core.progress import Progress
    from unbend.partition.run import Serial
    from unbend.partition.sources import source_of
    from unbend.partition.task import Task

    x = np.load(Path(folder, "x.npy"))
    task = Task.embedding(source_of(x), SETTINGS, options.points_per_cell)
    plan = task.begun(Path(tempfile.mkdtemp(dir=folder)), Serial(), Progress(), "warn").job.plan()
    m = ub.faithfulness(x, y)
    above = np.maximum(m.per_point["r_n"] - m.per_point["bound"], 0.0)
    border = plan.assign(x).second <= plan.width
    return {
        name: (int(which.sum()), np.quantile(above[which], QUANTILES).tolist())
        for name, which in (("border", border), ("inside", ~border))
    }


SETTINGS = {
    "n_components": 2,
    "n_neighbors": 12,
    "method": "psa",
    "tangent_neighbors": None,
    "refine": "auto",
    "objective": "R_N",
    "passes": 10,
    "parameters": None,
}


def disparity(folder, y):
    """Return what `scipy.spatial.procrustes` calls so, block by block: of files larger than memory too."""
    truth, parts = np.load(Path(folder, "truth.npy"), mmap_mode="r"), blocks(len(y))
    means = [sum(a[part].sum(axis=0) for part in parts) / len(y) for a in (truth, y)]
    squares, product = [0.0, 0.0], np.zeros((y.shape[1], y.shape[1]))
    for part in parts:
        a, b = truth[part] - means[0], y[part] - means[1]
        squares[0] += float((a * a).sum())
        squares[1] += float((b * b).sum())
        product += b.T @ a
    u, stretch, v = np.linalg.svd(product)
    turn = u @ v * (stretch.sum() / squares[1])
    left = sum(float((((truth[p] - means[0]) - (y[p] - means[1]) @ turn) ** 2).sum()) for p in parts)
    return left / squares[0]


# By the command ---------------------------------------------------------------------------------------------


def large(options, folder):
    if not Path(folder, "x.npy").exists():
        called(options, "make", folder, options.large, options.noise)
    found = called(options, "command", folder)
    print(
        f"{options.large:,} points, unbend embed --method {options.method} "
        f"--max-memory {options.max_memory}:\n"
    )
    row(
        "cells",
        "seconds",
        "planned, MB",
        "peak, MB",
        "R_N / bound",
        "neighborhoods surely whole",
        "disparity",
    )
    row(*["--:"] * 7)
    row(
        found["n_cells"],
        f"{found['wall']:.0f}",
        f"{found['memory'] / MEGABYTE:.0f}",
        f"{found['peak'] / MEGABYTE:.0f}",
        f"{found['r_n'] / found['lower_bound']:.5f}",
        f"{found['n_proved'] / found['n_measured']:.4%}",
        f"{called(options, 'distance', folder)['disparity']:.3g}",
    )
    print(f"\nSeconds of the stages: { {name: round(taken, 1) for name, taken in found['seconds'].items()} }")


def command(options, folder):
    """The peak of the only child of this process, which is small itself."""
    data, out = Path(folder, "x.npy"), Path(folder, "y.npy")
    arguments = ["embed", data, "-o", out, "--method", options.method, "--max-memory", options.max_memory]
    run = [Path(sys.executable).with_name("unbend"), *arguments, "--jobs", options.jobs, "--json", "--force"]
    run, start = [str(part) for part in run], time.perf_counter()
    if options.kill_after:
        killed(run, options.kill_after)
    done = subprocess.run(run, check=True, stdout=subprocess.PIPE, text=True)
    told = {"wall": time.perf_counter() - start}
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    print(json.dumps(json.loads(done.stdout) | told | {"peak": peak}))


def killed(run, seconds):
    """Begin a run, and end it at once (kill -9) after some seconds."""
    try:
        subprocess.run(run, timeout=seconds, stdout=subprocess.PIPE, check=True)
    except subprocess.TimeoutExpired:
        print(f"killed after {seconds:.0f} seconds, run again", file=sys.stderr)
    else:
        raise SystemExit(f"the run ended before {seconds:.0f} seconds: nothing was killed")


def distance(options, folder):
    print(json.dumps({"disparity": disparity(folder, np.load(Path(folder, "y.npy"), mmap_mode="r"))}))


# Real data -------------------------------------------------------------------------------------------------


def real(options):
    if not os.path.exists(options.real):
        return print(f"{options.real} is not there: nothing is measured")
    print(f"{Path(options.real).name}, to 2 dimensions, nothing cut:\n")
    row("", "seconds", "R_N", "R_C", "bound", "neighborhoods surely whole")
    row("---", *["--:"] * 5)
    for name in ("real_whole", "real_cells"):
        found = called(options, name)
        row(
            found["name"],
            f"{found['seconds']:.0f}",
            *(f"{found[key]:.4f}" for key in ("r_n", "r_c", "bound")),
            f"{found['proved']:.4%}",
        )


def real_data(options):
    x = np.load(options.real)["X"]
    return x.astype(np.float32 if x.dtype.itemsize == 1 else np.float64)


def real_whole(options):
    import unbend as ub

    x = real_data(options)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m = ub.ProcrustesAlignment(cut=False).fit(x).faithfulness_
    tell("at once", time.perf_counter() - start, m, 1.0)


def real_cells(options):
    from unbend import partition

    x = real_data(options)
    start = time.perf_counter()
    found = partition.embed(x, points_per_cell=options.points_per_cell)
    m = found.faithfulness
    tell(f"{len(found.cell_sizes)} cells", time.perf_counter() - start, m, m.n_proved / m.n_measured)


def tell(name, seconds, m, proved):
    told = {"name": name, "seconds": seconds, "r_n": m.r_n, "r_c": m.r_c, "bound": m.lower_bound}
    print(json.dumps(told | {"proved": proved}))


CHILDREN = {
    child.__name__: child for child in (make, whole, cells, command, distance, real_whole, real_cells)
}

if __name__ == "__main__":
    main()
