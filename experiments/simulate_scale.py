"""How long cells would take on clusters that are not at hand: costs measured here, the rest computed.

    python -m experiments.simulate_scale              # the tables of docs/scale.md
    python -m experiments.simulate_scale --measure    # the costs that they start from

A stage is a list of tasks. The driver sends them one after the other; each takes its seconds of computing,
times a factor that is now and then large, and the seconds that its bytes need: no faster than its worker's
line, nor than its share of what the storage gives to all at once. A stage begins when the one before has
ended.
"""

import argparse
import heapq
import tempfile
import time
from dataclasses import dataclass, replace

import numpy as np

MILLION = 1e6


@dataclass(frozen=True)
class Costs:
    """What was measured: one thread, swiss roll, 12 neighbors, PSA, from 3 dimensions to 2.

    Seconds of computing for a million points of a cell, by stage; seconds for an overlap and for a task of
    the driver.
    """

    probe: float = 0.41
    scatter: float = 3.0
    cells: float = 20.4
    overlaps: float = 0.15
    seams: float = 4.5
    faithfulness: float = 1.8
    output: float = 0.48
    overlap: float = 6.4e-5
    dispatch: float = 2.1e-3
    halo: float = 1.16
    worker_base: float = 250e6
    driver_base: float = 250e6


@dataclass(frozen=True)
class Cluster:
    """What is assumed.

    Attributes
    ----------
    workers : int
        Of one thread each.
    line : float
        Bytes a second between a worker and the storage.
    storage : float
        Bytes a second that the storage gives to all together.
    latency : float
        Seconds until a read begins.
    slow_share, slow_factor : float
        Which share of tasks meets a slow machine, and how slow it is.
    """

    workers: int = 8
    line: float = 1e9
    storage: float = 10e9
    latency: float = 1e-3
    slow_share: float = 0.02
    slow_factor: float = 3.0


@dataclass(frozen=True)
class Sizes:
    """The data and how they are divided."""

    n: int
    q: int = 3
    d: int = 2
    k: int = 12
    points_per_cell: int = 200_000
    passes: int = 2
    sides: float = 6.0

    @property
    def cells(self):
        return -(-self.n // self.points_per_cell)

    @property
    def blocks(self):
        from unbend.partition.sources import block_rows

        return -(-self.n // block_rows((self.n, self.q), 8))


def stages(sizes, costs):
    """Name, number of tasks, seconds of computing of each, bytes read and written of each, reads of each."""
    n, q, d, cells, blocks = sizes.n, sizes.q, sizes.d, sizes.cells, sizes.blocks
    held = costs.halo * n
    row, kept = (
        8 * q + 12,
        16 + 4 + 8 * d + 4 + 4 * sizes.k + 8,
    )  # in a checkpoint: scattered, and of an embedded cell
    rim = 2 * (costs.halo - 1) * n * (16 + 8 * d)
    per_cell, per_block = 1 / cells, 1 / blocks
    settled = (held * (row + kept + 8 * d) + 2 * sizes.sides * rim / 2, held * 8 * d + rim)

    def seconds(rate, share):
        return rate * n / MILLION * share

    yield "probe", blocks, seconds(costs.probe, per_block), 8 * q * n * per_block, 1
    yield "scatter", blocks, seconds(costs.scatter, per_block), (8 * q * n + held * row) * per_block, 1
    yield "cells", cells, seconds(costs.cells, per_cell), held * (row + kept) * per_cell, blocks
    yield "overlaps", cells, seconds(costs.overlaps, per_cell), sizes.sides * rim * per_cell, sizes.sides
    for _ in range(sizes.passes):
        moved = sum(settled) * per_cell
        yield "seams", cells, seconds(costs.seams, per_cell), moved, blocks + sizes.sides
    measured = held * (row + kept) + 8 * (d + 1) * n + sizes.sides * rim
    yield (
        "faithfulness",
        cells,
        seconds(costs.faithfulness, per_cell),
        measured * per_cell,
        blocks + sizes.sides,
    )
    yield "output", blocks, seconds(costs.output, per_block), 8 * (2 * d + 1) * n * per_block, cells


def simulate(sizes, cluster, costs=None, seed=0):
    """Run all stages, and return the lines of the report."""
    costs, rng = costs or Costs(), np.random.default_rng(seed)
    clock = busy = driver = moved = 0.0
    ended = {}
    for name, count, work, size, reads in stages(sizes, costs):
        slow = np.where(rng.random(count) < cluster.slow_share, cluster.slow_factor, 1.0)
        at_once = min(count, cluster.workers)
        rate = min(cluster.line, cluster.storage / at_once)
        taken = slow * (work + size / rate + reads * cluster.latency)
        start = clock
        clock = finish(taken, cluster.workers, costs.dispatch, clock)
        ended[name] = ended.get(name, 0.0) + clock - start
        busy, driver, moved = busy + taken.sum(), driver + count * costs.dispatch, moved + count * size
    aligned = costs.overlap * sizes.cells * sizes.sides / 2
    clock, driver = clock + aligned, driver + aligned
    return {
        "seconds": clock,
        "worker_bytes": costs.worker_base + cell_bytes(sizes),
        "driver_bytes": costs.driver_base
        + 3 * 40 * sizes.blocks * sizes.cells
        + 8 * 128 * sizes.q * sizes.cells,
        "driver_share": driver / clock,
        "moved": moved,
        "idle": 1 - busy / (clock * cluster.workers),
        "stages": ended,
    }


def cell_bytes(sizes):
    from unbend.partition.run import cell_bytes

    return cell_bytes(sizes.points_per_cell, sizes.q, sizes.d, sizes.k, 8, "psa", None)


def finish(taken, workers, dispatch, start):
    """When the last of some tasks ends that are sent one by one, each to the first worker that is free."""
    free = [start] * workers
    end = start
    for number, seconds in enumerate(taken):
        begins = max(heapq.heappop(free), start + (number + 1) * dispatch)
        end = max(end, begins + seconds)
        heapq.heappush(free, begins + seconds)
    return end


# Tables ----------------------------------------------------------------------------------------------------


def table():
    """Return the lines of the table in docs/scale.md."""
    lines = [
        "| points | workers | cells | time | a worker, GB | the driver, GB "
        "| driver busy | workers idle | moved, GB |",
        "| --: | --: | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for n in (10**8, 10**9):
        for workers in (8, 32, 128, 500, 1000):
            sizes = Sizes(n)
            found = simulate(sizes, Cluster(workers))
            cells = [f"{n:.0e}".replace("e+0", "e"), workers, sizes.cells, in_words(found["seconds"])]
            cells += [f"{found['worker_bytes'] / 1e9:.2f}", f"{found['driver_bytes'] / 1e9:.2f}"]
            cells += [f"{found['driver_share']:.0%}", f"{found['idle']:.0%}", f"{found['moved'] / 1e9:.0f}"]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def what_breaks():
    """Return the lines of the second table: one assumption changed at a time."""
    usual = Cluster(1000)
    changes = {
        "as above": (Sizes(10**9), usual),
        "storage 1 GB/s": (Sizes(10**9), replace(usual, storage=1e9)),
        "storage 100 GB/s": (Sizes(10**9), replace(usual, storage=100e9)),
        "a read begins after 20 ms": (Sizes(10**9), replace(usual, latency=0.02)),
        "no slow machines": (Sizes(10**9), replace(usual, slow_share=0.0)),
        "one task in ten on a machine 10 times slower": (
            Sizes(10**9),
            replace(usual, slow_share=0.1, slow_factor=10.0),
        ),
        "cells of 50,000 points": (Sizes(10**9, points_per_cell=50_000), usual),
        "cells of 1,000,000 points": (Sizes(10**9, points_per_cell=1_000_000), usual),
    }
    lines = [
        "| 10^9 points, 1,000 workers | time | longest stage | a worker, GB | the driver, GB "
        "| driver busy | workers idle |",
        "| --- | --: | --- | --: | --: | --: | --: |",
    ]
    for name, (sizes, cluster) in changes.items():
        found = simulate(sizes, cluster)
        longest = max(found["stages"], key=found["stages"].get)
        cells = [name, in_words(found["seconds"]), f"{longest}, {in_words(found['stages'][longest])}"]
        cells += [f"{found['worker_bytes'] / 1e9:.2f}", f"{found['driver_bytes'] / 1e9:.2f}"]
        lines.append(
            "| " + " | ".join([*cells, f"{found['driver_share']:.0%}", f"{found['idle']:.0%}"]) + " |"
        )
    return lines


def in_words(seconds):
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


# Costs -----------------------------------------------------------------------------------------------------


def measure(n, points):
    """Print what a partition of `n` points costs on this machine, with one thread."""
    import unbend as ub
    from unbend import partition

    x, _ = ub.datasets.swiss_roll(n, random_state=0)
    found = partition.embed(x, points_per_cell=points, n_jobs=1)
    print(f"{n:,} points in {len(found.cell_sizes)} cells; halo {found.held_sizes.sum() / n:.3f}")
    for name, seconds in found.timings.items():
        per = len(found.history) if name == "seams" else 1
        print(f"{name:<14} {seconds / n * MILLION / per:8.3f} s for a million points")
    measure_alignment()
    measure_checkpoints()
    measure_driver()


def measure_alignment(side=40):
    """A grid of pieces, each overlapping four others."""
    from unbend.partition.align import Overlaps, align

    number = np.arange(side * side).reshape(side, side)
    right, down = (
        np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], 1),
        np.stack([number[:-1].ravel(), number[1:].ravel()], 1),
    )
    ends, rng = np.concatenate([right, down]), np.random.default_rng(0)
    cross = np.tile(np.eye(2), (len(ends), 1, 1)) + 1e-4 * rng.normal(size=(len(ends), 2, 2))
    means = rng.normal(size=(len(ends), 2, 2))
    overlaps = Overlaps(ends, np.full(len(ends), 100.0), means, cross, np.full((len(ends), 2), 2.0))
    start = time.perf_counter()
    align(overlaps, side * side, 2)
    print(f"alignment      {(time.perf_counter() - start) / len(ends):.2e} s for an overlap, all rounds")


def measure_checkpoints(size=2**27):
    from unbend.partition.checkpoint import CheckpointDir

    with tempfile.TemporaryDirectory() as folder:
        checkpoints, data = CheckpointDir(folder), np.random.default_rng(0).bytes(size)
        start = time.perf_counter()
        (checksum,) = checkpoints.save_parts("a", [data])
        written = time.perf_counter()
        checkpoints.load_part("a", (0, size, checksum))
        read = time.perf_counter()
    print(
        f"checkpoints    {size / (written - start) / 1e6:.0f} MB/s written, "
        f"{size / (read - written) / 1e6:.0f} MB/s read"
    )


def measure_driver(tasks=500):
    from distributed import Client, LocalCluster

    with LocalCluster(2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        client.gather(client.map(_nothing, range(10), pure=False))
        start = time.perf_counter()
        client.gather(client.map(_nothing, range(tasks), pure=False))
        print(f"driver         {(time.perf_counter() - start) / tasks:.2e} s for a task that does nothing")


def _nothing(number):
    return {"number": np.array(number)}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--n", type=int, default=500_000)
    parser.add_argument("--points-per-cell", type=int, default=62_500)
    options = parser.parse_args()
    if options.measure:
        return measure(options.n, options.points_per_cell)
    print("\n".join([*table(), "", *what_breaks()]))


if __name__ == "__main__":
    main()
