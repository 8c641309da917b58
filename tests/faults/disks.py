"""Full disks at random moments: a clear error, the old result intact, nothing partial, and the same bits after.

In half of the cases the folder is on a file system with a random number of bytes left, if one can be mounted. In
the others no file may become larger than that.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from commands import HIDDEN, Written, content
from kills import OLD, Reference, Tally, check_finished, fresh
from processes import Ended, run

SIZE = 2**24
"""Bytes of the file system that is mounted."""

CLEAR = re.compile(r"cannot write .+: (No space left on device|File too large)")
"""What a command must say."""


@contextmanager
def mounted(folder: Path) -> Iterator[Path | None]:
    """Mount a small file system in memory; yield None if that is not allowed."""
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
    try:
        fine = subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        fine = False
    try:
        yield folder if fine else None
    finally:
        if fine:
            subprocess.run(["umount", str(folder)], check=True)


def peak(written: Written, inputs: Path, disk: Path) -> int:
    """Return the largest number of bytes that a run takes on the disk."""
    folder, over, least = fresh(disk / "run"), threading.Event(), [_free(disk)]
    whole = least[0]

    def watch() -> None:
        while not over.wait(0.001):
            least[0] = min(least[0], _free(disk))

    watching = threading.Thread(target=watch)
    watching.start()
    run(written, inputs, folder)
    over.set()
    watching.join()
    return whole - least[0]


def full(
    written: Written, inputs: Path, disk: Path, known: Reference, room: int, rng: random.Random
) -> Tally | None:
    """Run a command on a disk with at most `room` bytes, then with enough; None if they were enough."""
    folder, old = _begun(disk / "run", written, rng)
    filler = disk / "filler"
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(1, _free(disk) - rng.randrange(room)))
    ended = run(written, inputs, folder, force=old)
    filler.unlink()
    return _judged(written, inputs, folder, known, ended, old)


def too_large(
    written: Written, inputs: Path, scratch: Path, known: Reference, rng: random.Random
) -> Tally | None:
    """Run a command that may not write large files, then without that limit; None if there was no need of them."""
    folder, old = _begun(scratch, written, rng)
    limit = rng.randrange(max(map(len, known.results.values())))
    ended = run(written, inputs, folder, force=old, file_size=limit)
    return _judged(written, inputs, folder, known, ended, old)


def _begun(folder: Path, written: Written, rng: random.Random) -> tuple[Path, bool]:
    fresh(folder)
    old = rng.random() < 0.5
    if old:
        for name in written.results:
            (folder / name).write_bytes(OLD)
    return folder, old


def _judged(
    written: Written, inputs: Path, folder: Path, known: Reference, ended: Ended, old: bool
) -> Tally | None:
    if ended.code == 0:
        return None
    tally = Tally(cases=1)
    if not CLEAR.search(ended.said) or "Traceback" in ended.said or len(ended.said.splitlines()) != 1:
        tally.failures.append(f"it ended with {ended.code} and said {ended.said!r}")
    for name in written.results:
        found = content(folder / name)
        if found == known.results[name]:
            tally.after += 1
        elif found == (OLD if old else None):
            tally.before += 1
        else:
            tally.failures.append(f"{name} is partial: {None if found is None else len(found)} bytes")
    left = {path.name for path in folder.iterdir()} - {*written.results, written.folder}
    if left:
        tally.failures.append(f"left {sorted(left)}")
    check_finished(folder, written, known, run(written, inputs, folder, force=True), tally)
    tally.hidden = sum(HIDDEN.fullmatch(path.name) is not None for path in folder.iterdir())
    return tally


def _free(disk: Path) -> int:
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize
