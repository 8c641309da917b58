"""Tables of numbers in Parquet files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from .errors import FileError, one_line, required
from .text import Ids, column_names, column_places

__all__ = ["check", "read", "read_columns", "write"]


def read(file: Path, key: str | None) -> Any:
    """Return the columns named in `key`, by default all but the index of a data frame."""
    pa, table = _selected(file, key)
    columns = [_column(file, name, table.column(name), pa) for name in table.column_names]
    points: Any = np.empty((table.num_rows, len(columns)), np.result_type(*columns) if columns else float)
    for place, values in enumerate(columns):
        points[:, place] = values
    return points


def read_columns(file: Path, key: str | None) -> dict[str, Any]:
    """Return the columns named in `key`, by default all, by their names and of any type."""
    _, table = _selected(file, key)
    return {name: table.column(name).to_numpy() for name in table.column_names}


def _selected(file: Path, key: str | None) -> tuple[Any, Any]:
    """Return pyarrow, and a table with the columns named in `key`."""
    pa, pq = check(f"cannot read {file}")
    try:
        with pq.ParquetFile(file) as source:
            names = [n for n in source.schema_arrow.names if not re.fullmatch(r"__index_level_\d+__", n)]
            if key is not None:
                names = [names[place] for place in column_places(file, key, names)]
            return pa, source.read(columns=list(dict.fromkeys(names))).select(names)
    except pa.ArrowException as error:
        raise FileError(f"cannot read {file}: {one_line(error)}") from error


def _column(file: Path, name: str, column: Any, pa: Any) -> Any:
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise FileError(f"{file}, column {name!r} holds {column.type}, not numbers")
    if column.null_count:
        raise FileError(f"{file}, column {name!r} is missing {column.null_count} of {len(column)} values")
    return column.to_numpy()


def write(file: Path, points: Any, ids: Ids = None) -> None:
    """Write the columns y1, y2, ..., and before them a column of ids with its name."""
    pa, pq = check(f"cannot write {file}")
    columns, names = [np.ascontiguousarray(column) for column in points.T], column_names(points)
    if ids is not None:
        columns, names = [np.asarray(ids[1]), *columns], [ids[0], *names]
    pq.write_table(pa.table(columns, names=names), file)


def check(complaint: str) -> tuple[Any, Any]:
    """Return pyarrow and its module for Parquet, or refuse if it is missing."""
    return required("pyarrow", "parquet", complaint), required("pyarrow.parquet", "parquet", complaint)
