"""Memory of this machine: the available number of bytes, and how to return free memory."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

__all__ = ["UNLIMITED", "available", "give_back"]

UNLIMITED = 2**60
"""Limits of this many bytes and more mean that there is no limit."""


def available(root: Path = Path("/")) -> int | None:
    """Return the bytes that a new computation can use, or None if the system does not report them.

    On Linux this is the smallest of `MemAvailable`, the remainders of all control groups of the process, and that
    of its address space, if it is limited (`ulimit -v`). Elsewhere it is the physical memory. The files of the
    system are read below `root`.
    """
    proc, groups = root / "proc", root / "sys" / "fs" / "cgroup"
    limits = _control_groups(groups, proc / "self" / "cgroup") + _address_space(proc / "self" / "statm")
    sizes = [size for size in (_meminfo(proc / "meminfo"), *limits) if size is not None]
    return min(sizes) if sizes else _physical()


def _meminfo(path: Path) -> int | None:
    for line in _lines(path):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _address_space(statm: Path) -> list[int]:
    """Return the unused part of the address space, if it is limited."""
    pages = " ".join(_lines(statm)).split()[:1]
    if not pages:
        return []
    import resource  # a module of Unix only

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if not 0 <= limit < UNLIMITED:  # -1 stands for no limit
        return []
    return [max(0, limit - int(pages[0]) * resource.getpagesize())]


def _control_groups(root: Path, membership: Path) -> list[int]:
    """Return the unused part of each limit: those of the process's control groups and of all their parents."""
    left = []
    for line in _lines(membership):
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            base, names = root, ("memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            base, names = root / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        inside = base / group.strip("/")
        for folder in (inside, *inside.parents):
            left += _remainder(folder, *names)
            if folder == base:
                break
    return left


def _remainder(folder: Path, limit: str, usage: str) -> list[int]:
    most, used = _number(folder / limit), _number(folder / usage)
    if most is None or used is None or most >= UNLIMITED:
        return []
    stat = dict(line.split()[:2] for line in _lines(folder / "memory.stat"))
    # The kernel frees inactive pages of files when memory runs short.
    inactive = int(stat.get("total_inactive_file", stat.get("inactive_file", 0)))
    return [max(0, most - used + inactive)]


def _number(path: Path) -> int | None:
    text = "".join(_lines(path)).strip()
    return int(text) if text.isdigit() else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def _physical() -> int | None:
    try:
        return int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return None


def give_back() -> None:
    """Return free memory to the system where the C library would keep it."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
