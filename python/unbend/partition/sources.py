"""Sources of rows, read block by block: arrays, .npy files and Zarr arrays."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..core.arrays import Matrix, as_points
from ..files import FileError, open_points, split_key

__all__ = ["ArraySource", "FileSource", "Source", "block_rows", "source_of"]

MAX_BLOCK_BYTES = 2**26
"""A block holds at most this many bytes of data."""

MIN_BLOCK_ROWS = 2**16
"""A block has at least this many rows, unless they exceed MAX_BLOCK_BYTES."""

MAX_BLOCKS = 512
"""Data are split into at most this many blocks, because every cell reads a part of each, unless blocks would
exceed MAX_BLOCK_BYTES."""

GATHERED_ROWS = 2**12
"""Scattered rows of a file are read in groups of about this many: the pages that a memory map has touched
count as memory until it is closed."""


class Source(Protocol):
    """Rows that can be read from any process."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the rows that are read: float32 or float64."""

    def read(self, start: int, stop: int) -> Matrix:
        """Return a copy of consecutive rows."""

    def rows(self, indices: npt.NDArray[np.int64]) -> Matrix:
        """Return rows by their indices, which ascend."""

    def fingerprint(self) -> dict[str, Any]:
        """Return a record that differs between data sets, as far as that is cheap."""


def block_rows(shape: tuple[int, int], itemsize: int) -> int:
    """Return the number of rows of a block.

    Examples
    --------
    >>> block_rows((10**6, 3), 8), block_rows((10**9, 3), 8), block_rows((70_000, 784), 4)
    (65536, 1953125, 21399)
    """
    wanted = max(MIN_BLOCK_ROWS, -(-shape[0] // MAX_BLOCKS))
    return int(max(1, min(shape[0], wanted, MAX_BLOCK_BYTES // (shape[1] * itemsize))))


@dataclass(frozen=True, eq=False)
class ArraySource:
    """An array in memory, or memory-mapped."""

    points: Matrix

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.points.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self.points.dtype

    def read(self, start: int, stop: int) -> Matrix:
        """Return a copy of consecutive rows."""
        return self.points[start:stop].copy()

    def rows(self, indices: npt.NDArray[np.int64]) -> Matrix:
        """Return rows by their indices."""
        return self.points[indices]

    def fingerprint(self) -> dict[str, Any]:
        """Return the shape, the type, and a sum over some rows."""
        n = self.shape[0]
        some = self.points[:: max(1, n // 1000)].astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # rows that are not finite are left out later
            total = float(np.nansum(some))
        return {"shape": list(self.shape), "dtype": str(self.dtype), "sum": repr(total)}


@dataclass(frozen=True)
class FileSource:
    """An .npy file or a Zarr array, opened again for each block so that no pages stay in memory."""

    path: str
    shape: tuple[int, int]
    stored: str

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64: other types of at most 16 bits become float32, all others float64."""
        stored = np.dtype(self.stored)
        if stored.kind == "f" and stored.itemsize in (4, 8):
            return stored.newbyteorder("=")
        return np.dtype(np.float32 if stored.itemsize <= 2 else np.float64)

    def read(self, start: int, stop: int) -> Matrix:
        """Return a copy of consecutive rows."""
        return np.array(self._opened()[start:stop], dtype=self.dtype, order="C")

    def rows(self, indices: npt.NDArray[np.int64]) -> Matrix:
        """Return rows by their indices, a group at a time."""
        groups = np.array_split(indices, max(1, len(indices) // GATHERED_ROWS))
        return np.concatenate([self._group(group) for group in groups])

    def _group(self, indices: npt.NDArray[np.int64]) -> Matrix:
        array = self._opened()
        rows = array[indices] if isinstance(array, np.ndarray) else array.oindex[indices]
        return np.array(rows, dtype=self.dtype, order="C")

    def _opened(self) -> Any:
        """Return the array, if it still has its shape: otherwise another program replaced the file."""
        array = open_points(self.path)
        if tuple(array.shape) != self.shape:
            shapes = f"{tuple(array.shape)} instead of {self.shape}"
            raise FileError(f"{self.path} holds an array of shape {shapes}: it changed while it was read")
        return array

    def fingerprint(self) -> dict[str, Any]:
        """Return the path, the shape, the type, and the time of the last change."""
        path = split_key(self.path)[0]
        known = {"path": os.path.realpath(path), "written": os.stat(path).st_mtime_ns}
        return {"shape": list(self.shape), "dtype": self.stored, **known}


def source_of(X: Any, name: str = "X") -> Source:
    """Return the source of `X`: an array, or the path of an .npy file or a Zarr array.

    Examples
    --------
    >>> source_of([[0.0, 1.0], [2.0, 3.0]]).shape
    (2, 2)
    """
    if not isinstance(X, str | os.PathLike):
        points = as_points(X, name)
        if 0 in points.shape:
            raise ValueError(f"{name} is empty: it has shape {points.shape}")
        return ArraySource(points)
    array = open_points(os.fspath(X))
    if len(array.shape) != 2 or 0 in array.shape:
        raise FileError(f"{X} holds an array of shape {tuple(array.shape)}: a row for each point is needed")
    if np.dtype(array.dtype).kind not in "fiub":
        raise FileError(f"{X} holds an array of dtype {array.dtype}: it must hold real numbers")
    n, q = map(int, array.shape)
    return FileSource(os.path.abspath(os.fspath(X)), (n, q), str(array.dtype))
