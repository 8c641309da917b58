"""Checkpoints: arrays in files that appear whole or not at all, and are checked when they are read."""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..files import FileError, writing

if sys.platform != "win32":
    import fcntl

__all__ = ["CheckpointDir", "DamagedError", "checkpointed"]

Arrays = dict[str, npt.NDArray[Any]]
Task = Callable[..., Arrays]
Segment = tuple[int, int, int]
"""A part of a file: its first byte, its number of bytes, and its checksum."""

MARK, FINISHED = "partition", {"finished": True}
"""Name of the record that tells to which run a folder belongs, and that record once its files are not needed."""


class DamagedError(FileError):
    """A checkpoint differs from the arrays that were written. The message names the file."""


@dataclass(frozen=True)
class CheckpointDir:
    """A folder of checkpoints; other machines must see it under the same path."""

    folder: str

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Make the folder, and keep other runs out of it until this one ends, however it ends.

        The system gives the lock back when a process is killed. On Windows, and on file systems without locks,
        other runs are not kept out.
        """
        while True:
            Path(self.folder).mkdir(parents=True, exist_ok=True)
            if sys.platform == "win32":
                yield
                return
            handle = os.open(self.folder, os.O_RDONLY)
            try:
                self._lock(handle)
                if self._is(handle):
                    yield
                    return
            finally:
                os.close(handle)

    def _lock(self, handle: int) -> None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FileError(
                f"{self.folder} is used by another run: wait until it ends, or use another folder"
            ) from None
        except OSError:
            pass  # Some network file systems have no locks.

    def _is(self, handle: int) -> bool:
        """Return whether the folder is still the one that was opened: a run that ended may have removed it."""
        try:
            return os.path.samestat(os.fstat(handle), os.stat(self.folder))
        except FileNotFoundError:
            return False

    def claim(self, mark: dict[str, Any]) -> None:
        """Refuse a folder that belongs to other data or parameters, which `mark` describes."""
        known = self.load_record(MARK)
        if known == FINISHED:
            self.clear()
            known = None
        if known is None:
            if not all(map(_is_temporary_mark, Path(self.folder).iterdir())):
                raise FileError(
                    f"{self.folder} is not empty, and holds no partition: use a folder of its own"
                )
            self.save_record(MARK, mark)
        elif known != mark:
            different = [name for name in mark if mark[name] != known.get(name)]
            what = f"{self.folder} holds a partition of other {' and '.join(different)}"
            raise FileError(f"{what}: use another folder, or remove it")

    def clear(self) -> None:
        """Remove all files. If the process is killed meanwhile, the next run removes the others."""
        self.save_record(MARK, FINISHED)
        last = self.path(f"{MARK}.json")
        for path in Path(self.folder).iterdir():
            if path != last:
                path.unlink()
        last.unlink()

    def path(self, name: str) -> Path:
        """Return the path of a file, which may not exist yet."""
        return Path(self.folder, name)

    def save(self, name: str, arrays: Arrays) -> None:
        """Write arrays to one file; the archive has a checksum for each."""

        def write(path: Path) -> None:
            with path.open("wb") as file:
                np.savez(file, **arrays)  # type: ignore[arg-type]

        self.write(f"{name}.npz", write)

    def has(self, name: str) -> bool:
        """Return whether arrays were saved."""
        return self.path(f"{name}.npz").exists()

    def find(self, name: str) -> Arrays | None:
        """Return saved arrays; None if there are none. A damaged file is removed."""
        try:
            with self.path(f"{name}.npz").open("rb") as file, np.load(file, allow_pickle=False) as archive:
                return {key: archive[key] for key in archive.files}
        except FileNotFoundError:
            return None
        except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error):
            self.path(f"{name}.npz").unlink(missing_ok=True)
            return None

    def load(self, name: str) -> Arrays:
        """Return arrays that must have been saved."""
        arrays = self.find(name)
        if arrays is None:
            raise DamagedError(f"{self.path(name)}.npz is missing or damaged: run again with this folder")
        return arrays

    def cached(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """Return saved arrays, or make and save them."""
        arrays = self.find(name)
        if arrays is None:
            arrays = make()
            self.save(name, arrays)
        return arrays

    def save_parts(self, name: str, parts: list[bytes]) -> list[int]:
        """Write bytes one after the other, to be read part by part; return their checksums."""

        def write(path: Path) -> None:
            with path.open("wb") as file:
                file.writelines(parts)

        self.write(f"{name}.rows", write)
        return [zlib.crc32(part) for part in parts]

    def load_part(self, name: str, segment: Segment) -> bytes:
        """Return one part of a file."""
        start, size, checksum = map(int, segment)
        path = self.path(f"{name}.rows")
        try:
            with path.open("rb") as file:
                file.seek(start)
                part = file.read(size)
        except OSError as error:
            raise DamagedError(f"cannot read {path}: {error.strerror or error}") from error
        if len(part) != size or zlib.crc32(part) != checksum:
            raise DamagedError(f"{path} is damaged at byte {start}: remove it and {name}.npz, and run again")
        return part

    def save_record(self, name: str, record: dict[str, Any]) -> None:
        """Write a record that people can read."""
        self.write(f"{name}.json", lambda path: path.write_text(json.dumps(record, indent=1) + "\n"))

    def load_record(self, name: str) -> dict[str, Any] | None:
        """Return a record; None if there is none."""
        try:
            record: dict[str, Any] = json.loads(self.path(f"{name}.json").read_text())
            return record
        except (FileNotFoundError, ValueError):
            return None

    def remove(self, name: str) -> None:
        """Remove saved arrays and parts."""
        for suffix in (".npz", ".rows"):
            self.path(name + suffix).unlink(missing_ok=True)

    def write(self, name: str, write: Callable[[Path], object]) -> None:
        """Write a file so that it appears whole or not at all."""
        target = self.path(name)
        temporary = target.with_name(f".{name}.{os.getpid()}.{secrets.token_hex(4)}")
        try:
            with writing(target):
                write(temporary)
                os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)


def _is_temporary_mark(path: Path) -> bool:
    """Return whether this is what a process leaves that is killed when it claims a folder."""
    return re.fullmatch(rf"\.{MARK}\.json\.\d+\.[0-9a-f]{{8}}", path.name) is not None


def checkpointed(name: str) -> Callable[[Task], Task]:
    """Return a decorator for tasks of a cell or a block: a result is kept by its number, and not made again."""

    def decorate(task: Task) -> Task:
        @wraps(task)
        def cached(job: Any, part: Any, *call: Any) -> Arrays:
            folder: CheckpointDir = job.checkpoints
            return folder.cached(f"{name}-{getattr(part, 'number', part)}", lambda: task(job, part, *call))

        return cached

    return decorate
