"""Fitted estimators in files: arrays and numbers, nothing that is run when it is read."""

from __future__ import annotations

import json
import math
import numbers
import os
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from ..files.tables import FileError, write_atomically
from ..graph.neighbors import Neighborhoods
from ..metrics import Faithfulness
from ..metrics.overlap import _Overlap, _WithOverlap

if TYPE_CHECKING:
    from .base import _Estimator

__all__ = ["load", "save"]

FORMAT, VERSION = "unbend model", 1
"""The version rises when an older reader would misread the file."""

MANIFEST = "model.json"
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of every member: the same model gives the same bytes."""


def save(estimator: _Estimator, path: str | os.PathLike[str]) -> Path:
    """Write a fitted estimator to one file; see :func:`load`."""
    parts = _Parts()
    parameters = {name: _savable(value) for name, value in estimator.get_params(deep=False).items()}
    # Last what was measured: it refers to arrays that are to be called by the attribute they are.
    names = sorted(vars(estimator), key=lambda name: (name == "faithfulness_", name))
    learnt = {name: getattr(estimator, name) for name in names if name.endswith("_")}
    manifest = {
        "format": FORMAT,
        "format_version": VERSION,
        "unbend": _library_version(),
        "class": type(estimator).__name__,
        "parameters": {name: parts.taken(value, name) for name, value in parameters.items()},
        "learnt": {name: parts.taken(value, name) for name, value in learnt.items()},
    }
    return write_atomically(path, lambda file: _write(file, manifest, parts.arrays), force=True)


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator that was written by its method `save`.

    Nothing in the file is run, and what it holds is checked. The estimator transforms to the same bits
    as the one that was saved.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    GreedyProcrustes, ProcrustesAlignment, Isomap, ClassicalScaling, PCA or RandomProjection

    Raises
    ------
    FileError
        If there is no such file, it is damaged or no model, or a newer version of this package wrote it.
        It is both a ValueError and an OSError.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(500, random_state=0)
    >>> model = ub.GreedyProcrustes(random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = ub.load(model.save(pathlib.Path(folder, "roll.unbend")))
    >>> again.get_params() == model.get_params()
    True
    """
    path = Path(path)
    _check_file(path)
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = _manifest(path, archive)
            arrays = _arrays(path, archive, manifest)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise FileError(f"cannot read {path}: it is damaged, or no model of unbend ({error})") from error
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"cannot read {path}: {error.strerror or error}") from error
    return _made(path, manifest, arrays)


def is_model(path: str | os.PathLike[str]) -> bool:
    """Return whether a file holds a fitted estimator; arrays may be in zip archives as well."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return MANIFEST in archive.namelist()


def _check_file(path: Path) -> None:
    if not path.exists():
        raise FileError(f"there is no file {path}")
    if not path.is_file():
        raise FileError(f"cannot read {path}: it is not a file")


def _library_version() -> str:
    from .. import __version__

    return __version__


# Taking apart --------------------------------------------------------------------------------------------


def _savable(value: Any) -> Any:
    """Return a parameter, or None where it is something that lives: a function, a generator."""
    plain = value is None or isinstance(value, str | bool | dict | numbers.Real | np.generic | np.ndarray)
    return value if plain else None


class _Parts:
    """Takes values apart into what JSON holds and arrays."""

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}
        self._written: dict[int, str] = {}

    def taken(self, value: Any, name: str) -> Any:
        """Return `value` as JSON holds it; its arrays go to `arrays` under names that begin with `name`."""
        take = next(take for kind, take in _TAKERS if isinstance(value, kind))
        return take(self, value, name)

    def _number(self, value: Any, name: str) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        finite = not isinstance(value, float) or math.isfinite(value)
        return value if finite else {"$float": str(value)}

    def _array(self, value: Any, name: str) -> Any:
        if value.dtype == object:
            return {"$names": [str(item) for item in value]}
        # An array that is held twice is written once.
        key = self._written.setdefault(id(value), name)
        self.arrays[key] = value
        return {"$array": key}

    def _list(self, value: Any, name: str) -> Any:
        return [self.taken(item, f"{name}.{place}") for place, item in enumerate(value)]

    def _dict(self, value: Any, name: str) -> Any:
        return {key: self.taken(item, f"{name}.{key}") for key, item in value.items()}

    def _known(self, value: _WithOverlap[Any], name: str) -> Any:
        # The rest is found again, from what is saved anyway.
        return self._dict(value.known, name)

    def _neighborhoods(self, value: Neighborhoods, name: str) -> Any:
        held: dict[str, Any] = {
            "indices": value.indices,
            "n_neighbors": value.n_neighbors,
            "indptr": value._indptr,
            "distances": value.distances,
        }
        if value.method == "approximate":
            held |= {"method": value.method, "recall": value.recall_}
        return {"$Neighborhoods": self._dict(held, name)}

    def _sparse(self, value: csr_array, name: str) -> Any:
        held = {"data": value.data, "indices": value.indices, "indptr": value.indptr}
        return {"$Sparse": self._dict(held | {"shape": value.shape}, name)}

    def _record(self, value: Any, name: str) -> Any:
        if not is_dataclass(value):
            raise TypeError(f"{name} is a {type(value).__name__}, which cannot be saved")
        held = {field.name: getattr(value, field.name) for field in fields(value)}
        return {f"${type(value).__name__}": self._dict(held, name)}


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


def _made(path: Path, manifest: dict[str, Any], arrays: dict[str, Any]) -> Any:
    kind = _classes().get(str(manifest.get("class")))
    if kind is None:
        known = ", ".join(_classes())
        raise FileError(f"cannot read {path}: its class {manifest.get('class')!r} is none of {known}")
    try:
        parameters = _joined(manifest["parameters"], arrays)
        unknown = sorted(set(parameters) - set(kind().get_params()))
        if unknown:
            raise ValueError(f"its parameters {', '.join(unknown)} are unknown to {kind.__name__}")
        estimator = kind(**parameters)
        vars(estimator).update(_joined(manifest["learnt"], arrays))
        estimator._check_shapes()
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise FileError(f"cannot read {path}: {' '.join(str(error).split())}") from error
    return estimator


def _joined(value: Any, arrays: dict[str, Any]) -> Any:
    """Put together again what `_Parts` took apart."""
    if isinstance(value, list):
        return [_joined(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    tag = next((key for key in value if key.startswith("$")), None)
    if tag is None:
        return {key: _joined(item, arrays) for key, item in value.items()}
    if tag not in _MAKERS or len(value) != 1:
        raise ValueError(f"its {MANIFEST} holds {tag!r}, which is unknown")
    return _MAKERS[tag](value[tag], arrays)


def _make_neighborhoods(held: Any, arrays: dict[str, Any]) -> Neighborhoods:
    return Neighborhoods(**_joined(held, arrays))


def _make_faithfulness(held: Any, arrays: dict[str, Any]) -> Faithfulness:
    return Faithfulness(**_joined(held, arrays))


def _make_overlap(held: Any, arrays: dict[str, Any]) -> _Overlap:
    return _Overlap(**_joined(held, arrays))


def _make_sparse(held: Any, arrays: dict[str, Any]) -> csr_array:
    parts = _joined(held, arrays)
    made = csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(parts["shape"]))
    made.check_format(full_check=True)
    return made


def _make_refinement(held: Any, arrays: dict[str, Any]) -> Any:
    from ..fit.refine import Refinement

    return Refinement(**_joined(held, arrays))


def _make_seam(held: Any, arrays: dict[str, Any]) -> Any:
    from ..fit.cut import Seam

    return Seam(**_joined(held, arrays))


def _classes() -> dict[str, Any]:
    """Return what can be loaded."""
    from .align import ProcrustesAlignment
    from .embed import GreedyProcrustes
    from .isomap import Isomap
    from .linear import PCA, RandomProjection
    from .scaling import ClassicalScaling
    from .spectral import (
        LTSA,
        DiffusionMaps,
        HessianLLE,
        LaplacianEigenmaps,
        LocallyLinearEmbedding,
        ModifiedLLE,
    )

    kinds = (
        *(GreedyProcrustes, ProcrustesAlignment, Isomap, ClassicalScaling, PCA, RandomProjection),
        *(LocallyLinearEmbedding, ModifiedLLE, LTSA, HessianLLE, LaplacianEigenmaps, DiffusionMaps),
    )
    return {kind.__name__: kind for kind in kinds}


_TAKERS: tuple[tuple[Any, Callable[[_Parts, Any, str], Any]], ...] = (
    (type(None) | bool | str, lambda parts, value, name: value),
    (np.ndarray, _Parts._array),
    (numbers.Real | np.generic, _Parts._number),
    (list | tuple, _Parts._list),
    (dict, _Parts._dict),
    (csr_array, _Parts._sparse),
    (_WithOverlap, _Parts._known),
    (Neighborhoods, _Parts._neighborhoods),
    (object, _Parts._record),
)

_MAKERS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "$float": lambda held, arrays: float(held),
    "$names": lambda held, arrays: np.array(held, dtype=object),
    "$array": lambda held, arrays: arrays[held],
    "$Neighborhoods": _make_neighborhoods,
    "$Faithfulness": _make_faithfulness,
    "$_Overlap": _make_overlap,
    "$Refinement": _make_refinement,
    "$Sparse": _make_sparse,
    "$Seam": _make_seam,
}
