"""Runs of commands in processes that can be killed, given a full disk, or watched.

A process is forked from one that has imported everything, so a run begins at once. That process never computes: a
fork has none of the threads of its parent.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from commands import Written, carried_out

BUSY_SECONDS, LONGEST = 60, 3600.0
"""A run hangs if it takes this much processor time, or this many seconds on a machine that may be busy."""

WRITING = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "mmap.__new__"}
"""Audit events of what changes files."""


@dataclass(frozen=True)
class Strike:
    """When a process kills itself: after so much processor time, or when it is about to change a file."""

    seconds: float | None = None
    event: int | None = None  # Number of the change.
    delay: float = 0.0  # Seconds from the change to the end.


@dataclass(frozen=True)
class Ended:
    """A run that ended: its exit code, or minus the signal that ended it, and what it said."""

    code: int
    said: str
    seconds: float  # Processor time.
    changes: int  # Changes of files that it was about to make.


def run(
    written: Written,
    inputs: Path,
    folder: Path,
    *,
    force: bool = False,
    strike: Strike | None = None,
    file_size: int | None = None,
) -> Ended:
    """Run a command in a folder, and wait for its end; `file_size` limits how large files can become."""
    return Process(written, inputs, folder, force, strike, file_size).end()


class Process:
    """A run that goes on."""

    def __init__(
        self,
        written: Written,
        inputs: Path,
        folder: Path,
        force: bool = False,
        strike: Strike | None = None,
        file_size: int | None = None,
    ) -> None:
        self.source, target = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            code = 70
            try:
                os.close(self.source)
                _prepare(folder, target)
                resource.setrlimit(resource.RLIMIT_CPU, (BUSY_SECONDS, BUSY_SECONDS))
                changes = _Changes(strike or Strike())
                if file_size is not None:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, resource.RLIM_INFINITY))
                code = carried_out(written, inputs, force)
                sys.stdout.flush()
                sys.stderr.flush()
                os.write(2, f"\n{changes.count}".encode())
            finally:
                os._exit(code)
        os.close(target)

    def end(self) -> Ended:
        """Wait until the process ends; kill it if it hangs."""
        alarm = threading.Timer(LONGEST, os.kill, (self.pid, signal.SIGKILL))
        alarm.start()
        said = bytearray()
        while part := os.read(self.source, 2**16):
            said += part
        os.close(self.source)
        _, status, used = os.wait4(self.pid, 0)
        alarm.cancel()
        text, _, count = said.decode(errors="replace").rpartition("\n")
        changes = int(count) if count.isdigit() else 0
        return Ended(os.waitstatus_to_exitcode(status), text.strip(), used.ru_utime + used.ru_stime, changes)


def _prepare(folder: Path, target: int) -> None:
    """Enter a folder, and send what is said to the parent."""
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    os.dup2(target, 2)
    os.close(target)
    random.seed(0)


class _Changes:
    """Counts the changes of files that a process is about to make, and kills it when its time has come."""

    def __init__(self, strike: Strike) -> None:
        self.count, self.strike = 0, strike
        sys.addaudithook(self._heard)
        if strike.seconds is not None:
            threading.Thread(
                target=self._wait, args=(time.process_time() + strike.seconds,), daemon=True
            ).start()

    def _heard(self, event: str, arguments: tuple) -> None:
        if event not in WRITING or (event == "open" and not _writes(arguments)):
            return
        self.count += 1
        if self.count == self.strike.event:
            if self.strike.delay == 0.0:
                os.kill(os.getpid(), signal.SIGKILL)
            threading.Thread(
                target=self._wait, args=(time.process_time() + self.strike.delay,), daemon=True
            ).start()

    def _wait(self, until: float) -> None:
        while time.process_time() < until:
            time.sleep(0.0002)
        os.kill(os.getpid(), signal.SIGKILL)


def _writes(arguments: tuple) -> bool:
    """Return whether a file is opened to be written."""
    _, mode, flags = arguments
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return bool(flags & (os.O_WRONLY | os.O_RDWR))
