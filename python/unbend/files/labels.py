"""Labels of points in files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from . import npy, npz, text
from .errors import FileError
from .tables import readable, split_key

__all__ = ["read_labels"]


def read_labels(path: str | os.PathLike[str], n: int) -> Any:
    r"""Read one label for each point.

    Labels are read from an array in an ``.npy``, or in an ``.npz`` as ``file.npz:name``; from a column of a
    table, as ``file.csv:name``; or from any other file as text, one label on each line. If a text file has
    one line more than there are points, its first line is a header.

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
    with readable(file):
        labels = _read(file, key, n)
    if labels.shape != (n,):
        raise FileError(
            f"{path} holds labels of shape {labels.shape}: one for each of the {n} points is needed"
        )
    return labels.astype(str)


def _read(file: Path, key: str | None, n: int) -> Any:
    suffix = file.suffix.lower()
    if suffix in (".npy", ".npz"):
        return np.asarray((npy if suffix == ".npy" else npz).read(file, key))
    if key is not None and suffix in (".csv", ".tsv"):
        return text.read_column(file, key)
    with text.open_text(file) as handle:
        lines = handle.read().splitlines()
    return np.array(lines[1:] if len(lines) == n + 1 else lines)
