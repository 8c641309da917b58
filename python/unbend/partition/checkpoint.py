"""What is finished: arrays in files that appear whole or not at all, and are checked when they are read."""

from __future__ import annotations

import json
import os
import secrets
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..files.tables import FileError

__all__ = ["DamagedError", "CheckpointDir"]

Arrays = dict[str, npt.NDArray[Any]]
Segment = tuple[int, int, int]
"""Where rows begin in a file, how many bytes they are, and their checksum."""


class DamagedError(FileError):
    """A file of a partition under way is not what was written. The message says which."""


@dataclass(frozen=True)
class CheckpointDir:
    """A folder of finished results.

    Parameters
    ----------
    folder : str
        Where it is; other machines must see it by the same name.
    """

    folder: str

    def place(self, name: str) -> Path:
        """Return where something is or will be."""
        return Path(self.folder, name)

    def keep(self, name: str, arrays: Arrays) -> None:
        """Write arrays to one file; an archive has a checksum for each."""

        def write(path: Path) -> None:
            with path.open("wb") as file:
                np.savez(file, **arrays)  # type: ignore[arg-type]

        self._write(f"{name}.npz", write)

    def has(self, name: str) -> bool:
        """Return whether something was kept."""
        return self.place(f"{name}.npz").exists()

    def find(self, name: str) -> Arrays | None:
        """Return what was kept, None if it is not there or not whole: then it is made again."""
        try:
            with self.place(f"{name}.npz").open("rb") as file, np.load(file, allow_pickle=False) as held:
                return {key: held[key] for key in held.files}
        except FileNotFoundError:
            return None
        except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error):
            self.place(f"{name}.npz").unlink(missing_ok=True)
            return None

    def take(self, name: str) -> Arrays:
        """Return what must be there."""
        found = self.find(name)
        if found is None:
            raise DamagedError(f"{self.place(name)}.npz is missing or damaged: run again with this folder")
        return found

    def made(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """Return what was kept, or make and keep it."""
        found = self.find(name)
        if found is None:
            found = make()
            self.keep(name, found)
        return found

    def keep_parts(self, name: str, parts: list[bytes]) -> list[int]:
        """Write bytes one after the other, to be read part by part; return their checksums."""

        def write(path: Path) -> None:
            with path.open("wb") as file:
                file.writelines(parts)

        self._write(f"{name}.rows", write)
        return [zlib.crc32(part) for part in parts]

    def part(self, name: str, segment: Segment) -> bytes:
        """Return one part of a file."""
        start, size, checksum = map(int, segment)
        path = self.place(f"{name}.rows")
        try:
            with path.open("rb") as file:
                file.seek(start)
                read = file.read(size)
        except OSError as error:
            raise DamagedError(f"cannot read {path}: {error.strerror or error}") from error
        if len(read) != size or zlib.crc32(read) != checksum:
            raise DamagedError(f"{path} is damaged at byte {start}: remove it and {name}.npz, and run again")
        return read

    def note(self, name: str, what: dict[str, Any]) -> None:
        """Write a record that people can read."""
        self._write(f"{name}.json", lambda path: path.write_text(json.dumps(what, indent=1) + "\n"))

    def noted(self, name: str) -> dict[str, Any] | None:
        """Return a record, None if there is none."""
        try:
            found: dict[str, Any] = json.loads(self.place(f"{name}.json").read_text())
            return found
        except (FileNotFoundError, ValueError):
            return None

    def drop(self, name: str) -> None:
        """Remove what is not needed any more."""
        for suffix in (".npz", ".rows"):
            self.place(name + suffix).unlink(missing_ok=True)

    def _write(self, name: str, write: Callable[[Path], object]) -> None:
        target = self.place(name)
        temporary = target.with_name(f".{name}.{os.getpid()}.{secrets.token_hex(4)}")
        try:
            write(temporary)
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
