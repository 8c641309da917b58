"""Pairs of points in files, such as the pairs of neighbors that a cut parts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from . import text
from .errors import FileError
from .tables import FORMATS, readable, split_key

__all__ = ["PAIR_SUFFIXES", "read_pairs"]

PAIR_SUFFIXES = (".npy", ".npz", ".csv", ".tsv", ".parquet")
"""Suffixes of files that hold pairs."""


def read_pairs(path: str | os.PathLike[str], n: int) -> Any:
    r"""Read pairs of points: two indices in each row, from 0.

    Files are read like those of :func:`read_points`, but they may hold no pairs; `.h5ad` and `.zarr` are
    refused.

    Parameters
    ----------
    path : str or path-like
        Path of the file.
    n : int
        Number of points.

    Returns
    -------
    ndarray of int64, shape (m, 2)

    Raises
    ------
    FileError
        If the file cannot be read, or does not hold pairs of indices from 0 to n - 1.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from unbend.files import read_pairs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pairs.csv")
    ...     _ = path.write_text("y1,y2\n0,3\n1,2\n")
    ...     read_pairs(path, 4).tolist()
    [[0, 3], [1, 2]]
    """
    file, key = split_key(os.fspath(path))
    if file.suffix.lower() not in PAIR_SUFFIXES:
        allowed = ", ".join(PAIR_SUFFIXES)
        raise FileError(f"cannot read pairs from {file}: its suffix {file.suffix!r} is none of {allowed}")
    with readable(file):
        pairs = _read(file, key)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise FileError(f"{path} has shape {pairs.shape}: pairs have two columns, the indices of two points")
    if pairs.dtype.kind not in "fiu":
        raise FileError(
            f"{path} holds {pairs.dtype} entries: whole numbers are needed, the indices of points"
        )
    are_indices = (pairs >= 0) & (pairs < n) & (pairs == np.floor(pairs))
    if not are_indices.all():
        row, column = np.argwhere(~are_indices)[0]
        raise FileError(
            f"{path}, pair {row + 1} holds {pairs[row, column]:.15g}, which is not the index of a point: give "
            f"whole numbers from 0 to {n - 1}"
        )
    return pairs.astype(np.int64)


def _read(file: Path, key: str | None) -> Any:
    if file.suffix.lower() in (".csv", ".tsv") and text.has_only_a_header(file):
        return np.zeros((0, 2), dtype=np.int64)
    return FORMATS[file.suffix.lower()].read(file, key)
