"""Ctrl-C at random moments of every public computation: none may be lost, and none may come late.

Seconds are those of processor time that the process itself uses after the signal, divided among the processors,
so a busy machine changes nothing. Calls run in the main thread, in a pool of threads for which the main thread
waits, in a process that was forked from one that has computed already, and by joblib.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SOON, SOON_SHARE, LATEST = 0.2, 0.99, 1.0
"""Seconds within which this share of all interrupts comes, and those within which all do."""

SHARES = {"main thread": 12, "pool of threads": 3, "fork": 4, "joblib": 1}
"""How calls run, and how often of twenty times."""

ROUND, TOGETHER = 8, 8
"""Interrupts of one call in one process, and calls in one process."""

FAILURES = ("lost", "wrong exception", "crash")

HERE = Path(__file__).parent


# The process that is interrupted -----------------------------------------------------------------------------

TABLE: dict[str, Callable[[], Any]] = {}
"""The calls, which forks of the process share."""


def work(seed: int, mode: str, names: list[str]) -> None:
    """Interrupt calls at random moments, and write a line for each interrupt."""
    sys.path.insert(0, str(HERE.parent / "python"))
    import computations

    TABLE.update(computations.calls(names))
    rng, strike = random.Random(f"{seed} {mode} {names}"), STRUCK[mode]
    for name in names:
        TABLE[name]()  # The first call imports what it needs.
        begin = time.process_time()
        TABLE[name]()
        took = time.process_time() - begin
        for _ in range(ROUND):
            place = rng.random()
            print(json.dumps({"name": name, "took": took, **strike(name, place * took)}), flush=True)


def _struck(call: Callable[[], Any], seconds: float) -> dict[str, Any]:
    """Call, with Ctrl-C after some seconds of processor time."""
    from interrupting import Strike

    strike, result = Strike(seconds), None
    try:
        strike.start()
        result = call()
        late = 0.0 if strike.sent is None else strike.late
        strike.over()
    except KeyboardInterrupt:
        return {"kind": "obeyed" if strike.under_way else "after the end", "late": strike.late}
    except Exception as error:
        return {"kind": "wrong exception", "late": 0.0, "detail": f"{type(error).__name__}: {error}"}
    if getattr(result, "ending", None) == "interrupted":  # `select` returns what it has
        return {"kind": "obeyed", "late": late}
    return {"kind": "not sent" if strike.sent is None else "lost", "late": late}


def in_main_thread(name: str, seconds: float) -> dict[str, Any]:
    """Interrupt the call."""
    return _struck(TABLE[name], seconds)


def in_pool(name: str, seconds: float) -> dict[str, Any]:
    """Interrupt the main thread, while it waits for two other threads, which nothing may disturb."""
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(TABLE[name]) for _ in range(2)]
        found = _struck(lambda: [future.result() for future in futures], 2 * seconds)
    errors = [error for future in futures if (error := future.exception()) is not None]
    if errors:
        return {"kind": "wrong exception", "late": 0.0, "detail": f"in a thread: {errors[0]!r}"}
    return found


def in_fork(name: str, seconds: float) -> dict[str, Any]:
    """Interrupt the call in a fork of this process, which has none of its threads."""
    source, target = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(target, json.dumps(_struck(TABLE[name], seconds)).encode())
        finally:
            os._exit(0)
    os.close(target)
    with os.fdopen(source) as answer:
        said = answer.read()
    os.waitpid(pid, 0)
    found: dict[str, Any] = json.loads(said) if said else {"kind": "crash", "late": 0.0}
    return found


def by_joblib(name: str, seconds: float) -> dict[str, Any]:
    """Interrupt joblib, while two forks compute."""
    from joblib import Parallel, delayed

    def both() -> None:
        Parallel(n_jobs=2, backend="multiprocessing")(delayed(_carried_out)(name) for _ in range(2))

    return _struck(both, 0.01 * min(1.0, seconds))  # the parent hardly uses any time of its own


def _carried_out(name: str) -> None:
    TABLE[name]()


STRUCK = {
    "main thread": in_main_thread,
    "pool of threads": in_pool,
    "fork": in_fork,
    "joblib": by_joblib,
}


# The process that counts -------------------------------------------------------------------------------------


@dataclass
class Tally:
    """The interrupts of one call, or in one mode."""

    kinds: Counter[str] = field(default_factory=Counter)
    late: list[float] = field(default_factory=list)

    @property
    def sent(self) -> int:
        """Number of interrupts that were sent."""
        return self.kinds.total() - self.kinds["not sent"]


def report(cases: int, seed: int, minutes: float) -> int:
    """Interrupt calls so often, print what came of it, and return the number of failures."""
    import computations

    rng, failures = random.Random(seed), 0
    modes = [mode for mode, share in SHARES.items() for _ in range(share)]
    by_call: dict[str, Tally] = defaultdict(Tally)
    by_mode: dict[str, Tally] = defaultdict(Tally)
    total, waiting, names_of_all = Tally(), [], list(computations.makers())
    end = time.monotonic() + 60 * minutes
    while total.sent < cases and time.monotonic() < end:
        if len(waiting) < TOGETHER:
            waiting += rng.sample(names_of_all, len(names_of_all))
        names, waiting, mode = waiting[:TOGETHER], waiting[TOGETHER:], rng.choice(modes)
        for found in answers(rng.randrange(2**31), mode, names):
            for tally in (by_call[found["name"]], by_mode[mode], total):
                tally.kinds[found["kind"]] += 1
                if found["kind"] == "obeyed":
                    tally.late.append(found["late"])
            if found["kind"] in FAILURES or found["late"] > LATEST:
                failures += 1
                print(f"{mode}: {found}", flush=True)
    _print("interrupts, by call", by_call)
    _print("interrupts, by where the call runs", by_mode | {"all": total})
    soon = sum(late <= SOON for late in total.late) / max(1, len(total.late))
    print(
        f"\n{soon:.2%} of those that were obeyed came within {SOON} s, the last after {max(total.late):.2f} s"
    )
    return failures + int(soon < SOON_SHARE)


def answers(seed: int, mode: str, names: list[str]) -> list[dict[str, Any]]:
    """Return what a process says about the interrupts of some calls."""
    command = [sys.executable, str(HERE / "interrupts.py"), str(seed), mode, *names]
    told = subprocess.run(command, capture_output=True, text=True)
    found = [json.loads(line) for line in told.stdout.splitlines()]
    if told.returncode != 0:
        detail = f"{names}: exit code {told.returncode}: {told.stderr[-600:]}"
        found.append({"name": names[0], "kind": "crash", "late": 0.0, "detail": detail})
    return found


def _print(title: str, tallies: dict[str, Tally]) -> None:
    print(
        f"\n{title:<42}{'sent':>6}{'obeyed':>8}{'after':>7}{'lost':>6}{'wrong':>7}{'median s':>10}{'last s':>8}"
    )
    for name, tally in tallies.items():
        late = sorted(tally.late) or [0.0]
        wrong = tally.kinds["wrong exception"] + tally.kinds["crash"]
        obeyed, after, lost = (tally.kinds[kind] for kind in ("obeyed", "after the end", "lost"))
        counts = f"{tally.sent:>6}{obeyed:>8}{after:>7}{lost:>6}{wrong:>7}"
        print(f"  {name:<40}{counts}{late[len(late) // 2]:>10.3f}{late[-1]:>8.2f}")


if __name__ == "__main__":
    work(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
