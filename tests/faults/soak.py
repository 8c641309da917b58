"""Computations of all kinds in one process, for long: memory stays flat, and no thread or open file is left.

python tests/faults/soak.py --minutes 120
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GROWTH_SHARE, GROWTH_BYTES = 0.05, 16 * 2**20
"""Memory may grow by this share of it and these bytes from the first third of the rounds to the last."""

WARM = 2
"""Rounds after which everything that is kept, such as threads and tables, has been made."""


@dataclass(frozen=True)
class State:
    """What the process holds after a round."""

    bytes: int
    threads: int
    files: int

    @classmethod
    def now(cls) -> State:
        """Return it, after all that is free was given back."""
        from unbend.core.memory import give_back

        gc.collect()
        give_back()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        entries = (len(os.listdir(f"/proc/self/{kind}")) for kind in ("task", "fd"))
        return cls(pages * os.sysconf("SC_PAGE_SIZE"), *entries)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tests/faults/soak.py", description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=120, help="time to go on for (120)")
    parser.add_argument("--rounds", type=int, default=10**6, help="rounds after which it ends (none)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the order of calls (0)")
    options = parser.parse_args()
    import computations

    states = soaked(computations.calls(), options)
    failures = complaints(states)
    print("\n".join(failures) or "memory, threads and files are as they were")
    return int(bool(failures))


def soaked(calls: dict[str, Callable[[], Any]], options: argparse.Namespace) -> list[State]:
    """Carry out all calls in random order, again and again; return the states after each round."""
    rng, states, end = random.Random(options.seed), [], time.monotonic() + 60 * options.minutes
    while len(states) < options.rounds and (time.monotonic() < end or len(states) < WARM + 3):
        for name in rng.sample(list(calls), len(calls)):
            calls[name]()
        states.append(State.now())
        found = states[-1]
        size = found.bytes / 2**20
        print(f"round {len(states)}: {size:.1f} MB, {found.threads} threads, {found.files} files", flush=True)
    return states


def complaints(states: list[State]) -> list[str]:
    """Return what grew, of the rounds after the first."""
    later = states[WARM:]
    third = max(1, len(later) // 3)
    first, last = later[:third], later[-third:]
    found = []
    before, after = (statistics.median(state.bytes for state in part) for part in (first, last))
    if after > before * (1 + GROWTH_SHARE) + GROWTH_BYTES:
        found.append(f"memory grew from {before / 2**20:.1f} to {after / 2**20:.1f} MB")
    for name in ("threads", "files"):
        before, after = (max(getattr(state, name) for state in part) for part in (first, last))
        if after > before:
            found.append(f"{name} grew from {before} to {after}")
    return found


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    sys.exit(main())
