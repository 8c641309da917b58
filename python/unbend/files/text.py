"""Tables of numbers in CSV and TSV files."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np

from ..core.caller import warn
from .errors import FileError, one_line

__all__ = [
    *("column_names", "column_places", "has_only_a_header", "open_text"),
    *("read", "read_columns", "write_csv", "write_tsv"),
]

LISTED_COLUMNS = 6
"""Number of columns that a message lists; further ones become three dots."""

DIGITS = "%.17g"  # 17 digits distinguish every double from its neighbors.

Ids: TypeAlias = "tuple[str, Any] | None"
"""Name and values of a column that is written before the points."""

SHOWN_CHARACTERS = 40
"""Number of characters of a cell that a message shows; a longer cell is cut short."""


def read(file: Path, key: str | None) -> Any:
    """Return the columns named in `key`, by default all but the index of a data frame."""
    with open_text(file) as handle:
        table = _Table(file, handle)
        columns = None if key is None else tuple(column_places(file, key, table.labels))
        values = table.numbers(columns)
        # The index of a data frame is left out unless a key names columns to read.
        every = columns is None or (columns[0] == 0 and drops_only(key or "", table.labels))
        return values[:, 1:] if every and table.has_index(values) else values


def read_columns(file: Path, key: str | None) -> dict[str, Any]:
    """Return the columns named in `key`, by default all, as text and by their names."""
    with open_text(file) as handle:
        table = _Table(file, handle)
        labels = table.labels
        places = range(len(labels)) if key is None else column_places(file, key, labels)
        rows = [table.cells(line) for _, line in table.lines(after=table.skip)]
    return {
        labels[place]: np.array([row[place].strip() if place < len(row) else "" for row in rows])
        for place in places
    }


def open_text(file: Path) -> IO[str]:
    """Open a text file."""
    # A byte that is not UTF-8 may be part of a column name; in a number it is reported as a bad cell.
    return open(file, encoding="utf-8-sig", errors="replace")


def has_only_a_header(file: Path) -> bool:
    """Return whether a table holds a line without numbers, and no other."""
    with open_text(file) as handle:
        lines = list(islice((line for line in handle if line.split("#", 1)[0].strip()), 2))
    return len(lines) == 1 and not any(map(_is_number, re.split("[,;\t]", lines[0])))


def column_places(file: Path, key: str, labels: list[str]) -> list[int]:
    """Return the indices of the columns that `key` selects, from its parts, which commas separate.

    A part is the name of a column, its number from 1, or a range of numbers, such as 3-10 or 3-. Parts that begin
    with a minus are left out; if all do, of all columns. `labels` are the names of the columns, or their numbers.
    """
    chosen, dropped = [], set()
    for part in map(str.strip, _cells(key, ",")):
        if _drops(part, labels):
            dropped.update(_places(file, part[1:], labels))
        else:
            chosen += _places(file, part, labels)
    every = range(len(labels)) if drops_only(key, labels) else chosen
    places = [place for place in every if place not in dropped]
    if not places:
        raise FileError(f"{file}:{key} leaves no column: {file} has {_listed(labels)}")
    return places


def drops_only(key: str, labels: list[str]) -> bool:
    """Return whether a key only leaves out columns."""
    return all(_drops(part.strip(), labels) for part in _cells(key, ","))


def _drops(part: str, labels: list[str]) -> bool:
    return part.startswith("-") and part not in labels


def _places(file: Path, part: str, labels: list[str]) -> list[int]:
    """Return the columns of one part of a key, without its minus."""
    if part in labels:
        return [labels.index(part)]
    numbers = re.fullmatch(r"(\d+)(-(\d*))?", part)
    if numbers is None:
        if labels == [f"{place + 1}" for place in range(len(labels))]:
            raise FileError(
                f"{file} has no header, so no column {part!r}: give numbers from 1 to {len(labels)}"
            )
        near = get_close_matches(part, labels, 1)
        hint = f": did you mean {near[0]!r}?" if near else f": it has {_listed(labels)}"
        raise FileError(f"{file} has no column {part!r}{hint}")
    first = int(numbers[1])
    last = first if numbers[2] is None else int(numbers[3] or len(labels))
    if not 1 <= first <= last <= len(labels):
        columns = "column" if first == last else "columns"
        raise FileError(f"{file} has no {columns} {part}: its columns are 1 to {len(labels)}")
    return list(range(first - 1, last))


class _Table:
    """An open table of text: its delimiter, its header, and its rows."""

    def __init__(self, file: Path, handle: IO[str]) -> None:
        self._file, self._handle = file, handle
        number, line = self._first_line()
        tabs = file.suffix.lower() == ".tsv"
        self._delimiter = "\t" if tabs else ";" if ";" in line else ","
        cells = self.cells(line)
        header = _is_header(cells) or self._is_numbered(number, cells)
        self._width, self.names = len(cells), cells if header else None
        self.skip = number if header else number - 1  # lines before the first row of numbers
        if header:
            self._first_line(after=number)

    @property
    def labels(self) -> list[str]:
        """Names of the columns; their numbers, from 1, if there is no header."""
        if self.names is None:
            return [f"{place + 1}" for place in range(self._width)]
        return [name.strip() for name in self.names]

    def lines(self, after: int = 0) -> Iterator[tuple[int, str]]:
        """Yield the number and the text of each line that is neither blank nor a comment."""
        self._handle.seek(0)
        for number, line in enumerate(self._handle, 1):
            text = line.split("#", 1)[0].rstrip("\r\n")
            if number > after and text.strip(" "):
                yield number, text

    def cells(self, line: str) -> list[str]:
        """Return the cells of a line."""
        return _cells(line, self._delimiter)

    def numbers(self, columns: tuple[int, ...] | None) -> Any:
        """Return the rows as numbers: some columns, or all."""
        parse = partial(np.loadtxt, delimiter=self._delimiter, ndmin=2, quotechar='"', usecols=columns)
        self._handle.seek(0)
        try:
            return parse(self._handle, skiprows=self.skip)
        except ValueError:
            fault = self._first_fault(columns)
        if fault is not None:
            raise FileError(fault)
        try:  # without the lines of mere spaces, which NumPy refuses
            return parse(line for _, line in self.lines(after=self.skip))
        except ValueError as error:
            raise FileError(f"cannot read {self._file}: {one_line(error)}") from error

    def has_index(self, values: Any) -> bool:
        """Return whether the first column is the index of a data frame."""
        if self.names is None or self.names[0].strip() or values.shape[1] < 2:
            return False
        rows = np.arange(len(values))
        return bool((values[:, 0] == rows).all() or (values[:, 0] == rows + 1).all())

    def _first_line(self, after: int = 0) -> tuple[int, str]:
        for number, line in self.lines(after):
            return number, line
        raise FileError(
            f"{self._file} is empty" if after == 0 else f"{self._file} holds a header, but no points"
        )

    def _is_numbered(self, number: int, cells: list[str]) -> bool:
        """Return whether the first line is the numbered header of a data frame; warn about it."""
        if len(cells) < 2 or [cell.strip() for cell in cells] != list(map(str, range(len(cells)))):
            return False
        following = next((line for _, line in self.lines(after=number)), "")
        if all(cell.strip().lstrip("-").isdigit() for cell in self.cells(following) or ["0"]):
            return False
        header = len(cells) > 2  # two columns: 0, 1 may well be a point
        reading = "is read as a header" if header else "could be a header, but is read as a point"
        warn(f"{self._file}, line {number}: {_listed(cells)} {reading}", UserWarning)
        return header

    def _first_fault(self, columns: tuple[int, ...] | None) -> str | None:
        """Return a message about the first cell that is not a number."""
        for number, line in self.lines(after=self.skip):
            cells = self.cells(line)
            if len(cells) != self._width:
                count = f"{len(cells)} column{'s' * (len(cells) != 1)}"
                return f"{self._file}, line {number} has {count}, but the first has {self._width}"
            for column in columns or range(len(cells)):
                if not _is_number(cells[column]):
                    fault = self._fault(cells, column, hint=columns is None)
                    return f"{self._file}, line {number}, {self._column(column)}: {fault}"
        return None

    def _fault(self, cells: list[str], column: int, hint: bool) -> str:
        if not cells[column].strip():
            return "the cell is empty: fill it in, or leave out its row or its column"
        fault = f"{_shortened(cells[column])!r} is not a number"
        named = zip(self.names or (), cells, strict=False)
        numeric = {name.strip(): _is_number(cell) for name, cell in named}
        texts = [name for name, is_number in numeric.items() if not is_number]
        if not hint or len(texts) == len(numeric):
            return fault
        if len(texts) <= min(LISTED_COLUMNS, len(numeric) - len(texts)):
            dropped = ",".join(f"-{name}" for name in texts)
            return f"{fault}; to leave out columns with text, name them after a minus: {self._file}:{dropped}"
        listed = _listed([name for name, is_number in numeric.items() if is_number], ",")
        return f"{fault}; to read only numeric columns, list them: {self._file}:{listed}"

    def _column(self, column: int) -> str:
        name = self.names[column].strip() if self.names else ""
        return f"column {column + 1}" + (f" ({_shortened(name)})" if name else "")


def _is_header(cells: list[str]) -> bool:
    first, *rest = (cell.strip() for cell in cells)
    # A data frame has no name above its index, and columns without names are numbered.
    if not first and rest == [str(column) for column in range(len(rest))]:
        return bool(rest)
    return not any(map(_is_number, (first, *rest)))


def _cells(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _listed(names: list[str], separator: str = ", ") -> str:
    dots = f"{separator}..." if len(names) > LISTED_COLUMNS else ""
    return separator.join(names[:LISTED_COLUMNS]) + dots


def _shortened(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 3] + "..."


def write_csv(file: Path, points: Any, ids: Ids = None, delimiter: str = ",") -> None:
    """Write the columns y1, y2, ... under a header, and before them a column of ids with its name."""
    if ids is not None:
        name, column = ids
        with open(file, "w", encoding="utf-8", newline="") as handle:
            writer = csv.writer(handle, delimiter=delimiter, lineterminator="\n")
            writer.writerow([name, *column_names(points)])
            writer.writerows(
                [key, *map(DIGITS.__mod__, row)] for key, row in zip(column, points.tolist(), strict=True)
            )
        return
    header = delimiter.join(column_names(points))
    np.savetxt(file, points, fmt=DIGITS, delimiter=delimiter, header=header, comments="")


write_tsv = partial(write_csv, delimiter="\t")


def column_names(points: Any) -> list[str]:
    """Return the names of written columns: y1, y2, ..."""
    return [f"y{column + 1}" for column in range(points.shape[1])]
