"""Borders between cells: each cell is fitted again, while the outer points of its halo are held.

The cells that hold a point agree on its place. Then each cell fits its own neighborhoods again (eq. 11 of
Goldberg & Ritov 2009) for points deep enough in it, in turn with the best frames for them: overlapping Schwarz
steps, all cells at once. Cost: O(m k d) for each step of conjugate gradients on a cell of m points.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..fit.assembly import conjugate_gradients
from ..graph.neighbors import Neighborhoods
from .cells import Cell, rim_of, weight
from .checkpoint import Arrays
from .plan import CORE
from .scatter import Job

__all__ = ["agreed", "settle"]

Array = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]

FREE = 0.5
"""Points with a gap of at most this share of the width move while a cell is fitted again; the others are held."""

STEPS, REDUCTION = 8, 1e-2
"""Maximum number of steps of conjugate gradients for given frames, and the reduction of the residual."""

INNER, MUCH = 6, 1e-2
"""Maximum number of times that a cell finds its frames again, while that lowers R by more than this share."""


def agreed(job: Job, cell: Cell, kept: Arrays, y: Array, stage: int, motions: Any) -> tuple[Array, Any]:
    """Return the mean place of each point over the cells that hold it, and its component, that of its own cell.

    Cells are added in the order of their numbers, so that all cells that hold a point find the same bits.
    """
    ids, d = kept["ids"], job.n_components
    if len(ids) == 0:  # a cell of copies of points in other cells
        return np.empty((0, d)), np.empty(0, dtype=np.int64)
    seen = []
    for number in sorted({cell.number, *cell.neighbors}):
        rim = kept | {"y": y} if number == cell.number else job.checkpoints.load(f"rim-{number}-{stage}")
        at = np.searchsorted(ids, rim["ids"])
        at[at == len(ids)] = 0
        here = (ids[at] == rim["ids"]) & (rim["piece"] >= 0)
        if not here.any():
            continue
        turns, shifts, components = motions[number]
        piece = rim["piece"][here]
        moved = np.einsum("ij,ijk->ik", rim["y"][here], turns[piece]) + shifts[piece]
        seen.append((at[here], rim["gaps"][here], components[piece], moved))
    component = np.full(len(ids), -1, dtype=np.int64)
    for at, _, of, _ in seen:
        unknown = component[at] < 0
        component[at[unknown]] = of[unknown]
    for at, gaps, of, _ in seen:
        component[at[gaps == CORE]] = of[gaps == CORE]
    total, sums = np.zeros(len(ids)), np.zeros((len(ids), d))
    for at, gaps, of, moved in seen:
        same = component[at] == of
        w = weight(gaps[same], cell.width)
        total[at[same]] += w
        sums[at[same]] += w[:, None] * moved[same]
    with np.errstate(invalid="ignore"):
        return sums / total[:, None], component


def settle(job: Job, cell: Cell, stage: int, motions: Any, renewed: bool) -> Arrays:
    """Fit the neighborhoods of a cell, whose outer halo its neighbors hold.

    `motions` are those of this cell and of its neighbors: rotations, shifts and components of their pieces.
    """
    name, rim = f"state-{cell.number}-{stage + 1}", f"rim-{cell.number}-{stage + 1}"

    def make() -> Arrays:
        kept = job.checkpoints.load(f"cell-{cell.number}")
        y = kept["y"] if stage == 0 else job.checkpoints.load(f"state-{cell.number}-{stage}")["y"]
        y, _ = agreed(job, cell, kept, y, stage, motions)
        values = np.zeros(2)
        if kept["indices"].size:
            y, values = _settled(job, cell, kept, y, motions[cell.number], renewed)
        job.checkpoints.save(rim, rim_of(kept, y, cell.width))
        return {"y": y, "values": values}

    if not job.checkpoints.has(rim):
        job.checkpoints.remove(name)
    return {"values": job.checkpoints.cached(name, make)["values"]}


def _settled(
    job: Job, cell: Cell, kept: Arrays, together: Array, motions: Any, renewed: bool
) -> tuple[Array, Array]:
    """Return the new places of the points, and R of all their neighborhoods before and after."""
    held, alone = cell.members(job).some(kept["places"]), _moved(kept, motions)
    known = np.asarray(np.isfinite(together).all(axis=1))
    start = np.where(known[:, None], together, alone)
    system = _Held(job, held.x, kept, (kept["gaps"] <= FREE * cell.width) & (kept["piece"] >= 0))
    moved, values = system.renewed(start) if renewed else system.fixed(start, alone)
    return np.where(known[:, None], moved, together), np.array(values) * len(together)


class _Held:
    """Eq. 11 where some points are held."""

    def __init__(self, job: Job, x: Any, kept: Arrays, free: Booleans) -> None:
        d, objective = job.n_components, job.parameters.get("objective", "R_N")
        graph = Neighborhoods.from_knn(kept["indices"]).core
        self._problem = _core.Problem(_core.Points(x), graph, d, objective, job.n_jobs)
        self._free = np.repeat(free, d)
        diagonal = np.repeat(self._problem.diagonal(), d)
        fine = self._free & (diagonal > 0)
        self._scale = np.where(fine, 1.0 / np.where(fine, diagonal, 1.0), 0.0)

    def fixed(self, start: Array, alone: Array) -> tuple[Array, list[float]]:
        """Solve eq. 11 for the frames of the embedding of the cell alone."""
        moved = self._step(start, self._problem.apply(alone.ravel()), plain=True)
        return moved, [0.0, 0.0]

    def renewed(self, start: Array) -> tuple[Array, list[float]]:
        """Find the best frames, and the embedding for them, in turn, while the objective falls much."""
        right_hand_side, value = self._problem.frames(start)
        y, values = start, [value]
        for step in range(INNER):
            moved = self._step(y, right_hand_side, plain=step == 0)
            right_hand_side, reached = self._problem.frames(moved)
            if not reached < value:
                break
            y = moved
            values.append(reached)
            if value - reached <= MUCH * value:
                break
            value = reached
        return y, [values[0], values[-1]]

    def _step(self, y: Array, right_hand_side: Array, plain: bool) -> Array:
        residual = self._where_free(right_hand_side - self._problem.apply(y.ravel()))
        change = conjugate_gradients(
            lambda v: self._where_free(self._problem.apply(self._where_free(v))),
            residual,
            (lambda v: self._scale * v) if plain else self._cycle,
            REDUCTION * float(np.linalg.norm(residual)),
            STEPS,
        )
        return np.asarray(y + change.reshape(y.shape))

    def _where_free(self, v: Array) -> Array:
        return np.where(self._free, v, 0.0)

    def _cycle(self, v: Array) -> Array:
        return self._where_free(self._problem.cycle(self._where_free(v)))


def _moved(kept: Arrays, motions: Any) -> Array:
    """Return the embedding of the cell alone, moved."""
    turns, shifts, _ = motions
    if len(turns) == 0:
        return np.nan_to_num(kept["y"])
    piece = np.maximum(kept["piece"], 0)
    return np.asarray(np.einsum("ij,ijk->ik", kept["y"], turns[piece]) + shifts[piece])
