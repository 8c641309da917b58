"""kill -9 at random moments: whole results or none, and a second run finds the same bits.

Half of the kills come after a random share of the processor time of the command, the others when it is about to
change a random file, or up to 3 ms later.
"""

from __future__ import annotations

import random
import shutil
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

from commands import HIDDEN, Written, content
from processes import Ended, Process, Strike, run

OLD = b"an older result\n"


@dataclass
class Reference:
    """What a command writes if nothing happens."""

    ended: Ended
    results: dict[str, bytes]


@dataclass
class Tally:
    """What happened to one command."""

    cases: int = 0
    before: int = 0  # Results that had not begun: absent, or the old ones.
    after: int = 0  # Results that were whole already.
    hidden: int = 0  # Temporary files that were left.
    failures: list[str] = field(default_factory=list)


def reference(written: Written, inputs: Path, scratch: Path) -> Reference:
    """Run a command undisturbed, twice: it must write the same bits."""
    found = []
    for _ in range(2):
        folder = fresh(scratch)
        ended = run(written, inputs, folder)
        if ended.code != 0 or listed(folder) != set(written.results):
            raise AssertionError(f"{written.name}: code {ended.code}, {listed(folder)}: {ended.said}")
        found.append({name: content(folder / name) for name in written.results})
    different = [name for name in written.results if found[0][name] != found[1][name]]
    if different:
        raise AssertionError(f"{written.name} writes other bits each time: {different}")
    return Reference(ended, found[0])


def fresh(folder: Path) -> Path:
    """Return the folder, empty."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def listed(folder: Path) -> set[str]:
    """Return the names in a folder, without temporary files."""
    return {path.name for path in folder.iterdir() if not HIDDEN.fullmatch(path.name)}


def killed(
    written: Written, inputs: Path, scratch: Path, known: Reference, rng: random.Random
) -> Tally | None:
    """Kill a run, and run again; None if the run ended before."""
    folder, old = fresh(scratch), rng.random() < 0.5
    if old:
        for name in written.results:
            (folder / name).write_bytes(OLD)
    ended = run(written, inputs, folder, force=old, strike=_strike(known, rng))
    if ended.code != -signal.SIGKILL:
        return None
    tally = Tally(cases=1)
    _check(folder, written, known, old, tally)
    again = run(written, inputs, folder, force=True)
    check_finished(folder, written, known, again, tally)
    return tally


def _strike(known: Reference, rng: random.Random) -> Strike:
    if rng.random() < 0.5:
        return Strike(seconds=rng.random() * known.ended.seconds)
    delay = 0.0 if rng.random() < 0.5 else 0.003 * rng.random()
    return Strike(event=rng.randint(1, known.ended.changes), delay=delay)


def _check(folder: Path, written: Written, known: Reference, old: bool, tally: Tally) -> None:
    """Check what a process that was killed left: results are absent, old or whole."""
    for name in written.results:
        found = content(folder / name)
        if found == known.results[name]:
            tally.after += 1
        elif found == (OLD if old else None):
            tally.before += 1
        else:
            tally.failures.append(f"{name} is partial: {None if found is None else len(found)} bytes")
    tally.hidden += sum(HIDDEN.fullmatch(path.name) is not None for path in folder.iterdir())
    others = listed(folder) - {*written.results, written.folder}
    if others:
        tally.failures.append(f"left {sorted(others)}")


def check_finished(folder: Path, written: Written, known: Reference, ended: Ended, tally: Tally) -> None:
    """Check that a run that nothing disturbed wrote the same bits, and left nothing else."""
    if ended.code != 0:
        tally.failures.append(f"the run after it failed with {ended.code}: {ended.said}")
        return
    for name, result in known.results.items():
        if content(folder / name) != result:
            tally.failures.append(f"the run after it wrote another {name}")
    if listed(folder) != set(written.results):
        tally.failures.append(f"the run after it left {sorted(listed(folder) - set(written.results))}")


def two_runs(written: Written, inputs: Path, scratch: Path, known: Reference, rng: random.Random) -> Tally:
    """Run a command twice at once in one folder, and kill one of both in half of the cases."""
    folder, tally = fresh(scratch), Tally(cases=1)
    doomed = Strike(seconds=rng.random() * known.ended.seconds) if rng.random() < 0.5 else None
    first = Process(written, inputs, folder, force=True, strike=doomed)
    time.sleep(rng.random() * known.ended.seconds)
    second = Process(written, inputs, folder, force=True)
    ends = [first.end(), second.end()]
    for ended in ends:
        fine = ended.code == 0 or (ended.code == -signal.SIGKILL and doomed is not None)
        if not fine and "is used by another run" not in ended.said:
            tally.failures.append(f"one of two runs failed with {ended.code}: {ended.said}")
    if any(ended.code == 0 for ended in ends):
        for name, result in known.results.items():
            if content(folder / name) != result:
                tally.failures.append(f"two runs at once wrote another {name}")
    check_finished(folder, written, known, run(written, inputs, folder, force=True), tally)
    return tally
