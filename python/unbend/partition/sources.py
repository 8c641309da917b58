"""Where rows come from, block by block: arrays, .npy files and Zarr arrays, read where they lie."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..core.arrays import Matrix, as_points
from ..files.tables import FileError, split_key

__all__ = ["File", "Held", "Source", "block_rows", "source_of"]

BLOCK_BYTES, FEWEST_ROWS, BLOCKS = 2**26, 2**16, 512
"""A block holds at most so many bytes of data. Within that it has at least so many rows, and there are no
more than so many blocks: every cell reads a part of each."""

AT_ONCE = 2**12
"""Rows drawn here and there are read in groups: what a mapping has touched counts as memory until it is
closed."""


class Source(Protocol):
    """Rows that can be read from any process."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """What is read: float32 or float64."""

    def read(self, start: int, stop: int) -> Matrix:
        """Return rows as an array of their own."""

    def rows(self, indices: npt.NDArray[np.int64]) -> Matrix:
        """Return some rows; `indices` ascend."""

    def mark(self) -> dict[str, Any]:
        """Return what tells these rows from others, as far as that is cheap."""


def block_rows(shape: tuple[int, int], itemsize: int) -> int:
    """Return how many rows a block has.

    Examples
    --------
    >>> block_rows((10**6, 3), 8), block_rows((10**9, 3), 8), block_rows((70_000, 784), 4)
    (65536, 1953125, 21399)
    """
    wanted = max(FEWEST_ROWS, -(-shape[0] // BLOCKS))
    return int(max(1, min(shape[0], wanted, BLOCK_BYTES // (shape[1] * itemsize))))


@dataclass(frozen=True, eq=False)
class Held:
    """An array in memory, or mapped into it."""

    points: Matrix

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.points.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self.points.dtype

    def read(self, start: int, stop: int) -> Matrix:
        """Return rows as an array of their own."""
        return self.points[start:stop].copy()

    def rows(self, indices: npt.NDArray[np.int64]) -> Matrix:
        """Return some rows."""
        return self.points[indices]

    def mark(self) -> dict[str, Any]:
        """Return its shape and type, and a sum over some rows."""
        n = self.shape[0]
        some = self.points[:: max(1, n // 1000)].astype(np.float64)
        return {"shape": list(self.shape), "dtype": str(self.dtype), "sum": repr(float(np.nansum(some)))}


@dataclass(frozen=True)
class File:
    """An .npy file or a Zarr array: opened anew for each block, so that nothing is kept."""

    path: str
    shape: tuple[int, int]
    stored: str

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64: what is narrower than 32 bits becomes the first, all else the second."""
        stored = np.dtype(self.stored)
        if stored.kind == "f" and stored.itemsize in (4, 8):
            return stored.newbyteorder("=")
        return np.dtype(np.float32 if stored.itemsize <= 2 else np.float64)

    def read(self, start: int, stop: int) -> Matrix:
        """Return rows as an array of their own."""
        return np.array(_open(self.path)[start:stop], dtype=self.dtype, order="C")

    def rows(self, indices: npt.NDArray[np.int64]) -> Matrix:
        """Return some rows, a few at a time."""
        groups = np.array_split(indices, max(1, len(indices) // AT_ONCE))
        return np.concatenate([self._some(group) for group in groups])

    def _some(self, indices: npt.NDArray[np.int64]) -> Matrix:
        array = _open(self.path)
        found = array[indices] if isinstance(array, np.ndarray) else array.oindex[indices]
        return np.array(found, dtype=self.dtype, order="C")

    def mark(self) -> dict[str, Any]:
        """Return where it is, how large, and when it was written."""
        path = split_key(self.path)[0]
        written = os.stat(path).st_mtime_ns
        return {
            "shape": list(self.shape),
            "dtype": self.stored,
            "path": os.path.realpath(path),
            "written": written,
        }


def source_of(X: Any, name: str = "X") -> Source:
    """Return where to read `X`: a path to an .npy file or a Zarr array, or an array.

    Examples
    --------
    >>> source_of([[0.0, 1.0], [2.0, 3.0]]).shape
    (2, 2)
    """
    if not isinstance(X, str | os.PathLike):
        return Held(as_points(X, name))
    array = _open(os.fspath(X))
    if len(array.shape) != 2 or 0 in array.shape:
        raise FileError(f"{X} holds an array of shape {tuple(array.shape)}: a row for each point is needed")
    if np.dtype(array.dtype).kind not in "fiub":
        raise FileError(f"{X} holds an array of dtype {array.dtype}: it must hold real numbers")
    return File(os.path.abspath(os.fspath(X)), (int(array.shape[0]), int(array.shape[1])), str(array.dtype))


def _open(path: str) -> Any:
    """Return the array of a file without reading it."""
    file, key = split_key(path)
    if not file.exists():
        raise FileError(f"there is no file {file}")
    if file.suffix.lower() == ".npy":
        try:
            return np.load(file, mmap_mode="r", allow_pickle=False)
        except ValueError as error:
            raise FileError(f"cannot read {file}: {' '.join(str(error).split())}") from error
    if file.suffix.lower() != ".zarr":
        raise FileError(f"cannot read {file} in blocks: its suffix {file.suffix!r} is none of .npy, .zarr")
    try:
        import zarr
    except ImportError as error:
        raise FileError(f"{file} needs zarr: pip install 'unbend[zarr]'") from error
    opened: Any = zarr.open(str(file), mode="r")
    found = opened if key is None else opened[key]
    if hasattr(found, "shape"):
        return found
    names = sorted(found.array_keys())
    if "X" not in names and len(names) != 1:
        raise FileError(f"{path} holds {len(names)} arrays: name one, as in {file}:NAME")
    return found["X" if "X" in names else names[0]]
