"""Tables of points in files: the formats, and functions that work for all of them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from . import h5ad, npy, npz, parquet, text, zarr
from .atomic import check_free, write_atomically
from .errors import FileError, one_line

__all__ = [
    "FORMATS",
    "FileError",
    "check_target",
    "open_points",
    "read_points",
    "readable",
    "split_key",
    "write_atomically",
    "write_points",
]


@dataclass(frozen=True)
class Format:
    """A kind of file: functions of its path, and what a name after the colon selects.

    `write` takes the points as well, and for AnnData the name of the array and the source. `check` refuses to
    write if a package is missing; it takes the beginning of the message. `open` returns an array without reading.
    """

    read: Callable[[Path, str | None], Any]
    write: Callable[..., None] | None = None
    check: Callable[[str], Any] | None = None
    open: Callable[[Path, str | None], Any] | None = None
    names: Literal["arrays", "columns"] | None = None


FORMATS = {
    ".npy": Format(npy.read, npy.write, open=npy.read),
    ".npz": Format(npz.read, npz.write, names="arrays"),
    ".csv": Format(text.read, text.write_csv, names="columns"),
    ".tsv": Format(text.read, text.write_tsv, names="columns"),
    ".parquet": Format(parquet.read, parquet.write, parquet.check, names="columns"),
    ".h5ad": Format(h5ad.read, h5ad.write, h5ad.check, names="arrays"),
    ".zarr": Format(zarr.read, open=zarr.open_array, names="arrays"),
}


def read_points(path: str | os.PathLike[str], *, leave_out: str | None = None) -> Any:
    r"""Read a point cloud, one point a row.

    The suffix decides how the file is read:

    - ``.npy``: memory-mapped, so that only the parts in use are read;
    - ``.npz``: the array called ``X``, or the only one; ``file.npz:name`` selects another;
    - ``.csv``, ``.tsv``: numbers only. A first line without any number is a header, lines that begin with
      ``#`` are comments, and a ``.csv`` may be separated by semicolons. A first column without a name that
      counts the rows from 0 or 1 is the index of a data frame and left out. A first line 0, 1, 2, ... above
      numbers with fractions is the header of a data frame without names: it is skipped, with a warning;
    - ``.parquet``: numeric columns only; needs ``pip install 'unbend[parquet]'``;
    - of these three ``file.csv:name,name`` selects columns by their names, ``file.csv:-name`` leaves one out, and
      ``file.csv:3-10`` selects a range by numbers, from 1;
    - ``.h5ad``, written by AnnData: ``X_pca`` of ``obsm`` if there is one, else ``X``; ``file.h5ad:NAME``
      selects another array of ``obsm``, ``file.h5ad:X`` the data; needs ``pip install 'unbend[anndata]'``;
    - ``.zarr``: the array, or of a group as for ``.npz``, or ``file.zarr:path/to/array``; an AnnData is read
      as from ``.h5ad``; needs ``pip install 'unbend[zarr]'``.

    Parameters
    ----------
    path : str or path-like
        Path of the file.
    leave_out : str, optional
        Column of a table that is no coordinate, such as the ids of the points.

    Returns
    -------
    ndarray of shape (n, q)
        Integers or floats. From ``.npy`` it is read-only.

    Raises
    ------
    FileError
        If there is no such file, its kind is unknown, or it does not hold a table of numbers. It is both a
        ValueError and an OSError.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from unbend.files import read_points
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "points.csv")
    ...     _ = path.write_text("x,y\n1,2\n3,4.5\n")
    ...     read_points(path)
    array([[1. , 2. ],
           [3. , 4.5]])
    """
    file, key = split_key(os.fspath(path))
    known = FORMATS.get(file.suffix.lower())
    if known is None:
        raise FileError(f"cannot read {file}: its suffix {file.suffix!r} is none of {', '.join(FORMATS)}")
    if leave_out is not None and known.names == "columns":
        key = ",".join([*([] if key is None else [key]), f'"-{leave_out}"'])
    with readable(file):
        return _checked(known.read(file, key), path)


def open_points(path: str) -> Any:
    """Return the array of an ``.npy`` or ``.zarr`` without reading it."""
    file, key = split_key(path)
    known = FORMATS.get(file.suffix.lower())
    with readable(file):
        if known is None or known.open is None:
            suffixes = ", ".join(suffix for suffix, each in FORMATS.items() if each.open is not None)
            raise FileError(f"cannot read {file} in blocks: its suffix {file.suffix!r} is none of {suffixes}")
        return known.open(file, key)


def write_points(
    path: str | os.PathLike[str],
    points: Any,
    *,
    force: bool = False,
    name: str = "X_unbend",
    source: str | os.PathLike[str] | None = None,
    ids: text.Ids = None,
) -> Path:
    """Write a point cloud, one point a row, so that the file appears whole or not at all.

    :func:`read_points` reads the same bits again.

    Parameters
    ----------
    path : str or path-like
        Path of the file. The suffix decides what is written: ``.npy``; ``.npz`` with the array ``Y``;
        ``.csv``, ``.tsv`` and ``.parquet`` with the columns y1, y2, ...; ``.h5ad`` with an array of ``obsm``,
        named as in ``file.h5ad:NAME``.
    points : ndarray of shape (n, d)
        The points.
    force : bool, default False
        If True, replace an existing file.
    name : str, default "X_unbend"
        Name of the array in an ``.h5ad``, if the path does not name it.
    source : str or path-like, optional
        File that the data were read from. If both files are ``.h5ad``, all its contents are copied.
    ids : (str, array-like of shape (n,)), optional
        Name and values of a column that is written before the points, to ``.csv``, ``.tsv`` and ``.parquet``.

    Returns
    -------
    Path
        Path of the file.

    Raises
    ------
    FileError
        As :func:`check_target` does.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from unbend.files import read_points, write_points
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read_points(write_points(pathlib.Path(folder, "points.csv"), np.array([[1.0, 0.1]])))
    array([[1. , 0.1]])
    """
    check_target(path, force=force)
    target, key = split_key(os.fspath(path), "arrays")
    more: list[Any] = []
    write = FORMATS[target.suffix.lower()].write
    if target.suffix.lower() == ".h5ad":
        more = [key or name, None if source is None else split_key(os.fspath(source))[0]]
    if ids is not None:
        if ids[0] in text.column_names(points):
            raise FileError(f"cannot write {path}: ids and a coordinate are both called {ids[0]!r}")
        more = [ids]
    assert write is not None
    return write_atomically(target, lambda file: write(file, points, *more), force=force)


def check_target(
    path: str | os.PathLike[str], *, force: bool = False, suffixes: Iterable[str] | None = None
) -> None:
    """Raise a FileError if a result cannot be written; to be called before the work begins.

    `suffixes` are those allowed, by default those of :func:`write_points`; empty allows any.
    """
    writable = [suffix for suffix, known in FORMATS.items() if known.write is not None]
    allowed = writable if suffixes is None else list(suffixes)
    path = split_key(os.fspath(path), "arrays")[0] if suffixes is None else Path(path)
    suffix = path.suffix.lower()
    if allowed and suffix not in allowed:
        raise FileError(f"cannot write {path}: its suffix {path.suffix!r} is none of {', '.join(allowed)}")
    check = FORMATS[suffix].check if suffixes is None else None
    if check is not None:
        check(f"cannot write {path}")
    check_free(path, force)
    if not path.parent.is_dir():
        raise FileError(f"cannot write {path}: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise FileError(f"cannot write {path}: the folder {path.parent} is read-only")


def split_key(path: str, *kinds: str) -> tuple[Path, str | None]:
    """Split ``file.npz:name`` at the colon, unless a file has that name.

    `kinds` are the kinds of names that count: "arrays" or "columns", by default both.
    """
    kinds = kinds or ("arrays", "columns")
    suffixes = "|".join(re.escape(suffix) for suffix, known in FORMATS.items() if known.names in kinds)
    match = re.fullmatch(rf"(.+?(?:{suffixes})):(.+)", path, flags=re.IGNORECASE | re.DOTALL)
    if match is None or os.path.exists(path):
        return Path(path), None
    return Path(match[1]), match[2]


@contextmanager
def readable(file: Path) -> Iterator[None]:
    """Refuse a path that is not a file, and an empty file; put errors of the system and of parsers in one line.

    Parsers of other packages raise errors of any class when a file is damaged.
    """
    if not file.exists():
        raise FileError(f"there is no file {file}")
    if not (file.suffix.lower() == ".zarr" and file.is_dir()):
        if not file.is_file():
            raise FileError(f"cannot read {file}: it is not a file")
        if file.stat().st_size == 0:
            raise FileError(f"{file} is empty")
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"cannot read {file}: {error.strerror or one_line(error)}") from error
    except Exception as error:
        reason = one_line(error) or type(error).__name__
        raise FileError(f"cannot read {file}: it is damaged ({reason})") from error


def _checked(array: Any, name: object) -> Any:
    if array.dtype.kind not in "fiu":
        raise FileError(f"{name} holds {array.dtype} entries: real numbers are needed")
    if array.ndim != 2:
        raise FileError(f"{name} has shape {array.shape}: two dimensions are needed, one point a row")
    if 0 in array.shape:
        raise FileError(f"{name} has shape {array.shape}: it holds no points")
    return array
