"""Zarr arrays and groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from . import h5ad
from .errors import FileError, one_line, required
from .npz import choose

__all__ = ["open_array", "read"]


def read(file: Path, key: str | None) -> Any:
    """Return the array called `key`: see :func:`open_array`."""
    return np.asarray(open_array(file, key)[...])


def open_array(file: Path, key: str | None) -> Any:
    """Return a Zarr array without reading it: the only one, the one called `key`, or that of an AnnData."""
    zarr = required("zarr", "zarr", f"cannot read {file}")
    try:
        store: Any = zarr.open(str(file), mode="r")
    except Exception as error:  # its class depends on the version of zarr
        raise FileError(f"cannot read {file}: it is damaged, or no Zarr ({one_line(error)})") from error
    if not hasattr(store, "keys"):
        if key is not None:
            raise FileError(f"{file} is one array: leave out :{key}")
        return store
    if "obsm" in store:
        return h5ad.find(file, key, store)
    if key is None or key not in store:
        key = choose(file, key, sorted(name for name in store if hasattr(store[name], "shape")))
    return h5ad.dense(file, key, store[key])
