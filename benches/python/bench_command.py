"""How soon the command answers.

    python benches/python/bench_command.py [--rounds N]

Seconds from the start of the process until it has printed its help, for every command, and for a measurement of
1,000 points; compared with what Python itself takes to start, and scikit-learn to be imported. Of several
rounds, in turn, the best and the worst.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import unbend as ub
from timing import machine, row
from unbend.cli import COMMANDS

COMMAND = [str(Path(sys.executable).with_name("unbend"))]


def seconds_of(command, folder):
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def commands(folder):
    x, coordinates = ub.datasets.swiss_roll(1000, random_state=0)
    np.save(folder / "x.npy", x)
    np.save(folder / "y.npy", coordinates)
    yield "python -c pass", [sys.executable, "-c", "pass"]
    yield "python -c 'import sklearn'", [sys.executable, "-c", "import sklearn"]
    yield "unbend --help", [*COMMAND, "--help"]
    for name in COMMANDS:
        yield f"unbend {name} --help", [*COMMAND, name, "--help"]
    yield "unbend measure, 1,000 points", [*COMMAND, "measure", "x.npy", "y.npy"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(machine(0, ("unbend", "numpy")), "\n")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asked = dict(commands(folder))
        taken = {called: [] for called in asked}
        for _ in range(options.rounds):
            for called, command in asked.items():
                taken[called].append(seconds_of(command, folder))
    row("command", "best, s", "worst, s")
    row("---", "--:", "--:")
    for called, seconds in taken.items():
        row(f"`{called}`", f"{min(seconds):.2f}", f"{max(seconds):.2f}")


if __name__ == "__main__":
    main()
