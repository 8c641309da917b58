"""Seams removed: every cell settled between its neighbours, its outer halo held by them.

A point lies where the cells that hold it agree on. Then each cell fits its own neighbourhoods again (eq. 11
of Goldberg & Ritov 2009) for points that lie deep enough in it, in turn with the best frames for them:
overlapping Schwarz steps, all cells at once. Cost: O(m k d) for each step of conjugate gradients on a cell of
m points.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..graph.neighbors import Neighborhoods
from .cells import Cell, rim_of, weight
from .checkpoint import Arrays
from .plan import CORE
from .scatter import Job

__all__ = ["agreed", "known_graph", "settle"]

Array = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]

FREE = 0.5
"""Points with a gap of at most this share of the width move while a cell is settled; those beyond are
held."""

STEPS, REDUCTION = 8, 1e-2
"""How many steps of conjugate gradients are taken for given frames, and by how much the residual shall
fall."""

INNER, MUCH = 6, 1e-2
"""A cell finds frames anew at most so often, and while that lowers R by more than this share."""


def agreed(job: Job, cell: Cell, kept: Arrays, y: Array, stage: int, motions: Any) -> tuple[Array, Any]:
    """Return where all cells together see the points of this one, and in which component they are.

    Cells are added in the order of their numbers, so that all who hold a point find the same bits. A point
    belongs to the component of its own cell; what lies in another has no place relative to it.
    """
    ids, d = kept["ids"], job.n_components
    seen = []
    for number in sorted({cell.number, *cell.neighbors}):
        rim = kept | {"y": y} if number == cell.number else job.shelf.take(f"rim-{number}-{stage}")
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
    """Move the points of a cell to where its neighbourhoods want them; the others hold its outer halo.

    `motions` are those of this cell and of its neighbours: turns, shifts and components of their pieces.
    """
    name, rim = f"state-{cell.number}-{stage + 1}", f"rim-{cell.number}-{stage + 1}"

    def make() -> Arrays:
        kept = job.shelf.take(f"cell-{cell.number}")
        y = kept["y"] if stage == 0 else job.shelf.take(f"state-{cell.number}-{stage}")["y"]
        y, _ = agreed(job, cell, kept, y, stage, motions)
        values = np.zeros(2)
        if kept["indices"].size:
            y, values = _settled(job, cell, kept, y, motions[cell.number], renewed)
        job.shelf.keep(rim, rim_of(kept, y, cell.width))
        return {"y": y, "values": values}

    if not job.shelf.has(rim):
        job.shelf.drop(name)
    return {"values": job.shelf.made(name, make)["values"]}


def _settled(
    job: Job, cell: Cell, kept: Arrays, together: Array, motions: Any, renewed: bool
) -> tuple[Array, Array]:
    """Return where the points go, and R before and after, of all neighbourhoods that were looked at."""
    held, alone = cell.members(job).some(kept["places"]), _moved(kept, motions)
    known = np.asarray(np.isfinite(together).all(axis=1))
    start = np.where(known[:, None], together, alone)
    system = _Held(job, held.x, kept, (kept["gaps"] <= FREE * cell.width) & (kept["piece"] >= 0))
    moved, values = system.renewed(start) if renewed else system.fixed(start, alone)
    return np.where(known[:, None], moved, together), np.array(values) * len(together)


class _Held:
    """Eq. 11 where some points are held."""

    def __init__(self, job: Job, x: Any, kept: Arrays, free: Booleans) -> None:
        self._x, self._graph = x, known_graph(kept["indices"])
        self._d, self._free = job.n_components, np.repeat(free, job.n_components)
        self._core = _core.Refiner(
            x, self._graph, self._d, job.parameters.get("objective", "R_N"), job.n_jobs
        )
        diagonal = np.repeat(self._core.diagonal(self._graph), self._d)
        fine = self._free & (diagonal > 0)
        self._scale = np.where(fine, 1.0 / np.where(fine, diagonal, 1.0), 0.0)
        self._multigrid: _core.Multigrid | None = None

    def fixed(self, start: Array, alone: Array) -> tuple[Array, list[float]]:
        """Keep the frames of the embedding that the cell was given alone: for them it solves eq. 11."""
        moved = self._step(start, self._core.apply(self._graph, alone.ravel()), plain=True)
        return moved, [0.0, 0.0]

    def renewed(self, start: Array) -> tuple[Array, list[float]]:
        """Find frames anew, and the embedding for them, in turn, while that gains much."""
        sides, value = self._core.frames(self._x, self._graph, start)
        y, values = start, [value]
        for step in range(INNER):
            moved = self._step(y, sides, plain=step == 0)
            sides, reached = self._core.frames(self._x, self._graph, moved)
            if not reached < value:
                break
            y = moved
            values.append(reached)
            if value - reached <= MUCH * value:
                break
            value = reached
        return y, [values[0], values[-1]]

    def _step(self, y: Array, sides: Array, plain: bool) -> Array:
        from scipy.sparse.linalg import LinearOperator, cg

        square = (y.size, y.size)
        change, _ = cg(
            LinearOperator(square, matvec=lambda v: self._where_free(self._apply(self._where_free(v)))),
            self._where_free(sides - self._apply(y.ravel())),
            M=LinearOperator(square, matvec=(lambda v: self._scale * v) if plain else self._cycle),
            rtol=REDUCTION,
            maxiter=STEPS,
        )
        return np.asarray(y + change.reshape(y.shape))

    def _apply(self, v: Array) -> Array:
        return self._core.apply(self._graph, v)

    def _where_free(self, v: Array) -> Array:
        return np.where(self._free, v, 0.0)

    def _cycle(self, v: Array) -> Array:
        if self._multigrid is None:
            self._multigrid = self._core.multigrid(self._graph)
        return self._where_free(self._multigrid.cycle(self._where_free(v), self._d))


def known_graph(indices: Any) -> Any:
    """Return neighbours that were found here as the core takes them."""
    return Neighborhoods.from_knn(indices)._graph | {"found_here": True}


def _moved(kept: Arrays, motions: Any) -> Array:
    """Return the embedding that the cell was given alone, moved."""
    turns, shifts, _ = motions
    if len(turns) == 0:
        return np.nan_to_num(kept["y"])
    piece = np.maximum(kept["piece"], 0)
    return np.asarray(np.einsum("ij,ijk->ik", kept["y"], turns[piece]) + shifts[piece])
