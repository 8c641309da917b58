"""Faults on purpose: killed processes, full disks, and interrupts, at random moments.

    python tests/faults                                        # 500 kills, 200 full disks, 2,000 interrupts
    python tests/faults --kills 40 --disks 0 --interrupts 0    # some of them
    python tests/faults --seed 5                               # other moments

All cases are counted by command or call. A failure is printed when it is found, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

TRIES = 50
"""A command is tried this many times for each case: some runs end before the fault."""


def main() -> int:
    options = parsed()
    began, failures = time.monotonic(), 0
    if options.kills or options.runs or options.disks:
        failures += on_files(options)
    if options.interrupts:
        import interrupts

        failures += interrupts.report(options.interrupts, options.seed, options.minutes)
    print(f"\nseed {options.seed}, {time.monotonic() - began:.0f} s, {failures} failures")
    return int(failures > 0)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python tests/faults", description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=500, help="processes that are killed (500)")
    parser.add_argument("--runs", type=int, default=50, help="pairs of runs in one folder (50)")
    parser.add_argument("--disks", type=int, default=200, help="disks that are full (200)")
    parser.add_argument("--interrupts", type=int, default=2000, help="interrupts (2000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random moments (0)")
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="time after which each kind ends (none)"
    )
    return parser.parse_args()


def on_files(options: argparse.Namespace) -> int:
    """Disturb the commands that write files; return the number of failures."""
    import commands
    import disks
    import kills

    rng, failures = random.Random(options.seed), 0
    with tempfile.TemporaryDirectory(prefix="unbend-faults-") as folder:
        inputs, scratch = Path(folder, "inputs"), Path(folder, "run")
        inputs.mkdir()
        computed(lambda: commands.make_inputs(inputs))
        commands.import_all()
        known = {each.name: kills.reference(each, inputs, scratch) for each in commands.COMMANDS}

        def killed(each: commands.Written) -> kills.Tally | None:
            return kills.killed(each, inputs, scratch, known[each.name], rng)

        def doubled(each: commands.Written) -> kills.Tally | None:
            return kills.two_runs(each, inputs, scratch, known[each.name], rng)

        failures += counted("killed", killed, commands.COMMANDS, options.kills, options.minutes)
        in_folders = [each for each in commands.COMMANDS if each.folder]
        failures += counted("two runs in one folder", doubled, in_folders, options.runs, options.minutes)
        if not options.disks:
            return failures
        with disks.mounted(Path(folder, "disk")) as disk:
            rooms = {each.name: disks.peak(each, inputs, disk) for each in commands.COMMANDS} if disk else {}

            def filled(each: commands.Written) -> kills.Tally | None:
                if disk and rng.random() < 0.5:
                    return disks.full(each, inputs, disk, known[each.name], rooms[each.name], rng)
                return disks.too_large(each, inputs, scratch, known[each.name], rng)

            where = "on disks that are full, and with files that are too large" if disk else "files too large"
            failures += counted(where, filled, commands.COMMANDS, options.disks, options.minutes)
    return failures


def computed(work: Callable[[], object]) -> None:
    """Do work in a process of its own."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    if os.waitpid(pid, 0)[1] != 0:
        raise RuntimeError("the inputs could not be made")


def counted(title: str, case: Callable, commands: object, cases: int, minutes: float) -> int:
    """Run cases of all commands in turn, and print what came of them; return the number of failures."""
    import kills

    tallies, end = {each.name: kills.Tally() for each in commands}, time.monotonic() + 60 * minutes
    for each in _taken(commands, cases):
        if time.monotonic() > end:
            break
        for _ in range(TRIES):
            found = case(each)
            if found is not None:
                break
        else:
            continue
        tally = tallies[each.name]
        for name in ("cases", "before", "after", "hidden", "failures"):
            setattr(tally, name, getattr(tally, name) + getattr(found, name))
        for failure in found.failures:
            print(f"{title}: {each.name}: {failure}", flush=True)
    if cases:
        print(f"\n{title:<60}{'cases':>7}{'before':>8}{'whole':>7}{'hidden':>8}{'failures':>10}")
        for name, t in tallies.items():
            print(f"  {name:<58}{t.cases:>7}{t.before:>8}{t.after:>7}{t.hidden:>8}{len(t.failures):>10}")
        print(f"  {'all':<58}{sum(t.cases for t in tallies.values()):>7}", flush=True)
    return sum(len(tally.failures) for tally in tallies.values())


def _taken(commands: object, cases: int) -> Iterator:
    return (each for each, _ in zip(cycle(commands), range(cases), strict=False))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    sys.exit(main())
