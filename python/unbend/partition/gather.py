"""Results of a partition: measures, which add up over cells, and the embedding in the order of the data."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.memory import readable
from ..core.notebook import Rows, as_html
from ..files import writing
from ..graph.neighbors import Neighborhoods
from ..metrics import Faithfulness
from .borders import agreed
from .cells import Cell, neighbors_of, proved
from .checkpoint import Arrays, checkpointed
from .scatter import Job

__all__ = [
    "SUMS",
    "CellwiseFaithfulness",
    "Partition",
    "empty",
    "extents",
    "gather",
    "measure",
    "measure_given",
]

Array = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]

FIELDS = ("r", "r_n", "r_c", "r_pca", "bound")
"""Names of the numbers that the core measures of each neighborhood, in its order."""


@dataclass(frozen=True)
class CellwiseFaithfulness:
    """The Procrustes measures of an embedding, computed cell by cell; smaller is better, 0 is perfect.

    Every neighborhood is measured once, in the cell of its point. If halos hold all neighbors, the numbers are
    those of :func:`unbend.faithfulness`, except for the last digit.

    Attributes
    ----------
    r, r_n, r_c, r_pca, lower_bound : float
        As in :class:`unbend.Faithfulness`.
    scale, r_n_scaled : float
        The factor for the whole embedding that minimizes R_N, and R_N after it.
    n_points, n_measured, n_degenerate : int
        Number of points; of neighborhoods that were measured; of those that normalized means leave out.
    n_proved : int
        Number of neighborhoods whose cell certainly holds all of their points. If it is the number of points,
        cells change nothing.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(4000, random_state=0)
    >>> m = ub.partition.faithfulness(X, coordinates, points_per_cell=2000)
    >>> m.n_measured, m.n_proved
    (4000, 4000)
    """

    r: float
    r_n: float
    r_c: float
    r_pca: float
    lower_bound: float
    scale: float
    r_n_scaled: float
    n_points: int
    n_measured: int
    n_degenerate: int
    n_proved: int

    def _repr_html_(self) -> str:
        """Return a table of all numbers for a notebook."""
        extent = (
            f"Neighborhoods of {self.n_points:,} points, {self.n_measured:,} measured, {self.n_proved:,} of "
            "them certainly within their cell. Errors of 0 are perfect."
        )
        shown = {name: text for name, text in Faithfulness.SHOWN.items() if name != "overlap"}
        rows = [(symbol, f"{getattr(self, name):.4g}", meaning) for name, (symbol, meaning) in shown.items()]
        return as_html(extent, Rows(("", "value", "meaning"), rows, "<><"))


@dataclass(frozen=True, eq=False)
class Partition:
    """An embedding that was made in cells.

    Attributes
    ----------
    embedding : ndarray of shape (n, d)
        Embedding in units of the data, laid out as estimators do, and memory-mapped if it is in a file. Points
        that could not be embedded are NaN.
    faithfulness : CellwiseFaithfulness
        Faithfulness of the embedding.
    cell_sizes, held_sizes : ndarray of shape (c,)
        Number of points of each cell, without and with its halo.
    overlap_error : ndarray
        For each two pieces that share points, root mean square distance between their images after alignment,
        in units of the data.
    trust : ndarray
        Weight of each of these overlaps, from 0 to 1.
    history : list of float
        Objective of all neighborhoods, halos included, before each pass that removes seams; 0 if frames
        are not found again.
    failed : dict
        Cells that could not be embedded, with the reason.
    n_lost : int
        Number of points that could not be embedded.
    n_connected_components : int
        Number of components that the cells form.
    tangent_neighbors : int
        Number of neighbors from which tangents were found.
    memory : int
        Maximum number of bytes, as planned.
    timings : dict of float
        Seconds of each stage.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(4000, random_state=0)
    >>> result = ub.partition.embed(X, points_per_cell=2000)
    >>> result.cell_sizes.sum(), result.failed, result.n_lost
    (np.int64(4000), {}, 0)
    """

    embedding: Array = field(repr=False)
    faithfulness: CellwiseFaithfulness
    cell_sizes: npt.NDArray[np.int64] = field(repr=False)
    held_sizes: npt.NDArray[np.int64] = field(repr=False)
    overlap_error: Array = field(repr=False)
    trust: Array = field(repr=False)
    history: list[float]
    failed: dict[int, str]
    n_lost: int
    n_connected_components: int
    tangent_neighbors: int
    memory: int
    timings: dict[str, float]

    def _repr_html_(self) -> str:
        """Return the cells in a sentence and the measures in a table for a notebook."""
        (n, d), sizes = self.embedding.shape, self.cell_sizes
        extent = (
            f"{n:,} points embedded in {d:,} dimensions, in {len(sizes):,} cells of {sizes.min():,} to "
            f"{sizes.max():,} points. The plan needs at most {readable(self.memory)} of memory."
        )
        lost = f"{self.n_lost:,} points could not be embedded: their rows are NaN." if self.n_lost else ""
        return as_html(extent, lost) + self.faithfulness._repr_html_()


@checkpointed("done")
def measure(job: Job, cell: Cell, stage: int, motions: Any) -> Arrays:
    """Write where the points of a cell lie, and measure their neighborhoods."""
    kept = job.checkpoints.load(f"cell-{cell.number}")
    y = kept["y"] if stage == 0 else job.checkpoints.load(f"state-{cell.number}-{stage}")["y"]
    together, component = agreed(job, cell, kept, y, stage, motions)
    own = kept["gaps"] < 0
    parts = _by_block(job, kept["ids"][own], together[own], component[own])
    sums = np.array(job.checkpoints.save_parts(f"done-{cell.number}", parts), dtype=np.int64)
    sizes = np.array([len(part) for part in parts], dtype=np.int64)
    segments = np.stack([np.cumsum(sizes) - sizes, sizes, sums], axis=1)
    found: Arrays = {"segments": segments, "moments": _spread(together[own], component[own])}
    if kept["indices"].size:
        x = cell.members(job).some(kept["places"]).x
        start = np.where(np.isfinite(together), together, kept["y"])
        found["sums"] = faithful_sums(x, start, kept["indices"], own, job.n_jobs)
    else:
        found["sums"] = np.zeros(len(SUMS))
    return found


SUMS = (*FIELDS, "a", "b", "coinciding", "measured", "degenerate")
"""Sums over neighborhoods: the fields, |HY|^2 / |HX|^2, sum(s) / |HX|^2, how many coincide in the data and in the
embedding, how many there are, and how many were left out."""

COMPARED_ENTRIES = 2**21
"""Neighborhoods are compared with their points in groups of about this many entries, which limits memory."""


def faithful_sums(x: Any, y: Any, indices: Any, own: Booleans, n_jobs: int) -> Array:
    """Return the sums of which the measures of all neighborhoods are made, each rounded once."""
    centers = np.flatnonzero(own).astype(np.uint32)
    graph = Neighborhoods.from_knn(indices).core
    fields = np.empty((_core.FAITHFULNESS_FIELDS, len(centers)))
    if len(centers) == 0:
        return np.zeros(len(SUMS))
    means = _core.faithfulness(x, np.ascontiguousarray(y), graph, True, centers, fields, None, n_jobs)
    counted = np.isfinite(fields[1])
    sums = [math.fsum(fields[0]), *(math.fsum(fields[at][counted]) for at in (1, 2))]
    sums += [math.fsum(fields[3]), math.fsum(fields[4][counted])]
    many = int(counted.sum())
    # The best scale is b / a, and R_N with it 1 - b^2 / a, or 0 where all points coincide.
    perfect = centers[(fields[0] == 0) & (fields[4] == 0)]
    scale, coinciding = means["scale"], _coinciding(x, indices, perfect)
    b = (many * (1.0 - means["r_n_scaled"]) - coinciding) / scale if many and scale > 0 else 0.0
    a = b / scale if scale > 0 else 0.0
    return np.array([*sums, a, b, coinciding, len(centers), len(centers) - many])


def _coinciding(x: Any, indices: Any, centers: Any) -> int:
    """Return the number of neighborhoods whose points all coincide in double precision."""
    rows, found = max(1, COMPARED_ENTRIES // max(1, indices.shape[1] * x.shape[1])), 0
    for start in range(0, len(centers), rows):
        some = centers[start : start + rows]
        apart = x[indices[some]].astype(np.float64) - x[some][:, None]
        found += int(((apart**2).sum(axis=(1, 2)) == 0).sum())
    return found


def _by_block(job: Job, ids: Any, y: Array, component: Any) -> list[bytes]:
    rows = np.concatenate([y, component[:, None].astype(np.float64)], axis=1)
    bounds = np.searchsorted(ids, np.arange(job.n_blocks + 1) * job.rows)
    return [rows[a:b].tobytes() for a, b in pairwise(bounds)]


def _spread(y: Array, component: Any) -> Array:
    """Return for each component its number, how many points it has here, their mean and their scatter."""
    found = []
    for number in np.unique(component[component >= 0]):
        own = y[component == number]
        mean = own.mean(axis=0)
        apart = own - mean
        found.append(np.concatenate([[number, len(own)], mean, (apart.T @ apart).ravel()]))
    d = y.shape[1]
    return np.array(found).reshape(-1, 2 + d + d * d)


@checkpointed("measured")
def measure_given(job: Job, cell: Cell) -> Arrays:
    """Measure the neighborhoods of a cell in an embedding that was given."""
    held = cell.members(job)
    assert held.y is not None
    try:
        graph = neighbors_of(job, held.x)
    except ValueError as error:
        reason = str(error) if held.core.any() else ""  # a cell without points cannot fail
        return {"failed": np.array(reason), "sums": np.zeros(len(SUMS)), "proved": np.array(0)}
    indices = graph.indices.reshape(len(held.x), -1)
    sums = faithful_sums(held.x, held.y, indices, held.core, job.n_jobs)
    known = np.array(proved(held, graph, cell.reach))
    return {"failed": np.array(""), "sums": sums, "proved": known}


@checkpointed("extent")
def extents(job: Job, cell: Cell, segments: Any, means: Array, axes: Array) -> Arrays:
    """Return how far each component reaches in this cell, along its axes."""
    rows = np.concatenate([_done(job, cell.number, segment) for segment in segments])
    low, high = np.full(means.shape, np.inf), np.full(means.shape, -np.inf)
    placed = rows[rows[:, -1] >= 0]
    of = placed[:, -1].astype(np.intp)
    along = np.einsum("ij,ijk->ik", placed[:, :-1] - means[of], axes[of])
    np.minimum.at(low, of, along)
    np.maximum.at(high, of, along)
    return {"low": low, "high": high}


def _done(job: Job, cell: int, segment: Any) -> Array:
    return np.frombuffer(job.checkpoints.load_part(f"done-{cell}", segment), np.float64).reshape(
        -1, job.n_components + 1
    )


@checkpointed("out")
def gather(job: Job, block: int, segments: Any, means: Array, axes: Array, shifts: Array, out: str) -> Arrays:
    """Write the rows of a block to where they belong; `segments` are those of the block, of every cell."""
    own = job.checkpoints.load(f"block-{block}")["own"]
    order = np.argsort(own, kind="stable")
    placed = [_done(job, cell, segment) for cell, segment in enumerate(segments) if segment[1] > 0]
    rows = np.concatenate(placed) if placed else np.empty((0, job.n_components + 1))
    known = rows[:, -1] >= 0
    places, rows, of = order[: len(rows)][known], rows[known, :-1], rows[known, -1].astype(np.intp)
    y = np.full((len(own), job.n_components), np.nan)
    y[places] = np.einsum("ij,ijk->ik", rows - means[of], axes[of]) + shifts[of]
    _overwrite(Path(out), job.span(block)[0], y)
    return {"lost": np.array(int((~np.isfinite(y)).any(axis=1).sum()))}


def empty(shape: tuple[int, int]) -> Callable[[Path], object]:
    """Return a writer of an .npy file of zeros, which need no room on the disk yet."""
    return lambda path: np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=shape)


def _overwrite(path: Path, start: int, rows: Array) -> None:
    """Write rows of an .npy file. Were they written by mapping it, a full disk would end the process."""
    offset = np.lib.format.open_memmap(path, mode="r").offset
    with writing(path), path.open("r+b") as file:
        file.seek(offset + start * rows.shape[1] * rows.itemsize)
        file.write(rows.tobytes())
        file.flush()
        os.fsync(file.fileno())
