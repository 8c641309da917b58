"""Files that are damaged, or made to do harm, and what reads them."""

from __future__ import annotations

import functools
import io
import json
import os
import pickle
import struct
import tempfile
import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import unbend as ub
from hypothesis import strategies as st
from judge import Outcome, tried
from unbend.files import FileError, read_labels, read_pairs, read_points, read_values

POINTS = ub.datasets.swiss_roll(40, random_state=0)[0]
SUFFIXES = (".npy", ".npz", ".csv", ".tsv", ".parquet", ".h5ad", ".zarr", ".model")
MARK = "was run"


class Payload:
    """A pickle that makes a file, if anything loads it."""

    def __reduce__(self) -> Any:
        return os.mkdir, (MARK,)


@functools.cache
def whole(suffix: str) -> bytes:
    """Return the bytes of a good file; those of a Zarr array are the only chunk's metadata."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = Path(folder, f"points{suffix}")
        if suffix == ".model":
            ub.ProcrustesAlignment(random_state=0).fit(POINTS).save(file)
        elif suffix == ".npz":
            np.savez_compressed(file, X=POINTS, labels=np.arange(40))
        elif suffix == ".zarr":
            return b'{"shape": [40, 3], "data_type": "float64"}'
        elif suffix == ".h5ad":
            import anndata

            anndata.AnnData(POINTS, obsm={"X_pca": POINTS[:, :2]}).write_h5ad(file)
        elif suffix in (".csv", ".tsv"):
            separator = "," if suffix == ".csv" else "\t"
            np.savetxt(file, POINTS, delimiter=separator, header=separator.join("abc"), comments="")
        elif suffix == ".parquet":
            import pandas

            pandas.DataFrame(POINTS, columns=list("abc")).to_parquet(file)
        else:
            np.save(file, POINTS)
        return file.read_bytes()


def npy(shape: Any = (40, 3), descr: str = "<f8", data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    """Return an .npy whose header says anything."""
    header = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode() + b"\n"
    size = struct.pack("<H" if version == b"\x01\x00" else "<I", len(header))
    return b"\x93NUMPY" + version + size + header + (data or POINTS.tobytes())


def zipped(**members: bytes) -> bytes:
    """Return an archive; names may climb out of any folder."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return held.getvalue()


@functools.cache
def model_with(change: str) -> bytes:
    """Return a model whose manifest lies."""
    with zipfile.ZipFile(io.BytesIO(whole(".model"))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    text = members["model.json"].decode()
    manifest = json.loads(text)
    if change == "deep":
        text = text.replace(
            '"parameters": {', '"parameters": {"n_init": ' + "[" * 50_000 + "]" * 50_000 + ", ", 1
        )
    elif change == "class":
        text = text.replace("ProcrustesAlignment", "os.system")
    elif change == "other class":
        text = text.replace("ProcrustesAlignment", "PCA")
    elif change == "tags":
        manifest["learnt"]["seams_"] = [{"$Seam": {"points": 3}}, {"$FitVerdict": {}}]
        text = json.dumps(manifest)
    elif change == "attribute":
        manifest["learnt"]["__class__"] = "x"
        manifest["learnt"]["fit"] = 3
        text = json.dumps(manifest)
    elif change == "types":
        manifest["learnt"] |= {"n_neighbors_": "x", "cut_": None, "component_labels_": 3}
        text = json.dumps(manifest)
    elif change == "no graph":
        manifest["learnt"]["neighborhoods_"] = None
        text = json.dumps(manifest)
    elif change == "out of range":
        name = next(name for name in members if "indices" in name)
        members[name] = npy((40, 12), "<u4", np.full(480, 77, "<u4").tobytes())
    elif change == "other sizes":
        members["embedding_.npy"] = npy((3, 2), data=np.zeros(6).tobytes())
    elif change == "nan":
        members["embedding_.npy"] = npy((40, 2), data=np.full(80, np.nan).tobytes())
    members["model.json"] = text.encode()
    return zipped(**members)


CHANGES = (
    "deep",
    "class",
    "other class",
    "tags",
    "attribute",
    "types",
    "no graph",
    "out of range",
    "other sizes",
    "nan",
)
LIES: dict[str, Any] = {
    "huge shape": lambda: npy((10**12, 3)),
    "overflowing shape": lambda: npy((2**62, 2**62)),
    "negative shape": lambda: npy((-1, 3)),
    "text as shape": lambda: npy("(3, 4)"),
    "objects": lambda: npy((1, 1), "|O", pickle.dumps([Payload()])),
    "a pickle": lambda: pickle.dumps(Payload()),
    "code as header": lambda: npy((40, 3)).replace(b"'<f8'", b"exit()"),
    "long header": lambda: npy(tuple(range(20_000)), version=b"\x02\x00"),
    "records": lambda: npy((40, 3), "<U8"),
    "members that climb": lambda: zipped(**{"../X.npy": npy(), "/tmp/X.npy": npy()}),
    "objects in an archive": lambda: zipped(**{"X.npy": npy((1, 1), "|O", pickle.dumps([Payload()]))}),
    "a bomb": lambda: zipped(**{"X.npy": npy((2**21, 4), data=bytes(2**26))}),
    "a bomb that lies": lambda: zipped(**{"X.npy": npy((10**12, 3), data=bytes(2**20))}),
    "zeros": lambda: bytes(5000),
    "nothing": lambda: b"",
    "binary as text": lambda: b"a,b\n1,2\n\x00\xff\xfe,3\n",
    "a wide row": lambda: b"1," * 200_000 + b"1\n",
    "ragged rows": lambda: b"a,b\n1,2\n3\n4,5,6\n",
    "an open quote": lambda: b'a,b\n"1,2\n' * 50,
    "huge numbers": lambda: b"1e999,2\n" + b"9" * 5000 + b",1\n",
    **{f"a model: {change}": functools.partial(model_with, change) for change in CHANGES},
}
"""Contents that are wrong in ways that chance does not find."""


@dataclass(frozen=True)
class Damaged:
    """A file that is damaged, and read by everything that reads such files."""

    suffix: str
    lie: str = ""
    cut: float | None = None  # The share of the bytes that is left.
    flips: tuple[
        tuple[float, int], ...
    ] = ()  # Places, as shares of the length, and the bits that are flipped.
    writes: tuple[tuple[float, bytes], ...] = ()  # Places, and what is written over them.

    @property
    def name(self) -> str:
        return f"read {self.suffix}"

    def content(self) -> bytes:
        content = bytearray(LIES[self.lie]() if self.lie else whole(self.suffix))
        for place, bit in self.flips:
            if content:
                content[int(place * (len(content) - 1))] ^= 1 << bit
        for place, written in self.writes:
            at = int(place * max(0, len(content) - len(written)))
            content[at : at + len(written)] = written
        return bytes(content if self.cut is None else content[: int(self.cut * len(content))])

    def run(self) -> Outcome:
        """Return the outcome of all readers; only FileError is allowed, and nothing else may appear."""
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                return self._read(Path(folder))
            finally:
                os.chdir(before)

    def _read(self, folder: Path) -> Outcome:
        file = folder / f"points{self.suffix}"
        if self.suffix == ".zarr":
            (file / "c" / "0").mkdir(parents=True)
            (file / "zarr.json").write_bytes(self.content())
            (file / "c" / "0" / "0").write_bytes(POINTS.tobytes())
        else:
            file.write_bytes(self.content())
        held, outcome = sorted(folder.rglob("*")), Outcome("refused")
        readers = [lambda: _used(ub.load(file))] if self.suffix == ".model" else READERS
        for reader in readers:
            found = tried(functools.partial(reader, file) if readers is READERS else reader)
            if found.is_failure or (found.kind == "refused" and found.detail != FileError.__name__):
                return Outcome("wrong exception", found.detail) if not found.is_failure else found
            outcome = found if found.kind == "ok" else outcome
        if sorted(folder.rglob("*")) != held:
            return Outcome("wrote files", str(sorted(folder.rglob("*"))))
        return outcome


READERS = (
    read_points,
    lambda file: read_labels(file, 40),
    lambda file: read_values(file, 40),
    lambda file: read_pairs(file, 40) if file.suffix in (".npy", ".csv") else None,
)


def _used(model: Any) -> Any:
    """Use a model that could be read: wrong contents must not end the process."""
    for call in (
        lambda: model.transform(POINTS[:5] + 0.01),
        lambda: model.inverse_transform(np.zeros((2, 2))),
    ):
        outcome = tried(call)
        if outcome.is_failure:
            raise AssertionError(f"{outcome.kind}: {outcome.detail}")
    return None


@st.composite
def damaged(draw: Any) -> Damaged:
    """Draw a damaged file."""
    suffix = draw(st.sampled_from(SUFFIXES))
    share = st.floats(0, 1)
    if draw(st.sampled_from((False, False, True))):
        models = [lie for lie in LIES if lie.startswith("a model")]
        lies = models if suffix == ".model" and draw(st.booleans()) else list(LIES)
        return Damaged(suffix, draw(st.sampled_from(lies)))
    words = (
        b"\xff\xff\xff\xff",
        b"\x00\x00\x00\x00",
        b"\x80\x00\x00\x00",
        b"(9999999999999, 3)",
        b"1e400",
        b"nan",
        b'"',
    )
    return Damaged(
        suffix,
        cut=draw(st.one_of(st.none(), share)),
        flips=tuple(draw(st.lists(st.tuples(share, st.integers(0, 7)), max_size=4))),
        writes=tuple(draw(st.lists(st.tuples(share, st.sampled_from(words)), max_size=2))),
    )
