"""Named arrays in .npz archives."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from .errors import FileError, one_line

__all__ = ["choose", "read", "write"]


def read(file: Path, key: str | None) -> Any:
    """Return the array called `key`, by default X or the only one."""
    if not zipfile.is_zipfile(file):
        raise FileError(f"cannot read {file}: it is damaged, or no .npz archive")
    with np.load(file, allow_pickle=False) as arrays:
        name = choose(file, key, arrays.files)
        try:
            return np.asarray(arrays[name])
        except (ValueError, zipfile.BadZipFile, EOFError, zlib.error) as error:
            raise FileError(f"cannot read {name!r} in {file}: {one_line(error)}") from error


def choose(file: Path, key: str | None, names: list[str]) -> str:
    """Return `key` if it is one of the names; without a key X, or the only name."""
    listed = ", ".join(names) or "nothing"
    if key is not None:
        if key not in names:
            raise FileError(f"{file} has no array {key!r}: it holds {listed}")
        return key
    if "X" in names:
        return "X"
    if len(names) != 1:
        raise FileError(f"{file} holds {listed}: choose one with {file}:NAME")
    return names[0]


def write(file: Path, points: Any) -> None:
    """Write the points as the array Y."""
    np.savez(file, Y=points)
