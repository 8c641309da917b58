"""Labels, numbers and ids of points in files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from . import h5ad, npy, npz, parquet, text
from .errors import FileError
from .tables import readable, split_key

__all__ = ["read_ids", "read_labels", "read_values"]

TABLES = {
    ".csv": text.read_columns,
    ".tsv": text.read_columns,
    ".parquet": parquet.read_columns,
    ".h5ad": h5ad.read_columns,
}
"""Functions that read columns by name, of the suffixes of tables."""


def read_labels(path: str | os.PathLike[str], n: int) -> Any:
    r"""Read one label for each point.

    Labels are read from an array in an ``.npy``, or in an ``.npz`` as ``file.npz:name``; from a column of a
    table, as ``file.csv:name``, or of ``obs``, as ``file.h5ad:name``; or from any other file as text, one label on
    each line. If a text file has one line more than there are points, its first line is a header.

    Parameters
    ----------
    path : str or path-like
        Path of the file.
    n : int
        Number of points.

    Returns
    -------
    ndarray of str, shape (n,)

    Raises
    ------
    FileError
        If the file cannot be read, or does not hold `n` labels.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from unbend.files import read_labels
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "names.txt")
    ...     _ = path.write_text("inner\nouter\n")
    ...     read_labels(path, 2).tolist()
    ['inner', 'outer']
    """
    file, key = split_key(os.fspath(path))
    columns = list(_columns(file, None if key is None else _quoted(file, key), n, lines=True).values())
    labels = columns[0] if len(columns) == 1 else np.column_stack(columns)
    _check_count(path, labels, n, "labels")
    return labels.astype(str)


def read_values(path: str | os.PathLike[str], n: int) -> dict[str, Any]:
    r"""Read numbers of each point, by their names.

    They are columns of a table, as ``file.csv:name,name``, by default all that hold numbers; a numeric column of
    ``obs`` or a variable, as ``file.h5ad:name``; the columns of an array in an ``.npy`` or ``.npz``; or lines of
    any other file. Empty cells become NaN.

    Parameters
    ----------
    path : str or path-like
        Path of the file.
    n : int
        Number of points.

    Returns
    -------
    dict of str to ndarray of shape (n,)

    Raises
    ------
    FileError
        If the file cannot be read, does not hold `n` rows, or a column that is named holds text.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from unbend.files import read_values
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "cells.csv")
    ...     _ = path.write_text("kind,size\nA,1.5\nB,\n")
    ...     read_values(path, 2)
    {'size': array([1.5, nan])}
    """
    file, key = split_key(os.fspath(path))
    columns = _columns(file, key, n, lines=False)
    numbers = {name: _as_numbers(values) for name, values in columns.items()}
    texts = [name for name, values in numbers.items() if values is None]
    if texts and (key is not None or len(texts) == len(numbers)):
        raise FileError(f"{file}, column {texts[0]!r} holds text, not numbers: text is for labels")
    known = {name: values for name, values in numbers.items() if values is not None}
    for name, values in known.items():
        _check_count(f"{file}, {name}", values, n, "numbers")
    return known


def read_ids(path: str | os.PathLike[str], column: str, n: int) -> tuple[str, Any]:
    r"""Read a column of the file of the data that names each point; return its name and its values.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from unbend.files import read_ids
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "cells.csv")
    ...     _ = path.write_text("id,size\n007,1.5\n008,2\n")
    ...     name, ids = read_ids(path, "id", 2)
    >>> name, ids.tolist()
    ('id', ['007', '008'])
    """
    file, _ = split_key(os.fspath(path))
    if file.suffix.lower() not in TABLES:
        raise FileError(f"{file} has no column {column!r}: ids are columns of {', '.join(TABLES)}")
    with readable(file):
        ((name, values),) = TABLES[file.suffix.lower()](file, _quoted(file, column)).items()
    _check_count(f"{file}, {name}", values, n, "ids")
    return name, values


def _columns(file: Path, key: str | None, n: int, *, lines: bool) -> dict[str, Any]:
    """Return the columns of a file that `key` names, as they are, by their names.

    With `lines`, a table of text without a key is read as one label on each line.
    """
    suffix = file.suffix.lower()
    with readable(file):
        if suffix in (".npy", ".npz"):
            array = np.asarray((npy if suffix == ".npy" else npz).read(file, key))
            name = key or file.stem
            if array.ndim != 2:
                return {name: array}
            return {f"{name} {place}": column for place, column in enumerate(array.T, 1)}
        if suffix in TABLES and not (lines and key is None and suffix in (".csv", ".tsv")):
            return TABLES[suffix](file, key)
        with text.open_text(file) as handle:
            rows = handle.read().splitlines()
        return {file.stem: np.array(rows[1:] if len(rows) == n + 1 else rows)}


def _quoted(file: Path, key: str) -> str:
    """Return the key of a single column, whose name may hold a comma."""
    return f'"{key}"' if file.suffix.lower() in (".csv", ".tsv", ".parquet") else key


def _check_count(name: object, values: Any, n: int, noun: str) -> None:
    if values.shape != (n,):
        raise FileError(
            f"{name} holds {noun} of shape {values.shape}: one for each of the {n} points is needed"
        )


def _as_numbers(values: Any) -> Any:
    """Return values as floats, with NaN for empty ones; None if they are text."""
    try:
        if values.dtype.kind in "OUS":
            values = np.where(values.astype(str) == "", "nan", values.astype(str))
        return values.astype(np.float64)
    except ValueError:
        return None
