"""From rows in the order of the file to cells, and back.

Each block of rows is sorted by cell once, halos included, and written: a cell is then a few long reads
instead of many short ones all over the file. On the way back each cell writes its rows in the same order, and
a block is put together from one read of each of its cells. Nothing of this passes through whoever directs it.

Cost: O(n q) bytes read and (1 + halo) as many written, each way.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import LARGEST, Matrix
from .checkpoint import Arrays, CheckpointDir
from .plan import Plan
from .sources import Source

__all__ = ["Job", "Members", "members", "probe", "scatter"]

Array = npt.NDArray[np.float64]

NOWHERE = np.uint32(2**32 - 1)
"""The cell of a row that is not finite."""


@dataclass(frozen=True)
class Job:
    """What every task needs to know; everything else is on the shelf.

    Attributes
    ----------
    folder : str
        Of the shelf.
    source : Source
        The data.
    image : Source or None
        Their embedding, where one is measured.
    rows : int
        Of a block.
    n_components, n_neighbors : int
        Of the embedding.
    method : str
        "psa" or "gp".
    parameters : dict
        Of the estimator that embeds a cell.
    n_jobs : int
        Threads of a task; 0 stands for all.
    """

    folder: str
    source: Source
    image: Source | None
    rows: int
    n_components: int
    n_neighbors: int
    method: str
    parameters: dict[str, Any]
    n_jobs: int

    @property
    def shelf(self) -> CheckpointDir:
        """Where results are."""
        return CheckpointDir(self.folder)

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return -(-self.source.shape[0] // self.rows)

    def span(self, block: int) -> tuple[int, int]:
        """Return where a block begins and ends."""
        return block * self.rows, min((block + 1) * self.rows, self.source.shape[0])

    def plan(self) -> Plan:
        """Return the cells."""
        return _plan(self.folder, self.shelf.place("plan.npz").stat().st_mtime_ns)

    def __hash__(self) -> int:
        return hash(self.folder)


@lru_cache(maxsize=1)
def _plan(folder: str, written: int) -> Plan:
    return Plan.from_arrays(CheckpointDir(folder).take("plan"))


def finite_rows(x: Matrix) -> npt.NDArray[np.bool_]:
    """Return which rows can be used."""
    return np.asarray((np.abs(x) <= np.float64(LARGEST)).all(axis=1))


def probe(job: Job, block: int, probes: Matrix) -> Arrays:
    """Return how far the nearest points of a block are from some points."""

    def make() -> Arrays:
        x = job.source.read(*job.span(block))
        x = x[finite_rows(x)]
        k = min(job.n_neighbors + 1, len(x))
        if k == 0:
            return {"distances": np.empty((len(probes), 0))}
        _, distances = _core.query(x, probes, k, "auto", job.n_jobs)
        return {"distances": distances.reshape(len(probes), k)}

    return job.shelf.made(f"probe-{block}", make)


def scatter(job: Job, block: int) -> Arrays:
    """Write the rows of a block by cell; return where which are, and which cells share points."""
    return {
        key: value
        for key, value in job.shelf.made(f"block-{block}", lambda: _scatter(job, block)).items()
        if key != "own"
    }


def _scatter(job: Job, block: int) -> Arrays:
    plan, span = job.plan(), job.span(block)
    x = job.source.read(*span)
    y = None if job.image is None else job.image.read(*span)
    fine = finite_rows(x) if y is None else finite_rows(x) & finite_rows(y)
    places = np.flatnonzero(fine)
    own = np.full(len(x), NOWHERE)
    counts = np.zeros((plan.n_cells, 2), dtype=np.int64)
    if len(places) == 0:
        job.shelf.keep_parts(f"block-{block}", [])
        nothing = np.zeros(plan.n_cells, dtype=np.int64)
        pairs = np.empty((0, 2), dtype=np.int64)
        return _table(own, counts, nothing, nothing, fine, pairs, plan.width)
    found = plan.assign(x[places], job.n_jobs)
    own[places] = found.own
    bounds = np.searchsorted(found.cells, np.arange(plan.n_cells + 1))
    counts[:, 0] = np.diff(bounds)
    counts[:, 1] = np.bincount(found.own, minlength=plan.n_cells)
    parts = []
    for start, stop in pairwise(bounds):
        rows = places[found.rows[start:stop]]
        held = [rows.astype(np.uint32), found.gaps[start:stop], found.second[found.rows[start:stop]], x[rows]]
        parts.append(b"".join(array.tobytes() for array in (held if y is None else [*held, y[rows]])))
    sums = np.array(job.shelf.keep_parts(f"block-{block}", parts), dtype=np.int64)
    sizes = np.array([len(part) for part in parts], dtype=np.int64)
    return _table(own, counts, sizes, sums, fine, _pairs(found.rows, found.cells, plan.n_cells), found.reach)


def _table(own: Any, counts: Any, sizes: Any, sums: Any, fine: Any, pairs: Any, reach: float) -> Arrays:
    return {
        "own": own,
        "counts": counts,
        "segments": np.stack([np.cumsum(sizes) - sizes, sizes, sums], axis=1),
        "pairs": pairs,
        "reach": np.array(reach),
        "not_finite": np.flatnonzero(~fine),
    }


def _pairs(rows: Any, cells: Any, n_cells: int) -> npt.NDArray[np.int64]:
    """Return which cells hold points together, each pair once."""
    order = np.lexsort((cells, rows))
    rows, cells = rows[order], cells[order].astype(np.int64)
    found = [np.empty(0, dtype=np.int64)]
    for step in range(1, len(rows)):
        same = rows[step:] == rows[:-step]
        if not same.any():
            break
        found.append(np.unique(cells[:-step][same] * n_cells + cells[step:][same]))
    keys = np.unique(np.concatenate(found))
    return np.stack([keys // n_cells, keys % n_cells], axis=1)


@dataclass(frozen=True, eq=False)
class Members:
    """The points of a cell and of its halo, in the order of the data.

    Attributes
    ----------
    ids : ndarray of int64
        Their rows in the data.
    gaps : ndarray of float32
        Their gaps to the cell; negative in the cell itself.
    second : ndarray of float32
        Their gaps to the nearest cell that is not their own.
    x : ndarray of shape (m, q)
        The points.
    y : ndarray of shape (m, d) or None
        Their images, where an embedding is measured.
    """

    ids: npt.NDArray[np.int64]
    gaps: npt.NDArray[np.float32]
    second: npt.NDArray[np.float32]
    x: Matrix
    y: Matrix | None

    @property
    def core(self) -> npt.NDArray[np.bool_]:
        """Which are of the cell itself."""
        return np.asarray(self.gaps < 0)

    def some(self, places: Any) -> Members:
        """Return some of them."""
        if len(places) == len(self.ids):
            return self
        y = None if self.y is None else self.y[places]
        return Members(self.ids[places], self.gaps[places], self.second[places], self.x[places], y)


def members(job: Job, sizes: Any, segments: Any) -> Members:
    """Read a cell: one segment of each block, checked."""
    kinds = [(np.dtype(np.uint32), 1), (np.dtype(np.float32), 1), (np.dtype(np.float32), 1)]
    kinds.append((job.source.dtype, job.source.shape[1]))
    if job.image is not None:
        kinds.append((job.image.dtype, job.image.shape[1]))
    read = []
    for block, (size, segment) in enumerate(zip(sizes, segments, strict=True)):
        if size == 0:
            continue
        held = _split(job.shelf.part(f"block-{block}", segment), int(size), kinds)
        read.append([held[0].astype(np.int64).ravel() + block * job.rows, *held[1:]])
    if not read:
        empty = [np.empty((0, width), dtype) for dtype, width in kinds]
        read = [[empty[0].astype(np.int64).ravel(), *empty[1:]]]
    ids, gaps, second, x, *y = [np.concatenate(parts) for parts in zip(*read, strict=True)]
    return Members(ids, gaps.ravel(), second.ravel(), x, y[0] if y else None)


def _split(read: bytes, size: int, kinds: list[tuple[np.dtype[Any], int]]) -> list[npt.NDArray[Any]]:
    held, at = [], 0
    for dtype, width in kinds:
        count = size * width
        held.append(np.frombuffer(read, dtype, count, at).reshape(size, width))
        at += count * dtype.itemsize
    return held
