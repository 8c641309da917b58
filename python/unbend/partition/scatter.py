"""Rows sorted by cell.

Each block of rows is sorted by cell once, halos included, and written to a file. Reading a cell then takes
one long read from each block instead of many short ones. The rows never pass through the driver.

Cost: O(n q) bytes read, and (1 + halo) times as many written.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import Matrix
from .checkpoint import Arrays, CheckpointDir, checkpointed
from .plan import Plan
from .sources import Source

__all__ = ["Job", "Members", "members", "probe", "scatter"]

Array = npt.NDArray[np.float64]

NO_CELL = np.uint32(2**32 - 1)
"""The cell of a row that is not finite."""


@dataclass(frozen=True)
class Job:
    """Data and settings that every task needs; results of other tasks are in checkpoints."""

    folder: str  # Path of the checkpoints.
    source: Source  # The data.
    image: Source | None  # The embedding that is measured, if any.
    rows: int  # Number of rows of a block.
    # n_components, n_neighbors: Parameters of the embedding.
    n_components: int
    n_neighbors: int
    method: str  # "psa" or "gp".
    parameters: dict[str, Any]  # Further parameters of the estimator that embeds a cell.
    n_jobs: int  # Number of threads of a task; 0 means all.

    @property
    def checkpoints(self) -> CheckpointDir:
        """The checkpoints."""
        return CheckpointDir(self.folder)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return -(-self.source.shape[0] // self.rows)

    def span(self, block: int) -> tuple[int, int]:
        """Return the first row of a block, and the first row after it."""
        return block * self.rows, min((block + 1) * self.rows, self.source.shape[0])

    def plan(self) -> Plan:
        """Return the partition into cells."""
        return _plan(self.folder, self.checkpoints.path("plan.npz").stat().st_mtime_ns)

    def __hash__(self) -> int:
        return hash(self.folder)


@lru_cache(maxsize=1)
def _plan(folder: str, written: int) -> Plan:
    return Plan.from_arrays(CheckpointDir(folder).load("plan"))


def finite_rows(x: Matrix) -> npt.NDArray[np.bool_]:
    """Return for each row whether all its entries are finite."""
    return np.asarray((np.abs(x) <= np.float64(_core.MAX_MAGNITUDE)).all(axis=1))


@checkpointed("probe")
def probe(job: Job, block: int, probes: Matrix) -> Arrays:
    """Return the distances of some points to their nearest points in a block."""
    x = job.source.read(*job.span(block))
    x = x[finite_rows(x)]
    k = min(job.n_neighbors + 1, len(x))
    if k == 0:
        return {"distances": np.empty((len(probes), 0))}
    _, distances = _core.query(x, probes, k, "auto", job.n_jobs)
    return {"distances": distances.reshape(len(probes), k)}


def scatter(job: Job, block: int) -> Arrays:
    """Write the rows of a block by cell; return their segments, and the pairs of cells that share points."""
    return {
        key: value
        for key, value in job.checkpoints.cached(f"block-{block}", lambda: _scatter(job, block)).items()
        if key != "own"
    }


def _scatter(job: Job, block: int) -> Arrays:
    plan, span = job.plan(), job.span(block)
    x = job.source.read(*span)
    y = None if job.image is None else job.image.read(*span)
    finite = finite_rows(x) if y is None else finite_rows(x) & finite_rows(y)
    places = np.flatnonzero(finite)
    own = np.full(len(x), NO_CELL)
    counts = np.zeros((plan.n_cells, 2), dtype=np.int64)
    if len(places) == 0:
        job.checkpoints.save_parts(f"block-{block}", [])
        nothing = np.zeros(plan.n_cells, dtype=np.int64)
        pairs = np.empty((0, 2), dtype=np.int64)
        return _table(own, counts, nothing, nothing, finite, pairs, plan.width)
    assigned = plan.assign(x[places], job.n_jobs)
    own[places] = assigned.own
    bounds = np.searchsorted(assigned.cells, np.arange(plan.n_cells + 1))
    counts[:, 0] = np.diff(bounds)
    counts[:, 1] = np.bincount(assigned.own, minlength=plan.n_cells)
    parts = []
    for start, stop in pairwise(bounds):
        local = assigned.rows[start:stop]
        rows = places[local]
        columns = [rows.astype(np.uint32), assigned.gaps[start:stop], assigned.second[local], x[rows]]
        columns += [] if y is None else [y[rows]]
        parts.append(b"".join(column.tobytes() for column in columns))
    sums = np.array(job.checkpoints.save_parts(f"block-{block}", parts), dtype=np.int64)
    sizes = np.array([len(part) for part in parts], dtype=np.int64)
    pairs = _pairs(assigned.rows, assigned.cells, plan.n_cells)
    return _table(own, counts, sizes, sums, finite, pairs, assigned.reach)


def _table(own: Any, counts: Any, sizes: Any, sums: Any, finite: Any, pairs: Any, reach: float) -> Arrays:
    return {
        "own": own,
        "counts": counts,
        "segments": np.stack([np.cumsum(sizes) - sizes, sizes, sums], axis=1),
        "pairs": pairs,
        "reach": np.array(reach),
        "not_finite": np.flatnonzero(~finite),
    }


def _pairs(rows: Any, cells: Any, n_cells: int) -> npt.NDArray[np.int64]:
    """Return the pairs of cells that share points, each pair once."""
    order = np.lexsort((cells, rows))
    rows, cells = rows[order], cells[order].astype(np.int64)
    keys = [np.empty(0, dtype=np.int64)]
    for step in range(1, len(rows)):
        same = rows[step:] == rows[:-step]
        if not same.any():
            break
        keys.append(np.unique(cells[:-step][same] * n_cells + cells[step:][same]))
    return np.stack(np.divmod(np.unique(np.concatenate(keys)), n_cells), axis=1)


@dataclass(frozen=True, eq=False)
class Members:
    """The points of a cell and of its halo, in the order of the data."""

    ids: npt.NDArray[np.int64]  # Row of each point in the data.
    gaps: npt.NDArray[np.float32]  # Gap of each point to the cell; negative for points of the cell itself.
    second: npt.NDArray[np.float32]  # Gap of each point to the nearest cell other than its own.
    x: Matrix  # Shape (m, q). The points.
    y: Matrix | None  # Shape (m, d). Their images, if an embedding is measured.

    @property
    def core(self) -> npt.NDArray[np.bool_]:
        """Mask of the points of the cell itself, without its halo."""
        return np.asarray(self.gaps < 0)

    def some(self, places: Any) -> Members:
        """Return some of the points."""
        if len(places) == len(self.ids):
            return self
        y = None if self.y is None else self.y[places]
        return Members(self.ids[places], self.gaps[places], self.second[places], self.x[places], y)


def members(job: Job, sizes: Any, segments: Any) -> Members:
    """Read the points of a cell: one segment of each block, whose checksum is tested."""
    kinds = [(np.dtype(np.uint32), 1), (np.dtype(np.float32), 1), (np.dtype(np.float32), 1)]
    kinds.append((job.source.dtype, job.source.shape[1]))
    if job.image is not None:
        kinds.append((job.image.dtype, job.image.shape[1]))
    read = []
    for block, (size, segment) in enumerate(zip(sizes, segments, strict=True)):
        if size == 0:
            continue
        columns = _split(job.checkpoints.load_part(f"block-{block}", segment), int(size), kinds)
        read.append([columns[0].astype(np.int64).ravel() + block * job.rows, *columns[1:]])
    if not read:
        empty = [np.empty((0, width), dtype) for dtype, width in kinds]
        read = [[empty[0].astype(np.int64).ravel(), *empty[1:]]]
    ids, gaps, second, x, *y = [np.concatenate(parts) for parts in zip(*read, strict=True)]
    return Members(ids, gaps.ravel(), second.ravel(), x, y[0] if y else None)


def _split(read: bytes, size: int, kinds: list[tuple[np.dtype[Any], int]]) -> list[npt.NDArray[Any]]:
    columns, at = [], 0
    for dtype, width in kinds:
        count = size * width
        columns.append(np.frombuffer(read, dtype, count, at).reshape(size, width))
        at += count * dtype.itemsize
    return columns
