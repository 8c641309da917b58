"""What comes of the cells: their measures, which add up, and their points in the order of the data."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from .cells import Cell, neighbors_of, proved
from .checkpoint import Arrays
from .scatter import Job
from .seams import agreed, known_graph

__all__ = ["SUMS", "extents", "gather", "measure", "measure_given"]

Array = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]

FIELDS = ("r", "r_n", "r_c", "r_pca", "bound")
"""What the core measures of each neighbourhood, in its order."""


def measure(job: Job, cell: Cell, stage: int, motions: Any) -> Arrays:
    """Write where the points of a cell lie, and measure their neighbourhoods."""

    def make() -> Arrays:
        kept = job.shelf.take(f"cell-{cell.number}")
        y = kept["y"] if stage == 0 else job.shelf.take(f"state-{cell.number}-{stage}")["y"]
        together, component = agreed(job, cell, kept, y, stage, motions)
        own = kept["gaps"] < 0
        parts = _by_block(job, kept["ids"][own], together[own], component[own])
        sums = np.array(job.shelf.keep_parts(f"done-{cell.number}", parts), dtype=np.int64)
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

    return job.shelf.made(f"done-{cell.number}", make)


SUMS = (*FIELDS, "a", "b", "measured", "degenerate")
"""Sums over neighbourhoods: the fields, |HY|^2 / |HX|^2, sum(s) / |HX|^2, how many, and how many were left
out."""


def faithful_sums(x: Any, y: Any, indices: Any, own: Booleans, n_jobs: int) -> Array:
    """Return the sums of which the measures of all neighbourhoods are made, each rounded once."""
    centers = np.flatnonzero(own).astype(np.uint32)
    graph = known_graph(indices)
    fields = np.empty((8, len(centers)))
    if len(centers) == 0:
        return np.zeros(len(SUMS))
    means = _core.faithfulness(x, np.ascontiguousarray(y), graph, True, centers, fields, n_jobs)
    counted = np.isfinite(fields[1])
    sums = [math.fsum(fields[0]), *(math.fsum(fields[at][counted]) for at in (1, 2))]
    sums += [math.fsum(fields[3]), math.fsum(fields[4][counted])]
    many = int(counted.sum())
    # The best scale is b / a, and R_N with it 1 - b^2 / a.
    scale = means["scale"]
    b = many * (1.0 - means["r_n_scaled"]) / scale if many and scale > 0 else 0.0
    a = b / scale if scale > 0 else 0.0
    return np.array([*sums, a, b, len(centers), len(centers) - many])


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


def measure_given(job: Job, cell: Cell) -> Arrays:
    """Measure the neighbourhoods of a cell in an embedding that was given."""

    def make() -> Arrays:
        held = cell.members(job)
        assert held.y is not None
        try:
            graph = neighbors_of(job, held.x)
        except ValueError as error:
            return {"failed": np.array(str(error)), "sums": np.zeros(len(SUMS)), "proved": np.array(0)}
        indices = graph._graph["indices"].reshape(len(held.x), -1)
        sums = faithful_sums(held.x, held.y, indices, held.core, job.n_jobs)
        known = np.array(proved(held, graph, cell.reach))
        return {"failed": np.array(""), "sums": sums, "proved": known}

    return job.shelf.made(f"measured-{cell.number}", make)


def extents(job: Job, cell: Cell, segments: Any, means: Array, axes: Array) -> Arrays:
    """Return how far each component reaches in this cell, along its axes."""

    def make() -> Arrays:
        rows = np.concatenate([_done(job, cell.number, segment) for segment in segments])
        low, high = np.full(means.shape, np.inf), np.full(means.shape, -np.inf)
        placed = rows[rows[:, -1] >= 0]
        of = placed[:, -1].astype(np.intp)
        along = np.einsum("ij,ijk->ik", placed[:, :-1] - means[of], axes[of])
        np.minimum.at(low, of, along)
        np.maximum.at(high, of, along)
        return {"low": low, "high": high}

    return job.shelf.made(f"extent-{cell.number}", make)


def _done(job: Job, cell: int, segment: Any) -> Array:
    return np.frombuffer(job.shelf.part(f"done-{cell}", segment), np.float64).reshape(
        -1, job.n_components + 1
    )


def gather(job: Job, block: int, segments: Any, means: Array, axes: Array, shifts: Array, out: str) -> Arrays:
    """Write the rows of a block to where they belong; `segments` are those of the block, of every cell."""
    name = f"out-{block}"

    def make() -> Arrays:
        own = job.shelf.take(f"block-{block}")["own"]
        order = np.argsort(own, kind="stable")
        rows = np.full((len(own), job.n_components + 1), np.nan)
        placed = [_done(job, cell, segment) for cell, segment in enumerate(segments) if segment[1] > 0]
        if placed:
            found = np.concatenate(placed)
            rows[order[: len(found)]] = found
        of = np.where(np.isnan(rows[:, -1]), -1, rows[:, -1]).astype(np.intp)
        y = np.full((len(own), job.n_components), np.nan)
        known = of >= 0
        y[known] = (
            np.einsum("ij,ijk->ik", rows[known, :-1] - means[of[known]], axes[of[known]]) + shifts[of[known]]
        )
        target = np.load(out, mmap_mode="r+")
        start, stop = job.span(block)
        target[start:stop] = y
        target.flush()
        return {"lost": np.array(int((~np.isfinite(y)).any(axis=1).sum()))}

    return job.shelf.made(name, make)
