"""Arrays in .npy files."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from .errors import FileError, one_line

__all__ = ["read", "write"]


def read(file: Path, key: str | None = None) -> Any:
    """Return the array, memory-mapped and read-only."""
    try:
        return np.lib.format.open_memmap(file, mode="r")
    except ValueError as error:
        reason = one_line(error)
        raise FileError(f"cannot read {file}: it is damaged, or no .npy of numbers ({reason})") from error


def write(file: Path, points: Any) -> None:
    """Write the array.

    NumPy writes to true files through a buffer of C, and does not notice if its last bytes find no room. So it is
    handed an object that can do nothing but write.
    """
    with file.open("wb") as stream:
        array = np.asanyarray(points)
        np.lib.format.write_array(SimpleNamespace(write=stream.write), array, allow_pickle=False)
