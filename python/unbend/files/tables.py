"""Points from files and to files, which are either whole or not there."""

from __future__ import annotations

import csv
import os
import re
import secrets
import shutil
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "FileError",
    "check_target",
    "read_labels",
    "read_points",
    "split_key",
    "write_atomically",
    "write_points",
]

Points = npt.NDArray[Any]

KEYED = (".npz", ".h5ad", ".zarr")
"""What holds several arrays, of which one is chosen by its name after a colon."""

TABLES = (".csv", ".tsv", ".parquet")
"""What has columns, of which some are chosen by their names after a colon."""

NAMED_IN_HINT = 6
"""So many columns are listed in a hint."""


class FileError(ValueError, OSError):
    """A file cannot be read as points, or must not be written. The message is one line."""


def read_points(path: str | os.PathLike[str]) -> Points:
    r"""Read a point cloud, one point a row.

    The suffix says what the file is:

    - ``.npy``: memory-mapped, so that only what is used is read;
    - ``.npz``: the array called ``X``, or the only one; ``file.npz:name`` chooses;
    - ``.csv``, ``.tsv``: numbers only. A first line without any number is a header, lines that begin with
      ``#`` are comments, and a ``.csv`` may be separated by semicolons. A first column without a name that
      counts the rows from 0 or 1 is the index of a data frame and left out. A first line 0, 1, 2, ... above
      numbers with fractions is the header of a data frame without names: it is passed over, with a warning;
    - ``.parquet``: numeric columns only; needs ``pip install 'unbend[parquet]'``;
    - of these three ``file.csv:name,name`` takes some of the columns, by their names;
    - ``.h5ad``, as of AnnData: ``X_pca`` of ``obsm`` if it is there, else ``X``; ``file.h5ad:NAME`` takes
      another of ``obsm``, ``file.h5ad:X`` the data themselves; needs ``pip install 'unbend[anndata]'``;
    - ``.zarr``: the array, or of a group as for ``.npz``, or ``file.zarr:path/to/array``; what is an AnnData
      is read as ``.h5ad``; needs ``pip install 'unbend[zarr]'``.

    Parameters
    ----------
    path : str or path-like
        The file.

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
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        kinds = ", ".join(_READERS)
        raise FileError(f"cannot read {file}: its suffix {file.suffix!r} is none of {kinds}")
    _check_readable(file)
    try:
        return _checked(reader(file, key), path)
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"cannot read {file}: {error.strerror or error}") from error


def read_labels(path: str | os.PathLike[str], n: int) -> Points:
    r"""Read one label for each point.

    From ``.npy``, or ``.npz`` as ``file.npz:name``, an array of any kind but objects; a column of a table as
    ``file.csv:name``; every other file is text with a label on each line. If it has one line more than there
    are points, the first is a header.

    Parameters
    ----------
    path : str or path-like
        The file.
    n : int
        How many points there are.

    Returns
    -------
    ndarray of str, shape (n,)

    Raises
    ------
    FileError
        If it cannot be read, or does not hold `n` labels.

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
    _check_readable(file)
    try:
        held = _read_named(file, key, n)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"cannot read {file}: {error.strerror or error}") from error
    if held.shape != (n,):
        raise FileError(
            f"{path} holds labels of shape {held.shape}: one for each of the {n} points is needed"
        )
    return held.astype(str)


def _read_named(file: Path, key: str | None, n: int) -> Points:
    suffix = file.suffix.lower()
    if suffix in (".npy", ".npz"):
        return np.asarray((_read_npy if suffix == ".npy" else _read_npz)(file, key))
    if key is not None and suffix in (".csv", ".tsv"):
        return _read_column(file, key, _delimiter(file))
    return _read_lines(file, n)


def _read_lines(file: Path, n: int) -> Points:
    with _open(file) as handle:
        lines = handle.read().splitlines()
    return np.array(lines[1:] if len(lines) == n + 1 else lines)


def write_atomically(
    path: str | os.PathLike[str], writer: Callable[[Path], object], *, force: bool = False
) -> Path:
    """Write a file so that it appears whole or not at all.

    Parameters
    ----------
    path : str or path-like
        Where it shall be. The folder must exist.
    writer : callable
        Takes the path of an empty temporary file in the same folder, with the same suffix, and fills it.
    force : bool, default False
        Whether to replace a file that is there already.

    Returns
    -------
    Path
        Where it is.

    Raises
    ------
    FileError
        If there is such a file and `force` is not set, or the folder cannot be written to. What `writer`
        raises passes through; nothing is left behind.
    """
    path = Path(path)
    _check_place(path, force)
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.stem}.{secrets.token_hex(4)}{target.suffix}")
    try:
        temporary.touch(exist_ok=False)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from error
    try:
        writer(temporary)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def write_points(
    path: str | os.PathLike[str],
    points: Points,
    *,
    force: bool = False,
    name: str = "X_unbend",
    source: str | os.PathLike[str] | None = None,
) -> Path:
    """Write a point cloud, one point a row, so that it appears whole or not at all.

    What is read again by :func:`read_points` has the same bits.

    Parameters
    ----------
    path : str or path-like
        Where it shall be. The suffix says what it becomes: ``.npy``; ``.npz`` with the array ``Y``;
        ``.csv``, ``.tsv`` and ``.parquet`` with the columns y1, y2, ...; ``.h5ad`` with an array of ``obsm``,
        called as in ``file.h5ad:NAME``.
    points : ndarray of shape (n, d)
        The points.
    force : bool, default False
        Whether to replace a file that is there already.
    name : str, default "X_unbend"
        Of the array in an ``.h5ad``, if the path does not say.
    source : str or path-like, optional
        Where the data were read: if both are ``.h5ad``, the new one has everything that is in it, too.

    Returns
    -------
    Path
        Where it is.

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
    target, key = split_key(os.fspath(path), KEYED)
    if target.suffix.lower() == ".h5ad":
        origin = None if source is None else split_key(os.fspath(source))[0]
        return write_atomically(
            target, lambda file: _write_h5ad(file, points, key or name, origin), force=force
        )
    write = _WRITERS[target.suffix.lower()]
    return write_atomically(target, lambda file: write(file, points), force=force)


def check_target(
    path: str | os.PathLike[str], *, force: bool = False, suffixes: Iterable[str] | None = None
) -> None:
    """Find out before the work whether its result can be written.

    Parameters
    ----------
    path : str or path-like
        Where it shall be.
    force : bool, default False
        Whether a file that is there already will be replaced.
    suffixes : iterable of str, optional
        Those that are known; by default those of :func:`write_points`. Empty means any.

    Raises
    ------
    FileError
        If the suffix is unknown, there is no such folder, there is such a file and `force` is not set, or
        a package is missing.
    """
    known = tuple((*_WRITERS, ".h5ad") if suffixes is None else suffixes)
    path = split_key(os.fspath(path), KEYED)[0] if ".h5ad" in known else Path(path)
    if known and path.suffix.lower() not in known:
        raise FileError(f"cannot write {path}: its suffix {path.suffix!r} is none of {', '.join(known)}")
    if path.suffix.lower() == ".parquet" and known:
        _import_parquet(f"cannot write {path}")
    if path.suffix.lower() == ".h5ad" and known:
        _import_anndata(f"cannot write {path}")
    _check_place(path, force)
    if not path.parent.is_dir():
        raise FileError(f"cannot write {path}: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise FileError(f"cannot write {path}: the folder {path.parent} may not be written to")


def _check_place(path: Path, force: bool) -> None:
    if path.is_dir():
        raise FileError(f"cannot write {path}: it is a folder")
    if path.exists() and not force:
        raise FileError(f"cannot write {path}: it exists already")


def split_key(path: str, kinds: Iterable[str] = (*KEYED, *TABLES)) -> tuple[Path, str | None]:
    """Take ``file.npz:name`` apart, unless there is a file of that name."""
    suffixes = "|".join(map(re.escape, kinds))
    match = re.fullmatch(rf"(.+?(?:{suffixes})):(.+)", path, flags=re.IGNORECASE | re.DOTALL)
    if match is None or os.path.exists(path):
        return Path(path), None
    return Path(match[1]), match[2]


def _check_readable(file: Path) -> None:
    if not file.exists():
        raise FileError(f"there is no file {file}")
    if file.suffix.lower() == ".zarr" and file.is_dir():
        return
    if not file.is_file():
        raise FileError(f"cannot read {file}: it is not a file")
    if file.stat().st_size == 0:
        raise FileError(f"{file} is empty")


def _checked(array: Points, name: object) -> Points:
    if array.dtype.kind not in "fiu":
        raise FileError(f"{name} holds {array.dtype} entries: real numbers are needed")
    if array.ndim != 2:
        raise FileError(f"{name} has shape {array.shape}: two dimensions are needed, one point a row")
    if 0 in array.shape:
        raise FileError(f"{name} has shape {array.shape}: it holds no points")
    return array


# NumPy ---------------------------------------------------------------------------------------------------


def _read_npy(file: Path, key: str | None) -> Points:
    try:
        return np.lib.format.open_memmap(file, mode="r")
    except ValueError as error:
        reason = _one_line(error)
        raise FileError(f"cannot read {file}: it is damaged, or no .npy of numbers ({reason})") from error


def _read_npz(file: Path, key: str | None) -> Points:
    if not zipfile.is_zipfile(file):
        raise FileError(f"cannot read {file}: it is damaged, or no .npz archive")
    with np.load(file, allow_pickle=False) as arrays:
        name = _choose(file, key, arrays.files)
        try:
            return np.asarray(arrays[name])
        except (ValueError, zipfile.BadZipFile, EOFError, zlib.error) as error:
            raise FileError(f"cannot read {name!r} in {file}: {_one_line(error)}") from error


def _choose(file: Path, key: str | None, keys: list[str]) -> str:
    names = ", ".join(keys) or "nothing"
    if key is not None:
        if key not in keys:
            raise FileError(f"{file} has no array {key!r}: it holds {names}")
        return key
    if "X" in keys:
        return "X"
    if len(keys) != 1:
        raise FileError(f"{file} holds {names}: choose one with {file}:NAME")
    return keys[0]


# HDF5 and Zarr --------------------------------------------------------------------------------------------


def _import_h5py(complaint: str) -> Any:
    try:
        import h5py
    except ImportError as error:
        raise FileError(f"{complaint}: it needs h5py, pip install 'unbend[anndata]'") from error
    return h5py


def _read_h5ad(file: Path, key: str | None) -> Points:
    h5py = _import_h5py(f"cannot read {file}")
    try:
        with h5py.File(file, "r") as store:
            return _read_annotated(file, key, store)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"cannot read {file}: it is damaged, or no .h5ad ({_one_line(error)})") from error


def _read_zarr(file: Path, key: str | None) -> Points:
    try:
        import zarr
    except ImportError as error:
        raise FileError(f"cannot read {file}: it needs zarr, pip install 'unbend[zarr]'") from error
    try:
        store: Any = zarr.open(file, mode="r")
    except Exception as error:  # of which class depends on the version
        raise FileError(f"cannot read {file}: it is damaged, or no Zarr ({_one_line(error)})") from error
    if not hasattr(store, "keys"):
        if key is not None:
            raise FileError(f"{file} is one array: leave out :{key}")
        return np.asarray(store[...])
    if "obsm" in store:
        return _read_annotated(file, key, store)
    if key is None or key not in store:
        key = _choose(file, key, sorted(name for name in store if hasattr(store[name], "shape")))
    return _read_dataset(file, key, store[key])


def _read_annotated(file: Path, key: str | None, store: Any) -> Points:
    """Read from where AnnData keeps what: the data as X, everything else that is one row a point in obsm."""
    obsm = store.get("obsm", {})
    if key is None:
        key = "X_pca" if "X_pca" in obsm or "X" not in store else "X"
    if key == "X" and "X" in store:
        return _read_dataset(file, key, store["X"])
    name = key.removeprefix("obsm/")
    if name not in obsm:
        held = ", ".join([*["X"] * ("X" in store), *sorted(obsm)]) or "nothing"
        raise FileError(f"{file} has no array {key!r}: it holds {held}")
    return _read_dataset(file, name, obsm[name])


def _read_dataset(file: Path, name: str, dataset: Any) -> Points:
    if not hasattr(dataset, "shape"):
        kind = dataset.attrs.get("encoding-type", "a group")
        raise FileError(f"{name!r} in {file} is {kind}: a dense array is needed, as {file}:X_pca")
    return np.asarray(dataset[...])


# Text ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Layout:
    """How a table of text is written."""

    delimiter: str
    skip: int
    """Lines before the first row of numbers."""
    width: int
    names: list[str] | None
    wanted: tuple[int, ...] | None = None
    """The columns to read, if not all."""

    def cells(self, line: str) -> list[str]:
        return _cells(line, self.delimiter)

    def parse(self, lines: Iterable[str], skip: int = 0) -> Points:
        return np.loadtxt(
            lines, delimiter=self.delimiter, skiprows=skip, ndmin=2, quotechar='"', usecols=self.wanted
        )


def _delimiter(file: Path) -> str:
    if file.suffix.lower() == ".tsv":
        return "\t"
    return "," if ";" not in _first_line(file)[1] else ";"


def _read_column(file: Path, key: str, delimiter: str) -> Points:
    """Return a column as text."""
    layout = _layout(file, delimiter)
    (place,) = _places(file, f'"{key}"', layout.names)
    rows = [layout.cells(line) for _, line in _lines(file, after=layout.skip)]
    return np.array([row[place].strip() if place < len(row) else "" for row in rows])


def _read_text(file: Path, key: str | None) -> Points:
    layout = _layout(file, _delimiter(file))
    if key is not None:
        layout = replace(layout, wanted=tuple(_places(file, key, layout.names)))
    try:
        with _open(file) as handle:
            table = layout.parse(handle, skip=layout.skip)
    except ValueError:
        table = _read_untidy(file, layout)
    return table[:, 1:] if key is None and _has_index(table, layout.names) else table


def _places(file: Path, key: str, names: list[str] | None) -> Iterator[int]:
    """Yield where the columns are that are asked for."""
    if names is None:
        raise FileError(f"{file} has no header: columns cannot be chosen by {key!r}")
    known = [name.strip() for name in names]
    for name in map(str.strip, _cells(key, ",")):
        if name not in known:
            raise FileError(f"{file} has no column {name!r}: it has {_listed(known)}")
        yield known.index(name)


def _listed(names: list[str], between: str = ", ") -> str:
    more = len(names) - NAMED_IN_HINT
    return between.join(names[:NAMED_IN_HINT]) + (f"{between}..." if more > 0 else "")


def _read_untidy(file: Path, layout: _Layout) -> Points:
    """Read what NumPy refused: a fault is named, lines of mere spaces are passed over."""
    fault = _first_fault(file, layout)
    if fault is not None:
        raise FileError(fault)
    try:
        return layout.parse((line for _, line in _lines(file, after=layout.skip)))
    except ValueError as error:
        raise FileError(f"cannot read {file}: {_one_line(error)}") from error


def _layout(file: Path, delimiter: str) -> _Layout:
    number, line = _first_line(file)
    names = _cells(line, delimiter)
    if not _is_header(names) and not _is_numbered(file, number, names, delimiter):
        return _Layout(delimiter, number - 1, len(names), None)
    _first_line(file, after=number)
    return _Layout(delimiter, number, len(names), names)


def _is_header(cells: list[str]) -> bool:
    first, *rest = (cell.strip() for cell in cells)
    # Above the index of a data frame there is no name, and columns without names are numbered.
    if not first and rest == [str(column) for column in range(len(rest))]:
        return bool(rest)
    return not any(map(_is_number, (first, *rest)))


def _is_numbered(file: Path, number: int, cells: list[str], delimiter: str) -> bool:
    """Return whether the first line numbers the columns of a data frame, and say what it is taken for."""
    if len(cells) < 2 or [cell.strip() for cell in cells] != [str(column) for column in range(len(cells))]:
        return False
    following = next((line for _, line in _lines(file, after=number)), "")
    if all(cell.strip().lstrip("-").isdigit() for cell in _cells(following, delimiter) or ["0"]):
        return False
    # Two columns: 0, 1 may well be a point.
    header = len(cells) > 2
    taken = "is taken for names of columns" if header else "may be names of columns, but is read as a point"
    warnings.warn(f"{file}, line {number}: {_listed(cells)} {taken}", stacklevel=2)
    return header


def _has_index(table: Points, names: list[str] | None) -> bool:
    if names is None or names[0].strip() or table.shape[1] < 2:
        return False
    counted = np.arange(len(table))
    return bool((table[:, 0] == counted).all() or (table[:, 0] == counted + 1).all())


def _first_fault(file: Path, layout: _Layout) -> str | None:
    """Say where the first cell is that is not a number."""
    for number, line in _lines(file, after=layout.skip):
        cells = layout.cells(line)
        if len(cells) != layout.width:
            return f"{file}, line {number} has {_columns(len(cells))}, but the first has {layout.width}"
        for column in layout.wanted or range(len(cells)):
            cell = cells[column]
            if not _is_number(cell):
                what = f"{_shortened(cell)!r} is not a number" if cell.strip() else "the cell is empty"
                hint = _hint(file, cells, layout.names) if cell.strip() and layout.wanted is None else ""
                return f"{file}, line {number}, {_column(column, layout.names)}: {what}{hint}"
    return None


def _hint(file: Path, cells: list[str], names: list[str] | None) -> str:
    """Say how to leave out what is text, if that can be done."""
    numeric = [name.strip() for name, cell in zip(names or (), cells, strict=False) if _is_number(cell)]
    return f"; to read some columns, name them: {file}:{_listed(numeric, ',')}" if numeric else ""


def _column(column: int, names: list[str] | None) -> str:
    name = names[column].strip() if names else ""
    return f"column {column + 1}" + (f" ({_shortened(name)})" if name else "")


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"


def _first_line(file: Path, after: int = 0) -> tuple[int, str]:
    for number, line in _lines(file, after):
        return number, line
    raise FileError(f"{file} is empty" if after == 0 else f"{file} holds a header, but no points")


def _lines(file: Path, after: int = 0) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that is neither blank nor a comment."""
    with _open(file) as handle:
        for number, line in enumerate(handle, 1):
            text = line.split("#", 1)[0].rstrip("\r\n")
            if number > after and text.strip(" "):
                yield number, text


def _open(file: Path) -> IO[str]:
    # A byte that is no UTF-8 can be part of a name; in a number it is found and reported.
    return open(file, encoding="utf-8-sig", errors="replace")


def _cells(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# Parquet -------------------------------------------------------------------------------------------------


def _import_parquet(complaint: str) -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise FileError(f"{complaint}: it needs pyarrow, pip install 'unbend[parquet]'") from error
    return pa, pq


def _read_parquet(file: Path, key: str | None) -> Points:
    pa, pq = _import_parquet(f"cannot read {file}")
    try:
        with pq.ParquetFile(file) as source:
            table = source.read()
    except pa.ArrowException as error:
        raise FileError(f"cannot read {file}: {_one_line(error)}") from error
    kept = [name for name in table.column_names if not re.fullmatch(r"__index_level_\d+__", name)]
    if key is not None:
        kept = [kept[place] for place in _places(file, key, kept)]
    return _stacked([_parquet_column(file, name, table.column(name)) for name in kept], table.num_rows)


def _parquet_column(file: Path, name: str, column: Any) -> Points:
    import pyarrow as pa

    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise FileError(f"{file}, column {name!r} holds {column.type}, not numbers")
    if column.null_count:
        raise FileError(f"{file}, column {name!r} lacks {column.null_count} of {len(column)} values")
    values: Points = column.to_numpy()
    return values


def _stacked(columns: list[Points], rows: int) -> Points:
    table: Points = np.empty((rows, len(columns)), dtype=np.result_type(*columns) if columns else float)
    for column, values in enumerate(columns):
        table[:, column] = values
    return table


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


_READERS: dict[str, Callable[[Path, str | None], Points]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".csv": _read_text,
    ".tsv": _read_text,
    ".parquet": _read_parquet,
    ".h5ad": _read_h5ad,
    ".zarr": _read_zarr,
}


# Writing -------------------------------------------------------------------------------------------------


def _write_npy(file: Path, points: Points) -> None:
    np.save(file, points, allow_pickle=False)


def _write_npz(file: Path, points: Points) -> None:
    np.savez(file, Y=points)


def _write_csv(file: Path, points: Points, delimiter: str = ",") -> None:
    header = delimiter.join(_column_names(points))
    # As many digits as tell every double from its neighbours.
    np.savetxt(file, points, fmt="%.17g", delimiter=delimiter, header=header, comments="")


def _write_tsv(file: Path, points: Points) -> None:
    _write_csv(file, points, "\t")


def _write_parquet(file: Path, points: Points) -> None:
    pa, pq = _import_parquet(f"cannot write {file}")
    columns = {name: np.ascontiguousarray(c) for name, c in zip(_column_names(points), points.T, strict=True)}
    pq.write_table(pa.table(columns), file)


def _import_anndata(complaint: str) -> Any:
    try:
        import anndata
    except ImportError as error:
        raise FileError(f"{complaint}: it needs anndata, pip install 'unbend[anndata]'") from error
    return anndata


def _write_h5ad(file: Path, points: Points, name: str, source: Path | None) -> None:
    """Put the points beside all that is in the source, of which nothing is read; or alone."""
    if source is None or source.suffix.lower() != ".h5ad":
        _import_anndata(f"cannot write {file}").AnnData(obsm={name: points}).write_h5ad(file)
        return
    shutil.copyfile(source, file)
    with _import_h5py(f"cannot write {file}").File(file, "r+") as store:
        obsm = store.require_group("obsm")
        if name in obsm:
            del obsm[name]
        written = obsm.create_dataset(name, data=points)
        written.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})


def _column_names(points: Points) -> list[str]:
    return [f"y{column + 1}" for column in range(points.shape[1])]


_WRITERS: dict[str, Callable[[Path, Points], None]] = {
    ".npy": _write_npy,
    ".npz": _write_npz,
    ".csv": _write_csv,
    ".tsv": _write_tsv,
    ".parquet": _write_parquet,
}
