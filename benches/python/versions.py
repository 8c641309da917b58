"""Two versions of this package side by side: time and peak memory of fits, in turn, each in a process of its own.

    python benches/python/versions.py OTHER/python    # a built checkout of the other version; --large, --rounds 5

Ratios are this version by the other: the least time of several rounds, and the median peak above that of imports.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parents[2] / "python"

JOBS = {
    "PSA, 100,000": "ub.ProcrustesAlignment().fit(roll(100_000))",
    "PSA, 100,000, noise": "ub.ProcrustesAlignment().fit(roll(100_000, noise=0.2))",
    "PSA, cylinder 20,000, cut": "ub.ProcrustesAlignment().fit(ub.datasets.cylinder(20_000, random_state=0)[0])",
    "GP, 100,000": "ub.GreedyProcrustes(random_state=0).fit(roll(100_000))",
    "cells, 100,000": "ub.partition.embed(roll(100_000), points_per_cell=20_000)",
    "select, 5,000": "ub.select(roll(5_000), [8, 12, 16], 2, methods=['psa'], random_state=0)",
    "quality, 20,000": "ub.quality(roll(20_000), roll(20_000)[:, :2])",
    "neighborhoods, 300,000": "ub.neighborhoods(roll(300_000), 12)",
    "LTSA, 50,000": "ub.LTSA().fit(roll(50_000))",
    "Isomap, landmarks, 50,000": "ub.Isomap(n_landmarks=200, random_state=0).fit(roll(50_000))",
}
LARGE = {
    "PSA, 1,000,000": "ub.ProcrustesAlignment().fit(roll(1_000_000))",
    "GP, 1,000,000": "ub.GreedyProcrustes(random_state=0).fit(roll(1_000_000))",
}

CHILD = """
import json, resource, sys, time, warnings
import numpy as np
import unbend as ub
warnings.simplefilter("ignore")
made = {}
def roll(n, noise=0):
    return made.setdefault((n, noise), ub.datasets.swiss_roll(n, noise=noise, random_state=0)[0])
job = compile(sys.argv[1], "job", "eval")
small = sys.argv[1].replace("_000", "00").replace("points_per_cell=2000", "points_per_cell=500")
eval(small)  # imports
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for n in (5_000, 20_000, 50_000, 100_000, 300_000, 1_000_000):
    if f"roll({n:_}" in sys.argv[1]:
        roll(n, 0.2 if "noise" in sys.argv[1] else 0)
begin = time.perf_counter()
eval(job)
seconds = time.perf_counter() - begin
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(json.dumps([seconds, peak]))
"""


def run(job: str, path: Path, threads: int) -> tuple[float, float]:
    environment = os.environ | {"PYTHONPATH": str(path), "RAYON_NUM_THREADS": str(threads)}
    told = subprocess.run(
        [sys.executable, "-c", CHILD, job], env=environment, capture_output=True, text=True, check=True
    )
    seconds, peak = json.loads(told.stdout.splitlines()[-1])
    return seconds, peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("other", type=Path, help="the folder that holds the other version's package")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--large", action="store_true", help="a million points as well")
    parser.add_argument("--only", help="jobs whose name holds this")
    options = parser.parse_args()
    print("| job | seconds | time, ratio | spread of ratios | peak, MB | peak, ratio |")
    print("|---|--:|--:|--:|--:|--:|")
    for name, job in (JOBS | (LARGE if options.large else {})).items():
        if options.only and options.only not in name:
            continue
        rounds = [
            (run(job, HERE, options.threads), run(job, options.other, options.threads))
            for _ in range(options.rounds)
        ]
        ours, theirs = (min(seconds) for seconds in zip(*((a[0], b[0]) for a, b in rounds), strict=True))
        ratios = sorted(a[0] / b[0] for a, b in rounds)
        peaks = [statistics.median(side) for side in zip(*((a[1], b[1]) for a, b in rounds), strict=True)]
        print(
            f"| {name} | {ours:.2f} | {ours / theirs:.2f} | {ratios[0]:.2f} to {ratios[-1]:.2f} "
            f"| {peaks[0] / 1024:.0f} | {peaks[0] / max(peaks[1], 1):.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
