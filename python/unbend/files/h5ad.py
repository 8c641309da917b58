"""AnnData in .h5ad files."""

from __future__ import annotations

import shutil
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from .errors import FileError, one_line, required

__all__ = ["check", "find", "read", "read_columns", "write"]

SPARE_BYTES = 2**20
"""Bytes by which a copy grows at most when an array is added, besides its entries. The rest is cut off."""


def read(file: Path, key: str | None) -> Any:
    """Return the array called `key`: see :func:`find`."""
    h5py = required("h5py", "anndata", f"cannot read {file}")
    try:
        with h5py.File(file, "r") as store:
            return np.asarray(find(file, key, store)[...])
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"cannot read {file}: it is damaged, or no .h5ad ({one_line(error)})") from error


def find(file: Path, key: str | None, store: Any) -> Any:
    """Return a dataset of an AnnData store without reading it: X, or an array of obsm.

    Without a key it is X_pca of obsm if there is one, else X.
    """
    obsm = store.get("obsm", {})
    if key is None:
        key = "X_pca" if "X_pca" in obsm or "X" not in store else "X"
    if key == "X" and "X" in store:
        return dense(file, key, store["X"])
    name = key.removeprefix("obsm/")
    if name not in obsm:
        listed = ", ".join([*["X"] * ("X" in store), *sorted(obsm)]) or "nothing"
        raise FileError(f"{file} has no array {key!r}: it holds {listed}")
    return dense(file, name, obsm[name])


def read_columns(file: Path, key: str | None) -> dict[str, Any]:
    """Return a column of obs, or the values of a variable in X, by its name."""
    h5py = required("h5py", "anndata", f"cannot read {file}")
    try:
        with h5py.File(file, "r") as store:
            obs, var = store.get("obs", {}), store.get("var", {})
            named = [name for name in obs if name not in ("__categories", obs.attrs.get("_index"))]
            if key is not None and key in obs:
                return {key: _decoded(obs[key])}
            variables = (
                _decoded(var[var.attrs["_index"]]).astype(str)
                if "_index" in getattr(var, "attrs", {})
                else []
            )
            if key is not None and key in variables and "X" in store:
                return {key: _variable(store["X"], int(np.flatnonzero(variables == key)[0]))}
    except OSError as error:
        raise FileError(f"cannot read {file}: it is damaged, or no .h5ad ({one_line(error)})") from error
    listed = ", ".join(named) or "no columns"
    if key is None:
        raise FileError(
            f"{file} needs the name of a column of obs or of a variable, {file}:NAME: obs has {listed}"
        )
    near = get_close_matches(key, [*named, *map(str, variables)], 1)
    hint = f": did you mean {near[0]!r}?" if near else f": obs has {listed}"
    raise FileError(f"{file} has no column of obs and no variable {key!r}{hint}")


def _decoded(column: Any) -> Any:
    """Return a column of obs: text, numbers, or the names of categories; missing ones are empty or NaN."""
    if "categories" in column:  # a group with codes
        names, codes = np.append(_decoded(column["categories"]).astype(object), ""), column["codes"][...]
        return names[codes]  # the code of missing ones is -1
    if "mask" in column:  # a group for numbers that may be missing
        return np.where(column["mask"][...], np.nan, column["values"][...])
    return column.asstr()[...] if column.dtype.kind == "O" else column[...]


def _variable(x: Any, place: int) -> Any:
    """Return one column of X, which may be sparse."""
    if hasattr(x, "shape"):
        return x[:, place]
    from scipy.sparse import csc_array, csr_array

    kind = {"csr_matrix": csr_array, "csc_matrix": csc_array}[x.attrs["encoding-type"]]
    matrix = kind(
        tuple(x[name][...] for name in ("data", "indices", "indptr")), shape=tuple(x.attrs["shape"])
    )
    return matrix[:, [place]].toarray().ravel()


def dense(file: Path, name: str, dataset: Any) -> Any:
    """Return a dataset, refusing sparse matrices and tables."""
    if not hasattr(dataset, "shape"):
        kind = dataset.attrs.get("encoding-type", "a group")
        raise FileError(f"{name!r} in {file} is {kind}: a dense array is needed, as {file}:X_pca")
    return dataset


def check(complaint: str) -> None:
    """Refuse to write if anndata is missing."""
    required("anndata", "anndata", complaint)


def write(file: Path, points: Any, name: str, source: Path | None) -> None:
    """Write the points to obsm: in a copy of the source if that is an .h5ad, else in a new AnnData.

    HDF5 crashes if the disk is full. So it never makes a file longer.
    """
    h5py = required("h5py", "anndata", f"cannot write {file}")
    if source is None or source.suffix.lower() != ".h5ad":
        anndata = required("anndata", "anndata", f"cannot write {file}")
        with h5py.File("image", "w", driver="core", backing_store=False) as store:
            anndata.io.write_elem(store, "/", anndata.AnnData(obsm={name: points}))
            store.flush()
            file.write_bytes(store.id.get_file_image())
        return
    shutil.copyfile(source, file)
    with file.open("ab") as end:
        end.write(bytes(points.nbytes + SPARE_BYTES))
    with h5py.File(file, "r+") as store:
        obsm = store.require_group("obsm")
        if name in obsm:
            del obsm[name]
        written = obsm.create_dataset(name, data=points)
        written.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
