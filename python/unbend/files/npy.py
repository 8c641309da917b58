"""Arrays in .npy files."""

from __future__ import annotations

from pathlib import Path
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
    """Write the array."""
    np.save(file, points, allow_pickle=False)
