"""Arrays as the core takes them: checked, and copied only when there is no other way."""

from __future__ import annotations

import mmap
import numbers
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core

MOST_THREADS = 256

IN_MEMORY = 2**31
"""Converted points are held in memory up to this number of bytes; larger ones in a file that is mapped."""

LISTED_COLUMNS, SHOWN_CHARACTERS = 6, 40
"""Number of columns that a message lists, and of characters that it shows of a text."""

BLOCK_BYTES = 2**25
"""Points are converted and checked in blocks of this size."""

Matrix = npt.NDArray[np.float64] | npt.NDArray[np.float32]


def as_points(array: Any, name: str = "X") -> Matrix:
    """Return `array` as a two-dimensional float array, one point per row; `name` is its name in errors.

    float32 and float64 stay what they are, with any strides, memory-mapped or read-only. Integers and halves of
    at most 16 bits become float32, which holds them exactly; all other numbers become float64. Chunked arrays,
    as those of Zarr and HDF5, are read in blocks. More than 2 GiB of converted numbers are held in a temporary
    file, mapped into memory, that vanishes with them.
    """
    if hasattr(array, "toarray") and hasattr(array, "nnz"):
        raise TypeError(f"{name} is sparse: pass a dense array, for example {name}.toarray()")
    if _is_chunked(array):
        return _converted(array, name)
    _refuse_shortened(array, name)
    refuse_text(array, name)
    array = _as_array(array, name)
    refuse_shape(array, name)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} has dtype {array.dtype}: it must hold real numbers")
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise ValueError(f"{name} has {int(array.mask.sum())} masked entries: fill or drop them first")
    if array.dtype not in (np.float32, np.float64):
        array = _converted(array, name)
    array = np.asarray(array)
    if not array.dtype.isnative or not array.flags.aligned:
        array = array.astype(array.dtype.newbyteorder("="))
    whole_steps = all(stride % array.itemsize == 0 for stride in array.strides)
    return array if whole_steps else np.ascontiguousarray(array)


def read_in_blocks(array: Any, name: str = "X") -> Any:
    """Return chunked arrays and those of small numbers as `as_points` does, and all others as they are.

    Tables with columns of text are refused, and arrays that do not have two dimensions.
    """
    _refuse_shortened(array, name)
    refuse_shape(array, name)
    refuse_text(array, name)
    small = isinstance(array, np.ndarray) and array.ndim == 2 and 0 not in array.shape
    if small and array.dtype.kind in "fiub" and array.dtype.itemsize <= 2:
        return as_points(array, name)
    return as_points(array, name) if _is_chunked(array) else array


@dataclass(frozen=True)
class MappedFile:
    """The file that an array is mapped from.

    If another program shortens the file, reading the missing part ends the process (SIGBUS), and nothing in Python
    can catch that. So the size of the file is looked up before the data are read, and during a fit.
    """

    mapping: mmap.mmap
    path: str
    needed: int  # Number of bytes that the file must have.

    def check(self, name: str = "X") -> None:
        """Raise a ValueError if the file is shorter than the array."""
        size = self.mapping.size()
        if size < self.needed:
            raise ValueError(
                f"{name} is mapped from {self.path}, which has {size:,} bytes but needs {self.needed:,}: another "
                "program shortened it, so write it again and map it again"
            )


def mapped_file(array: Any) -> MappedFile | None:
    """Return the file that an array, or the array that it is a view of, is mapped from; None if there is none."""
    while isinstance(array, np.ndarray):
        mapping: Any = array.base
        if isinstance(array, np.memmap) and isinstance(mapping, mmap.mmap):
            # A mapping begins at a whole number of pages.
            start = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY
            return MappedFile(mapping, str(array.filename), start + len(mapping))
        array = mapping
    return None


def _refuse_shortened(array: Any, name: str) -> None:
    """Refuse an array that is mapped from a file that has become shorter: reading it would end the process."""
    if file := mapped_file(array):
        file.check(name)


def refuse_shape(array: Any, name: str = "X") -> None:
    """Refuse arrays, and lists of numbers, that do not have two dimensions.

    scikit-learn would print the whole array, and its tests look for the words "Reshape your data".

    Examples
    --------
    >>> refuse_shape(np.zeros((5, 4, 3)))
    Traceback (most recent call last):
    ValueError: X has shape (5, 4, 3): it must have two dimensions, one point a row
    """
    if isinstance(array, list | tuple) and array and isinstance(array[0], numbers.Number):
        shape: Any = (len(array),)
    else:
        shape = () if isinstance(array, numbers.Number) else getattr(array, "shape", None)
    if not isinstance(shape, tuple) or len(shape) == 2:
        return
    hint = (
        f". Reshape your data: {name}.reshape(-1, 1) makes points of one column, {name}.reshape(1, -1) one point"
        if len(shape) == 1
        else ""
    )
    raise ValueError(f"{name} has shape {shape}: it must have two dimensions, one point a row{hint}")


def refuse_text(array: Any, name: str = "X") -> None:
    """Refuse a data frame, or an array of objects, with columns that hold text, by the names of the columns.

    Examples
    --------
    >>> refuse_text(np.array([[1.5, "a"]], dtype=object))
    Traceback (most recent call last):
    ValueError: X has text in column 1, such as 'a': leave it out, or encode it as numbers
    """
    found = {label: text for label, column in _object_columns(array) if (text := _first_text(column))}
    if found:
        labels, texts = list(found)[:LISTED_COLUMNS], next(iter(found.values()))
        listed = ", ".join(labels) + ", ..." * (len(found) > len(labels))
        columns, them = ("column", "it") if len(found) == 1 else ("columns", "them")
        raise ValueError(
            f"{name} has text in {columns} {listed}, such as {texts[:SHOWN_CHARACTERS]!r}: leave {them} out, or "
            f"encode {them} as numbers"
        )


def _object_columns(array: Any) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """Yield the columns that may hold text, by their labels as messages show them."""
    if hasattr(array, "columns") and hasattr(array, "items"):  # pandas
        columns = ((repr(label), np.asarray(column)) for label, column in array.items())
    elif hasattr(array, "iter_columns"):  # polars
        columns = ((repr(column.name), np.asarray(column)) for column in array.iter_columns())
    elif isinstance(array, np.ndarray) and array.ndim == 2:
        columns = (
            (str(place), column) for place, column in enumerate(array.T if array.dtype.kind in "OU" else ())
        )
    else:
        return
    yield from ((label, column) for label, column in columns if column.dtype.kind in "OU")


def _first_text(column: npt.NDArray[Any]) -> str:
    """Return the first text of a column that is no number; empty if there is none."""
    return next((str(cell) for cell in column if isinstance(cell, str) and not _is_number(cell)), "")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_chunked(array: Any) -> bool:
    known = all(hasattr(array, name) for name in ("chunks", "shape", "dtype", "__getitem__"))
    return known and not isinstance(array, np.ndarray) and len(array.shape) == 2 and 0 not in array.shape


def _converted(array: Any, name: str) -> Matrix:
    """Return the numbers as the core takes them, read and converted block by block."""
    dtype = np.dtype(array.dtype)
    if dtype.kind not in "fiub":
        raise ValueError(f"{name} has dtype {dtype}: it must hold real numbers")
    if dtype.kind != "f" or dtype.itemsize not in (4, 8):
        dtype = np.dtype(np.float32 if dtype.itemsize <= 2 else np.float64)
    made = _room(tuple(array.shape), dtype.newbyteorder("="))
    rows = max(1, BLOCK_BYTES // max(1, made[:1].nbytes))
    with np.errstate(over="ignore"):  # what overflows becomes infinite, and is refused by name
        for start in range(0, len(made), rows):
            made[start : start + rows] = np.asarray(array[start : start + rows])
    return made


def _room(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Matrix:
    if int(np.prod(shape)) * dtype.itemsize <= IN_MEMORY:
        return np.empty(shape, dtype)
    with tempfile.TemporaryFile() as file:  # the mapping keeps the contents of the file
        return np.memmap(file, dtype, "w+", shape=shape)


def _as_array(array: Any, name: str) -> npt.NDArray[Any]:
    try:
        found: npt.NDArray[Any] = np.asanyarray(array)
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{name} is no table of numbers, one point a row: {reason}") from None
    if found.dtype != object or found.ndim != 2 or not hasattr(array, "dtypes"):
        return found
    # Columns of a data frame that may lack values are objects for NumPy. Missing values become NaN.
    kinds = {getattr(dtype, "kind", "O") for dtype in array.dtypes}
    return np.asarray(array.to_numpy(np.float64, na_value=np.nan)) if kinds <= set("fiub") else found


def as_vertex_rows(rows: Any, name: str, n_columns: int, shape: str) -> npt.NDArray[np.int64]:
    """Return rows of vertices, each of which is one `shape` of a mesh; shape and type are checked."""
    array = np.asarray(rows)
    if array.ndim != 2 or array.shape[1] != n_columns:
        raise ValueError(
            f"{name} has shape {array.shape}: it must have {n_columns} columns, the vertices of one {shape} a row"
        )
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} has dtype {array.dtype}: it must hold whole numbers")
    return array.astype(np.int64)


def as_triangles(faces: Any, n: int, name: str = "faces") -> npt.NDArray[np.int64]:
    """Return the triangles of a mesh of `n` vertices, checked."""
    triangles = as_vertex_rows(faces, name, 3, "triangle")
    if len(triangles) == 0:
        raise ValueError(f"{name} has 0 rows: at least 1 triangle is needed")
    bad = (triangles < 0) | (triangles >= n)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"vertex {triangles[row, column]} of triangle {row} is out of range: there are {n} vertices"
        )
    return triangles


def check_entries(points: Matrix, name: str) -> None:
    """Refuse points that the core would refuse, by their own name, and before any work."""
    if 0 in points.shape:
        raise ValueError(f"{name} is empty: it has shape {points.shape}")
    check_finite(points, name)


def check_finite(points: Matrix, name: str = "X") -> None:
    """Refuse points with entries that are not finite or too large, in the words of the core.

    Examples
    --------
    >>> import numpy as np
    >>> check_finite(np.array([[0.0, 1.0], [2.0, np.nan]]))
    Traceback (most recent call last):
    ValueError: X holds NaN at row 1, column 1: every entry must be finite
    """
    rows = max(1, BLOCK_BYTES // max(1, points[:1].nbytes))
    for start in range(0, len(points), rows):
        block = points[start : start + rows]
        if max(-float(block.min()), float(block.max())) <= _core.MAX_MAGNITUDE:  # false for NaN
            continue
        row, column = np.argwhere(~(np.abs(block.astype(np.float64)) <= _core.MAX_MAGNITUDE))[0]
        value, place = float(block[row, column]), f"at row {start + row}, column {column}"
        said = "NaN" if np.isnan(value) else repr(value).replace("e+", "e")
        overflow = "squared distances overflow above 1e150, rescale the data"
        reason = overflow if np.isfinite(value) else "every entry must be finite"
        raise ValueError(f"{name} holds {said} {place}: {reason}")


def are_equal(points: Matrix) -> bool:
    """Return whether all points are equal."""
    same = bool((points[-1] == points[0]).all())  # This decides for nearly all data.
    return same and bool((points == points[0]).all())


def refuse_changed(array: Any, error: Exception | None = None) -> None:
    """Raise a ValueError, caused by the error of a fit, if data that were finite before the fit no longer are."""
    _refuse_shortened(array, "X")
    if not (isinstance(array, np.ndarray) and array.ndim == 2 and array.dtype.kind == "f" and array.size):
        return
    try:
        check_finite(array)
    except ValueError as reason:
        raise ValueError(f"another thread wrote to X while it was fitted, and now {reason}") from error


def thread_count(n_jobs: int | None) -> int:
    """Return the number of threads that `n_jobs` asks for; 0 stands for all.

    As in joblib: None and -1 are all cores, -2 all but one. More than 256 are not started.
    """
    if n_jobs is None or n_jobs == -1:
        return 0
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise ValueError(f"n_jobs = {n_jobs!r} is not a number of threads: use -1 for all, or 1 and more")
    return min(int(n_jobs), MOST_THREADS) if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))


def as_count(value: Any, name: str, least: int = 1) -> int:
    """Return `value` as an integer of at least `least`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise ValueError(f"{name} = {value!r} is not a whole number")
    if value < least:
        raise ValueError(f"{name} = {value} is too few: at least {least} is needed")
    if value > sys.maxsize:
        raise ValueError(f"{name} = {value} is too many: at most {sys.maxsize} can be counted")
    return int(value)
