"""A partition from its beginning to its end: its tasks, and what each is told of the others' results."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core import memory
from ..core.arrays import Matrix
from ..core.progress import Progress
from . import cells, scatter
from . import gather as gathering
from .align import Aligned, Overlaps, align
from .cells import Cell
from .checkpoint import Arrays
from .plan import Plan, halve, sample_size, width_of
from .scatter import Job
from .seams import settle

__all__ = [
    "Engine",
    "PartWarning",
    "Run",
    "Serial",
    "added",
    "carried_out",
    "cell_bytes",
    "held_bytes",
    "points_that_fit",
]

Array = npt.NDArray[np.float64]
Task = Callable[..., Arrays]

PROBES = 256
"""At so many points the true distance of the farthest neighbour is found before there are cells."""

ENOUGH = 1e-4
"""Seams are removed until that lowers R by less than this share."""

SCALES = 5
"""In so many cells it is asked from how many neighbours tangents should be found."""

USUAL_POINTS, FEWEST_POINTS = 200_000, 2_000
"""Cells are not made larger without need, nor smaller than is sensible."""


class Engine(Protocol):
    """Who runs tasks."""

    def map(self, stage: str, task: Task, calls: list[tuple[Any, ...]], watch: Progress) -> list[Arrays]:
        """Return the results of ``task(*call)`` for all calls, in their order."""


class Serial:
    """One task after the other, in this process."""

    def map(self, stage: str, task: Task, calls: list[tuple[Any, ...]], watch: Progress) -> list[Arrays]:
        """Return the results of all calls, in their order."""
        found = []
        with watch.stage(stage, len(calls)):
            for done, call in enumerate(calls):
                if watch.report(stage, done, len(calls)):
                    raise _core.Stopped
                found.append(carried_out(task, *call))
        return found


def carried_out(task: Task, *call: Any) -> Arrays:
    """Run a task with one thread of BLAS, whose sums depend on how many it has; leave no memory behind."""
    from threadpoolctl import threadpool_limits

    try:
        with threadpool_limits(1, user_api="blas"):
            return task(*call)
    finally:
        memory.give_back()


def cell_bytes(points: int, q: int, d: int, k: int, itemsize: int, method: str, tangents: int | None) -> int:
    """Return what a task holds at most, besides what Python takes, where a cell has so many points.

    Examples
    --------
    >>> 50e6 < cell_bytes(50_000, 3, 2, 12, 8, "psa", None) < 200e6
    True
    """
    return held_bytes(memory.with_halo(points), q, d, k, itemsize, method, tangents)


def held_bytes(held: int, q: int, d: int, k: int, itemsize: int, method: str, tangents: int | None) -> int:
    """Return the same where a cell has so many points with its halo."""
    plan = memory.Plan(n=held, q=q, d=d, k=k, itemsize=itemsize, tangents=tangents, aligned=method == "psa")
    return plan.peak() + held * (3 * q * itemsize + 4 * memory.REAL * d + memory.INDEX * (k + 6))


def points_that_fit(allowed: int | None, size: Callable[[int], int], most: int = USUAL_POINTS) -> int:
    """Return how many points a cell can have: as many as usual, or fewer if memory allows no more.

    Raises
    ------
    MemoryError
        If not even small cells fit.

    Examples
    --------
    >>> points_that_fit(400 * 10**6, lambda points: 1000 * points)
    50000
    """
    if allowed is None:
        return most
    points = most
    while memory.IMPORTED + size(points) > allowed:
        if points <= FEWEST_POINTS:
            needed, has = memory.readable(memory.IMPORTED + size(points)), memory.readable(allowed)
            raise MemoryError(f"cells of {points:,} points need about {needed}, but max_memory allows {has}")
        points = max(FEWEST_POINTS, points - 2_000)
    return points


@dataclass
class Run:
    """A partition under way.

    Attributes
    ----------
    job : Job
        What all tasks know.
    n_cells : int
        How many cells are wanted.
    engine : Engine
        Who runs the tasks.
    watch : Progress
        Shows how far they are.
    errors : {"warn", "raise"}
        What happens when a cell cannot be embedded.
    """

    job: Job
    n_cells: int
    engine: Engine
    watch: Progress
    errors: Literal["warn", "raise"] = "warn"
    cells: list[Cell] = field(default_factory=list)
    blocks: list[Arrays] = field(default_factory=list)
    found: dict[str, Any] = field(default_factory=dict)

    # Cells ------------------------------------------------------------------------------------------------

    def scatter(self) -> None:
        """Decide where cells are, and sort all points by them."""
        job, shelf = self.job, self.job.shelf
        if shelf.find("plan") is None:
            shelf.keep("plan", self._plan().to_arrays())
        calls = [(job, block) for block in range(job.n_blocks)]
        self.blocks = self.engine.map("scatter", scatter.scatter, calls, self.watch)
        plan = job.plan()
        counts = np.stack([table["counts"] for table in self.blocks])
        segments = np.stack([table["segments"] for table in self.blocks])
        reach = min(float(table["reach"]) for table in self.blocks)
        pairs = np.unique(np.concatenate([table["pairs"] for table in self.blocks]), axis=0)
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        beside: list[list[int]] = [[] for _ in range(plan.n_cells)]
        for one, two in pairs.tolist():
            beside[one].append(two)
            beside[two].append(one)
        self.cells = [
            Cell(c, counts[:, c, 0], segments[:, c], tuple(sorted(set(beside[c]))), plan.width, reach)
            for c in range(plan.n_cells)
        ]
        self.found |= {
            "core": counts[:, :, 1].sum(axis=0),
            "held": counts[:, :, 0].sum(axis=0),
            "not_finite": np.concatenate(
                [table["not_finite"] + block * job.rows for block, table in enumerate(self.blocks)]
            ),
        }

    def _plan(self) -> Plan:
        job, n = self.job, self.job.source.shape[0]
        with self.watch.stage("plan"):
            sample, others = self._sample(n)
        calls = [(job, block, sample[:: max(1, len(sample) // PROBES)]) for block in range(job.n_blocks)]
        near = self.engine.map("probe", scatter.probe, calls, self.watch)
        distances = np.sort(np.concatenate([found["distances"] for found in near], axis=1), axis=1)
        if distances.shape[1] <= job.n_neighbors:
            raise ValueError(
                f"n_neighbors = {job.n_neighbors} needs at least {job.n_neighbors + 1} points without NaN, "
                f"got {distances.shape[1]}"
            )
        with self.watch.stage("plan"):
            plan = Plan(sample, halve(sample, self.n_cells, job.n_jobs), self.n_cells, 0.0)
            width = width_of(plan, others, distances[:, job.n_neighbors], job.n_jobs)
        return replace(plan, width=width)

    def _sample(self, n: int) -> tuple[Matrix, Matrix]:
        """Return the points that say where cells are, and as many others to see what that means."""
        size = sample_size(n, self.n_cells)
        drawn = np.random.default_rng(0).choice(n, min(n, 2 * size), replace=False)
        drawn = drawn if n > 2 * size else np.concatenate([drawn, drawn])[: 2 * size]
        found = []
        for part in (drawn[:size], drawn[size:]):
            rows = self.job.source.rows(np.sort(part))
            found.append(rows[scatter.finite_rows(rows)])
        if len(found[0]) < self.n_cells:
            raise ValueError(f"of {size:,} points drawn only {len(found[0]):,} are finite")
        return found[0], found[1] if len(found[1]) else found[0]

    # Embedded ---------------------------------------------------------------------------------------------

    def embed(self, tangent_neighbors: int | None) -> None:
        """Embed every cell alone."""
        job = self.job
        if tangent_neighbors is None:
            some = self.cells[:: max(1, len(self.cells) // SCALES)]
            scales = self.engine.map(
                "tangents", cells.tangent_scale, [(job, cell) for cell in some], self.watch
            )
            known = sorted(int(found["scale"]) for found in scales if found["scale"] >= 0)
            middle = known[len(known) // 2] if known else 0
            tangent_neighbors = job.n_neighbors if middle == 0 else middle
        self.found["tangent_neighbors"] = tangent_neighbors
        calls = [(job, cell, tangent_neighbors) for cell in self.cells]
        said = self.engine.map("cells", cells.embed, calls, self.watch)
        self.found["failed"] = {
            cell: str(one["failed"]) for cell, one in enumerate(said) if str(one["failed"])
        }
        self.found["pieces"] = [one["pieces"] for one in said]
        self.found["proved"] = sum(int(one.get("proved", 0)) for one in said)
        self.say_failed()

    def say_failed(self) -> None:
        """Say which cells could not be embedded, and why; raise if that is asked for, or if they are all."""
        failed: dict[int, str] = self.found["failed"]
        if len(failed) == len(self.cells):
            raise ValueError(f"no cell could be embedded; the first: {failed[0]}")
        if not failed:
            return
        points = int(sum(self.found["core"][cell] for cell in failed))
        some = "; ".join(f"cell {cell}: {reason}" for cell, reason in list(failed.items())[:3])
        which = f"{len(failed)} of {len(self.cells)} cells, with {points:,} points,"
        text = f"{which} could not be embedded ({some})"
        if self.errors == "raise":
            raise ValueError(text)
        warnings.warn(text, PartWarning, stacklevel=5)

    def align(self) -> Aligned:
        """Turn and move the cells until their overlaps agree."""
        job, d = self.job, self.job.n_components
        compared = self.engine.map(
            "overlaps", cells.overlaps, [(job, cell) for cell in self.cells], self.watch
        )
        first = np.concatenate([[0], np.cumsum([len(pieces) for pieces in self.found["pieces"]])])
        edges = np.concatenate(
            [np.insert(one["edges"], 0, cell, axis=1) for cell, one in enumerate(compared)]
        )
        sums = np.concatenate([one["sums"] for one in compared])
        ends = np.stack([first[edges[:, 0]] + edges[:, 1], first[edges[:, 2]] + edges[:, 3]], axis=1)
        with self.watch.stage("alignment"):
            aligned = align(Overlaps.from_sums(ends, sums, d), int(first[-1]), d)
        counts = np.concatenate(self.found["pieces"])
        self.found["n_components"] = len(np.unique(aligned.components[counts > 0]))
        self.found["motions"] = {
            cell: tuple(
                part[first[cell] : first[cell + 1]]
                for part in (aligned.turns, aligned.shifts, aligned.components)
            )
            for cell in range(len(self.cells))
        }
        self.found |= {"overlap_error": aligned.error, "trust": aligned.trust}
        return aligned

    def settle(self, passes: int, renewed: bool) -> int:
        """Remove the seams: every cell between its neighbours, until that gains little; return how often."""
        self.found["history"] = []
        for stage in range(passes):
            calls = [(self.job, cell, stage, self._motions(cell, stage), renewed) for cell in self.cells]
            moved = self.engine.map("seams", settle, calls, self.watch)
            before, after = added([one["values"] for one in moved]) / self.found["held"].sum()
            self.found["history"].append(float(before))
            if before - after <= ENOUGH * before:
                return stage + 1
        return passes

    def _motions(self, cell: Cell, stage: int) -> dict[int, Any]:
        """Return the motions of a cell and its neighbours; once they are settled, only their components."""
        own = {}
        for number in (cell.number, *cell.neighbors):
            turns, shifts, components = self.found["motions"][number]
            if stage > 0:
                turns, shifts = (
                    np.broadcast_to(np.eye(self.job.n_components), turns.shape),
                    np.zeros_like(shifts),
                )
            own[number] = (turns, shifts, components)
        return own

    def measure(self, stage: int) -> Array:
        """Measure all cells; return the sums over all neighbourhoods."""
        calls = [(self.job, cell, stage, self._motions(cell, stage)) for cell in self.cells]
        self.found["done"] = self.engine.map("faithfulness", gathering.measure, calls, self.watch)
        return added([one["sums"] for one in self.found["done"]])

    # Back -------------------------------------------------------------------------------------------------

    def gather(self) -> Path:
        """Write the embedding in the order of the data; return the file."""
        job, done = self.job, self.found["done"]
        means, axes = self._axes([one["moments"] for one in done])
        shifts = np.zeros_like(means)
        if len(means) > 1:
            calls = [
                (job, cell, one["segments"], means, axes) for cell, one in zip(self.cells, done, strict=True)
            ]
            reach = self.engine.map("layout", gathering.extents, calls, self.watch)
            low = np.min([one["low"] for one in reach], axis=0)
            high = np.max([one["high"] for one in reach], axis=0)
            shifts = beside(low, high, self.found["component_sizes"])
        target = job.shelf.place("out.npy")
        if not target.exists():
            shape = (job.source.shape[0], job.n_components)
            np.lib.format.open_memmap(target, mode="w+", dtype=np.float64, shape=shape).flush()
            for block in range(job.n_blocks):
                job.shelf.drop(f"out-{block}")
        blocks = [
            (job, block, np.stack([one["segments"][block] for one in done]), means, axes, shifts, str(target))
            for block in range(job.n_blocks)
        ]
        written = self.engine.map("output", gathering.gather, blocks, self.watch)
        self.found["n_lost"] = sum(int(one["lost"]) for one in written)
        return target

    def _axes(self, moments: list[Array]) -> tuple[Array, Array]:
        """Return for each component its mean and its principal axes, longest first."""
        d = self.job.n_components
        rows = np.concatenate(moments)
        most = int(rows[:, 0].max()) + 1 if len(rows) else 0
        means, axes = np.zeros((most, d)), np.tile(np.eye(d), (most, 1, 1))
        sizes = np.zeros(most)
        for number in range(most):
            own = rows[rows[:, 0] == number]
            if len(own) == 0:
                continue
            sizes[number] = own[:, 1].sum()
            means[number] = own[:, 1] @ own[:, 2 : 2 + d] / sizes[number]
            apart = own[:, 2 : 2 + d] - means[number]
            spread = own[:, 2 + d :].sum(axis=0).reshape(d, d) + (own[:, 1, None] * apart).T @ apart
            vectors = np.linalg.eigh(spread)[1][:, ::-1]
            peaks = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
            axes[number] = vectors * np.where(peaks < 0, -1.0, 1.0)
        self.found["component_sizes"] = sizes
        return means, axes


def added(parts: list[Array]) -> Array:
    """Return the sum of arrays, each entry rounded once."""
    return np.array([math.fsum(column) for column in np.stack(parts).T])


def beside(low: Array, high: Array, sizes: Array) -> Array:
    """Return the shifts that set components side by side in rows, the largest first; as the core does."""
    sides = np.where(np.isfinite(low), high - low, 0.0)
    longest, d = sides.max(), sides.shape[1]
    gap = 0.05 * longest if longest > 0 else 1.0
    order = np.lexsort((np.arange(len(sizes)), -sizes))
    second = sides[:, 1] if d > 1 else np.zeros(len(sides))
    width = (
        np.inf if d == 1 else max(np.sqrt(((sides[:, 0] + gap) * (second + gap)).sum()), sides[:, 0].max())
    )
    shifts = np.zeros_like(sides)
    x = y = height = 0.0
    for number in order[sizes[order] > 0]:
        if x > 0 and x + sides[number, 0] > width:
            x, y, height = 0.0, y + height + gap, 0.0
        shifts[number, 0] = x - low[number, 0]
        if d > 1:
            shifts[number, 1] = y - low[number, 1]
        x, height = x + sides[number, 0] + gap, max(height, second[number])
    return shifts


class PartWarning(UserWarning):
    """Some cells of a partition, or some points, could not be embedded; all others were.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np, unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(3000, random_state=0)
    >>> X[7] = np.nan
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     result = ub.partition.embed(X, points_per_cell=1000)
    >>> found[0].category is ub.partition.PartWarning, np.isnan(result.embedding).any(axis=1).sum()
    (True, np.int64(1))
    """
