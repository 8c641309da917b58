"""Fitted estimators in files: arrays and numbers, nothing that is run when it is read."""

from __future__ import annotations

import json
import math
import numbers
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ..files.tables import FileError, readable, write_atomically
from ..fit.cut import Seam
from ..fit.refine import Refinement
from ..fit.scaling.ambiguity import Ambiguity
from ..fit.scaling.paths import TriangleInequalities
from ..fit.scaling.run import TriedStart
from ..fit.scaling.verdict import ScalingVerdict
from ..fit.trust.candidates import TriedEmbedding
from ..fit.trust.verdict import FitVerdict, Reason
from ..graph.neighbors import Neighborhoods
from ..metrics import Faithfulness
from ..metrics.overlap import LazyOverlap, WithOverlap

__all__ = ["as_file_error", "is_model", "read", "save"]

FORMAT, VERSION = "unbend model", 1
"""The version rises when an older reader would misread the file."""

MANIFEST = "model.json"
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of every member: the same model gives the same bytes."""


@dataclass(frozen=True)
class Record:
    """A class of values in models: how to take one apart into a dict, and how to make one of its parts."""

    kind: type
    parts: Callable[[Any], dict[str, Any]]
    make: Callable[..., Any]


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _parts_of_neighborhoods(value: Neighborhoods) -> dict[str, Any]:
    parts: dict[str, Any] = {
        "indices": value.indices,
        "n_neighbors": value.n_neighbors,
        "indptr": value.core.indptr,
        "distances": value.distances,
    }
    if value.method == "approximate":
        parts |= {"method": value.method, "recall": value.recall_}
    return parts


def _sparse(data: Any, indices: Any, indptr: Any, shape: Any) -> csr_array:
    made = csr_array((data, indices, indptr), shape=tuple(shape))
    made.check_format(full_check=True)
    return made


RECORDS = {
    "$Neighborhoods": Record(Neighborhoods, _parts_of_neighborhoods, Neighborhoods),
    "$Sparse": Record(
        csr_array,
        lambda m: {name: getattr(m, name) for name in ("data", "indices", "indptr", "shape")},
        _sparse,
    ),
    **{
        f"${kind.__name__}": Record(kind, _fields, kind)
        for kind in (
            *(TriedEmbedding, Faithfulness, FitVerdict, LazyOverlap, Reason, Refinement, Seam),
            *(Ambiguity, ScalingVerdict, TriangleInequalities, TriedStart),
        )
    },
}
"""Classes by their tag in the manifest."""


def save(estimator: Any, path: str | os.PathLike[str]) -> Path:
    """Write a fitted estimator to one file; see :func:`unbend.load`."""
    parts = _Parts()
    parameters = {name: _savable(value) for name, value in estimator.get_params(deep=False).items()}
    # The measures come last: arrays that they share with attributes are named after the attributes.
    names = sorted(vars(estimator), key=lambda name: (name == "faithfulness_", name))
    learnt = {name: getattr(estimator, name) for name in names if name.endswith("_")}
    manifest = {
        "format": FORMAT,
        "format_version": VERSION,
        "unbend": _library_version(),
        "class": type(estimator).__name__,
        "parameters": {name: parts.add(value, name) for name, value in parameters.items()},
        "learnt": {name: parts.add(value, name) for name, value in learnt.items()},
    }
    return write_atomically(path, lambda file: _write(file, manifest, parts.arrays), force=True)


def read(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Return the name of the class in a file, its parameters, and its fitted attributes.

    Raises
    ------
    FileError
        If there is no such file, it is damaged or no model, or a newer version of this package wrote it.
    """
    path = Path(path)
    with readable(path):
        try:
            with zipfile.ZipFile(path) as archive:
                manifest = _manifest(path, archive)
                arrays = _arrays(path, archive, manifest)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise FileError(f"cannot read {path}: it is damaged, or no model of unbend ({error})") from error
    with as_file_error(path):
        parameters = _joined(manifest["parameters"], arrays)
        return manifest.get("class"), parameters, _joined(manifest["learnt"], arrays)


@contextmanager
def as_file_error(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise errors in the contents of a file as a FileError."""
    try:
        yield
    except FileError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        raise FileError(f"cannot read {path}: {' '.join(str(error).split())}") from error


def is_model(path: str | os.PathLike[str]) -> bool:
    """Return whether a file holds a fitted estimator; arrays may be in zip archives as well."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return MANIFEST in archive.namelist()


def _library_version() -> str:
    from .. import __version__

    return str(__version__)


# Taking apart --------------------------------------------------------------------------------------------


def _savable(value: Any) -> Any:
    """Return a parameter, or None in the place of a function or a generator."""
    plain = value is None or isinstance(value, str | bool | dict | numbers.Real | np.generic | np.ndarray)
    return value if plain else None


class _Parts:
    """Values in the making of a file: JSON holds all but the arrays."""

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}
        self._names: dict[int, str] = {}

    def add(self, value: Any, name: str) -> Any:
        """Return `value` as JSON holds it; its arrays go to `arrays` under names that begin with `name`."""
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, np.ndarray):
            return self._array(value, name)
        if isinstance(value, numbers.Real | np.generic):
            value = value.item() if isinstance(value, np.generic) else value
            return value if not isinstance(value, float) or math.isfinite(value) else {"$float": str(value)}
        if isinstance(value, list | tuple):
            return [self.add(item, f"{name}.{place}") for place, item in enumerate(value)]
        if isinstance(value, WithOverlap):
            value = value.known  # the overlap is computed again from the saved arrays
        if isinstance(value, dict):
            return {key: self.add(item, f"{name}.{key}") for key, item in value.items()}
        for tag, record in RECORDS.items():
            if isinstance(value, record.kind):
                return {tag: self.add(record.parts(value), name)}
        raise TypeError(f"{name} is a {type(value).__name__}, which cannot be saved")

    def _array(self, value: Any, name: str) -> Any:
        if value.dtype == object:
            return {"$names": [str(item) for item in value]}
        # An array that is held twice is written once.
        key = self._names.setdefault(id(value), name)
        self.arrays[key] = value
        return {"$array": key}


def _write(file: Path, manifest: dict[str, Any], arrays: dict[str, Any]) -> None:
    with zipfile.ZipFile(file, "w", allowZip64=True) as archive:
        text = json.dumps(manifest, indent=1, allow_nan=False)
        archive.writestr(zipfile.ZipInfo(MANIFEST, EPOCH), text)
        for name, array in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy", EPOCH)
            with archive.open(member, "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)


# Putting together ----------------------------------------------------------------------------------------


def _manifest(path: Path, archive: zipfile.ZipFile) -> dict[str, Any]:
    try:
        manifest = json.loads(archive.read(MANIFEST))
    except KeyError:
        raise FileError(f"cannot read {path}: it is no model of unbend, it holds no {MANIFEST}") from None
    except ValueError as error:
        raise FileError(f"cannot read {path}: its {MANIFEST} is damaged ({error})") from error
    _check_format(path, manifest)
    return dict(manifest)


def _check_format(path: Path, manifest: Any) -> None:
    found = manifest.get("format") if isinstance(manifest, dict) else None
    if found != FORMAT:
        raise FileError(f"cannot read {path}: its format is {found!r}, not {FORMAT!r}")
    version, writer = manifest.get("format_version"), manifest.get("unbend")
    if not isinstance(version, int) or version < 1:
        raise FileError(f"cannot read {path}: its format version is {version!r}, not a number from 1")
    if version > VERSION:
        raise FileError(
            f"cannot read {path}: unbend {writer} wrote it in format version {version}, "
            f"and this is unbend {_library_version()}, which reads up to {VERSION}"
        )
    for part in ("parameters", "learnt"):
        if not isinstance(manifest.get(part), dict):
            raise FileError(f"cannot read {path}: its {MANIFEST} lacks {part!r}")


def _arrays(path: Path, archive: zipfile.ZipFile, manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the arrays, if they are those that the manifest names."""
    needed = {f"{name}.npy" for name in _names([manifest["parameters"], manifest["learnt"]])} | {MANIFEST}
    held = archive.namelist()
    if set(held) != needed or len(held) != len(needed):
        missing, extra = sorted(needed - set(held)), sorted(set(held) - needed)
        what = f"lacks {', '.join(missing)}" if missing else f"holds {', '.join(extra) or 'members twice'}"
        raise FileError(f"cannot read {path}: it {what}, against its {MANIFEST}")
    return {name[: -len(".npy")]: _array(path, archive, name) for name in held if name != MANIFEST}


def _names(value: Any) -> set[str]:
    """Return the names of all arrays in a part of the manifest."""
    if isinstance(value, dict):
        own = {str(value["$array"])} if "$array" in value else set()
        return own.union(*map(_names, value.values()))
    return set().union(*map(_names, value)) if isinstance(value, list) else set()


def _array(path: Path, archive: zipfile.ZipFile, name: str) -> Any:
    try:
        with archive.open(name) as stream:
            array = np.lib.format.read_array(stream, allow_pickle=False)
            rest = stream.read(1)
    except (ValueError, NotImplementedError, RuntimeError) as error:
        raise FileError(f"cannot read {name} in {path}: {' '.join(str(error).split())}") from error
    if rest or array.dtype.kind not in "fiub":
        raise FileError(f"cannot read {name} in {path}: it is no array of numbers")
    return array


def _joined(value: Any, arrays: dict[str, Any]) -> Any:
    """Return the value that `_Parts` took apart."""
    if isinstance(value, list):
        return [_joined(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    tag = next((key for key in value if key.startswith("$")), None)
    if tag is None:
        return {key: _joined(item, arrays) for key, item in value.items()}
    if len(value) == 1:
        held = value[tag]
        if tag in RECORDS:
            return RECORDS[tag].make(**_joined(held, arrays))
        if tag == "$array":
            return arrays[held]
        if tag == "$float":
            return float(held)
        if tag == "$names":
            return np.array(held, dtype=object)
    raise ValueError(f"its {MANIFEST} holds {tag!r}, which is unknown")
