"""Fuzzing of the public interface and of the readers of files.

    python tests/fuzz --seconds 60              # as the CI does
    python tests/fuzz --seconds 7200 --seed 5   # as `make fuzz` does
    python tests/fuzz --replay 5:17             # one case again, with its traceback
    python tests/fuzz --shrink 5:17             # the smallest case that fails in the same way

Cases are drawn by hypothesis, 25 for each seed, and run in a process of their own. It is watched: a case may take
30 seconds of processor time. At the end all cases are counted by function, and failures are listed with how to see
them again.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
EXAMPLES = 25
CPU_SECONDS, IDLE_SECONDS = 30, 120
"""A case hangs if it takes this much processor time, or waits this long without using any."""

ADDRESS_SPACE = 6 * 2**30
FAMILIES = {"models": 4, "calls": 4, "files": 2}
"""Of ten seeds, how many draw cases of each family."""


def main() -> int:
    options = parsed()
    if options.worker:
        return work(options.seed, options.seconds)
    if options.replay or options.shrink:
        return again(options.replay or options.shrink, bool(options.shrink))
    return Watch(options.seconds, options.seed).run()


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python tests/fuzz", description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60, help="time to go on for (60)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="first seed (the time)")
    parser.add_argument("--replay", metavar="SEED:INDEX", help="run one case again")
    parser.add_argument(
        "--shrink", metavar="SEED:INDEX", help="find the smallest case that fails like this one"
    )
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


# The process that runs the cases ---------------------------------------------------------------------------


def family_of(seed: int) -> str:
    names = [name for name, count in FAMILIES.items() for _ in range(count)]
    return names[seed % len(names)]


def cases_of(seed: int, run: Any, shrink: bool = False) -> None:
    """Draw the cases of a seed, and hand each with its number to `run`."""
    import calls
    import files
    import hypothesis
    from hypothesis import HealthCheck, Phase

    strategy = {"models": calls.models, "calls": calls.calls, "files": files.damaged}[family_of(seed)]()
    phases = [Phase.generate, Phase.shrink] if shrink else [Phase.generate]
    numbers = iter(range(10**9))

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        phases=phases,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(strategy)
    def one(case: Any) -> None:
        run(next(numbers), case)

    one()


def limited() -> None:
    """Limit the address space, so that a bomb in a file cannot take the machine."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))


def work(first: int, seconds: float) -> int:
    """Run cases until the time is over, and write a line before and after each."""
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    limited()
    end, seed = time.monotonic() + seconds, first
    sys.stdout = sys.stderr  # the journal goes to the real one
    journal = os.fdopen(os.dup(1), "w", buffering=1)

    def run(index: int, case: Any) -> None:
        if time.monotonic() > end:
            return
        journal.write(json.dumps({"case": f"{seed}:{index}", "name": case.name}) + "\n")
        kind, detail = judged(case)
        journal.write(json.dumps({"kind": kind, "detail": detail}) + "\n")

    while time.monotonic() < end:
        cases_of(seed, run)
        seed += 1
    return 0


def judged(case: Any) -> tuple[str, str]:
    try:
        outcome = case.run()
    except Exception as error:  # the generator itself, or an operation on a model
        return "failed", f"{type(error).__name__}: {error}"
    return outcome.kind, outcome.detail


# One case again --------------------------------------------------------------------------------------------


def again(place: str, shrink: bool) -> int:
    seed, index = map(int, place.split(":"))
    found: dict[str, Any] = {}

    def run(number: int, case: Any) -> None:
        if number == index:
            found["case"] = case

    cases_of(seed, run)
    case = found["case"]
    print(case)
    faulthandler.enable()
    limited()
    first = judged(case)
    print(*first, sep=": ")
    if shrink and first[0] not in ("ok", "refused"):

        def fails(number: int, smaller: Any) -> None:
            if judged(smaller)[0] == first[0] and smaller.name == case.name:
                found["case"] = smaller
                raise AssertionError(first[0])

        try:
            cases_of(seed, fails, shrink=True)
        except AssertionError:
            print("smallest:", found["case"])
    return int(first[0] not in ("ok", "refused"))


# The process that watches ----------------------------------------------------------------------------------


class Watch:
    """Runs workers one after the other until the time is over, and counts what they say."""

    def __init__(self, seconds: float, seed: int) -> None:
        self.end, self.first, self.seed = time.monotonic() + seconds, seed, seed
        self.began = time.monotonic()
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.failures: dict[tuple[str, str, str], list[str]] = defaultdict(list)

    def run(self) -> int:
        while (left := self.end - time.monotonic()) > 0:
            self.follow([sys.executable, str(HERE), "--worker", f"--seed={self.seed}", f"--seconds={left}"])
        return self._report()

    def follow(self, command: list[str]) -> None:
        """Run a worker, and count what its journal says until it ends, dies or hangs."""
        with tempfile.TemporaryFile("w+") as errors:
            worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors)
            try:
                self._follow(worker, errors)
            finally:
                worker.kill()
                worker.wait()
                worker.stdout.close()

    def _follow(self, worker: Any, errors: Any) -> None:
        """Read the journal of a worker."""
        case, name, since = "", "", (0.0, time.monotonic())
        source, held, under_way = worker.stdout.fileno(), b"", False
        while True:
            ready, _, _ = select.select([source], [], [], 1.0)
            if ready:
                held += (read := os.read(source, 2**16))
                *lines, held = held.split(b"\n")
                for entry in map(json.loads, lines):
                    if "case" in entry:
                        case, name = entry["case"], entry["name"]
                        since, under_way = (_processor_seconds(worker.pid), time.monotonic()), True
                    else:
                        under_way = False
                        self._add(name, entry["kind"], entry["detail"], case)
                if not read:
                    code = worker.wait()
                    if code != 0 or under_way:
                        self._add(name or "worker", "crash", f"exit code {code}: {_tail(errors)}", case)
                    self.seed = int(case.split(":")[0]) + 1 if case else self.seed + 1
                    return
            elif self._hangs(worker.pid, since):
                worker.send_signal(signal.SIGUSR1)
                time.sleep(1)  # it writes where each of its threads is
                self._add(name, "hang", _tail(errors, 1500), case)
                self.seed = int(case.split(":")[0]) + 1
                return

    def _hangs(self, pid: int, since: tuple[float, float]) -> bool:
        used, waited = _processor_seconds(pid) - since[0], time.monotonic() - since[1]
        return used > CPU_SECONDS or waited > max(IDLE_SECONDS, 20 * used)

    def _add(self, name: str, kind: str, detail: str, case: str) -> None:
        self.counts[name][kind] += 1
        if kind not in ("ok", "refused"):
            self.failures[name, kind, _without_numbers(detail)].append(f"{case}  {detail}")
            print(f"{name}: {kind}: {detail[:300]}\n    python tests/fuzz --replay {case}", flush=True)

    def _report(self) -> int:
        kinds = sorted({kind for counts in self.counts.values() for kind in counts} - {"ok", "refused"})
        total: Counter[str] = sum(self.counts.values(), Counter())
        print(f"\n{'':<32}{'cases':>8}{'done':>8}{'refused':>9}  failures")
        for name, counts in sorted(self.counts.items()):
            failed = ", ".join(f"{counts[kind]} {kind}" for kind in kinds if counts[kind])
            print(f"{name:<32}{counts.total():>8,}{counts['ok']:>8,}{counts['refused']:>9,}  {failed}")
        print(f"{'all':<32}{total.total():>8,}{total['ok']:>8,}{total['refused']:>9,}")
        seconds = time.monotonic() - self.began
        print(
            f"\nseeds {self.first} to {self.seed}, {seconds:.0f} s, {len(self.failures)} different failures"
        )
        for (name, kind, _), where in self.failures.items():
            print(f"  {name}: {kind}, {len(where)} times, such as {where[0][:400]}")
        return int(bool(self.failures))


def _processor_seconds(pid: int) -> float:
    """Return the processor time of a process; 0 if it is over."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _tail(errors: Any, size: int = 600) -> str:
    errors.seek(0)
    return str(errors.read()[-size:])


def _without_numbers(text: str) -> str:
    import re

    return re.sub(r"[-+\d.]+(e[-+]?\d+)?|nan|inf", "#", text)[:160]


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    sys.exit(main())
